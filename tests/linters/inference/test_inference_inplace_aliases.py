"""Tensors and arrays that are one object under several names, of which one is given another shape in place, run."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

import inplace_programs
from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")

HEAD = """import random
import numpy as np
import torch
Z = torch.zeros
class Obj:
    def __init__(self, r): self.r = r
def change(q): q.unsqueeze_(0)
"""
RUN = "for m in (0, 1): go(random.choice([m]))\n"
# What `out=` has written into is one object with `b` still.
ONE_OBJECT = {
    "another name": "b = a",
    "the same, it may be": "b = a.contiguous()",
    "of an object": "h = Obj(a)\n    b = h.r",
    "one of two": "b = a if m else Z(9, 9)",
    "from a loop": "b = a\n    for _ in range(m): b = a.detach().requires_grad_(False)\n    b = a if m else b",
    "of an object that a loop has given it": "h = Obj(Z(1, 16))\n    for _ in range(m): h.r = a\n    b = h.r",
    "what a method gives": "b = a.add_(1)",
    "what a function gives": "b = torch.atleast_1d(a)",
}
LATER = {
    "a method": "b.unsqueeze_(0)",
    "a function": "change(b)",
    "a loop": "for _ in range(m):\n        torch.abs(Z(5, 6), out=a)\n        c = a + 0\n        b.unsqueeze_(0)",
    "another `out`": "torch.abs(Z(7, 8), out=b)",
    "a branch": "if m: b.t_()",
    "a function within": "def inner(): change(b)\n    if m: inner()",
}


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("way", ONE_OBJECT)
def test_what_out_has_written_into_may_get_another_shape_by_its_other_name(
    way: str, later: str, tmp_path: Path
) -> None:
    source = (
        f"{HEAD}def go(m):\n    a = Z(12, 2)\n    {ONE_OBJECT[way]}\n    torch.abs(Z(5, 6), out=a)\n"
        f"    {LATER[later]}\n    d = a + 0\n    e = b + 0\n{RUN}"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


def test_what_out_has_written_into_is_known_where_nothing_else_is_it() -> None:
    source = f"{HEAD}def go(m):\n    a = torch.empty(0)\n    torch.abs(Z(5, 6), out=a)\n    d = a + 0\n"
    known = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert known["d"] == (5, 6)


@pytest.mark.parametrize("given", ["q", "q.add_(1)", "torch.atleast_1d(q)", "(q, 1)[0]", "Obj(q).r"])
def test_a_function_may_give_the_same_object_each_time(given: str, tmp_path: Path) -> None:
    source = (
        f"{HEAD}def same(q): return {given}\ndef go(m):\n    a = Z(13)\n    try:\n        torch.abs(Z(5, 6), out=a)\n"
        f"    except ValueError:\n        pass\n    c = same(a)\n    d = same(a)\n    torch.arange(5, out=d)\n"
        f"    c.unsqueeze_(0)\n    e = d\n    f = c + 0\n{RUN}"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


@pytest.mark.parametrize(
    "assigned", ["for _ in range(m): h.r = b", "while m:\n        h.r = b\n        break", "if m: h.r = b"]
)
@pytest.mark.parametrize(
    "change", ["b.shape = -1", "setattr(b, 'shape', -1)", "reshape(b)", "np.asarray(b).shape = -1"]
)
def test_what_an_object_may_hold_since_a_loop(assigned: str, change: str, tmp_path: Path) -> None:
    source = (
        f"{HEAD}def reshape(q): q.shape = -1\ndef go(m):\n    b = np.zeros((1, 15, 1))\n    h = Obj(np.zeros((1, 16)))\n"
        f"    {assigned}\n    {change}\n    w = h.r\n    v = b\n{RUN}"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


# How a function within gives an array of the function around it another shape or type.
WITHIN = {
    "by its name": "a.shape = -1",
    "by what may be it": "np.asarray(a).shape = -1",
    "by a name of what may be it": "q = np.atleast_1d(a)\n        q.shape = -1",
    "by a function": "reshape(a)",
    "in a function, by what may be it": "reshape_same(a)",
    "its axes, by a function": "add_axis(a)",
    "its type": "a.dtype = np.int64",
    "its type, by a function": "convert(a)",
    "by a loop": "for q in (a,): q.shape = -1",
    "by an object": "Obj(a).r.shape = -1",
}
CALLED = {
    "perhaps": "if m: inner()",
    "in a loop": "for _ in range(m): inner()",
    "where errors are caught": "try:\n        inner() if m else None\n    except ValueError:\n        pass",
    "by another function": "def outer(): inner()\n    if m: outer()",
    "by another name": "run = inner\n    if m: run()",
}
FUNCTIONS = """def reshape(q): q.shape = -1
def reshape_same(q): np.asarray(q).shape = -1
def add_axis(q): q.shape += (1,)
def convert(q): q.dtype = np.int64
"""


@pytest.mark.parametrize("called", CALLED)
@pytest.mark.parametrize("way", WITHIN)
def test_an_array_that_a_function_within_may_have_changed_is_not_claimed(way: str, called: str, tmp_path: Path) -> None:
    for later in ("", "    a = np.zeros((1, 13))\n", "    a = a[None]\n    f = a\n"):
        source = (
            f"{HEAD}{FUNCTIONS}def go(m):\n    a = np.zeros((1, 12))\n    b = a\n    def inner():\n        {WITHIN[way]}\n"
            f"    {CALLED[called]}\n    c = a\n    d = b + 0\n{later}{RUN}"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, later


@pytest.mark.parametrize("line", ["q = np.asarray(a) + 1", "q = a.shape", "q = a.dtype == int"])
def test_a_function_within_that_changes_nothing_of_an_array_leaves_it_known(line: str) -> None:
    source = (
        f"{HEAD}def go(m):\n    a = np.zeros((1, 12))\n    def inner():\n        {line}\n    if m: inner()\n    c = a\n"
    )
    known = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert known["c"] == (1, 12)


# A file that speaks of no method that gives another shape.
SILENT = HEAD.replace("def change(q): q.unsqueeze_(0)\n", "")
UNNAMED = "h = type('H', (), {})()\n    h.r = a"
# Whatever statement assigns it, an array has another shape then; `b` and `a` are one.
ASSIGNED = {
    "annotated": "b.shape: tuple = (-1,)",
    "in brackets": "[b.shape] = [(-1,)]",
    "in parentheses": "(b.shape) = (-1,)",
    "one of two": "(b.shape, q) = (-1,), 1",
    "one of three": "q, *r, (b.shape, t) = 1, ((-1,), 2)",
    "by a loop": "for b.shape in [(-1,)]: pass",
    "by a loop over two": "for b.shape, q in [((-1,), 1)]: pass",
    "by a manager": "with contextlib.nullcontext((-1,)) as b.shape: pass",
    "on another line": "b.shape \\\n        = (-1,)",
    "behind a space": "b . shape = (-1,)",
    "a name on another line": "(b\n     .shape) = (-1,)",
    "by a name that others give": "for k, v in {'shape': (-1,)}.items(): setattr(b, k, v)",
    "by a name": "k = 'shape'\n    setattr(b, k, (-1,))",
    "by another name for setattr": "s = setattr\n    s(b, 'shape', (-1,))",
    "by a call over lines": "setattr(\n        b,\n        'shape',\n        (-1,),\n    )",
    "by a partial function": "functools.partial(setattr, b, 'shape')((-1,))",
    "by a text": "exec('b.shape = (-1,)')",
    "by the descriptor": "type(b).shape.__set__(b, (-1,))",
    "its type": "for b.dtype in [np.int32]: pass",
    "its strides": "for b.strides in [(8, 8)]: pass",
}


@pytest.mark.parametrize("assigned", ASSIGNED)
def test_an_array_has_another_shape_whatever_assigns_it(assigned: str, tmp_path: Path) -> None:
    for given in ("b = a", "h = Obj(a)\n    b = h.r", UNNAMED):
        # What an object of no written class holds is `h.r`.
        statement = re.sub(r"\bb\b", "h.r", ASSIGNED[assigned]) if given is UNNAMED else ASSIGNED[assigned]
        source = (
            f"import contextlib\nimport functools\n{SILENT}def go(n, m):\n    a = np.zeros((n, m))\n    {given}\n    {statement}\n"
            "    c = a\n    d = a * 1\n    e = a[0]\ngo(4, 6)\n"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, given


# Methods that are found by a name nobody knows, in a file that speaks of such as give another shape.
FOUND = {
    "chosen": "getattr(b, 'add_' if m < 0 else 't_')()",
    "put together": "getattr(b, f\"{'t'}_\")()  # t_",
    "of several": "for k in ('t_', 'squeeze_'): getattr(b, k)()",
    "by a text": "exec('b.t_()')",
    "by a text that gives": "eval('b.t_()')",
    "of the class": "getattr(torch.Tensor, 't_')(b)",
}


@pytest.mark.parametrize("found", FOUND)
def test_a_tensor_has_another_shape_whatever_finds_the_method(found: str, tmp_path: Path) -> None:
    for given in ("b = a", "h = Obj(a)\n    b = h.r"):
        source = (
            f"{SILENT}def go(n, m):\n    a = torch.zeros(n, m)\n    {given}\n    {FOUND[found]}\n"
            "    c = a\n    d = a * 1\n    e = a[0]\ngo(4, 6)\ngo(1, 3)\n"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, given


@pytest.mark.parametrize(
    "line",
    ["q = getattr(a, 'shape')", "getattr(a, 'sum')()", "setattr(h, 'shape', 3)", "h.r.requires_grad: bool = True"],
)
def test_what_gives_no_other_shape_leaves_a_tensor_known(line: str) -> None:
    source = (
        f"{SILENT}def go(h):\n    a = torch.zeros(4, 6)\n    for h.data in ():\n        pass\n    {line}\n    c = a\n"
    )
    known = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert known["c"] == (4, 6)


@pytest.mark.parametrize("begin", range(0, 300, 50))
def test_random_programs(begin: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(begin, begin + 50):
        source = inplace_programs.make(seed)
        assert wrong_claims(tmp_path / "program.py", source) == {}, seed
        failures: list[Exception] = []
        analyse(ast.parse(source), source, failures=failures)
        assert failures == [], seed


# Ways to make `e`, which is one object with `b`, or may be.
ALIASES = {
    "a name": "e = b",
    "contiguous": "e = b.contiguous()",
    "to": "e = b.to('cpu')",
    "of two": "e = b if k else b.contiguous()",
    "held": "h = Obj(b)\n    e = h.r",
    "kept by a list": "rows = [b]\n    e = rows[0].contiguous()",
    "kept where nobody knows": "random.choice([[]]).append(b)\n    e = b.contiguous()",
}
TURNS = ["b.unsqueeze_(0)", "b.t_()", "e.t_()", "b.resize_(3, 2)", "change(b)", "b.transpose_(0, 1)", "b.set_(Z(1, 6))"]
# What tells of `e`, or of something that is `e` or `b`, anew.
TOLD_ANEW = {
    "an assertion": "assert e.shape == (3, 2)",
    "an assertion of three": "assert e.shape == (1, 2, 3)",
    "an assertion about the other": "assert b.shape == (3, 2)",
    "unpacked sizes": "n, m = e.shape[:2]\n    if e.dim() == 2: n, m = e.shape",
    "two sizes": "e = e.view(e.shape)\n    e = e.squeeze(0) if e.dim() == 3 else e\n    n, m = e.shape",
    "another name": "g = e.contiguous()\n    if g.dim() == 2: n, m = g.shape",
    "its type": "g = e.to(torch.float32)",
}


@pytest.mark.parametrize("told", TOLD_ANEW)
@pytest.mark.parametrize("way", ALIASES)
def test_what_is_told_of_an_alias_after_a_change_ends_with_the_next_one(way: str, told: str, tmp_path: Path) -> None:
    for at, first in enumerate(TURNS):
        for second in TURNS:
            source = (
                f"{HEAD}def go(k):\n    b = Z(2, 3)\n    {ALIASES[way]}\n    {first}\n    {TOLD_ANEW[told]}\n    {second}\n"
                f"    z0 = e\n    z1 = b\nfor t in (0, 1):\n    try: go(random.choice([t]))\n    except Exception: pass\n"
            )
            assert wrong_claims(tmp_path / f"program{at}.py", source) == {}, source


@pytest.mark.parametrize(
    "body",
    [
        "e = np.asarray(b)\n    b.shape = -1\n    assert e.shape == (6,)\n    b.shape = (3, 2)",
        "e = np.asarray(b, dtype=float)\n    b.shape = -1\n    e = np.asarray(e, dtype=float)\n    b.dtype = np.int64",
        "e = b.astype(float, copy=False)\n    b.shape = 6, 1\n    n, m = e.shape\n    b.shape = -1",
        "e = np.ravel(b)\n    e.shape = 3, 2\n    n, m = e.shape\n    e.shape = -1",
        "h = Obj(b)\n    e = np.asarray(h.r)\n    h.r.shape = 6, 1\n    n, m = e.shape\n    h.r.shape = 1, 6",
    ],
)
def test_what_is_told_of_an_array_after_a_change_ends_with_the_next_one(body: str, tmp_path: Path) -> None:
    source = f"{HEAD}def go(k):\n    b = np.zeros((2, 3))\n    {body}\n    z0 = e\n    z1 = b\ngo(random.choice([0]))\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}
