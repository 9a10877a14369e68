"""What a later line tells of a rank reaches the lines before it through shapes, joins and broadcasts; torch is the oracle.

Each program is run and traced: every assignment must be known in full, and nothing that is said of it may be wrong.
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from tensorlint.inference.analysis import analyse

HEAD = "import numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"

PROGRAMS = {
    "operands by their names": """
def f(x: torch.Tensor, i: torch.Tensor):
    y = torch.stack(tensors=[x, torch.zeros(2, 3)], dim=0)
    z = torch.gather(input=torch.zeros(2, 3), dim=1, index=i)
    w = torch.cat(dim=1, tensors=(x, torch.zeros(2, 4)))
    v = torch.hstack(tensors=[torch.zeros(2), torch.zeros(4)])
    return y, z, w, v
f(torch.zeros(2, 3), torch.zeros(2, 1, dtype=torch.long))
""",
    "a shape with its last axis split": """
def f(x: torch.Tensor):
    y = x.view(*x.shape[:-1], 3, 4)
    b, t, h, d = y.shape
    return y
f(torch.zeros(2, 5, 12))
""",
    "a shape kept as a tuple": """
def f(ids: torch.Tensor):
    x = nn.Embedding(9, 4)(ids)
    shape = x.shape[:-1]
    hidden = (*shape, -1, 2)
    y = x.view(hidden).transpose(1, 2)
    b, h, t, d = y.shape
    z = y.transpose(1, 2).reshape(*shape, -1)
    return z
f(torch.zeros(2, 5, dtype=torch.long))
""",
    "shapes that are added": """
def f(x: torch.Tensor):
    y = torch.zeros(x.shape[1:] + (2,))
    z = x.new_ones((1,) + x.shape)
    a, b, c, d = z.shape
    return y
f(torch.zeros(2, 5, 3))
""",
    "a vector that scales": """
def f(x: torch.Tensor):
    gamma = torch.ones(6)
    y = x * gamma
    a, b, c = y.shape
    return y
f(torch.zeros(2, 5, 6))
""",
    "a matrix on the right": """
def f(x: torch.Tensor):
    w = torch.ones(6, 3)
    y = x @ w
    z = F.linear(y, w)
    a, b, c = z.shape
    return y
f(torch.zeros(2, 5, 6))
""",
    "joined": """
def f(x: torch.Tensor):
    y = torch.cat((x, x), -1)
    z = torch.stack([y, y])
    a, b, c = z.chunk(3, dim=1)
    u = a + b
    d, e, g, h = u.shape
    return u
f(torch.zeros(3, 3, 6))
""",
    "the largest": """
def f(x: torch.Tensor):
    v, i = x.topk(3)
    w = x.max(dim=1)[0]
    p, q = w.shape
    low, where = x.min(dim=-1, keepdim=True)
    return v
f(torch.zeros(2, 5, 6))
""",
    "letters": """
def f(x: torch.Tensor, y: torch.Tensor):
    z = torch.einsum("bij,bjk->bik", x, y)
    u = x * 2
    return z
f(torch.zeros(2, 5, 6), torch.zeros(2, 6, 3))
""",
    "resampled": """
def f(x: torch.Tensor):
    y = x * 2
    z = F.interpolate(y, scale_factor=2, mode="bilinear")
    return z
f(torch.zeros(2, 3, 4, 5))
""",
    "resampled by a layer": """
def f(x: torch.Tensor):
    y = x * 2
    z = nn.Upsample(scale_factor=(2, 2, 2))(y)
    return y
f(torch.zeros(2, 3, 4, 5, 2))
""",
    "two axes averaged": """
def f(x: torch.Tensor):
    y = x.mean((2, 3))
    a, b = y.shape
    z = x.pow(2).clamp(min=0)
    return z
f(torch.zeros(2, 3, 4, 5))
""",
    "named by what is beside it": """
