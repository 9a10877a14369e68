"""The core: does autograd's vector-Jacobian product agree with finite differences along random directions?

For random u and v, <u, J v> (by differences) and <J^T u, v> (by one backward pass) are the same number. Every element
of u and v is a random sign times a number between 0.5 and 1.5, so that a wrong entry of J always shows with at least a
quarter of its error; Gaussian directions can be zero just there. A direction that disagrees may have met a kink or
noise, so only what disagrees in every direction is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from pytest_tensorcheck.gradients.differences import SIGMAS, STEPS, Slope, measure, pair
from pytest_tensorcheck.gradients.maps import DifferentiableMap, Tensors

DIRECTIONS = 3
# A direction whose error bar is wider than a tenth of what it measures cannot confirm anything.
BLIND = 0.1
# More than this part of all movement as error is no slope.
UNRESOLVED = 0.05
# Good enough to stop: an element wrong by one percent would show.
SHARP = 1e-2
# Elements whose whole contribution is below a hundred error bars get directions of their own.
UNCOVERED = 100.0
# A gradient this small against the outputs is zero plus rounding.
ZERO = 1e-11
BANDS = 3

Masks = list[torch.Tensor | None]


@dataclass(slots=True)
class Direction:
    """One pair of random directions and what both sides gave."""

    u: Tensors
    v: Tensors
    gradients: Tensors
    analytic: float
    slope: Slope
    norm: float  # of the contributions gradient * v, the scale of the analytic value
    typical: float  # root mean square of the contributions that are not zero
    natural: float  # norm of u * y, or how much the largest steps move it: what a derivative that is not zero is worth
    size: float = 0.0  # norm of u * y

    @property
    def resolution(self) -> float:
        return SIGMAS * self.slope.error

    @property
    def scale(self) -> float:
        return max(self.norm, abs(self.slope.value))

    @property
    def sighted(self) -> bool:
        return self.slope.usable and self.resolution <= BLIND * self.scale and not self.unresolved

    @property
    def unresolved(self) -> bool:
        """The error bar is as large as anything the function did, at the step where it was read off, and that is more
        than rounding: it turns over faster than the steps, and a mean slope over many turns refutes nothing."""
        slope = self.slope
        if slope.frozen:
            return True
        return slope.error * slope.step > UNRESOLVED * slope.moved > UNRESOLVED * 1e-4 * self.size

    @property
    def mismatch(self) -> bool:
        return self.slope.differs_from(self.analytic)

    @property
    def both_zero(self) -> bool:
        """Both sides are zero as far as rounding of the outputs lets one see."""
        if self.norm <= ZERO * self.natural and self.slope.flat:
            return True
        if not self.slope.usable:
            return False
        small = self.scale <= ZERO * self.natural and self.resolution <= 1e-6 * self.natural
        return small or self.scale == 0


@dataclass(slots=True)
class Judgement:
    """What the directions say together."""

    agreed: bool = False
    mismatches: list[Direction] = field(default_factory=list)
    blind: list[Direction] = field(default_factory=list)
    best: Direction | None = None
    count: int = 0
    uncovered: int = 0
    band: Masks | None = None  # the elements the directions were restricted to, where that was a band

    @property
    def failed(self) -> bool:
        return not self.agreed and bool(self.mismatches) and not any(d.slope.frozen for d in self.blind)

    @property
    def kink(self) -> bool:
        return any(direction.slope.kink for direction in [*self.mismatches, *self.blind])

    @property
    def relative_resolution(self) -> float:
        """The smallest error of a typical element, relative to it, that would have been seen."""
        if self.best is None or not self.best.typical or self.best.both_zero:
            return 0.0
        return self.best.resolution / self.best.typical


class Sampler:
    """Random directions from a generator of its own: the user's generators are neither read nor moved."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator("cpu").manual_seed(int(seed) & 0xFFFF_FFFF_FFFF)

    def like(self, tensor: torch.Tensor) -> torch.Tensor:
        """Random signs times U(0.5, 1.5); for complex tensors in both parts."""
        if tensor.is_complex():
            return torch.complex(self._real(tensor.real), self._real(tensor.imag)).to(tensor.dtype)
        return self._real(tensor)

    def _real(self, tensor: torch.Tensor) -> torch.Tensor:
        # On the CPU, where the generator is, whatever the default device.
        number = torch.rand(tensor.shape, generator=self._generator, dtype=torch.float64, device="cpu")
        number.mul_(2).sub_(1)
        number += number.sign() / 2
        return number.to(device=tensor.device, dtype=tensor.dtype)

    def cotangents(self, outputs: Sequence[torch.Tensor]) -> Tensors:
        """Random u. Large outputs carry large noise, so they weigh less; outputs that are not finite weigh nothing."""
        made = []
        for y in outputs:
            u = self.like(y)
            size = y.abs().to(torch.float64)
            absent = None if all_finite(size) else ~torch.isfinite(size)
            known = size if absent is None else size[~absent]
            middle = float(known.median()) if known.numel() else 0.0
            if middle > 0:
                u = u / (1 + size / middle).to(u.dtype)
            made.append(u if absent is None else u.masked_fill(absent, 0))
        return made

    def tangents(self, values: Sequence[torch.Tensor], active: Masks, relative: bool = False) -> Tensors:
        """Random v, zero outside the active elements (None: all), in units of each tensor's typical size.

        relative: in units of each element, for tensors that hold 1e-12 beside 1 (the logarithm of a probability).
        """
        made = []
        for value, mask in zip(values, active, strict=True):
            unit: Any = typical_size(value)
            if relative:
                size = value.abs()
                unit = torch.where((size > 0) & torch.isfinite(size), size, unit)
            v = self.like(value) * unit
            made.append(v if mask is None else v * mask.to(v.dtype))
        return made


