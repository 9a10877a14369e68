"""After a backward pass: which parameters received no gradient, zeros, NaN or infinity."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_tensorcheck import frameworks
from pytest_tensorcheck.gradients.messages import shortened
from pytest_tensorcheck.gradients.verdicts import GradientFlowError
from pytest_tensorcheck.user_line import user_line


@dataclass(slots=True)
class GradientFlow:
    """Names of the parameters by what they received. `frozen` do not require grad and are not expected to."""

    missing: list[str] = field(default_factory=list)
    zero: list[str] = field(default_factory=list)
    nan: list[str] = field(default_factory=list)
    infinite: list[str] = field(default_factory=list)
    flowing: list[str] = field(default_factory=list)
    frozen: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        """True where every parameter that requires grad received a finite gradient that is not all zero."""
        return not (self.missing or self.zero or self.nan or self.infinite)


_SENTENCES = (
    ("missing", "no gradient", "not used for this loss, or cut off by detach(), .data, no_grad or .item()"),
    (
        "zero",
        "only zeros",
        "a dead ReLU, a saturated or masked branch, a multiplication by zero, or a loss that is constant",
    ),
    ("nan", "NaN", "0/0, log(0), sqrt at 0, inf - inf, or a torch.where whose unused branch is not finite"),
    ("infinite", "infinity", "an overflow, a division by zero or sqrt at 0"),
)


def check_gradients_flow(
    model: Any,
    loss: Any,
    *,
    allow_missing: Sequence[str] = (),
    allow_zero: Sequence[str] = (),
    raise_exception: bool = True,
) -> GradientFlow:
    """Fail unless every parameter of `model` that requires grad gets a finite, non-zero gradient from `loss`.

    loss: a scalar tensor, or a function without arguments that returns one. The gradients are computed on the side: the
        `.grad` fields stay as they are, and the graph can be used again.
    allow_missing, allow_zero: names or patterns (`"head.*"`) of parameters that may lack a gradient, or have zeros.

    Returns the names by what they received; raises GradientFlowError unless `raise_exception=False`.
    """
    __tracebackhide__ = True
    torch = frameworks.require("torch", "check_gradients_flow")
    value = loss() if callable(loss) and not isinstance(loss, torch.Tensor) else loss
    _refuse(torch, value)
    flow = GradientFlow()
    named = list(model.named_parameters()) if hasattr(model, "named_parameters") else _named(model)
    wanted = []
    for name, parameter in named:
        if parameter.requires_grad:
            wanted.append((name, parameter))
        else:
            flow.frozen.append(name)
    if not wanted:
        raise ValueError("check_gradients_flow: the model has no parameter that requires grad")
    gradients = torch.autograd.grad(value, [p for _, p in wanted], allow_unused=True, retain_graph=True)
    for (name, _), gradient in zip(wanted, gradients, strict=True):
        _sort_into(torch, flow, name, gradient, allow_missing, allow_zero)
    if not flow and raise_exception:
        raise GradientFlowError(_message(model, flow))
    return flow


def _named(parameters: Any) -> list[tuple[str, Any]]:
    """Parameters given as a dict, or as a list, instead of a model."""
    if isinstance(parameters, dict):
        return list(parameters.items())
    return [(f"parameters[{index}]", parameter) for index, parameter in enumerate(parameters)]


def _refuse(torch: Any, value: Any) -> None:
    problem = ""
    if not isinstance(value, torch.Tensor):
        problem = f"the loss is a {type(value).__name__}, not a tensor: do not call .item() on it"
    elif value.numel() != 1:
        problem = f"the loss has shape {tuple(value.shape)}, not one element: reduce it with .mean() or .sum()"
    elif not value.requires_grad:
        problem = "the loss is not connected to any parameter: it was detached, or computed under no_grad"
    if problem:
        where = user_line(sys._getframe(2))
        raise GradientFlowError(f"{problem}{f' (at {where})' if where else ''}")


def _sort_into(
    torch: Any, flow: GradientFlow, name: str, gradient: Any, allow_missing: Sequence[str], allow_zero: Sequence[str]
) -> None:
    if gradient is None:
        (flow.flowing if _matches(name, allow_missing) else flow.missing).append(name)
        return
    values = gradient.coalesce().values() if gradient.layout == torch.sparse_coo else gradient
    if bool(torch.isnan(values).any()):
        flow.nan.append(name)
    elif bool(torch.isinf(values).any()):
        flow.infinite.append(name)
    elif values.numel() and not bool((values != 0).any()) and not _matches(name, allow_zero):
        flow.zero.append(name)
    else:
        flow.flowing.append(name)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    patterns = [patterns] if isinstance(patterns, str) else patterns
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _message(model: Any, flow: GradientFlow) -> str:
    where = user_line(sys._getframe(2))
    bad = len(flow.missing) + len(flow.zero) + len(flow.nan) + len(flow.infinite)
    total = bad + len(flow.flowing)
    lines = [
        f"gradients do not flow to {bad} of {total} parameters of {type(model).__name__}"
        + (f" (at {where})" if where else "")
    ]
    for attribute, what, cause in _SENTENCES:
        names: list[str] = getattr(flow, attribute)
        if names:
            lines.append(f"  {what}: {shortened(names, 12)}")
            lines.append(f"    ({cause})")
    return "\n".join(lines)
