"""Does `datasets` find its cache again? The run-time twin of the rules TSR401 to TSR403.

`Dataset.map(f)` keeps its result under a fingerprint of `f` and of all that `f` captures. Whether that is the same in
the next run can only be seen in the next run, so `stable_map` makes three: fresh processes with PYTHONHASHSEED 0, 1 and
2, which come to the same call and say the fingerprint and the hash of each part of the function. Where they differ, the
failure names the captured object that moved.

Three things can be checked:

* `stable_map(dataset, fn, **map_kwargs)` in a test: the test itself is run again in the fresh processes, up to this
  call, so the function may be nested and capture what it likes. Returns `dataset.map(fn, **map_kwargs)`.
* `stable_map("prepare.py")`: a program, run as `__main__`; every `map` and `filter` in it is compared.
* `stable_map(prepare)`: a function of a module without arguments; every `map` and `filter` that it makes.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from pytest_tensorcheck.fingerprint_parts import Part, parts_of, run_as_script
from pytest_tensorcheck.frameworks import require
from pytest_tensorcheck.observations import TensorcheckFailure
from pytest_tensorcheck.user_line import UserLine

SEEDS = (0, 1, 2)
_RECORD = "TENSORCHECK_STABLE_MAP"  # in a fresh process: where to write, and the number of the call to stop after
_LONGEST = 300  # seconds that one fresh process may take


class UnstableMap(TensorcheckFailure):
    """The fingerprint of a cached transform is not the same in fresh processes."""


class StableMapProcessError(RuntimeError):
    """A fresh process did not come to the call, so nothing is known."""


class StableMap:
    """Checks transforms of one test; the fixture makes one for each test. Calls are numbered to find them again."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(
        self,
        subject: Any,
        fn: Callable[..., Any] | None = None,
        *,
        method: str = "map",
        seeds: Sequence[int] = SEEDS,
        **map_kwargs: Any,
    ) -> Any:
        """Raises UnstableMap if fresh processes disagree; see the module for the three forms.

        `method` is the transform: map or filter. `seeds` are the values of PYTHONHASHSEED, one process for each.
        Raises StableMapProcessError where a process does not come to the call.
        """
        __tracebackhide__ = True
        return self.check(sys._getframe(1), subject, fn, method, seeds, map_kwargs)

    def check(
        self,
        caller: FrameType,
        subject: Any,
        fn: Callable[..., Any] | None,
        method: str,
        seeds: Sequence[int],
        map_kwargs: dict[str, Any],
    ) -> Any:
        __tracebackhide__ = True
        require("datasets", "stable_map")
        if len(set(seeds)) < 2:
            raise ValueError(f"stable_map compares processes: give it two seeds at least, not {list(seeds)}")
        if isinstance(subject, (str, os.PathLike)):
            return _check_program(Path(subject), "", seeds)
        if fn is None:
            if callable(subject):
                return _check_program(*_place_of(subject), seeds)
            raise TypeError("stable_map takes a dataset and a function, a path of a program, or a function of a module")
        if method not in ("map", "filter"):
            raise ValueError(f"stable_map knows map and filter, not {method!r}")
        if not callable(getattr(subject, method, None)):
            raise TypeError(
                f"stable_map takes a dataset that has .{method}, not {type(subject).__name__}: "
                "stable_map(Dataset.from_dict({...}), fn)"
            )
        self.calls += 1
        recording = os.environ.get(_RECORD)
        with run_as_script(fn, caller.f_globals.get("__name__", "")):
            found = {} if recording is None else _as_json(parts_of(fn, map_kwargs))
            result = getattr(subject, method)(fn, **map_kwargs)
        if recording is not None:
            path, _, wanted = recording.rpartition(":")
            if int(wanted) == self.calls:
                _write(Path(path), [_record(method, result, found, subject)])
                _leave()
            return result
        place = str(UserLine(caller.f_code.co_filename, caller.f_lineno))
        command = _pytest_command(caller)
        records = _run(command, seeds, self.calls)
        _compare(records, list(seeds), place)
        return result


_in_frame: tuple[int, str, StableMap] | None = None


