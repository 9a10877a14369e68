"""What the project's own modules that a file imports do to all code: other default types and devices, modes, functions
of torch, or names of other modules, that they replace.

Only the text of the modules that the file itself imports is looked at, once; what they import in turn is looked at more
closely, in `import_chains.py`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensorlint.inference.words import has_part, has_word

if TYPE_CHECKING:
    from tensorlint.inference.names import FileFacts
    from tensorlint.project import Project

# Modes in which any function of torch gives what the program makes of it, in whatever `with` it is called. What a
# tensor's own class makes of it is a class method.
_MODES = re.compile(
    r"^\s*class\s+\w+\s*\([^)]*Torch(?:Function|Dispatch)Mode|def\s+__torch_(?:function|dispatch)__\(\s*self\b"
    r"|[\"']__torch_(?:function|dispatch)__[\"']\s*:",
    re.MULTILINE,
)
# `torch.zeros = mine` anywhere, `settings.width = 3` outside of functions. Patterns that begin with the end of the line
# before take a quarter of the time that `^` does.
_ASSIGNED = re.compile(
    r"\n(?:[ \t]*+(?=(?:torch|nn|F|np|numpy)\.))?([A-Za-z_]\w*+)\.(?:\w++\.)*+(\w++)[ \t]*+(?:[-+*/|&]?=(?!=)|\[[^\n=]*\][ \t]*=)"
)
# `settings.ROWS.append(3)` outside of functions
_FILLED = re.compile(
    r"\n(?!(?:sys|os|logging|warnings)\.)([A-Za-z_]\w*+)\.(?:\w++\.)*?(\w++)\.(?:append|extend|insert|update|add|setdefault|pop|clear|remove)\("
)
_IMPORTED = re.compile(r"\n[ \t]*+(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+(\([^)]*\)|[^\n]*)")
_WORD = re.compile(r"\w+")
# `getattr(torch, "set_default_" + kind)`: the beginning of a name that is computed
_SETTER_BEGUN = re.compile(r"[\"']set_(?:default_?)?[\"'{%]")


@dataclass(frozen=True, slots=True)
class ImportEffects:
    """What a module does to all code: another default type or device, modes, and the names that it replaces."""

    dtype: bool = False
    device: bool = False
    modes: bool = False
    replaced: frozenset[str] = frozenset()


NONE = ImportEffects()


def has_modes(text: str) -> bool:
    return (
        "__torch_" in text and has_word(text, "__torch_function__", "__torch_dispatch__") and bool(_MODES.search(text))
    )


def sets_default_dtype(text: str) -> bool:
    """Whether code may give floats another type, be it by a name that it computes."""
    if has_part(text, "default_dtype") or has_part(text, "default_tensor_type"):
        return True
    return has_part(text, "getattr") and _computes_setter(text)


def _computes_setter(text: str) -> bool:
    # A pattern that begins with one of two marks takes ten times as long as the two searches.
    begun = "getattr(" in text and ("'set_" in text or '"set_' in text)
    return begun and _SETTER_BEGUN.search(text) is not None


def of_text(text: str) -> ImportEffects:
    """What a module's text does."""
    if "torch" not in text and "numpy" not in text:
        replaced = replaced_by(text)
        return ImportEffects(replaced=replaced) if replaced else NONE
    types = "set_default_tensor_type" in text
    return ImportEffects(
        types or "set_default_dtype" in text or _computes_setter(text),
        types or "set_default_device" in text,
        has_modes(text),
        replaced_by(text),
    )


def of_part(text: str) -> ImportEffects:
    """What a part of a module's text does, beside what it replaces."""
    types = "set_default_tensor_type" in text
    return ImportEffects(
        types or "set_default_dtype" in text or ("getattr(torch" in text and _computes_setter(text)),
        types or "set_default_device" in text,
        has_modes(text),
    )


def replaced_by(text: str, imported: set[str] | None = None) -> frozenset[str]:
    """Attributes of imported modules, and of what is in them, that a module assigns."""
    text = "\n" + text
    assigned = _ASSIGNED.findall(text) + _FILLED.findall(text)
    if not assigned:
        return frozenset()
    if imported is None:
        imported = {word for names in _IMPORTED.findall(text) for word in _WORD.findall(names)}
    return frozenset(name for root, name in assigned if root in imported)


def together(found: Iterable[ImportEffects]) -> ImportEffects:
    several = set(found) - {NONE}
    if len(several) < 2:
        return several.pop() if several else NONE
    return ImportEffects(
        any(each.dtype for each in several),
        any(each.device for each in several),
        any(each.modes for each in several),
        frozenset().union(*(each.replaced for each in several)),
    )


def of_imports(project: Project | None, path: str, facts: FileFacts, text: str) -> ImportEffects:
    """What the modules do together that the file's import statements name, or lead to."""
    from tensorlint.inference import import_chains

    if project is None:
        return NONE
    direct = imported(project, path, facts)
    found = {import_chains.module_text(project, each).effects for each in direct}
    return together({*found, import_chains.beyond(project, path, text, direct)})


def imported(project: Project, path: str, facts: FileFacts) -> set[str]:
    found: set[str | None] = set()
    for statement in facts.imports:
        if isinstance(statement, ast.Import):
            found.update(project.locate(alias.name, importer=path) for alias in statement.names)
            continue
        module, level = statement.module or "", statement.level
        located = project.locate(module, importer=path, level=level)
        found.add(located)
        if located is not None and located.endswith("__init__.py"):
            for alias in statement.names:
                name = f"{module}.{alias.name}" if module else alias.name
                found.add(project.locate(name, importer=path, level=level))
    return {each for each in found if each is not None}
