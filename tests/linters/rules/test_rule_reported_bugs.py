"""Bugs as people report them, restated as programs beside their repair, and right programs that look like them.

The libraries say which are wrong: a program raises, or what it shows is true after the run. The rules find the
mistakes, and nothing else. `source` is the public thread; without one the program is modelled on what is often asked.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"
BUGS: list[dict[str, Any]] = [json.loads(line) for line in (DATA / "reported_bugs.jsonl").read_text().splitlines()]
RIGHT: list[dict[str, Any]] = [json.loads(line) for line in (DATA / "look_alikes.jsonl").read_text().splitlines()]
RULES = {"view": {"TSR201"}, "broadcast": {"TSR111", "TSR112"}, "rank1": {"TSR101", "TSR102"}}
# Reported by no rule: each is a gap of the inference, named here so that it is closed on purpose.
MISSED = {
    "loader collates columns of a stacked batch": "whether 16 cuts through an axis depends on how many samples come",
    "division that guards against zero": "the column is asked for in the expression itself",
    "errors per atom": "the column is asked for in the expression itself",
    "a covariance scaled back": "which rows and columns a product was to scale is not in the shapes",
    "boundary values in a row": "a column and a row of two axes each are what a table is made of",
    "a column of weights read from a table": "how many axes loadtxt gives depends on the file, and nothing tells",
    "torch gradient outer product for a Fisher matrix": "the gradients of model.parameters() are not known to be tensors",
    "per-task accuracy of incremental learning": "the k is the number of classes that are met, which may be one",
    "gradients flattened by a quasi-Newton step": "nothing is known of x.grad, which a program may set",
    "flat views of parameters in channels-last": "what model.parameters() gives is not known to be tensors of one layout",
    "a mask of pairs loses its diagonal": "nonzero may find one place, and then the view is legal",
}


def slug(name: str) -> str:
    return re.sub(r"\W+", "-", name)


def named(case: dict[str, Any]) -> str:
    return slug(case["name"])


def run(code: str) -> dict[str, Any]:
    pytest.importorskip("torch", reason="torch and numpy are the oracle")
    for library in ("sklearn", "pandas"):
        if f"import {library}" in code or f"from {library}" in code:
            pytest.importorskip(library, reason=f"the program uses {library}")
    scope: dict[str, Any] = {"__name__": "reported"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, scope)
    return scope


@pytest.mark.parametrize("case", BUGS, ids=named)
@pytest.mark.filterwarnings("ignore")
def test_the_library_shows_the_bug_and_its_repair(case: dict[str, Any]) -> None:
    if case["raises"]:
        with pytest.raises(Exception) as raised:
            run(case["bad"])
        assert type(raised.value).__name__ == case["raises"]
        assert case["family"] != "view" or "view size is not compatible" in str(raised.value)
    else:
        assert eval(case["shows"], run(case["bad"]))
    run(case["good"])


@pytest.mark.parametrize("case", RIGHT, ids=named)
@pytest.mark.filterwarnings("ignore")
def test_a_look_alike_runs(case: dict[str, Any]) -> None:
    run(case["code"])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The rules that speak about each program, by the name of its file."""
    folder = tmp_path_factory.mktemp("reported")
    for case in BUGS:
        for kind in ("bad", "good"):
            (folder / f"{kind}-{named(case)}.py").write_text(case[kind])
    for case in RIGHT:
        (folder / f"right-{named(case)}.py").write_text(case["code"])
    command = [sys.executable, "-m", "tensorlint", "check", "--no-cache", "--output-format", "json", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    rules: dict[str, set[str]] = {path.stem: set() for path in folder.glob("*.py")}
    for finding in json.loads(done.stdout)["findings"]:
        rules[Path(finding["path"]).stem].add(finding["code"])
    return rules


@pytest.mark.parametrize("case", BUGS, ids=named)
def test_the_bug_is_reported_and_its_repair_is_not(case: dict[str, Any], found: dict[str, set[str]]) -> None:
    codes = found[f"bad-{named(case)}"]
    assert codes <= RULES[case["family"]]
    assert bool(codes) != (case["name"] in MISSED)
    assert found[f"good-{named(case)}"] == set()


@pytest.mark.parametrize("case", RIGHT, ids=named)
def test_a_look_alike_is_left_alone(case: dict[str, Any], found: dict[str, set[str]]) -> None:
    assert found[f"right-{named(case)}"] == set()
