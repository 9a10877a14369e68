"""What is read by whom, before and after what changes it: crossed at random, and each program run.

A function, a generator, an iterator, a property reads a thing; something changes the thing; it is read once more.
"""

from __future__ import annotations

import random
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims
from test_inference_held_and_changed import runs
from test_inference_not_followed import follow_no_more_than

HEAD = """\
import asyncio, collections, contextlib, copy, functools, itertools, operator, os, types
import numpy as np
import torch
from torch import nn
k = os.environ.get("NOT_SET")
class Obj:
    def __init__(self, w): self.w = w
    def put(self, v): self.w = v
def kept(f):
    @functools.wraps(f)
    def inner(*given, **named): return f(*given, **named)
    return inner
"""
# How the thing comes to be (`<e>` is a tensor), how its tensor is read, and what changes it (`<f>` is a tensor of another shape).
NAMES = [
    ("x = <e>", "x", ["x = <f>", "x, _ = <f>, 1", "(x := <f>)", "for x in [<f>]: pass", "with contextlib.nullcontext(<f>) as x: pass",
                      "match <f>:\n    case x: pass", "x = x[None]", "del x\nx = <f>", "try: x = <f>\nfinally: pass", "*_, x = [<f>]",
                      "class x: shape = (2, 2)\nx = <f>", "x = x if k else <f>", "while x.ndim < 3: x = x[None]", "[x := q for q in [<f>]]"]),
    ("x = <e>", "x", ["torch.add(<f>, 1, out=x)", "x.unsqueeze_(0)", "x.data = <f>", "x.resize_(7)", "q = x\nq.unsqueeze_(0)", "x.set_(<f>)",
                      "[q.unsqueeze_(0) for q in [x]]", "torch.cat([<f>], out=x)", "x.t_() if x.ndim == 2 else x.unsqueeze_(0)"]),
    ("x = [<e>]", "x[0]", ["x[0] = <f>", "x.insert(0, <f>)", "x[:] = [<f>]", "for x[0] in [<f>]: pass", "x.append(<f>); x.reverse()", "x[0], _ = <f>, 1",
                           "[x.insert(0, q) for q in [<f>]]", "q = x\nq[0] = <f>", "x.clear(); x.append(<f>)", "x += [<f>]; x.reverse()", "x.pop(); x.append(<f>)",
                           "x = [<f>]", "operator.setitem(x, 0, <f>)", "del x[0]; x.append(<f>)", "x.extend([<f>]); del x[0]", "class q: x[0] = <f>"]),
    ("x = {'k': <e>}", "x['k']", ["x['k'] = <f>", "x.update(k=<f>)", "x |= {'k': <f>}", "x.pop('k'); x['k'] = <f>", "x = {**x, 'k': <f>}",
                                  "for x['k'] in [<f>]: pass", "class q: x['k'] = <f>", "x.setdefault('j', 1); x['k'] = <f>", "x.clear(); x.setdefault('k', <f>)"]),
    ("x = collections.deque([<e>])", "x[0]", ["x.appendleft(<f>)", "x.append(<f>); x.rotate(1)", "x[0] = <f>"]),
    ("x = [1, 2]", "torch.zeros(len(x))", ["x.append(3)", "x.pop()", "x += [1]", "x *= 2", "x.extend(x)", "del x[0]", "x.clear()", "x.remove(1)"]),
    ("x = {'k': 1}", "torch.zeros(len(x))", ["x['j'] = 3", "x.clear()", "x.update(a=3)", "x.popitem()", "x.setdefault('j', 1)", "del x['k']"]),
    ("x = {1}", "torch.zeros(len(x))", ["x.add(2)", "x.clear()", "x |= {3}", "x.update([4])", "x.discard(1)"]),
    ("x = 3", "torch.zeros(x)", ["x += 1", "x = 5", "for x in range(9): pass", "(x := 4)", "x = x * 2 if k is None else x"]),
    ("x = Obj(<e>)", "x.w", ["x.w = <f>", "x.put(<f>)", "x.__init__(<f>)", "setattr(x, 'w', <f>)", "vars(x)['w'] = <f>", "x.w = x.w[None]", "for x.w in [<f>]: pass",
                             "q = x\nq.w = <f>", "x = Obj(<f>)", "x.w.unsqueeze_(0)", "Obj.put(x, <f>)", "x.w, _ = <f>, 1", "with contextlib.nullcontext(<f>) as x.w: pass"]),
    ("x = types.SimpleNamespace(w=<e>)", "x.w", ["x.w = <f>", "x.__dict__.update(w=<f>)", "vars(x)['w'] = <f>"]),
    ("class x: w = <e>", "x.w", ["x.w = <f>", "setattr(x, 'w', <f>)", "x.w = x.w[None]", "class y(x): pass\ny.w = <f>\nx = y"]),
    ("class x: w = <e>", "x().w", ["x.w = <f>", "x.w = property(lambda s: <f>)", "type.__setattr__(x, 'w', <f>)"]),
    ("x = nn.Linear(3, 4)", "x.weight", ["x.weight = nn.Parameter(<f>)", "x = nn.Linear(5, 6)", "x._parameters['weight'] = nn.Parameter(<f>)", "x.weight.data = <f>",
                                         "x.register_parameter('weight', nn.Parameter(<f>))", "setattr(x, 'weight', nn.Parameter(<f>))", "x.__init__(7, 7)"]),
    ("x = nn.Linear(3, 4)", "x(torch.zeros(2, 3))", ["x.weight, x.bias = nn.Parameter(torch.zeros(6, 3)), None", "x.forward = lambda q: <f>", "x = nn.Identity()",
                                                    "x.register_forward_hook(lambda m, i, o: o[None])", "x.__class__ = nn.Flatten; x.start_dim, x.end_dim = 0, 1", "nn.utils.parametrize.register_parametrization(x, 'bias', nn.Identity()); x.forward = lambda q: q[None]"]),
    ("x = nn.Sequential(nn.Linear(3, 4))", "x(torch.zeros(2, 3))", ["x[0] = nn.Linear(3, 6)", "x.append(nn.Linear(4, 6))", "x.insert(0, nn.Linear(3, 3)); x.append(nn.Flatten(0))", "del x[0]", "x.add_module('0', nn.Flatten(0))",
                                                                   "x.extend([nn.Linear(4, 6)])", "x.pop(0)", "x[0].weight = nn.Parameter(torch.zeros(4, 3))\nx[-1] = nn.Flatten(0)", "x = x[:0]", "setattr(x, '0', nn.Flatten(0))"]),
    ("x = np.zeros(4)", "x", ["x.shape = (2, 2)", "x.resize((3, 3), refcheck=False)", "x.dtype = np.int32", "x = x[None]", "x = np.append(x, 1)", "setattr(x, 'shape', (2, 2))"]),
    ("def x(): return <e>", "x()", ["def x(): return <f>", "x = lambda: <f>", "x = kept(lambda: <f>)"]),
    ("x = iter([<e>, <f>])", "next(x)", ["next(x)", "x = iter([<f>, <e>])", "list(x); x = iter([<f>] * 3)"]),
]  # fmt: skip
# Who reads (`<r>`): what is done before, and how it is asked.
READERS = [
    ("def g(): return <r>", "g()"), ("def g():\n    y = <r> * 1\n    return y", "g()"), ("g = lambda: <r>", "g()"), ("@kept\ndef g(): return <r>", "g()"),
    ("def g(n=1): return g(n - 1) if n else <r>", "g()"), ("def h(): return <r>\ndef g(): return h()[None]", "g()"), ("async def g():\n    y = <r> * 1\n    return y", "asyncio.run(g())"),
    ("def g():\n    y = <r> * 1\n    yield y\n    z = <r> * 1\n    yield z\n    yield from g()\ni = g()", "next(i)"),
    ("def g():\n    while True:\n        yield <r>\ni = iter(g())", "next(i)"), ("def h():\n    while True: yield <r>\ndef g(): yield from h()\ni = g()", "next(i)"),
    ("i = (<r> for _ in range(9))", "next(i)"), ("i = map(lambda _: <r>, range(9))", "next(i)"), ("i = (j for j in (<r> for _ in range(9)))", "next(i)"),
    ("i = zip(range(9), (<r> for _ in range(9)))", "next(i)[1]"), ("i = enumerate(<r> for _ in range(9))", "next(i)[1]"), ("i = filter(None.__ne__, (<r> for _ in range(9)))", "next(i)"),
    ("i = iter(lambda: <r>, 0)", "next(i)"), ("i = itertools.starmap(lambda: <r>, [()] * 9)", "next(i)"), ("d = [(<r> for _ in range(9))]", "next(d[0])"),
    ("class g:\n    @property\n    def w(self): return <r>\no = g()", "o.w"), ("class g:\n    def __getattr__(self, name): return <r>\no = g()", "o.w"),
    ("class g:\n    def see(self):\n        y = <r> * 1\n        return y\no = g()", "o.see()"), ("class g:\n    def __getitem__(self, at): return <r>\no = g()", "o[0]"),
    ("class g:\n    def __call__(self): return <r>\no = g()", "o()"), ("class g:\n    @classmethod\n    def see(cls): return <r>", "g.see()"), ("class g:\n    @staticmethod\n    def see(): return <r>", "g.see()"),
    ("class g:\n    def __iter__(self):\n        while True: yield <r>\ni = iter(g())", "next(i)"), ("class g:\n    def __add__(self, other): return <r>\no = g()", "o + 1"),
    ("class g:\n    def __enter__(self): return <r>\n    def __exit__(self, *error): pass\ndef h():\n    with g() as y: return y", "h()"),
    ("class g:\n    def __init__(self): self.w = <r>", "g().w"), ("class g:\n    @functools.cached_property\n    def w(self): return <r>", "g().w"),
    ("class g:\n    def __get__(self, o, t=None): return <r>\nclass h: w = g()", "h().w"), ("g = functools.partial(lambda *_: <r>, 1)", "g()"),
    ("class g(nn.Module):\n    def forward(self):\n        y = <r> * 1\n        return y\no = g()", "o()"), ("d = {'f': lambda: <r>}", "d['f']()"),
    ("def h():\n    def g(): return <r>\n    return g\ng = h()", "g()"), ("g = types.MethodType(lambda _: <r>, 1)", "g()"), ("fs = []\nfs.append(lambda: <r>)", "fs[0]()"),
    ("def g(f=lambda: <r>): return f()", "g()"), ("@functools.singledispatch\ndef g(q): return <r>", "g(1)"), ("g = kept(kept(lambda: <r>))", "g()"),
]  # fmt: skip
# Where the change (`<c>`) stands; the readings (`<a>`, `<b>`) are before and after it.
PLACES = [
    "<a>\n<c>\n<b>", "<a>\n<a>\n<c>\n<b>", "<a>\nif k is None:\n    <c>\n<b>", "<a>\nif k:\n    <c>\n<b>", "for _ in range(3):\n    <a>\n    <c>\n<b>", "for _ in range(2):\n    <a>\n    if _: continue\n    <c>\n    <b>",
    "n = 0\nwhile n < 2:\n    n += 1\n    <a>\n    <c>\n<b>", "<a>\ntry:\n    <c>\n    raise ValueError\nexcept ValueError:\n    <b>", "<a>\nwith contextlib.suppress(ValueError):\n    <c>\n    raise ValueError\n<b>",
    "try:\n    <a>\nfinally:\n    <c>\n<b>", "<a>\nfor _ in range(1): pass\nelse:\n    <c>\n<b>", "<a>\nmatch k:\n    case None:\n        <c>\n<b>", "<a>\nwith torch.no_grad():\n    <c>\n    <b>",
    "<a>\ndef change():\n    global x\n    <c>\nchange()\n<b>", "<a>\n@kept\ndef change():\n    global x\n    <c>\nchange()\n<b>", "def change():\n    global x\n    <c>\n<a>\nlist(map(lambda _: change(), [1]))\n<b>",
    "if k: pass\nelse:\n    <a>\n    <c>\n    <b>", "<c>\n<a>\n<c>\n<b>", "<a>\nclass body:\n    global x\n    <c>\n<b>", "for _ in range(3):\n    <a>\n    if _ == 1:\n        <c>\n        break\n<b>",
]  # fmt: skip
SHAPES = ["torch.zeros(3)", "torch.zeros(2, 5)", "torch.ones(2, 2, 3)", "torch.zeros(4, 3)", "torch.arange(6)"]


