"""Code of other modules: which edits of it `datasets` does not see, and which of them TSR404 names."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

import pytest
from fingerprint_oracle import moves, run

from tensorlint.inference.fingerprints import find_hazards
from tensorlint.inference.hazards import Hazard, MapClosureHazard
from tensorlint.project import Project

needs_datasets = pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None or sys.platform == "win32",
    reason="needs datasets, and a system that forks",
)

# The width is what an edit changes.
PREP = """import functools

def bare(f):
    def inner(ex):
        return f(ex)
    return inner

def clean(ex):
    return {"t": ex["text"][:1]}

@bare
def decorated(ex):
    return {"t": ex["text"][:1]}

@functools.lru_cache
def cached(text):
    return text[:1]

cut = lambda ex: {"t": ex["text"][:1]}

class Prep:
    def __call__(self, ex):
        return {"t": ex["text"][:1]}

    def cut(self, ex):
        return {"t": ex["text"][:1]}

    @staticmethod
    def static(ex):
        return {"t": ex["text"][:1]}

class CFG:
    width = 1

class Fields:
    def __init__(self):
        self.width = 1
"""
CONSTANT = "WIDTH = 1\n"
# A module that a function reads is hashed with its values; its functions by their names.
PLAIN = 'def clean(ex):\n    return {"t": ex["text"][:1]}\n'

# Expressions whose fingerprint stays when prep.py is edited, with what is named.
STAYING = {
    "clean": "clean",
    "prep.clean": "prep.clean",
    "handed_on": "handed_on",
    "lambda ex: clean(ex)": "clean",
    "lambda ex: plain.clean(ex)": "plain.clean",
    "functools.partial(clean)": "clean",
    "partly": "clean",
    "outer": "clean",
    "Prep()": "Prep",
    "Prep().cut": "Prep.cut",
    "made.cut": "Prep.cut",
    "Prep.static": "Prep.static",
    "lambda ex: made(ex)": "Prep",
    'lambda ex: {"t": ex["text"][: CFG.width]}': "CFG.width",
    "lambda ex: {**clean(ex), **Prep.static(ex)}": "Prep.static, clean",
    "lambda ex, f: f(ex), fn_kwargs={'f': clean}": "clean",
}
# Expressions whose fingerprint an edit moves.
MOVING = (
    "decorated",
    "cut",
    'lambda ex: {"t": cached(ex["text"])}',
    "lambda ex: cut(ex)",
    'lambda ex: {"t": ex["text"][:WIDTH]}',
    'lambda ex: {"t": ex["text"][: fields.width]}',
)
MAIN = """import functools, os
import plain, prep
from constant import WIDTH
from hand_on import clean as handed_on
from prep import CFG, Fields, Prep, cached, clean, cut, decorated
from datasets import Dataset

ds = Dataset.from_dict({"text": ["alpha beta", "gamma"]})
made = Prep()
fields = Fields()
partly = functools.partial(clean)

def inner(ex):
    return clean(ex)

def outer(ex):
    return inner(ex)

"""
FILES = {"prep": PREP, "constant": CONSTANT, "plain": PLAIN, "hand_on": "from prep import clean\n"}
# Always in one folder: a module that is read is hashed with its path.
_WRITE = """import os, sys
sys.dont_write_bytecode = True
folder = os.environ["HF_HOME"]
width = "3" if "RUN_DIR" in os.environ else "1"
for name, text in {files!r}.items():
    with open(os.path.join(folder, name + ".py"), "w") as file:
        file.write(text.replace(":1]", ":" + width + "]").replace("width = 1", "width = " + width)
                   .replace("WIDTH = 1", "WIDTH = " + width))
sys.path.insert(0, folder)
"""


def program(function: str) -> str:
    return f"{MAIN}out = ds.map({function})\n"


def found(folder: Path, code: str) -> list[Hazard]:
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    (folder / "pyproject.toml").touch()
    return find_hazards(ast.parse(code), code, path=str(folder / "main.py"), project=Project())


@pytest.mark.parametrize("function", STAYING)
def test_code_of_another_module_that_is_hashed_by_its_name(function: str, tmp_path: Path) -> None:
    (hazard,) = found(tmp_path, program(function))
    assert isinstance(hazard, MapClosureHazard)
    assert hazard.strict
    assert hazard.captured == STAYING[function]


@pytest.mark.parametrize("function", MOVING)
def test_what_an_edit_of_another_module_moves(function: str, tmp_path: Path) -> None:
    assert found(tmp_path, program(function)) == []


@needs_datasets
def test_the_library_agrees_on_what_an_edit_moves() -> None:
    write = _WRITE.format(files=FILES)
    environments = ({"PYTHONHASHSEED": "0"}, {"PYTHONHASHSEED": "0", "RUN_DIR": "edited"})
    answers = run({name: write + program(name) for name in (*STAYING, *MOVING)}, environments)
    assert {name for name, fingerprints in answers.items() if moves(fingerprints)} == set(MOVING)


@pytest.mark.parametrize(
    "arguments",
    ['clean, new_fingerprint="v1"', "clean, load_from_cache_file=False", "clean, keep_in_memory=True"],
)
def test_nothing_is_said_where_the_name_decides_nothing(arguments: str, tmp_path: Path) -> None:
    assert found(tmp_path, program(arguments)) == []


@pytest.mark.parametrize(
    "arguments",
    ['lambda ex, version: clean(ex), fn_kwargs={"version": 2}', "functools.partial(clean, version=2)"],
)
def test_the_remedy_leaves_nothing_to_report(arguments: str, tmp_path: Path) -> None:
    assert found(tmp_path, program(arguments)) == []


def test_a_function_of_a_library_changes_with_its_version(tmp_path: Path) -> None:
    code = "from datasets import Dataset\nfrom textwrap import dedent\nfrom nltk import clean_html\n"
    code += (
        'ds = Dataset.from_dict({"text": ["a"]})\nds.map(clean_html)\nds.map(lambda ex: {"t": dedent(ex["text"])})\n'
    )
    assert found(tmp_path, code) == []


def test_one_statement_that_imports_two_functions_brings_two_findings(tmp_path: Path) -> None:
    code = program("clean").replace("out =", "first =") + "out = ds.map(Prep.static)\nagain = ds.map(clean)\n"
    hazards = found(tmp_path, code)
    assert [getattr(hazard, "captured", "") for hazard in hazards] == ["clean", "Prep.static"]
