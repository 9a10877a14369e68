"""Many ways to one object: what is changed of it by one of them is changed for all names."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")

HEAD = """\
import collections, contextlib, copy, dataclasses, functools, heapq, itertools, operator, queue, random, types, typing, weakref
from concurrent.futures import ThreadPoolExecutor
import torch
from torch import nn
Z = torch.zeros
REG = []
TABLE = {}
class Obj:
    def __init__(self, r): self.r = r
class Net(nn.Module):
    def __init__(self, r):
        super().__init__()
        self.r = r
class Err(Exception):
    def __init__(self, x):
        super().__init__("e")
        self.x = x
class Rows(list): pass
class Cfg(dict):
    def __getattr__(self, n): return self[n]
class UL(collections.UserList): pass
class UD(collections.UserDict): pass
Pair = collections.namedtuple("Pair", "a b")
class TPair(typing.NamedTuple):
    a: object
    b: int = 0
@dataclasses.dataclass
class Data:
    a: object
    b: int = 0
@dataclasses.dataclass(frozen=True)
class Frozen:
    a: object
    rest: list = dataclasses.field(default_factory=list)
class One:
    inst = None
    def __new__(cls, x=None):
        if cls.inst is None:
            cls.inst = super().__new__(cls)
            cls.inst.x = x
        return cls.inst
class Holder:
    kept = []
    def __init__(self, x):
        self._x = x
        REG.append(self)
        Holder.kept.append(x)
        TABLE["h"] = x
    @property
    def x(self): return self._x
    @x.setter
    def x(self, v): self._x = v
    @classmethod
    def last(cls): return cls.kept[-1]
    @staticmethod
    def first(): return REG[-1]._x
    def me(self): return self
    def with_x(self, v):
        self._x = v
        return self
    def items(self): yield self._x
class Slots:
    __slots__ = ("a", "b")
    def __init__(self, a): self.a = a
def same(x): return x
def gen(*xs): yield from xs
@contextlib.contextmanager
def managed(x): yield x
def deco(f):
    @functools.wraps(f)
    def inner(*a, **k): return f(*a, **k)
    return inner
@deco
def decorated(x): return x
@functools.lru_cache(None)
def cached(x): return x
@functools.singledispatch
def single(x): return x
def many(*a, **k): return a, k
def default(x, keep=[]):
    keep.append(x)
    return keep
def outer(x):
    def get(): return x
    return get
def multi(x): return x, [x], {"x": x}
def raiser(x): raise Err(x)
def tryer(x):
    try: return x
    finally: pass
def walrus(x): return (y := x)
def rec(x, n=2): return x if n == 0 else rec(x, n - 1)
async def co(x): return x
def run(c):
    try: c.send(None)
    except StopIteration as e: return e.value
class Desc:
    def __get__(self, o, t): return o.hidden
    def __set__(self, o, v): o.hidden = v
class WithDesc:
    d = Desc()
class Base:
    def __init__(self, x): self.x = x
    def get(self): return self.x
class Child(Base):
    def __init__(self, x):
        super().__init__(x)
        self.y = x
    def get(self): return super().get()
class Mixin:
    def mixed(self): return self.x
class Mixed(Mixin, Base): pass
class Lazy:
    def __init__(self, x): self.src = x
    @functools.cached_property
    def val(self): return self.src
class Gen(typing.Generic[typing.TypeVar("T")]):
    def __init__(self, x): self.x = x
def go(k):
    h = {made}
    w = {read} + 0
    {way}
    {change}
    w0 = {read} + 0
