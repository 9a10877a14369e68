"""Values that this package's own checks read: on a GPU that makes the host wait, and is no wait of the user's program."""

from __future__ import annotations

import threading


class _OwnReads(threading.local):
    """`with own_reads:` around what reads; may be entered again inside itself."""

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


own_reads = _OwnReads()
