"""`deterministic`: the same code several times from the same random state, compared operation by operation."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pytest_tensorcheck.determinism.carried_state import StateToRestore, named_tensors, reachable
from pytest_tensorcheck.determinism.causes import Cause, Divergence, DivergenceError, Evidence
from pytest_tensorcheck.determinism.hashing import hash_value
from pytest_tensorcheck.determinism.operations import Recording
from pytest_tensorcheck.determinism.rng import RandomState
from pytest_tensorcheck.frameworks import require
from pytest_tensorcheck.observations import TensorcheckFailure
from pytest_tensorcheck.user_line import UserLine, is_user_file

T = TypeVar("T")


class NothingToCompare(TensorcheckFailure):
    """The code ran no torch operation and returned nothing: comparing its runs would say nothing."""


class _Deterministic:
    """See `deterministic`. A callable object, so that `deterministic.settings` and `deterministic.record` hang on
    it."""

    def __call__(
        self, fn: Callable[..., T], *args: Any, runs: int = 2, threads: int | Sequence[int] | None = None, **kwargs: Any
    ) -> T:
        """Run `fn(*args, **kwargs)` `runs` times from the same random state and return the last run's result.

        `threads` is torch's thread count, or one count for each run: `threads=(1, 2)` asks whether the result depends
        on it. Raises `DivergenceError` at the first operation whose inputs agree and whose outputs do not, and whatever
        `fn` raises in its first run. Arguments and captured modules are not copied: what the first run changes in them,
        the second starts with, and the error says so.
        """
        __tracebackhide__ = True
        if not callable(fn):
            raise TypeError(f"deterministic takes a function to run, not {type(fn).__name__}: deterministic(fn, *args)")
        if inspect.iscoroutinefunction(fn):
            raise TypeError(
                f"{getattr(fn, '__name__', 'fn')} is a coroutine function, whose call runs nothing: "
                "deterministic(lambda: asyncio.run(fn(…)))"
            )
        counts = _thread_counts(runs, threads)
        roots = reachable(fn, args, kwargs)
        return _Session(lambda: fn(*args, **kwargs), roots, counts, _definition(fn), compares_result=True).run()  # type: ignore[no-any-return]

    @property
    def settings(self) -> Any:
        """`deterministic.settings(...)`: a context manager with torch's deterministic algorithms and what belongs to
        them."""
        from pytest_tensorcheck.determinism.settings import settings

        return settings

    @property
    def record(self) -> Any:
        """`deterministic.record(path)`: a context manager that writes the log of the code inside to a file."""
        from pytest_tensorcheck.determinism.logs import record

        return record

    def __repr__(self) -> str:
        return "deterministic"


deterministic = _Deterministic()


def run_twice(
    call: Callable[[], Any],
    *,
    state: Mapping[str, Any] | None = None,
    runs: int = 2,
    threads: int | Sequence[int] | None = None,
    name: str = "",
) -> Any:
    """Run a test's body twice and compare; `state` (its fixtures) is put back in place between the runs. Returns the
        last result.

    Raises what the first run raises, and `DivergenceError` where the runs differ or only a later one raises. A body without
    any torch operation is compared by its own assertions alone.
    """
    __tracebackhide__ = True
    counts = _thread_counts(runs, threads)
    roots = {**reachable(call, (), {}), **(state or {})}
    return _Session(call, roots, counts, None, restored=state, what=name).run()


def _thread_counts(runs: int, threads: int | Sequence[int] | None) -> list[int | None]:
    __tracebackhide__ = True
    if type(runs) is not int or runs < 2:
        raise ValueError(f"runs={runs!r}: comparing needs at least two runs")
    if threads is None:
        return [None] * runs
    if isinstance(threads, int):
        threads = [threads] * runs
    if not threads or any(type(count) is not int or count < 1 for count in threads):
        raise ValueError(f"threads={threads!r}: a positive number, or one for each run")
    return [threads[run % len(threads)] for run in range(max(runs, len(threads)))]


def _definition(fn: Any) -> UserLine | None:
    code = getattr(getattr(fn, "__func__", fn), "__code__", None)
    return UserLine(code.co_filename, code.co_firstlineno, code.co_qualname) if code is not None else None


def _raised_at(error: Exception) -> UserLine | None:
    """The innermost line of the user's code that the error came through."""
    for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
        if is_user_file(frame.f_code.co_filename):
            return UserLine(frame.f_code.co_filename, line, frame.f_code.co_qualname)
    return None


