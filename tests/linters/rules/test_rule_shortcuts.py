"""`check` leaves out what no finding can come from: it finds what an analysis of every function does, on scripts that train."""

from __future__ import annotations

import ast
import random
import textwrap

import pytest

from tensorlint.inference.analysis import analyse

_HEAD = """
import numpy as np
import torch
import torch.nn.functional as F
from functools import partial
from operator import sub
from typing import NamedTuple
from torch import nn, randn, subtract, zeros
from torch.nn import Linear, MSELoss, Sequential
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader, TensorDataset

def difference(a, b):
    return a - b

def make(n):
    return torch.randn(n, 10), torch.randn(n)

def log(*given):
    print(*given)

def pick(given, message="picked"):
    log(message)
    return given

def apply(function, *given):
    return function(*given)

class Batch(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor

class Pair:
    def __init__(self, x, y):
        self.x, self.y = pick(x), y

    @property
    def target(self):
        return self.y
"""
_OBJECT = """
class Loss(nn.Module):
    def forward(self, a, b):
        return ((a - b) ** 2).mean()
"""
_DATA = ["X = torch.randn(100, 10)\nY = torch.randn(100)", "X, Y = randn(100, 10), zeros(100)", "X, Y = make(100)"]
_NETS = [
    "nn.Linear(10, 1)",
    "nn.Sequential(nn.Linear(10, 4), nn.ReLU(), nn.Linear(4, 1))",
    "Linear(10, 1)",
    "Sequential(Linear(10, 1))",
]
_CRITERIA = [
    "nn.MSELoss()", "MSELoss()", "mse_loss", "F.mse_loss", "sub", "subtract", "torch.sub", "difference",
    "partial(mse_loss, reduction='sum')", "lambda a, b: a - b", "Loss()",
]  # fmt: skip
_STEPS = [
    "loss = CRIT(NET(x), y)",
    "out = NET(x)\nloss = CRIT(out, y)",
    "total = 0.0\ntotal += CRIT(NET(x), y)",
    "print(CRIT(NET(x), y))",
    "losses = [CRIT(NET(a), b) for a, b in [(x, y)]]",
    "pair = NET(x), y\nloss = CRIT(*pair)",
    "loss = COMPUTE(NET(x), y)",
    "STEP(x, y)",
    # through functions and objects that compute nothing
    "log(CRIT(NET(x), y))",
    "loss = CRIT(pick(NET(x), 'of the net'), pick(y))",
    "loss = CRIT(pick(NET)(x), y)",
    "loss = pick(CRIT)(NET(x), y)",
    "both = pick((NET(x), y))\nloss = CRIT(*both)",
    "batch = pick(Batch(x, y), 'batch')\nloss = CRIT(NET(batch.x), batch.y)",
    "pair = Pair(NET(x), y)\nloss = CRIT(pair.x, pair.target)",
    "loss = apply(CRIT, NET(x), y)",
    "loss = apply(pick(COMPUTE), NET(x), y)",
]
_OF_FUNCTIONS = """
def compute(a, b):
    return crit(a, b)

def step(x, y):
    return crit(net(x), y)
"""


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")


def _named(step: str, owner: str) -> str:
    for word in ("CRIT", "NET", "COMPUTE", "STEP"):
        step = step.replace(word, owner + word.lower())
    return step


def a_script(draw: random.Random) -> str:
    """A column that a net makes beside targets that are a row, in one of the ways in which scripts are written."""
    data, net, criterion, step = (draw.choice(each) for each in (_DATA, _NETS, _CRITERIA, _STEPS))
    made = f"net = {net}\ncrit = {criterion}"
    pairs = "[(X, Y)]"
    if draw.random() < 0.5:
        data += "\nloader = DataLoader(TensorDataset(X, Y), batch_size=10)"
        pairs = "loader"
    loop = f"for x, y in {pairs}:\n" + _indented(_named(step, ""))
    style = draw.choice(["module", "function", "main", "class", "closure"])
    if style == "class":
        methods = _OF_FUNCTIONS.replace("(a, b):", "(self, a, b):").replace("(x, y):", "(self, x, y):")
        methods = methods.replace("crit(", "self.crit(").replace("net(", "self.net(")
        first = "def __init__(self):\n" + _indented("\n".join(f"self.{line}" for line in made.split("\n")))
        fit = f"def fit(self):\n    for x, y in {pairs}:\n" + _indented(_indented(_named(step, "self.")))
        parts = [data, f"class Trainer:\n{_indented(first)}\n{_indented(methods)}\n{_indented(fit)}"]
        runs = ["Trainer().fit()", "trainer = Trainer()\ntrainer.fit()", ""]
    elif style == "module":
        parts, runs = [data, made, _OF_FUNCTIONS, loop], [""]
    elif style == "function":
        parts = [data, made, _OF_FUNCTIONS, "def train():\n" + _indented(loop)]
        runs = [
            "train()",
            "for epoch in range(3):\n    train()",
            "if __name__ == '__main__':\n    train()",
            "run = train",
            "",
        ]
    elif style == "main":
        inner = f"{data}\n{made}\n{_OF_FUNCTIONS}\n{loop}"
        parts, runs = ["def main():\n" + _indented(inner)], ["main()", ""]
    else:
        inner = f"{data}\n{made}\n{_OF_FUNCTIONS}\ndef go():\n{_indented(loop)}\n\ngo()"
        parts, runs = ["def outer():\n" + _indented(inner)], ["outer()", ""]
    head = [_HEAD, _OBJECT] if criterion == "Loss()" or draw.random() < 0.3 else [_HEAD]
    return "\n\n".join([*head, *parts, draw.choice(runs)]) + "\n"


def found(script: str, shapes: bool) -> set[tuple[str, int]]:
    hazards = analyse(ast.parse(script), script, shapes=shapes).hazards
    return {(type(each).__name__, each.node.lineno) for each in hazards}  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_left_out_that_a_finding_comes_from(seed: int) -> None:
    draw = random.Random(seed)
    telling = 0
    for _ in range(25):
        script = a_script(draw)
        everything = found(script, shapes=True)
        assert found(script, shapes=False) == everything, script
        telling += bool(everything)
    assert telling > 15
