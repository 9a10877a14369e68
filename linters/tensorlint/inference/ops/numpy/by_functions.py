"""Arrays that a function of the program's fills: `np.apply_along_axis(f, 1, x)`, `np.fromfunction(f, (3, 4))`."""

from __future__ import annotations

from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.elementwise import is_number
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.reducing import marked_reduction
from tensorlint.inference.ops.results import fresh, unplaced
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.values import Function, Library, Sequence, Tensor, Value


def _given_by(call: Call, function: Value, args: list[Value], more: tuple[Value, ...] = ()) -> Value:
    """What the function gives for these. Numpy calls it as often as it likes: it must not change anything."""
    interpreter = call.interpreter
    if isinstance(function, Library) or (
        isinstance(function, Function) and not interpreter.changes_something(function.node)
    ):
        return call.call_value(function, args)
    if interpreter is not None:
        interpreter.escape([function, *more], {})
    raise Undecided


@op("numpy.apply_along_axis", "func1d axis arr *args **rest", tensor=False)
def apply_along_axis(
    call: Call, func1d: Value, axis: Value, arr: Value, args: list[Value], rest: dict[str, Value]
) -> Value:
    """What the function gives for one vector stands in the place of the axis."""
    given = arr if isinstance(arr, Tensor) and arr.framework == "numpy" else Tensor("numpy")
    shape = given.shape or ()
    vector = Tensor("numpy", (shape[arguments.axis(axis, len(shape))],) if shape else None, None, given.dtype)
    result = _given_by(call, func1d, [vector, *args], (arr, *args, *rest.values()))
    if not shape or rest:
        raise Undecided
    if isinstance(result, Sequence):
        result = array_of(call, result)
    if isinstance(result, Tensor) and result.framework == "numpy" and result.shape is not None:
        inner = result.shape
    elif is_number(result):
        inner = ()
    else:
        raise Undecided
    at = arguments.axis(axis, len(shape))
    made = unplaced(call, "numpy", (*shape[:at], *inner, *shape[at + 1 :]), None)
    return made if inner else marked_reduction(made, given, (at,))


@op("numpy.fromfunction", "function shape / dtype=None like=None **rest", tensor=False)
def fromfunction(call: Call, function: Value, shape: Value, dtype: Value, like: Value, rest: dict[str, Value]) -> Value:
    """Whatever the function gives for the arrays of all indices."""
    sizes = arguments.shape([shape]) if isinstance(shape, Sequence) else None
    grids: list[Value] = [] if sizes is None else [fresh(call, "numpy", sizes, None) for _ in sizes]
    result = _given_by(call, function, grids, tuple(rest.values()))
    if sizes is None or rest:
        raise Undecided
    return result
