"""Copies between the host and the simulated device: `.to`, `.cuda`, `.cpu`, `.numpy`, `.tolist`."""

from __future__ import annotations

import linecache
import sys
from typing import Any

import torch

from pytest_tensorcheck.sync import private_torch, scopes
from pytest_tensorcheck.sync.device_flag import DEVICE, HOST, NONE, PINNED, PLAIN, place_of, put
from pytest_tensorcheck.sync.function_mode import CPU, ShadowFunctionMode, check_index, handles, is_cuda
from pytest_tensorcheck.user_line import user_frame


def move(
    mode: ShadowFunctionMode,
    tensor: Any,
    to: int,
    operation: str,
    *,
    dtype: Any = None,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> Any:
    """A copy on the other side, reported unless it need not wait; its gradient comes back the same way."""
    more = {} if memory_format is None else {"memory_format": memory_format}
    _reportmove(mode, tensor, to, operation, non_blocking)
    out = tensor.to(CPU, dtype=dtype or tensor.dtype, copy=True, **more)
    put(out, to)
    if out.requires_grad and out.grad_fn is not None and not private_torch.in_functorch():
        origin = place_of(tensor)

        def bring_back(inputs: Any, outputs: Any) -> Any:
            moved: list[Any] = []
            for gradient in inputs:
                if gradient is None:
                    moved.append(None)
                    continue
                if scopes.listening():
                    row = "to_host" if to == DEVICE else "to_device"
                    mode.simulation.report(row, operation, node=private_torch.current_node() or out.grad_fn, depth=2)
                moved.append(put(gradient.clone(), DEVICE if origin == DEVICE else HOST))
            return tuple(moved)

        out.grad_fn.register_hook(bring_back)
    return out


def _reportmove(mode: ShadowFunctionMode, tensor: Any, to: int, operation: str, non_blocking: bool) -> None:
    if not scopes.listening() or mode.silent or not tensor.numel():
        return
    if to == DEVICE:
        if not non_blocking:
            mode.simulation.report("to_device", operation, depth=4)
        elif place_of(tensor) != PINNED:
            mode.simulation.report("pageable", operation, certain=False, depth=4)
    elif not non_blocking:
        mode.simulation.report("to_host", operation, depth=4)


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any, bool]:
    """(device or None, dtype or None, other tensor or None, non_blocking) of a `Tensor.to` call."""
    device, dtype, other = kwargs.get("device"), kwargs.get("dtype"), kwargs.get("other")
    flags = []
    for value in args[1:]:
        if isinstance(value, torch.Tensor):
            other = value
        elif isinstance(value, torch.dtype):
            dtype = value
        elif isinstance(value, bool):
            flags.append(value)
        elif value is not None:
            device = value
    non_blocking = kwargs.get("non_blocking", flags[0] if flags else False)
    return device, dtype, other, bool(non_blocking)


def _says_cpu(mode: ShadowFunctionMode) -> bool:
    """Whether the user's line itself says "cpu" (and not a variable that happens to be the CPU here)."""
    frame = user_frame(sys._getframe(2))
    if frame is None:
        return False
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return '"cpu"' in text or "'cpu'" in text


def _copy_plain(
    mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], operation: str
) -> Any:
    """`.cpu()` where no device is named: a read, and what it gives is on the host from here on.

    It gives what it gives without us, the tensor itself as a rule. A copy tells the two apart, so that the tensor still
    counts: where nobody sees the difference, and never where nothing is pretended.
    """
    tensor = args[0]
    out = mode.run(func, args, kwargs)
    mode.read(tensor, "to_host", operation)
    if out is tensor and mode.simulation.pretending and type(tensor) is torch.Tensor:
        if not (tensor.requires_grad and tensor.is_leaf):  # its gradient would stay with the tensor
            out = tensor.clone()
    return put(out, HOST)


