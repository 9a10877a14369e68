"""From what moves in a fingerprint to hazards: one for each cause, with the transforms it spoils as evidence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from tensorlint.findings import Evidence
from tensorlint.inference.fingerprints import dataset_vocabulary as dataset_words
from tensorlint.inference.fingerprints.calls import UNSEEDED_WEIGHTS
from tensorlint.inference.fingerprints.captures import Captures, Found
from tensorlint.inference.fingerprints.constant_sets import is_membership
from tensorlint.inference.fingerprints.evaluation import Evaluator
from tensorlint.inference.fingerprints.execution import Execution
from tensorlint.inference.fingerprints.mutation import changed_before
from tensorlint.inference.fingerprints.own_modules import OwnModules
from tensorlint.inference.fingerprints.scopes import Names
from tensorlint.inference.fingerprints.settings_elsewhere import SettingsElsewhere
from tensorlint.inference.fingerprints.stale import stale
from tensorlint.inference.fingerprints.transforms import Transform, caching_is_off, transforms
from tensorlint.inference.fingerprints.values import Parent, Value
from tensorlint.inference.hazards import Hazard, MapClosureHazard, MapHashSeedHazard, UnseededParentHazard
from tensorlint.project import Project

# One finding for a function and a captured name, the surest first.
_RANK = {"M7": 0, "M6": 1, "M8": 2, "M4": 3, "M5": 4, "M9": 5, "M11": 6}


def hazards_of(tree: ast.Module, path: str, project: Project | None) -> list[Hazard]:
    """All hazards of a file."""
    evaluator = Evaluator(Names(tree))
    if not any(call for call in evaluator.names.calls if _may_transform(call)) or caching_is_off(evaluator):
        return []
    modules = OwnModules(evaluator.names, path, project)
    if project is not None:
        evaluator.elsewhere = SettingsElsewhere(modules, Evaluator)
    found = list(transforms(evaluator))
    execution = Execution(evaluator.names)
    collector = _Collector(evaluator)
    for transform in found:
        by_value = execution.is_script(transform.call)
        _follow(transform, evaluator, by_value, collector)
        for moved in changed_before(transform, found, evaluator):
            collector.add(transform, moved)
        for dated in stale(transform, evaluator, modules):
            collector.add(transform, dated)
        for parent in transform.receiver.parents:
            if parent.method not in ("shuffle", "train_test_split", "interleave_datasets") and not by_value:
                continue  # a library may be seeded by who imports it
            if parent.unset is not None:
                parent = replace(parent, caller=evaluator.leaving(parent.unset))
                if parent.caller is None:
                    continue
            collector.add_parent(transform, parent)
    return collector.hazards()


def _may_transform(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in (*dataset_words.TRANSFORMS, "from_generator")


def _follow(transform: Transform, evaluator: Evaluator, by_value: bool, collector: _Collector) -> None:
    for value, name in _functions(transform, evaluator):
        captures = Captures(evaluator, transform.call, by_value)
        for found in captures.follow(value, (name,)):
            if found.trigger in ("M4", "M5") and transform.receiver.memory and not transform.receiver.shown:
                continue  # rows made in this run from its own lists have no cache to lose
            collector.add(transform, found)
    target = evaluator.value(transform.function) if transform.function is not None else None
    for argument, expression in transform.arguments:
        captures = Captures(evaluator, transform.call, by_value)
        entries: list[tuple[str, ast.expr]] = [(argument, expression)]
        if isinstance(expression, ast.Dict) and argument in ("fn_kwargs", "gen_kwargs"):
            entries = [
                (str(key.value) if isinstance(key, ast.Constant) else argument, entry)
                for key, entry in zip(expression.keys, expression.values, strict=True)
            ]
        for label, entry in entries:
            held = evaluator.value(entry)
            path = (argument,) if label == argument else (argument, str(label))
            for found in captures.given(held, entry, str(label), path, target, str(label), -1):
                collector.add(transform, found)


def _functions(transform: Transform, evaluator: Evaluator) -> Iterator[tuple[Value, str]]:
    """The functions a transform may be given: itself, or what the file's calls hand to the enclosing function."""
    node = transform.function
    if node is None:
        return
    value = evaluator.value(node)
    name = _name(node)
    if value.kind == "unknown" and not value.traits and isinstance(node, ast.Name):
        scope = evaluator.names.resolve(node.id, evaluator.names.scope_at[node])
        function = scope.node if scope is not None else None
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for site in evaluator.arguments_given(function, node.id):
                yield evaluator.value(site), _name(site)
        for binding in scope.bindings.get(node.id, ()) if scope is not None else ():
            if binding.how == "def":
                yield Value("function", node=binding.node), name
            elif binding.how == "assign" and binding.value is not None:
                yield evaluator.value(binding.value), name
            elif binding.how == "item" and binding.index is None:
                yield from ((part, name) for part in evaluator.value(binding.value).parts if part.callable)
        return
    yield value, name


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Lambda):
        return "lambda"
    if isinstance(node, (ast.Name, ast.Attribute)):
        return ast.unparse(node)
    if isinstance(node, ast.Call):
        if ast.unparse(node.func).endswith("partial") and node.args:
            return _name(node.args[0])
        return f"{_name(node.func)}(...)"
    if isinstance(node, ast.Subscript):
        text = ast.unparse(node)
        return text if len(text) <= 40 else f"{_name(node.value)}[...]"
    return "function"


