"""The global random generators' states: taken before the first run, put back before every other one and at the end."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from pytest_tensorcheck.frameworks import loaded

_ACCELERATORS = ("cuda", "xpu", "mps")


@dataclass
class RandomState:
    """`random`, numpy's global generator, torch's on the CPU and on every accelerator that is initialised.

    Taking one initialises no accelerator. Where one is available but not yet initialised, its generators get a fixed
    seed when they appear, because torch would seed them from the operating system.
    """

    python: Any = None
    numpy: Any = None
    torch_cpu: Any = None
    accelerators: dict[str, Any] = field(default_factory=dict)
    lazily_seeded: list[str] = field(default_factory=list)

    @classmethod
    def take(cls) -> RandomState:
        state = cls(python=random.getstate())
        numpy, torch = loaded("numpy"), loaded("torch")
        if numpy is not None:
            state.numpy = numpy.random.get_state()
        if torch is not None:
            state.torch_cpu = torch.default_generator.get_state()
            for name in _ACCELERATORS:
                backend = getattr(torch, name, None)
                if backend is None or not backend.is_available():
                    continue
                if name == "mps":
                    state.accelerators[name] = backend.get_rng_state()
                elif backend.is_initialized():
                    state.accelerators[name] = backend.get_rng_state_all()
                else:
                    backend.manual_seed_all(0)  # queued until the device is initialised
                    state.lazily_seeded.append(name)
        return state

    def restore(self) -> None:
        random.setstate(self.python)
        numpy, torch = loaded("numpy"), loaded("torch")
        if numpy is not None and self.numpy is not None:
            numpy.random.set_state(self.numpy)
        if torch is None or self.torch_cpu is None:
            return
        torch.default_generator.set_state(self.torch_cpu)
        for name, saved in self.accelerators.items():
            backend = getattr(torch, name)
            if name == "mps":
                backend.set_rng_state(saved)
            else:
                backend.set_rng_state_all(saved)
        for name in self.lazily_seeded:
            backend = getattr(torch, name)
            if backend.is_initialized():
                backend.manual_seed_all(0)
