"""Classes whose base is one of several: `try: import lightning.pytorch as pl` and another name for it where that fails.

Read off the source, for a base that the joined branches left unknown: it is a module's class if every binding is.
"""

from __future__ import annotations

import ast

from tensorlint.inference.module_sources import is_base
from tensorlint.inference.source_bindings import bindings, imports_all, is_none

# A name stands for a name, and that for another one: `Base = pl.LightningModule`.
_DEEPEST = 4


def is_module_whichever(tree: ast.Module, base: ast.expr, depth: int = _DEEPEST) -> bool:
    """Whether `base`, read at the module's top, is a class derived from nn.Module whichever binding of its name made it.

    None does not count: who derives from it, or reads an attribute of it, has it.
    """
    if isinstance(base, ast.IfExp):
        return is_module_whichever(tree, base.body, depth) and is_module_whichever(tree, base.orelse, depth)
    attributes = ""
    root = base
    while isinstance(root, ast.Attribute):
        attributes = f".{root.attr}{attributes}"
        root = root.value
    if not isinstance(root, ast.Name) or not depth or imports_all(tree):
        return False
    found = [(target, value) for target, value, _ in bindings(tree, root.id) if value is None or not is_none(value)]
    return bool(found) and all(
        _is_module(tree, root.id, attributes, target, value, depth - 1) for target, value in found
    )


def _is_module(
    tree: ast.Module, name: str, attributes: str, target: ast.AST | None, value: ast.expr | None, depth: int
) -> bool:
    if isinstance(target, (ast.Import, ast.ImportFrom)):
        return is_base(_imported(target, name) + attributes)
    if isinstance(target, ast.ClassDef):
        return not attributes and any(is_module_whichever(tree, each, depth) for each in target.bases)
    return (
        isinstance(target, ast.Name)
        and value is not None
        and not attributes
        and is_module_whichever(tree, value, depth)
    )


def _imported(node: ast.Import | ast.ImportFrom, name: str) -> str:
    """The dotted path that `name` stands for behind the import; empty for one within the project."""
    for each in node.names:
        if (each.asname or each.name.partition(".")[0]) == name:
            if isinstance(node, ast.Import):
                return each.name if each.asname else name
            return "" if node.level else f"{node.module}.{each.name}"
    return ""
