"""What a file changes by other ways than an assignment that can be followed.

`setattr(model, name, layer)`, `vars(model).update(...)`, `mock.patch.object(Model, "make", ...)`, `globals()[name] = f`,
`torch.relu = mine`: what is so changed is not known wherever it is read. Names that are written out cost no more than
themselves; a name that is computed costs every attribute of the classes it may belong to.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from tensorlint.inference.computed_names import Pattern, names_part_of, patterns_of
from tensorlint.inference.declared import CONFIGURATIONS
from tensorlint.inference.kept import kept_with
from tensorlint.inference.names import ScopeFacts
from tensorlint.inference.values import (
    PLAIN,
    Attribute,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Partial,
    Range,
    Scalar,
    Sequence,
    Slice,
    Tensor,
    Value,
    is_none,
)
from tensorlint.inference.walking import children, statements
from tensorlint.inference.words import lines_with, words_of

# Only statements with one of these are looked into: what is searched for, by a word that such a text has.
_SOUGHT = {
    "setattr": ("setattr",),
    "delattr": ("delattr",),
    "__setattr__": ("__setattr__",),
    "__delattr__": ("__delattr__",),
    "__dict__": ("__dict__",),
    "__class__": ("__class__ =",),
    "__bases__": ("__bases__ =",),
    **{name: (f".{name} =",) for name in ("__getattribute__", "__code__", "__defaults__", "__kwdefaults__")},
    **{name: (f".{name}",) for name in ("__globals__", "f_globals")},
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
    **{f"_{kind}": (f"._{kind}", f"'_{kind}'", f'"_{kind}"') for kind in ("modules", "parameters", "buffers")},
}
_NAMESPACES = ("globals", "locals", "vars")
_GLOBALS_OF = ("__globals__", "f_globals")
_OF_FUNCTIONS = ("__code__", "__defaults__", "__kwdefaults__")
# What a change reaches: any attribute, or what torch.nn keeps in a dictionary of the module's own.
Reach = Literal["any", "modules", "tensors", "parts"]
_PARTS: dict[str, Reach] = {"_modules": "modules", "_parameters": "parts", "_buffers": "parts"}
_LEAVES = frozenset([ast.Name, ast.Constant])
_STORES = frozenset([*_PARTS, "__dict__"])
# Methods of such a dictionary, and functions, that change nothing in it and hand nothing on but what it holds.
_LOOKS = frozenset(["items", "values", "keys", "get", "copy", "__len__", "__contains__", "__iter__", "__getitem__"])
_READS = frozenset(
    ["len", "list", "tuple", "set", "dict", "iter", "sorted", "reversed", "enumerate", "zip", "any", "all", "bool", "print",
     "isinstance", "id", "repr", "str", "OrderedDict"]
)  # fmt: skip
# Methods that give a module a part by name, and modules all of whose parts have names. They refuse a name that the
# module has for something else.
_REGISTERS: dict[str, Reach] = {"add_module": "modules", "register_buffer": "tensors", "register_parameter": "tensors"}
_CONTAINERS = frozenset(["Sequential", "ModuleList", "ModuleDict"])
_CHANGES = frozenset(["update", "pop", "clear", "setdefault", "popitem", "__setitem__", "__delitem__"])
_INITIALISERS = frozenset(["__init__", "__post_init__", "__new__"])
# Methods in which all attributes of an object are carried over as they were.
_RESTORES = frozenset(["__setstate__", "__getstate__", "__deepcopy__", "__copy__", "__reduce__", "__getattr__"])


@dataclass(slots=True, eq=False, repr=False)
class Rebound:
    """`attributes` and `patterns` are of any object, `classes` those whose attributes may all have changed (every class
    of the file, if `everything`); of those in `modules` and `tensors` only the modules and tensors that torch.nn keeps for
    them may be others (None stands for every class); `globals` are names of the module (each of them, if None)."""

    attributes: set[str] = field(default_factory=set)
    patterns: tuple[Pattern, ...] = ()
    classes: set[ast.ClassDef] = field(default_factory=set)
    everything: bool = False
    modules: set[ast.ClassDef | None] = field(default_factory=set)
    tensors: set[ast.ClassDef | None] = field(default_factory=set)
    globals: set[str] | None = field(default_factory=set)
    # Names that are patched, with the first word of what they are patched in: a library, it may be.
    patched: set[tuple[str, str]] = field(default_factory=set)

    def attribute(self, name: str, cls: ast.ClassDef) -> bool:
        """Whether the attribute of the class's instances may be another than the one that was assigned."""
        if name in self.attributes or (self.patterns and any(each.fits(name) for each in self.patterns)):
            return True
        return self.everything or cls in self.classes

    def member(self, names: Iterable[str]) -> bool:
        """Whether another module may stand in the place of one that a container of torch.nn has under these names."""
        if self.everything or None in self.modules:
            return True
        return any(name in self.attributes or any(each.fits(name) for each in self.patterns) for name in names)

    def part(self, held: Value | None, cls: ast.ClassDef | None) -> bool:
        """Whether something else may stand where an object has this (nothing, if None): a number, a list or a method that
        a module has hides what is put into its dictionaries. Without a class, of any object."""
        modules = None in self.modules or cls in self.modules
        tensors = None in self.tensors or cls in self.tensors
        if isinstance(held, Tensor):
            return tensors
        if isinstance(held, Instance):
            return modules and (held.cls.is_module or not held.cls.complete)
        if isinstance(held, LibraryObject):
            return modules
        if not (modules or tensors):
            return False
        return held is None or is_none(held) or not (isinstance(held, _HIDES_PARTS) or _is_plain(held))


