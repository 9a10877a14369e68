"""Global state: what a test leaves changed is named (old → new), put back, and blamed on nobody else."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy", reason="changes numpy's state")
torch = pytest.importorskip("torch", reason="changes torch's state")

# What a test may do -> what the report says about it.
LEAKS = {
    "torch.set_default_dtype(torch.float64)": "torch default dtype: torch.float32 → torch.float64",
    "torch.set_default_device('meta')": "torch default device: cpu → meta",
    "torch.set_grad_enabled(False)": "torch grad mode: True → False",
    "KEPT.append(torch.inference_mode()); KEPT[0].__enter__()": "torch inference mode: False → True",
    "torch.use_deterministic_algorithms(True)": "torch.use_deterministic_algorithms: False → True",
    "torch.use_deterministic_algorithms(True, warn_only=True)": "torch.use_deterministic_algorithms: False → True (warn only)",
    "torch.backends.cudnn.benchmark = True": "torch.backends.cudnn.benchmark: False → True",
    "torch.backends.cudnn.deterministic = True": "torch.backends.cudnn.deterministic: False → True",
    "torch.set_float32_matmul_precision('high')": "torch float32 matmul precision: 'highest' → 'high'",
    "torch.utils.deterministic.fill_uninitialized_memory = False": "fill_uninitialized_memory: True → False",
    "torch.set_num_threads(3)": "torch number of threads: 1 → 3",
    "torch.autograd.set_detect_anomaly(True)": "torch anomaly mode: off → on",
    "torch.autocast('cpu', dtype=torch.bfloat16).__enter__()": "torch autocast (cpu): off, torch.bfloat16 → on",
    "torch.set_printoptions(precision=2)": "torch print options: precision=4 → precision=2",
    "torch.overrides.BaseTorchFunctionMode().__enter__()": "torch function modes: none → BaseTorchFunctionMode",
    "LeftMode().__enter__()": "torch dispatch modes: none → LeftMode",
    "np.seterr(divide='raise')": "numpy error state: divide='warn' → divide='raise'",
    "np.set_printoptions(precision=2)": "numpy print options: precision=8 → precision=2",
    "os.environ['MODEL_DIR'] = 'x'": "environment variable MODEL_DIR: unset → 'x'",
    "os.environ['HF_TOKEN'] = 'hunter2'": "environment variable HF_TOKEN: unset → (not shown)",
    "os.environ['GITHUB_PAT'] = 'hunter2'": "environment variable GITHUB_PAT: unset → (not shown)",
    "os.environ['SESSION_COOKIE'] = 'hunter2'": "environment variable SESSION_COOKIE: unset → (not shown)",
    "os.environ['DATABASE_URL'] = 'postgres://me:hunter2@db/x'": "variable DATABASE_URL: unset → (not shown)",
    "os.environ['INDEX_URL'] = 'https://hunter2@host/x'": "variable INDEX_URL: unset → (not shown)",
    "os.environ['HOME_URL'] = 'https://host/@x'": "variable HOME_URL: unset → 'https://host/@x'",
    "os.environ['MODEL_PATH'] = 'x'": "environment variable MODEL_PATH: unset → 'x'",
    "os.environ['TOKENIZERS_PARALLELISM'] = 'false'": "variable TOKENIZERS_PARALLELISM: unset → 'false'",
    "os.environ = dict(os.environ)": "os.environ: the environment → another mapping, left by",
    "os.environ.pop('STATE_TEST')": "environment variable STATE_TEST: 'here' → unset",
    "os.chdir('/')": "working directory: ",
    "sys.path.insert(0, '/somewhere')": "sys.path: added '/somewhere', left by",
    "sys.path.append(sys.path.pop(0))": "sys.path: moved '/",
    "sys.path.remove('/removed/by/a/test')": "sys.path: removed '/removed/by/a/test', left by",
    "torch.distributed.init_process_group('gloo', store=torch.distributed.HashStore(), rank=0, world_size=1)": (
        "torch default process group: none → initialised"
    ),
}
HEAD = """
    import os, sys
    import numpy as np
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    KEPT = []  # an inference mode that is collected is left by that

    class LeftMode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))
