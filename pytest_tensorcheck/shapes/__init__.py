"""Shape assertions with named sizes, and the assertions that the same people need.

`assert_shape(x, "batch seq dim", y, "batch dim")` outside or inside a `with shapes():` block; `ShapeChecker()` is
the same with bindings that last (the `assert_shape` fixture); `check_annotations` checks jaxtyping's annotations.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_tensorcheck.shapes.annotations import check_annotations
    from pytest_tensorcheck.shapes.checker import ShapeChecker, ShapeError, assert_shape, shapes
    from pytest_tensorcheck.shapes.closeness import CloseError, assert_close
    from pytest_tensorcheck.shapes.companions import assert_dtype, assert_finite, assert_same_shape
    from pytest_tensorcheck.shapes.spec import ShapeSpecError

# Public name -> the module that holds it, loaded on first use: the broadcast guard needs `shapes.sizes` only.
_PUBLIC = {
    "CloseError": "closeness",
    "ShapeChecker": "checker",
    "ShapeError": "checker",
    "ShapeSpecError": "spec",
    "assert_close": "closeness",
    "assert_dtype": "companions",
    "assert_finite": "companions",
    "assert_same_shape": "companions",
    "assert_shape": "checker",
    "check_annotations": "annotations",
    "shapes": "checker",
}


class _CallableModule(types.ModuleType):
    """`from pytest_tensorcheck import shapes` gives the function at first, and this module once Python has bound the
    submodule to the same name: calling either opens the block."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.shapes(*given, **named)

    def __getattr__(self, name: str) -> Any:
        if name not in _PUBLIC:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{__name__}.{_PUBLIC[name]}"), name)
        setattr(self, name, found)
        return found


sys.modules[__name__].__class__ = _CallableModule

__all__ = [
    "CloseError",
    "ShapeChecker",
    "ShapeError",
    "ShapeSpecError",
    "assert_close",
    "assert_dtype",
    "assert_finite",
    "assert_same_shape",
    "assert_shape",
    "check_annotations",
    "shapes",
]
