"""The corpus of benchmarks/divergence_corpus.py, each program once; there they run often, and in two processes where order is the point."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("numpy", reason="needs numpy")

from divergence_programs import CLEAN, PLANTED, diverging, repeating  # noqa: E402

from pytest_tensorcheck.determinism import DivergenceError, deterministic  # noqa: E402

SAMPLED = [
    program
    for program in PLANTED.values()
    if not program.processes and not program.heavy and "WORKERS" not in program.causes
]


def test_the_corpus_is_as_large_as_it_says():
    assert len(PLANTED) >= 40
    assert len(CLEAN) >= 20
    assert diverging.__name__ in {program.make.__module__ for program in PLANTED.values()}
    assert repeating.__name__ in {program.make.__module__ for program in CLEAN.values()}
    for programs in (PLANTED, CLEAN):
        assert len(programs) / 4 <= sum(program.kept_aside for program in programs.values()) <= len(programs) / 2


@pytest.mark.parametrize("program", SAMPLED, ids=lambda program: program.name)
def test_a_planted_cause_is_named(program):
    for _ in range(5):
        try:
            deterministic(program.make(), threads=program.threads)
        except DivergenceError as error:
            divergence = error.divergence
            break
    else:
        pytest.fail("nothing found")
    assert divergence.where.line in program.lines("DIVERGES")
    told = {divergence.where.line} | {evidence.where.line for evidence in divergence.evidence if evidence.where}
    assert not program.lines("ORIGIN") or told & program.lines("ORIGIN")
    assert divergence.cause.name in program.causes


@pytest.mark.parametrize("program", CLEAN.values(), ids=lambda program: program.name)
def test_a_clean_program_is_not_accused(program):
    for _ in range(2):
        deterministic(program.make())
