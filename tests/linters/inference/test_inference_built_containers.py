"""Containers of layers that loops fill, in whatever way: what is said of the layers' results holds. Each program is run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

# What fills `self.layers`, an nn.ModuleList, with convolutions; `n` is how often, `c` the channels.
FILLED = {
    "appended": "for _ in range(n):\n    self.layers.append(nn.Conv2d(c, c, 1))",
    "appended to a name": "layers = self.layers\nfor _ in range(n):\n    layers.append(nn.Conv2d(c, c, 1))",
    "a name that becomes an attribute": (
        "layers = nn.ModuleList()\nfor _ in range(n):\n    layers.append(nn.Conv2d(c, c, 1))\nself.layers = layers"
    ),
    "appended as a block": "for _ in range(n):\n    self.layers.append(Block(c))",
    "a sequence of layers": "for _ in range(n):\n    self.layers.append(nn.Sequential(nn.Conv2d(c, c, 1), nn.GELU()))",
    "channels that grow": "for k in range(n):\n    self.layers.append(nn.Conv2d(c, c * 2 ** k, 1))",
    "channels carried on": "w = c\nfor _ in range(n):\n    self.layers.append(nn.Conv2d(c, w, 1))\n    w = w + 1",
    "the kernel carried on": "s = 1\nfor _ in range(n):\n    self.layers.append(nn.Conv2d(c, c, s))\n    s += 2",
    "two in each round": "for _ in range(n):\n    self.layers.append(nn.Conv2d(c, c, 1))\n    self.layers.append(nn.Conv2d(c, c, 3))",
    "one of two": (
        "for k in range(n):\n    if k % 2:\n        self.layers.append(nn.Conv2d(c, c, 1))\n"
        "    else:\n        self.layers.append(nn.Conv2d(c, 2 * c, 1))"
    ),
    "some skipped": "for k in range(n):\n    if k == 1:\n        continue\n    self.layers.append(nn.Conv2d(c, c + k, 1))",
    "until a break": "for k in range(n):\n    self.layers.append(nn.Conv2d(c, c + k, 1))\n    if k:\n        break",
    "while": "k = 0\nwhile k < n:\n    self.layers.append(nn.Conv2d(c, c, k + 1))\n    k += 1",
    "nested": "for k in range(n):\n    for m in range(k):\n        self.layers.append(nn.Conv2d(c, c + m, 1))",
    "nested, with others before": (
        "for k in range(n):\n    self.layers.append(nn.Conv2d(c, 7, 1))\n    for m in range(n):\n        self.layers.append(nn.Conv2d(c, c, 1))"
    ),
    "nested, with others behind": (
        "for k in range(n):\n    for m in range(n):\n        self.layers.append(nn.Conv2d(c, c, 1))\n    self.layers.append(nn.Conv2d(c, 7, 1))"
    ),
    "two loops": (
        "for _ in range(n):\n    self.layers.append(nn.Conv2d(c, c, 1))\nfor _ in range(n):\n    self.layers.append(nn.Conv2d(c, 7, 3))"
    ),
    "one before": "self.layers.append(nn.Conv2d(c, 9, 1))\nfor _ in range(n):\n    self.layers.append(nn.Conv2d(c, c, 1))",
    "one behind": "for _ in range(n):\n    self.layers.append(nn.Conv2d(c, c, 1))\nself.layers.append(nn.Conv2d(c, 9, 1))",
    "one replaced in the loop": (
        "for k in range(n):\n    self.layers.append(nn.Conv2d(c, c, 1))\n    self.layers[0] = nn.Conv2d(c, 9, 1)"
    ),
    "one replaced behind": (
        "for k in range(n):\n    self.layers.append(nn.Conv2d(c, c, 1))\nself.layers[0] = nn.Conv2d(c, 9, 1)"
    ),
    "one of them changed": (
        "for k in range(n):\n    self.layers.append(nn.Conv2d(c, c, 1))\n"
        "self.layers[0].weight = nn.Parameter(torch.zeros(9, c, 1, 1))\nself.layers[0].bias = None"
    ),
    "each changed in the loop": (
        "for k in range(n):\n    layer = nn.Conv2d(c, c, 1, bias=False)\n    self.layers.append(layer)\n"
        "    layer.weight = nn.Parameter(torch.zeros(c + k, c, 1, 1))"
    ),
    "taken out": "for k in range(n):\n    self.layers.append(nn.Conv2d(c, c + k, 1))\n    if k == 1:\n        self.layers.pop(0)",
    "deleted": "for k in range(n):\n    self.layers.append(nn.Conv2d(c, c + k, 1))\ndel self.layers[0]",
    "inserted": "for k in range(n):\n    self.layers.insert(0, nn.Conv2d(c, c + k, 1))",
    "extended": "for k in range(n):\n    self.layers.extend([nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 3)])",
    "extended by what a call gives": "for k in range(n):\n    self.layers.extend(make(c))",
    "added to itself": "for k in range(n):\n    self.layers += [nn.Conv2d(c, c, 1)]",
    "by name": "for k in range(n):\n    self.layers.add_module(str(k), nn.Conv2d(c, c, 1))",
    "by a name that is taken": "for k in range(n):\n    self.layers.add_module('0', nn.Conv2d(c, c + k, 1))",
    "of layers made before": "one = nn.Conv2d(c, c, 1)\nfor k in range(n):\n    self.layers.append(one)\n    one = nn.Conv2d(c, 9, 1)",
    "of those there already": (
        "self.layers.append(nn.Conv2d(c, 9, 1))\nfor k in range(n):\n    self.layers.append(self.layers[-1])\n"
        "    self.layers[-1] = nn.Conv2d(c, 5, 1)"
    ),
    "as many as there are": "for k in range(n):\n    self.layers.append(nn.Conv2d(c, len(self.layers) + 1, 1))",
    "in a method": "for k in range(n):\n    self.more(c + k)",
    "in a function": "for k in range(n):\n    grow(self.layers, c)",
    "in try": "for k in range(n):\n    try:\n        self.layers.append(nn.Conv2d(c, c, 1 if k else -1))\n    except Exception:\n"
    "        self.layers.append(nn.Conv2d(c, 9, 1))",
    "if it is asked for": "if n > 1:\n    for k in range(n):\n        self.layers.append(nn.Conv2d(c, c, 1))\nelse:\n"
    "    self.layers.append(nn.Conv2d(c, 9, 1))",
    "with else": "for k in range(n):\n    self.layers.append(nn.Conv2d(c, c, 1))\nelse:\n    self.layers.append(nn.Conv2d(c, 9, 1))",
    "of several containers": (
        "other = nn.ModuleList()\nfor k in range(n):\n    (self.layers if k else other).append(nn.Conv2d(c, c + k, 1))\n"
        "self.layers.extend(other)"
    ),
    "of containers in a container": (
        "for k in range(n):\n    inner = nn.ModuleList()\n    for m in range(n):\n        inner.append(nn.Conv2d(c, c + m, 1))\n"
        "    self.layers.extend(inner)"
    ),
    "of a container that begins anew": (
        "for k in range(n):\n    self.layers = nn.ModuleList([nn.Conv2d(c, 9, 1)])\n    for m in range(n):\n"
        "        self.layers.append(nn.Conv2d(c, c, 1))"
    ),
    "by a later method": "self.layers.append(nn.Conv2d(c, 9, 1))\nself.late = n",
    "of lists": "rows = []\nfor k in range(n):\n    rows.append(nn.Conv2d(c, c, 1))\nfor row in rows:\n    self.layers.append(row)",
    "of one or of nothing": "for k in range(n):\n    layer = nn.Conv2d(c, c, 1) if k else nn.Identity()\n    self.layers.append(layer)",
}  # fmt: skip

_FUNCTIONS = {
    "make(": "def make(c):\n    return [nn.Conv2d(c, c, 1), nn.Conv2d(c, 9, 1)]\n\n\n",
    "grow(": "def grow(layers, c):\n    layers.append(nn.Conv2d(c, c + len(layers), 1))\n\n\n",
}
_PROGRAM = """import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv = nn.Conv2d(c, 2 * c, 1)

    def forward(self, x):
        return self.conv(x)


