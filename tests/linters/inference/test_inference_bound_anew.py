"""Imported names, builtins and what libraries hold, bound anew by a function or patched: running says what is there."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is the oracle")
numpy = pytest.importorskip("numpy", reason="numpy is the oracle")

from test_inference_adversaries import wrong_claims  # noqa: E402

from tensorlint.inference.analysis import analyse  # noqa: E402

# A name: what binds it first, another value for it, and what is made of it.
NAMES = {
    "torch": ("import torch", "types.SimpleNamespace(zeros=lambda n: real.ones(n + 1))", "torch.zeros(3)"),
    "F": (
        "import torch.nn.functional as F",
        "types.SimpleNamespace(relu=lambda x: x.sum())",
        "F.relu(real.ones(2, 3))",
    ),
    "nn": (
        "from torch import nn",
        "types.SimpleNamespace(Linear=lambda a, b: real.nn.Linear(a, 7))",
        "nn.Linear(3, 4)(real.ones(2, 3))",
    ),
    "np": ("import numpy as np", "types.SimpleNamespace(ones=lambda s: numpy.zeros(7))", "np.ones((2, 3))"),
    "relu": ("from torch import relu", "lambda x: x.sum()", "relu(real.ones(2, 3))"),
    "len": ("", "lambda x: 7", "real.zeros(len([1, 2]))"),
    "range": ("", "lambda n: [1] * 5", "real.stack([real.zeros(2) for _ in range(3)])"),
    "f": ("def f(x):\n    return x.sum(0)", "lambda x: x", "f(real.ones(2, 3))"),
    "Net": (
        "class Net(real.nn.Module):\n    def forward(self, x):\n        return x.sum(0)",
        "lambda: abs",
        "Net()(real.ones(2, 3))",
    ),
    "fc": ("fc = real.nn.Linear(3, 4)", "real.nn.Linear(3, 5)", "fc(real.ones(2, 3))"),
    "n": ("n = 3", "4", "real.zeros(n)"),
}
WAYS = {
    "assigned": "NAME = OTHER",
    "a loop": "for NAME in [OTHER]:\n    pass",
    "with": "with contextlib.nullcontext(OTHER) as NAME:\n    pass",
    "within an expression": "(NAME := OTHER)",
    "unpacked": "NAME, _ = OTHER, 1",
    "a capture": "match [OTHER]:\n    case [NAME]:\n        pass",
    "an import": "import other_module as NAME",
    "a part that is imported": "from other_package import thing as NAME",
    "globals": "globals()['NAME'] = OTHER",
    "globals by a method": "globals().__setitem__('NAME', OTHER)",
    "globals by update": "globals().update(NAME=OTHER)",
    "the module": "setattr(sys.modules[__name__], 'NAME', OTHER)",
}
PLACES = {
    "a function": "def put():\n    global NAME\n    CHANGE\nput()",
    "a function within": "def put():\n    def inner():\n        global NAME\n        CHANGE\n    inner()\nput()",
    "a method": "class Box:\n    def put(self):\n        global NAME\n        CHANGE\nBox().put()",
    "an operator": "class Box:\n    def __add__(self, other):\n        global NAME\n        CHANGE\nBox() + 1",
    "a generator": "def put():\n    global NAME\n    CHANGE\n    yield 1\nlist(put())",
    "a callback": "def put(k):\n    global NAME\n    CHANGE\n    return 1\nsorted([1, 2], key=put)",
}
_HEAD = "import contextlib\nimport sys\nimport types\n\nimport numpy\nimport torch as real\n\n"


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    places = [
        (torch, "relu"), (torch, "zeros"), (torch.Tensor, "view"), (torch.nn, "Linear"), (torch.nn.Linear, "forward"),
        (torch.nn.functional, "gelu"), (numpy, "ones"), (builtins, "len"), (builtins, "range"), (math, "floor"),
    ]  # fmt: skip
    saved = [(owner, name, vars(owner).get(name)) for owner, name in places]
    yield
    for owner, name, value in saved:
        if value is not None:
            setattr(owner, name, value)
        elif name in vars(owner):
            delattr(owner, name)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_said_by_a_name_that_a_function_binds_anew(name: str, way: str, place: str, tmp_path: Path) -> None:
    first, other, use = NAMES[name]
    change = WAYS[way].replace("OTHER", other).replace("NAME", name)
    margin = PLACES[place].split("CHANGE")[0].rpartition("\n")[2]
    text = PLACES[place].replace("NAME", name).replace("CHANGE", change.replace("\n", f"\n{margin}"))
    source = (
        f"{_HEAD}other = {other}\nsys.modules['other_module'] = other\nsys.modules['other_package'] = types.SimpleNamespace(thing=other)\n"
        f"{first}\n\n\ndef read():\n    a = {use}\n    return a\n\n\n{text}\nb = {use}\nc = read()\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


PATCHES = {
    "torch.relu": ("lambda x: x.sum()", "torch.relu(torch.ones(2, 3))"),
    "torch.Tensor.view": ("lambda self, *a: self.sum()", "torch.ones(2, 3).view(6)"),
    "torch.nn.Linear.forward": ("lambda self, x: x.sum()", "torch.nn.Linear(3, 4)(torch.ones(2, 3))"),
    "F.gelu": ("lambda x: x.sum()", "F.gelu(torch.ones(2, 3))"),
    "np.ones": ("lambda s: numpy.zeros(7)", "np.ones((2, 3))"),
    "Net.forward": ("lambda self, x: x", "Net()(torch.ones(2, 3))"),
    "Net.__call__": ("lambda self, x: x", "Net()(torch.ones(2, 3))"),
}
_CLASSES = "import math\n\nimport numpy\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x.sum(0)\n\n\n"
PATCHING = {
    "assigned": "OWNER.NAME = OTHER",
    "setattr": "setattr(OWNER, 'NAME', OTHER)",
    "unpacked": "OWNER.NAME, _ = OTHER, 1",
    "in a function": "def patch():\n    OWNER.NAME = OTHER\npatch()",
    "setattr in a function": "def patch():\n    setattr(OWNER, 'NAME', OTHER)\npatch()",
    "another name": "owner = OWNER\nowner.NAME = OTHER",
    "a loop": "for owner in [OWNER]:\n    owner.NAME = OTHER",
    "a name that is computed": "for name in ('NA' + 'ME'.lower(), 'NAME'):\n    setattr(OWNER, name, OTHER)",
    "a condition": "if int('1'):\n    OWNER.NAME = OTHER",
}


@pytest.mark.parametrize("way", PATCHING)
@pytest.mark.parametrize("target", PATCHES)
def test_nothing_is_said_of_what_a_program_patches(target: str, way: str, tmp_path: Path) -> None:
    other, use = PATCHES[target]
    owner, _, name = target.rpartition(".")
    change = PATCHING[way].replace("OTHER", f"({other})").replace("OWNER", owner).replace("NAME", name)
    source = f"{_CLASSES}def read():\n    a = {use}\n    return a\n\n\n{change}\nb = {use}\nc = read()\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}


@pytest.mark.parametrize(
    "late",
    [
        "def f():\n    np = 3\n    return np",
        "class A:\n    np = 3",
        "def f(np):\n    return np",
    ],
)
def test_a_name_of_its_own_leaves_the_import_known(late: str) -> None:
    source = f"import numpy as np\n\n\n{late}\n\n\ndef g():\n    x = np.zeros((2, 3))\n    return x\n"
    assert {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}["x"] == (2, 3)
