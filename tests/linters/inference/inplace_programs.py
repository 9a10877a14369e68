"""Random programs that give tensors and arrays another shape in place, under some of the names that they have."""

from __future__ import annotations

import random
import re

HEAD = """\
import random
import einops
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
Z = torch.zeros
class Obj:
    def __init__(self, r): self.r = r
KEPT = []
def same(q): return q
def keep(q):
    KEPT.append(q)
    return q
"""
# What may be the very object `x`, of a tensor and of an array; `y` is another one.
SAME = """x.contiguous() | x.to(torch.float32) | x.float() | x.cpu() | x.detach() | x.requires_grad_(False) | torch.as_tensor(x) | torch.atleast_1d(x)
torch.atleast_2d(x) | torch.atleast_3d(x) | +x | torch.positive(x) | x.real | x.conj() | x.resolve_conj() | nn.Identity()(x) | nn.ReLU(inplace=True)(x)
F.relu_(x) | F.relu(x, inplace=True) | nn.Dropout(0.0)(x) | F.dropout(x, 0.0) | nn.Flatten(0)(x) | x.flatten() | x.ravel() | x.reshape(x.shape) | x.squeeze()
x.expand_as(x) | einops.rearrange(x, '... -> ...') | x.type(torch.float32) | x.zero_() | x.add_(1) | x.clone() | x.sum_to_size(x.shape) | x.view(x.shape)
x[...] | x[None] | torch.squeeze(x) | x.unsqueeze(0) | x.type_as(x) | x.to(x) | x if k else y | [x, y][k] | max([x], key=len) | (lambda q: q)(x) | same(x)
keep(x) | next(iter([x])) | dict(a=x)['a'] | Obj(x).r | torch.broadcast_tensors(x)[0] | torch.where(torch.ones(1).bool(), x, x) | x.data | x.double().float()
nn.Sequential(nn.Identity())(x) | nn.Sequential()(x) | F.threshold(x, 0, 0, inplace=True) | F.hardtanh_(x) | torch.abs(x, out=y) | torch.add(x, 1, out=y)
torch.cat([x, x], out=y) | torch.neg(x, out=x) | torch.sum(x, 0, out=y)"""
SAME_ARRAY = """np.asarray(x) | np.ascontiguousarray(x) | x.astype(float, copy=False) | np.atleast_1d(x) | np.atleast_2d(x) | x.view() | x[...] | x.reshape(x.shape)
x.copy() | np.require(x) | x if k else y | np.asanyarray(x) | np.squeeze(x) | x.T | x.ravel() | x.real | np.real(x) | same(x) | np.nan_to_num(x, copy=False)
np.asarray(x, dtype=float) | np.array(x) | +x | [x, y][k] | np.add(x, 1) | np.asfortranarray(x) | np.expand_dims(x, 0) | Obj(x).r | np.array(x, copy=None)"""
# What gives it another shape, or another type.
CHANGES = """x.unsqueeze_(0) | x.unsqueeze_(-1) | x.squeeze_() | x.squeeze_(0) | x.t_() | x.transpose_(0, -1) | x.swapaxes_(0, -1) | x.resize_(7, 2) | x.data = Z(4, 9)
x.set_(Z(3, 8)) | x.as_strided_((1, 1), (1, 1)) | x.resize_as_(Z(8, 1)) | torch.abs(Z(6, 7), out=x) | torch.cat([Z(2, 3), Z(4, 3)], out=x) | change(x)
torch.Tensor.unsqueeze_(x, 0) | change(q=x) | Obj(x).r.unsqueeze_(0) | [x][0].unsqueeze_(0) | setattr(x, 'data', Z(2, 11)) | (lambda q: q.unsqueeze_(0))(x)
torch.mul(Z(5, 6), 2, out=x) | torch.zeros(3, 3, out=x) | torch.arange(5, out=x) | torch.sum(Z(4, 5), 0, out=x) | getattr(x, 'unsqueeze_')(0)
[q.unsqueeze_(0) for q in (x,)] | list(map(lambda q: q.unsqueeze_(0), [x])) | x.unsqueeze_(0).add_(1) | x.contiguous().unsqueeze_(0) | x.float().t_()"""
ARRAY_CHANGES = """x.shape = -1 | x.shape = (1,) + x.shape | x.shape = x.shape[::-1] | x.dtype = np.int64 | change_array(x) | setattr(x, 'shape', -1)
Obj(x).r.shape = -1 | [x][0].shape = -1 | x.shape += (1,) | np.asarray(x).shape = -1"""
SHAPES = ["{n}", "{n}, 2", "1, {n}", "2, {n}, 3", "1, {n}, 1"]
_MOST_NAMES = 10


