"""What can be wrong before any number is compared: nothing to differentiate, different results from the same input, an
input overwritten, a backward that raises or returns the wrong shape, dtype or nothing.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence

import torch

from pytest_tensorcheck.gradients.differences import STEPS, measure
from pytest_tensorcheck.gradients.directions import Direction, Sampler, all_finite, along, compare, dense, one_hot
from pytest_tensorcheck.gradients.locating import element_name
from pytest_tensorcheck.gradients.maps import BackwardRaised, DifferentiableMap, FirstOrder, Tensors, backward
from pytest_tensorcheck.gradients.messages import shortened
from pytest_tensorcheck.gradients.subject import Run, Subject
from pytest_tensorcheck.gradients.twins import is_differentiable_dtype
from pytest_tensorcheck.gradients.verdicts import Kind, Problem, WrongElement
from pytest_tensorcheck.user_line import UserLine, is_user_file

_IN_PLACE = "leaf variable that requires grad"
# What autograd says (torch 2.6 to 2.13) when a custom backward returns the wrong thing.
_SHAPE = re.compile(
    r"Function (\S+?)Backward\w* returned an invalid gradient at index (\d+) - "
    r"got (\[.*?\]) but expected shape compatible with (\[.*?\])"
)
_COUNT = re.compile(
    r"function (\S+?)Backward\w* returned an incorrect number of gradients \(expected (\d+), got (\d+)\)", re.I
)


def raised_at(error: BaseException) -> str:
    """` (at file:line)` for the innermost frame of the user's code in a traceback, else an empty string."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_user_file(frame.filename)]
    return f" (at {UserLine(frames[-1].filename, frames[-1].lineno or 0)})" if frames else ""


def forward_raised(error: BaseException) -> Problem:
    text = str(error).strip()
    if _IN_PLACE in text.lower():
        return Problem(
            Kind.MODIFIED_IN_PLACE,
            f"an input is modified in place{raised_at(error)}: autograd cannot go back to the value it had; "
            "write x = x * 2 instead of x *= 2 (x.mul_(2)), or work on x.clone()",
        )
    return Problem(Kind.FORWARD_RAISED, f"{type(error).__name__}: {text}{raised_at(error)}")


def backward_raised(error: BackwardRaised) -> Problem:
    text = str(error)
    cause = error.__cause__ or error
    if found := _SHAPE.search(text):
        name, index, got, expected = found.groups()
        return Problem(
            Kind.WRONG_SHAPE,
            f"{name}.backward returned a gradient of shape {got} for its input {index}, which has shape {expected}: "
            "sum it over the axes that were broadcast, or transpose it",
        )
    if found := _COUNT.search(text):
        name, expected, got = found.groups()
        return Problem(
            Kind.BACKWARD_RAISED,
            f"{name}.backward returned {got} gradients, but forward takes {expected} inputs: return one per input, "
            "None for those that need none",
        )
    hint = ""
    if "modified by an inplace operation" in text:
        hint = "; a tensor that the backward needs is overwritten by a later in-place operation"
    first = text.strip().splitlines()[0] if text.strip() else ""
    return Problem(Kind.BACKWARD_RAISED, f"{type(cause).__name__}: {first}{raised_at(cause)}{hint}")


def modified_inputs(subject: Subject, base: Run) -> list[Problem]:
    """Inputs whose values a plain run changed, past autograd's knowledge (`.data`, `no_grad`, numpy)."""
    problems = []
    for leaf, live in zip(subject.leaves, base.live, strict=True):
        if leaf.parameter is not None or same(live.detach(), leaf.value):
            continue
        place = first_difference(live.detach(), leaf.value)
        problems.append(
            Problem(
                Kind.MODIFIED_IN_PLACE,
                f"{leaf.name} is modified in place: {element_name(leaf.name, place, leaf.value.shape)} was "
                f"{_number(leaf.value, place)} and is {_number(live, place)} after the call; work on "
                f"{leaf.name}.clone()",
                leaf.name,
            )
        )
    return problems


