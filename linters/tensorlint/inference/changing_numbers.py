"""Attributes that methods assign anew, and that are numbers all the same: a count, a rate that a schedule sets.

    def warm_up(self, step: int):
        self.rate = 0.8 * math.exp(-0.1 * step)
        self.count += 1

Which of the methods has run nobody knows, but each of them leaves a number, as the initialiser does.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference import numbers
from tensorlint.inference.class_order import functions_of, method_order
from tensorlint.inference.frames import Frame
from tensorlint.inference.inheritance import INITIALISERS
from tensorlint.inference.kept import kept_with
from tensorlint.inference.numbers import Kind
from tensorlint.inference.values import UNKNOWN, Class, Const, Library, Number, Scalar, Value
from tensorlint.inference.walking import BLOCKS

if TYPE_CHECKING:
    from tensorlint.inference.state import State

_HELD = frozenset({Const, Number, Scalar})
_NONE: frozenset[Kind | None] = frozenset()
_TO_ONE = frozenset({ast.AugAssign, ast.AnnAssign})
_PLAIN = frozenset({ast.Expr, ast.Return, ast.Raise, ast.Assert, ast.Pass})
_TYPES: dict[str, Kind] = {"int": "int", "len": "int", "float": "float", "bool": "bool"}
_ANNOTATED: dict[str, Kind] = {"int": "int", "float": "real", "bool": "bool"}  # an int is a float to an annotation


def whenever(interp: State, cls: Class, name: str, held: Value) -> Value | None:
    """What an attribute is in any method, of which the initialiser leaves `held`; None where that need not be a number."""
    begun = numbers.kind_of(held) if type(held) in _HELD else None
    if begun is None or name in interp.file.facts.foreign_attributes:
        return None
    kinds: set[Kind | None] = {begun}
    for base in method_order(cls):
        if isinstance(base, Class):
            if not isinstance(base.scope.node, ast.Module):
                return None
            known = kept_with(base.node, "numbers", lambda base=base: _assigned(base))  # type: ignore[misc]
            kinds |= known.get(name, _NONE)
    if None in kinds or "complex" in kinds:
        return None
    return numbers.of_kind("int") if kinds == {"int"} else Scalar("real")


def _assigned(cls: Class) -> dict[str, set[Kind | None]]:
    """By attribute the kinds of what the methods of a class assign, beside its initialisers; None among them where that
    is not known."""
    found: dict[str, set[Kind | None]] = {}
    for method in functions_of(cls):
        facts = cls.scope.file.facts.scopes.get(method)
        if method.name in INITIALISERS or facts is None or not facts.stored or not method.args.args:
            continue
        first = method.args.args[0].arg
        times = {name: count for (owner, name), count in facts.stored.items() if owner == first}
        waiting: list[ast.AST] = [*method.body] if times else []
        while waiting:
            node = waiting.pop()
            targets: list[ast.expr] = []
            if type(node) is ast.Assign:
                targets = node.targets
            elif type(node) in _TO_ONE:
                targets = [node.target]  # type: ignore[attr-defined]
            elif type(node) not in _PLAIN:
                for field in BLOCKS:
                    waiting += getattr(node, field, ())
            for target in targets:
                if type(target) is ast.Attribute and getattr(target.value, "id", None) == first:
                    name = target.attr
                    times[name] = times.get(name, 0) - 1
                    found.setdefault(name, set()).add(_kind_assigned(node, method, cls.scope))
        for name, left in times.items():
            if left:
                found.setdefault(name, set()).add(None)
    return found


def _kind_assigned(node: ast.AST, method: ast.FunctionDef | ast.AsyncFunctionDef, scope: Frame) -> Kind | None:
    value = node.value if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) else None
    kind = None if value is None else _kind(value, method, scope)
    divided = isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Div, ast.Pow, ast.MatMult))
    return "real" if divided and kind is not None else kind


def _kind(node: ast.expr, method: ast.FunctionDef | ast.AsyncFunctionDef, scope: Frame) -> Kind | None:
    """Which number the expression gives, whatever it is made of."""
    if isinstance(node, ast.Constant):
        return numbers.kind_of(Const(node.value))
    if isinstance(node, ast.UnaryOp):
        return "bool" if isinstance(node.op, ast.Not) else _kind(node.operand, method, scope)
    if isinstance(node, ast.BinOp):
        kinds = {_kind(node.left, method, scope), _kind(node.right, method, scope)}
        if None in kinds or "complex" in kinds or isinstance(node.op, (ast.Pow, ast.MatMult)):
            return None  # a negative number to a fractional power is complex
        return "int" if kinds == {"int"} and not isinstance(node.op, ast.Div) else "real"
    if isinstance(node, ast.IfExp):
        first, second = _kind(node.body, method, scope), _kind(node.orelse, method, scope)
        return first if first == second else "real" if first and second and "complex" not in (first, second) else None
    if isinstance(node, ast.Name):
        return _kind_of_parameter(node.id, method, scope)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        named = node.func.id
        return _TYPES.get(named) if named not in scope.env and named not in scope.facts.assigned else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        module = scope.env.get(node.func.value.id)
        if (
            isinstance(module, Library)
            and module.path == "math"
            and (given := numbers.of_math(node.func.attr)) is not UNKNOWN
        ):
            return numbers.kind_of(given)
    return None


def _kind_of_parameter(name: str, method: ast.FunctionDef | ast.AsyncFunctionDef, scope: Frame) -> Kind | None:
    facts = scope.file.facts.scopes.get(method)
    for each in (*method.args.args, *method.args.kwonlyargs):
        if (
            each.arg == name
            and isinstance(each.annotation, ast.Name)
            and facts is not None
            and not facts.assigned.get(name)
        ):
            return _ANNOTATED.get(each.annotation.id)
    return None
