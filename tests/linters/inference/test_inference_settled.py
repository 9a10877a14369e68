"""Programs in other spellings than the rules' examples: the library says which are wrong, the linter finds just those."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CASES = [json.loads(line) for line in (Path(__file__).parent / "data" / "settled.jsonl").read_text().splitlines()]
RULES = "TSR101,TSR102,TSR111,TSR112,TSR201,TSR301"


def case_name(case: dict[str, Any]) -> str:
    return str(case["name"]).replace(" ", "-")


@pytest.mark.host
@pytest.mark.parametrize("case", CASES, ids=case_name)
@pytest.mark.filterwarnings("ignore")
def test_the_library_shows_what_the_program_does(case: dict[str, Any]) -> None:
    """`shows` holds after the run; without it, torch refuses the program's view."""
    pytest.importorskip("torch", reason="torch and numpy are the oracle")
    scope: dict[str, Any] = {"__name__": "settled"}
    if case["shows"] is None:
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            exec(case["code"], scope)
    else:
        exec(case["code"], scope)
        assert eval(case["shows"], scope)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The rules that speak about each program."""
    folder = tmp_path_factory.mktemp("settled")
    for case in CASES:
        (folder / f"{case_name(case)}.py").write_text(case["code"])
    command = [sys.executable, "-m", "tensorlint", "check", "--no-cache", "--select", RULES, "--output-format", "json"]
    done = subprocess.run([*command, "."], cwd=folder, capture_output=True, text=True)
    rules: dict[str, set[str]] = {case_name(case): set() for case in CASES}
    for finding in json.loads(done.stdout)["findings"]:
        rules[Path(finding["path"]).stem].add(finding["code"])
    return rules


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_the_linter_finds_the_mistakes_and_no_more(case: dict[str, Any], found: dict[str, set[str]]) -> None:
    assert found[case_name(case)] == ({case["rule"]} if case["rule"] else set())
