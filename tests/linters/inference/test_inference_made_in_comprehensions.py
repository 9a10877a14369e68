"""Functions that comprehensions make: they find the comprehension's own names, as its last round has left them, and not those
of the same name around it. What `:=` binds in one may be changed by that name behind it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

_HEAD = """import functools
import torch
import torch.nn as nn

Z = torch.zeros


class Obj:
    def __init__(self):
        self.w = Z(2, 3)

    def set(self):
        self.w = Z(9)


"""
FOUND = {
    "a number": "for i in range(3): pass\nfs = [lambda: Z(i + 1) for i in range(2)]\ny = fs[0]()\n",
    "a number of a dictionary": "i = 7\nfs = {i: lambda: Z(i + 1) for i in range(2)}\ny = fs[0]()\n",
    "beside something": "i = 7\nfs = [(lambda: Z(i + 1), i) for i in range(2)]\ny = fs[0][0]()\n",
    "a tensor": "t = Z(8)\nfs = [lambda: t for t in (Z(2), Z(3, 4))]\ny = fs[0]()\nz = fs[1]()\n",
    "from a generator": "t = Z(8)\nfs = list(lambda: t for t in (Z(2), Z(3, 4)))\ny = fs[0]()\n",
    "the first of a generator": "t = Z(8)\ny = next(lambda: t for t in (Z(2), Z(3, 4)))()\n",
    "of two loops": "t = Z(8)\nfs = [[lambda: (t, u) for u in (Z(2), Z(3))] for t in (Z(4), Z(5))]\ny, z = fs[0][0]()\n",
    "in a class": "t = Z(8)\nclass K:\n    fs = [lambda: t for t in (Z(2), Z(3))]\ny = K.fs[0]()\n",
    "by a partial function": "n = 9\nfs = [functools.partial(lambda m: Z(m, n), 2) for n in (3, 4)]\ny = fs[0]()\n",
    "a layer": "ls = [nn.Linear(3, n) for n in (4, 5)]\nl = nn.Linear(3, 9)\nfs = [lambda q: l(q) for l in ls]\ny = fs[0](Z(2, 3))\n",
    "with a condition": "i = 7\nfs = [lambda: Z(i + 1) for i in range(3) if i < 2]\ny = fs[0]()\n",
    "many": "i = 70\nfs = [lambda: Z(i + 1) for i in range(20)]\ny = fs[0]()\n",
    "by `:=`": "t = Z(8)\n[(f := (lambda: t)) for t in (Z(2), Z(3))]\ny = f()\n",
    "put into a dictionary": "d = {}\nt = Z(8)\n[d.setdefault(t.dim(), lambda: t) for t in (Z(2), Z(3, 3))]\ny = d[2]()\n",
}


def _within(text: str) -> str:
    return "def go():\n" + "".join(f"    {line}\n" for line in text.rstrip().split("\n")) + "go()\n"


@pytest.mark.parametrize("name", FOUND)
def test_they_find_the_comprehension_s_own_names(name: str, tmp_path: Path) -> None:
    for source in (FOUND[name], _within(FOUND[name])):
        assert wrong_claims(tmp_path / "program.py", _HEAD + source) == {}


# What `d` and `e` are, how they are read, and how `g`, one of them, is changed.
KINDS = {
    "a dictionary": ("{{'w': Z(2, 3)}}", "{d}['w']", "g.update(w=Z(9))"),
    "a list": ("[Z(2, 3)]", "{d}[0]", "g.insert(0, Z(9))"),
    "an object": ("Obj()", "{d}.w", "setattr(g, 'w', Z(9))"),
    "by a method": ("Obj()", "{d}.w", "g.set()"),
    "a tensor": ("Z(2, 3)", "{d}", "g.unsqueeze_(0)"),
}
MADE = {
    "a list": ("fs = [lambda: {c} for g in (d, e)]", "fs[0]()"),
    "all of a list": ("fs = [lambda: {c} for g in (d, e)]", "for f in fs: f()"),
    "the first of a list": ("fs = [lambda: {c} for g in (e, d)][:1]", "[f() for f in fs]"),
    "a generator": ("f = next(lambda: {c} for g in (d, e))", "f()"),
    "a dictionary": ("fs = {{k: lambda: {c} for k, g in enumerate((d, e))}}", "fs[0]()"),
    "a set": ("fs = {{lambda: {c} for g in (d, e)}}", "for f in fs: f()"),
    "within another": ("fs = [[lambda: {c} for g in q] for q in ([d], [e])]", "fs[0][0]()"),
    "of the one around it": ("fs = [[lambda: {c} for k in range(2)] for g in (d, e)]", "fs[0][0]()"),
    "a function of a function": ("fs = [lambda: lambda: {c} for g in (d, e)]", "fs[0]()()"),
    "of many": ("fs = [lambda: {c} for g in [d, e] * 6]", "fs[0]()"),
    "of pairs": ("fs = [(k, lambda: {c}) for k, g in ((1, d), (2, e))]", "fs[0][1]()"),
    "of a star": ("fs = [lambda: {c} for g, *r in ((d,), (e,))]", "fs[0]()"),
    "appended": ("fs = []\n[fs.append(lambda: {c}) for g in (d, e)]", "fs[0]()"),
    "sorted": ("fs = sorted([lambda: {c} for g in (d, e)], key=id)", "fs[0]()"),
    "filtered": ("fs = list(filter(None, [lambda: {c} for g in (d, e)]))", "fs[0]()"),
    "in a class": ("class K:\n    fs = [lambda: {c} for g in (d, e)]", "K.fs[0]()"),
    "by `:=`": ("[(keep := (lambda: {c})) for g in (d, e)]", "keep()"),
    "what `:=` holds": ("[(g := q) for q in (d, e)]\nf = lambda: {c}", "f()"),
    "a generator function": ("def gf():\n    for g in (d, e):\n        {c}\n        yield 1\nf = gf()", "next(f)"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("made", MADE)
def test_what_they_change_is_what_the_comprehension_went_through(made: str, kind: str, tmp_path: Path) -> None:
    what, read, change = KINDS[kind]
    what = what.format()
    before, run = (part.format(c=change) for part in MADE[made])
    x, y = read.format(d="d"), read.format(d="e")
    body = f"d = {what}\ne = {what}\nw = {x}\n{before}\nu = {x}\n{run}\nx = {x}\ny = {y}\n"
    for source in (body, _within(body)):
        assert wrong_claims(tmp_path / "program.py", _HEAD + source) == {}


KNOWN = {
    "a default": ("i = 7\nfs = [lambda i=i: Z(4, i) for i in (2, 2)]\ny = fs[0]()\n", (4, 2)),
    "called on the spot": ("t = Z(8)\nus = [(lambda: t)() for t in (Z(2), Z(3))]\ny = us[0]\n", (2,)),
    "mapped on the spot": ("n = 9\nus = [list(map(lambda q: Z(q, n), (5,))) for n in (3, 4)]\ny = us[1][0]\n", (5, 4)),
    "a name around it": ("n = 9\nfs = [lambda: Z(n) for i in range(2)]\ny = fs[0]()\n", (9,)),
    "a parameter": ("t = Z(8)\nfs = [lambda t: t.T for k in range(2)]\ny = fs[0](Z(2, 3))\n", (3, 2)),
    "another object": (
        "d, e = {'w': Z(2, 3)}, {}\nfs = [lambda: g.clear() for g in (e, {})]\nfs[0]()\ny = d['w']\n",
        (2, 3),
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_they_find_for_sure_stays_known(name: str) -> None:
    source, shape = KNOWN[name]
    source = _HEAD + source
    assert {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}["y"] == shape


# Objects that a generator makes, with what their initialisers did to them.
OBJECTS = {
    "a list": ("os = list(Obj() for _ in range(2))\ny = os[0].w + 1\n", (2, 3)),
    "layers": ("m = nn.Sequential(*(Layer(3) for _ in range(2)))\ny = m(Z(4, 3))\n", (4, 3)),
    "a list of layers": (
        "class Net(nn.Module):\n    def __init__(self, width, count=2):\n        super().__init__()\n"
        "        self.layers = nn.ModuleList(Layer(width) for _ in range(count))\n\n    def forward(self, x):\n"
        "        total = 0\n        for layer in self.layers:\n            total = total + layer(x)\n        return total\n\n\n"
        "y = Net(3)(Z(4, 3))\n",
        (4, 3),
    ),
    "lists of layers": (
        "ms = [nn.ModuleList(Layer(n) for _ in range(2)) for n in (3, 5)]\ny = ms[1][0](Z(4, 5))\n",
        (4, 5),
    ),
    "what is changed later": ("os = list(Obj() for _ in range(2))\nos[1].set()\ny = os[1].w + 1\n", (9,)),
}
_LAYER = """class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.out = nn.Linear(width, width)

    def forward(self, x):
        return self.out(x)


