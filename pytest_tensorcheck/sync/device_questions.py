"""Questions about where a tensor is, answered for the simulated device; and functions that ask on a CPU only."""

from __future__ import annotations

from typing import Any

import torch

from pytest_tensorcheck.sync import scopes
from pytest_tensorcheck.sync.conditions import CONDITIONS
from pytest_tensorcheck.sync.copies import move
from pytest_tensorcheck.sync.device_flag import DEVICE, HOST, PINNED, place_of, put
from pytest_tensorcheck.sync.function_mode import CUDA, HANDLERS, Handler, ShadowFunctionMode, handles, is_cuda
from pytest_tensorcheck.sync.table import COMPOSITES


@handles(torch.Tensor.device.__get__)
def _device(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return CUDA if mode.on_device(args[0]) else func(*args)


@handles(torch.Tensor.is_cuda.__get__)  # type: ignore[attr-defined]
def _is_cuda(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return mode.on_device(args[0]) or func(*args)


@handles(torch.Tensor.is_cpu.__get__)  # type: ignore[attr-defined]
def _is_cpu(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return not mode.on_device(args[0]) and func(*args)


@handles(torch.device)
def _device_of_number(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    number = args[0] if len(args) == 1 else kwargs.get("device")
    if is_cuda(number) and isinstance(number, int) and number >= 0:
        return func("cuda", number)  # of the accelerator that there is
    return func(*args, **kwargs)


@handles(torch.Tensor.get_device, torch.get_device)
def _get_device(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return 0 if mode.on_device(args[0]) else func(*args)


@handles(torch.Tensor.is_pinned)
def _is_pinned(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return place_of(args[0]) == PINNED if mode.simulation.pretending else func(*args, **kwargs)


@handles(torch.Tensor.type)
def _type(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) == 1 and not kwargs:
        name = func(*args)
        return name.replace("torch.", "torch.cuda.", 1) if mode.on_device(args[0]) else name
    wanted = args[1] if len(args) > 1 else kwargs.get("dtype")
    if isinstance(wanted, str) and wanted.startswith("torch.cuda.") and mode.simulation.pretending:
        mode.simulation.name_device()
        plain = wanted.replace("torch.cuda.", "torch.", 1)
        return move(
            mode, args[0], DEVICE, "type", dtype=_dtype_of(plain), non_blocking=bool(kwargs.get("non_blocking"))
        )
    return mode.run(func, args, kwargs)


def _dtype_of(type_name: str) -> Any:
    return torch.empty(0).type(type_name).dtype


@handles(torch.Tensor.pin_memory)
def _pin_memory(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not mode.simulation.pretending:
        return func(*args, **kwargs)
    place = place_of(args[0])
    if place == DEVICE:
        raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned")
    if place == PINNED:
        return args[0]
    return put(args[0].detach().clone() if not args[0].requires_grad else args[0].clone(), PINNED)


@handles(torch.histc, torch.Tensor.histc)
def _histc(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = args[0] if args else kwargs["input"]
    if not mode.on_device(x) or x.is_floating_point() or "out" in kwargs:
        return mode.run(func, args, kwargs)
    # CUDA counts integers, torch's CPU kernel does not; double holds them exactly.
    kwargs.pop("input", None)
    return mode.run(func, (x.double(), *args[1:]), kwargs).to(x.dtype)


@handles(torch._C._VariableFunctions._pad_packed_sequence)
def _pad_packed(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    padded, lengths = mode.run(func, args, kwargs)
    return padded, put(lengths, HOST)  # the lengths are made on the host


# --- functions whose CPU branch reads values that CUDA's does not -----------------------------------------------------
def _composite(name: str) -> Handler:
    row, condition = COMPOSITES[name]

    def handle(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if condition and scopes.listening() and not mode.silent:
            plain = not mode.simulation.device_named

            def on(tensor: Any) -> bool:
                return place_of(tensor) == DEVICE or (plain and place_of(tensor) != HOST)

            found = CONDITIONS[condition](args, kwargs, on)
            if found and (not plain or mode.counts(args[0])[0]):
                mode.simulation.report(row, name, plain=plain, depth=2)
        mode.silent += 1
        try:
            return mode.run(func, args, kwargs)
        finally:
            mode.silent -= 1

    return handle


for _name in COMPOSITES:
    for _owner in (torch, torch.Tensor, torch.nn.functional):
        if hasattr(_owner, _name):
            HANDLERS[getattr(_owner, _name)] = _composite(_name)
