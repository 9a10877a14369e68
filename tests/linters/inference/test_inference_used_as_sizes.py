"""Objects that nobody knows, and that are numbers by what the program does with them: sizes, what `item` gives, what is
computed from such. What may be a tensor stays one. All run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")


def rows(source: str) -> dict[str, Any]:
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


def check(source: str, expected: dict[str, Any], tmp_path: Path) -> None:
    assert wrong_claims(tmp_path / "program.py", source) == {}
    found = rows(source)
    assert {name: found.get(name) for name in expected} == expected


MODULE = """import math
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, dim, heads=4, more=None):
        super().__init__()
        {init}
        self.heads = heads
    def forward(self, x: torch.Tensor):
        b, n, c = x.shape
        {before}
        y = x * {scale}
        return y
Net(8, 2{given})(torch.zeros(2, 3, 8))
"""
SIZED = {
    "dim": "self.fc = nn.Linear(dim, dim * 3)",
    "dim by its features": "self.fc = nn.Linear(3, dim)",
    "dim of an embedding": "self.fc = nn.Embedding(9, dim)",
    "dim of a convolution": "self.fc = nn.Conv2d(dim, 4, 3)",
    "dim of what is left over": "assert dim % heads == 0",
    "dim of what is left over, said otherwise": "if dim % heads != 0: raise ValueError",
    "dim of anything that is left over": "if dim % heads: raise ValueError",
}
SCALES = [
    "dim ** -0.5", "1 / dim", "dim ** 0.5", "(dim + 1) ** -0.5", "math.sqrt(dim)", "2 * dim", "dim - 1", "dim", "dim % 3", "dim // 2",
]  # fmt: skip


@pytest.mark.parametrize("sized", SIZED)
@pytest.mark.parametrize("scale", SCALES)
def test_what_layers_are_made_with_are_numbers(sized: str, scale: str, tmp_path: Path) -> None:
    for init in (f"self.s = {scale}\n        {SIZED[sized]}", f"{SIZED[sized]}\n        self.s = {scale}"):
        source = MODULE.format(init=init, before="pass", scale="self.s", given="")
        check(source, {"y": ("b", "n", "c")}, tmp_path)


HEADS = {
    "q = x.reshape(b, n, self.heads, c // self.heads)": True,
    "q = x.view(b, n, self.heads, -1)": True,
    "q = x.view((b, n, self.heads, -1))": True,
    "q = torch.zeros(b, self.heads)": True,
    "q = torch.zeros(b, self.heads * 2)": True,
    "q = x.unsqueeze(0).expand(self.heads, b, n, c)": True,
    "for _ in range(n - 3): q = torch.zeros(b, self.heads)": False,
    "if n > 5: q = torch.zeros(b, self.heads)": False,
    "q = torch.zeros(b, self.heads) if n > 5 else 0": False,
    "q = n > 5 and torch.zeros(b, self.heads)": False,
    "q = [torch.zeros(b, self.heads) for _ in ()]": False,
    "q = lambda: torch.zeros(b, self.heads)": False,
    "q = self.heads": False,
    "q = x + self.heads": False,
}


@pytest.mark.parametrize("before", HEADS)
@pytest.mark.parametrize("scale", ["self.s", "self.heads", "(self.heads + 1)", "(1 / self.heads)"])
def test_what_was_a_size_on_the_way_here_is_a_number(before: str, scale: str, tmp_path: Path) -> None:
    init = "self.s = (dim // heads) ** -0.5\n        self.fc = nn.Linear(dim, dim)"
    source = MODULE.format(init=init, before=before, scale=scale, given="")
    check(source, {}, tmp_path)
    assert (rows(source).get("y") == ("b", "n", "c")) is HEADS[before]
    if not HEADS[before]:  # which is what it may be
        other = source.replace("Net(8, 2)", "Net(8, torch.ones(5, 1, 1, 1))")
        assert wrong_claims(tmp_path / "program.py", other) == {}


@pytest.mark.parametrize(
    "more",
    ["self.s = dim ** -0.5 if more is None else more", "self.s = more", "self.s = more * dim", "self.s = dim ** more"],
)
def test_what_may_be_a_tensor_beside_a_number_stays_one(more: str, tmp_path: Path) -> None:
    init = f"{more}\n        self.fc = nn.Linear(dim, dim)"
    source = MODULE.format(init=init, before="pass", scale="self.s", given=", torch.ones(5, 1, 1, 1)")
    check(source, {"y": None}, tmp_path)


@pytest.mark.parametrize(
    "test",
    ["if dim % heads != 0: pass", "assert more % heads == 'a', heads", "assert dim % heads == 0 or more is None"],
)
def test_other_tests_tell_nothing(test: str, tmp_path: Path) -> None:
    init = f"self.s = dim\n        {test}".replace(
        "assert more % heads == 'a'", "assert more is None or more % heads == 'a'"
    )
    check(MODULE.format(init=init, before="pass", scale="self.s", given=""), {"y": None}, tmp_path)


FUNCTION = """import numpy as np
import torch
import torch.nn.functional as F
from typing import Optional
def f(n, config, t: torch.Tensor, o: Optional[int] = None):
    {body}
