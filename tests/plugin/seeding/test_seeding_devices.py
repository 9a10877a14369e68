"""The generators of devices that are not initialised yet: seeded at the moment they are."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the devices are torch's")

from pytest_tensorcheck.seeding import Seeder  # noqa: E402


@pytest.mark.parametrize("name", ["cuda", "xpu", "mtia"])
def test_a_device_gets_the_seed_of_the_moment_when_it_is_initialised(monkeypatch, name):
    module = getattr(torch, name)
    if module.is_initialized():
        pytest.skip(f"torch.{name} is initialised already, so nothing waits for it")
    queued: list[tuple[object, list[str]]] = []
    monkeypatch.setattr(module, "_queued_calls", queued)
    generator = torch.Generator()
    monkeypatch.setattr(module, "default_generators", (generator,), raising=False)
    seeder = Seeder()
    seeder.queue_for_devices()
    seeder.queue_for_devices()  # once is enough
    seeder.current = 1234
    ((call, stack),) = queued
    assert "pytest-tensorcheck" in "".join(stack)  # torch joins it for the message of a call that failed
    call()
    assert generator.initial_seed() == 1234
    seeder.stop()
    seeder.current = 99
    call()
    assert generator.initial_seed() == 1234


def test_a_version_of_torch_without_that_list_is_asked_in_its_own_way(monkeypatch):
    asked = []
    monkeypatch.delattr(torch.mtia, "_queued_calls")
    monkeypatch.setattr(torch.mtia, "_lazy_call", asked.append)
    Seeder().queue_for_devices()
    assert len(asked) == 1
