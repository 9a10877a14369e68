"""The plugin in real sessions: what it says, what it writes, and that it is not there when it is not asked for."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys

import pytest

HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="needs torch")


def run(pytester, *args: str, subprocess: bool = False):
    runner = pytester.runpytest_subprocess if subprocess else pytester.runpytest_inprocess
    return runner("-p", "no:randomly", "-p", "no:hypothesispytest", *args)


# --- without --tensorcheck ------------------------------------------------------------------------------------------


def test_without_the_option_a_run_is_as_if_the_plugin_were_not_there(pytester):
    pytester.makepyfile(
        """
        import os, random, sys

        def test_hooks(request):
            names = [name for name, _ in request.config.pluginmanager.list_name_plugin()]
            assert not [name for name in names if name and name.startswith("tensorcheck-")]
            plugin = request.config.pluginmanager.get_plugin("tensorcheck")
            hooks = {name for name in vars(plugin) if name.startswith("pytest_")}
            assert hooks <= {"pytest_addoption", "pytest_configure", "pytest_unconfigure", "pytest_load_initial_conftests"}

        def test_leaks(): os.environ["LEFT_BEHIND"] = "1"
        def test_sees(): assert os.environ.pop("LEFT_BEHIND")
        def test_fails(): assert 0
        """
    )
    with_plugin = run(pytester, "-v")
    with_plugin.assert_outcomes(passed=3, failed=1)
    without = run(pytester, "-v", "-p", "no:tensorcheck", "-k", "not hooks")
    without.assert_outcomes(passed=2, failed=1, deselected=1)

    def shown(result) -> list[str]:
        skipped = ("plugins:", "collect", "=", "rootdir")
        lines = [re.sub(r" +\[.*\]", "", line) for line in result.outlines if not line.startswith(skipped)]
        return [line for line in lines if "test_hooks" not in line and line.strip()]

    assert shown(with_plugin) == shown(without)


def test_neither_torch_nor_numpy_is_imported(pytester, monkeypatch):
    pytester.makepyfile(
        """
        import sys
        HEAVY = ("torch", "numpy", "libcst", "datasets")

        def test_it(request, assert_shape, tensorcheck_seed):
            assert not [name for name in HEAVY if name in sys.modules]
        """
    )
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other plugins may import numpy themselves
    for args in ((), ("--tensorcheck",), ("--tensorcheck-state", "error", "--tensorcheck-seeds", "0-2")):
        result = pytester.runpytest_subprocess(*args, "-p", "pytest_tensorcheck.plugin", "--tb=short", "-q")
        assert result.ret == 0, result.stdout.str()


def test_importing_the_package_imports_nothing_heavy():
    code = (
        "import sys, pytest_tensorcheck, pytest_tensorcheck.plugin;"
        "print([m for m in ('torch', 'numpy', 'libcst', 'tensorlint') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_plugin_can_be_switched_off(pytester):
    pytester.makepyfile("def test_it(): pass")
    run(pytester, "-p", "no:tensorcheck").assert_outcomes(passed=1)
    result = run(pytester, "-p", "no:tensorcheck", "--tensorcheck")
    result.stderr.fnmatch_lines(["*unrecognized arguments: --tensorcheck*"])


# --- the header and the summary -------------------------------------------------------------------------------------


def test_the_header_says_versions_device_seed_and_modes(pytester):
    pytester.makepyfile("def test_it(): pass")
    result = run(pytester, "--tensorcheck", "--tensorcheck-seed", "11", "--tensorcheck-numerics", "error")
    [line] = [line for line in result.outlines if line.startswith("tensorcheck 0")]
    for name in ("torch", "numpy"):
        try:
            wanted = f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            wanted = f"no {name}"
        assert wanted in line
    assert line.endswith("seed 11; state report, broadcast report, numerics error")
    assert "device " in line


def test_nothing_found_is_one_line_and_quiet_prints_none(pytester):
    pytester.makepyfile("def test_it(): pass\ndef test_two(): pass")
    result = run(pytester, "--tensorcheck", "--tensorcheck-broadcast", "off")
    result.stdout.fnmatch_lines(["nothing observed: 2 tests seeded from 0; state watched in 2"])
    assert "observed" not in run(pytester, "--tensorcheck", "-q").stdout.str()


def test_a_check_that_watched_nothing_says_so(pytester):
    pytester.makepyfile("def test_it(): pass")
    result = pytester.runpytest_subprocess(
        "-p", "no:randomly", "-p", "no:hypothesispytest", "-p", "no:jaxtyping", "--tensorcheck-broadcast", "error"
    )
    if "broadcast watched in" not in result.stdout.str():
        result.stdout.fnmatch_lines(["broadcast: watched nothing, since no test had torch loaded"])


@needs_torch
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "workers"])
def test_a_check_that_watched_nothing_says_why(pytester, workers):
    if workers:
        pytest.importorskip("xdist", reason="needs pytest-xdist")
    options = ("--tensorcheck-broadcast", "error", *workers)
    pytester.makepyfile(
        """
        import pytest
        import torch

        @pytest.mark.tensorcheck(broadcast="off")
        def test_it(): pass
        """
    )
    result = run(pytester, *options, subprocess=True)
    result.stdout.fnmatch_lines(["broadcast: watched nothing, since the markers of all tests switch it off"])
    if not workers:
        pytester.makepyfile("def test_it():\n    import torch")
        result = pytester.runpytest_subprocess(
            *options, "-p", "no:randomly", "-p", "no:hypothesispytest", "-p", "no:jaxtyping"
        )
        if "broadcast watched in" not in result.stdout.str():
            result.stdout.fnmatch_lines(
                ["broadcast: watched nothing, since no test that it is on for had torch loaded *"]
            )


@needs_torch
def test_an_accidental_broadcast_is_reported_or_fails_at_the_users_line(pytester):
    pytester.makepyfile(
        """
        import pytest
        import torch

        def loss(pred, target):
            return ((pred - target) ** 2).mean()

        def test_one():
            assert loss(torch.ones(4, 1), torch.ones(4)) == 0

        def test_two():
            for _ in range(3):
                loss(torch.ones(4, 1), torch.ones(4))

        @pytest.mark.tensorcheck(broadcast="off")
        def test_excused():
            loss(torch.ones(4, 1), torch.ones(4))

        def test_right():
            loss(torch.ones(4, 1), torch.ones(4, 1))
        """
    )
    reported = run(pytester, "--tensorcheck")
    reported.assert_outcomes(passed=4)
    reported.stdout.fnmatch_lines(
        ["accidental broadcasts: 1 finding in 2 tests", "*py:5  *(4, 1)*(4,)*4 times, 2 tests]"]
    )
    failing = run(pytester, "--tensorcheck-broadcast", "error")
    failing.assert_outcomes(passed=2, failed=2)
    failing.stdout.fnmatch_lines([">*return ((pred - target) ** 2).mean()", "E*BroadcastError: *py:5: *(4, 4)*"])


@needs_torch
def test_the_tests_own_failure_comes_first(pytester):
    pytester.makepyfile(
        """
        import torch

        def test_it():
            torch.ones(4, 1) - torch.ones(4)
            raise KeyError("mine")
        """
    )
    result = run(pytester, "--tensorcheck-broadcast", "error")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*KeyError: 'mine'", "*tensorcheck: observed during the call*"])
    assert "BroadcastError" not in result.stdout.str()


@pytest.mark.other_plugins
@needs_torch
@pytest.mark.parametrize("options", [[], ["--reruns", "1"], ["--tensorcheck-seeds", "0-1"], ["-n", "1"]], ids=" ".join)
def test_a_failing_test_shows_what_was_seen_in_its_call_once_in_each_way_of_running(pytester, options):
    """Reports are made at the end of each phase, and shown, counted or sent on when it has ended, or all together."""
    for plugin in {"--reruns": ["pytest_rerunfailures"], "-n": ["xdist"]}.get("".join(options[:1]), []):
        pytest.importorskip(plugin, reason=f"needs {plugin}")
    pytester.makepyfile(
        """
        import os, torch

        def test_it():
            for _ in range(3):
                torch.ones(4, 1) - torch.ones(4)
            os.environ["LEFT_BEHIND"] = "1"
            assert 0

        def test_other():
            os.environ["LEFT_BEHIND_TOO"] = "1"
        """
    )
    result = run(pytester, "--tensorcheck", "--tensorcheck-json", "found.json", *options, subprocess=True)
    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["passed"]) == (1, 1)
    text = result.stdout.str()
    section = text.partition("tensorcheck: observed during the call")[2].partition("\n---")[0].partition("\n===")[0]
    assert section.count("(4, 4)") == 1
    assert section.rstrip().endswith("in subtraction  [3 times]")
    assert "LEFT_BEHIND" not in section
    assert text.count("tensorcheck: observed during the call") == 1
    assert text.count("reproduce: ") == 1
    tests = json.loads((pytester.path / "found.json").read_text())["tests"]
    runs = [test for test in tests if "test_it" in test["nodeid"]]
    assert len(runs) == (2 if "--reruns" in options else 1)
    for each in runs:
        assert sorted({seen["check"] for seen in each["observations"]} - {"seeds"}) == ["broadcast", "state"]


def test_marker_errors_end_the_run_in_one_line(pytester):
    for marker, said in {
        "sead=1": "unknown keyword 'sead'; did you mean 'seed'?",
        "seed='x'": "a seed is a whole number",
        "seed=True": "a seed is a whole number",
        "seed=-1": "a seed is a whole number",
        "state='on'": "not one of off, report, error",
        "broadcast='eror'": "not one of off, report, error; did you mean 'error'?",
        "state=None": "not one of off, report, error",
        "deterministic=1": "deterministic is True or False",
        "3": "takes keywords only",
    }.items():
        pytester.makepyfile(f"import pytest\n\n@pytest.mark.tensorcheck({marker})\ndef test_it(): pass")
        result = run(pytester, "--tensorcheck")
        assert result.ret == pytest.ExitCode.USAGE_ERROR, marker
        text = result.stdout.str() + result.stderr.str()
        assert f"ERROR: {pytester.path.name[:-1]}.py::test_it: " in text or "::test_it: " in text
        assert said in text
        assert "Traceback" not in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--tensorcheck-sync", "on"], "'on' is not one of off, report, error"),
        (["--tensorcheck-state", "reprot"], "did you mean 'report'?"),
        (["--tensorcheck-device", "gpu"], "'gpu' is not one of auto, cpu, cuda, shadow; did you mean 'cuda'?"),
        (["--tensorcheck-seed", "-3"], "seed"),
        (["--tensorcheck-seed", "abc"], "'abc' is not a seed"),
        (["--tensorcheck-seeds", "9-0"], "counts down: write 0-9"),
        (["--tensorcheck-seeds", "a"], "'a' is not a list of seeds"),
        (["--tensorcheck-seeds", "0-3", "--tensorcheck-seed", "1"], "exclude each other"),
        (["--tensorcheck-json", "no/such/folder/f.json"], "does not exist"),
        (["--tensorcheck-json", "."], "is a folder"),
    ],
)
def test_wrong_option_values_end_the_run_in_one_line(pytester, args, said):
    pytester.makepyfile("def test_it(): pass")
    result = run(pytester, *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in result.stderr.str()
    assert "Traceback" not in result.stderr.str()


def test_ini_keys_are_read_and_the_command_line_wins(pytester):
    pytester.makeini(
        """
        [pytest]
        tensorcheck = true
        tensorcheck_seed = 5
        tensorcheck_state = error
        tensorcheck_broadcast = off
        """
    )
    pytester.makepyfile("def test_it(): pass")
    result = run(pytester)
    result.stdout.fnmatch_lines(["tensorcheck *seed 5; state error"])
    result = run(pytester, "--tensorcheck-seed", "6", "--tensorcheck-state", "off", "--tensorcheck-broadcast", "report")
    result.stdout.fnmatch_lines(["tensorcheck *seed 6; broadcast report"])
    off = run(pytester, "-o", "tensorcheck=false")
    assert "tensorcheck 0" not in off.stdout.str()


def test_a_wrong_ini_value_names_the_file_and_the_key(pytester):
    pytester.makeini("[pytest]\ntensorcheck_state = maybe\n")
    pytester.makepyfile("def test_it(): pass")
    result = run(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: tox.ini: tensorcheck_state: 'maybe' is not one of off, report, error"])


@pytest.mark.parametrize("key", ["tensorcheck", "tensorcheck_lint"])
@pytest.mark.parametrize("options", [(), ("--tensorcheck",)], ids=["off", "on"])
def test_a_switch_in_the_ini_file_that_is_neither_on_nor_off(pytester, key, options):
    pytester.makeini(f"[pytest]\n{key} = maybe\n")
    pytester.makepyfile("def test_it(): pass")
    result = run(pytester, *options)
    if key in ("tensorcheck",) and options:
        result.assert_outcomes(passed=1)  # the command line wins
        return
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: tox.ini: {key}: invalid truth value 'maybe'; it is true or false"])


def test_ini_modes_alone_do_not_switch_the_checks_on(pytester):
    pytester.makeini("[pytest]\ntensorcheck_state = error\n")
    pytester.makepyfile(
        "import os\ndef test_it(): os.environ['X_LEFT'] = '1'\ndef test_two(): del os.environ['X_LEFT']"
    )
    run(pytester).assert_outcomes(passed=2)


def test_a_gpu_that_is_not_there_ends_the_run_in_one_line(pytester):
    if HAS_TORCH:
        import torch

        if torch.cuda.is_available():
            pytest.skip("this machine has a GPU")
    pytester.makepyfile("def test_it(): pass")
    result = run(pytester, "--tensorcheck", "--tensorcheck-device", "cuda")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.stderr.str().splitlines() if "--tensorcheck-device cuda" in line]
    assert line.startswith("ERROR: ")
    assert "Traceback" not in result.stderr.str()


def test_the_help_shows_every_option(pytester):
    from pytest_tensorcheck.options import OPTIONS

    text = run(pytester, "--help").stdout.str()
    for option in OPTIONS:
        assert option.flag in text
        assert option.dest in text
    assert "@pytest.mark.tensorcheck(seed=" in run(pytester, "--markers").stdout.str()


# --- the JSON file and xdist ----------------------------------------------------------------------------------------

LEAKY = """
    import os
    import pytest

    @pytest.mark.parametrize("n", range(6))
    def test_leaks(n):
        os.environ[f"LEFT_{n}"] = "1"

    def test_fails():
        assert 0
