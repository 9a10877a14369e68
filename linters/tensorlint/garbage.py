"""When Python looks for objects that only refer to one another."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collection_paused() -> Iterator[None]:
    """No garbage collection for a while: it would walk the trees that are kept for other files again and again, which
    takes half as long as all the rest. An analysis frees what it made (see `Interpreter.dispose`)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
