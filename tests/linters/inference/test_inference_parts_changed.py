"""Parts of a module that other code changes, wherever the module holds them: what its methods are said to find holds. Each is run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

_NET = """import torch
from torch import nn
from concurrent.futures import ThreadPoolExecutor


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)
        self.n = 4
        self.dims = [2]

    def forward(self, x):
        return self.conv(x)

    def sized(self, x):
        return x.new_zeros(self.n, *self.dims)


class Narrow(Block):
    def forward(self, x):
        return x[:, :1]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = Block()
        self.rows = nn.ModuleList([Block()])
        self.stack = nn.Sequential(Block(), nn.ReLU())
        self.named = {{"k": Block()}}
        self.plain = [Block()]
{method}
    def forward(self, x):
        B, C, H, W = x.shape
        y = self.b(x)
        z = self.rows[0](x)
        u = self.stack(x)
        v = self.plain[0](x)
        w = self.named["k"](x)
        for one in self.rows:
            t = one(x)
        s = self.b.sized(x)
        conv = self.b.conv
        r = conv(x)
        q = self.b.conv.weight + 0
        return y


{code}out = {used}(torch.zeros(2, 3, 8, 8))
"""
_OTHER = "nn.Conv2d(3, 7, 1)"
# What becomes of the part `@`.
CHANGES = {
    "an attribute": f"@.conv = {_OTHER}",
    "setattr": f"setattr(@, 'conv', {_OTHER})",
    "add_module": f"@.add_module('conv', {_OTHER})",
    "register_module": f"@.register_module('conv', {_OTHER})",
    "its dictionary": f"@._modules['conv'] = {_OTHER}",
    "set_submodule": f"@.set_submodule('conv', {_OTHER})",
    "deleted and set": f"del @.conv\n@.conv = {_OTHER}",
    "another name": f"part = @\npart.conv = {_OTHER}",
    "a loop": f"for part in [@]:\n    part.conv = {_OTHER}",
    "two at once": f"@.conv, @.n = {_OTHER}, 6",
    "a stride": "@.conv.stride = (2, 2)",
    "a stride by another name": "conv = @.conv\nconv.stride = (2, 2)",
    "a weight": "@.conv.weight = nn.Parameter(torch.zeros(7, 3, 1, 1))\n@.conv.bias = None",
    "a weight's data": "@.conv.weight.data = torch.zeros(7, 3, 1, 1)\n@.conv.bias = None",
    "a layer's forward": "@.conv.forward = lambda x: x[:, :1]",
    "its forward": "@.forward = lambda x: x[:, :1]",
    "its class": "@.__class__ = Narrow",
    "a hook": "@.register_forward_hook(lambda module, given, result: result[:, :1])",
    "a hook before a layer": "@.conv.register_forward_pre_hook(lambda module, given: (given[0][:, :, 1:],))",
    "a number": "@.n = 5",
    "a number in place": "@.n += 1",
    "a number by its dictionary": "@.__dict__.update(n=5)",
    "a number by vars": "vars(@)['n'] = 5",
    "a list that grows": "@.dims.append(3)",
    "a list in place": "@.dims += [5]",
    "an item": "@.dims[0] = 7",
}
# Where the module `^` holds the part.
PLACES = {
    "an attribute": "^.b",
    "a list of modules": "^.rows[0]",
    "a sequence": "^.stack[0]",
    "a list": "^.plain[0]",
    "a dictionary": "^.named['k']",
    "by getattr": "getattr(^, 'b')",
    "by get_submodule": "^.get_submodule('b')",
    "any module": "modules",
    "any child": "named_children",
}
WAYS = ["a function", "a pool", "a method", "a name of the module"]


def _lines(change: str, place: str, module: str, indent: str) -> str:
    at = PLACES[place]
    if at in ("modules", "named_children"):
        goes = "part" if at == "modules" else "_, part"
        inner = CHANGES[change].replace("@", "part").replace("\n", "\n        ")
        code = f"for {goes} in {module}.{at}():\n    if isinstance(part, Block):\n        {inner}"
    else:
        code = CHANGES[change].replace("@", at.replace("^", module))
    return "".join(f"{indent}{line}\n" for line in code.split("\n"))


def _program(change: str, place: str, way: str) -> str:
    if way == "a method":
        method = "\n    def grow(self):\n" + _lines(change, place, "self", "        ")
        return _NET.format(method=method, code="net = Net()\nnet.grow()\n", used="net")
    inside = _lines(change, place, "net", "    ")
    if way == "a name of the module":
        use = "def use(x):\n    B, C, H, W = x.shape\n    y = net.b(x)\n    z = net.rows[0](x)\n    u = net.stack(x)\n    return net(x)\n\n\n"
        return _NET.format(method="", code=f"net = Net()\n\n\ndef change():\n{inside}\n\n{use}change()\n", used="use")
    call = "change(net)" if way == "a function" else "ThreadPoolExecutor().submit(change, net).result()"
    return _NET.format(method="", code=f"def change(net):\n{inside}\n\nnet = Net()\n{call}\n", used="net")


def _chosen() -> Iterator[tuple[str, str, str]]:
    """One of thirteen, with every change, every place and every way among them."""
    for one, change in enumerate(CHANGES):
        for two, place in enumerate(PLACES):
            for three, way in enumerate(WAYS):
                if (one + 2 * two + 5 * three) % 13 == 0:
                    yield change, place, way


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("change", "place", "way"), [*_chosen()])
def test_nothing_wrong_is_said_of_what_holds_a_changed_part(change: str, place: str, way: str, tmp_path: Path) -> None:
    assert wrong_claims(tmp_path / "program.py", _program(change, place, way)) == {}
