"""Random programs that hand objects on through calls, and through the methods that Python calls by itself."""

from __future__ import annotations

import random

from handed_on_programs import KINDS as PLAIN

# How an object that holds a tensor is made, how that is read, and how another is put there.
KINDS = [
    *PLAIN,
    ("Obj(Obj(Z({i}, 1)))", "{n}.r.r", "{n}.r.r = {v}"),
    ("Pair([Z({i}, 1)], 0)", "{n}.r[0]", "{n}.r[0] = {v}"),
    ("[Obj(Z({i}, 1))]", "{n}[0].r", "{n}[0].r = {v}"),
    ("Net(Z({i}, 1))", "{n}.r", "{n}.r = {v}"),
]
LAYER = ("nn.Linear(1, {i})", "{n}.weight", "{n}.weight = nn.Parameter({v})")
HEAD = """\
import collections, copy, functools, random
import torch
from torch import nn
Z = torch.zeros
Pair = collections.namedtuple('Pair', 'r s')
class Obj:
    def __init__(self, r): self.r = r
class Net(nn.Module):
    def __init__(self, r):
        super().__init__()
        self.r = r
"""
# What Python calls: the method's parameters, what it gives, and what calls it of `h` with `a`.
IMPLICIT = {
    "__add__": ("self, o", "3", "h + a"),
    "__radd__": ("self, o", "3", "a + h"),
    "__iadd__": ("self, o", "self", "h += a"),
    "__getitem__": ("self, o", "3", "h[a]"),
    "__setitem__": ("self, k, o", "3", "h[0] = a"),
    "__delitem__": ("self, o", "3", "del h[a]"),
    "__contains__": ("self, o", "True", "a in h"),
    "__lt__": ("self, o", "True", "h < a"),
    "__eq__": ("self, o", "True", "h == a"),
    "__neg__": ("self", "3", "-h"),
    "__len__": ("self", "1", "len(h)"),
    "__bool__": ("self", "True", "if h: pass"),
    "__str__": ("self", "'s'", "str(h)"),
    "__format__": ("self, s", "'s'", "f'{h}'"),
    "__hash__": ("self", "1", "{h: 1}"),
    "__index__": ("self", "1", "[1, 2][h]"),
    "__iter__": ("self", "iter([1, 2])", "for i in h: pass"),
    "__next__": ("self", "3", "next(h)"),
    "__getattr__": ("self, k", "3", "h.more"),
    "__abs__": ("self", "3", "abs(h)"),
    "__divmod__": ("self, o", "3", "divmod(h, a)"),
}


def _box(changes: dict[str, str]) -> str:
    methods = "".join(
        f"    def {name}({IMPLICIT[name][0]}):\n        {change}\n        return {IMPLICIT[name][1]}\n"
        for name, change in changes.items()
    )
    hashed = "    __hash__ = object.__hash__\n" if "__eq__" in changes and "__hash__" not in changes else ""
    return f"class Box:\n    def __init__(self, p, q):\n        self.p = p\n        self.q = q\n{methods}{hashed}"


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.made, self.read, self.put = self.random.choice(KINDS)
        self.methods = self.random.sample([*IMPLICIT], self.random.choice([0, 0, 1]))
        self.calls = self.random.random() < 0.5
        self.count = 10  # no two tensors have one shape

    def number(self) -> int:
        self.count += 1
        return self.count

    def new(self) -> str:
        return self.made.format(i=self.number())

    def change(self, name: str) -> str:
        return self.put.format(n=name, v=f"Z({self.number()}, {self.random.choice([2, 3, 4])})")

    def body(self, names: list[str]) -> str:
        pick = self.random.choice
        return pick([self.change(pick(names)), f"p = {pick(names)}; {self.change('p')}", "pass"])

    def function(self, name: str) -> str:
        pick = self.random.choice
        lines = [
            self.change(pick("pq")),
            f"if k: {self.change(pick('pq'))}",
            f"if k: return {pick('pq')}",
            "q, p = p, q",
            "pass",
        ]
        body = "".join(f"    {pick(lines)}\n" for _ in range(pick([1, 2])))
        return f"def {name}(p, q, k=0):\n{body}    return {pick('pq')}\n"

    def statement(self, names: list[str]) -> str:
        pick = self.random.choice
        n, m, o = pick(names), pick(names), pick(names)
        called = pick(
            [f"f({m}, {o})", f"g({m}, {o}, k & 1)", f"(f if k else g)({m}, {o})", f"functools.partial(f, {m})({o})"]
        )
        if self.calls and self.random.random() < 0.4:
            return f"{n} = {called}"
        if self.methods and self.random.random() < 0.4:
            return IMPLICIT[self.methods[0]][2]
        return pick([
            f"{n} = ({m}, {o})[k & 1]", f"if k: {n} = {m}", self.change(n), f"for x in range(k):\n        h.p = {n}\n        {self.change(m)}",
            f"h = Box({n}, {m})", f"h.q = {n}", f"{n} = h.p", f"get = (lambda: {n}) if k else (lambda: {m})\n    {o} = get()",
            f"while k > 5:\n        {self.change(n)}\n        k -= 1", f"y{self.number()} = {self.read.format(n=n)}",
        ])  # fmt: skip


def make(seed: int) -> str:
    writer = _Writer(seed)
    names = ["a", "b", "c"]
    box = _box({
        name: writer.body(["self.p", "self.q", *(["o"] if "o" in IMPLICIT[name][0].split(", ") else [])])
        for name in writer.methods
    })  # fmt: skip
    lines = [f"{name} = {writer.new()}" for name in names]
    lines += ["h = Box(a, b)", *(writer.statement(names) for _ in range(writer.random.choice([2, 3, 5])))]
    lines += [f"w{at} = {writer.read.format(n=name)}" for at, name in enumerate([*names, "h.p"])]
    body = "".join(f"    {line}\n" for line in lines)
    functions = writer.function("f") + writer.function("g") if writer.calls else ""
    return f"{HEAD}{box}{functions}def go(k):\n{body}for t in (0, 1, 6):\n    go(random.choice([t]))\n"
