"""Copies of what the user handed in, in the precision of the check, so that nothing of theirs is ever touched.

A module is deep-copied; a function that closes over modules or tensors (`lambda x: loss(model(x), y)`) gets new cells
that hold copies. One `Twins` keeps one copy per object, so that what was shared stays shared.
"""

from __future__ import annotations

import builtins
import copy
import functools
import types
from collections.abc import Iterator
from typing import Any

import torch

from pytest_tensorcheck.user_line import is_user_file

# How deep functions that call functions are followed to find captured modules.
_DEPTH = 4


def is_differentiable_dtype(dtype: torch.dtype) -> bool:
    return bool(dtype.is_floating_point or dtype.is_complex)


class Twins:
    """Makes and remembers copies. `double` moves floating point to 64 bits; otherwise the dtypes stay. `memory`: a view
    of a larger tensor is copied with all the memory around it, for functions (as_strided) that read it."""

    def __init__(self, double: bool, memory: bool = False) -> None:
        self.double, self.memory = double, memory
        self.modules: dict[str, torch.nn.Module] = {}  # name in the user's code -> copy
        self.captured: list[tuple[int, str]] = []  # id and name of captured tensors that require grad
        self._copies: dict[int, tuple[Any, Any]] = {}  # id -> (original kept alive, copy)
        self._memo: dict[int, Any] = {}

    def dtype(self, dtype: torch.dtype) -> torch.dtype:
        if not self.double or not is_differentiable_dtype(dtype):
            return dtype
        return torch.complex128 if dtype.is_complex else torch.float64

    def tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        """A detached copy with memory of its own, also where the original was expanded."""
        if id(tensor) not in self._copies:
            fresh = tensor.detach()
            if type(fresh) is torch.nn.Parameter:
                fresh = fresh.data
            if is_differentiable_dtype(fresh.dtype):
                if self.memory:
                    fresh = with_memory(fresh, self.dtype(fresh.dtype))
                fresh = fresh.to(self.dtype(fresh.dtype))
            self._copies[id(tensor)] = (tensor, self.again(fresh))
        made: torch.Tensor = self._copies[id(tensor)][1]
        return made

    def again(self, copy: torch.Tensor) -> torch.Tensor:
        """A copy of one of our copies."""
        return with_memory(copy, copy.dtype) if self.memory else copy.detach().clone()

    def module(self, module: torch.nn.Module, name: str) -> torch.nn.Module:
        if id(module) in self._copies:
            known: torch.nn.Module = self._copies[id(module)][1]
            return known
        for part in module.modules():
            # A tensor with a history cannot be deep-copied (an activation kept as an attribute, an old weight_norm).
            for value in vars(part).values():
                if isinstance(value, torch.Tensor) and value.grad_fn is not None:
                    self._memo.setdefault(id(value), value.detach().clone())
                elif isinstance(value, torch.Generator) and id(value) not in self._memo:
                    fresh = torch.Generator(device=value.device)
                    fresh.set_state(value.get_state())
                    self._memo[id(value)] = fresh
        try:
            twin = copy.deepcopy(module, self._memo)
        except Exception as error:
            raise CannotCopy(
                f"{type(module).__name__} could not be copied ({type(error).__name__}: {error}); gradcheck works on a "
                f"copy so that your module is left as it is"
            ) from error
        self._copies[id(module)] = (module, twin)
        self.modules[name] = twin
        return twin

    def hold_power_iterations(self) -> bool:
        """Spectral normalisation improves its singular vectors at every call in training mode, outside autograd: held
        fixed, as in evaluation mode, its gradient is exact. Returns whether there was any."""
        found = False
        for module in self.modules.values():
            for part in module.modules():
                # torch's private classes (2.6 to 2.13), by name: the parametrisation and the older hook.
                if type(part).__name__ == "_SpectralNorm" and part.training:
                    part.training, found = False, True
                hook: Any
                for hook in part._forward_pre_hooks.values():
                    if type(hook).__name__ == "SpectralNorm" and part.training:
                        hook.n_power_iterations, found = 0, True
        return found

    def to_precision(self) -> None:
        """Move the copied modules, and tensors they keep as plain attributes, to 64 bits."""
        if not self.double:
            return
        for module in self.modules.values():
            with torch.no_grad():
                self._convert(module)
            for part in module.modules():
                for name, value in list(vars(part).items()):
                    if isinstance(value, torch.Tensor) and is_differentiable_dtype(value.dtype):
                        vars(part)[name] = value.detach().to(self.dtype(value.dtype))

    def _convert(self, module: Any) -> None:
        """Module._apply keeps ties between parameters; Module.double would leave complex parameters as they are."""
        module._apply(lambda t: t.to(self.dtype(t.dtype)) if is_differentiable_dtype(t.dtype) else t)

    def value(self, value: Any, name: str, depth: int = _DEPTH) -> Any:
        """The twin of anything: modules, tensors, functions that capture them, containers of them; else itself."""
        if isinstance(value, torch.nn.Module):
            return self.module(value, name)
        if isinstance(value, torch.Tensor):
            if value.requires_grad and is_differentiable_dtype(value.dtype):
                self.captured.append((id(value), name))
            # Only where the precision asks for it: code may compare by identity.
            return value if self.dtype(value.dtype) == value.dtype else self.tensor(value)
        if depth <= 0:
            return value
        if isinstance(value, types.FunctionType):
            return self.function(value, depth) if is_user_file(value.__code__.co_filename) else value
        if isinstance(value, types.MethodType):
            return self.method(value, name, depth)
        if isinstance(value, functools.partial):
            return functools.partial(
                self.value(value.func, name, depth),
                *(self.value(item, f"{name}.args[{i}]", depth - 1) for i, item in enumerate(value.args)),
                **{key: self.value(item, key, depth - 1) for key, item in value.keywords.items()},
            )
        if type(value) in (list, tuple):
            items = [self.value(item, f"{name}[{i}]", depth - 1) for i, item in enumerate(value)]
            return value if all(a is b for a, b in zip(items, value, strict=True)) else type(value)(items)
        if type(value) is dict and len(value) <= 1000:
            entries = {key: self.value(item, f"{name}[{key!r}]", depth - 1) for key, item in value.items()}
            return value if all(entries[key] is value[key] for key in value) else entries
        return value

    def method(self, method: types.MethodType, name: str, depth: int) -> Any:
        owner = method.__self__
        if isinstance(owner, torch.nn.Module):
            return types.MethodType(method.__func__, self.module(owner, name.rpartition(".")[0] or "self"))
        if isinstance(owner, type | types.ModuleType):
            return method
        twin = self.instance(owner, depth)
        return method if twin is owner else types.MethodType(method.__func__, twin)

    def instance(self, owner: Any, depth: int = _DEPTH) -> Any:
        """A shallow copy of an ordinary object whose attributes are modules or tensors."""
        if id(owner) in self._copies:
            return self._copies[id(owner)][1]
        attributes = getattr(owner, "__dict__", None)
        if not isinstance(attributes, dict):
            return owner
        changed = {key: self.value(item, key, depth - 1) for key, item in attributes.items()}
        changed = {key: item for key, item in changed.items() if item is not attributes[key]}
        if not changed:
            return owner
        try:
            twin = copy.copy(owner)
            twin.__dict__.update(changed)
        except Exception:
            return owner
        self._copies[id(owner)] = (owner, twin)
        return twin

    def function(self, function: types.FunctionType, depth: int = _DEPTH) -> types.FunctionType:
        """The same code over copied cells, defaults and the globals it names; itself if it captures nothing."""
        if id(function) in self._copies:
            known: types.FunctionType = self._copies[id(function)][1]
            return known
        self._copies[id(function)] = (function, function)  # a recursive function meets itself
        code, changed = function.__code__, False
        cells: list[types.CellType] = []
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:  # a cell that is not filled yet
                cells.append(cell)
                continue
            twin = self.value(content, name, depth - 1)
            changed |= twin is not content
            cells.append(cell if twin is content else types.CellType(twin))
        names = {}
        for name in set(_global_names(code)):
            if name in function.__globals__ and not hasattr(builtins, name):
                content = function.__globals__[name]
                if isinstance(content, types.ModuleType | type):
                    continue
                twin = self.value(content, name, depth - 1)
                if twin is not content:
                    names[name] = twin
        defaults = self.value(function.__defaults__, "default", depth - 1)
        keyword_defaults = self.value(function.__kwdefaults__, "default", depth - 1)
        changed |= defaults is not function.__defaults__ or keyword_defaults is not function.__kwdefaults__
        if not changed and not names:
            return function
        twin_function = types.FunctionType(
            code,
            {**function.__globals__, **names} if names else function.__globals__,
            function.__name__,
            defaults,
            tuple(cells),
        )
        twin_function.__kwdefaults__ = keyword_defaults
        twin_function.__qualname__ = function.__qualname__
        vars(twin_function).update(vars(function))
        self._copies[id(function)] = (function, twin_function)
        return twin_function


def with_memory(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A detached copy that lies in a copy of the whole memory of which `tensor` is a view."""
    strided = tensor.layout == torch.strided and not tensor.is_nested and tensor.device.type != "meta"
    if not strided or 0 in tensor.stride():  # an expanded tensor cannot be written to
        return tensor.detach().to(dtype).clone()
    elements = tensor.untyped_storage().nbytes() // tensor.element_size()
    whole = tensor.detach().as_strided((elements,), (1,), 0).to(dtype, copy=True)
    return whole.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


class CannotCopy(Exception):
    """The subject could not be copied; the text says why."""


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)
