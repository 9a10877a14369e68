"""What is taken out of an array of unknown rank may be what the array holds: each index is run on arrays of lists and of numbers."""

from __future__ import annotations

import ast
from typing import Any

import pytest

np = pytest.importorskip("numpy", reason="numpy is the oracle")

from tensorlint.inference.analysis import analyse  # noqa: E402

HEAD = "import numpy as np\n\n\ndef f(x: np.ndarray, i: int, p, flag):\n"
# Expressions, and whether they are arrays whatever the array holds, as the axes of `x` may be fewer or more.
INDICES = {
    "x[0]": False,
    "x[-1]": False,
    "x[i]": False,
    "x[p.a]": False,
    "x[np.argmin([3, 1])]": False,
    "x[0, 1]": False,
    "x[i, p.a]": False,
    "x[(0, i)]": False,
    "x[0] if flag else x[1]": False,
    "x[0] if flag else np.zeros(3)": False,
    "next(iter(x))": False,
    "[each for each in x][0]": False,
    "x[:1]": True,
    "x[:, 0]": True,
    "x[0, :]": True,
    "x[...]": True,
    "x[..., 0]": True,
    "x[None]": True,
    "x[0, None]": True,
    "x[[0, 1]]": True,
    "x[np.array([0, 1])]": True,
    "x[x == x]": True,
    "x.astype(float)[0]": True,
}


class Point:
    a = 1


def arrays() -> list[Any]:
    lists = np.empty(3, dtype=object)
    cells = np.empty((3, 3), dtype=object)
    for at in range(3):
        lists[at] = [at]
        for other in range(3):
            cells[at, other] = [at, other]
    return [lists, cells, np.arange(3.0), np.ones((3, 3)), np.ones((3, 3, 3))]


def rows(body: str) -> dict[str, Any]:
    source = HEAD + "".join(f"    {line}\n" for line in body.split("\n"))
    return {row.name: row for row in analyse(ast.parse(source), source).bindings}


@pytest.mark.parametrize("index", INDICES)
def test_an_item_is_no_array_unless_it_is_one_of_every_array(index: str) -> None:
    results = []
    for array in arrays():
        for flag in (True, False):
            scope: dict[str, Any] = {}
            exec(f"{HEAD}    return {index}\n", scope)
            try:
                results.append(scope["f"](array, 1, Point(), flag))
            except (IndexError, ValueError, TypeError):  # too few axes, or lists where numbers are wanted
                continue
    assert len(results) > 3
    assert all(isinstance(each, (np.ndarray, np.generic)) for each in results) is INDICES[index]
    found = rows(f"y = {index}\nreturn y")
    assert ("y" in found) is INDICES[index]


@pytest.mark.parametrize("index", ["x[0]", "x[-1]", "x[i]", "x[0] if flag else x[1]"])
def test_once_its_rank_is_told_it_is_shown(index: str) -> None:
    """Lists have no shape, and the items of a matrix are rows."""
    assert rows(f"y = {index}\nn, m = y.shape\nreturn y")["y"].shape == ("n", "m")
    assert rows(f"n, m = x.shape\ny = {index}\nreturn y")["y"].shape == ("m",)


def test_one_of_two_arrays_is_no_item() -> None:
    assert "z" in rows("y = x[:1] if flag else x[1:]\nz = y\nreturn z")


def test_what_it_is_said_to_be() -> None:
    from tensorlint.inference.bindings import description
    from tensorlint.inference.values import Tensor

    assert description(Tensor("numpy", marks=frozenset({"item"}))).endswith("or an item of one")
    assert "item" not in description(Tensor("numpy", (3, 4), marks=frozenset({"item"})))
    assert "item" not in description(Tensor("numpy"))
