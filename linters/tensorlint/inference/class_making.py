"""Classes that are not what their `class` statement says: replaced by a decorator, made by a call, changed by a metaclass."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tensorlint.inference.class_order import method_order
from tensorlint.inference.state import State
from tensorlint.inference.values import UNKNOWN, Class, Dictionary, Function, Instance, Library, Sequence, Value
from tensorlint.inference.walking import walk

# Methods of a metaclass that run when a class is made.
_MAKERS = ("__new__", "__init__")


class ClassMaking(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def decorated_class(self, node: ast.ClassDef, cls: Value) -> Value:
        """What the class's name stands for. A decorator of another file is taken to give the class back, as registries do."""
        for decorator in reversed(node.decorator_list):
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            function = self.eval(target)
            if isinstance(cls, Class) and self.is_decorator_of_file(decorator):
                maker = self.eval(decorator) if target is not decorator else function
                cls = self.replaced(cls, maker, function, decorator)
        ends = cls.own("__del__") if isinstance(cls, Class) else None
        if isinstance(ends, Function):
            self.runs_at_any_time(ends)
        return cls

    def is_of_file(self, function: Value) -> bool:
        made = function.cls if isinstance(function, Instance) else function
        return isinstance(made, (Function, Class)) and made.scope.file is self.file

    def runs_at_any_time(self, function: Function) -> None:
        """What the function changes of the module's lists and dictionaries is known at no line."""
        self.not_followed(function, [], {}, later=True)
        names = {name for (_, name), changed in self.reached_from(function).names.items() if changed}
        facts = self.own_file.facts.scopes[self.own_file.tree]
        facts.shared.update(names & facts.textual.keys())

    def replaced(self, cls: Class, maker: Value, function: Value, node: ast.AST) -> Value:
        """The class that a decorator of the program's own gives."""
        before = dict(cls.fields)
        result = self.call(maker, [cls], {}, node)
        for name, value in cls.fields.items():
            if before.get(name) is not value:
                cls.fields[name] = UNKNOWN  # what it puts there may be another thing for each class
        if result is cls or isinstance(result, Class):
            return result
        code = function.node if isinstance(function, Function) else None
        # It could not be followed, or its factory could not.
        return cls if isinstance(code, ast.FunctionDef) and _gives_back(code) else UNKNOWN

    def made_by_call(self, bases: Value, body: Value) -> None:
        """`type("Name", bases, body)`: a class that derives from these; from any of the file's, where they are unknown."""
        fields = body if isinstance(body, Dictionary) else Dictionary(None)
        self.stray_given((fields.items or {}).values())
        if not isinstance(bases, Sequence) or bases.items is None:
            self.derived.append((None, fields))
            return
        for base in bases.items:
            if isinstance(base, Class):
                self.derived.append((base, fields))
            elif not isinstance(base, Library):
                self.derived.append((None, fields))

    def names_of_body(self, body: Dictionary) -> set[str]:
        """What a class that was made by a call has of its own, with the attributes that its methods assign."""
        names = set(map(str, body.items or ()))
        for value in (body.items or {}).values():
            if isinstance(value, Function):
                names |= self.assigned_by(value.node)
        return names

    def forget_what_metaclass_changes(self, cls: Class, metaclass: Value) -> None:
        """A metaclass may put other things in the place of what the class's body binds."""
        if metaclass is UNKNOWN:
            metaclass = inherited_metaclass(cls)
        if _may_make_anything(cls.node):
            cls.fields.update(dict.fromkeys(cls.fields, UNKNOWN))
            cls.made_otherwise = True
        if isinstance(metaclass, (Function, Instance)):
            cls.fields.update(dict.fromkeys(cls.fields, UNKNOWN))
            cls.made_otherwise = True
        if not isinstance(metaclass, Class):
            return
        found = [self.find_in_class(metaclass, name) for name in (*_MAKERS, "__prepare__", "__getattribute__")]
        for maker in found[:2]:
            if isinstance(maker, Function):
                changed = self.assigned_by(maker.node)
                everything = _stores_items(maker.node)
                names = set(cls.fields)
                if everything:  # also what hides something of the bases from it
                    names.update(*(base.names() for base in method_order(cls) if isinstance(base, Class)))
                for name in names:
                    if everything or name in changed:
                        cls.fields[name] = UNKNOWN
        if any(each is not None for each in found[2:]):
            cls.fields.update(dict.fromkeys(cls.fields, UNKNOWN))

    def prepares_names(self, cls: Class, metaclass: Value) -> bool:
        """Whether the names of the class's body may be others from the start: a metaclass prepares them."""
        if metaclass is UNKNOWN:
            metaclass = inherited_metaclass(cls)
        if isinstance(metaclass, Class):
            return self.find_in_class(metaclass, "__prepare__") is not None
        return isinstance(metaclass, (Function, Instance)) or _may_make_anything(cls.node)

    def stores_otherwise(self, cls: Class) -> bool:
        """Whether a metaclass decides what becomes of attributes that are assigned to the class."""
        metaclass = _metaclass(cls) or inherited_metaclass(cls)
        return isinstance(metaclass, Class) and self.find_in_class(metaclass, "__setattr__") is not None

    def may_be_own(self, base: Value, node: ast.expr) -> bool:
        """Whether a base that is not known may be a class of the file: a parameter, one of two classes, a computed one."""
        if isinstance(base, (Class, Library)):
            return False
        if isinstance(node, ast.Attribute):
            return not (isinstance(node.value, ast.Name) and node.value.id in self.own_file.facts.imported)
        if not isinstance(node, ast.Name):
            return True
        facts = self.own_file.facts
        if node.id in facts.imported and node.id not in facts.scopes[self.own_file.tree].textual:
            return False
        given = list(_assigned(self.own_file.tree, node.id))
        # Bound by imports, and to stand-ins for what could not be imported.
        plain = given and all(isinstance(value, (ast.Name, ast.Attribute, ast.Constant)) for value in given)
        own = {part.id for value in given for part in walk(value) if isinstance(part, ast.Name)}
        named = own & {each.name for each in self.classes}
        if node.id in self.own_file.facts.imported:
            return bool(given) and (bool(named) or not plain)
        return not plain or bool(named)


