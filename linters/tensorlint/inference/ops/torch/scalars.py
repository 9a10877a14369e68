"""Numbers, flags and lists out of tensors."""

from __future__ import annotations

from tensorlint.inference import values
from tensorlint.inference.ops import dtypes
from tensorlint.inference.ops.broadcasting import tell_comparison
from tensorlint.inference.ops.results import lists_of
from tensorlint.inference.ops.table import Call, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.values import (
    UNKNOWN,
    Scalar,
    Tensor,
    Value,
)


@op(".item torch.Tensor.item", "input", tensor=False)
def item(call: Call, input: Value) -> Value:
    if isinstance(input, Tensor):
        if input.elements is not None and len(input.elements) == 1:
            return values.number(input.elements[0])
        if input.dtype is not None and input.dtype in dtypes.CATEGORY:
            return Scalar(dtypes.SCALAR_KINDS[dtypes.CATEGORY[input.dtype]])
    return UNKNOWN


@op(".numel .nelement .__len__ torch.numel", "input", tensor=False)
def numel(call: Call, input: Value) -> Value:
    from tensorlint.inference import sizes as S

    shape = tensor(input).shape or ()
    if call.name.endswith("__len__"):
        return values.number(shape[0])
    return values.number(S.product(shape))


@op(".element_size .get_device .data_ptr .storage_offset", "input", tensor=False)
def a_number(call: Call, input: Value) -> Value:
    return Scalar("int")


@op(
    ".is_floating_point .is_complex torch.is_tensor .is_shared .is_pinned .is_set_to torch.is_floating_point torch.is_complex "
    "torch.equal .equal torch.cuda.is_available torch.is_grad_enabled",
    "*args / rtol=None atol=None equal_nan=None",
    tensor=False,
)
def a_truth(call: Call, **rest: object) -> Value:
    return Scalar("bool")


@op("torch.allclose .allclose", "input other rtol=None atol=None equal_nan=None", tensor=False)
def allclose(call: Call, input: Value, other: Value, **rest: object) -> Value:
    if isinstance(input, Tensor) and isinstance(other, Tensor):
        tell_comparison(call, "torch.allclose", input, other)
    return Scalar("bool")


@op(".tolist torch.Tensor.tolist", "input", tensor=False)
def tolist(call: Call, input: Value) -> Value:
    return lists_of(tensor(input))
