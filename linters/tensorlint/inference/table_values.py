"""What is kept of pandas' frames and series, and what arithmetic makes of them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tensorlint.inference import sizes as S
from tensorlint.inference.numbers import kind_of
from tensorlint.inference.ops.dtypes import OBJECT
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    PLAIN,
    UNKNOWN,
    Const,
    Dictionary,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Range,
    Scalar,
    Sequence,
    Tensor,
    Value,
    all_of,
    is_none,
    number,
    perhaps_same,
    size_of,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

FRAME, SERIES = "pandas.DataFrame", "pandas.Series"
# The number of rows and of columns; spaces keep these fields apart from the columns' own names.
ROWS, COLUMNS, OF = " rows", " columns", " of"
# What the rows and the columns are called. Two that are equal, of one length, certainly have the same labels in the same
# order: the texts, PLACES for 0, 1, 2, ..., or a number that stands for labels nobody knows.
INDEX, NAMES = " index", " names"
PLACES = Const(" places")
# The names that may stand for several columns: no other does.
DOUBLED = " doubled"
# Set where the cells are numbers, dates or text: the mean of a column whose cells are arrays is an array.
SIMPLE = " simple"
# The names of those columns whose `values` may be something else than numpy's arrays: text, categories, nullable numbers.
BOXED = " boxed"
# Set of a column that is called as texts are, whose `values` pandas 3 gives as an array of its own. What a file is read
# into is not known otherwise; what is computed from such a column may be numbers.
NAMED_AS_TEXT = " named as text"
_TEXTS = re.compile(
    r"(?:^|_)(?:(?:first|last|file|user|full)?names?|texts?|titles?|sentences?|comments?|reviews?|tweets?|words?|urls?|paths?|"
    r"city|country|address|email|descriptions?|questions?|answers?|captions?|prompts?)$",
    re.IGNORECASE,
)
_OF_ROWS, _OF_COLUMNS = (ROWS, INDEX), (COLUMNS, NAMES, DOUBLED, BOXED)

# Libraries whose functions leave the tables that they are given as they are.
READ_TABLES = frozenset(
    ["builtins", "IPython", "joblib", "matplotlib", "numpy", "pandas", "pickle", "plotly", "scipy", "seaborn", "sklearn",
     "statsmodels", "torch"]
)  # fmt: skip

# What makes one number of a series and a series of a frame. Two of them add cells up, whatever these are.
REDUCING = frozenset(["mean", "std", "var", "sem", "max", "min", "sum", "median", "prod", "product", "skew", "kurt"])
_ADDING = frozenset(["mean", "sum"])
# Types by numpy's names: those of pandas' own begin with a capital.
_PLAIN_TYPES = frozenset(
    ["bool", "bool_", "int", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
     "float", "float16", "float32", "float64", "double", "single"]
)  # fmt: skip
# numpy's functions of one array that give a series of a series.
ELEMENTWISE = frozenset(
    "numpy." + name
    for name in ("log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "square", "abs", "absolute", "sign", "sin", "cos", "tanh")
)  # fmt: skip


def is_table(value: Value) -> bool:
    return isinstance(value, LibraryObject) and value.path in (FRAME, SERIES)


def any_size() -> Size:
    return S.of_symbol(S.Symbol(None, plural=True))


def make_frame(
    rows: Size, columns: Size, node: ast.AST | None, names: Value | None = None, index: Value | None = None
) -> LibraryObject:
    fields: dict[str, Value] = {
        ROWS: number(rows),
        INDEX: index or number(any_size()),
        COLUMNS: number(columns),
        NAMES: names or number(any_size()),
    }
    made = LibraryObject(FRAME, {}, (), fields, node)
    labels = labels_of(made)
    if labels is not None:
        fields[DOUBLED] = Const(frozenset(label for label in labels if labels.count(label) > 1))
    return made


def make_series(rows: Size, node: ast.AST | None, index: Value | None = None, boxed: bool = True) -> LibraryObject:
    made = LibraryObject(SERIES, {}, (), {ROWS: number(rows), INDEX: index or number(any_size())}, node)
    return mark_boxed(made, boxed)


def inherit(made: LibraryObject, table: LibraryObject, *names: str) -> LibraryObject:
    """What is known of the table under these names is true of what was made of it."""
    for name in names:
        if name in table.fields:
            made.fields[name] = table.fields[name]
        else:
            made.fields.pop(name, None)
    return made


def with_rows_of(table: LibraryObject, columns: Size, node: ast.AST | None) -> LibraryObject:
    """A frame of the table's rows and of other columns."""
    return inherit(make_frame(any_size(), columns, node), table, *_OF_ROWS)


def with_columns_of(table: LibraryObject, rows: Size, node: ast.AST | None) -> LibraryObject:
    """A frame or series of the table's columns and of other rows."""
    if table.path == SERIES:
        return mark_boxed(make_series(rows, node), is_boxed(table))
    return inherit(make_frame(rows, any_size(), node), table, *_OF_COLUMNS)


