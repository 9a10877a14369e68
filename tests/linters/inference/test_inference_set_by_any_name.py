"""Attributes, layers and buffers that a class gets by every way there is to set one, in every place: running says what is there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

_OTHER = "torch.nn.Linear(3, 5)"
_WEIGHT = "torch.nn.Parameter(torch.ones(5, 3))"
LAYERS = {
    "assigned": f"self.layer = {_OTHER}",
    "setattr": f"setattr(self, 'layer', {_OTHER})",
    "__setattr__": f"self.__setattr__('layer', {_OTHER})",
    "of the base": f"torch.nn.Module.__setattr__(self, 'layer', {_OTHER})",
    "add_module": f"self.add_module('layer', {_OTHER})",
    "register_module": f"self.register_module('layer', {_OTHER})",
    "set_submodule": f"self.set_submodule('layer', {_OTHER})",
    "into the modules": f"self._modules['layer'] = {_OTHER}",
    "into the modules by update": f"self._modules.update(layer={_OTHER})",
    "into the modules of a dictionary": f"self._modules.update({{'layer': {_OTHER}}})",
    "into the modules by a method": f"self._modules.__setitem__('layer', {_OTHER})",
    "into the modules by another name": f"m = self._modules; m['layer'] = {_OTHER}",
    "into all modules": f"for k in list(self._modules): self._modules[k] = {_OTHER}",
    "by way of the dictionary": f"self.__dict__['_modules']['layer'] = {_OTHER}",
    "by way of vars": f"vars(self)['_modules']['layer'] = {_OTHER}",
    "by way of getattr": f"getattr(self, '_modules')['layer'] = {_OTHER}",
    "each child": f"[setattr(self, k, {_OTHER}) for k, v in list(self.named_children())]",
    "its weight": f"self._modules['layer'].weight = {_WEIGHT}; self._modules['layer'].bias = None",
    "its parameters": f"self.layer._parameters['weight'] = {_WEIGHT}; self.layer._parameters['bias'] = None",
    "its data": "self.layer.weight.data = torch.ones(5, 3); self.layer.bias = None",
    "its forward": "self._modules['layer'].forward = lambda x: x.sum()",
}
TENSORS = {
    "assigned": "self.b = torch.ones(4)",
    "setattr": "setattr(self, 'b', torch.ones(4))",
    "register_buffer": "self.register_buffer('b', torch.ones(4))",
    "into the buffers": "self._buffers['b'] = torch.ones(4)",
    "into the buffers by update": "self._buffers.update(b=torch.ones(4))",
    "into all buffers": "for k in list(self._buffers): self._buffers[k] = torch.ones(4)",
    "into the dictionary": "self.__dict__['t'] = torch.ones(4)",
    "into vars": "vars(self)['t'] = torch.ones(4)",
    "into the dictionary by update": "self.__dict__.update(t=torch.ones(4))",
    "of object": "object.__setattr__(self, 't', torch.ones(4))",
}
PLACES = {
    "a statement": "{set}",
    "a function within": "def put():\n    {set}\nput()",
    "a function within one": "def put():\n    def inner():\n        {set}\n    inner()\nput()",
    "a function that takes it": "def put(self):\n    {set}\nput(self)",
    "a function of the file": "helper(self)",
    "by keyword": "helper(net=self)",
    "another method": "self.other()",
}


def _program(where: str, place: str, sets: str) -> str:
    text = PLACES[place].replace("{set}", sets)
    body = text.replace("\n", "\n        ")
    read = "        z = self.layer(x)\n        t = self.t * 2\n        b = self.b * 2\n"
    source = "import torch\n\n\n"
    if "helper" in text:
        source += f"def helper(net):\n    {sets.replace('self', 'net')}\n\n\n"
    source += "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    source += "        self.layer = torch.nn.Linear(3, 4)\n        self.register_buffer('b', torch.ones(3))\n"
    source += "        self.t = torch.ones(3)\n"
    source += f"        {body}\n" if where == "__init__" else ""
    source += f"\n    def other(self):\n        {sets}\n" if "other()" in text else ""
    source += f"\n    def setup(self):\n        {body}\n" if where == "setup" else ""
    source += f"\n    def forward(self, x):\n{read}"
    source += f"        {body}\n{read}" if where == "forward" else ""
    source += "        return z\n\n\nnet = Net()\n"
    source += "net.setup()\n" if where == "setup" else ""
    return source + "w = net(torch.zeros(2, 3))\nv = net.layer(torch.zeros(2, 3))\nt = net.t * 2\nb = net.b * 2\n"


@pytest.mark.parametrize("where", ["__init__", "setup", "forward"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("sets", [f"a layer, {each}" for each in LAYERS] + [f"a tensor, {each}" for each in TENSORS])
def test_nothing_is_said_of_what_was_there_before(sets: str, place: str, where: str, tmp_path: Path) -> None:
    kind, _, way = sets.partition(", ")
    program = _program(where, place, LAYERS[way] if kind == "a layer" else TENSORS[way])
    assert wrong_claims(tmp_path / "program.py", program) == {}


@pytest.mark.parametrize("where", ["__init__", "setup", "forward"])
@pytest.mark.parametrize("place", PLACES)
def test_what_is_not_set_stays_known(place: str, where: str) -> None:
    program = _program(
        where, place, "setattr(self, 'other_layer', torch.nn.Linear(3, 5)); self.register_buffer('c', torch.ones(4))"
    )
    found = {(row.name, str(row.shape)) for row in analyse(ast.parse(program), program).bindings}
    assert {("w", "(2, 4)"), ("v", "(2, 4)"), ("t", "(3,)"), ("b", "(3,)")} <= found


def test_a_part_asked_for_by_its_name_is_the_part() -> None:
    program = _program(
        "setup", "a statement", "y = self._modules['layer'](torch.zeros(7, 3)); c = self._buffers['b'] * 2"
    )
    shapes = {row.name: row.shape for row in analyse(ast.parse(program), program).bindings}
    assert (shapes["y"], shapes["c"]) == ((7, 4), (3,))
