"""What a loop or a comprehension goes through, by whatever expression, and what the rounds change of it meanwhile."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """\
import copy, functools, itertools, os
import torch
Z = torch.zeros
k = os.environ.get("NOT_SET")
def mk(r): return r
class Obj:
    def __init__(self, r): self.r = r
    def get(self): return self.r
    def put(self, v): self.r[1] = v
    def __iter__(self): return iter(self.r)
class Holder:
    rows = [Z(1), Z(2)]
"""
SETUP = """\
    a = [Z(1), Z(2)]
    e = [Z(3), Z(4)]
    d = {"k": a}
    o = Obj(a)
    c = a
    v = {"l": Z(1), "m": Z(2)}
    def chg(): a[1] = Z(5, 5)
"""
# Expressions that give what the list holds, and the list itself or what is made of it.
ITERABLES = [
    "a", "(a if k is None else e)", "a or e", "k or a", "a and a", 'd["k"]', "o.r", "mk(a)", "o.get()", "o", "itertools.chain(a, [])",
    'd.get("k")', "(lambda: a)()", "[a][0]", "(a, e)[0]", "next(iter([a]))", 'd.setdefault("k", [])', "list(d.values())[0]",
    'getattr(o, "r")', "map(torch.neg, a)", "(q * 1 for q in a)", "(q for q in mk(a))", "reversed(a[::-1])", "itertools.islice(a, 0, None)",
    "[q for q in a]", "a[:]", "list(mk(a))", "a + []", "[*a]", "sorted(a, key=len)", "v.values()", "map(mk, a)", "max([a, []], key=len)",
    "functools.partial(mk, a)()", "iter(mk(a))", "reversed(mk([a[1], a[0]]))", "copy.copy(a)", "[a].pop()", "tuple(a)", "Holder.rows",
    "(v if k is None else {}).values()", "(q for _, q in enumerate(d[\"k\"]))", "(q for q, in zip(o.r))", "map(torch.neg, d[\"k\"])",
    "map(torch.neg, o.get())", "map(torch.neg, list(d.values())[0])",
]  # fmt: skip
CHANGES = [
    "a[1] = Z(5, 5)", "c[1] = Z(5, 5)", 'd["k"][1] = Z(5, 5)', "o.r[1] = Z(5, 5)", "chg()", "if len(a) < 3: a.append(Z(5, 5))",
    'v["m"] = Z(5, 5)', "Holder.rows[1] = Z(5, 5)", "if a[1].ndim == 1: a.insert(1, Z(5, 5))", "o.put(Z(5, 5))", "a[1:] = [Z(5, 5)]",
]  # fmt: skip
# Each program in a function of its own: `@` is what is gone through, `<c>` what changes it.
LOOP = f"def f():\n{SETUP}    for x in @:\n        <c>\n        u = x + 0\n    y = x\nf()\n"
COMPREHENSION = f"""\
def f():
{SETUP}    def then(x):
        <c>
        return x + 0
    y = [then(x) for x in @][-1]
    z = y + 0
f()
"""
DICTIONARY = f"""\
def f():
{SETUP}    def then(x):
        <c>
        return x + 0
    w = {{i: then(x) for i, x in enumerate(@)}}[1]
    for i, x in enumerate(@):
        s = then(x)
    for u in (then(x) for x in @):
        t = u + 0
