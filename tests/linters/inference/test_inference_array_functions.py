"""numpy's functions that say a shape, and those that fill an array with what a function of the program's gives."""

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = "import numpy as np\nimport torch\n\n"


def shapes(source: str) -> dict[str, tuple[int | str, ...] | None]:
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


@pytest.mark.parametrize(
    ("lines", "shape"),
    [
        ("z = np.zeros(np.shape(x))", ("n", "m")),
        ("p, q = np.shape(x)\nz = np.zeros((q, p))", ("m", "n")),
        ("z = np.zeros((np.shape(x)[1], np.ndim(x)))", ("m", 2)),
        ("z = np.zeros((np.size(x, 0), np.size(x)))", ("n", "n*m")),
        ("z = np.zeros(np.shape([[1, 2, 3], [4, 5, 6]]))", (2, 3)),
        ("z = np.zeros(np.broadcast_shapes(x.shape, (1, m)))", ("n", "m")),
        ("z = np.apply_along_axis(np.sum, 0, x)", ("m",)),
        ("z = np.apply_along_axis(lambda v: v - v.mean(), 1, x)", ("n", "m")),
        ("z = np.apply_along_axis(lambda v: [v.min(), v.max()], 1, x)", ("n", 2)),
        ("z = np.apply_along_axis(np.diag, 1, x)", ("n", "m", "m")),
        ("z = np.fromfunction(lambda i, j: i * j, (n, 4))", ("n", 4)),
        ("z = np.block([[x, np.zeros((n, 1))], [np.ones((2, m)), np.ones((2, 1))]])", ("n + 2", "m + 1")),
        ("z = np.unravel_index(np.arange(5), x.shape)[0]", (5,)),
        ("z = np.array(x[:, 0], ndmin=2)", (1, "n")),
        ("z = np.array(x[0], ndmin=2).T", ("m", 1)),
        ("z = np.array(x, ndmin=1)", ("n", "m")),
        ("z = np.array([1, 2, 3], ndmin=3)", (1, 1, 3)),
        ("names = np.random.default_rng(0).choice(['f', 'm'], size=n)\nz = np.asarray(names == 'f')", ("n",)),
        (
            "names = np.random.choice(['f', 'm'], size=n)\nfor name in np.unique(names):\n    z = (names == name).astype(float)",
            ("n",),
        ),
        ("rows = ['a'] * 9\nz = np.zeros(n)[np.random.choice(len(rows), 4) % n]", (4,)),
        ("z = np.histogram2d(x[:, 0], x[:, 1], bins=(4, 6))[0]", (4, 6)),
    ],
)
def test_what_is_known_of_them(lines: str, shape: tuple[int | str, ...], tmp_path: Path) -> None:
    body = "".join(f"    {line}\n" for line in lines.split("\n"))
    source = f"{HEAD}def go(x):\n    n, m = x.shape\n    x = np.asarray(x).reshape(n, m)\n{body}    return z\ngo(np.ones((3, 4)))\n"
    assert shapes(source)["z"] == shape
    assert not wrong_claims(tmp_path / "program.py", source)


@pytest.mark.parametrize(
    "lines",
    [
        # Called for each vector, and what it changes it changes as often.
        "count = [0]\ndef f(v):\n    count.append(1)\n    return np.zeros(2)\na = np.apply_along_axis(f, 0, x)\nz = np.zeros(len(count))",
        "class C:\n    n = 0\ndef f(v):\n    C.n += 1\n    return np.zeros(2)\na = np.apply_along_axis(f, 0, x)\nz = np.zeros(C.n)",
        "y = np.zeros(3)\ndef f(v):\n    y.shape = (3, 1)\n    return 1.0\na = np.apply_along_axis(f, 0, x)\nz = y * 2",
        "y = [np.zeros(3)]\ndef f(v, w):\n    w[0] = np.zeros(5)\n    return 1.0\na = np.apply_along_axis(f, 0, x, y)\nz = y[0] * 2",
        "y = [np.zeros(3)]\ndef f(i):\n    y[0] = np.zeros(5)\n    return i\na = np.fromfunction(f, (3,))\nz = y[0] * 2",
        "n = 2\ndef f(v):\n    global n\n    n = 4\n    return v\na = np.apply_along_axis(f, 0, x)\nz = np.zeros(n)",
        # Nobody knows what it gives, or it is more than one thing.
        "a = np.apply_along_axis(lambda v: v[v > 1], 0, np.zeros((0, 4)) if len(x) > 9 else x + 1)\nz = a * 2",
        "f = np.mean if x[0, 0] else np.diag\na = np.apply_along_axis(f, 0, x)\nz = a * 2",
        "a = np.apply_along_axis(lambda v: torch.from_numpy(v.copy()), 0, x)\nz = a * 2",
        "a = np.fromfunction(lambda i, j: 1, (3, 4))\nz = np.asarray(a) * 2",
        "a = np.fromfunction(lambda i, j: [i, j], (3, 4))\nz = np.asarray(a) * 2",
        # Edges, a number for each axis, or a rule's name, for what nobody knows.
        "def f(v, bins):\n    h, e = np.histogram(v, bins)\n    return h * 2, e * 2\nfor b in (5, np.arange(4.0), 'auto'):\n    f(x[0], b)",
        "def f(v, bins):\n    h, e, g = np.histogram2d(v, v, bins)\n    return h.T * 2\nfor b in (5, (3, 4), np.arange(4.0)):\n    f(x[0], b)",
        "def f(v, bins):\n    h, e = np.histogramdd(v, bins)\n    return h.T * 2\nfor b in (2, (2, 3, 4, 5)):\n    f(x, b)",
        "def f(v, bins):\n    h, e = torch.histogram(v, bins)\n    return h * 2\nfor b in (5, torch.arange(4.0)):\n    f(torch.ones(3), b)",
        # Of a list it is a shape, too, and a list is no array.
        "def f(v):\n    n, m = np.shape(v)\n    return v * 2\nz = np.asarray(f([[1, 2], [3, 4]]))",
        "def f(v):\n    n = np.size(v, 0)\n    return v + v\nz = np.asarray(f([1, 2]))",
        "def f(v):\n    return np.zeros(np.ndim(v) + 1)\nz = f(3)\nw = f(x)",
    ],
)
def test_what_misleads(lines: str, tmp_path: Path) -> None:
    source = f"{HEAD}x = np.ones((3, 4))\n{lines}\n"
    assert not wrong_claims(tmp_path / "program.py", source)
