"""The grammar of shape specifications: `"batch seq dim"` into axes.

It is jaxtyping's grammar, because people know it:

    ==============  =========================================================================
    `name`          any size; the same name is the same size wherever it is bound
    `4`             exactly this size; `rows=4` is the same with a label for the reader
    `_`, `_name`    any size, bound to nothing
    `...`           any number of axes (once in a specification)
    `*name`         any number of axes, bound to the name (once in a specification)
    `#name`, `#4`   that size, or 1 (it will be broadcast); `*#name` likewise for many axes
    `2*dim+1`       arithmetic over bound names: + - * / // % ** min max abs and brackets
    ==============  =========================================================================

The empty specification `""` is a scalar: no axes at all.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any, Literal

FUNCTIONS: dict[str, Any] = {"min": min, "max": max, "abs": abs}

_ARITHMETIC = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Load, ast.Constant,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.USub, ast.UAdd,
)  # fmt: skip


class ShapeSpecError(ValueError):
    """A specification that is not in the grammar, or that asks for a name nothing has bound."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One word of a specification. `start` is its column in the text."""

    kind: Literal["any", "size", "name", "expression"]
    word: str
    start: int
    name: str = ""
    size: int = 0
    code: CodeType | None = None
    names: frozenset[str] = frozenset()
    broadcastable: bool = False


@dataclass(frozen=True, slots=True)
class Rest:
    """The word that stands for any number of axes: `...`, `*_` (name "") or `*name`."""

    word: str
    start: int
    name: str
    broadcastable: bool = False


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed specification: `head` axes, then perhaps a `rest`, then `tail` axes.

    `plain` holds the names when every word is a plain name, each used once: the case that must be fast.
    """

    text: str
    head: tuple[Axis, ...]
    rest: Rest | None
    tail: tuple[Axis, ...]
    plain: tuple[str, ...] | None
    rank: int = field(default=0)


@lru_cache(maxsize=4096)
def parse(text: str) -> Spec:
    """Parse a specification. Raises `ShapeSpecError` with one line that says what to write."""
    __tracebackhide__ = True
    if not isinstance(text, str):
        raise ShapeSpecError(f'a shape specification is a string such as "batch dim", not {text!r}')
    head: list[Axis] = []
    tail: list[Axis] = []
    rest: Rest | None = None
    position = 0
    for word in text.split():
        start = text.index(word, position)
        position = start + len(word)
        parsed = _word(text, word, start)
        if isinstance(parsed, Rest):
            if rest is not None:
                raise ShapeSpecError(f'"{text}": only one of ... and *name fits in a specification; this has two')
            rest = parsed
        else:
            (head if rest is None else tail).append(parsed)
    plain: tuple[str, ...] | None = None
    if rest is None and all(axis.kind == "name" and not axis.broadcastable for axis in head):
        names = tuple(axis.name for axis in head)
        if len(set(names)) == len(names):
            plain = names
    return Spec(text, tuple(head), rest, tuple(tail), plain, len(head) + len(tail))


def _word(text: str, word: str, start: int) -> Axis | Rest:
    __tracebackhide__ = True

    def wrong(why: str) -> ShapeSpecError:
        return ShapeSpecError(f'"{text}": {why}')

    if word == "...":
        return Rest(word, start, "")
    if "..." in word:
        raise wrong(f"... stands alone, not inside {word}")
    if "," in word and "(" not in word:
        raise wrong("axes are separated by spaces, not commas")
    body = word
    flags = set()
    while body:
        if body[0] in "#*_?":
            if body[0] in flags:
                raise wrong(f"{word} says {body[0]} twice")
            flags.add(body[0])
            body = body[1:]
        elif body.count("=") == 1:
            body = body.split("=")[1]
        else:
            break
    if "?" in flags:
        raise wrong(
            f"{word} asks for a place in a PyTree, which is known to jaxtyping's PyTree only; write {word.replace('?', '')}"
        )
    broadcastable, anonymous = "#" in flags, "_" in flags
    if not body and not anonymous:
        raise wrong(f"{word} has no name or size")
    if not body or body.isidentifier():
        if anonymous and broadcastable:
            raise wrong(f"{word}: an axis of any size cannot also be broadcastable")
        if "*" in flags:
            return Rest(word, start, "" if anonymous else body, broadcastable)
        if anonymous:
            return Axis("any", word, start)
        return Axis("name", word, start, name=body, broadcastable=broadcastable)
    if anonymous:
        raise wrong(f"{word} is both anonymous and a size; drop the _")
    if "*" in flags:
        raise wrong(f"{word}: * stands before a name, because a size or a sum is one axis")
    try:
        return Axis("size", word, start, size=int(body), broadcastable=broadcastable)
    except ValueError:
        pass
    code, names = _arithmetic(text, word, body)
    return Axis("expression", word, start, code=code, names=names, broadcastable=broadcastable)


def _arithmetic(text: str, word: str, body: str) -> tuple[CodeType, frozenset[str]]:
    """Compile an expression after checking that it is arithmetic over names and nothing else."""
    __tracebackhide__ = True
    try:
        tree = ast.parse(body, mode="eval")
    except SyntaxError:
        raise ShapeSpecError(f'"{text}": {_unreadable(word)}') from None
    functions: set[ast.AST] = set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords:
                raise ShapeSpecError(f'"{text}": {word} may call {", ".join(FUNCTIONS)} and nothing else')
            functions.add(node.func)
        elif isinstance(node, ast.Name) and node not in functions:
            names.add(node.id)
        elif not isinstance(node, _ARITHMETIC) or (isinstance(node, ast.Constant) and type(node.value) is not int):
            raise ShapeSpecError(f'"{text}": {word} is more than arithmetic over axis names')
    return compile(tree, "<shape specification>", "eval"), frozenset(names)


def _unreadable(word: str) -> str:
    """A word that is no Python: mostly one of the grammars of einops or of tuples."""
    if word.endswith(","):
        return "axes are separated by spaces, not commas"
    if word == "->":
        return "-> is no axis: a specification is one shape, so input and output have one each"
    if word.count("(") != word.count(")") or word.count("[") != word.count("]"):
        return f"{word}: brackets group nothing; two axes that became one are written b*t, without spaces"
    return f"{word} is neither a name, a size nor an expression"


def evaluate(axis: Axis, sizes: dict[str, int]) -> Any:
    """The value of an expression axis under these sizes. All of `axis.names` must be bound."""
    assert axis.code is not None
    return eval(axis.code, {"__builtins__": {}, **FUNCTIONS}, {name: sizes[name] for name in axis.names})
