"""Objects whose methods change them, called by functions that are not followed and find them by other ways than a name, run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """import functools, random
import torch
from torch import nn


class Obj:
    def __init__(self, held):
        self.held = held

    def swap(self, held):
        self.held = held

    def look(self):
        return self.held


class Mod(nn.Module):
    def __init__(self, held):
        super().__init__()
        self.held = held

    def swap(self, held):
        self.held = held

    def look(self):
        return self.held


class Box:
    def __init__(self, one):
        self.one = one


def other(one):
    one.swap(torch.zeros(9, 2))


def go(k):
    a, b = {made}(torch.zeros(4, 1)), {made}(torch.zeros(5, 1))
    {ready}
    def inner():
        {change}
    {call}
    r0, r1 = a.held, b.held


for k in (0, 1, 6):
    go(random.choice([k]))
"""
SWAP = ".swap(torch.zeros(7, 2))"
# What is made ready for the function, and the expression by which it finds the object that it changes.
FOUND = {
    "an item of a list": ("rows = [a]", "rows[0]"),
    "an item of a dictionary": ("rows = {'k': a}", "rows['k']"),
    "an item of a tuple": ("rows = (a, 3)", "rows[0]"),
    "an attribute": ("box = Box(a)", "box.one"),
    "an item of an attribute": ("box = Box([a])", "box.one[0]"),
    "one of two": ("one = a if k else b", "one"),
    "one of two, there": ("one = 3", "(a if k else b)"),
    "a class's attribute": ("class Kept: one = a", "Kept.one"),
    "what a function gives": ("get = lambda: a", "get()"),
    "what a function of Python's gives": ("rows = [a]", "next(iter(rows))"),
    "what a method gives": ("rows = {'k': a}", "rows.get('k')"),
    "a container of modules": ("rows = nn.ModuleList([a]) if isinstance(a, nn.Module) else [a]", "rows[0]"),
}  # fmt: skip
# Likewise, with a statement.
CHANGED = {
    "by a name for it": ("rows = [a]", "one = rows[0]\n        one.swap(torch.zeros(7, 2))"),
    "by another name": ("pass", "one = a\n        one.swap(torch.zeros(7, 2))"),
    "in a loop": ("rows = [a]", "for one in rows: one.swap(torch.zeros(7, 2))"),
    "in a comprehension": ("rows = [a]", "[one.swap(torch.zeros(7, 2)) for one in rows]"),
    "by its method, bound before": ("put = a.swap", "put(torch.zeros(7, 2))"),
    "by a partial function": ("put = functools.partial(type(a).swap, a)", "put(torch.zeros(7, 2))"),
    "by a default": ("def put(one=a): one.swap(torch.zeros(7, 2))", "put()"),
    "by a function that a list holds": ("table = [other]", "table[0](a)"),
}
CALLS = ["inner()", "if k: inner()", "for _ in range(k): inner()", "run = inner\n    run()"]


def program(ready: str, change: str, made: str, call: str) -> str:
    places = {"{made}": made, "{ready}": ready, "{change}": change, "{call}": call}
    source = HEAD
    for place, text in places.items():
        source = source.replace(place, text)
    return source


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*FOUND, *CHANGED])
def test_what_a_function_finds_is_changed(name: str, tmp_path: Path) -> None:
    ready, change = CHANGED[name] if name in CHANGED else (FOUND[name][0], FOUND[name][1] + SWAP)
    wrong = {}
    for made in ("Obj", "Mod"):
        for call in CALLS:
            found = wrong_claims(tmp_path / "program.py", program(ready, change, made, call))
            if found:
                wrong[made, call] = found
    assert wrong == {}


@pytest.mark.parametrize("made", ["Obj", "Mod"])
@pytest.mark.parametrize("name", FOUND)
def test_what_a_function_only_looks_at_stays_known(name: str, made: str) -> None:
    ready, found = FOUND[name]
    for change in (f"{found}.look()", f"r = {found}.held\n        r.sum()"):
        source = program(ready, change, made, "inner()")
        shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
        assert (shown["r0"], shown["r1"]) == ((4, 1), (5, 1))


def test_what_is_not_in_hand_stays_known() -> None:
    source = program("rows = [a]", f"rows[0]{SWAP}", "Obj", "inner()")
    shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (shown.get("r0"), shown["r1"]) == (None, (5, 1))


IN_CONTAINERS = {
    "of a Sequential": ("rows = nn.Sequential(a)", "for m in rows: m.held = torch.zeros(7, 2)"),
    "of a ModuleList of a module": (
        "rows = nn.Module()\n    box = Mod(nn.ModuleList([a]))",
        "for m in box.held: m.swap(torch.zeros(7, 2))",
    ),
    "of a ModuleDict": ("rows = nn.ModuleDict({'k': a})", "rows['k'].held = torch.zeros(7, 2)"),
    "of a part of a Sequential": ("one = nn.Sequential(a, b)[k & 1:][0]", "one.held = torch.zeros(7, 2)"),
    "that a generator gives": (
        "rows = [a]\n    def each():\n        one = rows[0]\n        rows[0] = one\n        yield one",
        "for one in each(): one.held = torch.zeros(7, 2)",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", IN_CONTAINERS)
def test_a_module_in_a_container_is_changed(name: str, tmp_path: Path) -> None:
    ready, change = IN_CONTAINERS[name]
    calls = [*CALLS, change.replace("\n    ", "\n")]  # and where it stands
    wrong = {call: wrong_claims(tmp_path / "program.py", program(ready, change, "Mod", call)) for call in calls}
    assert {call: found for call, found in wrong.items() if found} == {}
