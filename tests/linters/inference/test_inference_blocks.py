"""`np.block`: a matrix of matrices, in as many lists as it has axes."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="numpy is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = "import numpy as np\na = np.ones((2, 3))\nb = np.zeros((2, 1))\nv = np.arange(3)\nn = 4\n"
KNOWN = {
    "side by side": "[a, b]",
    "below one another": "[[a], [a]]",
    "both": "[[a, b], [a, b]]",
    "blocks of four": "[[np.eye(2), 0.5 * np.eye(2)], [np.zeros((2, 2)), np.eye(2)]]",
    "a vector as a row": "[[a, b], [v, 1]]",
    "vectors": "[[v], [v]]",
    "vectors in one list": "[v, v]",
    "numbers": "[1, 2, n]",
    "a number": "7",
    "an array alone": "a.T",
    "more axes than lists": "[np.ones((2, 3, 4)), np.ones((2, 3, 1))]",
    "three lists": "[[[np.ones((2, 2, 2))], [np.ones((2, 2, 2))]]]",
    "transposed": "[[a.T, a.T]]",
    "of types": "[[a, b.astype(complex)]]",
    "a repeated row": "[[a] * 2] * 3",
    "from a comprehension": "[[np.ones((1, 2)) for _ in range(3)] for _ in range(n)]",
    "a constrained problem": "[[np.eye(3), a.T], [a, np.zeros((2, 2))]]",
}
UNKNOWN = {
    "an unknown matrix": "[[a, given()]]",
    "an unknown number of rows": "[[a] for _ in range(int(given()[0, 0]))]",
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_matrix_of_matrices_is_known(name: str, tmp_path: Path) -> None:
    source = f"{HEAD}x = np.block({KNOWN[name]})\ny = x.T\n"
    scope: dict[str, Any] = {}
    exec(source, scope)
    (found,) = (row for row in analyse(ast.parse(source), source).bindings if row.name == "x")
    assert found.shape == scope["x"].shape
    assert found.dtype == str(scope["x"].dtype)
    assert found.contiguous in (None, scope["x"].flags["C_CONTIGUOUS"])
    assert found.contiguous or ".T" in KNOWN[name]
    assert wrong_claims(tmp_path / "block.py", source) == {}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_not_claimed(name: str, tmp_path: Path) -> None:
    source = f"{HEAD}def given():\n    return eval('np.ones((2, 2))')\nx = np.block({UNKNOWN[name]})\n"
    assert wrong_claims(tmp_path / "block.py", source) == {}
    (found,) = (row for row in analyse(ast.parse(source), source).bindings if row.name == "x")
    assert found.shape is None or None in found.shape or not all(isinstance(size, int) for size in found.shape)


@pytest.mark.parametrize("wrong", ["[[a, v]]", "[[a], b]", "(a, a)", "[]", "[[a, np.ones((3, 1))]]"])
def test_what_numpy_refuses_is_not_known(wrong: str) -> None:
    source = f"{HEAD}x = np.block({wrong})\n"
    with pytest.raises((ValueError, TypeError)):
        exec(source, {})
    assert [row.shape for row in analyse(ast.parse(source), source).bindings if row.name == "x"] in ([None], [])
