"""numpy's products and numpy.linalg."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import arguments, dtypes, products
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.numpy.creation import chosen, ranked
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.reducing import marked_reduction, reduce
from tensorlint.inference.ops.results import NO_MARKS, NUMERIC, SPELLED, fresh, short, tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.linear_algebra import least_of
from tensorlint.inference.ops.torch.products import tensordot_shape
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Sequence, Tensor, Value


def taken(call: Call, a: Value, b: Value) -> tuple[Tensor, Tensor]:
    return array_of(call, a), array_of(call, b)


@op("numpy.dot .dot", "a b out=None")
def dot(call: Call, a: Value, b: Value, out: Value) -> Value:
    if not values.is_none(out):
        raise Undecided
    first, second = taken(call, a, b)
    return products.dot(call, first, second, "np.dot" if call.name.startswith("numpy.") else ".dot")


@op("numpy.matmul numpy.linalg.matmul", "x1 x2 out=None / dtype=None")
def matmul(call: Call, x1: Value, x2: Value, out: Value, dtype: Value) -> Value:
    if not values.is_none(out):
        raise Undecided
    first, second = taken(call, x1, x2)
    result = products.matmul(call, first, second, "np.matmul")
    if isinstance(result, Tensor):
        result.dtype = chosen(dtype, result.dtype)
    return result


@op("numpy.vdot", "a b")
def vdot(call: Call, a: Value, b: Value) -> Value:
    first, second = taken(call, a, b)
    return Tensor("numpy", (), (), products.common_dtype(call, "numpy", [first, second]), None, call.node)


@op("numpy.inner", "a b")
def inner(call: Call, a: Value, b: Value) -> Value:
    first, second = tensor(array_of(call, a)), tensor(array_of(call, b))
    left, right = first.shape or (), second.shape or ()
    dtype = products.common_dtype(call, "numpy", [first, second])
    if left[1:] == right[1:] == ():
        products.vector_product(call, first, second)
    products.rank_one_product(call, first, second, "np.inner")
    if not left or not right:
        return unplaced(call, "numpy", left or right, dtype)
    agree(left[-1], right[-1])
    shape = (*left[:-1], *right[:-1])
    return unplaced(call, "numpy", shape, dtype) if len(shape) > 1 else fresh(call, "numpy", shape, dtype)


@op("numpy.outer numpy.linalg.outer", "a b out=None")
def outer(call: Call, a: Value, b: Value, out: Value) -> Value:
    first, second = tensor(array_of(call, a)), tensor(array_of(call, b))
    if not values.is_none(out):
        raise Undecided
    shape = (S.product(first.shape or ()), S.product(second.shape or ()))
    dtype = dtypes.numpy_result([first, second])
    return fresh(call, "numpy", shape, dtype, marks=SPELLED)


@op("numpy.einsum", "subscripts *operands / optimize=None out=None dtype=None order=None casting=None")
def einsum(call: Call, subscripts: Value, operands: list[Value], **rest: Value) -> Value:
    if not isinstance(subscripts, Const) or not isinstance(subscripts.value, str):
        raise Undecided
    items = [ranked(call, item) for item in operands]
    shape, terms, output = products.einsum_shape(subscripts.value, [item.shape or () for item in items])
    dtype = products.common_dtype(call, "numpy", items) if values.is_none(rest["dtype"]) else None
    result, axes = unplaced(call, "numpy", shape, dtype), products.einsum_reduction(items, terms, output)
    return result if axes is None else marked_reduction(result, items[0], axes)


@op("numpy.tensordot numpy.linalg.tensordot", "a b axes=2")
def tensordot(call: Call, a: Value, b: Value, axes: Value) -> Value:
    first, second = ranked(call, a), ranked(call, b)
    shape = tensordot_shape(first, second, axes)
    return fresh(call, "numpy", shape, products.common_dtype(call, "numpy", [first, second]))


@op("numpy.kron", "a b")
def kron(call: Call, a: Value, b: Value) -> Value:
    first, second = ranked(call, a), ranked(call, b)
    left, right = first.shape or (), second.shape or ()
    rank = max(len(left), len(right))
    shape = tuple(map(S.multiply, (1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right))
    return unplaced(call, "numpy", shape, dtypes.numpy_result([first, second]))


@op("numpy.cross numpy.linalg.cross", "a b axisa=-1 axisb=-1 axisc=-1 axis=None")
def cross(call: Call, a: Value, b: Value, axisa: Value, axisb: Value, axisc: Value, axis: Value) -> Value:
    first, second = ranked(call, a), ranked(call, b)
    left, right = first.shape or (), second.shape or ()
    if not left or not right or left[-1] != 3 or right[-1] != 3 or not values.is_none(axis):
        raise Undecided
    if not all(values.integer(value) == -1 for value in (axisa, axisb, axisc)):
        raise Undecided
    return unplaced(call, "numpy", broadcast(left, right), dtypes.numpy_result([first, second]))


@op("numpy.trace .trace numpy.linalg.trace", "a offset=0 axis1=0 axis2=1 dtype=None out=None")
def trace(call: Call, a: Value, dtype: Value, **rest: Value) -> Value:
    given = ranked(call, a)
    shape = given.shape or ()
    if len(shape) != 2:
        raise Undecided
    from tensorlint.inference.ops.numpy.reductions import summed

    return Tensor("numpy", (), (), chosen(dtype, summed(given.dtype)), None, call.node)


@op("numpy.cov numpy.corrcoef", "m y=None rowvar=True bias=False ddof=None / fweights=None aweights=None dtype=None")
def cov(call: Call, m: Value, y: Value, rowvar: Value, **rest: Value) -> Value:
    given = ranked(call, m)
    shape = given.shape or ()
    if len(shape) > 2 or not shape:
        raise Undecided
    if not values.is_none(y):
        # Each row is a variable, of both, and a vector is one.
        other = ranked(call, y).shape or ()
        if not 1 <= len(other) <= 2 or arguments.flag(rowvar) is not True:
            raise Undecided
        both = S.add(shape[0] if len(shape) == 2 else 1, other[0] if len(other) == 2 else 1)
        if not isinstance(both, int) and not S.surely_not_one(both):
            raise Undecided
        return unplaced(call, "numpy", (both, both), None, marks=NUMERIC)
    if len(shape) == 1:
        return Tensor("numpy", (), (), None, None, call.node)
    size = shape[0] if arguments.flag(rowvar) else shape[1]
    if size == 1:
        return Tensor("numpy", (), (), None, None, call.node)
    if not S.surely_not_one(size):
        raise Undecided
    return unplaced(call, "numpy", (size, size), None, marks=NUMERIC)


def matrices(call: Call, value: Value) -> tuple[Tensor, Shape, Size, Size]:
    given = ranked(call, value)
    shape = given.shape or ()
    if len(shape) < 2:
        if len(shape) == 1:
            call.report("rank_one_matrix", tensor=given, operation=short(call.name))
        elif given.shape == ():
            call.report("number_as_matrix", tensor=given)
        raise Undecided
    return given, shape[:-2], shape[-2], shape[-1]


def floating(dtype: str | None) -> str | None:
    """numpy.linalg computes integers in float64."""
    if dtype is None or dtype not in dtypes.CATEGORY or dtype == "float16":
        return None
    return dtype if dtypes.CATEGORY[dtype] >= dtypes.FLOAT else "float64"


def computed(call: Call, shape: Shape, dtype: str | None) -> Tensor:
    """A result of numpy.linalg or numpy.fft, which refuse arrays of objects: its items are numbers."""
    return unplaced(call, "numpy", shape, dtype, marks=NUMERIC if dtype is None else NO_MARKS)


@op("numpy.linalg.inv numpy.linalg.cholesky numpy.linalg.matrix_power", "a n=None / upper=False")
def square(call: Call, a: Value, n: Value, upper: Value) -> Value:
    given, batch, rows, columns = matrices(call, a)
    if call.name.endswith("matrix_power"):
        return unplaced(call, "numpy", (*batch, rows, columns), None)  # of objects too
    return computed(call, (*batch, rows, columns), floating(given.dtype))


@op("numpy.linalg.pinv", "a rcond=None hermitian=False / rtol=None")
def pinv(call: Call, a: Value, **rest: Value) -> Value:
    given, batch, rows, columns = matrices(call, a)
    # Without elements there is nothing to compute, and nothing becomes a float.
    dtype = given.dtype if 0 in (rows, columns) else floating(given.dtype)
    return unplaced(call, "numpy", (*batch, columns, rows), dtype)


@op("numpy.linalg.det numpy.linalg.cond numpy.linalg.matrix_rank", "a p=None tol=None hermitian=False / rtol=None")
def det(call: Call, a: Value, **rest: Value) -> Value:
    if any(isinstance(value, (Tensor, Sequence)) for value in rest.values()):
        raise Undecided
    if call.name.endswith("matrix_rank"):
        given = array_of(call, a)
        if given.shape is None or len(given.shape) < 2:
            return values.UNKNOWN  # of a vector it is a number of Python's
    given, batch, _, _ = matrices(call, a)
    name = floating(given.dtype) if call.name.endswith("det") else None
    return unplaced(call, "numpy", batch, name)


@op("numpy.linalg.slogdet", "a", tensor=False)
def slogdet(call: Call, a: Value) -> Value:
    given, batch, _, _ = matrices(call, a)
    name = floating(given.dtype)
    return tuple_of([unplaced(call, "numpy", batch, name), unplaced(call, "numpy", batch, dtypes.real_of(name))])


@op("numpy.linalg.svd", "a full_matrices=True compute_uv=True hermitian=False", tensor=False)
def svd(call: Call, a: Value, full_matrices: Value, compute_uv: Value, hermitian: Value) -> Value:
    given, batch, rows, columns = matrices(call, a)
    smallest = least_of(rows, columns)
    name = floating(given.dtype)
    singular = computed(call, (*batch, smallest), dtypes.real_of(name))
    if not arguments.flag(compute_uv):
        return singular
    full = arguments.flag(full_matrices)
    return tuple_of(
        [
            computed(call, (*batch, rows, rows if full else smallest), name),
            singular,
            computed(call, (*batch, columns if full else smallest, columns), name),
        ]
    )


@op("numpy.linalg.eig numpy.linalg.eigh", "a UPLO='L'", tensor=False)
def eig(call: Call, a: Value, UPLO: Value) -> Value:
    given, batch, rows, _ = matrices(call, a)
    name = floating(given.dtype) if call.name.endswith("eigh") else None
    return tuple_of(
        [
            computed(call, (*batch, rows), dtypes.real_of(name)),
            computed(call, (*batch, rows, rows), name),
        ]
    )


@op("numpy.linalg.eigvals numpy.linalg.eigvalsh", "a UPLO='L'")
def eigvals(call: Call, a: Value, UPLO: Value) -> Value:
    given, batch, rows, _ = matrices(call, a)
    name = dtypes.real_of(floating(given.dtype)) if call.name.endswith("eigvalsh") else None
    return computed(call, (*batch, rows), name)


@op("numpy.linalg.qr", "a mode='reduced'", tensor=False)
def qr(call: Call, a: Value, mode: Value) -> Value:
    given, batch, rows, columns = matrices(call, a)
    if not isinstance(mode, Const) or mode.value not in ("reduced", "complete"):
        raise Undecided
    size = rows if mode.value == "complete" else least_of(rows, columns)
    name = floating(given.dtype)
    return tuple_of([computed(call, (*batch, rows, size), name), computed(call, (*batch, size, columns), name)])


@op("numpy.linalg.solve", "a b")
def solve(call: Call, a: Value, b: Value) -> Value:
    vector = array_of(call, b)
    if vector.rank == 1:
        products.vector_product(call, a, vector)
    given, batch, _, _ = matrices(call, a)
    right = ranked(call, b)
    shape = right.shape or ()
    left_dtype, right_dtype = floating(given.dtype), floating(right.dtype)
    name = dtypes.numpy_promote(left_dtype, right_dtype) if left_dtype and right_dtype else None
    if len(shape) == 1:
        return computed(call, (*batch, shape[0]), name)
    if len(shape) < 2:
        raise Undecided
    target = (*broadcast(batch, shape[:-2]), *shape[-2:]) if batch or len(shape) > 2 else shape
    return computed(call, target, name)


@op("numpy.linalg.lstsq", "a b rcond=None", tensor=False)
def lstsq(call: Call, a: Value, b: Value, rcond: Value) -> Value:
    given, _, rows, columns = matrices(call, a)
    right = ranked(call, b)
    shape = right.shape or ()
    if len(shape) not in (1, 2):
        raise Undecided
    name = floating(given.dtype)
    if name != floating(right.dtype):
        name = None
    return tuple_of(
        [
            computed(call, (columns, *shape[1:]), name),
            Tensor("numpy", None, None, dtypes.real_of(name)),
            values.Scalar("int"),
            computed(call, (least_of(rows, columns),), dtypes.real_of(name)),
        ]
    )


@op("numpy.linalg.norm", "x ord=None axis=None keepdims=False")
def norm(call: Call, x: Value, ord: Value, axis: Value, keepdims: Value) -> Value:
    given = array_of(call, x)
    if isinstance(ord, (Tensor, Sequence)):
        raise Undecided
    if given.shape is not None and values.is_none(axis) and not values.is_none(ord) and len(given.shape) not in (1, 2):
        raise Undecided
    name = (
        dtypes.real_of(floating(given.dtype))
        if values.is_none(ord) or not isinstance(ord, Const) or ord.value in (1, 2)
        else None
    )
    return reduce(call, given, axis, keepdims, name, contiguous=False)


@op("numpy.convolve numpy.correlate", "a v mode=None")
def convolve(call: Call, a: Value, v: Value, mode: Value) -> Value:
    first, second = ranked(call, a), ranked(call, v)
    if len(first.shape or ()) != 1 or len(second.shape or ()) != 1:
        raise Undecided
    left, right = (first.shape or ())[0], (second.shape or ())[0]
    how = "full" if call.name.endswith("convolve") else "valid"
    if not values.is_none(mode):
        if not isinstance(mode, Const) or mode.value not in ("full", "same", "valid"):
            raise Undecided
        how = mode.value
    name = dtypes.numpy_result([first, second])
    if how == "full":
        return unplaced(call, "numpy", (S.subtract(S.add(left, right), 1),), name)
    if isinstance(left, int) and isinstance(right, int):
        size = max(left, right) if how == "same" else max(left, right) - min(left, right) + 1
        return unplaced(call, "numpy", (size,), name)
    return unplaced(call, "numpy", (S.symbol(),), name)


@op("numpy.linalg.svdvals", "x")
def svdvals(call: Call, x: Value) -> Value:
    given, batch, rows, columns = matrices(call, x)
    return computed(call, (*batch, least_of(rows, columns)), dtypes.real_of(floating(given.dtype)))


@op("numpy.linalg.vector_norm numpy.linalg.matrix_norm", "x / axis=None keepdims=False ord=None")
def vector_norm(call: Call, x: Value, axis: Value, keepdims: Value, ord: Value) -> Value:
    """Of a vector, of all elements, or of the last two axes."""
    given = ranked(call, x)
    shape = given.shape or ()
    if isinstance(ord, (Tensor, Sequence)):
        raise Undecided
    if call.name.endswith("matrix_norm"):
        if len(shape) < 2 or not values.is_none(axis):
            raise Undecided
        kept = (1, 1) if arguments.flag(keepdims) else ()
        return computed(call, (*shape[:-2], *kept), None)
    return reduce(call, given, axis, keepdims, None, contiguous=False)


@op("numpy.linalg.diagonal", "x / offset=0")
def diagonal(call: Call, x: Value, offset: Value) -> Value:
    from tensorlint.inference.ops.torch.views import diagonal_of

    given = ranked(call, x)
    rank = len(given.shape or ())
    if rank < 2:
        raise Undecided
    return diagonal_of(call, given, arguments.whole(offset), rank - 2, rank - 1)


@op("numpy.linalg.tensorinv", "a ind=2")
def tensorinv(call: Call, a: Value, ind: Value) -> Value:
    given, cut = ranked(call, a), arguments.whole(ind)
    shape = given.shape or ()
    if not 0 < cut <= len(shape):
        raise Undecided
    return computed(call, (*shape[cut:], *shape[:cut]), floating(given.dtype))


@op("numpy.linalg.tensorsolve", "a b axes=None")
def tensorsolve(call: Call, a: Value, b: Value, axes: Value) -> Value:
    """The axes of `a` behind those of `b`."""
    shape, right = ranked(call, a).shape or (), ranked(call, b).shape or ()
    if not values.is_none(axes) or len(right) >= len(shape):
        raise Undecided
    return computed(call, shape[len(right) :], None)


@op("numpy.vecdot numpy.linalg.vecdot", "x1 x2 / axis=-1")
def vecdot(call: Call, x1: Value, x2: Value, axis: Value) -> Value:
    left, right = ranked(call, x1).shape or (), ranked(call, x2).shape or ()
    if not left or not right or values.integer(axis) != -1:
        raise Undecided
    return unplaced(call, "numpy", broadcast(left[:-1], right[:-1]), None)


@op("numpy.matvec numpy.vecmat", "x1 x2")
def matvec(call: Call, x1: Value, x2: Value) -> Value:
    """Matrices times vectors, or vectors times matrices, the axes in front broadcast."""
    is_matvec = call.name.endswith("matvec")
    left, right = ranked(call, x1).shape or (), ranked(call, x2).shape or ()
    matrix, vector = (left, right) if is_matvec else (right, left)
    if len(matrix) < 2 or not vector:
        raise Undecided
    kept = matrix[-2] if is_matvec else matrix[-1]
    return unplaced(call, "numpy", (*broadcast(matrix[:-2], vector[:-1]), kept), None)
