"""Programs that change an object in every way, in every place and through every kind of name, and read it afterwards.

`CHANGE(b)` in a place stands for a way with `b` for the object; `BOX` in either for the object by the name that it has there.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from textwrap import indent


@dataclass(frozen=True)
class Place:
    """Statements, with the methods that they call and what the module defines for them."""

    statements: str
    methods: str = ""
    module: str = ""


OF_OBJECTS = [
    "BOX.t = torch.ones(4)",
    "setattr(BOX, 't', torch.ones(4))",
    "BOX.__dict__['t'] = torch.ones(4)",
    "vars(BOX).update(t=torch.ones(4))",
    "BOX.t, _ = torch.ones(4), 1",
    "for BOX.t in [torch.ones(4)]: pass",
    "with contextlib.nullcontext(torch.ones(4)) as BOX.t: pass",
    "[BOX.t, *_] = torch.ones(4), 1",
    "BOX.t.resize_(4)",
    "BOX.t.data = torch.ones(4)",
    "BOX.t.unsqueeze_(0)",
    "BOX.t = BOX.u = torch.ones(4)",
    "BOX.t: object = torch.ones(4)",
    "del BOX.t; BOX.t = torch.ones(4)",
    "object.__setattr__(BOX, 't', torch.ones(4))",
    "operator.setitem(BOX.__dict__, 't', torch.ones(4))",
    "o = BOX; o.t = torch.ones(4)",
    "q = BOX.t; q.resize_(4)",
    "[BOX.t][0].resize_(4)",
    "BOX.t = BOX.t[None]",
    "torch.add(torch.ones(4), 1, out=BOX.t)",
    "BOX.t.set_(torch.ones(4))",
    "torch.utils.swap_tensors(BOX.t, torch.ones(4))",
    "BOX.rows.append(torch.ones(5, 3))",
    "BOX.rows += [torch.ones(5, 3)]",
    "BOX.rows.extend([torch.ones(5, 3)])",
    "BOX.rows.insert(0, torch.ones(5, 3))",
    "BOX.rows[:] = [torch.ones(5, 3)]",
    "BOX.rows[0] = torch.ones(5, 3)",
    "BOX.rows[len(BOX.rows):] = [torch.ones(5, 3)]",
    "BOX.rows *= 2",
    "operator.iadd(BOX.rows, [torch.ones(5, 3)])",
    "list.append(BOX.rows, torch.ones(5, 3))",
    "list(map(BOX.rows.append, [torch.ones(5, 3)]))",
    "r = BOX.rows; r.append(torch.ones(5, 3))",
    "r = a = BOX.rows; a += [torch.ones(5, 3)]",
    "for BOX.rows[0] in [torch.ones(5, 3)]: pass",
    "getattr(BOX, 'rows').append(torch.ones(5, 3))",
    "vars(BOX)['rows'].append(torch.ones(5, 3))",
    "BOX.rows.__iadd__([torch.ones(5, 3)])",
    "BOX.rows.__setitem__(0, torch.ones(5, 3))",
    "BOX.rows = [torch.ones(5, 3)]",
    "[a.append(torch.ones(5, 3)) for a in (BOX.rows,)]",
    "(lambda r: r.append(torch.ones(5, 3)))(BOX.rows)",
    "for a, b in zip([BOX.rows], [1]): a.append(torch.ones(5, 3))",
    "BOX.rows.append(torch.ones(5, 3)); del BOX.rows[0]",
    "BOX.rows.append(torch.ones(5, 3)); BOX.rows.pop(0)",
    "BOX.rows.clear(); BOX.rows.append(torch.ones(5, 3))",
    "BOX.rows[0].resize_(5, 3)",
    "BOX.rows[-1].unsqueeze_(0)",
    "(BOX.rows if BOX else []).append(torch.ones(5, 3))",
    "(r := BOX.rows).append(torch.ones(5, 3))",
    "BOX.d['a'] = torch.ones(4)",
    "BOX.d.update(a=torch.ones(4))",
    "BOX.d |= {'a': torch.ones(4)}",
    "BOX.d.__setitem__('a', torch.ones(4))",
    "operator.setitem(BOX.d, 'a', torch.ones(4))",
    "for BOX.d['a'] in [torch.ones(4)]: pass",
    "BOX.d.pop('a'); BOX.d.setdefault('a', torch.ones(4))",
    "dict.update(BOX.d, a=torch.ones(4))",
    "d = BOX.d; d['a'] = torch.ones(4)",
    "BOX.d = {**BOX.d, 'a': torch.ones(4)}",
    "BOX.d['a'].resize_(4)",
    "[v.resize_(4) for v in BOX.d.values()]",
    "BOX.n = 5",
    "BOX.n += 2",
    "setattr(BOX, 'n', 5)",
    "BOX.__dict__['n'] = 5",
    "BOX.n, _ = 5, 6",
    "BOX.__dict__.update({'n': 5})",
    "for BOX.n in range(6): pass",
]
OF_MODULES = [
    "BOX.fc = torch.nn.Linear(3, 5)",
    "setattr(BOX, 'fc', torch.nn.Linear(3, 5))",
    "BOX.add_module('fc', torch.nn.Linear(3, 5))",
    "BOX.register_module('fc', torch.nn.Linear(3, 5))",
    "BOX._modules['fc'] = torch.nn.Linear(3, 5)",
    "BOX.set_submodule('fc', torch.nn.Linear(3, 5))",
    "BOX.fc.weight = torch.nn.Parameter(torch.ones(5, 3)); BOX.fc.bias = None",
    "BOX.fc.weight.data = torch.ones(5, 3); BOX.fc.bias = None",
    "BOX.fc.register_parameter('weight', torch.nn.Parameter(torch.ones(5, 3))); BOX.fc.bias = None",
    "BOX.fc.forward = lambda x: x.sum()",
    "BOX.fc.register_forward_hook(lambda m, x, y: y.sum())",
    "BOX.fc.register_forward_pre_hook(lambda m, x: (torch.ones(7, 3),))",
    "BOX.fc.__init__(3, 5); None",
    "BOX._modules.update(fc=torch.nn.Linear(3, 5))",
    "BOX.fc.double(); BOX.fc.float(); BOX.fc.weight.data = BOX.fc.weight.data[:2]; BOX.fc.bias = None",
    "BOX.fc.out_features = 7",
    "BOX.fc, _ = torch.nn.Linear(3, 5), 1",
    "del BOX.fc; BOX.fc = torch.nn.Linear(3, 5)",
    "BOX.fc = torch.nn.Sequential(BOX.fc, torch.nn.Linear(4, 6))",
    "BOX.fc = torch.nn.Identity()",
    """
