"""Layers that expressions put into a container: `flag and self.blocks.append(layer)`, `map(layers.append, found)`.

What statements of their own change is read off these, with all else that they tell. Most expressions change nothing, so
that only those are looked at whose lines have the name of a method which changes a container, more often than statements
have it there.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Protocol, TypeVar

from tensorlint.inference.distant_changes import (
    MEMBERS,
    PERHAPS_MEMBERS,
    PUTS,
    PUTS_OR_SETS,
    DistantChanges,
    functions_around,
    innermost_functions,
    speaks_of_layers,
)
from tensorlint.inference.walking import children
from tensorlint.inference.words import is_of_word, places_of, words_of


class _Facts(Protocol):
    changed: set[str]
    stored: dict[tuple[str, str], int]
    stored_within: set[tuple[str, str]]


FactsT = TypeVar("FactsT", bound=_Facts)

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BY_NAME = frozenset({"setattr", "delattr", "__setattr__"})


def lines_within(text: str, said: Mapping[int, int]) -> set[int]:
    """The lines on which a name of a method that changes a container stands more often than `said`."""
    found: Counter[int] = Counter()
    speaks = speaks_of_layers(text)
    for word in words_of(text) & ({*PUTS_OR_SETS, *_BY_NAME, "register_parametrization"} if speaks else _BY_NAME):
        line, counted = 1, 0
        for at in places_of(word, text):
            before, behind = text[at - 1 : at], text[at + len(word) : at + len(word) + 1]
            # A method, or its name in `getattr(layers, "append")`; setattr is a function of its own.
            if (
                is_of_word(behind)
                or is_of_word(before)
                or (before not in (".", '"', "'") and word not in _BY_NAME and word in PUTS_OR_SETS)
            ):
                continue
            line += text.count("\n", counted, at)
            counted = at
            found[line] += 1
    return {line for line, times in found.items() if times > said.get(line, 0)}


def note_puts_within(
    distant: DistantChanges,
    scopes: Mapping[ast.AST, FactsT],
    lines: set[int],
    set_by_name: Callable[[FactsT, ast.Call, bool], None],
) -> None:
    """What expressions on these lines change, of all scopes of a file. `set_by_name` looks at a call for an attribute that it
    sets."""
    functions = [scope for scope in scopes if isinstance(scope, _FUNCTIONS)]
    around = functions_around(functions)
    module = next(scope for scope in scopes if isinstance(scope, ast.Module))
    for function in (*innermost_functions(functions, sorted(lines)), module):
        initialiser = getattr(function, "name", "") in ("__init__", "__post_init__", "__new__")
        distant.own = set()
        for node, in_lambda in _expressions(function, lines):
            at_once = initialiser and not in_lambda  # which runs when it is called, if it is
            _note(distant, node, at_once)
            if isinstance(node, ast.Call):
                set_by_name(scopes[function], node, at_once)
        scopes[function].changed |= distant.own
        # What the function does not bind is of one around it.
        for scope in (function, *around.get(function, ())):
            if distant.waiting:
                distant.waiting = distant.leave(scope)
            if scope is not function:
                outer, stored = scopes[scope], scopes[function].stored
                outer.stored = {**stored, **outer.stored}
                outer.stored_within.update(stored)
    distant.own, distant.waiting = set(), []


def _note(distant: DistantChanges, node: ast.expr, initialiser: bool) -> None:
    if isinstance(node, ast.Attribute):
        if node.attr in PUTS:  # `map(layers.append, found)`
            distant.change(node.value, PERHAPS_MEMBERS, initialiser)
        return
    assert isinstance(node, ast.Call)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name == "getattr" and len(node.args) > 1 and _is_text(node.args[1:], PUTS):
        distant.change(node.args[0], PERHAPS_MEMBERS, initialiser)
    elif name == "methodcaller" and _is_text(node.args, PUTS):
        distant.anywhere.add(MEMBERS)
    elif not (name in ("pop", "update") and _is_text(node.args)):
        distant.call(node, initialiser)


def _expressions(
    scope: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef, lines: set[int]
) -> Iterator[tuple[ast.expr, bool]]:
    """The calls on these lines, and the methods that are named and not called, but for calls that are statements; with each,
    whether it stands in a lambda."""
    waiting: list[ast.AST] = [*scope.body]
    statements: set[ast.AST] = set()
    called: set[ast.AST] = set()
    in_lambda: set[ast.AST] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Expr):
            statements.add(node.value)
        if isinstance(node, ast.Call):
            called.add(node.func)
            if node not in statements and not lines.isdisjoint(
                range(node.lineno, (node.end_lineno or node.lineno) + 1)
            ):
                yield node, node in in_lambda
        elif isinstance(node, ast.Attribute) and node not in called and node.end_lineno in lines:
            yield node, node in in_lambda
        if not isinstance(node, _FUNCTIONS):
            within = children(node)
            waiting += within
            if isinstance(node, ast.Lambda) or node in in_lambda:
                in_lambda.update(within)


def _is_text(given: list[ast.expr], words: Container[str] | None = None) -> bool:
    """Whether the first argument is a text, one of `words`."""
    text = given[0].value if given and isinstance(given[0], ast.Constant) else None
    return isinstance(text, str) and (words is None or text in words)
