"""What is said of every expression, also of those that get no name, beside what it gives."""

from __future__ import annotations

import contextlib
import io
import random
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

import called_programs
import handed_on_programs
import inplace_programs
import size_programs
import statement_programs
from expression_claims import wrong_expressions
from test_inference_adversaries import PROGRAMS

MAKERS = {
    each.__name__: each.make
    for each in (called_programs, handed_on_programs, inplace_programs, size_programs, statement_programs)
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_wrong_is_said_of_an_expression_of_a_program_made_to_mislead(name: str, tmp_path: Path) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            wrong, _ = wrong_expressions(tmp_path / "adversary.py", PROGRAMS[name])
        except ModuleNotFoundError as error:
            pytest.skip(f"runs {error.name}, which is not installed")
    assert wrong == {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 60, 20))
@pytest.mark.parametrize("kind", MAKERS)
def test_nothing_wrong_is_said_of_an_expression_of_random_programs(kind: str, first: int, tmp_path: Path) -> None:
    claimed = 0
    for seed in range(first, first + 20):
        random.seed(seed)
        source = MAKERS[kind](seed)
        wrong, claims = wrong_expressions(tmp_path / "program.py", source)
        assert wrong == {}, source
        claimed += claims
    assert claimed > 100
