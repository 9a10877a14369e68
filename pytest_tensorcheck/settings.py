"""Command line, ini file and marker become one `Settings`; nothing else reads configuration.

Named tuples and not dataclasses: they are made in every run with the checks on, for a quarter of the time.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import pytest

from pytest_tensorcheck.options import LARGEST_SEED, MODES, OPTIONS, Mode, ini_value


class Settings(NamedTuple):
    """What the run was asked to do. Defaults: tests are seeded, what is found is reported, nothing that passed fails."""

    active: bool = False
    seed: int = 0
    seeds: tuple[int, ...] = ()
    device: str = "auto"
    sync: Mode = "off"
    state: Mode = "report"
    broadcast: Mode = "report"
    numerics: Mode = "off"
    lint: bool = False
    json: str | None = None
    record: str | None = None
    compare: str | None = None

    @property
    def modes(self) -> dict[str, Mode]:
        return {check: getattr(self, check) for check in CHECKS}


class MarkerSettings(NamedTuple):
    """What the markers of one test say; None where they say nothing."""

    seed: int | None = None
    sync: Mode | None = None
    state: Mode | None = None
    broadcast: Mode | None = None
    numerics: Mode | None = None
    deterministic: bool = False


CHECKS = ("sync", "state", "broadcast", "numerics")
UNMARKED = MarkerSettings()


def resolve(config: pytest.Config, options: argparse.Namespace | None = None) -> Settings:
    """The command line wins over the ini file. Raises pytest.UsageError for a value that cannot be."""
    options = options if options is not None else config.option
    values: dict[str, Any] = {}
    switched_on = False
    for option in OPTIONS:
        given = getattr(options, option.dest, None)
        if given is not None:
            values[option.name] = given
            switched_on = True
            continue
        from_file = ini_value(config, option)
        if from_file is None or from_file == "":
            continue
        try:
            values[option.name] = option.parse(from_file) if option.parse else from_file
        except argparse.ArgumentTypeError as error:
            where = config.inipath.name if config.inipath else "the ini file"
            raise pytest.UsageError(f"{where}: {option.dest}: {error}") from None
    if switched_on:
        values["active"] = True
    settings = Settings(**values)
    if settings.seeds and "seed" in values:
        raise pytest.UsageError("--tensorcheck-seed and --tensorcheck-seeds exclude each other: give one of them")
    if settings.record and settings.compare:
        raise pytest.UsageError("--tensorcheck-record and --tensorcheck-compare exclude each other: give one of them")
    # A seed drawn for this run must be the same in every xdist worker: they receive the options of this process.
    options.tensorcheck_seed = settings.seed if "seed" in values else getattr(options, "tensorcheck_seed", None)
    return settings


def with_markers(settings: Settings, marked: MarkerSettings) -> Settings:
    """The settings of one test."""
    changed = {check: value for check in CHECKS if (value := getattr(marked, check)) is not None}
    return settings._replace(**changed) if changed else settings


def read_markers(item: pytest.Item) -> MarkerSettings:
    """The test's markers, the nearest first. Raises pytest.UsageError that names the test and the mistake."""
    values: dict[str, Any] = {}
    for marker in item.iter_markers("tensorcheck"):
        if marker.args:
            raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.tensorcheck takes keywords only, e.g. seed=1")
        for key, value in marker.kwargs.items():
            _check_keyword(item.nodeid, key, value)
            values.setdefault(key, value)
    return MarkerSettings(**values) if values else UNMARKED


_KEYWORDS = MarkerSettings._fields


def _check_keyword(nodeid: str, key: str, value: object) -> None:
    text = f"@pytest.mark.tensorcheck({key}={value!r})"
    if key not in _KEYWORDS:
        import difflib

        nearest = difflib.get_close_matches(key, _KEYWORDS, 1)
        hint = f"did you mean {nearest[0]!r}?" if nearest else f"it knows {', '.join(_KEYWORDS)}"
        raise pytest.UsageError(f"{nodeid}: {text}: unknown keyword {key!r}; {hint}")
    if key == "seed":
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_SEED:
            raise pytest.UsageError(f"{nodeid}: {text}: a seed is a whole number from 0 to 2**64 - 1")
    elif key == "deterministic":
        if not isinstance(value, bool):
            raise pytest.UsageError(f"{nodeid}: {text}: deterministic is True or False")
    elif value not in MODES:
        import difflib

        nearest = difflib.get_close_matches(str(value), MODES, 1)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        raise pytest.UsageError(f"{nodeid}: {text}: not one of {', '.join(MODES)}{hint}")
