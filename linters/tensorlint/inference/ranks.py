"""Which numbers of axes an operation takes, and whether its result has as many: data for `demands`.

A set of ranks is a bit mask: bit n says that n axes are possible. From the documentation of torch 2.x; each entry is
compared with torch by the tests.
"""

from __future__ import annotations

import re

from tensorlint.inference.values import NONE, Const, Number, Scalar, Sequence, Slice, Tensor, Value, integer

MOST = 12  # ranks beyond this are not told apart
ANY = (1 << (MOST + 1)) - 1


def exactly(*ranks: int) -> int:
    return sum(1 << rank for rank in ranks)


def at_least(rank: int) -> int:
    return ANY & ~((1 << rank) - 1)


def shifted(mask: int, offset: int, least: int = 0) -> int:
    """The ranks of an object, where one that has `offset` more axes, but at least `least`, has a rank of `mask`."""
    if least:
        if least > MOST:
            return ANY
        # With so few axes that the bound holds, the object may have any of these ranks.
        below = (1 << (least + 1)) - 1
        mask = mask | below if mask >> least & 1 else mask & ~below
    offset = max(-MOST, min(offset, MOST))  # more than `MOST` axes are all the same here
    if offset > 0:
        return mask >> offset | (at_least(MOST - offset) if mask >> MOST else 0)
    if offset < 0:
        if mask & 1:
            return ANY  # reducing a tensor without axes leaves none
        return (mask << -offset) & ANY | (1 << MOST if mask >> (MOST + offset) else 0)
    return mask


def single(mask: int) -> int | None:
    """The rank, if only one is possible."""
    return mask.bit_length() - 1 if mask and mask & (mask - 1) == 0 and mask != 1 << MOST else None


_FOUR, _TWO_THREE, _THREE_FOUR, _FOUR_FIVE = exactly(4), exactly(2, 3), exactly(3, 4), exactly(4, 5)

# Layers of torch.nn by name.
LAYERS: dict[str, int] = {
    "BatchNorm1d": _TWO_THREE, "BatchNorm2d": _FOUR, "BatchNorm3d": exactly(5), "SyncBatchNorm": at_least(2),
    "InstanceNorm1d": _TWO_THREE, "InstanceNorm2d": _THREE_FOUR, "InstanceNorm3d": _FOUR_FIVE,
    "GroupNorm": at_least(2), "LocalResponseNorm": at_least(3), "Linear": at_least(1),
    "PixelShuffle": at_least(3), "PixelUnshuffle": at_least(3), "UpsamplingNearest2d": exactly(3, 4, 5),
    "UpsamplingBilinear2d": _FOUR,
    "LSTM": _TWO_THREE, "GRU": _TWO_THREE, "RNN": _TWO_THREE,
}  # fmt: skip
# Functions of torch and torch.nn.functional, by the last part of their name: what their first argument has.
FUNCTIONS: dict[str, int] = {
    "bmm": exactly(3), "baddbmm": exactly(3), "linear": at_least(1), "mm": exactly(2), "pixel_shuffle": at_least(3),
    "pixel_unshuffle": at_least(3), "grid_sample": _FOUR_FIVE, "unfold": _THREE_FOUR, "fold": _TWO_THREE,
}  # fmt: skip
for _spatial, _ranks in ((1, _TWO_THREE), (2, _THREE_FOUR), (3, _FOUR_FIVE)):
    for _name in (
        "Conv{}d",
        "ConvTranspose{}d",
        "MaxPool{}d",
        "AvgPool{}d",
        "AdaptiveAvgPool{}d",
        "AdaptiveMaxPool{}d",
    ):
        LAYERS[_name.format(_spatial)] = _ranks
    for _name in (
        "conv{}d",
        "conv_transpose{}d",
        "max_pool{}d",
        "avg_pool{}d",
        "adaptive_avg_pool{}d",
        "adaptive_max_pool{}d",
    ):
        FUNCTIONS[_name.format(_spatial)] = _ranks
