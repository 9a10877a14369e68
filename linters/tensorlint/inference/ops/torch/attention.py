"""Scaled dot-product attention, and the layouts its kernels return."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.results import laid
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.values import Const, Tensor, Value


@op(
    "F.scaled_dot_product_attention",
    "query key value attn_mask=None dropout_p=0.0 is_causal=False / scale=None enable_gqa=False",
)
def attention(
    call: Call,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value,
    dropout_p: Value,
    is_causal: Value,
    scale: Value,
    enable_gqa: Value,
) -> Value:
    q = tensor(query)
    shape = q.shape or ()
    if len(shape) < 2 or not isinstance(value, Tensor):
        raise Undecided
    if value.shape is None or not isinstance(key, Tensor) or key.shape is None:
        raise Undecided  # they may have more axes
    last = value.shape[-1]
    grouped = arguments.truth(enable_gqa)
    if grouped is None:
        raise Undecided
    batch = shape[:-2] if grouped else broadcast(shape[:-2], key.shape[:-2], value.shape[:-2])
    target = (*batch, shape[-2], last)
    return laid(
        call, "torch", target, attention_layout(q, key, value, target, dropout_p, attn_mask, grouped), q.dtype, q.device
    )


def attention_layout(
    q: Tensor, k: Tensor, v: Tensor, target: Shape, dropout_p: Value, mask: Value, grouped: bool
) -> Strides | None:
    """CPU: the fused kernel returns a tensor laid out as the query, the plain one a contiguous tensor. On a GPU that depends
    on which of four kernels is taken: one gives (batch, length, heads, width) with the middle axes swapped.

    The fused kernel (`use_flash_attention_cpp`) wants rank 4, one batch, one width, a last axis of stride 1 and no dropout,
    and no mask that needs a gradient.
    """
    shapes = (q.shape or (), k.shape or (), v.shape or ())
    if grouped or q.device != "cpu":
        return None
    plain = layout.contiguous(target)
    fused = layout.preserve(q.shape or (), q.strides)
    if fused == plain and q.shape == target:
        return plain
    if len(target) != 4:
        return plain
    batch = shapes[0][:2]
    if any(shape[:2] != batch for shape in shapes[1:]) or shapes[2][-1] != shapes[0][-1]:
        return None
    if not isinstance(dropout_p, Const):
        return None
    if dropout_p.value != 0:
        return plain
    if not values.is_none(mask) and not (isinstance(mask, Tensor) and mask.dtype == "bool" and mask.rank in (2, 4)):
        return None
    for one in (q, k, v):
        if one.strides is None:
            return None
        if one.strides[-1] != 1:
            return plain if isinstance(one.strides[-1], int) and one.shape is not None and one.shape[-1] != 1 else None
    return fused


@op("F.multi_head_attention_forward", "*args", tensor=False)
def multi_head_attention_forward(call: Call, args: list[Value]) -> Value:
    raise Undecided
