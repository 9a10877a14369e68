"""Control flow, functions, classes and containers: each program is run, and what is inferred of its names compared.

`known` are the names whose whole shape must be inferred; of the others nothing wrong may be said.
"""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is the oracle")
numpy = pytest.importorskip("numpy", reason="numpy is the other one")

from tensorlint.inference.analysis import analyse  # noqa: E402
from tensorlint.inference.hazards import ViewHazard  # noqa: E402

PROGRAMS: dict[str, tuple[str, str]] = {
    "branches that agree": (
        "y",
        "x = torch.zeros(2, 3)\nif torch.rand(1).item() > 2:\n    y = x.exp()\nelse:\n    y = x + 1\n",
    ),
    "branches that do not": (
        "",
        "x = torch.zeros(2, 3)\ny = x.t() if torch.rand(1).item() > 2 else x\nz = y.reshape(-1)\n",
    ),
    "numbers that are drawn, measured and read": (
        "a b c d e f g h i k z",
        """
        import math, random, time
        a = torch.tensor([random.random() * 6 for _ in range(20)])
        b = torch.tensor([random.uniform(0, 1) for _ in range(20)])
        c = torch.tensor([random.choice([1, 2]) for _ in range(20)])
        d = torch.tensor([max(random.gauss(0, 1), 0.0) for _ in range(20)])
        e = torch.tensor([round(v, 2) for v in [time.time()] * 3])
        f = torch.tensor([math.hypot(v, 1.0) for v in range(9)])
        g = torch.tensor([-abs(random.randrange(4)) for _ in range(20)])
        h = torch.tensor([random.randint(1, 2), 3])
        i = torch.zeros(4, 3)[random.randrange(4)]
        for line in "1 2 3".splitlines():
            k = torch.zeros(5, 3) * int(line[0])
        z = torch.zeros(2, 3)[int("1")]
        """,
    ),
    "lists in another order, and parts of lists": (
        "a b c d e g h",
        """
        import random
        x = torch.zeros(16, 3)
        rows = list(range(len(x)))
        random.shuffle(rows)
        a = x[rows]
        b = torch.tensor(rows[2:7])
        c = torch.tensor(rows[:-2])
        d = torch.tensor(rows[::-3])
        for i in range(0, 16, 4):
            e = x[torch.tensor(rows[i:min(i + 4, len(x))])]
        three = [1, 2, 3]
        same = three
        np.random.shuffle(three)
        f = x[three]
        g = torch.tensor(rows[5:100])
        h = torch.zeros(min(len(x), len(rows) + 1), max(3, len(rows)))
        i = x[same]
        """,
    ),
    "lists in another order of things that differ": (
        "",
        """
        import random
        parts = [torch.zeros(2), torch.zeros(3), torch.zeros(4)]
        other = parts
        random.shuffle(parts)
        a = parts[0]
        b = other[1]
        random.Random(3).shuffle(other)
        c = parts[2]
        for i in range(0, 16, 5):
            d = torch.zeros(min(i, 1), max(i, 1), min(5, 16 - i), min(i + 5, 16))
        lists = [[1], [1, 2]]
        random.shuffle(lists)
        lists[0].append(3)
        e = torch.tensor(lists[1])
        """,
    ),
    "a Sequential that is filled by name": (
        "a b c",
        """
        x = torch.zeros(5, 3)
        net = nn.Sequential()
        a = net(x)
        net.add_module("first", nn.Linear(3, 4))
        net.add_module("second", nn.Linear(4, 1))
        b = net(x)

        def build(width):
            made = nn.Sequential()
            made.add_module("first", nn.Linear(3, width))
            made.add_module("act", nn.ReLU())
            return made

        c = build(6)(x)
        """,
    ),
    "a Sequential whose members are replaced by name": (
        "",
        """
        from collections import OrderedDict
        x = torch.zeros(5, 3)
        net = nn.Sequential()
        net.add_module("first", nn.Linear(3, 1))
        net.add_module("first", nn.Linear(3, 2))
        a = net(x)
        net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        net.add_module("1", nn.Linear(4, 7))
        b = net(x)
        net = nn.Sequential(OrderedDict([("a", nn.Linear(3, 4)), ("b", nn.Linear(4, 2))]))
        net.add_module("b", nn.Linear(4, 7))
        c = net(x)
        net = nn.Sequential()
        net.add_module("o", nn.Linear(3, 1))
        net.o = nn.Linear(3, 8)
        d = net(x)
        for name in "ab":
            net = nn.Sequential()
            net.add_module("a", nn.Linear(3, 4))
            net.add_module(name, nn.Linear(3 if name == "a" else 4, 5))
            e = net(x)
        """,
    ),
    "numbers that are none": (
        "",
        """
        import random
        low, high = np.zeros(3), np.ones(3)
        a = torch.tensor(np.array([random.uniform(low, high) for _ in range(4)]))
        b = torch.stack([random.choice([torch.zeros(2), torch.ones(2)]) for _ in range(4)])
        c = np.array([max([1, 2], [3, 4]) for _ in range(4)])
        d = np.array([random.choice([[1, 2], [3, 4]]) for _ in range(4)])
        e = torch.zeros(random.randint(3, 5), 2)
        n = random.randint(3, 5)
        f = torch.zeros(n, 2)
        n = random.randint(3, 5)
        g = torch.zeros(n, 2)
        h = [torch.zeros(random.randint(1, 9), 2) for _ in range(4)]
        k = h[0]
        m = torch.cat(h)
        """,
    ),
    "a branch that is known": ("y", "x = torch.zeros(2, 3)\nif x.ndim == 2:\n    y = x[None]\nelse:\n    y = x\n"),
    "a branch that ends": (
        "y",
        "def f(x):\n    if x.ndim == 3:\n        return x[0]\n    return x\ny = f(torch.zeros(2, 3))\n",
    ),
    "an annotated name of what is not known": (
        "y z",
        "from jaxtyping import Float\ny: Float[torch.Tensor, '2 3'] = eval('torch.zeros(2, 3)')\nz = y.t()\n",
    ),
    "an annotated name of what is known better": (
        "y z",
        "from jaxtyping import Float\ny: Float[torch.Tensor, 'n m'] = torch.zeros(2, 3).t()\nz = y + 1\nn: int = 3\n",
    ),
    "a generic module with its type": (
        "y z",
        """
        from typing import Generic, TypeVar
        T = TypeVar("T")
        class Head(nn.Module, Generic[T]):
            def __init__(self, n):
                super().__init__()
                self.lin = nn.Linear(n, 1)
            def forward(self, x):
                return self.lin(x)
        class Small(Head[int]):
            def __init__(self):
                super().__init__(3)
        y = Head[int](4)(torch.zeros(5, 4))
        z = Small()(torch.zeros(2, 3))
        """,
    ),
    "classes whose metaclass makes something of an index": (
        "",
        """
        class Meta(type):
            def __getitem__(cls, n):
                return Other
        class Base(metaclass=Meta):
            pass
        class Other:
            x = torch.zeros(5)
        class Plain(Base):
            x = torch.zeros(2, 3)
        class Layer(Base, nn.Module):
            x = torch.zeros(2, 3)
        y = Plain[0].x
        z = Layer[0].x
        """,
    ),
    "a module that makes something of its type": (
        "",
        """
        class Head(nn.Module):
            def __class_getitem__(cls, n):
                return lambda: torch.zeros(n)
            def forward(self, x):
                return x
        y = Head[4]()
        """,
    ),
    "a loop that changes nothing": ("x", "x = torch.zeros(2, 3)\nfor _ in range(20):\n    x = x * 2\n"),
    "a loop that grows": (
        "",
        "x = torch.zeros(2, 3)\nfor _ in range(20):\n    x = torch.cat([x, x[:1]])\ny = x.sum(0)\n",
    ),
    "a loop that transposes": ("", "x = torch.zeros(2, 3)\nfor _ in range(15):\n    x = x.t()\ny = x + 1\n"),
    "a short loop": (
        "y",
        "x = torch.zeros(2)\nfor n in [3, 4]:\n    x = x.unsqueeze(-1).expand(*x.shape, n)\ny = x + 1\n",
    ),
    "while and break": (
        "",
        "x = torch.zeros(2)\nwhile True:\n    y = x[None]\n    if y.sum() == 0:\n        break\n    x = y\n",
    ),
    "continue": (
        "",
        "x = torch.zeros(4)\nfor i in range(12):\n    if i % 2:\n        x = x[None][0]\n        continue\n    x = torch.zeros(i + 1)\n",
    ),
    "a value of the round before": (
        "",
        "last = torch.zeros(1)\nfor i in range(1, 12):\n    now = torch.zeros(i)\n    both = torch.cat([last, now])\n    last = now\n",
    ),
    "a list that is filled": (
        "s",
        "xs = []\nfor i in range(12):\n    xs.append(torch.zeros(2, 3))\ns = torch.stack(xs)[0]\n",
    ),
    "a list of different sizes": (
        "",
        "xs = [torch.zeros(i) for i in range(1, 12)]\na, b = xs[0], xs[1]\nc = torch.cat(xs)\n",
    ),
    "a list under two names": ("", "xs = [torch.zeros(2)]\nys = xs\nys.append(torch.zeros(3))\nz = xs[-1]\n"),
    "a list changed in a function": (
        "",
        "def add(xs):\n    xs[0] = torch.zeros(5)\nxs = [torch.zeros(2)]\nadd(xs)\nz = xs[0]\n",
    ),
    "a list given to code that is not known": (
        "",
        "import operator\nxs = [torch.zeros(2)]\noperator.setitem(xs, 0, torch.zeros(5))\nz = xs[0]\n",
    ),
    "a dictionary": ("z", "d = {'a': torch.zeros(2), 'b': torch.zeros(3)}\nd['a'] = torch.zeros(4)\nz = d['a']\n"),
    "a dictionary in a loop": (
        "",
        "d = {'a': torch.zeros(2)}\nfor _ in range(12):\n    z = d['a']\n    d['a'] = torch.cat([z, z[:1]])\n",
    ),
    "unpacking": ("a b c", "a, (b, *c_), c = torch.zeros(1), (torch.zeros(2), 1, 2), torch.zeros(3)\n"),
    "zip and enumerate": (
        "y",
        "for i, (a, b) in enumerate(zip([torch.zeros(2)] * 2, [torch.zeros(3)] * 2)):\n    y = torch.outer(a, b)\n",
    ),
    "iteration": ("row", "for row in torch.zeros(4, 5):\n    pass\n"),
    "keyword arguments and defaults": ("y", "def f(x, n=2, *, m):\n    return torch.zeros(n, m)\ny = f(0, m=3)\n"),
    "star arguments": ("y", "def f(*sizes, **rest):\n    return torch.zeros(*sizes)\ny = f(2, 3, k=1)\n"),
    "a closure": (
        "y",
        "def outer(n):\n    def inner(x):\n        return x.expand(n, 3)\n    return inner\ny = outer(2)(torch.zeros(1, 3))\n",
    ),
    "a lambda": ("y", "f = lambda x, n=2: x.repeat(n, 1)\ny = f(torch.zeros(2, 3))\n"),
    "partial": ("y", "from functools import partial\nf = partial(torch.sum, dim=0)\ny = f(torch.zeros(2, 3))\n"),
    "a method": (
        "y",
        "class A:\n    def __init__(self, n):\n        self.n = n\n    def make(self):\n        return torch.zeros(self.n, 2)\ny = A(3).make()\n",
    ),
    "an attribute that changes": (
        "y",
        "class A:\n    def __init__(self):\n        self.n = 2\n    def grow(self):\n        self.n = self.n + 1\n"
        "    def make(self):\n        return torch.zeros(self.n)\na = A()\na.grow()\ny = a.make()\n",
    ),
    "a subclass": (
        "y",
        "class A(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        self.f = nn.Linear(n, 4)\n    def forward(self, x):\n"
        "        return self.f(x)\nclass B(A):\n    def forward(self, x):\n        return super().forward(x)[:, :2]\ny = B(3)(torch.zeros(5, 3))\n",
    ),
    "a property": ("y", "class A:\n    @property\n    def w(self):\n        return torch.zeros(2, 3)\ny = A().w.t()\n"),
    "a dataclass": (
        "y",
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    n: int\n    m: int = 3\nc = C(2)\ny = torch.zeros(c.n, c.m)\n",
    ),
    "a named tuple": (
        "y",
        "from typing import NamedTuple\nclass P(NamedTuple):\n    a: torch.Tensor\n    b: int = 2\ny = P(torch.zeros(3)).a\n",
    ),
    "a buffer": (
        "y",
        "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer('b', torch.zeros(2, 3))\n"
        "    def forward(self):\n        return self.b.t()\ny = A()()\n",
    ),
    "a sequential": (
        "y",
        "m = nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.ReLU())\ny = m(torch.zeros(2, 3, 4))\n",
    ),
    "a module list": (
        "y",
        "ls = nn.ModuleList([nn.Linear(4, 4) for _ in range(20)])\ny = torch.zeros(2, 4)\nfor l in ls:\n    y = l(y)\n",
    ),
    "try": (
        "",
        "x = torch.zeros(2)\ntry:\n    x = torch.zeros(3)\n    x = torch.zeros(4).view(3)\nexcept RuntimeError:\n    y = x\n",
    ),
    "with": ("y", "with torch.no_grad():\n    y = torch.zeros(2)\n"),
    "match": (
        "",
        "n = 2\nmatch n:\n    case 1:\n        y = torch.zeros(1)\n    case k:\n        y = torch.zeros(k)\n",
    ),
    "a global": ("", "n = torch.zeros(2)\ndef f():\n    global n\n    n = torch.zeros(3)\nf()\ny = n\n"),
    "in place": ("x y", "x = torch.zeros(2, 3)\nx += torch.ones(3)\ny = x.unsqueeze_(0) if False else x\n"),
    "in place under two names": ("", "x = torch.zeros(2, 3)\ny = x\nx.t_()\nz = y + 0\n"),
    "deleted": ("x", "x = torch.zeros(2)\ndel x\nx = torch.zeros(3)\n"),
    "a generator": ("y", "def g():\n    for i in range(3):\n        yield torch.zeros(2)\nfor y in g():\n    pass\n"),
    "walrus": ("y n", "if (n := torch.zeros(2, 3)).ndim == 2:\n    y = n.t()\n"),
    "shape arithmetic": ("y", "x = torch.zeros(4, 6)\nb, c = x.shape\ny = x.view(b // 2, 2 * c).view(-1, c * 2, 1)\n"),
    "numpy": (
        "m s d",
        "x = np.zeros((4, 3))\nm = x.mean(axis=0, keepdims=True)\ns = (x - m).std(1)\nd = x[x[:, 0] > 1, :2].shape[1] * np.eye(2)\n",
    ),
    "recursion": (
        "",
        "def f(n):\n    return torch.zeros(1) if n == 0 else torch.cat([f(n - 1), f(n - 1)])\ny = f(3)\n",
    ),
    "shadowing": (
        "y",
        "def f(torch_):\n    return torch_\ny = f(torch.zeros(2))\nzeros = lambda n: torch.ones(n, n)\nz = zeros(3)\n",
    ),
    "a record with other fields": (
        "a b",
        """
        from dataclasses import dataclass, replace
        @dataclass
        class Point:
            w: torch.Tensor
            n: int = 3
        point = Point(torch.zeros(2, 3))
        other = replace(point, n=5)
        a = torch.zeros(other.n)
        b = other.w * 1
        """,
    ),
    "conditional expression on None": (
        "y",
        "def f(x, m=None):\n    return x if m is None else x @ m\ny = f(torch.zeros(2, 3))\n",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_wrong_is_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORLINT_DEBUG", "1")
    known, body = PROGRAMS[name]
    source = "import numpy as np\nimport torch\nfrom torch import nn\n" + textwrap.dedent(body)
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, name, "exec"), scope)
    analysis = analyse(ast.parse(source), source)
    said = {
        row.name: row
        for row in analysis.bindings
        if source.splitlines()[row.line - 1][row.column :].startswith(row.name)
    }
    lines = source.splitlines()
    for row in said.values():
        last = max((at for at, line in enumerate(lines, 1) if re.search(rf"\b{row.name}\b[^=]*=[^=]", line)), default=0)
        if row.line < last:
            continue  # bound again where nothing is known of it
        value = scope.get(row.name)
        if row.shape is None or not isinstance(value, torch.Tensor | numpy.ndarray) or _inside(lines, row.line):
            continue
        shape = tuple(value.shape)
        assert len(row.shape) == len(shape), (row, shape)
        assert all(
            claim in ("?", size) or not isinstance(claim, int) for claim, size in zip(row.shape, shape, strict=True)
        ), (row, shape)
        if row.strides is not None and isinstance(value, torch.Tensor):
            assert all(a == b for a, b in zip(row.strides, value.stride(), strict=True) if isinstance(a, int)), row
    for wanted in known.split():
        assert said[wanted].shape == tuple(scope[wanted].shape)
    assert not [hazard for hazard in analysis.hazards if isinstance(hazard, ViewHazard) and name != "try"]


