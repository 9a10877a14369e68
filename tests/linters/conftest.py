"""TESTS_DEVICE=cuda: torch, the oracle, makes its tensors on the GPU, where some operations have other layouts."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import Any

import pytest

# What torch and numpy say where a program of the tests hands a tensor on the GPU to what takes those of the host.
NEEDS_THE_HOST = (
    "on the same device", "should be the same", "'numpy.ndarray' and 'tensor'", "cuda", "device"
)  # fmt: skip


@pytest.fixture(autouse=True)
def _default_device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    device = os.environ.get("TESTS_DEVICE")
    if device is None or request.node.get_closest_marker("host") is not None:
        yield
        return
    import torch

    from tensorlint.inference import analysis

    torch.set_default_device(device)
    # As if each program said so itself.
    monkeypatch.setattr(analysis, "default_device", lambda source, facts: None)
    yield
    torch.set_default_device(None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, Any, Any]:
    """A program that works with the host's tensors alone says nothing about a GPU's."""
    try:
        return (yield)
    except (TypeError, RuntimeError) as error:
        on_gpu = os.environ.get("TESTS_DEVICE") == "cuda"
        text = str(error)
        # An assertion in a kernel leaves the process without a GPU: that test, and all after it, have failed.
        if on_gpu and "device-side assert" not in text and any(part in text.lower() for part in NEEDS_THE_HOST):
            pytest.skip("hands tensors on a GPU to what takes them on the host only")
        raise
