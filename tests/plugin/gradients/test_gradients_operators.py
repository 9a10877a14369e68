"""opcheck and check_gradients_flow."""

from __future__ import annotations

import pickle

import pytest

torch = pytest.importorskip("torch", reason="custom operators and gradients need torch")
from torch import nn  # noqa: E402

from pytest_tensorcheck.gradients import (  # noqa: E402
    GradientFlowError,
    OpcheckError,
    check_gradients_flow,
    check_operator,
    opcheck,
)


@torch.library.custom_op("tensorcheck_tests::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
    return x * factor


@scale.register_fake
def _(x, factor=2.0):
    return torch.empty_like(x)


def _remember(ctx, inputs, output):
    ctx.factor = inputs[1]


scale.register_autograd(lambda ctx, grad: (grad * ctx.factor, None), setup_context=_remember)


@torch.library.custom_op("tensorcheck_tests::no_fake", mutates_args=())
def no_fake(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.library.custom_op("tensorcheck_tests::mutates", mutates_args=())
def mutates(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x.clone()


@mutates.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("tensorcheck_tests::wrong_backward", mutates_args=())
def wrong_backward(x: torch.Tensor) -> torch.Tensor:
    return x**2


@wrong_backward.register_fake
def _(x):
    return torch.empty_like(x)


wrong_backward.register_autograd(
    lambda ctx, grad: grad * ctx.saved_tensors[0] * 3,
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)


def test_a_right_operator_passes_all_tests_on_made_samples():
    results = opcheck(scale, shapes=[(3,), (2, 3)], dtypes=[torch.float32, torch.float64], requires_grad=True)
    assert results == dict.fromkeys(
        ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"], "passed"
    )
    report = check_operator(scale, (torch.ones(3), 4.0), gradients=True, test_utils="test_schema")
    assert report
    assert report.results[0][1] == {"test_schema": "passed", "gradients": "passed"}


def test_samples_follow_the_template_the_shapes_and_the_dtypes():
    report = check_operator(
        scale, (torch.ones(1), 4.0), shapes=[(3,), [(2, 3)]], dtypes=[torch.float64], test_utils=["test_schema"]
    )
    assert [sample for sample, _ in report.results] == ["float64 (3,), 4.0", "float64 (2, 3), 4.0"]


def test_all_broken_promises_are_reported_with_what_to_do():
    with pytest.raises(OpcheckError) as caught:
        opcheck(no_fake, (torch.ones(3),))
    text = str(caught.value)
    assert "opcheck: tensorcheck_tests::no_fake (" in text
    assert "test_gradients_operators.py:" in text
    assert "fails 2 of 4 tests on 1 sample(s)" in text
    assert "FAILED  test_faketensor: not so that the fake implementation gives the same shapes" in text
    assert "what to do: add or correct @op.register_fake" in text
    assert "passed  test_schema" in text
    assert "with float32 (3,):" in text
    assert str(pickle.loads(pickle.dumps(caught.value))) == text


def test_undeclared_mutation_is_found_and_the_users_tensor_left_alone():
    x = torch.ones(3)
    results = opcheck(mutates, (x,), raise_exception=False)
    assert results["test_schema"] != "passed"
    assert torch.equal(x, torch.ones(3))


def test_a_wrong_formula_is_invisible_to_torch_and_found_with_gradients():
    x = torch.randn(3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    assert set(opcheck(wrong_backward, (x,)).values()) == {"passed"}
    with pytest.raises(OpcheckError, match=r"every element is 1\.5 times the true gradient"):
        opcheck(wrong_backward, (x,), gradients=True)


def test_arguments_of_opcheck():
    with pytest.raises(ValueError, match="no test called 'test_shema'; choose from test_schema"):
        opcheck(scale, (torch.ones(1),), test_utils="test_shema")
    with pytest.raises(ValueError, match="argument 'dim' is int: pass args"):
        opcheck(torch.ops.aten.unsqueeze, shapes=[(3,)])
    with pytest.raises(ValueError, match="is no operator"):
        opcheck("scale", (torch.ones(1),))


# -- gradient flow -----------------------------------------------------------------------------------------------------


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
    assert "test_gradients_operators.py:" in text
    assert "no gradient: unused.weight, unused.bias" in text
    assert "only zeros: dead.weight, dead.bias" in text
    assert all(p.grad is None for p in net.parameters())
    loss.backward()  # the graph is still there
    flow = check_gradients_flow(net, lambda: net(torch.ones(3, 2)).sum(), raise_exception=False)
    assert not flow
    assert (flow.missing, flow.zero) == (["unused.weight", "unused.bias"], ["dead.weight", "dead.bias"])
    assert flow.frozen == ["frozen.weight", "frozen.bias"]
    assert check_gradients_flow(net, net(torch.ones(3, 2)).sum(), allow_missing=["unused.*"], allow_zero="dead.*")


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
    ],
)
def test_a_loss_that_cannot_be_differentiated(loss, sentence):
    model = nn.Linear(2, 2)
    with pytest.raises(GradientFlowError, match=sentence):
        check_gradients_flow(model, loss(model(torch.ones(3, 2))))


def test_a_model_without_trainable_parameters():
    with pytest.raises(ValueError, match="no parameter that requires grad"):
        check_gradients_flow(nn.ReLU(), torch.ones((), requires_grad=True))
