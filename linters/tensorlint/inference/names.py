"""Which names a scope binds, and how often: what decides whether a name may stand for one size or one object.

Statements only are walked, not expressions, so that the pass costs little beside parsing.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from tensorlint.inference import puts_within
from tensorlint.inference.distant_changes import DistantChanges, parts_for
from tensorlint.inference.kept import kept_with
from tensorlint.inference.shape_changes import SHAPES, gives_other_shapes, lines_giving_shapes
from tensorlint.inference.walking import children, parameters_of, walk
from tensorlint.inference.words import has_part, has_word

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
INITIALISERS = frozenset({"__init__", "__post_init__", "__new__"})


@dataclass(slots=True, eq=False, repr=False)
class ScopeFacts:
    """`assigned` counts how often each name is bound; a binding in a loop counts twice. `shared` names are declared
    global or nonlocal somewhere below; `is_generator` says that calling the function gives an iterator."""

    # Plain dicts: a Counter takes ten times as long to make, and `bound_names` makes facts of every branch and loop.
    assigned: dict[str, int] = field(default_factory=dict)
    textual: dict[str, int] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    is_generator: bool = False
    stored: dict[tuple[str, str], int] = field(default_factory=dict)
    """How often there is (name, attribute) of a `name.attribute = ...` in the scope and in the functions within it, or of
    `name.register_buffer("attribute", ...)`."""

    by_key: set[str] = field(default_factory=set)
    """Names that are bound as `globals()["name"] = ...`."""

    stored_within: set[tuple[str, str]] = field(default_factory=set)
    """Those of the functions within it alone."""

    changed: set[str] = field(default_factory=set)
    """The attributes of self whose layers an initialiser changes: `self.layers.append(...)`, `self.conv.stride = 2`."""

    def is_stable(self, name: str) -> bool:
        """Bound once, and nobody else rebinds it: a closure that runs later sees that one object."""
        return self.assigned.get(name, 0) <= 1 and name not in self.shared


@dataclass(slots=True, eq=False, repr=False)
class FileFacts:
    """Facts of a whole file: the scopes by node, and the attributes that are assigned outside initialisers."""

    scopes: dict[ast.AST, ScopeFacts] = field(default_factory=dict)
    unstable_attributes: set[str] = field(default_factory=set)
    # Attributes that are assigned to something that is not called `self`: `model.norm = nn.Identity()`.
    foreign_attributes: set[str] = field(default_factory=set)
    # The lines where one of these is assigned that gives a tensor another shape: `for rows.shape in shapes`.
    shaping: list[int] = field(default_factory=list)
    # Of these, what a container of layers does not tell of itself, as it does of `layers.add_module("norm", ...)`.
    foreign_members: set[str] = field(default_factory=set)
    distant: DistantChanges = field(default_factory=DistantChanges)
    statements: int = 0
    # (torch, relu) of `torch.relu = mine`, and the names that imports bind.
    stored_below: set[tuple[str, str]] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)
    # Names that `:=` binds, in whichever scope.
    named: set[str] = field(default_factory=set)
    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    # Whether the text has a `:=`: expressions are looked into only then.
    has_named: bool = False
    # Where an error of the body may be caught.
    guards: list[ast.Try | ast.TryStar | ast.With | ast.AsyncWith] = field(default_factory=list)

    def library_attributes(self) -> frozenset[str]:
        """Attributes of imported modules and of what is in them that the file assigns."""
        return frozenset(name for root, name in self.stored_below if root in self.imported)


# Names bound within an expression, and a `yield` that is not a statement of its own: found in the text, since looking
# into every expression takes as long as parsing.
_NAME_BEFORE = re.compile(r"(\w+)\s*$")
_YIELDED = re.compile(r"[=(]\s*yield\b")


def _named(text: str) -> set[str]:
    found: set[str] = set()
    at = text.find(":=")
    while at >= 0:
        start = max(text.rfind("\n", 0, at) + 1, 0)
        name = _NAME_BEFORE.search(text, start, at)
        # Of a name that stands on the line before, the whole text is looked at.
        found |= {name[1]} if name else set(re.findall(r"(\w+)\s*:=", text))
        at = text.find(":=", at + 2)
    return found


def collect(tree: ast.Module, text: str | None = None) -> FileFacts:
    """The facts of a file; kept with its tree, since a module is looked at from many others.

    `text` is its source, which shows what the expressions bind.
    """
    return kept_with(tree, "facts", lambda: _collected(tree, text))


def _collected(tree: ast.Module, text: str | None) -> FileFacts:
    known = FileFacts()
    walked = _Walk(known)
    walked.scope(tree, tree.body, initialiser=True)
    if text is not None and ":=" in text:
        known.has_named = True
        known.named = _named(text)
        for name in known.named:
            for scope in known.scopes.values():
                # In whichever scope, and how often, is not looked at.
                scope.assigned[name] = scope.assigned.get(name, 0) + 2
                if name in scope.textual:  # what a statement gave the name is not what it holds to the end
                    scope.textual[name] += 1
    if text is not None and (within := puts_within.lines_within(text, known.distant.said)):
        puts_within.note_puts_within(known.distant, known.scopes, within, walked.set_by_name)
    known.distant.finish(tree, text)
    if text is not None and (known.shaping or gives_other_shapes(text)):
        lines = sorted({*known.shaping, *lines_giving_shapes(text)})
        if lines:
            known.distant.turned(known.scopes, lines)
    if text is not None and any(has_part(text, each) for each in ("_forward_hook", "_forward_pre_hook")):
        known.distant.hooks(tree)
    if text is not None and has_word(text, "yield") and _YIELDED.search(text):
        for node, scope in known.scopes.items():
            if not scope.is_generator and isinstance(node, FunctionNode):
                scope.is_generator = _yields(node)
    by_name = text is not None and ('"cell_contents"' in text or "'cell_contents'" in text)
    if "cell_contents" in known.foreign_attributes or by_name:  # which binds the name of a closure anew
        for node, scope in known.scopes.items():
            if isinstance(node, FunctionNode):
                scope.shared.update(scope.assigned, parameters_of(node.args))
    return known


def _yields(function: ast.AST) -> bool:
    waiting = [function]
    while waiting:
        for child in children(waiting.pop()):
            if isinstance(child, (ast.Yield, ast.YieldFrom)):
                return True
            if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Name)):
                waiting.append(child)
    return False


# Expressions that give an object that something else holds.
_STAND_FOR = frozenset({
    ast.Attribute, ast.Subscript, ast.Name, ast.Tuple, ast.List, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Call,
})  # fmt: skip
_SETTERS = frozenset(
    {"add_module", "register_module", "set_submodule", "register_buffer", "register_parameter", "__setattr__"}
)


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


_WITHOUT_NAMES = frozenset([ast.Return, ast.Raise, ast.Assert, ast.Pass, ast.Break, ast.Continue])


class _Walk:
    def __init__(self, facts: FileFacts) -> None:
        self.facts = facts
        self.in_class = False

    def scope(self, node: ast.AST, body: list[ast.stmt], *, initialiser: bool) -> ScopeFacts:
        scope = self.facts.scopes[node] = ScopeFacts()
        distant = self.facts.distant
        outer = distant.waiting, distant.own, distant.aliases
        distant.waiting, distant.own, distant.aliases = [], set(), {}
        imports = len(self.facts.imports)
        self.block(scope, body, 1, initialiser)
        if len(self.facts.imports) > imports:
            self.imported_and_bound(scope, body)
        free = distant.leave(node)
        scope.changed = distant.own
        distant.waiting, distant.own, distant.aliases = outer
        distant.waiting += free
        for name in scope.shared:
            for other in self.facts.scopes.values():
                other.shared.add(name)
        return scope

    def imported_and_bound(self, scope: ScopeFacts, body: list[ast.stmt]) -> None:
        """`from lib import make`, and `def make` further on: two objects, where `try: import` and its stand-in are one."""
        names: set[str] = set()
        for statement in body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                names.update([(alias.asname or alias.name).partition(".")[0] for alias in statement.names])
            elif not names or type(statement) is ast.Expr:
                continue
            elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if statement.name in names:
                    self.bind(scope, statement.name, 1, textual=False)
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name) and target.id in names:
                        self.bind(scope, target.id, 1, textual=False)

    def block(self, scope: ScopeFacts, body: list[ast.stmt], weight: int, initialiser: bool) -> None:
        facts = self.facts
        facts.statements += len(body)
        for statement in body:
            kind = type(statement)
            if kind is ast.Assign:
                if type(statement.value) is ast.Call:  # type: ignore[attr-defined]
                    facts.distant.taken(statement.value, initialiser)  # type: ignore[attr-defined]
                for target in statement.targets:  # type: ignore[attr-defined]
                    if type(target) is ast.Name:  # as most are
                        self.bind(scope, target.id, weight)
                        if type(statement.value) in _STAND_FOR:  # type: ignore[attr-defined]
                            facts.distant.stands_for(target.id, statement.value)  # type: ignore[attr-defined]
                    else:
                        self.target(scope, target, weight, initialiser, statement.value)  # type: ignore[attr-defined]
            elif kind in _WITHOUT_NAMES:
                if kind is ast.Return and type(statement.value) is ast.Call:  # type: ignore[attr-defined]
                    facts.distant.taken(statement.value, initialiser)  # type: ignore[attr-defined]
            elif kind is ast.AnnAssign or kind is ast.AugAssign:
                # What is changed in place is itself afterwards.
                value = statement.target if kind is ast.AugAssign else statement.value  # type: ignore[attr-defined]
                self.target(scope, statement.target, weight, initialiser and kind is ast.AnnAssign, value)  # type: ignore[attr-defined]
                if type(value) in _STAND_FOR and type(statement.target) is ast.Name:  # type: ignore[attr-defined]
                    facts.distant.stands_for(statement.target.id, value)  # type: ignore[attr-defined]
                if kind is ast.AugAssign:
                    facts.distant.augmented(statement.target, statement.value, initialiser)  # type: ignore[attr-defined]
            elif kind is ast.Expr:
                value = statement.value  # type: ignore[attr-defined]
                if type(value) is ast.Call:
                    self.set_by_name(scope, value, initialiser)
                    facts.distant.call(value, initialiser)
                elif type(value) is ast.Yield or type(value) is ast.YieldFrom:
                    scope.is_generator = True
            elif kind is ast.If:
                self.block(scope, statement.body, weight, initialiser)  # type: ignore[attr-defined]
                if statement.orelse:  # type: ignore[attr-defined]
                    self.block(scope, statement.orelse, weight, initialiser)  # type: ignore[attr-defined]
            elif kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
                self.bind(scope, statement.name, weight)  # type: ignore[attr-defined]
                inner = self.scope(statement, statement.body, initialiser=statement.name in INITIALISERS)  # type: ignore[attr-defined]
                for place, times in inner.stored.items():
                    scope.stored[place] = scope.stored.get(place, 0) + times
                scope.stored_within.update(inner.stored)
            elif kind is ast.ClassDef:
                self.bind(scope, statement.name, weight)  # type: ignore[attr-defined]
                outer, self.in_class = self.in_class, True
                inner = self.scope(statement, statement.body, initialiser=initialiser)  # type: ignore[attr-defined]
                for place, times in inner.stored.items():
                    scope.stored[place] = scope.stored.get(place, 0) + times
                scope.stored_within.update(inner.stored)
                self.in_class = outer
            elif kind is ast.For or kind is ast.AsyncFor:
                self.target(scope, statement.target, 2, initialiser)  # type: ignore[attr-defined]
                if type(statement.iter) in _STAND_FOR and type(statement.target) is ast.Name:  # type: ignore[attr-defined]
                    facts.distant.stands_for(statement.target.id, statement.iter)  # type: ignore[attr-defined]
                self.block(scope, statement.body, 2, initialiser)  # type: ignore[attr-defined]
                self.block(scope, statement.orelse, weight, initialiser)  # type: ignore[attr-defined]
            elif kind is ast.While:
                self.block(scope, statement.body, 2, initialiser)  # type: ignore[attr-defined]
                self.block(scope, statement.orelse, weight, initialiser)  # type: ignore[attr-defined]
            elif kind is ast.With or kind is ast.AsyncWith:
                facts.guards.append(statement)  # type: ignore[arg-type]
                for item in statement.items:  # type: ignore[attr-defined]
                    if item.optional_vars is not None:
                        self.target(scope, item.optional_vars, weight, initialiser)
                self.block(scope, statement.body, weight, initialiser)  # type: ignore[attr-defined]
            elif kind is ast.Try or kind is ast.TryStar:
                facts.guards.append(statement)  # type: ignore[arg-type]
                self.block(scope, statement.body, weight, initialiser)  # type: ignore[attr-defined]
                for handler in statement.handlers:  # type: ignore[attr-defined]
                    if handler.name:
                        self.bind(scope, handler.name, weight)
                    self.block(scope, handler.body, weight, initialiser)
                self.block(scope, statement.orelse, weight, initialiser)  # type: ignore[attr-defined]
                self.block(scope, statement.finalbody, weight, initialiser)  # type: ignore[attr-defined]
            elif kind is ast.Import or kind is ast.ImportFrom:
                facts.imports.append(statement)  # type: ignore[arg-type]
                for alias in statement.names:  # type: ignore[attr-defined]
                    name = (alias.asname or alias.name).partition(".")[0]
                    facts.imported.add(name)
                    self.bind(scope, name, 0, textual=False)
            elif kind is ast.Global or kind is ast.Nonlocal:
                scope.shared.update(statement.names)  # type: ignore[attr-defined]
            elif kind is ast.Match:
                for case in statement.cases:  # type: ignore[attr-defined]
                    for part in walk(case.pattern):
                        name = getattr(part, "name", None) or getattr(part, "rest", None)
                        if isinstance(name, str):
                            self.bind(scope, name, weight)
                    self.block(scope, case.body, weight, initialiser)
            elif kind is ast.Delete:
                for target in statement.targets:  # type: ignore[attr-defined]
                    self.target(scope, target, weight, initialiser)

    def bind(self, scope: ScopeFacts, name: str, weight: int, textual: bool = True) -> None:
        scope.assigned[name] = scope.assigned.get(name, 0) + weight
        if textual:
            scope.textual[name] = scope.textual.get(name, 0) + 1

    def set_by_name(self, scope: ScopeFacts, call: ast.Call, initialiser: bool) -> None:
        """`setattr(model, "norm", ...)`, `model.add_module("norm", ...)`."""
        func = call.func
        if isinstance(func, ast.Attribute):
            if func.attr not in _SETTERS or not call.args:
                return
            name, owner = call.args[0], func.value
            if isinstance(owner, ast.Name) and isinstance(name, ast.Constant) and isinstance(name.value, str):
                scope.stored[owner.id, name.value] = scope.stored.get((owner.id, name.value), 0) + 1
                if not initialiser:
                    self.facts.unstable_attributes.add(name.value)
            if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")) and not _is_super(owner):
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    self.facts.foreign_attributes.update(name.value.split("."))
                    if func.attr != "add_module":
                        self.facts.foreign_members.update(name.value.split("."))
                    if func.attr == "__setattr__":
                        self.facts.unstable_attributes.add(name.value)
        elif isinstance(func, ast.Name) and func.id == "setattr" and len(call.args) == 3:
            owner, name = call.args[0], call.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
                    self.facts.foreign_attributes.add(name.value)
                    self.facts.foreign_members.add(name.value)
                    self.facts.unstable_attributes.add(name.value)

    def target(
        self, scope: ScopeFacts, target: ast.expr, weight: int, initialiser: bool, value: ast.expr | None = None
    ) -> None:
        kind = type(target)
        if kind is ast.Name:
            self.bind(scope, target.id, weight)  # type: ignore[attr-defined]
        elif kind is ast.Attribute:
            facts, owner, name = self.facts, target.value, target.attr  # type: ignore[attr-defined]
            if not initialiser:
                facts.unstable_attributes.add(name)
            direct = type(owner) is ast.Name
            if not (direct and self.in_class and owner.id in ("self", "cls")):
                facts.foreign_attributes.add(name)
                facts.foreign_members.add(name)
                if name in SHAPES:
                    facts.shaping.append(target.lineno)
                facts.distant.attribute(target, value, initialiser)  # type: ignore[arg-type]
            if direct:
                place = (owner.id, name)
                scope.stored[place] = scope.stored.get(place, 0) + 1
                facts.stored_below.add(place)
            else:
                while type(owner) is ast.Attribute:
                    owner = owner.value
                if type(owner) is ast.Name:
                    facts.stored_below.add((owner.id, name))
        elif kind is ast.Subscript:
            self.facts.distant.item(target, value, initialiser)  # type: ignore[arg-type]
        elif kind is ast.Tuple or kind is ast.List:
            for element, part in zip(target.elts, parts_for(target, value), strict=True):  # type: ignore[arg-type,attr-defined]
                self.target(scope, element, weight, initialiser, part)
        elif kind is ast.Starred:
            self.target(scope, target.value, weight, initialiser)  # type: ignore[attr-defined]


# Whether the file that is looked at has a `:=`.
_NAMES_IN_EXPRESSIONS = [False]


def begin(facts: FileFacts) -> None:
    """Another file is looked at."""
    _NAMES_IN_EXPRESSIONS[0] = facts.has_named


def bound_names(body: list[ast.stmt]) -> set[str]:
    """The names that a block may bind, nested blocks included, nested functions not."""
    return set(times_bound(body))


def times_bound(body: list[ast.stmt]) -> dict[str, int]:
    """The names that a block may bind, and how often each; in a loop or within an expression counts twice."""
    scope = ScopeFacts()
    _Walk(FileFacts()).block(scope, body, 1, True)
    found = scope.assigned
    if _NAMES_IN_EXPRESSIONS[0]:
        for statement in body:
            found.update((part.target.id, 2) for part in walk(statement) if isinstance(part, ast.NamedExpr))
    return found
