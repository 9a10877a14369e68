"""What a library, a manager or code that nobody knows gives may be an object that it was given: what is done to the one is done
to the other. Running says what is there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """
import torch, operator, heapq, random, functools, contextlib, copy, weakref, types, collections, itertools, queue, threading, concurrent.futures
from contextlib import contextmanager, ExitStack, closing, nullcontext
from operator import methodcaller
class Box:
    def __init__(self):
        self.rows = []
        self.d = {}
    def close(self): pass
def outer(f):
    @functools.wraps(f)
    def run(*a): return f(*a)
    return run
@contextmanager
def manager(box):
    yield box
@contextmanager
def two(a, *, b):
    yield a, b
@contextmanager
def local(box):
    kept = [box]
    for each in kept:
        yield each
def gen(box):
    yield box
def again(box, n):
    if n == 0: return box
    return again(box, n - 1)
class M:
    def __init__(self, box): self.box = box
    @contextmanager
    def of(self): yield self.box
    @contextmanager
    def itself(self): yield self
    def deep(self, n):
        if n: return self.deep(n - 1)
        return self.box
def decide(k):
    return {0: lambda b: b, 1: lambda b: [b]}[k]
class Reg:
    def __getattr__(self, name): return lambda *a, **k: (a or list(k.values()))[0]
