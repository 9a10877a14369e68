"""What runs where no call stands: `__del__`, the rest of a context manager behind its `yield`, callbacks, threads.

Such code may have run before any line. What it assigns, or changes of what names hold, is not known anywhere in the file.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from tensorlint.inference import caught
from tensorlint.inference.effects import changes_of
from tensorlint.inference.frames import SourceFile
from tensorlint.inference.handling import last_name
from tensorlint.inference.rebinding import Rebound

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Words of a file that has functions called at some other time, by what they were handed to.
_LATER = (
    ".callback(",
    ".push(",
    "finalize(",
    "weakref.ref(",
    "atexit.register",
    "Thread(",
    "ThreadPool",
    "threading.Timer",
)
_MANAGERS = frozenset(["contextmanager", "asynccontextmanager"])


def may_have_changed(found: Rebound, file: SourceFile) -> Rebound:
    """`found`, and what the file's code changes that runs without a call."""
    text = file.text
    later = any(word in text for word in _LATER)
    managers = "contextmanager" in text
    if not (later or managers or "__del__" in text):
        return found
    held: set[str] | None = caught.held(file) if later else set()
    names: set[str] = set()
    attributes = set(found.attributes)
    for node in file.facts.scopes:
        if isinstance(node, _FUNCTIONS) and (
            node.name == "__del__"
            or (later and (held is None or node.name in held))
            or (managers and any(last_name(each) in _MANAGERS for each in node.decorator_list))
        ):
            changes = changes_of(node)
            attributes |= changes.attributes
            names |= changes.names - {each.arg for each in node.args.args}
    for scope in file.facts.scopes.values():
        scope.shared |= names & scope.assigned.keys()
    return replace(found, attributes=attributes)