def nondeterministic(base: Run, again: Run, tolerance: float) -> Problem | None:
    """Two runs from the same random state and the same buffers gave different outputs."""
    if len(base.outputs) != len(again.outputs):
        return Problem(Kind.NOT_DETERMINISTIC, f"it returned {len(base.outputs)} tensors, then {len(again.outputs)}")
    for (name, first), (_, second) in zip(base.outputs, again.outputs, strict=True):
        if first.shape != second.shape:
            return Problem(Kind.NOT_DETERMINISTIC, f"{name} had shape {tuple(first.shape)}, then {tuple(second.shape)}")
        if not is_plain_values(first) or same(first, second) or same(first, second, max(tolerance, _rounding(first))):
            continue
        place = first_difference(first, second)
        return Problem(
            Kind.NOT_DETERMINISTIC,
            f"two runs from the same random state differ: {element_name(name, place, first.shape)} was "
            f"{_number(first, place)}, then {_number(second, place)}; it draws from a generator of its own, or depends "
            "on time or on a state that survives the call",
        )
    return None


def _rounding(tensor: torch.Tensor) -> float:
    """How far two runs may differ without being called random: LAPACK, or additions in another order (atomics on a
    GPU), round differently each time, and a matrix that is hard to invert magnifies that. 4e-11 of the largest element
    in float64, 2e-5 in float32."""
    if not is_differentiable_dtype(tensor.dtype) or not tensor.numel():
        return 0.0
    # Complex halves have next to no operators on a CPU.
    values = tensor.detach().to(torch.complex128 if tensor.is_complex() else torch.float64)
    finite = values[torch.isfinite(values)]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    return float(torch.finfo(tensor.dtype).eps ** (2 / 3)) * largest


def is_plain_values(tensor: torch.Tensor) -> bool:
    return bool(tensor.layout == torch.strided and not tensor.is_quantized and tensor.device.type != "meta")


def same(first: torch.Tensor, second: torch.Tensor, tolerance: float = 0.0) -> bool:
    """Equal within `tolerance`, NaN equal to NaN."""
    if is_differentiable_dtype(first.dtype):
        return bool(torch.allclose(first.detach(), second.detach(), rtol=0.0, atol=tolerance, equal_nan=True))
    return bool(torch.equal(first, second))


def first_difference(first: torch.Tensor, second: torch.Tensor) -> int:
    different = (first.detach() != second.detach()) & ~((first != first) & (second != second))
    return int(different.reshape(-1).nonzero()[0])


def _number(tensor: torch.Tensor, place: int) -> str:
    value = tensor.detach().reshape(-1)[place].item()
    return f"{value:.6g}" if isinstance(value, float | complex) else str(value)


def no_differentiable_output(subject: Subject, base: Run) -> Problem:
    """Why there is nothing to check: what the outputs are instead."""
    if not base.outputs:
        return Problem(Kind.NOT_DIFFERENTIABLE, "it returned no tensor")
    reasons = []
    for name, tensor in base.outputs:
        if not is_differentiable_dtype(tensor.dtype):
            kind = str(tensor.dtype).removeprefix("torch.")
            reasons.append(f"{name} is {kind} (argmax, a comparison, rounding to an index?), which has no derivative")
        else:
            reasons.append(
                f"{name} is not connected to {', '.join(leaf.name for leaf in subject.leaves) or 'any input'} in "
                "autograd's graph: detach(), .data, no_grad, .item() or numpy on the way cuts it"
            )
    return Problem(Kind.NOT_DIFFERENTIABLE, "; ".join(reasons))