for k, m in list(BOX.named_children()):
    if k == 'fc': setattr(BOX, k, torch.nn.Linear(3, 5))
""",
    "for p in BOX.fc.parameters(): p.data = p.data[:2]",
    """
for m in BOX.modules():
    if isinstance(m, torch.nn.Linear): m.weight = torch.nn.Parameter(torch.ones(5, 3)); m.bias = None
""",
    "BOX.apply(lambda m: setattr(m, 'forward', lambda x: x.sum()) if isinstance(m, torch.nn.Linear) else None)",
    "BOX.get_submodule('fc').weight = torch.nn.Parameter(torch.ones(5, 3)); BOX.fc.bias = None",
    "torch.nn.utils.parametrize.register_parametrization(BOX.fc, 'weight', Cut(), unsafe=True); BOX.fc.bias = None",
    "BOX.seq.append(torch.nn.Linear(4, 6))",
    "BOX.seq[0] = torch.nn.Linear(3, 5)",
    "BOX.seq.insert(0, torch.nn.Linear(3, 3)); BOX.seq.append(torch.nn.Linear(4, 7))",
    "BOX.seq.extend([torch.nn.Linear(4, 6)])",
    "BOX.seq += torch.nn.Sequential(torch.nn.Linear(4, 6))",
    "BOX.seq.append(torch.nn.Linear(4, 6)); BOX.seq.pop(0) if 0 else None",
    "BOX.seq.add_module('x', torch.nn.Linear(4, 6))",
    "setattr(BOX.seq, '0', torch.nn.Linear(3, 5))",
    "BOX.seq = torch.nn.Sequential(torch.nn.Linear(3, 5))",
    "BOX.seq[0].weight = torch.nn.Parameter(torch.ones(5, 3)); BOX.seq[0].bias = None",
    "BOX.seq[0].register_forward_hook(lambda m, x, y: y.sum())",
    "BOX.seq.register_forward_hook(lambda m, x, y: y.sum())",
    "s = BOX.seq; s.append(torch.nn.Linear(4, 6))",
    "s = BOX.seq; s[0] = torch.nn.Linear(3, 5)",
    "BOX.seq._modules['0'] = torch.nn.Linear(3, 5)",
    "list(map(BOX.seq.append, [torch.nn.Linear(4, 6)]))",
    "for m in BOX.seq: m.weight = torch.nn.Parameter(torch.ones(5, 3)); m.bias = None",
    "torch.nn.Sequential.append(BOX.seq, torch.nn.Linear(4, 6))",
    "BOX.ml.append(torch.nn.Linear(4, 6))",
    "BOX.ml[0] = torch.nn.Linear(3, 5)",
    "BOX.ml += [torch.nn.Linear(4, 6)]",
    "BOX.ml.extend([torch.nn.Linear(4, 6)])",
    "BOX.ml = torch.nn.ModuleList([torch.nn.Linear(3, 5)])",
    "s = BOX.ml; s.append(torch.nn.Linear(4, 6))",
    "BOX.ml[0].weight = torch.nn.Parameter(torch.ones(5, 3)); BOX.ml[0].bias = None",
    "BOX.md['a'] = torch.nn.Linear(3, 5)",
    "BOX.md.update({'a': torch.nn.Linear(3, 5)})",
    "s = BOX.md; s['a'] = torch.nn.Linear(3, 5)",
    "BOX.md.pop('a'); BOX.md['a'] = torch.nn.Linear(3, 5)",
    "BOX.register_buffer('b', torch.ones(4))",
    "BOX.b = torch.ones(4)",
    "BOX._buffers['b'] = torch.ones(4)",
    "BOX.b.resize_(4)",
    "BOX.b.data = torch.ones(4)",
    "setattr(BOX, 'b', torch.ones(4))",
    "BOX.b = None; BOX.b = torch.ones(4)",
    "for q in BOX.buffers(): q.resize_(4)",
    "for k, q in BOX.named_buffers(): q.data = torch.ones(4)",
    "BOX.p = torch.nn.Parameter(torch.ones(4))",
    "BOX.p.data = torch.ones(4)",
    "BOX.register_parameter('p', torch.nn.Parameter(torch.ones(4)))",
    "BOX._parameters['p'] = torch.nn.Parameter(torch.ones(4))",
    "for q in BOX.parameters(): q.data = q.data[:1]",
]
PLACES = {
    "a statement": Place("CHANGE(BOX)"),
    "a function within": Place("""
def put():
    CHANGE(BOX)
put()
"""),
    "a function within one": Place("""
def put():
    def inner():
        CHANGE(BOX)
    inner()
put()
"""),
    "a function that takes it": Place("""
def put(b):
    CHANGE(b)
put(BOX)
"""),
    "a default": Place("""
def put(b=BOX):
    CHANGE(b)
put()
"""),
    "a keyword": Place("""
def put(*, b):
    CHANGE(b)
put(b=BOX)
"""),
    "starred": Place("""
def put(*bs):
    for b in bs:
        CHANGE(b)
put(BOX)
"""),
    "starred words": Place("""
def put(**bs):
    b = bs['x']
    CHANGE(b)
put(x=BOX)
"""),
    "lambda": Place("(lambda: CHANGE(BOX))()"),
    "a comprehension": Place("[CHANGE(BOX) for _ in (1,)]"),
    "a text": Place("f'''{(CHANGE(BOX))}'''"),
    "an assertion": Place("assert CHANGE(BOX) or True"),
    "a condition": Place("True and CHANGE(BOX)"),
    "a choice": Place("CHANGE(BOX) if BOX else None"),
    "an index": Place("[0, 1][bool(CHANGE(BOX))]"),
    "an argument": Place("print(CHANGE(BOX), end='', file=io.StringIO())"),
    "a display": Place("{'k': CHANGE(BOX)}"),
    "a method": Place(
        "BOX.meth()",
        methods="""
def meth(self):
    CHANGE(self)
""",
    ),
    "a method of a method": Place(
        "BOX.meth()",
        methods="""
def meth(self):
    self.meth2()
def meth2(self):
    CHANGE(self)
""",
    ),
    "a bound method": Place(
        """