# To one element along each of them it is a mean, which takes any axes before the last two or three.
for _spatial in (2, 3):
    LAYERS[f"AdaptiveAvgPool{_spatial}d"] = FUNCTIONS[f"adaptive_avg_pool{_spatial}d"] = at_least(_spatial)

# Layers, functions and methods that give a tensor of as many axes as their first argument.
SAME_LAYERS = re.compile(
    r"(Identity|Linear|(Lazy)?Conv(Transpose)?[123]d|(Lazy)?(Batch|Instance)Norm[123]d|SyncBatchNorm|LayerNorm|RMSNorm|GroupNorm"
    r"|LocalResponseNorm|(Alpha|FeatureAlpha)?Dropout[123]?d?|(Max|Avg|AdaptiveAvg|AdaptiveMax|LP)Pool[123]d|Upsample"
    r"|Upsampling(Nearest|Bilinear)2d|Pixel(Un)?[Ss]huffle|(Zero|Reflection|Replication|Constant|Circular)Pad[123]d|ChannelShuffle"
    r"|ReLU6?|LeakyReLU|PReLU|RReLU|ELU|CELU|SELU|GELU|SiLU|Mish|Sigmoid|Tanh|Softplus|Softsign|Softshrink|Hardshrink|Tanhshrink"
    r"|Hardtanh|Hardsigmoid|Hardswish|LogSigmoid|Threshold|Softmax|LogSoftmax|Softmin|Softmax2d)$"
)
SAME = frozenset([
    "relu", "relu6", "leaky_relu", "prelu", "rrelu", "elu", "celu", "selu", "gelu", "silu", "mish", "sigmoid",
    "logsigmoid", "tanh", "softplus", "softsign", "softshrink", "hardshrink", "tanhshrink", "hardtanh",
    "hardsigmoid", "hardswish", "threshold", "softmax", "log_softmax", "softmin", "dropout", "dropout1d",
    "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "layer_norm", "rms_norm", "group_norm",
    "batch_norm", "instance_norm", "local_response_norm", "normalize", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "pad", "interpolate", "avg_pool1d",
    "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d", "adaptive_avg_pool1d",
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "pixel_shuffle", "pixel_unshuffle", "abs", "neg", "exp",
    "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "square", "reciprocal", "sin", "cos",
    "tan", "sinh", "cosh", "asin", "acos", "atan", "erf", "erfc", "sign", "floor", "ceil", "round", "trunc",
    "frac", "nan_to_num", "isnan", "isinf", "isfinite", "logical_not", "bitwise_not", "clone", "detach",
    "contiguous", "to", "float", "half", "double", "bfloat16", "long", "int", "bool", "cuda", "cpu", "type",
    "requires_grad_", "detach_", "transpose", "swapaxes", "permute", "flip", "roll", "cumsum", "cumprod",
    "masked_fill_", "sort", "argsort", "zeros_like", "ones_like", "empty_like", "rand_like", "randn_like",
    "full_like", "tril", "triu", "narrow", "index_select", "movedim", "copy_", "fill_", "zero_", "mul_", "add_",
    "sub_", "div_", "type_as", "square_", "exp_", "clamp_", "sigmoid_", "relu_", "erfinv",
])  # fmt: skip
# Further functions of both libraries of which the result has the rank of their first argument, whatever else they are given.
_KEPT = frozenset([
    "rot90", "swapdims", "moveaxis", "diff", "constant_pad_nd", "glu", "fliplr", "flipud", "renorm",
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn",
    "fftshift", "ifftshift",
])  # fmt: skip
_KEPT_BY_NUMPY = _KEPT | {"pad", "flip", "roll", "swapaxes", "transpose", "nan_to_num", "round", "around"}


def keeps(framework: str | None, name: str) -> bool:
    """Whether the result has the rank of the first argument in any call that the function takes."""
    return (
        name in _KEPT_BY_NUMPY if framework == "numpy" else (name in _KEPT or name in SAME) and name != "type"
    )  # `x.type(None)` is a text


