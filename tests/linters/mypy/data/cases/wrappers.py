# Modules in modules: DistributedDataParallel and DataParallel pass their arguments on.
from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

x = torch.zeros(2, 3)


class Foo(nn.Module):
    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        return x * scale


class Pair(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        return x, 1


ddp = DistributedDataParallel(Foo())
reveal_type(ddp(x))  # N: Revealed type is "torch._tensor.Tensor"
ddp(x, scale="a")  # E: Argument "scale" to "forward" of "Foo" has incompatible type "str"; expected "float"  [arg-type]
reveal_type(DistributedDataParallel(module=Pair())(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
reveal_type(DistributedDataParallel(DistributedDataParallel(Pair()))(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
reveal_type(DataParallel(Pair())(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
DataParallel(Foo())("a")  # E: Argument 1 to "forward" of "Foo" has incompatible type "str"; expected "Tensor"  [arg-type]


def declared(a: DistributedDataParallel, m: nn.Module) -> None:
    reveal_type(a(x))  # N: Revealed type is "Any"
    reveal_type(DistributedDataParallel(m)(x))  # N: Revealed type is "Any"


def either(flag: bool) -> None:
    model: nn.Module = Foo()
    if flag:
        model = DistributedDataParallel(model)
    reveal_type(model(x, 1, 2, 3))  # N: Revealed type is "Any"


def replaced(flag: bool) -> None:
    model = DistributedDataParallel(Foo())
    if flag:
        model = DistributedDataParallel(Pair())
    reveal_type(model(x))  # N: Revealed type is "Any"


def replaced_by_another(flag: bool, other: DistributedDataParallel) -> None:
    model = DistributedDataParallel(Foo())
    if flag:
        model = other
    model(x)


def chosen(flag: bool) -> None:
    model = DistributedDataParallel(Foo()) if flag else DistributedDataParallel(Pair())
    reveal_type(model(x))  # N: Revealed type is "Any"
    models = [DistributedDataParallel(Foo()), DistributedDataParallel(Pair())]
    reveal_type(models[1](x))  # N: Revealed type is "Any"


class Trainer:
    def __init__(self) -> None:
        self.model = DistributedDataParallel(Pair())

    def step(self) -> None:
        reveal_type(self.model(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
        reveal_type(self.model.module)  # N: Revealed type is "Any"
