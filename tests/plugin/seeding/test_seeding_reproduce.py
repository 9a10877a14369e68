"""One test alone sees the numbers that it saw in the full run: in any order, under xdist, with session fixtures."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy", reason="compares numpy's numbers")
torch = pytest.importorskip("torch", reason="compares torch's numbers")

# Every place a test can draw numbers in. `draw` writes (who, numbers) to a file.
DRAW = """
    import json, os, random
    import numpy as np
    import torch

    def draw(who):
        numbers = [random.random(), float(np.random.rand()), float(torch.rand(())), random.gauss(0, 1)]
        with open(os.environ["DRAWS"], "a") as file:
            file.write(json.dumps([who, numbers]) + "\\n")
        return numbers
"""
CONFTEST = """
    import os
    import pytest
    from draws import draw

    @pytest.fixture(scope="session")
    def model():
        yield draw("session fixture")
        draw("session fixture teardown")

    @pytest.fixture(scope="session", params=["a", "b"])
    def variant(request):
        return draw(f"session fixture variant {request.param}")

    @pytest.fixture(scope="module", autouse=True)
    def data(request):
        return draw(f"module fixture of {request.node.nodeid}")

    @pytest.fixture
    def own(request):
        yield draw(f"{request.node.nodeid} fixture")
        draw(f"{request.node.nodeid} teardown")

    def pytest_collection_modifyitems(items):
        if os.environ.get("REVERSE"):
            items.reverse()
