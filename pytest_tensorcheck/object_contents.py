"""What an object holds, kept so that it can be compared later: tensors and arrays by their bytes, modules with their modes
and hooks, generators by their state, containers and the user's own objects by their parts.

What cannot be compared for certain is left out, so that two different results mean that something has changed, and two
equal ones mean nothing. Nearly always nothing has changed, and every test asks of every object: `same` answers without
reading it anew and without a name for any part of it.
"""

from __future__ import annotations

import contextlib
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_tensorcheck import object_records as records
from pytest_tensorcheck.frameworks import loaded
from pytest_tensorcheck.object_kinds import NEVER, NUMBERS_AND_TEXTS, is_global_generator, is_users
from pytest_tensorcheck.own_reads import own_reads

_MOST_PARTS = 2000
_MOST_BYTES = 1 << 20  # of one array, which has no counter of its versions
_DEEPEST = 6


class Contents:
    """What an object held when it was read."""

    def __init__(self, record: records.Record, large: dict[Any, Any]) -> None:
        self.record = record
        self.large = large
        self._parts: dict[str, Any] | None = None

    @property
    def fixed(self) -> bool:
        """Whether no test can change it: a tuple of numbers and texts."""
        return self.record.fixed

    def same(self, value: object) -> bool:
        """Whether the object surely holds what it held; asked inside `looking()`."""
        try:
            return self.record.same(value, set())
        except Exception:  # an object may do anything when it is looked at; a look must not fail a test
            return False

    def parts(self) -> dict[str, Any]:
        """By path. Kept: what has changed once is compared again after the next test."""
        if self._parts is None:
            self._parts = dict(self.record.parts(""))
        return self._parts


@contextlib.contextmanager
def looking() -> Iterator[None]:
    """Around looks: the user's own subclasses and modes of torch hear nothing of them."""
    torch: Any = loaded("torch")
    with own_reads, contextlib.nullcontext() if torch is None else torch._C.DisableTorchFunction():  # torch 2.6 to 2.13
        yield


def contents(value: object, known: Contents | None = None) -> Contents | None:
    """None where there is nothing to compare. `known`: earlier contents, whose hashes of large tensors are taken over where
    the tensor's version says that nobody wrote into it."""
    reader = _Reader(known.large if known is not None else {})
    try:
        with looking():
            record = reader.read(value, 0)
            if next(record.parts(""), None) is None:
                return None
    except Exception:  # too many parts, or an object that cannot be looked at
        return None
    return Contents(record, reader.large)


