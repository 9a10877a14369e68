"""The simulator over the corpus of known waits: every line found, next to no false alarm, no crash."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

import sync_corpus_runner as runner  # noqa: E402


@pytest.fixture(scope="module")
def corpus() -> Any:
    return runner.load_corpus()


def _results(corpus: Any, aside: bool) -> dict[str, dict[str, Any]]:
    out = {}
    for name, function in runner.functions(corpus, aside=aside).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out[name] = runner.run(function)
    return out


@pytest.mark.parametrize("aside", [False, True], ids=["tuned on", "put aside"])
def test_every_marked_line_is_found_and_no_other(corpus: Any, aside: bool) -> None:
    results = _results(corpus, aside)
    assert len(results) > 80
    wrong = {name: r for name, r in results.items() if r["missed"] or r["false"] or r["crash"]}
    assert wrong == {}


def test_the_corpus_is_large_enough_and_a_third_was_put_aside(corpus: Any) -> None:
    tuned, aside = (runner.functions(corpus, aside=flag) for flag in (False, True))
    assert len(tuned) + len(aside) >= 150
    assert len(aside) * 3 >= len(tuned)


def test_the_runner_would_notice(corpus: Any) -> None:
    """Without a wait where a mark is, and with one where none is."""
    assert runner.expected(corpus.read_item)
    assert not runner.expected(corpus.no_unpack)
    lines = {"missed": [], "false": [], "crash": ""}
    assert {key: runner.run(corpus.read_item)[key] for key in lines} == lines
