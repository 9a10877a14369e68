"""What is written in one expression is what names for its parts would be: both are reported, or neither."""

from __future__ import annotations

import ast
import copy

import pytest
from test_rule_one_kept import ACCIDENTS, TABLES, findings

HEAD = """import numpy as np
import torch
import torch.nn.functional as F

n, c = 8, 5
q, t = torch.randn(n, c), torch.randn(n)
y, actions = torch.randint(0, c, (n,)), torch.randint(0, c, (n,))
Q, T = np.random.randn(n, c), np.random.randn(n)
Y, A = np.random.randint(0, c, n), np.random.randint(0, c, n)
part = {part}
result = {result}
"""
# (the part, what becomes of it)
REPORTED = {
    "an index that is kept": ("q.argmax(1, keepdim=True)", "(part == y).float().mean()"),
    "an index that is kept, counted": ("q.argmin(dim=-1, keepdim=True)", "(part == y).sum()"),
    "an index that is kept, not equal": ("torch.argmax(q, 1, keepdim=True)", "part.ne(y).sum().item()"),
    "an index of numpy": ("np.argmax(Q, axis=1, keepdims=True)", "np.mean(part == Y)"),
    "an index of numpy, a method": ("Q.argmax(axis=1, keepdims=True)", "(part == Y).mean()"),
    "an index of max": ("q.max(1, keepdim=True)[1]", "(part == y).float().mean()"),
    "an index of max, by name": ("q.max(1, keepdim=True).indices", "(part == y).float().mean()"),
    "an index of topk": ("q.topk(1, dim=1)[1]", "(part == y).float().mean()"),
    "a largest element": ("q.max(dim=1, keepdim=True)[0]", "((part - t) ** 2).mean()"),
    "a largest element, by name": ("q.max(1, keepdim=True).values", "(part - t).abs().sum()"),
    "a largest element, amax": ("q.amax(1, keepdim=True)", "(t - part).pow(2).mean()"),
    "a largest element of numpy": ("Q.max(axis=1, keepdims=True)", "np.mean((part - T) ** 2)"),
    "a sum": ("q.sum(1, keepdim=True)", "((part - t) ** 2).mean()"),
    "a mean of numpy": ("Q.mean(axis=1, keepdims=True)", "np.square(T - part).sum()"),
    "a norm": ("q.norm(dim=1, keepdim=True)", "((part - t) ** 2).mean()"),
    "a norm of numpy": ("np.linalg.norm(Q, axis=1, keepdims=True)", "np.abs(part - T).mean()"),
    "a logsumexp": ("torch.logsumexp(q, 1, keepdim=True)", "(part - t).square().mean()"),
    "a part with arithmetic": ("0.5 * q.pow(2).sum(1, keepdim=True)", "(part - t).abs().mean()"),
    "gathered": ("q.gather(1, actions.unsqueeze(1))", "((part - t) ** 2).mean()"),
    "gathered by a view": ("q.gather(1, actions.view(-1, 1))", "((t - part) ** 2).mean()"),
    "gathered by None": ("torch.gather(q, 1, actions[:, None])", "(part - t).abs().mean()"),
    "taken along": ("torch.take_along_dim(q, actions[:, None], 1)", "(part - t).abs().mean()"),
    "taken along, numpy": ("np.take_along_axis(Q, A[:, None], axis=1)", "np.mean((part - T) ** 2)"),
    "a loss": ("q.gather(1, actions.unsqueeze(1))", "F.smooth_l1_loss(part, t, reduction='none').mean()"),
    "a slice": ("q[:, :1]", "((part - t) ** 2).mean()"),
}
SILENT = {
    "mended": ("q.argmax(1)", "(part == y).float().mean()"),
    "both kept": ("q.max(1, keepdim=True)[0]", "((part - t[:, None]) ** 2).mean()"),
    "beside its own operand": ("q.max(1, keepdim=True)[0]", "((q - part) ** 2).mean()"),
    "a normalised tensor": ("q.norm(dim=1, keepdim=True)", "(q / part).sum()"),
    "read along an axis": ("q.amax(1, keepdim=True)", "(part - t).abs().argmin(0)"),
    "a table of distances": ("q.pow(2).sum(1, keepdim=True)", "(part + q.pow(2).sum(1) - 2 * q @ q.T).mean()"),
    "a mean of a sum": ("q.sum(1, keepdim=True)", "(part + q.pow(2).sum(1)).mean()"),
    "gathered and squeezed": ("q.gather(1, actions.unsqueeze(1)).squeeze(1)", "((part - t) ** 2).mean()"),
    "two lengths": ("q.max(1, keepdim=True)[0]", "(part - torch.zeros(3)).shape"),
}


