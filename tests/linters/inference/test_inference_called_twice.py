"""A function called twice with the same: it makes two objects, each has what was done to it, and what is wrong is seen twice."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse
from tensorlint.inference.hazards import ViewHazard

_HEAD = """
import collections, functools, os, types
import torch
import torch.nn as nn
k = os.environ.get('NOT_SET')
class Bare: pass
class Full:
    def __init__(self, n): self.w = torch.zeros(n)
class Slotted:
    w = torch.zeros(4)
    def put(self, v): self.w = v
class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 4)
"""
# What the function makes; what is done to `a`; how `b` is read.
MAKES = {
    "a layer": ("r = nn.Linear(3, 4)", "a.weight = nn.Parameter(torch.zeros(7, 3))", "b.weight"),
    "a layer that is replaced in a tuple": ("r = nn.Linear(3, 4), 1", "a[0].weight = nn.Parameter(torch.zeros(7))", "b[0].weight"),
    "a layer in a list": ("r = [nn.Linear(3, 4)]", "a[0].weight = nn.Parameter(torch.zeros(7))", "b[0].weight"),
    "a layer in lists": ("r = [[[nn.Linear(3, 4)]]]", "a[0][0][0].weight = nn.Parameter(torch.zeros(7))", "b[0][0][0].weight"),
    "a layer in a dictionary": ("r = {'k': nn.Linear(3, 4)}", "a['k'].weight = nn.Parameter(torch.zeros(7))", "b['k'].weight"),
    "layers": ("r = nn.Sequential(nn.Linear(3, 4))", "a.append(nn.Linear(4, 5))", "b(torch.zeros(2, 3))"),
    "a list of layers": ("r = nn.ModuleList([nn.Linear(3, 4)])", "a[0] = nn.Linear(3, 9)", "b[0](torch.zeros(2, 3))"),
    "one of two layers": ("r = nn.Linear(3, 4) if k is None else nn.Linear(3, 4)", "a.weight = nn.Parameter(torch.zeros(7, 3))", "b.weight"),
    "one of two objects": (
        "if k is None:\n    r = Bare()\nelse:\n    r = Slotted()\nr.w = torch.zeros(4)", "a.w = torch.zeros(5)", "b.w",
    ),
    "layers that are made one by one": ("r = [nn.Linear(3, 4) for _ in range(3)]", "a[0].weight = nn.Parameter(torch.zeros(7))", "b[0].weight"),
    "a module": ("r = Wrapped()", "a.inner = nn.Linear(3, 9)", "b.inner(torch.zeros(2, 3))"),
    "a module's part": ("r = Wrapped().inner", "a.weight = nn.Parameter(torch.zeros(7, 3))", "b.weight"),
    "an object without an initialiser": ("r = Bare()\nr.w = torch.zeros(4)", "a.w = torch.zeros(5)", "b.w"),
    "an object that gets its attribute later": ("r = Bare()", "b.w = torch.zeros(4)\na.w = torch.zeros(5)", "b.w"),
    "an object": ("r = Full(4)", "a.w = torch.zeros(5)", "b.w"),
    "an object of a class that has the attribute": ("r = Slotted()", "a.put(torch.zeros(5))", "b.w"),
    "an object in a tuple": ("r = Bare(), 1", "b[0].w = torch.zeros(4)\na[0].w = torch.zeros(5)", "b[0].w"),
    "a namespace": ("r = types.SimpleNamespace(w=torch.zeros(4))", "a.w = torch.zeros(5)", "b.w"),
    "a list": ("r = [torch.zeros(4)]", "a[0] = torch.zeros(5)", "b[0]"),
    "a list that grows": ("r = [1, 2]", "a.append(3)", "torch.zeros(len(b))"),
    "a dictionary": ("r = {'k': torch.zeros(4)}", "a['k'] = torch.zeros(5)", "b['k']"),
    "a dictionary of one sort": ("r = collections.defaultdict(list)", "a['k'].append(1)", "torch.zeros(len(b['k']))"),
    "an iterator": ("r = iter([torch.zeros(4), torch.zeros(5)])", "next(a)", "next(b)"),
    "a tensor": ("r = torch.zeros(4)", "a.unsqueeze_(0)", "b"),
    "a class": ("class K:\n    n = 4\nr = K", "a.n = 5", "torch.zeros(b.n)"),
    "a function that changes what is around it": (
        "state = {'n': 4}\ndef r():\n    state['n'] += 1\n    return torch.zeros(state['n'])", "a()", "b()",
    ),
    "a function that changes an object": (
        "state = Bare()\nstate.n = 4\ndef r():\n    state.n += 1\n    return torch.zeros(state.n)", "a()", "b()",
    ),
    "a function that binds a name anew": ("n = 4\ndef r():\n    nonlocal n\n    n += 1\n    return torch.zeros(n)", "a()", "b()"),
    "two functions around one dictionary": (
        "state = {'n': 4}\ndef put(n): state['n'] = n\ndef get(): return torch.zeros(state['n'])\nr = put, get", "a[0](5)", "b[1]()",
    ),
    "a function with a list of its own": ("def r(k=[]):\n    k.append(1)\n    return torch.zeros(len(k))", "a()", "b()"),
    "a method": ("o = Slotted()\nr = o.put, o", "a[0](torch.zeros(5))", "b[1].w"),
    "a function with an object": ("r = functools.partial(setattr, Bare())", "b.args[0].w = torch.zeros(4)\na('w', torch.zeros(5))", "b.args[0].w"),
}  # fmt: skip
CALLS = {
    "a function": "def make():\n{body}    return r\na = make()\nb = make()\n",
    "a function that is given something": "def make(n, m=2):\n{body}    return r\na = make(3)\nb = make(3)\n",
    "a function of another one": "def inner():\n{body}    return r\ndef make(): return inner()\na = make()\nb = make()\n",
    "a method": "class Maker:\n  def make(self):\n{body}    return r\nmaker = Maker()\na, b = maker.make(), maker.make()\n",
    "a static method": "class Maker:\n  @staticmethod\n  def make():\n{body}    return r\na, b = Maker.make(), Maker.make()\n",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", MAKES)
def test_nothing_wrong_is_said_of_the_second_object(name: str, call: str, tmp_path: Path) -> None:
    makes, changes, reads = MAKES[name]
    program = CALLS[call].format(body=textwrap.indent(makes + "\n", "    "))
    program += f"{changes}\ny = {reads}\nz = y * 1\n"
    assert wrong_claims(tmp_path / "at_the_top.py", _HEAD + program) == {}
    within = "def main():\n" + textwrap.indent(program, "    ") + "main()\n"
    assert wrong_claims(tmp_path / "within.py", _HEAD + within) == {}


def test_the_second_layer_stays_known() -> None:
    source = "import torch\nfrom torch import nn\ndef make(n): return nn.Linear(3, n)\na = make(4)\nb = make(4)\na.extra = 1\n"
    source += "y = b(torch.zeros(2, 3))\n"
    assert {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}["y"] == (2, 4)


_FLAT = "import torch\ndef flat(t):\n    q = t.view(-1)\n    return q\n"
SEEN = {
    "again in another round": (
        "def run(rows):\n    w, z = torch.zeros(30, 7).t(), torch.zeros(3)\n    for row in rows:\n        y = flat(w)\n"
        "        z = torch.cat([z, z])\n    return y, z\n"
    ),
    "before in a block that expects an error": (
        "x = torch.zeros(3, 4).t()\ntry:\n    a = flat(x)\nexcept RuntimeError:\n    a = None\nb = flat(x)\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_what_a_call_does_wrong_is_seen_though_it_was_followed_before(name: str) -> None:
    source = _FLAT + SEEN[name]
    hazards = analyse(ast.parse(source), source).hazards
    assert sum(isinstance(each, ViewHazard) for each in hazards) == 1
