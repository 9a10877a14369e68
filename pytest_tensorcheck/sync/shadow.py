"""A CUDA device made of CPU tensors: real values, and a flag on each storage that says where it would live.

`simulation()` makes the word "cuda" work on a machine without a GPU, and shows where CUDA would wait for it. A function
mode sees what Python calls, a dispatch mode sees what torch runs; neither alone is enough. Nothing here imports torch until
a simulation is entered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from pytest_tensorcheck.frameworks import require
from pytest_tensorcheck.sync.events import SyncEvent
from pytest_tensorcheck.user_line import UserLine

_MOST_LINES = 200_000  # forward lines remembered for backward, about 30 MB


class Simulation:
    """What one simulation knows.

    `pretending`: "cuda" works; without it the word means what it means on this machine, and waits are only watched.
    `device_named`: the code has said "cuda" somewhere, so that exactly the tensors made or moved there count; until then
    every floating point tensor does. `lines`: autograd node number -> the forward line that made it.
    """

    def __init__(self) -> None:
        self.active = True
        self.pretending = False
        self.device_named = False
        self.floats_seen = False
        self.other_device = ""  # a device that the code named and of which nothing is known here: mps, xpu
        self.lines: dict[int, Any] = {}
        self.rng_state: Any = None
        self.on_device_named: list[Callable[[], None]] = []
        self.patches: list[tuple[Any, str, Any, Any]] = []  # what is patched now: (owner, name, before, value)

    def name_device(self) -> None:
        """The code has spoken of the device: guesses about tensors that name none end here."""
        if not self.device_named:
            self.device_named = True
            for action in self.on_device_named:
                action()

    def name_other(self, kind: str) -> None:
        """The code has spoken of a device that is neither the host, nor "cuda", nor one without data."""
        if kind not in ("cpu", "cuda", "meta"):
            self.other_device = kind

    def remember_line(self, sequence: int, place: Any) -> None:
        if len(self.lines) > _MOST_LINES:
            for key in list(self.lines)[: _MOST_LINES // 2]:
                del self.lines[key]
        self.lines[sequence] = place

    def forward_line(self, sequence: int) -> UserLine | None:
        place = self.lines.get(sequence)
        if place is None:
            return None
        code, line, _ = place
        return UserLine(code.co_filename, line, code.co_qualname)

    def forward_expression(self, sequence: int) -> str:
        from pytest_tensorcheck.sync.attribution import expression_at

        code, _, instruction = self.lines[sequence]
        return expression_at(code, instruction)

    def report(
        self,
        row: str,
        operation: str,
        *,
        aten: str = "",
        node: Any = None,
        plain: bool = False,
        integer: bool = False,
        certain: bool = True,
        depth: int = 2,
    ) -> None:
        """Tell the open scopes that the host would wait here. `node`: the autograd node that is running, if any."""
        from pytest_tensorcheck.sync import scopes
        from pytest_tensorcheck.sync.attribution import user_place
        from pytest_tensorcheck.sync.private_torch import node_sequence

        if not scopes.listening():
            return
        place = user_place(depth + 1, functional_counts=row == "scalar")
        if place.ours:
            return
        if integer and place.inside:
            return  # a library's own bookkeeping
        where, expression, called_from = place.where, place.expression, None
        if node is not None and place.in_engine:
            sequence = node_sequence(node)
            forward = self.forward_line(sequence)
            if forward is not None:
                called_from, where, expression = where, forward, self.forward_expression(sequence)
        scopes.record(
            SyncEvent(
                operation=operation,
                row=row,
                where=where,
                expression=expression,
                aten=aten,
                inside=place.inside,
                called_from=called_from,
                plain=plain,
                integer=integer,
                certain=certain,
            )
        )


_LOCK = threading.RLock()
_CURRENT: Simulation | None = None
_ENTERED = 0
_UNDO: ExitStack | None = None
_PRETENDING = 0
_UNDO_PRETENDING: ExitStack | None = None
_PER_THREAD = threading.local()


def current() -> Simulation | None:
    """The open simulation, or None."""
    return _CURRENT


def function_mode() -> Any:
    """The function mode of this thread, or None."""
    return getattr(_PER_THREAD, "function_mode", None)


class _Modes:
    """The two modes of one thread; entered once for each thread, however often a simulation is entered in it."""

    def __init__(self, simulation: Simulation) -> None:
        # The three register what the function mode treats in a way of its own.
        from pytest_tensorcheck.sync import copies, device_questions, new_tensors  # noqa: F401
        from pytest_tensorcheck.sync.dispatch_mode import ShadowDispatchMode
        from pytest_tensorcheck.sync.function_mode import ShadowFunctionMode

        self._function = ShadowFunctionMode(simulation)
        self._dispatch = ShadowDispatchMode(simulation, self._function)

    def __enter__(self) -> None:
        self._dispatch.__enter__()  # type: ignore[no-untyped-call]
        self._function.__enter__()
        _PER_THREAD.function_mode = self._function

    def __exit__(self, *_: object) -> None:
        _PER_THREAD.function_mode = None
        try:
            self._function.__exit__(None, None, None)
        finally:
            self._dispatch.__exit__(None, None, None)  # type: ignore[no-untyped-call]


class simulation:
    """Make "cuda" work without a GPU, and its waits visible to `no_sync` and `observe`; yields ``torch.device("cuda")``.

    May be entered inside itself and in several threads: patches are made by the first and undone by the last, the modes
    once for each thread. Threads that are started inside it are covered. MissingFramework without torch.

    `watch_only`: waits are seen, as far as code that names no device shows them, but "cuda" is what it is without a
    simulation: not available. So a test takes the same way and has the same outcome as without us. A simulation that
    pretends may be entered inside.
    """

    def __init__(self, *, watch_only: bool = False) -> None:
        self._watch_only = watch_only

    def __enter__(self) -> Any:
        global _CURRENT, _ENTERED, _UNDO, _PRETENDING
        torch = require("torch", "the simulated GPU")
        with _LOCK:
            if _ENTERED == 0:
                from pytest_tensorcheck.sync.patches import install

                undo = ExitStack()
                _CURRENT = Simulation()
                try:
                    install(_CURRENT, undo)
                except BaseException:
                    _CURRENT = None
                    undo.close()
                    raise
                _UNDO = undo
            opened = _CURRENT
            assert opened is not None
            if not self._watch_only and _PRETENDING == 0:
                try:
                    _begin_pretending(opened)
                except BaseException:
                    if _ENTERED == 0:
                        _close()
                    raise
            _PRETENDING += not self._watch_only
            _ENTERED += 1
        depth = getattr(_PER_THREAD, "depth", 0)
        if depth == 0:
            _PER_THREAD.modes = _Modes(opened)
            _PER_THREAD.modes.__enter__()
        _PER_THREAD.depth = depth + 1
        return torch.device("cuda")

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        global _ENTERED, _PRETENDING
        try:
            _PER_THREAD.depth -= 1
            if _PER_THREAD.depth == 0:
                modes, _PER_THREAD.modes = _PER_THREAD.modes, None
                modes.__exit__()
        finally:
            with _LOCK:
                _ENTERED -= 1
                _PRETENDING -= not self._watch_only
                try:
                    if _PRETENDING == 0:
                        _end_pretending()
                finally:
                    if _ENTERED == 0:
                        _close()


def _begin_pretending(opened: Simulation) -> None:
    """From here on the word "cuda" works."""
    global _UNDO_PRETENDING
    from pytest_tensorcheck.sync.patches import install_device

    undo = ExitStack()
    try:
        install_device(opened, undo)
    except BaseException:
        undo.close()
        raise
    _UNDO_PRETENDING, opened.pretending = undo, True


def _end_pretending() -> None:
    global _UNDO_PRETENDING
    undo, _UNDO_PRETENDING = _UNDO_PRETENDING, None
    if undo is not None:
        if _CURRENT is not None:
            _CURRENT.pretending = False
        undo.close()


def _close() -> None:
    """The outermost simulation has ended: nothing stays patched, and its modes look at nothing any more."""
    global _CURRENT, _UNDO
    closing, _CURRENT = _CURRENT, None
    undo, _UNDO = _UNDO, None
    if closing is not None:
        closing.active = False
        closing.lines.clear()
    if undo is not None:
        undo.close()


class thread_modes:
    """The modes of an open simulation in a thread that was started inside it."""

    def __init__(self, opened: Simulation) -> None:
        self._opened = opened

    def __enter__(self) -> None:
        self._modes = _Modes(self._opened)
        self._modes.__enter__()
        _PER_THREAD.depth = 1
        _PER_THREAD.modes = None

    def __exit__(self, *_: object) -> None:
        _PER_THREAD.depth = 0
        self._modes.__exit__()