def typical_size(value: torch.Tensor) -> float:
    """Root mean square of the finite elements, 1 for zeros, kept within [1e-4, 1e4]."""
    count = value.numel()
    norm = _norm(value)
    if not math.isfinite(norm):
        finite = value[torch.isfinite(value)]
        count, norm = finite.numel(), _norm(finite.to(torch.complex128 if finite.is_complex() else torch.float64))
    mean = norm / math.sqrt(count) if count else 0.0
    return min(max(mean, 1e-4), 1e4) if mean > 0 else 1.0


def all_finite(value: torch.Tensor) -> bool:
    """Whether no element is NaN or infinite; a finite sum, which is quicker, says so too."""
    return bool(torch.isfinite(value.sum())) or bool(torch.isfinite(value).all())


def _norm(value: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(value)) if value.numel() else 0.0


def along(function: DifferentiableMap, point: Sequence[torch.Tensor], v: Sequence[torch.Tensor], t: float) -> Tensors:
    """f(point + t v)."""
    return function([torch.add(x, d, alpha=t) for x, d in zip(point, v, strict=True)])


def directional(
    function: DifferentiableMap,
    point: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    sampler: Sampler,
    active: Masks,
    steps: Sequence[float] = STEPS,
    relative: bool = False,
    known: tuple[Tensors, Tensors] | None = None,
) -> Direction:
    """Draw one direction and compare both sides. Gradients that are None count as zeros.

    known: cotangents with their gradients, to save a backward pass.
    """
    v = sampler.tangents(point, active, relative)
    if known is None:
        u = sampler.cotangents(outputs)
        gradients = dense(function.vjp(point, u), point)
    else:
        u, gradients = known
    return compare(function, point, outputs, u, v, gradients, steps)


def compare(
    function: DifferentiableMap,
    point: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    u: Tensors,
    v: Tensors,
    gradients: Tensors,
    steps: Sequence[float] = STEPS,
    jumps: bool = False,
) -> Direction:
    analytic = pair(v, gradients)
    norm, typical = contribution(gradients, v)
    slope = measure(
        lambda t: along(function, point, v, t), outputs, u, expected=analytic, scale=typical, steps=steps, jumps=jumps
    )
    if slope.usable:
        # The analytic side rounds too.
        slope = _with_error(slope, max(slope.error, 1e-15 * norm))
    # Outputs that are zero and stay so have no scale of their own.
    size = contribution(outputs, u)[0]
    natural = max(size, slope.reach) or contribution(u, u)[0] ** 0.5
    return Direction(u, v, gradients, analytic, slope, norm, typical, natural, size)