{functions}class Net(nn.Module):
    def __init__(self, c, n):
        super().__init__()
        self.layers = nn.ModuleList()
{fills}
{method}
    def forward(self, x):
{late}        B, C, H, W = x.shape
        for layer in self.layers:
            y = layer(x)
        for k, layer in enumerate(self.layers):
            z = layer(x)
        first = self.layers[0](x)
        last = self.layers[-1](x)
        outs = [layer(x) for layer in self.layers]
        w = outs[0] + 0
        count = torch.zeros(len(self.layers))
        for layer, out in zip(self.layers, outs):
            u = layer(x) + out
        return y, z


net = Net(4, {n})
x = torch.zeros(2, 4, 9, 9)
a, b = net(x)
for layer in net.layers:
    c = layer(x)
d = net.layers[0](x)
e = net.layers[0].weight + 0 if hasattr(net.layers[0], "weight") else None
Net(4, 2)(x)
"""


def _source(how: str, rounds: str) -> str:
    return _filled_by(FILLED[how], rounds)


def _filled_by(fill: str, rounds: str) -> str:
    fills = "\n".join("        " + line for line in fill.splitlines())
    functions = "".join(text for name, text in _FUNCTIONS.items() if name in fills)
    method = (
        "\n    def more(self, c):\n        self.layers.append(nn.Conv2d(4, c, 1))\n" if "self.more" in fills else ""
    )
    late = (
        "        for _ in range(self.late):\n            self.layers.append(nn.Conv2d(4, 6, 1))\n"
        if "self.late" in fills
        else ""
    )
    return _PROGRAM.format(fills=fills, n=rounds, method=method, late=late, functions=functions)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rounds", ["3", "eval('3')"])
@pytest.mark.parametrize("how", FILLED)
def test_nothing_wrong_is_said_of_what_a_loop_has_added(how: str, rounds: str, tmp_path: Path) -> None:
    assert wrong_claims(tmp_path / "program.py", _source(how, rounds)) == {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", sorted(FILLED.keys() - {"added to itself", "of a container that begins anew"}))
def test_nothing_wrong_is_said_of_a_sequence_that_a_loop_has_filled(how: str, tmp_path: Path) -> None:
    source = _source(how, "eval('3')").replace("nn.ModuleList()", "nn.Sequential()")
    called = "        try:\n            v = self.layers(x)\n        except RuntimeError:\n            v = None\n"
    source = source.replace("        first =", called + "        first =")
    assert wrong_claims(tmp_path / "program.py", source) == {}


@pytest.mark.parametrize(
    ("fill", "shape"),
    [
        ("for _ in range(n):\n    self.layers.append(nn.Conv2d(c, c, 1))", ("B", "?", "H", "W")),
        ("for k in range(n):\n    self.layers.add_module(str(k), nn.Conv2d(c, c, 1))", ("B", "?", "H", "W")),
        ("for k in range(3):\n    self.layers.add_module(f'l{k}', nn.Conv2d(c, c, 1))", ("B", "?", "H", "W")),
        ("for _ in range(n):\n    self.layers.append(nn.GELU())", ("B", "C", "H", "W")),
        ("for _ in range(3):\n    self.layers.append(nn.Conv2d(c, c, 1))", ("B", "c", "H", "W")),
        ("for _ in range(n):\n    self.layers.append(nn.Conv2d(c, 7, 3))", ("B", "?", "?", "?")),
    ],
)
def test_what_a_sequence_gives_that_a_loop_has_filled_is_known(fill: str, shape: tuple[str, ...]) -> None:
    source = _filled_by(fill, "eval('3')").replace("nn.ModuleList()", "nn.Sequential()")
    source = source.replace("        first =", "        v = self.layers(x)\n        first =")
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    assert rows["v"].shape == shape


@pytest.mark.parametrize(
    ("how", "channels"),
    [("appended", "c"), ("a name that becomes an attribute", "c"), ("appended as a block", "2*c"), ("a sequence of layers", "c"),
     ("the kernel carried on", "c"), ("two in each round", "c"), ("while", "c"), ("extended", "c"), ("by name", "c"),
     ("added to itself", "c")],
)  # fmt: skip
def test_what_the_layers_have_in_common_is_known(how: str, channels: str) -> None:
    source = _source(how, "eval('3')")
    rows = analyse(ast.parse(source), source).bindings
    line = source[: source.index("y = layer(x)")].count("\n") + 1
    shape = next(row.shape for row in rows if row.line == line)
    assert shape is not None
    assert shape[:2] == ("B", channels)