f()
"""


@pytest.mark.parametrize("form", [LOOP, COMPREHENSION, DICTIONARY], ids=["loop", "comprehension", "dictionary"])
@pytest.mark.parametrize("iterable", ITERABLES)
def test_what_the_rounds_change_is_not_gone_through_as_it_was(iterable: str, form: str, tmp_path: Path) -> None:
    for change in CHANGES:
        source = HEAD + form.replace("@", iterable).replace("<c>", change)
        assert wrong_claims(tmp_path / "here.py", source) == {}, source


@pytest.mark.parametrize(
    "iterable", ["(w := a)", "(w := [Z(1), Z(2)])", "map(torch.neg, w := a)", "zip(w := a)", "enumerate(w := a)"]
)
def test_what_is_named_where_it_is_gone_through(iterable: str, tmp_path: Path) -> None:
    source = (
        f"{HEAD}def f():\n{SETUP}    for x in {iterable}:\n        w[1] = Z(5, 5)\n    y = x\n"
        f"    m = iter({iterable.replace('a)', 'e)')})\n    w[0] = Z(6, 6)\n    z = next(m)\n    u = z[-1] + 0\nf()\n"
    )
    assert wrong_claims(tmp_path / "here.py", source) == {}


@pytest.mark.parametrize("form", [LOOP, COMPREHENSION], ids=["loop", "comprehension"])
@pytest.mark.parametrize(
    "iterable", ["a", "(a if k is None else a)", "mk(a)", "o.get()", "[a][0]", 'd["k"]', "itertools.chain(a, [])"]
)
def test_what_no_round_changes_stays_known(iterable: str, form: str) -> None:
    setup = SETUP.partition("    v = ")[0].replace("Z(1)", "Z(2)")
    for change in ("more.append(x)", "x = x + 1", "n[0] = x"):
        source = HEAD + form.replace(SETUP, setup + "    more, n = [], {}\n").replace("@", iterable).replace(
            "<c>", change
        )
        rows = [row for row in analyse(ast.parse(source), source).bindings if row.name == "y"]
        assert [row.shape for row in rows] == [(2,)], source


# What the names of a loop lead to, one more in each round: what holds `Z(3, 1)`, how that is read, and how another is put there.
LED_TO = {
    "a dictionary": ('{"w": Z(3, 1)}', "{}", '@["w"]', '@["w"] = Z(5, 5)'),
    "a dictionary that is updated": ('{"w": Z(3, 1)}', "{}", '@["w"]', "@.update(w=Z(5, 5))"),
    "a list": ("[Z(3, 1)]", "[None]", "@[0]", "@[0] = Z(5, 5)"),
    "an object": ("Obj(Z(3, 1))", "Obj(None)", "@.r", "@.r = Z(5, 5)"),
    "an object's list": ("Obj([Z(3, 1)])", "Obj([None])", "@.r[0]", "@.r[0] = Z(5, 5)"),
}
# Statements of a round that hand the object on, `first` to be changed.
HANDED_ON = {
    "at once": "first = box",
    "by one more name": "first = second\n        second = box",
    "by two more names": "first = second\n        second = third\n        third = box",
    "as one of two": "first = second if k else second\n        second = box if not k else other",
    "with new ones between": "first = second\n        second = @new\n        if x > 1:\n            second = box",
    "in a list": "first = second[-1]\n        second = [box]",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("handed", HANDED_ON)
@pytest.mark.parametrize("thing", LED_TO)
def test_a_later_round_changes_what_an_earlier_one_led_to(thing: str, handed: str, tmp_path: Path) -> None:
    made, new, read, change = LED_TO[thing]
    start = f"[{new}]" if handed == "in a list" else new
    source = HEAD + (
        "def go():\n"
        f"    box = {made}\n    other = {new}\n    first = {new}\n    second = {start}\n    third = {new}\n"
        "    for x in range(9):\n"
        f"        y = {read.replace('@', 'box')}\n        z = y * 2\n        {change.replace('@', 'first')}\n"
        f"        {HANDED_ON[handed].replace('@new', new)}\n"
        f"    last = {read.replace('@', 'box')}\n    return last\ngo()\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


def test_one_of_one_of_two_lists_is_changed(tmp_path: Path) -> None:
    source = HEAD + (
        "def go(n):\n    box, other = [Z(3, 1)], [Z(1, 1)]\n    if n:\n        one = [Z(2, 1)]\n    else:\n        one = box\n"
        "    if k:\n        two = other\n    else:\n        two = one\n    two[0] = Z(5, 5)\n    y = box[0]\n    return y\ngo(0)\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}
