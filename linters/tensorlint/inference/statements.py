"""What each kind of statement does to the names, and where control flow goes."""

from __future__ import annotations

import ast

from tensorlint.inference import (
    aliases,
    iterators,
    layer_changes,
    module_containers,
    refinement,
    sizes_in_place,
    table_values,
)
from tensorlint.inference.changes import CHANGES, Changes
from tensorlint.inference.containers import extend, share, within
from tensorlint.inference.contents import HOLDING, one_within, put_unseen
from tensorlint.inference.demands import ALWAYS, SOMETIMES
from tensorlint.inference.elsewhere import by_name
from tensorlint.inference.fitted_estimators import BINARY
from tensorlint.inference.forgetting import has_parts
from tensorlint.inference.kept import kept_with
from tensorlint.inference.names import FileFacts
from tensorlint.inference.ops import reshaping
from tensorlint.inference.ops.elementwise import is_numpys_own
from tensorlint.inference.outcomes import LINEAR, without_linear
from tensorlint.inference.sizes import RELIED_ON
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    CONTAINERS,
    COUNTED,
    NONE,
    UNKNOWN,
    Const,
    Dictionary,
    Function,
    Instance,
    LibraryObject,
    Number,
    Opaque,
    Scalar,
    Sequence,
    Tensor,
    Value,
    copy,
    forget_elements,
)
from tensorlint.inference.walking import only_tells

_NAMED = frozenset({ast.Name, ast.Attribute, ast.Subscript})  # what gives an object that something else holds too
_MOST_RAISED = 20
_RAISED = HOLDING | {LibraryObject, Opaque}  # what an error holds that handlers may change
_WORDS_ALONE = frozenset({ast.Constant, ast.Name})  # a message that calls nothing
_WORDS = (ast.Constant, ast.JoinedStr)  # what an error holds that nobody can change