_AXIS_METHODS = frozenset([
    "size", "transpose", "swapaxes", "softmax", "log_softmax", "sum", "mean", "amax", "amin", "argmax",
    "argmin", "cumsum", "cumprod", "narrow", "select", "index_select", "gather", "chunk", "split", "unbind",
    "squeeze", "norm", "std", "var", "all", "any", "prod", "logsumexp", "sort", "topk", "flip", "roll",
    "unflatten", "flatten", "max", "min",
])  # fmt: skip
# Those that say how many axes there are, or that one is there.
_TELLING = _AXIS_METHODS | {"permute", "bmm", "baddbmm", "t"}
_AXIS_NAMES = ("dim", "dims", "axis", "dim0", "dim1", "start_dim")


def of_axis(axis: int) -> int:
    """The ranks that have the axis; a tensor without axes takes 0 and -1 too."""
    mask = at_least(axis + 1 if axis >= 0 else -axis)
    return mask | 1 if axis in (0, -1) else mask


def axes_named(args: list[Value]) -> int | None:
    """How many axes an array has whose `transpose` is told all of them: `x.transpose(2, 0, 1)`; None where it is not told so."""
    axes = args[0].items if len(args) == 1 and isinstance(args[0], Sequence) else args if len(args) > 2 else None
    return len(axes) if axes and len(axes) <= MOST and all(integer(axis) is not None for axis in axes) else None


def of_widths(widths: Value | None) -> int | None:
    """How many axes `np.pad` is told of, by a pair for each: `((0, 1), (0, 1), (0, 0))`. One pair is for any number of them."""
    pairs = widths.items if isinstance(widths, Sequence) else None
    if not pairs or not 1 < len(pairs) <= MOST:
        return None
    return len(pairs) if all(isinstance(pair, Sequence) and len(pair.items or ()) == 2 for pair in pairs) else None


def of_array(name: str, args: list[Value], kwargs: dict[str, Value]) -> int:
    """The ranks of what a function of numpy is given as its first argument."""
    named = None
    if name == "pad":
        named = of_widths(args[0] if args else kwargs.get("pad_width"))
    elif name == "transpose":
        axes = args[0] if args else kwargs.get("axes")
        named = None if axes is None else axes_named([axes])
    return ANY if named is None else exactly(named)


def of_method(name: str, args: list[Value], kwargs: dict[str, Value]) -> int:
    """The ranks a tensor may have whose method is called so."""
    if name not in _TELLING:
        return ANY
    if name == "permute":
        axes = args[0].items if len(args) == 1 and isinstance(args[0], Sequence) else args if len(args) > 1 else None
        if axes is not None and not kwargs and all(isinstance(axis, Const) for axis in axes):
            return exactly(len(axes)) if len(axes) <= MOST else ANY
        return ANY
    if name == "transpose" and (named := axes_named(args)) is not None:
        return exactly(named)
    if name in ("bmm", "baddbmm"):
        return exactly(3)
    if name == "t":
        return exactly(0, 1, 2)
    mask = ANY
    values = [kwargs[each] for each in _AXIS_NAMES if each in kwargs]
    if name in ("transpose", "swapaxes"):
        values += args[:2]
    elif name in ("chunk", "split", "topk", "roll", "norm"):
        values += args[1:2]
    else:
        values += args[:1]
    for value in values:
        for axis in value.items or () if isinstance(value, Sequence) else (value,):
            number = integer(axis)
            if number is not None and -MOST < number < MOST:
                mask &= of_axis(number)
    return mask


def of_index(index: Value) -> int:
    """The ranks a tensor may have that is indexed so: one axis for each number, slice and index tensor."""
    items = index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]
    if items is None:
        return ANY
    taken = 0
    for item in items:
        if isinstance(item, Slice) or integer(item) is not None:
            taken += 1
        elif isinstance(item, Tensor) and item.dtype is not None and item.dtype.startswith("int"):
            taken += 1
    return at_least(min(taken, MOST))


# The number of axes that `mode` asks for: F.interpolate and nn.Upsample refuse another.
_MODES = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


