"""A network that a function of another file makes: its last layer is known though nobody knows the width it is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorlint.checking import Selection, findings_of
from tensorlint.project import Project
from tensorlint.rules.registry import load
from tensorlint.source import PythonSource

NETS = """
from torch import nn


def make_net(width, hidden=16, out=1):
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, out))


def stacked(sizes):
    layers = []
    for one, other in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(one, other), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 1))


def by_a_name(width):
    net = nn.Sequential(nn.Linear(width, 4), nn.Linear(4, 1))
    net.train()
    return net


def within(width):
    return nn.Sequential(make_net(width, out=8), nn.Linear(8, 1))
"""
HEAD = "import torch\n\nfrom {module} import make_net, stacked, by_a_name, within\n\n\n"
BODY = "    x, y = torch.randn(n, 8), torch.randn((n,))\n    return ((net(x) - y) ** 2).mean()\n"
ACCIDENTS = {
    "an argument": "def train(width, n: int):\n    net = make_net(width)\n",
    "a setting": "def train(config, n: int):\n    net = make_net(config.width, config.hidden)\n",
    "a keyword": "def train(width, n: int):\n    net = make_net(width, hidden=width, out=1)\n",
    "a size": "def train(width, n: int):\n    net = make_net(torch.zeros(width).numel())\n",
    "a list": "def train(width, n: int):\n    net = stacked([width, 4])\n",
    "by a name": "def train(width, n: int):\n    net = by_a_name(width)\n",
    "within": "def train(width, n: int):\n    net = within(width)\n",
    "moved": "def train(width, n: int):\n    net = make_net(width).to('cpu')\n",
    "held": "class Trainer:\n    def __init__(self, width):\n        self.net = make_net(width)\n\n"
    "    def train(self, n: int):\n    ",
}
MEANT = {
    "another number": ("def train(width, n: int):\n    net = make_net(width, out=n)\n", ""),
    "squeezed": ("def train(width, n: int):\n    net = make_net(width)\n", ".squeeze(-1)"),
    "an unknown number": ("def train(width, n: int, out):\n    net = make_net(width, out=out)\n", ""),
}


def project(folder: Path, program: str) -> list[str]:
    (folder / "lib").mkdir()
    (folder / "lib" / "__init__.py").write_text("")
    (folder / "lib" / "nets.py").write_text(NETS)
    (folder / "lib" / "train.py").write_text(program)
    source = PythonSource(str(folder / "lib" / "train.py"), program)
    found = findings_of(source, load(), Selection(frozenset({"TSR111", "TSR112"})), Project())[0]
    return [finding.message for finding in found]


@pytest.mark.parametrize("module", ["lib.nets", ".nets"])
@pytest.mark.parametrize("name", ACCIDENTS)
def test_a_column_of_a_network_made_elsewhere(name: str, module: str, tmp_path: Path) -> None:
    code = ACCIDENTS[name]
    body = BODY.replace("    ", "        ").replace("net(", "self.net(") if name == "held" else BODY
    found = project(tmp_path, HEAD.format(module=module) + (code.rstrip(" ") if name == "held" else code) + body)
    assert len(found) == 1
    assert "(n, 1) and y (n,) became (n, n)" in found[0]


@pytest.mark.parametrize("name", MEANT)
def test_a_network_that_gives_something_else(name: str, tmp_path: Path) -> None:
    code, behind = MEANT[name]
    found = project(tmp_path, HEAD.format(module="lib.nets") + code + BODY.replace("net(x)", f"net(x){behind}"))
    assert found == []
