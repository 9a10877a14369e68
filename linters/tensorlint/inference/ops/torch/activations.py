"""Activations and dropout of torch.nn.functional."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.elementwise import unary_of
from tensorlint.inference.ops.results import laid, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.normalization import normalized, open_layout
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.values import Tensor, Value, copy

_ACTIVATIONS = """F.relu F.relu6 F.gelu F.silu F.mish F.elu F.selu F.celu F.leaky_relu F.rrelu F.hardswish F.hardsigmoid
    F.hardtanh F.softplus F.tanhshrink F.softsign F.logsigmoid F.sigmoid F.tanh F.hardshrink F.softshrink
    F.threshold torch.selu torch.celu torch.rrelu torch.relu6 torch.hardshrink .hardshrink torch.threshold"""


@op(
    _ACTIVATIONS,
    "input *args / inplace=False approximate=None alpha=None negative_slope=None lower=None upper=None training=None "
    "min_val=None max_val=None beta=None threshold=None lambd=None value=None",
)
def activation(call: Call, input: Value, inplace: Value, **rest: object) -> Value:
    name = call.name.rpartition(".")[2]
    kind = "float" if name in ("sigmoid", "tanh", "softsign", "tanhshrink") else "same"
    result = unary_of(call, input, kind=kind, framework="torch")
    certain = None if rest.get("args") else not values.is_none(inplace) and arguments.truth(inplace)
    if certain:
        call.report("in_place", tensor=input)
    return settled(name, result, input, certain)


def settled(name: str, result: Value, input: Value, in_place: bool | None) -> Value:
    """In place the result is the input itself, which may lie with gaps; `in_place` None is not known."""
    if not isinstance(result, Tensor) or not isinstance(input, Tensor):
        return result
    kind = name.lower()
    if kind in ("hardtanh", "relu6"):
        # A clamp into an `empty_like` of the input.
        result.strides = layout.preserve(result.shape or (), input.strides)
    elif kind == "logsigmoid" and result.strides and result.strides != layout.contiguous(result.shape or ()):
        # Row-major on a CPU, as the input lies elsewhere.
        result.strides = None
    elif kind in ("softsign", "tanhshrink") and result.strides != layout.contiguous(result.shape or ()):
        # Of several steps, each of which may copy.
        if 1 in (result.shape or ()) or result.strides != input.strides or result.dtype != input.dtype:
            result.strides = None
    if kind == "rrelu" and not input.contiguous:
        result.strides = None
    elif in_place is not False and result.strides != input.strides:
        result.strides = input.strides if in_place else None
    return result


@op("F.prelu prelu", "input weight")
def prelu(call: Call, input: Value, weight: Value) -> Value:
    ranked = tensor(input)
    result = tensor(unary_of(call, ranked, framework="torch"))
    if 1 in (result.shape or ()) and result.strides != ranked.strides:
        result.strides = None
    return result


@op("F.glu torch.glu", "input dim=-1")
def glu(call: Call, input: Value, dim: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    at = arguments.axis(dim, len(shape))
    half = S.floor_divide(shape[at], 2)
    if half is None or (isinstance(shape[at], int) and shape[at] % 2):  # type: ignore[operator]
        raise Undecided
    target = (*shape[:at], half, *shape[at + 1 :])
    plain = ranked.contiguous and 1 not in target
    return laid(call, "torch", target, layout.contiguous(target) if plain else None, ranked.dtype, ranked.device)


@op(
    "F.dropout F.alpha_dropout F.feature_alpha_dropout F.dropout1d F.dropout2d F.dropout3d torch.dropout",
    "input p=0.5 training=True inplace=False train=None",
)
def dropout(call: Call, input: Value, p: Value, training: Value, inplace: Value, train: Value) -> Value:
    return dropped(call, input)


def dropped(call: Call, input: Value) -> Value:
    """A copy of the same layout in training, the tensor itself in evaluation: what both have in common."""
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return unranked("torch", input.dtype, input.device)
    kept = None if input.strides is None else layout.elementwise([(input.shape, input.strides)], input.shape)
    return copy(input, strides=input.strides if kept == input.strides else None)


@op("F.gumbel_softmax", "logits tau=1 hard=False eps=1e-10 dim=-1")
def gumbel_softmax(call: Call, logits: Value, tau: Value, **rest: Value) -> Value:
    if isinstance(tau, Tensor):
        raise Undecided
    return (
        open_layout(call, logits)
        if not (isinstance(logits, Tensor) and logits.contiguous)
        else normalized(call, logits)
    )
