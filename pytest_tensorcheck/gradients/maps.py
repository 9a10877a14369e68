"""The differentiable map of a subject: outputs at a point, and its vector-Jacobian product by autograd.

`FirstOrder` is the subject itself. `SecondOrder` is its backward pass, a map from the leaves and the output gradients
to the input gradients: its derivative is what `create_graph=True` relies on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from pytest_tensorcheck.gradients.subject import Leaf, Run, Subject
from pytest_tensorcheck.gradients.twins import is_differentiable_dtype

Tensors = list[torch.Tensor]


# What torch.utils.checkpoint says (2.6 to 2.13) where only Tensor.backward() can be used, not autograd.grad.
_REENTRANT = "use_reentrant=True"


class OutputsChanged(Exception):
    """The number or the shape of the outputs depends on the values of the inputs: no difference can be taken."""


class BackwardRaised(Exception):
    """Autograd, or a custom backward under it, raised while the vector-Jacobian product was computed."""


class DifferentiableMap(Protocol):
    leaves: list[Leaf]
    names: list[str]

    @property
    def point(self) -> Tensors: ...

    def __call__(self, values: Sequence[torch.Tensor]) -> Tensors: ...

    def vjp(self, values: Sequence[torch.Tensor], cotangents: Sequence[torch.Tensor]) -> list[torch.Tensor | None]: ...


class FirstOrder:
    """The subject's differentiable outputs. Outputs that autograd does not know are left out, by position."""

    def __init__(self, subject: Subject, base: Run) -> None:
        self.subject = subject
        self.leaves = subject.leaves
        self.point = [leaf.value for leaf in subject.leaves]
        self.places = [
            index
            for index, (_, tensor) in enumerate(base.outputs)
            if is_differentiable_dtype(tensor.dtype) and tensor.requires_grad
        ]
        self._count = len(base.outputs)
        self.names = [base.outputs[index][0] for index in self.places]
        self._shapes = [base.outputs[index][1].shape for index in self.places]
        self.accumulating = False  # autograd.grad was refused: Tensor.backward() and .grad instead

    def select(self, run: Run) -> Tensors:
        outputs = [_readable(run.outputs[index][1]) for index in self.places] if len(run.outputs) == self._count else []
        if [tensor.shape for tensor in outputs] != self._shapes:
            raise OutputsChanged("the shapes of the outputs depend on the values of the inputs")
        return outputs

    def values(self, run: Run) -> Tensors:
        """Detached copies: a function may write its results into the same memory every time."""
        return [tensor.detach().clone() for tensor in self.select(run)]

    def __call__(self, values: Sequence[torch.Tensor]) -> Tensors:
        return self.values(self.subject.run(values))

    def graph(self, values: Sequence[torch.Tensor]) -> tuple[Tensors, Tensors]:
        """Live outputs and live leaves at `values`."""
        run = self.subject.run(values)
        return self.select(run), run.live

    def gradients(self, run: Run, cotangents: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        """Gradients from the graph of a run at the point, which is used up."""
        if self.accumulating:
            return accumulated(self.select(run), run.live, cotangents)
        try:
            return backward(self.select(run), run.live, cotangents)
        except BackwardRaised as error:
            if _REENTRANT not in str(error):
                raise
        self.accumulating = True
        return self.vjp(self.point, cotangents)

    def vjp(self, values: Sequence[torch.Tensor], cotangents: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        outputs, live = self.graph(values)
        return (accumulated if self.accumulating else backward)(outputs, live, cotangents)


def _readable(tensor: torch.Tensor) -> torch.Tensor:
    """Half precision is compared in single: its own arithmetic is too coarse, or missing (complex halves on a CPU)."""
    wider = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
    return tensor.to(wider[tensor.dtype]) if tensor.dtype in wider else tensor


class SecondOrder:
    """The map (leaves, output gradients) -> gradients of the leaves. Its leaves are the first's and `grad_out[i]`."""

    def __init__(self, first: FirstOrder, weights: Tensors) -> None:
        self.first = first
        grad_names = [name.replace("out", "grad_out", 1) for name in first.names]
        self.leaves = [*first.leaves, *(Leaf(name, w) for name, w in zip(grad_names, weights, strict=True))]
        self.point = [leaf.value for leaf in self.leaves]
        gradients, _ = self._gradients(self.point)
        self._places = [i for i, g in enumerate(gradients) if g is not None and g.requires_grad]
        self.names = [f"grad of {first.leaves[i].name}" for i in self._places]

    def _gradients(self, values: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor | None], Tensors]:
        count = len(self.first.leaves)
        outputs, live = self.first.graph(values[:count])
        weights = [value.detach().clone().requires_grad_(True) for value in values[count:]]
        return backward(outputs, live, weights, create_graph=True), [*live, *weights]

    def _select(self, gradients: list[torch.Tensor | None]) -> Tensors:
        chosen = [gradients[index] for index in self._places]
        return [tensor for tensor in chosen if tensor is not None]

    def __call__(self, values: Sequence[torch.Tensor]) -> Tensors:
        gradients, _ = self._gradients(values)
        return [tensor.detach().clone() for tensor in self._select(gradients)]

    def vjp(self, values: Sequence[torch.Tensor], cotangents: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        gradients, live = self._gradients(values)
        return backward(self._select(gradients), live, cotangents)


def backward(
    outputs: Sequence[torch.Tensor],
    live: Sequence[torch.Tensor],
    cotangents: Sequence[torch.Tensor],
    *,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> list[torch.Tensor | None]:
    """Gradients of <cotangents, outputs> by autograd; None where a leaf is not connected."""
    if not live:
        return []
    try:
        with torch.inference_mode(False), torch.enable_grad():
            return list(
                torch.autograd.grad(
                    outputs,
                    live,
                    cotangents,
                    allow_unused=True,
                    create_graph=create_graph,
                    retain_graph=retain_graph,
                )
            )
    except Exception as error:
        raise BackwardRaised(str(error)) from error


def accumulated(
    outputs: Sequence[torch.Tensor], live: Sequence[torch.Tensor], cotangents: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """What `backward` returns, by `torch.autograd.backward` and the `.grad` of our own leaves."""
    try:
        with torch.inference_mode(False), torch.enable_grad():
            for tensor in live:
                tensor.grad = None
            torch.autograd.backward(outputs, cotangents)
        return [tensor.grad for tensor in live]
    except Exception as error:
        raise BackwardRaised(str(error)) from error
    finally:
        for tensor in live:
            tensor.grad = None
