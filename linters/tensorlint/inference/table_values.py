"""What is kept of pandas' frames and series, and what arithmetic makes of them."""

from __future__ import annotations

import ast

from tensorlint.inference import sizes as S
from tensorlint.inference.numbers import kind_of
from tensorlint.inference.ops.dtypes import OBJECT
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    PLAIN,
    UNKNOWN,
    Const,
    Dictionary,
    LibraryObject,
    Number,
    Opaque,
    Scalar,
    Sequence,
    Tensor,
    Value,
    is_none,
    number,
    size_of,
)

FRAME, SERIES = "pandas.DataFrame", "pandas.Series"
# The number of rows and of columns, and the names of the columns; spaces keep them apart from the columns' own names.
ROWS, COLUMNS, LABELS, OF = " rows", " columns", " labels", " of"
# Set where the cells are numbers, dates or text: the mean of a column whose cells are arrays is an array.
SIMPLE = " simple"
# Of a series that a frame was reduced to: that frame's columns, by whose names it meets a frame.
ACROSS = " across"

# What makes one number of a series and a series of a frame. Two of them add cells up, whatever these are.
REDUCING = frozenset(["mean", "std", "var", "sem", "max", "min", "sum", "median", "prod", "product", "skew", "kurt"])
_ADDING = frozenset(["mean", "sum"])
# numpy's functions of one array that give a series of a series.
ELEMENTWISE = frozenset(
    "numpy." + name
    for name in ("log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "square", "abs", "absolute", "sign", "sin", "cos", "tanh")
)  # fmt: skip


def is_table(value: Value) -> bool:
    return isinstance(value, LibraryObject) and value.path in (FRAME, SERIES)


def any_size() -> Size:
    return S.of_symbol(S.Symbol(None, plural=True))


def make_frame(rows: Size, columns: Size, node: ast.AST | None, like: LibraryObject | None = None) -> LibraryObject:
    fields: dict[str, Value] = {ROWS: number(rows), COLUMNS: number(columns)}
    if like is not None and LABELS in like.fields:
        fields[LABELS] = like.fields[LABELS]
    return LibraryObject(FRAME, {}, (), fields, node)


def make_series(rows: Size, node: ast.AST | None) -> LibraryObject:
    return LibraryObject(SERIES, {}, (), {ROWS: number(rows)}, node)


def rows_of(table: LibraryObject) -> Size:
    found = size_of(table.fields.get(ROWS, UNKNOWN))
    return any_size() if found is None else found


def columns_of(table: LibraryObject) -> Size:
    found = size_of(table.fields.get(COLUMNS, UNKNOWN))
    return any_size() if found is None else found


def labels_of(table: LibraryObject) -> tuple[str, ...] | None:
    found = table.fields.get(LABELS)
    return found.value if isinstance(found, Const) and isinstance(found.value, tuple) else None


def forget_columns(table: LibraryObject) -> None:
    if table.path == FRAME:
        table.fields[COLUMNS] = number(any_size())
        table.fields.pop(LABELS, None)
        table.arguments = {}


def same_axes(table: LibraryObject, node: ast.AST | None) -> LibraryObject:
    """What has the rows and columns of the table, and cells computed from its cells."""
    if table.path == FRAME:
        made = make_frame(rows_of(table), columns_of(table), node, table)
    else:
        made = make_series(rows_of(table), node)
        if ACROSS in table.fields:
            made.fields[ACROSS] = table.fields[ACROSS]
    mark_simple(made, is_simple(table))
    return made


def mark_simple(value: Value, simple: bool) -> Value:
    if isinstance(value, LibraryObject) and is_table(value):
        if simple:
            value.fields[SIMPLE] = Const(True)
        else:
            value.fields.pop(SIMPLE, None)
    return value


def is_simple(value: Value | None) -> bool:
    """Whether the cells of a table that is made of the value are numbers, dates or text."""
    if isinstance(value, LibraryObject):
        known = value.fields.get(SIMPLE)
        return isinstance(known, Const) and known.value is True
    if isinstance(value, Tensor):
        return value.shape is not None and value.dtype is not None and value.dtype != OBJECT
    if isinstance(value, Sequence):
        return all(map(_is_cell, value.items if value.items is not None else [value.element]))
    if isinstance(value, Dictionary):
        return value.items is not None and all(map(is_simple, value.items.values()))
    return value is not None and _is_cell(value)


def _is_cell(value: Value) -> bool:
    return isinstance(value, Const) or kind_of(value) is not None


def texts_of(value: Value) -> tuple[str, ...] | None:
    if isinstance(value, Sequence) and value.items is not None:
        texts = [part.value for part in value.items if isinstance(part, Const) and isinstance(part.value, str)]
        return tuple(texts) if len(texts) == len(value.items) else None
    return None


# -- arithmetic ----------------------------------------------------------------------------------------------------


def computed(path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """`np.log(df["a"])` is a series; None for other calls."""
    if path in ELEMENTWISE and len(args) == 1 and not kwargs and isinstance(args[0], LibraryObject):
        return same_axes(args[0], node) if is_table(args[0]) else None
    return None


def operation(left: Value, right: Value, node: ast.AST) -> Value | None:
    """Arithmetic and comparisons of a series or frame with a number, a string, or what has the same rows or columns."""
    for table, other in ((left, right), (right, left)):
        if not isinstance(table, LibraryObject) or not is_table(table):
            continue
        if isinstance(other, (Const, Number, Scalar)) or (isinstance(other, Opaque) and other.kind == PLAIN):
            return None if is_none(other) else same_axes(table, node)
        if isinstance(other, LibraryObject) and other.path == SERIES:
            if table.path == SERIES and rows_of(other) == rows_of(table):
                across = table.fields.get(ACROSS), other.fields.get(ACROSS)
                if (across[0] is None) != (across[1] is None):
                    return None
                return mark_simple(same_axes(table, node), is_simple(other))
            if table.path == FRAME and _goes_across(other, table):
                return mark_simple(same_axes(table, node), is_simple(other))
    return None


def negated(value: LibraryObject, node: ast.AST) -> Value:
    """`-df["a"]`, `~(df["a"] > 0)`."""
    return same_axes(value, node) if is_table(value) else UNKNOWN


def reduced(
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
        return Opaque(None, kind=PLAIN) if name not in _ADDING or is_simple(table) else UNKNOWN
    if axis.value in (1, "columns"):
        return mark_simple(make_series(rows_of(table), node), is_simple(table))
    made = make_series(columns_of(table), node)
    labels = labels_of(table)
    made.fields[ACROSS] = Const(labels)
    return mark_simple(made, is_simple(table))


def _goes_across(series: LibraryObject, frame: LibraryObject) -> bool:
    """Whether the series has one cell for each column of the frame, under its name: then the frame keeps its shape."""
    across = series.fields.get(ACROSS)
    if not isinstance(across, Const) or rows_of(series) != columns_of(frame):
        return False
    labels = labels_of(frame)
    if labels is None:
        # A size that nobody knows is that of one table's columns and of those made from it.
        return across.value is None and not isinstance(rows_of(series), int)
    return across.value == labels and len(set(labels)) == len(labels)
