"""Objects that nobody knows, given to functions of torch that take a tensor and nothing else: behind the call they are tensors.

`F.mse_loss(net(x), y)` is a number, whatever `net` gives.
"""

from __future__ import annotations

from collections.abc import Sequence as Sequence_

from tensorlint.inference.ops.table import Entry, Parameter
from tensorlint.inference.values import UNKNOWN, Const, Opaque, Sequence, Tensor, Unknown, Value, copy

# Parameters of torch's functions and losses that take a tensor and nothing else.
_TENSORS = frozenset(
    ["input", "target", "input1", "input2", "x1", "x2", "mat1", "mat2", "vec2", "anchor", "positive", "negative", "log_probs"]
)  # fmt: skip
# But for these, which take a number for one of two operands, or something else than a tensor.
_OF_ANYTHING = frozenset(
    "torch." + name
    for name in (
        "pow", "float_power", "xlogy", "special.xlogy", "special.xlog1py", "special.zeta", "remainder", "rsub", "where", "copysign",
        "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "repeat_interleave",
        "searchsorted", "bucketize",
    )
)  # fmt: skip
Arguments = tuple[Sequence_[Value], dict[str, Value]]


def of_function(entry: Entry, args: Sequence_[Value], kwargs: dict[str, Value]) -> Arguments:
    """The arguments of a function by its entry."""
    if entry.framework != "torch" or not entry.name.startswith("torch.") or entry.name in _OF_ANYTHING:
        return args, kwargs
    if entry.name.startswith(("torch.Tensor.", "torch.nn.utils.")):
        return args, kwargs
    return as_tensors(entry.parameters, args, kwargs)


def as_tensors(parameters: Sequence_[Parameter], args: Sequence_[Value], kwargs: dict[str, Value]) -> Arguments:
    """The arguments, with a tensor for each object that nobody knows in the place of one."""
    if any(map(is_unknown, args)):
        places = [*parameters[: len(args)], *[None] * (len(args) - len(parameters))]
        args = [
            _some_tensor(arg) if is_unknown(arg) and place is not None and place.name in _TENSORS else arg
            for place, arg in zip(places, args, strict=True)
        ]
    if kwargs and any(map(is_unknown, kwargs.values())):
        kwargs = {
            name: _some_tensor(value) if is_unknown(value) and name in _TENSORS else value
            for name, value in kwargs.items()
        }
    return args, kwargs


def given_or_not(entry: Entry, args: list[Value], kwargs: dict[str, Value]) -> tuple[list[Value], dict[str, Value]]:
    """The arguments, with no shape for tensors that may be None where the operation takes None as well, as numpy's do."""
    if entry.framework == "numpy":
        return [_anything(value) for value in args], {name: _anything(value) for name, value in kwargs.items()}
    takes = {each.name for each in entry.parameters if isinstance(each.default, Const) and each.default.value is None}
    names = [each.name for each in entry.parameters[: len(args)]]
    names += [""] * (len(args) - len(names))
    return (
        [_shapeless(value) if name in takes else value for name, value in zip(names, args, strict=True)],
        {name: _shapeless(value) if name in takes else value for name, value in kwargs.items()},
    )


def may_be_none(value: Value) -> bool:
    """Whether the value, or an item of a list, is a tensor that may be None."""
    if isinstance(value, Tensor):
        return "optional" in value.marks
    return isinstance(value, Sequence) and any(map(may_be_none, value.items or (value.element,)))


def _anything(value: Value) -> Value:
    if isinstance(value, Sequence) and may_be_none(value):
        items = None if value.items is None else [_anything(item) for item in value.items]
        return Sequence(value.kind, items, UNKNOWN, value.length)
    return Opaque(None) if may_be_none(value) else value


def _shapeless(value: Value) -> Value:
    if isinstance(value, Tensor) and may_be_none(value):
        return copy(value, shape=None, strides=None, dtype=None)
    return value


def is_unknown(value: Value) -> bool:
    """Whether nobody knows what it is."""
    return type(value) is Unknown or (type(value) is Opaque and value.kind is None)


def _some_tensor(value: Value) -> Tensor:
    return Tensor("torch", axes=value.axes, kin=value.kin) if isinstance(value, Opaque) else Tensor("torch")
