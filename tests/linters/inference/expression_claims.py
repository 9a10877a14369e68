"""What the inference says of every expression of a program, beside what the expression gives when the program runs.

Names are judged where they are bound; what stands inside an expression (an item, an attribute, an argument, an operand)
has no name, and is what the rules judge. Ranks, sizes that are numbers, dtypes and libraries are compared: sizes that have
names are those of names, which are judged there.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from tensorlint.inference import analysis
from tensorlint.inference.bindings import Binding
from tensorlint.inference.shown import Returned
from tensorlint.inference.values import Tensor

SEEN = "__seen__"
# What asks for the frame that it stands in, and what may not stand in a call.
_OF_FRAME = frozenset({"super", "locals", "vars", "dir", "eval", "exec", "globals"})
_NOT_WRAPPED = (ast.Slice, ast.Starred, ast.Constant, ast.NamedExpr, ast.Lambda, ast.Yield, ast.YieldFrom, ast.Await)


@dataclass(frozen=True, slots=True)
class Evaluated(Returned):
    """An expression, which has a row as what a function returns has one; `item` is the place."""


def place_of(node: ast.expr) -> str:
    return f"{node.lineno}:{node.col_offset}:{node.end_lineno}:{node.end_col_offset}"


def _noting(cls: Any) -> Any:
    class Noting(cls):
        __slots__ = ()

        def eval(self, node: ast.expr) -> Any:
            value = super().eval(node)
            if self.frame.record and self.file is self.own_file and hasattr(node, "lineno"):
                key = Evaluated(node, place_of(node))  # type: ignore[arg-type]
                if isinstance(value, Tensor) or key in self.bindings or self.rounds is not None:
                    self.note_shown(key, value)
            return value

    return Noting


@contextmanager
def every_expression() -> Iterator[None]:
    """The analysis has a row among the returned for each expression that is a tensor."""
    kept = analysis.Interpreter, analysis.OperatedInterpreter
    analysis.Interpreter, analysis.OperatedInterpreter = map(_noting, kept)  # type: ignore[misc]
    try:
        yield
    finally:
        analysis.Interpreter, analysis.OperatedInterpreter = kept  # type: ignore[misc]


class _Wrap(ast.NodeTransformer):
    """Makes `__seen__(place, expression)` of each expression of which something is claimed."""

    def __init__(self, claims: dict[str, Binding]) -> None:
        self.claims = claims

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_Delete(self, node: ast.Delete) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [self.visit(each) for each in node.body]
        node.args.defaults = [self.visit(each) for each in node.args.defaults]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [self.visit(each) for each in node.body]
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        node.body = [self.visit(each) for each in node.body]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        func = node.func
        if isinstance(func, ast.Attribute):
            func.value = self.visit(func.value)
        elif not isinstance(func, ast.Name):
            node.func = self.visit(func)
        elif func.id in _OF_FRAME:
            return self.wrapped(node)
        node.args = [self.visit(each) for each in node.args]
        for word in node.keywords:
            word.value = self.visit(word.value)
        return self.wrapped(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        node = super().generic_visit(node)
        if not isinstance(node, ast.expr) or isinstance(node, _NOT_WRAPPED):
            return node
        return node if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)) else self.wrapped(node)

    def wrapped(self, node: ast.expr) -> ast.expr:
        place = place_of(node)
        if place not in self.claims:
            return node
        call = ast.Call(ast.Name(SEEN, ast.Load()), [ast.Constant(place), node], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))


def _without_names(row: Binding) -> Binding:
    def sizes(given: Any) -> Any:
        return None if given is None else tuple(size if isinstance(size, int) else "?" for size in given)

    axes = None if row.axes is None else {axis: size for axis, size in row.axes.items() if isinstance(size, int)}
    return replace(row, shape=sizes(row.shape), strides=sizes(row.strides), axes=axes)


def claims_of(source: str, path: Path) -> dict[str, Binding]:
    with every_expression():
        rows = analysis.analyse(ast.parse(source), source, path=str(path)).returns
    return {row.name[len("return[") : -1]: _without_names(row) for row in rows if ":" in row.name}


def wrong_expressions(path: Path, source: str) -> tuple[dict[str, str], int]:
    """What is wrong by the place and the text of the expression, and of how many expressions something is claimed."""
    tracing = importlib.import_module("test_inference_running_models")._tracing()
    claims = claims_of(source, path)
    wrapped = ast.fix_missing_locations(_Wrap(claims).visit(ast.parse(source)))
    tracer = tracing.Tracer(tracing.Claims(False), tracing.Score(), ())
    state = tracing.Frame(tracing.File(), 0)
    wrong: dict[str, str] = {}

    def seen(place: str, value: Any) -> Any:
        frame: FrameType = sys._getframe(1)
        row = claims[place]
        if (
            value is None
            or frame.f_code.co_name in tracing.INNER
            or (row.shape == () and isinstance(value, (int, float)))
        ):
            return value
        compare: Callable[..., str | None] = (
            tracer.compare if isinstance(value, tracer.tensor) else tracer.compare_array
        )
        problem = compare(row, value, state, frame.f_locals)
        if problem:
            first, column, last, end = map(int, place.split(":"))
            text = source.split("\n")[first - 1][column : end if last == first else None]
            wrong.setdefault(f"{first}: {text}", problem)
        return value

    path.write_text(source, encoding="utf-8")
    exec(compile(wrapped, str(path), "exec", dont_inherit=True), {"__name__": __name__, SEEN: seen})
    return wrong, len(claims)
