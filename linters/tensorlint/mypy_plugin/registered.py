"""What a class registers by name: buffers, parameters and modules that only `Module.__getattr__` knows.

With calls typed, `self.proj(self.mask)` would be refused for the `Tensor | Module` that torch declares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mypy.nodes import (
    ARG_POS,
    AssignmentStmt,
    Block,
    CallExpr,
    ClassDef,
    Decorator,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    IfStmt,
    Lvalue,
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

from tensorlint.mypy_plugin.modules import METADATA, TENSOR, instance_of, is_module
from tensorlint.mypy_plugin.pooling import is_plain_pool

REGISTERS = {
    "register_buffer": "tensor",
    "register_parameter": "parameter",
    "add_module": "module",
    "register_module": "module",
}


# The blocks in a statement, by its kind; others have none. A table, as `isinstance` of eight kinds for each statement
# of a program would be most of what the plugin costs. (mypy's own visitors cannot be subclassed.)
_BLOCKS: dict[type[Statement], Callable[[Any], list[Block | None]]] = {
    IfStmt: lambda statement: [*statement.body, statement.else_body],
    ForStmt: lambda statement: [statement.body, statement.else_body],
    WhileStmt: lambda statement: [statement.body, statement.else_body],
    WithStmt: lambda statement: [statement.body],
    TryStmt: lambda statement: [statement.body, *statement.handlers, statement.else_body, statement.finally_body],
    MatchStmt: lambda statement: statement.bodies,
}


def _statements(block: Block) -> list[Statement]:
    """Every statement of a function, in no order, not of functions in it."""
    found: list[Statement] = []
    blocks: list[Block | None] = [block]
    while blocks:
        inner = blocks.pop()
        if inner is None:
            continue
        body = inner.body
        found += body
        for statement in body:
            if type(statement) in _BLOCKS:
                blocks += _BLOCKS[type(statement)](statement)
    return found


def _methods(cls: ClassDef) -> Iterator[FuncDef]:
    for statement in _statements(cls.defs):
        if isinstance(statement, Decorator):
            yield statement.func
        elif isinstance(statement, FuncDef):
            yield statement


def _registered(call: Expression, itself: str) -> tuple[str, str] | None:
    """(name, kind) of `self.register_buffer("name", value)`; None for other expressions."""
    if not isinstance(call, CallExpr) or not isinstance(call.callee, MemberExpr):
        return None
    callee = call.callee
    kind = REGISTERS.get(callee.name)
    if kind is None or not isinstance(callee.expr, NameExpr) or callee.expr.name != itself:
        return None
    by_name = dict(zip(call.arg_names, call.args, strict=True))
    positional = [
        arg for arg, name, form in zip(call.args, call.arg_names, call.arg_kinds, strict=True) if form == ARG_POS
    ]
    name = positional[0] if positional else by_name.get("name")
    if not isinstance(name, StrExpr):
        return None
    values = [*positional[1:2], *(by_name[key] for key in ("tensor", "param", "module") if key in by_name)]
    value = values[0] if values else None
    if isinstance(value, NameExpr) and value.name == "None":
        kind = "maybe"
    return name.value, kind


def _own_attribute(target: Lvalue, itself: str) -> str | None:
    """`pool` of `self.pool`."""
    if isinstance(target, MemberExpr) and isinstance(target.expr, NameExpr) and target.expr.name == itself:
        return target.name
    return None


def _pools(bodies: list[tuple[str, list[Statement]]]) -> dict[str, str]:
    """What is assigned to each attribute: "plain" pooling layers and nothing else, or "other"."""
    pools: dict[str, str] = {}
    for itself, statements in bodies:
        for statement in statements:
            if isinstance(statement, AssignmentStmt):
                plain = is_plain_pool(statement.rvalue)
                for target in statement.lvalues:
                    name = _own_attribute(target, itself)
                    if name is not None:
                        pools[name] = "plain" if plain and pools.get(name) != "other" else "other"
    return pools


def _assigned(bodies: list[tuple[str, list[Statement]]], names: set[str]) -> list[str]:
    """Those of the names whose attribute gets a value, without a type of its own."""
    found = set()
    for itself, statements in bodies:
        for statement in statements:
            if type(statement) is AssignmentStmt and statement.unanalyzed_type is None:
                for target in statement.lvalues:
                    if type(target) is MemberExpr and target.name in names and _own_attribute(target, itself):
                        found.add(target.name)
    return sorted(found)


def record_class(ctx: ClassDefContext) -> None:
    """Keeps the names that a class registers, and the attributes that it makes pooling layers."""
    names: dict[str, str] = {}
    bodies: list[tuple[str, list[Statement]]] = []
    pooled = False
    for method in _methods(ctx.cls):
        if not method.arguments:
            continue
        itself = method.arguments[0].variable.name
        statements = _statements(method.body)
        bodies.append((itself, statements))
        for statement in statements:  # of every function of every module of the program
            if type(statement) is ExpressionStmt:
                found = _registered(statement.expr, itself)
                if found is not None:
                    name, kind = found
                    names[name] = kind if names.get(name, kind) == kind else "maybe"
            elif type(statement) is AssignmentStmt and not pooled:
                pooled = is_plain_pool(statement.rvalue)
    said = [base.metadata[METADATA] for base in ctx.cls.info.mro[1:] if METADATA in base.metadata]
    inherited = {name for base in said for name in base["pools"]}
    pools = {}
    if pooled or inherited:
        pools = {name: kind for name, kind in _pools(bodies).items() if kind == "plain" or name in inherited}
    registered = {*names, *(name for base in said for name in base["names"])}
    assigned = _assigned(bodies, registered) if registered else []
    if names or pools or assigned:
        ctx.cls.info.metadata[METADATA] = {"names": names, "pools": pools, "assigned": assigned}


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


_NONE: frozenset[str] = frozenset()


def registered_and_assigned(info: TypeInfo | None) -> frozenset[str]:
    """The attributes that a class assigns and, or a class above it, registers: a layer here, a buffer there."""
    said = info.metadata.get(METADATA) if info is not None else None
    return frozenset(said.get("assigned", ())) if said else _NONE


def either_attribute(ctx: AttributeContext) -> Type:
    """Such an attribute: mypy knows the layer only, and would refuse its use as the buffer."""
    instance = instance_of(ctx.default_attr_type)
    if ctx.is_lvalue or instance is None or not is_module(instance.type):
        return ctx.default_attr_type
    return AnyType(TypeOfAny.explicit)
