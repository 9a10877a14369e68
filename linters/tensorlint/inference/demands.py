"""Requirements read backwards: what a line needs of an object's rank holds for the lines before it too.

`B, C, H, W = x.shape` goes on only if x has four axes; nn.BatchNorm2d takes nothing else. Where every way through a
stretch of statements comes by such a line, the object had that rank in the whole stretch: a function is then followed
a second time with what was learnt. (What is said of a run that stops with an error there is said of no program that
works.)

A stretch is the rest of one block of statements after the last of them that may leave it early: `return`, `yield`,
`break`, `continue`. What stands in a branch holds for that branch; a line in a `try` with handlers demands nothing,
since its error may be caught. A demand in a function that is called counts for the caller's objects, if every way
through that function comes by it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from tensorlint.inference import known_axes, ranks, refinement
from tensorlint.inference import sizes as S
from tensorlint.inference.frames import Frame, SourceFile
from tensorlint.inference.kept import kept_with, lines_of
from tensorlint.inference.ops import reshaping
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    PLAIN,
    UNKNOWN,
    Const,
    Kin,
    LibraryObject,
    Number,
    Opaque,
    Rank,
    Scalar,
    Sequence,
    Tensor,
    Value,
    copy,
    moved,
)
from tensorlint.inference.walking import children
from tensorlint.inference.words import places_of, words_of

# [frame, block, index of the statement, how the block is entered, its number]; None where an expression may not be evaluated.
Place = list[Any]
Region = tuple[int, int]
ALWAYS, SOMETIMES, CAUGHT = "always", "sometimes", "caught"
# The statements of a function that is followed for its own sake: whether its errors may be caught is asked only when
# something is demanded there.
FUNCTION = "function"
# What is known of whose an object is: nothing; torch's, which is worth saying of one whose rank is known; torch's.
UNTOLD, BESIDE, TOLD = range(3)


def _is_open(value: Value) -> bool:
    """Whether something may be learnt of the value: how many axes it has, or whose it is."""
    if type(value) is Tensor:
        return value.shape is None or value.framework is None
    return type(value) is Opaque


class Demands(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def start_demands(self) -> None:
        self.places: list[Place | None] = []
        # What was learnt of each object in the function that is followed: by the node that bound it, by region.
        self.learnt: dict[ast.AST, dict[Region, tuple[int, int]]] = {}
        # The same from the time before, where a function is followed for the second time.
        self.solved: dict[ast.AST, dict[Region, tuple[int, int]]] = {}
        self.solved_regions: set[Region] = set()
        self.exits: dict[int, list[int]] = {}
        # Objects that are torch's by a method that they had, and the function and the blocks in which that was.
        self.known_torchs: dict[Value, tuple[Frame, list[int]]] = {}

    def begin_perhaps(self) -> int:
        """An expression follows that may not be evaluated."""
        self.places.append(None)
        return reshaping.proven()

    def end_perhaps(self, proven: int) -> None:
        self.places.pop()
        reshaping.forget(proven)

    # -- the first time: learning --------------------------------------------------------------------------------

    def demand(self, value: Value | None, mask: int, torch: bool = False, beside: bool = False) -> None:
        """The program goes on from here only if the value has one of these ranks (and is torch's; `beside` its rank that
        is worth knowing, but alone it is not)."""
        if type(value) is Tensor:
            if value.shape is not None and (value.framework is not None or not (torch or beside)):
                return
        elif type(value) is not Opaque:
            return
        kin = value.kin
        says = TOLD if torch else BESIDE if beside else UNTOLD
        if kin is None or self.stand_ins or id(value) in self.reshaped or (mask == ranks.ANY and not says):
            return
        rank, offset, least = kin
        if rank.met and isinstance(value, Tensor):
            says = UNTOLD  # it may be a number or an array beside the tensor
        mask = ranks.shifted(mask, offset, least)
        if mask == ranks.ANY and not says:
            return
        places = self.places
        base = next((at for at, place in enumerate(places) if place is not None and place[0] is rank.frame), None)
        if base is None or any(place is None or self.is_caught(place) for place in places[base:]):
            return
        for place in reversed(places[base:]):
            assert place is not None
            frame, body, index, entry, _ = place
            start = self.last_exit(body, index)
            if frame is rank.frame:
                self.learn(rank, (id(body), start), mask, says)
            if start or entry is not ALWAYS:
                return

    def note_counted(self, values: Iterable[Value]) -> None:
        """The function goes on from here only if these objects are numbers: they are sizes of a shape."""
        unsure: list[Value] = [
            value for value in values if type(value) is Opaque and value.kind is None and not value.parts
        ]
        if not unsure or self.stand_ins:
            return
        base = next((at for at, place in enumerate(self.places) if place is not None and place[0] is self.frame), None)
        if base is None or not all(place is not None and place[3] is ALWAYS for place in self.places[base + 1 :]):
            return
        while unsure:
            value = unsure.pop()
            if type(value) is Opaque and value not in self.frame.counted:
                self.frame.counted.add(value)
                unsure += value.of or ()

    def is_caught(self, place: Place) -> bool:
        """Whether an error at the place may be caught by what stands around it."""
        entry = place[3]
        return entry is CAUGHT or (entry is FUNCTION and place[0].node in self.fails_quietly())

    def learn(self, rank: Rank, region: Region, mask: int, torch: int) -> None:
        known = self.learnt.setdefault(rank.origin, {})
        before, was_torch = known.get(region, (ranks.ANY, UNTOLD))
        known[region] = before & mask, max(was_torch, torch)

    def learn_of_rounds(self, rounds: list[dict[ast.AST, dict[Region, tuple[int, int]]]], body: list[ast.stmt]) -> None:
        """What each round of a loop has told that is followed round by round: it holds in a branch within the body, in any round,
        only if every round tells it there. What the body itself tells, the program comes by where nothing leaves it."""
        around = {id(place[1]) for place in self.places if place is not None}
        if self.last_exit(body, len(body) - 1) == 0:
            around.add(id(body))
        for learnt in rounds:
            for origin, regions in learnt.items():
                known = self.learnt.setdefault(origin, {})
                for region, (mask, torch) in regions.items():
                    if region[0] not in around:
                        for other in rounds:
                            other_mask, other_torch = other.get(origin, {}).get(region, (ranks.ANY, UNTOLD))
                            mask, torch = mask | other_mask, min(torch, other_torch)
                    before, was_torch = known.get(region, (ranks.ANY, UNTOLD))
                    known[region] = before & mask, max(was_torch, torch)

    def last_exit(self, body: list[ast.stmt], index: int) -> int:
        """Where the stretch begins that the statement at `index` belongs to."""
        known = self.exits.get(id(body))
        if known is None:
            known, start = [], 0
            file = self.file
            deep = kept_with(file.tree, "leaves_within", lambda: _may_leave_within(file.text))
            for at, statement in enumerate(body):
                known.append(start)
                if _may_leave(statement, deep):
                    start = at + 1
            self.exits[id(body)] = known
        return known[index]

    def is_solved(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether following the function again, knowing what was learnt, would show more: shapes, or what a rule judges."""
        if not self.learnt:
            return False
        known = {
            ranks.MOST if (rank := ranks.single(mask)) is None else rank
            for regions in self.learnt.values()
            for mask, torch in _narrowed(regions)
            if torch is TOLD or ranks.single(mask) is not None
        }
        # What rules judge before the statement that tells how many axes there are is about one or two axes, or a view: of 795
        # functions of ten packages others had told 3 hazards more, none of which a rule reported, for a twelfth of the work.
        return bool(known) and (self.shows or min(known) <= 2 or _is_judged_by_rank(function, self.own_file))

    # -- which way a program came ----------------------------------------------------------------------------------

    def way_here(self) -> object:
        """Equal for two places where the one is passed whenever the other is: no branch lies between, and no exit."""
        places = self.places
        if None in places:
            return object()
        return self.possible_exits, tuple(place[4] for place in places if place and place[3] is not ALWAYS)

    def is_passed(self, value: Value) -> bool:
        """Whether the program comes by the current place in every run that binds the value to a name."""
        places = self.places
        for at, place in enumerate(places):
            if place is not None and any(each is value for each in place[0].env.values()):
                inner = places[at + 1 :]
                return not (self.is_caught(place) or self.is_held_around(value)) and all(
                    each is not None and (each is place or each[3] is ALWAYS) and not self.last_exit(each[1], each[2])
                    for each in (place, *inner)
                )
        return False

    def is_held_around(self, value: Value) -> bool:
        """Whether a name of a scope has it that is around a running function, and has itself been left: what this run
        comes by others need not."""
        running = {place[0] for place in self.places if place is not None}
        for frame in tuple(running):
            parent = frame.parent
            while parent is not None:
                if parent not in running and any(each is value for each in parent.env.values()):
                    return True
                parent = parent.parent
        return False

    def note_torchs(self, value: Value) -> None:
        """From here on, in all that the program comes to by this place, the object is torch's."""
        if None not in self.places:
            self.known_torchs[value] = self.frame, self.blocks_entered()

    def is_torchs(self, value: Value) -> bool:
        """Whether the function has come by a place that tells so."""
        frame, told = self.known_torchs.get(value, (None, []))
        return frame is self.frame and told == self.blocks_entered()[: len(told)]

    def blocks_entered(self) -> list[int]:
        """The blocks around the current place that a program may or may not enter, by their numbers."""
        return [place[4] for place in self.places if place and place[3] is not ALWAYS]

    # -- the second time: knowing --------------------------------------------------------------------------------

    def allowed(self, origin: ast.AST, frame: Frame) -> tuple[int, int]:
        """The ranks an object may have at the current statement, and whether it is torch's."""
        regions = self.solved.get(origin)
        mask, torch = ranks.ANY, UNTOLD
        if regions is not None:
            for place in self.places:
                if place is not None and place[0] is frame:
                    found = regions.get((id(place[1]), self.last_exit(place[1], place[2])))
                    if found is not None:
                        mask, torch = mask & found[0], max(torch, found[1])
        return mask, torch

    def known_rank(self, value: Value, kin: Kin) -> Value:
        """The value with the rank that the current stretch of statements demands of it."""
        (origin, offset, least) = kin
        mask, torch = self.allowed(origin.origin, origin.frame)
        rank = ranks.single(mask)
        if rank is None or rank + offset < 0:
            if torch is TOLD and isinstance(value, Opaque) and value.kind is None and offset == least == 0:
                return Tensor("torch", axes=value.axes, marks=frozenset({"parameter"}), kin=value.kin)
            return value
        if rank == 2 and self.has_matrices and not torch:
            return value  # `np.exp(x)` of a matrix is one, too
        unnamed = S.counter if type(value) is Opaque and value.cut else S.symbol
        known = refinement.with_rank(self, value, [unnamed() for _ in range(max(rank + offset, least))])
        if known is None:
            return value
        if torch and known.framework is None:
            known = copy(known, framework="torch")
        return known

    def enter_region(self, frame: Frame, body: list[ast.stmt], index: int) -> list[tuple[str, Value, Value]]:
        """A stretch begins: the names that hold an object of which it demands something now know it."""
        changed: list[tuple[str, Value, Value]] = []
        same: dict[int, Value] = {}
        for name, value in frame.env.items():
            if isinstance(value, Opaque) or (isinstance(value, Tensor) and value.shape is None):
                kin = value.kin
                if kin is not None and kin[0].frame is frame and kin[0].origin in self.solved:
                    known = same.get(id(value))
                    if known is None:
                        known = same[id(value)] = self.known_rank(value, kin)
                    if known is not value:
                        changed.append((name, value, known))
        for name, _, known in changed:
            frame.env[name] = known
        return changed

    def related(self, value: Value, origin: ast.AST) -> Value:
        """The value that a name is bound to, so that what is demanded of it later can be told of it here."""
        frame = self.frame
        if value is UNKNOWN:
            value = Opaque(None)
        if type(value) is Tensor:
            if value.shape is not None:
                return value
        elif type(value) is not Opaque or value.kind is not None:
            return value
        if value.kin is None:
            value.kin = (Rank(origin, frame), 0, 0)
        if self.solved and value.kin[0].origin in self.solved and value.kin[0].frame is frame:
            return self.known_rank(value, value.kin)
        return value

    # -- what operations demand and keep -------------------------------------------------------------------------

    def demand_of_function(self, name: str, args: list[Value], kwargs: dict[str, Value]) -> None:
        if not args or not (_is_open(args[0]) or (len(args) > 1 and _is_open(args[1]))):
            return
        last = name.rpartition(".")[2]
        mask = ranks.FUNCTIONS.get(last)
        if name == "torch.nn.functional.interpolate":
            given = dict(zip(("size", "scale_factor", "mode"), args[1:], strict=False)) | kwargs
            mask = ranks.of_resampling(given.get("size"), given.get("scale_factor"), given.get("mode"))
        if mask is not None and name.startswith("torch."):
            self.demand(args[0], mask, torch=True)
            if last in ("bmm", "mm") and len(args) > 1:
                self.demand(args[1], mask, torch=True)
        elif name.startswith("torch.") or "." not in name:
            mask = ranks.of_method(last, args[1:], kwargs)
            if mask != ranks.ANY:
                self.demand(args[0], mask, torch=last == "permute")
        elif name in ("numpy.pad", "numpy.transpose"):
            self.demand(args[0], ranks.of_array(last, args[1:], kwargs))

    def with_sizes_of_space(self, args: list[Value], kwargs: dict[str, Value]) -> tuple[list[Value], dict[str, Value]]:
        """The arguments of F.interpolate: a part of another tensor's shape, `size=y.shape[2:]`, has as many sizes as axes are
        resampled."""
        given = dict(zip(("input", "size", "scale_factor", "mode"), args, strict=False)) | kwargs
        size, whole = given.get("size"), given.get("input")
        if not isinstance(size, Sequence) or size.items is not None or size.kind != "tuple":
            return args, kwargs
        count = ranks.resampled(given.get("mode"))
        if isinstance(whole, Tensor) and whole.shape is not None:
            count = len(whole.shape) - 2
        if count is None or count < 1:
            return args, kwargs
        if size.kin is not None:
            left = Opaque(None)
            left.kin = size.kin
            self.demand(left, ranks.exactly(min(count, ranks.MOST)))
        listed = None if size.pieces is None else size.pieces.listed(count)
        if listed is None:
            return args, kwargs
        told = Sequence("tuple", listed)
        return [told if each is size else each for each in args], {
            name: told if each is size else each for name, each in kwargs.items()
        }

    def keep_rank(self, result: Value, operand: Value | None, offset: int = 0) -> Value:
        """The result of an operation that keeps the number of axes of its operand."""
        if isinstance(result, Tensor) and result.shape is None and result.kin is None:
            if isinstance(operand, (Tensor, Opaque, Sequence)) and operand.kin is not None:
                result.kin = moved(operand.kin, offset)
        return result

    def layer_rank(self, layer: LibraryObject, args: list[Value]) -> None:
        """A layer of torch.nn is given its input."""
        name = layer.path.rpartition(".")[2]
        if name == "Upsample" and args:
            given = layer.arguments
            accepted = ranks.of_resampling(given.get("size"), given.get("scale_factor"), given.get("mode"))
            self.demand(args[0], accepted, torch=True)
        mask = ranks.LAYERS.get(name)
        if args and mask is not None:
            self.demand(args[0], mask, torch=name not in ("LSTM", "GRU", "RNN"))
        elif args and ranks.SAME_LAYERS.match(name) and name != "Identity":
            self.demand(args[0], ranks.ANY, torch=True)

    def kept_by_arithmetic(self, result: Value, left: Value, right: Value) -> Value:
        """`x * 2` and `x + x.amax(1, keepdim=True)` of objects nobody knows: should they be tensors, the result has as many
        axes."""
        for side, other in ((left, right), (right, left)):
            if type(side) is Opaque and side.kind is None and side.kin is not None:
                if (
                    isinstance(other, (Number, Scalar))
                    or (isinstance(other, Const) and type(other.value) in (int, float, bool))
                    or (isinstance(other, Opaque) and other.kind is None and other.kin == side.kin)
                ):
                    if result is UNKNOWN:
                        result = Opaque(None)
                    if isinstance(result, Opaque) and result.kin is None:
                        result.kin = side.kin
        return result

    def kept_by_operator(self, result: Value, left: Value, right: Value, sign: str = "+") -> Value:
        """The result of an operator: as many axes as its operands have, where both have the same; beside an operand
        that has so many, at least as many."""
        if sign == "@":
            return self.kept_by_product(result, left, right)
        if isinstance(result, Tensor) and result.shape is None and result.axes is None:
            result.axes = known_axes.broadcast([left, right]) or None
        if isinstance(result, Tensor) and result.shape is None and result.kin is None:
            kins = []
            least = -1
            for side in (left, right):
                if isinstance(side, Tensor):
                    if side.shape is not None:
                        least = max(least, len(side.shape))
                    else:
                        kins.append(side.kin)
                elif isinstance(side, Opaque) and side.kind != PLAIN:
                    kins.append(side.kin)
            if kins and kins[0] is not None and all(kin is not None and kin[:2] == kins[0][:2] for kin in kins):
                if least >= 0:
                    kins[0][0].met = True
                result.kin = (*kins[0][:2], max(least, *(kin[2] for kin in kins if kin is not None)))
        return result

    def kept_by_product(self, result: Value, left: Value, right: Value) -> Value:
        """`x @ w`: a matrix on either side leaves the number of axes of the other (which has one at least)."""
        if isinstance(result, Tensor) and result.shape is None and result.kin is None:
            for side, other in ((left, right), (right, left)):
                if isinstance(other, Tensor) and other.shape is not None and len(other.shape) == 2:
                    kin = _kin_of(side)
                    if kin is not None:
                        kin[0].met = True
                    return self.keep_rank(result, side)
            if _kin_of(left) is not None and _kin_of(left) == _kin_of(right):
                return self.keep_rank(result, left)
        return result


