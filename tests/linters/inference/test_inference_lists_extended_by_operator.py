"""`rows += [row]`, which is `rows.append(row)`, wherever it stands: running says what is there."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch and numpy are the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """
import numpy as np
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x): return self.fc(x)
class Box:
    def __init__(self, rows): self.rows = rows
def more(n): return [torch.zeros(n, 2)]
def each(n):
    for k in range(n): yield torch.zeros(k, 2)
loader = [(torch.zeros(4, 2), torch.zeros(4)), (torch.zeros(3, 2), torch.zeros(3))]
"""
MADE = (
    "rows = []",
    "rows = [torch.zeros(1, 2)]",
    "first = rows = []",
    "rows = []\nbox = Box(rows)",
    "rows = list(more(1))",
)
ADDED = {
    "one": "rows += [torch.zeros({n}, 2)]",
    "two": "rows += [torch.zeros({n}, 2), torch.zeros({n}, 2)]",
    "a tuple": "rows += torch.zeros({n}, 2), torch.zeros(3, 2)",
    "none or one": "rows += [torch.zeros({n}, 2)] if k > 2 else []",
    "of a comprehension": "rows += [torch.zeros(j, 2) for j in range({n})]",
    "what a function gives": "rows += more({n})",
    "what a generator gives": "rows += each({n})",
    "of itself": "rows += [torch.zeros({n}, 2), *rows[:1]]",
    "what itself gives": "rows += [torch.zeros({n}, 2), rows.pop()] if rows else [torch.zeros(1, 2)]",
    "the rows of an array": "rows += list(torch.zeros({n}, 1, 2))",
    "repeated": "rows += [torch.zeros({n}, 2)] * {n}",
    "of another kind": "rows += [torch.zeros({n}, 2)]\n    rows += [torch.zeros(5, 2)[:{n}]]",
    "and removed": "rows += [torch.zeros({n}, 2)]\n    rows = rows[-2:]",
    "and kept": "rows += [torch.zeros({n}, 2)]\n    kept = rows\n    kept += [torch.zeros(7, 2)]",
}
LOOPS = {
    "straight": "if True:\n    {add}\n",
    "for": "for k in range(1, 5):\n    {add}\n",
    "for with a way out": "for k in range(1, 5):\n    {add}\n    if k == 3: break\n    seen = len(rows)\n",
    "while": "k = 1\nwhile k < 4:\n    {add}\n    k += 1\n",
    "nested": "for j in range(2):\n  for k in range(1, 4):\n    {add}\n",
    "that reads it": "for k in range(1, 5):\n    {add}\n    last = rows[-1:]\n    all_ = torch.cat([r.reshape(-1) for r in [torch.ones(2), *rows]])\n    n = len(rows)\n",
    "of batches": "for x, y in loader:\n    k = len(x)\n    {add}\n",
}
READ = """
n = len(rows)
a = torch.zeros(n)
b = rows[-1]
c = torch.cat([r.reshape(-1, 2) for r in rows])
d = rows[0]
for r in rows:
    e = r
"""


@pytest.mark.parametrize(("made", "loop"), list(itertools.product(MADE, LOOPS)))
def test_nothing_wrong_is_said_of_a_list_that_an_operator_extends(made: str, loop: str, tmp_path: Path) -> None:
    for at, (added, n) in enumerate(itertools.product(ADDED, ("2", "k"))):
        add = ADDED[added].format(n=n)
        source = f"{HEAD}k = 3\n{made}\n" + LOOPS[loop].replace("{add}", add) + READ
        assert not wrong_claims(tmp_path / f"program_{at}.py", source), source
        function = f"{HEAD}def run(k):\n" + "".join(
            f"    {line}\n" for line in f"{made}\n{LOOPS[loop].replace('{add}', add)}{READ}".splitlines()
        )
        assert not wrong_claims(tmp_path / f"function_{at}.py", f"{function}    return a, b, c\nrun(3)\n"), function


def _rows(source: str) -> dict[str, str]:
    found = analyse(ast.parse(source), source).bindings
    return {each.name: str(each.shape) for each in found if each.name.startswith("out")}


@pytest.mark.parametrize("item", ["torch.zeros(3, 2)", "Block(5)", "torch.zeros(n, 2)", "np.zeros(3)", "len(x)"])
def test_it_is_known_what_append_would_tell(item: str) -> None:
    use = {
        "Block(5)": "out = nn.Sequential(*rows)(torch.zeros(4, 5))",
        "len(x)": "out = torch.tensor(rows)",
        "np.zeros(3)": "out = np.stack(rows)",
    }
    source = f"""{HEAD}
def f(batches, n):
    rows = []
    others = []
    for x in batches:
        ADD
        others.append(len(x))
    {use.get(item, "out = torch.cat(rows)")}
    out_2 = torch.tensor(others)
    return out
"""
    said = _rows(source.replace("ADD", f"rows += [{item}]"))
    assert said == _rows(source.replace("ADD", f"rows.append({item})"))
    assert "None" not in said["out"]


def test_lists_that_one_loop_fills_are_of_one_length() -> None:
    source = """
import torch
def f(loader, model):
    outs, ys = [], []
    for x, y in loader:
        outs += [model(x)[:, 0]]
        ys += [y[:, 0]]
    out_0 = torch.zeros(len(outs))
    out_1 = torch.zeros(len(ys))
    return out_0, out_1
"""
    said = _rows(source)
    assert said["out_1"] == "('out_0.shape[0]',)"