f = BOX.meth
f()
""",
        methods="""
def meth(self):
    CHANGE(self)
""",
    ),
    "a method by name": Place(
        "getattr(BOX, 'meth')()",
        methods="""
def meth(self):
    CHANGE(self)
""",
    ),
    "methodcaller": Place(
        "operator.methodcaller('meth')(BOX)",
        methods="""
def meth(self):
    CHANGE(self)
""",
    ),
    "a method of the type": Place(
        "type(BOX).meth(BOX)",
        methods="""
def meth(self):
    CHANGE(self)
""",
    ),
    "a class method": Place(
        "BOX.meth(BOX)",
        methods="""
@classmethod
def meth(cls, b):
    CHANGE(b)
""",
    ),
    "a static method": Place(
        "BOX.meth(BOX)",
        methods="""
@staticmethod
def meth(b):
    CHANGE(b)
""",
    ),
    "a property": Place(
        "BOX.p",
        methods="""
@property
def p(self):
    CHANGE(self)
    return 1
""",
    ),
    "a property used": Place(
        "k = BOX.p + 1",
        methods="""
@property
def p(self):
    CHANGE(self)
    return 1
""",
    ),
    "a setter": Place(
        "BOX.p = 3",
        methods="""
@property
def p(self):
    return 1
@p.setter
def p(self, v):
    CHANGE(self)
""",
    ),
    "a cached property": Place(
        "BOX.p",
        methods="""
@functools.cached_property
def p(self):
    CHANGE(self)
    return 1
""",
    ),
    "__call__": Place(
        "BOX()",
        methods="""
def __call__(self):
    CHANGE(self)
""",
    ),
    "__getitem__": Place(
        "BOX[0]",
        methods="""
def __getitem__(self, k):
    CHANGE(self)
    return k
""",
    ),
    "__setitem__": Place(
        "BOX[0] = 1",
        methods="""
def __setitem__(self, k, v):
    CHANGE(self)
""",
    ),
    "__delitem__": Place(
        "del BOX[0]",
        methods="""
def __delitem__(self, k):
    CHANGE(self)
""",
    ),
    "__add__": Place(
        "k = BOX + 1",
        methods="""
def __add__(self, o):
    CHANGE(self)
    return o
""",
    ),
    "__radd__": Place(
        "k = 1 + BOX",
        methods="""
def __radd__(self, o):
    CHANGE(self)
    return o
""",
    ),
    "__iadd__": Place(
        """
b = BOX
b += 1
""",
        methods="""
def __iadd__(self, o):
    CHANGE(self)
    return self
""",
    ),
    "__neg__": Place(
        "k = -BOX",
        methods="""
def __neg__(self):
    CHANGE(self)
    return 1
""",
    ),
    "__eq__": Place(
        "BOX == 1",
        methods="""
def __eq__(self, o):
    CHANGE(self)
    return True
__hash__ = None
""",
    ),
    "__lt__": Place(
        "BOX < 1",
        methods="""
def __lt__(self, o):
    CHANGE(self)
    return True
""",
    ),
    "__contains__": Place(
        "1 in BOX",
        methods="""
def __contains__(self, o):
    CHANGE(self)
    return True
""",
    ),
    "__bool__": Place(
        """
if BOX:
    pass
""",
        methods="""
def __bool__(self):
    CHANGE(self)
    return True
""",
    ),
    "__len__": Place(
        "len(BOX)",
        methods="""
def __len__(self):
    CHANGE(self)
    return 3
""",
    ),
    "__iter__": Place(
        """
for k in BOX:
    pass
""",
        methods="""
def __iter__(self):
    CHANGE(self)
    return iter([1])
""",
    ),
    "__iter__ of a list": Place(
        "list(BOX)",
        methods="""
def __iter__(self):
    CHANGE(self)
    yield 1
""",
    ),
    "__iter__ unpacked": Place(
        "k, = BOX",
        methods="""
def __iter__(self):
    CHANGE(self)
    return iter([1])
""",
    ),
    "__iter__ starred": Place(
        "print(*BOX, end='', file=io.StringIO())",
        methods="""
def __iter__(self):
    CHANGE(self)
    return iter([1])
""",
    ),
    "__enter__": Place(
        """
with BOX:
    pass
""",
        methods="""
def __enter__(self):
    CHANGE(self)
    return self
def __exit__(self, *a):
    pass
""",
    ),
    "__exit__": Place(
        """
with BOX:
    pass
""",
        methods="""
def __enter__(self):
    return self
def __exit__(self, *a):
    CHANGE(self)
""",
    ),
    "__repr__": Place(
        "repr(BOX)",
        methods="""
def __repr__(self):
    CHANGE(self)
    return ''
""",
    ),
    "__format__": Place(
        "f'{BOX}'",
        methods="""
def __format__(self, s):
    CHANGE(self)
    return ''
""",
    ),
    "__str__": Place(
        "str(BOX)",
        methods="""
def __str__(self):
    CHANGE(self)
    return ''
""",
    ),
    "__hash__": Place(
        "{BOX: 1}",
        methods="""
def __hash__(self):
    CHANGE(self)
    return 1
""",
    ),
    "__getattr__": Place(
        "BOX.missing",
        methods="""
def __getattr__(self, k):
    if k.startswith('_'): raise AttributeError(k)
    CHANGE(self)
    return 1
""",
    ),
    "__getattr__ of hasattr": Place(
        "hasattr(BOX, 'missing')",
        methods="""
def __getattr__(self, k):
    if k.startswith('_'): raise AttributeError(k)
    CHANGE(self)
    return 1
""",
    ),
    "__index__": Place(
        "[1][BOX]",
        methods="""
def __index__(self):
    CHANGE(self)
    return 0
""",
    ),
    "__float__": Place(
        "float(BOX)",
        methods="""
def __float__(self):
    CHANGE(self)
    return 0.0
""",
    ),
    "a function of the file": Place(
        "helper(BOX)",
        module="""
def helper(b):
    CHANGE(b)
""",
    ),
    "a function by keyword": Place(
        "helper(b=BOX)",
        module="""
def helper(b):
    CHANGE(b)
""",
    ),
    "a function of a function": Place(
        "helper(BOX)",
        module="""
def helper(b):
    helper2(b)
def helper2(b):
    CHANGE(b)
""",
    ),
    "a function of a list": Place(
        "helper([BOX])",
        module="""
