"""The user's own words and places: the text of an expression, and the lines of evidence that point at one."""

from __future__ import annotations

import ast

from tensorlint.findings import Evidence
from tensorlint.inference.frames import Frame
from tensorlint.inference.sizes import show_shape
from tensorlint.inference.state import State
from tensorlint.inference.values import Instance, LibraryObject, Sequence, Tensor, Value

CALLED = "called here"
_PRIMARY = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


class SourceText(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def text_of(self, node: ast.AST | None, limit: int = 60) -> str:
        """The source of an expression of this file, or of the one that is looked at, on one line."""
        if node is None or not hasattr(node, "lineno"):
            return "the value"
        lines, here = self.lines, self.called_from_here
        if here is not None and not self.is_of_own_tree(node):
            lines = here.lines
        line, end = node.lineno - 1, (node.end_lineno or node.lineno) - 1  # type: ignore[attr-defined]
        if end >= len(lines):
            return "the value"
        start, stop = node.col_offset, node.end_col_offset or 0  # type: ignore[attr-defined]
        if line == end:
            text = lines[line].encode()[start:stop].decode(errors="replace")
        else:
            parts = [lines[line].encode()[start:].decode(errors="replace"), *lines[line + 1 : end],
                     lines[end].encode()[:stop].decode(errors="replace")]  # fmt: skip
            text = " ".join(part.strip() for part in parts)
        return text if len(text) <= limit else text[: limit - 1] + "…"

    def behind(self, node: ast.AST | None, suffix: str) -> str:
        """The expression with a method or an index behind it, as code or, where it is too long for that, in words."""
        listed = isinstance(node, (ast.List, ast.Tuple, ast.ListComp)) or isinstance(self.peek(node), Sequence)
        text = self.whole_text(node, alone=listed)
        if listed:
            text = f"np.array({text if text is not None else '…'})"
        return f"{suffix} behind it" if text is None else text + suffix

    def whole_text(self, node: ast.AST | None, limit: int = 40, *, alone: bool = False) -> str | None:
        """The source of an expression as a reader may paste it, with a method or an index behind it unless `alone`; None
        where it is too long for that, stands in another file, or what stands there is not it (a comment between its lines)."""
        if self.called_from_here is not None and node is not None and not self.is_of_own_tree(node):
            return None
        text = self.text_of(node, limit)
        try:
            parsed = ast.parse(text, mode="eval").body
            if node is None or ast.unparse(parsed) != ast.unparse(node):
                return None
        except (SyntaxError, ValueError, RecursionError):
            return None
        return text if alone or isinstance(parsed, _PRIMARY) else f"({text})"

    def peek(self, node: ast.AST | None) -> Value | None:
        """What a name, or a field of one, holds now; nothing is evaluated."""
        if isinstance(node, ast.Name):
            here = self.called_from_here
            frame: Frame | None = self.frame if here is None or not self.is_of_own_tree(node) else here.caller
            while frame is not None:
                if node.id in frame.env and not (frame.is_class and frame is not self.frame):
                    return frame.env[node.id]
                frame = frame.parent
        elif isinstance(node, ast.Attribute):
            owner = self.peek(node.value)
            if isinstance(owner, (Instance, LibraryObject)):
                return owner.fields.get(node.attr)
        return None

    def evidence_at(self, node: ast.AST | None, message: str) -> Evidence | None:
        line = getattr(node, "lineno", None)
        if line is None or (self.called_from_here is not None and not self.is_of_own_tree(node)):
            return None
        return Evidence(line, getattr(node, "col_offset", 0) + 1, message)

    def made_evidence(self, name: str, tensor: Tensor, node: ast.AST | None = None) -> Evidence | None:
        """Where the operand, whose expression `node` is, was made; where it is made in that expression, what it is made of."""
        if tensor.made is None or not self.is_own(tensor.made):
            return None
        if isinstance(tensor.made, ast.Call) and node in tensor.made.args:
            return None  # a list that a function took for an array: `np.transpose([1, 2])`
        text = self.text_of(tensor.made, 40)
        how = tensor.how or text
        if (text == name or tensor.made is node) and how.partition("(")[0] == name.partition("(")[0]:
            return self.origin_evidence(node)
        return self.evidence_at(tensor.made, f"{name} was made {show_shape(tensor.shape)} by {how}")

    def origin_evidence(self, node: ast.AST | None) -> Evidence | None:
        """Where the array was made that the expression takes a part of or calls a method of: `x` in `x[k]`."""
        while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
            node = node.func if isinstance(node, ast.Call) else node.value
            value, name = self.peek(node), self.text_of(node, 40)
            if isinstance(value, Tensor) and value.shape is not None:
                return self.made_evidence(name, value)
            if isinstance(value, LibraryObject) and value.path.startswith("torch.nn.") and value.made is not None:
                return self.evidence_at(value.made, f"{name} was made here") if self.is_own(value.made) else None
        return None

    def is_own(self, node: ast.AST) -> bool:
        """Evidence lines are those of this file; a tensor made in another file has none here."""
        if self.called_from_here is not None:
            return self.is_of_own_tree(node)
        return self.file is self.own_file or not self.trail

    def called_from(self) -> list[Evidence]:
        """The calls that led here, from the outermost."""
        calls = self.trail if self.called_from_here is None else self.called_from_here.calls
        found = [self.evidence_at(node, f"{CALLED}: {self.text_of(node, 50)}") for node in calls if node is not None]
        return [evidence for evidence in found if evidence is not None]


# Parameters that functions of several operands call these.
_OPERANDS = ("input", "target", "other", "mask", "a_min", "a_max", "min", "max", "loc", "scale")


def _is_none(node: ast.expr) -> bool:
    """A bound that is left out: `np.clip(x, None, most)`."""
    return isinstance(node, ast.Constant) and node.value is None


def operand_nodes(node: ast.AST, at: tuple[int, int] = (0, 1)) -> tuple[ast.expr | None, ast.expr | None]:
    """The two operands of an operator, a comparison or a call; `at` are their places among a call's arguments."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.Compare):
        return node.left, node.comparators[0]
    if isinstance(node, ast.AugAssign):
        return node.target, node.value
    if isinstance(node, ast.Call):
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        args = [arg for arg in node.args if not isinstance(arg, ast.Starred) and not _is_none(arg)] + [
            named[name] for name in _OPERANDS if name in named
        ]
        if at[0] < 0:  # the receiver of a method
            other = args[at[1]] if at[1] < len(args) else None
            return (node.func.value, other) if isinstance(node.func, ast.Attribute) else (None, None)
        if len(args) > max(at):
            return args[at[0]], args[at[1]]
        if len(args) == 1 and isinstance(node.func, ast.Attribute):
            return node.func.value, args[0]
    return None, None


def receiver_node(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Attribute):
        return node.value
    if isinstance(node, ast.Call):
        if node.args:
            return node.args[0]
        if isinstance(node.func, ast.Attribute):
            return node.func.value
    return None
