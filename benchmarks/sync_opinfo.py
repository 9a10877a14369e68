"""The simulated device over torch's own operator samples: same numbers, on the device, no crash; and which operators wait.

    python benchmarks/sync_opinfo.py [--waits]

Every operator of torch's test database (float32, first samples) is run on CPU tensors and again, inside a simulation, on the
same tensors moved to "cuda". The results must be bit-identical and live on the device. `--waits` lists the rows reported for each.
Needs the `expecttest` package.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from pytest_tensorcheck.sync import device, no_sync, simulation
from pytest_tensorcheck.sync.device_flag import put

SAMPLES = 4


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


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    ran = crashed = different = elsewhere = 0
    waits: dict[str, set[str]] = {}
    for op in op_db:
        if torch.float32 not in op.dtypes:
            continue
        try:
            samples = [
                sample for sample, _ in zip(op.sample_inputs("cpu", torch.float32), range(SAMPLES), strict=False)
            ]
        except Exception:
            continue
        for sample in samples:
            try:
                torch.manual_seed(0)
                before = pytree.tree_map(
                    lambda v: v.clone() if isinstance(v, torch.Tensor) else v, (sample.input, sample.args)
                )
                plain = op(before[0], *before[1], **sample.kwargs)
            except Exception:
                continue
            ran += 1
            name = f"{op.name}.{op.variant_test_name}".rstrip(".")
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
    if "--waits" in sys.argv:
        for name, rows in sorted(waits.items()):
            if rows:
                print(f"waits      {name}: {', '.join(sorted(rows))}")
    print(
        f"{ran} samples of {len(waits)} operators: {crashed} crash, {different} differ, {elsewhere} not on the device"
    )


if __name__ == "__main__":
    main()
