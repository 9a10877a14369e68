"""One synchronisation, as it was seen: by the simulation or by the watcher of a real GPU."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_tensorcheck.user_line import UserLine


@dataclass(frozen=True, slots=True)
class SyncEvent:
    """`operation` is the name a user would allow (`item`, `nonzero`, `to`); `row` the row of the table that says why.

    `where` is the user's line (in backward: the forward line that made the node, and `called_from` is the line that
    called backward); `expression` the source of the very expression; `inside` the library frame that waits, when it is
    not the user's own line. `plain`: counted although the code names no device; `integer`: an
    integer tensor, counted only as long as such a program has no floating point data. Not `certain`: it may wait.
    """

    operation: str
    row: str
    where: UserLine | None
    expression: str = ""
    aten: str = ""
    inside: str = ""
    called_from: UserLine | None = None
    plain: bool = False
    integer: bool = False
    certain: bool = True

    @property
    def names(self) -> frozenset[str]:
        """Every name under which `allow=[…]` accepts this event."""
        return frozenset(name for name in (self.operation, self.row, self.aten, self.operation.strip("_")) if name)

    @property
    def key(self) -> tuple[object, ...]:
        return (self.where, self.operation, self.inside, self.certain)
