"""Copies, and conversions of type, device and memory format."""

from __future__ import annotations

from collections.abc import Callable

from tensorlint.inference import layout, values
from tensorlint.inference.layout import Strides
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.results import unranked
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.ops.torch.creation import in_format
from tensorlint.inference.ops.torch.joining import suggests_channels_last
from tensorlint.inference.ops.torch.registry import TORCH, op
from tensorlint.inference.values import (
    NONE,
    Const,
    Library,
    LibraryObject,
    Tensor,
    Value,
    copy,
)

# Identity in shape, layout and type.


@op(
    "detach .detach_ .requires_grad_ .share_memory_ .pin_memory .retain_grad .zero_ .fill_ .copy_ .normal_ .uniform_ "
    ".random_ .bernoulli_ .exponential_ .geometric_ .log_normal_ .cauchy_ .index_fill_ .masked_fill_ .index_copy_ "
    ".scatter_ .scatter_add_ .scatter_reduce_ .index_add_ .index_put_ .clamp_ .tril_ .triu_ .erfinv_ .fill_diagonal_ "
    ".masked_scatter_",
    "input *args / reduce=None value=None generator=None std=None mean=None a=None b=None non_blocking=None "
    "min=None max=None index=None source=None dim=None src=None accumulate=None mask=None requires_grad=None device=None",
)
def identity(call: Call, input: Value, **rest: object) -> Value:
    if isinstance(input, Tensor):
        return input
    raise Undecided


