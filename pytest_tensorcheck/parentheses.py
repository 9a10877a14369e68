"""A clear word for `with no_sync:` where `with no_sync():` is meant, and for `@no_sync` where `@no_sync()` is."""

from __future__ import annotations

from types import FunctionType
from typing import Any, NoReturn


class NeedsParentheses(type):
    """The metaclass of context managers that are classes: entering the class itself says what to write."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if len(args) == 1 and isinstance(args[0], FunctionType):
            raise TypeError(f"`@{cls.__name__}` lacks its parentheses: write `@{cls.__name__}()`")
        return super().__call__(*args, **kwargs)

    def __enter__(cls) -> NoReturn:
        __tracebackhide__ = True
        raise TypeError(f"`with {cls.__name__}:` lacks its parentheses: write `with {cls.__name__}():`")

    def __exit__(cls, *failure: Any) -> None:
        """Python looks this up before it enters."""
