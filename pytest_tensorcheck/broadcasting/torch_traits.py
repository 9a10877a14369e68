"""What each function of torch is to the guard: an operation that broadcasts, and what it does to its result's axes.

Found out once for each function object, from its name and the tables in `operations`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pytest_tensorcheck.broadcasting import operations as ops
from pytest_tensorcheck.broadcasting.operations import Operation


class Trait(NamedTuple):
    """What a function does to the provenance of its result. `passes_on` keeps what its one tensor operand had."""

    explicit: str = ""
    grid: bool = False
    prediction: bool = False
    passes_on: bool = False
    reshapes: bool = False
    keepdim: bool = False
    inplace: bool = False
    indexes: bool = False


PLAIN = Trait()


def function_name(function: Any) -> str:
    """`sub` for torch.sub, Tensor.sub, Tensor.sub_ and Tensor.__sub__; the attribute's name for a getter."""
    name = getattr(function, "__name__", "")
    if name == "__get__":
        name = getattr(getattr(function, "__self__", None), "__name__", "")
    if name.startswith("__") and name.endswith("__"):
        name = name[2:-2]
        return name if name in ops.ELEMENTWISE or name == "getitem" else f"__{name}__"
    if name.startswith("special_"):
        name = name[8:]
    return name


class _Operations(dict[Any, "Operation | None"]):
    """Function -> the operation it is, found out once for each function."""

    def __missing__(self, function: Any) -> Operation | None:
        name = function_name(function)
        found = None
        if getattr(function, "__module__", None) == "torch.nn.functional" or name in ("cosine_similarity",):
            found = ops.FUNCTIONAL.get(name)
        if found is None and getattr(function, "__module__", "") != "torch.nn.functional":
            found = ops.ELEMENTWISE.get(name) or ops.ELEMENTWISE.get(name.removesuffix("_"))
            if found is None and name.endswith("_loss"):  # torch.poisson_nll_loss and others without a Python layer
                found = ops.FUNCTIONAL.get(name)
        self[function] = found
        return found


class _Traits(dict[Any, Trait]):
    def __missing__(self, function: Any) -> Trait:
        name = function_name(function)
        bare = name.removesuffix("_")
        explicit = (
            "strong"
            if name in ops.STRONG
            else "weak"
            if name in ops.WEAK
            else "transpose"
            if name in ops.TRANSPOSE
            else ""
        )
        trait = Trait(
            explicit=explicit,
            grid=name in ops.GRID,
            prediction=name in ops.PREDICTION,
            passes_on=name in ops.PASSES_ON or bare in ops.PASSES_ON,
            reshapes=bool(explicit) or name in _RESHAPES,
            keepdim=name in _REDUCTIONS,
            indexes=name == "getitem",
            inplace=getattr(function, "__name__", "") in _AUGMENTED
            or (name.endswith("_") and not name.endswith("__") and bare not in ("unsqueeze", "squeeze", "t")),
        )
        if trait == PLAIN:
            trait = PLAIN
        self[function] = trait
        return trait


_RESHAPES = ops.words("squeeze squeeze_ flatten ravel getitem select narrow index_select gather unbind split chunk")
_REDUCTIONS = ops.words(
    "sum mean prod std var max min amax amin argmax argmin median nanmedian mode logsumexp norm nansum "
    "nanmean all any quantile nanquantile std_mean var_mean aminmax kthvalue linalg_norm vector_norm "
    "linalg_vector_norm count_nonzero cosine_similarity pairwise_distance"
)

# `a -= b`. What writes into an operand cannot make it grow: torch refuses, or the operand has the shape already.
_AUGMENTED = ops.words(
    "__iadd__ __isub__ __imul__ __idiv__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __iand__ __ior__ __ixor__ "
    "__ilshift__ __irshift__"
)
OPERATIONS = _Operations()
TRAITS = _Traits()
