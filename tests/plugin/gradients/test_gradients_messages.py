"""What the user reads: one test per kind of failure."""

from __future__ import annotations

import pickle
import random
import re
import warnings

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")

from pytest_tensorcheck.gradients import (  # noqa: E402
    GradcheckError,
    GradcheckWarning,
    Verdict,
    WrongElement,
    check_gradients,
    gradcheck,
)


def failure(function, inputs, **options) -> str:
    with pytest.raises(GradcheckError) as caught:
        gradcheck(function, inputs, **options)
    return str(caught.value)


def vector(n=5, seed=0):
    return torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


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
    text = failure(Layer(), torch.randn(4, 8, generator=torch.Generator().manual_seed(2)))
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


def planted(corrupt, function=lambda x: x**3):
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
                return corrupt(torch.autograd.grad(function(live), live, grad)[0], grad)

    return Planted


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


def test_kink_and_inconclusive_are_told_apart_from_errors():
    def half(x):
        return x.bfloat16().sin().to(x.dtype)

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


def test_ctc_loss_is_explained_and_not_accused():
    scores = torch.randn(12, 2, 5, generator=torch.Generator().manual_seed(0))
    targets, lengths = torch.tensor([[1, 2, 3], [2, 2, 4]]), (torch.full((2,), 12), torch.full((2,), 3))

    def loss(log_probs):
        return torch.nn.functional.ctc_loss(log_probs, targets, *lengths)

    report = check_gradients(loss, scores.log_softmax(-1))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "check the two together" in str(report)
    assert check_gradients(lambda x: loss(x.log_softmax(-1)), scores).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: gradcheck(3, vector()), "needs a function, an nn.Module or an autograd.Function, not int"),
        (
            lambda: gradcheck(torch.sin, torch.eye(3).to_sparse()),
            "is sparse (torch.sparse_coo): gradcheck moves every element",
        ),
        (lambda: gradcheck(torch.sin, torch.ones(3, device="meta")), "has no values (a meta or fake tensor)"),
        (lambda: gradcheck(lambda n: torch.ones(n), 3), "got no floating-point tensor and has no parameter"),
        (lambda: gradcheck(torch.nn.Linear(2, 2), torch.ones(2), parameters="wieght"), "it has: weight, bias"),
        (
            lambda: gradcheck(torch.nn.Embedding(4, 3, sparse=True), torch.tensor([1, 2])),
            "gradient of weight is sparse",
        ),
        (lambda: gradcheck(torch.sin, vector(), masked=True), "masked=True is about sparse inputs"),
        (lambda: gradcheck(torch.sin, vector(), eps=0.0), "a step must be positive"),
        (lambda: gradcheck(torch.sin, vector(), rtol=-1.0), "a tolerance cannot be negative"),
        (lambda: gradcheck(torch.sin, vector(), directions=1), "at least 2 are needed"),
        (lambda: gradcheck(torch.sin, vector(), check_backward_ad=False), "leaves nothing to check"),
        (lambda: gradcheck(torch.sin, vector(), on_inconclusive="x"), "choose 'warn', 'fail' or 'pass'"),
        (lambda: gradcheck(torch.sin, vector(), check_batched_forward_grad=True), "needs check_forward_ad=True"),
        (lambda: gradcheck(lambda x: torch.outer(x, x), vector(500), exhaustive=True), "exhaustive=True would compare"),
    ],
)
def test_arguments_that_make_no_sense_are_one_line(call, sentence):
    with pytest.raises(ValueError) as caught:
        call()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_error_pickles_and_is_an_assertion_error():
    error = GradcheckError(failure(lambda x: x.argmax(), vector()))
    assert isinstance(error, AssertionError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    report = check_gradients(lambda x: x.argmax(), vector())
    assert pickle.loads(pickle.dumps(report)) == report


def test_numbers_that_look_the_same_are_shown_with_more_digits():
    assert "analytic 1.00001, numeric 1.00002" in str(WrongElement("x", 1.00001, 1.00002))
    assert "analytic -0.184, numeric -0.1673 (relative 0.1)" in str(WrongElement("x", -0.1840, -0.1673))
