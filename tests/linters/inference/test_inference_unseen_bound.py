"""How much may be asked about code that is not followed: at the bound the analysis ends, with what it has found."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tensorlint.inference import interpreter
from tensorlint.inference.analysis import Analysis, analyse
from tensorlint.inference.hazards import BroadcastHazard
from tensorlint.inference.interpreter import Interpreter


def registry(count: int) -> str:
    """Functions that are kept in a table, each of which changes what others see, between calls of nobody knows what."""
    lines = [
        "import torch",
        "from elsewhere import register, wrap",
        "TABLE = {}",
        "LOG = []",
        "top = torch.zeros(4, 1) - torch.zeros(4)",
    ]
    for at in range(count):
        lines += [
            f"STATE_{at} = [{at}]", f"def fallback_{at}(x, *args):", f"    global COUNT_{at}", f"    COUNT_{at} = x",
            f"    STATE_{max(at - 3, 0)}.append(x)", f"    LOG.append(fallback_{max(at - 1, 0)}(x))", "    return TABLE[x]()",
            f"HELD_{at} = [fallback_{at}, STATE_{at}]", f"TABLE[{at}] = fallback_{at}", f"register('{at}')(wrap(fallback_{at}))",
        ]  # fmt: skip
    return "\n".join([*lines, "end = torch.zeros(5, 1) - torch.zeros(5)"]) + "\n"


def _analysed(source: str) -> Analysis:
    failures: list[Exception] = []
    found = analyse(ast.parse(source), source, failures=failures)
    assert failures == []
    return found


def test_a_file_of_some_such_functions_is_followed_to_its_end() -> None:
    assert [row.name for row in _analysed(registry(10)).bindings] == ["top", "end"]


def test_what_was_found_before_the_bound_is_kept() -> None:
    source = registry(150)
    found = _analysed(source)
    assert [row.name for row in found.bindings] == ["top"]
    assert {hazard.node.lineno for hazard in found.hazards if isinstance(hazard, BroadcastHazard)} == {5}  # type: ignore[attr-defined]


def test_the_work_grows_with_the_length_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[ast.AST] = []
    before = Interpreter.read_here

    def counted(self: Interpreter, node: ast.AST, scope: object) -> object:
        read.append(node)
        return before(self, node, scope)  # type: ignore[arg-type]

    monkeypatch.setattr(Interpreter, "read_here", counted)
    counts = []
    for count in (100, 200):
        read.clear()
        _analysed(registry(count))
        counts.append(len(read))
    assert counts[1] < 3 * counts[0]  # it was 8 times as much for twice the length


@pytest.mark.parametrize("bound", [0, 10, 30, 100])
def test_nothing_wrong_is_said_at_any_bound(bound: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is the oracle")
    from called_programs import make
    from test_inference_adversaries import wrong_claims

    monkeypatch.setattr(interpreter, "UNSEEN_BASE", bound)
    monkeypatch.setattr(interpreter, "UNSEEN_PER_STATEMENT", 0)
    for seed in range(40):
        source = make(seed)
        assert wrong_claims(tmp_path / "program.py", source) == {}, source
