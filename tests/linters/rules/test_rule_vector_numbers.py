"""`np.sqrt(x.T @ x)` of a vector is a number, and right where one is meant; where a matrix was meant it is reported."""

from __future__ import annotations

import contextlib
import re

import pytest
from rule_programs import findings, run

HEAD = """import math
import numpy as np

n, tol = 5, 1e-3
x, y, w, A = np.random.rand(5), np.random.rand(5), np.random.rand(5), np.random.rand(5, 5)
X, out, K = np.random.rand(20, 5), np.zeros(5), np.zeros((5, 5))
"""

# Right with columns of shape (n, 1) too, where the first is transposed, or with rows, where the last one is.
EITHER = {
    "a root": "length = np.sqrt({p})",
    "a root of the mean": "r = np.sqrt({p} / n)",
    "a power of a half": "r = ({p}) ** 0.5",
    "math": "r = math.sqrt({p})",
    "math through a name": "s = {p}\nr = math.sqrt(2 * s)",
    "float": "r = float({p})",
    "round": "r = round({p}, 3)",
    "item": "r = ({p}).item()",
    "a condition": "if {p} > tol:\n    pass",
    "a comparison": "close = {p} < tol",
    "a divisor": "u = x / ({p})",
    "a projection": "u = (x @ y) / ({p}) * y",
    "a divisor through a name": "s = {p}\nu = x / s",
    "a ratio": "r = ({p}) / (x.T @ w)\nprint(1 / r)",
    "a cosine": "def cosine(x, y):\n    return ({p}) / (np.linalg.norm(x) * np.linalg.norm(y))\n\n\nr = cosine(x, y)",
    "an element": "for i in range(5):\n    out[i] = {p}",
    "an element of a matrix": "for i in range(5):\n    K[i, i - 1] = {p}",
    "an element with an offset": "K[0, -1] += {p}",
    "a format": 'text = f"{{{p}:.3f}}"',
    "a norm": "def squared_norm(x, y):\n    return {p}\n\n\nr = squared_norm(x, y)",
    "a result that is a float": "def f(x, y) -> float:\n    return {p} / 2\n\n\nr = f(x, y)",
    "an element that a function's result is": "def kernel(x, y):\n    return {p}\n\n\nfor i in range(5):\n    K[i, 0] = kernel(x, y)",
    "a loss that a function's result is": "def between(x, y):\n    return {p}\n\n\nloss = 2 * between(x, y)",
    "a discrepancy": "def mmd_linear(x, y):\n    return {p}\n\n\nr = mmd_linear(x, y)",
    "a loss": "loss = {p} / n",
    "a field": "class Fit:\n    pass\n\n\nfit = Fit()\nfit.rss = {p}",
    "a portfolio's return": "expected_return = {p}",
    "its variance": "def portfolio_variance(x, y):\n    return {p}\n\n\nr = portfolio_variance(x, y)",
    "a number added": "r = 1 + {p}",
    "a size added": "r = ({p}) + len(x)",
}
PRODUCTS = {"x.T @ y": True, "np.dot(x.T, x)": True, "x.T.dot(y)": True, "x @ y.T": False, "np.dot(x, x.T)": False}
FIRST = {
    "an exponential": "r = np.exp(-({p}) / 2)",
    "a projector": "P = np.eye(5) - 2 * np.outer(x, x) / ({p})",
    "a share": "def f(a, b):\n    return {p} / np.dot(w.T, w)\n\n\nr = f(x, y)",
    "a square": "r = ({p}) ** 2",
}
# By what they come from, the first of the two is a column, or the last a row.
COSINES = ["x @ y.T / (np.linalg.norm(x) * np.linalg.norm(y))", "np.dot(x, np.transpose(y)) / np.linalg.norm(y) / 2"]
COLUMNS = {
    "residuals": "e = X @ w - y0\ncost = e.T @ e",
    "residuals, a name": "e = y0 - np.dot(X, w)\ns = e.T @ e / len(e)",
    "written out": "s = (X @ w - y0).T @ (X @ w - y0)",
    "a method": "p = X.dot(w)\ne = p - y0\ns = e.T.dot(e)",
    "a vector and a gradient": "g = X.T @ (X @ w - y0)\nslope = g.T @ w",
    "scaled": "e = (X @ w - y0) / 2\ns = 0.5 * e.T @ e",
    "queries and keys": "q, k = x @ A, y @ A\ns = q @ k.T",
    "a column turned": "s = (A @ x).T @ y",
}
# What a matrix is multiplied by is a column, wherever else it stands.
FACTORS = {
    "of the same": "q = A @ x\nr = x.T @ x",
    "np.dot": "q = np.dot(X, x)\nr = np.dot(x.T, x)",
    "methods": "q = A.dot(x)\nr = x.T.dot(x)",
    "behind it": "r = np.dot(np.transpose(x), x)\nq = A @ x",
    "of both": "q = A @ x + A @ y\nr = x.T @ y",
    "the normal equations": "P, q = X.T @ X, -2 * np.dot(X.T, y0)\nr = np.dot(y0.T, y0)",
    "in a function": "def terms(A, x):\n    return A.T @ A, A.T @ x, x.T @ x\n\n\nP, q, r = terms(A, x)",
    "scaled": "q = A @ x\nr = 0.5 * x.T @ x",
}
NO_FACTORS = {
    "the last is transposed": "q = A @ x\nS = x @ x.T",
    "a matrix beside it": "q = A @ x\nS = np.eye(5) - x.T @ x",
    "from the left too": "q, p = A @ x, x @ A\nS = x.T @ x",
    "one of two": "q = A @ x\nS = x.T @ y",
    "another vector of that name": "x = y0\nq = X.T @ x\nx = y\nS = x.T @ x",
    "summed up": "S, q = np.zeros((5, 5)), A @ x\nfor _ in X:\n    S += x.T @ x",
    "summed up by name": "S, q = 0, A @ x\nfor _ in X:\n    S = S + x.T @ x",
}
ASSERTIONS = [
    "assertAlmostEqual({p}, 1.5)",
    "assertEqual(1.5, {p})",
    "assertGreater({p}, 0)",
    "assertLessEqual(0, 2 * {p})",
]
MATRICES = {
    "a Householder reflection": "H = np.eye(5) - 2 * {p}",
    "a sum of squares": "S = 0\nfor row in X:\n    S = S + {r}",
    "a sum in place": "S = 0.0\nfor row in X:\n    S += {r}",
    "a covariance": "S = np.zeros((5, 5))\nfor row in X:\n    S += {r}",
    "a correlation": "d = X.std(axis=0)\nC = np.cov(X.T) / ({p})",
    "covariances": "out = np.zeros((5, 5, 5))\nfor i in range(5):\n    out[i] = {p}",
    "inverted": "S = np.linalg.inv({p})",
    "by itself": "S = {p}",
    "a name": "loss_matrix = {p}",
    "a matrix that a function's result is": "def outer(x, y):\n    return {p}\n\n\nM = outer(x, y)",
    "a row that a function's result is": "def outer(x, y):\n    return {p}\n\n\nK[2] = outer(x, y)",
    "a covariance's function": "def distance_covariance(x, y):\n    return {p}\n\n\nS = distance_covariance(x, y)",
}


