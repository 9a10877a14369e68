"""torch's threads under xdist: every worker would use every core, which costs suites a factor of ten and more."""

from __future__ import annotations

import os
from typing import Any

import pytest

_SET_BY_USER = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def share_cores(config: pytest.Config, torch: Any) -> None:
    """Give this worker its share, at the moment torch is loaded: whoever calls set_num_threads later has the last word."""
    if (threads := threads_of_worker(config)) is not None and threads < torch.get_num_threads():
        torch.set_num_threads(threads)


def threads_of_worker(config: pytest.Config) -> int | None:
    """Cores // workers; None outside xdist, and where the user has said how many."""
    count = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "")
    if not count.isdecimal() or int(count) < 1 or any(name in os.environ for name in _SET_BY_USER):
        return None
    return max(1, available_cores() // int(count))


def available_cores() -> int:
    """Cores this process may run on, not those of the machine: containers and batch systems give fewer."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
