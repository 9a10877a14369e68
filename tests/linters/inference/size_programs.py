"""Random programs of sizes: numbers computed of shapes, tensors made, cut and joined with them, names bound anew in branches
and rounds. A program is a function that is called several times; it is grown statement by statement while all its calls run."""

from __future__ import annotations

import random
import re
from typing import Any

import torch

HEAD = """\
import torch
import random
from torch import nn
def up(a, b=4): return (a + b - 1) // b * b
def head(t, a): return t[:a] if t.shape[0] > a else t
def put(o, a): o["w"] = a
def padded(t, a):
    rest = -t.shape[-1] % a
    if rest: t = nn.functional.pad(t, (0, rest))
    return t
"""
_NUMBERS = """{n} // {c} | {n} % {c} | {n} - {c} | {n} + {m} | {n} * {c} | -(-{n} // {c}) | min({n}, {m}) | max({n}, {c}) | abs({n} - {m})
{x}.shape[0] | {x}.shape[-1] | {x}.size(0) | {x}.numel() // {c} | {x}.ndim | len({x}) | {n} if {C} else {m} | up({n}, {c}) | int({n} / {c})
len([i for i in range({n}) if i % 2]) | {n} ^ 1 | {n} or {m} | o["w"] | {c} | sum({x}.shape) | round({n} / {c})"""
_TENSORS = """torch.zeros({n}, {m}) | torch.zeros({n}, {c}, {m}) | torch.arange({n}) | torch.ones(o["w"], {n}) | {x}.new_zeros({n}, {x}.shape[-1])
torch.full(({n},), {m}) | torch.zeros({n} // {c}, {m}) | torch.zeros({x}.shape) | torch.tensor([i for i in range({n})]) | torch.eye({n})
{x}[:{n}] | {x}[{n}:] | {x}[..., :{n}] | {x}[:, 1:] | {x}[::2] | {x}[-{n}:] | {x}[:1] | {x}[..., -1:] | {x}[1:] | {x}[{n}:{m}] | {x}[0] | {x}[:, None]
{x}[{x} > 0] | {x}[[0, 0]] | {x}[{x}[..., 0] > {n}] | {x}.nonzero() | {x}[{x}.sum(-1) > {n}][:1] | {x}.nonzero()[:1] | {x}[{n}:][:1]
{x}.reshape(-1) | {x}.reshape({x}.shape[0], -1) | {x}.view(-1, {x}.shape[-1]) | {x}.flatten(0, 1) | {x}.flatten() | {x}.flatten(0, 0)
{x}.expand({n}, *{x}.shape) | {x}.repeat({n}, 1) | {x}.repeat_interleave({n}, 0) | {x}.transpose(0, -1) | {x}.permute(1, 0) | {x}.unsqueeze({a})
{x}.squeeze({a}) | {x}.sum({a}) | {x}.sum({a}, keepdim=True) | {x}.contiguous() | {x}.float() | +{x} | nn.Identity()({x}) | nn.Flatten({a})({x})
torch.cat([{x}, {x}]) | torch.cat([{x}, {y}], {a}) | torch.stack([{x}] * {n}) | torch.cat([{x}, {x}[:{n}]]) | torch.stack([r for r in {x}])
{x}.split({c})[0] | {x}.split({c}, {a})[-1] | {x}.chunk({c})[0] | {x}.split([1, {x}.shape[0] - 1])[1] | {x}.unfold(0, {c}, 1) | {x}.narrow(0, 0, 1)
{x} + {y} | {x} * {n} | {x} @ {x}.transpose(-1, -2) | {x} * {x}.sum(-1, keepdim=True) | {x} - {x}[:1] | {x}[:, None] - {x}[None] | {x} > {n}
nn.functional.pad({x}, (0, {n})) | {x} if {C} else {y} | {x} if {C} else {x}[:{n}] | head({x}, {n}) | padded({x}, {c}) | {y} | {x}.unbind()[-1]"""
_TESTS = """{n} == {m} | {n} > {m} | {n} > {c} | {n} % 2 | {n} | k | k > 1 | not k | {x}.ndim == {c} | {x}.ndim > 2 | {x}.shape[0] == {n}
{x}.shape[-1] > {n} | {x}.shape == {y}.shape | {x}.size(0) in (1, {n}) | {x}.is_contiguous() | {x}.numel() > {c} | len({x}) % 2"""
_OTHERS = """{n} += {c} | {n} -= {c} | {n} //= 2 | {n} *= {c} | {N}, {M} = {x}.shape | {N}, {M} = {x}.shape[-2:] | {N}, *_ = {x}.shape | {N}, {M} = {n}, {m}
{N}, {M} = divmod({n}, {c}) | {N} = {n} = {m} // {c} | {x}.unsqueeze_(0) | {x}.t_() | {x}.squeeze_() | {x}.transpose_(0, -1) | {x}.resize_({n}, {c})
{x}.data = {y} | {X}, {Y} = {x}.chunk(2, {a}) | {X}, {Y} = {x}.split([1, {x}.shape[-1] - 1], -1) | {X}, {Y} = {y}, {x} | {X} = {Y} = {x}[:{n}] | {x} += 1
o["w"] = {n} | o["w"] += 1 | o.update(w={n}) | put(o, {n}) | {X} = {x}; {Y} = {X}[:{n}]"""
_LOOPS = """for i in range({c}) | for i in range({n}) | for {N} in range({c}) | for t in {x} | for i, t in enumerate({x}) | for t in {x}.split({c})
for {N} in {x}.shape | for {X} in ({x}, {y}) | for i in ({n}, {m}) | while {n} > {c} | while {x}.shape[0] > {c} | while {n} < 9"""


