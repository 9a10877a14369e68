"""The autograd node that is running, by torch's private names (seen in torch 2.6 to 2.13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def current_node() -> Callable[[], Any]:
    """A function that returns the node whose backward runs in this thread, or None."""
    import torch

    return getattr(torch._C, "_current_autograd_node", lambda: None)


def sequence_counter() -> Callable[[], int]:
    """A function that returns the number the next autograd node of this thread will get."""
    import torch

    return getattr(torch.autograd, "_get_sequence_nr", lambda: 0)


def sequence_of(node: Any) -> int:
    """A node's number; -1 where it has none (what accumulates into `.grad`)."""
    number = int(node._sequence_nr())
    return number if number < 1 << 62 else -1
