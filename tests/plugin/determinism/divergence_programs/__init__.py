"""Programs with one planted cause of nondeterminism each, and clean ones that look alike.

Each is a function that returns the code to run, so that every trial starts afresh. The line to be named carries `#
DIVERGES`, the line of the cause, where that is another one, `# ORIGIN`; several lines may carry one mark where either
is right (the arms of a branch).
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Program:
    """`causes` are the kinds that are right; `processes` where the runs are to be two processes with other hash
    seeds."""

    name: str
    make: Callable[[], Callable[[], Any]]
    causes: frozenset[str] = frozenset()
    threads: tuple[int, ...] | None = None
    processes: bool = False
    heavy: bool = False

    @property
    def kept_aside(self) -> bool:
        """A third, by the hash of the name: not looked at while the finder was being written."""
        return hashlib.sha256(self.name.encode()).digest()[0] % 3 == 0

    def lines(self, mark: str) -> set[int]:
        source, start = inspect.getsourcelines(self.make)
        return {start + number for number, text in enumerate(source) if f"# {mark}" in text}


PLANTED: dict[str, Program] = {}
CLEAN: dict[str, Program] = {}


def planted(*causes: str, **options: Any) -> Callable[[Callable[[], Callable[[], Any]]], Any]:
    def add(make: Callable[[], Callable[[], Any]]) -> Any:
        PLANTED[make.__name__] = Program(make.__name__, make, frozenset(causes), **options)
        return make

    return add


def clean(make: Callable[[], Callable[[], Any]]) -> Any:
    CLEAN[make.__name__] = Program(make.__name__, make)
    return make
