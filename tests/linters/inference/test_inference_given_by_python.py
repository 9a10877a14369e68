"""Objects that a call or an operator gives which Python makes itself, or which is made elsewhere: special methods, metaclasses,
descriptors, generators that a lambda is, functions under decorators nobody knows. What they give is changed by way of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

_HEAD = """import asyncio, collections, concurrent.futures, contextlib, dataclasses, enum, functools, sys, types
import torch
import torch.nn as nn

Z = torch.zeros


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x):
        return self.layer(x)


class Obj:
    def __init__(self):
        self.w = Z(2, 3)

    def set(self):
        self.w = Z(9)


"""
# What is made, how it is read, and what is changed of it by way of `g`.
KINDS = {
    "an item of a dictionary": ("{'w': Z(2, 3)}", "d['w']", "g['w'] = Z(9)"),
    "an item of a list": ("[Z(2, 3)]", "d[0]", "g[0] = Z(9)"),
    "an attribute": ("Obj()", "d.w", "g.w = Z(9)"),
    "by a method": ("Obj()", "d.w", "g.set()"),
    "a queue": ("collections.deque([Z(2, 3)])", "d[0]", "g.appendleft(Z(9))"),
    "a part of a module": ("Model()", "d(Z(2, 3))", "g.add_module('layer', nn.Linear(3, 9))"),
    "a member of layers": ("nn.ModuleList([nn.Linear(3, 4)])", "d[0](Z(2, 3))", "g[0] = nn.Linear(3, 9)"),
    "a hook of a layer": ("nn.Linear(3, 4)", "d(Z(2, 3))", "g.register_forward_hook(lambda m, i, o: Z(9))"),
}
# What stands before, and what gives `d`.
WAYS = {
    "a lambda that yields": ("f = lambda: (yield d)", "next(f())"),
    "a lambda that yields its argument": ("f = lambda q: (yield q)", "list(f(d))[0]"),
    "a lambda that yields from a list": ("f = lambda: (yield from [d])", "next(f())"),
    "what a coroutine gives": ("async def f(q): return q", "asyncio.run(f(d))"),
    "what is awaited": ("async def f(q): return q\nasync def h(): return await f(d)", "asyncio.run(h())"),
    "what is gathered": ("async def f(q): return q\nasync def h(): return await asyncio.gather(f(d))", "asyncio.run(h())[0]"),
    "an asynchronous generator": ("async def f(): yield d\nasync def h(): return [q async for q in f()]", "asyncio.run(h())[0]"),
    "a data class made by a call": ("D = dataclasses.make_dataclass('D', ['u'])", "D(d).u"),
    "a factory of one": (
        "D = dataclasses.make_dataclass('D', [('u', object, dataclasses.field(default_factory=lambda: d))])", "D().u"
    ),
    "an operator": ("class R:\n    def __add__(self, o): return d", "R() + 1"),
    "an operator from the right": ("class R:\n    def __radd__(self, o): return d", "1 + R()"),
    "a comparison": ("class R:\n    def __eq__(self, o): return d", "R() == 1"),
    "a sign": ("class R:\n    def __neg__(self): return d", "-R()"),
    "a missing key": ("class R(dict):\n    def __missing__(self, k): return d", "R()['q']"),
    "an iterator": ("class R:\n    def __iter__(self): return iter([d])", "next(iter(R()))"),
    "a generator that is unpacked": ("class R:\n    def __iter__(self): yield d", "[*R()][0]"),
    "a function that is called until": ("", "next(iter(lambda: d, None))"),
    "a descriptor": ("class De:\n    def __get__(self, o, t): return d\nclass R:\n    u = De()", "R().u"),
    "a class by its object": ("class R:\n    u = d\no = R()", "type(o).u"),
    "a setter": (
        "class R:\n    @property\n    def u(self): return self.k\n    @u.setter\n    def u(self, v): self.k = v\no = R()\no.u = d",
        "o.k",
    ),
    "a descriptor that keeps it": (
        "class De:\n    def __set__(self, o, v): o.k = v\nclass R:\n    u = De()\no = R()\no.u = d", "o.k"
    ),
    "a property of a metaclass": (
        "class T(type):\n    @property\n    def u(cls): return d\nclass R(metaclass=T): pass", "R.u"
    ),
    "an attribute of a metaclass": ("class T(type):\n    def __getattr__(cls, n): return d\nclass R(metaclass=T): pass", "R.u"),
    "a metaclass that is called": ("class T(type):\n    def __call__(cls): return d\nclass R(metaclass=T): pass", "R()"),
    "another object made": ("class R:\n    def __new__(cls): return d", "R()"),
    "the name that it gets": ("class De:\n    def __set_name__(self, o, n): o.v = d\nclass R:\n    u = De()", "R.v"),
    "a subclass that is made": ("class R:\n    def __init_subclass__(cls): cls.v = d\nclass S(R): pass", "S.v"),
    "a method of a class made by a call": ("R = type('R', (), {'u': lambda self: d})", "R().u()"),
    "a pool": ("ex = concurrent.futures.ThreadPoolExecutor(1)", "ex.submit(lambda: d).result()"),
    "one of several by type": (
        "@functools.singledispatch\ndef f(q): return q\n@f.register(int)\ndef _(q): return d", "f(3)"
    ),
    "a text that is run": ("ns = {'q': d}\nexec('r = q', ns)", "ns['r']"),
    "a format": ("keep = []\nclass R:\n    def __format__(self, s): keep.append(d); return ''\nf'{R()}'", "keep[0]"),
    "an attribute of a module": ("sys.zz = d", "sys.zz"),
    "an attribute of a member": ("class E(enum.Enum):\n    A = 1\nE.A.u = d", "E.A.u"),
}  # fmt: skip


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.split("\n"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_what_python_calls_by_itself_gives_what_is_changed(way: str, kind: str, tmp_path: Path) -> None:
    made, read, change = KINDS[kind]
    before, gives = WAYS[way]
    body = f"{before}\ng = {gives}\n{change}"
    for source in (
        f"d = {made}\nx = {read}\n{body}\ny = {read}\nz = y\n",
        f"def go():\n{_indented(f'd = {made}')}{_indented(body)}{_indented(f'y = {read}')}go()\n",
        f"box = types.SimpleNamespace()\nd = {made}\n{before}\nbox.g = {gives}\nx = {read}\n"
        f"def later():\n    g = box.g\n    {change}\nlater()\ny = {read}\nz = y\n",
        f"def go(d):\n{_indented(body)}d = {made}\nx = {read}\ngo(d)\ny = {read}\nz = y\n",
    ):
        assert wrong_claims(tmp_path / "program.py", _HEAD + source) == {}


def _known(source: str) -> dict[str, object]:
    source = _HEAD + source
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


KNOWN = {
    "an operator of another object": (
        "class R:\n    def __init__(self): self.v = Z(4)\n    def __add__(self, o): return self.v\nd = {'w': Z(2, 3)}\n"
        "g = R() + 1\ng[0] = 1\ny = d['w']\n"
    ),
    "a generator of something else": "d = {'w': Z(2, 3)}\ne = {}\nf = lambda: (yield e)\nnext(f())['w'] = Z(9)\ny = d['w']\n",
    "a method of that name": (
        "class P:\n    def set(self): pass\nd = Obj()\nkeep = []\nkeep.append(P())\nkeep[0].set()\ny = d.w\n"
    ),
    "a class that makes its own objects": (
        "class R:\n    def __new__(cls):\n        return object.__new__(cls)\nd = {'w': Z(2, 3)}\nR().w = Z(9)\ny = d['w']\n"
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_they_do_not_give_stays_known(name: str) -> None:
    assert _known(KNOWN[name])["y"] == (2, 3)
