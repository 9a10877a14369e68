"""How pandas' frames and series are made: read from files, or of lists, arrays and dictionaries."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tensorlint.inference.sizes import Size
from tensorlint.inference.table_values import (
    BOXED,
    DOUBLED,
    FRAME,
    INDEX,
    PLACES,
    SERIES,
    any_size,
    gives_arrays,
    is_plain_type,
    is_simple,
    is_table,
    make_frame,
    make_series,
    mark_boxed,
    mark_simple,
    rows_of,
    same_axes,
    texts_of,
    with_rows_of,
)
from tensorlint.inference.values import (
    NONE,
    UNKNOWN,
    Const,
    Dictionary,
    LibraryObject,
    Sequence,
    Tensor,
    Value,
    is_none,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

# What reads a file into a frame; other arguments make an iterator of frames, or a dictionary.
_READERS = frozenset(
    "pandas." + name for name in ("read_csv", "read_table", "read_excel", "read_parquet", "read_feather", "read_fwf")
)
_OF_TEXT = frozenset("pandas." + name for name in ("read_csv", "read_table", "read_excel", "read_fwf"))
_OTHERWISE = frozenset({"chunksize", "iterator", "squeeze"})


def is_known(path: str) -> bool:
    return path.startswith("pandas.")


def make(interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """A call of pandas' class or function."""
    if path in _READERS:
        several = [kwargs[name] for name in ("header", "sheet_name") if name in kwargs]
        if kwargs.keys() & _OTHERWISE or not all(isinstance(each, Const) for each in several):
            return UNKNOWN
        if is_none(kwargs.get("sheet_name", Const(0))):
            return UNKNOWN
        read = make_frame(any_size(), any_size(), node)
        read.fields[DOUBLED] = Const(frozenset())
        if is_plain_type(kwargs.get("dtype", Const("float"))) and "dtype_backend" not in kwargs:
            mark_boxed(read, boxed=False)
        return mark_simple(read, path in _OF_TEXT and "converters" not in kwargs)
    data = args[0] if args else kwargs.get("data")
    if path == SERIES:
        return mark_simple(_series_of(interp, data, args, kwargs, node), is_simple(data))
    if path == FRAME:
        return mark_simple(_made_of(interp, data, args, kwargs, node), is_simple(data))
    if path == "pandas.get_dummies" and isinstance(data, LibraryObject) and is_table(data):
        return with_rows_of(data, any_size(), node)
    interp.escape(args, kwargs, reads_tables=True)
    return UNKNOWN


def _length_of(interp: State, data: Value | None) -> Size:
    """How many rows a column of these values has."""
    if isinstance(data, Sequence):
        length = interp.length_of(data)
        return any_size() if length is None else length
    if isinstance(data, Tensor) and data.shape:
        return data.shape[0]
    return rows_of(data) if isinstance(data, LibraryObject) and is_table(data) else any_size()


def _given(args: list[Value], kwargs: dict[str, Value], place: int, name: str) -> Value:
    return args[place] if len(args) > place else kwargs.get(name, NONE)


def _series_of(
    interp: State, data: Value | None, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    dtype = _given(args, kwargs, 2, "dtype")
    boxed = not (gives_arrays(data) if is_none(dtype) else is_plain_type(dtype))
    rows, index = _length_of(interp, data), _given(args, kwargs, 1, "index")
    if not is_none(index):
        return make_series(any_size() if is_table(data or UNKNOWN) else rows, node, None, boxed)
    if isinstance(data, LibraryObject) and data.path == SERIES:
        return mark_boxed(same_axes(data, node), boxed)
    return make_series(rows, node, PLACES if isinstance(data, (Sequence, Tensor)) else None, boxed)


def _made_of(
    interp: State, data: Value | None, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    given, dtype = _given(args, kwargs, 2, "columns"), _given(args, kwargs, 3, "dtype")
    indexed = not is_none(_given(args, kwargs, 1, "index"))
    if isinstance(data, Dictionary) and data.items and is_none(given) and not indexed:
        made = _of_columns(interp, data.items, node)
    else:
        made = _of_rows(data, given, node)
        if isinstance(data, Tensor) and not indexed:
            made.fields[INDEX] = PLACES
        mark_boxed(made, not gives_arrays(data))
    return made if is_none(dtype) else mark_boxed(made, not is_plain_type(dtype))


def _of_columns(interp: State, columns: Mapping[Any, Value], node: ast.AST | None) -> LibraryObject:
    """A frame of a dictionary of its columns."""
    listed = [value for value in columns.values() if isinstance(value, (Sequence, Tensor))]
    lengths = {_length_of(interp, value) for value in listed}
    names = Const(tuple(columns)) if all(isinstance(key, str) for key in columns) else None
    made = make_frame(lengths.pop() if len(lengths) == 1 else any_size(), len(columns), node, names)
    if len(listed) == len(columns):
        made.fields[INDEX] = PLACES
        made.arguments = {"by columns": Const(True)}
    made.fields[BOXED] = Const(frozenset(name for name, value in columns.items() if not gives_arrays(value)))
    return made


def _of_rows(data: Value | None, given: Value, node: ast.AST | None) -> LibraryObject:
    """A frame of an array, or of what may be anything, with the names of its columns."""
    labels = texts_of(given)
    names = None if labels is None else Const(labels)
    if isinstance(data, Tensor) and data.shape is not None and len(data.shape) in (1, 2):
        # A vector of records has a column for each of their fields.
        columns = data.shape[1] if len(data.shape) == 2 else 1 if data.dtype is not None else any_size()
        return make_frame(data.shape[0], columns, node, PLACES if is_none(given) else names)
    made = make_frame(any_size(), any_size() if labels is None else len(labels), node, names)
    if is_none(given) and _are_records(data):
        made.fields[DOUBLED] = Const(frozenset())
    return made


def _are_records(data: Value | None) -> bool:
    """Whether it is a list of dictionaries with texts as keys: each key becomes one column."""
    if not isinstance(data, Sequence):
        return False
    records = data.items if data.items is not None else [data.element]
    return bool(records) and all(
        isinstance(each, Dictionary) and each.items is not None and all(isinstance(key, str) for key in each.items)
        for each in records
    )
