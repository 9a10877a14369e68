"""A function that makes a column of its argument: it compares each with each, unless what it meets is a prediction of its own."""

from __future__ import annotations

import pytest
from rule_programs import findings, run

TOP = """\
import numpy as np
import torch
from sklearn.linear_model import Ridge

X, y = np.random.rand(20, 3), np.random.rand(20)
w, features, labels = np.random.rand(3), torch.rand(20, 3), torch.rand(20)


"""
OWN = "class Model:\n    def predict(self, X):\n        return X @ w\n\n"
RESIDUALS = {
    "an estimator": "def f(X, y):\n    model = Ridge().fit(X, y)\n    y = y.reshape(-1, 1)\n    d = y - model.predict(X)\n"
    "    return d, np.mean(d**2)\n\n\nd, e = f(X, y)\n",
    "in steps": "def f(X, y):\n    model = Ridge().fit(X, y)\n    y = np.asarray(y).reshape(-1, 1)\n"
    "    update = y.mean() + 0.1 * model.predict(X)\n    d = y - update\n    return d, np.sum(d**2)\n\n\nd, e = f(X, y)\n",
    "a product": "def f(X, y, w):\n    y = y[:, None]\n    d = X @ w - y\n    return d, (d**2).mean()\n\n\nd, e = f(X, y, w)\n",
    "np.dot": "def f(X, y, w):\n    y = y.reshape(-1, 1)\n    d = np.dot(X, w) - y\n    return d, (d**2).mean()\n\n\nd, e = f(X, y, w)\n",
    "of torch": "def f(x, t, v):\n    t = t.view(-1, 1)\n    d = x @ v - t\n    return d, d.abs().mean()\n\n\n"
    "d, e = f(features, labels, torch.rand(3))\n",
    "an own model": OWN
    + "    def score(self, X, y):\n        y = y.reshape(-1, 1)\n        p = self.predict(X)\n        d = y - p\n"
    "        return d, np.mean(d**2)\n\n\nd, e = Model().score(X, y)\n",
    "an own model and any rank": OWN
    + "    def score(self, X, y):\n        if y.ndim == 1:\n            y = y[:, np.newaxis]\n"
    "        d = y - self.predict(X)\n        return d, np.sum(np.abs(d))\n\n\nd, e = Model().score(X, y)\n",
    "a part": "v = y.reshape(-1, 1)\nd = v[5:] - np.random.rand(15)\ne = (d**2).mean()\n",
}
TABLES = {
    "a kernel": "def f(a, b):\n    a = a.reshape(-1, 1)\n    return np.exp(-((a - b) ** 2)).mean()\n\n\ne = f(y, y + 1)\n",
    "of what was predicted before": "def f(a, b):\n    a = a.reshape(-1, 1)\n    b = 2 * b\n    return np.exp(-((a - b) ** 2)).mean()\n\n\n"
    "e = f(y, X @ w)\n",
    "kept whole": "def f(a, X, w):\n    a = a.reshape(-1, 1)\n    return np.exp(-((a - X @ w) ** 2))\n\n\ne = f(y, X, w)\n",
    "the nearest": "def f(a, X, w):\n    a = a.reshape(-1, 1)\n    return np.abs(a - X @ w).argmin(axis=1)\n\n\ne = f(y, X, w)\n",
    "columns": "def f(X, y):\n    model = Ridge().fit(X, y)\n    y = y.reshape(-1, 1)\n    return np.mean((y - model.predict(X)[:, None]) ** 2)\n\n\n"
    "e = f(X, y)\n",
    "of an own model, kept whole": OWN
    + "    def all(self, X, y):\n        y = y.reshape(-1, 1)\n        p = self.predict(X)\n"
    "        return y - p\n\n\ne = Model().all(X, y)\n",
    "of an own model, the nearest": OWN
    + "    def near(self, X, y):\n        y = y.reshape(-1, 1)\n        p = self.predict(X)\n"
    "        return np.abs(y - p).argmin(axis=1)\n\n\ne = Model().near(X, y)\n",
    "of an own model, columns": OWN
    + "    def score(self, X, y):\n        y = y.reshape(-1, 1)\n        p = self.predict(X)\n"
    "        p = p[:, None]\n        return np.mean((y - p) ** 2)\n\n\ne = Model().score(X, y)\n",
    "an axis in the place of another": "t = np.random.rand(20, 2)\ne = ((t[:, None, 0] - y) ** 2).mean()\n",
    "an axis in the cut": "e = ((y[5:, None] - y) ** 2).mean()\n",
}


@pytest.mark.parametrize("name", RESIDUALS)
def test_a_residual_is_reported(name: str) -> None:
    (found,) = findings(TOP + RESIDUALS[name])
    assert found.code == "TSR112"
    assert "in subtraction, and all of it is reduced to one number" in found.message
    d = run(TOP + RESIDUALS[name], "torch", "sklearn")["d"]
    assert d.ndim == 2
    assert d.shape[0] == d.shape[1]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_left_alone(name: str) -> None:
    assert findings(TOP + TABLES[name]) == []
    run(TOP + TABLES[name], "torch", "sklearn")
