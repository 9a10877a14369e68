"""What a type is to the plugin: an nn.Module or not, and which class a name of it comes from."""

from __future__ import annotations

from mypy.nodes import TypeInfo
from mypy.types import Instance, Type, TypeVarType, get_proper_type

MODULE = "torch.nn.modules.module.Module"
TENSOR = "torch._tensor.Tensor"
PARAMETER = "torch.nn.parameter.Parameter"

# The plugin's key in TypeInfo.metadata, which mypy caches with the class: what the class registers or makes by name.
METADATA = "tensorlint"


def instance_of(typ: Type | None) -> Instance | None:
    """The instance that a type is or is bounded by; None for everything else, a union too."""
    proper = get_proper_type(typ)
    if isinstance(proper, TypeVarType):
        proper = get_proper_type(proper.upper_bound)
    return proper if isinstance(proper, Instance) else None


def owner_of(info: TypeInfo, name: str) -> TypeInfo | None:
    """The class in whose body a name is that an instance of `info` has."""
    return info.get_containing_type_info(name)


def is_module(info: TypeInfo) -> bool:
    return info.has_base(MODULE)
