"""Runs every pair of programs of TSR401 to TSR403 in `datasets` and by the rules, and prints what each says.

usage: fingerprint_pairs.py

A pair is a program whose fingerprint moves between processes and the same program repaired. Every program runs in
fresh processes until it has moved, at most three (PYTHONHASHSEED 0, 1, 2; other settings in two of them). Exits 1 where a program does not do what
it is filed under, or a rule does not say so.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "linters" / "fingerprints"))

from fingerprint_oracle import moves, run
from fingerprint_programs import code_of, codes, pairs, programs


def main() -> int:
    """Run them all; the exit status."""
    known, right = pairs("pairs"), programs("right")
    expected: dict[str, tuple[str, bool]] = {}
    for title, (bad, good) in known.items():
        expected |= {f"moving: {title}": (bad, True), f"staying: {title}": (good, False)}
    expected |= {f"right: {title}": (code, False) for title, code in right.items()}
    if importlib.util.find_spec("sklearn") is None:
        expected = {name: pair for name, pair in expected.items() if "sklearn" not in pair[0]}
    fingerprints = run({name: code for name, (code, _) in expected.items()})
    wrong = [name for name, (_, expects) in expected.items() if moves(fingerprints[name]) is not expects]
    missed = [title for title, (bad, _) in known.items() if code_of(title.split()[0]) not in codes(bad)]
    alarms = [title for title, (_, good) in known.items() if codes(good)]
    alarms += [title for title, code in right.items() if codes(code)]
    print(f"datasets {version('datasets')}, dill {version('dill')}: {len(expected)} programs run")
    print(f"not as filed: {len(wrong)}", *wrong, sep="\n  ")
    print(f"caught: {len(known) - len(missed)} of {len(known)}", *missed, sep="\n  ")
    print(f"false alarms: {len(alarms)} of {len(known) + len(right)}", *alarms, sep="\n  ")
    return 1 if wrong or missed or alarms else 0


if __name__ == "__main__":
    sys.exit(main())
