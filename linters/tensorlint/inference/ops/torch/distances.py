"""Distances and similarities of torch.nn.functional."""

from __future__ import annotations

from tensorlint.inference import layout
from tensorlint.inference import sizes as S
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.broadcasting import broadcast, tell_any
from tensorlint.inference.ops.elementwise import elementwise
from tensorlint.inference.ops.reducing import reduce
from tensorlint.inference.ops.results import laid, short
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Tensor, Value


@op("F.cosine_similarity torch.cosine_similarity", "x1 x2 dim=1 eps=1e-8")
def cosine_similarity(call: Call, x1: Value, x2: Value, dim: Value, eps: Value) -> Value:
    a, b = tensor(x1), tensor(x2)
    shape = broadcast(a.shape or (), b.shape or ())
    at = arguments.axis(dim, len(shape))
    tell_any(call, short(call.name), [a, b], shape)
    # One without axes counts as much as the other, unlike elsewhere.
    whole = (a.shape == ()) is (b.shape == ()) or a.dtype == b.dtype
    name = dtypes.torch_result([a, b], call.default_dtype) if whole else None
    return laid(
        call,
        "torch",
        (*shape[:at], *shape[at + 1 :]),
        None if len(shape) > 2 else layout.contiguous((*shape[:at], *shape[at + 1 :])),
        dtypes.torch_float(name, call.default_dtype),
        a.device,
    )


@op("F.pairwise_distance torch.pairwise_distance", "x1 x2 p=2.0 eps=1e-6 keepdim=False")
def pairwise_distance(call: Call, x1: Value, x2: Value, p: Value, eps: Value, keepdim: Value) -> Value:
    difference = elementwise(call, [tensor(x1), tensor(x2)], framework="torch", operation=short(call.name))
    if not isinstance(difference, Tensor) or not difference.shape:
        raise Undecided
    dtype = dtypes.real_of(dtypes.torch_float(difference.dtype, call.default_dtype))
    return reduce(call, difference, Const(-1), keepdim, dtype)


@op("F.pdist torch.pdist", "input p=2.0")
def pdist(call: Call, input: Value, p: Value) -> Value:
    ranked = tensor(input)
    rows = (ranked.shape or ())[0]
    pairs: Size = rows * (rows - 1) // 2 if isinstance(rows, int) else S.symbol()
    return laid(call, "torch", (pairs,), (1,), ranked.dtype, ranked.device)
