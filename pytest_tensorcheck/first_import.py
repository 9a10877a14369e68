"""Know the moment at which a library is imported for the first time, so that it can be seeded and its defaults noted.

numpy's and torch's global generators seed themselves from the operating system when they are imported. A test that
is the first to import them would otherwise see other numbers than the same test run later.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from pytest_tensorcheck.frameworks import loaded


class FirstImport(MetaPathFinder):
    """Calls back when one of the modules has been imported; at once for those that are already there."""

    def __init__(self, callbacks: dict[str, Callable[[], None]]) -> None:
        self._waiting = dict(callbacks)

    def start(self) -> None:
        for name in list(self._waiting):
            if loaded(name) is not None:
                self._waiting.pop(name)()
        sys.meta_path.insert(0, self)

    def stop(self) -> None:
        self._waiting.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._waiting:
            return None
        spec = spec_after(self, fullname, path, target)
        if spec is not None:
            self._call_back_after(fullname, spec)
        return spec

    def _call_back_after(self, fullname: str, spec: ModuleSpec) -> None:
        loader = spec.loader
        execute = getattr(loader, "exec_module", None)
        if loader is None or execute is None:
            return

        def exec_module(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)  # the loader is as it was, for whoever looks at it later
            execute(module)
            callback = self._waiting.pop(fullname, None)
            if callback is not None:
                callback()

        try:
            loader.exec_module = exec_module  # type: ignore[method-assign]
        except AttributeError:  # a loader with slots: the module is seeded at the next phase
            return


def spec_after(
    finder: MetaPathFinder, fullname: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    """What the finders that come after this one find; those before it have been asked, and found nothing."""
    finders = list(sys.meta_path)
    for other in finders[finders.index(finder) + 1 :] if finder in finders else ():
        find_spec = getattr(other, "find_spec", None)
        if find_spec is not None and (spec := find_spec(fullname, path, target)) is not None:
            found: ModuleSpec = spec
            return found
    return None
