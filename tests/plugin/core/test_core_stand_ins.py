"""Tests of code that does without a library put something in its place: None, a mock, an empty module."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="a library to be replaced")
pytest.importorskip("numpy", reason="a library to be replaced")

TESTS = """
    import random
    import sys
    import types
    from importlib.machinery import ModuleSpec
    from unittest import mock
    import numpy
    import pytest
    import torch

    def stub(name):
        module = types.ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        return module

    MAKE = {
        "None": lambda name: None, "Mock": lambda name: mock.Mock(), "MagicMock": lambda name: mock.MagicMock(),
        "module": types.ModuleType, "stub": stub, "object": lambda name: types.SimpleNamespace(),
    }
    NAMES = [("torch",), ("numpy",), ("numpy", "numpy.random"), ("torch", "numpy", "numpy.random")]

    def drawn(): return random.random(), float(numpy.random.rand()), float(torch.rand(()))

    every = pytest.mark.parametrize("kind", MAKE)
    replaced = pytest.mark.parametrize("names", NAMES, ids="+".join)

    @pytest.fixture
    def without(monkeypatch, kind, names):
        for name in names:
            monkeypatch.setitem(sys.modules, name, MAKE[kind](name))

    @every
    @replaced
    def test_of_a_fixture(without, kind, names): print("\\nDRAWN", kind, names, drawn())

    @every
    @replaced
    def test_of_its_own(kind, names):
        with mock.patch.dict(sys.modules, {name: MAKE[kind](name) for name in names}):
            random.random()  # under a dispatch mode torch imports itself from sys.modules at each operation
        print("\\nDRAWN", kind, names, drawn())

    @every
    @replaced
    def test_of_its_own_until_teardown(monkeypatch, kind, names):
        for name in names:
            monkeypatch.setitem(sys.modules, name, MAKE[kind](name))

    @pytest.fixture(scope="module")
    def for_a_module():
        saved = dict(sys.modules)
        sys.modules.update({"torch": None, "numpy": mock.Mock(), "numpy.random": mock.Mock()})
        yield drawn()
        sys.modules.update({name: saved[name] for name in ("torch", "numpy", "numpy.random")})

    def test_of_a_wider_fixture(for_a_module): print("\\nDRAWN", for_a_module, drawn())
    def test_after_it(): print("\\nDRAWN", drawn())
"""


@pytest.mark.parametrize(
    "options",
    [["--tensorcheck"], ["--tensorcheck-state=error", "--tensorcheck-numerics=report"]],
    ids=["defaults", "further checks"],
)
def test_stand_ins_neither_stop_a_run_nor_change_its_numbers(pytester, options):
    pytester.makepyfile(TESTS)

    def drawn(*further):
        result = pytester.runpytest_subprocess("-s", "-q", "-p", "no:randomly", *options, *further)
        result.assert_outcomes(passed=74 if not further else 26)
        return [line for line in result.stdout.lines if line.startswith("DRAWN")]

    lines = drawn()
    assert len(lines) == 50
    # What takes torch's place for a fixture is not torch's generator that somebody has seeded.
    assert drawn("-k", "of_a_fixture or wider or after_it") == [*lines[:24], *lines[-2:]]
    assert len({line.rpartition("(")[2] for line in lines}) == 50


@pytest.mark.parametrize("value", ["None", "mock.Mock()", "types.ModuleType('x')"])
def test_a_library_that_is_ruled_out(pytester, monkeypatch, value):
    """As suites do that must run without it; it is ruled out before any of it is loaded, and to the end."""
    pytester.makepyfile(
        sitecustomize=f"""
            import sys, types
            from unittest import mock
            for name in ("numpy", "torch"):
                sys.modules[name] = {value}
            """,
        test_x="""
            import os, random
            def test_a(): os.environ["LEFT"] = str(random.random())
            def test_b(numpy_rng): pass
            """,
    )
    pytester.syspathinsert()
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    result = pytester.runpytest_subprocess("-p", "pytest_tensorcheck.plugin", "--tensorcheck", "-k", "test_a")
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(["*environment variable LEFT: unset*"])