go(1)
"""
# How `g` gets to be `h`, one to a part; `\\n` ends a line.
WAYS = r"""
g = [h][0] | g = (h,)[0] | g = {1: h}[1] | g = {"a": h}["a"] | g = [h][-1] | g = [1, h][1:][0] | g = [h] * 2; g = g[1] | g = ([h] + [1])[0] | g = list((h,))[0] | g = tuple([h])[0]
g = [h].copy()[0] | g = {"a": h}.copy()["a"] | g = {**{"a": h}}["a"] | g = [*[h]][0] | g = dict(a=h)["a"] | g = dict([("a", h)])["a"] | g = dict(zip(["a"], [h]))["a"] | g = {"a": h}.get("a") | g = {"a": h}.pop("a") | g = {}.setdefault("a", h)
g = {"a": h}.get("b", h) | g = list({"a": h}.values())[0] | g = list({"a": h}.items())[0][1] | g = {"a": h}.popitem()[1] | g = next(iter({"a": h}.values())) | g = [h].pop() | l = [h]; g = l.pop(0) | l = []; l.append(h); g = l[0] | l = []; l.extend([h]); g = l[0] | l = []; l.insert(0, h); g = l[0]
l = [1]; l[0] = h; g = l[0] | l = [1]; l[:] = [h]; g = l[0] | l = []; l += [h]; g = l[0] | d = {}; d["a"] = h; g = d["a"] | d = {}; d.update(a=h); g = d["a"] | d = {}; d = {**d, "a": h}; g = d["a"] | g = collections.defaultdict(lambda: h)["a"] | d = collections.OrderedDict(a=h); g = d["a"] | g = collections.deque([h])[0] | g = collections.deque([h]).popleft()
g = collections.ChainMap({"a": h})["a"] | g = Pair(h, 1).a | g = Pair(h, 1)[0] | a, b = Pair(h, 1); g = a | g = Pair(h, 1)._asdict()["a"] | g = Pair(1, 2)._replace(a=h).a | g = TPair(h).a | g = TPair(h)._replace(b=1).a | g = Data(h).a | g = dataclasses.replace(Data(h), b=2).a
g = dataclasses.asdict(Data(1)) and h | g = dataclasses.astuple(Data(1)) and h | g = Frozen(h).a | g = Frozen(1, [h]).rest[0] | g = vars(Data(h))["a"] | g = Data(h).__dict__["a"] | g = getattr(Data(h), "a") | d = Data(1); setattr(d, "a", h); g = d.a | d = Data(1); d.__dict__["a"] = h; g = d.a | d = Data(1); vars(d).update(a=h); g = d.a
g = types.SimpleNamespace(a=h).a | g = vars(types.SimpleNamespace(a=h))["a"] | g = types.MappingProxyType({"a": h})["a"] | g = Rows([h])[0] | r = Rows(); r.append(h); g = r[0] | g = Cfg(a=h)["a"] | g = Cfg(a=h).a | g = UL([h])[0] | g = UD({"a": h})["a"] | One.inst = None; g = One(h).x
One.inst = None; One(h); g = One().x | g = Holder(h).x | Holder(h); g = Holder.last() | Holder(h); g = Holder.first() | Holder(h); g = REG[-1].x | Holder(h); g = TABLE["h"] | Holder(h); g = Holder.kept[-1] | g = Holder(1).with_x(h).x | q = Holder(1); q.x = h; g = q.x
g = Holder(h).me().x | g = next(Holder(h).items()) | g = [i for i in Holder(h).items()][0] | g = Slots(h).a | g = same(h) | g = (lambda x: x)(h) | g = decorated(h) | g = single(h) | g = many(h)[0][0] | g = many(a=h)[1]["a"]
g = default(h)[-1] | g = outer(h)() | g = multi(h)[0] | g = multi(h)[1][0] | g = multi(h)[2]["x"] | a, (b,), c = multi(h); g = b | g = tryer(h) | g = walrus(h) | g = rec(h) | g = run(co(h))
g = next(gen(h)) | g = list(gen(1, h))[1] | for g in gen(h): pass | g = next(iter([h])) | g = max([h], key=id) | g = min(h, h, key=id) | g = sorted([h], key=id)[0] | g = list(reversed([h]))[0] | g = list(map(same, [h]))[0] | g = list(filter(None.__ne__, [h]))[0]
g = list(zip([h], [1]))[0][0] | g = list(zip(*[[h]]))[0][0] | g = list(enumerate([h]))[0][1] | g = list(itertools.chain([h]))[0] | g = list(itertools.chain.from_iterable([[h]]))[0] | g = next(itertools.cycle([h])) | g = next(itertools.repeat(h)) | g = list(itertools.product([h], [1]))[0][0] | g = list(itertools.islice([h], 1))[0] | g = list(itertools.accumulate([h], lambda a, b: a))[0]
g = list(itertools.tee([h])[0])[0] | g = [list(v) for _, v in itertools.groupby([h], key=id)][0][0] | g = list(itertools.zip_longest([h], [1, 2]))[0][0] | g = list(itertools.permutations([h]))[0][0] | g = list(itertools.starmap(same, [(h,)]))[0] | g = list(itertools.compress([h], [1]))[0] | g = list(itertools.takewhile(lambda x: True, [h]))[0] | g = functools.reduce(lambda a, b: a, [h, 1]) | g = functools.partial(same, h)() | g = functools.partial(same, h).args[0]
g = operator.itemgetter(0)([h]) | g = operator.attrgetter("a")(Data(h)) | g = operator.methodcaller("me")(Holder(h)).x | g = random.choice([h]) | g = random.sample([h], 1)[0] | l = [h]; random.shuffle(l); g = l[0] | g = random.choices([h], k=1)[0] | l = [(0, id(h), h)]; g = heapq.heappop(l)[2] | l = []; heapq.heappush(l, (0, 1, h)); g = l[0][2] | q = queue.Queue(); q.put(h); g = q.get()
g = copy.copy([h])[0] | g = copy.copy(Data(h)).a | g = weakref.ref(Data)() and h | with managed(h) as g: pass | with contextlib.nullcontext(h) as g: pass | with contextlib.ExitStack() as s: g = s.enter_context(managed(h)) | with contextlib.closing(Data(h)) if 0 else managed(h) as g: pass | g = contextlib.ExitStack().enter_context(managed(h))
try: raise Err(h)\n    except Err as e: g = e.x | try: raiser(h)\n    except Err as e: g = e.x | try: raise ValueError(h)\n    except ValueError as e: g = e.args[0] | try: raiser(h)\n    except Exception as e: g = e.x | try: next(gen())\n    except StopIteration: g = h | g = h if k else None | g = None or h | g = k and h | g = (h, 1)[k - 1] | g = [x for x in [h]][0]
g = [x for y in [[h]] for x in y][0] | g = {k: v for k, v in [("a", h)]}["a"] | g = list(x for x in [h])[0] | g = next(x for x in [h] if x is h) | g = [y := h][0] | (g := h) | g, *_ = [h, 1] | *_, g = [1, h] | (g,) = (h,) | [g, _] = h, 1
g = WithDesc(); g.d = h; g = g.d | g = Child(h).get() | g = Child(h).y | g = Mixed(h).mixed() | g = Base.get(Child(h)) | g = Lazy(h).val | g = Gen(h).x | g = type(Data(1))(h).a | g = Data.__new__(Data); g.a = h; g = g.a
with ThreadPoolExecutor(1) as p: g = p.submit(same, h).result() | with ThreadPoolExecutor(1) as p: g = list(p.map(same, [h]))[0] | g = globals().setdefault("GL", h); g = GL if 0 else g | globals()["GX"] = h; g = GX | g = locals()["h"] | g = eval("h") | q = iter([h]); g = next(q) | q = iter([]); g = next(q, h) | g = [h, 1].__getitem__(0) | g = {"a": h}.__getitem__("a")
match h:\n        case g: pass | match [h]:\n        case [g]: pass | match {"a": h}:\n        case {"a": g}: pass | match Data(h):\n        case Data(a=g): pass | match (h, 1):\n        case (g, 1): pass | for g in [h]: pass | for g, in [[h]]: pass | for _, g in enumerate([h]): pass | for g in {"a": h}.values(): pass | for _, g in {"a": h}.items(): pass
def f(): return h\n    g = f() | def f(x=h): return x\n    g = f() | def f(*, x=h): return x\n    g = f() | f = lambda: h; g = f() | f = lambda x=h: x; g = f() | f = [lambda: h][0]; g = f() | f = {"a": lambda: h}["a"]; g = f() | def f():\n        nonlocal h\n        return h\n    g = f() | class C:\n        a = h\n    g = C.a | class C:\n        a = h\n    g = C().a
class C:\n        a = [h]\n    g = C().a[0] | class C:\n        def get(self): return h\n    g = C().get() | class C:\n        x: object = h\n    g = C.x | g = type("T", (), {"a": h}).a | g = types.MethodType(same, h)() | g = Holder(h).me.__self__.x | g = default.__defaults__[0] and h if default(h) else 0 | g = list({h} if not isinstance(h, (list, dict)) else [h])[0] | g = {id(h): h}[id(h)]
"""
KINDS = {
    "a list": ("[Z(13, 2)]", "h[0]", "g[0] = Z(30, 3)"),
    "a module": ("Net(Z(13, 2))", "h.r", "g.r = Z(30, 3)"),
    "an object, in place": ("Obj(Z(13, 2))", "h.r", "g.r.unsqueeze_(0)"),
}
LINES = [line for line in WAYS.splitlines() if line]


def program(way: str, kind: str, change: str | None = None) -> str:
    made, read, changed = KINDS[kind]
    source = HEAD
    parts = {"made": made, "read": read, "way": way.replace(r"\n", "\n"), "change": change or changed}
    for name, part in parts.items():
        source = source.replace(f"{{{name}}}", part)
    return source


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", range(len(LINES)))
def test_what_is_changed_by_another_way_is_changed(line: int, kind: str, tmp_path: Path) -> None:
    wrong = {}
    for way in LINES[line].split(" | "):
        with contextlib.redirect_stdout(io.StringIO()):
            if found := wrong_claims(tmp_path / "program.py", program(way, kind)):
                wrong[way] = found
    assert wrong == {}


# Classes that hold it in one way each; a program has those that its way speaks of.
CLASSES = """\
class P1:
    def __init__(self, x): self._x = x
    def _g(self): return self._x
    def _s(self, v): self._x = v
    x = property(_g, _s)
