"""Modules that a launcher prepares and gives back, and those that torch.load gives."""

from __future__ import annotations

import pytest

from tensorlint.checking import Selection, findings_of
from tensorlint.rules.registry import load
from tensorlint.source import PythonSource

TOP = """\
import deepspeed
import torch
from accelerate import Accelerator
from lightning.fabric import Fabric
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)


"""
MODULES = {
    "prepared beside others": "def f(loader, x):\n    accelerator = Accelerator()\n    model = Net()\n    optimizer = torch.optim.Adam(model.parameters())\n"
    "    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n    return model.forward(x)\n",
    "prepared alone": "def f(x):\n    a = Accelerator()\n    net = a.prepare(Net())\n    return net.forward(x)\n",
    "by a launcher that is handed in": "def f(accelerator, x):\n    net = accelerator.prepare_model(Net())\n    return net.forward(x)\n",
    "by Fabric": "def f(x):\n    fabric = Fabric()\n    net, optimizer = fabric.setup(Net(), None)\n    return net.forward(x)\n",
    "by DeepSpeed": "def f(x, config):\n    engine, optimizer, _, _ = deepspeed.initialize(model=Net(), config=config)\n    return engine.forward(x)\n",
    "loaded": "def f(path, x):\n    model = torch.load(path)\n    model.eval()\n    return model.forward(x)\n",
    "loaded and moved": "def f(path, x):\n    model = torch.load(path, map_location='cpu').to('cuda').eval()\n    return model.forward(x)\n",
}
OTHERS = {
    "a loader": "def f(loader, x):\n    accelerator = Accelerator()\n    loader, net = accelerator.prepare(loader, Net())\n    return loader.forward(x)\n",
    "not known to be a module": "def f(accelerator, thing, x):\n    thing, net = accelerator.prepare(thing, Net())\n    return thing.forward(x)\n",
    "another place": "def f(x, config):\n    net, engine, _, _ = deepspeed.initialize(model=Net(), config=config)\n    return engine.forward(x)\n",
    "prepared by something else": "def f(kitchen, x):\n    meal = kitchen.prepare(Net())\n    return meal.forward(x)\n",
    "loaded, of which nobody knows what it is": "def f(path, x):\n    thing = torch.load(path)\n    return thing.forward(x)\n",
    "one of two": "def f(path, robot, x):\n    thing = torch.load(path) if path else robot\n    thing.eval()\n    return thing.forward(x)\n",
}  # fmt: skip


def reported(code: str) -> int:
    found = findings_of(PythonSource("case.py", code), load(), Selection(frozenset(["TSR301"])), None)[0]
    return len(found)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_was_given_back(name: str) -> None:
    assert reported(TOP + MODULES[name]) == 1


@pytest.mark.parametrize("name", OTHERS)
def test_what_may_be_no_module(name: str) -> None:
    assert reported(TOP + OTHERS[name]) == 0
