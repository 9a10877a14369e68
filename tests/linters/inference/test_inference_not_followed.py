"""The misleading programs again, with calls of their functions not followed, as of decorated ones or beyond the bounds:
what is not followed has to be taken for what it may do, whatever it is."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import PROGRAMS, wrong_claims

from tensorlint.inference.analysis import analyse
from tensorlint.inference.interpreter import Interpreter

CALLING = {name: source for name, source in PROGRAMS.items() if "def " in source or "lambda" in source}
# What `docs/inference.md` says is not seen.
NOT_SEEN = {
    "param base": "a class that a function derives from what it is given",
}


def follow_no_more_than(share: float, seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, follow = random.Random(seed), Interpreter.call_function

    def call_function(self, function, args, kwargs, node):
        if chosen.random() >= share:
            return self.unseen_result(function, args, kwargs)
        return follow(self, function, args, kwargs, node)

    monkeypatch.setattr(Interpreter, "call_function", call_function)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLING)
def test_nothing_wrong_is_said_where_no_call_is_followed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if name in NOT_SEEN:
        request.applymarker(pytest.mark.xfail(reason=NOT_SEEN[name], strict=True))
    follow_no_more_than(0, name, monkeypatch)
    try:
        wrong = wrong_claims(tmp_path / "adversary.py", CALLING[name])
    except ModuleNotFoundError as error:
        pytest.skip(f"runs {error.name}, which is not installed")
    assert wrong == {}


def test_something_is_followed_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import torch\n\n\ndef make():\n    return torch.zeros(2)\n\n\nx = make()\n"
    assert [row.shape for row in analyse(ast.parse(source), source).bindings] == [(2,)]
    follow_no_more_than(0, "", monkeypatch)
    assert analyse(ast.parse(source), source).bindings == []


PROGRAM = """
import torch
from elsewhere import change


def main(xs, data):
    before = torch.zeros(len(xs))
    first = torch.zeros(data.x.shape[0])
    {statement}
    y = {asked}
    return y
"""
UNKNOWN_CALLS = [
    ("change(xs)", "torch.zeros(len(xs))", False),
    ("change(data)", "torch.zeros(data.x.shape[0])", False),
    ("change(data.x)", "torch.zeros(data.x.shape[0])", True),
    ("data.augment()", "torch.zeros(data.x.shape[0])", False),
    ("xs.sum()", "torch.zeros(len(xs))", True),
    ("len(data)", "torch.zeros(data.x.shape[0])", True),
]


@pytest.mark.parametrize(("statement", "asked", "known"), UNKNOWN_CALLS)
def test_sizes_of_what_unknown_code_had_in_hand(statement: str, asked: str, known: bool) -> None:
    """A size that is another one's is shown by that one's name, a new one by a question mark."""
    source = PROGRAM.format(statement=statement, asked=asked)
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (rows["y"] != ("?",)) == known