def f(x: torch.Tensor, mask: torch.Tensor):
    q = x.permute(2, 0, 1)
    rows = torch.zeros(q.shape[0] // 2, x.shape[0] + 1)
    cols = rows.repeat(2, mask.shape[-1])
    return cols
f(torch.zeros(2, 3, 4), torch.zeros(7))
""",
    "a product with one's own transpose": """
def f(x: torch.Tensor):
    y = x.transpose(1, 2)
    z = x @ y
    w = z.softmax(-1)
    b, n, d = w.shape
    return w
f(torch.zeros(2, 3, 4))
""",
    "some of the axes flattened": """
def f(x: torch.Tensor, w: torch.Tensor):
    u, v = x.abs(), w.abs()
    y = x.flatten(1, 2)
    z = w.flatten(-2)
    b, n, d = y.shape
    p, q = z.shape
    return u, v
f(torch.zeros(2, 3, 4, 5), torch.zeros(2, 3, 4))
""",
    "an object that is asked whether it is a tensor": """
def f(x):
    if torch.is_tensor(x):
        y = x * 2
        a, b = y.shape
        z = y + 1
        return z
f(torch.zeros(2, 3))
""",
    "an object that only a tensor can be": """
def f(x):
    w = torch.bmm(x, x)
    y = x.exp()
    return y
f(torch.zeros(2, 3, 3))
""",
    "an object that is reduced": """
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.conv = nn.Conv2d(d, 2, 1)

    def forward(self, x):
        y = x.mean((2, 3), keepdim=True)
        z = self.conv(y)
        return z
M(3)(torch.zeros(2, 3, 4, 5))
""",
    "an object of which axes are left out": """
def f(x):
    y = x.float().abs().sum(dim=(0, 2))
    z = y.mean(axis=1)
    w = y.permute(1, 0)
    u = x.amax(1)
    return w
f(torch.zeros(2, 3, 4, 5))
""",
    "a size that only a tensor is asked for so": """
def f(x):
    n, c, h, w = x.size()
    rows = x.mean(3, keepdim=True)
    columns = x.mean(2, keepdim=True).transpose(-1, -2)
    both = torch.cat([rows, columns], dim=2)
    parts = torch.split(both, [h, w], dim=2)
    y = x + 1
    return parts
f(torch.zeros(2, 3, 4, 5))
""",
    "methods that only a tensor has": """
def f(x):
    n, c = x.shape
    before = x * 2
    y = x.sum(dim=1)
    return y
def g(x):
    n, c = x.shape
    before = x * 2
    y = x.sum(1, keepdim=True)
    return y
def h(x):
    n, c = x.shape
    before = x * 2
    y = x.masked_fill(before > 1, 0)
    return y
def conv(x):
    n, c, *_ = n, c, a, b = x.shape
    before = x * 2
    y = nn.Conv2d(3, 4, 1)(x)
    return y
f(torch.zeros(2, 3))
g(torch.zeros(2, 3))
h(torch.zeros(2, 3))
conv(torch.zeros(2, 3, 4, 5))
""",
    "objects of which nobody knows that they are tensors": """
class M(nn.Module):
    def __init__(self, twice):
        super().__init__()
        self.twice = twice
        self.fc = nn.Conv2d(3, 4, 1)

    def forward(self, x):
        y = x.mean((2, 3), keepdim=True)
        if self.twice:
            y = 0.5 * y + 0.5 * x.amax((2, 3), keepdim=True)
        y = self.fc(y)
        return y
M(True)(torch.zeros(2, 3, 4, 5))
M(False)(torch.zeros(2, 3, 4, 5))
""",
    "the axes that are left": """
def f(x: torch.Tensor):
    before = x * 2
    h, w = x.shape[2:]
    return before
def g(x: torch.Tensor):
    before = x * 2
    h, w = x.size()[1:]
    return before
def k(x: torch.Tensor):
    before = x * 2
    [n, c] = x.shape[1:-1]
    return before
def several(x: torch.Tensor):
    before = x * 2
    size = h, w = x.shape[1:]
    return before
f(torch.zeros(2, 3, 4, 5))
g(torch.zeros(2, 3, 4))
k(torch.zeros(2, 3, 4, 5))
several(torch.zeros(2, 3, 4))
""",
    "where something is": """
def f(x: torch.Tensor, y: np.ndarray):
    at = torch.where(x > 0)[0]
    last = x.nonzero(as_tuple=True)[-1]
    first = torch.nonzero(x, as_tuple=True)[0]
    for each in torch.nonzero(input=x, as_tuple=True):
        one = each + 1
    picked = torch.zeros(6, 5)[at]
    theirs = np.where(y > 0)[0]
    (only, *rest) = np.nonzero(y)
    flat = np.flatnonzero(y)
    pairs = np.argwhere(y)
    laid = x.as_strided((1, 2, 3), (3, 3, 1))
    return picked, laid
def cells(x: torch.Tensor):
    rows, columns = torch.where(x > 0)
    found = torch.zeros(4, 5)[rows, columns]
    return found
cells(torch.eye(4))
f(torch.eye(4), np.eye(4))
f(torch.ones(6), np.ones(6))
f(torch.zeros(2, 3, 4), np.zeros((2, 3, 4)))
""",
    "what torch asserts": """
def f(x: torch.Tensor):
    torch._assert(x.dim() == 3, "three axes")
    y = x * 2
    return y
def g(x: torch.Tensor):
    torch._check(x.shape == (2, 3), lambda: "six numbers")
    y = x * 2
    return y
f(torch.zeros(2, 3, 4))
g(torch.zeros(2, 3))
""",
    "methods that only torch has, of what has a shape": """
def f(x, q):
    b, c, h, w = x.shape
    rows = x.flatten(2).transpose(1, 2)
    flat = x.flatten(start_dim=1)
    first, second = q.reshape(b, 2, c, -1).unbind(1)
    narrow = q.reshape(b, 2, -1).float().var(dim=2, keepdim=True)
    low, high = q.reshape(b, 2, -1).split(6, 2)
    part = q.reshape(b, 2, -1).narrow(1, 0, 1).detach()
    top = q.reshape(b, 2, -1).amax(2).sigmoid()
    return rows, flat, first, narrow
f(torch.zeros(2, 4, 3, 5), torch.zeros(2, 24))
def g(x):
    b, n, c = x.shape
    y = x.unbind(2)[0].clamp(min=0)
    z = x.softmax(-1).type_as(y)
    return y, z
g(torch.zeros(2, 3, 4))
""",
    "a width that is given or worked out": """
class M(nn.Module):
    def __init__(self, dim: int, heads: int, width: int | None = None):
        super().__init__()
        inner = dim // heads
        if width is not None:
            inner = width
        every = inner * heads
        self.bias = nn.Parameter(torch.zeros(every))
        self.table = nn.Parameter(torch.zeros(2 * inner - 1, every))

    def forward(self, x: torch.Tensor):
        both = torch.cat((self.bias, self.bias))
        rows = self.table.sum(0)
        return both, rows
M(8, 2)(torch.zeros(3, dtype=torch.long))
M(8, 2, 3)(torch.zeros(3, dtype=torch.long))
""",
    "patches of any size": """
def f(x: torch.Tensor, size, fold):
    b, c, h, w = x.shape
    y = F.unfold(x, size, stride=size)
    z = nn.Unfold(kernel_size=size)(x)
    u = F.fold(y, fold, size, stride=size)
    return y, z, u
f(torch.zeros(2, 3, 4, 4), 2, (4, 4))
f(torch.zeros(2, 3, 4, 4), (2, 4), 4)
""",
    "what functions say that they give": """
class Cache:
    def __init__(self):
        self.rows = []
    def length(self, layer: int = 0) -> int:
        if layer >= len(self.rows):
            return 0
        return self.rows[layer].count
    def weight(self) -> "float":
        return self.rows
class Tensors(Cache):
    def __init__(self):
        super().__init__()
        self.count = torch.tensor(3)
    def length(self, layer: int = 0) -> int:
        return self.count
class Other:
    def length(self, layer: int = 0) -> int:
        return {}.get(layer, 2)
def half_of(rows) -> float:
    return rows.pop() / 2
class M(nn.Module):
    def forward(self, x: torch.Tensor, cache: Cache | None = None, flag=False):
        b, t = x.shape
        if flag and cache is None:
            cache = Other() if b else Cache()
        at = torch.arange(t) + (cache.length() if cache is not None else 0)
        at = at.unsqueeze(0)
        y = x * half_of([4])
        z = torch.zeros(b) - (2 * cache.length(layer=1) + 1) // b
        u = torch.zeros(cache.length() + 1)
        return at, y, z, u
def last(x, cache: "Cache"):
    n = torch.zeros(3) + cache.length()
    return n
for each in (Cache(), Tensors()):
    M()(torch.zeros(2, 3), each)
    last(torch.zeros(2), each)
M()(torch.zeros(2, 3), flag=True)
""",
    "what an object has worked out before": """
class M(nn.Module):
    kept: dict
    def __init__(self, n):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(2, n))
        self.register_buffer("index", torch.zeros(n, n, dtype=torch.long))
        self.kept = {}
    def train(self, mode=True):
        super().train(mode)
        if mode and self.kept is not None:
            self.kept = {}
    def biases(self, device):
        if self.training:
            return self.table[:, self.index]
        key = str(device)
        if key not in self.kept:
            self.kept[key] = self.table[:, self.index]
        return self.kept[key]
    def forward(self, x: torch.Tensor):
        b, h, n, m = x.shape
        y = x + self.biases(x.device)
        z = y.softmax(-1)
        return z
