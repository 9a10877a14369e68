"""How often the first divergent operation is named at the right line, and how often in vain.

    python benchmarks/divergence_corpus.py                     the two thirds that may be looked at
    python benchmarks/divergence_corpus.py --aside             the third that was kept aside
    python benchmarks/divergence_corpus.py --all --write       everything, written to benchmarks/results/divergence_corpus.md

The programs are in tests/plugin/determinism/divergence_programs. A planted program that happens to agree in a trial (a
coin fell the same way) is run again, up to five times.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "plugin" / "determinism"
sys.path.insert(0, str(PROGRAMS))

_CHILD = """
import sys, torch
sys.path.insert(0, {programs!r})
from divergence_programs import PLANTED, diverging
from pytest_tensorcheck.determinism import LogWriter
log = LogWriter(sys.argv[1])
for name in sys.argv[2:]:
    run = PLANTED[name].make()
    torch.manual_seed(0)
    with log.recording(name):
        run()
log.close()
"""


def in_processes(names: list[str], seeds: tuple[int, int]) -> dict[str, Any]:
    """Record the programs in two processes with different hash seeds and compare the logs."""
    from pytest_tensorcheck.determinism import compare_logs

    with tempfile.TemporaryDirectory() as folder:
        logs = []
        for seed in seeds:
            log = os.path.join(folder, f"{seed}.jsonl")
            subprocess.run(
                [sys.executable, "-c", _CHILD.format(programs=str(PROGRAMS)), log, *names],
                check=True,
                cwd=ROOT,
                env={**os.environ, "PYTHONHASHSEED": str(seed)},
            )
            logs.append(log)
        return compare_logs(*logs)


def judge(program: Any, divergence: Any) -> tuple[bool, bool, bool, str]:
    """Whether the line, the line of the origin and the kind of cause are right; and what was said."""
    if divergence is None:
        return False, False, False, "nothing found"
    where = divergence.where
    line = where is not None and where.line in program.lines("DIVERGES")
    origins = program.lines("ORIGIN")
    told = {evidence.where.line for evidence in divergence.evidence if evidence.where is not None}
    if where is not None:
        told.add(where.line)
    return (
        line,
        not origins or bool(origins & told),
        divergence.cause.name in program.causes,
        f"{divergence.cause.name} at {where}",
    )


def run_planted(names: list[str], trials: int) -> dict[str, list[tuple[bool, bool, bool, str]]]:
    import torch
    from divergence_programs import PLANTED

    from pytest_tensorcheck.determinism import DivergenceError, deterministic

    results: dict[str, list[tuple[bool, bool, bool, str]]] = {name: [] for name in names}
    separate = [name for name in names if PLANTED[name].processes]
    for trial in range(trials):
        found = in_processes(separate, (2 * trial + 1, 2 * trial + 2)) if separate else {}
        for name in names:
            program = PLANTED[name]
            if program.processes:
                results[name].append(judge(program, found[name]))
                continue
            torch.set_num_threads(2)
            divergence = None
            for _ in range(5):
                try:
                    deterministic(program.make(), threads=program.threads)
                except DivergenceError as error:
                    divergence = error.divergence
                    break
            results[name].append(judge(program, divergence))
    return results


def run_clean(names: list[str], repetitions: int) -> dict[str, str]:
    """The clean programs that were accused, with the text."""
    import torch
    from divergence_programs import CLEAN

    from pytest_tensorcheck.determinism import DivergenceError, deterministic

    torch.set_num_threads(2)
    accused = {}
    for name in names:
        for _ in range(repetitions):
            try:
                deterministic(CLEAN[name].make())
            except DivergenceError as error:
                accused[name] = str(error)
                break
    return accused


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--aside", action="store_true", help="only the third kept aside")
    which.add_argument("--all", action="store_true", help="everything")
    parser.add_argument("--trials", type=int, default=3, help="runs of each planted program")
    parser.add_argument("--repetitions", type=int, default=20, help="runs of each clean program")
    parser.add_argument("--write", action="store_true", help="write the results file")
    parser.add_argument("names", nargs="*", help="only these programs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")

    import divergence_programs.diverging
    import divergence_programs.repeating  # noqa: F401
    import numpy
    import torch
    from divergence_programs import CLEAN, PLANTED

    def chosen(programs: dict[str, Any]) -> list[str]:
        if options.names:
            return [name for name in programs if name in options.names]
        return [name for name, program in programs.items() if options.all or program.kept_aside == options.aside]

    lines = [
        "# The first divergent operation: the corpus",
        "",
        f"{datetime.date.today()}, torch {torch.__version__}, numpy {numpy.__version__}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, no GPU. `python benchmarks/divergence_corpus.py --all --write`",
        "",
        f"{options.trials} trials of each planted program, {options.repetitions} runs of each clean one. Of each program: "
        "the line of the operation, the line of the cause where that is another one, the kind of cause.",
        "",
        "| program | kept aside | line | origin | kind | said |",
        "|---|---|---|---|---|---|",
    ]
    planted = run_planted(chosen(PLANTED), options.trials)
    totals = {True: [0, 0, 0, 0], False: [0, 0, 0, 0]}
    for name, judged in planted.items():
        aside = PLANTED[name].kept_aside
        counts = [sum(j[k] for j in judged) for k in range(3)]
        for k in range(3):
            totals[aside][k] += counts[k]
        totals[aside][3] += len(judged)
        said = next((j[3] for j in judged if not all(j[:3])), judged[-1][3])
        shares = " | ".join(f"{count}/{len(judged)}" for count in counts)
        lines.append(f"| {name} | {'yes' if aside else ''} | {shares} | {said} |")
    accused = run_clean(chosen(CLEAN), options.repetitions)
    lines.append("")
    for aside, label in ((False, "looked at"), (True, "kept aside")):
        line, origin, kind, number = totals[aside]
        if number:
            lines.append(
                f"* planted, {label}: right line {line}/{number}, origin {origin}/{number}, kind {kind}/{number}"
            )
    lines.append(f"* clean: {len(chosen(CLEAN))} programs, accused: {', '.join(accused) or 'none'}")
    print("\n".join(lines))
    for text in accused.values():
        print(text)
    if options.write:
        results = ROOT / "benchmarks" / "results" / "divergence_corpus.md"
        results.parent.mkdir(exist_ok=True)
        results.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
