"""Objects that loops within loops hand on from name to name: what is changed of one of them is known of none."""

import ast
import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """
import torch

Z = torch.zeros

class Box:
    def __init__(self, rows):
        self.rows = rows

def go(n):
    a = {"w": Z(11, 1)}
    b = {"w": Z(12, 1)}
    c = {"w": Z(13, 1)}
    g = {"w": Z(14, 1)}
    d, keep, box, call, pair, e = None, [c], Box(c), lambda: 0, (c, 0), Z(3, 2)
"""
TAIL = """
    w0 = a["w"]
    w1 = e * 1
    w2 = g["w"]

go(3)
"""
# What each round does; the next one finds what it leaves.
ROUNDS = {
    "name": "if d is not None:\n    d['w'] = Z(15, 4)\nd = a",
    "two names": "b['w'] = Z(15, 4)\na, b = b, a",
    "list": "keep[0]['w'] = Z(15, 4)\nkeep = [a]",
    "longer list": "for q in keep: q['w'] = Z(15, 4)\nkeep.append(a)",
    "object": "box.rows['w'] = Z(15, 4)\nbox = Box(a)",
    "attribute": "box.rows['w'] = Z(15, 4)\nbox.rows = a",
    "function": "call()\ncall = lambda: a.update(w=Z(15, 4))",
    "method": "call()\ncall = a.clear\na['w'] = a['w'] + 1 if d else Z(15, 4)",
    "tuple": "pair[0]['w'] = Z(15, 4)\npair = (a, 1)",
    "branch": "if n > 2: d = a\nif n > 3 and d is not None: d['w'] = Z(15, 4)\nn += 1",
    "size": "z1 = Z(n, 2)\nn = n + 1",
    "tensor": "z1 = e[:2] * 1\ne = torch.cat([e, e])[:40]",
    "in place": "z1 = e * 1\ne.unsqueeze_(0)",
}
LOOPS = {
    "for": ("for i{0} in range(2):",),
    "while": ("i{0} = 0", "while i{0} < 2:", "    i{0} += 1"),
    "list": ("for i{0} in [n, 2]:",),
}


# Where a round stands; the names are those of a function, of the module, or handed on by calls.
NAMES = "a, b, c, d, keep, box, call, pair, e, n"
CONTEXTS = {
    "try": "    for i in range(3):\n        try:\nROUND3\n        except KeyError:\n            continue",
    "finally": "    for i in range(3):\n        try:\nROUND3\n        finally:\n            n += 0",
    "with": "    for i in range(3):\n        with contextlib.suppress(KeyError):\nROUND3",
    "while True": "    i = 0\n    while True:\nROUND2\n        i += 1\n        if i > 2: break",
    "else": "    for j in range(3):\n        for i in range(2):\n            n += 0\n        else:\nROUND3",
    "function": f"    def step():\n        nonlocal {NAMES}\nROUND2\n    for i in range(3): step()",
    "calls": f"    def step():\n        nonlocal {NAMES}\nROUND2\n    step()\n    step()\n    step()",
    "given": f"    def step({NAMES}):\nROUND2\n        return {NAMES}\n    for i in range(3):\n        {NAMES} = step({NAMES})",
    "recursion": f"    def step(k, {NAMES}):\nROUND2\n        if k: step(k - 1, {NAMES})\n    step(2, {NAMES})",
    "branch": "    for i in range(3):\n        if i < n:\nROUND3\n        elif n > 9:\n            continue",
}


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("rounds", ROUNDS)
def test_what_rounds_hand_on_wherever_they_stand(rounds: str, context: str, tmp_path: Path) -> None:
    lines = CONTEXTS[context]
    for level in (2, 3):
        body = f"z0 = a['w']\n{ROUNDS[rounds]}".split("\n")
        lines = lines.replace(f"ROUND{level}", "\n".join("    " * level + line for line in body))
    source = f"import contextlib\n{HEAD}{lines}\n{TAIL}"
    assert wrong_claims(tmp_path / "program.py", source) == {}, source


def _of_self(text: str) -> str:
    return re.sub(r"\b(a|b|c|d|g|keep|box|call|pair|e|n)\b(?!=)", r"self.\1", text)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_what_calls_hand_on_by_attributes(rounds: str, tmp_path: Path) -> None:
    made = _of_self(HEAD[HEAD.index("    a = ") :].rstrip()).replace("\n    ", "\n        ")
    body = "\n        ".join(f"z0 = self.a['w']\n{_of_self(ROUNDS[rounds])}".split("\n"))
    source = f"""{HEAD[: HEAD.index("def go")]}
class Holder:
    def __init__(self, n):
        self.n = n
    {made}

    def step(self):
        {body}

    def run(self):
        for i in range(3): self.step()
        w0, w1, w2 = self.a["w"], self.e * 1, self.g["w"]

holder = Holder(3)
holder.step()
holder.run()
w0, w1, w2 = holder.a["w"], holder.e * 1, holder.g["w"]
"""
    assert wrong_claims(tmp_path / "program.py", source) == {}, source


def program(kind: str, depth: int, rounds: str) -> str:
    lines: list[str] = []
    for level in range(depth):
        lines += ["    " * (level + 1) + line.format(level) for line in LOOPS[kind]]
    body = f"z0 = a['w']\n{rounds}".split("\n")
    return HEAD + "\n".join([*lines, *("    " * (depth + 1) + line for line in body)]) + TAIL


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("rounds", ROUNDS)
def test_what_rounds_hand_on(rounds: str, kind: str, tmp_path: Path) -> None:
    for depth in range(1, 6):
        source = program(kind, depth, ROUNDS[rounds])
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


@pytest.mark.parametrize("depth", range(1, 6))
@pytest.mark.parametrize("rounds", ["name", "list", "object", "tuple", "function"])
def test_what_no_round_has_in_hand_stays_known(rounds: str, depth: int) -> None:
    source = program("for", depth, ROUNDS[rounds])
    shapes = {each.name: str(each.shape) for each in analyse(ast.parse(source), source).bindings}
    assert (shapes["w1"], shapes["w2"]) == ("(3, 2)", "(14, 1)")


def test_what_is_put_into_a_list_that_loses_it_stays_known() -> None:
    source = """
import torch

class Holder:
    def __init__(self):
        self.sizes = [3, 4]
        self.seen = []
        self.by_name = {}

    def step(self):
        self.seen.append(self.sizes)
        self.by_name["k"] = self.sizes
        x = torch.ones(self.sizes[0], self.sizes[1])
        return x

    def other(self):
        self.seen[0] = [1]
        self.seen.pop()
"""
    shapes = {each.name: str(each.shape) for each in analyse(ast.parse(source), source).bindings}
    assert shapes["x"] == "(3, 4)"
