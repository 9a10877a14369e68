"""Which array libraries the running program has loaded.

A library that is not in `sys.modules` cannot have made the object in hand, so asking never imports one.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

_complete: dict[str, ModuleType] = {}  # once imported to its end, a module stays so


def loaded(name: str) -> ModuleType | None:
    """The module if the program has (completely) imported it, else None. Never imports."""
    module = sys.modules.get(name)
    if module is not None and module is _complete.get(name):
        return module
    if module is None or not is_library(module):
        # The library is still there, behind what a test has put in its place.
        return _complete.get(name) if name in sys.modules else None
    if getattr(module.__spec__, "_initializing", False):
        return None
    _complete[name] = module
    return module


def is_library(module: object) -> bool:
    """Whether it was imported, and is not what a test puts in a module's place: None, a mock, an empty module."""
    return isinstance(module, ModuleType) and getattr(getattr(module, "__spec__", None), "loader", None) is not None


def is_replaced(name: str) -> bool:
    """Whether an import of the loaded library would now give something else."""
    return sys.modules.get(name) is not _complete.get(name)


def require(name: str, what: str) -> Any:
    """Import `name` for a check that cannot work without it; a clear error says what to install."""
    __tracebackhide__ = True
    if importlib.util.find_spec(name) is None:
        raise MissingFramework(f"{what} needs {name}, which is not installed here: pip install {name}")
    return importlib.import_module(name)


class MissingFramework(ImportError):
    """A check was asked for whose library is not installed."""
