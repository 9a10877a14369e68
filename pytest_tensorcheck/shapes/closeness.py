"""`assert_close`: the libraries' own comparison decides; we add where the worst element is and how the error lies."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

from pytest_tensorcheck.observations import TensorcheckFailure
from pytest_tensorcheck.shapes import arrays
from pytest_tensorcheck.shapes.checker import argument_label, call_place
from pytest_tensorcheck.shapes.messages import brief
from pytest_tensorcheck.shapes.sizes import show

# (rtol, atol) by dtype, the coarser dtype of the two deciding: what torch.testing.assert_close documents as its own.
TOLERANCES: dict[str, tuple[float, float]] = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


class CloseError(TensorcheckFailure):
    """Two arrays that should be close are not."""


def assert_close(
    actual: Any, expected: Any, *, rtol: float | None = None, atol: float | None = None, **options: Any
) -> None:
    """Assert that arrays, numbers, or structures of them are close.

    With a torch tensor on either side `torch.testing.assert_close(actual, expected, rtol, atol, **options)` decides
    (the other side is converted when it is an array, a number or a list), otherwise
    `numpy.testing.assert_allclose`. What holds no numbers (names, None, dates) has to be equal; masked elements are
    passed by. Tolerances follow the coarser dtype (`TOLERANCES`) unless both are given.
    `equal_nan=True` makes NaN equal to NaN. Raises `CloseError`.
    """
    __tracebackhide__ = True
    if (rtol is None) != (atol is None):
        raise ValueError("give rtol and atol together, or neither: one alone leaves the other to the dtype")
    problem = _compare(actual, expected, rtol, atol, options, "")
    if problem is not None:
        path, text = problem
        frame = sys._getframe()
        raise CloseError(f"{argument_label(0, 'actual', frame)}{path}: {text}{call_place(frame)}")


def _compare(
    actual: Any, expected: Any, rtol: float | None, atol: float | None, options: dict[str, Any], path: str
) -> tuple[str, str] | None:
    """The path and the description of the first pair that is not close."""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            gone, new = (
                sorted(map(repr, expected.keys() - actual.keys())),
                sorted(map(repr, actual.keys() - expected.keys())),
            )
            parts = [f"missing keys {', '.join(gone)}"] * bool(gone) + [f"unexpected keys {', '.join(new)}"] * bool(new)
            return path, "; ".join(parts)
        pairs = [(f"[{key!r}]", actual[key], expected[key]) for key in expected]
    elif _is_list_of_arrays(actual) and isinstance(expected, Sequence) and not isinstance(expected, (str, bytes)):
        if len(actual) != len(expected):
            return path, f"{len(actual)} items, expected {len(expected)}"
        pairs = [(f"[{at}]", left, right) for at, (left, right) in enumerate(zip(actual, expected, strict=True))]
    else:
        text = _compare_leaf(actual, expected, rtol, atol, options)
        return None if text is None else (path, text)
    for below, left, right in pairs:
        problem = _compare(left, right, rtol, atol, options, path + below)
        if problem is not None:
            return problem
    return None


def _is_list_of_arrays(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(
        arrays.is_array(each) or isinstance(each, (list, tuple, Mapping)) for each in value
    )


def _compare_leaf(
    actual: Any, expected: Any, rtol: float | None, atol: float | None, options: dict[str, Any]
) -> str | None:
    if not (_holds_numbers(actual) and _holds_numbers(expected)):
        return _compare_as_they_are(actual, expected)
    if arrays.is_torch(actual) or arrays.is_torch(expected):
        import torch

        if not arrays.is_torch(expected):
            expected = torch.as_tensor(expected, dtype=None if arrays.is_array(expected) else actual.dtype)
        if not arrays.is_torch(actual):
            actual = torch.as_tensor(actual, dtype=None if arrays.is_array(actual) else expected.dtype)
        try:
            torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol, **options)
        except AssertionError as error:
            said = str(error)
        else:
            return None
        tolerances = _tolerances(actual.dtype, expected.dtype, rtol, atol)
    else:
        import numpy

        actual, expected = _unmasked(actual, expected)
        tolerances = _tolerances(actual.dtype, expected.dtype, rtol, atol)
        if actual.shape != expected.shape:
            return f"shape {show(actual.shape)}, expected {show(expected.shape)}"
        options = {"equal_nan": False, **options}
        check_dtype = options.pop("check_dtype", False)
        if check_dtype and actual.dtype != expected.dtype:
            return f"dtype {actual.dtype}, expected {expected.dtype}"
        try:
            numpy.testing.assert_allclose(actual, expected, rtol=tolerances[0], atol=tolerances[1], **options)
        except AssertionError as error:
            said = _first_paragraph(str(error))
        else:
            return None
    spread = _spread(actual, expected, tolerances, bool(options.get("equal_nan", False)))
    return said.strip() + ("\n" + spread if spread else "")


def _holds_numbers(value: Any) -> bool:
    """Whether a difference can be taken: not of names, None, dates, records."""
    if arrays.is_torch(value) or isinstance(value, Number):
        return True
    import numpy

    try:
        array = numpy.asarray(value)
    except (TypeError, ValueError):  # ragged
        return False
    if array.dtype.kind == "O":
        return all(isinstance(each, Number) for each in array.flat)
    # The further float types (bfloat16, float8) are of kind "V", as records are.
    return array.dtype.kind in "biufc" or (array.dtype.kind == "V" and not array.dtype.name.startswith("void"))


def _compare_as_they_are(actual: Any, expected: Any) -> str | None:
    import numpy

    if arrays.is_numpy(actual) and arrays.is_numpy(expected):
        if actual.shape != expected.shape:
            return f"shape {show(actual.shape)}, expected {show(expected.shape)}"
        wrong = numpy.asarray(actual != expected)
        if not wrong.any():
            return None
        first = tuple(int(each) for each in numpy.argwhere(wrong)[0])
        return (
            f"{_where(wrong, numpy)}, the first at {list(first)}: got {actual[first]!r}, expected {expected[first]!r}"
        )
    arrays_here = arrays.is_array(actual) or arrays.is_array(expected)
    if not arrays_here and (actual is expected or bool(actual == expected)):
        return None
    return f"got {brief(actual)}, expected {brief(expected)}"


def _unmasked(actual: Any, expected: Any) -> tuple[Any, Any]:
    """Both as plain arrays; where an element of one is masked, both have the same number."""
    import numpy

    first, second = numpy.asarray(actual), numpy.asarray(expected)
    if first.shape == second.shape and any(isinstance(each, numpy.ma.MaskedArray) for each in (actual, expected)):
        masked = numpy.ma.getmaskarray(actual) | numpy.ma.getmaskarray(expected)
        first, second = (numpy.where(masked, each.dtype.type(0), each) for each in (first, second))
    return first, second


def _first_paragraph(text: str) -> str:
    """numpy's counts and maxima, without its print of both arrays."""
    kept = ("Not equal", "Mismatched", "Max ", "nan location", "inf location", "x and y")
    return "\n".join(line for line in text.splitlines() if line.startswith(kept))


