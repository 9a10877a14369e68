"""torch's global state as items to compare and put back. Private names of torch are read here and nowhere else
for this purpose; each was seen in torch 2.6 to 2.13, and an item whose getter is missing or raises is left out.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from pytest_tensorcheck.global_state import StateItem, Witness

_PRECISIONS = (
    ("cuda", "matmul"),
    ("cuda", "conv"),
    ("cuda", "rnn"),
    ("mkldnn", "matmul"),
    ("mkldnn", "conv"),
    ("mkldnn", "rnn"),
    ("generic", "all"),
)
_PRECISION_ARGUMENTS = tuple(zip(*_PRECISIONS, strict=True))  # the backends, the operations
_MIXED = "(set per backend)"
_MATMUL = "torch float32 matmul precision"
_CUDNN_TF32 = "torch.backends.cudnn.allow_tf32"
_INFERENCE = "torch inference mode"
# There is only the context manager to set this mode, and a guard that is collected sets the mode that it found.
_KEPT_GUARDS: list[Any] = []


def torch_items(torch: Any) -> list[StateItem]:
    """Every item that this version of torch has."""
    rows: list[StateItem] = []
    for group in (_defaults, _deterministic, _precision, _grad_and_autocast, _modes, _process_group):
        try:
            rows.extend(group(torch))
        except (AttributeError, ImportError):  # a private name that this version of torch does not have
            continue
    noted, guard = _guarded(torch)
    return [_with_guard(row, noted, guard) for row in rows if _readable(row)]


def _with_guard(row: StateItem, noted: frozenset[str], guard: Witness) -> StateItem:
    """The item with the guard for a witness, where that notes what it has to."""
    own = row.witness
    if not _GUARDED.get(row.name, frozenset("?")) <= noted:
        return row
    if row.name.startswith(_AUTOCAST) and own is not None:
        # The guard compares a dtype only where autocast is on. The row of its cache brings the guard itself.
        return row._replace(witness=lambda: tuple(own())[1:])
    return row._replace(witness=guard)


_AUTOCAST = "torch autocast ("
# Items -> what a GlobalStateGuard has to note for it to know of their changes.
_GUARDED = {
    "torch default dtype": {"default_dtype"},
    "torch number of threads": {"num_threads"},
    "torch.use_deterministic_algorithms": {"deterministic_algorithms", "deterministic_algorithms_warn_only"},
    "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction": {"allow_fp16_reduce"},
    "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction": {"allow_bf16_reduce"},
    "torch grad mode": {"grad_mode"},
    "torch autocast cache": {"autocast_state"},
    f"{_AUTOCAST}cpu)": {"autocast_state"},
    f"{_AUTOCAST}cuda)": {"autocast_state"},
    "torch function overrides disabled": {"torch_function_all_disabled"},
}


def _guarded(torch: Any) -> tuple[frozenset[str], Witness]:
    """What compiled code asks before it runs again, a third of all items in one call: which variables it notes, and how
    to make one. Nothing in versions of torch whose guard does not tell (seen in 2.13)."""
    try:
        guard = torch._C._dynamo.guards.GlobalStateGuard
        noted = frozenset(json.loads(guard().__getstate__()))
    except (AttributeError, TypeError, ValueError, RuntimeError):  # RuntimeError: its settings contradict each other
        return frozenset(), tuple
    return noted, lambda: (guard().check,)


def _readable(row: StateItem) -> bool:
    try:
        row.get()
    except Exception:
        return False
    return True


def _defaults(torch: Any) -> list[StateItem]:
    from torch.utils import _device as device

    printing = torch._tensor_str.PRINT_OPTS

    def get_printing() -> dict[str, Any]:
        return dict(vars(printing))

    def set_printing(old: dict[str, Any]) -> None:
        for name, value in old.items():
            setattr(printing, name, value)

    return [
        StateItem("torch default dtype", torch.get_default_dtype, torch.set_default_dtype),
        # get_default_device() makes a device object (4 µs); this is the variable it reads.
        StateItem(
            "torch default device",
            partial(getattr, device, "CURRENT_DEVICE"),
            torch.set_default_device,
            show=_device,
        ),
        StateItem("torch number of threads", torch.get_num_threads, torch.set_num_threads),
        StateItem("torch print options", get_printing, set_printing, witness=lambda: (vars(printing).copy,)),
    ]


def _device(value: Any) -> str:
    return "cpu" if value is None else str(value)


def backend_flags_open(torch: Any) -> contextlib.AbstractContextManager[Any]:
    """Lets `torch.backends.*` flags be assigned: whoever imports `torch.testing._internal` forbids that to the process.

    `torch.backends.__allow_nonbracketed_mutation`, seen in 2.6 to 2.13.
    """
    opened = getattr(torch.backends, "__allow_nonbracketed_mutation", None)
    return contextlib.nullcontext() if opened is None else opened()


def _deterministic(torch: Any) -> list[StateItem]:
    c, cudnn = torch._C, torch.backends.cudnn

    def flag(name: str) -> Callable[[bool], None]:
        def put(value: bool) -> None:
            with backend_flags_open(torch):
                setattr(cudnn, name, value)

        return put

    def set_deterministic(mode: int) -> None:
        # use_deterministic_algorithms tells inductor too, and imports it for that (1 s): only where it is there.
        if "torch._inductor.config" in sys.modules:
            torch.use_deterministic_algorithms(mode > 0, warn_only=mode == 1)
        else:
            torch.set_deterministic_debug_mode(mode)

    return [
        StateItem(
            "torch.use_deterministic_algorithms",
            torch.get_deterministic_debug_mode,
            set_deterministic,
            show=lambda mode: ("False", "True (warn only)", "True")[mode],
        ),
        StateItem(
            "torch.utils.deterministic.fill_uninitialized_memory",
            c._get_deterministic_fill_uninitialized_memory,
            c._set_deterministic_fill_uninitialized_memory,
        ),
        StateItem("torch.backends.cudnn.enabled", c._get_cudnn_enabled, flag("enabled")),
        StateItem("torch.backends.cudnn.benchmark", c._get_cudnn_benchmark, flag("benchmark")),
        StateItem("torch.backends.cudnn.deterministic", c._get_cudnn_deterministic, flag("deterministic")),
        StateItem("torch.backends.mkldnn.enabled", c._get_mkldnn_enabled, c._set_mkldnn_enabled),
    ]


def _precision(torch: Any) -> list[StateItem]:
    c = torch._C

    def matmul_precision() -> Any:
        try:
            return torch.get_float32_matmul_precision()
        except RuntimeError:  # the newer per-backend setting was used: it is compared below
            return _MIXED

    def set_matmul_precision(old: str) -> None:
        if old != _MIXED:
            torch.set_float32_matmul_precision(old)

    def cudnn_tf32() -> Any:
        try:
            return c._get_cudnn_allow_tf32()
        except RuntimeError:
            return _MIXED

    def set_cudnn_tf32(old: Any) -> None:
        if old != _MIXED:
            with backend_flags_open(torch):
                torch.backends.cudnn.allow_tf32 = old

    rows = [
        StateItem(_MATMUL, matmul_precision, set_matmul_precision, witness=lambda: (c._get_float32_matmul_precision,)),
        StateItem(_CUDNN_TF32, cudnn_tf32, set_cudnn_tf32, witness=lambda: (c._get_cudnn_allow_tf32,)),
    ]
    read, write = getattr(c, "_get_fp32_precision_getter", None), getattr(c, "_set_fp32_precision_setter", None)
    if read is not None and write is not None:  # torch 2.9 and later

        def set_precisions(old: tuple[str, ...]) -> None:
            for (backend, operation), value in zip(_PRECISIONS, old, strict=True):
                if read(backend, operation) != value:
                    write(backend, operation, value)

        rows.append(
            StateItem(
                "torch fp32_precision",
                lambda: tuple(map(read, *_PRECISION_ARGUMENTS)),
                set_precisions,
                follows=(_MATMUL, _CUDNN_TF32),
                witness=lambda: [partial(read, backend, operation) for backend, operation in _PRECISIONS],
                show=lambda value: ", ".join(
                    f"{backend}.{operation}={one}" for (backend, operation), one in zip(_PRECISIONS, value, strict=True)
                ),
            )
        )
    for dtype in ("fp16", "bf16"):
        name = f"allow_{dtype}_reduced_precision_reduction"
        rows.append(
            StateItem(
                f"torch.backends.cuda.matmul.{name}",
                getattr(c, f"_get_cublas_{name}", lambda: None),
                _reduced_precision_setter(torch, name),
            )
        )
    return rows


def _reduced_precision_setter(torch: Any, name: str) -> Callable[[Any], None]:
    # A bool up to torch 2.8; then also a pair (allow reduced precision, allow split-K).
    return lambda value: setattr(torch.backends.cuda.matmul, name, value)


def _grad_and_autocast(torch: Any) -> list[StateItem]:
    def set_anomaly(old: tuple[bool, bool]) -> None:
        torch.autograd.set_detect_anomaly(*old)  # a function when called so: it takes effect at once

    def set_inference_mode(old: bool) -> None:
        guard = torch.inference_mode(old)
        guard.__enter__()
        _KEPT_GUARDS.append(guard)

    enabled, get_dtype = torch.is_autocast_enabled, torch.get_autocast_dtype

    def autocast_row(device: str) -> StateItem:
        def put_back(old: tuple[bool, Any]) -> None:
            torch.set_autocast_enabled(device, old[0])
            torch.set_autocast_dtype(device, old[1])

        return StateItem(
            f"{_AUTOCAST}{device})",
            lambda: (enabled(device), get_dtype(device)),
            put_back,
            witness=lambda: (partial(enabled, device), partial(get_dtype, device)),  # in this order: see _with_guard
            show=lambda value: f"{'on' if value[0] else 'off'}, {value[1]}",
        )

    return [
        StateItem("torch grad mode", torch.is_grad_enabled, torch.set_grad_enabled, follows=(_INFERENCE,)),
        StateItem(_INFERENCE, torch.is_inference_mode_enabled, set_inference_mode),
        StateItem("torch autocast cache", torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
        autocast_row("cpu"),
        autocast_row("cuda"),
        StateItem(
            "torch anomaly mode",
            lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
            set_anomaly,
            show=lambda value: "on" if value[0] else "off",
            witness=lambda: (torch.is_anomaly_enabled, torch.is_anomaly_check_nan_enabled),
        ),
    ]


def _modes(torch: Any) -> list[StateItem]:
    """Modes entered and never left. set_default_device pushes one too; that has a row of its own."""
    from torch.utils import _device
    from torch.utils import _python_dispatch as dispatch

    c = torch._C
    functions_length, dispatch_length = c._len_torch_function_stack, c._len_torch_dispatch_stack
    function_stack = torch.overrides._get_current_function_mode_stack
    device_context = _device.DeviceContext

    def function_modes() -> tuple[Any, ...]:
        if not functions_length():
            return ()
        return tuple(mode for mode in function_stack() if not isinstance(mode, device_context))

    def leave_function_modes(old: tuple[Any, ...]) -> None:
        while len(now := function_modes()) > len(old) and now[: len(old)] == old:
            if isinstance(function_stack()[-1], device_context):
                break
            torch.overrides._pop_mode()

    def dispatch_modes() -> tuple[Any, ...]:
        return tuple(dispatch._get_current_dispatch_mode_stack()) if dispatch_length() else ()

    def leave_dispatch_modes(old: tuple[Any, ...]) -> None:
        while len(now := dispatch_modes()) > len(old) and now[: len(old)] == old:
            dispatch._pop_mode()

    def while_empty(length: Callable[[], int], modes: Callable[[], Any]) -> Witness:
        return lambda: (modes if length() else length,)

    def names(modes: tuple[Any, ...]) -> str:
        return ", ".join(type(mode).__name__ for mode in modes) or "none"

    return [
        StateItem(
            "torch function modes",
            function_modes,
            leave_function_modes,
            show=names,
            witness=while_empty(functions_length, function_modes),
        ),
        StateItem(
            "torch dispatch modes",
            dispatch_modes,
            leave_dispatch_modes,
            show=names,
            witness=while_empty(dispatch_length, dispatch_modes),
        ),
        StateItem("torch function overrides disabled", c._is_torch_function_all_disabled, None),
    ]


class ModeStack:
    """torch's stacks of modes around a test's call: what the test entered and did not leave comes off again.

    Has to happen before the plugin leaves modes of its own, since leaving pops whatever is on top.
    """

    def __init__(self, torch: Any) -> None:
        from torch.utils._device import DeviceContext

        self._rows = _modes(torch)[:2]
        self._functions = torch.overrides._get_current_function_mode_stack
        self._pop_function, self._device_context = torch.overrides._pop_mode, DeviceContext
        self.lengths = (torch._C._len_torch_function_stack, torch._C._len_torch_dispatch_stack)

    def depth(self) -> tuple[int, int]:
        """How many function and dispatch modes are entered."""
        functions, dispatch = self.lengths
        return functions(), dispatch()

    def leave_above(self, depth: tuple[int, int]) -> list[str]:
        """Pop what lies above `depth`; the modes' names. A default device that was set has a row of its own."""
        if self.depth() <= depth:
            return []
        leaked = self._leave_devices()
        for row, length in zip(self._rows, depth, strict=True):
            now = row.get()
            if len(now) > length and row.set is not None:
                leaked.extend(type(mode).__name__ for mode in now[length:])
                row.set(now[:length])
        return leaked

    def _leave_devices(self) -> list[str]:
        """Pop `with torch.device(…)` blocks that lie on top of a mode of ours; set_default_device puts its own to the bottom."""
        leaked: list[str] = []
        while (stack := self._functions()) and isinstance(stack[-1], self._device_context):
            if not any(type(mode).__module__.startswith(f"{__package__}.") for mode in stack):
                break
            leaked.append(f"torch.device({str(stack[-1].device)!r})")
            self._pop_function()
        return leaked


def _process_group(torch: Any) -> list[StateItem]:
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available():
        return []

    def put_back(old: bool) -> None:
        if not old and distributed.is_initialized():
            distributed.destroy_process_group()

    # is_initialized(), without the two properties on its way to the variable (seen in torch 2.6 to 2.13).
    world: Any = getattr(getattr(distributed, "distributed_c10d", None), "_world", None)
    group = partial(getattr, world, "_default_pg")
    direct = hasattr(world, "_default_pg")
    return [
        StateItem(
            "torch default process group",
            (lambda: group() is not None) if direct else distributed.is_initialized,
            put_back,
            show=lambda value: "initialised" if value else "none",
            witness=(lambda: (group,)) if direct else None,
        )
    ]
