"""One run of one test: its seeds, the checks that watch it, and what they saw."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache, partial
from types import CodeType
from typing import Any

import pytest

from pytest_tensorcheck.frameworks import is_replaced, loaded
from pytest_tensorcheck.observations import Mode, Observation, TensorcheckFailure
from pytest_tensorcheck.seeding import PhaseSeeds
from pytest_tensorcheck.settings import MarkerSettings, Settings
from pytest_tensorcheck.user_line import UserLine

# Checks that watch torch operations during the call phase -> the module that offers observe().
_CALL_CHECKS = {"broadcast": "pytest_tensorcheck.broadcasting", "numerics": "pytest_tensorcheck.numerics"}
_FAILURES = {"broadcast": "BroadcastError", "numerics": "NonfiniteError"}


class FoundDuringTest(TensorcheckFailure):
    """Several checks in mode `error` found something in a test that passed."""


def surrounds(settings: Settings, marked: MarkerSettings) -> bool:
    """Whether something has to be entered before the setup of a test with these settings and left after its teardown."""
    return settings.device == "shadow" or settings.sync != "off" or marked.deterministic


class TestRun:
    """From the start of setup until the report of the teardown is made."""

    __test__ = False
    # What few tests change stands in the class: a run is made for every test.
    kept_seeds: frozenset[str] = frozenset()
    empty_setup = False
    watched: tuple[str, ...] = ()
    leaked_modes: Sequence[str] = ()
    notes: tuple[str, ...] = ()
    seen_until_teardown: int | None = None  # how many of the observations; None before teardown begins
    whole: ExitStack | None = None
    sync: ExitStack | None = None
    sync_seen: list[Observation] | None = None
    sync_judged: bool | None = None  # in mode `error`: whether a wait could have failed the test

    def __init__(
        self,
        item: pytest.Item,
        nodeid: str,
        base_seed: int,
        seeds: PhaseSeeds,
        settings: Settings,
        marked: MarkerSettings,
    ) -> None:
        self.item = item
        self.nodeid = nodeid
        self.base_seed = base_seed
        self.seeds = seeds
        self.settings = settings
        self.marked = marked
        self.observations: list[Observation] = []

    def enter_whole(self) -> None:
        """What has to surround setup, call and teardown: deterministic settings, the simulated GPU."""
        settings = self.settings
        simulated = settings.device == "shadow"
        self.whole, self.sync = ExitStack(), ExitStack()
        if self.marked.deterministic:
            from pytest_tensorcheck.determinism.settings import settings as deterministic_settings

            self.whole.enter_context(deterministic_settings())
        if simulated or settings.sync != "off":
            from pytest_tensorcheck import sync
            from pytest_tensorcheck.sync.backends import source

            # Nobody asked about this very test: it must not take another way because a GPU seems to be there.
            watch_only = not simulated and self.marked.sync is None
            if simulated or sync.backend() == "simulation":
                self.whole.enter_context(sync.simulation(watch_only=watch_only))
            elif sync.backend() == "cuda":
                # Its mode of torch's is there until the state is compared, as when the state was noted.
                self.whole.enter_context(source())
            if settings.sync != "off" and sync.backend() != "none":
                self.sync_seen = self.sync.enter_context(sync.observe(watch_only=watch_only))
                self.watched = ("sync",)

    def leave_sync(self) -> None:
        """Synchronisations count until the end of the call."""
        if self.sync is not None:
            if self.sync_seen is not None and self.settings.sync == "error":
                from pytest_tensorcheck.sync.backends import names_device

                self.sync_judged = True if self.marked.sync is not None else names_device()
            self.sync.close()
            if self.sync_seen:
                self.observations.extend(self.sync_seen)

    def leave_whole(self) -> None:
        try:
            if self.sync is not None:
                self.sync.close()
        finally:
            if self.whole is not None:
                self.whole.close()

    def call_checks(self) -> tuple[str, ...]:
        """The checks that watch this test's call: torch has to be there, or there is nothing to watch."""
        if loaded("torch") is None or is_replaced("torch"):
            return ()
        return _checks_of(self.settings.broadcast, self.settings.numerics)

    def failure(self) -> BaseException | None:
        """What the checks in mode `error` have to say about a test that passed."""
        if not self.observations:
            return None
        blamed: list[Observation] = []
        for check in _CALL_CHECKS:
            if getattr(self.settings, check) == "error":
                blamed.extend(seen for seen in self.observations if seen.check == check)
        if self.settings.sync == "error" and self.sync_seen:
            from pytest_tensorcheck import sync

            if (error := sync.failure(self.sync_seen, plain=self.marked.sync is not None)) is not None:
                if not blamed:
                    return at_user_line(error, self.sync_seen[0])
                blamed.extend(self.sync_seen)
        if not blamed:
            return None
        kinds = {seen.check for seen in blamed}
        failure = _failure_class(kinds.pop()) if len(kinds) == 1 else FoundDuringTest
        return at_user_line(failure(describe(blamed)), blamed[0])


