"""What the plugin costs an empty test with torch loaded, without what importing torch costs and scatters.

    python benchmarks/plugin_overhead_forked.py [--rounds 10] [--tests 1000] [--instructions] [--only NAME,...] [--shared]

Importing torch takes two seconds of CPU, give or take 30 ms: more than 1,000 tests may cost. Here one process imports
torch, numpy.random and pytest, and each run of pytest is a fork of it, which imports the plugins it is given and nothing
else. What is imported is frozen: a full garbage collection goes through torch's 170,000 objects (110 ms on a busy
machine), and whether one falls into 1,000 tests or after them is chance. In each round every configuration runs twice,
in an order drawn anew:

- *whole run*: CPU time of pytest with all that starting the plugin takes, and of the tests alone (from the first test's
  function to the last one's). The median over the rounds of the difference to pytest alone in the same round.
- *in turns*: one session in which ten tests run with the plugin's hooks and ten without them, in turn: the difference
  of the CPU times from one test's function to the next one's, each at its lowest decile. It leaves out what the plugin
  adds to the work of Python's garbage collection.

Each with the standard error of the median. On a machine with more to do than it has cores all of these are multiples of
what they are on a quiet one, since every test finds the caches full of something else. `--instructions` counts
instructions with valgrind instead (all tests less one test, one run each, 15 minutes), which load does not change.
`--shared`: the module of the tests holds a network of eleven layers and a dozen arrays, which are looked at after every
test (`benchmarks/results/plugin_overhead_shared.md`). `python benchmarks/plugin_overhead.py` runs this without it and stores its table.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import itertools
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

_OURS = ["-p", "pytest_tensorcheck.plugin", "--tensorcheck"]
_ALONE = "pytest alone"
CONFIGURATIONS = {
    _ALONE: [],
    "--tensorcheck": _OURS,
    "--tensorcheck without the broadcast guard": [*_OURS, "--tensorcheck-broadcast", "off"],
    "--tensorcheck without comparing global state": [*_OURS, "--tensorcheck-state", "off"],
    "--tensorcheck with neither": [*_OURS, "--tensorcheck-state", "off", "--tensorcheck-broadcast", "off"],
    "pytest-randomly": ["-p", "pytest_randomly"],
}
_LOADED = ("torch", "numpy.random", "pytest")
_AROUND_TESTS = ("pytest_runtest", "pytest_pyfunc_call", "pytest_fixture", "pytest_report_teststatus")
_FILE = "test_empty.py"
_TEST = "def test_{}(): tick()\n"
_SHARED = """
import numpy as np
import torch
from torch import nn
network = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU(),
    nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 10),
)
(a, b, c, d, e, f, g, h, i, j, k, l) = map(np.arange, (3., 10., 20., 30., 40., 1e2, 1e2, 1e2, 1e3, 1e3, 5e3, 1e4))
"""
_BLOCK = 10


class Run(NamedTuple):
    """Milliseconds of the whole run, and microseconds of a test. With instructions: millions, and thousands."""

    whole: float
    test: float


class Clock:
    """A plugin that gives the module of tests a function to call; no hook of it runs around a test."""

    def __init__(self, in_turns: bool) -> None:
        self.in_turns = in_turns
        self.ticks: list[int] = []
        self._lists: list[tuple[list[Any], list[Any], list[Any]]] = []
        self._watched = True

    def pytest_collection_finish(self, session: Any) -> None:
        hooks = session.config.hook
        for name in dir(hooks):
            if name.startswith(_AROUND_TESTS):
                every = getattr(hooks, name).get_hookimpls()
                of_pytest = [
                    each
                    for each in every
                    if type(each.plugin).__module__.startswith("_pytest.")
                    or getattr(each.plugin, "__name__", "").startswith("_pytest.")
                ]
                self._lists.append((getattr(hooks, name)._hookimpls, every, of_pytest))
        vars(sys.modules["test_empty"])["tick"] = self._turn if self.in_turns else self._tick

    def _tick(self) -> None:
        self.ticks.append(time.process_time_ns())

    def _turn(self) -> None:
        self.ticks.append(time.process_time_ns())
        if len(self.ticks) % _BLOCK == 0:
            self._watched = not self._watched
            for in_use, every, of_pytest in self._lists:
                in_use[:] = every if self._watched else of_pytest

    def of_a_test(self) -> float:
        """Microseconds."""
        ticks = self.ticks
        if not self.in_turns:
            return (ticks[-1] - ticks[0]) / max(1, len(ticks) - 1) / 1e3
        times: tuple[list[int], list[int]] = [], []
        for at, (before, after) in enumerate(itertools.pairwise(ticks)):
            if at % _BLOCK < _BLOCK - 1:  # else the hooks changed in between
                times[at // _BLOCK % 2].append(after - before)
        watched, bare = (statistics.quantiles(each, n=10)[0] if len(each) > 1 else 0.0 for each in times)
        return (watched - bare) / 1e3


def in_fork(arguments: list[str], folder: Path, in_turns: bool = False) -> Run:
    """`pytest.main(arguments)` in a fork of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _run_pytest(arguments, folder, Clock(in_turns), writing)
    os.close(writing)
    with os.fdopen(reading) as answer:
        code, *figures = answer.read().split()
    os.waitpid(child, 0)
    if code != "0":
        raise SystemExit(f"pytest {' '.join(arguments)} ended with {code} in {folder}")
    return Run(*map(float, figures))


