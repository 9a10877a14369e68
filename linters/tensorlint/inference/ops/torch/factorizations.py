"""Factorizations of torch.linalg beyond the usual: LU, LDL, Householder's, low ranks, and what solves with them."""

from __future__ import annotations

from tensorlint.inference import values
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.results import tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.linear_algebra import least_of, matrices
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Tensor, Value


def _made(call: Call, shape: tuple[Size, ...], of: Tensor, dtype: str | None = "same") -> Tensor:
    return unplaced(call, "torch", shape, of.dtype if dtype == "same" else dtype, of.device)


@op("linalg.inv_ex linalg.cholesky_ex", "A / upper=False check_errors=False out=None", tensor=False)
def inv_ex(call: Call, A: Value, **rest: Value) -> Value:
    """The matrices, and for each whether it failed."""
    ranked, batch, rows, columns = matrices(call, A)
    return tuple_of([_made(call, (*batch, rows, columns), ranked), _made(call, batch, ranked, "int32")])


@op("linalg.lu_factor linalg.lu_factor_ex", "A / pivot=True check_errors=False out=None", tensor=False)
def lu_factor(call: Call, A: Value, pivot: Value, **rest: Value) -> Value:
    ranked, batch, rows, columns = matrices(call, A)
    if arguments.truth(pivot) is not True:
        raise Undecided
    found = [
        _made(call, (*batch, rows, columns), ranked),
        _made(call, (*batch, least_of(rows, columns)), ranked, "int32"),
    ]
    return tuple_of([*found, _made(call, batch, ranked, "int32")] if call.name.endswith("_ex") else found)


@op("linalg.lu", "A / pivot=True out=None", tensor=False)
def lu(call: Call, A: Value, pivot: Value, out: Value) -> Value:
    ranked, batch, rows, columns = matrices(call, A)
    if arguments.truth(pivot) is not True:
        raise Undecided
    return _three(call, ranked, batch, rows, columns)


def _three(call: Call, ranked: Tensor, batch: tuple[Size, ...], rows: Size, columns: Size) -> Value:
    inner = least_of(rows, columns)
    shapes = (rows, rows), (rows, inner), (inner, columns)
    return tuple_of([_made(call, (*batch, *shape), ranked) for shape in shapes])


@op("torch.lu_unpack", "LU_data LU_pivots unpack_data=True unpack_pivots=True / out=None", tensor=False)
def lu_unpack(call: Call, LU_data: Value, unpack_data: Value, unpack_pivots: Value, **rest: Value) -> Value:
    ranked, batch, rows, columns = matrices(call, LU_data)
    if arguments.truth(unpack_data) is not True or arguments.truth(unpack_pivots) is not True:
        raise Undecided
    return _three(call, ranked, batch, rows, columns)


@op("linalg.ldl_factor linalg.ldl_factor_ex", "A / hermitian=False check_errors=False out=None", tensor=False)
def ldl_factor(call: Call, A: Value, **rest: Value) -> Value:
    ranked, batch, rows, columns = matrices(call, A)
    found = [_made(call, (*batch, rows, columns), ranked), _made(call, (*batch, rows), ranked, "int32")]
    return tuple_of([*found, _made(call, batch, ranked, "int32")] if call.name.endswith("_ex") else found)


@op("linalg.solve_ex", "A B / left=True check_errors=False out=None", tensor=False)
def solve_ex(call: Call, A: Value, B: Value, left: Value, **rest: Value) -> Value:
    ranked, batch, _, _ = matrices(call, A)
    right = tensor(B).shape or ()
    if batch or len(right) not in (1, 2):
        raise Undecided
    return tuple_of([_made(call, right, tensor(B)), _made(call, (), ranked, "int32")])


@op("linalg.lu_solve", "LU pivots B / left=True adjoint=False out=None")
def lu_solve(call: Call, LU: Value, pivots: Value, B: Value, **rest: Value) -> Value:
    return _solved(call, LU, B)


