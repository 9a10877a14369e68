"""The sentences about a broadcast: the same words as the static rules TSR111 and TSR112."""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any, NamedTuple

from pytest_tensorcheck.broadcasting.operations import Operation
from pytest_tensorcheck.broadcasting.verdict import Relation
from pytest_tensorcheck.call_source import line_at, operands
from pytest_tensorcheck.observations import Observation
from pytest_tensorcheck.shapes.sizes import Shape, broadcast_shapes, show
from pytest_tensorcheck.user_line import UserLine


class Maker(NamedTuple):
    """Who made an operand: the function's name as the user knows it, and the user's line."""

    function: str
    where: UserLine


def user_line_at(code: CodeType, lasti: int) -> UserLine:
    return UserLine(code.co_filename, line_at(code, lasti), code.co_qualname)


def noun(shape: Shape, other: Shape) -> str:
    """`row`, `column`, `vector`, or nothing for more axes."""
    if len(shape) == 1:
        return "vector "
    if len(shape) == 2 and shape[1] == 1:
        return "column "
    if len(shape) == 2 and shape[0] == 1:
        return "row "
    return ""


def _labels(code: CodeType, lasti: int, positions: tuple[int, int]) -> tuple[str | None, str | None]:
    """What the user calls the two operands in the source of the operation."""
    said = operands(code, lasti)
    if said is None:
        return None, None
    texts = [text if len(text) <= 40 and "\n" not in text else None for text in said[1]]
    function = said[0]
    if function[-1:].isalnum() and "." in function and len(texts) <= max(positions):
        texts.insert(0, function.rpartition(".")[0])  # a method: the object before the dot is the first operand
    return tuple(texts[at] if at < len(texts) else None for at in positions)  # type: ignore[return-value]


def broadcast_observation(
    operation: Operation,
    how: Relation,
    shapes: tuple[Shape, Shape],
    makers: tuple[Maker | None, Maker | None],
    positions: tuple[int, int],
    code: CodeType,
    lasti: int,
    *,
    numpy: bool = False,
    remedy: str | None = None,
) -> Observation:
    """An accidental broadcast, told. `positions` are the operands' places among the operation's arguments."""
    where = user_line_at(code, lasti)
    result = broadcast_shapes(shapes) or ()
    labels = _labels(code, lasti, positions)
    first, second = (f"{noun(shape, other)}{show(shape)}" for shape, other in (shapes, shapes[::-1]))
    message = f"{first} and {second} became {show(result)} in {operation.title}"
    rule = "TSR112" if operation.kind == "loss" else "TSR111"
    lines = [f"{where}: {message}"]
    if where.source:
        lines.append(f"    {where.source}")
    for label, shape, maker in zip(labels, shapes, makers, strict=True):
        if maker is not None:
            lines.append(f"  {label or 'operand'} {show(shape)} was made by {maker.function} at {maker.where}")
        elif label and remedy is None:
            lines.append(f"  {label} {show(shape)} was made before the guard was looking")
    lines.append(f"  {remedy or _remedy(how, shapes, labels, numpy)}  [{rule}]")
    facts: dict[str, Any] = {
        "rule": rule,
        "operation": operation.title,
        "shapes": [list(shape) for shape in shapes],
        "result": list(result),
        "operands": list(labels),
        "made_by": [None if each is None else {"function": each.function, "at": str(each.where)} for each in makers],
    }
    return Observation("broadcast", message, where, "\n".join(lines), 1, facts)


def axis_observation(
    operation: Operation,
    shapes: tuple[Shape, Shape],
    names: tuple[Any, Any],
    clash: tuple[int, str, str],
    makers: tuple[Maker | None, Maker | None],
    positions: tuple[int, int],
    code: CodeType,
    lasti: int,
) -> Observation:
    """Two named axes of one size that are not the same axis: the shapes fit and the arithmetic is wrong."""
    axis, first_name, second_name = clash
    where = user_line_at(code, lasti)
    labels = _labels(code, lasti, positions)
    spelled = [_named(each) for each in names]
    message = f"axis {axis} is {first_name} in {spelled[0]} and {second_name} in {spelled[1]} in {operation.title}"
    lines = [f"{where}: {message}"]
    if where.source:
        lines.append(f"    {where.source}")
    for label, shape, maker in zip(labels, shapes, makers, strict=True):
        if maker is not None:
            lines.append(f"  {label or 'operand'} {show(shape)} was made by {maker.function} at {maker.where}")
    lines.append(
        "  the sizes are equal here, so nothing fails; keep the reduced axis (keepdim=True) or put one in with "
        "unsqueeze or [:, None]  [TSR111]"
    )
    facts: dict[str, Any] = {
        "rule": "TSR111",
        "operation": operation.title,
        "shapes": [list(shape) for shape in shapes],
        "axes": [list(each) for each in names],
        "operands": list(labels),
    }
    return Observation("broadcast", message, where, "\n".join(lines), 1, facts)


def _named(names: tuple[str | None, ...]) -> str:
    words = [name or "_" for name in names]
    return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"


def _remedy(how: Relation, shapes: tuple[Shape, Shape], labels: tuple[str | None, str | None], numpy: bool) -> str:
    """What to write instead: drop the axis that should not be there, or say that every pair is meant."""
    if how == "rank":
        at = 0 if len(shapes[0]) > len(shapes[1]) else 1
        label = _atom(labels[at]) or "the longer one"
        shape = shapes[at]
        if len(shape) - len(shapes[1 - at]) == 1:
            axes = [axis for axis, size in enumerate(shape) if size == 1]
            axis = axes[-1] if axes else 0
            spelled = -1 if axis == len(shape) - 1 else axis
            return (
                f"squeeze it: {label}.squeeze({spelled}); if every pair is meant, "
                f"write {_atom(labels[1 - at]) or 'the other'}[{_nones(len(shape))}] or use allow_broadcast()"
            )
        return "give both the same axes; if every pair is meant, use allow_broadcast()"
    if how == "row-column":
        label = _atom(labels[0]) or "one of them"
        turn = f"{label}.reshape({_atom(labels[1]) or 'the other'}.shape)" if len(shapes[0]) > 2 else f"{label}.T"
        return f"turn one of them: {turn}; if every pair is meant, use [:, None] and [None, :] or allow_broadcast()"
    reshape = "reshape" if numpy else "unsqueeze"
    return f"if the table of all pairs is meant, say so with [:, None] and [None, :], {reshape}, or allow_broadcast()"


def _atom(label: str | None) -> str | None:
    """The label as something that can be followed by a dot."""
    if label is None:
        return None
    try:
        node = ast.parse(label, mode="eval").body
    except SyntaxError:
        return None
    return label if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({label})"


def _nones(rank: int) -> str:
    return "None, :" if rank == 2 else "None"
