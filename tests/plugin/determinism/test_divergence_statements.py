"""What the text of the user's code says: sources of change, and the lines a value comes from. Needs no torch."""

from __future__ import annotations

import itertools
import os
import random
import secrets
import textwrap
import time

import pytest

from pytest_tensorcheck.determinism.causes import Cause
from pytest_tensorcheck.determinism.sources import Scope, find_sources
from pytest_tensorcheck.determinism.statements import local_sets, module_names, slice_of_function, statements


def sources_of(tmp_path, line, **names):
    path = tmp_path / "program.py"
    path.write_text(line + "\n")
    scope = Scope({"time": time, "os": os, "random": random, "secrets": secrets, "itertools": itertools, **names}, {})
    return find_sources(str(path), 1, scope, {id(value) for value in names.values()})


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("x = time.time()", Cause.PYTHON),
        ("x = 1.0 + time.perf_counter_ns() * 2", Cause.PYTHON),
        ("data = os.urandom(8)", Cause.GENERATOR),
        ("n = secrets.randbelow(3)", Cause.GENERATOR),
        ("r = random.Random()", Cause.GENERATOR),
        ("random.seed()", Cause.GENERATOR),
        ("random.seed(None)", Cause.GENERATOR),
        ("names = os.listdir('.')", Cause.ORDER),
        ("for x in {1, 2}: pass", Cause.ORDER),
        ("xs = [x for x in set([1])]", Cause.ORDER),
        ("xs = list(frozenset([1]))", Cause.ORDER),
        ("x = [] if time.time() else {}", Cause.PYTHON),
    ],
)
def test_flagged(tmp_path, line, cause):
    assert [source.cause for source in sources_of(tmp_path, line)] == [cause]


@pytest.mark.parametrize(
    "line",
    [
        "time.sleep(0)",
        "r = random.Random(3)",
        "random.seed(3)",
        "x = random.random()",  # the global generator is put back between the runs
        "names = sorted(os.listdir('.'))",
        "names = sorted(str(x) for x in {1, 2})",
        "n = len(list({1, 2}))",
        "for x in sorted({1, 2}): pass",
        "x = 3 in {1, 2}",
        "for x in [1, 2]: pass",
        "x = unknown.time()",
        "y = len({1, 2})",
    ],
)
def test_silent(tmp_path, line):
    assert sources_of(tmp_path, line) == []


def test_an_alias_is_known_by_the_object_it_names(tmp_path):
    (source,) = sources_of(tmp_path, "x = now()", now=time.monotonic)
    assert source.cause is Cause.PYTHON
    assert sources_of(tmp_path, "x = time()", time=lambda: 0) == []


def test_a_generator_that_outlived_the_run_is_carried_over(tmp_path):
    (source,) = sources_of(tmp_path, "x = dice.random()", dice=random.Random(1))
    assert source.cause is Cause.CARRIED_GENERATOR


def test_a_property_of_the_users_object_is_not_run(tmp_path):
    class Loud:
        @property
        def clock(self):
            raise AssertionError("ran")

    assert sources_of(tmp_path, "x = loud.clock.now()", loud=Loud()) == []


@pytest.fixture
def program(tmp_path):
    def write(text):
        path = tmp_path / "written.py"
        path.write_text(textwrap.dedent(text))
        return str(path)

    return write


def test_the_slice_holds_what_a_value_comes_from_and_nothing_else(program):
    path = program(
        """\
        import time
        def run(x):
            seed = time.time()
            other = time.time()
            scale = seed * 2
            if x:
                y = x * scale
            return y
        """
    )
    assert sorted(slice_of_function(path, 7)) == [3, 5, 6, 7]


def test_two_statements_on_a_line_are_one(program):
    path = program("if late: x = late_scale(x)\n")
    statement = statements(path)[1]
    assert {"late", "x", "late_scale"} <= statement.loads
    assert statement.stores == {"x"}


def test_sets_and_imports_are_read_from_the_text(program):
    path = program(
        """\
        from time import time as now
        import os.path
        def run():
            names = {"a", "b"}
            other = set(names)
            fixed = ["a"]
            return names
        """
    )
    assert set(local_sets(path, 7)) == {"names", "other"}
    assert module_names(path) == {"now": time.time, "os": os}


def test_a_file_that_cannot_be_parsed_says_nothing(program):
    assert statements(program("def (:\n")) == {}
    assert statements("nowhere.py") == {}
