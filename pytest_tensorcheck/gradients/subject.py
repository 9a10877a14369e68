"""What is checked: a function or module over float64 copies, its tensors by name, and how to run it once.

    subject.run(values) -> outputs and the live tensors autograd knows

`values` has one tensor per leaf: the inputs first, then the parameters.
"""

from __future__ import annotations

import fnmatch
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pytest_tensorcheck.gradients import trees
from pytest_tensorcheck.gradients.frozen_state import Frozen, is_generator
from pytest_tensorcheck.gradients.messages import shortened
from pytest_tensorcheck.gradients.twins import Twins, is_differentiable_dtype
from pytest_tensorcheck.user_line import UserLine, is_user_file


class BadInput(ValueError):
    """The arguments of the check itself make no sense; one clear line."""


@dataclass(slots=True)
class Leaf:
    """A tensor whose gradient is checked. `value` is the point, detached; `parameter` the copy's own tensor."""

    name: str
    value: torch.Tensor
    parameter: torch.Tensor | None = None
    implicit: bool = False  # chosen because nothing was marked requires_grad
    key: int = 0  # id of the user's tensor, for inputs


@dataclass(slots=True)
class Run:
    """One evaluation: the named tensors it returned, and the leaves as autograd saw them."""

    outputs: list[tuple[str, torch.Tensor]]
    live: list[torch.Tensor]


