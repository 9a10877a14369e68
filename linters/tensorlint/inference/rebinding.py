"""What a file changes by other ways than an assignment that can be followed.

`setattr(model, name, layer)`, `vars(model).update(...)`, `mock.patch.object(Model, "make", ...)`, `globals()[name] = f`,
`torch.relu = mine`: what is so changed is not known wherever it is read. Names that are written out cost no more than
themselves; a name that is computed costs every attribute of the classes it may belong to.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from tensorlint.inference.declared import CONFIGURATIONS
from tensorlint.inference.kept import kept_with
from tensorlint.inference.names import ScopeFacts
from tensorlint.inference.walking import children
from tensorlint.inference.words import words_of

# Only statements with one of these are looked into: what is searched for, by a word that such a text has.
_USES = ("[", ".update", ".pop", ".clear", ".setdefault")
_SOUGHT = {
    "setattr": ("setattr",),
    "delattr": ("delattr",),
    "__setattr__": ("__setattr__",),
    "__delattr__": ("__delattr__",),
    "__dict__": ("__dict__",),
    "__class__": ("__class__ =",),
    "__bases__": ("__bases__ =",),
    "__set__": (".__set__(",),
    "fset": (".fset(",),
    "vars": ("vars(",),
    "patch": ("patch(", "patch.object", "patch.multiple"),
    "globals": ("globals()",),
    "locals": ("locals()",),
    **{
        name: (f"{name}(",)
        for name in ("register_module", "set_submodule", "add_module", "register_buffer", "register_parameter")
    },
    **{f"_{kind}": tuple(f"_{kind}{use}" for use in _USES) for kind in ("modules", "parameters", "buffers")},
}
_NAMESPACES = ("globals", "locals", "vars")
_STORES = frozenset(["_modules", "_parameters", "_buffers", "__dict__"])
# Methods that give a module a part by name, and modules all of whose parts have names.
_REGISTERS = frozenset(["add_module", "register_buffer", "register_parameter"])
_CONTAINERS = frozenset(["Sequential", "ModuleList", "ModuleDict"])
_CHANGES = frozenset(["update", "pop", "clear", "setdefault", "popitem", "__setitem__", "__delitem__"])
_INITIALISERS = frozenset(["__init__", "__post_init__", "__new__"])
# Methods in which all attributes of an object are carried over as they were.
_RESTORES = frozenset(["__setstate__", "__getstate__", "__deepcopy__", "__copy__", "__reduce__", "__getattr__"])


@dataclass(slots=True)
class Rebound:
    """`attributes` and `prefixes` are of any object, `classes` those whose attributes may all have changed (every class
    of the file, if `everything`); `globals` are names of the module (each of them, if None)."""

    attributes: set[str] = field(default_factory=set)
    prefixes: tuple[str, ...] = ()
    classes: set[ast.ClassDef] = field(default_factory=set)
    everything: bool = False
    globals: set[str] | None = field(default_factory=set)

    def attribute(self, name: str, cls: ast.ClassDef) -> bool:
        """Whether the attribute of the class's instances may be another than the one that was assigned."""
        if name in self.attributes or (self.prefixes and name.startswith(self.prefixes)):
            return True
        return self.everything or cls in self.classes


NOTHING = Rebound()


def rebound(tree: ast.Module, text: str) -> Rebound:
    return kept_with(tree, "rebound", lambda: _rebound(tree, text))


def _rebound(tree: ast.Module, text: str) -> Rebound:
    words = words_of(text) & _SOUGHT.keys()
    lines = _lines_with(text, [sought for word in words for sought in _SOUGHT[word]]) if words else []
    if not lines:
        return NOTHING
    walk = _Walk(lines, text)
    walk.block(tree.body, None, "")
    found = walk.found
    found.classes = _relatives(tree, found.classes)
    return found


def _lines_with(text: str, words: Iterable[str]) -> list[int]:
    """The numbers of the lines that one of the words stands on, in order."""
    found: set[int] = set()
    for word in words:
        at, line, counted = text.find(word), 1, 0
        while at >= 0:
            line += text.count("\n", counted, at)
            counted = at
            found.add(line)
            at = text.find(word, at + 1)
    return sorted(found)


def share_globals(found: Rebound, module: ScopeFacts) -> None:
    """The module's names that are changed through `globals()` are known nowhere, as if a function declared them global."""
    if found.globals is None:
        module.shared.update(module.textual)
    elif found.globals:
        module.shared.update(name for name in found.globals if module.textual.get(name))


