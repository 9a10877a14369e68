"""A whole run on report: every test has the outcome that it has without us, whatever it says about CUDA or TorchScript."""

from __future__ import annotations

import re
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from torch import nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from pytest_tensorcheck.sync import no_sync, observe, simulation  # noqa: E402

with simulation():  # loads every module now: pytester forgets those that are first imported in a session of its own
    pass

TESTS = """
import copy
import pytest
import torch
from torch import nn


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_skipped_at_import():
    raise AssertionError


def test_skipped_inside():
    if not torch.cuda.is_available():
        pytest.skip("needs CUDA")
    raise AssertionError


def test_takes_the_way_of_this_machine():
    assert torch.cuda.device_count() == 0
    device = "cuda" if torch.cuda.is_available() else "cpu"
    module = nn.Linear(2, 2).to(device=device)
    assert module.weight.device == torch.device("cpu")
    assert module(torch.ones(1, 2, device=device)).sum().item() is not None


@pytest.mark.parametrize("use", [
    lambda x: torch.zeros(2, device="cuda"),
    lambda x: torch.tensor([1.0], device="cuda"),
    lambda x: torch.as_tensor(x, device="cuda"),
    lambda x: x.new_tensor([1.0], device="cuda"),
    lambda x: x.new_zeros(2, device="cuda"),
    lambda x: x.cuda(),
    lambda x: x.to("cuda"),
    lambda x: x.type("torch.cuda.FloatTensor"),
    lambda x: nn.Linear(2, 2).to(device="cuda"),
    lambda x: torch.Generator("cuda"),
    lambda x: torch.cuda.current_device(),
    lambda x: torch.cuda.synchronize(),
])
def test_cuda_is_not_there(use):
    with pytest.raises((AssertionError, RuntimeError, ValueError)):
        use(torch.ones(2))


def test_other_devices_are_what_was_asked_for():
    for x in (torch.tensor([1.0], device="meta"), torch.as_tensor(torch.ones(2), device="meta"),
              torch.ones(2).new_tensor([1.0], device="meta"), torch.ones(2).to("meta")):
        assert x.device.type == "meta"


class Odd(nn.Module):
    # What autograd's own formulas in TorchScript run into under a dispatch mode.
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)
        self.weight = nn.Parameter(torch.randn(4, 4))

    def forward(self, x):
        x = torch.relu(self.linear(x.reshape(x.shape[0], -1)))
        return torch.einsum("bc,cd->bd", x, self.weight).reshape(-1)


def test_torchscript():
    x = torch.randn(5, 2, 3)
    module = Odd()
    traced = torch.jit.trace(module, x)
    for _ in range(3):
        assert torch.allclose(traced(x), module(x))
        traced(x).sum().backward()
    both = torch.jit.trace_module(module, {"forward": x})
    assert torch.allclose(both.forward(x), module(x))
    double = torch.jit.trace(lambda a: a.relu() * 2, x)
    assert double(torch.ones(2, 2, 3)).sum().item() == 24
    scripted = torch.jit.script(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
    for _ in range(3):
        scripted(x).sum().backward()


def test_fails():
    assert torch.ones(2).sum().item() == 3
"""


@pytest.fixture
def no_gpu() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here: the simulation is not used")


def _outcomes(pytester: pytest.Pytester, *options: str) -> dict[str, str]:
    result = pytester.runpytest_inprocess("-v", "-p", "no:randomly", "-p", "no:cacheprovider", "-W", "ignore", *options)
    return dict(re.findall(r"::(\S+) (PASSED|FAILED|SKIPPED|ERROR)", result.stdout.str()))


def test_the_outcomes_of_a_run_on_report_are_those_without_us(pytester: pytest.Pytester, no_gpu: None) -> None:
    pytester.makepyfile(TESTS)
    plain = _outcomes(pytester, "-p", "no:tensorcheck")
    watched = _outcomes(pytester, "--tensorcheck", "--tensorcheck-sync=report", "--tensorcheck-numerics=report")
    assert watched == plain
    assert plain.pop("test_fails") == "FAILED"
    assert len(plain) == 17
    assert set(plain.values()) == {"PASSED", "SKIPPED"}


