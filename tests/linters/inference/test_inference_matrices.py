"""What has two axes in a file that has matrices, numpy's or sparse ones: it may be one of them, which keeps both axes where an
array loses one, and multiplies as a matrix does."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the tracer asks for it")
pytest.importorskip("scipy", reason="it makes sparse matrices")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

# How the file speaks of matrices, and what makes one.
MATRICES = [
    ("", "np.matrix({})"),
    ("", "np.asmatrix({})"),
    ("", "np.bmat([[{}]])"),
    ("from numpy import matrix", "matrix({})"),
    ("from numpy import (\n    array,\n    asmatrix,\n)", "asmatrix({})"),
    ("from numpy import *", "matrix({})"),
    ("from scipy import sparse", "sparse.csr_matrix({}).todense()"),
    ("from scipy.sparse import csr_matrix", "csr_matrix({})"),
    ("from scipy.sparse import coo_matrix", "coo_matrix({}).tocsr()"),
    ("from scipy import sparse", "sparse.csc_matrix({})"),
]
# What a matrix does differently, with the shape (4, 3).
USES = [
    "Y[0]", "Y[:, 0]", "Y[-1] - np.zeros(d)", "np.zeros(d) - Y[1]", "Y.sum(axis=0)", "Y.mean(1)", "np.sum(Y, 1)", "np.mean(Y, axis=0)",
    "Y.max(axis=0)", "np.exp(Y)[0]", "np.abs(Y)[:, 0]", "np.ones_like(Y)[0]", "Y @ np.zeros(d)", "np.zeros(n) @ Y",
    "np.dot(Y, np.zeros(d))", "Y * np.zeros((d, 2))", "Y.T * np.zeros((n, 2))", "(Y + Y)[0]", "Y[Y[:, 0].argmax()]", "(2 * Y)[0]",
    "np.sqrt(Y)[0] + np.zeros(d)", "Y.T[0]", "Y.copy()[0]", "np.add(Y, Y)[0]", "np.square(Y[0] - np.zeros(d))",
]  # fmt: skip
# How it is learnt that there are two axes.
LEARNT = ["n, d = Y.shape", "n, d = np.shape(Y)", "assert Y.ndim == 2\n    n, d = Y.shape[0], Y.shape[1]"]


def _program(imported: str, made: str, learnt: str) -> str:
    lines = "".join(
        f"    try:\n        r{at} = {use}\n    except Exception:\n        pass\n" for at, use in enumerate(USES)
    )
    return f"{imported}\nimport numpy as np\n\n\ndef use(Y):\n    {learnt}\n{lines}\n\nuse({made.format('np.ones((4, 3))')})\n"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("learnt", LEARNT)
@pytest.mark.parametrize(("imported", "made"), MATRICES)
def test_a_matrix_keeps_its_axes(imported: str, made: str, learnt: str, tmp_path: Path) -> None:
    assert wrong_claims(tmp_path / "program.py", _program(imported, made, learnt)) == {}


AFTER = """
import numpy as np

def use(Y, Z):
    n, d = Y.shape
    b, t, c = Z.shape
    a = np.asarray(Y)
    m, k = a.shape
    zeros = np.zeros((n, d))
    row = zeros[0]
    inner = a @ np.zeros(k)
    each = Z @ np.zeros(c)
    summed = np.zeros((n, 3)).sum(1)
"""
STAY = {"zeros": ("n", "d"), "row": ("d",), "summed": ("n",), "each": ("b", "t")}


def _shapes(source: str) -> dict[str, tuple[str, ...] | None]:
    rows = analyse(ast.parse(source), source).bindings
    return {row.name: None if row.shape is None else tuple(map(str, row.shape)) for row in rows}


@pytest.mark.parametrize("said", ["", "import scipy.sparse\nscipy.sparse.csr_matrix((2, 2))", "np.matrix([[1]])"])
def test_arrays_of_such_a_file_stay_known(said: str) -> None:
    """What is made as an array is one, and so is what has three axes."""
    shapes = _shapes(f"import numpy as np\n{said}\n{AFTER}")
    assert {name: shapes[name] for name in STAY} == STAY
    assert shapes["inner"] == (("m",) if said else ("n",))


@pytest.mark.parametrize("said", [
    "# the matrix of all pairs", "self_matrix = 3", "def matrix(a): ...", "from numpy import array  # a matrix", "text = 'mat'",
    "from numpy import (array, zeros)\nmatrix = 3", "model.matrix", "from numpy.linalg import norm\nmat = 3",
])  # fmt: skip
def test_a_word_of_other_things_does_not_count(said: str) -> None:
    source = (
        f"import numpy as np\n{said}\ndef use(Y):\n    n, d = Y.shape\n    r = Y @ np.zeros(d)\n    s = np.exp(Y)[0]\n"
    )
    shapes = _shapes(source)
    assert (shapes["r"], shapes["s"]) == (("n",), ("d",))


TABLE = """
import numpy as np
import pandas as pd

def use(df):
    n, d = df.shape
    a = df[0]
    b = df[df > 0]
    zeros = np.zeros((n, d))
    row = zeros[0]
    for x in df:
        c = x
    return a

use(pd.DataFrame(np.ones((4, 3))))
"""


def test_a_table_gives_columns() -> None:
    """`df[0]` has as many items as the table has rows, `df[df > 0]` both axes, and a round finds a label."""
    shapes = _shapes(TABLE)
    assert shapes.get("a") is shapes.get("b") is shapes.get("c") is None
    assert (shapes["zeros"], shapes["row"]) == (("n", "d"), ("d",))
    shapes = _shapes(TABLE.replace("import pandas as pd\n", "").replace("pd.DataFrame", ""))
    assert (shapes["zeros"], shapes["a"]) == (("n", "d"), ("d",))