def program(body: str, product: str = "") -> str:
    row = product.replace("y", "row").replace("x", "row")
    return f"{HEAD}y0 = np.random.rand(20)\n{body.replace('{p}', product).replace('{r}', row).replace('{{', '{').replace('}}', '}')}\n"


@pytest.mark.parametrize("name", EITHER)
@pytest.mark.parametrize("product", PRODUCTS)
def test_a_number_that_is_meant_is_left_alone(name: str, product: str) -> None:
    code = program(EITHER[name], product)
    run(code, "numpy")
    assert findings(code) == []


@pytest.mark.parametrize("name", FIRST)
@pytest.mark.parametrize("product", PRODUCTS)
def test_where_it_hardly_can_be_else_the_transpose_decides(name: str, product: str) -> None:
    code = program(FIRST[name], product)
    run(code, "numpy")
    assert bool(findings(code)) is not PRODUCTS[product]


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_transposed_times_a_column(name: str) -> None:
    code = program(COLUMNS[name])
    run(code, "numpy")
    assert findings(code) == []


@pytest.mark.parametrize("name", FACTORS)
def test_what_a_matrix_is_multiplied_by_is_a_column(name: str) -> None:
    assert findings(program(FACTORS[name])) == []
    # Columns give the same number, as a matrix of one element.
    columns = "x, y, y0 = x[:, None], y[:, None], y0[:, None]\n"
    seeded = HEAD.replace("\nn, tol", "\nnp.random.seed(0)\nn, tol", 1)
    plain = seeded + "y0 = np.random.rand(20)\n"
    matrix, vector = (run(f"{plain}{each}{FACTORS[name]}\n", "numpy")["r"] for each in (columns, ""))
    assert matrix.shape == (1, 1)
    assert matrix.item() == pytest.approx(vector)


