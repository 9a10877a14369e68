"""Random programs in which loops hand objects on from name to name and change what these hold."""

from __future__ import annotations

import random

# How an object that holds a tensor is made, how that is read, and how another is put there.
KINDS = [
    ("[Z({i}, 1)]", "{n}[0]", "{n}[0] = {v}"),
    ("{{'w': Z({i}, 1)}}", "{n}['w']", "{n}['w'] = {v}"),
    ("Obj(Z({i}, 1))", "{n}.r", "{n}.r = {v}"),
    ("Obj([Z({i}, 1)])", "{n}.r[0]", "{n}.r[0] = {v}"),
    ("[[Z({i}, 1)]]", "{n}[0][0]", "{n}[0][0] = {v}"),
    ("([Z({i}, 1)], 0)", "{n}[0][0]", "{n}[0][0] = {v}"),
    ("dict(w=[Z({i}, 1)])", "{n}['w'][0]", "{n}['w'][0] = {v}"),
]
HEAD = """\
import torch
Z = torch.zeros
class Obj:
    def __init__(self, r): self.r = r
def same(x): return x
def change(x):
    {change}
"""


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.made, self.read, self.put = self.random.choice(KINDS)
        self.names = ["a", "b", "c", "d", "e"][: self.random.randint(3, 5)]
        self.count = 10  # no two tensors have one shape

    def number(self) -> int:
        self.count += 1
        return self.count

    def new(self) -> str:
        return self.made.format(i=self.number())

    def statement(self, indent: str, depth: int, loops: int) -> list[str]:
        pick, drawn = self.random.choice, self.random.random()
        n, m = pick(self.names), pick(self.names)
        if drawn < 0.3:
            return [f"{indent}{n} = {m}"]
        if drawn < 0.45:
            return [indent + self.put.format(n=n, v=f"Z({self.number()}, {pick([2, 3, 4])})")]
        if drawn < 0.5:
            return [f"{indent}{n} = {self.new()}"]
        if drawn < 0.8:
            other = f"{m} if x > {pick([0, 1, 2, 3])} else {pick(self.names)}"
            return [indent + pick([
                f"{n}, {m} = {m}, {n}", f"{n} = {other}", f"keep.append({n})", f"{n} = keep[-1]", f"{n} = keep[0]", f"{n} = same({m})",
                f"change({n})",
            ])]  # fmt: skip
        if drawn < 0.9 and depth < 2:
            lines = [f"{indent}if x > {pick([0, 1, 2, 3, 4])}:", *self.block(indent, depth, loops, [1, 2])]
            if self.random.random() < 0.4:
                lines += [f"{indent}else:", *self.block(indent, depth, loops, [1])]
            elif self.random.random() < 0.2:
                lines.append(f"{indent}    {pick(['break', 'continue'])}")
            return lines
        if drawn < 0.95 and loops < 2:
            turns = pick([2, 3, 5, 9])
            counted = [f"{indent}for x in range({turns}):"]
            waited = [f"{indent}x = 0", f"{indent}while x < {turns}:", f"{indent}    x += 1"]
            return [*pick([counted, waited]), *self.block(indent, depth, loops + 1, [2, 3, 4])]
        return [f"{indent}y{self.number()} = {self.read.format(n=n)}"]

    def block(self, indent: str, depth: int, loops: int, lengths: list[int]) -> list[str]:
        count = self.random.choice(lengths)
        return [line for _ in range(count) for line in self.statement(indent + "    ", depth + 1, loops)]


def make(seed: int) -> str:
    writer = _Writer(seed)
    names, read = writer.names, writer.read
    lines = [f"    {name} = {writer.new()}" for name in names]
    lines += ["    x = 9", f"    keep = [{writer.random.choice(names)}]"]
    lines.append(f"    for x in range({writer.random.choice([3, 7, 9])}):")
    lines += [f"        z{at} = {read.format(n=name)}" for at, name in enumerate(names)]
    lines += writer.block("    ", -1, 1, [3, 5, 7])
    lines += [f"    w{at} = {read.format(n=name)}" for at, name in enumerate(names)]
    lines.append(f"    v = {read.format(n='keep[-1]')}")
    body = "\n".join(lines)
    return HEAD.format(change=writer.put.format(n="x", v="Z(99, 7)")) + f"def go():\n{body}\ngo()\n"