def _inside(lines: list[str], line: int) -> bool:
    """Whether the line belongs to a function or a class: its names are not the module's."""
    at = line - 1
    indent = len(lines[at]) - len(lines[at].lstrip())
    while at >= 0 and indent:
        text = lines[at]
        if text.strip() and len(text) - len(text.lstrip()) < indent:
            indent = len(text) - len(text.lstrip())
            if text.lstrip().startswith(("def ", "class ")):
                return True
        at -= 1
    return False


ATTENTION = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q = self.query(x).view(b, n, self.heads, d // self.heads).transpose(1, 2)
        a = (q @ q.transpose(-2, -1)).softmax(-1)
        return (a @ q).transpose(1, 2).{merge}(b, n, d)
"""


@pytest.mark.parametrize("merge", ["view", "reshape"])
def test_a_class_is_judged_without_a_call_of_it(merge: str) -> None:
    """Sizes are names here: that the last axis is what the layer takes, and that heads divide it, must be told."""
    source = ATTENTION.format(merge=merge)
    hazards = [each for each in analyse(ast.parse(source), source).hazards if isinstance(each, ViewHazard)]
    scope: dict[str, Any] = {"__name__": "program"}
    exec(compile(source, "attention", "exec"), scope)
    model, x = scope["Attention"](8, 2), torch.randn(3, 5, 8)
    if merge == "reshape":
        model(x)
        assert not hazards
    else:
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            model(x)
        assert len(hazards) == 1


def test_a_layer_tells_the_size_of_what_it_is_given() -> None:
    """x's last axis is `dim`, or the layer would raise: so the sum has it too."""
    source = ATTENTION.format(merge="reshape").replace(
        "        a = (q", "        y = x + self.query(x)\n        a = (q"
    )
    shapes = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert shapes["y"] == ("b", "n", "dim")


def test_what_an_array_of_objects_is_stays_known() -> None:
    source = (
        "import numpy as np\no = np.empty((2, 3), dtype=object)\nrow = o[0]\nmore = row + 1\nlisted = [x for x in o]\n"
        "where = np.add(np.ones((2, 3)), 1, where=np.ones(3, bool))\nit = iter(np.zeros((3, 4)))\nfirst = next(it)\n"
        "records = np.zeros(5, dtype=[('a', int)])\npairs = np.array([(1, 2), (3, 4)], dtype=float)\n"
        "from trees import kinds\nnodes = np.array([(1, 2), (3, 4)], dtype=kinds)\n"
    )
    rows = {row.name: (row.shape, row.dtype) for row in analyse(ast.parse(source), source).bindings}
    assert rows["more"] == ((3,), "object")
    assert rows["where"] == ((2, 3), "float64")
    assert rows["first"] == ((4,), "float64")
    assert rows["records"] == ((5,), None)
    assert rows["pairs"] == ((2, 2), "float64")
    assert rows["nodes"] == (None, None)  # two records, it may be


def test_what_is_imported_twice_stays_known() -> None:
    source = (
        "import numpy as np\nfrom numpy import ones as make\nimport numpy as np\nfrom numpy import ones as make\n\n\n"
        "def f(n):\n    x = make((n, 2))\n    y = np.arange(1, n)\n    z = [np.zeros(3) for _ in range(n - 1)]\n"
        "    w = np.array(z)\n    return x, y, w\n"
    )
    rows = {row.name: (row.shape, row.dtype) for row in analyse(ast.parse(source), source).bindings}
    assert rows["x"] == (("n", 2), "float64")
    assert rows["y"][0] == ("n - 1",)
    assert rows["w"][0] == ("n - 1", 3)
