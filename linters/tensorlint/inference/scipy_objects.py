"""scipy's distributions, interpolators and trees: objects that are made of arrays and asked of others."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.results import NUMERIC
from tensorlint.inference.ops.table import STOPS, Undecided
from tensorlint.inference.values import (
    UNKNOWN,
    Const,
    LibraryObject,
    Number,
    Scalar,
    Sequence,
    Tensor,
    Value,
    copy,
    integer,
    is_none,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

_STATS = "scipy.stats."
# How many parameters of its own a distribution has, beside `loc` and `scale`; discrete ones have no `scale`.
_CONTINUOUS = {
    "norm": 0, "expon": 0, "uniform": 0, "laplace": 0, "logistic": 0, "cauchy": 0, "rayleigh": 0, "gumbel_r": 0, "gumbel_l": 0,
    "halfnorm": 0, "gamma": 1, "t": 1, "chi2": 1, "lognorm": 1, "invgamma": 1, "pareto": 1, "weibull_min": 1, "skewnorm": 1,
    "beta": 2, "f": 2, "truncnorm": 2,
}  # fmt: skip
_DISCRETE = {"poisson": 1, "bernoulli": 1, "geom": 1, "binom": 2, "nbinom": 2, "randint": 2}
_DENSITIES = frozenset({"pdf", "logpdf"})
_MASSES = frozenset({"pmf", "logpmf"})
_TAILS = frozenset({"cdf", "logcdf", "sf", "logsf", "ppf", "isf"})
_ASKED = ("x", "q", "k")
_NORMAL = "scipy.stats.multivariate_normal"
_NORMAL_DENSITIES = frozenset({"pdf", "logpdf", "cdf", "logcdf"})
_KDE = "scipy.stats.gaussian_kde"
# Of `x` and `y`; on which axis of `y` the points lie by default.
_INTERPOLATORS = {
    "scipy.interpolate.interp1d": -1,
    "scipy.interpolate.CubicSpline": 0,
    "scipy.interpolate.PchipInterpolator": 0,
    "scipy.interpolate.Akima1DInterpolator": 0,
    "scipy.interpolate.make_interp_spline": 0,
    "scipy.interpolate.UnivariateSpline": 0,
    "scipy.interpolate.InterpolatedUnivariateSpline": 0,
}
_TREES = frozenset({"scipy.spatial.KDTree", "scipy.spatial.cKDTree"})


def bound(
    names: str, args: list[Value], kwargs: dict[str, Value], more: frozenset[str] = frozenset()
) -> dict[str, Value] | None:
    """The arguments by their names; None where there are others than these and `more`, or the first two are not given."""
    order = names.split()
    if len(args) > len(order) or not kwargs.keys() <= {*order, *more}:
        return None
    given = dict(zip(order, args, strict=False))
    for name in order[len(args) :]:
        if name in kwargs:
            given[name] = kwargs[name]
    return given if all(name in given for name in order[:2]) else None


def is_number(value: Value) -> bool:
    if isinstance(value, Tensor):
        return value.shape == ()
    if isinstance(value, Const):
        return isinstance(value.value, (int, float, complex))
    return isinstance(value, (Number, Scalar))


def array(interp: State, value: Value, node: ast.AST | None) -> Tensor:
    """What `np.asarray` makes of it; Undecided where that has a number of axes that nobody knows."""
    if isinstance(value, Sequence) and value.kind in ("list", "tuple"):
        value = array_of(interp.call_context("numpy.asarray", node), value)
    if not isinstance(value, Tensor) or value.framework != "numpy" or value.shape is None or "optional" in value.marks:
        raise Undecided
    return value


def _numbers(shape: Shape, node: ast.AST | None, how: str | None = None) -> Tensor:
    return Tensor("numpy", shape, () if not shape else None, None, None, node, how, NUMERIC)


def make(interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """A constructor, or a method of one of the distributions that scipy.stats has ready."""
    if path in _INTERPOLATORS:
        given = bound("x y", args[:2], {k: v for k, v in kwargs.items() if k in ("x", "y")})
        if given is None or (len(args) > 3 and path.endswith("interp1d")) or len(args) > 4:
            return None
        y = array(interp, given["y"], node)
        if "axis" in kwargs and len(y.shape or ()) != 1:
            return None
        return LibraryObject(path, {}, (copy(y, strides=None, source=None),), {}, node)
    if path in _TREES and args:
        return LibraryObject(path, {}, (), {}, node)
    if path == _KDE and args:
        data = array(interp, args[0], node)
        return LibraryObject(path, {}, (copy(data, strides=None, source=None),), {}, node)
    if path == "scipy.interpolate.griddata":
        given = bound("points values xi", args, kwargs, frozenset({"method", "fill_value", "rescale"}))
        if given is None or "xi" not in given:
            return None
        points, known, wanted = (array(interp, given[each], node).shape or () for each in ("points", "values", "xi"))
        if len(points) != 2 or len(known) != 1 or len(wanted) != 2 or not isinstance(given["xi"], Tensor):
            return None
        return _numbers(wanted[:-1], node)
    if not path.startswith(_STATS):
        return None
    if path == "scipy.stats.linregress" and len(args) == 2 and not kwargs:
        if all(len(array(interp, each, node).shape or ()) == 1 for each in args):
            # The others are numbers of Python's where the points lie on a line.
            return Sequence("tuple", [_numbers((), node), _numbers((), node), UNKNOWN, UNKNOWN, UNKNOWN])
        return None
    name = path[len(_STATS) :]
    if name == "rankdata":
        shape = array(interp, args[0], node).shape if len(args) == 1 and kwargs.keys() <= {"method"} else None
        return _numbers(shape, node) if shape and len(shape) == 1 else None
    if name == "multivariate_normal" or name in _CONTINUOUS or name in _DISCRETE:
        kept = {each: _kept(value) for each, value in kwargs.items()}
        return LibraryObject(path, kept, tuple(map(_kept, args)), {}, node)
    name, _, method = name.rpartition(".")
    if name == "multivariate_normal":
        return _of_normal(interp, method, args, kwargs, node, frozen=None)
    if name in _CONTINUOUS or name in _DISCRETE:
        return _of_distribution(interp, name, method, args, kwargs, node)
    return None


def _kept(value: Value) -> Value:
    """A parameter that the object keeps for itself."""
    return copy(value, source=None) if isinstance(value, Tensor) else value


def call(
    interp: State, receiver: LibraryObject, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    """`f(x)` of an interpolator or a density."""
    try:
        return _call(interp, receiver, args, kwargs, node) or UNKNOWN
    except STOPS:
        return UNKNOWN


def _call(
    interp: State, receiver: LibraryObject, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value | None:
    if receiver.fields or len(args) != 1 or kwargs:
        return None
    path = receiver.path
    if path == _KDE:
        return _estimated(interp, receiver, args[0], node)
    if path not in _INTERPOLATORS:
        return None
    y, wanted = receiver.positional[0], array(interp, args[0], node)
    shape = y.shape if isinstance(y, Tensor) else None
    if not shape or not wanted.shape:
        return None
    if _INTERPOLATORS[path] == -1:
        return _numbers((*shape[:-1], *wanted.shape), node)
    return _numbers((*wanted.shape, *shape[1:]), node)


def method(
    interp: State, receiver: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    """`norm(0, 1).pdf(x)`, `tree.query(x)`."""
    try:
        return _method(interp, receiver, name, args, kwargs, node) or UNKNOWN
    except STOPS:
        return UNKNOWN


def _method(
    interp: State, receiver: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value | None:
    if receiver.fields:
        return None
    path = receiver.path
    if path in _TREES and name == "query":
        return _nearest(interp, args, kwargs, node)
    if path == _KDE and name in ("evaluate", "pdf", "logpdf") and len(args) == 1 and not kwargs:
        return _estimated(interp, receiver, args[0], node)
    if path == _NORMAL:
        return _of_normal(interp, name, args, kwargs, node, frozen=receiver)
    kind = path[len(_STATS) :]
    if path.startswith(_STATS) and (kind in _CONTINUOUS or kind in _DISCRETE):
        if name == "rvs":
            given = bound_size("size random_state", args, kwargs)
            return None if given is None else _drawn(interp, given, node, kind)
        if len(args) + len(kwargs) != 1 or name == "fit":
            return None
        return _of_distribution(
            interp, kind, name, [*args, *kwargs.values(), *receiver.positional], dict(receiver.arguments), node
        )
    return None


def bound_size(names: str, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    order = names.split()
    if len(args) > len(order) or not kwargs.keys() <= {*order}:
        return None
    return {**dict(zip(order, args, strict=False)), **kwargs}.get("size")


def _of_distribution(
    interp: State, name: str, method: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value | None:
    """A density and the like broadcasts what it is asked of with its parameters."""
    continuous = name in _CONTINUOUS
    own = _CONTINUOUS[name] if continuous else _DISCRETE[name]
    if method == "rvs":
        # The size stands behind the parameters.
        size = kwargs.get("size", args[own + 1 + continuous] if len(args) > own + 1 + continuous else None)
        return None if size is None or len(args) > own + 2 + continuous else _drawn(interp, size, node, name)
    if method == "fit" and name == "norm" and len(args) == 1 and not kwargs:
        array(interp, args[0], node)
        return Sequence("tuple", [_numbers((), node), _numbers((), node)])
    if method not in _TAILS | (_DENSITIES if continuous else _MASSES):
        return None
    asked = [value for word, value in kwargs.items() if word in _ASKED and not args]
    parameters = [value for word, value in kwargs.items() if args or word not in _ASKED]
    shape: Shape = ()
    for each in (*asked, *args, *parameters):
        if not is_number(each):
            shape = broadcast(shape, array(interp, each, node).shape or ())
    return _numbers(shape, node, f"{name}.{method}") if shape else None


def _drawn(interp: State, size: Value, node: ast.AST | None, name: str) -> Value | None:
    if is_none(size):
        return None
    shape = arguments.shape([size])
    if any(isinstance(each, int) and each < 0 for each in shape):
        return None
    return (
        Tensor("numpy", shape, None, "float64" if name in _CONTINUOUS else None, None, node, None, NUMERIC)
        if shape
        else None
    )


def _of_normal(
    interp: State,
    method: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST | None,
    frozen: LibraryObject | None,
) -> Value | None:
    """Densities of the rows of a matrix, draws of so many rows: axes of one element are squeezed away."""
    if method in _NORMAL_DENSITIES:
        if kwargs.keys() - {"mean", "cov", "allow_singular"} or not args:
            return None
        rows = array(interp, args[0], node).shape or ()
        if len(rows) != 2 or not S.surely_not_one(rows[0]):
            return None
        return _numbers(rows[:1], node, f"multivariate_normal.{method}")
    if method != "rvs":
        return None
    given = dict(
        zip(("size", "random_state") if frozen else ("mean", "cov", "size", "random_state"), args, strict=False)
    )
    given |= kwargs
    source = (
        frozen.positional[:1] if frozen and frozen.positional else (frozen.arguments if frozen else given).get("mean")
    )
    mean = source[0] if isinstance(source, tuple) else source
    size = integer(given.get("size", Const(1)))
    shape = array(interp, mean, node).shape or () if mean is not None else ()
    if size is None or size < 2 or len(shape) != 1 or not S.surely_not_one(shape[0]):
        return None
    return Tensor("numpy", (size, shape[0]), None, "float64", None, node, None, NUMERIC)


def _estimated(interp: State, receiver: LibraryObject, points: Value, node: ast.AST | None) -> Value | None:
    """A kernel density: `(d, n)` points of d coordinates, or `(n,)` of one."""
    data = receiver.positional[0]
    wanted, shape = array(interp, points, node).shape or (), data.shape if isinstance(data, Tensor) else None
    if shape is None or len(wanted) != len(shape) or len(wanted) not in (1, 2):
        return None
    return _numbers(wanted[-1:], node)


def _nearest(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """`distances, indices = tree.query(x, k)`."""
    if len(args) > 2 or not args or kwargs.keys() - {"k", "eps", "p", "distance_upper_bound", "workers"}:
        return None
    count = integer(args[1] if len(args) > 1 else kwargs.get("k", Const(1)))
    shape = (array(interp, args[0], node).shape or ())[:-1]
    if count is None or count < 1:
        return None
    shape = shape if count == 1 else (*shape, count)
    if not shape:
        return None
    distances = Tensor("numpy", shape, None, "float64", None, node)
    return Sequence("tuple", [distances, Tensor("numpy", shape, None, "int64", None, node)])
