"""Products and decompositions of torch."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments, dtypes, products
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.elementwise import elementwise
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.results import SPELLED, common_device, fresh, tuple_of, unplaced, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Sequence, Tensor, Value


@op("matmul linalg.matmul", "input other / out=None")
def matmul(call: Call, input: Value, other: Value, out: Value) -> Value:
    return products.matmul(call, input, other, "torch.matmul")


@op("mm bmm mv dot vdot inner linalg.vecdot", "input other / out_dtype=None out=None dim=-1")
def product(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    name = call.name.rpartition(".")[2]
    _, (a, b) = products.operands(call, input, other)
    dtype = products.common_dtype(call, "torch", [a, b])
    if not values.is_none(rest["out_dtype"]):
        dtype = dtypes.named(rest["out_dtype"], "torch")
    device = common_device([a, b])
    ranks = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1), "vdot": (1, 1)}.get(name)
    if ranks is None:
        if name == "vecdot":
            raise Undecided
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
    strides = products.einsum_layout(items, terms, output, shape)
    return Tensor("torch", shape, strides, dtype, common_device(items), call.node)


@op("torch.tensordot", "a b dims=2 / out=None")
def tensordot(call: Call, a: Value, b: Value, dims: Value, out: Value) -> Value:
    left, right = tensor(a), tensor(b)
    shape, dtype = tensordot_shape(left, right, dims), products.common_dtype(call, "torch", [left, right])
    return fresh(call, "torch", shape, dtype, common_device([left, right]))


def tensordot_shape(left: Tensor, right: Tensor, dims: Value) -> Shape:
    a, b = left.shape or (), right.shape or ()
    number = values.integer(dims)
    if number is not None:
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
    dtype = dtypes.torch_result([a, b], call.default_dtype)
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


# Decompositions. Their results are column-major where LAPACK wrote them: the layout is left open.


def column_major(call: Call, shape: Shape, of: Tensor, dtype: str | None) -> Tensor:
    """A stack of matrices as LAPACK writes them."""
    strides: Strides | None = None
    if all(map(S.surely_not_one, shape)):
        rank = len(shape)
        strides = layout.dense((*range(rank - 2), rank - 1, rank - 2), shape)
    return Tensor("torch", shape, strides, dtype, of.device, call.node)


def matrices(call: Call, input: Value) -> tuple[Tensor, Shape, Size, Size]:
    ranked = tensor(input)
    shape = ranked.shape or ()
    if len(shape) < 2:
        if len(shape) == 1:
            call.report("rank_one_matrix", tensor=ranked, operation=call.name)
        raise Undecided
    return ranked, shape[:-2], shape[-2], shape[-1]


@op("inverse linalg.inv cholesky linalg.cholesky", "input / upper=False out=None")
def written_by_columns(call: Call, input: Value, upper: Value, out: Value) -> Value:
    ranked, batch, rows, columns = matrices(call, input)
    return column_major(call, (*batch, rows, columns), ranked, ranked.dtype)


@op(
    "linalg.matrix_exp matrix_exp linalg.matrix_power matrix_power cholesky_inverse",
    "input *args / upper=False out=None n=None",
)
def square(call: Call, input: Value, **rest: object) -> Value:
    ranked, batch, rows, columns = matrices(call, input)
    return unplaced(call, "torch", (*batch, rows, columns), ranked.dtype, ranked.device)


@op("pinverse linalg.pinv", "input *args / rcond=None atol=None rtol=None hermitian=False out=None")
def pinv(call: Call, input: Value, args: list[Value], **rest: Value) -> Value:
    if any(isinstance(value, Tensor) for value in (*args, *rest.values())):
        raise Undecided
    ranked, batch, rows, columns = matrices(call, input)
    return unplaced(call, "torch", (*batch, columns, rows), ranked.dtype, ranked.device)


@op("det logdet linalg.det", "input / out=None")
def det(call: Call, input: Value, out: Value) -> Value:
    ranked, batch, _, _ = matrices(call, input)
    return fresh(call, "torch", batch, ranked.dtype, ranked.device)


@op("slogdet linalg.slogdet", "input / out=None", tensor=False)
def slogdet(call: Call, input: Value, out: Value) -> Value:
    ranked, batch, _, _ = matrices(call, input)
    return tuple_of(
        [
            unplaced(call, "torch", batch, ranked.dtype, ranked.device),
            unplaced(call, "torch", batch, dtypes.real_of(ranked.dtype), ranked.device),
        ]
    )


@op("trace", "input")
def trace(call: Call, input: Value) -> Value:
    ranked = tensor(input)
    if len(ranked.shape or ()) != 2:
        raise Undecided
    name = ranked.dtype
    if name is not None and dtypes.category(name) <= dtypes.INTEGER:
        name = "int64"
    return unplaced(call, "torch", (), name, ranked.device)


def least_of(a: Size, b: Size) -> Size:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    if a == b or arguments.at_least(b, a):
        return a
    return b if arguments.at_least(a, b) else S.symbol()


@op("svd linalg.svd", "input some=True compute_uv=True / full_matrices=None driver=None out=None", tensor=False)
def svd(call: Call, input: Value, some: Value, compute_uv: Value, full_matrices: Value, **rest: Value) -> Value:
    ranked, batch, rows, columns = matrices(call, input)
    smallest = least_of(rows, columns)
    modern = call.name.endswith("linalg.svd")
    if modern:
        # Its second parameter is full_matrices=True.
        full = arguments.flag(some if values.is_none(full_matrices) else full_matrices)
    else:
        full = not arguments.flag(some)
        if not arguments.flag(compute_uv):
            raise Undecided
    left = (*batch, rows, rows if full else smallest)
    right = (
        (*batch, columns if full else smallest, columns) if modern else (*batch, columns, columns if full else smallest)
    )
    return tuple_of(
        [
            column_major(call, left, ranked, ranked.dtype),
            fresh(call, "torch", (*batch, smallest), dtypes.real_of(ranked.dtype), ranked.device),
            unplaced(call, "torch", right, ranked.dtype, ranked.device),
        ]
    )


@op("linalg.svdvals", "input / driver=None out=None")
def svdvals(call: Call, input: Value, **rest: Value) -> Value:
    ranked, batch, rows, columns = matrices(call, input)
    return unplaced(call, "torch", (*batch, least_of(rows, columns)), dtypes.real_of(ranked.dtype), ranked.device)


@op("qr linalg.qr", "input mode='reduced' / some=None out=None", tensor=False)
def qr(call: Call, input: Value, mode: Value, some: Value, out: Value) -> Value:
    ranked, batch, rows, columns = matrices(call, input)
    if not isinstance(mode, Const) or not values.is_none(some):
        raise Undecided
    if mode.value in ("complete", False):
        inner_size = rows
    elif mode.value in ("reduced", True):
        inner_size = least_of(rows, columns)
    else:
        raise Undecided
    return tuple_of(
        [
            column_major(call, (*batch, rows, inner_size), ranked, ranked.dtype),
            unplaced(call, "torch", (*batch, inner_size, columns), ranked.dtype, ranked.device),
        ]
    )


@op("linalg.eigh linalg.eig", "input UPLO='L' / out=None", tensor=False)
def eigh(call: Call, input: Value, UPLO: Value, out: Value) -> Value:
    ranked, batch, rows, _ = matrices(call, input)
    hermitian = call.name.endswith("eigh")
    first = dtypes.real_of(ranked.dtype) if hermitian else dtypes.complex_of(ranked.dtype)
    second = ranked.dtype if hermitian else first
    return tuple_of(
        [
            fresh(call, "torch", (*batch, rows), first, ranked.device),
            column_major(call, (*batch, rows, rows), ranked, second),
        ]
    )


@op("linalg.eigvalsh linalg.eigvals", "input UPLO='L' / out=None")
def eigvals(call: Call, input: Value, UPLO: Value, out: Value) -> Value:
    ranked, batch, rows, _ = matrices(call, input)
    name = dtypes.real_of(ranked.dtype) if call.name.endswith("eigvalsh") else dtypes.complex_of(ranked.dtype)
    return unplaced(call, "torch", (*batch, rows), name, ranked.device)


@op("linalg.solve", "A B / left=True out=None")
def solve(call: Call, A: Value, B: Value, left: Value, out: Value) -> Value:
    _ranked, batch, _rows, _ = matrices(call, A)
    right = tensor(B)
    shape = right.shape or ()
    if len(shape) == 1 and not batch:
        return unplaced(call, "torch", shape, right.dtype, right.device)
    if len(shape) < 2 or len(shape) == len(batch) + 1:
        raise Undecided
    result = (*broadcast(batch, shape[:-2]), *shape[-2:]) if batch or len(shape) > 2 else shape
    return unplaced(call, "torch", result, right.dtype, right.device)


@op("linalg.cond", "input p=None / out=None")
def cond(call: Call, input: Value, p: Value, out: Value) -> Value:
    ranked, batch, _, _ = matrices(call, input)
    return fresh(call, "torch", batch, dtypes.real_of(ranked.dtype), ranked.device)


@op("linalg.matrix_rank", "input *args / tol=None atol=None rtol=None hermitian=False out=None")
def matrix_rank(call: Call, input: Value, args: list[Value], **rest: Value) -> Value:
    ranked, batch, _, _ = matrices(call, input)
    if args or any(isinstance(value, Tensor) for value in rest.values()):
        raise Undecided
    return fresh(call, "torch", batch, "int64", ranked.device)


# Fourier transforms.


@op("fft.fft fft.ifft fft.rfft fft.irfft fft.hfft", "input n=None dim=-1 norm=None / out=None")
def fft(call: Call, input: Value, n: Value, dim: Value, norm: Value, out: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    if not shape:
        raise Undecided
    at = arguments.axis(dim, len(shape))
    name = call.name.rpartition(".")[2]
    size: Size | None = shape[at] if values.is_none(n) else arguments.count(n)
    if name == "rfft":
        size = S.floor_divide(size, 2)  # type: ignore[arg-type]
        size = None if size is None else S.add(size, 1)
    elif name in ("irfft", "hfft") and values.is_none(n):
        size = S.multiply(S.subtract(shape[at], 1), 2)
    if size is None:
        raise Undecided
    result = (*shape[:at], size, *shape[at + 1 :])
    dtype = dtypes.torch_float(ranked.dtype, call.default_dtype)
    dtype = dtypes.real_of(dtype) if name in ("irfft", "hfft") else dtypes.complex_of(dtype)
    if at == len(shape) - 1 and ranked.contiguous:
        return fresh(call, "torch", result, dtype, ranked.device)
    return unplaced(call, "torch", result, dtype, ranked.device)


@op("fft.fft2 fft.ifft2 fft.fftn fft.ifftn", "input s=None dim=None norm=None / out=None")
def fftn(call: Call, input: Value, s: Value, dim: Value, norm: Value, out: Value) -> Value:
    ranked = tensor(input)
    shape = list(ranked.shape or ())
    if not values.is_none(s):
        sizes = arguments.shape([s])
        where = range(len(shape) - len(sizes), len(shape)) if values.is_none(dim) else arguments.axes(dim, len(shape))
        if any(size == -1 for size in sizes):
            raise Undecided
        for axis, size in zip(where, sizes, strict=True):
            shape[axis] = size
    dtype = dtypes.complex_of(dtypes.torch_float(ranked.dtype, call.default_dtype))
    return unplaced(call, "torch", tuple(shape), dtype, ranked.device)


@op("fft.rfft2 fft.rfftn", "input s=None dim=None norm=None / out=None")
def rfftn(call: Call, input: Value, s: Value, dim: Value, norm: Value, out: Value) -> Value:
    ranked = tensor(input)
    shape = list(ranked.shape or ())
    if not values.is_none(s) or not shape:
        raise Undecided
    at = len(shape) - 1 if values.is_none(dim) else arguments.axes(dim, len(shape))[-1]
    half = S.floor_divide(shape[at], 2)
    if half is None:
        raise Undecided
    shape[at] = S.add(half, 1)
    dtype = dtypes.complex_of(dtypes.torch_float(ranked.dtype, call.default_dtype))
    return unplaced(call, "torch", tuple(shape), dtype, ranked.device)


@op("fft.fftshift fft.ifftshift", "input dim=None")
def fftshift(call: Call, input: Value, dim: Value) -> Value:
    ranked = tensor(input)
    return unplaced(call, "torch", ranked.shape or (), ranked.dtype, ranked.device)


@op("fft.fftfreq fft.rfftfreq", "n d=1.0 / dtype=None device=None out=None layout=None requires_grad=False")
def fftfreq(call: Call, n: Value, **rest: Value) -> Value:
    size: Size | None = arguments.count(n)
    if call.name.endswith("rfftfreq"):
        half = S.floor_divide(size, 2)  # type: ignore[arg-type]
        size = None if half is None else S.add(half, 1)
    if size is None:
        raise Undecided
    name = call.default_dtype if values.is_none(rest["dtype"]) else dtypes.named(rest["dtype"], "torch")
    return Tensor("torch", (size,), (1,), name, None, call.node)
