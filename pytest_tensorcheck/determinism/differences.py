"""By how much two sets of numbers differ, in words."""

from __future__ import annotations

import math
from typing import Any

from pytest_tensorcheck.determinism.operations import External


def shown_value(value: Any) -> str:
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def difference(before: External | None, after: External | None) -> str:
    """From the samples of two external storages."""
    if before is None or after is None or not before.sample or not after.sample:
        return ""
    return sampled_difference(before.sample, after.sample, complete=before.samples_all and after.samples_all)


def sampled_difference(one: tuple[Any, ...], two: tuple[Any, ...], *, complete: bool) -> str:
    """Numbers that differ, and the largest difference; of samples that are not complete it says so."""
    if len(one) != len(two):
        return f"{len(one)} numbers in run 1, {len(two)} in run 2"
    differing = [(a, b) for a, b in zip(one, two, strict=True) if a != b and not (_nan(a) and _nan(b))]
    if not differing:
        return ""
    of = f"of {len(one)}" if complete else f"of {len(one)} sampled"
    a, b = differing[0]
    if len(one) == 1:
        return f"{_short(a)} in run 1, {_short(b)} in run 2"
    try:
        largest = max(abs(a - b) for a, b in differing)
        by = f", by up to {_short(largest)}" if math.isfinite(largest) else ", some by inf or nan"
    except TypeError:
        by = ""
    return f"{len(differing)} {of} numbers differ{by} (the first: {_short(a)} and {_short(b)})"


def tensor_difference(one: Any, two: Any) -> str:
    """The same for two tensors: how many elements differ, by how much absolutely and relative to the largest
    element."""
    import torch

    if one.shape != two.shape:
        return f"shape {tuple(one.shape)} and {tuple(two.shape)}"
    if one.numel() == 0:
        return ""
    if one.is_quantized:
        one, two = one.dequantize(), two.dequantize()
    wide = torch.complex128 if one.is_complex() else torch.float64
    a, b = one.detach().cpu().to(wide), two.detach().cpu().to(wide)
    differing = (a != b) & ~(a.isnan() & b.isnan())
    count = int(differing.sum())
    if count == 0:
        return ""
    gap = (a - b).abs()[differing]
    largest = float(gap.max())
    scale = float(torch.nan_to_num(a.abs(), nan=0.0, posinf=0.0).max())
    relative = f", {largest / scale:.1e} of the largest number" if scale > 0 and math.isfinite(largest) else ""
    index = tuple(int(k) for k in differing.nonzero()[0])
    place = f"[{', '.join(map(str, index))}]" if index else "the number"
    return (
        f"{count:,} of {one.numel():,} numbers differ by up to {largest:.3g}{relative} "
        f"(first {place}: {_short(a[index].item())} and {_short(b[index].item())})"
    )


def _nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.9g}"
    return repr(value)
