"""The oracle of the operation tables: real values as the interpreter's values, and the comparison with what is claimed.

`torch.testing._internal` (seen in 2.13) is used here and nowhere else.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch

from tensorlint.inference import layout
from tensorlint.inference import sizes as S
from tensorlint.inference.ops import table as tables
from tensorlint.inference.values import (
    UNKNOWN,
    Const,
    Library,
    LibraryObject,
    Number,
    Range,
    Scalar,
    Sequence,
    Slice,
    Tensor,
    Value,
)
from tensorlint.inference.variants import item_at

# A transfer function's own error is raised, not taken for an unknown result.
tables.strict = True

# How often a result of an entry, by its identity, and of a layer, by its path, was compared with a real one.
CHECKED: Counter[int] = Counter()
CHECKED_LAYERS: Counter[str] = Counter()
_asked: list[int] = [0]


def apply(entry: tables.Entry, call: tables.Call, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What the tables claim; `compare` puts the comparison to the entry's account."""
    _asked[0] = id(entry)
    return tables.apply(entry, call, args, kwargs)


class Sizes:
    """Sizes of real tensors as the linter sees them: numbers, or names that stand for them.

    `shared` gives equal sizes one name; otherwise each axis of each tensor has a name of its own.
    """

    def __init__(self, mode: str = "numbers") -> None:
        self.mode = mode
        self.values: dict[S.Symbol, int] = {}
        self.known: dict[int, S.Poly] = {}

    def size(self, number: int) -> S.Size:
        if self.mode == "numbers" or number < 2:
            return number
        if self.mode == "shared" and number in self.known:
            return self.known[number]
        poly = S.symbol(f"n{number}_{len(self.values)}")
        (atom,) = S.symbols(poly)
        self.values[atom] = number
        self.known[number] = poly
        return poly

    def evaluate(self, size: S.Size) -> int | None:
        """The number a claimed size stands for; None where it claims nothing."""
        if isinstance(size, int):
            return size
        result = S.substitute(size, dict(self.values))
        return result if isinstance(result, int) else None


def strides_of(shape: tuple[int, ...], strides: tuple[int, ...], claimed: tuple[S.Size, ...]) -> Any:
    """Real strides over symbolic sizes, where they are those of a gap-free layout."""
    if all(isinstance(size, int) for size in claimed):
        return strides
    if strides == layout.contiguous(shape):
        return layout.contiguous(claimed)
    order = tuple(sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis)))
    if layout.dense(order, shape) == strides:
        return layout.dense(order, claimed)
    return None


