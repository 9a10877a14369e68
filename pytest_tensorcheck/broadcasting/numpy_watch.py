"""numpy arrays that are followed, because numpy has no hook through which all of its arithmetic goes.

What is followed: arithmetic and every other ufunc, methods, indexing, and numpy's functions (`concatenate`, `where`,
`linalg.norm`, …). What is not, because it hands out or takes plain memory: `np.asarray` and `np.array` of a watched
array, lists and scalars made from it, pandas, torch and other libraries' C code. Such results are plain arrays:
`is_watched` says, and `watch` takes them up again.
"""

from __future__ import annotations

import types
from typing import Any

from pytest_tensorcheck.frameworks import require


def watch(array: Any) -> Any:
    """Follow a numpy array: a view of the same memory, of a subclass of `numpy.ndarray`, whose accidental broadcasts
    are reported like torch's, and so are those of everything computed from it.

    Inside `no_broadcast()` and outside any block they raise `BroadcastError`; inside `observe()` they are written
    down. Also takes a list, tuple or dict of arrays, and the numpy module itself: `np = watch(np)`, or
    `monkeypatch.setattr(metrics, "np", watch(np))`, makes every array that comes out of that name a watched one.
    """
    __tracebackhide__ = True
    require("numpy", "watch")
    from pytest_tensorcheck.broadcasting import watched_array

    if isinstance(array, types.ModuleType):
        if array.__name__.partition(".")[0] != "numpy":
            raise TypeError(f"watch takes the numpy module, not {array.__name__}")
        return watched_array.WatchedModule(array)
    if isinstance(array, dict):
        return {key: watch(each) for key, each in array.items()}
    if type(array) in (list, tuple):
        return type(array)(watch(each) for each in array)
    return watched_array.watched(array)


def is_watched(array: Any) -> bool:
    """Whether operations on this array are judged."""
    from pytest_tensorcheck.broadcasting import watched_array

    return isinstance(array, watched_array.WatchedArray)
