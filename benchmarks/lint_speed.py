"""What `tensorlint check` costs, beside the parsers it could rest on and TorchFix, on the same files in the same run.

    python benchmarks/lint_speed.py                    # timm and lightning from the index, all files
    python benchmarks/lint_speed.py --files 100        # a quick look
    python benchmarks/lint_speed.py --corpus src --store
    python benchmarks/lint_speed.py --whole PACKAGE ... # each folder by itself: all its Python files, tests among them

The peers go into an environment of their own below `.cache/`, the corpus beside it. User CPU seconds of one process;
the parsers are timed inside a process, without its start-up, the commands with it. What a user waits for a check by the default
number of processes is given beside it, as wall seconds. Prints a Markdown table; `--store`
writes it to benchmarks/results/lint_speed.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache" / "benchmarks"
CORPUS = ("timm==1.0.31", "lightning==2.6.6")
PEERS = ("torchfix==0.7.0",)
ROUNDS = 5  # of the two that are compared most closely
WARM_FILES = 1000

_PARSE = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
files = json.load(open(sys.argv[1]))
if sys.argv[2] == "ast":
    from ast import parse
else:
    from libcst import parse_module as parse
start = time.process_time()
for name in files:
    with open(name, "rb") as stream:
        parse(stream.read())
print(time.process_time() - start)
"""


@dataclass(frozen=True)
class Row:
    """One stage: user CPU seconds over all files, and what else is to be said."""

    stage: str
    seconds: float
    note: str = ""


def corpus(folder: Path | None) -> Path:
    """The folder of sources; downloaded and unpacked once."""
    if folder is not None:
        return folder
    target = CACHE / "corpus"
    for requirement in CORPUS:
        name = requirement.partition("==")[0]
        if (target / name).is_dir():
            continue
        with tempfile.TemporaryDirectory() as wheels:
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", wheels, requirement],
                check=True,
            )  # fmt: skip
            for wheel in Path(wheels).glob("*.whl"):
                with zipfile.ZipFile(wheel) as archive:
                    archive.extractall(target)
    return target


def peers() -> Path:
    """The folder of the peers' commands; their environment is made once."""
    environment = CACHE / "peers"
    commands = environment / "bin"
    if not (commands / "torchfix").exists():
        venv.create(environment, with_pip=True, clear=True)
        subprocess.run([commands / "python", "-m", "pip", "install", "-q", *PEERS], check=True)
    return commands


def usable(files: list[Path]) -> list[Path]:
    """Without the files that this Python does not parse."""
    import ast
    import warnings

    kept = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in files:
            try:
                ast.parse(path.read_bytes())
            except (SyntaxError, ValueError):
                continue
            kept.append(path)
    return kept


def user_seconds(command: list[str | Path], **options: object) -> float:
    """User CPU of a command and its children; its exit code does not matter, but a crash does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if "Traceback" in done.stderr:
        raise RuntimeError(f"{command[0]} failed: {done.stderr[-500:]}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def wall_seconds(command: list[str | Path], cwd: str | Path) -> float:
    """What a user waits for a command that takes as many processes as it likes."""
    start = time.perf_counter()
    subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True)
    return time.perf_counter() - start


def parser_seconds(names: Path, parser: str) -> float:
    done = subprocess.run([sys.executable, "-c", _PARSE, names, parser], check=True, capture_output=True, text=True)
    return float(done.stdout)


def copied(files: list[Path], target: Path) -> list[Path]:
    """The files by themselves, so that every tool sees the same ones, with their packages' layout."""
    common = Path(os.path.commonpath(files)) if len(files) > 1 else files[0].parent
    made = []
    for path in files:
        place = target / path.relative_to(common)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
        made.append(place)
    return made


def start_up() -> tuple[float, float]:
    """Wall seconds of bare Python and of `tensorlint --version`, the least of 15 in turns."""
    tensorlint = Path(sys.executable).parent / "tensorlint"
    bare, version = [], []
    for _ in range(15):
        for times, command in ((bare, [sys.executable, "-c", "pass"]), (version, [str(tensorlint), "--version"])):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - start)
    return min(bare), min(version)


def warm_cache(files: list[Path], folder: Path) -> tuple[int, float]:
    """How many files, and wall seconds of a run that finds them all unchanged, the least of 5."""
    project = folder / "warm"
    project.mkdir()
    names = copied(files[:WARM_FILES], project)
    tensorlint = Path(sys.executable).parent / "tensorlint"
    command = [str(tensorlint), "check", "--output-format", "concise", "."]
    subprocess.run(command, cwd=project, capture_output=True)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, cwd=project, capture_output=True)
        times.append(time.perf_counter() - start)
    return len(names), min(times)


def measure(files: list[Path], folder: Path) -> list[Row]:
    target = folder / "corpus"
    copies = copied(files, target)
    names = folder / "names.json"
    names.write_text(json.dumps([str(path) for path in copies]))
    tensorlint = Path(sys.executable).parent / "tensorlint"
    check = [tensorlint, "check", "--no-cache", "--output-format", "concise", "--jobs", "1", target]
    parsed, checked, waited = [], [], []
    for _ in range(ROUNDS):  # in turns; the first also writes bytecode
        parsed.append(parser_seconds(names, "ast"))
        checked.append(user_seconds(check, cwd=folder))
        waited.append(wall_seconds(_with_default_jobs(check), folder))
    rows = [
        Row("ast.parse", min(parsed)),
        Row("libcst.parse_module", parser_seconds(names, "libcst"), f"libcst {_libcst()}"),
        Row("tensorlint check --no-cache --jobs 1", min(checked)),
        Row("tensorlint check --no-cache, wall seconds", min(waited), f"{os.cpu_count()} processes"),
    ]
    commands = peers()
    torchfix = [commands / "python", "-m", "torchfix", "-j", "1", target]
    return [*rows, Row("TorchFix 0.7.0, torchfix -j 1", user_seconds(torchfix, cwd=folder))]


