"""What the plugin costs 1,000 empty tests: not installed, installed and unused, and with --tensorcheck.

    python benchmarks/plugin_overhead.py [--rounds 7] [--tests 1000] [--instructions] [--write]

"Installed" and "not installed" are two environments below `.cache/` that hold pytest, and pytest with this project's
wheel; the others run in this environment, load no other plugin, and are compared with pytest alone there. Every run is a
fresh process with its bytecode cached, as it is from a user's second run on. The configurations take turns, and the
minimum of all rounds counts: CPU seconds of the process (user and system), which other programs on the machine still
lengthen. "Full collections": how often Python's garbage collection went through all objects, which takes up to 110 ms
where torch is loaded; whether one more falls into a run is chance. A second table has what the tests take without that
and without the import of torch (`plugin_overhead_forked.py`). `--instructions` counts executed instructions with
valgrind instead: one round, 50 times slower.
`--write` puts the table into benchmarks/results/plugin_overhead.md. pytest-randomly is compared where it is installed.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import importlib.util
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "plugin_overhead.md"
ENVIRONMENTS = ROOT / ".cache" / "benchmarks" / "plugin_overhead"


@dataclass
class Configuration:
    name: str
    arguments: list[str]
    torch: bool
    group: str  # what it is compared with: the first of its group
    python: str = sys.executable
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    cpu_of_one: list[float] = field(default_factory=list)
    collections: int = 0


_COUNTED = "import atexit, gc\natexit.register(lambda: print('full collections:', gc.get_stats()[2]['collections']))\n"
PLUGIN = ["-p", "pytest_tensorcheck.plugin"]


def configurations(wanted: list[str]) -> list[Configuration]:
    found = []
    if "installed" in wanted:
        without, installed = environment("without"), environment("installed", str(ROOT))
        off = ["-p", "no:tensorcheck"]
        found += [
            Configuration("not installed", [], False, "installed", without),
            Configuration("installed, unused", [], False, "installed", installed),
            Configuration("installed, switched off (`-p no:tensorcheck`)", off, False, "installed", installed),
        ]
    found += [
        Configuration("pytest alone", [], False, "plain"),
        Configuration("--tensorcheck", [*PLUGIN, "--tensorcheck"], False, "plain"),
    ]
    if importlib.util.find_spec("torch"):
        no_guard = [*PLUGIN, "--tensorcheck", "--tensorcheck-broadcast", "off"]
        found += [
            Configuration("pytest alone, torch loaded", [], True, "torch"),
            Configuration("--tensorcheck, torch loaded", [*PLUGIN, "--tensorcheck"], True, "torch"),
            Configuration("--tensorcheck without the broadcast guard, torch loaded", no_guard, True, "torch"),
        ]
        if importlib.util.find_spec("pytest_randomly"):
            randomly = ["-p", "pytest_randomly", "-p", "no:tensorcheck"]
            found.append(Configuration("pytest-randomly, torch loaded", randomly, True, "torch"))
    return found


def environment(name: str, *packages: str) -> str:
    """The interpreter of an environment with this pytest and the packages; made once, the packages each time."""
    folder = ENVIRONMENTS / name
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    if not folder.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([*install, f"pytest=={importlib.metadata.version('pytest')}"], check=True)
    if packages:
        subprocess.run([*install, "--force-reinstall", *packages, f"pytest=={importlib.metadata.version('pytest')}"], check=True)  # fmt: skip
    return python


def measure(configuration: Configuration, folder: Path, instructions: bool) -> None:
    """All tests, and one test alone: the difference is what the tests cost, without what starting costs."""
    configuration.cpu_of_one.append(run(configuration, folder, "test_empty.py::test_0", instructions)[1])
    wall, cpu = run(configuration, folder, "test_empty.py", instructions)
    configuration.wall.append(wall)
    configuration.cpu.append(cpu)


_COUNTING = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]


def run(configuration: Configuration, folder: Path, what: str, instructions: bool) -> tuple[float, float]:
    """Wall and CPU seconds; or wall seconds and 10**9 instructions."""
    command = [configuration.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *configuration.arguments, what]
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    settings["PYTHONPYCACHEPREFIX"] = str(folder.parent / "bytecode")
    settings.pop("PYTHONDONTWRITEBYTECODE", None)  # else every run compiles the plugin again
    settings.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)
    if configuration.group != "installed":
        settings["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [*_COUNTING, *command] if instructions else command, cwd=folder, env=settings, stdout=output, stderr=output
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{text[-2000:]}")
    found = re.search(r"full collections: (\d+)", text)
    configuration.collections = int(found[1]) if found else 0
    if instructions:
        counted = re.search(r"I +refs: +([\d,]+)", text)
        assert counted is not None
        return wall, int(counted[1].replace(",", "")) / 1e9
    return wall, usage.ru_utime + usage.ru_stime


def table(found: list[Configuration], tests: int, rounds: int, instructions: bool) -> str:
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}"
        for name in ("pytest", "torch", "pytest-randomly")
        if importlib.util.find_spec(name.replace("-", "_"))
    )
    measured = (
        "instructions (10⁹), one run each" if instructions else f"CPU seconds, minimum of {rounds} interleaved rounds"
    )
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    lines = [
        f"{datetime.date.today()}: {tests} empty tests, {measured}. Python {platform.python_version()}, {versions}, "
        f"{os.cpu_count()} cores{load}.",
        "",
        f"| configuration | {'10⁹ instructions' if instructions else 'CPU s'} | wall s | more than the first of its group | of it per test | full collections |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    unit, small = ("M", "k") if instructions else ("ms", "µs")
    for configuration in found:
        bare = next(other for other in found if other.group == configuration.group)
        cpu, wall = min(configuration.cpu), min(configuration.wall)
        extra = cpu - min(bare.cpu)
        versus = "" if configuration is bare else f"{extra * 1e3:+.0f} {unit} ({extra / min(bare.cpu):+.1%})"
        slope = (cpu - min(configuration.cpu_of_one) - min(bare.cpu) + min(bare.cpu_of_one)) / (tests - 1)
        each = "" if configuration is bare else f"{slope * 1e6:+.0f} {small}"
        lines.append(
            f"| {configuration.name} | {cpu:.3f} | {wall:.3f} | {versus} | {each} | {configuration.collections} |"
        )
    return "\n".join(lines) + "\n"


def without_the_import(rounds: int, tests: int, instructions: bool) -> str:
    """The table of `plugin_overhead_forked.py`."""
    script = Path(__file__).with_name("plugin_overhead_forked.py")
    command = [sys.executable, str(script), "--rounds", str(rounds), "--tests", str(tests)]
    if instructions:
        command.append("--instructions")
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--instructions", action="store_true", help="count instructions with valgrind; one round")
    parser.add_argument("--only", default="", help="groups to run, of installed,plain,torch")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.instructions:
        options.rounds = 1
    wanted = options.only.split(",") if options.only else ["installed", "plain", "torch"]
    found = [configuration for configuration in configurations(wanted) if configuration.group in wanted]
    with tempfile.TemporaryDirectory() as temporary:
        folders = {}
        for torch in (False, True):
            folders[torch] = Path(temporary, "torch" if torch else "plain")
            folders[torch].mkdir()
            (folders[torch] / "pytest.ini").write_text("[pytest]\n")
            (folders[torch] / "conftest.py").write_text(_COUNTED + "import torch\n" if torch else _COUNTED)
            tests = "".join(f"def test_{number}(): pass\n" for number in range(options.tests))
            (folders[torch] / "test_empty.py").write_text(tests)
        for configuration in found:  # once unmeasured: bytecode, and the assertion rewriter's cache
            run(configuration, folders[configuration.torch], "test_empty.py", False)
        for _ in range(options.rounds):
            for configuration in found:
                measure(configuration, folders[configuration.torch], options.instructions)
    text = table(found, options.tests, options.rounds, options.instructions)
    if any(configuration.torch for configuration in found):
        text += "\n" + without_the_import(options.rounds, options.tests, options.instructions)
    print(text)
    if options.write:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(
            f"# What the plugin costs\n\n`python benchmarks/plugin_overhead.py {' '.join(sys.argv[1:])}`\n\n{text}",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
