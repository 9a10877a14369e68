"""What gradcheck accepts."""

from __future__ import annotations

import collections
import dataclasses
import functools
import random

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")
np = pytest.importorskip("numpy", reason="needs numpy, as torch's own tests do")
from torch import nn  # noqa: E402

from pytest_tensorcheck.gradients import GradcheckWarning, Verdict, check_gradients, gradcheck  # noqa: E402


def randn(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def checked(function, inputs, **options):
    report = check_gradients(function, inputs, **options)
    assert report.verdict is Verdict.PASSED, str(report)
    return report.checked


# -- what it accepts ---------------------------------------------------------------------------------------------------


def test_inputs_of_every_form():
    x, y = randn(3), randn(3, seed=1)
    assert checked(torch.sin, x) == ["inputs[0]"]
    assert checked(lambda a, b: a * b, (x, y)) == ["a", "b"]
    assert checked(lambda a, b: a * b, [x, y]) == ["a", "b"]
    assert checked(lambda *xs: sum(xs), (x, y)) == ["xs[0]", "xs[1]"]
    assert checked(lambda batch: batch["x"] * batch["more"][1], {"x": x, "more": [1, y]}) == [
        "batch['x']",
        "batch['more'][1]",
    ]
    assert checked(lambda xs, scale: torch.stack(xs) * scale, ([x, y], 2.5)) == ["xs[0]", "xs[1]"]
    assert checked(lambda x, *, w, mode: x @ w, (x,), kwargs={"w": y, "mode": "a"}) == ["x", "w"]


def test_named_tuples_and_dataclasses():
    Pair = collections.namedtuple("Pair", "left right")

    @dataclasses.dataclass
    class Batch:
        data: torch.Tensor
        length: int

    assert checked(
        lambda p: p.left * p.right, Pair(randn(2), randn(2, seed=1)) and (Pair(randn(2), randn(2, seed=1)),)
    ) == [
        "p.left",
        "p.right",
    ]
    assert checked(lambda b: b.data * b.length, (Batch(randn(2), 3),)) == ["b.data"]


def test_outputs_of_every_form():
    x = randn(4)
    assert checked(lambda x: (x.sin(), [x.cos(), {"a": x.exp()}], 3, None), x) == ["x"]
    assert checked(lambda x: x.max(0), x) == ["x"]  # indices beside values
    assert checked(lambda x: torch.linalg.svd(x)[1], randn(3, 3)) == ["x"]


def test_only_marked_inputs_are_checked_when_any_is_marked():
    marked = randn(3).requires_grad_()
    assert checked(lambda a, b: a * b.detach(), (marked, randn(3, seed=1))) == ["a"]
    assert checked(lambda a, b: a * b, (randn(3), randn(3, seed=1))) == ["a", "b"]


def test_an_unmarked_input_without_a_gradient_is_a_doubt_and_a_marked_one_a_failure():
    """A backward that forgot its weight looks like one whose second input is a target: the test's author has to say."""

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(w)
            return x * w

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0], None

    for function in (Scale, lambda x, w: x * w.detach()):
        x, w = randn(3), randn(3, seed=1)
        report = check_gradients(function, (x, w), exhaustive=True)
        assert (report.verdict, report.kinds) == (Verdict.INCONCLUSIVE, ["missing-gradient-of-unmarked-input"])
        assert "every one of 9 entries of the Jacobian was compared" in report.notes  # of x alone
        with pytest.warns(
            GradcheckWarning, match="gives no gradient to some of its inputs, perhaps on purpose\n  w rec"
        ):
            assert gradcheck(function, (x, w))
        assert check_gradients(function, (x.requires_grad_(), w)).verdict is Verdict.PASSED
        assert check_gradients(function, (x, w.requires_grad_())).verdict is Verdict.FAILED


def test_inputs_that_refuse_to_be_differentiated_are_left_out():
    report = check_gradients(nn.BCELoss(), (torch.rand(4, generator=torch.Generator().manual_seed(0)), torch.ones(4)))
    assert report.verdict is Verdict.PASSED
    assert report.checked[0] == "input"
    mean, var = torch.zeros(3), torch.ones(3)
    report = check_gradients(lambda x, m, v: nn.functional.batch_norm(x, m, v, training=True), (randn(4, 3), mean, var))
    assert report.verdict is Verdict.PASSED
    assert torch.equal(mean, torch.zeros(3))


def test_the_same_tensor_twice_is_one_input():
    x = randn(3)
    report = check_gradients(lambda a, b: a * b, (x, x))
    assert report.verdict is Verdict.PASSED
    assert report.checked == ["a (= b)"]


def test_expanded_and_strided_inputs():
    assert gradcheck(torch.sin, randn(3, 1).expand(3, 4))
    assert gradcheck(torch.sin, randn(4, 6).T[::2])
    assert gradcheck(
        lambda x: nn.functional.conv2d(x, torch.ones(2, 3, 2, 2)),
        randn(1, 3, 4, 4).to(memory_format=torch.channels_last),
    )


