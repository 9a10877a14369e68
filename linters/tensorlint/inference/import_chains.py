"""What modules do to all code that a file imports by way of others: `a` imports `b`, and `b` imports `c`, which sets a type.

Of such a module counts what its statements do when it is imported, and what its functions do that a chain of mentions
leads to from this file: `b.begin` calls `c.begin`. Modules are looked at by their texts alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tensorlint.inference.import_effects import NONE, ImportEffects, imported, of_part, of_text, replaced_by, together
from tensorlint.inference.words import is_of_word, places_of

if TYPE_CHECKING:
    from tensorlint.inference.names import FileFacts
    from tensorlint.inference.outside_changes import Assigned, Uses
    from tensorlint.project import Project

_MOST_MODULES = 64
_LONGEST = 3  # chains of mentions
# With the end of the line before: see `import_effects`.
_IMPORT = re.compile(
    r"\n[ \t]*+(?:from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n#]*)|import[ \t]+([^\n#;]+))"
)
_WORD = re.compile(r"\w+")
# A statement that is not indented, and what it is.
_BEGINS = re.compile(r"^(?=[^\s)\]}#])", re.MULTILINE)
_DEFINED = re.compile(r"^(def|class|async def)[ \t]+(\w+)", re.MULTILINE)
_LEFT_OUT = re.compile(r"(?:from|import)\b|if[ \t]+__name__\b|if[ \t]+(?:\w+\.)?TYPE_CHECKING\b")
_BLOCK = re.compile(r"(?:if|elif|else|try|except|finally)\b[^\n]*:[^\n]*\n")
# What goes behind a word: a call, another name for it. What goes before one that is an attribute.
_CALLED = re.compile(r"\s*\(")
_AS = re.compile(r"[ \t]+as[ \t]+(\w+)")
_PATH = re.compile(r"(?<![\w.])(\w+)\.(?:\w+\.)*$")
_ALIAS = re.compile(r"(\w+)\s*(?::[^=]*)?=[^=]")
_LIBRARIES = frozenset(["torch", "np", "numpy", "nn", "F", "os", "sys", "json", "math", "pd", "self", "cls"])


# A definition's name; none stands for a statement that runs when the module is imported.
Place = str | None


@dataclass(slots=True, eq=False, repr=False)
class ModuleText:
    """What the text of a module does, and the files of the modules that it imports."""

    effects: ImportEffects
    imports: tuple[str, ...] = ()
    names: set[str] = field(default_factory=set)  # that stand in its import statements
    starred: bool = False
    # Of a module that sets something: where. And by a word of another's, the definitions that mention it.
    places: list[tuple[Place, ImportEffects]] | None = None
    mentioned: dict[str, list[Place]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)  # the words that have been looked for
    ends: set[str] = field(default_factory=set)
    setting: tuple[str, ...] | None = None  # see `_setting`
    parts: list[tuple[Place, str, bool]] | None = None  # see `_Chains.segments`
    assigned: Assigned | None = None  # see `outside_changes.py`
    reshapes: bool | None = None
    uses: Uses | None = None
    has_out: dict[tuple[str, bool], bool] = field(default_factory=dict)


def module_text(project: Project, path: str) -> ModuleText:
    known = project.effects.get(path)
    if known is None:
        text = project.text(path)
        known = project.effects[path] = ModuleText(of_text(text))
        known.imports = tuple(_imported(project, path, text, known))
    return known


def _imported(project: Project, path: str, text: str, module: ModuleText) -> Iterator[str]:
    """The files of the modules that it imports, and of the packages these are in."""
    found: dict[str | None, None] = {}
    for dots, name, given, plain in _IMPORT.findall("\n" + text) if "import" in text else ():
        if plain:
            module.names.update(_WORD.findall(plain))
            for each in plain.split(","):
                words = each.split()
                for package in _prefixes(words[0]) if words else ():
                    found[project.locate(package, importer=path)] = None
            continue
        module.names.update(_WORD.findall(given))
        module.starred = module.starred or "*" in given
        located = None
        for package in _prefixes(name) if name else ("",):
            located = project.locate(package, importer=path, level=len(dots))
            found[located] = None
        if located is not None and located.endswith("__init__.py"):
            for word in _WORD.findall(given):
                found[project.locate(f"{name}.{word}" if name else word, importer=path, level=len(dots))] = None
    yield from (each for each in found if each is not None)


def may_bind(project: Project, path: str, name: str, imported: bool) -> bool:
    """Whether `from module import *` may bind the name: by a statement that is not indented, or to what it imports itself,
    unless the name stands for something `imported` here, too."""
    waiting = [path]
    for each in waiting:  # grows meanwhile
        module = module_text(project, each)
        text = project.text(each)
        if name in text and re.search(rf"^(?:(?:async )?def |class |(?:\w+, *)*){name}\s*[(:=,]", text, re.MULTILINE):
            return True
        if name in module.names and not imported:
            return True
        if module.starred and len(waiting) < 8:
            waiting += [inner for inner in module.imports if inner not in waiting]
    return False


def _prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]


def beyond(project: Project, path: str, text: str, direct: set[str]) -> ImportEffects:
    """What the modules do that the file's imports import, and the packages that it is in."""
    above = _packages_of(project, path)
    starts = [*sorted(direct), *above]
    if not any(each not in direct for start in starts for each in _setting(project, start)):
        return NONE
    modules = {each: module_text(project, each) for each in _reached(project, starts) if each != path}
    return _Chains(project, modules).of(text)


