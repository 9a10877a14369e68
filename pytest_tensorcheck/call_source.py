"""What an instruction says in the source: the operands of an operator, the arguments of a call, as the user wrote them.

Read from the positions that CPython keeps for every instruction, and only when a message is made. Anything that
cannot be found (no source on disk, a changed file) is None, never an error.
"""

from __future__ import annotations

import ast
import linecache
from itertools import islice
from types import CodeType

_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def line_at(code: CodeType, lasti: int) -> int:
    """The line of the instruction at `lasti`, as `frame.f_lineno` would say."""
    position = next(islice(code.co_positions(), lasti // 2, None), None)
    line = position[0] if position is not None else None
    return line if line is not None else code.co_firstlineno


def line_span_at(code: CodeType, lasti: int) -> tuple[int, int]:
    """The first and the last line of the instruction's expression."""
    position = next(islice(code.co_positions(), lasti // 2, None), None)
    if position is None or position[0] is None:
        return code.co_firstlineno, code.co_firstlineno
    return position[0], position[1] or position[0]


def expression_at(code: CodeType, lasti: int) -> ast.expr | None:
    """The expression of the instruction at `lasti`, parsed; its nodes' positions are within its own text."""
    text = source_at(code, lasti)
    if text is None:
        return None
    try:
        return ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def _augmented_at(code: CodeType, lasti: int) -> ast.AugAssign | None:
    """`a -= b`, whose instruction stands for the whole statement."""
    text = source_at(code, lasti)
    try:
        body = ast.parse(text or "").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    return body[0] if len(body) == 1 and isinstance(body[0], ast.AugAssign) else None


def source_at(code: CodeType, lasti: int) -> str | None:
    """The source text of the instruction at `lasti`."""
    if lasti < 0:
        return None
    position = next(islice(code.co_positions(), lasti // 2, None), None)
    if position is None:
        return None
    line, end_line, column, end_column = position
    if line is None or end_line is None or column is None or end_column is None:
        return None
    lines = [linecache.getline(code.co_filename, number).encode() for number in range(line, end_line + 1)]
    if not all(lines):
        return None
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    return b"".join(lines).decode(errors="replace")


def rebinds(filename: str, line: int) -> bool:
    """Whether the line gives a name a new shape of itself: `y = y.unsqueeze(1)`, `self.y = self.y[:, None].float()`."""
    try:
        body = ast.parse(linecache.getline(filename, line).strip()).body
    except (SyntaxError, ValueError):
        return False
    if len(body) != 1 or not isinstance(body[0], ast.Assign):
        return False
    value: ast.expr = body[0].value
    while isinstance(value, (ast.Call, ast.Attribute, ast.Subscript)):
        inner = value.func if isinstance(value, ast.Call) else value.value
        if ast.unparse(inner) in {ast.unparse(target) for target in body[0].targets}:
            return True
        value = inner
    return False


def call_arguments(code: CodeType, lasti: int) -> list[str] | None:
    """The positional arguments of the call at `lasti`, as source text; None if any is starred or it is no call."""
    node = expression_at(code, lasti)
    if not isinstance(node, ast.Call) or any(isinstance(each, ast.Starred) for each in node.args):
        return None
    return [ast.unparse(each) for each in node.args]


def operands(code: CodeType, lasti: int) -> tuple[str, list[str]] | None:
    """The operator and its operands' source: `("-", ["pred", "target"])`, `("torch.eq", ["a", "b"])`.

    For a method call the object before the dot is the first operand.
    """
    node = expression_at(code, lasti)
    if isinstance(node, ast.BinOp):
        return _SYMBOLS[type(node.op)], [ast.unparse(node.left), ast.unparse(node.right)]
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _SYMBOLS.get(type(node.ops[0]), "?"), [ast.unparse(node.left), ast.unparse(node.comparators[0])]
    if node is None and (augmented := _augmented_at(code, lasti)) is not None:
        return _SYMBOLS[type(augmented.op)] + "=", [ast.unparse(augmented.target), ast.unparse(augmented.value)]
    if isinstance(node, ast.Call) and not any(isinstance(each, ast.Starred) for each in node.args):
        arguments = [ast.unparse(each) for each in node.args]
        arguments += [ast.unparse(each.value) for each in node.keywords if each.arg is not None]
        return ast.unparse(node.func), arguments
    return None
