"""Axes that may be empty, and numbers that may be 0, 1 or negative: by way of views, loops, fields, lists and dictionaries."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = "import random\nimport numpy as np\nimport torch\nfrom torch import nn\n"


def shown(body: str) -> dict[str, object]:
    """What is said last of each name in a function with this body."""
    source = f"{HEAD}def go(x, n, m, k):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


# What is taken of x, of which it is not known how many axes it has: nothing, in one of the calls.
TAKEN = [
    "x[x.sum(-1) > n]",
    "x[x.sum(-1) > n][:1]",
    "x[n:]",
    "x[n:][:1]",
    "x[:k]",
    "x[n:, :]",
    "x[n:] * 2",
    "x[n:].float()",
]
VIEWS = [
    "{}.view(-1, {}.shape[-1])", "{}.reshape(-1, c)", "{}.contiguous().view(-1, c)", "torch.from_numpy(np.asarray({}).reshape(-1, c))",
    "{}.flatten(0, -2)",
]  # fmt: skip
# Nothing that names the length of y.
USES = ["y.split(1)[0]", "y[:1]", "[t for t in torch.as_tensor(y).split(1)][0]", "y[-1:]"]


@pytest.mark.parametrize("taken", TAKEN)
def test_what_is_taken_of_an_object_nobody_knows_may_be_empty(taken: str, tmp_path: Path) -> None:
    for known in ("x = torch.relu(x)", "x = x[..., :3]", "pass"):
        # Of an object that may be a list, too, only what is cut out of it and viewed at once.
        for view in VIEWS if "relu" in known else VIEWS[:2] if taken.endswith("]") else ():
            lines = [known, "*_, c = x.shape", f"w = {taken}", f"y = {view.replace('{}', 'w')}"]
            lines += [f"u{at} = {use}" for at, use in enumerate(USES)]
            source = f"{HEAD}def go(x, n, k):\n" + "".join(f"    {line}\n" for line in lines)
            source += (
                "for n, k in ((2, 3), (9, 0)):\n    go(torch.ones(random.choice([4]), random.choice([3])), n, k)\n"
            )
            assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_an_object_of_which_all_is_taken_stays_known() -> None:
    rows = shown("y = torch.relu(x).view(-1, 3)\na = y[:1]\nb = y.split(1)[0]\nc = (x * 2.0).reshape(-1, m)[:1]")
    assert rows["a"] == rows["b"] == (1, 3)


# What a loop binds anew that reads it, and how it is read.
PLACES = {"n": "n", "s.n": "s.n", "o['n']": "o['n']", "rows[0]": "rows[0]"}
ANEW = [
    "for q in range(1): {} = q", "for q in (1, 0): {} = q", "{} = 0", "{} -= {}", "{} = len([])", "{} = [0][0]", "{} //= 9", "{} = m - m",
    "{} = q = 0", "{} = unknown(0)", "{} = int(m / 99)", "{} -= 9", "{} = -1", "{} = {} - 9",
]  # fmt: skip
READ = [
    "torch.tensor([i for i in range({})])", "torch.tensor([1] * {})", "torch.tensor(list(range({})))", "torch.zeros(max({}, 0), 2)[:1]",
    "np.array([1] * {})", "torch.tensor([1.0] + [2] * {})",
]  # fmt: skip


@pytest.mark.parametrize("anew", ANEW)
def test_a_number_that_a_round_binds_anew(anew: str, tmp_path: Path) -> None:
    for place in PLACES:
        lines = "".join(f"            z{at} = {use.replace('{}', place)}\n" for at, use in enumerate(READ))
        for anew_in_branch in (anew.replace("{}", place), f"if m % 2: {anew.replace('{}', place)}"):
            if "if" in anew_in_branch and "for" in anew_in_branch:
                continue
            source = (
                f"{HEAD}def unknown(n): return eval('n')\nclass A: pass\ndef go(n, m):\n    s = A()\n    s.n = n\n    o = {{'n': n}}\n"
                f"    rows = [n]\n    while m > 0:\n        m -= 1\n        for p in range(2):\n{lines}            {anew_in_branch}\n"
                "for m in (0, 4): go(random.choice([5]), random.choice([m]))\n"
            )
            assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_a_number_that_is_no_less_than_before_stays_known() -> None:
    assert shown("for i in range(3):\n    z = torch.tensor([0 for _ in range(n)])")["z"] == ("n",)
    assert shown("for i in range(3):\n    z = torch.zeros(n, 2)[:1]")["z"] == (1, 2)
    assert shown("if k:\n    n += 2\nz = torch.tensor([0 for _ in range(n)])")["z"] == ("n",)
    assert shown("q = unknown(m)\nz = torch.zeros(q, 2)[:1]\ny = torch.tensor([0 for _ in range(q)])")["z"] == (1, 2)


# Numbers that begin at 0, by way of what holds them; `n` is 1, 2 and 4.
NUMBERED = [
    "for j in [i for i in range(n)]", "for j in list(range(n))", "for j in sorted(range(n))", "for j in reversed([i for i in range(n)])",
    "for q, j in enumerate([i for i in range(n)])", "for q, j in zip([i for i in range(n)], [i for i in range(n)])", "for j, q in [(i, 2) for i in range(n)]",
    "for j in {i for i in range(n)}", "for j in {i: 1 for i in range(n)}", "for j in {i: 1 for i in range(n)}.keys()", "for j, q in {i: 1 for i in range(n)}.items()",
    "for j in {1: i for i in range(n)}.values()", "for j in [2 * i for i in range(n)]", "for j in [i + 1 for i in range(n)]", "for j in [i - 1 + 1 for i in range(n)]",
    "for j in [[i] for i in range(n)][0]", "for j in [i for i in range(n)][::-1]", "for j in [i for i in range(n)] + [3]", "for j in filter(None, [i for i in range(n)])",
    "j = [i for i in range(n)][0]\n    if True", "j = [i for i in range(n)].index(0)\n    if True", "j = [i for i in range(n)].pop()\n    if True",
    "j = max([i for i in range(n)])\n    if True", "j = random.randrange(n)\n    if True", "j = random.randint(0, n)\n    if True", "j = next(iter([i for i in range(n)]))\n    if True",
    "j = [i for i in range(n)][-1] + 1\n    if True", "j = abs([i for i in range(n)][-1])\n    if True", "j = (lambda a: a[0])([i for i in range(n)])\n    if True",
]  # fmt: skip
COUNTED = [
    "torch.zeros(2, {}, 3).squeeze()", "torch.zeros({}, 3)[:1]", "torch.zeros(3, {}) + torch.zeros(3, 1)", "torch.tensor([1] * {})",
    "torch.zeros({}, 3).split(1)[0]", "torch.zeros({} + 1, 3).squeeze(0)", "torch.zeros(2, {} + 1, 3).squeeze()", "torch.zeros(2, {} * 2)[:, :1]",
]  # fmt: skip


@pytest.mark.parametrize("numbered", NUMBERED)
def test_the_number_of_a_round(numbered: str, tmp_path: Path) -> None:
    lines = "".join(f"        e{at} = {use.replace('{}', 'j')}\n" for at, use in enumerate(COUNTED))
    source = f"{HEAD}def go(n):\n    {numbered}:\n{lines}for n in (1, 2, 4): go(random.choice([n]))\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_a_size_by_way_of_what_holds_it_stays_known() -> None:
    rows = shown(
        "for w in [n, m]:\n    a = torch.zeros(2, w, 3).squeeze()\nfor q, w in {'a': n, 'b': m}.items():\n    b = torch.zeros(2, w, 3).squeeze()"
    )
    assert len(rows["a"] or ()) == len(rows["b"] or ()) == 3  # type: ignore[arg-type]
    assert shown("j = random.randint(1, 9)\na = torch.zeros(2, j, 3).squeeze()")["a"] == (2, "j", 3)
    assert shown("for j in range(n):\n    a = torch.zeros(2, j + 2, 3)")["a"] == (2, "j + 2", 3)


# What may be an array: the list is not repeated then.
ARRAYS = {
    "one of two": "q = np.ones((2, 2)) if k else 3",
    "in a branch": "q = 3\nif k:\n    q = np.ones((2, 2))",
    "computed of a number": "q = 3\nif k:\n    q = q * np.ones((2, 2))",
    "computed of one of two": "p = np.ones((2, 2)) if k else 3\nq = p + 1",
    "a later round": "q = 3\nfor i in range(2):\n    p = [1] * q\n    b = np.array(p)\n    q = np.ones((2, 2))",
    "an item": "q = [3, np.ones((2, 2))][k]",
    "by a key": "q = {0: 1, 1: np.ones((2, 2))}[k]",
    "of a tuple gone through": "for q in (3, np.ones((2, 2))):\n    b = np.array([1] * q)",
    "given by a function": "def give(): return np.ones((2, 2)) if k else 3\nq = give()",
    "asked for its shape": "q = x\nr = q.shape[0]",
    "by the annotation": "def f(q: 'int | np.ndarray'):\n    b = np.array([1] * q)\nf(x)\nq = 3",
    "by a default": "def f(q: np.ndarray = 3):\n    b = np.array([1] * q)\nf(x)\nf()\nq = 3",
    "unless an error": "q = 3\ntry:\n    q = np.ones((2, 2))\n    [][k]\nexcept IndexError:\n    pass",
}  # fmt: skip


@pytest.mark.parametrize("kind", ARRAYS)
def test_a_list_times_what_may_be_an_array(kind: str, tmp_path: Path) -> None:
    body = (
        ARRAYS[kind]
        + "\nb = np.array([1] * q)\nc = np.array((1,) * q)\nd = np.array(q * [2.0])\ne = np.array([[1, 1]] * q)\nf = [v for v in [1] * q]\ng = np.array(f)"
    )
    source = f"{HEAD}def go(x, k):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    source += "for k in (1, 0) if 'x' not in '" + kind + "' else (1,): go(np.ones((2, 2)), random.choice([k]))\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_a_list_times_a_number_stays_known() -> None:
    rows = shown(
        "a = np.array([1] * n)\nq = n if k else m\nb = np.array([0.0] * q)\nc = torch.zeros([2] * 3)\nd = np.array([1] * x.shape[0])"
    )
    assert rows == {"a": ("n",), "b": ("q",), "c": (2, 2, 2), "d": ("x.shape[0]",)}
