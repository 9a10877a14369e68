"""make_fx writes down what our dispatch modes read: its mode stands below every other one, and above the kernels.

So an operation of ours would become part of the user's graph, and a value that we ask for would be "a value out of a
tracing tensor". While such a graph is made, our modes call the operation and look at nothing.

Private names of torch used here, seen in torch 2.6 to 2.13.
"""

from __future__ import annotations

from functools import partial

import torch

_mode_of = partial(torch._C._get_dispatch_mode, torch._C._TorchDispatchModeKey.PROXY)


def writes_a_graph() -> bool:
    """Whether this thread is inside make_fx."""
    return _mode_of() is not None
