"""A hash of a tensor's numbers that sees their order, their signs and their NaNs, at the speed of memory.

CRC-32 of the bytes (7 GB/s with the zlib that Python is built with here). An XOR or a norm would be blind to
permutations. Large tensors on an accelerator are hashed there, with integer arithmetic only, so that every device gives
the same number.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from pytest_tensorcheck.own_reads import own_reads

_ON_DEVICE = 1 << 16  # bytes: below this a copy to the host costs less than the kernels
_ROW = 4096  # 64-bit words
_BY_COPY = 1 << 13  # bytes: below this a copy to compare with costs less than a foreign function with three arguments


def hash_memory(address: int, nbytes: int) -> int:
    """CRC-32 of `nbytes` at `address`."""
    if nbytes == 0:
        return 0
    return zlib.crc32((ctypes.c_char * nbytes).from_address(address))


def copy_memory(address: int, nbytes: int) -> bytes:
    """The `nbytes` at `address`."""
    return ctypes.string_at(address, nbytes)


def memory_is(address: int, numbers: bytes) -> bool:
    """Whether these bytes stand at `address`: several times as fast as to hash them."""
    nbytes = len(numbers)
    if _memcmp is None or nbytes < _BY_COPY:
        return ctypes.string_at(address, nbytes) == numbers
    return not _memcmp(address, numbers, nbytes)


def _find_memcmp() -> Any:
    try:
        memcmp: Any = ctypes.PyDLL(None).memcmp
    except (OSError, AttributeError, TypeError):  # Windows has no library of the process itself
        return None
    memcmp.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
    return memcmp


_memcmp = _find_memcmp()


def physical_layout(tensor: Any) -> tuple[int, ...] | None:
    """The strides if the tensor fills its stretch of memory without holes or overlap in an order other than the
    standard one, else None."""
    expected = 1
    strides = tensor.stride()
    shape = tensor.shape
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return None
        expected *= size
    return tuple(strides)


def hash_tensor(tensor: Any, of_memory: Callable[[int, int], Any] = hash_memory) -> Any:
    """The hash of a strided tensor's elements: an int, or (int, strides) where they lie densely in another order than
    the standard one. `copy_memory` instead of `hash_memory` gives the bytes themselves, of a tensor on the CPU.

    Never changes the tensor, its version or the autograd graph.
    """
    import torch

    with torch.no_grad():
        if tensor.numel() == 0 or tensor._is_zerotensor():  # nothing, or zeros that have no memory
            return 0
        if not tensor.is_contiguous():
            layout = physical_layout(tensor)
            if layout is not None:
                flat = tensor.as_strided((tensor.numel(),), (1,))
                return (hash_tensor(flat, of_memory), layout)
            tensor = tensor.contiguous()
        if tensor.is_conj() or tensor.is_neg():
            tensor = tensor.resolve_conj().resolve_neg()
        if tensor.device.type != "cpu":
            with own_reads:
                if tensor.nbytes >= _ON_DEVICE:
                    return hash_on_device(tensor)
                tensor = tensor.cpu()
        return of_memory(tensor.data_ptr(), tensor.nbytes)


def hash_on_device(tensor: Any) -> int:
    """A position-sensitive 64-bit hash with integer kernels, for a contiguous tensor on any device; the last bytes go
    to the host.

    Each 64-bit word is mixed before it is weighted: without that, two flipped sign bits would cancel modulo 2**64.
    """
    import torch

    flat = tensor.detach().view(-1).view(torch.uint8)
    row_bytes = _ROW * 8
    whole = flat.numel() // row_bytes * row_bytes
    code = zlib.crc32(bytes(flat[whole:].cpu().tolist()))
    if whole:
        words = flat[:whole]
        if words.storage_offset() % 8:
            words = words.clone()
        words = words.view(torch.int64).view(-1, _ROW)
        mixed = words ^ (words >> 32)
        sums = (mixed * _weights(str(tensor.device))).sum(1)
        code = zlib.crc32(sums.cpu().numpy().tobytes(), code)
    return code


@lru_cache(maxsize=8)
def _weights(device: str) -> Any:
    """Odd weights, the same on every device and in every version: splitmix64 of the position."""
    import torch

    mask = (1 << 64) - 1
    weights = []
    for position in range(_ROW):
        z = (position + 1) * 0x9E3779B97F4A7C15 & mask
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        z = (z ^ (z >> 31)) | 1
        weights.append(z - (1 << 64) if z >> 63 else z)
    return torch.tensor(weights, dtype=torch.int64, device=device)


def hash_other_layout(tensor: Any) -> Any:
    """The hash of a sparse, nested or quantised tensor; None where its numbers cannot be read (meta, fake)."""
    import torch

    try:
        with torch.no_grad(), own_reads:
            if tensor.is_nested:
                return (hash_tensor(tensor.values()), hash_tensor(tensor._nested_tensor_size()))
            if tensor.is_quantized:
                return hash_tensor(tensor.int_repr())
            if tensor.layout is torch.sparse_coo:
                return (hash_tensor(tensor._indices()), hash_tensor(tensor._values()))
            if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
                return tuple(map(hash_tensor, (tensor.crow_indices(), tensor.col_indices(), tensor.values())))
            if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
                return tuple(map(hash_tensor, (tensor.ccol_indices(), tensor.row_indices(), tensor.values())))
            if tensor.is_mkldnn:
                return hash_tensor(tensor.to_dense())
    except (RuntimeError, NotImplementedError, AttributeError):
        pass
    return None


def hash_value(value: Any, depth: int = 0) -> Any:
    """The comparable form of what a function returned: tensors and arrays by their bytes, containers by their parts,
    other objects by type."""
    import sys

    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if depth > 12:
        return "…"
    if torch is not None and isinstance(value, torch.Tensor):
        content = hash_tensor(value) if has_memory(value) else hash_other_layout(value)
        shape = () if value.is_nested else tuple(value.shape)
        return ("tensor", shape, str(value.dtype), content)
    if numpy is not None and isinstance(value, numpy.ndarray):
        if value.dtype.hasobject:
            return ("array", value.shape, repr(value.tolist()))
        return ("array", value.shape, str(value.dtype), zlib.crc32(numpy.ascontiguousarray(value).tobytes()))
    if numpy is not None and isinstance(value, numpy.generic):
        return ("scalar", str(value.dtype), repr(value.item()))
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)
    if isinstance(value, dict):
        return ("dict", tuple((repr(key), hash_value(item, depth + 1)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, tuple(hash_value(item, depth + 1) for item in value))
    if isinstance(value, (set, frozenset)):
        return ("set", tuple(sorted(str(hash_value(item, depth + 1)) for item in value)))
    if torch is not None and isinstance(value, torch.nn.Module):
        return (type(value).__name__, hash_value(dict(value.state_dict()), depth + 1))
    if torch is not None and isinstance(value, torch.optim.Optimizer):
        return (type(value).__name__, hash_value(value.state_dict(), depth + 1))
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields is not None:
        return (
            type(value).__name__,
            tuple((name, hash_value(getattr(value, name, None), depth + 1)) for name in fields),
        )
    return type(value).__qualname__


def has_memory(tensor: Any) -> bool:
    import torch

    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested or tensor.is_meta:
        return False
    return getattr(type(tensor), "__torch_dispatch__", None) is getattr(torch.Tensor, "__torch_dispatch__", None)
