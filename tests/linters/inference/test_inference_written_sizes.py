"""How sizes are written that have no name of their own: by names that the line finds, and that mean the same behind it."""

import ast
import itertools
from pathlib import Path

import pytest

pytest.importorskip("torch")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

MODEL = """
import math
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, d, r):
        super().__init__()
        INIT

    def forward(self, x):
        BODY
        return x

Model(6, 1.5)(torch.ones(4, 6))
"""


def model(init: str, body: str) -> str:
    return MODEL.replace("INIT", init).replace("BODY", body.replace("\n", "\n        "))


def shown(source: str) -> list[tuple[str, tuple[int | str, ...] | None]]:
    return [(row.name, row.shape) for row in analyse(ast.parse(source), source).bindings]


@pytest.mark.parametrize(
    ("init", "body", "shape"),
    [
        # An axis that is as long as it was.
        ("self.fc = nn.Linear(d, 3)", "assert x.ndim == 2\nx = self.fc(x)", ("x.shape[0]", 3)),
        ("self.fc = nn.Linear(d, 3)", "assert x.ndim == 2\nx = torch.relu(x)", ("x.shape[0]", "x.shape[1]")),
        ("self.fc = nn.Linear(d, 3)", "assert x.ndim == 2\nx = torch.relu(x).t()", ("?", "?")),
        ("self.fc = nn.Linear(d, 3)", "assert x.ndim == 2\nx = torch.cat([x, x])", ("?", "x.shape[1]")),
        # What a layer was made with.
        ("self.fc = nn.Linear(d, int(d * r))", "n = len(x)\nx = self.fc(x.view(n, -1))", ("n", "self.fc.out_features")),
        ("self.e = nn.Embedding(9, int(d * r))", "x = self.e.weight[:2]", (2, "self.e.embedding_dim")),
        ("self.c = nn.Conv2d(d, int(d * r), 1)", "x = torch.ones(self.c.out_channels)", ("self.c.out_channels",)),
        # What an attribute holds.
        ("self.n = max(1, int(d * r))", "x = torch.ones(self.n)", ("self.n",)),
        ("self.n = math.ceil(d / 8) * 8", "x = torch.ones(self.n)", ("self.n",)),
        ("self.n = math.ceil(d / 8) * 8", "x = torch.ones(self.n // d, 2)", ("self.n//d", 2)),
        ("self.size = (int(d * r), 4)", "x = torch.ones(self.size)", ("self.size[0]", 4)),
        ("self.p = nn.Parameter(torch.ones(int(d * r)))", "x = self.p * 2", ("self.p.shape[0]",)),
        # A name is easier to read than a long formula.
        (
            "self.width = d; self.patch = r; self.n = (self.width // self.patch) ** 2 + 1",
            "x = torch.ones((self.width // self.patch) ** 2 + 1, 2)",
            ("self.n", 2),
        ),
        (
            "self.width = d; self.patch = r; self.n = self.width // self.patch",
            "x = torch.ones(self.n, 2)",
            ("self.width//self.patch", 2),
        ),
        ("pass", "h, w = x.shape\nn = h * w\nx = torch.ones(h, w).flatten()", ("h*w",)),
        # What other names hold.
        ("pass", "h, w = x.shape\nh = h + (-h % 4)\nx = torch.ones(h // 2, w)", ("h//2", "w")),
    ],
)
def test_a_size_is_written_by_what_the_line_finds(init: str, body: str, shape: tuple[int | str, ...]) -> None:
    if "self.n // d" in body:
        body = body.replace("d", "self.d")
        init += "; self.d = d"
        shape = tuple(str(size).replace("d", "self.d") if isinstance(size, str) else size for size in shape)
    rows = [row for row in shown(model(init, body)) if row[0] == "x"]
    assert rows[-1][1] == shape


