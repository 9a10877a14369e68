"""`try` and `with`: what is known where an error may have been caught on the way.

A block whose error is caught may have been left anywhere: what it binds is known behind it only if every way there
gives the same. `finally` is met by the runs that an error ends too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tensorlint.inference import one_of_class
from tensorlint.inference.contents import one_within
from tensorlint.inference.demands import ALWAYS, CAUGHT
from tensorlint.inference.frames import Environment, Guarded, merge
from tensorlint.inference.kept import kept_with
from tensorlint.inference.names import times_bound
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    UNKNOWN,
    Class,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    Opaque,
    Sequence,
    Tensor,
    Value,
)
from tensorlint.inference.walking import walk

_MOST_MANAGERS = 12
_CHANGED_IN_PLACE = (Sequence, Dictionary, Instance, LibraryObject, Opaque)


class Handling(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def exec_try(self, node: ast.Try) -> None:
        frame = self.frame
        before = dict(frame.env)
        left = len(frame.breaks), len(frame.continues)
        outer = frame.guarded
        guarded = frame.guarded = Guarded()
        self.conditional += 1
        tried = len(node.body) <= _TRIED and any(catches_errors(handler.type) for handler in node.handlers)
        self.expected_errors += tried
        self.block(node.body, CAUGHT if node.handlers or node.finalbody else ALWAYS)
        self.expected_errors -= tried
        after, dead = frame.env, frame.dead
        entry = interrupted(before, after, node.body, guarded.bound, guarded.left)
        if not dead and node.orelse:
            frame.env = dict(after)
            self.block(node.orelse)
            after, dead = frame.env, frame.dead
        exits: list[Environment] = [] if dead else [after]
        last = interrupted(entry, after, node.orelse, guarded.bound)
        for handler in node.handlers:
            frame.env, frame.dead = dict(entry), False
            if type(handler.type) is ast.Call:
                self.eval(handler.type)  # `except errors():`
            if handler.name:
                frame.env[handler.name] = one_within(self.raised)
            self.block(handler.body)
            last = merge(last, interrupted(entry, frame.env, handler.body, guarded.bound))
            if not frame.dead:
                exits.append(frame.env)
        self.conditional -= 1
        for env in guarded.left:
            last = merge(last, env)
        frame.guarded = outer
        if outer is not None:
            outer.extend(guarded)
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
            self.exec_finally(node.finalbody, last, left)

    def exec_finally(self, body: list[ast.stmt], entry: Environment, left: tuple[int, int]) -> None:
        """`entry` is what is known on every way there; behind the block only the runs that no error ended go on, and
        those that `break` and `continue` have ended since there were so many of them `left`."""
        frame = self.frame
        on_the_way = frame.breaks[left[0] :], frame.continues[left[1] :]
        normal, was_dead = frame.env, frame.dead
        frame.env, frame.dead = dict(entry), False
        log = len(self.mutations)
        self.conditional += 1
        self.block(body)
        self.conditional -= 1
        if frame.dead:
            # `return` or `break` in it: errors end here, and so do a `break` or a `continue` before
            for ways, before, gone in zip((frame.breaks, frame.continues), left, on_the_way, strict=True):
                del ways[before : before + len(gone)]
            return
        result = dict(normal)
        bound = {name: value for name, value in frame.env.items() if value is not entry.get(name)}
        # Of what was not known before, it is not known after it may have been bound either; where no error came, it was known.
        bound |= {name: frame.env[name] for name in times_bound(body) if name in frame.env}
        if len(self.mutations) > log:
            # What it changed in place is one of several lists here, and the one of them there has not seen it.
            bound |= {
                name: value
                for name, value in frame.env.items()
                if type(value) in _CHANGED_IN_PLACE and value is not normal.get(name)
            }
        result.update(bound)
        for way in (*on_the_way[0], *on_the_way[1]):
            way.update(bound)
        frame.env, frame.dead = result, was_dead

    def exec_with(self, node: ast.With | ast.AsyncWith) -> None:
        suppresses, entry = False, ALWAYS
        managers: list[Instance] = []
        generators: list[tuple[Function, list[Value], dict[str, Value]]] = []
        for item in node.items:
            value = self.eval(item.context_expr)
            if isinstance(item.context_expr, ast.Call) and isinstance(item.context_expr.func, ast.Name):
                made = self.frame.lookup(item.context_expr.func.id)
                if isinstance(made, Function) and made.decorated:
                    generators.append((made, *self.unsure))
            if not self.lets_errors_out(item.context_expr):
                entry = CAUGHT
                suppresses = suppresses or self.may_suppress(item.context_expr, value)
            if isinstance(value, Instance):
                managers.append(value)
            if item.optional_vars is not None:
                shown = self.is_progress_bar(item.context_expr)
                self.assign(item.optional_vars, value if shown else self.entered(value), None)
            elif isinstance(value, Instance) or (isinstance(value, Opaque) and value.parts):
                self.entered(value)
        before = dict(self.frame.env) if suppresses else None
        outer, guarded = self.frame.guarded, Guarded()
        if suppresses:
            self.frame.guarded = guarded
        expected = any(expects_error(item.context_expr) for item in node.items)
        self.expected_errors += expected
        self.conditional += suppresses
        self.block(node.body, CAUGHT if suppresses else entry)
        self.conditional -= suppresses
        self.expected_errors -= expected
        for manager in reversed(managers):
            self.call_method(manager, "__exit__", [UNKNOWN] * 3, {}, None)  # which may change the object
        for function, args, kwargs in generators:  # which go on behind their `yield`
            self.runs_unseen(function, args, kwargs)
        if before is not None:
            after = self.frame.env
            caught = interrupted(before, after, node.body, guarded.bound, guarded.left)
            self.frame.env = caught if self.frame.dead else merge(caught, after)
            self.frame.guarded = outer
            if outer is not None:
                outer.extend(guarded)
            self.frame.dead = False

    def is_progress_bar(self, manager: ast.expr) -> bool:
        """`with tqdm(loader) as bar:`, which gives what it was given."""
        if not isinstance(manager, ast.Call) or last_name(manager.func) != "tqdm":
            return False
        made = self.eval(manager.func)
        return isinstance(made, Library) and made.path in PROGRESS_BARS

    def lets_errors_out(self, manager: ast.expr) -> bool:
        """Whether an error in the body of `with manager:` leaves it: torch.no_grad(), open(...), a lock."""
        func = root = manager.func if isinstance(manager, ast.Call) else manager
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or not isinstance(self.frame.lookup(root.id) or self.eval(root), Library):
            return False
        value = self.eval(func)
        return isinstance(value, Library) and value.path.startswith(_LETS_ERRORS_OUT)

    def may_suppress(self, manager: ast.expr, value: Value) -> bool:
        """Whether the context manager may end an error of the body. Those of libraries as a rule do not, and say so in
        their names when they do; of an object nobody knows it is not known."""
        func = manager.func if isinstance(manager, ast.Call) else manager
        if last_name(func) in SUPPRESSORS:
            return True
        made = self.eval(func)
        if isinstance(made, Library):
            return made.path.rpartition(".")[2] in SUPPRESSORS
        if isinstance(made, Function):
            code = made.node
            if isinstance(code, ast.Lambda):
                return False
            return kept_with(code, "suppresses", lambda: generator_suppresses(code))
        if isinstance(value, LibraryObject):
            return value.path.rpartition(".")[2] in SUPPRESSORS
        cls = made.cls if isinstance(made, Instance) else made
        if isinstance(cls, Class):
            leaves = self.find_in_class(cls, "__exit__") or self.find_in_class(cls, "__aexit__")
            if isinstance(leaves, Function) and not isinstance(leaves.node, ast.Lambda):
                return exit_suppresses(leaves.node)
        return True

    def entered(self, value: Value) -> Value:
        """What `with value as x` binds."""
        if isinstance(value, Instance) and self.find_in_class(value.cls, "__enter__") is not None:
            return self.call_method(value, "__enter__", [], {}, None)
        if not isinstance(value, Opaque):
            return UNKNOWN
        given = one_within([value])
        for name in ("__enter__", "__exit__"):
            one_of_class.change_any(self, value.parts[:_MOST_MANAGERS], name, [], {})
        return given


def interrupted(
    before: Environment,
    after: Environment,
    body: list[ast.stmt],
    bound: list[tuple[str, Value]],
    left: Iterable[Environment] = (),
) -> Environment:
    """The names once `body` was left anywhere in its middle: what it binds is known only if nothing changed it."""
    if not body:
        return after if before is after else merge(before, after)
    entry = merge(before, after)
    for env in left:
        if env is not after:
            entry = merge(entry, env)
    for name, times in times_bound(body).items():
        if name not in before:
            if times == 0:  # what is imported
                entry.pop(name, None)
            elif times > 1 and name in entry:
                entry[name] = one_within(
                    [entry[name], *(value for each, value in bound if each == name)]
                )  # it may hold what the block bound first
        elif times > 1 or (before[name] is not entry.get(name) and type(entry.get(name)) is not Tensor):
            # It may be bound to what it was before, and to something else in between.
            entry[name] = one_within(
                [before[name], after.get(name, UNKNOWN), *(value for each, value in bound if each == name)]
            )
    return entry


def generator_suppresses(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a `@contextmanager` function may end the error that is thrown in at its `yield`."""
    for part in walk(node):
        if isinstance(part, (ast.Try, ast.TryStar)):
            yields = any(isinstance(each, (ast.Yield, ast.YieldFrom)) for inner in part.body for each in walk(inner))
            if yields and (any(not reraises(handler) for handler in part.handlers) or _leaves(part.finalbody)):
                return True
        elif isinstance(part, (ast.With, ast.AsyncWith)):
            yields = any(isinstance(each, (ast.Yield, ast.YieldFrom)) for inner in part.body for each in walk(inner))
            if yields and any(_could_suppress(item.context_expr) for item in part.items):
                return True
    return False


