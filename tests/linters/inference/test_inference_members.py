"""Layers that code puts into a container after it was made, in whatever way: what is said of its results holds. Each is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

_HEAD = """import torch
from torch import nn
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor


class Other(nn.Sequential):
    def forward(self, x):
        return super().forward(x)[:, :2]


"""
# The class that the container is of, and how it is made; it has one convolution with four channels.
KINDS = {
    "a sequence": ("", "nn.Sequential(nn.Conv2d(3, 4, 1))", ""),
    "with names": ("", 'nn.Sequential(OrderedDict([("conv", nn.Conv2d(3, 4, 1))]))', ""),
    "a subclass": (
        "class A(nn.Sequential):\n    def __init__(self, i, o):\n        super().__init__(nn.Conv2d(i, o, 1))\n\n\n",
        "A(3, 4)",
        "",
    ),
    "a subclass by attributes": (
        "class A(nn.Sequential):\n    def __init__(self, i, o):\n        super().__init__()\n"
        "        self.conv = nn.Conv2d(i, o, 1)\n\n\n",
        "A(3, 4)",
        "",
    ),
    "a subclass with a forward": (
        "class A(nn.Sequential):\n    def __init__(self, i, o):\n        super().__init__(nn.Conv2d(i, o, 1))\n\n"
        "    def forward(self, x):\n        B, C, H, W = x.shape\n        y = super().forward(x)\n        return y\n\n\n",
        "A(3, 4)",
        "",
    ),
    "a list in a module": (
        "class A(nn.Module):\n    def __init__(self, i, o):\n        super().__init__()\n"
        "        self.rows = nn.ModuleList([nn.Conv2d(i, o, 1)])\n\n    def forward(self, x):\n"
        "        for row in self.rows:\n            x = row(x)\n        return x\n\n\n",
        "A(3, 4)",
        ".rows",
    ),
}
# How a layer gets into the container `@`.
CHANGES = {
    "append": "@.append(nn.Conv2d(4, 7, 1))",
    "extend": "@.extend([nn.Conv2d(4, 7, 1)])",
    "an attribute": "@.extra = nn.Conv2d(4, 7, 1)",
    "an attribute, of a name": "layer = nn.Conv2d(4, 7, 1)\n@.extra = layer",
    "the attribute that it has": "@.conv = nn.Conv2d(3, 7, 1)",
    "an item": "@[0] = nn.Conv2d(3, 7, 1)",
    "add_module": '@.add_module("z", nn.Conv2d(4, 7, 1))',
    "setattr": 'setattr(@, "z", nn.Conv2d(4, 7, 1))',
    "setattr by a computed name": 'for name in ["z"]:\n    setattr(@, name, nn.Conv2d(4, 7, 1))',
    "the place of the first": 'setattr(@, "0", nn.Conv2d(3, 7, 1))',
    "another name": "same = @\nsame.append(nn.Conv2d(4, 7, 1))",
    "an attribute by another name": "same = @\nsame.extra = nn.Conv2d(4, 7, 1)",
    "its dictionary": '@._modules["z"] = nn.Conv2d(4, 7, 1)',
    "its dictionary, by a computed name": 'key = "z"\n@._modules[key + "a"] = nn.Conv2d(4, 7, 1)',
    "its dictionary's update": "@._modules.update(z=nn.Conv2d(4, 7, 1))",
    "its dictionary's popitem": "@._modules.popitem()",
    "another dictionary": "@._modules = OrderedDict(z=nn.Conv2d(3, 7, 1))",
    "vars": 'vars(@)["_modules"]["z"] = nn.Conv2d(4, 7, 1)',
    "+=": "same = @\nsame += nn.Sequential(nn.Conv2d(4, 7, 1))",
    "set_submodule": '@.set_submodule("0", nn.Conv2d(3, 7, 1))',
    "__setattr__": '@.__setattr__("z", nn.Conv2d(4, 7, 1))',
    "__setattr__ of the class": 'nn.Module.__setattr__(@, "z", nn.Conv2d(4, 7, 1))',
    "__setitem__": "@.__setitem__(0, nn.Conv2d(3, 7, 1))",
    "delattr": "delattr(@, [name for name, _ in @.named_children()][0])",
    "append of the class": "nn.Sequential.append(@, nn.Conv2d(4, 7, 1))",
    "another class": "@.__class__ = Other",
}
_USE = "def use(x):\n    B, C, H, W = x.shape\n    y = net(x)\n    return y\n\n\n"
_OUT = "out = {}(torch.zeros(2, 3, 8, 8))\n"
_HELD = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = {made}
{grow}
    def forward(self, x):
        B, C, H, W = x.shape
        y = self.q(x)
        return y


"""
_POOL = "ThreadPoolExecutor().submit({}).result()\n"


def _function(name: str, change: str, place: str, indent: str = "    ") -> str:
    body = "".join(f"{indent}{line}\n" for line in change.replace("@", place).split("\n"))
    return f"def {name}:\n{body}\n\n"


