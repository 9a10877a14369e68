"""What the methods give that Python itself calls: `h + 1`, `for each in h`, `h.missing`. It may be `h` itself, or what `h` holds."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")

PROGRAM = """import copy
import itertools
import operator
import random
import torch
from torch import nn
Z = torch.zeros
def same(x): return x
def change(q): q.unsqueeze_(0)
class Obj:
    def __init__(self, r): self.r = r
class Net(nn.Module):
    def __init__(self, r):
        super().__init__()
        self.r = r
class Box:
    def __init__(self, p): self.p = p
    {method}
def go(k):
    a = {made}
    h = Box(a)
    v = {read_a} + 0
    {statement}
    w0 = {read_a} + 0
    w1 = {read_p} + 0
go(1)
"""
# How what `h.p` is holds a tensor, how that is read, and how it gets another shape.
KINDS = {
    "an object": ("Obj(Z(13, 2))", "{}.r", "{}.r = Z(30, 3)"),
    "a module": ("Net(Z(13, 2))", "{}.r", "{}.r = Z(30, 3)"),
    "a list": ("[Z(13, 2)]", "{}[0]", "{}[0] = Z(30, 3)"),
    "a dictionary": ("{'w': Z(13, 2)}", "{}['w']", "{}.update(w=Z(30, 3))"),
    "an object, in place": ("Obj(Z(13, 2))", "{}.r", "{}.r.unsqueeze_(0)"),
    "an object, in a function": ("Obj(Z(13, 2))", "{}.r", "change({}.r)"),
}
OPERATORS = {
    "__add__": ["h + 1", "operator.add(h, 1)", "[h][0] + 1", "h + Z(3)", "h + a", "[x + 1 for x in [h]][0]", "(h if k else a) + 1"],
    "__radd__": ["1 + h", "sum([h])", "Z(3) + h", "'a' + h", "[1] + h", "{1: h}[1].__radd__(1)"],
    "__sub__": ["h - 1", "same(h) - 1"],
    "__mul__": ["h * 2", "h * Z(3)", "h * h"],
    "__rmul__": ["2 * h", "Z(3) * h", "'a' * h"],
    "__truediv__": ["h / 2"],
    "__floordiv__": ["h // 2"],
    "__mod__": ["h % 2", "h % a"],
    "__pow__": ["h ** 2", "pow(h, 2)"],
    "__matmul__": ["h @ 2", "h @ Z(3)"],
    "__rmatmul__": ["Z(3) @ h"],
    "__and__": ["h & 1"],
    "__ror__": ["1 | h"],
    "__lshift__": ["h << 1", "(h << 1 if k else a)"],
    "__divmod__": ["divmod(h, 2)"],
    "__neg__": ["-h", "operator.neg(h)", "-(h if k else a)"],
    "__pos__": ["+h"],
    "__invert__": ["~h"],
    "__abs__": ["abs(h)"],
    "__round__": ["round(h)", "round(h, 2)"],
    "__lt__": ["h < 1", "h < Z(3)", "h < a"],
    "__eq__": ["h == 1", "h == h"],
    "__gt__": ["1 < h"],
    "__getitem__": ["h[0]", "h['a']", "h[1:2]", "operator.getitem(h, 0)"],
    "__copy__": ["copy.copy(h)"],
    "__deepcopy__": ["copy.deepcopy(h)"],
}  # fmt: skip
ALONE = {"__neg__", "__pos__", "__invert__", "__abs__", "__copy__"}
GIVEN = {"self": "g.p", "self.p": "g", "[self]": "g[0].p", "(self.p, 1)": "g[0]"}


def program(kind: str, method: str, statement: str) -> str:
    made, read, _ = KINDS[kind]
    parts = {
        "method": method, "statement": statement, "made": made, "read_a": read.format("a"), "read_p": read.format("h.p"),
    }  # fmt: skip
    source = PROGRAM
    for name, part in parts.items():
        source = source.replace(f"{{{name}}}", part)
    return source


def wrong_of(path: Path, kind: str, method: str, statement: str) -> dict[object, str]:
    return wrong_claims(path / "program.py", program(kind, method, statement))


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_an_operator_gives_may_be_changed(kind: str, name: str, tmp_path: Path) -> None:
    change, wrong = KINDS[kind][2], {}
    for given, part in GIVEN.items():
        method = f"def {name}(self{'' if name in ALONE else ', o=None'}): return {given}"
        for written in OPERATORS[name]:
            found = wrong_of(tmp_path, kind, method, f"g = {written}\n    {change.format(part)}")
            if found:
                wrong[given, written] = found
    assert wrong == {}


# Ways in which Python iterates over `h`, whose items are `{x}`.
ITERATED = [
    "for {x} in h: ...", "for {x}, _ in zip(h, [1]): ...", "for _, {x} in enumerate(h): ...", "{x} = next(iter(h)); ...",
    "{x} = list(h)[0]; ...", "{x}, = h; ...", "{x}, *_ = h; ...", "{x} = [*h][0]; ...", "{x} = tuple(h)[0]; ...",
    "for {x} in itertools.chain(h): ...", "{x} = [y for y in h][0]; ...", "for {x} in sorted(h, key=id): ...",
    "for {x} in (h if k else []): ...", "for {x} in [z for y in [h] for z in y]: ...", "{x} = max(h, key=id); ...",
]  # fmt: skip
MADE = {
    "an iterator of itself": ("def __iter__(self): return iter([self])", "x.p"),
    "an iterator of what it holds": ("def __iter__(self): return iter([self.p])", "x"),
    "a generator": ("def __iter__(self): yield self.p", "x"),
    "a generator of itself": ("def __iter__(self): yield self", "x.p"),
    "items": ("def __getitem__(self, i):\n        if i: raise IndexError\n        return self.p", "x"),
    "pairs, unpacked": ("def __iter__(self): yield self, self.p", "x[1]"),
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_iterated_over_may_be_changed(kind: str, made: str, tmp_path: Path) -> None:
    method, part = MADE[made]
    change, wrong = KINDS[kind][2], {}
    for way in ITERATED:
        found = wrong_of(tmp_path, kind, method, way.replace("{x}", "x").replace("...", change.format(part)))
        if found:
            wrong[way] = found
    assert wrong == {}


ASKED = {
    "def __getattr__(self, name):\n        if name == 'missing': return self.__dict__['p']\n        raise AttributeError(name)": [
        "g = h.missing", "g = getattr(h, 'missing')", "g = operator.attrgetter('missing')(h)", "g = (h if k else a).missing",
    ],
    "def __enter__(self): return self.p\n    def __exit__(self, *a): pass": ["with h as g: pass"],
    "def __call__(self): return self.p": ["g = h()", "g = same(h)()", "g = (h if k else same)()"],
    "def __iadd__(self, o): return self.p": ["g = h; g += 1", "n = Box(h); n.p += 1; g = n.p", "n = [h]; n[0] += 1; g = n[0]"],
    "def __imul__(self, o): return self.p": ["g = h; g *= 2"],
    "def __reversed__(self): return iter([self.p])": ["g = next(reversed(h))", "g = [x for x in reversed(h)][0]"],
    "def __class_getitem__(cls, o): return o.p": ["g = Box[h]"],
    "def __add__(self, o): return o": ["g = h + a", "g = h + h.p"],
    "def __lt__(self, o): return o": ["g = h < a"],
    "__match_args__ = ('p',)": ["match h:\n        case Box(g): pass"],
    "@property\n    def q(self): return self.p": ["g = h.q"],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_asked_for_may_be_changed(kind: str, tmp_path: Path) -> None:
    change, wrong = KINDS[kind][2].format("g"), {}
    for method, statements in ASKED.items():
        for statement in statements:
            if found := wrong_of(tmp_path, kind, method, f"{statement}\n    {change}"):
                wrong[method, statement] = found
    assert wrong == {}


@pytest.mark.parametrize(
    "statement",
    [
        "g = h + 1", "g = -h", "for g in h: pass", "g, = h", "g = h[0]", "g = abs(h)", "g = h.p", "g = h < 1", "g = 1 + h",
        "for g in h: g = Obj(Z(1)); g.r = Z(4)", "g = Obj(Z(2)); g.r = Z(3)",
    ],
)  # fmt: skip
def test_what_is_only_asked_for_stays_known(statement: str) -> None:
    method = "\n    ".join(
        f"def {name}(self, o=None): return self.p"
        for name in ("__add__", "__radd__", "__neg__", "__getitem__", "__abs__", "__lt__")
    )
    method += "\n    def __iter__(self): return iter([self.p])"
    for kind in ("an object", "a list"):
        source = program(kind, method, statement)
        shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
        assert shown["w0"] == shown["w1"] == (13, 2), kind
