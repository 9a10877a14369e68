"""Decompositions and solvers of torch.linalg."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.products import rank_of, vector_product
from tensorlint.inference.ops.results import fresh, tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Tensor, Value

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
        elif ranked.shape == ():
            call.report("number_as_matrix", tensor=ranked)
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
    vectors = column_major(call, (*batch, rows, rows), ranked, second)
    if not hermitian and ranked.device != "cpu" and isinstance(vectors, Tensor):
        vectors.strides = None  # CUDA gives them by rows
    return tuple_of([fresh(call, "torch", (*batch, rows), first, ranked.device), vectors])


@op("linalg.eigvalsh linalg.eigvals", "input UPLO='L' / out=None")
def eigvals(call: Call, input: Value, UPLO: Value, out: Value) -> Value:
    ranked, batch, rows, _ = matrices(call, input)
    name = dtypes.real_of(ranked.dtype) if call.name.endswith("eigvalsh") else dtypes.complex_of(ranked.dtype)
    return unplaced(call, "torch", (*batch, rows), name, ranked.device)


@op("linalg.solve", "A B / left=True out=None")
def solve(call: Call, A: Value, B: Value, left: Value, out: Value) -> Value:
    if rank_of(B) == 1:
        vector_product(call, A, B)
    _ranked, batch, _rows, _ = matrices(call, A)
    right = tensor(B)
    shape = right.shape or ()
    if len(shape) == 1 and not batch:
        return unplaced(call, "torch", shape, right.dtype, right.device)
    if len(shape) < 2 or len(shape) == len(batch) + 1:
        raise Undecided
    result = (*broadcast(batch, shape[:-2]), *shape[-2:]) if batch or len(shape) > 2 else shape
    if arguments.truth(left) is not True or not values.is_none(out):
        return unplaced(call, "torch", result, right.dtype, right.device)
    return column_major(call, result, right, right.dtype)


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
