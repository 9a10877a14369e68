"""The other files of the project, for what a file imports from them: found, read and parsed, never imported.

Which files are seen does not depend on which are named on the command line, so that a pre-commit hook that is given
one file says what a run over everything says. A module name is looked up as Python would from a checkout: relative
to the importing file's package, else from the file's own folder (unless that is a package), the folders above it up
to the project's root, and `src` beside them. Nothing outside the project's root is read. Where nothing marks a root, it
is the working directory, or the folder that the file's package lies in.

Every look-up is recorded under the file that imports, so that the cache knows what an answer rested on.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensorlint.source import PythonSource, SourceError, digest_of, read_bytes

if TYPE_CHECKING:
    from tensorlint.inference.elsewhere import OtherFiles
    from tensorlint.inference.import_chains import ModuleText

ROOT_MARKERS = frozenset({"pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg", "tox.ini"})

# A file matters if one of these is in its bytes, or in the bytes of a first-party module that it imports, and so on
# down. Libraries are here whose classes are nn.Modules although their users never write `torch`.
TRIGGER = re.compile(
    rb"torch|numpy|einops|datasets|reveal_shape|jax|lightning|transformers|timm|diffusers|accelerate|peft|monai"
    rb"|kornia|fastai|sklearn|scipy|pandas"
)
_IMPORT = re.compile(
    rb"(?:^|[;:])[ \t]*(?:from[ \t]*(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]+import[ \t]*"
    rb"(?P<names>\([^)]*\)|[^\n;#]*)|import[ \t]+(?P<plain>[^\n;#]+))",
    re.MULTILINE,
)
_WORD = re.compile(rb"(\w+)(?:\s+as\s+\w+)?\s*(?:#[^\n]*)?(?:,|$|\))", re.MULTILINE)

MAX_MODULE_BYTES = 2_000_000
# Of source whose trees are kept; about 60 bytes of tree per byte of source. With 4 MB the check of scikit-learn took
# 23.2 s and 177 MB, with these 19.5 s and 354 MB.
MAX_PARSED_BYTES = 10_000_000
MAX_TEXTS = 4_000_000  # characters of files that are read and not parsed

Lookup = tuple[str, int]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProjectModule:
    """A first-party module: its file, its text (line ends are `\\n`) and its tree."""

    path: str
    source: str
    tree: ast.Module


def imported_names(data: bytes) -> list[Lookup]:
    """(dotted name, level) of everything a file's import statements may load, submodules of packages included."""
    found: dict[Lookup, None] = {}
    for match in _IMPORT.finditer(data):
        if (plain := match["plain"]) is not None:
            for part in plain.split(b","):
                words = part.split()
                if words:
                    found[words[0].decode("utf-8", "replace"), 0] = None
            continue
        level, module = len(match["dots"]), match["module"].decode("utf-8", "replace")
        found[module, level] = None
        for word in _WORD.findall(match["names"].replace(b"\\\n", b" ").strip(b"() \t\r\n") + b","):
            found[(f"{module}." if module else "") + word.decode("utf-8", "replace"), level] = None
    return list(found)


