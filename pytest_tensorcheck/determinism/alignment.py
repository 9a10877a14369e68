"""Which operation of one run belongs to which of the other, where the runs did not do the same number of things.

The runs are walked in step; where they part, the nearest point is sought from which they agree again for a while.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

_WINDOWS = (64, 1024, 16384)  # operations looked ahead in either run: near first
_OCCURRENCES = 64  # of one key in a window: a loop's body repeats, and the near ones suffice
_AGREE = 6  # operations in a row that must agree before the runs count as in step again


class Pair(NamedTuple):
    """Operation `first` of the one run and `second` of the other are the same one."""

    first: int
    second: int


class Gap(NamedTuple):
    """Operations `first[0]:first[1]` of the one run stand where `second[0]:second[1]` of the other do; either may be
    empty."""

    first: tuple[int, int]
    second: tuple[int, int]


def align(first: Sequence[Hashable], second: Sequence[Hashable]) -> Iterator[Pair | Gap]:
    """Walk two sequences of keys; a key says which operator ran at which line."""
    i = j = 0
    while i < len(first) and j < len(second):
        if first[i] == second[j]:
            yield Pair(i, j)
            i, j = i + 1, j + 1
            continue
        step = _resume(first, second, i, j)
        yield Gap((i, step[0]), (j, step[1]))
        i, j = step
    if i < len(first) or j < len(second):
        yield Gap((i, len(first)), (j, len(second)))


def _resume(first: Sequence[Hashable], second: Sequence[Hashable], i: int, j: int) -> tuple[int, int]:
    """The nearest point after (i, j) from which both agree for a while, else the two ends."""
    for window in _WINDOWS:
        positions: dict[Hashable, list[int]] = defaultdict(list)
        for b in range(j, min(len(second), j + window)):
            if len(seen := positions[second[b]]) < _OCCURRENCES:
                seen.append(b)
        best: tuple[int, int] | None = None
        for a in range(i, min(len(first), i + window)):
            if best is not None and a - i >= best[0] - i + best[1] - j:
                break
            for b in positions.get(first[a], ()):
                if best is not None and (a - i) + (b - j) >= best[0] - i + best[1] - j:
                    break
                if _agree(first, second, a, b):
                    best = (a, b)
                    break
        if best is not None:
            return best
    return len(first), len(second)


def _agree(first: Sequence[Hashable], second: Sequence[Hashable], a: int, b: int) -> bool:
    """Whether the runs agree from (a, b) on for long enough, or up to an end that both reach together."""
    for step in range(_AGREE):
        end_a, end_b = a + step >= len(first), b + step >= len(second)
        if end_a or end_b:
            return end_a and end_b
        if first[a + step] != second[b + step]:
            return False
    return True