@cache
def _checks_of(broadcast: Mode, numerics: Mode) -> tuple[str, ...]:
    modes = {"broadcast": broadcast, "numerics": numerics}
    return tuple(check for check in _CALL_CHECKS if modes[check] != "off")


def _failure_class(check: str) -> type[TensorcheckFailure]:
    """The exception that the check's own context manager raises."""
    if check not in _FAILURES:
        return FoundDuringTest
    failure: type[TensorcheckFailure] = getattr(importlib.import_module(_CALL_CHECKS[check]), _FAILURES[check])
    return failure


@cache
def watching(checks: tuple[str, ...]) -> AbstractContextManager[list[Observation]]:
    """Each check's observe() around a block: entering gives what they see, which is complete when the block has ended.

    The same object for one test after another, which is entered again.
    """
    if checks == ("broadcast",):  # nearly always
        watcher: AbstractContextManager[list[Observation]] = _observe_of("broadcast")()
        return watcher
    return _AnewEachTime(partial(_watching_all, checks))


class _AnewEachTime:
    """A context manager to be entered again and again, of one that can be entered once."""

    def __init__(self, make: Callable[[], AbstractContextManager[list[Observation]]]) -> None:
        self._make = make
        self._open: list[AbstractContextManager[list[Observation]]] = []

    def __enter__(self) -> list[Observation]:
        self._open.append(self._make())
        return self._open[-1].__enter__()

    def __exit__(self, *failure: Any) -> bool | None:
        return self._open.pop().__exit__(*failure)


@contextmanager
def _watching_all(checks: tuple[str, ...]) -> Iterator[list[Observation]]:
    found: list[Observation] = []
    with ExitStack() as stack:
        seen = [stack.enter_context(_observe_of(check)()) for check in checks]
        try:
            yield found
        finally:
            for observed in seen:
                found.extend(observed)


def _observe_of(check: str) -> Callable[[], AbstractContextManager[list[Observation]]]:
    observe: Callable[[], AbstractContextManager[list[Observation]]] = importlib.import_module(
        _CALL_CHECKS[check]
    ).observe
    return observe


def describe(observations: list[Observation]) -> str:
    """The text of a failure: every observation with its line and its remedy."""
    texts = []
    for observation in observations:
        text = observation.detail or observation.message
        place = str(observation.where) if observation.where else ""
        texts.append(text if not place or place in text else f"{place}: {text}")
    if len(texts) == 1:
        return texts[0]
    return f"{len(texts)} findings\n" + "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))


def at_user_line(error: BaseException, observation: Observation) -> BaseException:
    """The same exception with a traceback that ends at the user's line, as if that line had raised it.

    The check speaks after the test has ended, when the frame is gone; the report should still show the line.
    """
    where = observation.where
    if where is None or where.file.startswith("<"):
        return error
    code: CodeType = compile("raise _error", where.file, "exec")
    # Lines in a code object count from co_firstlineno, so the statement moves with it.
    code = code.replace(co_firstlineno=where.line, co_name=where.function or "<module>")
    try:
        exec(code, {"_error": error.with_traceback(None), "__name__": where.function})
    except BaseException as raised:
        trace = raised.__traceback__
        while trace is not None and trace.tb_frame.f_code is not code:
            trace = trace.tb_next
        return raised.with_traceback(trace)
    return error


def at_test(error: BaseException, item: pytest.Item) -> BaseException:
    """The same, shown at the line where the test begins: for what is known only after all runs of it."""
    path, line, name = item.location
    where = UserLine(str(item.config.rootpath / path), (line or 0) + 1, name)
    return at_user_line(error, Observation("test", str(error), where))


def as_record(observation: Observation) -> dict[str, Any]:
    """Plain JSON values, for xdist and for the report file."""
    where = observation.where
    return {
        "check": observation.check,
        "message": observation.message,
        "detail": observation.detail,
        "file": where.shown_file if where else None,
        "line": where.line if where else None,
        "function": where.function if where else None,
        "count": observation.count,
        "facts": {key: _plain(value) for key, value in observation.facts.items()},
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return str(value)
