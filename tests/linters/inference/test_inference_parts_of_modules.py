"""What stays known of a module whose parts other code replaces by names that it computes."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse
from tensorlint.inference.computed_names import Pattern, patterns_of

_MODEL = """\
import functools

import torch
from torch import nn


class Block(nn.Module):
    kind = 2

    def __init__(self, width: int):
        super().__init__()
        self.width = width
        self.sizes = (2, 3)
        self.fc = nn.Linear(5, 4)
        self.stage1 = nn.Linear(5, 6)
        self.scale = nn.Parameter(torch.zeros(3, 4))
        self.register_buffer("mean", torch.zeros(9))

    def two(self):
        return torch.zeros(2, 2)

    def forward(self, x):
        number = torch.zeros(self.width, self.kind)
        sizes = torch.zeros(self.sizes)
        method = self.two()
        parameter = self.scale
        buffer = self.mean
        layer = self.fc(x)
        other = self.stage1(x)
        return number

"""
_NUMBERS = {"number": "(self.width, 2)", "sizes": "(2, 3)", "method": "(2, 2)"}
_TENSORS = {"parameter": "(3, 4)", "buffer": "(9,)"}
_LAYERS = {"layer": {-1: 4}, "other": {-1: 6}}

# What the file does, what of the block's names keeps its shape, and what its last axis.
CHANGES = {
    "items of _modules": ("for n in list(net._modules):\n    net._modules[n] = nn.Linear(5, 8)", "numbers tensors"),
    "add_module": ("def put(net, n):\n    net.add_module(n, nn.Linear(5, 8))\nput(net, 'fc')", "numbers tensors"),
    "register_module": ("def put(net, n):\n    net.register_module(n, nn.Linear(5, 8))\nput(net, 'fc')", "numbers tensors"),
    "set_submodule": ("def put(net, n):\n    net.set_submodule(n, nn.Linear(5, 8))\nput(net, 'fc')", "numbers tensors"),
    "setattr of children": (
        "for n, child in net.named_children():\n    setattr(net, n, nn.Linear(5, 8))",
        "numbers tensors",
    ),
    "register_buffer": ("def put(net, n):\n    net.register_buffer(n, torch.zeros(7))\nput(net, 'mean')", "numbers layers"),
    "register_parameter": (
        "def put(net, n):\n    net.register_parameter(n, nn.Parameter(torch.zeros(7)))\nput(net, 'scale')",
        "numbers layers",
    ),
    "items of _buffers": ("for n in list(net._buffers):\n    net._buffers[n] = torch.zeros(7)", "numbers"),
    "names that are written out": (
        "def put(net, k):\n    names = ('fc', 'bn')\n    for n in names[:k]:\n        setattr(net, n, nn.Linear(5, 8))\nput(net, 1)",
        "numbers tensors stage1",
    ),
    "a name that begins so": (
        "def put(net, k):\n    n = f'stage{k}'\n    setattr(net, n, nn.Linear(5, 8))\nput(net, 1)",
        "numbers tensors fc",
    ),
    "a name that ends so": (
        "def put(net, k):\n    setattr(net, f'{k}_buffer', nn.Linear(5, 8))\nput(net, 1)",
        "numbers tensors layers",
    ),
    "only looked at": (
        "for n, part in net._modules.items():\n    print(n)\nprint(len(net._modules), 'fc' in net._modules)",
        "numbers tensors layers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_computed_name_cannot_reach_stays_known(name: str, tmp_path: Path) -> None:
    change, kept = CHANGES[name]
    source = f"{_MODEL}\nnet = Block(3)\n{change}\nend = net(torch.zeros(7, 5))\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}
    forward = source[: source.index("def forward")].count("\n")
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings if row.line >= forward}
    expected = {**(_NUMBERS if "numbers" in kept else {}), **(_TENSORS if "tensors" in kept else {})}
    shown = {each: str(rows[each].shape).replace("'", "") for each in expected if each in rows}
    assert shown == expected
    for each, attribute in (("layer", "fc"), ("other", "stage1")):
        known = each in rows and dict(rows[each].axes or ()) == _LAYERS[each]
        assert known is ("layers" in kept or attribute in kept.split()), each


@pytest.mark.parametrize(
    ("body", "patterns"),
    [
        ("name = 'fc'", [("fc", None)]),
        ("name = f'layer{k}'", [("layer", "")]),
        ("name = f'{k}_scale'", [("", "_scale")]),
        ("name = 'a' + k + '_b'", [("a", "_b")]),
        ("name = 'layer%d_x' % k", [("layer", "_x")]),
        ("name = 'layer{}_x'.format(k)", [("layer", "_x")]),
        ("name = 'a' if k else f'b{k}'", [("a", None), ("b", "")]),
        ("for name in ('a', 'b'):\n        pass", [("a", None), ("b", None)]),
        (
            "names = [f'stage{i}' for i in range(3)]\n    for name, width in zip(names, k):\n        pass",
            [("stage", "")],
        ),
        ("for i, name in enumerate(['a', 'b']):\n        pass", [("a", None), ("b", None)]),
        ("for part in ('a', 'b'):\n        name = f'{part}{k}'", [("a", ""), ("b", "")]),
        ("name = k", None),
        ("name = f'{k}'", None),
        ("name = 'a'\n    name = k", None),
        ("name = 'a'\n    name += k", None),
        ("for name in k:\n        pass", None),
        ("names = ['a']\n    names.append(k)\n    for name in names:\n        pass", None),
        ("names = ['a']\n    grow(names)\n    for name in names:\n        pass", None),
        ("names = ['a']\n    names[0] = k\n    for name in names:\n        pass", None),
    ],
)
def test_what_is_written_of_a_name(body: str, patterns: list[tuple[str, str | None]] | None) -> None:
    function = ast.parse(textwrap.dedent(f"def f(k):\n    {body}\n")).body[0]
    found = patterns_of(ast.Name("name", ast.Load()), function)
    wanted = None if patterns is None else sorted((Pattern(*each) for each in patterns), key=str)
    assert (None if found is None else sorted(found, key=str)) == wanted
