"""`check_annotations`: check jaxtyping's annotations while a test runs, without an import hook or a type checker.

jaxtyping itself is not imported: its annotations are recognised by what they carry (`dim_str`, `dtypes`,
`array_type`; seen in jaxtyping 0.2.20 to 0.3.11).
"""

from __future__ import annotations

import collections.abc
import functools
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

from pytest_tensorcheck.shapes import arrays, messages
from pytest_tensorcheck.shapes.binder import Bindings, Mismatch, Site, match
from pytest_tensorcheck.shapes.checker import ShapeError, call_place
from pytest_tensorcheck.shapes.spec import ShapeSpecError, parse

_HERE = Site(None, 0, -1, "")


class AnnotationCheck:
    """What `check_annotations` returns: call it, or open it as a block. `checked` names the functions it watches."""

    def __init__(self, target: Any) -> None:
        __tracebackhide__ = True
        self._patches: list[tuple[Any, str, Any]] = []
        self._function: Callable[..., Any] | None = None
        self.checked: list[str] = []
        if isinstance(target, types.ModuleType):
            self._collect(target, target.__name__)
        elif isinstance(target, type):
            self._collect(target, target.__module__)
        elif callable(target):
            self._function = _checked(target)
            if self._function is None:
                raise ValueError(f"{_name(target)} has no array annotation to check")
            functools.update_wrapper(self, target, updated=())
            self.checked.append(_name(target))
            owner = _owner(target)
            if owner is not None:
                self._patches.append((*owner, self._function))
        else:
            raise TypeError(f"check_annotations takes a function, a class or a module, not {messages.brief(target)}")
        if not self.checked:
            raise ValueError(f"{_name(target)} defines no function with an array annotation: nothing would be checked")
        self._originals: list[tuple[Any, str, Any]] = []

    def _collect(self, owner: Any, module: str) -> None:
        for name, value in list(vars(owner).items()):
            inner = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            if isinstance(value, type):
                if value.__module__ == module and value is not owner and not hasattr(value, "dim_str"):
                    self._collect(value, module)
            elif inspect.isfunction(inner) and inner.__module__ == module:
                checked = _checked(inner)
                if checked is not None:
                    self.checked.append(_name(inner))
                    self._patches.append((owner, name, checked if inner is value else type(value)(checked)))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if self._function is None:
            raise TypeError(
                "a module's or class's annotations are checked inside a block: with check_annotations(...):"
            )
        return self._function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __enter__(self) -> AnnotationCheck:
        if not self._patches:
            raise TypeError("this function is not an attribute of its module or class; call what was returned instead")
        for owner, name, replacement in self._patches:
            self._originals.append((owner, name, vars(owner)[name]))
            setattr(owner, name, replacement)
        return self

    def __exit__(self, *_: object) -> None:
        while self._originals:
            owner, name, original = self._originals.pop()
            setattr(owner, name, original)


def check_annotations(target: Any) -> AnnotationCheck:
    """Check a function's, class's or module's jaxtyping annotations at every call.

    A function: `checked = check_annotations(attention); checked(q, k, v)`, or as a decorator. A module or class, or a
    function that is to be found by its callers: `with check_annotations(model):` replaces its functions (as attributes
    of the module or class: a name imported earlier with `from model import f` still means the unchecked one) and puts
    them back. Names are bound for each call, over arguments and result. Annotations that mention no array are ignored,
    so are containers other than list, tuple, dict and their abstract kinds.

    Raises `ShapeError` from the call; `ValueError` at once where there is nothing to check.
    """
    __tracebackhide__ = True
    return AnnotationCheck(target)


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", getattr(function, "__name__", function)))


def _owner(function: Any) -> tuple[Any, str] | None:
    """The module or class of which the function is an attribute."""
    owner: Any = sys.modules.get(getattr(function, "__module__", ""))
    *path, name = _name(function).split(".")
    for part in path:
        owner = getattr(owner, part, None)
    found = vars(owner).get(name) if owner is not None and hasattr(owner, "__dict__") else None
    return (owner, name) if found is function else None


