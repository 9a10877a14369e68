"""pandas' frames and series: what has one axis and what has two.

A column of a frame, `df["y"]`, has one axis; a list of columns, `df[["y"]]`, keeps two. How many rows and columns there
are is mostly not known: the rows of a frame are one size for all that is taken from it, until a method changes the
frame in place. The tests run each line of these tables with the installed pandas (3.1 when they were written).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference.sizes import Size
from tensorlint.inference.table_parts import PLACES
from tensorlint.inference.table_values import (
    COLUMNS,
    ELEMENTWISE,
    FRAME,
    LABELS,
    OF,
    REDUCING,
    ROWS,
    SERIES,
    any_size,
    columns_of,
    forget_columns,
    is_simple,
    is_table,
    labels_of,
    make_frame,
    make_series,
    mark_simple,
    reduced,
    rows_of,
    same_axes,
    texts_of,
)
from tensorlint.inference.values import (
    NONE,
    UNKNOWN,
    Const,
    Dictionary,
    Library,
    LibraryObject,
    Sequence,
    Tensor,
    Value,
    is_none,
    number,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

# What reads a file into a frame; other arguments make an iterator of frames, or a dictionary.
_READERS = frozenset(
    "pandas." + name for name in ("read_csv", "read_table", "read_excel", "read_parquet", "read_feather", "read_fwf")
)
_OF_TEXT = frozenset("pandas." + name for name in ("read_csv", "read_table", "read_excel", "read_fwf"))
_OTHERWISE = frozenset({"chunksize", "iterator", "squeeze"})
# Methods that keep rows and columns, and those that give other rows.
_SAME = frozenset(
    ["copy", "astype", "fillna", "ffill", "bfill", "interpolate", "round", "clip", "abs", "replace", "rename", "infer_objects",
     "sort_values", "sort_index", "convert_dtypes", "shift", "diff", "cumsum", "cumprod", "pct_change", "rank", "where", "mask",
     "isna", "isnull", "notna", "notnull"]
)  # fmt: skip
_OTHER_ROWS = frozenset(["head", "tail", "sample", "dropna", "drop_duplicates", "query", "nlargest", "nsmallest"])
_OTHER_CELLS = frozenset(["map", "assign", "join", "replace", "where", "mask", "get"])
_OTHER_COLUMNS = frozenset(["select_dtypes", "assign", "join", "filter", "reset_index", "set_index"])
# What a frame has of its own: `df.price` is a column, `df.size` is not.
_ATTRIBUTES = frozenset([
    "T", "abs", "add", "add_prefix", "add_suffix", "agg", "aggregate", "align", "all", "any", "apply", "asfreq", "asof",
    "assign", "astype", "at", "at_time", "attrs", "axes", "between_time", "bfill", "boxplot", "clip", "columns",
    "combine", "combine_first", "compare", "convert_dtypes", "copy", "corr", "corrwith", "count", "cov", "cummax",
    "cummin", "cumprod", "cumsum", "describe", "diff", "div", "divide", "dot", "drop", "drop_duplicates", "droplevel",
    "dropna", "dtypes", "duplicated", "empty", "eq", "equals", "eval", "ewm", "expanding", "explode", "ffill", "fillna",
    "filter", "first_valid_index", "flags", "floordiv", "from_arrow", "from_dict", "from_records", "ge", "get", "groupby",
    "gt", "head", "hist", "iat", "idxmax", "idxmin", "iloc", "index", "infer_objects", "info", "insert", "interpolate",
    "isetitem", "isin", "isna", "isnull", "items", "iterrows", "itertuples", "join", "keys", "kurt", "kurtosis",
    "last_valid_index", "le", "loc", "lt", "map", "mask", "max", "mean", "median", "melt", "memory_usage", "merge", "min",
    "mod", "mode", "mul", "multiply", "ndim", "ne", "nlargest", "notna", "notnull", "nsmallest", "nunique", "pct_change",
    "pipe", "pivot", "pivot_table", "plot", "pop", "pow", "prod", "product", "quantile", "query", "radd", "rank", "rdiv",
    "reindex", "reindex_like", "rename", "rename_axis", "reorder_levels", "replace", "resample", "reset_index",
    "rfloordiv", "rmod", "rmul", "rolling", "round", "rpow", "rsub", "rtruediv", "sample", "select", "select_dtypes",
    "sem", "set_axis", "set_flags", "set_index", "shape", "shift", "size", "skew", "sort_index", "sort_values", "squeeze",
    "stack", "std", "style", "sub", "subtract", "sum", "swaplevel", "tail", "take", "to_clipboard", "to_csv", "to_dict",
    "to_excel", "to_feather", "to_hdf", "to_html", "to_iceberg", "to_json", "to_latex", "to_markdown", "to_numpy",
    "to_orc", "to_parquet", "to_period", "to_pickle", "to_records", "to_sql", "to_stata", "to_string", "to_timestamp",
    "to_xarray", "to_xml", "transform", "transpose", "truediv", "truncate", "tz_convert", "tz_localize", "unstack",
    "update", "value_counts", "values", "var", "where", "xs",
])  # fmt: skip
# Calls of other libraries that take a series or a frame as an array.
_AS_ARRAY = frozenset(
    ["torch.tensor", "torch.as_tensor", "torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "numpy.array", "numpy.asarray"]
)  # fmt: skip


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
        return mark_simple(read, path in _OF_TEXT and "converters" not in kwargs)
    data = args[0] if args else kwargs.get("data")
    if path == SERIES:
        return mark_simple(make_series(_length_of(interp, data), node), is_simple(data))
    if path == FRAME:
        return mark_simple(_made_of(interp, data, args, kwargs, node), is_simple(data))
    if path == "pandas.get_dummies" and isinstance(data, LibraryObject) and is_table(data):
        return make_frame(rows_of(data), any_size(), node)
    interp.escape(args, kwargs)
    return UNKNOWN


def as_array(path: str, args: list[Value], node: ast.AST | None) -> list[Value]:
    """The arguments of a call that takes a series or a frame for an array."""
    if args and path in _AS_ARRAY and is_table(args[0]):
        table = args[0]
        if isinstance(table, LibraryObject) and (table.path == SERIES or not path.startswith("torch.")):
            return [array_of(table, node), *args[1:]]
    return args


def array_of(value: Value, node: ast.AST | None, how: str | None = None) -> Value:
    """A series or frame as the array of its values; anything else as it is."""
    if not isinstance(value, LibraryObject) or not is_table(value):
        return value
    rows = rows_of(value)
    if value.path == SERIES:
        return Tensor("numpy", (rows,), None, None, None, node, how)
    columns = columns_of(value)
    # A frame keeps its columns together: what it was made of by columns is column-major.
    strides = (1, rows) if value.arguments.get("by columns") is not None else None
    return Tensor("numpy", (rows, columns), strides, None, None, node, how)


def attribute(interp: State, receiver: LibraryObject, name: str, node: ast.AST | None) -> Value | None:
    """An attribute of a series or frame; None for one that is a method or not known."""
    if name in ("iloc", "loc"):
        return LibraryObject(PLACES, {}, (), {OF: receiver, "kind": Const(name)}, node)
    if name == "values":
        return array_of(receiver, node, f"{receiver.path.removeprefix('pandas.')}.values")
    if name == "shape":
        sizes = [rows_of(receiver)] if receiver.path == SERIES else [rows_of(receiver), columns_of(receiver)]
        return Sequence("tuple", [number(size) for size in sizes])
    if receiver.path == FRAME:
        if name == "T":
            return mark_simple(make_frame(columns_of(receiver), rows_of(receiver), node), is_simple(receiver))
        labels = labels_of(receiver)
        if labels is not None and labels.count(name) == 1 and name not in _ATTRIBUTES:
            return mark_simple(make_series(rows_of(receiver), node), is_simple(receiver))
    return None


def call(
    interp: State, receiver: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    """A method of a series or frame."""
    if name in REDUCING:
        return reduced(receiver, name, args, kwargs, node)
    result = _called(interp, receiver, name, args, kwargs, node)
    return mark_simple(result, is_simple(receiver) and name not in _OTHER_CELLS)


def _called(
    interp: State, receiver: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    in_place = kwargs.get("inplace")
    if in_place is not None and not (isinstance(in_place, Const) and in_place.value is False):
        receiver.fields[ROWS] = number(any_size())
        forget_columns(receiver)
        interp.mutations += [(receiver, ROWS), (receiver, COLUMNS), (receiver, LABELS)]
        return NONE if isinstance(in_place, Const) else UNKNOWN
    rows = rows_of(receiver)
    if name == "to_numpy":
        return array_of(receiver, node, f"{receiver.path.removeprefix('pandas.')}.to_numpy()")
    if receiver.path == SERIES:
        if name in _SAME or name == "map":
            return same_axes(receiver, node)
        if name in _OTHER_ROWS:
            return make_series(any_size(), node)
        if name == "to_frame":
            return make_frame(rows, 1, node)
        if name in ("tolist", "to_list"):
            return Sequence("list", None, UNKNOWN, rows)
        if name == "apply" and len(args) == 1 and isinstance(args[0], Library) and args[0].path in ELEMENTWISE:
            return same_axes(receiver, node)
        return UNKNOWN
    if name in _SAME and not (name == "rename" and kwargs.keys() & {"columns", "axis"}):
        return make_frame(rows, columns_of(receiver), node, receiver)
    if name in _SAME | _OTHER_COLUMNS:
        return make_frame(rows if name != "join" and "axis" not in kwargs else any_size(), any_size(), node)
    if name in _OTHER_ROWS and not (name == "dropna" and (args or "axis" in kwargs)):
        return make_frame(any_size(), columns_of(receiver), node, receiver)
    if name == "drop":
        return _dropped(receiver, args, kwargs, node)
    if name == "pop" and args:
        forget_columns(receiver)
        interp.mutations += [(receiver, ROWS), (receiver, COLUMNS), (receiver, LABELS)]
        return make_series(rows, node)
    return UNKNOWN


def split(value: Value, rows: Size, node: ast.AST | None) -> Value | None:
    """The part of a series or frame that has so many rows."""
    if not isinstance(value, LibraryObject) or not is_table(value):
        return None
    part = make_series(rows, node) if value.path == SERIES else make_frame(rows, columns_of(value), node, value)
    return mark_simple(part, is_simple(value))


# -- how they are made ---------------------------------------------------------------------------------------------


def _length_of(interp: State, data: Value | None) -> Size:
    """How many rows a column of these values has."""
    if isinstance(data, Sequence):
        length = interp.length_of(data)
        return any_size() if length is None else length
    if isinstance(data, Tensor) and data.shape:
        return data.shape[0]
    return rows_of(data) if isinstance(data, LibraryObject) and is_table(data) else any_size()


def _made_of(
    interp: State, data: Value | None, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    given = args[2] if len(args) > 2 else kwargs.get("columns")
    labels = texts_of(given) if given is not None else None
    if (
        isinstance(data, Dictionary)
        and data.items
        and "columns" not in kwargs
        and "index" not in kwargs
        and len(args) < 2
    ):
        lengths = {_length_of(interp, value) for value in data.items.values() if isinstance(value, (Sequence, Tensor))}
        made = make_frame(lengths.pop() if len(lengths) == 1 else any_size(), len(data.items), node)
        if all(isinstance(key, str) for key in data.items):
            made.fields[LABELS] = Const(tuple(data.items))
        if all(isinstance(value, (Sequence, Tensor)) for value in data.items.values()):
            made.arguments = {"by columns": Const(True)}
        return made
    if isinstance(data, Tensor) and data.shape is not None and len(data.shape) in (1, 2):
        made = make_frame(data.shape[0], data.shape[1] if len(data.shape) == 2 else 1, node)
    else:
        made = make_frame(any_size(), any_size() if labels is None else len(labels), node)
    if labels is not None:
        made.fields[LABELS] = Const(labels)
    return made


def _dropped(table: LibraryObject, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    axis = args[1] if len(args) > 1 else kwargs.get("axis")
    names: Value | None = kwargs.get("columns")
    if names is None and isinstance(axis, Const) and axis.value in (1, "columns"):
        names = args[0] if args else kwargs.get("labels")
    if names is None:
        return make_frame(any_size(), any_size(), node)
    dropped = (names.value,) if isinstance(names, Const) and isinstance(names.value, str) else texts_of(names)
    labels = labels_of(table)
    if dropped is None or labels is None or "index" in kwargs:
        return make_frame(rows_of(table) if "index" not in kwargs else any_size(), any_size(), node)
    left = tuple(label for label in labels if label not in dropped)
    made = make_frame(rows_of(table), len(left), node)
    made.fields[LABELS] = Const(left)
    return made