"""


def run(pytester, *args: str):
    return pytester.runpytest_inprocess(
        "-p", "no:randomly", "-p", "no:hypothesispytest", "-p", "no:cacheprovider", "--tensorcheck", *args
    )


def environment() -> dict[str, str]:
    others = ("PYTEST_", "TORCHINDUCTOR_", "HOME", "USERPROFILE", "PY_COLORS", "TOX_ENV_DIR")  # pytester sets these
    return {name: value for name, value in os.environ.items() if not name.startswith(others)}


@pytest.fixture(autouse=True)
def one_thread_and_what_was_here(monkeypatch):
    """The outer session has no guard of its own: what an inner one fails to put back is caught here."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setenv("STATE_TEST", "here")
    monkeypatch.syspath_prepend("/removed/by/a/test")
    before = environment(), torch.get_default_dtype(), numpy.geterr()
    yield
    after = environment(), torch.get_default_dtype(), numpy.geterr()
    torch.set_num_threads(threads)
    assert after == before


def test_every_leak_is_named_and_put_back(pytester):
    """Each leaking test is followed by one that looks: the first says old → new, the second finds everything as it was."""
    lines = [HEAD, "    from guard import before\n"]
    for number, action in enumerate(LEAKS):
        lines.append(f"    def test_leak_{number:02}():\n        {action}\n")
        lines.append(f"    def test_look_{number:02}():\n        assert before.snapshot() == before.expected\n")
    pytester.makepyfile(
        guard="""
        import numpy, torch
        from pytest_tensorcheck.global_state import GlobalState, numpy_items, python_items
        from pytest_tensorcheck.torch_state import torch_items

        class Guard(GlobalState):
            def snapshot(self):
                now = super().snapshot()
                ours = (b"PYTEST", b"TORCHINDUCTOR")
                return tuple({k: v for k, v in x.items() if not k.startswith(ours)} if isinstance(x, dict) and b"HOME" in x
                             else x for x in now)

        before = Guard([*python_items(), *numpy_items(numpy), *torch_items(torch)])
        before.expected = before.snapshot()
        """,
        test_leaks="".join(lines),
    )
    pytester.syspathinsert()
    result = run(pytester, "--tensorcheck-broadcast", "off", "--tensorcheck-json", "found.json")
    result.assert_outcomes(passed=2 * len(LEAKS))
    text = (pytester.path / "found.json").read_text()
    said = {test["nodeid"]: [seen["message"] for seen in test["observations"]] for test in json.loads(text)["tests"]}
    for number, (action, wanted) in enumerate(LEAKS.items()):
        [message] = said[f"test_leaks.py::test_leak_{number:02}"]
        assert wanted in message, action
        assert said[f"test_leaks.py::test_look_{number:02}"] == []
    assert "hunter2" not in text + result.stdout.str()


def test_modes_left_behind_while_broadcasts_are_watched(pytester):
    """The watcher's own mode sits below the one that the test forgot, and has to come off all the same."""
    pytester.makepyfile(
        HEAD
        + """
    def test_leaves():
        torch.overrides.BaseTorchFunctionMode().__enter__()
        LeftMode().__enter__()

    def test_after():
        assert torch.overrides._get_current_function_mode_stack() == [] or "broadcast" in str(
            type(torch.overrides._get_current_function_mode_stack()[0]).__module__
        )

    def test_plain():
        pass
    """
    )
    result = run(pytester)
    result.assert_outcomes(passed=3)
    assert torch.overrides._get_current_function_mode_stack() == []
    assert torch.utils._python_dispatch._get_current_dispatch_mode_stack() == []
    result.stdout.fnmatch_lines(
        ["*torch modes: none → BaseTorchFunctionMode, left by *", "*torch modes: none → LeftMode*"]
    )


