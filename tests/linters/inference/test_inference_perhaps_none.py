"""What may be None, one of two layers, or a number nobody knows: every way to make it beside every way to use it, run both ways.

Nothing that is said may be wrong whichever way a program goes, and what can be told is told.
"""

from __future__ import annotations

import ast
import io
import itertools
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = "import numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
MADE = {
    "conditional": "y = {t} if flag else None",
    "branch": "y = None\nif flag:\n    y = {t}",
    "branches": "if flag:\n    y = {t}\nelse:\n    y = None",
    "loop": "y = None\nfor _ in range(2):\n    if flag:\n        y = {t}",
    "attribute": "class Box:\n    def __init__(self, flag):\n        self.y = {t} if flag else None\ny = Box(flag).y",
    "function": "def make(flag):\n    if flag:\n        return {t}\ny = make(flag)",
    "parameter": (
        "class M(nn.Module):\n    def __init__(self, flag):\n        super().__init__()\n        if flag:\n"
        "            self.y = nn.Parameter({t}, requires_grad=False)\n        else:\n            self.y = None\n"
        "    def forward(self):\n        return self.y\ny = M(flag)()"
    ),
    "either": "y = (flag and {t}) or None",
}
TENSORS = ("torch.zeros(2, 3)", "torch.zeros(1, dtype=torch.long)", "torch.tensor(0.5)")
USED = {
    "asked": "if y is not None:\n    r = y + 1\nelse:\n    r = torch.ones(5)\ns = r + 1",
    "asked in place": "r = torch.ones(1) if y is None else y + 1\ns = r + 1",
    "a bound": "r = torch.clamp(torch.zeros(3), min=y, max=torch.tensor(1.0))\ns = torch.zeros(3).clamp(y, torch.tensor(2.0))",
    "an index": "r = torch.zeros(4, 5)[y]\ns = r + 1",
    "compared": "r = y == 1\nif r is False:\n    r = torch.ones(6)\ns = r * 2\nt = torch.ones(6) if (y != 1) is True else y + 1",
    "by its class": "r = y + 1 if isinstance(y, torch.Tensor) else torch.ones(7)\ns = torch.ones(3) if type(y) is type(None) else y + 1",
    "by its attributes": "r = torch.zeros(getattr(y, 'shape', (7,)))\ns = y + 1 if hasattr(y, 'shape') else torch.ones(7)",
    "arrays": "r = np.asarray(y)\ns = np.array([y, y], dtype=object if y is None else None)\nt = np.stack([y, y])",
    "matched": "match y:\n    case None:\n        r = torch.ones(7)\n    case _:\n        r = y + 1\ns = r + 1",
    "put before": "r = torch.diff(torch.zeros(2, 3), prepend=y)\ns = r + 1",
    "caught": "try:\n    r = y + 1\nexcept TypeError:\n    r = torch.zeros(7)\ns = r + 1",
    "replaced": "y = y if y is not None else torch.ones(5)\nr = y + 1",
    "until it is there": "while y is None:\n    y = torch.ones(4)\nr = y + 1",
    "handed on": "def g(a, y=None):\n    return a if y is None else a.sum() + y\nr = g(torch.ones(8), y)\ns = r + 1",
    "in containers": "d = {'a': y}\nv = d['a']\nr = v + 1 if v is not None else torch.ones(3)\nw = [a for a in (y, torch.ones(2, 3)) if a is not None][0]\ns = w + 1",
    "turned in place": "r = torch.zeros(2, 3)\nz = y\nif y is not None:\n    z = y.view(-1)\n    y.unsqueeze_(0)\n    r = y + 1\n    t = z + 1",
    "carried": "r = y\nfor _ in range(3):\n    r = torch.ones(3) if r is None else r + 1\ns = r + 1",
}
LAYERS = {
    "or None": "nn.Linear(3, 4) if flag else None",
    "or nothing": "nn.Linear(3, 4) if flag else nn.Identity()",
    "of two sizes": "nn.Linear(3, 4) if flag else nn.Linear(3, 5)",
    "of two ranks": "nn.Flatten(1) if flag else nn.Linear(3, 7)",
    "that refuse one another's ranks": "nn.Conv1d(2, 6, 1) if flag else nn.LayerNorm(3)",
    "of the program": "Own(3) if flag else nn.Identity()",
    "of the program, or None": "Own(3) if flag else None",
    "of three": "nn.Linear(3, 4) if flag else (nn.Identity() if flag is None else nn.Flatten())",
}
CALLED = {
    "called": "y = self.n(x)\nz = y + 1",
    "asked": "if self.n is not None:\n    x = self.n(x)\nz = x + 1",
    "by its truth": "x = self.n(x) if self.n else x\nz = x + 1",
    "or another": "x = (self.n or nn.Flatten())(x)\nz = x + 1",
    "by its class": "if isinstance(self.n, nn.Linear):\n    x = self.n(x)\nz = x + 1",
    "caught": "try:\n    x = self.n(x)\nexcept TypeError:\n    x = x.sum()\nz = x + 1",
    "its weight": "w = self.n.weight if hasattr(self.n, 'weight') else torch.ones(2)\nz = w + 1",
    "twice": "n = self.n\ny = n(x)\nn = nn.Flatten()\nz = n(y) + 1",
}
OWN = (
    "class Own(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n        self.up = nn.Linear(d, 9)\n"
    "    def forward(self, x):\n        return self.up(x).sum(1)\n"
)


