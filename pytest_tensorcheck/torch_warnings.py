"""What torch warns of under a mode of ours names the line, and meets the filters, that it does without the mode.

A warning counts frames, and a mode puts its own between the caller and torch: the summary would name our file, and
`ignore::UserWarning:torch.nn.modules.*` would not hold. So what is said to be our line passes the filters, and is put
before them again where it belongs.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Under a mode of the dispatcher torch's operators are called by way of torch._ops.
_PASS: Any = ("always", None, Warning, re.compile(r"pytest_tensorcheck\.|torch\._ops$"), 0)
_lock = threading.Lock()
_open = 0
_show: Callable[[Any], None] | None = None


def mode_entered() -> None:
    global _open, _show
    with _lock:
        _open += 1
        if _PASS not in warnings.filters:
            warnings.filters.insert(0, _PASS)  # type: ignore[attr-defined]
        if _show is None:
            # Called for each warning that is shown, while its frames are still there. Python 3.11 to 3.14.
            _show = getattr(warnings, "_showwarnmsg", None)
            if _show is not None:
                warnings._showwarnmsg = _show_at_its_place  # type: ignore[attr-defined]


def mode_left() -> None:
    global _open, _show
    with _lock:
        _open -= 1
        if _open:
            return
        if _PASS in warnings.filters:
            warnings.filters.remove(_PASS)  # type: ignore[attr-defined]
        if _show is not None and getattr(warnings, "_showwarnmsg", None) is _show_at_its_place:
            warnings._showwarnmsg = _show  # type: ignore[attr-defined]
        _show = None


class WarnsInPlace:
    """For a mode of torch's: comes before it among the bases."""

    def __enter__(self) -> Any:
        mode_entered()
        return super().__enter__()  # type: ignore[misc]

    def __exit__(self, *failure: Any) -> Any:
        try:
            return super().__exit__(*failure)  # type: ignore[misc]
        finally:
            mode_left()


def _show_at_its_place(message: Any) -> None:
    show = _show
    if show is None:
        return
    filters: Any = warnings.filters
    if _PASS not in filters or not _is_between(message.filename):
        show(message)
        return
    frame = _caller_of_torch(message.filename, sys._getframe(1))
    at = filters.index(_PASS)
    del filters[at]  # without a word to the registries of what was shown: as long as this takes, nothing has changed
    try:
        if frame is None:
            show(message)
        else:
            warnings.warn_explicit(
                message.message,
                message.category,
                frame.f_code.co_filename,
                frame.f_lineno,
                frame.f_globals.get("__name__", "<string>"),
                frame.f_globals.setdefault("__warningregistry__", {}),
                source=message.source,
            )
    finally:
        filters.insert(at, _PASS)


# For whoever looks for the caller of what warns (the GPU watcher does) the frame is Python's, as warnings' own are.
_show_at_its_place.__code__ = _show_at_its_place.__code__.replace(co_filename="<frozen importlib._bootstrap>")


_OPERATORS = os.path.join("torch", "_ops.py")
# By way of these torch calls a mode's method that its compiler is not to follow.
_TO_A_MODE = (os.path.join("torch", "_compile.py"), os.path.join("torch", "_dynamo", "eval_frame.py"))


def _is_between(filename: str) -> bool:
    return filename.startswith(_OURS) or filename.endswith(_OPERATORS)


def _caller_of_torch(filename: str, start: FrameType) -> FrameType | None:
    """The frame that the warning would name without our modes; `filename`: the one that it does name."""
    frame: FrameType | None = start
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    if frame is not None and not filename.startswith(_OURS) and not _is_ours(frame.f_back):
        return frame  # an operator that nobody of ours called
    while frame is not None and (
        _is_between(frame.f_code.co_filename) or frame.f_code.co_filename.endswith(_TO_A_MODE)
    ):
        frame = frame.f_back
        if frame is not None and frame.f_code.co_name == "handle_torch_function":
            # A function of torch's in Python hands itself over to the mode, which calls it once more.
            frame = frame.f_back and frame.f_back.f_back
    return frame


def _is_ours(frame: FrameType | None) -> bool:
    return frame is not None and frame.f_code.co_filename.startswith(_OURS)
