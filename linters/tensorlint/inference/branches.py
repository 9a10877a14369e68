"""`if` and `match`: each branch is followed with what its test tells, and what the names hold is joined behind them."""

from __future__ import annotations

import ast
import builtins

from tensorlint.inference import iterators, kind_tests, refinement
from tensorlint.inference.containers import share
from tensorlint.inference.contents import one_within
from tensorlint.inference.demands import ALWAYS
from tensorlint.inference.frames import Environment, differing, merge
from tensorlint.inference.joins import fit
from tensorlint.inference.state import State
from tensorlint.inference.values import UNKNOWN, Sequence, Tensor, Value
from tensorlint.inference.walking import walk

_BRANCHES = 4  # ways that a tensor may have come which are kept apart


class Branches(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def exec_if(self, node: ast.If) -> None:
        test = node.test
        truth = self.truth(self.eval(test))
        if truth is not None:
            refinement.assume(self, test, truth)
            if not truth and _is_type_checking(test):
                self.declare(node.body)
            self.block(node.body if truth else node.orelse, ALWAYS)
            return
        frame = self.frame
        before = frame.env
        equal = refinement.equality(self, test) if type(test) is ast.Compare else None
        outer, outer_ones, outer_there = frame.under, frame.ones, frame.there
        self.conditional += 1
        outer_part = self.part_begun
        self.begin_part(outer_part)
        frame.env = dict(before)
        asks = kind_tests.asks(test, self.file)
        aside = kind_tests.put_aside(self, test, True) if asks else {}
        refinement.assume(self, test, True)
        refinement.note_there(self, test, True)
        if equal is not None and equal[0]:
            frame.under = outer | equal[1]
        self.block(node.body)
        first, first_dead, first_ones, frame.there = frame.env, frame.dead, frame.ones, outer_there
        frame.env, frame.dead, frame.under, frame.ones = dict(before), False, outer, outer_ones
        aside_else = kind_tests.put_aside(self, test, False) if asks else {}
        refinement.assume(self, test, False)
        orelse = node.orelse
        if orelse:
            refinement.note_there(self, test, False)
            if equal is not None and not equal[0]:
                frame.under = outer | equal[1]
            self.begin_part(outer_part)
            self.block(orelse)
            frame.under = outer
        frame.there = outer_there
        self.conditional -= 1
        self.part_begun = outer_part
        if first_dead:
            if not orelse and isinstance(node.body[-1], ast.Raise):
                refinement.take_for_numbers(self, test, False)
            if aside_else and isinstance(node.body[-1], ast.Raise):
                kind_tests.take_back(frame.env, aside_else)
            return
        if frame.dead:
            frame.env, frame.dead, frame.ones = first, False, first_ones
            if aside and isinstance(orelse[-1], ast.Raise):
                kind_tests.take_back(first, aside)
            return
        second, frame.ones = frame.env, outer_ones
        if asks:
            kind_tests.take_back(first, aside)
            kind_tests.take_back(second, aside_else)
        changed = [*differing(first, second)]
        frame.env = merge(first, second, changed)
        if equal is not None:
            special, general = (first, second) if equal[0] else (second, first)
            for name, value in frame.env.items():
                if type(value) is Tensor and name in first and name in second:
                    fit(value, special[name], general[name], equal[1])
        self.remember_branches(changed, first, second, test)

    def remember_branches(self, changed: list[str], first: Environment, second: Environment, test: ast.expr) -> None:
        """A tensor that the two branches laid out differently remembers both, unless the test asked for its layout."""
        merged = self.frame.env
        for name in changed:
            value = merged[name]
            if type(value) is not Tensor:
                continue
            a, b = first.get(name), second.get(name)
            if isinstance(a, Tensor) and isinstance(b, Tensor) and a is not b:
                if a.strides is not None and b.strides is not None and value is not a and value is not b:
                    if _asks_layout(test):
                        return
                    both = (*(a.alternatives or (a,)), *(b.alternatives or (b,)))
                    value.alternatives = both if len(both) <= _BRANCHES else ()
                    value.alternatives_at = self.way_here()

    def declare(self, body: list[ast.stmt]) -> None:
        """The names that `if TYPE_CHECKING:` imports or defines for annotations, where nothing else binds them."""
        for statement in body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                names = [alias.asname or alias.name.partition(".")[0] for alias in statement.names]
            elif isinstance(statement, ast.Assign):
                names = [target.id if isinstance(target, ast.Name) else "" for target in statement.targets]
            else:
                continue
            if all(name.isidentifier() and not hasattr(builtins, name) for name in names):
                if all(self.frame.lookup(name) is None for name in names):
                    self.block([statement])

    def exec_match(self, node: ast.Match) -> None:
        subject = self.eval(node.subject)
        self.asked_by_patterns(subject, node.cases)
        frame = self.frame
        before = frame.env
        exits: list[Environment] = []
        self.conditional += 1
        for case in node.cases:
            frame.env, frame.dead = dict(before), False
            for part in walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    whole = part is case.pattern and isinstance(part, ast.MatchAs) and part.pattern is None
                    self.capture(name, share(subject) if whole else one_within([subject]), node.subject)
            if case.guard is not None:
                proven = self.begin_perhaps()  # evaluated only if the pattern fits
                self.eval(case.guard)
                self.end_perhaps(proven)
                # The next case is looked at with what the pattern and the guard have bound.
                before = dict(merge(before, frame.env))
            aside = {}
            if isinstance(node.subject, ast.Name) and kind_tests.is_for_others(case.pattern, subject):
                if frame.env.get(node.subject.id) is subject:
                    aside[node.subject.id] = kind_tests.put_one_aside(frame.env, node.subject.id)
            self.block(case.body)
            kind_tests.take_back(frame.env, aside)
            if not frame.dead:
                exits.append(frame.env)
        self.conditional -= 1
        frame.dead = False
        exits.append(before)
        result = exits[0]
        for other in exits[1:]:
            result = merge(result, other)
        frame.env = dict(result)

    def capture(self, name: str, value: Value, source: ast.expr) -> None:
        """A pattern binds the name, as an assignment would."""
        frame = self.frame
        if type(value) is Sequence:
            value = iterators.hold(self, value, source)
        if name in frame.facts.shared:
            self.hold_shared([name], [value])
            value = UNKNOWN
        frame.env[name] = value
        if frame.guarded is not None:
            frame.guarded.bound.append((name, value))


def _is_type_checking(test: ast.expr) -> bool:
    return (test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)) == "TYPE_CHECKING"


# Tests of these decide which layout goes which way: what follows may count on it.
_ASKS_LAYOUT = frozenset(["is_contiguous", "stride", "shape", "size", "dim", "ndim", "ndimension", "layout", "numel"])


def _asks_layout(test: ast.expr) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr in _ASKS_LAYOUT for part in walk(test))
