"""The watcher of torch operations."""

from __future__ import annotations

from torch.overrides import TorchFunctionMode


class BroadcastMode(TorchFunctionMode):
    """Judges operations that broadcast."""
