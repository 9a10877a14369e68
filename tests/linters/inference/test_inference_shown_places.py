"""Attributes that tensors are assigned to and tensors that functions return have rows of their own, true of every run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import Analysis, analyse

HEAD = "import types\nimport numpy as np\nimport torch\nfrom torch import nn\n\n"
MODULE = HEAD + (
    "class Net(nn.Module):\n    def __init__(self, d=4):\n        super().__init__()\n        {made}\n"
    "    def forward(self, x):\n        b, n = x.shape\n        {seen}\n        return x\nnet = Net()\nnet(torch.zeros(2, 3))\nnet(torch.zeros(5, 4))\n"
)


def rows(source: str) -> Analysis:
    failures: list[Exception] = []
    analysis = analyse(ast.parse(source), source, failures=failures)
    assert failures == []
    return analysis


# A statement of an initialiser, or of a forward that is given (b, n): what is shown beside it.
MADE = {
    "self.w = nn.Parameter(torch.zeros(3, d))": [("self.w", (3, "d"))],
    "self.w: torch.Tensor = torch.zeros(d, 2)": [("self.w", ("d", 2))],
    "self.v, self.w = torch.zeros(2), torch.zeros(5)": [("self.v", (2,)), ("self.w", (5,))],
    "self.v = self.w = torch.zeros(2)": [("self.v", (2,)), ("self.w", (2,))],
    "self.register_buffer('mask', torch.ones(8, 8).tril())": [("self.mask", (8, 8))],
    "self.register_buffer('mask', torch.ones(8, 8), persistent=False)": [("self.mask", (8, 8))],
    "self.register_parameter('w', nn.Parameter(torch.zeros(1, d)))": [("self.w", (1, "d"))],
    "self.a = np.zeros((d, 2))": [("self.a", ("d", 2))],
    "self.fc = nn.Linear(3, 2); self.fc.weight = nn.Parameter(torch.zeros(2, 3))": [("self.fc.weight", (2, 3))],
    "self.n = torch.zeros(6).sum()": [("self.n", ())],
    "for k in (1, 2): self.w = torch.zeros(k, 5)": [("self.w", ("?", 5))],
    "self.w = torch.zeros(2)\n        self.w += 1": [("self.w", (2,)), ("self.w", (2,))],
}
SEEN = {
    "self.last = x": [("self.last", ("b", "n"))],
    "self.last = x.mean(0)": [("self.last", ("n",))],
    "self.last, m = x.T, 3": [("self.last", ("n", "b"))],
    "self.last = [x]": [],
    "self.last = x, x": [],
    "self.last = None": [],
    "self.rows = types.SimpleNamespace(); self.rows.last = x": [],
}


@pytest.mark.parametrize("statement", MADE)
def test_an_attribute_is_shown_where_an_initialiser_makes_it(statement: str, tmp_path: Path) -> None:
    source = MODULE.format(made=statement, seen="pass")
    assert wrong_claims(tmp_path / "program.py", source) == {}
    assert [(row.name, row.shape) for row in rows(source).attributes] == MADE[statement]


@pytest.mark.parametrize("statement", SEEN)
def test_an_attribute_is_shown_where_a_method_assigns_it(statement: str, tmp_path: Path) -> None:
    source = MODULE.format(made="pass", seen=statement)
    assert wrong_claims(tmp_path / "program.py", source) == {}
    assert [(row.name, row.shape) for row in rows(source).attributes] == SEEN[statement]


# Where something makes another value of what is assigned.
CHANGING = {
    "a property": "class A:\n    @property\n    def v(self): return self._v\n    @v.setter\n    def v(self, t): self._v = t[0]\n{set}A().set()\n",
    "a property of a derived class": (
        "class A:\n{set}class B(A):\n    @property\n    def v(self): return torch.zeros(2)\n    @v.setter\n    def v(self, t): pass\nB().set()\n"
    ),
    "a property that is set later": "class A:\n{set}A.v = property(lambda s: torch.zeros(2), lambda s, t: None)\nA().set()\n",
    "a property by setattr": "class A:\n{set}setattr(A, 'v', property(lambda s: torch.zeros(2), lambda s, t: None))\nA().set()\n",
    "a property of a decorator": (
        "def deco(cls):\n    cls.v = property(lambda s: torch.zeros(2), lambda s, t: None)\n    return cls\n@deco\nclass A:\n{set}A().set()\n"
    ),
    "a descriptor": (
        "class D:\n    def __set_name__(self, o, n): self.n = n\n    def __get__(self, o, t=None): return o.__dict__[self.n][0]\n"
        "    def __set__(self, o, v): o.__dict__[self.n] = v\nclass B:\n    v = D()\nclass A(B):\n{set}A().set()\n"
    ),
    "__setattr__": "class A:\n    def __setattr__(self, n, v): object.__setattr__(self, n, v[0])\n{set}A().set()\n",
    "__setattr__ of a base": "class B:\n    def __setattr__(self, n, v): object.__setattr__(self, n, v[0])\nclass A(B):\n{set}A().set()\n",
    "__setattr__ that is set later": (
        "class A:\n{set}def put(self, n, v): object.__setattr__(self, n, v[0])\nA.__setattr__ = put\nA().set()\n"
    ),
    "__getattribute__": (
        "class A:\n    def __getattribute__(self, n):\n        return torch.zeros(5) if n == 'v' else object.__getattribute__(self, n)\n{set}A().set()\n"
    ),
    "__getattribute__ that is set later": (
        "class A:\n{set}A.__getattribute__ = lambda s, n: torch.zeros(5) if n == 'v' else object.__getattribute__(s, n)\nA().set()\n"
    ),
    "a parametrization": (
        "from torch.nn.utils import parametrize\nclass P(nn.Module):\n    def forward(self, X): return torch.cat([X, X])\n"
        "    def right_inverse(self, A): return A[:3]\nlayer = nn.Linear(6, 6)\n"
        "parametrize.register_parametrization(layer, 'weight', P(), unsafe=True)\nlayer.weight = torch.zeros(6, 6)\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGING)
def test_no_attribute_is_shown_that_something_else_decides(name: str, tmp_path: Path) -> None:
    source = HEAD + CHANGING[name].format(set="    def set(self):\n        self.v = torch.zeros(3, 4)\n")
    assert wrong_claims(tmp_path / "program.py", source) == {}
    assert [row.shape for row in rows(source).attributes if row.name.endswith(".v")] == []


# The body of a function of x (b, n): what is shown beside each `return`.
RETURNED = {
    "return x": [("return", ("b", "n"))],
    "return x.T, x[0], 1": [("return[0]", ("n", "b")), ("return[1]", ("n",))],
    "if b > n:\n        return x[0]\n    return x": [("return", ("n",)), ("return", ("b", "n"))],
    "for k in range(3):\n        if k == b:\n            return x[None]\n    return x[:, None]": [("return", (1, "b", "n")), ("return", ("b", 1, "n"))],
    "for k in (1, 2):\n        y = torch.zeros(k, 7)\n        if k == b:\n            return y\n    return x": [("return", ("?", 7)), ("return", ("b", "n"))],
    "while True:\n        x = torch.cat([x, x])\n        if len(x) > 20:\n            return x": [("return", ("x.shape[0]", "n"))],
    "try:\n        return x\n    finally:\n        print(b)": [("return", ("b", "n"))],
    "with torch.no_grad():\n        return x * 2": [("return", ("b", "n"))],
    "def inner(y):\n        return y[None]\n    return inner(x)": [("return", (1, "b", "n"))],
    "y = lambda t: t[0]\n    return y(x)": [("return", ("n",))],
    "return [x]": [],
    "return {'x': x}": [],
    "return b * n": [],
    "return": [],
    "return x if b > n else None": [],
    "return x if b > n else x[0]": [],
    "return np.zeros((b, 3)), None": [("return[0]", ("b", 3))],
    "return *x, x": [],
}  # fmt: skip


@pytest.mark.parametrize("body", RETURNED)
def test_what_a_function_returns_is_shown(body: str, tmp_path: Path) -> None:
    source = f"{HEAD}def f(x):\n    b, n = x.shape\n    {body}\nf(torch.zeros(2, 3))\nf(torch.zeros(5, 3))\nf(torch.zeros(7, 6))\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}
    found = [(row.name, row.shape) for row in rows(source).returns if row.shape is not None or row.axes is None]
    assert found == RETURNED[body]


def test_names_have_rows_as_before() -> None:
    analysis = rows(MODULE.format(made="w = self.w = torch.zeros(3)", seen="y = self.z = x"))
    assert [row.name for row in analysis.bindings] == ["w", "y"]
    assert [(row.name, row.kind) for row in analysis.shown] == [
        ("w", "name"), ("self.w", "attribute"), ("y", "name"), ("self.z", "attribute"), ("return", "return"),
    ]  # fmt: skip
