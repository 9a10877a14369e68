"""Programs restated from public code, each with its fault and without: the rules on all of them, `datasets` on some.

`benchmarks/fingerprint_pairs.py` runs `datasets` on every one of them.
"""

from __future__ import annotations

import importlib.util
import sys
import zlib

import pytest
from fingerprint_oracle import moves, run
from fingerprint_programs import ROWS, code_of, codes, pairs, programs

from tensorlint.checking import Selection, findings_of
from tensorlint.fixes import fix
from tensorlint.rules.registry import load
from tensorlint.source import PythonSource

PAIRS = pairs("pairs")
RIGHT = programs("right")
NOT_CACHED = {title: code.removeprefix(ROWS) for title, code in programs("right_not_cached").items()}
needs_datasets = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("datasets", "torch", "requests", "tqdm"))
    or sys.platform == "win32",
    reason="needs datasets and torch, and a system that forks",
)


def test_there_are_enough() -> None:
    assert len(PAIRS) >= 140
    assert len(RIGHT) + len(NOT_CACHED) >= 90


@pytest.mark.parametrize("title", PAIRS)
def test_the_fault_has_a_finding_of_its_rule_and_the_repair_none(title: str) -> None:
    bad, good = PAIRS[title]
    assert code_of(title.split()[0]) in codes(bad)
    assert codes(good) == []


@pytest.mark.parametrize("title", RIGHT)
def test_what_looks_like_a_fault_is_silent(title: str) -> None:
    assert codes(RIGHT[title]) == []


@pytest.mark.parametrize("title", NOT_CACHED)
def test_what_is_not_kept_under_a_fingerprint_is_silent(title: str) -> None:
    assert codes(NOT_CACHED[title]) == []


def repaired(code: str) -> str:
    """The program after `--fix` of TSR402."""
    selection = Selection(frozenset(("TSR402",)))
    done = fix(
        PythonSource("case.py", code), lambda source: findings_of(source, load(), selection, None)[0], unsafe=False
    )
    return done.source.text


@pytest.fixture(scope="module")
def fixed() -> dict[str, str]:
    return {title: after for title, (bad, _) in PAIRS.items() if (after := repaired(bad)) != bad}


def test_the_fix_leaves_nothing_to_report(fixed: dict[str, str]) -> None:
    assert len(fixed) >= 15
    assert [title for title, code in fixed.items() if codes(code)] == []


@needs_datasets
def test_the_library_agrees_on_a_sample(fixed: dict[str, str]) -> None:
    chosen: dict[str, tuple[str, bool]] = {}
    for title, (bad, good) in PAIRS.items():
        if zlib.crc32(title.encode()) % 8 == 0 and "sklearn" not in bad:
            chosen |= {f"moving: {title}": (bad, True), f"staying: {title}": (good, False)}
    for title, code in fixed.items():
        if zlib.crc32(title.encode()) % 3 == 0:
            chosen[f"fixed: {title}"] = (code, False)
    for title, code in RIGHT.items():
        if zlib.crc32(title.encode()) % 8 == 0:
            chosen[f"right: {title}"] = (code, False)
    assert len(chosen) >= 20
    fingerprints = run({name: code for name, (code, _) in chosen.items()})
    assert [name for name, (_, expects) in chosen.items() if moves(fingerprints[name]) is not expects] == []