def helper(bs):
    for b in bs:
        CHANGE(b)
""",
    ),
    "a function of a dictionary": Place(
        "helper({'k': BOX})",
        module="""
def helper(bs):
    b = bs['k']
    CHANGE(b)
""",
    ),
    "a function of a tuple": Place(
        "helper((BOX, 1))",
        module="""
def helper(bs):
    b, _ = bs
    CHANGE(b)
""",
    ),
    "a starred call": Place(
        "helper(*[BOX])",
        module="""
def helper(*a, **k):
    b = a[0]
    CHANGE(b)
""",
    ),
    "a method of another": Place(
        "Other(BOX).go()",
        module="""
class Other:
    def __init__(self, b):
        self.b = b
    def go(self):
        CHANGE(self.b)
""",
    ),
    "an initialiser of another": Place(
        "Other(BOX)",
        module="""
class Other:
    def __init__(self, b):
        CHANGE(b)
""",
    ),
    "an attribute of another": Place(
        """
o = Other()
o.b = BOX
o.go()
""",
        module="""
class Other:
    def go(self):
        CHANGE(self.b)
""",
    ),
    "a callback": Place(
        "helper(put, BOX)",
        module="""
def helper(f, b):
    f(b)
def put(b):
    CHANGE(b)
""",
    ),
    "partial": Place(
        "functools.partial(helper, BOX)()",
        module="""
def helper(b):
    CHANGE(b)
""",
    ),
    "a table on the spot": Place(
        "{'k': helper}['k'](BOX)",
        module="""
def helper(b):
    CHANGE(b)
""",
    ),
    "a table": Place(
        "TABLE[0](BOX)",
        module="""
def helper(b):
    CHANGE(b)
TABLE = [helper]
""",
    ),
    "map": Place(
        "list(map(helper, [BOX]))",
        module="""
def helper(b):
    CHANGE(b)
""",
    ),
    "sorted": Place(
        "sorted([BOX], key=helper)",
        module="""
def helper(b):
    CHANGE(b)
    return 1
""",
    ),
    "min": Place(
        "min([BOX, BOX], key=helper)",
        module="""
def helper(b):
    CHANGE(b)
    return 1
""",
    ),
    "reduce": Place(
        "functools.reduce(helper, [1, BOX])",
        module="""
def helper(a, b):
    CHANGE(b)
    return 1
""",
    ),
    "filter": Place(
        "list(filter(helper, [BOX]))",
        module="""
def helper(b):
    CHANGE(b)
    return 1
""",
    ),
    "decorated": Place(
        "helper(BOX)",
        module="""
def deco(f):
    @functools.wraps(f)
    def w(*a, **k):
        return f(*a, **k)
    return w
@deco
def helper(b):
    CHANGE(b)
""",
    ),
    "a decorator": Place(
        "helper(BOX)",
        module="""
def deco(f):
    def w(b):
        CHANGE(b)
        return f(b)
    return w
@deco
def helper(b):
    pass
""",
    ),
    "contextmanager": Place(
        """
with helper(BOX):
    pass
""",
        module="""
@contextlib.contextmanager
def helper(b):
    CHANGE(b)
    yield
""",
    ),
    "contextmanager2": Place(
        """
with helper(BOX):
    pass
""",
        module="""
@contextlib.contextmanager
def helper(b):
    yield
    CHANGE(b)
""",
    ),
    "generator": Place(
        "list(helper(BOX))",
        module="""
def helper(b):
    yield 1
    CHANGE(b)
""",
    ),
    "generator for": Place(
        """
for _ in helper(BOX):
    pass
""",
        module="""
def helper(b):
    yield 1
    CHANGE(b)
""",
    ),
    "generator next": Place(
        "next(helper(BOX))",
        module="""
def helper(b):
    CHANGE(b)
    yield 1
""",
    ),
    "generator send": Place(
        """
g = helper(BOX)
next(g)
next(g)
""",
        module="""
def helper(b):
    yield 1
    CHANGE(b)
    yield 2
""",
    ),
    "yield from": Place(
        "list(helper(BOX))",
        module="""
def helper0(b):
    CHANGE(b)
    yield 1
def helper(b):
    yield from helper0(b)
""",
    ),
    "async": Place(
        "asyncio.run(helper(BOX))",
        module="""
async def helper(b):
    CHANGE(b)
""",
    ),
    "thread": Place(
        """
th = threading.Thread(target=helper, args=(BOX,))
th.start()
th.join()
""",
        module="""
def helper(b):
    CHANGE(b)
""",
    ),
    "exitstack": Place(
        """
with contextlib.ExitStack() as st:
    st.callback(helper, BOX)
""",
        module="""
def helper(b):
    CHANGE(b)
""",
    ),
    "singledispatch": Place(
        "helper(BOX)",
        module="""
@functools.singledispatch
def helper(b):
    CHANGE(b)
""",
    ),
    "lru": Place(
        "helper(BOX)",
        module="""
@functools.lru_cache
def helper(b):
    CHANGE(b)
""",
    ),
    "try": Place("""
try:
    CHANGE(BOX)
finally:
    pass
"""),
    "except": Place("""
try:
    raise ValueError
except ValueError:
    CHANGE(BOX)
"""),
    "finally": Place("""
try:
    pass
finally:
    CHANGE(BOX)
"""),
    "else of try": Place("""
try:
    pass
except ValueError:
    pass
else:
    CHANGE(BOX)
"""),
    "a loop": Place("""
for _ in range(1):
    CHANGE(BOX)
"""),
    "a loop of unknown rounds": Place("""
for _ in range(int('1')):
    CHANGE(BOX)
"""),
    "else of a loop": Place("""
for _ in []:
    pass
else:
    CHANGE(BOX)
"""),
    "while": Place("""
k = int('1')
while k:
    k -= 1
    CHANGE(BOX)
"""),
    "if": Place("""
if int('1'):
    CHANGE(BOX)
"""),
    "else": Place("""
if int('0'):
    pass
else:
    CHANGE(BOX)
"""),
    "match": Place("""
match 1:
    case _:
        CHANGE(BOX)
"""),
    "a capture": Place("""
match BOX:
    case b:
        CHANGE(b)
"""),
    "a capture of an item": Place("""
match [BOX]:
    case [b]:
        CHANGE(b)
"""),
    "with": Place("""
with contextlib.suppress(ValueError):
    CHANGE(BOX)
