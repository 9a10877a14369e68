"""Comprehensions, and what iterating over a value gives."""

from __future__ import annotations

import ast
from typing import Any

from tensorlint.inference import aliases, estimators, gone_through, iterators, kind_tests, rounds
from tensorlint.inference import sizes as S
from tensorlint.inference.class_order import method_order
from tensorlint.inference.containers import contained, joined_items, share, within
from tensorlint.inference.contents import one_within, variant_of
from tensorlint.inference.effects import each_once
from tensorlint.inference.frames import Environment, Frame, Inner
from tensorlint.inference.ops import arguments, indexing
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    NUMPY_SCALAR,
    UNKNOWN,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Range,
    Sequence,
    Tensor,
    Value,
    any_key,
    has_some,
    is_none,
)
from tensorlint.inference.variants import any_of, made_anew, varying
from tensorlint.inference.walking import walk

_MOST_LETTERS = 64


class Iteration(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def eval_comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        kind: Any = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "iterator"}[type(node)]
        first = self.eval(node.generators[0].iter)
        plain = len(node.generators) == 1 and not node.generators[0].ifs
        spent = isinstance(first, Sequence) and first.spent
        known = self.iterate(first)
        outer = self.frame.env
        log = len(self.mutations)
        held = known.items, known.element
        if plain and known.items is not None and len(known.items) <= 8 and known.kind != "set":
            # A generator's are evaluated only for whoever asks.
            proven = self.begin_perhaps() if kind == "iterator" else None
            older: rounds.Mutations | None = [] if kind == "iterator" else None
            found = self.evaluated_for(node.generators[0].target, known.items, (node.elt,), older)
            items = [item for (item,) in found]
            for item in items:
                if type(item) is Sequence:
                    within(item)
            if proven is not None:
                self.end_perhaps(proven)
            self.leave_comprehension(outer)
            if (
                older
            ):  # how many of them somebody asks for, and when, nobody knows; whoever has one has all that made it
                self.forget_those(older)
            if len(self.mutations) > log and self.changed_by_rounds(node.generators, first, known, held, log):
                return Sequence(kind, None, born=self.steps)
            return Sequence(kind, items, born=self.steps)
        start = S.symbol_serial()
        proven = self.begin_perhaps()
        self.enter_generators(node.generators, known)
        element = contained(self.in_each_round(node.elt))
        if type(element) is Sequence or type(element) is Dictionary:
            within(element)
        anew = isinstance(node.elt, (ast.Dict, ast.DictComp))
        one, element = element, made_anew(element, start) if anew else self.varying(element, start)
        if anew:
            aliases.tie(element, one)
        self.end_perhaps(proven)
        self.leave_comprehension(outer)
        if len(self.mutations) > log and self.changed_by_rounds(node.generators, first, known, held, log):
            return Sequence(kind, None, born=self.steps)
        length = self.length_of(known) if plain and kind != "set" else None
        # One condition may hold for none of them.
        some = has_some(known) if plain else False if any(each.ifs for each in node.generators) else None
        return Sequence(kind, None, UNKNOWN if spent else element, length, born=self.steps, some=some)

    def eval_dict_comprehension(self, node: ast.DictComp) -> Value:
        first = self.eval(node.generators[0].iter)
        known = self.iterate(first)
        outer = self.frame.env
        log = len(self.mutations)
        held = known.items, known.element
        plain = len(node.generators) == 1 and not node.generators[0].ifs
        if plain and known.items is not None and len(known.items) <= 8 and known.kind != "set":
            pairs = self.evaluated_for(node.generators[0].target, known.items, (node.key, node.value))
            self.leave_comprehension(outer)
            for _, value in pairs:
                within(value)
            if len(self.mutations) > log and self.changed_by_rounds(node.generators, first, known, held, log):
                return Dictionary(None, born=self.steps)
            if all(isinstance(key, Const) for key, _ in pairs):
                known_pairs = {key.value: value for key, value in pairs if isinstance(key, Const)}
                return Dictionary(known_pairs, born=self.steps)
            return Dictionary(None, self.any_item(Sequence("list", [value for _, value in pairs])), born=self.steps)
        start = S.symbol_serial()
        proven = self.begin_perhaps()
        self.enter_generators(node.generators, known)
        self.eval(node.key)
        element = self.varying(contained(self.in_each_round(node.value)), start)
        within(element)
        self.end_perhaps(proven)
        self.leave_comprehension(outer)
        if len(self.mutations) > log and self.changed_by_rounds(node.generators, first, known, held, log):
            element = UNKNOWN
        return Dictionary(None, element, born=self.steps)

    def changed_by_rounds(
        self,
        generators: list[ast.comprehension],
        first: Value,
        known: Sequence,
        held: tuple[list[Value] | None, Value],
        log: int,
    ) -> bool:
        """Whether a comprehension has changed what it goes through: what it changed is not known then."""
        changed = known.items is not held[0] or known.element is not held[1]
        if not changed:
            owners = {id(owner) for owner, _ in self.mutations[log:]}
            gone = [
                value for each in generators for _, value in gone_through.found(each.iter, first, self.frame.lookup)
            ]
            changed = any(id(value) in owners for value in gone)
        if changed:
            self.forget_since(log)
        return changed

    def in_each_round(self, node: ast.expr) -> Value:
        """What an expression gives that is evaluated any number of times: what it changes it finds changed."""
        log, begun = len(self.mutations), self.now()
        self.steps += 1  # what is made from here on is made by this round
        value = self.eval(node)
        if not rounds.are_own(self.mutations[log:], begun):
            self.forget_since(log)
            value = self.eval(node)
            self.forget_since(log)
        else:
            self.forget_met(log)
        return value

    def forget_since(self, log: int) -> None:
        """What was changed in place since then may have been changed otherwise, or not at all."""
        if len(self.mutations) > log:
            self.forget_mutations(log)
            self.mutations.append((self, None))

    def forget_those(self, mutations: rounds.Mutations) -> None:
        """The same of some of the changes in place."""
        seen: set[int] = set()
        for owner, name in each_once(mutations):
            self.forget_change(owner, name, seen)
        self.mutations.append((self, None))

    def evaluated_for(
        self, target: ast.expr, items: list[Value], parts: tuple[ast.expr, ...], older: rounds.Mutations | None = None
    ) -> list[list[Value]]:
        """What the parts of a comprehension give for each item; what is shown of its names is true of all items. `older`
        gets what an item changed that it has not made itself."""
        outer, outer_rounds = self.frame.env, self.rounds
        if outer_rounds is None and self.frame.record:
            self.rounds = {}
        found: list[list[Value]] = []
        for item in items:
            self.frame.env = self.names_within(outer)
            self.bind_target(target, item)
            log, begun = len(self.mutations), self.steps
            self.steps += older is not None
            made = [(part, self.eval(part)) for part in parts]
            if older is not None:
                older += [each for each in self.mutations[log:] if not rounds.is_younger(each[0], begun)]
            found.append([share(value) if isinstance(part, ast.Name) else contained(value) for part, value in made])
        self.rounds = outer_rounds
        return found

    def leave_comprehension(self, outer: Environment) -> None:
        """Back to the names around it, of which only `:=` has bound some."""
        within = self.frame.env
        self.frame.env = outer
        if self.scopes_within and type(outer) is not Inner:  # which find whatever the last round has left
            scopes = self.scopes_within[:]
            self.scopes_within.clear()
            for name in {name for scope in scopes for name in scope.env}:
                one = one_within([scope.env[name] for scope in scopes if name in scope.env])
                for scope in scopes:
                    if name in scope.env:
                        scope.env[name] = one
        if self.named_within:
            for name in {name for name, _ in self.named_within}:
                values = [value for each, value in self.named_within if each == name]
                for value in values:
                    self.keep(value)  # a function that somebody may call by that name
                outer[name] = one_within([outer.get(name, UNKNOWN), *values])
            if type(outer) is not Inner:
                self.named_within.clear()
        for name in self.named:
            if within.get(name) is not outer.get(name) and not isinstance(outer.get(name), Opaque):
                outer[name] = UNKNOWN

    def names_within(self, outer: Environment) -> Environment:
        """The names around a comprehension that it sees: those of a class's body it does not, but in its first iterable."""
        inner = Inner() if self.frame.is_class else Inner(outer)
        if type(outer) is Inner:
            inner.targets = outer.targets
        return inner

    def bind_target(self, target: ast.expr, value: Value) -> None:
        """Bind the names of a comprehension's own."""
        env = self.frame.env
        if type(env) is Inner:
            env.targets = (*env.targets, target)
        self.assign(target, value, None)

    def scope_within(self, code: ast.Lambda) -> Frame:
        """The scope that a function sees which a comprehension makes: that of the comprehension too, where it reads its names."""
        frame, env = self.frame, self.frame.env
        assert type(env) is Inner
        own = {part.id for target in env.targets for part in walk(target) if isinstance(part, ast.Name)}
        captured = own.intersection(part.id for part in walk(code.body) if isinstance(part, ast.Name))
        if not captured:
            return frame
        scope = Frame(code, frame.file, frame, {name: env[name] for name in captured & env.keys()})
        scope.facts.assigned.update(dict.fromkeys(captured, 2))
        self.scopes_within.append(scope)
        return scope

    def enter_generators(self, generators: list[ast.comprehension], first: Sequence) -> None:
        self.frame.env = self.names_within(self.frame.env)
        for position, generator in enumerate(generators):
            iterable = first if position == 0 else self.iterate(self.eval(generator.iter))
            self.bind_target(generator.target, self.any_item(iterable))
            for condition in generator.ifs:
                if self.truth(self.eval(condition)) is False:
                    self.assign(generator.target, UNKNOWN, None)  # what comes behind is not looked at for any item
                elif kind_tests.asks(condition, self.file):
                    kind_tests.put_aside(self, condition, True)

    def varying(self, value: Value, start: int) -> Value:
        """The value with the sizes that were made since `start` marked as varying from item to item."""
        return varying(value, start)

    def any_item(self, iterable: Sequence) -> Value:
        """One item of an iterable, whichever."""
        if iterable.items is not None:
            if not iterable.items:
                return UNKNOWN
            result = iterable.items[0]
            for item in iterable.items[1:]:
                if isinstance(result, Const) and isinstance(item, Const) and not isinstance(item.value, float):
                    result = Opaque(None)
                    break
                result = aliases.joined(result, item)
            return result
        element = any_of(iterable.element)
        aliases.tie(element, iterable.element)
        return Opaque(None) if element is UNKNOWN else element

    def each_of(self, known: Sequence) -> Value:
        """What each item is in whatever order, of some of them or all."""
        return known.element if known.items is None else joined_items(known, [])

    def ask_each(self, function: Value, known: Sequence, node: ast.AST | None) -> None:
        """Follow what is called with each of the items, to sort them or to choose among them."""
        if is_none(function) or known.items == []:
            return
        log = len(self.mutations)
        each = [self.any_item(known)] if known.items is None or len(known.items) > 8 else [*known.items]
        for item in each:
            self.call(function, [item], {}, node)
        self.forget_since(log)

    def length_of(self, value: Value) -> S.Size | None:
        if isinstance(value, Sequence):
            if value.view_of is not None:
                iterators.look(self, value)
            return len(value.items) if value.items is not None else value.length
        return None

    def iterate(self, value: Value) -> Sequence:
        """What iterating over the value gives, one after the other."""
        if value is UNKNOWN:
            return Sequence("iterator")
        if type(value) is Sequence:
            if value.view_of is not None:
                iterators.look(self, value)
            if value.kind == "set" and value.items is not None:  # in whatever order, equal ones once
                return Sequence("set", None, joined_items(value, []))
            if value.kind == "iterator" and value.spent:
                return Sequence(
                    "iterator", None, one_within([value])
                )  # an array of its items may have none, and no second axis
            iterators.spend(self, value)
            return value if value.shape_of is None else Sequence("iterator")
        if type(value) is Range:
            return self.iterate_range(value)
        if type(value) is Tensor:
            if value.shape:
                item = indexing.getitem(self.call_context("iteration", value.made), value, Const(0))
                first = value.shape[0]
                if isinstance(item, Tensor):
                    return Sequence("iterator", None, item, first)
                if "distinct" in value.marks and len(value.shape) == 1:
                    return Sequence("iterator", None, Opaque(None, kind=NUMPY_SCALAR), first)  # they were sorted
                return Sequence("iterator", None, UNKNOWN, first)
            return Sequence("iterator")
        if type(value) is LibraryObject:
            members = self.members(value)
            if isinstance(members, Dictionary):
                return self.iterate(members)
            if members is not None:
                return members
            if value.path == "sklearn.Pipeline":
                return Sequence("iterator", None, estimators.item(value))
            return self.iterate_library_object(value)
        if isinstance(value, Const) and isinstance(value.value, str) and len(value.value) <= _MOST_LETTERS:
            return Sequence("iterator", [Const(letter) for letter in value.value])
        if isinstance(value, Instance) and (fields := self.fields_of_tuple(value)) is not None:
            return fields
        aliases.lose(value)
        if isinstance(value, Dictionary):
            if value.items is not None:
                return Sequence("iterator", [Const(key) for key in value.items])
            return Sequence("iterator", None, any_key())
        if isinstance(value, Opaque) and value.parts:
            for part in value.parts if aliases.TIES.on else ():
                aliases.lose(part)
            return Sequence("iterator", None, Opaque(None, parts=value.parts))  # each may be one of them
        if isinstance(value, Instance):
            gives = self.find_in_class(value.cls, "__iter__") or self.find_in_class(value.cls, "__getitem__")
            given = self.lists_given(gives, [value], {}, modules=True) if isinstance(gives, Function) else ()
            return Sequence("iterator", None, variant_of(one_within([value, *given])))
        return Sequence("iterator")

    def fields_of_tuple(self, value: Instance) -> Sequence | None:
        """The items of a named tuple; None for other objects."""
        cls = value.cls
        bases = method_order(cls) if cls.record is not None else ()
        if not any(isinstance(base, Library) and base.path == "typing.NamedTuple" for base in bases):
            return None
        if self.find_in_class(cls, "__iter__") is not None or self.find_in_class(cls, "__getitem__") is not None:
            return None
        fields = Sequence("tuple", [self.attribute_of(value, each.name, None) for each in cls.record or ()])
        within(fields)
        return fields

    def iterate_range(self, value: Range) -> Sequence:
        if isinstance(value.start, int) and isinstance(value.stop, int) and isinstance(value.step, int) and value.step:
            known = range(value.start, value.stop, value.step)
            if not known[8:]:
                return Sequence("iterator", [Const(number) for number in known])
            # `len` has an end that Python's integers do not have.
            return Sequence(
                "iterator",
                None,
                _any_integer(known[0] < 0 or known[-1] < 0, max(known[0], known[-1]) + 1),
                (known[-1] - known[0]) // value.step + 1,
            )
        length = value.stop if value.start == 0 and value.step == 1 else None
        if length is None or not arguments.at_least(length, 0):
            length = S.counter()
        rises = isinstance(value.step, int) and value.step > 0
        first = value.start if rises else value.stop
        signed = first is None or not arguments.at_least(first, 0 if rises else -1)
        below = value.stop if rises else None
        if isinstance(value.step, int) and value.step < 0 and value.start is not None:
            below = S.add(value.start, 1)
        return Sequence("iterator", None, _any_integer(signed, below), length)


def _any_integer(signed: bool, below: S.Size | None = None) -> Value:
    """An integer that differs from round to round."""
    return Number(S.counter(variant=True, numbers=True, signed=signed, below=None if signed else below))