class P2:
    def __init__(self, x): self._x = x
    x = property(lambda self: self._x)
class P3(P1): pass
class P4:
    def __init__(self, x): self._x = x
    @property
    def x(self): return self._x
    @x.deleter
    def x(self): pass
class P5(P4):
    @P4.x.setter
    def x(self, v): self._x = v
class P7(nn.Module):
    def __init__(self, x):
        super().__init__()
        self._x = x
    @property
    def x(self): return self._x
    @x.setter
    def x(self, v): self._x = v
class P8:
    def __init__(self, x): self._x = [x]
    @property
    def x(self): return self._x[0]
    @x.setter
    def x(self, v): self._x[0] = v
class P9:
    @classmethod
    def make(cls, x):
        self = cls()
        self.x = x
        return self
    @staticmethod
    def give(x): return x
    def __call__(self): return self.x
class P10:
    def __init__(self, x): self.inner = P9.make(x)
    def __getattr__(self, n): return getattr(self.inner, n)
class P11:
    def __init__(self, *args, **kwargs): self.args, self.kwargs = args, kwargs
class P12(P11):
    def __init__(self, x, **kw):
        super().__init__(x, k=x, **kw)
class P13:
    x = None
    def __init__(self, x): type(self).x = x
class P14:
    def __init__(self, x): self.set(x)
    def set(self, x): self.x = x
