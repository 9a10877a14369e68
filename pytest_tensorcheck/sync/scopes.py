"""Who is listening for synchronisations: `no_sync`, `allow_sync` and the plugin's `observe`.

The open scopes are held in a ContextVar, so that a scope opened in one thread does not count another thread's work
(threads that are started inside a scope, under simulation, inherit it).
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import ContextDecorator
from contextvars import ContextVar
from dataclasses import replace
from types import TracebackType
from typing import Protocol

from pytest_tensorcheck.observations import Observation
from pytest_tensorcheck.own_reads import own_reads
from pytest_tensorcheck.parentheses import NeedsParentheses
from pytest_tensorcheck.sync import backends, messages
from pytest_tensorcheck.sync.events import SyncEvent
from pytest_tensorcheck.sync.messages import SyncError
from pytest_tensorcheck.sync.table import check_names
from pytest_tensorcheck.user_line import is_user_file


class _Scope(Protocol):
    def saw(self, event: SyncEvent) -> None: ...


_OPEN: ContextVar[tuple[_Scope, ...]] = ContextVar("tensorcheck_sync_scopes", default=())
_ALLOWED: ContextVar[int] = ContextVar("tensorcheck_sync_allowed", default=0)
# Warm-up blocks that have run: (test, file, line). A test's entries are dropped when the next test asks.
_WARMED: dict[str, set[tuple[str, int]]] = {}
_WARMED_LOCK = threading.Lock()
# The scopes that are open in any context, and how many allow_sync blocks are: for threads that have no context of ours.
_ANYWHERE: list[_Scope] = []
_allowed_anywhere = 0


def listening() -> bool:
    """Whether anybody would count a synchronisation that happens now. Cheap: asked before any evidence is gathered."""
    return bool(_OPEN.get()) and not _ALLOWED.get() and not own_reads.depth


def record(event: SyncEvent) -> None:
    """Tell every open scope of this context."""
    if not _ALLOWED.get():
        for scope in _OPEN.get():
            scope.saw(event)


def record_everywhere(event: SyncEvent) -> None:
    """Tell all open scopes: for the autograd engine's threads, which belong to nobody's context."""
    if not _allowed_anywhere:
        for scope in tuple(_ANYWHERE):
            scope.saw(event)


def pause() -> object:
    """Count nothing in this context until `resume`: inside an operation that has been reported as a whole."""
    return _ALLOWED.set(_ALLOWED.get() + 1)


def resume(token: object) -> None:
    _ALLOWED.reset(token)  # type: ignore[arg-type]


def _entered_before(depth: int) -> bool:
    """Whether the `with` statement at this line of the user's code was entered before in this test."""
    frame = sys._getframe(depth)
    while frame.f_back is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    place = (frame.f_code.co_filename, frame.f_lineno)
    with _WARMED_LOCK:
        if test not in _WARMED:
            _WARMED.clear()
        seen = _WARMED.setdefault(test, set())
        before = place in seen
        seen.add(place)
    return before


class no_sync(ContextDecorator, metaclass=NeedsParentheses):
    """Fail if the code in the block makes the host wait for the GPU.

    `allow`: how many waits are accepted, or a list of operation names that are (`["nonzero", "item"]`).
    `first_only`: the allowance (everything, if `allow` is not given) holds only the first time in a test that the block is
    entered: a warm-up. `pageable`: also count `non_blocking=True` copies from memory that is not pinned, which may wait.

    Raises SyncError at the end of the block with every wait: line, source, operation, why, and what to write instead.
    An exception of the block's own is let through, with a note of the waits before it. Works on a GPU, and without one by
    simulation; also as a decorator.
    """

    def __init__(self, allow: int | Collection[str] = 0, *, first_only: bool = False, pageable: bool = False) -> None:
        __tracebackhide__ = True
        if isinstance(allow, str):
            allow = [allow]
        if isinstance(allow, bool) or (allow < 0 if isinstance(allow, int) else not isinstance(allow, Iterable)):
            raise ValueError(f"no_sync: allow is a number of waits or a list of operation names, not {allow!r}")
        if not isinstance(allow, int):
            allow = tuple(allow)
            check_names(allow)
        self.allow: int | tuple[str, ...] = allow
        self.first_only = first_only
        self.pageable = pageable
        self._stack: list[_Block] = []

    def __enter__(self) -> list[SyncEvent]:
        __tracebackhide__ = True
        warm_up = self.first_only and not _entered_before(2)
        block = _Block(self, warm_up)
        block.open()
        self._stack.append(block)
        return block.events

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        block = self._stack.pop()
        block.close()
        counted = block.unaccepted()
        if not counted:
            if block.unseen and error is None:
                raise SyncError(messages.unseen_text(block.unseen))
            return
        if error is not None:
            # SyncErrors of an inner block already say it; anything else is the failure the user must see first.
            if not isinstance(error, SyncError):
                error.add_note(messages.note(counted))
            return
        raise SyncError(messages.no_sync_text(counted, block.events, self.allow, backends.backend()))


