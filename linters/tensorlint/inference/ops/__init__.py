"""What each function, method, operator and layer of torch, numpy and einops does to shape, strides, dtype and device.

The tables are loaded when the first name of their library is asked for.
"""

from __future__ import annotations

from functools import cache

from tensorlint.inference.ops.table import Call, Entry, Misfit, Table, Undecided, apply, spelled_as_torch
from tensorlint.inference.values import Framework

__all__ = [
    "Call",
    "Entry",
    "Misfit",
    "Undecided",
    "apply",
    "attribute",
    "function",
    "is_module",
    "method",
    "spelled_as_torch",
    "table_of",
]

_tables: dict[str, Table] = {}

# Modules that offer the same functions under a second name.
_ALIASES = {
    "torch.special.": "torch.",
    "torch.functional.": "torch.",
    "torch._C._nn.": "torch.nn.functional.",
    "torch.Tensor.": "torch.",
    "numpy.core.numeric.": "numpy.",
    "einops.einops.": "einops.",
    "numpy.random.mtrand.": "numpy.random.",
    "torch.nn.utils.parametrizations.": "torch.nn.utils.",
}


def table_of(library: str) -> Table:
    """The table of `torch`, `numpy` or `einops`."""
    found = _tables.get(library)
    if found is None:
        found = _tables[library] = _load(library)
    return found


def _load(library: str) -> Table:
    if library == "torch":
        from tensorlint.inference.ops.torch import TORCH

        return TORCH
    if library == "numpy":
        from tensorlint.inference.ops.numpy import NUMPY

        return NUMPY
    from tensorlint.inference.ops.einops import EINOPS

    return EINOPS


@cache
def function(path: str) -> Entry | None:
    """The entry of a function by its canonical dotted path."""
    library = path.partition(".")[0]
    if library not in ("torch", "numpy", "einops"):
        return None
    functions = table_of(library).functions
    entry = functions.get(path)
    if entry is not None:
        return entry
    for prefix, replacement in _ALIASES.items():
        if path.startswith(prefix):
            rest = path[len(prefix) :]
            entry = functions.get(replacement + rest)
            if entry is None and prefix == "torch.Tensor.":
                entry = method("torch", rest)
            return entry
    if path.endswith("_") and not path.endswith("__"):
        return _in_place(functions, path)
    return None


def is_module(path: str) -> bool:
    """Whether the path is that of a module with functions of the tables: `torch.nn.functional`."""
    library = path.partition(".")[0]
    if library not in ("torch", "numpy", "einops"):
        return False
    return any(name.startswith(f"{path}.") for name in table_of(library).functions)


def method(framework: Framework, name: str) -> Entry | None:
    """The entry of a tensor's or array's method; its first argument is the receiver."""
    methods = table_of(framework).methods
    entry = methods.get(name)
    if entry is None and framework == "torch" and name.endswith("_") and not name.endswith("__"):
        return _in_place(methods, name)
    return entry


def attribute(framework: Framework, name: str) -> Entry | None:
    """The entry of an attribute that is itself a tensor: `T`, `real`, `data`."""
    return table_of(framework).attributes.get(name)


def _in_place(entries: dict[str, Entry], name: str) -> Entry | None:
    """The in-place twin of an elementwise operation: the receiver stays as it is."""
    plain = entries.get(name[:-1])
    if plain is None or plain.framework != "torch":
        return None
    from tensorlint.inference.ops.torch.inplace import twin

    entry = twin(plain)
    entries[name] = entry
    return entry
