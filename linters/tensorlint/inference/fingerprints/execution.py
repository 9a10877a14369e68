"""Whether the code of a file runs as `__main__`: there the library hashes functions by their code, elsewhere by name."""

from __future__ import annotations

import ast

from tensorlint.inference.fingerprints.scopes import Names

_OPENS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Execution:
    """What the module-level statements of a file reach, by the names they and the functions they call mention."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.guarded = any(self._is_guard(statement) for statement in names.tree.body)
        self._reached: set[str] | None = None

    @staticmethod
    def _is_guard(statement: ast.stmt) -> bool:
        return isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)

    def is_script(self, call: ast.Call) -> bool:
        """True if the file is run as a program as far as `call` can tell."""
        if self.guarded:
            return True
        outermost: ast.AST | None = None
        node: ast.AST = call
        while node in self._names.parents:
            node = self._names.parents[node]
            if isinstance(node, (*_OPENS, ast.Lambda)):
                outermost = node
        if outermost is None:
            return True
        return getattr(outermost, "name", "") in self.reached

    @property
    def reached(self) -> set[str]:
        if self._reached is None:
            functions: dict[str, list[ast.AST]] = {}
            for node in self._names.scope_of:
                if isinstance(node, _OPENS):
                    functions.setdefault(node.name, []).append(node)
            pending = [
                part
                for statement in self._names.tree.body
                if not isinstance(statement, (*_OPENS, ast.ClassDef, ast.Import, ast.ImportFrom))
                for part in ast.walk(statement)
                if isinstance(part, ast.Call)
            ]
            found: set[str] = set()
            names = {name for call in pending for name in self._mentioned(call.func)}
            while names:
                name = names.pop()
                if name in found:
                    continue
                found.add(name)
                for function in functions.get(name, ()):
                    names |= {other for part in ast.walk(function) for other in self._mentioned(part)} - found
            self._reached = found
        return self._reached

    @staticmethod
    def _mentioned(node: ast.AST) -> set[str]:
        if isinstance(node, ast.Name):
            return {node.id}
        return {node.attr} if isinstance(node, ast.Attribute) else set()