"""),
    "a class body": Place("""
class K:
    CHANGE(BOX)
"""),
    "a loop over it": Place("""
for b in [BOX]:
    CHANGE(b)
"""),
    "a numbered loop over it": Place("""
for i, b in enumerate([BOX]):
    CHANGE(b)
"""),
    "alias": Place("""
b = BOX
CHANGE(b)
"""),
    "alias2": Place("""
b = c = BOX
CHANGE(c)
"""),
    "alias3": Place("""
b, _ = BOX, 1
CHANGE(b)
"""),
    "alias4": Place("""
b = [BOX][0]
CHANGE(b)
"""),
    "alias5": Place("""
b = {'k': BOX}['k']
CHANGE(b)
"""),
    "alias6": Place("""
b = BOX or None
CHANGE(b)
"""),
    "alias7": Place("""
b = BOX if BOX else None
CHANGE(b)
"""),
    "alias8": Place("""
(b := BOX)
CHANGE(b)
"""),
    "alias9": Place("""
with contextlib.nullcontext(BOX) as b:
    CHANGE(b)
"""),
    "alias10": Place("""
b = [x for x in [BOX]][0]
CHANGE(b)
"""),
    "alias11": Place(
        """
b = BOX.me()
CHANGE(b)
""",
        methods="""
def me(self):
    return self
""",
    ),
    "alias12": Place(
        """
b = me(BOX)
CHANGE(b)
""",
        module="""
def me(b):
    return b
""",
    ),
    "alias13": Place("""
b = next(iter([BOX]))
CHANGE(b)
"""),
    "alias14": Place(
        """
n = types.SimpleNamespace(b=BOX)
CHANGE(n.b)
""",
        module="import types",
    ),
    "alias15": Place(
        """
n = D(BOX)
CHANGE(n.b)
""",
        module="""
import dataclasses
@dataclasses.dataclass
class D:
    b: object
""",
    ),
    "alias16": Place(
        """
n = D(BOX)
CHANGE(n.b)
""",
        module="""
import typing
class D(typing.NamedTuple):
    b: object
""",
    ),
    "alias17": Place("""
b = max([BOX], key=id)
CHANGE(b)
"""),
    "alias18": Place("""
b, = (BOX,)
CHANGE(b)
"""),
    "alias19": Place("""
*b, c = [BOX, BOX]
CHANGE(c)
"""),
    "weakref": Place(
        """
b = weakref.ref(BOX)()
CHANGE(b)
""",
        module="import weakref",
    ),
    "a method that is overridden": Place(
        "BOX.run()",
        module="""
class Base:
    def run(self):
        self.hook()
    def hook(self):
        pass
""",
        methods="""
def hook(self):
    CHANGE(self)
""",
    ),
    "a method by super": Place(
        "BOX.run()",
        module="""
class Base:
    def run(self):
        CHANGE(self)
""",
        methods="""
def run(self):
    super().run()
""",
    ),
    "a method of the base": Place(
        "BOX.run()",
        module="""
class Base:
    def run(self):
        CHANGE(self)
""",
    ),
    "functions kept by it": Place(
        """
def put():
    CHANGE(BOX)
BOX.cbs = [put]
BOX.run()
""",
        methods="""
def run(self):
    for f in self.cbs:
        f()
""",
    ),
    "functions kept by the module": Place(
        """
def put(b):
    CHANGE(b)
CBS.append(put)
fire(BOX)
""",
        module="""
CBS = []
def fire(b):
    for f in CBS:
        f(b)
""",
    ),
    "a registered function": Place(
        "CBS['put'](BOX)",
        module="""
CBS = {}
def reg(f):
    CBS[f.__name__] = f
    return f
@reg
def put(b):
    CHANGE(b)
""",
    ),
    "copy": Place("""
import copy
b = copy.copy(BOX)
CHANGE(b)
"""),
    "beside __del__": Place(
        "CHANGE(BOX)",
        methods="""
def __del__(self):
    pass
""",
    ),
    "a descriptor": Place(
        "BOX.x",
        module="""
class Desc:
    def __get__(self, o, c):
        if o is not None:
            CHANGE(o)
        return 1
""",
        methods="x = Desc()",
    ),
    "a descriptor that is set": Place(
        "BOX.x = 1",
        module="""
class Desc:
    def __set__(self, o, v):
        CHANGE(o)
""",
        methods="x = Desc()",
    ),
    "one of two by chance": Place("""
import random
b = random.choice([BOX, BOX])
CHANGE(b)
"""),
    # Positions of an expression, ways out of a block, and names for one of several.
    "an error that is caught": Place("""
try:
    CHANGE(BOX)
    raise ValueError
except ValueError:
    pass
"""),
    "an error of a function that is caught": Place(
        """
try:
    put(BOX)
except ValueError:
    pass
""",
        module="""
def put(b):
    CHANGE(b)
    raise ValueError
""",
    ),
    "suppress": Place("""
with contextlib.suppress(ValueError):
    CHANGE(BOX)
    raise ValueError
"""),
    "finally return": Place(
        "put(BOX)",
        module="""
def put(b):
    try:
        return 1
    finally:
        CHANGE(b)
""",
    ),
    "finally return2": Place(
        "put(BOX)",
        module="""
def put(b):
    try:
        CHANGE(b)
        return 1
    finally:
        return 2
""",
    ),
    "break": Place("""
while True:
    CHANGE(BOX)
    break
"""),
    "continue": Place("""
for k in range(1):
    CHANGE(BOX)
    continue
"""),
    "break2": Place("""
for k in range(int('3')):
    CHANGE(BOX)
    if k == 0:
        break
"""),
    "early return": Place(
        "put(BOX, 1)",
        module="""
def put(b, k):
    if k:
        CHANGE(b)
        return
    return 1
""",
    ),
    "early return2": Place(
        "put(BOX, 1)",
        module="""
def put(b, k):
    if not k:
        return
    CHANGE(b)
""",
    ),
    "while test": Place(
        """
while put(BOX):
    break
""",
        module="""
def put(b):
    CHANGE(b)
    return True
""",
    ),
    "if test": Place(
        """
if put(BOX):
    pass
""",
        module="""
def put(b):
    CHANGE(b)
    return True
""",
    ),
    "elif test": Place(
        """
if int('0'):
    pass
elif put(BOX):
    pass
""",
        module="""
def put(b):
    CHANGE(b)
    return True
