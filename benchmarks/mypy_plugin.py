"""What the mypy plugin changes in real code, and what it costs.

    python benchmarks/mypy_plugin.py overhead [--calls N] [--instructions]
    python benchmarks/mypy_plugin.py package SITE_PACKAGES/timm/layers [MORE…] [--errors new.txt]
    python benchmarks/mypy_plugin.py time SITE_PACKAGES/timm/layers [MORE…]
    … --store

`overhead`: CPU seconds of mypy over a generated file of 20,000 lines with 1,000 modules, without and with the
plugin, the library's cache warm, the file's own cold; the least of several runs, taken in turns. Typed calls are
themselves more work for mypy, so the same types written by hand are timed too. `--instructions` counts the
instructions of one run of each under valgrind, which a busy machine does not change. `--calls 2.8`: with so many calls in
each module, in code that has to do with no tensor; `module_call_density.py` counts them in real packages.
`package`: mypy's errors over these files or folders without and with the plugin, and how many calls of a module have a
type with it. Errors that only the plugin brings are printed, or written to `--errors`, to be read by eye.
`time`: CPU seconds of mypy over these files or folders without and with the plugin, torch in mypy's cache: their own files
not yet in it, and then unchanged since the run before.
`--store` adds a row to benchmarks/results/mypy_plugin.md.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "mypy_plugin.md"

# The plugin, noting every place where a module is called and whether the call has a type.
COUNTING = """
from mypy.nodes import CallExpr
from mypy.types import AnyType, CallableType, Overloaded, get_proper_type
import tensorlint.mypy_plugin as ours

# mypy leaves without running exit functions, so that each call is written as it is seen.
calls = open({output!r}, "a", buffering=1)
inner = ours.call_of_attribute

def counting(ctx):
    found = inner(ctx)
    if isinstance(ctx.context, CallExpr):
        proper = get_proper_type(found)
        returned = get_proper_type(proper.ret_type) if isinstance(proper, CallableType) else None
        typed = isinstance(proper, Overloaded) or (returned is not None and not isinstance(returned, AnyType))
        calls.write(f"{{ctx.api.path}}:{{ctx.context.line}}:{{ctx.context.column}} {{int(typed)}}\\n")
    return found

