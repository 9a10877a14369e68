"""torch.distributions: the shapes of samples, of log-probabilities and of the parameters.

A distribution has a batch shape, in which its parameters broadcast, and an event shape. `log_prob(value)` broadcasts
`value` against both: a column of actions against a batch of categorical distributions becomes a matrix.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tensorlint.inference.distant_changes import RESHAPING
from tensorlint.inference.layout import Shape, contiguous, is_contiguous
from tensorlint.inference.ops.broadcasting import broadcast, tell
from tensorlint.inference.ops.results import AXIS_MARKS
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    UNKNOWN,
    Const,
    LibraryObject,
    Number,
    Scalar,
    Sequence,
    Tensor,
    Value,
    integer,
    is_none,
    sizes_of,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

PREFIX = "torch.distributions."

# Parameters in the order of the constructor, and how many last axes of a parameter are the event's.
_ONE_AXIS: dict[str, tuple[str, ...]] = {
    "Normal": ("loc", "scale"),
    "LogNormal": ("loc", "scale"),
    "Laplace": ("loc", "scale"),
    "Cauchy": ("loc", "scale"),
    "Gumbel": ("loc", "scale"),
    "StudentT": ("df", "loc", "scale"),
    "Uniform": ("low", "high"),
    "Beta": ("concentration1", "concentration0"),
    "Gamma": ("concentration", "rate"),
    "Exponential": ("rate",),
    "Poisson": ("rate",),
    "HalfNormal": ("scale",),
    "HalfCauchy": ("scale",),
    "Bernoulli": ("probs", "logits"),
    "Geometric": ("probs", "logits"),
}
_IN_ORDER = frozenset(
    [
        "Normal",
        "LogNormal",
        "Laplace",
        "Uniform",
        "Exponential",
        "Gamma",
        "Poisson",
        "Bernoulli",
        "HalfNormal",
        "Gumbel",
        "Cauchy",
    ]
)
# How the spread of a multivariate normal may be given.
_MATRICES = ("covariance_matrix", "precision_matrix", "scale_tril")
_SAMPLES = frozenset(["sample", "rsample"])
_BATCHED = frozenset(["mean", "stddev", "variance", "mode"])
_VALUED = frozenset(["log_prob", "cdf"])
# Wherever one of these is assigned, of whatever object, it may be a distribution's, which then gives something else.
_DECIDING = _SAMPLES | _VALUED | _BATCHED | {"base_dist", "entropy", "_batch_shape", "_event_shape", "__class__"}
_DECIDING |= {name for names in _ONE_AXIS.values() for name in names} | {*_MATRICES}
# `dist.loc.t_()`
_TURNED = re.compile(rf"\.(?:{'|'.join(sorted(_DECIDING))})(?:\.data)?\.(?:{'|'.join(sorted(RESHAPING))})\(")


def is_distribution(path: str) -> bool:
    return path.startswith(PREFIX)


def make(interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """The constructor's call; the path loses the module's file: `torch.distributions.normal.Normal`."""
    name = path.rpartition(".")[2]
    if name == "kl_divergence":
        if any(_may_have_changed(interp, arg) for arg in args):
            return Tensor("torch")
        return _divergence(interp, args, node)
    if not name[:1].isupper():
        return UNKNOWN
    if name in _ONE_AXIS and len(args) + len(kwargs) > 1:
        _tell_of_parameters(interp, name, [*args, *kwargs.values()], node)
    return LibraryObject(PREFIX + name, kwargs, tuple(args), {}, node)


def _tell_of_parameters(interp: State, name: str, given: list[Value], node: ast.AST | None) -> None:
    """`Normal(mean, deviation)` of a column and a row is one distribution for each pair."""
    first, second = given[:2]
    if isinstance(first, Tensor) and isinstance(second, Tensor) and first.shape and second.shape:
        try:
            shape = broadcast(first.shape, second.shape)
        except Undecided:
            return
        tell(interp.call_context(name, node), name, first, second, shape)
        interp.last_broadcast = None


def _may_have_changed(interp: State, value: Value) -> bool:
    """Whether something else than its call gave the distribution what it has: an assignment here or anywhere in the file."""
    if isinstance(value, LibraryObject) and value.fields:
        return True
    rebound = interp.rebound
    file = interp.own_file
    known: bool | None = interp.distributions_change
    if known is None:
        known = interp.distributions_change = (
            rebound.everything
            or not _DECIDING.isdisjoint(rebound.attributes)
            or not _DECIDING.isdisjoint(file.facts.foreign_attributes)
            or (interp.reshapes(file) and _TURNED.search(file.text) is not None)
        )
    return known


def _divergence(interp: State, args: list[Value], node: ast.AST | None) -> Value:
    shapes = [_shapes(arg) if isinstance(arg, LibraryObject) else None for arg in args]
    if len(shapes) != 2 or shapes[0] is None or shapes[1] is None:
        return Tensor("torch")
    try:
        both = broadcast(shapes[0][0], shapes[1][0])
    except Undecided:
        return Tensor("torch")
    kinds = {arg.path for arg in args if isinstance(arg, LibraryObject)}
    # Between some kinds the divergence is infinite: as many numbers as a parameter of the first one has.
    if len(kinds) != 1 and not both == shapes[0][0] == _of_parameters(args[0]):
        return Tensor("torch")
    first, second = (
        Tensor("torch", shape[0], made=getattr(arg, "made", None), marks=_marks_of(arg) | {"distribution"})
        for arg, shape in zip(args, shapes, strict=True)
        if shape is not None
    )
    tell(interp.call_context("kl_divergence", node), "kl_divergence", first, second, both)
    return interp.with_outer(_tensor(both))


def _marks_of(value: Value) -> frozenset[str]:
    """What the code says of the axes of a distribution's parameters."""
    given = (*value.positional, *value.arguments.values()) if isinstance(value, LibraryObject) else ()
    return frozenset().union(*(each.marks & AXIS_MARKS for each in given if isinstance(each, Tensor)))


