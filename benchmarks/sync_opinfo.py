"""The simulated device over torch's own operator samples: same numbers, on the device, no crash; and which operators wait.

    python benchmarks/sync_opinfo.py [--waits]              # on the simulated device
    python benchmarks/sync_opinfo.py --record FILE          # what waits on this machine's CUDA GPU, or in the simulation
    python benchmarks/sync_opinfo.py --compare REAL FILE    # where two records differ; exits with 1 if they do

Every operator of torch's test database (float32, first samples) is run on CPU tensors and again, inside a simulation, on the
same tensors moved to "cuda". The results must be bit-identical and live on the device. `--waits` lists the rows reported for each.

`--record` runs each sample on the device, forward and then the backward of the sum of what it returns, once to warm up and
once under `no_sync`, and notes which of the two waited; on a GPU also whether CUDA's sync debug mode warned, and where both are
silent whether it returned only when a kernel queued before had ended. A sample is known by its arguments' shapes and
types, so that records of different versions of torch can be compared as far as they have the same.
Needs the `expecttest` package.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from pytest_tensorcheck.sync import backend, device, no_sync, simulation
from pytest_tensorcheck.sync.device_flag import put

SAMPLES = 4
RECORDED_SAMPLES = 5
_REFUSED = "raises"
_CUDA_ONLY = "jiterator"  # kernels that are compiled for a GPU when they are called


def moved(value: Any) -> Any:
    """A copy on the simulated device; devices in arguments are moved as well."""
    if isinstance(value, torch.Tensor):
        copied = value.detach().clone() if value.layout is torch.strided else value.detach()
        return put(copied, 1).requires_grad_(value.requires_grad)
    if isinstance(value, (str, torch.device)) and str(value) == "cpu":
        return "cuda"
    return value


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.layout is not torch.strided or a.is_quantized:
            return True
        return a.shape == b.shape and a.dtype == b.dtype and repr(a.detach().tolist()) == repr(b.detach().tolist())
    return True


def samples_of(op: Any, most: int, grad: bool = False) -> list[Any]:
    if torch.float32 not in op.dtypes:
        return []
    try:
        torch.manual_seed(0)
        made = op.sample_inputs("cpu", torch.float32, requires_grad=grad and op.supports_autograd)
        return [sample for sample, _ in zip(made, range(most), strict=False)]
    except Exception:
        return []


def name_of(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}".rstrip(".")


def simulate(show_waits: bool) -> None:
    ran = crashed = different = elsewhere = 0
    waits: dict[str, set[str]] = {}
    for op in op_db:
        for sample in samples_of(op, SAMPLES):
            try:
                torch.manual_seed(0)
                before = pytree.tree_map(
                    lambda v: v.clone() if isinstance(v, torch.Tensor) else v, (sample.input, sample.args)
                )
                plain = op(before[0], *before[1], **sample.kwargs)
            except Exception:
                continue
            ran += 1
            name = name_of(op)
            with simulation():
                device()
                given = pytree.tree_map(moved, (sample.input, sample.args, sample.kwargs))
                torch.manual_seed(0)
                try:
                    with no_sync(allow=10**9) as seen:
                        out = op(given[0], *given[1], **given[2])
                except Exception as error:
                    crashed += 1
                    print(
                        f"crash      {name}: {type(error).__name__}: {str(error).splitlines()[0][:150] if str(error) else ''}"
                    )
                    break
                waits.setdefault(name, set()).update(event.row for event in seen)
                tensors = [t for t in pytree.tree_leaves(out) if isinstance(t, torch.Tensor)]
                if any(t.device.type != "cuda" for t in tensors):
                    elsewhere += 1
                    print(f"elsewhere  {name}: {[str(t.device) for t in tensors]}")
                random = "empty" in name or "uninitialized" in name
            leaves = list(zip(pytree.tree_leaves(plain), pytree.tree_leaves(out), strict=False))
            if not random and not all(same(a, b) for a, b in leaves):
                different += 1
                print(f"different  {name}")
                break
    if show_waits:
        for name, rows in sorted(waits.items()):
            if rows:
                print(f"waits      {name}: {', '.join(sorted(rows))}")
    print(
        f"{ran} samples of {len(waits)} operators: {crashed} crash, {different} differ, {elsewhere} not on the device"
    )


# --- records ----------------------------------------------------------------------------------------------------------


def described(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        where = "" if value.requires_grad else "~"
        return f"{where}{str(value.dtype)[6:]}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(described, value))})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}={described(one)}' for key, one in value.items())}}}"
    return value.__name__ if callable(value) and hasattr(value, "__name__") else repr(value)


def _on_gpu(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to("cuda").requires_grad_(value.requires_grad)
    return "cuda" if isinstance(value, (str, torch.device)) and str(value) == "cpu" else value


@contextlib.contextmanager
def _debug_mode(warned: list[str]) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: (
            warned.append(str(message)) if "called a synchronizing CUDA operation" in str(message) else None
        )
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode("default")


class _Queue:
    """A kernel that keeps the GPU busy; whether it has ended since."""

    def __init__(self, milliseconds: float) -> None:
        torch.cuda.synchronize()
        self._event = torch.cuda.Event()
        torch.cuda._sleep(int(milliseconds * 2e6))
        self._event.record()

    def ended(self) -> bool:
        return bool(self._event.query())


def _run(op: Any, sample: Any, real: bool, queued: float = 0) -> dict[str, bool]:
    """Whether forward and backward wait; raises what torch raises. "debug": what CUDA's own mode says of either."""
    given = (sample.input, sample.args, sample.kwargs)
    input, args, kwargs = pytree.tree_map(_on_gpu if real else moved, given)
    warned: list[str] = []
    torch.manual_seed(0)
    found: dict[str, bool] = {}
    total: Any = None

    def forward() -> None:
        nonlocal total
        out = op(input, *args, **kwargs)
        leaves = [t for t in pytree.tree_leaves(out) if isinstance(t, torch.Tensor) and t.requires_grad]
        leaves = [t for t in leaves if t.layout is torch.strided and not t.dtype.is_complex]
        total = leaves[0].sum() if leaves else None

    for phase, run in (("forward", forward), ("backward", lambda: total.backward())):
        if phase == "backward" and total is None:
            break
        warned.clear()
        queue = _Queue(queued) if queued else None
        with no_sync(allow=10**9) as seen, _debug_mode(warned) if real else contextlib.nullcontext():
            run()
        if queue is not None:
            found[f"unseen {phase}"] = queue.ended()
        found[phase] = any(event.certain for event in seen)
        if real:
            found[f"debug {phase}"] = bool(warned)
    return found


