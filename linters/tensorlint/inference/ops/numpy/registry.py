"""The one table that the modules of this package fill."""

from __future__ import annotations

from tensorlint.inference.ops.table import Table

NUMPY = Table("numpy", "numpy")
op = NUMPY.op
