"""pytest-tensorcheck: run-time checks for tensor code, as pytest fixtures and as ordinary functions.

Importing this package imports neither torch nor numpy: every public name is loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

# Public name -> the module that holds it.
_PUBLIC = {
    "BroadcastError": "pytest_tensorcheck.broadcasting",
    "DivergenceError": "pytest_tensorcheck.determinism",
    "GradcheckError": "pytest_tensorcheck.gradients",
    "GradcheckWarning": "pytest_tensorcheck.gradients",
    "GradientFlowError": "pytest_tensorcheck.gradients",
    "NonfiniteError": "pytest_tensorcheck.numerics",
    "ShapeError": "pytest_tensorcheck.shapes",
    "ShapeSpecError": "pytest_tensorcheck.shapes",
    "CloseError": "pytest_tensorcheck.shapes",
    "OpcheckError": "pytest_tensorcheck.gradients",
    "SyncError": "pytest_tensorcheck.sync",
    "UnstableMap": "pytest_tensorcheck.map_stability",
    "TensorcheckFailure": "pytest_tensorcheck.observations",
    "allow_broadcast": "pytest_tensorcheck.broadcasting",
    "allow_sync": "pytest_tensorcheck.sync",
    "ShapeChecker": "pytest_tensorcheck.shapes",
    "assert_close": "pytest_tensorcheck.shapes",
    "assert_dtype": "pytest_tensorcheck.shapes",
    "assert_finite": "pytest_tensorcheck.shapes",
    "assert_same_shape": "pytest_tensorcheck.shapes",
    "assert_shape": "pytest_tensorcheck.shapes",
    "check_annotations": "pytest_tensorcheck.shapes",
    "check_gradients": "pytest_tensorcheck.gradients",
    "check_gradients_flow": "pytest_tensorcheck.gradients",
    "deterministic": "pytest_tensorcheck.determinism",
    "gradcheck": "pytest_tensorcheck.gradients",
    "no_broadcast": "pytest_tensorcheck.broadcasting",
    "no_nonfinite": "pytest_tensorcheck.numerics",
    "no_sync": "pytest_tensorcheck.sync",
    "opcheck": "pytest_tensorcheck.gradients",
    "shapes": "pytest_tensorcheck.shapes",
    "stable_map": "pytest_tensorcheck.map_stability",
    "watch": "pytest_tensorcheck.broadcasting",
    "__version__": "pytest_tensorcheck._version",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
