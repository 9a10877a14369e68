# With `containers = true`.
from __future__ import annotations

import torch
from torch import Tensor, nn

x = torch.zeros(1)


class Block(nn.Module):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, int]:
        return x, 1


sequential = nn.Sequential(nn.Linear(2, 2), Block())
reveal_type(sequential(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
sequential("a")  # E: Argument 1 to "forward" of "Sequential" has incompatible type "str"; expected "Tensor"  [arg-type]
reveal_type(nn.Sequential(Block(), *[nn.ReLU()])(x))  # N: Revealed type is "Any"
reveal_type(nn.Sequential()(x))  # N: Revealed type is "Any"
reveal_type(nn.Sequential(nn.ReLU(), nn.Sequential(nn.ReLU()))(x))  # N: Revealed type is "torch._tensor.Tensor"
recurrent = nn.Sequential(nn.Linear(2, 2), nn.LSTM(2, 2))
reveal_type(recurrent(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, tuple[torch._tensor.Tensor, torch._tensor.Tensor]]"
recurrent("a")  # E: Argument 1 to "forward" of "Sequential" has incompatible type "str"; expected "Tensor"  [arg-type]
alone = nn.Sequential(nn.LSTM(2, 2))
reveal_type(alone(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, tuple[torch._tensor.Tensor, torch._tensor.Tensor]]"
reveal_type(nn.Sequential(nn.LSTM(2, 2), Block())(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
reveal_type(nn.Sequential(nn.ReLU(), nn.Sequential(nn.LSTM(2, 2)))(x)[0])  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(nn.Sequential(Block(), nn.LSTM(2, 2))(x))  # N: Revealed type is "Any"
reveal_type(nn.Sequential(nn.LSTM(2, 2), nn.LSTM(2, 2))(x))  # N: Revealed type is "Any"


class Net(nn.Module):
    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.same = nn.ModuleList([Block(), Block()])
        self.mixed = nn.ModuleList([Block(), nn.ReLU()])
        self.given = nn.ModuleList(layers)
        self.empty = nn.ModuleList()
        self.pool = nn.MaxPool2d(2)
        self.named = nn.ModuleDict({"a": Block(), "b": Block()})
        self.numbered = nn.ModuleDict({str(n): Block() for n in range(3)})
        self.unlike = nn.ModuleDict({"a": Block(), "b": nn.ReLU()})
        self.merged = nn.ModuleDict({"a": Block(), **{"b": nn.ReLU()}})

    def forward(self, x: Tensor) -> None:
        reveal_type(self.blocks[0](x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
        reveal_type(self.blocks[1:][0](x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
        for block in self.blocks:
            reveal_type(block(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
        reveal_type(self.same[1](x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
        reveal_type(self.mixed[0](x))  # N: Revealed type is "Any"
        reveal_type(self.given[0](x))  # N: Revealed type is "Any"
        reveal_type(self.empty[0](x))  # N: Revealed type is "Any"
        for index, each in enumerate(self.blocks):
            reveal_type(each(x))  # N: Revealed type is "Any"
        reveal_type(self.named["a"](x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
        for each in self.numbered.values():
            reveal_type(each(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
        for key, member in self.named.items():
            reveal_type(key)  # N: Revealed type is "str"
            reveal_type(member(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
        for key in self.named:
            reveal_type(self.named[key](x, x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
        reveal_type(self.unlike["a"](x))  # N: Revealed type is "Any"
        reveal_type(self.merged["a"](x))  # N: Revealed type is "Any"
        reveal_type(self.pool(x))  # N: Revealed type is "torch._tensor.Tensor"


local = nn.MaxPool2d(2)
reveal_type(local(x))  # N: Revealed type is "torch._tensor.Tensor"
indices = nn.MaxPool2d(2, return_indices=True)
reveal_type(indices(x))  # N: Revealed type is "Any"


def replaced(flag: bool) -> None:
    sequential = nn.Sequential(nn.ReLU())
    if flag:
        sequential = nn.Sequential(Block())
    reveal_type(sequential(x))  # N: Revealed type is "Any"
