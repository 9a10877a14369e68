"""What a name is bound to where it is read: the bindings that reach the place, and what was done to the object since."""

from __future__ import annotations

import ast
from dataclasses import replace

from tensorlint.inference.fingerprints import vocabulary as words
from tensorlint.inference.fingerprints.displays import Displays
from tensorlint.inference.fingerprints.scopes import Binding, Scope
from tensorlint.inference.fingerprints.stored_entries import after_fields, after_stores
from tensorlint.inference.fingerprints.values import (
    CONSTANT,
    UNKNOWN,
    Trait,
    Value,
    joined,
)


class Bindings(Displays):
    """Names."""

    def _of_name(self, node: ast.Name) -> Value:
        scope = self.names.resolve(node.id, self.names.scope_at.get(node, self.names.module))
        if scope is None:
            return Value("module", dotted=node.id)
        return self.named(node.id, scope, node)

    def named(self, name: str, scope: Scope, at: ast.AST | None) -> Value:
        """What `name` of `scope` is bound to where `at` is evaluated; where that is elsewhere, at the end."""
        key = (name, id(scope), id(at) if at is not None and self.names.scope_at.get(at) is scope else 0)
        if key in self._named_active:
            self._reaches = 0
            return UNKNOWN
        self._named_active.add(key)
        try:
            bindings, start = self._reaching(name, scope, at)
            found = joined([self._bound(binding, scope) for binding in bindings])
        finally:
            self._named_active.discard(key)
        return self._after_methods(name, scope, found, start, at)

    def bindings_at(self, node: ast.Name) -> list[Binding]:
        """What may have given the name the value that it has at `node`."""
        scope = self.names.resolve(node.id, self.names.scope_at.get(node, self.names.module))
        return self._reaching(node.id, scope, node)[0] if scope is not None else []

    def _reaching(self, name: str, scope: Scope, at: ast.AST | None) -> tuple[list[Binding], tuple[int, int]]:
        bindings = sorted(scope.bindings.get(name, []), key=lambda binding: binding.place)
        if at is not None and self._runs_in(at, scope):
            place = self._statement_place(at)
            before = [binding for binding in bindings if binding.place < place]
            bindings = before or bindings
        first = 0
        for position, binding in enumerate(bindings):
            if not binding.conditional and binding.how != "augmented":
                first = position
        kept = bindings[first:]
        return kept, kept[0].place if kept else (0, 0)

    def _runs_in(self, at: ast.AST, scope: Scope) -> bool:
        here: Scope | None = self.names.scope_at.get(at)
        while here is not None and isinstance(here.node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            here = here.parent
        return here is scope

    def _statement_place(self, at: ast.AST) -> tuple[int, int]:
        node: ast.AST = at
        while not isinstance(node, (ast.stmt, ast.Lambda)) and node in self.names.parents:
            node = self.names.parents[node]
        if isinstance(node, (ast.If, ast.For, ast.While, ast.With, ast.AsyncFor, ast.AsyncWith, ast.Lambda)):
            node = at
        return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))

    def _after_methods(
        self, name: str, scope: Scope, value: Value, start: tuple[int, int], at: ast.AST | None
    ) -> Value:
        """`labels.sort()` takes the hash order away; an unseeded `random.shuffle(labels)` brings another."""
        if value.kind == "dataset":
            return self.with_stored(name, scope, value, at)
        if value.kind in ("function", "class", "module"):
            return value
        if value.kind == "dict" or (value.kind == "unknown" and value.traits):
            value = after_stores(self, name, scope, value, start, at)
        elif value.kind == "settings" and name in self.stored_fields:
            value = after_fields(self, name, scope, value, start, at)
        for loop in self.filled_in_loops.get(name, ()):
            if self.names.resolve(name, self.names.scope_at[loop]) is scope:
                value = value.with_traits(self.ordered(self.value(loop.iter), loop.iter))
        end = self._statement_place(at) if at is not None and self._runs_in(at, scope) else (1 << 30, 0)
        for call in self.mutations.get(name, ()):
            place = (call.lineno, call.col_offset)
            if not start <= place < end or self.names.resolve(name, self.names.scope_at[call]) is not scope:
                continue
            value = self._after_method(value, call)
        return value

    def with_stored(self, name: str, scope: Scope, value: Value, at: ast.AST | None) -> Value:
        """`splits["train"] = splits["train"].shuffle()`: what is put into a dict of datasets is upstream too."""
        parents = list(value.parents)
        end = self._statement_place(at) if at is not None and self._runs_in(at, scope) else (1 << 30, 0)
        for store in self.stored_items.get(name, ()):
            if (store.lineno, store.col_offset) < end and self.names.resolve(name, self.names.scope_at[store]) is scope:
                stored = self.value(store.value)
                parents += stored.parents if stored.kind == "dataset" else ()
        return replace(value, parents=tuple(dict.fromkeys(parents)))

    def _after_method(self, value: Value, call: ast.Call) -> Value:
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if method == "sort":
            return replace(value, traits=self._without_order(value.traits))
        if method == "load_state_dict":  # the weights are no longer those it was made with
            return Value("external", varies=value.varies)
        if method in ("seed", "manual_seed"):
            return self.reseeded(value, call)
        if method in ("add", "update"):
            if value.kind != "set" or not call.args:
                return value
            given = [self.value(argument).elements for argument in call.args]
            kinds = {*given, value.elements} - {"few"}
            return replace(value, elements="strings" if "strings" in kinds else "unknown" if kinds else value.elements)
        drawn = self.value(call)
        return value.with_traits(trait for trait in drawn.traits if trait.trigger == "M6")

    def _bound(self, binding: Binding, scope: Scope) -> Value:
        if binding.how == "import":
            if binding.imported in words.FROZENSETS_OF_TEXT:
                reason = "the order of a frozenset of strings follows PYTHONHASHSEED"
                return Value("frozenset", (Trait("M2", reason, binding.node),), elements="strings")
            return Value("module", dotted=binding.imported.lstrip("."), node=binding.node)
        if binding.how == "def":
            assert isinstance(binding.node, (ast.FunctionDef, ast.AsyncFunctionDef))
            return self._decorated(binding.node)
        if binding.how == "class":
            return Value("class", node=binding.node)
        if binding.how == "parameter":
            return self.parameter(binding, scope)
        if binding.annotation is not None:
            said = self.annotated(binding.annotation)
            if said.kind in ("dataset", "settings") and not said.stream:
                found = self.value(binding.value)
                return found if found.kind == "dataset" else said
        if binding.how == "assign":
            return self.value(binding.value)
        if binding.how == "item":
            return self._item(binding)
        if binding.how == "augmented":
            return replace(UNKNOWN, traits=self.value(binding.value).traits)
        return UNKNOWN

    def _decorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Value:
        """A function, or with a decorator of this file what that returns together with the function."""
        plain = Value("function", node=node)
        wrapped = [plain]
        for decorator in node.decorator_list:
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            made = self.value(target)
            if isinstance(made.node, ast.FunctionDef) and made.kind == "function" and made.node is not node:
                wrapped.append(self.called(made, ast.copy_location(ast.Call(target, [], []), target)))
        return Value("sequence", parts=tuple(wrapped)) if len(wrapped) > 1 else plain

    def _item(self, binding: Binding) -> Value:
        source = binding.value
        whole = self.value(source)
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and binding.iterated:
            owner = self.value(source.func.value)
            if owner.kind == "dataset" and source.func.attr in ("items", "values"):
                wanted = 1 if source.func.attr == "items" else None
                return replace(owner, is_dict=False) if binding.index == wanted else CONSTANT
            if owner.kind == "dict" and owner.parts and source.func.attr in ("items", "values"):
                return (
                    joined(list(owner.parts))
                    if binding.index == (1 if source.func.attr == "items" else None)
                    else UNKNOWN
                )
        if whole.kind == "dataset":
            if binding.iterated:
                return UNKNOWN
            return replace(whole, is_dict=False)  # train, test = load_dataset(..., split=[...])
        if whole.kind == "sequence" and whole.parts:
            if binding.index is not None and not binding.iterated and 0 <= binding.index < len(whole.parts):
                return whole.parts[binding.index]
            return joined(list(whole.parts))
        if whole.kind == "settings":  # model_args, data_args = parser.parse_args_into_dataclasses()
            return replace(whole, fields=None)
        elements = whole.elements if binding.iterated and whole.elements == "strings" else "unknown"
        return Value("unknown", () if binding.iterated else whole.traits, whole.varies, elements=elements)
