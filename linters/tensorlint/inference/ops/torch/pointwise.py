"""torch's elementwise operations, and conversions of type, device and memory format."""

from __future__ import annotations

from collections.abc import Callable

from tensorlint.inference import layout, values
from tensorlint.inference.layout import Strides
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.elementwise import Kind, elementwise, is_number, is_plain, unary_of
from tensorlint.inference.ops.results import LASTING, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.creation import in_format
from tensorlint.inference.ops.torch.registry import TORCH, op
from tensorlint.inference.values import (
    NONE,
    UNKNOWN,
    Const,
    Library,
    LibraryObject,
    Scalar,
    Tensor,
    Value,
    copy,
)

# One tensor in, one out. `same` keeps the type, `float` makes integers the default type.
_UNARY: dict[Kind, str] = {
    "same": """neg negative sign sgn ceil floor round trunc fix relu bitwise_not
        nan_to_num frac""",
    "float": """exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan arcsin arccos arctan sinh
        cosh tanh asinh acosh atanh arcsinh arccosh arctanh sigmoid reciprocal erf erfc erfinv lgamma digamma i0 sinc
        deg2rad rad2deg torch.special.expit torch.special.erf torch.special.i0e torch.special.i1 torch.special.i1e
        torch.special.ndtr torch.special.ndtri torch.special.log_ndtr torch.special.entr torch.special.gammaln
        torch.special.expm1 torch.special.exp2 torch.special.psi torch.special.sinc""",
    "bool": "logical_not isnan isinf isfinite isposinf isneginf isreal signbit",
    "real": "abs absolute",
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


def _binary(kind: Kind) -> Callable[..., Value]:
    def transfer(call: Call, input: Value, other: Value, **rest: Value) -> Value:
        return elementwise(call, [input, other], kind=kind, framework="torch", operation=words(call))

    return transfer


for _kind, _names in _BINARY.items():
    op(_names, "input other rtol=None atol=None equal_nan=None / out=None")(_binary(_kind))


@op("rsub", "input other / alpha=1 out=None")
def rsub(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    return elementwise(call, [other, input], framework="torch")


@op("add sub subtract mul multiply", "input other / alpha=1 out=None")
def arithmetic(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    return elementwise(call, [input, other], framework="torch", operation=words(call))


@op("square", "input / out=None")
def square(call: Call, input: Value, out: Value) -> Value:
    """`x ** 2`: a square of bools is an integer."""
    return elementwise(call, [input, Const(2)], framework="torch", wrapped=False)


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
    kind = "divide" if values.is_none(rounding_mode) else "promote"
    return elementwise(call, [input, other], kind=kind, framework="torch", operation=words(call))


@op("pow", "input exponent / out=None")
def pow(call: Call, input: Value, exponent: Value, out: Value) -> Value:
    wrapped = isinstance(exponent, Tensor) or not isinstance(input, Tensor)
    result = elementwise(call, [input, exponent], framework="torch", wrapped=wrapped, operation="power")
    if not isinstance(input, Tensor) and isinstance(result, Tensor) and result.shape:
        result.strides = layout.contiguous(result.shape)
    return result


@op("float_power", "input exponent / out=None")
def float_power(call: Call, input: Value, exponent: Value, out: Value) -> Value:
    result = elementwise(call, [input, exponent], framework="torch")
    if isinstance(result, Tensor):
        name = result.dtype
        result.dtype = None if name is None else "complex128" if dtypes.category(name) == dtypes.COMPLEX else "float64"
        if result.shape is not None and result.layout_trail:
            result.strides = None
    return result


@op("clamp clip", "input min=None max=None / out=None")
def clamp(call: Call, input: Value, min: Value, max: Value, out: Value) -> Value:
    bounds = [bound for bound in (min, max) if not values.is_none(bound)]
    if any(isinstance(bound, Tensor) for bound in bounds):
        return elementwise(call, [input, *bounds], framework="torch")
    return elementwise(call, [input, *bounds], framework="torch", wrapped=False)


@op("clamp_min clamp_max", "input min / out=None")
def clamp_one(call: Call, input: Value, min: Value, out: Value) -> Value:
    return elementwise(call, [input, min], framework="torch", wrapped=isinstance(min, Tensor))


@op("logit", "input eps=None / out=None")
def logit(call: Call, input: Value, eps: Value, out: Value) -> Value:
    return unary_of(call, input, kind="float", framework="torch")


@op("angle", "input / out=None")
def angle(call: Call, input: Value, out: Value) -> Value:
    result = unary_of(call, input, kind="float", framework="torch")
    if isinstance(result, Tensor):
        result.dtype = dtypes.real_of(result.dtype)
    return result


@op("lerp", "input end weight / out=None")
def lerp(call: Call, input: Value, end: Value, weight: Value, out: Value) -> Value:
    operands = [input, end, weight] if isinstance(weight, Tensor) else [input, end]
    return elementwise(call, operands, framework="torch", kind="same")


@op("addcmul addcdiv", "input tensor1 tensor2 / value=1 out=None")
def addcmul(call: Call, input: Value, tensor1: Value, tensor2: Value, value: Value, out: Value) -> Value:
    return elementwise(call, [input, tensor1, tensor2], framework="torch")


@op("heaviside", "input values / out=None")
def heaviside(call: Call, input: Value, out: Value, **rest: Value) -> Value:
    return elementwise(call, [input, rest["values"]], framework="torch", kind="same")


@op("torch.where", "condition input=None other=None / out=None", tensor=False)
def where(call: Call, condition: Value, input: Value, other: Value, out: Value) -> Value:
    if values.is_none(input):
        raise Undecided
    return where_of(call, condition, input, other)


@op(".where", "input condition other")
def where_method(call: Call, input: Value, condition: Value, other: Value) -> Value:
    return where_of(call, condition, input, other)


def where_of(call: Call, condition: Value, input: Value, other: Value) -> Value:
    """Shape of all three, type of the two choices; the condition comes first in what decides the layout."""
    picked = _pair_dtype(call, input, other)
    if not all(isinstance(value, Tensor) or is_number(value) or is_plain(value) for value in (condition, input, other)):
        return unranked("torch", picked)
    result = elementwise(call, [condition, input, other], framework="torch", dtype=picked)
    if isinstance(result, Tensor):
        result.dtype = picked
        from tensorlint.inference.ops.broadcasting import tell

        given = (condition, input, other)
        for first, second in ((1, 2), (0, 1), (0, 2)):
            left, right = given[first], given[second]
            if isinstance(left, Tensor) and isinstance(right, Tensor):
                tell(call, "torch.where", left, right, result.shape or (), (first, second))
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
    from tensorlint.inference.ops.broadcasting import broadcast

    shape = broadcast(ranked.shape or (), masked.shape or ())
    # The input is cloned contiguous; where it already fits, so is the result.
    strides = layout.contiguous(shape) if len(shape) < 2 or ranked.contiguous else None
    if ranked.contiguous is False and shape == ranked.shape:
        strides = layout.contiguous(shape)
    return Tensor("torch", shape, strides, ranked.dtype, ranked.device, ranked.made, ranked.how, ranked.marks & LASTING)


# Identity in shape, layout and type.


@op(
    "detach .detach_ .requires_grad_ .share_memory_ .pin_memory .retain_grad .zero_ .fill_ .copy_ .normal_ .uniform_ "
    ".random_ .bernoulli_ .exponential_ .geometric_ .log_normal_ .cauchy_ .index_fill_ .masked_fill_ .index_copy_ "
    ".scatter_ .scatter_add_ .scatter_reduce_ .index_add_ .index_put_ .clamp_ .tril_ .triu_ .erfinv_ .fill_diagonal_ "
    ".masked_scatter_ .data_ptr_ torch.Tensor.contiguous_ positive_",
    "input *args / reduce=None value=None generator=None std=None mean=None a=None b=None non_blocking=None "
    "min=None max=None index=None source=None dim=None src=None accumulate=None mask=None requires_grad=None device=None",
)
def identity(call: Call, input: Value, **rest: object) -> Value:
    if isinstance(input, Tensor):
        return input
    raise Undecided


@TORCH.attribute("data grad")
def data(call: Call, input: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    if call.name.endswith("grad"):
        return copy(input, strides=None)
    return input


@op("clone", "input / memory_format=None")
def clone(call: Call, input: Value, memory_format: Value) -> Value:
    return copied(call, input, memory_format)


def copied(call: Call, input: Value, memory_format: Value = NONE) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return unranked("torch", input.dtype, input.device)
    strides = in_format(input.shape, memory_format, layout.preserve(input.shape, input.strides))
    return copy(input, framework="torch", strides=strides, layout_trail=input.layout_trail)


@op("contiguous", "input memory_format=None")
def contiguous(call: Call, input: Value, memory_format: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return input
    if values.is_none(memory_format) or _format_name(memory_format) == "contiguous_format":
        return copy(input, framework="torch", strides=_contiguous(input), layout_trail=())
    return copy(input, framework="torch", strides=_in_channels_last(input, memory_format))


def _format_name(memory_format: Value) -> str | None:
    return memory_format.path.rpartition(".")[2] if isinstance(memory_format, Library) else None


def _contiguous(input: Tensor) -> Strides | None:
    shape = input.shape or ()
    if input.contiguous is True:
        return input.strides
    fresh = layout.contiguous(shape)
    if input.contiguous is False:
        return fresh
    # Already contiguous or copied: the strides agree but for axes of size 1, which are free.
    return None if 1 in shape else fresh


def _in_channels_last(input: Tensor, memory_format: Value) -> Strides | None:
    shape = input.shape or ()
    strides = in_format(shape, memory_format, None)
    if strides is None:
        return None
    return None if 1 in shape and input.strides != strides and input.strides != layout.contiguous(shape) else strides


# Conversions.


def converted(
    call: Call,
    input: Tensor,
    dtype: str | None,
    dtype_given: bool,
    device: str | None,
    device_given: bool,
    memory_format: Value = NONE,
    always: bool = False,
) -> Tensor:
    """`to`: the tensor itself where nothing changes, else a copy that preserves the format."""
    target = dtype if dtype_given else input.dtype
    where = device if device_given else input.device
    if input.shape is None:
        return unranked("torch", target, where)
    kept = layout.preserve(input.shape, input.strides)
    changes: bool | None = always
    if not changes and dtype_given:
        changes = None if dtype is None or input.dtype is None else dtype != input.dtype
    if changes is False and device_given:
        changes = None if device is None or input.device is None else _moves(input.device, device)
    strides: Strides | None
    if changes is False:
        strides = input.strides
        if not values.is_none(memory_format):
            name = _format_name(memory_format)
            if name not in ("contiguous_format", "preserve_format"):
                strides = _in_channels_last(input, memory_format)
    elif not values.is_none(memory_format):
        strides = in_format(input.shape, memory_format, kept) if changes else None
    else:
        strides = kept if changes or kept == input.strides else None
    return copy(input, framework="torch", dtype=target, device=where, strides=strides)


def _moves(old: str, new: str) -> bool | None:
    if old == new:
        return False
    if old.partition(":")[0] != new.partition(":")[0]:
        return True
    return None


@op(".to", "input *args / device=None dtype=None non_blocking=False copy=False memory_format=None other=None")
def to(
    call: Call,
    input: Value,
    args: list[Value],
    device: Value,
    dtype: Value,
    copy: Value,
    memory_format: Value,
    other: Value,
    non_blocking: Value,
) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    known_device, device_given = arguments.device(device), not values.is_none(device)
    known_dtype, dtype_given = dtypes.named(dtype, "torch"), not values.is_none(dtype)
    always: bool = False
    for at, argument in enumerate(args):
        if isinstance(argument, Tensor) and argument.how != "dtype":
            known_device, device_given, known_dtype, dtype_given = argument.device, True, argument.dtype, True
            continue
        if isinstance(argument, Library) or (isinstance(argument, Tensor) and argument.how == "dtype"):
            name = dtypes.named(argument, "torch")
            known_dtype, dtype_given = name, True
        elif isinstance(argument, Const) and isinstance(argument.value, bool):
            if at >= 2 and argument.value and len(args) > 2:
                always = True
        elif isinstance(argument, (Const, LibraryObject)):
            if values.is_none(argument):
                continue
            known_device, device_given = arguments.device(argument), True
        else:
            # A device, a type or another tensor: nothing is known of either.
            known_device, device_given, known_dtype, dtype_given = None, True, None, True
    given = arguments.truth(copy)
    if given is None:
        known_dtype, dtype_given = (known_dtype, True) if dtype_given else (input.dtype, True)
        result = converted(call, input, known_dtype, dtype_given, known_device, device_given, memory_format)
        if result.strides != layout.preserve(result.shape or (), input.strides):
            result.strides = None
        return result
    return converted(call, input, known_dtype, dtype_given, known_device, device_given, memory_format, always or given)


@op(".type", "input dtype=None non_blocking=False", tensor=False)
def type_(call: Call, input: Value, dtype: Value, non_blocking: Value) -> Value:
    if not isinstance(input, Tensor) or values.is_none(dtype):
        raise Undecided
    return converted(call, input, dtypes.named(dtype, "torch"), True, None, False)


@op(".type_as", "input other")
def type_as(call: Call, input: Value, other: Value) -> Value:
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        raise Undecided
    return converted(call, input, other.dtype, True, other.device, True)


_CONVERSIONS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "chalf": "complex32",
}


def _conversion(dtype: str) -> Callable[..., Value]:
    def transfer(call: Call, input: Value, memory_format: Value) -> Value:
        if not isinstance(input, Tensor):
            raise Undecided
        return converted(call, input, dtype, True, None, False, memory_format)

    return transfer


for _name, _dtype in _CONVERSIONS.items():
    op(f".{_name}", "input memory_format=None")(_conversion(_dtype))


@op(".cpu", "input memory_format=None")
def cpu(call: Call, input: Value, memory_format: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    return converted(call, input, None, False, "cpu", True, memory_format)


@op(".cuda", "input device=None non_blocking=False memory_format=None")
def cuda(call: Call, input: Value, device: Value, memory_format: Value, **rest: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    where = "cuda" if values.is_none(device) else arguments.device(device)
    return converted(call, input, None, False, where, True, memory_format)


@op(".numpy", "input / force=False")
def numpy(call: Call, input: Value, force: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return unranked("numpy", input.dtype)
    return copy(input, framework="numpy", device=None)


# Numbers out of tensors.


@op(".item torch.Tensor.item", "input", tensor=False)
def item(call: Call, input: Value) -> Value:
    if isinstance(input, Tensor):
        if input.elements is not None and len(input.elements) == 1:
            return values.number(input.elements[0])
        if input.dtype is not None and input.dtype in dtypes.CATEGORY:
            return Scalar(dtypes.SCALAR_KINDS[dtypes.CATEGORY[input.dtype]])
    return UNKNOWN


@op(".numel .nelement .__len__ torch.numel", "input", tensor=False)
def numel(call: Call, input: Value) -> Value:
    from tensorlint.inference import sizes as S

    shape = tensor(input).shape or ()
    if call.name.endswith("__len__"):
        return values.number(shape[0])
    return values.number(S.product(shape))


@op(".element_size .get_device .data_ptr .storage_offset", "input", tensor=False)
def a_number(call: Call, input: Value) -> Value:
    return Scalar("int")


@op(
    ".is_floating_point .is_complex torch.is_tensor .is_shared .is_pinned .is_set_to torch.is_floating_point torch.is_complex "
    "torch.allclose torch.equal .allclose .equal torch.cuda.is_available torch.is_grad_enabled",
    "*args / rtol=None atol=None equal_nan=None",
    tensor=False,
)
def a_truth(call: Call, **rest: object) -> Value:
    return Scalar("bool")


@op(".tolist", "input", tensor=False)
def tolist(call: Call, input: Value) -> Value:
    ranked = tensor(input)
    if ranked.elements is not None and len(ranked.shape or ()) == 1:
        return values.Sequence("list", [values.number(size) for size in ranked.elements])
    shape = ranked.shape or ()
    kind = None if ranked.dtype is None else dtypes.CATEGORY.get(ranked.dtype)
    element: Value = UNKNOWN if kind is None else Scalar(dtypes.SCALAR_KINDS[kind])
    for size in reversed(shape):
        element = values.Sequence("list", None, element, size)
    return element
