"""Methods of which it is certain what they call: none but the object's own, and what only asks.

`__getitem__` of a data set that calls `self.load(index)` changes what `load` changes, which is looked at. One that calls
`self.model.half()` has a layer changed by a method that nobody looks at.
"""

from __future__ import annotations

import ast

from tensorlint.inference import ops
from tensorlint.inference.changes import CHANGES
from tensorlint.inference.class_order import method_order
from tensorlint.inference.effects import READS
from tensorlint.inference.elsewhere import by_name
from tensorlint.inference.kept import kept_with
from tensorlint.inference.state import State
from tensorlint.inference.values import Class, Function, Library, Value
from tensorlint.inference.walking import walk

# Classes of libraries without methods that change their objects.
_BARE = frozenset([
    "builtins.object", "abc.ABC", "torch.utils.data.Dataset", "torch.utils.data.dataset.Dataset", "torch.utils.data.Sampler",
    "torch.utils.data.IterableDataset", "collections.abc.Sequence", "collections.abc.Mapping", "collections.abc.Iterable",
    "collections.abc.Sized", "collections.abc.Container", "typing.Protocol", "typing.Generic",
])  # fmt: skip
# Methods of tensors that layers have too, which they change.
_OF_LAYERS = frozenset(
    ["to", "type", "float", "double", "half", "bfloat16", "cpu", "cuda", "share_memory", "forward", "apply"]
)
_OF_TEXTS = frozenset(
    [
        "split",
        "strip",
        "lower",
        "upper",
        "startswith",
        "endswith",
        "replace",
        "format",
        "join",
        "encode",
        "decode",
        "convert",
    ]
)
_MOST = 12


def asked_alone(interp: State, cls: Class, method: Function) -> str | None:
    """What the method calls its object, if it and those of the object's own that it calls call nothing else of it."""
    if cls.is_module or not all(isinstance(base, Class) or _is_bare(base) for base in method_order(cls)):
        return None
    own = _first(method.node)
    waiting: list[ast.AST] = [method.node]
    seen: set[ast.AST] = set()
    while waiting:
        code = waiting.pop()
        if code in seen:
            continue
        seen.add(code)
        called = kept_with(code, "asks of self", lambda code=code: _asked(code))  # type: ignore[misc]
        if own is None or _first(code) != own or called is None or len(seen) > _MOST:
            return None
        calls, asks = called
        if not asks.isdisjoint(by_name(interp.own_file)):
            return None
        for name in calls:
            found = interp.find_in_class(cls, name)
            if not isinstance(found, Function) or found.kind != "function" or found.decorated:
                return None
            waiting.append(found.node)
    return own


def _is_bare(base: Value) -> bool:
    return isinstance(base, Library) and base.path in _BARE


def _first(code: ast.AST) -> str | None:
    given = getattr(code, "args", None)
    first = [*given.posonlyargs, *given.args][:1] if isinstance(given, ast.arguments) else []
    return str(first[0].arg) if first else None


def _asked(code: ast.AST) -> tuple[set[str], set[str]] | None:
    """(its own methods that the method calls, what else it asks of its attributes); None where it may call other things
    of them: by another name, or by a method that may change them."""
    own = _first(code)
    calls: set[str] = set()
    asks: set[str] = set()
    bare: set[ast.AST] = set()
    held = {own}  # names that may stand for something of the object
    for node in walk(code):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            bare.add(node.value)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            held.add(node.id)
        if isinstance(node, ast.arg) and node.arg != own:
            held.add(node.arg)
    for node in walk(code):
        if isinstance(node, ast.Name) and node.id == own and node not in bare:
            return None
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name, owner = node.func.attr, node.func.value
        if isinstance(owner, ast.Name) and owner.id == own:
            calls.add(name)
        elif any(isinstance(each, ast.Name) and each.id in held for each in walk(owner)):
            if not _only_asks(name):
                return None
            asks.add(name)
    return calls, asks


def _only_asks(name: str) -> bool:
    if name in READS or name in _OF_TEXTS:
        return True
    if name.endswith("_") or name in CHANGES or name in _OF_LAYERS:
        return False
    return ops.method("torch", name) is not None or ops.method("numpy", name) is not None
