"""Every example of every rule: what it is flagged for, what its fix is, and what running it shows."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
import warnings
from importlib.util import find_spec

import pytest

from tensorlint.example_tests import flagged_failure, silent_failure
from tensorlint.rules.registry import load
from tensorlint.rules.rule import AnyRule, Example

REGISTRY = load()
# Our own rules are tried together: one fault is not to be reported twice, and a silent program is silent.
DEFAULTS = frozenset(rule.code for rule in REGISTRY if rule.default == "on")


def examples(kind: str) -> list[object]:
    return [
        pytest.param(rule, example, id=f"{rule.code}-{number}")
        for rule in REGISTRY
        for number, example in enumerate(getattr(rule, kind), 1)
    ]


@pytest.mark.parametrize(("rule", "example"), examples("flagged"))
def test_flagged(rule: AnyRule, example: Example):
    assert flagged_failure(rule, example, REGISTRY, DEFAULTS) is None


@pytest.mark.parametrize(("rule", "example"), examples("silent"))
def test_silent(rule: AnyRule, example: Example):
    assert silent_failure(rule, example, REGISTRY, DEFAULTS) is None


@pytest.mark.parametrize("rule", list(REGISTRY), ids=lambda rule: rule.code)
def test_there_are_enough_and_they_are_different(rule: AnyRule):
    for kind in ("flagged", "silent"):
        codes = [ast.dump(ast.parse(example.code)) for example in getattr(rule, kind)]
        enough = 12 if rule.code < "TSR9" else 1  # from TSR900 on they are about tensorlint's own functions
        assert len(codes) >= enough, f"{rule.code} has {len(codes)} {kind} examples"
        assert len(set(codes)) == len(codes)


def _run(code: str) -> dict[str, object]:
    """Runs a program; what it prints and warns about is not of interest here."""
    namespace: dict[str, object] = {"__name__": "example"}
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "<example>", "exec"), namespace)
    return namespace


def _needs(code: str) -> list[str]:
    """The libraries that a program imports and that are not installed."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return sorted(name for name in names - sys.stdlib_module_names if find_spec(name) is None)


def runnable() -> list[object]:
    return [
        pytest.param(example, id=f"{rule.code}-{kind}-{number}")
        for rule in REGISTRY
        for kind in ("flagged", "silent")
        for number, example in enumerate(getattr(rule, kind), 1)
        if example.raises or example.shows
    ]


@pytest.mark.parametrize("example", runnable())
def test_running_it_shows_what_the_example_says(example: Example):
    """The library is the judge: torch raises what is quoted, or the expression is true afterwards."""
    if missing := _needs(example.code):
        pytest.skip(f"needs {', '.join(missing)}")
    if "torch" in example.code:
        import torch

        torch.manual_seed(0)
    if example.raises:
        kind, _, message = example.raises.partition(": ")
        with pytest.raises(Exception) as caught:
            _run(example.code)
        assert caught.type.__name__ == kind
        assert message in str(caught.value)
    else:
        namespace = _run(example.code)
        assert eval(example.shows or "", namespace)
    if example.fixed is not None:
        _run(example.fixed)  # whatever it was, the fixed program runs
