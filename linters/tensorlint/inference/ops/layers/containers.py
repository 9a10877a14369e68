"""Sequential and the wrappers that call the module they hold."""

from __future__ import annotations

from tensorlint.inference.ops.modules import argument, layer
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.values import LibraryObject, Sequence, Value


@layer("Sequential", "*args", "input", tensor=False)
def sequential(call: Call, obj: LibraryObject, input: Value) -> Value:
    held = None if call.interpreter is None else call.interpreter.members(obj)
    if not isinstance(held, Sequence) or held.items is None:
        raise Undecided
    value = input
    for member in held.items:
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
