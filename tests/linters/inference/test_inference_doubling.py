"""Programs in which each line names twice what the line before made: whoever goes through all of it place by place, not
object by object, takes twice as long for each line and never ends. (Twelve lines took ten seconds and 200 MB.)"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="the calls are counted on the oldest Python alone, to save time"
)

HEAD = """\
import torch
import pandas as pd
from collections import deque
from functools import partial
from sklearn.linear_model import LinearRegression
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.items = []

    def forward(self, x):
        self.items.append(x)
        return self.fc(x)


class Box:
    def __init__(self, w):
        self.w = w

    def act(self, y):
        self.w = [y, self.w]
        return self.w


def f(flag, g):
"""
KINDS = [
    "[torch.zeros(2)]", "{'k': torch.zeros(2)}", "Box(torch.zeros(2))", "nn.Linear(2, 3)", "nn.Sequential(nn.Linear(2, 3), nn.ReLU())",
    "nn.ModuleList([nn.Linear(2, 3)])", "[[torch.zeros(2)], [torch.ones(3)]]", "([torch.zeros(2)], {'k': 1})", "{1, 2}",
    "deque([torch.zeros(2)])", "(i for i in range(3))", "g.make()", "partial(Box, 1)", "torch.zeros(2, 3)",
    "pd.DataFrame({'a': [1, 2]})", "LinearRegression()", "Box([torch.zeros(2)])", "Net()", "g.shape[0]",
]  # fmt: skip
# Two names before, and two names after: each is one of both, or holds both.
ONE_OF_TWO: dict[str, str] = {
    "conditional expressions": "a{1} = a{0} if flag({1}) else b{0}; b{1} = b{0} if flag(-{1}) else a{0}",
    "and, or": "a{1} = flag({1}) and a{0} or b{0}; b{1} = flag(-{1}) and b{0} or a{0}",
    "an index": "a{1} = [a{0}, b{0}][flag({1})]; b{1} = [b{0}, a{0}][flag({1})]",
    "pairs": "a{1}, b{1} = (a{0}, b{0}) if flag({1}) else (b{0}, a{0})",
    "dictionaries that are asked": "a{1} = {{1: a{0}, 2: b{0}}}.get(g({1}), b{0}); b{1} = {{1: b{0}, 2: a{0}}}.get(g({1}), a{0})",
    "branches": "\n    if flag({1}):\n        a{1}, b{1} = a{0}, b{0}\n    else:\n        a{1}, b{1} = b{0}, a{0}",
    "functions": "\n    def h{1}(z):\n        return a{0} if z else b{0}\n    a{1} = h{1}(flag({1})); b{1} = h{1}(flag(-{1}))",
    "loops": "\n    for _ in range(g({1})):\n        a{1} = a{0}\n        if flag({1}):\n            a{1} = b{0}\n            break\n"
    "    else:\n        a{1} = b{0}\n    b{1} = a{1} if g else b{0}",
    "lists": "a{1} = [a{0}, b{0}]; b{1} = {{'k': a{0}, 'j': b{0}}}",
    "objects": "a{1} = Box([a{0}, b{0}]); b{1} = Box((a{0}, b{0}, a{0}))",
    "tuples": "a{1} = (a{0}, a{0}, b{0}); b{1} = (b{0}, (b{0}, a{0}))",
    "containers of layers": "a{1} = nn.Sequential(a{0}, a{0}); b{1} = nn.ModuleList([b{0}, b{0}])",
    "lists that are zipped": "a{1} = list(zip(a{0}, a{0})); b{1} = list(zip(a{0}, b{0}))",
    "lists that are unpacked": "a{1} = [*a{0}, *a{0}]; b{1} = (*b{0}, *b{0})",
    "lists that are added": "a{1} = a{0} + a{0}; b{1} = b{0} * 2",
    "partial calls": "a{1} = partial(g, a{0}, b{0}, a{0}); b{1} = partial(a{0}, b{0})",
    "lambdas": "a{1} = lambda: (a{0}, b{0}); b{1} = lambda: (a{0}, a{0})",
    "unknown calls": "a{1} = g(a{0}, b{0}); b{1} = g(b{0}, [a{0}])",
    "comprehensions": "a{1} = [(a{0}, b{0}) for _ in range(3)]; b{1} = {{j: (a{0}, b{0}) for j in g}}",
}  # fmt: skip
USES = [
    "a.append(torch.ones(2))", "a.clear()", "a['k'] = 3", "a.w = torch.ones(5)", "a[0] = 1", "g(a)", "a.update(h=2)", "a.w.append(1)",
    "a.w += 1", "del a[0]", "a.extend(b)", "a += b", "a()", "a.fc = nn.Linear(1, 1)", "setattr(a, g, 1)", "a.unsqueeze_(0)", "list(a)",
    "next(a)", "for q in a:\n        q.append(1)", "a.act(1)", "a(torch.zeros(1, 2))", "a.weight.data = torch.ones(1)",
    "def inner():\n        a.append(1)\n        b.clear()\n    g(inner)\n    g()", "g.keep = a\n    g()",
    "while g():\n        a.append(b)\n        b = a",
]  # fmt: skip


def program(kind: str, line: str, lines: int) -> str:
    source = HEAD + f"    a0, b0 = {kind}, {kind}\n"
    source += "".join(f"    {line.format(number, number + 1)}\n" for number in range(lines))
    source += f"    a, b = a{lines}, b{lines}\n" + "".join(f"    {use}\n" for use in USES)
    # At the top of a file what is known is kept for all functions.
    top = "".join(f"    {line.format(number, number + 1)}\n" for number in range(lines)) + f"    kept = a{lines}\n"
    return source + f"if True:\n    flag = len\n    g = print\n    a0, b0 = {kind}, {kind}\n{top}"


class TooMuch(BaseException):
    pass


def calls_of(run: Callable[[], object], most: int) -> int:
    """How many functions were called, and no longer than until it is too much."""
    count = 0

    def counting(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        if event == "call":
            count += 1
            if count > most:
                raise TooMuch

    sys.setprofile(counting)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", ONE_OF_TWO)
def test_work_does_not_double_with_each_line(name: str) -> None:
    for kind in KINDS[
        list(ONE_OF_TWO).index(name) % 2 :: 2
    ]:  # each kind with half of the forms: all take twice the time
        short, long = (program(kind, ONE_OF_TWO[name], lines) for lines in (6, 24))
        few = calls_of(lambda: analyse(ast.parse(short), short), 10_000_000)  # noqa: B023
        try:
            calls_of(lambda: analyse(ast.parse(long), long), 40 * few)  # noqa: B023
        except TooMuch:
            pytest.fail(f"{name} of {kind}: more than {40 * few:,} calls for 24 lines, {few:,} for 6")
