"""Load the array libraries once, before any test.

pytester puts sys.modules back after each session that it runs in this process; a second import of torch into one
process aborts it.
"""

from __future__ import annotations

import contextlib

with contextlib.suppress(ImportError):
    import numpy.random  # noqa: F401
with contextlib.suppress(ImportError):
    import torch._inductor.config  # noqa: F401  (torch.use_deterministic_algorithms imports it)
