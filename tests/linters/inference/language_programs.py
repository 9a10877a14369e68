"""Random programs of what Python's own constructs do with tensors: closures, generators, data classes, named tuples, properties,
inheritance, star arguments, early returns, dictionaries that are merged, `match`, `:=`, zip, map and sorted.

A program is grown statement by statement while all its calls run."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from types import CodeType
from typing import Any

HEAD = """\
import functools, itertools, operator, random
import numpy as np
import torch
from collections import ChainMap, defaultdict
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import NamedTuple
from einops import rearrange, repeat
Z = torch.zeros
"""
# Each program has some of these; {T} is a new tensor, of a shape that no other has, <<a|b>> one of two texts.
DEFINITIONS = """\
def shared(s):
    def get(): return <<s|s[:1]|other>>
    other = s
    def put(v):
        nonlocal s<<|, other>>
        <<s = v|s, old = v, s|s = v if v.ndim > 1 else s|old = s>>
        return <<s|other|v>>
    return get, put
---
def gen(*ts):
    last = {T}
    for t in ts:
        <<last = t|got = yield last|yield from (t, last)|pass|if t.shape[0] > 60: return last>>
        <<yield t|yield last|got = yield t; last = t if got is None else got>>
    <<yield last|return last|last = t; return {T}>>
---
def early(k, t):
    r = t
    try:
        if k == 1: return <<t|r>>
        if k: raise ValueError(<<t|{T}>>)
        <<t = {T}|r = {T}>>
    except <<ValueError|Exception>> as e:
        <<t = e.args[0]|t = {T}|return e.args[0]|r = t>>
    <<else|finally>>:
        <<r = {T}|t = r|r = t|pass>>
    return <<t|r>>
---
def star(a, *rest, b=None, **more):
    <<a, *rest = (*rest, a)|b = rest[0] if rest else b|more = {**more, 'c': a}|pass|rest = rest[::-1]>>
    return <<a|[a, *rest][-1]|a if b is None else b|more.get('c', a)|{'c': a, **more}['c']|dict(more, b=a)['b']>>
---
def by_case(k, t, u):
    match <<k|(k, t)|[t, u][:k]|{'k': k, 't': t}>>:
        case <<0|(0, r)|[r]|{'k': 0, 't': r}>>: return <<t|u[:1]>>
        case <<1|(1, _)|[r, *_]|{'t': r, **more}>><<| if k>>: t = u
        case _: <<t = {T}|u = t|pass>>
    return t
---
@dataclass
class Data:
    a: object
    b: object = None
    c: list = field(default_factory=list)
    def __post_init__(self):
        <<self.c.append(self.a)|self.b = self.a if self.b is None else self.b|self.a, self.b = self.b, self.a|pass>>
        if self.a is None: self.a = {T}
        if self.b is None: self.b = {T}
    @property
    def p(self): return <<self.a|self.b|self.c[-1] if self.c else self.b>>
    @p.setter
    def p(self, v): <<self.a = v|self.b = v|self.c += [v]|self.a, self.b = v, self.a>>
---
class Pair(NamedTuple):
    a: object
    b: object = {T}
    def <<last|turned>>(self): return <<self.b|Pair(self.b, self.a).a|self[0]>>
---
class Base:
    t = {T}
    held = [{T}]
    def __init__(self, a): <<self.a = a|self.a = self.t; self.t = a|self.set(a)>>
    def set(self, a): self.a = <<a|a[:1]>>
    def get(self): return self.<<a|t|held[-1]>>
    @classmethod
    def make(cls, *a): <<cls.t = a[0]|pass>>; return cls(*a)
    @staticmethod
    def other(t): return <<t|Base.t|Base.held[0]>>
class Mixin:
    def get(self): <<r = super().get()|r = self.t|self.t = r = super().get()>>; return <<r|self.a|r[None]>>
    def set(self, a): super().set(<<a|{T}>>)
