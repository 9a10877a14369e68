"""Which rules there are: the files of this package, other distributions' entry points, and a repository's own files.

A rule is found by being there; no list names it a second time.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

from tensorlint.rules.rule import AnyRule, Rule

ENTRY_POINT_GROUP = "tensorlint.rules"
ALL = "ALL"


class RuleError(Exception):
    """A rule that cannot be used, or a name that names no rule. The text is one line for the user."""


def rules_in(module: ModuleType) -> Iterator[type[AnyRule]]:
    """The complete rules that this module defines (not those it imports); a class without a code is a base."""
    for _, member in sorted(vars(module).items()):
        if (
            isinstance(member, type)
            and issubclass(member, Rule)
            and member.__module__ == module.__name__
            and "code" in member.__dict__
        ):
            yield member


@dataclass(slots=True, eq=False, repr=False)
class Registry:
    """Rules by code and by name. `sources` is what identifies the rules that are not ours, for the cache's key."""

    rules: dict[str, AnyRule] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    _spellings: dict[str, str] = field(default_factory=dict)

    def add(self, rule: AnyRule, origin: str) -> None:
        for attribute in ("code", "name", "summary", "hazard"):
            if not hasattr(rule, attribute):
                raise RuleError(f"{origin}: rule {type(rule).__name__} has no {attribute!r}")
        for spelling in (rule.code, rule.name, *rule.aliases):
            taken = self._spellings.setdefault(spelling.lower(), rule.code)
            if taken != rule.code or rule.code in self.rules:
                raise RuleError(f"{origin}: {spelling!r} is already the name of a rule ({taken})")
        self.rules[rule.code] = rule

    def __iter__(self) -> Iterator[AnyRule]:
        return iter(sorted(self.rules.values(), key=lambda rule: rule.code))

    def find(self, spelling: str) -> AnyRule | None:
        """The rule of this code, name or alias; letters' case does not matter."""
        code = self._spellings.get(spelling.strip().lower())
        return self.rules[code] if code else None

    def nearest(self, spelling: str) -> str:
        """What may have been meant, as the end of a sentence, or nothing."""
        candidates = {s: s.upper() if s.upper() in self.rules else s for s in self._spellings}
        wanted = spelling.strip().lower()
        import difflib

        close = difflib.get_close_matches(wanted, candidates, n=8, cutoff=0.5)
        # TSR202 is as like TSR302 as TSR201; the one that begins alike is of the same family.
        close.sort(key=lambda each: len(os.path.commonprefix([each, wanted])), reverse=True)
        return f"; did you mean {candidates[close[0]]}?" if close else "; `tensorlint rule` lists the rules"

    def expand(self, spelling: str, *, strict: bool = False) -> frozenset[str]:
        """The codes that a selector names.

        A code or a name is that one rule whatever its default. A prefix (`TSR4`) is the rules below it that are on
        (and with `strict` the strict ones): a rule that is off by default wants to be named. `ALL` is every rule.
        Raises RuleError for what names nothing.
        """
        if spelling.upper() == ALL:
            return frozenset(self.rules)
        if rule := self.find(spelling):
            return frozenset((rule.code,))
        below = self.below(spelling)
        if not below:
            raise RuleError(f"unknown rule {spelling!r}{self.nearest(spelling)}")
        wanted = ("on", "strict") if strict else ("on",)
        return frozenset(code for code in below if self.rules[code].default in wanted)

    def below(self, prefix: str) -> frozenset[str]:
        """Every code that begins with the prefix: letters first, as `TSR`, `TSR4` or `TSR40`."""
        upper = prefix.strip().upper()
        return frozenset(code for code in self.rules if upper and code.startswith(upper))


@lru_cache(maxsize=1)
def _own_modules() -> tuple[ModuleType, ...]:
    package = importlib.import_module("tensorlint.rules")
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    return tuple(importlib.import_module(f"tensorlint.rules.{name}") for name in names)


def rules_of_file(path: Path) -> list[AnyRule]:
    """The rules of a repository's own file. This is the only code of the user that tensorlint ever executes."""
    if not path.is_file():
        raise RuleError(f"rules file {path} does not exist")
    name = f"tensorlint_rules_of_{path.stem}_{abs(hash(str(path.resolve()))):x}"
    module = sys.modules.get(name)
    if module is None:
        module = ModuleType(name)
        module.__file__ = str(path)
        sys.modules[name] = module
        try:
            # Compiled here: a cached bytecode file would hide a change made within the same second.
            exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
        except Exception as error:
            del sys.modules[name]
            raise RuleError(f"rules file {path} cannot be imported: {type(error).__name__}: {error}") from error
    found = [rule() for rule in rules_in(module)]
    if not found:
        raise RuleError(f"rules file {path} defines no rule (a subclass of tensorlint.rules.rule.Rule with a code)")
    return found


def _has_entry_points() -> bool:
    """Whether a distribution may bring rules of its own: most environments have none, and who asks `importlib.metadata`
    waits a fifth of a start for that. Where distributions are kept otherwise than in folders, it is asked."""
    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        return True
    for folder in sys.path:
        try:
            names = [name for name in os.listdir(folder or ".") if name.endswith((".dist-info", ".egg-info", ".egg"))]
        except NotADirectoryError:  # an archive
            return True
        except OSError:
            continue
        for name in names:
            if name.endswith(".egg"):
                return True
            try:
                with open(os.path.join(folder, name, "entry_points.txt"), "rb", buffering=0) as stream:
                    if ENTRY_POINT_GROUP.encode() in stream.read():
                        return True
            except OSError:
                continue
    return False


def _entry_point_rules(registry: Registry) -> None:
    """An entry point names a rule class or a module of rules."""
    if not _has_entry_points():
        return
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name):
        origin = f"entry point {entry.name} ({entry.value})"
        try:
            loaded = entry.load()
        except Exception as error:
            raise RuleError(f"{origin} cannot be imported: {type(error).__name__}: {error}") from error
        classes = list(rules_in(loaded)) if isinstance(loaded, ModuleType) else [loaded]
        for rule in classes:
            if not (isinstance(rule, type) and issubclass(rule, Rule)):
                raise RuleError(f"{origin} is neither a Rule nor a module of rules")
            registry.add(rule(), origin)
        distribution = entry.dist
        registry.sources.append(f"{entry.value}@{distribution.version if distribution else '?'}")


@lru_cache(maxsize=16)
def _load(files: tuple[tuple[str, bytes], ...]) -> Registry:
    registry = Registry()
    for module in _own_modules():
        for rule in rules_in(module):
            registry.add(rule(), str(module.__file__))
    _entry_point_rules(registry)
    for name, digest in files:
        for own in rules_of_file(Path(name)):
            registry.add(own, name)
        registry.sources.append(digest.hex())
    return registry


def load(files: Iterable[Path] = ()) -> Registry:
    """All rules, with those of the repository's own files. Raises RuleError for a file or a rule that is unusable."""
    from tensorlint.source import digest_of

    named = []
    for path in files:
        try:
            named.append((str(path), digest_of(path.read_bytes())))
        except FileNotFoundError:
            raise RuleError(f"rules file {path} does not exist") from None
        except OSError as error:
            raise RuleError(f"rules file {path} cannot be read: {error.strerror}") from error
    return _load(tuple(named))
