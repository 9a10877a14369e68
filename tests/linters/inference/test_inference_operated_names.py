"""Which methods Python calls by itself: only a file with one of those is followed as if any line might call it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tensorlint.inference.analysis import analyse
from tensorlint.inference.operated_objects import are_made


@pytest.mark.parametrize(
    "name", ["__add__", "__len__", "__array__", "__torch_function__", "__getattr__", "__eq__", "__repr__"]
)
def test_python_calls_special_methods(name: str) -> None:
    assert are_made(f"class Box:\n    def {name}(self, *args):\n        self.rows.append(1)\n")


@pytest.mark.parametrize(
    "name", ["__init__", "__call__", "__enter__", "__sklearn_tags__", "__sklearn_is_fitted__", "helper", "_hidden"]
)
def test_what_others_call_is_followed_where_it_is_called(name: str) -> None:
    assert not are_made(f"class Box:\n    def {name}(self, *args):\n        self.rows.append(1)\n")


@pytest.mark.parametrize("use", ["get_tags(box)", "box.__sklearn_tags__()", "clone(box)"])
def test_the_tags_of_an_estimator_may_change_it(use: str) -> None:
    source = (
        "import torch\nfrom sklearn.base import BaseEstimator, clone\nfrom sklearn.utils import get_tags\n\n\n"
        "class Mine(BaseEstimator):\n    def __init__(self):\n        self.rows = [torch.ones(2, 3)]\n\n"
        "    def __sklearn_tags__(self):\n        self.rows.append(torch.ones(5, 3))\n        return super().__sklearn_tags__()\n\n\n"
        f"box = Mine()\n{use}\ny = torch.cat(box.rows)\n"
    )
    shapes = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert shapes.get("y") is None


# Names alone in a text: `__format__` of their objects, or `__str__`, is called all the same.
TEXTS = {
    "__format__(self, s)": ["f'{h}'", "x = f'{h}'", "x = f'{3:{h}}'", "print(f'{h!s:>4} {k}')", "x = f'{h:>4}'"],
    "__str__(self)": ["f'{h}'", "x = f'{h!s}'", "x = f'{k}{h}'", "x = [f'{each}' for each in (h,)]"],
    "__repr__(self)": ["f'{h!r}'", "x = f'{h=}'", "x = f'{h}' 'and more'"],
}


@pytest.mark.parametrize(("method", "use"), [(method, use) for method, uses in TEXTS.items() for use in uses])
def test_a_text_asks_the_objects_that_it_names(method: str, use: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is the oracle")
    from test_inference_adversaries import wrong_claims

    source = f"""
import torch
class Obj:
    def __init__(self, r): self.r = r
class Box:
    def __init__(self, p):
        self.p = p
    def {method}:
        p = self.p; p.r = torch.zeros(12, 3)
        return '5'
def g(q):
    q.r = torch.zeros(22, 3)
def go(k):
    a = Obj(torch.zeros(13, 1))
    b = Obj(torch.zeros(14, 1))
    h = Box(a)
    g(a)
    {use}
    w0 = a.r
    for each in range(k):
        h.p = b
    w1 = a.r
for t in (0, 1, 6):
    go(t)
"""
    assert not wrong_claims(tmp_path / "program.py", source)
