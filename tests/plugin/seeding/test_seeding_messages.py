"""What a failing test says about its seed, and how the seeds live with other plugins."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import pytest


def run(pytester, *args: str, subprocess: bool = False, hypothesis: bool = False):
    runner = pytester.runpytest_subprocess if subprocess else pytester.runpytest_inprocess
    # Its plugin imports all of hypothesis at the end of every session.
    without = () if hypothesis else ("-p", "no:hypothesispytest")
    return runner("-p", "no:randomly", *without, *args)


def test_a_failure_shows_its_seed_and_a_command_that_reproduces_it(pytester):
    pytester.makepyfile(
        **{
            "sub/test_it": """
            import random
            import pytest

            @pytest.mark.parametrize("x", ["a b", "it's", "$HOME"])
            def test_draws(x):
                assert False, f"drew {random.random()}"
            """
        }
    )
    result = run(pytester, "--tensorcheck", "--tensorcheck-seed", "5", "-k", "b")
    output = result.stdout.str()
    drew = re.search(r"drew ([0-9.]+)", output)
    assert drew
    command = re.search(r"^reproduce: (.*)$", output, re.MULTILINE)
    assert command
    assert re.search(r"^seed \d+ \(base seed 5\)$", output, re.MULTILINE)
    # The command is run as the user would paste it: by a shell.
    pasted = command[1].replace("pytest ", f"{shlex.quote(sys.executable)} -m pytest -p no:randomly ", 1)
    again = subprocess.run(pasted, shell=True, capture_output=True, text=True, cwd=pytester.path, check=False)
    assert f"drew {drew[1]}" in again.stdout
    assert "1 failed" in again.stdout
    assert "deselected" not in again.stdout


def test_the_command_works_from_the_folder_pytest_was_called_in(pytester, monkeypatch):
    pytester.makeini("[pytest]\n")
    pytester.makepyfile(**{"sub/test_it": "def test_fails(): assert 0"})
    monkeypatch.chdir(pytester.path / "sub")
    result = run(pytester, "--tensorcheck")
    result.stdout.fnmatch_lines(["reproduce: *pytest test_it.py::test_fails --tensorcheck --tensorcheck-seed 0"])


def test_a_failure_in_setup_shows_it_too_and_a_pass_does_not(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def broken():
            raise ValueError("in setup")

        def test_broken(broken): pass
        def test_fine(): pass
        """
    )
    result = run(pytester, "--tensorcheck")
    result.assert_outcomes(errors=1, passed=1)
    assert result.stdout.str().count("reproduce: ") == 1


def test_the_marker_pins_the_seed_as_if_the_test_had_set_it(pytester):
    pytest.importorskip("torch", reason="compares with torch.manual_seed")
    pytest.importorskip("numpy", reason="compares with numpy.random.seed")
    pytester.makepyfile(
        """
        import random
        import numpy as np
        import pytest
        import torch

        @pytest.mark.tensorcheck(seed=42)
        def test_pinned(tensorcheck_seed):
            seen = random.random(), np.random.rand(), torch.rand(3).tolist()
            random.seed(42), np.random.seed(42), torch.manual_seed(42)
            assert seen == (random.random(), np.random.rand(), torch.rand(3).tolist())
            assert tensorcheck_seed == 42

        @pytest.mark.tensorcheck(seed=42)
        class TestAll:
            def test_method(self):
                assert random.random() == random.Random(42).random()

            @pytest.mark.tensorcheck(seed=43)
            def test_nearer(self):
                assert random.random() == random.Random(43).random()
        """
    )
    run(pytester, "--tensorcheck", "--tensorcheck-seed", "9").assert_outcomes(passed=3)


