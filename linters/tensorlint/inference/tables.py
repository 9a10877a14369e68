"""pandas' frames and series: what has one axis and what has two.

A column of a frame, `df["y"]`, has one axis; a list of columns, `df[["y"]]`, keeps two. How many rows and columns there
are is mostly not known: the rows of a frame are one size for all that is taken from it, until a method changes the
frame in place. The tests run each line of these tables with the installed pandas (3.1 when they were written).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference import sizes as S
from tensorlint.inference.numbers import kind_of
from tensorlint.inference.ops.dtypes import OBJECT
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    NONE,
    PLAIN,
    UNKNOWN,
    Const,
    Dictionary,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Scalar,
    Sequence,
    Slice,
    Tensor,
    Value,
    is_none,
    number,
    size_of,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

FRAME, SERIES, _PLACES = "pandas.DataFrame", "pandas.Series", "pandas places"
# What reads a file into a frame; other arguments make an iterator of frames, or a dictionary.
_READERS = frozenset(
    "pandas." + name for name in ("read_csv", "read_table", "read_excel", "read_parquet", "read_feather", "read_fwf")
)
_OF_TEXT = frozenset("pandas." + name for name in ("read_csv", "read_table", "read_excel", "read_fwf"))
_OTHERWISE = frozenset({"chunksize", "iterator", "squeeze"})
# The number of rows and of columns, and the names of the columns; spaces keep them apart from the columns' own names.
_ROWS, _COLUMNS, _LABELS, _OF = " rows", " columns", " labels", " of"
# Set where the cells are numbers, dates or text: the mean of a column whose cells are arrays is an array.
_SIMPLE = " simple"
# Of a series that a frame was reduced to: that frame's columns, by whose names it meets a frame.
_ACROSS = " across"

# Methods that keep rows and columns, and those that give other rows.
_SAME = frozenset(
    ["copy", "astype", "fillna", "ffill", "bfill", "interpolate", "round", "clip", "abs", "replace", "rename", "infer_objects",
     "sort_values", "sort_index", "convert_dtypes", "shift", "diff", "cumsum", "cumprod", "pct_change", "rank", "where", "mask",
     "isna", "isnull", "notna", "notnull"]
)  # fmt: skip
_OTHER_ROWS = frozenset(["head", "tail", "sample", "dropna", "drop_duplicates", "query", "nlargest", "nsmallest"])
_OTHER_CELLS = frozenset(["map", "assign", "join", "replace", "where", "mask", "get"])
_OTHER_COLUMNS = frozenset(["select_dtypes", "assign", "join", "filter", "reset_index", "set_index"])
# What makes one number of a series and a series of a frame. Two of them add cells up, whatever these are.
_REDUCING = frozenset(["mean", "std", "var", "sem", "max", "min", "sum", "median", "prod", "product", "skew", "kurt"])
_ADDING = frozenset(["mean", "sum"])
# numpy's functions of one array that give a series of a series.
_ELEMENTWISE = frozenset(
    "numpy." + name
    for name in ("log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "square", "abs", "absolute", "sign", "sin", "cos", "tanh")
)  # fmt: skip
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


def is_table(value: Value) -> bool:
    return isinstance(value, LibraryObject) and value.path in (FRAME, SERIES)


def make(interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """A call of pandas' class or function."""
    if path in _READERS:
        several = [kwargs[name] for name in ("header", "sheet_name") if name in kwargs]
        if kwargs.keys() & _OTHERWISE or not all(isinstance(each, Const) for each in several):
            return UNKNOWN
        if is_none(kwargs.get("sheet_name", Const(0))):
            return UNKNOWN
        read = _frame(_size(), _size(), node)
        return _simple(read, path in _OF_TEXT and "converters" not in kwargs)
    data = args[0] if args else kwargs.get("data")
    if path == SERIES:
        return _simple(_series(_rows_of(interp, data), node), _is_simple(data))
    if path == FRAME:
        return _simple(_made_of(interp, data, args, kwargs, node), _is_simple(data))
    if path == "pandas.get_dummies" and isinstance(data, LibraryObject) and is_table(data):
        return _frame(_rows(data), _size(), node)
    interp.escape(args, kwargs)
    return UNKNOWN


