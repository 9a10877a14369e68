"""A row that meets a column in a function: reported where the library makes a matrix of them, and named as it is written."""

from __future__ import annotations

import re
from typing import Any

import pytest
from rule_programs import findings

TORCH = """import torch
import torch.nn.functional as F

row, other, matrix = torch.rand(9), torch.rand(9), torch.rand(9, 9)
column, beside = torch.rand(9, 1), torch.rand(9, 1)
mask, masks = torch.ones(9).bool(), torch.ones(9, 1).bool()
"""
NUMPY = """import numpy as np

row, other, matrix = np.random.rand(9), np.random.rand(9), np.random.rand(9, 9)
column, beside = np.random.rand(9, 1), np.random.rand(9, 1)
mask, masks = np.ones(9, dtype=bool), np.ones((9, 1), dtype=bool)
"""
# The call, and its two operands as the message has to name them.
OF_TORCH = [
    ("column.masked_select(mask)", "column", "mask"),
    ("torch.masked_select(column, mask)", "column", "mask"),
    ("torch.masked_select(row, masks)", "row", "masks"),
    ("column.masked_select(mask=mask)", "column", "mask"),
    ("column.masked_fill(mask, 0.0)", "column", "mask"),
    ("torch.masked_fill(row, masks, 0.0)", "row", "masks"),
    ("torch.clamp(row, column)", "row", "column"),
    ("torch.clamp(row, None, column)", "row", "column"),
    ("torch.clamp(row, min=column, max=beside)", "row", "column"),
    ("torch.clip(row, max=column)", "row", "column"),
    ("row.clamp(max=column)", "row", "column"),
    ("row.clamp_min(column)", "row", "column"),
    ("torch.rsub(row, column)", "row", "column"),
    ("torch.float_power(row, column)", "row", "column"),
    ("torch.heaviside(row, column)", "row", "column"),
    ("torch.dist(row, column)", "row", "column"),
    ("F.cosine_similarity(row, column, dim=0)", "row", "column"),
    ("F.pairwise_distance(row, column)", "row", "column"),
    ("torch.where(column > 0, row, other)", "column > 0", "row"),
    ("torch.distributions.Normal(row, column).sample()", "row", "column"),
    ("torch.distributions.Normal(loc=column, scale=row).mean", "column", "row"),
]
OF_NUMPY = [
    ("np.where(column > 0, row, other)", "column > 0", "row"),
    ("np.where(masks, row, 0.0)", "masks", "row"),
    ("np.where(mask, 1.0, column)", "mask", "column"),
    ("np.clip(row, column, None)", "row", "column"),
    ("np.clip(row, None, column)", "row", "column"),
    ("np.clip(row, 0, column)", "row", "column"),
    ("np.clip(row, a_min=column, a_max=1)", "row", "column"),
    ("row.clip(column, 1)", "row", "column"),
    ("row.clip(max=column)", "row", "column"),
    ("np.divmod(row, column)[0]", "row", "column"),
    ("np.heaviside(row, column)", "row", "column"),
    ("np.nextafter(row, column)", "row", "column"),
]
CASES = [(TORCH, *case) for case in OF_TORCH] + [(NUMPY, *case) for case in OF_NUMPY]


def run(code: str) -> Any:
    pytest.importorskip("torch", reason="torch and numpy are the oracle")
    scope: dict[str, Any] = {}
    exec(code, scope)
    return scope["out"]


def count(value: Any) -> int:
    """How many numbers there are; a distance and a similarity are of the whole matrix."""
    return int(value.numel() if hasattr(value, "numel") else value.size)


@pytest.mark.parametrize(("top", "call", "left", "right"), CASES, ids=[case[1] for case in CASES])
def test_the_matrix_is_reported_by_its_operands(top: str, call: str, left: str, right: str) -> None:
    program = f"{top}out = {call}\n"
    whole = count(run(program))
    assert whole == 81 or call.startswith(("torch.dist(", "F."))
    (found,) = findings(program)
    assert found.code == "TSR111"
    assert re.match(rf"{re.escape(left)} \(9.*?\) and {re.escape(right)} \(9.*?\) became", found.message), found.message


@pytest.mark.parametrize(("top", "call", "left", "right"), CASES, ids=[case[1] for case in CASES])
def test_of_one_shape_nothing_is_said(top: str, call: str, left: str, right: str) -> None:
    flat = re.sub(r"\b(column|beside|masks)\b", r"\1_", call)
    program = f"{top}column_, beside_, masks_ = column[:, 0], beside[:, 0], masks[:, 0]\nout = {flat}\n"
    assert count(run(program)) <= 9
    assert findings(program) == []


MEANT = {
    "a table was there before": TORCH + "out = torch.clamp(matrix, column, row)\n",
    "a mask for each row": TORCH + "out = matrix.masked_fill(masks, 0.0)\n",
    "a choice for each row": NUMPY + "out = np.where(masks, matrix, 0.0)\n",
    "the column is asked for": NUMPY + "out = np.clip(row, row[:, None] - 0.1, None)\n",
    "similarities of pairs": TORCH + "out = F.cosine_similarity(matrix.unsqueeze(1), matrix, dim=-1)\n",
    "a bound for all": TORCH + "out = row.clamp(min=torch.tensor(0.5))\n",
    "one deviation for all": TORCH + "out = torch.distributions.Normal(column, torch.ones(1)).sample()\n",
}


@pytest.mark.parametrize("name", MEANT)
def test_what_is_meant_is_left_alone(name: str) -> None:
    run(MEANT[name])
    assert findings(MEANT[name]) == []
