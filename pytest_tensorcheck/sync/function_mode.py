"""What Python calls: gives "cuda" a meaning, answers questions about devices, and sees the copies that CPU tensors skip."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from pytest_tensorcheck.sync import private_torch, scopes
from pytest_tensorcheck.sync.attribution import called_from_library
from pytest_tensorcheck.sync.conditions import CONDITIONS
from pytest_tensorcheck.sync.device_flag import DEVICE, HOST, NONE, PINNED, PLAIN, place_of, put, put_all
from pytest_tensorcheck.sync.shadow import Simulation
from pytest_tensorcheck.sync.table import COMPOSITES
from pytest_tensorcheck.user_line import user_frame

CUDA = torch.device("cuda", 0)
_CPU = torch.device("cpu")

Handler = Callable[["ShadowFunctionMode", Any, tuple[Any, ...], dict[str, Any]], Any]
_HANDLERS: dict[Any, Handler] = {}


def is_cuda(device: Any) -> bool:
    """Whether a device argument (name, torch.device, index) means the simulated GPU."""
    if isinstance(device, torch.device):
        return device.type == "cuda"
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    return isinstance(device, int) and not isinstance(device, bool)


def _no_such_device(device: Any) -> None:
    index: int | None = torch.device(device).index if not isinstance(device, int) else device
    if (index or 0) > 0:
        raise RuntimeError(f"CUDA error: invalid device ordinal (simulated: there is one device, cuda:0; got {device})")


class ShadowFunctionMode(TorchFunctionMode):
    """One for each thread. `call` is the call that torch is running now; `silent` counts functions not to be looked into."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__()
        self.simulation = simulation
        self.call: tuple[Any, tuple[Any, ...], dict[str, Any] | None] | None = None
        self.called_as = ""
        self.silent = 0
        self.last_node: Any = None

    @property
    def called(self) -> str:
        """The name of the running call, as the table writes it: `item`, `bool`, `getitem`, `full`."""
        if self.called_as:
            return self.called_as
        if self.call is None:
            return ""
        name = getattr(self.call[0], "__name__", "")
        return name.strip("_") if name.startswith("__") else name

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not self.simulation.active:
            return func(*args, **(kwargs or {}))
        handler = _HANDLERS.get(func)
        if handler is not None:
            return handler(self, func, args, kwargs or {})
        if kwargs:
            device = kwargs.get("device")
            if device is not None or kwargs.get("pin_memory"):
                return _with_device(self, func, args, kwargs, device)
            return self.run(func, args, kwargs)
        before = self.call
        self.call = (func, args, None)
        try:
            return func(*args)
        finally:
            self.call = before

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call torch, remembering what was called for the dispatch mode."""
        before = self.call
        self.call = (func, args, kwargs)
        try:
            return func(*args, **kwargs)
        finally:
            self.call = before

    def counts(self, tensor: Any) -> tuple[bool, bool, bool]:
        """(counts as device data, only because no device is named, only because there are no floats)."""
        place = place_of(tensor)
        if place == DEVICE:
            return True, False, False
        simulation = self.simulation
        if simulation.device_named or place in (HOST, PINNED):
            return False, False, False
        if place == PLAIN:
            return True, True, False
        if tensor.is_floating_point() or tensor.is_complex():
            simulation.floats_seen = True
            return True, True, False
        return (not simulation.floats_seen), True, True

    def read(self, tensor: Any, row: str, operation: str) -> None:
        """Report a copy of a tensor's values to the host, if it counts as device data."""
        if scopes.listening() and not self.silent:
            counts, plain, integer = self.counts(tensor)
            if counts:
                self.simulation.report(row, operation, plain=plain, integer=integer, depth=3)


def _handles(*functions: Any) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for function in functions:
            _HANDLERS[function] = handler
        return handler

    return register


