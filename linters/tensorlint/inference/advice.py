"""What a reader may write so that two operands have one shape."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Framework


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Operand:
    """`text` is what a method or an index may be written behind; None where the source is too long to be shown whole.

    `place` names the operand where its text cannot: "first". `reshapes` is false for what is no array: a distribution, a
    list.
    """

    shape: Shape
    framework: Framework | None
    text: str | None
    place: str
    reshapes: bool = True


def one_shape(left: Operand, right: Operand, *, columns: bool = False) -> str:
    """The change of one operand that gives both one shape, as code or in words; "" where none is known to.

    With `columns` the shorter one grows: the rest of the program is about columns.
    """
    column, row = (left, right) if _is_column(left.shape, right.shape) else (right, left)
    longer, shorter = (left, right) if len(left.shape) > len(right.shape) else (right, left)
    if len(longer.shape) > len(shorter.shape):
        removed = _superfluous(longer.shape, shorter.shape)
        if removed:
            ways = [
                (longer, _squeezes(len(longer.shape), removed)),
                (shorter, _unsqueezes(shorter.framework, len(longer.shape), removed)),
            ]
            return _first(ways[::-1] if columns else ways)
    if _fit(_without_units(left.shape), _without_units(right.shape)):
        return _first([
            (changed, f".reshape({other.text}.shape)")
            for changed, other in ((column, row), (row, column))
            if other.reshapes and other.text is not None
        ])  # fmt: skip
    return ""


def _first(ways: list[tuple[Operand, str]]) -> str:
    """The first of the ways that can be pasted, or the first in words."""
    possible = [way for way in ways if way[0].reshapes]
    for operand, suffix in possible:
        if operand.text is not None:
            return operand.text + suffix
    return f"{possible[0][1]} behind the {possible[0][0].place} operand" if possible else ""


def _is_column(shape: Shape, other: Shape) -> bool:
    """Whether this operand is the column: it has a size-1 axis of its own (the last, if both have)."""
    if 1 in shape and 1 in other:
        return len(shape) >= len(other) and shape[-1] == 1
    return 1 in shape


def _superfluous(longer: Shape, shorter: Shape) -> tuple[int, ...]:
    """The axes of size 1 without which the longer shape is the shorter one, the last ones that are; () if there are none."""
    units = [axis for axis, size in enumerate(longer) if size == 1]
    for removed in reversed(list(combinations(units[-8:], len(longer) - len(shorter)))):
        if _fit(tuple(size for axis, size in enumerate(longer) if axis not in removed), shorter):
            return removed
    return ()


def _fit(a: Shape, b: Shape) -> bool:
    """Whether two shapes may be one: sizes that nobody knows may be equal."""
    return len(a) == len(b) and all(map(_may_be_equal, a, b))


def _may_be_equal(a: Size, b: Size) -> bool:
    return a == b or (a != 1 and b != 1 and not S.surely_differ(a, b))


def _without_units(shape: Shape) -> Shape:
    return tuple(size for size in shape if size != 1)


def _squeezes(rank: int, removed: tuple[int, ...]) -> str:
    written = ""
    for axis in reversed(removed):
        written += f".squeeze({-1 if axis == rank - 1 else axis})"
        rank -= 1
    return written


def _unsqueezes(framework: Framework | None, rank: int, added: tuple[int, ...]) -> str:
    """What gives a shape the axes that it has among `rank` in the end."""
    if framework == "torch":
        grown, written = rank - len(added), ""
        for axis in added:
            written += f".unsqueeze({-1 if axis == grown else axis})"
            grown += 1
        return written
    index = ["None" if axis in added else ":" for axis in range(added[-1] + 1)]
    return f"[{', '.join(index)}]"