class Config:
    width, rate = 4, 0.5
for o in (None, 1): f(3, Config, torch.zeros(4, 5), o)
"""
ALONE = {
    "torch.zeros(n + 1)": ("n + 1",),
    "torch.ones(n - 1)": ("n - 1",),
    "torch.rand(7 - n)": ("-n + 7",),
    "torch.empty(n // 2)": ("n//2",),
    "t.new_zeros(n + 1)": ("n + 1",),
    "torch.ones(config.width + 1)": ("config.width + 1",),
    "torch.ones(2 * n - 1)": ("2*n - 1",),
    "torch.ones(config.width - n)": ("config.width - n",),
    "torch.tensor(config.width - config.rate)": (),
    "torch.tensor([config.width - config.rate, 0.5])": (2,),
    "torch.tensor(config.width / 2)": (),
}


@pytest.mark.parametrize("made", ALONE)
def test_what_a_tuple_has_no_operator_for_is_one_size(made: str, tmp_path: Path) -> None:
    check(FUNCTION.format(body=f"y = {made}"), {"y": ALONE[made]}, tmp_path)


@pytest.mark.parametrize(
    "made",
    ["torch.zeros(n)", "torch.zeros(2 * n)", "torch.zeros(n + n)", "torch.zeros(config.width)", "np.zeros(n + 1)"],
)
def test_what_it_has_one_for_may_be_several(made: str, tmp_path: Path) -> None:
    check(FUNCTION.format(body=f"y = {made}"), {"y": None}, tmp_path)


ITEMS = {
    "s = 0.0\n    for r in t: s += torch.max(r).item()\n    y = torch.tensor(s)": (),
    "s = []\n    for r in t: s.append(torch.max(r).item())\n    y = torch.tensor(s)": ("?",),
    "s = []\n    for r in t: s.append(torch.max(r).item())\n    y = np.array(s)": ("?",),
    "s = [torch.max(r).item() for r in t]\n    y = torch.tensor(s)": ("?",),
    "y = torch.tensor([torch.max(t).item(), 0.5])": (2,),
    "y = torch.eye(3) * torch.max(t).item()": (3, 3),
    "s = torch.max(t).item()\n    y = torch.eye(3) / (s + 1)": (3, 3),
    "s = torch.max(t).item() + 2\n    y = torch.zeros(int(s), 3)": ("?", 3),
    "y = torch.tensor(t.sum().half().item())": (),
}


@pytest.mark.parametrize("body", ITEMS)
def test_an_item_is_a_number(body: str, tmp_path: Path) -> None:
    check(FUNCTION.format(body=body), {"y": ITEMS[body]}, tmp_path)


@pytest.mark.parametrize(
    "body",
    [
        "a = np.array([[1, 2], None], dtype=object)\n    y = torch.eye(2) * torch.tensor(a[:1].item())",
        "a = np.empty(1, dtype=object)\n    a[0] = [1, 2]\n    y = torch.tensor(a.item())",
    ],
)
def test_an_item_of_an_array_of_objects_is_anything(body: str, tmp_path: Path) -> None:
    check(FUNCTION.format(body=body), {}, tmp_path)


@pytest.mark.parametrize("given", ["3", "torch.tensor(3)", "torch.tensor([3])"])
def test_a_size_may_be_a_tensor_of_one_element(given: str, tmp_path: Path) -> None:
    body = "q = t.reshape(n, -1)\n    a = torch.tensor(2.0) * n\n    y = t * n"
    source = FUNCTION.format(body=body).replace(
        "f(3, Config, torch.zeros(4, 5), o)", f"f({given}, Config, torch.zeros(3, 5), o)"
    )
    check(source, {"a": None}, tmp_path)
    check(source.replace("    q =", "    b, c = t.shape\n    q ="), {"y": ("b", "c"), "a": None}, tmp_path)


THERE = {
    "if o is not None:\n        y = t == o": ("t.shape[0]", "t.shape[1]"),
    "if o is None: z = 0\n    else:\n        y = t != o": ("t.shape[0]", "t.shape[1]"),
    "if o is not None and n:\n        y = t == o": ("t.shape[0]", "t.shape[1]"),
    "if not (o is None or n == 7):\n        y = t == o": ("t.shape[0]", "t.shape[1]"),
    "if o:\n        y = t == o": ("t.shape[0]", "t.shape[1]"),
}


@pytest.mark.parametrize("body", THERE)
def test_what_is_not_none_is_compared_with_each_element(body: str, tmp_path: Path) -> None:
    check(FUNCTION.format(body=f"a, b = t.shape\n    {body}"), {"y": ("a", "b")}, tmp_path)


@pytest.mark.parametrize(
    "body",
    [
        "y = t == o",
        "if o is None:\n        y = t == o",
        "if o is None or n:\n        y = t == o",
        "if o is not None or n:\n        y = t == o",
        "if o is not None: z = 0\n    y = t == o",
        "for r in t:\n        if o is None: continue\n    y = t == o",
        "try:\n        assert o is not None\n    except AssertionError: pass\n    y = t == o",
    ],
)
def test_what_may_be_none_is_not(body: str, tmp_path: Path) -> None:
    check(FUNCTION.format(body=f"a, b = t.shape\n    {body}"), {"y": None}, tmp_path)


LISTS = {
    "a = [i for i in range(n)]\n    b = [i for i in range(n, 0, -1)]\n    y = torch.tensor(a + b)": 1,
    "a = [-(i + 1) for i in range(n)]\n    y = torch.tensor([0.5] + a + [1.5])": 1,
    "a = [i / 2 for i in range(n)]\n    y = np.array([i for i in range(n)] + a)": 1,
    "y = np.array(['a', 'bc'])": 1,
    "y = np.array([['a', 'b'], ['c', 'd']])": 2,
    "y = np.asarray([b'a', b'b', b'c'])": 1,
    "y = np.array(['a', 1])": 1,
}


@pytest.mark.parametrize("body", LISTS)
def test_lists_of_numbers_or_texts_are_arrays_of_them(body: str, tmp_path: Path) -> None:
    check(FUNCTION.format(body=body), {}, tmp_path)
    assert len(rows(FUNCTION.format(body=body))["y"]) == LISTS[body]


@pytest.mark.parametrize(
    "body",
    [
        "y = np.array(['ab', 'cd'], dtype='c')",
        "y = np.array('ab')",
        "y = np.array(['a', None])",
        "y = torch.tensor([1] + n * [[2]][:0])",
    ],
)
def test_of_other_lists_nothing_is_said(body: str, tmp_path: Path) -> None:
    check(FUNCTION.format(body=body), {"y": None}, tmp_path)


@pytest.mark.parametrize(
    "before",
    [
        "a = np.zeros((n, h))",
        "a = np.random.randn(n, h)",
        "a = np.random.normal(0.0, 1.0, (n, h))",
        "a = np.random.uniform(-1, 1, size=(n, h))",
        "a = np.full((n, h), 0.5)",
    ],
)
@pytest.mark.parametrize(
    "made", ["np.zeros(h)", "np.ones(shape=h)", "np.random.normal(0.0, 1.0, h)", "np.random.rand(h)"]
)
def test_a_size_of_an_array_is_a_number(before: str, made: str, tmp_path: Path) -> None:
    source = f"import numpy as np\ndef make(n, h):\n    {before}\n    y = {made}\n    return a, y\nmake(3, 4)\n"
    check(source, {"y": ("h",)}, tmp_path)


@pytest.mark.parametrize(
    "before", ["a = n", "if n:\n        a = np.zeros((n, h))", "a = lambda: np.zeros((n, h))", "a = np.zeros(h)"]
)
def test_what_may_be_a_shape_stays_one(before: str, tmp_path: Path) -> None:
    source = f"import numpy as np\ndef make(n, h):\n    {before}\n    y = np.zeros(h)\n    return y\n"
    check(source, {"y": None}, tmp_path)
