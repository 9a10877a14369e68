"""The watcher of torch operations: a `TorchFunctionMode` that compares shapes and remembers who made what.

It runs at every call of torch from Python, so the ordinary way through it is short: look the function up, compare two
shapes, call, write down the maker. Judging, frames and messages come only when two shapes look like an accident.
"""

from __future__ import annotations

import sys
import weakref
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from pytest_tensorcheck.broadcasting.axis_names import Names, conflict, follow
from pytest_tensorcheck.broadcasting.callers import (
    KIND,
    THIN,
    TORCH,
    USER,
    acting_frame,
    is_forward,
    is_running,
    nearest_user_frame,
)
from pytest_tensorcheck.broadcasting.distributions import is_distribution_code, is_of_events, meeting
from pytest_tensorcheck.broadcasting.guard import allowed, deliver
from pytest_tensorcheck.broadcasting.messages import Maker, axis_observation, broadcast_observation, user_line_at
from pytest_tensorcheck.broadcasting.operations import Operation
from pytest_tensorcheck.broadcasting.torch_traits import OPERATIONS, PLAIN, TRAITS, function_name
from pytest_tensorcheck.broadcasting.verdict import Kind, Operand, is_accident, relation
from pytest_tensorcheck.call_source import line_at, line_span_at, rebinds
from pytest_tensorcheck.shapes.sizes import on_named
from pytest_tensorcheck.torch_warnings import mode_entered, mode_left

_Tensor = torch.Tensor
_broadcast_tensors = torch.functional.broadcast_tensors
_Parameter = torch.nn.Parameter
# Seen in torch 2.6 to 2.13.
_push, _pop = torch._C._push_on_torch_function_stack, torch._C._pop_torch_function_stack
_modes_open = torch._C._len_torch_function_stack
_unheard = torch._C.DisableTorchFunction  # no `__torch_function__` inside, of subclasses or of modes
_is_compiling = torch.compiler.is_dynamo_compiling
_is_tracing = torch._C._is_tracing  # what torch.jit.is_tracing asks (seen in torch 2.6 to 2.13)


class _Judged(dict[type, bool]):
    """Whether a type's shapes are numbers to compare: plain tensors and people's own subclasses are; numbers and lists
    are not tensors; torch's fake, functional and distributed tensors may have symbols for sizes."""

    def __missing__(self, kind: type) -> bool:
        judged = self[kind] = issubclass(kind, _Tensor) and (
            kind in (_Tensor, _Parameter, torch.nn.Buffer) or not kind.__module__.startswith("torch.")
        )
        return judged


_JUDGED = _Judged()
# Whose attributes are read without anybody hearing of it: a subclass has a `__torch_function__` that may be the user's,
# and so has a mode that was entered before ours.
_UNHEARD: frozenset[type] = frozenset({_Tensor, _Parameter, torch.nn.Buffer})
_NONE_UNHEARD: frozenset[type] = frozenset()


class Entry(NamedTuple):
    """Who made a tensor. `code` and `lasti`: the user's instruction; `inner`: the code that called torch itself.

    `explicit`: as of an operand, or "support". `learned`: made of nothing but parameters.
    """

    ref: Any
    function: Any
    code: CodeType | None
    lasti: int
    inner: CodeType
    explicit: str
    grid: bool
    prediction: bool
    learned: bool


_relation = lru_cache(maxsize=4096)(relation)


