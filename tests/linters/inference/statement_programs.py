"""Random programs of one function: errors that are caught, with, match, loops, and lists and dictionaries that these change."""

from __future__ import annotations

import random
import traceback

HEAD = """\
import random
from contextlib import suppress
import torch
Z = torch.zeros
def same(x): return x
def boom(k):
    if k: raise ValueError(k)
"""
# Every branch is run, and nothing that decides is known.
CALLS = """
for k in (0, 1, 2):
    for m in (0, 1, 2):
        with suppress(Exception): go(random.choice([k]), random.choice([m]))
"""
_TESTS = ["k", "m", "k > m", "len(a) > 1", "a is b", "t is u", "'w' in d"]
_LISTS = [
    "[{t}]", "[{t}, {t}]", "{a}[:]", "list({a})", "({a} + {a})", "[g for g in {a}]", "[*{a}, {t}]", "({a} if {c} else {a})", "(k and {a} or {a})",
    "same({a})", "list(d.values())", "sorted({a}, key=len)", "[{a}, {a}][k > 0]",
]  # fmt: skip
_CHANGES = [
    "{l}[0] = {t}", "{l}[k] = {t}", "{l}[:1] = [{t}]", "{a} += {l}", "{a} += [{a}.pop(0)]", "{a} *= 2", "del {l}[0]", "del (k or {a})[k]", "{l}.append({t})",
    "{l}.insert(0, {t})", "{a}.insert(0, {a}.pop())", "{x} = {l}.pop()", "{l}.reverse()", "{x}, *{a} = {l}", "{a}, {x} = {l}, {t}",
    "d['w'] = {t}", "d.update(v={t})", "d |= {{'v': {t}}}", "{x} = d.pop('w')", "d.setdefault('v', {t})", "{l}.extend({l})",
]  # fmt: skip


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 10  # no two tensors have one shape

    def number(self) -> int:
        self.count += 1
        return self.count

    def tensor(self, depth: int = 0) -> str:
        pick = self.random.choice
        new = f"Z({self.number()}, {pick([1, 2, 3])})"
        if depth > 1:
            return pick([new, "t", "u"])
        return pick(
            [new, "t", "u", f"{self.list(depth + 1)}[{pick([0, -1])}]", f"(t if {pick(_TESTS)} else {new})", "d['w']"]
        )

    def list(self, depth: int = 0) -> str:
        if depth > 1 or self.random.random() < 0.5:
            return self.random.choice(["a", "b", "c"])
        return self.filled(self.random.choice(_LISTS), depth + 1)

    def filled(self, text: str, depth: int = 0) -> str:
        while "{t}" in text:
            text = text.replace("{t}", self.tensor(depth + 1), 1)
        while "{l}" in text:
            text = text.replace("{l}", self.list(depth), 1)
        name = self.random.choice(["a", "b", "c"])
        text = (
            text.replace("{a}", name)
            .replace("{c}", self.random.choice(_TESTS))
            .replace("{x}", self.random.choice("tu"))
        )
        return text.replace("{{", "{").replace("}}", "}")

    def simple(self) -> str:
        drawn, pick = self.random.random(), self.random.choice
        if drawn < 0.5:
            return self.filled(pick(_CHANGES))
        if drawn < 0.75:
            name = pick(["a", "b", "c"])
            return pick([f"{pick('tu')} = {self.tensor()}", f"{name} = {self.list()}", f"{name} = {pick('abc')}"])
        if drawn < 0.9:
            return pick(["boom(k)", "boom(m)", "boom(k > m)", "[][k]"])
        return f"y{self.number()} = {self.tensor()}"

    def statement(self, depth: int, loops: int) -> list[str]:
        drawn, pick = self.random.random(), self.random.choice
        if depth > 2 or drawn < 0.55:
            return [self.simple()]
        if drawn < 0.7:
            lines = [f"if {pick(_TESTS)}:", *self.block(depth, loops)]
            if self.random.random() < 0.3:
                lines.append("    " + pick(["raise ValueError(k)", "return", *["break", "continue"][: 2 * loops]]))
            elif self.random.random() < 0.5:
                lines += ["else:", *self.block(depth, loops)]
            return lines
        if drawn < 0.85:
            kind = pick(["ValueError", "Exception", "ValueError"])
            lines = [
                "try:",
                *self.block(depth, loops),
                *self.block(depth, loops),
                f"except {kind}:",
                *self.block(depth, loops),
            ]
            if self.random.random() < 0.2:
                lines.append("    raise")
            if self.random.random() < 0.3:  # an error in it is told of its last line
                lines += ["finally:", *self.block(depth, loops), "    boom(0)"]
            return lines
        if drawn < 0.9:
            return [f"with suppress({pick(['ValueError', 'Exception'])}):", *self.block(depth, loops)]
        if drawn < 0.94:
            cases = pick([("[t]", "[u, *c]"), ("[_, t]", "[]"), ("[*c, u]", "_")])
            lines = [f"match {self.list()}:"]
            for case in cases:
                lines += [f"    case {case}:", *("    " + line for line in self.block(depth, loops))]
            return lines
        if loops:
            return [self.simple()]
        head = pick(["for i in range(2):", "for i in range(8):", f"for t in {self.list()}[:3]:", "for i in range(k):"])
        return [head, *self.block(depth, loops + 1)]

    def block(self, depth: int, loops: int) -> list[str]:
        count = self.random.choice([1, 1, 2])
        return ["    " + line for _ in range(count) for line in self.statement(depth + 1, loops)]


def make(seed: int) -> str:
    writer = _Writer(seed)
    lines = ["t, u = Z(7, 5), Z(8, 5)"]
    lines += [f"{name} = [Z({writer.number()}, 2), Z({writer.number()}, 3)]" for name in "abc"]
    lines.append(f"d = {{'w': Z({writer.number()}, 4)}}")
    for _ in range(writer.random.choice([3, 4, 5, 6])):
        lines += writer.statement(0, 0)
    lines += ["p = a[0]", "q = a[-1]", "r = b[0]", "s = c[0]", "v = t", "w = u"]
    return that_runs(lines)


def that_runs(lines: list[str]) -> str:
    """The program without the lines at which every call of it ends."""
    lines = list(lines)
    first = HEAD.count("\n") + 2
    while True:
        text = HEAD + "def go(k, m):\n" + "\n".join("    " + line for line in lines)
        names: dict[str, object] = {"random": random}
        exec(compile(text, "program", "exec"), names)
        ended: list[int] = []
        for k in (0, 1, 2):
            for m in (0, 1, 2):
                try:
                    names["go"](k, m)  # type: ignore[operator]
                except Exception as error:
                    found = [each for each in traceback.extract_tb(error.__traceback__) if each.name == "go"]
                    ended.append((found[-1].lineno or 0) - first)
        if len(ended) < 5:
            return text + CALLS
        line = lines[ended[0]]
        indent = line[: len(line) - len(line.lstrip())]
        lines[ended[0]] = indent + ("if k >= 0:" if line.endswith(":") else "pass")
