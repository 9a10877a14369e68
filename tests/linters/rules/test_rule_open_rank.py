"""A loss of a column that may have more axes in front, and a vector: the shapes differ whatever the rank is."""

from __future__ import annotations

import pytest
from rule_programs import findings

from tensorlint.findings import Finding

MODEL = """import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.encoder = nn.LSTM(8, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)
        self.criterion = nn.MSELoss()

    def forward(self, x):
        out, _ = self.encoder(x)
        return self.head(out[:, -1, :])

    def training_step(self, batch):
        x, y = batch
        y_hat = self(x)
        return {loss}


net = Net()
net.training_step((torch.randn(4, 5, 8), torch.randn(4{label})))
"""


def findings_of_model(loss: str, label: str = "") -> list[Finding]:
    code = MODEL.format(loss=loss, label=label)
    pytest.importorskip("torch", reason="torch is the oracle")
    exec(code, {"__name__": "case"})
    code = code[: code.index("\n\n\nnet = ")] + "\n"
    return findings(code)


@pytest.mark.parametrize(
    "loss", ["self.criterion(y_hat, y.view(-1))", "F.l1_loss(y.reshape(-1), y_hat)", "F.huber_loss(y_hat, y.view(-1))"]
)
@pytest.mark.filterwarnings("ignore:Using a target size", "ignore:Using an input size")
def test_a_loss_of_an_open_column_and_a_vector_is_reported(loss: str) -> None:
    (found,) = findings_of_model(loss)
    assert found.code == "TSR112"
    assert "y_hat (..., ?, 1)" in found.message
    assert "broadcasts to (..., ?, ?)" in found.message
    assert "y_hat.squeeze(-1)" in found.message


@pytest.mark.parametrize(
    ("loss", "label"),
    [
        ("self.criterion(y_hat.squeeze(-1), y.view(-1))", ""),
        ("self.criterion(y_hat, y.view(-1, 1))", ""),
        ("self.criterion(y_hat, y)", ", 1"),
        ("self.criterion(y_hat.view(-1), y.view(-1))", ""),
        ("self.criterion(y_hat[0], y[0].view(-1))", ""),
        ("F.binary_cross_entropy_with_logits(y_hat.flatten(), y.flatten().sigmoid())", ""),
    ],
)
def test_other_losses_of_it_are_not(loss: str, label: str) -> None:
    assert findings_of_model(loss, label) == []


OF_ANY_RANK = """import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.body(x))


def step(net: Net, x):
    y = torch.rand(4)
    n = x.size(0)
    return {loss}
"""
CALL = "\n\nstep(Net(nn.Identity()), torch.rand(4, 8))\n"


def of_any_rank(loss: str) -> list[Finding]:
    """What is said of the file, nothing of which is called; called, it runs."""
    pytest.importorskip("torch", reason="torch is the oracle")
    exec(OF_ANY_RANK.format(loss=loss) + CALL, {"__name__": "case"})
    return findings(OF_ANY_RANK.format(loss=loss))


@pytest.mark.parametrize(
    "loss", ["F.mse_loss(net(x), y)", "nn.L1Loss()(y, net(x))", "F.huber_loss(net(x), torch.ones(n))"]
)
@pytest.mark.filterwarnings("ignore:Using a target size", "ignore:Using an input size")
def test_of_a_column_that_may_be_a_single_number_too(loss: str) -> None:
    """One number and several are of two shapes as well."""
    (found,) = of_any_rank(loss)
    assert found.code == "TSR112"
    assert "net(x) (..., 1) " in found.message
    assert "broadcasts to (..., " in found.message
    assert found.message.endswith(" — net(x).squeeze(-1) gives both one shape")


@pytest.mark.parametrize(
    "loss",
    [
        "F.mse_loss(net(x).squeeze(-1), y)",
        "F.mse_loss(net(x).squeeze(), y)",
        "F.mse_loss(net(x)[:, 0], y)",
        "F.mse_loss(net(x).view(-1), y)",
        "F.mse_loss(net(x).mean(-1), y)",
        "F.mse_loss(net(x), y.view(-1, 1))",
        "F.mse_loss(net(x)[0], y[:1])",
        "F.mse_loss(net(x)[0], y.view(-1)[y < y.max()][:1])",
        "F.mse_loss(net(x) if net(x).ndim == 1 else net(x)[:, 0], y)",
    ],
)
def test_and_nothing_where_the_shapes_may_be_one(loss: str) -> None:
    assert of_any_rank(loss) == []