class _Walk:
    """`lines` are those, in order, on which one of the words stands: no other statement is looked into."""

    def __init__(self, lines: list[int], text: str) -> None:
        self.found = Rebound()
        self.lines = lines
        self.text = text
        self.parameters: set[str] = set()  # of the functions around

    def block(self, body: Iterable[ast.AST], owner: ast.ClassDef | None, method: str) -> None:
        for node in body:
            if isinstance(node, ast.stmt):
                at = bisect_left(self.lines, min([node.lineno, *(each.lineno for each in _decorators(node))]))
                if at == len(self.lines) or self.lines[at] > (node.end_lineno or node.lineno):
                    continue
            if isinstance(node, ast.ClassDef):
                self.block(node.body, node, "")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                outer = self.parameters
                self.parameters = outer | {each.arg for each in (*node.args.posonlyargs, *node.args.args)}
                self.block(node.decorator_list, owner, method)
                self.block(node.body, owner, method or node.name)
                self.parameters = outer
            else:
                if isinstance(node, ast.Call):
                    self.call(node, owner, method)
                elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                        self.target(target, owner, method)
                    if isinstance(node, ast.Assign) and _attribute_store(node.value) is not None:
                        self.unknown_name(_attribute_store(node.value), owner, method)  # another name of the dictionary
                elif isinstance(node, ast.Delete):
                    for target in node.targets:
                        self.target(target, owner, method)
                self.block(children(node), owner, method)

    def target(self, target: ast.expr, owner: ast.ClassDef | None, method: str) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self.target(each, owner, method)
        elif isinstance(target, ast.Attribute) and target.attr in ("__dict__", "__class__", "__bases__"):
            self.unknown_name(target.value, owner, method)
        elif isinstance(target, ast.Subscript):
            holder = _attribute_store(target.value)
            if holder is not None:
                self.named(target.slice, holder, owner, method)
            elif _is_call_of(target.value, _NAMESPACES):
                self.global_name(target.slice)

    def call(self, node: ast.Call, owner: ast.ClassDef | None, method: str) -> None:
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if name in ("setattr", "delattr", "__setattr__", "__delattr__"):
            arguments = node.args
            if (
                name.startswith("__")
                and isinstance(func, ast.Attribute)
                and len(arguments) < 2 + (name == "__setattr__")
            ):
                arguments = [func.value, *arguments]
                if _is_call_of(func.value, ("super",)):
                    arguments[0] = ast.Name("self", ast.Load())
            if arguments and isinstance(arguments[0], ast.Constant):  # monkeypatch.setattr("package.module.name", ...)
                self.dotted(arguments[0])
            elif len(arguments) >= 2 and not (
                isinstance(func, ast.Name)
                and isinstance(arguments[1], ast.Constant)
                and not (_is_self(arguments[0]) and method not in _INITIALISERS)
            ):  # `setattr(model, "norm", layer)` is followed as an assignment is
                self.named(arguments[1], arguments[0], owner, method)
        elif name in ("register_module", "set_submodule") and isinstance(func, ast.Attribute) and node.args:
            self.named(node.args[0], func.value, owner, method)
        elif name in _REGISTERS and isinstance(func, ast.Attribute) and node.args:
            # A name that is written out is followed as an assignment is; an initialiser's are taken to be new ones.
            own = _is_self(func.value) and method in _INITIALISERS
            if not (own or isinstance(node.args[0], ast.Constant) or self.is_container(func.value, owner)):
                self.named(node.args[0], func.value, owner, method)
        elif name in ("__set__", "fset") and isinstance(func, ast.Attribute) and isinstance(func.value, ast.Attribute):
            self.found.attributes.add(func.value.attr)  # `Box.n.__set__(box, 5)`
        elif name == "object" and len(node.args) >= 2 and isinstance(func, ast.Attribute):
            self.named(node.args[1], node.args[0], owner, "")
        elif name == "multiple" and isinstance(func, ast.Attribute):
            self.found.attributes.update(each.arg for each in node.keywords if each.arg)
            self.add_globals(each.arg for each in node.keywords if each.arg)
        elif name == "patch" and node.args:
            self.dotted(node.args[0])
        elif isinstance(func, ast.Attribute) and name in _CHANGES:
            holder = _attribute_store(func.value)
            if holder is not None:
                if name in ("pop", "setdefault", "__setitem__", "__delitem__") and node.args:
                    self.named(node.args[0], holder, owner, method)
                else:
                    if node.args or name in ("clear", "popitem"):
                        self.unknown_name(holder, owner, method)
                    self.found.attributes.update(each.arg for each in node.keywords if each.arg)
            elif _is_call_of(func.value, _NAMESPACES):
                if node.args:
                    self.found.globals = None
                self.add_globals(each.arg for each in node.keywords if each.arg)

    def is_container(self, holder: ast.expr, owner: ast.ClassDef | None) -> bool:
        """Whether all that is assigned to the name, or to an attribute of that name, is a container of torch.nn."""
        if _is_call_of(holder, ("super",)):
            return False
        name = holder.attr if isinstance(holder, ast.Attribute) else holder.id if isinstance(holder, ast.Name) else ""
        if not name or (isinstance(holder, ast.Name) and name in self.parameters):
            return False
        text = self.text
        if owner is not None and isinstance(holder, ast.Attribute) and _is_self(holder.value):
            text = "\n".join(text.split("\n")[owner.lineno - 1 : owner.end_lineno])
        given = re.findall(rf"\b{name}\s*(?::[^=\n]*)?=(?!=)\s*([\w.]*)", text)
        return bool(given) and all(each.rpartition(".")[2] in _CONTAINERS for each in given)

    def named(self, name: ast.expr, holder: ast.expr, owner: ast.ClassDef | None, method: str) -> None:
        """The attribute `name` of `holder` is set or deleted."""
        if method in _RESTORES:
            return
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            if not (method in _INITIALISERS and _is_self(holder)):  # that is followed as an assignment is
                self.found.attributes.add(name.value.partition(".")[0])  # `set_submodule("layers.0", layer)`
                if owner is None:
                    self.add_globals([name.value])
        elif (prefix := prefix_of(name)) is not None:
            self.found.prefixes = (*self.found.prefixes, prefix)
        else:
            self.unknown_name(holder, owner, method)

    def unknown_name(self, holder: ast.expr | None, owner: ast.ClassDef | None, method: str) -> None:
        if method in _RESTORES:
            return
        if owner is not None and _is_self(holder):
            self.found.classes.add(owner)
            return
        last = holder.attr if isinstance(holder, ast.Attribute) else holder.id if isinstance(holder, ast.Name) else ""
        if last not in CONFIGURATIONS and not last.endswith("config"):
            self.found.everything = True

    def dotted(self, path: ast.expr) -> None:
        if isinstance(path, ast.Constant) and isinstance(path.value, str):
            self.found.attributes.add(path.value.rpartition(".")[2])
            self.add_globals([path.value.rpartition(".")[2]])

    def global_name(self, key: ast.expr) -> None:
        if isinstance(key, ast.Constant):
            self.add_globals([str(key.value)])
        else:
            self.found.globals = None

    def add_globals(self, names: Iterable[str]) -> None:
        if self.found.globals is not None:
            self.found.globals.update(names)


