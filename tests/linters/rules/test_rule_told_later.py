"""What a later statement tells of an object's axes is known before it, where a rule judges by that: the function is followed once
more, and only then, for `check` shows no shapes."""

import ast

import pytest

from tensorlint.inference.analysis import analyse
from tensorlint.inference.hazards import RevealShapeHazard

JUDGED = [
    "    y = x.sum(0)\n    return y.T, torch.mm(x, x)\n",
    "    y = x.mean(dim=1)\n    z = y.T\n    n, c = x.shape\n    return z, n, c\n",
    "    y = torch.tensor(x.shape[-2:])\n    b, c, h, w = x.shape\n    return y, b, c, h, w\n",
]


def _hazards(body: str, *, shapes: bool) -> list[tuple[str, int]]:
    source = f"import torch\n\n\ndef f(x):\n{body}"
    found = analyse(ast.parse(source), source, shapes=shapes).hazards
    return [(type(each).__name__, getattr(each.node, "lineno", 0)) for each in found]


@pytest.mark.parametrize("body", JUDGED)
def test_the_rules_are_told_what_is_shown(body: str) -> None:
    assert _hazards(body, shapes=False) == _hazards(body, shapes=True) != []


def test_what_is_asked_for_is_told() -> None:
    source = "import torch\n\n\ndef f(x):\n    y = -x\n    reveal_shape(y)\n    return y, torch.bmm(x, x)\n"
    (hazard,) = analyse(ast.parse(source), source, shapes=False).hazards
    assert isinstance(hazard, RevealShapeHazard)
    assert "(?, ?, ?)" in hazard.revealed