def test_a_fixture_that_seeds_by_hand_is_respected(pytester):
    pytest.importorskip("torch", reason="calls torch.manual_seed")
    pytest.importorskip("numpy", reason="calls numpy.random.seed")
    pytester.makepyfile(
        """
        import random
        import numpy as np
        import pytest
        import torch

        @pytest.fixture(autouse=True, scope="class")
        def class_seed():
            random.seed(0)

        class TestSeeded:
            @pytest.fixture
            def by_hand(self):
                np.random.seed(3), torch.manual_seed(3)

            def test_it(self, by_hand):
                assert np.random.rand() == np.random.RandomState(3).rand()
                assert torch.rand(()) == torch.rand((), generator=torch.Generator().manual_seed(3))
                assert random.random() != random.Random(0).random()  # the class's seed was for its own fixture
                assert False

            def test_next(self):
                assert np.random.rand() != np.random.RandomState(3).rand()
        """
    )
    result = run(pytester, "--tensorcheck")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["numpy, torch: seeded by a fixture of the test, which was respected"])


def test_the_wrapped_seed_functions_are_put_back(pytester):
    import random

    numpy = pytest.importorskip("numpy", reason="looks at numpy.random.seed")
    torch = pytest.importorskip("torch", reason="looks at torch.seed")
    before = (random.seed, numpy.random.seed, torch.seed, torch.random.seed, numpy.random.bit_generator.randbits)
    finders = list(sys.meta_path)
    pytester.makepyfile("def test_it(): pass")
    run(pytester, "--tensorcheck").assert_outcomes(passed=1)
    after = (random.seed, numpy.random.seed, torch.seed, torch.random.seed, numpy.random.bit_generator.randbits)
    assert all(old == new for old, new in zip(before, after, strict=True))
    assert [type(finder) for finder in sys.meta_path] == [type(finder) for finder in finders]


def test_unseeded_generators_are_reported_with_their_line_and_seeded_ones_are_not(pytester):
    pytest.importorskip("numpy", reason="makes numpy generators")
    pytest.importorskip("torch", reason="makes torch generators")
    pytester.makepyfile(
        """
        import copy, pickle
        import numpy as np
        import torch
        from numpy.random import default_rng, RandomState

        AT_IMPORT = default_rng()

        def test_unseeded():
            np.random.default_rng()
            default_rng(
                None
            )
            RandomState()
            np.random.Generator(np.random.PCG64())
            np.random.seed()
            torch.seed()

        def test_seeded():
            rng = np.random.default_rng(3)
            default_rng([1, 2]), RandomState(3), RandomState(seed=3), np.random.seed(3)
            np.random.Generator(np.random.MT19937(3)), np.random.SeedSequence(5).spawn(2)
            rng.bit_generator.jumped(), rng.spawn(2), copy.deepcopy(rng), pickle.loads(pickle.dumps(rng))
            copy.deepcopy(RandomState(3)), pickle.loads(pickle.dumps(RandomState(3)))
            torch.Generator(), torch.Generator().manual_seed(3)
        """
    )
    result = run(pytester, "--tensorcheck")
    result.assert_outcomes(passed=2)
    found = {}
    for line in result.outlines:
        if match := re.search(r"py:(\d+)  (.*) makes random numbers without a seed", line):
            found[int(match[1])] = match[2]
    assert found == {
        6: "default_rng()",
        9: "np.random.default_rng()",
        10: "default_rng(None)",
        13: "RandomState()",
        14: "np.random.PCG64()",
        15: "np.random.seed()",
        16: "torch.seed()",
    }


def test_what_a_library_makes_when_it_is_imported_is_not_the_users(pytester):
    pytest.importorskip("numpy", reason="makes numpy generators")
    pytester.makepyfile(
        **{
            "site-packages/a_library": """
            import numpy as np

            def grow(rng=np.random.default_rng()):  # as scikit-learn's histogram trees and scipy.stats do
                return rng

            def draw(rng=None):
                return np.random.default_rng(rng).random()
            """,
            "test_it": """
            import a_library

            def test_imports_it_again():
                import importlib
                importlib.reload(a_library).grow()

            def test_draws(): a_library.draw()
            """,
        }
    )
    pytester.syspathinsert(pytester.path / "site-packages")
    result = run(pytester, "--tensorcheck")
    result.assert_outcomes(passed=2)
    assert [line for line in result.outlines if "without a seed" in line] == [
        "random numbers without a seed: 1 finding in 1 test",
        "  test_it.py:7  np.random.default_rng(rng) in a_library, called from here makes random numbers without a seed",
    ]


