"""Linear, Bilinear, Embedding, and the layers that only rearrange: Flatten, Unflatten, PixelShuffle, Fold."""

from __future__ import annotations

from tensorlint.inference import known_axes, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, contiguous
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.modules import argument, layer
from tensorlint.inference.ops.results import COLUMN, fresh, unplaced, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch import affine, distances, resampling, views
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import NONE, Const, LibraryObject, Tensor, Value, copy


def size(obj: LibraryObject, name: str) -> Size:
    return arguments.count(argument(obj, name))


def parameter(obj: LibraryObject, shape: Shape) -> Tensor:
    """A parameter of a layer: contiguous, of the type given to the constructor."""
    dtype = argument(obj, "dtype")
    name = "float32" if values.is_none(dtype) else dtypes.named(dtype, "torch")
    return Tensor("torch", shape, contiguous(shape), name, None, obj.made)


def parameter_dtype(obj: LibraryObject) -> str | None:
    dtype = argument(obj, "dtype")
    return None if values.is_none(dtype) else dtypes.named(dtype, "torch")


def bias(obj: LibraryObject, shape: Shape) -> Value:
    given = arguments.truth(argument(obj, "bias"))
    if given is None:
        made = parameter(obj, shape)
        return copy(made, marks=made.marks | {"optional"})
    return parameter(obj, shape) if given else NONE


def _linear_attribute(obj: LibraryObject, name: str) -> Value | None:
    if name == "weight":
        return parameter(obj, (size(obj, "out_features"), size(obj, "in_features")))
    if name == "bias":
        return bias(obj, (size(obj, "out_features"),))
    return None


def spelled(obj: LibraryObject, *names: str) -> str:
    """`nn.Linear(8, 1)`."""
    return f"{obj.path[6:]}({', '.join(S.show(values.size_of(argument(obj, name))) for name in names)})"


@layer("Linear", "in_features out_features bias=True device=None dtype=None", attribute=_linear_attribute)
def linear(call: Call, obj: LibraryObject, input: Value) -> Value:
    if not isinstance(input, Tensor):
        input = Tensor("torch", axes=known_axes.of(input))
    how = spelled(obj, "in_features", "out_features")
    inputs, outputs = size(obj, "in_features"), size(obj, "out_features")
    if input.shape:
        if len(input.shape) == 1 and inputs == 1 and S.surely_not_one(input.shape[0]):
            call.report("bare_inputs", tensor=input, layer=how)
        call.unify(input.shape[-1], inputs)
    return affine.linear_to(call, input, inputs, outputs, parameter_dtype(obj), how)


@layer("LazyLinear", "out_features bias=True device=None dtype=None")
def lazy_linear(call: Call, obj: LibraryObject, input: Value) -> Value:
    if not isinstance(input, Tensor):
        input = unranked("torch")
    last = input.shape[-1] if input.shape else S.symbol()
    return affine.linear_to(call, input, last, size(obj, "out_features"), None, spelled(obj, "out_features"))


@layer("Bilinear", "in1_features in2_features out_features bias=True device=None dtype=None", "input1 input2")
def bilinear(call: Call, obj: LibraryObject, input1: Value, input2: Value) -> Value:
    first = tensor(input1)
    outputs = size(obj, "out_features")
    marks = COLUMN if outputs == 1 else frozenset()
    return unplaced(call, "torch", (*(first.shape or ())[:-1], outputs), first.dtype, first.device, marks=marks)


@layer("Identity", "*args", "input")
def identity(call: Call, obj: LibraryObject, input: Value) -> Value:
    return input


def _embedding_attribute(obj: LibraryObject, name: str) -> Value | None:
    if name == "weight":
        return parameter(obj, (size(obj, "num_embeddings"), size(obj, "embedding_dim")))
    return None


_EMBEDDING = (
    "num_embeddings embedding_dim padding_idx=None max_norm=None norm_type=2.0 scale_grad_by_freq=False sparse=False "
    "_weight=None _freeze=False device=None dtype=None"
)


@layer("Embedding", _EMBEDDING, attribute=_embedding_attribute)
def embedding(call: Call, obj: LibraryObject, input: Value) -> Value:
    dtype = argument(obj, "dtype")
    name = call.default_dtype if values.is_none(dtype) else dtypes.named(dtype, "torch")
    width = size(obj, "embedding_dim")
    if not isinstance(input, Tensor) or input.shape is None:
        return affine.looked_up(input, width, name)
    return fresh(call, "torch", (*input.shape, width), name, input.device)


