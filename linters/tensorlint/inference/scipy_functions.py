"""scipy's functions: filters, products of linalg, distances, densities, solvers, and the fit of a function of the program's own.

What is given has to be arrays of a known number of axes, and options that are not known here end the claim: some give a
pair, some another shape. What scipy names as numpy does, numpy's own table answers.
"""

from __future__ import annotations

import ast
from math import isqrt
from typing import TYPE_CHECKING

from tensorlint.inference import ops, scipy_objects, solved_functions
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import products
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.results import NUMERIC
from tensorlint.inference.ops.table import STOPS
from tensorlint.inference.scipy_objects import array, bound, is_number
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    PLAIN,
    UNKNOWN,
    Const,
    Function,
    LibraryObject,
    Opaque,
    Scalar,
    Sequence,
    Tensor,
    Value,
    copy,
    is_none,
    size_of,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

# By the place of the array among the arguments, and its name there.
_KEEP = {
    f"scipy.{module}.{name}": (at, word)
    for module, names, at, word in (
        ("signal", "savgol_filter hilbert", 0, "x"),
        ("signal", "detrend", 0, "data"),
        ("signal", "medfilt", 0, "volume"),
        ("signal", "wiener", 0, "im"),
        ("signal", "filtfilt", 2, "x"),
        ("signal", "sosfiltfilt", 1, "x"),
        ("ndimage", "gaussian_filter gaussian_filter1d uniform_filter uniform_filter1d median_filter maximum_filter "
         "minimum_filter sobel prewitt laplace distance_transform_edt binary_dilation binary_erosion binary_opening "
         "binary_closing binary_fill_holes gaussian_laplace gaussian_gradient_magnitude", 0, "input"),
        ("ndimage", "convolve convolve1d correlate correlate1d grey_dilation grey_erosion", 0, "input"),
        ("special", "expit logit erf erfc erfinv gamma gammaln digamma softmax log_softmax ndtr ndtri log_ndtr", 0, "x"),
        ("stats", "zscore", 0, "a"),
        ("fft", "dct idct dst idst", 0, "x"),
    )
    for name in names.split()
}  # fmt: skip
# With these a function gives something else: another length, a pair, an array that was given it.
_CHANGING = frozenset(
    {"out", "output", "N", "n", "return_indices", "return_distances", "distances", "indices", "disp", "axes"}
)
# How many positional arguments there may be, where a later one changes the shape.
_MOST_GIVEN = {"scipy.signal.hilbert": 1, "scipy.ndimage.distance_transform_edt": 2} | {
    f"scipy.fft.{name}": 2 for name in ("dct", "idct", "dst", "idst")
}
# Filters without a start of their own: with one they give a pair.
_FILTERS = {"scipy.signal.lfilter": (2, "x"), "scipy.signal.sosfilt": (1, "x")}
# Functions of numpy's that scipy has too, with the options that leave what they give as it is.
_QUIET = frozenset({"check_finite", "overwrite_a", "overwrite_b", "overwrite_x", "lower", "workers", "driver"})
_AS_NUMPY = (
    {f"scipy.linalg.{name}": f"numpy.linalg.{name}" for name in ["det", "eigh", "eigvalsh", "eig", "eigvals", "pinv", "svd", "norm"]}
    | {
        f"scipy.fft.{name}": f"numpy.fft.{name}"
        for name in [
            *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"),
            *("fftshift", "ifftshift", "fftfreq", "rfftfreq"),
        ]
    }
    | {"scipy.special.logsumexp": "numpy.sum"}
)  # fmt: skip
_NUMPY_OPTIONS = {
    "svd": frozenset({"full_matrices", "compute_uv"}),
    "norm": frozenset({"ord", "axis", "keepdims"}),
    "logsumexp": frozenset({"axis", "keepdims"}),
    "fftfreq": frozenset({"n", "d"}),
    "rfftfreq": frozenset({"n", "d"}),
}
_FFT_OPTIONS = frozenset({"n", "s", "axis", "axes", "norm"})
# Only the first argument of these is numpy's.
_ONE_ARGUMENT = frozenset(["det", "eigh", "eigvalsh", "eig", "eigvals", "pinv"])
# Functions of two arrays that broadcast.
_OF_TWO = frozenset(f"scipy.special.{name}" for name in ["xlogy", "xlog1py", "rel_entr", "kl_div"])
_SOLVERS = {
    "solve": frozenset({"lower", "overwrite_a", "overwrite_b", "check_finite", "assume_a", "transposed"}),
    "cho_solve": frozenset({"overwrite_b", "check_finite"}),
    "lu_solve": frozenset({"trans", "overwrite_b", "check_finite"}),
    "solve_triangular": frozenset({"trans", "lower", "unit_diagonal", "overwrite_b", "check_finite"}),
}
_DISTANCES = {"scipy.spatial.distance.cdist": "XA XB metric", "scipy.spatial.distance_matrix": "x y p threshold"}
_METRICS = frozenset({"p", "w", "V", "VI", "metric", "threshold"})
# Of a function of one number: a number, whatever the function gives.
_ROOTS = frozenset({"brentq", "brenth", "ridder", "bisect"})
_MOST = 16


