"""Sizes that branches and rounds compute, tensors cut and joined with them: what is said of a line holds there in every round."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from size_programs import HEAD, make
from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_nothing_wrong_is_said_of_random_programs(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 50):
        source = make(seed)
        try:
            wrong = wrong_claims(tmp_path / "program.py", source)
        except (LookupError, NameError, RuntimeError):
            continue  # another version of torch may refuse a line
        assert wrong == {}, source


def shown(body: str) -> dict[str, object]:
    """What is said last of each name in a function with this body."""
    source = f"import torch\nimport numpy as np\nfrom torch import nn\ndef go(x, n, m, o):\n{body}"
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


# What gives the tensor itself, or may; `x` has two axes.
ITSELF = [
    "x.contiguous()", "x.float()", "x.requires_grad_(False)", "x.flatten(0, 0)", "x.clamp_(0)", "+x", "x.float().contiguous()",
    "nn.Flatten(0, 0)(x)", "nn.ReLU(True)(x)", "nn.Identity()(x)", "x.real",
]  # fmt: skip
KNOWN_AS = {
    "a parameter": "a, b = x.shape",
    "of stated rank": "assert x.ndim == 2",
    "of either library": "x = x.reshape(-1, x.shape[1])",
    "made": "x = torch.zeros(n, 4)",
}


@pytest.mark.parametrize("change", ["unsqueeze_(0)", "t_()", "resize_(7, 3, 2)", "data = torch.zeros(9)"])
@pytest.mark.parametrize("known", KNOWN_AS)
def test_a_tensor_given_back_is_reshaped_with_it(known: str, change: str, tmp_path: Path) -> None:
    for itself in ITSELF:
        for changed, read in (("x", "y"), ("y", "x"), ("x", "x")):
            source = HEAD + (
                f"def go(x, n):\n    {KNOWN_AS[known]}\n    y = {itself}\n    {changed}.{change}\n"
                f"    z = {read}[..., None]\n    w = {read} * 2\ngo(torch.ones(5, random.choice([4])), random.choice([5]))\n"
            )
            assert wrong_claims(tmp_path / "program.py", source) == {}, source


@pytest.mark.parametrize("itself", ["np.asarray(h)", "h.squeeze()", "np.atleast_1d(h)", "h.real"])
@pytest.mark.parametrize("change", ["shape = -1, 1, 1", "resize(7, 3, 2, refcheck=False)"])
def test_an_array_given_back_is_reshaped_with_it(change: str, itself: str, tmp_path: Path) -> None:
    for known in ("a, b = h.shape", "h = np.zeros((5, 4))"):
        for changed, read in (("h", "y"), ("y", "h")):
            source = "import numpy as np, random\n" + (
                f"def go(h):\n    {known}\n    y = {itself}\n    {changed}.{change}\n    z = {read}[..., None]\n"
                "go(np.ones((random.choice([5]), random.choice([4]))))\n"
            )
            assert wrong_claims(tmp_path / "program.py", source) == {}, source


# `{}` binds x or n anew in a round, behind the line that is asked for and reads neither.
BOUND_ANEW = {
    "a number": ("    n = x.shape[1]\n    u = torch.zeros(m, n)\n", "n = 4"),
    "the target of a loop": ("    n = x.shape[1]\n    u = torch.zeros(m, n)\n", "for n in range(3): w = u.numel()"),
    "a tensor": ("    assert x.ndim == 2\n    u = x.reshape(-1).float()\n", "x = u[:2]"),
    "one of two": ("    assert x.ndim == 2\n    u = torch.cat([x, x])\n", "x, w = u, u[:3]"),
}


@pytest.mark.parametrize("loop", ["for t in range(8):", "while m < 9:", "for t in u.split(2):"])
@pytest.mark.parametrize("bound", BOUND_ANEW)
def test_a_size_is_not_told_by_a_name_of_the_round_before(bound: str, loop: str, tmp_path: Path) -> None:
    before, again = BOUND_ANEW[bound]
    source = HEAD + (
        f"def go(x, m):\n{before}    {loop}\n        v = u.double()\n        m += 1\n        {again}\n"
        "go(torch.ones(random.choice([5]), random.choice([6])), random.choice([3]))\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}, source


# What stores another number under the key or the attribute, of an object that a function is given.
STORED = {
    "an item": "o['w'] = 9",
    "added to": "o['w'] += 9",
    "perhaps": "\n    if n: o['w'] = 9\n",
    "a method": "o.update(w=9)",
    "another name": "e = o; e['w'] = 9",
    "a computed key": "e = 'w'; o[e] = 9",
    "a function": "put(o, 9)",
    "a function by name": "put(a=9, o=o)",
    "a function that gives something": "e = (lambda o: o.update(w=9))(o)",
}


@pytest.mark.parametrize("stored", STORED)
def test_a_size_is_not_told_by_an_item_that_is_stored_anew(stored: str, tmp_path: Path) -> None:
    for first in ("", "    o['w'] = 4\n"):
        source = HEAD + (
            f"def go(o, n):\n{first}    y = torch.zeros(o['w'], 2)\n    {STORED[stored]}\n    z = y.float()\n"
            "    w = torch.zeros(o['w'], 2)\n    v = w + 1\ngo({'w': random.choice([5])}, random.choice([2]))\n"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, source
    source = HEAD + (
        "def go(o):\n    y = torch.zeros(o.w, 2)\n    setattr(o, 'w', 9)\n    z = y.float()\n"
        "class O: w = 5\ngo(random.choice([O()]))\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


# What may be empty, of numbers that are sizes.
PERHAPS_EMPTY = [
    "torch.zeros(n, 3)[torch.zeros(n) > 0]", "torch.zeros(n, 3).nonzero()", "torch.zeros(n)[2:]", "torch.arange(n // 3)[1:]",
    "torch.zeros(n, 3).masked_select(torch.zeros(n, 1) > 0)", "torch.arange(n)[2:5]", "torch.zeros(n).tensor_split(4)[-1]",
    "torch.arange(n, m)", "torch.zeros(n)[m:]", "torch.zeros(n)[2:] if m > 1 else torch.zeros(n)", "torch.zeros(n, 3).squeeze().nonzero()",
    "np.zeros(n)[2:]", "np.zeros(n)[np.zeros(n) > 0]", "np.flatnonzero(np.zeros(n))", "np.argwhere(np.zeros((n, 2)))", "np.arange(-n)",
    "np.intersect1d(np.zeros(n), np.ones(n))", "np.array_split(np.zeros(n), 4)[-1]", "np.arange(n, m)",
]  # fmt: skip


@pytest.mark.parametrize("made", PERHAPS_EMPTY)
def test_no_item_is_said_to_be_where_there_may_be_none(made: str, tmp_path: Path) -> None:
    source = HEAD + (
        f"import numpy as np\ndef go(n, m):\n    n = int(n)\n    y = {made}\n    z = y[:1]\n    w = y[-1:]\n    v = y[1:][:1]\n"
        "    for i in range(2):\n        y = y[1:]\n        u = y[:1]\ngo(random.choice([2]), random.choice([2]))\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}, source


@pytest.mark.parametrize("parts", ["x.chunk(2, -2)", "x.split([1, x.shape[-2] - 1], -2)", "x.tensor_split(2, -2)"])
def test_parts_of_unknown_rank_have_sizes_of_their_own(parts: str, tmp_path: Path) -> None:
    source = HEAD + (
        f"def go(x):\n    x = x.float()\n    n = x.shape[-2]\n    v, w = {parts}\n    z = v > n\n    u, y = w, v\n"
        "go(torch.ones(random.choice([5]), random.choice([4])))\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}, source


# What gives a size of the last round a name behind the loop.
NAMED_BEHIND = [
    "p, m = y.shape", "p = y.shape[0]", "p = len(y)", "p: int = y.size(0)", "(p := y.shape[0])", "p, *_ = y.shape", "for t in x:\n        p = len(y)",
    "if k:\n        p = y.shape[0]",
]  # fmt: skip
ROUNDS_BEFORE = [
    "while m < 9:\n        y = torch.zeros(m, m)\n        m += 1", "for t in x:\n        y = torch.zeros(m, 2)\n        m += 1",
    "for t in x.split(2):\n        y = t.reshape(-1)\n        w = torch.zeros(len(y), 2)\n        y = y[:, None]",
    "while x.shape[0] > 2:\n        x = x[1:]\n        y = x.reshape(-1, 2)\n        w = torch.zeros(len(y))",
    "for t in x:\n        for u in x:\n            y = torch.zeros(m, 2)\n            m += 1\n        v = y + 1",
    "for t in x:\n        if m > 3: y = torch.zeros(m, m)\n        m += 2",
]  # fmt: skip


@pytest.mark.parametrize("loop", ROUNDS_BEFORE)
def test_a_size_of_the_last_round_is_not_that_of_each(loop: str, tmp_path: Path) -> None:
    for named in NAMED_BEHIND:
        source = HEAD + (
            f"def go(x, m, k):\n    {loop}\n    {named}\n    z = y.float()\n"
            "go(torch.ones(random.choice([7]), 4), random.choice([3]), random.choice([1]))\n"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_an_attribute_does_not_tell_the_size_of_each_round(tmp_path: Path) -> None:
    source = HEAD + (
        "class A:\n    def __init__(self, m):\n        while m < 9:\n            y = torch.zeros(m, m)\n            m += 1\n"
        "        self.p = y.shape[0]\n        z = y.float()\n    def f(self):\n        w = torch.zeros(self.p, 2)\n        v = w + 1\n"
        "A(random.choice([3])).f()\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (rows["z"], rows["v"]) == (("self.p", "self.p"), ("self.p", 2))


PERHAPS_BOUND = ["if n > 3:", "for i in range(n - 3):", "while m < 4:\n            m += 1", "if k and n > 3 or n == 5:"]


@pytest.mark.parametrize("perhaps", PERHAPS_BOUND)
def test_a_round_may_read_what_an_earlier_one_has_bound(perhaps: str, tmp_path: Path) -> None:
    for made in ("torch.zeros(n, 2)", "torch.eye(n).reshape(-1)", "x[:n]"):
        source = HEAD + (
            f"def go(x, m, k):\n    for t in torch.tensor([5, 2, 4]):\n        n = int(t)\n        {perhaps}\n            w = {made}\n"
            "        v = w * 1\n        u = torch.zeros(n, 3)\ngo(torch.ones(random.choice([7]), 4), random.choice([2]), random.choice([0]))\n"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, source
    body = "    for t in x:\n        n = int(t)\n        if n: w = torch.zeros(4, 2)\n        v = w * 1\n        u = torch.zeros(n, 3)\n        z = u + 1\n"
    rows = shown(body)
    assert (rows["v"], rows["z"]) == ((4, 2), ("n", 3))


def test_a_name_behind_a_loop_tells_what_was_before_it() -> None:
    body = (
        "    assert x.ndim == 2\n    y = x.float()\n    for i in range(9):\n        z = y + 1\n        u = torch.zeros(m, m)\n        m += 1\n"
        "    a, b = x.shape\n    p, m = u.shape\n    v = u * 2\n    for t in x:\n        w = u + 1\n"
    )
    rows = shown(body)
    assert {name: rows[name] for name in "yzuvw"} == {
        "y": ("a", "b"), "z": ("a", "b"), "u": ("m", "m"), "v": ("p", "p"), "w": ("p", "p"),
    }  # fmt: skip


def test_what_stays_known() -> None:
    body = (
        "    assert x.ndim == 2\n    a, b = x.shape\n    y = torch.zeros(n, 4)\n    y.unsqueeze_(0)\n    c = torch.zeros(o['w'], m)\n"
        "    d = torch.zeros(o.w, m)\n    for i in range(9):\n        e = c.float()\n        f = x.view(a, b)\n        g = f[:1]\n"
        "        y = c[1:]\n    h = torch.zeros(3 * a).split(a)[0]\n    p, q = torch.zeros(n, 6).chunk(2, -1)\n"
        "    r = torch.zeros(n, m).split(1)[0]\n    s = torch.arange(n)[:1]\n    t = +c\n    u = torch.zeros(m, 2)[1:]\n"
    )
    rows = shown(body)
    assert {name: rows[name] for name in "cdefghpqrstu"} == {
        "c": ("o['w']", "m"), "d": ("o.w", "m"), "e": ("o['w']", "m"), "f": ("a", "b"), "g": (1, "b"), "h": ("a",),
        "p": ("n", 3), "q": ("n", 3), "r": (1, "m"), "s": (1,), "t": ("o['w']", "m"), "u": ("m - 1", 2),
    }  # fmt: skip
