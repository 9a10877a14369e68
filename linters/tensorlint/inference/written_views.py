"""What is only written into a view: `x.view(-1)[0] = 1` changes x, and `x.reshape(-1)[0] = 1` a copy, where it has to make one."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tensorlint.inference.walking import walk

# What shares the memory of its receiver, beside what changes it in place and gives it back.
_SHARING = frozenset([
    "view", "view_as", "reshape", "transpose", "t", "permute", "squeeze", "unsqueeze", "narrow", "select", "expand",
    "detach", "flatten", "unflatten", "diagonal", "movedim", "swapaxes", "unfold", "numpy",
])  # fmt: skip


def written_at(view: ast.AST, scope: ast.AST) -> ast.AST | None:
    """Where the scope writes into what the call gives, if nothing there reads it: directly, or by a name for it or for a part
    of it that is used for nothing else."""
    nodes = list(walk(scope))
    writes = [(node, base) for node in nodes for written in _written(node) for base in [_base(written, view)]]
    directly = next((node for node, base in writes if base is view), None)
    if directly is not None:
        return directly
    names: set[str] = set()
    for node in nodes:  # in the order of the lines, but for functions within
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            base = _base(node.value, view)
            if base is view or (isinstance(base, ast.Name) and base.id in names):
                names.add(node.targets[0].id)
                writes.append((node, base))
    known = {base for _, base in writes}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load) and node not in known:
            return None
    return next((node for node, base in writes if isinstance(base, ast.Name) and base.id in names), None)


def _written(node: ast.AST) -> Iterable[ast.expr]:
    """What the statement writes into."""
    match node:
        case ast.Assign(targets=targets):
            return [each for each in targets if isinstance(each, ast.Subscript)]
        case ast.AugAssign(target=target):
            return [target]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=receiver, attr=name)) as call):
            # A method, or a function: `nn.init.zeros_(x)`.
            written = [receiver, *call.args[:1]] if _is_in_place(name) else []
            return written + [each.value for each in call.keywords if each.arg == "out"]
    return ()


def _base(node: ast.expr, view: ast.AST) -> ast.expr:
    """The view, or the name, of which the expression is a part or another form."""
    while node is not view:
        match node:
            case ast.Subscript(value=base) | ast.Attribute(value=base, attr="data" | "T" | "mT" | "real" | "imag"):
                node = base
            case ast.Call(func=ast.Attribute(value=base, attr=name)) if name in _SHARING or _is_in_place(name):
                node = base
            case _:
                break
    return node


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")
