"""What is a number or a tensor without axes, whichever: no tensor for certain, and yet it leaves other tensors their shape."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")

HEAD = "import numpy as np\nimport torch\n\n\ndef go(c, n, y: torch.Tensor):\n    y = y.reshape(3)\n"
# Where `c` is false, or `n` is 0, `u` is a number.
EITHER = {
    "an expression": "u = {} if c else 2.0",
    "the other way round": "u = 0 if not c else {}",
    "two branches": "if c:\n        u = {}\n    else:\n        u = 0",
    "bound before": "u = 0.0\n    if c:\n        u = {}",
    "a sum over a loop": "u = 0.0\n    for _ in range(n):\n        u = u + {}",
    "augmented": "u = 0\n    for _ in range(n):\n        u += {}",
    "in a while loop": "u, i = 0.0, 0\n    while i < n:\n        u, i = u + {}, i + 1",
    "in loops": "u = 0.0\n    for _ in range(n):\n        for _ in range(2):\n            u = u + {}",
    "a function": "def f():\n        if c:\n            return {}\n        return 0.0\n\n    u = f()",
    "caught": "try:\n        u = {}\n        if not c:\n            1 / 0\n    except ZeroDivisionError:\n        u = 0.0",
    "a list": "u = [0.0, {}][c]",
    "of either of two": "u = ({} if c else 2.0) if n else 1",
    "arithmetic": "u = ({} if c else 2.0) * 2",
    "its negative": "u = -({} if c else 2.0)",
    "a sum of two": "u = ({0} if c else 2.0) + ({0} if c else 1)",
}
USED = "    v = u\n    w = u * 2\n    d = torch.ones(4, 5) * u\n    e = u - torch.ones(4)\n    g = np.ones((2, 5)) * u\n    return v\n\n\n"
CALLS = "go(True, 2, {0})\ngo(False, 0, {0})\ngo(True, 1, {0})\n"


@pytest.mark.parametrize("item", ["y.sum()", "torch.tensor(3.0)", "y.long().sum()", "y.double().max()", "y[0]"])
@pytest.mark.parametrize("form", EITHER)
def test_a_number_is_not_said_to_be_a_tensor(form: str, item: str, tmp_path: Path) -> None:
    source = f"{HEAD}    {EITHER[form].format(item)}\n{USED}{CALLS.format('torch.ones(3)')}"
    source = source.replace("    g = np.ones((2, 5)) * u\n", "")
    assert wrong_claims(tmp_path / "program.py", source) == {}
    known = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (known["d"], known["e"]) == ((4, 5), (4,))


@pytest.mark.parametrize("item", ["np.float32(2)", "np.ones(3).mean()", "np.int64(2)", "np.sqrt(2)"])
@pytest.mark.parametrize("form", EITHER)
def test_a_number_is_not_said_to_be_an_array(form: str, item: str, tmp_path: Path) -> None:
    source = f"{HEAD}    {EITHER[form].format(item)}\n{USED}{CALLS.format('np.ones(3, dtype=np.float32)')}"
    source = source.replace("y: torch.Tensor):\n    y = y.reshape(3)\n", "y):\n    y = np.reshape(y, 3)\n")
    assert wrong_claims(tmp_path / "program.py", source) == {}
    known = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (known["g"], known["e"]) == ((2, 5), (4,))


def test_a_sum_over_a_loop_is_a_tensor_where_something_was_added() -> None:
    source = "import torch\n\n\ndef go(n, y: torch.Tensor):\n    t = 0.0\n    for _ in range(n):\n        t += y.view(3).sum()\n"
    assert [(row.name, row.shape) for row in analyse(ast.parse(source), source).bindings] == [("t", ())]


# Of what may be empty, the sum is 0.
SUMS = {
    "the rest": "sum(x[n:])",
    "numbers of a stretch": "sum(torch.arange(n, m))",
    "rows of a stretch": "sum(torch.arange(n, m)[:, None] * torch.ones(3))",
    "in a comprehension": "sum([v for v in x[n:]])",
    "in a generator": "sum(v for v in x[n:])",
    "what a condition chose": "sum([v for v in x if n > 99])",
    "a difference": "sum(torch.zeros(m - n, 3))",
    "with a start": "sum(x[n:], 0.0)",
}


@pytest.mark.parametrize("made", SUMS)
def test_the_sum_of_what_may_be_empty_may_be_a_number(made: str, tmp_path: Path) -> None:
    source = (
        "import torch\n\n\ndef go(x: torch.Tensor, n: int, m: int):\n    p, q = x.shape\n"
        f"    a = {SUMS[made]}\n    b = a * 2\n\n\ngo(torch.ones(4, 3), 5, 5)\ngo(torch.ones(4, 3), 1, 3)\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


@pytest.mark.parametrize("made", ["sum(x)", "sum([v for v in x])", "sum(v for v in x)", "sum([x[0], x[1]])"])
def test_the_sum_of_rows_is_known(made: str) -> None:
    source = f"import torch\n\n\ndef go(x: torch.Tensor):\n    p, q = x.shape\n    a = {made}\n"
    assert {row.name: [*map(str, row.shape or ())] for row in analyse(ast.parse(source), source).bindings}["a"] == ["q"]


# Of which types, where one has no axes, or is numpy's.
TYPES = {
    "of the one without axes": "F.cosine_similarity(torch.ones(n, 3, dtype=torch.bfloat16), torch.tensor(2.0).double())",
    "of the first without axes": "F.cosine_similarity(torch.tensor(2.0).double(), torch.ones(n, 3), -1)",
    "of a layer": "torch.nn.CosineSimilarity()(torch.ones(n, 3), torch.tensor(2.0).double())",
    "a remainder of numpy": "divmod(torch.tensor(2.5), np.int64(2))[1]",
    "a quotient of numpy": "divmod(torch.ones(3), np.int64(2))[0]",
    "as a number of numpy": "torch.ones(3).to(np.float16(1))",
    "angles of integers": "torch.deg2rad(torch.arange(3))",
    "angles of one": "torch.rad2deg(torch.tensor(2))",
}


@pytest.mark.parametrize("default", ["", "    torch.set_default_dtype(torch.float64)\n"])
@pytest.mark.parametrize("made", TYPES)
def test_types_of_what_has_no_axes(made: str, default: str, tmp_path: Path) -> None:
    source = (
        f"import numpy as np\nimport torch\nimport torch.nn.functional as F\n\n\ndef go(n):\n{default}    a = {TYPES[made]}\n\n\ngo(4)\n"
        "torch.set_default_dtype(torch.float32)\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


def test_types_that_stay_known() -> None:
    source = (
        "import torch\nimport torch.nn.functional as F\n\n\ndef go(x: torch.Tensor):\n"
        "    a = F.cosine_similarity(torch.ones(4, 3).double(), torch.ones(3))\n    b = torch.ones(3).to(torch.ones(3).half())\n"
        "    c = torch.deg2rad(torch.ones(3).half())\n"
    )
    types = [row.dtype for row in analyse(ast.parse(source), source).bindings]
    assert types == ["float64", "float16", "float16"]


# numpy takes a tensor that holds one number for that number.
INDICES = {
    "one": "a[torch.tensor([0])]",
    "one in rows": "a[torch.tensor([[0]])]",
    "of a column": "a[:, torch.tensor([0])]",
    "one of several": "a[torch.randperm(n)[:1]]",
    "two": "a[torch.tensor([0]), torch.tensor([0])]",
    "behind an ellipsis": "a[..., torch.tensor([1])]",
    "behind None": "a[None, torch.tensor([1])]",
    "of whatever length": "a[torch.arange(9)[n - 3 :][:1]]",
    "a mask's": "a[torch.arange(n)[torch.arange(n) > 2]]",
    "the rest": "a[torch.arange(n)[3:]]",
    "of no known type": "a[index]",
    "0 or 1 numbers": "a[torch.nonzero(torch.arange(n) > 2)[:, 0]]",
}


@pytest.mark.parametrize("made", INDICES)
def test_an_array_indexed_by_a_tensor_with_one_number(made: str, tmp_path: Path) -> None:
    source = (
        "import numpy as np\nimport torch\n\n\ndef go(n: int, index: torch.Tensor):\n    a = np.ones((n, 3))\n    index = index.view(-1)\n"
        f"    b = {INDICES[made]}\n    c = b * 2\n\n\ngo(4, torch.tensor([1]))\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


def test_an_array_indexed_by_tensors_stays_known() -> None:
    source = (
        "import numpy as np\nimport torch\n\n\ndef go(x: torch.Tensor):\n    n, m = x.shape\n    a = np.ones((n, 3))\n"
        "    b = a[torch.tensor([0, 1])]\n    c = a[torch.randperm(n)]\n    d = a[torch.tensor(0)]\n    e = a[torch.tensor([0])]\n"
        "    f = a[np.array([0])]\n    g = torch.ones(4, 3)[torch.tensor([0])]\n"
    )
    known = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert [known[name] for name in "bdefg"] == [(2, 3), (3,), (3,), (1, 3), (1, 3)]
    assert [*map(str, known["c"] or ())] == ["n", "3"]