@pytest.mark.parametrize("name", NO_FACTORS)
def test_but_for_what_speaks_against_it(name: str) -> None:
    code = program(NO_FACTORS[name])
    assert run(code, "numpy")["S"] is not None
    assert len(findings(code)) == 1


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("assertion", ASSERTIONS)
def test_a_test_case_compares_numbers(assertion: str, product: str) -> None:
    test = (
        "import unittest\n\n\nclass Test(unittest.TestCase):\n    def runTest(self):\n        self.{}\n\n\nTest().run()"
    )
    code = program(test.format(assertion), product)
    run(code, "numpy")
    assert findings(code) == []
    assert len(findings(code.replace("self.assert", "self.keep"))) == 1


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("product", PRODUCTS)
def test_where_a_matrix_may_be_meant_it_is_reported(name: str, product: str) -> None:
    code = program(MATRICES[name], product)
    if name != "inverted":
        run(code, "numpy")
    (found,) = findings(code)
    assert found.code in ("TSR101", "TSR102")


TAKEN = [
    "np.dot(v.T, X[i])",
    "v.T @ X[i]",
    "np.exp(v.T.dot(X[i]))",
    "X[i] @ v.T",
    "X[i, :] @ np.transpose(v)",
    "Z[:, i].dot(v.T)",
    "v.T @ row",
]


@pytest.mark.parametrize("product", TAKEN)
def test_a_vector_times_a_row_of_a_matrix(product: str) -> None:
    code = f"def z(X, v):\n    Z = X.T\n    for i in range(20):\n        row = X[i]\n        u = {product}\n    return u\n\n\nr = z(X, "
    assert run(program(f"{code}w)"), "numpy")["r"].ndim == 0
    assert findings(program(f"{code}w)")) == []
    assert findings(program(f"{code}A[:, 1])")) == []  # to the function a parameter is any vector
    # Whatever else the vector may be, it gives one number or nothing.
    ends = []
    for other in ("w[:, None]", "w[None, :]"):
        with contextlib.suppress(ValueError):
            ends.append(run(program(f"{code}{other})"), "numpy")["r"].shape)
    assert ends == [(1,)]


@pytest.mark.parametrize(
    "body",
    [
        "i = 3\nu = X[i].T @ w",
        "i = 3\nu = X[i] @ X[2].T",
        "u = w[1:4].T @ x[1:4]",
        "i = 3\nS = np.eye(5) + w.T @ X[i]",
        "S = 0\nfor i in range(20):\n    S += w.T @ X[i]",
    ],
)
def test_but_not_the_row_itself_nor_what_is_added_up(body: str) -> None:
    code = program(body)
    run(code, "numpy")
    (found,) = findings(code)
    assert found.code in ("TSR101", "TSR102")