def in_reach(project: Project, path: str, facts: FileFacts) -> list[str]:
    """The modules whose code may have run before, or between, the lines of the file: the nearest of them."""
    starts = [*sorted(imported(project, path, facts)), *_packages_of(project, path)]
    return [each for each in _reached(project, starts) if each != path]


def _reached(project: Project, starts: list[str]) -> dict[str, None]:
    """The modules, and those that they import, the nearest first."""
    found = dict.fromkeys(starts)
    waiting = list(found)
    for each in waiting:  # grows meanwhile
        if len(found) >= _MOST_MODULES:
            break
        for inner in module_text(project, each).imports:
            if inner not in found:
                found[inner] = None
                waiting.append(inner)
    return found


def _setting(project: Project, path: str) -> tuple[str, ...]:
    """Those of the modules that the import of this one reaches that set something: of most there are none."""
    module = module_text(project, path)
    if module.setting is None:
        reached = _reached(project, [path])
        module.setting = tuple(each for each in reached if module_text(project, each).effects != NONE)
    return module.setting


def _packages_of(project: Project, path: str) -> list[str]:
    """The `__init__.py` of the packages that the file is in, which have run before it."""
    found: list[str] = []
    for level in range(1, 8):
        located = project.locate("", importer=path, level=level)
        if located is None:
            break
        if os.path.abspath(path) != located:
            found.append(located)
    return found


