"""Which files a run reads: those that are named, and those below the folders that are named.

A file or a folder that is named is always read, whatever excludes it, unless exclusions are enforced: pre-commit and flake8
name every file. Below a folder the usual places are left out, and what `.gitignore` (nested, with negation) or the
configuration's `exclude` leaves out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tensorlint.config import Config, ConfigFinder
from tensorlint.findings import FileError

if TYPE_CHECKING:
    import pathspec

SUFFIXES = (".py", ".pyi", ".ipynb")
EXCLUDED_FOLDERS = frozenset({
    ".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d", ".pyenv",
    ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tensorlint_cache", ".tox", ".venv", ".vscode", "__pycache__",
    "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
})  # fmt: skip


@dataclass(slots=True, eq=False, repr=False)
class Discovery:
    """Absolute paths in the order of the walk, each once; those of them that were named; what was and is not there."""

    files: list[str] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    errors: list[FileError] = field(default_factory=list)


_Specs = tuple[tuple[str, "pathspec.PathSpec[Any]"], ...]


def _read_gitignore(file: str) -> pathspec.PathSpec[Any] | None:
    import pathspec

    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return pathspec.GitIgnoreSpec.from_lines(stream)
    except (OSError, ValueError):
        return None


def _above(folder: str) -> _Specs:
    """The ignore files of the folders above, up to the repository's root; none outside a repository."""
    found: list[tuple[str, pathspec.PathSpec[Any]]] = []
    here = folder
    while True:
        if os.path.exists(os.path.join(here, ".git")):
            exclude = os.path.join(here, ".git", "info", "exclude")
            if os.path.isfile(exclude) and (spec := _read_gitignore(exclude)):
                found.append((here, spec))
            return tuple(reversed(found))
        parent = os.path.dirname(here)
        if parent == here:
            return ()
        here = parent
        if os.path.isfile(file := os.path.join(here, ".gitignore")) and (spec := _read_gitignore(file)):
            found.append((here, spec))


def _ignored(path: str, specs: _Specs, *, is_folder: bool) -> bool:
    """git's rule: the deepest file that has an opinion decides."""
    for base, spec in reversed(specs):
        relative = path[len(base) + 1 :].replace(os.sep, "/") + ("/" if is_folder else "")
        verdict = spec.check_file(relative).include
        if verdict is not None:
            return verdict
    return False


def _excluded(path: str, config: Config, *, is_folder: bool) -> bool:
    """Whether the configuration's `exclude` leaves a path out."""
    return bool(config.exclude) and _ignored(path, ((str(config.root), config.excluded),), is_folder=is_folder)


def left_out(path: str, finder: ConfigFinder) -> bool:
    """Whether a walk from the folder of the outermost configuration above would not come to this absolute path, because of
    `exclude` or the usual places. Raises ConfigError."""
    here, is_folder = path, os.path.isdir(path)
    while True:
        parent, name = os.path.split(here)
        config = finder.of_folder(parent)
        if parent == here or config.file is None:
            return False
        if is_folder and (name in EXCLUDED_FOLDERS or name.endswith(".egg-info")):
            return True
        if _excluded(here, config, is_folder=is_folder):
            return True
        here, is_folder = parent, True


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is to be read: a pipe would never end. A link that leads nowhere, or to itself, is, so that it is said."""
    try:
        return entry.is_file() or (entry.is_symlink() and not os.path.exists(entry.path))
    except OSError:
        return True


def _walk(
    folder: str, specs: _Specs, finder: ConfigFinder, errors: list[FileError], overruled: Config | None
) -> Iterator[str]:
    """The files below a folder. `overruled` is a configuration that excludes the folder that was named."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        errors.append(FileError(shown_path(folder, os.getcwd()), 0, f"the folder cannot be read: {error.strerror}"))
        return
    config = finder.of_folder(folder)
    if config.respect_gitignore and any(entry.name == ".gitignore" for entry in entries):
        spec = _read_gitignore(os.path.join(folder, ".gitignore"))
        if spec is not None:
            specs = (*specs, (folder, spec))
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder:
            if entry.name in EXCLUDED_FOLDERS or entry.name.endswith(".egg-info"):
                continue
        elif not entry.name.endswith(SUFFIXES) or entry.name.startswith((".#", "._")) or not _is_file(entry):
            continue
        if specs and _ignored(entry.path, specs, is_folder=is_folder):
            continue
        if config is not overruled and _excluded(entry.path, config, is_folder=is_folder):
            continue
        if is_folder:
            if not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                yield from _walk(entry.path, specs, finder, errors, overruled)
        else:
            yield entry.path


def discover(paths: Iterable[str], finder: ConfigFinder, *, force_exclude: bool = False) -> Discovery:
    """The files of these paths, with `force_exclude` without what is named and excluded all the same.

    Raises ConfigError for a configuration that cannot be used.
    """
    found = Discovery()
    files: dict[str, None] = {}
    for path in paths:
        absolute = os.path.abspath(path)
        if force_exclude and left_out(absolute, finder):
            continue
        if os.path.isdir(absolute):
            config = finder.of_folder(absolute)
            specs = _above(absolute) if config.respect_gitignore else ()
            # A folder that is named is read, like a file: what would leave all of it out does not count below it.
            if specs and _ignored(absolute, specs, is_folder=True):
                specs = ()
            overruled = config if _excluded(absolute, config, is_folder=True) else None
            files.update(dict.fromkeys(_walk(absolute, specs, finder, found.errors, overruled)))
            continue
        try:
            os.lstat(absolute)
        except PermissionError:
            found.errors.append(FileError(path, 0, "no permission to look into its folder"))
        except (OSError, ValueError):
            found.errors.append(FileError(path, 0, "no such file or directory"))
        else:
            files[absolute] = None
            found.named.add(absolute)
    found.files = list(files)
    return found


def shown_path(absolute: str, here: str) -> str:
    """How a path is printed: relative to the current folder if it lies below it; `/` on every system."""
    below = here + os.sep
    path = absolute[len(below) :] if absolute.startswith(below) else absolute
    return path.replace(os.sep, "/")