class _Collector:
    """Gathers what was found, joins what has one cause, and words it."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._closures: dict[tuple[object, ...], tuple[Transform, Found, list[Transform]]] = {}
        self._seeds: dict[tuple[object, ...], tuple[Transform, Found, list[Transform]]] = {}
        self._parents: dict[int, UnseededParentHazard] = {}

    def add(self, transform: Transform, found: Found) -> None:
        if found.trigger in ("M1", "M2", "M3"):
            key: tuple[object, ...] = (id(found.node),)
            table = self._seeds
        else:
            if found.path[0] in ("fn_kwargs", "gen_kwargs"):
                owner: object = found.captured
            else:
                function = self.evaluator.value(transform.function).node if transform.function is not None else None
                owner = id(function) if function is not None else id(transform.call)
            named = len(found.path) > 1 or found.trigger == "M9"  # one statement may import several functions
            key = (owner, found.captured if named else "", found.trigger in ("M9", "M11"))
            table = self._closures
        known = table.get(key)
        if known is None:
            table[key] = (transform, found, [transform])
            return
        first, best, calls = known
        better = _RANK.get(found.trigger, 9) < _RANK.get(best.trigger, 9)
        if all(call.call is not transform.call for call in calls):
            calls.append(transform)
        table[key] = (first, found if better else best, calls)

    def add_parent(self, transform: Transform, parent: Parent) -> None:
        method, node, reason = parent.method, parent.node, parent.reason
        if parent.trigger != "M10":
            found = Found("M3", "", (method,), reason, node)
            self.add(transform, found)
            return
        if id(node) in self._parents:
            return
        place = _line(transform.call)
        evidence = [Evidence(*place, f"{transform.method} keeps its result under a fingerprint made from this one")]
        if parent.caller is not None:
            called = ast.unparse(parent.caller.func)
            reason = f"{called}(...) is called without a seed, and then {reason}"
            evidence.append(Evidence(*_line(parent.caller), f"{called} is called without a seed"))
        receiver = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else method
        self._parents[id(node)] = UnseededParentHazard(
            node=node,
            evidence=tuple(evidence),
            method=method,
            downstream=transform.method,
            receiver=receiver,
            reason=reason,
        )

    def hazards(self) -> list[Hazard]:
        found: list[Hazard] = [self._closure(*entry) for entry in self._closures.values()]
        found += [self._seed(*entry) for entry in self._seeds.values()]
        found += self._parents.values()
        return sorted(found, key=lambda hazard: (*_line(hazard.node), type(hazard).__name__))

    def _closure(self, transform: Transform, found: Found, calls: list[Transform]) -> MapClosureHazard:
        function = _name(transform.function) if transform.function is not None else transform.method
        node: ast.AST = transform.function if transform.function is not None else transform.call
        evidence = [*self._origin(found), *_also(calls)]
        assert found.trigger in ("M4", "M5", "M6", "M7", "M8", "M9", "M11")
        return MapClosureHazard(
            node=node,
            evidence=tuple(evidence),
            trigger=found.trigger,
            method=transform.method,
            function=function,
            captured=found.captured,
            path=" → ".join(found.path),
            certain=found.trigger in ("M6", "M7") and not found.reason.endswith(("day", "month", "year")),
            reason=found.reason,
            remedy=_remedy(found, function),
            unrelated=found.unrelated,
            reads=found.reads,
            keyed=found.kind == "dict",
            strict=found.trigger in ("M9", "M11"),
        )

    def _origin(self, found: Found) -> list[Evidence]:
        line, column = _line(found.node)
        if not line or found.trigger in ("M4", "M5"):
            return []
        return [Evidence(line, column, found.reason)]

    def _seed(self, transform: Transform, found: Found, calls: list[Transform]) -> MapHashSeedHazard:
        function = _name(transform.function) if transform.function is not None else transform.method
        is_set = isinstance(found.node, ast.Set) and found.trigger == "M1"
        evidence = [Evidence(*_line(call.call), f"{call.method} hashes it here") for call in calls]
        membership = isinstance(found.node, ast.Set) and is_membership(found.node, self.evaluator.names)
        assert found.trigger in ("M1", "M2", "M3")
        return MapHashSeedHazard(
            node=found.node,
            evidence=tuple(evidence),
            trigger=found.trigger,
            method=transform.method,
            function=function,
            path=" → ".join(found.path),
            reason=found.reason,
            remedy=_seed_remedy(found, membership),
            set_node=found.node if is_set and isinstance(found.node, ast.Set) else None,
            membership=membership,
        )


def _line(node: ast.AST) -> tuple[int, int]:
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1)


def _also(calls: list[Transform]) -> list[Evidence]:
    return [Evidence(*_line(call.call), f"{call.method} is given it here too") for call in calls[1:]]


def _seed_remedy(found: Found, membership: bool) -> str:
    if found.trigger == "M1":
        return "write a tuple: in (...)" if membership else "write a tuple or a list"
    if found.trigger == "M2":
        return "capture a set (its elements are sorted before hashing), a tuple or a sorted list"
    return "write sorted(...) around the set"


def _remedy(found: Found, function: str) -> str:
    name = found.captured
    if found.trigger == "M4":
        if found.reads:
            first = found.reads[0]
            return f"read {first} = {name}.{first} before the function and use that, or pass it in fn_kwargs"
        return "make it a staticmethod or a function of the module"
    if found.path[0] == "new_fingerprint" and found.trigger != "M5":
        return "make it of what the rows depend on: a version, Hasher.hash((name, setting))"
    if found.kind == "fingerprint":
        return f"hash what the rows depend on and no more: Hasher.hash(({name}.field, …))"
    if found.trigger == "M5":
        fields = found.reads[:2] or ("field",)
        spelled = '"{1}": {0}["{1}"]' if found.kind == "dict" else '"{1}": {0}.{1}'
        listed = ", ".join(spelled.format(name, field) for field in fields)
        return f"hand over only what it reads: fn_kwargs={{{listed}}}"
    if found.trigger == "M7":
        if found.kind == "recursion":
            return "make them one function"
        return f"create {name} inside the function, or give map a new_fingerprint"
    if found.trigger == "M8":
        return f"make a new {name} for each transform, or create it inside the function"
    if found.trigger == "M9":
        return "put a version number in fn_kwargs and raise it with the code"
    if found.trigger == "M11":
        return "read it before and pass the value in fn_kwargs"
    if found.reason.endswith(UNSEEDED_WEIGHTS):  # the function computes with them: no field that is taken out helps
        return "call torch.manual_seed(0) before it is made, or load fixed weights into it with load_state_dict"
    if "seed" in found.reason:
        return "seed it, or make the generator inside the function from a seed in fn_kwargs"
    if found.kind == "attribute":
        return "take the fields it needs out first: a local variable, fn_kwargs or functools.partial"
    return "keep it out of the function, or give map a new_fingerprint"
