"""Deterministic settings, the marker's second run, logs of operations, and the checks that need torch in real sessions."""

from __future__ import annotations

import os

import pytest

torch = pytest.importorskip("torch", reason="sets torch's state")

from pytest_tensorcheck.determinism.settings import settings  # noqa: E402
from pytest_tensorcheck.global_state import GlobalState  # noqa: E402
from pytest_tensorcheck.torch_state import torch_items  # noqa: E402


def run(pytester, *args: str):
    return pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:hypothesispytest", *args)


@pytest.fixture
def everything():
    state = GlobalState(torch_items(torch))
    yield state
    assert [str(change) for change in state.changes(state.expected, state.snapshot())] == []


@pytest.mark.parametrize("workspace", [None, ":16:8", ":0:0"])
def test_settings_are_in_force_inside_and_gone_outside(everything, monkeypatch, workspace):
    if workspace is None:
        monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    else:
        monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", workspace)
    with settings(threads=1):
        assert torch.are_deterministic_algorithms_enabled()
        assert not torch.is_deterministic_algorithms_warn_only_enabled()
        assert torch.backends.cudnn.deterministic
        assert not torch.backends.cudnn.benchmark
        assert torch.get_float32_matmul_precision() == "highest"
        assert not torch.backends.cuda.matmul.allow_tf32
        assert not torch.backends.cudnn.allow_tf32
        assert torch.get_num_threads() == 1
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] in (":4096:8", ":16:8")
        assert torch.empty(8).isnan().all()
    assert os.environ.get("CUBLAS_WORKSPACE_CONFIG") == workspace
    assert torch.backends.cudnn.allow_tf32


def test_settings_are_put_back_when_the_block_raises_and_whatever_was_set_before(everything):
    torch.set_float32_matmul_precision("medium")
    torch.use_deterministic_algorithms(True, warn_only=True)
    before = everything.snapshot()
    try:
        with pytest.raises(KeyError), settings(warn_only=False, allow_tf32=True, fill_uninitialized=False):
            raise KeyError
        assert everything.changes(before, everything.snapshot()) == []
    finally:
        everything.put_back(everything.changes(everything.expected, everything.snapshot()))


def test_settings_with_the_newer_precision_switches(everything):
    matmul = torch.backends.cuda.matmul
    if not hasattr(matmul, "fp32_precision"):
        pytest.skip("torch before 2.9 has none")
    old = matmul.fp32_precision
    matmul.fp32_precision = "tf32"
    try:
        with settings():
            assert matmul.fp32_precision == "ieee"
        assert matmul.fp32_precision == "tf32"
    finally:
        matmul.fp32_precision = old
        everything.put_back(everything.changes(everything.expected, everything.snapshot()))


def test_kernels_without_a_deterministic_form_raise():
    with settings(), pytest.raises(RuntimeError, match="deterministic"):
        torch.nn.functional.max_unpool2d(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 2, 2, dtype=torch.int64), 2)


def test_what_cannot_be_set_is_said(monkeypatch):
    import sys

    with settings() as cannot:
        names = [one.name for one in cannot]
    assert ("PYTHONHASHSEED" in names) == bool(sys.flags.hash_randomization)
    if names:
        assert "PYTHONHASHSEED=0 pytest" in str(cannot[-1])
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    with settings() as cannot:
        assert "CUBLAS_WORKSPACE_CONFIG=:4096:8 pytest" in str(cannot[0])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"matmul_precision": "low"}, "highest, high, medium"),
        ({"cublas_workspace": ":1:1"}, ":4096:8 or :16:8"),
        ({"threads": 0}, "positive"),
        ({"threads": True}, "positive"),
    ],
)
def test_values_that_cannot_be(wrong, said):
    with pytest.raises(ValueError, match=said), settings(**wrong):
        pass


