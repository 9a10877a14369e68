"""Numbers that may be 0 where they decide on the length of an axis, or on a slice of one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

# Expressions over a number, a list of as many items, and the names of the loops around them.
NUMBERS = [
    "n % 5", "int(n % 5)", "int(n / 2)", "abs(n)", "max(n, 0)", "len(rows) + 0", "len([r for r in rows if r])", "sum(range(n))",
    "round(n / 2)", "int(rows == [])", "len(range(n))", "n // 3", "n * (n - 1)", "(n - 1) ** 2", "int(str(n))", "j", "k",
    "abs(n - j)", "abs(k - 1)", "len('a' * n)", "int(torch.zeros(3)[n])", "len([0] * n)", "int(math.sqrt(n))", "n & 3", "n >> 1", "divmod(n, 2)[1]",
]  # fmt: skip
# {} stands for the number: of an axis that is longer, of the slice, of a repetition.
USES = [
    "torch.zeros(3, {} + 1)[:, 1:2]", "torch.zeros(3, {} + 2)[:, 1:3]", "torch.zeros(3, 2 * {} + 1)[:, :2]", "torch.zeros(3, 4)[:, -{}:]",
    "torch.zeros(3, 1)[:, :{}]", "torch.zeros(3, 4)[:, :{}]", "torch.zeros(3, 4)[:, {}:{} + 1]", "torch.zeros(3, 1)[:, 0:{}]",
    "torch.zeros(3, {} + 1)[:, -2:]", "torch.zeros(3, 4)[:, :-{}]", "torch.zeros(3, {} + 1).diff(dim=1)", "torch.zeros(3, {} + 1)[:, ::2]",
    "torch.tensor([0] * {})", "torch.tensor([[0, 1]] * {})", "torch.tensor([0 for _ in range({})])", "np.array([1] * {})",
    "np.array([(1, 2) for _ in range({})])", "torch.zeros({}, {})[:1].sum(0)", "torch.zeros(max({}, 1))", "torch.zeros(min({}, 1))", "torch.zeros(3, {} + 1).unfold(1, 1, 1)", "np.zeros((3, {} + 1))[:, 1:2]",
    "np.diff(np.zeros((3, {} + 1)))", "torch.arange({}, 3)", "np.arange(1, {} + 1)", "torch.zeros(3, {} + 1)[:, 1:].sum(1)",
]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_that_may_be_0(number: str, tmp_path: Path) -> None:
    named = NUMBERS.index(number) % 2
    uses = [use.replace("{}", "c" if named else f"({number})") for use in USES]
    lines = [f"c = {number}"] * named + [f"y{at} = {use}" for at, use in enumerate(uses)]
    program = (
        "import math\nimport numpy as np\nimport torch\n\n\ndef f(n, rows):\n    for j in range(n + 1):\n"
        "        for k, r in enumerate([1, *rows]):\n" + "".join(f"            {line}\n" for line in lines)
    )
    program += "\n\nfor n in (0, 2):\n    f(n, [1] * n)\n"
    assert wrong_claims(tmp_path / "program.py", program) == {}, program


def test_an_axis_of_a_counted_length_may_be_empty() -> None:
    source = (
        "import torch\n\n\ndef f(n):\n    for j in range(n):\n        a = torch.zeros(3, j)[:, :1]\n"
        "        b = torch.zeros(3, j + 1)[:, 1:2]\n"
    )
    assert {row.name: row.shape for row in analyse(ast.parse(source), source).bindings} == {
        "a": (3, "?"),
        "b": (3, "?"),
    }
