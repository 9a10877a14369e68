"""Everything a simulation changes in the process, and undoes: torch.cuda and its neighbours, threads, saving, hooks."""

from __future__ import annotations

import contextlib
import contextvars
import importlib.abc
import importlib.machinery
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import torch

from pytest_tensorcheck import torchscript
from pytest_tensorcheck.sync import cuda_api, parallel, private_torch, scopes
from pytest_tensorcheck.sync.device_flag import (
    DEVICE,
    FLAG,
    HOST,
    NONE,
    PLAIN,
    is_float,
    is_meta,
    is_on_device,
    place_of,
    put,
)
from pytest_tensorcheck.sync.function_mode import check_index, is_cuda
from pytest_tensorcheck.sync.shadow import Simulation, function_mode, thread_modes

_MISSING = object()


def install(simulation: Simulation, undo: ExitStack) -> None:
    """The changes without which waits are not seen; `undo` takes them back in reverse order."""
    patch = _patching(simulation, undo)
    for owner, name, value in private_torch.mode_questions():
        patch(owner, name, value)
    for owner, name, value in private_torch.optimizer_patch():
        patch(owner, name, value)
    for owner, name, value in _tensor_methods(simulation):
        patch(owner, name, value)
    hooks = torch.autograd.graph.saved_tensors_hooks
    patch(hooks, "__init__", _watched_hooks(hooks.__init__))
    patch(threading.Thread, "start", _starting(simulation, threading.Thread.start))
    _saving(simulation, undo, patch)
    _hooks(simulation, undo, patch)
    _compiling(undo, simulation.patches)
    _scripting(patch, simulation.patches)
    undo.enter_context(torchscript.modes_step_aside())


def install_device(simulation: Simulation, undo: ExitStack) -> None:
    """The changes that make "cuda" work on this machine."""
    patch = _patching(simulation, undo)
    for owner, name, value in private_torch.grouping_patch(is_on_device, torch.device("cuda", 0)):
        patch(owner, name, value)
    for owner, name, value in cuda_api.replacements(simulation):
        patch(owner, name, value)
    for owner, name, value in parallel.replacements():
        patch(owner, name, value)
    patch(torch.Tensor, "record_stream", lambda self, stream: None)


def _patching(simulation: Simulation, undo: ExitStack) -> Callable[[Any, str, Any], None]:
    def patch(owner: Any, name: str, value: Any) -> None:
        before = vars(owner).get(name, _MISSING)
        made = (owner, name, before, value)
        simulation.patches.append(made)
        undo.callback(simulation.patches.remove, made)
        if before is _MISSING:
            undo.callback(delattr, owner, name)
        else:
            undo.callback(setattr, owner, name, before)
        setattr(owner, name, value)

    return patch


@contextlib.contextmanager
def _lifted(made: list[tuple[Any, str, Any, Any]]) -> Iterator[None]:
    """As if nothing were patched, for a moment: for imports that look around in torch and remember what they find."""
    for owner, name, before, _ in reversed(made):
        if before is not _MISSING:
            setattr(owner, name, before)
    try:
        yield
    finally:
        for owner, name, _, value in made:
            setattr(owner, name, value)


def _compiling(undo: ExitStack, made: list[tuple[Any, str, Any, Any]]) -> None:
    """Compiled functions run eagerly inside a simulation: the modes see their operations, and the compiler sees no modes.

    torch imports its compiler late (optimizers do), and it then remembers the functions of torch that it finds.
    """

    def run_eagerly() -> None:
        undo.enter_context(torch.compiler.set_stance("force_eager"))

    if "torch._dynamo" in sys.modules:
        with _lifted(made), private_torch.without_torch_function():
            private_torch.remember_functions()
        run_eagerly()
        return
    finder = _CompilerFinder(made, run_eagerly)
    sys.meta_path.insert(0, finder)
    undo.callback(sys.meta_path.remove, finder)