"""


def found(pytester, *args: str, **kwargs: bool) -> tuple[dict, str]:
    result = run(pytester, "--tensorcheck-json", "found.json", *args, **kwargs)
    return json.loads((pytester.path / "found.json").read_text(encoding="utf-8")), result.stdout.str()


def test_the_json_file_has_the_documented_keys(pytester):
    pytester.makepyfile(LEAKY)
    document, output = found(pytester)
    assert document["version"] == 1
    assert set(document) == {"version", "session", "tests", "observations", "summary"}
    assert document["session"]["seed"] == 0
    assert document["session"]["modes"] == {"sync": "off", "state": "report", "broadcast": "report", "numerics": "off"}
    assert document["summary"]["outcomes"] == {"failed": 1, "passed": 6}
    assert document["summary"]["observations"] == {"state": 6}
    assert len(document["summary"]["hot_spots"]) == 6
    first = document["tests"][0]
    assert first["outcome"] == "passed"
    assert {"nodeid", "seed", "base_seed", "threads", "duration", "observations", "watched", "notes"} <= set(first)
    assert {"check", "message", "detail", "file", "line", "function", "count", "facts"} == set(first["observations"][0])
    assert "written to found.json" in output
    assert list(pytester.path.glob(".found.json.*")) == []


def test_workers_findings_reach_the_summary_and_the_file(pytester):
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    pytester.makepyfile(LEAKY)
    alone, _ = found(pytester, subprocess=True)
    spread, output = found(pytester, "-n", "2", subprocess=True)
    assert spread["session"]["workers"] == 2
    assert "global state left changed: 6 findings in 6 tests" in output

    def comparable(document: dict) -> object:
        tests = sorted(document["tests"], key=lambda test: test["nodeid"])
        return [{**test, "duration": 0, "threads": 0} for test in tests]

    assert comparable(spread) == comparable(alone)


def test_a_marker_error_under_xdist_is_still_readable(pytester):
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    pytester.makepyfile("import pytest\n\n@pytest.mark.tensorcheck(sead=1)\ndef test_it(): pass")
    result = run(pytester, "--tensorcheck", "-n", "2", subprocess=True)
    assert result.ret != 0
    assert "did you mean 'seed'?" in result.stdout.str() + result.stderr.str()


# --- fixtures -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(HAS_TORCH, reason="for environments without torch")
@pytest.mark.parametrize("fixture", ["gradcheck", "opcheck", "no_sync", "torch_rng", "tensor_device", "deterministic"])
def test_a_fixture_without_torch_fails_in_one_line(pytester, fixture):
    pytester.makepyfile(f"def test_it({fixture}): pass")
    result = run(pytester, "--tensorcheck")
    result.assert_outcomes(errors=1)
    said = f"the fixture {fixture} needs torch, which is not installed here: pip install torch"
    assert result.outlines.count(said) == 1
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize("fixture", ["gradcheck", "tensor_device"])
def test_a_library_that_is_not_installed_is_said_once(pytester, monkeypatch, fixture):
    """With torch installed too: pytest would repeat the line for the error that it came from."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else find_spec(name))
    pytester.makepyfile(f"def test_it({fixture}): pass")
    result = run(pytester)
    result.assert_outcomes(errors=1)
    said = f"the fixture {fixture} needs torch, which is not installed here: pip install torch"
    assert result.outlines.count(said) == 1


