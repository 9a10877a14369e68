"""Once two runs differ: run again, watch the lines that lead to the divergent operation, and repeat that operation on
its own inputs.

The run stops at that operation. Of the lines executed before it, those are searched for a source that the operation's
values or the branches around it come from (a backward slice by names); only then the rest.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from pytest_tensorcheck.determinism.causes import Cause, Divergence, Evidence
from pytest_tensorcheck.determinism.differences import tensor_difference
from pytest_tensorcheck.determinism.operations import Recording
from pytest_tensorcheck.determinism.sources import CONTAINERS, Scope, Source, find_sources, generator_types, strength
from pytest_tensorcheck.determinism.statements import local_sets, module_names, slice_of_function, statements
from pytest_tensorcheck.user_line import UserLine, is_user_file

# Causes that a line elsewhere may explain.
_TRACED = {
    Cause.PYTHON,
    Cause.OUTSIDE,
    Cause.CONTROL_FLOW,
    Cause.ORDER,
    Cause.GENERATOR,
    Cause.CARRIED_GENERATOR,
    Cause.WORKERS,
}
_REPEATED = {Cause.KERNEL, Cause.THREADS}
_REPEATS = 12
_LARGEST = 1 << 28  # bytes of inputs that are cloned to repeat an operation


class _Reached(BaseException):
    """The divergent operation was reached: what comes after it is not run again."""


def investigate(
    divergence: Divergence, first: Recording, second: Recording, again: Callable[[], Any], definition: UserLine | None
) -> None:
    """Add what another run shows: the line that reads the time or an unseeded generator, the size of the difference."""
    if divergence.where is None:
        divergence.where = definition
    if divergence.cause in _REPEATED:
        _repeat(divergence, first, second, again)
    elif divergence.cause in _TRACED:
        watcher = _Watcher(divergence.index)
        watcher.watch(again)
        source = watcher.source(_seeds(divergence, first, second), divergence)
        if source is not None:
            _blame(divergence, source)


def explain_by_text(divergence: Divergence) -> None:
    """What the text of the divergent function says, where the program cannot be run again: a loop over a set, a listing
    of files."""
    line = divergence.where
    if line is None or divergence.cause not in (Cause.ORDER, Cause.PYTHON, Cause.CONTROL_FLOW, Cause.OUTSIDE):
        return
    scope = Scope(local_sets(line.file, line.line), module_names(line.file))
    for number in slice_of_function(line.file, line.line):
        for source in find_sources(line.file, number, scope, set()):
            if not source.weak:
                _blame(divergence, source)
                return


def _blame(divergence: Divergence, source: Source) -> None:
    """Let a source say what kind of cause it is, where that is more than the comparison knew."""
    where = UserLine(source.file, source.line)
    divergence.evidence.append(Evidence(where, f"{source.text} {source.why}"))
    divergence.origin = where
    if divergence.cause in (Cause.PYTHON, Cause.OUTSIDE, Cause.CONTROL_FLOW):
        divergence.cause = source.cause
    elif divergence.cause is Cause.ORDER and source.cause is not Cause.ORDER and not source.weak:
        divergence.cause = source.cause  # a shuffle with an unseeded generator


def _seeds(divergence: Divergence, first: Recording, second: Recording) -> list[UserLine]:
    """The lines whose values and branches are to be explained."""
    lines = [divergence.where] if divergence.where is not None else []
    for recording in (first, second):
        if 0 <= divergence.index < len(recording.operations):
            line = recording.where(recording.operations[divergence.index])
            if line is not None and line not in lines:
                lines.append(line)
    return lines


@dataclass
class _Watcher:
    """Runs the program once more under a trace of the user's lines, up to operation `index`."""

    index: int
    order: dict[tuple[CodeType, int], int] = field(default_factory=dict)  # executed line -> when it last ran
    sources: dict[tuple[CodeType, int], list[Source]] = field(default_factory=dict)
    stack: list[tuple[CodeType, int]] = field(default_factory=list)
    loaders: list[Any] = field(default_factory=list)
    clock: int = 0

    def watch(self, again: Callable[[], Any]) -> None:
        kinds = (*generator_types(), *CONTAINERS)
        alive = [
            thing for thing in gc.get_objects() if issubclass(type(thing), kinds)
        ]  # kept, so that no id is used again
        self.outlived = set(map(id, alive))
        tracer_before = sys.gettrace()
        self.process = os.getpid()
        mode = _stop_at(self.index, self._reached)
        try:
            with mode:
                sys.settrace(self._call)
                again()
        except (_Reached, Exception):  # the program may fail in this run: what it did until then still says something
            pass
        finally:
            sys.settrace(tracer_before)

    def _reached(self) -> None:
        sys.settrace(None)
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            if is_user_file(frame.f_code.co_filename):
                self.stack.append((frame.f_code, frame.f_lineno))
                self._find_loaders(frame)
            frame = frame.f_back
        raise _Reached

    def _find_loaders(self, frame: FrameType) -> None:
        torch = sys.modules["torch"]
        for value in [*frame.f_locals.values(), *(frame.f_globals.get(name) for name in frame.f_code.co_names)]:
            if isinstance(value, torch.utils.data.DataLoader):
                self.loaders.append(value)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        if os.getpid() != self.process:  # a forked worker
            sys.settrace(None)
            return None
        return self._line if is_user_file(frame.f_code.co_filename) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            key = (frame.f_code, frame.f_lineno)
            self.clock += 1
            new = key not in self.order
            self.order[key] = self.clock
            if new or not self.sources.get(key):
                statement = statements(frame.f_code.co_filename).get(frame.f_lineno)
                if statement is not None and statement.nodes:
                    self.sources[key] = find_sources(
                        frame.f_code.co_filename, frame.f_lineno, Scope.of_frame(frame), self.outlived
                    )
        return self._line

    def source(self, seeds: list[UserLine], divergence: Divergence) -> Source | None:
        """The source to blame: on a line the values come from, the strongest and then the latest; else the latest
        strong one."""
        if divergence.cause is Cause.WORKERS and (found := self._in_workers()) is not None:
            return found
        relevant = self._slice(seeds)
        candidates = [
            (key in relevant, strength(source), self.order.get(key, 0), source)
            for key, sources in self.sources.items()
            for source in sources
        ]
        if divergence.cause in (Cause.ORDER, Cause.CARRIED_GENERATOR):
            candidates.sort(key=lambda c: (c[3].cause is divergence.cause, *c[:3]))
        else:
            candidates.sort(key=lambda c: c[:3])
        for is_relevant, power, _, source in reversed(candidates):
            if is_relevant or power > 1:
                return source
        return None

    def _in_workers(self) -> Source | None:
        """The code that ran in the workers was not traced: its text is searched instead."""
        for loader in self.loaders:
            dataset = loader.dataset
            functions = [
                getattr(type(dataset), name, None) for name in ("__getitem__", "__getitems__", "__iter__", "__init__")
            ]
            for function in [*functions, loader.collate_fn, loader.worker_init_fn]:
                code = getattr(function, "__code__", None)
                if code is None or not is_user_file(code.co_filename):
                    continue
                scope = Scope({"self": dataset}, function.__globals__, code)
                lines = sorted({line for _, _, line in code.co_lines() if line})
                for line in lines:
                    for source in find_sources(code.co_filename, line, scope, self.outlived):
                        if not source.weak:
                            return source
        return None

    def _slice(self, seeds: list[UserLine]) -> set[tuple[CodeType, int]]:
        """The executed lines that the seeds' values and branches come from, by names: attributes count across
        functions, other names within their code object; a called function counts whole."""
        relevant: set[tuple[CodeType, int]] = set()
        wanted: dict[CodeType, set[str]] = {}
        attributes: set[str] = set()
        called: set[str] = set()
        lines_of: dict[CodeType, set[int]] = {}
        for code, line in self.order:
            lines_of.setdefault(code, set()).add(line)

        def include(code: CodeType, line: int) -> None:
            key = (code, line)
            if key in relevant:
                return
            relevant.add(key)
            statement = statements(code.co_filename).get(line)
            if statement is None:
                return
            attributes.update(name for name in statement.loads if name.startswith("."))
            wanted.setdefault(code, set()).update(statement.loads)
            called.update(statement.calls)
            for header in statement.headers:
                include(code, header)

        seen = {(seed.file, seed.line) for seed in seeds}
        for code, line in [*self.stack, *((c, at) for c, at in self.order if (c.co_filename, at) in seen)]:
            include(code, line)
        for _ in range(20):
            size = len(relevant)
            for code, line in sorted(self.order, key=self.order.__getitem__, reverse=True):
                statement = statements(code.co_filename).get(line)
                if statement is None:
                    continue
                local = wanted.get(code, set())
                shared = statement.stores & (
                    attributes | {n for names in wanted.values() for n in names if n in code.co_names}
                )
                captured = statement.stores & {
                    n for names in wanted.values() for n in names if n in code.co_cellvars + code.co_freevars
                }
                in_called = code.co_name in called or (
                    code.co_name in ("__init__", "__call__", "forward", "__getitem__", "__iter__")
                )
                if statement.stores & local or shared or captured or in_called:
                    include(code, line)
            if len(relevant) == size:
                break
        return relevant