def _waits_on_gpu(op: Any, sample: Any) -> dict[str, bool]:
    _run(op, sample, True)
    found = _run(op, sample, True, queued=20)
    if any(found[key] and not found[key.split()[1]] for key in found if key.startswith("unseen")):
        found = _run(op, sample, True, queued=400)  # or the host was only slow
    return {key: value for key, value in found.items() if value or " " not in key}


def record(every: int = 1) -> dict[str, Any]:
    """What waits, of each operator, or of one in so many."""
    real = backend() == "cuda"
    found: dict[str, dict[str, str]] = {}
    with contextlib.suppress(KeyboardInterrupt):  # what was recorded until then
        for op in op_db[::every]:
            _record_samples(op, real, found)
            if real:
                try:
                    torch.cuda.synchronize()
                except RuntimeError as error:  # nothing works any more in this process
                    print(f"ended at {name_of(op)}: {str(error).splitlines()[0]}", file=sys.stderr)
                    break
    return {
        "gpu": torch.cuda.get_device_name() if real else "simulated",
        "torch": torch.__version__,
        "operators": found,
    }


def _record_samples(op: Any, real: bool, found: dict[str, dict[str, str]]) -> None:
    for sample in samples_of(op, RECORDED_SAMPLES, grad=True):
        key = described([sample.input, *sample.args, sample.kwargs])
        if len(key) > 100:
            key = f"{key[:80]}… {hashlib.sha256(key.encode()).hexdigest()[:12]}"
        try:
            if real:
                waits = _waits_on_gpu(op, sample)
            else:
                with simulation():
                    device()
                    waits = _run(op, sample, False)
        except Exception:  # a sample for the CPU alone, or one that is meant to be refused
            if not real and not op.name.startswith(_CUDA_ONLY):
                found.setdefault(name_of(op), {}).setdefault(key, _REFUSED)
            continue
        found.setdefault(name_of(op), {}).setdefault(key, _flags(waits))


def _flags(waits: dict[str, bool]) -> str:
    """f, b: forward, backward waits as the watcher sees; F, B: it does and neither the watcher nor CUDA's debug mode knows."""
    flags = ""
    for phase in ("forward", "backward"):
        if waits.get(phase):
            flags += phase[0]
        elif waits.get(f"debug {phase}"):
            flags += f"({phase[0]})"
        elif waits.get(f"unseen {phase}"):
            flags += phase[0].upper()
    return flags


def compare(first: dict[str, Any], second: dict[str, Any]) -> tuple[dict[str, list[str]], int]:
    """({operator: its samples that differ}, number of samples that both records have)."""
    different: dict[str, list[str]] = {}
    compared = 0
    for name, samples in first["operators"].items():
        for key, waits in samples.items():
            other = second["operators"].get(name, {}).get(key)
            if other is None:
                continue
            compared += 1
            if other == _REFUSED:
                different.setdefault(name, []).append(f"raises on {second['gpu']}: {key}")
                continue
            for phase in ("forward", "backward"):
                one, two = (phase[0] in each.lower() for each in (waits, other))
                if one != two:
                    which = first["gpu"] if one else second["gpu"]
                    different.setdefault(name, []).append(f"{phase} waits only on {which}: {key}")
    return different, compared


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waits", action="store_true")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--compare", type=Path, nargs=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if options.record is not None:
        document = record()
        options.record.write_text(json.dumps(document, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        count = sum(map(len, document["operators"].values()))
        print(f"wrote {options.record}: {count} samples of {len(document['operators'])} operators, {document['gpu']}")
        return 0
    if options.compare is not None:
        different, compared = compare(*(json.loads(path.read_text(encoding="utf-8")) for path in options.compare))
        for name, texts in different.items():
            print(name, *texts, sep="\n    ")
        print(f"{compared} samples in both; {len(different)} operators differ")
        return 1 if different else 0
    simulate(options.waits)
    return 0


if __name__ == "__main__":
    sys.exit(main())
