"""What other files' functions change that are called and not followed, each program run for real."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse
from tensorlint.project import Project

_BOX = (
    "class Box:\n    def __init__(self):\n        self.rows, self.n = [1, 2], 3\n\n"
    "    def add(self, k):\n        self.rows.append(k)\n        self.n += 1\n\n"
    "    def fill(self, k):\n        self.add(k)\n"
)
# Given something that nobody knows, so that no call is followed.
_UNKNOWN = "import os\nk = os.environ.get('NOT_SET')\n"

# The files, and the program that uses them.
PROGRAMS = {
    "a method of a third file's class": (
        {"box": _BOX, "fills": "def fill(box, k):\n    box.add(k)\n"},
        "from box import Box\nfrom fills import fill\nbox = Box()\nfill(box, k)\nx = torch.zeros(len(box.rows))\ny = torch.zeros(box.n)\n",
    ),
    "a method that calls one of its own": (
        {"box": _BOX, "fills": "def fill(box, k):\n    box.fill(k)\n"},
        "from box import Box\nfrom fills import fill\nbox = Box()\nfill(box, k)\nx = torch.zeros(len(box.rows))\n",
    ),
    "a method of a base": (
        {"box": _BOX, "fills": "from box import Box\n\n\nclass More(Box):\n    pass\n\n\ndef fill(box, k):\n    box.add(k)\n"},
        "from fills import More, fill\nbox = More()\nfill(box, k)\nx = torch.zeros(len(box.rows))\n",
    ),
    "objects in a list": (
        {"box": _BOX, "fills": "def fill(boxes, k):\n    for box in boxes:\n        box.add(k)\n"},
        "from box import Box\nfrom fills import fill\nbox = Box()\nfill([box], k)\nx = torch.zeros(len(box.rows))\n",
    ),
    "objects in a dictionary of an object": (
        {"box": _BOX, "fills": "def fill(holder, k):\n    holder.parts['a'].add(k)\n"},
        "from box import Box\nfrom fills import fill\n\n\nclass Holder:\n    pass\n\n\nholder, box = Holder(), Box()\n"
        "holder.parts = {'a': box}\nfill(holder, k)\nx = torch.zeros(len(box.rows))\n",
    ),
    "a method that an object's part is asked for": (
        {
            "part": "class Part:\n    def __init__(self):\n        self.rows = [1]\n\n    def put(self, k):\n        self.rows.append(k)\n",
            "box": "from part import Part\n\n\nclass Box:\n    def __init__(self):\n        self.part = Part()\n\n    def fill(self, k):\n        self.part.put(k)\n",
            "fills": "def fill(box, k):\n    box.fill(k)\n",
        },
        "from box import Box\nfrom fills import fill\nbox = Box()\nfill(box, k)\nx = torch.zeros(len(box.part.rows))\n",
    ),
    "an object, by a function of a file that is not read for anything else": (
        {"box": _BOX, "deep": "def grow(box):\n    box.rows.append(1)\n    box.n = 5\n", "other": "from deep import grow\n\n\ndef f(box, k):\n    grow(box)\n"},
        "from box import Box\nfrom other import f\nbox = Box()\nf(box, k)\nx = torch.zeros(len(box.rows))\ny = torch.zeros(box.n)\n",
    ),
    "a list of an object, by another function": (
        {"other": "def grow(rows):\n    rows.append(1)\n\n\ndef f(box, k):\n    grow(box.rows)\n", "box": _BOX},
        "from box import Box\nfrom other import f\nbox = Box()\nf(box, k)\nx = torch.zeros(len(box.rows))\n",
    ),
    "a list of an object, by another name": (
        {"other": "def f(box, k):\n    rows = box.rows\n    rows.append(1)\n", "box": _BOX},
        "from box import Box\nfrom other import f\nbox = Box()\nf(box, k)\nx = torch.zeros(len(box.rows))\n",
    ),
    "a function that is handed on": (
        {"other": "def turn(x):\n    x.unsqueeze_(0)\n\n\ndef f(xs, k):\n    list(map(turn, xs))\n"},
        "from other import f\nx = torch.zeros(4)\nf([x], k)\ny = x + 1\n",
    ),
    "a class that a method sets": (
        {
            "box": "class Box:\n    n = 3\n\n    def fill(self, k):\n        type(self).n = 5\n",
            "fills": "def fill(box, k):\n    box.fill(k)\n",
        },
        "from box import Box\nfrom fills import fill\nbox = Box()\nfill(box, k)\nx = torch.zeros(Box.n)\ny = torch.zeros(box.n)\n",
    ),
    "names of the function around": (
        {"other": ""},
        "def kept(f):\n    return lambda *given: f(*given)\n\n\ndef run(k):\n    rows, box = [1, 2], {'a': 1}\n\n"
        "    @kept\n    def grow(k):\n        rows.append(k)\n        box['b'] = k\n\n    grow(k)\n"
        "    x = torch.zeros(len(rows))\n    y = torch.zeros(len(box))\n    return x, y\n\n\nrun(k)\n",
    ),
    "a list that a function of this file lends to another": (
        {"other": ""},
        "ROWS = [1]\n\n\ndef grow(rows):\n    rows.append(1)\n\n\ndef kept(f):\n    return lambda *given: f(*given)\n\n\n"
        "@kept\ndef f(k):\n    grow(ROWS)\n\n\nf(k)\nx = torch.zeros(len(ROWS))\n",
    ),
    "a shape, by a table of this file": (
        {"other": ""},
        "def turn(x):\n    x.unsqueeze_(0)\n\n\nTABLE = {None: turn}\n\n\ndef kept(f):\n    return lambda *given: f(*given)\n\n\n"
        "@kept\ndef f(xs, k):\n    TABLE[k](xs[0])\n\n\nx = torch.zeros(4)\nf([x], k)\ny = x + 1\n",
    ),
    "a setting of a module that nobody has asked for": (
        {"settings": "width = 3\n", "other": "import settings\n\n\ndef f(k):\n    settings.width = 5\n"},
        "import other\nother.f(k)\nimport settings\nx = torch.zeros(settings.width)\n",
    ),
    "a shape, by a function of a third file": (
        {"deep": "def deep(x, k):\n    x.resize_(9)\n", "other": "from deep import deep\n\n\ndef f(xs, k):\n    deep(xs[0], k)\n"},
        "from other import f\nx = torch.zeros(4)\nf([x], k)\ny = x + 1\n",
    ),
    "a shape, in a tuple": (
        {"other": "def f(xs, k):\n    xs[0].resize_(9)\n"},
        "from other import f\nx = torch.zeros(4)\nf((x, 1), k)\ny = x + 1\n",
    ),
    "a shape, in a dictionary": (
        {"other": "def f(xs, k):\n    xs['a'].unsqueeze_(0)\n"},
        "from other import f\nx = torch.zeros(4)\nf({'a': x}, k)\ny = x + 1\n",
    ),
    "a shape, by a table of functions": (
        {"other": "def turn(x):\n    x.unsqueeze_(0)\n\n\nTABLE = {None: turn}\n\n\ndef f(xs, k):\n    TABLE[k](xs[0])\n"},
        "from other import f\nx = torch.zeros(4)\nf([x], k)\ny = x + 1\n",
    ),
    "a shape, by a name from a table": (
        {"other": "def turn(x):\n    x.unsqueeze_(0)\n\n\nTABLE = {None: turn}\n\n\ndef f(xs, k):\n    g = TABLE[k]\n    g(xs[0])\n"},
        "from other import f\nx = torch.zeros(4)\nf([x], k)\ny = x + 1\n",
    ),
    "a shape, by a function imported further on": (
        {
            "deep": "def deep(x):\n    x.unsqueeze_(0)\n",
            "between": "from deep import deep\n",
            "other": "def f(xs, k):\n    from between import deep as d\n    d(xs[0])\n",
        },
        "from other import f\nx = torch.zeros(4)\nf([x], k)\ny = x + 1\n",
    ),
    "a shape, by setattr": (
        {"other": "import torch\n\n\ndef f(xs, k):\n    setattr(xs[0], 'data', torch.zeros(9))\n"},
        "from other import f\nx = torch.zeros(4)\nf([x], k)\ny = x + 1\n",
    ),
    "the shape of an array": (
        {"other": "def f(xs, k):\n    xs[0].shape = (2, 2)\n"},
        "import numpy as np\nfrom other import f\nx = np.zeros(4)\nf([x], k)\ny = x + 1\n",
    ),
    "what a function did not change before": (
        {"other": "import torch\n\n\ndef step(rows, more):\n    if more:\n        rows.append(1)\n        return torch.zeros(3)\n"},
        "from other import step\nrows = [1]\nstep(rows, False)\nstep(rows, False)\nz = step(rows, True)\nx = torch.zeros(len(rows))\ny = z + 0\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_wrong_is_said_of_what_is_changed_unseen(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, source = PROGRAMS[name]
    monkeypatch.syspath_prepend(str(tmp_path))
    for module, text in files.items():
        (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, module, raising=False)
    try:
        assert wrong_claims(tmp_path / "here.py", "import torch\n" + _UNKNOWN + source, project=True) == {}
    finally:
        for module in files:
            sys.modules.pop(module, None)


# What is left alone stays known: a module, and a program of which the shape of y is asked.
LEFT_ALONE = {
    "another function there reshapes": (
        "def f(xs, k):\n    print(xs)\n\n\ndef g(x):\n    x.resize_(9)\n",
        "x = torch.zeros(4)\nf([x], k)\ny = x + 1\n",
    ),
    "a shape of what torch's tensors have none to assign": (
        "def f(xs, k):\n    k.shape = 3\n",
        "x = torch.zeros(4)\nf([x], k)\ny = x + 1\n",
    ),
    "the data of what is no array": ("def f(xs, k):\n    k.data = 3\n", "x = np.zeros(4)\nf([x], k)\ny = x + 1\n"),
    "what a function that only raises comes after": (
        "def f(xs, k):\n    print(xs)\n    raise ValueError(k)\n",
        "x = torch.zeros(4)\nif k:\n    x = torch.zeros(3, 3)\n    f(1, 2)\ny = x + 1\n",
    ),
    "a module whose function adds to a copy, in a special method": (
        _BOX + "\n\ndef f(box, k):\n    print(box, k)\n",
        "class Rows:\n    def __len__(self):\n        return len(np.append([1], [2]))\n\n\ndef g():\n    y = np.zeros(4)\n    return y\n",
    ),
    "a list that no method grows which is called": (
        _BOX + "\n\ndef f(box, k):\n    print(box, k)\n",
        "box = other.Box()\nf(box, k)\ny = torch.zeros(len(box.rows) + 2)\n",
    ),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_is_not_changed_stays_known(name: str, tmp_path: Path) -> None:
    module, source = LEFT_ALONE[name]
    (tmp_path / "other.py").write_text(module, encoding="utf-8")
    text = "import numpy as np\nimport torch\nimport other\nfrom other import f\n" + _UNKNOWN + source
    rows = analyse(ast.parse(text), text, path=str(tmp_path / "here.py"), project=Project()).bindings
    assert {row.name: row.shape for row in rows}["y"] == (4,)


@pytest.mark.parametrize("end", ["", "    return os.environ.get(str(n))\n"])
def test_calls_that_tell_nothing_leave_the_work_to_others(end: str, tmp_path: Path) -> None:
    """Functions of other files that tell nothing do not use up what following the file's own functions needs."""
    looks = range(20)
    (tmp_path / "other.py").write_text(
        "import os\n" + "".join(f"def look{at}(n):\n" + "    print(n)\n" * 300 + end for at in looks), encoding="utf-8"
    )
    calls = [f"look0({at})" if end else f"look{at}({at})" for at in looks]
    text = (
        "import torch\n" + f"from other import {', '.join(f'look{at}' for at in looks)}\n"
        "\n\ndef make(n):\n    return torch.zeros(n)\n\n\n" + "\n".join(calls) + "\nx = make(3)\n"
    )
    rows = analyse(ast.parse(text), text, path=str(tmp_path / "here.py"), project=Project()).bindings
    assert [(row.name, row.shape) for row in rows] == [("x", (3,))]
