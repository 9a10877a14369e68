"""What gradcheck accepts, and that it leaves all of it as it was."""

from __future__ import annotations

import collections
import dataclasses
import functools
import random
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")
np = pytest.importorskip("numpy", reason="needs numpy, as torch's own tests do")
from torch import nn  # noqa: E402

from pytest_tensorcheck.gradients import Verdict, check_gradients, gradcheck  # noqa: E402


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


# -- what it leaves alone ----------------------------------------------------------------------------------------------


def state_of(module):
    return {
        "tensors": {
            name: (t.detach().clone(), t.dtype, t._version) for name, t in module.state_dict(keep_vars=True).items()
        },
        "requires_grad": {name: p.requires_grad for name, p in module.named_parameters()},
        "grads": {name: None if p.grad is None else p.grad.clone() for name, p in module.named_parameters()},
        "training": [m.training for m in module.modules()],
        "hooks": [len(m._forward_hooks) + len(m._backward_hooks) for m in module.modules()],
        "random": (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()),
        "grad_mode": (torch.is_grad_enabled(), torch.get_default_dtype()),
    }


def same_state(first, second):
    tensors = first.pop("tensors"), second.pop("tensors")
    assert tensors[0].keys() == tensors[1].keys()
    for name, (value, dtype, version) in tensors[0].items():
        other = tensors[1][name]
        assert torch.equal(value, other[0]), name
        assert (dtype, version) == other[1:], name
    grads = first.pop("grads"), second.pop("grads")
    for name, grad in grads[0].items():
        assert (grad is None) == (grads[1][name] is None)
        assert grad is None or torch.equal(grad, grads[1][name])
    assert first == second


@pytest.mark.parametrize("outcome", ["passes", "fails", "raises"])
@pytest.mark.parametrize("training", [True, False])
def test_the_users_module_and_tensors_are_untouched(outcome, training):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.norm, self.drop = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout()
            self.layer.bias.requires_grad_(False)

        def forward(self, x):
            y = self.drop(self.norm(self.layer(x)))
            if outcome == "fails":
                return y * y.detach()
            if outcome == "raises":
                raise RuntimeError("no")
            return y

    model = Model().train(training)
    model.layer.register_forward_hook(lambda *_: None)
    model.layer.weight.grad = torch.full_like(model.layer.weight, 7.0)
    x = randn(5, 3).requires_grad_()
    x.grad = torch.ones_like(x)
    version, value = x._version, x.detach().clone()
    before = state_of(model)
    with torch.no_grad():  # also where the caller has switched gradients off
        before["grad_mode"] = (False, torch.float32)
        assert gradcheck(model, x, raise_exception=False) is (outcome == "passes")
        after = state_of(model)
    same_state(before, after)
    assert x._version == version
    assert torch.equal(x.detach(), value)
    assert torch.equal(x.grad, torch.ones_like(x))


def test_it_works_inside_no_grad_and_inference_mode():
    layer = nn.Linear(3, 2)
    with torch.no_grad():
        assert gradcheck(layer, randn(3))
    with torch.inference_mode():
        assert gradcheck(layer, randn(3))


def test_importing_the_gradients_imports_no_torch():
    code = (
        "import sys, pytest_tensorcheck.gradients as g; assert g.gradcheck and g.opcheck and g.check_gradients_flow; "
        "assert not {'torch', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_torch_the_error_says_what_to_install():
    code = (
        "import importlib.util as u; find = u.find_spec; "
        "u.find_spec = lambda n, *a: None if n == 'torch' else find(n, *a)\n"
        "from pytest_tensorcheck.gradients import gradcheck, opcheck, check_gradients_flow\n"
        "for call in (lambda: gradcheck(abs, 1), lambda: opcheck(abs, ()), lambda: check_gradients_flow(1, 2)):\n"
        "    try: call()\n"
        "    except ImportError as e: assert 'needs torch' in str(e) and 'pip install torch' in str(e)\n"
        "    else: raise SystemExit('no error')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
