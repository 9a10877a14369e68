"""Put the real output of the example project into the README, between its `<!-- output: NAME -->` marks.

`python docs/render_readme.py` rewrites the README; `--check` fails if it would change. A test runs the latter, so what
the README shows is what the commands print.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BUGGY = ROOT / "examples" / "charformer_buggy"
CLEAN = ROOT / "examples" / "charformer"
_EVALUATIONS = re.compile(r"\b\d+ evaluations")
_MARK = re.compile(r"(<!-- output: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def run(folder: Path, *command: str) -> str:
    """What a command prints in a folder."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "120", "PYTHONHASHSEED": "0"}
    environment["PYTHONUTF8"] = "1"
    # What pytest and the tools look at to choose how much, and in which colours, they write.
    for name in ("PYTEST_ADDOPTS", "CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS", "TESTS_SEED"):
        environment.pop(name, None)
    for name in [name for name in environment if name.startswith("PYTEST_XDIST")]:
        del environment[name]
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return result.stdout


def tensorlint(folder: Path, *arguments: str) -> str:
    return run(folder, sys.executable, "-m", "tensorlint", *arguments)


def pytest(folder: Path, *arguments: str) -> list[str]:
    """The lines of a test session of its own, without other plugins and without a cache."""
    plugins = ("-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:rerunfailures", "-p", "no:asyncio")
    command = (sys.executable, "-m", "pytest", "--tensorcheck", "-q", *plugins, *arguments)
    return run(folder, *command).splitlines()


def failure(lines: Iterable[str]) -> str:
    """The error lines of the first failure, without pytest's margin, and the command that reproduces it."""
    lines = list(lines)
    shown: list[str] = []
    for line in lines:
        if line.startswith("E  "):
            shown.append(line[1:])
        elif shown and not line.startswith("E"):
            break
    text = textwrap.dedent("\n".join(shown)).rstrip()
    return re.sub(r"\A(?:\w+\.)*(\w+Error): ", r"\1: ", text)


def summary(lines: list[str]) -> str:
    start = next(at for at, line in enumerate(lines) if re.fullmatch(r"=+ tensorcheck =+", line))
    end = next(at for at in range(start + 1, len(lines)) if lines[at].startswith("===="))
    return "\n".join(["tensorcheck", *(f"  {line}" for line in lines[start + 1 : end])])


def outputs() -> dict[str, str]:
    """Every block of the README by its name."""
    session = pytest(BUGGY)
    starts = {
        "gradient": "test_gradient_of_squared_relu",
        "sync": "test_step_does_not_wait_for_the_device",
        "broadcast": "test_surprise_compares_each_text_with_itself",
    }
    blocks: dict[str, str] = {}
    for name, test in starts.items():
        at = next(at for at, line in enumerate(session) if re.fullmatch(rf"_+ {test} _+", line))
        blocks[name] = failure(session[at:])
    blocks["summary"] = summary(session)
    blocks["check"] = tensorlint(BUGGY, "check", "--no-cache").strip()
    shown = tensorlint(CLEAN, "shapes", "charformer/model.py").splitlines()
    first = next(at for at, line in enumerate(shown) if "B, T, C = x.shape" in line)
    blocks["shapes"] = "\n".join(re.sub(r"^ {8}", "", line) for line in shown[first : first + 10])
    return blocks


def rendered(text: str) -> str:
    blocks = outputs()
    return _MARK.sub(lambda match: f"{match[1]}```text\n{_stable(blocks[match[2]], match[0])}\n```\n{match[3]}", text)


def _stable(shown: str, before: str) -> str:
    """The output with the number of evaluations that the README has: how many a gradient check takes follows from the last
    bits of the sums, and so from the processor."""
    count = _EVALUATIONS.search(before)
    return _EVALUATIONS.sub(count[0], shown) if count else shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the README is out of date")
    check = parser.parse_args().check
    text = README.read_text(encoding="utf-8")
    new = rendered(text)
    if not check:
        if new != text:
            README.write_text(new, encoding="utf-8")
        return 0
    if new != text:
        print("README.md is out of date: run python docs/render_readme.py", file=sys.stderr)
    return int(new != text)


if __name__ == "__main__":
    sys.exit(main())
