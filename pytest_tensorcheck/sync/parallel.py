"""`nn.DataParallel` on the one simulated GPU: what torch's copies between devices are when there is a single one.

`torch.nn.parallel.comm` calls functions that a build of torch without CUDA does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.parallel import _functions, comm

from pytest_tensorcheck.sync.device_flag import is_on_device
from pytest_tensorcheck.sync.function_mode import check_index


def _on_gpu(tensor: Any) -> Any:
    """As torch copies it there: beside the host's work, if its memory is pinned."""
    return tensor if is_on_device(tensor) else tensor.cuda(non_blocking=True)


def _check(devices: Sequence[Any] | None) -> None:
    for device in devices or ():
        check_index(device)


def scatter(
    tensor: Any, devices: Any = None, chunk_sizes: Any = None, dim: int = 0, streams: Any = None, *, out: Any = None
) -> Any:
    _check(devices)
    if out is not None:
        return (out[0].copy_(tensor),)
    return (_on_gpu(tensor.narrow(dim, 0, tensor.size(dim))),)


def gather(tensors: Any, dim: int = 0, destination: Any = None, *, out: Any = None) -> Any:
    if out is not None:
        return torch.cat(tuple(tensors), dim, out=out)
    together = torch.cat(tuple(tensors), dim)
    if destination == -1 or str(destination).startswith("cpu"):
        return together.cpu()
    _check([] if destination is None else [destination])
    return together


def broadcast(tensor: Any, devices: Any = None, *, out: Any = None) -> Any:
    _check(devices)
    if out is not None:
        return tuple(each.copy_(tensor) for each in out)
    return tuple(_on_gpu(tensor) for _ in devices)


def broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int = 0) -> Any:
    _check(devices)
    return [[_on_gpu(tensor) for tensor in tensors] for _ in devices]


def reduce_add(inputs: Any, destination: Any = None) -> Any:
    _check([] if destination is None else [destination])
    result = inputs[0]
    for other in inputs[1:]:
        result = result + other
    return result


def reduce_add_coalesced(inputs: Any, destination: Any = None, buffer_size: int = 0) -> Any:
    return tuple(reduce_add(each, destination) for each in zip(*inputs, strict=True))


def replacements() -> list[tuple[Any, str, Any]]:
    """(owner, name, replacement), for the time of a simulation."""
    ours = (scatter, gather, broadcast, broadcast_coalesced, reduce_add, reduce_add_coalesced)
    out: list[tuple[Any, str, Any]] = [(comm, each.__name__, each) for each in ours if hasattr(comm, each.__name__)]
    if hasattr(_functions, "_get_stream"):
        out.append((_functions, "_get_stream", lambda device: None))
    return out
