"""Lists, dictionaries, objects and tensors that a program keeps where nobody looks for them, and changes by way of that."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference import forgetting
from tensorlint.inference.analysis import analyse
from tensorlint.inference.contents import objects_within
from tensorlint.project import Project

pytestmark = pytest.mark.filterwarnings("ignore")

HEAD = """\
import collections, contextlib, copy, functools, inspect, operator, sys, threading, types, weakref
import numpy as np
import torch
from torch import nn
Z = torch.zeros
class Obj:
    def __init__(self, r): self.r = r
class Net(nn.Module):
    def __init__(self, r):
        super().__init__()
        self.r = r
{cls}
def go(k):
    h = {made}
    w = {read} + 0
    {way}
    {change}
    w0 = {read} + 0
go(1)
"""
# What is made, how it is read, how it is put right, and how it is changed under another name.
KINDS = {
    "a list": ("[Z(13, 2)]", "h[0]", "h[0] = Z(13, 2)", "g[0] = Z(30, 3)"),
    "a list, in place": ("[Z(13, 2)]", "h[0]", "h[0] = Z(13, 2)", "g.insert(0, Z(30, 3))"),
    "a dictionary": ("{'x': Z(13, 2)}", "h['x']", "h['x'] = Z(13, 2)", "g['x'] = Z(30, 3)"),
    "a module": ("Net(Z(13, 2))", "h.r", "h.r = Z(13, 2)", "g.r = Z(30, 3)"),
    "an object, by its list": ("Obj([Z(13, 2)])", "h.r[0]", "h.r = [Z(13, 2)]", "g.r[0] = Z(30, 3)"),
    "layers": ("nn.Sequential(nn.Linear(2, 3))", "h(Z(4, 2))", "h[0] = nn.Linear(2, 3)", "g[0] = nn.Linear(2, 5)"),
    "a tensor": ("Z(13, 2)", "h", "h.resize_(13, 2)", "g.unsqueeze_(0)"),
}
BORGS = {
    "Borg1": "class Borg1:\n    s = {}\n    def __init__(self): self.__dict__ = self.s",
    "Borg2": "class Borg2:\n    s = {}\n    def __init__(self): self.__dict__ = Borg2.s",
    "Borg3": "class Borg3:\n    s = {}\n    def __new__(cls):\n        self = super().__new__(cls)\n"
    "        self.__dict__ = cls.s\n        return self",
    "Borg4": "S = {}\nclass Borg4:\n    def __init__(self): self.__dict__ = S",
}
CLASSES = BORGS | {
    "Both": "class Both(dict):\n    def __init__(self):\n        super().__init__()\n        self.__dict__ = self",
    "Meta": "class Meta(type):\n    @property\n    def x(cls): return cls._x\nclass OfMeta(metaclass=Meta): pass",
    "Sub": "class Sub:\n    subs = []\n    def __init_subclass__(cls, x=None): Sub.subs.append(x)",
    "Slots": "class Slots:\n    __slots__ = ('x', '__weakref__')\n    def __init__(self, x): self.x = x",
    "setg": "def setg(x):\n    global GG\n    GG = x\ndef getg(): return GG",
    "Hooked": "class Hooked(nn.Module):\n    def forward(self, x): return x",
    "Local": "Local = threading.local()",
    "Err": "class Err(Exception):\n    def __init__(self, x): self.x = x",
}
# How `g` gets to be `h`.
BY_NAMESPACES = r"""
d = {}; o = Obj(1); o.__dict__ = d; o.x = h; g = d["x"] | o, p = Obj(1), Obj(1); p.__dict__ = o.__dict__; p.x = h; g = o.x
o = Obj(h); g = vars(o).copy()["r"] | o = Obj(h); g = dict(inspect.getmembers(o))["r"] | o = Obj(h); g = o.__dict__.__getitem__("r")
o = types.SimpleNamespace(); o.__dict__["x"] = h; g = o.x | m = types.ModuleType("m"); m.__dict__["x"] = h; g = m.x
Local.__dict__["x"] = h; g = Local.x | a = Both(); a.x = h; g = a["x"] | a = Both(); a["x"] = h; g = a.x
torch.kept = h; g = torch.kept | nn.Module.kept = h; g = Net(1).kept | Obj.kept = h; g = Obj.__dict__["kept"] | Obj.kept = h; g = vars(Obj)["kept"]
OfMeta._x = h; g = OfMeta.x | o = Obj(h); o.get = types.MethodType(lambda self: self.r, o); g = o.get() | q = types.SimpleNamespace(**{"a": h}); g = q.a
"""
BY_ARRAYS = r"""
a = np.empty(1, dtype=object); a[0] = h; g = a[0] | a = np.empty(2, object); a[:] = [h, h]; g = a[1] | a = np.array([None, None], dtype=object); a[0] = h; g = a.tolist()[0]
a = np.array([None, None], dtype=object); a[0] = h; g = a.flat[0] | a = np.array([None, None], dtype=object); a[0] = h; g = a.item(0) | a = np.array([None, None], dtype=object); a[0] = h; g, _ = a
a = np.array([None, None], dtype=object); a[0] = h\n    for g in a[:1]: pass | a = np.full(2, None); a.fill(h); g = a[0] | a = np.zeros((), dtype="O"); a[()] = h; g = a.item()
a = np.zeros(2, dtype=object); a[0] = h; b = a.T; g = b[0] | a = np.zeros(2, dtype=[("o", object)]); a["o"][0] = h; g = a["o"][0]
"""
BY_FUNCTIONS = r"""
def f(): return h\n    g = f.__closure__[0].cell_contents | def f(): return h\n    (c,) = f.__closure__; g = c.cell_contents | f = lambda: h; g = f.__closure__[0].cell_contents
def f(): return h\n    g = [c.cell_contents for c in f.__closure__][0] | def f(x=h): return 1\n    g = f.__defaults__[0] | def f(*, x=h): return 1\n    g = f.__kwdefaults__["x"]
f = functools.partial(print, x=h); g = f.keywords["x"] | def f(): pass\n    vars(f)["x"] = h; g = vars(f)["x"] | def f(): yield h\n    q = f(); next(q); g = q.gi_frame.f_locals["h"]
g = sys._getframe().f_locals["h"] | g = inspect.currentframe().f_locals["h"] | setg(h); g = getg() | setg(h); g = GG | l = [].__add__([h]); g = l[0]
m = Hooked(); m.register_forward_hook(lambda m, a, o: h); g = m(Z(1)) | m = Hooked(); m.register_forward_pre_hook(lambda m, a: (h,)); g = m(Z(1))
m = Hooked(); m.forward = lambda x: h; g = m(Z(1)) | \n    class T(Sub, x=h): pass\n    g = Sub.subs[-1] | w = Slots(h); g = Slots.x.__get__(w) | w = weakref.ref(q := Slots(h)); g = w().x
c = copy.deepcopy([h], {id(h): h}); g = c[0] | for g in iter(lambda: h, 1): break | q = collections.namedtuple("T", "a", defaults=[h])(); g = q.a | class C:\n        def __iter__(s): yield h\n    g, = C() | class C:\n        def __getattr__(s, n): return h\n    g = C().x
e = Exception(); e.x = h\n    try: raise e\n    except Exception as q: g = q.x | try: raise Exception() from Exception(h)\n    except Exception as q: g = q.__cause__.args[0]
try: raise Err(h)\n    except Err as q: g = q.x | try: 1 / 0\n    except ZeroDivisionError as q: g = q.__traceback__.tb_frame.f_locals["h"] | q = collections.namedtuple("T", "a")(h); g = getattr(q, "a")
"""
BY_BORGS = [
    way.replace("B(", f"{name}(")
    for name in BORGS
    for way in ("p = B(); p.x = h; g = B().x", "B().x = h; p = B(); g = p.x", "p, q = B(), B(); p.x = h; g = q.x",
                "p = B(); p.x = h; g = vars(B())['x']", "p = B(); B().x = h; g = getattr(p, 'x')")
]  # fmt: skip
WAYS = [
    *BY_BORGS,
    *(way for ways in (BY_NAMESPACES, BY_ARRAYS, BY_FUNCTIONS) for line in ways.strip().splitlines() for way in line.split(" | ")),
]  # fmt: skip


def program(way: str, kind: str, change: str | None = None) -> str:
    made, read, restored, changed = KINDS[kind]
    words = set(re.findall(r"\w+", way))
    classes = "\n".join(
        code for name, code in CLASSES.items() if not words.isdisjoint({name, f"Of{name}", "getg" * (name == "setg")})
    )
    source = HEAD.replace("{cls}", classes)
    parts = {
        "made": made,
        "read": read,
        "way": way.replace(r"\n", "\n") + f"\n    {restored}",
        "change": change or changed,
    }
    for name, part in parts.items():
        source = source.replace(f"{{{name}}}", part)
    return source


@pytest.mark.parametrize("way", WAYS)
def test_what_is_kept_elsewhere_changes_with_it(way: str, tmp_path: Path) -> None:
    wrong, ran = {}, 0
    for kind in KINDS:
        with contextlib.suppress(RuntimeError, TypeError, ValueError, AttributeError):
            with contextlib.redirect_stdout(io.StringIO()):
                if found := wrong_claims(tmp_path / "program.py", program(way, kind)):
                    wrong[kind] = found
            ran += 1
    assert wrong == {}
    assert ran >= 4


def shown(source: str) -> dict[str, tuple[object, ...] | None]:
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


@pytest.mark.parametrize("kind", ["a list", "a dictionary", "a module"])
def test_what_is_not_changed_stays_known(kind: str) -> None:
    known = sum(shown(program(way, kind, "pass")).get("w0") == (13, 2) for way in WAYS)
    assert known >= 0.7 * len(WAYS)


OTHERS = {
    "another list in an array": "a = np.empty(1, dtype=object)\n    a[0] = [1]\n    g = a[0]\n    g.append(2)",
    "another one under an attribute of a library": "torch.kept = [1]\n    torch.kept[0] = 2",
    "another one in an object": "q.kept = [1]\n    q.kept[0] = 2\n    q.more['x'] = 3",
    "an attribute": "q.kept = [1]\n    q.kept.r = 2\n    q.r = 3",
    "numbers in an array": "a = np.zeros(3)\n    a[0] = 1\n    a[1:] = [1, 2]",
    "a function that wraps": "def deco(f):\n        def g(*a): return f(*a)\n        return g\n    @deco\n    def f(): pass",
    "a sort": "q.rows.sort(key=lambda i: i)\n    [1].sort(key=lambda i: -i)",
    "a name among the builtins": "q[0] = len([1])",
}


@pytest.mark.parametrize("other", OTHERS)
def test_changes_of_others_leave_it_known(other: str) -> None:
    source = (
        "import numpy as np\nimport torch\nclass Obj:\n    def __init__(self, r): self.r = r\ndef go(q):\n"
        "    h = [torch.zeros(13, 2)]\n    o = Obj(torch.zeros(3))\n    d = {'x': torch.zeros(4)}\n"
        f"    m = torch.nn.Sequential(torch.nn.Linear(2, 3))\n    {OTHERS[other]}\n"
        "    w = h[0] + 0\n    v = o.r + 0\n    u = d['x'] + 0\n    t = m(torch.zeros(5, 2))\n"
    )
    rows = shown(source)
    assert [rows[name] for name in "wvut"] == [(13, 2), (3,), (4,), (5, 3)]


# `f` changes what `{place}` holds.
CALLED = {
    "a decorator that gives it back": "def f(a):\n    {shared}\n    {place} = Z(30, 3)\n    return a\n@f\ndef g(): pass",
    "a decorator that makes another": "def f(a):\n    {shared}\n    {place} = Z(30, 3)\n    def h(): pass\n    return h\n@f\ndef g(): pass",
    "a decorator with arguments": "def f(n):\n    def d(a):\n        {shared}\n        {place} = Z(30, 3)\n        return a\n    return d\n@f(1)\ndef g(): pass",
    "a decorator of a method": "def f(a):\n    {shared}\n    {place} = Z(30, 3)\n    return a\nclass K:\n    @f\n    def g(self): pass",
    "the key of a sort": "def f(a):\n    {shared}\n    {place} = Z(30, 3)\n    return a\n[1].sort(key=f)",
    "an attribute of a function": "def f():\n    {shared}\n    {place} = Z(30, 3)\nf.g = f\nf.g()",
}  # fmt: skip
PLACES = {
    "x": ("", "nonlocal x"), "l[0]": ("l = [1]", "pass"), "l['a']": ("l = {}", "pass"), "o.r": ("o = Obj(1)", "pass"),
    "Obj.k": ("", "pass"), "l[0].r": ("l = [Obj(1)]", "pass"),
}  # fmt: skip


def called(how: str, place: str, change: str | None = None) -> str:
    made, shared = PLACES[place]
    code = CALLED[how].replace("{shared}", shared).replace("{place} = Z(30, 3)", change or f"{place} = Z(30, 3)")
    body = f"{made}\n{place} = Z(2, 3)\n{code}\nw = {place} + 0"
    lines = "".join(f"    {line}\n" for line in body.splitlines() if line)
    head = "import torch\nZ = torch.zeros\nclass Obj:\n    def __init__(self, r): self.r = r\n"
    return f"{head}def go():\n{lines}go()\n"


@pytest.mark.parametrize("how", CALLED)
@pytest.mark.parametrize("place", PLACES)
def test_what_runs_without_a_call_changes_it(how: str, place: str, tmp_path: Path) -> None:
    assert wrong_claims(tmp_path / "program.py", called(how, place)) == {}


@pytest.mark.parametrize("how", CALLED)
def test_what_runs_and_changes_nothing_leaves_it_known(how: str) -> None:
    for place in PLACES:
        if place != "x":  # which is rebound by whoever says nonlocal
            assert shown(called(how, place, "pass")).get("w") == (2, 3), place


# Two objects with a shape of their own each, or one under two names; `{y}` is one of them.
SHOWN = ["y = x.detach()", "y = x.data", "y = torch.autograd.Variable(x)", "y = x", "y = x if k else None"]
SHAPED = [
    "{y}.t_()", "{y}.resize_(3, 3)", "{y}.data = Z(4, 4)", "{y}.unsqueeze_(0)", "torch.add(Z(3, 2), 1, out={y})",
    "torch.cat([Z(2, 3), Z(2, 3)], out={y})",
]  # fmt: skip
ARRAYS = ["y = x", "y = np.asarray(x)", "y = x if k else None", "y = k and x", "y = x.view()"]
ARRAYS_SHAPED = [
    "{y}.shape, n = (3, 2), 1", "n, {y}.shape = 1, (3, 2)", "np.ndarray.shape.__set__({y}, (3, 2))",
    "{y}.__setattr__('shape', (3, 2))",
]  # fmt: skip


@pytest.mark.parametrize(("make", "way", "change"), [
    *(("Z(2, 3)", way, change) for way in SHOWN for change in SHAPED),
    *(("np.zeros((2, 3))", way, change) for way in ARRAYS for change in ARRAYS_SHAPED),
])  # fmt: skip
def test_a_shape_given_to_one_of_two(make: str, way: str, change: str, tmp_path: Path) -> None:
    library = "torch" if make.startswith("Z") else "np"
    for changed in "xy":
        source = (
            f"import numpy as np\nimport torch\nZ = torch.zeros\ndef go(k):\n    x = {make}\n    {way}\n"
            f"    {change.replace('{y}', changed)}\n    a = x + 0\n    b = y + 0\n    c = {library}.zeros(len(x))\n"
            "    d = x.sum(0)\n    e = y + 0\ngo(1)\n"
        )
        assert wrong_claims(tmp_path / "program.py", source) == {}


@pytest.mark.parametrize("expression", [
    "np.sum(a, dtype=object)", "np.mean(a, dtype=object)", "a.sum(dtype=object)", "np.float32(1).astype(object)",
    "np.add(np.int64(1), 1, dtype=object)", "np.arange(2j)", "torch.FloatTensor(np.int64(2))",
    "torch.FloatTensor(np.array(1))", "torch.LongTensor(np.int32(3))", "torch.block_diag()", "torch.block_diag(*[])",
])  # fmt: skip
def test_what_libraries_give_of_numbers(expression: str, tmp_path: Path) -> None:
    source = f"import numpy as np\nimport torch\ndef go():\n    a = np.ones(3)\n    v = {expression}\ngo()\n"
    assert wrong_claims(tmp_path / "program.py", source) == {}


def test_looking_at_a_stray_follows_a_file_that_looks_at_it_too(tmp_path: Path) -> None:
    (tmp_path / "inner.py").write_text(
        "import elsewhere\n\ntable = elsewhere.table()\n\n\ndef told(f):\n    table[0] = f\n    return elsewhere.make(f)\n\n\n"
        "@told\ndef wrap(f):\n    return f\n"
    )
    (tmp_path / "deco.py").write_text("from inner import wrap\n\nSIZE = 4\n")
    marked = '@pytest.mark.parametrize("x", [3])\n'
    source = (
        "import numpy as np\nimport pytest\nimport deco\n\n\ndef run(h):\n    h[0] = 1\n    return np.zeros(deco.SIZE)\n\n\n"
        f"width, rows = 3, deco.SIZE\n\n\n{marked}def first(x):\n    x.work()\n    return width\n\n\n"
        f"{marked}def second(x):\n    return width\n\n\n"
        "def later():\n    @deco.wrap\n    def work(x):\n        x.done = True\n\n    return work\n"
    )
    program = tmp_path / "program.py"
    program.write_text(source)
    project = Project()
    project.begin(str(program))
    failures: list[Exception] = []
    analyse(ast.parse(source), source, path=str(program), project=project, failures=failures)
    assert failures == []


def test_objects_that_hold_one_another_are_gone_through_once_for_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them finds all others, and all of them are strays."""
    found: list[int] = []

    def counting(values: Iterable[Any]) -> list[Any]:
        objects = objects_within(values)
        found.append(len(objects))
        return objects

    monkeypatch.setattr(forgetting, "objects_within", counting)

    def gone_through(n: int) -> int:
        made = "".join(f"h{i} = Obj(rows)\nrows.append(h{i})\ntable[{i}] = h{i}\n" for i in range(n))
        source = (
            "import numpy as np\nimport elsewhere\n\n\nclass Obj:\n    def __init__(self, rows):\n        self.rows = rows\n        self.n = 3\n\n\n"
            f"rows = []\ntable = elsewhere.table()\n{made}def go(x):\n    x.n = 4\n    return np.zeros(x.n)\n\n\ny = go(elsewhere.make())\n"
        )
        found.clear()
        analyse(ast.parse(source), source)
        return sum(found)

    few, many = gone_through(12), gone_through(48)
    assert few
    assert many < 8 * few