class Child(<<Mixin, Base|Base, Mixin|Base>>):
    <<t = {T}|held = Base.held|pass>>
    def __init__(self, a, b={T}):
        <<super().__init__(a)|super().__init__(b)|Base.__init__(self, a)>>
        self.b = b
    <<@property|@functools.cached_property>>
    def p(self): return <<self.b|self.a|type(self).t|{T}>>
    def __getattr__(self, name): return self.__dict__.get('b', {T})
---
@functools.<<lru_cache|cache|wraps(print)>>
def cached(n):
    <<pass|if n > 1: return cached(n - 1)>>
    return <<{T}|[{T}, {T}]|{'a': {T}}|({T}, {T})>>
---
@contextmanager
def managed(t, s=[{T}]):
    <<s.append(t)|s[0] = t|t, s = s[-1], [t]>>
    try: yield <<t|s[-1]|s>>
    <<except ValueError: t = {T}|finally: s.append({T})|finally: t = s[0]>>
---
def kept(t, s=[], <<*, |/, >>u={T}):
    <<s.append(t)|s += [t]|s.insert(0, u)|s = s + [t]>>
    return s[<<0|-1>>]
---
def recursive(n, *ts):
    if n <= 0: return <<ts|ts[0]|list(ts)>>
    return recursive(n - 1, <<*ts[::-1]|*ts, {T}|{T}, *ts[1:]|*(t[:1] for t in ts)>>)
---
class Items:
    def __init__(self, *ts): self.ts = <<list(ts)|ts|dict(enumerate(ts))>>
    def __getitem__(self, i): return <<self.ts[i]|{T}>>
    def __setitem__(self, i, t): self.ts = <<[t, *self.ts]|{**dict(enumerate(self.ts)), i: t}>>
    def __len__(self): return len(self.ts)
    def __iter__(self):
        <<yield from (self[0], {T})|yield self.ts[0]; self.ts = [{T}]|return iter([self[0], {T}])>>
    def __call__(self, t): <<self.last = t|pass>>; return <<t|self[0]|getattr(self, 'last', t)>>
    def __contains__(self, t): self.last = <<t|{T}>>; return True
    def __enter__(self): return <<self|[self[0]]>>
    def __exit__(self, *e): <<self.ts = [{T}]|return True|pass>>
    def __add__(self, o): return <<Items(o, *self)|self|[self[0]]>>
    def __eq__(self, o): <<self.last = {T}|pass>>; return self is o
"""
# By the names of what they use.
STATEMENTS = {
    "": """{x} = {T} | {x} = {y} | {x}, {y} = {y}, {x} | {x} = {y} if k else {x} | {x} = (k and {x} or 0) if False else {y}
