"""The length of `arange(start, stop, step)`."""

from __future__ import annotations

from math import ceil, isfinite

from tensorlint.inference import sizes as S
from tensorlint.inference.ops import arguments
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Number, Opaque, Value, size_of


def clipped(span: Size) -> Size:
    """The length of a range that is empty where its end lies before its start."""
    if isinstance(span, int):
        return max(span, 0)
    return span if arguments.at_least(span, 0) else S.counter()


def length(start: Value, stop: Value, step: Value) -> Size:
    """ceil((stop - start) / step); a new size, which may be 0, where that is not known."""
    numbers = [value.value for value in (start, stop, step) if isinstance(value, Const)]
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in numbers):
        return S.counter()
    if len(numbers) == 3:
        begin, end, pace = numbers
        if pace == 0 or not all(isfinite(number) for number in numbers):
            return S.counter()
        if all(isinstance(number, int) for number in numbers):
            return max(-((begin - end) // pace), 0)
        return max(ceil((end - begin) / pace), 0)
    if any(isinstance(number, float) for number in numbers):
        return S.counter()
    if not all(isinstance(value, (Const, Number, Opaque)) for value in (start, stop, step)):
        return S.counter()
    first, last, stride = size_of(start), size_of(stop), size_of(step)
    if first is None or last is None or not isinstance(stride, int) or stride == 0:
        return S.counter()
    span = S.subtract(last, first)
    if stride == 1:
        return span
    if stride < 0:
        span, stride = S.negate(span), -stride
    if stride != 1:
        quotient = S.floor_divide(S.add(span, stride - 1), stride)
        return S.counter() if quotient is None else quotient
    return span
