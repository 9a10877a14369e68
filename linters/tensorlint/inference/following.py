"""Calls of the program's own functions: their parameters are bound and their statements followed."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from operator import is_
from types import NoneType
from typing import Any

from tensorlint.inference import declared, rounds, table_values
from tensorlint.inference.aliases import joined, tie
from tensorlint.inference.changes import SHAPED_IN_PLACE
from tensorlint.inference.class_order import method_order
from tensorlint.inference.containers import contained, share
from tensorlint.inference.contents import lasts, one_of, one_within
from tensorlint.inference.declared import may_be_so_long
from tensorlint.inference.demands import ALWAYS
from tensorlint.inference.frames import READ_EARLY, Frame, read_early
from tensorlint.inference.handling import last_name
from tensorlint.inference.joins import fit
from tensorlint.inference.kept import kept_with
from tensorlint.inference.ops import modules
from tensorlint.inference.quiet_functions import makes_records
from tensorlint.inference.sizes import symbol_serial
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    CONTAINERS,
    COUNTED,
    NONE,
    OPEN,
    PLAIN,
    UNKNOWN,
    Attribute,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    LibraryObject,
    Number,
    Opaque,
    Partial,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    copy,
    forget_elements,
    is_none,
    opaque_serial,
)
from tensorlint.inference.variants import freshen, varying
from tensorlint.inference.walking import parameters_of, walk

# What a function gives that only raises.
NEVER = Unknown()
_CACHES = frozenset({"lru_cache", "cache"})
_ENDS = frozenset({"exit", "_exit", "quit", "abort", "fail", "error"})
_KNOWN_OBJECTS = frozenset({Const, LibraryObject, Function, Class})
# Nothing can be done to one of these that is not seen by its name.
_SAME_EACH_TIME = frozenset({Const, Unknown, Opaque, Tensor, Number, Scalar})
_DEEPEST = 4  # containers in containers that a call gives
_PLAIN_CONSTANTS = frozenset({int, float, str, bool, NoneType})
_MAX_DEPTH = 12  # calls of the program's own functions inside one another


@dataclass(slots=True, eq=False, repr=False)
class Signature:
    """The names of a function's parameters: those that take arguments by their place, and by name; `*args` and `**words`.
    `names` are all but the last two, `count` is the number of all."""

    by_place: tuple[str, ...]
    by_name: frozenset[str]
    names: tuple[str, ...]
    rest_of_args: str | None
    rest_of_words: str | None
    count: int
    annotated: tuple[tuple[str, ast.expr], ...]


def signature_of(code: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Signature:
    return kept_with(code, "signature", lambda: _signature(code.args))


def _signature(spec: ast.arguments) -> Signature:
    parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    names = tuple(each.arg for each in parameters)
    only_by_place = len(spec.posonlyargs)
    return Signature(
        names[: only_by_place + len(spec.args)],
        frozenset(names[only_by_place:]),
        names,
        None if spec.vararg is None else spec.vararg.arg,
        None if spec.kwarg is None else spec.kwarg.arg,
        len(names) + (spec.vararg is not None) + (spec.kwarg is not None),
        tuple((each.arg, each.annotation) for each in parameters if each.annotation is not None),
    )


class Following(State):
    """Mixed into the interpreter: `call_function`, `follow` and the binding of parameters."""

    __slots__ = ()

    def call_function(
        self, function: Function, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        self.calls_made.append((len(self.mutations), self.steps))
        # Of the many that a package registers most are told nothing where they are called.
        if function.decorated or (function.registered and not worth_following(args, kwargs)):
            return self.unseen_result(function, args, kwargs)
        if function.receiver is not None:
            args = [function.receiver, *args]
        code = function.node
        if self.depth >= _MAX_DEPTH or self.active.count(code) > 0 or self.budget <= 0:
            return self.unseen_result(function, args, kwargs)
        foreign = not function.scope.file.own
        # Those that register the variants of a model take long to follow, and have nothing to tell of a call with `**words`.
        if OPEN in kwargs and code in self.tells_nothing:
            return self.unseen_result(function, args, kwargs)
        # Of 1,500 calls of functions that had told nothing before, five told something (scikit-learn); each took half a
        # millisecond, and work that calls further on needed.
        if foreign and (
            not (worth_following(args, kwargs) or makes_layers(code))
            or (
                (code in self.tells_nothing or (function.receiver is None and gives_nothing(code)))
                and not gives_two(args, kwargs)
            )
        ):
            return self.unseen_result(function, args, kwargs)
        # `main()`: its statements are followed by themselves, with no less known of what they are given.
        if node is self.unused and not (function.receiver or function.defaults or _may_end(code)):
            values = *args, *kwargs.values()
            if all(type(value) is Opaque and value.kin is None and not value.parts for value in values):
                return self.unseen_result(function, args, kwargs)
        if self.unread and (foreign or makes_records(code, self.own_file)) and _says_little(args, kwargs):
            return self.unseen_result(function, args, kwargs)
        bound = self.bind_parameters(function, args, kwargs)
        if bound is None:
            return self.unseen_result(function, args, kwargs)
        if type(code) is ast.AsyncFunctionDef or (
            (own := function.scope.file.facts.scopes.get(code)) is not None and own.is_generator
        ):
            if self.changes_something(code):
                # Its statements run when it is iterated or awaited, if ever.
                one = one_within(self.lists_given(function, args, kwargs, modules=True))
                self.runs_unseen(function, args, kwargs)
                return one if isinstance(code, ast.AsyncFunctionDef) else Sequence("iterator", None, one)
        if isinstance(code, ast.Lambda):
            return self.follow(function, bound, node)
        key = (id(code), id(function.scope), *bound, *map(_memo_key, bound.values()))
        remembered = self.memory.get(key)
        mutations = len(self.mutations)
        if remembered is not None and remembered[2] == mutations and _identical(remembered[4], read_early()):
            # A size that nothing names may be another one this time: the rows that a random mask picks.
            if remembered[0] is UNKNOWN:
                return declared.given_by(code)
            again = freshen(varying(remembered[0], remembered[3]))
            if again is not remembered[0]:
                tie(again, remembered[0])  # what gives the object that it was given gives it each time
            return table_values.another(again)
        given = (function.scope, *bound.values())
        start, begun, noticed = symbol_serial(), self.steps, self.noticed
        result = self.follow(function, bound, node)
        if (OPEN in kwargs and isinstance(result, (Opaque, Unknown))) or (foreign and _is_nothing(result)):
            self.tells_nothing.add(code)
        if code.decorator_list and _is_cached(code):
            texts = function.scope.file.text, self.own_file.text
            if any(_can_change(result, text) for text in texts) or any(map(self.may_differ, bound.values())):
                return one_of(result)  # each call gives the same object, and any caller may have changed it
            if self.reads_what_changes(function, set()):
                return one_of(result)  # or it is one that was made of what was there before
        if result is NEVER:
            # Every way through it ends with an error: the caller goes no further.
            if self.places and self.places[-1] is not None:
                self.frame.leave()
            return UNKNOWN
        if (
            len(self.mutations) == mutations
            and self.noticed == noticed  # what is seen in a round of a loop that is dropped has to be seen again
            and len(self.memory) < 4096
            and not self.completing
            and (type(result) in _SAME_EACH_TIME or not _gives_another(result, begun))
        ):
            # The values are kept, so that their ids stay their own.
            self.memory[key] = (result, given, mutations, start, read_early())
        return declared.given_by(code) if result is UNKNOWN else result

    def reads_what_changes(self, function: Function, seen: set[ast.AST]) -> bool:
        """Whether another call of the function may find other things under the names that it reads from around it."""
        code = function.node
        if code in seen or len(seen) > _MAX_DEPTH:
            return code not in seen
        seen.add(code)
        own = function.scope.file.facts.scopes.get(code)
        names = kept_with(code, "reads", lambda: _names_read(code))
        if own is not None:
            names = names - (own.assigned.keys() - own.shared - function.scope.file.facts.named)
        for name in names:
            frame = function.scope
            while frame is not None and (frame.is_class or name not in frame.env):
                frame = frame.parent
            if frame is None:
                continue
            value = frame.env[name]
            if not frame.is_stable(name) or self.may_differ(value):
                return True
            if isinstance(value, Function) and self.reads_what_changes(value, seen):
                return True
        return False

    def may_differ(self, value: Value) -> bool:
        """Whether the object may hold something else another time, though it is the same one."""
        if isinstance(value, (Instance, Class)):
            cls = value.cls if isinstance(value, Instance) else value
            fields = {*(cls.names() if value is cls else value.fields), *cls.names()}
            return bool(self.attributes_set_elsewhere(cls) or self.file.facts.foreign_attributes & fields)
        if isinstance(value, LibraryObject):
            return modules.known(value.path)  # a layer
        return isinstance(value, Dictionary) or (isinstance(value, Sequence) and value.kind != "tuple")

    def follow(self, function: Function, bound: dict[str, Value], node: ast.AST | None) -> Value:
        code = function.node
        caller = self.frame
        file = function.scope.file
        frame = Frame(
            code, file, function.scope, bound, file.facts.scopes.get(code) or _NO_FACTS(), owner=function.owner
        )
        frame.first_argument = code.args.args[0].arg if code.args.args else None
        frame.caller = caller
        for name in frame.facts.shared:  # which a function within may bind anew at any call
            if name in bound:
                self.hold_shared([name], [bound[name]])
                bound[name] = UNKNOWN
        changed, begun, met = len(self.mutations), self.steps, opaque_serial()
        self.depth += 1
        self.active.append(code)
        self.trail.append(node)
        outer_conditional, outer_file, outer_left = self.conditional, self.file, self.left_early
        # One call into a library must leave something for the file's own functions.
        reserve = self.budget // 2 if outer_file.own and not file.own else 0
        self.budget -= reserve
        self.frame, self.file = frame, file
        if COUNTED:
            forget_elements()
        try:
            if isinstance(code, ast.Lambda):
                value = self.eval(code.body)
                if not frame.facts.is_generator:
                    return share(value)
                self.forget_since(changed)  # it runs when somebody asks for what it yields, if ever
                return self.returned(frame, False)
            before = self.steps
            self.block(code.body, ALWAYS)
            self.budget -= self.steps - before
            if frame.facts.is_generator or isinstance(code, ast.AsyncFunctionDef):
                if not rounds.are_own(self.mutations[changed:], (begun, met)):
                    self.forget_since(changed)  # how much of it runs, and when, nobody knows yet
            if frame.dead and not (frame.returns or frame.facts.is_generator or isinstance(code, ast.AsyncFunctionDef)):
                return NEVER
            return self.returned(frame, isinstance(code, ast.AsyncFunctionDef))
        finally:
            self.frame, self.file, self.conditional = caller, outer_file, outer_conditional
            self.left_early = outer_left
            if reserve:
                # What is called within is paid for in each call around it: it may have come to less than nothing.
                self.budget = max(self.budget, 0) + reserve
            self.depth -= 1
            self.active.pop()
            self.trail.pop()
            READ_EARLY.pop(frame, None)
            if self.depth == 0 and not self.module_frame.finished:
                self.note_changed_by_call(changed, begun)

    def returned(self, frame: Frame, is_async: bool) -> Value:
        if is_async:
            return one_within([*frame.env.values(), *frame.returns])  # once it is awaited
        if frame.facts.is_generator:
            if not frame.returns:
                return Sequence("iterator")
            element = frame.returns[0]
            for other in frame.returns[1:]:
                element = joined(element, other)
            item = self.varying(element, 0)
            tie(item, element)
            return Sequence("iterator", None, item)
        if not frame.dead:
            frame.returns.append(NONE)
        if not frame.returns:
            return UNKNOWN
        result = frame.returns[0]
        under = frame.returned_under
        for place, other in enumerate(frame.returns[1:], 1):
            either = joined(result, other)
            if place in under:
                fit(either, other, result, under[place])
            elif place == 1 and 0 in under:
                fit(either, result, other, under[0])
            result = either
        return result

    def bind_parameters(
        self, function: Function, args: list[Value], kwargs: dict[str, Value]
    ) -> dict[str, Value] | None:
        """Arguments by parameter name as Python binds them; None where the call does not fit."""
        signature = signature_of(function.node)
        by_place, rest_of_args, rest_of_words = signature.by_place, signature.rest_of_args, signature.rest_of_words
        if len(args) > len(by_place) and rest_of_args is None:
            return None
        bound: dict[str, Value] = dict(zip(by_place, args, strict=False))
        if rest_of_args is not None:
            bound[rest_of_args] = Sequence("tuple", [contained(value) for value in args[len(by_place) :]])
        rest: dict[Any, Value] = {}
        words: Value | None = None
        if kwargs:
            words = kwargs.get(OPEN)
            for name, value in kwargs.items():
                if name == OPEN:
                    continue
                if name in signature.by_name and name not in bound:
                    bound[name] = value
                elif rest_of_words is not None:
                    rest[name] = contained(value)
                else:
                    return None
        if rest_of_words is not None:
            bound[rest_of_words] = Dictionary(rest, born=self.steps)
            if words is not None:
                bound[rest_of_words] = Dictionary(None, one_within([*rest.values(), words]), born=self.steps)
        if len(bound) < signature.count:
            for name in signature.names:
                if name not in bound:
                    default = function.defaults.get(name)
                    if words is not None:
                        default = _perhaps_given(words, default)
                    if default is None:
                        return None
                    bound[name] = default
        for name, value in bound.items():
            if value is UNKNOWN:
                bound[name] = Opaque(None)
            elif type(value) is Sequence or type(value) is Dictionary:
                if isinstance(value, Sequence) and value.kind == "dict_items" and self.changes_something(function.node):
                    bound[name] = Sequence("dict_items")  # which shows what becomes of its dictionary
                else:
                    share(value)
        for name, annotation in signature.annotated:
            if isinstance(given := bound[name], Opaque):
                declared = self.annotation_in(function.scope, annotation)
                if isinstance(declared, Tensor) and is_none(function.defaults.get(name, UNKNOWN)):
                    declared = copy(declared, marks=declared.marks | {"optional"})
                if isinstance(declared, Opaque) and declared.kind == PLAIN:
                    # It is that object, and a number.
                    declared._symbol = given._symbol if given.name is None else given.size
                    declared.name, declared.scope = given.name, given.scope
                    if not may_be_so_long(function.defaults.get(name), declared.lengths):
                        declared.lengths = ()
                if declared is not None:
                    bound[name] = declared
        return bound

    def defaults_of(self, spec: ast.arguments) -> dict[str, Value]:
        """The values of a function's defaults, made once where it is defined."""
        defaults: dict[str, Value] = {}
        if not (spec.defaults or spec.kw_defaults):
            return defaults
        names = [*spec.posonlyargs, *spec.args]
        for parameter, default in zip(names[len(names) - len(spec.defaults) :], spec.defaults, strict=True):
            value = defaults[parameter.arg] = self.eval(default)
            if type(value) is not Const:
                lasts(share(value))
        for parameter, keyword_default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            if keyword_default is not None:
                value = defaults[parameter.arg] = self.eval(keyword_default)
                if type(value) is not Const:
                    lasts(share(value))
        return defaults


