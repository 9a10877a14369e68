"""MultiheadAttention and the Transformer layers."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.layout import Strides, contiguous
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.layers.linear import bias, parameter, size
from tensorlint.inference.ops.modules import argument, layer
from tensorlint.inference.ops.results import fresh, laid, tuple_of
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.values import NONE, UNKNOWN, Const, LibraryObject, Tensor, Value


def _attention_attribute(obj: LibraryObject, name: str) -> Value | None:
    width = size(obj, "embed_dim")
    same = all(values.is_none(argument(obj, one)) for one in ("kdim", "vdim"))
    if name == "in_proj_weight":
        return parameter(obj, (S.multiply(3, width), width)) if same else UNKNOWN
    if name == "in_proj_bias":
        return bias(obj, (S.multiply(3, width),))
    if name == "head_dim":
        each = S.floor_divide(width, size(obj, "num_heads"))
        return UNKNOWN if each is None else values.number(each)
    return None


@layer(
    "MultiheadAttention",
    "embed_dim num_heads dropout=0.0 bias=True add_bias_kv=False add_zero_attn=False kdim=None vdim=None "
    "batch_first=False device=None dtype=None",
    "query key value key_padding_mask=None need_weights=True attn_mask=None average_attn_weights=True is_causal=False",
    attribute=_attention_attribute,
    tensor=False,
)
def multihead_attention(
    call: Call,
    obj: LibraryObject,
    query: Value,
    key: Value,
    need_weights: Value,
    average_attn_weights: Value,
    **rest: Value,
) -> Value:
    """(output, weights); the weights are None unless they are wanted."""
    batch_first = arguments.truth(argument(obj, "batch_first"))
    wanted = arguments.truth(need_weights)
    if not isinstance(query, Tensor) or query.shape is None:
        unknown = Tensor("torch", None, None, query.dtype if isinstance(query, Tensor) else None)
        unknown.axes = {-1: size(obj, "embed_dim")}
        return tuple_of([unknown, Tensor("torch") if wanted else NONE if wanted is False else UNKNOWN])
    shape = query.shape
    if len(shape) not in (2, 3):
        raise Undecided
    target = (*shape[:-1], size(obj, "embed_dim"))
    strides: Strides | None = None
    trail: tuple[object, ...] = ()
    if len(shape) == 2 or batch_first is False:
        strides = contiguous(target)
    elif batch_first and not _may_be_one(obj, query, key, rest["value"]):
        # Computed sequence first and transposed back.
        strides = (target[2], S.multiply(target[0], target[2]), 1)
        if call.node is not None:
            trail = ((call.node, "returned as a transposed view because of batch_first=True"),)
    output = laid(call, "torch", target, strides, query.dtype, query.device)
    output.layout_trail = trail  # type: ignore[assignment]
    if wanted is False:
        return tuple_of([output, NONE])
    weights: Value = Tensor("torch", None, None, query.dtype, query.device)
    extra = [argument(obj, name) for name in ("add_bias_kv", "add_zero_attn")]
    averaged = arguments.truth(average_attn_weights)
    if (
        wanted
        and averaged is not None
        and isinstance(key, Tensor)
        and key.shape is not None
        and all(arguments.truth(one) is False for one in extra)
        and len(key.shape) == len(shape)
        and (len(shape) == 2 or batch_first is not None)
    ):
        at = 1 if len(shape) == 3 and batch_first else 0
        heads = () if averaged else (size(obj, "num_heads"),)
        batch = () if len(shape) == 2 else (shape[1 - at],)
        weights = laid(call, "torch", (*batch, *heads, shape[at], key.shape[at]), None, query.dtype, query.device)
    return tuple_of([output, weights if wanted else UNKNOWN])


def _may_be_one(obj: LibraryObject, query: Tensor, key: Value, value: Value) -> bool:
    """Whether the three may be one tensor: where nothing is trained torch computes that by a kernel of its own, whose
    result is contiguous. Which of the two runs is not known of a module."""
    heads = argument(obj, "num_heads")
    if isinstance(heads, Const) and isinstance(heads.value, int) and heads.value % 2:
        return False
    if any(arguments.truth(argument(obj, name)) for name in ("add_bias_kv", "add_zero_attn")):
        return False
    return all(not isinstance(each, Tensor) or each.shape in (query.shape, None) for each in (key, value))


_ENCODER = (
    "d_model nhead dim_feedforward=2048 dropout=0.1 activation=None layer_norm_eps=1e-5 batch_first=False "
    "norm_first=False bias=True device=None dtype=None"
)


@layer("TransformerEncoderLayer", _ENCODER, "src src_mask=None src_key_padding_mask=None is_causal=False")
def encoder_layer(call: Call, obj: LibraryObject, src: Value, **rest: Value) -> Value:
    return through(call, src)


@layer(
    "TransformerDecoderLayer",
    _ENCODER,
    "tgt memory tgt_mask=None memory_mask=None tgt_key_padding_mask=None memory_key_padding_mask=None "
    "tgt_is_causal=False memory_is_causal=False",
)
def decoder_layer(call: Call, obj: LibraryObject, tgt: Value, **rest: Value) -> Value:
    return through(call, tgt)


@layer(
    "TransformerEncoder",
    "encoder_layer num_layers norm=None enable_nested_tensor=True mask_check=True",
    "src mask=None src_key_padding_mask=None is_causal=None",
)
def encoder(call: Call, obj: LibraryObject, src: Value, **rest: Value) -> Value:
    return through(call, src)


@layer(
    "TransformerDecoder",
    "decoder_layer num_layers norm=None",
    "tgt memory tgt_mask=None memory_mask=None tgt_key_padding_mask=None memory_key_padding_mask=None "
    "tgt_is_causal=None memory_is_causal=False",
)
def decoder(call: Call, obj: LibraryObject, tgt: Value, **rest: Value) -> Value:
    return through(call, tgt)


@layer(
    "Transformer",
    "d_model=512 nhead=8 num_encoder_layers=6 num_decoder_layers=6 dim_feedforward=2048 dropout=0.1 activation=None "
    "custom_encoder=None custom_decoder=None layer_norm_eps=1e-5 batch_first=False norm_first=False bias=True "
    "device=None dtype=None",
    "src tgt src_mask=None tgt_mask=None memory_mask=None src_key_padding_mask=None tgt_key_padding_mask=None "
    "memory_key_padding_mask=None src_is_causal=None tgt_is_causal=None memory_is_causal=False",
)
def transformer(call: Call, obj: LibraryObject, src: Value, tgt: Value, **rest: Value) -> Value:
    return through(call, tgt)


def through(call: Call, given: Value) -> Value:
    """A stack that keeps the shape and, for a contiguous input, the layout."""
    if not isinstance(given, Tensor) or given.shape is None:
        return Tensor("torch")
    if given.contiguous is True:
        return fresh(call, "torch", given.shape, given.dtype, given.device)
    return laid(call, "torch", given.shape, None, given.dtype, given.device)
