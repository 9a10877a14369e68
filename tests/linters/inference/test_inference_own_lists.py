"""A list of a function's own beside an attribute of the same name: what is done to the one is not done to the other, unless
the name may hold the attribute's."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse
from tensorlint.inference.own_lists import holds_only_own

HEAD = """\
import torch
from torch import nn

class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.loc = nn.ModuleList([nn.Linear(4, 2), nn.Linear(4, 3)])

    def forward(self, xs):
"""
# How the list is made, filled and read.
OWN = [
    ("loc = []", "loc.append(layer(x))", "torch.cat(loc, 1)"),
    ("loc, more = [], []", "loc.append(layer(x))", "torch.cat([each for each in loc], 1)"),
    ("loc: list = []", "loc += [layer(x)]", "torch.cat([*loc], 1)"),
    ("loc = list()", "loc.append(layer(x))", "torch.cat(tuple(reversed(loc)), 1)"),
    ("loc = []", "loc.extend([layer(x)])", "torch.cat([loc[0], loc[1]], 1)"),
]


@pytest.mark.parametrize(("made", "filled", "read"), OWN)
@pytest.mark.parametrize("again", ["", "loc = torch.cat(loc, 1)", "loc = [each + 1 for each in loc]"])
def test_the_attribute_stays_known(made: str, filled: str, read: str, again: str) -> None:
    source = (
        f"{HEAD}        {made}\n        for x, layer in zip(xs, self.loc):\n            {filled}\n"
        f"        y = {read}\n        {again or 'pass'}\n        return y\n\n"
        "z = Heads()([torch.zeros(8, 4), torch.zeros(8, 4)])\n"
    )
    scope: dict[str, Any] = {}
    exec(source, scope)
    shapes = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert shapes["z"] == tuple(scope["z"].shape) == (8, 5), source


ROWS = """\
import torch
Z = torch.zeros

class Memory:
    def __init__(self):
        self.rows = [Z(1), Z(1)]

    def get(self):
        return self.rows

    def change(self, rows=None, k=None):
{body}
        for x in self.rows:
            u = x + 0
{late}
        y = self.rows[-1]
        w = y + 0
        return y

def give(rows):
    return rows

memory = Memory()
for _ in range(2):
    t = memory.change(memory.rows)
"""
# The name holds what the attribute does, by a way that is easily overlooked.
SHARED = {
    "a parameter": "        pass",
    "the attribute itself": "        rows = self.rows",
    "a method gives it": "        rows = self.get()",
    "a function gives it": "        rows = give(self.rows)",
    "one of two": "        rows = []\n        if k is None:\n            rows = self.rows",
    "or": "        rows = k or self.rows",
    "a conditional": "        rows = [] if k else self.rows",
    "unpacked": "        rows, k = self.rows, 1",
    "starred": "        rows, *k = [self.rows]",
    "two targets": "        rows = k = self.rows",
    "a loop": "        for rows in [self.rows]:\n            pass",
    "an assignment in an expression": "        rows = []\n        if (rows := self.rows):\n            pass",
    "kept under both": "        rows = [Z(1), Z(1)]\n        self.rows = rows",
    "kept by a tuple": "        rows = [Z(1), Z(1)]\n        self.rows, k = rows, 1",
    "kept by setattr": "        rows = [Z(1), Z(1)]\n        setattr(self, 'rows', rows)",
    "kept by another function": "        rows = [Z(1), Z(1)]\n        self.rows = give(rows)",
    "a match": "        match [self.rows]:\n            case [rows]:\n                pass",
    "a context": "        import contextlib\n        with contextlib.nullcontext(self.rows) as rows:\n            pass",
}
LATE = ["rows[-1] = Z(5, 5)", "rows.append(Z(5, 5))", "rows += [Z(5, 5)]", "rows[1:] = [Z(5, 5)]"]


@pytest.mark.parametrize("body", SHARED.values(), ids=list(SHARED))
def test_what_may_be_the_attributes_list_is_not_overlooked(body: str, tmp_path: Path) -> None:
    for change in LATE:
        for place in ("        {}", "        for x in self.rows[:1]:\n            {}"):
            source = ROWS.replace("{body}", body).replace("{late}", place.format(change))
            assert wrong_claims(tmp_path / "here.py", source) == {}, source


NOT_OWN = [
    "def f(loc): loc.append(1)",
    "def f():\n    global loc\n    loc = []\n    loc.append(1)",
    "def f():\n    loc.append(1)",
    "def f(x):\n    loc = []\n    x.loc = loc\n    loc.append(1)",
    "def f(x):\n    loc = [x.loc]\n    loc[0].append(1)",
    "def f(x):\n    loc = []\n    x.keep(loc)\n    loc.append(1)",
    "def f(x):\n    loc = []\n    def later(): loc.append(1)\n    x.hook = later\n    return loc",
    "def f(x):\n    loc = []\n    x.hook = lambda: loc.append(1)\n    return loc",
    "def f(x):\n    loc = []\n    yield loc\n    loc.append(1)",
    "def f(x):\n    loc = x()\n    loc.append(1)",
    "def f(x):\n    from x import loc\n    loc.append(1)",
    "def f(x):\n    (loc, y), z = x\n    loc.append(1)",
    "def f(x):\n    return [loc.append(1) for loc in x]",
    "loc = []\nloc.append(1)",
]


@pytest.mark.parametrize("code", NOT_OWN)
def test_a_name_that_may_hold_anothers_list(code: str) -> None:
    assert not holds_only_own(ast.parse(code).body[0], "loc")