d = {'a': {x}, **d} | d |= {'b': {x}} | d = {n: v for n, v in d.items() if v.ndim > 1} | {x} = d['a'] | d = dict(zip('ab', ({x}, {y}))) | d.update(a={x})
d = operator.or_(d, {'a': {x}}) | {x} = {**d, 'b': {y}}['b'] | {x} = d.get('b', {y}) | {x} = d.pop('b', {y}) | d = {**d, **{'a': {x}}} | {x} = ChainMap({'b': {x}}, d)['a']
{x} = [*d.values()][-1] | {x} = d.setdefault('c', {y}) | d = dict(d, a={x}) | d = {v.shape[0]: v for v in ({x}, {y})}; d['a'] = {x} | {x} = d[min(d, key=str)]
if ({x} := {y}).ndim > 1:\\n    {z} = {x} | {x} = [{y} := e for e in ({x}, {z})][0] | {z} = ({x} := {y})[:1] | if (n := len({x})) > 2:\\n    {x} = {x}[:n - 1]
{x} = sorted(({x}, {y}), key=lambda v: v.shape[0])[0] | {x}, {y} = map(lambda v: v[:1], ({x}, {y})) | {x} = max([{x}, {y}], key=len)
for i, v in enumerate(reversed([{x}, {y}])): {z} = v | for i, v in enumerate(({x}, {y}), k): {z} = v if i > k else {z} | for v, w in zip([{x}, {y}], [{y}, {x}]): {z} = w
{x} = next(iter({y})) | {x} = [e for e in {y}][-1] | {x} = torch.stack([e for e in {y}]) | {x} = [*zip(({x}, {y}), ({z},))][0][1] | {x} = [*{y}][k]
{x} = functools.reduce(lambda v, w: w, [{x}, {y}]) | {x} = functools.partial(torch.add, {y})({y}) | {x} = operator.itemgetter(k)([{x}, {y}, {z}]) | {x} = (lambda v, w={y}: w)({x})
{x} = [*itertools.chain([{x}], [{y}])][-1] | {x} = [*filter(lambda v: v.ndim > 1, ({x}, {y}, {T}))][0] | {x} = list(map(torch.sum, ({y}, {x})))[0] | {x}, *r = {x}, {y}, {z}; {y} = r[-1]
l = [{x}, {y}] | l.append({x}) | l += [{y}] | {x} = l[k - 1] | {x}, *l = l + [{y}] | l[0] = {x} | l[:1] = [{x}, {y}] | {x} = l.pop() | l = l[::-1] | l.sort(key=len) | l = [v[:1] for v in l] | l *= 2 | {x} = torch.cat([v.reshape(-1) for v in l])
{x} = {y}[:1] | {x} = {y}[..., None] | {x} = {y}[::2] | {x} = {y}[-1:] | {x} = {y}[:, k:] | {x} = {y}[k:] | {x} = {y}[:-k] | {x} = {y}[{y}.sum(-1) >= k] | {x} = {y}[None, ..., :1] | {x} = {y}[[0, k]] | {x} = {y}[{y} == 0]
{x}[:1] = k | {x}[..., 0] += 1 | {x}[{x} > 0] = 2 | {x} = {y}.T | {x} = {y} * k | {x} = {y} + {y}[:1] | {x} = torch.stack([{y}, {y}], k - 1) | {x} = {y}.sum(k - 1, keepdim=True) | {x} = {y}.unsqueeze(-k) | {x} = {y}.repeat(k + 1, 1)
{x} = torch.from_numpy({y}.numpy()[::-1].copy()) | {x} = torch.as_tensor(np.ones(len({y}))) | {x} = torch.from_numpy(np.concatenate([{y}, {y}])) | {x} = torch.tensor(np.asarray({y}).mean(0)) | {x} = torch.tensor([e.sum() for e in {y}])
{x} = rearrange({y}, '(a b) c -> a b c', a=1) | {x} = repeat({y}, 'a b -> a b c', c=k + 1) | {x} = rearrange([{y}, {y}], 'n ... -> ... n') | {x} = {y}.unflatten(0, (1, -1)) | {x} = torch.tensor([len({y}), k]) | {x} = torch.zeros([len(v) for v in l])""",
    "shared": """get, put = shared({x}) | {x} = get() | put({x}) | {x} = put({y}) | {x} = shared({y})[0]() | for f in (put, put): f({x})""",
    "gen": """{x} = [*gen({x}, {y})][-1] | {x}, *_ = gen({y}, {z}) | it = gen({x}, {y}) | {x} = next(it, {y}) | for {x} in gen({y}, {z}): pass | for v in it: {x} = v
it = gen({x}, {y}); next(it); {z} = it.send({x}) | {x} = max(gen({x}, {y}), key=len) | {x} = dict(enumerate(gen({y}, {x})))[0] | {x} = (lambda *v: v[-1])(*gen({x}, {y}))
try: next(gen())\\nexcept StopIteration as e: {x} = e.value if e.value is not None else {x} | for {x}, {y} in zip(gen({x}), gen({y}, {z})): pass""",
    "early": """{x} = early(k, {y}) | {x} = early(1, {y}) | {x} = early(0, {y}) | {x} = early(k - 1, early(k, {y}))""",
    "star": """{x} = star({x}, {y}) | {x} = star(*[{x}, {y}], b={z}) | {x} = star(**{'a': {x}, 'b': {y}}) | {x} = star({x}, c={y}) | {x} = star({y}, *l, **d) if k and 'a' not in d else star({y}) | {x} = functools.partial(star, {y}, b={x})()""",
    "by_case": """{x} = by_case(k, {x}, {y}) | {x} = by_case(0, {x}, {y}) | {x} = by_case(k + 1, {y}, {x})""",
    "Data": """h = Data({x}, {y}) | h = Data({x}) | h = Data(a=None, b={x}) | {x} = h.p | h.p = {x} | {x} = h.a | h.b = {x} | h = replace(h, a={x}) | {x} = astuple(h)[1] | {x} = asdict(h)['a'] | h.c.append({x}) | {x} = h.c[-1] | g = h; g.a = {x}
