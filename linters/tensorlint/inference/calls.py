"""What each kind of call gives: library operations by their tables, the program's own functions by following them."""

from __future__ import annotations

import ast
import itertools
import re
from functools import lru_cache, partial
from typing import Any

from tensorlint.inference import (
    aliases,
    builtins,
    containers,
    data_loading,
    expanded_writes,
    iterators,
    known_axes,
    layer_changes,
    library_objects,
    module_containers,
    module_formats,
    one_of_class,
    ops,
    ranks,
    refinement,
    sizes_in_place,
    table_values,
    tables,
    unset,
)
from tensorlint.inference import sizes as S
from tensorlint.inference.changes import CHANGES, NEITHER, PUTS
from tensorlint.inference.class_order import method_order
from tensorlint.inference.contents import (
    each_part_of,
    given_back,
    is_changed_by_methods,
    items_of,
    one_within,
    put_one,
    variant_of,
)
from tensorlint.inference.effects import Together
from tensorlint.inference.forgetting import GoneThrough
from tensorlint.inference.forward_hooks import FORWARD_HOOKS
from tensorlint.inference.forward_reports import CALLING_METHODS, class_of, hands_forward
from tensorlint.inference.implicit_calls import CALLED, held_by, may_change
from tensorlint.inference.joining import JOINING, OF_ONE_RANK
from tensorlint.inference.methods import TENSOR_ONLY
from tensorlint.inference.ops import indexing, modules, unknown_arguments
from tensorlint.inference.ops.torch.inplace import RESHAPING
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    CONTAINERS,
    KEEPS_SHAPE,
    NONE,
    NUMPY_SCALAR,
    ONE_CLASS,
    ONE_LAYER,
    OPEN,
    UNKNOWN,
    Attribute,
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
    Partial,
    Sequence,
    Tensor,
    Unknown,
    Value,
    copy,
    is_none,
    moved,
    unknown_members,
)
from tensorlint.inference.variants import freshen_axes
from tensorlint.inference.walking import walk
from tensorlint.inference.written_words import words_of

