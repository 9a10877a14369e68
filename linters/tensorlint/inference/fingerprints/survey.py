"""One look over the file: who is called, what is seeded, what the argument parsers know; and what is known so far."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorlint.inference.fingerprints import dataset_vocabulary as dataset_words
from tensorlint.inference.fingerprints.classes import Classes, last_name, self_name
from tensorlint.inference.fingerprints.scopes import Binding, FunctionNode, Names
from tensorlint.inference.fingerprints.stored_entries import REMOVES
from tensorlint.inference.fingerprints.values import (
    Trait,
    Value,
)

if TYPE_CHECKING:
    from tensorlint.inference.fingerprints.settings_elsewhere import SettingsElsewhere

_DATASET_CLASSES = frozenset(["datasets.Dataset", "datasets.DatasetDict", "datasets.arrow_dataset.Dataset"])
_DATASET_CLASSES |= frozenset(["datasets.dataset_dict.DatasetDict"])
# Methods after which their object is another to a fingerprint: in another order, with other elements or weights.
_CHANGES = frozenset(["sort", "add", "update", "load_state_dict", "seed", "manual_seed"])


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((given.value for given in call.keywords if given.arg == name), None)


def constant(node: ast.expr | None) -> object:
    """The value of a literal; Ellipsis where it is not one."""
    return node.value if isinstance(node, ast.Constant) else ...


def _filled(loop: ast.For) -> Iterator[str]:
    """Names whose order follows the loop: `vocab.append(w)`, `vocab[w] = len(vocab)`."""
    for part in ast.walk(loop):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            owner = part.func.value
            counts = part.func.attr == "setdefault" and any(_counts(given, owner) for given in part.args)
            if isinstance(owner, ast.Name) and (part.func.attr == "append" or counts):
                yield owner.id
        elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript):
            target = part.targets[0].value
            if isinstance(target, ast.Name) and _counts(part.value, target):
                yield target.id


def _counts(node: ast.expr, owner: ast.expr) -> bool:
    """Whether `len(owner)` is in an expression."""
    if not isinstance(owner, ast.Name):
        return False
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "len" and part.args:
            counted = part.args[0]
            if isinstance(counted, ast.Name) and counted.id == owner.id:
                return True
    return False


class Survey:
    """A file's calls by the name they call, and the values found so far. `Evaluator` adds the expressions."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.classes = Classes(names)
        self._values: dict[ast.expr, Value] = {}
        self._provisional: dict[ast.expr, Value] = {}
        self._active: dict[ast.expr, int] = {}  # expressions in evaluation, with their depth
        self._reaches = 1 << 30  # the outermost expression in evaluation that was met again
        self._named_active: set[tuple[str, int, int]] = set()
        self._returning: set[int] = set()
        self._assumed: dict[tuple[ast.ClassDef, str], Value] = {}  # attributes that are being made into something else
        self.dataset_classes = _DATASET_CLASSES
        self.elsewhere: SettingsElsewhere | None = None  # what objects of other modules' classes hold
        self.mutations: dict[str, list[ast.Call]] = {}
        self.filled_in_loops: dict[str, list[ast.For]] = {}
        self.stored_items: dict[str, list[ast.Assign]] = {}  # name -> the statements `name[key] = value`
        # The statements `name.field = value` and `del name.field` by the name.
        self.stored_fields: dict[str, list[ast.Assign | ast.Delete]] = {}
        self.removed_items: dict[str, list[ast.Delete | ast.Call]] = {}  # `del name[key]`, `name.pop(key)`
        self._by_callee: dict[str, list[ast.Call]] = {}
        self.seeds: set[str] = set()
        self.settings_fields: set[str] | None = set()
        self.unset_fields: dict[str, str] = {}
        self.imports_datasets = False
        self.other_datasets = False
        self._survey()

    def _survey(self) -> None:
        """One look over the file: who is called, what is seeded, what the argument parsers know."""
        for call in self.names.calls:
            name = last_name(call.func)
            self._by_callee.setdefault(name, []).append(call)
            if name in _CHANGES and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
                self.mutations.setdefault(call.func.value.id, []).append(call)
            elif name in REMOVES and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
                self.removed_items.setdefault(call.func.value.id, []).append(call)
            elif name == "shuffle" and call.args and isinstance(call.args[0], ast.Name):
                self.mutations.setdefault(call.args[0].id, []).append(call)
            elif name == "add_argument" and self.settings_fields is not None:
                self._parser_field(call)
            if "seed" in name.lower() and (call.args or call.keywords) and constant((*call.args, None)[0]) is not None:
                self.seeds.add(self._seeded(call, name))
        for node in self.names.parents:
            if isinstance(node, ast.For):
                for name in _filled(node):
                    self.filled_in_loops.setdefault(name, []).append(node)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                if isinstance(node.targets[0].value, ast.Name):
                    self.stored_items.setdefault(node.targets[0].value.id, []).append(node)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                if isinstance(node.targets[0].value, ast.Name):
                    self.stored_fields.setdefault(node.targets[0].value.id, []).append(node)
            elif isinstance(node, ast.Delete):
                for target in node.targets:
                    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                        self.stored_fields.setdefault(target.value.id, []).append(node)
                    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                        self.removed_items.setdefault(target.value.id, []).append(node)
        for bindings in self.names.module.bindings.values():
            for binding in bindings:
                self._survey_import(binding.imported)
        for scope in self.names.scope_of.values():
            if not scope.is_module:
                for bindings in scope.bindings.values():
                    for binding in bindings:
                        if binding.how == "import" and binding.imported.startswith("datasets."):
                            self._survey_import(binding.imported)

    def _survey_import(self, imported: str) -> None:
        head, _, last = imported.rpartition(".")
        if imported == "datasets" or (head.split(".")[0] == "datasets" and last in dataset_words.HF_NAMES):
            self.imports_datasets = True
        if imported in (
            "tensorflow",
            "tensorflow_datasets",
            "ray.data",
            "ray",
            "jax.experimental",
            "webdataset",
            "grain",
        ):
            self.other_datasets = True
        if imported in ("torch.utils.data.Dataset", "torch.utils.data.dataset.Dataset"):
            self.other_datasets = True

    def _parser_field(self, call: ast.Call) -> None:
        named = constant(keyword(call, "dest"))
        if not isinstance(named, str):
            flags = [constant(argument) for argument in call.args]
            texts = [flag for flag in flags if isinstance(flag, str)]
            if len(texts) != len(flags) or not texts:
                self.settings_fields = None
                return
            named = next((text for text in texts if text.startswith("--")), texts[0]).lstrip("-").replace("-", "_")
        assert self.settings_fields is not None
        self.settings_fields.add(named)
        default = keyword(call, "default")
        decided = any(keyword(call, word) is not None for word in ("required", "action", "nargs"))
        flag = next(
            (text for text in reversed([*map(constant, call.args)]) if isinstance(text, str) and text[:1] == "-"), None
        )
        if flag is not None and not decided and (default is None or constant(default) is None):
            self.unset_fields[named] = flag

    def _seeded(self, call: ast.Call, name: str) -> str:
        """Which process-wide generator a call seeds: python, numpy, torch, or all."""
        owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if name == "seed":
            return "numpy" if owner.split(".")[0] in ("np", "numpy") else "python" if owner == "random" else "all"
        if "manual_seed" in name:
            return "torch"
        return "all" if name not in ("initial_seed", "get_seed", "seed_worker", "default_rng_seed") else ""

    def calls_named(self, name: str) -> list[ast.Call]:
        return self._by_callee.get(name, [])

    def is_seeded(self, generator: str) -> bool:
        return "all" in self.seeds or generator in self.seeds

    # For mypy: what the evaluator adds.

    def value(self, node: ast.expr | None) -> Value:
        raise NotImplementedError

    def attribute(self, base: Value, name: str, at: ast.AST) -> Value:
        raise NotImplementedError

    def returned(self, function: FunctionNode) -> Value:
        raise NotImplementedError

    def ordered(self, value: Value, node: ast.AST) -> list[Trait]:
        raise NotImplementedError

    def mixed(self, node: ast.AST) -> Value:
        raise NotImplementedError

    def is_text(self, value: Value, node: ast.AST | None) -> bool:
        raise NotImplementedError

    def bindings_at(self, node: ast.Name) -> list[Binding]:
        raise NotImplementedError

    # Functions of the file and who calls them

    def own_nodes(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
        """Nodes of a function's own body, not of the functions inside it."""
        pending: list[ast.AST] = list(function.body)
        while pending:
            node = pending.pop()
            yield node
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                pending += ast.iter_child_nodes(node)

    def arguments_given(self, function: FunctionNode, parameter: str) -> list[ast.expr]:
        """What the calls in this file pass for `parameter`; empty if one of them cannot be read."""
        if isinstance(function, ast.Lambda):
            return []
        positional = self._positional(function)
        found: list[ast.expr] = []
        for call in self.calls_of(function):
            given = self._argument(call, positional, parameter)
            if given is None:
                default = self._default(function, parameter)
                if default is None:
                    return []
                given = default
            found.append(given)
        return found

    def calls_of(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Call]:
        """The calls of a function in this file; of a class where it is the `__init__`."""
        owner = self.names.method_class(function)
        called = owner.name if owner is not None and function.name == "__init__" else function.name
        return (call for call in self._by_callee.get(called, ()) if self._calls(call, function, owner))

    def _positional(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
        """Parameters in the order of a call's arguments."""
        owner = self.names.method_class(function)
        positional = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        bound = owner is not None and function.name not in self.classes.facts(owner).static
        return positional[1:] if bound else positional

    def _calls(self, call: ast.Call, function: FunctionNode, owner: ast.ClassDef | None) -> bool:
        if isinstance(call.func, ast.Attribute):
            if owner is None or isinstance(function, ast.Lambda) or function.name == "__init__":
                return False
            caller = self.names.enclosing_function(call)
            of = self.names.method_class(caller) if caller is not None else None
            on_self = of is not None and isinstance(call.func.value, ast.Name)
            if on_self and caller is not None and ast.unparse(call.func.value) == self_name(caller):
                return self.classes.is_one_of(of, owner) or self.classes.is_one_of(owner, of)
            return True
        if not isinstance(call.func, ast.Name):
            return False
        scope = self.names.resolve(call.func.id, self.names.scope_at[call])
        nodes = [binding.node for binding in scope.bindings[call.func.id]] if scope is not None else []
        return function in nodes or (owner is not None and owner in nodes)

    @staticmethod
    def _argument(call: ast.Call, positional: list[str], parameter: str) -> ast.expr | None:
        named = keyword(call, parameter)
        if named is not None:
            return named
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            return None
        if parameter in positional and positional.index(parameter) < len(call.args):
            return call.args[positional.index(parameter)]
        return None

    def _default(self, function: FunctionNode, parameter: str) -> ast.expr | None:
        scope = self.names.scope_of[function]
        return next((b.value for b in scope.bindings.get(parameter, ()) if b.how == "parameter"), None)
