"""In-place twins: `add_` tells what `add` tells and leaves the receiver's shape and strides as they are."""

from __future__ import annotations

from typing import Any

from tensorlint.inference.ops.table import Call, Entry, Undecided
from tensorlint.inference.values import Tensor, Value

# In-place operations that give the receiver another shape or other strides; what it was is not true any more.
RESHAPING = frozenset(
    {
        "squeeze_",
        "unsqueeze_",
        "transpose_",
        "t_",
        "swapaxes_",
        "swapdims_",
        "resize_",
        "resize_as_",
        "set_",
        "as_strided_",
    }
)


def twin(plain: Entry) -> Entry:
    """The entry of `<name>_`, which returns its first argument."""
    name = f"{plain.name}_"
    bare = name.rpartition(".")[2]

    def transfer(call: Call, **bound: Any) -> Value:
        receiver = next(iter(bound.values()), None)
        if not isinstance(receiver, Tensor):
            raise Undecided
        if bare in RESHAPING:
            forget(receiver)
            return receiver
        try:
            result = plain.transfer(call, **bound)
        except Undecided:
            return receiver
        if isinstance(result, Tensor) and result.rank != receiver.rank and None not in (result.rank, receiver.rank):
            raise Undecided
        return receiver

    return Entry(name, plain.parameters, transfer, "torch")


def forget(tensor: Tensor) -> None:
    """The tensor has changed under its names: nothing is known of its shape now."""
    tensor.shape = None
    tensor.strides = None
    tensor.axes = None
    tensor.elements = None
    tensor.marks = frozenset()
