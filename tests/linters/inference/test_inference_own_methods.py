"""Objects whose `__getitem__`, `__len__` and the like call other methods of theirs: what they hold stays known, unless one changes it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")

PROGRAM = """import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset
class Part:
    def __init__(self):
        self.rows = [torch.zeros(2, 3)]
    def grow(self):
        self.rows[0] = torch.zeros(7)
        return 0
    def get(self, at):
        self.rows[0] = torch.zeros(7)
        return 0
class Rows({base}):
    def __init__(self):
        {init}
        self.rows = [torch.zeros(2, 3)]
        self.part = Part()
        self.layer = nn.Linear(3, 2)
    def load(self, at):
        {load}
    def __getitem__(self, at):
        {body}
    def __len__(self):
        return self.size()
    def size(self):
        return len(self.rows)
r = Rows()
first = r.rows[0] + 0
{use}
v = r.rows[0] + 0
w = r.part.rows[0] + 0
x = r.layer(torch.zeros(1, 3, dtype=r.layer.weight.dtype))
"""
BASES = {
    "none": ("object", "pass"),
    "a data set": ("Dataset", "pass"),
    "a list": ("list", "super().__init__()"),
    "a layer": ("nn.Module", "super().__init__()"),
}
ASKING = [
    ("return self.rows[at]", "return self.load(at)"),
    ("return self.rows[at].t()", "return self.load(at) + 1"),
    ("return at", "return self.rows[self.load(at)]"),
    ("rows = self.rows\n        return rows[at].reshape(-1)", "return self.load(at).float()"),
]
CHANGING = [
    ("self.rows[0] = torch.zeros(5)\n        return at", "return self.load(at)"),
    ("return self.part.grow()", "return self.load(at)"),
    ("return self.part.get(at)", "return self.load(at)"),
    ("part = self.part\n        return part.grow()", "return self.load(at)"),
    ("me = self\n        me.rows[0] = torch.zeros(5)\n        return at", "return self.load(at)"),
    ("change(self)\n        return at", "return self.load(at)"),
    ("change_rows(self.rows)\n        return at", "return self.load(at)"),
    ("self.rows.insert(0, torch.zeros(5))\n        return at", "return self.load(at)"),
    ("self.layer.half()\n        self.rows[0] = torch.zeros(5)\n        return at", "return self.load(at)"),
    ("return at", "self.load(at)\n        self.rows = [torch.zeros(5)]\n        return at"),
    ("return (lambda rows: rows.__setitem__(0, torch.zeros(5)))(self.rows)", "return self.load(at)"),
]
USES = ["y = r[0]", "z = [r[0]]", "s = 0\nfor at in range(len(r)):\n    s = r[at]", "y = (r[0], r[0])[1]"]
CHANGERS = "def change(o):\n    o.rows[0] = torch.zeros(5)\ndef change_rows(rows):\n    rows[0] = torch.zeros(5)\n"


def program(base: str, load: str, body: str, use: str) -> str:
    name, init = BASES[base]
    text = PROGRAM.format(base=name, init=init, load=load, body=body, use=use)
    return text.replace("class Part:", f"{CHANGERS}class Part:", 1)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("base", BASES)
def test_what_the_methods_change_is_changed(base: str, use: str, tmp_path: Path) -> None:
    wrong = {}
    for load, body in CHANGING + ASKING:
        found = wrong_claims(tmp_path / "rows.py", program(base, load, body, use))
        if found:
            wrong[load, body] = found
    assert wrong == {}


@pytest.mark.parametrize("use", ["y = r[0]", "z = [r[0]]", "n = len(r)"])
@pytest.mark.parametrize("base", ["none", "a data set"])
@pytest.mark.parametrize(("load", "body"), ASKING[:3])
def test_what_they_only_ask_for_stays_known(base: str, load: str, body: str, use: str) -> None:
    source = program(base, load, body, use)
    shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert shown["v"] == (2, 3)


def test_the_items_of_a_data_set_are_known(tmp_path: Path) -> None:
    source = (
        "import numpy as np\nimport torch\nfrom torch.utils.data import Dataset\n\n\nclass Scans(Dataset):\n"
        "    def __init__(self, n=3, depth=10):\n"
        "        self.cases = [[np.random.rand(32, 16).astype(np.float32) for _ in range(depth)] for _ in range(n)]\n"
        "    def __len__(self):\n        return len(self.cases)\n"
        "    def load(self, at):\n        return np.stack(self.cases[at], axis=-1)\n"
        "    def __getitem__(self, at):\n        volume = torch.from_numpy(self.load(at))\n        return volume.permute(2, 0, 1)\n\n\n"
        "x = Scans()[1]\n"
    )
    assert wrong_claims(tmp_path / "scans.py", source) == {}
    assert {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}["x"] == (10, 32, 16)
