"""A forward that the file replaces is called by its name on purpose; that of a module of another class is not."""

from __future__ import annotations

import textwrap

import pytest

from tensorlint.checking import Selection, findings_of
from tensorlint.rules.registry import load
from tensorlint.source import PythonSource

HEAD = """
import functools
import types

import torch
from torch import nn


class Patched(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x)

{method}

class Derived(Patched):
    def forward(self, x):
        return x

    def twice(self, x):
        return self.forward(x)


class Other(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Patched()

    def forward(self, x):
        return self.inner(x)

    def twice(self, x):
        return self.forward(x)


def new(x):
    return x + 1


{patch}


def f(x):
    module = {cls}()
    {call}


f(torch.ones(2, 4))
"""
# Statements that replace the forward of a Patched, by what is known of it.
PATCHES = {
    "made there": "patched = Patched()\npatched.forward = new",
    "made there, in a function": "def patch():\n    patched = Patched()\n    patched.forward = new\n    return patched\n\n\npatch()",
    "setattr": 'patched = Patched()\nsetattr(patched, "forward", new)',
    "monkeypatch": 'def test_it(monkeypatch):\n    patched = Patched()\n    monkeypatch.setattr(patched, "forward", new)',
    "mock": 'from unittest import mock\n\npatched = Patched()\nwith mock.patch.object(patched, "forward", new):\n    pass',
    "one of two": "patched = Patched()\npatched = Derived()\npatched.forward = new",
    "the class": "old = Patched.forward\nPatched.forward = lambda self, x: old(self, x)",
    "a layer": "layer = nn.Linear(4, 4)\nlayer.forward = new",
}
METHODS = {
    "of self": "    def fast(self):\n        self.forward = new\n",
    "of self, within": "    def fast(self):\n        def switch():\n            self.forward = new\n        return switch\n",
}
UNKNOWN = {
    "a parameter": "def patch(model):\n    model.forward = new",
    "a part of one": "def patch(model):\n    model.layers[0].forward = new",
    "each of many": "def patch(model):\n    for part in model.modules():\n        part.forward = new",
    "one of two, one of them unknown": "def patch(model):\n    model = model or Patched()\n    model.forward = new",
    "what a call gives": "def patch(make):\n    made = make()\n    made.forward = new",
    "by a word": 'def patch(models):\n    for model in models:\n        setattr(model, "forward", new)',
    "by a list of words": 'NAMES = ["forward", "backward"]',
}
CALLS = {
    "of self": "return module.twice(x)",
    "kept": "kept = module.forward\n    return kept(x)",
    "by the class": "return {cls}.forward(module, x)",
    "by its class": "return type(module).forward(module, x)",
}


def program(patch: str, cls: str, call: str, method: str = "") -> str:
    return HEAD.format(patch=patch, cls=cls, call=CALLS[call].format(cls=cls), method=method)


def reported(code: str) -> list[str]:
    found, _ = findings_of(PythonSource("case.py", code), load(), Selection(frozenset({"TSR301"})), None)[:2]
    lines = code.splitlines()
    return [lines[finding.span.line - 1].strip() for finding in found]


def lines_that_call(code: str, call: str, cls: str) -> list[str]:
    """The lines of the module's own class, or of f, that go past its hooks."""
    return (
        ["return self.forward(x)"] if call == "of self" else [CALLS[call].format(cls=cls).rpartition("\n")[2].strip()]
    )


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("patch", [*PATCHES, *METHODS])
def test_the_forward_of_another_class_is_as_it_was(patch: str, call: str) -> None:
    code = program(PATCHES.get(patch, ""), "Other", call, METHODS.get(patch, ""))
    pytest.importorskip("torch")
    names: dict[str, object] = {}
    exec(code, names)
    other = names["Other"]()  # type: ignore[operator]
    assert "forward" not in vars(other)
    assert other.forward.__func__.__qualname__ == "Other.forward"
    if call == "kept" and patch in ("monkeypatch", "mock"):
        pytest.skip("what a method of that object is, nobody says")
    assert set(lines_that_call(code, call, "Other")) <= set(reported(code))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("cls", ["Patched", "Derived"])
@pytest.mark.parametrize("patch", [*PATCHES, *METHODS])
def test_that_of_the_class_and_those_beside_it_in_its_family_may_be_replaced(patch: str, cls: str, call: str) -> None:
    if patch == "a layer" or (call == "of self" and cls == "Patched"):
        pytest.skip("no such module")
    code = program(PATCHES.get(patch, ""), cls, call, METHODS.get(patch, ""))
    wanted = [line for line in lines_that_call(code, call, cls) if line != "return self.forward(x)"]
    if call == "of self":
        assert reported(code) == ["return self.forward(x)"]  # that of Other
    assert not set(wanted) & set(reported(code))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("patch", UNKNOWN)
def test_what_is_replaced_may_be_any_module_where_nobody_knows_it(patch: str, call: str) -> None:
    assert reported(program(UNKNOWN[patch], "Other", call)) == []


def test_asking_for_the_word_replaces_nothing() -> None:
    asked = 'def ask(module):\n    return getattr(module, "forward", None), hasattr(module, "forward")'
    for call in CALLS:
        code = program(asked, "Other", call)
        assert set(lines_that_call(code, call, "Other")) <= set(reported(code))


def test_a_module_of_which_nothing_is_known_may_be_the_patched_one() -> None:
    code = program(PATCHES["made there"], "Other", "kept") + textwrap.dedent("""
        def g(head, x, device):
            head.eval()
            head.to(device)
            return head.forward(x)
        """)
    assert "return head.forward(x)" not in reported(code)
    assert "return head.forward(x)" in reported(code.replace("patched.forward = new", "patched.other = new"))
