"""The line of the user's code behind a call: the nearest frame outside the libraries and outside this plugin."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import FrameType
from typing import NamedTuple

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Where pure Python modules are, and what depends on the platform, which may be built into a folder of its own. sysconfig
# says the same, and takes 1 ms to import.
_PURE = os.path.dirname(os.path.abspath(os.__file__))
_STDLIB = (_PURE + os.sep, os.path.join(sys.base_exec_prefix, sys.platlibdir, os.path.basename(_PURE)) + os.sep)
_SITE = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class UserLine(NamedTuple):
    """A place in the user's code. `function` is the qualified name of the frame's code object."""

    file: str
    line: int
    function: str = ""

    @property
    def source(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    @property
    def shown_file(self) -> str:
        """Relative to the working directory where that is shorter to read."""
        try:
            relative = os.path.relpath(self.file)
        except ValueError:  # another drive
            return self.file
        return self.file if relative.startswith("..") else relative

    def __str__(self) -> str:
        return f"{self.shown_file}:{self.line}"


@lru_cache(maxsize=4096)
def is_user_file(filename: str) -> bool:
    """Whether a code object's file is the user's: neither ours, nor the standard library's, nor an installed one's.

    Files without a path on disk (`<string>`, notebooks' cells) count as the user's, frozen modules do not.
    """
    if filename.startswith("<"):
        return not filename.startswith(("<frozen", "<__array_function__", "<@beartype", "<eval_with_key>"))
    if filename.startswith(_OURS) or any(mark in filename for mark in _SITE):
        return False
    return not filename.startswith((*_STDLIB, *_install_folders(), *_source_folders()))


@lru_cache(maxsize=1)
def _install_folders() -> tuple[str, ...]:
    """Folders on the path that packages were installed into under another name than usual: `pip install --target`."""
    found = []
    for folder in map(os.path.abspath, sys.path):
        try:
            names = () if folder == os.getcwd() else os.listdir(folder)
        except OSError:
            continue
        if any(name.endswith(".dist-info") for name in names) and not {"pyproject.toml", "setup.py"} & {*names}:
            found.append(folder + os.sep)
    return tuple(found)


def _source_folders() -> Iterator[str]:
    """Where these libraries run from a checkout of their sources."""
    for name in ("torch", "numpy", "_pytest", "pluggy"):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            yield os.path.dirname(os.path.abspath(file)) + os.sep


def user_frame(start: FrameType | None = None) -> FrameType | None:
    """The nearest frame of the user's code, looking outwards from `start` (default: the caller)."""
    frame = start if start is not None else sys._getframe(1)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return frame
        frame = frame.f_back  # type: ignore[assignment]
    return None


def user_line(start: FrameType | None = None) -> UserLine | None:
    """The nearest line of the user's code, looking outwards from `start` (default: the caller). About 1 µs."""
    frame = user_frame(start if start is not None else sys._getframe(1))
    if frame is None:
        return None
    return UserLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)
