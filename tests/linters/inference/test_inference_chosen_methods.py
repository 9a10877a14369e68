"""Methods and functions that a condition chooses: what the one or the other changes in place may have changed, or not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

TOP = """\
import contextlib
import functools
from concurrent.futures import ThreadPoolExecutor

import torch


def run(f, *given):
    f(*given)


def run_alone(f):
    f()


def turn(x):
    x.t_()


class Kept:
    def __init__(self, f):
        self.f = f

    def go(self):
        self.f()


"""
# What calls one of two, the first of which changes `x`, of shape (2, 3), or the list `x`.
OF_TENSORS = {
    "called on the spot": "(x.t_ if c else x.numpy)()",
    "the other way round": "(x.numpy if not c else x.t_)()",
    "with an argument": "(x.unsqueeze_ if c else x.unsqueeze)(dim=0)",
    "by name": "f = x.t_ if c else x.numpy\n    f()",
    "bound in branches": "if c:\n        f = x.t_\n    else:\n        f = x.numpy\n    f()",
    "bound again": "f = x.t_\n    if not c:\n        f = x.numpy\n    f()",
    "by and, or": "(c and x.t_ or x.numpy)()",
    "in a loop": "for _ in range(1):\n        (x.t_ if c else x.numpy)()",
    "a function of the library": "(torch.Tensor.t_ if c else torch.Tensor.numpy)(x)",
    "a function of the library and one that gives another": "f = torch.Tensor.t_ if c else torch.relu\n    f(x)",
    "with the arguments before": "(functools.partial(x.t_) if c else functools.partial(x.numpy))()",
    "a function of one's own, with its argument": "(functools.partial(turn, x) if c else x.numpy)()",
    "with stars": "(x.t_ if c else x.numpy)(*(() if c else ()))",
    "with two stars": "(x.t_ if c else x.numpy)(**({} if c else {}))",
    "handed on": "run(x.t_ if c else x.numpy)",
    "handed on, and called without stars": "run_alone(x.t_ if c else x.numpy)",
    "handed on with the tensor": "run(torch.Tensor.t_ if c else torch.relu, x)",
    "kept": "Kept(x.t_ if c else x.numpy).go()",
    "in a dictionary": 'd = {"f": x.t_ if c else x.numpy}\n    d["f"]()',
    "by a library": "with contextlib.ExitStack() as stack:\n        stack.callback(x.t_ if c else x.numpy)",
    "by a library, later": "with ThreadPoolExecutor(1) as pool:\n        pool.submit(x.t_ if c else x.numpy)",
    "out of a dictionary": "{1: x.t_}.get(int(c), x.numpy)()",
}
OF_LISTS = {
    "append": "(x.append if c else print)(3)",
    "clear": "(x.clear if c else x.copy)()",
    "clear, last": "(x.copy if not c else x.clear)()",
    "by name": "f = x.pop if c else x.copy\n    f()",
}
# What changes no shape.
HARMLESS = {
    "functions": "(torch.relu if c else torch.tanh)(x)",
    "functions in place": "(torch.relu_ if c else torch.tanh)(x)",
    "methods": "(x.relu if c else x.sigmoid)()",
    "methods in place": "(x.zero_ if c else x.exp_)()",
    "initialisers": "f = torch.nn.init.xavier_uniform_ if c else torch.nn.init.kaiming_uniform_\n    f(x)",
    "with the arguments before": "(functools.partial(torch.sum, x) if c else x.numpy)()",
    "handed on": "run(x.relu if c else x.numpy)",
    "by a library": "with contextlib.ExitStack() as stack:\n        stack.callback(x.relu if c else x.numpy)",
}


def program(made: str, calls: str, then: str) -> str:
    return f"{TOP}def go(c):\n    x = {made}\n    {calls}\n    y = {then}\n    return 0\n\n\ngo(True)\ngo(False)\n"


@pytest.mark.parametrize("calls", OF_TENSORS.values(), ids=OF_TENSORS.keys())
def test_tensor_changed_by_one_of_two_methods(tmp_path: Path, calls: str) -> None:
    assert not wrong_claims(tmp_path / "program.py", program("torch.zeros(2, 3)", calls, "x + 0"))


@pytest.mark.parametrize("calls", OF_LISTS.values(), ids=OF_LISTS.keys())
def test_list_changed_by_one_of_two_methods(tmp_path: Path, calls: str) -> None:
    assert not wrong_claims(tmp_path / "program.py", program("[1]", calls, "torch.zeros(len(x))"))


@pytest.mark.parametrize("calls", HARMLESS.values(), ids=HARMLESS.keys())
def test_shape_stays_known_where_neither_changes_it(tmp_path: Path, calls: str) -> None:
    source = program("torch.zeros(2, 3)", calls, "x + 0")
    assert not wrong_claims(tmp_path / "program.py", source)
    shapes = [each.shape for each in analyse(ast.parse(source), source).bindings if each.name == "y"]
    assert set(map(str, shapes)) == {"(2, 3)"}
