"""A number that is an int here and a float there is a number still: the tensors made of such are those that the libraries make."""

from __future__ import annotations

import ast
import random
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch and numpy are the oracle")

from tensorlint.inference.analysis import analyse

HEAD = "import random\nimport numpy as np\nimport torch\n"
RETURNS = """
def returns_of(rewards, gamma=0.9):
    total, found = 0, []
    for reward in {rounds}:
        total = reward + gamma * total
        found.{add}
    return {made}
"""
PROGRAMS = {
    **{
        f"returns {rounds} {add} {made}": RETURNS.format(rounds=rounds, add=add, made=made)
        + "x = returns_of([1.0] * 12)\ny = returns_of([0.5, 1.5, 2.5])\n"
        for rounds in ("rewards[::-1]", "reversed(rewards)")
        for add in ("append(total)", "insert(0, total)")
        for made in ("torch.tensor(found)", "np.array(found)", "torch.FloatTensor(found)")
    },
    "one of two numbers": "n = 0 if random.random() < 2 else 1.5\nx = torch.tensor([n, n])\ny = np.array([n])\nz = torch.tensor(n)\n",
    "arithmetic": (
        "n = 2 if random.random() < 2 else 1.5\nx = torch.tensor([n + 1])\ny = torch.tensor([n / 2])\nz = torch.tensor([-n, abs(n)])\n"
        "u = torch.tensor([n * True])\nv = torch.tensor([round(n)])\na = np.array([n, 1.0])\n"
    ),
    "beside tensors": (
        "n = 2 if random.random() < 2 else 1.5\nx = torch.ones(3) * n\ny = torch.arange(3) * n\nz = np.ones(3, dtype=np.float32) * n\n"
        "u = np.arange(3) + n\nv = torch.full((2, 3), n)\nw = torch.clamp(torch.ones(2, 2), min=n)\na = np.full((2,), n)\n"
        "b = torch.where(torch.ones(2) > n, 1.0, torch.zeros(2))\n"
    ),
    "the larger of two": "n = max(0, random.random())\nx = torch.tensor([n])\nm = min(1.5, 2, random.randint(0, 3))\ny = np.array([m, m])\n",
    "a total of either": "total = 0\nfor k in range(9):\n    total += k / 2 if k else 1\nx = torch.tensor([total])\n",
    "a flag": "n = True if random.random() < 2 else 0.5\nx = torch.tensor([n])\ny = torch.tensor([n + 1])\nz = torch.ones(2) * n\n",
    "as a size": "n = 4 if random.random() < 2 else 4.5\nx = torch.zeros(int(n), 2)\ny = torch.ones(round(n))\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_said_of_tensors_made_of_numbers_is_so(name: str) -> None:
    source = HEAD + PROGRAMS[name]
    random.seed(0)
    scope: dict[str, Any] = {}
    exec(source, scope)
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    for each, real in scope.items():
        if not hasattr(real, "shape") or len(each) > 1:
            continue
        row = rows[each]
        assert row.shape is not None, each
        assert len(row.shape) == len(real.shape), each
        assert all(a == b for a, b in zip(row.shape, real.shape, strict=True) if isinstance(a, int)), each
        assert row.dtype in (None, str(real.dtype).removeprefix("torch.")), each