MEANS = {
    "rows": "def f(X, Z):\n    d = X.mean(0) - Z.mean(0)\n    return d.dot(d.T)",
    "rows at once": "def f(X, Z):\n    return (X.mean(axis=0) - 1) @ (X.mean(axis=0) - 1).T",
    "rows, scaled": "def f(X, Z):\n    d = np.mean(X, 0) - np.median(Z, axis=0)\n    return 0.5 * (d @ d.T)",
    "columns": "def f(X, Z):\n    s = np.sum(X, axis=1)\n    return s.T @ s",
    "columns from the end": "def f(X, Z):\n    s = X.std(-1) / 2\n    return np.dot(s.T, s) - 1",
}
MEANS_AS_MATRICES = {
    "rows": "def f(X, Z):\n    d = X.mean(0) - Z.mean(0)\n    return d.T.dot(d)",
    "columns": "def f(X, Z):\n    s = np.sum(X, axis=1)\n    return s @ s.T",
    "a row and a column": "def f(X, Z):\n    d = X.mean(0) - (X.T @ np.ones(20)) / 20\n    return d.dot(d.T)",
    "of a vector": "def f(X, Z):\n    d = X[0] - X[0].mean(0)\n    return d.dot(d.T)",
    "kept": "def f(X, Z):\n    d = X.mean(0) - Z.mean(0)\n    between = d.dot(d.T)\n    return between",
    "added up": "def f(X, Z):\n    S = 0\n    for Y in (X, Z):\n        d = Y.mean(0) - 1\n        S += d.dot(d.T)\n    return S",
    "beside a matrix": "def f(X, Z):\n    d = X.mean(0)\n    return X.T @ X / 20 - d.dot(d.T)",
}


@pytest.mark.parametrize("name", MEANS)
def test_a_row_of_means_times_its_transpose_that_is_given_back(name: str) -> None:
    code = program(f"Z = X[:7]\n{MEANS[name]}\n\n\nr = f(X, Z)")
    scope = run(code, "numpy")
    assert scope["r"].ndim == 0
    # As rows and columns of two axes it is one number, too.
    kept = re.sub(r"(mean|median|sum|std)\(([^()]*)\)", r"\1(\2, keepdims=True)", MEANS[name])
    assert kept != MEANS[name]
    both = run(program(f"Z = X[:7]\n{kept}\n\n\nr = f(X, Z)"), "numpy")
    assert both["r"].shape == (1, 1)
    assert findings(code) == []


@pytest.mark.parametrize("name", MEANS_AS_MATRICES)
def test_but_not_where_a_matrix_may_be_meant(name: str) -> None:
    code = program(f"Z = X[:7]\n{MEANS_AS_MATRICES[name]}\n\n\nr = f(X, Z)")
    run(code, "numpy")
    (found,) = findings(code)
    assert found.code == "TSR102"
    assert ".T of a rank-1 array does nothing" in found.message


@pytest.mark.parametrize(
    "body", ["e = X @ w - y0\nS = e @ e.T", "e = X @ w - y0\nS = np.eye(20) - e.T @ e", "S = (x @ A).T @ y"]
)
def test_nor_what_the_products_speak_against(body: str) -> None:
    code = program(body)
    run(code, "numpy")
    assert len(findings(code)) == 1


def test_a_cosine() -> None:
    both, one = (program(f"r = {each}") for each in COSINES)
    assert findings(both) == []
    assert len(findings(one)) == 1
    assert len(findings(program("P = np.dot(x, x.T) / (np.linalg.norm(x) * np.linalg.norm(x))"))) == 1


def test_an_elementwise_product_is_no_number() -> None:
    (found,) = findings(program("loss = x * x.T"))
    assert found.code == "TSR102"
    advice = "np.outer(x, x) for the outer product, x @ x for the inner one, x * x for the elementwise one"
    assert found.message.endswith(f"— {advice}")
    scope = run(program("loss = x * x.T"), "numpy")
    assert (eval("x * x", scope) == scope["loss"]).all()


@pytest.mark.parametrize(
    ("product", "spelling"),
    [("x.T @ x", ".T"), ("x @ x.transpose()", ".transpose()"), ("np.transpose(x) @ x", "np.transpose")],
)
def test_the_transpose_is_named_as_it_is_spelled(product: str, spelling: str) -> None:
    (found,) = findings(program("for _ in range(2):\n    S = {p}", product))
    assert f"is a single number: {spelling}" in found.message


