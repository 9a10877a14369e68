"""Making results: the tensor a call returns, its marks, device and trail."""

from __future__ import annotations

from collections.abc import Iterable

from tensorlint.inference import layout
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import dtypes
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.values import UNKNOWN, Framework, Scalar, Sequence, Tensor, Value, copy, number

NO_MARKS: frozenset[str] = frozenset()
# What an elementwise operation passes on, and what slicing passes on while a size-1 axis survives.
LASTING = frozenset({"spelled", "reshaped", "literal", "column", "squeezed", "kept", "dropped"})
AXIS_MARKS = frozenset({"spelled", "reshaped", "literal", "column", "kept"})
SPELLED = frozenset({"spelled"})
KEPT = SPELLED | {"kept"}
RESHAPED = frozenset({"reshaped"})
LITERAL = frozenset({"literal"})
COLUMN = frozenset({"column"})
COORDINATE = frozenset({"coordinate"})
RAMP = COORDINATE | {"ramp"}
ITEM = frozenset({"item"})
REDUCTION = frozenset({"reduction"})
DROPPED = frozenset({"dropped"})
MAGNITUDE = frozenset({"magnitude"})
RETYPED = frozenset({"retyped"})
NUMERIC = frozenset({"numeric"})
# With the axes behind it: along these an expanded tensor repeats its elements, of whose other strides nothing is known.
REPEATS = "repeats:"


def numeric(framework: Framework | None, dtype: str | None, tensors: Iterable[Tensor]) -> frozenset[str]:
    """The mark of an array that is computed of numbers, if its type is not known: an integer's or a float's."""
    if dtype is not None or framework != "numpy":
        return NO_MARKS
    known = all("numeric" in each.marks if each.dtype is None else each.dtype in dtypes.CATEGORY for each in tensors)
    return NUMERIC if known else NO_MARKS


def short(name: str) -> str:
    """A dotted path as people write it: `F.relu`, `np.zeros`, `nn.Linear`."""
    if name.startswith("torch.nn.functional."):
        return "F." + name[20:]
    if name.startswith("torch.nn."):
        return name[6:]
    if name.startswith("numpy."):
        return "np." + name[6:]
    return name


def fresh(
    call: Call,
    framework: Framework | None,
    shape: Shape,
    dtype: str | None,
    device: str | None = None,
    *,
    marks: frozenset[str] = NO_MARKS,
    how: str | None = None,
) -> Tensor:
    """A new contiguous tensor."""
    return Tensor(framework, shape, layout.contiguous(shape), dtype, device, call.node, how, marks)


def unplaced(
    call: Call,
    framework: Framework | None,
    shape: Shape,
    dtype: str | None,
    device: str | None = None,
    *,
    marks: frozenset[str] = NO_MARKS,
) -> Tensor:
    """A new tensor whose layout is not known; up to one axis longer than 1 there is only one layout... of interest."""
    return Tensor(framework, shape, () if not shape else None, dtype, device, call.node, None, marks)


def laid(
    call: Call,
    framework: Framework | None,
    shape: Shape,
    strides: Strides | None,
    dtype: str | None,
    device: str | None = None,
    *,
    marks: frozenset[str] = NO_MARKS,
    how: str | None = None,
) -> Tensor:
    return Tensor(framework, shape, strides, dtype, device, call.node, how, marks)


def seen(
    call: Call,
    tensor: Tensor,
    shape: Shape,
    strides: Strides | None,
    *,
    marks: frozenset[str] | None = None,
    words: str | None = None,
    how: str | None = None,
) -> Tensor:
    """A view of `tensor`. `words` says what happened to the order of strides, if something did."""
    trail = tensor.layout_trail
    if words is not None and call.node is not None:
        trail = (*trail[-3:], (call.node, words))
    if marks is None:
        marks = surviving(tensor.marks, shape)
    return Tensor(
        tensor.framework, shape, strides, tensor.dtype, tensor.device, call.node, how, marks, layout_trail=trail
    )


def permuted(call: Call, given: Tensor, order: tuple[int, ...], words: str) -> Tensor:
    """A view with the axes in another order; Undecided where `order` does not name every axis once."""
    shape = given.shape or ()
    if sorted(order) != list(range(len(shape))):
        raise Undecided
    strides = None if given.strides is None else tuple(given.strides[axis] for axis in order)
    changed = order != tuple(range(len(shape)))
    return seen(
        call,
        given,
        tuple(shape[axis] for axis in order),
        strides,
        marks=surviving(given.marks, shape),
        words=words if changed else None,
    )