def _kin_of(value: Value) -> Kin | None:
    return value.kin if isinstance(value, (Tensor, Opaque)) else None


def _narrowed(regions: dict[Region, tuple[int, int]]) -> list[tuple[int, int]]:
    """What is known in each region, and in all of them together (they may lie in one another)."""
    mask, torch = ranks.ANY, UNTOLD
    for each, is_torch in regions.values():
        mask, torch = mask & each, max(torch, is_torch)
    return [*regions.values(), (mask, torch)]


_JUDGED_BY_RANK = (".view(", ".T", "tensor(", "array(", "reveal_shape")


def _is_judged_by_rank(function: ast.FunctionDef | ast.AsyncFunctionDef, file: SourceFile) -> bool:
    lines = lines_of(file.tree, file.text)[function.lineno - 1 : function.end_lineno]
    return any(part in line for line in lines for part in _JUDGED_BY_RANK)


# Functions that end a program, or a test, that nothing is wrong with.
_STOPS = frozenset(["exit", "_exit", "quit", "abort", "skip", "skipTest"])
_GIVES_WAY = frozenset(["yield", "await", "async"])


_CALLED = re.compile(r"\s*\(")
_PART_OF_WORD = re.compile(r"\w")


def _may_leave_within(text: str) -> bool:
    """Whether an expression of a file may leave a block, by its text."""
    words = words_of(text)
    if not words.isdisjoint(_GIVES_WAY):
        return True
    return any(_is_called(name, text) for name in _STOPS & words)


def _is_called(name: str, text: str) -> bool:
    """Whether something of that name is called, by the text. (One pattern for all names takes ten times as long.)"""
    return any(
        _CALLED.match(text, at + len(name)) and not (at and _PART_OF_WORD.match(text, at - 1))
        for at in places_of(name, text)
    )


def _may_leave(statement: ast.stmt, deep: bool = True) -> bool:
    """Whether control may leave the block at this statement other than by an error. `deep` asks for a look into
    expressions."""
    waiting: list[tuple[ast.AST, bool]] = [(statement, False)]
    while waiting:
        node, in_loop = waiting.pop()
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)):
            return True
        if isinstance(node, (ast.Break, ast.Continue)) and not in_loop:
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            if (node.func.id if isinstance(node.func, ast.Name) else node.func.attr) in _STOPS:
                return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            waiting += [(child, True) for child in node.body]
            waiting += [(child, in_loop) for child in node.orelse]
            waiting.append((node.test if isinstance(node, ast.While) else node.iter, in_loop))
        elif deep:
            waiting += [(child, in_loop) for child in children(node)]
        else:
            waiting += [(child, in_loop) for child in children(node) if not isinstance(child, ast.expr)]
    return False
