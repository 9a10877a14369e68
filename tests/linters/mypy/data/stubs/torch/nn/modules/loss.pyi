from torch._tensor import Tensor
from torch.nn.modules.module import Module

class CrossEntropyLoss(Module):
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
