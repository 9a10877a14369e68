from torch._tensor import Tensor
from torch.nn.modules.module import Module

class MaxPool2d(Module):
    def __init__(
        self,
        kernel_size: int,
        stride: int | None = None,
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
    ) -> None: ...
    def forward(self, input: Tensor): ...

class AdaptiveMaxPool1d(Module):
    def __init__(self, output_size: int, return_indices: bool = False) -> None: ...
    def forward(self, input: Tensor): ...
