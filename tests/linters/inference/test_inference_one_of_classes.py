"""One of several classes of modules, or of several modules, chosen by a name that nobody knows: what each of them gives."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")

HEAD = """import os
import torch
from torch import nn

class Wide(nn.Module):
    def __init__(self, d=3):
        super().__init__()
        self.fc = nn.Linear(d, 2)
    def forward(self, x):
        return self.fc(x)

class Deep(nn.Module):
    def __init__(self, d=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 4), nn.ReLU(), nn.Linear(4, 2))
    def forward(self, x):
        return self.net(x)

class Other(nn.Module):
    def __init__(self, d=3):
        super().__init__()
        self.fc = nn.Linear(d, 7)
    def forward(self, x):
        return self.fc(x)

MODELS = {"wide": Wide, "deep": Deep}
LOSSES = {"mse": nn.MSELoss, "l1": nn.L1Loss, "huber": nn.SmoothL1Loss}
ACTS = {"relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh, "silu": nn.SiLU, "elu": nn.ELU, "leaky": nn.LeakyReLU, "mish": nn.Mish}
name = os.environ.get("NO_SUCH_NAME_IS_SET", "{name}")
words = dict(d=3)
x = torch.rand(5, 3)
"""
KNOWN: dict[str, tuple[str, str, tuple[int | str | None, ...]]] = {
    "of the program's own": ("wide", "y = MODELS[name]()(x)", (5, 2)),
    "of the program's own, with arguments": ("deep", "y = MODELS[name](d=3)(x)", (5, 2)),
    "of the program's own, with words": ("deep", "y = MODELS[name](**words)(x)", (5, 2)),
    "by a name for the class": ("deep", "cls = MODELS[name]\ny = cls()(x)", (5, 2)),
    "by a condition": ("wide", "cls = Wide if name == 'wide' else Deep\ny = cls(3)(x)", (5, 2)),
    "by branches": ("wide", "if name == 'wide':\n    cls = Wide\nelse:\n    cls = Deep\ny = cls(3)(x)", (5, 2)),
    "losses": ("l1", "y = LOSSES[name]()(x, x)", ()),
    "losses of a function": ("l1", "def make(name):\n    return LOSSES[name](reduction='none')\nloss = make(name)\ny = loss(x, x)", (5, 3)),
    "activations": ("mish", "y = ACTS[name]()(x)", (5, 3)),
    "activations in a row of layers": ("mish", "net = nn.Sequential(nn.Linear(3, 4), ACTS[name](), nn.Linear(4, 1))\ny = net(x)", (5, 1)),
    "modules": ("deep", "y = {'wide': Wide(), 'deep': Deep()}[name](x)", (5, 2)),
    "tensors": ("b", "y = {'a': torch.rand(4, 1), 'b': torch.rand(6, 1)}[name]", ("?", 1)),
    "tensors of one shape": ("b", "y = {'a': torch.rand(4, 1), 'b': torch.rand(4, 1)}[name]", (4, 1)),
}  # fmt: skip


def rows(source: str) -> dict[str, Any]:
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


@pytest.mark.parametrize("case", KNOWN)
def test_what_all_of_them_give(case: str, tmp_path: Path) -> None:
    name, lines, shape = KNOWN[case]
    source = HEAD.replace("{name}", name) + lines + "\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}
    assert rows(source)["y"] == shape


UNKNOWN = {
    "another width": ("other", "y = {'wide': Wide, 'other': Other}[name]()(x)"),
    "another class put in": ("wide", "MODELS['wide'] = Other\ny = MODELS[name]()(x)"),
    "another class put in by any name": ("wide", "MODELS[name] = Other\ny = MODELS[name]()(x)"),
    "another class put in by a function": (
        "new",
        "def register(name):\n    def keep(cls):\n        MODELS[name] = cls\n        return cls\n    return keep\nregister('new')(Other)\ny = MODELS[name]()(x)",
    ),
    "no module among them": ("b", "y = {'a': nn.ReLU, 'b': lambda: torch.sum}[name]()(x)"),
    "what an initialiser changes": (
        "deep",
        "rows = [x]\nclass A(Wide):\n    def __init__(self):\n        super().__init__()\n        rows[0] = torch.rand(8, 3)\n"
        "net = {'wide': Wide, 'deep': A}[name]()\ny = rows[0] * 2",
    ),
    "what a forward changes": (
        "deep",
        "class A(Wide):\n    def forward(self, x):\n        self.seen = x[:2]\n        return self.fc(x)\n"
        "class B(Wide):\n    seen = torch.rand(1, 1)\n    def forward(self, x):\n        self.seen = x\n        return self.fc(x)\n"
        "net = {'wide': A, 'deep': B}[name]()\nout = net(x)\ny = net.seen * 2",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_one_of_them_may_change(case: str, tmp_path: Path) -> None:
    name, lines = UNKNOWN[case]
    assert wrong_claims(tmp_path / "program.py", HEAD.replace("{name}", name) + lines + "\n") == {}
