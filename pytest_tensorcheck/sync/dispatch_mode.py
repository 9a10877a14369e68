"""What torch runs: follows the device flag through every operation, and sees the operations that wait."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch._dynamo  # torch loads it (1 s) at the first operation under a mode: not in the time of a test with a deadline
from torch.utils._python_dispatch import TorchDispatchMode

from pytest_tensorcheck.operator_calls import operator_call
from pytest_tensorcheck.sync import private_torch, scopes
from pytest_tensorcheck.sync.conditions import BACKWARD_CONDITIONS, CONDITIONS, Condition
from pytest_tensorcheck.sync.device_flag import (
    DEVICE,
    FLAG,
    HOST,
    NONE,
    PINNED,
    PLAIN,
    any_on_device,
    place_of,
    put,
    put_all,
)
from pytest_tensorcheck.sync.shadow import Simulation
from pytest_tensorcheck.sync.table import BACKWARD_NODES, BY_ID, BY_OP, Row
from pytest_tensorcheck.user_line import user_frame

# Operations of which CUDA accepts operands on both sides (a 0-dim operand on the host is accepted everywhere).
_MIXES = frozenset(
    [
        "index",
        "index_put",
        "index_put_",
        "_index_put_impl_",
        "_unsafe_index",
        "_unsafe_index_put",
        "copy_",
        "_foreach_copy_",
        "_to_copy",
        "_pack_padded_sequence",
        "_ctc_loss",
        "set_",
        "resize_as_",
        "resize_as_sparse_",
        "lift",
        "lift_fresh",
        "lift_fresh_copy",
        "_local_scalar_dense",
        "record_stream",
        "_nested_tensor_from_mask",
        "segment_reduce",
        "_fused_adam_",
        "_fused_adamw_",
        "_fused_sgd_",
        "_fused_adagrad_",
        "_amp_foreach_non_finite_check_and_unscale_",
        "_amp_update_scale_",
        "is_set_to",
        "_has_same_storage_numel",
        "_sparse_coo_tensor_with_dims_and_indices",
    ]
)
# Operations whose result stays where its destination is.
_KEEPS = frozenset({"copy_", "_foreach_copy_", "_local_scalar_dense", "equal", "allclose", "lift_fresh"})
_READS = frozenset({"_local_scalar_dense"})


class _Operation:
    """What is known about one overload; made on first sight."""

    __slots__ = ("aten", "condition", "func", "keeps", "mixes", "name", "row")

    def __init__(self, func: Any) -> None:
        self.func = func  # kept, for operations are found by its id: its own hash is a function written in Python
        packet = func.overloadpacket.__name__
        overload = func._overloadname
        self.name: str = packet
        self.aten: str = packet if overload in ("", "default") else f"{packet}.{overload}"
        ours = func.namespace == "aten"
        row = (BY_OP.get(self.aten) or BY_OP.get(packet)) if ours else None
        self.row: Row | None = row
        self.condition: Condition | None = CONDITIONS.get(row.condition) if row is not None else None
        self.keeps = packet in _KEEPS
        self.mixes = not ours or packet in _MIXES


_OPERATIONS: dict[int, _Operation] = {}
_Tensor = torch.Tensor
_HigherOrder = torch._ops.HigherOrderOperator  # seen in torch 2.6 to 2.13
_is_grad_enabled = torch.is_grad_enabled
_backward_node = private_torch.current_node
_next_sequence = private_torch.sequence


def _is_plain_cpu(tensor: Any) -> bool:
    """Whether CUDA would refuse this operand: not a wrapper of other tensors (nested, DTensor), not a meta tensor."""
    return type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__ and tensor.device.type == "cpu"


def _wrong_device(operation: _Operation, tensor: Any) -> RuntimeError:
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! "
        f"(simulated: {operation.aten} got a tensor of shape {tuple(tensor.shape)} on the host; is a .to(device) missing?)"
    )


class _Sides:
    """Which side an operand is on, for the table's conditions.

    Where the code names no device, an operand that may be on either side is taken to be where nothing waits for it.
    """

    __slots__ = ("_number", "_plain", "_row")

    def __init__(self, calls: Any, row: str, plain: bool) -> None:
        self._plain = plain
        self._row = row
        # `x[…] = 1.0`: on a GPU the number comes as a 0-dim tensor on the host (see numbers_are_put_from_host).
        call = calls.call
        self._number = (
            call is not None
            and call[0] is torch.Tensor.__setitem__
            and not isinstance(call[1][2], torch.Tensor)
            and private_torch.numbers_are_put_from_host()
        )

    def __call__(self, tensor: Any) -> bool:
        if self._number and tensor.dim() == 0:
            return False
        place = place_of(tensor)
        if place == DEVICE:
            return True
        if not self._plain or place in (HOST, PINNED):
            return False
        if place == PLAIN:
            return True
        return bool(tensor.dim()) or self._row == "where_host"


class ShadowDispatchMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """One for each thread; steps aside for TorchScript, which can fail under any dispatch mode. `calls` is the function mode of the same thread, which knows what Python called."""

    aside_while_tracing = aside_in_torchscript = True
    supports_higher_order_operators = True  # cond, while_loop, flex_attention: they refuse to run under a mode

    def after_torchscript(self, args: tuple[Any, ...], out: Any) -> None:
        """What runs as a whole, and computes from data on the device, leaves its result on the device."""
        if self._simulation.active and any_on_device(args):
            put_all(out, DEVICE)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Else torch imports its compiler (2 s) at the first operation; patches.py makes compiled functions run eagerly.
        return False

    def __init__(self, simulation: Simulation, calls: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._simulation = simulation
        self._calls = calls
        self._sequence = -1

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if kwargs is None:
            kwargs = {}
        if not self._simulation.active:
            return func(*args, **kwargs)
        if isinstance(func, _HigherOrder):
            out = func(*args, **kwargs)
            self.after_torchscript((*args, *kwargs.values()), out)
            return out
        node = _backward_node()
        with private_torch.without_torch_function() if node is not None else operator_call(func, types):
            return self._run(func, args, kwargs, node)

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], node: Any) -> Any:
        operation = _OPERATIONS.get(id(func))
        if operation is None:
            operation = _OPERATIONS[id(func)] = _Operation(func)
        simulation = self._simulation
        if node is None and _is_grad_enabled():
            sequence = _next_sequence()
            if sequence != self._sequence:
                self._sequence = sequence
                frame = user_frame(sys._getframe(2))
                if frame is not None:
                    simulation.remember_line(sequence - 1, (frame.f_code, frame.f_lineno, frame.f_lasti))

        # Which operands are on the device, and which are not. Written out, for this runs at every operation.
        on = plain = host = tensors = False
        others: list[tuple[Any, int]] = []
        for value in args:
            if isinstance(value, _Tensor):
                tensors = True
                try:
                    place = getattr(value.untyped_storage(), FLAG, NONE)
                except (RuntimeError, NotImplementedError):
                    place = place_of(value)
                if place == DEVICE:
                    on = True
                else:
                    others.append((value, place))
            elif isinstance(value, (list, tuple)):
                for item in value:
                    if isinstance(item, _Tensor):
                        tensors = True
                        place = place_of(item)
                        if place == DEVICE:
                            on = True
                        else:
                            others.append((item, place))
        if kwargs:
            for value in kwargs.values():
                if isinstance(value, _Tensor):
                    tensors = True
                    place = place_of(value)
                    if place == DEVICE:
                        on = True
                    else:
                        others.append((value, place))

        if on:
            if others and not operation.mixes and simulation.pretending:
                left = next((t for t, _ in others if t.dim() and _is_plain_cpu(t)), None)
                if left is not None:
                    raise _wrong_device(operation, left)
            if operation.row is not None or node is not None:
                self._look(operation, args, kwargs, node, plain=False)
        elif others and not simulation.device_named:
            host = True
            for other, place in others:
                if place in (NONE, PLAIN):
                    host = False
                    if self._counts_plain(other, place):
                        plain = True
            if operation.row is not None or (plain and node is not None):
                if plain:
                    self._look(operation, args, kwargs, node, plain=True)
                elif operation.name in _READS:
                    self._look_at_integer(operation, args)

        out = func(*args, **kwargs)

        if on or plain or host:
            if operation.keeps:
                return out
            place = DEVICE if on else PLAIN if plain else HOST
            if isinstance(out, _Tensor):
                try:
                    setattr(out.untyped_storage(), FLAG, place)
                except (RuntimeError, NotImplementedError):
                    put(out, place)
            else:
                self._mark(out, place, operation)
        elif not tensors and self._made_for_device(node):
            self._mark(out, DEVICE, operation)
        return out

    def _counts_plain(self, tensor: Any, place: int) -> bool:
        """Whether a tensor counts as device data although the code names no device."""
        simulation = self._simulation
        if place == PLAIN:
            return True
        if tensor.is_floating_point() or tensor.is_complex():
            simulation.floats_seen = True
            return True
        return False

    def _mark(self, out: Any, place: int, operation: _Operation) -> None:
        if isinstance(out, torch.Tensor):
            put(out, place)
        elif isinstance(out, (tuple, list)):
            if operation.name == "_pack_padded_sequence":
                out = out[:1]  # the batch sizes are on the host by design
            for item in out:
                if isinstance(item, torch.Tensor):
                    put(item, place)

    def _made_for_device(self, node: Any) -> bool:
        """Whether a tensor made from nothing belongs to the device: inside an API call with a device operand, or in backward."""
        call = self._calls.call
        if call is not None:
            func, args, kwargs = call
            if func in private_torch.factories():
                return False
            return any_on_device(args) or (bool(kwargs) and any_on_device(kwargs.values()))
        return node is not None and self._simulation.device_named

    def _look(
        self, operation: _Operation, args: tuple[Any, ...], kwargs: dict[str, Any], node: Any, *, plain: bool
    ) -> None:
        """Report the operation if it waits."""
        if not scopes.listening() or self._calls.silent:
            return
        simulation = self._simulation
        if node is not None:
            waits = BACKWARD_NODES.get(node.name())
            if waits is not None and self._first_in(node):
                row_id, condition = waits
                if not condition or BACKWARD_CONDITIONS[condition](node):
                    simulation.report(row_id, BY_ID[row_id].names[0], node=node, plain=plain, depth=3)
        row = operation.row
        if row is None:
            return
        row_id = row.id
        if row.condition == "copy_across":
            row_id = "" if plain else self._copy_across(operation, args, kwargs)
        elif operation.condition is not None:
            row_id = operation.condition(args, kwargs, _Sides(self._calls, row.id, plain))
            if row_id == "host_index" and node is not None:
                row_id = ""  # forward brought the index to the device, and kept that one
        elif operation.name in _READS and place_of(args[0]) == HOST:
            row_id = ""
        if row_id:
            simulation.report(
                row_id,
                self._called(row, operation),
                aten=operation.aten,
                node=node,
                plain=plain,
                certain=row_id != "pageable",
                depth=3,
            )

    def _look_at_integer(self, operation: _Operation, args: tuple[Any, ...]) -> None:
        """A number is read from an integer tensor of a program that names no device and has (so far) no floats."""
        if (
            place_of(args[0]) == NONE
            and not self._simulation.floats_seen
            and scopes.listening()
            and not self._calls.silent
        ):
            row = operation.row
            assert row is not None
            self._simulation.report(
                row.id, self._called(row, operation), aten=operation.aten, plain=True, integer=True, depth=3
            )

    def _called(self, row: Row, operation: _Operation) -> str:
        """The name a user knows: of the function that Python called if the row knows it, else the row's first."""
        called = self._calls.called
        if called in row.names:
            return str(called)
        if operation.name in row.names or not row.names:
            return operation.name
        return row.names[0]

    def _first_in(self, node: Any) -> bool:
        """Once for each run of a node, however many operations it runs."""
        key = (id(node), private_torch.node_sequence(node))
        if self._calls.last_node == key:
            return False
        self._calls.last_node = key
        return True

    def _copy_across(self, operation: _Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        to, source = args[0], args[1]
        non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
        pairs = zip(to, source, strict=False) if isinstance(to, (list, tuple)) else [(to, source)]
        for a, b in pairs:
            from_place, to_place = place_of(b), place_of(a)
            if (from_place == DEVICE) != (to_place == DEVICE) and b.numel():
                if not non_blocking:
                    return "copy_"
                pinned = from_place == PINNED or to_place == PINNED
                return "" if pinned else "pageable"
        return ""
