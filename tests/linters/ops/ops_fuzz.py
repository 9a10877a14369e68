"""Random programs of one step: indexing and operators on random tensors and arrays, against the real libraries."""

from __future__ import annotations

import operator
import random
import warnings
from typing import Any

import numpy
import torch
from ops_oracle import Sizes, Tally, compare, lift
from torch.utils._pytree import tree_map_only

from tensorlint.inference import ops
from tensorlint.inference.ops import elementwise, indexing
from tensorlint.inference.values import UNKNOWN

MODES = ("numbers", "shared", "own")


def shape(random_: random.Random, rank: int | None = None, sizes: tuple[int, ...] = (1, 2, 3, 4, 5)) -> tuple[int, ...]:
    return tuple(random_.choice(sizes) for _ in range(random_.randint(0, 4) if rank is None else rank))


def tensor(random_: random.Random, size: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A tensor of a random layout: permuted, with gaps, expanded."""
    order = list(range(len(size)))
    random_.shuffle(order)
    way = random_.randint(0, 5)
    base = torch.ones(size, dtype=dtype)
    if way == 0 and size:
        return torch.ones([size[axis] for axis in order], dtype=dtype).permute(
            [order.index(axis) for axis in range(len(size))]
        )
    if way == 1 and size:
        wide = [number + random_.randint(0, 1) for number in size]
        return torch.ones(wide, dtype=dtype)[tuple(slice(0, number) for number in size)]
    if way == 2 and size:
        return torch.ones([number if random_.random() < 0.6 else 1 for number in size], dtype=dtype).expand(size)
    return base


def array(random_: random.Random, size: tuple[int, ...], dtype: Any = numpy.float64) -> numpy.ndarray:
    way = random_.randint(0, 3)
    if way == 0:
        return numpy.asfortranarray(numpy.ones(size, dtype))
    if way == 1 and size:
        wide = [number + random_.randint(0, 1) for number in size]
        return numpy.ones(wide, dtype)[tuple(slice(0, number) for number in size)]
    return numpy.ones(size, dtype)


def index(random_: random.Random, size: tuple[int, ...], library: Any) -> Any:
    """A random index that fits most of the time."""
    items: list[Any] = []
    axis = 0
    ellipsis = False
    while axis < len(size) and random_.random() < 0.85:
        number = size[axis]
        kind = random_.randint(0, 9)
        if kind <= 1:
            items.append(random_.randint(-number, number - 1))
        elif kind <= 4:
            ends = [random_.choice([None, *range(-number - 1, number + 2)]) for _ in range(2)]
            steps = [None, None, None, 1, 2, 3] + ([-1, -2] if library is numpy else [])
            items.append(slice(*ends, random_.choice(steps)))
        elif kind == 5:
            items.append(None)
            continue
        elif kind == 6 and not ellipsis:
            ellipsis = True
            items.append(Ellipsis)
            axis = random_.randint(axis, len(size))
            continue
        elif kind == 7:
            count = random_.randint(1, 3)
            items.append([random_.randint(-number, number - 1) for _ in range(count)])
        elif kind == 8:
            rank = random_.randint(0, 2)
            inner = tuple(random_.choice([1, 2]) for _ in range(rank))
            values = numpy.array(numpy.random.RandomState(random_.randint(0, 99)).randint(0, number, inner))
            items.append(torch.as_tensor(values) if library is torch else values)
        elif kind == 9 and axis + 1 < len(size) and random_.random() < 0.5:
            mask = numpy.ones(size[axis : axis + 2], bool)
            items.append(torch.as_tensor(mask) if library is torch else mask)
            axis += 2
            continue
        else:
            mask = numpy.array([random_.random() < 0.7 for _ in range(number)])
            items.append(torch.as_tensor(mask) if library is torch else mask)
        axis += 1
    if len(items) == 1 and random_.random() < 0.5:
        return items[0]
    return tuple(items)


def rehearse(function: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    """On a GPU an index out of range ends the process: what raises an error there raises it on the host first."""
    if torch.get_default_device().type != "cpu":
        args, kwargs = tree_map_only(torch.Tensor, torch.Tensor.cpu, (args, kwargs))
        with torch.device("cpu"):
            function(*args, **kwargs)


def getitems(seed: int, count: int, library: Any) -> Tally:
    tally = Tally()
    random_ = random.Random(seed)
    for _ in range(count):
        size = shape(random_, random_.randint(1, 4))
        value = tensor(random_, size) if library is torch else array(random_, size)
        at = index(random_, size, library)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rehearse(operator.getitem, [value, at], {})
                real = value[at]
        except (IndexError, ValueError, TypeError, RuntimeError):
            continue
        for mode in MODES:
            sizes = Sizes(mode)
            where = f"{library.__name__} {size}/{_strides(value)}[{at}] [{mode}]"
            lifted = lift(value, sizes)
            claimed = indexing.getitem(ops.Call("getitem"), lifted, lift(at, sizes))
            compare(claimed, real, sizes, tally, where)
    return tally


def _strides(value: Any) -> Any:
    return (
        value.stride() if isinstance(value, torch.Tensor) else tuple(step // value.itemsize for step in value.strides)
    )


TORCH_TYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.int8,
    torch.int16, torch.bool, torch.complex64, torch.complex128,
]  # fmt: skip
NUMPY_TYPES = [
    numpy.float32, numpy.float64, numpy.float16, numpy.int64, numpy.int32, numpy.uint8, numpy.int8, numpy.int16,
    numpy.uint16, numpy.uint32, numpy.uint64, numpy.bool_, numpy.complex64, numpy.complex128,
]  # fmt: skip
OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "@": lambda a, b: a @ b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def binaries(seed: int, count: int, library: Any) -> Tally:
    """Random operators on tensors that broadcast, numbers among them."""
    tally = Tally()
    random_ = random.Random(seed)
    types = TORCH_TYPES if library is torch else NUMPY_TYPES
    make = tensor if library is torch else array
    for _ in range(count):
        full = shape(random_)
        operator = random_.choice(list(OPERATORS))
        operands: list[Any] = []
        for _side in range(2):
            if operands and random_.random() < 0.25:
                operands.append(random_.choice([1, 2, 1.5, True, 2j, -1, [1.0] * (full[-1] if full else 1)]))
                continue
            own = full[random_.randint(0, len(full)) :] if random_.random() < 0.5 else full
            own = tuple(number if random_.random() < 0.7 else 1 for number in own)
            if operator == "@" and operands and len(own) >= 2:
                own = (*own[:-2], full[-1], random_.choice([1, 2, 3]))
            operands.append(make(random_, own, random_.choice(types if random_.random() < 0.6 else types[:1])))
        if random_.random() < 0.3:
            operands.reverse()
        left, right = operands
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                real = OPERATORS[operator](left, right)
        except (TypeError, ValueError, RuntimeError, OverflowError):
            continue
        for mode in MODES:
            sizes = Sizes(mode)
            where = f"{library.__name__} {_words(left)} {operator} {_words(right)} [{mode}]"
            a = lift(left, sizes)
            b = lift(right, sizes)
            claimed = elementwise.binary(ops.Call(operator), operator, a, b)
            if claimed is UNKNOWN:
                tally.results += 1
                continue
            compare(claimed, real, sizes, tally, where)
    return tally


def _words(value: Any) -> str:
    if isinstance(value, torch.Tensor | numpy.ndarray):
        return f"{value.dtype}{tuple(value.shape)}/{_strides(value)}"
    return repr(value)