def column_of(table: LibraryObject, name: str | None, node: ast.AST | None) -> LibraryObject:
    """One column of a frame, None for one whose name is not known."""
    column = inherit(make_series(any_size(), node, None, is_boxed(table, name)), table, *_OF_ROWS)
    if name is not None and _TEXTS.search(name):
        column.fields[NAMED_AS_TEXT] = Const(True)
    return column


def rows_of(table: LibraryObject) -> Size:
    found = size_of(table.fields.get(ROWS, UNKNOWN))
    return any_size() if found is None else found


def columns_of(table: LibraryObject) -> Size:
    found = size_of(table.fields.get(COLUMNS, UNKNOWN))
    return any_size() if found is None else found


def labels_of(table: LibraryObject) -> tuple[str, ...] | None:
    found = table.fields.get(NAMES)
    return found.value if isinstance(found, Const) and isinstance(found.value, tuple) else None


def is_one_column(table: LibraryObject, name: str) -> bool:
    """Whether the frame has no more than one column of that name (without any it is an error)."""
    labels, doubled = labels_of(table), names_in(table, DOUBLED)
    return doubled is not None and name not in doubled if labels is None else labels.count(name) <= 1


def names_in(table: LibraryObject, field: str) -> frozenset[str] | None:
    found = table.fields.get(field)
    return found.value if isinstance(found, Const) and isinstance(found.value, frozenset) else None


def is_set(table: LibraryObject, name: str) -> bool:
    found = table.fields.get(name)
    return isinstance(found, Const) and found.value is True


def is_boxed(table: LibraryObject, name: str | None = None) -> bool:
    """Whether the values of a series, or of that column of a frame, may be something else than numpy's array."""
    boxed = names_in(table, BOXED)
    if boxed is None:
        return True
    return bool(boxed) if name is None else name in boxed


def mark_boxed(table: LibraryObject, boxed: bool) -> LibraryObject:
    if boxed:
        table.fields.pop(BOXED, None)
    else:
        table.fields[BOXED] = Const(frozenset())
    return table


def same_axes(table: LibraryObject, node: ast.AST | None) -> LibraryObject:
    """What has the rows and columns of the table, and cells computed from its cells."""
    made = LibraryObject(table.path, {}, (), {}, node)
    names = (*_OF_ROWS, *_OF_COLUMNS, SIMPLE) if table.path == FRAME else (*_OF_ROWS, BOXED, SIMPLE)
    return inherit(made, table, *names)


def another(value: Value) -> Value:
    """What a function gives when it is called again: a table is another object, or the same."""
    if isinstance(value, LibraryObject) and is_table(value):
        return perhaps_same(same_axes(value, value.made), value)
    if isinstance(value, Sequence) and value.items is not None and any(map(is_table, value.items)):
        return Sequence(value.kind, [another(item) for item in value.items])
    return value


# -- changes in place ----------------------------------------------------------------------------------------------


def forget(interp: State, table: LibraryObject, *names: str) -> None:
    """The table has something else there from here on; nobody knows what."""
    for each in all_of(table):
        for name in names:
            # What nobody knows is one thing until the next change.
            each.fields[name] = number(any_size()) if name in (ROWS, COLUMNS, INDEX, NAMES) else UNKNOWN
            interp.mutations.append((each, name))
        each.arguments = {}


def forget_rows(interp: State, table: LibraryObject) -> None:
    forget(interp, table, *_OF_ROWS)


def forget_columns(interp: State, table: LibraryObject, distinct: bool = False) -> None:
    """The frame has other columns; `distinct` where no two of one name came to them."""
    if table.path == FRAME:
        forget(interp, table, COLUMNS, NAMES, *(() if distinct else (DOUBLED,)))


def note_kind(interp: State, table: LibraryObject, name: str | None, boxed: bool) -> None:
    """The column holds something else from here on: what is numpy's array, or what may not be; None for any column."""
    sure = not interp.perhaps_left and not table.parts
    for each in all_of(table):
        before = names_in(each, BOXED)
        if before is None or (not boxed and (name is None or name not in before or not sure)):
            continue
        if name is None:
            forget(interp, each, BOXED)
            continue
        if boxed and name in before:
            continue
        each.fields[BOXED] = Const(before | {name} if boxed else before - {name})
        interp.mutations.append((each, BOXED))


def renamed(made: LibraryObject, table: LibraryObject, names: dict[str, str] | None) -> None:
    """The frame has the table's columns, but for names that are others now; None where these are not known."""
    inherit(made, table, COLUMNS)
    labels = labels_of(table)
    _rename(made, table, names)
    if labels is not None and names is not None:
        new = tuple(names.get(label, label) for label in labels)
        inherit(made, make_frame(0, 0, None, Const(new)), NAMES, DOUBLED)


def rename_in_place(interp: State, table: LibraryObject, names: dict[str, str] | None) -> None:
    for each in all_of(table):
        _rename(each, each, names)
        interp.mutations += [(each, DOUBLED), (each, BOXED)]


