"""Modules that are given a memory format: `model.to(memory_format=torch.channels_last)`.

The weights of their convolutions are channels-last from then on, and so is what these give, whatever they are given.
Known is it of modules that are at hand; in a file that speaks of formats, nothing else is said of weights with 4 axes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tensorlint.inference import layout
from tensorlint.inference.layer_changes import held
from tensorlint.inference.layout import Strides
from tensorlint.inference.ops import modules
from tensorlint.inference.ops.torch.joining import suggests_channels_last
from tensorlint.inference.values import (
    NONE,
    UNKNOWN,
    Dictionary,
    Instance,
    Library,
    LibraryObject,
    Sequence,
    Tensor,
    Value,
    copy,
    is_none,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

# The field of a convolution whose module was given a memory format: which one, from then on.
FORMAT = "<memory format>"
_CONVOLUTION = re.compile(r"torch\.nn\.(?:Lazy)?Conv(?:Transpose)?[23]d$")
_IN_FORMAT = {"torch.channels_last": 4, "torch.channels_last_3d": 5}


def note_format(interp: State, receiver: Value, kwargs: dict[str, Value]) -> None:
    """`model.to(memory_format=torch.channels_last)`: from here on the weights of its convolutions lie so.

    Of a module that stands for any of its class nothing is noted: it may be another one that is converted.
    """
    given = kwargs.get("memory_format", NONE)
    if is_none(given):
        return
    pending, seen = [receiver], set[int]()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Instance):
            if not value.generic:
                pending += value.fields.values()
        elif isinstance(value, Sequence):
            pending += value.items or ()
        elif isinstance(value, Dictionary):
            pending += (value.items or {}).values()
        elif isinstance(value, LibraryObject):
            pending += [*value.positional, *value.arguments.values(), *value.fields.values()]
            if _CONVOLUTION.match(value.path):
                interp.store_attribute(value, FORMAT, given if isinstance(given, Library) else UNKNOWN)


def in_format(layer: LibraryObject, weight: Tensor) -> Strides | None:
    """The strides of a convolution's weight, made contiguous, after the formats that its module was given."""
    given = layer.fields.get(FORMAT)
    if not isinstance(given, Library) or weight.shape is None:
        return None
    if _IN_FORMAT.get(given.path) == len(weight.shape):
        return layout.channels_last(weight.shape) if suggests_channels_last(weight) is False else None
    return layout.contiguous(weight.shape) if given.path == "torch.contiguous_format" else None


def of_weight(interp: State, layer: LibraryObject, weight: Tensor) -> Tensor:
    """`held`, of the weight of a layer that is at hand."""
    made = in_format(layer, weight) if FORMAT in layer.fields else None
    found = held(interp, weight)
    if made is not None and found.shape is not None and interp.file.parameter_layouts:
        found.strides = made
    return found


def after_conversion(layer: LibraryObject, result: Tensor) -> Tensor:
    """What a layer gives of a contiguous input, in a file that gives modules a memory format: a convolution whose weight
    is channels-last such a result, whatever it is given."""
    if not _CONVOLUTION.match(layer.path):
        return result
    if "weight" in layer.fields or layer.path != "torch.nn.Conv2d" or result.rank != 4 or result.dtype != "float32":
        return copy(result, strides=None)
    weight = modules.module_attribute(layer, "weight")
    strides = in_format(layer, weight) if isinstance(weight, Tensor) else None
    suggested = (
        suggests_channels_last(copy(weight, strides=strides)) if isinstance(weight, Tensor) and strides else None
    )
    if suggested is None:
        return copy(result, strides=None)
    return copy(result, strides=layout.channels_last(result.shape or ())) if suggested else result
