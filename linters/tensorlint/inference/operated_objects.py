"""Objects whose classes change what they hold, or are given, where Python itself calls a method: `h + a`, `len(h)`, `a in h`.

Such calls are not followed: wherever an expression has such an object in hand, any of these methods may have been called.
Only the files that define one that changes anything are followed in this way.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from tensorlint.inference.class_order import method_order
from tensorlint.inference.frames import Frame
from tensorlint.inference.implicit_calls import held_by
from tensorlint.inference.interpreter import Interpreter
from tensorlint.inference.own_methods import asked_alone
from tensorlint.inference.values import UNKNOWN, Class, Dictionary, Function, Instance, Opaque, Sequence, Value

# Other methods are followed where they are called, or called by what makes, copies and stores objects alone.
_IMPLICIT = re.compile(
    r"def __(?!init__|post_init__|new__|call__|enter__|exit__|init_subclass__|class_getitem__|set_name__|del__|setstate__"
    r"|getstate__|reduce__|reduce_ex__|getnewargs__|dir__|sizeof__|sklearn_)\w+__\("
)
# What asks for attributes, which anything does that has the object in hand.
_OF_ATTRIBUTES = frozenset({"__getattr__", "__getattribute__", "__get__"})
_GIVEN = frozenset({Sequence, Dictionary, Instance, Opaque})
# What may call such methods, or have them called, of what stands in it.
_OPERATIONS = frozenset([
    ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Subscript, ast.Call, ast.JoinedStr, ast.Attribute,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.Set, ast.Dict, ast.Starred,
])  # fmt: skip
# Is given texts.
_OF_NAMES = frozenset({"__getattr__", "__getattribute__", "__delattr__", "__format__"})
_STATEMENTS = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Delete, ast.Assert)


def are_made(text: str) -> bool:
    """Whether the file has a class with such a method."""
    return "def __" in text and _IMPLICIT.search(text) is not None


def _has_such_methods(cls: Class) -> bool:
    """Whether the class, or a base of it, has a method that Python calls by itself."""
    own = (base for base in method_order(cls) if isinstance(base, Class))
    return any(_IMPLICIT.match(f"def {name}(") for base in own for name in base.methods)


def _is_given_objects(method: Function) -> bool:
    node: Any = method.node
    given = getattr(node, "args", None)
    if given is None or getattr(node, "name", "") in _OF_NAMES:
        return given is None
    return len(given.args) + len(given.posonlyargs) > 1 or given.vararg is not None


_evaluated = Interpreter.eval


class OperatedInterpreter(Interpreter):
    """The interpreter of a file that has such classes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.acting: list[Instance] = []
        self.in_hand: list[Value] = []
        self.acts: dict[tuple[Class, int], list[Function]] = {}
        # How many changes there were before the first object of such a class.
        self.changed_before: int | None = None
        for kind in _STATEMENTS:
            self.handlers[kind] = self._acting(self.handlers[kind])

    def _acting(self, handler: Any) -> Any:
        def follow(statement: Any) -> None:
            self.act()
            if isinstance(statement, (ast.AugAssign, ast.Delete)):  # whose targets are not evaluated as expressions
                for target in statement.targets if isinstance(statement, ast.Delete) else [statement.target]:
                    owner = target.value if isinstance(target, (ast.Subscript, ast.Attribute)) else target
                    self.note(self.eval(owner))
                    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Name):
                        self.note(self.eval(target.slice))
            handler(statement)
            self.act()

        return follow

    def eval(self, node: ast.expr) -> Value:
        before = len(self.acting)
        value = _evaluated(self, node)
        if len(self.acting) > before:
            kind = type(node)
            if kind is ast.Attribute:  # which calls no other method of the object
                self.acting[before:] = [each for each in self.acting[before:] if self._answers(each.cls)]
            if kind in _OPERATIONS and len(self.acting) > before:
                self.act()
        if type(value) is Opaque and not value.parts:  # as most are, and in which no other is in hand
            self.in_hand.append(value)
        elif type(value) in _GIVEN:
            self.note(value)
        return value

    def eval_joined_string(self, node: ast.JoinedStr) -> Value:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):  # a name, too: its object's `__format__` is called
                self.eval(part.value)
                if part.format_spec is not None:
                    self.eval(part.format_spec)
        return UNKNOWN

    def store_attribute(self, receiver: Value, name: str, value: Value) -> None:
        shown = self.find_in_class(receiver.cls, name) if type(receiver) is Instance else None
        if shown is not None:  # a descriptor, it may be
            self.note(shown)
            self.note(value)
            for cls in self.classes if not isinstance(shown, Instance) else ():  # nobody knows of which class
                setter = cls.own("__set__")
                if isinstance(setter, Function):
                    self.runs_unseen(setter, [receiver, value], {})
        super().store_attribute(receiver, name, value)

    def note(self, value: Value) -> None:
        """The value is in hand."""
        if type(value) in _GIVEN:
            self.in_hand.append(value)
            if self.changed_before is None and isinstance(value, Instance) and not value.generic:
                if _has_such_methods(value.cls):
                    self.changed_before = len(self.mutations)
            for each in held_by(value):
                # One that is one of several: of each of these.
                for one in each.parts if isinstance(each, Opaque) else (each,):
                    if type(one) is Instance and self.methods_that_act(one.cls):
                        self.acting.append(one)

    def forget_changed_between_calls(self, frame: Frame, since: int, called: int) -> None:
        """Python may have called the methods of an object before any change that there was since it was made."""
        super().forget_changed_between_calls(frame, since, called)
        if self.changed_before is not None:
            seen: set[int] = set()
            for owner, name in self.mutations[max(since, self.changed_before) :]:
                self.forget_change(owner, name, seen)

    def act(self) -> None:
        """What the methods may have changed that Python may have called since this was asked the last time."""
        acting, in_hand = self.acting, self.in_hand
        if not acting:
            in_hand.clear()
            return
        self.acting, self.in_hand = [], []
        methods = [
            Function(method.node, method.scope, method.owner, receiver, method.defaults, "function", method.decorated)
            for receiver in {id(each): each for each in acting}.values()
            for method in self.methods_that_act(receiver.cls)
        ]
        self.runs_any_unseen(methods, [_is_given_objects(method) for method in methods], in_hand)

    def methods_that_act(self, cls: Class) -> list[Function]:
        key = cls, len(self.classes)
        found = self.acts.get(key)
        if found is None:
            found = self.acts[key] = []
            # Any attribute that the method reads may be one of these.
            asks = any(map(self.changed_by_any_property, self.classes))
            for base in method_order(cls):
                if not isinstance(base, Class):
                    continue
                for name in base.names():
                    method = base.own(name) if _IMPLICIT.match(f"def {name}(") else None
                    if isinstance(method, Function):
                        reached = self.reached_from(method)
                        changes = asks or reached.attributes or reached.lent or reached.reshapes
                        if changes or self.does_something(method, asked_alone(self, cls, method)):
                            found.append(method)
        return found

    def _answers(self, cls: Class) -> bool:
        return any(getattr(method.node, "name", "") in _OF_ATTRIBUTES for method in self.methods_that_act(cls))
