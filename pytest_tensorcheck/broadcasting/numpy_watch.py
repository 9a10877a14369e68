"""numpy arrays that are followed through arithmetic, because numpy has no hook for all of them."""

from __future__ import annotations

from typing import Any


def watch(array: Any) -> Any:
    """A view of a numpy array whose broadcasts are judged; what is computed from it is watched too."""
    raise NotImplementedError
