"""Tuples and lists of numbers of which an annotation says how long they are, or how they are nested. All run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")

PROGRAM = """import numpy as np
import torch
import torch.nn.functional as F
from typing import List, Literal, Optional, Sequence, Tuple, Union
Z = torch.zeros(5, 6)
def f({parameter}):
    {body}
f({given})
"""
PAIR = ("size[0]", "size[1]")


def shapes(source: str) -> dict[str, Any]:
    found = analyse(ast.parse(source), source).bindings
    return {row.name: row.shape for row in found if len(row.name) == 1 or row.name == "out"}


def check(source: str, expected: Any, tmp_path: Path) -> None:
    assert wrong_claims(tmp_path / "program.py", source) == {}
    assert shapes(source).get("out") == expected


PAIRS = [
    "size: Tuple[int, int]", "size: tuple[int, int]", 'size: "tuple[int, int]"', "size: Tuple[int, int] = (2, 3)",
    "size: tuple[int, int] = None",
]  # fmt: skip
OF_A_PAIR = {
    "torch.zeros(size)": PAIR,
    "torch.zeros(*size)": PAIR,
    "torch.zeros(7, *size)": (7, *PAIR),
    "torch.zeros((7, *size))": (7, *PAIR),
    "torch.zeros(size[::-1])": PAIR[::-1],
    "torch.zeros(size[:1])": PAIR[:1],
    "torch.zeros(tuple(size))": PAIR,
    "torch.zeros((1, 2) + tuple(size))": (1, 2, *PAIR),
    "Z.new_zeros(size)": PAIR,
    "np.zeros(size)": PAIR,
    "np.ones((*size, 3))": (*PAIR, 3),
    "torch.tensor(size)": (2,),
    "np.array(size)": (2,),
    "torch.tensor([size, size])": (2, 2),
    "Z[:, size]": (5, 2),
    "F.interpolate(Z[None, None], size=size)": (1, 1, *PAIR),
    "torch.zeros(1).expand(size)": PAIR,
    "torch.zeros(6).reshape(size)": PAIR,
}


@pytest.mark.parametrize("parameter", PAIRS[:-1])
@pytest.mark.parametrize("made", OF_A_PAIR)
def test_a_tuple_has_as_many_items_as_its_annotation_says(parameter: str, made: str, tmp_path: Path) -> None:
    check(PROGRAM.format(parameter=parameter, body=f"out = {made}", given="(2, 3)"), OF_A_PAIR[made], tmp_path)


@pytest.mark.parametrize("made", ["torch.zeros(size)", "F.interpolate(Z[None, None], size=size)"])
@pytest.mark.parametrize("parameter", ["size: Optional[Tuple[int, int]]", "size: tuple[int, int] | None", PAIRS[-1]])
def test_a_tuple_that_may_be_none_is_there_in_a_branch_that_says_so(parameter: str, made: str, tmp_path: Path) -> None:
    body = f"out = torch.zeros(1, 1)\n    if size is not None:\n        out = {made}"
    check(PROGRAM.format(parameter=parameter, body=body, given="(2, 3)"), OF_A_PAIR[made], tmp_path)
    again = f"if size is None:\n        return\n    else:\n        out = {made}"
    check(PROGRAM.format(parameter=parameter, body=again, given="(2, 3)"), OF_A_PAIR[made], tmp_path)
    other = PROGRAM.format(parameter=parameter, body=f"out = {made}", given="(2, 3)")
    assert shapes(other)["out"] in (None, (1, 1, "?", "?"))


@pytest.mark.parametrize("test", ["size is None", "size is not None or Z is None", "Z is not None", "not size"])
def test_another_test_says_nothing_of_it(test: str, tmp_path: Path) -> None:
    body = f"out = torch.rand(2, 3) if Z is None else 0\n    if {test}:\n        out = F.interpolate(Z[None, None], size=size, scale_factor=2 if size is None else None)"
    for given in ("None", "(2, 3)"):
        source = PROGRAM.format(parameter="size: Optional[Tuple[int, int]]", body=body, given=given)
        check(source, (1, 1, "?", "?"), tmp_path)


NESTED = {
    ("List[int]", "torch.tensor(size)"): ("len(size)",),
    ("list[float]", "torch.tensor(size)"): ("len(size)",),
    ("Sequence[int]", "torch.tensor(size)"): ("len(size)",),
    ("Tuple[int, ...]", "torch.tensor(size)"): ("len(size)",),
    ("List[int]", "torch.tensor(size[:2])"): ("?",),
    ("List[int]", "np.array(size)"): ("len(size)",),
    ("List[int]", "Z[:, size]"): (5, "len(size)"),
    ("List[int]", "torch.tensor([size[0], size[1]])"): (2,),
    ("list[float]", "torch.tensor([size[0], size[1], 0.5])"): (3,),
    ("List[float]", "torch.tensor([[size[0], size[1]], [size[1], size[0]]])"): (2, 2),
    ("List[float]", "torch.tensor(size[0])"): (),
}
ROWS = {
    ("List[List[int]]", "torch.tensor(size)"): ("len(size)", "?"),
    ("list[tuple[float, float]]", "torch.tensor(size)"): ("len(size)", 2),
    ("list[tuple[float, float]]", "torch.tensor(size[0])"): (2,),
    ("Tuple[Tuple[int, int], Tuple[int, int]]", "torch.zeros(size[1])"): ("size[1][0]", "size[1][1]"),
}


@pytest.mark.parametrize(("annotation", "made"), NESTED)
def test_a_list_of_numbers_has_one_axis(annotation: str, made: str, tmp_path: Path) -> None:
    source = PROGRAM.format(parameter=f"size: {annotation}", body=f"out = {made}", given="[1, 2, 3]")
    check(source, NESTED[annotation, made], tmp_path)


@pytest.mark.parametrize(("annotation", "made"), ROWS)
def test_a_list_of_rows_has_two(annotation: str, made: str, tmp_path: Path) -> None:
    source = PROGRAM.format(parameter=f"size: {annotation}", body=f"out = {made}", given="((1, 2), (3, 4))")
    check(source, ROWS[annotation, made], tmp_path)


@pytest.mark.parametrize(
    ("parameter", "made", "given"),
    [
        ("size: Tuple[int, int] = 3", "torch.zeros(size)", ""),
        ("size: Tuple[int, int] = (3,)", "torch.zeros(size)", ""),
        ("size: tuple[float, float] = 0.5", "torch.tensor(size)", ""),
        ("size: Union[int, Tuple[int, int]]", "torch.zeros(size)", "3"),
        ("size: int | tuple[int, int]", "torch.zeros(size)", "(2, 3)"),
        ("size: Tuple[int, ...]", "torch.zeros(size)", "(2, 3, 4)"),
        ("size: Tuple[int]", "torch.zeros(size)", "(2, 3)"),  # one number, as it is written for any of them
        ("size: 'tuple[int]'", "np.zeros(size)", "(2, 3, 4)"),
        ("size: Optional[Tuple[int]] = None", "torch.zeros(size)", "(2, 3)"),
        ("size: List[Tuple[int]]", "torch.zeros(size[0])", "[(2, 3)]"),
        ("size: List[int]", "torch.zeros(size)", "[2]"),
        ("size: Tuple[Union[int, Tuple[int, int]], int]", "torch.tensor(size)", "(2, 3)"),
        ("size: tuple", "torch.zeros(size)", "(2, 3)"),
        ("size: List[int]", "Z[size]", "[1, 2, 3]"),
        ("size: Tuple[int, int]", "Z[size]", "(1, 2)"),
    ],
)
def test_nothing_is_said_where_the_annotation_tells_no_length(
    parameter: str, made: str, given: str, tmp_path: Path
) -> None:
    check(PROGRAM.format(parameter=parameter, body=f"out = {made}", given=given), None, tmp_path)


@pytest.mark.parametrize("change", ["size.append(9)", "size += [8]", "size.pop()", "size.clear()", "del size[0]"])
def test_a_list_that_gets_another_length_is_not_as_long_as_before(change: str, tmp_path: Path) -> None:
    body = f"a = torch.tensor(size)\n    {change}\n    out = torch.tensor(size)"
    source = PROGRAM.format(parameter="size: List[int]", body=body, given="[1, 2, 3]")
    check(source, None if "+=" in change else ("?",), tmp_path)


def test_the_items_have_the_names_that_they_are_given(tmp_path: Path) -> None:
    body = "h, w = size\n    a = torch.zeros(h, w)\n    out = torch.zeros(size)"
    check(PROGRAM.format(parameter="size: Tuple[int, int]", body=body, given="(2, 3)"), ("h", "w"), tmp_path)
    body = "h, w = size\n    h = h + 1\n    out = torch.zeros(size)"
    check(PROGRAM.format(parameter="size: Tuple[int, int]", body=body, given="(2, 3)"), ("size[0]", "w"), tmp_path)


def test_a_size_that_was_unpacked_is_called_by_the_name_it_got() -> None:
    source = (
        "import torch\ndef f(size: tuple[int, int]):\n    a = torch.zeros(size)\n    h, w = size\n    b = torch.zeros(h, w)\n"
        "    c = torch.zeros(size[0], 3)\n    d = a + b\n    return c\n"
    )
    shapes = {row.name: row.shape for row in analyse(ast.parse(source), source).shown}
    assert shapes == {"a": ("size[0]", "size[1]"), "b": ("h", "w"), "c": ("h", 3), "d": ("h", "w"), "return": ("h", 3)}
