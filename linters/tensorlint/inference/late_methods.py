"""Methods of other files' classes that are made when something asks for them.

A model's base class may have two hundred methods of which a file meets five. What a `def` in a class body makes does not
depend on when it is made, as long as its defaults are plain, nothing else in the body binds its name, and nothing there
reads it.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorlint.inference.demands import ALWAYS
from tensorlint.inference.kept import kept_with
from tensorlint.inference.names import bound_names
from tensorlint.inference.state import State
from tensorlint.inference.values import UNKNOWN, Class, Value
from tensorlint.inference.walking import walk

if TYPE_CHECKING:
    from tensorlint.inference.frames import Frame

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Method = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a class that are followed where it is defined, and the methods that can wait, by their names."""

    now: list[ast.stmt]
    late: dict[str, Method]


@dataclass(slots=True)
class LateMethods:
    """The methods of one class that have not been made yet."""

    maker: Any  # the interpreter
    frame: Frame
    methods: dict[str, Method]

    def make(self, name: str) -> Value:
        made: Value = self.maker.late_method(self.frame, self.methods.pop(name))
        return made


class MethodMaking(State):
    """Mixed into the interpreter."""

    def body_of(self, node: ast.ClassDef) -> Body:
        if self.file.own or node.keywords or node.decorator_list:
            return Body(node.body, {})
        return kept_with(node, "body", lambda: _divided(node))

    def late_method(self, frame: Frame, node: Method) -> Value:
        outer = (self.frame, self.file, self.conditional)
        self.frame, self.file, self.conditional = frame, frame.file, 0
        self.depth += 1
        try:
            self.block([node], ALWAYS)
        finally:
            self.depth -= 1
            self.frame, self.file, self.conditional = outer
        return frame.env.get(node.name, UNKNOWN)


def wait_in(maker: State, cls: Class, frame: Frame, late: dict[str, Method]) -> None:
    """Leave the methods to be made when something first asks for them."""
    waiting = {name: node for name, node in late.items() if name not in frame.facts.shared and name not in frame.env}
    for node in late.values():
        if node.name not in waiting:
            maker.block([node], ALWAYS)
    if waiting:
        cls.late = LateMethods(maker, frame, waiting)
        cls.methods.update(waiting)


def _divided(node: ast.ClassDef) -> Body:
    defined = Counter(each.name for each in node.body if isinstance(each, _FUNCTIONS))
    others = [each for each in node.body if not isinstance(each, _FUNCTIONS)]
    used = bound_names(others)
    for each in others:
        used.update(part.id for part in walk(each) if isinstance(part, ast.Name))
    for each in node.body:
        if isinstance(each, _FUNCTIONS):
            for expression in (*each.decorator_list, *each.args.defaults, *filter(None, each.args.kw_defaults)):
                used.update(part.id for part in walk(expression) if isinstance(part, ast.Name))
    late = {
        each.name: each
        for each in node.body
        if isinstance(each, _FUNCTIONS) and defined[each.name] == 1 and each.name not in used and _is_plain(each)
    }
    return Body([each for each in node.body if not (isinstance(each, _FUNCTIONS) and each.name in late)], late)


def _is_plain(node: Method) -> bool:
    """Whether its defaults are the same objects whenever they are evaluated."""
    return all(
        isinstance(part, (ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp, ast.unaryop, ast.expr_context))
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults))
        for part in walk(default)
    )