def _scripting(patch: Any, made: list[tuple[Any, str, Any, Any]]) -> None:
    """TorchScript compiles the source of the functions that it finds in torch: let it find torch's own."""
    real = torch.jit.script

    def script(*args: Any, **kwargs: Any) -> Any:
        with _lifted(made), private_torch.without_torch_function():
            return real(*args, **kwargs)

    patch(torch.jit, "script", script)
    patch(torch.jit._script, "script", script)


class _CompilerFinder(importlib.abc.MetaPathFinder):
    """Lets torch's compiler be imported as if nothing were patched."""

    def __init__(self, made: list[tuple[Any, str, Any, Any]], then: Callable[[], None]) -> None:
        self._made = made
        self._then = then

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != "torch._dynamo":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is None or spec.loader is None:
            return spec
        real = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            with _lifted(self._made), private_torch.without_torch_function():
                real(module)
            self._then()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _reported(simulation: Simulation, tensor: Any, row: str, operation: str) -> None:
    if not scopes.listening():
        return
    place = place_of(tensor)
    if place == DEVICE:
        simulation.report(row, operation, depth=3)
    elif not simulation.device_named and place in (NONE, PLAIN) and is_float(tensor):
        simulation.floats_seen = True
        simulation.report(row, operation, plain=True, depth=3)


def _tensor_methods(simulation: Simulation) -> list[tuple[Any, str, Any]]:
    """Methods written in Python that a function mode would see only from outside, with itself switched off."""
    show: Any
    form: Any
    copy: Any
    show, form, copy = torch.Tensor.__repr__, torch.Tensor.__format__, torch.Tensor.__deepcopy__

    def silently(function: Any, *args: Any, **kwargs: Any) -> Any:
        token = scopes.pause()
        try:
            return function(*args, **kwargs)
        finally:
            scopes.resume(token)

    def __repr__(self: Any, *, tensor_contents: Any = None) -> Any:
        if tensor_contents is None and not is_meta(self):
            _reported(simulation, self, "print", "repr")
        return silently(show, self, tensor_contents=tensor_contents)

    def __format__(self: Any, format_spec: str) -> Any:
        with private_torch.without_torch_function():
            is_number = self.dim() == 0 and not self.is_meta
        if is_number:
            _reported(simulation, self, "scalar", "format")
            return silently(form, self, format_spec)
        return form(self, format_spec)

    def __deepcopy__(self: Any, memo: Any) -> Any:
        known = id(self) in memo
        out = silently(copy, self, memo)
        if not known and isinstance(out, torch.Tensor):
            place = place_of(self)
            if place:
                put(out, place)
        return out

    return [
        (torch.Tensor, "__repr__", __repr__),
        (torch.Tensor, "__format__", __format__),
        (torch.Tensor, "__deepcopy__", __deepcopy__),
    ]


def _watched_hooks(init: Any) -> Any:
    """saved_tensors_hooks whose hooks see the simulated device, though torch calls them from inside an operation."""

    def watched(hook: Any) -> Any:
        def call(value: Any) -> Any:
            mode = function_mode()
            if mode is None or mode.call is None:
                return hook(value)
            before, mode.call = mode.call, None
            try:
                with mode:
                    return hook(value)
            finally:
                mode.call = before

        return call

    def __init__(self: Any, pack_hook: Any, unpack_hook: Any) -> None:
        init(self, watched(pack_hook), watched(unpack_hook))

    return __init__


def _starting(simulation: Simulation, start: Any) -> Any:
    """Thread.start, so that a thread started inside the simulation is inside it, and inside the open scopes."""

    def start_inside(self: threading.Thread) -> None:
        run = self.run
        context = contextvars.copy_context()

        def run_inside() -> None:
            if not simulation.active:
                run()
                return
            with thread_modes(simulation):
                context.run(run)

        self.run = run_inside  # type: ignore[method-assign]
        start(self)

    return start_inside