""",
    ),
    "for iter": Place(
        """
for _ in put(BOX):
    pass
""",
        module="""
def put(b):
    CHANGE(b)
    return []
""",
    ),
    "assign index": Place(
        """
l = [0]
l[put(BOX)] = 1
""",
        module="""
def put(b):
    CHANGE(b)
    return 0
""",
    ),
    "del index": Place(
        """
l = [0]
del l[put(BOX)]
""",
        module="""
def put(b):
    CHANGE(b)
    return 0
""",
    ),
    "aug": Place(
        """
k = 1
k += put(BOX)
""",
        module="""
def put(b):
    CHANGE(b)
    return 0
""",
    ),
    "compare": Place(
        "0 < put(BOX) < 3",
        module="""
def put(b):
    CHANGE(b)
    return 0
""",
    ),
    "bool": Place(
        "0 or put(BOX) or 1",
        module="""
def put(b):
    CHANGE(b)
    return 0
""",
    ),
    "not": Place(
        "not put(BOX)",
        module="""
def put(b):
    CHANGE(b)
    return 0
""",
    ),
    "tern": Place(
        "1 if put(BOX) else 2",
        module="""
def put(b):
    CHANGE(b)
    return 0
""",
    ),
    "fstr": Place(
        "f'{put(BOX)!r:>5}'",
        module="""
def put(b):
    CHANGE(b)
    return 0
""",
    ),
    "star": Place(
        "print(*put(BOX), end='', file=io.StringIO())",
        module="""
def put(b):
    CHANGE(b)
    return []
""",
    ),
    "dstar": Place(
        "dict(**put(BOX))",
        module="""
def put(b):
    CHANGE(b)
    return {}
""",
    ),
    "kw": Place(
        "dict(a=put(BOX))",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "default": Place(
        """
def g(k=put(BOX)):
    pass
""",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "deco": Place(
        """
@put(BOX)
def g():
    pass
""",
        module="""
def put(b):
    CHANGE(b)
    return lambda f: f
""",
    ),
    "deco class": Place(
        """
@put(BOX)
class G:
    pass
""",
        module="""
def put(b):
    CHANGE(b)
    return lambda f: f
""",
    ),
    "base": Place(
        """
class G(put(BOX)):
    pass
""",
        module="""
def put(b):
    CHANGE(b)
    return object
""",
    ),
    "class kw": Place(
        """
class G(metaclass=put(BOX)):
    pass
""",
        module="""
def put(b):
    CHANGE(b)
    return type
""",
    ),
    "class attr": Place(
        """
class G:
    k = put(BOX)
""",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "comp if": Place(
        "[0 for _ in (1,) if put(BOX)]",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "comp iter": Place(
        "[0 for _ in put(BOX)]",
        module="""
def put(b):
    CHANGE(b)
    return []
""",
    ),
    "dictcomp": Place(
        "{put(BOX): 1 for _ in (1,)}",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "setcomp": Place(
        "{put(BOX) for _ in (1,)}",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "gen any": Place(
        "any(put(BOX) for _ in (1,))",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "gen sum": Place(
        "sum(put(BOX) for _ in (1, 2))",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "gen next": Place(
        "next(put(BOX) for _ in (1, 2))",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "gen late": Place(
        """
g = (put(BOX) for _ in (1,))
list(g)
""",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "gen join": Place(
        "''.join(put(BOX) for _ in (1,))",
        module="""
def put(b):
    CHANGE(b)
    return ''
""",
    ),
    "raise from": Place(
        """
try:
    raise put(BOX)
except ValueError:
    pass
""",
        module="""
def put(b):
    CHANGE(b)
    return ValueError()
""",
    ),
    "except type": Place(
        """
try:
    raise ValueError
except put(BOX):
    pass
""",
        module="""
def put(b):
    CHANGE(b)
    return ValueError
""",
    ),
    "with ctx": Place(
        """
with put(BOX):
    pass
""",
        module="""
def put(b):
    CHANGE(b)
    return contextlib.nullcontext()
""",
    ),
    "match subj": Place(
        """
match put(BOX):
    case 1:
        pass
""",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "match guard": Place(
        """
match 1:
    case _ if put(BOX):
        pass
""",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "match body2": Place("""
match int('2'):
    case 1:
        pass
    case 2:
        CHANGE(BOX)
"""),
    "slice": Place(
        "[1, 2][put(BOX):]",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "call of": Place(
        "put(BOX)()",
        module="""
def put(b):
    CHANGE(b)
    return lambda: 1
""",
    ),
    "attr of": Place(
        "put(BOX).real",
        module="""
def put(b):
    CHANGE(b)
    return 1
""",
    ),
    "return": Place(
        "g(BOX)",
        module="""
def put(b):
    CHANGE(b)
    return 1
def g(b):
    return put(b)
""",
    ),
    "yield": Place(
        "list(g(BOX))",
        module="""
def put(b):
    CHANGE(b)
    return 1
def g(b):
    yield put(b)
""",
    ),
    "await": Place(
        "asyncio.run(g(BOX))",
        module="""
async def put(b):
    CHANGE(b)
    return 1
async def g(b):
    await put(b)
""",
    ),
    "gather": Place(
        "asyncio.run(g(BOX))",
        module="""
async def put(b):
    CHANGE(b)
    return 1
async def g(b):
    await asyncio.gather(put(b))
""",
    ),
    "async for": Place(
        "asyncio.run(g(BOX))",
        module="""
async def it(b):
    CHANGE(b)
    yield 1
async def g(b):
    async for _ in it(b):
        pass
""",
    ),
    "async with": Place(
        "asyncio.run(g(BOX))",
        module="""
@contextlib.asynccontextmanager
async def it(b):
    CHANGE(b)
    yield 1
async def g(b):
    async with it(b):
        pass
""",
    ),
    "gen close": Place(
        """
g = it(BOX)
next(g)
g.close()
""",
        module="""
def it(b):
    try:
        yield 1
    finally:
        CHANGE(b)
""",
    ),
    "gen throw": Place(
        """
g = it(BOX)
next(g)
g.throw(ValueError)
""",
        module="""
def it(b):
    try:
        yield 1
    except ValueError:
        CHANGE(b)
        yield 2
""",
    ),
    "gen send": Place(
        """
g = it()
next(g)
g.send(BOX)
""",
        module="""
def it():
    b = yield 1
    CHANGE(b)
    yield 2
