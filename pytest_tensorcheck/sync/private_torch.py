"""The private names of torch that the simulation rests on, each behind a function. Seen in torch 2.6 to 2.13.

Imported only by modules that are themselves imported after torch.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

# The autograd node that this thread is running, or None outside of backward. 0.05 µs.
current_node: Callable[[], Any] = torch._C._current_autograd_node
# The number that the next autograd node of this thread will get. 0.05 µs.
sequence: Callable[[], int] = torch._C._autograd._get_sequence_nr
# What Module.to reads its arguments with.
parse_to: Callable[..., Any] = torch._C._nn._parse_to


def node_sequence(node: Any) -> int:
    """The number under which a node was made in forward; -1 where a node has none."""
    try:
        return int(node._sequence_nr())
    except (AttributeError, RuntimeError):
        return -1


def innermost(tensor: Any) -> Any:
    """The plain tensor inside functorch's wrappers (vmap, grad); the tensor itself if it is not wrapped."""
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(tensor):
        tensor = functorch.get_unwrapped(tensor)
    return tensor


def in_functorch() -> bool:
    return torch._C._functorch.peek_interpreter_stack() is not None


def without_torch_function() -> Any:
    """A context in which no function mode and no subclass intercepts calls: for looking at tensors in peace."""
    return torch._C.DisableTorchFunction()


def default_device() -> Any:
    """The device of ``with torch.device(…)`` or ``set_default_device``, or None."""
    from torch.utils import _device

    return _device.CURRENT_DEVICE


@functools.lru_cache(maxsize=1)
def factories() -> frozenset[Any]:
    """The functions that make a tensor from nothing and follow the default device."""
    from torch.utils import _device

    made: set[Any] = _device._device_constructors()
    return frozenset(made)


# False inside DisableTorchFunctionSubclass, which is what a subclass calls torch in.
_subclasses_are_asked: Callable[[], bool] = torch._C._is_torch_function_enabled
_all_disabled: Callable[[], bool] = torch._C._is_torch_function_all_disabled
_modes: Callable[[], int] = torch._C._len_torch_function_stack
_mode_at: Callable[[int], Any] = torch._C._get_function_stack_at


def _somebody_listens(relevant: Any) -> bool:
    """What torch's own functions say, without our modes."""
    for argument in relevant:
        kind = type(argument)
        if (
            kind is not torch.Tensor
            and kind is not torch.nn.Parameter
            and hasattr(kind, "__torch_function__")
            and kind.__torch_function__ is not torch._C._disabled_torch_function_impl
        ):
            if _subclasses_are_asked():
                return True
            break
    for at in range(_modes() - 1, -1, -1):
        mode = type(_mode_at(at))
        if not mode.__module__.startswith("pytest_tensorcheck."):  # entered by the test, above ours
            return not _all_disabled()
        if mode.__name__ == "ShadowFunctionMode":
            break
    return False


def _unary(argument: Any) -> bool:
    return _somebody_listens((argument,))


def _variadic(*arguments: Any) -> bool:
    return _somebody_listens(arguments)


# torch's functions that are written in Python ask these before anything else, and hand over to a function mode with the
# mode switched off for their whole body. Asked like this, they run their bodies, and the mode sees what happens in them.
_ASKING = {
    "has_torch_function": _somebody_listens,
    "has_torch_function_unary": _unary,
    "has_torch_function_variadic": _variadic,
}
_LEFT_ALONE = (
    "torch._ops",
    "torch._dynamo",
    "torch.jit",
    "torch._C",
    "torch.testing",
    "torch._prims",
    "torch.distributed",
)
_found: tuple[int, list[tuple[ModuleType, str, Any]]] = (0, [])


def remember_functions() -> None:
    """Let torch's compiler look up the functions of torch that it has rules for, once, while none is patched.

    torch._dynamo.trace_rules, seen in 2.4 to 2.13.
    """
    trace_rules = sys.modules.get("torch._dynamo.trace_rules")
    look_up = getattr(trace_rules, "get_torch_obj_rule_map", None)
    if look_up is not None:
        look_up()


def mode_questions() -> list[tuple[ModuleType, str, Any]]:
    """What to patch so that functions written in Python do not switch the mode off: (module, name, replacement)."""
    global _found
    if _found[0] != len(sys.modules):
        places = [
            (module, name, replacement)
            for module_name, module in list(sys.modules.items())
            if module_name.startswith("torch")
            and not module_name.startswith(_LEFT_ALONE)
            and isinstance(module, ModuleType)
            for name, replacement in _ASKING.items()
            if name in vars(module)
        ]
        _found = (len(sys.modules), places)
    return _found[1]


def grouping_patch(is_on_device: Any, device: Any) -> list[tuple[ModuleType, str, Any]]:
    """`_group_tensors_by_device_and_dtype`, saying the simulated device in its keys."""
    real = torch._C._group_tensors_by_device_and_dtype

    def group(tensors: Any, with_indices: bool = False) -> Any:
        out = {}
        for (where, dtype), value in real(tensors, with_indices).items():
            first = next((t for group in value[0] for t in group[:1] if t is not None), None)
            out[(device if first is not None and is_on_device(first) else where, dtype)] = value
        return out

    return [(torch._C, "_group_tensors_by_device_and_dtype", group)]


def optimizer_patch() -> list[tuple[ModuleType, str, Any]]:
    """Optimizers choose another implementation on a GPU (foreach), whose sums round otherwise: keep the CPU's choice."""
    module = sys.modules.get("torch.optim.optimizer")
    name = "_get_foreach_kernels_supported_devices"
    return [(module, name, list)] if module is not None and hasattr(module, name) else []


def global_hooks_patch(ours: int) -> list[tuple[ModuleType, str, Any]]:
    """A compiled module warns of global hooks (`_has_any_global_hook`): not of the one with the number `ours`."""
    module = sys.modules["torch.nn.modules.module"]
    name = "_has_any_global_hook"
    real = getattr(module, name, None)
    if real is None:
        return []

    def others() -> bool:
        hooks = module._global_forward_pre_hooks
        if hooks.keys() != {ours}:
            return bool(real())
        hook = hooks.pop(ours)
        try:
            return bool(real())
        finally:
            hooks[ours] = hook

    return [(module, name, others)]


def storage_registry() -> list[Any]:
    """torch.serialization's list of (priority, tagger, deserializer); public register_package only adds to it."""
    registry: list[Any] = torch.serialization._package_registry
    return registry


@functools.lru_cache(maxsize=1)
def numbers_are_put_from_host() -> bool:
    """Whether `x[…] = 1.0` goes through a 0-dim tensor on the host (pull request 188330 ends that)."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[str] = []

    class Look(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.overloadpacket.__name__)
            return func(*args, **(kwargs or {}))

    x = torch.zeros(2)
    with Look():  # type: ignore[no-untyped-call]
        x[0] = 1.0
    return "copy_" in seen
