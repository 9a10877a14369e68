"""Parameters whose default is None and which some call of the file leaves at that: `def load(rows, seed=None)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tensorlint.inference.fingerprints.classes import last_name
from tensorlint.inference.fingerprints.survey import Survey, constant
from tensorlint.inference.fingerprints.values import Parent, Value

# What gives a name or an attribute another value without naming it where the value is bound.
_SET_BY_NAME = frozenset(["setattr", "globals", "vars", "exec", "eval", "update", "__setattr__"])
# What puts something into a dict, and what reads one that it is given.
_PUT = frozenset(["setdefault", "__setitem__", "pop", "popitem", "clear", "merge", "merge_with"])
_READ = frozenset(
    ["print", "pprint", "len", "str", "repr", "dict", "sorted", "list", "dump", "dumps", "safe_dump", "init", "info", "debug", "log",
     "log_params", "isinstance", "deepcopy", "items", "keys"]
)  # fmt: skip
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
Unset = tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]


class UnsetParameters(Survey):
    """Which seeds are None. `DatasetCalls` adds what draws with them."""

    def unset_parameter(self, node: ast.expr) -> Unset | None:
        """The parameter that `node` is, if its default is None and the function does not ask whether it is."""
        if not isinstance(node, ast.Name):
            return None
        scope = self.names.resolve(node.id, self.names.scope_at.get(node, self.names.module))
        if scope is None or not isinstance(scope.node, _DEFS):
            return None
        bindings = scope.bindings[node.id]
        if len(bindings) != 1 or bindings[0].how != "parameter" or constant(bindings[0].value) is not None:
            return None
        return None if _is_asked(scope.node, node.id) else (scope.node, node.id)

    def unset_option(self, node: ast.expr) -> str | None:
        """The option of the command line that `args.seed` is, if that is None where the option is not given, and nothing in
        the file asks whether it is or gives it another value."""
        if not isinstance(node, ast.Attribute) or node.attr not in self.unset_fields:
            return None
        if self.value(node.value).kind != "settings" or self._is_settled(node.attr):
            return None
        return self.unset_fields[node.attr]

    def _is_settled(self, name: str) -> bool:
        for part in self.names.parents:
            if isinstance(part, ast.Attribute) and part.attr == name and not isinstance(part.ctx, ast.Load):
                return True
            if isinstance(part, ast.Call) and last_name(part.func) in ("set_defaults", "setattr"):
                return True
        return _is_asked(self.names.module.node, name, ast.Attribute)

    def leaving(self, unset: Unset, seen: tuple[ast.AST, ...] = ()) -> ast.Call | None:
        """The first call in this file after which the parameter is None."""
        function, parameter = unset
        if function in seen:
            return None
        for call in self.calls_of(function):
            if isinstance(call.func, ast.Attribute) and self.value(call.func).node is not function:
                continue  # a method of that name, of nobody knows what
            left = self._left(call, function, parameter)
            found = call if left is True else self.leaving(left, (*seen, function)) if left else None
            if found is not None:
                return found
        return None

    def is_none(self, node: ast.expr | None, depth: int = 3) -> bool:
        """Whether `node` is None wherever it comes from: spelled out, or by a name or an attribute that is nothing else."""
        if constant(node) is None:
            return True
        if any(last_name(call.func) in _SET_BY_NAME for call in self.names.calls) or any(
            isinstance(part, ast.ImportFrom) and part.names[0].name == "*" for part in self.names.parents
        ):
            return False
        if isinstance(node, ast.Name):
            sources = [binding.value if binding.how == "assign" else None for binding in self.bindings_at(node)]
        elif isinstance(node, ast.Attribute) and depth:
            sources = self._sources_of_attribute(node)
        elif isinstance(node, (ast.Subscript, ast.Call)) and depth:
            sources = self._sources_of_entry(node)
        else:
            return False
        return bool(sources and depth) and all(
            source is not None and self.is_none(source, depth - 1) for source in sources
        )

    def _sources_of_attribute(self, node: ast.Attribute) -> list[ast.expr | None]:
        """What the class assigns to the attribute; nothing is known of one that other code, or a constructor, may set."""
        base = self.value(node.value)
        elsewhere = (
            isinstance(part, ast.Attribute)
            and part.attr == node.attr
            and not isinstance(part.ctx, ast.Load)
            and all(base.node is not around for around in self._around(part))
            for part in self.names.parents
        )
        if base.kind == "settings" and base.fields is not None and isinstance(base.node, ast.Call):
            given = [each.value for each in base.node.keywords if each.arg == node.attr]
            return [] if any(elsewhere) else [*given]
        if base.kind not in ("instance", "class") or not isinstance(base.node, ast.ClassDef):
            return []
        facts = self.classes.facts(base.node)
        derived = (
            isinstance(part, ast.ClassDef) and any(last_name(above) == base.node.name for above in part.bases)
            for part in self.names.parents
        )
        if facts.foreign_bases or any(elsewhere) or any(derived):
            return []
        if facts.is_dataclass and facts.attributes.get(node.attr):
            return []  # `__post_init__` or another method sets it
        if facts.is_dataclass:
            return self._default_of_field(node, base, facts.constants)
        own = [facts.constants[node.attr]] if node.attr in facts.constants else []
        return [*facts.attributes.get(node.attr, ()), *own]

    def _default_of_field(
        self, node: ast.Attribute, base: Value, constants: Mapping[str, ast.expr | None]
    ) -> list[ast.expr | None]:
        """What a field of a dataclass holds in `cfg = Config(lr=0.1)`, where nothing is given for it."""
        if not isinstance(node.value, ast.Name):
            return []
        made = [binding.value if binding.how == "assign" else None for binding in self.bindings_at(node.value)]
        plain = [
            isinstance(call, ast.Call)
            and self.value(call.func).node is base.node
            and not any(each.arg in (None, node.attr) for each in call.keywords)
            and len(call.args) <= ([*constants].index(node.attr) if node.attr in constants else 0)
            and not any(isinstance(each, ast.Starred) for each in call.args)
            for call in made
        ]
        return [constants[node.attr]] if made and all(plain) and constants.get(node.attr) is not None else []

    def _sources_of_entry(self, node: ast.Subscript | ast.Call) -> list[ast.expr | None]:
        """What `cfg["seed"]` and `cfg.get("seed")` are by the literal dict that `cfg` is, where no statement may change that."""
        if isinstance(node, ast.Subscript):
            holder, key = node.value, constant(node.slice)
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "get" and 0 < len(node.args) < 3:
            holder, key = node.func.value, constant(node.args[0])
        else:
            return []
        if not isinstance(key, str) or self._may_store(holder, key):
            return []
        found: list[ast.expr | None] = []
        for entries in self._entries(holder):
            if entries is None:
                return []
            missing = ast.Constant(None) if isinstance(node, ast.Call) and len(node.args) == 1 else None
            found.append(entries.get(key, missing))
        return found

    def _entries(self, node: ast.expr) -> list[dict[str, ast.expr] | None]:
        """The entries of each literal dict that the expression may be; None for anything else."""
        if isinstance(node, ast.Name):
            bound = [binding.value if binding.how == "assign" else None for binding in self.bindings_at(node)]
            return [_literal(value) for value in bound]
        if isinstance(node, ast.Subscript):
            key = constant(node.slice)
            outer = self._entries(node.value)
            return [None if each is None or not isinstance(key, str) else _literal(each.get(key)) for each in outer]
        return [None]

    def _may_store(self, holder: ast.expr, key: str) -> bool:
        """Whether a statement puts something under the key of whatever dict, or code elsewhere has this one in hand."""
        while isinstance(holder, ast.Subscript):
            holder = holder.value
        name = holder.id if isinstance(holder, ast.Name) else ""
        for part in self.names.parents:
            if isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
                if constant(part.slice) is ... or constant(part.slice) == key:
                    return True
            elif isinstance(part, ast.AugAssign) and _called(part.target) == name:
                return True
            elif isinstance(part, ast.Call):
                if last_name(part.func) in _PUT and isinstance(part.func, ast.Attribute):
                    return True
                handed = [*part.args, *(word.value for word in part.keywords if word.arg)]
                if any(isinstance(each, ast.Name) and each.id == name for each in handed):
                    if last_name(part.func) not in _READ and not isinstance(self.value(part.func).node, _DEFS):
                        return True
        return False

    def _around(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.names.parents:
            node = self.names.parents[node]
            yield node

    def at_call(self, value: Value, function: ast.AST, call: ast.Call) -> Value:
        """What a function returned, for this call of it: with a seed given, its draw is no other in the next run."""
        parents: list[Parent] = []
        for parent in value.parents:
            if parent.unset is None or parent.unset[0] is not function:
                parents.append(parent)
                continue
            left = self._left(call, *parent.unset)
            if left is True:
                parents.append(replace(parent, unset=None, caller=call))
            elif left:
                parents.append(replace(parent, unset=left))
        parts = tuple(self.at_call(part, function, call) for part in value.parts)
        if tuple(parents) == value.parents and parts == value.parts:
            return value
        return replace(value, parents=tuple(parents), parts=parts)

    def _left(self, call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef, parameter: str) -> Unset | bool:
        """True if the call leaves the parameter at None, the caller's own parameter if that decides, else False."""
        if any(given.arg is None for given in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
            return False
        given = self._argument(call, self._positional(function), parameter)
        if given is None or self.is_none(given):
            return True
        return self.unset_parameter(given) or False


def _is_asked(function: ast.AST, name: str, kind: type[ast.Name | ast.Attribute] = ast.Name) -> bool:
    """Whether a condition reads the name, or an attribute of it: `if seed is not None`, `args.seed or 0`."""
    for node in ast.walk(function):
        asked: list[ast.expr] = []
        if isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert)):
            asked = [node.test]
        elif isinstance(node, ast.BoolOp):
            asked = node.values
        elif isinstance(node, ast.Match):
            asked = [node.subject]
        if any(isinstance(part, kind) and _called(part) == name for test in asked for part in ast.walk(test)):
            return True
    return False


def _literal(node: ast.expr | None) -> dict[str, ast.expr] | None:
    """The entries of `{"seed": None}` and `dict(seed=None)`."""
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        return {str(constant(key)): value for key, value in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args:
        return (
            {each.arg: each.value for each in node.keywords if each.arg} if all(e.arg for e in node.keywords) else None
        )
    return None


def _called(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
