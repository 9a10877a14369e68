"""Once two runs differ: run again, watch the lines that lead to the divergent operation, and repeat that operation on its own inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_tensorcheck.determinism.causes import Divergence
from pytest_tensorcheck.determinism.operations import Recording
from pytest_tensorcheck.user_line import UserLine


def investigate(
    divergence: Divergence, first: Recording, second: Recording, again: Callable[[], Any], definition: UserLine | None
) -> None:
    """Add what another run shows: the line that reads the time or an unseeded generator, the size of the difference."""
