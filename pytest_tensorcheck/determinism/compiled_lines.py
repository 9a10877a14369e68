"""The user's line behind a line of a graph that torch.compile or torch.fx generated.

By a private attribute of torch.fx.GraphModule, `_lineno_map` (seen in torch 2.6 to 2.13); without it the caller's line has to do.
"""

from __future__ import annotations

import re
from types import CodeType, FrameType

from pytest_tensorcheck.user_line import UserLine, is_user_file

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')
_LINES: dict[tuple[int, int], tuple[CodeType, UserLine | None]] = {}  # (id of the code object, line)


def traced_line(frame: FrameType) -> UserLine | None:
    """The innermost line of the user's that the node of the generated line was traced from; None where that is not recorded."""
    key = (id(frame.f_code), frame.f_lineno)
    known = _LINES.get(key)
    if known is None:
        if len(_LINES) > 20_000:
            _LINES.clear()
        known = _LINES[key] = (frame.f_code, _look_up(frame))
    return known[1]


def _look_up(frame: FrameType) -> UserLine | None:
    module = frame.f_locals.get("self")
    numbers = getattr(module, "_lineno_map", None)
    graph = getattr(module, "graph", None)
    if not numbers or graph is None:
        return None
    start = getattr(module, "_prologue_start", 0) or 0
    index = numbers.get(frame.f_lineno - start)
    nodes = list(graph.nodes)
    if index is None or not 0 <= index < len(nodes):
        return None
    found = [match for match in _FRAME.finditer(nodes[index].stack_trace or "") if is_user_file(match["file"])]
    return UserLine(found[-1]["file"], int(found[-1]["line"]), found[-1]["function"]) if found else None
