"""Tensors that are made: from Python data, which is a copy to the device, or by factories, which is not."""

from __future__ import annotations

from typing import Any

import torch

from pytest_tensorcheck.sync import private_torch, scopes
from pytest_tensorcheck.sync.attribution import called_from_library
from pytest_tensorcheck.sync.copies import move
from pytest_tensorcheck.sync.device_flag import DEVICE, HOST, PINNED, place_of, put
from pytest_tensorcheck.sync.function_mode import CPU, ShadowFunctionMode, check_index, handles, is_cuda, with_device


def _tensors_in(data: Any, depth: int = 3) -> list[Any]:
    if isinstance(data, torch.Tensor):
        return [data]
    if depth and isinstance(data, (list, tuple)):
        return [tensor for item in data[:1000] for tensor in _tensors_in(item, depth - 1)]
    return []


def _elsewhere(mode: ShadowFunctionMode, kwargs: dict[str, Any]) -> bool:
    """Whether a call names a device that the simulation knows nothing about, or that it does not pretend to have."""
    device = kwargs.get("device")
    if device is None:
        return not mode.simulation.pretending and bool(kwargs.get("pin_memory"))
    if is_cuda(device):
        return False
    kind = torch.device(device).type
    mode.simulation.name_other(kind)
    return kind != "cpu" or (not mode.simulation.pretending and bool(kwargs.get("pin_memory")))


@handles(torch.tensor, torch.as_tensor, torch.asarray)
def _tensor(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    data = args[0] if args else kwargs.get("data", kwargs.get("obj"))
    device = kwargs.get("device")
    if _elsewhere(mode, kwargs):
        return mode.run(func, args, kwargs)
    if device is None and not isinstance(data, torch.Tensor):
        device = private_torch.default_device()
    name = func.__name__
    pinned = bool(kwargs.get("pin_memory"))
    kwargs = {key: value for key, value in kwargs.items() if key not in ("device", "pin_memory")}
    if isinstance(data, torch.Tensor):
        out = mode.run(func, args, kwargs if device is None or is_cuda(device) else {**kwargs, "device": device})
        here = place_of(data)
        wants = here == DEVICE if device is None else is_cuda(device)
        if device is not None and is_cuda(device):
            mode.simulation.name_device()
        if wants == (here == DEVICE):
            if here and place_of(out) != here:
                put(out, here)
            return out
        return move(mode, out, DEVICE if wants else HOST, name)
    inner = _tensors_in(data)
    read = [tensor for tensor in inner if mode.counts(tensor)[0]]
    wants = device is not None and is_cuda(device)
    if wants:
        check_index(device)
        mode.simulation.name_device()
    else:
        for tensor in read:
            mode.read(tensor, "scalar", "item")
    mode.silent += 1
    try:
        out = mode.run(func, args, {**kwargs, "device": CPU})
    finally:
        mode.silent -= 1
    if wants:
        put(out, DEVICE)
        if out.numel() and scopes.listening() and not mode.silent:
            mode.simulation.report("from_data", name, depth=2)
    elif pinned:
        put(out, PINNED)
    elif not mode.simulation.device_named and called_from_library(2):
        put(out, HOST)  # a counter of an optimizer, say: it is on the host in any program
    return out


@handles(torch.Tensor.new_tensor)
def _new_tensor(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    device = kwargs.get("device")
    if _elsewhere(mode, kwargs):
        return mode.run(func, args, kwargs)
    wants = place_of(args[0]) == DEVICE if device is None else is_cuda(device)
    kwargs = {key: value for key, value in kwargs.items() if key != "device"}
    data = args[1] if len(args) > 1 else kwargs.get("data")
    out = mode.run(func, args, kwargs)
    if wants:
        mode.simulation.name_device()
        there = isinstance(data, torch.Tensor) and place_of(data) == DEVICE
        if not there and out.numel() and scopes.listening() and not mode.silent:
            mode.simulation.report("from_data", "new_tensor", depth=2)
        return put(out, DEVICE)
    return put(out, HOST) if mode.simulation.device_named else out


@handles(*(private_torch.factories() - {torch.tensor, torch.as_tensor, torch.asarray}), torch.normal)
def _factory(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    device = kwargs.get("device")
    if device is None and func is not torch.normal:
        device = private_torch.default_device()
    if device is None and not kwargs.get("pin_memory"):
        return mode.run(func, args, kwargs)
    return with_device(mode, func, args, kwargs, device)
