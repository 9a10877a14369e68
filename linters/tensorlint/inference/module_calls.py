"""Whether calling an object of a module's class is `nn.Module.__call__`, or something of the class's own."""

from __future__ import annotations

import re

from tensorlint.inference.class_order import method_order
from tensorlint.inference.inheritance import is_plain
from tensorlint.inference.module_sources import is_base, makes_module
from tensorlint.inference.ops import modules
from tensorlint.inference.values import Class, Library

# A class with one of these is called in a way of its own.
OWN_CALLS = ("__call__", "_call_impl")
# Classes that stand before a module among the bases and have none of these. Others may: `torch.distributions.Transform`,
# rllib's `TorchModelV2`.
_WITHOUT = re.compile(
    r"(?:sklearn|huggingface_hub|transformers|diffusers|peft|lightning|pytorch_lightning)\.(?:\w+\.)*(?:\w+Mixin|BaseEstimator)"
    r"|torch\.distributions\.(?:distribution\.)?Distribution|torch\.utils\.data\.\w*Dataset"
)


def has_own_call(cls: Class) -> bool:
    """Whether the class may have, or inherit before nn.Module, another `__call__`."""
    unsure = False
    for base in method_order(cls):
        if isinstance(base, Class):
            if any(base.own(name) is not None for name in OWN_CALLS):
                return True
        elif not isinstance(base, Library):
            unsure = True
        elif is_base(base.path) or modules.known(base.path) or makes_module(base.path):
            return unsure
        else:
            unsure = unsure or not (is_plain(base) or _WITHOUT.fullmatch(base.path))
    return False  # one of its bases is a module whatever it is