def _run_pytest(arguments: list[str], folder: Path, clock: Clock, writing: int) -> None:
    try:
        import pytest

        os.chdir(folder)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        start = time.process_time()
        code = int(pytest.main(["-q", "-p", "no:cacheprovider", *arguments], plugins=[clock]))
        os.write(writing, f"{code} {(time.process_time() - start) * 1e3} {clock.of_a_test()}".encode())
    finally:
        os._exit(0)


def counted(arguments: list[str], folder: Path, tests: int) -> Run:
    """Under valgrind, which writes a file for each fork."""
    of_all, of_one = (_instructions([*arguments, what], folder) for what in (_FILE, f"{_FILE}::test_0"))
    return Run(of_all, (of_all - of_one) / (tests - 1) * 1e3)


def _instructions(arguments: list[str], folder: Path) -> float:
    known = set(folder.parent.glob("instructions.*"))
    in_fork(arguments, folder)
    (written,) = set(folder.parent.glob("instructions.*")) - known
    (found,) = re.findall(r"^summary: (\d+)", written.read_text(), re.MULTILINE)
    return int(found) / 1e6


class Measured(NamedTuple):
    runs: list[Run]
    in_turns: list[float]


def measure(names: list[str], folder: Path, rounds: int, tests: int, instructions: bool) -> dict[str, Measured]:
    for name in names:  # once unmeasured: bytecode
        in_fork([*CONFIGURATIONS[name], f"{_FILE}::test_0"], folder)
    found = {name: Measured([], []) for name in names}
    for _ in range(rounds):
        for name in random.sample(names, len(names)):
            arguments = CONFIGURATIONS[name]
            if instructions:
                found[name].runs.append(counted(arguments, folder, tests))
                continue
            found[name].runs.append(in_fork([*arguments, _FILE], folder))
            found[name].in_turns.append(in_fork([*arguments, _FILE], folder, in_turns=True).test)
    return found


def table(found: dict[str, Measured], tests: int, instructions: bool) -> str:
    alone = found[_ALONE].runs
    if instructions:  # not the whole: that has what the parent of the forks had done by then
        columns, kept = ["per test, 10³ instructions"], [1]
    else:
        columns, kept = ["whole run, CPU ms", "of it per test, CPU µs", "in turns, per test, CPU µs"], [0, 1]
    lines = [
        f"| forks of a process that has imported torch | {' | '.join(columns)} |",
        "|---|" + "---:|" * len(columns),
    ]
    for name, measured in found.items():
        if name == _ALONE:
            cells = [f"{statistics.median(run[at] for run in alone):.0f}" for at in kept]
        else:
            cells = [
                _median([mine[at] - other[at] for mine, other in zip(measured.runs, alone, strict=True)]) for at in kept
            ]
        if not instructions:
            cells.append("" if name == _ALONE else _median(measured.in_turns))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    lines += [
        "",
        f"{tests} tests, {len(alone)} rounds{load}. The rows below pytest alone: what they take more, ± standard error.",
    ]
    return "\n".join(lines) + "\n"


def _median(values: Sequence[float]) -> str:
    """With its standard error, from the quartiles, which shrug off outliers."""
    if len(values) < 4:
        return f"{statistics.median(values):+.1f}"
    lower, middle, upper = statistics.quantiles(values, n=4)
    return f"{middle:+.1f} ± {1.253 * (upper - lower) / 1.349 / len(values) ** 0.5:.1f}"


def _start_again(folder: Path, instructions: bool) -> int:
    """In a process with one thread and no plugins of others, that writes bytecode; under valgrind to count."""
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    settings["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    settings.pop("PYTHONDONTWRITEBYTECODE", None)
    counting = ["valgrind", "-q", "--tool=cachegrind", "--cache-sim=no"]
    counting += [f"--cachegrind-out-file={folder}/instructions.%p"]
    command = [sys.executable, *sys.argv, "--inside", str(folder)]
    return subprocess.run([*counting, *command] if instructions else command, env=settings).returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--instructions", action="store_true", help="count instructions with valgrind; one round")
    parser.add_argument("--shared", action="store_true", help="the module holds a network and arrays")
    parser.add_argument("--only", default="", help=f"of: {', '.join(CONFIGURATIONS)}")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside is None:
        with tempfile.TemporaryDirectory() as temporary:
            raise SystemExit(_start_again(Path(temporary), options.instructions))
    names = [name for name in CONFIGURATIONS if not options.only or name in (_ALONE, *options.only.split(","))]
    if importlib.util.find_spec("pytest_randomly") is None and "pytest-randomly" in names:
        names.remove("pytest-randomly")
    folder = options.inside / "tests"
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    tests = "".join(_TEST.format(number) for number in range(options.tests))
    (folder / _FILE).write_text((_SHARED if options.shared else "") + tests)
    for name in _LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    rounds = 1 if options.instructions else options.rounds
    found = measure(names, folder, rounds, options.tests, options.instructions)
    print(table(found, options.tests, options.instructions))


if __name__ == "__main__":
    main()