def _saving(simulation: Simulation, undo: ExitStack, patch: Any) -> None:
    """torch.save and load keep the simulated device: "cuda:0" is the location of a flagged storage."""

    def tag(storage: Any) -> str | None:
        return "cuda:0" if simulation.pretending and getattr(storage, FLAG, NONE) == DEVICE else None

    def restore(storage: Any, location: str) -> Any:
        if not location.startswith("cuda") or not simulation.pretending:
            return None
        simulation.name_device()
        storage = getattr(storage, "_untyped_storage", storage)
        setattr(storage, FLAG, DEVICE)
        loaded.append(storage)
        return storage

    loaded: list[Any] = []
    registry = private_torch.storage_registry()
    entry = (5, tag, restore)
    registry.insert(0, entry)
    undo.callback(registry.remove, entry)

    real_save, real_load = torch.save, torch.load

    def save(obj: Any, *args: Any, **kwargs: Any) -> Any:
        if scopes.listening() and _holds_device_tensor(obj):
            simulation.report("save", "save", depth=2)
        token = scopes.pause()
        try:
            return real_save(obj, *args, **kwargs)
        finally:
            scopes.resume(token)

    def load(*args: Any, **kwargs: Any) -> Any:
        loaded.clear()
        token = scopes.pause()
        try:
            out = real_load(*args, **kwargs)
        finally:
            scopes.resume(token)
        if loaded and scopes.listening():
            simulation.report("load", "load", depth=2)
        return out

    real_to: Any = getattr(torch.UntypedStorage, "to", None)
    real_cpu: Any = torch.UntypedStorage.cpu

    def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        # `map_location=lambda storage, location: storage.cuda()`
        if is_cuda(device):
            check_index(device)
            return self if getattr(self, FLAG, NONE) == DEVICE else restore(self.clone(), "cuda")
        return real_to(self, device=device, non_blocking=non_blocking)

    def cpu(self: Any) -> Any:
        return self.clone() if getattr(self, FLAG, NONE) == DEVICE else real_cpu(self)

    patch(torch, "save", save)
    patch(torch, "load", load)
    patch(torch.UntypedStorage, "to", to)
    patch(torch.UntypedStorage, "cpu", cpu)


def _holds_device_tensor(value: Any, depth: int = 6) -> bool:
    """Whether a state dict, module, storage or tensor to be saved is on the device."""
    if isinstance(value, torch.Tensor):
        return place_of(value) == DEVICE
    storage = getattr(value, "_untyped_storage", None)
    if storage is not None:
        return bool(getattr(storage, FLAG, NONE) == DEVICE)
    if not depth:
        return False
    if isinstance(value, dict):
        return any(_holds_device_tensor(item, depth - 1) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(_holds_device_tensor(item, depth - 1) for item in value)
    if isinstance(value, torch.nn.Module):
        return any(_holds_device_tensor(item) for item in (*value.parameters(), *value.buffers()))
    return False


def _hooks(simulation: Simulation, undo: ExitStack, patch: Callable[[Any, str, Any], None]) -> None:
    """Where the code names no device: optimizers' counters are on the host, modules' buffers with their module."""
    from torch.nn.modules.module import register_module_forward_pre_hook
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    def counters(optimizer: Any, args: Any, kwargs: Any) -> None:
        if simulation.device_named:
            return
        for group in optimizer.param_groups:
            if group.get("capturable") or group.get("fused"):
                continue
            for parameter in group["params"]:
                step = optimizer.state.get(parameter, {}).get("step")
                if isinstance(step, torch.Tensor) and place_of(step) in (NONE, PLAIN):
                    put(step, HOST)

    def buffers(module: Any, args: Any) -> None:
        for buffer in module._buffers.values():
            if buffer is not None and place_of(buffer) in (NONE, HOST):
                put(buffer, PLAIN)

    steps = register_optimizer_step_pre_hook(counters)
    undo.callback(steps.remove)
    forwards = register_module_forward_pre_hook(buffers)
    undo.callback(forwards.remove)
    simulation.on_device_named.append(forwards.remove)
    for owner, name, value in private_torch.global_hooks_patch(forwards.id):
        patch(owner, name, value)
