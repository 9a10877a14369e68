"""A square matrix that meets its own reduction: a mistake, unless rows and columns are both scaled or have the same sums."""

from __future__ import annotations

import pytest
from rule_programs import findings


def program(*body: str, torch: bool = False) -> str:
    made = "import torch\n\nM = torch.rand(6, 6)" if torch else "import numpy as np\n\nM = np.random.rand(6, 6)"
    return f"{made}\n\n\ndef f(A):\n    " + "\n    ".join(body) + "\n\n\nout = f(M)\n"


WRONG = {
    "at once": program("return A / A.sum(axis=1)"),
    "by a name": program("d = A.sum(axis=1)", "return A / d"),
    "the matrix itself is reshaped elsewhere": program("B = A.reshape(36)", "return A / A.sum(axis=1) + B.sum()"),
    "of torch": program("d = A.mean(dim=1)", "return A - d", torch=True),
    "of squares": program("return A / np.sqrt((A**2).sum(axis=1))"),
    "of squares by a name": program("norm = np.sqrt(np.sum(np.square(A), axis=1))", "return A / norm"),
    "of products with itself": program("return A / np.sum(A * A, axis=1)"),
    "of absolute values": program("return A / np.abs(A).max(axis=1)"),
    "of powers": program("return A / np.power(A, 2).sum(axis=1)"),
    "of squares of torch": program("return A / A.pow(2).sum(1).sqrt()", torch=True),
    "of absolute values of torch": program("return A / A.abs().sum(1)", torch=True),
    "in another type": program("return A.astype(float) / A.sum(axis=1)"),
    "of a confusion matrix": "from sklearn.metrics import confusion_matrix\n\n"
    "cm = confusion_matrix([0, 1, 2, 2], [0, 2, 2, 1])\nshares = cm.astype(float) / cm.sum(axis=1)\n",
    "with a small number": program("return A / (A.sum(axis=1) + 1e-8)"),
    "of a norm with a small number": program("return A / (np.linalg.norm(A, axis=1) + 1e-8)"),
    "no less than": program("return A / np.maximum(A.sum(axis=1), 1e-8)"),
    "clipped": program("d = A.sum(axis=1).clip(1e-8)", "return A / d"),
    "clamped": program("return A / A.norm(dim=1).clamp(min=1e-8)", torch=True),
    "times the inverse": program("inverse = 1 / A.sum(axis=1)", "return A * inverse"),
    "a mean square and a number": program("return A * torch.rsqrt(A.pow(2).mean(-1) + 1e-6)", torch=True),
    "of a span": program("return (A - A.min()) / (A.max(axis=1) - A.min(axis=1))"),
    "a softmax": program("return np.exp(A) / np.exp(A).sum(axis=1)"),
    "a softmax by a name": program("e = np.exp(A)", "return e / np.sum(e, axis=-1)"),
    "a softmax of torch": program("return torch.exp(A) / A.exp().sum(1)", torch=True),
    "the logarithm of a sum": program("return A - np.log(np.sum(np.exp(A), axis=1))"),
    "of what was centred": program("C = A - A.mean(axis=1, keepdims=True)", "return C / (A.std(axis=1) + 1e-8)"),
    "of multiples": program("return 100 * A / A.sum(axis=1)"),
    "of torch in another type": program("return A.double() / A.sum(1)", torch=True),
    "norms of a batch": "import torch\n\nG = torch.rand(6, 8, 6)\nX = G / G.norm(dim=(-2, -1)).clamp(min=1e-7)\n",
    "written again": program("return (A + 1) / (A + 1).sum(axis=1)"),
    "written again, with a name": program("eps = 1e-3", "return (A + eps) / (A + eps).sum(axis=1)"),
    "a product written again": program("return (A @ M) / (A @ M).sum(axis=1)"),
    "written again, by a function": program("return (A * M) / np.sum(A * M, axis=1)"),
    "written again, of torch": program("return (A - 1) - (A - 1).mean(1)", torch=True),
    "written again, of a field": "import numpy as np\n\n\nclass Model:\n    def __init__(self, n):\n        self.A = np.ones((n, n))\n\n"
    "    def normalise(self, eps=1e-3):\n        self.A = (self.A + eps) / (self.A + eps).sum(axis=1)\n\n\nm = Model(3)\nm.normalise()\n",
    "by an einsum": program("return A / np.einsum('ij->i', A)"),
    "of squares by an einsum": program("d = np.sqrt(np.einsum('ij,ij->i', A, A))", "return A / d"),
    "by an einsum of torch": program("return A / torch.einsum('ij->i', A)", torch=True),
    "along an axis": program("return A / np.apply_along_axis(np.linalg.norm, 1, A)"),
    "along an axis, by a function of the program's own": program(
        "d = np.apply_along_axis(lambda row: row.max() - row.min(), 1, A)", "return A / d"
    ),
    "of another sum": program("A = A + M", "return A / A.sum(axis=1)"),
}
RIGHT = {
    "the columns by an einsum": program("return A / np.einsum('ij->j', A) / np.einsum('ij,ij->j', A, A)"),
    "an einsum made a column": program("return A / np.einsum('ij->i', A)[:, None]"),
    "an einsum with another matrix": program("return A / np.einsum('ij,ji->i', A, M)"),
    "along the other axis": program("return A / np.apply_along_axis(np.sum, 0, A)"),
    "both sides at once": program("d = A.sum(axis=1)", "return A / np.sqrt(d) / np.sqrt(d)[:, None]"),
    "both sides of a name": program("s = np.sqrt(A.sum(axis=1))", "A = A / s", "return A / s.reshape(-1, 1)"),
    "both sides without a name": program("return A / A.sum(axis=1) / A.sum(axis=1)[:, np.newaxis]"),
    "both sides of torch": program("d = A.sum(1)", "return A / d.sqrt() / d.sqrt().unsqueeze(1)", torch=True),
    "a sum with its transpose": program("A = (A + A.T) / 2", "return A / A.sum(axis=1)"),
    "half of that": program("A = 0.5 * (A + A.T)", "return A / A.sum(axis=1)"),
    "the larger of the two": program("A = np.maximum(A, A.T)", "return A / A.sum(axis=1)"),
    "the right axis": program("return A / A.sum(axis=0)"),
    "the diagonal of it": program("return np.diag(A / A.sum(axis=1))"),
    "the diagonal by a method": program("d = A.sum(axis=1)", "return (A / d).diagonal()"),
    "of the squares before a change": program("s = (A**2).sum(axis=1)", "A = A @ A", "return A / s"),
    "of the cubes": program("return A / (A**3).sum(axis=1)"),
    "squares along the right axis": program("return A / np.sqrt((A**2).sum(axis=0))"),
    "distances": program("s = (A**2).sum(axis=1)", "return s[:, None] + s - 2 * A @ A.T"),
    "of the transpose": program("return (A.T / np.abs(A).sum(axis=1)).T"),
    "a confusion matrix": "from sklearn.metrics import confusion_matrix\n\n"
    "cm = confusion_matrix([0, 1, 2, 2], [0, 2, 2, 1], labels=[0, 1, 2], normalize='all')\n"
    "shares, recall = cm / cm.sum(axis=1)[:, None], cm.diagonal() / cm.sum(axis=1)\n"
    "tn, fp, fn, tp = confusion_matrix([0, 1, 1], [0, 0, 1]).ravel()\n",
    "another one written": program("return (A + 1) / (A + 2).sum(axis=1)"),
    "written again, the right axis": program("return (A + 1) / (A + 1).sum(axis=0)"),
    "written again, kept": program("return (A + 1) / (A + 1).sum(axis=1, keepdims=True)"),
    "a sum with its transpose written again": program("return (A + A.T) / (A + A.T).sum(axis=1)"),
    "drawn anew": program("return (A + np.random.rand(6, 6)) / (A + np.random.rand(6, 6)).sum(axis=1)"),
    "of a graph": "import networkx as nx\n\nA = nx.to_numpy_array(nx.path_graph(5))\nP = A / A.sum(axis=1)\n",
    "kept": program("return A / A.sum(axis=1, keepdims=True)"),
    "kept, with a small number": program("return A / (A.sum(axis=1, keepdims=True) + 1e-8)"),
    "the right axis, with a small number": program("return A / (A.sum(axis=0) + 1e-8)"),
    "a span along the right axis": program("return (A - A.min(axis=0)) / (A.max(axis=0) - A.min(axis=0))"),
    "a softmax of the columns": program("e = np.exp(A)", "return e / e.sum(axis=0)"),
    "both sides, with a small number": program(
        "d = A.sum(axis=1) + 1e-8", "return A / np.sqrt(d) / np.sqrt(d)[:, None]"
    ),
    "of the rows of a product": program("return A / (A @ M).sum(axis=1)"),
    "a name that holds what was made of itself": program("B = M - 1", "B = B - 1", "return B / A.std(axis=1)"),
    "what was centred is another one": program("C = M - 1", "return C / A.std(axis=1)"),
    "a bias for each column, from the rows": program("return np.exp(A).sum(axis=1) + np.zeros((6, 6))"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_reduction_along_the_wrong_axis_is_reported(name: str) -> None:
    (found,) = findings(WRONG[name])
    assert found.code == "TSR112"
    assert "wrong axis" in found.message


@pytest.mark.parametrize("name", RIGHT)
def test_scaling_both_sides_or_a_symmetric_matrix_is_not(name: str) -> None:
    assert findings(RIGHT[name]) == []
