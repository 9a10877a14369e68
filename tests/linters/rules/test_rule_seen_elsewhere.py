"""Rows and columns that come out of scipy, of scikit-learn, of numpy's fits, and of functions that keep an axis."""

from __future__ import annotations

import pytest
from rule_programs import findings

TOP = """import io

import numpy as np
import pandas as pd
import torch
from scipy import interpolate, linalg, stats
from scipy.spatial.distance import cdist

t, column = np.linspace(0, 1, 24), np.random.rand(24, 1)
points, weights = np.random.rand(24, 2), np.random.rand(24)
spd = np.eye(24) * 2

"""
# The faulty line, and what mends it.
FAULTS = {
    "a distance to one centre": (
        "d = cdist(points, points.mean(axis=0, keepdims=True))\ntotal = np.sum(weights * d)",
        ("weights * d", "weights * d[:, 0]"),
    ),
    "a line of linregress": (
        "fit = stats.linregress(t, column.ravel())\nrest = column - (fit.slope * t + fit.intercept)\nspread = rest.std()",
        ("= column - (", "= column[:, 0] - ("),
    ),
    "a line of polyfit, of a table": (
        "table = pd.read_csv(io.StringIO('x,y\\n1,2\\n2,4\\n3,7\\n'))\nx, y = table['x'].to_numpy(), table[['y']].to_numpy()\n"
        "slope, start = np.polyfit(x, y.ravel(), 1)\nerror = np.sum((y - (slope * x + start)) ** 2)",
        ("(y - (", "(y.ravel() - ("),
    ),
    "an interpolated series": (
        "f = interpolate.interp1d(t, weights)\nerror = np.sqrt(np.mean((column - f(t)) ** 2))",
        ("(column - f(t))", "(column[:, 0] - f(t))"),
    ),
    "densities as weights": (
        "w = stats.norm.pdf(column.ravel(), loc=0.5)\nmean = (w * column).sum() / w.sum()",
        ("(w * column)", "(w * column[:, 0])"),
    ),
    "a solution of a column": (
        "x = linalg.cho_solve(linalg.cho_factor(spd), column)\nerror = np.mean((x - weights) ** 2)",
        ("(x - weights)", "(x[:, 0] - weights)"),
    ),
    "a regression that gives columns": (
        "from sklearn.cross_decomposition import PLSRegression\nmodel = PLSRegression(2).fit(points, column)\n"
        "error = np.mean((model.predict(points) - weights) ** 2)",
        ("predict(points) -", "predict(points)[:, 0] -"),
    ),
    "hits of a kept index, in a function": (
        "def hits(scores, labels):\n    best = scores.max(1, keepdim=True)[1]\n    return best.eq(labels).sum().item()\n\n\n"
        "n = hits(torch.rand(8, 3), torch.randint(0, 3, (8,)))",
        ("best.eq(labels)", "best.eq(labels.view_as(best))"),
    ),
    "hits of a kept index of numpy, in a method": (
        "class Judge:\n    def rate(self, scores, labels):\n        best = np.argmax(scores, axis=1, keepdims=True)\n"
        "        return np.mean(best == labels)\n\n\nrate = Judge().rate(np.random.rand(8, 3), np.random.randint(0, 3, 8))",
        ("axis=1, keepdims=True)", "axis=1)"),
    ),
    "what a function keeps, weighed": (
        "def energy(x):\n    return x.pow(2).sum(dim=1, keepdim=True)\n\n\nx = torch.rand(9, 3)\n"
        "w = torch.softmax(x.sum(1), dim=0)\nvalue = (w * energy(x)).sum()",
        ("dim=1, keepdim=True", "dim=1"),
    ),
    "log-densities of several variables": (
        "mean, value = torch.rand(16, 3), torch.rand(16, 1)\n"
        "policy = torch.distributions.MultivariateNormal(mean, torch.eye(3))\n"
        "loss = -(policy.log_prob(policy.sample()) * value).mean()",
        ("* value)", "* value.squeeze(1))"),
    ),
}
MEANT = {
    "a one-hot": "def harden(p):\n    return (p.argmax(1, keepdim=True) == torch.arange(4)).float().sum(0)\n\n\nharden(torch.rand(4, 4))",
    "pairs of classes": "def pairs(p, q):\n    return (p.argmax(1)[:, None] == q.argmax(1)).float().mean()\n\n\n"
    "pairs(torch.rand(4, 3), torch.rand(4, 5))",
    "similarities": "def norms(x):\n    return x.norm(dim=1, keepdim=True)\n\n\ndef alike(x, y):\n"
    "    return (x @ y.t() / (norms(x) * y.norm(dim=1))).mean()\n\n\nalike(torch.rand(8, 4), torch.rand(8, 4))",
    "a sum of what functions keep": "def norms(x):\n    return x.norm(dim=1, keepdim=True)\n\n\ndef sums(x, y):\n"
    "    return (norms(x) + y.norm(dim=1)).exp().mean()\n\n\nsums(torch.rand(8, 4), torch.rand(8, 4))",
    "a table of differences": "k = np.exp(-np.subtract.outer(weights, weights) ** 2).mean()",
    "a grid": "rows, columns = np.ogrid[0:9, 0:9]\ninside = ((rows - 4) ** 2 + (columns - 4) ** 2 < 9).sum()",
    "densities on a grid": "p = stats.norm.pdf(t[:, None], loc=weights)\nbest = weights[p.argmax(axis=1)]",
    "distances each with each": "d = cdist(points, points)\nd = d / d.sum(axis=1, keepdims=True)\nnear = (d < d.mean()).sum()",
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_found_and_its_repair_is_silent(name: str) -> None:
    for library in ("torch", "scipy", "sklearn", "pandas"):
        pytest.importorskip(library)
    body, (wrong, right) = FAULTS[name]
    assert wrong in body
    assert [finding.code for finding in findings(TOP + body + "\n")] in (["TSR111"], ["TSR112"])
    mended = TOP + body.replace(wrong, right) + "\n"
    assert findings(mended) == []
    for code in (TOP + body, mended):
        exec(code, {"__name__": "program"})


@pytest.mark.parametrize("name", MEANT)
def test_what_is_meant_is_silent(name: str) -> None:
    for library in ("torch", "scipy", "pandas"):
        pytest.importorskip(library)
    code = TOP + MEANT[name] + "\n"
    assert findings(code) == []
    exec(code, {"__name__": "program"})
