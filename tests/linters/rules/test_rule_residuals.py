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
layer = torch.nn.Linear(3, 1)


"""
NETWORK = (
    "class Network(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.out = torch.nn.Linear(3, 1)\n\n"
    "    def forward(self, x):\n        out = self.out(x).squeeze(-1)\n        return out, x\n\n"
)
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
    "a layer": "def f(net, x, t):\n    t = t.view(-1, 1)\n    d = net(x).squeeze() - t\n    return d, (d**2).mean()\n\n\n"
    "d, e = f(layer, features, labels)\n",
    "a layer, and an axis that is asked for": "def f(net, x, t):\n    t = t.unsqueeze(1)\n    out = net(x)\n    out = out.squeeze(1)\n"
    "    d = out - t\n    return d, d.abs().mean()\n\n\nd, e = f(layer, features, labels)\n",
    "a layer, one column": "def f(net, x, t):\n    t = t.reshape(-1, 1)\n    p = torch.relu(net(x)[:, 0])\n    d = t - p\n"
    "    return d, d.pow(2).sum()\n\n\nd, e = f(layer, features, labels)\n",
    "a layer, as arrays": "def f(net, x, t):\n    t = np.vstack(t.numpy())\n    with torch.no_grad():\n"
    "        p = net(x).numpy().flatten()\n    d = t - p\n    return d, d.std()\n\n\nd, e = f(layer, features, labels)\n",
    "a network": NETWORK
    + "def f(net, x, t):\n    t = t.view(-1, 1)\n    p, _ = net(x)\n    d = p - t\n    return d, d.abs().mean()\n\n\n"
    "d, e = f(Network(), features, labels)\n",
    "the network itself": NETWORK + "    def loss(self, x, t):\n        t = t[:, None]\n        d = self(x)[0] - t\n"
    "        return d, (d**2).mean()\n\n\nd, e = Network().loss(features, labels)\n",
    "forward": NETWORK
    + "    def loss(self, x, t):\n        t = t[:, None]\n        d = self.forward(x)[0] - t  # noqa: TSR301\n"
    "        return d, (d**2).mean()\n\n\nd, e = Network().loss(features, labels)\n",
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
    "samples that a network draws": "def f(net, x, t):\n    p = net(x).squeeze(1)\n    return (t[:, None] - p).abs().mean()\n\n\n"
    "e = f(layer, features, labels)\n",
    "pairs of outputs": NETWORK + "def f(net, x, z):\n    p, q = net(x)[0].view(-1, 1), net(z)[0]\n"
    "    return torch.relu(1 - (p - q)).mean()\n\n\ne = f(Network(), features, features)\n",
    "outputs, kept whole": "def f(net, x, t):\n    t = t.view(-1, 1)\n    return net(x).squeeze(1) - t\n\n\ne = f(layer, features, labels)\n",
    "outputs, the nearest": "def f(net, x, t):\n    t = t.view(-1, 1)\n    return (net(x).squeeze(1) - t).abs().argmin(0)\n\n\n"
    "e = f(layer, features, labels)\n",
    "of a kernel's width": "def f(net, x, t):\n    width = net(x).mean()\n    a = t.view(-1, 1)\n    b = t + 1\n"
    "    return (-((a - b) ** 2) / width).mean()\n\n\ne = f(layer, features, labels)\n",
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


EQUAL = {
    "==": "hits = net(x).squeeze(1).round() == t",
    "eq": "hits = t.eq(net(x).squeeze(1) > 0.5)",
    "!=": "p = net(x).flatten() > 0.5\n    hits = p != t",
}


@pytest.mark.parametrize("name", EQUAL)
def test_outputs_that_equal_a_column_are_reported(name: str) -> None:
    code = (
        TOP
        + f"def f(net, x, t):\n    t = t.unsqueeze(1)\n    {EQUAL[name]}\n    return hits, hits.float().mean()\n\n\n"
    )
    code += "hits, e = f(layer, features, labels)\n"
    (found,) = findings(code)
    assert found.code == "TSR112"
    assert run(code, "torch", "sklearn")["hits"].shape == (20, 20)


def test_outputs_above_thresholds_are_left_alone() -> None:
    code = TOP + "def f(net, x, t):\n    t = t.unsqueeze(1)\n    return (net(x).squeeze(1) > t).float().mean()\n\n\n"
    code += "e = f(layer, features, labels)\n"
    assert findings(code) == []
    run(code, "torch", "sklearn")


def test_outputs_that_a_column_is_added_to_are_reported() -> None:
    code = (
        TOP + "def f(net, x, t):\n    r = t.unsqueeze(1)\n    with torch.no_grad():\n        best = net(x).max(1)[0]\n"
    )
    code += (
        "    d = r + 0.9 * best\n    return d, (d - t.mean()).pow(2).mean()\n\n\nd, e = f(layer, features, labels)\n"
    )
    (found,) = findings(code)
    assert found.code == "TSR112"
    assert "in addition, and all of it is reduced to one number" in found.message
    assert run(code, "torch", "sklearn")["d"].shape == (20, 20)
    assert findings(code.replace("(d - t.mean()).pow(2).mean()", "d.argmax(0)")) == []


PRODUCTS = {
    "weights": "d = t.unsqueeze(1) * 1.0\n    d = d * net(x).squeeze(1)\n    return d, d.mean()",
    "a mask in arithmetic": "t = t[:, None]\n    d = (1 - t) * net(x).max(1)[0]\n    return d, (x[:, :1] - d).pow(2).mean()",
    "of arrays": "t = t.numpy().reshape(-1, 1)\n    p = net(x).detach().numpy().ravel()\n    d = np.log(t + 1) * p\n    return d, d.sum()",
    "of a method of the column": "t = t.unsqueeze(1)\n    d = net(x).squeeze(1) / t.exp()\n    return d, d.sum()",
}
# What a column and outputs make that meets a matrix, or is read as one, is a matrix.
MATRICES = {
    "a kernel": "return (t * p * torch.exp(-torch.cdist(x, x))).sum()",
    "a kernel in front": "return (torch.exp(-torch.cdist(x, x)) * (t * p)).mean()",
    "a matrix of differences": "d = t - p\n    return (d - torch.cdist(x, x)).abs().mean()",
    "a matrix that is approximated": "return ((torch.cdist(x, x) - (t + p)) ** 2).mean()",
    "its trace": "return torch.trace(t * p)",
    "its rows": "return (t * p).sum(1)",
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_outputs_that_a_column_is_multiplied_by_are_reported(name: str) -> None:
    code = TOP + f"def f(net, x, t):\n    {PRODUCTS[name]}\n\n\nd, e = f(layer, features, labels)\n"
    assert [each.code for each in findings(code)] == ["TSR112"]
    assert run(code, "torch", "sklearn")["d"].shape == (20, 20)


@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_of_outputs_and_a_column_is_left_alone(name: str) -> None:
    code = TOP + f"def f(net, x, t):\n    t, p = t.unsqueeze(1), net(x).squeeze(1)\n    {MATRICES[name]}\n\n\n"
    code += "e = f(layer, features, labels)\n"
    assert findings(code) == []
    run(code, "torch", "sklearn")
