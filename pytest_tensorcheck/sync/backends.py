"""Where synchronisations can be seen from: a real GPU, a simulation of one, or nowhere."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

from pytest_tensorcheck.frameworks import require
from pytest_tensorcheck.sync.events import SyncEvent

Backend = Literal["cuda", "simulation", "none"]


def backend() -> Backend:
    """What `no_sync` uses: an open simulation, else a CUDA GPU, else a simulation of its own. "none" without torch."""
    if importlib.util.find_spec("torch") is None:
        return "none"
    from pytest_tensorcheck.sync import shadow

    if shadow.current() is not None:
        return "simulation"
    import torch

    return "cuda" if torch.cuda.is_available() else "simulation"


def source(*, watch_only: bool = False) -> AbstractContextManager[Any]:
    """The context that makes synchronisations visible; MissingFramework without torch.

    `watch_only`: where there is no GPU, do not pretend that there is one.
    """
    require("torch", "no_sync")
    if backend() == "cuda":
        from pytest_tensorcheck.sync.gpu_watcher import watching

        return watching()
    from pytest_tensorcheck.sync.shadow import simulation

    return simulation(watch_only=watch_only)


def device() -> Any:
    """The torch.device that user code would write: ``torch.device("cuda")``, real or simulated.

    Who asks for it says where the data lives: from here on a simulation counts exactly the tensors made or moved there.
    """
    from pytest_tensorcheck.sync import shadow

    current = shadow.current()
    if current is not None:
        current.name_device()
    return require("torch", "tensor_device").device("cuda")


def unseen() -> str:
    """The kind of a device that the code used and whose waits nobody can see ("mps"), or ""."""
    from pytest_tensorcheck.sync import shadow

    current = shadow.current()
    return current.other_device if current is not None else ""


def names_device() -> bool | None:
    """Whether the code has said where its data lives, so that what counts is no guess; always so on a real GPU.

    None: it has no data of which the question could be asked.
    """
    from pytest_tensorcheck.sync import shadow

    current = shadow.current()
    if current is None or current.device_named:
        return True
    return False if current.floats_seen else None


def settled(events: Sequence[SyncEvent]) -> list[SyncEvent]:
    """The events that still count: once the code has named a device, guesses made before it no longer do, and once a
    program has shown floating point data, its integer tensors are bookkeeping."""
    from pytest_tensorcheck.sync import shadow

    current = shadow.current()
    if current is None:
        return list(events)
    if current.device_named:
        return [event for event in events if not event.plain]
    if current.floats_seen:
        return [event for event in events if not event.integer]
    return list(events)