h = Data(**{'b': {x}, 'a': {y}}) | setattr(h, 'a', {x}) | {x} = getattr(h, 'b') | {x} = vars(h)['a'] | h.__dict__.update(a={x}) | {x} = [h.a, h.b][k - 1]""",
    "Pair": """n = Pair({x}, {y}) | n = Pair({x}) | {x}, {y} = n | {x} = n.a | {x} = n[k - 1] | n = n._replace(a={x}) | {x} = n._asdict()['b'] | n = Pair(*n[::-1]) | {x} = (*n, {y})[k] | n = Pair._make([{x}, {y}]) | for {x} in n: pass""",
    "Base": """o = Child({x}, {y}) | o = Child({x}) | o = Base({x}) | {x} = o.get() | o.a = {x} | o.set({x}) | Base.t = {x} | Child.t = {x} | o.t = {x} | {x} = o.t | {x} = Base.t | o = Child.make({x}) | {x} = Base.other({y}) | o.held.append({x})
{x} = o.held[-1] | Base.held = [{x}] | {x} = Child.held[0] | {x} = super(Child, Child({y})).get() | {x} = Child.get(Child({x}, {y})) | {x} = Child({x}, {y}).p | {x} = Child({x}).missing | q = o; q.a = {x} | {x} = Base.get(o) | {x} = getattr(o, 'a', {y})""",
    "cached": """c = cached(k) | {x} = c if isinstance(c, torch.Tensor) else {x} | {x} = [*c][0] if isinstance(c, (list, tuple)) else {y} | c = cached(1); {x} = cached(1) if isinstance(c, torch.Tensor) else {y}
if isinstance(cached(1), list): cached(1)[0] = {x} | if isinstance(cached(1), list):\\n    {x} = cached(1)[0] | {x} = c['a'] if isinstance(c, dict) else {y} | if isinstance(cached(0), dict): cached(0)['a'] = {x}""",
    "managed": """with managed({x}) as s: {y} = s[-1] if isinstance(s, list) else s | with managed({x}) as s:\\n    if isinstance(s, list): s[-1] = {y} | with managed({x}) as s, managed({y}) as r:\\n    {z} = s[0] if isinstance(s, list) else r""",
    "kept": """{x} = kept({x}) | {x} = kept({y}, u={z}) | {x} = kept({y}, [{x}]) | {x} = [kept(e) for e in ({x}, {y})][k - 1]""",
    "recursive": """r = recursive(k, {x}, {y}) | {x} = r[0] if isinstance(r, (list, tuple)) else r | {x} = [*recursive(1, {x}, {y})][-1] | {x} = recursive(0, {y}) if isinstance(r, torch.Tensor) else {x}""",
    "Items": """i = Items({x}, {y}) | {x} = i[0] | i[1] = {x} | {x}, *_ = i | for {x} in i: pass | {x} = i({y}) | {x} = [e for e in i][-1] | {x} = i.last if {y} in i else {x} | {x} = dict(enumerate(i))[0]
