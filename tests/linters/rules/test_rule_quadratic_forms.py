"""The transpose of a vector in `w.T @ cov @ w` changes nothing, and the number is right; in other products it is not."""

from __future__ import annotations

import pytest
from rule_programs import findings, run

NUMPY = "import numpy as np\nimport scipy.linalg\nfrom scipy.linalg import cho_solve\n\nw, u, A = np.random.rand(4), np.random.rand(4), np.random.rand(4, 4)\n"
TORCH = "import torch\n\nw, u, A = torch.rand(4), torch.rand(4), torch.rand(4, 4)\n"

FORMS = [
    "w.T @ A @ w",
    "w.T @ A @ u",
    "w.T @ (A @ w)",
    "w.T @ A @ A @ u",
    "-0.5 * w.T @ A @ w",
    "X.matmul(w.T, X.matmul(A, w))",
    "X.matmul(X.matmul(w.T, A), w)",
]
NUMPY_FORMS = ["np.dot(w.T, np.dot(A, w))", "w.T.dot(A).dot(w)", "np.transpose(w) @ A @ w", "w.transpose() @ A @ u"]
NUMPY_SOLVED = [
    "w.dot(np.linalg.solve(A, w.T))",
    "np.linalg.solve(A, w).T @ A @ u",
    "np.dot(w.T, np.linalg.solve(A, u))",
    "w @ scipy.linalg.solve(A, u.T)",
    "w.T @ scipy.linalg.solve(A, u)",
    "w.T @ cho_solve((A, True), u)",
    "w @ cho_solve((A, True), u.T)",
    "w.T @ A @ scipy.linalg.solve_triangular(A, w)",
    "w @ np.linalg.inv(A) @ w.T",
    "w.T.dot(np.linalg.pinv(A)).dot(w)",
]
SOLVED = ["w.T @ X.linalg.solve(A, w)", "w @ X.linalg.solve(A, w.T)", "0.5 * w.T @ A @ X.linalg.solve(A, u)"]
TORCH_FORMS = ["w.t() @ A @ w", "w.t().matmul(A).matmul(w)", "torch.dot(w.T, torch.mv(A, w))"]
ROWS = ["w @ A @ w.T", "-0.5 * w @ A @ u.T", "w @ (A @ w.T)"]


def codes(code: str) -> list[str]:
    return [found.code for found in findings(code)]


def program(form: str, library: str, before: str = "") -> str:
    return f"{NUMPY if library == 'np' else TORCH}{before}y = {form.replace('X.', library + '.')}\n"


CASES = [
    *((form, library) for form in SOLVED for library in ("np", "torch")),
    *((form, "np") for form in NUMPY_SOLVED),
    *((form, library) for form in [*FORMS, *ROWS] for library in ("np", "torch")),
    *((form, "np") for form in NUMPY_FORMS),
    *((form, "torch") for form in TORCH_FORMS),
]


@pytest.mark.parametrize(("form", "library"), CASES)
@pytest.mark.filterwarnings("ignore")
def test_a_quadratic_form_is_left_alone(form: str, library: str) -> None:
    code = program(form, library)
    scope = run(code, "torch", "scipy")
    assert scope["y"].ndim == 0
    if not form.startswith("torch.dot") and "solve(" not in form and "inv(" not in form:
        # What the vectors are as rows or columns, the number is theirs.
        shape = "w[None, :], u[None, :]" if form in ROWS else "w[:, None], u[:, None]"
        meant = eval(form.replace("X.", f"{library}."), {**scope, **dict(zip("wu", eval(shape, scope), strict=True))})
        assert meant.shape == (1, 1)
        assert abs(float(meant[0, 0] - scope["y"])) < 1e-5
    assert codes(code) == []


@pytest.mark.parametrize("form", ["w.T @ A @ w", "np.dot(w.T, np.dot(A, w))", "w.T.dot(A).dot(w)", "w @ A @ w.T"])
def test_whatever_the_matrix_is(form: str) -> None:
    code = f"import numpy as np\n\n\ndef variance(A):\n    w = np.full(4, 0.25)\n    return {form}\n"
    assert codes(code) == []


@pytest.mark.parametrize("solve", ["np.linalg.solve(A, w.T)", "cho_solve((A, True), w.T)"])
def test_a_solution_in_a_line_of_its_own(solve: str) -> None:
    assert codes(NUMPY + f"alpha = {solve}\nfit = w @ alpha\n") == []
    assert codes(NUMPY + f"alpha = {solve}\n") == ["TSR101"]
    assert codes(NUMPY + f"alpha = {solve}\nouter = alpha @ w.T\n") == ["TSR101", "TSR101"]


def test_whatever_is_solved() -> None:
    code = "import numpy as np\n\n\ndef form(S):\n    mu = np.full(4, 0.25)\n    return mu.T @ np.linalg.solve(S, mu)\n"
    assert codes(code) == []


