"""What loops change of objects that have several names, and what a round leaves unchanged that is left early."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from handed_on_programs import HEAD, KINDS, make
from test_inference_adversaries import wrong_claims


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_nothing_wrong_is_said_of_random_programs(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 50):
        source = make(seed)
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


# How two names get their objects, `{b}` and `{c}`, and how a third gets one of them.
GIVEN = {
    "each by itself": "    b = {b}\n    c = {c}\n",
    "at once": "    b, c = {b}, {c}\n",
    "by a loop": "    for b, c in [({b}, {c})]: pass\n",
    "by a function": "    def both(): return {b}, {c}\n    b, c = both()\n",
    "as arguments": "    b, c = (lambda b, c: (b, c))({b}, {c})\n",
    "with a star": "    b, *rest = {b}, {c}\n    c = rest[0]\n",
    "within an expression": "    d = (b := {b}, c := {c})[k]\n",
}
ONE_OF_TWO = {
    "an expression": "    d = c if k else b\n",
    "branches": "    if k: d = c\n    else: d = b\n",
    "a default": "    d = b\n    if k: d = c\n",
    "an item": "    d = (b, c)[k]\n",
    "an argument": "    d = (lambda b, c: c if k else b)(b, c)\n",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", GIVEN)
def test_one_of_two_may_be_one_of_others(given: str, kind: tuple[str, str, str], tmp_path: Path) -> None:
    made, read, put = kind
    names = GIVEN[given].format(b=made.format(i=12), c=made.format(i=13))
    for one in ONE_OF_TWO.values():
        source = HEAD.format(change="pass") + (
            f"def go(k, m):\n{names}{one}    e = d if m else c\n"
            f"    {put.format(n='e', v='Z(20, 4)')}\n    w = {read.format(n='b')}\n    v = {read.format(n='c')}\n    return w\n"
            "import random\nfor k in (0, 1):\n    for m in (0, 1): go(random.choice([k]), random.choice([m]))\n"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


# `{}` is what changes the object first, and leaves the round or the loop.
LEFT = {
    "a round": "    for x in range(7):\n        if x > 0:\n            {}\n            continue\n        c.r = Z(28, 4)\n",
    "a loop": "    for x in range(7):\n        if x > 0:\n            {}\n            break\n        c.r = Z(28, 4)\n",
    "a short loop": "    for x in (0, 1):\n        if x >= n:\n            {}\n            break\n        c.r = Z(28, 4)\n",
    "in the first of two": "    for x in (n, 1):\n        if x == n:\n            {}\n            break\n        c.r = Z(28, 4)\n",
    "a loop without an end": "    while True:\n        if n > 0:\n            {}\n            break\n        n += 1\n        c.r = Z(28, 4)\n",
    "behind another": (
        "    for x in range(7):\n        if x > 0:\n            for y in range(3):\n                b = c\n            {}\n            break\n"
        "        c.r = Z(28, 4)\n"
    ),
    "in a function": (
        "    def put(): c.r = Z(28, 4)\n    for x in range(7):\n        if x > 0:\n            {}\n            break\n        put()\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("change", ["c.r = Z(20, 4)", "b.r = Z(20, 4)", "change(c)"])
def test_what_is_assigned_behind_an_exit_may_not_be(left: str, change: str, tmp_path: Path) -> None:
    source = HEAD.format(change="x.r = Z(20, 4)") + (
        f"def go(n):\n    b = c = Obj(Z(13, 1))\n{LEFT[left].format(change)}    w = c.r\n    return w\ngo(1)\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_what_every_round_assigns_stays_known() -> None:
    import ast

    from tensorlint.inference.analysis import analyse

    source = HEAD.format(change="x.r = Z(20, 4)") + (
        "def go(n, rows):\n    c = Obj(Z(13, 1))\n    for x in rows:\n        if x:\n            continue\n        n += 1\n"
        "    c.r = Z(28, 4)\n    w = c.r\n    for x in rows:\n        c.r = Z(5, 5)\n        if x:\n            break\n        v = c.r\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows == {"w": (28, 4), "v": (5, 5)}