ours.call_of_attribute = counting
plugin = ours.plugin
"""

MODULE = """
class M{n}(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.ReLU()
        self.c = {inner}
        self.register_buffer("scale", torch.zeros(4))

    def forward(self, x: Tensor, gain: float = 1.0) -> Tensor:
        y = self.a(x)
        y = self.b(y) + self.scale
        y = self.c(y)
        for _ in range(3):
            y = self.a(self.b(y)) * gain
        if y.sum() > 0:
            y = y + 1
        return y
"""

# A module as real ones are: a few calls, one after the other, and code that has to do with no tensor around them.
ORDINARY = """
class M{n}(nn.Module):
    def __init__(self, width: int = 4, label: str = "m{n}") -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.ReLU(), {inner}
        self.width = width
        self.labels = [label, label.upper()]

    def forward(self, x: Tensor) -> Tensor:
{calls}
        return x

    def describe(self, prefix: str = "") -> str:
"""
# What fills a module up to twenty lines.
FILLING = (
    "        total = sum(len(label) for label in self.labels)",
    '        text = f"{prefix}{self.labels[0]}:{self.width}:{total}"',
    "        sizes = {label: len(label) for label in self.labels}",
    "        total += max(sizes.values()) // 2",
    "        text = text.lower() if total > self.width else text",
)


COUNT = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")


def _mypy(
    folder: Path, plugin: str | None, paths: list[str], *options: str, under: tuple[str, ...] = ()
) -> tuple[float, list[str]]:
    """User and system CPU seconds of a run, or its instructions in 10⁹ under valgrind, and its error lines."""
    config = folder / ("with.ini" if plugin else "without.ini")
    config.write_text(f"[mypy]\n{f'plugins = {plugin}' if plugin else ''}\n", encoding="utf-8")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # The plugin's compiled files may be kept, as mypy's own are.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [
            *under,
            *(sys.executable, "-m", "mypy", "--config-file", str(config), "--no-error-summary", "--no-pretty"),
            *("--cache-dir", str(folder / config.stem), *options, *paths),
        ],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if under:
        counted = re.search(r"I +refs: +([\d,]+)", done.stderr)
        spent = int(counted[1].replace(",", "")) / 1e9 if counted else float("nan")
    elif done.stderr.strip() or "INTERNAL ERROR" in done.stdout:
        print(done.stderr[-2000:], file=sys.stderr)
    return spent, [line for line in done.stdout.splitlines() if ": error: " in line]


def ordinary_module(number: int, calls: float) -> str:
    """A module of twenty lines, of which so many on average are calls of modules."""
    inner = f"M{number - 1}()" if number else "nn.Identity()"
    count = int(calls * (number + 1)) - int(calls * number)
    lines = [f"        x = self.{'abc'[each % 3]}(x)" for each in range(count)] or ["        x = x.clone()"]
    text = ORDINARY.format(n=number, inner=inner, calls="\n".join(lines))
    filling = [*FILLING, *(f"        total += {each}" for each in range(3))]
    missing = 19 - text.count("\n")
    return text + "".join(line + "\n" for line in filling[:missing]) + '        return f"{text}{total}"\n'


def overhead(rounds: int, instructions: bool = False, calls: float | None = None) -> str:
    """The row for the generated file: with five calls in each module, all in tensor arithmetic, or with `calls`.

    The third figure is mypy without the plugin where the same types are written by hand, `self.a.forward(x)` and
    `scale: Tensor`: what typed calls cost by being checked, whoever types them.
    """
    classes = [MODULE.format(n=n, inner=f"M{n - 1}()" if n else "nn.Identity()") for n in range(1000)]
    if calls is not None:
        classes = [ordinary_module(n, calls) for n in range(1000)]
    text = "import torch\nfrom torch import Tensor, nn\n" + "".join(classes)
    by_hand = re.sub(r"self\.([abc])\(", r"self.\1.forward(", text)
    if calls is None:
        by_hand = by_hand.replace("    def __init__", "    scale: Tensor\n\n    def __init__")
    total = len(re.findall(r"self\.[abc]\(", text))
    ways = [(None, text), ("tensorlint.mypy_plugin", text), (None, by_hand)]
    spent: list[list[float]] = [[] for _ in ways]
    with tempfile.TemporaryDirectory() as name:
        for number in range(2 if instructions else rounds + 1):
            for index, ((plugin, source), times) in enumerate(zip(ways, spent, strict=True)):
                folder = Path(name) / str(index)
                folder.mkdir(exist_ok=True)
                program = folder / "generated.py"
                program.write_text(f"{source}# {number}\n", encoding="utf-8")
                under = COUNT if instructions and number else ()
                times.append(_mypy(folder, plugin, [str(program)], under=under)[0])
    without, with_, typed = (min(times[1:]) for times in spent)  # the first fills the library's cache
    unit = "·10⁹ instructions" if instructions else "s"
    return (
        f"| generated: {text.count(chr(10)):,} lines, 1,000 modules, {total:,} calls | {without:.2f} {unit} "
        f"| {with_:.2f} {unit} ({100 * (with_ / without - 1):+.0f} %) "
        f"| {typed:.2f} {unit} ({100 * (typed / without - 1):+.0f} %) where the same types are written by hand: "
        f"the plugin itself {100 * (with_ / typed - 1):+.0f} % |"
    )


def package(paths: list[str], errors: Path | None) -> str:
    """The row for real code; the errors that only the plugin brings go to `errors` or to standard output."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        counts = folder / "calls.txt"
        (folder / "counting.py").write_text(COUNTING.format(output=str(counts)), encoding="utf-8")
        # Calls in functions without annotations are calls as well.
        options = ("--check-untyped-defs", "--ignore-missing-imports")
        _, without = _mypy(folder, None, paths, *options)
        _, with_ = _mypy(folder, str(folder / "counting.py"), paths, *options)
        seen = dict(line.rsplit(" ", 1) for line in counts.read_text(encoding="utf-8").splitlines())
        calls, typed = len(seen), sum(value == "1" for value in seen.values())
    # By place and code: the same error about a better known type is the same error.
    keyed = [{re.sub(r"error: .*(\[.*\])$", r"\1", line): line for line in lines} for lines in (without, with_)]
    new = [keyed[1][key] for key in sorted(keyed[1].keys() - keyed[0].keys())]
    gone = [keyed[0][key] for key in sorted(keyed[0].keys() - keyed[1].keys())]
    if errors is not None:
        errors.write_text("".join(f"+ {line}\n" for line in new) + "".join(f"- {line}\n" for line in gone))
    else:
        print("\n".join(f"+ {line}" for line in new))
    label = ", ".join(re.sub(r".*packages/|.*src/", "", path) for path in paths)
    return (
        f"| {label} | {len(without)} errors | {len(with_)} errors: {len(new)} new, {len(gone)} gone "
        f"| {typed} of {calls} module calls typed |"
    )


def real_time(paths: list[str], rounds: int) -> str:
    """The row for what the plugin costs on real code."""
    options = ("--check-untyped-defs", "--ignore-missing-imports")
    ways = (None, "tensorlint.mypy_plugin")
    new: list[list[float]] = [[], []]
    same: list[list[float]] = [[], []]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        libraries = folder / "libraries.py"
        libraries.write_text(
            "import numpy, torch.distributed, torch.fx, torch.jit, torch.nn.functional, torch.utils.checkpoint\n",
            encoding="utf-8",
        )
        for plugin in ways:
            _mypy(folder, plugin, [str(libraries)], *options)
        for cache in ("with", "without"):
            (folder / cache).rename(folder / f"{cache} libraries")
        for _ in range(rounds):
            for index, plugin in enumerate(ways):
                cache = folder / ("with" if plugin else "without")
                shutil.rmtree(cache, ignore_errors=True)
                shutil.copytree(folder / f"{cache.name} libraries", cache)
                new[index].append(_mypy(folder, plugin, paths, *options)[0])
                same[index].append(_mypy(folder, plugin, paths, *options)[0])
    cells = [
        f"{min(without):.2f} s {when}, {min(with_):.2f} s with the plugin ({100 * (min(with_) / min(without) - 1):+.1f} %)"
        for when, (without, with_) in (("the files new", new), ("nothing changed", same))
    ]
    label = ", ".join(re.sub(r".*packages/|.*src/", "", path) for path in paths)
    return f"| {label} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["overhead", "package", "time"])
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--errors", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--calls", type=float, help="calls of modules in each module, in ordinary code around them")
    parser.add_argument("--store", action="store_true")
    options = parser.parse_args()
    if options.what == "overhead":
        row = overhead(options.rounds, options.instructions, options.calls)
    elif options.what == "time":
        row = real_time(options.paths, options.rounds)
    else:
        row = package(options.paths, options.errors)
    print(row)
    if options.store:
        if not RESULTS.exists():
            RESULTS.write_text(
                "# The mypy plugin\n\n| code | without | with | |\n|---|---|---|---|\n", encoding="utf-8"
            )
        with RESULTS.open("a", encoding="utf-8") as stream:
            from mypy.version import __version__

            stream.write(f"{row[:-2]}; mypy {__version__}, {datetime.date.today()} |\n")


if __name__ == "__main__":
    main()