def _programs(kind: str, change: str) -> Iterator[tuple[str, str]]:
    """The ways by which the code gets at the container, and who calls it then."""
    cls, made, place = KINDS[kind]
    how = CHANGES[change]
    made_here = f"{_HEAD}{cls}net = {made}\n\n\n"
    held = _HEAD + cls + _HELD.format(made=made, grow="") + "net = Net()\n\n\n"
    own, other = _function("change()", how, f"net{place}"), _function("change(net)", how, f"net{place}")
    yield "here", made_here + "if True:\n" + own.split("\n", 1)[1] + _OUT.format("net")
    yield "of a name of the module", made_here + own + _USE + "change()\n" + _OUT.format("use")
    yield "given", made_here + other + "change(net)\n" + _OUT.format("net")
    yield "given to a pool", made_here + other + _POOL.format("change, net") + _OUT.format("net")
    yield "of a name, by a pool", made_here + own + _POOL.format("change") + _OUT.format("net")
    one = _function("change(model)", how, f"model.q{place}")
    yield "of what holds it", held + one + "change(net)\n" + _OUT.format("net")
    yield "of what holds it, by a pool", held + one + _POOL.format("change, net") + _OUT.format("net")
    part = _function("change(part)", how, f"part{place}")
    yield "given by what holds it", held + part + "change(net.q)\n" + _OUT.format("net")
    grow = "\n" + "".join(
        f"    {line}\n" for line in _function("grow(self)", how, f"self.q{place}").rstrip().split("\n")
    )
    method = _HEAD + cls + _HELD.format(made=made, grow=grow) + "net = Net()\n"
    yield "in a method", method + "net.grow()\n" + _OUT.format("net")
    yield "in a method, by a pool", method + _POOL.format("net.grow") + _OUT.format("net")
    listed = f"{_HEAD}{cls}nets = [{made}]\n\n\n" + _function("change()", how, f"nets[0]{place}")
    yield "of a list", listed + _USE.replace("net(x)", "nets[0](x)") + "change()\n" + _OUT.format("use")


WAYS = [way for way, _ in _programs("a sequence", "append")]


def _chosen() -> Iterator[tuple[str, str, str]]:
    """One of eleven of them all, with every kind, every change and every way among them, in any two."""
    for one, kind in enumerate(KINDS):
        for two, change in enumerate(CHANGES):
            for three, way in enumerate(WAYS):
                if (one + 2 * two + 3 * three) % 11 == 0:
                    yield kind, change, way


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "change", "way"), [*_chosen()])
def test_nothing_wrong_is_said_of_a_container_that_is_changed(kind: str, change: str, way: str, tmp_path: Path) -> None:
    source = dict(_programs(kind, change))[way]
    try:
        exec(compile(source, "program.py", "exec", dont_inherit=True), {"__name__": __name__})
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        pytest.skip(f"torch refuses the change, or what becomes of the network: {error}")
    assert wrong_claims(tmp_path / "program.py", source) == {}


