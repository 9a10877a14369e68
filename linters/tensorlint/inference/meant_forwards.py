"""Code that calls a module's `forward` by its name and is right to: the call would come back to it, or do no more.

A hook that calls its module would be called again without end. A method that `forward` comes through runs inside the
hooks already. While `__init__` runs the module has no hooks yet, and to print a module must not run any.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tensorlint.inference import computed_names
from tensorlint.inference.handling import last_name
from tensorlint.inference.module_evidence import ModuleEvidence
from tensorlint.inference.source_bindings import FUNCTIONS, binds
from tensorlint.inference.walking import walk

_REGISTERS = re.compile(r"register_\w+_hook\Z")
_HOOK = re.compile(r"(?:\w*_)?hook(?:_fn|_func|_function)?\Z")
# What `nn.Module.__call__` itself comes through.
_CALLS = frozenset({"__call__", "_call_impl", "_wrapped_call_impl", "_slow_forward"})
# What a tracer calls in the place of a module's call, and what a class of hooks is called.
_TRACES = "call_module"
_HOOKS = re.compile(r"\w*Hooks?\Z")
_MAKES = "__init__"
_PRINTS = frozenset({
    "__repr__", "__str__", "__format__", "extra_repr", "_repr_html_", "_repr_mimebundle_", "_repr_pretty_", "__rich__",
    "__rich_repr__", "__rich_console__",
})  # fmt: skip
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Assert, ast.Return)

Method = ast.FunctionDef | ast.AsyncFunctionDef


def _gets_by_name(call: ast.Call) -> bool:
    return last_name(call.func) == "getattr" and len(call.args) > 1 and not isinstance(call.args[1], ast.Constant)


class MeantForwards:
    """Read off the source of one file."""

    def __init__(self, evidence: ModuleEvidence) -> None:
        self.parents = evidence.parents
        self._hooks: frozenset[str | ast.AST] | None = None
        self._classes: dict[str, list[ast.ClassDef]] | None = None
        self._reached: dict[ast.ClassDef, frozenset[ast.AST]] = {}
        self._chosen: dict[str, list[ast.AST | None]] | None = None

    def holds(self, node: ast.Call | ast.Attribute, receiver: ast.expr | None) -> bool:
        """Whether `node`, the call of a forward or the bound forward that is handed on, is meant to go past `__call__`;
        `receiver` is the module's expression where the call names it."""
        around = list(self._around(node))
        if any(self._is_hook(each) for each in around):
            return True
        if receiver is None:
            return False
        if self._is_given(around, receiver):
            return True
        return self._is_own(around, receiver) or (isinstance(node, ast.Call) and self._is_compared(node, receiver))

    def is_chosen(self, func: ast.expr) -> bool:
        """Whether the method that is called was chosen by a name that is not written there, `getattr(net, self.method)`:
        it may be another one, which no call of the module runs."""
        if isinstance(func, ast.Call):
            return _gets_by_name(func)
        if self._chosen is None:
            self._chosen = defaultdict(list)
            for node in self.parents:
                if isinstance(node, ast.Call) and _gets_by_name(node):
                    for target in self._targets(node):
                        self._chosen[ast.unparse(target)].append(self._function_around(target))
        places = self._chosen.get(ast.unparse(func), ())
        return any(place in (None, *self._around(func)) for place in places) or (
            isinstance(func, ast.Attribute) and bool(places)
        )

    def _targets(self, value: ast.AST) -> list[ast.expr]:
        """What is assigned the value, perhaps after a wrapper: `run = partial(getattr(net, name), x)`."""
        above = self.parents.get(value)
        while isinstance(above, (ast.Call, ast.IfExp, ast.BoolOp)):
            above = self.parents.get(above)
        if isinstance(above, ast.Assign):
            return above.targets
        return [above.target] if isinstance(above, (ast.AnnAssign, ast.NamedExpr)) else []

    def _function_around(self, node: ast.AST) -> ast.AST | None:
        return next((each for each in self._around(node) if not isinstance(each, ast.ClassDef)), None)

    def _around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The functions and classes that the node stands in, from the innermost."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
                yield node

    # -- hooks ----------------------------------------------------------------------------------------------------

    def _is_hook(self, scope: ast.AST) -> bool:
        if self._hooks is None:
            self._hooks = frozenset(self._registered())
        if isinstance(scope, FUNCTIONS):
            several = len(scope.args.posonlyargs) + len(scope.args.args) + (scope.args.vararg is not None) > 1
            return scope.name in self._hooks or (several and _HOOK.match(scope.name) is not None)
        return scope in self._hooks

    def _registered(self) -> Iterator[str | ast.AST]:
        """The lambdas, and the names of the functions, that a `register_..._hook` of the file is given."""
        for node in self.parents:
            if isinstance(node, ast.Call) and _REGISTERS.match(last_name(node.func) or ""):
                waiting = [*node.args, *(each.value for each in node.keywords)]
                while waiting:
                    given = waiting.pop()
                    if isinstance(given, ast.Lambda):
                        yield given
                    elif isinstance(given, (ast.Name, ast.Attribute)):
                        yield last_name(given) or ""
                    elif isinstance(given, ast.Call):  # `partial(hook, name)`, `make_hook(name)`
                        waiting += [given.func, *given.args, *(each.value for each in given.keywords)]

    def _is_given(self, around: list[ast.AST], receiver: ast.expr) -> bool:
        """Whether the module is what a tracer's `call_module`, or a method of a class of hooks, was given to call."""
        method, owner = around[:2] if len(around) > 1 else (None, None)
        if not isinstance(method, FUNCTIONS) or not isinstance(owner, ast.ClassDef):
            return False
        if not isinstance(receiver, ast.Name) or receiver.id not in [each.arg for each in method.args.args[1:]]:
            return False
        names = [owner.name, *(last_name(base) or "" for base in owner.bases)]
        return method.name == _TRACES or any(_HOOKS.match(name) for name in names)

    # -- a module's own methods -----------------------------------------------------------------------------------

    def _is_own(self, around: list[ast.AST], receiver: ast.expr) -> bool:
        """`self.forward(...)` in a method that forward comes through, or that runs where there is nothing to skip."""
        at = next((index for index, each in enumerate(around) if isinstance(each, ast.ClassDef)), 0)
        if not at:
            return False
        method, owner = around[at - 1], around[at]
        own = _first_of(method)
        if own is None or not binds(receiver, own):
            return False
        assert isinstance(method, FUNCTIONS)
        assert isinstance(owner, ast.ClassDef)
        if method.name == "forward" or method.name in _CALLS or method in self._reached_from_forward(owner):
            return True
        return at == 1 and self._runs_without_hooks(owner, method, set())

    def _runs_without_hooks(self, owner: ast.ClassDef, method: Method, asked: set[str]) -> bool:
        """Whether the method is `__init__`, one that prints the module, or called by these alone."""
        if method.name in _PRINTS:
            return True
        if method.name == _MAKES:
            own = _first_of(method)
            return not any(
                isinstance(part, ast.Call)
                and isinstance(part.func, ast.Attribute)
                and binds(part.func.value, own or "")
                and (part.func.attr == "compile" or _REGISTERS.match(part.func.attr))
                for part in walk(method)
            )
        if not method.name.startswith("_") or method.name.startswith("__") or method.name in asked:
            return False
        asked.add(method.name)
        users = list(self._users(method.name))
        family = set(self._family(owner))
        return bool(users) and all(
            user is not None
            and (user[0] is method or (user[1] in family and self._runs_without_hooks(user[1], user[0], asked)))
            for user in users
        )

    def _users(self, name: str) -> Iterator[tuple[Method, ast.ClassDef] | None]:
        """The methods that have `self.name`; None stands for any other place that may mean it."""
        for node in self.parents:
            if isinstance(node, ast.Constant) and node.value == name:
                yield None
            elif isinstance(node, ast.Attribute) and node.attr == name:
                around = list(self._around(node))
                method, owner = around[:2] if len(around) > 1 else (None, None)
                own = _first_of(method)
                known = isinstance(owner, ast.ClassDef) and own is not None and binds(node.value, own)
                yield (method, owner) if known else None  # type: ignore[misc]

    def _family(self, owner: ast.ClassDef) -> list[ast.ClassDef]:
        """The class, those of the file that derive from it, and the bases of all of them, by name."""
        if self._classes is None:
            self._classes = defaultdict(list)
            for node in self.parents:
                if isinstance(node, ast.ClassDef):
                    self._classes[node.name].append(node)
        found = [owner]
        for each in found:  # grows meanwhile
            found += [
                other
                for others in self._classes.values()
                for other in others
                if other not in found and any(last_name(base) == each.name for base in other.bases)
            ]
        for each in tuple(found):
            found += [base for base in self._line(each) if base not in found]
        return found

    def _line(self, owner: ast.ClassDef) -> list[ast.ClassDef]:
        """The class and its bases in the file, the nearer ones first."""
        assert self._classes is not None
        found = [owner]
        for each in found:  # grows meanwhile
            named = [base for node in each.bases for base in self._classes.get(last_name(node) or "", ())]
            found += [base for base in named if base not in found]
        return found

    def _reached_from_forward(self, owner: ast.ClassDef) -> frozenset[ast.AST]:
        """The methods that the forward of the class, or of one beside it in the family, calls, hands on or looks up, and
        so on from these."""
        known = self._reached.get(owner)
        if known is None:
            found: set[ast.AST] = set()
            for each in self._family(owner):
                found |= _reached(self._line(each))
            known = self._reached[owner] = frozenset(found)
        return known

    # -- the same call both ways ----------------------------------------------------------------------------------

    def _is_compared(self, node: ast.Call, receiver: ast.expr) -> bool:
        """Whether its statement, or the one right before or behind it, also calls the module with the same: the two are
        compared."""
        statement: ast.AST = node
        while statement in self.parents and not isinstance(statement, ast.stmt):
            statement = self.parents[statement]
        if not isinstance(statement, _SIMPLE):
            return False
        above = self.parents[statement]
        suites = (getattr(above, name, None) for name in ("body", "orelse", "finalbody"))
        suite = next((each for each in suites if isinstance(each, list) and statement in each), [statement])
        at = suite.index(statement)
        beside = [each for each in suite[max(at - 1, 0) : at + 2] if isinstance(each, _SIMPLE)]
        texts = ast.unparse(receiver), _arguments(node)
        for each in beside:
            for part in walk(each):
                if isinstance(part, ast.Call) and (ast.unparse(part.func), _arguments(part)) == texts:
                    return not _assigns(each, node) and not _assigns(statement, node)
        return False


