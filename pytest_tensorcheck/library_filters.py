"""Warning filters that a library adds when it is first imported: for itself, whichever test happens to be the first.

Only where pytest does not put the filters back around each test (`-p no:warnings`); elsewhere nobody compares them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any

from pytest_tensorcheck.first_import import spec_after
from pytest_tensorcheck.user_line import is_user_file


class LibraryFilters(MetaPathFinder):
    """Notes in `added` what the outermost import of a library adds to the filters."""

    def __init__(self) -> None:
        self.added: set[Any] = set()
        self._importing = False

    def start(self) -> None:
        sys.meta_path.insert(0, self)

    def stop(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def of_others(self) -> list[Any]:
        """The filters that are in force and that no library added for itself."""
        added = self.added
        return [one for one in warnings.filters if one not in added] if added else list(warnings.filters)

    def put_back(self, filters: list[Any]) -> None:
        """These filters, and in front of them those of libraries, which are not imported a second time."""
        of_libraries = [one for one in warnings.filters if one in self.added]
        warnings.filters[:] = [*of_libraries, *filters]  # type: ignore[index]
        mutated = getattr(warnings, "_filters_mutated", None)  # the registry of warnings already shown; 3.11 to 3.13
        if mutated is not None:
            mutated()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if self._importing:
            return None
        spec = spec_after(self, fullname, path, target)
        if spec is not None and spec.has_location and spec.origin is not None and not is_user_file(spec.origin):
            self._watch(spec.loader)
        return spec

    def _watch(self, loader: Any) -> None:
        if not isinstance(loader, SourceFileLoader):
            return
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)  # the loader is as it was, for whoever looks at it later
            before, outermost = list(warnings.filters), not self._importing
            self._importing = True
            try:
                execute(module)
            finally:
                if outermost:
                    self._importing = False
                    self.added.update(one for one in warnings.filters if one not in before)

        # As a frame of the import system it is left out of what `stacklevel` of a warning counts.
        exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")
        loader.exec_module = exec_module  # type: ignore[method-assign]
