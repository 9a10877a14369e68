"""Decorators of the program's own: what they give stands for the name, and what they change is changed where they run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse
from tensorlint.inference.hazards import DirectForwardHazard, RankOneCreationHazard

pytestmark = pytest.mark.filterwarnings("ignore")

BEGIN = """import functools
import time
import torch
from torch import nn
TABLE = {"z": torch.zeros(2)}
ROWS = [torch.zeros(2)]
"""
# A decorator, and how it is written above a function.
CHANGING = {
    "a plain one": ("def put(f):\n    {change}\n    return f\n", "@put"),
    "a factory": ("def put(name):\n    {change}\n    def keep(f):\n        return f\n    return keep\n", "@put('a')"),
    "a factory's own": (
        "def put(name):\n    def keep(f):\n        {change}\n        return f\n    return keep\n",
        "@put('a')",
    ),
    "one that wraps": (
        "def put(f):\n    {change}\n    @functools.wraps(f)\n    def inner(*args, **kwargs):\n        return f(*args, **kwargs)\n    return inner\n",
        "@put",
    ),
    "a class": (
        "class put:\n    def __init__(self, f):\n        {change}\n        self.f = f\n    def __call__(self, x):\n        return self.f(x)\n",
        "@put",
    ),
    "a method": (
        "class App:\n    def put(self, name):\n        {change}\n        return lambda f: f\napp = App()\n",
        "@app.put('a')",
    ),
    "partial": ("def put(f, name):\n    {change}\n    return f\n", "@functools.partial(put, name='a')"),
    "among others": ("def put(f):\n    {change}\n    return f\n", "@torch.no_grad()\n@put\n@functools.lru_cache"),
    "a lambda's": ("def put(f):\n    {change}\n    return f\nother = lambda f: put(f)\n", "@other"),
    "one that gives another thing": ("def put(f):\n    {change}\n    return 3\n", "@put"),
}
CHANGES = [
    "TABLE['z'] = torch.zeros(5)",
    "ROWS[0] = torch.zeros(5)",
    "TABLE.update(z=torch.zeros(5))",
    "ROWS.insert(0, torch.zeros(5))",
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("decorator", CHANGING)
@pytest.mark.parametrize(
    "of", ["def g(x):\n    return x", "class G:\n    pass", "class G:\n    {at}\n    def g(self, x):\n        return x"]
)
def test_what_a_decorator_changes_is_changed(decorator: str, change: str, of: str, tmp_path: Path) -> None:
    made, at = CHANGING[decorator]
    if of.startswith("class") and "lru_cache" in at and "{at}" not in of:
        pytest.skip("caches functions")
    above = of.format(at=at.replace("\n", "\n    ")) if "{at}" in of else f"{at}\n{of}"
    source = f"{BEGIN}{made.format(change=change)}{above}\nv = TABLE['z'] + 0\nw = ROWS[0] + 0\n"
    assert wrong_claims(tmp_path / "decorated.py", source) == {}


GIVING = {
    "the same": ("@functools.wraps(f)\n    def inner(*args, **kwargs):\n        return f(*args, **kwargs)", (3, 2)),
    "its time": (
        "def inner(*args, **kwargs):\n        begin = time.time()\n        result = f(*args, **kwargs)\n"
        "        inner.took = time.time() - begin\n        return result", (3, 2),
    ),
    "several rounds": (
        "def inner(*args, **kwargs):\n        for _ in range(3):\n            result = f(*args, **kwargs)\n        return result", (3, 2),
    ),
    "another shape": ("def inner(x, k=2):\n        return f(x, k).t()", (2, 3)),
    "other arguments": ("def inner(x, k=2):\n        return f(x, k=3)", (2, 3)),
    "a part": ("def inner(*args):\n        return f(*args)[0]", (2,)),
}  # fmt: skip


@pytest.mark.parametrize("way", ["@made", "@torch.no_grad()\n@made", "@factory(1)"])
@pytest.mark.parametrize("kind", GIVING)
def test_what_a_decorator_gives_stands_for_the_name(kind: str, way: str, tmp_path: Path) -> None:
    inner, shape = GIVING[kind]
    source = (
        f"{BEGIN}def made(f):\n    {inner}\n    return inner\ndef factory(n):\n    return made\n"
        f"{way}\ndef g(x, k=2):\n    return x.reshape(-1, k)\nv = g(torch.zeros(6))\n"
    )
    assert wrong_claims(tmp_path / "given.py", source) == {}
    shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert shown["v"] == shape


REGISTRIES = [
    "def register(name):\n    def keep(cls):\n        TABLE[name] = cls\n        return cls\n    return keep\n@register('a')\n",
    "def register(cls):\n    TABLE['a'] = cls\n    return cls\n@register\n",
    "class Registry:\n    def add(self, cls):\n        TABLE['a'] = cls\n        return cls\nregistry = Registry()\n@registry.add\n",
]


@pytest.mark.parametrize("registry", REGISTRIES)
def test_what_a_registry_holds_is_known(registry: str, tmp_path: Path) -> None:
    layer = "class Net(nn.Module):\n    def __init__(self, d=4):\n        super().__init__()\n        self.net = nn.Linear(d, 2)\n"
    layer += "    def forward(self, x):\n        return self.net(x)\n"
    source = f"{BEGIN}{registry}{layer}v = TABLE['a'](d=4)(torch.zeros(3, 4))\nmodel = TABLE['a']()\nmodel.forward(v @ torch.zeros(2, 4))\n"
    assert wrong_claims(tmp_path / "registry.py", source) == {}
    found = analyse(ast.parse(source), source)
    assert {row.name: row.shape for row in found.bindings}["v"] == (3, 2)
    hazards = [type(each) for each in found.hazards if not isinstance(each, RankOneCreationHazard)]
    assert hazards == [DirectForwardHazard]
    function = f"{BEGIN}{registry.replace('cls', 'f')}def g(x):\n    return x.t()\nv = TABLE['a'](torch.zeros(3, 4))\n"
    assert wrong_claims(tmp_path / "functions.py", function) == {}
    shown = {row.name: row.shape for row in analyse(ast.parse(function), function).bindings}
    assert shown["v"] in ((4, 3), None)