class _Chains:
    """From the statements that set something to the functions that run them, and on to those that mention these."""

    def __init__(self, project: Project, modules: dict[str, ModuleText]) -> None:
        self.project, self.modules = project, modules
        self.at_import: set[ImportEffects] = set()
        self.words: dict[str, ImportEffects] = {}
        self.holders: dict[str, set[str]] = {}  # by word, the names of the modules that define it

    def of(self, text: str) -> ImportEffects:
        found = [
            (path, name, effects)
            for path, module in self.modules.items()
            if module.effects != NONE
            for name, effects in self.places(path, module)
        ]
        for _ in range(_LONGEST):
            spread = [(path, name) for path, name, effects in found if self.set_by(path, name, effects)]
            words = {name for path, name in spread if name and name not in self.modules[path].ends}
            if not words:
                found = []
                break
            held: dict[str, set[str]] = {}
            for word in words:
                for holder in self.holders[word]:
                    held.setdefault(holder, set()).add(word)
            found = [
                (path, name, self.words[word])
                for path, module in self.modules.items()
                for word in self.mentioned(path, module, words, held)
                for name in module.mentioned[word]
            ]
            if not found:
                break
        for path, name, effects in found:
            self.set_by(path, name, effects)
        if not self.words:
            return together(self.at_import)
        own = ModuleText(NONE)
        text = "\n" + text
        for match in _IMPORT.findall(text):
            own.names.update(_WORD.findall(match[2] or match[3]))
            own.starred = own.starred or "*" in match[2]
        rest = _IMPORT.sub("", text)
        met = [effects for word, effects in self.words.items() if _mentions(own, rest, word, False)]
        return together([*self.at_import, *met])

    def places(self, path: str, module: ModuleText) -> list[tuple[Place, ImportEffects]]:
        """Which statements of a module that sets something do."""
        if module.places is None:
            module.places = []
            for name, segment, _ in self.segments(path):
                replaced = replaced_by(segment, module.names)
                effects = of_part(segment)
                effects = together([effects, ImportEffects(replaced=replaced)]) if replaced else effects
                if effects != NONE:
                    module.places.append((name, effects))
        return module.places

    def set_by(self, path: str, name: Place, effects: ImportEffects) -> bool:
        """The definition of that name has the effects, or a statement has them that runs at once. Whether a name is new."""
        if name is None:
            self.at_import.add(effects)
            return False
        folder, file = os.path.split(path)
        self.holders.setdefault(name, set()).add(os.path.basename(folder) if file == "__init__.py" else file[:-3])
        before = self.words.get(name, NONE)
        self.words[name] = together([before, effects])
        return self.words[name] != before

    def mentioned(self, path: str, module: ModuleText, words: set[str], held: dict[str, set[str]]) -> list[str]:
        """Those of the words that functions or statements of the module mention; `held` are the words that the modules
        define, by these modules' names."""
        if module.starred:
            possible = words
        else:
            possible = words & module.names
            possible |= held.get(os.path.basename(path)[:-3], set())
            for holder in held.keys() & module.names:
                possible |= held[holder]
        if not possible:
            return []
        for word in possible - module.asked:
            module.asked.add(word)
            names = self.mentions(path, module, word)
            if names:
                module.mentioned[word] = names
        return sorted(possible & module.mentioned.keys())

    def mentions(self, path: str, module: ModuleText, word: str) -> list[Place]:
        """Functions and statements of the module that mention the word: they have what it stands for."""
        known: list[Place] = []
        text = self.project.text(path)
        segments = self.segments(path) if word in text else []
        own = any(name == word for name, *_ in segments)
        # `from c import begin as run`, `run = c.begin`, `KNOWN = {"run": begin}`
        if word in module.names:
            known += [match[1] for end in ends_of(word, text) if (match := _AS.match(text, end)) is not None]
        for name, segment, is_class in segments:
            if name == word or not _mentions(module, segment, word, own):
                continue
            if is_class and name is not None:
                module.ends.add(name)  # which of its methods runs when, nobody follows further than this
            if name is not None or any(_CALLED.match(segment, end) for end in ends_of(word, segment)):
                known.append(name)
            elif (alias := _ALIAS.match(segment)) is not None:
                known.append(alias[1])
        return known

    def segments(self, path: str) -> list[tuple[Place, str, bool]]:
        """The statements of the module, as text, with the name that a definition binds and whether it is a class."""
        module = self.modules[path]
        if module.parts is None:
            module.parts = list(_segments(self.project.text(path)))
        return module.parts


def _segments(text: str) -> Iterator[tuple[Place, str, bool]]:
    """Read off the text: a module that is looked at for this alone need not be parsed."""
    starts = [match.start() for match in _BEGINS.finditer(text)]
    decorators = ""
    for start, end in zip(starts, [*starts[1:], len(text)], strict=False):
        segment = decorators + text[start:end]
        decorators = segment if text.startswith("@", start) else ""
        if decorators or _LEFT_OUT.match(segment):
            continue
        if (header := _BLOCK.match(segment)) is not None:
            from textwrap import dedent

            yield from _segments(dedent(segment[header.end() :]))
        elif (defined := _DEFINED.search(segment)) is not None and _DEFINED.match(text, start):
            yield defined[2], segment, defined[1] == "class"
        else:
            yield None, segment, False


def _mentions(module: ModuleText, text: str, word: str, own: bool) -> bool:
    """Whether the text of the module, or a part, means what the word stands for: it is imported, or the module's own."""
    known = module.starred or word in module.names or own
    for end in ends_of(word, text):
        at = end - len(word)
        if text[at - 1 : at] != ".":
            if known:
                return True
        elif (path := _PATH.search(text, text.rfind("\n", 0, at) + 1, at)) is not None:
            root = path[1]
            if root not in _LIBRARIES and (root in module.names or module.starred):
                return True
    return False


def ends_of(word: str, text: str) -> Iterator[int]:
    """Where the word ends, each time that it stands in the text as a word of its own."""
    for at in places_of(word, text):
        end = at + len(word)
        if not (is_of_word(text[at - 1 : at]) or is_of_word(text[end : end + 1])):
            yield end
