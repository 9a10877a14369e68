"""`assert_finite`, `assert_same_shape`, `assert_dtype`: one sentence each about whole structures of arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pytest_tensorcheck.frameworks import loaded
from pytest_tensorcheck.shapes import arrays, messages
from pytest_tensorcheck.shapes.checker import ShapeError, argument_label, call_place
from pytest_tensorcheck.shapes.nested import array_leaves
from pytest_tensorcheck.shapes.sizes import show


def _each(value: Any, numbers: bool = False) -> Iterator[tuple[str, Any]]:
    """The arrays of a structure by path; of a torch module its parameters, their gradients and its buffers.

    `numbers`: Python's own numbers in it too, as the losses and metrics in a dict are.
    """
    torch = loaded("torch")
    if torch is not None and isinstance(value, torch.nn.Module):
        for name, parameter in value.named_parameters():
            yield f".{name}", parameter
            if parameter.grad is not None:
                yield f".{name}.grad", parameter.grad
        for name, buffer in value.named_buffers():
            yield f".{name}", buffer
        return
    if isinstance(value, (bool, int, float, complex)):
        yield "", value
        return
    yield from array_leaves(value, numbers=numbers)


def assert_finite(*values: Any) -> None:
    """No NaN and no Inf in arrays, structures of arrays, or a module's parameters, gradients and buffers.

    Raises `ShapeError` that counts them and names the first one's index. Integers and booleans are finite.
    """
    __tracebackhide__ = True
    if not values:
        raise TypeError("assert_finite was given nothing to look at")
    for position, value in enumerate(values):
        looked = False
        for path, array in _each(value, numbers=True):
            looked = True
            problem = _nonfinite(array)
            if problem:
                raise _failure(position, path, problem)
        if not looked:
            raise _failure(position, "", f"expected arrays, found none in {messages.brief(value)}")


def _nonfinite(array: Any) -> str | None:
    if arrays.is_torch(array):
        import torch

        array = array.detach()
        if array.is_nested:
            parts = enumerate(array.unbind())
            return next((f"component {at}: {found}" for at, part in parts if (found := _nonfinite(part))), None)
        if not (array.is_floating_point() or array.is_complex()) or array.device.type == "meta":
            return None
        if array.layout != torch.strided:
            array = array.coalesce().values() if array.layout == torch.sparse_coo else array.to_dense()
        if array.itemsize == 1:  # of float8 torch does not say it
            array = array.to(torch.float32)
        finite = torch.isfinite(array)
        if bool(finite.all()):
            return None
        kinds = {"NaN": torch.isnan(array)}
        if not array.is_complex():
            kinds |= {"+Inf": torch.isposinf(array), "-Inf": torch.isneginf(array)}
        counts = {kind: int(where.sum()) for kind, where in kinds.items()}
        index = tuple(int(each) for each in (~finite).nonzero()[0])
        total, shape = array.numel(), tuple(array.shape)
    else:
        import numpy

        array = numpy.ma.filled(array, 0) if isinstance(array, numpy.ma.MaskedArray) else numpy.asarray(array)
        if array.dtype.kind == "O" and all(isinstance(each, (bool, int, float)) for each in array.flat):
            array = array.astype("float64")
        if array.dtype.kind not in "fc":
            if array.dtype.name not in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
                return None
            array = array.astype("float32")
        finite = numpy.isfinite(array)
        if finite.all():
            return None
        kinds = {"NaN": numpy.isnan(array)}
        if array.dtype.kind == "f":
            kinds |= {"+Inf": numpy.isposinf(array), "-Inf": numpy.isneginf(array)}
        counts = {kind: int(where.sum()) for kind, where in kinds.items()}
        index = tuple(int(each) for each in numpy.argwhere(~finite)[0])
        total, shape = array.size, array.shape
    if not any(counts.values()):
        counts = {"Inf": total - int(finite.sum())}
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    at = f", the first at {list(index)}" if index else ""
    return f"{said} among {total} elements of shape {show(shape)}{at}"


def assert_same_shape(first: Any, *others: Any) -> None:
    """Every array has the first one's shape, size for size: nothing broadcasts. Raises `ShapeError`."""
    __tracebackhide__ = True
    expected = arrays.shape_of(first)
    if expected is None:
        raise _failure(0, "", f"expected an array, got {messages.brief(first)}")
    for position, other in enumerate(others, 1):
        shape = arrays.shape_of(other)
        if shape is None:
            raise _failure(position, "", f"expected an array, got {messages.brief(other)}")
        if shape == expected:
            continue
        base = f"expected shape {show(expected)} of {argument_label(0, 'value 1')}, got {show(shape)}"
        if len(shape) != len(expected):
            hint = _squeeze_hint(shape, expected)
            raise _failure(position, "", f"{base}: {len(shape)} axes against {len(expected)}{hint}")
        axes = [str(at) for at, (have, want) in enumerate(zip(shape, expected, strict=True)) if have != want]
        word = "axis" if len(axes) == 1 else "axes"
        raise _failure(position, "", f"{base}: they differ in {word} {', '.join(axes)}")


def _squeeze_hint(shape: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """When the two differ by axes of size 1, say which one."""
    longer, shorter, verb = (
        (shape, expected, "squeeze") if len(shape) > len(expected) else (expected, shape, "unsqueeze")
    )
    if len(longer) - len(shorter) != 1:
        return ""
    for at, size in enumerate(longer):
        if size == 1 and longer[:at] + longer[at + 1 :] == shorter:
            return f"; .{verb}({at if at < len(longer) - 1 else -1}) would make them equal"
    return ""


def assert_dtype(value: Any, dtype: Any) -> None:
    """Every array of the structure (or parameter of the module) has this dtype.

    `dtype` is a dtype of any library, its name, a family ("float", "int", "complex", "bool"; also the Python types)
    or a tuple of these. Raises `ShapeError`.
    """
    __tracebackhide__ = True
    looked = False
    for path, array in _each(value):
        looked = True
        problem = messages.property_problem(array, arrays.shape_of(array) or (), dtype, None, None, None)
        if problem:
            raise _failure(0, path, problem)
    if not looked:
        raise _failure(0, "", f"expected arrays, found none in {messages.brief(value)}")


def _failure(position: int, path: str, problem: str) -> ShapeError:
    frame = sys._getframe(1)
    label = argument_label(position, f"value {position + 1}" if position else "value", frame)
    return ShapeError(f"{label}{path}: {problem}{call_place(frame)}")
