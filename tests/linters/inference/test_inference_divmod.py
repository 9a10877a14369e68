"""`divmod`, and parts of axes that may be empty: what each gives, run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """import random
from datetime import timedelta
from fractions import Fraction
import numpy as np
import torch
class Own:
    def __init__(self): self.r = torch.zeros(2, 3)
    def __divmod__(self, other):
        self.r = torch.zeros(4)
        return self.r, other
    def __rdivmod__(self, other): return torch.zeros(5), other
"""
DIVIDED = ["p", "-p", "7", "-7", "p + 1", "7.5", "True", "x.shape[0]", "len(x)", "x", "np.arange(6).reshape(2, 3)", "np.int64(7)", "Own()", "Fraction(7, 2)", "timedelta(7)", "[1]"]  # fmt: skip
DIVISORS = [
    "2",
    "-2",
    "3",
    "p",
    "2.5",
    "np.arange(1, 4)",
    "np.float32(2)",
    "Own()",
    "Fraction(1, 2)",
    "timedelta(2)",
    "x",
]
USES = ["torch.tensor([i for i in range({n})])", "torch.zeros({n})[:1]", "np.array([1] * int({n}))", "torch.zeros({n}, 2).squeeze(0)", "{n} + torch.zeros(3)", "{n} * np.ones((2, 3))"]  # fmt: skip


@pytest.mark.parametrize("divisor", DIVISORS)
def test_what_divmod_gives(divisor: str, tmp_path: Path) -> None:
    for divided in DIVIDED:
        for number in ("q", "m"):
            lines = "".join(
                f"    try: w{at} = {use.format(n=number)}\n    except (TypeError, ValueError, RuntimeError): pass\n"
                for at, use in enumerate(USES)
            )
            source = (
                f"{HEAD}def go(p, x):\n    a = {divided}\n    r = a.r if isinstance(a, Own) else x\n"
                f"    q, m = divmod(a, {divisor})\n    both = divmod(a, {divisor})\n{lines}    v = m\n    u = q\n    t = both[0]\n"
                "    s = a.r if isinstance(a, Own) else x\n"
                "for n in (2, 3, 4):\n    try: go(random.choice([n]), np.ones((n, 3)))\n    except (TypeError, ValueError): pass\n"
            )
            assert wrong_claims(tmp_path / "program.py", source) == {}, divided


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("w = torch.zeros(divmod(7, 2)[0], 2)", (3, 2)),
        ("q, m = divmod(17, 5)\n    w = torch.zeros(q, m)", (3, 2)),
        ("w = sum(divmod(np.ones((2, 3)), 2))", (2, 3)),
        ("w = divmod(np.ones((2, 3)), 2)[1]", (2, 3)),
        ("w, _ = divmod(np.ones((2, 1)), np.ones(3))", (2, 3)),
    ],
)
def test_what_divmod_gives_is_known(line: str, shape: tuple[int, ...]) -> None:
    source = f"import numpy as np, torch\ndef go():\n    {line}\n"
    known = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert known.get("w") == shape


@pytest.mark.parametrize("empty", ["x[n:n]", "x[n:]", "x[:0]", "x[:n - 5]", "x[5:n]", "x[x.sum((1, 2)) > 99]"])
@pytest.mark.parametrize(
    "part",
    ["split(4)", "split(k)", "chunk(2)", "chunk(k)", "tensor_split(2)", "split([1, 2])", "unbind(1)", "split(4, -1)"],
)
def test_parts_of_what_may_be_empty_may_be_empty(empty: str, part: str, tmp_path: Path) -> None:
    source = (
        "import random, torch\ndef go(x, n, k):\n    assert x.ndim == 3\n"
        f"    w = {empty}\n    v = w.{part}\n    u = v[0]\n    t = u[:1]\n    s = v[-1][:1]\n    a, *_ = w.{part}\n    b = a[:1]\n"
        f"    for c in w.{part}:\n        d = c[:1]\n    e = torch.cat(v)[:1]\n"
        "for k in (2, 3):\n    try: go(torch.ones(random.choice([5]), 4, 6), random.choice([5]), random.choice([k]))\n"
        "    except (RuntimeError, IndexError): pass\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


def test_parts_of_an_axis_with_elements_have_some() -> None:
    source = (
        "import torch\ndef go(x):\n    B, C = x.shape\n    w = x.split(4)[0][:1]\n    v = x.split(4, 1)[0][:, :1]\n"
    )
    known = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert known["w"] is not None
    assert known["w"][0] == 1
    assert known["v"] is not None
    assert known["v"][1] == 1
