"""Functions of libraries, builtins and names of modules that a program replaces, in whatever way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

_HEAD = """import torch
import torch.nn as nn
import torch.nn.functional as F
from unittest import mock

Z = torch.zeros
kept = Z(2, 3)


def make():
    return Z(2, 3)


def other(*given, **words):
    return Z(9)


class Box:
    def __init__(self):
        self.v = Z(2, 3)


box = Box()
layer = nn.Linear(3, 4)
row = torch.ones(2, 3)


def use():
    a = make()
    b = kept
    c = box.v
    d = layer(row)
    e = torch.relu(row)
    f = F.relu(row)
    g = row + 1
    h = Z(sum([1, 2]))
    i = Z(max(2, 3))
    j = Z(len([1, 2]))
    k = nn.Sequential(layer, nn.ReLU())(row)


"""
# Names that have to be declared global, and what is done.
PATCHES = {
    "a function that a layer calls": ("", "F.linear = other"),
    "by its path": ("", "torch.nn.functional.linear = other"),
    "an operator": ("", "torch.Tensor.__add__ = other"),
    "a patch of a library": ("", "mock.patch.object(torch, 'relu', other).start()"),
    "a patch of a library by a text": ("", "mock.patch('torch.relu', other).start()"),
    "a patch of the function's globals": ("", "mock.patch.dict(use.__globals__, {'kept': Z(9)}).start()"),
    "the function's globals": ("", "use.__globals__['kept'] = Z(9)"),
    "all of them at once": ("", "use.__globals__.update(kept=Z(9))"),
    "the function's code": ("", "make.__code__ = (lambda: Z(9)).__code__"),
    "a builtin": ("sum", "sum = lambda rows: 7"),
    "a builtin of several arguments": ("max", "max = lambda *given: 7"),
    "a builtin in its module": ("", "import builtins; builtins.max = lambda *given: 7"),
    "what answers for attributes": ("", "Box.__getattribute__ = lambda self, name: Z(9)"),
}
PLACES = {
    "in the module": "use()\n{change}\nuse()\n",
    "in a branch": "use()\nif torch.rand(1) < 2:\n    {change}\nuse()\n",
    "in a function": "def change():\n    {shared}{change}\n\n\nuse()\nchange()\nuse()\n",
    "in a function that is not followed": "def change():\n    {shared}{change}\n\n\nuse()\n[f() for f in (change,)]\nuse()\n",
}


@pytest.fixture
def put_back() -> Iterator[None]:
    """What the programs replace outside themselves."""
    import builtins

    import torch

    functional, tensor = torch.nn.functional, torch.Tensor
    linear, relu, add, greatest = functional.linear, torch.relu, tensor.__add__, builtins.max
    yield
    functional.linear, torch.relu, tensor.__add__, builtins.max = linear, relu, add, greatest


@pytest.mark.usefixtures("put_back")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("patch", PATCHES)
def test_what_is_replaced_is_not_taken_for_what_it_was(patch: str, place: str, tmp_path: Path) -> None:
    shared, change = PATCHES[patch]
    said = f"global {shared}; " if shared else ""
    source = _HEAD + PLACES[place].format(change=change, shared=said)
    # The globals of the function are those that the program is run with.
    assert wrong_claims(tmp_path / "program.py", source) == {}


def _known(source: str) -> dict[str, object]:
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


KNOWN = {
    "another function of torch": ("F.scaled_dot_product_attention = other\n", {"d": (2, 4), "g": (2, 3), "k": (2, 4)}),
    "an attribute of torch": ("torch.kept = [1]\n", {"d": (2, 4), "f": (2, 3), "k": (2, 4)}),
    "a method": ("torch.Tensor.__repr__ = other\n", {"d": (2, 4), "g": (2, 3)}),
    "a name of its own": ("def sum_of(rows):\n    return 7\n", {"h": (3,)}),
    "globals that are read": ("print(use.__globals__['kept'])\n", {"b": (2, 3), "a": (2, 3)}),
    "code that is compared": ("print(make.__code__ == use.__code__)\n", {"a": (2, 3)}),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_not_replaced_stays_known(name: str) -> None:
    change, expected = KNOWN[name]
    found = _known(_HEAD + change + "use()\n")
    assert {each: found[each] for each in expected} == expected
