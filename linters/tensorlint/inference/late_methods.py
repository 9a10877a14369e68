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
from tensorlint.inference.names import times_bound
from tensorlint.inference.state import State
from tensorlint.inference.values import UNKNOWN, Class, Library, Value
from tensorlint.inference.walking import walk

if TYPE_CHECKING:
    from tensorlint.inference.frames import Frame

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LONG = 4  # lines of a table
Method = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Body:
    """The statements of a class that are followed where it is defined, the methods that can wait, by their names, and the
    tables, which are followed if the file that is analysed speaks of them."""

    now: list[ast.stmt]
    late: dict[str, Method]
    tables: dict[str, ast.Assign | ast.AnnAssign]


@dataclass(slots=True, eq=False, repr=False)
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

    __slots__ = ()

    def body_of(self, node: ast.ClassDef) -> Body:
        if self.file.own or node.decorator_list or not all(map(self.is_of_abstract_class, node.keywords)):
            return Body(node.body, {}, {})
        return kept_with(node, "body", lambda: _divided(node))

    def is_of_abstract_class(self, keyword: ast.keyword) -> bool:
        """`metaclass=ABCMeta`, which leaves the class as it is written."""
        metaclass = self.eval(keyword.value) if keyword.arg == "metaclass" else UNKNOWN
        return isinstance(metaclass, Library) and metaclass.path == "abc.ABCMeta"

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
    bound = times_bound(others)
    used = {
        part.id
        for each in others
        for part in walk(each)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    }
    for each in node.body:
        if isinstance(each, _FUNCTIONS):
            for expression in (*each.decorator_list, *each.args.defaults, *filter(None, each.args.kw_defaults)):
                used.update(part.id for part in walk(expression) if isinstance(part, ast.Name))
    late = {
        each.name: each
        for each in node.body
        if isinstance(each, _FUNCTIONS)
        and defined[each.name] == 1
        and each.name not in used
        and each.name not in bound
        and _is_plain(each)
    }
    tables: dict[str, ast.Assign | ast.AnnAssign] = {}
    now = []
    for each in node.body:
        name = _table(each)
        if name is not None and name not in used and bound[name] == 1:
            tables[name] = each  # type: ignore[assignment]
        elif not (isinstance(each, _FUNCTIONS) and each.name in late):
            now.append(each)
    return Body(now, late, tables)


def _table(statement: ast.stmt) -> str | None:
    """The name that a long dictionary or list is bound to."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or not isinstance(statement.value, (ast.Dict, ast.List)):
        return None
    target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
    if (isinstance(statement, ast.Assign) and len(statement.targets) > 1) or not isinstance(target, ast.Name):
        return None
    return target.id if (statement.end_lineno or 0) - statement.lineno >= _LONG else None


def _is_plain(node: Method) -> bool:
    """Whether its defaults are the same objects whenever they are evaluated."""
    return all(
        isinstance(part, (ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp, ast.unaryop, ast.expr_context))
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults))
        for part in walk(default)
    )