def test_torch_generators_start_from_a_constant():
    """Why torch.Generator() is not reported."""
    torch = pytest.importorskip("torch", reason="asks torch")
    code = "import torch; print(torch.Generator().initial_seed())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(other) == torch.Generator().initial_seed()


@pytest.mark.other_plugins
def test_beside_pytest_randomly_the_order_is_its_and_the_seeds_are_ours(pytester):
    pytest.importorskip("pytest_randomly", reason="needs pytest-randomly")
    pytester.makepyfile(
        """
        import random

        def test_one(): print("one drew", random.random())
        def test_two(): print("two drew", random.random())
        def test_three(): print("three drew", random.random())
        """
    )

    def drawn(*args: str) -> tuple[set[str], str]:
        output = pytester.runpytest_subprocess("-s", "-v", "--tensorcheck", *args).stdout.str()
        return set(re.findall(r"\w+ drew [0-9.]+", output)), output

    alone, _ = drawn("-p", "no:randomly")
    one, output = drawn("-p", "randomly", "-p", "randomly", "--randomly-seed=1")
    two, _ = drawn("--randomly-seed=2")
    assert alone == one == two
    assert output.count("tensorcheck seeds the tests; pytest-randomly only orders them") == 1


def test_a_pytest_randomly_that_is_loaded_by_its_module_is_the_same(pytester):
    """As where PYTEST_DISABLE_PLUGIN_AUTOLOAD is set: pytest knows a plugin under the name that it was loaded by."""
    pytest.importorskip("pytest_randomly", reason="needs pytest-randomly")
    pytester.makepyfile(
        """
        import random
        import pytest

        @pytest.fixture(scope="module")
        def shared(): return [random.random()]
        def test_one(shared): shared.append(1)
        def test_two(shared):
            print("drew", random.random())
            assert not shared
        """
    )
    runs = [
        pytester.runpytest_subprocess("--tensorcheck", *args)
        for args in ((), ("-p", "pytest_randomly", "--randomly-dont-reorganize"))
    ]
    drawn = [re.search(r"drew [0-9.]+", run.stdout.str())[0] for run in runs]
    assert drawn[0] == drawn[1]
    runs[1].stdout.fnmatch_lines(["*pytest-randomly only orders them*", "reproduce: pytest -p no:pytest_randomly *"])


def test_a_rerun_says_that_it_used_the_same_seed(pytester):
    pytest.importorskip("pytest_rerunfailures", reason="needs pytest-rerunfailures")
    pytester.makepyfile(
        """
        import random
        DRAWN = []

        def test_flaky():
            DRAWN.append(random.random())
            assert len(DRAWN) > 1
            assert DRAWN[0] == DRAWN[1]

        def test_fails(): assert 0
        """
    )
    result = run(pytester, "--tensorcheck", "--reruns", "1")
    result.stdout.fnmatch_lines(["rerun 1: with the same seed as the first run"])
    result.stdout.fnmatch_lines(["*test_flaky failed once and then passed with the same random numbers*"])
    assert "test_fails failed once" not in result.stdout.str()
    assert "--tensorcheck-state" not in result.stdout.str()  # it is on already
    result = run(pytester, "--tensorcheck-state", "off", "--reruns", "1")
    result.stdout.fnmatch_lines(["*test_flaky failed once *(try --tensorcheck-state report, @pytest.mark*"])


