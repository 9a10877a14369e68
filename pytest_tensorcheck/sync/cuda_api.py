"""torch.cuda for the simulation: one device, named as such, with an empty memory and streams that are always done."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from pytest_tensorcheck.sync.shadow import Simulation

NAME = "simulated GPU (pytest-tensorcheck)"
_MEMORY = 16 * 2**30
_REAL_GENERATOR = torch.Generator


def _properties() -> Any:
    return SimpleNamespace(
        name=NAME, major=8, minor=0, total_memory=_MEMORY, multi_processor_count=1, warp_size=32, is_integrated=False,
        is_multi_gpu_board=False, max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536, gcnArchName="",
        shared_memory_per_block=49152, shared_memory_per_block_optin=101376, L2_cache_size=2**22, uuid="simulated",
    )  # fmt: skip


class _Generator(type):
    """torch.Generator that accepts device="cuda": real generators, all of them on the host."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _REAL_GENERATOR)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _REAL_GENERATOR)

    def __call__(cls, device: Any = "cpu") -> Any:
        if torch.device(device).type == "cuda":
            return _REAL_GENERATOR()
        return _REAL_GENERATOR(device)


class SimulatedGenerator(metaclass=_Generator):
    pass


class SimulatedStream:
    """A stream on which everything is always done; synchronize() is reported."""

    simulation: Simulation

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.device = torch.device("cuda", 0)
        self.device_index, self.device_type, self.priority = 0, 1, priority
        self.stream_id = self.cuda_stream = 0

    def synchronize(self) -> None:
        self.simulation.report("synchronize", "synchronize", depth=2)

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def wait_stream(self, stream: Any) -> None: ...

    def wait_event(self, event: Any) -> None: ...

    def record_event(self, event: Any = None) -> Any:
        event = event if event is not None else SimulatedEvent()
        event.record(self)
        return event

    def __enter__(self) -> SimulatedStream:
        return self

    def __exit__(self, *_: object) -> None: ...


class SimulatedEvent:
    """An event that has always happened; synchronize() is reported."""

    simulation: Simulation

    def __init__(self, device: Any = None, enable_timing: bool = False, blocking: bool = False, **_: Any) -> None:
        self.device = torch.device("cuda", 0)
        self.event_id = self.cuda_event = 0
        self._timing, self._time = enable_timing, 0.0

    def record(self, stream: Any = None) -> None:
        self._time = time.perf_counter()

    def wait(self, stream: Any = None) -> None: ...

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        self.simulation.report("event_synchronize", "event_synchronize", depth=2)

    def elapsed_time(self, end_event: Any) -> float:
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        return float((end_event._time - self._time) * 1e3)


