"""Parts of a function that compute in low precision inside a check in float64, computed in float64 as well.

Differences of such a function are staircases: under fine steps a part in bfloat16 stands still, and what is measured is
the slope of all the rest. Nothing measured from outside can tell that from a wrong gradient for certain. So the casts
themselves are read: a dispatch mode sees every operator below autograd, and hands it 64 bits wherever it was to get, or to
make, fewer. Forward and backward are then the same formulas in float64, and can be judged as sharply as any.

That is trusted only where both ways give the same outputs and the same gradients within what the dtype explains: code that
branches on a dtype, draws random numbers in it or reads its bits is another function in float64.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pytest_tensorcheck.gradients.maps import FirstOrder, Tensors
from pytest_tensorcheck.gradients.surrogates import nodes
from pytest_tensorcheck.gradients.twins import is_differentiable_dtype

# Rounding adds up on the way through a function; what differs by more is more than rounding.
_LARGEST = 1 / 16


_is_compiling = torch.compiler.is_dynamo_compiling


class CannotWiden(Exception):
    """A tensor in low precision from outside the call is written to: its own dtype cannot be changed."""


class Widening(TorchDispatchMode):  # type: ignore[misc, no-untyped-call, unused-ignore]
    """Operators get, and make, float64 (complex128) instead of any lower precision. `narrow`: the dtypes replaced."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.narrow: set[torch.dtype] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if (
            _is_compiling()
        ):  # torch.compile traces modes too, and warns of the cache below: what it makes is left as it is
            return func(*args, **kwargs)
        for place, name in _written(func):
            self._refuse(func, args[place] if place < len(args) else kwargs.get(name))
        args = [self._wide(value) for value in args]
        kwargs = {name: self._wide(value) for name, value in kwargs.items()}
        return self._wide(func(*args, **kwargs))

    def _wide(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.dtype not in _NARROW:
                return value
            self.narrow.add(value.dtype)
            return value.to(_widened(value.dtype))
        if isinstance(value, torch.dtype) and value in _NARROW:
            self.narrow.add(value)
            return _widened(value)
        if type(value) in (list, tuple):
            return type(value)([self._wide(item) for item in value])
        return value

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch wraps the method above otherwise (seen in 2.13), and imports its compiler, two seconds, for the first call."""
        return False

    @staticmethod
    def _refuse(func: Any, written: Any) -> None:
        for value in written if isinstance(written, list | tuple) else (written,):
            if isinstance(value, torch.Tensor) and value.dtype in _NARROW:
                raise CannotWiden(f"{func} writes to a tensor in {value.dtype} from outside")


@functools.cache
def _written(func: Any) -> tuple[tuple[int, str], ...]:
    """Place and name of the arguments that an operator writes to."""
    return tuple(
        (place, argument.name)
        for place, argument in enumerate(func._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )


def _widened(dtype: torch.dtype) -> torch.dtype:
    if not is_differentiable_dtype(dtype):
        return dtype
    return torch.complex128 if dtype.is_complex else torch.float64


# Every floating dtype that torch has but the widest.
_NARROW = frozenset(
    dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype) and _widened(dtype) is not dtype
)


@dataclass(slots=True)
class Wide:
    """What the function gives with its parts in `narrow` dtypes computed in float64.

    trusted: outputs and gradients are those of the function itself, within what these dtypes explain. known: the
    cotangents with their gradients, where a backward was run.
    """

    narrow: set[torch.dtype]
    trusted: bool = False
    outputs: Tensors = field(default_factory=list)
    known: tuple[Tensors, Tensors] | None = None

    @property
    def coarse(self) -> bool:
        """Whether a part has fewer digits than float32, which differences cannot resolve."""
        return any(torch.finfo(dtype).eps > torch.finfo(torch.float32).eps for dtype in self.narrow)

    @property
    def dtypes(self) -> str:
        return ", ".join(sorted(str(dtype).removeprefix("torch.") for dtype in self.narrow))


def may_be_narrow(outputs: Sequence[torch.Tensor]) -> bool:
    """Whether anything in the graph behind the outputs casts, or is code that autograd does not look into."""
    if any(y.dtype in _NARROW for y in outputs):
        return True
    return any(
        "ToCopy" in (name := node.name()) or "CppNode" in name or hasattr(node, "_forward_cls")
        for node in nodes(outputs)
    )


def widened(
    function: FirstOrder,
    outputs: Sequence[torch.Tensor],
    cotangents: Sequence[torch.Tensor] | None,
    gradients: Sequence[torch.Tensor | None],
) -> Wide | None:
    """One run in float64 throughout, beside the outputs and gradients of the function as it is.

    None where nothing computes in lower precision.
    """
    mode = Widening()
    try:
        with mode:
            run = function.subject.run(function.point)
            if not mode.narrow and cotangents is None:
                return None
            values = function.values(run)
            if cotangents is None:
                return Wide(mode.narrow, _agree(outputs, values, mode.narrow), values)
            u = [given.to(_widened(given.dtype)) for given in cotangents]
            raw = function.gradients(run, u)
    except Exception:  # of the user's code, or a kernel without float64: judged as what is not to be had in float64
        return Wide(mode.narrow) if mode.narrow else None
    if not mode.narrow:
        return None
    same = [given is None for given in gradients] == [found is None for found in raw]
    known = [torch.zeros_like(x) if g is None else g for g, x in zip(raw, function.point, strict=True)]
    before = [torch.zeros_like(x) if g is None else g for g, x in zip(gradients, function.point, strict=True)]
    trusted = same and _agree(outputs, values, mode.narrow) and _agree(before, known, mode.narrow)
    return Wide(mode.narrow, trusted, values, (u, [g.detach() for g in known]))


def _agree(first: Iterable[torch.Tensor], second: Iterable[torch.Tensor], narrow: set[torch.dtype]) -> bool:
    """Whether the tensors differ, against the largest element of each, by no more than the dtypes explain."""
    tolerance = min(max((torch.finfo(dtype).eps for dtype in narrow), default=0.0) ** 0.5, _LARGEST)
    for a, b in zip(first, second, strict=True):
        if a.shape != b.shape:
            return False
        a, b = a.detach().to(_widened(a.dtype)), b.detach().to(_widened(b.dtype))
        known = torch.isfinite(a)
        if not torch.equal(known, torch.isfinite(b)):
            return False
        a, b = a[known], b[known]
        if a.numel() and float((a - b).abs().max()) > tolerance * float(a.abs().max()):
            return False
    return True
