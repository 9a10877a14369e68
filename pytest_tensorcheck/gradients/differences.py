"""The derivative of a map along one direction, by central differences over a ladder of steps, with its error measured.

At step h the central difference is (f(x + h v) - f(x - h v)) / 2h. Large steps suffer from curvature, small steps from
rounding, and where the two meet is not known beforehand. So the ladder goes down by factors of four, adds one level of
Richardson extrapolation, and takes the place where three neighbours agree best. Their spread is the error, but never
less than the noise which smaller steps show, nor than what rounding the outputs alone must cause.

Most gradients are right. So where the value to be confirmed is known, two or three steps from the middle of the ladder
are tried first: if they reach it within an error bar far below one element's share, the rest is not climbed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

FACTOR = 4.0
STEPS = tuple(2.0**-5 / FACTOR**i for i in range(13))
# Mismatch and agreement are judged at this many measured errors.
SIGMAS = 20.0
# Agreement with an error bar below this part of a typical element's contribution is no accident.
CERTAIN = 1e-6
# Two steps suffice where they agree to this part of it: the function is hardly curved along this direction.
FLAT = 1e-8
# Where on the ladder a value that is right shows soonest: curvature is small there and rounding not yet large.
_MIDDLE = slice(3, 6)
_LONG = 9  # a ladder with fewer steps is for low precision, which is never that sharp

Evaluate = Callable[[float], list[torch.Tensor]]


class Rung(NamedTuple):
    """One step: the central difference, the jump between the one-sided ones, what rounding must do to them, and the
    larger of the one-sided slopes."""

    step: float
    central: float
    jump: float
    floor: float
    reach: float


Ladder = list[Rung]
Best = tuple[float, float, float, int]  # value, error, step and place on the ladder
_EPS = 2.0**-52


@dataclass(frozen=True, slots=True)
class Slope:
    """A directional derivative.

    value, error: NaN and inf where no step could be evaluated. step: the step it was read at.
    kink: the slopes to the left and to the right differ. constant: no output moved at any step.
    staircase: the outputs moved at large steps and stood still at small ones. flat: they stood still at three
    or more of the smallest steps. frozen: part of the function stands still under small steps, and what large steps say
    of it is too coarse. reach: the slope to one side at the largest steps. moved: the largest change to one
    side that was seen at any step. raised: what an evaluation raised.
    """

    value: float
    error: float
    step: float = 0.0
    kink: bool = False
    constant: bool = False
    staircase: bool = False
    flat: bool = False
    frozen: bool = False
    reach: float = 0.0
    moved: float = 0.0
    raised: str = ""

    @property
    def usable(self) -> bool:
        return math.isfinite(self.value) and math.isfinite(self.error)

    def differs_from(self, other: float) -> bool:
        return self.usable and abs(self.value - other) > SIGMAS * self.error


def pair(cotangents: Sequence[torch.Tensor], tensors: Sequence[torch.Tensor]) -> float:
    """The real inner product: the sum of Re(conj(u) y). Elements with u = 0 are left out, whatever they hold."""
    total = 0.0
    for u, y in zip(cotangents, tensors, strict=True):
        if y.numel():
            product = (u.conj() * y).real if u.is_complex() or y.is_complex() else u * y
            part = float(product.sum(dtype=torch.float64))
            if not math.isfinite(part):  # 0 * inf
                part = float(torch.where(u == 0, torch.zeros_like(product), product).sum(dtype=torch.float64))
            total += part
    return total


def measure(
    evaluate: Evaluate,
    outputs: Sequence[torch.Tensor],
    cotangents: Sequence[torch.Tensor],
    *,
    expected: float | None = None,
    scale: float = 0.0,
    steps: Sequence[float] = STEPS,
    jumps: bool = False,
) -> Slope:
    """d/dt <cotangents, f(x + t v)> at t = 0, where `evaluate(t)` is f(x + t v) and `outputs` is f(x).

    expected: the value autograd gives. The ladder ends early once it is reached, with an error bar below a millionth
    of `scale`, the contribution of one typical element: agreement that sharp is no accident. A value that is not
    reached costs the whole ladder. jumps: a value that is not reached is looked for beyond small jumps of the function,
    which says something along one element only: those of many elements add up to anything.
    """
    rungs = _Rungs(evaluate, outputs, cotangents)
    if expected is not None and len(steps) >= _LONG:
        quick = _confirmed(rungs, steps[_MIDDLE], expected, scale)
        if quick is not None:
            return quick
    ladder: Ladder = []
    best: Best = (math.nan, math.inf, 0.0, 0)
    for step in steps:
        rung = rungs.at(step)
        if rung is None:
            continue
        ladder.append(rung)
        if len(ladder) >= 3:
            best = _best(ladder)
            bar = SIGMAS * best[1]
            if expected is not None and len(ladder) >= 4 and bar <= CERTAIN * scale and abs(best[0] - expected) <= bar:
                break
    if len(ladder) < 3:
        return Slope(math.nan, math.inf, raised=rungs.raised)
    frozen = False
    if expected is not None and abs(best[0] - expected) > SIGMAS * best[1]:
        if _stands_still(ladder, best, expected):
            coarser = _coarser(ladder, best, expected)
            best, frozen = coarser or best, coarser is None
        else:
            frozen = jumps and _jumps_hide(rungs, ladder, best, expected)
    value, width, read_at, place = best
    still = _still(ladder)
    return Slope(
        value,
        width,
        read_at,
        kink=_kink(ladder, place, width),
        constant=still == len(ladder),
        staircase=0 < still < len(ladder),
        flat=still >= 3,
        frozen=frozen,
        reach=max(rung.reach for rung in ladder[:3]),
        moved=max(rung.reach * rung.step for rung in ladder),
        raised=rungs.raised,
    )


def _confirmed(rungs: _Rungs, steps: Sequence[float], expected: float, scale: float) -> Slope | None:
    """The slope if two or three steps reach `expected` within a certain error bar, else None."""
    ladder: Ladder = []
    extrapolated: list[float] = []
    for step in steps:
        rung = rungs.at(step)
        if rung is None:
            return None
        ladder.append(rung)
        if len(ladder) < 2:
            continue
        extrapolated.append(_extrapolated(ladder[-2], rung))
        before = extrapolated[-2] if len(extrapolated) > 1 else rung.central
        error = max(abs(extrapolated[-1] - before), rung.floor)
        certain = CERTAIN if len(ladder) > 2 else FLAT
        if SIGMAS * error <= certain * scale and abs(extrapolated[-1] - expected) <= SIGMAS * error:
            reach, moved = max(rung.reach for rung in ladder), max(rung.reach * rung.step for rung in ladder)
            return Slope(extrapolated[-1], error, step, reach=reach, moved=moved)
    return None


def _extrapolated(coarse: Rung, fine: Rung) -> float:
    """One level of Richardson extrapolation, which removes the error in h squared."""
    return (FACTOR**2 * fine.central - coarse.central) / (FACTOR**2 - 1)


class _Rungs:
    """The rungs of one ladder, each evaluated once."""

    def __init__(self, evaluate: Evaluate, outputs: Sequence[torch.Tensor], cotangents: Sequence[torch.Tensor]) -> None:
        self._evaluate, self._outputs, self._cotangents = evaluate, outputs, cotangents
        self._rounding = _rounding(outputs, cotangents)
        self._known: dict[float, Rung | None] = {}
        self.raised = ""

    def at(self, step: float) -> Rung | None:
        """None where the function cannot be evaluated, or is not finite, at this step."""
        if step not in self._known:
            self._known[step] = self._measured(step)
        return self._known[step]

    def _measured(self, step: float) -> Rung | None:
        try:
            above, below = self._evaluate(step), self._evaluate(-step)
        except Exception as error:  # outside the function's domain at this step; smaller ones may be inside
            self.raised = f"{type(error).__name__}: {error}"
            return None
        u = self._cotangents
        right = pair(u, [a - y for a, y in zip(above, self._outputs, strict=True)]) / step
        central = pair(u, [a - b for a, b in zip(above, below, strict=True)]) / (2 * step)
        if not math.isfinite(central):
            return None
        left = 2 * central - right
        reach = max(abs(right), abs(left))
        # x + t v is rounded too, to about t's own digits. Near a zero of f that is far more than rounding its outputs.
        floor = self._rounding / step + _EPS * (abs(right) + abs(left)) + 0.25 * _EPS * reach / step
        return Rung(step, central, right - left, floor, reach)


def _near(ladder: Ladder, best: Best, expected: float) -> list[bool]:
    """For each step coarser than those of `best`: whether its slope is nearer to `expected` than to that of `best`."""
    value, _, _, place = best
    gap = abs(value - expected)
    # Less than half: across a kink the slope of a coarse step is the mean of those on its two sides.
    return [abs(rung.central - expected) <= 0.45 * gap for rung in ladder[: max(place - 2, 0)]]


def _stands_still(ladder: Ladder, best: Best, expected: float) -> bool:
    """Whether coarse steps stay near `expected`, though fine ones agree on another slope.

    Parts computed in lower precision stand still under fine steps, which then agree sharply on the slope of all the
    rest. Curvature cannot look like this: it makes neighbouring steps differ by a factor of sixteen.
    """
    return any(itertools.starmap(lambda a, b: a and b, itertools.pairwise(_near(ladder, best, expected))))


def _coarser(ladder: Ladder, best: Best, expected: float) -> Best | None:
    """The slope on which the coarse steps near `expected` agree, if it confirms that."""
    near = _near(ladder, best, expected)
    last = max(i for i in range(1, len(near)) if near[i] and near[i - 1])
    there = _best(ladder[: last + 1])
    return there if last >= 2 and abs(there[0] - expected) <= SIGMAS * there[1] else None


# Steps beyond the ladder, where a part in low precision moves though it stands still at every step of the ladder.
_BEYOND = (2.0**-1, 2.0**-3)
# Curvature adds to f(x + h v) - f(x - h v) 64 times less at a quarter of h. Jumps that no fine step crosses vanish.
_VANISHED = 1e-3
# The first jump is at least this part of what all jumps between two steps add up to; a kink begins with nothing.
_SHARE = 1 / 64


def _jumps_hide(rungs: _Rungs, ladder: Ladder, best: Best, expected: float) -> bool:
    """Whether the function goes up in small jumps, as a part computed in low precision does, between which fine steps
    see the slope of all the rest, while coarse steps confirm `expected`.

    With jumps of size J every f is off by J / 2 at most, and so is a central difference by J / 2h; half as much again
    is let through. It confirms where that is about half of what separates `expected` from the slope of the fine steps.
    One jump alone, as of a comparison, never does: over such a step it adds far less than what is missing.
    """
    value, error, read_at, _ = best
    raised = rungs.raised
    beyond = [rung for step in _BEYOND if step > ladder[0].step and (rung := rungs.at(step)) is not None]
    rungs.raised = raised  # that a step so large leaves the domain is no news
    coarse = [*beyond, *(rung for rung in ladder if rung.step >= read_at)]
    excess = [abs(rung.central - value) * rung.step for rung in coarse]
    for k in range(len(coarse) - 1):
        gone = max(_VANISHED * excess[k], SIGMAS * error * read_at)
        if gone < excess[k] / 50 and all(below <= gone for below in excess[k + 1 :]):
            first = _first_jump(rungs, value, coarse[k + 1].step, coarse[k].step, excess[k])
            confirms = first is not None and _confirms(rungs, first, value, expected)
            rungs.raised = raised
            return confirms
    return False


def _first_jump(rungs: _Rungs, value: float, below: float, above: float, excess: float) -> tuple[float, float] | None:
    """The jump of f(x + h v) - f(x - h v) nearest to the smaller step, and its step; None where it bends instead, as at
    a kink."""
    found = excess
    for _ in range(14):
        rung = rungs.at((below + above) / 2)
        if rung is None:
            return None
        beside = abs(rung.central - value) * rung.step
        if beside > _SHARE / 10 * excess:
            above, found = rung.step, beside
        else:
            below = rung.step
    return (2 * found, above) if found > _SHARE * excess else None


def _confirms(rungs: _Rungs, first: tuple[float, float], value: float, expected: float) -> bool:
    jump, step = first
    while step <= _BEYOND[0]:
        rung, room = rungs.at(step), 0.75 * jump / step
        if rung is None or abs(rung.central - expected) > room:
            return False
        if room <= 0.55 * abs(value - expected):
            return True
        step *= 2
    return False


def _still(ladder: Ladder) -> int:
    """How many of the smallest steps moved nothing at all."""
    count = 0
    for rung in reversed(ladder):
        if rung.central != 0 or rung.jump != 0:
            break
        count += 1
    return count


def _rounding(outputs: Sequence[torch.Tensor], cotangents: Sequence[torch.Tensor]) -> float:
    """What rounding every output once does to <u, y>: eps times the norm of u * y. At least the smallest normal."""
    square = 0.0
    for u, y in zip(cotangents, outputs, strict=True):
        if y.numel():
            terms = torch.where(u == 0, torch.zeros_like(u), u * y).abs().to(torch.float64)
            square += (torch.finfo(y.dtype).eps * float(torch.linalg.vector_norm(terms))) ** 2
    return math.sqrt(square) + 1e-300


def _best(ladder: Ladder) -> Best:
    """Value, error, step and place of the three neighbours that agree best, raw or extrapolated."""
    steps = [rung.step for rung in ladder]
    raw = [rung.central for rung in ladder]
    # Where small steps no longer move the outputs at all, their agreeing zeros are no measurement.
    moving = len(raw) - _still(ladder)
    once = [
        _extrapolated(coarse, fine) if math.isclose(coarse.step, FACTOR * fine.step) else fine.central
        for coarse, fine in itertools.pairwise(ladder)
    ]
    best = (math.nan, math.inf, 0.0, 0)
    for offset, sequence in ((0, raw), (1, once)):
        for first in range((moving if moving else len(raw)) - offset - 2):
            triple = sequence[first : first + 3]
            value = sorted(triple)[1]
            last = first + 2 + offset
            error = max(triple) - min(triple)
            # Noise is an uncertainty of f itself, so it weighs 1/h; smaller steps magnify it and so measure it.
            for step, central in zip(steps[last + 1 :], raw[last + 1 :], strict=True):
                error = max(error, abs(central - value) * step / steps[last])
            error = max(error, ladder[last].floor)
            if error < best[1]:
                best = (value, error, steps[last], last)
    return best


def _kink(ladder: Ladder, place: int, error: float) -> bool:
    """Whether the one-sided slopes differ by an amount that does not shrink with the step, as if f were not smooth."""
    window = ladder[max(0, place - 2) : place + 1]
    if len(window) < 3:
        return False
    coarse, fine, floor = window[0].jump, window[-1].jump, window[-1].floor
    return (
        abs(fine) > 0.5 * abs(coarse)
        and math.copysign(1, fine) == math.copysign(1, coarse)
        and abs(fine) > max(SIGMAS * error, 100 * floor)
    )