def test_empty_tensors_say_that_nothing_was_compared():
    report = check_gradients(lambda x: x * 2, torch.empty(0))
    assert report.verdict is Verdict.PASSED
    assert "nothing to differentiate" in report.notes[0]


def test_complex_inputs_and_outputs():
    z = torch.complex(randn(4), randn(4, seed=1))
    for function in (torch.fft.fft, lambda z: z.abs() ** 2, lambda z: z * z.conj() + z.exp(), torch.view_as_real):
        assert gradcheck(function, z, exhaustive=True)
    assert gradcheck(torch.fft.rfft, randn(6))


def test_functions_functions_of_functions_and_functors():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    class Functor:
        def __init__(self):
            self.model = nn.Linear(3, 2)

        def __call__(self, x):
            return self.model(x)

        def loss(self, x):
            return self.model(x).sum()

    functor = Functor()
    assert checked(Scale, (randn(3), 2.0)) == ["x"]
    assert checked(Scale.apply, (randn(3), 2.0)) == ["x"]
    assert checked(functools.partial(torch.add, alpha=2), (randn(3), randn(3, seed=1))) == ["inputs[0]", "inputs[1]"]
    assert checked(functor, randn(3)) == ["x", "model.weight", "model.bias"]
    assert checked(functor.loss, randn(3)) == ["x", "model.weight", "model.bias"]
    assert functor.model.weight.dtype == torch.float32


def test_modules_that_a_function_closes_over_are_checked_and_untouched():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    target = randn(5, 4, seed=3)
    loss = nn.MSELoss()

    def step(x):
        return loss(model(x), target)

    assert checked(step, randn(5, 3)) == ["x", "model.0.weight", "model.0.bias", "model.1.weight", "model.1.bias"]
    assert model[1].num_batches_tracked == 0
    assert checked(step, randn(5, 3), parameters=False) == ["x"]
    assert checked(step, randn(5, 3), parameters=["model.1.*"]) == ["x", "model.1.weight", "model.1.bias"]
    assert checked(lambda m, x: m(x), (model, randn(5, 3)))[0] == "x"


def test_frozen_parameters_and_the_choice_of_parameters():
    layer = nn.Linear(3, 2)
    layer.bias.requires_grad_(False)
    assert checked(layer, randn(3)) == ["input", "weight"]
    assert checked(layer, randn(3), parameters=["bias"]) == ["input", "bias"]
    assert checked(nn.Embedding(5, 3), torch.tensor([1, 3])) == ["weight"]
    assert not layer.bias.requires_grad


def test_tied_parametrised_lazy_and_recurrent_modules():
    tied = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))
    tied[1].weight = tied[0].weight
    assert checked(tied, randn(3)) == ["input", "0.weight"]
    assert gradcheck(nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)), randn(3))
    assert gradcheck(nn.utils.parametrizations.orthogonal(nn.Linear(3, 3)), randn(3))
    assert gradcheck(nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3)), randn(3))
    assert gradcheck(nn.utils.spectral_norm(nn.Linear(3, 3)), randn(3))
    assert gradcheck(nn.utils.weight_norm(nn.Linear(3, 3)), randn(3))
    lazy = nn.LazyLinear(2)
    assert checked(lazy, randn(4, 3)) == ["input", "weight", "bias"]
    assert nn.parameter.is_lazy(lazy.weight)
    assert gradcheck(nn.LSTM(3, 2, num_layers=2, bidirectional=True), randn(4, 2, 3), forward_mode=True)


def test_a_module_whose_activation_is_kept_can_still_be_copied():
    class Keeps(nn.Linear):
        def forward(self, x):
            self.last = super().forward(x)
            return self.last.tanh()

    module = Keeps(3, 2)
    module(randn(3))
    before = module.last
    assert gradcheck(module, randn(3))
    assert module.last is before


def test_hidden_state_between_calls_is_reset():
    class Stateful(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.calls, self.seen = torch.zeros(3), 0, []
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            self.count += 1
            self.seen.append(x)
            self.hidden = (self.hidden + x).detach()
            return x * self.count * self.calls * len(self.seen) + self.hidden.detach() * 0

    module = Stateful()
    assert gradcheck(module, randn(3))
    assert (module.calls, module.seen, float(module.count)) == (0, [], 0.0)


def test_randomness_is_the_same_at_every_evaluation():
    assert gradcheck(nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5)), randn(4))
    assert gradcheck(lambda x: x * torch.rand(3) * random.random() * float(np.random.rand()), randn(3))
    generator = torch.Generator().manual_seed(3)
    state = generator.get_state()
    assert gradcheck(lambda x, g: x * torch.rand(3, generator=g), (randn(3), generator))
    assert torch.equal(generator.get_state(), state)
    assert gradcheck(lambda x, g: x * float(g.normal()), (randn(3), np.random.default_rng(0)))


