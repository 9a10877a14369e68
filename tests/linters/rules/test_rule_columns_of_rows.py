"""`zip(*rows)`: the columns of rows that nobody knows are of one length, whatever it is; and the folds of a splitter in a loop
that numbers them."""

from __future__ import annotations

import pytest
from rule_programs import codes, findings, run

TOP = """\
import random

import numpy as np
import torch

rows = [(torch.rand(3), 4 - i) for i in range(4)]


class Memory:
    def sample(self):
        return eval("rows")


"""
FAULTS = {
    "lengths": "def collate(batch):\n    a, b = zip(*batch)\n    n = torch.tensor([len(each) for each in a])\n"
    "    t = torch.stack([torch.tensor([float(each)]) for each in b])\n    d = t - n\n    return d, (d ** 2).mean()\n\n\nd, loss = collate(eval('rows'))\n",
    "numbers": "def update(memory):\n    states, rewards = zip(*memory.sample())\n    r = torch.tensor([float(each) for each in rewards]).unsqueeze(1)\n"
    "    v = torch.tensor([float(each.sum()) for each in states])\n    d = r - v\n    return d, d.pow(2).mean()\n\n\nd, loss = update(Memory())\n",
    "arrays": "def update(memory):\n    states, rewards = list(zip(*memory.sample()))\n    r = np.array([[float(each)] for each in rewards])\n"
    "    v = np.array([float(each.sum()) for each in states])\n    d = r - v\n    return d, (d ** 2).mean()\n\n\nd, loss = update(Memory())\n",
}
RIGHT = {
    "columns": "def collate(batch):\n    a, b = zip(*batch)\n    n = torch.tensor([len(each) for each in a]).unsqueeze(1)\n"
    "    t = torch.stack([torch.tensor([float(each)]) for each in b])\n    return ((t - n) ** 2).mean()\n\n\nloss = collate(eval('rows'))\n",
    "each with each": "def pairs(batch):\n    a, b = zip(*batch)\n    t = torch.tensor([float(each) for each in b])\n"
    "    return (t.unsqueeze(1) - t).abs().argmin(1)\n\n\nloss = pairs(eval('rows'))\n",
    "the rows of one column": "def means(batch):\n    for column in zip(*batch):\n        yield len(column)\n\n\nloss = list(means(eval('rows')))\n",
    "other rows": "def both(batch, more):\n    a, b = zip(*batch)\n    c, d = zip(*more)\n    t = torch.tensor([float(each) for each in b]).unsqueeze(1)\n"
    "    u = torch.tensor([float(each) for each in d])\n    return (t - u).abs().sum()\n\n\nloss = both(eval('rows'), eval('rows[:1]'))\n",
}
FOLDS = """\
import numpy as np
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

X, y = np.random.rand(30, 4), np.arange(30) % 3


def rmse(true, predicted):
    return np.sqrt(np.mean((np.log1p(true) - np.log1p(predicted)) ** 2))


def fit_fold(train, test):
    return np.abs(test @ np.ones((4, 1)))


"""
NUMBERED = {
    "numbered": "for fold, (train, test) in enumerate(KFold(3).split(X)):\n    p = fit_fold(X[train], X[test])\n    score = rmse(y[test], p)\n",
    "numbered from one": "for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y), start=1):\n"
    "    p = fit_fold(X[train], X[test])\n    score = rmse(y[test], p)\n",
    "beside others": "for (train, test), name in zip(KFold(3).split(X), 'abc'):\n    p = fit_fold(X[train], X[test])\n    score = rmse(y[test], p)\n",
}
FLAT = {
    "flat": "for fold, (train, test) in enumerate(KFold(3).split(X)):\n    score = rmse(y[test], fit_fold(X[train], X[test])[:, 0])\n",
    "one left out": "for fold, (train, test) in enumerate(LeaveOneOut().split(X)):\n    score = rmse(y[test], fit_fold(X[train], X[test]))\n",
}


@pytest.mark.parametrize("name", FAULTS)
def test_columns_of_rows_are_of_one_length(name: str) -> None:
    (found,) = findings(TOP + FAULTS[name])
    assert found.code == "TSR112"
    assert "(?, 1)" in found.message
    assert run(TOP + FAULTS[name])["d"].shape == (4, 4)


@pytest.mark.parametrize("name", RIGHT)
def test_other_columns_are_left_alone(name: str) -> None:
    assert codes(TOP + RIGHT[name]) == []
    run(TOP + RIGHT[name])


@pytest.mark.parametrize("name", NUMBERED)
def test_a_numbered_fold_has_several_rows(name: str) -> None:
    (found,) = findings(FOLDS + NUMBERED[name])
    assert found.code == "TSR112"
    assert "(?,) and np.log1p(predicted) (?, 1)" in found.message
    run(FOLDS + NUMBERED[name], "sklearn")


@pytest.mark.parametrize("name", FLAT)
def test_other_folds_are_left_alone(name: str) -> None:
    assert codes(FOLDS + FLAT[name]) == []
    run(FOLDS + FLAT[name], "sklearn")