"""
# What else the rounds of a generator change, they change whenever somebody asks for their items, if ever.
CHANGED = {
    "an older object": "o = Obj()\ndef change(k):\n    o.w = Z(k)\n    return o\ng = (change(k) for k in (4, 5))\nx = o.w + 1\nnext(g)\n"
    "y = o.w + 1\nlist(g)\nz = o.w + 1\n",
    "a list": "held = [Z(1)]\nclass K:\n    def __init__(self):\n        held[0] = Z(2, 2)\n        self.w = Z(3)\n"
    "g = (K() for _ in range(2))\nx = held[0] + 1\nu = next(g).w + 1\ny = held[0] + 1\n",
    "the object of the round before": "class K:\n    last = None\n    def __init__(self):\n        self.w = Z(3)\n"
    "        if K.last is not None:\n            K.last.w = Z(7)\n        K.last = self\n"
    "g = (K() for _ in range(3))\na = next(g)\nx = a.w + 1\nb = next(g)\ny = a.w + 1\nz = b.w + 1\n",
    "an object that it makes and hands on": "held = []\nclass K:\n    def __init__(self):\n        self.w = Z(3)\n        held.append(self)\n"
    "g = (K() for _ in range(2))\na = next(g)\nfor each in held:\n    each.w = Z(5)\nx = a.w + 1\n",
    "a count": "class K:\n    made = 0\n    def __init__(self):\n        K.made += 1\n        self.w = Z(K.made, 2)\n"
    "g = (K() for _ in range(3))\nx = Z(K.made + 1, 2)\na = next(g)\ny = a.w + 1\nz = Z(K.made + 1, 2)\n",
    "a size that changes before": "n = 3\ng = (Layer(n) for _ in range(2))\nn = 5\nx = next(g)(Z(4, 5))\n",
    "what was made before": "os = [Obj(), Obj()]\ndef change(o):\n    o.set()\n    return o\ng = (change(o) for o in os)\n"
    "x = os[0].w + 1\na = next(g)\ny = os[0].w + 1\nz = os[1].w + 1\n",
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_that_a_generator_makes_has_what_its_initialiser_gave_it(name: str) -> None:
    source, shape = OBJECTS[name]
    source = _HEAD + _LAYER + source
    assert {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}["y"] == shape


@pytest.mark.parametrize("name", CHANGED)
def test_what_a_generator_changes_beside_is_not_known(name: str, tmp_path: Path) -> None:
    for source in (CHANGED[name], _within(CHANGED[name])):
        assert wrong_claims(tmp_path / "program.py", _HEAD + _LAYER + source) == {}