# Functions and methods that are told the shape of their result.
_SHAPED = frozenset(
    ["zeros", "ones", "empty", "full", "rand", "randn", "new_zeros", "new_ones", "new_empty", "new_full", "view",
     "reshape", "expand", "broadcast_to"]
)  # fmt: skip
# Layers that compute with the last axis of what they are given: a column has one feature there.
_PROJECTIONS = frozenset({"torch.nn.Linear", "torch.nn.LazyLinear", "torch.nn.Bilinear"})
# Layers that take nothing but a tensor of torch.
_LAYER = re.compile(r"torch\.nn\.(?!Identity$|Sequential$|Module)[A-Z]\w*$")
# Functions of torch that refuse tensors with axes.
_OF_SCALARS = frozenset({"torch.arange", "torch.linspace", "torch.logspace"})
# Functions of torch that are told the shape of their result, size by size, and layers that are told how many features there are.
_OF_SIZES = frozenset("torch." + name for name in ("zeros", "ones", "empty", "rand", "randn"))
# Those of numpy, which are told it in one argument, a number or a tuple of numbers; and those that are told size by size.
_MAKES_OF_SIZES = frozenset(
    [*(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full")), "numpy.random.rand", "numpy.random.randn",
     *(f"numpy.random.{name}" for name in ("normal", "uniform", "random", "standard_normal", "random_sample", "randint"))]
)  # fmt: skip
_SIZE_BY_SIZE = frozenset({"numpy.random.rand", "numpy.random.randn"})
_FEATURES = {f"torch.nn.{name}": 2 for name in ("Linear", "Embedding", "Conv1d", "Conv2d", "Conv3d")}
_PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
# Fields that a layer has whose call may give anything.
_REPLACED = frozenset({"forward", layer_changes.CHANGED})

_OF_STAND_INS = frozenset({Instance, Sequence})
_CALLED_LATER = frozenset({Attribute, Function, Partial})
_MAY_BE_TENSORS = frozenset({Tensor, Opaque, Unknown})
# Functions that give tensors another shape in place, beside `torch.Tensor.unsqueeze_(x, 0)` and its like.
_RESHAPES = frozenset({"torch.utils.swap_tensors", "numpy.ndarray.resize"})
_CALLS_NOTHING = frozenset(
    ["print", "id", "hash", "repr", "str", "callable", "hasattr", "getattr", "setattr", "type", "isinstance", "issubclass", "property",
     "staticmethod", "classmethod", "list", "tuple", "dict", "set", "len", "zip", "enumerate", "super", "vars", "bool"]
)  # fmt: skip

_RESAMPLES = frozenset({"torch.nn.functional.interpolate", "torch.nn.functional.upsample"})
_ASKS_EACH = frozenset(["sorted", "min", "max"])

Arguments = tuple[list[Value], dict[str, Value]]


_MAKES_ARRAY = frozenset({"numpy.array", "numpy.asarray", "numpy.ascontiguousarray", "numpy.asfortranarray"})


# Functions of numpy that give an array of series and frames, too: others give a series or a frame.
_ARRAY_OF_TABLES = _MAKES_ARRAY | frozenset(
    "numpy." + name for name in ("where", "concatenate", "stack", "vstack", "hstack", "column_stack")
)


def _decides(value: Value) -> bool:
    """Whether the value's class may decide what a function of numpy gives: an object of a class of the program with
    `__array_function__`, `__array_ufunc__` or a method of the function's name, a list of these, or a torch tensor, of
    which `np.exp` makes a tensor."""
    if isinstance(value, Sequence):
        return any(isinstance(item, Instance) for item in value.items or (value.element,))
    return isinstance(value, Instance) or (isinstance(value, Tensor) and value.framework == "torch")


def _is_number_of_numpy(value: Value) -> bool:
    return type(value) is Opaque and value.kind == NUMPY_SCALAR


def _stands_in(value: Value, stand_ins: bool) -> bool:
    """Whether the value, or an item of a list, is an object whose class decides what a function of torch gives of it; it
    may be one of nobody knows which class in a file with such `stand_ins`."""
    if isinstance(value, Instance):
        return any(isinstance(base, Class) and base.has("__torch_function__") for base in method_order(value.cls))
    if isinstance(value, Sequence):
        items = value.items or (value.element,)
        return any(type(each) is Instance and _stands_in(each, stand_ins) for each in items) or (
            stand_ins and any(map(unknown_arguments.is_unknown, items))
        )
    return stand_ins and unknown_arguments.is_unknown(value)


def _is_changed(layer: Opaque) -> bool:
    """Whether one of the layers that it is one of may give something else than it did when it was made."""
    waiting: list[Value] = [layer]
    for each in waiting:  # grows meanwhile
        if isinstance(each, (Opaque, LibraryObject)):
            if each.fields and not _REPLACED.isdisjoint(each.fields):
                return True
            waiting += each.parts
    return False


def _is_of_library(function: Value) -> bool:
    """Whether it is a function of a library, a method of a tensor, or one with arguments that it was given before."""
    return type(function) in (Library, Partial) or (type(function) is Attribute and type(function.receiver) is Tensor)


def _is_layer(value: Value) -> bool:
    return isinstance(value, LibraryObject) or (isinstance(value, Instance) and value.cls.is_module)


@lru_cache(4096)
def _reshapes(path: str) -> bool:
    """`torch.Tensor.t_`, `torch.ops.aten.transpose_.default`, `torch.Tensor.data.__set__`."""
    if path in _RESHAPES or not path.startswith(("torch.", "numpy.ndarray.")):
        return path in _RESHAPES
    *_, before, last = path.split(".")
    return last in RESHAPING or (before in RESHAPING and path.startswith("torch.ops.")) or last == "__set__"


@lru_cache(4096)
def _put_by(path: str) -> str | None:
    """The method of a layer that puts something into the first argument: `nn.Sequential.append(layers, layer)`."""
    owner, _, method = path.rpartition(".")
    is_class = path.startswith("torch.nn.") and owner.rpartition(".")[2][:1].isupper()
    return method if is_class and (method in PUTS or method in FORWARD_HOOKS) else None


# Builtins that go through no iterator, or no further than one item.
_LEAVES = frozenset(
    f"builtins.{name}" for name in ("next", "iter", "print", "isinstance", "type", "id", "len", "hasattr")
)


def _in_layout(made: Value, kind: Value) -> Value:
    """A new tensor with the `layout` it was asked for: a sparse one has no strides, and what is made of it neither."""
    if not isinstance(made, Tensor) or (isinstance(kind, Library) and kind.path == "torch.strided"):
        return made
    shape = None if isinstance(kind, Library) else made.shape
    return copy(made, shape=shape, strides=None)


def _unpacked(value: Value) -> list[Value]:
    """What a call is handed of `*value` and `**value`: never the list or the dictionary itself."""
    return items_of(value) if isinstance(value, (Sequence, Dictionary)) else [value]


_MOST_STARRED = 16


# What shows a tensor as an object of its own, whose shape can be changed without that of the first.
_ANOTHER = frozenset({"detach", "data", "Variable"})
# Functions of numpy that keep every axis of what they are given.
_CONVERTS = frozenset({"numpy.asarray", "numpy.ascontiguousarray"})
_CHOOSES = frozenset({"nonzero", "argwhere", "masked_select"})


class Calls(State):
    """Mixed into the interpreter: `eval_call`, `call` and what they dispatch to."""

    __slots__ = ()

    def arguments(self, node: ast.Call) -> Arguments | None:
        """The evaluated arguments; None where a star hides how many there are."""
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        for argument in node.args:
            if type(argument) is ast.Starred:
                return self.starred_arguments(node, args, kwargs)
            args.append(self.eval(argument))
        for keyword in node.keywords:
            name = keyword.arg
            if name is None:
                return self.starred_arguments(node, args, kwargs)
            kwargs[name] = self.eval(keyword.value)
        self.starred = self.open_call = None
        given = self.unsure = args, kwargs
        return given

    def starred_arguments(self, node: ast.Call, args: list[Value], kwargs: dict[str, Value]) -> Arguments | None:
        """The arguments from the first with a star on; `args` and `kwargs` are those before it."""
        known = True
        unsure: tuple[Value, ...] = ()
        starred: Sequence | None = None
        before = 0
        only_words = True
        for argument in node.args[len(args) :]:
            if not isinstance(argument, ast.Starred):
                args.append(self.eval(argument))
            else:
                value = self.listed_as_told(self.eval(argument.value))
                items = self.iterate(value) if isinstance(value, (Sequence, LibraryObject)) else None
                if isinstance(value, Tensor) and value.framework == "numpy":
                    items = self.listed_items(value)
                if items is not None and items.items is not None:
                    args.extend(items.items)
                else:
                    unsure = (*unsure, *_unpacked(value))
                    known = only_words = False
                    stars = sum(isinstance(each, ast.Starred) for each in node.args)
                    if stars == 1 and isinstance(value, Sequence):
                        kin = None if value.kin is None else moved(value.kin, len(node.args) - 1)
                        starred = Sequence("tuple", None, UNKNOWN if items is None else items.element, kin=kin)
                        before = len(args)
        for keyword in node.keywords[len(kwargs) :]:
            value = self.eval(keyword.value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, Dictionary) and value.items is not None:
                for key, item in value.items.items():
                    kwargs[str(key)] = item
            else:
                unsure = (*unsure, *_unpacked(value))
                known = False
        self.starred = starred
        self.unsure = args, kwargs
        self.open_call = None
        if known:
            return args, kwargs
        if starred is not None:
            starred.tail = tuple(args[before:])
        self.unsure = [*args, *unsure], kwargs
        if only_words and self.file.own:
            words = one_within(unsure)
            self.open_call = args, {**kwargs, OPEN: Opaque(None) if words is UNKNOWN else words}
        return None

    def listed_items(self, value: Tensor) -> Sequence | None:
        """The numbers of a short array that a star hands over one by one: `f(x, *popt)`."""
        length = value.shape[0] if value.rank == 1 and value.shape else None
        if not isinstance(length, int) or not 0 < length <= _MOST_STARRED:
            return None
        context = self.call_context("iteration", value.made)
        return Sequence("tuple", [indexing.getitem(context, value, Const(at)) for at in range(length)])

    def eval_call(self, node: ast.Call) -> Value:
        func = node.func
        if type(func) is ast.Attribute:
            held, name = func.value, func.attr
            if type(held) is ast.Call and type(held.func) is ast.Name and held.func.id == "super":
                return self.call_super(node, name)
            receiver = self.eval(held)
            arguments = self.arguments(node)
            if name in sizes_in_place.TOLD_SIZES and arguments is not None and self.frame.record:
                sizes_in_place.read(self, node, *arguments)
            if type(receiver) is Library or type(receiver) is ModuleScope:
                function = self.attribute_of(receiver, name, func)
                if name == "forward" and arguments is not None:
                    self.saw_unbound_forward(receiver, node, arguments[0])
                return self.call_known(function, arguments, node)
            if name == "forward":
                if isinstance(receiver, Class) or class_of(held) is not None:
                    self.saw_unbound_forward(receiver, node, self.unsure[0] if arguments is None else arguments[0])
                else:
                    self.saw_forward(receiver, node, called=True, known=arguments is not None)
            if arguments is None and self.open_call is not None and self.is_own_method(receiver, name):
                arguments = self.open_call
            if arguments is None:
                self.escape(*self.unsure)
                self.escape_receiver(receiver)
                if isinstance(receiver, Instance):
                    self.not_followed(self.attribute_of(receiver, name, func), *self.unsure)
                return self.starred_method(receiver, name, node)
            if type(receiver) is Instance or type(receiver) is Class:
                if type(receiver) is Instance and (kept := receiver.fields.get(name)) is not None:
                    self.saw_kept_forward(kept, node)
                elif self.takes_forward and hands_forward(node):
                    if not self.is_rebound(receiver if isinstance(receiver, Class) else receiver.cls, name):
                        self.saw_handed_forward(self.attribute_of(receiver, name, func), node)
            elif self.takes_forward and name in CALLING_METHODS:
                self.saw_forward_among(node, self.text_of(func))
            if type(receiver) is Sequence and (
                isinstance(held, (ast.Name, ast.Attribute)) or self.is_value_of_dictionary(held, receiver)
            ):
                given = iterators.held_arguments(self, arguments[0], node)
                changed = containers.mutate(self, receiver, name, given, arguments[1], held)
                if changed is not None:
                    return changed
            return self.call_method(receiver, name, arguments[0], arguments[1], node)
        function = self.eval(func)
        arguments = self.arguments(node)
        if (
            type(func) is ast.Name
            and func.id in sizes_in_place.TOLD_SIZES
            and arguments is not None
            and self.frame.record
        ):
            sizes_in_place.read(self, node, *arguments)
        return self.call_known(function, arguments, node)

    def call_known(self, function: Value, arguments: Arguments | None, node: ast.Call) -> Value:
        if self.takes_forward:
            if type(function) in _CALLED_LATER:
                self.saw_kept_forward(function, node)
            self.saw_handed_forward(function, node)
        if arguments is None and isinstance(function, (Function, Class, Instance)):
            arguments = self.open_call
        if arguments is None:
            if isinstance(function, Library):
                return self.call_library_starred(function, node)
            if type(function) is Opaque and function.kind == ONE_CLASS and self.follows_each(function.parts):
                return self.construct_one(function.parts, lambda each: self.call_known(each, None, node))
            args, kwargs = self.unsure
            result = one_within([function, *args, *kwargs.values()])
            if type(function) is Opaque and function.parts:
                for part in each_part_of(function):
                    if _is_of_library(part):
                        self.run_perhaps(part, args, kwargs)
            self.runs_unseen(function, args, kwargs)
            return self.one_module(function, result, node)
        return self.call(function, arguments[0], arguments[1], node)

    def is_own_method(self, receiver: Value, name: str) -> bool:
        """Whether it is a method that the receiver's class, one of the program's, defines."""
        if isinstance(receiver, Instance):
            return name not in receiver.fields and isinstance(self.find_in_class(receiver.cls, name), Function)
        return isinstance(receiver, Class) and isinstance(self.find_in_class(receiver, name), Function)

    def is_value_of_dictionary(self, node: ast.expr, value: Sequence) -> bool:
        """Whether the list is what a dictionary whose keys are known holds under a key that is written: `seen["y"]`."""
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant) or value.parts:
            return False
        whole = self.peek(node.value)
        return isinstance(whole, Dictionary) and whole.items is not None and whole.items.get(node.slice.value) is value

    def starred_method(self, receiver: Value, name: str, node: ast.Call) -> Value:
        """A method of a tensor called with stars: `x.view(*shape)` is a tensor, nothing more."""
        if isinstance(receiver, Tensor) and receiver.framework and name in TENSOR_ONLY:
            made = Tensor(receiver.framework, dtype=receiver.dtype)
            if name not in _SHAPED or self.starred is None:
                return made
            made.axes = known_axes.reshaped(self.starred.tail) or None
            return self.keep_rank(made, self.starred)
        return UNKNOWN

    def call_library_starred(self, function: Library, node: ast.Call) -> Value:
        if modules.known(function.path):
            if self.open_call is not None and function.path not in CONTAINERS:
                made = modules.construct(self.call_context(function.path, node), function.path, *self.open_call)
                made.made, made.born = node, self.steps
                return made
            made = LibraryObject(function.path, {}, (), {}, node, born=self.steps)
            if function.path in CONTAINERS:
                made.fields["members"] = unknown_members(function.path)
                module_containers.hold_stars(made, self.starred, self.unsure)
            return made
        if function.path in data_loading.DATA_LOADERS and (given := self.loader_words(node)) is not None:
            return self.call_library(function.path, *given, node)
        if function.path == "builtins.zip" and len(node.args) == 1 and isinstance(node.args[0], ast.Starred):
            return self.transposed(self.iterate(self.eval(node.args[0].value)))
        args, kwargs = self.unsure
        return one_within([*args, *kwargs.values()])

    def loader_words(self, node: ast.Call) -> Arguments | None:
        """The arguments of a loader that tell what its batches are, where dictionaries that the code writes out give others."""
        if self.open_call is None:
            return None
        args, words = self.open_call[0], dict(self.unsure[1])
        sizes: list[ast.expr] = []
        for word in node.keywords:
            if word.arg is None:
                given = words_of(word.value, self.frame.node, self.file.tree)
                if given is None or not data_loading.DECIDES.isdisjoint(given):
                    return None
                sizes += given.get("batch_size", ())
        if sizes:
            if not all(map(self.is_surely_number, sizes)):
                return None
            words["batch_size"] = Opaque(None)
        return args, words

    def is_surely_number(self, node: ast.expr) -> bool:
        """Whether it is a number that is written, or has a name of which nothing says that it may be None."""
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        held = self.peek(node)
        names = unset.names_of(Opaque(None), node)
        return bool(names) and not (held is not None and is_none(held)) and not any(map(self.may_be_none, names))

    def transposed(self, rows: Sequence) -> Value:
        """`zip(*rows)`: rows of one length become columns."""
        # Of rows that nobody knows each column has one item; there are no columns of none.
        several = S.of_symbol(S.Symbol(None, plural=True)) if rows.length is None else rows.length
        unknown = Sequence("tuple", None, one_within([rows]), several, some=True)
        if rows.items is not None:
            if not rows.items or not all(isinstance(row, Sequence) and row.items is not None for row in rows.items):
                return Sequence("iterator", None, unknown)
            listed = [row.items or [] for row in rows.items if isinstance(row, Sequence)]
            return Sequence("iterator", [Sequence("tuple", list(column)) for column in zip(*listed, strict=False)])
        row = rows.element
        if isinstance(row, Instance):
            row = self.fields_of_tuple(row) or UNKNOWN
        if not isinstance(row, Sequence) or row.items is None or row.kind != "tuple":
            return Sequence("iterator", None, unknown)
        return Sequence("iterator", [Sequence("tuple", None, item, rows.length) for item in row.items])

    # -- dispatch ------------------------------------------------------------------------------------------------

    def call(self, function: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        if type(function) is Library:
            return self.call_library(function.path, args, kwargs, node)
        if type(function) is Function:
            return self.call_function(function, args, kwargs, node)
        if type(function) is Class:
            return self.with_end(self.construct(function, args, kwargs, node))
        if type(function) is Instance:
            given = self.call_instance(function, args, kwargs, node)
            if function.generic and function.parts:
                name = "__call__" if self.find_in_class(function.cls, "__call__") is not None else "forward"
                one_of_class.change(self, function, name, args, kwargs)
                return one_of_class.result(self, function, args, kwargs, given)
            return given
        if type(function) is LibraryObject:
            return self.call_library_object(function, args, kwargs, node)
        if type(function) is Partial:
            return self.call(function.function, [*function.positional, *args], {**function.keywords, **kwargs}, node)
        if type(function) is Opaque and function.kind is not None:
            if function.kind == KEEPS_SHAPE and len(args) == 1 and not kwargs and not _is_changed(function):
                return self.kept_shape(args[0], node)
            if function.kind == ONE_LAYER:
                return self.one_of([partial(self.call, each, args, kwargs, node) for each in function.parts])
            if function.kind == ONE_CLASS and self.follows_each(function.parts):
                return self.construct_one(function.parts, lambda each: self.call(each, args, kwargs, node))
        if type(function) is Attribute:
            return self.call_method(function.receiver, function.name, args, kwargs, node)
        # What it gives may be something that the function, or its object, holds, or finds by a name around it.
        result = given_back((*args, *kwargs.values()) if kwargs else args)
        parts = each_part_of(function)
        if parts:
            around = [self.lists_given(each, [], {}, modules=True) for each in parts if type(each) is Function]
            result = one_within([*(each for each in parts if not _is_layer(each)), *itertools.chain(*around), result])
        self.escape(args, kwargs)
        if parts:
            self.run_parts(function, args, kwargs)
        if self.kept:
            self.run_kept(args, kwargs)
        return self.one_module(function, result, node)

    def run_parts(self, function: Value, args: list[Value], kwargs: dict[str, Value]) -> None:
        """Any of those may run that the function, which nobody knows, is one of."""
        seen = GoneThrough()
        run: dict[Function, list[Value]] = {}  # methods, with the objects whose methods they are
        handed: Value | None = None
        put: dict[Value, Value] = {}  # by what the lists may have held before
        together = Together()
        for part in each_part_of(function):
            if _is_of_library(part):
                self.run_perhaps(part, args, kwargs)
                continue
            if type(part) is Attribute and isinstance(part.receiver, (Sequence, Dictionary)):
                part = part.receiver
            if is_changed_by_methods(part):  # `drop = table.drop`
                self.forget_held(part, set(), NEITHER, seen)
            elif isinstance(part, (Sequence, Dictionary)):  # `add = rows.append`
                self.forget_held(part, set(), NEITHER, seen)
                if isinstance(part, Sequence) and part.kind == "tuple":
                    continue
                before = part.element
                if before not in put:
                    handed = handed or variant_of(one_within([*args, *kwargs.values()]))
                    put_one(part, handed, self.crowd)
                    put[before] = put[part.element] = part.element
                part.element = put[before]
            elif isinstance(part, Instance):
                called = self.find_in_class(part.cls, "__call__")
                if called is None and part.cls.is_module:
                    called = self.find_in_class(part.cls, "forward")
                if isinstance(called, Function):
                    run.setdefault(called, []).append(part)
                else:
                    if not part.generic:  # it is a method of it that is called, or of what it holds
                        for held in part.held.values():
                            if is_changed_by_methods(held):
                                self.forget_held(held, set(), NEITHER, seen)
                        self.forget_fields(part)
                    self.not_followed(called or UNKNOWN, args, kwargs, together=together)
            else:
                self.not_followed(part, args, kwargs, together=together)
        for called, receivers in run.items():
            self.not_followed(called, [*receivers, *args], kwargs, together=together)
        self.forget_together(together)

    def run_perhaps(self, function: Value, args: list[Value], kwargs: dict[str, Value]) -> None:
        """What it changes in place may have been changed, or not."""
        proven, log = self.begin_perhaps(), len(self.mutations)
        self.call(function, args, kwargs, None)
        self.forget_since(log)
        self.end_perhaps(proven)

    def with_counted(
        self, path: str, args: list[Value], kwargs: dict[str, Value]
    ) -> tuple[list[Value], dict[str, Value]]:
        """The arguments of a function of numpy that makes an array, after `np.zeros((n, m))` with n and m for numbers."""
        keyword = next((name for name in ("shape", "size") if name in kwargs), None)
        if path in _SIZE_BY_SIZE:
            if len(args) > 1:
                self.note_counted(args)
            return args, kwargs
        told = (
            kwargs[keyword]
            if keyword is not None
            else args[0]
            if args and path.count(".") == 1
            else args[-1]
            if args
            else UNKNOWN
        )
        if type(told) is Sequence:
            if told.items is not None and len(told.items) > 1:
                self.note_counted(told.items)
        elif type(told) is Opaque and told.kind is None and told in self.frame.counted:
            size = Number(told.size)
            if keyword is not None:
                return args, {**kwargs, keyword: size}
            at = 0 if path.count(".") == 1 else -1
            args = [*args]
            args[at] = size
        return args, kwargs

    def with_end(self, made: Value) -> Value:
        """The new object; what its `__del__` changes of what it holds may be changed from here on."""
        if type(made) is Instance:
            end = self.find_in_class(made.cls, "__del__")
            if isinstance(end, Function):
                self.not_followed(end, [made], {})
        return made

    def kept_shape(self, value: Value, node: ast.AST | None) -> Value:
        """What a layer gives that keeps the shape; its type and layout are the layer's matter."""
        if isinstance(value, Tensor):
            return Tensor("torch", value.shape, None, None, value.device, node, axes=value.axes, kin=value.kin)
        if isinstance(value, Opaque) and value.kind is None:
            self.demand(value, ranks.ANY, torch=True)
            return Tensor("torch", axes=value.axes, kin=value.kin)
        return UNKNOWN

    def escape_callbacks(self, name: str, args: list[Value], kwargs: dict[str, Value]) -> None:
        """`iter(f, None)` calls f; in `map(f, rows)`, `sorted(rows, key=f)` it is followed; `callable(f)` calls nothing."""
        if name in _CALLS_NOTHING or name in _ASKS_EACH or (name in ("map", "filter") and len(args) == 2):
            return
        # What f is given is among the others, or in them.
        given = [item for value in args for item in held_by(value)]
        for value in (*args, *kwargs.values()):
            self.not_followed(value, given, {})

    def escape_receiver(self, receiver: Value) -> None:
        if isinstance(receiver, (Sequence, Dictionary)):
            self.forget_contents(receiver)
            self.mutations.append((receiver, None))

    def call_library(self, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        if path.startswith("builtins."):
            for value in (*args, *kwargs.values()) if kwargs else args:
                if type(value) in CALLED and may_change(value):
                    self.escape_callbacks(path[9:], args, kwargs)
                    break
            if args and type(args[0]) is Opaque and path.rpartition(".")[2] in CHANGES:
                self.changed_items(args[0], longer=True)  # `list.append(rows, row)`
            result = builtins.call(self, path[9:], args, kwargs, node)
            for value in args:
                if type(value) is Sequence and path not in _LEAVES:
                    iterators.spend(self, value)
            return result
        if args and (method := _put_by(path)):
            return self.call_method(args[0], method, args[1:], kwargs, node)
        if args and type(args[0]) is Tensor and (path[-1] == "_" or path in expanded_writes.NUMPY_WRITERS):
            self.write_by_function(args[0], path, node)
        if args and type(args[0]) is LibraryObject:
            series = table_values.computed(path, args, kwargs, node)
            if series is not None:
                return series
        if _reshapes(path):
            for value in args:
                if type(value) in _MAY_BE_TENSORS:
                    self.reshape(value)
            return UNKNOWN
        entry = ops.function(path)
        if entry is not None:
            if args and type(args[0]) is LibraryObject:
                args = tables.as_array(path, args, node)
            if args and entry.framework == "numpy":
                if path in _MAKES_ARRAY and type(args[0]) is Sequence and (kwargs or len(args) > 1):
                    self.stray(items_of(args[0]))  # of an array of objects, it may be
                if path not in _ARRAY_OF_TABLES and any(map(table_values.is_table, args)):
                    return UNKNOWN
                if path not in _MAKES_ARRAY and any(map(_decides, args)):
                    self.escape(args, kwargs)
                    return UNKNOWN
            if path in _OF_SIZES and len(args) > 1:
                self.note_counted(args)
            if entry.framework == "numpy" and path in _MAKES_OF_SIZES:
                args, kwargs = self.with_counted(path, args, kwargs)
            if path in _OF_SCALARS:
                for value in (*args, *kwargs.values()):
                    refinement.take_for_scalar(self, value)
            return self.apply(entry, args, kwargs, node)
        if modules.known(path):
            made = modules.construct(self.call_context(path, node), path, args, kwargs)
            if isinstance(made, LibraryObject):
                made.made, made.born = node, self.steps
                if path in _FEATURES and type(made) is LibraryObject:
                    for value in args[: _FEATURES[path]]:
                        refinement.take_for_number(self, value)
            return made
        if path.startswith("torch.") and "out" in kwargs:
            self.written(UNKNOWN, kwargs["out"], node)
        given: Value = library_objects.call_library(self, path, args, kwargs, node)
        if aliases.TIES.on:
            aliases.tie_result(given, args)
        return given

    def apply(self, entry: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        if kwargs and ("axis" in kwargs or "keepdims" in kwargs) and entry.framework == "torch":
            kwargs = ops.spelled_as_torch(entry, kwargs)
        told = False
        for value in (*args, *kwargs.values()) if kwargs else args:
            made_of = type(value)
            if made_of is Opaque and value.lengths:  # type: ignore[attr-defined]
                told = True
            if (made_of is Tensor and "optional" in value.marks) or (  # type: ignore[attr-defined]
                made_of is Sequence and entry.framework == "numpy" and unknown_arguments.may_be_none(value)
            ):
                if made_of is Tensor and "out" in kwargs:
                    self.written(UNKNOWN, kwargs["out"], node)
                args, kwargs = unknown_arguments.given_or_not(entry, args, kwargs)
                break
            if (
                (made_of in _OF_STAND_INS or self.stand_ins)
                and entry.framework == "torch"
                and _stands_in(value, self.stand_ins)
            ):
                self.escape(args, kwargs)
                return UNKNOWN
        if told:
            args = [self.listed_as_told(value) for value in args]
            kwargs = {name: self.listed_as_told(value) for name, value in kwargs.items()}
        if kwargs and entry.framework == "torch":
            if not is_none(kwargs.get("out", NONE)):
                plain = {name: value for name, value in kwargs.items() if name != "out"}
                return self.written(self.apply(entry, args, plain, node), kwargs["out"], node)
            if not is_none(kind := kwargs.get("layout", NONE)):
                dense = {name: value for name, value in kwargs.items() if name != "layout"}
                return _in_layout(self.apply(entry, args, dense, node), kind)
        if entry.framework == "numpy":
            # numpy's functions make of a number what they make of an array without axes.
            args = [Tensor("numpy", (), ()) if _is_number_of_numpy(value) else value for value in args]
        if entry.name in _RESAMPLES:
            args, kwargs = self.with_sizes_of_space(args, kwargs)
        call = self.call_context(entry.name, node)
        if entry.name in JOINING and args and type(args[0]) is Sequence:
            args = [self.joined_tensors(args[0]), *args[1:]]
        self.demand_of_function(entry.name, args, kwargs)
        if entry.name in OF_ONE_RANK and entry.framework == "torch":
            self.demand_of_operands(entry.name, args, kwargs)
        if self.outcomes or self.vector_numbers:
            self.note_meeting(entry.name, *args)
        result = self.with_outer(ops.apply(entry, call, *unknown_arguments.of_function(entry, args, kwargs)))
        if self.outcomes:
            self.note_given(args, kwargs, result)
        if type(result) is Tensor and result.marks and not (args and result is args[0]):
            expanded_writes.forget_repeated(result, entry.name)
        if type(result) is Tensor and "optional" in result.marks and entry.name.rpartition(".")[2] != "grad":
            result = copy(result, marks=result.marks - {"optional"})  # which None would not have given
        if aliases.TIES.on:
            if args and result is args[0] and type(result) is Tensor and entry.name.rpartition(".")[2] in _ANOTHER:
                result = copy(result, axes=result.axes, kin=result.kin)
            else:
                aliases.tie_result(result, args)
        if "out" in kwargs:
            aliases.tie(result, kwargs["out"])
        elif aliases.TIES.on and entry.framework == "numpy" and len(args) > 1:
            for parameter, arg in zip(entry.parameters, args, strict=False):
                if parameter.name == "out":  # `np.add(x, 1, x)`
                    aliases.tie(result, arg)
        if type(result) is Tensor:
            if entry.name in _PARAMETERS:
                return layer_changes.held(self, copy(result))  # an object of its own
            if result.shape is not None:
                if not result.shape and result.dtype == "object":
                    return UNKNOWN  # the object itself, as a rule: `np.sum(x, dtype=object)`
                return result
            if args and result.axes is None and (entry.framework == "torch" or entry.name in _CONVERTS):
                result.axes = known_axes.after_function(entry.name.rpartition(".")[2], args, kwargs) or None
        return self.related_result(entry, result, args, kwargs, node) if args else result

    def written(self, result: Value, out: Value, node: ast.AST | None) -> Value:
        """What `out` is once a result was written into it: torch gives it the result's shape, it keeps its own dtype."""
        if isinstance(out, Sequence) and out.items is not None:
            parts = result.items if isinstance(result, Sequence) else None
            if parts is None or len(parts) != len(out.items):
                parts = [UNKNOWN] * len(out.items)
            return Sequence("tuple", [self.written(*pair, node) for pair in zip(parts, out.items, strict=True)])
        if not isinstance(out, Tensor):
            self.reshape(out)
            return UNKNOWN
        self.write_by_function(out, "out", node)
        shape = result.shape if isinstance(result, Tensor) else None
        if shape is not None and shape == out.shape:
            return out
        if aliases.is_tied(out) or id(out) in self.reshaped:
            shape = None  # what else may be this tensor, and may get another shape later, is not told any more
        made = Tensor("torch", shape, None, out.dtype, out.device, node)
        self.forget_tensor(out)
        aliases.tie(made, out)
        env = self.frame.env
        for part in node.keywords if isinstance(node, ast.Call) else ():
            for name in walk(part.value) if part.arg == "out" else ():
                if isinstance(name, ast.Name) and env.get(name.id) is out:
                    env[name.id] = made
                    self.frame.facts.assigned[name.id] = 2  # other functions find either
        return made

    def related_result(
        self, entry: Any, result: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        """A result of unknown rank: what the operation says of its rank all the same."""
        name = entry.name.rpartition(".")[2]
        if not isinstance(result, Tensor):
            if entry.framework != "torch":
                return result
            rank = (
                ranks.of_result(name, args[1:], kwargs) if result is UNKNOWN and isinstance(args[0], Tensor) else None
            )
            if rank is not None:
                return Tensor("torch", _unknown_sizes(name, rank), None, None, None, node)
            return self.related_results(name, result, args, kwargs, node)
        if entry.framework == "torch":
            rank = ranks.of_result(name, args[1:], kwargs)
            if name == "einsum":
                rank = self.rank_of_einsum(args)
            if rank is not None:
                return Tensor("torch", _unknown_sizes(name, rank), None, result.dtype, result.device, node)
            if name in _SHAPED:
                for arg in args:
                    if isinstance(arg, Sequence) and arg.items is None and (arg.kin is not None or arg.tail):
                        if arg.tail:
                            result.axes = known_axes.reshaped(arg.tail)
                        return self.keep_rank(result, arg)
            if entry.name in JOINING and isinstance(args[0], Sequence):
                return self.after_joining(entry.name, result, args, kwargs, node)
            if name in ("view_as", "expand_as", "reshape_as") and len(args) == 2:
                return self.keep_rank(result, args[1])
        change = ranks.change(name, args[1:], kwargs, entry.name)
        return result if change is None else self.of_rank(result, args[0], change, entry.framework, node)

    def of_rank(
        self, result: Tensor, operand: Value, change: int, framework: str | None, node: ast.AST | None
    ) -> Tensor:
        """The result of an operation that gives so many axes more than its operand has."""
        if isinstance(operand, Tensor) and operand.shape is not None:
            if framework != "torch" or (rank := len(operand.shape) + change) < 0:
                return result  # where there is no axis left torch takes none away
            return copy(result, shape=tuple(S.symbol() for _ in range(rank)), made=node)
        self.keep_rank(result, operand, change)
        return result

    def related_results(
        self, name: str, result: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        """The parts that `chunk`, `split`, `topk`, ... make of a tensor of unknown rank, or along an unknown axis."""
        whole = args[0]
        if name not in ranks.SEVERAL or not isinstance(whole, Tensor) or (whole.shape is None and whole.kin is None):
            return result
        change = ranks.change_of_several(name, args[1:], kwargs)
        if change is None:
            return result
        axes = None if whole.shape is not None else known_axes.after_split(name, args, kwargs) or None
        if isinstance(result, Sequence) and result.items is not None:
            for item in result.items:
                self.keep_rank(item, whole, change)
                if isinstance(item, Tensor) and item.shape is None and item.axes is None:
                    item.axes = None if axes is None else freshen_axes(axes)
        elif result is UNKNOWN or (isinstance(result, Sequence) and result.element is UNKNOWN):
            types = (whole.dtype,) if ranks.SEVERAL[name] is None else (whole.dtype, "int64")
            parts: list[Value] = [
                self.of_rank(Tensor("torch", dtype=each, axes=axes), whole, change, whole.framework, node)
                for each in types
            ]
            if len(parts) > 1:
                return Sequence("tuple", parts)
            if isinstance(part := parts[0], Tensor) and part.shape is not None:  # other sizes in each
                part.shape = tuple(S.of_symbol(S.Symbol(None, variant=True)) for _ in part.shape)
            return Sequence("tuple", None, parts[0])
        return result

    def rank_of_einsum(self, args: list[Value]) -> int | None:
        operands = args[1:]
        if len(operands) == 1 and isinstance(operands[0], Sequence) and operands[0].items is not None:
            operands = operands[0].items
        known = ranks.of_equation(args[0], operands)
        if known is None:
            return None
        for operand, rank in zip(operands, known[0], strict=True):
            self.demand(operand, ranks.exactly(rank), torch=True)
        return known[1]

    def call_library_object(
        self, receiver: LibraryObject, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        if not modules.known(receiver.path):
            return library_objects.call_object(self, receiver, args, kwargs, node)
        self.layer_rank(receiver, args)
        replaced = "forward" in self.patched or "__call__" in self.patched or self.patches_any
        if replaced or receiver.fields.keys() & _REPLACED:
            self.escape(args, kwargs)
            return UNKNOWN
        if self.patched_in_layers and modules.may_call(receiver.path, self.patched_in_layers):
            self.escape(args, kwargs)
            return UNKNOWN
        for value in args:
            if (type(value) in _OF_STAND_INS or self.stand_ins) and _stands_in(value, self.stand_ins):
                self.escape(args, kwargs)
                return UNKNOWN
        if layer_changes.changed_anywhere(self):
            changed = layer_changes.changed_elsewhere(self, receiver)
            if not isinstance(changed, LibraryObject):
                self.escape(args, kwargs)
                return UNKNOWN
            receiver = changed
        given = args
        if args and type(first := args[0]) is Tensor and first.framework is None and _LAYER.match(receiver.path):
            args = [copy(first, framework="torch", axes=first.axes, kin=first.kin), *args[1:]]  # or it would be refused
        if receiver.path in _PROJECTIONS:
            self.note_meeting("@", *args)
        result = self.with_outer(modules.call_module(self.call_context(receiver.path, node), receiver, args, kwargs))
        if result is UNKNOWN and receiver.path == "torch.nn.Sequential" and len(args) == 1:
            result = module_containers.repeated(self, receiver, args[0], node)
        result = layer_changes.after_assignment(receiver, result)
        if type(result) is Tensor and result.shape is None and result.axes is None and args:
            result.axes = known_axes.after_layer(receiver, args[0])
        if args and ranks.SAME_LAYERS.match(receiver.path.rpartition(".")[2]):
            result = self.keep_rank(result, args[0])
        elif args and receiver.path == "torch.nn.Embedding":
            result = self.keep_rank(result, args[0], 1)
        if isinstance(result, Tensor):
            if not self.file.module_dtypes and result.dtype is not None:
                result = copy(result, dtype=None)
            if not self.file.module_layouts and result.rank in (3, 4, 5) and result.contiguous:
                result = module_formats.after_conversion(receiver, result)
        if aliases.TIES.on:
            aliases.tie_result(result, given)  # `nn.Identity()(x)`
        return result

    # -- methods -------------------------------------------------------------------------------------------------


def _unknown_sizes(name: str, rank: int) -> tuple[S.Size, ...]:
    """The sizes of a result of which only the rank is known; of what is chosen by its value there may be nothing."""
    return tuple(S.counter() if at == 0 and name in _CHOOSES else S.symbol() for at in range(rank))
