"""Target shapes of view and reshape: `-1` worked out over symbolic sizes, and the layout the result has."""

from __future__ import annotations

from tensorlint.inference import known_axes, layout
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides, ViewResult
from tensorlint.inference.ops.results import RESHAPED, surviving
from tensorlint.inference.ops.table import Undecided
from tensorlint.inference.sizes import Poly, Size
from tensorlint.inference.values import Tensor


def proven() -> int:
    """How many quotients are known to come out; `forget` goes back to it."""
    return len(S.RELIED_ON)


def forget(since: int) -> None:
    while len(S.RELIED_ON) > since:
        S.RELIED_ON.popitem()


def of_unknown(tensor: Tensor, *, plural: bool = False) -> Size:
    """The size of an axis that some axes of a tensor make, of which nobody knows how many it has."""
    if tensor.axes and any(map(known_axes.may_be_empty, tensor.axes.values())):
        return S.counter()
    return S.of_symbol(S.Symbol(None, plural=plural))


def resolve_for(tensor: Tensor, target: Shape) -> Shape:
    """The target of a view of the tensor with its -1 replaced."""
    if tensor.shape is not None or target.count(-1) != 1:
        return resolve(tensor.shape, target)
    at = target.index(-1)
    # `x.view(batch, -1, heads, width)`: what is left is the length of a sequence, and counts as one that has a name.
    length = of_unknown(tensor, plural=len(target) > 3 and at > 0)
    return resolve(None, (*target[:at], length, *target[at + 1 :]))


def resolve(shape: Shape | None, target: Shape) -> Shape:
    """The target with its -1 replaced. Raises where the numbers of elements surely differ."""
    if any(isinstance(size, int) and size < -1 for size in target):
        raise Undecided
    if -1 not in target:
        if shape is not None:
            check(shape, target)
        return target
    at = target.index(-1)
    rest = target[:at] + target[at + 1 :]
    if -1 in rest or shape is None:
        raise Undecided
    total = S.relied(S.product(shape))
    known = S.relied(S.product(rest))
    if known == 0:
        raise Undecided
    if isinstance(total, int) and isinstance(known, int) and total % known:
        raise Undecided
    missing = S.divide_exactly(total, known)
    if missing is None:
        # The program relies on the division to come out.
        missing = S.floor_divide(total, known)
        if missing is None:
            raise Undecided
        if isinstance(missing, Poly):
            S.RELIED_ON.update((atom, None) for atom in S.symbols(missing) if atom.denominator is not None)
    return (*target[:at], missing, *target[at + 1 :])


def check(shape: Shape, target: Shape) -> None:
    """Raise where a view of `shape` as `target` has another number of elements; learn what it says of quotients."""
    total, wanted = S.product(shape), S.product(target)
    if total == wanted:
        return
    if isinstance(total, int) and isinstance(wanted, int):
        raise Undecided
    whole, divided = S.divided(wanted, S.symbols(wanted) - S.symbols(total))
    if whole == total:
        S.RELIED_ON.update(dict.fromkeys(divided))


def view(tensor: Tensor, target: Shape) -> ViewResult:
    """`layout.view`, which a contiguous tensor always passes."""
    shape = tensor.shape or ()
    result = layout.view(shape, tensor.strides, target)
    if result.legal is None and tensor.strides is not None and tensor.strides == layout.contiguous(shape):
        return ViewResult(True, layout.contiguous(target))
    return result


def reshape(tensor: Tensor, target: Shape) -> Strides | None:
    """The strides of `reshape`: a view where that is legal, a contiguous copy where it is not."""
    result = view(tensor, target)
    if result.legal:
        return result.strides
    return layout.contiguous(target) if result.legal is False else None


def reshaped_marks(tensor: Tensor, target: Shape) -> frozenset[str]:
    """A size-1 axis that reshape made is remembered as such; one that was there keeps what was known of it."""
    shape = tensor.shape
    if 1 not in target:
        return surviving(tensor.marks, target)
    if shape is not None and target.count(1) <= shape.count(1):
        return surviving(tensor.marks, target)
    return surviving(tensor.marks, target) | RESHAPED
