"""tensorlint: finds silent bugs of PyTorch and NumPy code by inferring shapes, strides and modules.

The package imports neither torch nor numpy nor pytest, and never runs the code it reads.
"""

from __future__ import annotations


def version() -> str:
    """The version of the distribution that tensorlint comes in."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pytest-tensorcheck")
    except PackageNotFoundError:
        return "0 (not installed)"
