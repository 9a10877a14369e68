"""What torch logs while an operator is checked: kept for the report instead of spilled over the terminal."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager


class _Kept(logging.Handler):
    def __init__(self, level: int, lines: list[str]) -> None:
        super().__init__(level)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
        except Exception:  # arguments that do not fit: logging itself would print a traceback
            text = str(record.msg)
        error = record.exc_info[1] if record.exc_info else None
        text = f"{text.strip()} ({type(error).__name__}: {error})" if error is not None else text.strip()
        line = f"{record.levelname.lower()} of {record.name}: {text}"
        if line not in self._lines:
            self._lines.append(line)


@contextmanager
def kept_log() -> Iterator[list[str]]:
    """The lines that torch's loggers would have written to the terminal, each once.

    Only their terminal handlers are exchanged, and put back at the end: files and the user's own handlers get theirs.
    Who sets TORCH_LOGS wants to see them as they come.
    """
    lines: list[str] = []
    exchanged: list[tuple[logging.Logger, logging.Handler, logging.Handler]] = []
    if not os.environ.get("TORCH_LOGS"):
        for name, logger in list(logging.Logger.manager.loggerDict.items()):
            if isinstance(logger, logging.Logger) and (name == "torch" or name.startswith("torch.")):
                for handler in list(logger.handlers):
                    if type(handler) is logging.StreamHandler:
                        exchanged.append((logger, handler, _Kept(handler.level, lines)))
    for logger, handler, kept in exchanged:
        kept.filters = handler.filters
        logger.handlers[logger.handlers.index(handler)] = kept
    try:
        yield lines
    finally:
        for logger, handler, kept in exchanged:
            if kept in logger.handlers:  # else torch configured its logging anew in between
                logger.handlers[logger.handlers.index(kept)] = handler