""",
    ),
    "cb atexit": Place(
        """
CBS.append(lambda: put(BOX))
for f in CBS:
    f()
""",
        module="""
CBS = []
def put(b):
    CHANGE(b)
""",
    ),
    "cb obj": Place(
        """
h = Handler(put)
h.fire(BOX)
""",
        module="""
class Handler:
    def __init__(self, f):
        self.f = f
    def fire(self, b):
        self.f(b)
def put(b):
    CHANGE(b)
""",
    ),
    "cb dict": Place(
        "REG['x'](BOX)",
        module="""
REG = {}
def put(b):
    CHANGE(b)
REG['x'] = put
""",
    ),
    "observer": Place(
        """
BOX.obs = [put]
for f in BOX.obs:
    f(BOX)
""",
        module="""
def put(b):
    CHANGE(b)
""",
    ),
    "queue": Place("""
q = [BOX]
while q:
    b = q.pop()
    CHANGE(b)
"""),
    "deque": Place("""
import collections
q = collections.deque([BOX])
b = q.popleft()
CHANGE(b)
"""),
    "pair": Place("""
for b, k in [(BOX, 1)]:
    CHANGE(b)
"""),
    "zip": Place("""
for b, k in zip([BOX], [1]):
    CHANGE(b)
"""),
    "items": Place("""
for k, b in {'x': BOX}.items():
    CHANGE(b)
"""),
    "values": Place("""
for b in {'x': BOX}.values():
    CHANGE(b)
"""),
    "a loop over what sorted gives": Place("""
for b in sorted([BOX], key=id):
    CHANGE(b)
"""),
    "a loop over what filter gives": Place("""
for b in filter(None.__ne__, [BOX]):
    CHANGE(b)
"""),
    "map id": Place("""
for b in map(lambda v: v, [BOX]):
    CHANGE(b)
"""),
    "chain": Place("""
import itertools
for b in itertools.chain([BOX], []):
    CHANGE(b)
"""),
    "stack": Place(
        """
ST.append(BOX)
put()
""",
        module="""
ST = []
def put():
    b = ST[-1]
    CHANGE(b)
""",
    ),
    "cfg": Place(
        """
ST['b'] = BOX
put()
""",
        module="""
ST = {}
def put():
    b = ST['b']
    CHANGE(b)
""",
    ),
    "singleton": Place(
        """
Reg.b = BOX
Reg.put()
""",
        module="""
class Reg:
    b = None
    @classmethod
    def put(cls):
        b = cls.b
        CHANGE(b)
""",
    ),
    "parent": Place(
        """
c = Child(BOX)
c.put()
""",
        module="""
class Child:
    def __init__(self, parent):
        self.parent = parent
    def put(self):
        p = self.parent
        CHANGE(p)
""",
    ),
    "backref": Place(
        """
BOX.child = Child()
BOX.child.parent = BOX
BOX.child.put()
""",
        module="""
class Child:
    def put(self):
        CHANGE(self.parent)
""",
    ),
    "linked": Place(
        """
n = Node(Node(None, BOX), None)
walk(n)
""",
        module="""
class Node:
    def __init__(self, next, b):
        self.next, self.b = next, b
def walk(n):
    while n is not None:
        if n.b is not None:
            b = n.b
            CHANGE(b)
        n = n.next
""",
    ),
    "recursion": Place(
        "walk(BOX, 2)",
        module="""
def walk(b, n):
    if n:
        walk(b, n - 1)
    else:
        CHANGE(b)
""",
    ),
    "mutual": Place(
        "ping(BOX, 3)",
        module="""
def ping(b, n):
    if n:
        pong(b, n - 1)
def pong(b, n):
    CHANGE(b)
    ping(b, n)
""",
    ),
    "builder": Place(
        "B1(BOX).add().add()",
        module="""
class B1:
    def __init__(self, b):
        self.b = b
    def add(self):
        b = self.b
        CHANGE(b)
        return self
""",
    ),
    "proxy": Place(
        "P1(BOX).put()",
        module="""
class P1:
    def __init__(self, b):
        self.__dict__['_b'] = b
    def __getattr__(self, k):
        return getattr(self._b, k)
""",
        methods="""
def put(self):
    CHANGE(self)
""",
    ),
    "wrapper set": Place(
        "P1(BOX).x = 1",
        module="""
class P1:
    def __init__(self, b):
        object.__setattr__(self, '_b', b)
    def __setattr__(self, k, v):
        b = self._b
        CHANGE(b)
""",
    ),
    "reversed": Place("""
for b in reversed([BOX]):
    CHANGE(b)
"""),
    "enumerate": Place("""
for i, b in enumerate([BOX], 1):
    CHANGE(b)
"""),
    "unpack nested": Place("""
(b, (c, *d)), e = (BOX, (1, 2)), 3
CHANGE(b)
"""),
    "ifexp alias": Place("""
(BOX if int('1') else None).k = 1
b = BOX if int('1') else Box()
CHANGE(b)
"""),
    "or alias": Place("""
b = None or BOX
CHANGE(b)
"""),
    "lambda ret": Place("""
b = (lambda: BOX)()
CHANGE(b)
"""),
    "prop ret": Place(
        """
b = BOX.me
CHANGE(b)
""",
        methods="""
@property
def me(self):
    return self
""",
    ),
    "itself": Place(
        """
b = BOX.__class__.ident(BOX)
CHANGE(b)
""",
        methods="""
def ident(self):
    return self
""",
    ),
    "fluent": Place(
        """
b = BOX.one().one()
CHANGE(b)
""",
        methods="""
def one(self):
    self.k = 1
    return self
""",
    ),
    "what __enter__ gives": Place(
        """
with BOX as b:
    CHANGE(b)
""",
        methods="""
def __enter__(self):
    return self
def __exit__(self, *a):
    pass
""",
    ),
    "what another's __enter__ gives": Place(
        """
with M(BOX) as b:
    CHANGE(b)
""",
        module="""
class M:
    def __init__(self, b):
        self.b = b
    def __enter__(self):
        return self.b
    def __exit__(self, *a):
        pass
""",
    ),
    "closing": Place(
        """
with contextlib.closing(BOX) as b:
    CHANGE(b)
""",
        methods="""
def close(self):
    pass
""",
    ),
    "exitstack as": Place("""
with contextlib.ExitStack() as st:
    b = st.enter_context(contextlib.nullcontext(BOX))
    CHANGE(b)