def test_in_two_lines() -> None:
    assert codes(NUMPY + "marginal = w.T @ A\nvariance = marginal @ w\n") == []


NAMED = [
    "t = w.T\ny = t @ A @ w",
    "t = w.T\ny = np.dot(t, np.dot(A, w))",
    "t = w.T\ny = w @ A @ t",
    "t = w.T\ny = w @ np.linalg.solve(A, t)",
    "t = w.conj().T if np.iscomplexobj(A) else w.T\ny = t @ A @ w",
    "t = np.transpose(w)\ny = -0.5 * t @ A @ w",
    "t = w.T\ny = t @ A @ w + t @ A.T @ u",
    "def form(A, w):\n    t = w.T\n    return t @ (A @ w)\n\n\ny = form(A, w)",
    "for _ in range(3):\n    w = A @ w\n    t = w.T\n    y = t @ A @ w / 2",
]


@pytest.mark.parametrize("body", NAMED)
def test_by_a_name_of_the_transpose(body: str) -> None:
    code = NUMPY + body + "\n"
    assert run(code, "torch", "scipy")["y"].ndim == 0
    assert codes(code) == []


@pytest.mark.parametrize(
    "body",
    [
        "t = w.T\ny = t @ A @ w\nz = t + 1",
        "t = w.T\ny = t @ A @ w\nprint(t.shape)",
        "t = w.T\ny = t @ A",
        "t = w.T\ny = A @ t",
        "t = w.T\ny = (A @ w) @ (t @ A)",
        "t = w.T\ny = w @ A @ t\nz = A @ t",
        "t = [w.T]\ny = t[0] @ A @ w",
        "t = w.T",
        "def form(A, w):\n    t = w.T\n    return t @ A @ w, t\n\n\ny = form(A, w)",
    ],
)
def test_whose_other_uses_it_may_harm(body: str) -> None:
    code = NUMPY + body + "\n"
    run(code, "torch", "scipy")
    assert codes(code) == ["TSR101"]


def test_both_ends_by_one_name() -> None:
    assert codes(NUMPY + "t = w.T\ny = t @ A @ t\n") == ["TSR101"]


@pytest.mark.parametrize(("form", "row"), [("w @ A @ t", "w[None, :]"), ("t @ A @ w", "w[:, None]")])
def test_a_number_where_a_matrix_is_wanted_by_a_name(form: str, row: str) -> None:
    code = NUMPY.replace("rand(4, 4)", "rand(4, 4) * 0 + np.eye(4)") + f"t = w.T\nS = {form}\ny = np.linalg.inv(S)\n"
    with pytest.raises(Exception, match="0-dimensional"):
        run(code, "torch", "scipy")
    found = findings(code)
    assert [each.code for each in found] == ["TSR101"]
    assert f"{form} is a single number where a matrix is wanted — write {row} for each w in it" in found[0].message


@pytest.mark.parametrize(
    "form",
    [
        "A @ w @ w.T",
        "np.dot(np.dot(A, w), w.T)",
        "(A @ w) @ (u.T @ A)",
        "u @ (w.T @ A)",
        "w.T @ A",
        "A @ w.T",
        "w @ u.T",
        "w.T @ u",
    ],
)
def test_another_product_is_not(form: str) -> None:
    code = program(form, "np")
    run(code, "torch", "scipy")
    assert codes(code) == ["TSR101"]


def test_nor_one_with_both_transposed() -> None:
    assert codes(program("w.T @ A @ w.T", "np")) == ["TSR101", "TSR101"]


def test_a_kalman_gain_is_found_beside_its_innovation() -> None:
    code = NUMPY + "S = w @ A @ w.T + 1.0\nK = A @ w.T / S\n"
    run(code, "torch", "scipy")
    assert codes(code) == ["TSR101"]


@pytest.mark.parametrize("use", ["np.linalg.inv(S)", "np.linalg.det(S - 1)", "np.linalg.cholesky(2 * S)"])
@pytest.mark.parametrize(("form", "row"), [("w @ A @ w.T", "w[None, :]"), ("w.T @ A @ w", "w[:, None]")])
def test_a_number_where_a_matrix_is_wanted_is_not_right(use: str, form: str, row: str) -> None:
    code = NUMPY.replace("rand(4, 4)", "rand(4, 4) * 0 + np.eye(4)") + f"S = {form} + 1.0\ny = {use}\n"
    with pytest.raises(Exception, match="0-dimensional"):
        run(code, "torch", "scipy")
    (found,) = findings(code)
    assert found.code == "TSR101"
    assert f"{form} is a single number where a matrix is wanted — write {row} for each w in it" in found.message
    mended = code.replace(form, form.replace("w", row))
    run(mended, "torch", "scipy")
    assert findings(mended) == []
