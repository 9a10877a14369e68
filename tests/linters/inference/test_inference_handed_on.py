"""What loops change of objects that have several names, and what a round leaves unchanged that is left early."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from handed_on_programs import HEAD, KINDS, make
from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse


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


# Tuples that hold what is changed, how that is read and changed.
IN_TUPLES = [
    ("([{}], 0)", "{}[0][0]"), ("(({{'w': {}}},), 0)", "{}[0][0]['w']"), ("(Obj({}), 0)", "{}[0].r"), ("(0, [Obj({})])", "{}[1][0].r"),
    ("((([{}],),), 0)", "{}[0][0][0][0]"), ("([{}], [0])", "{}[0][0]"),
]  # fmt: skip
PASSED_ON = [
    "a = d\n        a, c = c, a", "a, c, e = c, e, d", "a = c\n        c = e\n        e = d", "a, c = c, (e if x > 4 else d)", "a, (c, e) = c, (e, d)",
    "a, c, e = (c[0], c[1]), (e[0], e[1]), (d[0], d[1])", "keep.append(d)\n        a = keep[x // 2]",
]  # fmt: skip


@pytest.mark.parametrize("held", IN_TUPLES)
def test_what_a_tuple_holds_that_rounds_hand_on_is_changed(held: tuple[str, str], tmp_path: Path) -> None:
    made, read = held
    for change in (f"{read.format('a')} = Z(20, 4)", f"(lambda t: t[0])([a]); {read.format('a')} = Z(20, 4)"):
        for handed in PASSED_ON:
            source = HEAD.format(change="pass") + (
                f"def go():\n    keep = []\n    a, c, e = {made.format(1)}, {made.format(2)}, {made.format(3)}\n    d = {made.format('Z(13, 1)')}\n"
                f"    keep += [a, c]\n    for x in range(9):\n        v = {read.format('d')}\n        {change}\n        {handed}\n"
                f"    w = {read.format('d')}\ngo()\n"
            )
            assert wrong_claims(tmp_path / "program.py", source) == {}, source


# What holds `b`, and in the same place of another a list that nobody knows; how one of the two is chosen, and changed.
BESIDE_UNKNOWN = {
    "a tuple": ("(b, 0)", "(c, 0)", "a = (e, a)[k > 0]", "a[0][0] = Z(9)"),
    "a list": ("[b, 0]", "[c, 0]", "a = e if not k else a", "a[0][0] = Z(9)"),
    "an object": ("Obj(b)", "Obj(c)", "a = (e, a)[k > 0]", "a.r[0] = Z(9)"),
    "a named tuple": ("Pair(b, 0)", "Pair(c, 0)", "a = (e, a)[k > 0]", "a.r[0] = Z(9)"),
    "a tuple in a tuple": ("((b, 0),)", "((c, 0),)", "if not k: a = e", "a[0][0][0] = Z(9)"),
    "a list that got longer": ("[]", "[c]", "a.append(c); a.append(5)\n    for x in range(k): a += e\n    a.append(b)", "a[-1][0] = Z(9)"),
    "any item": ("[b, c]", "[c, b]", "a = a[0] if k else e[1]", "a[0] = Z(9)"),
    "a loop": ("Pair(b, 0)", "Pair(c, 0)", "for x in range(k): a = e", "a.r[0] = Z(9)"),
    "a loop with a known one": ("Pair(b, 0)", "Pair([2], 0)", "for x in range(k): a = e", "a.r[0] = Z(9)"),
    "a changed one": ("Pair(b, 0)", "Pair([2], 0)", "def inner(): e.r[0] = 1\n    a = (e, a)[k > 0]; inner()\n    a = (e, a)[k > 0]", "a.r[0] = Z(9)"),
}  # fmt: skip


@pytest.mark.parametrize("beside", BESIDE_UNKNOWN)
def test_what_is_known_is_changed_by_way_of_what_may_be_unknown(beside: str, tmp_path: Path) -> None:
    first, second, chosen, change = BESIDE_UNKNOWN[beside]
    source = HEAD.format(change="pass") + (
        "import collections, json, random\nPair = collections.namedtuple('Pair', 'r s')\n"
        f"def go(k):\n    b = [Z(13, 1)]\n    c = json.loads('[[5]]')[0]\n    a, e = {first}, {second}\n    {chosen}\n    {change}\n"
        "    w = b[0]\n    return w\nfor k in (0, 1, 2): go(random.choice([k]))\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_what_every_round_assigns_stays_known() -> None:
    source = HEAD.format(change="x.r = Z(20, 4)") + (
        "def go(n, rows):\n    c = Obj(Z(13, 1))\n    for x in rows:\n        if x:\n            continue\n        n += 1\n"
        "    c.r = Z(28, 4)\n    w = c.r\n    for x in rows:\n        c.r = Z(5, 5)\n        if x:\n            break\n        v = c.r\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows == {"w": (28, 4), "v": (5, 5)}


# What puts something else into a dictionary or a list, and where a run may not come by there.
PUT = {
    "an item": ("{'w': Z(13, 1)}", "a['w'] = Z(20, 4)", "a['w']"),
    "an item of a list": ("[Z(13, 1)]", "a[0] = Z(20, 4)", "a[0]"),
    "an item within": ("{'w': [Z(13, 1)]}", "change(a)", "a['w'][0]"),
    "a method": ("{'w': Z(13, 1)}", "a.update(w=Z(20, 4))", "a['w']"),
    "what is taken out": ("{'w': Z(13, 1)}", "a.pop('w', None)", "a.get('w', Z(20, 4))"),
    "an operator": ("{'w': Z(13, 1)}", "a |= {'w': Z(20, 4)}", "a['w']"),
    "an attribute": ("Obj(Z(13, 1))", "a.r = Z(20, 4)", "a.r"),
}
PERHAPS = {
    "behind a break": "for x in (1, 2):\n        if k: break\n        {}\n",
    "behind a break of several": "for x in range(3):\n        while x < 5: x += 1\n        if x: break\n        {}\n",
    "behind a continue": "for x in (1, 2):\n        if k: continue\n        {}\n",
    "behind a match": "for x in (1, 2):\n        match k:\n            case 1: break\n        {}\n",
    "where nothing has left the loop": "for x in (1, 2):\n        if k: break\n    else:\n        {}\n",
    "where nothing has left the inner loop": (
        "for x in (1, 2):\n        for z in y:\n            if k: break\n        else: continue\n        {}\n"
    ),
    "in the first of no rounds": "for x in y:\n        {}\n        break\n",
    "in the only round": "while k:\n        {}\n        break\n",
}  # fmt: skip
_CALLS = (
    "go(random.choice([0]), [])\ngo(random.choice([1]), [])\ngo(random.choice([0]), [1])\ngo(random.choice([1]), [1])\n"
)


@pytest.mark.parametrize("perhaps", PERHAPS)
@pytest.mark.parametrize("put", PUT)
def test_what_is_put_where_some_runs_do_not_come_by(put: str, perhaps: str, tmp_path: Path) -> None:
    made, change, read = PUT[put]
    source = HEAD.format(change="x['w'][0] = Z(20, 4)") + (
        f"import random\ndef go(k, y):\n    a = {made}\n    {PERHAPS[perhaps].format(change)}    w = {read}\n    v = {read}\n{_CALLS}"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}, source


# What holds `b`, what puts another object there, and what changes the one that is there then.
HELD = {
    "a dictionary": ("{'w': b}", "a['w'] = [Z(20, 4)]", "a['w'][0] = Z(9)"),
    "a list": ("[b]", "a[0] = [Z(20, 4)]", "a[0][0] = Z(9)"),
    "a list in a tuple": ("([b],)", "a[0][0] = [Z(20, 4)]", "a[0][0][0] = Z(9)"),
    "a list twice": ("[b, b]", "a[0], a[1] = a[1], [Z(20, 4)]", "a[0][0] = Z(9)"),
    "a method": ("{'w': b}", "a.update(w=[Z(20, 4)])", "a['w'].clear(); a['w'].append(Z(9))"),
    "what is taken out": ("{'w': b}", "a.pop('w', 0)", "a.get('w', [0])[0] = Z(9)"),
    "a function": ("{'w': b}", "change(a)", "a['w'][0] = Z(9)"),
    "an object": ("Obj(b)", "a.r = [Z(20, 4)]", "a.r[0] = Z(9)"),
}
NO_ROUND = [*("for x in y: {}", "while y:\n        {}\n        y = y[1:]"), "for x in y:\n        {}\n        break"]


@pytest.mark.parametrize("held", HELD)
def test_what_was_held_before_no_round_is_held_still(held: str, tmp_path: Path) -> None:
    made, change, changes = HELD[held]
    for loop in NO_ROUND:
        source = HEAD.format(change="x['w'] = [Z(20, 4)]") + (
            f"import random\ndef go(k, y):\n    b = [Z(13, 1)]\n    a = {made}\n    {loop.format(change)}\n    {changes}\n"
            f"    w = b[0]\n{_CALLS}"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_what_a_round_has_made_itself_is_known_behind_an_exit() -> None:
    source = HEAD.format(change="pass") + (
        "def go(k, y):\n    a = {'w': Z(13, 1)}\n    for x in (1, 2):\n        if k: continue\n        b = {}\n        b['w'] = Z(20, 4)\n"
        "        c = b['w']\n        b.pop('w')\n        d = a['w']\n    a['w'] = Z(9, 1)\n    e = a['w']\n    for x in y:\n"
        "        f = [Z(2)]\n        f[0] = Z(3)\n        g = f[0]\n        break\n    for x in y: pass\n"
        "    else:\n        a['w'] = Z(7, 1)\n    h = a['w']\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    expected = {"c": (20, 4), "d": (13, 1), "e": (9, 1), "g": (3,), "h": (7, 1)}
    assert {name: rows.get(name) for name in expected} == expected
