"""A tensor that meets a reduction of itself with more axes than it has: `x - x.mean(1).view(-1, 1, 1)` of a matrix `x`.

With the axes that the reduction took away as axes of size 1, the two line up. One more, and the first axis stands in front
of the tensor's own: each row meets the mean of each other one.
A mask that has an axis too many behind the batch does the same.
"""

from __future__ import annotations

import ast

from tensorlint.inference.outcomes import is_product
from tensorlint.inference.state import State
from tensorlint.inference.values import Library, Tensor
from tensorlint.inference.walking import walk

_REDUCE = frozenset([
    "sum", "mean", "std", "var", "min", "max", "amin", "amax", "norm", "vector_norm", "median", "prod", "logsumexp",
    "nansum", "nanmean", "nanstd", "nanmin", "nanmax", "nanmedian", "quantile", "percentile",
])  # fmt: skip
# What leaves the axes that are kept in front, or the numbers in their places.
_LEAVE = frozenset([
    "view", "reshape", "unsqueeze", "squeeze", "flatten", "expand_dims", "clamp", "clip", "clamp_min", "sqrt", "rsqrt", "abs",
    "absolute", "square", "pow", "power", "exp", "log", "float", "double", "half", "to", "astype", "detach", "clone", "copy", "contiguous", "maximum",
])  # fmt: skip
_MOST = 12
_MOST_STEPS = 3


def misplaced(interp: State, left: tuple[Tensor, ast.expr | None], right: tuple[Tensor, ast.expr | None]) -> str:
    """What to write behind the reduction, one of the operands, so that it lines up with what it was made of; "" where it is
    none."""
    part, whole = (left, right) if len(left[0].shape or ()) > len(right[0].shape or ()) else (right, left)
    shape, full = part[0].shape or (), whole[0].shape or ()
    kept = tuple(size for size in shape if size != 1)
    more = len(shape) - len(full)
    if more < 1 or not kept or shape != (*kept, *[1] * (len(shape) - len(kept))) or full[: len(kept)] != kept:
        return ""
    if len(kept) >= len(full) or not _is_reduction(interp, part[1], whole, False, 0):
        return ""
    return ".squeeze(-1)" if more == 1 else f"[..., {', '.join(['0'] * more)}]"


def meets_each(interp: State, left: tuple[Tensor, ast.expr | None], right: tuple[Tensor, ast.expr | None]) -> str:
    """What to write behind the longer one, where that has the batch and axes too many behind it: a mask `(B, 1, 1, T)` beside
    scores `(B, T, T)`, a factor `(B, 1, 1, 1)` beside rows `(B, d)`. Each sample meets that of each other one.

    That both first axes are one and the same is certain where their size has a name, where a product of matrices made the
    scores, where the factor was made as long as the other one is (`beta.sample((x.size(0), 1, 1, 1))`), and where two or
    more are too many: the result then has an axis of size 1 that is for nothing.
    """
    longer = len(left[0].shape or ()) > len(right[0].shape or ())
    (part, _), (whole, whole_node) = (left, right) if longer else (right, left)
    shape, full = part.shape or (), whole.shape or ()
    more = len(shape) - len(full)
    if more < 1 or len(full) < 2 or shape[0] != full[0] or shape[1] != 1 or full[0] == 1:
        return ""
    if more > 1:
        ranges = "ramp" in part.marks or "ramp" in whole.marks
        return f"[..., {', '.join(['0'] * more)}]" if {*shape[1:]} == {1} and 1 not in full and not ranges else ""
    if len(full) < 3:
        return ""
    if isinstance(full[0], int) and not (
        is_product(whole.made) or _is_as_long(interp, part.made, whole, whole_node, 0)
    ):
        return ""
    lined = (shape[0], *shape[2:])
    return ".squeeze(1)" if 1 in lined and all(own in (1, met) for own, met in zip(lined, full, strict=True)) else ""


def _is_as_long(interp: State, node: ast.AST | None, whole: Tensor, whole_node: ast.expr | None, depth: int) -> bool:
    """Whether what made a tensor asks for the other one's first size: `len(x)`, `x.size(0)`, `x.shape[0]`."""
    for each in walk(node) if node is not None and depth < _MOST_STEPS else ():
        match each:
            case (
                ast.Call(func=ast.Name(id="len"), args=[base])
                | ast.Call(func=ast.Attribute(attr="size", value=base), args=[ast.Constant(value=0)])
                | ast.Subscript(value=ast.Attribute(attr="shape", value=base), slice=ast.Constant(value=0))
            ):
                if interp.peek(base) is whole and ast.dump(base) == ast.dump(whole_node or base):
                    return True
            case ast.Name(ctx=ast.Load()):
                held = interp.peek(each)
                if isinstance(held, Tensor) and held.made is not None and held.made is not node:
                    if _is_as_long(interp, held.made, whole, whole_node, depth + 1):
                        return True
    return False


def _is_reduction(
    interp: State, node: ast.AST | None, whole: tuple[Tensor, ast.expr | None], reduced: bool, depth: int
) -> bool:
    """Whether what the expression gives was reduced of the tensor."""
    if node is None or depth > _MOST:
        return False
    if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and node.attr != "values"):
        if whole[1] is not None and ast.unparse(node) == ast.unparse(whole[1]):
            return reduced
        value = interp.peek(node)
        if value is whole[0]:
            return reduced
        made = value.made if isinstance(value, Tensor) else None
        return isinstance(value, Tensor) and made is not node and _is_reduction(interp, made, whole, reduced, depth + 1)
    if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr == "values"):
        return _is_reduction(interp, node.value, whole, reduced, depth + 1)
    if isinstance(node, ast.BinOp):
        # A small number beside it; of two tensors nobody knows which axes are whose.
        sides = [each for each in (node.left, node.right) if not isinstance(each, ast.Constant)]
        return len(sides) == 1 and _is_reduction(interp, sides[0], whole, reduced, depth + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        root = node.func.value
        while isinstance(root, ast.Attribute):
            root = root.value
        of_library = isinstance(interp.peek(root), Library)
        given = node.args[0] if of_library and node.args else node.func.value
        if name in _REDUCE or name in _LEAVE:
            return _is_reduction(interp, given, whole, reduced or name in _REDUCE, depth + 1)
    return False
