"""Sizes that are 1 unless a caller says otherwise: parameters with that default, and the fields that hold them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tensorlint.inference.frames import Frame
from tensorlint.inference.sizes import Size, Symbol, symbols
from tensorlint.inference.walking import walk

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def default_ones(frame: Frame, sizes: Iterable[Size]) -> dict[Symbol, Size]:
    """Those among the sizes, and in their quotients, that are 1 by default."""
    return {atom: 1 for atom in _atoms(sizes) if atom.name is not None and _is_one(frame, atom, atom.name)}


def _atoms(sizes: Iterable[Size]) -> Iterator[Symbol]:
    for size in sizes:
        for atom in symbols(size):
            yield atom
            if atom.numerator is not None and atom.denominator is not None:
                yield from _atoms((atom.numerator, atom.denominator))


def _is_one(frame: Frame, atom: Symbol, name: str) -> bool:
    owner, _, field = name.partition(".")
    if not field:
        code = atom.scope if isinstance(atom.scope, _FUNCTIONS) else frame.node
        return isinstance(code, _FUNCTIONS) and name in _parameters_of_one(code)
    if owner != (frame.first_argument or "self") or frame.owner is None:
        return False
    for method in frame.owner.node.body:
        if isinstance(method, _FUNCTIONS) and method.name == "__init__":
            ones = _parameters_of_one(method)
            return bool(ones) and any(held in ones for held in _held_as(method, owner, field))
    return False


def _parameters_of_one(code: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    spec = code.args
    by_place = [*spec.posonlyargs, *spec.args]
    given = [
        *zip(reversed(by_place), reversed(spec.defaults), strict=False),
        *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
    ]
    return frozenset(
        parameter.arg
        for parameter, default in given
        if isinstance(default, ast.Constant) and type(default.value) is int and default.value == 1
    )


def _held_as(method: ast.FunctionDef | ast.AsyncFunctionDef, own: str, field: str) -> Iterator[str]:
    """The names that the method assigns to the field: `self.heads = heads`, `self.d, self.heads = d, heads`."""
    for statement in walk(method):
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            pairs = [(target, statement.value)]
            if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
                pairs = list(zip(target.elts, statement.value.elts, strict=False))
            for each, value in pairs:
                if isinstance(each, ast.Attribute) and each.attr == field and isinstance(each.value, ast.Name):
                    if each.value.id == own and isinstance(value, ast.Name):
                        yield value.id
