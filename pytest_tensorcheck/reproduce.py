"""The command that runs one failed test again with the same numbers."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_tensorcheck.frameworks import loaded
from pytest_tensorcheck.options import OPTIONS

MOST_NAMED = 8  # tests in a command
# Options of this group that say what is printed or collected, and not what a test does.
_LEFT_OUT = frozenset({"active", "seed", "seeds", "lint", "json", "record", "compare"})


def reproduction(item: pytest.Item, base_seed: int, before: Sequence[str] = ()) -> str:
    """`OMP_NUM_THREADS=1 pytest 'tests/test_a.py::test_b[c d]' --tensorcheck --tensorcheck-seed 0`.

    The thread count is part of it where torch is loaded, since it changes the order of sums, and with it their value.
    `before`: node ids of tests that have to run before it.
    """
    config = item.config
    named = [*before, item.nodeid]
    if len(before) > MOST_NAMED:  # a line that nobody can paste: their files, which pytest goes through in this order
        named = list(dict.fromkeys(nodeid.partition("::")[0] for nodeid in named))
    words = [
        "pytest",
        *_where_to_look(config),
        *_how_to_collect(item),
        *(_in_this_order(config) if before else ()),
        *(_from_here(config, nodeid) for nodeid in named),
        "--tensorcheck",
    ]
    words += ["--tensorcheck-seed", str(base_seed)]
    for option in OPTIONS:
        if option.name not in _LEFT_OUT and (value := getattr(config.option, option.dest, None)) is not None:
            words += [option.flag, str(value)]
    threads = torch_threads()
    if sys.platform == "win32":
        command = subprocess.list2cmdline(words)
        return command if threads is None else f"set OMP_NUM_THREADS={threads} && {command}"
    command = shlex.join(words)
    return command if threads is None else f"OMP_NUM_THREADS={threads} {command}"


def _in_this_order(config: pytest.Config) -> list[str]:
    """One process, and nobody who shuffles."""
    # Loaded by `-p pytest_randomly` it has that name.
    shuffles = [name for name in ("randomly", "pytest_randomly") if config.pluginmanager.hasplugin(name)]
    words = ["-p", f"no:{shuffles[0]}"] if shuffles else []
    spread = hasattr(config, "workerinput") or getattr(config.option, "numprocesses", None)
    return [*words, "-n0"] if spread else words


def torch_threads() -> int | None:
    torch = loaded("torch")
    return int(torch.get_num_threads()) if torch is not None else None


def _from_here(config: pytest.Config, nodeid: str) -> str:
    """The node id with its file as seen from where pytest was called."""
    file, colons, rest = nodeid.partition("::")
    path = config.rootpath / file
    if not path.exists():
        return nodeid
    try:
        shown = os.path.relpath(path, _called_from(config))
    except ValueError:  # another drive
        shown = str(path)
    return Path(shown).as_posix() + colons + rest


def _called_from(config: pytest.Config) -> Path:
    return config.invocation_params.dir


def _how_to_collect(item: pytest.Item) -> list[str]:
    """Options without which pytest finds no doctest."""
    if not isinstance(item, pytest.DoctestItem):
        return []
    if item.path.suffix == ".py":
        return ["--doctest-modules"]
    if item.path.suffix in (".txt", ".rst"):  # named, they are found
        return []
    return [f"--doctest-glob={glob}" for glob in item.config.getoption("doctestglob") or ()]


def _where_to_look(config: pytest.Config) -> list[str]:
    words = []
    if (ini := getattr(config.option, "inifilename", None)) is not None:
        words += ["-c", str(ini)]
    if (root := getattr(config.option, "rootdir", None)) is not None:
        words += ["--rootdir", str(root)]
    return words
