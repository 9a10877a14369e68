"""Linear and bilinear maps and the embedding table of torch.nn.functional."""

from __future__ import annotations

from tensorlint.inference import known_axes
from tensorlint.inference import sizes as S
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.results import COLUMN, fresh, surviving, unplaced, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Tensor, Value


@op("F.linear", "input weight bias=None")
def linear(call: Call, input: Value, weight: Value, bias: Value) -> Value:
    if not isinstance(weight, Tensor) or weight.shape is None or not isinstance(input, Tensor):
        raise Undecided
    if len(weight.shape) == 1:
        ranked = tensor(input)
        return unplaced(call, "torch", (ranked.shape or (1,))[:-1], ranked.dtype, ranked.device)
    return linear_to(call, input, weight.shape[-1], weight.shape[0], weight.dtype)


def linear_to(
    call: Call, input: Tensor, inputs: Size, outputs: Size, dtype: str | None, how: str | None = None
) -> Tensor:
    name = input.dtype if input.dtype is not None else dtype
    if input.shape is None:
        result = unranked("torch", name, input.device)
        result.axes = known_axes.with_last(known_axes.of(input), outputs)
        if outputs == 1:
            result.marks = COLUMN
            result.how = how
        return result
    shape = input.shape
    if not shape:
        raise Undecided
    agree(shape[-1], inputs)
    target = (*shape[:-1], outputs)
    marks = COLUMN if outputs == 1 else surviving(input.marks, target)
    return fresh(call, "torch", target, name, input.device, marks=marks, how=how)


@op("F.bilinear", "input1 input2 weight bias=None")
def bilinear(call: Call, input1: Value, input2: Value, weight: Value, bias: Value) -> Value:
    first, by = tensor(input1), tensor(weight)
    return fresh(call, "torch", (*(first.shape or ())[:-1], (by.shape or ())[0]), first.dtype, first.device)


@op("F.embedding", "input weight padding_idx=None max_norm=None norm_type=2.0 scale_grad_by_freq=False sparse=False")
def embedding(call: Call, input: Value, weight: Value, **rest: Value) -> Value:
    table = tensor(weight)
    if len(table.shape or ()) != 2:
        raise Undecided
    if not isinstance(input, Tensor) or input.shape is None:
        return looked_up(input, (table.shape or ())[1], table.dtype)
    ranked = input
    return fresh(call, "torch", (*(ranked.shape or ()), (table.shape or ())[1]), table.dtype, table.device)


@op("F.embedding_bag", "input weight offsets=None max_norm=None norm_type=2 scale_grad_by_freq=False mode='mean' sparse=False "
    "per_sample_weights=None include_last_offset=False padding_idx=None")  # fmt: skip
def embedding_bag(
    call: Call, input: Value, weight: Value, offsets: Value, include_last_offset: Value, **rest: Value
) -> Value:
    """A row for each bag: of indices by rows, or from offset to offset. Given the other way round torch turns the two."""
    if dtypes.is_floating(getattr(input, "dtype", None)):
        input, weight = weight, input
    table, ranked = tensor(weight), tensor(input)
    if not dtypes.is_floating(table.dtype):
        raise Undecided
    shape = ranked.shape or ()
    if len(table.shape or ()) != 2 or len(shape) not in (1, 2):
        raise Undecided
    bags = shape[0]
    if len(shape) == 1:
        ends = tensor(offsets).shape or ()
        if len(ends) != 1:
            raise Undecided
        bags = S.subtract(ends[0], 1) if arguments.flag(include_last_offset) else ends[0]
    return unplaced(call, "torch", (bags, (table.shape or ())[1]), table.dtype, table.device)


def looked_up(indices: Value, width: Size, dtype: str | None) -> Tensor:
    """Rows of a table, picked by indices of which nobody knows how many axes they have."""
    result = unranked("torch", dtype, indices.device if isinstance(indices, Tensor) else None)
    result.axes = known_axes.with_axis(known_axes.of(indices), -1, width)
    return result