REG = sorted([Reg()], key=id)[0]
UNK = decide(len(REG.__dict__))
box1 = Box()
"""
# How `x` comes to be the box, or one that it holds.
HOLDS = [
    "with manager(box1) as x: pass",
    "with two(1, b=box1) as (y0, x): pass",
    "with two(box1, b=2) as (x, y0): pass",
    "with two(box1, b=2) as both: x = both[0]",
    "m = manager(box1)\nx = m.__enter__()",
    "m = manager(box1)\nwith m as x: pass",
    "with contextmanager(gen)(box1) as x: pass",
    "with manager([box1]) as held: x = held[0]",
    'with manager({"a": box1}) as held: x = held["a"]',
    "with local(box1) as x: pass",
    "with M(box1).of() as x: pass",
    "with M(box1).itself() as mm: x = mm.box",
    "mm = M(box1)\nwith mm.of() as x: pass",
    "mm = M(box1)\nwith mm.itself() as nn: x = nn.box",
    "st = ExitStack()\nx = st.enter_context(manager(box1))",
    "with ExitStack() as st: x = st.enter_context(manager(box1))",
    "with nullcontext(box1) as x: pass",
    "with closing(box1) as x: pass",
    "x = again(box1, 20)",
    "x = M(box1).deep(15)",
    "x = list(gen(box1))[0]",
    "(x,) = gen(box1)",
    "x = next(iter(gen(box1)))",
    "x, *_ = [*gen(box1)]",
    "x = functools.reduce(lambda a, b: a, [box1, 1, 2])",
    "x = functools.partial(manager, box1)().__enter__()",
    "x = max([box1], key=id)",
    "x = random.choice([box1])",
    "x = (lambda: box1)()",
    "x = [b for b in gen(box1)][0]",
    "x = sorted([box1], key=id)[0]",
    "x = operator.itemgetter(0)([box1])",
    'x = operator.attrgetter("box")(M(box1))',
    "x = contextlib.nullcontext(box1).__enter__()",
    "x = nullcontext(box1).enter_result",
    "x = outer(lambda b: b)(box1)",
    "x = next(filter(None, [box1]))",
    "x = next(map(lambda b: b, [box1]))",
    "x = next(zip([box1], [1]))[0]",
    "x = [box1].pop()",
    'x = {"a": box1}.setdefault("a")',
    "x = (box1 or None)",
    "x = UNK(box1)",
    "x = decide(1)(box1)[0]",
    "x = REG.keep(box1)",
    "x = REG.keep(b=box1)",
    "x = REG.keep([box1])[0]",
    "x = REG.keep({'a': box1})['a']",
    "x = getattr(REG, 'keep')(box1)",
    "x = collections.ChainMap({'a': box1})['a']",
    "x = types.MappingProxyType({'a': box1})['a']",
    "x = collections.OrderedDict(a=box1)['a']",
    "x = collections.defaultdict(list, a=box1)['a']",
    "x = collections.UserList([box1])[0]",
    "x = next(iter({box1}))",
    "x = {box1}.pop()",
    "x = list({'a': box1}.values())[0]",
    "x = copy.copy({'a': box1})['a']",
    "x = list(itertools.product([box1], [1]))[0][0]",
    "x = list(enumerate([box1]))[0][1]",
    "x = list(reversed([box1]))[0]",
    "x = max(box1, box1, key=id)",
    "x = functools.partial(lambda b: b, box1)()",
    "x = heapq.nlargest(1, [box1], key=id)[0]",
    'x = {"a": box1}.get("a", None)',
    "x = copy.copy([box1])[0]",
    "x = weakref.proxy(box1)",
    "x = types.SimpleNamespace(b=box1).b",
    'x = collections.namedtuple("P", "b")(box1).b',
    "x = collections.deque([box1])[0]",
    "x = itertools.chain([box1]).__next__()",
    "x = next(itertools.cycle([box1]))",
    "x = threading.local()\nx.b = box1\nx = x.b",
    "x = concurrent.futures.ThreadPoolExecutor(1).submit(lambda: box1).result()",
]
# What is done to `x` without naming the box.
CHANGES = [
    "list.append(x.rows, 2)",
    "list.extend(x.rows, [2])",
    "dict.update(x.d, a=1)",
    "operator.setitem(x.d, 2, 3)",
    "operator.iadd(x.rows, [3])",
    "heapq.heappush(x.rows, 3)",
    "(lambda r: r.append(2))(x.rows)",
    'g = getattr(x, "rows"); g.append(2)',
    "r = x.rows; list.append(r, 2)",
    "r = x.rows; r += [1]",
    "x.rows += [1]",
    "a = b = x.rows; b.append(1)",
    "list(map(x.rows.append, [1]))",
    'r, s = x.rows, x.d; s["a"] = 1; r.insert(0, 1)',
    "def fill(r): r.append(1)\nfill(x.rows)",
    "def fill(r): list.append(r, 1)\nfill(x.rows)",
    "def fill(b): list.append(b.rows, 1)\nfill(x)",
    "def fill(b): dict.__setitem__(b.d, 2, 1)\nfill(x)",
    "dict.__setitem__(x.d, 2, 1)",
    "list.__iadd__(x.rows, [2])",
    "(x.rows).append(1)",
    "[r.append(1) for r in [x.rows]]",
    "for r in [x.rows]: r.append(1)",
    'from operator import methodcaller; methodcaller("append", 1)(x.rows)',
    "import functools; functools.partial(list.append, x.rows)(1)",
    "x.rows = [1, 2]",
    'setattr(x, "rows", [1])',
    "x.d[1] = 2",
    "x.__init__(); x.rows.append(2)",
    "def f(b):\n    q = b.rows\n    q += [1]\nf(x)",
    'vars(x)["rows"] = [1]',
    "x.__dict__.update(rows=[1, 2])",
]
READ = "\nv = torch.zeros(len(box1.rows))\nw = torch.zeros(len(box1.d))\n"
_EACH = 7  # changes that are made in each way; all of them are run now and then


@pytest.mark.parametrize("at", range(len(HOLDS)))
def test_what_is_done_to_what_code_gives_is_done_to_what_it_was_given(at: int, tmp_path: Path) -> None:
    for number in range(_EACH):
        change = CHANGES[(at + 5 * number) % len(CHANGES)]
        source = f"{HEAD}{HOLDS[at]}\n{change}\n{READ}"
        assert not wrong_claims(tmp_path / f"program_{number}.py", source), source


@pytest.mark.parametrize(
    "use",
    [
        "print(box1)",
        "seen = UNK(box1.rows.copy())",
        "loss = UNK(net)\nloss.backward()",
        "loss = REG.step(net, box1.t)\nloss.backward()\nloss.item()",
        "REG.log(box1)",
        "with nullcontext(net) as m:\n    m(torch.zeros(2, 3))",
        "size = len(copy.copy(box1.rows))",
    ],
)
def test_what_nothing_is_done_to_stays_known(use: str) -> None:
    source = f"{HEAD}from torch import nn\nnet = nn.Linear(3, 7)\nbox1.t = torch.zeros(3, 4)\n{use}\nout = net(torch.zeros(5, 3))\n"
    shapes = [each.shape for each in analyse(ast.parse(source), source).bindings if each.name == "out"]
    assert shapes[-1] == (5, 7)
