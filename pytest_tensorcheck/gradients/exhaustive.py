"""Every entry of the Jacobian, one by one: for small maps, when a proof is wanted and not only overwhelming odds.

The numeric side is two central differences with extrapolation per input element; what looks wrong is measured again
over the whole ladder before it is reported, so that a coarse step cannot accuse.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from pytest_tensorcheck.gradients.differences import STEPS
from pytest_tensorcheck.gradients.directions import Masks, along, compare, dense, one_hot, typical_size
from pytest_tensorcheck.gradients.locating import SHOWN, Tolerance, element_name
from pytest_tensorcheck.gradients.maps import FirstOrder, Tensors, backward
from pytest_tensorcheck.gradients.subject import BadInput
from pytest_tensorcheck.gradients.verdicts import Kind, Problem, WrongElement

LARGEST_JACOBIAN = 50_000_000
_STEP = 2.0**-11


def exhaustive(
    function: FirstOrder, outputs: Tensors, active: Masks, tolerance: Tolerance, steps: Sequence[float] = STEPS
) -> tuple[list[Problem], int]:
    """Problems per leaf, and how many entries were compared. Raises BadInput for a Jacobian that cannot be held.

    active: for each leaf which elements are compared; None for all.
    """
    count = sum(y.numel() for y in outputs)
    size = sum(x.numel() for x in function.point) * count
    if size > LARGEST_JACOBIAN:
        raise BadInput(
            f"exhaustive=True would compare {size:,} entries (the limit is {LARGEST_JACOBIAN:,}): leave it out, the "
            "directional check finds a single wrong element among them; or choose parameters="
        )
    rows = _analytic(function, outputs)
    problems = []
    compared = 0
    for index, leaf in enumerate(function.leaves):
        wrong: list[WrongElement] = []
        number = 0
        largest = max((float(row[index].abs().max()) for row in rows if row[index].numel()), default=0.0)
        mask = active[index]
        places = range(leaf.value.numel()) if mask is None else mask.reshape(-1).nonzero().flatten().tolist()
        compared += len(places) * count
        for place in places:
            for unit, suffix in [(1.0, "")] + ([(1j, ".imag")] if leaf.value.is_complex() else []):
                v = [
                    one_hot(x, place, unit) if i == index else torch.zeros_like(x) for i, x in enumerate(function.point)
                ]
                column = _numeric(function, v, _STEP * typical_size(leaf.value))
                for out, (row, numeric) in enumerate(zip(rows, column, strict=True)):
                    entry = row[index].reshape(-1)[place].item()
                    analytic = (entry.conjugate() * unit).real if leaf.value.is_complex() else float(entry)
                    if tolerance.accepts(analytic, numeric, largest):
                        continue
                    element = _confirmed(function, outputs, v, out, analytic, tolerance, largest, steps)
                    if element is not None:
                        number += 1
                        name = element_name(leaf.name, place, leaf.value.shape) + suffix
                        wrong.append(WrongElement(name, *element))
        if wrong:
            wrong.sort(key=lambda element: -abs(element.analytic - element.numeric))
            total = leaf.value.numel() * count
            message = f"{leaf.name}: {number} of {total:,} entries of the Jacobian are wrong"
            problems.append(Problem(Kind.WRONG, message, leaf.name, tuple(wrong[:SHOWN])))
    return problems, compared


def _units(outputs: Tensors) -> list[tuple[int, int, complex]]:
    return [
        (which, place, unit)
        for which, y in enumerate(outputs)
        for place in range(y.numel())
        for unit in ((1.0, 1j) if y.is_complex() else (1.0,))
    ]


def _analytic(function: FirstOrder, outputs: Tensors) -> list[Tensors]:
    """One row per real output number: the gradients of all leaves."""
    rows = []
    for which, place, unit in _units(outputs):
        live_outputs, live = function.graph(function.point)
        u = one_hot(outputs[which], place, unit)
        rows.append(dense(backward([live_outputs[which]], live, [u]), function.point))
    return rows


def _numeric(function: FirstOrder, v: Tensors, step: float) -> list[float]:
    def central(h: float) -> list[torch.Tensor]:
        above, below = along(function, function.point, v, h), along(function, function.point, v, -h)
        return [(a - b) / (2 * h) for a, b in zip(above, below, strict=True)]

    column: list[float] = []
    for coarse, fine in zip(central(4 * step), central(step), strict=True):
        extrapolated = ((16 * fine - coarse) / 15).reshape(-1)
        parts = torch.view_as_real(extrapolated) if extrapolated.is_complex() else extrapolated
        column += parts.reshape(-1).tolist()
    return column


def _confirmed(
    function: FirstOrder,
    outputs: Tensors,
    v: Tensors,
    out: int,
    analytic: float,
    tolerance: Tolerance,
    largest: float,
    steps: Sequence[float],
) -> tuple[float, float, str] | None:
    """(analytic, numeric, output name) if the full ladder confirms the difference."""
    which, place, unit = _units(outputs)[out]
    u = [one_hot(y, place, unit) if i == which else torch.zeros_like(y) for i, y in enumerate(outputs)]
    gradients = dense(function.vjp(function.point, u), function.point)
    exact = compare(function, function.point, outputs, u, v, gradients, steps)
    if not exact.mismatch or exact.slope.kink or tolerance.accepts(exact.analytic, exact.slope.value, largest):
        return None
    name = (
        "" if sum(y.numel() for y in outputs) == 1 else element_name(function.names[which], place, outputs[which].shape)
    )
    return exact.analytic, exact.slope.value, name + (".imag" if unit == 1j else "")
