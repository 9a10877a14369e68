"""Arrays that hold numbers of one type or another, the items of starred arrays, and losses by item: what is said of them is what
numpy and torch give."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

TOP = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

flag, n, unknown = bool(eval("1")), int(eval("6")), eval("torch.rand(5, 3)")
labels = torch.zeros(5, dtype=torch.long)
scores, counts = eval("torch.rand(9, 5, 4).log_softmax(-1)"), torch.full((5,), 9)
words, lengths = eval("torch.ones(5, 2, dtype=torch.long)"), torch.full((5,), 2)


def gradient(x):
    return np.array([2 * x[0], 3 * x[1] ** 2])


def descend(x, rate=0.1):
    for _ in range(n):
        g = gradient(x)
        x = x - rate * g
    return x, g


def while_far(x, rate=0.1):
    while np.linalg.norm(x) > 0.5:
        x = x - rate * gradient(x)
    return x


def either(a, b):
    return a if flag else b


"""
KNOWN = {
    "y = descend(np.array([1, 2]))[0]": (2,),
    "y = descend(np.array([1, 2]))[1]": (2,),
    "y = while_far(np.array([1, 1]))": (2,),
    "a = either(np.eye(2, dtype=int), np.eye(2))\ny = np.array([a[0, 0], a[1, 1]])": (2,),
    "a = either(np.arange(3), np.ones(3)) * 2 + np.ones(3)\ny = np.array([a[0], a[2]])": (2,),
    "a = -np.dot(either(np.eye(2, dtype=int), np.eye(2)), np.ones(2))\ny = np.array([a[0], a[1]])": (2,),
    "a = either(np.eye(2, dtype=int), np.eye(2))[0]\ny = np.array([a[0], 1])": (2,),
    "a = either(np.eye(2, dtype=int), np.eye(2)).sum(0)\ny = np.array([a[0], 1])": (2,),
    "y = np.array((0, *np.cumsum([3, 4, 5])[:-1]))": (3,),
    "y = np.array([0.5, *np.zeros(2), 3.0])": (4,),
    "y = np.array([*np.zeros((2, 3))])": (2, 3),
    "y = torch.stack([*torch.zeros(2, 3)])": (2, 3),
    "y = torch.rand(3).new_tensor((0, *np.cumsum([3, 4, 5])[:-1])).unsqueeze(0)": (1, 3),
    "y = F.cross_entropy(unknown, labels, reduction='none')": (5,),
    "y = nn.CrossEntropyLoss(reduction='none')(unknown, labels)": (5,),
    "y = F.nll_loss(unknown, labels, reduction='none')": (5,),
    "y = F.ctc_loss(scores, words, counts, lengths, reduction='none')": (5,),
    "y = nn.CTCLoss(reduction='none')(scores, words, counts, lengths)": (5,),
}
# May be something else, or hold it.
UNKNOWN = {
    "a = either(np.array([1, 2]), np.array([None, [1]], dtype=object))\ny = np.array([a[0], 1])",
    "a = either(np.array([1, 2]), np.array(['a', 'b']))\ny = np.array([a[0], 'c'])",
    "a = either(np.array([1, 2]), np.array(eval('[1, 2]')))\ny = np.array([a[0], 1])",
    "a = either(np.array([1, 2]), np.ones(2)) * eval('np.ones((2, 2))')\ny = np.array([a[0], a[1]])",
    "y = F.cross_entropy(unknown, eval('labels'), reduction='none')",
    "y = F.cross_entropy(eval('torch.rand(5, 3)'), torch.rand(5, 3), reduction='none')",
    "y = F.ctc_loss(eval('torch.rand(9, 4)'), eval('words[0]'), torch.tensor(9), torch.tensor(2), reduction='none')",
    "y = F.ctc_loss(eval('torch.rand(9, 4)'), eval('words[0]'), torch.full((1,), 9), torch.full((1,), 2), reduction='none')",
}


def of_y(code: str) -> Any:
    return next((row.shape for row in analyse(ast.parse(code), code).bindings if row.name == "y"), None)


@pytest.mark.parametrize("line", KNOWN)
def test_what_is_made_of_numbers_is_known(line: str, tmp_path: Path) -> None:
    code = TOP + line + "\n"
    assert of_y(code) == KNOWN[line]
    assert wrong_claims(tmp_path / "program.py", code) == {}


@pytest.mark.parametrize("line", sorted(UNKNOWN))
def test_what_may_hold_anything_is_not(line: str, tmp_path: Path) -> None:
    code = TOP + line + "\n"
    assert of_y(code) is None
    assert wrong_claims(tmp_path / "program.py", code) == {}
