"""TSR301 where calling a module is not, or may not be, `nn.Module.__call__`: another base has a `__call__`, the file replaces
that of all modules, a tracer or a hook was given the module to call."""

from __future__ import annotations

import pytest
from meant_programs import HEAD, X, lines, run

OWN_WAYS = ["__call__", "_call_impl"]
BASES = {
    "a distribution's transform": (
        "class Shift(torch.distributions.Transform, nn.Module):\n    bijective = True\n    domain = codomain = torch.distributions.constraints.real\n\n"
        "    def __init__(self):\n        torch.distributions.Transform.__init__(self)\n        nn.Module.__init__(self)\n\n"
        "    def _call(self, x):\n        return self.forward(x)\n\n    def forward(self, x):\n        return x + 1\n\n\n"
    ),
    "by way of a class between": (
        "class Base(torch.distributions.transforms.Transform):\n    bijective = True\n    domain = codomain = torch.distributions.constraints.real\n\n\n"
        "class Shift(Base, nn.Module):\n    def __init__(self):\n        Base.__init__(self)\n        nn.Module.__init__(self)\n\n"
        "    def _call(self, x):\n        return self.forward(x)\n\n    def forward(self, x):\n        return x + 1\n\n\n"
    ),
}


@pytest.mark.parametrize("name", BASES)
def test_another_base_may_have_a_call_of_its_own(name: str) -> None:
    code = HEAD + BASES[name] + f"Shift()({X})\n"
    assert lines(code) == []
    run(code)
    with pytest.raises(RecursionError):
        run(code.replace("self.forward(x)", "self(x)"))


@pytest.mark.parametrize(
    ("head", "bases", "reported"),
    [
        ("from ray.rllib.models.torch.torch_modelv2 import TorchModelV2", "TorchModelV2, nn.Module", False),
        ("from ray.rllib.models.torch.torch_modelv2 import TorchModelV2", "nn.Module, TorchModelV2", True),
        ("from somewhere import Mixin", "Mixin, nn.Module", False),
        ("from .beside import Mixin", "Mixin, nn.Module", False),
        ("from somewhere import Mixin", "nn.Linear, Mixin", True),
        ("import abc", "abc.ABC, nn.Module", True),
        ("from typing import Generic, TypeVar\n\nT = TypeVar('T')", "Generic[T], nn.Module", True),
        ("from typing import Protocol", "Protocol, nn.Module", True),
        ("from huggingface_hub import PyTorchModelHubMixin", "PyTorchModelHubMixin, nn.Module", True),
        ("from sklearn.base import BaseEstimator", "BaseEstimator, nn.Module", True),
        ("from transformers.generation import GenerationMixin", "GenerationMixin, nn.Module", True),
        ("", "torch.distributions.Distribution, nn.Module", True),
        ("class Mixin:\n    pass", "Mixin, nn.Module", True),
        ("class Mixin:\n    def __call__(self, x):\n        return x", "Mixin, nn.Module", False),
        ("class Mixin:\n    __call__ = staticmethod(print)", "Mixin, nn.Module", False),
    ],
)
def test_what_stands_before_the_module_among_the_bases(head: str, bases: str, reported: bool) -> None:
    own = f"class Model({bases}):\n    def forward(self, x):\n        return x\n\n    def predict(self, x):\n        return self.forward(x)\n"
    assert bool(lines(f"{HEAD}\n{head}\n\n\n{own}")) is reported
    assert bool(lines(f"{HEAD}\n{head}\n\n\n{own}\n\nModel().forward(1)\n".replace("self.forward(x)", "x"))) is reported


PATCHES = {
    "assigned": "before = nn.Module.__call__\nnn.Module.__call__ = traced\nnet({X})\nnn.Module.__call__ = before",
    "setattr": 'before = nn.Module.__call__\nsetattr(nn.Module, "__call__", traced)\nnet({X})\nsetattr(nn.Module, "__call__", before)',
    "mock": 'from unittest import mock\n\nwith mock.patch.object(nn.Module, "__call__", traced):\n    net({X})',
    "what the call comes through": "before = nn.Module._call_impl\nnn.Module._call_impl = traced\nnet({X})\nnn.Module._call_impl = before",
}


@pytest.mark.parametrize("way", PATCHES)
def test_where_the_call_is_replaced_forward_is_called_for_it(way: str) -> None:
    traced = "net = Net()\n\n\ndef traced(module: nn.Module, *args):\n    ran.append(module)\n    return module.forward(*args)\n\n\n"
    code = HEAD + traced + PATCHES[way].replace("{X}", X) + "\n"
    assert lines(code) == []
    run(code)
    # The calls of all modules are replaced meanwhile: they are put back by hand.
    import torch

    call, impl = torch.nn.Module.__call__, torch.nn.Module._call_impl
    try:
        with pytest.raises(RecursionError):
            run(code.replace("module.forward(*args)", "module(*args)"))
    finally:
        torch.nn.Module.__call__, torch.nn.Module._call_impl = call, impl
    assert lines(HEAD + traced) == ["return module.forward(*args)"]


TRACER = """class Through(torch.fx.Tracer):
    def is_leaf_module(self, module, name):
        return False

    def {name}(self, module: nn.Module, forward, args, kwargs):
        return module.forward(*args, **kwargs)


Through().trace(Net())
"""


def test_a_tracer_s_call_of_a_module() -> None:
    code = HEAD + TRACER.format(name="call_module")
    assert lines(code) == []
    run(code)
    with pytest.raises(RecursionError):
        run(code.replace("module.forward(", "module("))
    assert lines(HEAD + TRACER.format(name="of_my_own")) == ["return module.forward(*args, **kwargs)"]


def test_a_method_of_a_class_of_hooks() -> None:
    hook = "class {}:\n    def new_forward(self, module: nn.Module, *args):\n        return module.forward(*args)\n"
    assert lines(HEAD + hook.format("CacheHook")) == []
    assert lines(HEAD + hook.format("Cache(ModelHook)")) == []
    assert lines(HEAD + hook.format("Cache")) == ["return module.forward(*args)"]
    # A hook of the training loop has the model from elsewhere.
    trained = (
        "class EvalHook:\n    def after_epoch(self, runner, x):\n        net = Net()\n        return net.forward(x)\n"
    )
    assert lines(HEAD + trained) == ["return net.forward(x)"]


@pytest.mark.parametrize("name", OWN_WAYS)
def test_a_call_of_its_own_comes_by_forward(name: str) -> None:
    own = f"class Fast(Net):\n    def {name}(self, *args):\n        return self.forward(*args)\n\n\n"
    code = HEAD + own + f"net = Fast()\nnet({X})\nnet.forward({X})\n"
    assert lines(code) == []
    run(code)
    with pytest.raises(RecursionError):
        run(code.replace("self.forward(*args)", "self(*args)"))
    # What stands beside it is called as ever.
    assert lines(code + f"Net().forward({X})\n") == [f"Net().forward({X})"]
