"""One record for each kind of object: what it held, without holding it. Those of torch and numpy are in `tensor_records`.

A record's `same` says of the object in its place that it surely is as it was; it may say no of what has not changed (a
number that was computed anew), never yes of what has. `parts` is what can be told of it, by path. No record keeps an
object alive that somebody could miss: it has numbers, texts, bytes, and the ids of types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any

from pytest_tensorcheck.object_kinds import NUMBERS_AND_TEXTS

EXACT = frozenset(NUMBERS_AND_TEXTS)
_PLAIN_FORM: dict[type, Callable[[Any], Any]] = {  # of their subclasses, whose own methods are not asked
    int: int.__int__,
    str: str.__str__,
    bytes: bytes.__bytes__,
    float: float.__float__,
    complex: complex.__complex__,
}

Seen = set[int]  # ids of what has been met in this look: an object in two places is read in the first
Parts = Iterator[tuple[str, Any]]  # the path below the object ("" itself), and what stands there


class Record:
    """`fixed`: whether it can never be otherwise as long as it is of the same object."""

    __slots__ = ()
    fixed = False

    def same(self, value: Any, seen: Seen) -> bool:
        raise NotImplementedError

    def parts(self, path: str) -> Parts:
        raise NotImplementedError


class Ignored(Record):
    """Of a kind that cannot be compared, or too deep: it has no part."""

    __slots__ = ("kind",)
    fixed = True

    def __init__(self, value: Any) -> None:
        self.kind = id(type(value))

    def same(self, value: Any, seen: Seen) -> bool:
        return id(type(value)) == self.kind

    def parts(self, path: str) -> Parts:
        return iter(())


class Unread(Ignored):
    """Of a kind that can be compared, but not this one: `still` says so of a value in its place."""

    __slots__ = ("still",)
    fixed = False

    def __init__(self, value: Any, still: Callable[[Any], bool]) -> None:
        super().__init__(value)
        self.still = still

    def same(self, value: Any, seen: Seen) -> bool:
        return id(type(value)) == self.kind and self.still(value)


class Again(Record):
    """What has been met before."""

    __slots__ = ()

    def same(self, value: Any, seen: Seen) -> bool:
        return id(value) in seen

    def parts(self, path: str) -> Parts:
        return iter(())


class Constant(Record):
    """A number or a text."""

    __slots__ = ("value",)
    fixed = True

    def __init__(self, value: Any) -> None:
        self.value = value

    def same(self, value: Any, seen: Seen) -> bool:
        return value is self.value

    def parts(self, path: str) -> Parts:
        yield path, _plain_form(self.value)


class Subclassed(Record):
    """A number or a text of a class of somebody's own."""

    __slots__ = ("form", "kind")
    fixed = True

    def __init__(self, value: Any) -> None:
        self.kind = id(type(value))
        self.form = _plain_form(value)

    def same(self, value: Any, seen: Seen) -> bool:
        return id(type(value)) == self.kind and bool(_plain_form(value) == self.form)

    def parts(self, path: str) -> Parts:
        yield path, self.form


def _plain_form(value: Any) -> Any:
    kind = type(value)
    if kind not in EXACT:
        value = next(form for base, form in _PLAIN_FORM.items() if issubclass(kind, base))(value)
    # The text of what may be NaN, or zero with a sign.
    return kind.__name__, repr(value) if isinstance(value, (float, complex)) else value


class Frozen(Record):
    """A tuple of numbers, texts and such tuples: all of it is in its identity, as it is of a number."""

    __slots__ = ("records", "value")
    fixed = True

    def __init__(self, value: tuple[Any, ...], records: Sequence[Record]) -> None:
        self.value, self.records = value, records

    def same(self, value: Any, seen: Seen) -> bool:
        return value is self.value

    def parts(self, path: str) -> Parts:
        return _parts_of_items(self.records, path)


