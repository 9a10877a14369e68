"""The type of a call of a module: its `forward`, bound to the module."""

from __future__ import annotations

from typing import Any

from mypy.checkmember import analyze_member_access
from mypy.nodes import ARG_POS, FuncDef, SuperExpr, TypeInfo, Var
from mypy.options import Options
from mypy.plugin import AttributeContext, MethodSigContext
from mypy.subtypes import is_subtype
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    Overloaded,
    ProperType,
    Type,
    UninhabitedType,
    get_proper_type,
    has_type_vars,
)

from tensorlint.mypy_plugin.modules import MODULE, instance_of, is_module, owner_of
from tensorlint.mypy_plugin.pooling import POOLS, plain_pool_call

DATA_PARALLEL = "torch.nn.parallel.data_parallel.DataParallel"

# Where an Instance keeps what it was made with: names no attribute can have.
WRAPPED, LAST, FIRST, ELEMENT, RESULT = "<wrapped>", "<last>", "<first>", "<element>", "<result>"
BEFORE = "<before the last>"


def _declared_forward(typ: ProperType, instance: Instance, context: Any, api: Any) -> ProperType | None:
    """`forward` bound to `typ`, where a class below Module has an annotated one."""
    owner = owner_of(instance.type, "forward")
    if owner is None or owner.fullname == MODULE:
        return None
    with api.msg.filter_errors():
        found = get_proper_type(
            analyze_member_access(
                "forward",
                typ,
                context,
                is_lvalue=False,
                is_super=False,
                is_operator=False,
                original_type=typ,
                chk=api,
            )
        )
    if isinstance(found, CallableType) and not found.implicit:
        # After a call of an abstract forward that never returns, code would count as dead and go unchecked.
        return None if isinstance(get_proper_type(found.ret_type), UninhabitedType) else found
    return found if isinstance(found, Overloaded) else None


def forward_type(typ: ProperType, context: Any, api: Any) -> ProperType | None:
    """The signature that calling `typ`, an nn.Module, has; None where nothing is known about it."""
    instance = instance_of(typ)
    if instance is None or not is_module(instance.type) or instance.type.fallback_to_any:
        return None
    made_with = _made_with(instance)
    if made_with is not None:
        return _made_with_type(instance, made_with, context, api)
    found = _declared_forward(typ, instance, context, api)
    owner = owner_of(instance.type, "forward")
    if owner is not None and owner.fullname in POOLS:
        return (plain_pool_call(found, context, api) or found) if isinstance(found, CallableType) else None
    return found


def _made_with(instance: Instance) -> dict[str, Type] | None:
    if instance.type.fullname == DATA_PARALLEL and len(instance.args) == 1:
        return {WRAPPED: instance.args[0]}
    attrs = instance.extra_attrs.attrs if instance.extra_attrs else {}
    return attrs if attrs.keys() & {WRAPPED, LAST, RESULT} else None


def _made_with_type(instance: Instance, attrs: dict[str, Type], context: Any, api: Any) -> ProperType | None:
    if WRAPPED in attrs:
        return _call_type(attrs[WRAPPED], context, api)
    if RESULT in attrs:
        own = _declared_forward(instance, instance, context, api)
        return own.copy_modified(ret_type=attrs[RESULT]) if isinstance(own, CallableType) else None
    first, last = (_call_type(attrs[key], context, api) for key in (FIRST, LAST))
    if isinstance(last, Overloaded) and BEFORE in attrs:
        last = _chosen(last, _call_type(attrs[BEFORE], context, api))
    if isinstance(first, Overloaded) and (isinstance(last, CallableType) or BEFORE not in attrs):
        ways = [_one_argument(each, last if BEFORE in attrs else each) for each in first.items]
        taken = [each for each in ways if each is not None]
        return Overloaded(taken) if len(taken) > 1 else taken[0] if taken else None
    return _one_argument(first, last)


