"""The programs of `data/`, by name. Each stands below a line `### what it shows [code]`."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from tensorlint.inference.fingerprints import find_hazards
from tensorlint.inference.hazards import Hazard, MapClosureHazard, MapHashSeedHazard, UnseededParentHazard

DATA = Path(__file__).with_name("data")
ROWS = """import os
from datasets import Dataset
ds = Dataset.from_dict({"text": ["alpha beta", "gamma"], "label": ["pos", "neg"], "n": [1, 2]})
"""
CODES = {MapClosureHazard: "TSR401", MapHashSeedHazard: "TSR402", UnseededParentHazard: "TSR403"}


def programs(name: str) -> dict[str, str]:
    """Name -> program of `data/{name}.txt`."""
    found = {}
    for part in re.split(r"^### ", (DATA / f"{name}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, code = part.partition("\n")
        found[title] = ROWS + code
    return found


def pairs(name: str) -> dict[str, tuple[str, str]]:
    """Name -> (moving, staying) of `data/{name}.txt`: the same program with its fault and without, below each title."""
    found = {}
    for part in re.split(r"^### ", (DATA / f"{name}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, code = part.partition("\n")
        bad, _, good = code.partition("\n--- good\n")
        found[title] = (ROWS + bad + "\n", ROWS + good)
    return found


def code_of(trigger: str) -> str:
    """The rule that reports M1 to M3, M4 to M8, M10."""
    return "TSR403" if trigger == "M10" else "TSR402" if trigger in ("M1", "M2", "M3") else "TSR401"


def threads() -> list[dict[str, Any]]:
    """Bugs from public threads, each as `bad` and `good`, and programs that are right (`ok`)."""
    return [json.loads(line) for line in (DATA / "threads.jsonl").read_text(encoding="utf-8").splitlines()]


def expected(title: str) -> str:
    return title.rpartition("[")[2].rstrip("]")


def hazards(code: str) -> list[Hazard]:
    """What a default run sees."""
    return [hazard for hazard in find_hazards(ast.parse(code), code) if not getattr(hazard, "strict", False)]


def codes(code: str) -> list[str]:
    return [CODES[type(hazard)] for hazard in hazards(code)]
