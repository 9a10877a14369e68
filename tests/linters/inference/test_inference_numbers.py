"""A number that is an int here and a float there is a number still: the tensors made of such are those that the libraries make."""

from __future__ import annotations

import ast
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch and numpy are the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = "import random\nimport numpy as np\nimport torch\n"
RETURNS = """
def returns_of(rewards, gamma=0.9):
    total, found = 0, []
    for reward in {rounds}:
        total = reward + gamma * total
        found.{add}
    return {made}
"""
PROGRAMS = {
    **{
        f"returns {rounds} {add} {made}": RETURNS.format(rounds=rounds, add=add, made=made)
        + "x = returns_of([1.0] * 12)\ny = returns_of([0.5, 1.5, 2.5])\n"
        for rounds in ("rewards[::-1]", "reversed(rewards)")
        for add in ("append(total)", "insert(0, total)")
        for made in ("torch.tensor(found)", "np.array(found)", "torch.FloatTensor(found)")
    },
    "one of two numbers": "n = 0 if random.random() < 2 else 1.5\nx = torch.tensor([n, n])\ny = np.array([n])\nz = torch.tensor(n)\n",
    "arithmetic": (
        "n = 2 if random.random() < 2 else 1.5\nx = torch.tensor([n + 1])\ny = torch.tensor([n / 2])\nz = torch.tensor([-n, abs(n)])\n"
        "u = torch.tensor([n * True])\nv = torch.tensor([round(n)])\na = np.array([n, 1.0])\n"
    ),
    "beside tensors": (
        "n = 2 if random.random() < 2 else 1.5\nx = torch.ones(3) * n\ny = torch.arange(3) * n\nz = np.ones(3, dtype=np.float32) * n\n"
        "u = np.arange(3) + n\nv = torch.full((2, 3), n)\nw = torch.clamp(torch.ones(2, 2), min=n)\na = np.full((2,), n)\n"
        "b = torch.where(torch.ones(2) > n, 1.0, torch.zeros(2))\n"
    ),
    "the larger of two": "n = max(0, random.random())\nx = torch.tensor([n])\nm = min(1.5, 2, random.randint(0, 3))\ny = np.array([m, m])\n",
    "a total of either": "total = 0\nfor k in range(9):\n    total += k / 2 if k else 1\nx = torch.tensor([total])\n",
    "a flag": "n = True if random.random() < 2 else 0.5\nx = torch.tensor([n])\ny = torch.tensor([n + 1])\nz = torch.ones(2) * n\n",
    "as a size": "n = 4 if random.random() < 2 else 4.5\nx = torch.zeros(int(n), 2)\ny = torch.ones(round(n))\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_said_of_tensors_made_of_numbers_is_so(name: str) -> None:
    source = HEAD + PROGRAMS[name]
    random.seed(0)
    scope: dict[str, Any] = {}
    exec(source, scope)
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    for each, real in scope.items():
        if not hasattr(real, "shape") or len(each) > 1:
            continue
        row = rows[each]
        assert row.shape is not None, each
        assert len(row.shape) == len(real.shape), each
        assert all(a == b for a, b in zip(row.shape, real.shape, strict=True) if isinstance(a, int)), each
        assert row.dtype in (None, str(real.dtype).removeprefix("torch.")), each


_BESIDE = """import math
import os
import random
import time

import numpy as np
import torch

x = torch.zeros(3, 4)
a = np.zeros((3, 4))
s = eval("'ab'")
u = eval("2")
rows = eval("[[3], [1, 2], [2]]")
"""

# Functions and operators that give a number, or True or False, whatever they are given; some that give arrays of arrays.
NUMBERS = [
    "math.sqrt(u)", "math.log(u)", "math.floor(u)", "math.exp(-u)", "math.prod([u, 2])", "math.comb(4, u)", "math.gcd(3, u)",
    "time.time()", "time.perf_counter()", "random.random()", "random.uniform(0, u)", "random.randint(0, u)", "random.gauss(0, 1)",
    "x.numel()", "x.sum().item()", "a.size", "x.dim()", "x.is_contiguous()", "torch.numel(x)", "x.element_size()",
    "np.prod(a.shape)", "np.log(3.0)", "np.sqrt(len(rows))", "np.float32(2)", "np.int64(2)", "np.array(2.0)", "np.array(2)", "a.sum()",
    "a[0, 0]", "np.bool_(True)", "np.random.rand()", "np.random.randint(3)", "np.mean(rows[1])", "np.pi", "np.finfo(np.float32).eps",
    "np.iinfo(np.int32).max", "torch.finfo(x.dtype).eps", "torch.finfo(torch.float16).min", "torch.finfo(torch.float32).bits",
    "torch.iinfo(torch.int8).max", "torch.cuda.device_count()", "torch.initial_seed() % 7", "torch.get_num_threads()", "os.getpid()",
    "ord(s[0])", "hash(s)", "id(s) % 5", "len(s)", "len(rows)", "len(set(s))", "len({*rows[1]})", "sum(len(r) for r in rows)",
    "sum([len(r) for r in rows], 1)", "max(len(r) for r in rows)", "max(u, 1)", "min(u, 0.5)", "round(u)", "round(u, 2)", "abs(u)",
    "float(u)", "int(u)", "bool(u)", "pow(u, 2)", "divmod(u, 2)[0]", "u is None", "u is not None", "not u", "not x.any()",
    "isinstance(u, int)", "isinstance(u, (int, list))", "issubclass(type(u), int)", "callable(u)", "hasattr(u, 'real')", "u in [1, 2]",
    "u not in rows", "any(rows)", "all(rows)", "len(rows) > 3", "len(rows) == len(s)", "1 < len(rows) < 4", "u > 1", "s == 'ab'",
    "s.startswith('a')", "s.count('a')", "rows.index([3])", "any(a.ravel() > 0)", "all(x.ravel() == 0)", "(1 in a)", "(1 in x)",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "operation",
    [
        "x * {}",
        "{} + x",
        "x - {}",
        "{} / (x + 1)",
        "x ** {}",
        "x > {}",
        "{} == x",
        "x.t() * {}",
        "a * {}",
        "{} - a",
        "a.T < {}",
        "{}",
    ],
)
def test_numbers_beside_tensors(operation: str, tmp_path: Path) -> None:
    lines = [
        line
        for at, number in enumerate(NUMBERS)
        for line in ("try:", f"    r{at} = {operation.format(f'({number})')}", "except Exception:", "    pass")
    ]
    source = _BESIDE + "\n".join(lines) + "\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}
    if operation[0] in "xa" and operation != "{}":
        rows = [row for row in analyse(ast.parse(source), source).bindings if row.name[0] == "r"]
        assert sum(row.shape is not None for row in rows) >= 70


# What an annotation calls a float may be an int.
CALLED_FLOATS = {
    "by its default": "def f(x: float = 10):\n    {}\nf()",
    "by what is given": "def f(x: float):\n    {}\nf(2)",
    "by either": "def f(x: float = 0.5):\n    {}\nf(3)\n",
    "a text": 'def f(x: "float" = 10):\n    {}\nf()',
    "an attribute": "class A:\n    def __init__(self, x: float = 10):\n        self.x = x\n    def go(self):\n        x = self.x\n        {}\n"
    "A().go()",
    "a field": "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: float = 1\n    def go(self):\n        x = self.x\n        {}\n"
    "A().go()",
    "given back": "def g(n) -> float:\n    return n\ndef f(n):\n    x = g(n)\n    {}\nf(2)",
}
MADE_OF_THEM = {
    "torch.tensor([x])": (1,), "torch.tensor(x)": (), "torch.full((2,), x)": (2,), "torch.ones(3, dtype=torch.int64) * x": (3,),
    "np.array([x, x])": (2,), "np.full(2, x)": (2,), "torch.arange(3) + x": (3,),
}  # fmt: skip


@pytest.mark.parametrize("made", MADE_OF_THEM)
@pytest.mark.parametrize("way", CALLED_FLOATS)
def test_an_int_is_a_float_to_an_annotation(way: str, made: str, tmp_path: Path) -> None:
    source = f"import numpy as np\nimport torch\n{CALLED_FLOATS[way].format(f'out = {made}')}\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}
    shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    if way not in ("a field", "given back"):
        assert shown["out"] == MADE_OF_THEM[made]


def test_a_float_tensor_stays_one_beside_it(tmp_path: Path) -> None:
    source = "import torch\ndef f(x: float = 10):\n    out = torch.ones(3) * x + x\nf()\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}
    assert {row.name: row.dtype for row in analyse(ast.parse(source), source).bindings}["out"] == "float32"