class Project:
    """Looks modules up, lazily and once. One serves a whole run; `begin` names the file that is analysed now."""

    def __init__(self, *, max_modules: int = 200) -> None:
        self.max_modules = max_modules  # for one analysed file; beyond it look-ups answer None
        self.lookups: dict[str, dict[Lookup, str | None]] = {}
        self.digests: dict[str, bytes] = {}
        self._entries: dict[str, frozenset[str]] = {}
        self._search: dict[str, tuple[str, ...]] = {}
        self._parsed: OrderedDict[str, ProjectModule | None] = OrderedDict()
        self._parsed_bytes = 0
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._texts_size = 0
        self._matters: dict[str, bool] = {}
        self._consulted: set[str] = set()
        self.effects: dict[str, ModuleText] = {}  # what the text of a module says that it does to all code
        self._other_files: OtherFiles | None = None

    @property
    def other_files(self) -> OtherFiles:
        """What functions of the project's files change."""
        if self._other_files is None:
            from tensorlint.inference.elsewhere import OtherFiles

            self._other_files = OtherFiles(self)
        return self._other_files

    def begin(self, path: str) -> None:
        """A new file is analysed: its budget is fresh."""
        self._consulted = {os.path.abspath(path)}

    def forget(self, path: str) -> None:
        """The file has changed on disk."""
        path = os.path.abspath(path)
        self.lookups.pop(path, None)
        self.digests.pop(path, None)
        self._parsed.pop(path, None)
        self._texts_size -= len(self._texts.pop(path, ""))
        self._matters.clear()
        self._other_files = None
        self.effects.pop(path, None)

    # -- where a module is ---------------------------------------------------------------------------------------

    def _listing(self, folder: str) -> frozenset[str]:
        entries = self._entries.get(folder)
        if entries is None:
            try:
                entries = frozenset(os.listdir(folder))
            except OSError:
                entries = frozenset()
            self._entries[folder] = entries
        return entries

    def _search_folders(self, folder: str) -> tuple[str, ...]:
        """Where an absolute import from a file in `folder` looks, nearest first."""
        known = self._search.get(folder)
        if known is not None:
            return known
        chain = [folder]
        while not ROOT_MARKERS & self._listing(chain[-1]):
            parent = os.path.dirname(chain[-1])
            if parent == chain[-1]:
                chain = chain[: self._without_a_marker(chain) + 1]
                break
            chain.append(parent)
        folders = [each for each in chain if "__init__.py" not in self._listing(each)]
        if "src" in self._listing(chain[-1]):
            folders.append(os.path.join(chain[-1], "src"))
        self._search[folder] = tuple(dict.fromkeys(folders))
        return self._search[folder]

    def _without_a_marker(self, chain: list[str]) -> int:
        """Where in a file's folders, nearest first, a project ends that nothing marks as one.

        At the working directory, or above it with the folder that the file's package lies in; folders without an
        `__init__.py` may lie between the file and the package.
        """
        here = os.getcwd()
        root = chain.index(here) if here in chain[:-1] else 0
        package = next((each for each, path in enumerate(chain[:-1]) if "__init__.py" in self._listing(path)), None)
        if package is None:
            return root
        while package < len(chain) - 1 and "__init__.py" in self._listing(chain[package]):
            package += 1
        return max(root, package)

    def _descend(self, folder: str, parts: list[str]) -> str | None:
        for part in parts[:-1]:
            if part not in self._listing(folder):
                return None
            folder = f"{folder}{os.sep}{part}"
        if parts and parts[-1]:
            entries = self._listing(folder)
            if parts[-1] in entries and "__init__.py" in self._listing(f"{folder}{os.sep}{parts[-1]}"):
                return os.path.join(folder, parts[-1], "__init__.py")
            return os.path.join(folder, f"{parts[-1]}.py") if f"{parts[-1]}.py" in entries else None
        return os.path.join(folder, "__init__.py") if "__init__.py" in self._listing(folder) else None

    def locate(self, name: str, *, importer: str, level: int = 0) -> str | None:
        """The file of a module as `importer` would import it, or None where it is not the project's own.

        `level` counts the dots of a relative import; `name` may then be empty (the package itself).
        """
        known = self.lookups.get(importer)
        if known is None:  # most are absolute, and were asked for before
            importer = os.path.abspath(importer)
            known = self.lookups.setdefault(importer, {})
        key = name, level
        if key in known:
            return known[key]
        parts = name.split(".") if name else []
        folder = os.path.dirname(importer)
        answer = None
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            answer = self._descend(folder, parts)
        elif parts and parts[0] not in sys.stdlib_module_names:
            for start in self._search_folders(folder):
                entries = self._listing(start)
                if (parts[0] in entries or f"{parts[0]}.py" in entries) and (answer := self._descend(start, parts)):
                    break
        known[key] = answer
        return answer

    # -- what is in it -------------------------------------------------------------------------------------------

    def _read(self, path: str) -> bytes:
        data = read_bytes(path)
        self.digests[path] = digest_of(data)
        return data

    def digest(self, path: str) -> bytes:
        """The contents' digest; of nothing if the file cannot be read."""
        if path not in self.digests:
            try:
                self._read(path)
            except SourceError:
                self.digests[path] = b""
        return self.digests[path]

    def module(self, name: str, *, importer: str, level: int = 0) -> ProjectModule | None:
        """The parsed module, or None: not the project's own, not readable, not parsable, or beyond the budget.

        The same object for the same file as long as it is kept, so it may be a key in a weak or an id-keyed memo.
        """
        path = self.locate(name, importer=importer, level=level)
        return None if path is None else self.parsed(path)

    def parsed(self, path: str) -> ProjectModule | None:
        """The module of a file that `locate` named."""
        if path not in self._consulted:
            if len(self._consulted) >= self.max_modules:
                return None
            self._consulted.add(path)
        return self.read_module(path)

    def read_module(self, path: str) -> ProjectModule | None:
        """The same, whatever the budget of the file that is analysed: for what is read once for all of them."""
        if path in self._parsed:
            self._parsed.move_to_end(path)
            return self._parsed[path]
        module: ProjectModule | None = None
        try:
            data = self._read(path)
            if len(data) <= MAX_MODULE_BYTES:
                source = PythonSource.of_bytes(path, data)
                module = ProjectModule(path, source.text, source.tree)
        except SourceError:
            self.digest(path)
        self._keep(path, module)
        return module

    def text(self, path: str) -> str:
        """The text of a module that `locate` named; empty if it cannot be read."""
        module = self._parsed.get(path)
        if module is not None:
            return module.source
        text = self._texts.get(path)
        if text is None:
            try:
                text = self._read(path).decode("utf-8", "replace")
            except SourceError:
                text = ""
            self._texts[path] = text
            self._texts_size += len(text)
            while self._texts_size > MAX_TEXTS and len(self._texts) > 1:
                self._texts_size -= len(self._texts.popitem(last=False)[1])
        return text

    def tree_of(self, path: str, text: str) -> ast.Module | None:
        """The tree of a file that another has imported, if it is still kept and of this text."""
        module = self._parsed.get(path)
        return module.tree if module is not None and module.source == text else None

    def keep(self, path: str, text: str, tree: ast.Module) -> None:
        """A file that was analysed itself: others that import it need not parse it again."""
        if path not in self._parsed and len(text) <= MAX_MODULE_BYTES:
            self._keep(path, ProjectModule(path, text, tree))

    def _keep(self, path: str, module: ProjectModule | None) -> None:
        self._parsed[path] = module
        self._parsed_bytes += len(module.source) if module else 0
        while self._parsed_bytes > MAX_PARSED_BYTES and len(self._parsed) > 1:
            _, dropped = self._parsed.popitem(last=False)
            if dropped:
                self._parsed_bytes -= len(dropped.source)
                # The facts hold the tree's nodes: without the cycle the tree is freed at once.
                dropped.tree.__dict__.pop("tensorlint_facts", None)

    def matters(self, path: str, data: bytes) -> bool:
        """Whether a file can hold anything for a rule: a tensor library's name in it or in what it imports."""
        if TRIGGER.search(data):
            return True
        path = os.path.abspath(path)
        seen = {path}
        queue = [(path, data)]
        while queue:
            importer, contents = queue.pop()
            for name, level in imported_names(contents):
                found = self.locate(name, importer=importer, level=level)
                if found is None or found in seen:
                    continue
                seen.add(found)
                known = self._matters.get(found)
                if known is None:
                    try:
                        inner = self._read(found)
                    except SourceError:
                        inner = b""
                    if TRIGGER.search(inner):
                        known = self._matters[found] = True
                    else:
                        queue.append((found, inner))
                if known:
                    return True
        for each in seen - {path}:
            self._matters[each] = False
        return False
