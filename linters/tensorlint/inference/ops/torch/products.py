"""Products of torch: matmul, einsum, tensordot, outer, kron."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import arguments, dtypes, products
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.elementwise import elementwise
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.reducing import marked_reduction
from tensorlint.inference.ops.results import SPELLED, common_device, fresh, unplaced, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.values import Const, Sequence, Tensor, Value, copy


@op("matmul linalg.matmul", "input other / out=None")
def matmul(call: Call, input: Value, other: Value, out: Value) -> Value:
    return products.matmul(call, input, other, "torch.matmul")


@op("mm bmm mv dot vdot inner", "input other / out_dtype=None out=None dim=-1")
def product(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    name = call.name.rpartition(".")[2]
    products.vector_product(call, input, other)
    _, (a, b) = products.operands(call, input, other)
    dtype = products.common_dtype(call, "torch", [a, b])
    if not values.is_none(rest["out_dtype"]):
        dtype = dtypes.named(rest["out_dtype"], "torch")
    device = common_device([a, b])
    ranks = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1), "vdot": (1, 1)}.get(name)
    if ranks is None:
        return inner(call, a, b, dtype)
    if a.shape is None or b.shape is None:
        if a.shape is not None and len(a.shape) == ranks[0] and len(b.axes or {}) == 0:
            b_shape: Shape = tuple(S.symbol() for _ in range(ranks[1]))
            return _product(call, a.shape, b_shape, dtype, device)
        if b.shape is not None and len(b.shape) == ranks[1]:
            return _product(call, tuple(S.symbol() for _ in range(ranks[0])), b.shape, dtype, device)
        return _product(
            call, tuple(S.symbol() for _ in range(ranks[0])), tuple(S.symbol() for _ in range(ranks[1])), dtype, device
        )
    if (len(a.shape), len(b.shape)) != ranks:
        raise Undecided
    products.rank_one_product(call, a, b, f"torch.{name}")
    return _product(call, a.shape, b.shape, dtype, device)


@op("linalg.vecdot", "x y / dim=-1 out=None")
def vecdot(call: Call, x: Value, y: Value, dim: Value, out: Value) -> Value:
    """The products along an axis, summed; the other axes broadcast."""
    a, b = tensor(x), tensor(y)
    whole = broadcast(a.shape or (), b.shape or ())
    at = arguments.axis(dim, len(whole))
    if not whole:
        raise Undecided
    dtype = products.common_dtype(call, "torch", [a, b])
    return unplaced(call, "torch", (*whole[:at], *whole[at + 1 :]), dtype, common_device([a, b]))


def _product(call: Call, a: Shape, b: Shape, dtype: str | None, device: str | None) -> Tensor:
    if len(a) == 3:
        agree(a[2], b[1])
        shape: Shape = (agree(a[0], b[0]), a[1], b[2])
    else:
        shape = products.matmul_shape(a, b)
    return fresh(call, "torch", shape, dtype, device)


def inner(call: Call, a: Tensor, b: Tensor, dtype: str | None) -> Value:
    if a.shape is None or b.shape is None:
        return unranked("torch", dtype)
    if not a.shape or not b.shape:
        return elementwise(call, [a, b], framework="torch")
    agree(a.shape[-1], b.shape[-1])
    return fresh(call, "torch", (*a.shape[:-1], *b.shape[:-1]), dtype, common_device([a, b]))


@op("addmm addbmm baddbmm addmv addr", "input mat1 mat2 / beta=1 alpha=1 out=None out_dtype=None")
def addmm(call: Call, input: Value, mat1: Value, mat2: Value, **rest: Value) -> Value:
    name = call.name.rpartition(".")[2].rstrip("_")
    a, b = tensor(mat1), tensor(mat2)
    left, right = a.shape or (), b.shape or ()
    if name == "addr":
        shape: Shape = (*left, *right)
    elif name == "addbmm":
        shape = (left[1], right[2])
    elif name == "baddbmm":
        shape = (agree(left[0], right[0]), left[1], right[2])
    else:
        shape = products.matmul_shape(left, right)
    if name == "addr":
        return unplaced(call, "torch", shape, None, a.device)
    return fresh(call, "torch", shape, a.dtype, a.device)


@op("outer ger linalg.outer", "input vec2 / out=None")
def outer(call: Call, input: Value, vec2: Value, out: Value) -> Value:
    a, b = tensor(input), tensor(vec2)
    if len(a.shape or ()) != 1 or len(b.shape or ()) != 1:
        raise Undecided
    shape = (*(a.shape or ()), *(b.shape or ()))
    dtype = dtypes.torch_result([a, b], call.default_dtype)
    return fresh(call, "torch", shape, dtype, common_device([a, b]), marks=SPELLED)


@op("torch.einsum", "equation *operands")
def einsum(call: Call, equation: Value, operands: list[Value]) -> Value:
    if not isinstance(equation, Const) or not isinstance(equation.value, str):
        raise Undecided
    if len(operands) == 1 and isinstance(operands[0], Sequence) and operands[0].items is not None:
        operands = operands[0].items
    items = [tensor(item) for item in operands]
    shape, terms, output = products.einsum_shape(equation.value, [item.shape or () for item in items])
    dtype = products.common_dtype(call, "torch", items)
    if dtype in ("bool", "uint8", "int8", "int16", "int32"):
        dtype = None  # an axis that is summed up before the product is summed up in int64
    strides = products.einsum_layout(items, terms, output, shape)
    result = Tensor("torch", shape, strides, dtype, common_device(items), call.node)
    axes = products.einsum_reduction(items, terms, output)
    return result if axes is None else marked_reduction(result, items[0], axes)


@op("torch.tensordot", "a b dims=2 / out=None")
def tensordot(call: Call, a: Value, b: Value, dims: Value, out: Value) -> Value:
    left, right = tensor(a), tensor(b)
    shape, dtype = tensordot_shape(left, right, dims), products.common_dtype(call, "torch", [left, right])
    return fresh(call, "torch", shape, dtype, common_device([left, right]))


def tensordot_shape(left: Tensor, right: Tensor, dims: Value) -> Shape:
    a, b = left.shape or (), right.shape or ()
    number = values.integer(dims)
    if number is not None:
        if number > len(a):
            raise Undecided
        first = tuple(range(len(a) - number, len(a)))
        second = tuple(range(number))
    elif isinstance(dims, Sequence) and dims.items is not None and len(dims.items) == 2:
        first = arguments.axes(dims.items[0], len(a))
        second = arguments.axes(dims.items[1], len(b))
    else:
        raise Undecided
    if len(first) != len(second) or any(not 0 <= axis < len(a) for axis in first):
        raise Undecided
    for x, y in zip(first, second, strict=True):
        if a[x] != 1 and b[y] != 1:
            agree(a[x], b[y])
    return (
        *(size for axis, size in enumerate(a) if axis not in first),
        *(size for axis, size in enumerate(b) if axis not in second),
    )


@op("kron", "input other / out=None")
def kron(call: Call, input: Value, other: Value, out: Value) -> Value:
    a, b = tensor(input), tensor(other)
    rank = max(len(a.shape or ()), len(b.shape or ()))
    left = (1,) * (rank - len(a.shape or ())) + (a.shape or ())
    right = (1,) * (rank - len(b.shape or ())) + (b.shape or ())
    shape = tuple(map(S.multiply, left, right))
    # A 0-dim factor is given axes first, and then has as much to say about the type as the other.
    dtype = dtypes.torch_result([copy(a, shape=left), copy(b, shape=right)], call.default_dtype)
    return unplaced(call, "torch", shape, dtype, common_device([a, b]))


@op("cross linalg.cross", "input other dim=-1 / out=None")
def cross(call: Call, input: Value, other: Value, dim: Value, out: Value) -> Value:
    result = elementwise(call, [tensor(input), tensor(other)], framework="torch")
    if isinstance(result, Tensor) and result.shape is not None:
        result.strides = layout.contiguous(result.shape) if result.contiguous else None
    return result


@op("torch.cdist", "x1 x2 p=2.0 compute_mode=None")
def cdist(call: Call, x1: Value, x2: Value, p: Value, compute_mode: Value) -> Value:
    a, b = tensor(x1), tensor(x2)
    left, right = a.shape or (), b.shape or ()
    if len(left) < 2 or len(right) < 2:
        raise Undecided
    agree(left[-1], right[-1])
    shape = (
        (*broadcast(left[:-2], right[:-2]), left[-2], right[-2])
        if len(left) > 2 or len(right) > 2
        else (
            left[-2],
            right[-2],
        )
    )
    return fresh(call, "torch", shape, a.dtype if a.dtype == b.dtype else None, a.device)


@op("torch.chain_matmul linalg.multi_dot", "*matrices / out=None")
def multi_dot(call: Call, matrices: list[Value], out: Value) -> Value:
    if len(matrices) == 1 and isinstance(matrices[0], Sequence) and matrices[0].items is not None:
        matrices = matrices[0].items
    items = [tensor(item) for item in matrices]
    shape = items[0].shape or ()
    for item in items[1:]:
        shape = products.matmul_shape(shape, item.shape or ())
    return unplaced(call, "torch", shape, items[0].dtype, items[0].device)
