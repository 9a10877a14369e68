# Classes to which TSR302 adds a typed __call__; the comments are what checkers say afterwards.
from __future__ import annotations

from typing import Generic, TypeVar, overload

import torch
from torch import Tensor, nn

T = TypeVar("T")


class Foo(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        y: Tensor = self.layer(x)
        return y * scale


class Bar(Foo):
    """Redefines forward with a parameter more."""

    def forward(
        self,
        x: Tensor,  # (B, 3)
        scale: float = 1.0,
        *,
        bias: Tensor | None = None,
    ) -> Tensor:
        return x * scale if bias is None else x + bias  # the bias


class Inherits(Foo):
    pass


class Box(nn.Module, Generic[T]):
    def forward(self, x: T) -> tuple[T, int]:
        return x, 1


class Many(nn.Module):
    @overload
    def forward(self, x: int) -> str: ...
    @overload
    def forward(self, x: Tensor) -> Tensor: ...
    def forward(self, x: int | Tensor) -> str | Tensor:
        return "" if isinstance(x, int) else x


class Starred(nn.Module):
    def forward(self, *xs: Tensor, **options: int) -> Tensor:
        return xs[0]


x = torch.zeros(2, 3)
reveal_type(Foo()(x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(Bar()(x, bias=x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(Inherits()(x, 2.0))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(Box[Tensor]()(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
reveal_type(Many()(1))  # N: Revealed type is "str"
reveal_type(Many()(x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(Starred()(x, x, depth=1))  # N: Revealed type is "torch._tensor.Tensor"
