"""Whole test suites against the inference: every claim about a tensor or array, beside what the running code holds there.

    python benchmarks/inference_real_suites.py scipy --seconds 300 -- --pyargs scipy.signal
    python benchmarks/inference_real_suites.py kornia --project -- tests/geometry

The first argument names the package (or a folder) whose lines are traced while pytest, with what stands behind `--`,
runs the tests; the package, its tests and pytest must be there. Tests call a package's functions in more ways than its
own programs do: with lists, numbers, None, sparse matrices, frames, empty arrays. How a claim is held against a value
is told in inference_real_models.py. A number where an array without axes is claimed counts as one.

Prints one row of Markdown and the wrong claims, with the tests that showed them.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inference_real_models import Claims, Score, Tracer, prepare

_NUMBERS = (bool, int, float, complex)


class Suite(Tracer):
    """The tracer as a plugin of pytest: on while a test's own code runs."""

    def __init__(self, root: str, project: bool, seconds: float) -> None:
        super().__init__(Claims(project), Score(), (root,))
        self.seconds, self.end = seconds, float("inf")
        self.arrays = self.tests = 0
        self.shown_by: dict[tuple[str, int, str], str] = {}

    def compare_array(self, row: Any, value: Any, state: Any, values: dict[str, Any]) -> str | None:
        self.arrays += 1
        if type(value) in _NUMBERS and row.framework != "torch" and row.shape == () and row.dtype is None:
            return None
        return super().compare_array(row, value, state, values)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        if not self.tests:
            self.end = time.monotonic() + self.seconds
        if time.monotonic() > self.end:
            pytest.skip("out of time")
        self.tests += 1
        sys.settrace(self)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            for place in self.score.wrong:
                self.shown_by.setdefault(place, item.nodeid)


def folder_of(name: str) -> Path:
    """The folder of the package, or the folder itself."""
    if Path(name).is_dir():
        return Path(name).resolve()
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"{name} is neither a folder nor an installed package")
    return Path(next(iter(found.submodule_search_locations))).resolve()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("package", help="whose lines are traced: a package or a folder")
    options.add_argument("--project", action="store_true", help="files see one another, as in `tensorlint check`")
    options.add_argument("--seconds", type=float, default=300, help="tests that would begin later are skipped")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments, tests = options.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]
    root = folder_of(arguments.package)
    if importlib.util.find_spec("torchvision") is not None:
        prepare("torchvision")
    suite = Suite(str(root), arguments.project, arguments.seconds)
    pytest.main(["-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=no", *tests], plugins=[suite])
    score = suite.score
    print("\n| package | view | tests | files | tensors' claims checked | arrays' | wrong claims |")
    print("|---|---|---:|---:|---:|---:|---:|")
    view = "package" if arguments.project else "file"
    print(
        f"| {' '.join([arguments.package, *tests])} | {view} | {suite.tests:,} | {len(suite.claims.files):,} "
        f"| {score.checks:,} | {suite.arrays:,} | {len(score.wrong)} |\n"
    )
    for (path, line, name), problem in sorted(score.wrong.items()):
        print(f"- {Path(path).relative_to(root.parent)}:{line} {name}: {problem} ({suite.shown_by[path, line, name]})")
    return 1 if score.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