INITS = {
    "layer": "self.fc = nn.Linear(d, int(d * r)); self.p = self.fc.weight",
    "number": "self.up = max(1, int(d * 0.3)); self.fc = nn.Linear(d, self.up); self.p = torch.ones(self.up, d)",
    "multiple": "self.up = math.ceil(d / 8) * 8; self.fc = nn.Linear(d, self.up); self.p = torch.ones(self.up, d)",
    "tuple": "self.size = (int(d * r), d); self.p = torch.ones(*self.size); self.fc = nn.Linear(d, self.size[0])",
    "parameter": "self.p = nn.Parameter(torch.ones(int(d * r), d)); self.fc = nn.Linear(d, self.p.shape[0])",
    "buffer": "self.register_buffer('p', torch.ones(int(d * r), d)); self.fc = nn.Linear(d, self.p.shape[0])",
}
CHANGES = {
    "none": "pass",
    "assigned": "self.p = torch.ones(9, 6); self.up = 3; self.size = (3, 4); self.fc = nn.Linear(6, 5)",
    "by name": "setattr(self, 'up', 5); object.__setattr__(self, 'size', (1, 2))",
    "dictionary": "self.__dict__['up'] = 2; vars(self).update(size=(1, 2))",
    "layer": "self.fc.out_features = 77",
    "elsewhere": "change(self)",
    "data": "self.p.data = torch.ones(9, 6)",
}
BODIES = {
    "layer": "y = self.fc(x)\n        z = y + 1\n        x = self.fc(x)\n        x = x * 2",
    "cut": "x = self.fc(x)\n        if x.shape[0] > 2: x = x[:2]\n        x = torch.relu(x)\n        y = x.t()",
    "tensor": "q = self.p * 2\n        y = q.sum(1)\n        q = q[:, :2]\n        q = q + 1\n        q = q.t()\n        q = q * 1",
    "changed": "y = self.p\n        self.grow()\n        z = y + 0\n        w = self.p + 0\n        w = w.sum(1)",
    "numbers": "a, b = self.p.shape\n        y = torch.zeros(a, 2)\n        a = a + 1\n        z = y * 2\n        y = y * 1",
    "rounds": "for _ in range(2):\n            y = x @ self.p.mT\n            self.grow()\n            y = y + 1",
}
CALLS = {
    "as made": "m = M(6, 1.5)\nm(torch.ones(4, 6))",
    "changed": "m = M(6, 1.5)\nm.grow()\ntry: m(torch.ones(4, 6))\nexcept RuntimeError: pass",
    "subclass": "class N(M):\n    def __init__(self, d, r):\n        super().__init__(d, r)\n        self.fc = nn.Linear(d, 11)\nN(6, 1.7)(torch.ones(4, 6))",
}
CLASS = """
import math
import torch
from torch import nn

def change(m):
    m.p = torch.ones(8, 6)
    m.size = (1, 1)

class M(nn.Module):
    def __init__(self, d, r):
        super().__init__()
        INIT

    def grow(self):
        with torch.no_grad():
            CHANGE

    def forward(self, x):
        BODY
        return y

CALL
"""


@pytest.mark.parametrize(("init", "change"), itertools.product(INITS, CHANGES))
def test_names_of_an_object_mean_what_it_has(init: str, change: str, tmp_path: Path) -> None:
    ran = 0
    for body, call in itertools.product(BODIES.values(), CALLS.values()):
        source = CLASS.replace("INIT", INITS[init]).replace("CHANGE", CHANGES[change])
        source = source.replace("BODY", body).replace("CALL", call)
        try:
            exec(compile(source, "program", "exec"), {"__name__": "program"})
        except (RuntimeError, TypeError, AttributeError, KeyError):
            continue
        ran += 1
        assert not wrong_claims(tmp_path / "program.py", source), source
    assert ran


HEADS = {
    "twice": "for i in (q, q):\n    ",
    "once": "for i in [q]:\n    ",
    "pair": "for i, j in ((q, p),):\n    ",
    "assigned": "for _ in range(2):\n    i = q\n    ",
    "while": "while k < 2:\n    k += 1\n    i = q\n    ",
}
REBOUND = ["q = round(p / 3)", "q = max(q - 1, 1)", "x = x[:, 1:]; q = x.shape[1]", "p, q = q, p"]
OUTER = ["for t in x.split(3):", "for t in (x, x + 1):", "for _ in range(3):\n    t = x"]
USED = ["z = t.repeat(p, 1)", "z = torch.zeros(i, 2)", "z = torch.zeros(q, i)"]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("rebound", REBOUND)
def test_a_round_names_no_size_that_later_rounds_find_changed(head: str, rebound: str, tmp_path: Path) -> None:
    for outer, use in itertools.product(OUTER, USED):
        inner = (HEADS[head] + rebound + "\n" + use).replace("\n", "\n    ")
        body = (outer + "\n    " + inner).replace("\n", "\n    ")
        source = f"""
import torch

def go(x, p, k):
    n, q, = x.shape
    {body}
    return z

go(torch.ones(4, 7), 4, 0)
go(torch.ones(9, 5), 5, 0)
"""
        assert not wrong_claims(tmp_path / "program.py", source), source


