"""einops patterns: read, and matched against a shape."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import reshaping
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.table import Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Value

WITHIN = "(...)"
Axis = str | int
Group = tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """Both sides as groups of axes; an integer is an anonymous axis, "..." the ellipsis, "(...)" one in parentheses."""

    left: tuple[Group, ...]
    right: tuple[Group, ...]


@lru_cache(maxsize=512)
def parse(text: str) -> Pattern | None:
    left, arrow, right = text.partition("->")
    if not arrow:
        return None
    first, second = _side(left), _side(right)
    return None if first is None or second is None else Pattern(first, second)


def _side(text: str) -> tuple[Group, ...] | None:
    groups: list[Group] = []
    inside: list[Axis] | None = None
    for word in text.replace("(", " ( ").replace(")", " ) ").replace("…", "...").replace("...", " ... ").split():
        if word == "(":
            if inside is not None:
                return None
            inside = []
        elif word == ")":
            if inside is None:
                return None
            groups.append(tuple(inside))
            inside = None
        else:
            axis: Axis = word
            if word.isdigit():
                axis = int(word)
            elif word != "..." and not word.isidentifier():
                return None
            if inside is not None:
                if axis != 1:
                    inside.append(WITHIN if axis == "..." else axis)
            else:
                groups.append(() if axis == 1 else (axis,))
    return None if inside is not None else tuple(groups)


def text_of(value: Value) -> str:
    if isinstance(value, Const) and isinstance(value.value, str):
        return value.value
    raise Undecided


class Axes:
    """Sizes by axis name while a pattern is matched against a shape."""

    def __init__(self, lengths: dict[str, Value]) -> None:
        self.sizes: dict[Axis, Size] = {}
        for name, value in lengths.items():
            size = values.size_of(value)
            self.sizes[name] = S.symbol() if size is None else size
        self.given = set(self.sizes)

    def match(self, groups: tuple[Group, ...], shape: Shape) -> tuple[list[Group], list[Axis]]:
        """The groups with the ellipsis spelled out as axes of its own, and those axes."""
        spread: list[Axis] = []
        names: list[Group] = []
        plain = sum(group != ("...",) for group in groups)
        for group in groups:
            if WITHIN in group:
                raise Undecided  # which einops refuses
            if group == ("...",):
                extra = len(shape) - plain
                if extra < 0:
                    raise Undecided
                spread = [f"...{number}" for number in range(extra)]
                names.extend((axis,) for axis in spread)
            else:
                names.append(group)
        if len(names) != len(shape):
            raise Undecided
        for group, size in zip(names, shape, strict=True):
            self._fit(group, size)
        return names, spread

    def _fit(self, group: Group, size: Size) -> None:
        if not group:
            if isinstance(size, int) and size != 1:
                raise Undecided
            return
        unknown = [axis for axis in group if isinstance(axis, str) and axis not in self.sizes]
        known: Size = 1
        for axis in group:
            if isinstance(axis, int):
                known = S.multiply(known, axis)
            elif axis in self.sizes:
                known = S.multiply(known, self.sizes[axis])
        if not unknown:
            if isinstance(size, int) and isinstance(known, int):
                if size != known:
                    raise Undecided
            elif len(group) == 1 and isinstance(group[0], str):
                self.sizes[group[0]] = agree(size, known)
            return
        if len(unknown) > 1:
            raise Undecided
        (name,) = unknown
        if known == 1:
            self.sizes[name] = size
            return
        (self.sizes[name],) = reshaping.resolve((size,), (-1, known))[:1]

    def size(self, axis: Axis) -> Size:
        if isinstance(axis, int):
            return axis
        if axis not in self.sizes:
            raise Undecided
        return self.sizes[axis]

    def product(self, group: Group) -> Size:
        return S.relied(S.product([self.size(axis) for axis in group]))
