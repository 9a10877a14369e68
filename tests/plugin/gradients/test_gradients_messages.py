"""What the user reads: one test per kind of failure."""

from __future__ import annotations

import random
import re
import warnings

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")

from gradients_planting import failure, planted, vector  # noqa: E402

from pytest_tensorcheck.gradients import (  # noqa: E402
    GradcheckError,
    GradcheckWarning,
    Verdict,
    check_gradients,
    gradcheck,
)


class WrongProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        grad_w = x.T @ grad
        grad_w[3, 5] *= 1.1
        return grad @ w.T, grad_w


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.weight = torch.nn.Parameter(torch.randn(8, 8, generator=generator))
        self.bias = torch.nn.Parameter(torch.zeros(8))

    def forward(self, x):
        return WrongProduct.apply(x, self.weight) + self.bias


def test_a_wrong_parameter_gradient_names_the_element_and_both_numbers():
    with pytest.raises(GradcheckError) as caught:
        gradcheck(Layer(), torch.randn(4, 8, generator=torch.Generator().manual_seed(2)))
    text = str(caught.value)
    assert re.search(r"weight: 1 of 64 elements is wrong", text)
    assert re.search(
        r"weight\[3, 5\]: analytic -?\d\.\d+, numeric -?\d\.\d+ \(relative 0\.1\), derivative of out\[\d, 5\]", text
    )
    assert "no error seen in: x, bias" in text
    assert re.search(r"suspect: WrongProduct\.backward \(.*test_gradients_messages\.py:\d+\)", text)
    assert re.search(r"called at .*test_gradients_messages\.py:\d+", text)
    assert "Layer (" in text.splitlines()[0]


def test_the_number_of_a_scalar_loss_has_no_output_index():
    model = Layer()
    text = failure(lambda x: model(x).square().sum(), torch.ones(2, 8))
    assert re.search(r"model\.weight\[3, 5\]: analytic \S+, numeric \S+ \(relative 0\.1\)$", text, re.M)


@pytest.mark.parametrize(
    ("corrupt", "sentence"),
    [
        (lambda g, _: -g, "every element has the opposite sign"),
        (lambda g, _: 2 * g, "every element is 2 times the true gradient"),
        (lambda g, _: g.T.contiguous(), "the transpose of the true gradient"),
        (
            lambda g, _: g.roll(1, -1),
            "shifted by one along the last axis: element i holds the gradient of element i - 1",
        ),
        (lambda g, _: g.roll(-1, 0), "shifted by one along the first axis: row i holds the gradient of row i + 1"),
        (lambda g, _: g.flip(-1), "reversed along the last axis"),
    ],
    ids=["sign", "factor", "transpose", "shift", "rows", "reversed"],
)
def test_a_pattern_over_the_whole_tensor_is_named(corrupt, sentence):
    text = failure(planted(corrupt), vector(16).view(4, 4))
    assert f"pattern: {sentence}" in text.replace("it is ", "") or f"pattern: it is {sentence}" in text
    assert "x: at least 5 of 16 elements are wrong" in text


def test_conjugate():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, grad):
            (z,) = ctx.saved_tensors
            return 2 * z * grad.conj()  # should be grad * conj(2 z)

    text = failure(Wrong, torch.complex(vector(4), vector(4, 1)))
    assert "complex conjugate of the true gradient" in text
    assert re.search(r"z\[\d\](\.imag)?: analytic", text)


def test_non_differentiable_output():
    text = failure(lambda x: x.argmax(), vector())
    assert "has no gradient to check" in text
    assert "out is int64 (argmax, a comparison, rounding to an index?), which has no derivative" in text


def test_detached_output():
    text = failure(lambda x: x.detach() * 2, vector())
    assert "out is not connected to x in autograd's graph: detach(), .data, no_grad, .item() or numpy" in text


def test_a_detached_branch_is_a_wrong_gradient():
    text = failure(lambda x: x * x.detach(), vector())
    assert "every element is 0.5 times the true gradient" in text


def test_missing_gradient_of_a_parameter():
    class Cut(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.ones(3))
            self.b = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x * self.a + self.b.detach()

    text = failure(Cut(), vector(3))
    assert "gradients of Cut" in text.splitlines()[0]
    assert "are missing" in text.splitlines()[0]
    assert re.search(r"b receives no gradient, but the outputs change when it moves .*detach\(\)", text)


