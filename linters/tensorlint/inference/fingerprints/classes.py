"""What a class of the file holds: its methods, its class attributes and what its methods put on `self`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from tensorlint.inference.fingerprints.scopes import FunctionNode, Names

_MAY_BE_EMPTY = (ast.Constant,)


@dataclass(slots=True, eq=False, repr=False)
class ClassFacts:
    """`attributes` are the expressions assigned to `self.name`; `constants` those of the class body."""

    node: ast.ClassDef
    methods: dict[str, FunctionNode] = field(default_factory=dict)
    static: set[str] = field(default_factory=set)
    of_class: set[str] = field(default_factory=set)
    properties: set[str] = field(default_factory=set)
    attributes: dict[str, list[ast.expr]] = field(default_factory=dict)
    constants: dict[str, ast.expr | None] = field(default_factory=dict)
    put: dict[str, list[ast.expr]] = field(default_factory=dict)  # by `__init__` into what `self.name` holds
    foreign_bases: list[str] = field(default_factory=list)
    is_dataclass: bool = False

    @property
    def state(self) -> set[str]:
        """Names of what an instance carries in its `__dict__`."""
        held = set(self.attributes)
        if self.is_dataclass:
            held |= set(self.constants)
        return held

    @property
    def settings(self) -> set[str]:
        """Names a reader would call settings: instance state and the class's own values."""
        return self.state | set(self.constants)


def last_name(node: ast.expr) -> str:
    """`Trainer` of `transformers.Trainer` and of `Trainer[int]`."""
    if isinstance(node, ast.Subscript):
        return last_name(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call):
        return last_name(node.func)
    return node.id if isinstance(node, ast.Name) else ""


def self_name(function: FunctionNode) -> str:
    positional = [*function.args.posonlyargs, *function.args.args]
    return positional[0].arg if positional else ""


