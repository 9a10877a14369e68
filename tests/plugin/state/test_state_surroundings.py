"""Work that is left out where pytest alone runs around the tests, and is done where anybody else does."""

from __future__ import annotations

import os
import sys

import pytest

from pytest_tensorcheck.global_state import GlobalState, numpy_items, python_items
from pytest_tensorcheck.library_filters import LibraryFilters

HOOKS = """
    import os

    def pytest_runtest_logfinish(nodeid):
        os.environ["BETWEEN"] = nodeid
"""


def run(pytester, *args: str):
    return pytester.runpytest_inprocess(
        "-p", "pytest_tensorcheck.plugin", "-p", "no:cacheprovider", "--tensorcheck", *args
    )


@pytest.fixture(autouse=True)
def pytest_and_nobody_else(monkeypatch):
    """Other plugins have hooks around tests, and with them nothing is left out."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("BETWEEN", "")


def test_what_is_left_out(pytester, monkeypatch):
    from pytest_tensorcheck.global_state import GlobalState
    from pytest_tensorcheck.seeding import Seeder

    counts = {"snapshot": 0, "as_expected": 0, "apply": 0}
    for kind, name in ((GlobalState, "snapshot"), (GlobalState, "as_expected"), (Seeder, "apply")):
        original = getattr(kind, name)

        def counted(*args, name=name, original=original, **kwargs):
            counts[name] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(kind, name, counted)

    def cost_of_a_test() -> dict[str, int]:
        found = []
        for number in (10, 10, 20):  # the first only warms up
            counts.update(dict.fromkeys(counts, 0))
            pytester.makepyfile("".join(f"def test_{each}(): pass\n" for each in range(number)))
            run(pytester).assert_outcomes(passed=number)
            found.append(dict(counts))
        return {name: (found[2][name] - found[1][name]) // 10 for name in counts}

    assert cost_of_a_test() == {"snapshot": 0, "as_expected": 1, "apply": 1}
    pytester.makeconftest("def pytest_runtest_logfinish(): pass")
    assert cost_of_a_test() == {"snapshot": 0, "as_expected": 2, "apply": 3}


COUNTING = """
    import gc, sys
    import pytest

    class Counter:
        def pytest_sessionfinish(self):
            gc.collect()
            counts.append(len(gc.get_objects()))

    counts = []
    for number in (10, 10, 310):  # the first only warms up
        with open(f"test_of_{number}.py", "w") as file:
            file.write("".join(f"def test_{each}(): pass\\n" for each in range(number)))
        sys.modules.pop(f"test_of_{number}", None)
        arguments = ["-q", "-p", "no:cacheprovider", "-p", "pytest_tensorcheck.plugin", f"test_of_{number}.py"]
        assert pytest.main([*arguments, *sys.argv[1:]], plugins=[Counter()]) == 0
    print("kept:", (counts[2] - counts[1]) / 300)
"""


def test_a_quiet_test_leaves_nothing_for_the_rest_of_the_session(pytester):
    """What each test keeps, the garbage collection goes through; full ones, with torch's objects, come sooner."""
    script = pytester.makepyfile(counting=COUNTING)

    def kept_by_a_test(*args: str) -> float:
        (line,) = (line for line in pytester.run(sys.executable, script, *args).outlines if line.startswith("kept:"))
        return float(line.partition(" ")[2])

    bare = kept_by_a_test()
    assert kept_by_a_test("--tensorcheck") < bare + 1
    assert kept_by_a_test("--tensorcheck", "--tensorcheck-json", "found.json") > bare + 3  # a record of each test


def test_state_that_is_set_between_two_tests_is_nobodys_fault(pytester):
    pytester.makeconftest(HOOKS)
    pytester.makepyfile("def test_one(): pass\ndef test_two(): pass\ndef test_three(): pass")
    result = run(pytester, "--tensorcheck-state", "error")
    result.assert_outcomes(passed=3)
    assert "BETWEEN" not in result.stdout.str()


def test_state_that_a_plugin_of_the_middle_of_the_run_sets(pytester):
    """The plugin comes after the first test: what was known of the surroundings is asked again."""
    pytester.makepyfile(
        late="import os\ndef pytest_runtest_logfinish(nodeid): os.environ['BETWEEN'] = nodeid",
        test_it="""
        def test_one(): pass
        def test_two(pytestconfig):
            import late
            pytestconfig.pluginmanager.register(late)
        def test_three(): pass
        def test_four(): pass
        """,
    )
    pytester.syspathinsert()
    result = run(pytester, "--tensorcheck-state", "error")
    result.assert_outcomes(passed=4)


