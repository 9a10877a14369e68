"""Functions of the program's own that scipy's solvers call: the objective of `minimize`, the right side of `solve_ivp`.

What they are given is known: as many numbers as the start has, and what `args` holds. They are followed once with it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensorlint.inference.ops.table import STOPS
from tensorlint.inference.scipy_objects import array, is_number
from tensorlint.inference.values import (
    Const,
    Function,
    Partial,
    Scalar,
    Sequence,
    Tensor,
    Value,
    is_none,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State


@dataclass(frozen=True, slots=True)
class Solver:
    """The solver's first parameters, and what it gives the function: "x" stands for numbers like the start's, "t" for one.

    With one of the keywords in `otherwise` it gives something else.
    """

    parameters: tuple[str, ...]
    given: str
    otherwise: frozenset[str] = frozenset()


def _solvers() -> dict[str, Solver]:
    found = {}
    for names, parameters, given, otherwise in (
        ("optimize.minimize optimize.root", "fun x0 args", "x", ""),
        ("optimize.least_squares", "fun x0", "x", "kwargs"),
        ("optimize.fsolve optimize.leastsq", "func x0 args", "x", ""),
        ("optimize.fmin optimize.fmin_powell", "func x0 args", "x", ""),
        ("optimize.fmin_bfgs optimize.fmin_cg", "f x0 fprime args", "x", ""),
        ("optimize.fmin_l_bfgs_b optimize.fmin_tnc", "func x0 fprime args", "x", ""),
        ("optimize.basinhopping", "func x0", "x", "minimizer_kwargs"),
        ("integrate.solve_ivp", "fun t_span x0", "tx", "vectorized"),
        ("integrate.odeint", "func x0 t args", "xt", "tfirst"),
    ):
        for name in names.split():
            found[f"scipy.{name}"] = Solver(tuple(parameters.split()), given, frozenset(otherwise.split()))
    return found


SOLVERS = _solvers()
_STARTS = {"scipy.integrate.solve_ivp": "y0", "scipy.integrate.odeint": "y0"}  # what the start is called there


def follow(interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> None:
    """Follow the function once with what it is given, if that is known."""
    solver = SOLVERS[path]
    words = dict(zip(solver.parameters, args, strict=False)) | kwargs
    start = words.get("x0", words.get(_STARTS.get(path, "x0")))
    function = words.get(solver.parameters[0])
    if not isinstance(function, (Function, Partial)) or start is None or not solver.otherwise.isdisjoint(kwargs):
        return
    if path.endswith(".minimize") and not isinstance(kwargs.get("method", Const(None)), Const):
        return  # a function, which calls the other one as it likes
    try:
        begin = Tensor("numpy", (1,)) if is_number(start) else array(interp, start, node)
    except STOPS:
        return
    shape = begin.shape or ()
    more = _more(words.get("args"))
    if len(shape) != 1 or more is None:
        return
    # Whole numbers are made floats by some of the solvers, and a complex step may be taken for the derivatives.
    floats = begin.dtype == "float64" and len(args) <= len(solver.parameters) and not _may_step_aside(kwargs)
    dtype = "float64" if floats else None
    numbers: dict[str, Value] = {"x": Tensor("numpy", shape, None, dtype, None, node), "t": Scalar("float")}
    log = len(interp.mutations)
    interp.call(function, [*[numbers[each] for each in solver.given], *more], {}, node)
    interp.forget_since(log)  # it is called again and again


def _may_step_aside(kwargs: dict[str, Value]) -> bool:
    """Whether the derivatives may be those of complex steps: `jac="cs"`."""
    jac = kwargs.get("jac", Const(None))
    return not isinstance(jac, Function) and not (isinstance(jac, Const) and jac.value != "cs")


def _more(given: Value | None) -> list[Value] | None:
    """What the function is given behind its numbers; None if that is not known."""
    if given is None or is_none(given):
        return []
    if isinstance(given, Sequence):
        return given.items if given.kind == "tuple" else None
    return [given] if isinstance(given, (Tensor, Const)) else None


def odeint(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """A row for each time, of as many numbers as the start has."""
    words = dict(zip(SOLVERS["scipy.integrate.odeint"].parameters, args, strict=False)) | kwargs
    start, times = words.get("x0", words.get("y0")), words.get("t")
    if len(args) > 4 or "full_output" in kwargs or start is None or times is None:
        return None
    count = (1,) if is_number(start) else array(interp, start, node).shape or ()
    rows = array(interp, times, node).shape or ()
    if len(count) != 1 or len(rows) != 1:
        return None
    return Tensor("numpy", (rows[0], count[0]), None, "float64", None, node)
