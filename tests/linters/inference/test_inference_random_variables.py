"""Distributions, lists that loops fill and fields that loops carry: what is claimed of them holds of the run."""

from __future__ import annotations

import ast
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from tensorlint.inference.analysis import analyse
from tensorlint.inference.hazards import ViewHazard

IMPORTS = "import numpy as np\nimport random\nimport torch\nfrom torch import distributions as D\n"

PROGRAMS = {
    "one number for each": "d = D.Normal(torch.zeros(5), torch.ones(5))\na = d.sample()\nb = d.log_prob(a)\nc = d.entropy()\n",
    "parameters broadcast": "d = D.Laplace(torch.zeros(4, 1), torch.ones(3))\na = d.rsample()\nb = d.mean\nc = d.log_prob(torch.zeros(3))\n",
    "a number beside a tensor": "d = D.Uniform(torch.zeros(3, 2), 2.0)\na = d.sample((7,))\nb = d.stddev\n",
    "categorical": "d = D.Categorical(logits=torch.randn(6, 3))\na = d.sample()\nb = d.log_prob(a)\nc = d.entropy()\ne = d.probs\nf = d.sample((4,))\n",
    "categorical by probabilities": "d = D.Categorical(torch.ones(6, 3) / 3)\na = d.sample(torch.Size([2]))\nb = d.log_prob(a)\n",
    "a column of actions": "d = D.Categorical(torch.ones(6, 3) / 3)\nb = d.log_prob(torch.zeros(6, 1))\n",
    "one hot": "d = D.OneHotCategorical(torch.ones(6, 3) / 3)\na = d.sample()\nb = d.log_prob(a)\nc = d.entropy()\n",
    "Dirichlet": "d = D.Dirichlet(torch.ones(4, 3))\na = d.rsample()\nb = d.log_prob(a)\n",
    "Bernoulli": "d = D.Bernoulli(logits=torch.zeros(4, 2))\na = d.sample()\nb = d.log_prob(a)\nc = d.probs\n",
    "independent": "d = D.Independent(D.Normal(torch.zeros(4, 2), torch.ones(2)), 1)\na = d.sample()\nb = d.log_prob(a)\nc = d.entropy()\n",
    "divergence": "a = D.kl_divergence(D.Normal(torch.zeros(4, 1), 1.0), D.Normal(torch.zeros(3), 1.0))\n",
    "mixture": "a = D.Normal(torch.zeros(3), torch.ones(3)).log_prob(torch.zeros(9).unsqueeze(1))\n",
    "named results": "x = torch.randn(4, 5)\na = x.max(dim=1).values\nb = x.sort(dim=0).indices\nc = torch.linalg.eigh(x @ x.T).eigenvectors\n"
    "d = x.topk(2).values\n",
    "columns joined": "a = np.c_[np.ones(4), np.zeros((4, 2))]\nb = np.c_[np.ones(3), np.ones(3)]\n",
    "windows": "s = np.linspace(0, 1, 30)\nw = []\nt = []\nfor i in range(20):\n    w.append(s[i:i + 5])\n    t.append(s[i + 5])\n"
    "a = np.array(w)\nb = np.array(t)\nc = torch.tensor(b)\n",
    "returns": "r = []\ng = 0.0\nfor x in [1.0] * 12:\n    g = x + 0.9 * g\n    r.insert(0, g)\na = torch.tensor(r)\n",
    "objects": "w = []\nfor i in range(1, 4):\n    w.append(np.ones(i))\na = np.array(w, dtype=object)\n",
    "transposed rows": "m = [(torch.randn(4), 0, 1.0) for _ in range(50)]\nb = random.sample(m, 8)\ns, k, v = zip(*b)\n"
    "a = torch.stack(s)\nc = torch.tensor(k)\nd = torch.tensor(v)\n",
    "a sum that starts as a number": "t = 0.0\nfor x in torch.randn(9, 3):\n    t = t + x.mean()\na = torch.ones(4) * t\n",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_shape_is_wrong_and_tensors_are_known(name: str) -> None:
    source = IMPORTS + PROGRAMS[name]
    scope: dict[str, Any] = {}
    exec(source, scope)
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    for made in "abcdef":
        value = scope.get(made)
        if not hasattr(value, "shape"):
            continue
        shape = rows[made].shape if made in rows else None
        assert value is not None
        assert name == "objects" or shape is not None, f"nothing is known of {made}"
        if shape is not None:
            assert len(shape) == len(value.shape), made
            assert all(size == real for size, real in zip(shape, value.shape, strict=True) if isinstance(size, int)), (
                made
            )


SHAPES = ["()", "(5,)", "(4, 1)", "(4, 5)", "(2, 1, 5)"]


@pytest.mark.parametrize("kind", ["Normal", "Uniform", "Laplace", "Gamma", "LogNormal", "Gumbel", "Cauchy"])
@pytest.mark.parametrize("method", ["sample", "rsample"])
def test_samples_lie_in_memory_as_is_said(kind: str, method: str) -> None:
    """Of parameters that lie as new tensors do the samples do; of turned ones nothing is said."""
    known = 0
    for first in [
        *(f"torch.ones({shape})" for shape in SHAPES),
        "torch.ones(5, 4).t()",
        "torch.ones(4, 1).expand(4, 5)",
    ]:
        for second in [*(f"2 * torch.ones({shape})" for shape in SHAPES), "2 * torch.ones(5, 4).t()", "2.0"]:
            for size in ("", "(3,)", "(3, 2)"):
                source = f"{IMPORTS}a = D.{kind}({first}, {second}).{method}({size})\n"
                (row,) = (each for each in analyse(ast.parse(source), source).bindings if each.name == "a")
                scope: dict[str, Any] = {}
                exec(source, scope)
                if row.strides:
                    known += 1
                    assert all(
                        stride == real
                        for stride, real, axis in zip(row.strides, scope["a"].stride(), scope["a"].shape, strict=True)
                        if axis > 1
                    ), source
    assert known > 50


FIELDS = """
import numpy as np


class Descent:
    def fit(self, X, y):
        self.w = np.zeros((X.shape[1], 1))
        self.b = 0.0
        self.seen = X
        for _ in range(5):
            error = X @ self.w + self.b - y
            self.w = self.w - 0.1 * X.T @ error
            self.b -= error.mean()
            self.seen = self.seen[1:]
        self.error = error
        return self


a = Descent().fit(np.random.rand(20, 3), np.random.rand(20, 1))
w = a.w
error = a.error
seen = a.seen
"""


def test_fields_are_carried_from_round_to_round() -> None:
    """A weight keeps its shape over the rounds; an array that shrinks in each is not claimed to keep its length."""
    rows = {row.name: row for row in analyse(ast.parse(FIELDS), FIELDS).bindings}
    scope: dict[str, Any] = {}
    exec(FIELDS, scope)
    assert rows["w"].shape == scope["w"].shape == (3, 1)
    seen = rows["seen"].shape if "seen" in rows else None
    assert seen is None or seen[0] != 20


def views(source: str) -> list[str]:
    hazards = analyse(ast.parse(source), source).hazards
    return [hazard.reason for hazard in hazards if isinstance(hazard, ViewHazard)]


START = "import torch\n\nx = torch.randn(4, 6)\nflag = bool(torch.rand(1) > 0.5)\n"


def test_a_branch_that_changes_the_layout_is_remembered() -> None:
    source = START + "if flag:\n    x = x[:, 1:]\ny = x.view(-1)\n"
    assert len(views(source)) == 1
    assert "where line 6 was taken" in views(source)[0]
    with pytest.raises(RuntimeError, match="view size"):
        exec(source.replace("if flag", "if True"), {})


@pytest.mark.parametrize(
    "rest",
    [
        "if flag:\n    x = x[:, 1:]\nif not flag:\n    y = x.view(-1)\n",
        "if flag:\n    x = x.t()\nif not x.is_contiguous():\n    x = x.contiguous()\ny = x.view(-1)\n",
        "if x.size(0) != 4:\n    x = x.t()\ny = x.view(-1)\n",
        "if flag:\n    x = x[1:]\ny = x.view(-1)\n",
        "def f(n):\n    x = torch.randn(n, 6)\n    if x.shape[0] > 4:\n        x = x[:, 1:]\n    return x.view(-1)\n",
        "if flag:\n    x = x[:, 1:]\nx = x.contiguous()\ny = x.view(-1)\n",
        "if flag:\n    x = x[:, 1:]\ny = x.reshape(-1)\n",
        "def f(x, flag):\n    if flag:\n        x = x[:, 1:]\n    if flag:\n        return x\n    return x.view(-1)\n\n\nf(x, flag)\n",
    ],
)
def test_what_a_later_test_may_have_asked_is_no_hazard(rest: str) -> None:
    assert views(START + rest) == []
