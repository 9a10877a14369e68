"""What only some rounds of a loop bind, read behind it: its sizes are those of that round, not of the last one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")

PROGRAM = """import contextlib
import random
import torch
Z = torch.zeros
class Obj: pass
def go(n, m, xs):
    h, o, rows = Obj(), {{}}, []
    {loop}
        j = i + 3
{round}
    {behind}:
        z = {read} + 0
        y = {read}.sum(0) + 0
    b = torch.arange(i) + 0
    c = torch.arange(j) + 0
for n, m in ((5, 5), (4, 2), (6, 8)): go(random.choice([n]), random.choice([m]), [Z(k + 2, 3) for k in range(n)])
"""
LOOPS = {
    "numbers": "for i in range(n):",
    "a tensor's rows": "for i in range(2, xs[0].shape[0] + 5):",
    "a condition": "i = -1\n    while i < n:\n        i += 1",
    "tensors": "for i, x in enumerate(xs):",
}
BOUND = {
    "if": "if m < 9:\n    {put}\n    m = 20",
    "if, in both ways": "if m < 9:\n    {put}\n    m = 20\nelse:\n    pass",
    "while": "while m < 9:\n    {put}\n    m += 1",
    "for": "for _ in range(max(9 - m, 0)):\n    {put}\n    m = 20",
    "try": "try:\n    if m > 9: raise ValueError\n    {put}\n    m = 20\nexcept ValueError: pass",
    "a manager": "with contextlib.suppress(ValueError):\n    if m > 9: raise ValueError\n    {put}\n    m = 20",
    "break": "if i > 2: break\n{put}",
    "continue": "if i > 2: continue\n{put}",
    "break, behind a branch": "if m:\n    if i > 2: break\n{put}",
    "match": "match m < 9:\n    case True:\n        {put}\n        m = 20",
    "nested": "if n:\n    if m < 9:\n        {put}\n        m = 20",
}
PUT = {
    "a name": ("w = Z(i, 3)", "w"),
    "a name of a size": ("w = Z(j + 1, 3)", "w"),
    "another name of it": ("v = Z(j, 3); w = v", "w"),
    "two names": ("w, v = Z(j, 3), i", "w"),
    "a tuple": ("w = (Z(j, 3), i)", "w[0]"),
    "a list": ("w = [Z(j, 3)]", "w[0]"),
    "a dictionary": ("w = {'a': Z(j, 3)}", "w['a']"),
    "an attribute": ("h.w = Z(j, 3)", "h.w"),
    "an object": ("w = Obj(); w.r = Z(j, 3)", "w.r"),
    "an item": ("o['w'] = Z(j, 3)", "o['w']"),
    "an item of a list": ("rows.append(Z(j, 3))", "rows[-1]"),
    "a number": ("w = j", "Z(w, 3)"),
    "a slice": ("w = Z(20, 3)[:j]", "w"),
    "a view": ("w = Z(j, 3).view(-1, 3)", "w"),
}


def program(loop: str, bound: str, put: str, behind: str = "if True") -> str:
    made, read = PUT[put]
    lines = BOUND[bound].replace("{put}", made).splitlines()
    return PROGRAM.format(
        loop=LOOPS[loop], round="\n".join(f"        {line}" for line in lines), read=read, behind=behind
    )


@pytest.mark.parametrize("bound", BOUND)
@pytest.mark.parametrize("loop", LOOPS)
def test_what_some_rounds_bind_has_their_sizes(loop: str, bound: str, tmp_path: Path) -> None:
    wrong = {}
    for put in PUT:
        if found := wrong_claims(tmp_path / "program.py", program(loop, bound, put)):
            wrong[put] = found
    assert wrong == {}


@pytest.mark.parametrize("loop", LOOPS)
def test_what_some_rounds_bind_has_their_sizes_in_an_else(loop: str, tmp_path: Path) -> None:
    wrong = {}
    for bound in ("if", "for", "continue", "try"):
        for put in PUT:
            if found := wrong_claims(tmp_path / "program.py", program(loop, bound, put, "else")):
                wrong[bound, put] = found
    assert wrong == {}


@pytest.mark.parametrize(
    "line",
    ["w = Z(i, 3)", "if m: w = Z(i, 3)\n        else: w = Z(i, 3)", "with torch.no_grad():\n            w = Z(i, 3)"],
)
def test_what_each_round_binds_is_of_the_last_one(line: str) -> None:
    source = f"import torch\nZ = torch.zeros\ndef go(n, m):\n    for i in range(n):\n        {line}\n    z = w + 0\n"
    assert [row.shape for row in analyse(ast.parse(source), source).bindings if row.name == "z"] == [("i", 3)]


def test_what_some_rounds_bind_is_known_but_for_the_round() -> None:
    source = (
        "import torch\ndef go(xs, n):\n    for x in xs:\n        if n:\n            w = torch.zeros(x.shape[0], n, 3)\n"
        "    z = w + 0\n"
    )
    shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert shown["z"] == ("w.shape[0]", "n", 3)


@pytest.mark.parametrize("loop", ["for i in (3, n)", "for i in range(n)", "for i in [1, 2]", "if n", "while n > 0"])
@pytest.mark.parametrize("name", ["x", "self"])
def test_a_size_is_not_called_by_what_has_another_shape_by_then(name: str, loop: str, tmp_path: Path) -> None:
    source = (
        f"import torch\ndef go({name}, n):\n    y = {name}.reshape({name}.shape[0], -1)\n    {name}.transpose_(0, -1)\n"
        f"    {loop}:\n        z = torch.nn.functional.pad(y, (0, 1))\n        n -= 1\ngo(torch.zeros(5, 6), 2)\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}
    assert [row.shape for row in analyse(ast.parse(source), source).bindings if row.name == "z"] == [
        ("y.shape[0]", "y.shape[1] + 1")
    ]
