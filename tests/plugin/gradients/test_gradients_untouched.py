"""What gradcheck leaves alone: the module, its tensors, the generators; and what importing it imports."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")
np = pytest.importorskip("numpy", reason="needs numpy, as torch's own tests do")
from torch import nn  # noqa: E402

from pytest_tensorcheck.gradients import gradcheck  # noqa: E402


def randn(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


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
