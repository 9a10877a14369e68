"""TSR101 of a vector that is transposed beside what nobody knows, `b.T @ y`: what asks for one number means one, and a term of
an optimisation problem is one. A conjugate or a copy of the transpose stands in a product like the transpose."""

from __future__ import annotations

import pytest
from rule_programs import findings, run

HEAD = "import numpy as np\n\nb = np.array([1.0, 2.0, 3.0])\n\n\ndef f(y, rows=()):\n"
PRODUCTS = ["b.T @ y", "y @ b.T", "np.dot(b.T, y)", "b.T.dot(y)", "-b.T @ y", "0.5 * b.T @ y"]
NUMBERS = {
    "asserted": "assert {} < 9",
    "asserted with words": "assert not {} > 99, y",
    "in a branch": "if {} > 0:\n        return 1",
    "one of two conditions": "if rows and {} < 1e-3:\n        return 1",
    "its absolute value": "while abs({}) > 99:\n        y = y / 2",
    "of a sum": "if ({}) - 1 < 2 * 3:\n        return 1",
    "a choice": "k = 1 if {} > 0 else 2",
    "those that fulfil it": "kept = [y for y in rows if {} > 0]",
    "two bounds": "assert -99 < {} < 99",
    "an element": "out = np.zeros((2, 2))\n    out[0, 1] = {}",
    "a name of numbers": "loss = {}",
    "an annotation": "r: float = {}",
    "with its places": "print(f'{{{}:.2f}}')",
}
OTHERS = {
    "kept": "q = {}",
    "given back": "return {}",
    "compared": "small = {} < 9",
    "all of it": "assert np.all({} < 9)",
    "any of it": "if ({} > 99).any():\n        return 1",
    "beside a condition": "k = {} if rows else 2",
    "a row of a matrix": "out = np.zeros((2, 2))\n    out[0] = {}",
}


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_meant(name: str, product: str) -> None:
    code = HEAD + f"    {NUMBERS[name].format(product)}\n\n\nf(np.ones(3), [np.ones(3)])\n"
    run(code, "numpy")
    assert findings(code.partition("\n\n\nf(")[0] + "\n") == []


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("name", OTHERS)
def test_else_the_transpose_is_told(name: str, product: str) -> None:
    (found,) = findings(HEAD + f"    {OTHERS[name].format(product)}\n")
    assert found.code == "TSR101"
    assert ("which gives the same" in found.message) is (product != "y @ b.T")  # of which a row may be meant


LIBRARIES = ["import cvxpy as cp", "from cvxpy import Minimize, Variable", "import gurobipy as gp", "import casadi"]
TERMS = {
    "an objective": "    problem = cp.Problem(cp.Minimize((1 / 2) * cp.quad_form(y, A) + q.T @ y), [G @ y <= h])",
    "a constraint": "    constraints = [q.T @ y + np.linalg.norm(q) * r <= 3]",
    "a square": "    objective = cp.Minimize(cp.square(q.T @ y))",
    "kept": "    term = -q.T @ y",
    "the other side": "    term = y @ q.T",
}
MADE = "\n\ndef solve(cp, y, G, h, r):\n    A, q = np.eye(5), np.random.randn(5)\n"


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", TERMS)
def test_a_term_of_a_problem_is_left_alone(name: str, library: str) -> None:
    code = f"import numpy as np\n{{}}\n{MADE}{TERMS[name]}\n"
    assert findings(code.format(library)) == []
    assert len(findings(code.format("import optimal as cp"))) == 1


@pytest.mark.parametrize(
    "line", ["c = q.T", "c = q.T @ A", "c = A @ q.T", "c = np.outer(q.T, q)[0].T", "S = A - q @ q.T"]
)
def test_arrays_are_told_beside_a_problem_too(line: str) -> None:
    code = f"import numpy as np\nimport cvxpy as cp\n{MADE}    {line}\n"
    assert {found.code for found in findings(code)} <= {"TSR101", "TSR102"}
    assert findings(code)


SAME = [
    "b.T.conj()",
    "b.conj().T",
    "np.conj(b.T)",
    "b.T.copy()",
    "b.T.astype(complex)",
    "b.T.conj().copy()",
    "np.conjugate(b.T)",
]


@pytest.mark.parametrize("turned", SAME)
def test_a_conjugate_of_the_transpose_is_one(turned: str) -> None:
    head = "import numpy as np\n\na, b, K = np.ones(3), np.ones(3) * 1j, np.zeros((3, 3), dtype=complex)\n"
    for product in (f"np.dot(a, {turned})", f"a @ {turned}", f"{turned} @ a"):
        code = f"{head}for i in range(3):\n    for j in range(3):\n        K[i, j] = {product}\n"
        run(code, "numpy")
        assert findings(code) == []
        form = f"{head}M = np.eye(3)\nr = {turned} @ M @ b\n"
        run(form, "numpy")
        assert findings(form) == []
    assert len(findings(f"{head}c = {turned}\n")) == 1
