"""Where tensors go that are made without a device: on the host, unless the file may ask for something else.

A device may be entered as a context manager, by whatever name it is held: `with dev:`, `stack.enter_context(x.device)`. It is
told from other managers by how the manager is written, since a function may be called in a `with` that stands anywhere.
"""

from __future__ import annotations

import ast
import re

from tensorlint.inference.handling import last_name
from tensorlint.inference.names import FileFacts
from tensorlint.inference.words import words_of

# Ways to set a device, or to enter one, that are seen in the text.
_SETS = frozenset(["set_default_device", "DeviceContext", "__enter__", "enter_context"])
# Parts of the names of managers, of other files, that make tensors elsewhere: init_on_device, on_meta, init_empty_weights.
_ELSEWHERE = ("device", "meta", "init")
# Methods that give managers of another kind.
_OTHERS = frozenset(
    [
        "open", "profile", "acquire", "autocast", "no_sync", "subTest", "assertRaises", "assertRaisesRegex", "assertWarns",
        "assertWarnsRegex", "assertLogs", "cursor", "connect", "begin", "no_backward_sync", "get_context", "Pool", "accumulate", "join",
    ]
)  # fmt: skip
# Names of managers that are held by one, and that nobody calls a device by.
_OTHER_NAMES = re.compile(r"lock|cond|mutex|signal|profiler|stream|file", re.IGNORECASE)
_GENERATORS = frozenset(["contextmanager", "asynccontextmanager"])


def default_device(source: str, facts: FileFacts) -> str | None:
    """Where tensors go that are made without a device, as far as this file says; None if it may set that."""
    if "device" not in source and "Device" not in source:
        return None if "default_tensor_type" in source else "cpu"
    words = words_of(source)
    if not words.isdisjoint(_SETS) or "default_tensor_type" in source or "with torch.device" in source:
        return None
    if "push" in words and ".push(" in source:
        return None
    withs = [guard for guard in facts.guards if isinstance(guard, (ast.With, ast.AsyncWith))]
    return None if any(_may_be_device(each.context_expr, facts) for guard in withs for each in guard.items) else "cpu"


def _may_be_device(manager: ast.expr, facts: FileFacts) -> bool:
    if not isinstance(manager, ast.Call):
        return _OTHER_NAMES.search(last_name(manager) or "") is None
    func = root = manager.func
    while isinstance(root, ast.Attribute):
        root = root.value
    name = last_name(func) or ""
    own = [node for node in facts.scopes if isinstance(node, _NAMED) and node.name == name]
    if own:
        return not all(isinstance(node, ast.ClassDef) or _is_manager(node) for node in own)
    if name == "device":
        return func is root or (isinstance(func, ast.Attribute) and func.value is root)  # not torch.cuda.device
    if isinstance(root, ast.Name) and root.id in facts.imported:
        return any(word in name for word in _ELSEWHERE)
    return name not in _OTHERS and _OTHER_NAMES.search(name) is None


_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _is_manager(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the function is a generator that a decorator makes a manager of: what it enters is looked at by itself."""
    made = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return any(last_name(each) in _GENERATORS for each in made)
