"""Runs functions of tests/data/sync_corpus.py and compares the lines that wait with the lines that are marked."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "data"
CORPUS = DATA / "sync_corpus.py"


def load_corpus() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sync_corpus", CORPUS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def functions(corpus: ModuleType, *, aside: bool) -> dict[str, FunctionType]:
    """The corpus's functions: those that were put aside, or the others."""
    return {
        name: value
        for name, value in vars(corpus).items()
        if isinstance(value, FunctionType)
        and value.__module__ == corpus.__name__
        and not name.startswith("_")
        and name != "put_aside"
        and corpus.put_aside(name) is aside
    }


def marked(function: FunctionType) -> dict[int, str]:
    """Line number -> source of the lines of a function, with the mark still on."""
    text = CORPUS.read_text().splitlines()
    first = function.__code__.co_firstlineno
    lines = {}
    for number in range(first, len(text) + 1):
        line = text[number - 1]
        if number > first and line and not line[0].isspace():
            break
        lines[number] = line
    return lines


def expected(function: FunctionType) -> set[int]:
    return {number for number, line in marked(function).items() if re.search(r"#\s*SYNC\s*$", line)}


def run(function: FunctionType) -> dict[str, Any]:
    """{"missed": lines, "false": lines, "crash": text or ""} of one function in the simulation."""
    import torch

    from pytest_tensorcheck.sync import device, simulation
    from pytest_tensorcheck.sync.scopes import no_sync

    torch.manual_seed(0)
    block = no_sync(allow=10**9)
    seen: list[Any] = []
    crash = ""
    with simulation(), contextlib.redirect_stdout(io.StringIO()):
        try:
            with block as seen:
                function(str(device()))
        except Exception as error:
            crash = f"{type(error).__name__}: {error}".split("\n")[0]
    lines = {event.where.line for event in seen if event.where is not None and event.certain}
    nowhere = [event for event in seen if event.where is None or event.where.file != str(CORPUS)]
    wanted = expected(function)
    return {
        "wanted": sorted(wanted),
        "missed": sorted(wanted - lines),
        "false": sorted(lines - wanted) + [f"{event.operation} at {event.where}" for event in nowhere],
        "crash": crash,
    }
