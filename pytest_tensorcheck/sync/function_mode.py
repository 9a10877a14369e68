"""What Python calls: gives "cuda" a meaning, answers questions about devices, and sees the copies that CPU tensors skip.

This is the mode itself; the calls that it treats in a way of their own register themselves in `HANDLERS`:
device_questions.py, copies.py and new_tensors.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from pytest_tensorcheck.sync import scopes
from pytest_tensorcheck.sync.device_flag import DEVICE, HOST, PINNED, PLAIN, is_float, place_of, put, put_all
from pytest_tensorcheck.sync.shadow import Simulation, current
from pytest_tensorcheck.torch_warnings import WarnsInPlace

CUDA = torch.device("cuda", 0)
CPU = torch.device("cpu")

Handler = Callable[["ShadowFunctionMode", Any, tuple[Any, ...], dict[str, Any]], Any]
HANDLERS: dict[Any, Handler] = {}


def is_cuda(device: Any) -> bool:
    """Whether a device argument (name, torch.device, index) means the simulated GPU; never where none is pretended."""
    simulation = current()
    if simulation is None or not simulation.pretending:
        return False
    if isinstance(device, torch.device):
        return device.type == "cuda"
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    return isinstance(device, int) and not isinstance(device, bool)


def check_index(device: Any) -> None:
    index: int | None = torch.device(device).index if not isinstance(device, int) else device
    if (index or 0) > 0:
        raise RuntimeError(f"CUDA error: invalid device ordinal (simulated: there is one device, cuda:0; got {device})")


class ShadowFunctionMode(WarnsInPlace, TorchFunctionMode):
    """One for each thread. While torch.jit traces, it answers for a pretended GPU only. `call` is the call that torch is running now; `silent` counts functions not to be looked into."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__()
        self.simulation = simulation
        self.call: tuple[Any, tuple[Any, ...], dict[str, Any] | None] | None = None
        self.called_as = ""
        self.silent = 0
        self.last_node: Any = None

    @property
    def aside_while_tracing(self) -> bool:
        return not self.simulation.pretending

    def on_device(self, tensor: Any) -> bool:
        """Whether the tensor says that it is on the GPU."""
        return self.simulation.pretending and place_of(tensor) == DEVICE

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
        handler = HANDLERS.get(func)
        if handler is not None:
            return handler(self, func, args, kwargs or {})
        if kwargs:
            device = kwargs.get("device")
            if device is not None or kwargs.get("pin_memory"):
                return with_device(self, func, args, kwargs, device)
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
        if is_float(tensor):
            simulation.floats_seen = True
            return True, True, False
        return (not simulation.floats_seen), True, True

    def read(self, tensor: Any, row: str, operation: str) -> None:
        """Report a copy of a tensor's values to the host, if it counts as device data."""
        if scopes.listening() and not self.silent:
            counts, plain, integer = self.counts(tensor)
            if counts:
                self.simulation.report(row, operation, plain=plain, integer=integer, depth=3)


def handles(*functions: Any) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for function in functions:
            HANDLERS[function] = handler
        return handler

    return register


def with_device(mode: ShadowFunctionMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], device: Any) -> Any:
    """A call with device=: made on the host, flagged as asked."""
    kwargs = dict(kwargs)
    pinned = mode.simulation.pretending and bool(kwargs.pop("pin_memory", False))
    if device is None:
        out = mode.run(func, args, kwargs)
        return put_all(out, PINNED) if pinned else out
    if not is_cuda(device):
        mode.simulation.name_other(torch.device(device).type)
        kwargs["device"] = device
        out = mode.run(func, args, kwargs)
        if pinned:
            return put_all(out, PINNED)
        if mode.simulation.device_named and isinstance(out, torch.Tensor) and torch.device(device).type == "cpu":
            put(out, HOST)
        return out
    check_index(device)
    mode.simulation.name_device()
    kwargs["device"] = CPU
    return put_all(mode.run(func, args, kwargs), DEVICE)
