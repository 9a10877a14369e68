"""Whose line it was: the user's frame, the expression in it, and the library frame that waits."""

from __future__ import annotations

import ast
import itertools
import linecache
import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FrameType

from pytest_tensorcheck.user_line import UserLine, is_user_file, user_line

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Frames of torch's that pass a call on: a wait in them is the user's own.
_PASSING_ON = (
    "torch/_tensor.py", "torch/_tensor_str.py", "torch/functional.py", "torch/overrides.py", "torch/_ops.py",
    "torch/_jit_internal.py", "torch/_utils.py", "torch/serialization.py", "torch/storage.py", "torch/utils/_",
    "torch/nn/modules/module.py", "torch/nn/modules/container.py", "torch/cuda/", "torch/testing/", "torch/autograd/",
    "torch/linalg", "torch/_linalg_utils.py", "torch/random.py", "torch/_dynamo/", "torch/_compile.py",
)  # fmt: skip
# pytest explains a failed assertion: the assertion itself was the wait.
_EXPLAINS = tuple(f"{os.sep}_pytest{os.sep}{part}{os.sep}" for part in ("assertion", "_io"))
_ENGINE = f"torch{os.sep}autograd{os.sep}graph.py"


@dataclass(frozen=True, slots=True)
class Place:
    """`in_engine`: between here and the user's line the autograd engine runs (the line is that which called backward).
    `inner_expression`: the expression of the library frame that waits, where it is not the user's own.
    `ours`: it is one of this package's own checks, or pytest about a failed assertion, that reads the value, and not the
    user's program."""

    where: UserLine | None
    expression: str
    inside: str
    in_engine: bool
    inner_expression: str = ""
    ours: bool = False


@lru_cache(maxsize=4096)
def _library_name(filename: str) -> str:
    """ "torch/optim/adam.py" for an installed file; "" for ours and the interpreter's own."""
    if filename.startswith((_OURS, "<")):
        return ""
    for mark in (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}"):
        if mark in filename:
            return filename.rpartition(mark)[2].replace(os.sep, "/")
    return ""


@lru_cache(maxsize=4096)
def expression_at(code: CodeType, instruction: int) -> str:
    """The source of the expression that an instruction belongs to, on one line; the whole line where that is not known."""
    positions = next(itertools.islice(code.co_positions(), instruction // 2, None), None)
    if positions is None:
        return ""
    line, end_line, column, end_column = positions
    if line is None:
        return ""
    text = linecache.getline(code.co_filename, line)
    if line == end_line and column is not None and end_column is not None:
        part = text.encode()[column:end_column].decode(errors="replace").strip()
        try:
            ast.parse(part, mode="eval")
        except SyntaxError:
            part = ""
        if len(part) > 2:
            return part
    return text.strip()


def user_place(depth: int = 1, *, functional_counts: bool = False) -> Place:
    """Walk outwards to the user's frame. `functional_counts`: torch.nn.functional's own lines are not the user's."""
    frame: FrameType | None = sys._getframe(depth)
    inside, in_engine, inner, ours = "", False, "", False
    while frame is not None:
        name = frame.f_code.co_filename
        if is_user_file(name):
            line = UserLine(name, frame.f_lineno, frame.f_code.co_qualname)
            return Place(line, expression_at(frame.f_code, frame.f_lasti), inside, in_engine, inner, ours)
        if name.endswith(_ENGINE):
            in_engine = True
        elif name.startswith(_OURS):
            # Another check's mode only passes the user's call on.
            passes_on = frame.f_code.co_name in ("__torch_function__", "__torch_dispatch__")
            ours = not passes_on and (ours or not name.startswith(_HERE))
        elif any(part in name for part in _EXPLAINS):
            ours = True
        elif not inside:
            library = _library_name(name)
            passing = library.startswith(_PASSING_ON) or (library == "torch/nn/functional.py" and not functional_counts)
            if library and not passing and frame.f_code.co_name != "_apply":
                inside = f"{library}:{frame.f_lineno} in {frame.f_code.co_name}"
                inner = expression_at(frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return Place(None, "", inside, in_engine, inner, ours)


def called_by_engine_caller(depth: int = 1) -> bool:
    """Whether this thread called the autograd engine, and is not one of the engine's own."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        if frame.f_code.co_filename.endswith(_ENGINE):
            return True
        frame = frame.f_back
    return False


def engine_caller() -> UserLine | None:
    """The user's line that called backward, seen from a thread of the autograd engine's own."""
    for frame in sys._current_frames().values():
        inner: FrameType | None = frame
        while inner is not None:
            if inner.f_code.co_filename.endswith(_ENGINE):
                return user_line(inner)
            inner = inner.f_back
    return None


def called_from_library(depth: int = 1) -> bool:
    """Whether the nearest frame that is neither ours nor the interpreter's is an installed library's."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        name = frame.f_code.co_filename
        if is_user_file(name):
            return False
        if _library_name(name):
            return True
        frame = frame.f_back
    return False
