"""What functions within find of what is around them when they run again, and what a method finds in objects of derived
classes: neither is what the first run finds."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = "import torch\nfrom torch import nn\nclass O: pass\n"
# What is around the function, how it changes that at each call, and how it is read.
KEPT = {
    "a list": ("n = [torch.zeros(1)]", "n[0] = torch.cat([n[0], n[0]])", "n[0]"),
    "a list of numbers": ("n = [1]", "n[0] += 1", "torch.zeros(n[0])"),
    "a list that grows": ("n = [1]", "n.append(1)", "torch.zeros(len(n))"),
    "a dictionary": ("n = {'k': torch.zeros(1)}", "n['k'] = torch.cat([n['k'], n['k']])", "n['k']"),
    "a dictionary by update": ("n = {'k': torch.zeros(1)}", "n.update(k=torch.cat([n['k'], n['k']]))", "n['k']"),
    "a list in a dictionary": ("n = {'k': [torch.zeros(1)]}", "n['k'][0] = torch.cat([n['k'][0]] * 2)", "n['k'][0]"),
    "an object": ("n = O()\nn.k = torch.zeros(1)", "n.k = torch.cat([n.k, n.k])", "n.k"),
    "an object's list": ("n = O()\nn.k = [torch.zeros(1)]", "n.k[0] = torch.cat([n.k[0]] * 2)", "n.k[0]"),
    "a layer": ("n = nn.Linear(2, 3)", "n.weight = nn.Parameter(torch.cat([n.weight] * 2))", "n.weight"),
    "layers": ("n = nn.Sequential(nn.Linear(3, 3))", "n.append(nn.Linear(3, len(n) + 3 - (len(n) > 1) * 0)) if len(n) < 2 else n", "n(torch.zeros(1, 3))"),
    "a name": ("n = torch.zeros(1)", "nonlocal n\nn = torch.cat([n, n])", "n"),
    "a tensor": ("n = torch.zeros(3)", "n.unsqueeze_(0)", "n"),
    "a list in a tuple": ("n = [torch.zeros(1)], 2", "n[0][0] = torch.cat([n[0][0]] * 2)", "n[0][0]"),
}  # fmt: skip
# Where that stands, and how often it is read: `{change}` and `{read}` as they are indented there.
PLACES = {
    "a function within": (
        "def make():\n    {made}\n    def inner():\n        {change}\n        y = {read}\n        return y\n    return inner\nf = make()\nf(); f(); f()\n"
    ),
    "a decorator": (
        "def deco(fn):\n    {made}\n    def inner():\n        {change}\n        y = {read}\n        return y\n    return inner\n"
        "@deco\ndef f(): pass\nf(); f(); f()\n"
    ),
    "one function changes, another one reads": (
        "def make():\n    {made}\n    def get():\n        y = {read}\n        return y\n    def put():\n        {change}\n    return get, put\n"
        "get, put = make()\nget(); put(); get(); put(); get()\n"
    ),
    "a function within one that reads": (
        "def make():\n    {made}\n    def inner():\n        def most():\n            y = {read}\n            return y\n        {change}\n"
        "        return most()\n    return inner\nf = make()\nf(); f(); f()\n"
    ),
    "called where it stands, too": (
        "def make():\n    {made}\n    def inner():\n        {change}\n        y = {read}\n        return y\n    inner()\n    return inner\n"
        "f = make()\nf(); f()\n"
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", KEPT)
def test_nothing_wrong_is_said_when_it_runs_again(name: str, place: str, tmp_path: Path) -> None:
    made, change, read = (part.replace("\n", "\n        ") for part in KEPT[name])
    source = HEAD + PLACES[place].format(made=made.replace("        ", "    "), change=change, read=read)
    assert wrong_claims(tmp_path / "program.py", source) == {}


def known(source: str) -> dict[str, object]:
    return {row.name: row.shape for row in analyse(ast.parse(HEAD + source), HEAD + source).bindings}


def test_what_no_function_changes_stays_known() -> None:
    for made, _, read in (
        KEPT["a list"],
        KEPT["a dictionary"],
        KEPT["a layer"],
        KEPT["a tensor"],
        KEPT["a list in a tuple"],
    ):
        source = f"def make():\n    {made}\n    def inner():\n        y = {read}\n        return y\n    return inner\n"
        assert known(source)["y"] is not None, made


def test_the_cell_of_a_closure_binds_its_name_anew(tmp_path: Path) -> None:
    program = (
        "def make(n):\n    k = 3\n    def f():\n        y = torch.zeros(k, n)\n        return y\n    return f\nf = make(4)\nf()\n"
        "for cell in f.__closure__: {}\nf()\n"
    )
    for change in ("cell.cell_contents = 5", "setattr(cell, 'cell_contents', 5)"):
        assert wrong_claims(tmp_path / "program.py", HEAD + program.format(change)) == {}


# What a derived class has in the place of what the base's methods read.
DERIVED = {
    "a property": ("@property\n    def width(self): return 4", "@property\n    def width(self): return 5", "torch.zeros(self.width)"),
    "a method": ("def make(self): return torch.zeros(4)", "def make(self): return torch.zeros(5)", "self.make()"),
    "a static method": ("@staticmethod\n    def make(): return torch.zeros(4)", "@staticmethod\n    def make(): return torch.zeros(5)", "self.make()"),
    "a class's number": ("width = 4", "width = 5", "torch.zeros(self.width, 1)"),
    "a class's tensor": ("w = torch.zeros(4)", "w = torch.zeros(5)", "self.w + 0"),
    "a class's list": ("sizes = [4]", "sizes = [5]", "torch.zeros(self.sizes[0])"),
    "a class": ("layer = nn.Flatten", "layer = nn.Identity", "self.layer()(torch.zeros(2, 3, 4))"),
}  # fmt: skip


@pytest.mark.parametrize("base", ["", "(nn.Module)"])
@pytest.mark.parametrize("method", ["__init__", "go"])
@pytest.mark.parametrize("name", DERIVED)
def test_a_method_is_not_shown_as_the_derived_class_has_it(name: str, method: str, base: str, tmp_path: Path) -> None:
    own, other, read = DERIVED[name]
    started = "super().__init__()\n        " if method == "__init__" else ""
    source = HEAD + (
        f"class P{base}:\n    {own}\n    def {method}(self):\n        {started}y = {read}\n        self.y = {read}\n"
        f"class Q(P):\n    {other}\nclass R(P): pass\nfor each in (P, Q, R):\n    made = each()\n"
    )
    if method == "go":
        source += "    made.go()\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}


# What another function than the one around it demands of a tensor that the one around has returned before, in some runs.
DEMANDS = {
    "what it calls": "def g():\n        return prep(y)\n    g()",
    "a statement of it": "def g():\n        b, c, h, w = y.shape\n    g()",
    "what it calls in a statement": "def g():\n        prep(y)\n    g()",
    "what it calls behind a test": "def g():\n        if y.dim() == 2:\n            return y\n        return prep(y)\n    g()",
    "a lambda": "g = lambda: prep(y)\n    g()",
    "a comprehension": "g = [prep(y) for _ in range(2)]",
    "a method of a class within": "class G:\n        def go(self):\n            return prep(y)\n    G().go()",
    "a function within a function": "def g():\n        def h():\n            return prep(y)\n        return h()\n    g()",
    "a parameter": "def g(t):\n        return prep(t)\n    g(y)",
}


@pytest.mark.parametrize("name", DEMANDS)
def test_what_a_function_within_demands_is_not_true_of_what_was_left_before(name: str, tmp_path: Path) -> None:
    source = HEAD + (
        "def prep(x):\n    b, c, h, w = x.shape\n    return b\ndef f(x: torch.Tensor):\n    y = x * 2\n    if y.dim() == 2:\n        return y\n"
        f"    {DEMANDS[name]}\n    return y\nf(torch.zeros(2, 3))\nf(torch.zeros(2, 3, 4, 5))\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


# Methods that Python calls by itself, between which the statements around them change something.
IMPLICIT = {
    "an operator": ("def __add__(self, other):", "o + 1"),
    "a missing attribute": ("def __getattr__(self, name):", "o.missing"),
    "an item": ("def __getitem__(self, at):", "o[0]"),
    "a comparison": ("def __lt__(self, other):", "o < 1"),
}
CHANGED = {
    "a dictionary": ("x = {'k': torch.zeros(2)}", "x.update(k=torch.zeros(3, 1))", "x['k']"),
    "a dictionary's length": ("x = {'k': 1}", "x.update(a=3)", "torch.zeros(len(x))"),
    "a list": ("x = [torch.zeros(2)]", "x[0] = torch.zeros(3, 1)", "x[0]"),
    "layers": ("x = nn.Sequential(nn.Linear(2, 2))", "x[0] = nn.Linear(2, 3)", "x(torch.zeros(1, 2))"),
}


@pytest.mark.parametrize("method", IMPLICIT)
@pytest.mark.parametrize("kind", CHANGED)
def test_what_changes_between_calls_that_python_makes_is_not_known_in_them(
    kind: str, method: str, tmp_path: Path
) -> None:
    (made, change, read), (header, use) = CHANGED[kind], IMPLICIT[method]
    cls = f"class G:\n    {header}\n        y = {read}\n        return y\n"
    lines = f"{made}\n{cls}o = G()\na = {use}\nwith torch.no_grad():\n    {change}\n    b = {use}\n"
    assert wrong_claims(tmp_path / "program.py", HEAD + lines) == {}
    lines = "def main():\n" + "".join(f"    {line}\n" for line in lines.splitlines()) + "main()\n"
    assert wrong_claims(tmp_path / "program.py", HEAD + lines) == {}


def test_what_a_function_gave_before_a_change_is_not_what_it_gives_behind_it(tmp_path: Path) -> None:
    source = HEAD + (
        "def main():\n    x = {'k': torch.arange(6)}\n    def h():\n        z = x['k']\n        return z\n    def g():\n        y = h()[None]\n"
        "        return y\n    a = g() * 1\n    with torch.no_grad():\n        x.update(k=torch.zeros(4, 3))\n        b = g() * 1\nmain()\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


# What a function changes by what it calls, where its call is not followed: `main()` as a statement.
UNFOLLOWED = {
    "another shape of what an attribute holds": (
        "class A:\n    def __init__(self):\n        self.w = torch.zeros(5)\n    def get(self):\n        v = self.w + 0\n        return v\n"
        "def main():\n    o = A()\n    b = o.w\n    def f():\n        return b.unsqueeze_(0)\n    f()\n    o.get()\nmain()\n"
    ),
    "a property with a setter": (
        "class A:\n    def __init__(self):\n        self._x = torch.zeros(2)\n        self.n = torch.zeros(2)\n    @property\n    def x(self):\n"
        "        return self._x\n    @x.setter\n    def x(self, v):\n        self._x = v[None]\n        self.n = torch.zeros(3, 3)\n"
        "c = A()\ndef f(o):\n    o.x = torch.zeros(4)\ndef g():\n    return f(c)\ng()\ns = c.n + 0\nt = c._x + 0\n"
    ),
    "a property with a deleter": (
        "class A:\n    def __init__(self):\n        self.n = torch.zeros(2)\n    @property\n    def x(self): return 1\n    @x.deleter\n"
        "    def x(self):\n        self.n = torch.zeros(3, 3)\nc = A()\ndef f(o):\n    del o.x\ndef g():\n    return f(c)\ng()\ns = c.n + 0\n"
    ),
}


@pytest.mark.parametrize("name", UNFOLLOWED)
def test_what_calls_that_are_not_followed_change_is_not_known(name: str, tmp_path: Path) -> None:
    assert wrong_claims(tmp_path / "program.py", HEAD + UNFOLLOWED[name]) == {}


@pytest.mark.parametrize(
    "change", ["def clean():\n    df.dropna(inplace=True)\n", "clean = lambda: df.dropna(inplace=True)\n"]
)
def test_a_table_that_a_function_changes_in_place_has_other_rows(change: str, tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="pandas is the oracle")
    source = "import pandas as pd\nimport numpy as np\ndf = pd.DataFrame({'a': [1.0, np.nan, 3.0]})\n"
    assert wrong_claims(tmp_path / "program.py", f"{source}{change}clean()\nx = df['a'].values\ny = x * 2\n") == {}
