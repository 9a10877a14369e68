"""Lists and dictionaries that get into other hands than those of the object that holds them: by a method that returns one,
a property, another name, an argument, a bound method. Who has one may change it, whenever that is.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import Any

from tensorlint.inference.changes import CHANGE_GIVEN, CHANGES, DOUBLE, changes_of, is_namespace
from tensorlint.inference.effects import READS
from tensorlint.inference.frames import SourceFile
from tensorlint.inference.handling import last_name
from tensorlint.inference.kept import kept_with
from tensorlint.inference.names import INITIALISERS
from tensorlint.inference.walking import walk
from tensorlint.inference.words import places_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What goes before and behind a name where its list is read and left as it is: nothing else is looked for in the tree.
_READ_BEFORE = re.compile(
    r"(?:\bin|\blen\(|\b(?:range|print|tuple|list|set|dict|sorted|sum|min|max|str|any|all|bool|isinstance|torch\.\w+|np\.\w+|F\.\w+|nn\.\w+)\("
    r"|\bzip\([\w., ]*|\benumerate\(|(?<!\w)\*{1,2}|[-+/%]|\bdel|\bassert|\bif|\bnot|\band|\bwhile)[ \t]*(?:\w+\.)*$"
)
_READ_BEHIND = re.compile(
    r"[ \t]*(?::[^=\n]*)?=(?!=)|\.(?:"
    + "|".join(sorted(READS | CHANGES))
    + r")\(|\[|[ \t]*(?:==|!=|is\b|in\b|not\b|[-+*/%])"
)
_CHANGES = CHANGES | DOUBLE
_CHANGING = CHANGE_GIVEN | {"deque", "shuffle"}
_READING = frozenset(
    ["len", "range", "print", "tuple", "list", "set", "dict", "sorted", "sum", "min", "max", "str", "repr", "any", "all", "bool",
     "isinstance", "zip", "enumerate", "map", "filter", "reversed", "iter", "next", "type", "id", "int", "float", "deepcopy", "copy",
     "join", "super", "format", "hasattr", "frozenset", "prod", "product", "chain", "accumulate", "ndarray"]
)  # fmt: skip
_LIBRARIES = frozenset(
    ["torch", "np", "numpy", "nn", "F", "math", "einops", "json", "os", "jnp", "pd", "plt", "logging", "logger"]
)
# What gives items of what it is called of, or with.
_GIVING_ITEMS = frozenset(
    ["get", "values", "items", "copy", "pop", "popitem", "setdefault", "zip", "enumerate", "reversed", "sorted", "list", "tuple", "iter",
     "next", "dict"]
)  # fmt: skip
_KEPT_AS = re.compile(r"[ \t]*=[ \t]*(?:\w+\.)+(\w+)")
_MOST = 6
_BINDING = frozenset([ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.comprehension, ast.withitem, ast.Match])
_LOOKED_AT = _BINDING | {ast.Call, ast.Return, ast.Yield, ast.Subscript, ast.AugAssign, ast.Attribute}


def is_changed(file: SourceFile, name: str, *, deep: bool = False, in_functions: bool = False) -> bool:
    """Whether code of the file that has the list in hand which objects hold as `name` may change it, or a list in it if
    `deep` says that there is one. With `in_functions`, the name may be one of the module, and its statements do not count."""
    search = Search(file)
    search.name, search.deep = name, deep
    return is_changed_for(search, in_functions)


def is_changed_for(search: Search, in_functions: bool) -> bool:
    file, name, deep = search.file, search.name, search.deep
    # `self.first = self.rows[0]`: what is changed of the one may be the other.
    assigned = f".{name}"
    kept = (_KEPT_AS.match(file.text, at + len(assigned)) for at in places_of(assigned, file.text))
    names = {name, *(each[1] for each in kept if each is not None)}
    getters, seen = set[str](), 0
    while seen < len(names) + len(getters) + len(search.holders) and seen < _MOST:
        seen = len(names) + len(getters) + len(search.holders)
        words = names | getters | search.holders | search.words
        lines = _lines(file.text, words, name, deep)
        if not lines:
            return False
        for scope in search.scopes(lines):
            if in_functions and scope is search.outside and not search.looks_outside:
                continue
            search.begin(names, getters, scope, {name} if in_functions and search.sees(scope) else None)
            if search.changed:
                return True
            names |= search.kept
            if isinstance(scope, _FUNCTIONS) and search.given:
                shown = any(last_name(each) in ("property", "cached_property") for each in scope.decorator_list)
                (names if shown else getters).add(scope.name)
    return False


def _lines(text: str, words: set[str], name: str, deep: bool) -> list[int]:
    """The lines with one of the words where the list may get into other hands."""
    found = set()
    for word in words:
        for at in places_of(word, text):
            end = at + len(word)
            if not (
                text[at - 1 : at].isidentifier() or text[end : end + 1].isidentifier() or text[end : end + 1].isdigit()
            ):
                start = text.rfind("\n", 0, at) + 1
                line = text[start:at]
                gives = deep or line.lstrip().startswith(("return", "yield")) or word != name
                if gives or not (_READ_BEHIND.match(text, end) or _READ_BEFORE.search(line)):
                    found.add(text.count("\n", 0, at) + 1)
    return sorted(found)


class _Defined:
    """The functions and the initialisers of classes that a file defines, by name and by line."""

    def __init__(self, file: SourceFile) -> None:
        self.functions: dict[str, list[Any]] = {}
        self.makers: dict[str, list[Any]] = {}  # by the name of the class
        self.ordered: list[Any] = []
        for node in file.facts.scopes:
            if isinstance(node, _FUNCTIONS):
                self.functions.setdefault(node.name, []).append(node)
                self.ordered.append(node)
            elif isinstance(node, ast.ClassDef):
                self.makers.setdefault(node.name, []).extend(
                    part for part in node.body if isinstance(part, _FUNCTIONS) and part.name == "__init__"
                )
        self.ordered.sort(key=lambda node: node.lineno)  # stable: of two in one line the first one counts
        self.begins = [node.lineno for node in self.ordered]
        # The last line of all that begin no later.
        self.reach = list(accumulate((node.end_lineno or 0 for node in self.ordered), max))

    def around(self, line: int) -> Any | None:
        """The innermost function that the line belongs to."""
        found = None
        for at in range(bisect_right(self.begins, line) - 1, -1, -1):
            if self.reach[at] < line or (found is not None and self.begins[at] < found.lineno):
                break
            if line <= (self.ordered[at].end_lineno or 0):
                found = self.ordered[at]
        return found


class Search:
    """One function, or one statement of the module, that mentions the list."""

    looks_outside = False

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.defined: _Defined = kept_with(file.tree, "functions by line", lambda: _Defined(file))
        self.functions = self.defined.functions
        self.name = self.first = ""
        self.deep = False
        self.words: frozenset[str] = frozenset()  # other words of lines that may have it in hand
        self.names: set[str] = set()
        self.getters: set[str] = set()
        self.local: set[str] = set()
        self.holders: set[str] = set()  # attributes whose lists it was put into
        self.changed = self.given = False
        self.kept: set[str] = set()

    def scopes(self, lines: list[int]) -> list[ast.AST]:
        """The innermost functions that the lines belong to, and all statements outside of functions if any of these is meant."""
        found: dict[ast.AST, None] = {}
        outside = False
        for line in lines:
            around = self.defined.around(line)
            if around is not None:
                found[around] = None
            outside = outside or around is None
        if outside:
            found[self.outside] = None
        return list(found)

    @cached_property
    def outside(self) -> ast.Module:
        body = list(self.file.tree.body)
        for each in self.file.facts.scopes:
            if isinstance(each, ast.ClassDef):
                body += each.body
        return ast.Module([each for each in body if not isinstance(each, (*_FUNCTIONS, ast.ClassDef))], [])

    def sees(self, scope: ast.AST) -> bool:
        """Whether the module's name is what the function finds by it."""
        facts = self.file.facts.scopes.get(scope)
        return facts is None or self.name not in facts.assigned or self.name in facts.shared

    def begin(
        self, names: set[str], getters: set[str], scope: ast.AST, local: set[str] | None = None, depth: int = 0
    ) -> None:
        self.names, self.getters, self.local = names, getters, set(local or ())
        self.first = ""
        if isinstance(scope, _FUNCTIONS) and scope.name in INITIALISERS and scope.args.args:
            self.first = scope.args.args[0].arg  # whose lists are its own still
        self.changed = self.given = False
        self.kept = set()
        self.depth = depth
        nodes = [node for node in walk(scope) if type(node) in _LOOKED_AT]
        binding = [node for node in nodes if type(node) in _BINDING]
        before = -1
        while before != len(self.local):
            before = len(self.local)
            for node in binding:
                self.bind(node)
        called = {node.func for node in nodes if isinstance(node, ast.Call)}
        for node in nodes:
            if not isinstance(node, ast.Attribute):
                self.look(node)
            else:
                self.look_at_attribute(node, called)
        if self.local:
            changes = changes_of(scope)
            self.changed = self.changed or bool(changes.names & self.local)

    def look_at_attribute(self, node: ast.Attribute, called: set[ast.expr]) -> None:
        if node.attr in _CHANGES and node not in called and self.is_it(node.value):
            self.changed = True  # `add = self.rows.append`

    def is_it(self, node: ast.expr | None) -> bool:
        """Whether the value may be the list, or hold it."""
        if isinstance(node, ast.Attribute):
            return node.attr in self.names and not (isinstance(node.value, ast.Name) and node.value.id == self.first)
        if isinstance(node, ast.Name):
            return node.id in self.local
        if isinstance(node, ast.Call):
            called = last_name(node.func)
            func = node.func
            if called in _GIVING_ITEMS and isinstance(func, ast.Attribute) and self.holds(func.value):
                return True
            if self.deep and called in _GIVING_ITEMS:
                if isinstance(func, ast.Attribute) and self.is_it(func.value):
                    return True
                if isinstance(func, ast.Name) and any(map(self.is_it, node.args)):
                    return True
            if called in _GIVING_ITEMS and isinstance(func, ast.Name):
                if any(isinstance(each, (ast.List, ast.Tuple)) and self.is_it(each) for each in node.args):
                    return True  # `zip([self.rows], names)`
            return called in self.getters or (called == "getattr" and self.is_it_named(node))
        if isinstance(node, ast.IfExp):
            return self.is_it(node.body) or self.is_it(node.orelse)
        if isinstance(node, ast.BoolOp):
            return any(map(self.is_it, node.values))
        if isinstance(node, (ast.List, ast.Tuple)):
            return any(map(self.is_it, node.elts))
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and is_namespace(node.value):
            return node.slice.value in self.names  # `vars(self)["rows"]`
        if isinstance(node, (ast.Subscript, ast.Starred, ast.NamedExpr, ast.Await, ast.YieldFrom)):
            return self.is_it(node.value) or (isinstance(node, ast.Subscript) and self.holds(node.value))
        if isinstance(node, ast.Dict):
            return any(map(self.is_it, node.values))
        return False

    def holds(self, node: ast.expr) -> bool:
        """Whether it is an attribute whose list it was put into: `self.seen.append(self.rows)`."""
        return isinstance(node, ast.Attribute) and node.attr in self.holders

    def is_it_named(self, call: ast.Call) -> bool:
        return any(isinstance(each, ast.Constant) and each.value in self.names for each in call.args)

    def bind(self, node: Any) -> None:
        """Other names for the list."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.bound(target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            self.bound(node.target, node.value)
        elif isinstance(node, (ast.For, ast.comprehension)):
            if self.deep or not self.is_named(node.iter):
                self.bound(node.target, node.iter)  # of what holds it, whatever that is
            if self.holds(node.iter):
                self.local.update(part.id for part in walk(node.target) if isinstance(part, ast.Name))
            if isinstance(node.iter, (ast.ListComp, ast.GeneratorExp)):
                self.bound(node.target, node.iter.elt)
        elif (
            isinstance(node, ast.withitem)
            and node.optional_vars is not None
            and isinstance(node.context_expr, ast.Call)
        ):
            if any(map(self.is_it, node.context_expr.args)):
                self.bound(node.optional_vars, ast.Tuple(node.context_expr.args, ast.Load()))
        elif isinstance(node, ast.Match) and self.is_it(node.subject):
            for case in node.cases:
                for part in walk(case.pattern):
                    if isinstance(part, (ast.MatchAs, ast.MatchStar)) and part.name is not None:
                        self.local.add(part.name)

    def bound(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(value, ast.Lambda) and self.is_it(value.body):
            self.getters.update(part.id for part in walk(target) if isinstance(part, ast.Name))
        if value is None or (isinstance(value, ast.Subscript) and not self.deep) or not self.is_it(value):
            return
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            for number, each in enumerate(target.elts):
                if len(parts) != len(target.elts) or self.is_it(parts[number]):
                    self.local.update(part.id for part in walk(each) if isinstance(part, ast.Name))
        elif isinstance(target, ast.Name):
            self.local.add(target.id)
        elif isinstance(target, ast.Attribute):
            self.kept.add(target.attr)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute):
            self.holders.add(target.value.attr)

    def look(self, node: Any) -> None:
        if isinstance(node, ast.Call):
            func = node.func
            if isinstance(func, ast.Attribute) and func.attr in _CHANGES and self.is_it(func.value):
                # What is done by the name itself is looked for elsewhere.
                if not (isinstance(func.value, ast.Attribute) and func.value.attr == self.name):
                    self.changed = True
            given = [*node.args, *(each.value for each in node.keywords)]
            if any(map(self.is_it, given)):
                self.hand_on(node, given)
        elif isinstance(node, (ast.Return, ast.Yield)):
            self.given = self.given or self.is_it(node.value)
        elif isinstance(node, ast.Subscript):
            if isinstance(node.ctx, (ast.Store, ast.Del)) and not self.is_named(node.value):
                self.changed = self.changed or self.is_it(node.value)  # `self.first["w"] = ...`
        elif isinstance(node, ast.AugAssign):
            if not self.is_named(node.target) and self.is_it(node.target):
                self.changed = True

    def is_named(self, node: ast.expr) -> bool:
        """Whether it is the list by its own name, by which changes are looked for elsewhere."""
        return isinstance(node, ast.Attribute) and node.attr == self.name

    @staticmethod
    def is_read_by(name: str, root: ast.expr) -> bool:
        return name in _READING or (isinstance(root, ast.Name) and root.id in _LIBRARIES)

    def hand_on(self, call: ast.Call, given: list[ast.expr]) -> None:
        """The list is an argument: what is called may change it, unless it is known to leave it as it is."""
        if isinstance(call.func, ast.Lambda):
            self.changed = True
            return
        name, root = last_name(call.func) or "", call.func
        if isinstance(root, ast.Attribute) and name in CHANGES and isinstance(root.value, ast.Attribute):
            self.holders.add(root.value.attr)
        while isinstance(root, ast.Attribute):
            root = root.value
        if name in _CHANGING or (name in CHANGES and isinstance(root, ast.Name) and root.id in ("list", "dict", "set")):
            self.changed = True
            return
        if self.changed or self.depth > 2 or self.is_read_by(name, root):
            return
        if any(isinstance(each, ast.Name) and each.id in self.functions for each in given):
            self.changed = True  # `partial(fill, self.rows)`, `Thread(target=fill, args=(self.rows,))`
            return
        makers = self.defined.makers.get(name, [])
        if not (makers or name in self.functions):
            self.kept.update(
                each.arg for each in call.keywords if each.arg and self.is_it(each.value)
            )  # a dataclass, it may be
        for function in [*self.functions.get(name, ()), *makers]:
            spec = function.args
            places = [each.arg for each in (*spec.posonlyargs, *spec.args)]
            if (isinstance(call.func, ast.Attribute) or function in makers) and places[:1] in (["self"], ["cls"]):
                places = places[1:]
            own = {places[number] for number, each in enumerate(call.args) if number < len(places) and self.is_it(each)}
            own |= {each.arg for each in call.keywords if each.arg and self.is_it(each.value)}
            if any(isinstance(each, ast.Starred) and self.is_it(each) for each in call.args):
                own.update(places)  # each of which may be an item
            if own:
                inner = type(self).__new__(type(self))
                inner.__dict__.update(self.__dict__)
                inner.begin(set(), set(), function, own, self.depth + 1)
                self.changed = self.changed or inner.changed
                self.kept |= inner.kept