class Classes:
    """Facts of every class of the file, found on demand."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._known: dict[ast.ClassDef, ClassFacts] = {}
        self._all = [node for node in names.scope_of if isinstance(node, ast.ClassDef)]

    def facts(self, node: ast.ClassDef) -> ClassFacts:
        if node not in self._known:
            self._known[node] = ClassFacts(node)  # stands while a base that is the class itself is looked up
            self._known[node] = self._collect(node)
        return self._known[node]

    def _collect(self, node: ast.ClassDef) -> ClassFacts:
        facts = ClassFacts(node)
        for base in node.bases:
            inherited = self._class_called(base, node)
            if inherited is None:
                facts.foreign_bases.append(last_name(base))
                continue
            above = self.facts(inherited)
            facts.methods |= above.methods
            facts.static |= above.static
            facts.of_class |= above.of_class
            facts.properties |= above.properties
            facts.attributes |= {name: list(found) for name, found in above.attributes.items()}
            facts.put |= {name: list(found) for name, found in above.put.items()}
            facts.constants |= above.constants
            facts.foreign_bases += above.foreign_bases
            facts.is_dataclass |= above.is_dataclass
        decorators = {last_name(decorator) for decorator in node.decorator_list}
        facts.is_dataclass |= bool(decorators & {"dataclass", "define", "frozen", "attrs"})
        facts.is_dataclass |= bool({"NamedTuple", "BaseModel"} & set(facts.foreign_bases))
        for statement in node.body:
            self._collect_statement(facts, statement)
        return facts

    def _collect_statement(self, facts: ClassFacts, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = {last_name(decorator) for decorator in statement.decorator_list}
            facts.methods[statement.name] = statement
            if "staticmethod" in decorators:
                facts.static.add(statement.name)
                return
            if "classmethod" in decorators:
                facts.of_class.add(statement.name)
                return
            if decorators & {"property", "cached_property"}:
                facts.properties.add(statement.name)
            self._collect_self(facts, statement)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    facts.constants[target.id] = statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if last_name(statement.annotation) != "ClassVar" or statement.value is not None:
                facts.constants[statement.target.id] = statement.value

    def _collect_self(self, facts: ClassFacts, method: FunctionNode) -> None:
        own = self_name(method)
        for node in ast.walk(method):
            pairs: list[tuple[ast.expr, ast.expr | None]] = []
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(node.value, (ast.Tuple, ast.List)):
                        pairs += zip(target.elts, node.value.elts, strict=False)
                    elif isinstance(target, (ast.Tuple, ast.List)):
                        pairs += [(element, node.value) for element in target.elts]
                    else:
                        pairs.append((target, node.value))
            elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
                pairs.append((node.target, node.value))
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                pairs.append((node.optional_vars, node.context_expr))
            for target, value in pairs:
                if (
                    isinstance(target, ast.Subscript)
                    and getattr(method, "name", "") == "__init__"
                    and value is not None
                ):
                    held = target.value
                    if isinstance(held, ast.Attribute) and isinstance(held.value, ast.Name) and held.value.id == own:
                        facts.put.setdefault(held.attr, []).append(value)
                named = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
                if named and value is not None and target.value.id == own:  # type: ignore[attr-defined]
                    facts.attributes.setdefault(target.attr, []).append(value)  # type: ignore[attr-defined]

    def _class_called(self, base: ast.expr, node: ast.ClassDef) -> ast.ClassDef | None:
        if isinstance(base, ast.Subscript):
            base = base.value
        if not isinstance(base, ast.Name):
            return None
        scope = self._names.resolve(base.id, self._names.scope_at.get(base, self._names.module))
        if scope is None:
            return None
        last = scope.bindings[base.id][-1].node
        return last if isinstance(last, ast.ClassDef) and last is not node else None

    def only_heir(self, node: ast.ClassDef, name: str) -> ast.ClassDef | None:
        """The class of the file that derives from this one and has a method of that name; None where several do."""
        heirs = [
            each
            for each in self._all
            if each is not node and self.is_one_of(each, node) and name in self.facts(each).methods
        ]
        return heirs[0] if len(heirs) == 1 else None

    def is_one_of(self, node: ast.ClassDef | None, other: ast.ClassDef | None) -> bool:
        """Whether a class is another one of the file, or derives from it."""
        return other is not None and node is not None and other in self._line(node, set())

    def _line(self, node: ast.ClassDef, seen: set[ast.ClassDef]) -> set[ast.ClassDef]:
        if node not in seen:
            seen.add(node)
            for base in node.bases:
                above = self._class_called(base, node)
                if above is not None:
                    self._line(above, seen)
        return seen

    def reads(self, root: ast.AST, own: str, node: ast.ClassDef) -> set[str] | None:
        """Attributes of `own` that `root` reads, through the methods it calls; None if `own` goes elsewhere whole."""
        found: set[str] = set()
        for use in self._uses(root, own, node):
            above = self._names.parents.get(use)
            if not isinstance(above, ast.Attribute):
                return None
            found.add(above.attr)
        return found

    def reads_of(self, attribute: str, root: ast.AST, own: str, node: ast.ClassDef) -> set[str] | None:
        """Fields of `own.attribute` that `root` reads, as `own.attribute.field`; None if it goes elsewhere whole."""
        found: set[str] = set()
        for use in self._uses(root, own, node):
            held = self._names.parents.get(use)
            if not isinstance(held, ast.Attribute) or held.attr != attribute:
                continue
            above = self._names.parents.get(held)
            if isinstance(above, ast.Attribute):
                found.add(above.attr)
            elif isinstance(above, ast.Subscript) and above.value is held and isinstance(above.slice, ast.Constant):
                found.add(str(above.slice.value))
            else:
                return None
        return found

    def _uses(self, root: ast.AST, own: str, node: ast.ClassDef) -> Iterator[ast.Name]:
        """The places where `root`, or a method of the class that it calls, reads the name of the object."""
        facts = self.facts(node)
        pending: list[tuple[ast.AST, str]] = [(root, own)]
        seen: set[int] = set()
        while pending:
            body, name = pending.pop()
            if id(body) in seen:
                continue
            seen.add(id(body))
            for part in ast.walk(body):
                if not isinstance(part, ast.Name) or part.id != name or not isinstance(part.ctx, ast.Load):
                    continue
                yield part
                above = self._names.parents.get(part)
                if isinstance(above, ast.Attribute):
                    method = facts.methods.get(above.attr)
                    if method is not None and above.attr not in facts.static:
                        pending.append((method, self_name(method)))
