"""A run's log in a file, to be compared with another process's or another machine's.

One JSON object a line: a header that says what the machine was, then for each recorded piece of code (a test, by its
node id) its operations with hashes and with a few numbers of every floating point tensor, so that a comparison may
allow for rounding. A name that ends in `.gz` is compressed.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from pytest_tensorcheck.determinism.causes import Divergence, DivergenceError
from pytest_tensorcheck.determinism.comparison import first_divergence
from pytest_tensorcheck.determinism.operations import (
    BackwardNode,
    External,
    GeneratorState,
    Kernel,
    Operand,
    Operation,
    Recording,
)
from pytest_tensorcheck.user_line import UserLine

_VERSION = 1
_SAMPLE = 16  # numbers kept of each floating point tensor


class LogError(ValueError):
    """A file that is no log of ours, or of a version this one cannot read."""


@dataclass
class Log:
    """A file that was read: what the machine was, and the recordings by name."""

    path: str
    machine: dict[str, Any]
    base_seed: int | None = None  # of the pytest run that wrote it
    recordings: dict[str, Recording] = field(default_factory=dict)
    samples: dict[Any, tuple[float, ...]] = field(default_factory=dict)


def this_machine() -> dict[str, Any]:
    """What may change the numbers from one machine to another."""
    import torch

    numpy = sys.modules.get("numpy")
    machine = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": getattr(numpy, "__version__", None),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "random"),
    }
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call, unused-ignore]
        machine["gpu"] = torch.cuda.get_device_name()
        machine["cuda"] = torch.version.cuda
    return machine


class LogWriter:
    """Writes recordings to one file. `recording(name)` records the code in its `with`; `close()` ends the file."""

    def __init__(self, path: str | os.PathLike[str], base_seed: int | None = None) -> None:
        self.path = os.fspath(path)
        self.base_seed = base_seed
        Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] | None = None
        self._sampled: set[str] = set()

    @contextmanager
    def recording(self, name: str = "") -> Iterator[None]:
        recorder = _log_recorder()
        error = None
        try:
            with recorder:
                yield
        except Exception as raised:
            error = f"raised {type(raised).__name__}: {raised}"
            raise
        finally:
            recorder.erase_marks()
            recorder.recording.error = error
            self._write(name, recorder)

    def close(self) -> None:
        self._open().close()

    def _open(self) -> IO[str]:
        if self._file is None:
            opened = gzip.open if self.path.endswith(".gz") else open
            self._file = opened(self.path, "wt", encoding="utf-8")
            self._line({"tensorcheck_log": _VERSION, "machine": this_machine(), "base_seed": self.base_seed})
        return self._file

    def _line(self, entry: dict[str, Any]) -> None:
        self._open().write(json.dumps(entry, separators=(",", ":")) + "\n")

    def _write(self, name: str, recorder: Any) -> None:
        recording: Recording = recorder.recording
        self._open()
        self._line({"run": name, "threads": recording.threads})
        for content, sample in recorder.samples.items():
            key = json.dumps(_plain(content))
            if key not in self._sampled:
                self._sampled.add(key)
                self._line({"sample": [_plain(content), list(sample)]})
        for storage, external in recording.externals.items():
            self._line(
                {
                    "external": [
                        storage,
                        external.shared,
                        external.foreign,
                        list(map(_plain, external.sample)),
                        external.samples_all,
                    ]
                }
            )
        for operation in recording.operations:
            self._line({"op": _written(recording, operation)})
        self._line({"end": name, "error": recording.error, "result": recording.result})
        self._open().flush()


class LogChecker:
    """Compares the code in `with checker.checking(name):` with that recording in a file."""

    def __init__(self, path: str | os.PathLike[str], rtol: float = 0.0) -> None:
        self.log = read_log(path)
        self.rtol = rtol

    def missing(self, name: str) -> bool:
        """Whether the file holds no recording of this name."""
        return name not in self.log.recordings

    @contextmanager
    def checking(self, name: str = "") -> Iterator[None]:
        __tracebackhide__ = True
        recorder = _log_recorder()
        failed = None
        try:
            with recorder:
                yield
        except Exception as raised:
            failed = raised
            recorder.recording.error = f"raised {type(raised).__name__}: {raised}"
        finally:
            recorder.erase_marks()
        before = self.log.recordings.get(name)
        if before is not None:
            now = _as_read(recorder)
            before.machine = self.log.machine
            now.machine = json.loads(json.dumps(this_machine()))
            close = _closeness(self.log.samples, dict(recorder.samples), self.rtol)
            label = Path(self.log.path).name
            divergence = first_divergence(before, now, labels=(label, "this run"), close=close)
            if divergence is not None:
                _add_machine(divergence, before, now)
                raise DivergenceError.of(divergence, name) from failed
        if failed is not None:
            raise failed


@contextmanager
def record(path: str | os.PathLike[str], name: str = "") -> Iterator[None]:
    """Write the log of the code inside to a file, to be compared by `tensorcheck-diverge` or `compare_logs`."""
    writer = LogWriter(path)
    try:
        with writer.recording(name):
            yield
    finally:
        writer.close()


def compare_logs(
    first: str | os.PathLike[str], second: str | os.PathLike[str], rtol: float = 0.0
) -> dict[str, Divergence | None]:
    """The first divergence of each recording that both files hold, None where they agree.

    `rtol` allows for rounding: numbers count as equal up to this fraction of the tensor's largest (16 numbers of each
    are kept). Raises `LogError` for a file that is no log, and for two logs with different base seeds.
    """
    one, two = read_log(first), read_log(second)
    if None not in (one.base_seed, two.base_seed) and one.base_seed != two.base_seed:
        raise LogError(
            f"{one.path} was recorded with base seed {one.base_seed}, {two.path} with {two.base_seed}: their tests drew "
            "other numbers. Record both with the same --tensorcheck-seed"
        )
    close = _closeness(one.samples, two.samples, rtol)
    labels = _labels(one.path, two.path)
    found: dict[str, Divergence | None] = {}
    for name, recording in one.recordings.items():
        other = two.recordings.get(name)
        if other is None:
            continue
        recording.machine, other.machine = one.machine, two.machine
        divergence = first_divergence(recording, other, labels=labels, close=close)
        if divergence is not None:
            _add_machine(divergence, recording, other)
        found[name] = divergence
    return found


def _labels(one: str, two: str) -> tuple[str, str]:
    a, b = Path(one).name, Path(two).name
    return (a, b) if a != b else (one, two)


def _add_machine(divergence: Divergence, one: Recording, two: Recording) -> None:
    from pytest_tensorcheck.determinism.investigation import explain_by_text

    explain_by_text(divergence)
    changed = [
        f"{key}: {one.machine.get(key)} → {two.machine.get(key)}"
        for key in dict.fromkeys([*one.machine, *two.machine])
        if one.machine.get(key) != two.machine.get(key)
    ]
    if one.machine.get("PYTHONHASHSEED") == two.machine.get("PYTHONHASHSEED") == "random":
        changed.append("the hash seed, which is drawn anew by each process unless PYTHONHASHSEED is set")
    if one.threads != two.threads:
        changed.append(f"torch's threads: {one.threads} → {two.threads}")
    if changed:
        divergence.notes.append("the machines differ in " + ", ".join(changed))


# -- writing


def _log_recorder() -> Any:
    import torch

    from pytest_tensorcheck.determinism.recorder import Recorder

    class LogRecorder(Recorder):  # type: ignore[no-untyped-call, unused-ignore]
        """Keeps a few numbers of every floating point tensor beside its hash."""

        def __init__(self) -> None:
            # Uninitialised memory gets numbers of its own in every process.
            super().__init__(os.getpid() % 1009)
            self.samples: dict[Any, tuple[float, ...]] = {}
            self.recording.threads = torch.get_num_threads()

        def _content(self, tensor: Any, storage: Any, mark: Any) -> Any:
            content = super()._content(tensor, storage, mark)
            # Zeros that forward-mode differentiation promises to be zeros have no memory, and no kernel reads them here.
            if (
                content not in self.samples
                and tensor.numel()
                and tensor.dtype.is_floating_point
                and not tensor._is_zerotensor()
            ):
                flat = tensor.detach().reshape(-1)
                step = max(1, -(-flat.numel() // _SAMPLE))
                largest = float(flat.abs().amax()) if tensor.dtype.itemsize > 1 else 0.0
                self.samples[content] = (largest, *(float(value) for value in flat[::step].tolist()))
            return content

    return LogRecorder()


def _plain(value: Any) -> Any:
    """What JSON gives back unchanged."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value)


