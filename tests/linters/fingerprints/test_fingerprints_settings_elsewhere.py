"""Objects of settings whose class another module defines: which of them move a fingerprint, and what is said of them."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

import pytest
from fingerprint_oracle import moves, run

from tensorlint.inference.fingerprints import find_hazards
from tensorlint.inference.hazards import Hazard
from tensorlint.project import Project

CONF = """import os, uuid
from dataclasses import dataclass, field
from typing import ClassVar

@dataclass
class Plain:
    width: int = 2
    lower: bool = True

@dataclass
class Drawn:
    width: int = 2
    run: str = field(default_factory=lambda: uuid.uuid4().hex)

@dataclass
class Placed(Plain):
    out: str = field(default_factory=lambda: os.environ.get("OUT", "out"))

@dataclass
class OfClass:
    width: int = 2
    out: ClassVar[str] = os.environ.get("OUT", "out")
    other = os.environ.get("OUT", "out")

class Held:
    limit = os.environ.get("OUT", "out")

    def __init__(self):
        self.width = 2
        self.out = os.environ.get("OUT", "out")

class Late:
    def __init__(self):
        self.width = 2

    @property
    def out(self):
        return os.environ.get("OUT", "out")

class Tells:
    def __init__(self):
        self.width = 2
        self.out = os.environ.get("OUT", "out")

    def __getstate__(self):
        return {"width": self.width}
"""
HEAD = """import os
import conf
from again import Placed as Handed
from conf import Drawn, Held, Late, OfClass, Placed, Plain, Tells
from datasets import load_dataset

ds = load_dataset("rows", split="train")
"""
READS = 'lambda ex: {"t": ex["text"][: made.width]}'
# The object, and what the message names.
MOVING = {
    "Drawn()": "run",
    "Drawn(3)": "run",
    "Placed()": "made.out",
    "Placed(lower=False)": "made.out",
    "Handed()": "made.out",
    "conf.Placed()": "made.out",
    "Held()": "made.out",
    'Plain(lower=bool(os.environ.get("OUT")))': "made.lower",
    'Plain(2, bool(os.environ.get("OUT")))': "made.lower",
}
STAYING = ("Plain()", "Plain(3)", 'Drawn(run="first")', 'Placed(out="fixed")', "OfClass()", "Late()", "Tells()")


def found(folder: Path, made: str, function: str = READS) -> list[Hazard]:
    (folder / "conf.py").write_text(CONF)
    (folder / "again.py").write_text("from conf import Placed\n")
    (folder / "pyproject.toml").touch()
    code = f"{HEAD}made = {made}\nout = ds.map({function})\n"
    return find_hazards(ast.parse(code), code, path=str(folder / "main.py"), project=Project())


@pytest.mark.parametrize("made", MOVING)
def test_a_field_that_moves_is_named(made: str, tmp_path: Path) -> None:
    (hazard,) = found(tmp_path, made)
    told = f"{hazard.path} {hazard.reason}" + "".join(f" made.{each}" for each in hazard.unrelated)  # type: ignore[attr-defined]
    assert MOVING[made] in told
    assert getattr(hazard.node, "lineno", 0) > HEAD.count("\n")


@pytest.mark.parametrize("made", STAYING)
def test_fields_that_stay_are_left_alone(made: str, tmp_path: Path) -> None:
    assert found(tmp_path, made) == []


@pytest.mark.parametrize("made", ["Placed()", "Held()"])
def test_the_remedy_leaves_nothing_to_report(made: str, tmp_path: Path) -> None:
    handed = 'lambda ex, width: {"t": ex["text"][:width]}, fn_kwargs={"width": made.width}'
    assert found(tmp_path, made, handed) == []


@pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None or sys.platform == "win32",
    reason="needs datasets, and a system that forks",
)
def test_the_library_agrees() -> None:
    write = f"""import os, sys
folder = os.environ["HF_HOME"]
for name, text in (("conf", {CONF!r}), ("again", "from conf import Placed\\n")):
    with open(os.path.join(folder, name + ".py"), "w") as file:
        file.write(text)
sys.path.insert(0, folder)
"""
    head = HEAD.replace("load_dataset\n", "Dataset\n", 1).replace(
        'load_dataset("rows", split="train")', 'Dataset.from_dict({"text": ["alpha"]})'
    )
    answers = run({made: f"{write}{head}made = {made}\nout = ds.map({READS})\n" for made in (*MOVING, *STAYING)})
    assert {made for made, fingerprints in answers.items() if moves(fingerprints)} == set(MOVING)