def test_what_every_round_holds_keeps_its_name() -> None:
    source = """
import torch

def go(x, rows):
    for row in rows:
        n, q = x.shape
        for i in (q, q):
            z = torch.zeros(i, 2)
    return z
"""
    assert ("z", ("q", 2)) in shown(source) or ("z", ("i", 2)) in shown(source)


BOUNDS = [
    "k = max(1, len(x) // 8)",
    "k = max(len(x) - 4, 1)",
    "k = max(1, int(x.sum()))",
    "k = min(1, len(x))",
    "k = max(1, len(x) // 8) if x.shape[1] > 2 else max(len(x) // 9, 1)",
    "k = len(x)\n    if k > 2: k = max(1, k // 9)",
]


@pytest.mark.parametrize(("bound", "contiguous"), [*((bound, None) for bound in BOUNDS), ("k = len(x)", False)])
def test_what_is_bounded_by_one_may_be_one(bound: str, contiguous: bool | None) -> None:
    source = f"import torch\n\ndef go(x):\n    {bound}\n    y = torch.randn(k, 3).T\n"
    row = analyse(ast.parse(source), source).bindings[-1]
    assert row.shape is not None
    assert row.shape[0] == 3
    assert row.contiguous is contiguous  # it is, where k is 1


def test_the_name_of_what_is_bounded_by_one_is_shown() -> None:
    source = "import torch\n\ndef go(x):\n    k = max(1, len(x) // 8)\n    y = torch.ones(k, 3)\n"
    assert shown(source) == [("y", ("k", 3))]


# `n` is bound by the line before, and anew by an expression: what it holds then is another size.
ANEW = {
    "in a condition": "if (n := n - 1) > 2 and y is not None:\n        y = x.sum(0)",
    "in one that may not be reached": "if m > 99 or (n := n - 1) > 2:\n        y = x.sum(0)",
    "in an assignment": "y = (n := n - 1)",
    "in a comparison": "y = 0 < n < (n := n + 1)",
    "in a list": "y = [(n := n - i) for i in range(2)]",
    "in a set": "y = {(n := n + i) for i in range(m)}",
    "in an argument": "y = abs(n := n + 2)",
    "in a loop": "for i in range(2):\n        y = (n := n + i)",
    "in a subscript": "y = [1, 2][(n := 1)]",
}


@pytest.mark.parametrize("anew", ANEW)
@pytest.mark.parametrize("bound", ["n, m = x.shape", "n = x.shape[0]\n    m = x.shape[1]", "n, m = len(x), x.size(1)"])
def test_a_size_is_not_written_by_a_name_that_an_expression_binds_anew(bound: str, anew: str, tmp_path: Path) -> None:
    source = (
        f"import torch\n\n\ndef go(x, y=0):\n    {bound}\n    {ANEW[anew]}\n    a = x.double()\n    b = torch.zeros(n, 2)\n"
        "    c = torch.cat([a, a])\n\n\ngo(torch.ones(4, 6))\ngo(torch.ones(3, 3))\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


def test_a_size_keeps_the_name_that_an_expression_binds_elsewhere() -> None:
    source = "import torch\n\n\ndef go(x: torch.Tensor):\n    n, m = x.shape\n    if (k := n - 1) > 2:\n        a = x * k\n    b = x + 1\n"
    shapes = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert [*map(str, shapes["b"] or ())] == ["n", "m"]


@pytest.mark.parametrize("made", ["x = torch.zeros(3, 40) + x", "x = x.clone()", "x = np.asarray(x)", "x = x"])
@pytest.mark.parametrize("test", ["i % 2 == 0", "i < 2", "i != 3", "len(x) > 9 or i == 0"])
def test_a_name_that_only_some_rounds_bind_says_no_size(made: str, test: str, tmp_path: Path) -> None:
    source = (
        f"import numpy as np\nimport torch\ndef go(x, n):\n    {made}\n    a, b = x.shape\n    for i in range(n):\n"
        f"        x = x[:, 1:]\n        if {test}:\n            L = x.shape[1]\n            w = x * 1\n"
        "        y = x * 2\n        z = x[0] * w.sum()\n    v = x * 3\ngo(torch.zeros(3, 40), 6)\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}
