"""`[tool.tensorlint]` of the nearest pyproject.toml, checked, and which rules it and the command line select.

Nearest counts from the linted file: a folder with a table of its own does not inherit from the one above.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorlint.rules.registry import Registry, RuleError, load

if TYPE_CHECKING:
    import pathspec

    from tensorlint.checking import Selection

FORMATS = ("text", "concise", "json", "github", "gitlab", "sarif")


class ConfigError(Exception):
    """A configuration or an option that cannot be used: one line for the user."""


@dataclass(frozen=True)
class Config:
    """One table. Paths and patterns are relative to the folder of its file (`root`)."""

    root: Path
    file: Path | None = None
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict: bool = False
    exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    per_file_ignores: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    cache_dir: str = ".tensorlint_cache"
    jobs: int = 0
    unsafe_fixes: bool = False
    output_format: str = ""
    baseline: str = ""

    @cached_property
    def excluded(self) -> pathspec.PathSpec[Any]:
        return _patterns(self.exclude)

    @cached_property
    def ignored_in_files(self) -> tuple[tuple[pathspec.PathSpec[Any], tuple[str, ...]], ...]:
        return tuple((_patterns((pattern,)), codes) for pattern, codes in self.per_file_ignores.items())

    @cached_property
    def registry(self) -> Registry:
        """All rules, with this configuration's own files. Raises ConfigError."""
        try:
            return load([self.root / name for name in self.rules])
        except RuleError as error:
            raise ConfigError(str(error)) from None


def _patterns(patterns: Iterable[str]) -> pathspec.PathSpec[Any]:
    import pathspec

    return pathspec.GitIgnoreSpec.from_lines(patterns)


def _key(name: str) -> str:
    return name.replace("_", "-")


_KEYS = {_key(each.name): each for each in fields(Config) if each.name not in ("root", "file")}


def _value(key: str, value: object, default: object) -> object:
    """The value in the field's own type, or ConfigError that says what it should be."""
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        raise ConfigError(f"{key!r} must be true or false, not {value!r}")
    if isinstance(default, int):
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        raise ConfigError(f"{key!r} must be a number of processes (0: as many as there are processors), not {value!r}")
    if isinstance(default, str):
        if isinstance(value, str):
            return value
        raise ConfigError(f"{key!r} must be a string, not {value!r}")
    if isinstance(default, dict):
        if isinstance(value, dict):
            return {pattern: _strings(f"{key}.{pattern}", codes) for pattern, codes in value.items()}
        raise ConfigError(f'{key!r} must be a table such as {{ "tests/**" = ["TSR103"] }}, not {value!r}')
    return _strings(key, value)