def test_the_marker_sets_them_and_runs_the_body_twice(pytester):
    pytester.makepyfile(
        """
        import pytest
        import torch

        RUNS = []

        @pytest.fixture
        def weights():
            assert torch.are_deterministic_algorithms_enabled()
            yield torch.ones(3)
            assert torch.are_deterministic_algorithms_enabled()

        @pytest.mark.tensorcheck(deterministic=True)
        def test_clean(weights):
            RUNS.append(1)
            weights.add_(torch.rand(3))
            assert weights.max() < 2

        def test_after():
            assert len(RUNS) == 2
            assert not torch.are_deterministic_algorithms_enabled()

        @pytest.mark.tensorcheck(deterministic=True)
        def test_unseeded():
            generator = torch.Generator()
            generator.seed()
            torch.rand(3, generator=generator).sum()
        """
    )
    result = run(pytester, "--tensorcheck-state", "error")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [">*@pytest.mark.tensorcheck(deterministic=True)*", "E*DivergenceError: *aten.rand at *:26"]
    )
    assert run(pytester, "-k", "unseeded").ret == 0  # without the option the marker does nothing


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_a_coroutine_runs_once_under_pytest_asyncio(pytester, mode):
    """Which puts a function that is no coroutine's in its place."""
    pytest.importorskip("pytest_asyncio", reason="needs pytest-asyncio")
    pytester.makepyfile(
        """
        import functools
        import asyncio
        import pytest
        import torch

        RUNS = []

        def synchronous(test):
            @functools.wraps(test)
            def run(*args): asyncio.run(test(*args))
            return run

        @pytest.mark.asyncio
        @pytest.mark.tensorcheck(deterministic=True)
        async def test_coroutine():
            RUNS.append(torch.ones(2).sum())

        @pytest.mark.asyncio
        @pytest.mark.tensorcheck(deterministic=True)
        class TestMethods:
            @pytest.mark.parametrize("x", [1])
            async def test_coroutine(self, x):
                RUNS.append(torch.ones(2).sum())

        def test_after(): assert len(RUNS) == 2

        @pytest.mark.tensorcheck(deterministic=True)
        @synchronous
        async def test_function():
            RUNS.append(torch.ones(2).sum())

        def test_after_the_function(): assert len(RUNS) == 4
        """
    )
    result = run(pytester, "--tensorcheck", "--tensorcheck-json", "found.json", "-o", f"asyncio_mode={mode}")
    result.assert_outcomes(passed=5)
    assert (pytester.path / "found.json").read_text().count("the test is a coroutine, so it ran once") == 2


def test_what_hangs_on_self_is_put_back_for_the_second_run(pytester):
    pytester.makepyfile(
        """
        import pytest
        import torch

        class Base:
            def trains(self):
                self.optimizer.zero_grad()
                self.model(self.batch.add_(1)).sum().backward()
                self.optimizer.step()
                self.steps += 1
                self.batch = self.batch * 2
                assert self.steps == 1 and torch.equal(self.batch, torch.full((1, 2), 4.0))

            def make(self):
                self.model = torch.nn.Linear(2, 1)
                self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.1)
                self.batch = torch.ones(1, 2)
                self.steps = 0

        @pytest.mark.tensorcheck(deterministic=True)
        class TestSetupMethod(Base):
            def setup_method(self): self.make()
            def test_it(self): self.trains()

        @pytest.mark.tensorcheck(deterministic=True)
        class TestFixture(Base):
            @pytest.fixture(autouse=True)
            def made(self): self.make()
            def test_it(self): self.trains()

        @pytest.mark.tensorcheck(deterministic=True)
        class TestShared:
            shared = torch.ones(2)
            def test_it(self): (self.shared.add_(1) * 2).sum()
        """
    )
    result = run(pytester, "--tensorcheck")
    result.assert_outcomes(passed=2, failed=1)  # what hangs on the class is every test's
    result.stdout.fnmatch_lines(["E*cause: *is not what it was*"])


@pytest.mark.parametrize("first", ["os.mkdir", "torch.ones"])
def test_an_error_of_the_second_run_alone_says_that_the_body_runs_twice(pytester, first):
    lines = ['os.mkdir(tmp_path / "y")', "torch.ones(2).sum()"]
    lines.sort(key=lambda line: not line.startswith(first))
    pytester.makepyfile(
        "import os, pytest, torch\n\n@pytest.mark.tensorcheck(deterministic=True)\n"
        f"def test_it(tmp_path):\n    {lines[0]}\n    {lines[1]}"
    )
    result = run(pytester, "--tensorcheck")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "run 2 raised FileExistsError" in text
    assert f":{5 + lines.index(next(line for line in lines if 'mkdir' in line))}: run 2 raised it here" in text
    assert "remedy: the body runs 2 times, and between the runs only tensors, " in text


def test_a_log_of_one_run_is_compared_with_another(pytester, monkeypatch):
    pytester.makepyfile(
        """
        import os
        import torch

        def test_same(): (torch.rand(3) * 2).sum()

        def test_other():
            x = torch.rand(3)
            y = x * (3 if "OTHER" in os.environ else 2)
            y.sum()
        """
    )
    run(pytester, "--tensorcheck-record", "here.log").assert_outcomes(passed=2)
    run(pytester, "--tensorcheck-compare", "here.log").assert_outcomes(passed=2)
    monkeypatch.setenv("OTHER", "1")
    result = run(pytester, "--tensorcheck-compare", "here.log")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E*DivergenceError: *aten.mul at *:8*"])
    wrong = run(pytester, "--tensorcheck-compare", "nothing.log")
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR
    (pytester.path / "text.log").write_text("no log\n")
    wrong = run(pytester, "--tensorcheck-compare", "text.log")
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in wrong.stderr.str()