class _Session:
    """The runs of one call."""

    def __init__(
        self,
        call: Callable[[], Any],
        roots: Mapping[str, Any],
        threads: list[int | None],
        definition: UserLine | None,
        *,
        restored: Mapping[str, Any] | None = None,
        compares_result: bool = False,
        what: str = "",
    ) -> None:
        self.call, self.roots, self.threads, self.definition = call, roots, threads, definition
        self.restored, self.compares_result, self.what = restored, compares_result, what

    def run(self) -> Any:
        __tracebackhide__ = True
        torch = require("torch", "deterministic")
        require("numpy", "deterministic")
        from pytest_tensorcheck.determinism.comparison import first_divergence
        from pytest_tensorcheck.determinism.investigation import investigate
        from pytest_tensorcheck.determinism.recorder import Recorder

        random_state = RandomState.take()
        fixtures = StateToRestore(self.restored or {})
        threads_before = torch.get_num_threads()
        recorders: list[Recorder] = []
        result: Any = None
        try:
            for run, count in enumerate(self.threads):
                if run:
                    random_state.restore()
                    fixtures.restore()
                if count is not None:
                    torch.set_num_threads(count)
                recorder = Recorder(run)
                recorders.append(recorder)
                recording = recorder.recording
                recording.threads = torch.get_num_threads()
                error: Exception | None = None
                try:
                    with recorder:
                        result = self.call()
                except Exception as raised:
                    if run == 0:
                        raise
                    error = raised
                    recording.error = f"raised {type(raised).__name__}: {raised}"
                if self.compares_result and error is None:
                    recording.result = hash_value(result)
                    found = (recorder.unwritten(tensor) for _, tensor in named_tensors({"result": result}))
                    recording.unwritten_result = next((place for place in found if place is not None), None)
                    if inspect.iscoroutine(result):
                        result.close()
                        raise TypeError(
                            "the function returned a coroutine, which ran nothing: "
                            "deterministic(lambda: asyncio.run(…))"
                        )
                if run == 0:
                    if self.compares_result:
                        self._require_content(recording)
                    continue
                divergence = first_divergence(
                    recorders[-2].recording, recording, self._names(recorder), (f"run {run}", f"run {run + 1}")
                )
                if divergence is not None:

                    def again() -> Any:
                        random_state.restore()
                        fixtures.restore()
                        return self.call()

                    try:
                        investigate(divergence, recorders[-2].recording, recording, again, self.definition)
                    except Exception as raised:  # what was found stands without it
                        divergence.notes.append(f"looking closer failed: {type(raised).__name__}: {raised}")
                    if error is not None:
                        self._explain_error(divergence, error, recording, run + 1)
                    failure = DivergenceError.of(divergence, self.what)
                    if error is not None:
                        raise failure from error
                    raise failure
                if error is not None:
                    raise error
                if run > 1:
                    recorders[-3].recording.operations.clear()
            return result
        finally:
            for recorder in reversed(recorders):
                recorder.erase_marks()
            if torch.get_num_threads() != threads_before:
                torch.set_num_threads(threads_before)

    def _explain_error(self, divergence: Divergence, error: Exception, recording: Recording, run: int) -> None:
        """Where a later run alone raises, and no number of torch's says why: something that the first one left behind."""
        stopped = divergence.cause is Cause.CONTROL_FLOW and divergence.index >= len(recording.operations)
        if not stopped and (divergence.cause is not Cause.OUTSIDE or divergence.operator):
            return
        if stopped:
            divergence.detail = f"run {run} {recording.error}, where run 1 went on"
        if (line := _raised_at(error)) is not None:
            divergence.evidence.append(Evidence(line, f"run {run} raised it here"))
        put_back = (
            "nothing is" if self.restored is None else "only tensors, arrays, modules, optimizers and generators are"
        )
        divergence.remedy = (
            f"the body runs {len(self.threads)} times, and between the runs {put_back} put back: make or remove inside the "
            "body what else a run leaves behind (a file, a folder, an entry of a dict), and seed what it draws"
        )

    def _require_content(self, recording: Recording) -> None:
        if not recording.operations and recording.result in (None, "None"):
            raise NothingToCompare(
                "nothing to compare: the code ran no torch operation in this thread and returned nothing. "
                "Return the numbers that are to repeat, or do not ask for a comparison here"
            )

    def _names(self, recorder: Any) -> Callable[[int], str | None]:
        names: dict[int, str] = {}
        for name, tensor in named_tensors(self.roots):
            storage = recorder.storage_of(tensor)
            if storage is not None:
                names.setdefault(storage, name)
        return names.get
