"""After a backward pass: which parameters received no gradient, zeros, NaN or infinity."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

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
    if isinstance(loss, torch.nn.Module) or not (isinstance(loss, torch.Tensor) or callable(loss)):
        hint = "swap the two arguments" if isinstance(model, torch.Tensor) else "do not call .item() on it"
        _refuse(f"the loss is a {type(loss).__name__}, not a tensor: {hint}")
    named = _named(torch, model)
    for option, patterns in (("allow_missing", allow_missing), ("allow_zero", allow_zero)):
        _require_names(option, patterns, [name for name, _ in named])
    value = loss if isinstance(loss, torch.Tensor) else loss()
    if problem := _unusable(torch, value):
        _refuse(problem)
    flow = GradientFlow()
    wanted = []
    for name, parameter in named:
        if parameter.requires_grad:
            wanted.append((name, parameter))
        else:
            flow.frozen.append(name)
    if not wanted:
        raise ValueError("check_gradients_flow: the model has no parameter that requires grad")
    gradients = _gradients(torch, value, [parameter for _, parameter in wanted])
    for (name, _), gradient in zip(wanted, gradients, strict=True):
        _sort_into(torch, flow, name, gradient, allow_missing, allow_zero)
    if not flow and raise_exception:
        raise GradientFlowError(_message(model, flow))
    return flow


def _named(torch: Any, model: Any) -> list[tuple[str, Any]]:
    """The parameters of a model; or given as a dict, a list, or what `named_parameters()` returns."""
    if hasattr(model, "named_parameters"):
        return list(model.named_parameters())
    named: list[tuple[str, Any]] = []
    if isinstance(model, dict):
        named = list(model.items())
    elif not isinstance(model, torch.Tensor) and isinstance(model, Iterable):
        for index, item in enumerate(model):
            named.append(item if isinstance(item, tuple) and len(item) == 2 else (f"parameters[{index}]", item))
    if not named or not all(isinstance(parameter, torch.Tensor) for _, parameter in named):
        raise ValueError(
            f"check_gradients_flow: the first argument is a {type(model).__name__}: pass the model, or its parameters"
        )
    return named


def _require_names(option: str, patterns: Sequence[str], names: list[str]) -> None:
    """A pattern that names nothing is a slip of the pen."""
    __tracebackhide__ = True
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
            raise ValueError(
                f"check_gradients_flow: {option}={pattern!r} names no parameter; there are: {shortened(names, 12)}"
            )


def _unusable(torch: Any, value: Any) -> str:
    """Why no gradient can be computed from this loss, or an empty string."""
    if not isinstance(value, torch.Tensor):
        return f"the loss is a {type(value).__name__}, not a tensor: do not call .item() on it"
    if value.numel() != 1:
        return f"the loss has shape {tuple(value.shape)}, not one element: reduce it with .mean() or .sum()"
    if value.is_complex():
        return "the loss is complex, and only a real number can be minimised: take .real or .abs() of it"
    if not value.requires_grad:
        return "the loss is not connected to any parameter: it was detached, or computed under no_grad"
    return ""


def _refuse(problem: str) -> NoReturn:
    __tracebackhide__ = True
    where = user_line(sys._getframe(1))
    raise GradientFlowError(f"{problem}{f' (at {where})' if where else ''}")


# What autograd says (torch 2.6 to 2.13) where the graph is gone, and where a reentrant checkpoint is on the way.
_USED_UP = "backward through the graph a second time"
_REENTRANT = "use_reentrant=True"


def _recomputes(value: Any) -> bool:
    """Whether a reentrant checkpoint is in the graph: its parameters are found by Tensor.backward() only."""
    from pytest_tensorcheck.gradients.surrogates import nodes

    return any(node.name().startswith("CheckpointFunction") for node in nodes([value]))


def _gradients(torch: Any, value: Any, parameters: list[Any]) -> list[Any]:
    """Gradients on the side; None where a parameter is not connected."""
    __tracebackhide__ = True
    problem = ""
    try:
        gradients = list(torch.autograd.grad(value, parameters, allow_unused=True, retain_graph=True))
        if all(gradient is not None for gradient in gradients) or not _recomputes(value):
            return gradients
    except RuntimeError as error:
        if _USED_UP in str(error):
            problem = (
                "the loss's graph is used up: call check_gradients_flow before loss.backward() (it leaves .grad alone), "
                "or use loss.backward(retain_graph=True)"
            )
        elif _REENTRANT not in str(error):
            raise
    if problem:
        _refuse(problem)
    kept = [parameter.grad for parameter in parameters]
    try:
        for parameter in parameters:
            parameter.grad = None
        value.backward(retain_graph=True)
        return [parameter.grad for parameter in parameters]
    finally:
        for parameter, gradient in zip(parameters, kept, strict=True):
            parameter.grad = gradient


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