def test_an_unused_parameter_is_no_failure():
    class Unused(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.ones(3))
            self.b = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x * self.a

    report = check_gradients(Unused(), vector(3))
    assert report.verdict is Verdict.PASSED
    assert report.notes == ["b has no gradient, and the outputs do not depend on it"]


def test_outputs_that_depend_on_no_input():
    weight = torch.ones(3, dtype=torch.float64, requires_grad=True)
    text = failure(lambda x: weight.exp(), vector(3))
    assert "the outputs do not depend on x: there is nothing to check" in text


@pytest.mark.parametrize("how", ["autograd", "data", "no_grad"])
def test_an_input_modified_in_place(how):
    def function(x):
        if how == "autograd":
            x.mul_(2)
        elif how == "data":
            x.data.mul_(2)
        else:
            with torch.no_grad():
                x[1] = 7.0
        return x**2

    text = failure(function, vector().requires_grad_())
    assert "modifies its input" in text.splitlines()[0]
    if how == "autograd":
        assert re.search(
            r"an input is modified in place \(at .*test_gradients_messages\.py:\d+\).*instead of x \*= 2", text
        )
    else:
        assert re.search(
            r"x is modified in place: x\[\d\] was \S+ and is \S+ after the call; work on x\.clone\(\)", text
        )


def test_a_function_that_is_not_deterministic():
    source = random.SystemRandom()
    text = failure(lambda x: x * source.random(), vector())
    assert "is not deterministic" in text.splitlines()[0]
    assert re.search(
        r"two runs from the same random state differ: out\[0\] was \S+, then \S+; it draws from a generator", text
    )


def test_runs_that_round_differently_are_deterministic_enough():
    calls = []

    def rounds(x):
        calls.append(0)
        return x.sin() * (1 + 2e-15 * len(calls))

    report = check_gradients(rounds, vector())
    assert report.verdict is Verdict.PASSED, str(report)
    calls.clear()
    assert "is not deterministic" in failure(lambda x: rounds(x) * (1 + 1e-8 * len(calls)), vector()).splitlines()[0]


def test_a_backward_that_is_not_deterministic():
    source = random.SystemRandom()
    text = failure(planted(lambda g, _: g * (1 + source.random())), vector())
    assert "the backward of Planted" in text.splitlines()[0]
    assert "is not deterministic" in text.splitlines()[0]
    assert re.search(r"the gradient of x\[0\] was \S+, then \S+", text)


def test_a_gradient_of_the_wrong_shape():
    text = failure(planted(lambda g, _: g[:3]), vector())
    assert "Planted.backward returned a gradient of shape [3] for its input 0, which has shape [5]: sum it over" in text


