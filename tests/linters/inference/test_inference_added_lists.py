"""Lists that grow by `+=` and `+`: what the tensors in them have in common is known, and nothing else is claimed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

TOP = "import torch\nfrom torch import nn\n\na, b, c = torch.rand(3, 8), torch.rand(4), torch.rand(2, 5)\n"
# A program, and what is known of the shape that `z` has at last.
KNOWN = {
    "added to": ("rows, n = [], 0\nwhile n < 20:\n    rows += [a]\n    n += 1\nz = torch.stack(rows)\n", "(?, 3, 8)"),
    "a sum": ("rows = []\nfor i in range(40):\n    rows = rows + [a]\nz = torch.stack(rows)\n", "(?, 3, 8)"),
    "two at once": ("rows = []\nfor i in range(40):\n    rows += [a, 2 * a]\nz = torch.cat(rows)\n", "(240, 8)"),
    "of a recurrence": (
        "def f(steps):\n    rows, x, h = [], torch.rand(3, 4), torch.rand(3, 8)\n    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 4)\n"
        "    while len(rows) < steps:\n        h = cell(x, h)\n        x = head(h)\n        rows += [x]\n    return torch.stack(rows)\n\n\nz = f(20)\n",
        "(?, 3, 4)",
    ),
    "an item": ("rows = []\nfor i in range(40):\n    rows += [a]\nz = rows[-1]\n", "(3, 8)"),
}  # fmt: skip
# Of these nothing more may be said than is true.
MISLEADING = {
    "another size in each round": "rows = []\nfor i in range(20):\n    rows += [torch.rand(i + 1, 2)]\nz, w, v = rows[0], rows[-1], torch.cat(rows)\n",
    "a tensor that grows": "rows, x = [], a\nfor i in range(9):\n    rows += [x]\n    x = torch.cat([x, x[:1]])\nz, w = rows[-1], rows[0]\n",
    "another kind of item": "rows = []\nfor i in range(20):\n    rows += [a]\n    rows += [b]\nz, w = rows[0], rows[1]\n",
    "one list by two names": "rows = []\nother = rows\nfor i in range(20):\n    rows += [a]\n    other += [c]\nz, w = rows[-1], other[0]\n",
    "another list": "rows = []\nother = rows\nfor i in range(20):\n    rows = rows + [a]\n    other += [c]\nz, w = rows[-1], other[-1]\n",
    "something else at first": "rows = [c]\nfor i in range(20):\n    z = rows[-1]\n    rows += [a]\nw = rows[0]\n",
    "a tensor changed afterwards": "x = torch.rand(2, 3)\nrows = []\nfor i in range(20):\n    rows += [x]\nx.t_()\nz = rows[-1]\n",
    "an item changed afterwards": "x = torch.rand(2, 3)\nrows = []\nfor i in range(20):\n    rows += [x]\nrows[0].unsqueeze_(0)\nz, w = rows[-1], x\n",
    "in one branch": "rows = []\nfor i in range(20):\n    if i % 2:\n        rows += [a]\n    else:\n        rows += [c]\n    z = rows[-1]\nw = rows[0]\n",
    "by a function": "def add(rows, x):\n    rows += [x]\n    return rows\n\n\nrows = []\nfor i in range(20):\n    add(rows, a)\nadd(rows, c)\nz, w = rows[-1], rows[0]\n",
    "of an array": "import numpy as np\n\nrows = np.zeros(3)\nfor i in range(20):\n    rows += [1.0]\nz = rows\n",
    "a tuple": "rows = ()\nfor i in range(20):\n    rows += (a,)\nrows += (c,)\nz, w = rows[-1], rows[0]\n",
    "of a method": "class Keeper:\n    def __init__(self):\n        self.rows = []\n\n    def add(self, x):\n        self.rows += [x]\n\n\n"
    "keeper = Keeper()\nfor i in range(20):\n    keeper.add(a)\nkeeper.add(c)\nz, w = keeper.rows[-1], keeper.rows[0]\n",
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_it_is_known(name: str, tmp_path: Path) -> None:
    body, shape = KNOWN[name]
    source = TOP + body
    assert wrong_claims(tmp_path / "program.py", source) == {}
    shapes = [each.shape for each in analyse(ast.parse(source), source).bindings if each.name == "z"]
    assert f"({', '.join(map(str, shapes[-1] or ()))})" == shape


@pytest.mark.parametrize("name", MISLEADING)
def test_nothing_wrong_is_said(name: str, tmp_path: Path) -> None:
    assert wrong_claims(tmp_path / "program.py", TOP + MISLEADING[name]) == {}
