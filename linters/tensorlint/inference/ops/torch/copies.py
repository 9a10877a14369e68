"""Views that are copied: `torch.permute_copy(x, (1, 0))` is `x.permute(1, 0)` in memory of its own."""

from __future__ import annotations

from typing import Any

from tensorlint.inference.ops.results import unplaced
from tensorlint.inference.ops.table import Call, Entry, Undecided
from tensorlint.inference.ops.torch.registry import TORCH
from tensorlint.inference.values import Sequence, Tensor, Value

# By the view that each is of; `narrow_copy` is a method too.
_COPIED = """diagonal expand permute squeeze t transpose unsqueeze view unbind unfold select split split_with_sizes detach
    view_as_real view_as_complex as_strided narrow"""


def _copied(call: Call, value: Value) -> Value:
    if isinstance(value, Tensor):
        if value.shape is None:
            return value
        return unplaced(call, "torch", value.shape, value.dtype, value.device)
    if isinstance(value, Sequence) and value.items is not None:
        return Sequence("tuple", [_copied(call, item) for item in value.items])
    raise Undecided


def _add(name: str, plain: Entry) -> None:
    def transfer(call: Call, **bound: Any) -> Value:
        return _copied(call, plain.transfer(Call(plain.name, call.node), **bound))

    path = f"torch.{name}_copy"
    TORCH.functions[path] = Entry(path, plain.parameters, transfer, "torch", plain.tensor)


for _name in _COPIED.split():
    if (_plain := TORCH.methods.get(_name)) is not None:
        _add(_name, _plain)