# What is in the dictionary of the object itself, where torch.nn looks first.
_HIDES_PARTS = (
    Attribute, Class, Const, Dictionary, Function, Library, Number, Partial, Range, Scalar, Sequence, Slice,
)  # fmt: skip


def _is_plain(held: Value) -> bool:
    return isinstance(held, Opaque) and (held.kind == PLAIN or held.integer or held.told is not None)


def perhaps_another_part(held: Opaque, either: Opaque) -> Opaque:
    """What nobody knows, read twice, where another module may have taken its place: as a number it is the same one."""
    either.kind, either.integer, either.optional = held.kind, held.integer, held.optional
    either._symbol = held.size
    return either


NOTHING = Rebound()


def rebound(tree: ast.Module, text: str) -> Rebound:
    return kept_with(tree, "rebound", lambda: _rebound(tree, text))


def _rebound(tree: ast.Module, text: str) -> Rebound:
    words = words_of(text) & _SOUGHT.keys()
    lines = lines_with((sought for word in words for sought in _SOUGHT[word]), text) if words else []
    if not lines:
        return NOTHING
    walk = _Walk(lines, text, tree)
    walk.block(tree.body, None, "")
    found = walk.found
    for classes in (found.classes, found.modules, found.tensors):
        classes |= _relatives(tree, {each for each in classes if each is not None})
    return found


def share_globals(found: Rebound, module: ScopeFacts) -> None:
    """The module's names that are changed through `globals()` are known nowhere, as if a function declared them global."""
    if found.globals is None:
        module.shared.update(module.textual)
    elif found.globals:
        module.by_key.update(found.globals & module.assigned.keys())
        module.shared.update(module.by_key)