def _of_parameters(value: Value) -> Shape | None:
    """The shape that all parameters of a distribution have."""
    found: Shape | None = None
    for each in (*value.positional, *value.arguments.values()) if isinstance(value, LibraryObject) else ():
        if not isinstance(each, Tensor) or each.shape is None or found not in (None, each.shape):
            return None
        found = each.shape
    return found


def _tensor(shape: Shape, dtype: str | None = None) -> Tensor:
    return Tensor("torch", shape, () if not shape else None, dtype)


def _parameters(value: LibraryObject, names: tuple[str, ...]) -> list[Value]:
    found = [*value.positional[: len(names)]]
    found += [value.arguments[name] for name in names if name in value.arguments]
    return [each for each in found if not (isinstance(each, Const) and each.value is None)]


def _is_drawn_in_order(value: LibraryObject) -> bool:
    """Whether samples lie in memory as new tensors do: noise is scaled and moved by parameters that do, too."""
    name = value.path.removeprefix(PREFIX)
    return name in _IN_ORDER and all(
        not isinstance(each, Tensor) or not each.shape or is_contiguous(each.shape, each.strides) is True
        for each in _parameters(value, _ONE_AXIS[name])
    )


def _shapes(value: LibraryObject) -> tuple[Shape, Shape] | None:
    """The batch shape and the event shape, None where either is not known."""
    if value.fields:
        return None  # it has something else than its call gave it
    name = value.path.removeprefix(PREFIX)
    if name in _ONE_AXIS:
        batch: Shape = ()
        given = _parameters(value, _ONE_AXIS[name])
        if not given:
            return None
        for each in given:
            if isinstance(each, Tensor) and each.shape is not None:
                try:
                    batch = broadcast(batch, each.shape)
                except Undecided:
                    return None
            elif not isinstance(each, (Number, Scalar)) and not (
                isinstance(each, Const) and isinstance(each.value, (int, float))
            ):
                return None
        return batch, ()
    if name in ("Categorical", "OneHotCategorical", "Dirichlet"):
        given = _parameters(value, ("concentration",) if name == "Dirichlet" else ("probs", "logits"))
        only = given[0] if len(given) == 1 else None
        if not isinstance(only, Tensor) or not only.shape:
            return None
        return only.shape[:-1], () if name == "Categorical" else only.shape[-1:]
    if name == "MultivariateNormal":
        return _shapes_of_normal(value)
    if name == "Independent" and len(value.positional) == 2 and isinstance(value.positional[0], LibraryObject):
        base, count = _shapes(value.positional[0]), integer(value.positional[1])
        if base is None or count is None or not 0 <= count <= len(base[0]):
            return None
        at = len(base[0]) - count
        return base[0][:at], base[0][at:] + base[1]
    return None


