"""The same on a GPU."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")
from torch import nn  # noqa: E402

from pytest_tensorcheck.gradients import GradcheckError, check_gradients_flow, gradcheck, opcheck  # noqa: E402

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(
    "module",
    [nn.Linear(8, 4), nn.Sequential(nn.Linear(8, 8), nn.Dropout(), nn.LayerNorm(8)), nn.LSTM(8, 4)],
    ids=["linear", "dropout", "lstm"],
)
def test_modules_on_the_gpu_pass_and_stay_as_they_are(module):
    module = module.cuda()
    state = torch.cuda.get_rng_state()
    assert gradcheck(module, torch.randn(5, 8).cuda())
    assert torch.equal(torch.cuda.get_rng_state(), state)
    assert all(p.is_cuda and p.dtype == torch.float32 and p.grad is None for p in module.parameters())


def test_a_wrong_element_is_found_on_the_gpu():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, grad):
            made = 2 * ctx.saved_tensors[0] * grad
            made[1234] *= 1.1
            return made

    with pytest.raises(GradcheckError, match=r"x\[1234\]: analytic"):
        gradcheck(Wrong, torch.randn(100_000, device="cuda"))


def test_atomic_additions_are_not_called_random():
    index = torch.randint(0, 50, (20_000,), device="cuda")
    assert gradcheck(lambda x: x[index].sin(), torch.randn(50, device="cuda"))


def test_modes_operators_and_flow_on_the_gpu():
    x = torch.randn(3, 4, device="cuda")
    assert gradcheck(torch.tanh, x, second_order=True, forward_mode=True, batched=True, exhaustive=True)
    assert set(opcheck(torch.ops.aten.sin.default, (x,), test_utils="test_schema").values()) == {"passed"}
    model = nn.Linear(4, 2).cuda()
    assert check_gradients_flow(model, model(x).sum())
