"""One check from beginning to end: prepare the subject, ask the structural questions, compare, locate, report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from pytest_tensorcheck.gradients import modes, structure
from pytest_tensorcheck.gradients.directions import (
    Direction,
    Judgement,
    Masks,
    Sampler,
    compare,
    dense,
    judge,
    judge_all,
    typical_size,
)
from pytest_tensorcheck.gradients.exhaustive import exhaustive
from pytest_tensorcheck.gradients.locating import SHOWN, Search, Tolerance, pattern
from pytest_tensorcheck.gradients.maps import BackwardRaised, DifferentiableMap, FirstOrder, SecondOrder, Tensors
from pytest_tensorcheck.gradients.messages import shortened
from pytest_tensorcheck.gradients.options import DEFAULT_ATOL, DEFAULT_RTOL, FLOAT32_ATOL, Options
from pytest_tensorcheck.gradients.subject import BadInput, Run, Subject, custom_backwards
from pytest_tensorcheck.gradients.twins import CannotCopy
from pytest_tensorcheck.gradients.verdicts import GradientReport, Kind, Problem

# How far beside a kink the gradients are checked instead, in units of each tensor's typical size.
_NUDGE = 1e-3
_DTYPE_ERRORS = ("dtype", "same type", "scalar type", "data type", "input type", "must match", "float but found double")


def run_check(function: Any, inputs: Any, options: Options, called_at: str = "") -> GradientReport:
    """Raises BadInput for arguments that make no sense; everything else is in the report."""
    report = GradientReport(called_at=called_at, seed=options.seed)
    # Copies made in inference mode could not be differentiated.
    with torch.inference_mode(False), _opened(function, inputs, options, report) as opened:
        if opened is not None:
            subject, base = opened
            try:
                _check(subject, base, options, report)
            except BackwardRaised as error:
                report.fail(structure.backward_raised(error))
            report.evaluations += subject.evaluations
    return report


@contextmanager
def _opened(
    function: Any, inputs: Any, options: Options, report: GradientReport
) -> Iterator[tuple[Subject, Run] | None]:
    """The subject with its first run: in float64, with float64 as default dtype, or else in its own precision."""
    failure: Problem | None = None
    for double, default in ((True, None), (True, torch.float64), (False, None)):
        try:
            subject = Subject(function, inputs, options.kwargs, parameters=options.parameters, double=double)
        except CannotCopy as error:
            raise BadInput(str(error)) from error
        report.subject, report.defined_at = subject.name, subject.defined_at
        subject.default_dtype = default
        if not subject.leaves:
            subject.__exit__()
            raise BadInput(
                f"nothing to check: {subject.name} got no floating-point tensor and has no parameter that requires grad"
            )
        try:
            base = subject.run([leaf.value for leaf in subject.leaves])
        except Exception as error:
            raised = structure.forward_raised(error)
            retry = _without_implicit(function, inputs, options, subject, double, default)
            if retry is None:
                subject.__exit__()
                failure = failure or raised
                if any(word in str(error).lower() for word in _DTYPE_ERRORS):
                    continue
                break
            subject.__exit__()
            subject, base, names = retry
            report.note(f"{shortened(names)} not checked: {_first_line(error)}")
        if not double:
            dtypes = {leaf.value.dtype for leaf in subject.leaves}
            report.dtype = shortened(sorted(str(dtype).removeprefix("torch.") for dtype in dtypes))
            if failure is not None:
                report.note(f"checked in {report.dtype}, since it does not run in float64 ({failure.message})")
        with subject:
            yield subject, base
        return
    if failure is not None:
        report.fail(failure)
    yield None


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _without_implicit(
    function: Any, inputs: Any, options: Options, subject: Subject, double: bool, default: torch.dtype | None
) -> tuple[Subject, Run, list[str]] | None:
    """Inputs nobody asked to differentiate (a target, running statistics) may refuse it: leave out one or all."""
    implicit = [leaf.name for leaf in subject.inputs if leaf.implicit]

    def attempt(without: list[str]) -> tuple[Subject, Run, list[str]] | None:
        if len(without) == len(subject.leaves):
            return None
        smaller = Subject(
            function, inputs, options.kwargs, parameters=options.parameters, double=double, without=frozenset(without)
        )
        smaller.default_dtype = default
        try:
            return smaller, smaller.run([leaf.value for leaf in smaller.leaves]), without
        except Exception:
            smaller.__exit__()
            return None

    refusing = []
    for name in implicit:
        alone = attempt([other for other in implicit if other != name])
        if alone is None:
            refusing.append(name)
        else:
            alone[0].__exit__()
    return attempt(refusing) if refusing else None


def _check(subject: Subject, base: Run, options: Options, report: GradientReport) -> None:
    point = [leaf.value for leaf in subject.leaves]
    for problem in structure.modified_inputs(subject, base):
        report.fail(problem)
    if report.problems:
        return
    again = subject.run(point)
    unstable = structure.nondeterministic(base, again, options.nondet_tol)
    if unstable is not None:
        report.fail(unstable)
        return
    # The second run's graph is the live one: parameters have been written to since the first.
    function = FirstOrder(subject, again)
    if not function.names:
        report.fail(structure.no_differentiable_output(subject, again))
        return
    report.suspects = custom_backwards(again.outputs[i][1] for i in function.places)
    _note_outputs(function, again, report)
    report.checked = [leaf.name for leaf in subject.leaves]
    steps = options.steps(report.dtype != "float64")
    outputs = function(point)
    sampler = Sampler(options.seed)
    if not any(y.numel() for y in outputs) or not any(x.numel() for x in point):
        report.note("there is nothing to differentiate: all inputs or all outputs are empty")
        return
    if subject.holds_iterations:
        report.note("the power iteration of spectral normalisation is held fixed: autograd does not see it")
    inputs = {leaf.key for leaf in subject.inputs}
    captured = {name for key, name in subject.twins.captured if key not in inputs}
    if captured:
        names = shortened(sorted(captured))
        report.note(f"{names} requires grad and is used from outside the arguments: not checked; pass it as an input")
    if options.backward_mode:
        _backward_mode(function, outputs, sampler, options, report, steps)
    if report.verdict is not report.verdict.FAILED:
        _other_modes(function, outputs, sampler, options, report, steps)


def _note_outputs(function: FirstOrder, run: Run, report: GradientReport) -> None:
    left = [name for i, (name, t) in enumerate(run.outputs) if i not in function.places and t.dtype.is_floating_point]
    if left:
        report.note(
            f"{shortened(left)} not checked: autograd does not track it (detached, or marked non-differentiable)"
        )


def _backward_mode(
    function: FirstOrder,
    outputs: Tensors,
    sampler: Sampler,
    options: Options,
    report: GradientReport,
    steps: Sequence[float],
) -> None:
    u = sampler.cotangents(outputs)
    raw = function.vjp(function.point, u)
    for leaf, gradient in zip(function.leaves, raw, strict=True):
        if gradient is not None and gradient.layout != torch.strided:
            raise BadInput(
                f"the gradient of {leaf.name} is sparse ({gradient.layout}): gradcheck compares dense gradients; "
                "use sparse=False (nn.Embedding) for the check, or leave it out with parameters="
            )
    if problem := structure.backward_nondeterministic(function, u, raw, options.nondet_tol):
        report.fail(problem)
        return
    coarse = structure.float32_gradients(function, raw)
    if coarse and report.dtype == "float64":
        message = f"the gradient of {shortened(coarse)} went through float32: it holds no digit beyond 32 bits"
        if options.grad_dtypes:
            report.fail(Problem(Kind.WRONG_DTYPE, message + "; keep the dtype of the input in the backward", coarse[0]))
            return
        report.note(message)
    active: Masks = [None] * len(function.leaves)
    for index, gradient in enumerate(raw):
        if gradient is None:
            active[index] = torch.zeros(
                function.point[index].shape, dtype=torch.bool, device=function.point[index].device
            )
            _missing(function, outputs, sampler, index, raw, report, steps)
    unconnected = all(gradient is None for gradient in raw)
    if unconnected and not report.problems and not structure.connected(*function.graph(function.point)):
        names = shortened([leaf.name for leaf in function.leaves])
        report.fail(
            Problem(Kind.NOT_DIFFERENTIABLE, f"the outputs do not depend on {names}: there is nothing to check")
        )
    if unconnected:
        return
    gradients = dense(raw, function.point)
    infinite, notes = structure.not_finite(function, outputs, sampler, gradients)
    for item in infinite:
        report.fail(item)
    for text in notes:
        report.doubt(Problem(Kind.KINK, text))
    for index, gradient in enumerate(gradients):
        if raw[index] is not None and not bool(torch.isfinite(gradient).all()):
            active[index] = torch.isfinite(gradient)
    undefined = structure.undefined_gradients(function, u) if options.undefined_grad else None
    if undefined is not None:
        report.fail(undefined)
    compare_map(function, outputs, sampler, active, options, report, steps, set(coarse))
    if options.exhaustive and not report.problems:
        found, count = exhaustive(function, outputs, _tolerance(options, False), steps)
        report.note(f"every one of {count:,} entries of the Jacobian was compared")
        for wrong in found:
            report.fail(wrong)


def _missing(
    function: FirstOrder,
    outputs: Tensors,
    sampler: Sampler,
    index: int,
    raw: Sequence[torch.Tensor | None],
    report: GradientReport,
    steps: Sequence[float],
) -> None:
    leaf = function.leaves[index]
    moved = structure.missing_gradient(function, outputs, sampler, index, steps)
    if moved is None:
        report.note(f"{leaf.name} has no gradient, and the outputs do not depend on it")
    elif leaf.implicit and any(gradient is not None for gradient in raw):
        report.note(
            f"{leaf.name} has no gradient though the outputs depend on it; mark it requires_grad to have that fail"
        )
    else:
        report.fail(
            Problem(
                Kind.MISSING,
                f"{leaf.name} receives no gradient, but the outputs change when it moves (by "
                f"{abs(moved.slope.value):.3g} per unit along a random direction): detach(), .data, no_grad, .item() "
                "or numpy cuts it from the graph",
                leaf.name,
            )
        )


def _other_modes(
    function: FirstOrder,
    outputs: Tensors,
    sampler: Sampler,
    options: Options,
    report: GradientReport,
    steps: Sequence[float],
) -> None:
    if options.forward_mode:
        for problem in modes.forward_mode(function, outputs, sampler, options.directions, steps):
            report.fail(problem)
    if options.batched:
        for problem in modes.batched(function, outputs, sampler):
            report.fail(problem)
    if options.batched_forward and Kind.FORWARD_MODE not in {problem.kind for problem in report.problems}:
        for problem in modes.batched_forward(function, sampler):
            report.fail(problem)
    if options.second_order:
        second = SecondOrder(function, sampler.cotangents(outputs))
        if not second.names:
            report.fail(
                Problem(
                    Kind.MISSING,
                    "second order: the gradients are not connected to anything (a backward under no_grad?)",
                )
            )
            return
        values = second(second.point)
        raw = second.vjp(second.point, sampler.cotangents(values))
        gradients = dense(raw, second.point)
        lost = [
            leaf.name
            for index, (leaf, g) in enumerate(zip(second.leaves, raw, strict=True))
            if g is None and structure.missing_gradient(second, values, sampler, index, steps)
        ]
        if lost:
            report.fail(
                Problem(
                    Kind.MISSING,
                    f"second order: the gradients depend on {shortened(lost)}, but cannot be differentiated again: "
                    "@once_differentiable, no_grad, .data or numpy in the backward cuts them from the graph",
                    lost[0],
                )
            )
            return
        active: Masks = [None if bool(torch.isfinite(g).all()) else torch.isfinite(g) for g in gradients]
        compare_map(second, values, sampler, active, options, report, steps, set(), "second order: ")


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
) -> None:
    """The directional comparison of a whole map; on disagreement, of each leaf, down to the element."""
    point = function.point
    judgement = judge_all(function, point, outputs, sampler, active, directions=options.directions, steps=steps)
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
            on_purpose = structure.surrogate(results, live[index])
            if on_purpose:
                report.doubt(Problem(Kind.SURROGATE, f"{leaf.name}: {on_purpose}", leaf.name))
                decided = True
                continue
        problem = _explain(function, point, outputs, index, judged, options, leaf.name in coarse, label, report)
        if problem is not None:
            report.fail(problem)
        decided = True
    if doubts and report.verdict is not report.verdict.FAILED:
        report.doubt(_undecided(label, doubts, whole, kink))
    elif not decided and not doubts:
        report.note(f"{label}the tensors agree one by one; together their noise hides the comparison")


def _undecided(label: str, names: list[str], whole: Judgement, kink: bool) -> Problem:
    directions = [*whole.blind, *whole.mismatches]
    reached = min((d.resolution / d.scale for d in directions if d.slope.usable and d.scale), default=float("inf"))
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


def _tolerance(options: Options, coarse: bool) -> Tolerance:
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
    tolerance = _tolerance(options, coarse)
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
        message = (
            f"{label}{name}: along a random direction autograd gives {direction.analytic:.6g} and finite differences "
            f"{direction.slope.value:.6g}; no single element stands out"
        )
        return Problem(Kind.WRONG, message, name, hints=hints)
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
