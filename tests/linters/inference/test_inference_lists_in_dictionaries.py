"""Lists that a dictionary holds: what is added to them by way of their keys is known, and nothing else is claimed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

TOP = "import copy\n\nimport torch\n\na, b, c = torch.rand(4, 3), torch.rand(4), torch.rand(2, 5)\n"
# A program, and what is known of the shape that `z` has at last.
KNOWN = {
    "one list": ("seen = {'x': []}\nseen['x'].append(a)\nz = torch.cat(seen['x'])\n", "(?, 3)"),
    "in a loop": ("seen = {'x': [], 'y': []}\nfor i in range(20):\n    seen['x'].append(a)\n    seen['y'].append(b)\nz = torch.cat(seen['x'])\n", "(?, 3)"),
    "in a function": (
        "def f(n):\n    seen = {'x': []}\n    for i in range(n):\n        seen['x'].append(torch.rand(4, 3))\n    return torch.stack(seen['x'])\n\n\n"
        "z = f(20)\n",
        "(?, 4, 3)",
    ),
    "of an object": (
        "class Meter:\n    def __init__(self):\n        self.seen = {'x': []}\n\n    def add(self, x):\n        self.seen['x'].append(x)\n\n"
        "    def all(self):\n        return torch.cat(self.seen['x'])\n\n\nmeter = Meter()\nfor i in range(20):\n    meter.add(a)\nz = meter.all()\n",
        "(?, 3)",
    ),
    "an item": ("seen = {'x': []}\nfor i in range(20):\n    seen['x'].append(a)\nz = seen['x'][-1]\n", "(4, 3)"),
}  # fmt: skip
# Of these nothing more may be said than is true.
MISLEADING = {
    "one list under two keys": "seen = dict.fromkeys(['x', 'y'], [])\nseen['x'].append(a)\nseen['y'].append(c)\nz = seen['x'][-1]\n",
    "one list by another name": "seen = {'x': []}\nrows = seen['x']\nseen['x'].append(a)\nrows.append(c)\nz = seen['x'][-1]\nw = rows[0]\n",
    "emptied by another name": "seen = {'x': []}\nrows = seen['x']\nseen['x'].append(a)\nrows.clear()\nrows.append(c)\nz = seen['x'][0]\n",
    "in a copy": "seen = {'x': []}\nother = seen.copy()\nseen['x'].append(a)\nother['x'].append(c)\nz, w = seen['x'][-1], other['x'][0]\n",
    "in a deep copy": "seen = {'x': [a]}\nother = copy.deepcopy(seen)\nseen['x'].append(c)\nz = other['x'][-1]\n",
    "by a function": "def fill(d, what):\n    d['x'].append(what)\n\n\nseen = {'x': []}\nfill(seen, a)\nfill(seen, c)\nz = seen['x'][-1]\nw = seen['x'][0]\n",
    "by a key that nobody knows": "seen = {'x': [], 'y': []}\nseen['x'].append(a)\nfor key in seen:\n    seen[key].append(c)\nz = seen['x'][-1]\n",
    "by its values": "seen = {'x': [], 'y': []}\nseen['x'].append(a)\nfor rows in seen.values():\n    rows.append(c)\nz = seen['x'][-1]\n",
    "another list in its place": "seen = {'x': [], 'y': [c]}\nseen['x'].append(a)\nseen['x'] = seen['y']\nz = seen['x'][-1]\nseen['y'].append(b)\nw = seen['x'][-1]\n",
    "one key for the other's list": "seen = {'x': [], 'y': []}\nseen['y'] = seen['x']\nseen['x'].append(a)\nseen['y'].append(c)\nz = seen['x'][-1]\n",
    "in one branch": "seen = {'x': []}\nfor i in range(20):\n    if i % 2:\n        seen['x'].append(a)\n    else:\n        seen['x'].append(c)\n    z = seen['x'][-1]\n",
    "another one in each round": "seen = {'x': []}\nrow = a\nfor i in range(20):\n    seen['x'].append(row)\n    row = row[:, :1] if i % 2 else row.repeat(1, 2)\n"
    "    z = seen['x'][-1]\nw = seen['x'][0]\n",
    "emptied in each round": "seen = {'x': []}\nfor i in range(20):\n    seen['x'].append(a)\n    if i % 3 == 0:\n        seen['x'] = [c]\n    z = seen['x'][-1]\n",
    "lists of a comprehension": "seen = {key: [] for key in ('x', 'y')}\nseen['x'].append(a)\nseen['y'].append(c)\nz, w = seen['x'][-1], seen['y'][-1]\n",
    "in a dictionary of dictionaries": "seen = {'s': {'x': []}}\nseen['s']['x'].append(a)\nseen['s']['x'].append(c)\nz = seen['s']['x'][-1]\n",
    "before the loop": "seen = {'x': [c]}\nfor i in range(20):\n    z = seen['x'][-1]\n    seen['x'].append(a)\nw = seen['x'][0]\n",
    "extended": "seen = {'x': []}\nfor i in range(20):\n    seen['x'].append(a)\n    seen['x'].extend([c, b])\nz, w = seen['x'][-1], seen['x'][0]\n",
    "taken out": "seen = {'x': [c]}\nfor i in range(20):\n    seen['x'].append(a)\n    z = seen['x'].pop(0)\n",
    "put in front": "seen = {'x': [c]}\nseen['x'].insert(0, a)\nz, w = seen['x'][0], seen['x'][1]\n",
    "by a loop that is left": "seen = {'x': []}\nfor i in range(20):\n    seen['x'].append(a)\n    if i > 3:\n        seen['x'].append(c)\n        break\nz = seen['x'][-1]\n",
    "held by two objects": "class Holder:\n    def __init__(self, seen):\n        self.seen = seen\n\n    def add(self, x):\n        self.seen['x'].append(x)\n\n\n"
    "seen = {'x': []}\none, two = Holder(seen), Holder(seen)\none.add(a)\ntwo.add(c)\nz, w = one.seen['x'][-1], seen['x'][0]\n",
    "the item is changed": "seen = {'x': []}\nseen['x'].append(torch.rand(2, 3))\nseen['x'][0] = c\nz = seen['x'][0]\n",
    "the item is changed in place": "row = torch.rand(2, 3)\nseen = {'x': []}\nseen['x'].append(row)\nseen['x'][0].t_()\nz, w = seen['x'][0], row\n",
    "a default": "seen = {}\nseen.setdefault('x', []).append(a)\nseen['x'].append(c)\nz = seen['x'][-1]\n",
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
