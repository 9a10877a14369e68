"""Python's built-in functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tensorlint.inference import aliases, containers, iterators, kind_tests, numbers, truths
from tensorlint.inference import sizes as S
from tensorlint.inference.class_order import ANSWERING, method_order
from tensorlint.inference.computed_names import fits_any, patterns_of
from tensorlint.inference.contents import given_by_operators, one_within
from tensorlint.inference.ops import arguments
from tensorlint.inference.table_values import is_table, rows_of
from tensorlint.inference.values import (
    LENGTH,
    NONE,
    PLAIN,
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    ModuleScope,
    Number,
    Opaque,
    Range,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    an_integer,
    has_some,
    integer,
    is_none,
    number,
    size_of,
)
from tensorlint.inference.variants import another_each_time, made_anew

if TYPE_CHECKING:
    from tensorlint.inference.state import State


# Bases none of whose properties gives what an object of the program holds.
_WITHOUT_PROPERTIES = frozenset(["torch.nn.Module", "builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"])
# What takes one number, and raises for a matrix.
_OF_NUMBERS = frozenset({"float", "int", "complex", "round", "bool", "min", "max"})


def call(interp: State, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """A built-in function."""
    if interp.vector_numbers and name in _OF_NUMBERS:
        interp.note_number_use(f"builtins.{name}", tuple(args))
    handler = _BUILTINS.get(name)
    if handler is not None:
        result: Value = handler(interp, args, kwargs, node)
        aliases.tie_result(result, args)
        return given_by_operators([*args, *kwargs.values()]) if result is UNKNOWN else result
    if name in ("id", "hash"):
        return an_integer()
    if name in ("callable", "issubclass"):
        return Scalar("bool")
    if name in ("print", "repr", "str", "format"):
        return UNKNOWN
    given = given_by_operators([*args, *kwargs.values()])  # `abs(x)`
    interp.escape(args, kwargs, reads_tables=True)
    return given


def _len(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    found = _length(interp, args, kwargs, node)
    return an_integer() if found is UNKNOWN and len(args) == 1 else found


def _length(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) != 1:
        return UNKNOWN
    value = args[0]
    if isinstance(value, Sequence):
        if value.shape_of is not None:
            return UNKNOWN
        length = interp.length_of(value)
        return UNKNOWN if length is None or value.kind == "set" else number(length)
    if isinstance(value, Dictionary):
        return UNKNOWN if value.items is None else Const(len(value.items))
    if isinstance(value, Const) and isinstance(value.value, (str, bytes)):
        return Const(len(value.value))
    if isinstance(value, Tensor):
        return interp.axis_size(value, 0)
    if isinstance(value, Opaque):
        if value.fields is None:
            value.fields = {}
        found = value.fields.get(LENGTH)
        if found is None:
            if value.axes is None and isinstance(node, ast.Call) and _is_stretch(node.args[0]):
                value.axes = {0: S.counter()}
            found = value.fields[LENGTH] = interp.axis_size(value, 0)
        return found
    if isinstance(value, Range):
        iterated = interp.iterate_range(value)
        length = interp.length_of(iterated)
        return UNKNOWN if length is None else number(length)
    if isinstance(value, LibraryObject):
        if is_table(value):
            return number(rows_of(value))
        members = interp.members(value)
        if isinstance(members, Sequence) and members.items is not None:
            return Const(len(members.items))
        return UNKNOWN
    if isinstance(value, Instance):
        return interp.call_method(value, "__len__", [], {}, node)
    return UNKNOWN


def _is_stretch(node: ast.expr) -> bool:
    """Whether it is `rows[n:]`, which may be empty where `rows` is not."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)


