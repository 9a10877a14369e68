"""A square matrix that meets its own reduction: a mistake, unless rows and columns are both scaled or have the same sums."""

from __future__ import annotations

import pytest

from tensorlint.checking import Selection, findings_of
from tensorlint.findings import Finding
from tensorlint.rules.registry import load
from tensorlint.source import PythonSource


def program(*body: str, torch: bool = False) -> str:
    made = "import torch\n\nM = torch.rand(6, 6)" if torch else "import numpy as np\n\nM = np.random.rand(6, 6)"
    return f"{made}\n\n\ndef f(A):\n    " + "\n    ".join(body) + "\n\n\nout = f(M)\n"


def findings(code: str) -> list[Finding]:
    defaults = frozenset(rule.code for rule in load() if rule.default == "on")
    return findings_of(PythonSource("case.py", code), load(), Selection(defaults), None)[0]


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
    "of another sum": program("A = A + M", "return A / A.sum(axis=1)"),
}
RIGHT = {
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
    "kept": program("return A / A.sum(axis=1, keepdims=True)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_reduction_along_the_wrong_axis_is_reported(name: str) -> None:
    (found,) = findings(WRONG[name])
    assert found.code == "TSR112"
    assert "wrong axis" in found.message


@pytest.mark.parametrize("name", RIGHT)
def test_scaling_both_sides_or_a_symmetric_matrix_is_not(name: str) -> None:
    assert findings(RIGHT[name]) == []
