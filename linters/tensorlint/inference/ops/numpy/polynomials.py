"""Polynomials by their coefficients: the old functions of numpy, and the matrices of `numpy.polynomial`."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.numpy.creation import own, ranked
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.results import NUMERIC, laid, unplaced
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Tensor, Value


@op("numpy.polyval", "p x")
def polyval(call: Call, p: Value, x: Value) -> Value:
    given = ranked(call, x)
    coefficients = ranked(call, p).shape or ()
    if not coefficients:
        raise Undecided
    return unplaced(call, "numpy", broadcast(given.shape or (), coefficients[1:]), None)


@op("numpy.polyfit", "x y deg rcond=None full=False w=None cov=False", tensor=False)
def polyfit(call: Call, y: Value, deg: Value, full: Value, cov: Value, **rest: Value) -> Value:
    target = ranked(call, y)
    if arguments.flag(full) or arguments.truth(cov) is not False or len(target.shape or ()) not in (1, 2):
        raise Undecided
    size = values.size_of(deg)
    if size is None or isinstance(deg, Tensor):
        raise Undecided
    return unplaced(call, "numpy", (S.add(size, 1), *(target.shape or ())[1:]), None, marks=NUMERIC)


@op("numpy.polynomial.polynomial.polyvander numpy.polynomial.legendre.legvander numpy.polynomial.chebyshev.chebvander "
    "numpy.polynomial.hermite.hermvander numpy.polynomial.hermite_e.hermevander numpy.polynomial.laguerre.lagvander",
    "x deg")  # fmt: skip
def polyvander(call: Call, x: Value, deg: Value) -> Value:
    shape, size = ranked(call, x).shape or (), values.integer(deg)
    if not shape or size is None or size < 0:
        raise Undecided
    return unplaced(call, "numpy", (*shape, size + 1), None)


def _coefficients(call: Call, value: Value) -> Size:
    shape = own(call, value).shape or ()
    if len(shape) != 1:
        raise Undecided
    return shape[0]


@op("numpy.poly", "seq_of_zeros", tensor=False)
def poly(call: Call, seq_of_zeros: Value) -> Value:
    """The coefficients of the polynomial with these zeros, or of a matrix: one more than there are."""
    shape = own(call, seq_of_zeros).shape or ()
    if len(shape) not in (1, 2) or not arguments.at_least(shape[0], 1):
        raise Undecided
    return laid(call, "numpy", (S.add(shape[0], 1),), (1,), None)


@op("numpy.roots", "p")
def roots(call: Call, p: Value) -> Value:
    """As many as the degree: coefficients that are 0 in front do not count."""
    own(call, p)
    return laid(call, "numpy", (S.counter(),), None, None)


@op("numpy.polyadd numpy.polysub", "a1 a2")
def polyadd(call: Call, a1: Value, a2: Value) -> Value:
    first, second = _coefficients(call, a1), _coefficients(call, a2)
    size = first if first == second or arguments.at_least(first, second) else second
    if not arguments.at_least(size, first) or not arguments.at_least(size, second):
        size = S.symbol()
    return laid(call, "numpy", (size,), None, None)


@op("numpy.polymul", "a1 a2")
def polymul(call: Call, a1: Value, a2: Value) -> Value:
    """Zeros in front are dropped first."""
    _coefficients(call, a1)
    _coefficients(call, a2)
    return laid(call, "numpy", (S.symbol(),), None, None)


@op("numpy.polyder numpy.polyint", "p m=1 k=None", tensor=False)
def polyder(call: Call, p: Value, m: Value, k: Value) -> Value:
    size, times = _coefficients(call, p), arguments.whole(m)
    if times < 0:
        raise Undecided
    if call.name.endswith("polyint"):
        return laid(call, "numpy", (S.add(size, times),), None, None)
    if not arguments.at_least(size, times + 1):
        raise Undecided
    return laid(call, "numpy", (S.subtract(size, times),), None, None)


@op("numpy.trim_zeros", "filt trim='fb' axis=None", tensor=False)
def trim_zeros(call: Call, filt: Value, **rest: Value) -> Value:
    given = own(call, filt)
    if len(given.shape or ()) != 1 or not isinstance(filt, Tensor):
        raise Undecided  # of a list it is a list
    return laid(call, "numpy", (S.counter(),), None, given.dtype)
