"""Methods of tensors, of objects nobody knows, of modules and containers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from tensorlint.inference import (
    aliases,
    containers,
    declared,
    forward_hooks,
    iterators,
    layer_changes,
    library_objects,
    module_containers,
    module_formats,
    numbers,
    one_of_class,
    ops,
    ranks,
)
from tensorlint.inference import sizes as S
from tensorlint.inference.changes import CHANGES, LEARNS, NAMESPACES, PUTS
from tensorlint.inference.contents import OF_ESTIMATORS, given_back, one_within
from tensorlint.inference.effects import READS
from tensorlint.inference.expanded_writes import NUMPY_WRITES
from tensorlint.inference.ops import modules
from tensorlint.inference.ops.torch.inplace import RESHAPING
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    KEYED,
    NONE,
    UNKNOWN,
    Attribute,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Partial,
    Sequence,
    Tensor,
    Unknown,
    Value,
    copy,
    integer,
    moved,
)

# Methods that only tensors have, of the names that models use: an unknown object that has one is a tensor.
_DISTRIBUTIONS = re.compile("[Dd]istribution|[Pp]rior|pyro")
TENSOR_ONLY = frozenset(
    [
        "view",
        "permute",
        "unsqueeze",
        "masked_fill",
        "masked_fill_",
        "bmm",
        "contiguous",
        "softmax",
        "log_softmax",
        "argmax",
        "matmul",
        "mm",
        "flatten",
        "new_zeros",
        "new_ones",
        "unflatten",
        "squeeze",
        "view_as",
        "expand_as",
        "masked_select",
        "index_select",
        "scatter_",
        "scatter",
        "gather",
        "chunk",
        "transpose",
        "expand",
        "reshape",
        "repeat_interleave",
        "unsqueeze_",
    ]
)
# Of these the ones that no array, series or table has.
TORCH_ONLY = frozenset(
    [
        "permute",
        "unsqueeze",
        "unsqueeze_",
        "masked_fill",
        "masked_fill_",
        "bmm",
        "new_zeros",
        "new_ones",
        "unflatten",
        "view_as",
        "expand_as",
        "masked_select",
        "index_select",
        "scatter_",
        "repeat_interleave",
        "unbind",
    ]
)
# More of them, of which something is said where the shape is known.
TORCH_ONLY_SHAPED = TORCH_ONLY | {
    *("unfold", "split", "narrow", "movedim", "flip", "tril", "triu", "masked_scatter", "scatter_add", "scatter_add_"),
    *("amax", "amin", "logsumexp", "softmax", "log_softmax", "sigmoid", "rsqrt", "erf", "clamp", "clamp_"),
    *("float", "double", "half", "bfloat16", "long", "type_as", "detach", "cuda", "requires_grad_"),
    *("index_add_", "index_copy_", "index_fill_", "new_full", "new_empty"),
}


def is_torchs(name: str, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether only what is torch's has a method of that name, or takes what it is given: an array's `flatten` takes a
    letter, and its axes are `axis` and `keepdims`."""
    if name in TORCH_ONLY:
        return True
    if name == "flatten":
        return _is_size(args[0]) if args else not kwargs.keys().isdisjoint(_FLATTENED)
    if name == "transpose":
        return _swaps_two_of_more(args) or not kwargs.keys().isdisjoint(_SWAPPED)
    return bool(kwargs) and is_told_dim(kwargs)


_SWAPPED = frozenset({"dim0", "dim1"})
# Methods that give as many axes of tensors as of arrays, told the same; and of these the ones that are told nothing.
_OF_EITHER = frozenset(
    [*("reshape", "squeeze", "swapaxes", "diagonal", "trace", "sum", "mean", "prod", "std", "var", "argmax", "argmin"),
     *("all", "any", "cumsum", "cumprod", "argsort", "round", "clip", "conj", "dot")]
)  # fmt: skip
_OF_EITHER_BARE = frozenset({"flatten", "ravel", "max", "min"})


def _swaps_two_of_more(args: list[Value], axes: int | None = None) -> bool:
    """Whether `x.transpose(1, 2)` is told two axes of a tensor that has more: an array's is told all that it has."""
    if len(args) != 2:
        return False
    first, second = integer(args[0]), integer(args[1])
    if first is None or second is None:
        return False
    return axes not in (None, 2) or not (-2 <= first < 2 and -2 <= second < 2) or first % 2 == second % 2


