"""Lists of objects and what loops make of them: what is true of each item is known, and nothing else is claimed."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

_HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
_BLOCK = """
class Mlp(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.up, self.down = nn.Linear(d, h), nn.Linear(h, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))

class Norm(nn.Module):
    def __init__(self, d, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)

class Block(nn.Module):
    def __init__(self, d, bias=False):
        super().__init__()
        self.norm, self.mlp = Norm(d, bias), Mlp(d, 4 * d)

    def forward(self, x):
        return x + self.mlp(self.norm(x))
"""
# The statements of a program, and the shapes that some of its names have.
PROGRAMS = {
    "layers of a comprehension, by a parameter": (
        _BLOCK
        + """
class Net(nn.Module):
    def __init__(self, d, depth):
        super().__init__()
        self.embed = nn.Embedding(10, d)
        self.blocks = nn.ModuleList([Block(d) for _ in range(depth)])

    def forward(self, rows):
        B, T = rows.shape
        x = self.embed(rows)
        for block in self.blocks:
            x = block(x)
        last = torch.relu(x)
        return last
Net(8, 2)(torch.zeros(2, 5, dtype=torch.long))
""",
        {"last": ("B", "T", "d")},
    ),
    "layers of a comprehension, by a setting": (
        _BLOCK
        + """
class Settings:
    width, depth, bias = 8, 2, True
class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.width = config.width
        self.body = nn.ModuleDict(dict(blocks=nn.ModuleList([Block(config.width, config.bias) for _ in range(config.depth)])))
        self.head = nn.Linear(config.width, 3 * config.width)

    def forward(self, x):
        B, T, _ = x.shape
        for block in self.body.blocks:
            x = block(x)
        last = torch.relu(x)
        head = self.head(x)
        return head
Net(Settings())(torch.zeros(2, 5, 8))
""",
        {"last": ("B", "T", "x.shape[2]"), "head": ("B", "T", "3*self.width")},
    ),
    "sizes that nobody asked for before": (
        """
def f(d, n):
    rows = [torch.zeros(d, 2) for _ in range(n)]
    x = torch.stack(rows)
    halves = [torch.zeros(d // 2, 3 * d) for _ in range(n)]
    y = torch.stack(halves)
    return x, y
f(6, 4)
f(5, 2)
""",
        {"x": ("n", "d", 2), "y": ("n", "d//2", "3*d")},
    ),
    "rounds that each find another last size": (
        """
class Net(nn.Module):
    def __init__(self, d, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d, d) for _ in range(depth)])

    def forward(self, x):
        B, T, _ = x.shape
        for layer in self.layers:
            x = F.relu(layer(x))
        last = torch.relu(x)
        return last

def shrink(x, n):
    B, C, H, W = x.shape
    while n:
        x = F.avg_pool2d(x, 2)
        n -= 1
    last_pooled = torch.relu(x)
    return last_pooled
Net(8, 3)(torch.zeros(2, 5, 8))
shrink(torch.zeros(2, 3, 16, 16), 3)
shrink(torch.zeros(2, 3, 16, 16), 0)
""",
        {"last": ("B", "T", "x.shape[2]"), "last_pooled": ("B", "C", "x.shape[2]", "x.shape[3]")},
    ),
    "so many modules one after the other": (
        _BLOCK
        + """
class Net(nn.Module):
    def __init__(self, d, depth):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(d) for _ in range(depth)])
        self.pools = nn.Sequential(*(nn.AvgPool2d(2) for _ in range(depth)))
        self.turns = nn.Sequential(*[nn.Flatten() for _ in range(depth)])

    def forward(self, x, image):
        B, T, C = x.shape
        N, K, H, W = image.shape
        y = self.blocks(x)
        pooled = self.pools(image)
        flat = self.turns(image)
        return y
Net(8, 2)(torch.zeros(2, 5, 8), torch.zeros(2, 3, 16, 16))
Net(8, 0)(torch.zeros(2, 5, 8), torch.zeros(2, 3, 16, 16))
""",
        {"y": ("B", "T", "C"), "pooled": ("N", "K", "?", "?"), "flat": None},
    ),
    "one of two of a class": (
        _BLOCK
        + """
def f(one: Mlp, other: Mlp, flag, x):
    B, C = x.shape
    y = one(x)
    z = (one if flag else other)(x)
    w = other.up(x)
    return y, z, w
f(Mlp(4, 8), Mlp(4, 6), True, torch.zeros(2, 4))
""",
        {"y": ("B", "?"), "z": ("B", "?"), "w": ("B", "?")},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_true_of_each_is_known(name: str, tmp_path: Path) -> None:
    body, expected = PROGRAMS[name]
    source = _HEAD + textwrap.dedent(body)
    assert wrong_claims(tmp_path / "program.py", source) == {}
    shapes = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert {each: shapes.get(each) for each in expected} == expected


CALLING = {
    "import torch\ny = torch.vmap(lambda row: row.sum() * 2)(torch.zeros(5, 3))": (5,),
    "import torch\ny = torch.vmap(torch.matmul, (2, None), 1)(torch.zeros(3, 4, 5), torch.zeros(4, 2))": (3, 5, 2),
    "import torch, functools\ny = functools.reduce(torch.matmul, [torch.zeros(2, 3), torch.zeros(3, 4)])": (2, 4),
    "import numpy as np\ny = np.apply_along_axis(lambda row: row.sum(), 1, np.zeros((3, 4)))": (3,),
    "import numpy as np\ny = np.apply_along_axis(lambda row: [row[0], row[1]], 1, np.zeros((3, 4)))": (3, 2),
    "import numpy as np\ny = np.vectorize(lambda t: t + 1)(np.zeros((3, 4)))": (3, 4),
    "import torch\nclass Cube(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x ** 3\n"
    "y = Cube.apply(torch.zeros(2, 3))": (2, 3),
    # Look alike, and give something else.
    "import torch\ny = torch.vmap(lambda rows: rows['a'].sum())({'a': torch.zeros(5, 3)})": None,
    "import numpy as np\ny = np.vectorize(lambda t: np.zeros(2), signature='()->(n)')(np.zeros(3))": None,
    "import numpy as np\ny = np.vectorize(lambda t: (t, t))(np.zeros(3))": None,
    "class Cube:\n    @staticmethod\n    def forward(ctx, x):\n        return x ** 3\ny = Cube.apply(0)": None,
}


@pytest.mark.parametrize("source", CALLING)
def test_functions_of_libraries_that_call_one_they_are_given(source: str, tmp_path: Path) -> None:
    if "Cube.apply(0)" not in source:
        assert wrong_claims(tmp_path / "program.py", source) == {}
    shapes = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert shapes.get("y") == CALLING[source]
