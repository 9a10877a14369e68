# Buffers, parameters and modules that are registered by name.
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


class Positions(nn.Module):
    def __init__(self, table: Tensor | None, layer: nn.Module) -> None:
        super().__init__()
        self.register_buffer("pe", torch.zeros(4, 4))
        self.register_buffer(name="mask", tensor=torch.zeros(1), persistent=False)
        self.register_buffer("later", None)
        if table is not None:
            self.register_buffer("table", table)
        else:
            self.register_buffer("table", None)
        for _ in range(2):
            with torch.no_grad():  # type: ignore[attr-defined, unused-ignore]
                self.register_buffer("deep", torch.zeros(1))
        self.register_parameter("weight", nn.Parameter(torch.zeros(1)))
        self.add_module("layer", layer)
        self.add_module("proj", nn.Linear(2, 2))
        self.register_buffer("declared", torch.zeros(1))
        self.linear = nn.Linear(2, 2)

    declared: Tensor

    def forward(self, x: Tensor) -> Tensor:
        reveal_type(self.pe)  # N: Revealed type is "torch._tensor.Tensor"
        reveal_type(self.mask)  # N: Revealed type is "torch._tensor.Tensor"
        reveal_type(self.later)  # N: Revealed type is "torch._tensor.Tensor | Any"
        reveal_type(self.table)  # N: Revealed type is "torch._tensor.Tensor | Any"
        reveal_type(self.deep)  # N: Revealed type is "torch._tensor.Tensor"
        reveal_type(self.weight)  # N: Revealed type is "torch.nn.parameter.Parameter"
        reveal_type(self.layer)  # N: Revealed type is "Any"
        self.linear(self.layer.weight)
        reveal_type(self.proj(x))  # N: Revealed type is "Any"
        reveal_type(self.declared)  # N: Revealed type is "torch._tensor.Tensor"
        reveal_type(self.unknown)  # N: Revealed type is "torch._tensor.Tensor | torch.nn.modules.module.Module"
        reveal_type(self.training)  # N: Revealed type is "bool"
        if self.later is None:
            return self.linear(self.pe)
        self.linear(self.later)
        return self.linear(self.table) + self.linear(self.weight)


class Inherits(Positions):
    def forward(self, x: Tensor) -> Tensor:
        return self.linear(self.pe)


reveal_type(Inherits(None, nn.Linear(1, 1)).pe)  # N: Revealed type is "torch._tensor.Tensor"


class Other(nn.Module):
    """Its own class registers nothing of the name."""

    def forward(self, x: Tensor) -> Tensor:
        reveal_type(self.pe)  # N: Revealed type is "torch._tensor.Tensor | torch.nn.modules.module.Module"
        return x


class NotSelf(nn.Module):
    def __init__(self, other: nn.Module, name: str) -> None:
        super().__init__()
        other.register_buffer("theirs", torch.zeros(1))
        self.register_buffer(name, torch.zeros(1))
        self.other = other

    def forward(self, x: Tensor) -> Tensor:
        reveal_type(self.theirs)  # N: Revealed type is "torch._tensor.Tensor | torch.nn.modules.module.Module"
        return x


class Plain:
    """Not a module: its register_buffer is its own business."""

    def register_buffer(self, name: str, value: int) -> None: ...

    def __init__(self) -> None:
        self.register_buffer("pe", 1)

    def __getattr__(self, name: str) -> int | str:
        return ""


reveal_type(Plain().pe)  # N: Revealed type is "int | str"


class Registers(nn.Module):
    """Registers in a method of another name, and under another `self`."""

    def build(this) -> None:
        this.register_buffer("cache", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.cache.sum()


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()

        class Inner:
            def __init__(self, hook: Callable[[], None]) -> None:
                self.register_buffer("inner", torch.zeros(1))  # E: "Inner" has no attribute "register_buffer"  [attr-defined]

    def forward(self, x: Tensor) -> Tensor:
        reveal_type(self.inner)  # N: Revealed type is "torch._tensor.Tensor | torch.nn.modules.module.Module"
        return x


class Either(nn.Module):
    """A layer in one case, a buffer in the other."""

    def __init__(self, learned: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        if learned:
            self.table = nn.Embedding(2, 2)
        else:
            self.register_buffer("table", torch.zeros(2, 2))
        self.register_buffer("scale", torch.zeros(1))
        self.scale = torch.zeros(1)

    def forward(self, x: Tensor) -> Tensor:
        reveal_type(self.scale)  # N: Revealed type is "torch._tensor.Tensor"
        reveal_type(self.table)  # N: Revealed type is "Any"
        return self.linear(self.table)


class EitherBelow(Positions):
    """Puts a layer where the class above has a buffer."""

    def __init__(self) -> None:
        super().__init__(None, nn.Linear(1, 1))
        self.mask = nn.Linear(2, 2)
        self.other = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        reveal_type(self.mask)  # N: Revealed type is "Any"
        reveal_type(self.other(x))  # N: Revealed type is "torch._tensor.Tensor"
        return self.linear(self.mask)
