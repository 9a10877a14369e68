"""What an array holds is known while it has no name: behind the statement anything may have changed it, by any way."""

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = "import operator\nimport numpy as np\nimport torch\n\n"

ARRAYS = """
a[0] = 5 | a[:] = 5 | a += 1 | a[1:] -= 1 | a.fill(4) | a[::-1].sort() | np.put(a, 0, 7) | np.copyto(a, [4, 5])
np.place(a, a > 2, 9) | np.add(a, 1, out=a) | np.add(a, 1, a) | np.add.at(a, [0], 3) | a.clip(4, 5, out=a)
b = a; b[0] = 9 | b = a[:]; b[0] = 9 | b = a.view(); b += 1 | b = a.reshape(2, 1); b[0, 0] = 9 | b = a.T; b[0] = 9
b = np.asarray(a); b[0] = 9 | b = [a]; b[0][0] = 9 | b = {"a": a}; b["a"][0] = 6 | (lambda v: v.fill(7))(a)
a.flat[0] = 8 | a.__setitem__(0, 8) | a[0], a[1] = a[1], a[0] | a[a > 2] = 6 | a[...] = 3 | memoryview(a)[0] = 6
[a.fill(k) for k in (5, 6)] | list(map(a.fill, [5, 6])) | getattr(a, "fill")(6) | f = a.fill; f(6)
operator.setitem(a, 0, 6) | t = torch.from_numpy(a); t += 1 | np.ndarray.fill(a, 7) | a.partition(0); a[0] += 1
"""

TENSORS = """
t[0] = 5 | t += 1 | t[1:] -= 1 | t.fill_(4) | torch.fill_(t, 4) | t.zero_() | t.add_(1) | t.copy_(torch.tensor([5, 6]))
t.apply_(lambda v: v + 1) | t.map_(t, lambda v, w: v + w) | torch.add(t, 1, out=t) | t.put_(torch.tensor([0]), torch.tensor([7]))
t.index_fill_(0, torch.tensor([0]), 7) | t.scatter_(0, torch.tensor([0]), 7) | t.masked_fill_(t > 2, 7) | t.clamp_(4, 5)
t.data.add_(3) | t.data[0] = 6 | t.data = torch.tensor([4, 5]) | t.numpy()[0] = 4 | b = np.asarray(t); b[0] = 6
t.untyped_storage().fill_(0) | t.set_(torch.tensor([4, 5])) | b = t; b[0] = 9 | b = t.view(-1); b.mul_(2) | b = t[0]; b.fill_(9)
t[0].add_(9) | b = t.detach(); b.add_(1) | b = [t]; b[0][0] = 9 | t[0], t[1] = 5, 6 | (lambda v: v.fill_(7))(t)
torch.nn.init.ones_(t) | torch._foreach_add_([t], 1) | t.bitwise_left_shift_(1) | b, c = t.unbind(); b.add_(1)
b, c = t.split(1); b.add_(1) | b, c = t; b.add_(1) | [t.fill_(k) for k in (5, 6)] | torch.cumsum(t, 0, out=t)
"""

USES_OF_ARRAYS = [
    "z = np.zeros(a[0])", "z = np.zeros(a.tolist())", "z = np.zeros(a.prod())", "p, q = a\nz = np.zeros((p, q))",
    "z = np.zeros(int(a[-1]))", "z = np.zeros(a[0].item())", "z = np.zeros([int(v) for v in a])", "z = np.zeros(np.prod(a))",
]  # fmt: skip
USES_OF_TENSORS = [
    "z = torch.zeros(t[0])", "z = torch.zeros(t.tolist())", "z = torch.zeros(t.prod())", "p, q = t.tolist()\nz = torch.zeros(p, q)",
    "z = torch.zeros(int(t[-1]))", "z = torch.zeros(t[0].item())", "z = torch.zeros([int(v) for v in t])", "z = torch.zeros(*t)",
]  # fmt: skip


def lines_of(text: str) -> list[str]:
    return [each.strip().replace("; ", "\n") for line in text.strip().split("\n") for each in line.split(" | ")]


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.split("\n"))


@pytest.mark.parametrize(
    ("made", "change", "uses"),
    [
        *(("a = np.array([2, 3])", change, USES_OF_ARRAYS) for change in lines_of(ARRAYS)),
        *(("t = torch.tensor([2, 3])", change, USES_OF_TENSORS) for change in lines_of(TENSORS)),
    ],
)
def test_what_an_array_held_before_it_was_changed_is_not_claimed(
    made: str, change: str, uses: list[str], tmp_path: Path
) -> None:
    source = HEAD
    for at, use in enumerate(uses):
        source += f"{made}\n{change}\n{use}\n"
        source += f"def f{at}():\n{indented(made)}{indented(change)}{indented(use)}    return z\nf{at}()\n"
    assert not wrong_claims(tmp_path / "program.py", source)


@pytest.mark.parametrize(
    "source",
    [
        "def change(a):\n    a[0] = 5\n    return np.zeros(a[0])\nz = change(np.array([2, 3]))\n",
        "z = (lambda a: (a.fill(5), np.zeros(a[0])))(np.array([2, 3]))[1]\n",
        "def make():\n    return np.array([2, 3])\na = make()\na[0] = 5\nz = np.zeros(a[0])\n",
        "class A:\n    def __init__(self):\n        self.a = np.array([2, 3])\n    def go(self):\n        self.a[0] = 5\n"
        "        return np.zeros(self.a[0])\nz = A().go()\n",
        "a = np.array([2, 3])\nfor i in range(3):\n    z = np.zeros(a[0])\n    a += 1\n",
        "a = np.array(3)\nb = a\na += 1\nz = np.zeros(int(b))\n",
        "n = torch.tensor(3)\nb = n\nb += 1\nz = torch.zeros(n)\n",
        "n = torch.tensor([2, 3]).prod()\nb = n\nb += 1\nz = torch.zeros(n)\n",
    ],
)  # fmt: skip
def test_wherever_the_array_is_held(source: str, tmp_path: Path) -> None:
    assert not wrong_claims(tmp_path / "program.py", HEAD + source)


@pytest.mark.parametrize(
    ("source", "shape"),
    [
        ("z = np.zeros(np.prod([h, w]))", ("h*w",)),
        ("n = np.prod((h, w))\nz = np.zeros((n, 2))", ("h*w", 2)),
        ("z = np.zeros(np.array([h, w])[0])", ("h",)),
        ("z = np.zeros(np.array([h, w]).tolist())", ("h", "w")),
        ("n = np.int64(h)\nx = n + 1\nz = np.zeros(n)", ("h",)),
        ("z = torch.zeros(torch.tensor([h, w]).tolist())", ("h", "w")),
        ("n = torch.tensor([h, w]).prod().item()\nm = 3\nz = torch.zeros(n)", ("n",)),
        ("h, w = np.array((h, w)).tolist()\nz = np.zeros((w, h))", ("w", "h")),
    ],
)
def test_what_has_no_name_and_what_nobody_can_change_stays_known(
    source: str, shape: tuple[int | str, ...], tmp_path: Path
) -> None:
    source = f"{HEAD}def go(x):\n    h, w = x.shape\n{indented(source)}    return z\ngo(np.ones((3, 4)))\n"
    assert {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}["z"] == shape
    assert not wrong_claims(tmp_path / "program.py", source)
