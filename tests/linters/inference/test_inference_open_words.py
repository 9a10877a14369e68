"""Calls with `**words` of which nobody knows which they are: what is said holds whatever they are. Each program is run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

_BEFORE = """import collections
import dataclasses
import functools
import typing

import torch
from torch import nn
"""

# What is defined, the calls, and the words that each is given for real, one after another.
PROGRAMS = {
    "a function": (
        "def f(x, n=3, *, m=2, **more):\n    return torch.zeros(x, n), torch.zeros(m, len(more)), torch.zeros(x)",
        "a, b, c = f(4, **words)",
        ["n=5", "m=7", "k=1", "n=1, m=1, k=3"],
    ),
    "a parameter that the words must give": (
        "def f(x, n):\n    y = torch.zeros(n, x)\n    return y, x + 1", "a, b = f(2, **words)\nc = torch.zeros(b)", ["n=5", "n=1"],
    ),
    "words that are handed on": (
        "def g(n=3, m=2):\n    return torch.zeros(n, m)\n\n\ndef f(x, **more):\n    return g(x, **more)",
        "a = f(4, **words)\nb = f(4)",
        ["m=5", "m=2"],
    ),
    "words beside others": (
        "def f(x, n=3, **more):\n    more.setdefault('k', 2)\n    return torch.zeros(x, n, more['k'], len(more))",
        "a = f(4, j=1, **words)\nb = f(4, n=2, **words)\nc = f(**words, x=2)",
        ["k=5", "i=2, k=3"],
    ),
    "two dictionaries": (
        "def f(x, n=3, m=2):\n    return torch.zeros(x, n, m)",
        "a = f(4, **words, **dict(n=5))\nb = f(4, **{'n': 2}, **words)",
        ["m=5"],
    ),
    "a list that a default holds": (
        "rows = [1]\n\n\ndef f(x, kept=rows):\n    kept.append(x)\n    return torch.zeros(len(kept))",
        "mine = []\na = f(1, **words)\nb = torch.zeros(len(rows))\nc = f(1, kept=mine)\nd = torch.zeros(len(mine))",
        ["kept=rows", "kept=[1, 2]"],
    ),
    "a list that the words hold": (
        "rows = [1]\n\n\ndef f(x, kept=None):\n    if kept is not None:\n        kept.append(x)\n    return torch.zeros(x)",
        "a = f(3, **words)\nb = torch.zeros(len(rows))\nc = f(3, **{**words})\nd = torch.zeros(len(rows))",
        ["kept=rows"],
    ),
    "a tensor that the words hold is turned": (
        "t = torch.zeros(3, 4)\n\n\ndef f(x, y=None):\n    if y is not None:\n        y.t_()\n    return torch.zeros(x)",
        "a = t + 0\nf(2, **words)\nb = t + 0\ngiven = dict(y=t)\nf(2, **given, **words[0:0] if False else {})\nc = t + 0",
        ["y=t"],
    ),
    "an attribute that a method sets": (
        "class Box:\n    def __init__(self, n=3, m=2, **more):\n        self.n, self.m = n, m\n        self.t = torch.zeros(4, m)\n\n"
        "    def grow(self, by=1, **more):\n        self.n = self.n + by\n        return torch.zeros(2, by)",
        "box = Box(5, **words)\na = torch.zeros(box.n, box.m)\nb = box.t + 0\nc = box.grow(**words)\nd = torch.zeros(box.n)",
        ["m=7", "by=3", "k=1"],
    ),
    "a class method and a static one": (
        "class Box:\n    n = 3\n\n    @classmethod\n    def make(cls, m=2, **more):\n        return torch.zeros(cls.n, m)\n\n"
        "    @staticmethod\n    def other(k, j=1, **more):\n        return torch.zeros(k, j)",
        "a = Box.make(**words)\nb = Box().make(**words)\nc = Box.other(4, **words)\nd = Box().other(4, **words)",
        ["m=5", "j=6"],
    ),
    "a dataclass": (
        "@dataclasses.dataclass\nclass Box:\n    n: int = 3\n    m: int = 2\n    k: int = dataclasses.field(default=1)\n\n"
        "    def __post_init__(self):\n        self.both = self.n + self.m",
        "box = Box(5, **words)\na = torch.zeros(box.n, box.m, box.k)\nb = torch.zeros(box.both)",
        ["m=7", "k=4"],
    ),
    "a named tuple": (
        "class Box(typing.NamedTuple):\n    n: int = 3\n    m: int = 2\n\n\nPair = collections.namedtuple('Pair', 'n m', defaults=(2,))",
        "box = Box(5, **words)\na = torch.zeros(box.n, box.m)\npair = Pair(4, **words)\nb = torch.zeros(pair.n, pair.m)\nn, m = pair\n"
        "c = torch.zeros(m)",
        ["m=7"],
    ),
    "a base's initialiser": (
        "class Base:\n    def __init__(self, n=3, m=2):\n        self.n, self.m = n, m\n\n\nclass Box(Base):\n"
        "    def __init__(self, k, **more):\n        self.m = 9\n        super().__init__(k, **more)\n        self.k = k + 1",
        "box = Box(5, **words)\na = torch.zeros(box.n, box.m)\nb = torch.zeros(box.k)",
        ["m=7"],
    ),
    "a module": (
        "class Net(nn.Module):\n    def __init__(self, n, bias=True, m=2, **more):\n        super().__init__()\n"
        "        self.fc = nn.Linear(n, m, bias=bias)\n        self.other = nn.Linear(n, 6)\n        self.more = len(more)\n\n"
        "    def forward(self, x, scale=None, flat=False, **more):\n        y = self.other(x)\n        z = self.fc(x)\n"
        "        if flat:\n            y = y.flatten()\n        return y, z, torch.zeros(self.more, len(more))",
        "net = Net(4, **words)\na, b, c = net(torch.zeros(3, 4), **words)\nd, e, f = net(torch.zeros(3, 4), flat=False, k=1)",
        ["m=7", "flat=True", "bias=False, j=2", "scale=1"],
    ),
    "layers": (
        "class Wide(nn.Linear):\n    def __init__(self, n, **more):\n        super().__init__(n, 2 * n, **more)",
        "a = nn.Linear(4, 5, **words)(torch.zeros(3, 4))\nb = Wide(4, **words)(torch.zeros(3, 4))\nc = Wide(4, **words).weight + 0\n"
        "d = nn.Linear(4, **dict(words, out_features=3))(torch.zeros(3, 4))",
        ["bias=False", "dtype=torch.float32", "device='cpu'"],
    ),
    "convolutions": (
        "x = torch.zeros(2, 3, 9, 9)",
        "a = nn.Conv2d(3, 6, 3, **words)(x)\nb = nn.Conv2d(3, 6, kernel_size=1, **words)(x)\nc = nn.ConvTranspose2d(3, 6, 3, **words)(x)",
        ["stride=2", "padding=1", "bias=False", "groups=3", "stride=2, padding=1"],
    ),
    "pools": (
        "x = torch.zeros(2, 3, 9, 9)",
        "a = nn.MaxPool2d(3, **words)(x)\nb = nn.AvgPool2d(3, **words)(x)",
        ["stride=1", "padding=1", "ceil_mode=True", "stride=2, ceil_mode=True"],
    ),
    "a pool with its indices": ("x = torch.zeros(2, 3, 9, 9)", "a = nn.MaxPool2d(3, **words)(x)", ["return_indices=True"]),
    "layers that keep a shape": (
        "x = torch.zeros(2, 3, 4)",
        "a = nn.LayerNorm(4, **words)(x)\nb = nn.RMSNorm(4, **words)(x)\nc = nn.GELU(**{})(x)",
        ["eps=0.1"],
    ),
    "recurrent layers": (
        "x = torch.zeros(2, 3, 4)",
        "a, h = nn.GRU(4, 5, **words)(x)\nb, (i, c) = nn.LSTM(4, 5, **words)(x)",
        ["batch_first=True", "bidirectional=True", "num_layers=2", "num_layers=2, batch_first=True"],
    ),
    "attention": (
        "x = torch.zeros(2, 3, 4)",
        "a, w = nn.MultiheadAttention(4, 2, **words)(x, x, x)\nb, v = nn.MultiheadAttention(4, 2)(x, x, x, **{})",
        ["batch_first=True", "dropout=0.1"],
    ),
    "a layer in a list": (
        "x = torch.zeros(3, 4)", "net = nn.Sequential(nn.Linear(4, 5, **words), nn.ReLU())\na = net(x)\nb = net[0].weight + 0",
        ["bias=False"],
    ),
    "an embedding": (
        "x = torch.zeros(3, 4).long()", "a = nn.Embedding(9, 5, **words)(x)\nb = nn.EmbeddingBag(9, 5, **words)(x)",
        ["padding_idx=0", "max_norm=1.0"],
    ),
    "partials and lambdas": (
        "def f(x, n=3, m=2):\n    return torch.zeros(x, n, m)\n\n\ng = functools.partial(f, 4)\nh = lambda x, n=3, **more: torch.zeros(x, n)",
        "a = g(**words)\nb = functools.partial(f, **words)(4)\nc = h(4, **words)",
        ["n=5", "n=3"],
    ),
    "a generator": (
        "def f(x, n=3, **more):\n    for _ in range(2):\n        yield torch.zeros(x, n)",
        "for a in f(4, **words):\n    pass\nb = next(f(4, **words))", ["n=5"],
    ),
    "a function that is decorated": (
        "def loud(function):\n    @functools.wraps(function)\n    def inner(*args, **more):\n        return function(*args, **more)\n\n"
        "    return inner\n\n\n@loud\ndef f(x, n=3):\n    return torch.zeros(x, n)",
        "a = f(4, **words)", ["n=5"],
    ),
    "an object that is called": (
        "class Box:\n    def __init__(self, n=3):\n        self.n = n\n\n    def __call__(self, x, m=2, **more):\n"
        "        self.n += 1\n        return torch.zeros(x, self.n, m)",
        "box = Box()\na = box(4, **words)\nb = torch.zeros(box.n)", ["m=5", "n=2"],
    ),
    "stars as well": (
        "def f(x, *rest, n=3, **more):\n    return torch.zeros(x, len(rest), n)",
        "a = f(4, *(1, 2), **words)\nb = f(4, *list(words), **words)", ["n=5", "k=1"],
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["in the module", "in a function"])
@pytest.mark.parametrize(("name", "given"), [(name, given) for name in PROGRAMS for given in PROGRAMS[name][2]])
def test_nothing_wrong_is_said_whatever_the_words_are(name: str, given: str, form: str, tmp_path: Path) -> None:
    has, calls, _ = PROGRAMS[name]
    text = given.replace('"', "'")
    lines = [f'words = eval("dict({text})")']
    for line in _apart(calls):
        # Not every call takes all of the words.
        lines += [
            "try:",
            *("    " + each for each in line.splitlines()),
            "except (TypeError, ValueError, NameError):",
            "    pass",
        ]
    if form == "in a function":
        lines = ["def main(words):", *("    " + each for each in lines[1:]), f"globals()['main'](dict({given}))"]
    assert wrong_claims(tmp_path / "program.py", f"{_BEFORE}\n\n{has}\n\n\n" + "\n".join(lines) + "\n") == {}


def _apart(calls: str) -> list[str]:
    return [ast.unparse(statement) for statement in ast.parse(calls).body]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("a function", {"c": (4,)}),
        ("a parameter that the words must give", {"a": ("?", 2), "c": (3,)}),
        ("words that are handed on", {"a": (4, "?"), "b": (4, 2)}),
        ("an attribute that a method sets", {"a": (5, "?"), "b": (4, "?"), "c": (2, "?")}),
        ("a class method and a static one", {"a": (3, "?"), "b": (3, "?"), "c": (4, "?"), "d": (4, "?")}),
        ("a dataclass", {"a": (5, "?", "?")}),
        ("a base's initialiser", {"b": (6,)}),
        ("a module", {"b": (3, "?"), "e": (3, "?")}),
        ("layers", {"a": (3, 5), "b": (3, 8), "c": (8, 4)}),
        ("convolutions", {"a": (2, 6, "?", "?"), "b": (2, 6, "?", "?")}),
        ("an object that is called", {"a": (4, 4, "?")}),
    ],
)
def test_what_the_words_cannot_change_is_known(name: str, known: dict[str, tuple[int | str, ...]]) -> None:
    has, calls, _ = PROGRAMS[name]
    source = f"{_BEFORE}{has}\n\n\ndef main(words):\n" + "".join(f"    {line}\n" for line in calls.splitlines())
    rows = analyse(ast.parse(source), source).bindings
    shapes = {row.name: row.shape for row in rows if row.line > source[: source.index("def main")].count("\n")}
    assert {
        each: tuple(size if isinstance(size, int) else "?" for size in shapes[each] or ()) for each in known
    } == known
