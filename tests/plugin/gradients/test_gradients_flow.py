"""check_gradients_flow: what each parameter receives, as the user reads it."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")
from torch import nn  # noqa: E402

from pytest_tensorcheck.gradients import GradientFlowError, check_gradients_flow  # noqa: E402


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused, self.dead, self.frozen = (nn.Linear(2, 2) for _ in range(4))
        self.frozen.requires_grad_(False)
        with torch.no_grad():
            self.dead.bias.fill_(-1e6)

    def forward(self, x):
        return self.used(x) + self.dead(x).relu() + self.frozen(x)


def test_parameters_by_what_they_receive():
    net = Net()
    loss = net(torch.ones(3, 2)).sum()
    with pytest.raises(GradientFlowError) as caught:
        check_gradients_flow(net, loss)
    text = str(caught.value)
    assert "gradients do not flow to 4 of 6 parameters of Net (at " in text
    assert "test_gradients_flow.py:" in text
    assert "no gradient: unused.weight, unused.bias" in text
    assert "only zeros: dead.weight, dead.bias" in text
    assert all(p.grad is None for p in net.parameters())
    loss.backward()  # the graph is still there
    flow = check_gradients_flow(net, lambda: net(torch.ones(3, 2)).sum(), raise_exception=False)
    assert not flow
    assert (flow.missing, flow.zero) == (["unused.weight", "unused.bias"], ["dead.weight", "dead.bias"])
    assert flow.frozen == ["frozen.weight", "frozen.bias"]
    assert check_gradients_flow(net, net(torch.ones(3, 2)).sum(), allow_missing=["unused.*"], allow_zero="dead.*")


@pytest.mark.parametrize("option", ["allow_missing", "allow_zero"])
@pytest.mark.parametrize("patterns", ["unsued.*", ["unused.*", "unsued.*"]])
def test_an_exception_that_names_no_parameter_is_refused(option, patterns):
    net = Net()
    with pytest.raises(ValueError, match=rf"{option}='unsued\.\*' names no parameter; there are: used\.weight, "):
        check_gradients_flow(net, net(torch.ones(3, 2)).sum(), **{option: patterns})
    flow = check_gradients_flow(net, net(torch.ones(3, 2)).sum(), allow_missing="frozen.*", raise_exception=False)
    assert flow.frozen == ["frozen.weight", "frozen.bias"]


def test_nan_and_infinite_gradients():
    a, b, c = (torch.zeros(2, requires_grad=True) for _ in range(3))
    loss = (torch.where(a > 0, a.sqrt() / a, 0 * a) + b.sqrt() + c).sum()
    with pytest.raises(GradientFlowError) as caught:
        check_gradients_flow({"a": a, "b": b, "c": c}, loss)
    assert "NaN: a" in str(caught.value)
    assert "infinity: b" in str(caught.value)


def test_a_healthy_model_passes_and_sparse_gradients_count():
    model = nn.Sequential(nn.Embedding(5, 3, sparse=True), nn.Linear(3, 1))
    flow = check_gradients_flow(model, model(torch.tensor([1, 2])).sum())
    assert flow
    assert flow.flowing == ["0.weight", "1.weight", "1.bias"]


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (lambda y: y.sum().item(), "the loss is a float, not a tensor"),
        (lambda y: y, r"the loss has shape \(3, 2\), not one element"),
        (lambda y: y.sum().detach(), "the loss is not connected to any parameter"),
        (lambda y: y.sum() * 1j, "the loss is complex, and only a real number can be minimised"),
        (lambda y: [y.sum()], "the loss is a list, not a tensor"),
    ],
)
def test_a_loss_that_cannot_be_differentiated(loss, sentence):
    model = nn.Linear(2, 2)
    with pytest.raises(GradientFlowError, match=sentence):
        check_gradients_flow(model, loss(model(torch.ones(3, 2))))


def test_a_model_without_trainable_parameters():
    with pytest.raises(ValueError, match="no parameter that requires grad"):
        check_gradients_flow(nn.ReLU(), torch.ones((), requires_grad=True))


def test_what_is_no_model():
    loss = nn.Linear(2, 2)(torch.ones(2)).sum()
    with pytest.raises(ValueError, match="the first argument is a int: pass the model, or its parameters"):
        check_gradients_flow(3, loss)
    with pytest.raises(GradientFlowError, match="the loss is a Linear, not a tensor: swap the two arguments"):
        check_gradients_flow(loss, nn.Linear(2, 2))


def test_parameters_in_place_of_a_model():
    model = nn.Linear(2, 2)
    loss = model(torch.ones(2)).sum()
    assert check_gradients_flow(model.named_parameters(), loss).flowing == ["weight", "bias"]
    assert check_gradients_flow(model.parameters(), loss).flowing == ["parameters[0]", "parameters[1]"]


def test_after_the_graph_is_used_up():
    model = nn.Linear(2, 2)
    loss = model(torch.ones(2)).square().sum()
    loss.backward()
    with pytest.raises(GradientFlowError, match=r"call check_gradients_flow before loss.backward\(\)") as caught:
        check_gradients_flow(model, loss)
    assert "test_gradients_flow.py:" in str(caught.value)


def test_reentrant_checkpoints():
    from torch.utils.checkpoint import checkpoint

    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    x = torch.ones(3, 2, requires_grad=True)
    model[0].bias.grad = torch.full((2,), 5.0)
    flow = check_gradients_flow(model, checkpoint(model, x, use_reentrant=True).sum())
    assert flow.flowing == ["0.weight", "0.bias"]
    assert model[0].weight.grad is None
    assert torch.equal(model[0].bias.grad, torch.full((2,), 5.0))
