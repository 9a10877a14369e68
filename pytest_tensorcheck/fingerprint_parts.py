"""A function taken apart: everything that enters its fingerprint, by the path to it, with the hash of each part."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

_DEEPEST = 6
# Plain values: where one moves, the program draws it, and handing it over in another way changes nothing.
_VALUES = frozenset(
    {"bool", "int", "float", "complex", "str", "bytes", "bytearray", "Decimal", "Fraction", "UUID", "datetime", "date"}
    | {"time", "timedelta", "struct_time", "Timestamp", "Path", "PosixPath", "WindowsPath"}
    | {"float64", "float32", "int64", "int32", "ndarray", "Tensor", "Parameter"}
)
_DRAWN = (
    "it is drawn anew in each process (random, uuid, time, a process id, a temporary path, hash()): "
    "pass a fixed value for {name}, or draw it from a generator with a seed"
)


class Part(NamedTuple):
    """`digest` is empty where the part cannot be pickled; then `error` says why."""

    digest: str
    kind: str
    text: str
    error: str = ""

    def describe(self, other: Part) -> str:
        """What it was in two processes."""
        if self.error:
            return f"{self.kind} cannot be pickled ({self.error}), so its hash is random"
        if self.text == other.text:
            return f"{self.kind} {self.text}"
        return f"{self.kind} {self.text}, then {other.text}"

    def remedy(self, path: str, other: Part) -> str:
        """What to write instead; `other` is the same part in another process."""
        name = path.rpartition(" → ")[2]
        if self.error:
            return f"create {name} inside the function"
        if self.kind == "constants":
            return "a set of constants is in its code: write a tuple, x in (...)"
        if self.kind == "frozenset":
            return f"its order follows PYTHONHASHSEED: make {name} a set, a tuple or a sorted list"
        if self.kind in _VALUES:
            return _DRAWN.format(name=name)
        if self.kind in ("list", "tuple", "dict"):
            if sorted(self.text) != sorted(other.text) and not self.text.endswith("..."):  # other elements
                return _DRAWN.format(name=name)
            return f"its order may come from a set: make {name} from sorted(...)"
        if self.kind in ("Random", "Generator", "RandomState"):
            return f"seed {name}, or make it inside the function from a seed in fn_kwargs"
        return f"hand over what the function needs of it: fn_kwargs, functools.partial, or a local variable for {name}"


def parts_of(function: Callable[..., Any], map_kwargs: dict[str, Any]) -> dict[str, Part]:
    """Path -> part, for the function and for the arguments that enter the fingerprint with it."""
    found: dict[str, Part] = {}
    _take_apart(function, getattr(function, "__name__", type(function).__name__), found, set(), 0)
    for name in ("fn_kwargs", "remove_columns", "input_columns", "features"):
        if map_kwargs.get(name) is not None:
            _take_apart(map_kwargs[name], name, found, set(), 0)
    return found


def _take_apart(value: Any, path: str, found: dict[str, Part], seen: set[int], depth: int) -> None:
    if id(value) in seen or depth > _DEEPEST:
        return
    seen.add(id(value))
    found[path] = _part(value)
    for name, inner in _inside(value):
        _take_apart(inner, f"{path} → {name}", found, seen, depth + 1)


class _Constants(tuple[Any, ...]):
    """The constants of a function's code, hashed in the order in which the code holds them."""

    __slots__ = ()


def _part(value: Any) -> Part:
    hasher = importlib.import_module("datasets.fingerprint").Hasher
    kind = "constants" if isinstance(value, _Constants) else type(value).__name__
    try:
        digest = hasher.hash(tuple(value) if isinstance(value, _Constants) else value)
    except RecursionError:
        return Part("", kind, "", "it recurses too deeply")
    except Exception as error:
        return Part("", kind, "", f"{type(error).__name__}: {error}")
    return Part(digest, kind, _short(value))


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        return ""
    return text if len(text) <= 60 else f"{text[:57]}..."


def _inside(value: Any) -> Iterator[tuple[str, Any]]:
    """The named parts of a value."""
    if isinstance(value, functools.partial):
        yield getattr(value.func, "__name__", "function"), value.func
        yield from ((f"argument {number}", given) for number, given in enumerate(value.args))
        yield from value.keywords.items()
    elif isinstance(value, types.MethodType):
        yield "self", value.__self__
        yield value.__name__, value.__func__
    elif isinstance(value, types.FunctionType):
        yield from _of_function(value)
    elif isinstance(value, dict):
        yield from ((str(key), inner) for key, inner in value.items())
    elif isinstance(value, type):
        if value.__module__ == "__main__" or "<locals>" in value.__qualname__:
            own = {
                name: inner for name, inner in vars(value).items() if not name.startswith("__") or name == "__init__"
            }
            yield from own.items()
    elif not isinstance(value, (types.ModuleType, str, bytes, int, float, frozenset, set, list, tuple)):
        state = getattr(value, "__dict__", None)
        if isinstance(state, dict):
            yield from state.items()
            yield type(value).__name__, type(value)


def _of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    if function.__module__ not in ("__main__", None) and _is_importable(function):
        return
    frozen = tuple(constant for code in _codes(function.__code__) for constant in code.co_consts if _is_set(constant))
    if frozen:
        yield "its code", _Constants(tuple(constant) for constant in frozen)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    yield from ((name, function.__globals__[name]) for name in sorted(names) if name in function.__globals__)
    parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    yield from zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def _is_set(constant: object) -> bool:
    return isinstance(constant, frozenset) and len(constant) > 1


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _is_importable(function: types.FunctionType) -> bool:
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


@contextmanager
def run_as_script(function: Callable[..., Any], module: str) -> Iterator[None]:
    """While it holds, functions and classes of `module` (the test's own) are hashed by their code.

    The library hashes what can be imported by its name. A function written in a test stands for one of a script, which
    it hashes by its code, so that is what is compared.
    """
    owner = sys.modules.get(module)
    changed: list[tuple[Any, str]] = []
    for value in list(vars(owner).values()) if owner is not None else ():
        if isinstance(value, (types.FunctionType, type)) and value.__module__ == module:
            changed.append((value, module))
            members = vars(value).values() if isinstance(value, type) else ()
            changed += [(member, module) for member in members if isinstance(member, types.FunctionType)]
    try:
        for value, _ in changed:
            value.__module__ = "__main__"
        yield
    finally:
        for value, name in changed:
            value.__module__ = name
