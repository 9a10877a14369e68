"""The one table that the modules of this package fill."""

from __future__ import annotations

from tensorlint.inference.ops.table import Table

TORCH = Table("torch", "torch")
op = TORCH.op
