"""torch's elementwise operations."""

from __future__ import annotations

from collections.abc import Callable

from tensorlint.inference import layout, values
from tensorlint.inference.ops import dtypes
from tensorlint.inference.ops.broadcasting import broadcast, tell, tell_any
from tensorlint.inference.ops.elementwise import Kind, elementwise, is_number, is_plain, is_two, magnitude_of, unary_of
from tensorlint.inference.ops.results import LASTING, tuple_of, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.values import (
    Const,
    Opaque,
    Tensor,
    Unknown,
    Value,
    copy,
)

# One tensor in, one out. `same` keeps the type, `float` makes integers the default type.
_UNARY: dict[Kind, str] = {
    "same": """neg negative sign sgn ceil floor round trunc fix relu bitwise_not
        frac""",
    "float": """exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan arcsin arccos arctan sinh
        cosh tanh asinh acosh atanh arcsinh arccosh arctanh sigmoid reciprocal erf erfc erfinv lgamma digamma i0 sinc
        torch.special.expit torch.special.erf torch.special.i0e torch.special.i1 torch.special.i1e
        torch.special.ndtri torch.special.log_ndtr torch.special.entr torch.special.gammaln
        torch.special.expm1 torch.special.exp2 torch.special.psi torch.special.sinc""",
    "bool": "logical_not isnan isposinf isneginf signbit",
}

# Two operands that broadcast.
_BINARY: dict[Kind, str] = {
    "promote": """maximum minimum fmax fmin fmod remainder floor_divide bitwise_and bitwise_or
        bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm""",
    "float": "true_divide atan2 arctan2 hypot xlogy logaddexp logaddexp2 nextafter copysign torch.special.xlog1py",
    "bool": "eq ne lt le gt ge not_equal less less_equal greater greater_equal logical_and logical_or logical_xor isclose",
}

_WORDS = {
    "add": "addition",
    "sub": "subtraction",
    "subtract": "subtraction",
    "mul": "multiplication",
    "multiply": "multiplication",
    "div": "division",
    "divide": "division",
    "true_divide": "division",
    "eq": "comparison .eq",
    "ne": "comparison .ne",
}


def words(call: Call) -> str:
    name = call.name.rpartition(".")[2]
    return _WORDS.get(name, f"torch.{name}")


def _unary(kind: Kind) -> Callable[..., Value]:
    def transfer(call: Call, input: Value, **rest: Value) -> Value:
        return unary_of(call, input, kind=kind, framework="torch")

    return transfer


for _kind, _names in _UNARY.items():
    op(_names, "input / decimals=0 nan=None posinf=None neginf=None out=None")(_unary(_kind))


@op("exp", "input / out=None")
def exp(call: Call, input: Value, out: Value) -> Value:
    return magnitude_of(input, unary_of(call, input, kind="float", framework="torch"))


@op("torch.special.ndtr", "input / out=None")
def ndtr(call: Call, input: Value, out: Value) -> Value:
    """Made of several operations, whose layouts agree with one operation's only where nothing is expanded or transposed."""
    result = _unary("float")(call, input)
    if isinstance(result, Tensor) and not (isinstance(input, Tensor) and input.contiguous):
        result.strides = None
    return result


def _binary(kind: Kind) -> Callable[..., Value]:
    def transfer(call: Call, input: Value, other: Value, **rest: Value) -> Value:
        return elementwise(call, [input, other], kind=kind, framework="torch", operation=words(call))

    return transfer


for _kind, _names in _BINARY.items():
    op(_names, "input other rtol=None atol=None equal_nan=None / out=None")(_binary(_kind))