def test_a_leak_after_clean_tests_is_still_named_and_put_back(pytester):
    pytester.makepyfile(
        """
        import os
        import pytest

        @pytest.fixture(scope="module")
        def server():
            yield
            os.environ["BETWEEN"] = "by the teardown"

        def test_one(): pass
        def test_two(server): pass
        def test_leaks(): os.environ["BETWEEN"] = "by the test"
        def test_restores():
            os.environ["BETWEEN"] = "for a moment"
            os.environ["BETWEEN"] = ""
        def test_after(): assert os.environ["BETWEEN"] == ""
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=5)
    lines = [line for line in result.outlines if "BETWEEN" in line]
    assert any("'' → 'by the test', left by test_a_leak_after" in line for line in lines)
    assert not any("test_restores" in line or "test_one" in line for line in lines)


def test_hooks_of_a_conftest_draw_seeded_numbers(pytester):
    """A function without fixtures needs no seed for its setup, unless somebody else draws there."""
    pytester.makeconftest(
        """
        import random

        def pytest_runtest_setup(item): print("setup of", item.name, random.random())
        def pytest_runtest_teardown(item): print("teardown of", item.name, random.random())
        """
    )
    pytester.makepyfile(
        """
        import random

        def test_one(): print("one", random.random())
        def test_two(): print("two", random.random())
        """
    )

    def drawn(*args: str) -> set[str]:
        return {
            line.lstrip(".")
            for line in run(pytester, "-s", "-q", *args).outlines
            if line.rpartition(" ")[2].startswith("0.") and "passed" not in line
        }

    both, alone = drawn(), drawn("-k", "two")
    assert len(both) == 6
    assert len(alone) == 3
    assert alone < both


def test_a_test_alone_sees_its_numbers_after_tests_that_drew_others(pytester):
    pytester.makepyfile(
        """
        import random
        import pytest

        def test_one(): random.seed(3), random.random()
        def test_two(): print("two", random.random())

        class TestOther:
            @pytest.fixture
            def drawn(self):
                yield random.random()
                print("teardown", random.random())

            def test_three(self, drawn): print("three", drawn, random.random())
            def test_four(self): print("four", random.random())
        """
    )

    def drawn(*args: str) -> set[str]:
        words = ("two", "three", "teardown", "four")
        lines = [line.lstrip(".") for line in run(pytester, "-s", "-q", *args).outlines]
        return {line for line in lines if line.startswith(words)}

    full = drawn()
    assert len(full) == 4
    for name, count in (("two", 1), ("three", 2), ("four", 1)):
        alone = drawn("-k", name)
        assert len(alone) == count
        assert alone <= full


def test_numpys_error_state_is_read_again_when_it_was_changed():
    numpy = pytest.importorskip("numpy", reason="asks numpy")
    from pytest_tensorcheck.global_state import numpy_items

    items = numpy_items(numpy)

    def now() -> list[object]:
        return [item.get() for item in items]

    before = now()
    with numpy.errstate(divide="raise", call=print):
        assert now()[:2] == [numpy.geterr(), print]
    assert now() == before
    with numpy.printoptions(precision=3):
        assert now()[2] == numpy.get_printoptions() != before[2]
    old = numpy.seterr(over="ignore")
    assert now()[0] == numpy.geterr() != before[0]
    numpy.seterr(**old)
    assert now() == before


def _steady(state) -> None:
    """Expect what there is, and be asked until the witnesses are."""
    state.expected = state.snapshot()
    for _ in range(3):
        assert state.as_expected()
    assert state._compared.answers is not None


def _changes_of(item) -> list:
    """Other values of an item that its setter takes."""
    value = item.get()
    if item.name == "environment variable":
        return [{b"OF_A_TEST": b"1"}]
    if item.name == "os.environ":
        return [(id(other := dict(os.environ)), other)]
    if item.name == "working directory":
        return [os.path.dirname(value)]
    if item.name == "sys.path":
        return [["elsewhere", *value]]
    if item.name == "warning filters":
        return [value[1:]]
    if item.name == "numpy error state":
        return [{**value, "divide": "ignore"}, {**value, "over": "raise"}]
    if item.name == "numpy error callback":
        return [print]
    if item.name == "numpy print options":
        return [{**value, "precision": 3}, {**value, "threshold": 7}]
    return []


def _torch_changes_of(item) -> list:
    import torch

    value = item.get()
    if isinstance(value, bool):
        return [not value]
    if item.name.startswith("torch autocast ("):
        return [(True, value[1]), (False, torch.float64)]
    return {
        "torch default dtype": [torch.float64],
        "torch default device": [torch.device("meta")],
        "torch number of threads": [value + 1 if isinstance(value, int) else value],
        "torch print options": [{**value, "precision": 2}, {**value, "sci_mode": True}] if "print" in item.name else [],
        "torch.use_deterministic_algorithms": [1, 2],
        "torch float32 matmul precision": ["high", "medium"],
        "torch fp32_precision": [(*value[:at], "ieee", *value[at + 1 :]) for at in range(7)]
        if "fp32" in item.name
        else [],
        "torch anomaly mode": [(True, True), (True, False)],
        "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction": [(False, True), (False, False)],
        "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction": [(False, True), (False, False)],
    }[item.name]


def _each_change_is_seen(state, changes_of) -> list[str]:
    """Whether witnesses see what a snapshot sees; the names of the items that nothing here can change."""
    unchanged = []
    for item in state.items:
        if item.set is None or not (others := changes_of(item)):
            unchanged.append(item.name)
            continue
        for other in others:
            _steady(state)
            item.set(other)
            try:
                assert state.snapshot() != state.expected, f"{item.name} was not changed to {other}"
                assert not state.as_expected(), f"{item.name} → {other} was not seen"
            finally:
                state.put_back(state.changes(state.expected, state.snapshot()))
            assert state.as_expected(), item.name
    return unchanged


def test_witnesses_see_every_change_of_python_and_numpy():
    numpy = pytest.importorskip("numpy", minversion="2.0", reason="changes numpy's state")
    state = GlobalState([*python_items(LibraryFilters()), *numpy_items(numpy)])
    assert _each_change_is_seen(state, _changes_of) == []


def test_witnesses_see_every_change_of_torch():
    torch = pytest.importorskip("torch", reason="changes torch's state")
    from pytest_tensorcheck.torch_state import torch_items

    state = GlobalState(torch_items(torch))
    modes = {
        "torch function modes": torch.overrides.TorchFunctionMode(),
        "torch dispatch modes": torch.utils._python_dispatch.TorchDispatchMode(),
        "torch inference mode": torch.inference_mode(),
        "torch function overrides disabled": torch._C.DisableTorchFunction(),
    }
    # A process group needs a port; test_state_torch opens one.
    alone = {*modes, "torch default process group"}
    unchanged = _each_change_is_seen(state, lambda item: [] if item.name in alone else _torch_changes_of(item))
    assert set(unchanged) == alone
    for name, mode in modes.items():
        _steady(state)
        with mode:
            assert not state.as_expected(), name
        _steady(state)


def test_one_question_stands_for_a_third_of_the_items():
    """In a torch whose guard tells what it notes, as 2.13 does: else every item is asked by itself, and nothing is missed."""
    torch = pytest.importorskip("torch", minversion="2.13", reason="asks torch's guard")
    from pytest_tensorcheck.torch_state import torch_items

    guarded = [item.name for item in torch_items(torch) if "check" in {q.__name__ for q in _named(item)}]
    assert {"torch default dtype", "torch grad mode", "torch number of threads", "torch autocast cache"} <= set(guarded)
    assert len(guarded) == 8


def _named(item) -> list:
    return [question for question in (item.witness() if item.witness else ()) if hasattr(question, "__name__")]


def test_a_torch_without_the_guard_is_asked_item_by_item(monkeypatch):
    torch = pytest.importorskip("torch", reason="changes torch's state")
    from pytest_tensorcheck.torch_state import torch_items

    monkeypatch.delattr(torch._C, "_dynamo")
    state = GlobalState(torch_items(torch))
    _steady(state)
    with torch.no_grad():
        assert not state.as_expected()
    with torch.autocast("cpu"):
        assert not state.as_expected()


@pytest.mark.parametrize("kind", ["function", "dispatch"])
def test_a_mode_in_the_place_of_another_is_seen(kind):
    torch = pytest.importorskip("torch", reason="enters modes of torch")
    from pytest_tensorcheck.torch_state import torch_items

    modes = {"function": torch.overrides.TorchFunctionMode, "dispatch": torch.utils._python_dispatch.TorchDispatchMode}
    state = GlobalState(torch_items(torch))
    with modes[kind]():
        _steady(state)
    with modes[kind]():
        assert not state.as_expected()


def test_a_question_that_cannot_be_answered_is_no_answer(tmp_path, monkeypatch):
    """The folder is gone, or settings of torch contradict each other: the items are read one by one."""
    monkeypatch.chdir(tmp_path)
    state = GlobalState(python_items())
    _steady(state)
    (tmp_path / "gone").mkdir()
    os.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert not state.as_expected()
    os.chdir(tmp_path)
    assert state.as_expected()


def test_what_the_setup_of_a_package_sets_holds_for_all_of_its_tests(pytester):
    """And is the package's to put back, not the fault of its first test."""
    pytester.makepyfile(
        **{
            "a/__init__": """
            import os
            def setup_module(): os.environ["OF_PACKAGE"] = "set"
            def teardown_module(): del os.environ["OF_PACKAGE"]
            """,
            "a/test_one": "import os\ndef test_a(): assert os.environ['OF_PACKAGE'] == 'set'",
            "a/test_two": "import os\ndef test_b(): assert os.environ['OF_PACKAGE'] == 'set'",
            "b/__init__": "import os\ndef setup_module(): os.environ['LEFT_BY_B'] = 'yes'",
            "b/test_three": "import os\ndef test_c(): assert os.environ['LEFT_BY_B'] == 'yes'",
            "test_z": "import os\ndef test_d(): assert not {'OF_PACKAGE', 'LEFT_BY_B'} & set(os.environ)",
        }
    )
    result = run(pytester, "a", "b", "test_z.py")
    result.assert_outcomes(passed=4)
    said = [line for line in result.outlines if "environment variable" in line]
    assert len(said) == 1
    assert "__init__.py:1 " in said[0]
    assert "environment variable LEFT_BY_B: unset → 'yes', left by the setup of b" in said[0]


def test_setup_functions_are_named_by_their_own_lines(pytester):
    pytester.makepyfile(
        """
        import os, unittest

        def setup_module(): os.environ["BY_MODULE"] = "1"

        class TestA:
            @classmethod
            def setup_class(cls): os.environ["BY_CLASS"] = "1"
            def test_a(self): assert os.environ["BY_CLASS"]

        class TestB(unittest.TestCase):
            @classmethod
            def setUpClass(cls): os.environ["BY_CASE"] = "1"
            def test_b(self): assert os.environ["BY_CASE"] and os.environ["BY_MODULE"]
        """
    )
    said = [line.strip() for line in run(pytester).outlines if "environment variable" in line]
    file = "test_setup_functions_are_named_by_their_own_lines.py"
    assert sorted(said) == [
        f"{file}:11  environment variable BY_CASE: unset → '1', left by TestB.setUpClass",
        f"{file}:3  environment variable BY_MODULE: unset → '1', left by setup_module",
        f"{file}:6  environment variable BY_CLASS: unset → '1', left by TestA.setup_class",
    ]


def test_what_the_teardown_of_a_wider_fixture_leaves_is_the_fixtures(pytester):
    pytester.makepyfile(
        """
        import os
        import pytest

        @pytest.fixture(scope="class")
        def wide():
            os.environ["SET"] = "1"
            yield
            del os.environ["SET"]
            os.environ["AFTER"] = "1"

        class TestA:
            def test_a(self, wide): os.environ["OWN"] = "1"

        def test_b(): assert not {"SET", "AFTER", "OWN"} & set(os.environ)
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=2)
    said = sorted(line.split("variable ")[1] for line in result.outlines if "environment variable" in line)
    assert [line.split(":")[0] for line in said] == ["AFTER", "OWN"]
    assert said[0].endswith("left by the class fixture wide")
    assert "::TestA::test_a" in said[1]


@pytest.mark.parametrize("mode", ["prepend", "append", "importlib"])
def test_the_folder_that_pytest_imports_a_package_from_is_nobodys_leak(pytester, mode):
    """Between two packages another folder has come to the front, so pytest puts the package's there once more."""
    pytester.makepyfile(
        **{
            "suite/__init__": "",
            "suite/inner/__init__": "",
            "suite/inner/test_y": "def test_a(): pass",
            "suite/test_z": "def test_a(): pass",
            "tests/test_q": "def test_a(): pass",
        }
    )
    options = ("--tensorcheck-state", "error", "--import-mode", mode)
    run(pytester, "suite", "tests", *options).assert_outcomes(passed=3)
    result = run(pytester, "--doctest-modules", "suite", "tests", *options)
    result.assert_outcomes(passed=3)


def test_what_a_packages_own_setup_puts_into_the_path_is_a_leak(pytester):
    pytester.makepyfile(
        **{
            "suite/__init__": "import sys\n\ndef setup_module(): sys.path.insert(0, '/by/the/package')",
            "suite/test_z": "import sys\n\ndef test_a(): assert sys.path[0] == '/by/the/package'",
            "tests/test_q": "import sys\n\ndef test_a(): assert '/by/the/package' not in sys.path",
            "tests/test_r": "import sys\n\ndef test_b(): sys.path.append('/by/a/test')",
        }
    )
    result = run(pytester, "suite", "tests", "--tensorcheck-state", "error")
    result.assert_outcomes(passed=3, errors=2)
    result.stdout.fnmatch_lines(["E*the setup of suite left *sys.path: *", "E*test_b left *sys.path: *"])
