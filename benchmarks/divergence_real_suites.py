"""Other packages' own tests, with the plugin and without: the same outcomes, and what was found.

    python benchmarks/divergence_real_suites.py FOLDER [--python PYTHON] [--write]

FOLDER holds unpacked source distributions of einops, linear_operator and gpytorch, whose dependencies PYTHON has
(`pip download --no-deps --no-binary :all: einops linear_operator gpytorch`). Each suite runs plainly, then with --tensorcheck, then with
every check on report; a test whose outcome differs is named.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).resolve().parent / "results" / "divergence_real_suites.md"


class Suite(NamedTuple):
    """`folder` and `tests` are globs inside FOLDER; `environment` is what the suite asks for."""

    name: str
    folder: str
    tests: tuple[str, ...]
    environment: dict[str, str]


SUITES = (
    Suite("einops", "einops-*", ("einops/tests",), {"EINOPS_TEST_BACKENDS": "numpy,torch"}),
    Suite("linear_operator", "linear_operator-*", ("test/functions", "test/utils"), {}),
    Suite(
        "gpytorch",
        "gpytorch-*",
        ("test/distributions", "test/means", "test/likelihoods", "test/kernels/test_rbf_kernel.py"),
        {},
    ),
)
EVERYTHING = tuple(f"--tensorcheck-{check}=report" for check in ("state", "broadcast", "sync", "numerics"))
MODES: dict[str, tuple[str, ...]] = {
    "plain": (),
    "--tensorcheck": ("--tensorcheck",),
    "everything on report": ("--tensorcheck", *EVERYTHING),
}


def run(
    python: str, folder: Path, suite: Suite, options: tuple[str, ...]
) -> tuple[dict[str, str], dict[str, object], float]:
    """Outcomes by test, the plugin's JSON report, seconds."""
    with tempfile.TemporaryDirectory() as scratch:
        outcomes, report = Path(scratch, "outcomes.xml"), Path(scratch, "report.json")
        tests = [test for test in suite.tests if (folder / test).exists()]
        command = [
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:randomly",
            "-p",
            "no:cacheprovider",
            f"--junitxml={outcomes}",
        ]
        command += [*options, *((f"--tensorcheck-json={report}",) if options else ()), *tests]
        start = time.perf_counter()
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", **suite.environment},
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - start
        if not outcomes.exists():
            raise SystemExit(f"{suite.name}: pytest did not run\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        found: dict[str, str] = {}
        for case in ElementTree.parse(outcomes).iter("testcase"):
            kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            found[f"{case.get('classname')}::{case.get('name')}"] = kinds[0] if kinds else "passed"
        facts = json.loads(report.read_text()) if report.exists() else {}
        return found, facts, seconds


def observations(facts: object) -> Counter[str]:
    """Every observation of the JSON report, wherever it stands: check and message."""
    found: Counter[str] = Counter()
    if isinstance(facts, dict):
        if "check" in facts and "message" in facts:
            found[f"{facts['check']}: {facts['message']} ({facts.get('path', '')}:{facts.get('line', '')})"] += 1
        for value in facts.values():
            found += observations(value)
    elif isinstance(facts, list):
        for value in facts:
            found += observations(value)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    versions = subprocess.run(
        [
            options.python,
            "-c",
            "import torch, numpy, pytest; print(torch.__version__, numpy.__version__, pytest.__version__)",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    lines = [
        "# Other packages' own tests with the plugin",
        "",
        f"{datetime.date.today()}, torch {versions[0]}, numpy {versions[1]}, pytest {versions[2]}, Python {platform.python_version()}, "
        "one thread. `python benchmarks/divergence_real_suites.py FOLDER --write`",
        "",
        "| suite | mode | passed | failed | errors | skipped | other outcome than plain | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    details: list[str] = []
    differing = 0
    for suite in SUITES:
        folder = next(iter(sorted(options.folder.glob(suite.folder))), None)
        if folder is None or not folder.is_dir():
            raise SystemExit(f"{options.folder} holds no {suite.folder}")
        plain: dict[str, str] = {}
        for mode, flags in MODES.items():
            found, facts, seconds = run(options.python, folder.resolve(), suite, flags)
            plain = plain or found
            other = [name for name in sorted(plain.keys() | found.keys()) if plain.get(name) != found.get(name)]
            differing += len(other)
            counts = Counter(found.values())
            numbers = " | ".join(str(counts[kind]) for kind in ("passed", "failure", "error", "skipped"))
            lines.append(f"| {folder.name} | {mode} | {numbers} | {len(other)} | {seconds:.1f} |")
            details += [f"* {folder.name}, {mode}: {name} {plain.get(name)} → {found.get(name)}" for name in other]
            if mode == "everything on report":
                seen = observations(facts)
                details.append(f"* {folder.name}: {sum(seen.values())} observations, {len(seen)} different")
                details += [
                    f"    * {count} × {text.replace(str(folder.resolve()) + '/', '')}"
                    for text, count in seen.most_common(12)
                ]
    print("\n".join([*lines, "", *details]))
    if options.write:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text("\n".join([*lines, "", *details]) + "\n", encoding="utf-8")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
