"""How long gradcheck takes beside torch.autograd.gradcheck's fast and slow mode, parameters included in all three.

    python benchmarks/gradcheck_time.py [--rounds 7] [--out RESULT.md]

torch's gradcheck gets the parameters as inputs through functional_call; it cannot check them otherwise. Ours, fast and
slow mode take turns in every round; shown is the median over the rounds of the CPU time, on one thread, and the median of
the ratio within a round. Slow mode is left out where its Jacobian has more than four million entries.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import pathlib
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from pytest_tensorcheck.gradients import check_gradients, gradcheck

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
        "Conv2d(3, 4, 3), 1 x 8 x 8": (nn.Conv2d(3, 4, 3), (torch.randn(1, 3, 8, 8),)),
        "Conv2d(8, 16, 3), 2 x 8 x 8": (nn.Conv2d(8, 16, 3), (torch.randn(2, 8, 8, 8),)),
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
    """CPU time of one call, the mean of `times`."""
    begin = time.process_time()
    for _ in range(times):
        call()
    return 1000 * (time.process_time() - begin) / times


def row(name: str, module: nn.Module, inputs: tuple[Any, ...], rounds: int) -> dict[str, Any]:
    function, values = with_parameters(copy.deepcopy(module), inputs)
    out = function(*values)
    outputs = sum(o.numel() for o in (out if isinstance(out, tuple) else (out,)))
    size = sum(v.numel() for v in values)
    with_slow = size * outputs <= 4_000_000
    evaluations = check_gradients(module, inputs).evaluations
    measured: dict[str, list[float]] = {"ours": [], "fast": [], "slow": []}
    for _ in range(rounds):
        measured["ours"].append(milliseconds(lambda: gradcheck(module, inputs), 10))
        measured["fast"].append(milliseconds(lambda: torch.autograd.gradcheck(function, values, fast_mode=True), 10))
        if with_slow:
            measured["slow"].append(milliseconds(lambda: torch.autograd.gradcheck(function, values), 1))
    ratios = [slow / ours for slow, ours in zip(measured["slow"], measured["ours"], strict=False)]
    return {
        "case": name,
        "inputs and parameters": f"{size:,}",
        "outputs": f"{outputs:,}",
        "evaluations": evaluations,
        "ours ms": f"{statistics.median(measured['ours']):.2f}",
        "fast mode ms": f"{statistics.median(measured['fast']):.2f}",
        "slow mode ms": f"{statistics.median(measured['slow']):.1f}" if with_slow else "cannot run",
        "slow / ours": f"{statistics.median(ratios):.1f}" if with_slow else "-",
    }


def rendered(rows: list[dict[str, Any]]) -> str:
    """The rows as a markdown table."""
    out = [
        "# How long a gradient check takes",
        "",
        f"`{' '.join(['python', 'benchmarks/gradcheck_time.py', *sys.argv[1:]])}`, {datetime.date.today()}, "
        f"torch {torch.__version__}, Python {platform.python_version()}, one thread, CPU time.",
        "",
        "Parameters are checked in all three. `evaluations`: how often ours runs the module. Fast mode sees next to none of "
        "the single wrong elements (`gradcheck_planted.md`); it is here for its time only.",
        "",
        "| " + " | ".join(rows[0]) + " |",
        "|" + "---|" * len(rows[0]),
        *("| " + " | ".join(str(value) for value in line.values()) + " |" for line in rows),
    ]
    return "\n".join(out) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows = []
    for name, (module, inputs) in cases().items():
        rows.append(row(name, module, inputs, options.rounds))
        print(rows[-1], flush=True)
    if options.out:
        options.out.write_text(rendered(rows))


if __name__ == "__main__":
    main()