def of_resampling(size: Value | None, scale: Value | None, mode: Value | None) -> int:
    """The ranks of what F.interpolate is given: two axes more than are resampled."""
    if isinstance(mode, Const) and mode.value in _MODES:
        return exactly(_MODES[mode.value])
    for given in (size, scale):
        if isinstance(given, Sequence) and given.items is not None and 1 <= len(given.items) <= 3:
            return exactly(len(given.items) + 2)
    return exactly(3, 4, 5)


def resampled(mode: Value | None) -> int | None:
    """How many axes are resampled in the mode; None where it takes several numbers of axes."""
    return _MODES[mode.value] - 2 if isinstance(mode, Const) and mode.value in _MODES else None


def of_equation(equation: Value, operands: list[Value]) -> tuple[list[int], int] | None:
    """The ranks of einsum's operands and of its result; None where an ellipsis leaves them open."""
    if not isinstance(equation, Const) or not isinstance(equation.value, str) or "." in equation.value:
        return None
    text = equation.value.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands) or not all(letter.isalpha() for letter in "".join(terms) + output):
        return None
    if not arrow:
        output = "".join(letter for letter in set(inputs) if letter.isalpha() and inputs.count(letter) == 1)
    return [len(term) for term in terms], len(output)


# Of these the result has so many axes whatever it is made of: torch takes nothing else, or makes nothing else of it.
_OF_RESULT = {
    "dot": 0, "vdot": 0, "trace": 0, "mv": 1, "addmv": 1, "masked_select": 1, "bincount": 1, "histc": 1, "mm": 2, "addmm": 2,
    "outer": 2, "ger": 2, "addr": 2, "bmm": 3, "baddbmm": 3,
}  # fmt: skip


def of_result(name: str, args: list[Value], kwargs: dict[str, Value]) -> int | None:
    """The rank of a torch function's or method's result whatever the first operand's; `args` are those behind it."""
    if name == "repeat":
        if len(args) == 1 and isinstance(args[0], Sequence):
            return None if args[0].items is None else len(args[0].items)
        fits = args and not kwargs and all(isinstance(arg, (Const, Number, Scalar)) for arg in args)
        return len(args) if fits or len(args) > 1 else None
    if name in _OF_RESULT:
        return _OF_RESULT[name]
    if name in ("flatten", "ravel"):
        return None if args or kwargs else 1
    if name in ("nonzero", "argwhere"):
        return None if args or kwargs else 2
    if name == "unique":
        return None if args or not kwargs.keys() <= {"sorted"} else 1
    if name == "repeat_interleave":
        return 1 if len(args) == 1 and not kwargs else None
    if name == "broadcast_to":
        shape = args[0] if len(args) == 1 else None
        return len(shape.items) if isinstance(shape, Sequence) and shape.items is not None else None
    return None


_REDUCTIONS = frozenset(
    {"sum", "mean", "amax", "amin", "argmax", "argmin", "prod", "any", "all", "logsumexp", "std", "var"}
)


_OPTIONS = frozenset(["dim", "axis", "keepdim", "keepdims", "dtype"])
# Methods without arguments that keep the number of axes.
_PLAIN = frozenset([
    "float", "half", "double", "bfloat16", "long", "int", "bool", "clone", "detach", "cpu", "cuda", "abs", "exp", "log", "sqrt",
    "sigmoid", "tanh",
])  # fmt: skip


