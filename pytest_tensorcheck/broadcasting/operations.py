"""Which functions broadcast their operands, and what they are called in a message. Data."""

from __future__ import annotations

from typing import NamedTuple

from pytest_tensorcheck.broadcasting.verdict import Kind


def words(text: str) -> frozenset[str]:
    """A table of names is read more easily without quotes."""
    return frozenset(text.split())


class Operation(NamedTuple):
    """`title` is the word in the message; `operands` the names of the operand parameters, in order."""

    title: str
    kind: Kind
    operands: tuple[str, ...] = ("input", "other")


def _rows(title: str, kind: Kind, names: str, operands: tuple[str, ...] = ("input", "other")) -> dict[str, Operation]:
    return {name: Operation(title, kind, operands) for name in names.split()}


# By the name in torch, torch.Tensor (also as `__name__`, `__rname__`, `name_`), torch.special or torch.linalg.
ELEMENTWISE: dict[str, Operation] = {
    **_rows("addition", "arithmetic", "add radd iadd"),
    **_rows("subtraction", "arithmetic", "sub subtract rsub isub"),
    **_rows("multiplication", "scaling", "mul multiply rmul imul"),
    **_rows("division", "scaling", "div divide true_divide truediv rtruediv itruediv rdiv"),
    **_rows("floor division", "scaling", "floor_divide floordiv rfloordiv ifloordiv"),
    **_rows("remainder", "scaling", "remainder fmod mod rmod"),
    **_rows("power", "scaling", "pow rpow float_power ipow"),
    **_rows("maximum", "arithmetic", "maximum fmax max"),
    **_rows("minimum", "arithmetic", "minimum fmin min"),
    **_rows("comparison ==", "equality", "eq"),
    **_rows("comparison !=", "equality", "ne not_equal"),
    **_rows("comparison <", "order", "lt less"),
    **_rows("comparison <=", "order", "le less_equal"),
    **_rows("comparison >", "order", "gt greater"),
    **_rows("comparison >=", "order", "ge greater_equal"),
    **_rows("isclose", "equality", "isclose"),
    **_rows("allclose", "equality", "allclose"),
    **_rows("logical and", "logic", "logical_and bitwise_and and rand iand"),
    **_rows("logical or", "logic", "logical_or bitwise_or or ror ior"),
    **_rows("logical xor", "logic", "logical_xor bitwise_xor xor rxor ixor"),
    **_rows("bit shift", "arithmetic", "bitwise_left_shift bitwise_right_shift lshift rlshift rshift rrshift"),
    **_rows("atan2", "arithmetic", "atan2 arctan2"),
    **_rows("hypot", "arithmetic", "hypot"),
    **_rows("copysign", "arithmetic", "copysign"),
    **_rows("nextafter", "arithmetic", "nextafter"),
    **_rows("logaddexp", "arithmetic", "logaddexp logaddexp2"),
    **_rows("xlogy", "scaling", "xlogy xlog1py"),
    **_rows("ldexp", "scaling", "ldexp"),
    **_rows("heaviside", "arithmetic", "heaviside", ("input", "values")),
    **_rows("gcd", "arithmetic", "gcd lcm"),
    **_rows("zeta", "arithmetic", "zeta polygamma"),
    **_rows("dist", "arithmetic", "dist"),
    **_rows("clamp", "order", "clamp clip", ("input", "min", "max")),
    **_rows("clamp", "order", "clamp_min", ("input", "min")),
    **_rows("clamp", "order", "clamp_max", ("input", "max")),
    **_rows("lerp", "arithmetic", "lerp", ("input", "end", "weight")),
    **_rows("addcmul", "arithmetic", "addcmul addcdiv", ("input", "tensor1", "tensor2")),
    **_rows("torch.where", "choice", "where", ("condition", "input", "other")),
    **_rows("masked_fill", "choice", "masked_fill", ("input", "mask")),
    **_rows("complex", "arithmetic", "complex", ("real", "imag")),
    **_rows("polar", "scaling", "polar", ("abs", "angle")),
}  # fmt: skip

# In torch.nn.functional. binary_cross_entropy and soft_margin_loss refuse unequal shapes by themselves.
FUNCTIONAL: dict[str, Operation] = {
    **{
        name: Operation(name, "loss", ("input", "target"))
        for name in (
            "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "hinge_embedding_loss",
            "gaussian_nll_loss", "kl_div",
        )
    },
    "margin_ranking_loss": Operation("margin_ranking_loss", "loss", ("input1", "input2", "target")),
    "cosine_similarity": Operation("cosine_similarity", "arithmetic", ("x1", "x2")),
    "pairwise_distance": Operation("pairwise_distance", "arithmetic", ("x1", "x2")),
}  # fmt: skip

# How a tensor got its axes.
STRONG = words(
    "unsqueeze unsqueeze_ expand expand_as broadcast_to broadcast_tensors meshgrid unflatten atleast_2d "
    "atleast_3d expand_dims cartesian_prod tile repeat column_stack ix_"
)
WEAK = words("view reshape view_as reshape_as")
TRANSPOSE = words("T t t_ mT H mH adjoint transpose transpose_ permute swapaxes swapdims movedim moveaxis")
GRID = words("arange linspace logspace range")
PREDICTION = words("argmax argmin topk max min sort argsort round bernoulli multinomial")

# Elementwise functions of one array: what the array was, the result still is (an axis given on purpose, a grid).
PASSES_ON = words(
    "abs neg positive exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square sin cos tan asin acos atan "
    "sinh cosh tanh sigmoid relu softplus floor ceil round trunc reciprocal sign float double half "
    "bfloat16 int long bool to type type_as clone contiguous detach cpu cuda requires_grad_ logical_not "
    "bitwise_not data real imag astype copy ascontiguousarray negative absolute float_power pow add sub "
    "mul div true_divide rsub radd rmul rtruediv truediv floordiv subtract multiply divide remainder mod "
    "eq ne lt le gt ge power rpow deg2rad logit erf nan_to_num as_subclass masked_fill floor_divide clamp clip"
)
