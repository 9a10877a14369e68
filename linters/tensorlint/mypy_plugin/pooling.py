"""Max pooling: torch annotates the `input` and not the result, which hangs on how the layer was made.

It is a Tensor, or (Tensor, Tensor) with `return_indices=True`.
"""

from __future__ import annotations

from typing import Any

from mypy.nodes import ARG_POS, CallExpr, Expression, MemberExpr, NameExpr
from mypy.types import CallableType, Instance, ProperType, get_proper_type

from tensorlint.mypy_plugin.modules import METADATA, instance_of

# Each layer, and how many arguments come before its `return_indices`.
POSITIONS = {
    **dict.fromkeys(("MaxPool1d", "MaxPool2d", "MaxPool3d"), 4),
    **dict.fromkeys(("AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d"), 1),
    **dict.fromkeys(("FractionalMaxPool2d", "FractionalMaxPool3d"), 3),
}
POOLS = frozenset(f"torch.nn.modules.pooling.{name}" for name in POSITIONS)


def is_plain_pool(call: Expression) -> bool:
    """`nn.MaxPool2d(2)`: called by a pooling layer's name, and without `return_indices`, by keyword, place or `**`.

    The name is enough, as this is asked before mypy knows what names in functions are; the type is asked later.
    """
    return (
        isinstance(call, CallExpr)
        and isinstance(call.callee, (NameExpr, MemberExpr))
        and call.callee.name in POSITIONS
        and "return_indices" not in call.arg_names
        and all(kind.is_named() or kind == ARG_POS for kind in call.arg_kinds)
        and call.arg_kinds.count(ARG_POS) <= POSITIONS[call.callee.name]
    )


def plain_pool_call(found: CallableType, context: Any, api: Any) -> ProperType | None:
    """A pooling layer's call where the layer in sight was made without `return_indices`.

    In sight: `nn.MaxPool2d(2)(x)`, and `self.pool(x)` in a class that gives `self.pool` nothing but such layers.
    """
    if not isinstance(context, CallExpr):
        return None
    callee = context.callee
    if not is_plain_pool(callee):
        if not isinstance(callee, MemberExpr) or not isinstance(callee.expr, NameExpr):
            return None
        holder = instance_of(api.lookup_type(callee.expr))
        if holder is None:
            return None
        said = {base.metadata.get(METADATA, {}).get("pools", {}).get(callee.name) for base in holder.type.mro}
        if said - {None} != {"plain"}:
            return None
    tensor = get_proper_type(found.arg_types[0]) if found.arg_types else None
    return found.copy_modified(ret_type=tensor) if isinstance(tensor, Instance) else None