def is_of_receiver(name: str, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether what an object nobody knows is called with leaves no operand but itself: `xp.sum(x, axis=1)`, of a module
    of functions, reduces another one."""
    if name in _PLAIN:
        return not args and not kwargs
    if name not in _REDUCTIONS or not kwargs.keys() <= _OPTIONS:
        return False
    axes = [each for value in args for each in ((value.items or ()) if isinstance(value, Sequence) else (value,))]
    return all(isinstance(axis, Const) for axis in axes)


def change(name: str, args: list[Value], kwargs: dict[str, Value], path: str = "") -> int | None:
    """How many axes the result has more than the first operand; None where the call does not tell.

    `args` are those behind the first operand; `path` is the function's.
    """
    if name in SAME or name == "from_numpy":
        return 0
    if name in ("unsqueeze", "one_hot", "embedding", "diag_embed", "view_as_real", "fold"):
        return 1
    if name in ("select", "diagonal", "view_as_complex"):
        return -1
    if name == "unfold":
        return -1 if path == "torch.nn.functional.unfold" else 1
    if name in _OF_NUMBERS:
        return 0 if all(_is_number(value) for value in (*args, *kwargs.values())) else None
    if name == "linear":
        weight = args[0] if args else kwargs.get("weight")
        return 0 if isinstance(weight, Tensor) and weight.shape is not None and len(weight.shape) == 2 else None
    if name in _ALONG:
        return 0 if integer(kwargs.get("dim", args[1] if len(args) > 1 else NONE)) is not None else None
    if name == "flatten":
        return _flattened(*args[:2], **kwargs)
    if name == "unflatten":
        sizes = args[1] if len(args) > 1 else kwargs.get("sizes")
        return len(sizes.items) - 1 if isinstance(sizes, Sequence) and sizes.items else None
    if name in _REDUCTIONS:
        second = args[1] if len(args) == 2 and name not in ("std", "var") else None
        kept = kwargs.get("keepdim", kwargs.get("keepdims", second))
        if isinstance(kept, Const) and kept.value is True:
            return 0
        axis = kwargs.get("dim", kwargs.get("axis", args[0] if args else None))
        if isinstance(axis, Sequence) and axis.items and all(integer(item) is not None for item in axis.items):
            gone = len(axis.items)
        elif axis is not None and integer(axis) is not None:
            gone = 1
        else:
            return None
        if len(args) > 1 and kept is None:
            return None
        if kept is None:
            return -gone
        return {True: 0, False: -gone}.get(kept.value) if isinstance(kept, Const) else None
    return None


# Elementwise operations on one tensor and numbers, and those that work along the axis they are told.
_OF_NUMBERS = frozenset(
    {"pow", "clamp", "clip", "clamp_min", "clamp_max", "mul", "add", "sub", "div", "type_as", "triu_", "tril_"}
)
_ALONG = frozenset({"repeat_interleave"})


def _is_number(value: Value) -> bool:
    return isinstance(value, (Number, Scalar)) or (isinstance(value, Const) and not isinstance(value.value, str))


def _flattened(start_dim: Value | None = None, end_dim: Value | None = None) -> int | None:
    first, last = (None if each is None else integer(each) for each in (start_dim, end_dim))
    if first is None or (end_dim is not None and last is None):
        return None
    last = -1 if last is None else last
    return first - last if (first < 0) == (last < 0) and first < last else None


# Functions that return several tensors, each of as many axes as their input has: how many, or None.
SEVERAL: dict[str, int | None] = {
    "sort": 2, "topk": 2, "kthvalue": 2, "chunk": None, "split": None, "tensor_split": None, "unbind": None,
    "max": 2, "min": 2, "median": 2, "cummax": 2, "cummin": 2, "split_with_sizes": None,
}  # fmt: skip


def change_of_several(name: str, args: list[Value], kwargs: dict[str, Value]) -> int | None:
    """How many axes each of the results has more than the first operand; None where the call does not tell."""
    if name == "unbind":
        return -1
    if name == "kthvalue":
        return None
    if name in ("max", "min", "median"):
        if "dim" in kwargs and not args:  # which is one axis
            kwargs = {**kwargs, "dim": Const(0)}
        return change("amax", args, kwargs)
    return 0


def change_of_index(index: Value) -> int | None:
    items = index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]
    if items is None:
        return None
    total = 0
    tensors = 0
    for item in items:
        if isinstance(item, Const) and item.value is None:
            total += 1
        elif integer(item) is not None or isinstance(item, Number):
            total -= 1
        elif isinstance(item, Tensor) and item.shape is not None and item.dtype is not None:
            # One tensor of indices puts its own axes in the place of the one it picks from.
            tensors += 1
            total += len(item.shape) - 1 if item.dtype.startswith("int") else 1 - len(item.shape)
            if tensors > 1 or not (item.dtype.startswith("int") or item.dtype == "bool"):
                return None
        elif not isinstance(item, Slice) and not (isinstance(item, Const) and item.value is Ellipsis):
            return None
    return total
