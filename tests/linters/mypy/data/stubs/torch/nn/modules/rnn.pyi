from typing import overload

from torch._tensor import Tensor
from torch.nn.modules.module import Module

class LSTM(Module):
    def __init__(self, input_size: int, hidden_size: int) -> None: ...
    @overload
    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]: ...
    @overload
    def forward(
        self, input: str, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[str, tuple[Tensor, Tensor]]: ...
