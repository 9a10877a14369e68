"""What a row of `tensorlint shapes` stands beside: a name, an attribute, or a `return`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

Kind = Literal["name", "attribute", "return"]


@dataclass(frozen=True, slots=True)
class _Place:
    """A statement or an expression of the source, which `node` is."""

    node: ast.stmt | ast.expr

    @property
    def lineno(self) -> int:
        return self.node.lineno

    @property
    def col_offset(self) -> int:
        return self.node.col_offset

    @property
    def end_lineno(self) -> int | None:
        return self.node.end_lineno


@dataclass(frozen=True, slots=True)
class Stored(_Place):
    """Where an object's attribute gets a tensor: `self.weight = ...`, `self.register_buffer("mask", ...)`."""

    owner: ast.expr
    name: str


@dataclass(frozen=True, slots=True)
class Returned(_Place):
    """Where a function gives a tensor back; of a tuple, which of its items it is."""

    item: int | None = None


Shown = ast.Name | Stored | Returned


def written(target: Shown) -> str:
    """`x`, `self.weight`, `return`, `return[1]`."""
    if isinstance(target, Returned):
        return "return" if target.item is None else f"return[{target.item}]"
    return target.id if isinstance(target, ast.Name) else f"{ast.unparse(target.owner)}.{target.name}"


def kind_of(target: Shown) -> Kind:
    if isinstance(target, ast.Name):
        return "name"
    return "attribute" if isinstance(target, Stored) else "return"


def has_name(node: ast.expr) -> bool:
    """Whether it is a name, or an attribute of an object that has one: `self.stem`, not `rows[0]`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
