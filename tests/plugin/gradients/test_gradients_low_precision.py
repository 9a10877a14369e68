"""Parts in low precision: never accused of a wrong gradient, and no excuse for one where the function only has kinks."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")
from gradients_planting import wrong  # noqa: E402
from torch import nn  # noqa: E402

from pytest_tensorcheck.gradients import Verdict, check_gradients  # noqa: E402


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def llama_norm(x):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


SINGLE = {
    "residual": lambda x: x + x.float().sin().to(x.dtype),
    "large residual": lambda x: 10 * x + x.float().sin().to(x.dtype),
    "norm": lambda x: x + llama_norm(x),
    "attention": lambda x: x + torch.softmax((x @ x.mT).float(), -1).to(x.dtype) @ x,
}
COARSE = {
    "bfloat16 shifted": lambda x: (x + 1).bfloat16().sin().to(x.dtype),
    "bfloat16 residual": lambda x: x + x.bfloat16().sin().to(x.dtype),
    "float16 residual": lambda x: x + x.half().sin().to(x.dtype),
    "float32, far from zero": lambda x: (x.float() * 1e6 + 1e6).sin().to(x.dtype),
    "the same on a large offset": lambda x: 1000 + (x.float() * 1e6 + 1e6).sin().to(x.dtype),
    "complex halves": lambda x: x.chalf(),
    "faster than any step": lambda x: (1e9 * x).sin(),
}


@pytest.mark.parametrize("name", SINGLE)
def test_float32_inside_beside_float64_passes(name):
    for seed in range(5):
        report = check_gradients(SINGLE[name], randn(4, 16), seed=seed)
        assert report.verdict is Verdict.PASSED, str(report)
        assert report.resolution < 0.1


@pytest.mark.parametrize("name", COARSE)
def test_what_is_too_coarse_is_not_called_wrong(name):
    for x in (torch.linspace(-1, 1, 5, dtype=torch.float64), randn(4, 16)):
        for seed in range(4):
            report = check_gradients(COARSE[name], x, seed=seed)
            assert report.verdict is not Verdict.FAILED, str(report)


def another_in_float64(x):
    """Reads the dtype of what it computes, so that in float64 throughout it is another function."""
    low = x.bfloat16()
    return (x.sin() + (low * (2 if low.dtype == torch.bfloat16 else 5)).to(x.dtype)).to(x.dtype)


def test_the_sentence_for_a_part_that_stands_still():
    text = str(check_gradients(another_in_float64, randn(4, 16)))
    assert "could not be decided" in text
    assert "small steps do not move all of the function" in text
    assert "a part of it runs in low precision (bfloat16, float16, quantisation)" in text


def one_element(x, gradient, grad):
    made = gradient.clone()
    made.view(-1)[int(gradient.abs().argmax())] *= 1.1
    return made


weights = [randn(8, 32, seed=s) / 3 for s in (1, 2, 3)]


def relu_net(x):
    for weight in weights:
        x = torch.relu(x @ weight.to(x)) @ weight.T.to(x)
    return x


KINKY = {
    "relu net, one element": (relu_net, one_element),
    "relu net, sign": (relu_net, lambda x, g, _: -g),
    "relu net, 2 %": (relu_net, lambda x, g, _: 1.02 * g),
    "leaky relu, slopes swapped": (
        lambda x: nn.functional.leaky_relu(x, 0.1),
        lambda x, g, grad: torch.where(x > 0, 0.1 * grad, grad),
    ),
    "hard tanh, border forgotten": (nn.functional.hardtanh, lambda x, g, grad: grad),
    "max pooling, mean gradient": (
        lambda x: nn.functional.max_pool1d(x[None], 2)[0],
        lambda x, g, grad: grad.repeat_interleave(2, -1) / 2,
    ),
    "float32 residual, one element": (SINGLE["residual"], one_element),
    "float32 norm, sign": (SINGLE["norm"], lambda x, g, _: -g),
}


@pytest.mark.parametrize("name", KINKY)
def test_wrong_gradients_of_functions_with_kinks_or_float32_inside_are_found(name):
    function, corrupt = KINKY[name]
    for seed in range(5):
        x = randn(6, 8, seed=seed)
        report = check_gradients(wrong(function, corrupt), x, seed=seed)
        assert report.verdict is Verdict.FAILED, str(report)
        assert check_gradients(function, x, seed=seed).verdict is Verdict.PASSED


class Scaled(torch.autograd.Function):
    """10 x, with the gradient of one element wrong by a factor."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return 10 * x

    @staticmethod
    def backward(ctx, grad):
        made = 10 * grad
        made[3] *= ctx.factor
        return made, None