def test_a_leaked_inference_mode_is_off_for_good(pytester):
    """Also once the one who leaked it leaves it, or nobody holds it any more."""
    pytester.makepyfile(
        """
        import torch

        KEPT = []

        def trains():
            weight = torch.ones(2, requires_grad=True)
            (weight * 2).sum().backward()
            return not (weight * 2).is_inference() and weight.grad.sum() == 4

        def test_leaks():
            KEPT.append(torch.inference_mode())
            KEPT[0].__enter__()

        def test_after():
            assert trains()
            KEPT.pop().__exit__(None, None, None)
            assert trains()

        def test_leaks_off():
            with torch.inference_mode():
                torch.inference_mode(False).__enter__()

        def test_last():
            assert trains()
            with torch.inference_mode():
                assert torch.ones(1).is_inference()
            assert trains()
        """
    )
    result = run(pytester, "--tensorcheck-state", "error")
    result.assert_outcomes(passed=4, errors=1)
    result.stdout.fnmatch_lines(["E*test_leaks left *: torch inference mode: False → True. It was put back*"])
    assert not torch.is_inference_mode_enabled()


def test_a_device_entered_and_never_left(pytester):
    """`with torch.device(…)` lies on top of the watcher's mode, `set_default_device` below it."""
    pytester.makepyfile(
        """
        import torch

        def test_enters():
            torch.device("meta").__enter__()
            torch.device("cpu").__enter__()

        def test_after():
            assert torch.ones(1).device.type == "cpu"

        def test_sets():
            torch.set_default_device("meta")

        def test_last():
            assert torch.ones(1).device.type == "cpu"
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=4)
    assert torch.overrides._get_current_function_mode_stack() == []
    result.stdout.fnmatch_lines(
        [
            "*torch default device: cpu → meta, left by *test_sets",
            "*torch modes: none → torch.device('cpu'), left by *test_enters",
            "*torch modes: none → torch.device('meta'), left by *test_enters",
        ]
    )
    result.stdout.no_fnmatch_line("*BroadcastMode*")


def test_mode_error_fails_the_polluter_once_and_nobody_else(pytester):
    pytester.makepyfile(
        """
        import torch

        def test_pollutes():
            torch.set_default_dtype(torch.float64)

        def test_needs_float32():
            assert torch.ones(1).dtype is torch.float32

        def test_tidy():
            with torch.no_grad():
                pass
        """
    )
    result = run(pytester, "--tensorcheck-state", "error")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_pollutes*",
            ">   def test_pollutes():",
            "E*StateLeak: *:3: *::test_pollutes left global state changed: torch default dtype: torch.float32 → "
            "torch.float64. It was put back for the tests that follow.*",
        ]
    )


def test_what_fixtures_and_monkeypatch_put_back_is_no_leak(pytester):
    pytester.makepyfile(
        """
        import os
        import numpy as np
        import pytest
        import torch

        @pytest.fixture
        def double():
            torch.set_default_dtype(torch.float64)
            yield
            torch.set_default_dtype(torch.float32)

        @pytest.fixture(scope="module")
        def strict_numpy():
            with np.errstate(all="raise"):
                yield

        @pytest.fixture(scope="session", autouse=True)
        def whole_session():
            os.environ["TOKENIZERS_PARALLELISM"] = "false"
            torch.set_num_threads(2)
            yield
            torch.set_num_threads(1)

        def test_one(double, strict_numpy, monkeypatch, tmp_path):
            monkeypatch.setenv("A", "1")
            monkeypatch.chdir(tmp_path)
            assert torch.get_num_threads() == 2

        def test_two(strict_numpy):
            assert np.geterr()["divide"] == "raise"
            assert torch.get_num_threads() == 2

        @np.errstate(divide="ignore")
        def test_three():
            np.seterr(over="ignore")
        """
    )
    result = run(pytester, "--tensorcheck-state", "error")
    result.assert_outcomes(passed=3)
    assert "global state" not in result.stdout.str()


def test_what_torchs_compiler_and_profiler_set_for_themselves_is_nobodys_leak(pytester):
    root = Path(torch.__file__).parent
    sources = [*(root / "_inductor").rglob("*.py"), root / "profiler" / "profiler.py"]
    names = {
        name
        for path in sources
        for name in re.findall(r"""^ +os\.environ\[["'](\w+)["']\] = """, path.read_text("utf-8"), re.MULTILINE)
    }
    names -= {"CUDA_HOME", "CPLUS_INCLUDE_PATH"}  # where a toolchain is that a user may have named, too
    assert {"_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR", "TEARDOWN_CUPTI"} <= names
    pytester.makepyfile(
        "import os\nimport pytest\nimport torch\n\n"
        f"@pytest.mark.parametrize('name', {sorted(names)})\ndef test(name):\n    os.environ[name] = 'x'\n"
    )
    before = {name: os.environ.get(name) for name in names}
    try:
        result = pytester.runpytest_inprocess("-p", "no:randomly", "--tensorcheck-state=error")
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
    result.assert_outcomes(passed=len(names))
    assert "global state" not in result.stdout.str()


def test_a_mapping_in_the_place_of_the_environment_is_no_hindrance(pytester):
    pytester.makepyfile(
        imported_meanwhile="X = 1",
        test_it="""
        import os, sys
        from unittest import mock

        def test_patched():
            with mock.patch("os.environ", {"ONLY": "this"}):
                import colorsys, imported_meanwhile
        def test_patched_until_teardown(monkeypatch): monkeypatch.setattr(os, "environ", {"ONLY": "this"})
        def test_cleared():
            with mock.patch.dict(os.environ, clear=True): pass
        def test_leaves_it(): os.environ = {"ONLY": "this"}
        def test_after():
            assert "ONLY" not in os.environ
            os.environ["LEFT"] = "x"
        """,
    )
    sys.modules.pop("colorsys", None)
    pytester.syspathinsert()
    result = run(pytester)
    result.assert_outcomes(passed=5)
    assert [
        line.partition(", left")[0].partition("  ")[2].partition("  ")[2] for line in result.outlines if "→" in line
    ] == [
        "os.environ: the environment → another mapping",
        "environment variable LEFT: unset → 'x'",
    ]


def test_a_module_fixture_that_leaks_is_named_at_its_end(pytester):
    leak = """
        import pytest
        import torch

        @pytest.fixture(scope="module")
        def half():
            torch.set_default_dtype(torch.float16)

        def test_one(half): assert torch.get_default_dtype() is torch.float16
        def test_two(half): assert torch.get_default_dtype() is torch.float16
    """
    pytester.makepyfile(
        test_a=leak, test_b="import torch\ndef test_after(): assert torch.ones(1).dtype is torch.float32"
    )
    result = run(pytester)
    result.assert_outcomes(passed=3)
    lines = [line for line in result.outlines if "→" in line]
    assert len(lines) == 1
    assert "torch.float32 → torch.float16, left by the module fixture half" in lines[0]
    failing = run(pytester, "--tensorcheck-state", "error")
    failing.assert_outcomes(passed=3, errors=1)
    failing.stdout.fnmatch_lines(
        ["*ERROR at teardown of test_two*", "*StateLeak: test_a.py:4: the module fixture half left*"]
    )


def test_what_importing_a_module_sets_holds_for_its_tests_only(pytester):
    """So each module sees what it sees when it is run alone."""
    pytester.makepyfile(
        test_a="""
        import os
        import torch
        torch.set_default_dtype(torch.float64)
        os.environ["SET_BY_A"] = "1"

        def test_sees_its_own(): assert torch.ones(1).dtype is torch.float64 and os.environ["SET_BY_A"]
        """,
        test_b="""
        import os
        import torch

        def test_sees_the_default(): assert torch.ones(1).dtype is torch.float32 and "SET_BY_A" not in os.environ
        """,
        test_c="""
        import torch
        torch.set_default_dtype(torch.float64)

        def test_its_own_too(): assert torch.ones(1).dtype is torch.float64
        """,
    )
    result = run(pytester)
    result.assert_outcomes(passed=3)
    output = result.stdout.str()
    assert "torch default dtype: torch.float32 → torch.float64, set by importing test_a.py" in output
    assert "environment variable SET_BY_A: unset → '1', set by importing test_a.py" in output
    assert "torch default dtype: torch.float32 → torch.float64, set by importing test_c.py" in output
    assert "importing test_b.py" not in output
    run(pytester, "test_b.py").assert_outcomes(passed=1)
    assert torch.get_default_dtype() is torch.float32
    failing = run(pytester, "--tensorcheck-state", "error")
    failing.assert_outcomes(passed=3, errors=2)


def test_a_conftest_configures_the_suite(pytester):
    pytester.makeconftest("import torch\ntorch.set_default_dtype(torch.float64)\n")
    pytester.makepyfile("import torch\ndef test_it(): assert torch.ones(1).dtype is torch.float64")
    try:
        result = run(pytester, "--tensorcheck-state", "error")
    finally:
        torch.set_default_dtype(torch.float32)
    result.assert_outcomes(passed=1)
    assert "global state" not in result.stdout.str()


def test_the_state_is_put_back_when_the_test_raises_and_the_failure_is_the_tests_own(pytester):
    pytester.makepyfile(
        """
        import torch

        def test_raises():
            torch.set_default_dtype(torch.float64)
            raise KeyError("the test's own")

        def test_after():
            assert torch.ones(1).dtype is torch.float32
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(['E*KeyError: "the test\'s own"', "*torch.float32 → torch.float64, left by*"])


def test_the_marker_switches_it_off_for_one_test(pytester):
    pytester.makepyfile(
        """
        import os
        import pytest

        @pytest.mark.tensorcheck(state="off")
        def test_excused(): os.environ["EXCUSED"] = "1"

        def test_after(): assert os.environ.pop("EXCUSED")
        """
    )
    result = run(pytester, "--tensorcheck-state", "error")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_after*"])
    assert os.environ.pop("EXCUSED")  # nobody was asked to look after it


def test_warning_filters_count_only_where_pytest_does_not_put_them_back(pytester):
    pytester.makepyfile("import warnings\ndef test_it(): warnings.filterwarnings('ignore', message='a text of ours')")
    assert "warning filters" not in run(pytester).stdout.str()
    with_leak = run(pytester, "-p", "no:warnings").stdout.str()
    assert "warning filters: " in with_leak


def test_warning_filters_that_a_library_adds_when_it_is_imported_are_nobodys_leak(pytester):
    """Whoever imports it first, a module's fixture or a test; what is then still said is the test's own filter."""
    library = "import warnings\n\nclass {0}(UserWarning): pass\n\nwarnings.simplefilter('once', {0})\n"
    pytester.makepyfile(
        **{
            "site-packages/first_library": "import inner_library\n\n" + library.format("First"),
            "site-packages/inner_library": library.format("Inner"),
            "site-packages/second_library": library.format("Second"),
            "test_it": """
            import warnings
            import pytest

            @pytest.fixture(scope="module")
            def opt():
                import second_library

            def test_imports(): import first_library
            def test_uses(opt): pass
            def test_leaks():
                import third_library
                warnings.filterwarnings("ignore", message="a text of ours")
            def test_after():
                texts = [one[1] and one[1].pattern for one in warnings.filters]
                names = [one[2].__name__ for one in warnings.filters]
                assert "a text of ours" not in texts
                assert {"First", "Inner", "Third"} <= set(names)
            """,
            "site-packages/third_library": library.format("Third"),
        }
    )
    pytester.syspathinsert(pytester.path / "site-packages")
    result = run(pytester, "-p", "no:warnings", "--tensorcheck-state", "error")
    result.assert_outcomes(passed=4, errors=1)
    result.stdout.fnmatch_lines(["E*test_leaks left global state changed: warning filters: *"])


def test_variables_that_a_library_sets_when_it_is_imported_are_nobodys_leak_and_stay(pytester):
    """As lightning and torchrl do; a function of the library that sets one when a test calls it is the test's doing."""
    library = "import os\n\nos.environ['{0}'] = 'set'\n\ndef call(): os.environ['BY_A_CALL'] = 'called'\n"
    pytester.makepyfile(
        **{
            "site-packages/a_library/__init__": "import inner_library\n\n" + library.format("OUTER"),
            "site-packages/a_library/part": library.format("OF_A_PART"),
            "site-packages/inner_library": library.format("INNER"),
            "site-packages/by_fixture": library.format("A_TOKENIZER_OF_ITS_OWN"),
            "test_it": """
            import os
            import pytest

            @pytest.fixture(scope="module")
            def opt():
                import by_fixture

            def test_imports(): import a_library
            def test_imports_a_part(): import a_library.part
            def test_uses(opt): pass
            def test_calls():
                import a_library
                a_library.call()
                os.environ["INNER"] = "changed"
            def test_after():
                assert [os.environ.get(name) for name in ("OUTER", "INNER", "OF_A_PART", "BY_A_CALL")] == ["set"] * 3 + [None]
            """,
            "test_later": """
            import os

            def test_it():
                assert os.environ["A_TOKENIZER_OF_ITS_OWN"] == "set"
                os.environ["A_TOKENIZER_OF_ITS_OWN"] = "changed"
            """,
        }
    )
    pytester.syspathinsert(pytester.path / "site-packages")
    result = run(pytester, "--tensorcheck-state", "error")
    for name in ("A_TOKENIZER_OF_ITS_OWN", "OUTER", "INNER", "OF_A_PART"):
        assert os.environ.pop(name) == "set"
    result.assert_outcomes(passed=6, errors=2)
    assert [line.partition("variable ")[2] for line in result.outlines if line.startswith("  test_")] == [
        "BY_A_CALL: unset → 'called', left by test_it.py::test_calls",
        "INNER: 'set' → 'changed', left by test_it.py::test_calls",
        "A_TOKENIZER_OF_ITS_OWN: 'set' → 'changed', left by test_later.py::test_it",
    ]


def test_a_snapshot_is_cheap():
    """At most 20 µs a test for two of them; the bound here is loose, since the machine may be busy."""
    import timeit

    from pytest_tensorcheck.global_state import GlobalState, numpy_items, python_items
    from pytest_tensorcheck.torch_state import torch_items

    state = GlobalState([*python_items(), *numpy_items(numpy), *torch_items(torch)])
    best = min(timeit.repeat(state.snapshot, number=200, repeat=20)) / 200
    assert best < 40e-6


def test_a_leak_of_a_test_that_is_expected_to_fail_is_not_expected(pytester):
    pytester.makepyfile("""
        import os
        import pytest

        @pytest.mark.xfail
        def test_fails():
            os.environ["LEFT_A"] = "1"
            raise ValueError

        @pytest.mark.xfail(strict=False)
        def test_passes(): os.environ["LEFT_B"] = "1"

        @pytest.mark.xfail
        def test_leaves_nothing(): raise ValueError

        @pytest.fixture
        def failing():
            yield
            raise ValueError

        @pytest.mark.xfail
        def test_of_a_teardown(failing): pass
        """)
    result = pytester.runpytest("-p", "no:randomly", "--tensorcheck-state=error")
    result.assert_outcomes(xfailed=3, xpassed=2, errors=2)
    result.stdout.fnmatch_lines(["*StateLeak: *LEFT_A: unset*", "*StateLeak: *LEFT_B: unset*"])
    pytester.runpytest("-p", "no:randomly", "--tensorcheck").assert_outcomes(xfailed=3, xpassed=2)


def test_what_many_tests_leave_alike_is_one_line_of_the_summary(pytester):
    pytest.importorskip("xdist")
    pytester.makepyfile("""
        import os
        import unittest
        import pytest

        class Base(unittest.TestCase):
            def setUp(self): os.environ["FROM_SETUP"] = "1"

        class TestMany(Base):
            pass

        for number in range(30):
            setattr(TestMany, f"test_{number}", lambda self: None)

        def test_other(): os.environ["ONE_MORE"] = "1"

        @pytest.mark.parametrize("n", range(3))
        def test_few(n): os.environ["A_FEW"] = "1"

        @pytest.mark.parametrize("n", range(4))
        def test_differently(n): os.environ["EACH_ITS_OWN"] = str(n)
        """)
    report = pytester.path / "found.json"
    for workers in ("-n0", "-n2"):
        result = pytester.runpytest("-p", "no:randomly", "--tensorcheck", f"--tensorcheck-json={report}", workers)
        result.assert_outcomes(passed=38)
        file = "test_what_many_tests_leave_alike_is_one_line_of_the_summary.py"
        lines = result.outlines
        start = lines.index("global state left changed: 9 findings in 38 tests")
        said = lines[start + 1 : start + 10]
        variable = "environment variable FROM_SETUP: unset → '1', left by"
        assert said[0].partition("  ")[2].endswith("  [30 times, 30 tests]")
        assert f"{variable} {file}::TestMany::test_" in said[0]
        assert " and others  [" in said[0]
        assert sum("A_FEW" in line for line in said) == 3
        assert sum("EACH_ITS_OWN" in line for line in said) == 4
        assert sum("ONE_MORE" in line for line in said) == 1
        assert len(json.loads(report.read_text())["summary"]["hot_spots"]) == 38
