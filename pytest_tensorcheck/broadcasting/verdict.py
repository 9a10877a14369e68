"""Is this broadcast an accident? Judged from shapes alone first, then from where the operands come from.

Both watchers (torch and numpy) ask here. A *two-sided* broadcast makes both operands grow; a one-sided one (a bias, a
mask, a mean with its axis kept) is never judged by its sizes.

What decides, and why (measured on the bugs and look-alikes of the tests):

* sizes: `(n, 1)` with `(n,)`, or any two shapes that are equal once axes of size 1 are dropped, is what a forgotten
  `squeeze` looks like; a row and a column of other sizes become a matrix that hardly anybody wants by accident or on
  purpose without saying so. `(16, 1)` with `(4,)`, `(B, C, 1, 1)` with `(B, 1, H, W)`: meant.
* provenance: an operand that was given its axis on purpose (`unsqueeze`, `[:, None]`, `keepdim`, `view`, `reshape`,
  `expand`, einops) says that the outer operation is meant. `view` and `reshape` also prepare data, so on an earlier
  line they do not excuse a prediction that meets its target.
* kinship: an operand against its own transpose or against itself with another axis is a table of pairs.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pytest_tensorcheck.shapes.sizes import Shape, broadcast_shapes

Kind = Literal["arithmetic", "scaling", "equality", "order", "logic", "loss", "choice"]
Relation = Literal["rank", "row-column", "outer"]


class Operand(NamedTuple):
    """What is known of one operand.

    `explicit`: how it got its axes: "strong" (`unsqueeze`, `[:, None]`, `keepdim`, `expand`), "weak" (`view`,
    `reshape`), "transpose", "keepdim" (a reduction), "" (nothing says so). `same_statement`: that happened in the very
    statement that is judged. `prediction`: a model's output or an argmax. `grid`: made by arange or linspace.
    `storage`: where its first element lies, 0 where that is not known.
    `positions`: such a grid, reshaped and not computed with: bins, centres. `learned`: a parameter. `known`: made while somebody was looking; `setup`: made in `__init__` or the like.
    """

    shape: Shape
    explicit: Literal["", "strong", "weak", "transpose", "keepdim"] = ""
    same_statement: bool = False
    prediction: bool = False
    grid: bool = False
    learned: bool = False
    known: bool = True
    setup: bool = False
    storage: int = 0
    positions: bool = False


def relation(first: Shape, second: Shape) -> Relation | None:
    """How two shapes relate if their broadcast may be an accident, None if not. Shapes alone: the cheap question.

    "rank": numbers of axes differ and the rest is equal, `(n, 1)` with `(n,)`. "row-column": the same number of axes,
    and equal without the ones, `(1, n)` with `(n, 1)`. "outer": `(1, m)` with `(n, 1)`.
    """
    if first == second or not first or not second:
        return None
    together = broadcast_shapes((first, second))
    if together is None:
        return None
    size, left, right = _count(together), _count(first), _count(second)
    if size in (0, left, right):
        return None
    kept = tuple(each for each in first if each != 1)
    if kept == tuple(each for each in second if each != 1):
        if len(first) != len(second):
            return "rank"
        # With more axes of size 1 somebody keeps them in their places on purpose: (B, 1, 1, T) and (1, 1, T, T).
        return "row-column" if len(first) - len(kept) == 1 else None
    if len(first) == len(second) == 2:
        return "outer"
    return None


def _count(shape: Shape) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def is_accident(kind: Kind, how: Relation, first: Operand, second: Operand) -> bool:
    """Whether nothing says that this two-sided broadcast is meant."""
    if first.storage and first.storage == second.storage:
        return False  # an array with itself: pairs
    both = (first, second)
    if kind == "loss":
        # A loss of every prediction against every target is worth saying in the statement itself.
        if how == "rank":
            return not any(each.explicit and each.same_statement for each in both)
        return not any(each.explicit for each in both)
    if kind == "logic" and how != "rank":
        return False  # masks are put together so
    if any(each.learned for each in both):
        return False
    if any(each.grid for each in both) and kind in ("scaling", "order", "equality"):
        return False  # positions times frequencies, `arange(T) < lengths`, one-hot by comparison
    if how == "outer" and any(not each.known or each.setup for each in both):
        return False  # a buffer built `(1, d)` for this very purpose
    return not any(_excuses(kind, how, mine, other) for mine, other in ((first, second), (second, first)))


def _excuses(kind: Kind, how: Relation, mine: Operand, other: Operand) -> bool:
    """Whether `mine` got its axes in a way that says the outer operation is meant."""
    if mine.explicit == "strong":
        return True
    if mine.explicit == "keepdim":
        # x.sum(1, keepdim=True) + y.sum(1) is a distance table; pred.argmax(1, keepdim=True) == y is an accident.
        return kind != "equality" or how != "rank"
    if mine.explicit == "transpose":
        return how != "rank"
    if mine.explicit == "weak":
        return mine.same_statement or mine.positions or how != "rank" or mine.prediction == other.prediction
    return False
