"""Other ways autograd is used: forward mode (dual numbers), batched backward (vmap)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from pytest_tensorcheck.gradients.differences import STEPS, measure, pair
from pytest_tensorcheck.gradients.directions import Direction, Sampler, along, contribution
from pytest_tensorcheck.gradients.locating import element_name
from pytest_tensorcheck.gradients.maps import FirstOrder, Tensors
from pytest_tensorcheck.gradients.structure import first_difference, raised_at
from pytest_tensorcheck.gradients.subject import Run
from pytest_tensorcheck.gradients.verdicts import Kind, Problem, WrongElement


def _holder(modules: Sequence[torch.nn.Module]) -> Any:
    """All copied modules under one roof, so that their parameters can be replaced by dual numbers for one call."""
    holder = torch.nn.Module()
    for index, module in enumerate(modules):
        holder.add_module(f"m{index}", module)
    return holder


def _run(function: FirstOrder, live: Sequence[torch.Tensor]) -> Tensors:
    """The outputs for `live` leaves (dual numbers, wrapped tensors) in place of the inputs and the parameters."""
    subject = function.subject
    holder = _holder(list(subject.twins.modules.values()))
    names = {id(parameter): name for name, parameter in holder.named_parameters()}
    swapped: dict[str, torch.Tensor] = {
        names[id(leaf.parameter)]: tensor
        for leaf, tensor in zip(subject.leaves, live, strict=True)
        if leaf.parameter is not None
    }

    def call() -> Run:
        return subject.run(function.point, live=live)

    holder.forward = call
    return function.select(torch.func.functional_call(holder, swapped, ()) if swapped else call())


@functools.cache
def _load_formulas() -> None:
    """torch compiles some of its forward-mode formulas when it first needs one, by the TorchScript that it warns of (2.13):
    where the test's filters make errors of warnings, that is no fault of the function."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch._decomp.decompositions_for_jvp  # noqa: F401  (2.6 to 2.13)


def jvp(function: FirstOrder, tangents: Sequence[torch.Tensor]) -> Tensors:
    """J v at the function's point by forward-mode differentiation, one tensor per differentiable output."""
    dual: Any = forward_ad  # its functions carry no annotations
    _load_formulas()
    with dual.dual_level():
        live = [dual.make_dual(x.detach().clone(), v) for x, v in zip(function.point, tangents, strict=True)]
        unpacked = [(dual.unpack_dual(y).tangent, y) for y in _run(function, live)]
        return [torch.zeros_like(y.detach()) if t is None else t.detach().clone() for t, y in unpacked]


def forward_mode(
    function: FirstOrder, outputs: Tensors, sampler: Sampler, directions: int, steps: Sequence[float] = STEPS
) -> list[Problem]:
    """Forward-mode derivatives against finite differences, leaf by leaf where they disagree."""
    try:
        if not _forward_mismatch(function, outputs, sampler, [None] * len(function.leaves), directions, steps):
            return []
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        return [Problem(Kind.FORWARD_MODE, f"forward mode raised {type(error).__name__}: {first}{raised_at(error)}")]
    problems = []
    for index, leaf in enumerate(function.leaves):
        mask: list[torch.Tensor | None] = [
            torch.full(x.shape, i == index, dtype=torch.bool, device=x.device) for i, x in enumerate(function.point)
        ]
        found = _forward_mismatch(function, outputs, sampler, mask, directions, steps)
        if found is not None:
            element = _worst_output(function, outputs, found, steps)
            problems.append(
                Problem(
                    Kind.FORWARD_MODE,
                    f"the forward-mode derivative (jvp) with respect to {leaf.name} is wrong",
                    leaf.name,
                    (element,),
                )
            )
    return problems


def _forward_mismatch(
    function: FirstOrder,
    outputs: Tensors,
    sampler: Sampler,
    active: list[torch.Tensor | None],
    directions: int,
    steps: Sequence[float],
) -> Direction | None:
    """The last direction if all of them disagree; None as soon as one agrees or cannot see."""
    found: Direction | None = None
    for _ in range(directions):
        u = sampler.cotangents(outputs)
        v = sampler.tangents(function.point, active)
        tangents = jvp(function, v)
        analytic = pair(u, tangents)
        norm, typical = contribution(tangents, u)
        slope = measure(
            lambda t, v=v: along(function, function.point, v, t),  # type: ignore[misc]
            outputs,
            u,
            expected=analytic,
            scale=typical,
            steps=steps,
        )
        found = Direction(u, v, tangents, analytic, slope, norm, typical, contribution(outputs, u)[0])
        if not (found.mismatch and found.sighted) or found.slope.kink:
            return None
        if abs(analytic - slope.value) <= 1e-6 * found.scale:
            return None
    return found


