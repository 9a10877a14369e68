"""What statements change of objects that others hold, as they are read: nothing is followed."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from tensorlint.inference.forward_hooks import FORWARD_HOOKS, HELD_AS, replaces_result
from tensorlint.inference.ops.torch.inplace import RESHAPING
from tensorlint.inference.walking import walk

# Methods that change a list, a dictionary or a set.
CHANGES = frozenset(
    ["append", "extend", "insert", "pop", "popitem", "remove", "clear", "update", "add", "discard", "setdefault", "sort", "reverse",
     "appendleft", "popleft"]
)  # fmt: skip
# Those that put something into a container, of layers too, or take it out.
PUTS = CHANGES | {
    "add_module", "register_module", "set_submodule", "__setitem__", "__delitem__", "__iadd__", "__setattr__", "__delattr__",
}  # fmt: skip
# Methods of a module that give it an attribute by a name.
_REGISTER = frozenset({"add_module", "register_module", "register_buffer", "register_parameter", "__setattr__"})
# What a progress bar writes beside what it goes through; no other object has such methods.
_SHOWS = frozenset({"set_postfix", "set_postfix_str", "set_description", "set_description_str"})
# Methods of an estimator that decide on the shape of what it gives.
LEARNS = frozenset({"fit", "partial_fit", "fit_transform", "fit_predict", "set_params"})
# Methods of tables that change them where they are told to: `inplace`.
PERHAPS_IN_PLACE = frozenset(
    ["drop", "dropna", "fillna", "replace", "rename", "rename_axis", "reset_index", "set_index", "set_axis", "sort_values",
     "sort_index", "drop_duplicates", "query", "eval", "clip", "where", "mask", "interpolate", "ffill", "bfill"]
)  # fmt: skip
DOUBLE = frozenset(["__setitem__", "__delitem__", "__iadd__", "__ior__", "__imul__"])
SHAPED_IN_PLACE = re.compile(
    r"\.(?:(?:un)?squeeze_|swap_tensors|resize(?:_|_as_)?|t_|transpose_|swap(?:axes|dims)_|set_)\(|\.(?:data|shape|dtype|strides)(?:\s*=[^=]|,[\w.\[\], \t]* =(?!=))"
)
# What gives a tensor another shape, by the library whose tensors it does that to: numpy's arrays let no `data` be assigned
# that changes a shape, torch's tensors no `shape`.
NEITHER: frozenset[str] = frozenset()
EITHER = frozenset({"torch", "numpy"})
_ASSIGNED = {"data": "torch", "shape": "numpy", "dtype": "numpy", "strides": "numpy"}
_CALLED = {**dict.fromkeys([*RESHAPING, "swap_tensors"], "torch"), "resize": "numpy"}
_HOOKS = FORWARD_HOOKS | HELD_AS
_TOLD_OF = PUTS | DOUBLE | _CALLED.keys() | _HOOKS | LEARNS | {"__setstate__", "isetitem"}
_BINDING = frozenset(
    [ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension, ast.arguments, ast.withitem,
     ast.Match, ast.Global, ast.Nonlocal, ast.Return, ast.Yield, ast.Lambda]
)  # fmt: skip
_LOOKED_AT = _BINDING | {ast.Attribute, ast.Subscript, ast.Call}
# What is one of the objects in it, or holds them.
_OF_SEVERAL = frozenset(
    [ast.IfExp, ast.BoolOp, ast.BinOp, ast.NamedExpr, ast.Await, ast.Starred, ast.List, ast.Tuple, ast.Set, ast.Dict]
)
_COMPREHENSIONS = frozenset([ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp])
_SEVERAL = frozenset([ast.List, ast.Tuple, ast.Set])
# Functions of operator, heapq and bisect that change their first argument, and types whose methods do.
CHANGE_GIVEN = frozenset(
    ["heappush", "heappop", "heapify", "heapreplace", "heappushpop", "insort", "insort_left", "insort_right", "iadd",
     "iconcat", "setitem", "delitem"]
)  # fmt: skip
_CHANGE_FIRST = CHANGE_GIVEN | PUTS | LEARNS
_BUILT_IN = frozenset(["list", "dict", "set", "deque", "OrderedDict", "defaultdict", "Counter"])
# Functions, and libraries of such, that leave lists and dictionaries as they are.
_READERS = frozenset(
    ["len", "range", "enumerate", "zip", "print", "isinstance", "tuple", "list", "dict", "set", "sum", "min", "max", "any", "all", "str",
     "int", "float", "bool", "repr", "sorted", "reversed", "hasattr", "getattr", "type", "id", "iter", "super", "issubclass", "abs"]
)  # fmt: skip
# Functions that call nothing that they are given.
_CALL_NOTHING = frozenset(
    ["len", "isinstance", "issubclass", "hasattr", "id", "type", "repr", "str", "int", "float", "bool", "print", "abs", "range"]
)  # fmt: skip
_LIBRARIES = frozenset(["torch", "np", "numpy", "F", "nn", "math", "os", "logging", "logger", "warnings", "json", "re"])
_OF_TENSORS = frozenset(["torch", "np", "numpy", "F", "math"])
# What makes a function that calls a method of what it is given.
_CALLERS = frozenset(["attrgetter", "methodcaller", "partial"])
_BY_NAME = frozenset(["setattr", "delattr", "getattr", "hasattr"])
_SETTERS = frozenset({"setattr", "__setattr__"})
_ASK_BY_NAME = frozenset(["getattr", "__getattribute__", "__getattr__", "attrgetter", "vars"])
# The dictionaries in which an object has its attributes, and a module its parts.
NAMESPACES = frozenset({"__dict__", "_modules", "_parameters", "_buffers"})
ALL_ATTRIBUTES = "__dict__"  # by which an object's other attributes are found


@dataclass(slots=True, eq=False, repr=False)
class Changes:
    """`names` are those whose objects the function changes, `attributes` the ones it assigns or changes of any object;
    `functions` and `methods` are called, `computed` says that something is which no name stands for. `reshapes` names
    the libraries to whose tensors it may give another shape in place."""

    names: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    # The same with the name of the object whose attribute it is, if it has one.
    attributes_of: set[tuple[str, str]] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    # Names whose objects have methods called, and those methods: `b.change` may be a function of a module b.
    receivers: set[str] = field(default_factory=set)
    called_of: set[tuple[str, str]] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)  # methods of what calls give
    handed: set[str] = field(default_factory=set)  # names that calls are given: functions that these may call
    # Names and attributes that go under other names, or into calls: what they hold may be changed there.
    lent: set[str] = field(default_factory=set)
    lent_attributes: set[str] = field(default_factory=set)
    # (name, attribute) of what may be a class, all but `self` itself; no name if it is computed: `type(self).n = 3`.
    of_classes: set[tuple[str, str]] = field(default_factory=set)
    # Names and attributes that stand where the function gives something back; `taken` says that something is changed which
    # a call or a property gives: what those give that are called, it may be.
    given: set[str] = field(default_factory=set)
    given_attributes: set[str] = field(default_factory=set)
    taken: bool = False
    # Names that it declares global or nonlocal: what it binds them to counts as given.
    shared: set[str] = field(default_factory=set)
    computed: bool = False
    reshapes: frozenset[str] = NEITHER


def changes_of(node: ast.AST, spared: str | None = None) -> Changes:
    """What the code changes, but for items at the place that the name `spared` holds."""
    found = Changes()
    others: list[tuple[set[str], ast.expr]] = []  # `rows = box.rows`, `for row in rows`
    functions, methods = found.functions, found.methods
    in_place: set[str] = set()  # names of what is called so
    part: Any
    for part in walk(node):
        kind = type(part)
        if kind is ast.Name:  # as half of the parts are
            if part.id == "swap_tensors":
                found.reshapes |= {"torch"}
        elif kind not in _LOOKED_AT:
            continue
        elif kind is ast.Attribute or kind is ast.Subscript:
            if type(part.ctx) is not ast.Load:
                if spared is not None and kind is ast.Subscript and isinstance(part.ctx, ast.Store):
                    if isinstance(part.slice, ast.Name) and part.slice.id == spared:
                        continue
                _changed(part, found)
                if kind is ast.Subscript:
                    methods.add("__setitem__")
                elif part.attr in _ASSIGNED:
                    found.reshapes |= {_ASSIGNED[part.attr]}
            elif kind is ast.Attribute and part.attr in _TOLD_OF:
                if part.attr in _CALLED:
                    found.reshapes |= {_CALLED[part.attr]}
                if part.attr in _HOOKS:
                    if replaces_result(part):
                        _hooked(part.value, found)
                elif part.attr not in _CALLED:  # `add = rows.append`, or called on the spot
                    _changed(part.value, found)
        elif kind is ast.Call:
            func, arguments, keywords = part.func, part.args, part.keywords
            lends = (arguments or keywords) and not _only_reads(func)
            calls = type(func) is not ast.Name or func.id not in _CALL_NOTHING
            for each in arguments:
                given = type(each)
                if given is ast.Name:
                    found.handed.add(each.id)
                    if lends:
                        found.lent.add(each.id)
                    continue
                if given is ast.Constant:
                    continue
                if given is ast.Attribute and calls:
                    _called_later(each, found)  # `map(box.add, xs)`
                elif given in _SEVERAL:
                    found.handed.update([inner.id for inner in each.elts if isinstance(inner, ast.Name)])
                if lends:
                    _lend(each, found)
            if lends and keywords:
                for word in keywords:
                    _lend(word.value, found)
            called = type(func)
            if called is ast.Name:
                name = func.id
                functions.add(name)
                if name in _BY_NAME:
                    _called_by_name(part, name, found)
                elif arguments and name in CHANGE_GIVEN:
                    _changed(arguments[0], found)  # `heappush(self.rows, x)`
                elif any(word.arg == "inplace" for word in keywords):
                    in_place.add(name)
            elif called is ast.Lambda:
                for each in arguments:
                    _changed(each, found)
                found.computed = True
            elif called is ast.Attribute:
                name, owner = func.attr, func.value
                methods.add(name)
                if arguments and name in _CHANGE_FIRST:
                    # `operator.setitem(self.rows, 0, x)`, `list.append(self.rows, x)`, `pd.DataFrame.insert(self.df, 0, "a", x)`
                    if name in CHANGE_GIVEN or (type(owner) is ast.Name and owner.id in _BUILT_IN) or _is_class(owner):
                        _changed(arguments[0], found)
                if name in FORWARD_HOOKS and len(arguments) > 1 and replaces_result(func):
                    _hooked(arguments[0], found)  # `nn.Module.register_forward_hook(layer, hook)`
                if name in _REGISTER and arguments:
                    if isinstance(arguments[0], ast.Constant):
                        _changed(ast.Attribute(owner, str(arguments[0].value), ast.Store()), found)
                    elif len(arguments) > 1 and isinstance(
                        arguments[1], ast.Constant
                    ):  # `object.__setattr__(box, "x", 1)`
                        _changed(ast.Attribute(arguments[0], str(arguments[1].value), ast.Store()), found)
                if name in _SHOWS:
                    pass
                elif type(owner) is ast.Name:
                    found.receivers.add(owner.id)
                    found.called_of.add((owner.id, name))
                elif type(owner) is not ast.Constant:
                    _receive(owner, name, found)  # `rows[0].change()`
                if (name[-1] == "_" and name[0] != "_") or name in LEARNS:
                    _changed(owner, found)
                for word in keywords:
                    if word.arg == "out":
                        found.reshapes |= {"torch"}
                    elif word.arg == "inplace" or (word.arg is None and name in PERHAPS_IN_PLACE):
                        # `table.dropna(inplace=True)`, `table.dropna(**options)`
                        _changed(arguments[0] if arguments and _is_class(owner) else owner, found)
            else:
                found.computed = True
                if called is ast.Call and _name_of(func.func) in _CALLERS:
                    for each in arguments:
                        _changed(each, found)  # `partial(pd.DataFrame.drop, inplace=True)(self.table, 0)`
                for word in keywords if called is ast.Call else ():
                    if word.arg == "inplace":  # `getattr(table, "dropna")(inplace=True)`
                        for each in func.args:
                            _changed(each, found)
            if arguments and not (functions.isdisjoint(_SETTERS) and methods.isdisjoint(_SETTERS)):
                found.reshapes |= {
                    _ASSIGNED[each.value]
                    for each in arguments
                    if isinstance(each, ast.Constant) and each.value in _ASSIGNED
                }
        else:
            _bind(part, found, others)
    for names, value in others:
        if isinstance(value, ast.Attribute) and not names.isdisjoint(found.functions):
            _called_later(value, found)  # `put = box.put`
            if not names.isdisjoint(in_place):
                _changed(value.value, found)  # `drop = table.drop; drop(0, inplace=True)`
    _receive_all(others, found)
    before = -1
    while before != len(others):  # until nothing of what is left is known to be changed
        before = len(others)
        waiting: list[tuple[set[str], ast.expr]] = []
        for names, value in others:
            if not (names.isdisjoint(found.names) and names.isdisjoint(found.lent)):
                _lend_all(value, found)
            elif not (names.isdisjoint(found.given) and names.isdisjoint(found.shared)):
                _give(value, found)
            else:
                waiting.append((names, value))
        others = waiting
    return found


def adds_layers(value: ast.expr) -> bool:
    """Whether what is added with `+=` is made on the spot of an object of a class: `layers += [nn.Linear(4, 2)]`."""
    if isinstance(value, (ast.List, ast.Tuple)):
        return any(map(adds_layers, value.elts))
    func = value.func if isinstance(value, ast.Call) else None
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    return name[:1].isupper()


def _called_by_name(call: ast.Call, function: str, found: Changes) -> None:
    """`setattr(box, "rows", [])`, `getattr(rows, "append")`."""
    arguments = call.args
    if function in ("setattr", "delattr"):
        if len(arguments) > 1:
            found.methods.add(f"__{function}__")
            _set_by_name(call, found)
    elif arguments:
        if isinstance(arguments[0], ast.Name):
            found.receivers.add(arguments[0].id)  # what is asked for may be a property
        name = arguments[1] if len(arguments) > 1 else None
        if isinstance(name, ast.Constant):
            found.methods.add(str(name.value))
            if name.value in LEARNS:
                _changed(arguments[0], found)
            if name.value in _CALLED:
                found.reshapes |= {_CALLED[name.value]}
            if name.value in _HOOKS:
                _hooked(arguments[0], found)


def _hooked(module: ast.expr, found: Changes) -> None:
    """`module.register_forward_hook(hook)`: calling it gives something else, as if it had another `forward`."""
    _changed(ast.Attribute(module, "forward", ast.Store()), found)


def _bind(part: Any, found: Changes, others: list[tuple[set[str], ast.expr]]) -> None:
    """Look at a statement, or a part of one, that binds names or gives something: the `others` are names with what they get."""
    kind = type(part)
    if kind is ast.Assign:
        value = part.value
        if not _makes(value):
            others.append((_bound(part.targets), value))
            if type(value) is ast.Attribute:
                found.methods.add(value.attr)  # `put = box.put`
    elif kind is ast.Return or kind is ast.Yield or kind is ast.Lambda:
        value = part.body if kind is ast.Lambda else part.value
        if value is not None:
            _give(value, found)
    elif kind is ast.For or kind is ast.AsyncFor or kind is ast.comprehension:
        others.append((_bound([part.target]), part.iter))
    elif kind is ast.arguments:
        places = [*part.posonlyargs, *part.args]
        pairs = [
            *zip(places[len(places) - len(part.defaults) :], part.defaults, strict=True),
            *zip(part.kwonlyargs, part.kw_defaults, strict=True),
        ]
        others += [({each.arg}, default) for each, default in pairs if default is not None]
    elif kind is ast.AugAssign:
        if isinstance(part.target, ast.Name):
            found.names.add(part.target.id)
        if adds_layers(part.value):
            found.methods.add("__iadd__")
    elif kind is ast.Global or kind is ast.Nonlocal:
        found.shared.update(part.names)
    elif kind is ast.withitem:
        if part.optional_vars is not None:
            others.append((_bound([part.optional_vars]), part.context_expr))
    elif kind is ast.Match:
        captured = {
            each.name
            for case in part.cases
            for each in walk(case.pattern)
            if isinstance(each, (ast.MatchAs, ast.MatchStar))
        }
        others.append(({name for name in captured if name is not None}, part.subject))
        for case in part.cases:
            for each in walk(case.pattern):
                if isinstance(each, ast.MatchClass):
                    found.lent_attributes.update(each.kwd_attrs)
    elif part.value is not None:  # `name: list = value`, `(name := value)`
        others.append((_bound([part.target]), part.value))


def _called_later(method: ast.Attribute, found: Changes) -> None:
    found.methods.add(method.attr)
    _receive(method.value, method.attr, found)


def _receive(owner: ast.expr, method: str, found: Changes) -> None:
    """What the expression stands for has the method called: `rows[0].change()`, `(first or second).change()`."""
    if method in _SHOWS:
        return
    root: Any = owner
    while type(root) is ast.Attribute or type(root) is ast.Subscript:
        root = root.value
    kind = type(root)
    if kind is ast.Name:
        found.receivers.add(root.id)
    elif kind is ast.Call:
        found.asked.add(method)
        if type(root.func) is ast.Name:  # `next(iter(rows)).change()`; what a method is called of is told where it is
            for each in root.args:
                _receive(each, method, found)
    elif kind in _OF_SEVERAL:
        for each in ast.iter_child_nodes(root):
            if isinstance(each, ast.expr):
                _receive(each, method, found)
    elif kind in _COMPREHENSIONS:
        for each in root.generators:
            _receive(each.iter, method, found)


def _receive_all(others: list[tuple[set[str], ast.expr]], found: Changes) -> None:
    """Likewise of what gave a name what it holds: `for row in rows: row.change()`."""
    waiting, before = others, -1
    while waiting and before != len(waiting):
        before = len(waiting)
        left: list[tuple[set[str], ast.expr]] = []
        for names, value in waiting:
            if names.isdisjoint(found.receivers):
                left.append((names, value))
            else:
                for name, method in found.called_of if type(value) is ast.Call else ():
                    if name in names:
                        found.asked.add(method)
                _mention(value, found.receivers, set())
        waiting = left


def _bound(targets: list[ast.expr]) -> set[str]:
    """The names among the targets."""
    found: set[str] = set()
    each: Any
    for each in targets:
        kind = type(each)
        if kind is ast.Name:
            found.add(each.id)
        elif kind is ast.Tuple or kind is ast.List:
            found |= _bound(each.elts)
        else:  # the objects, and what stands in an index
            found.update([part.id for part in walk(each) if isinstance(part, ast.Name)])
    return found


def _makes(value: ast.expr) -> bool:
    """Whether what the expression gives is new, and no list or object."""
    if type(value) is ast.Constant:
        return True
    if type(value) is ast.Call:
        func = value.func
        if type(func) is ast.Attribute:
            return type(func.value) is ast.Name and func.value.id in _OF_TENSORS
    return False


def _mention(value: ast.expr, names: set[str], attributes: set[str]) -> bool:
    """Add the names and attributes of which the value may be made; whether code may run for it: calls, or attributes, which
    may be properties."""
    runs = False
    root: Any = value
    while type(root) is ast.Attribute:  # `self.rows`, as many are
        attributes.add(root.attr)
        root, runs = root.value, True
    if type(root) is ast.Name:
        names.add(root.id)
        return runs
    part: Any
    for part in () if _makes(value) else walk(root):
        kind = type(part)
        if kind is ast.Name:
            names.add(part.id)
        elif kind is ast.Attribute:
            attributes.add(part.attr)
            runs = True
        elif kind is ast.Call:
            runs = True
            _mention_by_name(part, attributes)
    return runs


def _mention_by_name(call: ast.Call, attributes: set[str]) -> None:
    """The attributes that a call asks for by their names: `getattr(self, "rows")`; a name that is computed may be any."""
    func: Any = call.func
    name = func.attr if type(func) is ast.Attribute else getattr(func, "id", "")
    if name in _ASK_BY_NAME:
        texts = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        attributes.update(texts or [ALL_ATTRIBUTES])


def _give(value: ast.expr, found: Changes) -> None:
    """What any part of the expression stands for may be given back."""
    _mention(value, found.given, found.given_attributes)


def _lend_all(value: ast.expr, found: Changes) -> None:
    """What any part of the expression stands for may be in other hands."""
    if _mention(value, found.lent, found.lent_attributes):
        found.taken = True


def is_namespace(node: ast.expr) -> bool:
    """`box.__dict__`, `vars(box)`, `getattr(model, "_modules")`, `vars(model)["_modules"]`."""
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name) or not node.args:
            return False
        if node.func.id == "getattr":
            return len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and node.args[1].value in NAMESPACES
        return node.func.id == "vars" and len(node.args) == 1
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in NAMESPACES and is_namespace(node.value)
    return isinstance(node, ast.Attribute) and node.attr in NAMESPACES


def _lend(value: ast.expr, found: Changes) -> None:
    """What the expression holds, or an item of it, is in other hands."""
    part: Any = value
    while type(part) is ast.Subscript:
        part = part.value
    if type(part) is ast.Name:
        found.lent.add(part.id)
    elif type(part) is ast.Attribute:
        found.lent_attributes.add(part.attr)
    elif type(part) is ast.Call:
        _mention_by_name(part, found.lent_attributes)
        if type(part.func) is ast.Attribute:
            _lend(part.func.value, found)  # `self.rows.values()`
        elif _only_reads(part.func):
            for each in part.args:
                _lend(each, found)  # `next(iter(self.rows))`
    elif type(part) in _SEVERAL:
        for each in part.elts:
            _lend(each, found)
    elif type(part) is ast.Starred:
        _lend(part.value, found)


def _only_reads(func: ast.expr) -> bool:
    root: Any = func
    if type(root) is ast.Name:
        return root.id in _READERS
    if type(root) is ast.Attribute and root.attr in PUTS and isinstance(root.value, ast.Attribute):
        if root.value.attr[:1].isupper():  # `nn.Sequential.append(layers, layer)`
            return False
    while type(root) is ast.Attribute:
        root = root.value
    return type(root) is ast.Name and root.id in _LIBRARIES


def _name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_class(owner: ast.expr) -> bool:
    name = _name_of(owner)
    return name[:1].isupper() and not name.isupper()


def _set_by_name(call: ast.Call, found: Changes) -> None:
    """`setattr(type(self), "n", 3)`; a name that is computed may be any, which `rebinding.py` sees to."""
    owner, name = call.args[:2]
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        _changed(ast.Attribute(owner, name.value, ast.Store()), found)


def _changed(target: ast.expr, found: Changes) -> None:
    """`self.rows[0].x = ...` changes what self holds as `rows`, and an x."""
    part: Any = target
    kind = type(part)
    if kind is ast.Attribute:
        owner = part.value.id if type(part.value) is ast.Name else ""
        if owner != "self":
            found.of_classes.add((owner, part.attr))
    while kind is ast.Attribute or kind is ast.Subscript:
        if kind is ast.Attribute:
            found.attributes.add(part.attr)
            found.attributes_of.add((part.value.id if type(part.value) is ast.Name else "", part.attr))
        elif isinstance(part.slice, ast.Constant) and isinstance(part.slice.value, str) and is_namespace(part.value):
            found.attributes.add(part.slice.value)  # `vars(box)["rows"][0] = ...`
        elif part is not target and is_namespace(part.value):
            found.lent_attributes.add(ALL_ATTRIBUTES)
        part = part.value
        kind = type(part)
        if kind is ast.Call and is_namespace(part):
            part = part.args[0]
            kind = type(part)
    if kind is ast.Name:
        found.names.add(part.id)
    else:
        _lend_all(part, found)
