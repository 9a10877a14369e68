"""The table of torch: functions by dotted path, methods and attributes of Tensor by name."""

from __future__ import annotations

from tensorlint.inference.ops.torch import (
    creation,
    further,
    joining,
    linear_algebra,
    losses,
    neural,
    pointwise,
    reductions,
    selection,
    views,
    wrappers,
)
from tensorlint.inference.ops.torch.registry import TORCH

__all__ = [
    "TORCH",
    "creation",
    "further",
    "joining",
    "linear_algebra",
    "losses",
    "neural",
    "pointwise",
    "reductions",
    "selection",
    "views",
    "wrappers",
]
