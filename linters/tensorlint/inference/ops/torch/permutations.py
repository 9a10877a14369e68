"""Permutations of axes: permute, transpose, T, movedim."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.results import laid, permuted
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import TORCH, op
from tensorlint.inference.values import Sequence, Tensor, Value, copy


@op("permute", "input *dims")
def permute(call: Call, input: Value, dims: list[Value]) -> Value:
    if len(dims) == 1 and isinstance(dims[0], Sequence):
        given = dims[0].items
        if given is None:
            raise Undecided
        dims = given
    if isinstance(input, Tensor) and input.shape is None:
        known = input.axes or {}
        order = tuple(arguments.axis(dim, len(dims)) for dim in dims)
        return laid(
            call,
            input.framework,
            tuple(known[axis] if axis in known else S.symbol() for axis in order),
            None,
            input.dtype,
            input.device,
        )
    ranked = tensor(input)
    rank = len(ranked.shape or ())
    if len(dims) != rank:
        raise Undecided
    return permuted(call, ranked, tuple(arguments.axis(dim, rank) for dim in dims), "permuted")


@op("transpose swapaxes swapdims", "input dim0 dim1")
def transpose(call: Call, input: Value, dim0: Value, dim1: Value) -> Value:
    ranked = tensor(input)
    rank = len(ranked.shape or ())
    a, b = arguments.axis(dim0, rank), arguments.axis(dim1, rank)
    if rank <= 1:
        return ranked
    order = list(range(rank))
    order[a], order[b] = order[b], order[a]
    return permuted(call, ranked, tuple(order), "transposed")


def flip_axes(call: Call, ranked: Tensor, spelling: str) -> Tensor:
    shape = ranked.shape or ()
    if len(shape) == 1:
        call.report("rank_one_transpose", tensor=ranked, spelling=spelling)
        return copy(ranked, marks=ranked.marks | {"transposed"}, source=ranked)
    call.report("matrix_transpose")
    return permuted(call, ranked, tuple(reversed(range(len(shape)))), "transposed")


@op("t", "input")
def t(call: Call, input: Value) -> Value:
    ranked = tensor(input)
    if len(ranked.shape or ()) > 2:
        raise Undecided
    return flip_axes(call, ranked, ".t()")


@TORCH.attribute("T")
def upper_t(call: Call, input: Value) -> Value:
    return flip_axes(call, tensor(input), ".T")


@TORCH.attribute("H")
def upper_h(call: Call, input: Value) -> Value:
    ranked = tensor(input)
    if len(ranked.shape or ()) not in (0, 2):
        raise Undecided
    return flip_axes(call, ranked, ".H")


@TORCH.attribute("mT mH")
def matrix_t(call: Call, input: Value) -> Value:
    ranked = tensor(input)
    rank = len(ranked.shape or ())
    if rank < 2:
        raise Undecided
    return permuted(call, ranked, (*range(rank - 2), rank - 1, rank - 2), "transposed")


@op("adjoint", "input")
def adjoint(call: Call, input: Value) -> Value:
    return matrix_t(call, input)


def moved(rank: int, sources: tuple[int, ...], targets: tuple[int, ...]) -> tuple[int, ...]:
    if len(sources) != len(targets) or len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise Undecided
    if rank == 0:
        return ()
    order: list[int | None] = [None] * rank
    for source, target in zip(sources, targets, strict=True):
        order[target] = source
    rest = iter(axis for axis in range(rank) if axis not in sources)
    return tuple(next(rest) if axis is None else axis for axis in order)


@op("movedim moveaxis", "input source destination")
def movedim(call: Call, input: Value, source: Value, destination: Value) -> Value:
    ranked = tensor(input)
    rank = len(ranked.shape or ())
    order = moved(rank, arguments.axes(source, rank), arguments.axes(destination, rank))
    return permuted(call, ranked, order, "moved")
