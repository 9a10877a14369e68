"""Containers of layers that are made and filled in a branch or in a round of a loop: what they hold there is known, and what
is said of those that may be left as they were holds. Each program is run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

TOP = """\
import os
import torch
from torch import nn

flag, seeds = bool(eval("{flag}")), list(range(int(eval("3"))))
x = torch.rand(5, 4)


class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.linears = nn.ModuleList()
        for i in range(1, len(sizes)):
            self.linears.append(nn.Linear(sizes[i - 1], sizes[i]))

    def forward(self, x):
        for linear in self.linears[:-1]:
            x = torch.tanh(linear(x))
        return self.linears[-1](x)


def attempt(call):
    try:
        return call()
    except (RuntimeError, IndexError, NameError, ValueError):
        return None


"""
# Each gives `y` a known shape.
KNOWN = {
    "under a test": "if flag:\n    y = Net([4, 32, 1])(x)\n",
    "as a program": "if os.sep:\n    net = Net([4, 32, 1])\n    y = net(x)\n",
    "behind a test": "if not flag:\n    y = None\nelse:\n    net = Net([4, 32, 1])\n    y = net(x)\n",
    "of a test in a test": "if os.sep:\n    if flag:\n        y = Net([4, 32, 1])(x)\n",
    "in rounds": "for seed in seeds:\n    net = Net([4, 32, 1])\n    y = net(x)\n",
    "while": "count = 2\nwhile count > flag:\n    net = Net([4, 32, 1])\n    y = net(x)\n    count -= 1\n",
    "in rounds of a test": "if os.sep:\n    for seed in seeds:\n        y = Net([4, 32, 1])(x)\n",
    "a test in rounds": "for seed in seeds:\n    if flag:\n        y = Net([4, 32, 1])(x)\n",
    "at the top": "if os.sep:\n    m = nn.ModuleList()\n    m.append(nn.Linear(4, 1))\n    y = m[0](x)\n",
    "a sequence": "if os.sep:\n    m = nn.Sequential()\n    m.append(nn.Linear(4, 2))\n    m.add_module('b', nn.Linear(2, 1))\n    y = m(x)\n",
    "a dictionary": "if os.sep:\n    m = nn.ModuleDict()\n    m['a'] = nn.Linear(4, 1)\n    y = m['a'](x)\n",
    "of a function": "def make(n):\n    m = nn.Sequential()\n    for _ in range(2):\n        m.append(nn.Linear(4, 4))\n    return m\n\n\n"
    "if os.sep:\n    y = make(2)(x)[:, :1]\n",
}  # fmt: skip
# What is filled perhaps, or by whom is not known; `y` is whatever it gives.
UNSURE = {
    "only under the test": "m = nn.Sequential()\nif flag:\n    m.append(nn.Linear(4, 3))\ny = m(x)\n",
    "under a second test": "if os.sep:\n    m = nn.Sequential()\n    if flag:\n        m.append(nn.Linear(4, 3))\n    y = m(x)\n",
    "until a break": "for seed in seeds:\n    m = nn.Sequential()\n    m.append(nn.Linear(4, 3))\n    if flag:\n        break\n"
    "    m.append(nn.Linear(3, 2))\ny = m(x)\n",
    "until the next round": "for seed in seeds:\n    m = nn.Sequential()\n    m.append(nn.Linear(4, 3))\n    if flag:\n        continue\n"
    "    m.append(nn.Linear(3, 2))\ny = m(x)\n",
    "by rounds within": "for seed in seeds:\n    m = nn.Sequential()\n    for _ in seeds:\n        m.append(nn.Linear(4, 4))\n    y = m(x)\n",
    "in the next round": "kept, y = None, None\nfor seed in seeds:\n    if kept is not None:\n        kept.append(nn.Linear(3, 2))\n        y = kept(x)\n"
    "    kept = nn.Sequential()\n    kept.append(nn.Linear(4, 3))\n",
    "an attribute that either holds": "class Holder:\n    pass\n\n\nh = Holder()\nh.m = nn.Sequential()\nif flag:\n"
    "    h.m = nn.Sequential()\n    h.m.append(nn.Linear(4, 3))\ny = h.m(x)\n",
    "the other branch's": "class Holder:\n    pass\n\n\nh = Holder()\nh.m = nn.Sequential()\nif flag:\n    h.m = nn.Sequential()\nelse:\n"
    "    h.m.append(nn.Linear(4, 3))\ny = h.m(x)\n",
    "until an error": "def stop(flag):\n    if flag:\n        raise ValueError\n\n\nm = nn.Sequential()\ntry:\n    if os.sep:\n"
    "        m = nn.Sequential()\n        m.append(nn.Linear(4, 3))\n        stop(flag)\n        m.append(nn.Linear(3, 2))\nexcept ValueError:\n    pass\ny = m(x)\n",
    "until a return": "def make(flag, m):\n    if flag:\n        return m\n    m.append(nn.Linear(4, 3))\n    return m\n\n\n"
    "if os.sep:\n    m = nn.Sequential()\n    make(flag, m)\n    y = m(x)\n",
    "a part of another": "if os.sep:\n    inner = nn.Sequential()\n    m = nn.Sequential(inner)\n    if flag:\n        inner.append(nn.Linear(4, 3))\n    y = m(x)\n",
    "by a name for it": "if os.sep:\n    m = nn.Sequential()\n    again = m\n    if flag:\n        again.append(nn.Linear(4, 3))\n    y = m(x)\n",
    "by what is called": "if os.sep:\n    m = nn.Sequential()\n    add = lambda: m.append(nn.Linear(4, 3))\n    if flag:\n        add()\n    y = m(x)\n",
}  # fmt: skip


def shapes(source: str) -> dict[str, Any]:
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KNOWN)
def test_what_a_branch_makes_and_fills_is_known(name: str, tmp_path: Path) -> None:
    source = TOP.format(flag=1) + KNOWN[name]
    assert shapes(source)["y"] == (5, 1)
    assert wrong_claims(tmp_path / "program.py", source) == {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("flag", [0, 1])
@pytest.mark.parametrize("name", UNSURE)
def test_nothing_wrong_is_said_of_what_may_not_be_filled(name: str, flag: int, tmp_path: Path) -> None:
    assert wrong_claims(tmp_path / "program.py", TOP.format(flag=flag) + UNSURE[name]) == {}
