"""`while`: what its test does and binds, once before the first round and once behind each: running says what is there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

PROGRAMS = {
    "once more than the rounds": """
import torch
def put(b):
    b.n += 2
    return True
class Box:
    def __init__(self): self.n = 3
box = Box()
while put(box):
    break
e = torch.zeros(box.n)
""",
    "a name that the body binds anew": """
import torch
def f(k): return torch.ones(k, 2) if k < 3 else None
k = 0
while (x := f(k)) is not None:
    x = x.sum(0)
    k += 1
y = x
""",
    "another rank in each test": """
import torch
k = 0
while (x := torch.ones(k + 1)).sum() < 3:
    x = x[None, None]
    k += 1
y = x * 2
""",
    "an object in each test": """
import torch
class Box:
    def __init__(self): self.t = torch.ones(3)
    def more(self):
        self.t = self.t[None]
        return self.t.dim() < 4
box = Box()
while box.more():
    pass
y = box.t * 2
""",
    "a number in each test": """
import torch
class Box:
    def __init__(self): self.n = 3
    def more(self):
        self.n += 1
        return self.n < 3
box = Box()
while box.more():
    pass
y = torch.ones(box.n)
""",
    "a list in each test": """
import torch
class Box:
    def __init__(self): self.rows = [torch.ones(2)]
    def more(self):
        self.rows.append(torch.ones(2))
        return len(self.rows) < 2
box = Box()
while box.more():
    pass
y = torch.cat(box.rows)
z = torch.stack(box.rows)
""",
    "a list of the module": """
import torch
rows = [torch.ones(2)]
def more():
    rows.append(torch.ones(2))
    return True
def go():
    while more():
        y = torch.stack(rows)
        break
    z = torch.stack(rows)
go()
""",
    "items of an iterator": """
import torch
def go(x, k):
    it = iter([1, 2, 3])
    while (v := next(it, None)) is not None:
        x = x[None]
    return x
y = go(torch.ones(2), 3)
z = y * 2
""",
    "left by break": """
import torch
class Box:
    def __init__(self): self.n = 3
    def more(self):
        self.n += 1
        return True
def go(box):
    while box.more():
        y = torch.ones(box.n)
        if box.n > 5: break
        z = torch.ones(box.n)
    else:
        q = 1
    return torch.ones(box.n)
r = go(Box())
""",
    "a name that may be None": """
import torch
def f(k): return torch.ones(k, 2) if k < 3 else None
k = 0
while (x := f(k)) is not None:
    z = x.sum(0)
    k += 1
y = x
""",
    "a name of an unknown function": """
import torch
def go(f):
    k = 0
    while (x := f(k)) is not None:
        z = x.sum(0)
        k += 1
    y = x
go(lambda k: torch.ones(k, 2) if k < 3 else None)
""",
    "rows in each test": """
import torch
def f(k): return torch.ones(k, 2)
k = 0
while (x := f(k)).shape[0] < 4:
    x = x.sum(0)
    k += 1
y = x * 2
""",
    "beside a truth": """
import torch
def f(k): return torch.ones(k, 2)
k = 0
while True and (x := f(k)).shape[0] < 4:
    x = x.sum(0)
    k += 1
else:
    w = x * 2
y = x * 2
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_a_test_does_is_done_as_often_as_it_is_asked(program: str, tmp_path: Path) -> None:
    assert wrong_claims(tmp_path / "program.py", PROGRAMS[program]) == {}


def test_what_a_test_binds_is_shown_only_where_each_test_gives_the_same() -> None:
    source = (
        "import torch\n\n\ndef go(x, n):\n    k = 0\n    while (y := torch.zeros(k)).sum() > n:\n        k += 1\n"
        "    while (z := torch.zeros(4)).sum() > n:\n        n += 1\n    while True:\n        v = torch.zeros(3)\n        if v.sum() > n:\n            break\n"
        "    while n:\n        w = torch.zeros(2, 3)\n        n -= 1\n"
    )
    shapes = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert "y" not in shapes or shapes["y"] is None or shapes["y"] != (0,)
    assert (shapes["z"], shapes["v"], shapes["w"]) == ((4,), (3,), (2, 3))


def test_a_test_that_runs_once_has_its_effect_once() -> None:
    source = "import torch\n\n\nclass Box:\n    def __init__(self):\n        self.n = 3\n\n    def more(self):\n        self.n += 2\n        return True\n\n\nbox = Box()\nwhile box.more():\n    break\ne = torch.zeros(box.n)\n"
    shapes = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert shapes["e"] == (5,)