"""),
}

_HEAD = (
    "import asyncio, contextlib, functools, io, operator, threading\nimport torch\nimport torch.nn.utils.parametrize\n"
)
_CUT = """
class Cut(torch.nn.Module):
    def forward(self, w):
        return torch.ones(5, 3)
"""
_OBJECT = """
class Box(BASE):
    def __init__(self):
        self.t = torch.ones(3)
        self.rows = [torch.ones(2, 3)]
        self.d = {"a": torch.ones(3)}
        self.n = 3
INIT
METHODS
    def read(self):
        a = self.t * 2
        b = torch.cat(self.rows)
        c = self.d["a"] * 2
        e = torch.zeros(self.n)
"""
_OF_CLASS = """
class Box(BASE):
    t = torch.ones(3)
    rows = [torch.ones(2, 3)]
    d = {"a": torch.ones(3)}
    n = 3
METHODS
    def read(self):
        a = self.t * 2
        b = torch.cat(self.rows)
        c = self.d["a"] * 2
        e = torch.zeros(self.n)
"""
_MODULE = """
class Box(BASE):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 4)
        self.seq = torch.nn.Sequential(torch.nn.Linear(3, 4))
        self.ml = torch.nn.ModuleList([torch.nn.Linear(3, 4)])
        self.md = torch.nn.ModuleDict({"a": torch.nn.Linear(3, 4)})
        self.register_buffer("b", torch.ones(3))
        self.p = torch.nn.Parameter(torch.ones(3))
INIT
METHODS
    def read(self):
        x = torch.ones(2, 3)
        a = self.fc(x)
        b = self.seq(x)
        c = x
        for m in self.ml:
            c = m(c)
        d = self.md["a"](x)
        e = self.b * 2
        f = self.p * 2
"""
_READ_OBJECT = """
a = BOX.t * 2
b_ = torch.cat(BOX.rows)
c = BOX.d["a"] * 2
e = torch.zeros(BOX.n)
BOX.read()
"""
_READ_MODULE = """
x = torch.ones(2, 3)
a = BOX.fc(x)
b_ = BOX.seq(x)
d = BOX.md["a"](x)
e = BOX.b * 2
f = BOX.p * 2
BOX.read()
"""
# Who has the object: the name that the place knows it by, and what stands around the place.
HOLDERS = {
    "the module": ("box", "box = Box()\nPLACE\n"),
    "a function": ("box", "def main():\n    box = Box()\n    PLACE\nmain()\n"),
    "a caller": ("box", "def main(box):\n    PLACE\nmain(Box())\n"),
    "a method of its own": ("self", "    def work(self):\n        PLACE\nBox().work()\n"),
    "an attribute": (
        "self.box",
        "class Holder:\n    def __init__(self):\n        self.box = Box()\n    def work(self):\n        PLACE\n"
        "    def again(self):\n        READ\nholder = Holder()\nholder.work()\nholder.again()\n",
    ),
    "its initialiser": ("self", "box = Box()\nREAD\n"),
}
# Functions of which nobody knows what has run before them.
LATER = {
    "functions of a module": (
        "box",
        "box = Box()\ndef work():\n    PLACE\ndef again():\n    READ\nagain()\nwork()\nagain()\n",
    ),
    "functions behind a statement": ("box", "box = Box()\ndef again():\n    READ\nagain()\nPLACE\nagain()\n"),
}
_MARK = re.compile(r"CHANGE\(([\w.]+)\)")


@dataclass(frozen=True)
class Subject:
    """What is changed: a class `Box`, or, where the object is one of a library's, the call that makes it; and what is read
    of it before and after. What is `shared` is read of another object of the class, too."""

    template: str
    read: str
    base: str = "object"
    shared: bool = False
    made: str = ""
    head: str = ""


SUBJECTS = {
    "object": Subject(_OBJECT, _READ_OBJECT),
    "module": Subject(_MODULE, _READ_MODULE, base="torch.nn.Module"),
    "class": Subject(_OF_CLASS, _READ_OBJECT + "Box().read()\n", shared=True),
}


def program(way: str, place: Place, holder: str, subject: Subject) -> str | None:
    """One program; None where the way is a statement and the place takes an expression, or the subject has no such place."""
    box, around = HOLDERS.get(holder) or LATER[holder]
    parts = [_filled(each.strip("\n"), way) for each in (place.statements, place.methods, place.module)]
    if None in parts:
        return None
    statements, methods, module = (each or "" for each in parts)
    strange = methods or "class Base" in module or "Box()" in statements or box == "self"
    if subject.made and (strange or re.search(r"\bBOX\.\w+ = ", place.statements)):
        return None  # the library's object has no such methods, or attributes
    base = "Base" if "class Base" in module else subject.base
    module = module.replace("class Base:", f"class Base({subject.base}):") if subject.base != "object" else module
    inside = holder == "its initialiser"
    if inside and subject.shared:
        return None
    read = subject.read.strip()
    here = statements if inside else f"{statements}\n{read}"
    text = _indented(around, "PLACE", here)
    text = re.sub(r"\bBOX\b", "box" if inside else box, _indented(text, "READ", read))
    if subject.made:
        text = text.replace("Box()", subject.made)
    made = subject.template.replace("BASE", base)
    made = made.replace("INIT\n", indent(re.sub(r"\bBOX\b", box, here), "        ") + "\n" if inside else "")
    made = made.replace("METHODS\n", indent(methods, "    ") + "\n" if methods else "")
    source = f"{_HEAD}{subject.head or _CUT}{module}\n{made}{text}"
    ast.parse(source)
    return source


def _filled(text: str, way: str) -> str | None:
    lines = []
    for line in text.split("\n"):
        for mark in _MARK.findall(line):
            change = re.sub(r"\bBOX\b", mark, way)
            alone = line.strip() == f"CHANGE({mark})"
            if not alone and not _is_expression(change):
                return None
            margin = line[: len(line) - len(line.lstrip())]
            line = line.replace(f"CHANGE({mark})", change.replace("\n", f"\n{margin}"))
        lines.append(line)
    return "\n".join(lines)


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return "\n" not in text


def _indented(text: str, mark: str, inner: str) -> str:
    lines = []
    for line in text.split("\n"):
        lines.append(line.replace(mark, inner.replace("\n", "\n" + " " * line.index(mark))) if mark in line else line)
    return "\n".join(lines)
