"""A size that stands where it is used is the one that a name of its own would have: both forms are reported, or neither."""

from __future__ import annotations

import ast
import re

import pytest
from rule_programs import findings

from tensorlint.inference.analysis import analyse

HEAD = "import numpy as np\nimport torch\nfrom torch import nn\n\n\n"
COUNTS = {
    "len of an argument": ("rows", "len(rows)"),
    "len of a list that is made": ("rows", "len(rows)"),
    "a shape": ("x", "x.shape[0]"),
    "a size": ("x", "x.size(0)"),
    "a product": ("x", "x.shape[0] * x.shape[1]"),
    "an item": ("x", "x[0].shape[0]"),
}
MADE = {
    "torch": ("torch.zeros({n}, 1)", "torch.ones({n})"),
    "torch, a tuple": ("torch.full(({n}, 1), 2.0)", "torch.full(({n},), 1.0)"),
    "torch, a keyword": ("torch.randn(size=({n}, 1))", "torch.randn(size=({n},))"),
    "numpy": ("np.zeros(({n}, 1))", "np.ones({n})"),
    "numpy, random": ("np.random.rand({n}, 1)", "np.random.normal(size={n})"),
    "a generator": ("np.random.default_rng(0).normal(size=({n}, 1))", "np.arange({n}) * 1.0"),
    "a layer": ("nn.Linear(3, 1)(torch.randn({n}, 3))", "torch.arange({n})"),
    "new": ("torch.zeros(2).new_zeros({n}, 1)", "torch.zeros(2).new_ones({n})"),
    "a view": ("torch.randn(10).view(-1)[: {n}].view({n}, 1)", "torch.randn({n})"),
    "a loop": ("torch.zeros({n}, 1)", "torch.tensor([float(i) for i in range({n})])"),
}


def program(count: str, a: str, b: str, *, named: bool, test: str = "") -> str:
    given, text = COUNTS[count]
    lines = [f"def f({given}):"]
    if count.startswith("len of a list"):
        lines += ["    kept = []", f"    for row in {given}:", "        kept.append(row)", f"    {given} = kept"]
        lines[0] = "def f(items):"
        lines[2] = "    for row in items:"
    if named:
        lines += [f"    n = {text}"]
        text = "n"
    if test:
        lines += [f"    {test.format(n=text)}"]
    lines += [f"    a = {a.format(n=text)}", f"    b = {b.format(n=text)}", "    return ((a - b) ** 2).mean()"]
    return HEAD + "\n".join(lines) + "\n"


def lines_and_codes(code: str) -> list[tuple[str, str]]:
    lines = code.splitlines()
    return [(finding.code, lines[finding.span.line - 1]) for finding in findings(code)]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("count", COUNTS)
def test_a_column_beside_a_vector_is_reported_however_its_size_is_written(count: str, made: str, named: bool) -> None:
    torch = pytest.importorskip("torch")
    code = program(count, *MADE[made], named=named)
    names: dict[str, object] = {}
    exec(code.replace("((a - b) ** 2).mean()", "(a - b).shape"), names)
    given = [1.0] * 5 if count.startswith("len") else torch.zeros(5, 1) if "product" in count else torch.zeros(5, 5)
    assert tuple(names["f"](given)) == (5, 5)  # type: ignore[operator]
    assert [each for each, _ in lines_and_codes(code)] == ["TSR112"]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("count", ["len of an argument", "a shape", "a size"])
@pytest.mark.parametrize(
    "test",
    [
        "assert {n} == 1",
        "assert 1 == {n}",
        "if {n} != 1: raise ValueError",
        "if not {n} == 1: return None",
        "if {n} == 1 and True: pass\n    else: return None",
    ],
)
def test_what_is_found_to_be_one_is_not_taken_for_several(test: str, count: str, named: bool) -> None:
    assert lines_and_codes(program(count, *MADE["torch"], named=named, test=test)) == []


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("count", ["len of an argument", "a shape", "a size"])
@pytest.mark.parametrize(
    "test", ["assert {n} != 1", "if {n} == 1: return None", "if {n} == 1: print({n})", "assert {n} == 3"]
)
def test_what_is_one_elsewhere_is_several_here(test: str, count: str, named: bool) -> None:
    code = program(count, *MADE["torch"], named=named, test=test)
    assert [each for each, _ in lines_and_codes(code)] == ["TSR112"]


