"""What was found out about a piece of source is kept with its tree: a module is looked at from many others."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
# The attribute of the tree by the name of what is kept: a text that is put together anew is looked up in twice the time.
_KEYS: dict[str, str] = {}


def kept_with(tree: ast.AST, name: str, make: Callable[[], T]) -> T:
    """What `make` gave the first time for this tree. It must rest on the tree and its text alone, and stay as it is."""
    place = tree.__dict__
    key = _KEYS.get(name) or _KEYS.setdefault(name, f"tensorlint_{name}")
    if key in place:
        known: T = place[key]
    else:
        known = place[key] = make()
    return known


def lines_of(tree: ast.AST, text: str) -> list[str]:
    """The lines of the text that the tree was parsed from, without their ends."""
    return kept_with(tree, "lines", lambda: text.split("\n"))
