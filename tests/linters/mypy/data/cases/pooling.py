# Max pooling gives a Tensor, or with return_indices two.
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

x = torch.zeros(1, 1, 4, 4)
reveal_type(nn.MaxPool2d(2)(x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(nn.MaxPool2d(2, stride=2)(x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(nn.MaxPool2d(2, 2, 0, 1)(x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(nn.MaxPool2d(2, 2, 0, 1, True)(x))  # N: Revealed type is "Any"
reveal_type(nn.MaxPool2d(2, return_indices=True)(x))  # N: Revealed type is "Any"
options: dict[str, Any] = {}
reveal_type(nn.MaxPool2d(2, **options)(x))  # N: Revealed type is "Any"
reveal_type(nn.AdaptiveMaxPool1d(2)(x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(nn.AdaptiveMaxPool1d(2, True)(x))  # N: Revealed type is "Any"
nn.MaxPool2d(2)("a")  # E: Argument 1 to "forward" of "MaxPool2d" has incompatible type "str"; expected "Tensor"  [arg-type]


class Net(nn.Module):
    def __init__(self, indices: bool) -> None:
        super().__init__()
        self.pool = nn.MaxPool2d(2)
        self.indices = nn.MaxPool2d(2, return_indices=indices)
        self.both = nn.MaxPool2d(2)
        if indices:
            self.both = nn.MaxPool2d(2, return_indices=True)

    def forward(self, x: Tensor) -> Tensor:
        reveal_type(self.pool(x))  # N: Revealed type is "torch._tensor.Tensor"
        reveal_type(self.indices(x))  # N: Revealed type is "Any"
        reveal_type(self.both(x))  # N: Revealed type is "Any"
        return self.pool(x)


class Below(Net):
    def __init__(self) -> None:
        super().__init__(True)
        self.pool = nn.MaxPool2d(2, return_indices=True)

    def forward(self, x: Tensor) -> Tensor:
        reveal_type(self.pool(x))  # N: Revealed type is "Any"
        return x


def given(pool: nn.MaxPool2d, net: Net) -> None:
    reveal_type(pool(x))  # N: Revealed type is "Any"
    reveal_type(net.pool(x))  # N: Revealed type is "torch._tensor.Tensor"


local = nn.MaxPool2d(2)
reveal_type(local(x))  # N: Revealed type is "Any"
