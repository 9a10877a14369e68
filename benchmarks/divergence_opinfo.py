"""False alarms and crashes of the divergence finder over torch's own operator samples (OpInfo), forward and backward.

    python benchmarks/divergence_opinfo.py [--write] [--samples 2]

Every operator is clean unless it reads uninitialised memory by its purpose (`empty`); who is accused is listed, and so is who raises under
the recorder but not without it.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db  # torch 2.13; needs expecttest

from pytest_tensorcheck.determinism import DivergenceError, deterministic

RESULTS = Path(__file__).resolve().parent / "results" / "divergence_opinfo.md"


def copied(value: Any, grad: bool) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(grad and value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(copied(item, grad) for item in value)
    return value


def program(operator: Any, sample: Any, grad: bool) -> Any:
    """A function of no arguments that runs the operator on fresh copies and, where it can, its backward."""

    def run() -> Any:
        inputs = [copied(value, grad) for value in (sample.input, *sample.args)]
        result = operator.op(*inputs, **{key: copied(value, grad) for key, value in sample.kwargs.items()})
        first = result[0] if isinstance(result, (list, tuple)) and result else result
        if grad and isinstance(first, torch.Tensor) and first.requires_grad:
            (first.abs() if first.is_complex() else first).sum().backward()
        return result, [value.grad for value in inputs if isinstance(value, torch.Tensor) and value.is_leaf]

    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    accused, raised, ran, skipped = [], [], 0, 0
    start = time.perf_counter()
    for operator in op_db:
        grad = operator.supports_autograd
        try:
            samples = list(operator.sample_inputs("cpu", torch.float32, requires_grad=grad))[: options.samples]
        except Exception:  # no float32 samples
            skipped += 1
            continue
        for sample in samples:
            run = program(operator, sample, grad)
            try:
                torch.manual_seed(0)
                run()
            except Exception:
                skipped += 1
                continue
            ran += 1
            try:
                deterministic(run)
            except DivergenceError as error:
                accused.append(f"{operator.name}: {error.divergence and error.divergence.cause}")
                if "-v" in sys.argv:
                    print(error)
            except Exception as error:
                raised.append(f"{operator.name}: {type(error).__name__}: {str(error).splitlines()[0][:160]}")
    lines = [
        "# The divergence finder over torch's operator samples",
        "",
        f"{datetime.date.today()}, torch {torch.__version__}: {ran} samples of {len(op_db)} operators run twice (float32, backward where "
        f"there is one), {skipped} not run (they raise, or have no such samples), {time.perf_counter() - start:.0f} s.",
        "",
        f"Accused ({len(accused)}):",
        *(f"* {line}" for line in sorted(set(accused))),
        "",
        f"Raised under the recorder only ({len(raised)}):",
        *(f"* {line}" for line in sorted(set(raised))),
    ]
    print("\n".join(lines))
    if options.write:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