def changed_parts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The paths that differ, in order; a part that is gone or new is one."""
    return [path for path in {**before, **after} if _differ(before.get(path), after.get(path))]


def _differ(before: Any, after: Any) -> bool:
    if before == after:
        return False
    of_tensor = getattr(before, "differs_from", None)
    return of_tensor is None or bool(of_tensor(after))


class _TooMuch(Exception):
    pass


class _Reader:
    def __init__(self, known: dict[Any, Any]) -> None:
        self.known = known
        self.large: dict[Any, Any] = {}
        self._parts = 0
        self._seen: set[int] = set()
        self._torch: Any = loaded("torch")
        self._numpy: Any = loaded("numpy")
        self._of_tensors: Any = None
        if self._torch is not None or self._numpy is not None:
            from pytest_tensorcheck import tensor_records

            self._of_tensors = tensor_records

    def read(self, value: Any, depth: int) -> records.Record:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise _TooMuch
        kind = type(value)
        if kind in records.EXACT:
            return records.Constant(value)
        if issubclass(kind, NUMBERS_AND_TEXTS):
            return records.Subclassed(value)
        if depth > _DEEPEST or issubclass(kind, NEVER):
            return records.Ignored(value)
        if id(value) in self._seen:
            return records.Again()
        self._seen.add(id(value))
        record = None
        if kind not in (tuple, list, dict):
            record = self._of_torch(kind, value, depth) or self._of_numpy(kind, value)
        if record is None:
            record = self._of_python(kind, value, depth)
        if record is None:
            record = records.Ignored(value)
        if isinstance(record, (records.Ignored, records.Frozen)):  # whose `same` does not mark it
            self._seen.remove(id(value))
        return record

    def _of_torch(self, kind: type, value: Any, depth: int) -> Any:
        torch = self._torch
        if torch is None:
            return None
        if issubclass(kind, torch.Tensor):
            return self._of_tensors.Tensor(value, self.large, self.known)
        if issubclass(kind, torch.nn.Module):
            self._parts += 1
            return self._of_tensors.Module(
                value, lambda item: self.read(item, depth), lambda item: self.read(item, depth + 1)
            )
        if issubclass(kind, torch.optim.Optimizer):
            groups = self._items(value.param_groups, lambda group: self._pairs(group, _settings, depth + 2))
            return self._of_tensors.Optimizer(
                value, groups, [self.read(state, depth + 1) for state in value.state.values()]
            )
        if issubclass(kind, torch.Generator):
            if value is torch.default_generator:
                return records.Unread(value, is_global_generator)
            return records.State(value, _torch_state)
        return None

    def _of_numpy(self, kind: type, value: Any) -> Any:
        numpy = self._numpy
        if numpy is None:
            return None
        if issubclass(kind, numpy.ndarray):
            return records.Unread(value, _is_unread) if _is_unread(value) else self._of_tensors.Array(value)
        if issubclass(kind, numpy.random.Generator):
            return records.State(value, _numpy_state)
        if issubclass(kind, numpy.random.RandomState):
            if is_global_generator(value):
                return records.Unread(value, is_global_generator)
            return records.State(value, _numpy_global_state)
        return None

    def _of_python(self, kind: type, value: Any, depth: int) -> records.Record | None:
        if issubclass(kind, random.Random):
            if is_global_generator(value):
                return records.Unread(value, is_global_generator)
            return records.State(value, _python_state)
        if issubclass(kind, (list, tuple, deque)):
            return self._items(value, lambda item: self.read(item, depth + 1))
        if issubclass(kind, dict):
            return self._pairs(value, _dict_itself if kind is dict else _dict_items, depth)
        if kind in (set, frozenset):
            return records.State(value, _elements)
        if kind is bytearray:
            return records.State(value, bytes)
        return self._attributes(value, depth) if is_users(kind) else None

    def _items(self, value: Any, read: Callable[[Any], records.Record]) -> records.Record:
        built_in: Any = next(kind for kind in (list, tuple, deque) if issubclass(type(value), kind))
        items = list(built_in.__iter__(value))
        if len(items) > _MOST_PARTS:
            raise _TooMuch
        found = list(map(read, items))
        if type(value) is tuple and all(map(records.is_frozen, found)):
            return records.Frozen(value, found)
        return records.Items(value, items, found, built_in.__iter__)

    def _pairs(self, value: Any, pairs_of: Callable[[Any], Mapping[Any, Any]], depth: int) -> records.Record:
        pairs = pairs_of(value)
        if len(pairs) > _MOST_PARTS:
            raise _TooMuch
        found = {key: self.read(item, depth + 1) for key, item in pairs.items() if _is_name(key)}
        return records.Pairs(value, pairs_of, found, _is_name, "[{!r}]")

    def _attributes(self, value: Any, depth: int) -> records.Record:
        found = {name: self.read(item, depth + 1) for name, item in vars(value).items()}
        return records.Pairs(value, vars, found, lambda _: True, ".{}")


def _dict_itself(value: Any) -> Any:
    return value


def _dict_items(value: Any) -> dict[Any, Any]:
    """By the built-in's own method: a subclass may count who asks."""
    return dict(dict.items(value))


def _settings(group: dict[str, Any]) -> dict[str, Any]:
    """Of a group of an optimizer, without its parameters."""
    return {key: value for key, value in group.items() if key != "params"}


def _is_name(value: object) -> bool:
    return isinstance(value, NUMBERS_AND_TEXTS) and (not isinstance(value, (str, bytes)) or len(value) < 200)


def _is_unread(array: Any) -> bool:
    return bool(array.dtype.hasobject or array.nbytes > _MOST_BYTES)


def _elements(value: Any) -> Any:
    return type(value).__name__, frozenset(value) if all(map(_is_name, value)) else len(value)


def _torch_state(generator: Any) -> Any:
    from pytest_tensorcheck.determinism.hashing import copy_memory

    state = generator.get_state()
    return "generator", copy_memory(state.data_ptr(), state.nbytes)


def _numpy_state(generator: Any) -> Any:
    return "generator", _frozen(generator.bit_generator.state)


def _numpy_global_state(generator: Any) -> Any:
    return "generator", _frozen(generator.get_state(legacy=False))


def _python_state(generator: Any) -> Any:
    return "generator", generator.getstate()


def _frozen(state: Any) -> Any:
    """A dict of numbers, texts and arrays as it is now."""
    if isinstance(state, dict):
        return tuple((key, _frozen(value)) for key, value in state.items())
    return state.tobytes() if hasattr(state, "tobytes") else state
