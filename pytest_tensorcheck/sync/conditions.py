"""When an operation of the table waits: functions of (args, kwargs, on) where `on(tensor)` says whether it is on the device.

Each returns the id of the row that it is counted under, or "" when it does not wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

On = Callable[[Any], bool]
Condition = Callable[[tuple[Any, ...], dict[str, Any], On], str]


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], at: int, name: str, default: Any = None) -> Any:
    return args[at] if len(args) > at else kwargs.get(name, default)


def _is_mask(index: Any) -> bool:
    return index.dtype in (torch.bool, torch.uint8)


def index_get(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    """x[mask] counts the mask's ones; an index list on the host is copied. A mask on the host is copied from pinned memory."""
    if not on(args[0]):
        return ""
    indices = [index for index in args[1] if index is not None]
    if any(_is_mask(index) and on(index) for index in indices):
        return "mask_get"
    if any(not _is_mask(index) and not on(index) for index in indices):
        return "host_index"
    return ""


def index_put(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    """canDispatchToMaskedFill: one mask on the device and one number on the host, not accumulating, never waits."""
    target, raw, value = args[0], args[1], args[2]
    if not on(target):
        return ""
    indices = [index for index in raw if index is not None]
    masks = [index for index in indices if _is_mask(index)]
    accumulate = bool(_argument(args, kwargs, 3, "accumulate", False))
    number = value.numel() == 1 and not on(value)
    if number and not accumulate and len(masks) == len(indices) == 1 and on(masks[0]):
        return ""
    if any(on(mask) for mask in masks):
        return "mask_put"
    if any(not _is_mask(index) and not on(index) for index in indices):
        return "host_index"
    return "host_value" if number and value.dim() == 0 else ""


def no_output_size(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    return "repeat_interleave" if kwargs.get("output_size") is None else ""


def equal_reads(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    """torch.equal answers from the shapes, or from being the same memory, without looking at a value."""
    a, b = args[0], args[1]
    try:
        if a.shape != b.shape or a.numel() == 0:
            return ""
        same = (
            a.data_ptr() == b.data_ptr()
            and a.storage_offset() == b.storage_offset()
            and a.stride() == b.stride()
            and a.dtype == b.dtype
        )
    except RuntimeError:  # no memory of its own, as sparse and nested tensors: torch has the word
        return ""
    return "" if same else "equal"


def histc_range(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    low, high = _argument(args, kwargs, 2, "min", 0), _argument(args, kwargs, 3, "max", 0)
    return "histc" if low == high and args[0].numel() else ""


def isin_sorts(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    """native/TensorCompare.cpp: few test elements are compared one by one; else both are sorted, after `unique`."""
    elements, test = args[0], args[1]
    if kwargs.get("assume_unique") or not elements.numel():
        return ""
    return "isin" if test.numel() >= 10.0 * elements.numel() ** 0.145 else ""


def mode_slice(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    """native/cuda/TensorModeKernel.cpp: one block of threads takes up to 2 × 1024 elements without asking the host."""
    x = args[0]
    dim = _argument(args, kwargs, 1, "dim", -1)
    return "mode" if x.dim() and x.shape[dim] > 2048 else ""


def value_on_device(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    return "scalar_value" if on(args[-1] if len(args) > 2 else kwargs.get("value")) else ""


def where_host_scalar(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    condition, a, b = args
    if not on(condition):
        return ""
    return "where_host" if any(t.dim() == 0 and not on(t) for t in (a, b)) else ""


def std_on_device(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    return "normal" if isinstance(args[1], torch.Tensor) and on(args[1]) else ""


def no_num_classes(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    classes = _argument(args, kwargs, 1, "num_classes", -1)
    return "one_hot" if classes == -1 and on(args[0]) else ""


def has_elements(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    return "ldl" if args[0].numel() else ""


def decomposes(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    return "linalg_host" if args[0].numel() else ""


def not_square(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    rows, columns = args[0].shape[-2:]
    return "lu_not_square" if rows != columns and args[0].numel() else ""


def lengths_are_checked(args: tuple[Any, ...], kwargs: dict[str, Any], on: On) -> str:
    return "segment_reduce" if kwargs.get("lengths") is not None and not kwargs.get("unsafe") else ""


# Of the node of a backward pass.


def looks_for_zeros(node: Any) -> bool:
    return bool(node._saved_self.dim())


def looks_for_zeros_in_several(node: Any) -> bool:
    return bool(node._saved_self.numel() > 1)


def second_needs_gradient(node: Any) -> bool:
    return node.next_functions[1][0] is not None


BACKWARD_CONDITIONS: dict[str, Callable[[Any], bool]] = {
    function.__name__: function for function in (looks_for_zeros, looks_for_zeros_in_several, second_needs_gradient)
}

CONDITIONS: dict[str, Condition] = {
    function.__name__: function
    for function in (
        index_get, index_put, no_output_size, equal_reads, histc_range, isin_sorts, mode_slice, value_on_device,
        where_host_scalar, std_on_device, no_num_classes, has_elements, decomposes, not_square, lengths_are_checked,
    )
}  # fmt: skip
