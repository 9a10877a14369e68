"""From "this direction disagrees" down to the element: halve the input, then the output, keep the half that disagrees.

Seventeen halvings find one wrong element among a hundred thousand. Then what is known of the tensor as a whole is used
to name the pattern: a sign, a factor, a transpose, a shift.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from pytest_tensorcheck.gradients.differences import FACTOR, SIGMAS, STEPS, measure, pair
from pytest_tensorcheck.gradients.directions import Direction, along, compare, dense, one_hot
from pytest_tensorcheck.gradients.maps import DifferentiableMap, Tensors
from pytest_tensorcheck.gradients.verdicts import WrongElement

# How many wrong elements are looked for and shown.
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What may differ without being wrong, element by element: absolute + relative * |numeric|."""

    relative: float
    absolute: float

    def accepts(self, analytic: float, numeric: float, scale: float = 0.0) -> bool:
        return abs(analytic - numeric) <= self.absolute * (scale or 1.0) + self.relative * abs(numeric)


@dataclass(frozen=True, slots=True)
class Located:
    """One element, with the error bar of its numeric value."""

    index: int  # flat, into the leaf
    element: WrongElement
    error: float
    output_index: tuple[int, int] | None = None


class Search:
    """Looks for wrong elements of one leaf, starting from a direction over that leaf that disagrees."""

    def __init__(
        self,
        function: DifferentiableMap,
        point: Sequence[torch.Tensor],
        outputs: Sequence[torch.Tensor],
        leaf: int,
        direction: Direction,
    ) -> None:
        self.function, self.point, self.outputs = function, point, outputs
        self.leaf, self.u, self.v = leaf, direction.u, direction.v[leaf]
        self.gradient = direction.gradients[leaf]
        step = direction.slope.step or STEPS[5]
        self.steps = tuple(step * FACTOR**power for power in (2, 1, 0, -1, -2))

    def elements(self, most: int = SHOWN) -> list[Located]:
        """Up to `most` wrong elements, the first ones found being among the worst."""
        remaining = torch.ones(self.v.numel(), dtype=torch.bool, device=self.v.device)
        found: list[Located] = []
        while len(found) < most:
            index = self._descend(remaining)
            if index is None:
                break
            located = self._read(index)
            remaining[index] = False
            if located is None:
                break
            found.append(located)
        return found

    def _discrepancy(self, mask: torch.Tensor) -> tuple[float, bool]:
        """Numeric minus analytic over the masked elements, and whether that is more than noise."""
        v = self._tangent(self.v * mask.view(self.v.shape).to(self.v.dtype))
        analytic = pair([v[self.leaf]], [self.gradient])
        slope = measure(lambda t: along(self.function, self.point, v, t), self.outputs, self.u, steps=self.steps)
        return slope.value - analytic, slope.differs_from(analytic)

    def _tangent(self, v: torch.Tensor) -> Tensors:
        """`v` on the leaf, nothing elsewhere."""
        return [v if i == self.leaf else torch.zeros_like(x) for i, x in enumerate(self.point)]

    def _descend(self, remaining: torch.Tensor) -> int | None:
        total, wrong = self._discrepancy(remaining)
        if not wrong:
            return None
        candidates = remaining.nonzero().flatten()
        while len(candidates) > 1:
            half = candidates[: len(candidates) // 2]
            mask = torch.zeros_like(remaining)
            mask[half] = True
            first, _ = self._discrepancy(mask)
            second = total - first
            if abs(first) >= abs(second):
                candidates, total = half, first
            else:
                candidates, total = candidates[len(half) :], second
        return int(candidates[0])

    def _read(self, index: int) -> Located | None:
        """The worst entry of the Jacobian's column `index`, measured on its own; None if it is not wrong after all."""
        worst: Located | None = None
        parts = [(1.0, "")] + ([(1j, ".imag")] if self.v.is_complex() else [])
        for unit, suffix in parts:
            size = float(self.v.reshape(-1)[index].abs())
            v = one_hot(self.v, index, unit * size)
            name = element_name(self.function.leaves[self.leaf].name, index, self.v.shape) + suffix
            located = self._entry(index, self._tangent(v), size, name)
            if located and (worst is None or _gap(located) > _gap(worst)):
                worst = located
        return worst

    def _entry(self, index: int, v: Tensors, size: float, name: str) -> Located | None:
        contracted = self._compare(self.u, v)
        if not contracted.mismatch or contracted.slope.frozen:
            return None
        fallback = Located(
            index,
            WrongElement(
                name, contracted.analytic / size, contracted.slope.value / size, "a random combination of the outputs"
            ),
            contracted.slope.error / size,
        )
        if sum(y.numel() for y in self.outputs) == 1:
            single = [torch.ones_like(y) for y in self.outputs]
            return self._single(index, single, v, size, name, "", (0, 0), fallback)
        h = contracted.slope.step or STEPS[5]
        column = [
            (a - b) / (2 * h)
            for a, b in zip(
                along(self.function, self.point, v, h), along(self.function, self.point, v, -h), strict=True
            )
        ]
        which, place, unit = self._worst_output(v, column)
        single = [one_hot(y, place, unit) if i == which else torch.zeros_like(y) for i, y in enumerate(self.outputs)]
        label = element_name(self.function.names[which], place, self.outputs[which].shape)
        suffix = ".imag" if unit == 1j else ""
        return self._single(index, single, v, size, name, label + suffix, (which, place), fallback)

    def _single(
        self,
        index: int,
        u: Tensors,
        v: Tensors,
        size: float,
        name: str,
        label: str,
        place: tuple[int, int],
        fallback: Located,
    ) -> Located | None:
        """The entry of one output; `fallback` where that alone is not wrong, None where it cannot be told."""
        exact = self._compare(u, v)
        if exact.slope.frozen:
            return None
        if not exact.mismatch:
            return fallback
        element = WrongElement(name, exact.analytic / size, exact.slope.value / size, label)
        return Located(index, element, exact.slope.error / size, place)

    def _compare(self, u: Tensors, v: Tensors) -> Direction:
        return compare(self.function, self.point, self.outputs, u, v, self._gradients(u), jumps=True)

    def _gradients(self, u: Tensors) -> Tensors:
        return dense(self.function.vjp(self.point, u), self.point)

    def _worst_output(self, v: Tensors, column: Tensors) -> tuple[int, int, complex]:
        """The output element whose derivative along v is most wrong, by halving u."""
        flat = [(which, place) for which, y in enumerate(self.outputs) for place in range(y.numel())]
        weights = torch.cat([u.reshape(-1).to(torch.complex128) for u in self.u])
        sizes = [y.numel() for y in self.outputs]

        def discrepancy(places: range, unit: complex | None = None) -> float:
            chosen = torch.zeros_like(weights)
            kept = weights[places.start : places.stop]
            chosen[places.start : places.stop] = kept if unit is None else torch.full_like(kept, unit)
            pieces = torch.split(chosen, sizes)
            u = [
                (piece if y.is_complex() else piece.real).to(y.dtype).view(y.shape)
                for piece, y in zip(pieces, self.outputs, strict=True)
            ]
            return abs(pair(u, column) - pair(v, self._gradients(u)))

        places = range(len(flat))
        while len(places) > 1:
            middle = len(places) // 2
            first, second = places[:middle], places[middle:]
            places = first if discrepancy(first) >= discrepancy(second) else second
        which, place = flat[places[0]]
        if self.outputs[which].is_complex() and discrepancy(places, 1j) > discrepancy(places, 1.0):
            return which, place, 1j
        return which, place, 1.0


def _gap(located: Located) -> float:
    return abs(located.element.analytic - located.element.numeric)


def element_name(name: str, index: int, shape: Sequence[int]) -> str:
    """`weight[3, 5]` for a flat index."""
    if not len(shape):
        return name
    place = []
    for size in reversed(shape):
        index, rest = divmod(index, size)
        place.append(rest)
    return f"{name}[{', '.join(map(str, reversed(place)))}]"


Transform = Callable[[torch.Tensor], "torch.Tensor | None"]


def _roll(shift: int) -> Transform:
    return lambda g: torch.roll(g, shift, -1) if g.dim() and g.shape[-1] > 1 else None


def _shifted_rows(shift: int) -> Transform:
    return lambda g: torch.roll(g, shift, 0) if g.dim() > 1 and g.shape[0] > 1 else None


# What the analytic gradient turns into the numeric one -> the sentence.
_PATTERNS: tuple[tuple[Transform, str], ...] = (
    (lambda g: -g, "every element has the opposite sign: a minus is missing or too many in the backward"),
    (
        lambda g: g.mT if g.dim() >= 2 and g.shape[-1] == g.shape[-2] else None,
        "it is the transpose of the true gradient: swap the operands or transpose the result in the backward",
    ),
    (lambda g: g.conj() if g.is_complex() else None, "it is the complex conjugate of the true gradient"),
    (_roll(1), "it is shifted by one along the last axis: element i holds the gradient of element i + 1"),
    (_roll(-1), "it is shifted by one along the last axis: element i holds the gradient of element i - 1"),
    (_shifted_rows(1), "it is shifted by one along the first axis: row i holds the gradient of row i + 1"),
    (_shifted_rows(-1), "it is shifted by one along the first axis: row i holds the gradient of row i - 1"),
    (lambda g: g.flip(-1) if g.dim() and g.shape[-1] > 1 else None, "it is reversed along the last axis"),
)


def pattern(leaf: int, directions: Sequence[Direction]) -> str:
    """The sentence of the transformation that makes all directions agree, or an empty string."""
    if len(directions) < 2:
        return ""
    for transform, sentence in _PATTERNS:
        if all(_explains(leaf, direction, transform) for direction in directions):
            return sentence
    first = directions[0]
    if first.analytic and first.slope.value:
        factor = first.analytic / first.slope.value
        if all(abs(d.analytic - factor * d.slope.value) <= 1e-6 * abs(d.analytic) for d in directions[1:]):
            return f"every element is {factor:.4g} times the true gradient"
    return ""


def _explains(leaf: int, direction: Direction, transform: Transform) -> bool:
    changed = transform(direction.gradients[leaf])
    if changed is None:
        return False
    tolerance = max(SIGMAS * direction.slope.error, 1e-9 * direction.scale)
    return abs(pair([direction.v[leaf]], [changed]) - direction.slope.value) <= tolerance