with i as j: {x} = j[0] | j = i + {x} | {x} = (i + {y})[0] | if i == {x}: pass\\n{x} = getattr(i, 'last', {x}) | {x} = next(iter(i)) | {x} = [*zip(i, l)][0][0] | l = [*i, {x}] | {x} = i.ts[0] | {x} = max(i, key=len) | j = i; j[0] = {x} | {x} = j[0]""",
}  # fmt: skip
_HEADS = [
    "if k:", "if k > 1:", "if {x}.ndim > 1:", "for i in range(k):", "for i in range(2):", "for {x} in ({y}, {z}):", "while {x}.shape[0] > 20:\n    {x} = {x}[1:]",
    "try:", "with torch.no_grad():", "if {x} is {y}:", "for v in [{x}, {y}][:k]:", "if len({x}) % 2:", "for e in {x}:\n    if k: break\nelse:", "for f in [lambda: {x}, lambda e={y}: e][:k]:\n    {z} = f()",
]  # fmt: skip
_FAILS = (AttributeError, ArithmeticError, LookupError, NameError, RuntimeError, StopIteration, TypeError, ValueError)
_CHOICE = re.compile(r"<<(.*?)>>")
_NAMES = "tuv"


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 3  # no two new tensors have one shape

    def new(self) -> str:
        self.count += 1
        return f"Z({self.count}, {self.random.choice([1, 2, 3])})"

    def fill(self, text: str) -> str:
        while "{T}" in text:
            text = text.replace("{T}", self.new(), 1)
        while (found := _CHOICE.search(text)) is not None:
            text = text[: found.start()] + self.random.choice(found[1].split("|")) + text[found.end() :]
        names = self.random.sample(_NAMES, 3)
        for letter, name in zip("xyz", names, strict=True):
            text = text.replace(f"{{{letter}}}", name)
        return text

    def statement(self, texts: list[str], depth: int) -> list[str]:
        if depth < 2 and self.random.random() < 0.25:
            head = self.fill(self.random.choice(_HEADS)).split("\n")
            body = [line for _ in range(self.random.randint(1, 2)) for line in self.statement(texts, depth + 1)]
            lines = [*head, *(f"    {line}" for line in body)]
            if head[0] == "try:":
                lines += ["except LookupError:", *(f"    {line}" for line in self.statement(texts, depth + 1))]
            elif head[0].startswith("if") and self.random.random() < 0.5:
                lines += ["else:", *(f"    {line}" for line in self.statement(texts, depth + 1))]
            return lines
        return self.fill(self.random.choice(texts)).split("\\n")


def _texts(kinds: list[str]) -> list[str]:
    """The statements of these kinds, those with names of their own as often as all others."""
    plain, own = (
        [text for kind in some for line in STATEMENTS[kind].splitlines() for text in line.split(" | ")]
        for some in ([""], kinds)
    )
    return plain + own * max(1, len(plain) // max(1, len(own)))


def _runs(definitions: CodeType, source: str) -> bool:
    scope: dict[str, Any] = {}
    try:
        exec(definitions, scope)  # anew: the classes hold what the calls have put there
        exec(compile(source, "program", "exec"), scope)
    except _FAILS:
        return False
    return True


def _program(lines: list[str]) -> str:
    body = "".join(f"    {line}\n" for line in ["d = {'a': t, 'b': u}", "l = [u, v]", *lines])
    check = "    if max(t.numel(), u.numel(), v.numel(), 10 * len(l)) > 2000 or max(t.ndim, u.ndim, v.ndim) > 4: raise ValueError\n"
    calls = "for k in (0, 1, 2): go(random.choice([k]), Z(2, 3), Z(random.choice([3]), 1), Z(2, 2))\n"
    return f"def go(k, t, u, v):\n{body}{check}{calls}"


def _definitions(writer: _Writer) -> Iterator[tuple[str, str]]:
    for text in writer.random.sample(DEFINITIONS.split("---\n"), writer.random.choice([1, 2, 2, 3])):
        name = re.search(r"(?:def|class) (\w+)", text)
        assert name is not None
        yield name[1], writer.fill(text)


def make(seed: int) -> str:
    writer = _Writer(seed)
    while True:
        made = dict(_definitions(writer))
        definitions = HEAD + "".join(made.values())
        code = compile(definitions, "program", "exec")
        if _runs(code, _program([])):
            break
    texts, lines = _texts([*made]), list[str]()
    for _ in range(writer.random.choice([6, 9, 12]) * 2):
        more = writer.statement(texts, 0)
        if _runs(code, _program([*lines, *more])):
            lines += more
    return definitions + _program(lines)
