"""The sentences of the shape assertions: the axis that failed is marked under the word that asked for it."""

from __future__ import annotations

from typing import Any

from pytest_tensorcheck.call_source import call_arguments, line_at
from pytest_tensorcheck.shapes import arrays
from pytest_tensorcheck.shapes.binder import Bindings, Mismatch, Site
from pytest_tensorcheck.shapes.sizes import Shape, show
from pytest_tensorcheck.shapes.spec import Axis, Spec, evaluate
from pytest_tensorcheck.user_line import UserLine


def place(site: Site) -> str:
    """`file:line` of a site that has one."""
    assert site.code is not None
    return str(UserLine(site.code.co_filename, line_at(site.code, site.lasti)))


def label_of(site: Site) -> str:
    """What the user calls the array at the site: the name that was given, else the argument's source."""
    if not site.label and site.code is not None and site.position >= 0:
        texts = call_arguments(site.code, site.lasti)
        if texts and site.position < len(texts) and len(texts[site.position]) <= 60:
            return texts[site.position]
    return site.label or ("value" if site.position < 1 else f"value {site.position // 2 + 1}")


def mismatch(label: str, spec: Spec, shape: Shape, why: Mismatch, bindings: Bindings, here: Site) -> str:
    """What was expected and what came; and, under the word that failed, the axis and its binding.

    y: expected "batch dim" = (4, 64), got (4, 32)
                "batch dim"
                       ^^^ axis 1: 32, but dim = 64 since tests/test_model.py:12 (x)

    The specification is repeated because pytest puts the exception's name before the first line, which moves it.
    """
    lead = f'{label}: expected "'
    first = f'{lead}{spec.text}"{_expected(spec, bindings)}, got {show(shape)}'
    if why.word is None:
        return f"{first}: {why.reason}"
    axis = f"axis {why.axis}" if isinstance(why.word, Axis) else f"the axes from {why.axis}"
    since = _since(why.name, bindings, here)
    marker = " " * (len(lead) + why.word.start) + "^" * len(why.word.word)
    echo = " " * (len(lead) - 1) + f'"{spec.text}"'
    return f"{first}\n{echo}\n{marker} {axis}: {why.reason}{since}"


def _since(name: str | None, bindings: Bindings, here: Site) -> str:
    if name is None:
        return ""
    site = bindings.sites.get(name)
    if site is None or site[:3] == here[:3]:
        return " on an earlier axis"
    if site.code is None:  # bound within this call
        return f" since {label_of(site._replace(code=here.code, lasti=here.lasti))}"
    return f" since {place(site)} ({label_of(site)})"


def _expected(spec: Spec, bindings: Bindings) -> str:
    """` = (4, 64)` when anything in the specification has a known size, with the words for what has none."""
    shown: list[str] = []
    known = False
    for axis in spec.head:
        text, is_known = _word(axis, bindings)
        shown.append(text)
        known |= is_known
    if spec.rest is not None:
        before = bindings.rests.get("*" + spec.rest.name) if spec.rest.name else None
        if before is None or spec.rest.broadcastable or before[0]:
            shown.append(spec.rest.word)
        else:
            shown += [str(size) for size in before[1]]
            known = True
    for axis in spec.tail:
        text, is_known = _word(axis, bindings)
        shown.append(text)
        known |= is_known
    return f" = {show(shown)}" if known else ""  # type: ignore[arg-type]


def _word(axis: Axis, bindings: Bindings) -> tuple[str, bool]:
    mark = "#" if axis.broadcastable else ""
    if axis.kind == "size":
        return f"{mark}{axis.size}", True
    if axis.kind == "name" and axis.name in bindings.sizes:
        return f"{mark}{bindings.sizes[axis.name]}", True
    if axis.kind == "expression" and axis.names <= bindings.sizes.keys():
        try:
            return f"{mark}{evaluate(axis, bindings.sizes)}", True
        except (ArithmeticError, TypeError, ValueError):
            return axis.word, False
    return axis.word, False


def property_problem(
    value: Any, shape: Shape, dtype: Any, device: Any, contiguous: bool | None, requires_grad: bool | None
) -> str | None:
    """The first of the asked properties that does not hold, as a sentence; None when all hold."""
    __tracebackhide__ = True
    if dtype is not None and not arrays.matches_dtype(value, dtype):
        arrays.refuse_misspelt_dtype(dtype)
        have = arrays.dtype_name(value.dtype) if hasattr(value, "dtype") else type(value).__name__
        return f"expected dtype {wanted_dtype(dtype)}, got {have} (shape {show(shape)})"
    if device is not None and not arrays.matches_device(value, device):
        return f"expected device {device}, got {arrays.device_name(value)} (shape {show(shape)})"
    if contiguous is not None:
        is_contiguous = arrays.is_contiguous(value)
        if is_contiguous is None:
            return f"{type(value).__name__} does not show its memory layout, so contiguous={contiguous} has no answer"
        if is_contiguous != contiguous:
            strides = arrays.strides_of(value)
            layout = f"shape {show(shape)} has strides {show(strides)}" if strides is not None else show(shape)
            if contiguous:
                return f"expected a contiguous array, but {layout}; .contiguous() (torch) or .copy() (numpy) makes one"
            return f"expected an array that is not contiguous, but {layout}"
    if requires_grad is not None:
        have_grad = getattr(value, "requires_grad", None)
        if have_grad is None:
            return f"{type(value).__name__} has no requires_grad"
        if bool(have_grad) != requires_grad:
            hint = "; was it detached, or made under no_grad?" if requires_grad else "; .detach() would cut it"
            return f"expected requires_grad={requires_grad}, got {bool(have_grad)}{hint}"
    return None


def wanted_dtype(wanted: Any) -> str:
    if isinstance(wanted, (tuple, list, set, frozenset)):
        return " or ".join(wanted_dtype(each) for each in wanted)
    return arrays.dtype_name(wanted)


def brief(value: object) -> str:
    """A value in a few words: its type, and itself where that is short."""
    text = repr(value)
    kind = type(value).__name__
    return f"{kind} {text}" if len(text) <= 40 and "\n" not in text and "object at 0x" not in text else f"a {kind}"
