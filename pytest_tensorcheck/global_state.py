"""Global state that a test leaves changed: what it was, what it is now, and putting it back.

A library's rows are added when the library is loaded; what is not loaded is never imported to ask it.
`as_expected` is asked after every test: it copies next to nothing, and asks as little as it can.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from operator import call
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_tensorcheck.observations import TensorcheckFailure
from pytest_tensorcheck.user_line import is_user_file

if TYPE_CHECKING:
    from pytest_tensorcheck.library_filters import LibraryFilters

Snapshot = tuple[Any, ...]
Witness = Callable[[], Iterable[Callable[[], Any]]]


class StateLeak(TensorcheckFailure):
    """A test left global state changed, and the check's mode is `error`."""


class StateItem(NamedTuple):
    """One piece of global state. `set` None: it can be compared but not put back.

    `by_key`: the value is a dict whose keys change independently (environment variables).
    `follows`: the items that explain this one; when one of them differs too, only that one is shown.
    `at_import`: whether a change made by importing a module is the module's fault (and is confined to it).
    `difference`: what is said instead of old → new, where both are long.
    `witness`: called while the item has the value in question, it gives calls whose answers, as long as they stay what
    they are then, say that it still has it. Worth it where that takes less than `get`; items may share a witness.
    """

    name: str
    get: Callable[[], Any]
    set: Callable[[Any], object] | None
    by_key: bool = False
    follows: tuple[str, ...] = ()
    at_import: bool = True
    show: Callable[[Any], str] = repr
    difference: Callable[[Any, Any], str] | None = None
    witness: Witness | None = None


class _Unset:
    def __repr__(self) -> str:
        return "unset"


UNSET = _Unset()


class Change(NamedTuple):
    """`old` → `new` of one item (of one key of it). `row`: its place in a snapshot."""

    row: int
    item: StateItem
    key: Any
    old: Any
    new: Any
    restored: bool = True

    @property
    def name(self) -> str:
        return self.item.name if self.key is None else f"{self.item.name} {os.fsdecode(self.key)}"

    def __str__(self) -> str:
        if self.item.difference is not None:
            return f"{self.name}: {self.item.difference(self.old, self.new)}"
        return f"{self.name}: {self.shown_old} → {self.shown_new}"

    @property
    def shown_old(self) -> str:
        return self._shown(self.old, self.new)

    @property
    def shown_new(self) -> str:
        return self._shown(self.new, self.old)

    def _shown(self, value: Any, other: Any) -> str:
        if value is not UNSET and self.key is not None and _is_secret(os.fsdecode(self.key), os.fsdecode(value)):
            return "(not shown)"
        if isinstance(value, dict) and isinstance(other, dict):  # options by name: only those that differ
            text = ", ".join(f"{key}={one!r}" for key, one in value.items() if other.get(key, UNSET) != one)
        else:
            text = self.item.show(value)
        return text if len(text) <= 200 else text[:197] + "..."


class GlobalState:
    """Every known item, and the values that tests are expected to leave behind (`expected`)."""

    def __init__(self, items: Iterable[StateItem] = ()) -> None:
        self.items: list[StateItem] = []
        self.initial: list[Any] = []
        self.expected: Snapshot = ()
        self._getters: tuple[Callable[[], Any], ...] = ()
        self._compared: _Comparison | None = None
        self._of_libraries: dict[Any, Any] = {}
        self.add(items)

    def add(self, items: Iterable[StateItem]) -> None:
        """Further items, with their present values as the expected ones."""
        known = {item.name for item in self.items}
        added = [item for item in items if item.name not in known]
        self.items.extend(added)
        self._getters = tuple(item.get for item in self.items)
        values = [item.get() for item in added]
        self.initial.extend(values)
        self.expected = (*self.expected, *values)

    def snapshot(self) -> Snapshot:
        return tuple([get() for get in self._getters])

    def as_expected(self) -> bool:
        """Whether a snapshot taken now would be equal to `expected`."""
        compared = self._compared
        if compared is None or compared.expected is not self.expected:
            compared = self._compared = _Comparison(self.items, self.expected)
        try:
            if compared.answers is not None and list(map(call, compared.questions)) == compared.answers:
                return True
        except Exception:  # settings that contradict each other, a working directory that is gone
            pass
        return compared.holds()

    def changes(self, before: Snapshot, after: Snapshot) -> list[Change]:
        """What differs. Items that came with a library loaded in between count from the library's own defaults."""
        if before == after:
            return []
        before = (*before, *self.initial[len(before) :])
        found = []
        for index, item in enumerate(self.items):
            old, new = before[index], after[index]
            if old is new or old == new:
                continue
            if item.by_key:
                for key in sorted(set(old) | set(new)):
                    one, other = old.get(key, UNSET), new.get(key, UNSET)
                    if one != other and self._of_libraries.get(key) != other and not _is_ignored(os.fsdecode(key)):
                        found.append(Change(index, item, key, one, other))
            elif item.show is not _show_path or _user_entries(old) != _user_entries(new):
                found.append(Change(index, item, None, old, new))
        return found

    @contextmanager
    def library_import(self) -> Iterator[None]:
        """Around the first import of a library: the variables that it sets are its own, and stay, whoever imports it."""
        before = _environment()
        try:
            yield
        finally:
            self._of_libraries.update(_environment().items() - before.items())

    def put_back(self, changes: Sequence[Change]) -> list[Change]:
        """Set the old values; the changes come back with `restored` saying whether that worked."""
        for _ in range(2):  # one setter may move another item (matmul precision and the backends' own)
            for change in changes:
                if self.current(change) != change.old:
                    self.set(change, change.old)
        return [Change(c.row, c.item, c.key, c.old, c.new, restored=self.current(c) == c.old) for c in changes]

    def current(self, change: Change) -> Any:
        value = change.item.get()
        return value if change.key is None else value.get(change.key, UNSET)

    def set(self, change: Change, value: Any) -> None:
        if change.item.set is None:
            return
        if change.key is None:
            change.item.set(value)
        else:
            change.item.set({change.key: value})

    def expect(self, change: Change, value: Any) -> None:
        """From now on tests are expected to leave `value` there."""
        expected = list(self.expected)
        if change.key is None:
            expected[change.row] = value
        else:
            merged = dict(expected[change.row])
            merged.pop(change.key, None)
            if value is not UNSET:
                merged[change.key] = value
            expected[change.row] = merged
        self.expected = tuple(expected)


