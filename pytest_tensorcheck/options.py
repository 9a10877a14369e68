"""The options of the command line and their ini keys, as a table, and how a value is read.

Every pytest run in whose environment the plugin is installed loads this module: it imports nothing that pytest has not
imported already, and keeps what only a wrong value needs inside the functions.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pytest

Mode = str  # "off" | "report" | "error"; spelled out in observations.MODES, which is loaded only when a check runs
MODES = ("off", "report", "error")
DEVICES = ("auto", "cpu", "cuda", "shadow")
LARGEST_SEED = 2**64 - 1
DRAWN: set[int] = set()  # the seeds that were not given but drawn
MARKER = (
    "tensorcheck(seed=..., sync=..., state=..., broadcast=..., numerics=..., deterministic=...): "
    "what `--tensorcheck` does for this test: an int that seeds it; 'off', 'report' or 'error' for each check; "
    "deterministic=True runs it with deterministic algorithms."
)


def parse_seed(text: str) -> int:
    """`12` or `random` (drawn once, and printed in the header)."""
    if text.strip() == "random":
        import secrets

        seed = secrets.randbits(32)
        DRAWN.add(seed)
        return seed
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
        raise argparse.ArgumentTypeError(f"there is no file {text}: make one with --tensorcheck-record {text}")
    return text


def _one_of(text: str, allowed: tuple[str, ...]) -> str:
    if text in allowed:
        return text
    import difflib

    # "gpu" is nearer to "cpu" by its letters and to "cuda" by what it means.
    nearest = ["cuda"] if text == "gpu" and "cuda" in allowed else difflib.get_close_matches(text, allowed, 1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(allowed)}{hint}")


class Option(NamedTuple):
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


def anything_given(config: pytest.Config, options: argparse.Namespace) -> bool:
    """Whether any option or ini key of ours was given a value: if not, there is nothing to resolve or to refuse."""
    for option in OPTIONS:
        if getattr(options, option.dest, None) is not None or ini_value(config, option) not in (None, ""):
            return True
    return False


def ini_value(config: pytest.Config, option: Option) -> Any:
    """What the ini file says, None or "" where it says nothing. Raises pytest.UsageError for a switch that is neither."""
    try:
        return config.getini(option.dest)
    except Exception as error:  # ValueError, in later versions UsageError
        import pytest

        if option.dest in str(error):
            raise
        where = config.inipath.name if config.inipath else "the ini file"
        raise pytest.UsageError(f"{where}: {option.dest}: {error}; it is true or false") from None
