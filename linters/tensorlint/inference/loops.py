"""Loops: a short one over known items is followed round by round, any other to a fixed point."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tensorlint.inference import aliases, built_containers, gone_through, own_lists, rounds
from tensorlint.inference import sizes as S
from tensorlint.inference.carried_names import read_from_before
from tensorlint.inference.changes import changes_of
from tensorlint.inference.containers import ADDED_TO
from tensorlint.inference.contents import forget_field, forgotten_members, hold_still, one_within
from tensorlint.inference.effects import each_once
from tensorlint.inference.elsewhere import FUNCTIONS
from tensorlint.inference.filled_lists import is_own_list
from tensorlint.inference.frames import Environment, differing, merge
from tensorlint.inference.handling import last_name
from tensorlint.inference.hazards import Hazard
from tensorlint.inference.joins import join
from tensorlint.inference.kept import kept_with
from tensorlint.inference.names import bound_names
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    NUMPY_SCALAR,
    SCALAR,
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    LibraryObject,
    Number,
    Opaque,
    Range,
    Scalar,
    Sequence,
    Tensor,
    Value,
    opaque_serial,
)
from tensorlint.inference.variants import covers, freshen
from tensorlint.inference.walking import walk

_ALIKE = frozenset({ast.Constant, ast.Name})  # tests that do nothing
_UNROLL = 6  # items of a known sequence that a loop is followed through one by one
_Lists = list[tuple[Sequence, Value]]  # and what stands for any of their items
_CHANGEABLE = frozenset([Sequence, Dictionary, Instance])
_ITEMS = frozenset([Sequence, Dictionary])
_SIZED = frozenset([Tensor, Number, Opaque])
_LEFT = _SIZED | _CHANGEABLE  # what has sizes, or holds what does
_MOST_LEFT = 200
_MOST_ROUNDS = 4  # of a loop in which each round finds other things than the one before
_MOST_MORE = 4  # rounds after these, as long as each is the first to change something in place
_DEEP = 3  # loops this deep are followed once, with everything they assign unknown


class Loops(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def exec_for(self, node: ast.For | ast.AsyncFor) -> None:
        opened = S.symbol_serial(), opaque_serial()
        counted = self.eval(node.iter)
        spent = isinstance(counted, Sequence) and counted.spent
        iterable = Sequence("iterator", None, counted.element) if spent else self.iterate(counted)
        frame = self.frame
        held: list[tuple[Value, tuple[Value, ...]]] = []
        gone: list[tuple[str, Value]] = []
        if iterable.items or iterable.element is not UNKNOWN:
            gone = gone_through.found(node.iter, counted, frame.lookup)
            within = [
                name
                for name, _ in gone
                if name and self.changing_within(node, name) and not self.is_another(node, name)
            ]
            if any(self.changes_ahead(node, name) for name in within):
                iterable = gone_through.one_item(gone)
            else:
                # Code may change them that the body calls or that has another name for them.
                held = [(value, _contents(value)) for name, value in gone if not (name and within)]
        if iterable.items is not None and len(iterable.items) <= _UNROLL and frame.loops < 2:
            known = iterable.kind != "set" and not (iterable.kind == "iterator" and self.made_in_rounds(node.iter))
            if known and len(iterable.items) * len(node.body) <= 60:
                self.unrolled(node, iterable.items, held, gone)
                return
        times: S.Size | None = None
        # What a range counts, and the rows of an array, no one changes meanwhile.
        if isinstance(counted, (Range, Tensor)):
            times = self.length_of(iterable)

        late = isinstance(counted, Sequence) and counted.kind == "iterator" and self.made_in_rounds(node.iter)
        first = True

        def enter() -> None:
            nonlocal iterable, first
            if late and not first:
                iterable = self.iterate(self.eval(node.iter))
            first = False
            one = gone_through.one_item(gone) if _is_changed(held) else iterable
            self.assign(node.target, self.any_item(one), None)

        entered = times is not None and isinstance(times, int) and times > 0
        self.loop(node, enter, times, entered=entered, opened=opened)

    def made_in_rounds(self, node: ast.expr) -> bool:
        """Whether the items are made one by one, of what the rounds before have left."""
        for part in walk(node):
            if type(part) is ast.GeneratorExp:
                return True
            if isinstance(part, ast.Call):
                name = last_name(part.func)
                if name in ("map", "filter") or name in kept_with(
                    self.file.tree, "generators", self.names_of_generators
                ):
                    return True
        return False

    def names_of_generators(self) -> frozenset[str]:
        scopes = self.file.facts.scopes.items()
        return frozenset([code.name for code, facts in scopes if facts.is_generator and isinstance(code, FUNCTIONS)])

    def changing_within(self, node: ast.For | ast.AsyncFor, name: str) -> bool:
        lines = self.changing_lines(name, self.file)
        return any(node.lineno <= line <= (node.end_lineno or 0) for line in lines)

    def is_another(self, node: ast.For | ast.AsyncFor, name: str) -> bool:
        """Whether an attribute is gone through, and what the body changes is a list of the function's own that has its name:
        `for x, layer in zip(xs, self.loc): loc.append(layer(x))`."""
        if any(isinstance(part, ast.Name) and part.id == name for part in walk(node.iter)):
            return False
        if any(name in changes_of(statement).attributes for statement in node.body):
            return False
        return own_lists.holds_only_own(self.frame.node, name)

    def changes_ahead(self, node: ast.For | ast.AsyncFor, name: str) -> bool:
        """Whether the body may change what later rounds find in the list or dictionary that is gone through."""
        # `for i, x in enumerate(rows): rows[i] = ...` changes an item behind which the loop has come.
        target = node.target.elts[0] if isinstance(node.target, ast.Tuple) else None
        here = target.id if isinstance(target, ast.Name) and _numbers_items(node.iter) else None
        found = [changes_of(statement, here) for statement in node.body]
        return any(name in changes.names or name in changes.attributes for changes in found)

    def unrolled(
        self,
        node: ast.For | ast.AsyncFor,
        items: list[Value],
        held: list[tuple[Value, tuple[Value, ...]]],
        gone: list[tuple[str, Value]],
    ) -> None:
        frame = self.frame
        outer_breaks, outer_continues = frame.breaks, frame.continues
        frame.breaks, frame.continues = [], []
        frame.loops += 1
        outer_rounds, outer_left = self.rounds, self.left_round
        names = len(self.names_given)
        if outer_rounds is None and frame.record:
            self.rounds = {}
        turned: list[set[ast.AST]] = []
        learnt, of_rounds = self.learnt, []
        for item in items:
            if frame.dead or _is_changed(held):
                break
            self.learnt = {}
            of_rounds.append(self.learnt)
            self.assign(node.target, item, None)
            before = len(self.vectors_turned)
            self.block(node.body)
            turned.append(set(self.vectors_turned[before:]))
            frame.env, frame.dead = _rejoin(frame.env, frame.dead, frame.continues)
            frame.continues = []
            if not frame.breaks:  # those that went on with the next item meet the others
                self.left_round = outer_left
        self.left_round = outer_left
        self.learnt = learnt
        self.learn_of_rounds(of_rounds, node.body)
        if not _counts(items):
            self.turn_others(turned)
        changed = _is_changed(held)
        if changed and not frame.dead:
            self.loop(node, lambda: self.assign(node.target, self.any_item(gone_through.one_item(gone)), None))
        frame.loops -= 1
        if outer_rounds is None and self.rounds is not None:
            self.take_back_names(
                names, {each.id: value for each, value in self.rounds.items() if type(each) is ast.Name}
            )
        self.rounds = outer_rounds
        if not (frame.dead or changed):
            self.conditional += bool(frame.breaks)  # what has left the loop does not come through `else`
            self.block(node.orelse)
            self.conditional -= bool(frame.breaks)
        frame.env, frame.dead = _rejoin(frame.env, frame.dead, frame.breaks)
        frame.breaks, frame.continues = outer_breaks, outer_continues

    def exec_while(self, node: ast.While) -> None:
        saved = self.begin_attempt()
        truth = self.truth(self.eval(node.test))
        shown = self.bindings
        self.keep_attempt(saved)
        if truth is False:
            self.block(node.orelse)
            return
        ended = False

        def end_round() -> None:
            nonlocal ended
            ended = True
            self.eval(node.test)

        # The test before the first round is done; the others each end a round.
        self.loop(node, _nothing, entered=truth is True, test=None if type(node.test) in _ALIKE else end_round)
        for target, before in shown.items() if ended else ():
            after = self.bindings.get(target)
            if after is before or (after is not None and not rounds.same(before[1], after[1])):
                self.bindings.pop(target)

    def loop(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        enter: object,
        times: S.Size | None = None,
        entered: bool = False,
        opened: tuple[int, int] | None = None,
        test: Callable[[], None] | None = None,
    ) -> None:
        """Follow a loop to a fixed point: once from what is known before it, again from what is true in every round, each of which
        ends with the `test`.
        That there is a round at all is known of one that is `entered`; what is gone through was worked out since `opened`."""
        assert callable(enter)
        body = node.body
        frame = self.frame
        outer_breaks, outer_continues = frame.breaks, frame.continues
        before = frame.env
        frame.loops += 1
        entry = dict(before)
        breaks: list[Environment] = []
        outer_left, outer_part = self.left_round, self.part_begun
        if frame.loops > _DEEP:
            for name in bound_names(body):
                if name in entry:
                    entry[name] = UNKNOWN
        start = S.symbol_serial()
        outer_start = self.loop_start
        if outer_start is None:
            self.loop_start = start
        overwritten = len(self.overwritten)
        first_log = len(self.mutations)
        begun = self.now()
        fields: dict[tuple[int, str], tuple[Instance, Value]] = {}
        lists: _Lists = []
        deep = frame.loops > _DEEP
        last = 0 if deep else _MOST_ROUNDS - 1
        certain: dict[Any, Hazard] = {}  # what every program meets that enters the loop
        lasting = False  # whether what was seen of a round is true of every round
        free = 0  # sizes since then are whatever a round begins with
        for attempt in range(last + 1 + _MOST_MORE):
            saved = self.begin_attempt()
            if attempt:
                built_containers.begin_adding(self, overwritten)
            frame.env, frame.breaks, frame.continues = dict(entry), [], []
            log, round_begun = len(self.mutations), self.now()
            self.left_round = outer_left
            self.begin_part(outer_part, 0)
            outer_first = self.begin_first_round() if attempt == 0 else self.first_round
            enter()
            self.block(body)
            if attempt == 0:
                certain = self.first_round.sure
            self.first_round = outer_first
            frame.env, frame.dead = _rejoin(frame.env, frame.dead, frame.continues)
            breaks = frame.breaks
            if frame.dead:
                if not entered:
                    self.forget_items(log, begun)
                frame.env, frame.dead = dict(before), False
                self.keep_attempt(saved)
                break
            if test is not None:
                test()
            again = merge(entry, frame.env)
            changed = [
                name
                for name in differing(entry, again)
                if name in entry
                and not (
                    rounds.same(entry[name], again[name]) and rounds.stands_for(entry[name], again[name], begun[0])
                )
            ]
            for name in () if deep else self.changed_by_later_rounds(node, entry):
                entry[name] = again[name] = one_within([frame.env[name]])
                changed.append(name)
            if attempt == 0 and not deep:
                perhaps_read = self.left_for_later_rounds(node, entry, start)
                entry.update(perhaps_read)
                changed += perhaps_read
            if deep and attempt == 0:
                names = bound_names(body) & self.carried(node)[0] & entry.keys()
                left = [value for name in names for value in (before[name], frame.env.get(name, UNKNOWN))]
                one = aliases.either_of(*left) if left else UNKNOWN
                if isinstance(one, Opaque):
                    # Names that hold objects hand them on from round to round: once more, as any of them.
                    self.drop_attempt(saved)
                    self.forget_mutations(log)
                    entry.update(dict.fromkeys(names, one))
                    continue
            if attempt and changed:
                changed = [name for name in changed if not covers(entry[name], again[name], free)]
            for name in changed:
                aliases.lose(entry[name])
                aliases.lose(again[name])
            once = not deep and (attempt > 0 or rounds.are_own(self.mutations[log:], begun))
            if once and changed:
                later = {name: self.carried_on(entry[name], again[name], start) for name in changed}
                once = self.is_unseen(later, node)
                if once:  # another round would see nothing else
                    self.hide_first(entry, changed)
                    self.take_back_first(saved.names, [entry[name] for name in changed])
                    entry.update(later)
                    for env in breaks:
                        env.update((name, aliases.joined(env[name], later[name])) for name in changed if name in env)
                    changed = []
            if attempt == 0:
                free = S.symbol_serial()
                if once:
                    self.forget_met(log)
            if attempt == 0 and len(self.mutations) > log and not (deep or once):
                held = {
                    (id(owner), name): owner.fields.get(name, UNKNOWN)
                    for owner, name in self.mutations[log:]
                    if isinstance(owner, Instance) and name is not None
                }
                # What the body changed in place holds something else in the next round.
                self.drop_attempt(saved)
                lists = self.lists_added_to(log, start)
                self.forget_mutations(log)
                lists = self.refilled(lists, lists)
                fields = self.carried_fields(overwritten, log, held, start)
                for name in changed:
                    entry[name] = self.carried_on(entry[name], again[name], start)
                continue
            moved = [
                key for key, (owner, value) in fields.items()
                if not rounds.same(value, join(value, owner.fields.get(key[1], UNKNOWN)))
            ]  # fmt: skip
            kept, wider = self.lists_left(lists, log, start) if lists else (lists, lists)
            if (moved and attempt < last - 1) or (len(kept) < len(lists) and attempt < last):
                self.drop_attempt(saved)
                self.forget_mutations(log)
                lists = self.refilled(lists, kept + wider if attempt < last - 1 else [])
                for key in moved:
                    owner, _ = fields.pop(key)
                    forget_field(owner, key[1])
                for (_, name), (owner, value) in fields.items():
                    owner.fields[name] = value
                for name in changed:
                    entry[name] = aliases.either_of(entry[name], again[name])
                continue
            for key in moved:
                owner, _ = fields.pop(key)
                forget_field(owner, key[1])
            for (_, name), (owner, value) in fields.items():
                owner.fields[name] = value
            lists = self.refilled(lists, kept)
            earlier, now = self.mutations[first_log:log], self.mutations[log:]
            # What changes without end is an object of which nothing is known, another one in each round.
            is_any = (
                attempt > 0 and not moved and all(rounds.is_any(entry[name], again[name], begun[1]) for name in changed)
            )
            if is_any and changed:
                left = [entry[name] for name in changed]
                is_any = rounds.changes_the_same(earlier, now, round_begun, left) and all(
                    rounds.reaches_the_same(entry[name], again[name], round_begun) for name in changed
                )
            settles = deep or attempt >= last or is_any or not changed
            if settles and attempt > 0 and rounds.changes_another(earlier, now, begun):
                # It has read as it was what it is the first to change.
                if attempt == last + _MOST_MORE:
                    self.drop_attempt(saved)
                    self.forget_mutations(log)
                    frame.env = {**entry, **dict.fromkeys(bound_names(body), UNKNOWN)}
                    break
                settles = False
            if settles:
                lasting = not changed and not moved
                for name in changed:
                    frame.env[name] = aliases.either_of(entry[name], again[name])
                self.keep_attempt(saved)
                break
            self.drop_attempt(saved)
            self.forget_mutations(log)
            lists = self.refilled(lists, lists if attempt < last - 1 else [])
            for name in changed:
                settled = self.settled(again[name], start) if attempt != 1 and attempt < last else UNKNOWN
                entry[name] = aliases.either_of(entry[name], again[name]) if settled is UNKNOWN else settled
            if attempt == last - 1:
                # A value may go on from name to name, one for each round: none of them is known in the last.
                for name in bound_names(body) & self.carried(node)[0] & entry.keys():
                    found = [entry[name], again.get(name, UNKNOWN)]
                    one = aliases.either_of(*found, one_within(found))
                    entry[name] = one if isinstance(one, Opaque) else UNKNOWN
        frame.loops -= 1
        self.left_round, self.part_begun = outer_left, outer_part
        for key, hazard in certain.items():
            self.hazards.setdefault(key, hazard)
        self.loop_start = outer_start
        if outer_start is None:
            self.loops_ended.append((start, S.symbol_serial()))
        built_containers.keep_added(self, overwritten, first_log, start)
        if not entered and len(self.overwritten) > overwritten:
            self.join_with_no_round(overwritten, begun[0])
        frame.env = merge(entry, frame.env)
        frame.breaks, frame.continues = outer_breaks, outer_continues
        since = opened or (start, begun[1])
        if node.orelse:
            self.leave_rounds(node, before, *since)
        self.conditional += bool(breaks)  # what has left the loop does not come through `else`
        self.block(node.orelse)
        self.conditional -= bool(breaks)
        frame.env, frame.dead = _rejoin(frame.env, frame.dead, breaks)
        if lasting:
            self.relate_filled(node, before, start, times)
        self.leave_rounds(node, before, *since)

    def leave_rounds(
        self, node: ast.For | ast.AsyncFor | ast.While, before: Environment, start: int, begun: int
    ) -> None:
        """What only some rounds bind is of any of them behind the loop, and its sizes those of that round: not the last one's."""
        env = self.frame.env
        new = [name for name in env if name not in before and type(env[name]) in _LEFT]
        if not new:
            return
        bound = self.carried(node)[2]
        for name in new:
            value = env[name]
            if name not in bound:
                env[name] = self.left_by_a_round(value, start, begun, {})

    def left_by_a_round(self, value: Value, start: int, begun: int, seen: dict[int, Value]) -> Value:
        """The value with the sizes that were made in the loop taken for those of an earlier round. What holds others stays the
        object that it is."""
        kind = type(value)
        if kind not in _LEFT or len(seen) > _MOST_LEFT:
            return value
        known = seen.get(id(value))
        if known is not None:
            return known
        if kind is Tensor or kind is Number:
            seen[id(value)] = settled = self.settled(value, start)
            return settled
        seen[id(value)] = value
        if isinstance(value, Opaque):
            if not 0 < value.serial <= begun:
                seen[id(value)] = Opaque(None, value.parts)
            return seen[id(value)]
        held: dict[Any, Value] = {}
        if isinstance(value, Instance):
            held = value.fields if value.waiting is None and not value.generic else {}
        elif isinstance(value, (Sequence, Dictionary)):
            if value.items is None:
                value.element = self.left_by_a_round(value.element, start, begun, seen)
                return value
            held = value.items if isinstance(value.items, dict) else dict(enumerate(value.items))
        left = {name: self.left_by_a_round(each, start, begun, seen) for name, each in held.items()}
        if any(left[name] is not each for name, each in held.items()):
            if isinstance(value, Instance):
                value.fields = left
            elif isinstance(value, Dictionary):
                value.items = left
            elif isinstance(value, Sequence):
                value.items = list(left.values())
            self.mutations.append((value, None))
        return value

    def join_with_no_round(self, since: int, begun: int) -> None:
        """What objects older than the loop hold is what a round has assigned, or what they held before."""
        first: dict[tuple[int, str], tuple[Any, Any]] = {}
        for owner, name, value in self.overwritten[since:]:
            if name != built_containers.ADDED and getattr(owner, "born", 0) <= begun:
                first.setdefault((id(owner), name), (owner, value))
        for (_, name), (owner, before) in first.items():
            after = owner.fields.get(name, UNKNOWN)
            if after is not UNKNOWN and after is not before:
                of_instance = isinstance(owner, Instance) and not isinstance(before, Function)
                if isinstance(owner, Class):
                    hold_still(owner, [each for each in (before, after) if each is not None])
                owner.fields[name] = aliases.joined(before, after) if of_instance else UNKNOWN

    def forget_items(self, since: int, begun: tuple[int, int]) -> None:
        """Lists and dictionaries older than the loop hold what its one round has put there, or what they held before."""
        for owner, name in self.mutations[since:]:
            if type(owner) in _ITEMS and name != ADDED_TO and not rounds.are_own([(owner, name)], begun):
                self.forget_contents(owner)

    def now(self) -> tuple[int, int]:
        """A moment of the analysis, to be compared with when objects were made."""
        return self.steps, opaque_serial()

    def forget_met(self, since: int) -> None:
        """Forget what was made of objects that nobody knows: others than those of this round may be reached by the same
        names, and there may have been no round."""
        for owner, name in self.mutations[since:]:
            if type(owner) is Opaque:
                self.forget_change(owner, name)

    def is_unseen(self, changed: dict[str, Value], node: ast.For | ast.AsyncFor | ast.While) -> bool:
        """Whether no round reads these names as the round before left them."""
        read, added, _ = self.carried(node)
        for name, value in changed.items():
            if name in read or (name in added and not (type(value) is Scalar or is_own_list(value))):
                return False
        return not changed.keys() & self.captured()

    def changed_by_later_rounds(self, node: ast.For | ast.AsyncFor | ast.While, entry: Environment) -> list[str]:
        """The names of what one round makes and a later one changes that does not come by there."""
        made = [
            name
            for name, value in self.frame.env.items()
            if name not in entry and (type(value) in _CHANGEABLE or (aliases.TIES.on and type(value) is Tensor))
        ]
        if not made:
            return made
        read = self.carried(node)[0]
        made = [name for name in made if name in read]
        if not made:
            return made
        changed: set[str] = set()
        for statement in node.body:
            changes = changes_of(statement)
            changed |= changes.names | changes.lent
        return [name for name in made if name in changed]

    def left_for_later_rounds(
        self, node: ast.For | ast.AsyncFor | ast.While, entry: Environment, start: int
    ) -> Environment:
        """What the names hold where a later round begins that nothing has bound before the loop, and that a round may read
        without having bound them: sizes of an earlier round."""
        made = {name: value for name, value in self.frame.env.items() if name not in entry and type(value) in _SIZED}
        if not made:
            return made
        read = self.carried(node)[0]
        left = {name: self.settled(value, start) for name, value in made.items() if name in read}
        return {name: value for name, value in left.items() if not rounds.same(made[name], value)}

    def carried(self, node: ast.For | ast.AsyncFor | ast.While) -> tuple[set[str], set[str], set[str]]:
        """See `read_from_before`."""
        key = "read from before", node
        if key not in self.memory:
            self.memory[key] = read_from_before(node)
        known: tuple[set[str], set[str], set[str]] = self.memory[key]
        return known

    def forget_mutations(self, since: int) -> None:
        seen: set[int] = set()
        for owner, name in each_once(self.mutations[since:]):
            self.forget_change(owner, name, seen)

    def forget_change(self, owner: Any, name: str | None, seen: set[int] | None = None) -> None:
        """What was changed of the object in place is not known any more."""
        if type(owner) is Sequence or type(owner) is Dictionary:
            self.forget_contents(owner, seen)
        elif name == built_containers.ADDED:
            owner.fields["members"] = forgotten_members(owner)
        elif isinstance(owner, Opaque) and name is None:
            owner.axes = None
        elif isinstance(owner, (Instance, LibraryObject, Class, Opaque)) and name is not None:
            if isinstance(owner, (Instance, Class)):
                forget_field(owner, name)
            elif owner.fields is not None:
                owner.fields[name] = Opaque(None) if isinstance(owner, Opaque) else UNKNOWN

    def carried_fields(
        self, overwritten: int, log: int, held: dict[tuple[int, str], Value], start: int
    ) -> dict[tuple[int, str], tuple[Instance, Value]]:
        """What the fields that the body assigns hold at the start of any round: `self.w -= rate * gradient`."""
        carried: dict[tuple[int, str], tuple[Instance, Value]] = {}
        before: dict[tuple[int, str], Value] = {}
        for owner, name, value in self.overwritten[overwritten:]:
            before.setdefault((id(owner), name), value)
        for owner, field in self.mutations[log:]:
            if not isinstance(owner, Instance) or field is None or (id(owner), field) in carried:
                continue
            key = id(owner), field
            first = before.get(key)
            if isinstance(first, rounds.CARRIED) and isinstance(held[key], rounds.CARRIED):
                value = self.settled(aliases.joined(first, held[key]), start)
                if value is not UNKNOWN:
                    carried[key] = owner, value
                    owner.fields[field] = value
        return carried

    def lists_added_to(self, log: int, start: int) -> _Lists:
        """The lists, held by objects or by several names, that a round only adds items to, and what their items are."""
        waiting = {id(owner): owner for owner, name in self.mutations[log:] if name == ADDED_TO}
        if not waiting:
            return []
        for owner, name in self.mutations[log:]:
            if name != ADDED_TO:
                waiting.pop(id(owner), None)
        return [
            (owner, self.settled(owner.element, start))
            for owner in waiting.values()
            if owner.items is None and rounds.is_data(owner.element)
        ]

    def lists_left(self, lists: _Lists, log: int, start: int) -> tuple[_Lists, _Lists]:
        """Those of the lists of which the round that was followed last has left what it found, and those to which it has
        added another kind of item."""
        others = {id(owner) for owner, name in self.mutations[log:] if name != ADDED_TO}
        kept: _Lists = []
        wider: _Lists = []
        for owner, element in lists:
            if id(owner) not in others and owner.items is None and rounds.is_data(owner.element):
                now = self.settled(owner.element, start)
                if rounds.same(element, now):
                    kept.append((owner, element))
                else:
                    wider.append((owner, now))
        return kept, wider

    def refilled(self, lists: _Lists, known: _Lists) -> _Lists:
        """The lists hold this where a round begins; of others that were thought to hold something nothing is known. The
        last round that is followed relies on none of it."""
        for owner, _ in lists:
            self.forget_contents(owner)
        for owner, element in known:
            owner.items, owner.element = None, element
        return known

    def carried_on(self, before: Value, value: Value, start: int) -> Value:
        """What a name holds at the start of any round."""
        settled = self.settled(value, start)
        return aliases.either_of(before, value) if settled is UNKNOWN else settled

    def settled(self, value: Value, start: int) -> Value:
        """A value that the loop carries from round to round: sizes that were made in the loop are those of an
        earlier round, and equal to none of this one."""
        varied = self.varying(value, start)
        if isinstance(varied, Opaque):
            return varied if varied.kind in (SCALAR, NUMPY_SCALAR) else UNKNOWN
        if isinstance(varied, Sequence) and isinstance(value, Sequence):
            varied.parts = value.parts  # it is this list, not one of those that it stands for
        if isinstance(varied, Sequence) and varied.items is None and isinstance(varied.element, Const):
            if isinstance(varied.element.value, float):
                return Sequence(varied.kind, None, Scalar("float"), varied.length)
        if not isinstance(varied, Tensor):
            return varied
        again = freshen(varied)
        aliases.tie(again, value)
        return again


