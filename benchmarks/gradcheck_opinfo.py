"""gradcheck against torch's own samples: every operator of OpInfo that has a float64 gradient, every sample.

    python benchmarks/gradcheck_opinfo.py --records RECORDS.jsonl [--ops linalg] [--every K] [--seconds S] [--out RESULT.md]

Each sample gets our verdict and that of `torch.autograd.gradcheck` in slow mode, where that takes at most `--seconds`.
Every sample is a line of RECORDS; a run that was stopped goes on where it was. `--out` writes the counts of each pair of
verdicts and every disagreement with its explanation. Uses torch.testing._internal (seen in torch 2.13; needs expecttest).
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import datetime
import json
import pathlib
import platform
import random
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db

from pytest_tensorcheck.gradients import check_gradients


def _seed(seed: int | None = None) -> None:
    seed = common_utils.SEED if seed is None else seed
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)


# The same samples without two walks through the Python stack, which take minutes below pytest: for each operator to find a
# unittest, for each sample to seed devices that are not there.
common_utils.extract_test_fn = lambda: None
common_utils.set_rng_seed = _seed

LARGEST = 4_000_000
_BOTH = ("failed", "failed")
_FAIL = {_BOTH, ("failed", "too long")}
_LOW = (
    "the outputs hold 32 bits: slow mode's step of 1e-6 drowns in rounding; ours computes the cast in float64 as well"
)
_LOWER = (
    "the outputs hold 16 bits, too few for slow mode; ours computes the cast in float64 as well, and compares there"
)
# Operator, (ours, slow mode) -> why.
EXPLANATIONS: tuple[tuple[str, set[tuple[str, str]], str], ...] = (
    ("float|cfloat", {("passed", "failed")}, _LOW),
    ("bfloat16|half|chalf", {("passed", "failed")}, _LOWER),
    (
        "cov",
        {("passed", "failed")},
        "the sample's weights are float32 and slow mode moves them by 1e-6 as they are; ours moves float64 copies",
    ),
    (
        "__rpow__",
        {("inconclusive", "failed")},
        "a negative number to a fractional power is NaN: slow mode compares NaN with NaN, ours says that it is NaN",
    ),
    (
        "linalg.lstsq",
        {("passed", "failed")},
        "slow mode itself raises: it mixes up the outputs, one of which holds integers (its RuntimeError is about sizes)",
    ),
    (
        "linalg.norm.subgradients_at_zero",
        {("passed", "failed")},
        "a norm at the zero matrix, a kink: torch returns one of the subgradients; ours compares a thousandth beside it "
        "and says so in a note",
    ),
    (
        "sparse.*",
        {("refused", "failed"), ("refused", "too long")},
        "the operand is sparse: ours refuses it with a sentence, slow mode needs masked=True",
    ),
    ("grid_sampler_3d", {("timeout", "too long")}, "more than a million elements: more than 30 s of CPU time"),
    (
        "nn.functional.max_unpool.*",
        _FAIL,
        "true: the sample's indices repeat, so several inputs claim one output, and each is given its gradient",
    ),
    ("normal.*", _FAIL, "true: the gradient of sampling is defined as zero, though the sample moves with its mean"),
    (
        "native_group_norm",
        _FAIL,
        "true: mean and rstd are returned, but their output gradients are ignored by the backward",
    ),
    (
        "as_strided_scatter",
        _FAIL,
        "true: torch 2.13 gives the gradient to the elements that are overwritten instead of to the others",
    ),
)


class TooLong(BaseException):
    """The time is over. No Exception, which the check would take for one of the operator's."""


def cases(
    name: str = "", every: int = 1, operators: int = 1
) -> Iterator[tuple[str, Callable[..., Any], tuple[torch.Tensor, ...]]]:
    """(operator and sample number, function of tensors, tensors that require grad): one sample in `every` of an operator, the
    first among them, and one operator in so many."""
    for op in op_db[::operators]:
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
def limited(seconds: float) -> Iterator[None]:
    """Stop after so many seconds of CPU time."""

    def stop(*_: Any) -> None:
        raise TooLong

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def ours(function: Callable[..., Any], tensors: tuple[torch.Tensor, ...]) -> tuple[str, str]:
    try:
        with limited(30):
            report = check_gradients(function, tensors)
        return report.verdict.value, "" if report.verdict.value == "passed" else str(report)
    except TooLong:
        return "timeout", ""
    except ValueError as error:
        return "refused", str(error)
    except Exception as error:
        return "crashed", f"{type(error).__name__}: {error}"