@op("rsub", "input other / alpha=1 out=None")
def rsub(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    result = elementwise(call, [other, input], framework="torch")
    if isinstance(result, Tensor):
        tell_any(call, words(call), [input, other], result.shape or ())
    return result


@op("add sub subtract mul multiply", "input other / alpha=1 out=None")
def arithmetic(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    return elementwise(call, [input, other], framework="torch", operation=words(call))


@op("square", "input / out=None")
def square(call: Call, input: Value, out: Value) -> Value:
    """`x ** 2`: a square of bools is an integer."""
    return magnitude_of(input, elementwise(call, [input, Const(2)], framework="torch", wrapped=False))


@op("positive conj_physical conj", "input / out=None")
def positive(call: Call, input: Value, out: Value) -> Value:
    """The tensor itself where it is real."""
    if not isinstance(input, Tensor):
        raise Undecided
    if input.dtype is not None and dtypes.category(input.dtype) == dtypes.COMPLEX:
        return copy(input, strides=None)
    return input if input.dtype is not None else copy(input, strides=None)


@op("div divide", "input other / rounding_mode=None out=None")
def div(call: Call, input: Value, other: Value, rounding_mode: Value, out: Value) -> Value:
    kind = "float" if values.is_none(rounding_mode) else "promote"
    return elementwise(call, [input, other], kind=kind, framework="torch", operation=words(call))


@op("pow", "input exponent / out=None")
def pow(call: Call, input: Value, exponent: Value, out: Value) -> Value:
    wrapped = isinstance(exponent, Tensor) or not isinstance(input, Tensor)
    result = elementwise(call, [input, exponent], framework="torch", wrapped=wrapped, operation="power")
    if not isinstance(input, Tensor) and isinstance(result, Tensor) and result.shape:
        result.strides = layout.contiguous(result.shape)
    return magnitude_of(input, result) if is_two(exponent) else result


@op("float_power", "input exponent / out=None")
def float_power(call: Call, input: Value, exponent: Value, out: Value) -> Value:
    result = elementwise(call, [input, exponent], framework="torch", operation=words(call))
    if isinstance(result, Tensor):
        name = result.dtype
        result.dtype = None if name is None else "complex128" if dtypes.category(name) == dtypes.COMPLEX else "float64"
        given = [one for one in (input, exponent) if isinstance(one, Tensor)]
        if result.shape is not None:
            plain = all(one.contiguous and one.shape == result.shape for one in given)
            result.strides = layout.contiguous(result.shape) if plain else None
    return result


@op("clamp clip", "input min=None max=None / out=None")
def clamp(call: Call, input: Value, min: Value, max: Value, out: Value) -> Value:
    bounds = [bound for bound in (min, max) if not values.is_none(bound)]
    if any(isinstance(bound, Tensor) for bound in bounds):
        result = elementwise(call, [input, *bounds], framework="torch")
        if isinstance(result, Tensor) and not all(isinstance(bound, Tensor) for bound in bounds):
            # One bound a tensor, the other a number.
            result.dtype = result.dtype if isinstance(input, Tensor) and result.dtype == input.dtype else None
        if isinstance(result, Tensor):
            tell_any(call, words(call), [input, *bounds], result.shape or ())
        return result
    return elementwise(call, [input, *bounds], framework="torch", wrapped=False)


@op("clamp_min clamp_max", "input min / out=None")
def clamp_one(call: Call, input: Value, min: Value, out: Value) -> Value:
    return elementwise(call, [input, min], framework="torch", wrapped=isinstance(min, Tensor), operation=words(call))


@op("logit", "input eps=None / out=None")
def logit(call: Call, input: Value, eps: Value, out: Value) -> Value:
    return unary_of(call, input, kind="float", framework="torch")


@op("angle", "input / out=None")
def angle(call: Call, input: Value, out: Value) -> Value:
    result = unary_of(call, input, kind="float", framework="torch")
    if isinstance(result, Tensor):
        if not dtypes.is_floating(result.dtype):
            result.strides = None
        result.dtype = dtypes.real_of(result.dtype)
    return result


@op("abs absolute", "input / out=None")
def absolute(call: Call, input: Value, out: Value) -> Value:
    result = unary_of(call, input, kind="real", framework="torch")
    if isinstance(result, Tensor) and isinstance(input, Tensor) and not dtypes.is_floating(input.dtype):
        # Of complex numbers it is written into an `empty_like`.
        kept = layout.preserve(result.shape or (), input.strides)
        known = input.dtype is not None or kept == result.strides
        if input.dtype is None or dtypes.category(input.dtype) == dtypes.COMPLEX:
            result.strides = kept if known else None
    return magnitude_of(input, result)


@op("nan_to_num", "input nan=None posinf=None neginf=None / out=None")
def nan_to_num(call: Call, input: Value, **rest: Value) -> Value:
    """Written into an `empty_like` of the input, which keeps the strides of axes of size 1 too."""
    return like(call, input, None)


@op("isinf isfinite isreal", "input / out=None")
def is_number_of_a_kind(call: Call, input: Value, out: Value) -> Value:
    """Computed from a float; of what cannot be infinite (or imaginary) a `full_like`."""
    ranked = tensor(input)
    kind = None if ranked.dtype is None else dtypes.category(ranked.dtype)
    computed = unary_of(call, ranked, kind="bool", framework="torch")
    constant = like(call, ranked, "bool")
    if kind is not None and (kind < dtypes.FLOAT or (kind == dtypes.FLOAT and call.name.endswith("isreal"))):
        return constant
    if call.name.endswith("isreal"):
        same = isinstance(computed, Tensor) and computed.strides == constant.strides and kind is None
        return constant if same else copy(constant, strides=None)
    if isinstance(computed, Tensor):
        # More than one pass over the numbers.
        again = unary_of(call, computed, kind="bool", framework="torch")
        if kind != dtypes.FLOAT or computed.strides != tensor(again).strides:
            computed.strides = None
    return computed


@op("deg2rad rad2deg", "input / out=None")
def deg2rad(call: Call, input: Value, out: Value) -> Value:
    """A product written into an `empty_like` of the input."""
    result = like(call, input, None)
    result.dtype = dtypes.torch_float(tensor(input).dtype, call.default_dtype)
    return result


def like(call: Call, input: Value, dtype: str | None) -> Tensor:
    """A new tensor laid out as `empty_like` lays it out, of the input's type or of `dtype`."""
    result = unary_of(call, tensor(input), framework="torch")
    ranked = tensor(result)
    ranked.strides = layout.preserve(ranked.shape or (), tensor(input).strides)
    if dtype is not None:
        ranked.dtype = dtype
    return ranked


@op("lerp", "input end weight / out=None")
def lerp(call: Call, input: Value, end: Value, weight: Value, out: Value) -> Value:
    if isinstance(weight, Unknown) or (isinstance(weight, Opaque) and weight.kind is None):
        raise Undecided  # a number or a tensor
    operands = [input, end, weight] if isinstance(weight, Tensor) else [input, end]
    result = elementwise(call, operands, framework="torch", kind="same")
    if isinstance(result, Tensor) and any(isinstance(one, Tensor) and one.dtype != result.dtype for one in operands):
        result.dtype = None
    if isinstance(result, Tensor):
        tell_any(call, words(call), operands, result.shape or ())
    return result


@op("addcmul addcdiv", "input tensor1 tensor2 / value=1 out=None")
def addcmul(call: Call, input: Value, tensor1: Value, tensor2: Value, value: Value, out: Value) -> Value:
    result = elementwise(call, [input, tensor1, tensor2], framework="torch")
    if isinstance(result, Tensor):
        tell_any(call, words(call), [input, tensor1, tensor2], result.shape or ())
    return result


@op("heaviside", "input values / out=None")
def heaviside(call: Call, input: Value, out: Value, **rest: Value) -> Value:
    return elementwise(call, [input, rest["values"]], framework="torch", kind="same", operation=words(call))


@op("torch.where", "condition input=None other=None / out=None", tensor=False)
def where(call: Call, condition: Value, input: Value, other: Value, out: Value) -> Value:
    if values.is_none(input):
        from tensorlint.inference.ops.torch.selection import nonzero

        return nonzero(call, condition, Const(True), values.NONE)
    return where_of(call, condition, input, other)


@op(".where", "input condition other")
def where_method(call: Call, input: Value, condition: Value, other: Value) -> Value:
    return where_of(call, condition, input, other, {(0, 2): (0, 1), (1, 0): (-1, 0), (1, 2): (-1, 1)})


# Of the condition and the two choices, those that may meet, and their places among the arguments of the function.
_MEETING = {(0, 2): (0, 2), (0, 1): (0, 1), (1, 2): (1, 2)}


def where_of(
    call: Call,
    condition: Value,
    input: Value,
    other: Value,
    meeting: dict[tuple[int, int], tuple[int, int]] = _MEETING,
) -> Value:
    """Shape of all three, type of the two choices; the condition comes first in what decides the layout."""
    picked = _pair_dtype(call, input, other)
    if not all(isinstance(value, Tensor) or is_number(value) or is_plain(value) for value in (condition, input, other)):
        return unranked("torch", picked)
    # Of two types, torch.where itself converts to the common one before it begins.
    input, other = converted(input, other, picked), converted(other, input, picked)
    result = elementwise(call, [condition, input, other], framework="torch", dtype=picked)
    if isinstance(result, Tensor):
        result.dtype = picked
        given = (condition, input, other)
        for (first, second), places in meeting.items():
            left, right = given[first], given[second]
            if isinstance(left, Tensor) and isinstance(right, Tensor):
                tell(call, "torch.where", left, right, result.shape or (), places)
        if not isinstance(condition, Tensor):
            result.strides = None
        elif (
            not (isinstance(input, Tensor) and isinstance(other, Tensor))
            and result.shape
            and result.strides is not None
        ):
            # Numbers take part as 0-dim tensors.
            shapes = [
                (value.shape or (), value.strides) if isinstance(value, Tensor) else ((), ())
                for value in (condition, input, other)
            ]
            result.strides = layout.elementwise(shapes, result.shape)
    return result


def converted(value: Value, beside: Value, dtype: str | None) -> Value:
    """`value.to(dtype)` where it and `beside` are not of one type."""
    if not isinstance(value, Tensor) or not value.strides:
        return value
    if value.dtype == dtype is not None or (isinstance(beside, Tensor) and value.dtype == beside.dtype is not None):
        return value
    kept = layout.preserve(value.shape or (), value.strides)
    if kept == value.strides:
        return value
    return copy(value, strides=kept if dtype is not None and value.dtype is not None else None)


def _pair_dtype(call: Call, input: Value, other: Value) -> str | None:
    if isinstance(input, Tensor) or isinstance(other, Tensor):
        return dtypes.torch_result([input, other], call.default_dtype)
    kinds = [dtypes.of_scalar(value) for value in (input, other)]
    if None in kinds:
        return None
    kind = max(kind for kind in kinds if kind is not None)
    return ("bool", "int64", call.default_dtype, dtypes.complex_of(call.default_dtype))[kind]


@op("masked_fill", "input mask value")
def masked_fill(call: Call, input: Value, mask: Value, value: Value) -> Value:
    ranked, masked = tensor(input), tensor(mask)
    shape = broadcast(ranked.shape or (), masked.shape or ())
    tell_any(call, words(call), [ranked, masked], shape)
    # The input is cloned contiguous; where it already fits, so is the result.
    strides = layout.contiguous(shape) if len(shape) < 2 or ranked.contiguous else None
    if ranked.contiguous is False and shape == ranked.shape:
        strides = layout.contiguous(shape)
    return Tensor("torch", shape, strides, ranked.dtype, ranked.device, ranked.made, ranked.how, ranked.marks & LASTING)


_POLYNOMIALS = " ".join(
    f"torch.special.{name}"
    for name in [
        "chebyshev_polynomial_t",
        "chebyshev_polynomial_u",
        "chebyshev_polynomial_v",
        "chebyshev_polynomial_w",
        "shifted_chebyshev_polynomial_t",
        "shifted_chebyshev_polynomial_u",
        "shifted_chebyshev_polynomial_v",
        "shifted_chebyshev_polynomial_w",
        "hermite_polynomial_h",
        "hermite_polynomial_he",
        "laguerre_polynomial_l",
        "legendre_polynomial_p",
        "zeta",
    ]
)


@op(_POLYNOMIALS, "x n / out=None")
def polynomial(call: Call, x: Value, n: Value, out: Value) -> Value:
    return elementwise(call, [x, n], kind="float", framework="torch", operation=words(call))


@op("ldexp", "input other / out=None")
def ldexp(call: Call, input: Value, other: Value, out: Value) -> Value:
    """The number times a power of two, which makes a float of it; two operations, whose layouts need not be one's."""
    result = elementwise(call, [input, other], kind="float", framework="torch", operation=words(call))
    if isinstance(result, Tensor):
        result.strides = result.strides if result.in_order and isinstance(input, Tensor) and input.in_order else None
        result.dtype = result.dtype if isinstance(input, Tensor) and dtypes.is_floating(input.dtype) else None
    return result


@op("frexp", "input / out=None", tensor=False)
def frexp(call: Call, input: Value, out: Value) -> Value:
    """Mantissas, and exponents as integers."""
    result = unary_of(call, input, framework="torch")
    if not isinstance(result, Tensor) or not isinstance(input, Tensor):
        raise Undecided
    result.strides = result.strides if input.in_order else None
    return tuple_of([result, copy(result, dtype="int32")])


@op("mvlgamma torch.special.multigammaln", "input p / out=None")
def mvlgamma(call: Call, input: Value, p: Value, out: Value) -> Value:
    result = unary_of(call, input, kind="float", framework="torch")
    if isinstance(result, Tensor):
        result.strides = result.strides if result.in_order and isinstance(input, Tensor) and input.in_order else None
    return result