def _worst_output(function: FirstOrder, outputs: Tensors, found: Direction, steps: Sequence[float]) -> WrongElement:
    h = found.slope.step or steps[-1]
    plus, minus = along(function, function.point, found.v, h), along(function, function.point, found.v, -h)
    worst, place, gap = 0, 0, -1.0
    for index, (a, b, tangent) in enumerate(zip(plus, minus, found.gradients, strict=True)):
        if a.numel():
            difference = ((a - b) / (2 * h) - tangent).abs().reshape(-1)
            if float(difference.max()) > gap:
                gap, worst, place = float(difference.max()), index, int(difference.argmax())
    numeric = ((plus[worst] - minus[worst]) / (2 * h)).reshape(-1)[place]
    analytic = found.gradients[worst].reshape(-1)[place]
    numeric, analytic = (numeric.real, analytic.real) if numeric.is_complex() else (numeric, analytic)
    name = element_name(function.names[worst], place, outputs[worst].shape)
    return WrongElement(f"{name} along a random direction", float(analytic), float(numeric))


def batched(function: FirstOrder, outputs: Tensors, sampler: Sampler) -> list[Problem]:
    """Two backward passes at once through vmap (`is_grads_batched`), against the same two one by one."""
    pairs = [sampler.cotangents(outputs) for _ in range(2)]
    singly = [function.vjp(function.point, u) for u in pairs]
    stacked = [torch.stack([first, second]) for first, second in zip(*pairs, strict=True)]
    try:
        results, live = function.graph(function.point)
        together = torch.autograd.grad(results, live, stacked, is_grads_batched=True, allow_unused=True)
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        return [
            Problem(
                Kind.BATCHED,
                f"the backward does not run under vmap: {type(error).__name__}: {first}{raised_at(error)}; a custom "
                "Function needs generate_vmap_rule = True or a vmap staticmethod",
            )
        ]
    return _same_batches(function, [list(row) for row in singly], together, Kind.BATCHED, "batched backward (vmap)")


def batched_forward(function: FirstOrder, sampler: Sampler) -> list[Problem]:
    """Two forward-mode derivatives at once through vmap, against the same two one by one."""
    none: list[torch.Tensor | None] = [None] * len(function.leaves)
    pairs = [sampler.tangents(function.point, none) for _ in range(2)]
    singly = [jvp(function, v) for v in pairs]
    stacked = tuple(torch.stack([first, second]) for first, second in zip(*pairs, strict=True))
    try:
        primals = tuple(x.detach().clone() for x in function.point)

        def derivative(*v: torch.Tensor) -> Any:
            return torch.func.jvp(lambda *live: tuple(_run(function, live)), primals, v)[1]

        together = torch.func.vmap(derivative, randomness="same")(*stacked)
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        return [Problem(Kind.BATCHED_FORWARD, f"forward mode does not run under vmap: {type(error).__name__}: {first}")]
    return _same_batches(
        function, singly, together, Kind.BATCHED_FORWARD, "batched forward mode (vmap)", names=function.names
    )


def _same_batches(
    function: FirstOrder,
    singly: Sequence[Sequence[Any]],
    together: Sequence[Any],
    kind: Kind,
    what: str,
    names: Sequence[str] | None = None,
) -> list[Problem]:
    names = names or [leaf.name for leaf in function.leaves]
    problems = []
    for index, name in enumerate(names):
        for row in range(2):
            one, both = singly[row][index], together[index]
            if one is None or both is None:
                continue
            scale = float(one.abs().max()) if one.numel() else 0.0
            if not torch.allclose(one, both[row], rtol=1e-6, atol=1e-9 * scale, equal_nan=True):
                far = (one - both[row]).abs() > 1e-9 * scale + 1e-6 * one.abs()
                place = int(far.reshape(-1).nonzero()[0]) if bool(far.any()) else first_difference(one, both[row])
                problems.append(
                    Problem(
                        kind,
                        f"{what} and one at a time differ for {element_name(name, place, one.shape)}: "
                        f"{both[row].reshape(-1)[place].item():.6g} against {one.reshape(-1)[place].item():.6g}",
                        name,
                    )
                )
                break
    return problems
