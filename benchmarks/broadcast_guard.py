"""What the broadcast guard costs for each operation, beside an empty TorchFunctionMode; and the numerics watch.

usage: broadcast_guard.py [--out FILE] [--limit RATIO]. Exits 1 when the guard costs more than RATIO (2.5) times what
an empty mode costs, as the median over the operations.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import timeit
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from pytest_tensorcheck.broadcasting import observe
from pytest_tensorcheck.numerics import observe as observe_numerics

NUMBER, REPEAT = 3_000, 15


class Empty(TorchFunctionMode):
    """The least that any function mode costs."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def best(statement: Any, number: int) -> float:
    return min(timeit.repeat(statement, number=number, repeat=REPEAT)) / number * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="write the table here")
    parser.add_argument("--limit", type=float, default=2.5, help="largest median ratio to an empty mode")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    a, b, c = torch.randn(8, 8), torch.randn(8, 8), torch.randn(8)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
    x = torch.randn(32, 64)
    statements: dict[str, tuple[Any, int]] = {
        "a + b": (lambda: a + b, NUMBER),
        "a + c (a bias)": (lambda: a + c, NUMBER),
        "a * 2.0": (lambda: a * 2.0, NUMBER),
        "a == b": (lambda: a == b, NUMBER),
        "a.relu()": (lambda: a.relu(), NUMBER),
        "a.sum(1, keepdim=True)": (lambda: a.sum(1, keepdim=True), NUMBER),
        "a.unsqueeze(1)": (lambda: a.unsqueeze(1), NUMBER),
        "a[0]": (lambda: a[0], NUMBER),
        "a.shape": (lambda: a.shape, NUMBER),
        "torch.where(a > 0, a, b)": (lambda: torch.where(a > 0, a, b), NUMBER),
        "F.mse_loss(a, b)": (lambda: torch.nn.functional.mse_loss(a, b), NUMBER),
        "MLP 64-64-64, batch 32, forward and backward": (lambda: model(x).sum().backward(), 200),
    }
    rows = []
    for name, (statement, number) in statements.items():
        plain = best(statement, number)
        with Empty():
            empty = best(statement, number)
        with observe():
            guard = best(statement, number)
        with observe_numerics():
            numerics = best(statement, max(50, number // 10))
        rows.append((name, plain, empty, guard, guard / empty, numerics))
    median = statistics.median(row[4] for row in rows)
    lines = [f"python {platform.python_version()}, torch {torch.__version__}, one thread; µs, best of {REPEAT}", ""]
    lines += [
        "| statement | no mode | empty mode | guard | guard / empty | numerics watch |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| `{row[0]}` | " + " | ".join(f"{each:.2f}" for each in row[1:]) + " |" for row in rows]
    lines += ["", f"Median ratio of the guard to an empty mode: {median:.2f} (limit {arguments.limit})"]
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write(text)
    return 0 if median <= arguments.limit else 1


if __name__ == "__main__":
    sys.exit(main())
