"""Other ways to write what a program says: the same statements and expressions in other words, at random.

What is changed by `rows.append(x)` is changed by `[rows.append(x) for _ in (1,)]` and `getattr(rows, "append")(x)`, too; what
a name is bound to by `x = y` it is bound to by `for x in [y]: pass`. The programs need not do the same as before: they are
judged by running them.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Container

HEAD = "import contextlib, functools, operator\n"

CALLED = r"""
{} if len("a") else 0 | len("a") and {} | [{} for _ in (1,)] | (lambda: {})() | _ = [{}, 1] | _ = {}
for _ in [{}]: pass | if {} is None: pass | while {} is None: break | assert {} is not HEAD | match {}:\n    case _: pass
with contextlib.nullcontext({}): pass | try: {}\nfinally: pass | if len("a"): {} | for _ in (1,): {} | _ = {{1: {}}} | f"{{{}!s:.0}}"
def _f(): return {}\n_f() | class _C:\n    _ = {} | with contextlib.suppress(KeyError): {} | any([{}]) | (lambda _=1: {})() | _ = ({},)
_ = {} or 1 | not {} | try:\n    raise KeyError\nexcept KeyError: {}
"""
NAMED = r"""
{}, = ({},) | ({} := {}) | for {} in [{}]: pass | [{}] = [{}] | with contextlib.nullcontext({1}) as {0}: pass | {}: object = {}
*_, {} = (0, {}) | {} = [{}][0] | {} = {{"k": {}}}["k"] | {} = ({},)[-1] | match {1}:\n    case {0}: pass | {} = next(iter([{}]))
{} = {} if len("a") else None | _ = {} = {} | {}, _ = {}, 0 | {} = (lambda: {})() | {} = functools.reduce(lambda _, y: y, [0, {}])
if len("a"): {} = {} | for _ in (1,): {} = {} | try: {} = {}\nfinally: pass | {} = [_ for _ in [{}]][0] | {} = max([{}], key=id)
{0} = None\n{0} = {1} | (_, {}), _ = (0, {}), 1 | {} = [{}].pop() | {} = {} or 0 | {} = functools.partial(lambda _: _, {})()
"""
ATTRIBUTES = r"""
setattr({o}, "{a}", {v}) | {o}.__setattr__("{a}", {v}) | {o}.{a}, = ({v},) | for {o}.{a} in [{v}]: pass | {o}.{a}: object = {v}
with contextlib.nullcontext({v}) as {o}.{a}: pass | [setattr({o}, "{a}", {v}) for _ in (1,)] | object.__setattr__({o}, "{a}", {v})
_ = {o}.{a} = {v} | (lambda _: setattr(_, "{a}", {v}))({o}) | _ = {o}; _.{a} = {v}
if len("a"): {o}.{a} = {v} | *_, {o}.{a} = 0, {v} | _ = {v}; {o}.{a} = _
"""
ITEMS = r"""
{o}.__setitem__({i}, {v}) | operator.setitem({o}, {i}, {v}) | {o}[{i}], = ({v},) | for {o}[{i}] in [{v}]: pass | _ = {o}[{i}] = {v}
with contextlib.nullcontext({v}) as {o}[{i}]: pass | [{o}.__setitem__({i}, {v}) for _ in (1,)] | _ = {o}; _[{i}] = {v}
(lambda _: _.__setitem__({i}, {v}))({o}) | if len("a"): {o}[{i}] = {v} | getattr({o}, "__setitem__")({i}, {v}) | _ = {v}; {o}[{i}] = _
"""


def _lines(text: str) -> list[str]:
    return [each.strip().replace("\\n", "\n") for line in text.strip().split("\n") for each in line.split(" | ")]


_CALLED, _NAMED, _ATTRIBUTES, _ITEMS = map(_lines, (CALLED, NAMED, ATTRIBUTES, ITEMS))
_WITHIN = (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.Starred)


def _keeps_its_scope(node: ast.AST) -> bool:
    """Whether it may stand in a lambda or a comprehension as it stands here."""
    for part in ast.walk(node):
        if isinstance(part, _WITHIN) or (
            isinstance(part, ast.Name) and part.id in ("super", "locals", "vars", "_", "__class__")
        ):
            return False
    return True


def _parsed(text: str) -> list[ast.stmt] | None:
    try:
        return ast.parse(text).body
    except SyntaxError:  # quotes in quotes
        return None


class _Reword(ast.NodeTransformer):
    """Each place has chances of its own: what becomes of it does not hang on what became of another one."""

    def __init__(self, seed: int, share: float, only: Container[str] | None = None) -> None:
        self.seed, self.share, self.only = seed, share, only
        self.in_class = False
        self.places: dict[str, str] = {}

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outer, self.in_class = self.in_class, True
        node.body = [part for each in node.body for part in self._listed(each)]
        self.in_class = outer
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer, self.in_class = self.in_class, False
        node.body = [part for each in node.body for part in self._listed(each)]
        self.in_class = outer
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def _listed(self, node: ast.stmt) -> list[ast.stmt]:
        made = self.visit(node)
        return made if isinstance(made, list) else [made]

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return node

    def _may(self, node: ast.AST) -> bool:
        place = f"{type(node).__name__} {node.lineno}:{node.col_offset}-{node.end_lineno}:{node.end_col_offset}"  # type: ignore[attr-defined]
        if self.in_class or (self.only is not None and place not in self.only) or not _keeps_its_scope(node):
            return False
        self.chance = random.Random(f"{self.seed} {place}")
        if self.chance.random() >= self.share:
            return False
        self.places[place] = ast.unparse(node)
        return True

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        if isinstance(node.value, ast.Call) and self._may(node):
            form = self.chance.choice(_CALLED).replace("{}", "\0").replace("{{", "{").replace("}}", "}")
            return _parsed(form.replace("\0", ast.unparse(node.value))) or node
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        if len(node.targets) != 1 or not self._may(node):
            return self.generic_visit(node)
        target, value = node.targets[0], ast.unparse(node.value)
        if isinstance(target, ast.Name):
            return _parsed(self.chance.choice(_NAMED).format(target.id, value)) or node
        if isinstance(target, ast.Attribute):
            words = {"o": ast.unparse(target.value), "a": target.attr, "v": value}
            return _parsed(self.chance.choice(_ATTRIBUTES).format(**words)) or node
        if isinstance(target, ast.Subscript) and not any(
            isinstance(part, ast.Slice) for part in ast.walk(target.slice)
        ):
            words = {"o": ast.unparse(target.value), "i": ast.unparse(target.slice), "v": value}
            return _parsed(self.chance.choice(_ITEMS).format(**words)) or node
        return self.generic_visit(node)


def reworded(source: str, seed: int, only: Container[str] | None = None) -> tuple[str, dict[str, str]] | None:
    """The program in other words, and what was reworded by its place, `only` at these places; None where nothing came of it
    that compiles."""
    reword = _Reword(seed, random.Random(seed).choice([0.05, 0.15, 0.4]), only)
    try:
        text = ast.unparse(ast.fix_missing_locations(reword.visit(ast.parse(source))))
        future = [line for line in text.split("\n") if line.startswith("from __future__")]
        text = "\n".join([*future, HEAD, *(line for line in text.split("\n") if line not in future)])
        compile(text, "<reworded>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return text, reword.places