class _Walk:
    """`lines` are those, in order, on which one of the words stands: no other statement is looked into."""

    def __init__(self, lines: list[int], text: str, tree: ast.Module) -> None:
        self.found = Rebound()
        self.lines = lines
        self.text = text
        self.parameters: set[str] = set()  # of the functions around
        self.scope: ast.AST = tree  # or the innermost function
        self.looked: set[ast.AST] = set()  # the dictionaries of parts that are only looked at

    def block(self, body: Iterable[ast.AST], owner: ast.ClassDef | None, method: str) -> None:
        for node in body:
            if type(node) in _LEAVES:
                continue
            if isinstance(node, ast.stmt):
                at = bisect_left(self.lines, min([node.lineno, *(each.lineno for each in _decorators(node))]))
                if at == len(self.lines) or self.lines[at] > (node.end_lineno or node.lineno):
                    continue
            if isinstance(node, ast.ClassDef):
                self.block(node.body, node, "")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                outer = self.parameters, self.scope
                self.parameters = self.parameters | {each.arg for each in (*node.args.posonlyargs, *node.args.args)}
                self.block(node.decorator_list, owner, method)
                self.scope = node
                # What stands within an initialiser runs when it is called, if it is.
                within = f"{method}.{node.name}" if method in _INITIALISERS else method or node.name
                self.block(node.body, owner, within)
                self.parameters, self.scope = outer
            else:
                if type(node) in _LOOKING:
                    self.looked.update(_looked_at(node))
                if isinstance(node, ast.Call):
                    self.call(node, owner, method)
                elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                        self.target(target, owner, method)
                    if isinstance(node, ast.Assign) and _attribute_store(node.value) is not None:
                        # another name of the dictionary
                        self.unknown_name(_attribute_store(node.value), owner, method, _reach(node.value))
                elif isinstance(node, ast.Delete):
                    for target in node.targets:
                        self.target(target, owner, method)
                elif isinstance(node, ast.Attribute) and node.attr in _PARTS and node not in self.looked:
                    self.unknown_name(node.value, owner, method, _reach(node))  # in other hands
                self.block(children(node), owner, method)

    def target(self, target: ast.expr, owner: ast.ClassDef | None, method: str) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self.target(each, owner, method)
        elif isinstance(target, ast.Attribute) and target.attr in (
            "__dict__",
            "__class__",
            "__bases__",
            "__getattribute__",
        ):
            self.unknown_name(target.value, owner, method)
        elif isinstance(target, ast.Attribute) and target.attr in _OF_FUNCTIONS:
            made = target.value
            name = made.attr if isinstance(made, ast.Attribute) else made.id if isinstance(made, ast.Name) else ""
            self.found.attributes.add(name)
            self.add_globals([name])
        elif isinstance(target, ast.Attribute) and target.attr in _PARTS:
            if not (_is_self(target.value) and method in _INITIALISERS):
                self.unknown_name(target.value, owner, method, _reach(target))
        elif isinstance(target, ast.Subscript):
            holder = _attribute_store(target.value)
            if holder is not None:
                if _is_call_of(target.value, ("getattr",)):
                    method = ""  # which is not followed as an assignment is
                self.patch(holder, target.slice)
                self.named(target.slice, holder, owner, method, _reach(target.value))
            elif _is_namespace(target.value):
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
            elif len(arguments) >= 2:
                self.patch(arguments[0], arguments[1])
                if (
                    isinstance(func, ast.Name)
                    and isinstance(arguments[1], ast.Constant)
                    and not (_is_self(arguments[0]) and method not in _INITIALISERS)
                ):  # `setattr(model, "norm", layer)` is followed as an assignment is
                    return
                part = name == "setattr" and names_part_of(arguments[1], arguments[0], self.scope)
                self.named(arguments[1], arguments[0], owner, method, "modules" if part else "any")
        elif name == "set_submodule" and isinstance(func, ast.Attribute) and node.args:
            self.submodule(node.args[0], func.value, owner, method)
        elif name == "register_module" and isinstance(func, ast.Attribute) and node.args:
            self.named(node.args[0], func.value, owner, method, "modules")
        elif name in _REGISTERS and isinstance(func, ast.Attribute) and node.args:
            # A name that is written out is followed as an assignment is; an initialiser's are taken to be new ones.
            own = _is_self(func.value) and method in _INITIALISERS
            if not (own or isinstance(node.args[0], ast.Constant) or self.is_container(func.value, owner)):
                self.named(node.args[0], func.value, owner, method, _REGISTERS[name])
        elif name in ("setitem", "delitem") and len(node.args) > 1:  # `operator.setitem(vars(box), "x", 1)`
            holder = _attribute_store(node.args[0])
            if holder is not None:
                self.named(node.args[1], holder, owner, "", _reach(node.args[0]))
        elif name in ("__set__", "fset") and isinstance(func, ast.Attribute) and isinstance(func.value, ast.Attribute):
            self.found.attributes.add(func.value.attr)  # `Box.n.__set__(box, 5)`
        elif name == "object" and len(node.args) >= 2 and isinstance(func, ast.Attribute):
            self.named(node.args[1], node.args[0], owner, "")
            self.patch(node.args[0], node.args[1])
        elif name == "multiple" and isinstance(func, ast.Attribute):
            self.found.attributes.update(each.arg for each in node.keywords if each.arg)
            self.add_globals(each.arg for each in node.keywords if each.arg)
        elif name == "dict" and isinstance(func, ast.Attribute) and node.args:  # `mock.patch.dict(...)`
            if _is_namespace(node.args[0]):
                self.found.globals = None
        elif name == "patch" and node.args:
            self.dotted(node.args[0])
        elif isinstance(func, ast.Attribute) and name in _CHANGES:
            holder = _attribute_store(func.value)
            if holder is None and node.args and isinstance(func.value, ast.Name) and func.value.id == "dict":
                holder = _attribute_store(node.args[0])  # `dict.update(vars(box), x=1)`
                if holder is not None:
                    self.unknown_name(holder, owner, method, _reach(node.args[0]))
            elif holder is not None:
                if name in ("pop", "setdefault", "__setitem__", "__delitem__") and node.args:
                    self.named(node.args[0], holder, owner, "", _reach(func.value))
                else:
                    keys = _keys_written(node.args)
                    if keys is not None and name == "update":
                        for key in keys:
                            self.named(key, holder, owner, "", _reach(func.value))
                    elif node.args or name in ("clear", "popitem"):
                        self.unknown_name(holder, owner, method, _reach(func.value))
                    self.found.attributes.update(each.arg for each in node.keywords if each.arg)
            elif _is_namespace(func.value):
                if name in ("__setitem__", "setdefault") and node.args:
                    self.global_name(node.args[0])
                elif node.args:
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

    def named(
        self, name: ast.expr, holder: ast.expr, owner: ast.ClassDef | None, method: str, reach: Reach = "any"
    ) -> None:
        """The attribute `name` of `holder` is set or deleted."""
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            if not (method in _INITIALISERS and _is_self(holder)):  # that is followed as an assignment is
                self.found.attributes.add(name.value)
                if name.value in _PARTS:
                    self.unknown_name(None, owner, method, "parts")
                if owner is None:
                    self.add_globals([name.value])
        elif method in _RESTORES:
            return
        elif (patterns := patterns_of(name, self.scope)) is not None:
            names = [each.start for each in patterns if each.end is None]
            self.found.attributes.update(names)
            self.found.patterns = (*self.found.patterns, *(each for each in patterns if each.end is not None))
            if owner is None:
                self.add_globals(names)
        else:
            self.unknown_name(holder, owner, method, reach)

    def submodule(self, name: ast.expr, holder: ast.expr, owner: ast.ClassDef | None, method: str) -> None:
        """`set_submodule("block.0.fc", layer)` sets an attribute of whatever module stands there."""
        known = patterns_of(name, self.scope)
        if known is not None and all(each.end is None for each in known):
            self.found.attributes.update(part for each in known for part in each.start.split("."))
        else:
            self.found.modules.add(None)
            self.found.attributes.update(part for each in known or () for part in each.start.split(".")[:-1])

    def unknown_name(
        self, holder: ast.expr | None, owner: ast.ClassDef | None, method: str, reach: Reach = "any"
    ) -> None:
        if method in _RESTORES:
            return
        own = owner if owner is not None and _is_self(holder) else None
        last = holder.attr if isinstance(holder, ast.Attribute) else holder.id if isinstance(holder, ast.Name) else ""
        if own is None and (last in CONFIGURATIONS or last.endswith("config")):
            return
        if reach in ("modules", "parts"):
            self.found.modules.add(own)
        if reach in ("tensors", "parts"):
            self.found.tensors.add(own)
        if reach == "any" and own is not None:
            self.found.classes.add(own)
        elif reach == "any":
            self.found.everything = True

    def dotted(self, path: ast.expr) -> None:
        if isinstance(path, ast.Constant) and isinstance(path.value, str):
            self.found.attributes.add(path.value.rpartition(".")[2])
            self.found.patched.add((path.value.partition(".")[0], path.value.rpartition(".")[2]))
            self.add_globals([path.value.rpartition(".")[2]])

    def patch(self, holder: ast.expr, name: ast.expr) -> None:
        """`mock.patch.object(torch, "relu", f)`, `monkeypatch.setattr(np.random, "rand", f)`."""
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            while isinstance(holder, ast.Attribute):
                holder = holder.value
            if isinstance(holder, ast.Name):
                self.found.patched.add((holder.id, name.value))

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
    """x of `x.__dict__`, `vars(x)`, `x._modules`, `getattr(x, "_modules")`, `vars(x)["_modules"]`."""
    if isinstance(node, ast.Attribute) and node.attr in _STORES:
        return node.value
    if isinstance(node, ast.Call):
        if _is_call_of(node, ("vars",)) and len(node.args) == 1:
            return node.args[0]
        if _is_call_of(node, ("getattr",)) and len(node.args) > 1 and _named_store(node.args[1]) is not None:
            return node.args[0]
    if isinstance(node, ast.Subscript) and _named_store(node.slice) is not None:
        return _attribute_store(node.value)
    return None


