"""Parts of pandas' frames and series: what indexing takes of them, and what is stored there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference.sizes import Size
from tensorlint.inference.table_values import (
    ACROSS,
    COLUMNS,
    LABELS,
    OF,
    ROWS,
    SERIES,
    SIMPLE,
    any_size,
    columns_of,
    forget_columns,
    is_simple,
    labels_of,
    make_frame,
    make_series,
    mark_simple,
    rows_of,
    texts_of,
)
from tensorlint.inference.values import (
    NONE,
    UNKNOWN,
    Const,
    LibraryObject,
    Number,
    Sequence,
    Slice,
    Tensor,
    Value,
    is_none,
    number,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

PLACES = "pandas places"


def item(interp: State, receiver: LibraryObject, index: Value, node: ast.AST) -> Value:
    """`df["y"]`, `df[["a", "b"]]`, `df[df["a"] > 0]`, `df.iloc[:, -1]`."""
    whole = receiver.fields.get(OF, UNKNOWN) if receiver.path == PLACES else receiver
    return mark_simple(_item(interp, receiver, index, node), is_simple(whole))


def _item(interp: State, receiver: LibraryObject, index: Value, node: ast.AST) -> Value:
    if receiver.path == PLACES:
        table = receiver.fields.get(OF)
        if isinstance(table, LibraryObject):
            return _placed(interp, table, index, receiver.fields.get("kind"), node)
        return UNKNOWN
    if isinstance(index, Slice) or _is_mask(index):
        rows = rows_of(receiver) if _is_whole(index) else any_size()
        return (
            make_series(rows, node)
            if receiver.path == SERIES
            else make_frame(rows, columns_of(receiver), node, receiver)
        )
    if receiver.path == SERIES:
        return UNKNOWN
    if isinstance(index, Const) and isinstance(index.value, str):
        labels = labels_of(receiver)
        return UNKNOWN if labels is not None and labels.count(index.value) > 1 else make_series(rows_of(receiver), node)
    if isinstance(index, Sequence) and index.kind == "list":
        return _selected(receiver, rows_of(receiver), index, node)
    return UNKNOWN


def store(interp: State, receiver: LibraryObject, value: Value) -> None:
    """`df["y"] = ...`: another column; `df.loc[n] = ...` perhaps another row."""
    table = receiver
    if receiver.path == PLACES:
        found = receiver.fields.get(OF)
        if not isinstance(found, LibraryObject):
            return
        table = found
        table.fields[ROWS] = number(any_size())
    if not is_simple(value):
        table.fields.pop(SIMPLE, None)
        interp.mutations.append((table, SIMPLE))
    forget_columns(table)
    interp.mutations += [(table, ROWS), (table, COLUMNS), (table, LABELS)]


def rename(interp: State, receiver: LibraryObject) -> None:
    """`df.columns = ...`."""
    receiver.fields.pop(LABELS, None)
    receiver.fields.pop(ACROSS, None)
    interp.mutations += [(receiver, LABELS), (receiver, ACROSS)]


def _is_mask(index: Value) -> bool:
    """A series or an array of truth values chooses rows."""
    if isinstance(index, LibraryObject):
        return index.path == SERIES
    return isinstance(index, Tensor) and index.dtype == "bool" and index.shape is not None and len(index.shape) == 1


def _is_whole(index: Value) -> bool:
    return isinstance(index, Slice) and is_none(index.start) and is_none(index.stop) and is_none(index.step)


def _selected(table: LibraryObject, rows: Size, index: Sequence, node: ast.AST) -> Value:
    """Columns by a list of their names; truth values choose rows."""
    if index.items is None:
        return UNKNOWN
    texts = texts_of(index)
    if texts is None or not texts:
        return UNKNOWN
    labels = labels_of(table)
    unique = labels is None or all(labels.count(text) == 1 for text in texts)
    made = make_frame(rows, len(texts) if unique else any_size(), node)
    made.fields[LABELS] = Const(texts)
    return made


def _axis(size: Size, index: Value, by_name: bool) -> Size | None:
    """What indexing leaves of an axis; 0 where one place was taken, None where that is not known."""
    if isinstance(index, Slice):
        return size if _is_whole(index) else any_size()
    if _is_mask(index):
        return any_size()
    if isinstance(index, Sequence) and index.kind == "list" and index.items:
        if by_name and texts_of(index) is None:
            return None
        return (
            len(index.items)
            if not any(isinstance(part, Const) and part.value is True for part in index.items)
            else None
        )
    if isinstance(index, Const) and (isinstance(index.value, str) if by_name else type(index.value) is int):
        return 0
    if isinstance(index, Number) and not by_name:
        return 0
    return None


def _placed(interp: State, table: LibraryObject, index: Value, kind: Value | None, node: ast.AST) -> Value:
    by_name = isinstance(kind, Const) and kind.value == "loc"
    if table.path == SERIES:
        return make_series(any_size(), node) if isinstance(index, Slice) or _is_mask(index) else UNKNOWN
    if isinstance(index, Sequence) and index.kind == "tuple" and index.items is not None and len(index.items) == 2:
        first, second = index.items
    else:
        first, second = index, Slice(NONE, NONE, NONE)
    if by_name and isinstance(first, Const):
        return UNKNOWN  # a label may stand for several rows
    rows, columns = _axis(rows_of(table), first, by_name), _axis(columns_of(table), second, by_name)
    if rows is None or columns is None or (rows == 0 and columns == 0):
        return UNKNOWN
    if rows == 0 or columns == 0:
        return make_series(columns if rows == 0 else rows, node)
    return make_frame(rows, columns, node, table if _is_whole(second) else None)