def test_hypothesis_and_async_tests_are_seeded(pytester):
    pytest.importorskip("hypothesis", reason="needs hypothesis")
    pytest.importorskip("pytest_asyncio", reason="needs pytest-asyncio")
    pytester.makepyfile(
        """
        import random
        import pytest
        from hypothesis import given, settings, strategies as st

        @settings(derandomize=True, database=None, max_examples=5)
        @given(st.integers())
        def test_given(x):
            print("drew", x, random.random())

        @pytest.mark.asyncio
        async def test_async():
            print("async drew", random.random())
        """
    )

    def drawn(*args: str) -> list[str]:
        result = run(pytester, "-s", "--tensorcheck", *args, hypothesis=True)
        assert result.ret == 0
        return re.findall(r"drew .*", result.stdout.str())

    assert drawn() == drawn()
    assert drawn("-k", "async")[0] in drawn()


def test_a_sweep_names_the_seeds_a_test_fails_for(pytester):
    pytester.makepyfile(
        """
        import random
        import pytest

        SETUPS = []

        @pytest.fixture(scope="session")
        def data():
            SETUPS.append(1)
            return random.random()

        def test_flaky(data):
            assert data < 0.5

        def test_solid(data):
            assert SETUPS

        def test_wrong(): assert 0

        @pytest.mark.tensorcheck(seed=1)
        def test_pinned(): pass
        """
    )
    result = run(pytester, "--tensorcheck-seeds", "0-9")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        ["tests that fail in the sweep: 2 findings in 2 tests", "*test_wrong fails for 10 of 10 seeds*"]
    )
    output = result.stdout.str()
    failing = [int(n) for n in re.search(r"test_flaky fails for \d+ of 10 seeds: (.*)", output)[1].split(", ")]
    assert 0 < len(failing) < 10
    # Each seed of the sweep is the run that --tensorcheck-seed makes.
    for seed in (failing[0], next(n for n in range(10) if n not in failing)):
        alone = run(pytester, "--tensorcheck-seed", str(seed), "-k", "flaky")
        assert (alone.ret == 1) == (seed in failing)
    result.stdout.fnmatch_lines([f"reproduce: *test_flaky *--tensorcheck-seed {failing[0]}"])


@pytest.mark.parametrize("fixture", ["", "tmp_path"])
def test_each_seed_of_a_sweep_reaches_the_body_of_a_test(pytester, fixture):
    """Also of one without fixtures, whose seeds are made for all tests at once."""
    pytester.makepyfile(f"import random\ndef test_own({fixture}): assert random.random() < 0.5")
    output = run(pytester, "--tensorcheck-seeds", "0-9").stdout.str()
    failing = [int(n) for n in re.search(r"test_own fails for \d+ of 10 seeds: (.*)", output)[1].split(", ")]
    assert failing == [n for n in range(10) if run(pytester, "--tensorcheck-seed", str(n)).ret == 1]


@pytest.mark.parametrize(("text", "wanted"), [("0-99", 100), ("7", 1), ("1,5,10-12,5", 5)])
def test_seed_lists(text, wanted):
    from pytest_tensorcheck.options import parse_seeds

    assert len(parse_seeds(text)) == wanted


def test_workers_share_the_cores(pytester, monkeypatch):
    pytest.importorskip("torch", reason="counts torch's threads")
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    pytester.makepyfile(
        f"""
        import torch

        def test_threads():
            assert torch.get_num_threads() <= max(1, {cores} // 2)
            assert 0
        """
    )
    result = run(pytester, "--tensorcheck", "-n", "2", subprocess=True)
    threads = re.search(r"reproduce: OMP_NUM_THREADS=(\d+) pytest", result.stdout.str())
    assert threads
    assert int(threads[1]) == max(1, cores // 2)
    result.stdout.fnmatch_lines(["E*assert 0"])


def test_what_the_user_said_about_threads_stands(monkeypatch):
    from pytest_tensorcheck.worker_threads import available_cores, threads_of_worker

    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "2")
    assert threads_of_worker(None) == max(1, available_cores() // 2)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads_of_worker(None) is None
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT")
    assert threads_of_worker(None) is None
