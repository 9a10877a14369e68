"""Modules that functions give which are not followed, and that containers hold of which nothing else is known: what is changed
by way of these is changed of them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """\
import collections, contextlib, functools, random
import torch
from torch import nn
Z = torch.zeros
P = nn.Parameter
def hidden(f): return eval('f')
def wrapped(f):
    def g(*a): return f(*a)
    return g
class Net(nn.Module):
    def __init__(self, r):
        super().__init__()
        self.r = r
class Obj:
    def __init__(self, r): self.r = r
class Sub(nn.Sequential): pass
class Box:
    def __init__(self, p, q):
        self.p = p
        self.q = q
    def __format__(self, s):
        p = self.q; p.r = Z(12, 4)
        return 's'
    def __neg__(self):
        p = self.q; p.r = Z(12, 4)
        return self
"""
# What gives `b`, by a function that is not followed.
GIVEN = {
    "an unknown decorator": "@hidden\ndef get(): return b\na = get()",
    "a wrapper": "@wrapped\ndef get(): return b\na = get()",
    "a cache": "@functools.lru_cache\ndef get(): return b\na = get()",
    "a cached argument": "@functools.cache\ndef get(x): return x\na = get(b)",
    "recursion": "def get(n): return b if n < 1 else get(n - 1)\na = get(3)",
    "a generator": "def get():\n    yield b\na = next(get())",
    "a manager": "@contextlib.contextmanager\ndef get(): yield b\nwith get() as a: pass",
    "a factory": "a = collections.defaultdict(lambda: b)[0]",
    "one of two lambdas": "get = (lambda: b) if not k else (lambda: c)\na = get()",
    "one of two functions": "def one(): return b\ndef two(): return c\na = (two if k else one)()",
}  # fmt: skip


@pytest.mark.parametrize("kind", ["Net", "Obj"])
@pytest.mark.parametrize("given", GIVEN)
def test_what_a_function_gives_is_changed(given: str, kind: str, tmp_path: Path) -> None:
    lines = [
        f"b = {kind}(Z(14, 1))",
        f"c = {kind}(Z(15, 1))",
        *GIVEN[given].splitlines(),
        "a.r = Z(3, 3)",
        "u = b.r",
        "v = c.r",
    ]
    source = f"{HEAD}def go(k):\n" + "".join(f"    {line}\n" for line in lines) + "go(random.choice([0]))\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}, source


# What puts one of two objects into `h.q`, which a method changes that is not followed.
PUT = [
    "get = (lambda: b) if k else (lambda: c)\nh.q = get()", "h.q = b if k else c", "h.q = [b, c][not k]", "h.q = {0: c, 1: b}[k]",
    "h.q = [b, c]\nh.q = h.q[not k]", "d = b\nfor i in range(2):\n    h.q = d\n    d = c", "h.q = next(x for x in (c, b))", "h.q = max([c, b], key=id)",
    "h.q = (lambda *a: a[-1])(b, c)", "setattr(h, 'q', c)", "h.__dict__['q'] = c", "vars(h).update(q=c)",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["Net", "Obj"])
@pytest.mark.parametrize("put", PUT)
def test_one_of_several_that_an_object_holds_is_changed(put: str, kind: str, tmp_path: Path) -> None:
    for call in ("f'{h}'", "-h"):
        lines = [
            f"b = {kind}(Z(14, 1))",
            f"c = {kind}(Z(15, 1))",
            "h = Box(b, b)",
            *put.splitlines(),
            call,
            "u = b.r",
            "v = c.r",
        ]
        source = f"{HEAD}def go(k):\n" + "".join(f"    {line}\n" for line in lines) + "go(random.choice([0]))\n"
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


CONTAINERS = {
    "Sequential": "nn.Sequential(a)", "a class of its own": "Sub(a)", "ModuleList": "nn.ModuleList([a])", "ModuleDict": "nn.ModuleDict({'0': a})",
}  # fmt: skip
# `p` may be the dictionary in which the container `m` holds its modules.
BEHIND = [
    "p = m._modules", "p = m.__dict__['_modules']", "p = m._modules if not k else {}", "p = vars(m)['_modules']",
    "p = m._modules; p.update(w=nn.Linear(4, 4))", "p = {}\nfor _ in range(2):\n    p['w'] = nn.Linear(4, 4)\n    p = m._modules",
]  # fmt: skip
CHANGED = [
    "m[0]", "m['0']", "m[-1]", "m[:1][0]", "[*m][0]", "[*m.children()][0]", "next(iter(m._modules.values()))", "[*p.values()][-1]", "p['0']", "p['w']",
    "getattr(m, '0')", "m.get_submodule('w')", "m.w", "m['w']", "[*m.values()][0]",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("behind", BEHIND)
def test_a_member_that_nobody_knows_any_more_is_changed(behind: str, container: str, tmp_path: Path) -> None:
    for changed in CHANGED:
        lines = [
            "a = nn.Linear(3, 4)",
            "v = nn.Linear(4, 5)",
            f"m = {CONTAINERS[container]}",
            *behind.splitlines(),
            "p['w'] = v",
        ]
        lines += [
            "try:",
            f"    {changed}.weight = P(Z(7, 3))",
            "except (KeyError, TypeError, AttributeError, IndexError): pass",
        ]
        lines += ["u = a.weight + 0", "w = v.weight + 0"]
        source = f"{HEAD}def go(k):\n" + "".join(f"    {line}\n" for line in lines) + "go(random.choice([0]))\n"
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


def shown(body: str) -> dict[str, object]:
    source = f"{HEAD}def go(k):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


def test_what_is_not_given_and_not_held_stays_known() -> None:
    body = "a = Net(Z(3, 1))\nb = Net(Z(4, 1))\n@hidden\ndef get(): return b\nget().r = Z(2)\nu = a.r + 0"
    assert shown(body)["u"] == (3, 1)
    body = "a = nn.Linear(3, 4)\nb = nn.Linear(4, 5)\nm = nn.Sequential(b)\np = m._modules\np['w'] = nn.Linear(5, 6)\nm[0].weight = 3\nu = a.weight + 0"
    assert shown(body)["u"] == (4, 3)
    body = "m = nn.Sequential()\nfor i in range(3):\n    m.append(nn.Linear(4, 4))\ny = m(Z(2, 4))"
    assert shown(body)["y"] == (2, 4)
    body = "m = nn.ModuleList([nn.Linear(3, 4)])\nfor n, p in m.named_parameters():\n    p.requires_grad = False\ny = m[0](Z(2, 3))"
    assert shown(body)["y"] == (2, 4)
