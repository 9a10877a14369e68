"""The blocks in which the numbers of torch operations are looked at."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from pytest_tensorcheck.frameworks import loaded
from pytest_tensorcheck.observations import Observation, TensorcheckFailure
from pytest_tensorcheck.torchscript import modes_step_aside


class NonfiniteError(TensorcheckFailure):
    """An operation made NaN or Inf out of finite numbers, or float16 lost them."""


@contextmanager
def observe() -> Iterator[list[Observation]]:
    """Look at the numbers of this thread's torch operations, forward and backward; never raise because of them.

    Yields a list that grows: one `Observation` (check `"numerics"`) for each place where NaN or Inf, or a float16
    overflow or underflow, *begins*; what follows from numbers that were already bad is not repeated.
    """
    with _watching(raises=False) as observations:
        yield observations


@contextmanager
def no_nonfinite() -> Iterator[None]:
    """Raise `NonfiniteError` at the first operation that makes NaN or Inf out of finite numbers, forward or backward.

    Infinity that is asked for by name (`torch.full(…, -inf)`, `masked_fill(mask, -inf)`) is no accident, and what is
    computed from it is only one when it becomes NaN. float16 also fails where the numbers leave its range: more than
    65504, or mostly zero where they were not.
    """
    __tracebackhide__ = True
    with _watching(raises=True):
        yield


@contextmanager
def _watching(*, raises: bool) -> Iterator[list[Observation]]:
    __tracebackhide__ = True
    torch = loaded("torch")
    observations: list[Observation] = []
    mode: Any = nullcontext()
    aside: Any = nullcontext()
    if torch is not None:
        from pytest_tensorcheck.numerics.torch_mode import NumericsMode

        def found(observation: Observation) -> None:
            __tracebackhide__ = True
            if raises:
                raise NonfiniteError(observation.detail)
            observations.append(observation)

        mode, aside = NumericsMode(found), modes_step_aside()
    try:
        with aside, mode:
            yield observations
    finally:
        if torch is None and loaded("torch") is not None:
            warnings.warn(
                "torch was first imported inside this block, so its numbers were not looked at: "
                "import torch before the block begins",
                stacklevel=4,
            )
