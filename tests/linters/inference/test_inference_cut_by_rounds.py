"""Slices that begin at the number of a round: `x[i : i + 1]` is one row where no round goes beyond the last. All run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

PROGRAM = """import numpy as np
import torch

def go(k, n):
    x = {made}
{lines}
go(3, 20)
"""
MADE = ["np.zeros((n, 2))", "torch.zeros(n, 2)", "np.zeros((40, 2))", "torch.zeros(40, 2)"]
ROWS = [
    ("for i in range(len(x)):\n    z = x[i : i + 1]", (1, 2)),
    ("for i in range(5, len(x)):\n    z = x[i : i + 1]", (1, 2)),
    ("for i in range(0, len(x), 3):\n    z = x[i : i + 1]", (1, 2)),
    ("for i in range(len(x) - 1):\n    z = x[i + 1 : i + 2]", (1, 2)),
    ("for i in range(x.shape[0] - 1, -1, -1):\n    z = x[i : i + 1]", (1, 2)),
    ("for i in reversed(range(len(x))):\n    z = x[i : i + 1]", (1, 2)),
    ("for i, _ in enumerate(range(9)):\n    z = x[0 : 1]", (1, 2)),
    ("for i in range(len(x) - k + 1):\n    z = x[i : i + k]", ("k", 2)),
    ("for i in range(len(x) - k):\n    z = x[i : i + k, 0]", ("k",)),
    ("for i in range(len(x) - k):\n    for j in range(i, len(x)):\n        z = x[j : j + 1]", (1, 2)),
]  # fmt: skip
OPEN = [
    "for i in range(len(x) + 1):\n    z = x[i : i + 1]",
    "for i in range(len(x) - k + 2):\n    z = x[i : i + k]",
    "for i in range(-3, len(x)):\n    z = x[i : i + 1]",
    "for i in range(len(x), -1, -1):\n    z = x[i : i + 1]",
    "for i in range(0, len(x), k):\n    z = x[i : i + k]",
    "for i in range(len(x)):\n    z = x[i : i + k]",
    "for i in range(len(x)):\n    i += 1\n    z = x[i : i + 1]",
    "for i in range(len(x)):\n    i = 2 * i\n    z = x[i : i + 1]",
    "for i in range(len(x)):\n    i = i - 1\n    z = x[i : i + 1]",
    "for i in range(len(x)):\n    x = x[1:]\n    z = x[i : i + 1]",
    "for i in range(k * n):\n    z = x[i : i + 1]",
    "i = 0\nfor i in range(len(x)):\n    pass\nz = x[i + 1 : i + 2]",
]  # fmt: skip


def shape_of(source: str) -> Any:
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}["z"]


def program(made: str, lines: str) -> str:
    return PROGRAM.replace("{made}", made).replace("{lines}", "".join(f"    {each}\n" for each in lines.split("\n")))


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(("lines", "shape"), ROWS)
def test_as_many_rows_as_are_asked_for(made: str, lines: str, shape: tuple[Any, ...], tmp_path: Path) -> None:
    source = program(made, lines)
    assert wrong_claims(tmp_path / "program.py", source) == {}
    assert shape_of(source) == shape


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("lines", OPEN)
def test_where_rows_may_be_missing(made: str, lines: str, tmp_path: Path) -> None:
    source = program(made, lines)
    assert wrong_claims(tmp_path / "program.py", source) == {}
    assert shape_of(source)[0] in ("?", 20)