def _line_written(line: UserLine | None) -> list[Any] | None:
    if line is None:
        return None
    shown = line.shown_file
    if os.path.isabs(shown):  # elsewhere on the other machine: the last parts say enough
        shown = "/".join(Path(shown).parts[-2:])
    return [Path(shown).as_posix(), line.line, line.function]


def _operand_written(recording: Recording, operand: Operand) -> list[Any]:
    unwritten = _line_written(recording.line(operand.unwritten))
    return [operand.storage, _plain(operand.content), list(operand.shape), str(operand.dtype), unwritten]


def _written(recording: Recording, operation: Operation) -> list[Any]:
    kernel, backward, generator = operation.kernel, operation.backward, operation.generator
    return [
        kernel.name,
        _line_written(recording.where(operation)),
        [_plain(value) for value in operation.scalars],
        [_operand_written(recording, operand) for operand in operation.inputs],
        [_operand_written(recording, operand) for operand in operation.outputs],
        [_plain(value) for value in operation.values],
        [backward.name, backward.called_from_engine] if backward else None,
        [generator.explicit, generator.state] if generator else None,
        [kernel.is_random, bool(kernel.overwrites)],
    ]


# -- reading


def _as_read(recorder: Any) -> Recording:
    """A recording of this process in the form in which one comes from a file."""
    recording: Recording = recorder.recording
    found = Recording(threads=recording.threads, error=recording.error, externals=recording.externals)
    kernels: dict[str, Kernel] = {}
    for operation in recording.operations:
        found.operations.append(_operation_read(json.loads(json.dumps(_written(recording, operation))), kernels))
    recorder.samples = {_content_read(_plain(content)): sample for content, sample in recorder.samples.items()}
    return found


