"""Which tensors live on the simulated device: a flag on the storage, shared by views, `.data`, `detach()` and Parameters.

Storages keep their Python object for as long as they live, so the flag neither leaks nor outlives the memory.
"""

from __future__ import annotations

from typing import Any

import torch

from pytest_tensorcheck.sync.private_torch import innermost, without_torch_function

# No flag: on the host, unless the code names no device at all (then floating point data counts as device data).
NONE = 0
DEVICE = 1
HOST = 2
PINNED = 3
PLAIN = 4  # derived from data that counts as device data only because the code names no device

FLAG = "_tensorcheck_place"


def place_of(tensor: Any) -> int:
    """The flag of a tensor's storage; of the tensor itself where it has none (sparse, nested).

    None of our looks at it is a call that the tensor's class or a function mode hears of. What only answers torch's
    functions in a tensor's place is nowhere.
    """
    if not isinstance(tensor, torch.Tensor):
        return NONE
    with without_torch_function():
        try:
            return getattr(tensor.untyped_storage(), FLAG, NONE)
        except (RuntimeError, NotImplementedError):
            inner = innermost(tensor)
            if inner is not tensor:
                return place_of(inner)
            return getattr(tensor, FLAG, NONE)


def put(tensor: Any, place: int) -> Any:
    """Set the flag; returns the tensor."""
    with without_torch_function():
        try:
            setattr(tensor.untyped_storage(), FLAG, place)
        except (RuntimeError, NotImplementedError):
            inner = innermost(tensor)
            if inner is not tensor:
                put(inner, place)
            else:
                setattr(tensor, FLAG, place)
    return tensor


def put_all(value: Any, place: int) -> Any:
    """Set the flag on a tensor, or on each tensor of a (nested) tuple or list; returns the value."""
    if isinstance(value, torch.Tensor):
        put(value, place)
    elif isinstance(value, (tuple, list)):
        for item in value:
            put_all(item, place)
    return value


def is_on_device(tensor: Any) -> bool:
    return place_of(tensor) == DEVICE


def is_float(tensor: Any) -> bool:
    """Whether it holds numbers that a network computes with, asked as unheard as the rest of this."""
    with without_torch_function():
        return bool(tensor.is_floating_point() or tensor.is_complex())


def is_meta(tensor: Any) -> bool:
    with without_torch_function():
        return bool(tensor.is_meta)


def any_on_device(values: Any) -> bool:
    """Whether a (nested) argument list holds a tensor on the simulated device."""
    for value in values:
        if isinstance(value, torch.Tensor):
            if place_of(value) == DEVICE:
                return True
        elif isinstance(value, (tuple, list)) and any_on_device(value):
            return True
    return False
