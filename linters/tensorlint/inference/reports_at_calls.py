"""What goes wrong in a function of another file, because of what it is given here: reported at the call.

The other file is right for what it expects, and nothing is reported there; the line to change is the one that calls.
"""

from __future__ import annotations

import ast
import copy
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tensorlint.inference.frames import Frame
from tensorlint.inference.hazards import Hazard
from tensorlint.inference.kept import kept_with, lines_of
from tensorlint.inference.state import State
from tensorlint.inference.values import Tensor, Value
from tensorlint.inference.walking import walk


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalledFrom:
    """The statement of another file that is looked at, and the call of this file that led there. `place` stands for both;
    `arguments` are the call's, with the values that the parameters still hold, by their ids; `calls` are those that led to
    it, `caller` is where it stands."""

    place: ast.AST
    words: str
    path: str
    line: int
    lines: list[str]
    arguments: dict[int, tuple[Value, ast.expr]]
    calls: list[ast.AST | None]
    caller: Frame


class ReportsAtCalls(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def start_reports_at_calls(self) -> None:
        self.called_from_here = None
        self.places_at_calls = {}
        self.operations_elsewhere = {}

    def report_at_call(self, handler: Callable[..., None], node: ast.AST, facts: dict[str, Any]) -> None:
        """Let the handler look at a node of another file, if a call of this file led there."""
        frame: Frame | None = self.frame
        function = getattr(self.frame.node, "name", None)
        calls = list(self.trail)
        callee, call = None, None
        while frame is not None and not frame.file.own and calls:
            callee, call = frame, calls.pop()
            frame = frame.caller
        if frame is None or not frame.file.own or callee is None or call is None or function is None:
            return
        if not (isinstance(call, ast.expr) and hasattr(call, "lineno") and hasattr(node, "lineno")):
            return
        place = self.places_at_calls.get((call, node))
        if place is None:
            place = self.places_at_calls[call, node] = copy.copy(call)
            self.operations_elsewhere[id(place)] = id(node)
        file = self.file
        self.called_from_here = CalledFrom(
            place,
            f"in {function} ({_shown_path(file.path, self.own_file.path)}:{node.lineno})",
            file.path,
            node.lineno,
            lines_of(file.tree, file.text),
            _arguments(call, callee),
            calls,
            frame,
        )
        try:
            handler(self, node, facts)
        finally:
            self.called_from_here = None

    def reported_place(self, node: ast.AST) -> ast.AST:
        """The node that a report of this one is about."""
        return node if self.called_from_here is None else self.called_from_here.place

    def at_call(self, hazard: Hazard) -> Hazard:
        """The hazard with the place of the statement that it comes from."""
        here = self.called_from_here
        if here is None:
            return hazard
        return replace(hazard, node=here.place, within=here.words, elsewhere=(here.path, here.line))

    def written_as(self, node: ast.expr | None, tensor: Tensor) -> ast.expr | None:
        """The operand as the reader has it: of another file's parameter, the argument."""
        here = self.called_from_here
        return node if here is None else here.arguments.get(id(tensor), (tensor, node))[1]

    def made_in_call(self, tensor: Tensor) -> ast.expr | None:
        """The expression in the call of another file's function that made the tensor: `y[:, None]` of `energy((y[:, None], z))`."""
        here, made = self.called_from_here, tensor.made
        if here is None or not isinstance(made, ast.expr):
            return None
        return made if any(each is made for each in walk(here.place)) else None

    def is_of_own_tree(self, node: ast.AST) -> bool:
        tree = self.own_file.tree
        return id(node) in kept_with(tree, "nodes", lambda: frozenset(map(id, walk(tree))))


def _arguments(call: ast.AST, callee: Frame) -> dict[int, tuple[Value, ast.expr]]:
    """What the parameters hold, with the expressions that gave it, where each is written for one of them."""
    if not isinstance(call, ast.Call) or not isinstance(callee.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return {}
    spec = callee.node.args
    names = [each.arg for each in (*spec.posonlyargs, *spec.args)]
    if callee.owner is not None and not any(
        isinstance(each, ast.Name) and each.id == "staticmethod" for each in callee.node.decorator_list
    ):
        names = names[1:]
    given: dict[str, ast.expr] = {}
    for name, argument in zip(names, call.args, strict=False):
        if isinstance(argument, ast.Starred):
            break
        given[name] = argument
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    held = ((callee.env[name], argument) for name, argument in given.items() if name in callee.env)
    return {id(value): (value, argument) for value, argument in held}


def _shown_path(path: str, beside: str) -> str:
    """The path from the folder of the file that is read."""
    try:
        shown = os.path.relpath(path, os.path.dirname(beside) or ".")
    except ValueError:  # on another drive
        shown = os.path.basename(path)
    return shown.replace(os.sep, "/")
