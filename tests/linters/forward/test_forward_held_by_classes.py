"""Modules that a class body holds, or a class of which it names: `encoder_class = Encoder`."""

from __future__ import annotations

import ast
from typing import Any

import pytest

pytest.importorskip("torch", reason="the programs are run")

from tensorlint.checking import Selection, findings_of
from tensorlint.inference.analysis import analyse
from tensorlint.rules.registry import load
from tensorlint.source import PythonSource

TOP = """\
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, wide=2):
        super().__init__()
        self.fc = nn.Linear(3, wide)

    def forward(self, x):
        return self.fc(x)


class Plain:
    def forward(self, x):
        return x


"""
USE = """

x = torch.rand(5, 3)
y = Model().embed(x)
"""
FAULTS = {
    "made by the initialiser": "class Model:\n    encoder_class = Encoder\n\n    def __init__(self):\n        self.encoder = self.encoder_class().eval()\n\n"
    "    def embed(self, x):\n        return self.encoder.forward(x)\n",
    "made where it is called": "class Model:\n    encoder_class = Encoder\n\n    def embed(self, x):\n        encoder = self.encoder_class(2)\n"
    "        return encoder.forward(x)\n",
    "of the base": "class Base:\n    encoder_class = Encoder\n\n    def __init__(self):\n        self.encoder = self.encoder_class()\n\n\nclass Model(Base):\n"
    "    def embed(self, x):\n        return self.encoder.forward(x)\n",
    "chosen by a subclass": "class Base:\n    encoder_class = None\n\n    def __init__(self):\n        self.encoder = self.encoder_class()\n\n\n"
    "class Model(Base):\n    encoder_class = Encoder\n\n    def embed(self, x):\n        return self.encoder.forward(x)\n",
    "a layer's class": "class Model:\n    layer_class = nn.Linear\n\n    def embed(self, x):\n        return self.layer_class(3, 2).forward(x)\n",
    "made by the body": "class Model:\n    encoder = Encoder()\n\n    def embed(self, x):\n        return self.encoder.forward(x)\n",
}
RIGHT = {
    "no module": "class Model:\n    encoder_class = Plain\n\n    def embed(self, x):\n        return self.encoder_class().forward(x)\n",
    "another in a subclass": "class Base:\n    encoder_class = Encoder\n\n    def __init__(self):\n        self.encoder = self.encoder_class()\n\n"
    "    def embed(self, x):\n        return self.encoder.forward(x)\n\n\nclass Model(Base):\n    encoder_class = Plain\n",
    "called": "class Model:\n    encoder_class = Encoder\n\n    def embed(self, x):\n        return self.encoder_class()(x)\n",
}
SHAPES = {
    "self.encoder_class()(x)": (5, 2),
    "self.encoder_class(7)(x)": (5, 7),
    "self.layer_class(3, 4)(x)": (5, 4),
    "self.encoder(x)": (5, 2),
    "self.loss(x, x)": (5, 3),
}


def reported(code: str) -> list[str]:
    return [
        each.code
        for each in findings_of(PythonSource("case.py", code), load(), Selection(frozenset({"TSR301"})), None)[0]
    ]


@pytest.mark.parametrize("name", FAULTS)
def test_the_forward_of_what_a_class_body_names_is_reported(name: str) -> None:
    code = TOP + FAULTS[name] + USE
    assert reported(code) == ["TSR301"]
    exec(code, {"__name__": "case"})


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_called_or_is_no_module_is_not(name: str) -> None:
    code = TOP + RIGHT[name] + USE
    assert reported(code) == []
    exec(code, {"__name__": "case"})


@pytest.mark.parametrize("given", SHAPES)
def test_what_it_gives_is_known(given: str) -> None:
    code = (
        TOP + "class Model:\n    encoder_class = Encoder\n    layer_class = nn.Linear\n    encoder = Encoder()\n"
        f"    loss = nn.MSELoss(reduction='none')\n\n    def embed(self, x):\n        return {given}\n" + USE
    )
    scope: dict[str, Any] = {"__name__": "case"}
    exec(code, scope)
    (y,) = (row for row in analyse(ast.parse(code), code).bindings if row.name == "y")
    assert y.shape == tuple(scope["y"].shape) == SHAPES[given]
