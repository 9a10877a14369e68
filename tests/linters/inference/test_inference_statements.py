"""What holds where an error is caught, behind what an expression changes, and of one of several lists that changes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from statement_programs import HEAD, make
from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse


@pytest.mark.parametrize("first", range(0, 160, 40))
def test_nothing_wrong_is_said_of_random_statements(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 40):
        source = make(seed)
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


CAUGHT = {
    "where a branch ends with an error": (
        "t = Z(11)\nwith suppress(ValueError):\n    if k:\n        t = Z(12)\n        raise ValueError\nw = t\n"
    ),
    "where a handler raises again": (
        "t = Z(11)\ntry:\n    try:\n        boom(k)\n    except ValueError:\n        t = Z(12)\n        raise\n"
        "except ValueError:\n    pass\nw = t\n"
    ),
    "in a round": (
        "t = Z(11)\ntry:\n    for i in range(3):\n        if k:\n            t = Z(12)\n            raise ValueError\n"
        "except ValueError:\n    pass\nw = t\n"
    ),
    "where a function always raises": (
        "def end(): raise ValueError\nt = Z(11)\ntry:\n    if k:\n        t = Z(12)\n        end()\n"
        "except ValueError:\n    pass\nw = t\n"
    ),
    "where a pattern has bound it": (
        "t = Z(11)\ntry:\n    match [Z(12)] * k:\n        case [_, t]:\n            raise ValueError\n"
        "except ValueError:\n    pass\nw = t\n"
    ),
    "before a return": "t = Z(11)\ntry:\n    if k == 1:\n        t = Z(12)\n        return t\nfinally:\n    w = t\n",
    "before the next round": (
        "t = Z(11)\nfor i in range(2):\n    try:\n        if k == 1:\n            t = Z(12)\n            continue\n"
        "    finally:\n        w = t\n"
    ),
    "in between": "t = Z(11)\ny = t\ntry:\n    t = Z(12)\n    boom(k)\n    t = y\nexcept ValueError:\n    pass\nw = t\n",
    "a list in between": (
        "a, b, c = [Z(11)], [Z(12)], [Z(13)]\nx = c\ntry:\n    x = a\n    boom(k)\n    x = b\n"
        "except ValueError:\n    x[0] = Z(14)\nw, v, u = a[0], b[0], c[0]\n"
    ),
    "the first of two lists": (
        "a, b = [Z(11)], [Z(12)]\ntry:\n    x = a\n    boom(k)\n    x = b\nexcept ValueError:\n    x[0] = Z(14)\n"
        "w, v = a[0], b[0]\n"
    ),
    "a name of the module too": "try:\n    g = Z(5)\n    boom(k)\nexcept ValueError:\n    w = g\n",
    "by a finally that may bind it": (
        "t = Z(11)\ntry:\n    t = t * 2\n    t = t * 2\nfinally:\n    if k:\n        t = Z(12)\nw = t\n"
    ),
}
IN_HAND = {
    "added to": "b += [b.pop(0)]\nw = b[0]\n",
    "added": "c = b + [b.pop(0)]\nw = c[0]\n",
    "indexed": "w = b[(b.pop(0) is None) * 1]\n",
    "given": "w = first(b, b.pop(0))[0]\n",
    "its own method": "b.insert(0, b.pop())\nw = b[0]\n",
    "multiplied": "b *= len([b.pop(0)]) + 1\nw = b[0]\n",
    "in a display": "c = [b, b.append(Z(7))]\nw = c[0][-1]\n",
    "in a header": "for t in b + [b.pop(0)]:\n    w = t\n",
    "in a lambda": "w = (lambda b: b + [b.pop(0)])(b)[0]\n",
    "in a pattern's guard": "match b:\n    case [*c] if b.pop(0) is not None:\n        w = b[0]\n",
    "of a queue": "b = deque(b)\nb.append(Z(20))\nc = [b, b.append(Z(7))]\nw = c[0][-1]\n",
}
SEVERAL = {
    "+= of what a branch chose": "if k: b = d\nb += [Z(5)]\nw = d[-1]\n",
    "+= of what an expression named": "if k: b = (a := [Z(4), Z(6)])\nb += [Z(5)]\nif k: w = a[-1]\n",
    "+= of what a handler chose": "try:\n    boom(k)\nexcept ValueError:\n    b = d\nb += [Z(5)]\nw = d[-1]\n",
    "del of an item": "if not k:\n    del (k or b)[0]\nw = b[0]\n",
    "del of a key": "e = {'w': Z(8)}\nif not k:\n    del (k or e)['w']\nw = e.get('w', Z(9))\n",
    "resize of an item": (
        "t = np.zeros(23)\nrows = [np.zeros(4), np.zeros(5), np.zeros(6)]\nrows[k] = t\nrows[0].resize(2, refcheck=False)\nw = t\n"
    ),
}
PROGRAMS = {**CAUGHT, **IN_HAND, **SEVERAL}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_wrong_is_said_of(name: str, tmp_path: Path) -> None:
    body = "b, d = [Z(18), Z(19)], [Z(28), Z(29)]\n" + PROGRAMS[name]
    source = HEAD + (
        "import numpy as np\nfrom collections import deque\ng = Z(4)\ndef first(x, y): return x\ndef go(k):\n"
        + "".join(f"    {line}\n" for line in body.splitlines())
        + "    return b\nfor k in (0, 1, 2): go(random.choice([k]))\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}, source


KNOWN = {
    "what a block binds once": ("try:\n    t = Z(5)\n    boom(k)\nexcept ValueError:\n    w = t\n", (5,)),
    "another name than the one in the branch": (
        "t = Z(5)\nwith suppress(ValueError):\n    if k:\n        s = Z(6)\n        raise ValueError\nw = t\n",
        (5,),
    ),
    "another name than finally's": ("t = Z(5)\ntry:\n    boom(k)\nfinally:\n    s = Z(6)\nw = t\n", (5,)),
    "a branch that returns": (
        "t = Z(5)\nif k:\n    t = Z(6)\n    return t\ntry:\n    boom(k)\nexcept ValueError:\n    pass\nw = t\n",
        (5,),
    ),
    "items that are taken out by turns": ("s, w = rows.pop(), rows.pop()\n", (3,)),
    "one that is taken out within an expression": (
        "w = torch.cat([torch.relu(rows.pop()), Z(1)])\ns = rows[0]\n",
        (5,),
    ),
    "a list that gets what it had": ("rows.append(Z(len(rows) * 2))\nw = rows[-1]\n", (4,)),
    "what is left behind an index": ("s = rows[0].sum() + rows.pop().sum()\nw = rows[0]\n", (3,)),
    "a list of its own that gets longer": ("rows += [Z(6)]\nw = rows[-1]\n", (6,)),
    "a list beside one of which an item is deleted": ("del (k or other)[0]\nw = rows[0]\n", (3,)),
    "a tensor beside a picture of another size": (
        "t = Z(5)\npics = [t]\npics[k] = t\npics[0].resize((2, 2))\nw = t\n",
        (5,),
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_stays_known(name: str) -> None:
    body, shape = KNOWN[name]
    source = (
        HEAD + "def go(k, other):\n    rows = [Z(3), Z(4)]\n" + "".join(f"    {line}\n" for line in body.splitlines())
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows["w"] == shape