def is_frozen(record: Record) -> bool:
    """Whether it stands for the very object, which it then has as `value`."""
    return type(record) is Constant or type(record) is Frozen


class State(Record):
    """What one value says all of: a generator's state, the elements of a set."""

    __slots__ = ("kind", "read", "state")

    def __init__(self, value: Any, read: Callable[[Any], Any]) -> None:
        self.kind = id(type(value))
        self.read = read
        self.state = read(value)

    def same(self, value: Any, seen: Seen) -> bool:
        return id(type(value)) == self.kind and first_met(value, seen) and bool(self.read(value) == self.state)

    def parts(self, path: str) -> Parts:
        yield path, self.state


class Items(Record):
    """A list, tuple or deque, gone through by `iterate`: the built-in's own, since a subclass may count who asks."""

    __slots__ = ("iterate", "kind", "plain", "records")

    def __init__(self, value: Any, items: Sequence[Any], records: list[Record], iterate: Callable[[Any], Any]) -> None:
        self.kind = id(type(value))
        self.iterate = iterate
        self.records = records
        self.plain = tuple(items) if all(map(is_frozen, records)) else None

    @property
    def fixed(self) -> bool:  # type: ignore[override]
        return self.iterate is tuple.__iter__ and all(record.fixed for record in self.records)

    def same(self, value: Any, seen: Seen) -> bool:
        if id(type(value)) != self.kind or not first_met(value, seen):
            return False
        items = list(self.iterate(value))
        if len(items) != len(self.records):
            return False
        if self.plain is not None:
            return all(map(is_, items, self.plain))
        return all_same(self.records, items, seen)

    def parts(self, path: str) -> Parts:
        return _parts_of_items(self.records, path)


def _parts_of_items(records: Sequence[Record], path: str) -> Parts:
    yield path, ("length", "list", len(records))
    for index, record in enumerate(records):
        yield from record.parts(f"{path}[{index}]")


class Pairs(Record):
    """What has names, as `pairs_of` gives it: the items of a dict, the attributes of an object. `records` has those
    names that `is_named` accepts; `form` makes a path of a name."""

    __slots__ = ("form", "is_named", "kind", "length", "names", "pairs_of", "plain", "records")

    def __init__(
        self,
        value: Any,
        pairs_of: Callable[[Any], Mapping[Any, Any]],
        records: dict[Any, Record],
        is_named: Callable[[Any], bool],
        form: str,
    ) -> None:
        pairs = pairs_of(value)
        self.kind = id(type(value))
        self.pairs_of = pairs_of
        self.is_named = is_named
        self.length = len(pairs)
        self.names = tuple(records)
        self.records = tuple(records.values())
        all_plain = self.length == len(records) and all(map(is_frozen, self.records))
        self.plain = tuple(pairs.values()) if all_plain else None
        self.form = form

    def same(self, value: Any, seen: Seen) -> bool:
        if id(type(value)) != self.kind or not first_met(value, seen):
            return False
        pairs = self.pairs_of(value)
        if len(pairs) != self.length:
            return False
        if self.length != len(self.names):
            pairs = {name: item for name, item in pairs.items() if self.is_named(name)}
            if len(pairs) != len(self.names):
                return False
        if not all(map(is_, pairs, self.names)):
            return False
        if self.plain is not None:
            return all(map(is_, pairs.values(), self.plain))
        return all_same(self.records, pairs.values(), seen)

    def parts(self, path: str) -> Parts:
        yield path, ("length", "dict", self.length)
        for name, record in zip(self.names, self.records, strict=True):
            yield from record.parts(path + self.form.format(name))


def first_met(value: Any, seen: Seen) -> bool:
    number = id(value)
    if number in seen:
        return False
    seen.add(number)
    return True


def all_same(records: Iterable[Record], values: Iterable[Any], seen: Seen) -> bool:
    for record, value in zip(records, values, strict=True):  # noqa: SIM110 - a generator takes longer
        if not record.same(value, seen):
            return False
    return True
