"""Programs nobody would write: real sources with lines, statements and expressions deleted, doubled, exchanged."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable

_EXPRESSIONS = """
x; self; torch; x.shape; x.view(-1); x.T; []; {}; (); None; 0; -1; 1e400; 10**5; lambda: x; x[...]; super().__init__(); (yield)
x.squeeze_(); x if x else y; [x for x in x]; x.shape[0]; self.forward(x); torch.zeros(x); torch.zeros(0); nn.Linear(0, 0)
nn.Linear(None, x); nn.Sequential(*x); torch.cat(x, -9); x.permute(0, 0); x.reshape(0, -1); einops.rearrange(x, 'a b ->'); True
's'; b''; 1j; ...; not x; -x; ~x; x @ x; x // 0; x ** -1; 1 << 70; x[::0]; x[None, ...]; f'{x!r:>{y}}'; (x := x); x.chunk(x)
x.split([x, -1]); setattr(x, x, x); vars(x); globals(); x.__dict__; {**x}; [*x]; x(*x, **x); await_(x); x < x < x; x.dtype; x.size()
""".replace("\n", ";").split(";")
_WRAPPERS = [
    "try:\n  pass\nexcept Exception as e:\n  pass\nfinally:\n  pass", "while True:\n  pass", "for x in x:\n  pass",
    "if x:\n  pass\nelse:\n  pass", "def f(x, *a, k=x, **kw):\n  pass", "class A(A):\n  pass", "with x as (a, b), y:\n  pass",
    "match x:\n  case [a, *b]:\n    pass\n  case {'k': v, **r}:\n    pass\n  case A(q=1) | None:\n    pass\n  case str() as z if z:\n    pass",
    "async def g():\n  pass", "for self.x, [y, *x[0]] in x:\n  pass",
]  # fmt: skip
_STARTS = [
    "x = ",
    "return ",
    "assert ",
    "del ",
    "yield ",
    "x += ",
    "self.x = ",
    "x[0] = ",
    "raise ",
    "x, y = ",
    "*x, y = ",
    "x: int = ",
]


def mutated(text: str, seed: int) -> str | None:
    """The text changed in some places; None where nothing that parses came of it."""
    chance = random.Random(seed)
    change: Callable[[str, random.Random], str] = chance.choice([_lines, _expressions, _statements])
    try:
        changed = change(text, chance)
        ast.parse(changed)
    except (SyntaxError, ValueError, IndexError, RecursionError):
        return None
    return changed


def _lines(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    for _ in range(chance.randint(1, 20)):
        kind, at = chance.random(), chance.randrange(len(lines))
        if kind < 0.35 and len(lines) > 1:
            del lines[at]
        elif kind < 0.6:
            lines.insert(at, chance.choice(lines))
        elif kind < 0.8:
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
            lines.insert(at, indent + chance.choice(_STARTS) + chance.choice(_EXPRESSIONS).strip())
    return "\n".join(lines)


def _expressions(text: str, chance: random.Random) -> str:
    tree = ast.parse(text)
    places: list[tuple[ast.AST, str, int | None]] = []
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if _is_read(value):
                places.append((node, name, None))
            elif isinstance(value, list):
                places += [(node, name, at) for at, each in enumerate(value) if _is_read(each)]
    for _ in range(chance.randint(1, 12)):
        node, name, at = chance.choice(places)
        if chance.random() < 0.5:
            new = ast.parse(chance.choice(_EXPRESSIONS).strip() or "x", mode="eval").body
        else:
            other, field, index = chance.choice(places)
            new = getattr(other, field) if index is None else getattr(other, field)[index]
        if at is None:
            setattr(node, name, new)
        elif at < len(getattr(node, name)):
            getattr(node, name)[at] = new
    return ast.unparse(ast.fix_missing_locations(tree))


def _is_read(value: object) -> bool:
    return isinstance(value, ast.expr) and isinstance(getattr(value, "ctx", ast.Load()), ast.Load)


def _statements(text: str, chance: random.Random) -> str:
    tree = ast.parse(text)
    bodies = [
        getattr(node, name)
        for node in ast.walk(tree)
        for name in ("body", "orelse", "finalbody")
        if isinstance(getattr(node, name, None), list) and getattr(node, name)
    ]
    for _ in range(chance.randint(1, 10)):
        body, other, kind = chance.choice(bodies), chance.choice(bodies), chance.random()
        if kind < 0.3 and len(body) > 1:
            body.pop(chance.randrange(len(body)))
        elif kind < 0.6:
            body.insert(chance.randrange(len(body) + 1), chance.choice(other))
        elif kind < 0.8:
            chance.shuffle(body)
        else:
            at = chance.randrange(len(body))
            around = ast.parse(chance.choice(_WRAPPERS)).body[0]
            inner = around.cases[0] if isinstance(around, ast.Match) else around
            inner.body = [body[at]]  # type: ignore[attr-defined]
            body[at] = around
    return ast.unparse(ast.fix_missing_locations(tree))
