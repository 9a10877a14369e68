"""A session on a machine with a GPU: `--tensorcheck-device cuda`, everything switched on."""

from __future__ import annotations

import re

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

pytestmark = pytest.mark.gpu

TESTS = """
import pytest
import torch
from torch import nn

DRAWN = []

def test_device(tensor_device):
    assert tensor_device.type == "cuda"
    assert torch.ones(2, device=tensor_device).is_cuda

@pytest.mark.parametrize("again", [0, 1])
def test_draws(again):
    torch.manual_seed(3)
    DRAWN.append(torch.rand(4, device="cuda"))
    assert torch.equal(DRAWN[0], DRAWN[-1])

def test_training_step(tensor_device):
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(), nn.ReLU(), nn.Linear(8, 1)).to(tensor_device)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        loss = model(torch.randn(5, 8, device=tensor_device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def test_reads_a_value():
    assert torch.ones(3, device="cuda").sum().item() == 3

def test_in_a_hook(no_sync, tensor_device):
    x = torch.ones(3, device=tensor_device, requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda grad: seen.append(grad.norm().item()))
    with pytest.raises(Exception, match=r"grad.norm\\(\\).item\\(\\)"), no_sync():
        y.sum().backward()
    assert len(seen) == 1

def test_shape(assert_shape):
    assert_shape(torch.ones(2, 3, device="cuda"), "b c")

def test_gradient(gradcheck):
    assert gradcheck(nn.Linear(3, 2).cuda(), torch.randn(4, 3).cuda())

@pytest.mark.tensorcheck(deterministic=True)
def test_repeats():
    return torch.randn(64, 64, device="cuda") @ torch.randn(64, 64, device="cuda")

def test_broadcasts():
    a, b = torch.randn(6, 1, device="cuda"), torch.randn(6, device="cuda")
    (a - b).square().mean()

def test_leaves_something():
    torch.set_default_dtype(torch.float64)
"""


def test_a_session_on_the_gpu(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess(
        "--tensorcheck", "--tensorcheck-device=cuda", "--tensorcheck-sync=report", "--tensorcheck-numerics=report",
        "-p", "no:cacheprovider",
    )  # fmt: skip
    text = result.stdout.str()
    result.assert_outcomes(passed=11)
    assert f"device cuda ({torch.cuda.get_device_name(0)})" in text
    found = re.findall(r"^  test_a_session_on_the_gpu.py:(\d+)  (.*)$", text, re.MULTILINE)
    lines = TESTS.strip().splitlines()
    said = {lines[int(number) - 1].strip(): message for number, message in found}
    assert "item waits for the GPU" in said.pop('assert torch.ones(3, device="cuda").sum().item() == 3')
    assert "(6, 1)" in said.pop("(a - b).square().mean()")
    assert "torch default dtype" in said.pop("def test_leaves_something():")
    # The others are copies to the GPU, comparisons, and the hook: nothing that our own checks read.
    for line in ("model = nn.Sequential", "assert gradcheck(", "y.register_hook(", "assert torch.equal(DRAWN"):
        del said[next(found for found in said if found.startswith(line))]
    assert said == {}


def test_the_seed_of_each_test_is_the_gpus_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import torch

        def test_draws():
            print("drawn", torch.rand(3, device="cuda").tolist())
        """
    )
    runs = [
        re.findall(r"drawn .*", pytester.runpytest_subprocess("--tensorcheck", "-s", *options).stdout.str())
        for options in ((), (), ("--tensorcheck-seed", "1"))
    ]
    assert runs[0] == runs[1] != runs[2]
    assert len(runs[0]) == 1


def test_errors_name_the_users_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        import torch

        @pytest.mark.tensorcheck(sync="error")
        def test_waits():
            x = torch.ones(3, device="cuda")
            if x.sum() > 2:
                pass
        """
    )
    result = pytester.runpytest_subprocess("--tensorcheck")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*> *if x.sum() > 2:", "*test_errors_name_the_users_line.py:7: x.sum() > 2"])


def test_two_workers_share_the_gpu(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess(
        "--tensorcheck", "--tensorcheck-device", "cuda", "--tensorcheck-sync", "report", "-n", "2"
    )
    result.assert_outcomes(passed=11)
