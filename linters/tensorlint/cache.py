"""What earlier runs found, so that unchanged files are answered without reading them as Python.

An answer holds while these are the same: the file's contents, the rules that judge it, tensorlint and Python
themselves, and the contents and the whereabouts of every first-party module that was consulted, and of those that
these consulted in turn. The modules form a graph that is kept once and checked once.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tensorlint.checking import Selection
from tensorlint.config import Config
from tensorlint.findings import FileReport
from tensorlint.formats.wire import finding_from_json, finding_to_json
from tensorlint.project import Lookup, Project
from tensorlint.source import SourceError, digest_of, write_atomically

FORMAT = 1
_README = "# Made by tensorlint; safe to delete.\n*\n"


def tool_fingerprint() -> str:
    """Changes with every change of tensorlint's own files and with the Python that runs it."""
    stamps = [repr(sys.version_info[:3])]
    package = os.path.dirname(__file__)
    pending = [package]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir():
                    pending.append(entry.path)
                elif entry.name.endswith(".py"):
                    status = entry.stat()
                    stamps.append(f"{entry.path}:{status.st_size}:{status.st_mtime_ns}")
    return digest_of("\n".join(stamps).encode()).hex()


def settings_fingerprint(config: Config, selection: Selection) -> str:
    """Changes with what is selected for a file and with rules that are not ours."""
    parts = [sorted(selection.enabled), sorted(selection.strict_only), selection.narrowed, config.registry.sources]
    return digest_of(json.dumps(parts).encode()).hex()


class Cache:
    """The answers kept in one folder. Damage or a folder that cannot be written is as if there were no cache."""

    def __init__(self, folder: Path, tool: str) -> None:
        self.folder = folder
        self.file = folder / f"{tool}.json"
        self.files: dict[str, list[Any]] = {}
        self.modules: dict[str, list[Any]] = {}
        self._changed = False
        try:
            document = json.loads(self.file.read_bytes())
            if document["format"] == FORMAT:
                self.files, self.modules = document["files"], document["modules"]
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def forget(self) -> None:
        """Everything."""
        self.files, self.modules = {}, {}

    def unchanged(self, paths: Iterable[str], project: Project) -> set[str]:
        """The files (whose digests the project holds) for which nothing has changed that their answer rests on."""
        wanted = [path for path in paths if path in self.files]
        importers: dict[str, list[str]] = {}
        stale: list[str] = []
        seen = set(wanted)
        pending = list(wanted)
        while pending:
            path = pending.pop()
            digest, lookups = self.modules.get(path, ("", []))
            current = project.digest(path).hex()
            if path in self.files and current != self.files[path][0]:
                stale.append(path)
                continue
            if path in self.modules and current != digest:
                stale.append(path)
                continue
            for name, level, resolved in lookups:
                if project.locate(name, importer=path, level=level) != resolved:
                    stale.append(path)
                if resolved is not None:
                    importers.setdefault(resolved, []).append(path)
                    if resolved not in seen:
                        seen.add(resolved)
                        pending.append(resolved)
        changed = set(stale)
        while stale:
            for importer in importers.get(stale.pop(), ()):
                if importer not in changed:
                    changed.add(importer)
                    stale.append(importer)
        return {path for path in wanted if path not in changed}

    def report(self, path: str, settings: str, *, parsed: bool = False) -> FileReport | None:
        """The answer kept for a file that is unchanged, if it was for the same settings.

        `parsed`: not the answer of a run that saw no need to parse the file.
        """
        try:
            _, kept_settings, kept = self.files[path]
            if kept_settings != settings or (parsed and kept is None):
                return None
            if not kept:
                return FileReport(path)
            return FileReport(
                path,
                [finding_from_json(value) for value in kept["findings"]],
                [finding_from_json(value) for value in kept["strict_only"]],
                [],
                list(kept["warnings"]),
            )
        except (KeyError, TypeError, AttributeError):
            return None

    def keep(self, report: FileReport, digest: bytes, settings: str, *, parsed: bool = True) -> None:
        """Remembers an answer; one with errors is not kept, so that it is tried again."""
        if report.errors:
            if self.files.pop(report.path, None):
                self._changed = True
            return
        kept: dict[str, Any] | None = {} if parsed else None
        if report.findings or report.strict_only or report.warnings:
            kept = {
                "findings": [finding_to_json(finding) for finding in report.findings],
                "strict_only": [finding_to_json(finding) for finding in report.strict_only],
                "warnings": report.warnings,
            }
        self.files[report.path] = [digest.hex(), settings, kept]
        self._changed = True

    def keep_module(self, path: str, digest: bytes, lookups: dict[Lookup, str | None]) -> None:
        """Remembers what was looked up on behalf of a module; adds to what is known if its contents are the same."""
        known = self.modules.get(path)
        merged: dict[Lookup, str | None] = {}
        if known is not None and known[0] == digest.hex():
            merged = {(name, level): resolved for name, level, resolved in known[1]}
        merged.update(lookups)
        self.modules[path] = [digest.hex(), [[name, level, found] for (name, level), found in sorted(merged.items())]]
        self._changed = True

    def save(self) -> None:
        """Writes what is new; what is gone from disk is forgotten."""
        if not self._changed:
            return
        for table in (self.files, self.modules):
            for path in [path for path in table if not os.path.exists(path)]:
                del table[path]
        document = {"format": FORMAT, "files": self.files, "modules": self.modules}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            ignore = self.folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text(_README, encoding="utf-8")
            write_atomically(self.file, json.dumps(document, separators=(",", ":")).encode())
            for old in self.folder.glob("*.json"):
                if old != self.file:
                    old.unlink()  # of an older tensorlint or Python
        except (OSError, SourceError):
            pass
