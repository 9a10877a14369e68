"""Matching a shape against a specification under the sizes that are already bound.

The verdicts are jaxtyping's, with one exception, on purpose: an expression may use a name that is bound by a later
axis of the same array (`"2*dim dim"`), where jaxtyping stops with an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType
from typing import NamedTuple

from pytest_tensorcheck.shapes.sizes import Shape, broadcast_shapes, show
from pytest_tensorcheck.shapes.spec import Axis, Rest, ShapeSpecError, Spec, evaluate


class Site(NamedTuple):
    """Where a name was bound, in the form that is cheap to write down: the label and line are read from the source
    when a message wants them. `code` None: within the call that is being checked. `position`: which argument."""

    code: CodeType | None
    lasti: int
    position: int
    label: str


@dataclass(slots=True)
class Bindings:
    """Sizes by axis name; for `*name` its axes and whether they may still grow (bound by `*#name` only)."""

    sizes: dict[str, int] = field(default_factory=dict)
    rests: dict[str, tuple[bool, Shape]] = field(default_factory=dict)
    sites: dict[str, Site] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why a shape does not match. `axis` counts from 0, None when the number of axes is wrong.

    `word` is the word of the specification that failed; `name` the bound name that the sentence is about.
    """

    reason: str
    axis: int | None = None
    word: Axis | Rest | None = None
    name: str | None = None


def match(spec: Spec, shape: Shape, bindings: Bindings) -> Mismatch | set[str]:
    """Bind what is new and return the names bound now, or a `Mismatch` and bind nothing.

    Raises `ShapeSpecError` for an expression over names that nothing has bound.
    """
    rank = len(shape)
    if rank != spec.rank if spec.rest is None else rank < spec.rank:
        least = "at least " if spec.rest is not None else ""
        return Mismatch(f"{_axes(rank)}, but the specification has {least}{spec.rank}")
    sizes = dict(bindings.sizes)
    rest_end = rank - len(spec.tail)
    pairs = [*zip(spec.head, range(len(spec.head)), strict=True)]
    pairs += zip(spec.tail, range(rest_end, rank), strict=True)
    later = []
    for axis, at in pairs:
        size = shape[at]
        if (axis.broadcastable and size == 1) or axis.kind == "any":
            continue
        if axis.kind == "size":
            if size != axis.size:
                negative = "; a size is not negative, and _ stands for any" if axis.size < 0 else ""
                return Mismatch(f"{size}, but {axis.size} was asked for{negative}", at, axis)
        elif axis.kind == "name":
            known = sizes.setdefault(axis.name, size)
            if known != size:
                return Mismatch(f"{size}, but {axis.name} = {known}", at, axis, axis.name)
        else:
            later.append((axis, at))
    for axis, at in later:
        missing = sorted(axis.names - sizes.keys())
        if missing:
            __tracebackhide__ = True
            raise ShapeSpecError(
                f'"{spec.text}": {axis.word} needs the size of {", ".join(missing)}, which nothing has bound yet; '
                f"assert the shape that has it first"
            )
        value = _value(spec, axis, sizes)
        if value != shape[at]:
            given = ", ".join(f"{name} = {sizes[name]}" for name in sorted(axis.names))
            body = axis.word.lstrip("#")
            equals = f"{body} = {value}" + (f" with {given}" if given else "")
            only = next(iter(axis.names)) if len(axis.names) == 1 else None
            return Mismatch(f"{shape[at]}, but {equals}", at, axis, only)
    bound_rest: tuple[bool, Shape] | None = None
    if spec.rest is not None and spec.rest.name:
        outcome = _match_rest(spec.rest, shape[len(spec.head) : rest_end], bindings.rests, len(spec.head))
        if isinstance(outcome, Mismatch):
            return outcome
        bound_rest = outcome
    new = sizes.keys() - bindings.sizes.keys()
    bindings.sizes.update(sizes)
    if spec.rest is not None and bound_rest is not None:
        key = "*" + spec.rest.name
        if key not in bindings.rests:
            new = new | {key}
        bindings.rests[key] = bound_rest
    return new


def _value(spec: Spec, axis: Axis, sizes: dict[str, int]) -> object:
    try:
        return evaluate(axis, sizes)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ShapeSpecError(f'"{spec.text}": {axis.word} cannot be computed: {error}') from None


def _match_rest(
    rest: Rest, axes: Shape, rests: dict[str, tuple[bool, Shape]], at: int
) -> Mismatch | tuple[bool, Shape]:
    """`*name` against what it was before. `*#name` may have size-1 or missing axes where the others have sizes."""
    known = rests.get("*" + rest.name)
    if known is None:
        return rest.broadcastable, axes
    growing, before = known
    name = "*" + rest.name

    def wrong(relation: str) -> Mismatch:
        return Mismatch(f"{show(axes)}, {relation} {name} = {show(before)}", at, rest, name)

    if not growing and not rest.broadcastable:
        return known if axes == before else wrong("but")
    together = broadcast_shapes((axes, before))
    if together is None:
        return wrong("which does not broadcast with")
    if not growing:
        return known if together == before else wrong("which would grow")
    if not rest.broadcastable and together != axes:
        return wrong("which is smaller than")
    return rest.broadcastable, together


def _axes(rank: int) -> str:
    return "no axes (a scalar)" if rank == 0 else "1 axis" if rank == 1 else f"{rank} axes"
