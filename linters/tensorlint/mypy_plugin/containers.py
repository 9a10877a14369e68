"""What an instance was made with: the module in a DistributedDataParallel, the elements of a ModuleList.

It is kept in the Instance's `extra_attrs`, which mypy caches and does not compare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mypy.nodes import (
    DictExpr,
    DictionaryComprehension,
    Expression,
    GeneratorExpr,
    ListComprehension,
    ListExpr,
    TupleExpr,
)
from mypy.plugin import FunctionContext, MethodContext
from mypy.types import CallableType, ExtraAttrs, Instance, Type, get_proper_type

from tensorlint.mypy_plugin.calls import BEFORE, ELEMENT, FIRST, LAST, RESULT, WRAPPED
from tensorlint.mypy_plugin.modules import MODULE, instance_of, is_module
from tensorlint.mypy_plugin.pooling import POOLS, is_plain_pool

# Wrappers that pass their arguments on to the module they were made with.
WRAPPERS = frozenset(
    {
        "torch.nn.parallel.distributed.DistributedDataParallel",
        "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
    }
)
SEQUENTIAL = "torch.nn.modules.container.Sequential"
MODULE_LIST = "torch.nn.modules.container.ModuleList"
MODULE_DICT = "torch.nn.modules.container.ModuleDict"
# The methods that give elements.
ELEMENTS = (
    *(f"{MODULE_LIST}.{name}" for name in ("__getitem__", "__iter__")),
    *(f"{MODULE_DICT}.{name}" for name in ("__getitem__", "values", "items")),
)


def keeping(made: Instance, attrs: dict[str, Type]) -> Instance:
    """The instance with what it was made with."""
    kept = made.copy_modified()
    kept.extra_attrs = ExtraAttrs(attrs)
    return kept


def made_by(ctx: FunctionContext, attrs: Callable[[FunctionContext, Instance], dict[str, Type] | None]) -> Type:
    """A constructor's result with what `attrs` finds in its arguments.

    Where the variable assigned to already holds one made otherwise, it is known no longer which one it is: mypy
    takes both for the same type, so the variable's own type forgets.
    """
    made = get_proper_type(ctx.default_return_type)
    if not isinstance(made, Instance):
        return ctx.default_return_type
    found = attrs(ctx, made)
    declared: Any = get_proper_type(ctx.api.type_context[-1]) if ctx.api.type_context else None
    if isinstance(declared, Instance) and declared.type is made.type:
        before = declared.extra_attrs
        if before is not None and before.attrs != (found or {}):
            declared.extra_attrs = None
            return made
        if before is None:
            return made
    return keeping(made, found) if found else made


def wrapped(ctx: FunctionContext, made: Instance) -> dict[str, Type] | None:
    module = ctx.arg_types[0][0] if ctx.arg_types and len(ctx.arg_types[0]) == 1 else None
    instance = instance_of(module)
    return {WRAPPED: instance} if instance is not None and is_module(instance.type) else None


def _chained(ctx: FunctionContext, made: Instance) -> dict[str, Type] | None:
    """Sequential: its first module and its last two, where each is an argument of its own."""
    modules = ctx.arg_types[0] if ctx.arg_types else []
    starred = any(kind.is_star() for kinds in ctx.arg_kinds for kind in kinds)
    instances = [instance_of(module) for module in modules]
    if starred or not instances or not all(each is not None and is_module(each.type) for each in instances):
        return None
    before = {BEFORE: modules[-2]} if len(modules) > 1 else {}
    return {FIRST: modules[0], LAST: modules[-1], **before}


def _elements(ctx: FunctionContext, made: Instance) -> dict[str, Type] | None:
    """ModuleList and ModuleDict: their elements' type, where a list, a dict or a comprehension shows it to be one."""
    if not ctx.args or len(ctx.args[0]) != 1:
        return None
    given = ctx.args[0][0]
    shown: list[Expression] = []
    if isinstance(given, ListExpr | TupleExpr):
        shown = given.items
    elif isinstance(given, ListComprehension | GeneratorExpr):
        shown = [(given.generator if isinstance(given, ListComprehension) else given).left_expr]
    elif isinstance(given, DictExpr) and all(key is not None for key, _ in given.items):
        shown = [value for _, value in given.items]
    elif isinstance(given, DictionaryComprehension):
        shown = [given.value]
    types = {ctx.api.get_expression_type(each) for each in shown}
    only = instance_of(types.pop()) if len(types) == 1 else None
    return {ELEMENT: only} if only is not None and is_module(only.type) else None


def _pooled(ctx: FunctionContext, made: Instance) -> dict[str, Type] | None:
    """A pooling layer made without `return_indices` gives a Tensor."""
    forward = made.type.get("forward")
    signature = get_proper_type(forward.type) if forward is not None else None
    if not is_plain_pool(ctx.context) or not isinstance(signature, CallableType):  # type: ignore[arg-type]
        return None
    return {RESULT: signature.arg_types[-1]}


MADE_WITH = {SEQUENTIAL: _chained, MODULE_LIST: _elements, MODULE_DICT: _elements, **dict.fromkeys(POOLS, _pooled)}


def element(ctx: MethodContext) -> Type:
    """`layers[i]`, `layers[1:]`, `for layer in layers` and `layers.items()` of a container whose elements are known."""
    itself = get_proper_type(ctx.type)
    default = get_proper_type(ctx.default_return_type)
    if not isinstance(itself, Instance) or not itself.extra_attrs or not isinstance(default, Instance):
        return ctx.default_return_type
    element = itself.extra_attrs.attrs.get(ELEMENT)
    if element is None:
        return ctx.default_return_type
    if default.type.fullname == MODULE:
        return element
    if default.type is itself.type:
        return keeping(default, itself.extra_attrs.attrs)
    return default.copy_modified(args=[*default.args[:-1], element])
