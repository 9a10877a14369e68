"""Losses: their reduction, and the shapes of those that broadcast in silence."""

from __future__ import annotations

from collections.abc import Sequence as Sequence_

from tensorlint.inference import known_axes, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import dtypes
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.results import REDUCTION, common_device, short, unplaced
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Tensor, Value, copy

# Losses that broadcast their input against the target without a word (or with a warning), by the functional's name.
BROADCASTING = {
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "poisson_nll_loss",
    "hinge_embedding_loss",
    "kl_div",
    "gaussian_nll_loss",
}


def spelled(call: Call) -> str:
    return short(call.name)


def reduced(
    call: Call,
    shape: Shape | None,
    reduction: Value,
    of: Tensor,
    reduce: Value = values.NONE,
    size_average: Value = values.NONE,
    beside: Sequence_[Value] = (),
) -> Value:
    """The loss itself: 0-dim where it is summed or averaged, `shape` with reduction="none".

    Of two floating types (`of` and what is `beside` it) some losses take the one, some the other: it has none then.
    """
    found = {one.dtype for one in (of, *beside) if isinstance(one, Tensor)}
    floating = [name for name in found if dtypes.is_floating(name)]
    whole = all(name is not None and dtypes.category(name) <= dtypes.FLOAT for name in found)
    dtype = floating[0] if len(floating) == 1 and whole else None
    if not values.is_none(reduce) or not values.is_none(size_average):
        raise Undecided
    if not isinstance(reduction, Const) or not isinstance(reduction.value, str):
        raise Undecided
    if reduction.value == "none":
        if shape is None:
            raise Undecided
        return (
            unplaced(call, "torch", shape, dtype, of.device)
            if len(shape) != 1 or shape == (1,)
            else Tensor("torch", shape, (1,), dtype, of.device, call.node)
        )
    if reduction.value not in ("mean", "sum", "batchmean"):
        raise Undecided
    return Tensor("torch", (), (), dtype, of.device, call.node, None, REDUCTION)


def tensors(*given: Value) -> list[Tensor]:
    """The values as tensors, of which nothing need be known, or the transfer gives up."""
    found = [each for each in given if isinstance(each, Tensor)]
    if len(found) < len(given):
        raise Undecided
    return found


def together(*operands: Tensor) -> Shape | None:
    """The shape that the tensors broadcast to, if theirs are known."""
    shapes = [each.shape for each in operands if each.shape is not None]
    return broadcast(*shapes) if len(shapes) == len(operands) else None


def tell(call: Call, operation: str, left: Value, right: Value) -> Shape | None:
    """Report a loss whose operands' shapes surely differ; the shape that they broadcast to."""
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return None
    a, b = left.shape, right.shape
    if a is None or b is None:
        _tell_of_column(call, operation, left, right)
        return None
    if a == b:
        return a
    try:
        shape: Shape | None = broadcast(a, b)
    except Undecided:
        return None
    if all(size == 1 for size in a) or all(size == 1 for size in b):
        return shape
    differs = len(a) != len(b) or any(
        x != y and ((x == 1 and S.surely_not_one(y)) or (y == 1 and S.surely_not_one(x)))
        for x, y in zip(a, b, strict=True)
    )
    if differs:
        call.report("loss", operation=operation, left=left, right=right, shape=shape)
    return shape


def _tell_of_column(call: Call, operation: str, left: Tensor, right: Tensor, refused: bool = False) -> None:
    """A column of which nobody knows how many axes it has, and a vector; with one axis it would be a single number."""
    for column, row in ((left, right), (right, left)):
        if column.shape is None and column.axes and row.rank == 1 and row.shape != (1,):
            rank = known_axes.least_rank(column.axes)
            several = all(map(S.surely_not_one, row.shape or ()))
            if (rank >= 2 or several) and column.axes.get(-1) == 1:
                shape = tuple(column.axes.get(axis, S.symbol()) for axis in range(-rank, 0))
                shown = copy(column, shape=shape)
                operands = (shown, right) if column is left else (left, shown)
                result = (*shape[:-1], *(row.shape or ()))
                call.report(
                    "loss",
                    operation=operation,
                    left=operands[0],
                    right=operands[1],
                    shape=result,
                    more_axes=shown,
                    refused=refused,
                )