class _Guard(contextlib.nullcontext[Any]):
    """torch.cuda.device(…), torch.cuda.device_of(…), StreamContext: there is one device."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()
        self.idx, self.prev_idx = 0, 0


class _NoGraph:
    def __init__(self, *_: Any, **__: Any) -> None:
        raise RuntimeError("CUDA graphs are not available in the simulation: they need a GPU")


def _none(*_: Any, **__: Any) -> None:
    return None


def _zero(*_: Any, **__: Any) -> int:
    return 0


def _true(*_: Any, **__: Any) -> bool:
    return True


def _false(*_: Any, **__: Any) -> bool:
    return False


def _check_index(device: Any = None) -> None:
    index = device if isinstance(device, int) else (torch.device(device).index if device is not None else 0)
    if (index or 0) > 0:
        raise RuntimeError(f"CUDA error: invalid device ordinal (simulated: there is one device; got {device})")


def replacements(simulation: Simulation) -> list[tuple[Any, str, Any]]:
    """(owner, name, replacement) for everything that would ask a CUDA driver."""

    def synchronize(device: Any = None) -> None:
        simulation.report("synchronize", "synchronize", depth=2)

    def rng_state(device: Any = "cuda") -> Any:
        if simulation.rng_state is None:
            simulation.rng_state = torch.zeros(16, dtype=torch.uint8, device="cpu")
        return simulation.rng_state.clone()

    def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
        simulation.rng_state = new_state.clone()

    # Subclasses of this simulation, so that an old stream does not report into a later simulation.
    stream = type("Stream", (SimulatedStream,), {"simulation": simulation})
    event = type("Event", (SimulatedEvent,), {"simulation": simulation})
    the_stream = stream()
    sync_mode = [0]

    def set_sync_debug_mode(debug_mode: Any) -> None:
        sync_mode[0] = {"default": 0, "warn": 1, "error": 2}.get(debug_mode, debug_mode)

    cuda: dict[str, Any] = {
        "is_available": _true, "is_initialized": _true, "init": _none, "_lazy_init": _none, "device_count": lambda: 1,
        "current_device": _zero, "set_device": _check_index, "synchronize": synchronize, "device": _Guard, "device_of": _Guard,
        "get_device_name": lambda device=None: NAME, "get_device_capability": lambda device=None: (8, 0),
        "get_device_properties": lambda device=None: _properties(), "is_bf16_supported": _true, "is_tf32_supported": _true,
        "can_device_access_peer": _false, "get_arch_list": list, "get_gencode_flags": str, "ipc_collect": _none,
        "current_blas_handle": _zero, "current_stream": lambda device=None: the_stream,
        "default_stream": lambda device=None: the_stream, "set_stream": _none, "stream": _Guard, "StreamContext": _Guard,
        "Stream": stream, "ExternalStream": stream, "Event": event, "CUDAGraph": _NoGraph, "graph": _NoGraph,
        "set_sync_debug_mode": set_sync_debug_mode, "get_sync_debug_mode": lambda: sync_mode[0],
        "manual_seed": _none, "manual_seed_all": _none, "seed": _none, "seed_all": _none, "initial_seed": _zero,
        "get_rng_state": rng_state, "set_rng_state": set_rng_state, "get_rng_state_all": lambda: [rng_state()],
        "set_rng_state_all": lambda new_states: set_rng_state(list(new_states)[-1]),
        "utilization": _zero, "memory_usage": _zero, "temperature": _zero, "power_draw": _zero, "clock_rate": _zero,
        "get_allocator_backend": lambda: "native", "is_current_stream_capturing": _false,
    }  # fmt: skip
    memory: dict[str, Any] = {
        "empty_cache": _none, "memory_allocated": _zero, "max_memory_allocated": _zero, "memory_reserved": _zero,
        "max_memory_reserved": _zero, "memory_cached": _zero, "max_memory_cached": _zero, "memory_stats": lambda device=None: {},
        "memory_summary": lambda device=None, abbreviated=False: NAME, "memory_snapshot": lambda *a, **k: [],
        "reset_peak_memory_stats": _none, "reset_accumulated_memory_stats": _none, "reset_max_memory_allocated": _none,
        "reset_max_memory_cached": _none, "mem_get_info": lambda device=None: (_MEMORY, _MEMORY),
        "set_per_process_memory_fraction": _none, "list_gpu_processes": lambda device=None: NAME,
        "_record_memory_history": _none,
    }  # fmt: skip
    accelerator: dict[str, Any] = {
        "is_available": _true, "device_count": lambda: 1, "current_device_index": _zero, "current_device_idx": _zero,
        "current_accelerator": lambda check_available=False: torch.device("cuda"), "set_device_index": _none,
        "set_device_idx": _none, "synchronize": synchronize, "current_stream": lambda device=None: the_stream,
        "set_stream": _none, "empty_cache": _none, "memory_allocated": _zero, "max_memory_allocated": _zero,
        "memory_reserved": _zero, "max_memory_reserved": _zero, "memory_stats": lambda device=None: {},
        "reset_peak_memory_stats": _none, "reset_accumulated_memory_stats": _none,
        "get_device_capability": lambda device=None: {}, "device_index": _Guard,
    }  # fmt: skip

    real_stream, real_event = torch.Stream, torch.Event

    def on_cuda(made: Callable[..., Any], real: Any) -> Any:
        class Either(type):
            def __instancecheck__(cls, instance: Any) -> bool:
                return isinstance(instance, (real, SimulatedStream if real is real_stream else SimulatedEvent))

            def __call__(cls, device: Any = None, *args: Any, **kwargs: Any) -> Any:
                if device is None or torch.device(device).type == "cuda":
                    return made(None, *args, **kwargs)
                return real(device, *args, **kwargs)

        return Either(real.__name__, (), {})

    out: list[tuple[Any, str, Any]] = [
        (torch, "Generator", SimulatedGenerator),
        (torch, "Stream", on_cuda(stream, real_stream)),
        (torch, "Event", on_cuda(event, real_event)),
        (torch.backends.cudnn, "is_acceptable", _false),
    ]
    out += [(torch.cuda, name, value) for name, value in {**cuda, **memory}.items() if hasattr(torch.cuda, name)]
    out += [(torch.cuda.memory, name, value) for name, value in memory.items() if hasattr(torch.cuda.memory, name)]
    out += [
        (torch.cuda.random, name, cuda[name])
        for name in (
            "get_rng_state",
            "set_rng_state",
            "get_rng_state_all",
            "set_rng_state_all",
            "manual_seed",
            "manual_seed_all",
        )
    ]
    accelerators = getattr(torch, "accelerator", None)
    if accelerators is not None:
        out += [(accelerators, name, value) for name, value in accelerator.items() if hasattr(accelerators, name)]
    ranges = SimpleNamespace(rangePushA=_zero, rangePop=_zero, rangeStartA=_zero, rangeEnd=_none, markA=_none)
    if hasattr(torch.cuda.nvtx, "_nvtx"):
        out.append((torch.cuda.nvtx, "_nvtx", ranges))
    return out
