"""What an object holds, as plain values that can be compared later: tensors by their bytes, modules with their modes and
hooks, generators by their state, containers and the user's own objects by their parts.

What cannot be compared for certain is left out, so that two different results mean that something has changed, and two
equal ones mean nothing.
"""

from __future__ import annotations

import random
import sys
import zlib
from collections import deque
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from pytest_tensorcheck.frameworks import loaded
from pytest_tensorcheck.own_reads import own_reads
from pytest_tensorcheck.user_line import is_user_file

Contents = dict[str, Any]  # path below the object ("" itself) -> what stands there
_MOST_PARTS = 2000
_MOST_BYTES = 1 << 20  # of one array, which has no counter of its versions
_HASH_AGAIN = 1 << 16  # bytes of a tensor up to which a write that its version does not show (`.data`) is looked for
_DEEPEST = 6
_NEVER = (type, ModuleType, FunctionType, MethodType)
_LETTERS = (bool, int, str, bytes, type(None))
_MUTABLE = (list, tuple, dict, set, deque, bytearray, random.Random)


class _TooMuch(Exception):
    pass


def may_change(value: object) -> bool:
    """Whether it is of a kind whose contents can be compared, and changed in place."""
    # By its type and not by isinstance, which asks the object: a proxy may fail, or begin to work, when it is asked.
    kind = type(value)
    if issubclass(kind, _NEVER) or _is_global_generator(value):
        return False
    return issubclass(kind, _MUTABLE) or _is_known(kind) or _is_users(kind)


def is_constant(value: object) -> bool:
    """Whether no test can have changed it: numbers, texts, functions, classes, modules."""
    return issubclass(type(value), (*_LETTERS, float, complex, *_NEVER, BuiltinFunctionType))


def _is_known(kind: type) -> bool:
    torch, numpy = loaded("torch"), loaded("numpy")
    if torch is not None and issubclass(kind, (torch.Tensor, torch.nn.Module, torch.optim.Optimizer, torch.Generator)):
        return True
    return numpy is not None and issubclass(kind, (numpy.ndarray, numpy.random.Generator, numpy.random.RandomState))


def _is_users(kind: type) -> bool:
    """A class of the user's, whose objects have ordinary attributes."""
    return kind.__dictoffset__ != 0 and is_users_class(kind)


def is_users_class(kind: type) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is not None and is_user_file(file)


def _is_global_generator(value: object) -> bool:
    """One that every test finds seeded."""
    torch, numpy = loaded("torch"), loaded("numpy")
    return (
        value is getattr(random, "_inst", None)
        or (torch is not None and value is torch.default_generator)
        or (numpy is not None and value is getattr(numpy.random.mtrand, "_rand", None))
    )


def contents(value: object, known: Contents | None = None) -> Contents | None:
    """None where there is nothing to compare. `known`: earlier contents, whose hashes of large tensors are taken over where
    the tensor's version says that nobody wrote into it."""
    reader = _Reader(known or {})
    try:
        with own_reads, _unheard():
            reader.read("", value, 0)
    except _TooMuch:
        return None
    except Exception:  # an object may do anything when it is looked at; a look must not fail a test
        return None
    return reader.found or None


def _unheard() -> AbstractContextManager[Any]:
    """The user's own subclasses and modes of torch hear nothing of our looks."""
    torch: Any = loaded("torch")
    return nullcontext() if torch is None else torch._C.DisableTorchFunction()  # seen in torch 2.6 to 2.13


def changed_parts(before: Contents, after: Contents) -> list[str]:
    """The paths that differ, in order; a part that is gone or new is one."""
    return [path for path in dict.fromkeys((*before, *after)) if _differ(before.get(path), after.get(path))]


def _differ(before: Any, after: Any) -> bool:
    if isinstance(before, _TensorContents) and isinstance(after, _TensorContents):
        unknown = before.numbers is None or after.numbers is None
        return before[:3] != after[:3] or (before.numbers != after.numbers and not unknown)
    return bool(before != after)


class _TensorContents(NamedTuple):
    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    numbers: Any  # None where they cannot be read, as on a device
    version: tuple[int, int]  # of the memory: only says whether the numbers have to be read again


