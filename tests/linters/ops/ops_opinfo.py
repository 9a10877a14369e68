"""PyTorch's own OpInfo samples against the tables: every operator that both know, found by name."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from ops_oracle import Sizes, Tally, apply, compare, layouts, lift

from tensorlint.inference import ops


@functools.cache
def database() -> list[Any]:
    """PyTorch's operators with samples of their arguments; `torch.testing._internal` as in torch 2.13."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return list(op_db)


def real_function(path: str) -> Any:
    found: Any = torch
    for part in path.split(".")[1:]:
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


def spellings(info: Any) -> Iterator[tuple[str, str]]:
    """The functions and methods under which the tables may know an operator."""
    names = {info.name, *(alias.name for alias in info.aliases)}
    for name in sorted(names):
        path = name if name.startswith("torch.") else f"torch.{name}"
        if ops.function(path) is not None and real_function(path) is not None:
            yield "function", path
        if "." not in name:
            if ops.method("torch", name) is not None and hasattr(torch.Tensor, name):
                yield "method", name
            if ops.method("torch", f"{name}_") is not None and hasattr(torch.Tensor, f"{name}_"):
                yield "method", f"{name}_"


def known(info: Any) -> bool:
    return next(spellings(info), None) is not None


def variants(sample: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The sample, and with each of its tensors in other layouts."""
    tensors = [sample.input, *sample.args]
    choices = [layouts(value) if index < 3 else [value] for index, value in enumerate(tensors)]
    yield sample.input, sample.args
    for index, options in enumerate(choices):
        for option in options[1:]:
            changed = [*tensors[:index], option, *tensors[index + 1 :]]
            yield changed[0], tuple(changed[1:])
    both = [options[min(1, len(options) - 1)] for options in choices]
    yield both[0], tuple(both[1:])


_DTYPES = (torch.float32, torch.int64, torch.bool)


def sweep(info: Any, tally: Tally, *, most: int, modes: tuple[str, ...] = ("numbers", "shared", "own")) -> int:
    """Compare at most `most` samples of each dtype; returns how many calls were compared."""
    calls = 0
    device = torch.get_default_device().type
    for dtype in _DTYPES:
        if dtype not in info.supported_dtypes(device):
            continue
        try:
            # Not info.sample_inputs(), which goes through the whole Python stack for each operator, to find a unittest, and for
            # each sample, to seed devices that are not there: below pytest six times what all the rest takes.
            torch.manual_seed(0)
            samples = list(itertools.islice(info.sample_inputs_func(info, device, dtype, False), most))
        except Exception:  # a sample generator that needs what is not here
            continue
        for sample in samples:
            for input, args in variants(sample):
                for kind, name in spellings(info):
                    calls += _one(info, kind, name, input, args, sample.kwargs, tally, modes)
    return calls


def _one(
    info: Any,
    kind: str,
    name: str,
    input: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tally: Tally,
    modes: tuple[str, ...],
) -> int:
    if kind == "method" and not isinstance(input, torch.Tensor):
        return 0
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            if kind == "method":
                real = getattr(receiver_before(input, name), name)(*args, **kwargs)
            else:
                real = real_function(name)(input, *args, **kwargs)
    except Exception:  # not a call of this spelling
        return 0
    for mode in modes:
        sizes = Sizes(mode)
        first = receiver_before(input, name) if kind == "method" else input
        values = [lift(first, sizes), *(lift(one, sizes) for one in args)]
        keywords = {key: lift(one, sizes) for key, one in kwargs.items()}
        entry = ops.function(name) if kind == "function" else ops.method("torch", name)
        assert entry is not None
        where = f"{name}({describe(input)}, {', '.join(map(describe, args))}, {kwargs}) [{mode}]"
        try:
            claimed = apply(entry, ops.Call(name), values, keywords)
        except Exception as error:
            tally.wrong.append(f"{where}: raised {type(error).__name__}: {error}")
            continue
        compare(claimed, real, sizes, tally, where)
    return 1


def receiver_before(input: torch.Tensor, name: str) -> torch.Tensor:
    return input.clone(memory_format=torch.preserve_format) if name.endswith("_") else input


def describe(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype)[6:]}{tuple(value.shape)}/{tuple(value.stride())}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(describe, value))}]"
    return repr(value)
