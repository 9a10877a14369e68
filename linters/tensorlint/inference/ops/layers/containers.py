"""Sequential and the wrappers that call the module they hold."""

from __future__ import annotations

from tensorlint.inference.ops.modules import argument, layer
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.values import Dictionary, LibraryObject, Sequence, Value


def members(obj: LibraryObject) -> list[Value]:
    """The modules of a Sequential or ModuleList, in order."""
    if "members" in obj.fields:
        held = obj.fields["members"]
        if isinstance(held, Sequence) and held.items is not None:
            return held.items
        raise Undecided
    given = obj.positional
    if len(given) == 1:
        only = given[0]
        if isinstance(only, Dictionary):
            if only.items is None:
                raise Undecided
            return list(only.items.values())
        if isinstance(only, Sequence):
            if only.items is None:
                raise Undecided
            return list(only.items)
    return list(given)


@layer("Sequential", "*args", "input", tensor=False)
def sequential(call: Call, obj: LibraryObject, input: Value) -> Value:
    value = input
    for member in members(obj):
        value = call.call_value(member, [value])
    return value


@layer(
    "DataParallel torch.nn.parallel.DistributedDataParallel",
    "module device_ids=None output_device=None **rest",
    "*args **kwargs",
    tensor=False,
)
def parallel(call: Call, obj: LibraryObject, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return call.call_value(argument(obj, "module"), args, kwargs)


@layer("ModuleList ModuleDict ParameterList ParameterDict", "modules=None", "*args **kwargs", tensor=False)
def container(call: Call, obj: LibraryObject, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A container is not called."""
    raise Undecided
