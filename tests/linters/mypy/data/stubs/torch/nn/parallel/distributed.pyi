from typing import Any

from torch.nn.modules.module import Module

class DistributedDataParallel(Module):
    module: Any
    def __init__(self, module, device_ids=None) -> None: ...
    def forward(self, *inputs, **kwargs): ...