def backward_nondeterministic(
    function: FirstOrder,
    gradients: Sequence[torch.Tensor | None],
    again: Sequence[torch.Tensor | None],
    tolerance: float,
) -> Problem | None:
    """The same backward twice. What differs by rounding is not reported."""
    for leaf, first, second in zip(function.leaves, gradients, again, strict=True):
        if first is None or second is None or torch.equal(first, second):
            continue
        if not same(first, second, max(tolerance, _rounding(first))):
            place = first_difference(first, second)
            return Problem(
                Kind.BACKWARD_NOT_DETERMINISTIC,
                "two backward passes with the same output gradient differ: the gradient of "
                f"{element_name(leaf.name, place, first.shape)} was {_number(first, place)}, then "
                f"{_number(second, place)}",
                leaf.name,
            )
    return None


# A number that needs more than 32 bits shows among the first few elements.
_ENOUGH = 4


def float32_gradients(function: FirstOrder, gradients: Sequence[torch.Tensor | None]) -> list[str]:
    """Leaves whose float64 gradients hold nothing but float32 numbers.

    The output gradients are random float64 numbers, so this does not happen by chance: somewhere in the backward (or
    in the forward) the values went through 32 bits. Autograd casts such a gradient back without a word.
    """
    names = []
    for leaf, gradient in zip(function.leaves, gradients, strict=True):
        if gradient is None or gradient.dtype not in (torch.float64, torch.complex128):
            continue
        parts = torch.view_as_real(gradient) if gradient.is_complex() else gradient
        some = parts.reshape(-1)[:_ENOUGH]
        if bool(((some != some.to(torch.float32)) & (some - some == 0)).any()):  # x - x is 0 where x is finite
            continue
        parts = parts[torch.isfinite(parts) & (parts != 0)]
        if parts.numel() and torch.equal(parts, parts.to(torch.float32).to(torch.float64)):
            names.append(leaf.name)
    return names


def missing_gradient(
    function: DifferentiableMap, outputs: Tensors, sampler: Sampler, leaf: int, steps: Sequence[float] = STEPS
) -> Direction | None:
    """The direction that shows that the outputs depend on a leaf which has no gradient; None if they do not."""
    moved = None
    for _ in range(2):
        u = sampler.cotangents(outputs)
        v = [sampler.like(x) if i == leaf else torch.zeros_like(x) for i, x in enumerate(function.point)]
        zeros = [torch.zeros_like(x) for x in function.point]
        moved = compare(function, function.point, outputs, u, v, zeros, steps)
        if not (moved.mismatch and moved.sighted):
            return None
    return moved


def not_finite(
    function: FirstOrder, outputs: Tensors, sampler: Sampler, gradients: Tensors
) -> tuple[list[Problem], list[str]]:
    """Gradients that are NaN or infinite: problems where the function is finite around the point, else notes."""
    absent = [name for name, y in zip(function.names, outputs, strict=True) if not bool(torch.isfinite(y).all())]
    problems, notes = [], []
    u = sampler.cotangents(outputs)
    for index, (leaf, gradient) in enumerate(zip(function.leaves, gradients, strict=True)):
        places = (~torch.isfinite(gradient)).reshape(-1).nonzero().flatten().tolist()
        if not places:
            continue
        place = places[0]
        v = [one_hot(x, place) if i == index else torch.zeros_like(x) for i, x in enumerate(function.point)]
        name = element_name(leaf.name, place, gradient.shape)
        value = complex(gradient.reshape(-1)[place].item())
        slope = measure(lambda t, v=v: along(function, function.point, v, t), outputs, u)  # type: ignore[misc]
        is_nan = value != value
        around = _finite_around(function, v)
        if around and (is_nan or (slope.usable and not slope.kink and slope.error < 1e-3 * abs(slope.value) + 1e-12)):
            shown = float("nan") if is_nan else value.real
            problems.append(
                Problem(
                    Kind.NOT_FINITE,
                    f"the gradient of {leaf.name} is {'NaN' if is_nan else 'infinite'} at {len(places)} of "
                    f"{gradient.numel()} elements, where the function itself is finite (an unused branch of "
                    "torch.where, 0 * inf, the square root of 0?)",
                    leaf.name,
                    (WrongElement(name, shown, slope.value, "a random combination of the outputs"),),
                )
            )
        else:
            more = len(places) - 1
            others = f" and {more:,} other element{'s' if more > 1 else ''}" if more else ""
            kind = "NaN" if is_nan else "infinite"
            notes.append(
                f"the gradient with respect to {name}{others} is {kind}, and cannot be compared: "
                + _why_not_finite(function.point[index], place, name, absent, around)
            )
    return problems, notes


