"""What a class registers by name: buffers, parameters and modules that only `Module.__getattr__` knows.

With calls typed, `self.proj(self.mask)` would be refused for the `Tensor | Module` that torch declares.
"""

from __future__ import annotations

from collections.abc import Iterator

from mypy.nodes import (
    ARG_POS,
    AssignmentStmt,
    Block,
    CallExpr,
    ClassDef,
    Decorator,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    IfStmt,
    MatchStmt,
    MemberExpr,
    NameExpr,
    Statement,
    StrExpr,
    TryStmt,
    TypeInfo,
    WhileStmt,
    WithStmt,
)
from mypy.plugin import AttributeContext, ClassDefContext
from mypy.types import AnyType, Instance, Type, TypeOfAny, UnionType, get_proper_type

from tensorlint.mypy_plugin.modules import METADATA, TENSOR, instance_of
from tensorlint.mypy_plugin.pooling import is_plain_pool

REGISTERS = {
    "register_buffer": "tensor",
    "register_parameter": "parameter",
    "add_module": "module",
    "register_module": "module",
}


def _statements(block: Block) -> Iterator[Statement]:
    """Every statement of a function, in no order, not of functions in it. (mypy's visitors cannot be subclassed.)"""
    blocks: list[Block | None] = [block]
    while blocks:
        inner = blocks.pop()
        if inner is None:
            continue
        for statement in inner.body:
            yield statement
            kind = type(statement)
            if kind is AssignmentStmt or kind is ExpressionStmt:
                continue  # most are
            if isinstance(statement, IfStmt):
                blocks += [*statement.body, statement.else_body]
            elif isinstance(statement, ForStmt | WhileStmt):
                blocks += [statement.body, statement.else_body]
            elif isinstance(statement, WithStmt):
                blocks.append(statement.body)
            elif isinstance(statement, TryStmt):
                blocks += [statement.body, *statement.handlers, statement.else_body, statement.finally_body]
            elif isinstance(statement, MatchStmt):
                blocks += statement.bodies


def _methods(cls: ClassDef) -> Iterator[FuncDef]:
    for statement in _statements(cls.defs):
        if isinstance(statement, Decorator):
            yield statement.func
        elif isinstance(statement, FuncDef):
            yield statement


def _registered(call: CallExpr, itself: str) -> tuple[str, str] | None:
    """(name, kind) of `self.register_buffer("name", value)`; None for other calls."""
    callee = call.callee
    if not (isinstance(callee, MemberExpr) and isinstance(callee.expr, NameExpr) and callee.expr.name == itself):
        return None
    kind = REGISTERS.get(callee.name)
    by_name = dict(zip(call.arg_names, call.args, strict=True))
    positional = [
        arg for arg, name, form in zip(call.args, call.arg_names, call.arg_kinds, strict=True) if form == ARG_POS
    ]
    name = positional[0] if positional else by_name.get("name")
    if kind is None or not isinstance(name, StrExpr):
        return None
    values = [*positional[1:2], *(by_name[key] for key in ("tensor", "param", "module") if key in by_name)]
    value = values[0] if values else None
    if isinstance(value, NameExpr) and value.name == "None":
        kind = "maybe"
    return name.value, kind


def record_class(ctx: ClassDefContext) -> None:
    """Keeps the names that a class registers, and the attributes that it makes pooling layers."""
    names: dict[str, str] = {}
    pools: dict[str, str] = {}
    for method in _methods(ctx.cls):
        if not method.arguments:
            continue
        itself = method.arguments[0].variable.name
        for statement in _statements(method.body):
            if isinstance(statement, ExpressionStmt) and isinstance(statement.expr, CallExpr):
                found = _registered(statement.expr, itself)
                if found is not None:
                    name, kind = found
                    names[name] = kind if names.get(name, kind) == kind else "maybe"
            elif isinstance(statement, AssignmentStmt):
                for target in statement.lvalues:
                    if (
                        isinstance(target, MemberExpr)
                        and isinstance(target.expr, NameExpr)
                        and target.expr.name == itself
                    ):
                        plain = is_plain_pool(statement.rvalue)
                        pools[target.name] = "plain" if plain and pools.get(target.name) != "other" else "other"
    inherited = {name for base in ctx.cls.info.mro[1:] for name in base.metadata.get(METADATA, {}).get("pools", {})}
    pools = {name: kind for name, kind in pools.items() if kind == "plain" or name in inherited}
    if names or pools:
        ctx.cls.info.metadata[METADATA] = {"names": names, "pools": pools}


def registered_attribute(ctx: AttributeContext, name: str, parameter: TypeInfo | None) -> Type:
    """The type of an attribute that only `Module.__getattr__` has, where its class registers that name."""
    instance = instance_of(ctx.type)
    union = get_proper_type(ctx.default_attr_type)
    if ctx.is_lvalue or instance is None or not isinstance(union, UnionType):
        return ctx.default_attr_type
    kinds = {base.metadata.get(METADATA, {}).get("names", {}).get(name) for base in instance.type.mro} - {None}
    if not kinds:
        return ctx.default_attr_type
    items = {item.type.fullname: item for item in map(get_proper_type, union.items) if isinstance(item, Instance)}
    if "module" in kinds:
        # Of which class is not known here; as a Module, its own weights would be `Tensor | Module` once more.
        return AnyType(TypeOfAny.explicit)
    tensor = items.get(TENSOR)
    if tensor is None:
        return ctx.default_attr_type
    if kinds == {"tensor"}:
        return tensor
    if kinds == {"parameter"}:
        return Instance(parameter, []) if parameter is not None else tensor
    # None, later a tensor: `is None` stays possible, and a use as a tensor is not refused.
    return UnionType([tensor, AnyType(TypeOfAny.explicit)])
