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
    "n ^ n", "round(n / 4) << 1", "(n % 2) ** 3", "(n % 2) ** (n + 1)", "n and 0", "n or 0", "n if n else 0", "k if n else n",
    "len(rows[:n])", "random.choice([n, 0])", "random.choice([n, round(n / 4)])", "round(n)", "-(-n // 4)", "~n + 1 + 2 * n", "min(n, 9)", "rows.count(1)",
    "n % 2 | 0", "next(iter([n]))", "max(rows, default=0)", "n * 1", "(n > 0) * n", "[0, n][n > 0]",
]  # fmt: skip
# {} stands for the number: of an axis that is longer, of the slice, of a repetition.
USES = [
    "torch.zeros(3, {} + 1)[:, 1:2]", "torch.zeros(3, {} + 2)[:, 1:3]", "torch.zeros(3, 2 * {} + 1)[:, :2]", "torch.zeros(3, 4)[:, -{}:]",
    "torch.zeros(3, 1)[:, :{}]", "torch.zeros(3, 4)[:, :{}]", "torch.zeros(3, 4)[:, {}:{} + 1]", "torch.zeros(3, 1)[:, 0:{}]",
    "torch.zeros(3, {} + 1)[:, -2:]", "torch.zeros(3, 4)[:, :-{}]", "torch.zeros(3, {} + 1).diff(dim=1)", "torch.zeros(3, {} + 1)[:, ::2]",
    "torch.tensor([0] * {})", "torch.tensor([[0, 1]] * {})", "torch.tensor([0 for _ in range({})])", "np.array([1] * {})",
    "np.array([(1, 2) for _ in range({})])", "torch.zeros({}, {})[:1].sum(0)", "torch.zeros(max({}, 1))", "torch.zeros(min({}, 1))", "torch.zeros(3, {} + 1).unfold(1, 1, 1)", "np.zeros((3, {} + 1))[:, 1:2]",
    "np.diff(np.zeros((3, {} + 1)))", "torch.arange({}, 3)", "np.arange(1, {} + 1)", "torch.zeros(3, {} + 1)[:, 1:].sum(1)",
    "torch.zeros(3).new_zeros({}, 2)[:1]", "torch.zeros(3, 4).repeat({}, 1)[:1]", "torch.linspace(0, 1, {})[:1]", "torch.arange({})[:1]",
    "torch.tensor([i for i in range({})])", "torch.as_tensor([[i] for i in range({})])", "torch.zeros({}, 2)[:1]", "torch.ones(2, {})[:, -1:]",
]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_that_may_be_0(number: str, tmp_path: Path) -> None:
    named = NUMBERS.index(number) % 2
    uses = [use.replace("{}", "c" if named else f"({number})") for use in USES]
    lines = [f"c = {number}"] * named + [f"y{at} = {use}" for at, use in enumerate(uses)]
    program = (
        "import math, random\nimport numpy as np\nimport torch\n\n\ndef f(n, rows):\n    for j in range(n + 1):\n"
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


# Loops of which some round has the number 1.
ROUNDS = [
    "for j in range(n)", "for j in range(1, n)", "for j, r in enumerate([0] * n)", "for j in range(n, 0, -1)", "for j, _ in zip(range(n), [0] * n)",
    "for j in reversed(range(n))", "for j in range(9)",
]  # fmt: skip


@pytest.mark.parametrize("loop", ROUNDS)
def test_the_number_of_a_round_may_be_1(loop: str, tmp_path: Path) -> None:
    made = [
        "torch.zeros(j, 2)",
        "torch.zeros(2, j)",
        "torch.zeros(j * j, 2)",
        "torch.zeros(j + j, 2)",
        "np.zeros((j, 2))",
    ]
    uses = [
        "{}.squeeze()",
        *(f"torch.as_tensor({{}}){use}" for use in (".squeeze(0)", ".squeeze(1)", " * torch.ones(1, 1)")),
    ]
    lines = [use.format(each) for each in made for use in uses]
    source = f"import numpy as np\nimport torch\n\n\ndef f(n):\n    {loop}:\n" + "".join(
        f"        y{at} = {line}\n" for at, line in enumerate(lines)
    )
    assert wrong_claims(tmp_path / "program.py", f"{source}\n\nf(3)\n") == {}, source


NEGATIVE = [
    "-n", "~n", "-len(rows)", "-int(n)", "-(n + 1)", "-n * 2", "-abs(n)", "-n + 1", "- -n - 4", "n * -1", "-o['n']", "-round(n / 2)",
]  # fmt: skip


@pytest.mark.parametrize("number", NEGATIVE)
@pytest.mark.parametrize("named", [False, True])
def test_a_number_that_is_negative_counts_nothing(number: str, named: bool, tmp_path: Path) -> None:
    lines = [
        "rs = []", "for i in range({}): rs.append(torch.zeros(2))", "y1 = torch.zeros(len(rs))", "y2 = torch.tensor([0] * {})",
        "y3 = torch.tensor([i for i in range({})])", "y4 = torch.zeros(len(range({})), 2)", "y5 = torch.ones(2, 4)[:{}]",
        "y6 = torch.ones(2, 4)[{}:]", "y7 = torch.tensor([[1, 2]] * {})", "y8 = torch.stack([torch.zeros(2)] + [torch.zeros(2)] * {})",
        "y9 = torch.zeros(len('a' * {}))", "ya = torch.zeros(3)\n    for i in range({}): ya = torch.ones(2)\n    yb = ya * 2",
    ]  # fmt: skip
    head = [f"c = {number}"] if named else []
    body = [*head, *(line.replace("{}", "c" if named else f"({number})") for line in lines)]
    source = "import torch\n\n\ndef f(n, rows, o):\n" + "".join(f"    {line}\n" for line in body)
    source += "\n\nfor n in (1, 3):\n    f(n, [1] * n, {'n': n})\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_what_is_known_of_numbers_that_are_no_less_than_1() -> None:
    source = (
        "import torch\n\n\ndef f(n, m, x, cfg):\n    for j in range(n):\n        a = torch.zeros(j * n, 2).squeeze(0)\n        b = torch.zeros(j, 2)\n"
        "    c = torch.zeros(3, n)[:, :1]\n    d = torch.zeros(2 * n, m)[:1]\n    e = torch.zeros(cfg.width, m)[:1]\n"
        "    f = torch.zeros(n if m else 2 * n, 3)[:1]\n    g = torch.zeros(3, 2).repeat(n, 1)[:1]\n    h = torch.zeros(3, 6)[:, :-1]\n"
        "    i = torch.tensor([0] * n)\n    k = torch.zeros(n or 2, 3)[:1]\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows == {
        "a": ("n*j", 2), "b": ("j", 2), "c": (3, 1), "d": (1, "m"), "e": (1, "m"), "f": (1, 3), "g": (1, 2), "h": (3, 5), "i": ("n",), "k": (1, 3),
    }  # fmt: skip