@TORCH.attribute("data grad")
def data(call: Call, input: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    if call.name.endswith("grad"):
        return copy(input, strides=None, marks=input.marks | {"optional"})
    return input


@op("clone", "input / memory_format=None")
def clone(call: Call, input: Value, memory_format: Value) -> Value:
    return copied(call, input, memory_format)


def copied(call: Call, input: Value, memory_format: Value = NONE) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return unranked("torch", input.dtype, input.device)
    strides = in_format(input.shape, memory_format, layout.preserve(input.shape, input.strides))
    return copy(input, framework="torch", strides=strides, layout_trail=input.layout_trail)


@op("contiguous", "input memory_format=None")
def contiguous(call: Call, input: Value, memory_format: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return input
    if values.is_none(memory_format) or _format_name(memory_format) == "contiguous_format":
        return copy(input, framework="torch", strides=_contiguous(input), layout_trail=())
    already = layout.is_channels_last(input.shape, input.strides)
    return copy(input, framework="torch", strides=_in_channels_last(input, memory_format, already))


def _format_name(memory_format: Value) -> str | None:
    return memory_format.path.rpartition(".")[2] if isinstance(memory_format, Library) else None


def _contiguous(input: Tensor) -> Strides | None:
    shape = input.shape or ()
    if input.contiguous is True:
        return input.strides
    fresh = layout.contiguous(shape)
    if input.contiguous is False:
        return fresh
    # Already contiguous or copied: the strides agree but for axes of size 1, which are free.
    return None if 1 in shape else fresh


def _in_channels_last(input: Tensor, memory_format: Value, already: bool | None) -> Strides | None:
    """Where the tensor is in the format already, an axis of size 1 keeps its stride."""
    strides = in_format(input.shape or (), memory_format, None)
    if strides is None or 1 not in (input.shape or ()):
        return strides
    return None if already is None else input.strides if already else strides


# Conversions.


def converted(
    call: Call,
    input: Tensor,
    dtype: str | None,
    dtype_given: bool,
    device: str | None,
    device_given: bool,
    memory_format: Value = NONE,
    always: bool = False,
) -> Tensor:
    """`to`: the tensor itself where nothing changes, else a copy that preserves the format."""
    target = dtype if dtype_given else input.dtype
    where = device if device_given else input.device
    if input.shape is None:
        return unranked("torch", target, where)
    kept = layout.preserve(input.shape, input.strides)
    changes: bool | None = always
    if not changes and dtype_given:
        changes = None if dtype is None or input.dtype is None else dtype != input.dtype
    if changes is False and device_given:
        changes = None if device is None or input.device is None else _moves(input.device, device)
    strides: Strides | None
    if changes is False:
        strides = input.strides
        if not values.is_none(memory_format):
            name = _format_name(memory_format)
            if name == "contiguous_format":
                # Only channels-last is another format; a transposed matrix stays what it is.
                suggested = suggests_channels_last(input)
                converts = None if suggested is None else layout.contiguous(input.shape)
                strides = converts if suggested is not False else strides
            elif name != "preserve_format":
                # What passes for channels-last stays what it is, with gaps too: `x[..., :2]`.
                suggested = suggests_channels_last(input)
                converts = None if suggested is None else in_format(input.shape, memory_format, None)
                strides = converts if suggested is not True else strides
    elif not values.is_none(memory_format):
        strides = in_format(input.shape, memory_format, kept) if changes else None
    else:
        strides = kept if changes or kept == input.strides else None
    return copy(input, framework="torch", dtype=target, device=where, strides=strides)


def _moves(old: str, new: str) -> bool | None:
    if old == new:
        return False
    if old.partition(":")[0] != new.partition(":")[0]:
        return True
    return None


@op(".to", "input *args / device=None dtype=None non_blocking=False copy=False memory_format=None other=None")
def to(
    call: Call,
    input: Value,
    args: list[Value],
    device: Value,
    dtype: Value,
    copy: Value,
    memory_format: Value,
    other: Value,
    non_blocking: Value,
) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    known_device, device_given = arguments.device(device), not values.is_none(device)
    known_dtype, dtype_given = dtypes.named(dtype, "torch"), not values.is_none(dtype)
    always: bool = False
    if args and isinstance(args[0], Const) and isinstance(args[0].value, (bool, int, float, complex)):
        if type(args[0].value) is not int or len(args) > 1 or not values.is_none(memory_format):
            # A number is taken for another tensor, unless it is a device's index.
            raise Undecided
    for at, argument in enumerate(args):
        if isinstance(argument, Tensor) and argument.framework == "numpy" and argument.how != "dtype":
            raise Undecided
        if isinstance(argument, Tensor) and argument.how != "dtype":
            known_device, device_given, known_dtype, dtype_given = argument.device, True, argument.dtype, True
            continue
        if isinstance(argument, Library) or (isinstance(argument, Tensor) and argument.how == "dtype"):
            name = dtypes.named(argument, "torch")
            known_dtype, dtype_given = name, True
        elif isinstance(argument, Const) and isinstance(argument.value, bool):
            if at >= 2 and argument.value and len(args) > 2:
                always = True
        elif isinstance(argument, (Const, LibraryObject)):
            if values.is_none(argument):
                continue
            known_device, device_given = arguments.device(argument), True
        else:
            # A device, a type or another tensor: nothing is known of either.
            known_device, device_given, known_dtype, dtype_given = None, True, None, True
    given = arguments.truth(copy)
    if given is None:
        known_dtype, dtype_given = (known_dtype, True) if dtype_given else (input.dtype, True)
        result = converted(call, input, known_dtype, dtype_given, known_device, device_given, memory_format)
        if result.strides != layout.preserve(result.shape or (), input.strides):
            result.strides = None
        return result
    return converted(call, input, known_dtype, dtype_given, known_device, device_given, memory_format, always or given)


@op(".type", "input dtype=None non_blocking=False", tensor=False)
def type_(call: Call, input: Value, dtype: Value, non_blocking: Value) -> Value:
    if not isinstance(input, Tensor) or values.is_none(dtype):
        raise Undecided
    return converted(call, input, dtypes.named(dtype, "torch"), True, None, False)


@op(".type_as", "input other")
def type_as(call: Call, input: Value, other: Value) -> Value:
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        raise Undecided
    return converted(call, input, other.dtype, True, other.device, True)


_CONVERSIONS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "chalf": "complex32",
}


def _conversion(dtype: str) -> Callable[..., Value]:
    def transfer(call: Call, input: Value, memory_format: Value) -> Value:
        if not isinstance(input, Tensor):
            raise Undecided
        return converted(call, input, dtype, True, None, False, memory_format)

    return transfer


for _name, _dtype in _CONVERSIONS.items():
    op(f".{_name}", "input memory_format=None")(_conversion(_dtype))


@op(".cpu", "input memory_format=None")
def cpu(call: Call, input: Value, memory_format: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    return converted(call, input, None, False, "cpu", True, memory_format)


@op(".cuda", "input device=None non_blocking=False memory_format=None")
def cuda(call: Call, input: Value, device: Value, memory_format: Value, **rest: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    where = "cuda" if values.is_none(device) else arguments.device(device)
    return converted(call, input, None, False, where, True, memory_format)


@op(".numpy", "input / force=False")
def numpy(call: Call, input: Value, force: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return unranked("numpy", input.dtype)
    return copy(input, framework="numpy", device=None)