def _stop_at(index: int, reached: Callable[[], None]) -> Any:
    """A dispatch mode that calls `reached` before operation `index` runs."""
    from torch.utils._python_dispatch import TorchDispatchMode

    from pytest_tensorcheck.determinism.kernels import read_kernel

    process = os.getpid()

    class StopAt(TorchDispatchMode):  # type: ignore[misc, no-untyped-call, unused-ignore]
        count = 0
        supports_higher_order_operators = True

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if os.getpid() == process and not read_kernel(func).ignored:
                if self.count == index:
                    reached()
                self.count += 1
            return func(*args, **(kwargs or {}))

    return StopAt()  # type: ignore[no-untyped-call, unused-ignore]


def _repeat(divergence: Divergence, first: Recording, second: Recording, again: Callable[[], Any]) -> None:
    """Repeat the divergent operation on its own inputs: how much its outputs differ, and whether the thread count alone
    does it."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    from pytest_tensorcheck.determinism.kernels import read_kernel
    from pytest_tensorcheck.determinism.rng import RandomState

    target = second.operations[divergence.index].kernel.name
    outcomes: list[tuple[int, Any]] = []
    process = os.getpid()

    class RepeatAt(TorchDispatchMode):  # type: ignore[misc, no-untyped-call, unused-ignore]
        count = 0
        supports_higher_order_operators = True

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kernel = read_kernel(func)
            if kernel.ignored or os.getpid() != process:
                return func(*args, **(kwargs or {}))
            if self.count == divergence.index and kernel.name == target:
                self.count += 1
                self.repeat(func, args, kwargs or {})
                raise _Reached
            self.count += 1
            return func(*args, **(kwargs or {}))

        def repeat(self, func: Any, args: Any, kwargs: Any) -> None:
            tensors = [value for value in _leaves((args, kwargs)) if isinstance(value, torch.Tensor)]
            if sum(value.numel() * value.element_size() for value in tensors) > _LARGEST or "c10d" in target:
                return
            counts = sorted({first.threads or 1, second.threads or 1})
            state = RandomState.take()
            for number in range(_REPEATS):
                torch.set_num_threads(counts[number % len(counts)])
                state.restore()
                inner, named = _cloned(args), _cloned(kwargs)
                with torch.no_grad():
                    result = func(*inner, **named)
                changed = [value for value in _leaves((result, inner, named)) if isinstance(value, torch.Tensor)]
                outcomes.append((counts[number % len(counts)], [value.clone() for value in changed]))

    threads = torch.get_num_threads()
    try:
        with RepeatAt():  # type: ignore[no-untyped-call, unused-ignore]
            again()
    except (_Reached, Exception):
        pass
    finally:
        torch.set_num_threads(threads)
    _conclude(divergence, outcomes)


def _conclude(divergence: Divergence, outcomes: list[tuple[int, Any]]) -> None:
    size, varies_alone, distinct = "", False, 0
    for number, (count, tensors) in enumerate(outcomes):
        fresh = True
        for earlier_count, earlier in outcomes[:number]:
            found = next((text for a, b in zip(earlier, tensors, strict=True) if (text := tensor_difference(a, b))), "")
            if found:
                size = size or found
                varies_alone = varies_alone or count == earlier_count
            else:
                fresh = False
        distinct += fresh
    divergence.size = divergence.size or size
    if divergence.cause is Cause.THREADS and varies_alone:
        divergence.cause = Cause.KERNEL
        divergence.detail += "; it differs at the same thread count, too"
    elif divergence.cause is Cause.KERNEL and distinct > 1:
        divergence.notes.append(
            f"repeated {len(outcomes)} times on the same inputs, it gave {distinct} different results"
        )


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _cloned(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _cloned(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cloned(item) for item in value)
    return value
