"""Arguments that make no sense are one clear line; errors and reports as objects."""

from __future__ import annotations

import pickle

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")

from gradients_planting import vector  # noqa: E402

from pytest_tensorcheck.gradients import GradcheckError, WrongElement, check_gradients, gradcheck  # noqa: E402


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
        (
            lambda: gradcheck(torch.sin, vector(), exhaustive=True, check_backward_ad=False, check_forward_ad=True),
            "it needs check_backward_ad=True",
        ),
        (
            lambda: gradcheck(torch.nn.Linear, torch.ones(2)),
            "Linear is a class: make a module of it first, Linear(...)",
        ),
        (lambda: gradcheck(lambda x: x * 2, torch.tensor([1, 2])), "(x is int64)"),
        (lambda: gradcheck(torch.sin, vector().numpy()), "inputs[0] is a numpy array (use torch.from_numpy)"),
        (
            lambda: gradcheck(lambda x: x.to_sparse(), vector()),
            "out is sparse (torch.sparse_coo): gradcheck compares dense",
        ),
        (lambda: gradcheck(torch.sin, torch.nested.nested_tensor([vector()])), "inputs[0] is a nested tensor"),
        (lambda: gradcheck(torch.sin, vector(), kwargs=[1]), "kwargs=[1]: give a dict"),
        (lambda: gradcheck(torch.sin, vector(), seed="a"), "seed='a': give a whole number"),
        (lambda: gradcheck(torch.sin, vector(), directions=2.5), "directions=2.5: give a whole number"),
        (lambda: gradcheck(torch.sin, vector(), eps="1e-6"), "eps='1e-6': give a number"),
        (lambda: gradcheck(torch.sin, vector(), rtol=float("nan")), "rtol=nan: a tolerance cannot be negative, or NaN"),
        (lambda: gradcheck(torch.sin, vector(), parameters=3), "parameters=3: give True, False, or names"),
        (
            lambda: gradcheck(torch.nn.Linear(2, 2), torch.ones(2), parameters=[torch.ones(2)]),
            "parameters=list of Tensor: give True, False, or names",
        ),
    ],
)
def test_arguments_that_make_no_sense_are_one_line(call, sentence):
    with pytest.raises(ValueError) as caught:
        call()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("gradcheck: ")


def test_an_option_that_does_not_exist_is_named():
    with pytest.raises(TypeError, match=r"check_gradients\(\) got an unexpected keyword argument 'exaustive'"):
        check_gradients(torch.sin, vector(), exaustive=True)


def test_numbers_of_numpy_are_numbers():
    np = pytest.importorskip("numpy", reason="needs numpy")
    assert gradcheck(torch.sin, vector(), seed=np.int64(3), rtol=np.float32(1e-3), directions=np.int32(2))


def test_the_error_pickles_and_is_an_assertion_error():
    error = GradcheckError(str(check_gradients(lambda x: x.argmax(), vector())))
    assert isinstance(error, AssertionError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    report = check_gradients(lambda x: x.argmax(), vector())
    assert pickle.loads(pickle.dumps(report)) == report


def test_numbers_that_look_the_same_are_shown_with_more_digits():
    assert "analytic 1.00001, numeric 1.00002" in str(WrongElement("x", 1.00001, 1.00002))
    assert "analytic -0.184, numeric -0.1673 (relative 0.1)" in str(WrongElement("x", -0.1840, -0.1673))
