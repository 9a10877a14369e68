from torch._tensor import Tensor
from torch.nn.modules.module import Module

class ReLU(Module):
    def forward(self, input: Tensor) -> Tensor: ...

class MultiheadAttention(Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None: ...
    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]: ...
