"""Lists that one block of a loop fills: they have as many items as one another, and what their items have in common in
every round their joined tensors have too.

    for x, y in loader:
        outputs.append(model(x))
        targets.append(y)

`torch.cat(outputs)` and `torch.cat(targets)` are of one length, though nobody knows the length of a single batch, and so
are lists that are extended by `out.tolist()` and `y.tolist()`.
"""

from __future__ import annotations

import ast
from typing import Any, TypeGuard

from tensorlint.inference import sizes as S
from tensorlint.inference.carried_names import added_to_name, passes
from tensorlint.inference.frames import Environment
from tensorlint.inference.kept import kept_with
from tensorlint.inference.names import bound_names
from tensorlint.inference.sizes import Size
from tensorlint.inference.state import State
from tensorlint.inference.values import Sequence, Tensor, Value
from tensorlint.inference.walking import walk

_LEAVING = frozenset([ast.Break, ast.Continue, ast.Return, ast.Try, ast.TryStar])
_FUNCTIONS = frozenset([ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda])
_BLOCKS: dict[type, tuple[str, ...]] = {
    **dict.fromkeys([ast.If, ast.For, ast.AsyncFor, ast.While], ("body", "orelse")),
    **dict.fromkeys([ast.With, ast.AsyncWith, ast.match_case], ("body",)),
    ast.Match: ("cases",),
}
_FOLLOWED = frozenset([ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith])