_BAG = (
    "num_embeddings embedding_dim max_norm=None norm_type=2.0 scale_grad_by_freq=False mode='mean' sparse=False "
    "_weight=None include_last_offset=False padding_idx=None device=None dtype=None"
)


@layer("EmbeddingBag", _BAG, "input offsets=None per_sample_weights=None", attribute=_embedding_attribute)
def embedding_bag(call: Call, obj: LibraryObject, input: Value, offsets: Value, per_sample_weights: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    if len(shape) == 2:
        bags: Size = shape[0]
    else:
        if arguments.truth(argument(obj, "include_last_offset")) is not False:
            raise Undecided
        bags = (tensor(offsets).shape or (1,))[0]
    return fresh(call, "torch", (bags, size(obj, "embedding_dim")), call.default_dtype, ranked.device)


@layer("Flatten", "start_dim=1 end_dim=-1")
def flatten(call: Call, obj: LibraryObject, input: Value) -> Value:
    return views.flatten(call, input, argument(obj, "start_dim"), argument(obj, "end_dim"))


@layer("Unflatten", "dim unflattened_size")
def unflatten(call: Call, obj: LibraryObject, input: Value) -> Value:
    return views.unflatten(call, input, argument(obj, "dim"), argument(obj, "unflattened_size"))


@layer("PixelShuffle", "upscale_factor")
def pixel_shuffle(call: Call, obj: LibraryObject, input: Value) -> Value:
    return resampling.pixel_shuffle(call, input, argument(obj, "upscale_factor"))


@layer("PixelUnshuffle", "downscale_factor")
def pixel_unshuffle(call: Call, obj: LibraryObject, input: Value) -> Value:
    return resampling.pixel_unshuffle(call, input, argument(obj, "downscale_factor"))


@layer("ChannelShuffle", "groups")
def channel_shuffle(call: Call, obj: LibraryObject, input: Value) -> Value:
    return resampling.channel_shuffle(call, input, argument(obj, "groups"))


@layer("Fold", "output_size kernel_size dilation=1 padding=0 stride=1")
def fold(call: Call, obj: LibraryObject, input: Value) -> Value:
    return resampling.fold(
        call,
        input,
        argument(obj, "output_size"),
        argument(obj, "kernel_size"),
    )


@layer("Unfold", "kernel_size dilation=1 padding=0 stride=1")
def unfold(call: Call, obj: LibraryObject, input: Value) -> Value:
    names = ("kernel_size", "dilation", "padding", "stride")
    return resampling.unfold(call, input, *(argument(obj, name) for name in names))


@layer("CosineSimilarity", "dim=1 eps=1e-8", "x1 x2")
def cosine_similarity(call: Call, obj: LibraryObject, x1: Value, x2: Value) -> Value:
    return distances.cosine_similarity(call, x1, x2, argument(obj, "dim"), Const(1e-8))


@layer("PairwiseDistance", "p=2.0 eps=1e-6 keepdim=False", "x1 x2")
def pairwise_distance(call: Call, obj: LibraryObject, x1: Value, x2: Value) -> Value:
    return distances.pairwise_distance(call, x1, x2, Const(2.0), Const(1e-6), argument(obj, "keepdim"))


@layer("einops.layers.torch.Rearrange", "pattern **axes")
def rearrange(call: Call, obj: LibraryObject, input: Value) -> Value:
    return _einops(call, obj, input, "rearrange")


@layer("einops.layers.torch.Reduce", "pattern reduction **axes")
def reduce(call: Call, obj: LibraryObject, input: Value) -> Value:
    from tensorlint.inference.ops import einops

    given = einops.subject(call, input)
    axes = obj.arguments.get("axes")
    if not isinstance(axes, dict):
        raise Undecided
    return einops.reduce(call, argument(obj, "pattern"), argument(obj, "reduction"), axes, tensor=given)


def _einops(call: Call, obj: LibraryObject, input: Value, kind: str) -> Value:
    from tensorlint.inference.ops import einops

    axes = obj.arguments.get("axes")
    if not isinstance(axes, dict):
        raise Undecided
    return einops.transform(call, einops.subject(call, input), einops.text_of(argument(obj, "pattern")), axes, kind)