def _decorators(node: ast.stmt) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])


def _attribute_store(node: ast.expr) -> ast.expr | None:
    """x of `x.__dict__`, `vars(x)`, `x._modules`."""
    if isinstance(node, ast.Attribute) and node.attr in _STORES:
        return node.value
    if _is_call_of(node, ("vars",)) and isinstance(node, ast.Call) and len(node.args) == 1:
        return node.args[0]
    return None


def _is_call_of(node: ast.expr, names: tuple[str, ...]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def prefix_of(name: ast.expr) -> str | None:
    """What the text of `f"layer{n}"`, `"layer%d" % n`, `"layer" + n` and `"layer{}".format(n)` begins with."""
    if isinstance(name, ast.JoinedStr):
        first = name.values[0] if name.values else None
        return str(first.value) if isinstance(first, ast.Constant) else None
    if isinstance(name, ast.Call) and isinstance(name.func, ast.Attribute) and name.func.attr == "format":
        start, ends = name.func.value, "{"
    elif isinstance(name, ast.BinOp):
        start, ends = name.left, "%" if isinstance(name.op, ast.Mod) else ""
    else:
        return None
    if not (isinstance(start, ast.Constant) and isinstance(start.value, str)):
        return prefix_of(start)
    return (start.value.partition(ends)[0] if ends else start.value) or None


def _is_self(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _classes_in(body: list[ast.stmt]) -> list[ast.ClassDef]:
    """The classes in a block of statements and in the blocks within it."""
    found: list[ast.ClassDef] = []
    for node in body:
        if isinstance(node, ast.ClassDef):
            found.append(node)
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.If, ast.Try, ast.With)):
            found += _classes_in(node.body)
            found += _classes_in(getattr(node, "orelse", []))
    return found


def _relatives(tree: ast.Module, classes: set[ast.ClassDef]) -> set[ast.ClassDef]:
    """The classes, and those of the file that derive from one of them or that one of them derives from."""
    if not classes:
        return classes
    all_classes = _classes_in(tree.body)
    bases = {node: {base.id for base in node.bases if isinstance(base, ast.Name)} for node in all_classes}
    found = set(classes)
    while True:
        names = {node.name for node in found}
        above = {name for node in found for name in bases[node]}
        more = {node for node in all_classes if node.name in above or bases[node] & names} - found
        if not more:
            return found
        found |= more
