"""The check in real pytest sessions: fixtures without a flag, the report of a run, the marker."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from pytest_tensorcheck.sync import simulation  # noqa: E402

with simulation():  # loads every module now: pytester forgets those that are first imported in a session of its own
    pass

TESTS = """
import pytest
import torch


def step(x):
    y = x * 2
    return y.sum().item()


def quiet(x):
    return (x * 2).sum()


def test_quiet(no_sync, tensor_device):
    x = torch.ones(3, device=tensor_device)
    with no_sync():
        quiet(x)
    assert x.device.type == "cuda"


def test_waits(no_sync, tensor_device):
    x = torch.ones(3, device=tensor_device)
    with no_sync():
        step(x)


def test_plain(no_sync):
    with no_sync():
        torch.ones(3).sum().item()


def test_outside_of_the_block(no_sync, tensor_device):
    x = torch.ones(3, device=tensor_device)
    with no_sync():
        y = quiet(x)
    assert y.item() == 6
    assert torch.cuda.is_available()


def test_nothing_left():
    assert not torch.cuda.is_available()
    assert torch.ones(2).device.type == "cpu"
"""


@pytest.fixture(scope="module")
def no_gpu() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here: the simulation is not used")


def test_fixtures_without_a_flag(pytester: pytest.Pytester, no_gpu: None) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*the host waits for the GPU once in no_sync() (none allowed):*",
            "*test_fixtures_without_a_flag.py:7: y.sum().item()*",
        ]
    )


def test_report_lists_the_hot_spots(pytester: pytest.Pytester, no_gpu: None) -> None:
    pytester.makepyfile(
        """
        import torch

        def step(x):
            return x.sum().item()

        def test_a(tensor_device):
            assert step(torch.ones(3, device=tensor_device)) == 3

        def test_b(tensor_device):
            for _ in range(3):
                step(torch.ones(3, device=tensor_device))
        """
    )
    result = pytester.runpytest_inprocess("--tensorcheck", "--tensorcheck-sync", "report", "-p", "no:randomly")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_report_lists_the_hot_spots.py:4*item*"])


def test_error_mode_fails_the_test(pytester: pytest.Pytester, no_gpu: None) -> None:
    pytester.makepyfile(
        """
        import pytest
        import torch

        def test_a(tensor_device):
            torch.ones(3, device=tensor_device).sum().item()

        def test_b(tensor_device):
            torch.ones(3, device=tensor_device).sum()

        def test_plain():
            assert torch.allclose(torch.ones(3), torch.ones(3) * 1.0)

        @pytest.mark.tensorcheck(sync="error")
        def test_plain_but_asked():
            assert torch.ones(3).sum().item() == 3
        """
    )
    result = pytester.runpytest_inprocess("--tensorcheck", "--tensorcheck-sync", "error", "-p", "no:randomly")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*the host waits for the GPU once in this test:*"])


def test_what_pytest_reads_to_explain_a_failed_assertion_is_no_wait(pytester: pytest.Pytester, no_gpu: None) -> None:
    """The assertion itself is one, and so is what `pytest.approx` reads."""
    pytester.makepyfile(
        """
        import pytest
        import torch

        def test_fails():
            x = torch.ones(3)
            assert x.sum() == 4
        def test_message():
            x = torch.ones(3)
            with pytest.raises(AssertionError):
                assert x.sum() > 5, x.shape
        def test_approx(): assert torch.ones(3).sum() == pytest.approx(3.0)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:randomly", "--tensorcheck-sync", "report")
    result.assert_outcomes(passed=2, failed=1)
    text = result.stdout.str()
    assert "saferepr" not in text
    assert "rewrite.py" not in text
    for line in (6, 10, 11):
        assert f"py:{line}  " in text or f"py:{line}: " in text


UNJUDGED = """
import pytest
import torch
from torch import nn


def step(device):
    return nn.Linear(2, 1).to(device)(torch.ones(3, 2).to(device)).sum().item()


def test_cpu():
    step("cpu")


def test_if_there_is_one():
    step("cuda" if torch.cuda.is_available() else "cpu")


def test_without_tensors():
    assert "cuda".upper() == "CUDA"


@pytest.mark.tensorcheck(sync="off")
def test_switched_off():
    step("cpu")


def test_on_the_device(tensor_device):
    nn.Linear(2, 1, device=tensor_device)(torch.ones(3, 2, device=tensor_device)).sum()


@pytest.mark.tensorcheck(sync="error")
class TestAsked:
    def test_plain(self):
        nn.Linear(2, 1)(torch.ones(3, 2)).sum()
"""


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["one process", "xdist"])
def test_tests_that_mode_error_cannot_fail_are_counted(
    pytester: pytest.Pytester, no_gpu: None, workers: list[str]
) -> None:
    if workers:
        pytest.importorskip("xdist")
    pytester.makepyfile(UNJUDGED)
    result = pytester.runpytest("-q", "-p", "no:randomly", "--tensorcheck-sync=error", *workers)
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(
        [
            "6 tests seeded from 0; sync watched in 5; *",
            "sync error: 2 of 5 tests put nothing on a GPU, so no wait fails them: put their model and data on the "
            "fixture tensor_device, let all code find a GPU with --tensorcheck-device shadow, or mark them "
            '@pytest.mark.tensorcheck(sync="error")',
        ]
    )


@pytest.mark.parametrize(
    ("chosen", "options", "says"),
    [
        ("cpu or there_is", ["--tensorcheck-device=shadow"], "sync error: 1 of 2 tests put nothing on a GPU"),
        ("there_is", [], "sync error: the test puts nothing on a GPU, so no wait fails it: put its model"),
        ("cpu", ["--tensorcheck-sync=report"], None),
        ("on_the_device or without or switched or Asked", [], None),
    ],
)
def test_it_is_said_of_those_tests_only(
    pytester: pytest.Pytester, no_gpu: None, chosen: str, options: list[str], says: str | None
) -> None:
    pytester.makepyfile(UNJUDGED)
    file = pytester.path / "found.json"
    result = pytester.runpytest_inprocess(
        "-k", chosen, "-p", "no:randomly", "--tensorcheck-sync=error", f"--tensorcheck-json={file}", *options
    )
    text = result.stdout.str()
    if says is None:
        assert "nothing on a GPU" not in text
    else:
        result.stdout.fnmatch_lines([f"{says}*"])
        assert ("let all code find" in text) == (not options)
    judged = {
        test["nodeid"].rpartition("::")[2]: test.get("sync_judged") for test in json.loads(file.read_text())["tests"]
    }
    expected = {
        "test_cpu": None if "--tensorcheck-sync=report" in options else False,
        "test_if_there_is_one": bool(options),
        "test_without_tensors": None,
        "test_switched_off": None,
        "test_on_the_device": True,
        "test_plain": True,
    }
    assert judged == {name: expected[name] for name in judged}


def test_what_the_numerics_watch_reads_is_no_wait(pytester: pytest.Pytester, no_gpu: None) -> None:
    pytester.makepyfile("""
        import pytest
        import torch

        @pytest.mark.tensorcheck(sync="error")
        def test_forward_and_backward():
            x = torch.tensor([[1.0, 0.0], [2.0, 3.0]], requires_grad=True)
            (x.sqrt() + (1 / x)).sum().backward()
            (x.detach().half() * 60000).log()
        """)
    result = pytester.runpytest_inprocess("-p", "no:randomly", "--tensorcheck-numerics", "report")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["NaN, Inf, overflow and underflow: * in 1 test"])
    result.stdout.no_fnmatch_line("*waits for the GPU*")
