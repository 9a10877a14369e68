"""Properties of the directional core, on functions whose derivatives are known."""

from __future__ import annotations

import itertools
import math

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")
hypothesis = pytest.importorskip("hypothesis", reason="property tests need hypothesis")
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from pytest_tensorcheck.gradients import Verdict, check_gradients  # noqa: E402
from pytest_tensorcheck.gradients.differences import SIGMAS, STEPS, measure, pair  # noqa: E402
from pytest_tensorcheck.gradients.directions import Sampler, one_hot, typical_size  # noqa: E402
from pytest_tensorcheck.gradients.locating import Tolerance, element_name  # noqa: E402

# function, derivative, where it is defined
KNOWN = {
    "sin": (math.sin, math.cos, (-20.0, 20.0)),
    "exp": (math.exp, math.exp, (-20.0, 20.0)),
    "log": (math.log, lambda x: 1 / x, (1e-3, 1e3)),
    "sqrt": (math.sqrt, lambda x: 0.5 / math.sqrt(x), (1e-3, 1e3)),
    "cube": (lambda x: x**3, lambda x: 3 * x * x, (-100.0, 100.0)),
    "tanh": (math.tanh, lambda x: 1 / math.cosh(x) ** 2, (-10.0, 10.0)),
    "reciprocal": (lambda x: 1 / x, lambda x: -1 / x**2, (0.1, 100.0)),
    "linear": (lambda x: 7 * x - 3, lambda x: 7.0, (-1e3, 1e3)),
}
ONE = [torch.ones((), dtype=torch.float64)]


def slope_of(function, x, **options):
    def evaluate(t):
        return [torch.tensor(function(x + t * max(1e-4, abs(x))), dtype=torch.float64)]

    return measure(evaluate, evaluate(0.0), ONE, **options)


@pytest.mark.parametrize("name", KNOWN)
def test_the_error_bar_holds_the_true_derivative(name):
    function, derivative, (low, high) = KNOWN[name]

    @given(st.floats(low, high))
    def holds(x):
        true = derivative(x) * max(1e-4, abs(x))
        slope = slope_of(function, x)
        assert slope.usable
        assert abs(slope.value - true) <= SIGMAS * slope.error
        assert not slope.kink or abs(slope.value - true) <= SIGMAS * slope.error

    holds()


# Where a function is zero, rounding its output is nothing: what is left is the rounding of the point itself.
ZEROS = {"sin": 6 * math.pi, "log": 1.0, "linear": 3 / 7, "reciprocal - 1": 1.0}


@pytest.mark.parametrize("name", ZEROS)
@given(st.floats(-9, -1), st.booleans())
def test_the_error_bar_holds_near_a_zero_of_the_function(name, distance, above):
    function, derivative, _ = KNOWN[name.removesuffix(" - 1")]
    shift = 1.0 if name.endswith(" - 1") else 0.0
    x = ZEROS[name] + (10**distance if above else -(10**distance))
    slope = slope_of(lambda x: function(x) - shift, x)
    assert abs(slope.value - derivative(x) * abs(x)) <= SIGMAS * slope.error


@pytest.mark.parametrize("name", ["sin", "cube", "log", "linear"])
def test_the_error_bar_is_narrow(name):
    function, derivative, _ = KNOWN[name]
    slope = slope_of(function, 1.3)
    assert slope.error <= 1e-10 * abs(derivative(1.3)) * 1.3 + 1e-14


@given(st.floats(-3, 3), st.floats(1e-3, 10))
def test_an_expected_value_off_by_a_thousandth_is_not_reached(x, size):
    true = size * math.cos(x) * max(1e-4, abs(x))
    slope = slope_of(lambda x: size * math.sin(x), x, expected=true * 1.001, scale=abs(true))
    assert slope.differs_from(true * 1.001) or abs(true) * 1e-3 <= SIGMAS * slope.error
    assert not slope.differs_from(true)


@pytest.mark.parametrize("frequency", [1.0, 30.0, 300.0])
def test_agreement_is_believed_only_where_it_is_sharp(frequency):
    evaluations = []

    def wave(x):
        evaluations.append(x)
        return math.sin(frequency * x)

    true = frequency * math.cos(frequency * 0.7) * 0.7
    slope = slope_of(wave, 0.7, expected=true, scale=abs(true))
    assert SIGMAS * slope.error <= 1e-6 * abs(true)
    assert abs(slope.value - true) <= SIGMAS * slope.error
    assert len(evaluations) <= 1 + (6 if frequency < 100 else 26)  # the middle of the ladder is enough for most


def test_kinks_constants_and_staircases_are_recognised():
    assert slope_of(lambda x: abs(x), 0.0).kink
    assert slope_of(lambda x: max(0.0, x), 0.0).kink
    assert not slope_of(math.sin, 0.5).kink
    assert not slope_of(lambda x: x * x, 0.0).kink
    assert slope_of(lambda x: 3.0, 0.5).constant
    coarse = slope_of(lambda x: round(x * 64) / 64, 0.7)
    assert coarse.staircase
    assert not coarse.usable or coarse.error * SIGMAS > 0.05
    single = slope_of(lambda x: float(torch.tensor(math.sin(x), dtype=torch.float32)), 0.7)
    assert single.usable
    assert abs(single.value - math.cos(0.7) * 0.7) <= SIGMAS * single.error
    assert 1e-8 < single.error < 1e-2