def _checked(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function with its array annotations checked, None if it has none."""
    hints = {name: hint for name, hint in _hints(function).items() if _mentions_array(hint)}
    if not hints:
        return None
    signature = inspect.signature(function)
    name = _name(function)

    def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Bindings, dict[str, Any]] | None:
        __tracebackhide__ = True
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return None  # the call itself says it better
        bound.apply_defaults()
        bindings = Bindings()
        for argument, value in bound.arguments.items():
            if argument not in hints:
                continue
            kind = signature.parameters[argument].kind
            values: list[tuple[str, Any]] = [(argument, value)]
            if kind is inspect.Parameter.VAR_POSITIONAL:
                values = [(f"{argument}[{at}]", each) for at, each in enumerate(value)]
            elif kind is inspect.Parameter.VAR_KEYWORD:
                values = list(value.items())
            for label, each in values:
                if each is None and signature.parameters[argument].default is None:
                    continue
                _check(hints[argument], each, bindings, bound.arguments, f"{name}({label})", label)
        return bindings, bound.arguments

    def after(state: tuple[Bindings, dict[str, Any]] | None, result: Any) -> Any:
        __tracebackhide__ = True
        if state is not None and "return" in hints:
            _check(hints["return"], result, state[0], state[1], f"{name}() result", "result")
        return result

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def checked(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            state = before(args, kwargs)
            return after(state, await function(*args, **kwargs))

    elif inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            before(args, kwargs)
            return function(*args, **kwargs)

    else:

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            state = before(args, kwargs)
            return after(state, function(*args, **kwargs))

    return checked


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    function = inspect.unwrap(function)
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:  # a name that exists for type checkers only: take the annotations that are objects
        found = {}
        for name, hint in getattr(function, "__annotations__", {}).items():
            if isinstance(hint, str):
                try:
                    hint = eval(hint, getattr(function, "__globals__", {}))
                except Exception:
                    continue
            found[name] = hint
        return found


def _is_array_hint(hint: Any) -> bool:
    return isinstance(hint, type) and hasattr(hint, "dim_str") and hasattr(hint, "dtypes")


def _mentions_array(hint: Any) -> bool:
    return _is_array_hint(hint) or any(_mentions_array(each) for each in typing.get_args(hint))


def _check(hint: Any, value: Any, bindings: Bindings, arguments: dict[str, Any], where: str, label: str) -> None:
    __tracebackhide__ = True
    problem = _problem(hint, value, bindings, arguments, where, label)
    if problem is not None:
        raise ShapeError(problem + call_place())


def _problem(
    hint: Any, value: Any, bindings: Bindings, arguments: dict[str, Any], where: str, label: str
) -> str | None:
    """Why the value is not what the annotation says; None where it is, or where the annotation is not about arrays."""
    if _is_array_hint(hint):
        return _array_problem(hint, value, bindings, arguments, where, label)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _problem(inner[0], value, bindings, arguments, where, label)
    if origin in (typing.Union, types.UnionType):
        return _union_problem(inner, value, bindings, arguments, where, label)
    if not _mentions_array(hint):
        return None
    for below, each, each_hint in _items(origin, inner, value):
        problem = _problem(each_hint, each, bindings, arguments, where + below, label + below)
        if problem is not None:
            return problem
    return None


def _items(origin: Any, inner: tuple[Any, ...], value: Any) -> Iterator[tuple[str, Any, Any]]:
    """The items of a container with the annotation of each; nothing for kinds that cannot be looked into safely."""
    if origin is tuple and isinstance(value, tuple):
        hints = [inner[0]] * len(value) if len(inner) == 2 and inner[1] is ... else list(inner)
        for at, (each, each_hint) in enumerate(zip(value, hints, strict=False)):
            yield f"[{at}]", each, each_hint
    elif origin in (dict, collections.abc.Mapping, collections.abc.MutableMapping):
        if isinstance(value, collections.abc.Mapping):
            for key, each in value.items():
                yield f"[{key!r}]", each, inner[1]
    elif origin in (list, collections.abc.Sequence, collections.abc.MutableSequence) and isinstance(
        value, (list, tuple)
    ):
        for at, each in enumerate(value):
            yield f"[{at}]", each, inner[0]


def _union_problem(
    members: tuple[Any, ...], value: Any, bindings: Bindings, arguments: dict[str, Any], where: str, label: str
) -> str | None:
    problems = []
    for member in members:
        if _mentions_array(member):
            problem = _problem(member, value, bindings, arguments, where, label)
            if problem is None:
                return None
            problems.append(problem)
        elif member is None or member is type(None):
            if value is None:
                return None
        elif not isinstance(member, type) or isinstance(value, member):
            return None
    return problems[0] if len(problems) == 1 else f"{where}: none of the union fits:\n" + "\n".join(problems)


def _array_problem(
    hint: Any, value: Any, bindings: Bindings, arguments: dict[str, Any], where: str, label: str
) -> str | None:
    kind = hint.array_type
    if kind is not Any and isinstance(kind, type) and not isinstance(value, kind):
        return f"{where}: expected a {kind.__name__}, got {messages.brief(value)}"
    shape = arrays.shape_of(value)
    if shape is None:
        return f"{where}: expected an array, got {messages.brief(value)}"
    if isinstance(hint.dtypes, (list, tuple)):
        name = arrays.dtype_name(value.dtype) if hasattr(value, "dtype") else type(value).__name__
        if not any(each == name if isinstance(each, str) else each.match(name) for each in hint.dtypes):
            return f"{where}: expected dtype {_some(hint.dtypes)}, got {name}"
    text = re.sub(r"\{([^{}]*)\}", lambda found: str(eval(found[1], {}, arguments)), hint.dim_str)
    spec = parse(text)
    try:
        outcome = match(spec, shape, bindings)
    except ShapeSpecError as error:
        return f"{where}: {error}"
    if isinstance(outcome, Mismatch):
        return messages.mismatch(where, spec, shape, outcome, bindings, _HERE)
    for each in outcome:
        bindings.sites[each] = Site(None, 0, -2, label)
    return None


def _some(dtypes: Any) -> str:
    names = [each if isinstance(each, str) else each.pattern for each in dtypes]
    return " or ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]}"
