"""What four type checkers read in the `__call__` that TSR302's fix writes.

    python benchmarks/typed_call_checkers.py [--store]

The program of the tests, with overloads, defaults, keyword-only and positional-only parameters, generic classes, a
ParamSpec, a hierarchy, nested and data classes, is given to mypy, pyright, pyrefly and ty before and after the fix, over
stubs of torch. A checker that is not installed is said to be missing; TENSORCHECK_TYPE_CHECKERS may name the folder of
the executables. `--store` writes benchmarks/results/typed_call_checkers.md.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "linters" / "mypy"))

import mypy_cases  # noqa: E402
import type_checkers  # noqa: E402
from mypy.version import __version__ as mypy_version  # noqa: E402
from test_mypy_typed_call import PROGRAM, STUBS, fixed  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "typed_call_checkers.md"


def _wrong(name: str, text: str) -> list[str]:
    """The lines of which the checker says something else than is right."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(text, encoding="utf-8")
        if name != "mypy":
            return type_checkers.wrong(type_checkers.check(name, program, STUBS), program)
        found, _ = mypy_cases.check([program], Path(folder) / "cache", stubs=STUBS, plugin=False, options=("--strict",))
        return mypy_cases.difference(mypy_cases.expected([program]), found).splitlines()


def table() -> str:
    before = PROGRAM.read_text(encoding="utf-8")
    after = fixed(before)
    wanted = mypy_cases.expected([PROGRAM])
    types = sum(kind == "N" for _, _, kind, _ in wanted)
    rows = [
        f"{types} types and {len(wanted) - types} errors are right. Wrong lines:",
        "",
        "| checker | version | before the fix | after |",
        "|---|---|---|---|",
    ]
    for name in ("mypy", *type_checkers.CHECKERS):
        if name != "mypy" and type_checkers.executable(name) is None:
            rows.append(f"| {name} | not installed | | |")
            continue
        version = mypy_version if name == "mypy" else type_checkers.version(name)
        counts = [len({line.split(": ")[0].lstrip("+- ") for line in _wrong(name, text)}) for text in (before, after)]
        rows.append(f"| {name} | {version} | {counts[0]} | {counts[1]} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="store_true")
    options = parser.parse_args()
    found = table()
    print(found)
    if options.store:
        text = (
            "# A typed `__call__` in four type checkers\n\n"
            f"`python benchmarks/typed_call_checkers.py --store`, {datetime.date.today()}. {found}\n"
        )
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
