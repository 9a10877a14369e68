"""What a parameter may be and what a function gives back: annotations, the file's own calls, the name's meaning."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from tensorlint.inference.fingerprints import dataset_vocabulary as dataset_words
from tensorlint.inference.fingerprints import vocabulary as words
from tensorlint.inference.fingerprints.calls import Calls
from tensorlint.inference.fingerprints.classes import last_name, self_name
from tensorlint.inference.fingerprints.scopes import Binding, FunctionNode, Scope
from tensorlint.inference.fingerprints.values import (
    UNKNOWN,
    Trait,
    Value,
    joined,
)

_STREAMED = frozenset(["datasets.IterableDataset", "datasets.IterableDatasetDict"])


class Parameters(Calls):
    """Annotations, parameters and returns."""

    def annotated(self, node: ast.expr | None) -> Value:
        """The value an annotation promises: a dataset, settings, or unknown. Strings are read as code."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                parsed = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError):  # ValueError: a null character, in Python 3.11
                return UNKNOWN
            return self._annotation_names([self._dotted_text(part) for part in ast.walk(parsed)])
        if node is None:
            return UNKNOWN
        return self._annotation_names([self._dotted_text(part) for part in ast.walk(node)], node)

    def _dotted_text(self, node: ast.AST) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value if node.value.isidentifier() else ""
        if isinstance(node, ast.Attribute):
            return f"{self._dotted_text(node.value)}.{node.attr}"
        return node.id if isinstance(node, ast.Name) else ""

    def _annotation_names(self, spelled: list[str], node: ast.expr | None = None) -> Value:
        found: Value = UNKNOWN
        outer = last_name(node) if node is not None and isinstance(node, ast.Subscript) else ""
        for text in filter(None, spelled):
            head, _, rest = text.partition(".")
            bindings = self.names.module.bindings.get(head, [])
            origin = next((b.imported for b in bindings if b.how == "import"), head if not bindings else "")
            dotted = f"{origin}.{rest}" if rest else origin
            if dotted in self.dataset_classes and outer not in ("dict", "Dict", "list", "List", "Callable", "tuple"):
                is_dict = dotted.endswith("Dict")
                found = Value("dataset", is_dict=is_dict)
            elif dotted in _STREAMED and found.kind == "unknown":
                found = Value("dataset", stream=True)
            elif dotted.rpartition(".")[2] in words.SETTINGS_ANNOTATIONS and found.kind == "unknown":
                found = Value("settings", dotted="the settings", varies=True)
            elif bindings and bindings[-1].how == "class" and found.kind == "unknown":
                found = Value("instance", node=bindings[-1].node, varies=True)
        return found

    def parameter(self, binding: Binding, scope: Scope) -> Value:
        """A parameter: what its annotation promises, what the file's own calls give it, what its name means."""
        function = scope.node
        assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        owner = self.names.method_class(function)
        if owner is not None and not isinstance(function, ast.Lambda) and binding.name == self_name(function):
            facts = self.classes.facts(owner)
            if function.name in facts.of_class or function.name == "__new__":
                return Value("class", node=owner)
            if function.name not in facts.static:
                return Value("instance", node=owner, dotted="self")
        said = self.annotated(binding.annotation)
        sites = self.arguments_given(function, binding.name)
        given = [self.value(site) for site in sites]
        if said.kind == "dataset":
            known = [value for value in given if value.kind == "dataset"]
            return joined(known) if known and len(known) == len(given) else said
        if said.kind == "settings":
            return said
        if given:
            found = joined(given)
            if found.kind != "unknown" or found.traits or not self._dataset_named(binding.name):
                return found
        if said.kind == "instance":
            return said
        if self._is_dataset_by_name(binding.name):
            return Value("dataset", dotted="parameter")
        if re.match(words.SETTINGS_NAME_OF_PARAMETER, binding.name) and binding.annotation is None:
            return Value("settings", dotted="the settings", varies=True)
        default = self.value(binding.value) if binding.value is not None else UNKNOWN
        return replace(default, kind="unknown" if default.kind == "constant" else default.kind, varies=True)

    def _is_dataset_by_name(self, name: str) -> bool:
        return self._dataset_named(name) and self.imports_datasets and not self.other_datasets

    @staticmethod
    def _dataset_named(name: str) -> bool:
        return re.match(dataset_words.DATASET_NAME, name) is not None

    def returned(self, function: FunctionNode) -> Value:
        """What calling a function of the file gives, whoever calls it."""
        if isinstance(function, ast.Lambda):
            return self.value(function.body)
        promised = self.annotated(function.returns)
        results: list[Value] = []
        for node in self.own_nodes(function):
            if isinstance(node, (ast.Yield, ast.YieldFrom)):
                trait = Trait("M7", "a generator cannot be pickled", function)
                return Value("generator", (trait,))
            if isinstance(node, ast.Return) and node.value is not None:
                results.append(self.value(node.value))
        if isinstance(function, ast.AsyncFunctionDef):
            return joined(results) if results else UNKNOWN
        known = [result for result in results if result.kind == "dataset"]
        if promised.kind == "dataset":
            return known[0] if known else promised
        if known and len(known) < len(results):
            return joined(known)
        return joined(results) if results else promised