def test_no_warning_of_torchs_comes_from_our_hook_on_modules(pytester: pytest.Pytester, no_gpu: None) -> None:
    pytester.makepyfile("""
        import pytest
        import torch
        from torch import nn
        from torch.nn.modules.module import register_module_forward_pre_hook

        pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


        @pytest.mark.parametrize("make", [
            lambda module: torch.compile(module, backend="eager"),
            lambda module: torch.jit.trace(module, torch.ones(2, 3)),
            lambda module: torch.jit.script(module),
            lambda module: torch.export.export(module, (torch.ones(2, 3),)).module(),
            lambda module: torch.fx.symbolic_trace(module),
        ], ids=["compile", "trace", "script", "export", "fx"])
        def test_module(make):
            module = nn.Linear(3, 1)
            assert torch.allclose(make(module)(torch.ones(2, 3)), module(torch.ones(2, 3)))


        def test_hook_of_the_users():
            handle = register_module_forward_pre_hook(lambda module, args: None)
            try:
                with pytest.warns(UserWarning, match="global hooks"):
                    torch.compile(nn.Linear(3, 1), backend="eager")(torch.ones(2, 3))
            finally:
                handle.remove()
    """)
    options = ("--tensorcheck-sync=report", "--tensorcheck-device=shadow", "--tensorcheck-sync=off")
    sessions = [["-p", "no:randomly", option] for option in options]
    # In a process of their own, whose first session imports the compiler while it is watched.
    result = pytester.runpython_c(f"import pytest\nprint('ENDED', [int(pytest.main(each)) for each in {sessions}])")
    result.stdout.fnmatch_lines([*["*= 6 passed in *"] * 3, "ENDED [[]0, 0, 0[]]"])


def test_who_asks_still_gets_the_simulated_gpu(pytester: pytest.Pytester, no_gpu: None) -> None:
    pytester.makepyfile(
        """
        import pytest
        import torch

        def test_fixture(tensor_device):
            assert torch.ones(2, device=tensor_device).is_cuda

        def test_block(no_sync):
            assert not torch.cuda.is_available()
            with no_sync():
                x = torch.ones(2, device="cuda")
                assert x.is_cuda
            assert not torch.cuda.is_available()
            assert (x + torch.ones(2)).device.type == "cpu"  # as without --tensorcheck-sync
            assert x.numpy().sum() == 2

        @pytest.mark.tensorcheck(sync="report")
        def test_marker():
            assert torch.ones(2, device="cuda").is_cuda

        def test_next():
            assert not torch.cuda.is_available()
        """
    )
    outcomes = _outcomes(pytester, "--tensorcheck", "--tensorcheck-sync=report")
    assert outcomes == dict.fromkeys(("test_fixture", "test_block", "test_marker", "test_next"), "PASSED")


def test_waits_are_seen_where_nothing_is_pretended(no_gpu: None) -> None:
    with observe(watch_only=True) as seen:
        assert not torch.cuda.is_available()
        torch.ones(3).sum().item()
    assert [(o.facts["operation"], o.facts["plain"]) for o in seen] == [("item", True)]


def test_pretending_begins_and_ends_inside(no_gpu: None) -> None:
    real = torch.cuda.is_available
    with simulation(watch_only=True):
        assert torch.cuda.is_available is real
        for _ in range(2):
            with simulation(), simulation(watch_only=True), simulation():
                assert torch.zeros(1, device="cuda").is_cuda
            assert torch.cuda.is_available is real
            with pytest.raises((AssertionError, RuntimeError)):
                torch.zeros(1, device="cuda")
    assert torch.cuda.is_available is real


def test_the_device_is_followed_through_to_type_as_and_torchscript(no_gpu: None) -> None:
    x = torch.randn(5, 3)
    net: Any = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    with simulation():
        net.to(device="cuda")
        assert net[0].weight.is_cuda
        on = x.cuda()
        assert x.type_as(on).is_cuda
        assert not on.type_as(x).is_cuda
        with pytest.warns((DeprecationWarning, FutureWarning)):
            traced = torch.jit.trace(net, on)
        assert traced(on).is_cuda
        traced(on).sum().backward()
        assert net[0].weight.grad.is_cuda
        with pytest.raises(AssertionError, match="type_as"), no_sync():
            x.type_as(on)


class _Others(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode that is not ours: how many dispatch modes it finds below itself at each operation."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.below: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.below.append(torch._C._len_torch_dispatch_stack())
        return func(*args, **(kwargs or {}))


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning", "ignore:.*torch.jit:FutureWarning")
def test_our_modes_are_aside_while_torchscript_runs_and_others_are_not(no_gpu: None) -> None:
    from pytest_tensorcheck.numerics import observe as observe_numbers

    x = torch.ones(2)
    scripted = torch.jit.trace(lambda a: a * 2, x)
    with simulation(watch_only=True), observe_numbers(), _Others() as others:
        scripted(x)
        x * 2
    assert others.below == [0, 2]