def test_too_few_gradients():
    class Few(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return grad

    text = failure(Few, (vector(), vector()))
    assert "Few.backward returned 1 gradients, but forward takes 2 inputs: return one per input" in text


def test_a_gradient_of_the_wrong_dtype():
    wrong = planted(lambda g, _: g.float())
    assert gradcheck(wrong, vector())
    notes = check_gradients(wrong, vector()).notes
    assert notes[0].startswith("the gradient of x went through float32: it holds no digit beyond 32 bits")
    text = failure(wrong, vector(), check_grad_dtypes=True)
    assert "went through float32" in text
    assert "keep the dtype of the input in the backward" in text


def test_a_backward_that_raises_names_the_line():
    def explode(g, _):
        raise KeyError("lost")

    text = failure(planted(explode), vector())
    assert "the backward of Planted" in text.splitlines()[0]
    assert re.search(r"KeyError: 'lost' \(at .*test_gradients_messages\.py:\d+\)", text)


def test_a_forward_that_raises_names_the_line():
    def function(x):
        return x @ torch.ones(7, dtype=x.dtype)

    text = failure(function, vector())
    assert "could not be run" in text.splitlines()[0]
    assert re.search(r"RuntimeError: .*size.*\(at .*test_gradients_messages\.py:\d+\)", text)


def test_nan_gradients_where_the_function_is_finite():
    text = failure(lambda x: torch.where(x > 0, x.sqrt(), 0 * x), torch.tensor([1.0, -1.0, 2.0]))
    assert re.search(r"the gradient of x is NaN at 1 of 3 elements, where the function itself is finite", text)
    assert "x[1]: analytic nan, numeric 0" in text


def test_a_locally_constant_function_with_a_gradient():
    class StraightThrough(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, grad):
            return grad

    text = failure(StraightThrough, torch.tensor([0.3, 1.2, -0.2]))
    assert "the function does not change around this point, but its gradient is not zero" in text
    assert "numeric 0" in text


def test_undefined_output_gradients():
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return first * 2 + second * 3

    text = failure(Two, vector())
    assert "the backward raises when only out[0] is used in a loss" in text
    assert "treat None as zeros" in text
    assert gradcheck(Two, vector(), check_undefined_grad=False)


def test_kink_and_inconclusive_are_told_apart_from_errors():
    def half(x):
        low = x.bfloat16()
        return low.sin().to(x.dtype) * (1 if low.dtype == torch.bfloat16 else 3)  # another function in float64

    with pytest.warns(GradcheckWarning) as caught:
        assert gradcheck(half, vector())
    text = str(caught[0].message)
    assert "could not be decided" in text
    assert re.search(r"the error bar of the differences is \d+% of the gradient .*low precision", text)
    assert caught[0].filename == __file__
    with pytest.raises(GradcheckError, match="could not be decided"):
        gradcheck(half, vector(), on_inconclusive="fail")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradcheck(half, vector(), on_inconclusive="pass")
        report = check_gradients(torch.relu, torch.zeros(4))
    assert report.verdict is Verdict.PASSED
    assert "the inputs lie on a kink (ReLU at 0, a tie of max): checked a thousandth beside it instead" in report.notes


def test_a_zero_dimensional_input_is_named_without_an_index():
    text = failure(planted(lambda g, _: 1.5 * g), torch.tensor(1.5))
    assert re.search(r"^    x: analytic 10\.12\d*, numeric 6\.75 \(relative 0\.5\)$", text, re.M)


def test_saturated_and_clipped_inputs_are_no_errors():
    for function in (torch.tanh, torch.sigmoid, lambda x: x.clamp(-1, 1)):
        report = check_gradients(function, torch.tensor([400.0, -400.0, 0.3]))
        assert report.verdict is Verdict.PASSED, str(report)
    assert "wrong" in failure(planted(lambda g, _: g + 1e-3, torch.tanh), torch.tensor([400.0, -400.0]))


def test_outputs_that_are_not_finite_are_named():
    report = check_gradients(lambda x: x.log(), torch.tensor([-1.0, 2.0]))
    assert report.notes == ["out is NaN or infinite at 1 of 2 elements, which are not compared"]
    text = str(check_gradients(lambda x: x.sqrt(), torch.tensor([-1.0, 2.0])))
    assert "could not be decided" in text
    assert (
        "the gradient with respect to x[0] is NaN, and cannot be compared: out is itself NaN or infinite at this point, "
        "where x[0] is -1; check at a point where the function is finite"
    ) in text


@pytest.mark.parametrize(
    ("function", "values", "sentence"),
    [
        (torch.sqrt, [0.0, 2.0], "but not a step beside it: the edge of where it is defined; move the input inside"),
        (
            lambda x: x.clamp(min=0).sqrt(),
            [2.0, 0.0],
            "the slope of the function itself grows without bound at this point, where x[1] is 0 (a square root at 0?); "
            "move the input away from it",
        ),
        (
            lambda x: x.log().sum(),
            [float("nan"), 0.0, 1.0],
            "x[0] and 1 other element is NaN, and cannot be compared: x[0] itself is nan; give finite inputs",
        ),
    ],
    ids=["edge", "vertical", "nan"],
)
def test_a_gradient_that_cannot_be_finite_says_why_and_what_to_do(function, values, sentence):
    report = check_gradients(function, torch.tensor(values))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert sentence in str(report)


def test_a_part_of_the_graph_that_overwrites_what_the_backward_needs():
    def function(x):
        y = x.exp()
        z = y * y
        y.add_(1)
        return z

    text = failure(function, vector())
    assert "the backward of" in text
    assert "a tensor that the backward needs is overwritten by a later in-place operation" in text
