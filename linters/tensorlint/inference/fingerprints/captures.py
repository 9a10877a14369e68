"""What enters the fingerprint of a function: its code, its defaults and all it captures, and what of that moves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tensorlint.inference.fingerprints import vocabulary as words
from tensorlint.inference.fingerprints.classes import ClassFacts, self_name
from tensorlint.inference.fingerprints.constant_sets import constant_sets
from tensorlint.inference.fingerprints.evaluation import Evaluator
from tensorlint.inference.fingerprints.scopes import FunctionNode
from tensorlint.inference.fingerprints.settings_elsewhere import ELSEWHERE
from tensorlint.inference.fingerprints.values import Trigger, Value

_DEEPEST = 6
_ENUMS = frozenset(["Enum", "IntEnum", "StrEnum", "Flag"])


@dataclass(frozen=True, slots=True)
class Found:
    """One reason why a fingerprint moves. `captured` is the name the function takes, `path` the way from it."""

    trigger: Trigger
    captured: str
    path: tuple[str, ...]
    reason: str
    node: ast.AST
    unrelated: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """A function and the name by which it knows the object it reads."""

    function: FunctionNode
    own: str


class Captures:
    """Follows one function from the call that hands it over. `by_value` says that module-level code is hashed too.

    The library hashes a function of an importable module by its name; one of `__main__`, a lambda or a nested
    function by its code, its captured names and the globals it reads.
    """

    def __init__(self, evaluator: Evaluator, call: ast.Call, by_value: bool) -> None:
        self.evaluator = evaluator
        self.names = evaluator.names
        self.call = call
        self.by_value = by_value
        self._seen: set[tuple[int, int]] = set()
        self._stack: list[ast.AST] = []

    def follow(self, value: Value, path: tuple[str, ...]) -> Iterator[Found]:
        """Everything that moves in a value that enters the fingerprint under the name `path[-1]`."""
        if len(path) > _DEEPEST:
            return
        captured = path[min(1, len(path) - 1)]
        for trait in value.traits:
            yield Found(trait.trigger, captured, path, trait.reason, trait.node)
        if value.kind == "function" and isinstance(value.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            if self._is_by_value(value.node):
                yield from self._function(value.node, path)
        elif value.kind == "class" and isinstance(value.node, ast.ClassDef):
            yield from self._class(value.node, path)
        elif value.kind == "bound" and value.owner is not None and isinstance(value.node, ast.FunctionDef):
            yield from self._bound(value, path)
        elif value.kind == "partial" and value.owner is not None:
            yield from self.follow(value.owner, path)
            yield from self._partial(value, path)
        elif value.kind == "instance" and isinstance(value.node, ast.ClassDef):
            yield from self._callable_instance(value, path)
        elif value.kind in ("sequence", "dict"):
            for part in value.parts:
                if part.callable:
                    bare = replace(part, traits=())
                    yield from self.follow(bare, path)

    def _is_by_value(self, function: ast.AST) -> bool:
        if self.by_value or isinstance(function, ast.Lambda):
            return True
        scope = self.names.scope_at.get(function)
        return scope is not None and any(
            isinstance(s.node, (ast.FunctionDef, ast.AsyncFunctionDef)) for s in scope.chain()
        )

    # Functions

    def _function(self, function: FunctionNode, path: tuple[str, ...]) -> Iterator[Found]:
        if function in self._stack:
            if self._stack[-1] is not function and not any(isinstance(f, ast.ClassDef) for f in self._stack):
                reason = "functions that call each other exceed the recursion limit, so the fingerprint is random"
                yield Found("M7", path[-1], path, reason, function, kind="recursion")
            return
        if self._first_time(function):
            return
        self._stack.append(function)
        try:
            yield from self._code(function, path)
            for name, value in self._defaults(function):
                uses = self._uses_of_parameter(function, name)
                yield from self._captured(name, value, uses, function, (*path, name))
            for name, uses in self.names.captured(function).items():
                scope = self.names.resolve(name, self.names.scope_at[uses[0]])
                assert scope is not None
                value = self.evaluator.named(name, scope, self.call)
                yield from self._captured(name, value, uses, function, (*path, name))
        finally:
            self._stack.pop()

    def _first_time(self, node: ast.AST) -> bool:
        key = (id(node), 0)
        if key in self._seen:
            return True
        self._seen.add(key)
        return False

    def _code(self, root: ast.AST, path: tuple[str, ...]) -> Iterator[Found]:
        for node in constant_sets(root, self.names):
            reason = "a set of constant strings is compiled to a frozenset, whose order follows PYTHONHASHSEED"
            yield Found("M1", "", path, reason, node)

    def _defaults(self, function: FunctionNode) -> Iterator[tuple[str, Value]]:
        for name, bindings in self.names.scope_of[function].bindings.items():
            for binding in bindings:
                if binding.how == "parameter" and binding.value is not None:
                    yield name, self.evaluator.value(binding.value)

    def _uses_of_parameter(self, function: FunctionNode, name: str) -> list[ast.Name]:
        own = self.names.scope_of[function]
        return [
            part
            for part in ast.walk(function)
            if isinstance(part, ast.Name)
            and part.id == name
            and isinstance(part.ctx, ast.Load)
            and part in self.names.scope_at
            and self.names.resolve(name, self.names.scope_at[part]) is own
        ]

    def _captured(
        self, name: str, value: Value, uses: list[ast.Name], function: FunctionNode, path: tuple[str, ...]
    ) -> Iterator[Found]:
        if value.kind == "settings" or (value.kind == "dict" and re.match(words.SETTINGS_NAME, name)):
            yield from self._settings(name, value, uses, path)
        elif value.kind == "instance" and isinstance(value.node, ast.ClassDef):
            reader = Reader(function, name)
            yield from self._instance(name, value, reader, path)
        else:
            moved = list(self.follow(value, path))
            yield from moved
            if not moved and isinstance(value.node, ast.ClassDef) and self._is_by_value(value.node):
                fields, whole = self._fields_read(uses)
                if not whole:
                    yield from self._class_of_settings(value.node, fields, name, path)
            elif not moved and value.kind == "dict" and value.fields and self._is_global(uses):
                yield from self._settings(name, value, uses, path)

    def _is_global(self, uses: list[ast.Name]) -> bool:
        scope = self.names.resolve(uses[0].id, self.names.scope_at[uses[0]]) if uses else None
        return scope is not None and scope.is_module

    # Objects

    def _bound(self, value: Value, path: tuple[str, ...]) -> Iterator[Found]:
        owner = value.owner
        assert owner is not None
        assert isinstance(value.node, ast.FunctionDef)
        name = "self" if owner.dotted == "self" else path[-1].rpartition(".")[0] or "the instance"
        if isinstance(owner.node, ast.ClassDef) and owner.kind == "instance":
            # What a stub reads is said by a subclass.
            reader = None if _is_stub(value.node) else Reader(value.node, self_name(value.node))
            yield from self._instance(name, owner, reader, (*path, name))
        elif owner.kind == "class" and isinstance(owner.node, ast.ClassDef):
            yield from self._class(owner.node, path)
        if self._is_by_value(value.node):
            yield from self._function(value.node, path)

    def _callable_instance(self, value: Value, path: tuple[str, ...]) -> Iterator[Found]:
        assert isinstance(value.node, ast.ClassDef)
        call = self.evaluator.classes.facts(value.node).methods.get("__call__")
        reader = Reader(call, self_name(call)) if call is not None and len(path) == 1 else None
        yield from self._instance(path[-1], value, reader, path)

    def _instance(self, name: str, value: Value, reader: Reader | None, path: tuple[str, ...]) -> Iterator[Found]:
        assert isinstance(value.node, ast.ClassDef)
        facts = self.evaluator.classes.facts(value.node)
        if facts.node.name.endswith("Error") or _ENUMS & set(facts.foreign_bases):
            return
        if "BaseModel" in facts.foreign_bases and self._is_by_value(value.node):
            reason = "a pydantic model of the script is another class in every process"
            yield Found("M6", path[-1], path, reason, value.node)
        attributes = {
            attribute: self.evaluator.instance_attribute(value, attribute) for attribute in sorted(facts.state)
        }
        moved = False
        for attribute, held in attributes.items():
            for trait in held.traits:
                moved = True
                step = (*path, attribute)
                yield Found(trait.trigger, path[-1], step, trait.reason, trait.node, kind="attribute")
            if held.kind == "instance" and held.node is not value.node and len(path) < _DEEPEST - 2:
                for found in self._instance(attribute, held, None, (*path, attribute)):
                    if found.trigger not in ("M4", "M5"):
                        moved = True
                        yield found
        if self._is_by_value(value.node):
            yield from self._class(value.node, path)
        if not moved:
            unread = list(self._unread(name, value, attributes, reader, path))
            yield from unread or self._settings_held(name, value, attributes, reader, path)

    def _unread(
        self, name: str, value: Value, attributes: dict[str, Value], reader: Reader | None, path: tuple[str, ...]
    ) -> Iterator[Found]:
        """M4 and M5: state that enters the hash although the function does not read it."""
        assert isinstance(value.node, ast.ClassDef)
        facts = self.evaluator.classes.facts(value.node)
        above = next((words.STATEFUL_BASES[base] for base in facts.foreign_bases if base in words.STATEFUL_BASES), "")
        above = above or next(
            (v for b in facts.foreign_bases for k, v in words.STATEFUL_BASES.items() if b.endswith(k)), ""
        )
        reads = self.evaluator.classes.reads(reader.function, reader.own, value.node) if reader is not None else None
        if reads is None:
            return
        is_self = value.dotted == "self"
        settings = not is_self and bool(
            re.match(words.SETTINGS_NAME, name) or re.search(words.SETTINGS_CLASS, value.node.name)
        )
        related = self._sources(facts.attributes, reads)
        unread = []
        for attribute, held in attributes.items():
            if attribute in reads or held.kind in ("dataset", "module", "function", "class"):
                continue
            if attribute in facts.attributes and self._names_in(facts.attributes[attribute]) & related:
                continue
            if held.varies or settings:
                unread.append(attribute)
        if self._is_by_value(value.node) and not facts.is_dataclass:
            of_class = [key for key in self._varying(facts) if key not in reads and key not in attributes]
            made_of = self._names_in([given for key in reads if (given := facts.constants.get(key)) is not None])
            unread += [key for key in of_class if key not in made_of]
        if settings and self._is_by_value(value.node):
            plain = [key for key, given in facts.constants.items() if isinstance(given, ast.Constant)]
            unread += [key for key in plain if key not in reads and key not in unread]
        if not unread and not above:
            return
        trigger: Trigger = "M5" if settings else "M4"
        what = ", ".join(f"{name}.{attribute}" for attribute in unread[:4]) or above
        yield Found(
            trigger, name, path, what, value.node, tuple(unread), tuple(sorted(reads)), kind="" if unread else "base"
        )

    def _settings_held(
        self, name: str, value: Value, attributes: dict[str, Value], reader: Reader | None, path: tuple[str, ...]
    ) -> Iterator[Found]:
        """M5 one step further: the object holds settings, of which the function reads some: `self.args.max_len`."""
        assert isinstance(value.node, ast.ClassDef)
        if reader is None:
            return
        for attribute, held in attributes.items():
            if held.kind != "settings" or held.traits:
                continue
            reads = self.evaluator.classes.reads_of(attribute, reader.function, reader.own, value.node)
            fields = [field for field, given in held.fields or () if given.varies or given.traits]
            unread = tuple(field for field in fields if field not in (reads or ()))
            if reads and (unread or held.fields is None):
                whole = f"{name}.{attribute}"
                what = ", ".join(f"{whole}.{field}" for field in unread[:4])
                origin = held.node or value.node
                yield Found("M5", whole, (*path, attribute), what, origin, unread, tuple(sorted(reads)))

    @staticmethod
    def _names_in(expressions: list[ast.expr]) -> set[str]:
        return {part.id for node in expressions for part in ast.walk(node) if isinstance(part, ast.Name)}

    def _sources(self, attributes: dict[str, list[ast.expr]], reads: set[str]) -> set[str]:
        """Names from which the attributes that are read are made: `self.tokenizer = load(model_name)`."""
        found: set[str] = set()
        for attribute in reads:
            for expression in attributes.get(attribute, ()):
                if not isinstance(expression, ast.Name):
                    found |= self._names_in([expression])
        owners = {"self", "cls"}
        return found - owners

    def _class(self, node: ast.ClassDef, path: tuple[str, ...]) -> Iterator[Found]:
        if not self._is_by_value(node) or self._first_time(node):
            return
        facts = self.evaluator.classes.facts(node)
        self._stack.append(node)
        try:
            for attribute, expression in facts.constants.items():
                if expression is not None:
                    for trait in self.evaluator.value(expression).traits:
                        yield Found(trait.trigger, path[-1], (*path, attribute), trait.reason, trait.node)
            for name, method in facts.methods.items():
                yield from self._code(method, (*path, name))
            for name, method in facts.methods.items():
                for used, uses in self.names.captured(method).items():
                    scope = self.names.resolve(used, self.names.scope_at[uses[0]])
                    assert scope is not None
                    value = self.evaluator.named(used, scope, self.call)
                    if value.kind in ("function", "class") or value.traits:
                        yield from self.follow(value, (*path, name, used))
        finally:
            self._stack.pop()

    def _class_of_settings(
        self, node: ast.ClassDef, reads: set[str], name: str, path: tuple[str, ...]
    ) -> Iterator[Found]:
        """A class of settings, read through its name: `CFG.max_len`.

        What the environment or the command line gives counts in any class; a constant that somebody may edit only in
        one that is there for settings.
        """
        facts = self.evaluator.classes.facts(node)
        plain = {key for key, given in facts.constants.items() if isinstance(given, ast.Constant)}
        if not (reads & plain and re.search(words.SETTINGS_CLASS, node.name) and not facts.methods):
            plain = set()
        varying = self._varying(facts) if reads & set(facts.constants) else []
        sources = self._names_in([given for key in reads if (given := facts.constants.get(key)) is not None])
        unread = tuple(
            key for key in facts.constants if key not in reads | sources and (key in plain or key in varying)
        )
        if unread and not set(facts.foreign_bases) & _ENUMS:
            what = ", ".join(f"{name}.{key}" for key in unread[:4])
            yield Found("M5", name, path, what, node, unread, tuple(sorted(reads)))

    def _varying(self, facts: ClassFacts) -> list[str]:
        """Class attributes that follow the environment or the command line."""
        return [
            key
            for key, given in facts.constants.items()
            if given is not None and self.evaluator.value(given).varies and not self.evaluator.value(given).traits
        ]

    def _partial(self, value: Value, path: tuple[str, ...]) -> Iterator[Found]:
        assert isinstance(value.node, ast.Call)
        given = [*value.node.args[1:], *(part.value for part in value.node.keywords)]
        labels = ["" for _ in value.node.args[1:]] + [part.arg or "" for part in value.node.keywords]
        owner = value.owner
        for label, expression in zip(labels, given, strict=True):
            held = self.evaluator.value(expression)
            name = label or (expression.id if isinstance(expression, ast.Name) else "argument")
            yield from self.given(held, expression, name, (*path, name), owner, label, given.index(expression))

    def given(
        self,
        held: Value,
        expression: ast.expr,
        name: str,
        path: tuple[str, ...],
        function: Value | None,
        label: str,
        position: int,
    ) -> Iterator[Found]:
        """A value handed over with the function: partial(f, args) or fn_kwargs={"args": args}."""
        spelled = expression.id if isinstance(expression, ast.Name) else name
        if held.kind == "hashed" and held.owner is not None and isinstance(held.node, ast.Call):
            yield from self._hashed(held.owner, held.node.args[0], path)
            return
        if held.kind in ("settings", "instance") and function is not None:
            target = function.node
            if isinstance(target, (ast.FunctionDef, ast.AsyncFunctionDef)):
                parameters = [argument.arg for argument in (*target.args.posonlyargs, *target.args.args)]
                parameter = label or (parameters[position] if position < len(parameters) else "")
                uses = self._uses_of_parameter(target, parameter)
                if held.kind == "settings":
                    yield from self._settings(spelled, held, uses, path)
                    return
                assert isinstance(held.node, ast.ClassDef)
                yield from self._instance(spelled, held, Reader(target, parameter), path)
                return
            if held.kind == "settings" and held.dotted.endswith("namespace"):
                yield Found("M5", spelled, path, f"all of {spelled}", expression)
                return
        yield from self.follow(held, path)

    def _hashed(self, held: Value, expression: ast.expr, path: tuple[str, ...]) -> Iterator[Found]:
        """`new_fingerprint=Hasher.hash(args)`."""
        spelled = ast.unparse(expression)
        moved = list(self.follow(held, (*path, spelled)))
        yield from moved
        if not moved and held.kind == "settings":
            yield Found("M5", spelled, (*path, spelled), "", held.node or expression, kind="fingerprint")

    # Settings

    def _settings(self, name: str, value: Value, uses: list[ast.Name], path: tuple[str, ...]) -> Iterator[Found]:
        for trait in value.traits:
            yield Found(trait.trigger, path[-1], path, trait.reason, trait.node)
        moved = False
        for field, held in value.fields or ():
            for trait in held.traits:
                moved = True
                yield Found(trait.trigger, path[-1], (*path, field), trait.reason, trait.node, kind="attribute")
        if moved or value.traits:
            return
        reads, whole = self._fields_read(uses)
        known = [field for field, _ in value.fields] if value.fields is not None else None
        if known is None and value.dotted == "an argparse namespace" and self.evaluator.settings_fields:
            known = sorted(self.evaluator.settings_fields)
        if known is not None:
            unread = [field for field in known if field not in reads]
            named = re.match(words.SETTINGS_NAME, name) or value.dotted == "an argparse namespace"
            if value.fields is not None and (not named or value.dotted == ELSEWHERE):
                unread = [field for field in unread if dict(value.fields)[field].varies]
            if value.kind == "dict":
                same = self._of_one_source(value, reads)
                unread = [field for field in unread if dict(value.fields or ())[field].varies and field not in same]
            if not unread or (whole and value.dotted != "an argparse namespace") or (whole and not reads):
                return
            what = ", ".join(f"{name}.{field}" for field in unread[:4])
            kind = "dict" if value.kind == "dict" else ""
            yield Found("M5", name, path, what, value.node or uses[0], tuple(unread), tuple(sorted(reads)), kind)
        elif reads and (not whole or value.kind == "settings"):
            yield Found("M5", name, path, "", value.node or uses[0], (), tuple(sorted(reads)))

    def _of_one_source(self, value: Value, reads: set[str]) -> set[str]:
        """Keys of a dict that are made from names which the keys that are read are made from too."""
        if not isinstance(value.node, ast.Dict):
            return set()
        made = {
            str(key.value): {part.id for part in ast.walk(entry) if isinstance(part, ast.Name)} - {"os"}
            for key, entry in zip(value.node.keys, value.node.values, strict=True)
            if isinstance(key, ast.Constant)
        }
        sources = {name for key in reads for name in made.get(key, ())}
        return {key for key, names in made.items() if names & sources}

    def _fields_read(self, uses: list[ast.Name], depth: int = 0) -> tuple[set[str], bool]:
        """Fields of a namespace that are read, and whether it goes somewhere that cannot be followed."""
        reads: set[str] = set()
        whole = False
        for use in uses:
            above = self.names.parents.get(use)
            call = self.names.parents.get(above) if isinstance(above, ast.Attribute) else None
            if isinstance(above, ast.Attribute) and isinstance(call, ast.Call) and call.func is above:
                key = call.args[0] if above.attr == "get" and call.args else None
                if isinstance(key, ast.Constant):
                    reads.add(str(key.value))
                else:
                    whole |= above.attr in ("items", "keys", "values", "copy", "get", "update")
                    reads.add(above.attr)
            elif isinstance(above, ast.Attribute):
                reads.add(above.attr)
            elif isinstance(above, ast.Subscript) and isinstance(above.slice, ast.Constant):
                reads.add(str(above.slice.value))
            else:
                inner = self._passed_on(use, above, depth)
                if inner is None:
                    whole = True
                else:
                    reads |= inner[0]
                    whole |= inner[1]
        return reads, whole

    def _passed_on(self, use: ast.Name, above: ast.AST | None, depth: int) -> tuple[set[str], bool] | None:
        if isinstance(above, ast.keyword):
            call, label = self.names.parents.get(above), above.arg
        else:
            call, label = above, None
        if not isinstance(call, ast.Call) or depth > 3:
            return None
        target = self.evaluator.value(call.func)
        if not isinstance(target.node, (ast.FunctionDef, ast.AsyncFunctionDef)) or target.kind != "function":
            return None
        parameters = [argument.arg for argument in (*target.node.args.posonlyargs, *target.node.args.args)]
        if label is None:
            position = next((i for i, argument in enumerate(call.args) if argument is use), len(parameters))
            label = parameters[position] if position < len(parameters) else None
        return self._fields_read(self._uses_of_parameter(target.node, label or ""), depth + 1)


def _is_stub(function: FunctionNode) -> bool:
    """A method that is there to be overridden: it raises, or holds a docstring and nothing."""
    if isinstance(function, ast.Lambda):
        return False
    body = [node for node in function.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    return all(isinstance(node, (ast.Raise, ast.Pass)) for node in body)
