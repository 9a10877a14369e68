"""Load the array libraries once, before any test.

pytester puts sys.modules back after each session that it runs in this process; a second import of torch into one
process aborts it.
"""

from __future__ import annotations

import contextlib

with contextlib.suppress(ImportError):
    import numpy.random
with contextlib.suppress(ImportError):
    import torch  # noqa: F401
