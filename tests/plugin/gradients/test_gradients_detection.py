"""Planted errors are found and located; torch's own operators and modules are not accused. Samples of the benchmarks."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
import warnings

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")

from pytest_tensorcheck.gradients import Verdict, check_gradients  # noqa: E402

BENCHMARKS = pathlib.Path(__file__).parents[3] / "benchmarks"


def benchmark(name: str):
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


planted = benchmark("gradcheck_planted")


def test_the_corpus_is_as_large_as_claimed():
    assert len(planted.MAPS) >= 25
    assert len(planted.ELEMENTS) + len(planted.STRUCTURED) >= 8


@pytest.mark.parametrize("kind", [kind for kind in planted.KINDS if kind != planted.NONE])
@pytest.mark.parametrize("size", [10, 1000])
def test_planted_errors_are_found_and_single_elements_located(kind, size):
    missed, misplaced = [], []
    offset = planted.KINDS.index(kind)
    step = 2 if size == 10 and kind in planted.ELEMENTS else 6
    names = list(planted.MAPS)[offset % step :: step]
    for name in names:
        function, x, index = planted.trial(name, kind, size, seed=offset)
        report = check_gradients(function, (x,))
        if report.verdict is not Verdict.FAILED:
            missed.append(name)
        elif index is not None:
            row, column = divmod(index, x.shape[1])
            if report.elements[0].name != f"x[{row}, {column}]":
                misplaced.append((name, str(report)))
    assert not missed
    assert not misplaced


@pytest.mark.parametrize("kind", ["one element x1.1", "sign"])
def test_a_hundred_thousand_elements(kind):
    for name in ("softmax", "attention") if kind in planted.ELEMENTS else ("sin",):
        function, x, index = planted.trial(name, kind, 100_000)
        report = check_gradients(function, (x,))
        assert report.verdict is Verdict.FAILED, name
        if index is not None:
            row, column = divmod(index, x.shape[1])
            assert report.elements[0].name == f"x[{row}, {column}]"
            assert report.elements[0].relative == pytest.approx(0.1, rel=1e-3)


@pytest.mark.parametrize("size", [10, 1000])
def test_the_same_maps_without_an_error_pass(size):
    for name in planted.MAPS:
        for seed in range(2):
            function, x, _ = planted.trial(name, planted.NONE, size, seed=seed)
            report = check_gradients(function, (x,), seed=seed)
            assert report.verdict is Verdict.PASSED, f"{name}: {report}"


def test_an_element_whose_gradient_is_small_against_the_others():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.save_for_backward(x, scale)
            return (x * scale).sin()

        @staticmethod
        def backward(ctx, grad):
            x, scale = ctx.saved_tensors
            made = grad * scale * (x * scale).cos()
            made[7] *= 1.1
            return made, None

    x = torch.randn(50, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    for small in (1e-3, 1e-6):
        scale = torch.ones(50, dtype=torch.float64)
        scale[5:10] = small
        report = check_gradients(Wrong, (x, scale))
        assert report.verdict is Verdict.FAILED, small
        assert [element.name for element in report.elements] == ["x[7]"]


def test_a_whole_function_scaled_down_is_judged_on_its_own_scale():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 1e-12 * x**2

        @staticmethod
        def backward(ctx, grad):
            return 1e-12 * 2.2 * ctx.saved_tensors[0] * grad

    x = torch.randn(5, generator=torch.Generator().manual_seed(0))
    assert check_gradients(Wrong, x).verdict is Verdict.FAILED
    assert check_gradients(lambda x: 1e-12 * x**2, x).verdict is Verdict.PASSED


CORRECT = {
    "relu at zero": (torch.relu, torch.zeros(6)),
    "abs at zero": (torch.abs, torch.tensor([0.0, 1.0, -1.0, 0.0])),
    "ties of max": (lambda x: x.amax(), torch.ones(5)),
    "ties of max over an axis": (lambda x: x.max(1).values, torch.ones(3, 4)),
    "sort": (lambda x: x.sort().values, torch.linspace(-1, 1, 9)),
    "clamp on the border": (lambda x: x.clamp(0, 1), torch.tensor([0.0, 0.5, 1.0])),
    "saturated tanh": (torch.tanh, torch.full((4,), 30.0)),
    "saturated sigmoid": (lambda x: torch.sigmoid(50 * x), torch.tensor([1.0, -2.0, 0.01])),
    "floor": (torch.floor, torch.tensor([0.5, 1.7, -3.2])),
    "steep": (lambda x: torch.tan(x), torch.tensor([1.57, 0.1, -1.5])),
    "huge": (lambda x: x**3, torch.tensor([1e8, 1.0, -1e8])),
    "tiny": (torch.log, torch.tensor([1e-12, 1e-6, 1.0])),
    "norm away from zero": (torch.linalg.norm, torch.tensor([1e-8, 1e-8])),
    "determinant": (torch.linalg.det, torch.tensor([[1.0, 2.0], [2.0, 4.0001]])),
    "inverse": (torch.linalg.inv, torch.tensor([[1.0, 2.0], [2.0, 4.001]])),
    "eigenvalues": (torch.linalg.eigvalsh, torch.diag(torch.tensor([1.0, 1.01, 3.0]))),
    "cholesky": (torch.linalg.cholesky, torch.tensor([[2.0, 0.5], [0.5, 1.0]])),
    "softmax with minus infinity": (
        lambda x: torch.softmax(x.masked_fill(torch.tensor([True, False, False]), -torch.inf), 0),
        torch.tensor([1.0, 2.0, 3.0]),
    ),
    "infinite outputs": (lambda x: x.masked_fill(torch.tensor([True, False]), -torch.inf), torch.tensor([1.0, 2.0])),
    "float32 inside": (lambda x: x.float().sin().to(x.dtype), torch.linspace(-2, 2, 30)),
    "bfloat16 inside": (lambda x: x.bfloat16().sin().to(x.dtype), torch.linspace(-2, 2, 30)),
    "data-dependent shape": (lambda x: x[x > 0] ** 2, torch.tensor([1.0, -1.0, 1e-3])),
    "branch": (lambda x: x**2 if x.sum() > 0 else -x, torch.tensor([1e-9, 0.0])),
}


@pytest.mark.parametrize("name", CORRECT)
def test_no_correct_function_is_accused(name):
    function, x = CORRECT[name]
    for seed in range(8):
        report = check_gradients(function, x, seed=seed)
        assert report.verdict is not Verdict.FAILED, str(report)


DECIDED = sorted(set(CORRECT) - {"branch", "saturated sigmoid", "cholesky"})


@pytest.mark.parametrize("name", DECIDED)
def test_what_can_be_decided_is(name):
    function, x = CORRECT[name]
    report = check_gradients(function, x)
    assert report.verdict is Verdict.PASSED, str(report)


def test_bfloat16_inside_is_computed_in_float64_for_every_seed():
    function, x = CORRECT["bfloat16 inside"]
    assert {check_gradients(function, x, seed=seed).verdict for seed in range(20)} == {Verdict.PASSED}


# -- torch's own samples -----------------------------------------------------------------------------------------------

internal = pytest.mark.skipif(
    importlib.util.find_spec("expecttest") is None, reason="torch's sample inputs need expecttest"
)

# Operators whose own gradient is not their derivative; torch's slow gradcheck fails them too.
NOT_THE_DERIVATIVE = {
    "nn.functional.max_unpool1d": "repeated indices: several inputs claim one output, each gets its gradient",
    "nn.functional.max_unpool2d": "repeated indices",
    "nn.functional.max_unpool3d": "repeated indices",
    "normal": "torch returns zeros for the gradient of sampling",
    "as_strided_scatter": "the overwritten elements get the gradient of the others",
    "native_group_norm": "mean and rstd are returned but their gradients are not implemented",
}


@internal
@pytest.mark.usefixtures("samples_of_torch")
def test_a_sample_of_torchs_operators_is_not_accused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opinfo = benchmark("gradcheck_opinfo")
        seen = 0
        for case, function, tensors in opinfo.cases(every=97, operators=2):
            operator = case.partition("#")[0]
            if operator in NOT_THE_DERIVATIVE or operator == "grid_sampler_3d":
                continue
            verdict, text = opinfo.ours(function, tensors)
            assert verdict in ("passed", "inconclusive", "refused"), f"{case}: {text}"
            seen += 1
    assert seen > 200


@internal
def test_every_nn_module_with_a_gradient_passes_with_its_parameters():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modules = benchmark("gradcheck_modules")
        seen = set()
        for name, module, inputs, kwargs in modules.cases(every=16):
            report = check_gradients(module, inputs, kwargs=kwargs)
            seen.add(name.partition("#")[0])
            if "CTCLoss" in name:
                assert report.verdict is Verdict.PASSED, str(report)
                assert "the two were checked together" in str(report)
            elif report.verdict is not Verdict.PASSED:
                # Samples that hand logarithms and fractional powers a negative number.
                assert "NaN or infinite" in str(report), f"{name}: {report}"
                assert report.verdict is Verdict.INCONCLUSIVE, f"{name}: {report}"
    assert len(seen) > 100