def _why_not_finite(point: torch.Tensor, place: int, name: str, absent: list[str], around: bool) -> str:
    """The cause in the terms of the user's point, and what to do."""
    at = f"at this point, where {name} is {_number(point, place)}"
    if not bool(torch.isfinite(point.reshape(-1)[place])):
        return f"{name} itself is {_number(point, place)}; give finite inputs"
    if absent:
        return f"{shortened(absent)} is itself NaN or infinite {at}; check at a point where the function is finite"
    if not around:
        return (
            f"the function is finite {at}, but not a step beside it: the edge of where it is defined; move the input "
            "inside"
        )
    return (
        f"the slope of the function itself grows without bound {at} (a square root at 0?); move the input away from it"
    )


def _finite_around(function: FirstOrder, v: Tensors) -> bool:
    try:
        return all(
            bool(torch.isfinite(y).all()) for t in (0.0, 1e-4, -1e-4) for y in along(function, function.point, v, t)
        )
    except Exception:
        return False


def undefined_gradients(function: FirstOrder, cotangents: Tensors) -> Problem | None:
    """With several outputs a loss may use only one: the backward then gets undefined gradients for the others."""
    if len(cotangents) < 2 or function.accumulating:
        return None
    outputs, live = function.graph(function.point)
    for index, name in enumerate(function.names):
        zeros = [u if i == index else torch.zeros_like(u) for i, u in enumerate(cotangents)]
        expected = dense(backward(outputs, live, zeros, retain_graph=True), function.point)
        try:
            alone = dense(
                backward([outputs[index]], live, [cotangents[index]], retain_graph=True),
                function.point,
            )
        except BackwardRaised as error:
            return Problem(
                Kind.UNDEFINED_GRADIENT,
                f"the backward raises when only {name} is used in a loss, and the gradients of the other outputs are "
                f"undefined: {str(error).strip().splitlines()[0]}{raised_at(error.__cause__ or error)}; treat None as "
                "zeros",
            )
        for leaf, first, second in zip(function.leaves, expected, alone, strict=True):
            if not all_finite(first):  # 0 * inf of the other outputs
                known = torch.isfinite(first)
                first, second = (torch.where(known, g, torch.zeros_like(g)) for g in (first, second))
            scale = float(first.abs().max()) if first.numel() else 0.0
            if not same(first, second, 1e-9 * scale):
                place = first_difference(first, second)
                return Problem(
                    Kind.UNDEFINED_GRADIENT,
                    f"when only {name} is used in a loss, the gradient of "
                    f"{element_name(leaf.name, place, first.shape)} is {_number(second, place)}, but "
                    f"{_number(first, place)} when the others get zeros: treat None as zeros",
                    leaf.name,
                )
    return None


def connected(outputs: Sequence[torch.Tensor], live: Sequence[torch.Tensor]) -> bool:
    """Whether any leaf is in the graph behind the outputs. Autograd may still return None for it: a zero gradient."""
    wanted = {id(tensor) for tensor in live}
    seen: set[object] = set()
    stack: list[object] = [tensor.grad_fn for tensor in outputs]
    if any(id(tensor) in wanted for tensor in outputs):
        return True
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if id(getattr(node, "variable", None)) in wanted:
            return True
        stack += [parent for parent, _ in getattr(node, "next_functions", ())]
    return False