_BLOCK = """import torch
import torch.nn.functional as F
from torch import nn
from collections import OrderedDict


class Config:
    n = 3


class A(nn.Sequential):
    def __init__(self, i, o{more}):
{body}

{methods}class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = A(3, 4{given})
        self.s = nn.Sequential(A(3, 4{given}), nn.ReLU())

    def forward(self, x):
        B, C, H, W = x.shape
        y = self.q(x)
        t = self.s(x)
        return y


x = torch.zeros(2, 3, 8, 8)
a = A(3, 4{given})
y = a(x)
n = torch.zeros(len(a), 1)
f = next(iter(a))(x)
z = x
for layer in a:
    z = layer(z)
w = Net()(x)
"""
_SUPER = "super().__init__()\n"
_CONV = "self.conv = nn.Conv2d(i, o, 1)\n"
_SAME = (2, 4, 8, 8)
# What an initialiser does; what torch gives for (2, 3, 8, 8), where it is known that it does.
BODIES = {
    "attributes": (_SUPER + _CONV + "self.act = nn.ReLU()", _SAME),
    "one of them again": (_SUPER + "self.conv = nn.Conv2d(i, 9, 1)\nself.pool = nn.MaxPool2d(2)\n" + _CONV, (2, 4, 4, 4)),
    "what is no layer": (
        _SUPER + "self.dim = i\nself.names = ['a']\n" + _CONV + "self.k = (1, 2)\nself.flag = None\nself.fn = F.relu\n"
        "self.cls = nn.ReLU\nself.hidden = [nn.MaxPool2d(2)]\nself.cfg = Config()",
        _SAME,
    ),
    "parameters": (_SUPER + _CONV + "self.w = nn.Parameter(torch.zeros(3))\nself.register_buffer('b', torch.zeros(2))", _SAME),
    "nothing at first": (_SUPER + "self.pool = None\n" + _CONV + "self.pool = nn.MaxPool2d(2)", (2, 4, 4, 4)),
    "one deleted": (_SUPER + _CONV + "self.pool = nn.MaxPool2d(2)\ndel self.pool", None),
    "an ordered dictionary": ("super().__init__(OrderedDict([('conv', nn.Conv2d(i, o, 1))]))\nself.pool = nn.MaxPool2d(2)", (2, 4, 4, 4)),
    "its name": ("super().__init__(OrderedDict([('conv', nn.Conv2d(i, 9, 1))]))\n" + _CONV, _SAME),
    "behind arguments": ("super().__init__(nn.Conv2d(i, o, 1))\nself.pool = nn.MaxPool2d(2)", (2, 4, 4, 4)),
    "the first by its number": ("super().__init__(nn.Conv2d(i, 9, 1))\nself.add_module('0', nn.Conv2d(i, o, 1))", _SAME),
    "the first by setattr": ("super().__init__(nn.Conv2d(i, 9, 1))\nsetattr(self, '0', nn.Conv2d(i, o, 1))", _SAME),
    "computed names": (_SUPER + _CONV + "for k in range(2):\n    setattr(self, f'p{k}', nn.MaxPool2d(2))", None),
    "add_module": (_SUPER + "self.add_module('conv', nn.Conv2d(i, o, 1))\nself.add_module('act', nn.ReLU())", _SAME),
    "add_module by computed names": (_SUPER + _CONV + "for k in range(2):\n    self.add_module(f'p{k}', nn.MaxPool2d(2))", None),
    "the same name twice": (_SUPER + _CONV + "for k in range(2):\n    self.add_module('p', nn.MaxPool2d(2))", (2, 4, 4, 4)),
    "append": (_SUPER + _CONV + "self.append(nn.MaxPool2d(2))", (2, 4, 4, 4)),
    "append, where its number is taken": (
        _SUPER + "self.add_module('1', nn.Conv2d(i, o, 1))\nself.append(nn.Conv2d(i, o + 1, 1))", (2, 5, 8, 8)
    ),
    "a branch that is taken": (_SUPER + _CONV + "if o > 3:\n    self.pool = nn.MaxPool2d(2)", (2, 4, 4, 4)),
    "one of two": (_SUPER + "if i > o:\n    self.conv = nn.Conv2d(i, o, 2)\nelse:\n    " + _CONV + "self.act = nn.ReLU()", _SAME),
    "its dictionary": (_SUPER + _CONV + "self._modules['pool'] = nn.MaxPool2d(2)", (2, 4, 4, 4)),
    "register_module": (_SUPER + _CONV + "self.register_module('pool', nn.MaxPool2d(2))", (2, 4, 4, 4)),
    "one under two names": (
        _SUPER + "self.a = nn.Conv2d(i, o, 1)\nself.b = self.a\nself.a = nn.Identity()\nself.b = nn.Conv2d(i, o, 1)", _SAME
    ),
    "insert": ("super().__init__(nn.Conv2d(i, o, 1), nn.ReLU())\nself.insert(1, nn.MaxPool2d(2))", None),
    "pop": ("super().__init__(nn.Conv2d(i, o, 1), nn.MaxPool2d(2))\nself.pop(1)", None),
    "a method": (_SUPER + "self.build(i, o)", (2, 4, 4, 4)),
}  # fmt: skip
GIVEN = ["nn.ReLU()", "None", "F.relu", "nn.MaxPool2d(2)", "3", "[nn.MaxPool2d(2)]", "nn.ReLU"]
_BUILD = "    def build(self, i, o):\n        self.conv = nn.Conv2d(i, o, 1)\n        self.pool = nn.MaxPool2d(2)\n\n\n"


def _block(body: str, given: str = "") -> str:
    return _BLOCK.format(
        body="\n".join(f"        {line}" for line in body.rstrip().split("\n")),
        methods=_BUILD if "self.build" in body else "",
        more=", act" if given else "",
        given=f", {given}" if given else "",
    )


def _shape(source: str) -> tuple[int | str, ...] | None:
    line = source[: source.index("\ny = a(x)")].count("\n") + 2
    return next((row.shape for row in analyse(ast.parse(source), source).bindings if row.line == line), None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", BODIES)
def test_a_subclass_of_a_sequence_has_the_layers_that_are_assigned_to_it(how: str, tmp_path: Path) -> None:
    body, shape = BODIES[how]
    source = _block(body)
    assert wrong_claims(tmp_path / "program.py", source) == {}
    assert _shape(source) == shape


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("given", GIVEN)
def test_what_it_is_given_is_one_of_them_if_it_is_a_layer(given: str, tmp_path: Path) -> None:
    source = _block(_SUPER + _CONV + "self.act = act", given)
    assert wrong_claims(tmp_path / "program.py", source) == {}
    assert _shape(source) == ((2, 4, 4, 4) if "MaxPool2d" in given and "[" not in given else (2, 4, 8, 8))