def stable_map(
    subject: Any,
    fn: Callable[..., Any] | None = None,
    *,
    method: str = "map",
    seeds: Sequence[int] = SEEDS,
    **map_kwargs: Any,
) -> Any:
    """`StableMap` as a function: in a test, the calls of one test function are numbered together."""
    __tracebackhide__ = True
    global _in_frame
    caller = sys._getframe(1)
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    if _in_frame is None or _in_frame[:2] != (id(caller), test):
        _in_frame = (id(caller), test, StableMap())
    return _in_frame[2].check(caller, subject, fn, method, seeds, map_kwargs)


# The other processes


def _pytest_command(caller: FrameType) -> list[str]:
    """Runs the current test again, alone."""
    current = os.environ.get("PYTEST_CURRENT_TEST")
    if current is None:
        raise StableMapProcessError(
            "stable_map(dataset, fn) runs its test again in fresh processes, and there is no test: "
            "outside pytest give it a program, stable_map('prepare.py')"
        )
    node, _, test = current.rpartition(" (")[0].partition("::")
    file = next((path for path in (Path(node), Path(caller.f_code.co_filename)) if path.exists()), Path(node))
    pytest_config = os.environ.get("TENSORCHECK_ROOT")
    if not file.exists() and pytest_config:
        file = Path(pytest_config, node)
    command = [sys.executable, "-m", "pytest", f"{file.resolve()}::{test}", "-q", "-x", "-p", "no:cacheprovider"]
    if "xdist" in sys.modules:
        command += ["-n", "0"]
    return command


def _run(command: list[str], seeds: Sequence[int], call: int) -> list[list[dict[str, Any]]]:
    """The records of one fresh process for each seed; the processes run side by side."""
    with tempfile.TemporaryDirectory() as folder:
        targets = [Path(folder, f"{number}.json") for number in range(len(seeds))]
        running = [_start(command, seed, target, call) for seed, target in zip(seeds, targets, strict=True)]
        try:
            return [_records(*entry) for entry in zip(running, seeds, targets, strict=True)]
        finally:
            for process in running:
                process.kill()
                process.wait()


def _start(command: list[str], seed: int, target: Path, call: int) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONHASHSEED": str(seed), _RECORD: f"{target}:{call}"}
    for name in ("PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        environment.pop(name, None)
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    )


def _records(process: subprocess.Popen[str], seed: int, target: Path) -> list[dict[str, Any]]:
    try:
        out, err = process.communicate(timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        raise StableMapProcessError(f"a fresh process did not come to the call in {_LONGEST} s") from None
    if not target.exists():
        said = "\n".join((err.strip() or out.strip()).splitlines()[-15:])
        raise StableMapProcessError(
            f"a fresh process (PYTHONHASHSEED={seed}) did not come to the call; it said:\n{said}"
        )
    records: list[dict[str, Any]] = json.loads(target.read_text(encoding="utf-8"))
    return records


def _leave() -> NoReturn:
    """Ends a fresh process: what the test does after the call is not asked for."""
    sys.stdout.flush()
    os._exit(0)


def _record(method: str, result: Any, parts: dict[str, Any], receiver: Any, place: str = "") -> dict[str, Any]:
    return {
        "method": method,
        "fingerprint": _fingerprint(result),
        "receiver": _fingerprint(receiver),
        "parts": parts,
        "place": place,
    }


def _fingerprint(dataset: Any) -> Any:
    if isinstance(dataset, dict):
        return {name: _fingerprint(part) for name, part in dataset.items()}
    return getattr(dataset, "_fingerprint", None)


def _as_json(parts: dict[str, Part]) -> dict[str, Any]:
    return {path: list(part) for path, part in parts.items()}


def _write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(records), encoding="utf-8")


# Programs and functions of modules


def _place_of(function: Callable[..., Any]) -> tuple[Path, str]:
    __tracebackhide__ = True
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    name = getattr(function, "__qualname__", "")
    if file is None or "<" in name or "." in name:
        raise TypeError(
            f"stable_map imports a function in fresh processes, so it must be one of a module, not {name or function!r}"
        )
    return Path(file), name


