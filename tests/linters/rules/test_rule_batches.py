"""Batches: what one slice, mask or list of indices cuts out of a column and of a vector is of one length, whatever that is;
and columns of indices."""

from __future__ import annotations

import pytest
from rule_programs import codes, findings, run

TOP = """\
import random

import numpy as np
import torch

X, y, w = np.random.rand(90, 3), np.random.rand(90), np.random.rand(3, 1)
features, labels, model = torch.rand(90, 3), torch.rand(90), torch.nn.Linear(3, 1)
weight = torch.rand(3, 1)

"""
FAULTS = {
    "a slice": "for i in range(0, 90, 8):\n    xb, yb = X[i:i + 8], y[i:i + 8]\n    d = xb @ w - yb\n    cost = (d**2).mean()\n",
    "a slice that ends with the data": "n = len(X)\nfor i in range(0, n, 16):\n    xb, yb = X[i:min(i + 8, n)], y[i:min(i + 8, n)]\n"
    "    d = xb @ w - yb\n    cost = (d**2).mean()\n",
    "a slice of two names": "for i in range(0, 90, 8):\n    first, last = i, i + 8\n    d = X[first:last, :] @ w - y[first:last]\n"
    "    cost = (d**2).mean()\n",
    "a part of a permutation": "order = torch.randperm(90)\nfor i in range(0, 90, 8):\n    chosen = order[i:i + 8]\n"
    "    d = features[chosen] @ weight - labels[chosen]\n    cost = d.pow(2).mean()\n",
    "of a generator": "def batches(x, t, size):\n    for i in range(0, len(x), size):\n        yield x[i:i + size], t[i:i + size]\n\n\n"
    "for xb, yb in batches(X, y, 8):\n    d = xb @ w - yb\n    cost = (d**2).mean()\n",
    "of a generator, in a few rounds": "def batches(x, t, size):\n    for i in range(0, len(x), size):\n        yield x[i:i + size], t[i:i + size]\n\n\n"
    "for xb, yb in batches(X, y, 40):\n    d = xb @ w - yb\n    cost = (d**2).mean()\n",
    "of a shuffled list": "def batches(size, x, t):\n    n = len(x)\n    places = list(range(n))\n    random.shuffle(places)\n"
    "    for i in range(0, n, size):\n        chosen = torch.tensor(places[i:min(i + size, n)])\n        yield x[chosen], t[chosen]\n\n\n"
    "for xb, yb in batches(8, features, labels):\n    d = xb @ weight - yb\n    cost = d.pow(2).mean()\n",
    "of a generator of dictionaries": "def batches():\n    for i in range(0, 90, 8):\n        yield {'x': X[i:i + 8], 'y': y[i:i + 8]}\n\n\n"
    "for batch in batches():\n    d = batch['x'] @ w - batch['y']\n    cost = (d**2).mean()\n",
    "a mask": "known = np.random.rand(90) < 0.8\nd = X[known] @ w - y[known]\ncost = (d**2).mean()\n",
    "counted hits": "for i in range(0, 90, 8):\n    d = (model(features[i:i + 8]) > 0.5) == (labels[i:i + 8] > 0.5)\n"
    "    rate = d.float().mean()\n",
    "a function": "for i in range(0, 90, 8):\n    d = np.subtract(X[i:i + 8] @ w, y[i:i + 8])\n    cost = np.square(d).mean()\n",
}
RIGHT = {
    "columns": "t = y[:, None]\nfor i in range(0, 90, 8):\n    d = X[i:i + 8] @ w - t[i:i + 8]\n    cost = (d**2).mean()\n",
    "flat": "for i in range(0, 90, 8):\n    d = (X[i:i + 8] @ w)[:, 0] - y[i:i + 8]\n    cost = (d**2).mean()\n",
    "one item each": "for i in range(90):\n    d = X[i:i + 1] @ w - y[i:i + 1]\n    cost = (d**2).mean()\n",
    "one item each, of a permutation": "order = torch.randperm(90)\nfor i in range(90):\n    chosen = order[i:i + 1]\n"
    "    d = features[chosen] @ weight - labels[chosen]\n    cost = d.pow(2).mean()\n",
    "each with each": "for i in range(0, 90, 8):\n    d = X[i:i + 8, :1] - y\n    nearest = np.abs(d).argmin(axis=1)\n",
    "a column asked for": "for i in range(0, 90, 8):\n    d = np.abs(y[i:i + 8, None] - y[i:i + 8]).sum(axis=1)\n",
    "an elimination": "a = np.random.rand(5, 5)\nfor k in range(4):\n    a[k + 1:, [k]] /= a[k, k]\n"
    "    a[k + 1:, k + 1:] -= a[k + 1:, [k]] * a[k, k + 1:]\n",
    "an elimination, sliced": "a = np.random.rand(5, 5)\na[1:, 1:] -= a[1:, 0:1] * a[0, 1:]\n",
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_batch_is_as_long_as_the_other_one(name: str) -> None:
    (found,) = findings(TOP + FAULTS[name])
    assert found.code == "TSR112"
    d = run(TOP + FAULTS[name])["d"]
    assert d.ndim == 2
    assert d.shape[0] == d.shape[1] > 1


@pytest.mark.parametrize("name", RIGHT)
def test_other_batches_are_left_alone(name: str) -> None:
    assert codes(TOP + RIGHT[name]) == []
    run(TOP + RIGHT[name])


def test_two_columns_of_a_table_are_no_elimination() -> None:
    code = TOP + "d = X[:, 2:] * X[:, 1]\nmean = d.mean()\n"
    assert codes(code) == ["TSR112"]
    assert run(code)["d"].shape == (90, 90)


VIEWS = {
    "of turned text": "corpus = torch.randint(0, 50, (200,)).view(4, 50).t()\nfor i in range(0, 48, 7):\n"
    "    n = min(7, 49 - i)\n    flat = corpus[i + 1:i + 1 + n].view(-1)\n",
    "in a function": "def targets(source, i, size=7):\n    n = min(size, len(source) - 1 - i)\n    return source[i + 1:i + 1 + n].view(-1)\n\n\n"
    "corpus = torch.randint(0, 50, (200,)).view(4, 50).t()\nfor i in range(0, 48, 7):\n    flat = targets(corpus, i)\n",
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_a_turned_batch(name: str) -> None:
    code = TOP + VIEWS[name]
    assert codes(code) == ["TSR201"]
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        run(code)
    right = code.replace(".t()", ".t().contiguous()")
    assert codes(right) == []
    run(right)


def test_a_view_of_a_batch_of_one() -> None:
    code = TOP + "corpus = torch.rand(4, 50).t()\nfor i in range(50):\n    flat = corpus[i:i + 1].view(-1)\n"
    assert codes(code) == []
    run(code)


INDICES = {
    "of numpy": "t = np.random.randint(0, 3, (90, 1))\nd = X[np.arange(90), t]\ncost = -np.log(d).mean()\n",
    "of torch": "t = torch.randint(0, 3, (90, 1))\nd = features[torch.arange(90), t]\ncost = -d.mean()\n",
    "the largest": "d = X[np.arange(90), np.argsort(X, axis=1)[:, -1:]]\ncost = d.sum()\n",
}
CHOSEN = {
    "rows and columns": "rows, columns = np.array([4, 7]), np.array([0, 2])\nd = X[rows[:, None], columns].sum()\n",
    "reshaped rows": "rows, columns = np.array([4, 7]).reshape(-1, 1), np.array([0, 2])\nd = X[rows, columns].sum()\n",
    "written rows": "rows, columns = np.array([[4], [7]]), np.array([0, 2])\nd = X[rows, columns].sum()\n",
    "an open mesh": "d = X[np.ix_([4, 7], [0, 2])].sum()\n",
    "some of each row": "best = np.argsort(X, axis=1)[:, :2]\nd = X[np.arange(90)[:, None], best].mean()\n",
    "one of each row": "d = X[np.arange(90), X.argmax(axis=1)].mean()\n",
}


@pytest.mark.parametrize("name", INDICES)
def test_a_column_of_indices(name: str) -> None:
    (found,) = findings(TOP + INDICES[name])
    assert found.code == "TSR112"
    assert "in indexing" in found.message
    assert run(TOP + INDICES[name])["d"].shape == (90, 90)


@pytest.mark.parametrize("name", CHOSEN)
def test_what_is_to_be_chosen(name: str) -> None:
    assert codes(TOP + CHOSEN[name]) == []
    run(TOP + CHOSEN[name])
