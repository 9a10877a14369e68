"""What torch's schemas say about an operator, and the little they do not."""

from __future__ import annotations

from typing import Any

from pytest_tensorcheck.determinism.operations import Kernel

# Bookkeeping that computes nothing.
_IGNORED = frozenset(
    {
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "prim::device",
        "aten::is_pinned",
        "aten::_assert_tensor_metadata",
        "aten::sym_size",
        "aten::_version",
    }
)
# The result's memory holds whatever was there.
_EMPTY = frozenset(
    {
        "aten::empty",
        "aten::empty_like",
        "aten::empty_strided",
        "aten::empty_permuted",
        "aten::new_empty",
        "aten::new_empty_strided",
        "aten::_empty_affine_quantized",
        "aten::_empty_per_channel_affine_quantized",
    }
)
_RESIZE = frozenset({"aten::resize_", "aten::resize_as_"})
# In-place operations after which nothing of the old content is left.
_OVERWRITE = frozenset(
    f"aten::{name}"
    for name in (
        "copy_",
        "fill_",
        "zero_",
        "normal_",
        "uniform_",
        "random_",
        "bernoulli_",
        "exponential_",
        "geometric_",
        "cauchy_",
        "log_normal_",
        "_foreach_copy_",
        "_foreach_zero_",
    )
)
# Share memory with their argument although the schema does not say so.
_UNDECLARED_VIEWS = frozenset({"aten::_unsafe_view", "aten::_reshape_alias"})
# Give a tensor another storage, which may come from a file or another process: no number is computed.
_REBINDS = frozenset({"aten::set_"})
# What torch.multiprocessing puts a tensor together with that comes from another process.
_UNPACKS = frozenset({"aten::empty", "aten::set_"})
# Return their argument, but are where a value made outside torch enters.
_NO_VIEWS = frozenset({"aten::lift_fresh", "aten::lift"})
# Write to arguments although the schema does not say so: position of the argument, when the flag at the second position
# is true.
_UNDECLARED_WRITES: dict[str, tuple[tuple[int, ...], int]] = {
    "aten::native_batch_norm": ((3, 4), 5),
    "aten::cudnn_batch_norm": ((3, 4), 5),
    "aten::miopen_batch_norm": ((3, 4), 5),
    "aten::_batch_norm_impl_index": ((3, 4), 5),
}


def read_kernel(operator: Any) -> Kernel:
    """The facts of an `OpOverload`. Operators that are none (higher-order ones) are known by name only."""
    import torch

    schema = getattr(operator, "_schema", None)
    if schema is None:
        return Kernel(name=str(operator))
    name = schema.name
    writes: list[int | str] = []
    overwrites: set[int | str] = set()
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            key: int | str = argument.name if argument.kwarg_only else position
            writes.append(key)
            if argument.is_out or name in _OVERWRITE:
                overwrites.add(key)
    writes_if: int | None = None
    if name in _UNDECLARED_WRITES:
        positions, writes_if = _UNDECLARED_WRITES[name]
        writes.extend(positions)
    declared_view = bool(schema.returns) and all(
        result.alias_info is not None and not result.alias_info.is_write for result in schema.returns
    )
    return Kernel(
        name=name + (f".{schema.overload_name}" if schema.overload_name else ""),
        is_view=((declared_view or name in _UNDECLARED_VIEWS) and name not in _NO_VIEWS) or name in _REBINDS,
        is_random=torch.Tag.nondeterministic_seeded in operator.tags,
        is_empty=name in _EMPTY,
        is_resize=name in _RESIZE,
        ignored=name in _IGNORED,
        unpacks=name in _UNPACKS,
        makes_results=any(result.alias_info is None for result in schema.returns),
        writes=() if name in _REBINDS else tuple(writes),
        writes_if=writes_if,
        overwrites=frozenset(overwrites),
    )