def program(seed: int) -> str:
    chance = random.Random(seed)
    thing, read, changes = chance.choice(NAMES)
    before, ask = chance.choice(READERS)
    place, change = chance.choice(PLACES), chance.choice(changes)
    first, second = chance.sample(SHAPES, 2)
    within = chance.random()
    for each in ("a", "b"):
        place = place.replace(f"<{each}>", f"{each} = {ask} * 1", 1).replace(f"<{each}>", f"{each}2 = {ask} * 1")
    lines = []
    for line in place.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        lines += [indent + each for each in (change.split("\n") if line.strip() == "<c>" else [line.strip()])]
    steps = "\n".join([thing, before, *lines]).replace("<r>", read).replace("<e>", first).replace("<f>", second)
    if within < 0.4:
        return f"{HEAD}{steps}\n"
    steps = steps.replace("global x", "nonlocal x")
    given = "x=None" if within > 0.8 else ""
    return f"{HEAD}def main({given}):\n{textwrap.indent(steps, '    ')}\nmain()\n"


def look_at(seeds: range, folder: Path) -> None:
    ran = 0
    for seed in seeds:
        source = program(seed)
        if runs(source):
            ran += 1
            assert wrong_claims(folder / f"program{seed}.py", source) == {}, f"seed {seed}\n{source[len(HEAD) :]}"
    assert ran > 0.7 * len(seeds)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_nothing_wrong_is_said_of_what_is_read_early_and_late(start: int, tmp_path: Path) -> None:
    look_at(range(start, start + 100), tmp_path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", [0, 0.5])
def test_nothing_wrong_is_said_of_it_where_calls_are_not_followed(
    share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow_no_more_than(share, "early and late", monkeypatch)
    look_at(range(1000, 1200), tmp_path)
