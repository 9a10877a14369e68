"""TESTS_DEVICE=cuda: torch, the oracle, makes its tensors on the GPU, where some operations have other layouts."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _default_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    device = os.environ.get("TESTS_DEVICE")
    if device is None:
        yield
        return
    import torch

    from tensorlint.inference import analysis

    torch.set_default_device(device)
    # As if each program said so itself.
    monkeypatch.setattr(analysis, "default_device", lambda source, facts: None)
    yield
    torch.set_default_device(None)