# What gives a tensor another shape in place that a view has of it.
_TURNED = frozenset({"squeeze_", "unsqueeze_", "transpose_", "t_", "swapaxes_", "swapdims_"})
_FLATTENED = frozenset({"start_dim", "end_dim"})


def _is_in_order(args: list[Value]) -> bool:
    """Whether `x.transpose(0, 1)` may leave an array of two axes as it is, which a tensor's swaps."""
    first, second = integer(args[0]), integer(args[1])
    return first is None or second is None or (first % 2, second % 2) != (1, 0)


def spells_sizes(args: list[Value]) -> bool:
    """Whether what `x.view` is given are sizes: one that is not known may be a type, which numpy takes as well."""
    if len(args) != 1:
        return len(args) > 1 and not any(isinstance(each, (Library, Class)) for each in args)
    only = args[0]
    return isinstance(only, Sequence) or _is_size(only)


def is_told_dim(kwargs: dict[str, Value]) -> bool:
    """Whether a method is told its axes as torch's are: an array's take `axis` and `keepdims`. (xarray's take names.)"""
    if "keepdim" in kwargs:
        return True
    given = kwargs.get("dim")
    if isinstance(given, Sequence):
        return bool(given.items) and all(integer(item) is not None for item in given.items or ())
    return given is not None and integer(given) is not None


def _is_size(value: Value) -> bool:
    return isinstance(value, Number) or (isinstance(value, Const) and type(value.value) is int)


_PYTHONS = frozenset({Sequence, Dictionary, Const})
# Of a module, the dictionaries of what it has.
# What may be any object; an item of an array of objects is taken for a number.
_NOT_KNOWN = frozenset({Unknown, Opaque, Tensor, Attribute})
# Methods by which queues and registries keep what they are given.
_KEEPS = frozenset({"enqueue", "push", "put", "put_nowait", "register", "send", "store", "submit"})
_MOST_CALLED = 12  # that are looked at for what the method changes of them
_FEW_OBJECTS = 4  # of which it is looked at what a method of each may give
# Methods of a module, or of its dictionaries, that give what is in it.
_GIVE_PARTS = layer_changes.PARTS | {"items", "values", "get"}
# Methods of `vars(x)`, of which nobody tells x.
_OF_NAMESPACE = frozenset({"__getitem__", "copy", "items", "values", "get", "pop", "popitem", "setdefault"})
# Methods whose result has as many axes as they are given numbers.
_SPELL_SIZES = frozenset({"view", "permute", "reshape"})
_SPELLED = frozenset({"view", "reshape", "expand"})
# Methods of tensors that are given functions to call, now or later.
_FILLS = frozenset({"fill", "put", "itemset", "__setitem__"})  # an array of objects, it may be
_CALLS_BACK = frozenset({"register_hook", "register_post_accumulate_grad_hook", "apply_", "map_"}) | _FILLS