def test_steps_outside_the_domain_are_skipped():
    slope = slope_of(math.log, 0.02)
    assert abs(slope.value - 1.0) <= SIGMAS * slope.error
    edge = measure(
        lambda t: [torch.tensor(math.acos(0.999999 + t), dtype=torch.float64)],
        [torch.tensor(math.acos(0.999999), dtype=torch.float64)],
        ONE,
    )
    assert edge.raised.startswith("ValueError")
    assert edge.value == pytest.approx(-1 / math.sqrt(1 - 0.999999**2), rel=1e-6)
    nowhere = measure(lambda t: [torch.tensor(math.sqrt(-1 - t * t))], [torch.zeros(())], ONE)
    assert not nowhere.usable


def test_noise_is_measured():
    generator = torch.Generator().manual_seed(0)

    def noisy(x):
        return math.sin(x) + 1e-6 * float(torch.rand((), generator=generator, dtype=torch.float64))

    for _ in range(50):
        slope = slope_of(noisy, 0.9)
        assert abs(slope.value - math.cos(0.9) * 0.9) <= SIGMAS * slope.error


def test_directions_are_bounded_away_from_zero_and_reproducible():
    sampler = Sampler(5)
    for like in (torch.zeros(1000, dtype=torch.float64), torch.zeros(1000, dtype=torch.complex128)):
        made = sampler.like(like)
        parts = torch.view_as_real(made) if made.is_complex() else made
        assert float(parts.abs().min()) >= 0.5
        assert float(parts.abs().max()) <= 1.5
        assert 0.4 < float((parts > 0).double().mean()) < 0.6
    before = torch.get_rng_state()
    assert torch.equal(Sampler(1).like(torch.zeros(9)), Sampler(1).like(torch.zeros(9)))
    assert not torch.equal(Sampler(1).like(torch.zeros(9)), Sampler(2).like(torch.zeros(9)))
    assert torch.equal(torch.get_rng_state(), before)


def test_outputs_that_are_not_finite_have_no_weight():
    y = torch.tensor([1.0, -torch.inf, torch.nan, 100.0], dtype=torch.float64)
    (u,) = Sampler(0).cotangents([y])
    assert (u == 0).tolist() == [False, True, True, False]
    assert abs(float(u[3])) < abs(float(u[0]))
    assert math.isfinite(pair([u], [y]))


@given(st.lists(st.integers(1, 5), max_size=4), st.data())
def test_element_names_are_torchs_indices(shape, data):
    count = math.prod(shape)
    index = data.draw(st.integers(0, count - 1))
    hot = one_hot(torch.zeros(shape), index)
    place = tuple(int(i) for i in hot.nonzero()[0]) if shape else ()
    assert element_name("w", index, shape) == ("w" + str(list(place)) if shape else "w")


def test_typical_size():
    assert typical_size(torch.zeros(3)) == 1.0
    assert typical_size(torch.empty(0)) == 1.0
    assert typical_size(torch.full((3,), 1e-9)) == 1e-4
    assert typical_size(torch.full((3,), 1e9)) == 1e4
    assert typical_size(torch.tensor([3.0, torch.inf, -3.0])) == pytest.approx(3.0)


def test_tolerance():
    assert Tolerance(0.1, 0.0).accepts(1.05, 1.0)
    assert not Tolerance(0.1, 0.0).accepts(1.2, 1.0)
    assert Tolerance(0.0, 0.01).accepts(0.9, 1.0, scale=100.0)
    assert not Tolerance(0.0, 0.01).accepts(0.9, 1.0, scale=1.0)


@given(
    st.integers(1, 40),
    st.integers(0, 39),
    st.floats(1e-4, 10).filter(lambda r: r > 1e-3),
    st.sampled_from([1e-6, 1e-3, 1.0, 1e3]),
    st.integers(0, 1000),
)
def test_one_wrong_element_of_any_size_is_found_and_named(n, index, error, scale, seed):
    index %= n

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return scale * torch.exp(x)

        @staticmethod
        def backward(ctx, grad):
            made = scale * torch.exp(ctx.saved_tensors[0]) * grad
            made[index] *= 1 + error
            return made

    x = torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    report = check_gradients(Wrong, x, seed=seed)
    assert report.verdict is Verdict.FAILED
    assert (report.verdict == "failed", str(report.verdict)) == (True, "failed")
    assert [element.name for element in report.elements] == [f"x[{index}]"]
    assert report.elements[0].relative == pytest.approx(error, rel=1e-3)
    assert check_gradients(lambda x: scale * torch.exp(x), x, seed=seed).verdict is Verdict.PASSED


def test_the_ladder_is_what_the_documentation_says():
    assert STEPS[0] == 2.0**-5
    assert all(a == 4 * b for a, b in itertools.pairwise(STEPS))
