"""Synchronisations of a real CUDA device, with the user's line.

First choice: torch's GPU trace, whose callbacks run before the wait with the Python stack intact; it covers
torch.cuda.synchronize and Event.synchronize and cannot be switched off again, only ignored. Where it is missing: CUDA's sync
debug mode "warn" with a hook on warnings. Both miss `non_blocking=True` copies from memory that is not pinned; those are seen
by wrapping `Tensor.to`, `.cuda` and `.copy_` while somebody watches.

Tests without a GPU fire the trace's callbacks by hand; what a GPU said is in tests/data (docs/sync.md, "How far this is proven").
"""

from __future__ import annotations

import ast
import bisect
import contextlib
import functools
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from pytest_tensorcheck.own_reads import own_reads
from pytest_tensorcheck.sync import private_torch, scopes
from pytest_tensorcheck.sync.attribution import Place, called_by_engine_caller, engine_caller, expression_at, user_place
from pytest_tensorcheck.sync.events import SyncEvent
from pytest_tensorcheck.sync.table import ROWS
from pytest_tensorcheck.torch_warnings import WarnsInPlace
from pytest_tensorcheck.user_line import UserLine, user_frame

_WARNING = "called a synchronizing CUDA operation"
_ROW_OF = {name: row.id for row in reversed(ROWS) if row.verdict != "never" for name in row.names}

_LOCK = threading.RLock()
_watchers = 0
_undo: ExitStack | None = None
_registered = False
_THIS_THREAD = threading.local()  # .lines: how many `watching` blocks of this thread are open
_LINES: list[tuple[int, Any]] = []  # (number of the last autograd node made by a call, its frame's place), ascending


class ForwardLines(WarnsInPlace, TorchFunctionMode):
    """Remembers which line made which autograd nodes, so that a wait in backward can name its forward line."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        before = private_torch.sequence()
        out = func(*args, **(kwargs or {}))
        after = private_torch.sequence()
        if after != before:
            frame = user_frame(sys._getframe(1))
            if frame is not None:
                _LINES.append((after - 1, (frame.f_code, frame.f_lineno, frame.f_lasti)))
                if len(_LINES) > 200_000:
                    del _LINES[:100_000]
        return out


def _forward_place(node: Any) -> tuple[UserLine, str] | None:
    sequence = private_torch.node_sequence(node)
    at = bisect.bisect_left(_LINES, sequence, key=lambda entry: entry[0])
    if sequence < 0 or at == len(_LINES):
        return None
    code, line, instruction = _LINES[at][1]
    return UserLine(code.co_filename, line, code.co_qualname), expression_at(code, instruction)


def operation_of(expression: str) -> str:
    """The operation's name in the source of an expression: `loss.item()` -> item, `x[mask]` -> getitem, `a > b` -> bool."""
    try:
        node = ast.parse(expression.removeprefix("if ").removeprefix("while ").rstrip(": "), mode="eval").body
    except SyntaxError:
        try:
            statement = ast.parse(expression).body[0]
        except (SyntaxError, IndexError):
            return ""
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            return "setitem"
        node = getattr(statement, "value", None) or ast.Constant(None)
    if isinstance(node, ast.Call):
        function = node.func
        return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if isinstance(node, ast.Subscript):
        return "getitem"
    if isinstance(node, ast.JoinedStr):
        return "format"
    return "bool" if isinstance(node, (ast.Compare, ast.Name, ast.BoolOp, ast.UnaryOp)) else ""


def record(kind: str, *, row: str = "", certain: bool = True, depth: int = 2) -> None:
    """Tell the open scopes about a wait that is about to happen. `kind`: stream, device, event, or an operation's name."""
    if not _watchers or own_reads.depth:
        return
    node = private_torch.current_node()
    place = user_place(depth + 1, functional_counts=True)
    if node is not None and (place.where is None or not called_by_engine_caller(depth + 1)):
        _record_backward(kind, row, node, place, certain)
        return
    if not scopes.listening() or place.ours:
        return
    where, expression, called_from = place.where, place.expression, None
    if node is not None and place.in_engine:
        forward = _forward_place(node)
        if forward is not None:
            called_from, (where, expression) = where, forward
    scopes.record(_event(kind, row, place, where, expression, called_from, certain))


def _record_backward(kind: str, row: str, node: Any, place: Place, certain: bool) -> None:
    """On a GPU backward runs in a thread of the engine's, which has no scopes of its own, and Python frames only where a
    hook or a `backward` of the user's runs."""
    if place.where is not None:
        if not place.ours:
            event = _event(kind, row, place, place.where, place.expression, None, certain)
            scopes.record_everywhere(event)
        return
    forward = _forward_place(node)
    caller = engine_caller()
    where, expression = forward if forward is not None else (caller, "")
    nowhere = Place(None, "", "", True, "")
    called_from = caller if forward is not None else None
    scopes.record_everywhere(_event(kind, row, nowhere, where, expression, called_from, certain))