class Statements(State):
    """Mixed into the interpreter: `block` and what it dispatches to."""

    __slots__ = ()

    def block(self, body: list[ast.stmt], entry: str = SOMETIMES) -> None:
        """Follow statements; `entry` says whether the block is run wherever the statement it belongs to is."""
        frame = self.frame
        handlers = self.handlers
        regions = self.solved_regions
        self.blocks += 1
        place = [frame, body, 0, entry, self.blocks]
        self.places.append(place)
        learnt: list[tuple[str, Value, Value]] = []
        proven = len(RELIED_ON)
        for index, statement in enumerate(body):
            if frame.dead:
                break
            place[2] = index
            if regions and (id(body), index) in regions:
                learnt += self.enter_region(frame, body, index)
            self.steps += 1
            if COUNTED:
                forget_elements()
            handler = handlers.get(type(statement))
            if handler is not None:
                handler(statement)
        self.places.pop()
        if entry is not ALWAYS:
            # Behind the branch nothing was demanded of it.
            if len(RELIED_ON) > proven:
                reshaping.forget(proven)
            for name, before, known in learnt:
                if frame.env.get(name) is known:
                    frame.env[name] = before

    # -- simple statements ---------------------------------------------------------------------------------------

    def exec_expression(self, node: ast.Expr) -> None:
        value = node.value
        if type(value) is ast.Constant:
            return
        self.unused = value
        self.eval(value)
        if type(value) is ast.Call and self.may_stop(value.func):
            self.possible_exits += 1

    def may_stop(self, func: ast.expr) -> bool:
        """Whether a call that is made for its effect alone may be there to stop the program: `require(not flag)`."""
        if type(func) is ast.Name:
            return func.id != "print" and not isinstance(self.frame.lookup(func.id), Function)
        return not (type(func) is ast.Attribute and func.attr in _EFFECTS)

    def exec_assign(self, node: ast.Assign) -> None:
        source, targets = node.value, node.targets
        value = self.eval(source)
        if type(value) is Sequence or type(value) is Dictionary:
            if len(targets) > 1 or type(source) in _NAMED:
                value.shared = True
            if type(value) is Sequence and value.kind == "tuple" and type(targets[0]) not in (ast.Tuple, ast.List):
                within(value)
        elif type(value) is Number and type(source) is ast.BinOp and self.frame.record:
            sizes_in_place.take(self, source, value)  # `n = len(rows) * 2`
        for target in targets:
            self.assign(target, value, source)

    def exec_annotated(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            if isinstance(node.target, ast.Name):
                declared = self.annotation(node.annotation)
                if declared is not None and node.target.id not in self.frame.env and self.frame.is_class:
                    self.frame.env[node.target.id] = declared
            return
        value = self.eval(node.value)
        declared = self.annotation(node.annotation)
        if self.frame.is_class and isinstance(node.value, ast.Call) and self.is_field(node.value):
            declared = None  # which is said of the instances
        if declared is not None:
            value = refinement.meet(value, declared)
        self.assign(node.target, value, node.value)

    def exec_augmented(self, node: ast.AugAssign) -> None:
        sign = self.operator_sign(node.op)
        target = node.target
        if isinstance(target, ast.Name):
            left = self.eval_name(target)
            right = self.eval(node.value)
            if sign == "+" and type(left) is type(right) is Sequence and extend(self, left, right, target):
                result = self.frame.env[target.id]
            else:
                self.write_over(left, target, node)
                result = self.in_place(sign, left, right, node)
            self.assign(target, result, None)
        elif isinstance(target, ast.Attribute):
            receiver = self.eval(target.value)
            left = self.attribute_of(receiver, target.attr, target)
            self.write_over(left, target, node)
            result = self.in_place(sign, left, self.eval(node.value), node)
            if receiver is UNKNOWN:  # `type(self).count += 1`
                self.assign(target, UNKNOWN, None)
            elif isinstance(result, LibraryObject) and isinstance(receiver, Instance) and result is left:
                pass  # `self.layers += [layer]`: the container that it has, in which there are more now
            else:
                self.store_attribute(receiver, target.attr, result)
                self.note_stored(target, target.value, target.attr, receiver, result)
        elif isinstance(target, ast.Subscript):
            receiver = self.eval(target.value)
            index = self.eval(target.slice)
            left = self.item(receiver, index, target)
            right = self.eval(node.value)
            result = self.in_place(sign, left, right, node)
            if isinstance(receiver, Tensor):
                self.note_unseen(receiver)
                self.write_part(receiver, index, target, node)
            else:
                self.write_over(left, target, node)
                self.store_item(receiver, index, result if table_values.is_table(receiver) else aliases.perhaps(result))

    def in_place(self, sign: str, left: Value, right: Value, node: ast.AugAssign) -> Value:
        iterators.spend(self, right)
        if self.strayed and (left is UNKNOWN or type(left) is Opaque or type(left) is Tensor):
            self.change_strayed(None)
        if isinstance(left, Tensor) and left.shape is not None:
            # `x += y` writes into x: its shape, layout and dtype stay (an operand that does not fit raises).
            result = self.tensor_operation(sign, left, right, node)
            if isinstance(right, Instance) or (result is UNKNOWN and self.reflects):
                return UNKNOWN  # whose `__radd__` or `__array_ufunc__` may give anything
            if left.framework is None or (left.shape == () and left.framework == "numpy"):
                return result
            if left.framework == "torch":
                if sign == "@":
                    return result  # a new tensor: torch has no product in place
                if isinstance(right, Tensor) and right.framework == "numpy" and right.shape != ():
                    return UNKNOWN  # another new one, which numpy makes
            if left.framework == "numpy" and not is_numpys_own(right):
                # A series or a sparse matrix on the right makes one of its own kind, and so does a tensor that divides.
                if sign == "@" or (sign == "/" and self.uses_torch):
                    return result
                if "pandas" in self.file.text or "sparse" in self.file.text:
                    return copy(left, framework=None, strides=None, dtype=None, source=None, reduced=None)
            same = copy(
                left, marks=left.marks - {"reduction", "transposed", "optional", BINARY}, source=None, reduced=None
            )
            if same.marks and isinstance(result, Tensor):
                same.marks = without_linear(same).marks | {mark for mark in result.marks if mark.startswith(LINEAR)}
            aliases.tie(same, left)
            return same
        if isinstance(left, Sequence) and left.kind == "list":
            if sign == "+" and not (left.shared or left.parts) and isinstance(right, Sequence):
                result = self.sequence_operation(sign, left, Sequence("list", right.items, right.element, right.length))
                return result if isinstance(result, Sequence) else Sequence("list")
            self.forget_contents(left)
            put_unseen(left, right)
            self.mutations.append((left, None))
            return left
        if isinstance(left, Dictionary) and sign == "|":
            self.update(left, right)
            return left
        if isinstance(left, Sequence) and left.kind in ("set", "deque"):
            self.forget_contents(left)
            put_unseen(left, right)
            self.mutations.append((left, None))
            return left
        if isinstance(left, Instance) and (container := layer_changes.container_of(left)) is not None:
            layer_changes.change_unseen(self, container)
        if isinstance(left, LibraryObject) and left.path in CONTAINERS:
            module_containers.change_members(self, left, "extend", [right])
            return left
        if isinstance(left, Opaque):
            if isinstance(right, Sequence):
                self.changed_items(left, longer=True)  # a list, which other names see grow, too
            if left.parts and (sign == "*" or not isinstance(right, (Const, Number, Scalar))):
                self.change_any(left, right)
                if isinstance(right, (Sequence, Dictionary)) and any(map(has_parts, left.parts)):
                    self.touch(left, None)  # a list that one of the objects holds
        return self.binary(sign, left, right, node)

    def change_any(self, one: Opaque, more: Value) -> None:
        """`one += more`, of what may be one of several lists, sets or dictionaries: other names see it change, too."""
        waiting, seen = [*one.parts], {id(one)}
        while waiting:
            part = waiting.pop()
            if id(part) in seen:
                continue
            seen.add(id(part))
            if isinstance(part, Opaque):
                waiting += part.parts
            elif isinstance(part, Dictionary) or (isinstance(part, Sequence) and part.kind in ("list", "set", "deque")):
                self.forget_contents(part)
                put_unseen(part, more)
                self.mutations.append((part, None))

    def update(self, changed: Dictionary, more: Value) -> None:
        """`changed |= more`, which other names of the dictionary see too."""
        if isinstance(more, Dictionary) and more.items is not None:
            for key, value in more.items.items():
                self.store_item(changed, Const(key), value)
        else:
            self.forget_contents(changed)
            put_unseen(changed, more)
            self.mutations.append((changed, None))

    def exec_return(self, node: ast.Return) -> None:
        frame = self.frame
        value = NONE if node.value is None else self.eval(node.value)
        if type(value) is Dictionary or (type(value) is Sequence and value.kind != "iterator"):
            if not (isinstance(node.value, ast.Name) and node.value.id in frame.env):
                share(value)  # a list that outlives the call
        if self.places and self.places[-1][3] is not ALWAYS:
            self.possible_exits += 1
        if self.conditional or frame.loops:
            self.left_early = True
        if frame.under:
            frame.returned_under[len(frame.returns)] = frame.under
        frame.returns.append(value)
        self.note_returned(node, value)
        frame.leave()

    def exec_raise(self, node: ast.Raise) -> None:
        if node.exc is not None and not self.is_plain_error(node.exc):
            error = self.eval(node.exc)
            if isinstance(error, Instance) and not _RAISED.isdisjoint(map(type, error.held.values())):
                if len(self.raised) < _MOST_RAISED:
                    self.raised.append(error)
            elif type(error) is not Instance and isinstance(node.exc, ast.Call):
                self.raise_with(node.exc)
        if node.cause is not None:
            self.eval(node.cause)
            if isinstance(node.cause, ast.Call):
                self.raise_with(node.cause)
        self.possible_exits += 1
        self.frame.leave()

    def raise_with(self, made: ast.Call) -> None:
        """`ValueError(rows)`: handlers get what the error holds."""
        held = one_within([*self.unsure[0], *self.unsure[1].values()]) if made.args or made.keywords else UNKNOWN
        if held is not UNKNOWN and len(self.raised) < _MOST_RAISED:
            self.raised.append(held)

    def is_plain_error(self, node: ast.expr) -> bool:
        """Whether it is an error of Python's own with words about what is there: making it changes nothing."""
        made, args = (node.func, node.args) if isinstance(node, ast.Call) and not node.keywords else (node, [])
        if not (isinstance(made, ast.Name) and all(isinstance(each, _WORDS) and only_tells(each) for each in args)):
            return False
        return self.frame.lookup(made.id) is None and made.id not in self.patched

    def exec_assert(self, node: ast.Assert) -> None:
        truth = self.truth(self.eval(node.test))
        self.possible_exits += 1
        if node.msg is not None and truth is not True and type(node.msg) not in _WORDS_ALONE:
            self.exec_message(node.msg)
        if truth is False:
            self.frame.leave()
            return
        refinement.assume(self, node.test, True)
        refinement.take_for_numbers(self, node.test, True)

    def exec_message(self, message: ast.expr) -> None:
        """What an assertion says that fails, which somebody may catch: a function that is called for it may change something."""
        changes = self.changes_in(message)
        if changes.names or changes.attributes or changes.computed or self.calls_own(changes):
            proven, log = self.begin_perhaps(), len(self.mutations)
            self.eval(message)
            self.forget_since(log)
            self.end_perhaps(proven)

    def calls_own(self, changes: Changes) -> bool:
        """Whether functions or methods of the file are called, or such as change something."""
        named = by_name(self.file)
        if not (changes.functions.isdisjoint(named) and changes.methods.isdisjoint(named)):
            return True
        if not changes.methods.isdisjoint(CHANGES):
            return True
        return any(isinstance(self.frame.lookup(name), (Function, Opaque)) for name in changes.functions)

    def exec_delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.frame.env.pop(target.id, None)
            elif isinstance(target, ast.Attribute):
                self.set_by_name(self.eval(target.value), [Const(target.attr), UNKNOWN])
            elif isinstance(target, ast.Subscript):
                value = self.eval(target.value)
                self.eval(target.slice)
                if self.strayed and (value is UNKNOWN or type(value) is Opaque or type(value) is Tensor):
                    self.change_strayed(None)
                if isinstance(value, (Sequence, Dictionary)):
                    self.forget_contents(value)
                    self.mutations.append((value, None))
                elif isinstance(value, Opaque):
                    self.touch(value, None)
                    self.changed_items(value, longer=True)
                elif isinstance(value, (LibraryObject, Instance)):
                    self.store_item(value, UNKNOWN, UNKNOWN)

    def exec_global(self, node: ast.Global | ast.Nonlocal) -> None:
        for name in node.names:
            self.frame.env[name] = UNKNOWN

    def exec_break(self, node: ast.Break) -> None:
        self.possible_exits += 1
        self.frame.breaks.append(self.frame.env)
        self.frame.leave()
        if self.conditional:
            self.left_round = self.steps

    def exec_continue(self, node: ast.Continue) -> None:
        self.possible_exits += 1
        self.frame.continues.append(self.frame.env)
        self.frame.leave()
        if self.conditional:
            self.left_round = self.steps

    # -- definitions ---------------------------------------------------------------------------------------------

    def exec_import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self.bind_import(alias.asname, self.import_module(alias.name, 0))
            else:
                root = alias.name.partition(".")[0]
                self.bind_import(root, self.import_module(root, 0))

    def exec_import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.import_star(node.module or "", node.level)
            else:
                name = alias.asname or alias.name
                self.bind_import(name, self.import_name(node.module or "", alias.name, node.level))

    def bind_import(self, name: str, value: Value) -> None:
        frame = self.frame
        if name in frame.facts.shared and name in self.imports_bound_anew():
            value = UNKNOWN  # any call of a function may have bound it anew
        frame.env[name] = value

    def imports_bound_anew(self) -> frozenset[str]:
        """The names that functions of the file bind for it, or for a function around them, and not by an import alone."""
        file = self.file
        return kept_with(file.tree, "imports bound anew", lambda: _bound_for_others(file.facts))

    def exec_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        frame, name = self.frame, node.name
        function = Function(node, frame, frame.owner if frame.is_class else None)
        function.defaults = self.defaults_of(node.args)
        if self.frames[-1] is not frame:
            self.frames.append(frame)
        self.decorate(function)
        made = self.made_by_decorators(function)
        if name in frame.facts.shared:
            self.hold_shared([name], [made])
            frame.env[name] = UNKNOWN
        else:
            frame.env[name] = made
        if frame.record:
            self.pending.append(function)

    def exec_class(self, node: ast.ClassDef) -> None:
        made = self.decorated_class(node, self.define_class(node))
        self.frame.env[node.name] = UNKNOWN if node.name in self.frame.facts.shared else made


# Methods called for their effect that do not stop the program.
_EFFECTS = frozenset([
    "append", "extend", "insert", "update", "add", "train", "eval", "zero_grad", "step", "backward", "manual_seed",
    "write", "info", "debug", "warning", "copy_", "zero_", "fill_", "set_description", "add_scalar", "requires_grad_",
])  # fmt: skip


def _bound_for_others(facts: FileFacts) -> frozenset[str]:
    found: set[str] = set()
    for scope in facts.scopes.values():
        found.update(
            name for name in scope.shared if name in scope.textual or name in scope.by_key or name in facts.named
        )
    modules: dict[str, str] = {}
    for statement in facts.imports:
        origin = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
        for alias in statement.names:
            name = alias.asname or alias.name.partition(".")[0]
            module = origin + (alias.name if alias.asname or origin else name)
            if modules.setdefault(name, module) != module:
                found.add(name)  # `global np` and `import cupy as np`
    return frozenset(found)
