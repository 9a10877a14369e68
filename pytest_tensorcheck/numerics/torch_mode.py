"""The operation after which numbers are bad for the first time: a dispatch mode that looks at every result.

It stands below autograd, so it sees what composite functions do inside and what backward does. Only results are looked
at; operands are looked at when a result is bad, to tell who began. Operations that write into an operand are the
exception: that operand is looked at before.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch._dynamo  # torch loads it (1 s) at the first operation under a mode: not in the time of a test with a deadline
from torch.utils._python_dispatch import TorchDispatchMode

from pytest_tensorcheck.determinism.autograd_nodes import current_node, sequence_counter, sequence_of
from pytest_tensorcheck.graph_tracing import writes_a_graph
from pytest_tensorcheck.observations import Observation
from pytest_tensorcheck.operator_calls import operator_call
from pytest_tensorcheck.own_reads import own_reads
from pytest_tensorcheck.shapes.sizes import show
from pytest_tensorcheck.torch_warnings import WarnsInPlace
from pytest_tensorcheck.user_line import UserLine, user_line

_Tensor = torch.Tensor
_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128)
_PLAIN = (torch.Tensor, torch.nn.Parameter)
HALF_MAX = torch.finfo(torch.float16).max
HALF_TINY = torch.finfo(torch.float16).tiny * torch.finfo(torch.float16).eps

# Results of these are memory that nobody has written yet.
_UNWRITTEN = ("aten::empty", "aten::new_empty", "aten::resize", "aten::set_", "aten::_efficientzerotensor")
# These write over an operand whatever it held.
_OVERWRITES = ("aten::copy_", "aten::fill_", "aten::zero_", "aten::normal_", "aten::uniform_", "aten::random_")
# Where float16 loses small numbers one by one, so that operands and results can be compared.
_ELEMENTWISE_HALF = ("aten::_to_copy", "aten::mul", "aten::div")
_LINES_KEPT = 200_000


class _Pending:
    """What will be told unless all that comes of it is masked. The tensors are kept, so that their memory stays theirs."""

    def __init__(self, observation: Observation, key: tuple[object, ...], made: Any) -> None:
        self.observation = observation
        self.key = key
        self._bad = [made]

    def follow(self, operands: Any, result: Any) -> None:
        if any(self._is_here(each) for each in _tensors(operands)):
            self._bad.append(result)

    def is_masked(self, operands: Any, written_bad: bool) -> bool:
        """Whether an operation whose result is finite took it away."""
        return any(
            self._is_here(each) and (written_bad or not bool(torch.isfinite(each).all())) for each in _tensors(operands)
        )

    def _is_here(self, tensor: Any) -> bool:
        memory = tensor.untyped_storage().data_ptr()
        return any(each.untyped_storage().data_ptr() == memory for each in self._bad)


class NumericsMode(WarnsInPlace, TorchDispatchMode):  # type: ignore[no-untyped-call]
    """`found` is called with each observation; it may raise."""

    aside_while_tracing = aside_in_torchscript = True  # see torchscript.py
    supports_higher_order_operators = True  # flex_attention, cond: looked at from outside, as one operation each

    def __init__(self, found: Callable[[Observation], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._found = found
        self._node, self._counter = current_node(), sequence_counter()
        self._forward_lines: dict[int, UserLine] = {}
        self._seen: set[tuple[object, ...]] = set()
        # Of a node of torch's own whose formula is still running: what it made may be masked before it is a gradient.
        self._pending: list[_Pending] = []
        self._pending_node: tuple[str, int] | None = None

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """A compiled graph is looked at from outside only."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        __tracebackhide__ = True
        kwargs = kwargs or {}
        if writes_a_graph():
            return func(*args, **kwargs)
        with operator_call(func, types):
            return self._run(func, args, kwargs)

    def _run(self, func: Any, args: Any, kwargs: Any) -> Any:
        __tracebackhide__ = True
        schema = getattr(func, "_schema", None)
        name = func.name() if schema is None else schema.name
        mutable = schema is not None and schema.is_mutable
        node = self._node()
        if node is None:
            self._remember_line()
        if self._pending and _identity(node) != self._pending_node:
            self._tell_pending()
        written_bad = mutable and not name.startswith(_OVERWRITES) and self._any_bad(args)
        result = func(*args, **kwargs)
        if schema is None or not (name.startswith(_UNWRITTEN) or func.is_view):
            with own_reads:
                self._look(name, mutable, args, kwargs, result, node, written_bad)
        return result

    def __exit__(self, *failure: Any) -> Any:
        __tracebackhide__ = True
        super().__exit__(*failure)
        if failure[0] is None:
            self._tell_pending()

    def _tell_pending(self) -> None:
        __tracebackhide__ = True
        pending, self._pending = self._pending, []
        for each in pending:
            if each.key not in self._seen:
                self._seen.add(each.key)
                self._found(each.observation)

    def _look(
        self, name: str, mutable: bool, args: Any, kwargs: Any, result: Any, node: Any, written_bad: bool
    ) -> None:
        __tracebackhide__ = True
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        if isinstance(result, tuple) and name.startswith("aten::_"):
            outputs = result[:1]  # the others are what the kernel keeps for backward (log of zero probabilities, …)
        for output in outputs:
            if not _is_looked_at(output):
                continue
            if bool(torch.isfinite(output).all()):
                if output.dtype is torch.float16 and name.startswith(_ELEMENTWISE_HALF):
                    self._look_for_underflow(name, args, output, node)
                if self._pending:  # the gradient of `norm` at zero, of `std` of a constant
                    self._pending = [each for each in self._pending if not each.is_masked(args, written_bad)]
                continue
            for each in self._pending:
                each.follow(args, output)
            if not written_bad:
                self._judge(name, args, kwargs, output, node, written=mutable)
            break

    def _any_bad(self, args: Any) -> bool:
        with own_reads:
            return any(not bool(torch.isfinite(each).all()) for each in _tensors(args))

    def _judge(self, name: str, args: Any, kwargs: Any, output: Any, node: Any, *, written: bool) -> None:
        """The result is bad: were the operands?"""
        __tracebackhide__ = True
        operands = [each for each in (*_tensors(args), *_tensors(kwargs.values())) if each is not output]
        if not operands and not written:
            return  # torch.full(..., -inf): asked for by name
        numbers = [*_numbers(args), *_numbers(kwargs.values())]
        made_nan = bool(torch.isnan(output).any())
        if any(math.isnan(each) for each in numbers) or any(bool(torch.isnan(each).any()) for each in operands):
            return
        infinite = any(math.isinf(each) for each in numbers) or any(bool(torch.isinf(each).any()) for each in operands)
        if infinite and (not made_nan or self._seen or self._pending):
            return  # Inf that was asked for, or that has been told already
        self._tell(name, operands, output, node, made_nan=made_nan, infinite=infinite)

    def _tell(self, name: str, operands: list[Any], output: Any, node: Any, *, made_nan: bool, infinite: bool) -> None:
        __tracebackhide__ = True
        bad = torch.isnan(output) if made_nan else torch.isinf(output)
        count, total = int(bad.sum()), output.numel()
        what = "NaN" if made_nan else "Inf"
        shown = _spoken(name)
        before = "operands with Inf but without NaN" if infinite else "finite operands"
        message = f"{shown} made {what} in {count} of {total} elements out of {before}"
        lines = []
        if output.dtype is torch.float16 and not made_nan:
            message = f"{shown} overflowed float16: {count} of {total} elements are above {HALF_MAX:.0f}"
            lines.append("float16 ends at 65504; use bfloat16, scale the numbers down, or keep this step in float32")
        if total:
            first = tuple(int(each) for each in bad.nonzero()[0]) if output.dim() else ()
            lines.insert(0, f"first at {list(first)}" + _operands_there(operands, output, first))
        lines += [f"operand {_described(each)}" for each in operands[:4]]
        self._report("overflow" if "overflowed" in message else what.lower(), name, message, lines, node, output)

    def _look_for_underflow(self, name: str, args: Any, output: Any, node: Any) -> None:
        """Numbers that were not zero and are zero now. A few are float16's everyday life, half of them are a loss."""
        __tracebackhide__ = True
        operands = list(_tensors(args))
        if not operands or output.numel() == 0 or (name.startswith("aten::_to_copy") and operands[0].numel() == 0):
            return
        if name.startswith("aten::div"):
            operands = operands[:1]
        alive = operands[0] != 0
        for each in operands[1:]:
            alive = alive & (each != 0)
        if not bool(torch.tensor([bool(torch.isfinite(each).all()) for each in operands]).all()):
            return
        lost = alive & (output == 0)
        count, total = int(lost.sum()), int(alive.sum())
        if count == 0 or 2 * count < total:
            return
        message = f"{_spoken(name)} underflowed float16: {count} of {total} numbers became zero"
        lines = [
            f"float16 has nothing between 0 and {HALF_TINY:.1e}; scale the loss (GradScaler), use bfloat16, or keep "
            "this step in float32",
            *(f"operand {_described(each)}" for each in operands[:2]),
        ]
        self._report("underflow", name, message, lines, node, output)

    def _report(self, kind: str, name: str, message: str, lines: list[str], node: Any, output: Any) -> None:
        __tracebackhide__ = True
        where = user_line(sys._getframe(1))
        forward = self._forward_lines.get(sequence_of(node)) if node is not None else None
        if node is not None:
            called = f" (backward called at {where})" if where is not None else ""
            message = f"in backward of {_node_name(node)}, {message}"
            if forward is not None:
                lines.insert(0, f"forward at {forward}: {forward.source}{called}")
                where = forward
        key = (kind, name, where, node is not None)
        if key in self._seen:
            return
        head = f"{where}: {message}" if where is not None else message
        source = [f"    {where.source}"] if where is not None and where.source and forward is None else []
        detail = "\n".join([head, *source, *(f"  {line}" for line in lines)])
        facts = {"kind": kind, "operation": name, "backward": node is not None}
        self._pending.append(_Pending(Observation("numerics", message, where, detail, 1, facts), key, output))
        self._pending_node = _identity(node)
        if node is None or isinstance(node, torch.autograd.function.BackwardCFunction):
            self._tell_pending()

    def _remember_line(self) -> None:
        """Which line the next autograd node belongs to."""
        if not torch.is_grad_enabled():
            return
        where = user_line(sys._getframe(2))
        if where is not None and len(self._forward_lines) < _LINES_KEPT:
            # Below autograd the node of the running operation already has its number: the counter is one past it.
            # An operation without a node finds the number of the one before, which has its line already.
            self._forward_lines.setdefault(self._counter() - 1, where)