def lasting(marks: frozenset[str]) -> frozenset[str]:
    """The marks an elementwise operation passes on; with them `outer:` and `part:`, which say that a row met a column, and
    that of the numbers themselves, which `zeros_like` does not take over with the shape."""
    return frozenset(mark for mark in marks if mark in LASTING or mark in RAMP or mark.startswith(("outer:", "part:")))


def surviving(marks: frozenset[str], shape: Shape) -> frozenset[str]:
    """Marks that outlive an operation which keeps some of the axes."""
    if not marks:
        return marks
    kept = lasting(marks) - DROPPED
    if kept & AXIS_MARKS and 1 not in shape:
        kept -= AXIS_MARKS
    return kept


def unranked(framework: Framework | None, dtype: str | None = None, device: str | None = None) -> Tensor:
    """A tensor of which not even the rank is known."""
    return Tensor(framework, None, None, dtype, device)


def common_framework(values: Iterable[Value]) -> Framework | None:
    for value in values:
        if isinstance(value, Tensor) and value.framework is not None:
            return value.framework
    return None


def common_device(values: Iterable[Value]) -> str | None:
    """The device of a result: operands live on one device, except that a 0-dim tensor of the host's may meet another's."""
    found: str | None = None
    zero: str | None = None
    unsure = False
    for value in values:
        if not isinstance(value, Tensor):
            continue
        if value.device is None:
            unsure = True
        elif value.shape == () or (value.shape is None and value.device == "cpu"):
            zero = value.device if zero is None or zero == "cpu" else zero
        elif found is None:
            found = value.device
        elif found != value.device:
            return None
    return found or (None if unsure and zero == "cpu" else zero)


def tuple_of(items: Iterable[Value]) -> Sequence:
    return Sequence("tuple", list(items))


def list_of(items: Iterable[Value]) -> Sequence:
    return Sequence("list", list(items))


def lists_of(given: Tensor) -> Value:
    """`x.tolist()`: numbers in lists within one another."""
    shape = given.shape or ()
    if given.elements is not None and len(shape) == 1:
        return list_of(number(size) for size in given.elements)
    kind = None if given.dtype == "uint64" else dtypes.CATEGORY.get(given.dtype or "")
    made: Value = UNKNOWN if kind is None else Scalar(dtypes.SCALAR_KINDS[kind])
    for axis in reversed(range(len(shape))):
        made = list_of(()) if shape[axis] == 0 else Sequence("list", None, made, shape[axis], shared=axis > 0)
    return made


def rank_one(call: Call, tensor: Tensor) -> Tensor:
    """Tell of an array that was created with one axis."""
    if tensor.shape is not None and len(tensor.shape) == 1:
        call.report("rank_one_creation", tensor=tensor)
    return tensor


def literal_marks(shape: Shape) -> frozenset[str]:
    return LITERAL if 1 in shape else NO_MARKS


# Constructors that are given their sizes one by one; the others are given a tuple.
_SIZE_BY_SIZE = frozenset({"rand", "randn", "new", "Tensor"})
_OF_TORCH_TOO = frozenset({"zeros", "ones", "empty"})
# Those whose first argument is the shape, and those that need nothing but `size`.
_SHAPE_FIRST = frozenset({"zeros", "ones", "empty", "full"})
_SIZE_ALONE = frozenset({"random", "random_sample", "standard_normal", "normal", "uniform"})


def spelled_out(call: Call, shape: Shape) -> str | None:
    """How a constructor's result is told in a message, with its sizes, so that it could be written: `torch.randn(4, 1)`,
    `np.zeros((4, 1))`, `np.random.normal(size=(4, 1))`. None of one that is given no sizes."""
    name, told = short(call.name), ", ".join(map(S.show, shape))
    last = name.rpartition(".")[2]
    if last == "tensor":
        return None
    is_torch = call.name.startswith("torch.")
    if last in _SIZE_BY_SIZE or (is_torch and (last in _OF_TORCH_TOO or last.endswith("Tensor"))):
        return f"{name}({told})"
    if len(shape) != 1:
        told = f"({told})"
    if last in _SHAPE_FIRST:
        return f"{name}({told}{', ...' if last == 'full' else ''})"
    alone = last in _SIZE_ALONE and not is_torch
    return f"{name}({'' if alone else '..., '}size={told})"


def relabel(tensor: Tensor, dtype: str | None) -> Tensor:
    return copy(tensor, dtype=dtype)
