"""Options of the command line that argparse makes numbers: what is computed with them keeps its shape."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

PROGRAM = """import argparse
import numpy as np
import torch

def options():
    parser = argparse.ArgumentParser()
    {added}
    return {parsed}

args = options()
x, z = torch.rand(3), np.zeros((4, 2))
y = x * args.rate
v = z + args.rate
"""
PARSED = "parser.parse_args([])"


def shapes(added: str, parsed: str = PARSED, behind: str = "", rest: str = "") -> dict[str, Any]:
    source = PROGRAM.replace("{added}", added).replace("{parsed}", parsed)
    source = source.replace("x, z =", f"{behind}\nx, z =") + rest
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


@pytest.mark.parametrize(
    ("added", "parsed"),
    [
        ("parser.add_argument('--rate', type=float, default=0.1)", PARSED),
        ("parser.add_argument('-r', '--rate', type=float, default=1)", PARSED),
        ("parser.add_argument('--rate', type=int, default='3')", PARSED),
        ("parser.add_argument('--speed', dest='rate', type=float, default=0.1)", PARSED),
        ("parser.add_argument('rate', type=float)", "parser.parse_args()"),
        ("parser.add_argument('--rate', type=float, required=True)", "parser.parse_args()"),
        ("parser.add_argument_group('training').add_argument('--rate', type=float, default=0.1)", PARSED),
        (
            "group = parser.add_mutually_exclusive_group()\n    group.add_argument('--rate', type=float, default=0.1)",
            PARSED,
        ),
        ("parser.add_argument('--rate', type=float, default=0.1)", "parser.parse_known_args()[0]"),
        ("parser.add_argument('--rate', type=float, default=0.1)\n    parser.print_help()", PARSED),
    ],
)
def test_a_number(added: str, parsed: str) -> None:
    found = shapes(added, parsed)
    assert (found["y"], found["v"]) == ((3,), (4, 2))


@pytest.mark.parametrize(
    "added",
    [
        "parser.add_argument('--rate', default=0.1)",  # a text, if one is given
        "parser.add_argument('--rate', type=float, nargs='+', default=[0.1])",
        "parser.add_argument('--rate', type=float, default=torch.rand(5, 1))",
        "parser.add_argument('--rate', type=eval, default='torch.rand(5, 1)')",
        "parser.add_argument('--rate', type=float, default=0.1)\n    parser.set_defaults(rate=torch.rand(5, 1))",
        "parser.add_argument('--rate', type=float, default=0.1)\n    parser.add_argument('--more', dest='rate', type=eval)",
        "parser.add_argument('--other', type=float, default=0.1)",
    ],
)
def test_what_may_be_something_else(added: str) -> None:
    found = shapes(added)
    assert found.get("y") is None
    assert found.get("v") is None


def test_another_value_that_is_assigned() -> None:
    found = shapes("parser.add_argument('--rate', type=float, default=0.1)", behind="args.rate = torch.rand(5, 1)")
    assert (found["y"], found.get("v")) == ((5, 3), None)


def test_one_size_wherever_it_is_read(tmp_path: Path) -> None:
    source = PROGRAM.replace("{added}", "parser.add_argument('--rate', type=int, default=3)").replace(
        "{parsed}", PARSED
    )
    source += "p = torch.zeros(args.rate, 2)\nq = torch.zeros(args.rate, 1) + p\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}
    found = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert found["p"] == found["q"] == ("args.rate", 2)