def _tolerances(first: Any, second: Any, rtol: float | None, atol: float | None) -> tuple[float, float]:
    if rtol is not None and atol is not None:
        return rtol, atol
    both = [TOLERANCES.get(arrays.dtype_name(dtype), (0.0, 0.0)) for dtype in (first, second)]
    return max(each[0] for each in both), max(each[1] for each in both)


def _spread(actual: Any, expected: Any, tolerances: tuple[float, float], equal_nan: bool) -> str:
    """The worst element, the quantiles of the error, and where the wrong elements lie. "" where shapes differ."""
    import numpy

    left, right = _as_double(actual), _as_double(expected)
    if left is None or right is None or left.shape != right.shape or left.size == 0:
        return ""
    with numpy.errstate(all="ignore"):
        error = numpy.array(numpy.abs(left - right))  # of numbers too: what numpy makes of them cannot be written into
        error[left == right] = 0.0
        if equal_nan:
            error[numpy.isnan(left) & numpy.isnan(right)] = 0.0
        wrong = numpy.asarray(~(error <= tolerances[1] + tolerances[0] * numpy.abs(right)))
    if not wrong.any():
        return ""
    ranked = numpy.where(numpy.isnan(error), numpy.inf, error)
    worst = numpy.unravel_index(int(numpy.argmax(numpy.where(wrong, ranked, -1.0))), error.shape)
    at = f"worst at {[int(each) for each in worst]}: " if worst else ""
    lines = [f"{at}got {left[worst]:.9g}, expected {right[worst]:.9g}, off by {error[worst]:.3g}"]
    if error.size == 1:
        return lines[0]
    finite = error[numpy.isfinite(error)]
    if finite.size:
        middle, high, top = (float(each) for each in numpy.quantile(finite, [0.5, 0.9, 1.0]))
        lines.append(f"absolute error: median {middle:.3g}, 90 % below {high:.3g}, largest {top:.3g}")
    if error.size - finite.size:
        lines.append(f"{error.size - finite.size} elements differ by NaN or Inf")
    lines.append(_where(wrong, numpy))
    pattern = _pattern(left, right, tolerances, numpy)
    return "\n".join([*lines, pattern] if pattern else lines)


