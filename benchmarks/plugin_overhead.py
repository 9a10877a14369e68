"""What the plugin costs 1,000 empty tests: not installed, installed and unused, and with --tensorcheck.

    python benchmarks/plugin_overhead.py [--rounds 7] [--tests 1000] [--write]

Every configuration is a fresh process that loads no other plugin; the configurations take turns, and the minimum of all
rounds counts. CPU seconds are those of the process (user and system). `--write` puts the table into
benchmarks/results/plugin_overhead.md. pytest-randomly is compared where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results" / "plugin_overhead.md"


@dataclass
class Configuration:
    name: str
    arguments: list[str]
    torch: bool
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    cpu_of_one: list[float] = field(default_factory=list)


PLUGIN = ["-p", "pytest_tensorcheck.plugin"]


def configurations() -> list[Configuration]:
    found = [
        Configuration("pytest alone", [], torch=False),
        Configuration("tensorcheck installed, unused", PLUGIN, torch=False),
        Configuration("--tensorcheck", [*PLUGIN, "--tensorcheck"], torch=False),
    ]
    if importlib.util.find_spec("torch"):
        found += [
            Configuration("pytest alone, torch loaded", [], torch=True),
            Configuration("--tensorcheck, torch loaded", [*PLUGIN, "--tensorcheck"], torch=True),
            Configuration(
                "--tensorcheck without the broadcast guard, torch loaded",
                [*PLUGIN, "--tensorcheck", "--tensorcheck-broadcast", "off"],
                torch=True,
            ),
        ]
        if importlib.util.find_spec("pytest_randomly"):
            found.append(
                Configuration(
                    "pytest-randomly, torch loaded", ["-p", "pytest_randomly", "-p", "no:tensorcheck"], torch=True
                )
            )
    return found


def measure(configuration: Configuration, folder: Path) -> None:
    """All tests, and one test alone: the difference is what the tests cost, without what starting costs."""
    configuration.cpu_of_one.append(run(configuration, folder, "test_empty.py::test_0")[1])
    wall, cpu = run(configuration, folder, "test_empty.py")
    configuration.wall.append(wall)
    configuration.cpu.append(cpu)


def run(configuration: Configuration, folder: Path, what: str) -> tuple[float, float]:
    """Wall and CPU seconds."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *configuration.arguments, what]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OMP_NUM_THREADS": "1"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(found: list[Configuration], tests: int, rounds: int) -> str:
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}"
        for name in ("pytest", "torch", "pytest-randomly")
        if importlib.util.find_spec(name.replace("-", "_"))
    )
    lines = [
        f"{tests} empty tests, minimum of {rounds} interleaved rounds. Python {platform.python_version()}, {versions}, "
        f"{os.cpu_count()} cores.",
        "",
        "| configuration | CPU s | wall s | CPU against pytest alone | of it per test |",
        "|---|---:|---:|---:|---:|",
    ]
    for configuration in found:
        bare = next(other for other in found if other.torch == configuration.torch)
        cpu, wall = min(configuration.cpu), min(configuration.wall)
        extra = cpu - min(bare.cpu)
        versus = "" if configuration is bare else f"{extra * 1e3:+.0f} ms ({extra / min(bare.cpu):+.1%})"
        slope = (cpu - min(configuration.cpu_of_one) - min(bare.cpu) + min(bare.cpu_of_one)) / (tests - 1)
        each = "" if configuration is bare else f"{slope * 1e6:+.0f} µs"
        lines.append(f"| {configuration.name} | {cpu:.3f} | {wall:.3f} | {versus} | {each} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = configurations()
    with tempfile.TemporaryDirectory() as temporary:
        folders = {}
        for torch in (False, True):
            folders[torch] = Path(temporary, "torch" if torch else "plain")
            folders[torch].mkdir()
            (folders[torch] / "pytest.ini").write_text("[pytest]\n")
            (folders[torch] / "conftest.py").write_text("import torch\n" if torch else "")
            tests = "".join(f"def test_{number}(): pass\n" for number in range(options.tests))
            (folders[torch] / "test_empty.py").write_text(tests)
        for configuration in found:  # once unmeasured: bytecode, and the assertion rewriter's cache
            measure(configuration, folders[configuration.torch])
            configuration.wall.clear(), configuration.cpu.clear(), configuration.cpu_of_one.clear()
        for _ in range(options.rounds):
            for configuration in found:
                measure(configuration, folders[configuration.torch])
    text = table(found, options.tests, options.rounds)
    print(text)
    if options.write:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(
            f"# What the plugin costs\n\n`python benchmarks/plugin_overhead.py`\n\n{text}", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
