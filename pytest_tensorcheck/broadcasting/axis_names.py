"""The names of axes, from `assert_shape`, followed through operations; and axes that meet under two names.

This is what makes the one-sided accident visible: `x - x.mean(1)` for a square `x` has the right shape and subtracts
along the wrong axis, and nothing but the names can tell. Names are followed through elementwise functions, reductions,
transposes, `unsqueeze`, `squeeze`, plain indexing and matrix products; any other function forgets them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_tensorcheck.broadcasting import operations as ops

Names = tuple["str | None", ...]

_REDUCTIONS = ops.words(
    "reduce sum mean prod std var max min amax amin argmax argmin median logsumexp norm nansum nanmean "
    "all any average nanmax nanmin nanstd nanvar ptp count_nonzero vector_norm linalg_vector_norm "
    "linalg_norm"
)
_SAME_AXES = (
    ops.words(
        "softmax log_softmax softmin cumsum cumprod dropout layer_norm rms_norm gelu silu relu elu leaky_relu "
        "normalize tanh sigmoid hardtanh where bernoulli rand_like randn_like zeros_like ones_like full_like "
        "empty_like logsigmoid mish isnan isfinite isinf requires_grad_"
    )
    | ops.PASSES_ON
    | ops.ELEMENTWISE.keys()
)


def conflict(first: Names | None, second: Names | None) -> tuple[int, str, str] | None:
    """Where two arrays of different numbers of axes meet under two names: (axis from the end, first's, second's).

    Only a certain mistake counts: the shorter one's name exists in the longer one, at another axis.
    """
    if first is None or second is None or len(first) == len(second):
        return None
    longer, shorter = (first, second) if len(first) > len(second) else (second, first)
    for back in range(1, len(shorter) + 1):
        mine, theirs = longer[-back], shorter[-back]
        if mine and theirs and mine != theirs and theirs in longer and mine not in shorter:
            return -back, first[-back] or "", second[-back] or ""
    return None


def follow(
    name: str,
    operands: Sequence[tuple[Names | None, tuple[int, ...] | None]],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    result: tuple[int, ...],
) -> Names | None:
    """The names of a result's axes, None where they are not known. `operands` are the arguments' names and shapes."""
    if all(each[0] is None for each in operands):
        return None
    first = operands[0][0] if operands else None
    names: Names | None = None
    try:
        if name == "matmul":
            second = operands[1][0]
            if first is not None and len(first) >= 2 and second is not None and len(second) == 2:
                names = (*first[:-1], second[1])
        elif name in _RULES and first is not None:
            names = _RULES[name](first, args, kwargs)
        elif name in _REDUCTIONS and first is not None and not _is_binary(operands):
            names = _reduced(first, args, kwargs)
        elif name in _SAME_AXES or name.removesuffix("_") in _SAME_AXES:
            names = _aligned([each for each in operands if each[0] is not None], len(result))
    except (TypeError, IndexError, ValueError):
        return None
    return names if names is not None and len(names) == len(result) and any(names) else None


def _is_binary(operands: Sequence[tuple[Names | None, tuple[int, ...] | None]]) -> bool:
    return len(operands) > 1 and operands[1][1] is not None


def _aligned(operands: Sequence[tuple[Names | None, tuple[int, ...] | None]], rank: int) -> Names:
    found: list[str | None] = [None] * rank
    for names, shape in operands:
        for back in range(1, len(names or ()) + 1):
            if names is not None and shape is not None and shape[-back] != 1 and found[-back] is None:
                found[-back] = names[-back]
    return tuple(found)


def _dims(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    for key in ("dim", "axis"):
        if key in kwargs:
            return kwargs[key]
    return args[1] if len(args) > 1 else None


def _reduced(names: Names, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Names:
    dims = _dims(args, kwargs)
    if dims is None:
        return ()
    gone = {int(each) % len(names) for each in (dims if isinstance(dims, (tuple, list)) else (dims,))}
    if kwargs.get("keepdim") or kwargs.get("keepdims") or any(each is True for each in args[2:]):
        return tuple(None if at in gone else each for at, each in enumerate(names))
    return tuple(each for at, each in enumerate(names) if at not in gone)


def _swapped(names: Names, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Names:
    if len(args) == 1 and not kwargs:
        return names[::-1]
    if len(args) == 3 and isinstance(args[1], int):
        first, second = (each % len(names) for each in args[1:])
        moved = list(names)
        moved[first], moved[second] = moved[second], moved[first]
        return tuple(moved)
    return _permuted(names, args, kwargs)


def _permuted(names: Names, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Names:
    order = kwargs.get("dims", kwargs.get("axes", args[1:] if len(args) > 2 else args[1]))
    return tuple(names[int(each)] for each in order)


def _unsqueezed(names: Names, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Names:
    at = int(_dims(args, kwargs)) % (len(names) + 1)
    return (*names[:at], None, *names[at:])


def _squeezed(names: Names, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Names:
    dims, shape = _dims(args, kwargs), args[0].shape
    which = range(len(names)) if dims is None else dims if isinstance(dims, (tuple, list)) else (dims,)
    gone = {int(each) % len(names) for each in which}
    return tuple(each for at, each in enumerate(names) if not (at in gone and shape[at] == 1))


def _indexed(names: Names, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Names | None:
    index = args[1] if type(args[1]) is tuple else (args[1],)
    if not all(each is None or each is ... or isinstance(each, slice) or type(each) is int for each in index):
        return None
    taken = sum(each is not None and each is not ... for each in index)
    result: list[str | None] = []
    at = 0
    for each in index:
        if each is None:
            result.append(None)
        elif each is ...:
            step = len(names) - taken
            result += names[at : at + step]
            at += step
        else:
            if isinstance(each, slice):
                result.append(names[at])
            at += 1
    return (*result, *names[at:])


_RULES: dict[str, Callable[[Names, Sequence[Any], Mapping[str, Any]], Names | None]] = {
    "T": lambda names, args, kwargs: names[::-1],
    "t": lambda names, args, kwargs: names[::-1],
    "mT": lambda names, args, kwargs: (*names[:-2], names[-1], names[-2]),
    "transpose": _swapped,
    "swapaxes": _swapped,
    "permute": _permuted,
    "unsqueeze": _unsqueezed,
    "expand_dims": _unsqueezed,
    "squeeze": _squeezed,
    "getitem": _indexed,
}