def indented(text: str, by: int) -> str:
    return "\n".join(" " * by + line for line in text.split("\n"))


def told(source: str, path: Path) -> bool:
    """Whether the program ran, and nothing wrong is said of it."""
    with redirect_stdout(io.StringIO()):
        try:
            wrong = wrong_claims(path, HEAD + source)
        except (TypeError, ValueError, RuntimeError, IndexError):
            return False  # it stops on this way: nothing is asked of it
    assert wrong == {}, source
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", USED)
def test_a_tensor_that_may_be_none(use: str, tmp_path: Path) -> None:
    ran = 0
    for made, tensor, flag in itertools.product(MADE.values(), TENSORS, (True, False)):
        body = indented(made.replace("{t}", tensor) + "\n" + USED[use], 4)
        ran += told(f"def f(flag):\n{body}\n    return 0\nf({flag})\n", tmp_path / "program.py")
    assert ran >= 16


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", CALLED)
def test_one_of_a_few_layers(use: str, tmp_path: Path) -> None:
    ran = 0
    for layer, stated, flag, shape in itertools.product(
        LAYERS.values(), (True, False), (True, False), ("2, 2, 3", "2, 3")
    ):
        first, second = layer.split(" if flag else ", 1)
        made = f"if flag:\n    self.n = {first}\nelse:\n    self.n = {second}" if stated else f"self.n = {layer}"
        ran += told(
            f"{OWN}class M(nn.Module):\n    def __init__(self, flag):\n        super().__init__()\n{indented(made, 8)}\n"
            f"    def forward(self, x: torch.Tensor):\n{indented(CALLED[use], 8)}\n        return z\n"
            f"M({flag})(torch.ones({shape}))\n",
            tmp_path / "program.py",
        )
    assert ran >= 16