def test_a_view_of_one_item_is_not_refused() -> None:
    code = HEAD + (
        "def f(rows, flag):\n"
        "    n = len(rows)\n"
        "    z = torch.randn(len(rows), 3, 8)\n"
        "    if n == 1 and flag:\n"
        "        return z.transpose(0, 1).view(3 * n, 8)\n"
        "    if n == 1:\n"
        "        return z.transpose(1, 2).view(n, 24)\n"
        "    return z.transpose(0, 1).view(3 * n, 8)\n"
    )
    torch = pytest.importorskip("torch")
    one, several = torch.randn(1, 3, 8), torch.randn(2, 3, 8)
    one.transpose(0, 1).view(3, 8)
    for refused, sizes in ((one.transpose(1, 2), (1, 24)), (several.transpose(0, 1), (6, 8))):
        with pytest.raises(RuntimeError, match="view size"):
            refused.view(*sizes)
    assert [line.strip()[:30] for _, line in lines_and_codes(code)] == [
        "return z.transpose(1, 2).view(",
        "return z.transpose(0, 1).view(",
    ]


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        ("len of an argument", "a (len(rows), 1) and b (len(rows),)"),
        ("a shape", "a (x.shape[0], 1) and b (x.shape[0],)"),
        ("a size", "a (x.size(0), 1) and b (x.size(0),)"),
        ("a product", "a (x.shape[0]*x.shape[1], 1) and b (x.shape[0]*x.shape[1],)"),
    ],
)
def test_the_message_shows_the_size_as_the_code_writes_it(count: str, shown: str) -> None:
    (finding,) = findings(program(count, *MADE["torch"], named=False))
    assert shown in finding.message


def test_a_name_that_holds_something_else_later_is_not_shown() -> None:
    code = HEAD + (
        "def f(x):\n    a = torch.zeros(x.shape[0], 1)\n    b = torch.zeros(x.shape[0])\n    x = x[:3]\n"
        "    return ((a - b) ** 2).mean()\n"
    )
    (finding,) = findings(code)
    assert "a (?, 1) and b (?,)" in finding.message


def shown_of(code: str) -> dict[str, tuple[int | str, ...] | None]:
    return {row.name: row.shape for row in analyse(ast.parse(code), code).bindings}


def test_a_list_is_counted_and_a_tensor_has_a_shape() -> None:
    code = HEAD + (
        "def f(rows, x, y):\n"
        "    a = torch.zeros(len(rows))\n"
        "    b = torch.zeros(len(x), x.shape[1])\n"
        "    c = torch.zeros(y.shape[0])\n"
        "    kept = []\n"
        "    for row in rows:\n"
        "        kept.append(row * 2)\n"
        "    d = torch.zeros(len(kept))\n"
    )
    shown = shown_of(code)
    assert shown["a"] == ("len(rows)",)
    assert shown["b"] == ("x.shape[0]", "x.shape[1]")
    assert shown["c"] == ("y.shape[0]",)
    assert shown["d"] == ("len(kept)",)
    assert not re.search(r"(?:rows|kept)\.shape", str(shown))


def test_a_list_that_grows_later_is_not_counted_for_what_it_was() -> None:
    code = HEAD + (
        "def f(rows):\n    kept = []\n    for row in rows:\n        kept.append(row)\n    a = torch.zeros(len(kept))\n"
        "    kept.append(0)\n    b = torch.zeros(len(kept))\n    return a, b\n"
    )
    shown = shown_of(code)
    assert shown["a"] != shown["b"] or shown["a"] == ("?",)


def test_a_field_is_shown_in_the_method_alone() -> None:
    code = HEAD + (
        "class Buffer:\n    def __init__(self, rows):\n        self.rows = rows\n\n"
        "    def loss(self):\n        a = torch.zeros(len(self.rows), 1)\n        b = torch.zeros(len(self.rows))\n"
        "        return ((a - b) ** 2).mean()\n"
    )
    (finding,) = findings(code)
    assert "a (len(self.rows), 1) and b (len(self.rows),)" in finding.message
    assert shown_of(code)["a"] == ("len(self.rows)", 1)
    assert shown_of(code + "\n    def fill(self, rows):\n        self.rows = rows\n")["a"] == ("?", 1)
