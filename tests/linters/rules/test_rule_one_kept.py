"""Two reductions over the last axis, one of which keeps it: a mistake where they are reduced on, a table where they meet a matrix."""

from __future__ import annotations

import pytest
from rule_programs import findings

HEAD = """import numpy as np
import torch


def f(x, y, m):
    a = {a}
    b = {b}
    {body}


x, y, m = {make}
f(x, y, m)
"""
TORCH = "torch.rand(8, 4), torch.rand(8, 4), torch.rand(8, 8)"
NUMPY = "np.random.rand(8, 4), np.random.rand(8, 4), np.random.rand(8, 8)"


def program(*body: str, a: str = "x.sum(1, keepdim=True)", b: str = "y.sum(1)", make: str = TORCH) -> str:
    return HEAD.format(a=a, b=b, body="\n    ".join(body), make=make)


ACCIDENTS = {
    "added": program("return (a + b).sum()"),
    "added and squared": program("return (a + b).pow(2).mean()"),
    "added and averaged, and more": program("t = a - b", "return t.mean() + t.var()"),
    "averaged in part": program("t = (a - b) * b", "return t.mean()"),
    "averaged in absolute value": program("return abs(a - b).mean()"),
    "averaged as integers": program("return (a - b).int().float().mean()"),
    "squared in place": program("t = a - b", "t **= 2", "return t.mean()"),
    "averaged and returned": program("t = a + b", "return t.mean(), t"),
    "multiplied": program("return (a * b).sum()"),
    "divided": program("return torch.log(b / a).mean()"),
    "subtracted": program("return torch.relu(a - 0.5 * b).mean()"),
    "through names": program("t = a + b", "t = torch.sqrt(t) * 2", "return t.mean()"),
    "computed with": program(
        "return (a * b).mean()", a="-0.5 * x.pow(2).sum(-1, keepdim=True)", b="1 - y.mean(dim=-1)"
    ),
    "several axes": program(
        "return (a / b).mean()",
        a="x.view(8, 2, 2).sum((1, 2), keepdim=True).squeeze(2)",
        b="y.view(8, 2, 2).sum((1, 2))",
    ),
    "a sequence each": program(
        "return (a * b).mean()", a="x.view(4, 4, 2).sum(2, keepdim=True)", b="y.view(4, 4, 2).sum(2)"
    ),
    "numpy": program("return (a + b).std()", a="x.sum(axis=1, keepdims=True)", b="y.sum(axis=1)", make=NUMPY),
    "computed with on the spot": program("return 1 - ((2 * b + 1) / (a + 1)).mean()"),
    "a vector of labels": program("return (b * a.pow(2)).mean()", b="torch.ones(8)"),
    "a vector of weights of numpy": program(
        "return np.mean(b / a)", a="np.linalg.norm(x, axis=1, keepdims=True)", b="np.ones(len(x))", make=NUMPY
    ),
    "meets a row": program("t = a + b", "return (t * b).mean()"),
    "kept by a function and multiplied": program("return (lengths(x) * b).mean()", b="torch.ones(8)").replace(
        "def f", "def lengths(x):\n    return x.norm(dim=1, keepdim=True)\n\n\ndef f"
    ),
}
TABLES = {
    "distances": program("return (a + b - 2 * x @ y.t()).mean()"),
    "distances in place": program("t = a + b", "t -= 2 * x @ y.t()", "return t.mean()"),
    "distances by addmm": program("return torch.addmm(a + b, x, y.t(), alpha=-2).mean()"),
    "distances by addmm_": program("t = a + b", "t.addmm_(x, y.t(), alpha=-2)", "return t.mean()"),
    "similarities": program("return (x @ y.t() / (a * b)).mean()"),
    "similarities of numpy": program(
        "return np.divide(x @ y.T, a * b).mean()",
        a="np.sum(x, axis=1, keepdims=True)",
        b="np.sum(y, axis=1)",
        make=NUMPY,
    ),
    "written into": program(
        "t = a * b", "np.subtract(t, x @ y.T, out=t)", "return t.mean()",
        a="np.sum(x, axis=1, keepdims=True)", b="np.sum(y, axis=1)", make=NUMPY,
    ),
    "a view written into": program("t = a + b", "u = t.view(-1)", "u -= m.view(-1)", "return t.mean()"),
    "averaged": program("return (a + b).mean()"),
    "a difference averaged": program("t = a - b", "return torch.mean(t)"),
    "averaged with numbers": program("return -(2 * (b - a) / 3 + 1).mean()"),
    "averaged over both axes": program("return (a + b).mean(dim=(0, 1))"),
    "averaged in steps": program("return (a + b).mean(0).mean()"),
    "averaged in double": program("return (a - b).double().mean()"),
    "changed in place and averaged": program("t = a + b", "t *= 2", "return t.mean()"),
    "averaged with numpy": program(
        "return np.mean(a + b)", a="x.sum(axis=1, keepdims=True)", b="y.sum(axis=1)", make=NUMPY
    ),
    "rows written into": program("t = a + b", "for i in range(8):", "    t[i] -= m[i]", "return t.mean()"),
    "rows of a loop": program("t = a + b", "for i, row in enumerate(t):", "    row -= m[i]", "return t.mean()"),
    "items stored": program("t = a + b", "t[range(8), range(8)] = 0", "return t.mean()"),
    "shares of a whole": program("t = a * b", "t = t / t.sum()", "return t, t.sum()"),
    "stacked": program("t = torch.stack([a + b, m]).prod(0)", "return t.mean()"),
    "factored": program("t = a + b", "u, s, v = torch.linalg.svd(t)", "return t.mean()"),
    "weights of an average": program(
        "t = a + b", "return np.average(t, weights=m), t.mean()",
        a="np.sum(x, axis=1, keepdims=True)", b="np.sum(y, axis=1)", make=NUMPY,
    ),
    "no diagonal of numpy": program(
        "t = a * b", "np.fill_diagonal(t, 0)", "return t.mean()",
        a="np.sum(x, axis=1, keepdims=True)", b="np.sum(y, axis=1)", make=NUMPY,
    ),
    "both margins": program("return (a * m.sum(0) / m.sum()).sum()", a="m.sum(1, keepdim=True)"),
    "handed on": program("t = a * b", "save(t)", "return t.mean()").replace("def f", "from project import save\n\n\ndef f"),
    "one side": program("return torch.triu(a + b, 1).sum()"),
    "no diagonal": program("return (a + b).fill_diagonal_(0).sum()"),
    "some pairs": program("t = a + b", "return t[m > 0.5].mean()"),
    "masked": program("t = (a * b).masked_fill(m > 0.5, 0.0)", "return t.mean()"),
    "chosen by where": program("t = a * b", "return torch.where(m > 0.5, t, 0.0).mean()"),
    "met in another sum": program("t = (a * b).exp()", "return t.mean() + torch.einsum('ij,ij->', t, m)"),
    "of itself": program("return (a * b).mean()", b="x.sum(1)"),
    "a row of its own": program("return (a * b).mean()", b="m[0]"),
    "kept in the expression": program("return (x.sum(1, keepdim=True) + b).mean()"),
    "read along an axis": program("return (a + b).logsumexp(1).mean()"),
    "mended": program("return (a.squeeze(1) + b).mean()"),
    "both kept": program("return (a + b).mean()", b="y.sum(1, keepdim=True)"),
    "a margin of another matrix": program("return (a * b).sum()", b="m.sum(0)"),
    "a range": program("return (a * b).mean()", b="torch.arange(8)"),
    "a row and a column of one matrix": program("return (a * b).sum()", a="m.mean(1, keepdim=True)", b="m.mean(0)"),
    "kept by a function in the expression": program("return (lengths(x) + b).exp().mean()", b="torch.ones(8)").replace(
        "def f", "def lengths(x):\n    return x.norm(dim=1, keepdim=True)\n\n\ndef f"
    ),
    "picked in the expression": program("return (a[:8] * b).mean()", b="torch.ones(8)"),
    "labels and a matrix": program("return (a * b * m).mean()", b="torch.ones(8)"),
    "of two lengths": program("return (a * b).mean()", b="y[1:].sum(1)"),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCIDENTS)
