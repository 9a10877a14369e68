"""Lists that objects hold and that the rounds of a loop add to: what their items have in common is known behind the loop,
and nothing where a round does anything else to them."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch and numpy are the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """\
import random
from collections import deque
import numpy as np
import torch

class Memory:
    def __init__(self):
        self.rows = {made}

    def push(self, *row):
        self.rows.append(row)

    def add(self, row):
        self.rows.append(row)

def fill(rows, row):
    rows.append(row)

memory = Memory()
other = memory.rows
same = memory
"""
MADE = {"list": "[]", "deque": "deque(maxlen=100)"}
ADD = {
    "by a method": "memory.add({item})",
    "by an attribute": "memory.rows.append({item})",
    "by a function": "fill(memory.rows, {item})",
    "by another name": "other.append({item})",
    "by another object's name": "same.add({item})",
    "twice": "memory.add({item})\n    memory.rows.append({item})",
}
LOOP = {"for": "for k in range(9):\n    {add}\n", "while": "k = 0\nwhile k < 9:\n    {add}\n    k += 1\n"}
ITEM = ("1.5", "k", "k * 0.5", "(k, 1.5)", "torch.randn(4)", "(torch.randn(4) + k).sum()")


@pytest.mark.parametrize(("made", "loop", "item"), list(itertools.product(MADE, LOOP, ITEM)))
def test_what_the_rounds_put_in_is_known_behind_the_loop(made: str, loop: str, item: str) -> None:
    torched = "torch" in item
    for add in ADD.values():
        source = HEAD.replace("{made}", MADE[made]) + LOOP[loop].format(add=add.format(item=item))
        source += (
            "found = list(memory.rows)\nx = torch.stack(found)\n" if torched else "x = np.array(list(memory.rows))\n"
        )
        scope: dict[str, Any] = {}
        exec(source, scope)
        shape = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}["x"]
        assert shape is not None
        assert len(shape) == scope["x"].ndim
        assert shape[1:] == tuple(scope["x"].shape[1:])


def test_fields_of_a_replay_memory_are_known() -> None:
    source = HEAD.replace("{made}", "deque(maxlen=100)") + (
        "for k in range(50):\n    memory.push(np.random.randn(4), random.randrange(2), 1.0, k > 3)\n"
        "s, a, r, d = zip(*random.sample(memory.rows, 8))\n"
        "x, y, z = np.stack(s), np.array(a), torch.tensor(r)\n"
    )
    scope: dict[str, Any] = {}
    exec(source, scope)
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert [rows[name] for name in "xyz"] == [tuple(scope[name].shape) for name in "xyz"] == [(8, 4), (8,), (8,)]


@pytest.mark.parametrize("name", ["data", "shape", "dtype"])
def test_attributes_that_tensors_have_too_hold_lists(name: str) -> None:
    """`self.data = []` gives no tensor another shape: `self` is no tensor."""
    source = HEAD.replace("{made}", "[]").replace("rows", name) + (
        "for k in range(50):\n    memory.push(np.random.randn(4), k % 2)\n"
        f"s, a = zip(*random.sample(memory.{name}, 8))\nx, y = np.stack(s), memory.{name}[3][0] * 2\n"
    )
    scope: dict[str, Any] = {}
    exec(source, scope)
    found = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert [found["x"], found["y"]] == [(8, 4), (4,)] == [scope["x"].shape, scope["y"].shape]


# What a round does beside adding an item: then it may hold anything else.
CHANGES = [
    "memory.rows[0] = torch.zeros(2, 3)", "other[-1] = torch.zeros(2, 3)", "memory.rows = [torch.zeros(2, 3)]",
    "memory.rows.extend([torch.zeros(2, 3)])", "same.rows += [torch.zeros(2, 3)]", "other.insert(0, torch.zeros(2, 3))",
    "fill(other, torch.zeros(2, 3))", "memory.rows.append(torch.zeros(2, 3))", "setattr(same, 'rows', [torch.zeros(2, 3)])",
    "memory.rows[:] = [torch.zeros(2, 3)]", "other.clear(); other.append(torch.zeros(2, 3))",
    "memory.rows[0].unsqueeze_(0)", "other[-1].resize_(2, 2)", "memory.rows[k // 2].t_() if memory.rows[0].dim() > 1 else 0",
    "memory = Memory(); memory.add(torch.zeros(2, 3))", "(lambda: other.append(torch.zeros(2, 3)))()",
    "[each.append(torch.zeros(2, 3)) for each in (other,)]", "list(map(other.append, [torch.zeros(2, 3)]))",
    "globals()['fill'](other, torch.zeros(2, 3))", "x = other[-1].unsqueeze(0); other.append(x)",
    "other.append(torch.stack([other[-1], other[-1]]))", "other.append(torch.zeros(*([1] * (k + 1))))",
    "memory.rows.pop(); other.append(torch.zeros(2, 3))", "del memory.rows[0]; memory.rows.append(torch.zeros(2, 3))",
    "__import__('operator').setitem(other, 0, torch.zeros(2, 3))", "memory.__dict__['rows'] = [torch.zeros(2, 3)]",
]  # fmt: skip
READ = (
    "first = memory.rows[0] + 0\nlast = memory.rows[-1] + 0\nmid = other[len(other) // 2] + 0\nfor each in memory.rows:\n    v = each + 0\n"
    "w = [each * 2 for each in other]\nu = w[-1] + 0\n"
)


OF_DEQUES = [
    "other.appendleft(torch.zeros(2, 3))",
    "other.extendleft([torch.zeros(2, 3)])",
    "other.rotate(1); other[0] = torch.zeros(2, 3)",
]


@pytest.mark.parametrize(
    ("made", "change"),
    [("list", change) for change in CHANGES]
    + [("deque", change) for change in CHANGES + OF_DEQUES if "[:]" not in change],
)
def test_nothing_wrong_is_said_where_a_round_does_more(made: str, change: str, tmp_path: Path) -> None:
    for number, (place, when) in enumerate(
        itertools.product(("before", "behind", "nested", "function"), ("if k == 5:", "if k > 0:", "if True:"))
    ):
        step = f"    {when}\n        {change}\n"
        read = "    a = memory.rows[-1] + 0\n    b = other[0] + 0\n"
        if place == "before":
            body = f"for k in range(9):\n{step}    memory.add(torch.randn(4))\n{read}"
        elif place == "behind":
            body = f"for k in range(9):\n    memory.add(torch.randn(4))\n{step}{read}"
        elif place == "nested":
            inner = "".join(f"    {line}\n" for line in (step + read).splitlines())
            body = f"for j in range(3):\n    for k in range(7):\n        memory.rows.append(torch.randn(4))\n{inner}    c = memory.rows[0] + 0\n"
        else:
            inner = f"    global memory\n    {when}\n        {change}\n"
            body = f"def act(k):\n{inner}\nfor k in range(9):\n    memory.add(torch.randn(4))\n    act(k)\n{read}"
        source = HEAD.replace("{made}", MADE[made]) + "memory.add(torch.randn(4))\n" + body + READ
        assert not wrong_claims(tmp_path / f"grown{number}.py", source), source


STEPS = HEAD.replace(
    "import random\n", "import random\nfrom collections import namedtuple\nfrom typing import NamedTuple\n"
) + (
    "class Typed(NamedTuple):\n    state: torch.Tensor\n    reward: float\n\n"
    "Named = namedtuple('Named', ('state', 'reward'))\n"
    "def pushed(kind, *args):\n    memory.rows.append(kind(*args))\n"
)


@pytest.mark.parametrize("kind", ["Named", "Typed"])
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(
    "add", ["memory.add({})", "memory.rows.append({})", "other.append({})", "fill(memory.rows, {})", "same.add({})"]
)
def test_named_tuples_that_the_rounds_put_in_are_known(kind: str, made: str, add: str) -> None:
    source = STEPS.replace("{made}", MADE[made]) + (
        f"for k in range(50):\n    {add.format(f'{kind}(torch.randn(1, 4), torch.tensor([1.0]))')}\n"
        f"batch = {kind}(*zip(*random.sample(memory.rows, 8)))\n"
        "x, y, z = torch.cat(batch.state), torch.cat(batch.reward), memory.rows[3].state\n"
    )
    scope: dict[str, Any] = {}
    exec(source, scope)
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert [rows[name] for name in "xyz"] == [tuple(scope[name].shape) for name in "xyz"] == [(8, 4), (8,), (1, 4)]


# What the rounds put in is not of one form, or is changed by way of the list or of what the named tuples hold.
UNLIKE = [
    "for k in range(6):\n    memory.add(Named(torch.randn(k + 1, 4), 1.0))\n",
    "for k in range(6):\n    memory.add(Named(torch.randn(4) if k % 2 else torch.randn(4, 4), k))\n",
    "for k in range(6):\n    memory.add(Named(torch.randn(4), 1.0) if k % 2 else Typed(torch.randn(4, 4), 1.0))\n",
    "for k in range(6):\n    if k % 2:\n        memory.add(Named(torch.randn(4), 1.0))\n    else:\n        memory.add(Named(torch.randn(4, 4), 1.0))\n",
    "for k in range(6):\n    memory.add(Named(torch.randn(4), 1.0))\n    memory.rows[0] = Named(torch.randn(4, 4), 1.0)\n",
    "for k in range(6):\n    memory.add(Named(torch.randn(4), 1.0))\nmemory.rows[-1] = Named(torch.randn(4, 4), 1.0)\n",
    "for k in range(6):\n    memory.add(Named([torch.randn(4)], 1.0))\n    memory.rows[-1].state[0] = torch.randn(4, 4)\n",
    "for k in range(6):\n    memory.add(Named(torch.randn(4), 1.0)._replace(state=torch.randn(4, 4)))\n",
    "for k in range(6):\n    step = Named(torch.randn(4), 1.0)\n    step.state.unsqueeze_(0)\n    memory.add(step)\n",
    "for k in range(6):\n    memory.add(Named(torch.randn(4), 1.0))\n    memory.rows[-1].state.unsqueeze_(0)\n",
    "step = Named([torch.randn(4)], 1.0)\nfor k in range(6):\n    memory.add(step)\nstep.state[0] = torch.randn(4, 4)\n",
    "w = torch.randn(4)\nfor k in range(6):\n    memory.add(Named(w, 1.0))\n    w = torch.stack([w, w])\n",
]


@pytest.mark.parametrize("change", UNLIKE)
def test_named_tuples_that_are_not_alike(change: str, tmp_path: Path) -> None:
    for made in MADE.values():
        source = STEPS.replace("{made}", made) + (
            f"{change}x = memory.rows[0].state\ny = memory.rows[-1].state\nz = [each.state for each in memory.rows][-1]\n"
            "u, v = x[0], y[0]\nfor step in memory.rows:\n    w = step.state\n    r = w[0]\n"
        )
        assert wrong_claims(tmp_path / "here.py", source) == {}, source


@pytest.mark.parametrize("kind", ["Named", "Typed"])
def test_either_of_two_named_tuples_has_what_both_have(kind: str, tmp_path: Path) -> None:
    source = STEPS.replace("{made}", "[]") + (
        f"a = {kind}(torch.zeros(2, 4), 1.0)\nif random.random() < 2:\n    a = {kind}(torch.zeros(3, 4), 2)\n"
        "x = a.state\ny = a[0]\nstate, reward = a\nz = state + 0\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert [shape and shape[-1] for shape in (rows["x"], rows["y"], rows["z"])] == [4, 4, 4]
    assert wrong_claims(tmp_path / "here.py", source) == {}
