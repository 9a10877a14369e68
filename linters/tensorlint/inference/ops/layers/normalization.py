"""Batch, layer, group and instance normalisation."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.layers.linear import parameter, size
from tensorlint.inference.ops.modules import argument, layer
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.ops.torch import normalization
from tensorlint.inference.values import NONE, UNKNOWN, LibraryObject, Tensor, Value


def _batch_attribute(obj: LibraryObject, name: str) -> Value | None:
    switch = {
        "weight": "affine",
        "bias": "affine",
        "running_mean": "track_running_stats",
        "running_var": "track_running_stats",
    }
    if name in switch:
        on = arguments.truth(argument(obj, switch[name]))
        if on is None:
            return UNKNOWN
        return parameter(obj, (size(obj, "num_features"),)) if on else NONE
    return None


def _ranks(axes: int) -> tuple[int, ...]:
    """Of what a batch norm takes: without a spatial axis too, where it is of one."""
    return (2, 3) if axes == 1 else (axes + 2,)


_BATCH = "num_features eps=1e-5 momentum=0.1 affine=True track_running_stats=True device=None dtype=None"
_INSTANCE = "num_features eps=1e-5 momentum=0.1 affine=False track_running_stats=False device=None dtype=None"


@layer("BatchNorm1d BatchNorm2d BatchNorm3d", _BATCH, attribute=_batch_attribute)
def batch_norm(call: Call, obj: LibraryObject, input: Value) -> Value:
    rank = int(obj.path[-2])
    if isinstance(input, Tensor) and input.shape is not None:
        if len(input.shape) not in _ranks(rank):
            raise Undecided
        agree(input.shape[1], size(obj, "num_features"))
    elif rank > 1:
        # It takes this rank only; the sizes that were asked for before keep their identity.
        known = getattr(input, "axes", None) or {}
        shape = tuple(known[axis] if axis in known else S.symbol() for axis in range(rank + 2))
        if True in (arguments.truth(argument(obj, name)) for name in ("affine", "track_running_stats")):
            shape = (shape[0], size(obj, "num_features"), *shape[2:])
        dtype = input.dtype if isinstance(input, Tensor) else None
        return Tensor("torch", shape, None, dtype, None, call.node)
    return normalization.batch_norm(call, input)


@layer("LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d", _BATCH.replace("num_features ", ""))
def lazy_batch_norm(call: Call, obj: LibraryObject, input: Value) -> Value:
    """Its first input says how many features it has."""
    if isinstance(input, Tensor) and input.shape is not None and len(input.shape) not in _ranks(int(obj.path[-2])):
        raise Undecided
    return normalization.batch_norm(call, input)


@layer("SyncBatchNorm", _BATCH + " process_group=None", attribute=_batch_attribute)
def sync_batch_norm(call: Call, obj: LibraryObject, input: Value) -> Value:
    return normalization.batch_norm(call, input)


@layer("LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d", _INSTANCE.replace("num_features ", ""))
@layer("InstanceNorm1d InstanceNorm2d InstanceNorm3d", _INSTANCE, attribute=_batch_attribute)
def instance_norm(call: Call, obj: LibraryObject, input: Value) -> Value:
    return normalization.contiguous_only(call, input)


def _group_attribute(obj: LibraryObject, name: str) -> Value | None:
    if name in ("weight", "bias"):
        on = arguments.truth(argument(obj, "affine"))
        if on is None:
            return UNKNOWN
        return parameter(obj, (size(obj, "num_channels"),)) if on else NONE
    return None


@layer("GroupNorm", "num_groups num_channels eps=1e-5 affine=True device=None dtype=None", attribute=_group_attribute)
def group_norm(call: Call, obj: LibraryObject, input: Value) -> Value:
    return normalization.group_norm(call, input)


def _layer_attribute(obj: LibraryObject, name: str) -> Value | None:
    if name in ("weight", "bias"):
        on = arguments.truth(argument(obj, "elementwise_affine"))
        if name == "bias" and on and arguments.truth(argument(obj, "bias")) is False:
            return NONE
        if on is None:
            return UNKNOWN
        if not on:
            return NONE
        shape: Shape = arguments.shape([argument(obj, "normalized_shape")])
        return parameter(obj, shape)
    return None


@layer(
    "LayerNorm",
    "normalized_shape eps=1e-5 elementwise_affine=True bias=True device=None dtype=None",
    attribute=_layer_attribute,
)
def layer_norm(call: Call, obj: LibraryObject, input: Value) -> Value:
    return normalization.layer_norm(call, input)


def _rms_attribute(obj: LibraryObject, name: str) -> Value | None:
    if name == "weight" and arguments.truth(argument(obj, "elementwise_affine")):
        return parameter(obj, arguments.shape([argument(obj, "normalized_shape")]))
    return None


@layer("RMSNorm", "normalized_shape eps=None elementwise_affine=True device=None dtype=None", attribute=_rms_attribute)
def rms_norm(call: Call, obj: LibraryObject, input: Value) -> Value:
    return normalization.rms_norm(call, input)


@layer("LocalResponseNorm CrossMapLRN2d", "size alpha=1e-4 beta=0.75 k=1.0")
def local_response_norm(call: Call, obj: LibraryObject, input: Value) -> Value:
    return normalization.open_layout(call, input)
