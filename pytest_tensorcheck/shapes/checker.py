"""`assert_shape`: named sizes, bound within one call, one `with shapes():` block, or one test (`ShapeChecker`)."""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from pytest_tensorcheck.call_source import call_arguments
from pytest_tensorcheck.observations import TensorcheckFailure
from pytest_tensorcheck.shapes import arrays, messages, misuse
from pytest_tensorcheck.shapes.binder import Bindings, Mismatch, Site, match
from pytest_tensorcheck.shapes.nested import leaves
from pytest_tensorcheck.shapes.sizes import on_named
from pytest_tensorcheck.shapes.spec import parse
from pytest_tensorcheck.user_line import user_frame


class ShapeError(TensorcheckFailure):
    """An array whose shape, dtype, device or layout is not what was asserted."""


class _Missing:
    def __repr__(self) -> str:
        return "missing"


_MISSING: Any = _Missing()
_NOTHING_ASKED = (None, None, None, None)
_PLAIN: dict[str, tuple[str, ...] | None] = {}  # text -> its names when it is plain, None when it is not
_scope: contextvars.ContextVar[Bindings | None] = contextvars.ContextVar("tensorcheck_shapes", default=None)


def assert_shape(
    x: Any = _MISSING,
    spec: Any = _MISSING,
    /,
    *more: Any,
    dtype: Any = None,
    device: Any = None,
    contiguous: bool | None = None,
    requires_grad: bool | None = None,
    **named: Any,
) -> None:
    """Assert the shapes of arrays: `assert_shape(x, "batch seq dim", y, "batch dim")`.

    A name is one size, wherever it stands: within this call, or, inside a `with shapes():` block, within the block.
    The grammar is in `pytest_tensorcheck.shapes.spec`. `assert_shape(x=(x, "b t c"), y=(y, "b c"))` gives the arrays
    names for the message. A structure is matched by a structure of specifications, `assert_shape(batch, {"image":
    "b c h w", "label": "b"})`, or by one string that every array in it must match.

    `dtype` (any library's dtype, its name, a family such as "float", or a tuple of these), `device`, `contiguous` and
    `requires_grad` must hold for every array of the call. Raises `ShapeError`; `ShapeSpecError` (a ValueError) for a
    specification that cannot be read.
    """
    __tracebackhide__ = True
    bindings = _scope.get()
    if not (more or named or on_named) and dtype is None is device is contiguous is requires_grad:
        # What is written everywhere, in well under a microsecond.
        try:
            names = _PLAIN[spec]
            shape = x.shape
            if names and len(shape) == len(names):
                if bindings is None:  # distinct names bind whatever is there
                    return
                sizes = bindings.sizes
                for name, size in zip(names, shape):  # noqa: B905 - they are equally long, and strict costs
                    if sizes.get(name) != size:
                        break
                else:
                    return
        except (KeyError, TypeError, AttributeError):
            pass
    asked = (dtype, device, contiguous, requires_grad)
    _assert_all(Bindings() if bindings is None else bindings, (x, spec, *more), named, asked, bindings is not None)


class ShapeChecker:
    """`assert_shape` with bindings of its own, which last as long as the object: the fixture's is made for each test.

    `sizes` shows what is bound: `{"batch": 4, "dim": 64}`.
    """

    def __init__(self) -> None:
        self._bindings = Bindings()

    def __call__(
        self,
        x: Any = _MISSING,
        spec: Any = _MISSING,
        /,
        *more: Any,
        dtype: Any = None,
        device: Any = None,
        contiguous: bool | None = None,
        requires_grad: bool | None = None,
        **named: Any,
    ) -> None:
        """As `assert_shape`; inside a `with shapes():` block the block's bindings are used."""
        __tracebackhide__ = True
        scope = _scope.get()
        bindings = self._bindings if scope is None else scope
        if not (more or named or on_named) and dtype is None is device is contiguous is requires_grad:
            try:
                names = _PLAIN[spec]
                shape = x.shape
                if names and len(shape) == len(names):
                    sizes = bindings.sizes
                    for name, size in zip(names, shape):  # noqa: B905 - as above
                        if sizes.get(name) != size:
                            break
                    else:
                        return
            except (KeyError, TypeError, AttributeError):
                pass
        _assert_all(bindings, (x, spec, *more), named, (dtype, device, contiguous, requires_grad), True)

    @property
    def sizes(self) -> Mapping[str, int]:
        return dict(self._bindings.sizes)


@contextmanager
def shapes() -> Iterator[Mapping[str, int]]:
    """Bind the names of every `assert_shape` in this block together; yields the sizes as they are bound.

    Blocks nest: an inner block begins with nothing bound and leaves the outer one as it was.
    """
    bindings = Bindings()
    token = _scope.set(bindings)
    try:
        yield bindings.sizes
    finally:
        _scope.reset(token)


def _assert_all(
    bindings: Bindings,
    pairs: tuple[Any, ...],
    named: dict[str, Any],
    asked: tuple[Any, ...],
    lasting: bool,
) -> None:
    __tracebackhide__ = True
    alone = pairs[1] is _MISSING and pairs[0] is not _MISSING
    for label, pair in named.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            first = argument_label(0, "x")
            if alone and label == "shape":
                raise TypeError(misuse.unpaired(first, pairs, _MISSING, named))
            raise TypeError(misuse.keyword(label, named, pairs, first))
    if pairs[0] is not _MISSING or pairs[1] is not _MISSING or not named:
        if pairs[1] is _MISSING or len(pairs) % 2:
            raise TypeError(misuse.unpaired(argument_label(0, "x"), pairs, _MISSING, named))
        for position in range(0, len(pairs), 2):
            _assert_one(bindings, pairs[position], pairs[position + 1], asked, position, None, lasting)
    for label, pair in named.items():
        _assert_one(bindings, pair[0], pair[1], asked, -1, label, lasting)


