"""Normalisation of torch.nn.functional: batch, layer, group, instance norm."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference.ops import dtypes, windows
from tensorlint.inference.ops.elementwise import unary_of
from tensorlint.inference.ops.results import LASTING, laid, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.values import Tensor, Value, copy


def normalized(call: Call, input: Value) -> Value:
    """Results in a contiguous layout, as far as the input decides it."""
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return unranked("torch", input.dtype, input.device)
    return laid(
        call,
        "torch",
        input.shape,
        layout.contiguous(input.shape),
        input.dtype,
        input.device,
        marks=input.marks & LASTING,
    )


@op("F.layer_norm torch.layer_norm", "input normalized_shape weight=None bias=None eps=1e-5 cudnn_enable=True")
def layer_norm(call: Call, input: Value, **rest: Value) -> Value:
    return normalized(call, input)


@op("F.rms_norm torch.rms_norm", "input normalized_shape weight=None eps=None")
def rms_norm(call: Call, input: Value, **rest: Value) -> Value:
    if not isinstance(input, Tensor) or not input.in_order:
        return open_layout(call, input)
    return normalized(call, input)


def open_layout(call: Call, input: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    return copy(input, strides=None, made=call.node) if input.shape is not None else unranked("torch", input.dtype)


@op("F.group_norm torch.group_norm", "input num_groups weight=None bias=None eps=1e-5")
def group_norm(call: Call, input: Value, **rest: Value) -> Value:
    """On a CPU in the input's format, on CUDA always contiguous (seen in 2.11 and 2.13)."""
    return _where_devices_agree(batch_like(call, input), input)


def _where_devices_agree(result: Value, input: Value) -> Value:
    """Every device gives a contiguous result for an input that is, with the usual strides along axes of one element too;
    what else is known holds on a CPU."""
    if isinstance(result, Tensor) and isinstance(input, Tensor) and input.shape is not None:
        if input.strides != layout.contiguous(input.shape) and input.device != "cpu":
            result.strides = None
    return result


@op(
    "F.batch_norm torch.batch_norm",
    "input running_mean running_var weight=None bias=None training=False momentum=0.1 eps=1e-5",
)
def batch_norm(call: Call, input: Value, **rest: Value) -> Value:
    result = batch_like(call, input)
    if (
        isinstance(result, Tensor)
        and isinstance(input, Tensor)
        and input.contiguous is True
        and result.shape is not None
    ):
        result.strides = layout.contiguous(result.shape)  # also where axes of one element let it pass for channels-last
        return _where_devices_agree(result, input)  # and CUDA then makes it so
    if isinstance(result, Tensor) and result.shape is not None and len(result.shape) < 4:
        return _where_devices_agree(result, input)  # CUDA keeps the strides of a transposed matrix
    return result


@op(
    "F.instance_norm torch.instance_norm",
    "input running_mean=None running_var=None weight=None bias=None use_input_stats=True "
    "momentum=0.1 eps=1e-5 cudnn_enabled=True",
)
def instance_norm(call: Call, input: Value, **rest: Value) -> Value:
    return contiguous_only(call, input)


def contiguous_only(call: Call, input: Value) -> Value:
    result = batch_like(call, input)
    if isinstance(result, Tensor) and isinstance(input, Tensor) and input.shape is not None:
        # Along axes of one element a contiguous input may have other strides than the result.
        if input.contiguous is not True or input.strides != layout.contiguous(input.shape):
            result.strides = None
    return _where_devices_agree(result, input)


def batch_like(call: Call, input: Value) -> Value:
    """Contiguous for a contiguous input; other layouts depend on the kernel."""
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return unranked("torch", input.dtype, input.device)
    if len(input.shape) in (4, 5):
        strides = windows.format_like(input, input.shape)
        if input.contiguous is not True and strides != input.strides:
            strides = None
    else:
        strides = layout.contiguous(input.shape)
    return laid(call, "torch", input.shape, strides, input.dtype, input.device, marks=input.marks & LASTING)


@op("F.local_response_norm", "input size alpha=1e-4 beta=0.75 k=1.0")
def local_response_norm(call: Call, input: Value, **rest: Value) -> Value:
    result = open_layout(call, input)
    if isinstance(result, Tensor):
        result.dtype = result.dtype if dtypes.is_floating(result.dtype) else None
    return result


@op("F.normalize", "input p=2.0 dim=1 eps=1e-12 out=None")
def normalize(call: Call, input: Value, dim: Value, **rest: Value) -> Value:
    ranked = tensor(input)
    result = unary_of(call, ranked, framework="torch")
    shape = ranked.shape or ()
    if (
        isinstance(result, Tensor)
        and (values.is_none(dim) or 1 in shape)
        and ranked.strides != layout.contiguous(shape)
    ):
        result.strides = None
    return result
