"""torch's constructors."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments, dtypes, ranges
from tensorlint.inference.ops.elementwise import is_plain
from tensorlint.inference.ops.literals import elements_of, leaf_dtype, nested
from tensorlint.inference.ops.results import (
    LASTING,
    RAMP,
    SPELLED,
    fresh,
    laid,
    literal_marks,
    rank_one,
    spelled_out,
    tuple_of,
    unplaced,
    unranked,
)
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    SCALAR,
    UNKNOWN,
    Const,
    Library,
    Opaque,
    Scalar,
    Sequence,
    Tensor,
    Value,
    hold_elements,
)

# Keywords of constructors that say nothing about shape, dtype or device.
PLACED = "dtype=None device=None layout=None requires_grad=False pin_memory=False memory_format=None"


def chosen(dtype: Value, otherwise: str | None) -> str | None:
    return otherwise if values.is_none(dtype) else dtypes.named(dtype, "torch")


def placed(call: Call, device: Value) -> str | None:
    return call.default_device if values.is_none(device) else arguments.device(device)


def created(call: Call, shape: Shape, dtype: str | None, device: str | None) -> Tensor:
    return rank_one(
        call,
        fresh(call, "torch", shape, dtype, device, marks=literal_marks(shape), how=spelled_out(call, shape)),
    )


def sizes_told(size: list[Value]) -> Shape:
    """A shape given as one tuple or as separate integers; what is an int or None is one here, and so is what a tuple has no
    operator for, of which torch takes no array either."""
    only = size[0] if len(size) == 1 else None
    if isinstance(only, Opaque) and (only.integer or only.single or only.told == "int" or only.kind == SCALAR):
        return (arguments.count(only),)
    return arguments.shape(size)


def unknown_created(call: Call, dtype: Value, device: Value, otherwise: str | None) -> Tensor:
    return unranked("torch", chosen(dtype, otherwise), placed(call, device))


_FILLED = f"*size / out=None names=None generator=None {PLACED}"


@op("torch.zeros torch.ones torch.empty torch.rand torch.randn", _FILLED)
def filled(call: Call, size: list[Value], dtype: Value, device: Value, memory_format: Value, **rest: Value) -> Value:
    try:
        shape = sizes_told(size)
    except Undecided:
        return unknown_created(call, dtype, device, call.default_dtype)
    result = created(call, shape, chosen(dtype, call.default_dtype), placed(call, device))
    return formatted(result, memory_format)


def formatted(result: Tensor, memory_format: Value) -> Tensor:
    if values.is_none(memory_format):
        return result
    result.strides = in_format(result.shape or (), memory_format, result.strides)
    return result


def in_format(shape: Shape, memory_format: Value, preserved: Strides | None) -> Strides | None:
    """Strides of a fresh tensor in the memory format that an argument names."""
    if values.is_none(memory_format):
        return preserved
    if not isinstance(memory_format, Library):
        return None
    name = memory_format.path.rpartition(".")[2]
    if name == "contiguous_format":
        return layout.contiguous(shape)
    if name == "preserve_format":
        return preserved
    if (name, len(shape)) in (("channels_last", 4), ("channels_last_3d", 5)):
        return layout.channels_last(shape)
    return None


@op("torch.full", f"size fill_value / out=None names=None {PLACED}")
def full(call: Call, size: Value, fill_value: Value, dtype: Value, device: Value, **rest: Value) -> Value:
    kind = dtypes.of_scalar(fill_value)
    inferred = None
    if kind is not None:
        inferred = ("bool", "int64", call.default_dtype, dtypes.complex_of(call.default_dtype))[kind]
    return created(call, arguments.shape([size]), chosen(dtype, inferred), placed(call, device))


@op("torch.randint", f"*bounds / low=None high=None size=None out=None generator=None {PLACED}")
def randint(
    call: Call, bounds: list[Value], low: Value, high: Value, size: Value, dtype: Value, device: Value, **rest: Value
) -> Value:
    if values.is_none(size):
        positional = len(bounds) + (not values.is_none(low)) + (not values.is_none(high))
        if positional not in (2, 3) or not bounds:
            raise Undecided
        size = bounds[-1]
    return created(call, arguments.shape([size]), chosen(dtype, "int64"), placed(call, device))


@op("torch.normal", f"mean std=1.0 size=None / out=None generator=None {PLACED}")
def normal(call: Call, mean: Value, std: Value, size: Value, dtype: Value, device: Value, **rest: Value) -> Value:
    if not values.is_none(size):
        return created(call, arguments.shape([size]), chosen(dtype, call.default_dtype), placed(call, device))
    from tensorlint.inference.ops.elementwise import elementwise

    result = elementwise(call, [mean, std], kind="float", framework="torch")
    if isinstance(result, Tensor):
        result.strides = None if result.shape else result.strides
        if any(isinstance(one, Tensor) and one.dtype != result.dtype for one in (mean, std)):
            result.dtype = None
    return result


@op("torch.arange torch.range", f"start end=None step=1 / out=None {PLACED}")
def arange(call: Call, start: Value, end: Value, step: Value, dtype: Value, device: Value, **rest: Value) -> Value:
    if values.is_none(end):
        start, end = Const(0), start
    size = ranges.length(start, end, step)
    if call.name.endswith("range") and not call.name.endswith("arange"):
        first, last, pace = (values.integer(value) for value in (start, end, step))
        # The end is a part of it.
        size = S.symbol() if first is None or last is None or not pace else max((last - first) // pace, 0) + 1
        inferred: str | None = call.default_dtype
    else:
        kinds = [dtypes.of_scalar(value) for value in (start, end, step)]
        if None in kinds:
            inferred = None
        else:
            inferred = (
                "int64" if all(kind is not None and kind <= dtypes.INTEGER for kind in kinds) else call.default_dtype
            )
    ends = [values.size_of(one) for one in (start, end, step)]
    if not values.is_none(dtype) and not all(isinstance(one, int) for one in ends):
        # Ends are converted to the type first; a size fits into int64 as it is.
        wanted = chosen(dtype, None)
        kept = dtypes.is_floating(wanted) or (wanted == "int64" and None not in ends)
        size = size if kept else S.counter()
    return laid(call, "torch", (size,), (1,), chosen(dtype, inferred), placed(call, device), marks=RAMP)


@op("torch.linspace torch.logspace", f"start end steps base=10.0 / out=None {PLACED}")
def linspace(call: Call, start: Value, end: Value, steps: Value, dtype: Value, device: Value, **rest: Value) -> Value:
    real = all(_is_real(one) for one in (start, end))
    name = chosen(dtype, call.default_dtype if real else None)
    return laid(call, "torch", (arguments.count(steps),), (1,), name, placed(call, device), marks=RAMP)


def _is_real(value: Value) -> bool:
    """Whether an end of a range is a real number: a tensor or a complex number would bring its own type."""
    if isinstance(value, Const):
        return isinstance(value.value, (int, float))
    return (
        isinstance(value, values.Number) or is_plain(value) or (isinstance(value, Scalar) and value.kind != "complex")
    )


@op("torch.randperm", f"n / out=None generator=None {PLACED}")
def randperm(call: Call, n: Value, dtype: Value, device: Value, **rest: Value) -> Value:
    return laid(call, "torch", (arguments.count(n),), (1,), chosen(dtype, "int64"), placed(call, device))


@op("torch.eye", f"n m=None / out=None {PLACED}")
def eye(call: Call, n: Value, m: Value, dtype: Value, device: Value, **rest: Value) -> Value:
    rows = arguments.count(n)
    columns = rows if values.is_none(m) else arguments.count(m)
    return fresh(call, "torch", (rows, columns), chosen(dtype, call.default_dtype), placed(call, device))


@op("torch.tril_indices torch.triu_indices", f"row col offset=0 / {PLACED}")
def triangle_indices(
    call: Call, row: Value, col: Value, offset: Value, dtype: Value, device: Value, **rest: Value
) -> Value:
    return fresh(call, "torch", (2, S.counter()), chosen(dtype, "int64"), placed(call, device))


_WINDOWS = "torch.hann_window torch.hamming_window torch.blackman_window torch.bartlett_window torch.kaiser_window"


@op(_WINDOWS, f"window_length periodic=True alpha=None beta=None / {PLACED}")
def window(call: Call, window_length: Value, dtype: Value, device: Value, **rest: Value) -> Value:
    length = arguments.count(window_length)
    return laid(call, "torch", (length,), (1,), chosen(dtype, call.default_dtype), placed(call, device))


@op(" ".join(f"torch.signal.windows.{name}" for name in (
    ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser", "nuttall"])),
    f"M / a=None alpha=None beta=None center=None std=None tau=None sym=True {PLACED}")  # fmt: skip
def signal_window(call: Call, M: Value, dtype: Value, device: Value, **rest: Value) -> Value:
    length = arguments.count(M)
    where = placed(call, device)
    return laid(call, "torch", (length,), (1,), chosen(dtype, call.default_dtype), where)


# From data.


@op("torch.tensor", f"data / {PLACED}")
def from_literal(call: Call, data: Value, dtype: Value, device: Value, **rest: Value) -> Value:
    if isinstance(data, Tensor):
        if data.shape is None:
            return unranked("torch", chosen(dtype, data.dtype), placed(call, device))
        kept = layout.preserve(data.shape, data.strides)
        where = data.device if values.is_none(device) and data.framework == "torch" else placed(call, device)
        return laid(call, "torch", data.shape, kept, chosen(dtype, data.dtype), where, how=data.how, marks=data.marks)
    number = isinstance(data, Opaque) and (data.integer or data.told in ("int", "real"))
    if not number and not isinstance(data, (Const, values.Number, values.Scalar, Sequence, values.Range)):
        return unknown_created(call, dtype, device, None)
    try:
        shape, leaves = nested(data, numbers=True)
    except Undecided:
        return unknown_created(call, dtype, device, None)
    scalars = leaves is not None and not any(isinstance(leaf, Tensor) for leaf in leaves)
    inferred = leaf_dtype(leaves, "torch", call.default_dtype) if scalars else None
    result = created(call, shape, chosen(dtype, inferred), placed(call, device))
    hold_elements(result, elements_of(data))
    return result


@op("torch.as_tensor torch.asarray", f"data / copy=None {PLACED}")
def as_tensor(call: Call, data: Value, dtype: Value, device: Value, copy: Value, **rest: Value) -> Value:
    if not isinstance(data, Tensor):
        return from_literal(call, data, dtype, device)
    if data.shape is None:
        return unranked("torch", chosen(dtype, data.dtype), placed(call, device))
    name = chosen(dtype, data.dtype)
    strides = data.strides
    dense = layout.preserve(data.shape, data.strides)
    if data.framework == "numpy" and 0 in data.shape:
        strides = None  # numpy's own for arrays without elements
    if strides != dense and not (
        name is not None and name == data.dtype and values.is_none(device) and values.is_none(copy)
    ):
        strides = None
    where = data.device if values.is_none(device) and data.framework == "torch" else placed(call, device)
    return laid(call, "torch", data.shape, strides, name, where, how=data.how, marks=data.marks)


@op("torch.frombuffer", "buffer / dtype=None count=-1 offset=0 requires_grad=False")
def frombuffer(call: Call, dtype: Value, count: Value, **rest: Value) -> Value:
    number = values.integer(count)
    size = S.symbol() if number is None or number < 0 else number
    return laid(call, "torch", (size,), (1,), dtypes.named(dtype, "torch"), "cpu")


@op("torch.get_default_dtype", "", tensor=False)
def get_default_dtype(call: Call) -> Value:
    if call.default_dtype is None:
        raise Undecided
    return Library(f"torch.{call.default_dtype}")


@op(".new", "input *args / device=None")
def new(call: Call, input: Value, args: list[Value], device: Value) -> Value:
    """An old constructor of the receiver's type."""
    dtype = input.dtype if isinstance(input, Tensor) else None
    where = input.device if isinstance(input, Tensor) and values.is_none(device) else None
    if not args or not all(isinstance(arg, (Const, values.Number)) for arg in args):
        return unranked("torch", dtype, where)
    return created(call, tuple(arguments.count(arg) for arg in args), dtype, where)