def _event(
    kind: str,
    row: str,
    place: Place,
    where: UserLine | None,
    expression: str,
    called_from: UserLine | None,
    certain: bool,
) -> SyncEvent:
    if row:
        operation = kind
    elif kind in ("device", "event"):
        operation = row = {"device": "synchronize", "event": "event_synchronize"}[kind]
    else:
        named = operation_of(place.inner_expression or expression)
        row = _ROW_OF.get(named, "gpu")
        operation = named or "synchronize"
    return SyncEvent(
        operation=operation,
        row=row,
        where=where,
        expression=expression,
        inside=place.inside,
        called_from=called_from,
        certain=certain,
    )


def _on_stream(stream: int) -> None:
    record("stream")


def _on_device() -> None:
    record("device")


def _on_event(event: int) -> None:
    record("event")


def _register_trace() -> bool:
    """Register the callbacks, once for the process; False where this torch has no GPU trace."""
    global _registered
    if _registered:
        return True
    try:
        import torch.cuda._gpu_trace as trace

        activate = torch._C._activate_gpu_trace
    except (ImportError, AttributeError):
        return False
    trace.register_callback_for_stream_synchronization(_on_stream)
    trace.register_callback_for_device_synchronization(_on_device)
    trace.register_callback_for_event_synchronization(_on_event)
    activate()
    _registered = True
    return True


@contextlib.contextmanager
def _debug_mode() -> Iterator[None]:
    """CUDA's own debug mode, read through the warnings that it gives; the mode and the filters are put back."""
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.filterwarnings("always", message=_WARNING)
        show = warnings.showwarning

        def hook(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
            if _WARNING in str(message):
                record("stream", depth=2)
            else:
                show(message, category, filename, lineno, file, line)

        warnings.showwarning = hook
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode(before)


def _pageable(tensor: Any, out: Any, arguments: tuple[Any, ...], kwargs: dict[str, Any], operation: str) -> None:
    """`arguments` without self; the copy's two sides are self and the result (or, for copy_, the source)."""
    flags = [value for value in arguments if isinstance(value, bool)]
    if not kwargs.get("non_blocking", flags[0] if flags else False):
        return
    from_host = not tensor.is_cuda
    if from_host == (not out.is_cuda):
        return
    host = tensor if from_host else out
    if not host.is_pinned() and host.numel():
        record(operation, row="pageable", certain=False, depth=3)


def _wrap_copies(undo: ExitStack) -> None:
    def wrap(name: str) -> None:
        real = getattr(torch.Tensor, name)

        @functools.wraps(real)
        def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
            out = real(self, *args, **kwargs)
            if name == "copy_":
                _pageable(args[0] if args else kwargs["src"], self, args[1:], kwargs, name)
            elif isinstance(out, torch.Tensor):
                _pageable(self, out, args, kwargs, name)
            return out

        if name in vars(torch.Tensor):
            undo.callback(setattr, torch.Tensor, name, real)
        else:
            undo.callback(delattr, torch.Tensor, name)
        setattr(torch.Tensor, name, wrapped)

    for name in ("to", "cuda", "copy_"):
        wrap(name)


@contextlib.contextmanager
def watching() -> Iterator[None]:
    """Report every wait of this process's CUDA device to the open scopes, until the outermost `watching` ends."""
    global _watchers, _undo
    with ExitStack() as own:
        with _LOCK:
            if _watchers == 0:
                undo = ExitStack()
                try:
                    if not _register_trace():
                        undo.enter_context(_debug_mode())
                    _wrap_copies(undo)
                except BaseException:
                    undo.close()
                    raise
                _undo = undo
            _watchers += 1

        def stop() -> None:
            global _watchers, _undo
            with _LOCK:
                _watchers -= 1
                if _watchers == 0 and _undo is not None:
                    undo, _undo = _undo, None
                    _LINES.clear()
                    undo.close()

        own.callback(stop)
        own.enter_context(_forward_lines())
        yield


@contextlib.contextmanager
def _forward_lines() -> Iterator[None]:
    """`ForwardLines` in this thread, once: blocks inside leave torch's modes as they are."""
    already = getattr(_THIS_THREAD, "lines", 0)
    _THIS_THREAD.lines = already + 1
    try:
        with contextlib.nullcontext() if already else ForwardLines():
            yield
    finally:
        _THIS_THREAD.lines -= 1
