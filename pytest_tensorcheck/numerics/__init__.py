"""The first operation that makes NaN or Inf out of finite numbers, and float16 that over- or underflows.

`observe()` writes down (for `--tensorcheck-numerics report|error`), `no_nonfinite()` raises.
"""

from __future__ import annotations

from pytest_tensorcheck.numerics.watch import NonfiniteError, no_nonfinite, observe

__all__ = ["NonfiniteError", "no_nonfinite", "observe"]
