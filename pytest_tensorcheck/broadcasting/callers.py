"""Whose code calls a torch function: the user's, an installed library's, or torch's own."""

from __future__ import annotations

import os
from types import CodeType, FrameType

from pytest_tensorcheck.frameworks import loaded
from pytest_tensorcheck.user_line import is_user_file

USER, THIN, TORCH, LIBRARY, STANDARD = range(5)

# Files of torch that only hand a call on: an operator written in Python, a functional form, a module's __call__, the
# loss and distance modules. What happens in them happens in their caller's name.
_THIN = tuple(
    path.replace("/", os.sep)
    for path in (
        "_tensor.py", "functional.py", "overrides.py", "_VF.py", "nn/functional.py", "utils/_device.py",
        "utils/_contextlib.py", "nn/modules/module.py", "nn/modules/loss.py", "nn/modules/distance.py",
        "_jit_internal.py",
    )
)  # fmt: skip


class _Kinds(dict[str, int]):
    def __missing__(self, filename: str) -> int:
        kind = self[filename] = _kind(filename)
        return kind


def _kind(filename: str) -> int:
    torch = loaded("torch")
    if torch is not None and torch.__file__:
        root = os.path.dirname(torch.__file__) + os.sep
        if filename.startswith(root):
            return THIN if filename[len(root) :] in _THIN else TORCH
    if is_user_file(filename):
        return USER
    if filename.startswith(os.path.dirname(os.__file__) + os.sep) and "-packages" not in filename:
        return STANDARD
    return STANDARD if filename.startswith("<frozen") else LIBRARY


KIND: dict[str, int] = _Kinds()


def acting_frame(frame: FrameType | None) -> FrameType | None:
    """The frame in whose name the function is called: the nearest that is not thin."""
    while frame is not None and KIND[frame.f_code.co_filename] in (THIN, STANDARD):
        frame = frame.f_back
    return frame


def nearest_user_frame(frame: FrameType | None, depth: int = 80) -> FrameType | None:
    """The nearest frame of the user's code, not farther out than `depth`."""
    while frame is not None and depth:
        if KIND[frame.f_code.co_filename] == USER:
            return frame
        frame = frame.f_back
        depth -= 1
    return None


def is_forward(code: CodeType) -> bool:
    """Whether the code is a module's `forward`, as far as its name tells."""
    return code.co_name == "forward"


def is_running(code: CodeType, frame: FrameType | None) -> bool:
    """Whether the code is on the stack, at `frame` or outside it: what it made has been passed down, not returned."""
    while frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False
