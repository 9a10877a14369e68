"""Which methods Python calls by itself: only a file with one of those is followed as if any line might call it."""

from __future__ import annotations

import ast

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
