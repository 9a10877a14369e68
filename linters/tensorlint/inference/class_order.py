"""The order in which a class's own attributes and those of its bases are looked for, and what they are.

The order is Python's: https://docs.python.org/3/howto/mro.html
"""

from __future__ import annotations

import ast
from collections.abc import Set

from tensorlint.inference.values import Class, Function, Library, Value

# Methods that give what an object has no attribute for.
ANSWERING = frozenset({"__getattr__", "__getattribute__"})


def method_order(cls: Class) -> tuple[Value, ...]:
    """The class and its bases, in order; a base of which only the name is known stands for itself alone."""
    if cls.order is None:
        cls.order = (cls,)  # of a class that derives from itself, which Python refuses
        parts = [method_order(base) if isinstance(base, Class) else (base,) for base in cls.bases]
        # That of one base is kept as it is: merging would take the square of its length for each class.
        cls.order = (cls, *(parts[0] if len(parts) == 1 else _merged([list(part) for part in (*parts, cls.bases)])))
    return cls.order


def names_among(cls: Class, names: Set[str]) -> set[str]:
    """Those of the names that the class or one of its bases has."""
    return {name for base in method_order(cls) if isinstance(base, Class) for name in names & base.held.keys()}


def values_of(cls: Class) -> set[str]:
    """The attributes of the class and its bases that are no functions: those of an object that has none of its own."""
    return {
        name
        for base in method_order(cls)
        if isinstance(base, Class)
        for name, value in base.held.items()
        if not isinstance(value, Function)
    }


def functions_of(cls: Class) -> set[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of the class's body, with those whose name another has taken: a property and its setter."""
    own = (each for each in cls.node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return {*cls.methods.values(), *own}


def _merged(parts: list[list[Value]]) -> list[Value]:
    """The bases, each before its own bases, and as they are written where that leaves a choice."""
    found: list[Value] = []
    waiting = [part for part in parts if part]
    while waiting:
        heads = [part[0] for part in waiting]
        tails = {_key(base) for part in waiting for base in part[1:]}
        first = next((head for head in heads if _key(head) not in tails), heads[0])
        found.append(first)
        key = _key(first)
        waiting = [rest for part in waiting if (rest := [base for base in part if _key(base) != key])]
    return found


def _key(base: Value) -> object:
    return base.path if isinstance(base, Library) else id(base)
