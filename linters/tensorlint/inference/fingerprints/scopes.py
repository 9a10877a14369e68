"""Names: which scope binds each name, where, and which names a function takes from outside itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.ExceptHandler, ast.Match, ast.IfExp)


@dataclass(slots=True, eq=False, repr=False)
class Binding:
    """One place that gives a name its value.

    `how` is assign, parameter, import, def, class, item (an element of iterating or unpacking `value`), augmented or
    unknown. `index` is the position in an unpacked tuple. `imported` is the dotted origin of an import.
    """

    name: str
    how: str
    node: ast.AST
    value: ast.expr | None = None
    index: int | None = None
    imported: str = ""
    annotation: ast.expr | None = None
    conditional: bool = False
    iterated: bool = False

    @property
    def place(self) -> tuple[int, int]:
        return (getattr(self.node, "lineno", 0), getattr(self.node, "col_offset", 0))


@dataclass(slots=True, eq=False, repr=False)
class Scope:
    """A module, class, function, lambda or comprehension and the names it binds."""

    node: ast.AST
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    outer: dict[str, str] = field(default_factory=dict)  # name -> global or nonlocal

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_module(self) -> bool:
        return isinstance(self.node, ast.Module)

    def chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


class Names:
    """The scopes, parents and loads of one file, built in one walk."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.parents: dict[ast.AST, ast.AST] = {}
        self.scope_of: dict[ast.AST, Scope] = {}  # node that opens a scope -> its scope
        self.scope_at: dict[ast.AST, Scope] = {}  # every expression and statement -> the scope it is evaluated in
        self.calls: list[ast.Call] = []
        self.module = self._open(tree, None)
        for child in tree.body:
            self._visit(child, tree, self.module, False)

    def is_conditional(self, node: ast.AST) -> bool:
        """Whether the node runs only in a branch, a loop or a handler of the function or module it is in."""
        while node in self.parents and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            node = self.parents[node]
            if isinstance(node, _BRANCHES):
                return True
        return False

    # Building

    def _open(self, node: ast.AST, parent: Scope | None) -> Scope:
        scope = Scope(node, parent)
        self.scope_of[node] = scope
        return scope

    def _bind(self, scope: Scope, binding: Binding) -> None:
        target = scope
        kept = scope.outer.get(binding.name)
        if kept == "global":
            target = self.module
        elif kept == "nonlocal":
            target = next((s for s in scope.chain() if s is not scope and binding.name in s.bindings), scope)
        target.bindings.setdefault(binding.name, []).append(binding)

    def _visit(self, node: ast.AST, parent: ast.AST, scope: Scope, conditional: bool) -> None:
        self.parents[node] = parent
        self.scope_at[node] = scope
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            self._visit_function(node, scope, conditional)
            return
        if isinstance(node, ast.ClassDef):
            self._bind(scope, Binding(node.name, "class", node, conditional=conditional))
            for outside in (*node.decorator_list, *node.bases, *node.keywords):
                self._visit(outside, node, scope, conditional)
            inner = self._open(node, scope)
            for statement in node.body:
                self._visit(statement, node, inner, False)
            return
        if isinstance(node, _COMPREHENSIONS):
            inner = self._open(node, scope)
            for child in ast.iter_child_nodes(node):
                self._visit(child, node, inner, conditional)
            return
        self._note(node, scope, conditional)
        inside = conditional or isinstance(node, _BRANCHES)
        for child in ast.iter_child_nodes(node):
            self._visit(child, node, scope, inside)

    def _visit_function(self, node: FunctionNode, scope: Scope, conditional: bool) -> None:
        if not isinstance(node, ast.Lambda):
            self._bind(scope, Binding(node.name, "def", node, conditional=conditional))
        inner = self._open(node, scope)
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults: dict[str, ast.expr] = {}
        for argument, default in zip(reversed(positional), reversed(arguments.defaults), strict=False):
            defaults[argument.arg] = default
        for argument, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if given is not None:
                defaults[argument.arg] = given
        for argument in [*positional, *arguments.kwonlyargs]:
            self._bind(
                inner,
                Binding(
                    argument.arg,
                    "parameter",
                    argument,
                    value=defaults.get(argument.arg),
                    annotation=argument.annotation,
                ),
            )
        for variadic in (arguments.vararg, arguments.kwarg):
            if variadic is not None:
                self._bind(inner, Binding(variadic.arg, "unknown", variadic))
        for default in defaults.values():
            self._visit(default, node, scope, conditional)
        if isinstance(node, ast.Lambda):
            self._visit(node.body, node, inner, False)
            return
        for decorator in node.decorator_list:
            self._visit(decorator, node, scope, conditional)
        for statement in node.body:
            self._visit(statement, node, inner, False)

    def _note(self, node: ast.AST, scope: Scope, conditional: bool) -> None:
        if isinstance(node, ast.Call):
            self.calls.append(node)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            kind = "global" if isinstance(node, ast.Global) else "nonlocal"
            scope.outer.update(dict.fromkeys(node.names, kind))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind_target(target, node.value, node, scope, conditional)
        elif isinstance(node, ast.AnnAssign):
            if isinstance(node.target, ast.Name):
                how = "assign" if node.value is not None else "unknown"
                self._bind(
                    scope,
                    Binding(node.target.id, how, node, node.value, annotation=node.annotation, conditional=conditional),
                )
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._bind(scope, Binding(node.target.id, "augmented", node, node.value, conditional=conditional))
        elif isinstance(node, ast.NamedExpr):
            self._bind_target(node.target, node.value, node, scope, conditional)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            self._bind_target(node.target, node.iter, node.target, scope, True, iterated=True)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._bind_target(node.optional_vars, node.context_expr, node.context_expr, scope, conditional)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._bind_import(node, scope, conditional)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self._bind(scope, Binding(node.name, "unknown", node, conditional=True))

    def _bind_target(
        self,
        target: ast.expr,
        value: ast.expr,
        node: ast.AST,
        scope: Scope,
        conditional: bool,
        index: int | None = None,
        iterated: bool = False,
    ) -> None:
        if isinstance(target, ast.Name):
            how = "item" if iterated or index is not None else "assign"
            self._bind(
                scope,
                Binding(target.id, how, node, value, index=index, conditional=conditional, iterated=iterated),
            )
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, element in enumerate(target.elts):
                same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
                if same and not iterated and isinstance(value, (ast.Tuple, ast.List)):
                    self._bind_target(element, value.elts[position], node, scope, conditional)
                else:
                    self._bind_target(element, value, node, scope, conditional, position, iterated)
        elif isinstance(target, ast.Starred):
            self._bind_target(target.value, value, node, scope, conditional, -1, iterated)

    def _bind_import(self, node: ast.Import | ast.ImportFrom, scope: Scope, conditional: bool) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                name = alias.asname or alias.name.split(".")[0]
                origin = alias.name if alias.asname else name
            else:
                name = alias.asname or alias.name
                origin = "." * node.level + (node.module or "") + "." + alias.name
            self._bind(scope, Binding(name, "import", node, imported=origin, conditional=conditional))

    # Asking

    def resolve(self, name: str, scope: Scope) -> Scope | None:
        """The scope whose binding `name` means inside `scope`; None for a builtin or an undefined name."""
        for candidate in scope.chain():
            if candidate.is_class and candidate is not scope:
                continue
            if candidate.outer.get(name) == "global":
                return self.module if name in self.module.bindings else None
            if name in candidate.bindings:
                return candidate
        return None

    def enclosing(self, node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> ast.AST | None:
        current = self.parents.get(node)
        while current is not None and not isinstance(current, kinds):
            current = self.parents.get(current)
        return current

    def enclosing_function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        found = self.enclosing(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        return found if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)) else None

    def method_class(self, function: ast.AST) -> ast.ClassDef | None:
        """The class a function is written in, when it is a method."""
        parent = self.parents.get(function)
        while isinstance(parent, (ast.If, ast.Try, ast.With)):
            parent = self.parents.get(parent)
        return parent if isinstance(parent, ast.ClassDef) else None

    def captured(self, function: FunctionNode) -> dict[str, list[ast.Name]]:
        """Names the function's body reads that are bound outside it, with the places that read them."""
        own = self.scope_of[function]
        found: dict[str, list[ast.Name]] = {}
        body: list[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else list(function.body)
        for root in body:
            for node in ast.walk(root):
                if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or node not in self.scope_at:
                    continue
                where = self.resolve(node.id, self.scope_at[node])
                if where is not None and own not in where.chain():
                    found.setdefault(node.id, []).append(node)
        return found