def _NO_FACTS() -> Any:
    from tensorlint.inference.names import ScopeFacts

    return ScopeFacts()


def worth_following(args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether a function of another file may tell something: it is given a shape, or nothing that is unknown."""
    values = [*args, *kwargs.values()] if kwargs else args
    for value in values:
        if type(value) is Tensor and value.shape is not None:
            return True
    for value in values:
        if type(value) in _KNOWN_OBJECTS:
            continue
        if isinstance(value, Instance):
            if not (value.fields or _has_no_initialiser(value.cls)):
                return False
        elif not isinstance(value, (Sequence, Dictionary)) or value.items is None:
            return False
    return True


def gives_two(args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether a function is given two tensors of which the shapes are known: they may not go together, whatever it gives."""
    found = 0
    for value in (*args, *kwargs.values()) if kwargs else args:
        if type(value) is Tensor and value.shape is not None:
            found += 1
    return found > 1


def makes_layers(code: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Whether the function makes layers, and gives something: `nn.Linear(width, 1)` has one feature whatever the width is."""

    def find() -> bool:
        called = (part.func for part in walk(code) if isinstance(part, ast.Call))
        names = {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in called}
        return any(name[:1].isupper() and modules.known(f"torch.nn.{name}") for name in names)

    return not gives_nothing(code) and kept_with(code, "makes layers", find)


def _has_no_initialiser(cls: Class) -> bool:
    """Whether an object of the class has no attributes because nothing gives it any."""
    return cls.complete and not any(isinstance(base, Class) and base.has("__init__") for base in method_order(cls))


def _says_little(args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether a call is given neither tensors nor functions, but in containers."""
    return all(isinstance(value, (Const, Opaque, Sequence, Dictionary)) for value in (*args, *kwargs.values()))


def gives_nothing(code: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Whether the function is called for its effect alone, and does not end the program: it checks, prints, assigns."""

    def find() -> bool:
        if isinstance(code, ast.Lambda) or isinstance(code.body[-1], ast.Raise):
            return False
        inside = (part for each in code.body for part in walk(each))
        return not any(
            isinstance(part, (ast.Yield, ast.YieldFrom)) or (isinstance(part, ast.Return) and part.value is not None)
            for part in inside
        )

    return kept_with(code, "gives nothing", find)


def _may_end(code: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Whether the function may be there to end the program."""
    return not isinstance(code, ast.Lambda) and kept_with(code, "may end", lambda: _ends(code.body))


def _ends(body: list[ast.stmt]) -> bool:
    last = body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return last_name(last.value.func) in _ENDS
    return isinstance(last, ast.Raise) or (
        isinstance(last, ast.If) and (_ends(last.body) or _ends(last.orelse or last.body))
    )


def _perhaps_given(words: Value, default: Value | None) -> Value:
    """A parameter that `**words` may have a value for, another one for each parameter."""
    one = one_within([words] if default is None else [words, default])
    return Opaque(None, parts=one.parts if isinstance(one, Opaque) else ())


def _is_nothing(result: Value) -> bool:
    """Whether a function that gave this told its caller nothing; one of two layers tells something."""
    if not isinstance(result, Opaque):
        return result is UNKNOWN or is_none(result)
    return result.kin is None and not any(map(_is_layer, result.parts))


def _is_layer(value: Value) -> bool:
    return isinstance(value, LibraryObject) or (isinstance(value, Instance) and value.cls.is_module)


def _gives_another(value: Value, begun: int, depth: int = 0) -> bool:
    """Whether another call gives an object of its own, or what holds one: a layer, say, of which attributes may be assigned
    that the one of this call does not get. (Lists and dictionaries are made anew of those that are remembered.)"""
    if isinstance(value, (Instance, LibraryObject)):
        return not (0 < value.born <= begun or (isinstance(value, Instance) and value.generic))
    if isinstance(value, (Function, Class)):
        return value.scope.parent is not None  # what it finds around it may be the call's
    if not isinstance(value, (Sequence, Dictionary)):
        return isinstance(value, (Partial, Attribute))
    if depth == _DEEPEST:
        return True
    held = value.items.values() if isinstance(value.items, dict) else value.items
    return any(_gives_another(each, begun, depth + 1) for each in (value.element, *(held or ())))


def _identical(a: tuple[tuple[Value | None, ...], ...], b: tuple[tuple[Value | None, ...], ...]) -> bool:
    return len(a) == len(b) and all(
        len(these) == len(those) and all(map(is_, these, those)) for these, those in zip(a, b, strict=True)
    )


def _names_read(code: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """The names in a function that are none of its parameters."""
    parameters = parameters_of(code.args)
    return frozenset(part.id for part in walk(code) if isinstance(part, ast.Name)) - parameters


def _is_cached(code: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the function is one of `functools.lru_cache`, by its name: no other decorators are followed."""
    for decorator in code.decorator_list:
        made = decorator.func if isinstance(decorator, ast.Call) else decorator
        if (made.attr if isinstance(made, ast.Attribute) else made.id if isinstance(made, ast.Name) else "") in _CACHES:
            return True
    return False


def _can_change(value: Value, source: str) -> bool:
    """Whether what is known of an object may not hold any more after other code had it in hand."""
    if isinstance(value, Sequence):
        return value.kind != "tuple" or any(_can_change(item, source) for item in value.items or ())
    if isinstance(value, Tensor):
        return SHAPED_IN_PLACE.search(source) is not None
    return isinstance(value, (Dictionary, Instance)) or (isinstance(value, LibraryObject) and value.path in CONTAINERS)


def _memo_key(value: Value) -> object:
    if isinstance(value, Const) and type(value.value) in _PLAIN_CONSTANTS:
        return type(value.value), value.value
    return id(value)