def _split(text: str) -> list[str]:
    return [each for line in text.splitlines() for each in line.split(" | ")]


def _of(text: str, x: str, y: str) -> str:
    return re.sub(r"\b[xy]\b", lambda name: x if name[0] == "x" else y, text)


class _Program:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.arrays = self.chance.random() < 0.35
        self.same = _split(SAME_ARRAY if self.arrays else SAME)
        self.changes = _split(ARRAY_CHANGES if self.arrays else CHANGES)
        if self.chance.random() < 0.6:  # the same few meet each other more often
            self.same, self.changes = self.chance.sample(self.same, 6), self.chance.sample(self.changes, 3)
        self.names = ["a", "b"]
        self.size = 11
        self.lines: list[str] = []

    def new(self) -> str:
        self.size += 1
        shape = self.chance.choice(SHAPES).format(n=self.size)
        return f"np.zeros(({shape},))" if self.arrays else f"Z({shape})"

    def statement(self, indent: int) -> None:
        chance, space = self.chance, "    " * indent
        x, y, kind = chance.choice(self.names), chance.choice(self.names), chance.random()
        if kind < 0.42:
            made = _of(chance.choice(self.same), x, y)
            name = chance.choice(self.names)
            if indent == 1 and len(self.names) < _MOST_NAMES and chance.random() < 0.6:
                name = "abcdefghij"[len(self.names)]
                self.names.append(name)
            self.lines.append(f"{space}{name} = {made}")
        elif kind < 0.75:
            self.lines.append(space + _of(chance.choice(self.changes), x, y))
        elif kind < 0.85:
            self.lines.append(f"{space}{x} = {self.new()}")
        else:
            self.lines.append(f"{space}h.r = {x}" if kind < 0.93 else f"{space}{x} = h.r")

    def block(self, indent: int, depth: int = 0) -> None:
        chance, space, kind = self.chance, "    " * indent, self.chance.random()
        if kind < 0.5 or depth > 2:
            self.statement(indent)
        elif kind < 0.65:
            self.lines.append(f"{space}if k:")
            self.block(indent + 1, depth + 1)
            if chance.random() < 0.5:
                self.lines.append(f"{space}else:")
                self.block(indent + 1, depth + 1)
        elif kind < 0.78:
            self.lines.append(f"{space}for _ in range({chance.choice(['k', 'm', '2'])}):")
            for _ in range(chance.randint(1, 3)):
                self.block(indent + 1, depth + 1)
        elif kind < 0.86:
            self.lines.append(f"{space}try:")
            self.block(indent + 1, depth + 1)
            self.block(indent + 1, depth + 1)
            self.lines.append(f"{space}except Exception:")
            self.block(indent + 1, depth + 1)
        elif kind < 0.92:
            self.lines.append(f"{space}with torch.no_grad():")
            self.block(indent + 1, depth + 1)
        elif kind < 0.96:
            change = _of(chance.choice(self.changes), chance.choice(self.names), "b")
            self.lines += [f"{space}def inner():", f"{space}    {change}", f"{space}if m: inner()"]
        else:
            self.lines.append(f"{space}while m:")
            self.block(indent + 1, depth + 1)
            self.lines.append(f"{space}    break")


def make(seed: int) -> str:
    """A program that calls its function with each of two values of its two parameters."""
    program = _Program(seed)
    chance = program.chance
    change = _of(chance.choice([each for each in _split(CHANGES) if "change" not in each]), "q", "q")
    change_array = _of(chance.choice([each for each in _split(ARRAY_CHANGES) if "change" not in each]), "q", "q")
    begin = [f"    {name} = {program.new()}" for name in "ab"] + [f"    h = Obj({program.new()})"]
    for _ in range(chance.randint(5, 12)):
        program.block(1)
    end = [f"    z{at} = {name}" for at, name in enumerate(program.names)] + ["    w = h.r"]
    return "\n".join(
        [
            f"{HEAD}def change(q): {change}\ndef change_array(q): {change_array}\n@torch.no_grad()\ndef go(k, m):",
            *begin, *program.lines, *end,
            "for t in range(4):\n    try: go(random.choice([t % 2]), random.choice([t // 2]))\n    except Exception: pass\n",
        ]
    )  # fmt: skip
