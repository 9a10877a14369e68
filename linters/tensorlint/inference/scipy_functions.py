"""scipy's functions that give as many numbers as they are given, and the fit of a function of the program's own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference.values import Const, Function, Sequence, Tensor, Value, is_none

if TYPE_CHECKING:
    from tensorlint.inference.state import State

# By the place of the array among the arguments, and its name there.
_KEEP = {
    f"scipy.{module}.{name}": (at, word)
    for module, names, at, word in (
        ("signal", "savgol_filter", 0, "x"),
        ("signal", "detrend", 0, "data"),
        ("signal", "medfilt", 0, "volume"),
        ("signal", "filtfilt", 2, "x"),
        ("signal", "sosfiltfilt", 1, "x"),
        ("ndimage", "gaussian_filter gaussian_filter1d uniform_filter uniform_filter1d median_filter", 0, "input"),
        ("special", "expit logit erf erfc gamma gammaln digamma softmax log_softmax ndtr", 0, "x"),
        ("stats", "zscore", 0, "a"),
    )
    for name in names.split()
}
# Filters without a start of their own: with one they give a pair.
_FILTERS = {"scipy.signal.lfilter": (2, "x"), "scipy.signal.sosfilt": (1, "x")}
_MOST = 16


def call(interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """The result; None for a function that is not known here."""
    if path == "scipy.optimize.curve_fit":
        return _fitted(args, kwargs, node)
    if path in _FILTERS:
        if len(args) > _FILTERS[path][0] + 1 + (path == "scipy.signal.lfilter") or not is_none(
            kwargs.get("zi", Const(None))
        ):
            return None
    found = _KEEP.get(path) or _FILTERS.get(path)
    if found is None or "out" in kwargs or "output" in kwargs:
        return None
    at, word = found
    given = args[at] if at < len(args) else kwargs.get(word)
    if not isinstance(given, Tensor) or given.framework != "numpy" or not given.shape:
        return None
    if path.startswith("scipy.special.") and len(args) > 1 and not path.endswith("softmax"):
        return None  # `out`
    return Tensor("numpy", given.shape, None, None, None, node, None, given.marks & {"column"})


def _fitted(args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """`popt, pcov = curve_fit(f, x, y)`: one number for each parameter of `f` behind the first."""
    function = args[0] if args else kwargs.get("f")
    start = args[3] if len(args) > 3 else kwargs.get("p0", Const(None))
    if "full_output" in kwargs or len(args) > 9 or not isinstance(function, Function):
        return None
    code = function.node.args
    count = len(code.posonlyargs) + len(code.args) - 1 - (function.receiver is not None and function.kind != "static")
    if isinstance(start, Sequence) and start.items is not None:
        count = len(start.items)
    elif not is_none(start) or code.vararg is not None or function.decorated:
        return None
    if not 0 < count <= _MOST:
        return None
    numbers = Tensor("numpy", (count,), (1,), "float64", None, node)
    return Sequence("tuple", [numbers, Tensor("numpy", (count, count), None, "float64", None, node)])