def inlined(code: str) -> str:
    """The program with `part` written where it is used."""
    tree = ast.parse(code)
    parts = {s.targets[0].id: s for s in tree.body if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)}
    statement = parts["part"]

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(statement.value) if node.id == "part" else node

    tree.body.remove(statement)
    return ast.unparse(ast.fix_missing_locations(Replace().visit(tree)))


def both(case: tuple[str, str]) -> list[str]:
    named = HEAD.format(part=case[0], result=case[1])
    return [named, inlined(named)]


@pytest.mark.parametrize("at", [0, 1], ids=["named", "in one expression"])
@pytest.mark.parametrize("name", REPORTED)
def test_a_column_beside_a_vector(name: str, at: int) -> None:
    pytest.importorskip("torch")
    code = both(REPORTED[name])[at]
    assert [finding.code for finding in findings(code)] == ["TSR112"]
    values: dict[str, object] = {}
    exec(code, values)
    assert tuple(eval(REPORTED[name][0], values).shape) == (8, 1)


@pytest.mark.parametrize("at", [0, 1], ids=["named", "in one expression"])
@pytest.mark.parametrize("name", SILENT)
def test_what_is_meant(name: str, at: int) -> None:
    code = both(SILENT[name])[at]
    if name != "two lengths":
        pytest.importorskip("torch")
        exec(code, {})
    assert findings(code) == []


def operands_inlined(code: str) -> str | None:
    """A program of the two reductions with both written where they are used; None where one is bound anew."""
    tree = ast.parse(code)
    f = next(each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "f")
    values = {each.targets[0].id: each.value for each in f.body[:2] if isinstance(each, ast.Assign)}  # type: ignore[attr-defined]
    for statement in f.body[2:]:
        for part in ast.walk(statement):
            if isinstance(part, ast.Name) and part.id in values and isinstance(part.ctx, ast.Store):
                return None

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(values.get(node.id, node))

    f.body = [Replace().visit(each) for each in f.body[2:]]
    return ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize("name", ACCIDENTS)
def test_accidents_of_two_reductions_are_seen_in_one_expression(name: str) -> None:
    code = operands_inlined(ACCIDENTS[name])
    if code is None or name in ("a vector of labels", "kept by a function and multiplied"):
        pytest.skip("ones in the expression repeat the other operand" if code else "bound anew")
    assert [finding.code for finding in findings(code)] == [finding.code for finding in findings(ACCIDENTS[name])]


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_two_reductions_are_left_alone_in_one_expression(name: str) -> None:
    code = operands_inlined(TABLES[name])
    assert code is None or findings(code) == []


@pytest.mark.parametrize(
    "code",
    [
        "best = q.argmax(1)\npred = best.unsqueeze(1)\nresult = (pred == y).float().mean()",
        "best = q.argmax(1)\npred = best[:, None]\nresult = (pred == y).sum()",
        "best = q.argmax(1).cpu()\npred = best.view(-1, 1)\nresult = (pred == y).float().mean()",
    ],
)
def test_an_index_is_one_by_whatever_names_it_goes(code: str) -> None:
    head = HEAD.partition("part =")[0]
    assert [finding.code for finding in findings(head + code)] == ["TSR112"]
