"""opcheck and check_gradients_flow."""

from __future__ import annotations

import logging
import pickle

import pytest

torch = pytest.importorskip("torch", reason="custom operators and gradients need torch")

from pytest_tensorcheck.gradients import (  # noqa: E402
    OpcheckError,
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
    with pytest.raises(
        ValueError, match=r"aten.sin has the overloads default, out, .*: choose one, torch.ops.aten.sin.default"
    ):
        opcheck(torch.ops.aten.sin, (torch.ones(1),))
    with pytest.raises(ValueError, match=r"shapes=3: give a list of shapes"):
        opcheck(scale, (torch.ones(1), 4.0), shapes=3)
    with pytest.raises(ValueError, match=r"dtypes='float32': give a list of dtypes"):
        opcheck(scale, (torch.ones(1), 4.0), dtypes="float32")
    with pytest.raises(ValueError, match=r"kwargs=\[1\]: give a dict"):
        opcheck(scale, (torch.ones(1), 4.0), [1])


def test_one_shape_and_one_dtype_need_no_list():
    report = check_operator(scale, (torch.ones(1), 4.0), shapes=(2, 3), dtypes=torch.float64, test_utils="test_schema")
    assert [sample for sample, _ in report.results] == ["float64 (2, 3), 4.0"]


def plain(x):
    return x * 2


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        (
            plain,
            r"plain is no operator but a plain function\. For its gradients: gradcheck\(plain, inputs\); .*custom_op",
        ),
        (lambda x: x, r"<lambda> is no operator but a plain function"),
        (torch.sin, r"sin is no operator of yours but torch's own function, .*opcheck\(torch\.ops\.aten\.sin\.default"),
        (torch.add, r"torch's own function, .*: opcheck\(torch\.ops\.aten\.add\.Tensor, "),
        (torch.nn.functional.relu, r"torch's own function.*torch\.ops\.aten\.relu\.default"),
        (torch.Tensor.add, r"torch's own function"),
        (
            torch.nn.Linear(2, 2),
            r"a Linear module is no operator: check its gradients with gradcheck\(module, inputs\)",
        ),
        (torch.ops.aten, r"is no operator but a namespace"),
        ("scale", r"'scale' is no operator but a string: .* torch\.ops\.ns\.name\.default"),
        ("aten::sin", r"but a string: .* torch\.ops\.aten\.sin\.default"),
        ("tensorcheck_tests::scale", r"but a string: .* torch\.ops\.tensorcheck_tests\.scale\.default"),
        (3, r"3 is no operator"),
    ],
)
def test_what_is_no_operator_is_answered_by_what_to_pass(given, advice):
    with pytest.raises(ValueError, match=advice):
        opcheck(given, (torch.ones(2),))


@torch.library.custom_op("tensorcheck_tests::talks", mutates_args=())
def talks(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@talks.register_fake
def _(x):
    logging.getLogger("torch._tests_talk").error("sizes are %s", tuple(x.shape))
    return x.new_empty(x.shape[0] + (1 if x.shape[0] == 3 else 0))


def test_what_torch_logs_is_kept_for_the_report(capfd, monkeypatch):
    monkeypatch.delenv("TORCH_LOGS", raising=False)
    logger = logging.getLogger("torch")
    handlers = [logging.StreamHandler()]
    monkeypatch.setattr(logger, "handlers", handlers)
    with pytest.raises(OpcheckError) as caught:
        opcheck(talks, (torch.ones(3),), test_utils="test_faketensor")
    text = str(caught.value)
    assert "torch logged meanwhile:\n    error of torch._tests_talk: sizes are (3,)\n" in text
    assert text.count("sizes are") == 1
    report = check_operator(talks, (torch.ones(2),), test_utils="test_faketensor")
    assert report
    assert report.logged
    assert "sizes are" not in str(report)
    assert "sizes are" not in "".join(capfd.readouterr())
    assert logger.handlers is handlers
    assert [type(handler) for handler in handlers] == [logging.StreamHandler]
    logging.getLogger("torch._tests_talk").error("after it")
    assert "after it" in capfd.readouterr().err
    monkeypatch.setenv("TORCH_LOGS", "+aot")  # who asks for them sees them as they come
    check_operator(talks, (torch.ones(2),), test_utils="test_faketensor")
    assert "sizes are (2,)" in capfd.readouterr().err
