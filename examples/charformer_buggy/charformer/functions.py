"""A squared ReLU with a gradient of its own, cheaper in memory than the one autograd derives."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class SquaredReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        positive = x.clamp(min=0)
        ctx.save_for_backward(positive)
        return positive * positive

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (positive,) = ctx.saved_tensors
        return positive * grad


def squared_relu(x: Tensor) -> Tensor:
    """max(x, 0)², elementwise."""
    return SquaredReLU.apply(x)