class Subject:
    """A function over leaves, with its state frozen. `close()` (or leaving the context) restores all state."""

    def __init__(
        self,
        function: Any,
        inputs: Any,
        kwargs: Mapping[str, Any] | None = None,
        *,
        parameters: bool | str | Sequence[str] | None = None,
        double: bool = True,
        memory: bool = False,
        without: frozenset[str] = frozenset(),
    ) -> None:
        self.name, self.defined_at = describe(function)
        self.twins = Twins(double, memory)
        self.evaluations = 0
        self.default_dtype: torch.dtype | None = None
        args = tuple(inputs) if type(inputs) in (tuple, list) else (inputs,)
        self._call = self._callable(function)
        self._args = self._argument_modules((args, dict(kwargs or {})))
        names = argument_names(function, len(args))
        self._initialise_lazy(function)
        self.twins.to_precision()
        self.holds_iterations = self.twins.hold_power_iterations()
        named = [
            (path, leaf) for name, value in zip(names, args, strict=True) for path, leaf in trees.leaves(value, name)
        ]
        named += [(path, leaf) for key, value in (kwargs or {}).items() for path, leaf in trees.leaves(value, key)]
        self.given = [f"{name} is {kind}" for name, value in named if (kind := _kind(value))]
        self.leaves = self._input_leaves(named, without) + self._parameter_leaves(
            parameters, isinstance(function, torch.nn.Module)
        )
        self.parameters = [leaf for leaf in self.leaves if leaf.parameter is not None]
        self.inputs = [leaf for leaf in self.leaves if leaf.parameter is None]
        generators = [leaf for _, leaf in named if is_generator(leaf)]
        devices = [leaf.value.device for leaf in self.leaves] or [torch.device("cpu")]
        self.frozen = Frozen(self.twins.modules.values(), devices, generators)

    def __enter__(self) -> Subject:
        return self

    def __exit__(self, *_: object) -> None:
        self.frozen.__exit__(None, None, None)

    # -- one evaluation ------------------------------------------------------------------------------------------------

    def run(self, values: Sequence[torch.Tensor], *, live: Sequence[torch.Tensor] | None = None) -> Run:
        """Evaluate at `values`. `live` replaces the fresh leaf tensors (dual numbers, for forward mode)."""
        self.frozen.reset()
        self.evaluations += 1
        tensors: list[torch.Tensor] = []
        by_key: dict[int, torch.Tensor] = {}
        for index, (leaf, value) in enumerate(zip(self.leaves, values, strict=True)):
            if leaf.parameter is not None:
                if live is None:
                    with torch.no_grad():
                        leaf.parameter.copy_(value)
                    tensors.append(leaf.parameter)
                else:
                    tensors.append(live[index])
                continue
            tensor = self._placed(leaf, value).requires_grad_(True) if live is None else live[index]
            by_key[leaf.key] = tensor
            tensors.append(tensor)

        fixed: dict[int, torch.Tensor] = {}

        def fresh(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                if id(value) in by_key:
                    return by_key[id(value)]
                if id(value) not in fixed:
                    fixed[id(value)] = self.twins.again(self.twins.tensor(value)) if is_plain(value) else value
                return fixed[id(value)]
            return value

        args, kwargs = trees.rebuild(self._args, fresh)
        previous = torch.get_default_dtype()
        if self.default_dtype is not None:
            torch.set_default_dtype(self.default_dtype)
        try:
            with torch.inference_mode(False), torch.enable_grad():
                result = self._call(*args, **kwargs)
        finally:
            torch.set_default_dtype(previous)
        outputs = [(path, leaf) for path, leaf in trees.leaves(result, "out") if isinstance(leaf, torch.Tensor)]
        return Run(outputs, tensors)

    def _placed(self, leaf: Leaf, value: torch.Tensor) -> torch.Tensor:
        """A fresh copy of `value`, where it matters in the place in memory that the input has."""
        if not self.twins.memory:
            return value.detach().clone()
        tensor = self.twins.again(leaf.value)
        return tensor.copy_(value.detach())

    # -- construction --------------------------------------------------------------------------------------------------

    def _callable(self, function: Any) -> Callable[..., Any]:
        if isinstance(function, torch.nn.Module):
            module: Callable[..., Any] = self.twins.module(function, "")
            return module
        if is_autograd_function(function):
            apply: Callable[..., Any] = function.apply
            return apply
        if isinstance(function, type) and issubclass(function, torch.nn.Module):
            raise BadInput(f"{function.__name__} is a class: make a module of it first, {function.__name__}(...)")
        if not callable(function):
            raise BadInput(
                f"this needs a function, an nn.Module or an autograd.Function, not {type(function).__name__}"
            )
        twin = self.twins.value(function, getattr(function, "__name__", "fn"))
        if (
            twin is function
            and not isinstance(function, type)
            and hasattr(function, "__dict__")
            and not inspect.isroutine(function)
        ):
            twin = self.twins.instance(function)
        made: Callable[..., Any] = twin
        return made

    def _argument_modules(self, arguments: Any) -> Any:
        """The arguments with modules among them replaced by their copies."""
        paths = {id(leaf): path[3:] for path, leaf in trees.leaves(arguments) if isinstance(leaf, torch.nn.Module)}

        def replace(value: Any) -> Any:
            return self.twins.module(value, f"args{paths[id(value)]}") if id(value) in paths else value

        return trees.rebuild(arguments, replace)

    def _initialise_lazy(self, function: Any) -> None:
        """Run a copy with uninitialised (lazy) parameters once, in its own precision, to give them their shapes."""
        lazy = [m for m in self.twins.modules.values() if any(map(torch.nn.parameter.is_lazy, m.parameters()))]
        if lazy:
            with Frozen([], [torch.device("cpu")]), torch.no_grad():
                args, kwargs = trees.rebuild(
                    self._args, lambda value: value.detach().clone() if isinstance(value, torch.Tensor) else value
                )
                self._call(*args, **kwargs)

    def _input_leaves(self, named: list[tuple[str, Any]], without: frozenset[str]) -> list[Leaf]:
        tensors = [(name, value) for name, value in named if isinstance(value, torch.Tensor)]
        floating = [(name, value) for name, value in tensors if is_differentiable_dtype(value.dtype)]
        marked = [(name, value) for name, value in floating if value.requires_grad]
        leaves: dict[int, Leaf] = {}
        for name, value in marked or floating:
            if id(value) in leaves:
                leaves[id(value)].name += f" (= {name})"
                continue
            if name in without:
                continue
            refuse_unusual(name, value)
            leaves[id(value)] = Leaf(name, self.twins.tensor(value), implicit=not marked, key=id(value))
        return list(leaves.values())

    def _parameter_leaves(self, wanted: bool | str | Sequence[str] | None, is_module: bool) -> list[Leaf]:
        every: dict[int, tuple[str, torch.Tensor]] = {}
        chosen: list[tuple[str, torch.Tensor]]
        for prefix, module in self.twins.modules.items():
            for name, parameter in module.named_parameters():
                every.setdefault(id(parameter), (f"{prefix}.{name}" if prefix else name, parameter))
        named = [(name, p) for name, p in every.values() if is_differentiable_dtype(p.dtype)]
        if wanted is None or wanted is True:
            chosen = [(name, p) for name, p in named if p.requires_grad]
        elif wanted is False:
            chosen = []
        else:
            chosen = []
            for pattern in [wanted] if isinstance(wanted, str) else wanted:
                found = [(name, p) for name, p in named if fnmatch.fnmatchcase(name, pattern)]
                if not found:
                    known = shortened([name for name, _ in named], 12) or "none"
                    raise BadInput(f"parameters={pattern!r} names no parameter of {self.name}; it has: {known}")
                chosen += [pair for pair in found if pair not in chosen]
        kept = {id(parameter) for _, parameter in chosen}
        leaves = []
        for _, tensor in named:
            if tensor.requires_grad and id(tensor) not in kept:
                tensor.requires_grad_(False)
        for name, tensor in chosen:
            refuse_unusual(name, tensor)
            tensor.requires_grad_(True)
            leaves.append(Leaf(name, tensor.detach().clone(), tensor))
        return leaves


def _kind(value: Any) -> str:
    """What an argument is that looks like numbers but cannot be differentiated; empty for others."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype).removeprefix("torch.")
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "shape"):
        return "a numpy array (use torch.from_numpy)"
    return ""


def is_plain(tensor: torch.Tensor) -> bool:
    """Strided memory that can be cloned and perturbed: no sparse, quantised, nested, fake or meta tensor."""
    strided = tensor.layout == torch.strided and tensor.device.type != "meta"
    return bool(strided and not tensor.is_quantized and not tensor.is_nested)


def refuse_unusual(name: str, tensor: torch.Tensor) -> None:
    if tensor.is_nested:
        raise BadInput(
            f"{name} is a nested tensor: gradcheck moves elements of dense tensors; check one component at a time"
        )
    if tensor.layout != torch.strided:
        raise BadInput(
            f"{name} is sparse ({tensor.layout}): gradcheck moves every element, also those a sparse tensor leaves "
            f"out; pass {name}.to_dense(), or use torch.autograd.gradcheck(..., masked=True)"
        )
    if tensor.device.type == "meta" or type(tensor).__name__ == "FakeTensor":
        raise BadInput(f"{name} has no values (a meta or fake tensor): there is nothing to differentiate")


def is_autograd_function(value: Any) -> bool:
    """Whether `value` is a subclass of torch.autograd.Function (the class, which is never instantiated)."""
    return isinstance(value, type) and issubclass(value, torch.autograd.Function)


def argument_names(function: Any, count: int) -> list[str]:
    """The names the function gives its positional arguments; `inputs[2]` where they cannot be read."""
    names: list[str] = []
    owner = getattr(function, "__self__", None)
    if is_autograd_function(owner):  # MyFunction.apply
        function = owner
    target, skip = function, 0
    if isinstance(function, torch.nn.Module):
        target = function.forward
    elif is_autograd_function(function):
        target = function.forward
        skip = 1 if function.setup_context is torch.autograd.Function.setup_context else 0
    try:
        parameters = list(inspect.signature(target).parameters.values())[skip:]
    except (TypeError, ValueError):
        parameters = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{index}]" for index in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    names = names[:count]
    return names + [f"inputs[{index}]" for index in range(len(names), count)]


def describe(function: Any) -> tuple[str, str]:
    """The subject's name and `file:line` of the code that defines it, where it is the user's."""
    if isinstance(function, torch.nn.Module):
        return type(function).__name__, _place(type(function).forward)
    if is_autograd_function(function):
        return function.__name__, _place(function.backward)
    owner = getattr(function, "__self__", None)
    if is_autograd_function(owner):
        return describe(owner)
    inner = function
    while hasattr(inner, "func"):  # functools.partial
        inner = inner.func
    name: str = getattr(inner, "__name__", "") or type(inner).__name__
    return ("the function" if name == "<lambda>" else name), _place(inner)


def _place(function: Any) -> str:
    function = inspect.unwrap(function) if callable(function) else function
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(getattr(type(function), "__call__", None), "__code__", None)  # noqa: B004
    if code is None or not is_user_file(code.co_filename):
        return ""
    return str(UserLine(code.co_filename, code.co_firstlineno))


def custom_backwards(outputs: Iterable[torch.Tensor], limit: int = 20_000) -> list[str]:
    """The user's autograd Functions in the graph behind `outputs`, as `MyFn.backward (ops.py:12)`."""
    seen: set[Any] = set()
    stack: list[Any] = [tensor.grad_fn for tensor in outputs]
    found: dict[str, None] = {}
    while stack and len(seen) < limit:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        # torch names the class on the node of a Python Function (2.6 to 2.13).
        owner: Any = getattr(node, "_forward_cls", None)
        if owner is not None:
            method = owner.vjp if owner.backward is torch.autograd.Function.backward else owner.backward
            place = _place(method)
            if place:
                found[f"{owner.__name__}.backward ({place})"] = None
        stack += [parent for parent, _ in node.next_functions]
    return list(found)