def _keys_written(given: list[ast.expr]) -> list[ast.expr] | None:
    """The keys of `update({"first": 1, "second": 2})`, if all of them are written out."""
    if len(given) != 1 or not isinstance(given[0], ast.Dict):
        return None
    keys = [key for key in given[0].keys if isinstance(key, ast.Constant)]
    return list[ast.expr](keys) if len(keys) == len(given[0].keys) else None


def _named_store(node: ast.expr) -> str | None:
    """The name of such a dictionary, written as a text."""
    name = node.value if isinstance(node, ast.Constant) else None
    return name if isinstance(name, str) and name in _STORES else None


def _reach(store: ast.expr) -> Reach:
    if isinstance(store, ast.Subscript):
        return _PARTS.get(_named_store(store.slice) or "", "any")
    if isinstance(store, ast.Call) and len(store.args) > 1:
        return _PARTS.get(_named_store(store.args[1]) or "", "any")
    return _PARTS.get(store.attr, "any") if isinstance(store, ast.Attribute) else "any"


_LOOKING = frozenset(
    [ast.Attribute, ast.Subscript, ast.Call, ast.Compare, ast.For, ast.AsyncFor, ast.comprehension, ast.If, ast.While, ast.IfExp,
     ast.Assert, ast.UnaryOp, ast.Starred, ast.Dict, ast.Assign]
)  # fmt: skip


