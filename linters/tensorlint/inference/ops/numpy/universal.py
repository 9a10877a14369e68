"""Methods of numpy's universal functions: `np.add.outer(x, y)`, `np.maximum.accumulate(x)`, `np.add.reduce(x)`."""

from __future__ import annotations

from tensorlint.inference import values
from tensorlint.inference.ops.numpy.creation import own
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.reducing import reduce
from tensorlint.inference.ops.results import SPELLED, unplaced
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.values import Value

# Those of two operands that give one array of numbers; comparisons have other types.
_OF_TWO = ("add", "subtract", "multiply", "divide", "true_divide", "maximum", "minimum", "power", "hypot", "logaddexp")


def _names(method: str) -> str:
    return " ".join(f"numpy.{name}.{method}" for name in _OF_TWO)


@op(_names("outer"), "A B", tensor=False)
def outer(call: Call, A: Value, B: Value) -> Value:
    first, second = own(call, A), own(call, B)
    return unplaced(call, "numpy", (*(first.shape or ()), *(second.shape or ())), None, marks=SPELLED)


@op(_names("accumulate"), "array axis=0", tensor=False)
def accumulate(call: Call, array: Value, axis: Value) -> Value:
    given = own(call, array)
    if not given.shape:
        raise Undecided
    return unplaced(call, "numpy", given.shape, None)


@op(_names("reduce"), "array axis=0 dtype=None out=None keepdims=False", tensor=False)
def reduced(call: Call, array: Value, axis: Value, out: Value, keepdims: Value, **rest: Value) -> Value:
    given = own(call, array)
    if not values.is_none(out) or not given.shape:
        raise Undecided
    return reduce(call, given, axis, keepdims, None, contiguous=False)