def test_one_kept_axis_is_reported(name: str) -> None:
    pytest.importorskip("torch", reason="torch is the oracle")
    exec(ACCIDENTS[name], {"__name__": "case"})
    (found,) = findings(ACCIDENTS[name])
    assert found.code == "TSR112"
    assert "reduced to one number" in found.message


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_pairs_is_left_alone(name: str) -> None:
    pytest.importorskip("torch", reason="torch is the oracle")
    if "project" not in TABLES[name]:
        exec(TABLES[name], {"__name__": "case"})
    assert findings(TABLES[name]) == []


@pytest.mark.parametrize("name", [each for each in TABLES if "averaged" in each])
def test_the_mean_of_a_sum_is_the_number_that_was_meant(name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle")
    returned = TABLES[name].replace("\nf(x, y, m)\n", "\nmade = f(x, y, m)\n")
    scope: dict[str, object] = {"__name__": "case"}
    exec(returned, scope)
    again = returned.replace(", keepdim=True", "").replace(", keepdims=True", "")
    again = (
        again.partition("x, y, m =")[0]
        .replace("mean(dim=(0, 1))", "mean()")
        .replace("mean(0)", "mean(0, keepdim=True)")
    )
    exec(again + "meant = f(x, y, m)\n", scope)
    assert torch.isclose(torch.as_tensor(scope["made"]), torch.as_tensor(scope["meant"]), atol=1e-6)


def test_two_such_matrices_may_be_added() -> None:
    code = """import torch


def contrastive(one, two, same, margin=1.0):
    d = torch.norm(one - two, dim=1, keepdim=True)
    loss = same * d.pow(2) + (1 - same) * torch.clamp(margin - d, min=0).pow(2)
    return loss.mean()


contrastive(torch.randn(6, 3), torch.randn(6, 3), torch.ones(6))
"""
    pytest.importorskip("torch", reason="torch is the oracle")
    exec(code, {"__name__": "case"})
    found = findings(code)
    assert [each.code for each in found] == ["TSR112", "TSR112"]
    assert findings(code.replace(", keepdim=True", "")) == []
    # Squared lengths that meet the products of all pairs are distances.
    pairs = code.replace("margin - d", "one @ two.t() - d")
    assert findings(pairs) == []