def read_log(path: str | os.PathLike[str]) -> Log:
    """Read a file of `record`. Raises `LogError` with one clear line."""
    name = os.fspath(path)
    try:
        with gzip.open(name, "rt") if name.endswith(".gz") else open(name, encoding="utf-8") as file:
            return _read(name, file)
    except OSError as error:
        raise LogError(f"{name}: {error.strerror or error}") from error
    except LogError:
        raise
    except (EOFError, ValueError, KeyError, IndexError, TypeError) as error:
        raise LogError(f"{name}: not a log of tensorcheck, or cut short ({error})") from error


def _read(name: str, file: IO[str]) -> Log:
    header = json.loads(file.readline() or "null")
    if not isinstance(header, dict) or "tensorcheck_log" not in header:
        raise LogError(f"{name}: not a log of tensorcheck")
    if header["tensorcheck_log"] != _VERSION:
        raise LogError(
            f"{name}: a log of version {header['tensorcheck_log']}; this tensorcheck reads version {_VERSION}"
        )
    log = Log(name, header["machine"], header.get("base_seed"))
    recording = Recording()
    kernels: dict[str, Kernel] = {}
    for text in file:
        entry = json.loads(text)
        if "op" in entry:
            recording.operations.append(_operation_read(entry["op"], kernels))
        elif "sample" in entry:
            content, sample = entry["sample"]
            log.samples[_content_read(content)] = tuple(sample)
        elif "external" in entry:
            storage, shared, foreign, sample, samples_all = entry["external"]
            recording.externals[storage] = External(
                shared=shared, foreign=foreign, sample=tuple(sample), samples_all=samples_all
            )
        elif "run" in entry:
            recording = log.recordings[entry["run"]] = Recording(threads=entry["threads"])
        elif "end" in entry:
            recording.error = entry["error"]
    return log


def _line_read(written: list[Any] | None) -> Any:
    return UserLine(*written) if written is not None else None


def _content_read(content: Any) -> Any:
    return tuple(_content_read(part) for part in content) if isinstance(content, list) else content


def _operand_read(written: list[Any]) -> Operand:
    storage, content, shape, dtype, unwritten = written
    return Operand(storage, _content_read(content), tuple(shape), dtype, _line_read(unwritten))


def _operation_read(written: list[Any], kernels: dict[str, Kernel]) -> Operation:
    name, line, scalars, inputs, outputs, values, backward, generator, (is_random, overwrites) = written
    kernel = kernels.setdefault(
        name, Kernel(name, is_random=is_random, overwrites=frozenset((0,)) if overwrites else frozenset())
    )
    return Operation(
        kernel,
        _line_read(line),
        tuple(map(_content_read, scalars)),
        tuple(map(_operand_read, inputs)),
        tuple(map(_operand_read, outputs)),
        tuple(map(_content_read, values)),
        BackwardNode(backward[0], -1, backward[1]) if backward else None,
        GeneratorState(generator[0], generator[1], None) if generator else None,
    )


def _closeness(
    one: dict[Any, tuple[float, ...]], two: dict[Any, tuple[float, ...]], rtol: float
) -> Callable[[Any, Any], bool] | None:
    if rtol <= 0:
        return None

    def close(a: Any, b: Any) -> bool:
        first, second = one.get(a), two.get(b)
        if first is None or second is None or len(first) != len(second):
            return False
        scale = max(first[0], second[0])
        return all(
            x == y or (x != x and y != y) or abs(x - y) <= rtol * scale for x, y in zip(first, second, strict=True)
        )

    return close