KNOWN: dict[str, tuple[str, dict[str, Any]]] = {
    "a parameter or None": (
        """
class Net(nn.Module):
    def __init__(self, dim, placed):
        super().__init__()
        self.place = nn.Parameter(torch.zeros(1, 4, dim)) if placed else None
        self.norm = nn.LayerNorm(dim) if placed else None
        self.up = nn.Linear(dim, 2 * dim) if placed else nn.Identity()
    def forward(self, x: torch.Tensor):
        B, N, C = x.shape
        if self.place is not None:
            x = x + self.place
        y = self.norm(x) if self.norm is not None else x
        z = self.up(y)
        return z
for placed in (True, False):
    Net(8, placed)(torch.zeros(2, 4, 8))
""",
        {"y": ("B", "?", "C"), "z": ("B", "?", "?")},
    ),
    "a layer's own weight": (
        """
class Scaled(nn.Conv2d):
    def __init__(self, inputs, outputs, size, **rest):
        super().__init__(inputs, outputs, kernel_size=size, **rest)
    def forward(self, x):
        weight = self.weight * 2
        flat = weight.reshape(self.out_channels, -1)
        y = F.conv2d(x, flat.reshape_as(self.weight), self.bias)
        return y
class Plain(nn.Conv2d):
    def __init__(self, inputs, outputs, size, bias=True):
        super().__init__(inputs, outputs, size, bias=bias)
    def forward(self, x):
        turned = self.weight.transpose(0, 1)
        return F.conv2d(x, self.weight, self.bias)
Scaled(3, 5, 3)(torch.zeros(2, 3, 8, 8))
Plain(3, 5, 3, False)(torch.zeros(2, 3, 8, 8))
""",
        {
            "weight": ("?", "?", "?", "?"),
            "flat": ("?", "?"),
            "turned": ("self.in_channels", "self.out_channels", "?", "?"),
        },
    ),
    "ints that may be None": (
        """
def f(x: torch.Tensor, n: int | None = None, size: tuple[int, int] = (2, 3)):
    a = torch.zeros(n)
    b = torch.zeros(n * 2)
    h, w = size
    c = torch.zeros(h)
    d = torch.tensor([x.sum(), 1.0])
    e = torch.tensor(size[0])
    return a
f(torch.zeros(3), 4)
""",
        {"a": ("n",), "b": ("2*n",), "c": ("h",), "d": (2,), "e": ()},
    ),
    "what a test of equality tells": (
        """
def repeated(x: torch.Tensor, times: int):
    batch, heads, length = x.shape
    if times == 1:
        return x
    x = x[:, :, None].expand(batch, heads, times, length)
    return x.reshape(batch, heads * times, length)
def f(x: torch.Tensor, n: int):
    a, b = x.shape
    if n != 1:
        y = x.repeat(1, n)
    else:
        y = x
    z = y + 1
    if n == 2:
        y = x
    else:
        y = x.repeat(1, n)
    u = y + 1
    v = repeated(x[None], n) + 1
    return z
for n in (1, 2, 3):
    f(torch.zeros(2, 3), n)
""",
        {"z": ("a", "n*b"), "u": ("a", "?"), "v": (1, "n*a", "b")},
    ),
    "joined with what is known": (
        """
def f(x: torch.Tensor, other: torch.Tensor, index: torch.Tensor, flag):
    B, N, C = x.shape
    before = []
    if flag:
        before.append(other)
    y = torch.cat(before + [x], dim=1)
    z = torch.stack([x] + [x for _ in before], dim=1)
    w = torch.vstack(before + [x]) if flag else x
    picked = x.gather(1, index)
    after = index + 1
    return y
for flag in (True, False):
    f(torch.zeros(2, 3, 4), torch.zeros(2, 3, 4), torch.zeros(2, 1, 4, dtype=torch.long), flag)
""",
        {
            "y": ("B", "?", "C"),
            "z": ("B", "?", "N", "C"),
            "after": ("index.shape[0]", "index.shape[1]", "index.shape[2]"),
        },
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KNOWN)
def test_what_can_be_told_is_told(name: str, tmp_path: Path) -> None:
    source, expected = KNOWN[name]
    assert wrong_claims(tmp_path / "program.py", HEAD + source.lstrip()) == {}
    text = HEAD + source.lstrip()
    rows = {row.name: row.shape for row in analyse(ast.parse(text), text).bindings}
    for each, shape in expected.items():
        found = rows[each]
        assert found is not None, each
        assert len(found) == len(shape), each
        assert all(want in ("?", have) for want, have in zip(shape, found, strict=True)), (each, found)


# Numbers that may be None: how they come about, and what is done with them.
_NUMBERS = {
    "a constant": "n = 2 if flag else None",
    "a parameter": "n = one if flag else None",
    "a length": "n = len(x[:2]) if flag else None",
    "a statement": "n = None\n    if flag:\n        n = int(one)",
    "an integer of what nobody knows": "n = int(given) if given is not None else None",
    "a float": "n = 0.5 if flag else None",
    "a truth": "n = True if flag else None",
    "an attribute": "class Held:\n        n = one if flag else None\n    n = Held.n",
    "a parameter with an annotation": "n = optional",
}
_USES = [
    "x[n]", "x[:, n]", "a[n]", "a[:, n]", "x.sum(n)", "a.sum(n)", "a.mean(axis=n, keepdims=True)", "x[:n]", "x[n:]", "x[..., n]",
    "torch.zeros(2, 3)[[0, 1], n]", "np.expand_dims(a, n or 0)", "a.reshape(n or -1)", "x.flatten(n or 0)",
    "np.concatenate([a, a], axis=n)", "np.repeat(a, 2, axis=n)", "np.cumsum(a, axis=n)", "np.argmax(a, axis=n)",
    "x.squeeze() if n is None else x.unsqueeze(n)", "torch.max(x) if n is None else torch.max(x, n)[0]", "torch.clamp(x, n, 1)",
    "np.sort(a, axis=n)", "torch.zeros(n or 1)", "torch.zeros(n)", "np.zeros(n)", "np.array([n, 1])", "np.array(n)", "np.array([[n]])",
    "np.linspace(0, 1, n)", "np.take(a, 0, axis=n)", "a[n, n]", "a[n][n]", "np.asarray(n)", "np.atleast_1d(n)", "np.full(3, n)",
    "np.random.normal(size=n)", "np.random.randint(0, 3, n)", "np.random.default_rng(0).random(n)", "np.random.normal(n, 1)",
    "x.repeat_interleave(n or 1)", "torch.repeat_interleave(x, 2, dim=n)", "torch.roll(x, 1, n)", "np.roll(a, 1, axis=n)",
    "np.flip(a, n)", "np.diff(a, axis=n if n is not None else -1)", "a[np.array(n)]", "np.quantile(a, 0.5, axis=n)",
    "np.linalg.norm(a, axis=n)", "np.add(a, n)", "np.equal(a, n)", "a == n", "x == n", "x != n", "n == x", "a != n", "x + n", "n * a",
    "x - (n + 1)", "x / max(n, 1)", "max(n, 1) * x", "a * min(n, 0.5)", "np.where(a > 0, n, 1)", "np.isin(a, n)", "np.append(a, n)",
    "torch.arange(n)", "torch.tensor(n)", "torch.full((2,), n)", "x ** n", "-n * x", "x[[n]]", "x.view(-1)[n]", "x.transpose(0, n)",
    "torch.stack([x, x], n)", "torch.stack([x, x], dim=n or 0)", "x.softmax(n)", "x.argmax(n)", "x.argmax(dim=n, keepdim=True)",
    "x.mean(dim=n)", "x.std(n)", "x.norm(dim=n)", "x.unsqueeze(n)", "x.cumsum(n)", "x.topk(n)[0]", "x.chunk(n)[0]", "x.split(n)[0]",
    "[x, x, x][n]", "x.max(n)[0]", "torch.eye(n)", "np.eye(3, n)", "np.arange(3, n)", "x.any(n)", "x.all(dim=n)", "x.narrow(0, 0, n)",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("made", _NUMBERS)
def test_a_number_that_may_be_none(made: str, flag: bool, tmp_path: Path) -> None:
    lines = [
        line
        for at, use in enumerate(_USES)
        for line in ("    try:", f"        r{at} = {use}", "    except Exception:", "        pass")
    ]
    given = "True, 1, 2, 2" if flag else "False, 1, None"
    source = "\n".join([
        "from typing import Optional\n\nimport numpy as np\nimport torch\n\n",
        "def run(flag, one: int, given, optional: Optional[int] = None):",
        "    x, a = torch.zeros(3, 4, 5), np.zeros((3, 4, 5))",
        f"    {_NUMBERS[made]}",
        *lines,
        "\n",
        f"run({given})",
        "",
    ])  # fmt: skip
    assert wrong_claims(tmp_path / "program.py", source) == {}


@pytest.mark.parametrize("made", _NUMBERS)
def test_an_operator_is_given_the_number(made: str) -> None:
    source = f"import torch\ndef run(flag, one: int, given, optional: int | None = None):\n    x = torch.zeros(3, 4)\n    {_NUMBERS[made]}\n    y = x * n\n"
    shapes = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert shapes["y"] == (3, 4)
