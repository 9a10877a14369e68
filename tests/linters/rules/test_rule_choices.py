"""Rows and columns among what is chosen from, and the names that a message gives them; a layer's refusal is said once."""

from __future__ import annotations

import pytest
from rule_programs import findings, run

TOP = "import numpy as np\nimport torch\nfrom torch import nn\n\n"
VECTORS = "a, b, row, column = torch.rand(10), torch.rand(10, 1), torch.rand(10) > 0.5, torch.rand(10, 1) > 0.5\n"
ARRAYS = "p, y = np.random.rand(10), np.random.rand(10, 1)\n"
CHOICES = {
    "r = a.where(row, b)": ("a (10,)", "b (10, 1)"),
    "r = a.where(column, 2 * a)": ("a (10,)", "column (10, 1)"),
    "r = b.where(row, 2 * b)": ("b (10, 1)", "row (10,)"),
    "r = b.where(column, a)": ("b (10, 1)", "a (10,)"),
    "r = a.where(column, 0.0)": ("a (10,)", "column (10, 1)"),
    "r = torch.where(column, a, 2 * a)": ("column (10, 1)", "a (10,)"),
    "r = torch.where(row, a, b)": ("a (10,)", "b (10, 1)"),
    "r = np.select([y > 0.5], [p])": ("y > 0.5 (10, 1)", "p (10,)"),
    "r = np.select([p > 0.5], [y], default=0.0)": ("p > 0.5 (10,)", "y (10, 1)"),
    "r = np.select([p > 0.5, p < 0.2], [p, y])": ("p (10,)", "y (10, 1)"),
    "rules = [y > 0.5]\nr = np.select(rules, [p])": ("the value (10, 1)", "p (10,)"),
}
REFUSED = {
    "at once": "net = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 1))\nx = torch.linspace(0, 1, 20)\n"
    "loss = nn.MSELoss()(net(x), torch.sin(x))\n",
    "by a name": "net = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 1))\nx = torch.linspace(0, 1, 20)\n"
    "pred = net(x)\nloss = nn.functional.mse_loss(pred, torch.sin(x))\n",
    "in a module": "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(1, 8)\n"
    "        self.b = nn.Linear(8, 1)\n\n    def forward(self, x):\n        return self.b(torch.relu(self.a(x)))\n\n\n"
    "x = torch.linspace(0, 1, 20)\nnet = Net()\npred = net(x)\nloss = nn.MSELoss()(pred, torch.sin(x))\n",
}


@pytest.mark.parametrize("code", CHOICES)
def test_a_message_names_the_two_that_meet(code: str) -> None:
    code_of_all = f"{TOP}{VECTORS}{ARRAYS}{code}\n"
    (found,) = findings(code_of_all)
    first, second = CHOICES[code]
    assert found.message.startswith(f"{first} and {second} became (10, 10)")
    assert tuple(run(code_of_all)["r"].shape) == (10, 10)


@pytest.mark.parametrize(
    "code", ["r = a.where(row, 2 * a)", "r = np.select([y > 0.5], [2 * y])", "r = a.where(row, 0.0)"]
)
def test_what_has_one_shape_is_left_alone(code: str) -> None:
    assert findings(f"{TOP}{VECTORS}{ARRAYS}{code}\n") == []
    run(f"{TOP}{VECTORS}{ARRAYS}{code}\n")


@pytest.mark.parametrize("name", REFUSED)
def test_what_comes_of_a_refused_call_is_not_compared(name: str) -> None:
    assert [each.code for each in findings(TOP + REFUSED[name])] == ["TSR102"]
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        run(TOP + REFUSED[name])


def test_another_loss_is_still_compared() -> None:
    code = TOP + REFUSED["by a name"].replace("pred = net(x)", "pred = net(x[:, None])")
    assert [each.code for each in findings(code)] == ["TSR112"]
    with pytest.warns(UserWarning, match="broadcast"):
        run(code)


KEPT = {
    "kl = torch.distributions.kl_divergence(N(b, 1.0), N(a, 1.0)).mean()": ("N(b, 1.0)", True),
    "kl = torch.distributions.kl_divergence(N(b[:, 0], 1.0), N(a, 1.0)).mean()": ("", False),
    "kl = torch.distributions.kl_divergence(N(b, 1.0), N(a.unsqueeze(1), 1.0)).mean()": ("", False),
    "pred = torch.rand(10, 3).argmax(1).unsqueeze(1)\nacc = (pred == label).float().mean()": ("pred", True),
    "pred = torch.rand(10, 3).argmax(1)[:, None]\nacc = (pred == label).sum()": ("pred", True),
    "pred = np.random.rand(10, 3).argmax(axis=1)[:, np.newaxis]\nacc = np.mean(pred == classes)": ("pred", True),
    "pred = torch.rand(10, 3).argmax(1)\nacc = (pred == label).float().mean()": ("", False),
    "pred = torch.rand(10, 3).argmax(1)[:, None]\nhot = pred == torch.arange(3)\nacc = hot.float().mean()": ("", False),
    "pred = torch.rand(10, 3).argmax(1).view(10, -1)\nacc = (pred == label).float().mean()": ("pred", True),
    "def acc(out, y):\n    best = out.argmax(-1).view(len(y), -1)\n    return best.eq(y).sum()\n\n\nr = acc(torch.rand(10, 3), label)": (
        "best",
        True,
    ),
    "def acc(out, y):\n    return np.mean(np.argmax(out, axis=1).reshape(-1, 1) == y)\n\n\nr = acc(np.random.rand(10, 3), classes)": (
        "np.argmax(out, axis=1).reshape(-1, 1)",
        True,
    ),
    "def pairs(out, y):\n    best = out.argmax(-1).view(-1, 1)\n    return (best == y).sum(0)\n\n\nr = pairs(torch.rand(10, 3), label)": (
        "",
        False,
    ),
    "def later(out, y):\n    best = out.argmax(-1).view(-1, 1)\n    return (best > y).float().mean()\n\n\nr = later(torch.rand(10, 3), label)": (
        "",
        False,
    ),
    "def hot(out):\n    best = out.argmax(-1).view(-1, 1)\n    return (best == torch.arange(10)).sum()\n\n\nr = hot(torch.rand(10, 3))": (
        "",
        False,
    ),
    "groups = torch.randint(0, 3, (10,))[:, None]\nsame = (groups == label).float().mean()": ("", False),
}


@pytest.mark.parametrize("code", KEPT)
def test_a_choice_kept_as_a_column_meets_labels(code: str) -> None:
    named = "N, label, classes = torch.distributions.Normal, torch.randint(0, 3, (10,)), np.random.randint(0, 3, 10)\n"
    found = findings(f"{TOP}{VECTORS}{named}{code}\n")
    operand, wrong = KEPT[code]
    assert [each.code for each in found] == ["TSR112"] * wrong
    assert not wrong or found[0].message.startswith(f"{operand} (10, 1) and ")
    run(f"{TOP}{VECTORS}{named}{code}\n")
