"""What has axes, and may be torch's or numpy's: what both say of it is shown, and nothing that one of them does not."""

import ast
import itertools
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from test_inference_adversaries import wrong_claims  # noqa: E402

from tensorlint.inference.analysis import analyse  # noqa: E402

LINES = """
y = x * 2 | y = x - x[0] | y = x[:2] | y = x[:, 1] | y = x[:, None] - x | y = -x / 3 | y = x.T | y = x @ x.T | y = x.T @ x / n
y = x.sum(1) | y = x.mean(axis=0) | y = x.sum(-1, keepdims=True) | y = x - x.mean(0) | y = (x - x.mean()) / x.std() | y = x.std(0)
y = x.var(axis=1) | y = x.argmax(1) | y = x.argmin(axis=0) | y = (x > 1).all(1) | y = (x > 1).any(axis=0) | y = x.cumsum(0)
y = x.argsort(1) | y = x.prod(0) | y = x.reshape(d, n) | y = x.reshape(-1) | y = x.flatten() | y = x.ravel() | y = x.swapaxes(0, 1)
y = x.transpose(0, 1) | y = x.transpose(1, 0) | y = x.diagonal() | y = x.max() + x | y = x.min() * x[0] | y = x.max(1) | y = x.min(0)
y = x.max(axis=1) | y = x.max(-1, keepdims=True) | y = x.sort(1) | y = x.repeat(2, 1) | y = x.repeat(2) | y = x.squeeze() | y = x.nonzero()
y = x.clip(0, 1) | y = x.round() | y = x[x > 1] | y = x[x.sum(1) > 0] | y = x[[0, 1]] | y = x[..., None] | y = x[::2, 1:]
y = x.std(0, ddof=1) | y = x.std(0, keepdim=True) | y = x.sum((0, 1)) | y = x.sum(0, True) | y = x.dot(x.T) | y = x[0].dot(x[1]) * x | y = x.dot(x[0]) | y = x.T.dot(x) | y = x.trace() + x[0]
y = x == x[0] | y = abs(x) ** 2 | y = x.copy() | y = x.clone() | y = x.astype(float) | y = x.float() | y = x.size | y = x.size(0) * x
y = x.unsqueeze(0) | y = x.expand(2, n, d) | y = x.view(-1) | y = x.permute(1, 0) | y = x.take([0, 1]) | y = x.item() if n > 9 else x
y = x.tolist() | y = [*x][0] | y = sum(x) | y = max(x[0]) * x | y = x[0].tolist() | y = x.real | y = x.imag if n > 9 else x
"""
THEN = ["z = y * 1", "z = y[0]", "z = y.sum(0)", "z = y.reshape(-1)", "z = y + x.sum()"]
HEADS = {"numpy": "import numpy as np\n", "torch": "import torch\n", "both": "import numpy as np\nimport torch\n"}
GIVEN = {"torch": "torch.ones(3, 4)", "numpy": "np.ones((3, 4))"}


def lines() -> list[str]:
    return [each.strip() for line in LINES.strip().split("\n") for each in line.split(" | ")]


