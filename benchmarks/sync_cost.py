"""What the synchronisation check costs: µs per operation and the slow-down of a training step, beside empty modes.

    python benchmarks/sync_cost.py

On a machine with a GPU the watcher of the GPU is measured as well. One thread; the
least CPU time of several runs.
"""

from __future__ import annotations

import contextlib
import time
import timeit
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from pytest_tensorcheck.sync import device, no_sync, simulation


class EmptyDispatch(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class EmptyFunction(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def micros(call: Callable[[], Any], number: int) -> float:
    return min(timeit.repeat(call, number=number, repeat=9, timer=time.process_time)) / number * 1e6


def training_step(d: str, width: int, batch: int) -> Callable[[], None]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(width, width, device=d), nn.ReLU(), nn.Linear(width, width, device=d))
    optimizer = torch.optim.AdamW(net.parameters())
    x, y = torch.randn(batch, width, device=d), torch.randn(batch, width, device=d)

    def step() -> None:
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()

    for _ in range(20):
        step()
    return step


STEPS = {
    "small (2 × 64, batch 32)": (64, 32),
    "medium (2 × 256, batch 128)": (256, 128),
    "larger (2 × 512, batch 256)": (512, 256),
}


def table(
    title: str, d: str, contexts: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]], n: int
) -> None:
    print(f"\n{title}")
    x = torch.randn(8, 8, device=d if d != "simulated" else "cpu")
    plain: dict[str, float] = {"add": micros(lambda: x + x, 20 * n)}
    for name, (width, batch) in STEPS.items():
        plain[name] = micros(training_step("cpu" if d == "simulated" else d, width, batch), n)
    print(f"  {'plain':34s}" + "".join(f"{name}: {value:.1f} µs   " for name, value in plain.items()))
    for label, context in contexts.items():
        with context():
            where = str(device()) if "simulat" in label or d == "cuda" else "cpu"
            y = torch.randn(8, 8, device=where)
            shown = [f"add: {micros(lambda: y + y, 20 * n):.1f} µs"]  # noqa: B023
            for name, (width, batch) in STEPS.items():
                took = micros(training_step(where, width, batch), n)
                shown.append(f"{name}: {took:.0f} µs = {took / plain[name]:.2f} ×")
        print(f"  {label:34s}" + "   ".join(shown))


@contextlib.contextmanager
def both_empty() -> Any:
    with EmptyDispatch(), EmptyFunction():
        yield


@contextlib.contextmanager
def simulated_no_sync() -> Any:
    with simulation(), no_sync(allow=10**9):
        yield


def main() -> None:
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}")
    table(
        "without a GPU",
        "simulated",
        {
            "empty dispatch mode": EmptyDispatch,
            "empty dispatch and function modes": both_empty,
            "simulation": simulation,
            "simulation, inside no_sync": simulated_no_sync,
        },
        100,
    )

    def enter() -> None:
        with simulation():
            pass

    print(f"  entering and leaving a simulation: {micros(enter, 50):.0f} µs")
    if torch.cuda.is_available():
        table("on the GPU", "cuda", {"no_sync": lambda: no_sync(allow=10**9)}, 100)
    else:
        print("no GPU here: the cost of the GPU's watcher was not measured")


if __name__ == "__main__":
    main()
