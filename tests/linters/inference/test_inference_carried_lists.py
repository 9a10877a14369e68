"""A list that a loop makes longer is not known any more in its rounds: what it holds may be changed by way of it all the same."""

import ast
import itertools
from pathlib import Path

import pytest

pytest.importorskip("torch")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """
import torch
from collections import deque

class Box:
    def __init__(self, rows):
        self.rows = rows

def change(x):
    x["w"] = torch.zeros(99, 7)

def go(n):
    a = {"w": torch.zeros(11, 1)}
    b = {"w": torch.zeros(12, 1)}
    c = {"w": torch.zeros(13, 1)}
    e = {"w": torch.zeros(14, 1)}
    keep = FIRST
"""
TAIL = """
    w0, w1, w2, w3 = a["w"], b["w"], c["w"], e["w"]

go(3)
"""
# What is kept, how `a` is got at, and how another one is added.
KEEP = {
    "list": ("[a]", "keep[0]", "keep.append(c)"),
    "another list": ("[a]", "keep[0]", "keep = keep + [c]"),
    "display": ("[a]", "keep[0]", "keep = [*keep, c]"),
    "in place": ("[a]", "keep[0]", "keep += [c]"),
    "insert": ("[a]", "keep[0]", "keep.insert(1, c)"),
    "slice": ("[a, c]", "keep[0]", "keep = keep[:1] + keep"),
    "dictionary": ('{"k": a}', 'keep["k"]', 'keep["z"] = c'),
    "dictionaries": ('{"k": a}', 'keep["k"]', 'keep = {**keep, "z": c}'),
    "pairs": ("[(a, 1)]", "keep[0][0]", "keep.append((c, 2))"),
    "lists": ("[[a]]", "keep[0][0]", "keep.append([c])"),
    "tuple": ("(a,)", "keep[0]", "keep = keep + (c,)"),
    "deque": ("deque([a])", "keep[0]", "keep.append(c)"),
    "objects": ("[Box(a)]", "keep[0].rows", "keep.append(Box(c))"),
    "copy": ("[a]", "keep[0]", "keep = keep.copy()"),
}
LOOPS = {
    "longer in the end": """
    for x in range(3):
        z0 = a["w"]
        i = 0
        while i < 5:
            i += 1
            if i > 4:
                ADD
        if x > 0:
            CHANGE
""",
    "until": """
    for x in range(3):
        z0 = a["w"]
        for i in range(4):
            ADD
            if i > 2:
                break
        if x > 0:
            CHANGE
""",
    "changed before": """
    for i in range(4):
        z0 = a["w"]
        if i > 1:
            CHANGE
        ADD
""",
    "behind": """
    for i in range(n):
        if i > 1:
            ADD
    CHANGE
""",
    "any number": """
    i = 0
    for x in range(n):
        z0 = a["w"]
        if x == 2:
            CHANGE
        i += 1
        ADD
""",
    "handler": """
    i = 1
    for x in range(n):
        z0 = a["w"]
        try:
            ADD
            CHANGE
        except KeyError:
            continue
""",
}
CHANGES = {
    "item": '{0}["w"] = torch.zeros(15, 4)',
    "name": 'q = {0}; q["w"] = torch.zeros(15, 4)',
    "function": "change({0})",
    "swapped": 'd = {0}; d, b = b, d; b["w"] = torch.zeros(15, 4)',
    "one of two": 'b = {0} if i > 0 else b; b["w"] = torch.zeros(15, 4)',
    "method": "{0}.update(w=torch.zeros(15, 4))",
}


def program(first: str, change: str, add: str, loop: str) -> str:
    lines: list[str] = []
    for line in (HEAD.replace("FIRST", first) + loop + TAIL).split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        if line.strip() == "CHANGE":
            lines += [indent + each for each in change.split("; ")]
        else:
            lines.append(line.replace("ADD", add))
    return "\n".join(lines)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("kept", KEEP)
def test_what_a_longer_list_holds_may_be_changed(kept: str, loop: str, tmp_path: Path) -> None:
    first, got, add = KEEP[kept]
    for change in CHANGES.values():
        source = program(first, change.format(got), add, LOOPS[loop])
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


@pytest.mark.parametrize(("kept", "loop"), [*itertools.product(("list", "pairs", "dictionary", "lists"), LOOPS)])
def test_what_it_does_not_hold_stays_known(kept: str, loop: str) -> None:
    first, got, add = KEEP[kept]
    source = program(first, CHANGES["item"].format(got), add, LOOPS[loop])
    shapes = {each.name: str(each.shape) for each in analyse(ast.parse(source), source).bindings}
    assert shapes["w1"] == "(12, 1)"
    assert shapes["w3"] == "(14, 1)"


@pytest.mark.parametrize("added", ["outs.append(y)", "outs = outs + [y]", "outs += [y]", "outs = [*outs, y]"])
def test_lists_of_tensors_hold_what_they_held(added: str) -> None:
    source = f"""
import torch

def go(n):
    outs = []
    x = torch.zeros(4, 3)
    for i in range(n):
        y = x @ x.T
        {added}
    z = x.sum(0)
    return torch.stack(outs), z
"""
    shapes = {each.name: str(each.shape) for each in analyse(ast.parse(source), source).bindings}
    assert (shapes["y"], shapes["z"]) == ("(4, 4)", "(3,)")