def _shapes_of_normal(value: LibraryObject) -> tuple[Shape, Shape] | None:
    """A mean `(*batch, d)` and a matrix `(*batch, d, d)`."""
    given = [*value.positional, *(value.arguments[name] for name in ("loc", *_MATRICES) if name in value.arguments)]
    given = [each for each in given if not is_none(each)]
    if len(given) != 2 or (value.positional and "loc" in value.arguments):
        return None
    mean, spread = (each.shape if isinstance(each, Tensor) else None for each in given)
    if not mean or spread is None or len(spread) < 2 or not mean[-1] == spread[-1] == spread[-2]:
        return None
    try:
        return broadcast(mean[:-1], spread[:-2]), mean[-1:]
    except Undecided:
        return None


def call(
    interp: State, receiver: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    """A method of a distribution."""
    if name not in _SAMPLES and name not in _VALUED and name != "entropy":
        if name == "__init__":
            receiver.fields[name] = UNKNOWN
        return UNKNOWN
    if _may_have_changed(interp, receiver):
        return UNKNOWN  # its methods may be others, too
    known = _shapes(receiver)
    if known is None:
        return Tensor("torch")
    batch, event = known
    given = args[0] if args else next(iter(kwargs.values()), None)
    if name in _SAMPLES:
        extra: tuple[Size, ...] | None = ()
        if given is not None:
            read = sizes_of(given)
            extra = None if read is None or None in read else tuple(size for size in read if size is not None)
        if extra is None:
            return Tensor("torch")
        made = _tensor((*extra, *batch, *event), "int64" if receiver.path.endswith(".Categorical") else None)
        if made.shape and _is_drawn_in_order(receiver):
            made.strides = contiguous(made.shape)
        return made
    if name == "entropy":
        return _tensor(batch)
    if not isinstance(given, Tensor) or given.shape is None:
        return Tensor("torch")
    whole = (*batch, *event)
    try:
        shape = broadcast(given.shape, whole)
    except Undecided:
        return Tensor("torch")
    if not event:
        context: Call = interp.call_context(name, node)
        batched = Tensor("torch", batch, None, made=receiver.made, marks=frozenset({"distribution"}))
        tell(context, name, batched, given, shape)
    result = _tensor(shape[: len(shape) - len(event)])
    result.made = node
    result.marks = frozenset(mark for mark in given.marks if mark == "spelled") if 1 in shape else frozenset()
    return interp.with_outer(result)


def attribute(interp: State, receiver: LibraryObject, name: str) -> Value | None:
    """`dist.mean`, `dist.batch_shape`; None for what is no such attribute."""
    if _may_have_changed(interp, receiver):
        return UNKNOWN
    if name in ("probs", "logits") and receiver.path.endswith((".Categorical", ".Bernoulli")):
        given = _parameters(receiver, ("probs", "logits"))
        if len(given) == 1 and isinstance(given[0], Tensor) and given[0].shape is not None:
            return _tensor(given[0].shape)
        return Tensor("torch")
    if name not in _BATCHED and name not in ("batch_shape", "event_shape", "loc", "scale"):
        return None
    known = _shapes(receiver)
    if name in ("batch_shape", "event_shape"):
        if known is None:
            return UNKNOWN
        return Sequence(
            "tuple", [Const(size) if isinstance(size, int) else Number(size) for size in known[name[0] == "e"]]
        )
    if known is None or (name in ("loc", "scale") and not receiver.path.endswith((".Normal", ".Laplace"))):
        return Tensor("torch")
    return _tensor((*known[0], *known[1]))
