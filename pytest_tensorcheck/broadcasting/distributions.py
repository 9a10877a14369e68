"""`Normal(mean (n, 1), std).log_prob(actions (n,))` is n × n: the broadcast happens inside torch.distributions.

The code there is torch's, the operands are the user's. So the frames of `log_prob` and of a distribution's
constructor are read: what the user passed in is judged as if the user had written the operation.
"""

from __future__ import annotations

import os
from types import FrameType
from typing import Any, NamedTuple

from pytest_tensorcheck.broadcasting.operations import Operation
from pytest_tensorcheck.shapes.sizes import Shape

_FOLDER = f"{os.sep}torch{os.sep}distributions{os.sep}"
_METHODS = ("log_prob", "cdf", "icdf")


class Meeting(NamedTuple):
    """Two things the user brought together. A `tensor` that is None is the distribution's own batch of parameters."""

    operation: Operation
    first: Any
    first_shape: Shape
    second: Any
    second_shape: Shape
    frame: FrameType


def is_distribution_code(frame: FrameType) -> bool:
    return _FOLDER in frame.f_code.co_filename


def is_of_events(frame: FrameType) -> bool:
    """Whether a user's own distribution computes here with events that have axes: its parameters (batch, 1) and a value
    (event,) of all of them meet by the rule of batch and event shapes."""
    import torch

    this = frame.f_locals.get("self")
    return issubclass(type(this), torch.distributions.Distribution) and bool(getattr(this, "_event_shape", ()))


def meeting(frame: FrameType) -> Meeting | None:
    """What the user brought together in the outermost distribution call that `frame` is running."""
    outermost = None
    inner: FrameType | None = frame
    while inner is not None and _FOLDER in inner.f_code.co_filename:
        if inner.f_code.co_name in (*_METHODS, "__init__"):
            outermost = inner
        inner = inner.f_back
    if outermost is None or inner is None:
        return None
    values = outermost.f_locals
    distribution = values.get("self")
    kind = type(distribution).__name__
    if outermost.f_code.co_name == "__init__":
        tensors = [each for name, each in values.items() if name != "self" and hasattr(each, "untyped_storage")]
        if len(tensors) != 2:
            return None
        first, second = tensors
        operation = Operation(kind, "arithmetic")
        return Meeting(operation, first, tuple(first.shape), second, tuple(second.shape), inner)
    value: Any = values.get("value")
    try:
        # The names are the class's; a transformed distribution has no batch before its transforms ran.
        batch = tuple(distribution.batch_shape) + tuple(distribution.event_shape)  # type: ignore[union-attr]
    except (AttributeError, NotImplementedError):
        return None
    if not hasattr(value, "untyped_storage"):
        return None
    shape = tuple(value.shape)
    if kind == "Categorical" and outermost is frame:
        shape = shape[:-1]  # its log_prob has put an axis behind the value by now (torch 2.6 to 2.13)
    operation = Operation(f"{kind}.{outermost.f_code.co_name}", "loss", ("self", "value"))
    return Meeting(operation, None, batch, value, shape, inner)