def tell_of_refusal(call: Call, operation: str, input: Value, target: Value) -> None:
    """Report operands of surely different shapes to a loss that broadcasts nothing: torch compares their sizes and raises."""
    if not isinstance(input, Tensor) or not isinstance(target, Tensor):
        return
    a, b = input.shape, target.shape
    if a is None or b is None:
        _tell_of_column(call, operation, input, target, refused=True)
    elif len(a) != len(b) or any(map(_surely_differ, a, b)):
        call.report("loss", operation=operation, left=input, right=target, shape=None, refused=True)


def _surely_differ(a: Size, b: Size) -> bool:
    """Whether two sizes cannot be equal: two numbers, or a 1 and what has a name."""
    if isinstance(a, int) and isinstance(b, int):
        return a != b
    return (a == 1 and S.surely_not_one(b)) or (b == 1 and S.surely_not_one(a))


_PAIR = "input target size_average=None reduce=None reduction='mean'"


def pair(
    call: Call,
    input: Value,
    target: Value,
    reduction: Value,
    reduce: Value,
    size_average: Value,
    operation: str | None = None,
) -> Value:
    shape = tell(call, operation or spelled(call), input, target)
    if not isinstance(input, Tensor):
        raise Undecided
    result = reduced(call, shape, reduction, input, reduce, size_average, [target])
    if isinstance(result, Tensor) and isinstance(target, Tensor):
        result.device = common_device([input, target])
    return result


@op("F.mse_loss F.l1_loss", f"{_PAIR} weight=None")
def mse_loss(
    call: Call, input: Value, target: Value, size_average: Value, reduce: Value, reduction: Value, weight: Value
) -> Value:
    result = pair(call, input, target, reduction, reduce, size_average)
    if isinstance(weight, Tensor) and isinstance(result, Tensor) and result.dtype != weight.dtype:
        result.dtype = None
    return result


@op("F.smooth_l1_loss", f"{_PAIR} beta=1.0")
def smooth_l1_loss(
    call: Call, input: Value, target: Value, size_average: Value, reduce: Value, reduction: Value, beta: Value
) -> Value:
    return pair(call, input, target, reduction, reduce, size_average)


@op("F.huber_loss", "input target reduction='mean' delta=1.0 weight=None")
def huber_loss(call: Call, input: Value, target: Value, reduction: Value, delta: Value, weight: Value) -> Value:
    result = pair(call, input, target, reduction, values.NONE, values.NONE)
    if isinstance(weight, Tensor) and isinstance(result, Tensor) and result.dtype != weight.dtype:
        result.dtype = None
    return result


@op(
    "F.poisson_nll_loss",
    "input target log_input=True full=False size_average=None eps=1e-8 reduce=None reduction='mean'",
)
def poisson_nll_loss(
    call: Call, input: Value, target: Value, size_average: Value, reduce: Value, reduction: Value, **rest: Value
) -> Value:
    return pair(call, input, target, reduction, reduce, size_average)


@op("F.hinge_embedding_loss", "input target margin=1.0 size_average=None reduce=None reduction='mean'")
def hinge_embedding_loss(
    call: Call, input: Value, target: Value, size_average: Value, reduce: Value, reduction: Value, margin: Value
) -> Value:
    return pair(call, input, target, reduction, reduce, size_average)


@op("F.kl_div", f"{_PAIR} log_target=False")
def kl_div(
    call: Call, input: Value, target: Value, size_average: Value, reduce: Value, reduction: Value, log_target: Value
) -> Value:
    return pair(call, input, target, reduction, reduce, size_average)


