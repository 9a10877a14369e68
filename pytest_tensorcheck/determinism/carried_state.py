"""The tensors a function can reach from outside: their names, and their values to put back.

Reached are arguments, closure variables, defaults, the bound `self` and the globals its code names, and from those
through modules, optimizers, lists, tuples and dicts.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from pytest_tensorcheck.frameworks import loaded

_DEEPEST = 5


def reachable(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What a call of `function` starts from, by the name the user knows it under."""
    roots: dict[str, Any] = {}
    while (inner := getattr(function, "func", None)) is not None and hasattr(function, "args"):  # functools.partial
        args, kwargs = (*function.args, *args), {**function.keywords, **kwargs}
        function = inner
    bound = getattr(function, "__self__", None)
    if bound is not None and not isinstance(bound, ModuleType):
        roots["self"] = bound
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType):
        if callable(plain) and not isinstance(plain, type):
            roots[type(plain).__name__] = plain
        plain = vars(type(plain)).get("__call__")
    names = list(kwargs)
    if isinstance(plain, FunctionType):
        code = plain.__code__
        positional = code.co_varnames[: code.co_argcount]
        if roots:
            positional = positional[1:]
        roots.update(zip(positional, args, strict=False))
        roots.update({f"argument {i + 1}": value for i, value in enumerate(args) if i >= len(positional)})
        for name, cell in zip(code.co_freevars, plain.__closure__ or (), strict=True):
            try:
                roots[name] = cell.cell_contents
            except ValueError:  # not filled yet
                continue
        for name in code.co_names:
            if name in plain.__globals__ and not isinstance(plain.__globals__[name], ModuleType):
                roots.setdefault(name, plain.__globals__[name])
        roots.update({name: value for name, value in (plain.__kwdefaults__ or {}).items() if name not in names})
    else:
        roots.update({f"argument {i + 1}": value for i, value in enumerate(args)})
    roots.update(kwargs)
    return roots


def named_tensors(roots: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every tensor reachable from the roots with its name: `model.0.weight`, `state['x']`, `optimizer.state of
    model.0.weight`."""
    seen: set[int] = set()
    # Modules first: `the parameter model.weight` says more than `a parameter of optimizer`.
    for name, value in sorted(roots.items(), key=lambda root: not hasattr(root[1], "named_parameters")):
        yield from _tensors(name, value, 0, seen)


def _tensors(name: str, value: Any, depth: int, seen: set[int]) -> Iterator[tuple[str, Any]]:
    torch = loaded("torch")
    if torch is None or depth > _DEEPEST or id(value) in seen:
        return
    if isinstance(value, torch.Tensor):
        seen.add(id(value))
        yield name, value
        if value.is_leaf and value.grad is not None:
            yield f"{name}.grad", value.grad
    elif isinstance(value, torch.nn.Module):
        seen.add(id(value))
        for inner, tensor in [*value.named_parameters(), *value.named_buffers()]:
            kind = "parameter" if isinstance(tensor, torch.nn.Parameter) else "buffer"
            yield f"the {kind} {name}.{inner}", tensor
            if tensor.grad is not None:
                yield f"{name}.{inner}.grad", tensor.grad
    elif isinstance(value, torch.optim.Optimizer):
        seen.add(id(value))
        for number, (parameter, state) in enumerate(value.state.items()):
            for key, tensor in state.items():
                if isinstance(tensor, torch.Tensor):
                    yield f"{name}'s {key} of parameter {number} {tuple(parameter.shape)}", tensor
        for group in value.param_groups:
            for parameter in group["params"]:
                yield f"a parameter of {name}", parameter
    elif isinstance(value, Mapping):
        seen.add(id(value))
        for key, item in list(value.items()):
            yield from _tensors(f"{name}[{key!r}]", item, depth + 1, seen)
    elif isinstance(value, (list, tuple)):
        seen.add(id(value))
        for index, item in enumerate(value):
            yield from _tensors(f"{name}[{index}]", item, depth + 1, seen)
    elif hasattr(value, "__dict__") and not isinstance(value, (type, ModuleType, FunctionType)):
        seen.add(id(value))
        for key, item in list(vars(value).items()):
            yield from _tensors(f"{name}.{key}", item, depth + 1, seen)


class StateToRestore:
    """The values of tensors, modules, optimizers, arrays and generators, put back in place by `restore`."""

    def __init__(self, roots: Mapping[str, Any]) -> None:
        self._restorers: list[Callable[[], None]] = []
        seen: set[int] = set()
        for value in roots.values():
            self._take(value, 0, seen)

    def restore(self) -> None:
        for put_back in self._restorers:
            put_back()

    def _take(self, value: Any, depth: int, seen: set[int]) -> None:
        if depth > _DEEPEST or id(value) in seen:
            return
        seen.add(id(value))
        torch, numpy = loaded("torch"), loaded("numpy")
        if torch is not None and isinstance(value, torch.Tensor):
            self._tensor(value)
        elif torch is not None and isinstance(value, torch.nn.Module):
            self._module(value)
        elif torch is not None and isinstance(value, torch.optim.Optimizer):
            saved = copy.deepcopy(value.state_dict())
            self._restorers.append(lambda: value.load_state_dict(copy.deepcopy(saved)))
        elif torch is not None and isinstance(value, torch.Generator):
            state = value.get_state()
            self._restorers.append(lambda: value.set_state(state))
        elif numpy is not None and isinstance(value, numpy.ndarray) and value.flags.writeable:
            array = value.copy()
            self._restorers.append(lambda: numpy.copyto(value, array))
        elif numpy is not None and isinstance(value, numpy.random.Generator):
            bits = copy.deepcopy(value.bit_generator.state)
            self._restorers.append(lambda: setattr(value.bit_generator, "state", bits))
        elif isinstance(value, dict):
            for item in list(value.values()):
                self._take(item, depth + 1, seen)
        elif isinstance(value, (list, tuple)):
            for item in value:
                self._take(item, depth + 1, seen)

    def _module(self, module: Any) -> None:
        modes = [(inner, inner.training) for inner in module.modules()]
        for tensor in [*module.parameters(), *module.buffers()]:
            self._tensor(tensor)

        def put_back() -> None:
            for inner, training in modes:
                inner.training = training

        self._restorers.append(put_back)

    def _tensor(self, tensor: Any) -> None:
        import torch

        if tensor.layout is not torch.strided or tensor.device.type == "meta":
            return
        saved = tensor.detach().clone()
        grad = tensor.grad if tensor.is_leaf else None
        saved_grad = grad.detach().clone() if grad is not None else None

        def put_back() -> None:
            with torch.no_grad():
                if tensor.shape == saved.shape:
                    tensor.detach().copy_(saved)
                if tensor.is_leaf:
                    tensor.grad = grad
                    if grad is not None and saved_grad is not None:
                        grad.copy_(saved_grad)

        self._restorers.append(put_back)