def test_torch() -> None:
    pytest.importorskip("torch", reason="the programs are run")
    head = "import torch\n\nx, A = torch.rand(5), torch.rand(5, 5)\n"
    for body in (
        "n = torch.sqrt(x.T @ x)",
        "n = (x @ x.T).sqrt()",
        "n = (x @ x.t()).item()",
        "u = x / torch.dot(x.t(), x)",
    ):
        assert findings(f"{head}{body}\n") == []
    assert len(findings(f"{head}S = A + x @ x.T\n")) == 1


@pytest.mark.parametrize(("product", "said"), [
    ("x.T @ x", "x @ x for the inner product, np.outer(x, x) for the outer one"),
    ("x @ x.T", "np.outer(x, x) for the outer product, x @ x for the inner one"),
])  # fmt: skip
def test_the_likelier_advice_comes_first(product: str, said: str) -> None:
    (found,) = findings(program("S = {p}", product))
    assert found.message.endswith(f"— {said}")


@pytest.mark.parametrize("body", ["S = A + 2 * (x.T @ x)", "S = A.copy()\nS += x.T @ x", "S = A - x.T @ x / (y @ y)"])
def test_beside_a_matrix_the_matrix_does(body: str) -> None:
    (found,) = findings(program(body))
    assert found.message.endswith("— np.outer(x, x) for the outer product, x @ x for the inner one")


def test_of_two_vectors_too() -> None:
    (found,) = findings(program("S = A + x.T @ y"))
    assert found.message.endswith("— write np.outer(x, y) for the matrix, x @ y for the number")


BESIDE_IDENTITY = {
    "P = np.eye(5) - x @ y": "x @ y is a single number, which is taken from each element of np.eye(5); x has shape (5,)",
    "P = np.eye(5) + np.dot(x, y)": "np.dot(x, y) is a single number, which is added to each element of np.eye(5)",
    "P = x.dot(y) - np.identity(5)": "x.dot(y) is a single number, of which each element of np.identity(5) is taken",
    "P = np.eye(5) - np.inner(x, y) / 2": "np.inner(x, y) is a single number, which is taken from each element of",
    "s, I = x @ y, np.eye(n)\nP = I - s": "x @ y is a single number, which is taken from each element of I;",
    "P = tol * np.eye(5) - x @ y": "x @ y is a single number, which is taken from each element of tol * np.eye(5)",
    "P = np.eye(5)\nP = P - x @ y": "x @ y is a single number, which is taken from each element of P;",
}


@pytest.mark.parametrize("code", BESIDE_IDENTITY)
def test_vectors_whose_product_meets_the_identity(code: str) -> None:
    (found,) = findings(HEAD + code)
    assert found.code == "TSR102"
    assert BESIDE_IDENTITY[code] in found.message
    assert found.message.endswith("— np.outer(x, y) for the matrix")
    scope = run(HEAD + code, "numpy")
    beside = scope["P"][~scope["np"].eye(5, dtype=bool)]
    assert (abs(beside - beside[0]) < 1e-9).all()  # one number, off the diagonal


@pytest.mark.parametrize(
    "code",
    [
        "P = np.eye(5) - np.outer(x, y)",
        "P = np.eye(5) - x[:, None] @ y[None, :]",
        "P = np.eye(5) * (x @ y)",
        "P = (x @ y) * np.eye(5) - A",
        "P = np.eye(5) / (x @ y) - np.outer(x, y)",
        "P = np.eye(1) - x @ y",
        "P = A - x @ y",  # which may be meant: each element less a number
        "P = np.ones((5, 5)) - x @ y",
        "P = np.eye(5) - A @ A",
        "P = np.eye(5)[0] - x @ y",
        "P = np.eye(5)\nP[0, 1:] = 3\nP = P - x @ y",  # no identity any more
        "P = np.eye(5)\nnp.fill_diagonal(P, 3)\nP = P - x @ y",
        "P = np.eye(5)\nP *= A\nP = P - x @ y",
        "P = 1 - x @ y",
    ],
)
def test_what_meets_the_identity_or_a_number_rightly(code: str) -> None:
    run(HEAD + code, "numpy")
    assert findings(HEAD + code) == []
