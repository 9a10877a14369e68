"""A run over many files: discovery, cache, processes, fixes written. The same input gives the same output, sorted."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import re
import signal
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tensorlint.cache import Cache, settings_fingerprint, tool_fingerprint
from tensorlint.config import ConfigFinder, Overrides, check_selectors, select_rules
from tensorlint.discovery import Discovery, discover, shown_path
from tensorlint.findings import FileError, FileReport, RunReport
from tensorlint.fixes import wanted
from tensorlint.garbage import collection_paused
from tensorlint.linter import FileResult, Linter, renamed
from tensorlint.project import Lookup, Project
from tensorlint.source import SourceError, read_bytes, write_atomically

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

# Below this many bytes the pool's own start-up costs more than it saves. Measured on model files of timm and two
# processors: from 80 kB on two processes are quicker.
PARALLEL_BYTES = 100_000
_CHUNK_BYTES = 120_000
_CHUNKS_PER_PROCESS = 4  # so that one slow chunk does not keep the others waiting at the end

ModuleLookups = list[tuple[str, bytes, dict[Lookup, str | None]]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunOptions:
    """What is run over. `fixing` fixes; `writing` writes it.

    `jobs` None is the configuration's number of processes; 0 is one for each processor.
    """

    paths: tuple[str, ...]
    overrides: Overrides = field(default_factory=Overrides)
    fixing: bool = False
    writing: bool = False
    jobs: int | None = None
    cache: bool = True
    force_exclude: bool = False


@dataclass(slots=True, eq=False, repr=False)
class RunResult:
    """The report of a run and, for `--diff`, the difference that fixes would make."""

    report: RunReport
    diff: str = ""


# -- one process ---------------------------------------------------------------------------------------------------


# Files between two collections of what they left behind in cycles, of which there is little: see `Interpreter.dispose`.
_COLLECT_EVERY = 4000


@contextlib.contextmanager
def _young_garbage_only() -> Iterator[None]:
    """No automatic garbage collection: it would walk the trees that are kept for other files again and again, which
    takes as long as all the rest (timm: 7.2 s with it, 3.5 s without). An analysis frees what it made (`dispose`)."""
    was_on = gc.isenabled()
    with collection_paused():
        try:
            yield
        finally:
            if was_on:
                gc.freeze()  # nor is what is left to be walked when the process ends


class _Worker:
    """Lints files in one process and says what was looked up since it was last asked."""

    def __init__(self, overrides: Overrides, finder: ConfigFinder | None = None) -> None:
        self.linter = Linter(overrides, finder)
        self._told: dict[str, int] = {}
        self._linted = 0

    def lint(self, path: str, *, fixing: bool, named: bool) -> FileResult:
        result = self.linter.lint(path, fixing=fixing, named=named)
        self._linted += 1
        if self._linted % _COLLECT_EVERY == 0:
            gc.collect()
            gc.freeze()  # what lives on is the trees kept for other files; the next collection need not walk them
        return result

    def new_lookups(self) -> ModuleLookups:
        project = self.linter.project
        news: ModuleLookups = []
        for importer, lookups in project.lookups.items():
            if self._told.get(importer) != len(lookups):
                self._told[importer] = len(lookups)
                news.append((importer, project.digest(importer), dict(lookups)))
        return news


_worker: _Worker | None = None


def _start_worker(overrides: Overrides) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is answered once, by the process that asked
    gc.disable()  # as in `_young_garbage_only`; freezing after each chunk would keep its garbage for ever
    _worker = _Worker(overrides)


def _lint_chunk(paths: list[str], named: set[str], fixing: bool) -> tuple[list[FileResult], ModuleLookups]:
    assert _worker is not None
    results = [_worker.lint(path, fixing=fixing, named=path in named) for path in paths]
    return results, _worker.new_lookups()


# -- several -------------------------------------------------------------------------------------------------------


def processors() -> int:
    """How many processes can run at a time."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _chunks(paths: Iterable[str], sizes: dict[str, int], jobs: int) -> Iterator[list[str]]:
    """Neighbours together, as they import each other; each chunk about as large."""
    enough = min(_CHUNK_BYTES, sum(sizes.values()) // (jobs * _CHUNKS_PER_PROCESS))
    chunk: list[str] = []
    total = 0
    for path in paths:
        chunk.append(path)
        total += sizes[path] + 1_000
        if total >= enough:
            yield chunk
            chunk, total = [], 0
    if chunk:
        yield chunk


def _crashed(path: str) -> FileResult:
    message = "the process that analysed it died (out of memory, or a crash of Python); the other files were checked"
    return FileResult(path, FileReport(path, errors=[FileError(path, 0, message)]))


@contextlib.contextmanager
def _pool(workers: int, options: RunOptions) -> Iterator[ProcessPoolExecutor]:
    """Processes that lint. Whoever leaves early (Ctrl-C) ends them at once; they would finish their chunks first."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    executor = ProcessPoolExecutor(workers, initializer=_start_worker, initargs=(options.overrides,))
    try:
        yield executor
    except BaseException:
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        # The pool's own thread is waited for: at Python's exit it closes what the exit still writes to.
        executor.shutdown(wait=True)


def _in_processes(
    paths: list[str], named: set[str], sizes: dict[str, int], options: RunOptions, jobs: int
) -> Iterator[tuple[list[FileResult], ModuleLookups]]:
    """Results as they come. A chunk whose process dies is tried again file by file, each in a process of its own."""
    from concurrent.futures import Future, as_completed
    from concurrent.futures.process import BrokenProcessPool

    importlib.import_module("tensorlint.inference.analysis")  # once, where processes are forked
    chunks = list(_chunks(paths, sizes, jobs))
    unfinished: list[str] = []
    with _pool(min(jobs, len(chunks)), options) as executor:
        futures: dict[Future[tuple[list[FileResult], ModuleLookups]], list[str]] = {}
        for chunk in chunks:
            try:
                futures[executor.submit(_lint_chunk, chunk, named.intersection(chunk), options.fixing)] = chunk
            except BrokenProcessPool:
                unfinished += chunk
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenProcessPool:
                unfinished += futures[future]
    waiting = sorted(unfinished)
    while waiting:
        with _pool(1, options) as executor:
            while waiting:
                path = waiting.pop(0)
                try:
                    yield executor.submit(_lint_chunk, [path], named & {path}, options.fixing).result()
                except BrokenProcessPool:
                    yield [_crashed(path)], []
                    break


def _lint_all(
    paths: list[str], named: set[str], options: RunOptions, finder: ConfigFinder, jobs: int
) -> Iterator[tuple[list[FileResult], ModuleLookups]]:
    if jobs > 1 and len(paths) > 1:
        sizes = {path: _size(path) for path in paths}
        if sum(sizes.values()) >= PARALLEL_BYTES:
            yield from _in_processes(paths, named, sizes, options, jobs)
            return
    worker = _Worker(options.overrides, finder)
    with _young_garbage_only():
        results = [worker.lint(path, fixing=options.fixing, named=path in named) for path in paths]
    yield results, worker.new_lookups()


# -- the run -------------------------------------------------------------------------------------------------------


class _CachedRun:
    """The cache's part of a run: which files need no look, and what to remember of the others."""

    def __init__(self, options: RunOptions, finder: ConfigFinder) -> None:
        config = finder.of_folder(os.getcwd())
        self.cache = Cache(Path(config.root, config.cache_dir), tool_fingerprint())
        self.options = options
        self.finder = finder
        self._settings: dict[tuple[object, ...], str] = {}

    def settings(self, path: str) -> str:
        config = self.finder.of_file(path)
        selection = select_rules(config, self.options.overrides, path)
        key = (id(config), selection)
        if key not in self._settings:
            self._settings[key] = settings_fingerprint(config, selection)
        return self._settings[key]

    def answered(self, paths: list[str], named: set[str]) -> dict[str, FileReport]:
        reports: dict[str, FileReport] = {}
        try:
            unchanged = self.cache.unchanged(paths, Project())
        except (TypeError, ValueError, LookupError, AttributeError):  # the file is JSON, but not as we write it
            self.cache.forget()
            return {}
        for path in unchanged:
            report = self.cache.report(path, self.settings(path), parsed=path in named)
            if report is None:
                continue
            if self.options.fixing and any(
                wanted(finding, unsafe=self.options.overrides.unsafe_fixes or self.finder.of_file(path).unsafe_fixes)
                for finding in report.findings
            ):
                continue
            reports[path] = report
        return reports

    def remember(self, results: list[FileResult], lookups: ModuleLookups) -> None:
        for path, digest, names in lookups:
            self.cache.keep_module(path, digest, names)
        for result in results:
            if result.fixed is None:
                self.cache.keep(result.report, result.digest, self.settings(result.path), parsed=result.parsed)


_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # what `patch` and git take for a line: a form feed or \r alone ends none


def unified_diff(path: str, before: bytes, after: bytes) -> str:
    """The difference as `patch` and `git apply -p0` take it. JSON of a notebook is shown as it is in the file.

    Bytes that are no UTF-8 are escaped (`surrogateescape`), so that who writes it gets the file's own bytes.
    """
    import difflib

    old, new = (_LINE.findall(data.decode("utf-8", "surrogateescape")) for data in (before, after))
    lines = []
    for line in difflib.unified_diff(old, new, path, path):
        lines.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(lines)


def run(options: RunOptions) -> RunResult:
    """Everything that the options ask for. Raises ConfigError where nothing can be run."""
    finder = ConfigFinder()
    found: Discovery = discover(options.paths, finder, force_exclude=options.force_exclude)
    # A bad configuration or an unknown rule ends the run before any process is started.
    folders = {os.getcwd(), *map(os.path.dirname, found.files)}
    configs = {id(config): config for config in map(finder.of_folder, sorted(folders))}
    check_selectors(configs.values(), options.overrides)
    cached = _CachedRun(options, finder) if options.cache else None
    reports = cached.answered(found.files, found.named) if cached else {}
    remaining = [path for path in found.files if path not in reports]
    jobs = (finder.of_folder(os.getcwd()).jobs if options.jobs is None else options.jobs) or processors()
    result = RunResult(RunReport(errors=list(found.errors), files=len(found.files)))
    made: Counter[str] = Counter()
    here = os.getcwd()
    diffs: dict[str, str] = {}
    if remaining:
        for results, lookups in _lint_all(remaining, found.named, options, finder, jobs):
            if cached:
                cached.remember(results, lookups)
            for each in results:
                reports[each.path] = each.report
                if each.fixed is None:
                    continue
                try:
                    _deliver(each, options, shown_path(each.path, here), diffs)
                except SourceError as error:  # what was not mended is still to be reported
                    reports[each.path] = Linter(options.overrides, finder).lint(each.path).report
                    reports[each.path].errors.append(FileError(each.path, 0, error.message))
                else:
                    made.update(each.made)
                    result.report.changed += 1
        if cached:
            cached.cache.save()
    for path, report in reports.items():
        shown = renamed(report, shown_path(path, here))
        result.report.findings += shown.findings
        result.report.strict_only += shown.strict_only
        result.report.errors += shown.errors
        result.report.warnings += shown.warnings
    result.report.fixed = dict(sorted(made.items()))
    result.diff = "".join(diffs[path] for path in sorted(diffs))
    sort_report(result.report)
    return result


def sort_report(report: RunReport) -> None:
    """By path, cell, line and column, whatever order the processes ended in."""
    report.findings.sort(key=lambda finding: finding.sort_key)
    report.strict_only.sort(key=lambda finding: finding.sort_key)
    report.errors.sort(key=lambda error: (error.path, error.cell, error.line))
    report.warnings.sort()


def _deliver(each: FileResult, options: RunOptions, shown: str, diffs: dict[str, str]) -> None:
    """Writes a fixed file, or keeps its difference. Raises SourceError for a file that cannot be written."""
    assert each.fixed is not None
    if options.writing:
        write_atomically(each.path, each.fixed, expected=each.digest)
    else:
        diffs[shown] = unified_diff(shown, read_bytes(each.path), each.fixed)
