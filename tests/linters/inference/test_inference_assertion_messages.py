"""What the message of an assertion changes that fails and is caught: running says what is there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """
import contextlib
import torch

class Box:
    def __init__(self):
        self.rows = []
        self.d = {}
    def close2(self): self.rows.append(1)

class K:
    @staticmethod
    def run(b): b.rows = [1, 2]

def change(b): b.rows.append(1)

box1 = Box()
UNK2 = {0: change}[len(box1.rows)]
"""
MESSAGES = [
    'setattr(box1, "rows", [1])',
    "box1.rows.append(1)",
    "change(box1)",
    "box1.close2()",
    "list.append(box1.rows, 1)",
    "vars(box1).update(rows=[1,2])",
    'f"{change(box1)}"',
    '"%s" % change(box1)',
    "[change(b) for b in (box1,)]",
    "(lambda: change(box1))()",
    "UNK2(box1)",
    "str(box1.rows.append(1))",
    "box1.__init__() or box1.rows.append(2)",
    "K.run(box1)",
    "(box1.d.update(a=1), 1)",
    "box1.rows.__iadd__([1])",
    'exec("box1.rows = [1]")',
    'globals()["box1"].rows.append(1)',
    "box1.rows.extend(x for x in (1,2))",
    "(y := box1.rows).append(1)",
]
PLACES = [
    "try:\n    assert False, MSG\nexcept AssertionError: pass",
    "try:\n    assert len(box1.rows) > 5, MSG\nexcept AssertionError: pass",
    "def g(b):\n    assert len(b.rows) > 5, MSG\ntry: g(box1)\nexcept Exception: pass",
    "import pytest\nwith pytest.raises(AssertionError):\n    assert len(box1.rows) > 5, MSG",
    "with contextlib.suppress(AssertionError):\n    assert 0, MSG",
    "try:\n    for k in range(3):\n        assert k < 2, MSG\nexcept AssertionError: pass",
    "class T:\n    def go(self):\n        try:\n            assert self is None, MSG\n        except AssertionError: return 1\nT().go()",
]


@pytest.mark.parametrize("place", PLACES)
def test_nothing_wrong_is_said_behind_a_message(place: str, tmp_path: Path) -> None:
    for at, message in enumerate(MESSAGES):
        source = (
            f"{HEAD}{place.replace('MSG', message)}\nv = torch.zeros(len(box1.rows))\nw = torch.zeros(len(box1.d))\n"
        )
        assert not wrong_claims(tmp_path / f"program_{at}.py", source), source


@pytest.mark.parametrize(
    "message",
    [
        "x.shape",
        'f"{len(rows)} rows of {x.shape}"',
        '"%s" % (x.size(0),)',
        "str(rows)",
        '", ".join(map(str, rows))',
        "describe(rows)",
    ],
)
def test_a_message_that_changes_nothing_leaves_all_known(message: str) -> None:
    source = f"""
import torch
def describe(rows): return f"{{len(rows)}} rows"
rows = [torch.zeros(3), torch.zeros(3)]
x = torch.stack(rows)
assert x.sum() == 0, {message}
out = torch.stack(rows)
"""
    shapes = [each.shape for each in analyse(ast.parse(source), source).bindings if each.name == "out"]
    assert shapes == [(2, 3)]
