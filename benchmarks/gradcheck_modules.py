"""gradcheck on every torch.nn module that has a gradient, with its parameters, in float64.

    python benchmarks/gradcheck_modules.py [--modules LSTM] [--out benchmarks/results/gradcheck_modules.json]

The modules and their arguments are torch's own (torch.testing._internal.common_modules, seen in torch 2.13). Some of
them lie where the module is NaN (the power of a negative number, the logarithm of a negative target), and have no
gradient to be checked; they are checked again with the absolute values of their inputs.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import time
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing._internal.common_modules import module_db

from pytest_tensorcheck.gradients import check_gradients


def cases(name: str = "", every: int = 1) -> Iterator[tuple[str, torch.nn.Module, tuple[Any, ...], dict[str, Any]]]:
    """(name, module, inputs, kwargs). Floating-point inputs require grad; targets, which torch leaves plain, do not."""
    for info in module_db:
        full = info.module_cls.__name__
        if name not in full:
            continue
        for training in (True, False) if info.train_and_eval_differ else (True,):
            torch.manual_seed(0)
            samples = info.module_inputs_func(
                info, device="cpu", dtype=torch.float64, requires_grad=True, training=training
            )
            for index, sample in enumerate(samples):
                if index % every or sample.forward_input is None:
                    continue
                made = sample.constructor_input
                if any(str(value) in ("cuda", "meta") for value in made.kwargs.values()):
                    continue
                torch.manual_seed(0)
                module = info.module_cls(*made.args, **made.kwargs).to(torch.float64).train(training)
                label = f"{full}#{index}" + ("" if training else " (eval)")
                yield label, module, tuple(sample.forward_input.args), dict(sample.forward_input.kwargs)


def inside(value: Any) -> Any:
    """The absolute value, and a half for NaN: inside the domain of powers and logarithms."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    made = value.detach().abs().nan_to_num(0.5)
    return made.requires_grad_(value.requires_grad)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--modules", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: collections.Counter[str] = collections.Counter()
    modules: set[str] = set()
    other = []
    begin = time.perf_counter()
    for name, module, inputs, kwargs in cases(options.modules, options.every):
        modules.add(name.partition("#")[0])
        try:
            report = check_gradients(module, inputs, kwargs=kwargs)
            verdict, text = report.verdict.value, str(report)
            if verdict == "inconclusive" and "is NaN or infinite" in text:
                moved = check_gradients(module, tuple(map(inside, inputs)), kwargs=kwargs).verdict.value
                verdict = f"output NaN, {moved} with absolute values"
        except ValueError as error:
            verdict, text = "refused", str(error)
        counts[verdict] += 1
        if verdict != "passed":
            other.append({"case": name, "verdict": verdict, "text": text})
            print(f"{name}: {verdict}\n{text}\n", flush=True)
    seconds = round(time.perf_counter() - begin, 1)
    print(f"{len(modules)} modules, {sum(counts.values())} samples in {seconds} s: {dict(counts)}")
    if options.out:
        result = {
            "torch": torch.__version__,
            "modules": len(modules),
            "samples": sum(counts.values()),
            "verdicts": dict(counts),
            "seconds": seconds,
            "not_passed": other,
        }
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
