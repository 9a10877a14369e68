"""Autograd against finite differences for one map: along directions, then leaf by leaf, down to the wrong elements."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from pytest_tensorcheck.gradients.directions import (
    Direction,
    Judgement,
    Masks,
    Sampler,
    compare,
    judge,
    judge_all,
    typical_size,
)
from pytest_tensorcheck.gradients.locating import SHOWN, Search, Tolerance, pattern
from pytest_tensorcheck.gradients.maps import DifferentiableMap, FirstOrder, Tensors
from pytest_tensorcheck.gradients.messages import shortened
from pytest_tensorcheck.gradients.options import DEFAULT_ATOL, DEFAULT_RTOL, FLOAT32_ATOL, Options
from pytest_tensorcheck.gradients.surrogates import CHECK_TOGETHER, after_log_softmax, surrogate
from pytest_tensorcheck.gradients.verdicts import GradientReport, Kind, Problem

# How far beside a kink the gradients are checked instead, in units of each tensor's typical size.
_NUDGE = 1e-3


def compare_map(
    function: DifferentiableMap,
    outputs: Tensors,
    sampler: Sampler,
    active: Masks,
    options: Options,
    report: GradientReport,
    steps: Sequence[float],
    coarse: set[str],
    label: str = "",
    known: tuple[Tensors, Tensors] | None = None,
) -> None:
    """The directional comparison of a whole map; on disagreement, of each leaf, down to the element.

    known: cotangents and the gradients that go with them, if some were computed already.
    """
    point = function.point
    judgement = judge_all(
        function, point, outputs, sampler, active, directions=options.directions, steps=steps, known=known
    )
    report.directions += judgement.count
    if judgement.agreed:
        _record(judgement, report)
        return
    if judgement.kink:
        nudged = [x + _NUDGE * typical_size(x) * sampler.like(x) for x in point]
        beside: Tensors = []
        try:
            beside = function(nudged)
            moved = judge_all(function, nudged, beside, sampler, active, directions=options.directions, steps=steps)
        except Exception:
            moved = Judgement()
        report.directions += moved.count
        if moved.agreed:
            _record(moved, report)
            report.note(
                f"{label}the inputs lie on a kink (ReLU at 0, a tie of max): checked a thousandth beside it instead"
            )
            return
        if moved.failed and not moved.kink:
            point, outputs, judgement = nudged, beside, moved
    # A band that failed is looked at by itself: among all elements it would drown again.
    within = judgement.band or active
    _leaf_by_leaf(function, point, outputs, sampler, within, options, report, steps, coarse, label, judgement)


def _record(judgement: Judgement, report: GradientReport) -> None:
    report.resolution = max(report.resolution, judgement.relative_resolution)
    if judgement.uncovered:
        report.note(
            f"{judgement.uncovered} elements have gradients too small against the others to be seen at this resolution"
        )


def _leaf_by_leaf(
    function: DifferentiableMap,
    point: Tensors,
    outputs: Tensors,
    sampler: Sampler,
    active: Masks,
    options: Options,
    report: GradientReport,
    steps: Sequence[float],
    coarse: set[str],
    label: str,
    whole: Judgement,
) -> None:
    doubts: list[str] = []
    decided = False
    kink = whole.kink
    for index, leaf in enumerate(function.leaves):
        own = active[index]
        if not leaf.value.numel() or (own is not None and not bool(own.any())):
            continue
        mask: Masks = [
            (own if own is not None else torch.ones(x.shape, dtype=torch.bool, device=x.device))
            if i == index
            else torch.zeros(x.shape, dtype=torch.bool, device=x.device)
            for i, x in enumerate(point)
        ]
        judged = judge_all(function, point, outputs, sampler, mask, directions=options.directions, steps=steps)
        report.directions += judged.count
        if not judged.agreed and not judged.failed and not any(d.slope.usable for d in judged.blind):
            # Even the smallest step leaves the domain: elements of very different size get steps of their own size.
            judged = judge(
                function, point, outputs, sampler, mask, directions=options.directions, steps=steps, relative=True
            )
            report.directions += judged.count
        if judged.agreed:
            report.resolution = max(report.resolution, judged.relative_resolution)
            continue
        if not judged.failed:
            if leaf.implicit and all(d.slope.raised and not d.slope.usable for d in judged.blind):
                # A target at the edge of what a loss accepts; nobody asked for its gradient.
                report.note(f"{label}{leaf.name} not checked: {judged.blind[0].slope.raised.splitlines()[0]}")
                decided = True
                continue
            kink |= judged.kink
            doubts.append(leaf.name)
            continue
        if _symmetric_only(function, point, outputs, sampler, index, judged, options.directions, steps):
            report.note(
                f"{leaf.name} is symmetric and so is its gradient: compared along symmetric directions (the function "
                "reads one triangle only)"
            )
            decided = True
            continue
        if judged.kink:
            kink = True
            doubts.append(leaf.name)
            continue
        if isinstance(function, FirstOrder):
            results, live = function.graph(function.point)
            on_purpose = surrogate(results, live[index])
            if on_purpose:
                decided = True
                together = after_log_softmax(function, index)
                if together is not None:
                    values = together(point)
                    both = judge_all(together, point, values, sampler, mask, directions=options.directions, steps=steps)
                    report.directions += both.count
                    if both.agreed:
                        _record(both, report)
                        report.note(f"{leaf.name}: {on_purpose}; the two were checked together")
                        continue
                report.doubt(Problem(Kind.SURROGATE, f"{leaf.name}: {on_purpose}; {CHECK_TOGETHER}", leaf.name))
                continue
        problem = _explain(function, point, outputs, index, judged, options, leaf.name in coarse, label, report)
        if problem is not None:
            (report.doubt if problem.kind is Kind.LOW_RESOLUTION else report.fail)(problem)
        decided = True
    if doubts and report.verdict is not report.verdict.FAILED:
        report.doubt(_undecided(label, doubts, whole, kink))
    elif not decided and not doubts:
        report.note(f"{label}the tensors agree one by one; together their noise hides the comparison")


def _undecided(label: str, names: list[str], whole: Judgement, kink: bool) -> Problem:
    directions = [*whole.blind, *whole.mismatches]
    reached = min((d.resolution / d.scale for d in directions if d.slope.usable and d.scale), default=float("inf"))
    if any(d.slope.frozen for d in directions):
        return Problem(
            Kind.LOW_RESOLUTION,
            f"{label}{shortened(names)}: small steps do not move all of the function, and what large steps show of the "
            "rest is too coarse: a part of it runs in low precision (bfloat16, float16, quantisation)",
            names[0],
        )
    if kink:
        return Problem(
            Kind.KINK,
            f"{label}{shortened(names)}: the slopes on the two sides of this point differ, also a thousandth beside "
            "it: it lies on a kink, where no gradient is the right one; check at another point",
            names[0],
        )
    raised = next((d.slope.raised for d in directions if d.slope.raised), "")
    if raised and not any(d.slope.usable for d in directions):
        return Problem(
            Kind.LOW_RESOLUTION,
            f"{label}{shortened(names)}: the function cannot be evaluated around this point ({raised.splitlines()[0]})",
            names[0],
        )
    if reached == float("inf"):
        text = "the function is not finite or jumps around this point, so no difference can be taken"
    else:
        staircase = any(d.slope.staircase for d in directions)
        cause = (
            "small steps do not move the outputs: rounding or low precision (bfloat16, float16, quantisation) inside"
            if staircase
            else "low precision, saturation or noise inside"
        )
        text = f"the error bar of the differences is {reached:.0%} of the gradient ({cause})"
    return Problem(Kind.LOW_RESOLUTION, f"{label}{shortened(names)}: {text}", names[0])


def _symmetric_only(
    function: DifferentiableMap,
    point: Tensors,
    outputs: Tensors,
    sampler: Sampler,
    index: int,
    judged: Judgement,
    count: int,
    steps: Sequence[float],
) -> bool:
    """A function of a symmetric matrix may read one triangle and return the symmetric gradient (cholesky, eigh)."""
    value = point[index]
    if value.dim() < 2 or value.shape[-1] != value.shape[-2] or value.shape[-1] < 2:
        return False
    if not _is_symmetric(value) or not all(_is_symmetric(d.gradients[index]) for d in judged.mismatches):
        return False
    for direction in judged.mismatches[:count]:
        v = list(direction.v)
        v[index] = (v[index] + v[index].mH) / 2
        again = compare(function, point, outputs, direction.u, v, direction.gradients, steps)
        if not again.sighted or again.mismatch:
            return False
    return True


def _is_symmetric(matrix: torch.Tensor) -> bool:
    scale = float(matrix.abs().max()) if matrix.numel() else 0.0
    return bool(torch.allclose(matrix, matrix.mH, rtol=0.0, atol=1e-9 * scale))


def tolerance_of(options: Options, coarse: bool) -> Tolerance:
    """`coarse`: the gradient went through float32."""
    relative = DEFAULT_RTOL if options.rtol is None else options.rtol
    return Tolerance(relative, FLOAT32_ATOL if coarse else DEFAULT_ATOL)


def _explain(
    function: DifferentiableMap,
    point: Tensors,
    outputs: Tensors,
    index: int,
    judged: Judgement,
    options: Options,
    coarse: bool,
    label: str,
    report: GradientReport,
) -> Problem | None:
    """The problem of one leaf with its worst elements; None if all of them are within tolerance."""
    name = function.leaves[index].name
    direction = judged.mismatches[-1]
    tolerance = tolerance_of(options, coarse)
    hints = _hints(index, judged.mismatches)
    # Every search costs a few dozen evaluations per halving; of a tensor that is wrong all over two examples will do.
    most = 2 if hints and point[index].numel() > 4096 else SHOWN
    located = Search(function, point, outputs, index, direction).elements(most)
    largest = float(direction.gradients[index].abs().max())
    wrong = [
        item
        for item in located
        if not tolerance.accepts(item.element.analytic, item.element.numeric, largest)
        and not (
            options.atol is not None
            and Tolerance(tolerance.relative, options.atol).accepts(item.element.analytic, item.element.numeric)
        )
    ]
    if located and not wrong:
        worst = max(item.element.relative for item in located)
        report.note(f"{label}{name}: the gradient is accurate to {worst:.1g} only, within the tolerance")
        return None
    if not located:
        deviation = abs(direction.analytic - direction.slope.value) / direction.scale
        if deviation <= max(1e-4, tolerance.relative):
            report.note(f"{label}{name}: the gradient is accurate to {deviation:.1g} only, within the tolerance")
            return None
        # A wrong gradient has a wrong element; what only shows in sums is more likely noise than error.
        message = (
            f"{label}{name}: along a random direction autograd gives {direction.analytic:.6g} and finite differences "
            f"{direction.slope.value:.6g}, but no single element could be shown to be wrong (low precision inside?)"
        )
        return Problem(Kind.LOW_RESOLUTION, message, name, hints=hints)
    elements = tuple(sorted((item.element for item in wrong), key=lambda e: -abs(e.analytic - e.numeric)))
    if all(d.slope.constant for d in judged.mismatches):
        return Problem(
            Kind.LOCALLY_CONSTANT,
            f"{label}{name}: the function does not change around this point, but its gradient is not zero (rounding, a "
            "comparison or a straight-through estimator?)",
            name,
            elements,
        )
    number = f"at least {len(elements)}" if len(located) == most else str(len(elements))
    verb = "is" if number == "1" else "are"
    message = f"{label}{name}: {number} of {point[index].numel():,} elements {verb} wrong, the worst:"
    return Problem(Kind.WRONG, message, name, elements, hints)


def _hints(index: int, directions: Sequence[Direction]) -> tuple[str, ...]:
    sentence = pattern(index, directions)
    return (f"pattern: {sentence}",) if sentence else ()