class _Reader:
    def __init__(self, known: Contents) -> None:
        self.known = known
        self.found: Contents = {}
        self._seen: set[int] = set()

    def put(self, path: str, value: Any) -> None:
        self.found[path] = value
        if len(self.found) > _MOST_PARTS:
            raise _TooMuch

    def read(self, path: str, value: Any, depth: int) -> None:
        if isinstance(value, _LETTERS):
            self.put(path, (type(value).__name__, value))
            return
        if isinstance(value, (float, complex)):
            self.put(path, repr(value))
            return
        if depth > _DEEPEST or id(value) in self._seen:
            return
        if issubclass(type(value), _NEVER):
            return
        self._seen.add(id(value))
        torch, numpy = loaded("torch"), loaded("numpy")
        if torch is not None and isinstance(value, torch.Tensor):
            self._tensor(path, value)
        elif torch is not None and isinstance(value, torch.nn.Module):
            self._module(path, value, depth)
        elif torch is not None and isinstance(value, torch.optim.Optimizer):
            self.read(f"{path}.param_groups", [_without_parameters(group) for group in value.param_groups], depth + 1)
            for number, state in enumerate(value.state.values()):
                self.read(f"{path}.state[{number}]", state, depth + 1)
        elif torch is not None and isinstance(value, torch.Generator) and value is not torch.default_generator:
            self.put(path, ("generator", bytes(value.get_state().tolist())))
        elif numpy is not None and isinstance(value, numpy.ndarray):
            if not value.dtype.hasobject and value.nbytes <= _MOST_BYTES:
                numbers = zlib.crc32(numpy.ascontiguousarray(value).view(numpy.uint8).data if value.size else b"")
                self.put(path, ("array", value.shape, str(value.dtype), numbers))
        elif numpy is not None and isinstance(value, numpy.random.Generator):
            self.put(path, ("generator", repr(value.bit_generator.state)))
        elif _is_global_generator(value):
            return
        elif numpy is not None and isinstance(value, numpy.random.RandomState):
            self.put(path, ("generator", repr(value.get_state(legacy=False))))
        elif isinstance(value, random.Random):
            self.put(path, ("generator", value.getstate()))
        elif isinstance(value, (list, tuple, deque)):
            # By the built-in's own methods: a subclass may count who asks.
            kind: Any = next(kind for kind in (list, tuple, deque) if isinstance(value, kind))
            items = list(kind.__iter__(value))
            self._items(path, ((f"[{index}]", item) for index, item in enumerate(items)), items, depth)
        elif isinstance(value, dict):
            pairs = dict(dict.items(value))
            self._items(path, ((f"[{key!r}]", item) for key, item in pairs.items() if _is_letter(key)), pairs, depth)
        elif type(value) in (set, frozenset):
            plain = all(map(_is_letter, value))
            self.put(path, (type(value).__name__, frozenset(value) if plain else len(value)))
        elif type(value) is bytearray:
            self.put(path, bytes(value))
        elif _is_users(type(value)):
            self._items(path, ((f".{name}", item) for name, item in vars(value).items()), vars(value), depth)

    def _items(self, path: str, items: Iterable[tuple[str, Any]], whole: Any, depth: int) -> None:
        if len(whole) > _MOST_PARTS:
            raise _TooMuch
        self.put(path, ("length", type(whole).__name__, len(whole)))
        for name, item in items:
            self.read(path + name, item, depth + 1)

    def _tensor(self, path: str, tensor: Any) -> None:
        from pytest_tensorcheck.determinism.hashing import has_memory, hash_tensor

        numbers, version = None, (0, 0)
        if has_memory(tensor) and tensor.device.type == "cpu":
            version = tensor._version, tensor.data_ptr()
            known = self.known.get(path)
            if tensor.nbytes > _HASH_AGAIN and isinstance(known, _TensorContents) and known.version == version:
                numbers = known.numbers
            else:
                numbers = hash_tensor(tensor.detach())
        shape = tuple(tensor.shape)
        self.put(path, _TensorContents(shape, str(tensor.dtype), tensor.requires_grad, numbers, version))
        if tensor.is_leaf and tensor.requires_grad:
            if tensor.grad is None:
                self.put(f"{path}.grad", None)
            else:
                self._tensor(f"{path}.grad", tensor.grad)

    def _module(self, path: str, module: Any, depth: int) -> None:
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            if id(tensor) not in self._seen:
                self._seen.add(id(tensor))
                self._tensor(f"{path}.{name}", tensor)
        for name, part in module.named_modules():
            self._seen.add(id(part))
            here = f"{path}.{name}" if name else path
            self.put(f"{here}, its hooks", tuple(len(vars(part).get(hooks) or ()) for hooks in _HOOKS))
            self.put(f"{here}, its layers", tuple(part._modules))
            for key, item in vars(part).items():
                if not key.startswith("_"):
                    self.read(f"{here}.{key}", item, depth + 1)


_HOOKS = (
    "_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks", "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
)  # fmt: skip


def _is_letter(value: object) -> bool:
    return isinstance(value, (*_LETTERS, float)) and (not isinstance(value, (str, bytes)) or len(value) < 200)


def _without_parameters(group: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in group.items() if key != "params"}
