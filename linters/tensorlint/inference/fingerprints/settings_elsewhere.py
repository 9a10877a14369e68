"""Objects of settings whose class another module of the project defines: what their fields hold is read there.

The class is hashed by its name, the fields of its object by their values.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tensorlint.inference.fingerprints.classes import last_name
from tensorlint.inference.fingerprints.own_modules import OwnModules
from tensorlint.inference.fingerprints.scopes import Names
from tensorlint.inference.fingerprints.values import UNKNOWN, Value

if TYPE_CHECKING:
    from tensorlint.inference.fingerprints.evaluation import Evaluator

# How such an object is told from a namespace.
ELSEWHERE = "an object of another module's class"


class SettingsElsewhere:
    """Finds and reads them, each module once."""

    def __init__(self, modules: OwnModules, evaluator: type[Evaluator]) -> None:
        self._modules = modules
        self._evaluator = evaluator
        self._evaluators: dict[ast.Module, Evaluator] = {}

    def made(self, call: ast.Call, here: Callable[[ast.expr], Value]) -> Value | None:
        """The object that the call makes; None where it is no call of such a class, or not all of it is seen. `here`
        gives the values of the call's arguments."""
        found = self._modules.class_of(call.func)
        if found is None:
            return None
        tree, cls = found
        if tree not in self._evaluators:
            self._evaluators[tree] = self._evaluator(Names(tree))
        there = self._evaluators[tree]
        facts = there.classes.facts(cls)
        # Who has methods does more than hold settings, or says itself what is hashed of it.
        if facts.foreign_bases or cls.keywords or not facts.methods.keys() <= {"__init__", *facts.properties}:
            return None
        fields_of_class = set(_annotated(tree, cls, there)) if facts.is_dataclass else set()
        given = {word.arg: here(word.value) for word in call.keywords}
        if facts.is_dataclass:
            names = [name for name in facts.constants if name in fields_of_class]
            given |= dict(zip(names, map(here, call.args), strict=False))
        elif call.args or given or not _takes_nothing(facts.methods.get("__init__")):
            return None
        if None in given or any(isinstance(each, ast.Starred) for each in call.args):
            return None
        fields = []
        for name in sorted(facts.state):
            if name not in fields_of_class and not _made_at_once(
                facts.attributes.get(name, []), facts.methods.get("__init__")
            ):
                continue
            held = given.get(name) or there.instance_attribute(Value("instance", node=cls), name)
            fields.append((name, _seen_from(held, call)))
        varies = any(value.varies for _, value in fields)
        return Value("settings", (), varies, dotted=ELSEWHERE, fields=tuple(fields), node=call)


def _annotated(tree: ast.Module, cls: ast.ClassDef, there: Evaluator) -> Iterator[str]:
    """The fields of a dataclass: what it, or one that it derives from, gives a type that is not the class's own."""
    for each in ast.walk(tree):
        if isinstance(each, ast.ClassDef) and there.classes.is_one_of(cls, each):
            for statement in each.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    if last_name(statement.annotation) != "ClassVar":
                        yield statement.target.id


def _takes_nothing(initialiser: ast.AST | None) -> bool:
    """Whether it has no parameters but the object."""
    if not isinstance(initialiser, ast.FunctionDef):
        return False
    spec = initialiser.args
    return len(spec.posonlyargs) + len(spec.args) == 1 and not (spec.vararg or spec.kwarg or spec.kwonlyargs)


def _made_at_once(expressions: list[ast.expr], initialiser: ast.AST | None) -> bool:
    """Whether the initialiser assigns one of them, in whatever branch: methods may not have been called."""
    if initialiser is None:
        return False
    inside = {id(each) for each in ast.walk(initialiser)}
    return any(id(each) in inside for each in expressions)


def _seen_from(value: Value, call: ast.Call) -> Value:
    """The value with what moves it placed at the call, as its own place is in the other file."""
    if value.kind not in ("constant", "unknown", "sequence", "set", "frozenset", "generator"):
        return replace(UNKNOWN, varies=value.varies)
    traits = tuple(replace(trait, node=call) for trait in value.traits)
    return Value("constant", traits, value.varies)
