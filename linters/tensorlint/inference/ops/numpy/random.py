"""numpy.random: the old functions, `Generator` and `RandomState`."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.numpy.creation import chosen, created, ranked
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.results import laid, unranked
from tensorlint.inference.ops.table import Call, Undecided, parse_parameters
from tensorlint.inference.values import Const, Number, Opaque, Scalar, Sequence, Tensor, Unknown, Value, copy

HOMES = ("numpy.random", "numpy.random.Generator", "numpy.random.RandomState")


@op(
    "numpy.random.rand numpy.random.randn numpy.random.RandomState.rand numpy.random.RandomState.randn",
    "*size",
    tensor=False,
)
def rand(call: Call, size: list[Value]) -> Value:
    if not size:
        return Scalar("float")
    if len(size) == 1 and isinstance(size[0], (Sequence, Unknown)):
        raise Undecided
    return created(call, tuple(arguments.count(one) for one in size), "float64")


def sampled(call: Call, size: Value, dtype: str | None, *parameters: Value) -> Value:
    """Samples of shape `size`; without one, a number, or one for each of the parameters."""
    if values.is_none(size):
        if all(isinstance(value, (Const, Number, Scalar)) for value in parameters):
            kind = dtypes.category(dtype) if dtype is not None else None
            return Scalar("int" if kind == dtypes.INTEGER else "bool" if kind == dtypes.BOOL else "float")
        arrays = [ranked(call, value) for value in parameters if not isinstance(value, (Const, Number, Scalar))]
        shape = broadcast(*(array.shape or () for array in arrays))
        return Tensor("numpy", shape, layout.contiguous(shape), dtype, None, call.node)
    try:
        shape = arguments.shape([size])
    except Undecided:
        if isinstance(size, Unknown) or (isinstance(size, Opaque) and not size.integer):
            raise  # it may be None, which gives a number
        return unranked("numpy", dtype)
    return created(call, shape, dtype)


# Distributions: their parameters in front of `size`, and the type of their samples.
_DISTRIBUTIONS = {
    "normal uniform laplace logistic gumbel lognormal vonmises": ("loc=0.0 scale=1.0", "float64"),
    "exponential rayleigh": ("scale=1.0", "float64"),
    "beta": ("a b", "float64"),
    "gamma": ("shape scale=1.0", "float64"),
    "f": ("dfnum dfden", "float64"),
    "wald": ("mean scale", "float64"),
    "chisquare standard_gamma standard_t pareto weibull power": ("df", "float64"),
    "triangular": ("left mode right", "float64"),
    "noncentral_chisquare": ("df nonc", "float64"),
    "poisson geometric zipf logseries": ("lam=1.0", "int64"),
    "binomial negative_binomial": ("n p", "int64"),
    "hypergeometric": ("ngood nbad nsample", "int64"),
    "standard_normal standard_exponential standard_cauchy": ("", "float64"),
}
_NAMES = "low=None high=None mean=None sigma=None mu=None kappa=None shape=None p=None lam=None a=None df=None"


def _distribution(names: str, parameters: str, dtype: str) -> None:
    bound = [word.partition("=")[0] for word in parameters.split()]

    def sample(call: Call, size: Value, **rest: Value) -> Value:
        given = [rest[name] for name in bound]
        keywords = [rest[name] for name in rest if name not in bound and name not in ("dtype", "method", "out")]
        chosen_dtype = chosen(rest["dtype"], dtype)
        return sampled(call, size, chosen_dtype, *given, *(value for value in keywords if not values.is_none(value)))

    spare = " ".join(word for word in _NAMES.split() if word.partition("=")[0] not in bound)
    for name in names.split():
        for home in HOMES:
            # Parameters are optional here because they may come under the distribution's own names.
            front = " ".join(f"{one}=0.0" for one in bound)
            text = f"{front} size=None / dtype=None method=None out=None {spare}"
            from tensorlint.inference.ops.numpy.registry import NUMPY

            NUMPY.add(f"{home}.{name}", parse_parameters(text), sample, tensor=False)


for _names, (_parameters, _dtype) in _DISTRIBUTIONS.items():
    _distribution(_names, _parameters, _dtype)


@op(
    "numpy.random.random numpy.random.random_sample numpy.random.ranf numpy.random.sample numpy.random.Generator.random "
    "numpy.random.RandomState.random_sample numpy.random.RandomState.random",
    "size=None dtype=None out=None",
    tensor=False,
)
def random(call: Call, size: Value, dtype: Value, out: Value) -> Value:
    return sampled(call, size, chosen(dtype, "float64"))


@op(
    "numpy.random.randint numpy.random.RandomState.randint numpy.random.Generator.integers numpy.random.random_integers",
    "low high=None size=None dtype=None endpoint=False",
    tensor=False,
)
def randint(call: Call, low: Value, high: Value, size: Value, dtype: Value, endpoint: Value) -> Value:
    bounds = [bound for bound in (low, high) if not values.is_none(bound)]
    if values.is_none(size) and any(isinstance(bound, Opaque) for bound in bounds):
        raise Undecided
    return sampled(call, size, chosen(dtype, "int64"), *bounds)


@op(
    "numpy.random.choice numpy.random.RandomState.choice numpy.random.Generator.choice",
    "a size=None replace=True p=None axis=0 shuffle=True",
    tensor=False,
)
def choice(call: Call, a: Value, size: Value, axis: Value, **rest: Value) -> Value:
    if isinstance(a, (Const, Number, Scalar)) or (isinstance(a, Opaque) and a.integer):
        return sampled(call, size, "int64")
    given = array_of(call, a, texts=True)
    if values.is_none(size) and given.shape is not None and len(given.shape) == 1:
        raise Undecided
    shape = arguments.shape([size])
    if given.shape == ():
        return created(call, shape, "int64")
    if given.shape is None:
        if "Generator" in call.name:
            return unranked("numpy", given.dtype)
        return laid(call, "numpy", shape, layout.contiguous(shape), given.dtype)
    if len(given.shape) > 1:
        at = arguments.axis(axis, len(given.shape))
        shape = (*given.shape[:at], *shape, *given.shape[at + 1 :])
        return laid(call, "numpy", shape, None, given.dtype)
    return created(call, shape, given.dtype)


@op(
    "numpy.random.permutation numpy.random.RandomState.permutation numpy.random.Generator.permutation "
    "numpy.random.Generator.permuted",
    "x axis=0 out=None",
)
def permutation(call: Call, x: Value, axis: Value, out: Value) -> Value:
    if isinstance(x, Const) and (not isinstance(x.value, int) or x.value < 0):
        raise Undecided
    if isinstance(x, (Const, Number)) or (isinstance(x, Scalar) and x.kind == "int"):
        return laid(call, "numpy", (arguments.count(x),), (1,), "int64")
    if isinstance(x, Opaque):
        raise Undecided
    given = ranked(call, x)
    if not given.shape:
        raise Undecided
    return copy(
        given,
        strides=given.strides if given.in_order and values.integer(axis) == 0 else None,
        made=call.node,
    )


@op(
    "numpy.random.multivariate_normal numpy.random.Generator.multivariate_normal "
    "numpy.random.RandomState.multivariate_normal",
    "mean cov size=None check_valid=None tol=None / method=None",
)
def multivariate_normal(call: Call, mean: Value, size: Value, **rest: Value) -> Value:
    center = ranked(call, mean)
    shape = (*(() if values.is_none(size) else arguments.shape([size])), *(center.shape or ()))
    return laid(call, "numpy", shape, layout.contiguous(shape), "float64")


@op("numpy.random.dirichlet numpy.random.Generator.dirichlet numpy.random.RandomState.dirichlet", "alpha size=None")
def dirichlet(call: Call, alpha: Value, size: Value) -> Value:
    shape = (*(() if values.is_none(size) else arguments.shape([size])), *(ranked(call, alpha).shape or ()))
    return laid(call, "numpy", shape, layout.contiguous(shape), "float64")


@op(
    "numpy.random.multinomial numpy.random.Generator.multinomial numpy.random.RandomState.multinomial",
    "n pvals size=None",
)
def multinomial(call: Call, n: Value, pvals: Value, size: Value) -> Value:
    if not isinstance(n, (Const, Number, Scalar)) or len(ranked(call, pvals).shape or ()) != 1:
        raise Undecided
    shape = (*(() if values.is_none(size) else arguments.shape([size])), *(ranked(call, pvals).shape or ()))
    return laid(call, "numpy", shape, layout.contiguous(shape), "int64")
