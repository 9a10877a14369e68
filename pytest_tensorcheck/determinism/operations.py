"""What one run of a program did, operation by operation: plain data, the same whether it was just recorded or read from
a log.

A *storage* is torch's block of memory; each gets a number in the order in which a run meets it, and views of it share
the number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from types import CodeType
from typing import Any, NamedTuple

from pytest_tensorcheck.user_line import UserLine


class Operand(NamedTuple):
    """A tensor as an operation met it. `content` is the hash of its bytes in order, None where its content does not
    count (the destination of a copy, what `empty` returned); `unwritten` is the place of the `empty` whose memory it
    still shows."""

    storage: int
    content: Any
    shape: tuple[int, ...]
    dtype: Any
    unwritten: Place | None = None


class Place(NamedTuple):
    """A point in a code object: `offset` is the instruction's, turned into a line only when somebody reads it (0.5 µs
    saved)."""

    code: CodeType
    offset: int


class GeneratorState(NamedTuple):
    """The generator an operation drew from, before it drew. `explicit` where it was passed as `generator=`."""

    explicit: bool
    state: int
    identity: Any


class BackwardNode(NamedTuple):
    """The autograd node during whose backward an operation ran. `called_from_engine` where no Python code of the user's
    lies between the node and the call of backward, so that the line to name is the forward one."""

    name: str
    sequence: int
    called_from_engine: bool


class Operation(NamedTuple):
    """One dispatched operation. `values` are the results that are no tensors (`.item()`, `torch.equal`): they leave
    torch."""

    kernel: Kernel
    place: Place | None
    scalars: tuple[Any, ...]
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    values: tuple[Any, ...]
    backward: BackwardNode | None
    generator: GeneratorState | None


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """What the schema of an operator says that matters here.

    `writes` are the positions (or names, for keyword arguments) it writes to, `overwrites` those of them whose former
    content does not matter; `makes_results` where it returns new tensors beside them; `is_view` where the result shares
    its argument's memory and no number is read; `unpacks` where tensors that another process sent are put together.
    """

    name: str
    is_view: bool = False
    is_random: bool = False
    is_empty: bool = False
    is_resize: bool = False
    ignored: bool = False
    unpacks: bool = False
    makes_results: bool = False
    writes: tuple[int | str, ...] = ()
    writes_if: int | None = None  # the position of the flag on which it depends whether it writes
    overwrites: frozenset[int | str] = frozenset()


@dataclass(slots=True)
class External:
    """A storage that no recorded operation of this run made.

    `previous` is the number it had in the run before, None if it is new; `written_by` the operation of the run before
    that wrote it last; `shared` where other processes can see it (what a DataLoader's workers send); `foreign` where
    something outside torch may own it (numpy). `sample` holds up to 64 of its elements, evenly spaced; `samples_all`
    where those are all.
    """

    previous: int | None = None
    written_by: tuple[str, Place | None] | None = None
    shared: bool = False
    foreign: bool = False
    sample: tuple[Any, ...] = ()
    samples_all: bool = False


@dataclass(slots=True)
class Recording:
    """One run. `result` is the hashed tree of what the function returned, `error` the exception it raised, as text."""

    operations: list[Operation] = field(default_factory=list)
    externals: dict[int, External] = field(default_factory=dict)
    forward_places: dict[int, Place | None] = field(default_factory=dict)
    result: Any = None
    error: str | None = None
    unwritten_result: Place | None = None  # the `empty` whose memory the result still shows
    threads: int | None = None
    machine: dict[str, Any] = field(default_factory=dict)
    _lines: dict[Place, UserLine] = field(default_factory=dict)

    def line(self, place: Place | None) -> UserLine | None:
        """The line of a place; logs keep lines instead of places and return them as they are."""
        if place is None or isinstance(place, UserLine):
            return place
        return line_of(place)

    def where(self, operation: Operation) -> UserLine | None:
        """The line to name for an operation: in backward the forward line, unless the user's own code runs there."""
        backward = operation.backward
        if backward is not None and backward.called_from_engine and backward.sequence >= 0:
            forward = self.line(self.forward_places.get(backward.sequence))
            if forward is not None:
                return forward
        return self.line(operation.place)


_LINES: dict[tuple[int, int], tuple[CodeType, UserLine]] = {}  # (id of the code object, offset)


def line_of(place: Place) -> UserLine:
    """The line of a place, remembered: resolving one walks the code object's table of positions."""
    code, offset = place
    found = _LINES.get((id(code), offset))
    if found is None:
        position = next(islice(code.co_positions(), offset // 2, None), None)
        line = (position and position[0]) or code.co_firstlineno
        if len(_LINES) > 20_000:
            _LINES.clear()
        # The code object is kept so that its id stays its own.
        found = _LINES[(id(code), offset)] = (code, UserLine(code.co_filename, line, code.co_qualname))
    return found[1]
