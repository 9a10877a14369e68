from torch._tensor import Tensor

class Parameter(Tensor):
    def __init__(self, data: Tensor = ..., requires_grad: bool = True) -> None: ...
