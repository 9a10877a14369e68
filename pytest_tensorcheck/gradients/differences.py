"""The derivative of a map along one direction, by central differences over a ladder of steps, with its error measured.

At step h the central difference is (f(x + h v) - f(x - h v)) / 2h. Large steps suffer from curvature, small steps from
rounding, and where the two meet is not known beforehand. So the ladder goes down by factors of four, adds one level of
Richardson extrapolation, and takes the place where three neighbours agree best. Their spread is the error, but never
less than the noise which smaller steps show, nor than what rounding the outputs alone must cause.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

FACTOR = 4.0
STEPS = tuple(2.0**-5 / FACTOR**i for i in range(13))
# Mismatch and agreement are judged at this many measured errors.
SIGMAS = 20.0

Evaluate = Callable[[float], list[torch.Tensor]]
# Step, central difference, jump between the one-sided differences, what rounding must do to them.
Ladder = list[tuple[float, float, float, float]]
_EPS = 2.0**-52


@dataclass(frozen=True, slots=True)
class Slope:
    """A directional derivative.

    value, error: NaN and inf where no step could be evaluated. step: the step it was read at.
    kink: the slopes to the left and to the right differ. constant: no output moved at any step.
    staircase: the outputs moved at large steps and stood still at small ones. flat: they stood still at three
    or more of the smallest steps. reach: the slope to one side at the largest steps. raised: what an evaluation raised.
    """

    value: float
    error: float
    step: float = 0.0
    kink: bool = False
    constant: bool = False
    staircase: bool = False
    flat: bool = False
    reach: float = 0.0
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
            total += float(torch.where(u == 0, torch.zeros_like(product), product).sum(dtype=torch.float64))
    return total


def measure(
    evaluate: Evaluate,
    outputs: Sequence[torch.Tensor],
    cotangents: Sequence[torch.Tensor],
    *,
    expected: float | None = None,
    scale: float = 0.0,
    steps: Sequence[float] = STEPS,
) -> Slope:
    """d/dt <cotangents, f(x + t v)> at t = 0, where `evaluate(t)` is f(x + t v) and `outputs` is f(x).

    expected: the value autograd gives. The ladder ends early once it is reached, with an error bar below a millionth
    of `scale`, the contribution of one typical element: agreement that sharp is no accident. A value that is not
    reached costs the whole ladder.
    """
    rounding = _rounding(outputs, cotangents)
    ladder: Ladder = []
    raised, reach = "", 0.0
    best = (math.nan, math.inf, 0.0, 0)
    for step in steps:
        try:
            above, below = evaluate(step), evaluate(-step)
        except Exception as error:  # outside the function's domain at this step; smaller ones may be inside
            raised = f"{type(error).__name__}: {error}"
            continue
        right = pair(cotangents, [a - y for a, y in zip(above, outputs, strict=True)]) / step
        left = pair(cotangents, [y - b for b, y in zip(below, outputs, strict=True)]) / step
        central = pair(cotangents, [a - b for a, b in zip(above, below, strict=True)]) / (2 * step)
        if not math.isfinite(central):
            continue
        floor = rounding / step + _EPS * (abs(right) + abs(left))
        ladder.append((step, central, right - left, floor))
        reach = max(reach, abs(right), abs(left)) if len(ladder) <= 3 else reach
        if len(ladder) >= 3:
            best = _best(ladder)
            bar = SIGMAS * best[1]
            if expected is not None and len(ladder) >= 4 and bar <= 1e-6 * scale and abs(best[0] - expected) <= bar:
                break
    if len(ladder) < 3:
        return Slope(math.nan, math.inf, raised=raised)
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
        reach=reach,
        raised=raised,
    )


def _still(ladder: Ladder) -> int:
    """How many of the smallest steps moved nothing at all."""
    count = 0
    for _, central, jump, _ in reversed(ladder):
        if central != 0 or jump != 0:
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


def _best(ladder: Ladder) -> tuple[float, float, float, int]:
    """Value, error, step and place of the three neighbours that agree best, raw or extrapolated."""
    steps = [step for step, _, _, _ in ladder]
    raw = [central for _, central, _, _ in ladder]
    # Where small steps no longer move the outputs at all, their agreeing zeros are no measurement.
    moving = len(raw) - _still(ladder)
    once = [
        (FACTOR**2 * fine - coarse) / (FACTOR**2 - 1) if math.isclose(steps[i], FACTOR * steps[i + 1]) else fine
        for i, (coarse, fine) in enumerate(itertools.pairwise(raw))
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
            error = max(error, ladder[last][3])
            if error < best[1]:
                best = (value, error, steps[last], last)
    return best


def _kink(ladder: Ladder, place: int, error: float) -> bool:
    """Whether the one-sided slopes differ by an amount that does not shrink with the step, as if f were not smooth."""
    window = ladder[max(0, place - 2) : place + 1]
    if len(window) < 3:
        return False
    (_, _, coarse, _), _, (_, _, fine, floor) = window
    return (
        abs(fine) > 0.5 * abs(coarse)
        and math.copysign(1, fine) == math.copysign(1, coarse)
        and abs(fine) > max(SIGMAS * error, 100 * floor)
    )