"""
MODULE = """
    import unittest
    import pytest
    import torch
    from draws import draw

    AT_IMPORT = draw(f"import of {__name__}")

    def test_plain(request, own):
        draw(request.node.nodeid)

    def test_session(request, own, model):
        draw(request.node.nodeid)

    def test_variant(request, variant, model):
        draw(request.node.nodeid)

    @pytest.mark.parametrize("x", ["a b", "c"])
    def test_parameter(request, x):
        draw(request.node.nodeid)

    def test_workers(request):
        loader = torch.utils.data.DataLoader(torch.arange(8), shuffle=True, num_workers=0)
        with open(__import__("os").environ["DRAWS"], "a") as file:
            file.write(__import__("json").dumps([request.node.nodeid, [int(x) for x in loader]]) + "\\n")

    class TestClass:
        @pytest.fixture(scope="class")
        def shared(self, request):
            return draw(f"class fixture of {request.node.nodeid}")

        def test_in_class(self, request, shared, model):
            draw(request.node.nodeid)

    class OldStyle(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            draw(f"setUpClass {cls.__module__}")

        def setUp(self):
            draw(f"setUp {self.id()}")

        def test_old_style(self):
            draw(self.id())
"""


@pytest.fixture
def project(pytester, monkeypatch):
    pytester.makepyfile(draws=DRAW)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_one=MODULE, test_two=MODULE)
    monkeypatch.syspath_prepend(str(pytester.path))
    return pytester


def draws(pytester, monkeypatch, *args: str, subprocess: bool = False) -> dict[str, str]:
    """who → the numbers it drew. The same one may draw several times (a session fixture in each worker): same numbers."""
    file = Path(pytester.path, "draws.jsonl")
    file.unlink(missing_ok=True)
    monkeypatch.setenv("DRAWS", str(file))
    run = pytester.runpytest_subprocess if subprocess else pytester.runpytest_inprocess
    result = run("-p", "no:randomly", "-p", "no:hypothesispytest", "-q", "--tensorcheck", *args)
    assert result.ret == 0, result.stdout.str()
    found: dict[str, str] = {}
    for line in file.read_text().splitlines():
        who, drawn = json.loads(line)
        numbers = json.dumps(drawn)
        assert found.setdefault(who, numbers) == numbers, f"{who} drew other numbers the second time"
    return found


def test_a_test_alone_sees_what_it_saw_in_the_full_run(project, monkeypatch):
    full = draws(project, monkeypatch)
    assert len(full) > 30
    assert len(set(full.values())) == len(full), "two of them drew the same numbers"
    for nodeid in (
        "test_one.py::test_session",
        "test_two.py::test_plain",
        "test_two.py::test_variant[b]",
        "test_one.py::test_parameter[a b]",
        "test_two.py::TestClass::test_in_class",
        "test_two.py::OldStyle::test_old_style",
        "test_one.py::test_workers",
    ):
        alone = draws(project, monkeypatch, nodeid)
        assert alone.items() <= full.items(), nodeid
        assert len(alone) >= 2


def test_order_does_not_matter(project, monkeypatch):
    full = draws(project, monkeypatch)
    monkeypatch.setenv("REVERSE", "1")
    assert draws(project, monkeypatch) == full


def test_xdist_gives_the_same_numbers(project, monkeypatch):
    full = draws(project, monkeypatch, "-p", "no:cacheprovider")
    assert draws(project, monkeypatch, "-n", "2", subprocess=True) == full


def test_last_failed_gives_the_same_numbers(project, monkeypatch):
    project.makepyfile(
        test_three="""
        import os
        from draws import draw

        def test_fails_at_first(request, model):
            draw(request.node.nodeid)
            assert "FAIL" not in os.environ

        def test_other(request):
            draw(request.node.nodeid)
        """
    )
    full = draws(project, monkeypatch)
    monkeypatch.setenv("FAIL", "1")
    project.runpytest_inprocess("-p", "no:randomly", "-q", "--tensorcheck")
    monkeypatch.delenv("FAIL")
    again = draws(project, monkeypatch, "--lf")
    assert "test_three.py::test_fails_at_first" in again
    assert "test_three.py::test_other" not in again
    assert again.items() <= full.items()


def test_the_base_seed_changes_every_number(project, monkeypatch):
    zero, seven = draws(project, monkeypatch), draws(project, monkeypatch, "--tensorcheck-seed", "7")
    assert zero.keys() == seven.keys()
    assert not [who for who in zero if zero[who] == seven[who]]
    assert draws(project, monkeypatch, "--tensorcheck-seed", "7") == seven


def test_a_seed_drawn_at_random_is_printed_and_reproduces(project, monkeypatch):
    monkeypatch.setenv("DRAWS", "/dev/null")
    result = project.runpytest_inprocess("-p", "no:randomly", "--tensorcheck-seed", "random", "-k", "plain")
    header = next(line for line in result.outlines if line.startswith("tensorcheck "))
    seed = header.partition("seed ")[2].partition(";")[0]
    assert seed.isdecimal()
    assert seed != "0"
    result = project.runpytest_inprocess("-p", "no:randomly", "-q", "--tensorcheck-seed", "random", "-k", "plain")
    [line] = [line for line in result.outlines if "seed" in line]
    assert line.partition("seed ")[2].isdecimal()
    result = project.runpytest_inprocess("-p", "no:randomly", "-q", "--tensorcheck-seed", "7", "-k", "plain")
    assert "seed" not in result.stdout.str()


def test_libraries_imported_in_the_middle_of_a_test_are_seeded(pytester, monkeypatch):
    """torch and numpy seed themselves from the operating system on import."""
    pytester.makepyfile(
        """
        import json, os, sys

        def note(who, *numbers):
            with open(os.environ["DRAWS"], "a") as file:
                file.write(json.dumps([who, numbers]) + "\\n")

        def test_first():
            assert "torch" not in sys.modules
            import random, numpy, torch
            note("first", random.random(), numpy.random.rand(), torch.rand(()).item())

        def test_second():
            import random, torch, numpy
            note("second", random.random(), numpy.random.rand(), torch.rand(()).item())
        """
    )
    full = draws(pytester, monkeypatch, subprocess=True)
    second = draws(pytester, monkeypatch, "-k", "second", subprocess=True)
    assert set(full) == {"first", "second"}
    assert second["second"] == full["second"]  # there torch is imported in the middle of it


@pytest.mark.parametrize(
    ("name", "options", "content"),
    [
        ("pkg/module.py", ["--doctest-modules"], '"""\n>>> 1 + 1\n3\n"""\n'),
        ("pkg/guide.rst", [], ">>> 1 + 1\n3\n"),
        ("pkg/guide.md", ["--doctest-glob=*.md"], ">>> 1 + 1\n3\n"),
    ],
)
def test_the_command_of_a_failing_doctest_finds_it(pytester, name, options, content):
    path = pytester.path / name
    path.parent.mkdir()
    path.write_text(content)
    (pytester.path / "pytest.ini").write_text("[pytest]\n")
    common = ("-p", "no:randomly", "-p", "no:hypothesispytest")
    result = pytester.runpytest_inprocess(*common, "--tensorcheck", *options, name)
    result.assert_outcomes(failed=1)
    [command] = [line.partition("reproduce: ")[2] for line in result.outlines if "reproduce: " in line]
    words = shlex.split(command)
    again = pytester.runpytest_inprocess(*common, *words[words.index("pytest") + 1 :])
    again.assert_outcomes(failed=1)