def _identity(node: Any) -> tuple[str, int] | None:
    return None if node is None else (node.name(), sequence_of(node))


def _is_looked_at(value: Any) -> bool:
    """A dense tensor with values of a kind that can be NaN; subclasses (fake, distributed) are somebody else's."""
    return (
        type(value) in _PLAIN
        and value.dtype in _DTYPES
        and value.layout is torch.strided
        and not value.is_nested
        and value.device.type != "meta"
    )


def _tensors(values: Any) -> Iterator[Any]:
    """The floating-point tensors among arguments, also in lists (`cat`, `_foreach_add`)."""
    for each in values:
        if _is_looked_at(each):
            yield each
        elif isinstance(each, (list, tuple)):
            yield from _tensors(each)


def _numbers(values: Any) -> Iterator[float]:
    for each in values:
        if isinstance(each, float):
            yield each
        elif isinstance(each, (list, tuple)):
            yield from _numbers(each)


def _spoken(name: str) -> str:
    return name.removeprefix("aten::").removeprefix("_to_copy") or "the cast"


def _node_name(node: Any) -> str:
    return str(node.name()).removesuffix("0").removesuffix("1").removesuffix("Backward") or "an operation"


def _described(tensor: Any) -> str:
    if tensor.numel() == 0:
        return f"{show(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}, empty"
    if tensor.is_complex():
        return f"{show(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}, up to {float(tensor.abs().max()):.4g}"
    low, high = float(tensor.min()), float(tensor.max())
    return f"{show(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}, from {low:.4g} to {high:.4g}"


def _operands_there(operands: list[Any], output: Any, index: tuple[int, ...]) -> str:
    """The operands' values at the first bad element, where the shapes say which those are."""
    values = []
    for each in operands[:3]:
        try:
            values.append(f"{float(each.broadcast_to(output.shape)[index]):.6g}")
        except (RuntimeError, IndexError, TypeError):
            return ""
    return f", from {' and '.join(values)}" if values else ""