def torchs(function: Callable[..., Any], tensors: tuple[torch.Tensor, ...], seconds: float) -> tuple[str, str]:
    def outputs_only(*args: torch.Tensor) -> Any:
        out = function(*args)
        out = list(out.values()) if isinstance(out, dict) else out
        if isinstance(out, list | tuple):
            return tuple(o for o in out if isinstance(o, torch.Tensor))
        return out

    try:
        begin = time.perf_counter()
        out = outputs_only(*tensors)
        once = time.perf_counter() - begin
        inputs = sum(t.numel() for t in tensors)
        outputs = sum(o.numel() for o in (out if isinstance(out, tuple) else (out,)))
        # Two evaluations for each input element, at least two backward passes for each output element.
        if 2 * (inputs + outputs) * once > seconds or inputs * outputs > LARGEST:
            return "too long", f"a Jacobian of {outputs} x {inputs}"
        with limited(4 * seconds):
            torch.autograd.gradcheck(outputs_only, tensors)
        return "passed", ""
    except TooLong:
        return "too long", "stopped"
    except Exception as error:
        return "failed", f"{type(error).__name__}: {str(error)[:300]}"


def record(options: argparse.Namespace) -> None:
    """Run every sample that has no line yet."""
    done = {line["case"] for line in records(options.records)}
    with options.records.open("a") as file:
        for case, function, tensors in cases(options.ops, options.every):
            if case in done:
                continue
            begin = time.process_time()
            verdict, text = ours(function, tensors)
            middle = time.process_time()
            reference, reason = torchs(function, tensors, options.seconds)
            line = {
                "case": case,
                "ours": verdict,
                "slow": reference,
                "text": text,
                "reason": reason,
                "seconds": [round(middle - begin, 4), round(time.process_time() - middle, 4)],
            }
            file.write(json.dumps(line) + "\n")
            file.flush()


def records(path: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def explained(line: dict[str, Any]) -> str:
    case = line["case"].partition("#")[0]
    for pattern, verdicts, sentence in EXPLANATIONS:
        if re.fullmatch(pattern, case) and (line["ours"], line["slow"]) in verdicts:
            return sentence
    return "NOT EXPLAINED"


def rendered(lines: list[dict[str, Any]], options: argparse.Namespace) -> str:
    """The tables as markdown."""
    counts = collections.Counter((line["ours"], line["slow"]) for line in lines)
    operators = {line["case"].partition("#")[0] for line in lines}
    spent = [sum(line["seconds"][i] for line in lines) for i in (0, 1)]
    out = [
        "# gradcheck on torch's own operator samples",
        "",
        f"`{' '.join(['python', 'benchmarks/gradcheck_opinfo.py', *sys.argv[1:]])}`, {datetime.date.today()}, "
        f"torch {torch.__version__}, Python {platform.python_version()}, one thread.",
        "",
        f"{len(operators)} operators of OpInfo with a float64 gradient, {len(lines):,} samples"
        + (f" (every {options.every}th)" if options.every > 1 else " (all)")
        + f"; slow mode where it is expected to take at most {options.seconds:g} s. CPU time: ours {spent[0]:.0f} s, "
        f"slow mode {spent[1]:.0f} s.",
        "",
        "| ours | slow mode | samples |",
        "|---|---|---|",
        *(f"| {mine} | {theirs} | {number:,} |" for (mine, theirs), number in sorted(counts.items())),
        "",
    ]
    grouped: dict[tuple[str, ...], list[str]] = collections.defaultdict(list)
    both: collections.Counter[str] = collections.Counter()
    for line in lines:
        pair = line["ours"], line["slow"]
        if pair == ("failed", "failed"):
            both[line["case"].partition("#")[0]] += 1
        elif line["ours"] != line["slow"] and pair != ("passed", "too long"):
            grouped[line["case"].partition("#")[0], *pair, explained(line)].append(line["case"].partition("#")[2])
    out += ["## Disagreements", "", "| operator | samples | ours | slow mode | why |", "|---|---|---|---|---|"]
    for (operator, mine, theirs, why), samples in sorted(grouped.items()):
        shown = ", ".join(f"#{number}" for number in samples[:6]) + (
            f" and {len(samples) - 6} more" * (len(samples) > 6)
        )
        out.append(f"| {operator} | {shown} | {mine} | {theirs} | {why} |")
    out += ["", "## Both say that the gradient is wrong", "", "| operator | samples | why |", "|---|---|---|"]
    for operator, number in sorted(both.items()):
        out.append(f"| {operator} | {number} | {explained({'case': operator, 'ours': 'failed', 'slow': 'failed'})} |")
    return "\n".join(out) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--ops", default="", help="only operators whose name contains this")
    parser.add_argument("--every", type=int, default=1, help="every K-th sample")
    parser.add_argument("--seconds", type=float, default=2.0, help="longest slow mode")
    parser.add_argument("--records", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    record(options)
    text = rendered(records(options.records), options)
    print(text)
    if options.out:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