def _assert_one(
    bindings: Bindings, value: Any, spec: Any, asked: tuple[Any, ...], position: int, label: str | None, lasting: bool
) -> None:
    __tracebackhide__ = True
    try:
        if type(spec) is str and hasattr(value, "shape"):
            _assert_leaf(bindings, value, spec, asked, position, label, "", lasting)
            return
        for path, leaf, leaf_spec, problem in leaves(value, spec):
            if problem:
                place = _Place(position, label, path)
                raise ShapeError(f"{place.label}: {problem}{place.suffix}")
            _assert_leaf(bindings, leaf, leaf_spec, asked, position, label, path, lasting)
    except RuntimeError as error:
        if "NestedTensor" not in str(error):
            raise
        nested = True
    else:
        nested = False
    if nested:
        place = _Place(position, label, "")
        raise ShapeError(
            f"{place.label}: a nested tensor of the strided layout has no size along each axis; check its components, "
            f'assert_shape(list(x.unbind()), ["t d", ...]), or make it with layout=torch.jagged{place.suffix}'
        )


def _assert_leaf(
    bindings: Bindings,
    value: Any,
    text: str,
    asked: tuple[Any, ...],
    position: int,
    label: str | None,
    path: str,
    lasting: bool,
) -> None:
    __tracebackhide__ = True
    shape = getattr(value, "shape", None)
    names = _PLAIN.get(text)
    if names and shape is not None and len(shape) == len(names):
        # Plain names of which all are bound rightly, or, within one call, are free: no frame has to be looked at.
        sites, sizes = bindings.sites, bindings.sizes
        new = None
        for name, size in zip(names, shape):  # noqa: B905 - as above
            known = sizes.get(name)
            if known is None and not lasting and type(size) is int:
                new = new or Site(None, 0, position, label or "")
                sizes[name] = size
                sites[name] = new
            elif known != size:
                break
        else:
            _after(value, text, asked, position, label, path)
            return
    shape = arrays.shape_of(value)
    if shape is None:
        place = _Place(position, label, path)
        raise ShapeError(
            f'{place.label}: expected an array of shape "{text}", got {messages.brief(value)}{place.suffix}'
        )
    spec = parse(text)
    _PLAIN[text] = spec.plain
    outcome = match(spec, shape, bindings)
    if isinstance(outcome, Mismatch):
        place = _Place(position, label, path)
        raise ShapeError(messages.mismatch(place.label, spec, shape, outcome, bindings, place.site) + place.suffix)
    if outcome:
        site = _site(position, label, path) if lasting else Site(None, 0, position, label + path if label else "")
        for name in outcome:
            bindings.sites[name] = site
    _after(value, text, asked, position, label, path)


def _after(value: Any, text: str, asked: tuple[Any, ...], position: int, label: str | None, path: str) -> None:
    """The properties beside the shape, and the guard's interest in named axes."""
    __tracebackhide__ = True
    if asked != _NOTHING_ASKED:
        problem = messages.property_problem(value, arrays.shape_of(value) or (), *asked)
        if problem:
            place = _Place(position, label, path)
            raise ShapeError(f"{place.label}: {problem}{place.suffix}")
    if on_named:
        spec = parse(text)
        names: list[str | None] = [axis.name or None for axis in spec.head]
        names += [None] * (len(arrays.shape_of(value) or ()) - spec.rank)
        names += [axis.name or None for axis in spec.tail]
        for notify in on_named:
            notify(value, tuple(names))


def _site(position: int, label: str | None, path: str) -> Site:
    """The user's call, written down without reading any source."""
    frame = user_frame(sys._getframe(1))
    if frame is None:
        return Site(None, 0, position, (label or "") + path)
    if path and not label:
        label = argument_label(position, "value", frame)
    return Site(frame.f_code, frame.f_lasti, position, label + path if label else "")


class _Place:
    """What to call the array and where the assertion stands: read from the caller's source, only when needed."""

    __slots__ = ("label", "site", "suffix")

    def __init__(self, position: int, label: str | None, path: str) -> None:
        frame = user_frame(sys._getframe(1))
        name = label or argument_label(position, "value" if position < 1 else f"value {position // 2 + 1}", frame)
        self.label = name + path
        self.site = Site(None, 0, position, self.label)
        self.suffix = ""
        if frame is not None:
            self.site = Site(frame.f_code, frame.f_lasti, position, self.label)
            self.suffix = f"\n{messages.place(self.site)}"


def argument_label(position: int, otherwise: str, start: FrameType | None = None) -> str:
    """The source text of the positional argument at `position` of the user's call, where it can be read."""
    frame = user_frame(start if start is not None else sys._getframe(1))
    if frame is None or position < 0:
        return otherwise
    texts = call_arguments(frame.f_code, frame.f_lasti)
    return texts[position] if texts and position < len(texts) and len(texts[position]) <= 60 else otherwise


def call_place(start: FrameType | None = None) -> str:
    """The user's line on a line of its own, "" where nobody's line is to be found."""
    frame = user_frame(start if start is not None else sys._getframe(1))
    return "" if frame is None else "\n" + messages.place(Site(frame.f_code, frame.f_lasti, -1, ""))
