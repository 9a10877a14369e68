"""What the interpreter saw that a rule may want to judge.

A hazard is a fact, not yet an accusation: it carries the place, the values in words, and the trail of evidence.
Each kind is a class of its own; a rule names the kind it judges. They are compared as objects and not frozen, though
nothing changes one: the methods for that would take a tenth of tensorlint's start to make.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from tensorlint.findings import Evidence


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Hazard:
    """`node` is the expression or statement the hazard is about; its span is where a finding points.

    Where that is the call of a function of another file, `within` says in words in which of its statements it happens, and
    `elsewhere` is the path and the line of that.
    """

    node: ast.AST
    evidence: tuple[Evidence, ...] = ()
    within: str = ""
    elsewhere: tuple[str, int] | None = None


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class ViewHazard(Hazard):
    """`.view` that torch refuses for the receiver's strides, for every value of the unknown sizes other than 0 and 1.

    `shape` and `strides` are the receiver's in the user's own names; `merged` names the axes that the view merges
    although they are not adjacent in memory; `receiver` is its source text, `target` the requested shape; `written` says
    that the view is written into. `unless` says which sizes are 1 by default, of which torch accepts it.
    """

    receiver: str
    shape: str
    strides: str
    target: str
    merged: str
    reason: str
    written: bool = False
    unless: str = ""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class ExpandedWriteHazard(Hazard):
    """A write into a tensor that repeats its elements along `axis`, of size `size`, as `by` leaves it: `expand`, in line `line`
    if that is another one.

    `write` says what comes of it: `refused` by torch; `read-only`, an array of numpy's that nobody may write; `all`, where the
    one row `region` is written and the others are the same memory; `merged`, where the mask `region` is not the same for
    each of them; `deprecated`, where a mask or an index array chooses; `unsure` where the index may do any of this.
    `receiver` is its source text, `operation` that of the write.
    """

    receiver: str
    shape: str
    axis: int
    size: str
    operation: str
    write: Literal["refused", "read-only", "all", "merged", "deprecated", "unsure"]
    region: str
    by: str
    line: int


BroadcastContext = Literal["plain", "reduced", "partly", "loss", "compared"]


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class BroadcastHazard(Hazard):
    """Two operands that both grow by broadcasting (a row met a column), or a loss of two shapes (`loss`).

    `spelled` says how strongly the code states that a size-1 axis is meant: `no`; `shaped` by reshape;
    `said` by unsqueeze, [:, None], keepdim and the like. `spelled_here` is true where that is done in
    the expression itself. `same_length` is true where the two axes that grow grow to one and the same size: `(n, 1)`
    and `(n,)`. `from_layer` is true for a column that a layer with one output feature made, or a row that a bare
    squeeze made. `selected` is true for the index of a largest element, kept with its axis. `suggestion` is what gives
    both one shape, as code or in words, "" where nothing is known to, `column_suggestion` the same by making the row a column. `predicted` is true where the function
    that is called made the column itself, and what it meets is a model's prediction, a product of matrices or what a layer or network gave in it.
    `deliberate` is true where the operands are the
    same numbers as a row and as a column, or one is written to repeat the other, `written` where the numbers of both are written out. `ranges` is how many of the two are
    made of `arange` or `linspace`, `plain_ranges` is true where none of these was computed with. `own_axis` is true for a
    size-1 axis that the user wrote, which a kept one is not, `own_range` where such a column is made of a range, and
    `layer_column` for a column that a layer made. `context` is what the result goes into: `reduced` to a number as a
    whole, or `partly`, as what an axis-wise reduction or an index left of it, or `compared` with another shape by a loss.
    `one_kept` is true for a reduction that kept its last axis beside one that did not, or beside a vector; `mixed` where the
    result met another matrix, or went where it is read as one.
    `both_said` is true where the code asks for a size-1 axis of both, `both_summed` where the other one is a reduction too, `ratio` where one such reduction is divided by another.
    `updates` is true where the result is given the name that the column had, `images` where both have two or more
    last axes in common.
    `averaged` is true where the mean of a sum is all that is made of it, which is the mean of row and row, added, too,
    `by_mean` where means are all that made numbers of it, `at_once` where the reduction's expression also made it,
    `doubled` where it met a matrix that came about in the same way. `written_column` is true where the axis is asked for in the operation's own expression,
    `weighs_losses` where an unreduced loss is one of the two, or what a reduction left of each item meets the column of something else.
    `reading` says whether it was also reduced, or chosen from, along one of its axes. `follows` are, for a loss, the
    broadcasts of a row and a column that gave its operands their shapes, and `refused` that the loss broadcasts nothing and raises.
    `misplaced` is what to write behind the longer operand, a reduction of the other one with axes of size 1 too many,
    `rank` is how many axes the longer operand has,
    `one_each` is true for one number of each item, `(n, 1, 1)`, beside items of one axis less, `(n, t)`,
    `ones_behind` for one number of each of the others, `(n, 1, 1, 1)` beside `(n,)`,
    `meets_each` the same as `misplaced` where it is a mask or a factor that has too many behind the batch: `(B, 1, 1, T)` beside `(B, T, T)`.
    """

    operation: str
    left: str
    left_shape: str
    right: str
    right_shape: str
    result_shape: str
    context: BroadcastContext
    spelled: Literal["no", "shaped", "said"]
    spelled_here: bool
    both_spelled: bool
    same_length: bool
    same_rank: bool
    selected: bool
    from_layer: bool
    suggestion: str
    column_suggestion: str = ""
    deliberate: bool = False
    predicted: bool = False
    written: bool = False
    ranges: int = 0
    plain_ranges: bool = False
    own_axis: bool = False
    own_range: bool = False
    layer_column: bool = False
    one_kept: bool = False
    both_said: bool = False
    both_summed: bool = False
    ratio: bool = False
    updates: bool = False
    images: bool = False
    mixed: bool = False
    averaged: bool = False
    by_mean: bool = False
    at_once: bool = False
    doubled: bool = False
    written_column: bool = False
    weighs_losses: bool = False
    reading: Literal["heap", "along", "chosen"] = "heap"
    loss: bool = False
    refused: bool = False
    both_grow: bool = True
    misplaced: str = ""
    meets_each: str = ""
    one_each: bool = False
    ones_behind: bool = False
    rank: int = 2
    follows: tuple[BroadcastHazard, ...] = ()


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class WrongAxisHazard(Hazard):
    """A square matrix met the reduction of itself over another axis: `x - x.mean(1)`; the shapes hide the mistake."""

    operation: str
    left: str
    left_shape: str
    right: str
    right_shape: str
    suggestion: str


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class RankOneTransposeHazard(Hazard):
    """A transpose (`.T`, `.t()`, `transpose`) of a rank-1 array: it does nothing.

    `suggestion` is what to write instead, and for what. `product` says what became of it in a product with another vector:
    `np.dot(x.T, y) is a single number`.
    """

    framework: Literal["numpy", "torch"]
    receiver: str
    shape: str
    spelling: str
    suggestion: str
    product: str = ""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class RankOneVectorHazard(Hazard):
    """A rank-1 array where a row or a column vector is meant: `np.dot(a, a.T)`."""

    framework: Literal["numpy", "torch"]
    operand: str
    shape: str
    problem: str
    suggestion: str


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class RankOneCreationHazard(Hazard):
    """A call that creates a rank-1 array. `replacement` is the source of the column form, None if it has none."""

    framework: Literal["numpy", "torch"]
    call: str
    shape: str
    replacement: str | None


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class DirectForwardHazard(Hazard):
    """`module.forward(...)` on what is known to be an nn.Module. `why` says how that is known.

    `called` is false for a bound `module.forward` that is kept and called elsewhere. `handed` is the function that
    `module.forward`, which is then `node`, is handed to. `unbound` is the function, `Net.forward`, of a call that names
    the class and gives it the module first.
    """

    receiver: str
    module: str
    why: str
    called: bool = True
    handed: str = ""
    unbound: str = ""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class UntypedCallHazard(Hazard):
    """An nn.Module class with an annotated `forward` and no typed `__call__`, or a stale one. `node` is `forward`.

    `signatures` are the definitions wanted, overloads first, without colon and body, at no indentation; empty where
    they cannot be given as text. `declared` is the `if TYPE_CHECKING:` that holds the stale one. `following` is the
    class's statement after forward; `alone` says that nothing else, as a comment, stands on forward's last line.
    `unit` is one step of the class's indentation.
    """

    module: str
    stale: bool = False
    signatures: tuple[str, ...] = ()
    declared: ast.If | None = None
    following: ast.stmt | None = None
    alone: bool = True
    unit: str = "    "

    @property
    def line(self) -> int:
        line: int = self.node.lineno  # type: ignore[attr-defined]
        return line


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class MapClosureHazard(Hazard):
    """A function given to a caching transform of `datasets` that captures what changes from run to run.

    `trigger` is M4 to M9 or M11 of the fingerprint table; `path` is the way from the function to the captured name
    (`tokenize → self → trainer.run`); `certain` says that the fingerprint changes in every process. `unrelated` are
    fields the function does not read and that change its fingerprint all the same, `reads` those it does read.
    `keyed`: these are the keys of a dict.
    `strict`: a hazard of another kind (a result that is not refreshed), which only `--strict` reports.
    """

    trigger: Literal["M4", "M5", "M6", "M7", "M8", "M9", "M11"]
    method: str
    function: str
    captured: str
    path: str
    certain: bool
    reason: str
    remedy: str
    unrelated: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    keyed: bool = False
    strict: bool = False


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class MapHashSeedHazard(Hazard):
    """A fingerprint that depends on PYTHONHASHSEED (M1 to M3). `set_node` is the set to replace, if it is a literal.

    `membership`: the set stands right of `in` or `not in`, where a tuple does the same.
    """

    trigger: Literal["M1", "M2", "M3"]
    method: str
    function: str
    path: str
    reason: str
    remedy: str
    set_node: ast.Set | None = None
    membership: bool = False


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class UnseededParentHazard(Hazard):
    """A transform that draws without a seed upstream of a cached one (M10). `node` is the drawing call."""

    method: str
    downstream: str
    receiver: str
    reason: str = ""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class RevealShapeHazard(Hazard):
    """`reveal_shape(x)` left in the source."""

    argument: str
    revealed: str
