"""PyTorch's own samples of its layers (`module_db`, as in torch 2.13) against the tables: shape, dtype and strides."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import torch
from ops_layers import _detached
from ops_opinfo import describe
from ops_oracle import CHECKED_LAYERS, Sizes, Tally, compare, lift

from tensorlint.inference import ops
from tensorlint.inference.ops import modules

MODES = ("numbers", "shared", "own")


def database() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db
    return list(module_db)


def path_of(info: Any) -> str:
    return f"torch.nn.{info.module_cls.__name__}"


def sweep(info: Any, tally: Tally, *, most: int, modes: tuple[str, ...] = MODES) -> None:
    """The samples of one layer: built, called in training mode, and compared under every reading of the sizes."""
    path = path_of(info)
    if not modules.known(path):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            inputs = info.module_inputs_func(
                info, device=torch.get_default_device().type, dtype=torch.float32, requires_grad=False, training=True
            )
        except Exception:  # a generator that needs what is not here
            return
        for sample in itertools.islice(inputs, most):
            if sample.forward_input is None:
                continue
            made, given = sample.constructor_input, sample.forward_input
            plain = [lift(one, Sizes()) for one in made.args]
            named = {name: lift(one, Sizes()) for name, one in made.kwargs.items()}
            lifted = {mode: _lifted(given, Sizes(mode)) for mode in modes}
            try:
                real = info.module_cls(*made.args, **made.kwargs).train()(*given.args, **given.kwargs)
            except Exception:  # a sample that is meant to be refused
                continue
            for mode, (sizes, args, kwargs) in lifted.items():
                obj = modules.construct(ops.Call(path), path, plain, named)
                where = f"{path}({', '.join(map(describe, made.args))}, {made.kwargs}) on {list(map(describe, given.args))} [{mode}]"
                try:
                    claimed = modules.call_module(ops.Call(path), obj, args, kwargs)
                except Exception as error:
                    tally.wrong.append(f"{where}: raised {type(error).__name__}: {error}")
                    continue
                CHECKED_LAYERS[path] += 1
                compare(claimed, _detached(real), sizes, tally, where)


def _lifted(given: Any, sizes: Sizes) -> tuple[Sizes, list[Any], dict[str, Any]]:
    return (
        sizes,
        [lift(one, sizes) for one in given.args],
        {name: lift(one, sizes) for name, one in given.kwargs.items()},
    )
