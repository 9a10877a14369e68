"""What `isinstance`, `any` and `all` are said to give, which decides what code runs: each asked for real."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

_BEFORE = """import collections
import enum
import math
import pathlib
import typing

import numpy
import torch


class Colour(enum.IntEnum):
    RED = 3


class Text(str):
    pass


class Record(typing.NamedTuple):
    n: int
    m: int


class Settings:
    n = 3

    def __init__(self):
        self.name = "a"


Pair = collections.namedtuple("Pair", "n m")
x = torch.zeros(2, 3)
a = numpy.zeros((2, 3))
"""

VALUES = [
    "3", "True", "2.5", "'x'", "b'x'", "None", "(1, 2)", "()", "1j", "...", "x.shape", "x.size()", "a.shape", "len(x)", "x.ndim",
    "x.shape[0]", "x", "a", "torch.nn.Parameter(x)", "torch.nn.Linear(2, 3)", "numpy.int64(3)", "numpy.float64(2.0)",
    "numpy.str_('a')", "numpy.bool_(True)", "numpy.sum([1, 2])", "numpy.prod(a.shape)", "a[0, 0]", "range(3)", "[1]", "{}",
    "set()", "slice(1)", "Record(1, 2)", "Pair(1, 2)", "Text('a')", "Colour.RED", "Colour.RED.value", "Settings.n",
    "Settings().name", "pathlib.Path('a')", "torch.tensor(3).item()", "math.pi", "numpy.pi", "math.floor(2.5)", "round(2.5)",
    "int(2.5)", "float(3)", "bool(3)", "str(3)", "torch.float32", "torch.device('cpu')", "x.device.type", "x.tolist()",
    "max(1, 2.5)", "sum([1, 2])", "3 // 2", "3 / 2", "2 ** 0.5", "-3", "not 3", "3 > 2", "1 == 1.0", "'a' + 'b'", "(1,) + (2,)",
    "tuple([1])", "x.max(0)", "x.unbind()", "divmod(5, 2)", "'a b'.split()", "lambda: 3", "type(3)",
]  # fmt: skip
KINDS = [
    "int", "float", "bool", "str", "bytes", "complex", "tuple", "list", "dict", "set", "frozenset", "slice", "range", "object",
    "type", "torch.Tensor", "torch.nn.Module", "torch.nn.Parameter", "torch.Size", "numpy.ndarray", "numpy.integer",
    "numpy.generic", "pathlib.Path", "typing.Iterable", "Record", "Text", "(tuple, list)", "(int, float)", "(int, numpy.integer)",
    "(str, pathlib.Path)", "(list, tuple, torch.Tensor)", "((int, str), list)", "(float, object)",
]  # fmt: skip


def _known(source: str) -> int:
    """How many results have a size that is a number."""
    rows = analyse(ast.parse(source), source).bindings
    return sum(row.name.startswith("r") and row.shape is not None and isinstance(row.shape[0], int) for row in rows)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", VALUES)
def test_the_kinds_of_an_object(value: str, tmp_path: Path) -> None:
    lines = [f"r{at} = torch.zeros(3 if isinstance(value, {kind}) else 4)\n" for at, kind in enumerate(KINDS)]
    source = f"{_BEFORE}value = {value}\n{''.join(lines)}"
    assert wrong_claims(tmp_path / "program.py", source) == {}
    if value in ("3", "'x'", "None", "(1, 2)", "2.5"):
        assert _known(source) >= 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", ["any", "all"])
def test_whether_one_or_all_are_true(function: str, tmp_path: Path) -> None:
    many = [
        "[]", "()", "[1, 0]", "[0, 0]", "[1, 2]", "[None, '']", "[value > 5 for value in [3, 4]]", "(value > 3 for value in [3, 4])",
        "[isinstance(value, (tuple, list)) for value in [3, 4]]", "[isinstance(value, int) for value in (3, 'a')]", "range(2)",
        "range(1, 3)", "''", "'a'", "{1: 2}", "{0: 2}", "x.shape", "[x.ndim == 2, len(x) == 2]", "[unknown, 0]", "[unknown, 1]",
        "[each for each in (0, unknown)]", "map(bool, [1, 0])", "filter(None, [1, 0])", "iter([0, 1])", "gone", "halfway", "emptied",
        "longer", "{1, 0}", "zip([0], [0])", "reversed([0, 1])", "[[]]", "[()]", "[numpy.zeros(1)[0]]", "[x.sum() > 3]",
    ]  # fmt: skip
    before = """unknown = eval("3")
gone = iter([1, 1])
list(gone)
halfway = iter([0, 1])
next(halfway)
emptied, longer = [1], [0]
emptied.clear()
longer.append(1)
"""
    lines = [f"r{at} = torch.zeros(3 if {function}({each}) else 4)\n" for at, each in enumerate(many)]
    source = f"{_BEFORE}{before}{''.join(lines)}"
    assert wrong_claims(tmp_path / "program.py", source) == {}
    assert _known(source) >= 15


def test_an_entry_that_is_not_there_is_taken_out(tmp_path: Path) -> None:
    source = f"""{_BEFORE}
def f(**options):
    n = options.pop("n", 2)
    return torch.zeros(n, options.get("m", 3), len(options) + 1)


r0 = f()
r1 = f(m=4)
r2 = f(n=5)
r3 = f(n=5, m=4, k=1)
table = {{"a": 1}}
table.pop("b", None)
r4 = torch.zeros(table["a"], len(table))
for name in ("a", "b"):
    table.pop(name, None)
r5 = torch.zeros(len(table) + 1)
"""
    assert wrong_claims(tmp_path / "program.py", source) == {}
    assert _known(source) >= 4