@op("torch.from_numpy", "ndarray")
def from_numpy(call: Call, ndarray: Value) -> Value:
    if not isinstance(ndarray, Tensor):
        raise Undecided
    if ndarray.shape is None:
        return unranked("torch", ndarray.dtype, "cpu")
    strides = None if 0 in ndarray.shape else ndarray.strides  # without elements they are numpy's own
    return laid(call, "torch", ndarray.shape, strides, ndarray.dtype, "cpu", how=ndarray.how, marks=ndarray.marks)


# Like another tensor.


@op(
    "torch.zeros_like torch.ones_like torch.empty_like torch.rand_like torch.randn_like",
    f"input / generator=None {PLACED}",
)
def like(call: Call, input: Value, dtype: Value, device: Value, memory_format: Value, **rest: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    where = input.device if values.is_none(device) else arguments.device(device)
    if input.shape is None:
        return unranked("torch", chosen(dtype, input.dtype), where)
    strides = in_format(input.shape, memory_format, layout.preserve(input.shape, input.strides))
    return laid(call, "torch", input.shape, strides, chosen(dtype, input.dtype), where, marks=input.marks & LASTING)


@op("torch.full_like", f"input fill_value / {PLACED}")
def full_like(call: Call, input: Value, fill_value: Value, **rest: Value) -> Value:
    return like(call, input, **rest)


@op("torch.randint_like", f"input low=0 high=None / {PLACED}")
def randint_like(call: Call, input: Value, low: Value, high: Value, **rest: Value) -> Value:
    return like(call, input, **rest)


@op("torch.poisson", "input generator=None")
def poisson(call: Call, input: Value, **rest: Value) -> Value:
    ranked = tensor(input)
    return fresh(call, "torch", ranked.shape or (), ranked.dtype, ranked.device)


@op("torch.bernoulli .bernoulli", "input p=None / generator=None out=None")
def bernoulli(call: Call, input: Value, p: Value, **rest: Value) -> Value:
    ranked = tensor(input)
    return fresh(call, "torch", ranked.shape or (), ranked.dtype, ranked.device)


@op(".new_zeros .new_ones .new_empty", f"input *size / {PLACED}")
def new_filled(call: Call, input: Value, size: list[Value], dtype: Value, device: Value, **rest: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    where = input.device if values.is_none(device) else arguments.device(device)
    shape = sizes_told(size)
    return fresh(call, "torch", shape, chosen(dtype, input.dtype), where, marks=literal_marks(shape))


@op(".new_full", f"input size fill_value / {PLACED}")
def new_full(
    call: Call, input: Value, size: Value, fill_value: Value, dtype: Value, device: Value, **rest: Value
) -> Value:
    return new_filled(call, input, [size], dtype, device)


@op(".new_tensor", f"input data / {PLACED}")
def new_tensor(call: Call, input: Value, data: Value, dtype: Value, device: Value, **rest: Value) -> Value:
    result = from_literal(call, data, dtype, device)
    if isinstance(result, Tensor):
        if values.is_none(device):
            result.device = input.device if isinstance(input, Tensor) else None
        if values.is_none(dtype):
            # What is given takes the receiver's type, a list of floats too.
            result.dtype = input.dtype if isinstance(input, Tensor) else None
    return result


# Combinations.


@op("torch.meshgrid", "*tensors / indexing='ij'", tensor=False)
def meshgrid(call: Call, tensors: list[Value], indexing: Value) -> Value:
    if len(tensors) == 1 and isinstance(tensors[0], Sequence):
        if tensors[0].items is None:
            raise Undecided
        tensors = tensors[0].items
    # Each has one axis, or none, which counts as one: the result has as many axes as there are tensors.
    ranked = [item if isinstance(item, Tensor) else Tensor("torch") for item in tensors]
    if not isinstance(indexing, Const):
        raise Undecided
    axes = list(range(len(ranked)))
    if indexing.value == "xy" and len(ranked) > 1:
        axes[0], axes[1] = 1, 0
    lengths: list[Size] = []
    for item in ranked:
        if len(item.shape or ()) > 1:
            raise Undecided
        lengths.append(S.symbol() if item.shape is None else item.shape[0] if item.shape else 1)
    shape = [lengths[axes.index(position)] for position in range(len(ranked))]
    results: list[Value] = []
    for number, item in enumerate(ranked):
        place = axes[number]
        own = item.strides[0] if item.strides else 1 if item.strides is not None else None
        strides: Strides | None = None
        if own is not None and not any(size == 1 for size in shape):
            strides = tuple(own if axis == place else 0 for axis in range(len(shape)))
        results.append(Tensor("torch", tuple(shape), strides, item.dtype, item.device, call.node, None, SPELLED))
    return tuple_of(results)


@op("torch.cartesian_prod", "*tensors")
def cartesian_prod(call: Call, tensors: list[Value]) -> Value:
    ranked = [tensor(item) for item in tensors]
    if any(len(item.shape or ()) != 1 for item in ranked):
        raise Undecided
    if len(ranked) == 1:
        return ranked[0]
    sizes = [(item.shape or (1,))[0] for item in ranked]
    return unplaced(call, "torch", (S.product(sizes), len(ranked)), ranked[0].dtype, ranked[0].device)


@op("torch.complex torch.polar", "real imag / out=None")
def complex_of(call: Call, real: Value, imag: Value, out: Value) -> Value:
    from tensorlint.inference.ops.elementwise import elementwise

    result = elementwise(call, [real, imag], framework="torch")
    if isinstance(result, Tensor):
        result.dtype = dtypes.complex_of(result.dtype)
    return result


@op("torch.device torch.Generator torch.manual_seed", "*args / index=None type=None device=None", tensor=False)
def unknown(call: Call, **rest: object) -> Value:
    return UNKNOWN