def runs(body: tuple[str, ...], given: str) -> bool:
    scope = {"np": numpy, "torch": torch}
    scope["x"] = eval(given, scope)
    try:
        exec("n, d = x.shape\n" + "\n".join(body), scope)
    except Exception:  # what one of them does not have
        return False
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("part", range(4))
def test_what_is_said_is_true_of_both(head: str, part: int, tmp_path: Path) -> None:
    source, ran = HEADS["both"] if head == "both" else HEADS[head], 0
    for at, body in enumerate(itertools.product(lines(), THEN)):
        if at % 4 != part:
            continue
        given = [each for each in GIVEN.values() if runs(body, each)]
        # A file that imports one of them is called with what the other file makes, too.
        made = [each.replace("np.", "__import__('numpy').").replace("torch.", "__import__('torch').") for each in given]
        source += f"def f{at}(x):\n    n, d = x.shape\n" + "".join(f"    {line}\n" for line in body)
        source += "".join(f"f{at}({each})\n" for each in made)
        ran += len(given)
    assert ran > 80
    assert not wrong_claims(tmp_path / "program.py", source)


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("y = x * 2", ("n", "d")),
        ("y = x[:, None] - x", ("n", "n", "d")),
        ("y = ((x[:, None] - x) ** 2).sum(-1)", ("n", "n")),
        ("y = x - x.mean(axis=0)", ("n", "d")),
        ("y = x.mean(0)", ("d",)),
        ("y = (x - x.mean(0)).T @ (x - x.mean(0)) / n", ("d", "d")),
        ("y = x.sum(1, keepdims=True)", ("n", 1)),
        ("y = x.argmax(1)", ("n",)),
        ("y = x.std(0, ddof=1)", ("d",)),
        ("y = x.flatten()", ("n*d",)),
        ("y = x.dot(x.T)", ("n", "n")),
        ("y = x.T.dot(np.ones(n))", ("d",)),
        ("y = x.max(1)", None),
        ("y = x.sort(1)", None),
    ],
)
def test_what_is_shown_without_a_library(line: str, shape: tuple[int | str, ...] | None) -> None:
    source = f"import numpy as np\n\n\ndef go(x):\n    n, d = x.shape\n    {line}\n"
    rows = analyse(ast.parse(source), source).bindings
    assert [(row.shape, row.framework) for row in rows] == ([] if shape is None else [(shape, None)])


def test_a_method_that_one_of_them_has_tells_the_library() -> None:
    source = (
        "import torch\n\n\ndef go(x):\n    b, c, t = x.shape\n    y = x.transpose(1, 2)\n    z = y.reshape(b, -1)\n"
    )
    assert [row.framework for row in analyse(ast.parse(source), source).bindings] == ["torch", "torch"]


@pytest.mark.parametrize(
    ("lines", "shape"),
    [
        ("y = x.reshape(x.size(0), -1)", ("x.shape[0]", "?")),
        ("b = x.size(0)\ny = x.reshape(b, -1)", ("b", "?")),
        ("b = x.size(0)\nif b > 2:\n    y = x.reshape(b, -1)", ("b", "?")),
        ("y = x.transpose(1, 2).reshape(6, -1)", (6, "?")),
    ],
)
def test_who_asks_for_a_size_as_torch_does_has_a_tensor(lines: str, shape: tuple[int | str, ...]) -> None:
    body = "".join(f"    {line}\n" for line in lines.split("\n"))
    source = f"import torch\n\n\ndef go(x):\n{body}"
    (row,) = analyse(ast.parse(source), source).bindings
    assert (row.shape, row.framework) == (shape, "torch")


@pytest.mark.parametrize(
    "lines",
    [
        "if hasattr(x, 'numpy'):\n    b = x.size(0)\nelse:\n    b = x.shape[0]\ny = x.reshape(b, -1)",
        "try:\n    b = x.size(0)\nexcept TypeError:\n    b = len(x)\ny = x.reshape(b, -1)",
        "b = x.size(0) if callable(x.size) else len(x)\ny = x.reshape(b, -1)",
        "for i in range(2):\n    if not callable(x.size):\n        continue\n    b = x.size(0)\ny = x.reshape(3, -1)",
        "y = x.transpose(0, 1)\nz = x.transpose(-1, -2)\nw = x.transpose(1, -2)",
    ],
)
def test_where_only_some_ways_ask_nobody_knows(lines: str, tmp_path: Path) -> None:
    body = "".join(f"    {line}\n" for line in lines.split("\n"))
    source = f"import numpy as np\nimport torch\n\n\ndef go(x):\n{body}    return y\n\n\n"
    assert all(row.framework is None for row in analyse(ast.parse(source), source).bindings)
    assert not wrong_claims(tmp_path / "program.py", source + "go(torch.ones(3, 4))\ngo(np.ones((3, 4)))\n")
