# What the cases use of torch, under torch's own full names: the plugin goes by these names.
from collections.abc import Callable
from typing import Any, TypeVar, overload
from typing_extensions import ParamSpec

from torch import jit as jit, nn as nn
from torch._tensor import Tensor as Tensor

_F = TypeVar("_F", bound=Callable[..., Any])
_P = ParamSpec("_P")
_R = TypeVar("_R")

class no_grad:
    def __call__(self, orig_func: _F) -> _F: ...

def zeros(*size: int) -> Tensor: ...
def compile(model: Callable[_P, _R], *, fullgraph: bool = False) -> Callable[_P, _R]: ...
