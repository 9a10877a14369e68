"""What each kind of statement does to the names, and where control flow goes."""

from __future__ import annotations

import ast

from tensorlint.inference import refinement
from tensorlint.inference.frames import Environment, merge
from tensorlint.inference.names import bound_names
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    NONE,
    UNKNOWN,
    Class,
    Dictionary,
    Function,
    Instance,
    Opaque,
    Sequence,
    Tensor,
    Value,
    copy,
)


class Statements(State):
    """Mixed into the interpreter: `block` and what it dispatches to."""

    def block(self, body: list[ast.stmt]) -> None:
        frame = self.frame
        handlers = self.handlers
        for statement in body:
            if frame.dead:
                return
            self.steps += 1
            handler = handlers.get(type(statement))
            if handler is not None:
                handler(statement)

    # -- simple statements ---------------------------------------------------------------------------------------

    def exec_expression(self, node: ast.Expr) -> None:
        self.eval(node.value)

    def exec_assign(self, node: ast.Assign) -> None:
        value = self.eval(node.value)
        alias = isinstance(node.value, (ast.Name, ast.Attribute, ast.Subscript))
        if isinstance(value, (Sequence, Dictionary)) and (alias or len(node.targets) > 1):
            value.shared = True
        for target in node.targets:
            self.assign(target, value, node.value)

    def exec_annotated(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            if isinstance(node.target, ast.Name):
                declared = self.annotation(node.annotation)
                if declared is not None and node.target.id not in self.frame.env and self.frame.is_class:
                    self.frame.env[node.target.id] = declared
            return
        value = self.eval(node.value)
        declared = self.annotation(node.annotation)
        if declared is not None:
            value = refinement.meet(value, declared)
        self.assign(node.target, value, node.value)

    def exec_augmented(self, node: ast.AugAssign) -> None:
        sign = self.operator_sign(node.op)
        target = node.target
        if isinstance(target, ast.Name):
            left = self.eval_name(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            right = self.eval(node.value)
            result = self.in_place(sign, left, right, node)
            self.assign(target, result, None)
        elif isinstance(target, ast.Attribute):
            receiver = self.eval(target.value)
            left = self.attribute_of(receiver, target.attr, target)
            result = self.in_place(sign, left, self.eval(node.value), node)
            self.store_attribute(receiver, target.attr, result)
        elif isinstance(target, ast.Subscript):
            receiver = self.eval(target.value)
            index = self.eval(target.slice)
            left = self.item(receiver, index, target)
            right = self.eval(node.value)
            self.in_place(sign, left, right, node)
            if not isinstance(receiver, Tensor):
                self.store_item(receiver, index, UNKNOWN)

    def in_place(self, sign: str, left: Value, right: Value, node: ast.AugAssign) -> Value:
        if isinstance(left, Tensor) and left.shape is not None:
            # `x += y` writes into x: its shape, layout and dtype stay (an operand that does not fit raises).
            result = self.tensor_operation(sign, left, right, node)
            if left.framework is None or (left.shape == () and left.framework == "numpy"):
                return result
            return copy(left, marks=left.marks - {"reduction", "transposed"}, source=None, reduced=None)
        if isinstance(left, Sequence) and left.kind == "list":
            if sign == "+" and not left.shared and isinstance(right, Sequence):
                result = self.sequence_operation(sign, left, Sequence("list", right.items, right.element, right.length))
                return result if isinstance(result, Sequence) else Sequence("list")
            left.items, left.element, left.length = None, UNKNOWN, None
            return Sequence("list", shared=True)
        return self.binary(sign, left, right, node)

    def exec_return(self, node: ast.Return) -> None:
        value = NONE if node.value is None else self.eval(node.value)
        self.frame.returns.append(value)
        self.frame.dead = True

    def exec_raise(self, node: ast.Raise) -> None:
        if node.exc is not None:
            self.eval(node.exc)
        self.frame.dead = True

    def exec_assert(self, node: ast.Assert) -> None:
        truth = self.truth(self.eval(node.test))
        if truth is False:
            self.frame.dead = True
            return
        refinement.assume(self, node.test, True)

    def exec_delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.frame.env.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                value = self.eval(target.value)
                if isinstance(value, (Sequence, Dictionary)):
                    self.forget_contents(value)

    def exec_global(self, node: ast.Global | ast.Nonlocal) -> None:
        for name in node.names:
            self.frame.env[name] = UNKNOWN

    def exec_break(self, node: ast.Break) -> None:
        self.frame.breaks.append(self.frame.env)
        self.frame.dead = True

    def exec_continue(self, node: ast.Continue) -> None:
        self.frame.continues.append(self.frame.env)
        self.frame.dead = True

    # -- branches ------------------------------------------------------------------------------------------------

    def exec_if(self, node: ast.If) -> None:
        test = self.eval(node.test)
        truth = self.truth(test)
        if truth is not None:
            if truth:
                refinement.assume(self, node.test, True)
            else:
                refinement.assume(self, node.test, False)
            self.block(node.body if truth else node.orelse)
            return
        frame = self.frame
        before = frame.env
        self.conditional += 1
        frame.env = dict(before)
        refinement.assume(self, node.test, True)
        self.block(node.body)
        first, first_dead = frame.env, frame.dead
        frame.env, frame.dead = dict(before), False
        refinement.assume(self, node.test, False)
        if node.orelse:
            self.block(node.orelse)
        self.conditional -= 1
        if first_dead:
            return
        if frame.dead:
            frame.env, frame.dead = first, False
            return
        frame.env = merge(first, frame.env)

    def exec_try(self, node: ast.Try) -> None:
        frame = self.frame
        before = dict(frame.env)
        self.conditional += 1
        self.block(node.body)
        after, dead = frame.env, frame.dead
        # A handler may be entered from anywhere in the body: what the body binds is known only if nothing changed it.
        entry = merge(before, after)
        if node.handlers:
            touched = bound_names(node.body)
            for name in touched:
                if name in before and before[name] is not entry.get(name):
                    entry[name] = UNKNOWN
        if not dead and node.orelse:
            self.block(node.orelse)
            after, dead = frame.env, frame.dead
        exits: list[Environment] = [] if dead else [after]
        for handler in node.handlers:
            frame.env, frame.dead = dict(entry), False
            if handler.name:
                frame.env[handler.name] = UNKNOWN
            self.block(handler.body)
            if not frame.dead:
                exits.append(frame.env)
        self.conditional -= 1
        if exits:
            frame.dead = False
            result = exits[0]
            for other in exits[1:]:
                result = merge(result, other)
            frame.env = dict(result)
        else:
            frame.dead = True
            frame.env = dict(entry)
        if node.finalbody:
            was_dead = frame.dead
            frame.dead = False
            self.block(node.finalbody)
            frame.dead = frame.dead or was_dead

    def exec_with(self, node: ast.With | ast.AsyncWith) -> None:
        suppresses = False
        for item in node.items:
            value = self.eval(item.context_expr)
            if isinstance(value, (Class, Instance, Opaque)) or value is UNKNOWN:
                suppresses = suppresses or _may_suppress(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, self.entered(value), None)
        before = dict(self.frame.env) if suppresses else None
        self.block(node.body)
        if before is not None:
            self.frame.env = merge(before, self.frame.env)
            self.frame.dead = False

    def entered(self, value: Value) -> Value:
        """What `with value as x` binds."""
        if isinstance(value, Instance) and "__enter__" in value.cls.methods:
            return self.call_method(value, "__enter__", [], {}, None)
        return UNKNOWN

    def exec_match(self, node: ast.Match) -> None:
        subject = self.eval(node.subject)
        frame = self.frame
        before = frame.env
        exits: list[Environment] = []
        self.conditional += 1
        for case in node.cases:
            frame.env, frame.dead = dict(before), False
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    whole = part is case.pattern and isinstance(part, ast.MatchAs) and part.pattern is None
                    frame.env[name] = subject if whole else UNKNOWN
            if case.guard is not None:
                self.eval(case.guard)
            self.block(case.body)
            if not frame.dead:
                exits.append(frame.env)
        self.conditional -= 1
        frame.dead = False
        exits.append(before)
        result = exits[0]
        for other in exits[1:]:
            result = merge(result, other)
        frame.env = dict(result)

    # -- definitions ---------------------------------------------------------------------------------------------

    def exec_import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self.frame.env[alias.asname] = self.import_module(alias.name, 0)
            else:
                root = alias.name.partition(".")[0]
                self.frame.env[root] = self.import_module(root, 0)

    def exec_import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.import_star(node.module or "", node.level)
            else:
                self.frame.env[alias.asname or alias.name] = self.import_name(node.module or "", alias.name, node.level)

    def exec_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function: Value = Function(node, self.frame, owner=self.frame.owner if self.frame.is_class else None)
        assert isinstance(function, Function)
        function.defaults = self.defaults_of(node.args)
        self.frames.append(self.frame)
        self.decorate(function)
        self.frame.env[node.name] = function
        if self.frame.record:
            self.pending.append(function)

    def exec_class(self, node: ast.ClassDef) -> None:
        self.frame.env[node.name] = self.define_class(node)


def _may_suppress(node: ast.expr) -> bool:
    text = ast.unparse(node) if isinstance(node, ast.Call) and not node.args and not node.keywords else ""
    name = node.func if isinstance(node, ast.Call) else node
    last = name.attr if isinstance(name, ast.Attribute) else name.id if isinstance(name, ast.Name) else text
    return last in ("suppress", "raises", "assertRaises", "warns") or last.endswith("Raises")
