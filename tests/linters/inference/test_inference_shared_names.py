"""What names of other modules hold, where any code in reach may change it, at whatever time: each program run for real."""

from __future__ import annotations

import ast
import itertools
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse
from tensorlint.project import Project

_BOX = "class Box:\n    count = 3\n    rows = [1, 2]\n    def __init__(self):\n        self.n, self.own = 3, [1, 2]\n    def size(self):\n        return 3\n\n\nbox = Box()\n"
# The module `a`, what is asked of it, and a statement that changes it.
CELLS = {
    "a number": ("n = 3\n", "a.n", "a.n = 5"),
    "a number among others": ("n = 3\n", "a.n", "a.n, a.m = 5, 6"),
    "a number by name": ("n = 3\n", "a.n", "setattr(a, 'n', 5)"),
    "a number by a computed name": ("n = 3\n", "a.n", "setattr(a, str('n'), 5)"),
    "a number in the namespace": ("n = 3\n", "a.n", "vars(a)['n'] = 5"),
    "a number of the modules": ("n = 3\n", "a.n", "import sys; sys.modules['a'].n = 5"),
    "a list": ("rows = [1, 2]\n", "len(a.rows)", "a.rows.append(3)"),
    "a list by another name": ("rows = [1, 2]\n", "len(a.rows)", "r = a.rows; r.append(3)"),
    "a list that is handed on": ("rows = [1, 2]\n", "len(a.rows)", "grow(a.rows)"),
    "a list that has two names": ("rows = [1, 2]\nother = rows\n", "len(a.other)", "a.rows += [3]"),
    "a list by getattr": ("rows = [1, 2]\n", "len(a.rows)", "getattr(a, 'rows').append(3)"),
    "a dictionary": ("sizes = {'n': 3}\n", "a.sizes['n']", "a.sizes.update(n=5)"),
    "a dictionary in one": ("sizes = {'a': {'n': 3}}\n", "a.sizes['a']['n']", "list(a.sizes.values())[0]['n'] = 5"),
    "an object": (_BOX, "a.box.n", "a.box.n = 5"),
    "an object's list": (_BOX, "len(a.box.own)", "a.box.own.append(3)"),
    "an object that is another": (_BOX, "a.box.n", "a.box = type('Other', (), {'n': 5})"),
    "a class": (_BOX, "a.Box.count", "a.Box.count = 5"),
    "a class of an object": (_BOX, "a.box.count", "type(a.box).count = 5"),
    "a list of a class": (_BOX, "len(a.Box().rows)", "a.Box.rows.append(3)"),
    "a method": (_BOX, "a.Box().size()", "a.Box.size = lambda self: 5"),
    "a function": ("def size():\n    return 3\n", "a.size()", "a.size = lambda: 5"),
    "a global of a function": ("n = 3\ndef size():\n    return n\n", "a.size()", "a.n = 5"),
    "a tensor": ("import torch\nx = torch.zeros(3)\n", "a.x.shape[0]", "a.x.resize_(5)"),
    "tensors": ("import torch\nxs = [torch.zeros(3)]\n", "a.xs[0].shape[0]", "a.xs[0] = torch.zeros(5)"),
    "layers": (
        "import torch\nnet = torch.nn.Sequential(torch.nn.Linear(3, 4))\n",
        "a.net(torch.zeros(2, 3)).shape[1]",
        "a.net[0] = torch.nn.Linear(3, 5)",
    ),
    "a module": (
        "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = torch.nn.Linear(3, 4)\n"
        "    def forward(self, x):\n        return self.fc(x)\nnet = Net()\n",
        "a.net(torch.zeros(2, 3)).shape[1]",
        "a.net.add_module('fc', torch.nn.Linear(3, 5))",
    ),
}  # fmt: skip
# The module `b` around that statement, and what makes it run.
WAYS = {
    "a call": ("def change(k=None):\n    {}\n", "b.change(k)"),
    "a decorator": ("def change(f):\n    {}\n    return f\n", "@b.change\ndef f():\n    pass"),
    "a property": (
        "class Doer:\n    @property\n    def go(self):\n        {}\n        return 1\ndoer = Doer()\n",
        "q = b.doer.go",
    ),
    "a manager": (
        "import contextlib\n@contextlib.contextmanager\ndef change():\n    {}\n    yield\n",
        "with b.change():\n    pass",
    ),
    "a subclass": (
        "class Doer:\n    def __init_subclass__(cls):\n        {}\n",
        "class Own(b.Doer):\n    pass",
    ),
    "a table": ("def change():\n    {}\nTABLE = [change]\n", "for each in b.TABLE:\n    each()"),
    "its import": ("{}\n", "b"),
    "a layer's call": (
        "class Doer(torch.nn.Module):\n    def forward(self, x):\n        {}\n        return x\n",
        "torch.nn.Sequential(b.Doer())(torch.zeros(2))",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("cell", "way"), [*itertools.product(CELLS, WAYS)])
def test_nothing_wrong_is_said_of_what_other_modules_change(
    cell: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, asked, statement = CELLS[cell]
    body, trigger = WAYS[way]
    files = {
        "a": module + f"\n\ndef read():\n    return {asked.replace('a.', '')}\n",
        "b": "import torch\nimport a\ndef grow(rows):\n    rows.append(3)\n" + body.format(statement),
        "c": f"import torch, a\ndef read():\n    return {asked}\n",
    }
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
    source = (
        "import torch, os\nimport a\nfrom c import read\nk = os.environ.get('NOT_SET')\n"
        f"before = torch.zeros({asked}, 2)\nimport b\n{trigger}\n"
        f"x = torch.zeros({asked}, 2)\ny = torch.zeros(a.read(), 2)\nz = torch.zeros(read(), 2)\n"
    )
    try:
        assert wrong_claims(tmp_path / "here.py", source, project=True) == {}
    finally:
        for name in files:
            sys.modules.pop(name, None)


# What the other module has, beside what is changed there, and a size that stays known.
STAYS = {
    "a number": ("n = 4\n", "a.n"),
    "a list that is only read": ("rows = [1, 2, 3, 4]\n", "len(a.rows)"),
    "a function of an attribute's name": ("def size():\n    return 4\n", "a.size()"),
    "a method of an object's attribute's name": ("class Box:\n    def __init__(self):\n        self.n = 1\n    def size(self):\n        return 4\n", "a.Box().size()"),
    "a class": ("class Box:\n    n = 4\n", "a.Box.n"),
    "a method of an object without attributes": ("class Box:\n    def size(self):\n        return 4\n", "a.Box().size()"),
    "a method of an abstract class": ("from abc import ABCMeta\nclass Box(metaclass=ABCMeta):\n    def size(self):\n        return 4\n", "a.Box().size()"),
    "a method of a class that derives from an abstract one": ("import abc\nclass Base(abc.ABC):\n    @abc.abstractmethod\n    def size(self):\n        pass\nclass Box(Base):\n    def size(self):\n        return 4\n", "a.Box().size()"),
    "an attribute of an abstract class": ("import abc\nclass Box(metaclass=abc.ABCMeta):\n    n = 4\n", "a.Box.n"),
    "a table of a class": ("class Box:\n    TABLE = {\n        'a': 1,\n        'b': 2,\n        'c': 3,\n        'd': 4,\n    }\n", "a.Box.TABLE['d']"),
    "a procedure that is another for a time": (
        "class Box:\n    def __init__(self):\n        self.n = 4\n        self.begin()\n    def begin(self):\n        pass\n",
        "a.Box().n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STAYS)
def test_what_no_module_changes_stays_known(name: str, tmp_path: Path) -> None:
    module, asked = STAYS[name]
    (tmp_path / "a.py").write_text(module, encoding="utf-8")
    (tmp_path / "b.py").write_text(
        "import a\nother = [1]\n\n\ndef change(k):\n    other.append(len(a.rows))\n    k.size = 3\n    a.m = 5\n    k.y, k.x = 5, 6\n\n\n"
        "def quiet():\n    kept = a.Box.begin\n    a.Box.begin = other.pop\n    a.Box.begin = kept\n",
        encoding="utf-8",
    )
    source = f"import torch\nimport a, b\ny = torch.zeros({asked})\n"
    rows = analyse(ast.parse(source), source, path=str(tmp_path / "here.py"), project=Project()).bindings
    assert [(row.name, row.shape) for row in rows] == [("y", (4,))]


def test_an_object_that_waits_is_changed_in_what_it_can_hold(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(
        "from torch import nn\n\n\nclass Outer(nn.Module):\n    def __init__(self, activation):\n        super().__init__()\n"
        "        self.act = activation\n        self.reset(3)\n\n    def reset(self, n):\n        self.fc = nn.Linear(n, 3)\n",
        encoding="utf-8",
    )
    source = (
        "import torch\nfrom torch import nn\nfrom b import Outer\n\n\nclass Snake(nn.Module):\n    def __init__(self, n):\n"
        "        super().__init__()\n        self.alpha = nn.Parameter(torch.zeros(n))\n\n\nclass Anti(Outer):\n    def __init__(self, n):\n"
        "        super().__init__(Snake(n))\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(4, 5)\n        self.anti = Anti(4)\n\n    def forward(self, x):\n        y = self.fc(x)\n        return y\n"
    )
    rows = analyse(ast.parse(source), source, path=str(tmp_path / "here.py"), project=Project()).bindings
    assert {-1: "5"} in [{at: str(size) for at, size in (row.axes or {}).items()} for row in rows if row.name == "y"]