def call(interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """The result; None for a function that is not known here."""
    try:
        return _call(interp, path, args, kwargs, node)
    except STOPS:
        return None


def _call(interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    if path == "scipy.optimize.curve_fit":
        return _fitted(args, kwargs, node)
    if path in _FILTERS:
        if len(args) > _FILTERS[path][0] + 1 + (path == "scipy.signal.lfilter") or not is_none(
            kwargs.get("zi", Const(None))
        ):
            return None
    if (numpys := _AS_NUMPY.get(path)) is not None:
        return _as_numpy(interp, path, numpys, args, kwargs, node)
    if (found := _KEEP.get(path) or _FILTERS.get(path)) is not None:
        return _kept(path, found, args, kwargs, node)
    module, _, name = path[6:].rpartition(".")
    if module == "linalg":
        return _of_linalg(interp, name, args, kwargs, node)
    if module.startswith("spatial"):
        return _distances(interp, path, args, kwargs, node) or scipy_objects.make(interp, path, args, kwargs, node)
    if path in _OF_TWO and len(args) == 2 and not kwargs:
        shapes = [_operand_shape(interp, each, node) for each in args]
        return _numbers(broadcast(*shapes), node) if any(shapes) else None
    if module == "signal":
        return _of_signal(interp, name, args, kwargs, node)
    if path == "scipy.integrate.quad":
        plain = len(args) < 5 and kwargs.keys().isdisjoint(("full_output", "complex_func"))
        return Sequence("tuple", [Scalar("float"), Scalar("float")]) if plain else None
    if path == "scipy.integrate.odeint":
        return solved_functions.odeint(interp, args, kwargs, node)
    if module == "optimize":
        return _optimum(interp, name, args, kwargs, node)
    return scipy_objects.make(interp, path, args, kwargs, node)


def _numbers(shape: Shape, node: ast.AST | None, how: str | None = None) -> Tensor:
    return Tensor("numpy", shape, () if not shape else None, None, None, node, how, NUMERIC)


def _operand_shape(interp: State, value: Value, node: ast.AST | None) -> Shape:
    return () if is_number(value) else array(interp, value, node).shape or ()


def _kept(
    path: str, found: tuple[int, str], args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value | None:
    if not _CHANGING.isdisjoint(kwargs) or len(args) > _MOST_GIVEN.get(path, len(args)):
        return None
    at, word = found
    given = args[at] if at < len(args) else kwargs.get(word)
    if not isinstance(given, Tensor) or given.framework != "numpy" or not given.shape:
        return None
    if path.startswith("scipy.special.") and len(args) > 1 and not path.endswith("softmax"):
        return None  # `out`
    if path.startswith("scipy.ndimage.") and any(isinstance(each, Tensor) for each in args[2:]):
        return None  # `output`
    return Tensor("numpy", given.shape, None, None, None, node, None, given.marks & {"column"} | NUMERIC)


def _as_numpy(
    interp: State, path: str, numpys: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value | None:
    """What numpy's function of that name says, given what both know."""
    name = path.rpartition(".")[2]
    entry = ops.function(numpys)
    allowed = _FFT_OPTIONS if path.startswith("scipy.fft.") else frozenset()
    allowed = _NUMPY_OPTIONS.get(name, allowed)
    if entry is None or not kwargs.keys() <= allowed | _QUIET or (name in _ONE_ARGUMENT and len(args) != 1):
        return None
    if not args or (name == "logsumexp" and len(args) > 2) or (name == "svd" and len(args) > 3):
        return None
    if path.startswith("scipy.linalg.") and len(array(interp, args[0], node).shape or ()) > 2:
        return None  # some know of stacks of matrices, some do not
    if path.startswith("scipy.fft.") and len(args) > 3:
        return None
    known = {each: value for each, value in kwargs.items() if each in allowed}
    result = interp.apply(entry, list(args), known, node)
    if name == "norm" and isinstance(result, Tensor) and result.shape == ():
        return Scalar("float")  # Python's own, for some of them
    # What becomes of other types is not the same: of integers and of truth values in the first place.
    if path.endswith("freq") or array(interp, args[0], node).dtype == "float64":
        return result
    return _untyped(result)


def _untyped(value: Value) -> Value:
    if isinstance(value, Sequence) and value.items is not None:
        return Sequence(value.kind, [_untyped(item) for item in value.items])
    return copy(value, dtype=None) if isinstance(value, Tensor) else value


def _of_linalg(
    interp: State, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value | None:
    if name in _SOLVERS:
        return _solved(interp, name, args, kwargs, node)
    if name == "block_diag" and args and not kwargs:
        shapes = [array(interp, each, node).shape or () for each in args]
        if any(len(shape) != 2 for shape in shapes):
            return None
        rows: Size = 0
        columns: Size = 0
        for shape in shapes:
            rows, columns = S.add(rows, shape[0]), S.add(columns, shape[1])
        return Tensor("numpy", (rows, columns), None, None, None, node)
    if not args or not kwargs.keys() <= _QUIET | {"b", "mode"}:
        return None
    first = array(interp, args[0], node).shape or ()
    if name == "toeplitz" and len(first) == 1 and not kwargs:
        row = array(interp, args[1], node).shape or () if len(args) == 2 else first
        return Tensor("numpy", (*first, *row), None, None, None, node) if len(row) == 1 and len(args) < 3 else None
    if len(first) != 2:
        return None
    if name in ("cholesky", "inv", "expm", "logm") and "b" not in kwargs and "mode" not in kwargs:
        return _numbers(first, node)
    if name in ("cho_factor", "lu_factor") and "b" not in kwargs and "mode" not in kwargs:
        return Sequence("tuple", [_numbers(first, node), UNKNOWN])
    if name == "lstsq":
        given = bound("a b", args, kwargs)
        right = None if given is None else array(interp, given.get("b", UNKNOWN), node).shape
        if not right or len(right) > 2:
            return None
        return Sequence("tuple", [_numbers((first[1], *right[1:]), node), UNKNOWN, UNKNOWN, UNKNOWN])
    if name == "qr" and len(args) == 1 and "b" not in kwargs:
        how = {"full": "complete", "economic": "reduced"}
        mode = kwargs.get("mode", Const("full"))
        entry = ops.function("numpy.linalg.qr")
        if not isinstance(mode, Const) or mode.value not in how or entry is None:
            return None
        return _untyped(interp.apply(entry, list(args), {"mode": Const(how[str(mode.value)])}, node))
    return None


def _solved(
    interp: State, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value | None:
    """What is solved for has the shape of the right-hand side. `cho_solve` and `lu_solve` are given a factorisation."""
    if len(args) != 2 or not kwargs.keys() <= _SOLVERS[name]:
        return None
    matrix = args[0]
    if name in ("cho_solve", "lu_solve"):
        matrix = matrix.items[0] if isinstance(matrix, Sequence) and matrix.items else UNKNOWN
    right = array(interp, args[1], node)
    if len(array(interp, matrix, node).shape or ()) != 2 or len(right.shape or ()) not in (1, 2):
        return None
    products.vector_product(interp.call_context(f"scipy.linalg.{name}", node), args[0], args[1])
    return _numbers(right.shape or (), node)


def _distances(
    interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value | None:
    """`cdist(A, B)`: each row with each."""
    if path in _DISTANCES:
        given = bound(_DISTANCES[path], args, kwargs, _METRICS)
        if given is None:
            return None
        first, second = list(given)[:2]
        left, right = array(interp, given[first], node).shape or (), array(interp, given[second], node).shape or ()
        if len(left) != 2 or len(right) != 2:
            return None
        return _numbers((left[0], right[0]), node)
    if path == "scipy.spatial.distance.pdist" and args and kwargs.keys() <= _METRICS and len(args) < 3:
        shape = array(interp, args[0], node).shape or ()
        if len(shape) != 2:
            return None
        rows = shape[0]
        return _numbers((rows * (rows - 1) // 2 if isinstance(rows, int) else S.counter(),), node)
    if path == "scipy.spatial.distance.squareform" and len(args) == 1 and kwargs.keys() <= {"checks"}:
        shape = array(interp, args[0], node).shape or ()
        if len(shape) == 1 and isinstance(shape[0], int):
            side = (1 + isqrt(1 + 8 * shape[0])) // 2
            return _numbers((side, side), node) if shape[0] else None
        if len(shape) == 1:
            rows = S.symbol()
            return _numbers((rows, rows), node)
        if len(shape) == 2 and isinstance(shape[0], int) and shape[0] > 1:
            return _numbers((shape[0] * (shape[0] - 1) // 2,), node)
    return None


def _of_signal(
    interp: State, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value | None:
    if name in ("convolve", "fftconvolve", "correlate", "oaconvolve", "convolve2d", "correlate2d"):
        given = bound("in1 in2 mode", args, kwargs, frozenset({"method", "boundary", "fillvalue"}))
        mode = None if given is None else given.get("mode", Const("full"))
        if given is None or not isinstance(mode, Const) or "in2" not in given or "in1" not in given:
            return None
        left, right = (array(interp, given[each], node).shape or () for each in ("in1", "in2"))
        if not left or len(left) != len(right):
            return None
        if mode.value == "same":
            return _numbers(left, node)
        if mode.value == "full":
            return _numbers(tuple(S.subtract(S.add(a, b), 1) for a, b in zip(left, right, strict=True)), node)
        return None
    if name == "resample" and len(args) == 2 and not kwargs:
        shape, count = array(interp, args[0], node).shape or (), size_of(args[1])
        return _numbers((count, *shape[1:]), node) if shape and count is not None and is_number(args[1]) else None
    if name == "find_peaks" and args:
        if len(array(interp, args[0], node).shape or ()) != 1:
            return None
        return Sequence("tuple", [Tensor("numpy", (S.counter(),), (1,), "int64", None, node), UNKNOWN])
    return None


def _optimum(
    interp: State, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value | None:
    """Solvers of a start `(n,)` give as many numbers."""
    if name == "nnls" and len(args) == 2 and kwargs.keys() <= {"maxiter", "atol"}:
        shape = array(interp, args[0], node).shape or ()
        return Sequence("tuple", [_numbers((shape[1],), node), Scalar("float")]) if len(shape) == 2 else None
    if name == "linear_sum_assignment" and args and len(args) < 3 and kwargs.keys() <= {"maximize"}:
        shape = array(interp, args[0], node).shape or ()
        if len(shape) != 2:
            return None
        rows, columns = shape
        if isinstance(rows, int) and isinstance(columns, int):
            count: Size = min(rows, columns)
        else:
            count = rows if rows == columns else S.counter()
        return Sequence("tuple", [Tensor("numpy", (count,), (1,), "int64", None, node) for _ in range(2)])
    if name in _ROOTS:
        return Scalar("float") if len(args) < 8 and "full_output" not in kwargs else None
    if name == "line_search":
        step = Opaque(None, kind=PLAIN)  # a number, or None where none was found
        step.told, step.optional = "real", True
        return Sequence("tuple", [step, *[UNKNOWN] * 5])
    if name not in ("minimize", "least_squares", "root", "fsolve"):
        return None
    start = args[1] if len(args) > 1 else kwargs.get("x0")
    if start is None or (name == "fsolve" and (len(args) > 4 or "full_output" in kwargs)):
        return None
    if name == "minimize" and callable_changes(kwargs):
        return None
    shape = (1,) if is_number(start) and name != "root" else array(interp, start, node).shape or ()
    if len(shape) != 1:
        return None
    found = _numbers(shape, node)
    if name == "fsolve":
        return found
    return LibraryObject("scipy.optimize.OptimizeResult", {}, (), {"x": found}, node)


def callable_changes(kwargs: dict[str, Value]) -> bool:
    """Whether `method` is a function of the program's own, which gives what it likes."""
    method = kwargs.get("method", Const(None))
    return not isinstance(method, Const)


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
