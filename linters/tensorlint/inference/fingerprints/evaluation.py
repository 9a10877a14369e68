"""From an expression to a `Value`, each looked at once; here its attributes and subscripts, through classes."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from tensorlint.inference.fingerprints import dates
from tensorlint.inference.fingerprints import vocabulary as words
from tensorlint.inference.fingerprints.bindings import Bindings
from tensorlint.inference.fingerprints.classes import ClassFacts, last_name, self_name
from tensorlint.inference.fingerprints.values import (
    UNKNOWN,
    Trait,
    Value,
    joined,
    traits_of,
)

_DEPTH = 60
_NOWHERE = 1 << 30


def _place(node: ast.AST) -> tuple[int, int]:
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


class Evaluator(Bindings):
    """Values of the expressions of one file. An expression in evaluation is unknown to itself."""

    def value(self, node: ast.expr | None) -> Value:
        if node is None:
            return UNKNOWN
        known = self._values.get(node) or self._provisional.get(node)
        if known is not None:
            return known
        depth = self._active.get(node)
        if depth is not None or len(self._active) > _DEPTH:
            self._reaches = min(self._reaches, depth or 0)
            return UNKNOWN
        outer, self._reaches = self._reaches, _NOWHERE
        self._active[node] = here = len(self._active)
        try:
            found = self._evaluate(node)
        finally:
            del self._active[node]
        # What rests on an expression that is still being evaluated holds for this question only.
        if self._reaches >= here:
            self._values[node] = found
        else:
            self._provisional[node] = found
        self._reaches = min(outer, self._reaches)
        if not self._active:
            self._provisional.clear()
            self._reaches = _NOWHERE
            self._values[node] = found
        return found

    def _evaluate(self, node: ast.expr) -> Value:
        method = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if method is not None:
            found: Value = method(node)
            return found
        return self.mixed(node)

    # Attributes and subscripts

    def _of_attribute(self, node: ast.Attribute) -> Value:
        base = self.value(node.value)
        if base.kind == "module":
            dotted = f"{base.dotted}.{node.attr}"
            if dotted in words.VALUES_THAT_DIFFER:
                return Value("unknown", (Trait("M6", f"{dotted} is another in every run", node),))
            if dotted == "sys.argv":
                return Value("sequence", varies=True)
            if dotted == "os.environ":
                return Value("module", varies=True, dotted=dotted)
            return Value("module", dotted=dotted)
        return self.attribute(base, node.attr, node)

    def attribute(self, base: Value, name: str, at: ast.AST) -> Value:
        if base.kind == "instance" and isinstance(base.node, ast.ClassDef):
            return self.instance_attribute(base, name, at)
        if base.kind == "class" and isinstance(base.node, ast.ClassDef):
            facts = self.classes.facts(base.node)
            if name in facts.methods:
                if name in facts.of_class:
                    return Value("bound", node=facts.methods[name], owner=base)
                return Value("function", node=facts.methods[name], dotted=f"{base.node.name}.{name}")
            return self.value(facts.constants[name]) if facts.constants.get(name) is not None else UNKNOWN
        if base.kind == "settings":
            if name in words.RANK_ATTRIBUTES:
                return Value("constant", (Trait("M6", f".{name} differs between ranks", at, rank=True),), True)
            for field, value in base.fields or ():
                if field == name:
                    return value
            return Value("constant", varies=True)
        if base.kind == "dataset":
            if name == "column_names":
                few = base.columns is not None and len(base.columns) < 2
                return Value("sequence", elements="few" if few else "strings")
            return UNKNOWN
        if name in words.RANK_ATTRIBUTES and base.kind == "external":
            return Value("constant", (Trait("M6", f".{name} differs between ranks", at, rank=True),), True)
        traits = () if base.kind == "generator" else dates.at_most(base.traits, dates.of_member(name, None))
        return Value("unknown", traits, base.varies)

    def instance_attribute(self, base: Value, name: str, at: ast.AST | None = None) -> Value:
        assert isinstance(base.node, ast.ClassDef)
        facts = self.classes.facts(base.node)
        if name in facts.methods:
            method = facts.methods[name]
            if name in facts.static:
                return Value("function", node=method, dotted=f"{base.node.name}.{name}")
            if name in facts.properties:
                return self.returned(method)
            return Value("bound", node=method, owner=base)
        if name not in facts.settings and base.dotted == "self":
            heir = self.classes.only_heir(base.node, name)  # `self` is one of those, where the method is called
            if heir is not None:
                return self.instance_attribute(replace(base, node=heir), name, at)
        given = dict(base.arguments)
        values: list[Value] = []
        if facts.is_dataclass and name in given:
            return given[name]
        assumed = self._assumed.get((base.node, name))
        if assumed is not None:
            self._reaches = 0  # it holds for this question only
            return assumed
        made, remade = self._remade(facts.attributes.get(name, ()), name)
        values += [self.value(expression) for expression in made]
        if not values and name in facts.constants:
            values.append(self._class_constant(facts, name))
        if name in words.RANK_ATTRIBUTES and not values:
            trait = Trait("M6", f".{name} differs between ranks", base.node, rank=True)
            return Value("constant", (trait,), True)
        found = joined(values) if values else UNKNOWN
        if name in facts.put:  # `self.stats["start"] = time.time()`
            put = traits_of(self.value(expression) for expression in facts.put[name])
            found = found.with_traits(trait for trait in put if trait.trigger in ("M3", "M6", "M7"))
        if remade and found.kind == "unknown" and not found.traits and self._is_dataset_by_name(name):
            named = self._with_remade(base.node, name, Value("dataset", dotted="parameter"), remade, at)
            return named if named.parents else found
        return self._with_remade(base.node, name, found, remade, at) if found.kind == "dataset" else found

    def _remade(self, expressions: Iterable[ast.expr], name: str) -> tuple[list[ast.expr], list[ast.expr]]:
        """What an attribute is made from, and what it is made into later: `self.rows = self.rows.shuffle()`."""
        made: list[ast.expr] = []
        remade: list[ast.expr] = []
        for expression in expressions:
            (remade if self._reads_itself(expression, name) else made).append(expression)
        return made, remade

    def _reads_itself(self, expression: ast.expr, name: str) -> bool:
        function = self.names.enclosing_function(expression)
        own = self_name(function) if function is not None else ""
        node: ast.AST = expression
        while isinstance(node, (ast.Call, ast.Subscript, ast.Attribute)):
            if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Name):
                return node.value.id == own
            node = node.func if isinstance(node, ast.Call) else node.value
        return False

    def _with_remade(
        self, node: ast.ClassDef, name: str, value: Value, remade: list[ast.expr], at: ast.AST | None
    ) -> Value:
        """What an attribute holds at a place: with the draws of the statements that ran before it."""
        before = [expression for expression in remade if at is not None and self._runs_before(expression, at)]
        for expression in sorted(before, key=self._order):
            self._assumed[node, name] = value
            try:
                result = self.value(expression)
            finally:
                del self._assumed[node, name]
            if result.kind == "dataset":
                parents = tuple(dict.fromkeys((*value.parents, *result.parents)))
                is_dict = result.is_dict if result.is_dict == value.is_dict else None
                value = replace(result, parents=parents, is_dict=is_dict)
        return value

    def _order(self, expression: ast.expr) -> tuple[bool, tuple[int, int]]:
        function = self.names.enclosing_function(expression)
        return (function is None or function.name != "__init__", _place(expression))

    def _runs_before(self, expression: ast.expr, at: ast.AST) -> bool:
        """Whether a statement of one method is seen to run before a place in the same or another method."""
        first, second = self.names.enclosing_function(expression), self.names.enclosing_function(at)
        if first is None or second is None:
            return False
        if first is second:
            return _place(self._statement_of(expression)) < _place(self._statement_of(at))
        if first.name == "__init__":
            return True
        for call in self._seen_calls(first):
            caller = self.names.enclosing_function(call)
            if caller is second and _place(call) < _place(at):
                return True
            for later in self._seen_calls(second):
                if _place(call) < _place(later) and self.names.enclosing_function(later) is caller:
                    return True
        return False

    def _seen_calls(self, method: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.Call]:
        """Calls of a method on what is known to have it."""
        return [call for call in self.calls_of(method) if self.value(call.func).node is method]

    def _statement_of(self, node: ast.AST) -> ast.AST:
        while not isinstance(node, ast.stmt) and node in self.names.parents:
            node = self.names.parents[node]
        return node

    def _class_constant(self, facts: ClassFacts, name: str) -> Value:
        expression = facts.constants[name]
        if expression is None:
            return Value("unknown", varies=facts.is_dataclass)
        if isinstance(expression, ast.Call) and last_name(expression.func) in ("field", "Field", "attrib"):
            for keyword in expression.keywords:
                if keyword.arg in ("default_factory", "factory"):
                    made = ast.Call(func=keyword.value, args=[], keywords=[])
                    ast.copy_location(made, keyword.value)
                    if isinstance(keyword.value, ast.Lambda):
                        return self.value(keyword.value.body)
                    return self.called(self.value(keyword.value), made)
                if keyword.arg == "default":
                    return self.value(keyword.value)
            return Value("unknown", varies=False)
        return self.value(expression)

    def _of_subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if base.kind == "module" and base.dotted == "os.environ" and isinstance(key, str):
            return self.environment(key, node)
        if base.kind == "dataset":
            return self._of_dataset_item(base, node.slice, key)
        if base.kind in ("dict", "settings") and base.fields is not None and isinstance(key, str):
            for field, value in base.fields:
                if field == key:
                    return self._item_of_name(node.value, value)
        if base.kind == "dict" and base.parts and all(part.kind == "dataset" for part in base.parts):
            return self._item_of_name(node.value, joined(list(base.parts)))
        if (
            base.kind == "sequence"
            and base.parts
            and isinstance(key, int)
            and -len(base.parts) <= key < len(base.parts)
        ):
            return base.parts[key]
        index = self.value(node.slice)
        if base.kind in ("dict", "settings") and not all(value.traits for _, value in base.fields or ()):
            return Value("unknown", index.traits, base.varies or index.varies)  # which entry that is, nobody knows
        return Value("unknown", traits_of([base, index]), base.varies or index.varies)

    def _item_of_name(self, holder: ast.expr, value: Value) -> Value:
        scope = self.names.resolve(holder.id, self.names.scope_at[holder]) if isinstance(holder, ast.Name) else None
        if scope is None or value.kind != "dataset" or not isinstance(holder, ast.Name):
            return value
        return self.with_stored(holder.id, scope, value, holder)

    def _of_dataset_item(self, base: Value, where: ast.expr, key: object) -> Value:
        if isinstance(key, int) or isinstance(where, ast.Slice):
            return UNKNOWN
        if base.is_dict is False or (base.columns is not None and isinstance(key, str) and key in dict(base.columns)):
            elements = dict(base.columns or ()).get(key, "unknown") if isinstance(key, str) else "unknown"
            return Value("sequence", elements=elements)
        return replace(base, is_dict=False)