class _Comparison:
    """The items against one tuple of `expected` values, asked again and again.

    The first time the items are read. From the third time on their witnesses are asked, nearly all of them functions in C:
    between two tests the processor has forgotten all of this, and each function in Python is one to be fetched again.
    """

    __slots__ = ("_items", "_steady", "answers", "expected", "questions")

    def __init__(self, items: Sequence[StateItem], expected: Snapshot) -> None:
        self.expected = expected
        self.questions: list[Callable[[], Any]] = []
        self.answers: list[Any] | None = None
        self._items = items
        self._steady = False

    def holds(self) -> bool:
        """Read item by item, because nobody was asked, or a witness denied: it may know of more than the items."""
        held = all(item.get() == value for item, value in zip(self._items, self.expected, strict=True))
        if held and self._steady:
            self._ask_from_now_on()
        self._steady = held
        return held

    def _ask_from_now_on(self) -> None:
        witnesses = dict.fromkeys(item.witness or partial(_getter_itself, item.get) for item in self._items)
        self.questions = list(dict.fromkeys(question for witness in witnesses for question in witness()))
        try:
            self.answers = [question() for question in self.questions]
        except Exception:
            self.answers = None


def _getter_itself(get: Callable[[], Any]) -> tuple[Callable[[], Any]]:
    return (get,)


def worth_saying(changes: Iterable[Change]) -> list[Change]:
    """Without those that only follow from another one in the list."""
    changes = list(changes)
    names = {change.item.name for change in changes}
    return [change for change in changes if names.isdisjoint(change.item.follows)]


class ScopedState:
    """What importing a test module changed: in force while that module's tests run, and only then.

    So each module sees the state that it sees when it is run alone.
    """

    def __init__(self, state: GlobalState) -> None:
        self.state = state
        self.by_module: dict[str, list[Change]] = {}
        self._in_force: str | None = None

    def enter(self, module: str | None) -> None:
        if module == self._in_force:
            return
        self.leave()
        if module in self.by_module:
            for change in self.by_module[module]:
                self.state.set(change, change.new)
                self.state.expect(change, self.state.current(change))
            self._in_force = module

    def leave(self) -> None:
        if self._in_force is not None:
            for change in self.by_module[self._in_force]:
                self.state.set(change, change.old)
                self.state.expect(change, self.state.current(change))
            self._in_force = None


# --- Python's own items ---------------------------------------------------------------------------------------------

_SECRET = re.compile(r"TOKEN(?!IZ)|SECRET|KEY|PASS|CREDENTIAL|AUTH|COOKIE|(?:^|_)PAT$", re.IGNORECASE)
_CREDENTIALS = re.compile(r"://[^/\s]*@")  # of a URL: `postgres://user:password@host/`


def _is_secret(variable: str, value: str) -> bool:
    return bool(_SECRET.search(variable) or _CREDENTIALS.search(value))


# Set by test runners and, on import or first use, by libraries for themselves.
_IGNORED_PREFIXES = (
    *("PYTEST_", "COV_", "COVERAGE_", "PYDEVD_"),
    *("TORCHINDUCTOR_", "_TORCHINDUCTOR_", "TORCHELASTIC_", "KINETO_", "__"),
)
_IGNORED_VARIABLES = frozenset(
    {"CUDA_MODULE_LOADING", "KMP_INIT_AT_FORK", "KMP_DUPLICATE_LIB_OK", "TRITON_CACHE_DIR", "TF2_BEHAVIOR", "LINES"}
    # torch's profiler and its compiler, when they first run (2.6 to 2.13)
    | {"DISABLE_CUPTI_LAZY_REINIT", "TEARDOWN_CUPTI", "TRITON_PTXAS_PATH", "TRITON_LIBDEVICE_PATH", "TORCH_WARM_POOL"}
    | {"TF_CPP_MIN_LOG_LEVEL", "COLUMNS", "PYGAME_HIDE_SUPPORT_PROMPT", "QT_QPA_PLATFORM_PLUGIN_PATH"}
)