def _range(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    values = [size_of(arg) for arg in args]
    if len(values) == 1:
        return Range(0, values[0], 1)
    if len(values) == 2:
        return Range(values[0], values[1], 1)
    if len(values) == 3:
        return Range(values[0], values[1], values[2])
    return UNKNOWN


def _int(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) != 1 or kwargs:
        return Scalar("int")
    value = args[0]
    if isinstance(value, Const) and isinstance(value.value, (int, float, str)):
        try:
            return Const(int(value.value))
        except (ValueError, OverflowError):
            return UNKNOWN
    if isinstance(value, Number):
        return value
    if isinstance(value, Opaque):
        # int(n) is n only if n is an integer already: a size of its own, but always the same one.
        if value.fields is None:
            value.fields = {}
        return value.fields.setdefault(("int",), Opaque(None, variant=value.variant, kind=PLAIN, integer=True))
    return Scalar("int")


def _float(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) == 1 and isinstance(args[0], Const) and isinstance(args[0].value, (int, float)):
        return Const(float(args[0].value))
    return Scalar("float")


def _to_sequence(kind: Any) -> Any:
    def convert(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        if not args:
            return Sequence(kind, [], born=interp.steps)
        value = interp.listed_as_told(args[0])
        if isinstance(value, Sequence) and value.shape_of is not None and kind == "tuple":
            return value
        if isinstance(value, Opaque) and value.parts:  # whose items these are
            return Sequence(kind, None, Opaque(None, value.parts), born=interp.steps)
        if isinstance(value, Opaque) or value is UNKNOWN:
            return Sequence(kind, born=interp.steps)
        known = interp.iterate(value)
        if kind == "set":
            return Sequence("set", None, known.element, born=interp.steps, some=has_some(known))
        element = made_anew(known.element, S.symbol_serial()) if known.kind == "iterator" else known.element
        items = None if known.items is None else list(known.items)
        return Sequence(kind, items, element, known.length, born=interp.steps, some=known.some)

    return convert


def _zip(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    known = [interp.iterate(arg) for arg in args]
    columns = [each.items for each in known]
    if columns and all(items is not None for items in columns):
        return Sequence("iterator", [Sequence("tuple", list(row)) for row in zip(*columns, strict=False)])
    lengths = {interp.length_of(each) for each in known}
    length = lengths.pop() if len(lengths) == 1 else None
    return Sequence("iterator", None, Sequence("tuple", [_any_round(interp, each) for each in known]), length)


def _enumerate(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if not args:
        return UNKNOWN
    known = interp.iterate(args[0])
    start = integer(args[1] if len(args) > 1 else kwargs.get("start", Const(0)))
    if known.items is not None and start is not None:
        items = [Sequence("tuple", [Const(start + at), item]) for at, item in enumerate(known.items)]
        return Sequence("iterator", list(items))
    place = Number(S.counter(variant=True, numbers=True))  # another one in each round
    return Sequence(
        "iterator", None, Sequence("tuple", [place, _any_round(interp, known)]), known.length, some=known.some
    )


def _any_round(interp: State, known: Sequence) -> Value:
    """An item of what is gone through beside something else: another one in each round."""
    start = S.symbol_serial()
    made: dict[int, tuple[Value, Value]] = {}
    item = another_each_time(interp.any_item(known), start, {}, made)
    for before, after in made.values():
        if type(after) is Tensor:
            aliases.tie(after, before)
    return item


def _reversed(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    known = interp.iterate(args[0]) if args else Sequence("iterator")
    if known.items is not None:
        return Sequence("iterator", list(reversed(known.items)))
    return Sequence("iterator", None, known.element, known.length, some=known.some)


def _sorted(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    known = interp.iterate(args[0]) if args else Sequence("iterator")
    interp.ask_each(kwargs.get("key", NONE), known, node)
    return Sequence("list", None, interp.each_of(known), interp.length_of(known), some=has_some(known))


def _filter(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) != 2:
        return UNKNOWN
    known = interp.iterate(args[1])
    interp.ask_each(args[0], known, node)
    element = interp.each_of(known)
    if type(element) is Dictionary:  # which of them, if there are several
        element = Opaque(None, variant=True, parts=(element,))
    return Sequence("iterator", None, element, some=False)


def _map(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) != 2:
        return Sequence("iterator")
    known = interp.iterate(args[1])
    log = len(interp.mutations)
    made = _mapped(interp, args[0], known, node)
    interp.forget_since(log)  # how many of them somebody asks for, and when, nobody knows
    return made


def _mapped(interp: State, function: Value, known: Sequence, node: ast.AST | None) -> Sequence:
    if known.items is not None and len(known.items) <= 8:
        return Sequence(
            "iterator", [containers.contained(interp.call(function, [item], {}, node)) for item in known.items]
        )
    start = S.symbol_serial()
    element = interp.call(function, [interp.any_item(known)], {}, node)
    return Sequence("iterator", None, interp.varying(element, start), interp.length_of(known), some=has_some(known))


def _sum(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if not args:
        return UNKNOWN
    start = args[1] if len(args) > 1 else kwargs.get("start", Const(0))
    if isinstance(args[0], Tensor):
        tensor = args[0]
        if tensor.shape is not None and len(tensor.shape) >= 1 and tensor.framework is not None:
            item = interp.item(tensor, Const(0), node or ast.Constant(0))
            if not isinstance(item, Tensor) or tensor.shape[0] == 0:
                return UNKNOWN
            first = interp.binary("+", start, item, node or ast.Constant(0))
            total = interp.binary("+", first, item, node or ast.Constant(0))
            return total if arguments.at_least(tensor.shape[0], 1) else aliases.joined(start, total)
        return UNKNOWN
    known = interp.iterate(args[0])
    if known.kind == "iterator" and known.shared:
        return UNKNOWN  # 0 where it is exhausted
    if known.items is not None and known.items:
        total = start
        for item in known.items:
            total = interp.binary("+", total, item, node or ast.Constant(0))
        return total
    element = known.element
    if numbers.kind_of(element) == "int" == numbers.kind_of(start):
        return an_integer()
    if isinstance(element, Tensor) and element.shape is not None and isinstance(start, (Const, Number, Scalar)):
        # At least two of them, or 0 plus one: the shape is the items' only if it does not vary.
        if any(atom.variant for size in element.shape for atom in S.symbols(size)):
            return Tensor(element.framework, dtype=None)
        total = Tensor(element.framework, element.shape, None, None)
        length = interp.length_of(known)
        empty = known.some is False or not (known.some or length is None or arguments.at_least(length, 1))
        return aliases.joined(start, total) if empty else total
    return UNKNOWN


def _is_object(value: Value) -> bool:
    """Whether it is an object that others may hold too, and change."""
    return isinstance(value, (Sequence, Dictionary, Instance, Opaque)) and (
        type(value) is not Opaque or bool(value.parts)
    )


def _extreme(pick: Any) -> Any:
    def extreme(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        many = args[0] if len(args) == 1 else Sequence("list", [containers.share(value) for value in args])
        if "key" in kwargs and not is_none(kwargs["key"]):
            known = interp.iterate(many)
            interp.ask_each(kwargs["key"], known, node)
            return one_within([many, kwargs["default"]]) if "default" in kwargs else interp.any_item(known)
        values = list(args)
        if len(values) == 1 and isinstance(values[0], Sequence) and values[0].items:
            values = list(values[0].items)
        if (
            values
            and not kwargs
            and all(isinstance(value, Const) and isinstance(value.value, (int, float)) for value in values)
        ):
            return Const(pick(value.value for value in values))  # type: ignore[attr-defined]
        if len(values) > 1 and all(isinstance(value, (Const, Number)) for value in values):
            sizes = {size_of(value) for value in values}
            if len(sizes) == 1:
                return values[0]
            if len(values) == 2:
                for less, more in (values, values[::-1]):
                    low, high = size_of(less), size_of(more)
                    if low is not None and high is not None and arguments.always_at_least(high, low):
                        return less if pick is min else more
            return Scalar("int", _bounds_one(values)) if all(size is not None for size in sizes) else UNKNOWN
        if isinstance(many, Sequence) and not kwargs:
            known = interp.iterate(many)
            one = interp.any_item(known) if any(map(_is_object, known.items or [known.element])) else UNKNOWN
            if _is_object(one):
                return one  # whichever: what is done to it may be done to any of them
        if len(args) == 1 and isinstance(args[0], Sequence) and args[0].items is None:
            values = [args[0].element]
        if len(args) > 1 and any(map(numbers.kind_of, args)):
            # What a number is compared with is none or an array; of what is no array it is a number.
            values = [
                Scalar("real") if isinstance(each, Opaque) and each.kind == PLAIN and not each.integer else each
                for each in args
            ]
        found = UNKNOWN if kwargs else numbers.one_of(values)
        if isinstance(found, Opaque) and found.integer and _bounds_one(values):
            found._symbol = S.counter(numbers=True)
        return found

    return extreme


def _bounds_one(values: list[Value]) -> bool:
    """`max(1, n // 32)` is 1 as often as not, whatever it is called."""
    return any(isinstance(each, Const) and isinstance(each.value, int) and each.value <= 1 for each in values)


def _getattr(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) == 2 and isinstance(args[1], Const) and isinstance(args[1].value, str):
        return containers.share(interp.attribute_of(args[0], args[1].value, node))
    if len(args) == 3 and truths.lacks(args[0], args[1]):
        return args[2]
    if len(args) == 3 and truths.is_made(args[0]) and isinstance(args[1], Const) and args[1].value in kind_tests.OF_ALL:
        return containers.share(interp.attribute_of(args[0], args[1].value, node))
    if len(args) == 3 and isinstance(args[0], (Instance, Class)) and isinstance(args[1], Const):
        # It may be a property, which is asked for.
        return one_within([interp.attribute_of(args[0], str(args[1].value), node), args[2]])
    if len(args) > 1 and isinstance(args[0], Instance):
        interp.forget_attributes(args[0], interp.file.facts.unstable_attributes)  # should it be a method that is called
    if len(args) > 1 and isinstance(args[0], Tensor) and not isinstance(args[1], Const):
        # It may be a method that gives the tensor another shape, where the file speaks of any.
        if aliases.TIES.on:
            interp.reshape(args[0])
    if args and isinstance(args[0], (Instance, Class)):
        return one_within([*_held_as(interp, args[0], node), *args[0].given, *args[2:]])
    return UNKNOWN


def _held_as(interp: State, owner: Instance | Class, node: ast.AST | None) -> Iterable[Value]:
    """What `getattr(owner, f"layer{n}")` may give: what the owner holds under a name of that form, where nothing else
    answers for it."""
    spelled = isinstance(node, ast.Call) and len(node.args) > 1
    patterns = patterns_of(node.args[1], interp.frame.node) if spelled and isinstance(node, ast.Call) else None
    if patterns is None:
        return owner.held.values()
    found = [value for name, value in owner.held.items() if fits_any(name, patterns)]
    for base in method_order(owner.cls if isinstance(owner, Instance) else owner):
        if not isinstance(base, Class):
            if isinstance(base, Library) and base.path in _WITHOUT_PROPERTIES:
                continue
            return owner.held.values()
        if not ANSWERING.isdisjoint(base.held):
            return owner.held.values()
        for name, value in base.held.items():
            if fits_any(name, patterns) and not (isinstance(value, Function) and value.kind == "function"):
                if not isinstance(value, (Const, Tensor, Sequence, Dictionary)):  # a property, it may be
                    return owner.held.values()
                found.append(value)
    return found


def _exec(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """The program's text may assign any name; a function's or class's only if it stands there."""
    text = args[0].value if args and isinstance(args[0], Const) else ""
    if aliases.TIES.on:
        interp.reshape_any(UNKNOWN)
    defined = set(re.findall(r"\w+", text)) if isinstance(text, str) else set()
    for name, value in interp.frame.env.items():
        if name in defined or not isinstance(value, (Function, Class, Library, ModuleScope)):
            interp.frame.env[name] = one_within([value])  # which it may still hold
    interp.escape(args, kwargs)
    interp.mutations.append((interp, None))
    return UNKNOWN


def _divmod(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """Python's own of two numbers; of an object that has a method of it nobody knows."""
    if len(args) != 2 or kwargs or node is None or any(isinstance(each, (Instance, LibraryObject)) for each in args):
        interp.escape(args, kwargs)
        return UNKNOWN
    if any(isinstance(each, Tensor) and each.framework != "numpy" for each in args):
        return UNKNOWN  # tensors have no method of it: numpy's numbers make arrays of them, and Python's an error
    return Sequence("tuple", [interp.binary(sign, *args, node) for sign in ("//", "%")])


# Words of expressions that change something.
_CHANGING = (":=", "__", "_(", "attr(", "exec(", ".append(", ".insert(", ".update(", ".pop(")


def _eval(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """A text that is not written there is taken to be a name or a number, as settings are."""
    text = args[0].value if args and isinstance(args[0], Const) else ""
    if isinstance(text, str) and any(word in text for word in _CHANGING):
        return _exec(interp, args, kwargs, node)
    interp.escape(args, kwargs)
    return _from_names(interp, args, kwargs, node) if text else UNKNOWN


def _type(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) == 3:
        interp.made_by_call(args[1], args[2])
        return one_within([args[2]])
    cls = args[0].cls if len(args) == 1 and isinstance(args[0], Instance) else None
    held = (
        []
        if cls is None
        else [one for base in method_order(cls) if isinstance(base, Class) for one in base.held.values()]
    )
    return one_within(each for each in held if not isinstance(each, Function))


def _property(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """`property(get, set)`, where it is not a decorator."""
    get = args[0] if args else kwargs.get("fget", UNKNOWN)
    if isinstance(get, Function):
        return Function(get.node, get.scope, get.owner, None, get.defaults, "property", get.decorated)
    return Function(_UNSEEN, interp.frame, kind="property", decorated=True)


# Stands for a function that nobody knows.
_UNSEEN = ast.Lambda(ast.arguments([], [], None, [], [], None, []), ast.Constant(None))


def _setattr(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) == 3:
        interp.set_by_name(args[0], args[1:], node)
    return NONE


def _delattr(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) == 2:
        interp.set_by_name(args[0], [args[1], UNKNOWN], node)
    return NONE


def _from_names(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """What gives what names stand for, by their text."""
    return one_within([*interp.frame.env.values(), *interp.module_frame.env.values()])


def _vars(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    return interp.attribute_of(args[0], "__dict__", node) if len(args) == 1 else _from_names(interp, args, kwargs, node)


def make_dict(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if not args:
        return Dictionary({key: containers.share(value) for key, value in kwargs.items()}, born=interp.steps)
    if isinstance(args[0], Dictionary) and args[0].items is not None:
        return Dictionary({**args[0].items, **kwargs}, born=interp.steps)
    entry = one_within([*args, *kwargs.values()])
    made = _from_pairs(interp.iterate(args[0])) if isinstance(args[0], Sequence) else None
    if made is None:
        return Dictionary(None, entry, born=interp.steps)
    return Dictionary({**made, **kwargs}, born=interp.steps)


def _from_pairs(pairs: Sequence) -> dict[Any, Value] | None:
    items: dict[Any, Value] = {}
    for pair in () if pairs.items is None else pairs.items:
        if not (isinstance(pair, Sequence) and pair.items is not None and len(pair.items) == 2):
            return None
        if not isinstance(pair.items[0], Const):
            return None
        items[pair.items[0].value] = containers.share(pair.items[1])
    return None if pairs.items is None else items


def _abs(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) != 1:
        return UNKNOWN
    if isinstance(args[0], Tensor):
        if args[0].framework == "numpy":
            return interp.call_library("numpy.abs", args, {}, node)
        return interp.call_method(args[0], "abs", [], {}, node)
    if isinstance(args[0], Const) and isinstance(args[0].value, (int, float)):
        return Const(abs(args[0].value))
    known = _as_kind({"int": "int", "bool": "int", "float": "float", "complex": "float", "real": "real"}, args[0])
    return _perhaps_zero(known, args[0])


def _perhaps_zero(known: Value, given: Value) -> Value:
    """What a function makes of an object that nobody knows: used as a size, one that may be 0."""
    if known is UNKNOWN and isinstance(given, (Opaque, Unknown)):
        known = Opaque(None)
        known._symbol = S.counter()
    return known


def _pow(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) == 2 and not kwargs:
        return interp.binary("**", args[0], args[1], node or ast.Constant(0))
    return UNKNOWN


def _next(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if args and isinstance(args[0], (Sequence, LibraryObject, Tensor)):
        default = one_within(args) if len(args) > 1 else UNKNOWN
        known = interp.iterate(args[0])
        # Which item comes next depends on what was taken before.
        return interp.any_item(known) if len(args) == 1 else default
    return one_within(args)


def _iter(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) != 1:  # what a function gives, until it gives the last
        given = [
            each
            for arg in args[:1]
            for each in (interp.lists_given(arg, [], {}, modules=True) if isinstance(arg, Function) else (arg,))
        ]
        return one_within(given)
    return iterators.of(interp, args[0])


def _round(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) == 1 and isinstance(args[0], Const) and isinstance(args[0].value, (int, float)):
        return Const(round(args[0].value))
    if len(args) == 1:
        return _perhaps_zero(_as_kind({"int": "int", "bool": "int", "float": "int", "real": "int"}, args[0]), args[0])
    digits = args[1] if len(args) == 2 else UNKNOWN
    return (
        _as_kind({"int": "int", "bool": "int", "float": "float"}, args[0]) if integer(digits) is not None else UNKNOWN
    )


def _as_kind(kinds: dict[str, Any], value: Value) -> Value:
    kind = kinds.get(numbers.kind_of(value) or "")
    return UNKNOWN if kind is None else numbers.of_kind(kind)


def reveal_shape(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    interp.reveal(args, node)
    return args[0] if args else UNKNOWN


def _super(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    return UNKNOWN


def _bool(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    truth = interp.truth(args[0]) if len(args) == 1 else None
    return Scalar("bool") if truth is None else Const(truth)


def _slice(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    from tensorlint.inference.values import Slice

    if len(args) == 1:
        return Slice(NONE, args[0], NONE)
    if len(args) == 2:
        return Slice(args[0], args[1], NONE)
    return Slice(*args[:3]) if len(args) == 3 else UNKNOWN


_BUILTINS: dict[str, Any] = {
    "len": _len,
    "range": _range,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "abs": _abs,
    "pow": _pow,
    "divmod": _divmod,
    "round": _round,
    "list": _to_sequence("list"),
    "tuple": _to_sequence("tuple"),
    "set": _to_sequence("set"),
    "frozenset": _to_sequence("set"),
    "dict": make_dict,
    "zip": _zip,
    "enumerate": _enumerate,
    "reversed": _reversed,
    "sorted": _sorted,
    "filter": _filter,
    "map": _map,
    "sum": _sum,
    "min": _extreme(min),
    "max": _extreme(max),
    "globals": _from_names,
    "locals": _from_names,
    "getattr": _getattr,
    "object.__getattribute__": _getattr,
    "hasattr": truths.truth_of(truths.has_attribute),
    "isinstance": truths.truth_of(truths.is_instance),
    "any": truths.of_all(True),
    "all": truths.of_all(False),
    "property": _property,
    "exec": _exec,
    "eval": _eval,
    "type": _type,
    "setattr": _setattr,
    "delattr": _delattr,
    "vars": _vars,
    "object.__setattr__": _setattr,
    "next": _next,
    "iter": _iter,
    "slice": _slice,
    "super": _super,
    "reveal_shape": reveal_shape,
}
