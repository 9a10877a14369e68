"""How our dispatch modes call the operator that they are given: without asking subclasses and function modes about it.

torch has asked them before it comes to its operators. Where it has not (`torch.tensor(x)`, `torch.vmap`, backward), they
would hear of the operator because of our mode, and a subclass would make its own kind of the result.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch

_as_it_is = nullcontext()
_unheard = torch._C.DisableTorchFunction  # torch 2.6 to 2.13


def operator_call(func: Any, types: Any) -> Any:
    """Around the call. What runs Python code of somebody else (custom operators, wrappers of tensors) stays as it is."""
    return _as_it_is if types or getattr(func, "namespace", "") != "aten" else _unheard()
