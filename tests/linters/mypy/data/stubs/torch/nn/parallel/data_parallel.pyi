from typing import Any, Generic, TypeVar

from torch.nn.modules.module import Module

T = TypeVar("T", bound=Module)

class DataParallel(Module, Generic[T]):
    module: T
    def __init__(self, module: T) -> None: ...
    def forward(self, *inputs: Any, **kwargs: Any) -> Any: ...