def exit_suppresses(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether an `__exit__` may return something true."""
    returned = [part.value for part in walk(node) if isinstance(part, ast.Return)]
    return any(not (each is None or (isinstance(each, ast.Constant) and not each.value)) for each in returned)


def _leaves(body: list[ast.stmt]) -> bool:
    return any(isinstance(part, (ast.Return, ast.Break, ast.Continue)) for each in body for part in walk(each))


def reraises(handler: ast.ExceptHandler) -> bool:
    """Whether the handler always ends with an error of its own."""
    return isinstance(handler.body[-1], ast.Raise) and not _leaves(handler.body)


def _could_suppress(manager: ast.expr) -> bool:
    name = last_name(manager.func if isinstance(manager, ast.Call) else manager)
    return name is None or name in SUPPRESSORS or not isinstance(manager, ast.Call)


# Context managers that no error is caught by.
_LETS_ERRORS_OUT = (
    "torch.", "numpy.", "builtins.", "warnings.", "tempfile.", "contextlib.nullcontext", "contextlib.closing",
    "contextlib.redirect",
)  # fmt: skip
# Context managers that may end an error.
# What they give is what they were given to go through.
PROGRESS_BARS = frozenset({"tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.trange", "tqdm.notebook.tqdm"})
SUPPRESSORS = frozenset(
    [
        "suppress", "raises", "warns", "assertRaises", "assertRaisesRegex", "assert_raises", "assert_raises_regex",
        "ExitStack", "AsyncExitStack", "subTest", "ignored", "ignoring", "RaisesGroup", "RaisesExc", "timeout",
        "fail_after", "move_on_after", "enter_context", "TaskGroup",
    ]
)  # fmt: skip
# A `try` of so few statements asks whether they work; one around a whole program only says goodbye.
_TRIED = 3
_ERRORS = frozenset(
    ["Exception", "BaseException", "RuntimeError", "ValueError", "LinAlgError", "TypeError", "AxisError"]
)
_EXPECTING = ("raises", "assertRaises", "assertRaisesRegex", "suppress", "assert_raises")


def last_name(node: ast.expr) -> str | None:
    return node.attr if type(node) is ast.Attribute else node.id if type(node) is ast.Name else None


def catches_errors(kind: ast.expr | None) -> bool:
    """Whether a handler is entered when torch or numpy refuse a shape."""
    if kind is None:
        return True
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(last_name(each) in _ERRORS for each in kinds)


def expects_error(manager: ast.expr) -> bool:
    """`with pytest.raises(ValueError):`, `with self.assertRaises(...)`, `with contextlib.suppress(...)`."""
    return isinstance(manager, ast.Call) and last_name(manager.func) in _EXPECTING
