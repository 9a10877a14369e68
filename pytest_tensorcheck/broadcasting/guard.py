"""Who listens to accidental broadcasts: the blocks that are open in this thread, and what they do with what is seen.

The two watchers (`torch_mode` and `numpy_watch`) judge operations and call `deliver`; the innermost open block
decides whether that is written down (`observe`) or raised (`no_broadcast`).
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from pytest_tensorcheck.frameworks import loaded
from pytest_tensorcheck.observations import Observation, TensorcheckFailure
from pytest_tensorcheck.parentheses import NeedsParentheses


class BroadcastError(TensorcheckFailure):
    """Two tensors of different shapes met in one operation, both grew, and nothing in the code says it was meant."""


class _Block:
    """One open `observe()` or `no_broadcast()`."""

    __slots__ = ("observations", "positions", "raises")

    def __init__(self, raises: bool) -> None:
        self.raises = raises
        self.observations: list[Observation] = []
        self.positions: dict[object, int] = {}

    def add(self, observation: Observation, key: object) -> None:
        """A line in a loop is one observation with a count, not a thousand observations."""
        at = self.positions.get(key)
        if at is None:
            self.positions[key] = len(self.observations)
            self.observations.append(observation)
        else:
            before = self.observations[at]
            self.observations[at] = replace(before, count=before.count + 1)


class _ThreadState(threading.local):
    def __init__(self) -> None:
        self.blocks: list[_Block] = []
        self.allowed = 0
        self.idle_mode: Any = None  # the thread's mode while no block is open: used again, test after test


_state = _ThreadState()


def listening() -> bool:
    """Whether a broadcast seen now would reach anybody: a block is open and no `allow_broadcast` is."""
    return bool(_state.blocks) and not _state.allowed


def allowed() -> bool:
    """Whether the running code stands inside an `allow_broadcast()` block."""
    return _state.allowed > 0


def deliver(observation: Observation, key: object, *, raise_unheard: bool = False) -> None:
    """Hand an observation to the innermost block; `key` names the place in the program, for counting repeats.

    `raise_unheard` is for arrays that were watched by hand outside any block.
    """
    __tracebackhide__ = True
    if _state.allowed:
        return
    if _state.blocks and not _state.blocks[-1].raises:
        _state.blocks[-1].add(observation, key)
    elif _state.blocks or raise_unheard:
        raise BroadcastError(observation.detail or str(observation))


class _Guard(ContextDecorator, metaclass=NeedsParentheses):
    """An open block and, where torch is loaded and no outer block has one, the mode that feeds it.

    A class and not a generator: the plugin opens one around every test.
    """

    raises = False

    def __init__(self) -> None:
        self._opened: list[tuple[_Block, Any, bool, int]] = []

    def _recreate_cm(self) -> Any:
        """One for each call of a decorated function, which several threads may be in."""
        return type(self)()

    def __enter__(self) -> Any:
        state = _state
        blocks = state.blocks
        mode = state.idle_mode
        with_torch = mode is not None or loaded("torch") is not None
        if with_torch and not blocks:
            state.idle_mode = None
            if mode is None:
                mode = _mode_class()()
            mode.__enter__()
        else:
            mode = None
        block = _Block(self.raises)
        self._opened.append((block, mode, not with_torch, state.allowed))
        blocks.append(block)
        state.allowed = 0
        return None if self.raises else block.observations

    def __exit__(self, *failure: Any) -> None:
        block, mode, without_torch, outer_allowed = self._opened.pop()
        state = _state
        state.allowed = outer_allowed
        state.blocks.remove(block)
        if mode is not None:
            mode.__exit__(*failure)
            state.idle_mode = mode
        if without_torch and loaded("torch") is not None:
            warnings.warn(
                "torch was first imported inside this block, so the broadcast guard did not see its operations: "
                "import torch before the block begins",
                stacklevel=2,
            )
        elif without_torch and self.raises and loaded("numpy") is not None and _WATCHED_ARRAYS not in sys.modules:
            warnings.warn(
                "no_broadcast() saw nothing: torch is not imported here, and of numpy's arrays it follows only those that "
                "came out of watch(): from pytest_tensorcheck import watch; x = watch(x)",
                stacklevel=2,
            )


_WATCHED_ARRAYS = "pytest_tensorcheck.broadcasting.watched_array"  # loaded when the first array is watched


@cache
def _mode_class() -> Any:
    from pytest_tensorcheck.broadcasting.torch_mode import BroadcastMode

    return BroadcastMode


class observe(_Guard):
    """Watch this thread's torch operations (and watched numpy arrays) and write down accidental broadcasts.

    Entering gives a list that grows; one `Observation` (check `"broadcast"`) for each place in the program, with a
    count. Never raises because of what it sees.
    """


class no_broadcast(_Guard):
    """Raise `BroadcastError` at the first accidental broadcast of the user's own code inside the block.

    Accidental: in a binary operation, comparison, `torch.where` or loss, a row meets a column, or `(n, 1)` meets
    `(n,)`, so that *both* operands grow, and no operand comes straight from `unsqueeze`, `[:, None]`, `view`,
    `reshape` or `keepdim=True`. Code of installed libraries is not judged. `allow_broadcast()` excuses the rest.
    Also as a decorator: `@no_broadcast()`.
    """

    raises = True


@contextmanager
def allow_broadcast(reason: str = "") -> Iterator[None]:
    """Inside this block every broadcast is meant; `reason` is for the reader. Without an open guard it does nothing."""
    _state.allowed += 1
    try:
        yield
    finally:
        _state.allowed -= 1
