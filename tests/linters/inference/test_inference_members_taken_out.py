"""Containers of layers of which code takes members, or into which it puts some, that has them in hand by another name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

_MODEL = """import torch
import torch.nn as nn


def drop(x):
    del x[0]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = {made}

    def forward(self, x):
        y = self.m[0](x)
        return y


"""
_USE = "h = Model()\nm = h.m\nx = torch.ones(2, 4)\na = m[0](x)\n{call}\nb = m[0](x)\nc = h.m[0](x)\nh(x)\n"
MADE = {
    "a list": "nn.ModuleList([nn.Linear(4, 5), nn.Linear(4, 6), nn.Linear(4, 7)])",
    "a sequence": "nn.Sequential(nn.Linear(4, 5), nn.Linear(4, 6), nn.Linear(4, 7))",
}
CHANGES = {
    "del": "del g[0]",
    "del of several": "del g[:1]",
    "pop": "g.pop(0)",
    "pop, and what it gives": "last = g.pop(0)",
    "insert": "g.insert(0, nn.Linear(4, 9))",
    "an item": "g[0] = nn.Linear(4, 9)",
    "by a method's name": "g.__delitem__(0)",
    "by another name": "q = g\n    del q[0]",
    "by one of two names": "q = g if g is not None else []\n    del q[0]",
    "by another function": "drop(g)",
    "in a comprehension": "[drop(k) for k in (g,)]",
    "in a loop": "for k in (g,):\n        del k[0]",
    "in a loop of what is listed": "for k in list((g,)):\n        drop(k)",
    "until one is left": "while len(g) > 1:\n        del g[0]",
}
WAYS = {
    "a parameter": ("def edit(g):\n    {c}\n", "edit(m)"),
    "an attribute": ("def edit(h):\n    g = h.m\n    {c}\n", "edit(h)"),
    "arguments that are passed on": ("def edit(g, *rest):\n    {c}\n", "(lambda *a: edit(*a))(m)"),
    "a table of functions": ("def edit(g):\n    {c}\n", "{'e': edit}['e'](m)"),
    "a parameter that another function passes on": (
        "def edit(g):\n    {c}\ndef through(o):\n    edit(o)\n",
        "through(m)",
    ),
    "a function that calls itself": ("def edit(g, n=1):\n    if n: return edit(g, n - 1)\n    {c}\n", "edit(m)"),
    "an attribute of another object": (
        "class Held:\n    def __init__(self, g):\n        self.held = g\n    def edit(self):\n        g = self.held\n        {m}\n",
        "Held(m).edit()",
    ),
    "what the function gives": ("def edit(g):\n    return g.pop(0)\n", "edit(m)"),
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("way", WAYS)
def test_members_that_were_taken_out_are_not_called(way: str, made: str, tmp_path: Path) -> None:
    function, call = WAYS[way]
    for change in CHANGES.values():
        source = (
            _MODEL.format(made=MADE[made])
            + function.format(c=change, m=change.replace("\n", "\n    "))
            + _USE.format(call=call)
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, change


OTHERS = {
    "a list that a function empties": "def edit(rows):\n    while rows:\n        rows.pop(0)\nprint(edit)\n",
    "one that it takes from by name": "def edit(rows, **words):\n    first = words.pop('first', None)\n    return first\nprint(edit)\n",
    "a queue": "class Queue:\n    def __init__(self):\n        self.rows = []\n    def take(self):\n        return self.rows.pop(0)\n",
    "words of a call": "def edit(*rows, **words):\n    return words.pop('kind', 0)\nedit(**{'kind': 1})\n",
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_taken_out_of_other_lists_leaves_the_layers_known(other: str) -> None:
    source = _MODEL.format(made=MADE["a list"]) + OTHERS[other] + _USE.format(call="")
    if other == "a list that a function empties":
        source = source.replace("print(edit)\n", "")
    found = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert found["b"] == (2, 5)
    assert found["c"] == (2, 5)
