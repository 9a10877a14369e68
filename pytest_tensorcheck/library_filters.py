"""Warning filters that a library adds when it is first imported: for itself, whichever test happens to be the first.

Only where pytest does not put the filters back around each test (`-p no:warnings`); elsewhere nobody compares them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class LibraryFilters:
    """Notes in `added` what the import of a library adds to the filters."""

    def __init__(self) -> None:
        self.added: set[Any] = set()

    @contextmanager
    def library_import(self) -> Iterator[None]:
        before = list(warnings.filters)
        try:
            yield
        finally:
            self.added.update(one for one in warnings.filters if one not in before)

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