def test_a_generator_that_only_some_evaluations_draw_from():
    x = randn(3, dtype=torch.float64)
    draws, before = [], np.random.get_state()

    def late(x_):
        if not torch.equal(x_, x):
            draws.append(float(np.random.rand()))
        return x_.sin()

    assert gradcheck(late, x)
    assert (np.random.get_state()[1] == before[1]).all()
    assert np.random.get_state()[2:] == before[2:]
    # Left alone at first, and set at every evaluation once it was seen to move.
    assert len(set(draws[len(draws) // 2 :])) == 1


def test_a_view_is_checked_with_the_memory_around_it_where_a_function_reads_that():
    memory = torch.linspace(-2, 2, 40)
    view, weight = memory[5:15], randn(4)
    assert checked(lambda v: v.as_strided((2, 3), (4, 2), 10).square(), view) == ["v"]
    assert checked(lambda w, v: (w * v.as_strided((4,), (9,), 1)).sum(), (weight, view), parameters=False) == ["w", "v"]
    assert torch.equal(memory, torch.linspace(-2, 2, 40))

    def doubled(v):
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, v):
                return v.as_strided((3,), (4,), 8) * 2

            @staticmethod
            def backward(ctx, grad):
                made = torch.zeros(10, dtype=grad.dtype)
                made[3] = 3 * grad[0]  # 2
                made[7] = 2 * grad[1]
                return made

        return Wrong.apply(v)

    report = check_gradients(doubled, view)
    assert [str(element.name) for element in report.elements] == ["v[3]"]
    beyond = check_gradients(lambda v: v.as_strided((2, 300), (4, 2), 10), view)
    assert beyond.verdict is Verdict.FAILED
    assert "out of bounds for storage" in str(beyond)


def test_float32_inside_a_forward_falls_back_to_the_precision_it_runs_in():
    class Initial(nn.Module):  # creates its state in the default dtype
        def __init__(self):
            super().__init__()
            self.cell = nn.GRUCell(3, 2)

        def forward(self, x):
            return self.cell(x, torch.zeros(x.shape[0], 2))

    class Cast(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x):
            return self.layer(x.float())

    assert check_gradients(Initial(), randn(4, 3)).dtype == "float64"
    report = check_gradients(Cast(), randn(4, 3))
    assert report.verdict is Verdict.PASSED, str(report)
    assert report.dtype == "float32"
    assert "does not run in float64" in report.notes[0]
    assert report.resolution < 0.1
    assert torch.get_default_dtype() == torch.float32


def test_eight_bit_floats_are_checked_in_float64():
    assert check_gradients(lambda x: x.to(torch.float64) ** 2, randn(3).to(torch.float8_e4m3fn)).resolution < 1e-6


def test_the_default_device_does_not_matter():
    x = randn(3)
    with torch.device("meta"):
        assert check_gradients(torch.sin, x).verdict is Verdict.PASSED


def test_low_precision_inputs_are_checked_in_float64():
    assert check_gradients(nn.Linear(3, 2).half(), randn(3).half()).resolution < 1e-6
    assert check_gradients(torch.sin, randn(3).bfloat16()).resolution < 1e-6


# -- torch's signature -------------------------------------------------------------------------------------------------


def test_torchs_own_signature_is_accepted():
    x = randn(3, dtype=torch.float64).requires_grad_()
    options = dict(  # noqa: C408
        eps=1e-6,
        atol=1e-5,
        rtol=1e-3,
        raise_exception=True,
        nondet_tol=0.0,
        check_undefined_grad=True,
        check_grad_dtypes=True,
        check_batched_grad=True,
        check_batched_forward_grad=True,
        check_forward_ad=True,
        check_backward_ad=True,
        fast_mode=True,
        masked=False,
    )
    assert torch.autograd.gradcheck(torch.sin, x, **options)
    assert gradcheck(torch.sin, x, **options) is True
    assert gradcheck(torch.sin, (x,), **options) is True
    assert gradcheck(lambda x: x.argmax(), x, raise_exception=False) is False


def test_tolerances_mean_what_torchs_mean():
    class Slightly(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2.001

    x = randn(4, dtype=torch.float64).requires_grad_()
    assert not gradcheck(Slightly, x, raise_exception=False)
    assert gradcheck(Slightly, x, rtol=1e-2)
    assert gradcheck(Slightly, x, rtol=0, atol=0.01)
    assert not gradcheck(Slightly, x, rtol=1e-4, atol=1e-4, raise_exception=False)


@pytest.mark.parametrize(
    "options", [{"second_order": True}, {"forward_mode": True}, {"batched": True}, {"exhaustive": True}]
)
def test_every_mode_passes_what_is_right(options):
    x = randn(3, 4)
    assert gradcheck(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.LayerNorm(3)), x, **options)
    assert gradcheck(lambda x: (x.exp(), x.sum(0)), x, **options)


def test_forward_mode_alone():
    assert gradcheck(torch.sin, randn(3), check_backward_ad=False, check_forward_ad=True)


def test_the_seed_chooses_the_directions_and_nothing_else():
    x = randn(4)
    first, again, other = (check_gradients(torch.exp, x, seed=seed) for seed in (1, 1, 2))
    assert first.resolution == again.resolution != other.resolution
