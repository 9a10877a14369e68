"""How many modules real packages have, and how often they call them: what `mypy_plugin.py overhead --dense` is modelled on.

usage: module_call_density.py FOLDER [FOLDER ...]

Read off the source. A module is a class with a `forward` method; a call of one is `self.name(...)` or `self.name[i](...)`
in such a class, where its methods assign `self.name` and it has no method of that name, and `layer(...)` in a loop over
`self.name`. Printed are lines, modules and calls of each folder, and of those files only that have a module.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _own(node: ast.expr, first: str) -> str | None:
    """`name` of `self.name` and `self.name[i]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == first:
        return node.attr
    return None


def calls_of(cls: ast.ClassDef) -> int:
    """Calls of modules in the methods of a class."""
    methods = [each for each in cls.body if isinstance(each, FUNCTIONS)]
    names = {each.name for each in methods}
    parts = [(method.args.args[0].arg, node) for method in methods if method.args.args for node in ast.walk(method)]
    held = {
        name
        for first, node in parts
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if (name := _own(target, first)) is not None
        and name not in names
        and isinstance(node.value, ast.Call | ast.IfExp)
    }
    members = {
        part.id
        for first, node in parts
        if isinstance(node, (ast.For, ast.comprehension))
        and any(_own(each, first) in held for each in ast.walk(node.iter) if isinstance(each, ast.expr))
        for part in ast.walk(node.target)
        if isinstance(part, ast.Name)
    }
    found = 0
    for first, node in parts:
        if isinstance(node, ast.Call):
            found += _own(node.func, first) in held or (isinstance(node.func, ast.Name) and node.func.id in members)
    return found


def count(folder: Path) -> tuple[int, int, int, int]:
    """Lines, lines of the files that have a module, modules and calls of modules."""
    lines = with_modules = modules = calls = 0
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        length = text.count("\n")
        lines += length
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        classes = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
            and any(isinstance(each, FUNCTIONS) and each.name == "forward" for each in node.body)
        ]
        with_modules += length if classes else 0
        modules += len(classes)
        calls += sum(calls_of(cls) for cls in classes)
    return lines, with_modules, modules, calls


def main() -> None:
    print(
        "| package | lines | in files with a module | modules | calls | calls per module | lines per module | calls per 1,000 lines |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    total = [0, 0, 0, 0]
    for argument in [*sys.argv[1:], None]:
        if argument is None:
            name, row = "all", total
        else:
            name, row = Path(argument).name, list(count(Path(argument)))
            total = [a + b for a, b in zip(total, row, strict=True)]
        lines, near, modules, calls = row
        print(
            f"| {name} | {lines:,} | {near:,} | {modules:,} | {calls:,} | {calls / modules:.1f} | {near / modules:.0f} "
            f"| {1000 * calls / near:.0f} |"
        )


if __name__ == "__main__":
    main()
