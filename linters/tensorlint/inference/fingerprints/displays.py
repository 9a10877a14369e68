"""Displays, comprehensions and operators: what their parts give to the whole, and in which order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from tensorlint.inference.fingerprints import dates
from tensorlint.inference.fingerprints import vocabulary as words
from tensorlint.inference.fingerprints.classes import last_name
from tensorlint.inference.fingerprints.merged_dicts import Layer, literal_key, merged
from tensorlint.inference.fingerprints.parameters import Parameters
from tensorlint.inference.fingerprints.values import (
    CONSTANT,
    Elements,
    Trait,
    Value,
    element_kind,
    elements_of,
    joined,
    traits_of,
)

# Methods of str that give text, for telling what a set is made of.
words_of_text = frozenset(
    ["strip", "lower", "upper", "title", "replace", "rstrip", "lstrip", "join", "format", "capitalize", "casefold"]
)


class Displays(Parameters):
    """Expressions that are made of other expressions. `Evaluator` adds names, attributes and subscripts."""

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
        keyed = traits_of(self.value(key) for key in node.keys if key is not None)
        whole = merged(map(Layer, map(literal_key, node.keys), parts))
        return Value(
            "dict",
            tuple(dict.fromkeys((*whole.traits, *keyed))),
            any(part.varies for part in parts),
            parts=tuple(parts),
            fields=whole.fields,
            node=node,
        )

    def _comprehended(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> list[Trait]:
        """The traits that the order of what is iterated gives to the result."""
        found: list[Trait] = []
        for generator in node.generators:
            given = self.ordered(self.value(generator.iter), generator.iter)
            found += [trait for trait in given if trait.trigger != "M6" or not generator.ifs]
        return found

    def _of_listcomp(self, node: ast.ListComp) -> Value:
        element = self.value(node.elt)
        traits = [*self._comprehended(node), *self._not_left_out(element, node.generators)]
        return Value("sequence", tuple(dict.fromkeys(traits)), element.varies, elements=self._made_of(node.elt))

    def _of_setcomp(self, node: ast.SetComp) -> Value:
        traits = self._not_left_out(self.value(node.elt), node.generators)
        return Value("set", self._without_order(traits), elements=self._made_of(node.elt))

    def _of_dictcomp(self, node: ast.DictComp) -> Value:
        # Keys are sorted before they are hashed: only a value that counts positions follows the order.
        value = self.value(node.value)
        traits = self._not_left_out(value, node.generators)
        for generator in node.generators:
            source = generator.iter
            counted = isinstance(source, ast.Call) and last_name(source.func) in ("enumerate", "zip")
            if counted:
                traits += self.ordered(self.value(source), source)
            elif generator.ifs:
                continue  # what moves may be what is left out
            elif isinstance(source, ast.Call) and last_name(source.func) in ("items", "values"):
                traits += self.value(source).traits  # a dict that holds positions gives them on
        return Value("dict", tuple(dict.fromkeys(traits)), value.varies)

    def _not_left_out(self, element: Value, generators: list[ast.comprehension]) -> list[Trait]:
        """What the elements give to the whole: an item that is another in every run may be one that a condition leaves out."""
        chosen = traits_of(self.value(generator.iter) for generator in generators if generator.ifs)
        return [trait for trait in element.traits if trait.trigger != "M6" or trait not in chosen]

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
        sets = [side for side in (left, right) if side.kind in ("set", "frozenset") or side.dotted == "keys"]
        if sets and isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.Sub, ast.BitXor)):
            kind = left.kind if left.kind in ("set", "frozenset") else sets[0].kind
            kind = "set" if kind == "sequence" else kind  # the keys of a dict
            elements = self._combined(left, right, node.op)
            if kind == "frozenset" and elements == "strings":
                traits = (Trait("M2", "the order of a frozenset of strings follows PYTHONHASHSEED", node),)
            return Value(
                kind, traits if kind == "frozenset" else self._without_order(traits), varies, elements=elements
            )
        if isinstance(node.op, ast.Mod) and right.kind in ("set", "frozenset"):  # "one of %s" % labels
            return Value("constant", (*left.traits, *self.ordered(right, node.right)), varies, elements="strings")
        if isinstance(node.op, ast.BitOr) and right.kind == "dict" and left.kind in ("dict", "unknown"):
            whole = merged([Layer(None, left), Layer(None, right)])
            return Value("dict", whole.traits, varies, fields=whole.fields)
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
        inner = self.value(node.value)
        if inner.kind in ("set", "frozenset"):
            return Value("constant", tuple(self.ordered(inner, node.value)), inner.varies, elements="strings")
        shown = node.format_spec.values[0] if isinstance(node.format_spec, ast.JoinedStr) else None
        period = dates.of_format(shown.value) if isinstance(shown, ast.Constant) else ""
        return replace(inner, traits=dates.at_most(inner.traits, period))

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