def _looked_at(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node of which it changes nothing and keeps none."""
    if isinstance(node, ast.Attribute):
        if node.attr in _LOOKS or node.attr in _CHANGES:  # a change is seen to with the call
            yield node.value
    elif isinstance(node, ast.Subscript):
        yield node.value
    elif isinstance(node, ast.Call):
        if (
            isinstance(node.func, (ast.Name, ast.Attribute))
            and ((node.func.id if isinstance(node.func, ast.Name) else node.func.attr) in _READS)
            and not (isinstance(node.func, ast.Attribute) and node.func.attr == "dict")
        ):  # `mock.patch.dict(...)`
            yield from node.args
        yield from (word.value for word in node.keywords if word.arg is None)
    elif isinstance(node, ast.Compare):
        yield from (node.left, *node.comparators)
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.iter
    elif isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        yield node.test
    elif isinstance(node, (ast.UnaryOp, ast.Starred)):
        yield node.operand if isinstance(node, ast.UnaryOp) else node.value
    elif isinstance(node, ast.Dict):
        yield from (value for key, value in zip(node.keys, node.values, strict=True) if key is None)
    elif isinstance(node, ast.Assign) and _attribute_store(node.value) is not None:
        yield node.value


def _is_call_of(node: ast.expr, names: tuple[str, ...]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _is_namespace(node: ast.expr) -> bool:
    """`globals()`, `f.__globals__`."""
    return _is_call_of(node, _NAMESPACES) or (isinstance(node, ast.Attribute) and node.attr in _GLOBALS_OF)


def _is_self(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _relatives(tree: ast.Module, classes: set[ast.ClassDef]) -> set[ast.ClassDef]:
    """The classes, and those of the file that derive from one of them or that one of them derives from."""
    if not classes:
        return classes
    all_classes = [node for node in statements(tree) if isinstance(node, ast.ClassDef)]
    bases = {node: {base.id for base in node.bases if isinstance(base, ast.Name)} for node in all_classes}
    found = set(classes)
    while True:
        names = {node.name for node in found}
        above = {name for node in found for name in bases[node]}
        more = {node for node in all_classes if node.name in above or bases[node] & names} - found
        if not more:
            return found
        found |= more
