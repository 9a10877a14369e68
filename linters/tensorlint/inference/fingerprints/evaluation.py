"""From an expression to a `Value`: names through their bindings, attributes through classes, calls through `calls`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from tensorlint.inference.fingerprints import vocabulary as words
from tensorlint.inference.fingerprints.classes import ClassFacts, last_name
from tensorlint.inference.fingerprints.parameters import Parameters
from tensorlint.inference.fingerprints.scopes import Binding, Scope
from tensorlint.inference.fingerprints.values import (
    CONSTANT,
    UNKNOWN,
    Elements,
    Trait,
    Value,
    element_kind,
    elements_of,
    joined,
    traits_of,
)

_DEPTH = 60
_NOWHERE = 1 << 30


class Evaluator(Parameters):
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

    def mixed(self, node: ast.AST) -> Value:
        """Any other expression differs where a part of it does."""
        parts = [self.value(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return Value("unknown", traits_of(parts), any(part.varies for part in parts))

    # Displays

    def _of_constant(self, node: ast.Constant) -> Value:
        return replace(CONSTANT, elements=element_kind(node.value))

    def _of_lambda(self, node: ast.Lambda) -> Value:
        return Value("function", node=node)

    def _of_list(self, node: ast.List | ast.Tuple) -> Value:
        parts = tuple(self.value(element) for element in node.elts)
        varies = any(part.varies for part in parts)
        return Value(
            "sequence", traits_of(parts), varies, parts=parts, elements=elements_of(part.elements for part in parts)
        )

    _of_tuple = _of_list

    def _of_set(self, node: ast.Set) -> Value:
        parts = [self.value(element) for element in node.elts]
        listed = list(dict.fromkeys(ast.dump(element) for element in node.elts))
        kinds: Elements = elements_of(self._element(element) for element in node.elts) if len(listed) > 1 else "few"
        return Value("set", traits_of(parts), any(p.varies for p in parts), node=node, elements=kinds)

    def _element(self, node: ast.expr) -> Elements:
        if isinstance(node, ast.Tuple):
            return "strings" if any(self._element(part) == "strings" for part in node.elts) else "plain"
        if isinstance(node, ast.JoinedStr):
            return "strings"
        return self.value(node).elements

    def _of_dict(self, node: ast.Dict) -> Value:
        parts = [self.value(value) for value in node.values]
        keys = [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
        fields = tuple(zip(keys, parts, strict=True)) if len(keys) == len(parts) else None
        keyed = [self.value(key) for key in node.keys if key is not None]
        return Value(
            "dict",
            traits_of([*parts, *keyed]),
            any(part.varies for part in parts),
            parts=tuple(parts),
            fields=fields,
            node=node,
        )

    def _comprehended(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> list[Trait]:
        """The traits that the order of what is iterated gives to the result."""
        found: list[Trait] = []
        for generator in node.generators:
            found += self.ordered(self.value(generator.iter), generator.iter)
        return found

    def _of_listcomp(self, node: ast.ListComp) -> Value:
        element = self.value(node.elt)
        traits = [*self._comprehended(node), *element.traits]
        return Value("sequence", tuple(dict.fromkeys(traits)), element.varies, elements=self._made_of(node.elt))

    def _of_setcomp(self, node: ast.SetComp) -> Value:
        return Value("set", self._without_order(self.value(node.elt).traits), elements=self._made_of(node.elt))

    def _of_dictcomp(self, node: ast.DictComp) -> Value:
        # Keys are sorted before they are hashed: only a value that counts positions follows the order.
        value = self.value(node.value)
        traits = list(value.traits)
        for generator in node.generators:
            source = generator.iter
            counted = isinstance(source, ast.Call) and last_name(source.func) in ("enumerate", "zip")
            if counted:
                traits += self.ordered(self.value(source), source)
        return Value("dict", tuple(dict.fromkeys(traits)), value.varies)

    def _of_generatorexp(self, node: ast.GeneratorExp) -> Value:
        trait = Trait("M7", "a generator cannot be pickled", node)
        return Value("generator", (trait,), elements=self._made_of(node.elt), parts=(self._of_generated(node),))

    def _of_generated(self, node: ast.GeneratorExp) -> Value:
        return Value("sequence", tuple(self._comprehended(node)), elements=self._made_of(node.elt))

    def _made_of(self, node: ast.expr) -> Elements:
        if isinstance(node, ast.Call) and last_name(node.func) in (
            "int",
            "len",
            "float",
            "ord",
            "abs",
            "round",
            "hash",
        ):
            return "plain"
        if isinstance(node, ast.JoinedStr):
            return "strings"
        if isinstance(node, ast.Constant):
            return element_kind(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return "strings" if node.func.attr in words_of_text else "unknown"
        return self.value(node).elements

    # Operators

    def _of_binop(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        traits = traits_of([left, right])
        varies = left.varies or right.varies
        sets = [side for side in (left, right) if side.kind in ("set", "frozenset")]
        if sets and isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.Sub, ast.BitXor)):
            kind = left.kind if left.kind in ("set", "frozenset") else sets[0].kind
            elements = self._combined(left, right, node.op)
            if kind == "frozenset" and elements == "strings":
                traits = (Trait("M2", "the order of a frozenset of strings follows PYTHONHASHSEED", node),)
            return Value(
                kind, traits if kind == "frozenset" else self._without_order(traits), varies, elements=elements
            )
        kind = left.kind if left.kind == right.kind and left.kind in ("sequence", "dict") else "unknown"
        elements = left.elements if left.elements == right.elements else "unknown"
        return Value(kind, traits, varies, elements=elements)

    def _combined(self, left: Value, right: Value, operator: ast.operator) -> Elements:
        if isinstance(operator, ast.BitAnd):  # what two sets share is often one element or none
            return "few"
        if isinstance(operator, ast.Sub) and left.elements == "few":
            return "few"
        if isinstance(operator, ast.Sub):
            return left.elements
        kinds = {left.elements, right.elements} - {"few"}
        if not kinds:
            return "unknown"
        return "strings" if "strings" in kinds else kinds.pop()

    def _of_compare(self, node: ast.Compare) -> Value:
        parts = [self.value(part) for part in (node.left, *node.comparators)]
        kept = [trait for trait in traits_of(parts) if trait.rank]
        return Value("constant", tuple(kept), any(part.varies for part in parts), elements="plain")

    def _of_unaryop(self, node: ast.UnaryOp) -> Value:
        inner = self.value(node.operand)
        return Value("constant", inner.traits, inner.varies, elements="plain")

    def _of_joinedstr(self, node: ast.JoinedStr) -> Value:
        return replace(self.mixed(node), elements="strings")

    def _of_formattedvalue(self, node: ast.FormattedValue) -> Value:
        return self.value(node.value)

    def _of_ifexp(self, node: ast.IfExp) -> Value:
        both = joined([self.value(node.body), self.value(node.orelse)])
        return replace(both, varies=both.varies or self.value(node.test).varies)

    def _of_boolop(self, node: ast.BoolOp) -> Value:
        return joined([self.value(part) for part in node.values])

    def _of_namedexpr(self, node: ast.NamedExpr) -> Value:
        return self.value(node.value)

    def _of_starred(self, node: ast.Starred) -> Value:
        inner = self.value(node.value)
        return replace(inner, traits=tuple(self.ordered(inner, node.value)))

    def _of_await(self, node: ast.Await) -> Value:
        return self.value(node.value)

    # Names

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
        if value.kind in ("dataset", "function", "class", "module"):
            return value
        for loop in self.filled_in_loops.get(name, ()):
            if self.names.resolve(name, self.names.scope_at[loop]) is scope:
                value = value.with_traits(self.ordered(self.value(loop.iter), loop.iter))
        end = self._statement_place(at) if at is not None and self._runs_in(at, scope) else (1 << 30, 0)
        for call in self.mutations.get(name, ()):
            place = (call.lineno, call.col_offset)
            if not start <= place < end or self.names.resolve(name, self.names.scope_at[call]) is not scope:
                continue
            if isinstance(call.func, ast.Attribute) and call.func.attr == "sort":
                value = replace(value, traits=self._without_order(value.traits))
            else:
                drawn = self.value(call)
                value = value.with_traits(trait for trait in drawn.traits if trait.trigger == "M6")
        return value

    def _bound(self, binding: Binding, scope: Scope) -> Value:
        if binding.how == "import":
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
        return Value("unknown", () if binding.iterated else whole.traits, whole.varies)

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
            return self.instance_attribute(base, name)
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
        traits = () if base.kind == "generator" else base.traits
        return Value("unknown", traits, base.varies)

    def instance_attribute(self, base: Value, name: str) -> Value:
        assert isinstance(base.node, ast.ClassDef)
        facts = self.classes.facts(base.node)
        if name in facts.methods:
            method = facts.methods[name]
            if name in facts.static:
                return Value("function", node=method, dotted=f"{base.node.name}.{name}")
            if name in facts.properties:
                return self.returned(method)
            return Value("bound", node=method, owner=base)
        given = dict(base.arguments)
        values: list[Value] = []
        if facts.is_dataclass and name in given:
            return given[name]
        values += [self.value(expression) for expression in facts.attributes.get(name, ())]
        if not values and name in facts.constants:
            values.append(self._class_constant(facts, name))
        if name in words.RANK_ATTRIBUTES and not values:
            trait = Trait("M6", f".{name} differs between ranks", base.node, rank=True)
            return Value("constant", (trait,), True)
        return joined(values) if values else UNKNOWN

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
                    return value
        if (
            base.kind == "sequence"
            and base.parts
            and isinstance(key, int)
            and -len(base.parts) <= key < len(base.parts)
        ):
            return base.parts[key]
        index = self.value(node.slice)
        return Value("unknown", traits_of([base, index]), base.varies or index.varies)

    def _of_dataset_item(self, base: Value, where: ast.expr, key: object) -> Value:
        if isinstance(key, int) or isinstance(where, ast.Slice):
            return UNKNOWN
        if base.is_dict is False or (base.columns is not None and isinstance(key, str) and key in dict(base.columns)):
            elements = dict(base.columns or ()).get(key, "unknown") if isinstance(key, str) else "unknown"
            return Value("sequence", elements=elements)
        return replace(base, is_dict=False)

    # Order

    def ordered(self, value: Value, node: ast.AST) -> list[Trait]:
        """What iterating `value` gives to the order of what is built from it."""
        if value.kind in ("set", "frozenset"):
            if self.is_text(value, node):
                return [Trait("M3", "the order of a set of strings follows PYTHONHASHSEED", node)]
            return []
        if value.kind == "generator":
            return list(value.parts[0].traits) if value.parts else []
        return [trait for trait in value.traits if trait.trigger != "M7"]

    def is_text(self, value: Value, node: ast.AST | None) -> bool:
        """Whether the elements of a set are strings: known, or said by the names it is made from."""
        if value.elements != "unknown":
            return value.elements == "strings"
        spelled = " ".join(ast.unparse(part) for part in (node, value.node) if isinstance(part, ast.expr))
        return re.search(words.NAMES_OF_TEXT, spelled) is not None or self._is_numbered(node)

    def _is_numbered(self, node: ast.AST | None) -> bool:
        """`{label: i for i, label in enumerate(set(...))}`: numbers want no numbering."""
        above = self.names.parents.get(node) if node is not None else None
        if isinstance(above, ast.Call) and last_name(above.func) in ("list", "tuple"):
            above = self.names.parents.get(above)
        return isinstance(above, ast.Call) and last_name(above.func) == "enumerate"

    @staticmethod
    def _without_order(traits: Iterable[Trait]) -> tuple[Trait, ...]:
        return tuple(trait for trait in traits if trait.trigger not in ("M2", "M3"))


# Methods of str that give text, for telling what a set is made of.
words_of_text = frozenset(
    ["strip", "lower", "upper", "title", "replace", "rstrip", "lstrip", "join", "format", "capitalize", "casefold"]
)
