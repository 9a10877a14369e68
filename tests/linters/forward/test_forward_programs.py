"""TSR301 on programs restated from public code: the hook is skipped in each of them, and in none of the repaired ones."""

from __future__ import annotations

import importlib.util

import pytest
from forward_programs import forwards, goes_past_call, imported, others, programs, repaired

PAIRS = {
    title: (bad, good)
    for name in ("first", "second", "third", "fourth", "fifth", "sixth")
    for title, (bad, good) in programs(name).items()
    if bad is not None
}
RIGHT = {title: good for title, (_, good) in programs("right").items()}
# What needs a download, a file, other processes or a screen is read, not run.
NOT_RUN = (
    "from_pretrained",
    "torch.distributed",
    "torch.hub",
    "torch.load(",
    "SentenceTransformer(",
    "turtle",
    "torch.jit",
    "pipeline(",
)


def runs(code: str) -> bool:
    here = all(importlib.util.find_spec(name) is not None for name in imported(code))
    return here and not any(text in code for text in NOT_RUN)


def test_there_are_enough() -> None:
    assert len(PAIRS) >= 115
    assert len(RIGHT) >= 75


@pytest.mark.parametrize("title", PAIRS)
def test_a_direct_call_is_seen_and_the_call_is_silent(title: str) -> None:
    bad, good = PAIRS[title]
    assert forwards(bad)
    assert forwards(good) == []


@pytest.mark.parametrize("title", RIGHT)
def test_what_looks_like_it_is_silent(title: str) -> None:
    assert others(RIGHT[title]) == []


@pytest.mark.parametrize("title", [title for title, (bad, _) in PAIRS.items() if runs(bad)])
def test_python_goes_past_the_call_in_the_fault_only(title: str) -> None:
    pytest.importorskip("torch", reason="runs torch")
    bad, good = PAIRS[title]
    assert goes_past_call(bad)
    assert not goes_past_call(good)


@pytest.mark.parametrize("title", PAIRS)
def test_the_fix_repairs_the_program(title: str) -> None:
    """A bound forward that is kept has no fix; everything else runs through the call afterwards."""
    bad, good = PAIRS[title]
    fixed = repaired(bad)
    if any(finding.fix is None for finding in forwards(bad)):
        assert fixed == bad
    else:
        assert fixed == good
