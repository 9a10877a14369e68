"""gather, scatter, index_select and others that pick by index; flips, rolls and triangles."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.broadcasting import broadcast, tell_any
from tensorlint.inference.ops.results import LASTING, fresh, laid, tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.ops.torch.views import diagonal_of
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Number, Opaque, Scalar, Sequence, Tensor, Unknown, Value, copy


@op("gather", "input dim index / sparse_grad=False out=None")
def gather(call: Call, input: Value, dim: Value, index: Value, **rest: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    if isinstance(index, Tensor) and index.shape is None and (input.rank or 0) > 1:
        # Both have as many axes.
        known, rank = index.axes or {}, input.rank or 0
        sizes = [known.get(axis, known.get(axis - rank)) for axis in range(rank)]
        return fresh(
            call, "torch", tuple(S.symbol() if each is None else each for each in sizes), input.dtype, input.device
        )
    picked = tensor(index)
    return fresh(call, "torch", picked.shape or (), input.dtype, input.device)


@op("take_along_dim", "input indices dim=None / out=None")
def take_along_dim(call: Call, input: Value, indices: Value, dim: Value, out: Value) -> Value:
    ranked, picked = tensor(input), tensor(indices)
    if values.is_none(dim):
        return fresh(call, "torch", (S.product(picked.shape or ()),), ranked.dtype, ranked.device)
    shape, index = ranked.shape or (), picked.shape or ()
    if len(shape) != len(index):
        raise Undecided
    at = arguments.axis(dim, len(shape))
    result = tuple(
        index[axis] if axis == at else broadcast((shape[axis],), (index[axis],))[0] for axis in range(len(shape))
    )
    return fresh(call, "torch", result, ranked.dtype, ranked.device)


@op("take", "input index / out=None")
def take(call: Call, input: Value, index: Value, out: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    picked = tensor(index)
    return fresh(call, "torch", picked.shape or (), input.dtype, input.device)


@op("index_select", "input dim index / out=None")
def index_select(call: Call, input: Value, dim: Value, index: Value, out: Value) -> Value:
    ranked, picked = tensor(input), tensor(index)
    shape = ranked.shape or ()
    if not shape:
        raise Undecided
    at = arguments.axis(dim, len(shape))
    size: Size = (picked.shape or (1,))[0]
    return fresh(call, "torch", (*shape[:at], size, *shape[at + 1 :]), ranked.dtype, ranked.device)


@op("masked_select", "input mask / out=None")
def masked_select(call: Call, input: Value, mask: Value, out: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    if isinstance(mask, Tensor) and input.shape and mask.shape:
        tell_any(call, "torch.masked_select", [input, mask], broadcast(input.shape, mask.shape))
    return laid(call, "torch", (S.counter(),), (1,), input.dtype, input.device)


_SCATTER = (
    "scatter scatter_add scatter_reduce index_add index_copy index_fill index_reduce index_put "
    "slice_scatter select_scatter diagonal_scatter"
)


@op(
    _SCATTER,
    "input *args / dim=None index=None src=None source=None value=None reduce=None include_self=None alpha=None "
    "values=None accumulate=None mask=None indices=None start=None end=None step=None offset=None dim1=None "
    "dim2=None tensor=None out=None",
)
def scatter(call: Call, input: Value, **rest: object) -> Value:
    ranked = tensor(input)
    # A copy of the input; only a contiguous one is sure to be copied as it is.
    strides = ranked.strides if ranked.strides == layout.contiguous(ranked.shape or ()) else None
    return copy(ranked, strides=strides, made=call.node)


@op("masked_scatter", "input mask source")
def masked_scatter(call: Call, input: Value, mask: Value, source: Value) -> Value:
    ranked, masked = tensor(input), tensor(mask)
    return unplaced(call, "torch", broadcast(ranked.shape or (), masked.shape or ()), ranked.dtype, ranked.device)


@op("nonzero argwhere", "input / as_tuple=False out=None", tensor=False)
def nonzero(call: Call, input: Value, as_tuple: Value, out: Value) -> Value:
    if not isinstance(input, Tensor) or input.shape is None:
        if not isinstance(input, (Tensor, Opaque, Unknown)) or not arguments.flag(as_tuple):
            raise Undecided
        # However many axes there are, it gives a vector for each; one where there is none.
        device = input.device if isinstance(input, Tensor) else None
        count = S.counter(variant=True)
        return Sequence("tuple", None, Tensor("torch", (count,), None, "int64", device, call.node))
    ranked = tensor(input)
    count = S.counter()
    rank = len(ranked.shape or ())
    if arguments.flag(as_tuple):
        if not rank:
            raise Undecided
        return tuple_of(
            Tensor("torch", (count,), None if rank > 1 else (1,), "int64", ranked.device, call.node)
            for _ in range(rank)
        )
    # Column-major, as torch writes it.
    strides: Strides | None = (1, count) if rank > 1 else None
    return Tensor("torch", (count, rank), strides, "int64", ranked.device, call.node)


@op("unique", "input sorted=True return_inverse=False return_counts=False dim=None", tensor=False)
def unique(call: Call, input: Value, return_inverse: Value, return_counts: Value, dim: Value, **rest: Value) -> Value:
    if not isinstance(input, Tensor) or (input.shape is None and not values.is_none(dim)):
        raise Undecided
    shape: Shape = input.shape or ()
    count = arguments.some_of(input.shape)
    if values.is_none(dim):
        first = laid(call, "torch", (count,), (1,), input.dtype, input.device)
        inverse: Shape = shape
    else:
        at = arguments.axis(dim, len(shape))
        first = unplaced(call, "torch", (*shape[:at], count, *shape[at + 1 :]), input.dtype, input.device)
        inverse = (shape[at],)
    results: list[Value] = [first]
    if arguments.flag(return_inverse):
        if input.shape is None:
            results.append(Tensor("torch", dtype="int64", device=input.device, axes=input.axes, kin=input.kin))
        else:
            results.append(unplaced(call, "torch", inverse, "int64", input.device))
    if arguments.flag(return_counts):
        results.append(laid(call, "torch", (count,), (1,), "int64", input.device))
    return results[0] if len(results) == 1 else tuple_of(results)


@op("unique_consecutive", "input return_inverse=False return_counts=False dim=None", tensor=False)
def unique_consecutive(call: Call, input: Value, return_inverse: Value, return_counts: Value, dim: Value) -> Value:
    """One for each run of equal elements, or of equal slices."""
    return unique(call, input, return_inverse, return_counts, dim)


@op(
    "searchsorted torch.bucketize",
    "sorted_sequence input / out_int32=False right=False side=None sorter=None out=None boundaries=None",
)
def searchsorted(call: Call, sorted_sequence: Value, input: Value, out_int32: Value, **rest: Value) -> Value:
    wanted = sorted_sequence if call.name.endswith("bucketize") else input
    name = "int32" if arguments.flag(out_int32) else "int64"
    if isinstance(wanted, (Const, Number, Scalar)):
        return laid(call, "torch", (), (), name)
    given = tensor(wanted)
    return fresh(call, "torch", given.shape or (), name, given.device)


@op("flip fliplr flipud", "input *dims")
def flip(call: Call, input: Value, dims: list[Value]) -> Value:
    ranked = tensor(input)
    kept = layout.preserve(ranked.shape or (), ranked.strides)
    return laid(call, "torch", ranked.shape or (), kept, ranked.dtype, ranked.device, marks=ranked.marks & LASTING)


@op("roll", "input shifts dims=None")
def roll(call: Call, input: Value, shifts: Value, dims: Value) -> Value:
    ranked = tensor(input)
    strides = ranked.strides if ranked.in_order else None  # a whole turn is a clone, which keeps the order of axes
    return laid(call, "torch", ranked.shape or (), strides, ranked.dtype, ranked.device)


@op("rot90", "input k=1 dims=None")
def rot90(call: Call, input: Value, k: Value, dims: Value) -> Value:
    """A flip, which keeps the order of axes, and for an odd number of turns a transpose."""
    ranked = tensor(input)
    shape = list(ranked.shape or ())
    if len(shape) < 2:
        raise Undecided
    a, b = (0, 1) if values.is_none(dims) else arguments.axes(dims, len(shape))
    turns = arguments.whole(k) % 4
    kept = layout.preserve(ranked.shape or (), ranked.strides) if turns else None
    strides = None if kept is None else list(kept)
    if turns % 2:
        shape[a], shape[b] = shape[b], shape[a]
        if strides is not None:
            strides[a], strides[b] = strides[b], strides[a]
    return laid(call, "torch", tuple(shape), None if strides is None else tuple(strides), ranked.dtype, ranked.device)


@op("tril triu", "input diagonal=0 / out=None")
def tril(call: Call, input: Value, diagonal: Value, out: Value) -> Value:
    ranked = tensor(input)
    return laid(call, "torch", ranked.shape or (), layout.contiguous(ranked.shape or ()), ranked.dtype, ranked.device)


@op("diag", "input diagonal=0 / out=None")
def diag(call: Call, input: Value, diagonal: Value, out: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    offset = arguments.whole(diagonal)
    if len(shape) == 2:
        return copy(diagonal_of(call, ranked, offset, 0, 1), strides=(1,), layout_trail=())
    if len(shape) != 1:
        raise Undecided
    size = S.add(shape[0], abs(offset))
    return fresh(call, "torch", (size, size), ranked.dtype, ranked.device)


@op("diag_embed", "input offset=0 dim1=-2 dim2=-1")
def diag_embed(call: Call, input: Value, offset: Value, dim1: Value, dim2: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    rank = len(shape) + 1
    a, b = sorted((arguments.axis(dim1, rank), arguments.axis(dim2, rank)))
    if not shape or a == b:
        raise Undecided
    size = S.add(shape[-1], abs(arguments.whole(offset)))
    rest = list(shape[:-1])
    rest.insert(a, size)
    rest.insert(b, size)
    strides = layout.contiguous(tuple(rest)) if (a, b) == (rank - 2, rank - 1) else None
    return laid(call, "torch", tuple(rest), strides, ranked.dtype, ranked.device)


@op("torch.combinations", "input r=2 with_replacement=False")
def combinations(call: Call, input: Value, r: Value, with_replacement: Value) -> Value:
    ranked = tensor(input)
    if not arguments.at_least(arguments.count(r), 1):
        raise Undecided
    return unplaced(call, "torch", (S.symbol(), arguments.count(r)), ranked.dtype, ranked.device)


@op("multinomial", "input num_samples replacement=False / generator=None out=None")
def multinomial(call: Call, input: Value, num_samples: Value, **rest: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    return fresh(call, "torch", (*shape[:-1], arguments.count(num_samples)), "int64", ranked.device)


@op("torch.one_hot F.one_hot", "tensor num_classes=-1")
def one_hot(call: Call, num_classes: Value, **rest: Value) -> Value:
    ranked = tensor(rest["tensor"])
    size = values.size_of(num_classes)
    if size is None or size == -1:
        size = S.symbol()
    return fresh(call, "torch", (*(ranked.shape or ()), size), "int64", ranked.device)
