"""Programs written to mislead the inference: each runs without an error, and nothing that is said of it is wrong."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from tensorlint.inference.analysis import analyse
from tensorlint.inference.hazards import DirectForwardHazard, ViewHazard
from tensorlint.project import Project

_DATA = Path(__file__).parent / "data"
PROGRAMS = {
    name: source
    for file in (
        "adversaries.py.txt",
        "language.py.txt",
        "libraries.py.txt",
        "objects.py.txt",
        "several.py.txt",
        "caught.py.txt",
        "copies_and_stand_ins.py.txt",
        "left_and_perhaps.py.txt",
        "module_formats.py.txt",
        "moved_modules.py.txt",
        "parts_of_modules.py.txt",
        "what_decides.py.txt",
    )
    for part in (_DATA / file).read_text(encoding="utf-8").split("# --- ")[1:]
    for name, source in [part.split("\n", 1)]
}


def wrong_claims(path: Path, source: str, *, project: bool = False) -> dict[Any, str]:
    path.write_text(source, encoding="utf-8")
    tracing = importlib.import_module("test_inference_running_models")._tracing()
    score = tracing.Score()
    tracer = tracing.Tracer(tracing.Claims(project), score, (str(path.parent),))
    code = compile(source, str(path), "exec", dont_inherit=True)  # its annotations are what it says
    tracer.wanted[code] = True  # the module's own lines too
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        exec(code, {"__name__": __name__})
    finally:
        sys.settrace(before)
    # What functions of other files return is said of these files alone: that this one changes their names is not known there.
    return {
        (line, name): problem
        for (file, line, name), problem in score.wrong.items()
        if file == str(path) or not name.startswith("return")
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_wrong_is_said_of_a_program_that_runs(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = PROGRAMS[name]
    try:
        wrong = wrong_claims(tmp_path / "adversary.py", source)
    except ModuleNotFoundError as error:
        pytest.skip(f"runs {error.name}, which is not installed")
    assert wrong == {}
    failures: list[Exception] = []
    hazards = analyse(ast.parse(source), source, failures=failures).hazards
    assert failures == []  # an error of the interpreter's own would leave what it stands in unknown
    assert [hazard for hazard in hazards if isinstance(hazard, (ViewHazard, DirectForwardHazard))] == []


KNOWN = {
    # What these programs must not be silenced by: the same lines without the adversary.
    "a view behind a branch": (
        "import torch\n\n\ndef f(flag):\n    x = torch.randn(4, 6)\n    if flag:\n        x = x.t()\n"
        "    print(flag)\n    return x.view(-1)\n",
        ViewHazard,
    ),
    "in one block of a loop": (
        "import torch\n\n\ndef f(flags):\n    for flag in flags:\n        x = torch.randn(4, 6)\n        if flag:\n"
        "            x = x.t()\n        y = x.view(-1)\n",
        ViewHazard,
    ),
    "a module by its uses": (
        "import torch\n\n\ndef f(model, x):\n    model.eval()\n    model = model.to('cpu')\n    model.parameters()\n"
        "    return model.forward(x)\n",
        DirectForwardHazard,
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_stays_known(name: str) -> None:
    source, kind = KNOWN[name]
    assert [type(hazard) for hazard in analyse(ast.parse(source), source).hazards] == [kind]


def test_a_demand_under_a_manager_that_lets_errors_out_still_counts() -> None:
    source = (
        "import torch\n\n\ndef f(x: torch.Tensor):\n    y = x * 2\n    with torch.no_grad():\n"
        "        a, b, c = y.shape\n    return y\n"
    )
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    assert rows["y"].shape is not None
    assert len(rows["y"].shape) == 3


def test_a_class_that_its_decorator_gives_back_stays_known() -> None:
    source = (
        "import torch\nKNOWN = {}\n\n\ndef named(name):\n    def register(cls):\n        KNOWN[name] = cls\n        return cls\n"
        "    return register\n\n\n@named('a')\n@unknown\nclass A:\n    def make(self):\n        return torch.zeros(2, 3)\n\n\n"
        "y = A().make()\n"
    )
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    assert rows["y"].shape == (2, 3)


def test_a_library_whose_import_may_fail_stays_known() -> None:
    source = (
        "try:\n    import torch\n    import torch.nn as nn\n    FOUND = True\nexcept ImportError:\n    FOUND = False\n\n"
        "x = torch.zeros(2, 3)\ny = nn.Linear(3, 4)(x)\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows == {"x": (2, 3), "y": (2, 4)}


def test_a_shallow_copy_and_operators_functions_are_followed() -> None:
    source = (
        "import copy\nimport operator\nimport torch\n\n\nclass A:\n    def __init__(self):\n        self.x = torch.zeros(2, 3)\n"
        "\n\na = A()\nb = copy.copy(a)\ny = b.x + 0\nz = operator.attrgetter('x')(a) + 0\n"
        "w = operator.itemgetter(0)([torch.zeros(4)]) + 0\nv = operator.methodcaller('t')(a.x)\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows == {"y": (2, 3), "z": (2, 3), "w": (4,), "v": (3, 2)}


def test_what_is_shown_of_a_comprehension_s_name_is_true_of_all_items() -> None:
    source = (
        "import torch\na, b, c = torch.ones(2, 3), torch.ones(4), torch.ones(5, 3)\n"
        "p = [x.T for x in (a, b)]\nq = [y.T for y in (a, c)]\nr = [z.T for z in (c, c)]\n"
        "s = [w for w in (c, None)]\n"
    )
    shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert shown == {
        "a": (2, 3), "b": (4,), "c": (5, 3), "x": None, "y": ("?", 3), "z": (5, 3)
    }  # fmt: skip


LAYERS_LEFT_ALONE = {
    "a list that gets longer": "def more(n):\n    layers = []\n    layers.append(nn.Linear(n, 2))\n    return layers\n",
    "an annotated one": "def more(n):\n    layers: dict = {}\n    layers['a'] = nn.Linear(n, 2)\n    return layers\n",
    "a list that a function within fills": (
        "def more(n):\n    layers = []\n    def add():\n        layers.append(nn.Linear(n, 2))\n    add()\n"
    ),
    "a container whose parts get names": (
        "net = nn.Sequential()\nfor i in range(2):\n    net.add_module(f'fc{i}', nn.Linear(5, 5))\n"
    ),
    "parts by names of their own": (
        "class Grown(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        for i in range(n):\n"
        "            self.add_module('fc' + str(i), nn.Linear(n, 2))\n"
    ),
    "a function that a list holds": "shown = []\nshown.append(lambda model: print(model))\nunknown(shown)\n",
    "a class that a registry lists": (
        "KNOWN = {}\ndef register(cls):\n    KNOWN[cls.__name__] = cls\n    return cls\n"
        "@register\nclass Other(M):\n    pass\n"
    ),
    "a base that may be missing": (
        "try:\n    from elsewhere import Base\nexcept ImportError:\n    Base = object\n"
        "class Other(Base):\n    def __init__(self):\n        self.fc = self.net = None\n"
    ),
    "a tensor that is changed in place": "def turned(x, flag):\n    y = x if flag else None\n    return y.t_()\n",
    "one among others of a tuple": (
        "def more(n):\n    layers, last = [], n\n    layers.append(nn.Linear(last, 2))\n    return layers\n"
    ),
    "one that has two names": "def more(n):\n    a = b = []\n    b.append(nn.Linear(n, 2))\n    return a\n",
    "one that an expression names": "def more(n):\n    print(a := [])\n    a.append(nn.Linear(n, 2))\n    return a\n",
    "a list that a helper fills": (
        "def add(blocks, n):\n    blocks.append(nn.Linear(n, 2))\n\ndef more(n):\n    mine = []\n    add(mine, n)\n    return mine\n"
    ),
    "another attribute's layers by a helper": (
        "def add(blocks, n):\n    blocks.append(nn.Linear(n, 2))\n\ndef more(model):\n    add(model.blocks, 3)\n"
    ),
    "keywords that get a layer": "def f(x, **words):\n    words['act'] = nn.ReLU()\n    return words\n",
    "another layer's setting": "conv = nn.Conv2d(1, 2, 3)\nconv.stride = 2\n",
    "another attribute's layers": "def grow(model):\n    model.blocks.append(nn.Linear(2, 2))\n",
    "a hook that gives nothing": (
        "def watch(model, seen):\n    def hook(module, given, result):\n        seen.append(result)\n"
        "    for part in model.modules():\n        part.register_forward_hook(hook)\n"
    ),
    "a number that it only shows": "def count(layer):\n    layer.out_features = 3\n",
    "its bias": "def drop(layer):\n    layer.bias = None\n",
    "a context's own": "class F(torch.autograd.Function):\n    def forward(ctx, x):\n        ctx.weight = x\n        return x\n",
    "an early return of another": (
        "class N(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        if n:\n            return\n"
    ),
}


@pytest.mark.parametrize("name", LAYERS_LEFT_ALONE)
def test_what_is_done_elsewhere_leaves_the_layers_known(name: str) -> None:
    source = (
        "import torch\nfrom torch import nn\n\n\nclass M(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
        "        self.fc = nn.Linear(n, 5)\n        self.net = nn.Sequential(nn.Linear(5, 6), nn.Linear(6, 7))\n\n"
        "    def forward(self, x):\n        y = self.net(self.fc(torch.zeros(3, self.fc.in_features)))\n        return y\n\n\n"
    )
    changed = source + LAYERS_LEFT_ALONE[name]
    rows = {row.name: row for row in analyse(ast.parse(changed), changed).bindings}
    assert rows["y"].shape == (3, 7)


# What a module that is imported does to the code here: its text, and what is known here beside it.
IMPORTED = {
    "a mode": (
        "import torch\nfrom torch.overrides import TorchFunctionMode\n\n\nclass Twice(TorchFunctionMode):\n"
        "    def __torch_function__(self, func, types, args=(), kwargs=None):\n        made = func(*args, **(kwargs or {}))\n"
        "        return torch.stack([made, made]) if func is torch.zeros else made\n",
        "from other import Twice\nwith Twice():\n    x = torch.zeros(3)\n",
    ),
    "a mode that is entered there": (
        "import torch\nfrom torch.overrides import TorchFunctionMode as Mode\n\n\nclass Twice(Mode):\n"
        "    def __torch_function__(self, func, types, args=(), kwargs=None):\n        made = func(*args, **(kwargs or {}))\n"
        "        return torch.stack([made, made]) if func is torch.zeros else made\n\n\nmode = Twice()\nmode.__enter__()\n",
        "import other\nx = torch.zeros(3)\nother.mode.__exit__(None, None, None)\n",
    ),
    "a default type": (
        "import torch\n\n\ndef begin():\n    torch.set_default_dtype(torch.float64)\n\n\ndef end():\n"
        "    torch.set_default_dtype(torch.float32)\n",
        "import other\nother.begin()\nx = torch.zeros(3)\ny = torch.nn.Linear(3, 4).weight\nother.end()\n",
    ),
    "a default device": (
        "import torch\n\n\ndef begin():\n    torch.set_default_device('meta')\n\n\ndef end():\n    torch.set_default_device(None)\n",
        "from other import begin, end\nbegin()\nx = torch.zeros(3)\nend()\n",
    ),
    "a function of torch that is replaced": (
        "import torch\n\nzeros = torch.zeros\ntorch.zeros = lambda *sizes: zeros(2, 2)\n\n\ndef end():\n    torch.zeros = zeros\n",
        "import other\nx = torch.zeros(3)\nother.end()\n",
    ),
    "a name of a module that this one assigns": (
        "import torch\n\nx = torch.zeros(3)\n\n\ndef f():\n    return x\n",
        "import other\nother.x = torch.zeros(5)\ny = other.f() + 0\nz = other.x + 0\n",
    ),
    "methods that names of the class's body stand for": (
        "import torch\n\nSIZE = 2\n\n\ndef make(self):\n    return torch.zeros(1)\n\n\nclass Base:\n    SIZE = 3\n"
        "    def __init__(self):\n        self.n = 1\n"
        "    def make(self, n=SIZE):\n        return torch.zeros(n)\n    other = make\n    def make(self, n=4):\n"
        "        return torch.zeros(n)\n    def twice(f):\n        return lambda self: torch.cat([f(self)] * 2)\n    @twice\n"
        "    def double(self):\n        return torch.zeros(5)\n    @property\n    def kept(self):\n        return torch.zeros(6)\n"
        "    def late(self, n=SIZE):\n        return torch.zeros(n)\n    for n in (7, 8):\n        def looped(self, n=n):\n"
        "            return torch.zeros(n)\n    def gone(self):\n        return torch.zeros(9)\n    gone = None\n",
        "from other import Base\n\n\nclass Own(Base):\n    def more(self):\n        return self.late() + 0\n\n\no = Own()\n"
        "a = o.make() + 0\nb = o.other() + 0\nc = o.double() + 0\nd = o.kept + 0\ne = o.late() + 0\nf = o.looped() + 0\ng = o.more()\n"
        "Base.late = lambda self: torch.zeros(10)\nh = o.late() + 0\ni = o.more()\n",
    ),
    "another name for a method that the module has too": (
        "import torch\n\n\ndef make(self):\n    return torch.zeros(1)\n\n\ndef size():\n    return 2\n\n\nclass Base:\n"
        "    def __init__(self):\n        self.n = 1\n"
        "    def make(self):\n        return torch.zeros(4)\n    other = make\n    def size():\n        return 3\n"
        "    def sized(self, n=size):\n        return torch.zeros(n())\n    def again(self):\n        return torch.zeros(5)\n"
        "    def again(self, n=[6]):\n        return torch.zeros(n)\n",
        "from other import Base\no = Base()\na = o.other() + 0\nb = o.sized() + 0\nc = o.again() + 0\n",
    ),
    "a function that is given what nobody knows": (
        "import torch\n\nROWS = [torch.zeros(2)]\n\n\ndef shrink(net, flag):\n    net.size = 5\n\n\ndef fill(flag):\n"
        "    ROWS[0] = torch.zeros(7)\n",
        "import os\nimport other\n\n\nclass Net:\n    def __init__(self):\n        self.size = 3\n\n\nnet = Net()\n"
        "other.shrink(net, os.environ.get('A'))\nx = torch.zeros(net.size)\nother.fill(os.environ.get('A'))\ny = other.ROWS[0] + 0\n",
    ),
    "an initialiser too long to be followed": (
        "import torch\n\nSEEN = [torch.zeros(2)]\n\n\nclass Long:\n    def __init__(self, rows, x):\n        rows.append(3)\n"
        "        SEEN[0] = torch.zeros(4)\n        self.x = x\n"
        + "        self.n = 1\n" * 210
        + "        self.x = torch.zeros(5)\n",
        "import other\n\nrows = [1, 2]\nlong = other.Long(rows, torch.zeros(3))\nx = long.x + 0\ny = torch.zeros(len(rows))\n"
        "z = other.SEEN[0] + 0\n",
    ),
    "names bound by a text": (
        "import torch\n\nx = torch.zeros(3)\nexec('x = torch.zeros(5)')\n",
        "from other import x\ny = x + 0\n",
    ),
}


@pytest.mark.parametrize("name", IMPORTED)
def test_nothing_wrong_is_said_of_what_an_imported_module_changes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, source = IMPORTED[name]
    (tmp_path / "other.py").write_text(other, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "other", raising=False)
    try:
        assert wrong_claims(tmp_path / "here.py", "import torch\n" + source, project=True) == {}
    finally:
        sys.modules.pop("other", None)


PACKAGES = {
    name: source
    for part in (_DATA / "packages.py.txt").read_text(encoding="utf-8").split("# --- ")[1:]
    for name, source in [part.split("\n", 1)]
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PACKAGES)
def test_nothing_wrong_is_said_of_a_program_of_several_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    source, *others = PACKAGES[name].split("# === ")
    for other in others:
        path, text = other.split("\n", 1)
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    made = {path.stem if path.is_file() else path.name for path in tmp_path.iterdir()}
    zeros, outer = torch.zeros, torch.get_default_dtype()
    before = {each: sys.modules.pop(each) for each in made & sys.modules.keys()}
    try:
        assert wrong_claims(tmp_path / "here.py", source, project=True) == {}
    finally:
        torch.zeros = zeros
        torch.set_default_device(None)
        torch.set_default_dtype(outer)
        for each in [each for each in sys.modules if each.partition(".")[0] in made]:
            del sys.modules[each]
        sys.modules.update(before)


def test_what_an_imported_module_has_stays_known(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("import torch\nx = torch.zeros(3)\ny = torch.zeros(4)\n", encoding="utf-8")
    source = "import other\nimport torch\nother.x = None\nz = other.y + torch.zeros(4)\n"
    rows = analyse(ast.parse(source), source, path=str(tmp_path / "here.py"), project=Project()).bindings
    assert [(row.name, row.shape, row.dtype) for row in rows] == [("z", (4,), "float32")]


def test_an_import_s_import_that_sets_what_nobody_here_runs_leaves_types_known(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(
        "from third import begin\n\n\ndef run():\n    begin()\n\n\ndef size():\n    return 3\n"
    )
    (tmp_path / "third.py").write_text(
        "import torch\n\n\ndef begin():\n    torch.set_default_dtype(torch.float64)\n\n\n"
        "if __name__ == '__main__':\n    begin()\n",
        encoding="utf-8",
    )
    for source, dtype in {
        "from other import size\nimport torch\nx = torch.zeros(size())\n": "float32",
        "import other\nimport torch\nother.run()\nx = torch.zeros(3)\n": None,
    }.items():
        rows = analyse(ast.parse(source), source, path=str(tmp_path / "here.py"), project=Project()).bindings
        assert [(row.shape, row.dtype) for row in rows] == [((3,), dtype)]


def test_methods_of_a_class_elsewhere_are_known(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(
        "import torch\n\n\nclass Base(torch.nn.Module):\n    SIZE = 3\n    def __init__(self):\n        super().__init__()\n        self.n = 4\n    def make(self, n=2):\n        return torch.zeros(n, self.SIZE)\n"
        "    @property\n    def kept(self):\n        return torch.zeros(6)\n    @staticmethod\n    def plain(x):\n        return x[None]\n"
        "    def forward(self, x):\n        return self.plain(x + self.kept)\n",
        encoding="utf-8",
    )
    source = "import other\nimport torch\no = other.Base()\na = o.make()\nb = o.kept\nc = o(torch.zeros(6))\nd = other.Base.plain(a)\n"
    rows = analyse(ast.parse(source), source, path=str(tmp_path / "here.py"), project=Project()).bindings
    assert [(row.name, row.shape) for row in rows] == [("a", (2, 3)), ("b", (6,)), ("c", (1, 6)), ("d", (1, 2, 3))]


def test_parts_by_computed_names_leave_those_of_other_names_known() -> None:
    source = (
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
        "        self.first, self.width = nn.Linear(3, 4), 5\n        for i in range(n):\n"
        "            self.add_module(f'fc{i}', nn.Linear(3, 6))\n\n"
        "    def __getattr__(self, name):\n        try:\n            return super().__getattr__(name)\n"
        "        except AttributeError:\n            return getattr(self.first, name)\n\n"
        "    def forward(self, x):\n        y = self.first(torch.zeros(2, 3))\n        z = torch.zeros(self.width)\n        return y\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows["y"] == (2, 4)
    assert rows["z"] == (5,)


def test_an_iterator_that_is_gone_through_once_stays_known() -> None:
    source = (
        "import numpy as np\nimport torch\npairs = map(lambda each: [each, 1.0], [1.0, 2.0])\nx = np.array(list(pairs))\n"
        "rows = iter([torch.zeros(3) for _ in range(9)])\nfor _ in range(2):\n    for row in rows:\n        y = row + 1\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows["x"] == ("?", 2)
    assert rows["y"] == (3,)


TEXTS_RUN_ELSEWHERE = {
    "with names of its own": "def read(text):\n    names = {}\n    exec(text, names)\n    return names\n",
    "of a file": "exec(open('settings.py').read())\n",
    "by a method": "def show(window):\n    return window.exec()\n",
    "a name": "def named(text):\n    return eval(text)\n",
}


@pytest.mark.parametrize("name", TEXTS_RUN_ELSEWHERE)
def test_texts_that_bind_no_name_here_leave_what_is_known(name: str) -> None:
    source = TEXTS_RUN_ELSEWHERE[name] + (
        "import torch\nx = torch.zeros(3)\n\n\nclass A:\n    def __init__(self):\n        self.x = torch.zeros(4)\n\n"
        "    def see(self):\n        y = self.x + 0\n        z = x + 0\n        return y\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows["y"] == (4,)
    assert rows["z"] == (3,)


def test_views_of_a_dictionary_that_stays_as_it_is_are_known() -> None:
    source = (
        "import torch\nd = {'a': torch.zeros(3)}\nnames, values = d.keys(), d.values()\n"
        "x = torch.stack(list(values))\ny = torch.zeros(len(names))\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows == {"x": (1, 3), "y": (1,)}


def test_what_the_module_makes_before_functions_run_stays_known() -> None:
    source = (
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
        "        self.n = n\n\n\ndef read():\n    x = table['k'] + 0\n    y = torch.zeros(len(rows))\n    z = net(torch.zeros(2, 3))\n"
        "    w = torch.zeros(len(nets))\n    return x, y, z, w\n\n\n"
        "table, rows, net = {}, [], nn.Sequential(nn.Linear(3, 4))\ntable['k'] = torch.zeros(4, 5)\nrows.append(1)\nnet.append(nn.Linear(4, 6))\n"
        "nets = []\nnets.append(1)\nread()\nother = Net(3)\nlate = {}\nlate['k'] = torch.zeros(7)\n\n\ndef behind():\n    v = late['k'] + 0\n    return v\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert {name: rows[name] for name in "xyzwv"} == {"x": (4, 5), "y": (1,), "z": (2, 6), "w": (1,), "v": (7,)}


def test_items_that_rounds_do_not_change_stay_known() -> None:
    source = (
        "import torch\n\n\ndef pairs(n):\n    for i in range(n):\n        yield i, torch.zeros(3, 4)\n\n\n"
        "total = 0.0\nfor i, (_, x) in enumerate(pairs(9)):\n    y = x + 0\n    total += y.sum().item()\n"
        "for z in (torch.zeros(2, i) for i in range(9)):\n    w = z + 1\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (rows["x"], rows["y"]) == ((3, 4), (3, 4))
    assert rows["z"] == (2, "?")


def test_parameters_that_are_bound_anew_before_a_function_reads_them_stay_known() -> None:
    source = "import torch\n\n\ndef f(x):\n    x = torch.zeros(3)\n\n    def g():\n        y = x + 0\n        return y\n\n    return g\n"
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows["y"] == (3,)


def test_members_that_are_added_by_new_names_stay_known() -> None:
    source = (
        "import torch\nfrom torch import nn\nnet = nn.Sequential(nn.Linear(3, 3))\nnet.add_module('a', nn.Linear(3, 4))\n"
        "net.append(nn.Linear(4, 5))\nnet.add_module('b', nn.Linear(5, 6))\ny = net(torch.zeros(2, 3))\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows["y"] == (2, 6)


def test_deep_copies_and_files_with_stand_ins_stay_known() -> None:
    source = (
        "import copy\nimport torch\n\n\nclass Wrapped:\n    @classmethod\n    def __torch_function__(cls, *_):\n        return 5\n"
        "    def __radd__(self, other):\n        return 5\n\n\nkept = copy.deepcopy({'a': [torch.zeros(2, 3)]})\nx = kept['a'][0]\n"
        "y = torch.relu(x) + 1\n\n\ndef f(z):\n    w = torch.zeros(4, 5) * 2\n    v = torch.sum(z)\n    u = w + z\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows == {"x": (2, 3), "y": (2, 3), "w": (4, 5)}


def test_what_conditions_only_read_stays_known() -> None:
    source = (
        "import torch\n\n\ndef f(flag, n):\n    rows = [torch.zeros(2, 3)]\n    flag and print(rows)\n    x = rows[0]\n"
        "    y = rows[-1] if flag else rows[0]\n    z = flag is not None and len(rows) or 4\n    w = rows[0]\n"
        "    for i in range(n):\n        try:\n            v = rows[0] * 2\n            if i == n: break\n        finally:\n            u = rows[0]\n"
        "    t = v + u\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows == dict.fromkeys(["x", "y", "w", "v", "u", "t"], (2, 3))
