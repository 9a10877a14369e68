"""Lists that an object or a dictionary holds and that are filled side by side: how many items they have nobody knows, but the
one has as many as the other, and a column made of the one beside a row made of the other is a mistake."""

from __future__ import annotations

import pytest
from rule_programs import findings, run

TOP = """\
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Linear(3, 1)


class Agent:
    def __init__(self):
        self.states, self.values, self.rewards = [], [], []

    def act(self):
        state = torch.randn(1, 3)
        self.states.append(state)
        self.values.append(critic(state))
        self.rewards.append(1.0)

    def loss(self):
        rewards = torch.tensor(self.rewards)
        {values}
        d = {d}
        return d, {reduced}


agent = Agent()
for _ in range(9):
    agent.act()
d, e = agent.loss()
"""
WRONG = {
    "concatenated": ("values = torch.cat(self.values)", "rewards - values"),
    "stacked": ("values = torch.stack(self.values)[:, 0]", "rewards - values"),
    "of the states": ("values = critic(torch.cat(self.states))", "values - rewards"),
    "in steps": ("values = critic(torch.cat(self.states))", "rewards - 0.9 * values.roll(-1, 0).detach()"),
    "without grad": ("values = torch.cat(self.values).detach()", "values - rewards"),
}
RIGHT = {
    "flat": ("values = torch.cat(self.values).squeeze(-1)", "rewards - values"),
    "columns": ("values = torch.cat(self.values)", "rewards[:, None] - values"),
    "stacked flat": ("values = torch.stack(self.values)[:, 0, 0]", "rewards - values"),
    "of the states, flat": ("values = critic(torch.cat(self.states)).flatten()", "values - rewards"),
}
TABLE = """\
import torch

queries, keys = [], []
for _ in range(9):
    queries.append(torch.rand(1, 1))
    keys.append(0.5)
q, k = torch.cat(queries), torch.tensor(keys)
nearest = (q - k).abs().argmin(dim=1)
"""


@pytest.mark.parametrize("name", WRONG)
def test_a_column_beside_a_row_is_reported(name: str) -> None:
    values, d = WRONG[name]
    code = TOP.format(values=values, d=d, reduced="d.pow(2).mean()")
    (found,) = findings(code)
    assert found.code == "TSR112"
    assert "all of it is reduced to one number" in found.message
    assert run(code, "torch")["d"].shape == (9, 9)


@pytest.mark.parametrize("name", RIGHT)
def test_what_lines_up_is_left_alone(name: str) -> None:
    values, d = RIGHT[name]
    code = TOP.format(values=values, d=d, reduced="d.pow(2).mean()")
    assert findings(code) == []
    assert run(code, "torch")["d"].numel() == 9


def test_a_table_of_each_with_each_is_left_alone() -> None:
    assert findings(TABLE) == []
    run(TABLE, "torch")


def test_lists_of_a_dictionary_are_related() -> None:
    code = (
        'import torch\nmemory = {"x": [], "r": []}\nfor _ in range(9):\n    memory["x"].append(torch.randn(3))\n    memory["r"].append(1.0)\n'
        'x, r = torch.stack(memory["x"]), torch.tensor(memory["r"])\nv = torch.nn.Linear(3, 1)(x)\nd = r + 0.9 * v.roll(-1, 0).detach()\n'
        "e = (d - 1).pow(2).mean()\n"
    )
    (found,) = findings(code)
    assert found.code == "TSR112"
    assert run(code, "torch")["d"].shape == (9, 9)
    assert findings(code.replace("v.roll(-1, 0)", "v.roll(-1, 0)[:, 0]")) == []
