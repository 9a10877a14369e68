"""Parts of pandas' frames and series: what indexing takes of them, and what is stored there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference.sizes import Size
from tensorlint.inference.table_values import (
    BOXED,
    DOUBLED,
    FRAME,
    INDEX,
    NAMES,
    OF,
    SERIES,
    SIMPLE,
    any_size,
    column_of,
    columns_of,
    forget,
    forget_columns,
    forget_rows,
    gives_arrays,
    inherit,
    is_boxed,
    is_one_column,
    is_simple,
    labels_of,
    make_frame,
    make_series,
    mark_simple,
    names_in,
    note_kind,
    rows_of,
    same_axes,
    texts_of,
    with_columns_of,
    with_rows_of,
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
    integer,
    is_none,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

PLACED = "pandas places"
# The label of one column that is a text, whatever it reads.
SOME_LABEL = Const("some column")


def label(index: Value, node: ast.expr) -> Value:
    """The index, or that it is some label, where it is written as a text whose parts nobody knows: `df[f"lag_{n}"]`."""
    return SOME_LABEL if index is UNKNOWN and _is_text(node) else index


def _is_text(node: ast.expr) -> bool:
    match node:
        case ast.JoinedStr() | ast.Constant(value=str()):
            return True
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_text(left) or _is_text(right)
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod()):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format")):
            return True
        case ast.Call(func=ast.Name(id="str")):
            return True
    return False


def _are_texts(node: ast.expr) -> bool:
    """Whether a list of labels is written so that each is a text: `[f"lag_{n}" for n in range(3)]`."""
    if isinstance(node, ast.ListComp):
        return _is_text(node.elt)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _are_texts(node.left) and _are_texts(node.right)
    return isinstance(node, ast.List) and bool(node.elts) and all(map(_is_text, node.elts))


def item(interp: State, receiver: LibraryObject, index: Value, node: ast.AST) -> Value:
    """`df["y"]`, `df[["a", "b"]]`, `df[df["a"] > 0]`, `df.iloc[:, -1]`."""
    whole = receiver.fields.get(OF, UNKNOWN) if receiver.path == PLACED else receiver
    return mark_simple(_item(interp, receiver, index, node), is_simple(whole))


def _item(interp: State, receiver: LibraryObject, index: Value, node: ast.AST) -> Value:
    if receiver.path == PLACED:
        table = receiver.fields.get(OF)
        if isinstance(table, LibraryObject):
            return _placed(interp, table, index, receiver.fields.get("kind"), node)
        return UNKNOWN
    if _is_whole(index):
        return same_axes(receiver, node)
    if isinstance(index, Slice) or _is_mask(index):
        return with_columns_of(receiver, any_size(), node)
    if receiver.path == SERIES:
        return UNKNOWN
    written = node.slice if isinstance(node, ast.Subscript) else None
    if written is not None and label(index, written) is SOME_LABEL:
        return column_of(receiver, None, node) if names_in(receiver, DOUBLED) == frozenset() else UNKNOWN
    if isinstance(index, Const) and isinstance(index.value, str):
        return column_of(receiver, index.value, node) if is_one_column(receiver, index.value) else UNKNOWN
    if isinstance(index, Sequence) and index.kind == "list":
        return _selected(receiver, index, node, labels=written is not None and _are_texts(written))
    return UNKNOWN


def store(interp: State, receiver: LibraryObject, index: Value, value: Value) -> None:
    """`df["y"] = ...`: another column; `df.loc[n] = ...` perhaps another row."""
    table = receiver
    if receiver.path == PLACED:
        found = receiver.fields.get(OF)
        if not isinstance(found, LibraryObject):
            return
        table = found
    name = None if index is SOME_LABEL else _column_named(receiver, index)
    if receiver.path == PLACED or rows_of(table) == 0 or not (table.path == FRAME or _chooses(index)):
        forget_rows(interp, table)
    if not is_simple(value):
        forget(interp, table, SIMPLE)
    note_kind(interp, table, name, not gives_arrays(value))
    forget_columns(
        interp, table, distinct=name is not None or receiver.path == PLACED or _chooses(index) or _are_labels(index)
    )


def _are_labels(index: Value) -> bool:
    """Whether it is the label of a column, or several that are written out: no two of one name come of it."""
    return index is SOME_LABEL or (isinstance(index, Sequence) and index.kind == "list" and bool(texts_of(index)))


def _column_named(receiver: LibraryObject, index: Value) -> str | None:
    """The one column that is stored to: `df["y"] = ...`, `df.loc[mask, "y"] = ...`."""
    if receiver.path == PLACED and isinstance(index, Sequence) and index.items is not None and len(index.items) == 2:
        index = index.items[1]
    elif receiver.path == PLACED:
        return None
    return index.value if isinstance(index, Const) and isinstance(index.value, str) else None


def store_attribute(interp: State, receiver: LibraryObject, name: str, value: Value) -> None:
    """`df.columns = ...`, `df.index = ...`, `df.price = ...`."""
    if name == "columns":
        texts = texts_of(value)
        forget(interp, receiver, NAMES)
        if is_boxed(receiver):
            forget(interp, receiver, BOXED)
        if texts is None or len(set(texts)) < len(texts):
            forget(interp, receiver, DOUBLED)
    elif name == "index":
        forget(interp, receiver, INDEX)
    else:
        store(interp, receiver, Const(name), value)


def _chooses(index: Value) -> bool:
    """Whether the index chooses among the rows that there are."""
    return isinstance(index, Slice) or _is_mask(index)


def _is_mask(index: Value) -> bool:
    """A series or an array of truth values chooses rows."""
    if isinstance(index, LibraryObject):
        return index.path == SERIES and not is_boxed(index)  # a series of names chooses columns
    return isinstance(index, Tensor) and index.dtype == "bool" and index.shape is not None and len(index.shape) == 1


def _is_whole(index: Value) -> bool:
    return isinstance(index, Slice) and is_none(index.start) and is_none(index.stop) and is_none(index.step)


def _selected(table: LibraryObject, index: Sequence, node: ast.AST, *, labels: bool) -> Value:
    """Columns by a list of their names, or, where these are no `labels`, rows by one of truth values."""
    texts = texts_of(index)
    if not texts:
        if index.items == []:
            return UNKNOWN
        made = with_rows_of(table, any_size(), node) if labels else make_frame(any_size(), any_size(), node)
        return inherit(made, table, BOXED)
    unique = all(is_one_column(table, text) for text in texts)
    made = with_rows_of(table, len(texts) if unique else any_size(), node)
    if unique:
        inherit(made, make_frame(0, 0, node, Const(texts)), NAMES, DOUBLED)
    return inherit(made, table, BOXED)


# What is left of an axis of which one place is taken: none of that length is.
_ONE_PLACE = -1


def _axis(table: LibraryObject, index: Value, by_name: bool, of_rows: bool) -> Size | None:
    """What indexing leaves of an axis; None where that is not known."""
    size = rows_of(table) if of_rows else columns_of(table)
    if isinstance(index, Slice):
        if _is_whole(index):
            return size
        if by_name:
            return any_size()
        return _height(size, index) if of_rows else _width(size, index)
    if _is_mask(index):
        return any_size()
    if by_name:
        return _by_name(table, index, of_rows)
    if isinstance(index, Sequence) and index.kind == "list" and index.items:
        truths = any(isinstance(part, Const) and isinstance(part.value, bool) for part in index.items)
        return None if truths else len(index.items)
    if isinstance(index, Number) or (isinstance(index, Const) and type(index.value) is int):
        return _ONE_PLACE
    return None


def _height(size: Size, index: Slice) -> Size:
    """How many rows `iloc[60:]` takes, where the bounds and how many there are are numbers."""
    bounds = [None if is_none(part) else integer(part) for part in (index.start, index.stop, index.step)]
    told = all(
        bound is not None or is_none(part)
        for bound, part in zip(bounds, (index.start, index.stop, index.step), strict=True)
    )
    if not isinstance(size, int) or not told or bounds[2] == 0:
        return any_size()
    return len(range(size)[slice(*bounds)]) or any_size()


def _width(size: Size, index: Slice) -> Size:
    """How many columns `iloc[:, 1:3]` takes: of a frame that has nobody knows how many only whether it is a single one."""
    start = 0 if is_none(index.start) else integer(index.start)
    stop, step = integer(index.stop), 1 if is_none(index.step) else integer(index.step)
    if start is None or step != 1 or (stop is None and not is_none(index.stop)):
        return any_size()
    if isinstance(size, int):
        return len(range(size)[start:stop])
    single = start == -1 if stop is None else stop == start + 1 != 0
    return 1 if single else any_size()


def _by_name(table: LibraryObject, index: Value, of_rows: bool) -> Size | None:
    """The same by labels: one of a row may stand for several rows."""
    listed = isinstance(index, Sequence) and index.kind == "list"
    texts = texts_of(index) if listed else (index.value,) if isinstance(index, Const) else None
    if not texts or not all(isinstance(text, str) for text in texts):
        return None
    if of_rows:
        return any_size() if listed else None
    if not all(is_one_column(table, text) for text in texts):
        return None
    return len(texts) if listed else _ONE_PLACE


def _label_at(table: LibraryObject, index: Value) -> str | None:
    """The label of the one column that is taken, by its own or by its place: `iloc[:, -1]`."""
    if not isinstance(index, Const) or isinstance(index.value, str):
        return index.value if isinstance(index, Const) else None
    labels = labels_of(table) or ()
    place = index.value
    return labels[place] if type(place) is int and -len(labels) <= place < len(labels) else None


def _placed(interp: State, table: LibraryObject, index: Value, kind: Value | None, node: ast.AST) -> Value:
    if not isinstance(kind, Const) or kind.value not in ("loc", "iloc"):
        return UNKNOWN
    by_name = kind.value == "loc"
    if table.path == SERIES:
        taken = _height(rows_of(table), index) if isinstance(index, Slice) and not by_name else any_size()
        return with_columns_of(table, taken, node) if _chooses(index) else UNKNOWN
    if isinstance(index, Sequence) and index.kind == "tuple" and index.items is not None and len(index.items) == 2:
        first, second = index.items
    else:
        first, second = index, Slice(NONE, NONE, NONE)
    rows = _axis(table, first, by_name, of_rows=True)
    columns = _axis(table, second, by_name, of_rows=False)
    if rows is None or columns is None or (rows == _ONE_PLACE and columns == _ONE_PLACE):
        return UNKNOWN
    if rows == _ONE_PLACE:
        return make_series(columns, node, table.fields.get(NAMES) if _is_whole(second) else None, is_boxed(table))
    if columns == _ONE_PLACE:
        made = column_of(table, _label_at(table, second), node)
        return made if _is_whole(first) else with_columns_of(made, rows, node)
    if _is_whole(second):
        return same_axes(table, node) if _is_whole(first) else with_columns_of(table, rows, node)
    made = with_rows_of(table, columns, node) if _is_whole(first) else make_frame(rows, columns, node)
    if isinstance(second, Slice) or _is_mask(second) or by_name:
        inherit(made, table, DOUBLED)
    return inherit(made, table, BOXED)
