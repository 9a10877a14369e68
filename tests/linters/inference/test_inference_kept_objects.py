"""Objects that classes, modules, layers and copies keep: what functions change of them by other names than theirs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from called_programs import HEAD
from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse


def _known(source: str) -> dict[str, object]:
    source = HEAD + source
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


def _wrong(path: Path, source: str) -> dict[tuple[int, str], str]:
    return wrong_claims(path / "program.py", HEAD + source)


# What is kept, how it is read, and how a function changes it that has it as `x`.
KEPT = {
    "a list": ("[Z(2, 3)]", "[0]", "x[0] = Z(1, 99)"),
    "a dictionary": ("{0: Z(2, 3)}", "[0]", "x[0] = Z(1, 99)"),
    "a list in a tuple": ("([Z(2, 3)], 0)", "[0][0]", "x[0][0] = Z(1, 99)"),
    "a list in a list": ("[[Z(2, 3)], 0]", "[0][0]", "x[0][0] = Z(1, 99)"),
    "an object": ("Obj(Z(2, 3))", ".r", "x.r = Z(1, 99)"),
}
IN_HAND = {
    "directly": "x = {n}\n    {c}",
    "as an argument": "change({n})",
    "as a word": "change(x={n})",
    "by a partial function": "functools.partial(change, {n})()",
    "from a function": "x = get()\n    {c}",
    "in a loop": "for x in ({n},):\n        {c}",
    "from a tuple": "x, _ = {n}, 0\n    {c}",
}
PLACES = {
    "a class": ("class Kept: p = {m}\n", "Kept.p"),
    "a base": ("class Base: p = {m}\nclass Kept(Base): pass\n", "Kept.p"),
    "the module": ("p = {m}\n", "p"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KEPT)
def test_a_function_may_have_changed_what_a_class_or_a_module_keeps(kind: str, place: str, tmp_path: Path) -> None:
    made, item, change = KEPT[kind]
    holder, name = PLACES[place][0].format(m=made), PLACES[place][1]
    for way in IN_HAND.values():
        source = (
            f"{holder}def get(): return {name}\ndef change(x):\n    {change}\ndef go(k):\n    w = {name}{item}\n"
            f"    {way.format(n=name, c=change)}\nfor t in range(3): go(random.choice([t]))\n"
        )
        assert _wrong(tmp_path, source) == {}, source


def test_a_function_that_nobody_calls_may_have_changed_what_a_module_keeps() -> None:
    for way in IN_HAND.values():
        source = f"p = [Z(2, 3)]\ndef get(): return p\ndef change(x): x[0] = Z(1, 99)\ndef go():\n    w = p[0]\n    {way.format(n='p', c='x[0] = Z(1, 99)')}\n"
        assert _known(source).get("w") is None, source


IN_METHODS = {
    "a loop": "for x in self.p: x[0] = Z(1, 99)",
    "an item": "x, *_ = self.p\n        x[0] = Z(1, 99)",
    "a pattern": "match self.p:\n            case [x, *_]: x[0] = Z(1, 99)",
    "the first": "x = next(iter(self.p))\n        x[0] = Z(1, 99)",
    "all": "change(*self.p)",
}


@pytest.mark.parametrize("made", ["[[Z(2, 3)]]", "([Z(2, 3)],)"])
def test_a_method_may_have_changed_a_list_in_what_its_object_keeps(made: str, tmp_path: Path) -> None:
    for way in IN_METHODS.values():
        source = (
            f"def change(x): x[0] = Z(1, 99)\nclass Kept:\n    def __init__(self): self.p = {made}\n    def m(self):\n"
            f"        w = self.p[0][0]\n    def n(self):\n        {way}\nh = Kept()\nh.n()\nh.m()\n"
        )
        assert _wrong(tmp_path, source) == {}, source


def test_what_functions_only_read_stays_known() -> None:
    assert _known(
        "p, q = [Z(2, 3)], [[Z(4, 5)]]\nclass Kept:\n    p, q = [Z(2, 3)], [[Z(4, 5)]]\n    def __init__(self): self.r = [[Z(6, 7)]]\n"
        "    def m(self):\n        a, b, c = self.p[0], self.q[0][0], self.r[0][0]\n"
        "        for x in self.r: print(x[0], len(x))\n"
        "def show(x):\n    for y in x: print(y[0])\n"
        "def go():\n    d, e, f, g = p[0], q[0][0], Kept.p[0], Kept.q[0][0]\n    show(p)\n    show(q)\n    show(Kept.p)\n    show(Kept.q[0])\n"
    ) == {"a": (2, 3), "b": (4, 5), "c": (6, 7), "d": (2, 3), "e": (4, 5), "f": (2, 3), "g": (4, 5)}  # fmt: skip


# What makes it unknown what `h.p` holds, which is `a`.
LOST = {
    "an object's, which its class has too": (
        "class H:\n    p = 1\n    def __init__(self, p): self.p = p\ndef other(z): z.p = 3\n",
        "h = H(a)",
    ),
    "a module's, which its class has too": (
        "class H(nn.Module):\n    p = 1\n    def __init__(self, p):\n        super().__init__()\n        self.p = p\n"
        "def other(z): z.p = 3\n",
        "h = H(a)",
    ),
    "a class's": ("class H: p = 3\ndef other(n):\n    if n: other(n - 1)\n    H.q = 4\n    if n > 9: H.p = 3\n", "h = H\n    h.p = a\n    other(2)"),
    "one that an operator changes": (
        "class H:\n    def __init__(self, p): self.p = p\n    def __exit__(self, *_): self.p.r = Z(1, 98)\n",
        "h = H(a)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("made", ["Obj(Z(2, 3))", "Net(Z(2, 3))"])
@pytest.mark.parametrize("lost", LOST)
def test_what_is_not_known_to_be_kept_may_be_what_was_kept_before(lost: str, made: str, tmp_path: Path) -> None:
    head, kept = LOST[lost]
    if "nn.Module" in head and made.startswith("Net"):
        return  # what the class has hides it
    source = f"{head}def go(k):\n    a = {made}\n    {kept}\n    h.p.r = Z(1, 99)\n    w = a.r\ngo(1)\n"
    assert _wrong(tmp_path, source) == {}


ASSIGNED = {
    "by a function that calls itself": "def change(q, n):\n    if n: return change(q, n - 1)\n    {q}.weight = P(4, 5)\n",
    "by a decorated function": "def twice(f): return functools.wraps(f)(lambda *a: f(*a))\n@twice\ndef change(q, n):\n    {q}.weight = P(4, 5)\n",
    "by one of a list": "def one(q, n): {q}.weight = P(4, 5)\nall = []\nall.append(one)\ndef change(q, n):\n    for f in all: f(q, n)\n",
}  # fmt: skip


@pytest.mark.parametrize("how", ASSIGNED)
def test_a_layer_s_weight_may_be_what_code_assigns_that_is_not_followed(how: str, tmp_path: Path) -> None:
    for q, given in {"q": "a", "q[0]": "[a]", "q.r": "Obj(a)"}.items():
        source = (
            f"def P(*n): return nn.Parameter(Z(*n))\n{ASSIGNED[how].format(q=q)}def go():\n    a = nn.Linear(2, 3)\n"
            f"    a.weight = P(7)\n    change({given}, 3)\n    w = a.weight\ngo()\n"
        )
        assert _wrong(tmp_path, source) == {}, source


def test_the_weight_of_one_of_two_layers_may_be_either_s(tmp_path: Path) -> None:
    for one in ("q = c if k else nn.Sequential(nn.Linear(2, 3))", "q = c\n    def get():\n        nonlocal q"):
        source = (
            f"def go(k):\n    c = nn.Sequential(nn.Linear(2, 3))\n    {one}\n    c[0].weight = nn.Parameter(Z(7))\n"
            "    def put(): q[0].weight = nn.Parameter(Z(4, 5))\n    put()\n    w = c[0].weight\ngo(1)\n"
        )
        assert _wrong(tmp_path, source) == {}, source


def test_what_no_such_code_assigns_stays_known() -> None:
    assert _known(
        "def show(q, n):\n    print(q.weight)\nclass H:\n    p = None\n"
        "def go(k):\n    a, b = nn.Linear(2, 3), Obj(Z(6, 7))\n    a.weight = nn.Parameter(Z(4, 5))\n    show(a, 3)\n    x = a.weight\n"
        "    H.p = b\n    show(H, 0)\n    y = H.p.r\n"
    ) == {"x": (4, 5), "y": (6, 7)}  # fmt: skip


@pytest.mark.parametrize("again", ["copy.copy(h)", "list(h)", "tuple(h)", "[*h]", "h.copy()"])
def test_a_copy_of_one_of_two_has_what_they_hold(again: str, tmp_path: Path) -> None:
    for other in ("0", "[[Z(5, 6)]]"):
        source = (
            f"def go(k):\n    a, c = [[Z(2, 3)]], {other}\n    h = a if k else c\n    d = {again}\n    d[0][0] = Z(1, 99)\n"
            "    w = a[0][0]\ngo(random.choice([1]))\n"
        )
        assert _wrong(tmp_path, source) == {}, source


@pytest.mark.parametrize("made", ["Obj({i})", "Net({i})"])
def test_a_copy_of_an_object_has_what_that_holds(made: str, tmp_path: Path) -> None:
    first, other = made.format(i="a"), made.format(i="[1]")
    for one in (first, f"{first} if k else {other}", f"{first} if k else 0"):
        source = (
            f"def go(k):\n    a = [Z(2, 3)]\n    d = copy.copy({one})\n    a[0] = Z(7, 7)\n    d.r[0] = Z(1, 99)\n    w = a[0]\n"
            "go(random.choice([1]))\n"
        )
        assert _wrong(tmp_path, source) == {}, source


CHOSEN = ["b = k and a", "b = k or a", "b = a if k else 0", "b = (a, 0)[k]", "b = 0\n    if not k: b = a"]


@pytest.mark.parametrize("made", ["([Z(2, 3)], 0)", "(0, 0, [Z(2, 3)])", "(Obj(Z(2, 3)), 0)"])
def test_a_list_in_a_tuple_that_is_one_of_two_is_changed_by_way_of_it(made: str, tmp_path: Path) -> None:
    number = 2 if made.startswith("(0") else 0
    item = f"[{number}].r" if "Obj" in made else f"[{number}][0]"
    for chosen in CHOSEN:
        source = (
            f"def go(k):\n    a = {made}\n    {chosen}\n    if type(b) is tuple: b{item} = Z(1, 99)\n    w = a{item}\n"
            "for t in range(2): go(random.choice([t]))\n"
        )
        assert _wrong(tmp_path, source) == {}, source


ONE_OF = {
    "Obj(Obj(Z({i}, 1)))": ".r.r",
    "Pair(Obj(Z({i}, 1)), 0)": ".r.r",
    "(Obj(Z({i}, 1)), 0)": "[0].r",
    "[Obj(Z({i}, 1))]": "[0].r",
}


@pytest.mark.parametrize("made", ONE_OF)
def test_unknown_code_that_is_given_one_of_two_changes_either(made: str, tmp_path: Path) -> None:
    for given in ("b", "[b]", "Obj(b)"):
        way = {"b": "q", "[b]": "q[0]", "Obj(b)": "q.r"}[given]
        source = (
            f"def go(k, f):\n    a, c = {made.format(i=2)}, {made.format(i=3)}\n    b = a\n    if k: b = c\n    f({given})\n"
            f"    w = a{ONE_OF[made]}\ndef change(q): {way}{ONE_OF[made]} = Z(1, 99)\ngo(random.choice([0]), change)\n"
        )
        assert _wrong(tmp_path, source) == {}, source