def _rename(made: LibraryObject, table: LibraryObject, names: dict[str, str] | None) -> None:
    for field in (DOUBLED, BOXED):
        held = names_in(table, field)
        if held is None or names is None:
            made.fields[field] = Const(held) if field == BOXED and held == frozenset() else UNKNOWN
        else:
            # A column of the new name may have been there before.
            others = names.values() if field == DOUBLED else (new for name, new in names.items() if name in held)
            made.fields[field] = Const(held | frozenset(others))


def forget_table(interp: State, table: LibraryObject) -> None:
    """Code that nobody knows had the table in hand."""
    forget(interp, table, *_OF_ROWS, *_OF_COLUMNS, SIMPLE)


# -- cells ---------------------------------------------------------------------------------------------------------


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
        return is_set(value, SIMPLE)
    if isinstance(value, Tensor):
        return value.shape is not None and value.dtype is not None and value.dtype != OBJECT
    if isinstance(value, Sequence):
        return all(map(_is_cell, value.items if value.items is not None else [value.element]))
    if isinstance(value, Dictionary):
        return value.items is not None and all(map(is_simple, value.items.values()))
    return value is not None and _is_cell(value)


def _is_cell(value: Value) -> bool:
    return isinstance(value, Const) or kind_of(value) is not None


def gives_arrays(value: Value | None) -> bool:
    """Whether `values` of a column made of the value is certainly numpy's array."""
    if isinstance(value, LibraryObject):
        return is_table(value) and not is_boxed(value)
    if isinstance(value, Tensor):
        return value.dtype is not None
    if isinstance(value, Sequence):
        cells = value.items if value.items is not None else [value.element]
        return all(is_none(cell) or gives_arrays(cell) for cell in cells)
    if isinstance(value, Const):
        return isinstance(value.value, (bool, int, float))
    if isinstance(value, Range):
        return True
    return value is not None and kind_of(value) in ("bool", "int", "float")


def is_plain_type(value: Value | None) -> bool:
    """Whether a dtype that is given is one of numpy's own, of numbers."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return value.value in _PLAIN_TYPES
    if isinstance(value, Dictionary):
        return value.items is not None and all(map(is_plain_type, value.items.values()))
    if isinstance(value, Library):
        library, _, name = value.path.rpartition(".")
        return library in ("numpy", "builtins") and name in _PLAIN_TYPES
    return False


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
    """Arithmetic and comparisons of a series or frame with a number, a string, an array, or what has the same rows or columns."""
    for table, other in ((left, right), (right, left)):
        if not isinstance(table, LibraryObject) or not is_table(table):
            continue
        if isinstance(other, (Const, Number, Scalar)) or (isinstance(other, Opaque) and other.kind == PLAIN):
            return None if is_none(other) else same_axes(table, node)
        if isinstance(other, Tensor) and other.framework == "numpy" and other.shape is not None:
            # Of an array that has not the table's size, or one row or column of it, pandas raises an error.
            return mark_simple(same_axes(table, node), is_simple(table) and is_simple(other))
        if isinstance(other, LibraryObject) and other.path == SERIES:
            if table.path == SERIES:
                return _of_two(table, other, node)
            if _match(other, table, COLUMNS, NAMES):
                return _joined(same_axes(table, node), table, other)
    return None


def _of_two(left: LibraryObject, right: LibraryObject, node: ast.AST) -> LibraryObject:
    """Arithmetic goes by labels, not by places: of two that have others, it has the labels of either."""
    # A comparison refuses two that have not the same.
    if _match(left, right, ROWS, INDEX) or isinstance(node, ast.Compare):
        return _joined(same_axes(left, node), left, right)
    return _joined(make_series(any_size(), node), left, right)


def _match(series: LibraryObject, table: LibraryObject, size: str, labels: str) -> bool:
    """Whether the series certainly has the labels that the table has along an axis, in the same order."""
    length = rows_of(table) if size == ROWS else columns_of(table)
    return rows_of(series) == length and _same_labels(series.fields.get(INDEX), table.fields.get(labels))


def _same_labels(a: Value | None, b: Value | None) -> bool:
    if isinstance(a, Const) and isinstance(b, Const):
        return a.value is not None and a.value == b.value
    return isinstance(a, Number) and isinstance(b, Number) and a.size == b.size


def _joined(made: LibraryObject, left: LibraryObject, right: LibraryObject) -> LibraryObject:
    """The cells come from both."""
    if is_boxed(right):
        mark_boxed(made, boxed=True)
    elif made.path == SERIES:
        mark_boxed(made, is_boxed(left))
    mark_simple(made, is_simple(left) and is_simple(right))
    return made


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
        made = column_of(table, None, node)
    else:
        made = make_series(columns_of(table), node, table.fields.get(NAMES), is_boxed(table))
    return mark_simple(made, is_simple(table))
