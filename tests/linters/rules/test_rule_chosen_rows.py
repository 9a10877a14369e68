"""Rows that one mask chose of a column and of a vector: how many they are is not known, and each meets each other one."""

from __future__ import annotations

import pytest
from rule_programs import findings, run

TOP = """\
import numpy as np
import torch
import torch.nn.functional as F

out, y = torch.randn(12, 1), torch.randn(12)
mask = torch.arange(12) < 8
A, b = np.random.rand(12, 1), np.random.rand(12)
m = b > np.sort(b)[4]


class Data:
    def __init__(self):
        self.y, self.train_mask = y, mask


data = Data()
"""
WRONG = {
    "a mask": "e = ((out[mask] - y[mask]) ** 2).mean()\n",
    "a mask of an object": "e = ((out[data.train_mask] - data.y[data.train_mask]) ** 2).mean()\n",
    "in two lines": "p = out[mask]\nt = y[mask]\ne = (p - t).abs().mean()\n",
    "in another type": "e = (out[mask] - y[mask].float()).abs().mean()\n",
    "a comparison": "e = (out[mask] == y[mask]).float().mean()\n",
    "of numpy": "e = np.sqrt(np.mean((A[m] - b[m]) ** 2))\n",
    "indices": "at = torch.where(mask)[0]\ne = ((out[at] - y[at]) ** 2).mean()\n",
    "in a function": "def f(p, t, k):\n    return ((p[k] - t[k]) ** 2).mean()\n\n\ne = f(out, y, mask)\n",
    "a loss": "e = F.l1_loss(out[mask], y[mask])\n",
}
RIGHT = {
    "one shape": "e = ((out[mask].squeeze(-1) - y[mask]) ** 2).mean()\n",
    "both are columns": "e = ((out[mask] - y[mask][:, None]) ** 2).mean()\n",
    "both are vectors": "e = ((out[mask, 0] - y[mask]) ** 2).mean()\n",
    "two masks": "p = out[mask]\nmask = ~mask\nt = y[mask]\ne = (p - t).abs().mean()\n",
    "one and the others": "e = (out[mask] - y[~mask]).abs().mean()\n",
    "two masks in a function": "def f(p, t, k):\n    a = p[k]\n    k = ~k\n    return (a - t[k]).abs().mean()\n\n\ne = f(out, y, mask)\n",
    "a number": "at = 3\ne = (out[at] - y[at]).abs().mean()\n",
    "several columns": "W = np.random.rand(12, 4)\ne = np.mean((W[m] - b[m][:, None]) ** 2)\n",
}


@pytest.mark.parametrize("name", WRONG)
def test_rows_that_meet_each_other_are_reported(name: str) -> None:
    (found,) = findings(TOP + WRONG[name])
    assert found.code == "TSR112"
    assert run(TOP + WRONG[name])["e"].shape == ()


@pytest.mark.parametrize("name", RIGHT)
def test_rows_of_one_shape_or_of_two_masks_are_not(name: str) -> None:
    assert findings(TOP + RIGHT[name]) == []
    run(TOP + RIGHT[name])
