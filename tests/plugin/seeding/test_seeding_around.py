"""A test alone sees what it saw in the full run, whoever draws around it: hooks, markers, collectors, packages."""

from __future__ import annotations

import re

import pytest

HEAD = """
    import random
    def d(*words): print("\\nD", *words, random.random())
"""
TESTS = """
    from drawing import d
    def test_a(): d("a")
    def test_b(): d("b")
    def test_c(): d("c")
"""
# What is there besides the tests -> files. Every file has `d`.
PROJECTS = {
    "a wrapper of the call that draws": {
        "conftest": """
            import pytest
            from drawing import d

            @pytest.hookimpl(wrapper=True)
            def pytest_runtest_call(item):
                d("before", item.name)
                result = yield
                d("after", item.name)
                return result
            """
    },
    "a condition of a marker that draws": {
        "test_x": """
            import pytest
            from drawing import d

            def condition(name): d("condition", name)
            def test_a(): d("a")
            @pytest.mark.skipif("condition('b')", reason="never")
            def test_b(): d("b")
            @pytest.mark.xfail("condition('c')", reason="never")
            def test_c(): d("c")
            """
    },
    "a finalizer that a hook gives the test": {
        "conftest": """
            from drawing import d
            def pytest_pyfunc_call(pyfuncitem): pyfuncitem.addfinalizer(lambda: d("end of", pyfuncitem.name))
            """
    },
    "a setup that a hook puts on the test and on its module": {
        "conftest": """
            from drawing import d
            def pytest_collection_modifyitems(items):
                for item in items:
                    item.setup = lambda item=item: d("setup", item.name)
                    item.teardown = lambda item=item: d("teardown", item.name)
                    item.parent.setup = lambda: d("module")
            """
    },
    "a warning that is told": {
        "conftest": """
            from drawing import d
            def pytest_warning_recorded(nodeid): d("warned", nodeid)
            """,
        "test_x": """
            import warnings
            from drawing import d
            def test_a(): warnings.warn("a")
            def test_b(): warnings.warn("b")
            """,
    },
    "a package's setup_module": {
        "pack/__init__": """
            from drawing import d
            def setup_module(): d("setup of pack")
            def teardown_module(): d("teardown of pack")
            """,
        "pack/test_y": TESTS,
    },
    "files and items of one's own": {
        "conftest": """
            import pytest
            from drawing import d

            class Table(pytest.File):
                def collect(self): return [Row.from_parent(self, name=name) for name in ("r1", "r2")]
                def setup(self): d("setup of the table")
                def teardown(self): d("teardown of the table")

            class Row(pytest.Item):
                def setup(self): d("setup", self.name)
                def runtest(self): d("call", self.name)
                def teardown(self): d("teardown", self.name)

            def pytest_collect_file(file_path, parent):
                if file_path.name == "test_x.py":
                    return Table.from_parent(parent, path=file_path)
            """,
    },
}


def run(pytester, *args: str):
    result = pytester.runpytest_inprocess(
        "-p", "pytest_tensorcheck.plugin", "-p", "no:cacheprovider", "--tensorcheck", "-s", "-q", *args
    )
    assert result.ret == 0
    return result


def drawn(pytester, *args: str) -> list[str]:
    return [line for line in run(pytester, *args).outlines if line.startswith("D ")]


@pytest.mark.parametrize("files", PROJECTS.values(), ids=PROJECTS)
def test_a_test_alone_draws_what_it_drew_in_the_full_run(pytester, monkeypatch, files):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(**{"drawing": HEAD, "test_x": TESTS, **files})
    full = drawn(pytester)
    nodeids = [line for line in run(pytester, "--collect-only").outlines if re.match(r"\S+::\S+$", line)]
    assert len(nodeids) >= 2
    seen = set()
    for nodeid in nodeids:
        alone = drawn(pytester, nodeid)
        assert set(alone) <= set(full), nodeid
        seen.update(alone)
    assert seen == set(full)


def test_a_wrapper_of_the_call_that_seeds_is_respected(pytester, monkeypatch):
    """As a fixture is that seeds by hand."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(
        """
        import random
        import pytest

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call():
            random.seed(5)
            return (yield)
        """
    )
    pytester.makepyfile(
        """
        import random
        def test_a(): assert random.random() == random.Random(5).random()
        def test_b(): assert random.random() == random.Random(5).random()
        """
    )
    run(pytester)
