"""What each kind of call gives: library operations by their tables, the program's own functions by following them."""

from __future__ import annotations

import ast
from typing import Any

from tensorlint.inference import builtins, ops
from tensorlint.inference.frames import Frame
from tensorlint.inference.ops import modules
from tensorlint.inference.state import State
from tensorlint.inference.values import (
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
    ModuleScope,
    Number,
    Opaque,
    Partial,
    Scalar,
    Sequence,
    Tensor,
    Value,
    copy,
    integer,
    join,
)

Arguments = tuple[list[Value], dict[str, Value]]

_MAX_DEPTH = 12  # calls of the program's own functions inside one another

# Methods that only tensors have, of the names that models use: an unknown object that has one is a tensor.
_TENSOR_ONLY = frozenset(
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
# Methods of a module that give the module itself.
_SELF_METHODS = frozenset(
    [
        "to",
        "cuda",
        "cpu",
        "eval",
        "train",
        "half",
        "float",
        "double",
        "bfloat16",
        "requires_grad_",
        "apply",
        "share_memory",
        "xpu",
        "to_empty",
        "type",
    ]
)


class Calls(State):
    """Mixed into the interpreter: `eval_call`, `call` and what they dispatch to."""

    def arguments(self, node: ast.Call) -> Arguments | None:
        """The evaluated arguments; None where a star hides how many there are."""
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        known = True
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                value = self.eval(argument.value)
                items = self.iterate(value) if isinstance(value, (Sequence, LibraryObject)) else None
                if items is not None and items.items is not None:
                    args.extend(items.items)
                else:
                    known = False
            else:
                args.append(self.eval(argument))
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, Dictionary) and value.items is not None:
                kwargs.update((str(key), item) for key, item in value.items.items())
            else:
                known = False
        return (args, kwargs) if known else None

    def eval_call(self, node: ast.Call) -> Value:
        func = node.func
        if isinstance(func, ast.Attribute):
            if (
                isinstance(func.value, ast.Call)
                and isinstance(func.value.func, ast.Name)
                and func.value.func.id == "super"
            ):
                return self.call_super(node, func.attr)
            receiver = self.eval(func.value)
            arguments = self.arguments(node)
            if isinstance(receiver, (Library, ModuleScope)):
                function = self.attribute_of(receiver, func.attr, func)
                return self.call_known(function, arguments, node)
            if func.attr == "forward":
                self.saw_forward(receiver, node, called=True, known=arguments is not None)
            if arguments is None:
                self.escape_receiver(receiver)
                return self.starred_method(receiver, func.attr, node)
            if isinstance(receiver, Instance) and func.attr in receiver.fields:
                self.saw_kept_forward(receiver.fields[func.attr], node)
            if isinstance(receiver, Sequence) and isinstance(func.value, (ast.Name, ast.Attribute)):
                changed = builtins.mutate(self, receiver, func.attr, arguments[0], func.value)
                if changed is not None:
                    return changed
            return self.call_method(receiver, func.attr, arguments[0], arguments[1], node)
        function = self.eval(func)
        return self.call_known(function, self.arguments(node), node)

    def call_known(self, function: Value, arguments: Arguments | None, node: ast.Call) -> Value:
        if isinstance(function, (Attribute, Function)):
            self.saw_kept_forward(function, node)
        if arguments is None:
            if isinstance(function, Library):
                return self.call_library_starred(function, node)
            return UNKNOWN
        return self.call(function, arguments[0], arguments[1], node)

    def starred_method(self, receiver: Value, name: str, node: ast.Call) -> Value:
        """A method of a tensor called with stars: `x.view(*shape)` is a tensor, nothing more."""
        if isinstance(receiver, Tensor) and receiver.framework and name in _TENSOR_ONLY:
            return Tensor(receiver.framework, dtype=receiver.dtype)
        return UNKNOWN

    def call_library_starred(self, function: Library, node: ast.Call) -> Value:
        if modules.known(function.path):
            return LibraryObject(function.path, {}, (), {}, node)
        return UNKNOWN

    # -- dispatch ------------------------------------------------------------------------------------------------

    def call(self, function: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        if isinstance(function, Library):
            return self.call_library(function.path, args, kwargs, node)
        if isinstance(function, Function):
            return self.call_function(function, args, kwargs, node)
        if isinstance(function, Class):
            return self.construct(function, args, kwargs, node)
        if isinstance(function, Instance):
            return self.call_instance(function, args, kwargs, node)
        if isinstance(function, LibraryObject):
            return self.call_library_object(function, args, kwargs, node)
        if isinstance(function, Partial):
            return self.call(function.function, [*function.positional, *args], {**function.keywords, **kwargs}, node)
        if isinstance(function, Attribute):
            return self.call_method(function.receiver, function.name, args, kwargs, node)
        self.escape(args, kwargs)
        return UNKNOWN

    def escape(self, args: list[Value], kwargs: dict[str, Value]) -> None:
        """The values went into code that is not known: lists and dictionaries may have changed."""
        for value in (*args, *kwargs.values()):
            if isinstance(value, (Sequence, Dictionary)) and not (
                isinstance(value, Sequence) and value.kind == "tuple"
            ):
                self.forget_contents(value)
                self.mutations.append((value, None))

    def escape_receiver(self, receiver: Value) -> None:
        if isinstance(receiver, (Sequence, Dictionary)):
            self.forget_contents(receiver)
            self.mutations.append((receiver, None))

    def call_library(self, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        if path.startswith("builtins."):
            return builtins.call(self, path[9:], args, kwargs, node)
        entry = ops.function(path)
        if entry is not None:
            return self.apply(entry, args, kwargs, node)
        if modules.known(path):
            made = modules.construct(self.call_context(path, node), path, args, kwargs)
            if isinstance(made, LibraryObject):
                made.made = node
            return made
        return builtins.call_library(self, path, args, kwargs, node)

    def apply(self, entry: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        call = self.call_context(entry.name, node)
        return self.with_outer(ops.apply(entry, call, args, kwargs))

    def call_library_object(
        self, receiver: LibraryObject, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        if not modules.known(receiver.path):
            return builtins.call_object(self, receiver, args, kwargs, node)
        result = self.with_outer(modules.call_module(self.call_context(receiver.path, node), receiver, args, kwargs))
        if isinstance(result, Tensor):
            if not self.file.module_dtypes and result.dtype is not None:
                result = copy(result, dtype=None)
            if not self.file.module_layouts and result.rank in (4, 5) and result.contiguous:
                result = copy(result, strides=None)
        return result

    # -- methods -------------------------------------------------------------------------------------------------

    def call_method(
        self, receiver: Value, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        if isinstance(receiver, Tensor):
            return self.call_tensor_method(receiver, name, args, kwargs, node)
        if isinstance(receiver, Instance):
            return self.call_instance_method(receiver, name, args, kwargs, node)
        if isinstance(receiver, LibraryObject):
            return self.call_object_method(receiver, name, args, kwargs, node)
        if isinstance(receiver, Class):
            return self.call(self.class_attribute(receiver, name), args, kwargs, node)
        if isinstance(receiver, Opaque):
            return self.call_opaque_method(receiver, name, args, kwargs, node)
        if isinstance(receiver, Library):
            return self.call(self.library_attribute(receiver.path, name), args, kwargs, node)
        if isinstance(receiver, (Sequence, Dictionary, Const)):
            return builtins.call_container_method(self, receiver, name, args, kwargs)
        self.escape(args, kwargs)
        return UNKNOWN

    def call_tensor_method(
        self,
        receiver: Tensor,
        name: str,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.AST | None,
    ) -> Value:
        if name == "size" and receiver.framework != "numpy":
            if not args and not kwargs:
                return self.shape_of(receiver)
            axis = integer(args[0] if args else next(iter(kwargs.values())))
            return UNKNOWN if axis is None else self.axis_size(receiver, axis)
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
        if name == "tolist":
            return UNKNOWN
        if name == "item":
            kind = {"int64": "int", "int32": "int", "bool": "bool", "float32": "float", "float64": "float"}.get(
                receiver.dtype or ""
            )
            return Scalar(kind) if kind else UNKNOWN  # type: ignore[arg-type]
        framework = receiver.framework or (
            "torch"
            if name in _TENSOR_ONLY and name not in ("reshape", "flatten", "transpose", "squeeze", "argmax")
            else None
        )
        if framework is None:
            # torch or numpy: what both agree on may be said.
            if name in ("reshape", "squeeze") or (name == "transpose" and len(args) == 2):
                entry = ops.method("torch", name)
                if entry is not None:
                    result = self.apply(entry, [receiver, *args], kwargs, node)
                    if isinstance(result, Tensor):
                        return copy(result, framework=None, strides=None)
            return UNKNOWN
        entry = ops.method(framework, name)
        if entry is None:
            return UNKNOWN
        if receiver.framework is None:
            receiver = copy(receiver, framework=framework, axes=receiver.axes)
        result = self.apply(entry, [receiver, *args], kwargs, node)
        if name.endswith("_") and not name.endswith("__") and isinstance(result, Tensor):
            self.changed_in_place(receiver, result, node)
        return result

    def changed_in_place(self, receiver: Tensor, result: Tensor, node: ast.AST | None) -> None:
        """`x.t_()`, `x.unsqueeze_(0)`: other names of the tensor see the change too; its old shape is known no more."""
        if result is receiver or (result.shape == receiver.shape and result.strides == receiver.strides):
            return
        target = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        self.forget_tensor(receiver)
        if isinstance(target, ast.Name) and self.frame.env.get(target.id) is receiver:
            self.frame.env[target.id] = result

    def call_opaque_method(
        self,
        receiver: Opaque,
        name: str,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.AST | None,
    ) -> Value:
        if name == "size":
            if not args and not kwargs:
                return self.shape_of(receiver)
            axis = integer(args[0]) if args else None
            return UNKNOWN if axis is None else self.axis_size(receiver, axis)
        if name in _TENSOR_ONLY and self.uses_torch:
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
            if name == "view" and not (len(args) >= 2 or (args and isinstance(args[0], (Const, Number, Sequence)))):
                return UNKNOWN
            known = Tensor(None if name in ("reshape", "transpose") else "torch", axes=receiver.axes)
            entry = ops.method("torch", name)
            if entry is None:
                return UNKNOWN
            result = self.apply(entry, [known, *args], kwargs, node)
            if isinstance(result, Tensor) and name in ("reshape", "transpose"):
                return copy(result, framework=None, strides=None)
            return result
        self.escape(args, kwargs)
        return UNKNOWN

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
            if name in _SELF_METHODS:
                return receiver
            members = builtins.change_members(self, receiver, name, args)
            if members is not None:
                return members
            if name == "flatten_parameters":
                return NONE
        return builtins.call_object_method(self, receiver, name, args, kwargs, node)

    # -- the program's own functions -----------------------------------------------------------------------------

    def call_function(
        self, function: Function, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        if function.decorated:
            self.escape(args, kwargs)
            return UNKNOWN
        if function.receiver is not None:
            args = [function.receiver, *args]
        code = function.node
        if self.depth >= _MAX_DEPTH or self.active.count(code) > 0 or self.budget <= 0:
            self.escape(args, kwargs)
            return UNKNOWN
        if not function.scope.file.own and not worth_following(args, kwargs):
            self.escape(args, kwargs)
            return UNKNOWN
        bound = self.bind_parameters(function, args, kwargs)
        if bound is None:
            return UNKNOWN
        if isinstance(code, ast.Lambda):
            return self.follow(function, bound, node)
        key = (id(code), tuple((name, _memo_key(value)) for name, value in bound.items()))
        remembered = self.memory.get(key)
        mutations = len(self.mutations)
        if remembered is not None and remembered[2] == mutations:
            return remembered[0]
        result = self.follow(function, bound, node)
        if len(self.mutations) == mutations and len(self.memory) < 4096:
            # The values are kept, so that their ids stay their own.
            self.memory[key] = (result, bound, mutations)
        return result

    def follow(self, function: Function, bound: dict[str, Value], node: ast.AST | None) -> Value:
        code = function.node
        caller = self.frame
        file = function.scope.file
        frame = Frame(code, file, function.scope, bound, file.facts.scopes.get(code, _NO_FACTS()), owner=function.owner)
        frame.first_argument = code.args.args[0].arg if code.args.args else None
        self.depth += 1
        self.active.append(code)
        self.trail.append(node)
        outer_conditional, outer_file = self.conditional, self.file
        self.frame, self.file = frame, file
        try:
            if isinstance(code, ast.Lambda):
                return self.eval(code.body)
            before = self.steps
            self.block(code.body)
            self.budget -= self.steps - before
            return self.returned(frame, isinstance(code, ast.AsyncFunctionDef))
        finally:
            self.frame, self.file, self.conditional = caller, outer_file, outer_conditional
            self.depth -= 1
            self.active.pop()
            self.trail.pop()

    def returned(self, frame: Frame, is_async: bool) -> Value:
        if is_async:
            return UNKNOWN
        if frame.facts.is_generator:
            if not frame.returns:
                return Sequence("iterator")
            element = frame.returns[0]
            for other in frame.returns[1:]:
                element = join(element, other)
            return Sequence("iterator", None, self.varying(element, 0))
        if not frame.dead:
            frame.returns.append(NONE)
        if not frame.returns:
            return UNKNOWN
        result = frame.returns[0]
        for other in frame.returns[1:]:
            result = join(result, other)
        return result

    def bind_parameters(
        self, function: Function, args: list[Value], kwargs: dict[str, Value]
    ) -> dict[str, Value] | None:
        """Arguments by parameter name as Python binds them; None where the call does not fit."""
        spec = function.node.args
        bound: dict[str, Value] = {}
        names = [*spec.posonlyargs, *spec.args]
        if len(args) > len(names) and spec.vararg is None:
            return None
        for parameter, value in zip(names, args, strict=False):
            bound[parameter.arg] = value
        if spec.vararg is not None:
            bound[spec.vararg.arg] = Sequence("tuple", list(args[len(names) :]))
        rest: dict[Any, Value] = {}
        keyword_names = {parameter.arg for parameter in (*spec.args, *spec.kwonlyargs)}
        for name, value in kwargs.items():
            if name in keyword_names and name not in bound:
                bound[name] = value
            elif spec.kwarg is not None:
                rest[name] = value
            else:
                return None
        if spec.kwarg is not None:
            bound[spec.kwarg.arg] = Dictionary(rest)
        for parameter in (*names, *spec.kwonlyargs):
            if parameter.arg not in bound:
                default = function.defaults.get(parameter.arg)
                if default is None:
                    return None
                bound[parameter.arg] = default
        for name, value in bound.items():
            if value is UNKNOWN:
                bound[name] = Opaque(None)
            elif isinstance(value, (Sequence, Dictionary)):
                value.shared = True
        for parameter in (*names, *spec.kwonlyargs):
            if parameter.annotation is not None and isinstance(bound[parameter.arg], Opaque):
                declared = self.annotation_in(function.scope, parameter.annotation)
                if declared is not None:
                    bound[parameter.arg] = declared
        return bound

    def defaults_of(self, spec: ast.arguments) -> dict[str, Value]:
        """The values of a function's defaults, made once where it is defined."""
        defaults: dict[str, Value] = {}
        names = [*spec.posonlyargs, *spec.args]
        for parameter, default in zip(names[len(names) - len(spec.defaults) :], spec.defaults, strict=True):
            defaults[parameter.arg] = self.eval(default)
        for parameter, keyword_default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            if keyword_default is not None:
                defaults[parameter.arg] = self.eval(keyword_default)
        return defaults


def _NO_FACTS() -> Any:
    from tensorlint.inference.names import ScopeFacts

    return ScopeFacts()


def worth_following(args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether a function of another file may tell something: it is given a shape, or nothing that is unknown."""
    values = [*args, *kwargs.values()]
    if any(isinstance(value, Tensor) and value.shape is not None for value in values):
        return True
    return all(
        isinstance(value, (Const, LibraryObject, Function, Class))
        or (isinstance(value, Instance) and bool(value.fields))
        or (isinstance(value, (Sequence, Dictionary)) and value.items is not None)
        for value in values
    )


def _memo_key(value: Value) -> object:
    if isinstance(value, Const):
        return (
            (type(value.value), value.value)
            if isinstance(value.value, (int, float, str, bool, type(None)))
            else id(value)
        )
    return id(value)