@handles(torch.Tensor.to)
def _to(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0]
    device, dtype, other, non_blocking = _parse_to(args, kwargs)
    if device is None and other is None:
        return mode.run(func, args, kwargs)
    if other is not None:
        wants = place_of(other) == DEVICE
        dtype = other.dtype
    else:
        wants = is_cuda(device)
        if wants:
            check_index(device)
            mode.simulation.name_device()
        elif torch.device(device).type != "cpu":
            mode.simulation.name_other(torch.device(device).type)
            return mode.run(func, args, kwargs)
    here = place_of(tensor)
    memory_format = kwargs.get("memory_format")
    if wants != (here == DEVICE):
        return move(
            mode,
            tensor,
            DEVICE if wants else HOST,
            "to",
            dtype=dtype,
            non_blocking=non_blocking,
            memory_format=memory_format,
        )
    if not wants and other is None and not mode.simulation.device_named and here in (NONE, PLAIN) and _says_cpu(mode):
        return _copy_plain(mode, func, args, kwargs, "to")
    if not wants:
        return mode.run(func, args, kwargs)
    copy = bool(kwargs.get("copy", [*(v for v in args[1:] if isinstance(v, bool)), False, False][1]))
    more = {} if memory_format is None else {"memory_format": memory_format}
    return mode.run(func, (tensor,), {"dtype": dtype or tensor.dtype, "copy": copy, **more})


@handles(torch.Tensor.type_as)
def _type_as(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The type of a tensor is its dtype and its device."""
    tensor, other = args[0], args[1] if len(args) > 1 else kwargs["other"]
    wants = place_of(other) == DEVICE
    if wants == (place_of(tensor) == DEVICE):
        return mode.run(func, args, kwargs)
    return move(mode, tensor, DEVICE if wants else HOST, "type_as", dtype=other.dtype)


@handles(private_torch.parse_to)
def _parse_to_arguments(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Module.to reads its arguments by this: nothing is made."""
    return func(*args, **kwargs)


@handles(torch.Tensor.cuda)
def _cuda(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not mode.simulation.pretending:
        return func(*args, **kwargs)
    mode.simulation.name_device()
    device = args[1] if len(args) > 1 else kwargs.get("device")
    if device is not None:
        check_index(device)
    if place_of(args[0]) == DEVICE:
        return args[0]
    non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
    return move(mode, args[0], DEVICE, "cuda", non_blocking=bool(non_blocking))


@handles(torch.Tensor.cpu)
def _cpu(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0]
    here = place_of(tensor)
    if here == DEVICE:
        return move(mode, tensor, HOST, "cpu", memory_format=kwargs.get("memory_format"))
    if not mode.simulation.device_named and here in (NONE, PLAIN) and mode.counts(tensor)[0]:
        return _copy_plain(mode, func, args, kwargs, "cpu")
    return func(*args, **kwargs)


@handles(torch.Tensor.numpy, torch.Tensor.__array__)
def _numpy(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if mode.on_device(args[0]):
        if kwargs.get("force"):
            return move(mode, args[0].detach(), HOST, "numpy").numpy()
        raise TypeError(
            "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    mode.read(args[0], "numpy", "numpy")
    return mode.run(func, args, kwargs)


@handles(torch.Tensor.tolist)
def _tolist(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    mode.read(args[0], "tolist", "tolist")
    return func(*args)


@handles(torch.ctc_loss)
def _ctc_loss(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """CUDA reads lengths that are on the host as numbers; while a dispatch mode is open, torch computes with them."""
    lengths = [*args[2:4], *(kwargs[name] for name in ("input_lengths", "target_lengths") if name in kwargs)]
    if any(isinstance(one, torch.Tensor) and place_of(one) != DEVICE for one in lengths):
        if not any(isinstance(one, torch.Tensor) and place_of(one) == DEVICE for one in lengths):
            mode.silent += 1
            try:
                args = tuple(_numbers(one) if at in (2, 3) else one for at, one in enumerate(args))
                kwargs = {key: _numbers(one) if key.endswith("_lengths") else one for key, one in kwargs.items()}
            finally:
                mode.silent -= 1
    return mode.run(func, args, kwargs)


def _numbers(lengths: Any) -> Any:
    return lengths.tolist() if isinstance(lengths, torch.Tensor) else lengths
