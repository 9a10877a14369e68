"""The settings that make torch repeat itself, for a block: set together, put back together.

    with settings():
        loss = step(model, batch)

What cannot be set in a running process is said, with how to set it.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pytest_tensorcheck.frameworks import require

# Values of CUBLAS_WORKSPACE_CONFIG under which cuBLAS repeats itself, from NVIDIA's documentation of cuBLAS.
CUBLAS_WORKSPACES = (":4096:8", ":16:8")
_CUBLAS = "CUBLAS_WORKSPACE_CONFIG"
_PRECISIONS = ("highest", "high", "medium")


@dataclass(frozen=True, slots=True)
class CannotSet:
    """Something that decides whether runs agree, and that this process cannot change any more."""

    name: str
    why: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}; {self.remedy}"


@contextmanager
def settings(
    *,
    algorithms: bool = True,
    warn_only: bool = False,
    cudnn_deterministic: bool = True,
    cudnn_benchmark: bool = False,
    allow_tf32: bool = False,
    matmul_precision: str = "highest",
    cublas_workspace: str = ":4096:8",
    fill_uninitialized: bool = True,
    threads: int | None = None,
) -> Iterator[list[CannotSet]]:
    """Deterministic algorithms and what belongs to them, for the block; everything is as it was afterwards.

    `algorithms`: torch.use_deterministic_algorithms: operations take a deterministic kernel, and those that have none
    raise RuntimeError (`warn_only`: warn). `cudnn_deterministic`, `cudnn_benchmark`: cuDNN's choice of kernels.
    `allow_tf32`, `matmul_precision`: whether float32 products may be rounded to fewer bits. `cublas_workspace`: set before
    cuBLAS reads it, which it does once in a process. `fill_uninitialized`: torch.empty gives NaN instead of what lay in
    memory. `threads`: torch's threads; another number is another order of summation.

    Yields what cannot be set in this process (a list of CannotSet, empty on a good day). Raises MissingFramework without
    torch, ValueError for a value that torch would not take.
    """
    _check_values(matmul_precision, cublas_workspace, threads)
    torch = require("torch", "deterministic.settings()")
    from pytest_tensorcheck.global_state import GlobalState
    from pytest_tensorcheck.torch_state import backend_flags_open, torch_items

    state = GlobalState(item for item in torch_items(torch) if item.name.startswith(_OURS))
    before = state.snapshot()
    environment = os.environ.get(_CUBLAS)
    cannot = _cannot_set(torch, environment, cublas_workspace)
    try:
        # cuBLAS' workspace first: torch looks at it when the first product runs under deterministic algorithms.
        if environment not in CUBLAS_WORKSPACES:
            os.environ[_CUBLAS] = cublas_workspace
        torch.use_deterministic_algorithms(algorithms, warn_only=warn_only)
        torch.utils.deterministic.fill_uninitialized_memory = fill_uninitialized
        with backend_flags_open(torch):
            torch.backends.cudnn.deterministic = cudnn_deterministic
            torch.backends.cudnn.benchmark = cudnn_benchmark
            _set_precision(torch, matmul_precision, allow_tf32)
        if threads is not None:
            torch.set_num_threads(threads)
        yield cannot
    finally:
        state.put_back(state.changes(before, state.snapshot()))
        if environment is None:
            os.environ.pop(_CUBLAS, None)
        else:
            os.environ[_CUBLAS] = environment


_OURS = (
    "torch.use_deterministic_algorithms",
    "torch.utils.deterministic",
    "torch.backends.cudnn",
    "torch float32 matmul precision",
    "torch fp32_precision",
    "torch number of threads",
)


def _check_values(matmul_precision: str, cublas_workspace: str, threads: int | None) -> None:
    if matmul_precision not in _PRECISIONS:
        raise ValueError(f"matmul_precision={matmul_precision!r}: one of {', '.join(_PRECISIONS)}")
    if cublas_workspace not in CUBLAS_WORKSPACES:
        raise ValueError(
            f"cublas_workspace={cublas_workspace!r}: cuBLAS repeats itself only with {' or '.join(CUBLAS_WORKSPACES)}"
        )
    if threads is not None and (type(threads) is not int or threads < 1):
        raise ValueError(f"threads={threads!r}: a positive number")


def _set_precision(torch: Any, matmul_precision: str, allow_tf32: bool) -> None:
    torch.set_float32_matmul_precision(matmul_precision)
    try:
        _ = torch.backends.cudnn.allow_tf32
        torch.backends.cudnn.allow_tf32 = allow_tf32
        mixed = getattr(torch.backends, "fp32_precision", "none") != "none"
    except RuntimeError:
        mixed = True
    if mixed:  # torch 2.9 and later, and the user's code speaks the newer language: the older switch would not hold
        for operation in (torch.backends.cudnn.conv, torch.backends.cudnn.rnn):
            operation.fp32_precision = "tf32" if allow_tf32 else "ieee"


def _cannot_set(torch: Any, environment: str | None, wanted: str) -> list[CannotSet]:
    found = []
    if environment not in CUBLAS_WORKSPACES and torch.cuda.is_initialized():
        found.append(
            CannotSet(
                _CUBLAS,
                "CUDA is already in use, and cuBLAS reads it once" + (f" (it is {environment})" if environment else ""),
                f"set it before the process starts: {_CUBLAS}={wanted} pytest ...",
            )
        )
    if sys.flags.hash_randomization:
        found.append(
            CannotSet(
                "PYTHONHASHSEED",
                "the order of sets of strings changes from process to process, and is fixed when Python starts",
                "set it before the process starts: PYTHONHASHSEED=0 pytest ...",
            )
        )
    return found


def warn_about(cannot: list[CannotSet]) -> None:
    """One warning for each, at the caller's caller."""
    for one in cannot:
        warnings.warn(f"deterministic settings: {one}", stacklevel=3)
