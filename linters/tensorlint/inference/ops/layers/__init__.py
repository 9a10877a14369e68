"""The layers of torch.nn, by family."""

from __future__ import annotations

from tensorlint.inference.ops.layers import (
    activations,
    attention,
    classifiers,
    containers,
    convolution,
    linear,
    losses,
    normalization,
    recurrent,
)

__all__ = [
    "activations",
    "attention",
    "classifiers",
    "containers",
    "convolution",
    "linear",
    "losses",
    "normalization",
    "recurrent",
]
