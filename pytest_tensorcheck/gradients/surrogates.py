"""Operators whose gradient is on purpose not their own derivative: told apart from errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from pytest_tensorcheck.gradients.maps import DifferentiableMap, Tensors

# Operators of torch whose gradient is on purpose not their own derivative -> what to check instead.
_SURROGATES = {
    "CtcLoss": "torch's ctc_loss returns the gradient of log_softmax followed by ctc_loss, not that of ctc_loss alone",
}
CHECK_TOGETHER = "check the two together, lambda x: ctc_loss(x.log_softmax(-1), ...)"
# What may stand between such an operator and its input without changing values.
_RESHAPING = ("Transpose", "Permute", "View", "Reshape", "Unsqueeze", "Squeeze", "Clone", "Alias", "Contiguous", "T")


def surrogate(outputs: Sequence[torch.Tensor], leaf: torch.Tensor) -> str:
    """The sentence for a leaf that goes straight into an operator with a surrogate gradient, else an empty string."""
    for node in nodes(outputs):
        for prefix, sentence in _SURROGATES.items():
            if node.name().startswith(prefix) and _comes_from(node, leaf):
                return sentence
    return ""


class AfterLogSoftmax:
    """A map with log_softmax in front of one leaf. At log-probabilities it has the same values: log_softmax leaves them
    as they are. Autograd's gradient of it is then J^T g, and a surrogate g = J^T h of the true gradient h stays itself,
    as J, the Jacobian of log_softmax at log-probabilities, is a projection."""

    def __init__(self, inner: DifferentiableMap, index: int, axis: int) -> None:
        self.inner, self.index, self.axis = inner, index, axis
        self.leaves, self.names = inner.leaves, inner.names

    @property
    def point(self) -> Tensors:
        return self.inner.point

    def _behind(self, values: Sequence[torch.Tensor]) -> Tensors:
        made = list(values)
        made[self.index] = made[self.index].detach().log_softmax(self.axis)
        return made

    def __call__(self, values: Sequence[torch.Tensor]) -> Tensors:
        return self.inner(self._behind(values))

    def vjp(self, values: Sequence[torch.Tensor], cotangents: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        made = self._behind(values)
        gradients = self.inner.vjp(made, cotangents)
        behind = gradients[self.index]
        if behind is not None:
            softmax = made[self.index].exp()
            gradients[self.index] = behind - softmax * behind.sum(self.axis, keepdim=True)
        return gradients


def after_log_softmax(inner: DifferentiableMap, index: int) -> AfterLogSoftmax | None:
    """None where the leaf does not hold log-probabilities along any of its axes."""
    value = inner.point[index]
    if not value.is_floating_point():
        return None
    for axis in reversed(range(value.dim())):
        if bool((value.logsumexp(axis).abs() < 1e-5).all()):
            return AfterLogSoftmax(inner, index, axis)
    return None


def _comes_from(node: Any, leaf: torch.Tensor) -> bool:
    for parent, _ in node.next_functions:
        while parent is not None and parent.name().startswith(_RESHAPING) and len(parent.next_functions) == 1:
            parent = parent.next_functions[0][0]
        if parent is not None and getattr(parent, "variable", None) is leaf:
            return True
    return False


def padding_rows(outputs: Sequence[torch.Tensor], live: Sequence[torch.Tensor]) -> dict[int, list[int]]:
    """Leaf -> the rows of it that an embedding with padding_idx looked up: their gradient is left out on purpose.

    Reads what the nodes of embeddings saved (torch 2.6 to 2.13), so the graph must still be alive.
    """
    leaves = {id(tensor): index for index, tensor in enumerate(live)}
    found: dict[int, set[int]] = {}
    for node in nodes(outputs):
        if not node.name().startswith("EmbeddingBackward"):
            continue
        row = getattr(node, "_saved_padding_idx", -1)
        table = node.next_functions[0][0]
        index = leaves.get(id(getattr(table, "variable", None)))
        if index is None or not 0 <= row < len(live[index]):  # none is -1, shown as 2**64 - 1
            continue
        if bool((node._saved_indices == row).any()):
            found.setdefault(index, set()).add(row)
    return {index: sorted(rows) for index, rows in found.items()}


def nodes(outputs: Sequence[torch.Tensor]) -> Iterator[Any]:
    """Every node of the graph behind the outputs, once."""
    seen: set[object] = set()
    stack: list[Any] = [tensor.grad_fn for tensor in outputs]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        stack += [parent for parent, _ in node.next_functions]