class _Block:
    """One entry of a `no_sync` block."""

    def __init__(self, rules: no_sync, warm_up: bool) -> None:
        self.rules = rules
        self.warm_up = warm_up
        self.events: list[SyncEvent] = []
        self.closed = False
        self.unseen = ""

    def open(self) -> None:
        self._source = backends.source()
        self._source.__enter__()
        self._token = _OPEN.set((*_OPEN.get(), self))
        _ANYWHERE.append(self)

    def close(self) -> None:
        self.closed = True
        _ANYWHERE.remove(self)
        with contextlib.suppress(ValueError):  # left in another context than entered (async fixtures)
            _OPEN.reset(self._token)
        self.events[:] = backends.settled(self.events)
        self.unseen = backends.unseen()
        self._source.__exit__(None, None, None)

    def saw(self, event: SyncEvent) -> None:
        if not self.closed:
            self.events.append(event)

    def unaccepted(self) -> list[SyncEvent]:
        """The waits that fail the block; empty when all of them are accepted."""
        rules = self.rules
        counted = [event for event in self.events if event.certain or rules.pageable]
        if rules.first_only:
            if self.warm_up and rules.allow == 0:
                return []
            if not self.warm_up:
                return counted
        if isinstance(rules.allow, int):
            return counted if len(counted) > rules.allow else []
        allowed = set(rules.allow)
        return [event for event in counted if not event.names & allowed]


class allow_sync(ContextDecorator, metaclass=NeedsParentheses):
    """Waits in this block are meant: they are not counted by `no_sync` nor by the run's report.

    `reason` is for the reader. `first_only`: only the first time in a test that the block is entered (a warm-up).
    """

    def __init__(self, reason: str = "", *, first_only: bool = False) -> None:
        self.reason = reason
        self.first_only = first_only
        self._entered: list[int] = []

    def __enter__(self) -> None:
        global _allowed_anywhere
        allowed = int(not (self.first_only and _entered_before(2)))
        self._entered.append(allowed)
        _ALLOWED.set(_ALLOWED.get() + allowed)
        _allowed_anywhere += allowed

    def __exit__(self, *_: object) -> None:
        global _allowed_anywhere
        allowed = self._entered.pop()
        _ALLOWED.set(_ALLOWED.get() - allowed)
        _allowed_anywhere -= allowed


class _Observer:
    def __init__(self, plain: bool) -> None:
        self.plain = plain
        self.seen: list[Observation] = []
        self.events: list[SyncEvent] = []
        self._index: dict[object, int] = {}
        self._counts: list[int] = []

    def saw(self, event: SyncEvent) -> None:
        if event.integer or (event.plain and not self.plain):
            return  # nobody asked about this program: its integers are bookkeeping
        at = self._index.get(event.key)
        if at is None:
            self._index[event.key] = len(self.seen)
            self._counts.append(1)
            self.events.append(event)
            self.seen.append(messages.observation(event))
        else:
            self._counts[at] += 1

    def settle(self) -> None:
        keep = {id(event) for event in backends.settled(self.events)}
        self.seen[:] = [
            replace(observation, count=count)
            for observation, count, event in zip(self.seen, self._counts, self.events, strict=True)
            if id(event) in keep
        ]


@contextlib.contextmanager
def observe(*, plain: bool = True, watch_only: bool = False) -> Iterator[list[Observation]]:
    """A growing list with one Observation for each line and operation that waits. Raises nothing.

    `plain`: whether to count tests whose code names no device (see docs/sync.md); those have ``facts["plain"]``.
    `watch_only`: where there is no GPU, "cuda" stays what it is, an error: for looking at code that did not ask for us.
    """
    observer = _Observer(plain)
    with backends.source(watch_only=watch_only):
        token = _OPEN.set((*_OPEN.get(), observer))
        _ANYWHERE.append(observer)
        try:
            yield observer.seen
        finally:
            _ANYWHERE.remove(observer)
            with contextlib.suppress(ValueError):
                _OPEN.reset(token)
            observer.settle()


def failure(seen: list[Observation], *, plain: bool = False) -> SyncError | None:
    """The error for a test whose waits are not accepted; None if there is none that is certain.

    `plain`: count those of code that names no device. That is right where somebody asked about this very test (the marker),
    and a false alarm where a whole run is checked: most tests of CPU code read values in their assertions.
    """
    counted = [o for o in seen if o.facts.get("certain", True) and (plain or not o.facts.get("plain"))]
    return SyncError(messages.observations_text(counted)) if counted else None
