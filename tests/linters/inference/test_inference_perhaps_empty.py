"""Lists that a comprehension makes of what may be empty: of no numbers at all the libraries make floats."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

_HEAD = "import numpy as np\nimport torch\n\n\ndef f(q, n):\n"
_CALL = "f([], 0)\n"
# Of what goes through `q`, or chooses from what is known.
LISTS = {
    "lengths": "[len(t) for t in q]",
    "those chosen": "[t for t in [1, 2] if t > 5 + n]",
    "numbers of rounds": "[i for i, t in enumerate(q)]",
    "rounds chosen": "[i for i in range(12) if i > 20 + n]",
    "constants": "[1 for t in q]",
    "truths": "[True for t in q]",
    "mapped": "list(map(len, q))",
    "chosen by a function": "list(filter(lambda t: t > 5 + n, [1, 2, 3]))",
    "a tuple": "tuple(len(t) for t in q)",
    "sorted": "sorted(len(t) for t in q)",
    "reversed": "list(reversed([len(t) for t in q]))",
    "two loops": "[1 for i in range(3) for j in range(i - 2)]",
    "one of two": "[len(t) for t in q] if n else [len(t) for t in q]",
    "within another": "[[len(t) for t in q], [len(t) for t in q]]",
}
MADE = {
    "torch.tensor": "torch.tensor({})",
    "torch.as_tensor": "torch.as_tensor({})",
    "np.array": "np.array({})",
    "np.asarray": "np.asarray({})",
    "np.abs": "np.abs({})",
    "np.sort": "np.sort({})",
    "np.zeros_like": "np.zeros_like({})",
    "a sum": "np.array({}) + 1",
    "by way of numpy": "torch.from_numpy(np.array({}))",
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("listed", LISTS)
def test_an_array_of_a_list_that_may_be_empty_is_of_no_known_type(listed: str, made: str, tmp_path: Path) -> None:
    source = f"{_HEAD}    x = {MADE[made].format(LISTS[listed])}\n    return x\n\n\n{_CALL}"
    assert wrong_claims(tmp_path / "program.py", source) == {}


FILLED = {
    "a loop": "for t in q:\n        rows.append(len(t))",
    "a condition": "for t in range(9):\n        if t > 20 + n:\n            rows.append(t)",
    "extended": "rows.extend(len(t) for t in q)",
}


@pytest.mark.parametrize("filled", FILLED)
def test_nor_is_one_of_a_list_that_a_loop_may_leave_empty(filled: str, tmp_path: Path) -> None:
    source = f"{_HEAD}    rows = []\n    {FILLED[filled]}\n    x = torch.tensor(rows)\n    y = np.array(rows)\n{_CALL}"
    assert wrong_claims(tmp_path / "program.py", source) == {}


ROWS = ["[(1, 2) for t in range(12) if t > 20 + n]", "[[0.5, t] for t in range(9) if t > 20 + n]"]


@pytest.mark.parametrize("rows", ROWS)
def test_rows_among_which_a_condition_chooses_may_be_none(rows: str, tmp_path: Path) -> None:
    source = f"{_HEAD}    x = torch.tensor({rows})\n    y = np.array({rows})\n{_CALL}"
    assert wrong_claims(tmp_path / "program.py", source) == {}


def _types(body: str) -> dict[str, tuple[object, object]]:
    source = f"import numpy as np\nimport torch\n\n\ndef f(q, n, x: torch.Tensor):\n    b, c = x.shape\n    {body}\n"
    return {row.name: (row.shape, row.dtype) for row in analyse(ast.parse(source), source).bindings}


KNOWN = {
    "y = torch.tensor([1, 2, 3])": ((3,), "int64"),
    "y = torch.tensor([len(q)])": ((1,), "int64"),
    "y = torch.tensor([i for i in range(n)])": (("n",), "int64"),
    "y = np.array([i * i for i in range(b)])": (("b",), "int64"),
    "y = np.array([2 for _ in range(12)])": ((12,), "int64"),
    "y = torch.tensor([0.5 for t in q])": (("?",), "float32"),
    "y = np.array([float(t) for t in q if t])": (("?",), "float64"),
    "y = torch.tensor([len(t) for t in q], dtype=torch.long)": (("?",), "int64"),
    "y = torch.tensor([[i, 1] for i in range(n)])": (("n", 2), "int64"),
    "y = np.array([(len(t), 2) for t in q])": (("?", 2), "int64"),
    "y = torch.tensor([[len(t) for t in q], [1, 2]])": ((2, 2), "int64"),
    "y = x[[i for i in range(9) if i in q]]": (("?", "c"), None),
    "y = x[[int(i) for i in q]]": (("?", "c"), None),
    "rows = [1]\n    for t in q:\n        rows.append(2)\n    y = torch.tensor(rows)": (("?",), "int64"),
}


@pytest.mark.parametrize("body", KNOWN)
def test_of_a_list_that_has_items_the_type_stays_known(body: str) -> None:
    shape, dtype = KNOWN[body]
    found = _types(body)["y"]
    assert found[0] == shape
    assert dtype is None or found[1] == dtype


# Of numbers that a condition chose, which may be none.
CHOSEN = {
    "of rows": "x[k]",
    "on the spot": "x[[i for i in range(p) if i > n]]",
    "of columns": "x[:, k].T",
    "of an array": "x.numpy()[k]",
    "a tensor": "torch.tensor(k)",
    "an array": "np.array(k)",
    "a tensor of them": "x[torch.tensor(k, dtype=torch.long)]",
    "sorted": "x[sorted(k)]",
    "once each": "x[list(set(k))]",
    "chosen by a function": "x[list(filter(lambda i: i > n, range(p)))]",
    "numbers of rounds": "x[[i for i, v in enumerate(x) if v.sum() > 99]]",
    "from a generator": "np.fromiter((i for i in range(p) if i > n), int)",
    "from an iterator": "np.fromiter(k, int)",
    "that differ": "np.unique(np.array(k))",
    "of a tensor that differ": "torch.unique(x[n:])",
    "rows that differ": "torch.unique(x[n:], dim=0)",
    "a column": "np.array(k).reshape(-1, 1)",
}


@pytest.mark.parametrize("chosen", CHOSEN)
def test_of_what_a_condition_chose_the_first_may_be_none(chosen: str, tmp_path: Path) -> None:
    source = (
        "import numpy as np\nimport torch\n\n\ndef go(x: torch.Tensor, n: int):\n    p, q = x.shape\n    k = [i for i in range(p) if i > n]\n"
        f"    a = {CHOSEN[chosen]}\n    b = a[:1]\n    c = b * 2\n\n\ngo(torch.ones(4, 4), 5)\ngo(torch.ones(4, 4), 1)\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


@pytest.mark.parametrize(
    "made", ["x[[i for i in range(p)]]", "torch.unique(x, dim=0)", "np.unique(np.ones((p, 3)), axis=0)"]
)
def test_of_what_nothing_chose_the_first_is_one(made: str) -> None:
    source = f"import numpy as np\nimport torch\n\n\ndef go(x: torch.Tensor):\n    p, q = x.shape\n    a = {made}\n    b = a[:1]\n"
    shapes = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (shapes["b"] or ())[:1] == (1,)


CUT = {
    "the first rows": "x[:n]",
    "the last rows": "x[-1:][:n]",
    "the rows behind": "x[5 + n:]",
    "columns": "x[:, 5 + n:]",
    "of the last axis": "x[..., :n]",
    "with a step": "x[:n:2]",
    "rows of rows": "x[:3][:n]",
    "chosen": "x[x[:, 0] > 5]",
    "an item cut": "[x][0][:n]",
}
TOLD = {
    "permuted": "c = a.permute(1, 0)",
    "unpacked": "h, w = a.shape",
    "a product": "c = torch.mm(a.T, a)",
    "asserted": "assert a.ndim == 2",
}


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("cut", CUT)
def test_of_rows_cut_out_of_what_nobody_knows_the_first_may_be_none(cut: str, told: str, tmp_path: Path) -> None:
    source = (
        f"import torch\n\n\ndef go(x, n):\n    a = {CUT[cut]}\n    b = a[:1]\n    d = a[:, :1]\n    {TOLD[told]}\n    e = b * 2\n    f = d.T\n\n\n"
        "go(torch.ones(4, 4), 0)\ngo(torch.ones(4, 4), 2)\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


@pytest.mark.parametrize("cut", CUT)
def test_nor_in_a_round_behind_one_that_left_none(cut: str, tmp_path: Path) -> None:
    source = (
        f"import torch\n\n\ndef go(x, n):\n    x = {CUT[cut]}\n    for q in range(2):\n        x = x[:q]\n    b = x.permute(1, 0)\n\n\n"
        "go(torch.ones(4, 4), 0)\ngo(torch.ones(4, 4), 2)\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


def test_of_what_is_not_cut_the_first_stays_one() -> None:
    source = "import torch\n\n\ndef go(x):\n    a = x[:, 0]\n    b = a[:1]\n    c = a.permute(1, 0)\n    d = b * 2\n"
    shapes = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (shapes["b"] or ())[:1] == (1,)
