"""TorchScript under our modes: it can fail under any dispatch mode, also an empty one, so ours step aside for it.

torch.jit.trace fails while it traces ("Cannot insert a Tensor that requires grad as a constant"), and a traced module when
it runs with gradients (``aten::equal`` is called with two integers).

Private names of torch used here, seen in torch 2.6 to 2.13: the stacks of modes of torch.overrides and
torch.utils._python_dispatch, torch.jit._trace, and the two callables of TorchScript in torch._C.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

_TRACING = ("trace", "trace_module", "_get_trace_graph")
_CALLABLES = ("ScriptFunction", "ScriptMethod")
_LOCK = threading.RLock()
_entered = 0
_undo: list[tuple[Any, str, Any]] = []


@contextlib.contextmanager
def modes_step_aside() -> Iterator[None]:
    """Inside, modes with a true `aside_while_tracing` are not entered while torch.jit traces, and those with a true
    `aside_in_torchscript` not while TorchScript runs: its operations are not seen. A mode's `after_torchscript(args, out)`
    is told what went in and came out. May be nested; any thread."""
    global _entered
    import torch

    with _LOCK:
        if _entered == 0:
            for owner in (torch.jit, torch.jit._trace):
                for name in _TRACING:
                    _patch(owner, name, "aside_while_tracing")
            for name in _CALLABLES:
                _patch(getattr(torch._C, name), "__call__", "aside_in_torchscript")
        _entered += 1
    try:
        yield
    finally:
        with _LOCK:
            _entered -= 1
            if _entered == 0:
                while _undo:
                    owner, name, before = _undo.pop()
                    setattr(owner, name, before)


def _patch(owner: Any, name: str, trait: str) -> None:
    before = vars(owner).get(name)
    if before is not None:
        setattr(owner, name, _stepping_aside(getattr(owner, name), trait))
        _undo.append((owner, name, before))


def _stepping_aside(runs: Callable[..., Any], trait: str) -> Callable[..., Any]:
    @functools.wraps(runs)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        with _aside(trait) as modes:
            out = runs(*args, **kwargs)
        if trait == "aside_in_torchscript":
            for mode in modes:
                if (told := getattr(mode, "after_torchscript", None)) is not None:
                    told((*args, *kwargs.values()), out)
        return out

    return call


@contextlib.contextmanager
def _aside(trait: str) -> Iterator[list[Any]]:
    """Take our modes off this thread's two stacks, and put every mode back where it was. Yields what was taken off."""
    overrides, dispatch = sys.modules["torch.overrides"], sys.modules["torch.utils._python_dispatch"]
    with (
        _without(
            trait, overrides._get_current_function_mode_stack, overrides._pop_mode, overrides._push_mode
        ) as functions,
        _without(
            trait, dispatch._get_current_dispatch_mode_stack, dispatch._pop_mode, dispatch._push_mode
        ) as operations,
    ):
        yield [*functions, *operations]


@contextlib.contextmanager
def _without(
    trait: str, stack: Callable[[], list[Any]], pop: Callable[[], Any], push: Callable[[Any], None]
) -> Iterator[list[Any]]:
    modes = stack()
    steps_aside = [bool(getattr(mode, trait, False)) for mode in modes]
    above = modes[steps_aside.index(True) :] if True in steps_aside else []
    others = [mode for mode in above if not getattr(mode, trait, False)]
    for _ in above:
        pop()
    for mode in others:
        push(mode)
    try:
        yield [mode for mode in above if mode not in others]
    finally:
        for _ in others:
            pop()
        for mode in above:
            push(mode)
