"""What was found out about a piece of source is kept with its tree: a module is looked at from many others."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def kept_with(tree: ast.AST, name: str, make: Callable[[], T]) -> T:
    """What `make` gave the first time for this tree. It must rest on the tree and its text alone, and stay as it is."""
    place = tree.__dict__
    name = f"tensorlint_{name}"
    if name not in place:
        place[name] = make()
    known: T = place[name]
    return known