def _with_error(slope: Slope, error: float) -> Slope:
    return replace(slope, error=error)


def one_hot(like: torch.Tensor, place: int, value: complex = 1.0) -> torch.Tensor:
    """Zeros in the shape and dtype of `like`, with `value` at the flat index `place`."""
    made = torch.zeros(like.numel(), dtype=like.dtype, device=like.device)
    made[place] = torch.tensor(value, dtype=like.dtype, device=like.device)
    return made.view(like.shape)


def dense(gradients: Sequence[torch.Tensor | None], point: Sequence[torch.Tensor]) -> Tensors:
    return [torch.zeros_like(x) if g is None else g.detach() for g, x in zip(gradients, point, strict=True)]


def contribution(gradients: Sequence[torch.Tensor], v: Sequence[torch.Tensor]) -> tuple[float, float]:
    """Norm, and root mean square over the non-zero elements, of gradient * v."""
    square, count = 0.0, 0
    for g, d in zip(gradients, v, strict=True):
        size = g * d
        norm = _norm(size)
        if not math.isfinite(norm) or size.dtype not in (torch.float64, torch.complex128):
            size = size.abs().to(torch.float64)
            size = torch.where(torch.isfinite(size) & (d != 0), size, torch.zeros_like(size))
            norm = _norm(size)
        square += norm * norm
        count += int(torch.count_nonzero(size))
    return math.sqrt(square), math.sqrt(square / count) if count else 0.0


def judge(
    function: DifferentiableMap,
    point: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    sampler: Sampler,
    active: Masks,
    *,
    directions: int = DIRECTIONS,
    steps: Sequence[float] = STEPS,
    relative: bool = False,
    known: tuple[Tensors, Tensors] | None = None,
) -> Judgement:
    """Measure directions until one agrees sharply, or until enough of them have disagreed. Blind ones have no vote."""
    result = Judgement()
    agreements: list[Direction] = []
    while len(result.mismatches) + len(agreements) < directions and result.count < 2 * directions:
        direction = directional(
            function, point, outputs, sampler, active, steps, relative, known if not result.count else None
        )
        result.count += 1
        if not direction.sighted and not direction.both_zero:
            result.blind.append(direction)
            if len(result.blind) >= directions and not result.mismatches:
                break
        elif direction.mismatch and not direction.both_zero:
            result.mismatches.append(direction)
        else:
            agreements.append(direction)
            if direction.resolution <= SHARP * direction.typical or direction.both_zero:
                break
    if agreements:
        result.agreed = True
        result.best = min(agreements, key=lambda d: d.resolution / (d.typical or 1.0))
    return result


def judge_all(
    function: DifferentiableMap,
    point: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    sampler: Sampler,
    active: Masks,
    *,
    directions: int = DIRECTIONS,
    steps: Sequence[float] = STEPS,
    known: tuple[Tensors, Tensors] | None = None,
) -> Judgement:
    """`judge`, then again on the elements whose contributions drowned in the error bar of the others, band by band."""
    whole = judge(function, point, outputs, sampler, active, directions=directions, steps=steps, known=known)
    current, mask = whole, active
    for _ in range(BANDS):
        if not current.agreed or current.best is None:
            break
        threshold = UNCOVERED * current.best.resolution
        # Zeros, and what is zero but for rounding, hide nothing.
        floor = 1e-13 * current.best.natural
        sizes = [contribution_of(g, v) for g, v in zip(current.best.gradients, current.best.v, strict=True)]
        inside = [s < threshold if m is None else (s < threshold) & m for s, m in zip(sizes, mask, strict=True)]
        if not any(bool(i.any()) for i in inside):
            whole.uncovered = 0
            break
        hidden = [i & (s > floor) for i, s in zip(inside, sizes, strict=True)]
        left = sum(int(torch.count_nonzero(h)) for h in hidden)
        whole.uncovered = left
        if not left or all(bool(i.all()) for i in inside):
            break
        mask = list(inside)
        band = judge(function, point, outputs, sampler, mask, directions=directions, steps=steps)
        whole.count += band.count
        if band.failed:
            band.count, band.band = whole.count, mask
            return band
        current = band
    return whole


def contribution_of(gradient: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return (gradient * v).abs()
