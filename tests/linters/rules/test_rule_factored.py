"""All of a table of products, added up: the product of two sums, for which nobody makes the table."""

from __future__ import annotations

import pytest
from rule_programs import codes, findings, run

TOP = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

X, y, p = np.random.rand(20, 3), np.random.randint(0, 2, 20), np.random.uniform(0.1, 0.9, 20)
critic, states, targets = nn.Linear(3, 1), torch.rand(20, 3), torch.randint(0, 4, (20,))
logits, returns, log_p = torch.rand(20, 4), torch.rand(20), torch.rand(20)

"""
FAULTS = {
    "a cross entropy": "t = y.reshape(-1, 1)\ncost = -np.mean(t * np.log(p) + (1 - t) * np.log(1 - p))\n",
    "a cross entropy, by a function": "def entropy(t, p):\n    return -np.sum(t * np.log(p) + (1 - t) * np.log(1 - p)) / len(t)\n\n\n"
    "t = np.c_[y]\ncost = entropy(t, p)\n",
    "a cross entropy of a column and a row of two axes": "t, w = np.random.randint(0, 2, (20, 1)), np.random.rand(3, 1)\n"
    "q = 1 / (1 + np.exp(-np.dot(w.T, X.T)))\ncost = -np.mean(t * np.log(q) + (1 - t) * np.log(1 - q))\n",
    "losses that are weighed": "def weighed(logits, targets, by_class):\n    losses = F.cross_entropy(logits, targets, reduction='none')\n"
    "    weights = by_class[targets].unsqueeze(1)\n    return (weights * losses).mean()\n\n\n"
    "cost = weighed(logits, targets, torch.rand(4))\n",
    "advantages with an axis": "values = critic(states)\nadvantages = returns.unsqueeze(1) - values.detach()\ncost = (-log_p * advantages).mean()\n",
    "a layer's scores, shared out": "def pooled(states, mask):\n    total = (critic(states) * mask.unsqueeze(-1)).sum(1)\n"
    "    return total / mask.sum(1)\n\n\ncost = pooled(torch.rand(5, 7, 3), torch.ones(5, 7)).mean()\n",
    "errors by item, weighed by a column": "def weighed(pred, target, w):\n    error = ((pred - target) ** 2).mean(dim=1)\n"
    "    return (error * w).sum() / w.sum()\n\n\ndef loss(pred, target, w):\n    w = w.unsqueeze(-1)\n    return weighed(pred, target, w)\n\n\n"
    "cost = loss(logits, torch.rand(20, 4), returns)\n",
    "squared differences of columns, weighed": "q, target = critic(states), returns.unsqueeze(1)\nerror = (target - target * 2).pow(2)\n"
    "cost = (log_p * error).mean()\n",
    "losses by image, weighed by what fits images": "def extract(a, t, shape):\n    b, *_ = t.shape\n    out = a.gather(-1, t)\n"
    "    return out.reshape(b, *((1,) * (len(shape) - 1)))\n\n\ndef loss(images, w):\n    t = torch.randint(0, 9, (images.shape[0],))\n"
    "    error = F.mse_loss(images * extract(w, t, images.shape), images, reduction='none').mean(dim=(1, 2, 3))\n"
    "    return (error * extract(w, t, images.shape)).mean()\n\n\ncost = loss(torch.rand(6, 3, 4, 4), torch.rand(9))\n",
    "weights in one expression": "w = (p / p.sum()).reshape(-1, 1)\nmean = np.sum(w * y)\n",
}
RIGHT = {
    "a cross entropy of rows": "cost = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))\n",
    "a cross entropy of columns": "t, q = y.reshape(-1, 1), p.reshape(-1, 1)\ncost = -np.mean(t * np.log(q) + (1 - t) * np.log(1 - q))\n",
    "the sum of a table": "joint = p[:, None] * (1 - p)\ntotal = joint.sum()\n",
    "the sum of a named table": "column = p[:, None]\njoint = column * (1 - p)\ntotal, mean = joint.sum(), joint.mean()\n",
    "margins of a table of shares": "joint = np.random.rand(6, 6)\njoint /= joint.sum()\n"
    "expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)\nchi = ((joint - expected) ** 2 / expected).sum()\n",
    "a table that is read along an axis": "w = p.reshape(-1, 1)\ntable = w * np.arange(20)\nbest = table.sum(axis=0).argmax()\n",
    "angles": "t = torch.arange(20).unsqueeze(1)\nmean = torch.sin(t * torch.rand(20)).mean()\n",
    "losses that are weighed row by row": "losses = F.cross_entropy(logits, targets, reduction='none')\ncost = (torch.rand(4)[targets] * losses).mean()\n",
    "vectors, weighed by a column that is asked for": "w = returns.unsqueeze(1)\ntotal = (log_p * w).sum()\n",
    "errors by item, weighed by item": "error = ((logits - 1) ** 2).mean(dim=1)\ncost = (error * returns).sum()\n",
    "margins of a table, multiplied": "joint = np.random.rand(6, 6)\nrows = joint.sum(1)[:, None]\ntotal = (rows * joint.sum(0)).sum()\n",
    "moments of each item about each of several centres": "d = (returns.unsqueeze(1) - log_p) ** 2\nbest = (d * log_p).sum(0)\n",
    "scales of images": "w = torch.rand(6).view(6, 1, 1, 1)\nmean = (w * torch.rand(6, 3, 4, 4)).mean()\n",
    "a table by images that is read along an axis": "w = torch.rand(6).view(6, 1, 1)\nbest = (w * torch.rand(6)).sum(-1)\n",
    "a grid of two mixtures": "a = np.linspace(0, 1, 20)[:, None]\ngrid = a * p + (1 - a) * p[::-1]\nmean = grid.mean()\n",
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_table_nobody_makes(name: str) -> None:
    found = findings(TOP + FAULTS[name])
    assert found
    assert {each.code for each in found} == {"TSR112"}
    run(TOP + FAULTS[name])


@pytest.mark.parametrize("name", RIGHT)
def test_a_table_that_is_meant(name: str) -> None:
    assert codes(TOP + RIGHT[name]) == []
    run(TOP + RIGHT[name])


COLUMNS = {
    "what a function makes of a column": "def line(x, a, b):\n    return a * np.exp(-b * x)\n\n\nx = np.random.rand(20).reshape(-1, 1)\n"
    "d = p - line(x, 2.0, 1.0)\ncost = np.sum(d**2)\n",
    "a function of a column": "x = np.random.rand(20).reshape(-1, 1)\nd = p - np.exp(-2 * x)\ncost = np.mean(d**2)\n",
    "a slope of a covariance": "x = np.random.rand(20, 1)\nslope = np.cov(x.T, p)[0, 1] / np.var(x)\n"
    "d = p - (p.mean() + slope * (x - x.mean()))\ncost = np.sum(d**2)\n",
}
TABLES = {
    "a function that makes a column": "def column(x):\n    return x.reshape(-1, 1)\n\n\ncost = np.exp(-((p - column(p + 1)) ** 2)).mean()\n",
    "a column made in the call": "cost = np.exp(-((p - np.exp(-(p + 1).reshape(-1, 1))) ** 2)).mean()\n",
    "a column made in the expression": "cost = np.exp(-((p - np.sqrt(y[:, None])) ** 2)).mean()\n",
    "thresholds of the column itself": "scores = np.random.rand(20, 1)\nreached = scores >= np.sort(scores.ravel())\nshare = reached.mean(axis=0)\n",
    "a grid that is read along an axis": "grid = np.linspace(0, 1, 20).reshape(-1, 1)\nerrors = ((p - np.exp(-grid)) ** 2).mean(axis=1)\n"
    "best = grid[errors.argmin()]\n",
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_call_that_is_given_a_column_makes_none(name: str) -> None:
    assert codes(TOP + COLUMNS[name]) == ["TSR112"]
    assert run(TOP + COLUMNS[name])["d"].shape == (20, 20)


@pytest.mark.parametrize("name", TABLES)
def test_a_call_that_makes_a_column(name: str) -> None:
    assert codes(TOP + TABLES[name]) == []
    run(TOP + TABLES[name])
