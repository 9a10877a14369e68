"""A row and a column whose numbers stand in the code: their table is meant, unless it is reduced to one number."""

from __future__ import annotations

import pytest
from rule_programs import codes

HEAD = "import numpy as np\n\ncolumn = np.array([[3.0], [11.0]])\nrow = np.array([11.0, 12.0])\n"


def codes_of_run(code: str) -> list[str]:
    pytest.importorskip("numpy", reason="numpy is the oracle")
    exec(code, {"__name__": "case"})
    return codes(code)


@pytest.mark.parametrize(
    "line",
    ["table = column + row", "table = 2 * column / (5 * row - 22)", "table = column * np.array([1.0, 2.0])"],
)
def test_a_table_of_what_is_written_out_is_left_alone(line: str) -> None:
    assert codes_of_run(HEAD + line + "\n") == []


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("loss = ((column - row) ** 2).mean()", "TSR112"),
        ("table = column * np.random.rand(2)", "TSR111"),
        ("given = np.random.rand(2)\ntable = column * (given - 1)", "TSR111"),
        ("table = np.ones((2, 1)).cumsum(0) * np.full((2,), 3.0)", "TSR111"),
        ("made = np.empty((2, 1))\ngiven = np.empty((2,))\ntable = made / given", "TSR111"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_other_rows_and_columns_are_not(line: str, code: str) -> None:
    assert codes_of_run(HEAD + line + "\n") == [code]