def test_what_hypothesis_draws_is_compared_with_nothing(pytester):
    pytester.makepyfile(
        """
        import torch
        from hypothesis import given, settings, strategies as st

        @settings(max_examples=3, database=None)
        @given(st.integers(0, 2**60))
        def test_draws(number): torch.tensor(number) + 1

        class TestMore:
            @settings(max_examples=3, database=None)
            @given(st.integers(0, 2**60))
            def test_draws(self, number): torch.tensor(number) + 1

        def test_same(): torch.rand(3).sum()
        """
    )
    for option in ("--tensorcheck-record", "--tensorcheck-compare"):
        result = run(pytester, option, "here.log")
        result.assert_outcomes(passed=3)
        result.stdout.fnmatch_lines(
            ["tensorcheck: 2 tests get other examples from hypothesis each time and were left out: *"]
        )


@pytest.mark.parametrize(
    "options", [("-numerics", "report"), ("-device", "shadow"), ("-record", "here.log")], ids=" ".join
)
def test_the_first_operation_of_a_test_takes_no_second(pytester, options):
    """torch loads its compiler before it calls a mode: hypothesis gives each example 200 ms."""
    pytester.makepyfile(
        """
        import sys
        import torch

        def test_it():
            before = {name for name in sys.modules if name.startswith("torch._dynamo")}
            torch.ones(3) + 1
            assert {name for name in sys.modules if name.startswith("torch._dynamo")} == before
        """
    )
    pytester.runpytest_subprocess("-p", "no:randomly", "--tensorcheck" + options[0], options[1]).assert_outcomes(
        passed=1
    )


def test_logs_with_another_base_seed_are_refused(pytester, capsys):
    """Else each test would be told that its numbers differ, for reasons that are not the one."""
    from pytest_tensorcheck.determinism.diverge_command import main

    pytester.makepyfile("import torch\ndef test_it(): torch.rand(3).sum()")
    run(pytester, "--tensorcheck-record", "zero.log").assert_outcomes(passed=1)
    run(pytester, "--tensorcheck-record", "four.log", "--tensorcheck-seed", "4").assert_outcomes(passed=1)
    run(pytester, "--tensorcheck-compare", "four.log", "--tensorcheck-seed", "4").assert_outcomes(passed=1)
    result = run(pytester, "--tensorcheck-compare", "four.log")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = "four.log was recorded with base seed 4, and this run has 0: pass --tensorcheck-seed 4"
    assert [line for line in result.errlines if said in line]
    capsys.readouterr()
    assert main(["zero.log", "four.log"]) == 2
    assert "zero.log was recorded with base seed 0, four.log with 4" in capsys.readouterr().err


def test_syncs_are_found_in_simulation(pytester):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    pytester.makepyfile(
        """
        import pytest
        import torch

        @pytest.mark.tensorcheck(sync="error")
        def test_waits():
            x = torch.ones(3, device="cuda")
            if x.sum().item() > 3:
                pass

        @pytest.mark.tensorcheck(sync="report")
        def test_reported(tensor_device):
            x = torch.ones(3, device=tensor_device)
            x[x > 0]

        def test_asked_for(tensor_device, no_sync):
            assert tensor_device.type == "cuda"
            with no_sync():
                torch.ones(3, device=tensor_device) + 1

        def test_plain(tensor_device):
            assert tensor_device.type == "cpu"
            assert not torch.cuda.is_available()
        """
    )
    result = run(pytester, "--tensorcheck-state", "error")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [">*if x.sum().item() > 3:", "E*SyncError: *", "the host waits for the GPU: 2 findings*"]
    )
    shadow = run(pytester, "--tensorcheck-device", "shadow", "-k", "reported or asked_for")
    shadow.assert_outcomes(passed=2, deselected=2)
    shadow.stdout.fnmatch_lines(["tensorcheck *device shadow (a simulated GPU)*"])


def test_numerics_fail_at_the_line_that_made_them(pytester):
    pytester.makepyfile(
        """
        import torch

        def test_it():
            x = torch.zeros(3)
            y = x / x
            y.sum()
        """
    )
    result = run(pytester, "--tensorcheck-numerics", "error")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([">*y = x / x", "E*NonfiniteError*"])


def test_flags_that_torchs_own_test_library_has_locked():
    torch.backends.disable_global_flags()
    with settings():
        assert torch.backends.cudnn.deterministic
    assert not torch.backends.cudnn.deterministic
