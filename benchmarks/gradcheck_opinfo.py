"""gradcheck against torch's own samples: every operator of OpInfo that has a float64 gradient, every sample.

    python benchmarks/gradcheck_opinfo.py [--ops linalg] [--every K] [--largest N] [--out RESULT.json]

Each sample gets our verdict and that of `torch.autograd.gradcheck` in slow mode, where its Jacobian has at most
`--largest` entries. Printed: the counts of each pair of verdicts, and every disagreement. Uses torch.testing._internal
(seen in torch 2.13; needs expecttest).
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import pathlib
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

from pytest_tensorcheck.gradients import check_gradients


def cases(name: str = "", every: int = 1) -> Iterator[tuple[str, Callable[..., Any], tuple[torch.Tensor, ...]]]:
    """(operator and sample number, function of tensors, tensors that require grad)."""
    for op in op_db:
        full = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        if name not in full or not op.supports_autograd:
            continue
        if torch.float64 not in op.supported_backward_dtypes("cpu"):
            continue
        torch.manual_seed(0)
        try:
            samples = list(op.sample_inputs("cpu", torch.float64, requires_grad=True))
        except Exception as error:
            print(f"{full}: no samples ({type(error).__name__}: {str(error)[:80]})", file=sys.stderr)
            continue
        for index, sample in enumerate(samples):
            if index % every == 0:
                function, tensors = as_function(op, sample)
                if tensors:
                    yield f"{full}#{index}", function, tensors


def as_function(op: Any, sample: Any) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...]]:
    """The operator as a function of the sample's tensors that require grad, in torch's own wrapping."""
    found: list[torch.Tensor] = []

    def collect(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            if value.requires_grad and all(value is not other for other in found):
                found.append(value)
        elif isinstance(value, list | tuple):
            for item in value:
                collect(item)
        elif isinstance(value, dict):
            collect(list(value.values()))

    collect([sample.input, sample.args, sample.kwargs])

    def function(*tensors: torch.Tensor) -> Any:
        def replaced(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return next((new for new, old in zip(tensors, found, strict=True) if old is value), value)
            if isinstance(value, list | tuple):
                items = [replaced(item) for item in value]
                return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
            if isinstance(value, dict):
                return {key: replaced(item) for key, item in value.items()}
            return value

        output = op.gradcheck_wrapper(
            op.get_op(), replaced(sample.input), *replaced(sample.args), **replaced(sample.kwargs)
        )
        if sample.output_process_fn_grad is not None:
            output = sample.output_process_fn_grad(output)
        return output

    return function, tuple(found)


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def ours(function: Callable[..., Any], tensors: tuple[torch.Tensor, ...]) -> tuple[str, str]:
    try:
        with limited(30):
            report = check_gradients(function, tensors)
        return report.verdict.value, "" if report.verdict.value == "passed" else str(report)
    except TimeoutError:
        return "timeout", ""
    except ValueError as error:
        return "refused", str(error)
    except Exception as error:
        return "crashed", f"{type(error).__name__}: {error}"


def torchs(function: Callable[..., Any], tensors: tuple[torch.Tensor, ...], largest: int) -> tuple[str, str]:
    def outputs_only(*args: torch.Tensor) -> Any:
        out = function(*args)
        out = list(out.values()) if isinstance(out, dict) else out
        if isinstance(out, list | tuple):
            return tuple(o for o in out if isinstance(o, torch.Tensor))
        return out

    try:
        out = outputs_only(*tensors)
        size = sum(t.numel() for t in tensors) * sum(o.numel() for o in (out if isinstance(out, tuple) else (out,)))
        if size > largest:
            return "too large", ""
        with limited(30):
            torch.autograd.gradcheck(outputs_only, tensors)
        return "passed", ""
    except TimeoutError:
        return "timeout", ""
    except Exception as error:
        return "failed", f"{type(error).__name__}: {str(error)[:300]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--ops", default="", help="only operators whose name contains this")
    parser.add_argument("--every", type=int, default=1, help="every K-th sample")
    parser.add_argument("--largest", type=int, default=40_000, help="largest Jacobian for slow mode")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    both: collections.Counter[tuple[str, str]] = collections.Counter()
    operators: set[str] = set()
    disagreements = []
    seconds = collections.Counter[str]()
    for case, function, tensors in cases(options.ops, options.every):
        operators.add(case.partition("#")[0])
        begin = time.perf_counter()
        verdict, text = ours(function, tensors)
        middle = time.perf_counter()
        reference, reason = torchs(function, tensors, options.largest)
        seconds["ours"] += middle - begin
        seconds["slow"] += time.perf_counter() - middle
        counts[verdict, reference] += 1
        if verdict == "failed" and reference in ("failed", "too large"):
            both[case.partition("#")[0], reference] += 1
        if verdict != reference and not (verdict == "passed" and reference in ("too large", "timeout")):
            disagreements.append({"case": case, "ours": verdict, "slow": reference, "text": text, "reason": reason})
            print(f"{case}: ours {verdict}, slow {reference}\n{text}\n{reason}\n", flush=True)
    table = {f"{mine} / {theirs}": number for (mine, theirs), number in sorted(counts.items())}
    print(f"{len(operators)} operators, {sum(counts.values())} samples; ours / slow mode:")
    for pair, number in table.items():
        print(f"  {pair:30} {number}")
    print({name: round(value, 1) for name, value in seconds.items()})
    if options.out:
        result = {
            "torch": torch.__version__,
            "operators": len(operators),
            "samples": sum(counts.values()),
            "verdicts": table,
            "seconds": {name: round(value, 1) for name, value in seconds.items()},
            "failed_by_operator": {f"{name} / {reference}": n for (name, reference), n in sorted(both.items())},
            "disagreements": disagreements,
        }
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
