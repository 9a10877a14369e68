"""What becomes of the matrix that a row and a column made: whether it is read along its axes, as a table is, or as one heap."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, Literal

from tensorlint.findings import Evidence
from tensorlint.inference import sizes as S
from tensorlint.inference.sizes import Size
from tensorlint.inference.state import State
from tensorlint.inference.values import PLAIN, Const, Number, Opaque, Scalar, Sequence, Tensor, Value, copy
from tensorlint.inference.walking import walk

# What a tensor remembers of such an operation: `outer:` while all of the matrix is there, `part:` of what was reduced
# along one of the two axes.
WHOLE, PART = "outer:", "part:"
# Beside `outer:`, while the matrix is a sum or difference of the two, perhaps times a number: its mean is that of the sum of
# row and row.
LINEAR = "linear:"
_KEEP_NUMBERS = frozenset(["mean", "detach", "clone", "contiguous", "float", "double", "cpu", "cuda", "numpy"])
_ADD = frozenset(["+", "-", "add", "sub", "subtract"])
_MEANS = frozenset({"mean", "nanmean"})
_OF_MEANS = frozenset({"dim", "axis", "keepdim", "keepdims", "dtype", "input", "a"})
# Which of them, or what is nearest: nobody asks that of a heap of n × n differences.
_CHOICES = frozenset(["argmin", "argmax", "nanargmin", "nanargmax", "min", "amin", "nanmin", "kthvalue"])
_INDICES = frozenset(["argmin", "argmax", "nanargmin", "nanargmax"])
_PRODUCTS = frozenset(["dot", "matmul", "mm", "mv", "inner", "bmm"])

# What only a matrix is given to: its diagonal, or the pairs on one side of it.
_OF_MATRICES = frozenset(
    ["triu", "tril", "triu_", "tril_", "diag", "diagonal", "trace", "fill_diagonal", "fill_diagonal_"]
)

Reading = Literal["heap", "along", "chosen"]


@dataclass(slots=True, eq=False, repr=False)
class Outcome:
    """`axes` are those of the matrix that grew, the column's own, of size 1, the last. `reduced` says that all of it became
    a number, `partly` that what an axis-wise reduction or an index left of it did, `where` is the first place of this file
    at which either happened. `along` and `chosen` say that it was reduced, or chosen from, along one of its axes. `column`
    says that it met another column, or went where columns go, so that the row should have been one. `mixed` says that it met
    another matrix, or what may be one, or went where a matrix is read as one. `averaged` says that of a sum nothing but the
    mean was taken, which is the number that a sum of row and row has. `by_mean` says that nothing but means made numbers of
    it, `at_once` that the expression that made a number of it also made it, `doubled` that one that came about in the
    same way was added to it: `y * log(p) + (1 - y) * log(1 - p)`. `left` are the same axes by the rank of what other axes were
    summed away of, `((x - centres) ** 2).sum(-1)`."""

    shape: tuple[Size, ...]
    axes: tuple[int, ...]
    column_shape: tuple[Size, ...]
    row_computed: bool
    reduced: bool = False
    partly: bool = False
    where: ast.AST | None = None
    along: bool = False
    chosen: bool = False
    column: bool = False
    mixed: bool = False
    averaged: bool = False
    by_mean: bool = False
    at_once: bool = False
    doubled: bool = False
    left: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def reading(self) -> Reading:
        return "chosen" if self.chosen else "along" if self.along else "heap"


class Outcomes(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def note_outer(self, node: ast.AST, left: Tensor, right: Tensor, shape: tuple[Size, ...] | None) -> None:
        """From here on it is watched what becomes of the operation's result."""
        key = f"{WHOLE}{id(node)}"
        self.last_broadcast = key
        if shape is None:
            return
        axes = _grown(left.shape or (), right.shape or (), shape)
        known = self.outcomes.get(key)
        if known is not None:  # met before, in another call or another round
            known.shape, known.axes = shape, axes
            known.left = {len(shape): axes}
            return
        column, row = (left, right) if (left.shape or ())[-1:] == (1,) else (right, left)
        self.outcomes[key] = Outcome(shape, axes, column.shape or (), is_product(row.made), left={len(shape): axes})

    def with_outer(self, result: Value) -> Value:
        """The result of an operation in which a row met a column remembers it, so that a reduction of it is noticed."""
        key, self.last_broadcast = self.last_broadcast, None
        if self.outcomes and not self.keeps_numbers and isinstance(result, Tensor) and result.marks:
            result = without_linear(result)
        if key is not None and isinstance(result, Tensor):
            return copy(result, marks=result.marks | {key})
        return result

    def with_linear(self, sign: str, result: Value, *operands: Value) -> Value:
        """The result remembers of which rows and columns it is a sum."""
        if not isinstance(result, Tensor) or not result.marks:
            return result
        kept = set()
        for mark in result.marks:
            if mark.startswith((WHOLE, PART)):
                linear = _linear(mark)
                of = [each for each in operands if isinstance(each, Tensor) and mark in each.marks]
                others = [each for each in operands if each not in of]
                scaled = sign == "*" or (sign == "/" and operands[0] in of)
                if all(linear in each.marks for each in of) and (
                    sign in ("+", "-") or (scaled and len(of) == 1 and all(map(_is_number, others)))
                ):
                    kept.add(linear)
        return copy(result, marks=result.marks | kept) if kept else result

    def report_reduced(self, node: ast.AST, facts: dict[str, Any]) -> None:
        tensor: Tensor = facts["tensor"]
        result, name = facts.get("result"), facts["operation"].rpartition(".")[2]
        is_number = not isinstance(result, Tensor) or result.shape in (None, ())
        for mark, outcome, whole in self._outcomes_of(tensor):
            mean = name == "mean" and _linear(mark) in tensor.marks and _is_plain(node)
            if is_number:
                first = not (outcome.reduced or outcome.partly)
                same = mean and self.is_read_once(int(mark.partition(":")[2]), node)
                outcome.averaged = same and (first or outcome.averaged)
                outcome.by_mean = name in _MEANS and (first or outcome.by_mean)
                outcome.at_once = outcome.at_once or self.is_within(int(mark.partition(":")[2]), node)
                self._became_number(node, tensor, outcome, whole)
                outcome.chosen = outcome.chosen or (not whole and name in _INDICES)
                continue
            grown = outcome.left.get(tensor.rank or 0, ()) if whole else ()
            if not grown:
                continue
            assert isinstance(result, Tensor)
            if set(facts["axes"]) & set(grown):
                outcome.along = True
                outcome.chosen = outcome.chosen or name in _CHOICES
                result.marks = result.marks - {mark} | {PART + mark[len(WHOLE) :]}
                if mean:
                    result.marks |= {_linear(mark)}
            elif result.rank is not None and result.rank < (tensor.rank or 0):
                outcome.left[result.rank] = tuple(axis - sum(each < axis for each in facts["axes"]) for axis in grown)

    def is_within(self, cause: int, reduction: ast.AST) -> bool:
        """Whether the operation, of this id, stands in the reduction."""
        cause = self.operations_elsewhere.get(cause, cause)
        return any(id(each) == cause for each in walk(reduction))

    def is_read_once(self, cause: int, reduction: ast.AST) -> bool:
        """Whether the operation, of this id, stands in the reduction, or in a name that is read there only."""
        cause = self.operations_elsewhere.get(cause, cause)
        if self.is_within(cause, reduction):
            return True
        names = [each.id for each in walk(reduction) if isinstance(each, ast.Name)]
        read = [
            each.id for each in walk(self.frame.node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
        ]
        for each in walk(self.frame.node):
            if isinstance(each, ast.Assign) and any(id(part) == cause for part in walk(each.value)):
                target = each.targets[0]
                return len(each.targets) == 1 and isinstance(target, ast.Name) and (
                    target.id in names and read.count(target.id) == 1)  # fmt: skip
        return False

    def _became_number(self, node: ast.AST, tensor: Tensor, outcome: Outcome, whole: bool) -> None:
        if whole and (tensor.shape is None or _holds(tensor.shape, outcome.shape)):
            outcome.reduced = True
        else:
            outcome.partly = True
        if self.file is self.own_file:
            outcome.where = outcome.where or node

    def report_weighed(self, node: ast.AST, facts: dict[str, Any]) -> None:
        """A softmax or an order along the axis on which the column has size 1: of the column alone all would be one."""
        self._note_chosen(facts["tensor"], facts["axis"], slice(-1, None))

    def report_nearest(self, node: ast.AST, facts: dict[str, Any]) -> None:
        self._note_chosen(facts["tensor"], facts["axis"], slice(None))

    def _note_chosen(self, tensor: Tensor, axis: int, among: slice) -> None:
        for _, outcome, whole in self._outcomes_of(tensor):
            if whole and axis in outcome.left.get(tensor.rank or 0, ())[among]:
                outcome.chosen = True

    def note_meeting(self, operation: str, *operands: Value) -> None:
        """The matrix meets another column, or is a factor of a matrix product: its row was to be a column."""
        if self.vector_numbers and operation[0].isalpha():  # operators have told of it
            self.note_number_use(operation, operands)
        if not self.outcomes:
            return
        self.keeps_numbers = operation.rpartition(".")[2] in _KEEP_NUMBERS
        for at, operand in enumerate(operands):
            if isinstance(operand, Sequence):
                self.note_unseen(*(operand.items or [operand.element]))  # joined with others
            if not (isinstance(operand, Tensor) and operand.marks):
                continue
            others = [each for each in (*operands[:at], *operands[at + 1 :]) if isinstance(each, Tensor)]
            product = operation == "@" or operation.rpartition(".")[2] in _PRODUCTS
            for _, outcome, whole in self._outcomes_of(operand):
                if not whole:
                    continue
                if product:
                    outcome.column = outcome.column or not outcome.row_computed
                elif any(each.shape == outcome.column_shape for each in others):
                    outcome.column = True
                rest = (*operands[:at], *operands[at + 1 :])
                if operation.rpartition(".")[2] in _ADD and any(
                    isinstance(each, Tensor)
                    and not operand.marks & each.marks & self.outcomes.keys()
                    and self.grew_alike(each, outcome)
                    for each in rest
                ):
                    outcome.doubled = True
                if operation.rpartition(".")[2] in _OF_MATRICES or any(
                    _may_be_matrix(each, operand) and not self.grew_alike(each, outcome) for each in rest
                ):
                    outcome.mixed = True
                elif others and operand.rank != len(outcome.shape):
                    outcome.mixed = True  # a flat view of it, or a row

    def grew_alike(self, other: Value, outcome: Outcome) -> bool:
        """Whether the other matrix came about in the same way: `y * d + (1 - y) * (m - d)`."""
        return isinstance(other, Tensor) and any(
            whole and each.column_shape == outcome.column_shape and each.axes == outcome.axes
            for _, each, whole in self._outcomes_of(other)
        )

    def note_given(self, args: list[Value], kwargs: dict[str, Value], result: Value) -> None:
        """A function that is given the matrix: where it neither works item by item nor reduces, it reads a matrix as one."""
        if any(isinstance(value, Tensor) for value in kwargs.values()):
            self.note_unseen(*args, *kwargs.values())
        elif isinstance(result, Tensor) and "reduction" not in result.marks:
            for each in args:
                gone = each.marks - result.marks if isinstance(each, Tensor) else ()
                if any(mark.startswith(WHOLE) for mark in gone):
                    self.note_unseen(each)
        elif isinstance(result, Sequence):
            self.note_unseen(*args)

    def note_unseen(self, *values: Value) -> None:
        """They go into code that is not known: what it does with a matrix of pairs, nobody knows."""
        for value in values if self.outcomes else ():
            if isinstance(value, Tensor) and value.marks and value.rank != 0:
                for _, outcome, _ in self._outcomes_of(value):
                    outcome.mixed = True

    def _outcomes_of(self, tensor: Tensor) -> list[tuple[str, Outcome, bool]]:
        found = []
        for mark in tensor.marks:
            whole = mark.startswith(WHOLE)
            if whole or mark.startswith(PART):
                outcome = self.outcomes.get(mark if whole else WHOLE + mark[len(PART) :])
                if outcome is not None:
                    found.append((mark, outcome, whole))
        return found

    def reduction_evidence(self, node: ast.AST) -> tuple[Evidence, ...]:
        """Where the result of the operation is reduced to one number, unless that is on the operation's own line."""
        outcome = self.outcomes.get(f"{WHOLE}{id(node)}")
        reduction = None if outcome is None else outcome.where
        if reduction is None or getattr(reduction, "lineno", None) == getattr(node, "lineno", None):
            return ()
        found = self.evidence_at(reduction, f"reduced to one number here: {self.text_of(reduction, 50)}")
        return () if found is None else (found,)


def without_linear(tensor: Tensor) -> Tensor:
    kept = frozenset(mark for mark in tensor.marks if not mark.startswith(LINEAR))
    return tensor if len(kept) == len(tensor.marks) else copy(tensor, marks=kept)


def _linear(mark: str) -> str:
    return LINEAR + mark.partition(":")[2]


def _is_number(value: Value) -> bool:
    plain = isinstance(value, Opaque) and value.kind == PLAIN
    return plain or isinstance(value, (Const, Number, Scalar)) or (isinstance(value, Tensor) and value.shape == ())


def _is_plain(node: ast.AST) -> bool:
    """Whether the mean is one of all the items alike: `where=` leaves some out."""
    return isinstance(node, ast.Call) and all(each.arg in _OF_MEANS for each in node.keywords)


def _grown(left: tuple[Size, ...], right: tuple[Size, ...], shape: tuple[Size, ...]) -> tuple[int, ...]:
    """The axes of the result on which one operand has size 1, or none at all, and the other has not."""
    rank = len(shape)
    a, b = (1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right
    return tuple(axis for axis in range(rank) if (a[axis] == 1) != (b[axis] == 1))


def _holds(shape: tuple[Size, ...], matrix: tuple[Size, ...]) -> bool:
    """Whether a tensor of this shape may be all of the matrix, perhaps flattened, or stacked with others: what an index took
    of it is not, nor what another axis was summed away from."""
    here, there = S.product(shape), S.product(matrix)
    if isinstance(here, int) and isinstance(there, int):
        return here >= there
    return len(shape) >= len(matrix) or S.same(here, there)


def _may_be_matrix(other: Value, matrix: Tensor) -> bool:
    """Whether what meets the matrix may be another one, or is the sum that makes its numbers shares of a whole."""
    if isinstance(other, Tensor):
        if other.marks and any(mark.startswith(WHOLE) for mark in other.marks & matrix.marks):
            return False
        if other.source is not None and other.source.marks & matrix.marks:
            return True
        return other.shape is None or sum(size != 1 for size in other.shape) > 1
    return not isinstance(other, (Const, Number, Scalar))


def is_product(node: ast.AST | None) -> bool:
    """Whether a matrix product is in the expression: what was computed from the inputs, and not given with them."""
    return node is not None and any(
        (isinstance(each, ast.BinOp) and isinstance(each.op, ast.MatMult))
        or (isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in _PRODUCTS)
        for each in walk(node)
    )