def _first_of(method: ast.AST | None) -> str | None:
    """What a method calls the object it is called on."""
    if not isinstance(method, FUNCTIONS):
        return None
    if any(last_name(each) in ("staticmethod", "classmethod") for each in method.decorator_list):
        return None
    return next((each.arg for each in (*method.args.posonlyargs, *method.args.args)), None)


def _reached(line: list[ast.ClassDef]) -> set[ast.AST]:
    """The methods that the forward of the first of these classes comes through, the others being its bases."""
    methods: dict[str, list[Method]] = defaultdict(list)
    for cls in line:
        for each in cls.body:
            if isinstance(each, FUNCTIONS):
                methods[each.name].append(each)
    kept = _kept_methods(methods)
    found = methods["forward"][:1]
    for method in found:  # grows meanwhile
        for name, above in _named_in(method, methods, kept):
            found += [each for each in (methods[name] if above else methods[name][:1]) if each not in found]
    return set(found)


def _kept_methods(methods: dict[str, list[Method]]) -> dict[str, set[str]]:
    """Which methods the attributes are given that are none themselves: `self.modes = {"part": self.part}`."""
    kept: dict[str, set[str]] = defaultdict(set)
    for method in [each for several in methods.values() for each in several]:
        own = _first_of(method)
        for part in walk(method) if own is not None else ():
            if not isinstance(part, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or part.value is None:
                continue
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            names = [
                inner.attr
                for target in targets
                for inner in walk(target)
                if isinstance(inner, ast.Attribute) and binds(inner.value, own or "")
            ]
            if names:
                given = {
                    inner.attr
                    for inner in walk(part.value)
                    if isinstance(inner, ast.Attribute) and binds(inner.value, own or "") and inner.attr in methods
                }
                for name in names:
                    kept[name] |= given
    return kept


def _named_in(scope: Method, methods: dict[str, list[Method]], kept: dict[str, set[str]]) -> Iterator[tuple[str, bool]]:
    """The methods that `self.name`, `super().name` and `getattr(self, ...)` in the method may mean, and whether it is
    that of a base; of an attribute those that it was given."""
    own = _first_of(scope)
    if own is None:
        return
    for part in walk(scope):
        if isinstance(part, ast.Attribute):
            above = isinstance(part.value, ast.Call) and last_name(part.value.func) == "super"
            if not above and not binds(part.value, own):
                continue
            if part.attr in methods:
                yield part.attr, above
            elif not isinstance(part.ctx, ast.Store):
                yield from ((name, False) for name in kept.get(part.attr, ()))
        elif isinstance(part, ast.Call) and last_name(part.func) == "getattr" and len(part.args) > 1:
            if binds(part.args[0], own):
                wanted = computed_names.patterns_of(part.args[1], scope)
                yield from ((name, False) for name in methods if computed_names.fits_any(name, wanted))


def _arguments(call: ast.Call) -> list[str]:
    return [ast.unparse(each) for each in (*call.args, *call.keywords)]


def _assigns(statement: ast.AST, call: ast.Call) -> bool:
    """Whether the statement changes a name that the call reads: `x = layer(x)` and a second round are no comparison."""
    read = {part.id for part in walk(call) if isinstance(part, ast.Name)}
    return any(
        isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part.id in read for part in walk(statement)
    )