def _with_default_jobs(check: list[str | Path]) -> list[str | Path]:
    at = check.index("--jobs")
    return check[:at] + check[at + 2 :]


def whole(folders: list[Path], rounds: int) -> str:
    """Markdown: the check of each folder by itself, its files in sight of one another, beside `ast.parse`.

    Only Python files are copied, and the project's own marks, by which imports are found; no notebooks.
    """
    tensorlint = Path(sys.executable).parent / "tensorlint"
    out = [
        "| folder | files | ast.parse, user s | check --jobs 1, user s | x ast.parse "
        f"| check, wall s ({os.cpu_count()} processes) | x ast.parse |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    total = [0.0, 0.0, 0.0]
    for folder in folders:
        with tempfile.TemporaryDirectory() as temporary:
            target = Path(temporary, folder.name)
            marks = [path for name in ("pyproject.toml", "setup.py", "setup.cfg") if (path := folder / name).is_file()]
            files = usable(sorted(path for path in folder.rglob("*.py") if path.is_file()))
            for path in dict.fromkeys((*files, *marks)):
                place = target / path.relative_to(folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)
            names = Path(temporary, "names.json")
            names.write_text(json.dumps([str(path) for path in files]))
            check = [tensorlint, "check", "--no-cache", "--output-format", "concise", "--jobs", "1", target]
            parsed, checked, waited = [], [], []
            for _ in range(rounds):  # in turns
                parsed.append(parser_seconds(names, "ast"))
                checked.append(user_seconds(check, cwd=temporary))
                waited.append(wall_seconds(_with_default_jobs(check), temporary))
        total = [total[0] + min(parsed), total[1] + min(checked), total[2] + min(waited)]
        out.append(
            f"| {folder.name} | {len(files)} | {min(parsed):.2f} | {min(checked):.2f} "
            f"| {min(checked) / min(parsed):.1f} | {min(waited):.2f} | {min(waited) / min(parsed):.1f} |"
        )
        print(out[-1], file=sys.stderr, flush=True)
    out.append(
        f"| together | | {total[0]:.2f} | {total[1]:.2f} | {total[1] / total[0]:.1f} "
        f"| {total[2]:.2f} | {total[2] / total[0]:.1f} |"
    )
    return "\n".join(out) + "\n"


def _libcst() -> str:
    from importlib.metadata import version

    return version("libcst")


def table(rows: list[Row], files: int, lines: int) -> str:
    """Markdown; the second parser's and the command's figures stand beside that of ast.parse."""
    base, check = rows[0].seconds, next(row.seconds for row in rows if row.stage.startswith("tensorlint"))
    out = [
        f"{files} files, {lines:,} lines; Python {platform.python_version()}, {os.cpu_count()} processors, "
        f"{datetime.date.today().isoformat()}.",
        "",
        "| stage (one process, no cache) | user s | ms / 1,000 lines | x ast.parse | x tensorlint |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        note = f" ({row.note})" if row.note else ""
        out.append(
            f"| {row.stage}{note} | {row.seconds:.2f} | {row.seconds / lines * 1e6:.1f} | {row.seconds / base:.1f} "
            f"| {row.seconds / check:.2f} |"
        )
    return "\n".join(out) + "\n"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--corpus", type=Path, help="a folder of Python sources (default: timm and lightning, downloaded)"
    )
    options.add_argument("--files", type=int, default=0, help="how many files, evenly spread (default: all)")
    options.add_argument("--store", action="store_true", help="write the table to benchmarks/results/lint_speed.md")
    options.add_argument("--whole", type=Path, nargs="+", help="folders that are checked whole, each by itself")
    options.add_argument(
        "--rounds", type=int, default=3, help="with --whole: how often each is timed (the least counts)"
    )
    arguments = options.parse_args()
    if arguments.whole:
        print(whole([folder.resolve() for folder in arguments.whole], arguments.rounds))
        return 0
    files = usable(sorted(path for path in corpus(arguments.corpus).rglob("*.py") if path.is_file()))
    if not files:
        print("no Python file in the corpus", file=sys.stderr)
        return 2
    if arguments.files and arguments.files < len(files):
        files = [files[index * len(files) // arguments.files] for index in range(arguments.files)]
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    with tempfile.TemporaryDirectory() as folder:
        report = table(measure(files, Path(folder)), len(files), lines)
        bare, version = start_up()
        number, warm = warm_cache(files, Path(folder))
    report += (
        f"\nStart-up: `tensorlint --version` {version * 1000:.0f} ms, bare Python {bare * 1000:.0f} ms "
        f"(difference {(version - bare) * 1000:.0f} ms, wall). "
        f"Warm cache: {number} unchanged files in {warm:.2f} s (wall).\n"
    )
    print(report)
    if arguments.store:
        target = ROOT / "benchmarks" / "results" / "lint_speed.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(f"# What the linter costs\n\n`python benchmarks/lint_speed.py`\n\n{report}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