@pytest.mark.parametrize(
    ("fixture", "body"),
    [
        ("assert_shape", "assert_shape(Array(), 'a (b')"),
        ("assert_shape", "assert_shape(Array(), 'a, b')"),
        ("assert_shape", "assert_shape(Array(), 'a a*c')"),
        ("assert_shape", "from pytest_tensorcheck import check_annotations; check_annotations(Array)"),
        ("stable_map", "stable_map(Array())"),
    ],
)
def test_a_fixture_used_wrongly_points_at_the_users_line_alone(pytester, fixture, body):
    if fixture == "stable_map":
        pytest.importorskip("datasets", reason="stable_map needs datasets")
    pytester.makepyfile(f"class Array:\n    shape = (2, 3)\n\ndef test_it({fixture}):\n    {body}")
    result = run(pytester, "--tb=short")
    result.assert_outcomes(failed=1)
    shown = [line for line in result.outlines if re.match(r"\S+\.py:\d+: in ", line)]
    assert shown == ["test_a_fixture_used_wrongly_points_at_the_users_line_alone.py:5: in test_it"]


@needs_torch
def test_the_fixtures_work_without_the_option(pytester):
    pytest.importorskip("numpy", reason="uses numpy_rng")
    pytester.makepyfile(
        """
        import pytest
        import torch

        def test_shapes(assert_shape):
            assert_shape(torch.ones(2, 3), "b c")
            with pytest.raises(AssertionError):
                assert_shape(torch.ones(4), "b")

        def test_next_test_binds_anew(assert_shape):
            assert_shape(torch.ones(4), "b")

        def test_rngs(numpy_rng, torch_rng, tensorcheck_seed):
            assert 0 <= tensorcheck_seed < 2**32
            print("drew", numpy_rng.random(), torch.rand((), generator=torch_rng).item(), tensorcheck_seed)

        def test_guards(no_broadcast, deterministic, tensor_device):
            with pytest.raises(AssertionError), no_broadcast():
                torch.ones(4, 1) - torch.ones(4)
            with deterministic.settings():
                assert torch.are_deterministic_algorithms_enabled()
            assert isinstance(tensor_device, torch.device)
        """
    )

    def drew(*args: str) -> list[str]:
        result = run(pytester, "-s", *args)
        result.assert_outcomes(passed=4)
        return re.findall("drew .*", result.stdout.str())

    assert drew() == drew() == drew("--tensorcheck")