class P15:
    def __init__(self, x): setattr(self, "x", x)
class P16:
    def __init__(self, x):
        for n in ("x", "y"): setattr(self, n, x)
class P17:
    def __init__(self, x): self.__dict__.update(x=x)
class P18:
    def __init__(self, x): self.x, self.y = x, [x]
class P19:
    def __init__(self, x): self.x = self.y = x
class P20(dict):
    def __init__(self, x): super().__init__(x=x)
class P21(list):
    def __init__(self, x): super().__init__([x])
class P22(nn.Module):
    def __init__(self, x):
        super().__init__()
        self.kept = [x]
        self.inner = nn.ModuleList()
        self.map = {"x": x}
    def forward(self): return self.kept[0]
"""
BY_CLASSES = r"""
g = P1(h).x | g = P2(h).x | g = P3(h).x | g = P4(h).x | g = P5(h).x | g = P7(h).x | g = P8(h).x | g = P9.make(h).x | g = P9.make(h)() | g = P9.give(h)
g = P9().give(h) | g = P10(h).x | g = P11(h).args[0] | g = P11(k=h).kwargs["k"] | g = P12(h).args[0] | g = P12(h).kwargs["k"] | g = P13(h).x | P13(h); g = P13.x | g = P14(h).x | g = P15(h).x
g = P16(h).x | g = P16(h).y | g = P17(h).x | g = P18(h).y[0] | g = P19(h).y | g = P20(h)["x"] | g = P21(h)[0] | g = P22(h)() | g = P22(h).forward() | g = P22(h).map["x"]
p = P1(1); p.x = h; g = p._x | p = P8(1); p.x = h; g = p.x | p = P5(1); p.x = h; g = p.x | p = P14(1); p.set(h); g = p.x | p = P14(1); P14.set(p, h); g = p.x | p = P14(1); m = p.set; m(h); g = p.x | p = P9(); p.x = h; g = p() | p = P9(); object.__setattr__(p, "x", h); g = p.x | p = P9(); p.__setattr__("x", h); g = p.x | p = P9(); q = p; q.x = h; g = p.x
p, q = P9(), P9(); p.x = q.x = h; g = q.x | p = [P9()]; p[0].x = h; g = p[0].x | p = {"a": P9()}; p["a"].x = h; g = p["a"].x | p = P9(); p.y = p; p.y.y.x = h; g = p.x | p = P9(); p.l = []; p.l.append(h); g = p.l[0] | p = P9(); p.d = {}; p.d["a"] = [h]; g = p.d["a"][0] | p = P9(); p.t = (h, 1); g = p.t[0] | p = P9(); p.f = lambda: h; g = p.f() | p = P9(); p.x = h; del p; g = h | p = P9.make(h); g = vars(p)["x"]
p = P9.make(h); g = getattr(p, "x", None) | p = P9.make(h); g = getattr(p, "".join(["x"])) | p = P9.make(h); q = copy.copy(p); g = q.x | p = P9.make([h]); q = copy.copy(p); g = q.x[0] | p = [P9.make(h) for _ in range(2)]; g = p[1].x | p = {i: P9.make(h) for i in range(2)}; g = p[1].x | p = P9.make(h); g = (lambda p: p.x)(p) | p = P9.make(h); g = list(map(lambda p: p.x, [p]))[0] | p = P9.make(h); g = max([p], key=id).x | p = [P9.make(h)]; g = sorted(p, key=id)[0].x
p = P9.make(h); g = next(q.x for q in [p]) | p = P9.make(h); g = [q.x for q in (p, p)][-1]
"""
CLASS_LINES = [line for line in BY_CLASSES.splitlines() if line]
DEFINED = {part.split("(")[0].split(":")[0]: f"class {part}" for part in CLASSES.split("class ")[1:]}


def with_classes(way: str, kind: str, change: str | None = None) -> str:
    wanted, more = set(), set(re.findall(r"P\d+", way))
    while more - wanted:
        wanted |= more
        more = {name for each in wanted for name in re.findall(r"P\d+", DEFINED[each])}
    classes = "".join(text for name, text in DEFINED.items() if name in wanted)
    return program(way, kind, change).replace("def go(k):", f"{classes}def go(k):", 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", range(len(CLASS_LINES)))
def test_what_is_changed_by_way_of_an_object_is_changed(line: int, kind: str, tmp_path: Path) -> None:
    wrong = {}
    for way in CLASS_LINES[line].split(" | "):
        with contextlib.redirect_stdout(io.StringIO()):
            if found := wrong_claims(tmp_path / "program.py", with_classes(way, kind)):
                wrong[way] = found
    assert wrong == {}


def test_most_ways_leave_it_known() -> None:
    ways = [way for line in LINES for way in line.split(" | ")]
    known = 0
    for way in ways:
        source = program(way, "a module", "pass")
        shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
        known += shown.get("w0") == (13, 2)
    assert known >= 0.9 * len(ways)
