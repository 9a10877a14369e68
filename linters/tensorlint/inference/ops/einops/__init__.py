"""The table of einops, and its patterns for the layers that take one."""

from __future__ import annotations

from tensorlint.inference.ops.einops.functions import EINOPS, reduce
from tensorlint.inference.ops.einops.patterns import text_of
from tensorlint.inference.ops.einops.transforms import subject, transform

__all__ = ["EINOPS", "reduce", "subject", "text_of", "transform"]