def computed(path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """`np.log(df["a"])` is a series; None for other calls."""
    if path in _ELEMENTWISE and len(args) == 1 and not kwargs and isinstance(args[0], LibraryObject):
        return _same(args[0], node) if is_table(args[0]) else None
    return None


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
    rows = _rows(value)
    if value.path == SERIES:
        return Tensor("numpy", (rows,), None, None, None, node, how)
    columns = _columns(value)
    # A frame keeps its columns together: what it was made of by columns is column-major.
    strides = (1, rows) if value.arguments.get("by columns") is not None else None
    return Tensor("numpy", (rows, columns), strides, None, None, node, how)


def attribute(interp: State, receiver: LibraryObject, name: str, node: ast.AST | None) -> Value | None:
    """An attribute of a series or frame; None for one that is a method or not known."""
    if name in ("iloc", "loc"):
        return LibraryObject(_PLACES, {}, (), {_OF: receiver, "kind": Const(name)}, node)
    if name == "values":
        return array_of(receiver, node, f"{receiver.path.removeprefix('pandas.')}.values")
    if name == "shape":
        sizes = [_rows(receiver)] if receiver.path == SERIES else [_rows(receiver), _columns(receiver)]
        return Sequence("tuple", [number(size) for size in sizes])
    if receiver.path == FRAME:
        if name == "T":
            return _simple(_frame(_columns(receiver), _rows(receiver), node), _is_simple(receiver))
        labels = _labels(receiver)
        if labels is not None and labels.count(name) == 1 and name not in _ATTRIBUTES:
            return _simple(_series(_rows(receiver), node), _is_simple(receiver))
    return None


def item(interp: State, receiver: LibraryObject, index: Value, node: ast.AST) -> Value:
    """`df["y"]`, `df[["a", "b"]]`, `df[df["a"] > 0]`, `df.iloc[:, -1]`."""
    whole = receiver.fields.get(_OF, UNKNOWN) if receiver.path == _PLACES else receiver
    return _simple(_item(interp, receiver, index, node), _is_simple(whole))


def _item(interp: State, receiver: LibraryObject, index: Value, node: ast.AST) -> Value:
    if receiver.path == _PLACES:
        table = receiver.fields.get(_OF)
        if isinstance(table, LibraryObject):
            return _placed(interp, table, index, receiver.fields.get("kind"), node)
        return UNKNOWN
    if isinstance(index, Slice) or _is_mask(index):
        rows = _rows(receiver) if _is_whole(index) else _size()
        return _series(rows, node) if receiver.path == SERIES else _frame(rows, _columns(receiver), node, receiver)
    if receiver.path == SERIES:
        return UNKNOWN
    if isinstance(index, Const) and isinstance(index.value, str):
        labels = _labels(receiver)
        return UNKNOWN if labels is not None and labels.count(index.value) > 1 else _series(_rows(receiver), node)
    if isinstance(index, Sequence) and index.kind == "list":
        return _selected(receiver, _rows(receiver), index, node)
    return UNKNOWN


def store(interp: State, receiver: LibraryObject, value: Value) -> None:
    """`df["y"] = ...`: another column; `df.loc[n] = ...` perhaps another row."""
    table = receiver
    if receiver.path == _PLACES:
        found = receiver.fields.get(_OF)
        if not isinstance(found, LibraryObject):
            return
        table = found
        table.fields[_ROWS] = number(_size())
    if not _is_simple(value):
        table.fields.pop(_SIMPLE, None)
        interp.mutations.append((table, _SIMPLE))
    _forget_columns(table)
    interp.mutations += [(table, _ROWS), (table, _COLUMNS), (table, _LABELS)]


def rename(interp: State, receiver: LibraryObject) -> None:
    """`df.columns = ...`."""
    receiver.fields.pop(_LABELS, None)
    receiver.fields.pop(_ACROSS, None)
    interp.mutations += [(receiver, _LABELS), (receiver, _ACROSS)]


def call(
    interp: State, receiver: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    """A method of a series or frame."""
    if name in _REDUCING:
        return _reduced(receiver, name, args, kwargs, node)
    result = _called(interp, receiver, name, args, kwargs, node)
    return _simple(result, _is_simple(receiver) and name not in _OTHER_CELLS)


def _called(
    interp: State, receiver: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    in_place = kwargs.get("inplace")
    if in_place is not None and not (isinstance(in_place, Const) and in_place.value is False):
        receiver.fields[_ROWS] = number(_size())
        _forget_columns(receiver)
        interp.mutations += [(receiver, _ROWS), (receiver, _COLUMNS), (receiver, _LABELS)]
        return NONE if isinstance(in_place, Const) else UNKNOWN
    rows = _rows(receiver)
    if name == "to_numpy":
        return array_of(receiver, node, f"{receiver.path.removeprefix('pandas.')}.to_numpy()")
    if receiver.path == SERIES:
        if name in _SAME or name == "map":
            return _same(receiver, node)
        if name in _OTHER_ROWS:
            return _series(_size(), node)
        if name == "to_frame":
            return _frame(rows, 1, node)
        if name in ("tolist", "to_list"):
            return Sequence("list", None, UNKNOWN, rows)
        if name == "apply" and len(args) == 1 and isinstance(args[0], Library) and args[0].path in _ELEMENTWISE:
            return _same(receiver, node)
        return UNKNOWN
    if name in _SAME and not (name == "rename" and kwargs.keys() & {"columns", "axis"}):
        return _frame(rows, _columns(receiver), node, receiver)
    if name in _SAME | _OTHER_COLUMNS:
        return _frame(rows if name != "join" and "axis" not in kwargs else _size(), _size(), node)
    if name in _OTHER_ROWS and not (name == "dropna" and (args or "axis" in kwargs)):
        return _frame(_size(), _columns(receiver), node, receiver)
    if name == "drop":
        return _dropped(receiver, args, kwargs, node)
    if name == "pop" and args:
        _forget_columns(receiver)
        interp.mutations += [(receiver, _ROWS), (receiver, _COLUMNS), (receiver, _LABELS)]
        return _series(rows, node)
    return UNKNOWN


def operation(left: Value, right: Value, node: ast.AST) -> Value | None:
    """Arithmetic and comparisons of a series or frame with a number, a string, or what has the same rows or columns."""
    for table, other in ((left, right), (right, left)):
        if not isinstance(table, LibraryObject) or not is_table(table):
            continue
        if isinstance(other, (Const, Number, Scalar)) or (isinstance(other, Opaque) and other.kind == PLAIN):
            return None if is_none(other) else _same(table, node)
        if isinstance(other, LibraryObject) and other.path == SERIES:
            if table.path == SERIES and _rows(other) == _rows(table):
                across = table.fields.get(_ACROSS), other.fields.get(_ACROSS)
                if (across[0] is None) != (across[1] is None):
                    return None
                return _simple(_same(table, node), _is_simple(other))
            if table.path == FRAME and _goes_across(other, table):
                return _simple(_same(table, node), _is_simple(other))
    return None


def negated(value: LibraryObject, node: ast.AST) -> Value:
    """`-df["a"]`, `~(df["a"] > 0)`."""
    return _same(value, node) if is_table(value) else UNKNOWN


def split(value: Value, rows: Size, node: ast.AST | None) -> Value | None:
    """The part of a series or frame that has so many rows."""
    if not isinstance(value, LibraryObject) or not is_table(value):
        return None
    part = _series(rows, node) if value.path == SERIES else _frame(rows, _columns(value), node, value)
    return _simple(part, _is_simple(value))


# -- the values ----------------------------------------------------------------------------------------------------


def _size() -> Size:
    return S.of_symbol(S.Symbol(None, plural=True))


def _frame(rows: Size, columns: Size, node: ast.AST | None, like: LibraryObject | None = None) -> LibraryObject:
    fields: dict[str, Value] = {_ROWS: number(rows), _COLUMNS: number(columns)}
    if like is not None and _LABELS in like.fields:
        fields[_LABELS] = like.fields[_LABELS]
    return LibraryObject(FRAME, {}, (), fields, node)


def _series(rows: Size, node: ast.AST | None) -> LibraryObject:
    return LibraryObject(SERIES, {}, (), {_ROWS: number(rows)}, node)


def _rows(table: LibraryObject) -> Size:
    found = size_of(table.fields.get(_ROWS, UNKNOWN))
    return _size() if found is None else found


def _columns(table: LibraryObject) -> Size:
    found = size_of(table.fields.get(_COLUMNS, UNKNOWN))
    return _size() if found is None else found


def _labels(table: LibraryObject) -> tuple[str, ...] | None:
    found = table.fields.get(_LABELS)
    return found.value if isinstance(found, Const) and isinstance(found.value, tuple) else None


def _forget_columns(table: LibraryObject) -> None:
    if table.path == FRAME:
        table.fields[_COLUMNS] = number(_size())
        table.fields.pop(_LABELS, None)
        table.arguments = {}


def _same(table: LibraryObject, node: ast.AST | None) -> LibraryObject:
    """What has the rows and columns of the table, and cells computed from its cells."""
    if table.path == FRAME:
        made = _frame(_rows(table), _columns(table), node, table)
    else:
        made = _series(_rows(table), node)
        if _ACROSS in table.fields:
            made.fields[_ACROSS] = table.fields[_ACROSS]
    _simple(made, _is_simple(table))
    return made


def _simple(value: Value, simple: bool) -> Value:
    if isinstance(value, LibraryObject) and is_table(value):
        if simple:
            value.fields[_SIMPLE] = Const(True)
        else:
            value.fields.pop(_SIMPLE, None)
    return value


def _is_simple(value: Value | None) -> bool:
    """Whether the cells of a table that is made of the value are numbers, dates or text."""
    if isinstance(value, LibraryObject):
        known = value.fields.get(_SIMPLE)
        return isinstance(known, Const) and known.value is True
    if isinstance(value, Tensor):
        return value.shape is not None and value.dtype is not None and value.dtype != OBJECT
    if isinstance(value, Sequence):
        return all(map(_is_cell, value.items if value.items is not None else [value.element]))
    if isinstance(value, Dictionary):
        return value.items is not None and all(map(_is_simple, value.items.values()))
    return value is not None and _is_cell(value)


def _is_cell(value: Value) -> bool:
    return isinstance(value, Const) or kind_of(value) is not None


def _reduced(
    table: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    """`df["a"].mean()` is a number, `df.mean()` a series that has one of each column."""
    if args or kwargs.keys() - {"skipna", "ddof", "axis"}:
        return UNKNOWN
    axis = kwargs.get("axis", Const(0))
    if not isinstance(axis, Const) or axis.value not in (0, 1, "index", "columns"):
        return UNKNOWN
    if table.path == SERIES:
        # Cells that are arrays have no order and no root: those methods refuse them.
        return Opaque(None, kind=PLAIN) if name not in _ADDING or _is_simple(table) else UNKNOWN
    if axis.value in (1, "columns"):
        return _simple(_series(_rows(table), node), _is_simple(table))
    made = _series(_columns(table), node)
    labels = _labels(table)
    made.fields[_ACROSS] = Const(labels)
    return _simple(made, _is_simple(table))


def _goes_across(series: LibraryObject, frame: LibraryObject) -> bool:
    """Whether the series has one cell for each column of the frame, under its name: then the frame keeps its shape."""
    across = series.fields.get(_ACROSS)
    if not isinstance(across, Const) or _rows(series) != _columns(frame):
        return False
    labels = _labels(frame)
    if labels is None:
        # A size that nobody knows is that of one table's columns and of those made from it.
        return across.value is None and not isinstance(_rows(series), int)
    return across.value == labels and len(set(labels)) == len(labels)


# -- how they are made ---------------------------------------------------------------------------------------------


def _rows_of(interp: State, data: Value | None) -> Size:
    """How many rows a column of these values has."""
    if isinstance(data, Sequence):
        length = interp.length_of(data)
        return _size() if length is None else length
    if isinstance(data, Tensor) and data.shape:
        return data.shape[0]
    return _rows(data) if isinstance(data, LibraryObject) and is_table(data) else _size()


def _made_of(
    interp: State, data: Value | None, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    given = args[2] if len(args) > 2 else kwargs.get("columns")
    labels = _texts(given) if given is not None else None
    if (
        isinstance(data, Dictionary)
        and data.items
        and "columns" not in kwargs
        and "index" not in kwargs
        and len(args) < 2
    ):
        lengths = {_rows_of(interp, value) for value in data.items.values() if isinstance(value, (Sequence, Tensor))}
        made = _frame(lengths.pop() if len(lengths) == 1 else _size(), len(data.items), node)
        if all(isinstance(key, str) for key in data.items):
            made.fields[_LABELS] = Const(tuple(data.items))
        if all(isinstance(value, (Sequence, Tensor)) for value in data.items.values()):
            made.arguments = {"by columns": Const(True)}
        return made
    if isinstance(data, Tensor) and data.shape is not None and len(data.shape) in (1, 2):
        made = _frame(data.shape[0], data.shape[1] if len(data.shape) == 2 else 1, node)
    else:
        made = _frame(_size(), _size() if labels is None else len(labels), node)
    if labels is not None:
        made.fields[_LABELS] = Const(labels)
    return made


def _texts(value: Value) -> tuple[str, ...] | None:
    if isinstance(value, Sequence) and value.items is not None:
        texts = [part.value for part in value.items if isinstance(part, Const) and isinstance(part.value, str)]
        return tuple(texts) if len(texts) == len(value.items) else None
    return None


# -- parts ---------------------------------------------------------------------------------------------------------


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
    texts = _texts(index)
    if texts is None or not texts:
        return UNKNOWN
    labels = _labels(table)
    unique = labels is None or all(labels.count(text) == 1 for text in texts)
    made = _frame(rows, len(texts) if unique else _size(), node)
    made.fields[_LABELS] = Const(texts)
    return made


def _axis(size: Size, index: Value, by_name: bool) -> Size | None:
    """What indexing leaves of an axis; 0 where one place was taken, None where that is not known."""
    if isinstance(index, Slice):
        return size if _is_whole(index) else _size()
    if _is_mask(index):
        return _size()
    if isinstance(index, Sequence) and index.kind == "list" and index.items:
        if by_name and _texts(index) is None:
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
        return _series(_size(), node) if isinstance(index, Slice) or _is_mask(index) else UNKNOWN
    if isinstance(index, Sequence) and index.kind == "tuple" and index.items is not None and len(index.items) == 2:
        first, second = index.items
    else:
        first, second = index, Slice(NONE, NONE, NONE)
    if by_name and isinstance(first, Const):
        return UNKNOWN  # a label may stand for several rows
    rows, columns = _axis(_rows(table), first, by_name), _axis(_columns(table), second, by_name)
    if rows is None or columns is None or (rows == 0 and columns == 0):
        return UNKNOWN
    if rows == 0 or columns == 0:
        return _series(columns if rows == 0 else rows, node)
    return _frame(rows, columns, node, table if _is_whole(second) else None)


def _dropped(table: LibraryObject, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    axis = args[1] if len(args) > 1 else kwargs.get("axis")
    names: Value | None = kwargs.get("columns")
    if names is None and isinstance(axis, Const) and axis.value in (1, "columns"):
        names = args[0] if args else kwargs.get("labels")
    if names is None:
        return _frame(_size(), _size(), node)
    dropped = (names.value,) if isinstance(names, Const) and isinstance(names.value, str) else _texts(names)
    labels = _labels(table)
    if dropped is None or labels is None or "index" in kwargs:
        return _frame(_rows(table) if "index" not in kwargs else _size(), _size(), node)
    left = tuple(label for label in labels if label not in dropped)
    made = _frame(_rows(table), len(left), node)
    made.fields[_LABELS] = Const(left)
    return made
