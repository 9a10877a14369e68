"""What each kind of statement does to the names, and where control flow goes."""

from __future__ import annotations

import ast

from tensorlint.inference import refinement
from tensorlint.inference import sizes as S
from tensorlint.inference.frames import Environment, merge
from tensorlint.inference.names import bound_names
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Sequence,
    Tensor,
    Value,
    copy,
    freshen,
    join,
    number,
)

_UNROLL = 6  # items of a known sequence that a loop is followed through one by one
_DEEP = 3  # loops this deep are followed once, with everything they assign unknown


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
        if isinstance(node.value, ast.Call):
            self.after_method_statement(node.value)

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

    # -- targets -------------------------------------------------------------------------------------------------

    def assign(self, target: ast.expr, value: Value, source: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.assign_name(target, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target, value, source)
        elif isinstance(target, ast.Attribute):
            receiver = self.eval(target.value)
            if isinstance(value, (Sequence, Dictionary)) and isinstance(source, ast.Name):
                value.shared = True
            self.store_attribute(receiver, target.attr, value)
        elif isinstance(target, ast.Subscript):
            self.store_item(self.eval(target.value), self.eval(target.slice), value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, Sequence("list"), None)

    def assign_name(self, target: ast.Name, value: Value) -> None:
        frame = self.frame
        if frame.record:
            name = target.id
            if value is UNKNOWN:
                value = Opaque(None)
            if isinstance(value, (Number, Opaque)) and frame.facts.textual[name] == 1 and name not in self.parameters:
                self.name_size(value, name)
            if isinstance(value, Tensor):
                self.note_binding(target, value)
        if target.id in frame.facts.shared:
            value = Opaque(None)  # a function that declares it global or nonlocal may rebind it at any call
        frame.env[target.id] = value

    def name_size(self, value: Number | Opaque, name: str) -> None:
        """The user calls this size by a name: from now on it is shown by it."""
        if name.startswith("_") or (isinstance(value, Opaque) and (value.name is not None or value.variant)):
            return
        terms = value.size.terms
        if len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1:
            atom = terms[0][0][0]
            if atom.name is None and not atom.variant and atom.numerator is None:
                atom.name = name
                if isinstance(value, Opaque):
                    value.name = name
        elif isinstance(value, Opaque) and value._symbol is None:
            value.name = name

    def unpack(self, target: ast.Tuple | ast.List, value: Value, source: ast.expr | None) -> None:
        elements = target.elts
        starred = [position for position, element in enumerate(elements) if isinstance(element, ast.Starred)]
        if isinstance(value, Sequence) and value.shape_of is not None and not starred:
            sizes: list[S.Size] = [S.symbol() for _ in elements]
            known = refinement.with_rank(value.shape_of, sizes)
            if known is not None and source is not None:
                refinement.rebind(self, refinement.shape_receiver(source), value.shape_of, known)
                sizes = list(known.shape or ())
            for element, size in zip(elements, sizes, strict=True):
                self.assign(element, number(size), None)
            return
        items = self.iterate(value)
        if starred:
            self.unpack_starred(elements, starred[0], items)
            return
        if items.items is not None:
            if len(items.items) == len(elements) and items.kind != "set":
                for element, item in zip(elements, items.items, strict=True):
                    self.assign(element, item, None)
                return
            for element in elements:
                self.assign(element, UNKNOWN, None)
            return
        opaque = isinstance(value, Opaque)
        for position, element in enumerate(elements):
            if opaque:
                self.assign(element, Opaque(None), None)
            elif isinstance(value, (Instance, Number)):
                self.assign(element, UNKNOWN, None)
            else:
                item = freshen(items.element)
                self.assign(element, Opaque(None) if item is UNKNOWN else item, None)
            del position

    def unpack_starred(self, elements: list[ast.expr], at: int, items: Sequence) -> None:
        after = len(elements) - at - 1
        if items.items is not None and len(items.items) >= at + after and items.kind != "set":
            values = items.items
            for element, item in zip(elements[:at], values[:at], strict=True):
                self.assign(element, item, None)
            middle = elements[at]
            assert isinstance(middle, ast.Starred)
            self.assign(middle.value, Sequence("list", values[at : len(values) - after]), None)
            for element, item in zip(elements[at + 1 :], values[len(values) - after :], strict=True):
                self.assign(element, item, None)
            return
        for element in elements:
            if isinstance(element, ast.Starred):
                self.assign(element.value, Sequence("list"), None)
            else:
                self.assign(element, UNKNOWN, None)

    def store_attribute(self, receiver: Value, name: str, value: Value) -> None:
        if isinstance(receiver, Instance):
            if receiver.generic and not self.initialising(receiver):
                return
            if (
                self.frame.record
                and isinstance(value, (Opaque, Number))
                and name not in self.file.facts.unstable_attributes
            ):
                self.name_field(receiver, name, value)
            if self.conditional and name in receiver.fields and receiver.fields[name] is not value:
                value = join(receiver.fields[name], value)
            receiver.fields[name] = value
            self.mutations.append((receiver, name))
        elif isinstance(receiver, LibraryObject):
            receiver.fields[name] = UNKNOWN if self.conditional else value
            self.mutations.append((receiver, name))
        elif isinstance(receiver, Opaque):
            if receiver.fields is None:
                receiver.fields = {}
            receiver.fields[name] = Opaque(None) if self.conditional else value
            self.mutations.append((receiver, name))
        elif isinstance(receiver, Class):
            receiver.fields[name] = UNKNOWN if self.conditional else value
            self.mutations.append((receiver, name))
        elif isinstance(receiver, Tensor) and name in ("data", "shape"):
            self.forget_tensor(receiver)

    def name_field(self, receiver: Instance, name: str, value: Opaque | Number) -> None:
        """`self.heads = heads`: in the class's methods the size is called `self.heads`."""
        terms = value.size.terms
        if len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1:
            atom = terms[0][0][0]
            if (
                not atom.variant
                and not (atom.name or "").startswith(f"{self.frame.first_argument}.")
                and atom.numerator is None
            ):
                atom.name = f"{self.frame.first_argument or 'self'}.{name}"

    def store_item(self, receiver: Value, index: Value, value: Value) -> None:
        if isinstance(receiver, Dictionary):
            if (
                isinstance(index, Const)
                and receiver.items is not None
                and not self.conditional
                and len(receiver.items) < 256
            ):
                try:
                    receiver.items[index.value] = value
                except TypeError:
                    self.forget_contents(receiver)
                self.mutations.append((receiver, None))
            else:
                self.forget_contents(receiver)
        elif isinstance(receiver, Sequence):
            if (
                receiver.items is not None
                and isinstance(index, Const)
                and type(index.value) is int
                and not self.conditional
            ):
                if -len(receiver.items) <= index.value < len(receiver.items):
                    receiver.items = list(receiver.items)
                    receiver.items[index.value] = value
                    self.mutations.append((receiver, None))
                    return
            self.forget_contents(receiver)
        elif isinstance(receiver, Opaque) and receiver.fields is not None:
            receiver.fields = {
                key: field for key, field in receiver.fields.items() if isinstance(key, str) and key.isidentifier()
            }

    def forget_contents(self, value: Sequence | Dictionary) -> None:
        if isinstance(value, Sequence) and value.kind == "tuple":
            return
        value.items = None
        value.element = UNKNOWN
        if isinstance(value, Sequence):
            value.length = None

    def forget_tensor(self, tensor: Tensor) -> None:
        tensor.shape = tensor.strides = tensor.axes = None
        tensor.dtype = None

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

    # -- loops ---------------------------------------------------------------------------------------------------

    def exec_for(self, node: ast.For | ast.AsyncFor) -> None:
        iterable = self.iterate(self.eval(node.iter))
        frame = self.frame
        if iterable.items is not None and len(iterable.items) <= _UNROLL and frame.loops < 2:
            if iterable.kind != "set" and (len(iterable.items) * len(node.body) <= 60):
                self.unrolled(node, iterable.items)
                return
        self.loop(node, node.body, lambda: self.assign(node.target, self.any_item(iterable), None))
        self.block(node.orelse)

    def unrolled(self, node: ast.For | ast.AsyncFor, items: list[Value]) -> None:
        frame = self.frame
        outer_breaks, outer_continues = frame.breaks, frame.continues
        frame.breaks, frame.continues = [], []
        frame.loops += 1
        for item in items:
            if frame.dead:
                break
            self.assign(node.target, item, None)
            self.block(node.body)
            frame.env, frame.dead = _rejoin(frame.env, frame.dead, frame.continues)
            frame.continues = []
        frame.loops -= 1
        if not frame.dead:
            self.block(node.orelse)
        frame.env, frame.dead = _rejoin(frame.env, frame.dead, frame.breaks)
        frame.breaks, frame.continues = outer_breaks, outer_continues

    def exec_while(self, node: ast.While) -> None:
        def enter() -> None:
            self.eval(node.test)

        self.loop(node, node.body, enter)
        self.block(node.orelse)

    def loop(self, node: ast.stmt, body: list[ast.stmt], enter: object) -> None:
        """Follow a loop to a fixed point: once from what is known before it, again from what is true in every round."""
        assert callable(enter)
        frame = self.frame
        outer_breaks, outer_continues = frame.breaks, frame.continues
        before = frame.env
        frame.loops += 1
        entry = dict(before)
        breaks: list[Environment] = []
        if frame.loops > _DEEP:
            for name in bound_names(body):
                if name in entry:
                    entry[name] = UNKNOWN
        start = S.symbol_serial()
        rounds = 1 if frame.loops > _DEEP else 3
        for attempt in range(rounds):
            saved = self.begin_attempt()
            frame.env, frame.breaks, frame.continues = dict(entry), [], []
            log = len(self.mutations)
            enter()
            self.block(body)
            frame.env, frame.dead = _rejoin(frame.env, frame.dead, frame.continues)
            breaks = frame.breaks
            if frame.dead:
                frame.env, frame.dead = dict(before), False
                self.keep_attempt(saved)
                break
            again = merge(entry, frame.env)
            changed = [name for name, value in again.items() if name in entry and not _same(entry[name], value)]
            if attempt == 0 and len(self.mutations) > log and rounds > 1:
                # What the body changed in place holds something else in the next round.
                self.drop_attempt(saved)
                self.forget_mutations(log)
                for name in changed:
                    entry[name] = self.settled(again[name], start)
                continue
            if not changed or attempt == rounds - 1:
                if changed:
                    for name in changed:
                        frame.env[name] = UNKNOWN
                self.keep_attempt(saved)
                break
            self.drop_attempt(saved)
            self.forget_mutations(log)
            for name in changed:
                entry[name] = UNKNOWN if attempt == 1 else self.settled(again[name], start)
        frame.loops -= 1
        result = merge(entry, frame.env)
        for broken in breaks:
            result = merge(result, broken)
        frame.env = dict(result)
        frame.breaks, frame.continues = outer_breaks, outer_continues

    def forget_mutations(self, since: int) -> None:
        for owner, name in self.mutations[since:]:
            if isinstance(owner, (Sequence, Dictionary)):
                self.forget_contents(owner)
            elif (
                isinstance(owner, (Instance, LibraryObject, Class, Opaque))
                and owner.fields is not None
                and name is not None
            ):
                owner.fields[name] = Opaque(None) if isinstance(owner, Opaque) else UNKNOWN

    def settled(self, value: Value, start: int) -> Value:
        """A value that the loop carries from round to round: sizes that were made in the loop are those of an
        earlier round, and equal to none of this one."""
        varied = self.varying(value, start)
        if isinstance(varied, Opaque):
            return UNKNOWN
        return freshen(varied) if isinstance(varied, Tensor) else varied

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
        self.decorate(function)
        self.frame.env[node.name] = function
        if self.frame.record:
            self.pending.append(function)

    def exec_class(self, node: ast.ClassDef) -> None:
        self.frame.env[node.name] = self.define_class(node)


def _same(a: Value, b: Value) -> bool:
    """Whether going round once more would see nothing new."""
    if a is b:
        return True
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype and a.framework == b.framework
    if isinstance(a, Const) and isinstance(b, Const):
        return type(a.value) is type(b.value) and a.value == b.value
    if isinstance(a, Sequence) and isinstance(b, Sequence) and a.kind == b.kind and a.shape_of is b.shape_of:
        if a.items is None or b.items is None:
            return a.items is b.items and a.length == b.length and _same(a.element, b.element)
        return len(a.items) == len(b.items) and all(_same(x, y) for x, y in zip(a.items, b.items, strict=True))
    if isinstance(a, Number) and isinstance(b, Number):
        return a.size == b.size
    if isinstance(a, Library) and isinstance(b, Library):
        return a.path == b.path
    if isinstance(a, LibraryObject) and isinstance(b, LibraryObject):
        return a.made is b.made and a.path == b.path
    return type(a) is type(b) and isinstance(a, Function) and isinstance(b, Function) and a.node is b.node


def _rejoin(env: Environment, dead: bool, others: list[Environment]) -> tuple[Environment, bool]:
    """Control flow that left early (continue, break) meets what went on."""
    if not others:
        return env, dead
    result = others[0] if dead else env
    for other in others[1:] if dead else others:
        result = merge(result, other)
    return dict(result), False


def _may_suppress(node: ast.expr) -> bool:
    text = ast.unparse(node) if isinstance(node, ast.Call) and not node.args and not node.keywords else ""
    name = node.func if isinstance(node, ast.Call) else node
    last = name.attr if isinstance(name, ast.Attribute) else name.id if isinstance(name, ast.Name) else text
    return last in ("suppress", "raises", "assertRaises", "warns") or last.endswith("Raises")
