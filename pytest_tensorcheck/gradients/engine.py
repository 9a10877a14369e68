"""One check from beginning to end: prepare the subject, ask the structural questions, compare in each mode, report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch

from pytest_tensorcheck.gradients import modes, structure
from pytest_tensorcheck.gradients.comparing import compare_map, tolerance_of
from pytest_tensorcheck.gradients.directions import Masks, Sampler, all_finite, dense
from pytest_tensorcheck.gradients.exhaustive import exhaustive
from pytest_tensorcheck.gradients.maps import BackwardRaised, FirstOrder, SecondOrder, Tensors
from pytest_tensorcheck.gradients.messages import shortened
from pytest_tensorcheck.gradients.options import Options
from pytest_tensorcheck.gradients.subject import BadInput, Run, Subject, custom_backwards
from pytest_tensorcheck.gradients.surrogates import padding_rows, surrogate
from pytest_tensorcheck.gradients.twins import CannotCopy, is_differentiable_dtype
from pytest_tensorcheck.gradients.verdicts import GradientReport, Kind, Problem
from pytest_tensorcheck.gradients.widening import Wide, Widening, may_be_narrow, widened

_DTYPE_ERRORS = ("dtype", "same type", "scalar type", "data type", "input type", "must match", "float but found double")
_OUTSIDE = "out of bounds for storage"


def run_check(function: Any, inputs: Any, options: Options, called_at: str = "") -> GradientReport:
    """Raises BadInput for arguments that make no sense; everything else is in the report."""
    report = GradientReport(called_at=called_at, seed=options.seed)
    # Copies made in inference mode could not be differentiated.
    with torch.inference_mode(False), _opened(function, inputs, options, report) as opened:
        if opened is not None:
            subject, base = opened
            before = replace(report, notes=list(report.notes), problems=[])
            _check(subject, base, options, report)
            if subject.frozen.slipped():
                report = before
                _check(subject, subject.run([leaf.value for leaf in subject.leaves]), options, report)
            report.evaluations += subject.evaluations
    return report


@contextmanager
def _opened(
    function: Any, inputs: Any, options: Options, report: GradientReport
) -> Iterator[tuple[Subject, Run] | None]:
    """The subject with its first run: in float64, with float64 as default dtype, or else in its own precision."""
    failure: Problem | None = None
    ways: list[tuple[bool, torch.dtype | None]] = [(True, None), (True, torch.float64), (False, None)]
    memory = False
    while ways:
        double, default = ways[0]
        try:
            subject = Subject(
                function, inputs, options.kwargs, parameters=options.parameters, double=double, memory=memory
            )
        except CannotCopy as error:
            raise BadInput(str(error)) from error
        report.subject, report.defined_at = subject.name, subject.defined_at
        subject.default_dtype = default
        if not subject.leaves:
            subject.__exit__()
            raise BadInput(
                f"nothing to check: {subject.name} got no floating-point tensor and has no parameter that requires grad"
                + (f" ({shortened(subject.given)})" if subject.given else "")
            )
        try:
            base = subject.run([leaf.value for leaf in subject.leaves])
        except Exception as error:
            raised = structure.forward_raised(error)
            retry = _without_implicit(function, inputs, options, subject, double, default)
            if retry is None:
                subject.__exit__()
                if _OUTSIDE in str(error) and not memory:  # as_strided beyond a view: its whole memory is copied then
                    memory = True
                    continue
                ways.pop(0)
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
            function,
            inputs,
            options.kwargs,
            parameters=options.parameters,
            double=double,
            memory=subject.twins.memory,
            without=frozenset(without),
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
    try:
        _check_twice_run(subject, base, options, report)
    except BackwardRaised as error:
        report.fail(structure.backward_raised(error))


def _check_twice_run(subject: Subject, base: Run, options: Options, report: GradientReport) -> None:
    point = [leaf.value for leaf in subject.leaves]
    for problem in structure.modified_inputs(subject, base):
        report.fail(problem)
    if report.problems:
        return
    for name, tensor in base.outputs:
        if is_differentiable_dtype(tensor.dtype) and (tensor.layout != torch.strided or tensor.is_nested):
            kind = "a nested tensor" if tensor.is_nested else f"sparse ({tensor.layout})"
            raise BadInput(
                f"{name} is {kind}: gradcheck compares dense outputs; return {name}.to_dense(), or its parts"
            )
    sampler = Sampler(options.seed)
    # Before the second run, which writes to the parameters and so invalidates the first one's graph.
    before = _first_backward(FirstOrder(subject, base), base, sampler) if options.backward_mode else None
    again = subject.run(point)
    unstable = structure.nondeterministic(base, again, options.nondet_tol)
    if unstable is not None:
        report.fail(unstable)
        return
    function = FirstOrder(subject, again)
    if not function.names:
        report.fail(structure.no_differentiable_output(subject, again))
        return
    report.suspects = custom_backwards(again.outputs[i][1] for i in function.places)
    may_narrow = report.dtype == "float64" and may_be_narrow([again.outputs[i][1] for i in function.places])
    _note_outputs(function, again, report)
    report.checked = [leaf.name for leaf in subject.leaves]
    steps = options.steps(report.dtype != "float64")
    outputs = function.values(again)
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
    wide: Wide | None = None
    if before is not None:
        wide = _backward_mode(function, again, before, outputs, sampler, options, report, steps, may_narrow)
    elif may_narrow:
        wide = widened(function, outputs, None, [])
    if report.verdict is not report.verdict.FAILED:
        trusted = wide is not None and wide.trusted
        with Widening() if trusted else nullcontext():
            _other_modes(function, wide.outputs if wide and trusted else outputs, sampler, options, report, steps)


@dataclass(frozen=True, slots=True)
class _Backward:
    """Random cotangents and the gradients that autograd gave for them, or what it raised."""

    cotangents: Tensors
    gradients: list[torch.Tensor | None]
    raised: BackwardRaised | None = None


def _first_backward(function: FirstOrder, run: Run, sampler: Sampler) -> _Backward:
    u = sampler.cotangents(function.values(run))
    try:
        return _Backward(u, function.gradients(run, u) if u else [])
    except BackwardRaised as error:
        return _Backward(u, [], error)


def _note_outputs(function: FirstOrder, run: Run, report: GradientReport) -> None:
    left = [name for i, (name, t) in enumerate(run.outputs) if i not in function.places and t.dtype.is_floating_point]
    if left:
        report.note(
            f"{shortened(left)} not checked: autograd does not track it (detached, or marked non-differentiable)"
        )
    for name, tensor in zip(function.names, function.select(run), strict=True):
        lost = 0 if all_finite(tensor.detach()) else int((~torch.isfinite(tensor)).sum())
        if lost:
            report.note(f"{name} is NaN or infinite at {lost} of {tensor.numel():,} elements, which are not compared")


def _backward_mode(
    function: FirstOrder,
    run: Run,
    before: _Backward,
    outputs: Tensors,
    sampler: Sampler,
    options: Options,
    report: GradientReport,
    steps: Sequence[float],
    may_narrow: bool,
) -> Wide | None:
    if before.raised is not None:
        raise before.raised
    u, raw = before.cotangents, before.gradients
    for leaf, gradient in zip(function.leaves, raw, strict=True):
        if gradient is not None and gradient.layout != torch.strided:
            raise BadInput(
                f"the gradient of {leaf.name} is sparse ({gradient.layout}): gradcheck compares dense gradients; "
                "use sparse=False (nn.Embedding) for the check, or leave it out with parameters="
            )
    padding = padding_rows(function.select(run), run.live)
    again = function.gradients(run, u)
    if problem := structure.backward_nondeterministic(function, raw, again, options.nondet_tol):
        report.fail(problem)
        return None
    coarse = structure.float32_gradients(function, raw)
    if coarse and report.dtype == "float64":
        message = f"the gradient of {shortened(coarse)} went through float32: it holds no digit beyond 32 bits"
        if options.grad_dtypes:
            report.fail(Problem(Kind.WRONG_DTYPE, message + "; keep the dtype of the input in the backward", coarse[0]))
            return None
        report.note(message)
    active: Masks = [None] * len(function.leaves)
    left_out = []
    for index, gradient in enumerate(raw):
        if gradient is None:
            active[index] = torch.zeros(
                function.point[index].shape, dtype=torch.bool, device=function.point[index].device
            )
            left_out.append(_missing(function, outputs, sampler, index, raw, report, steps))
    unconnected = all(gradient is None for gradient in raw)
    if unconnected and not report.problems and not structure.connected(*function.graph(function.point)):
        names = shortened([leaf.name for leaf in function.leaves])
        report.fail(
            Problem(Kind.NOT_DIFFERENTIABLE, f"the outputs do not depend on {names}: there is nothing to check")
        )
    if unconnected:
        return None
    gradients = dense(raw, function.point)
    if not all(map(all_finite, gradients)):
        infinite, notes = structure.not_finite(function, outputs, sampler, gradients)
        for item in infinite:
            report.fail(item)
        for text in notes:
            report.doubt(Problem(Kind.KINK, text))
        for index, gradient in enumerate(gradients):
            if raw[index] is not None and not all_finite(gradient):
                active[index] = torch.isfinite(gradient)
    for index, rows in padding.items():
        active[index] = _without_rows(active[index], gradients[index], rows)
        names = shortened([f"{function.leaves[index].name}[{row}]" for row in rows])
        report.note(f"{names} not checked: padding_idx keeps the gradient away from it on purpose")
    undefined = structure.undefined_gradients(function, u) if options.undefined_grad else None
    if undefined is not None:
        report.fail(undefined)
    # Not earlier: a run writes to the parameters, and so invalidates the graph of the one at hand.
    wide = widened(function, outputs, u, raw) if may_narrow else None
    precision: Any = nullcontext()
    known = (u, gradients)  # the first direction's cotangents and gradients are at hand
    if wide is not None and wide.trusted:
        precision, outputs, known = Widening(), wide.outputs, wide.known or known
        report.note(f"parts of it run in {wide.dtypes}: these were computed in float64 to be compared")
    with precision:
        seen = len(report.problems)
        compare_map(function, outputs, sampler, active, options, report, steps, set(coarse), known=known)
        if wide is not None and wide.coarse and not wide.trusted:
            report.withdraw(seen, wide.dtypes)
        if options.exhaustive and not report.problems:
            _every_entry(function, outputs, active, options, report, steps)
    for doubt in filter(None, left_out):
        report.doubt(doubt)
    return wide


def _every_entry(
    function: FirstOrder,
    outputs: Tensors,
    active: Masks,
    options: Options,
    report: GradientReport,
    steps: Sequence[float],
) -> None:
    results, live = function.graph(function.point)
    for index, tensor in enumerate(live):
        if surrogate(results, tensor):
            active[index] = torch.zeros(tensor.shape, dtype=torch.bool, device=tensor.device)
    found, count = exhaustive(function, outputs, active, tolerance_of(options, False), steps)
    if count:
        report.note(f"every one of {count:,} entries of the Jacobian was compared")
    for wrong in found:
        report.fail(wrong)


def _without_rows(mask: torch.Tensor | None, gradient: torch.Tensor, rows: list[int]) -> torch.Tensor:
    kept = torch.ones(gradient.shape, dtype=torch.bool, device=gradient.device) if mask is None else mask.clone()
    kept[rows] = False
    return kept


def _missing(
    function: FirstOrder,
    outputs: Tensors,
    sampler: Sampler,
    index: int,
    raw: Sequence[torch.Tensor | None],
    report: GradientReport,
    steps: Sequence[float],
) -> Problem | None:
    leaf = function.leaves[index]
    moved = structure.missing_gradient(function, outputs, sampler, index, steps)
    if moved is None:
        report.note(f"{leaf.name} has no gradient, and the outputs do not depend on it")
    elif leaf.implicit and any(gradient is not None for gradient in raw):
        return Problem(
            Kind.LEFT_OUT,
            f"{leaf.name} receives no gradient, but the outputs change when it moves; mark the inputs that should have one "
            "requires_grad: only those are checked then",
            leaf.name,
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
    return None


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
