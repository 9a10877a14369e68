"""Objects that change as they are asked for something, by functions that are not followed, run: `len(box.inner.rows)`."""

from __future__ import annotations

import ast
import contextlib
import io
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")

# What `Inner` is asked for gives `r` another shape; `{e}` asks it by way of `self.inner`, `{g}` by way of `box.inner`.
HEAD = """import functools
import random
import torch
Z = torch.zeros
class Inner:
    def __init__(self): self.r = Z(2)
    {member}
        self.r = Z(3, 1)
        return [1]
class Box:
    def __init__(self, inner): self.inner = inner
    def other(self): return {e}
    @property
    def deep(self): return self.inner.rows
    @property
    def more(self): return {e} or 1
    {special}
class Call(Box):
    def __call__(self): return {e}
def f(self): return {e}
def go():
    b = Inner()
    box = Box(b)
    c = b.r + 0
    def g(): return {g}
    {called}
    d = b.r + 0
    e = box.inner.r + 0
go()
"""
MEMBERS = {
    "@property\n    def rows(self):": [
        "len(self.inner.rows)", "self.inner.rows", "print(self.inner.rows)", "isinstance(self.inner.rows, int)",
        "str(self.inner.rows)", "self.deep", "len(self.deep)", 'hasattr(self.inner, "rows")', 'getattr(self.inner, "rows")',
        "(lambda: self.inner.rows)()",
    ],
    "def rows(self):": ["self.inner.rows()", "len(self.inner.rows())", "[i for i in map(Inner.rows, [self.inner])]", "self.deep()"],
    "def __call__(self):": ["self.inner()", "len(self.inner())"],
}  # fmt: skip
ASKED = [(member, asked) for member, every in MEMBERS.items() for asked in every]
CALLED = [
    "str(box.other())", "box.other()", "box.more", "sorted([1], key=lambda i: box.other() is None)",
    "sorted([1], key=lambda i: f(box) is None)", "h = {'a': f}; h['a'](box)", "[k for k in map(f, [box])]",
    "sorted([1], key=lambda i: g() is None)", "len(list(filter(f, [box])))", "functools.partial(f, box)()", "Call(b)()",
    "c = Call(b); sorted([1], key=lambda i: c() is None)", "c = [Call(b)]; c[random.choice([0])]()",
]  # fmt: skip


# Special methods of `Box`, by which it is asked without a call.
SPECIAL = {"len(box)": "__len__", "box and 1": "__bool__", "[i for i in box]": "__iter__", "str(box)": "__str__"}


def program(member: str, asked: str, called: str) -> str:
    special = f"def {SPECIAL[called]}(self): return {asked} and None" if called in SPECIAL else ""
    by_name = asked.replace("self", "box")
    parts = {"member": member, "e": asked, "g": by_name, "special": special, "called": called}
    source = HEAD
    for name, part in parts.items():
        source = source.replace(f"{{{name}}}", part)
    return source


@pytest.mark.parametrize(("member", "asked"), ASKED)
def test_what_is_asked_for_changes_what_holds_it(member: str, asked: str, tmp_path: Path) -> None:
    wrong, ran = {}, 0
    for called in [*CALLED, *SPECIAL]:
        with contextlib.suppress(TypeError), contextlib.redirect_stdout(io.StringIO()):
            if found := wrong_claims(tmp_path / "program.py", program(member, asked, called)):
                wrong[called] = found
            ran += 1
    assert wrong == {}
    assert ran >= 10


@pytest.mark.parametrize("called", CALLED)
def test_what_changes_nothing_leaves_it_known(called: str) -> None:
    source = program("@property\n    def rows(self):", "len(self.inner.rows)", called).replace(
        "self.r = Z(3, 1)", "pass"
    )
    shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert shown == {"c": (2,), "d": (2,), "e": (2,)}
