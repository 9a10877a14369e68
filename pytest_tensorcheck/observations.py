"""What an always-on check saw during a test, in the one form that reports, summaries and JSON read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_tensorcheck.user_line import UserLine

Mode = Literal["off", "report", "error"]
MODES: tuple[Mode, ...] = ("off", "report", "error")


@dataclass(frozen=True, slots=True)
class Observation:
    """`check` is the check's name (sync, state, broadcast, numerics, seed); `message` one line for the summary;
    `detail` the full text with evidence and remedy; `facts` what goes into the JSON report."""

    check: str
    message: str
    where: UserLine | None = None
    detail: str = ""
    count: int = 1
    facts: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.message}"


class TensorcheckFailure(AssertionError):
    """Base of every failure this package raises: an AssertionError whose text names the user's line.

    Subclasses take one string, so that they pickle across processes.
    """