def _check_program(path: Path, function: str, seeds: Sequence[int]) -> list[Any]:
    __tracebackhide__ = True
    if not path.is_file():
        raise FileNotFoundError(f"stable_map: there is no program {path}")
    command = [sys.executable, "-m", "pytest_tensorcheck.map_stability", str(path.resolve()), function]
    records = _run(command, seeds, 0)
    if not records[0]:
        raise StableMapProcessError(f"{path} made no map and no filter, so nothing was compared")
    _compare(records, list(seeds), str(path))
    return [record["fingerprint"] for record in records[0]]


def main(path: str, function: str) -> None:
    """In a fresh process: runs a program, or calls a function of it, and records its transforms."""
    datasets = importlib.import_module("datasets")
    target = Path(os.environ.pop(_RECORD).rpartition(":")[0])
    records: list[dict[str, Any]] = []
    inside = [0]

    def recorded(owner: type, method: str) -> None:
        original = getattr(owner, method)

        def transform(self: Any, *args: Any, **kwargs: Any) -> Any:
            caller = sys._getframe(1)
            given = args[0] if args else kwargs.get("function")
            inside[0] += 1
            try:
                parts = _as_json(parts_of(given, kwargs)) if inside[0] == 1 and given is not None else {}
                result = original(self, *args, **kwargs)
            finally:
                inside[0] -= 1
            if inside[0] == 0:
                place = f"{caller.f_code.co_filename}:{caller.f_lineno}"
                records.append(_record(method, result, parts, self, place))
            return result

        setattr(owner, method, transform)

    for owner in (datasets.Dataset, datasets.DatasetDict):
        recorded(owner, "map")
        recorded(owner, "filter")
    sys.path.insert(0, str(Path(path).parent))
    sys.argv = [path]
    if function:
        runpy.run_path(path, run_name="__tensorcheck__")[function]()
    else:
        runpy.run_path(path, run_name="__main__")
    _write(target, records)


# The verdict


def _shown(place: str) -> str:
    """The file as the user's own working directory knows it: the program may have had another."""
    file, _, line = place.rpartition(":")
    return str(UserLine(file, int(line))) if file else ""


def _compare(runs: list[list[dict[str, Any]]], seeds: list[int], place: str) -> None:
    __tracebackhide__ = True
    if len({len(records) for records in runs}) > 1:
        counts = ", ".join(str(len(records)) for records in runs)
        raise UnstableMap(f"{place}: the fresh processes made different numbers of transforms: {counts}")
    for call in zip(*runs, strict=True):
        if len({json.dumps(record["fingerprint"], sort_keys=True) for record in call}) > 1:
            raise UnstableMap(_message(list(call), seeds, _shown(call[0]["place"]) or place))


def _message(call: list[dict[str, Any]], seeds: list[int], place: str) -> str:
    lines = [
        f"{place}: {call[0]['method']} takes another fingerprint in every process, so its cache is never found again",
        *(f"  PYTHONHASHSEED={seed}: {record['fingerprint']}" for seed, record in zip(seeds, call, strict=True)),
    ]
    if len({json.dumps(record["receiver"], sort_keys=True) for record in call}) > 1:
        lines.append("  the dataset it is called on moved already: shuffle(), train_test_split() or a map before it")
        lines.append("  write shuffle(seed=...) and train_test_split(seed=...)")
        return "\n".join(lines)
    moved = _moved([record["parts"] for record in call])
    for path in moved[:5]:
        values = [Part(*record["parts"][path]) for record in call]
        lines.append(f"  {path} moved: {values[0].describe(values[1])}")
        lines.append(f"    {values[0].remedy(path, values[1])}")
    if not moved:
        lines.append("  no single captured object moved: look for functions that call each other")
    return "\n".join(lines)


def _moved(parts: list[dict[str, Any]]) -> list[str]:
    """The innermost parts whose hashes differ; a part that cannot be hashed counts as moved."""
    shared = [path for path in parts[0] if all(path in other for other in parts)]
    moved = [path for path in shared if len({str(other[path][0]) for other in parts}) > 1 or parts[0][path][0] == ""]
    return [path for path in moved if not any(other != path and other.startswith(f"{path} → ") for other in moved)]


if __name__ == "__main__":
    main(*sys.argv[1:])