def _one_argument(first: ProperType | None, last: ProperType | None) -> CallableType | None:
    """What a Sequential is called with, and what it gives."""
    if not (isinstance(first, CallableType) and isinstance(last, CallableType) and first.arg_types):
        return None
    if first.arg_kinds[0].is_star() or any(kind.is_required() for kind in first.arg_kinds[1:]):
        return None
    return CallableType(
        first.arg_types[:1], [ARG_POS], [None], last.ret_type, first.fallback, name="forward of Sequential"
    )


def _chosen(last: Overloaded, before: ProperType | None) -> CallableType | None:
    """The way in which the last module is called: with what the one before it gives. `nn.LSTM` takes two types."""
    given = get_proper_type(before.ret_type) if isinstance(before, CallableType) else None
    if given is None or isinstance(given, AnyType):
        return None
    for way in last.items:
        if way.arg_types and is_subtype(given, way.arg_types[0]):
            return way
    return None


def _call_type(typ: Type, context: Any, api: Any) -> ProperType | None:
    """What calling a value of this type is: the class's own `__call__`, or its forward."""
    with api.msg.filter_errors():
        instance = instance_of(typ)
        if instance is None or not is_module(instance.type):
            return None
        owner = owner_of(instance.type, "__call__")
        if owner is not None and owner.fullname == MODULE:
            return forward_type(get_proper_type(typ), context, api)
        return None


# Of each class whose instances are all called alike, that call. Emptied at the beginning of a run (`begin`), as it is
# known by mypy's own objects; not used in a daemon, where these change.
_BOUND: dict[TypeInfo, CallableType] = {}
_in_daemon = False


def begin(options: Options) -> None:
    """Forgets the classes of an earlier run in this process."""
    global _in_daemon
    _BOUND.clear()
    _in_daemon = options.fine_grained_incremental


def _alike(info: TypeInfo) -> bool:
    """Whether calling an instance of the class hangs neither on the instance's type nor on how it was made."""
    definition, declared = (
        symbol.node if symbol is not None else None for symbol in (info.get("forward"), info.get("__call__"))
    )
    unbound = definition.type if type(definition) is FuncDef else None
    return (
        type(definition) is FuncDef
        and type(unbound) is CallableType
        and not unbound.implicit
        and not has_type_vars(unbound)  # of the class or the function, or Self
        and not (definition.is_static or definition.is_class or definition.is_property)
        and definition.info.fullname not in POOLS
        and type(declared) is Var
        and declared.info.fullname == MODULE
    )


def call_of_attribute(ctx: AttributeContext) -> Type:
    """`Module.__call__`, declared as a variable: every use of it, also as a Callable or a Protocol's member."""
    typ, default, is_lvalue, context, api = ctx
    if is_lvalue:
        return default
    plain = isinstance(typ, Instance) and typ.extra_attrs is None
    if isinstance(typ, Instance) and plain and typ.type in _BOUND:
        return _BOUND[typ.type]
    instance = instance_of(typ)
    if instance is None:
        return default
    owner = owner_of(instance.type, "__call__")
    if (owner is None or owner.fullname != MODULE) and not isinstance(context, SuperExpr):
        return default  # the class's own __call__; only its super().__call__ is Module's
    found = forward_type(typ, context, api)
    if plain and not _in_daemon and isinstance(found, CallableType) and _alike(instance.type):
        _BOUND[instance.type] = found
    return found or default


def call_of_method(ctx: MethodSigContext) -> FunctionLike:
    """`Module.__call__`, declared as a method (what torch plans): direct calls."""
    instance = instance_of(ctx.type)
    owner = owner_of(instance.type, "__call__") if instance is not None else None
    if owner is None or owner.fullname != MODULE or isinstance(owner.names["__call__"].node, Var):
        return ctx.default_signature
    found = forward_type(ctx.type, ctx.context, ctx.api)
    return found if isinstance(found, CallableType | Overloaded) else ctx.default_signature