@op("torch.lu_solve", "b LU_data LU_pivots / out=None")
def old_lu_solve(call: Call, b: Value, LU_data: Value, **rest: Value) -> Value:
    return _solved(call, LU_data, b)


@op("linalg.ldl_solve", "LD pivots B / hermitian=False out=None")
def ldl_solve(call: Call, LD: Value, pivots: Value, B: Value, **rest: Value) -> Value:
    return _solved(call, LD, B)


def _solved(call: Call, factors: Value, right: Value) -> Tensor:
    _, batch, _, _ = matrices(call, factors)
    ranked = tensor(right)
    shape = ranked.shape or ()
    if len(shape) < 2:
        raise Undecided
    return _made(call, (*broadcast(batch, shape[:-2]), *shape[-2:]), ranked)


@op(
    "torch.triangular_solve .triangular_solve",
    "b A upper=True transpose=False unitriangular=False / out=None",
    tensor=False,
)
def triangular_solve(call: Call, b: Value, A: Value, **rest: Value) -> Value:
    """The solution, and a copy of the matrix."""
    ranked, batch, rows, columns = matrices(call, A)
    right = tensor(b)
    shape = right.shape or ()
    if len(shape) < 2:
        raise Undecided
    both = broadcast(batch, shape[:-2])
    return tuple_of([_made(call, (*both, *shape[-2:]), right), _made(call, (*both, rows, columns), ranked)])


@op("linalg.tensorinv", "A ind=2 / out=None")
def tensorinv(call: Call, A: Value, ind: Value, out: Value) -> Value:
    ranked, cut = tensor(A), arguments.whole(ind)
    shape = ranked.shape or ()
    if not 0 < cut <= len(shape):
        raise Undecided
    return _made(call, (*shape[cut:], *shape[:cut]), ranked)


@op("linalg.tensorsolve", "A B dims=None / out=None")
def tensorsolve(call: Call, A: Value, B: Value, dims: Value, out: Value) -> Value:
    ranked, right = tensor(A), tensor(B).shape or ()
    shape = ranked.shape or ()
    if not values.is_none(dims) or len(right) > len(shape):
        raise Undecided
    return _made(call, shape[len(right) :], ranked)


@op("linalg.householder_product orgqr", "input tau / out=None")
def householder_product(call: Call, input: Value, **rest: Value) -> Value:
    ranked, batch, rows, columns = matrices(call, input)
    return _made(call, (*batch, rows, columns), ranked)


@op("ormqr", "input tau other left=True transpose=False / out=None")
def ormqr(call: Call, other: Value, **rest: Value) -> Value:
    ranked, batch, rows, columns = matrices(call, other)
    return _made(call, (*batch, rows, columns), ranked)


@op("geqrf", "input / out=None", tensor=False)
def geqrf(call: Call, input: Value, out: Value) -> Value:
    ranked, batch, rows, columns = matrices(call, input)
    return tuple_of(
        [_made(call, (*batch, rows, columns), ranked), _made(call, (*batch, least_of(rows, columns)), ranked)]
    )


@op("torch.svd_lowrank torch.pca_lowrank", "A q=None center=True niter=2 M=None", tensor=False)
def svd_lowrank(call: Call, A: Value, q: Value, **rest: Value) -> Value:
    """At most `q` singular values, 6 unless it says so: of fewer rows or columns that is an error, or fewer."""
    ranked, batch, rows, columns = matrices(call, A)
    if values.is_none(q):
        size: Size = least_of(least_of(rows, columns), 6) if call.name.endswith("pca_lowrank") else 6
    else:
        size = arguments.count(q)
    size = least_of(size, least_of(rows, columns))
    shapes = (*batch, rows, size), (*batch, size), (*batch, columns, size)
    left, singular, right = (_made(call, shape, ranked) for shape in shapes)
    singular.dtype = dtypes.real_of(ranked.dtype)
    return tuple_of([left, singular, right])
