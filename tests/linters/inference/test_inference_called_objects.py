"""What calls change of the objects that they are given, hold or find: also those of methods that Python calls by itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from called_programs import HEAD, IMPLICIT, KINDS, LAYER, make
from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse


def _known(source: str) -> dict[str, object]:
    source = HEAD + source
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_nothing_wrong_is_said_of_random_programs(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 50):
        source = make(seed)
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


LOOPS = {
    "a count": "for x in range(k): {}",
    "items": "for x in [0] * k: {}",
    "a condition": "while k > 3: {}",
    "a loop in a loop": "for y in range(k):\n        for x in (1, 2): {}",
    "a function": "for x in range(k): change(h)",
    "a generator": "def all():\n        for x in range(k): yield change(h)\n    list(all())",
}


@pytest.mark.parametrize("kind", [*KINDS, LAYER])
def test_a_loop_may_have_no_round(kind: tuple[str, str, str], tmp_path: Path) -> None:
    made, read, put = kind
    change = put.format(n="h", v="Z(1, 99)")
    for loop in LOOPS.values():
        source = (
            f"{HEAD}def change(h):\n    {change}\ndef go(k):\n    h = {made.format(i=12)}\n    {loop.format(change)}\n"
            f"    w = {read.format(n='h')}\ngo(random.choice([0]))\n"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_a_class_s_attribute_may_be_what_it_was_before_a_loop(tmp_path: Path) -> None:
    source = HEAD + (
        "class Held: r = Z(2, 3)\ndef go(k):\n    h = Obj(Held)\n    for x in range(k): h.r.r = Z(4, 5)\n"
        "    w = Held.r\n    return w\ngo(random.choice([0]))\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


def test_what_surely_runs_and_what_rounds_make_stays_known() -> None:
    assert _known(
        "def f(k):\n    h = Obj(Z(2, 3))\n    for x in range(9): h.r = Z(4, 5)\n    a = h.r\n"
        "    while True:\n        h.r = Z(6, 7)\n        if k: break\n    b = h.r\n"
        "    for x in range(k):\n        o = Obj(Z(1, 8))\n        o.r = Z(8, 9)\n    c = o.r\n"
        "    h.r = Z(3, 3)\n    for x in range(k): h.r = h.r * 2\n    d = h.r\n"
    ) == {"a": (4, 5), "b": (6, 7), "c": (8, 9), "d": (3, 3)}


# What a method changes of an object: one that its own holds, one that this holds, one that it is given, one of the module.
CHANGED = {
    "held": ("self.p", None),
    "held by what is held": ("self.q.r", None),
    "held, by another name": ("held", "held = self.p"),
    "given": ("o", None),
    "of the module": ("G", None),
}


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[2]])
@pytest.mark.parametrize("name", IMPLICIT)
def test_what_python_calls_by_itself_changes_objects(name: str, kind: tuple[str, str, str], tmp_path: Path) -> None:
    made, read, put = kind
    parameters, given, call = IMPLICIT[name]
    for changed, first in CHANGED.values():
        if changed == "o" and "o" not in parameters.split(", "):
            continue
        source = (
            f"{HEAD}G = {made.format(i=10)}\nclass Box:\n    def __init__(self, p, q):\n        self.p = p\n        self.q = q\n"
            f"    def {name}({parameters}):\n        {first or 'pass'}\n        {put.format(n=changed, v='Z(1, 99)')}\n"
            f"        return {given}\n{'    __hash__ = object.__hash__' if name == '__eq__' else ''}\n"
            f"def go():\n    a = {made.format(i=12)}\n    b = {made.format(i=13)}\n    c = {made.format(i=14)}\n"
            f"    h = Box(b, Obj(c))\n    {call}\n    w = {read.format(n='a')}\n    v = {read.format(n='b')}\n"
            f"    u = {read.format(n='c')}\n    t = {read.format(n='G')}\n    s = {read.format(n='h.p')}\ngo()\n"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


@pytest.mark.parametrize("how", ["__set__", "__setattr__"])
def test_what_is_stored_may_be_changed_by_what_stores_it(how: str, tmp_path: Path) -> None:
    if how == "__set__":
        cls = "class Put:\n    def __set__(self, i, o): o.r = Z(4, 5)\nclass Box: p = Put()\n"
    else:
        cls = "class Box:\n    def __setattr__(self, k, o): super().__setattr__(k, o)\n"
    source = f"{HEAD}{cls}def go():\n    a = Obj(Z(2, 3))\n    h = Box()\n    h.p = a\n"
    source += "" if how == "__set__" else "    b = h.p\n    b.r = Z(4, 5)\n"
    assert wrong_claims(tmp_path / "program.py", f"{source}    w = a.r\n    return w\ngo()\n") == {}


def test_what_no_such_method_changes_stays_known() -> None:
    assert _known(
        "class Box:\n    def __init__(self, p):\n        self.p = p\n    def __len__(self): return len(self.p)\n"
        "    def __repr__(self): return f'Box({self.p})'\n    def __getitem__(self, i): return [self.p[i], i]\n"
        "class Counted:\n    def __init__(self, p): self.p = p\n    def __bool__(self):\n        self.p[0] = Z(9, 9)\n        return True\n"
        "def f():\n    a, b = [Z(2, 3)], [Z(4, 5)]\n    h, c = Box(a), Counted(b)\n    len(h), str(h), h[0]\n    x = a[0]\n    y = h.p[0]\n"
        "    if c: pass\n    z = a[0]\n    v = b[0]\n"
    ) == {"x": (2, 3), "y": (2, 3), "z": (2, 3)}  # fmt: skip


NESTED = ["Obj(Obj(Z({i}, 1)))", "Net(Net(Z({i}, 1)))", "Obj(Net(Z({i}, 1)))", "Net(Obj(Z({i}, 1)))"]
ONE = {
    "an item": "d = (a, b)[k]",
    "an expression": "d = a if k == 0 else b",
    "a branch": "d = b\n    if k == 0: d = a",
    "an attribute": "h = Obj(b)\n    if k == 0: h.r = a\n    d = h.r",
}


@pytest.mark.parametrize("made", NESTED)
def test_what_one_of_two_objects_holds_is_what_either_does(made: str, tmp_path: Path) -> None:
    for one in ONE.values():
        source = (
            f"{HEAD}def go(k):\n    a = {made.format(i=12)}\n    b = {made.format(i=13)}\n    {one}\n    d.r.r = Z(1, 99)\n"
            "    w = a.r.r\n    v = b.r.r\ngo(random.choice([0]))\n"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


@pytest.mark.parametrize("made", ["Pair([Z({i}, 1)], 0)", "Pair(([Z({i}, 1)], 0), 0)"])
def test_a_named_tuple_s_list_is_that_of_one_of_two(made: str, tmp_path: Path) -> None:
    item = "r[0][0]" if "((" in made else "r[0]"
    for one in ("if k: b = a", "b = a if k else b", "for x in [a] * k: b = x"):
        source = (
            f"{HEAD}def go(k):\n    a = {made.format(i=12)}\n    b = {made.format(i=13)}\n    {one}\n    a.{item} = Z(1, 99)\n"
            f"    w = b.{item}\ngo(random.choice([1]))\n"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_what_is_none_of_the_two_stays_known() -> None:
    assert _known(
        "def f(k):\n    a, b, c = Obj(Obj(Z(2, 3))), Obj(Obj(Z(4, 5))), Obj(Obj(Z(6, 7)))\n    d = a if k else b\n    d.r.r = Z(8, 9)\n"
        "    x = c.r.r\n"
        "def g(k):\n    a, b, c = Pair([Z(2, 3)], 0), Pair([Z(4, 5)], 0), Pair([Z(6, 7)], 0)\n    d = a if k else b\n"
        "    a.r[0] = Z(8, 9)\n    y = b.r[0]\n    z = c.r[0]\n"
    ) == {"x": (6, 7), "y": (4, 5), "z": (6, 7)}  # fmt: skip


CHOSEN = {
    "an expression": "f = (lambda: a) if k else (lambda: 0)",
    "definitions": "if k:\n        def f(): return a\n    else:\n        def f(): return 0",
    "a table": "f = {0: lambda: 0, 1: lambda: a}[k]",
}


@pytest.mark.parametrize("kind", KINDS)
def test_one_of_two_functions_gives_what_it_finds_by_a_name(kind: tuple[str, str, str], tmp_path: Path) -> None:
    made, read, put = kind
    for chosen in CHOSEN.values():
        source = (
            f"{HEAD}def go(k):\n    a = {made.format(i=12)}\n    {chosen}\n    d = f()\n"
            f"    {put.format(n='d', v='Z(1, 99)')}\n    w = {read.format(n='a')}\ngo(random.choice([1]))\n"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


# How a method asks for an attribute, by its name, and changes what that holds.
BY_NAME = [
    "v = object.__getattribute__(self, k); v[0] = [Z(2)]", "v = super().__getattribute__(k); v[0] = [Z(2)]", "v = getattr(self, 'p'); v[0] = [Z(2)]",
    "v = self.__getattribute__('p'); v[0] = [Z(2)]", "v = type(self).__getattribute__(self, k); v[0] = [Z(2)]", "getattr(self, k)[0] = [Z(2)]",
    "change(getattr(self, k))", "getattr(self, k).insert(0, [Z(2)])", "v = vars(self)[k]; v[0] = [Z(2)]", "vars(self)[k][0] = [Z(2)]",
    "v = self.__dict__.get(k); v[0] = [Z(2)]", "v = [*self.__dict__.values()]; v[0][0] = [Z(2)]", "v = operator.attrgetter(k)(self); v[0] = [Z(2)]",
    "v = find(self, k); v[0] = [Z(2)]", "self.find(k)[0] = [Z(2)]", "v, = [getattr(self, q) for q in (k,)]; v[0] = [Z(2)]", "list(map(change, vars(self).values()))",
    "o = self; v = getattr(o, k); v[0] = [Z(2)]", "change(next(iter([getattr(self, k)])))", "change([self.p, 1][0])", "change(*[self.p])", "change(list([self.p])[0])", "if (v := getattr(self, k)): v[0] = [Z(2)]",
]  # fmt: skip
# How the method is decorated and called, and called so that nobody follows it.
ASKED = {
    "followed": ("", "f", "h.f('p')"),
    "kept": ("    @kept\n", "f", "h.f('p')"),
    "cached": ("    @functools.lru_cache()\n", "f", "h.f('p')"),
    "an operator": ("", "__add__", "h + 'p'"),
    "handed on": ("", "f", "sorted(['p'], key=lambda q: h.f(q) or 0)"),
}
_ASKING = (
    "import functools, operator, random\nimport torch\nZ = torch.zeros\ndef change(v): v[0] = [Z(2)]\ndef find(o, k): return getattr(o, k)\n"
    "def kept(f):\n    table = {'f': f}\n    return lambda *a: table['f'](*a)\n"
)


@pytest.mark.parametrize("asked", ASKED)
def test_what_a_method_asks_for_by_name_is_changed(asked: str, tmp_path: Path) -> None:
    decorator, name, call = ASKED[asked]
    for body in BY_NAME:
        source = _ASKING + (
            f"class Held:\n    def __init__(self, p): self.p = p\n    def find(self, k): return getattr(self, k)\n{decorator}"
            f"    def {name}(self, k):\n        {body}\ndef go():\n    b = [[Z(1)]]\n    h = Held(b)\n    {call}\n    w = b[0][0]\n    return w\ngo()\n"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


# What asks for the attribute of an object whose class has a method that Python calls for each.
ASKING = [
    "h.@",
    "h.y",
    "h.f()",
    "h.z",
    "len(h)",
    "getattr(h, '@')",
    "[q.@ for q in [h]]",
    "(lambda q: q.@)(h)",
    "f'{h.y}'",
    "h.y if h else 0",
]


@pytest.mark.parametrize("name", ["__getattribute__", "__getattr__"])
def test_what_answers_for_an_attribute_may_change_what_it_holds(name: str, tmp_path: Path) -> None:
    asked = "p" if name == "__getattribute__" else "q"
    every = name == "__getattribute__"
    finds = ["object.__getattribute__(self, 'p')", "super().__getattribute__('p')"] + (
        [] if every else ["getattr(self, 'p')", "vars(self)['p']", "self.__dict__[chr(112)]", "self.p"]
    )
    for found in finds:
        for use in ASKING:
            source = _ASKING + (
                f"class Held:\n    def __init__(self, p): self.p = p\n    def {name}(self, k):\n        if k == '{asked}':\n"
                f"            v = {found}\n            v[0] = [Z(2)]\n            return v\n"
                f"        return object.__getattribute__(self, k)\n    y = property(lambda self: self.{asked})\n"
                f"    def f(self): return self.{asked}\n    @property\n    def z(self): return self.{asked}\n"
                f"    def __len__(self): return len(self.{asked})\ndef go():\n    b = [[Z(1)]]\n    h = Held(b)\n    {use.replace('@', asked)}\n"
                "    w = b[0][0]\n    return w\ngo()\n"
            )
            assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_what_is_only_asked_for_by_name_stays_known() -> None:
    source = _ASKING + (
        "class Held:\n    def __init__(self, p, q): self.p, self.q = p, q\n    @kept\n    def f(self, k): return len(getattr(self, k))\n"
        "    @kept\n    def g(self):\n        v = getattr(self, 'q')\n        v[0] = [Z(2)]\n"
        "    @functools.lru_cache()\n    def h(self): return self.__getattribute__('p')\n"
        "def go():\n    b, c = [[Z(1)]], [[Z(3)]]\n    h = Held(b, c)\n    h.f('p')\n    h.g()\n    u = b[0][0]\n    v = c[0][0]\n"
        "    w = object.__getattribute__(h, 'p')[0][0]\n    x = h.__getattribute__('p')[0][0]\n"
    )
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert rows == {"u": (1,), "w": (1,), "x": (1,)}
