"""Objects whose initialisers are followed when something is first asked of them, if ever.

Most layers that a program makes are handed on and never looked into: `nn.Sequential(*[Block(n) for n in sizes])` in a
network that nobody calls. Of all statements that were followed of timm and lightning, one in seven was of an
initialiser of an object that nothing was asked of.

An initialiser may wait where it makes no difference when it is followed: it changes nothing but its object, is given
what cannot change, and reads no name that may hold something else by then. Initialisers that compute with tensors are
followed at once: what they do may be worth a message.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from tensorlint.inference import layer_changes
from tensorlint.inference.changes import NEITHER
from tensorlint.inference.class_order import functions_of, method_order, values_of
from tensorlint.inference.contents import is_changed_by_methods, lasts
from tensorlint.inference.distant_changes import MEMBERS
from tensorlint.inference.ops import reshaping
from tensorlint.inference.quiet_initialisers import QuietInitialisers
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    Number,
    Opaque,
    Partial,
    Scalar,
    Sequence,
    Value,
)
from tensorlint.inference.variants import varying

_MAX_DEPTH = 12
_PLAIN = (Const, Number, Scalar, Library)


@dataclass(slots=True, eq=False, repr=False)
class Waiting:
    """An initialiser that is to be followed: with which arguments, and where the program was when it was called."""

    maker: Any  # the interpreter
    method: Function
    bound: dict[str, Value]
    node: ast.AST | None
    conditional: int
    left_early: bool
    active: tuple[ast.AST, ...]
    # Attributes that code may have changed meanwhile which is not followed.
    forgotten: set[str]
    reshapes: frozenset[str] = frozenset()
    # The object stands for several: what was made since then is another one in each of them.
    alike_since: int | None = None

    def complete(self, instance: Instance) -> None:
        self.maker.complete(instance, self)


class LateInitialisers(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def may_wait(self, method: Function, cls: Class, bound: dict[str, Value]) -> bool:
        # A function that is given may call those that are kept, which change things.
        if not self.module_frame.finished or self.kept or not self.makes_quietly(cls):
            return False
        _, *given = bound.values()  # the object itself and what it is given
        return all(map(self.is_fixed, given))

    def makes_quietly(self, cls: Class) -> bool:
        known = self.quiet_classes.get(cls)
        if known is None:
            known = self.quiet_classes[cls] = QuietInitialisers(self).class_is_quiet(cls)
        return known

    def is_fixed(self, value: Value, depth: int = 0) -> bool:
        """Whether the object is the same and holds the same whenever it is looked at."""
        if isinstance(value, _PLAIN):
            return True
        if isinstance(value, Opaque):
            return not value.parts and not value.fields
        if isinstance(value, Sequence):
            return value.kind == "tuple" and value.items is not None and depth < 3 and all(
                self.is_fixed(item, depth + 1) for item in value.items
            )  # fmt: skip
        if isinstance(value, Dictionary):  # of `**kwargs`: nobody else holds it
            return depth == 0 and value.items is not None and not value.shared and all(
                self.is_fixed(item, 1) for item in value.items.values()
            )  # fmt: skip
        if isinstance(value, Partial):
            return depth < 3 and all(
                self.is_fixed(each, depth + 1) for each in (value.function, *value.positional, *value.keywords.values())
            )
        if isinstance(value, Class):
            return self.makes_quietly(value)
        return False

    def made_later(
        self, instance: Instance, method: Function, bound: dict[str, Value], node: ast.AST | None
    ) -> Instance:
        """The new object, of which nothing is looked at yet."""
        del bound[next(iter(bound))]  # the object itself
        instance.waiting = Waiting(
            self, method, bound, node, self.conditional, self.left_early, tuple(self.active), set()
        )
        self.mutations.append((instance, None))  # another call makes another object
        return instance

    def complete(self, instance: Instance, waiting: Waiting) -> None:
        """Follow the initialiser as it would have been followed where the object was made."""
        if self.depth >= _MAX_DEPTH or self.budget <= 0:
            instance.fields = attributes_unknown(instance.cls)
            return
        outer = (
            self.learnt, self.solved, self.solved_regions, self.hazards, self.bindings, self.names_given, self.rounds,
            self.loop_start, self.first_round, self.conditional, self.left_early, self.active,
            self.possible_exits, self.being_made, self.unsure, self.open_call, self.starred,
        )  # fmt: skip
        mutations, overwritten, steps = len(self.mutations), len(self.overwritten), self.steps
        proven = reshaping.proven()
        self.learnt, self.solved, self.solved_regions = {}, {}, set()
        self.hazards, self.bindings, self.names_given = {}, {}, []
        self.rounds = self.loop_start = self.first_round = None
        self.completing += 1
        self.conditional, self.left_early = waiting.conditional, waiting.left_early
        self.active = list(waiting.active)
        self.being_made = [instance]
        # What it makes is no younger than the object: a loop that has begun since did not make it.
        self.steps = -(1 << 40)
        given = {name: self.as_it_was(value) for name, value in waiting.bound.items()}
        try:
            self.follow(waiting.method, {waiting.method.node.args.args[0].arg: instance, **given}, waiting.node)
        finally:
            used = self.steps + (1 << 40)
            (
                self.learnt, self.solved, self.solved_regions, self.hazards, self.bindings, self.names_given, self.rounds,
                self.loop_start, self.first_round, self.conditional, self.left_early, self.active,
                self.possible_exits, self.being_made, self.unsure, self.open_call, self.starred,
            ) = outer  # fmt: skip
            self.steps = steps + used
            self.completing -= 1
            del self.mutations[mutations:]
            del self.overwritten[overwritten:]
            reshaping.forget(proven)
        if waiting.alike_since is not None:
            varying(instance, waiting.alike_since)
        if waiting.forgotten:
            self.forget_attributes(instance, waiting.forgotten, waiting.reshapes)
            if MEMBERS in waiting.forgotten:
                layer_changes.forget_members(self, [instance])
                for held in instance.held.values():
                    if is_changed_by_methods(held):
                        self.forget_held(held, set(), NEITHER)
            del self.mutations[mutations:]
        if instance.lasting:
            for held in instance.fields.values():
                lasts(held)

    def as_it_was(self, value: Value) -> Value:
        """What the initialiser was given: an object of which nothing is known if it was changed, then or since."""
        return Opaque(None) if (self.reshaped or self.items_changed) and self.is_changed(value, 0) else value

    def is_changed(self, value: Value, depth: int) -> bool:
        if isinstance(value, Opaque):
            if id(value) in self.reshaped or id(value) in self.items_changed:
                return True
            return depth < 3 and any(self.is_changed(held, depth + 1) for held in (value.fields or {}).values())
        if isinstance(value, Sequence):
            return any(self.is_changed(item, depth + 1) for item in value.items or ())
        if isinstance(value, Dictionary):
            return any(self.is_changed(item, depth + 1) for item in (value.items or {}).values())
        return False


def attributes_unknown(cls: Class) -> dict[str, Value]:
    """The attributes that objects of the class may have, none of them known."""
    found: dict[str, Value] = dict.fromkeys(values_of(cls), UNKNOWN)
    for base in method_order(cls):
        if isinstance(base, Class):
            for method in functions_of(base):
                facts = base.scope.file.facts.scopes.get(method)
                found.update((name, UNKNOWN) for _, name in (facts.stored if facts else ()))
    return found