def _is_ignored(variable: str) -> bool:
    return variable in _IGNORED_VARIABLES or variable.startswith(_IGNORED_PREFIXES)


_ENVIRONMENT = os.environ  # the process's own, whatever a test puts in its place
_GONE = "(a folder that is gone)"


def python_items(filters: LibraryFilters | None = None) -> list[StateItem]:
    """`filters`: only where pytest does not put them back around each test by itself."""
    items = [
        StateItem(
            "environment variable",
            _environment,
            _set_environment,
            by_key=True,
            show=_show_variable,
            witness=_environment_is_as_now,
        ),
        StateItem("os.environ", _mapping, _set_mapping, at_import=False, show=_show_mapping),
        StateItem(
            "working directory",
            _working_directory,
            _set_working_directory,
            at_import=False,
            show=str,
            witness=lambda: (os.getcwd,),
        ),
        StateItem(
            "sys.path", lambda: sys.path[:], _set_path, at_import=False, show=_show_path, difference=_path_difference
        ),
    ]
    if filters is not None:
        items.append(
            StateItem("warning filters", filters.of_others, filters.put_back, at_import=False, show=_show_filters)
        )
    return items


def _environment() -> dict[Any, Any]:
    # os.environ.copy() decodes every entry (25 µs); the mapping below it is compared as it is (bytes on POSIX).
    return dict(_ENVIRONMENT._data)  # type: ignore[attr-defined]  # Python 3.11 to 3.14


def _environment_is_as_now() -> tuple[Callable[[], bool]]:
    then = _environment()
    return (lambda: _ENVIRONMENT._data == then,)  # type: ignore[attr-defined]


def _set_environment(values: dict[Any, Any]) -> None:
    for key, value in values.items():
        if value is UNSET:
            _ENVIRONMENT.pop(os.fsdecode(key), None)
        else:
            _ENVIRONMENT[os.fsdecode(key)] = os.fsdecode(value)


def _show_variable(value: Any) -> str:
    return repr(value if value is UNSET else os.fsdecode(value))


def _mapping() -> tuple[int, Any]:
    """Compared by what it is, not by what is in it: the second is asked only where the first is the same."""
    return id(os.environ), os.environ


def _set_mapping(value: tuple[int, Any]) -> None:
    os.environ = value[1]  # noqa: B003


def _show_mapping(value: tuple[int, Any]) -> str:
    return "the environment" if value[1] is _ENVIRONMENT else "another mapping"


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return _GONE


def _set_working_directory(path: str) -> None:
    if path != _GONE and os.path.isdir(path):
        os.chdir(path)


def _set_path(entries: list[str]) -> None:
    sys.path[:] = entries


def _user_entries(entries: list[str]) -> list[str]:
    """Without what installed packages put there for themselves."""
    return [entry for entry in entries if is_user_file(os.path.join(entry, "x.py"))]


def _show_path(entries: list[str]) -> str:
    return "[" + ", ".join(repr(entry) for entry in _user_entries(entries)) + "]"


def _path_difference(before: list[str], after: list[str]) -> str:
    old, new = Counter(_user_entries(before)), Counter(_user_entries(after))
    said = [
        f"{what} {', '.join(map(repr, entries))}"
        for what, entries in (("added", list((new - old).elements())), ("removed", list((old - new).elements())))
        if entries
    ]
    if said:
        return "; ".join(said)
    first = next(entry for was, entry in zip(_user_entries(before), _user_entries(after), strict=True) if was != entry)
    return f"moved {first!r} to another place"


def _show_filters(filters: list[Any]) -> str:
    return f"{len(filters)} filters, first {filters[0][:3]}" if filters else "no filters"


# --- numpy ----------------------------------------------------------------------------------------------------------


def numpy_items(numpy: Any) -> list[StateItem]:
    errors, printing = _context_variables(numpy)
    return [
        StateItem("numpy error state", numpy.geterr, lambda old: numpy.seterr(**old), witness=errors),
        StateItem("numpy error callback", numpy.geterrcall, numpy.seterrcall, witness=errors),
        StateItem(
            "numpy print options",
            numpy.get_printoptions,
            lambda old: numpy.set_printoptions(**old),
            witness=printing,
        ),
    ]


def _context_variables(numpy: Any) -> tuple[Witness | None, Witness | None]:
    """Where numpy 2 keeps its error handling and its print options, which get a new object with every change; None in
    other versions. Seen in 2.1 to 2.4."""
    core = sys.modules.get("numpy._core")
    errors = getattr(getattr(core, "umath", None), "_extobj_contextvar", None)
    # In the package, `printoptions` is the function of that name.
    printing = getattr(sys.modules.get("numpy._core.printoptions"), "format_options", None)
    return (
        (lambda: (errors.get,)) if isinstance(errors, ContextVar) else None,
        (lambda: (printing.get,)) if isinstance(printing, ContextVar) else None,
    )