@op("F.gaussian_nll_loss", "input target var full=False eps=1e-6 reduction='mean'")
def gaussian_nll_loss(
    call: Call, input: Value, target: Value, var: Value, full: Value, eps: Value, reduction: Value
) -> Value:
    shape = tell(call, spelled(call), input, target)
    if not isinstance(input, Tensor):
        raise Undecided
    if isinstance(var, Tensor) and var.shape is not None and shape is not None and var.shape != shape:
        shape = None
    return reduced(call, shape, reduction, input, beside=[target, var])


# Losses that insist on equal shapes, or whose target has another form on purpose.


@op("F.binary_cross_entropy", "input target weight=None size_average=None reduce=None reduction='mean'")
def binary_cross_entropy(
    call: Call, input: Value, target: Value, size_average: Value, reduce: Value, reduction: Value, weight: Value
) -> Value:
    tell_of_refusal(call, spelled(call), input, target)
    return same_shape(call, input, True, reduction, reduce, size_average, [])


@op(
    "F.binary_cross_entropy_with_logits",
    "input target weight=None size_average=None reduce=None reduction='mean' pos_weight=None",
)
def bce_with_logits(
    call: Call,
    input: Value,
    target: Value,
    size_average: Value,
    reduce: Value,
    reduction: Value,
    weight: Value,
    pos_weight: Value,
) -> Value:
    tell_of_refusal(call, spelled(call), input, target)
    plain = values.is_none(weight) and values.is_none(pos_weight)
    return same_shape(call, input, plain, reduction, reduce, size_average, [target])


@op("F.soft_margin_loss F.multilabel_margin_loss", _PAIR)
def soft_margin_loss(
    call: Call, input: Value, target: Value, size_average: Value, reduce: Value, reduction: Value
) -> Value:
    if call.name.endswith("multilabel_margin_loss"):
        return per_sample(call, input, reduction, reduce, size_average, 1)
    return same_shape(call, input, True, reduction, reduce, size_average, [target])


def same_shape(
    call: Call,
    input: Value,
    known: bool,
    reduction: Value,
    reduce: Value,
    size_average: Value,
    beside: Sequence_[Value],
) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    return reduced(call, input.shape if known else None, reduction, input, reduce, size_average, beside)


def per_sample(
    call: Call,
    input: Value,
    reduction: Value,
    reduce: Value,
    size_average: Value,
    dropped: int,
    beside: Sequence_[Value] = (),
) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    shape = None if input.shape is None or len(input.shape) != dropped + 1 else input.shape[:-dropped]
    return reduced(call, shape, reduction, input, reduce, size_average, beside)


@op("F.multilabel_soft_margin_loss", "input target weight=None size_average=None reduce=None reduction='mean'")
def multilabel_soft_margin_loss(
    call: Call, input: Value, target: Value, size_average: Value, reduce: Value, reduction: Value, weight: Value
) -> Value:
    return per_sample(call, input, reduction, reduce, size_average, 1, [target, weight])


@op("F.multi_margin_loss", "input target p=1 margin=1.0 weight=None size_average=None reduce=None reduction='mean'")
def multi_margin_loss(
    call: Call, input: Value, target: Value, size_average: Value, reduce: Value, reduction: Value, **rest: Value
) -> Value:
    return per_sample(call, input, reduction, reduce, size_average, 1)


@op(
    "F.cross_entropy",
    "input target weight=None size_average=None ignore_index=-100 reduce=None reduction='mean' label_smoothing=0.0",
)
def cross_entropy(
    call: Call, input: Value, target: Value, size_average: Value, reduce: Value, reduction: Value, **rest: Value
) -> Value:
    return classified(call, input, target, reduction, reduce, size_average)


@op("F.nll_loss", "input target weight=None size_average=None ignore_index=-100 reduce=None reduction='mean'")
def nll_loss(
    call: Call, input: Value, target: Value, size_average: Value, reduce: Value, reduction: Value, **rest: Value
) -> Value:
    return classified(call, input, target, reduction, reduce, size_average)


