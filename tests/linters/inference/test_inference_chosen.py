"""Items chosen by indices of unknown type, and the sizes of batches: what is known of them is true of each batch."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

TOP = "import random\n\nimport numpy as np\nimport torch\n\nX, y, t = np.random.rand(100, 3), np.random.rand(100), torch.rand(100, 30, 2)\n"
# A program, and what is known of the shape that `z` has at last.
KNOWN = {
    "indices of a list": (
        "places = list(range(100))\nrandom.shuffle(places)\nfor i in range(0, 100, 4):\n"
        "    z = t[torch.tensor(places[i:min(i + 4, 100)])]\n",
        "(?, 30, 2)",
    ),
    "indices of a list, of numpy": (
        "places = list(range(100))\nfor i in range(0, 100, 4):\n    z = X[np.array(places[i:i + 4])]\n",
        "(4, 3)",
    ),
    "on another axis": (
        "places = list(range(30))\nfor i in range(0, 30, 2):\n    z = t[:, torch.tensor(places[i:i + 2])]\n",
        "(100, 2, 2)",
    ),
    "of a generator": (
        "def batches(x, size):\n    for i in range(0, len(x), size):\n        yield x[i:i + size]\n\n\nfor z in batches(X, 4):\n    pass\n",
        "(4, 3)",
    ),
    "one item each": ("for i in range(100):\n    z = X[i:i + 1]\n", "(1, 3)"),
    "fewer in the last one": ("for i in range(0, 100, 3):\n    z = X[i:i + 3]\n", "(?, 3)"),
    "a mask": ("z = X[y > 0.5]\n", "(?, 3)"),
}  # fmt: skip
# Programs that could mislead: of two batches nothing more is claimed than is true.
MISLEADING = {
    "the last batch": "for i in range(0, 100, 4):\n    a, b = X[i:i + 4], y[i:i + 4]\n    z = a[:, 0] - b\n    s = a.sum(1)\n",
    "batches of different rounds": "before = y[:1]\nfor i in range(0, 100, 4):\n    b = y[i:i + 4]\n    z = before[:1] + b\n    before = b\n",
    "of a round and of another": "kept = []\nfor i in range(0, 100, 4):\n    kept.append(y[i:i + 4])\nz = np.concatenate(kept)\nfirst, last = kept[0], kept[-1]\n",
    "a mask of none": "none = y > 2\nz, n = X[none], y[none]\nm = z.sum(1) + n\n",
    "nothing chosen": "places = list(range(100))\nz = X[np.array(places[4:4], dtype=int)]\n",
    "a batch of one": "def cut(x, i, n):\n    return x[i:i + n]\n\n\nfor i in range(3):\n    z = cut(X, i, 1) @ np.ones((3, 1)) - cut(y, i, 1)\n"
    "w = cut(X, 2, 4) @ np.ones((3, 1)) - cut(y, 2, 4)\n",
    "of one of two": "for flag in (True, False):\n    a = X[:4] if flag else X[:7]\n    b = y[:4] if flag else y[:7]\n    z = a[:, 0] + b\n"
    "    c = y[:7] if flag else y[:4]\n",
    "views of turned batches": "turned = t.permute(2, 1, 0)\nfor i in range(2):\n    z = turned[i:i + 1].reshape(-1)\n    w = turned[i:].reshape(-1)\n",
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_it_is_known(name: str, tmp_path: Path) -> None:
    body, shape = KNOWN[name]
    source = TOP + body
    assert wrong_claims(tmp_path / "program.py", source) == {}
    shapes = [each.shape for each in analyse(ast.parse(source), source).bindings if each.name == "z"]
    assert f"({', '.join(map(str, shapes[-1] or ()))})" == shape


@pytest.mark.parametrize("name", MISLEADING)
def test_nothing_wrong_is_said(name: str, tmp_path: Path) -> None:
    assert wrong_claims(tmp_path / "program.py", TOP + MISLEADING[name]) == {}