# --- questions about a tensor's device ------------------------------------------------------------------------------
@_handles(torch.Tensor.device.__get__)
def _device(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return CUDA if place_of(args[0]) == DEVICE else func(*args)


@_handles(torch.Tensor.is_cuda.__get__)  # type: ignore[attr-defined]
def _is_cuda(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return place_of(args[0]) == DEVICE or func(*args)


@_handles(torch.Tensor.is_cpu.__get__)  # type: ignore[attr-defined]
def _is_cpu(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return place_of(args[0]) != DEVICE and func(*args)


@_handles(torch.Tensor.get_device, torch.get_device)
def _get_device(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return 0 if place_of(args[0]) == DEVICE else func(*args)


@_handles(torch.Tensor.is_pinned)
def _is_pinned(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return place_of(args[0]) == PINNED


@_handles(torch.Tensor.type)
def _type(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) == 1 and not kwargs:
        name = func(*args)
        return name.replace("torch.", "torch.cuda.", 1) if place_of(args[0]) == DEVICE else name
    wanted = args[1] if len(args) > 1 else kwargs.get("dtype")
    if isinstance(wanted, str) and wanted.startswith("torch.cuda."):
        mode.simulation.name_device()
        plain = wanted.replace("torch.cuda.", "torch.", 1)
        return _move(
            mode, args[0], DEVICE, "type", dtype=_dtype_of(plain), non_blocking=bool(kwargs.get("non_blocking"))
        )
    return mode.run(func, args, kwargs)


def _dtype_of(type_name: str) -> Any:
    return torch.empty(0).type(type_name).dtype


@_handles(torch.Tensor.pin_memory)
def _pin_memory(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    place = place_of(args[0])
    if place == DEVICE:
        raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned")
    if place == PINNED:
        return args[0]
    return put(args[0].detach().clone() if not args[0].requires_grad else args[0].clone(), PINNED)


@_handles(torch.histc, torch.Tensor.histc)
def _histc(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = args[0] if args else kwargs["input"]
    if place_of(x) != DEVICE or x.is_floating_point() or "out" in kwargs:
        return mode.run(func, args, kwargs)
    # CUDA counts integers, torch's CPU kernel does not; double holds them exactly.
    kwargs.pop("input", None)
    return mode.run(func, (x.double(), *args[1:]), kwargs).to(x.dtype)


@_handles(torch._C._VariableFunctions._pad_packed_sequence)
def _pad_packed(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    padded, lengths = mode.run(func, args, kwargs)
    return padded, put(lengths, HOST)  # the lengths are made on the host


# --- copies -----------------------------------------------------------------------------------------------------------
def _move(
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
    _report_move(mode, tensor, to, operation, non_blocking)
    out = tensor.to(_CPU, dtype=dtype or tensor.dtype, copy=True, **more)
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


def _report_move(mode: ShadowFunctionMode, tensor: Any, to: int, operation: str, non_blocking: bool) -> None:
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


def _copy_plain(mode: ShadowFunctionMode, tensor: Any, operation: str) -> Any:
    """`.cpu()` where no device is named: a read, and a copy that from here on is on the host."""
    mode.read(tensor, "to_host", operation)
    return put(tensor.clone(), HOST)


@_handles(torch.Tensor.to)
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
            _no_such_device(device)
            mode.simulation.name_device()
        elif torch.device(device).type != "cpu":
            return mode.run(func, args, kwargs)
    here = place_of(tensor)
    memory_format = kwargs.get("memory_format")
    if wants != (here == DEVICE):
        return _move(
            mode,
            tensor,
            DEVICE if wants else HOST,
            "to",
            dtype=dtype,
            non_blocking=non_blocking,
            memory_format=memory_format,
        )
    if not wants and other is None and not mode.simulation.device_named and here in (NONE, PLAIN) and _says_cpu(mode):
        copied = _copy_plain(mode, tensor, "to")
        return copied if dtype is None or dtype == copied.dtype else put(copied.to(dtype), HOST)
    copy = bool(kwargs.get("copy", [*(v for v in args[1:] if isinstance(v, bool)), False, False][1]))
    more = {} if memory_format is None else {"memory_format": memory_format}
    return mode.run(func, (tensor,), {"dtype": dtype or tensor.dtype, "copy": copy, **more})


@_handles(torch.Tensor.cuda)
def _cuda(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    mode.simulation.name_device()
    device = args[1] if len(args) > 1 else kwargs.get("device")
    if device is not None:
        _no_such_device(device)
    if place_of(args[0]) == DEVICE:
        return args[0]
    non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
    return _move(mode, args[0], DEVICE, "cuda", non_blocking=bool(non_blocking))


@_handles(torch.Tensor.cpu)
def _cpu(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0]
    here = place_of(tensor)
    if here == DEVICE:
        return _move(mode, tensor, HOST, "cpu", memory_format=kwargs.get("memory_format"))
    if not mode.simulation.device_named and here in (NONE, PLAIN) and mode.counts(tensor)[0]:
        return _copy_plain(mode, tensor, "cpu")
    return func(*args, **kwargs)


@_handles(torch.Tensor.numpy, torch.Tensor.__array__)
def _numpy(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if place_of(args[0]) == DEVICE:
        if kwargs.get("force"):
            return _move(mode, args[0].detach(), HOST, "numpy").numpy()
        raise TypeError(
            "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    mode.read(args[0], "numpy", "numpy")
    return mode.run(func, args, kwargs)


@_handles(torch.Tensor.tolist)
def _tolist(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    mode.read(args[0], "tolist", "tolist")
    return func(*args)


# --- tensors from data --------------------------------------------------------------------------------------------
def _tensors_in(data: Any, depth: int = 3) -> list[Any]:
    if isinstance(data, torch.Tensor):
        return [data]
    if depth and isinstance(data, (list, tuple)):
        return [tensor for item in data[:1000] for tensor in _tensors_in(item, depth - 1)]
    return []


@_handles(torch.tensor, torch.as_tensor, torch.asarray)
def _tensor(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    data = args[0] if args else kwargs.get("data", kwargs.get("obj"))
    device = kwargs.get("device")
    if device is None and not isinstance(data, torch.Tensor):
        device = private_torch.default_device()
    name = func.__name__
    pinned = bool(kwargs.get("pin_memory"))
    kwargs = {key: value for key, value in kwargs.items() if key not in ("device", "pin_memory")}
    if isinstance(data, torch.Tensor):
        out = mode.run(func, args, kwargs)
        here = place_of(data)
        wants = here == DEVICE if device is None else is_cuda(device)
        if device is not None and is_cuda(device):
            mode.simulation.name_device()
        if wants == (here == DEVICE):
            if out.untyped_storage().data_ptr() != data.untyped_storage().data_ptr() and here:
                put(out, here)
            return out
        return _move(mode, out, DEVICE if wants else HOST, name)
    inner = _tensors_in(data)
    read = [tensor for tensor in inner if mode.counts(tensor)[0]]
    wants = device is not None and is_cuda(device)
    if wants:
        _no_such_device(device)
        mode.simulation.name_device()
    else:
        for tensor in read:
            mode.read(tensor, "scalar", "item")
    mode.silent += 1
    try:
        out = mode.run(func, args, {**kwargs, "device": _CPU})
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


@_handles(torch.Tensor.new_tensor)
def _new_tensor(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    device = kwargs.get("device")
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


@_handles(*(private_torch.factories() - {torch.tensor, torch.as_tensor, torch.asarray}), torch.normal)
def _factory(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    device = kwargs.get("device")
    if device is None and func is not torch.normal:
        device = private_torch.default_device()
    if device is None and not kwargs.get("pin_memory"):
        return mode.run(func, args, kwargs)
    return _with_device(mode, func, args, kwargs, device)


def _with_device(
    mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], device: Any
) -> Any:
    """A call with device=: made on the host, flagged as asked."""
    kwargs = dict(kwargs)
    pinned = bool(kwargs.pop("pin_memory", False))
    if device is None:
        out = mode.run(func, args, kwargs)
        return put_all(out, PINNED) if pinned else out
    if not is_cuda(device):
        kwargs["device"] = device
        out = mode.run(func, args, kwargs)
        if pinned:
            return put_all(out, PINNED)
        if mode.simulation.device_named and isinstance(out, torch.Tensor) and torch.device(device).type == "cpu":
            put(out, HOST)
        return out
    _no_such_device(device)
    mode.simulation.name_device()
    kwargs["device"] = _CPU
    return put_all(mode.run(func, args, kwargs), DEVICE)


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
            _HANDLERS[getattr(_owner, _name)] = _composite(_name)
