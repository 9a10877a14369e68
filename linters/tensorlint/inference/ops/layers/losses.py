"""Loss modules: the functional's rule with the reduction of the constructor."""

from __future__ import annotations

from collections.abc import Callable

from tensorlint.inference.ops.modules import argument, layer
from tensorlint.inference.ops.results import short, tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch import losses
from tensorlint.inference.values import NONE, LibraryObject, Value, is_none

Loss = Callable[..., Value]


def _reduction(obj: LibraryObject) -> dict[str, Value]:
    return {
        "reduction": argument(obj, "reduction"),
        "reduce": obj.arguments.get("reduce", NONE),
        "size_average": obj.arguments.get("size_average", NONE),
    }


_OLD = "size_average=None reduce=None reduction='mean'"


@layer("MSELoss L1Loss", _OLD, "input target")
@layer("SmoothL1Loss", f"{_OLD} beta=1.0", "input target")
@layer("HuberLoss", "reduction='mean' delta=1.0", "input target")
@layer(
    "PoissonNLLLoss",
    "log_input=True full=False size_average=None eps=1e-8 reduce=None reduction='mean'",
    "input target",
)
@layer("HingeEmbeddingLoss", f"margin=1.0 {_OLD}", "input target")
@layer("KLDivLoss", f"{_OLD} log_target=False", "input target")
def broadcasting(call: Call, obj: LibraryObject, input: Value, target: Value) -> Value:
    return losses.pair(call, input, target, operation=short(obj.path), **_reduction(obj))


@layer("GaussianNLLLoss", "full=False eps=1e-6 reduction='mean'", "input target var")
def gaussian_nll(call: Call, obj: LibraryObject, input: Value, target: Value, var: Value) -> Value:
    call = Call(obj.path, call.node, call.interpreter, call.default_dtype, call.default_device)
    return losses.gaussian_nll_loss(call, input, target, var, NONE, NONE, argument(obj, "reduction"))


@layer("BCELoss", "weight=None size_average=None reduce=None reduction='mean'", "input target")
def bce(call: Call, obj: LibraryObject, input: Value, target: Value) -> Value:
    losses.tell_of_refusal(call, short(obj.path), input, target)
    return same_shape(call, obj, input, target)


@layer("SoftMarginLoss", _OLD, "input target")
def same_shape(call: Call, obj: LibraryObject, input: Value, target: Value) -> Value:
    return losses.same_shape(call, input, True, beside=[target], **_reduction(obj))


@layer(
    "BCEWithLogitsLoss", "weight=None size_average=None reduce=None reduction='mean' pos_weight=None", "input target"
)
def bce_with_logits(call: Call, obj: LibraryObject, input: Value, target: Value) -> Value:
    losses.tell_of_refusal(call, short(obj.path), input, target)
    plain = all(is_none(argument(obj, name)) for name in ("weight", "pos_weight"))
    return losses.same_shape(call, input, plain, beside=[target], **_reduction(obj))


@layer(
    "CrossEntropyLoss",
    "weight=None size_average=None ignore_index=-100 reduce=None reduction='mean' label_smoothing=0.0",
    "input target",
)
@layer(
    "NLLLoss NLLLoss2d", "weight=None size_average=None ignore_index=-100 reduce=None reduction='mean'", "input target"
)
def classified(call: Call, obj: LibraryObject, input: Value, target: Value) -> Value:
    return losses.classified(call, input, target, **_reduction(obj))


@layer("MultiLabelMarginLoss", _OLD, "input target")
@layer("MultiLabelSoftMarginLoss", f"weight=None {_OLD}", "input target")
@layer("MultiMarginLoss", f"p=1 margin=1.0 weight=None {_OLD}", "input target")
def per_sample(call: Call, obj: LibraryObject, input: Value, target: Value) -> Value:
    return losses.per_sample(call, input, **_reduction(obj), dropped=1, beside=[target])


@layer("MarginRankingLoss", f"margin=0.0 {_OLD}", "input1 input2 target")
def margin_ranking(call: Call, obj: LibraryObject, input1: Value, input2: Value, target: Value) -> Value:
    return losses.margin_ranking_loss(call, input1, input2, target, margin=NONE, **_reduction(obj))


@layer("CosineEmbeddingLoss", f"margin=0.0 {_OLD}", "input1 input2 target")
def cosine_embedding(call: Call, obj: LibraryObject, input1: Value, input2: Value, target: Value) -> Value:
    return losses.cosine_embedding_loss(call, input1, input2, target, **_reduction(obj))


@layer("TripletMarginLoss", f"margin=1.0 p=2.0 eps=1e-6 swap=False {_OLD}", "anchor positive negative")
def triplet_margin(call: Call, obj: LibraryObject, anchor: Value, positive: Value, negative: Value) -> Value:
    return losses.triplet_margin_loss(call, anchor, positive, negative, **_reduction(obj))


@layer("CTCLoss", "blank=0 reduction='mean' zero_infinity=False", "log_probs targets input_lengths target_lengths")
def ctc(
    call: Call, obj: LibraryObject, log_probs: Value, input_lengths: Value, target_lengths: Value, **rest: Value
) -> Value:
    return losses.ctc_loss(call, log_probs, input_lengths, target_lengths, argument(obj, "reduction"))


@layer("TripletMarginWithDistanceLoss", "/ distance_function=None margin=1.0 swap=False reduction='mean'",
       "anchor positive negative")  # fmt: skip
def triplet_margin_with_distance(
    call: Call, obj: LibraryObject, anchor: Value, positive: Value, negative: Value
) -> Value:
    distance, reduction = argument(obj, "distance_function"), argument(obj, "reduction")
    return losses.triplet_margin_with_distance_loss(call, anchor, positive, negative, distance, reduction)


@layer("AdaptiveLogSoftmaxWithLoss",
       "in_features n_classes cutoffs div_value=4.0 head_bias=False device=None dtype=None", "input target",
       tensor=False)  # fmt: skip
def adaptive_log_softmax(call: Call, obj: LibraryObject, input: Value, target: Value) -> Value:
    """The target's log probability in each sample, and the loss, their negative mean."""
    given = tensor(input)
    shape = given.shape or ()
    if len(shape) not in (1, 2):
        raise Undecided
    return tuple_of(unplaced(call, "torch", one, given.dtype, given.device) for one in (shape[:-1], ()))