def classified(call: Call, input: Value, target: Value, reduction: Value, reduce: Value, size_average: Value) -> Value:
    """(N, C, ...) with class indices (N, ...) or probabilities (N, C, ...)."""
    indices = target.shape if isinstance(target, Tensor) and target.dtype == "int64" else None
    if not isinstance(input, Tensor):
        if indices is None:
            raise Undecided
        input = Tensor("torch")  # scores of whatever gave them
    shape: Shape | None = None
    if input.shape is not None:
        shape = () if len(input.shape) == 1 else (input.shape[0], *input.shape[2:]) if input.shape else None
    else:
        shape = indices  # one loss for each
    beside = [target] if isinstance(target, Tensor) and dtypes.is_floating(target.dtype) else []
    return reduced(call, shape, reduction, input, reduce, size_average, beside)


@op(
    "F.ctc_loss",
    "log_probs targets input_lengths target_lengths blank=0 reduction='mean' zero_infinity=False",
)
def ctc_loss(
    call: Call, log_probs: Value, input_lengths: Value, target_lengths: Value, reduction: Value, **rest: Value
) -> Value:
    one = log_probs if isinstance(log_probs, Tensor) else Tensor("torch")
    shape: Shape | None = None
    if one.shape is not None:
        shape = (one.shape[1],) if len(one.shape) == 3 else ()
    else:  # of several lengths there are as many losses
        counts = [each.shape for each in (input_lengths, target_lengths) if isinstance(each, Tensor)]
        shape = next((each for each in counts if each and len(each) == 1 and S.surely_not_one(each[0])), None)
    if one is not log_probs and shape is None:
        raise Undecided
    return reduced(call, shape, reduction, one)


@op(
    "F.margin_ranking_loss",
    "input1 input2 target margin=0 size_average=None reduce=None reduction='mean'",
)
def margin_ranking_loss(
    call: Call,
    input1: Value,
    input2: Value,
    target: Value,
    size_average: Value,
    reduce: Value,
    reduction: Value,
    margin: Value,
) -> Value:
    a, b, c = tensors(input1, input2, target)
    return reduced(call, together(a, b, c), reduction, a, reduce, size_average, [b, c])


@op(
    "F.cosine_embedding_loss",
    "input1 input2 target margin=0 size_average=None reduce=None reduction='mean'",
)
def cosine_embedding_loss(
    call: Call,
    input1: Value,
    input2: Value,
    target: Value,
    size_average: Value,
    reduce: Value,
    reduction: Value,
    **rest: Value,
) -> Value:
    a, c = tensors(input1, target)
    return reduced(call, c.shape, reduction, a, reduce, size_average, [input2])  # the target is only compared with 1


@op(
    "F.triplet_margin_loss",
    "anchor positive negative margin=1.0 p=2 eps=1e-6 swap=False size_average=None reduce=None reduction='mean'",
)
def triplet_margin_loss(
    call: Call,
    anchor: Value,
    positive: Value,
    negative: Value,
    size_average: Value,
    reduce: Value,
    reduction: Value,
    **rest: Value,
) -> Value:
    a, b, c = tensors(anchor, positive, negative)
    shape = together(a, b, c)
    return reduced(call, shape[:-1] if shape else None, reduction, a, reduce, size_average, [b, c])


@op("F.triplet_margin_with_distance_loss",
    "anchor positive negative / distance_function=None margin=1.0 swap=False reduction='mean'")  # fmt: skip
def triplet_margin_with_distance_loss(
    call: Call,
    anchor: Value,
    positive: Value,
    negative: Value,
    distance_function: Value,
    reduction: Value,
    **rest: Value,
) -> Value:
    a, b, c = tensors(anchor, positive, negative)
    shape = together(a, b, c)
    if not values.is_none(distance_function):
        shape = None  # what a distance is of, the function says
    return reduced(call, shape[:-1] if shape else None, reduction, a, beside=[b, c])
