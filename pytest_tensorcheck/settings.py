"""Command line, ini file and marker become one frozen `Settings`; nothing else reads configuration."""

from __future__ import annotations

import argparse
import difflib
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest

Mode = str  # "off" | "report" | "error"; spelled out in observations.MODES, which is loaded only when a check runs
MODES = ("off", "report", "error")
DEVICES = ("auto", "cpu", "cuda", "shadow")
MARKER = (
    "tensorcheck(seed=..., sync=..., state=..., broadcast=..., numerics=..., deterministic=...): "
    "what `--tensorcheck` does for this test: an int that seeds it; 'off', 'report' or 'error' for each check; "
    "deterministic=True runs it with deterministic algorithms."
)


@dataclass(frozen=True, slots=True)
class Settings:
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


@dataclass(frozen=True, slots=True)
class MarkerSettings:
    """What the markers of one test say; None where they say nothing."""

    seed: int | None = None
    sync: Mode | None = None
    state: Mode | None = None
    broadcast: Mode | None = None
    numerics: Mode | None = None
    deterministic: bool = False


CHECKS = ("sync", "state", "broadcast", "numerics")
UNMARKED = MarkerSettings()
LARGEST_SEED = 2**64 - 1


def parse_seed(text: str) -> int:
    """`12` or `random` (drawn once, and printed in the header)."""
    if text.strip() == "random":
        return secrets.randbits(32)
    if not text.strip().isdecimal() or int(text) > LARGEST_SEED:
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed: a whole number from 0 to 2**64 - 1, or 'random'")
    return int(text)


def parse_seeds(text: str) -> tuple[int, ...]:
    """`0-99`, `7`, `1,5,10-19`: the seeds of a sweep, in the order given, each once."""
    seeds: dict[int, None] = {}
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or int(last or first) > LARGEST_SEED:
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of seeds: write 0-99, or 1,5,10-19")
        if int(last or first) < int(first):
            raise argparse.ArgumentTypeError(f"{part.strip()!r} counts down: write {last}-{first}")
        if int(last or first) - int(first) >= 1_000_000:
            raise argparse.ArgumentTypeError(f"{part.strip()!r} is more than a million seeds")
        seeds.update(dict.fromkeys(range(int(first), int(last or first) + 1)))
    return tuple(seeds)


def parse_mode(text: str) -> Mode:
    return _one_of(text, MODES)


def parse_device(text: str) -> str:
    return _one_of(text, DEVICES)


def parse_output_path(text: str) -> str:
    folder = os.path.dirname(os.path.abspath(text))
    if not os.path.isdir(folder):
        raise argparse.ArgumentTypeError(f"the folder {folder} does not exist")
    if os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{text} is a folder; name a file in it")
    return text


def parse_input_path(text: str) -> str:
    if not os.path.isfile(text):
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return text


def _one_of(text: str, allowed: tuple[str, ...]) -> str:
    if text in allowed:
        return text
    nearest = difflib.get_close_matches(text, allowed, 1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(allowed)}{hint}")


@dataclass(frozen=True, slots=True)
class Option:
    """One option and its ini key. `parse` None: a flag."""

    name: str
    help: str
    parse: Callable[[str], Any] | None = None
    metavar: str | None = None

    @property
    def flag(self) -> str:
        return "--" + self.dest.replace("_", "-")

    @property
    def dest(self) -> str:
        return f"tensorcheck_{self.name}" if self.name != "active" else "tensorcheck"


_MODE = "off|report|error"
OPTIONS = (
    Option("active", "Switch the checks on for this run. Any other option of this group does so too"),
    Option("seed", "Base seed of every test's seed, or 'random'. Default: 0", parse_seed, "N"),
    Option("seeds", "Run each selected test once for every seed: 0-99, or 1,5,10-19", parse_seeds, "A-B"),
    Option("device", "Device of the fixture tensor_device. Default: auto", parse_device, "|".join(DEVICES)),
    Option("sync", "Places where the host waits for the GPU. Default: off", parse_mode, _MODE),
    Option("state", "Global state that a test leaves changed. Default: report", parse_mode, _MODE),
    Option("broadcast", "A row that meets a column by accident. Default: report", parse_mode, _MODE),
    Option("numerics", "First operation that makes NaN or Inf from finite numbers. Default: off", parse_mode, _MODE),
    Option("lint", "Collect the project's Python files as lint items (tensorlint)"),
    Option("json", "Write what was found to a JSON file", parse_output_path, "F"),
    Option("record", "Write every test's torch operations to a log, to compare with elsewhere", parse_output_path, "F"),
    Option("compare", "Fail tests whose operations differ from those in a log", parse_input_path, "F"),
)


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("tensorcheck", "checks for tensor code (tensorcheck)")
    for option in OPTIONS:
        if option.parse is None:
            group.addoption(option.flag, dest=option.dest, action="store_true", default=None, help=option.help)
        else:
            # argparse calls `type`, and `dest` is what xdist sends to its workers: plain values, already parsed.
            group.addoption(
                option.flag, dest=option.dest, type=option.parse, default=None, metavar=option.metavar, help=option.help
            )
        kind: Any = "bool" if option.parse is None else "string"
        parser.addini(option.dest, f"Default of {option.flag}", type=kind, default=None)


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
        from_file = config.getini(option.dest)
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
    return replace(settings, **changed) if changed else settings


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


_KEYWORDS = tuple(field.name for field in fields(MarkerSettings))


def _check_keyword(nodeid: str, key: str, value: object) -> None:
    text = f"@pytest.mark.tensorcheck({key}={value!r})"
    if key not in _KEYWORDS:
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
        raise pytest.UsageError(f"{nodeid}: {text}: not one of {', '.join(MODES)}")