for training in (True, False):
    m = M(3)
    m.train(training)
    m(torch.zeros(1, 2, 3, 3))
""",
    "views of what nobody knows": """
import torch.fx
def keep(function):
    return function
@torch.fx.wrap
@keep
def rows(x, n):
    b, c, h, w = x.shape
    return x.reshape(b, c, h * w)
class M(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.add_module("other", layer)
    def forward(self, x: torch.Tensor, layers):
        b, n, c = x.shape
        q, k = self.layer(x).view(b, n, 2, -1).unbind(2)
        y = layers[0](x).reshape(b, -1, 2, n).sum(-1, keepdim=True)
        z = layers[1](layers[0](x)).permute(0, 2, 1)
        u = getattr(self, "other")(x).view(b, n, -1, 1).permute(0, 3, 1, 2)
        v = rows(u, 2)
        return q, k, y, z, u, v
M(nn.Identity())(torch.zeros(2, 3, 4), [nn.Identity()] * 2)
""",
    "numbers that methods assign anew": """
import math
class M(nn.Module):
    def __init__(self, depth: int):
        super().__init__()
        self.rate = 0.8
        self.count = 0
        self.last = 1
        self.set(depth)
    def set(self, depth: int):
        self.rate = 0.8 - 0.6 * math.exp(-0.3 * depth)
    def step(self, n: int, rate: float, names):
        self.count += 1
        if n > 3:
            self.last: int = len(names) // 2 if names else -n
            self.rate /= float(rate)
        else:
            self.rate = rate
    def forward(self, x: torch.Tensor):
        b, c = x.shape
        y = x * self.rate + self.count
        z = torch.zeros(self.count, self.last + 1)
        u = torch.full((c,), self.last)
        return y, z, u
m = M(2)
m(torch.zeros(2, 3))
m.step(4, 0.5, "abcdef")
m(torch.zeros(2, 3))
""",
    "functions that decorators give back": """
KNOWN = {}
def register(function):
    KNOWN[function.__name__] = function
    return function
def registered(name):
    name = name + "!"
    def keep(function):
        if name in KNOWN:
            raise KeyError(name)
        KNOWN[name, 1] = function
        return function
    return keep
@register
def windows(x, n):
    rows, c = x.shape
    return x.view(rows // n, n, c)
@registered("whole")
@register
def whole(x):
    return x.reshape(-1, 3)
class M:
    @register
    def apply(self, x):
        return x.unsqueeze(0)
def f(x: torch.Tensor):
    n, c = x.shape
    y = windows(x, 2)
    z = whole(y)
    u = M().apply(z)
    return u
f(torch.zeros(4, 3))
""",
    "a field that was worked out": """
from torch.utils.checkpoint import checkpoint
class M(nn.Module):
    def __init__(self, dim, heads, size=None):
        super().__init__()
        size = size or dim // heads
        self.inner = size * heads
        self.scale = nn.Linear(dim, self.inner)

    def forward(self, x: torch.Tensor):
        B, N, C = x.shape
        q = self.scale(x)
        k = q.view(B, N, self.inner)
        z = checkpoint(self.scale, x, use_reentrant=False)
        return k
M(8, 2, 3)(torch.zeros(2, 5, 8))
""",
}


def traced(path: Path, source: str) -> Any:
    path.write_text(source, encoding="utf-8")
    tracing = importlib.import_module("test_inference_running_models")._tracing()
    score = tracing.Score()
    tracer = tracing.Tracer(tracing.Claims(False), score, (str(path.parent),))
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        exec(compile(source, str(path), "exec"), {"__name__": __name__})
    finally:
        sys.settrace(before)
    return score


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_of_a_program_is_known(name: str, tmp_path: Path) -> None:
    score = traced(tmp_path / "program.py", HEAD + PROGRAMS[name].lstrip())
    assert score.wrong == {}
    assert sorted((line, name) for _, line, name in score.ran - score.ranked) == []
    assert score.ran


@pytest.mark.filterwarnings("ignore")
def test_a_field_that_nobody_knows_is_one_size_in_all_methods(tmp_path: Path) -> None:
    score = traced(tmp_path / "program.py", HEAD + PROGRAMS["a field that was worked out"].lstrip())
    assert score.full == score.ran
    assert score.wrong == {}


COMPUTED = {
    "parameters": """
def f(n, m, k):
    x = torch.zeros(n * m, 2)
    y = torch.zeros(n + m, m - k + 1, (n + k - 1) // k)
    z = x.view(n, m, 2)
    u = torch.ones(n ** 2, m ** 3)
    q = n * m
    v = torch.ones(q * k, q)
    return z
f(4, 3, 2)
""",
    "integers that are one of several": """
def f(x: torch.Tensor, flag, memory):
    b, t = x.shape
    kept = memory.shape[0] if memory is not None else 0
    low = min(b, t)
    length = 3 if flag else t
    half = int(t * 0.5)
    y = torch.zeros(b, t + kept)
    z = torch.ones(low, t - low + 1)
    u = torch.zeros(length, 2 * half)
    return u
f(torch.zeros(2, 4), True, None)
f(torch.zeros(2, 5), False, torch.zeros(3))
""",
    "fields": """
class M(nn.Module):
    def __init__(self, config, n):
        super().__init__()
        self.dim = config.dim
        self.heads = config.heads
        self.n = n
        self.linear = nn.Linear(config.dim, config.dim)

    def forward(self, x: torch.Tensor):
        b, t, _ = x.shape
        y = self.linear(x).view(b, t, self.heads, self.dim // self.heads)
        u, v = x.split([self.n, self.dim - self.n], dim=-1)
        return y
from types import SimpleNamespace
M(SimpleNamespace(dim=12, heads=3), 5)(torch.zeros(2, 4, 12))
""",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", COMPUTED)
def test_sizes_computed_from_objects_nobody_knows(name: str, tmp_path: Path) -> None:
    score = traced(tmp_path / "program.py", HEAD + COMPUTED[name].lstrip())
    assert score.wrong == {}
    assert sorted((line, name) for _, line, name in score.ran - score.full) == []


@pytest.mark.filterwarnings("ignore")
def test_sizes_are_named_by_what_is_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    score = traced(path, HEAD + PROGRAMS["named by what is beside it"].lstrip())
    text = path.read_text(encoding="utf-8")
    rows = {row.name: row.shape for row in analyse(ast.parse(text), text).bindings}
    assert score.full == score.ran
    assert score.wrong == {}
    assert rows["q"] == ("x.shape[2]", "x.shape[0]", "x.shape[1]")
    assert rows["rows"] == ("x.shape[2]//2", "x.shape[0] + 1")
