"""How long gradcheck takes beside torch.autograd.gradcheck's fast and slow mode, parameters included in all three.

    python benchmarks/gradcheck_time.py [--out RESULT.json]

torch's gradcheck gets the parameters as inputs through functional_call; it cannot check them otherwise. Minimum of
several runs, one thread, milliseconds. Slow mode is left out where its Jacobian has more than four million entries.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from pytest_tensorcheck.gradients import gradcheck

Tensor = torch.Tensor


def _attention(x: Tensor, weight: Tensor) -> Tensor:
    q, k, v = (x @ weight).chunk(3, -1)
    return torch.softmax(q @ k.mT / 8, -1) @ v


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, 3 * width) / width**0.5)

    def forward(self, x: Tensor) -> Tensor:
        return _attention(x, self.weight)


def cases() -> dict[str, tuple[nn.Module, tuple[Tensor, ...]]]:
    torch.manual_seed(0)
    return {
        "Linear(64, 64)": (nn.Linear(64, 64), (torch.randn(2, 64),)),
        "Conv2d(3, 4, 3)": (nn.Conv2d(3, 4, 3), (torch.randn(1, 3, 8, 8),)),
        "LSTMCell(8, 16)": (nn.LSTMCell(8, 16), (torch.randn(2, 8), (torch.randn(2, 16), torch.randn(2, 16)))),  # type: ignore[dict-item]
        "BatchNorm1d(16)": (nn.BatchNorm1d(16), (torch.randn(32, 16),)),
        "attention, 16 x 20": (Attention(16), (torch.randn(20, 16),)),
        "MLP, 50,000 parameters": (
            nn.Sequential(nn.Linear(200, 200), nn.Tanh(), nn.Linear(200, 50)),
            (torch.randn(4, 200),),
        ),
    }


def with_parameters(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    """The module as a function of its inputs and its parameters, in float64, for torch's gradcheck."""
    double = module.double()
    names = [name for name, _ in double.named_parameters()]
    flat = [t for item in inputs for t in (item if isinstance(item, tuple) else (item,))]

    def function(*tensors: Tensor) -> Any:
        given = list(tensors)
        arguments = tuple(
            tuple(given.pop(0) for _ in item) if isinstance(item, tuple) else given.pop(0) for item in inputs
        )
        return torch.func.functional_call(double, dict(zip(names, given, strict=True)), arguments)

    values = [*flat, *double.parameters()]
    return function, tuple(t.detach().double().clone().requires_grad_() for t in values)


def milliseconds(call: Callable[[], Any], times: int) -> float:
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return round(1000 * best, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows = []
    for name, (module, inputs) in cases().items():
        ours = milliseconds(lambda m=module, i=inputs: gradcheck(m, i), 10)  # type: ignore[misc]
        function, values = with_parameters(module, inputs)
        out = function(*values)
        outputs = sum(o.numel() for o in (out if isinstance(out, tuple) else (out,)))
        size = sum(v.numel() for v in values)
        fast = milliseconds(lambda f=function, v=values: torch.autograd.gradcheck(f, v, fast_mode=True), 5)  # type: ignore[misc]
        slow = None
        if size * outputs <= 4_000_000:
            slow = milliseconds(lambda f=function, v=values: torch.autograd.gradcheck(f, v), 2)  # type: ignore[misc]
        row = {
            "case": name,
            "inputs": size,
            "outputs": outputs,
            "ours ms": ours,
            "fast ms": fast,
            "slow ms": slow,
            "slow / ours": round(slow / ours, 1) if slow else None,
        }
        rows.append(row)
        print(row, flush=True)
    if options.out:
        options.out.write_text(json.dumps({"torch": torch.__version__, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
