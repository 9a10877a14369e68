"""Initialisers are followed when something is asked of their object: what is said must be the same as without waiting."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tensorlint.inference.analysis import analyse
from tensorlint.inference.frames import SourceFile
from tensorlint.inference.interpreter import Interpreter
from tensorlint.inference.late_initialisers import LateInitialisers
from tensorlint.inference.names import collect

BLOCK = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width, hidden=None, act=nn.ReLU):
        super().__init__()
        hidden = hidden or 4 * width
        self.width = width
        self.first = nn.Linear(width, hidden)
        self.act = act()
        self.second = nn.Linear(hidden, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x + self.scale * self.second(self.act(self.first(x)))
"""


def followed(source: str) -> Interpreter:
    tree = ast.parse(source)
    interpreter = Interpreter(SourceFile("<string>", source, tree, collect(tree)))
    interpreter.run()
    return interpreter


def said(source: str) -> list[tuple[Any, ...]]:
    bindings = analyse(ast.parse(source), source).bindings
    return [(row.line, row.name, row.shape, row.strides, row.axes) for row in bindings]


def both_ways(source: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[Any]]:
    late = said(source)
    with monkeypatch.context() as patched:
        patched.setattr(LateInitialisers, "may_wait", lambda *_: False)
        return late, said(source)


def without_names(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What a size nobody has named is shown by may differ: `x.shape[0]`, or `len(x)`, where the size was asked for in this order."""

    def plain(sizes: Any) -> Any:
        return sizes and tuple("?" if ".shape[" in str(size) or "len(" in str(size) else size for size in sizes)

    return [(line, name, plain(shape), plain(strides)) for line, name, shape, strides, _ in rows]


def test_layers_that_nobody_looks_into_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    makes = "".join(f"        self.b{n} = nn.Sequential(nn.ReLU(), Block({n + 2}))\n" for n in range(100))
    source = f"{BLOCK}\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{makes}"
    late = followed(source).steps
    monkeypatch.setattr(LateInitialisers, "may_wait", lambda *_: False)
    assert late + 500 < followed(source).steps


def test_what_is_looked_into_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    source = BLOCK + textwrap.dedent(
        """
        class Net(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.blocks = nn.ModuleList([Block(width) for _ in range(3)])
                self.last = Block(width, 7, act=nn.GELU)

            def forward(self, x):
                B, T, _ = x.shape
                for block in self.blocks:
                    inside = block.second(torch.zeros(3, 4 * block.width))
                hidden = self.last.first(x)
                return self.last(x)

        def run():
            block = Block(5)
            if torch.rand(()) > 0.5:
                inner = block.first(torch.zeros(2, 5))
            for n in range(3):
                again = block.second(torch.zeros(n, 20))
            wide = torch.zeros(block.width, 3)
            return block(torch.zeros(4, 5))

        out = run()
        """
    )
    late, at_once = both_ways(source, monkeypatch)
    assert late == at_once
    shapes = {name: shape for _, name, shape, *_ in late}
    assert shapes == {
        "inside": (3, "width"), "hidden": ("B", "T", 7), "inner": (2, 20), "again": ("?", 5), "wide": (5, 3), "out": (4, 5),
    }  # fmt: skip


# Each initialiser does what makes the time matter at which it is followed.
UNQUIET = {
    "counts": "    made = 0\n    def __init__(self, n):\n        Thing.made += 1\n        self.n = n + Thing.made\n",
    "asks a name that changes": "    def __init__(self, n):\n        self.n = n + size\n",
    "changes a name": "    def __init__(self, n):\n        global size\n        size = n\n        self.n = size\n",
    "registers": "    def __init__(self, n):\n        things.append(self)\n        self.n = len(things)\n",
    "changes what it is given": "    def __init__(self, n):\n        rows.append(n)\n        self.n = len(rows)\n",
    "takes the next": "    def __init__(self, n):\n        self.n = next(numbers)\n",
    "calls what changes a name": "    def __init__(self, n):\n        grow()\n        self.n = size\n",
}
AROUND = """
import torch
import itertools
size, rows, things, numbers = 2, [], [], itertools.count(3)

def grow():
    global size
    size = size + 1

class Thing:
{body}
def run():
    global size
    first, second = Thing(3), Thing(4)
    size = 9
    a = torch.zeros(first.n)
    b = torch.zeros(second.n)
    return a, b
"""


@pytest.mark.parametrize("name", UNQUIET)
def test_an_initialiser_that_does_more_does_not_wait(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = AROUND.format(body=UNQUIET[name])
    waited: list[str] = []
    real = LateInitialisers.may_wait

    def may_wait(self: LateInitialisers, method: Any, cls: Any, bound: Any) -> bool:
        answer = real(self, method, cls, bound)
        waited.extend([cls.name] if answer else [])
        return answer

    monkeypatch.setattr(LateInitialisers, "may_wait", may_wait)
    analyse(ast.parse(source), source)
    assert waited == []
    quiet = AROUND.format(body="    def __init__(self, n):\n        self.n = n\n")
    analyse(ast.parse(quiet), quiet)
    assert waited == ["Thing", "Thing"]


def test_files_of_this_project_are_read_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the programs of the tests make, in whatever order."""
    data = Path(__file__).parent / "data"
    compared = 0
    for file in ("objects.py.txt", "language.py.txt"):
        for part in (data / file).read_text(encoding="utf-8").split("# --- ")[1:]:
            source = part.partition("\n")[2]
            if "__init__" in source:
                late, at_once = both_ways(source, monkeypatch)
                assert without_names(late) == without_names(at_once), source
                compared += 1
    assert compared > 50
