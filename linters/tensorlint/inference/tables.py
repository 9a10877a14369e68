"""pandas' frames and series: what has one axis and what has two.

A column of a frame, `df["y"]`, has one axis; a list of columns, `df[["y"]]`, keeps two. How many rows and columns there
are is mostly not known: the rows of a frame are one size for all that is taken from it, until a method changes the
frame in place. The tests run each line of these tables with the installed pandas (3.1 when they were written).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference import table_groups
from tensorlint.inference.sizes import Size
from tensorlint.inference.table_parts import PLACED
from tensorlint.inference.table_values import (
    BOXED,
    DOUBLED,
    ELEMENTWISE,
    FRAME,
    INDEX,
    NAMED_AS_TEXT,
    NAMES,
    OF,
    REDUCING,
    SERIES,
    SIMPLE,
    any_size,
    column_of,
    columns_of,
    forget,
    forget_columns,
    forget_rows,
    forget_table,
    gives_arrays,
    inherit,
    is_boxed,
    is_one_column,
    is_plain_type,
    is_simple,
    is_table,
    labels_of,
    make_frame,
    mark_boxed,
    mark_simple,
    note_kind,
    reduced,
    rename_in_place,
    renamed,
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
    Dictionary,
    Library,
    LibraryObject,
    Number,
    Sequence,
    Tensor,
    Value,
    number,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

# Methods that keep rows and columns, and those that give other rows.
_SAME = frozenset(
    ["copy", "astype", "fillna", "ffill", "bfill", "interpolate", "round", "clip", "abs", "replace", "rename", "infer_objects",
     "sort_values", "sort_index", "convert_dtypes", "shift", "diff", "cumsum", "cumprod", "pct_change", "rank", "where", "mask",
     "isna", "isnull", "notna", "notnull"]
)  # fmt: skip
# In place: those after which some columns may be of other kinds.
_BOXES = frozenset(["set_axis", "reset_index", "eval"])
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
    if name in ("iloc", "loc", "at", "iat"):
        return LibraryObject(PLACED, {}, (), {OF: receiver, "kind": Const(name)}, node)
    if name == "values":
        # Of text, categories and nullable numbers they are arrays of pandas' own.
        if receiver.path == SERIES and (is_boxed(receiver) or NAMED_AS_TEXT in receiver.fields):
            return UNKNOWN
        return array_of(receiver, node, f"{receiver.path.removeprefix('pandas.')}.values")
    if name == "shape":
        sizes = [rows_of(receiver)] if receiver.path == SERIES else [rows_of(receiver), columns_of(receiver)]
        return Sequence("tuple", [number(size) for size in sizes])
    if receiver.path == FRAME:
        if name == "T":
            names, index = receiver.fields.get(INDEX), receiver.fields.get(NAMES)
            turned = make_frame(columns_of(receiver), rows_of(receiver), node, names, index)
            return mark_simple(mark_boxed(turned, is_boxed(receiver)), is_simple(receiver))
        labels = labels_of(receiver)
        if labels is not None and labels.count(name) == 1 and name not in _ATTRIBUTES:
            return mark_simple(column_of(receiver, name, node), is_simple(receiver))
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
        forget_rows(interp, receiver)
        forget_columns(interp, receiver, distinct=True)
        if name == "rename":
            rename_in_place(interp, receiver, _mapping(kwargs))
        elif name == "set_axis":
            forget(interp, receiver, DOUBLED)
        if name in _BOXES and not _drops_index(kwargs):
            forget(interp, receiver, BOXED)
        return NONE if isinstance(in_place, Const) else UNKNOWN
    if name == "to_numpy":
        return array_of(receiver, node, f"{receiver.path.removeprefix('pandas.')}.to_numpy()")
    if name in _SAME and not _is_odd(name, args, kwargs):
        return _kept(receiver, name, args, kwargs, node)
    called = _of_series if receiver.path == SERIES else _of_frame
    found: Value = table_groups.made_of(receiver, name, args, kwargs, node) or called(
        interp, receiver, name, args, kwargs, node
    )
    if name == "pipe" or name.startswith("__"):
        forget_table(interp, receiver)
    if found is UNKNOWN:
        interp.escape(args, kwargs, reads_tables=True)
    return found


def _of_series(
    interp: State, receiver: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    if name in _OTHER_ROWS:
        return with_columns_of(receiver, any_size(), node)
    if name == "map" and args:
        made = mark_boxed(same_axes(receiver, node), is_boxed(receiver) or not _gives_numbers(args[0]))
        interp.escape(args, kwargs, reads_tables=True)
        return made
    if name == "to_frame":
        return mark_boxed(with_rows_of(receiver, 1, node), is_boxed(receiver))
    if name in ("tolist", "to_list"):
        return Sequence("list", None, UNKNOWN, rows_of(receiver))
    if name == "apply" and len(args) == 1 and isinstance(args[0], Library) and args[0].path in ELEMENTWISE:
        return same_axes(receiver, node)
    if name == "pop":
        forget_rows(interp, receiver)
    return UNKNOWN


def _of_frame(
    interp: State, receiver: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    along = "axis" in kwargs
    if name in _SAME:  # in an odd way
        if along:
            return make_frame(any_size(), any_size(), node)
        made = with_rows_of(receiver, any_size(), node)
        if name == "rename":
            renamed(made, receiver, _mapping(kwargs))
            if args or "index" in kwargs:
                made.fields[INDEX] = number(any_size())
        return made
    if name in _OTHER_COLUMNS:
        keeps = name == "reset_index" and _drops_index(kwargs)
        made = with_rows_of(receiver, columns_of(receiver) if keeps else any_size(), node)
        if along or name == "join":
            return make_frame(any_size(), any_size(), node)
        if name in ("set_index", "reset_index"):
            made.fields[INDEX] = number(any_size())
        if "allow_duplicates" not in kwargs:
            inherit(made, receiver, DOUBLED)
        if name != "reset_index" or _drops_index(kwargs):
            inherit(made, receiver, BOXED)
        if name == "assign":
            for column, value in kwargs.items():
                note_kind(interp, made, column, not gives_arrays(value))
        return made
    if name in _OTHER_ROWS:
        whole = not along and len(args) <= (name != "dropna")
        return with_columns_of(receiver, any_size(), node) if whole else make_frame(any_size(), any_size(), node)
    if name == "drop":
        return inherit(_dropped(receiver, args, kwargs, node), receiver, DOUBLED, BOXED)
    if name == "pop" and args:
        taken: Value = UNKNOWN
        if isinstance(args[0], Const) and is_one_column(receiver, str(args[0].value)):
            taken = column_of(receiver, str(args[0].value), node)
        forget_columns(interp, receiver, distinct=True)
        return taken
    if name in ("insert", "isetitem"):
        inserted = args[1].value if name == "insert" and len(args) == 3 and isinstance(args[1], Const) else None
        forget_columns(interp, receiver, distinct=inserted is not None and not kwargs)
        note_kind(interp, receiver, inserted, not gives_arrays(args[-1] if inserted is not None else None))
        forget(interp, receiver, SIMPLE)
    return UNKNOWN


def _mapping(kwargs: dict[str, Value]) -> dict[str, str] | None:
    """The new names of columns, of `rename(columns={...})`; None where they are not known."""
    given = kwargs.get("columns")
    if not isinstance(given, Dictionary) or given.items is None:
        return None
    names = {name: new.value for name, new in given.items.items() if isinstance(new, Const)}
    return names if len(names) == len(given.items) else None


def _drops_index(kwargs: dict[str, Value]) -> bool:
    drop = kwargs.get("drop")
    return isinstance(drop, Const) and drop.value is True


def _is_odd(name: str, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether the method is called so that it gives other rows or columns than it is given."""
    if name == "shift":  # by several distances at once
        return bool(kwargs.keys() - {"fill_value"}) or not all(isinstance(arg, (Const, Number)) for arg in args)
    if name == "rename":
        return bool(kwargs.keys() & {"columns", "axis"})
    return ("axis" in kwargs and name in ("sort_values", "sort_index")) or "numeric_only" in kwargs