def _strings(key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise ConfigError(f"{key!r} must be a list of strings, not {value!r}")


def read_table(table: dict[str, object], file: Path) -> Config:
    """The configuration of one `[tool.tensorlint]` table. Raises ConfigError with the file's name."""
    values: dict[str, Any] = {}
    try:
        for key, value in table.items():
            known = _KEYS.get(key)
            if known is None:
                import difflib

                close = difflib.get_close_matches(key, _KEYS, n=1, cutoff=0.5)
                hint = f"did you mean {close[0]!r}?" if close else f"the keys are {', '.join(_KEYS)}"
                raise ConfigError(f"unknown key {key!r}; {hint}")
            values[known.name] = _value(key, value, getattr(Config(Path()), known.name))
        if (chosen := values.get("output_format")) and chosen not in FORMATS:
            raise ConfigError(f"'output-format' must be one of {', '.join(FORMATS)}, not {chosen!r}")
        config = Config(root=file.parent, file=file, **values)
        if "cache_dir" in values and os.path.isfile(Path(config.root, config.cache_dir)):
            raise ConfigError(f"'cache-dir' must be a folder, and {config.cache_dir!r} is a file")
        for spelling in (
            *config.select,
            *config.extend_select,
            *config.ignore,
            *sum(config.per_file_ignores.values(), ()),
        ):
            config.registry.expand(spelling)
        for spelling in (*config.select, *config.extend_select):
            if not config.registry.expand(spelling, strict=True):
                raise ConfigError(_nothing_below(spelling, (config.registry,)))
    except (ConfigError, RuleError) as error:
        raise ConfigError(f"{file}: [tool.tensorlint]: {error}") from None
    return config


def read_file(file: Path) -> Config | None:
    """The configuration in a pyproject.toml; None if it has no table of ours."""
    try:
        data = file.read_bytes()
    except OSError as error:
        if file.is_file():  # there, and not to be read: its rules would silently not hold
            raise ConfigError(f"{file}: cannot be read: {error.strerror}") from None
        return None
    if b"tensorlint" not in data:
        if b"\0" in data and b"tensorlint" in data.replace(b"\0", b""):  # as PowerShell's `>` writes it
            raise ConfigError(f"{file}: is not valid TOML: it is UTF-16 or UTF-32; save it as UTF-8")
        return None  # most of them; parsing TOML would cost more than everything else here
    import tomllib

    try:
        document = tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: is not valid TOML: {error}") from None
    tool = document.get("tool", {})
    table = tool.get("tensorlint") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: [tool.tensorlint] must be a table")
    return read_table(table, file)


class ConfigFinder:
    """The configuration of each folder, read once."""

    def __init__(self) -> None:
        self._of_folder: dict[str, Config | None] = {}
        self._default = Config(Path.cwd())

    def _find(self, folder: str) -> Config | None:
        if folder not in self._of_folder:
            found = read_file(Path(folder, "pyproject.toml"))
            parent = os.path.dirname(folder)
            if found is None and parent != folder:
                found = self._find(parent)
            self._of_folder[folder] = found
        return self._of_folder[folder]

    def of_folder(self, folder: str) -> Config:
        return self._find(folder) or self._default

    def of_file(self, path: str) -> Config:
        """The configuration of an absolute path. Raises ConfigError."""
        return self.of_folder(os.path.dirname(path))


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says about the rules. `select` replaces the configuration's selections."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict: bool = False
    unsafe_fixes: bool = False


def check_selectors(configs: Iterable[Config], overrides: Overrides) -> None:
    """Raises ConfigError for what the command line names and no configuration of the run has a rule for."""
    configs = list(configs)
    registries = [config.registry for config in configs]
    for spelling in (*overrides.select, *overrides.ignore):
        refusal: RuleError | None = None
        for registry in registries:
            try:
                registry.expand(spelling)
                break
            except RuleError as error:
                refusal = refusal or error
        else:
            if refusal is not None:
                raise ConfigError(str(refusal))
    for spelling in overrides.select:
        if not any(_expanded(registry, (spelling,), strict=True) for registry in registries):
            raise ConfigError(_nothing_below(spelling, registries))
    if overrides.select and not any(_enabled(config, overrides, config.registry, strict=True) for config in configs):
        raise ConfigError("--select leaves no rule on: --ignore or the configuration's `ignore` takes them all away")


def _nothing_below(prefix: str, registries: Iterable[Registry]) -> str:
    """A prefix selects no rule that is off: what to write for those."""
    codes = sorted({code for registry in registries for code in registry.below(prefix)})
    return f"{prefix!r} selects nothing: {', '.join(codes)} {'is' if len(codes) == 1 else 'are'} off unless named"


def _expanded(registry: Registry, spellings: Iterable[str], *, strict: bool) -> set[str]:
    """The codes these spellings select; a rule that only another configuration has (check_selectors) is none."""
    codes: set[str] = set()
    for spelling in spellings:
        with contextlib.suppress(RuleError):
            codes |= registry.expand(spelling, strict=strict)
    return codes


def _ignored(registry: Registry, spellings: Iterable[str]) -> set[str]:
    """What an `ignore` names: unlike a selection, a prefix takes the strict and the off rules with it."""
    codes: set[str] = set()
    for spelling in spellings:
        codes |= _expanded(registry, (spelling,), strict=True)
        if registry.find(spelling) is None:
            codes |= registry.below(spelling)
    return codes


def _enabled(config: Config, overrides: Overrides, registry: Registry, *, strict: bool) -> set[str]:
    if overrides.select:
        codes = _expanded(registry, overrides.select, strict=strict)
        named = {rule.code for each in overrides.select if (rule := registry.find(each))}
        codes -= _ignored(registry, config.ignore) - named
    else:
        defaults = ("on", "strict") if strict else ("on",)
        codes = (
            _expanded(registry, config.select, strict=strict)
            if config.select
            else {rule.code for rule in registry if rule.default in defaults}
        )
        codes |= _expanded(registry, config.extend_select, strict=strict)
        codes -= _ignored(registry, config.ignore)
    return codes - _ignored(registry, overrides.ignore)


def select_rules(config: Config, overrides: Overrides, path: str) -> Selection:
    """Which rules judge the file of an absolute path."""
    from tensorlint.checking import Selection

    registry = config.registry
    strict = config.strict or overrides.strict
    enabled = _enabled(config, overrides, registry, strict=strict)
    stricter = _enabled(config, overrides, registry, strict=True)
    narrowed = bool(overrides.select or overrides.ignore)
    if config.per_file_ignores:
        relative = os.path.relpath(path, config.root).replace(os.sep, "/")
        for pattern, spellings in config.ignored_in_files:
            if pattern.match_file(relative):
                dropped = _ignored(registry, spellings)
                narrowed = narrowed or bool(dropped & enabled)
                enabled -= dropped
                stricter -= dropped
    return Selection(frozenset(enabled), frozenset(stricter - enabled), narrowed)


def split_codes(values: Iterable[str]) -> tuple[str, ...]:
    """`--select A,B --select C` as one tuple."""
    return tuple(word for value in values for word in re.split(r"[,\s]+", value) if word)
