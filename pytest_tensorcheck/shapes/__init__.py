"""Shape assertions with named sizes, and the assertions that the same people need.

`assert_shape(x, "batch seq dim", y, "batch dim")` outside or inside a `with shapes():` block; `ShapeChecker()` is
the same with bindings that last (the `assert_shape` fixture); `check_annotations` checks jaxtyping's annotations.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from pytest_tensorcheck.shapes.annotations import check_annotations
from pytest_tensorcheck.shapes.checker import ShapeChecker, ShapeError, assert_shape, shapes
from pytest_tensorcheck.shapes.closeness import CloseError, assert_close
from pytest_tensorcheck.shapes.companions import assert_dtype, assert_finite, assert_same_shape
from pytest_tensorcheck.shapes.spec import ShapeSpecError


class _CallableModule(types.ModuleType):
    """`from pytest_tensorcheck import shapes` gives the function at first, and this module once Python has bound the
    submodule to the same name: calling either opens the block."""

    def __call__(self) -> Any:
        return shapes()


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
