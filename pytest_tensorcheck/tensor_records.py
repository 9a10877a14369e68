"""The records of what torch and numpy make (`object_records`): imported once one of them is there."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from operator import eq, is_, itemgetter
from typing import Any, NamedTuple

from pytest_tensorcheck.determinism.hashing import copy_memory, has_memory, hash_tensor, memory_is
from pytest_tensorcheck.frameworks import loaded
from pytest_tensorcheck.object_records import Parts, Record, Seen, all_same, first_met, is_frozen

_HASH_AGAIN = 1 << 16  # bytes of a tensor up to which a write that its version does not show (`.data`) is looked for
_COPY = 1 << 14  # bytes of an array up to which a copy takes less than to ask for its address


class Array(Record):
    __slots__ = ("dtype", "kind", "numbers", "shape")

    def __init__(self, array: Any) -> None:
        self.kind = id(type(array))
        self.shape, self.dtype = array.shape, array.dtype
        self.numbers: bytes = _array_bytes(array)

    def same(self, value: Any, seen: Seen) -> bool:
        if id(type(value)) != self.kind or not first_met(value, seen):
            return False
        if value.shape != self.shape or value.dtype != self.dtype:
            return False
        if value.nbytes <= _COPY or not value.flags.c_contiguous:
            return _array_bytes(value) == self.numbers
        return memory_is(value.ctypes.data, self.numbers)

    def parts(self, path: str) -> Parts:
        yield path, ("array", self.shape, str(self.dtype), self.numbers)


def _array_bytes(array: Any) -> bytes:
    numpy: Any = loaded("numpy")
    found: bytes = numpy.ndarray.tobytes(array)
    return found


class Numbers(NamedTuple):
    """A tensor, as a part."""

    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    numbers: Any  # None where they cannot be read, as on a device

    def differs_from(self, other: Any) -> bool:
        if not isinstance(other, Numbers) or self[:3] != other[:3]:
            return True
        return self.numbers != other.numbers and self.numbers is not None and other.numbers is not None


class Tensor(Record):
    """`large`: where a large tensor lay, and in which version -> the hash of its numbers; `known`: as it was before."""

    __slots__ = ("dense", "dtype", "grad", "kind", "numbers", "pointer", "requires_grad", "shape", "stride", "version")

    def __init__(self, tensor: Any, large: dict[Any, Any], known: dict[Any, Any]) -> None:
        self.kind = id(type(tensor))
        self.shape, self.dtype, self.requires_grad = tensor.shape, tensor.dtype, tensor.requires_grad
        self.numbers: Any = None
        self.pointer: int | None = None  # None where the numbers cannot be read
        self.stride: Any = None
        self.version: int | None = None  # of a large one: only says whether the numbers have to be read again
        self.dense = False  # whether its numbers are one stretch of memory
        is_large = tensor.nbytes > _HASH_AGAIN
        if _is_readable(tensor) and not (is_large and tensor.is_inference()):
            self.pointer, self.stride = tensor.data_ptr(), tensor.stride()
            if is_large:
                self.version = tensor._version
                place = self.version, self.pointer, self.shape, self.stride, self.dtype
                large[place] = self.numbers = known[place] if place in known else hash_tensor(tensor.detach())
            else:
                self.dense = tensor.is_contiguous() and not _is_lazy(tensor)
                self.numbers = _bytes_of(tensor, self.dense)
        self.grad: Tensor | None = None
        if tensor.is_leaf and self.requires_grad and tensor.grad is not None:
            self.grad = Tensor(tensor.grad, large, known)

    def same(self, value: Any, seen: Seen) -> bool:
        return id(type(value)) == self.kind and first_met(value, seen) and self._same_numbers(value)

    def _same_numbers(self, value: Any) -> bool:
        if value.requires_grad != self.requires_grad or value.dtype is not self.dtype or value.shape != self.shape:
            return False
        if self.pointer is not None and not self._same_memory(value, self.pointer):
            return False
        grad = value.grad if self.requires_grad and value.is_leaf else None
        if grad is None or self.grad is None:
            return grad is self.grad
        return id(type(grad)) == self.grad.kind and self.grad._same_numbers(grad)

    def _same_memory(self, value: Any, pointer: int) -> bool:
        if value.data_ptr() != pointer or value.stride() != self.stride:
            return False
        if self.version is not None:
            return bool(value._version == self.version)
        if self.dense and not (value.is_conj() or value.is_neg()):
            return memory_is(pointer, self.numbers)
        return bool(_bytes_of(value, dense=False) == self.numbers)

    def parts(self, path: str) -> Parts:
        yield path, Numbers(tuple(self.shape), str(self.dtype), self.requires_grad, self.numbers)
        if self.grad is not None:
            yield from self.grad.parts(f"{path}.grad")


def _is_readable(tensor: Any) -> bool:
    """On the CPU, with its memory: what is sharded gives it back between two uses."""
    if not has_memory(tensor) or tensor.device.type != "cpu":
        return False
    return bool(tensor.data_ptr() or tensor.numel() == 0 or tensor._is_zerotensor())


def _is_lazy(tensor: Any) -> bool:
    """Whether its memory does not have its numbers as they are."""
    return bool(tensor.is_conj() or tensor.is_neg() or tensor._is_zerotensor())


def _bytes_of(tensor: Any, dense: bool) -> Any:
    return copy_memory(tensor.data_ptr(), tensor.nbytes) if dense else hash_tensor(tensor.detach(), copy_memory)


class Optimizer(Record):
    """Its groups without the parameters, and what it keeps for these."""

    __slots__ = ("groups", "kind", "states")

    def __init__(self, value: Any, groups: Record, states: list[Record]) -> None:
        self.kind = id(type(value))
        self.groups, self.states = groups, states

    def same(self, value: Any, seen: Seen) -> bool:
        if id(type(value)) != self.kind or not first_met(value, seen) or len(value.state) != len(self.states):
            return False
        return self.groups.same(value.param_groups, seen) and all_same(self.states, value.state.values(), seen)

    def parts(self, path: str) -> Parts:
        yield from self.groups.parts(f"{path}.param_groups")
        for number, state in enumerate(self.states):
            yield from state.parts(f"{path}.state[{number}]")


_HOOKS = (
    "_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks", "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
)  # fmt: skip
_OF_TENSORS = ("_parameters", "_buffers")


class Module(Record):
    """A torch.nn.Module with those below it. `attributes` are the public ones; `told` what its own class's version of
    named_parameters and named_buffers gives beyond."""

    __slots__ = (
        "attributes",
        "hooks",
        "keys",
        "kind",
        "layers",
        "others",
        "plain",
        "plain_and_hooks",
        "tensors",
        "told",
    )

    def __init__(self, value: Any, read: Callable[[Any], Record], read_attribute: Callable[[Any], Record]) -> None:
        held = vars(value)
        self.kind = id(type(value))
        self.keys = tuple(held)
        self.tensors = [_read_named(held[name], read) for name in _OF_TENSORS]
        self.layers = _read_named(held["_modules"], read)
        self.told = {name: read(tensor) for name, tensor in _told(value)} if _tells(type(value)) else None
        self.attributes = {key: read_attribute(held[key]) for key in self.keys if not key.startswith("_")}
        self.hooks = tuple(len(held.get(name) or ()) for name in _HOOKS)
        plain = [key for key, record in self.attributes.items() if is_frozen(record)]
        self.others = [(key, record) for key, record in self.attributes.items() if not is_frozen(record)]
        self.plain = tuple(held[key] for key in plain)
        # One question for all of it: modules are many, and most of them have two settings and no hooks.
        self.plain_and_hooks = itemgetter(*[*plain, *(name for name in _HOOKS if name in held), *_OF_TENSORS])

    def same(self, value: Any, seen: Seen) -> bool:
        if id(type(value)) != self.kind or not first_met(value, seen):
            return False
        held = vars(value)
        if len(held) != len(self.keys) or not all(map(is_, held, self.keys)):
            return False
        answers = self.plain_and_hooks(held)
        if not all(map(is_, answers, self.plain)):
            return False
        if any(answers[len(self.plain) : -2]) or any(self.hooks):
            if tuple(len(held.get(name) or ()) for name in _HOOKS) != self.hooks:
                return False
        for records, tensors in zip(self.tensors, answers[-2:], strict=True):
            if (records or tensors) and not _same_named(records, tensors, seen):
                return False
        layers = held["_modules"]
        if (self.layers or layers) and not _same_named(self.layers, layers, seen):
            return False
        if self.told is not None and not _same_named(self.told, dict(_told(value)), seen):
            return False
        for key, record in self.others:  # noqa: SIM110 - a generator takes longer
            if not record.same(held[key], seen):
                return False
        return True

    def parts(self, path: str) -> Parts:
        yield from self._tensors_below(path)
        yield from self._settings_below(path)

    def _tensors_below(self, path: str) -> Parts:
        for records in self.tensors:
            for name, record in records.items():
                yield from record.parts(f"{path}.{name}")
        for name, layer in self.layers.items():
            if isinstance(layer, Module):
                yield from layer._tensors_below(f"{path}.{name}")
        for name, record in (self.told or {}).items():
            yield from record.parts(f"{path}.{name}")

    def _settings_below(self, path: str) -> Parts:
        yield f"{path}, its hooks", self.hooks
        yield f"{path}, its layers", tuple(self.layers)
        for key, record in self.attributes.items():
            yield from record.parts(f"{path}.{key}")
        for name, layer in self.layers.items():
            if isinstance(layer, Module):
                yield from layer._settings_below(f"{path}.{name}")


def _named(held: Any) -> Mapping[str, Any]:
    """TorchScript's modules give something of their own."""
    return held if type(held) in (dict, OrderedDict) else dict(held.items())


def _read_named(held: Any, read: Callable[[Any], Record]) -> dict[str, Record]:
    return {name: read(item) for name, item in _named(held).items()}


def _same_named(records: dict[str, Record], held: Any, seen: Seen) -> bool:
    named = _named(held)
    if len(named) != len(records) or not all(map(eq, named, records)):
        return False
    return all_same(records.values(), named.values(), seen)


def _tells(kind: Any) -> bool:
    """Whether the class has a version of its own of what names the tensors."""
    base = loaded("torch").nn.Module  # type: ignore[union-attr]
    return kind.named_parameters is not base.named_parameters or kind.named_buffers is not base.named_buffers


def _told(module: Any) -> list[tuple[str, Any]]:
    return [*module.named_parameters(), *module.named_buffers()]
