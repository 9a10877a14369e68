"""What a pattern does to a tensor, done as einops does it: reshape, transpose, reduce, reshape."""

from __future__ import annotations

from collections.abc import Callable

from tensorlint.inference import layout
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import reshaping
from tensorlint.inference.ops.einops.patterns import WITHIN, Axes, Axis, Group, Pattern, parse
from tensorlint.inference.ops.numpy import joining as numpy_joining
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.results import REDUCTION, SPELLED, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch import joining as torch_joining
from tensorlint.inference.values import NONE, Const, Sequence, Tensor, Value, copy

# What einops makes of a list of tensors first.
_STACKS: dict[str | None, Callable[..., Value]] = {
    "torch": lambda call, tensors, axis, none: torch_joining.stack(call, tensors, axis, none),
    "numpy": lambda call, tensors, axis, none: numpy_joining.stack(call, tensors, axis, none, out=none, casting=none),
}


def subject(call: Call, given: Value) -> Tensor:
    """The tensor of the call; a list of tensors is stacked along a new first axis."""
    if isinstance(given, Tensor):
        return given
    if isinstance(given, Sequence) and given.items:
        items = [tensor(item) for item in given.items]
        framework = items[0].framework
        stack = _STACKS.get(framework)
        if stack is not None and all(item.framework == framework for item in items):
            return tensor(stack(call, given, Const(0), NONE))
        shape = items[0].shape or ()
        for item in items[1:]:
            if len(item.shape or ()) != len(shape):
                raise Undecided
            shape = tuple(map(agree, shape, item.shape or ()))
        return Tensor(framework, (len(items), *shape), None, None, None, call.node)
    if isinstance(given, Sequence) and given.items is None and isinstance(given.element, Tensor):
        element = tensor(given.element)
        if any(atom.variant for size in element.shape or () for atom in S.symbols(size)):
            raise Undecided
        length = given.length if given.length is not None else S.symbol()
        return copy(element, shape=(length, *(element.shape or ())), strides=None)
    raise Undecided


def _reshape(given: Tensor, target: Shape) -> Tensor:
    if given.framework == "numpy":
        strides = layout.contiguous(target) if given.contiguous is True else None
    elif given.framework == "torch":
        strides = reshaping.reshape(given, target)
    else:
        strides = None
    return copy(given, shape=target, strides=strides)


def _permute(given: Tensor, order: list[int]) -> Tensor:
    shape, strides = given.shape or (), given.strides
    return copy(
        given,
        shape=tuple(shape[axis] for axis in order),
        strides=None if strides is None else tuple(strides[axis] for axis in order),
    )


def transform(call: Call, given: Tensor, pattern: str, lengths: dict[str, Value], kind: str) -> Tensor:
    """`kind` is rearrange, repeat or reduce."""
    parsed = parse(pattern)
    if parsed is None:
        raise Undecided
    axes = Axes(lengths)
    if given.shape is None:
        return _unranked(call, given, parsed, axes)
    left, spread = axes.match(parsed.left, given.shape)
    right: list[Group] = []
    for group in parsed.right:
        if group == ("...",):
            right.extend((axis,) for axis in spread)
        elif WITHIN in group:
            right.append(tuple(one for axis in group for one in (spread if axis == WITHIN else [axis])))
        else:
            right.append(group)
    numbered = 0
    flat_left = []
    for group in left:
        for axis in group:
            flat_left.append(axis if isinstance(axis, str) else f"#{numbered}")
            if not isinstance(axis, str):
                axes.sizes[f"#{numbered}"] = axis
                numbered += 1
    flat_right: list[Axis] = []
    for group in right:
        for axis in group:
            if isinstance(axis, int):
                flat_right.append(f"+{len(flat_right)}")
                axes.sizes[flat_right[-1]] = axis
            else:
                flat_right.append(axis)
    if len(set(flat_left)) != len(flat_left) or len(set(flat_right)) != len(flat_right):
        raise Undecided
    gone = [axis for axis in flat_left if axis not in flat_right]
    new = [axis for axis in flat_right if axis not in flat_left]
    if (gone and kind != "reduce") or (new and kind != "repeat"):
        raise Undecided
    target = tuple(axes.product(group) for group in right)
    work = given
    # einops reshapes where a group has another number of axes than one.
    if any(len(group) != 1 for group in left):
        work = _reshape(given, tuple(axes.size(axis) for axis in flat_left))
    order = [axis for axis in flat_right if axis in flat_left] + gone
    work = _permute(work, [flat_left.index(axis) for axis in order])
    if gone:
        kept = (work.shape or ())[: len(order) - len(gone)]
        work = copy(
            work,
            shape=kept,
            strides=layout.contiguous(kept) if given.framework == "torch" or given.contiguous else None,
        )
    for axis in new:
        at = flat_right.index(axis)
        shape, strides = work.shape or (), work.strides
        size = axes.size(axis)
        widened = (*shape[:at], size, *shape[at:])
        stretched: Strides | None = None
        if given.framework == "torch" and strides is not None and size != 1:
            stretched = (*strides[:at], 0, *strides[at:])
        elif strides is not None and size == 1:
            following = S.multiply(shape[at], strides[at]) if at < len(shape) else 1
            stretched = (*strides[:at], following, *strides[at:]) if given.framework == "torch" else None
        work = copy(work, shape=widened, strides=stretched)
    if new and given.framework == "numpy":
        work = copy(work, strides=None)
    if any(len(group) != 1 for group in right):
        work = _reshape(work, target)
    marks = SPELLED
    trail = given.layout_trail
    if work.strides != given.strides and call.node is not None and work.contiguous is not True:
        trail = (*trail[-3:], (call.node, kind + "d" if kind != "rearrange" else "rearranged"))
    result = Tensor(
        given.framework,
        target,
        work.strides,
        given.dtype,
        given.device,
        call.node,
        f"{kind}({pattern!r})",
        marks,
        layout_trail=trail,
    )
    if kind == "reduce" and gone and target == ():
        result.marks = REDUCTION
    return result


def _unranked(call: Call, given: Tensor, parsed: Pattern, axes: Axes) -> Tensor:
    """The pattern gives the rank, and the sizes it was told."""
    if any("..." in group or WITHIN in group for group in (*parsed.left, *parsed.right)):
        return unranked(given.framework, given.dtype, given.device)
    known = given.axes or {}
    axes.match(parsed.left, tuple(known[place] if place in known else S.symbol() for place in range(len(parsed.left))))
    target = tuple(axes.product(group) for group in parsed.right)
    return Tensor(given.framework, target, None, given.dtype, given.device, call.node, None, SPELLED)