def _where(wrong: Any, numpy: Any) -> str:
    """`12 of 64 wrong, all of them at 3 on axis 0`."""
    said = f"{int(wrong.sum())} of {wrong.size} wrong"
    if wrong.ndim < 1 or wrong.all():
        return said
    confined = []
    for axis in range(wrong.ndim):
        hit = numpy.flatnonzero(wrong.any(axis=tuple(each for each in range(wrong.ndim) if each != axis)))
        if hit.size == wrong.shape[axis] or wrong.shape[axis] == 1:
            continue
        if hit.size == 1:
            confined.append(f"at {hit[0]} on axis {axis}")
        elif hit[-1] - hit[0] + 1 < wrong.shape[axis]:
            confined.append(f"from {hit[0]} to {hit[-1]} on axis {axis}")
    return said + (", all of them " + " and ".join(confined) if confined else "")


def _pattern(left: Any, right: Any, tolerances: tuple[float, float], numpy: Any) -> str:
    """A cause that explains every element: a constant factor, a constant offset, a sign, a transpose."""

    def same(first: Any, second: Any) -> bool:
        return bool(numpy.allclose(first, second, rtol=max(tolerances[0], 1e-9), atol=tolerances[1]))

    if left.size < 2 or not (numpy.isfinite(left).all() and numpy.isfinite(right).all()):
        return ""
    if left.ndim == 2 and left.shape[0] == left.shape[1] and same(left.T, right):
        return "every element fits after a transpose"
    if same(-left, right):
        return "every element fits with the other sign"
    with numpy.errstate(all="ignore"):
        norm = float((right * right).sum())
        factor = float((left * right).sum() / norm) if norm else 0.0
    if factor and same(left, right * factor):
        return f"every element is {factor:.6g} times what was expected"
    offset = float((left - right).mean())
    if same(left - offset, right):
        return f"every element is off by the same {offset:.6g}"
    return ""


def _as_double(value: Any) -> Any:
    import numpy

    if arrays.is_torch(value):
        import torch

        value = value.detach()
        if value.layout != torch.strided:
            value = value.to_dense()
        if value.is_complex():
            return None
        return value.to("cpu", torch.float64).numpy().copy()
    array = numpy.asarray(value)
    if array.dtype.kind not in "fiub" and arrays.dtype_name(array.dtype) != "bfloat16":
        return None
    return array.astype("float64")
