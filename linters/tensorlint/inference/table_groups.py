"""What pandas computes row by row from windows and groups: `s.rolling(7).mean()`, `df.groupby("g")["y"].transform("mean")`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference.table_values import (
    FRAME,
    OF,
    REDUCING,
    SERIES,
    any_size,
    column_of,
    is_boxed,
    is_one_column,
    is_simple,
    mark_boxed,
    mark_simple,
    same_axes,
    texts_of,
    with_rows_of,
)
from tensorlint.inference.values import NONE, UNKNOWN, Const, LibraryObject, Sequence, Value

if TYPE_CHECKING:
    from tensorlint.inference.state import State

WINDOWS, GROUPS = "pandas windows", "pandas groups"
# What makes windows, with how many arguments may stand in front of those that leave rows out.
_MAKES_WINDOWS = {"rolling": 3, "expanding": 1, "ewm": 4}
_LEAVES_ROWS_OUT = frozenset(["step", "on", "method", "axis", "times"])
# What groups are made by without another axis or another form of the result.
_PLAIN_GROUPS = frozenset(["by", "level", "sort", "group_keys", "observed", "dropna"])
# One number for each window, and so for each row.
_OF_WINDOWS = (REDUCING | {"count", "apply", "quantile", "rank"}) - {"prod", "product"}
# What the methods of groups give for each row, in the order of the rows.
_OF_ROWS = frozenset(["cumsum", "cumprod", "cummax", "cummin", "rank", "diff", "pct_change", "ffill", "bfill"])
_NUMBERS = REDUCING | {"count", "size", "nunique", "cumsum", "cumprod", "rank"}


def is_grouped(value: LibraryObject) -> bool:
    return value.path in (WINDOWS, GROUPS)


def made_of(
    table: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> LibraryObject | None:
    """The windows or groups of a table; None for other methods, and where rows may be left out."""
    if name in _MAKES_WINDOWS:
        if len(args) > _MAKES_WINDOWS[name] or kwargs.keys() & _LEAVES_ROWS_OUT:
            return None
        return LibraryObject(WINDOWS, {}, (), {OF: table}, node)
    if (
        name == "groupby"
        and len(args) <= 1
        and not kwargs.keys() - _PLAIN_GROUPS
        and all(_is_key(key) for key in (*args, kwargs.get("by", NONE), kwargs.get("level", NONE)))
    ):
        return LibraryObject(GROUPS, {}, (), {OF: table}, node)
    return None


def _is_key(value: Value) -> bool:
    """Whether it groups rows as they are: a `pd.Grouper` of times sorts them, and leaves out what has no time."""
    if isinstance(value, Sequence):
        return texts_of(value) is not None
    return isinstance(value, Const) or (isinstance(value, LibraryObject) and value.path == SERIES)


def item(receiver: LibraryObject, index: Value, node: ast.AST) -> Value:
    """`df.groupby("store")["sales"]`, `df.rolling(7)[["a", "b"]]`."""
    table = receiver.fields.get(OF)
    if not isinstance(table, LibraryObject) or table.path != FRAME:
        return UNKNOWN
    if isinstance(index, Const) and isinstance(index.value, str) and is_one_column(table, index.value):
        part = column_of(table, index.value, node)
    elif isinstance(index, Sequence) and index.kind == "list":
        part = with_rows_of(table, any_size(), node)
    else:
        return UNKNOWN
    return LibraryObject(receiver.path, {}, (), {OF: mark_simple(part, is_simple(table))}, node)


def call(
    interp: State, receiver: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    """A method of windows or groups: what it gives has the rows of the table, or is not known."""
    interp.escape(args, kwargs, reads_tables=True)
    table = receiver.fields.get(OF)
    if not isinstance(table, LibraryObject) or "axis" in kwargs:
        return UNKNOWN
    if receiver.path == WINDOWS:
        # Those of two series have the rows of either.
        whole = name in _OF_WINDOWS and (name in ("apply", "quantile") or not args)
        numbers = True
    else:
        whole = (name == "transform" and len(args) == 1) or (name in _OF_ROWS and not args)
        asked = args[0] if name == "transform" and args else Const(name)
        numbers = isinstance(asked, Const) and asked.value in _NUMBERS
    if not whole:
        return UNKNOWN
    if table.path == SERIES:
        made = mark_boxed(same_axes(table, node), is_boxed(table) or not numbers)
    else:
        made = with_rows_of(table, any_size(), node)
    return mark_simple(made, simple=False)