class FilledLists(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def relate_filled(
        self, node: ast.For | ast.AsyncFor | ast.While, before: Environment, start: int, rounds: Size | None
    ) -> None:
        """Behind a loop: relate the lists whose items before it were known, none as a rule, and that only one block of it adds
        to. `rounds` is how often the loop runs, should nothing leave it."""
        frame = self.frame
        candidates = {
            name for name, held in frame.env.items() if type(held) is Sequence and _is_filled(before.get(name), held)
        }
        if not candidates:
            return
        for body, calls in _filling_blocks(node):
            names = {name: target for name, target in calls if name in candidates and self.is_changed_once(name, node)}
            if not names:
                continue
            every_round = body is node.body and not any(type(part) in _LEAVING for part in _statements(node.body))
            plural = S.of_symbol(S.Symbol(None, plural=True))
            count = rounds if every_round and rounds is not None else plural
            totals: dict[Size, Size] = {}
            for name, target in names.items():
                held = frame.env[name]
                where, item = self.appended.get(target, (None, None))
                assert isinstance(held, Sequence)
                filled = Sequence("list", None, held.element, count)
                if not isinstance(item, Value):  # how many it was extended by
                    filled.length = _total(item, totals, start, count) if where is frame else None
                elif where is frame and isinstance(item, Tensor) and isinstance(held.element, Tensor):
                    filled.totals = _totals(item, held.element, totals, start)
                if first := _count(before.get(name)):
                    filled.totals = None
                    filled.length = None if filled.length is None else S.add(filled.length, first)
                frame.env[name] = filled

    def is_changed_once(self, name: str, node: ast.AST) -> bool:
        """Whether nothing but one `append` or `extend` in the loop changes how many items the list has."""
        return _uses(node).get(name) == 1 and name not in self.captured()

    def captured(self) -> frozenset[str]:
        """The names of the current scope that functions within it may use."""
        key = "captured", self.frame.node
        known = self.memory.get(key)
        if known is None:
            found: set[str] = set()
            code: Any
            for code in walk(self.frame.node):
                kind = type(code)
                if kind in _FUNCTIONS and code is not self.frame.node:
                    spec = code.args
                    own = {each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
                    if kind is not ast.Lambda:
                        own |= bound_names(code.body)
                    found |= {part.id for part in walk(code) if isinstance(part, ast.Name)} - own
            known = self.memory[key] = frozenset(found)
        return frozenset(known)


def _is_filled(before: Value | None, now: Sequence) -> bool:
    """Whether it is a list whose items were known before the loop."""
    if type(before) is not Sequence:
        return False
    return is_own_list(now) and now.items is None and is_own_list(before) and before.items is not None


def _count(before: Value | None) -> int:
    """How many items the list had before the loop."""
    return len(before.items or ()) if isinstance(before, Sequence) else 0


def is_own_list(value: Value | None) -> TypeGuard[Sequence]:
    """Whether it is a list that one name alone holds."""
    return isinstance(value, Sequence) and value.kind == "list" and not value.shared


def _uses(loop: ast.AST) -> dict[str, int]:
    """How often a loop uses each name, but for `len(name)` and for what reads an item, `name[-1]`."""

    def count() -> dict[str, int]:
        found: dict[str, int] = {}
        for part in walk(loop):
            if isinstance(part, ast.Name):
                found[part.id] = found.get(part.id, 0) + 1
            elif isinstance(part, ast.Call) and (name := _counted_by(part)):
                found[name] = found.get(name, 0) - 1
            elif isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
                if isinstance(part.ctx, ast.Load):
                    found[part.value.id] = found.get(part.value.id, 0) - 1
        return found

    return kept_with(loop, "uses of names", count)


def _counted_by(call: ast.Call) -> str:
    """The name in `len(name)`."""
    if len(call.args) != 1 or not isinstance(call.func, ast.Name) or call.func.id != "len":
        return ""
    return call.args[0].id if isinstance(call.args[0], ast.Name) else ""


def _totals(item: Tensor, element: Tensor, totals: dict[Size, Size], start: int) -> dict[int, Size] | None:
    """What the sizes of one round add up to; `totals` are those of the lists before, by the size of one round."""
    if item.shape is None or element.shape is None or len(item.shape) != len(element.shape):
        return None
    found: dict[int, Size] = {}
    for axis, size in enumerate(item.shape):
        if any(atom.since >= start for atom in S.symbols(size)):
            total = _total(size, totals, start)
            if total is not None:
                found[axis] = total
    return found or None


def _total(size: Size | None, totals: dict[Size, Size], start: int, count: Size = 1) -> Size | None:
    """What a size of each round adds up to in `count` rounds."""
    atoms = S.symbols(0 if size is None else size)
    if size is None or any(atom.variant for atom in atoms):
        return None
    if not any(atom.since >= start for atom in atoms):
        return S.multiply(size, count)
    if size not in totals:
        totals[size] = S.of_symbol(S.Symbol(None, plural=True))
    return totals[size]


def _filling_blocks(
    loop: ast.For | ast.AsyncFor | ast.While,
) -> list[tuple[list[ast.stmt], list[tuple[str, ast.Name]]]]:
    """The blocks of a loop that add to names: either all of these lists get items, or none does."""
    found: list[tuple[list[ast.stmt], list[tuple[str, ast.Name]]]] = []
    waiting = [loop.body]
    while waiting:
        body = waiting.pop()
        calls: list[tuple[str, ast.Name]] = []
        left = False
        for statement in body:
            target = _added_to(statement)
            if target is not None and left:
                # The round may have ended between the lists before and this one.
                if calls:
                    found.append((body, calls))
                calls, left = [], False
            if target is not None:
                calls.append((target.id, target))
                continue
            if calls and not left:
                left = any(type(part) in _LEAVING or _may_end(part) for part in _statements([statement]))
            if type(statement) in _FOLLOWED and not _may_end(statement):
                waiting += [getattr(statement, name) for name in _BLOCKS[type(statement)]]
        if calls:
            found.append((body, calls))
    return found


def _may_end(part: ast.AST) -> bool:
    """Whether it is a `with` that may swallow an error, and with it the rest of its block."""
    if not isinstance(part, (ast.With, ast.AsyncWith)):
        return False
    return not all(passes(item.context_expr) for item in part.items)


def _added_to(statement: ast.stmt) -> ast.Name | None:
    if isinstance(statement, ast.AugAssign):
        return (
            statement.target if isinstance(statement.op, ast.Add) and isinstance(statement.target, ast.Name) else None
        )
    call = added_to_name(statement.value) if isinstance(statement, ast.Expr) else None
    return None if call is None else call.func.value  # type: ignore[attr-defined]


def _statements(body: list[ast.stmt]) -> list[ast.AST]:
    """The statements of a block, those of functions, classes and `try` within it left out."""
    found: list[ast.AST] = list(body)
    for part in found:  # grows meanwhile
        for name in _BLOCKS.get(type(part), ()):
            found += getattr(part, name)
    return found
