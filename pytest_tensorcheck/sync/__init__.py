"""Where the host waits for the GPU: found on a GPU, and on a machine without one.

Importing this package does not import torch.

How the plugin uses it:

* `no_sync` (the fixture) returns :func:`no_sync`; `allow_sync` likewise. They start what they need: the watcher on a
  GPU, else a simulation of their own.
* `tensor_device` under simulation is `device()`: ``torch.device("cuda")``, as user code writes it. It is valid only
  inside :func:`simulation`.
* ``with simulation():`` goes around the whole test (setup, call and teardown: tensors are followed from where they are
  made) for ``--tensorcheck-device shadow``, and where a test asks for `no_sync`, ``sync=`` or `tensor_device` and there is
  no GPU. It may be entered again inside itself. Everything it patches is put back when the outermost one ends.
  When setup and call are separate hooks: ``s = simulation(); s.__enter__()`` … ``s.__exit__(None, None, None)``, same thread.
* ``with observe() as seen:`` around setup+call for ``--tensorcheck-sync report|error`` and the marker's ``sync=``:
  `seen` is a list[Observation], one for each line and operation, which grows while the test runs; `count` is final when
  the block has ended. `facts` holds: operation, aten, expression, inside, plain (counted although the code names no
  device), certain (False for "may block"), remedy. In ``error`` mode: ``failure(seen, plain=…)`` is the
  SyncError to raise, or None when nothing certain was seen; plain=True only where the test itself asked (the marker). It starts a simulation itself when there is no GPU.
* ``backend()`` says what would be used: "cuda", "simulation" or "none" (torch is not installed).
"""

from __future__ import annotations

from pytest_tensorcheck.sync.backends import backend, device
from pytest_tensorcheck.sync.messages import SyncError
from pytest_tensorcheck.sync.scopes import allow_sync, failure, no_sync, observe
from pytest_tensorcheck.sync.shadow import simulation

__all__ = ["SyncError", "allow_sync", "backend", "device", "failure", "no_sync", "observe", "simulation"]
