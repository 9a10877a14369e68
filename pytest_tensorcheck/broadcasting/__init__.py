"""The run-time guard for accidental broadcasts (static counterparts: TSR111 and TSR112).

`no_broadcast()` raises, `observe()` writes down, `allow_broadcast()` excuses, `watch(array)` follows numpy arrays.
"""

from __future__ import annotations

from pytest_tensorcheck.broadcasting.guard import BroadcastError, allow_broadcast, no_broadcast, observe
from pytest_tensorcheck.broadcasting.numpy_watch import watch

__all__ = ["BroadcastError", "allow_broadcast", "no_broadcast", "observe", "watch"]
