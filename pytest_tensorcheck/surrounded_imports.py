"""What surrounds the import of a module, whoever imports it first: a test file, a fixture, a test.

A module of the user's draws numbers of its own. Otherwise a constant like `WEIGHTS = torch.rand(3)` of a module that
several test files import, and all that is drawn after that import, would depend on which of them runs. Of a library, what
it sets for itself is noted.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any

from pytest_tensorcheck.first_import import spec_after
from pytest_tensorcheck.user_line import is_user_file


class SurroundedImports(MetaPathFinder):
    """Runs the body of each of the user's modules inside `user(name)`, the outermost import of a library inside `library()`."""

    def __init__(
        self, user: Callable[[str], AbstractContextManager[None]], library: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._user = user
        self._library = library
        self._in_library = False
        self._shared: dict[int, Any] = {}

    def start(self) -> None:
        sys.meta_path.insert(0, self)

    def stop(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for loader in self._shared.values():
            vars(loader).pop("exec_module", None)
        self._shared.clear()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = spec_after(self, fullname, path, target)
        if spec is not None and spec.has_location and spec.origin is not None:
            if not self._in_library or is_user_file(spec.origin):
                self._watch(spec.loader)
        return spec

    def _watch(self, loader: Any) -> None:
        # pytest has one loader for all modules whose assertions it rewrites; Python makes one for each module.
        shared = type(loader).__module__ == "_pytest.assertion.rewrite"
        if id(loader) in self._shared or not (shared or isinstance(loader, SourceFileLoader)):
            return
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            if not shared:
                vars(loader).pop("exec_module", None)  # the loader is as it was, for whoever looks at it later
            spec = module.__spec__
            mine = spec is not None and spec.origin is not None and is_user_file(spec.origin)
            if threading.current_thread() is not threading.main_thread() or (self._in_library and not mine):
                execute(module)
            elif mine:
                with self._user(module.__name__):
                    execute(module)
            else:
                self._in_library = True
                try:
                    with self._library():
                        execute(module)
                finally:
                    self._in_library = False

        # As a frame of the import system it is left out of tracebacks, and of what `stacklevel` of a warning counts.
        exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")
        loader.exec_module = exec_module
        if shared:
            self._shared[id(loader)] = loader