# --- lint items -----------------------------------------------------------------------------------------------------

BAD = "import not_installed_anywhere, torch\n\n\ndef f():\n    x = torch.zeros(2, 3, 4)\n    return x.transpose(1, 2).view(2, 12)\n"


def test_lint_items(pytester):
    pytester.makepyfile(**{"src/model": BAD, "tests/test_it": "def test_it(): pass", "src/fine": "x = 1"})
    result = run(pytester, "--tensorcheck-lint", "-v")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["src/model.py::tensorlint FAILED*", "*src/model.py:6:*TSR201*"])
    assert "Traceback" not in result.stdout.str()
    # With testpaths, pytest itself looks at the tests only.
    pytester.makeini("[pytest]\ntestpaths = tests\n")
    run(pytester, "--tensorcheck-lint").assert_outcomes(passed=3, failed=1)
    run(pytester, "--tensorcheck-lint", "src/model.py::tensorlint").assert_outcomes(failed=1)
    run(pytester, "--tensorcheck-lint", "tests").assert_outcomes(passed=2)


def test_lint_items_are_in_the_json_file(pytester):
    pytester.makepyfile(**{"a/test_it": "def test_it(): pass", "b/model": BAD})
    document, _ = found(pytester, "--tensorcheck-lint")
    assert document["summary"]["tests"] == len(document["tests"]) == 3
    assert document["summary"]["outcomes"] == {"failed": 1, "passed": 2}
    tests = {test["nodeid"]: test for test in document["tests"]}
    assert tests["b/model.py::tensorlint"]["outcome"] == "failed"
    assert "TSR201" in tests["b/model.py::tensorlint"]["text"]
    assert set(tests["a/test_it.py::tensorlint"]) == set(tests["a/test_it.py::test_it"])


def test_a_lint_item_is_no_phase_of_the_test_before_it(pytester):
    pytester.makepyfile(**{"a/test_it": "def test_it(): pass", "b/model": BAD})
    result = run(pytester, "--tensorcheck", "--tensorcheck-lint")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["nothing observed: 1 test seeded from 0; *"])
    assert "reproduce:" not in result.stdout.str()


def test_a_file_that_cannot_be_parsed_is_a_failed_item(pytester):
    pytester.makepyfile(broken="import torch\ndef f(:\n", test_it="def test_it(): pass")
    result = run(pytester, "--tensorcheck-lint")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["broken.py:2: *"])