def _contents(value: Value) -> tuple[Value, ...]:
    """What a list or a dictionary holds, to be compared with what it holds later."""
    if not isinstance(value, (Sequence, Dictionary)):
        return ()
    items = value.items.values() if isinstance(value, Dictionary) and value.items is not None else value.items
    return (value.element,) if items is None else (value, *items)


def _nothing() -> None:
    """What a round begins with that ended with the test of the next one."""


def _counts(items: list[Value]) -> bool:
    """Whether they are the numbers of the rounds, on which no rank depends."""
    return all(
        isinstance(item, Const) and type(item.value) is int and item.value == at for at, item in enumerate(items)
    )


def _is_changed(held: list[tuple[Value, tuple[Value, ...]]]) -> bool:
    for value, before in held:
        now = _contents(value)
        if len(now) != len(before) or any(a is not b for a, b in zip(now, before, strict=True)):
            return True
    return False


def _numbers_items(node: ast.expr) -> bool:
    """Whether each round's first value is the place of its item: `enumerate(rows)`, `rows.items()`."""
    if not isinstance(node, ast.Call) or node.keywords:
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr == "items"
    plain = isinstance(node.func, ast.Name) and node.func.id == "enumerate" and len(node.args) == 1
    return plain and isinstance(node.args[0], ast.Name)


def _rejoin(env: Environment, dead: bool, others: list[Environment]) -> tuple[Environment, bool]:
    """Control flow that left early (continue, break) meets what went on."""
    if not others:
        return env, dead
    result = others[0] if dead else env
    for other in others[1:] if dead else others:
        result = merge(result, other)
    return dict(result), False