def inherited_metaclass(cls: Class) -> Value:
    return next(filter(None, map(_metaclass, method_order(cls)[1:])), UNKNOWN)


def _may_make_anything(node: ast.ClassDef) -> bool:
    """Whether the metaclass is computed, or comes with keywords that nobody knows."""
    named = (ast.Name, ast.Attribute)
    return any(
        word.arg is None or (word.arg == "metaclass" and not isinstance(word.value, named)) for word in node.keywords
    )


def _metaclass(cls: Value) -> Value | None:
    """The metaclass that the class's statement names."""
    for keyword in cls.node.keywords if isinstance(cls, Class) else ():
        if keyword.arg == "metaclass" and isinstance(keyword.value, ast.Name):
            assert isinstance(cls, Class)
            found: Value | None = cls.scope.lookup(keyword.value.id)
            return found
    return None


def _gives_back(function: ast.FunctionDef) -> bool:
    """Whether a decorator gives the class that it is given, or makes one that does."""
    returned = [node.value for node in _own_statements(function) if isinstance(node, ast.Return)]
    names = {value.id if isinstance(value, ast.Name) else None for value in returned}
    if len(names) != 1:
        return False
    inner = {node.name: node for node in function.body if isinstance(node, ast.FunctionDef)}
    name = names.pop()
    if name in inner:
        return _gives_back(inner[name])
    given = [*function.args.posonlyargs, *function.args.args]
    return name is not None and any(each.arg == name for each in given)


def _own_statements(function: ast.FunctionDef) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.expr)):
            waiting += ast.iter_child_nodes(node)


def _stores_items(function: ast.AST) -> bool:
    """Whether a metaclass's method changes the namespace that it is given, or attributes by names that it computes."""
    for node in walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
            if isinstance(node.value, ast.Name):
                return True
        elif isinstance(node, ast.Call):
            func = node.func
            name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
            if name in ("setattr", "__setattr__", "update", "pop", "setdefault"):
                return True
    return False


def _assigned(tree: ast.Module, name: str) -> Iterator[ast.expr]:
    for node in walk(tree):
        if isinstance(node, ast.Assign):
            if any(isinstance(target, ast.Name) and target.id == name for target in node.targets):
                yield node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            if isinstance(node.target, ast.Name) and node.target.id == name:
                yield node.value