class Methods(State):
    """Mixed into the interpreter: `call_method` and what it dispatches to."""

    __slots__ = ()

    def call_method(
        self, receiver: Value, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        if name in RESHAPING:
            if not isinstance(receiver, (Tensor, Opaque)):
                self.reshape(receiver)
            for arg in args if name not in ("set_", "resize_as_") else ():  # `type(x).t_(x)`
                if isinstance(arg, Tensor):
                    self.forget_tensor(arg)
        elif name == "__set__" and aliases.TIES.on and args:
            self.reshape(args[0])  # `np.ndarray.shape.__set__(rows, (2, -1))`
        if name in _KEEPS and type(receiver) in _NOT_KNOWN:
            self.stray(args)
        elif self.strayed and name in CHANGES and type(receiver) in _NOT_KNOWN:
            self.change_strayed(None)
            self.stray(args)
        elif self.strayed and type(receiver) in _NOT_KNOWN:
            self.call_strayed(name, args, kwargs)
        if type(receiver) is Tensor:
            result = self.call_tensor_method(receiver, name, args, kwargs, node)
            if result is UNKNOWN:
                aliases.lose(receiver)
            return result
        if type(receiver) is Opaque:
            return self.call_opaque_method(receiver, name, args, kwargs, node)
        if type(receiver) is Instance:
            if name in ("_replace", "_asdict") and self.fields_of_tuple(receiver) is not None:
                if name == "_replace":
                    return library_objects.replaced(self, receiver, kwargs, node)
                return one_within([receiver])
            given = self.call_instance_method(receiver, name, args, kwargs, node)
            if receiver.generic and receiver.parts:
                one_of_class.change(self, receiver, name, args, kwargs)
                made = one_of_class.result(self, receiver, args, kwargs, given)
                if (made is UNKNOWN or type(made) is Opaque) and not any(made is each for each in (given, *args)):
                    if held := self.given_by_parts(receiver.parts, name, args, kwargs):
                        either = made if isinstance(made, Opaque) else Opaque(None)
                        either.parts = (*either.parts, *held)
                        return either
                return made
            return given
        if type(receiver) is LibraryObject:
            if name == "__setattr__":
                self.set_by_name(receiver, args)
                return NONE
            return self.call_object_method(receiver, name, args, kwargs, node)
        if type(receiver) is Class:
            if name == "__getattribute__" and self.find_in_class(receiver, name) is None:
                return self.call_library("builtins.getattr", args, {}, node)
            method = self.class_attribute(receiver, name)
            given = self.call(method, args, kwargs, node)
            if method is UNKNOWN and given is UNKNOWN:
                return one_within(args)  # `Pair._make([x])`
            if args and isinstance(first := args[0], Instance) and first.generic and first.parts:
                one_of_class.change(self, first, name, args[1:], kwargs)
                return one_of_class.result(self, first, args[1:], kwargs, given)  # `Block.forward(block, x)`
            return given
        if type(receiver) is Library:
            return self.call(self.library_attribute(receiver.path, name), args, kwargs, node)
        if type(receiver) in _PYTHONS:
            for arg in args:  # `"".join(parts)`
                iterators.spend(self, arg)
            return containers.call_method(self, receiver, name, args, kwargs)
        if name == "__call__" and isinstance(receiver, (Function, Partial)):
            return self.call(receiver, args, kwargs, node)
        if isinstance(receiver, Function) and receiver.held:
            return self.call_held(receiver, args, kwargs)
        if isinstance(receiver, Partial):
            self.asked_for_parts(receiver, name)
        if isinstance(receiver, Attribute):
            if isinstance(layer := receiver.receiver, LibraryObject):
                if (receiver.name in NAMESPACES and name not in READS) or (
                    name in CHANGES and layer.path.startswith(OF_ESTIMATORS)
                ):
                    self.touch_all(layer)
            if receiver.name == "_modules" and name in PUTS:
                layer_changes.forget_members(self, [receiver.receiver])
            elif name == "resize":
                self.reshape(receiver.receiver)  # `x.real` is x where x is real
        spelled = ranks.axes_named(args) if name == "transpose" else name in _SPELL_SIZES and self.uses_torch
        if receiver is UNKNOWN and spelled and len(args) > 1 and not kwargs:
            # `layer(x).view(n, -1, 2)`, of a layer nobody knows.
            made = self.call_opaque_method(Opaque(None), name, args, kwargs, node)
            return made if isinstance(made, Tensor) and made.shape is not None else UNKNOWN
        if name == "resize" and aliases.TIES.on:
            self.resize_unknown()
        self.escape(args, kwargs)
        if name in ("__getattribute__", "__get__"):
            return one_within(args)
        return given_back((*args, *kwargs.values()) if kwargs else args)

    def call_held(self, holder: Function, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """`f.then(x)`: any of the functions that a function has as attributes."""
        held = [each for each in holder.held if isinstance(each, (Function, Partial, Attribute, Opaque))]
        result = self.call(Opaque(None, tuple(held)), args, kwargs, None)
        return one_within([result, *holder.held])

    def call_tensor_method(
        self,
        receiver: Tensor,
        name: str,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.AST | None,
    ) -> Value:
        if receiver.shape is None and receiver.kin is not None:
            self.demand(receiver, ranks.of_method(name, args, kwargs))
        if name in self.patched or self.patches_any:
            return UNKNOWN
        if name in _CALLS_BACK:
            self.escape(args, kwargs)
            if name in _FILLS and receiver.framework != "torch":
                self.stray(args)
        if name == "__setattr__":
            self.set_by_name(receiver, args)
            return NONE
        if name == "__getattribute__" and len(args) == 1 and isinstance(args[0], Const):
            return self.attribute_of(receiver, str(args[0].value), node)
        if (
            name in _TURNED
            and receiver.framework == "torch"
            and receiver.shape is not None
            and self.is_new(receiver, node)
        ):
            entry = ops.method("torch", name[:-1])
            turned = self.apply(entry, [receiver, *args], kwargs, node)
            if turned is not receiver and isinstance(turned, Tensor):
                return turned
        if name in RESHAPING or name == "__setstate__" or (name == "resize" and receiver.framework != "torch"):
            self.changed_shape(receiver)
            if receiver.framework is None or ops.method(receiver.framework, name) is None:
                self.forget_tensor(receiver)
                if name in RESHAPING and receiver.framework is None and self.uses_torch:
                    receiver.framework = "torch"  # nothing else has such methods
                return receiver if name in RESHAPING else NONE
        if name == "size" and receiver.framework != "numpy":
            if not args and not kwargs:
                return self.shape_of(receiver)
            axis = integer(args[0] if args else next(iter(kwargs.values())))
            return UNKNOWN if axis is None else self.axis_size(receiver, axis, self.uses_torch)
        if name in ("dim", "ndimension"):
            return UNKNOWN if receiver.shape is None else Const(len(receiver.shape))
        if name == "numel" and receiver.shape is not None:
            from tensorlint.inference.sizes import product
            from tensorlint.inference.values import number

            return number(product(receiver.shape))
        if name == "is_contiguous" and not args and not kwargs:
            known = receiver.contiguous
            return UNKNOWN if known is None else Const(known)
        if name == "stride" and not args and receiver.strides is not None:
            from tensorlint.inference.values import number

            return Sequence("tuple", [number(stride) for stride in receiver.strides])
        if name == "item":
            return numbers.of_item(receiver, self.file.text)
        framework = receiver.framework or (
            "torch"
            if (name in TENSOR_ONLY and name not in ("reshape", "flatten", "transpose", "squeeze", "argmax"))
            or (
                self.uses_torch
                and (
                    name in TORCH_ONLY_SHAPED
                    or is_torchs(name, args, kwargs)
                    or (name == "transpose" and _swaps_two_of_more(args, receiver.rank))
                )
            )
            else None
        )
        if receiver.framework is None and name == "view" and not spells_sizes(args):
            return UNKNOWN  # an array's takes a type
        if framework is None:
            return self.of_either(receiver, name, args, kwargs, node)
        if framework == "numpy" and name in NUMPY_WRITES:
            self.write_by_method(receiver, name, args, node)
        entry = ops.method(framework, name)
        if entry is None:
            self.note_unseen(receiver)
            return UNKNOWN
        if receiver.framework is None:
            self.demand(receiver, ranks.ANY, beside=True)
            given, receiver = receiver, copy(receiver, framework=framework, axes=receiver.axes, kin=receiver.kin)
            aliases.tie(receiver, given)
        result = self.apply(entry, [receiver, *args], kwargs, node)
        if name in _SPELLED and receiver.framework == "torch":
            self.note_counted(
                args if len(args) > 1 else args[0].items or () if args and isinstance(args[0], Sequence) else ()
            )
        if name.endswith("_") and not name.endswith("__"):
            if framework == "torch":
                self.write_by_method(receiver, name, args, node)
            if isinstance(result, Tensor):
                self.changed_in_place(receiver, result, node)
        return result

    def is_new(self, value: Tensor, node: ast.AST | None) -> bool:
        """Whether nothing else can be the tensor whose method is called: one that a function of torch has just made."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or aliases.is_tied(value):
            return False
        made = node.func.value
        if value.made is not made or not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
            return False  # `x.contiguous()`, which is x where that is contiguous
        held: ast.expr = made.func.value
        while isinstance(held, ast.Attribute):
            held = held.value
        if not isinstance(held, ast.Name) or any(keyword.arg in (None, "out") for keyword in made.keywords):
            return False
        function = self.eval(made.func)
        if isinstance(function, Attribute):
            return isinstance(function.receiver, Tensor) and ops.method("torch", function.name) is not None
        return isinstance(function, Library) and ops.function(function.path) is not None

    def resize_unknown(self) -> None:
        """`rows[i].resize(...)`, which may be any array of which nobody knows where it is."""
        for each in aliases.found_again():
            if each.framework == "torch":
                aliases.lose(each)
            else:
                self.forget_tensor(each)

    def changed_in_place(self, receiver: Tensor, result: Tensor, node: ast.AST | None) -> None:
        """`x.t_()`, `x.unsqueeze_(0)`: other names of the tensor see the change too; its old shape is known no more."""
        if result is receiver or (result.shape == receiver.shape and result.strides == receiver.strides):
            return
        target = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        self.forget_tensor(receiver)
        if isinstance(target, ast.Name) and self.frame.env.get(target.id) is receiver:
            self.frame.env[target.id] = result

    def of_either(
        self, receiver: Tensor, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        """What a method gives that tensors and arrays have, as far as both agree."""
        bare = not args and not kwargs
        swaps = name == "transpose" and len(args) == 2 and not _is_in_order(args)
        told = name == "transpose" and not kwargs and (ranks.axes_named(args) or 0) > 2  # as an array's is
        if not (swaps or told or name in _OF_EITHER or (bare and name in _OF_EITHER_BARE)):
            return UNKNOWN
        if name == "squeeze" and 1 not in (receiver.shape or ()):
            return UNKNOWN  # who writes it has a 1 there at times, whatever the sizes of what was given are called
        kwargs = {key: value for key, value in kwargs.items() if key != "ddof"}
        entry = ops.method(
            "numpy" if name == "dot" or told else "torch", name
        )  # tensors of more than one axis have none
        result = UNKNOWN if entry is None else self.apply(entry, [receiver, *args], kwargs, node)
        if not isinstance(result, Tensor):
            return UNKNOWN
        result = copy(result, framework=None, strides=None, dtype=None, axes=result.axes, kin=result.kin)
        aliases.tie_result(result, [receiver])  # `x.squeeze()` of an array may be the array itself
        return result

    def call_opaque_method(
        self,
        receiver: Opaque,
        name: str,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.AST | None,
    ) -> Value:
        given: Iterable[Value] = ()
        if receiver.parts:
            given = self.given_by_parts(receiver.parts, name, args, kwargs)
            one_of_class.change_any(self, receiver.parts[:_MOST_CALLED], name, args, kwargs)
        if receiver.parts and name not in READS:
            if name in CHANGES or not (_is_of_tensors(name) and all(map(_is_container, receiver.parts))):
                # `node.rows.append(x)` of what one of the objects holds; methods of their own were asked what they change.
                deep = name in CHANGES or name in LEARNS or "inplace" in kwargs
                self.touch(receiver, None, deep=deep)
        if name == "__setattr__":
            self.set_by_name(receiver, args)
            return NONE
        if name in CHANGES:
            self.changed_items(receiver, longer=True)
            self.stray([*args, *kwargs.values()])
        if receiver.kin is not None:  # or nothing is learnt of it
            torch = beside = False
            if self.uses_torch:
                torch = name == "permute"
                told = bool(kwargs) or name in ("flatten", "transpose")
                beside = name in TORCH_ONLY or (told and is_torchs(name, args, kwargs))
            self.demand(receiver, ranks.of_method(name, args, kwargs), torch, beside)
        if name in RESHAPING or name == "resize":
            (self.reshape if name in RESHAPING else self.changed_shape)(receiver)
            self.escape(args, kwargs)
            return UNKNOWN
        if name == "size":
            if not args and not kwargs:
                return self.shape_of(receiver)
            axis = integer(args[0]) if args else None
            return UNKNOWN if axis is None else self.axis_size(receiver, axis, self.uses_torch)
        if name == "transpose" and receiver.kind is None and not (kwargs or self.asks_arguments):
            if (ranks.axes_named(args) or 0) > 2:  # an array's, which is told all of its axes
                turned = self.apply(
                    ops.method("numpy", name), [Tensor("numpy", axes=receiver.axes, kin=receiver.kin), *args], {}, node
                )
                return copy(turned, framework=None, strides=None) if isinstance(turned, Tensor) else UNKNOWN
        if name in TENSOR_ONLY and self.uses_torch:
            if name in (
                "transpose",
                "reshape",
                "expand",
                "flatten",
                "squeeze",
                "argmax",
                "chunk",
                "contiguous",
                "softmax",
                "gather",
                "scatter",
                "matmul",
                "mm",
            ) and (
                name not in ("reshape", "expand", "contiguous", "transpose") or (name == "transpose" and len(args) != 2)
            ):
                return UNKNOWN
            if name == "view" and not spells_sizes(args):
                return UNKNOWN
            if name == "expand" and len(args) == 1 and not _is_size(args[0]) and _DISTRIBUTIONS.search(self.file.text):
                return UNKNOWN  # which distributions have too, and take a `torch.Size` for it
            axes = {0: S.counter(), **(receiver.axes or {})} if receiver.cut else receiver.axes
            either = name in ("reshape", "transpose") and not (
                is_torchs(name, args, kwargs) or self.is_torchs(receiver)
            )
            if either and name == "transpose" and _is_in_order(args):
                axes = None
            known = Tensor(None if either else "torch", axes=axes, kin=receiver.kin)
            aliases.tie(known, receiver)
            entry = ops.method("torch", name)
            if entry is None:
                return UNKNOWN
            result = self.apply(entry, [known, *args], kwargs, node)
            if isinstance(result, Tensor) and either:
                return copy(result, framework=None, strides=None, kin=result.kin)
            return result
        self.escape(args, kwargs)
        if receiver.fields and name not in READS and not _is_of_tensors(name):
            self.escape_fields(receiver, 0)
        if given:
            return Opaque(None, parts=tuple(given))
        if (args or kwargs) and (back := given_back((*args, *kwargs.values()))) is not UNKNOWN:
            return back
        if receiver.kin is not None and receiver.kind is None and ranks.is_of_receiver(name, args, kwargs):
            change = ranks.change(name, args, kwargs)
            if change is not None:
                # Of a tensor or an array it is one, of as many axes but those that are reduced.
                made = Opaque(None)
                made.kin = moved(receiver.kin, change)
                return made
        return declared.given_by_method(self, receiver, name) if receiver.stated else UNKNOWN

    def given_by_parts(
        self, parts: tuple[Value, ...], name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> list[Value]:
        """What the method gives may be of the objects of which it is one that is called: what they hold, or themselves."""
        if len(parts) > _FEW_OBJECTS:
            return list(parts) if any(map(_is_container, parts)) else []
        found: dict[int, Value] = {}
        for part in parts:
            given: Iterable[Value] = ()
            if _is_container(part) or (name in _GIVE_PARTS and _is_module(part)):
                given = (part,)
            elif isinstance(part, Instance):
                method = self.find_in_class(part.cls, name)
                if isinstance(method, Function):
                    bound = Function(method.node, method.scope, method.owner, part, method.defaults, "function")
                    given = self.lists_given(bound, args, kwargs, modules=True)
                elif (part.cls.is_module and name in layer_changes.SELF_METHODS) or (
                    method is None and name in _OF_NAMESPACE
                ):
                    given = (part,)
            elif isinstance(part, LibraryObject) and name in layer_changes.SELF_METHODS:
                given = (part,)
            found.update((id(each), each) for each in given)
        return list(found.values())

    def call_object_method(
        self,
        receiver: LibraryObject,
        name: str,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.AST | None,
    ) -> Value:
        if modules.known(receiver.path):
            if name in ("forward", "__call__"):
                return self.call_library_object(receiver, args, kwargs, node)
            if name in layer_changes.SELF_METHODS:
                if name == "to":
                    layer_changes.note_conversion(self, args, kwargs, node)
                    module_formats.note_format(self, receiver, kwargs)
                elif name == "apply" and args:
                    self.not_followed(args[0], [receiver], {})
                return receiver
            if name in layer_changes.PARTS and not name.endswith("children"):
                return Opaque(None, parts=(receiver,))
            if name in forward_hooks.FORWARD_HOOKS:
                self.escape(args, kwargs)
                if forward_hooks.may_return(args, kwargs):
                    self.stray_given(forward_hooks.hook_given(args, kwargs))
                    layer_changes.change_unseen(self, receiver)
                return UNKNOWN
            if name in ("register_parameter", "register_buffer", "__init__"):
                if len(args) > 1 and isinstance(args[0], Const) and name != "__init__":
                    self.store_attribute(receiver, args[0].value, args[1])
                else:
                    layer_changes.change_unseen(self, receiver)
                return NONE
            if name in layer_changes.HEAD_METHODS and receiver.path.endswith(".classifier"):
                layer_changes.change_unseen(self, receiver)
            members = module_containers.change_members(self, receiver, name, args)
            if members is None:
                members = module_containers.listed(self, receiver, name, args)
            if members is not None:
                return members
            if name == "flatten_parameters":
                return NONE
            if receiver.path in KEYED:
                member = module_containers.named_member(self, receiver, name)
                if member is not UNKNOWN:
                    return self.call(member, args, kwargs, node)
        return library_objects.call_object_method(self, receiver, name, args, kwargs, node)


def _is_of_tensors(name: str) -> bool:
    """Whether tensors or arrays have a method of that name."""
    return ops.method("torch", name) is not None or ops.method("numpy", name) is not None


def _is_module(value: Value) -> bool:
    if isinstance(value, LibraryObject):
        return value.path.startswith("torch.nn.")
    return isinstance(value, Instance) and value.cls.is_module


def _is_container(value: Value) -> bool:
    return isinstance(value, (Sequence, Dictionary))
