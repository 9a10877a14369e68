"""The programs really do what they are filed under: `datasets` itself says which fingerprint moves."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from fingerprint_oracle import moves, run
from fingerprint_programs import ROWS, codes, expected, programs, threads

from tensorlint.inference.fingerprints.dataset_vocabulary import FOREIGN_METHODS
from tensorlint.rules.hash_seed_dependent_map import HashSeedDependentMap
from tensorlint.rules.unseeded_map_parent import UnseededMapParent
from tensorlint.rules.unstable_map_closure import UnstableMapClosure

RULES = (UnstableMapClosure, HashSeedDependentMap, UnseededMapParent)
needs_datasets = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("datasets", "torch", "requests", "tqdm"))
    or sys.platform == "win32",
    reason="needs datasets and torch, and a system that forks",
)


def every_program() -> dict[str, tuple[str, bool]]:
    """Name -> program and whether its fingerprint moves."""
    found = {f"moving: {title}": (code, True) for title, code in programs("moving").items()}
    found |= {f"staying: {title}": (code, False) for title, code in programs("staying").items()}
    for case in threads():
        if "id" in case:
            found[f"bad {case['id']}"] = (case["bad"], True)
            found[f"good {case['id']}"] = (case["good"], False)
    for rule in RULES:
        for example in (*rule.flagged, *rule.silent):
            found[f"{rule.code}: {example.note}"] = (example.code, example in rule.flagged)
        for example in rule.flagged:
            if example.fixed is not None:
                found[f"{rule.code} fixed: {example.note}"] = (example.fixed, False)
    # A rule's example that is also in the data runs once.
    seen: set[str] = set()
    return {name: pair for name, pair in found.items() if not (pair[0] in seen or seen.add(pair[0]))}


@pytest.fixture(scope="module")
def fingerprints() -> dict[str, list[object]]:
    return run({name: code for name, (code, _) in every_program().items()})


@needs_datasets
def test_the_library_moves_the_fingerprint_of_exactly_the_programs_that_are_filed_as_moving(
    fingerprints: dict[str, list[object]],
) -> None:
    wrong = [name for name, (_, expects) in every_program().items() if moves(fingerprints[name]) is not expects]
    assert wrong == []


@needs_datasets
def test_no_dataset_of_the_library_has_a_method_that_is_said_to_be_foreign() -> None:
    import datasets

    kinds = (datasets.Dataset, datasets.DatasetDict, datasets.IterableDataset, datasets.IterableDatasetDict)
    assert [name for name in FOREIGN_METHODS for kind in kinds if hasattr(kind, name)] == []


def test_there_are_as_many_programs_as_a_rule_needs() -> None:
    assert len(programs("moving")) >= 30
    assert len(programs("staying")) >= 30
    for rule in RULES:
        assert len(rule.flagged) >= 12, rule.code
        assert len(rule.silent) >= 12, rule.code


@pytest.mark.parametrize("title", programs("moving"))
def test_a_moving_program_has_one_finding_of_its_rule(title: str) -> None:
    assert codes(programs("moving")[title]) == [expected(title)]


@pytest.mark.parametrize("title", programs("staying"))
def test_a_staying_program_has_no_finding(title: str) -> None:
    assert codes(programs("staying")[title]) == []


@pytest.mark.parametrize("title", programs("not_cached"))
def test_what_is_not_kept_under_a_fingerprint_has_no_finding(title: str) -> None:
    assert codes(programs("not_cached")[title].removeprefix(ROWS)) == []


@pytest.mark.parametrize("case", threads(), ids=lambda case: case.get("id", case["why"][:40]))
def test_the_bugs_of_public_threads(case: dict[str, str]) -> None:
    if "ok" in case:
        assert codes(case["ok"]) == []
        return
    assert len(codes(case["bad"])) == 1
    assert codes(case["good"]) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_examples_of_the_rules(rule: type[UnstableMapClosure]) -> None:
    for example in rule.flagged:
        assert codes(example.code) == [rule.code], example.note
        if example.fixed is not None:
            assert codes(example.fixed) == [], example.note
    for example in rule.silent:
        assert codes(example.code) == [], example.note
