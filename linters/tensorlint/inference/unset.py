"""Whether a value that nobody knows may be None, as far as the file's text says so.

`DataLoader(data, batch_size=args.batch)` gives no batches where `args.batch` is None. Nearly always it is a number: it is
taken for one unless the file says of something of that name that it may be None.
"""

from __future__ import annotations

import ast
import re

from tensorlint.inference.values import Opaque

# Words of an option's declaration behind which it has a value.
_GIVEN = re.compile(r"\b(?:required|prompt|default)\s*=(?!\s*None\b)")


def names_of(value: Opaque, node: ast.expr | None) -> set[str]:
    """What the value is called where it is asked for, and where it comes from: `batch` of `args.batch`, `config["batch"]`."""
    found = {value.name.rpartition(".")[2]} if value.name else set()
    if isinstance(node, ast.Name):
        found.add(node.id)
    elif isinstance(node, ast.Attribute):
        found.add(node.attr)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        found.add(str(node.slice.value))
    return {name for name in found if name.isidentifier()}


def may_be_none(name: str, text: str) -> bool:
    """Whether something of that name is bound to None, asked for being None, or an option that has no default."""
    if "None" in text and (_is_bound_to_none(name, text) or _is_given_none(name, text)):
        return True
    for match in re.finditer(rf"[\"']--?{name.replace('_', '[-_]')}[\"']", text):
        declared = _rest_of_call(text, match.end())
        if not ("store_" in declared or _GIVEN.search(declared)):
            return True
    return False


def _is_bound_to_none(name: str, text: str) -> bool:
    """`batch = None`, `batch: int | None`, `{"batch": None}`, `if batch is None`."""
    return (
        re.search(rf"\b{name}\b[\"'\])]*\s*(?:[=:][^,#\n]*\b(?:None|Optional)\b|is\s+(?:not\s+)?None\b)", text)
        is not None
    )


def _is_given_none(name: str, text: str) -> bool:
    """Whether a call of a function that has such a parameter, or of its class, gives a None by its place."""
    called: set[str] = set()
    for match in re.finditer(rf"\bdef (\w+)\([^)]*\b{name}\b", text):
        called.add(match[1])
        if match[1].startswith("__"):
            called.update(re.findall(r"^\s*class (\w+)", text[: match.start()], re.MULTILINE)[-1:])
    return bool(called) and re.search(rf"\b(?:{'|'.join(called)})\((?:[^()\n]*,)?\s*None\b", text) is not None


def _rest_of_call(text: str, at: int) -> str:
    """What is given behind that place to the call around it."""
    depth = 0
    for end in range(at, min(len(text), at + 1000)):
        depth += (text[end] in "([{") - (text[end] in ")]}")
        if depth < 0:
            return text[at:end]
    return text[at:]
