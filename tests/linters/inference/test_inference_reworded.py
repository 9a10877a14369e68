"""Nothing wrong is said of a program that says the same in other words."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

import called_programs
import handed_on_programs
import inplace_programs
import size_programs
import statement_programs
from reworded_programs import reworded
from test_inference_adversaries import wrong_claims

MAKERS = {
    each.__name__: each.make
    for each in (called_programs, handed_on_programs, inplace_programs, size_programs, statement_programs)
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 80, 20))
@pytest.mark.parametrize("kind", MAKERS)
def test_nothing_wrong_is_said_of_random_programs_in_other_words(kind: str, first: int, tmp_path: Path) -> None:
    ran = 0
    for seed in range(first, first + 20):
        random.seed(seed)
        made = reworded(MAKERS[kind](seed), seed)
        if made is None:
            continue
        random.seed(seed)
        wrong: dict[object, str] = {}
        with contextlib.suppress(Exception):  # other words may not run
            wrong = wrong_claims(tmp_path / "program.py", made[0])
            ran += 1
        assert wrong == {}, made[0]
    assert ran > 10
