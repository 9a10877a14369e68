"""Fields of records that are made anew for each object: `field(default_factory=...)`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")

PROGRAM = """import torch
from dataclasses import dataclass, field
from torch import nn
SHARED = [6, 12, 1]
def make(): return [6, 12, 1]
@dataclass
class Config:
    name: str = "net"
    layers: list = field({options})
    rate: float = 0.1
{use}
v = torch.zeros(c.layers[0], c.layers[-1])
net = nn.Sequential(*[nn.Linear(a, b) for a, b in zip(c.layers[:-1], c.layers[1:])])
w = net(torch.zeros(8, c.layers[0]))
"""
KNOWN = [
    "default_factory=lambda: [6, 12, 1]",
    "default_factory=make",
    "default_factory=lambda: list((6, 12, 1))",
    "default_factory=lambda: [6, 12, 1], repr=False",
]
USES = [
    "c = Config()",
    "c = Config(name='a', rate=1.0)",
    "b = Config()\nb.layers.append(3)\nb.layers[0] = 5\nc = Config()",
    "c = Config(layers=[6, 12, 1])",
]
OTHER = [
    "c = Config()\nc.layers[-1] = 4", "c = Config()\nc.layers.append(4)", "c = Config()\nc.layers = [3, 2]", "c = Config(layers=[3, 5])",
    "c = Config()\nSHARED[0] = 9", "b = Config()\nb.layers[0] = 5\nc = Config()",
    "def change(o): o.layers.insert(0, 2)\nc = Config()\nchange(c)",
    "class More(Config):\n    def __post_init__(self): self.layers.append(2)\nc = More()",
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("options", KNOWN)
def test_what_a_factory_makes_is_known(options: str, use: str, tmp_path: Path) -> None:
    source = PROGRAM.format(options=options, use=use)
    assert wrong_claims(tmp_path / "record.py", source) == {}
    shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (shown["v"], shown["w"]) == ((6, 1), (8, 1))


@pytest.mark.parametrize("use", OTHER)
@pytest.mark.parametrize(
    "options", [*KNOWN, "default_factory=lambda: SHARED", "default_factory=lambda: SHARED, init=False"]
)
def test_nothing_is_claimed_of_it_that_was_changed(options: str, use: str, tmp_path: Path) -> None:
    if "init=False" in options and "layers=" in use:
        pytest.skip("takes no such argument")
    assert wrong_claims(tmp_path / "record.py", PROGRAM.format(options=options, use=use)) == {}
