"""What several tests of gradcheck plant and read: wrong gradients, inputs and the failure's text."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")

from pytest_tensorcheck.gradients import GradcheckError, gradcheck  # noqa: E402


def failure(function, inputs, **options) -> str:
    with pytest.raises(GradcheckError) as caught:
        gradcheck(function, inputs, **options)
    return str(caught.value)


def vector(n=5, seed=0):
    return torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def wrong(function, corrupt):
    """An autograd Function of `function` whose backward hands `corrupt` the input, the true gradient and the one it was given."""

    class Planted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return function(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                live = x.detach().requires_grad_()
                return corrupt(live, torch.autograd.grad(function(live), live, grad)[0], grad)

    return Planted


def planted(corrupt, function=lambda x: x**3):
    """The same, where `corrupt` takes the true gradient and the one that was given."""
    return wrong(function, lambda x, gradient, grad: corrupt(gradient, grad))
