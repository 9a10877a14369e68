"""The table of numpy: functions by dotted path, methods and attributes of ndarray by name."""

from __future__ import annotations

from tensorlint.inference.ops.numpy import (
    asking,
    creation,
    fourier,
    further,
    histograms,
    index_arrays,
    joining,
    linear_algebra,
    pointwise,
    polynomials,
    random,
    rearranging,
    reductions,
    selection,
    shaping,
    universal,
)
from tensorlint.inference.ops.numpy.registry import NUMPY

__all__ = [
    "NUMPY",
    "asking",
    "creation",
    "fourier",
    "further",
    "histograms",
    "index_arrays",
    "joining",
    "linear_algebra",
    "pointwise",
    "polynomials",
    "random",
    "rearranging",
    "reductions",
    "selection",
    "shaping",
    "universal",
]