def _kept(
    table: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> LibraryObject:
    """What a method gives that keeps the numbers of rows and columns."""
    made = same_axes(table, node)
    is_name = name == "rename" and not kwargs and all(isinstance(arg, Const) for arg in args)
    if name in ("sort_values", "sort_index") or (name == "rename" and not is_name):
        made.fields[INDEX] = number(any_size())
    if name == "astype":
        given = args[0] if args else kwargs.get("dtype")
        if not is_plain_type(given):
            mark_boxed(made, boxed=True)
        elif not isinstance(given, Dictionary):
            mark_boxed(made, boxed=False)
    elif name in ("isna", "isnull", "notna", "notnull"):
        mark_boxed(made, boxed=False)
    elif name in ("convert_dtypes", "infer_objects"):
        mark_boxed(made, boxed=True)
    return made


def _gives_numbers(mapping: Value) -> bool:
    """Whether what cells are mapped to are numbers: text would be kept in an array of pandas' own."""
    if isinstance(mapping, Dictionary):
        return mapping.items is not None and all(map(gives_arrays, mapping.items.values()))
    return isinstance(mapping, Library) and (mapping.path in ELEMENTWISE or is_plain_type(mapping))


def split(value: Value, rows: Size, labels: dict[object, Value], node: ast.AST | None) -> Value | None:
    """The part of a series or frame that has so many rows; `labels` keeps what the parts of several have in common."""
    if not isinstance(value, LibraryObject) or not is_table(value):
        return None
    part = with_columns_of(value, rows, node)
    index = value.fields.get(INDEX)
    if isinstance(index, (Const, Number)):
        part.fields[INDEX] = labels.setdefault(
            index.value if isinstance(index, Const) else index.size, part.fields[INDEX]
        )
    return mark_simple(part, is_simple(value))


def _dropped(table: LibraryObject, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> LibraryObject:
    axis = args[1] if len(args) > 1 else kwargs.get("axis")
    names: Value | None = kwargs.get("columns")
    if names is None and isinstance(axis, Const) and axis.value in (1, "columns"):
        names = args[0] if args else kwargs.get("labels")
    if names is None:
        return make_frame(any_size(), any_size(), node)
    dropped = (names.value,) if isinstance(names, Const) and isinstance(names.value, str) else texts_of(names)
    labels = labels_of(table)
    if dropped is None or labels is None or "index" in kwargs:
        return (
            with_rows_of(table, any_size(), node) if "index" not in kwargs else make_frame(any_size(), any_size(), node)
        )
    left = tuple(label for label in labels if label not in dropped)
    return inherit(with_rows_of(table, len(left), node), make_frame(0, 0, node, Const(left)), NAMES)