class BroadcastMode(TorchFunctionMode):
    """Open while a guard is. `entries` maps `id(tensor)` to its maker; dead tensors are swept now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[int, Entry] = {}
        self.named: dict[int, tuple[Any, Names]] = {}
        self._sweep_at = 4096
        self._plain = _UNHEARD

    # What TorchFunctionMode's own methods do, four calls deeper; the plugin opens a mode around every test.

    def __enter__(self) -> Any:
        on_named.append(self.name_axes)
        self._plain = _NONE_UNHEARD if _modes_open() else _UNHEARD
        mode_entered()
        _push(self)
        return self

    def __exit__(self, *failure: Any) -> None:
        """And it is as new, for the next block: what tensors were in this one is nothing to the next."""
        on_named.remove(self.name_axes)
        _pop()
        mode_left()
        if self.entries or self.named:
            self.entries.clear()
            self.named.clear()
        self._sweep_at = 4096

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        __tracebackhide__ = True
        if _is_compiling() or _is_tracing():
            # torch.compile traces modes too, and in a trace a size is not a number: neither is judged nor disturbed.
            return func(*args, **kwargs) if kwargs else func(*args)
        operation = OPERATIONS[func]
        if operation is not None:
            # The shapes of the first two operands settle almost every call.
            if len(args) == 2 and not kwargs:
                first, second = args
                if type(first) in (plain := self._plain) and type(second) in plain:
                    try:
                        mine, theirs = first.shape, second.shape
                    except RuntimeError:  # nested tensors have no shape
                        mine = theirs = torch.Size()
                    if mine != theirs and (_relation(mine, theirs) is not None or self.named):
                        self._look(operation, func, args, kwargs, sys._getframe(1))
                elif _JUDGED[type(first)] and _JUDGED[type(second)]:
                    self._look(operation, func, args, kwargs, sys._getframe(1))
            else:
                self._look(operation, func, args, kwargs, sys._getframe(1))
        elif func is _broadcast_tensors:
            acting = acting_frame(sys._getframe(1))
            if acting is not None and is_distribution_code(acting):
                with _unheard():
                    self._look_at_distribution(acting)
        result = func(*args, **kwargs) if kwargs else func(*args)
        kind = type(result)
        if kind is _Tensor or kind is _Parameter:
            self._remember(result, func, args, kwargs, sys._getframe(1))
        elif isinstance(result, tuple) and kind is not torch.Size:
            self._remember_all(
                [each for each in result if isinstance(each, _Tensor)], func, args, kwargs, sys._getframe(1)
            )
        elif isinstance(result, _Tensor):
            self._remember(result, func, args, kwargs, sys._getframe(1))
        if self.named:
            with _unheard():
                self._follow_names(result, func, args, kwargs or {})
        return result

    # -- the names of axes ---------------------------------------------------------------------------------------

    def name_axes(self, array: Any, names: Names) -> None:
        """Told by `assert_shape`: these are the names of the tensor's axes."""
        if isinstance(array, _Tensor):
            self.named[id(array)] = (weakref.ref(array), names)

    def _names(self, value: Any) -> Names | None:
        found = self.named.get(id(value))
        return found[1] if found is not None and found[0]() is value else None

    def _follow_names(self, result: Any, func: Any, args: Any, kwargs: Any) -> None:
        name = function_name(func)
        for at, each in enumerate(result if isinstance(result, tuple) else (result,)):
            if not isinstance(each, _Tensor) or (
                at and isinstance(result, tuple) and name not in ("max", "min", "topk")
            ):
                continue
            operands = [
                (self._names(value), tuple(value.shape) if isinstance(value, _Tensor) else None) for value in args
            ]
            names = follow(name, operands, args, kwargs, tuple(each.shape))
            if names is not None:
                self.named[id(each)] = (weakref.ref(each), names)

    # -- who made what -------------------------------------------------------------------------------------------

    def _remember(self, result: Any, func: Any, args: Any, kwargs: Any, frame: FrameType) -> None:
        trait = TRAITS[func]
        if trait.inplace and args and result is args[0] and id(result) in self.entries:
            return
        inner = frame.f_code
        code: CodeType | None = inner
        lasti = frame.f_lasti
        kind = KIND[inner.co_filename]
        if kind != USER:
            if kind == THIN:
                acting = acting_frame(frame)
                if acting is not None:
                    inner = acting.f_code
            user = nearest_user_frame(frame)
            code, lasti = (None, 0) if user is None else (user.f_code, user.f_lasti)
        explicit, grid, prediction = trait.explicit, trait.grid, trait.prediction
        if trait is not PLAIN:
            if trait.indexes:
                index = args[1]
                if index is None or (type(index) is tuple and any(each is None for each in index)):
                    explicit = "strong"
            elif trait.keepdim and (any(each is True for each in args) or (kwargs and kwargs.get("keepdim"))):
                explicit = "keepdim"
            if trait.passes_on or trait.reshapes:
                parent = self._only_parent(args)
                if parent is not None:
                    # What a forward itself computes with is no prediction yet.
                    returned = is_forward(parent.inner) and parent.inner is not inner
                    prediction = prediction or parent.prediction or returned
                    if trait.reshapes and TRAITS[parent.function].grid:
                        grid = True
                    if trait.passes_on:
                        explicit, grid = explicit or parent.explicit, grid or parent.grid
                    if parent.explicit == "support":
                        explicit = "support"
            if inner.co_name == "enumerate_support":  # of a distribution: along an axis of its own
                explicit = "support"
        entries = self.entries
        learned = False
        if args:
            first = args[0]
            if type(first) is _Parameter or ((known := entries.get(id(first))) is not None and known.learned):
                learned = self._is_learned(args, kwargs)
        entries[id(result)] = Entry(weakref.ref(result), func, code, lasti, inner, explicit, grid, prediction, learned)
        if len(entries) > self._sweep_at:
            self._sweep()

    def _remember_all(self, results: list[Any], func: Any, args: Any, kwargs: Any, frame: FrameType) -> None:
        """Going through a tensor makes one of each of its rows, by the thousand: what made them is found out once."""
        if not results:
            return
        first, *others = results
        self._remember(first, func, args, kwargs, frame)
        entries = self.entries
        made = entries[id(first)][1:]
        for each in others:
            entries[id(each)] = Entry(weakref.ref(each), *made)
        if len(entries) > self._sweep_at:
            self._sweep()

    def _is_learned(self, args: Any, kwargs: Any) -> bool:
        """Whether all tensors that something is made of are parameters, or made of them: its axes are the author's."""
        learned = False
        for each in args:
            if isinstance(each, _Tensor):
                if type(each) is not _Parameter:
                    entry = self.entries.get(id(each))
                    if entry is None or not entry.learned or entry.ref() is not each:
                        return False
                learned = True
        return learned and not (kwargs and any(isinstance(each, _Tensor) for each in kwargs.values()))

    def _only_parent(self, args: Any) -> Entry | None:
        """The entry of the one tensor among the arguments that is more than a number; None where there are more."""
        found = None
        for each in args:
            if isinstance(each, _Tensor):
                if found is None:
                    found = each
                    continue
                with _unheard():
                    if not each.dim():
                        continue
                    if not (_JUDGED[type(found)] and _JUDGED[type(each)]):
                        return None
                    if found.numel() == 1 and found.dim() <= each.dim():
                        found = each
                    elif each.numel() != 1 or each.dim() > found.dim():
                        return None
        return None if found is None else self.entry(found)

    def entry(self, tensor: Any) -> Entry | None:
        entry = self.entries.get(id(tensor))
        return entry if entry is not None and entry.ref() is tensor else None

    def _sweep(self) -> None:
        self.entries = {key: entry for key, entry in self.entries.items() if entry.ref() is not None}
        self.named = {key: each for key, each in self.named.items() if each[0]() is not None}
        self._sweep_at = max(4096, 2 * len(self.entries))

    # -- judging -------------------------------------------------------------------------------------------------

    def _look(self, operation: Operation, func: Any, args: Any, kwargs: Any, frame: FrameType) -> None:
        __tracebackhide__ = True
        with _unheard():
            self._look_at_operands(operation, func, args, kwargs, frame)

    def _look_at_operands(self, operation: Operation, func: Any, args: Any, kwargs: Any, frame: FrameType) -> None:
        """Compare every two operands; go on only where the sizes look like an accident."""
        __tracebackhide__ = True
        found = []
        for position, name in enumerate(operation.operands):
            value = args[position] if position < len(args) else kwargs.get(name) if kwargs else None
            if _JUDGED[type(value)]:
                assert value is not None
                try:
                    found.append((position, value, tuple(value.shape)))
                except RuntimeError:  # nested and other tensors without a shape
                    continue
        for at, (position, first, first_shape) in enumerate(found):
            for other, second, second_shape in found[at + 1 :]:
                how = _relation(first_shape, second_shape)
                if how is None and self.named and not allowed():
                    self._look_at_names(operation, func, (first, second), (position, other), frame)
                if how is not None and not allowed() and not TRAITS[func].inplace:
                    acting = acting_frame(frame)
                    if acting is not None and is_distribution_code(acting):
                        self._look_at_distribution(acting)
                        return
                    if acting is None or KIND[acting.f_code.co_filename] != USER:
                        return
                    mine = self._operand(operation.kind, first, first_shape, acting)
                    theirs = self._operand(operation.kind, second, second_shape, acting)
                    if is_accident(operation.kind, how, mine, theirs) and not is_of_events(acting):
                        observation = broadcast_observation(
                            operation,
                            how,
                            (first_shape, second_shape),
                            (self._maker(first), self._maker(second)),
                            (position, other),
                            acting.f_code,
                            acting.f_lasti,
                        )
                        deliver(observation, (acting.f_code, acting.f_lasti, operation.title))
                        return

    def _look_at_distribution(self, frame: FrameType) -> None:
        __tracebackhide__ = True
        met = meeting(frame)
        if met is None or allowed() or KIND[met.frame.f_code.co_filename] != USER:
            return
        how = _relation(met.first_shape, met.second_shape)
        if how != "rank":
            return
        operands = [
            Operand(shape) if tensor is None else self._operand(met.operation.kind, tensor, shape, met.frame)
            for tensor, shape in ((met.first, met.first_shape), (met.second, met.second_shape))
        ]
        if is_accident(met.operation.kind, how, *operands):
            observation = broadcast_observation(
                met.operation,
                how,
                (met.first_shape, met.second_shape),
                (None if met.first is None else self._maker(met.first), self._maker(met.second)),
                (0, 1),
                met.frame.f_code,
                met.frame.f_lasti,
                remedy="give the distribution's parameters and the values one shape",
            )
            deliver(observation, (met.frame.f_code, met.frame.f_lasti, met.operation.title))

    def _look_at_names(
        self, operation: Operation, func: Any, tensors: tuple[Any, Any], positions: tuple[int, int], frame: FrameType
    ) -> None:
        __tracebackhide__ = True
        names = (self._names(tensors[0]), self._names(tensors[1]))
        clash = conflict(*names)
        acting = acting_frame(frame) if clash is not None else None
        if clash is None or acting is None or KIND[acting.f_code.co_filename] != USER:
            return
        observation = axis_observation(
            operation,
            (tuple(tensors[0].shape), tuple(tensors[1].shape)),
            names,
            clash,
            (self._maker(tensors[0]), self._maker(tensors[1])),
            positions,
            acting.f_code,
            acting.f_lasti,
        )
        deliver(observation, (acting.f_code, acting.f_lasti, operation.title))

    def _operand(self, kind: Kind, tensor: Any, shape: tuple[int, ...], acting: FrameType) -> Operand:
        entry = self.entry(tensor)
        try:
            storage = hash((tensor.untyped_storage()._cdata, tensor.storage_offset()))
        except (RuntimeError, NotImplementedError):  # sparse, functorch wrappers
            storage = 0
        grown = tensor.requires_grad and not tensor.is_leaf
        learned = isinstance(tensor, _Parameter) or (kind == "scaling" and tensor.requires_grad and tensor.is_leaf)
        if entry is None:
            base = tensor._base
            explicit = "strong" if base is not None and base.dim() < len(shape) else ""
            return Operand(shape, explicit, False, grown, False, learned, False, False, storage)  # type: ignore[arg-type]
        learned = learned or entry.learned
        if entry.explicit == "support":
            return Operand(shape, "strong", True, learned=learned, storage=storage)
        explicit = entry.explicit
        own = entry.code is acting.f_code and entry.inner is entry.code
        if explicit and not own and KIND[entry.inner.co_filename] == TORCH:
            explicit = ""  # what torch does inside is no promise about what comes out
        returned = is_forward(entry.inner) and not own and not is_running(entry.inner, acting)
        if returned and kind != "logic":
            explicit = ""  # nor is what a model does before it returns
        same = False
        if explicit and entry.code is acting.f_code:
            first, last = line_span_at(acting.f_code, acting.f_lasti)
            line = line_at(acting.f_code, entry.lasti)
            same = first <= line <= last
            if explicit == "strong" and not same and rebinds(acting.f_code.co_filename, line):
                explicit = "weak"
        prediction = grown or entry.prediction or returned
        setup = entry.code is not None and entry.code.co_name in ("__init__", "setup", "build", "__post_init__")
        positions = entry.grid and TRAITS[entry.function].reshapes
        return Operand(shape, explicit, same, prediction, entry.grid, learned, True, setup, storage, positions)  # type: ignore[arg-type]

    def _maker(self, tensor: Any) -> Maker | None:
        entry = self.entry(tensor)
        if entry is None or entry.code is None:
            return None
        return Maker(_spoken(entry), user_line_at(entry.code, entry.lasti))


def _spoken(entry: Entry) -> str:
    """The maker as the user knows it: `nn.Linear`, `Net.forward`, `torch.rand`, `.unsqueeze()`, `indexing`."""
    inner = entry.inner
    if is_forward(inner) and inner is not entry.code:
        owner = inner.co_qualname.rpartition(".")[0]
        return f"nn.{owner}" if KIND[inner.co_filename] in (TORCH, THIN) else f"{owner}.forward"
    name = function_name(entry.function)
    if name == "getitem":
        return "indexing"
    operation = OPERATIONS[entry.function]
    raw = getattr(entry.function, "__name__", "")
    if raw.startswith("__") and operation is not None:
        return operation.title
    if getattr(entry.function, "__module__", None) == "torch.nn.functional":
        return f"F.{name}"
    if raw == "__get__":
        return f".{name}"
    if getattr(entry.function, "__objclass__", None) is not None or hasattr(_Tensor, name):
        return f".{name}()" if not hasattr(torch, name) or hasattr(entry.function, "__objclass__") else f"torch.{name}"
    return f"torch.{name}"
