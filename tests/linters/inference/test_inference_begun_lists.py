"""Lists that begin with items and that a loop adds to: how many items they have behind it is known where every round adds one,
also where a round reads an item, and nothing else changes them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch and numpy are the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """\
import numpy as np
import torch

def more(rows):
    rows.append(rows[0])

"""
LOOP = {
    "constant": "xs = [{first}]\nfor k in range(9):\n    xs.append({item})\n",
    "the item before": "xs = [{first}]\nfor k in range(9):\n    xs.append(xs[-1])\n",
    "by way of a name": "xs = [{first}]\nfor k in range(9):\n    last = xs[-1]\n    xs.append(last + {item})\n",
    "two to begin with": "xs = [{first}, {item}]\nfor k in range(9):\n    xs.append(xs[k + 1] + xs[k])\n",
    "a cut": "xs = [{first}]\nfor k in range(9):\n    part = xs[-2:]\n    xs.append(part[0])\n",
    "counted": "xs = [{first}]\nfor k in range(9):\n    n = len(xs)\n    xs.append(xs[n - 1])\n",
    "extended": "xs = [{first}]\nfor k in range(9):\n    xs.extend([{item}, xs[0]])\n",
    "in a function": "def go(n, first):\n    ys = [first]\n    for k in range(n):\n        ys.append(ys[-1] + {item})\n    return ys\n"
    "xs = go(9, {first})\n",
}
ITEMS = {
    "numbers": ("0.0", "1.5"),
    "vectors": ("np.zeros(3)", "np.ones(3)"),
    "tensors": ("torch.zeros(2, 3)", "torch.ones(2, 3)"),
}
JOINED = {"numbers": "x = np.array(xs)\n", "vectors": "x = np.stack(xs)\n", "tensors": "x = torch.stack(xs)\n"}


def shapes(source: str) -> dict[str, Any]:
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


@pytest.mark.parametrize("items", ITEMS)
@pytest.mark.parametrize("loop", LOOP)
def test_how_many_items_there_are_is_known(loop: str, items: str) -> None:
    first, item = ITEMS[items]
    source = HEAD + LOOP[loop].format(first=first, item=item) + JOINED[items]
    scope: dict[str, Any] = {}
    exec(source, scope)
    assert shapes(source)["x"] == tuple(scope["x"].shape)


def test_pieces_of_different_lengths_add_up() -> None:
    source = HEAD + (
        "xs = [np.zeros((2, 3))]\nfor k in range(4):\n    xs.append(xs[-1])\nx = np.concatenate(xs)\n"
        "path, rewards = [0], []\nfor k in range(15):\n    path.append(path[-1] + 1)\n    rewards.append(1.0)\n"
        "p, r = np.array(path), np.array(rewards)\n"
    )
    found = shapes(source)
    assert (found["x"], found["p"], found["r"]) == ((10, 3), (16,), (15,))


@pytest.mark.parametrize(
    "loop",
    [
        "xs = [0.0]\nfor k in range(9):\n    xs.append(1.0)\n    del xs[0]\n",
        "xs = [0.0]\nfor k in range(9):\n    xs.append(1.0)\n    xs[:1] = []\n",
        "xs = [0.0]\nfor k in range(9):\n    xs.append(1.0)\n    xs += [2.0]\n",
        "xs = [0.0]\nfor k in range(9):\n    xs.append(1.0)\n    xs.pop(0)\n",
        "xs = [0.0]\nfor k in range(9):\n    xs.append(1.0)\n    more(xs)\n",
        "xs = [0.0]\nfor k in range(9):\n    if k == 4:\n        break\n    xs.append(xs[-1])\n",
        "xs = [0.0]\nfor k in range(9):\n    if k % 2:\n        continue\n    xs.append(xs[-1])\n",
        "xs = [0.0]\nfor k in range(9):\n    if k % 2:\n        xs.append(xs[-1])\n",
        "xs = ys = [0.0]\nfor k in range(9):\n    xs.append(xs[-1])\n    ys.append(1.0)\n",
        "ys = [0.0]\nxs = ys\nfor k in range(9):\n    xs.append(xs[-1])\n    ys.append(1.0)\n",
        "xs = [0.0]\nheld = (xs,)\nfor k in range(9):\n    xs.append(xs[-1])\n    held[0].append(1.0)\n",
        "xs = [0.0]\ndef add():\n    xs.append(1.0)\nfor k in range(9):\n    xs.append(xs[-1])\n    add()\n",
        "xs = [0.0]\nfor k in range(9):\n    for j in range(2):\n        xs.append(xs[-1])\n",
        "xs = [0.0]\nfor k in range(9):\n    try:\n        xs.append(xs[-1])\n        xs[99]\n    except IndexError:\n        xs.append(1.0)\n",
        "xs = [0.0]\nk = 0\nwhile k < 30:\n    xs.append(xs[-1])\n    k += 1\n",
        "xs = [0.0]\nfor k in range(9):\n    xs.append(1.0)\nmore(xs)\n",
    ],
)
def test_what_else_changes_the_list_is_seen(loop: str, tmp_path: Path) -> None:
    for source in (
        HEAD + loop + "x = np.array(xs)\ny = torch.zeros(len(xs))\nz = x[1:]\n",
        HEAD
        + f"def go():\n{''.join('    ' + line + chr(10) for line in loop.splitlines())}    return np.array(xs)\nx = go()\n",
    ):
        assert wrong_claims(tmp_path / "begun.py", source) == {}