# A part in low precision stands still under fine steps, which then see the slope of the rest alone.
MIXED = {
    "abs": lambda x: (x + 1).bfloat16().sin() + 10 * x.abs(),
    "less abs": lambda x: (x + 1).bfloat16().sin() + x.abs(),
    "linear": lambda x: (x + 1).bfloat16().sin() + 10 * x,
    "max": lambda x: (x + 1).bfloat16().sin().sum() + 10 * x.max(),
    "clamp": lambda x: (x + 1).bfloat16().sin() + 10 * x.clamp(-0.5, 0.5),
    "half and relu": lambda x: (x * 2).half().tanh() + 3 * x.relu(),
}


@pytest.mark.parametrize("name", MIXED)
def test_low_precision_beside_kinks_and_slopes_is_computed_in_float64(name):
    for seed in range(24):
        x = torch.randn(8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        report = check_gradients(MIXED[name], x, seed=seed)
        assert report.verdict is Verdict.PASSED, f"{seed}: {report}"
        assert report.resolution < 1e-6
    assert any("these were computed in float64 to be compared" in note for note in report.notes)


@pytest.mark.parametrize("name", MIXED)
def test_a_wrong_element_beside_low_precision_is_found(name):
    for seed, factor in ((0, 1.1), (1, 2.0), (2, 1.1)):
        x = torch.randn(8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        report = check_gradients(lambda x, factor=factor: Scaled.apply(x, factor) + MIXED[name](x), x, seed=seed)
        assert [element.name for element in report.elements] == ["x[3]"], f"{seed}: {report}"


class Forgotten(torch.autograd.Function):
    """The gradient leaves out the part in bfloat16, which no fine step moves."""

    @staticmethod
    def forward(ctx, x):
        return (x.bfloat16() * 2).to(x.dtype) + 10 * x

    @staticmethod
    def backward(ctx, grad):
        return 10 * grad


def test_a_part_in_low_precision_that_the_backward_forgets_is_found():
    report = check_gradients(Forgotten, randn(8))
    assert report.verdict is Verdict.FAILED
    assert all(element.numeric == pytest.approx(12.0) for element in report.elements)


@pytest.mark.parametrize("option", ["forward_mode", "batched", "exhaustive", "second_order"])
def test_low_precision_is_computed_in_float64_in_every_mode(option):
    report = check_gradients(lambda x: (x + 1).bfloat16().sin() + 10 * x.tanh(), randn(8), **{option: True})
    assert report.verdict is Verdict.PASSED, str(report)


class OnlyInBfloat16(torch.autograd.Function):
    """A backward that is wrong where the forward ran in bfloat16, and right where it ran in float64."""

    @staticmethod
    def forward(ctx, x):
        ctx.low = x.bfloat16().dtype == torch.bfloat16
        return x.bfloat16().to(x.dtype) + 10 * x

    @staticmethod
    def backward(ctx, grad):
        return (5 if ctx.low else 11) * grad


def test_what_is_another_function_in_float64_neither_passes_nor_is_accused():
    for function in (OnlyInBfloat16, another_in_float64):
        for seed in range(4):
            report = check_gradients(function, randn(8, seed=seed), seed=seed)
            assert report.verdict is Verdict.INCONCLUSIVE, str(report)


def test_a_buffer_in_low_precision_from_outside_is_not_written_to_in_float64():
    class Cached(nn.Module):
        def forward(self, x):
            return x.half().sin().to(x.dtype) + 10 * x

    kept = torch.zeros(8, dtype=torch.float16)

    def keeps(x):
        kept.copy_(x.detach())
        return Cached()(x)

    report = check_gradients(keeps, randn(8))
    assert report.verdict is not Verdict.FAILED, str(report)
    assert kept.dtype == torch.float16


JUMPING = {
    "jump": lambda x: torch.where(x > 0.4, x + 1, x),  # one jump far away explains nothing
    "kink": lambda x: x.abs(),
    "comparison": lambda x: (x > x.roll(1)).to(x.dtype),
    "round": lambda x: 0.1 * torch.round(x) + x,
    "bfloat16": lambda x: (x + 1).bfloat16().sin(),
}


@pytest.mark.parametrize("name", JUMPING)
@pytest.mark.parametrize("factor", [-1.0, 1.3])
def test_a_wrong_element_beside_jumps_is_found(name, factor):
    for seed in range(6):
        x = torch.randn(8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        report = check_gradients(lambda x: Scaled.apply(x, factor) + JUMPING[name](x), x, seed=seed)
        assert report.verdict is Verdict.FAILED, f"{seed}: {report}"


def test_a_compiled_module_is_checked_without_a_word_from_the_compiler(recwarn):
    model = torch.compile(nn.Sequential(nn.Linear(3, 2), nn.Tanh()), backend="aot_eager")
    report = check_gradients(model, torch.randn(4, 3, generator=torch.Generator().manual_seed(0)))
    assert report.verdict is Verdict.PASSED
    assert not [one for one in recwarn if "Dynamo detected" in str(one.message)]
    compiled = torch.compile(llama_norm, backend="aot_eager")
    assert check_gradients(lambda x: x + compiled(x), randn(3, 4)).verdict is not Verdict.FAILED