def _parts(text: str) -> list[str]:
    return [part for line in text.splitlines() for part in line.split(" | ")]


NUMBERS, TENSORS, TESTS, OTHERS, LOOPS = map(_parts, (_NUMBERS, _TENSORS, _TESTS, _OTHERS, _LOOPS))
_PLACE = re.compile(r"\{(\w)\}")
_FAILS = (ArithmeticError, AssertionError, LookupError, NameError, RuntimeError, TypeError, ValueError)
_TURNS = 40
_TURN = "turn(globals())"
Scope = dict[str, Any]


class _Endless(RuntimeError):
    pass


class _Writer:
    """`scopes` are the names of each call, as they are where the program has come to."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.turns = 0

    def turn(self, names: Scope) -> None:
        """Each round of the program begins with it: a tensor that doubles in each must not fill the memory."""
        self.turns += 1
        if self.turns > _TURNS or _is_large(names):
            raise _Endless

    def fill(self, text: str, scopes: list[Scope]) -> str:
        pick = self.random.choice
        chosen: dict[str, str] = {}

        def put(found: re.Match[str]) -> str:
            letter = found[1]
            if letter in "NMXY":
                return chosen.setdefault(letter, pick("nmpq" if letter in "NM" else "xyzw"))
            if letter in "ca":
                return pick("12233445") if letter == "c" else pick(["0", "0", "1", "-1", "-1", "-2"])
            if letter == "C":
                return self.fill(pick(TESTS), scopes)
            kind, names = (int, "nmpqi") if letter in "nm" else (torch.Tensor, "xyzwt")
            known = [name for name in names if all(type(scope.get(name)) is kind for scope in scopes)]
            if letter not in chosen:
                chosen[letter] = pick(known)  # an IndexError, if there is none
            return chosen[letter]

        return _PLACE.sub(put, text)

    def run(self, lines: list[str], scopes: list[Scope]) -> list[Scope] | None:
        """The scopes behind the lines; None if a call fails there or makes something that is too large."""
        code = compile("\n".join(lines), "program", "exec")
        after = []
        for scope in scopes:
            self.turns = 0
            new = {**scope, "o": dict(scope["o"]), "turn": self.turn}
            try:
                exec(code, new)
            except _FAILS:
                return None
            if _is_large(new):
                return None
            after.append(new)
        return after

    def simple(self, scopes: list[Scope]) -> tuple[list[str], list[Scope]] | None:
        pick = self.random.choice
        for _ in range(40):
            text = pick([f"{pick('nmpq')} = {pick(NUMBERS)}", *[f"{pick('xyzw')} = {pick(TENSORS)}"] * 2, pick(OTHERS)])
            try:
                line = self.fill(text, scopes)
            except IndexError:
                continue
            after = self.run([line], scopes)
            if after is not None:
                return [line], after
        return None

    def block(self, scopes: list[Scope], count: int, depth: int) -> tuple[list[str], list[Scope]]:
        lines: list[str] = []
        for _ in range(count):
            drawn = self.random.random()
            grow = self.branch if drawn < 0.15 and depth < 3 else self.loop if drawn < 0.3 and depth < 2 else None
            found = self.simple(scopes) if grow is None else grow(scopes, depth)
            if found is not None:
                lines += found[0]
                scopes = found[1]
        return lines or ["pass"], scopes

    def branch(self, scopes: list[Scope], depth: int) -> tuple[list[str], list[Scope]] | None:
        try:
            test = self.fill(self.random.choice(TESTS), scopes)
        except IndexError:
            return None
        told = self.run([f"told = bool({test})"], scopes)
        if told is None:
            return None
        lines: list[str] = []
        for truth, head in ((True, f"if {test}:"), (False, "else:")):
            within = [scope for scope in told if scope["told"] is truth]
            if within and (truth or self.random.random() < 0.5):
                lines += [head, *_indented(self.block(within, self.random.randint(1, 2), depth + 1)[0])]
            elif truth:
                return None
        after = self.run(lines, scopes)
        return None if after is None else (lines, after)

    def loop(self, scopes: list[Scope], depth: int) -> tuple[list[str], list[Scope]] | None:
        try:
            head = self.fill(self.random.choice(LOOPS), scopes)
        except IndexError:
            return None
        first = self.run([f"{head}:", "    entered = 1", "    break"], [{**scope, "entered": 0} for scope in scopes])
        within = [scope for scope in first or () if scope["entered"]]
        if not within:
            return None
        body = self.block(within, self.random.randint(1, 4), depth + 1)[0]
        if head.startswith("while"):
            name = head[len("while ")]
            step = f"{name} = {name}[1:]" if ".shape" in head else f"{name} {'-' if '>' in head else '+'}= 1"
            body.insert(self.random.choice([0, len(body)]), step)
        elif self.random.random() < 0.2:
            body.append(f"if k > 1: {self.random.choice(['break', 'continue'])}")
        lines = [f"{head}:", *_indented([_TURN, *body])]
        after = self.run(lines, scopes)
        return None if after is None else (lines, after)


def _is_large(scope: Scope) -> bool:
    values = [scope.get(name, 0) for name in "nmpqixyzwt"]
    return any(
        (value.numel() > 2000 or value.ndim > 4) if isinstance(value, torch.Tensor) else abs(value) > 200
        for value in values
    )


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def make(seed: int) -> str:
    writer = _Writer(seed)
    pick = writer.random.choice
    base: Scope = {}
    exec(HEAD, base)
    scopes, calls = [], []
    rank = pick([1, 2, 2, 3])
    for _ in range(4):
        shape, n, m, k = [pick(range(2, 9)) for _ in range(rank)], pick(range(2, 9)), pick(range(2, 9)), pick(range(3))
        scopes.append({**base, "x": torch.ones(shape), "n": n, "m": m, "k": k, "o": {"w": n + 1}})
        sizes = ", ".join(f"random.choice([{size}])" for size in shape)
        calls.append(
            f"go(torch.ones({sizes}), {', '.join(f'random.choice([{each}])' for each in (n, m, k))}, {{'w': {n} + 1}})"
        )
    begun = pick([f"assert x.ndim == {rank}", f"{', '.join('pqr'[:rank])}, = x.shape", "pass", "x = x.float()"])
    body, _ = writer.block(writer.run([begun], scopes) or scopes, pick([4, 7, 10]), 0)
    lines = [begun, *(line for line in body if line.strip() != _TURN)]
    return "\n".join([f"{HEAD}def go(x, n, m, k, o):", *_indented(lines), *calls, ""])
