"""Second order, forward mode, vmap and every single entry: what the user reads where they fail."""

from __future__ import annotations

import re

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")

from gradients_planting import failure, planted, vector  # noqa: E402

from pytest_tensorcheck.gradients import Verdict, check_gradients, gradcheck  # noqa: E402


def test_no_second_derivative():
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad):
            return 3 * ctx.saved_tensors[0] ** 2 * grad

    assert gradcheck(Once, vector())
    text = failure(Once, vector(), second_order=True)
    assert "second order: the gradients depend on x, grad_out, but cannot be differentiated again" in text


def test_a_wrong_second_derivative():
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, g):
            ctx.save_for_backward(x, g)
            return 3 * x**2 * g

        @staticmethod
        def backward(ctx, gg):
            x, g = ctx.saved_tensors
            return 5 * x * g * gg, 3 * x**2 * gg  # 6 x

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            return Inner.apply(ctx.saved_tensors[0], grad)

    assert gradcheck(Cube, vector())
    text = failure(Cube, vector(), second_order=True)
    assert "second order: x:" in text
    assert "every element is 0.8333 times the true gradient" in text
    assert "derivative of grad of x" in text


def test_wrong_and_missing_forward_mode():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx, grad):
            return 3 * ctx.saved_tensors[0] ** 2 * grad

        @staticmethod
        def jvp(ctx, tangent):
            return 4 * ctx.saved_tensors[0] ** 2 * tangent

    text = failure(Cube, vector(), forward_mode=True)
    assert "the forward-mode derivative (jvp) with respect to x is wrong" in text
    assert re.search(r"out\[\d\] along a random direction: analytic \S+, numeric \S+ \(relative 0\.33\)", text)
    assert "forward mode raised NotImplementedError" in failure(planted(lambda g, _: g), vector(), forward_mode=True)


def test_a_backward_that_vmap_cannot_run():
    def with_item(g, grad):
        return g * (grad.sum().item() / grad.sum())

    text = failure(planted(with_item), vector(), batched=True)
    assert "the backward does not run under vmap" in text


def test_exhaustive_counts_the_wrong_entries():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, grad):
            made = grad * 3
            made[2] += grad[0]
            return made

    text = failure(Wrong, vector())
    assert "x[2]: analytic 1, numeric 0 (relative 1), derivative of out[0]" in text
    report = check_gradients(lambda x: torch.outer(x, x), vector(), exhaustive=True)
    assert report.verdict is Verdict.PASSED
    assert "every one of 125 entries of the Jacobian was compared" in report.notes


def test_what_torch_warns_of_itself_is_no_fault_of_the_function(pytester):
    """In a new process: torch compiles its forward-mode formulas once, and warns of the compiler that it takes."""
    pytester.makepyfile("""
        import torch

        def test_it(gradcheck):
            x = torch.rand(3, dtype=torch.float64, requires_grad=True)
            assert gradcheck(torch.sin, x, check_forward_ad=True, check_batched_forward_grad=True)
        """)
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=1)
