"""Objects of one of several classes, or calls of one of several layers: `MODELS[name](**config)`, where the name is not known."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from tensorlint.inference import aliases
from tensorlint.inference.joins import are_few
from tensorlint.inference.state import State
from tensorlint.inference.values import ONE_CLASS, ONE_MODULE, Class, Library, LibraryObject, Opaque, Value

# The key under which it is kept that one of several classes of the program's own is being made.
_CHOOSING = "one of several classes"


class ChosenClasses(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def follows_each(self, classes: tuple[Value, ...]) -> bool:
        """Whether an object of each of the classes is made: of the program's own not within the making of such, which takes
        twice as long with each that one makes within the other, and not in each round of a loop."""
        own = any(type(each) is Class for each in classes)
        return are_few(classes) and not (own and (self.loop_start is not None or self.memory.get(_CHOOSING)))

    def construct_one(self, classes: tuple[Value, ...], make: Callable[[Value], Value]) -> Value:
        outer = self.memory.get(_CHOOSING, False)
        self.memory[_CHOOSING] = outer or any(type(each) is Class for each in classes)
        made = self.one_of([partial(make, each) for each in classes])
        self.memory[_CHOOSING] = outer
        return made

    def one_of(self, calls: list[Callable[[], Value]]) -> Value:
        """What one of a few layers or classes gives, whichever is called. (None would not have been called.)"""
        if len(calls) == 1:
            return calls[0]()
        results = []
        self.conditional += 1
        for call in calls:
            proven = self.begin_perhaps()
            results.append(call())
            self.end_perhaps(proven)
        self.conditional -= 1
        result = results[0]
        for other in results[1:]:
            result = aliases.joined(result, other)
        return result

    def one_module(self, function: Value, result: Value, node: ast.AST | None) -> Value:
        """What one of several classes gives of which not each is followed: of modules it is known that it is one."""
        if type(function) is not Opaque or function.kind != ONE_CLASS:
            return result
        made = [
            self.generic_instance(each) if isinstance(each, Class) else LibraryObject(each.path, {}, (), {}, node)
            for each in function.parts
            if isinstance(each, (Class, Library))
        ]
        return Opaque(None, (*made, *([result] if type(result) is Opaque else [])), ONE_MODULE)