def lift(value: Any, sizes: Sizes) -> Value:
    """A real value as the interpreter would know it."""
    if isinstance(value, torch.Tensor):
        real = tuple(value.shape)
        shape = tuple(sizes.size(size) for size in real)
        strides = strides_of(real, tuple(value.stride()), shape)
        return Tensor("torch", shape, strides, str(value.dtype)[6:], str(value.device))
    if isinstance(value, numpy.ndarray | numpy.generic):
        real = tuple(value.shape)
        shape = tuple(sizes.size(size) for size in real)
        array = numpy.asarray(value)
        exact = tuple(stride // array.itemsize for stride in array.strides)
        return Tensor("numpy", shape, strides_of(real, exact, shape), str(value.dtype))
    if value is None or value is Ellipsis or isinstance(value, bool | int | float | complex | str):
        return Const(value)
    if isinstance(value, slice):
        return Slice(lift(value.start, sizes), lift(value.stop, sizes), lift(value.step, sizes))
    if isinstance(value, range):
        return Range(value.start, value.stop, value.step)
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return Library(str(value))
    if isinstance(value, torch.device):
        return LibraryObject("torch.device", {}, (Const(str(value)),))
    if isinstance(value, type) and issubclass(value, numpy.generic):
        return Library(f"numpy.{value.__name__}")
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return Sequence(kind, [lift(item, sizes) for item in value])
    return UNKNOWN


@dataclass
class Tally:
    """How many results were claimed, how fully, and which claims are wrong."""

    results: int = 0
    ranks: int = 0
    shapes: int = 0
    strides: int = 0
    dtypes: int = 0
    wrong: list[str] = field(default_factory=list)

    def line(self) -> str:
        total = max(self.results, 1)
        share = lambda part: f"{100 * part / total:.1f} %"
        return (
            f"{self.results} results: rank {share(self.ranks)}, shape {share(self.shapes)}, strides {share(self.strides)}, "
            f"dtype {share(self.dtypes)}; {len(self.wrong)} wrong"
        )


def compare(claimed: Value, real: Any, sizes: Sizes, tally: Tally, where: str) -> None:
    """Add to the tally what is claimed of a real result; what is wrong is described in `tally.wrong`."""
    CHECKED[_asked[0]] += 1
    if isinstance(real, numpy.generic):
        real = numpy.asarray(real)
    if isinstance(real, torch.Tensor | numpy.ndarray):
        if isinstance(real, torch.Tensor) and real.layout != torch.strided:
            return
        if isinstance(real, numpy.ndarray) and real.dtype.kind not in "biufc":
            return
        tally.results += 1
        if isinstance(claimed, Tensor):
            _compare_tensor(claimed, real, sizes, tally, where)
        elif isinstance(claimed, Const | Number | Scalar):
            if real.ndim:
                tally.wrong.append(f"{where}: claimed a number, is {tuple(real.shape)}")
        elif claimed is not UNKNOWN:
            tally.wrong.append(f"{where}: claimed {type(claimed).__name__}, is a tensor {tuple(real.shape)}")
        return
    if isinstance(real, tuple | list):
        if isinstance(claimed, Sequence):
            if claimed.items is not None:
                if len(claimed.items) != len(real):
                    tally.wrong.append(f"{where}: claimed {len(claimed.items)} items, are {len(real)}")
                    return
                for number, (one, item) in enumerate(zip(claimed.items, real, strict=True)):
                    compare(one, item, sizes, tally, f"{where}[{number}]")
                return
            if claimed.length is not None and sizes.evaluate(claimed.length) not in (None, len(real)):
                tally.wrong.append(f"{where}: claimed length {S.show(claimed.length)}, is {len(real)}")
            for number in range(len(real)):
                compare(item_at(claimed, number), real[number], sizes, tally, f"{where}[{number}]")
            return
        if isinstance(claimed, Tensor):
            tally.wrong.append(f"{where}: claimed a tensor, is {type(real).__name__}")
        return
    if not isinstance(real, int | float | complex):
        # What numpy makes of no array at all.
        return
    if isinstance(claimed, Const) and claimed.value != real:
        tally.wrong.append(f"{where}: claimed {claimed.value!r}, is {real!r}")
    elif isinstance(claimed, Scalar) and type(real).__name__ != claimed.kind:
        tally.wrong.append(f"{where}: claimed a {claimed.kind}, is {real!r}")


def _compare_tensor(claimed: Tensor, real: Any, sizes: Sizes, tally: Tally, where: str) -> None:
    is_torch = isinstance(real, torch.Tensor)
    framework = "torch" if is_torch else "numpy"
    if claimed.framework not in (None, framework):
        tally.wrong.append(f"{where}: claimed {claimed.framework}, is {framework}")
    shape = tuple(real.shape)
    dtype = str(real.dtype)[6:] if is_torch else str(real.dtype)
    if claimed.dtype is not None:
        tally.dtypes += 1
        if claimed.dtype != dtype:
            tally.wrong.append(f"{where}: claimed {claimed.dtype}, is {dtype}")
    if claimed.shape is None:
        return
    tally.ranks += 1
    if len(claimed.shape) != len(shape):
        tally.wrong.append(f"{where}: claimed {S.show_shape(claimed.shape)}, is {shape}")
        return
    evaluated = [sizes.evaluate(size) for size in claimed.shape]
    if any(one is not None and one != size for one, size in zip(evaluated, shape, strict=True)):
        tally.wrong.append(f"{where}: claimed {S.show_shape(claimed.shape)}, is {shape}")
        return
    if None not in evaluated:
        tally.shapes += 1
    if claimed.strides is None:
        return
    exact = tuple(real.stride()) if is_torch else tuple(stride // real.itemsize for stride in real.strides)
    found = [sizes.evaluate(stride) for stride in claimed.strides]
    # A size with a name is taken to be neither 0 nor 1: the stride of an axis that has one step is of no account.
    exactly = is_torch and sizes.mode == "numbers"
    free = [size == 1 and (not exactly or named != 1) for size, named in zip(shape, claimed.shape, strict=True)]
    if len(found) != len(exact) or any(
        one is not None and one != stride and not loose and 0 not in shape
        for one, stride, loose in zip(found, exact, free, strict=True)
    ):
        tally.wrong.append(f"{where}: claimed strides {S.show_shape(claimed.strides)} for {shape}, are {exact}")
        return
    tally.strides += 1


def layouts(value: Any) -> list[Any]:
    """The same values in other memory layouts: transposed, with gaps, channels-last, expanded."""
    results = [value]
    if isinstance(value, torch.Tensor) and value.layout == torch.strided and value.dim() >= 1:
        plain = value.detach()
        if plain.dim() >= 2:
            results.append(plain.transpose(-1, -2).contiguous().transpose(-1, -2))
            results.append(plain.transpose(0, 1).contiguous().transpose(0, 1))
            order = tuple(reversed(range(plain.dim())))
            results.append(plain.permute(order).contiguous().permute(order))
        results.append(torch.stack([plain, plain], -1)[..., 0])
        if plain.dim() == 5:
            results.append(plain.contiguous(memory_format=torch.channels_last_3d))
        if plain.dim() == 4:
            results.append(plain.contiguous(memory_format=torch.channels_last))
    return results


def arrays(value: Any) -> list[Any]:
    """The same array in other memory layouts."""
    results = [value]
    if isinstance(value, numpy.ndarray) and value.ndim >= 1:
        results.append(numpy.asfortranarray(value))
        results.append(numpy.stack([value, value], -1)[..., 0])
        if value.ndim >= 3:
            results.append(numpy.ascontiguousarray(value.swapaxes(0, 1)).swapaxes(0, 1))
    return results
