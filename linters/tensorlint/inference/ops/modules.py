"""torch.nn's layers: what their constructors bind, what calling them returns, and their attributes."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Sequence_
from dataclasses import dataclass
from functools import cache

from tensorlint.inference import ranks
from tensorlint.inference import sizes as S
from tensorlint.inference.distant_changes import SHOWN
from tensorlint.inference.ops import table
from tensorlint.inference.ops.table import Call, Misfit, Parameter, bind, parse_parameters
from tensorlint.inference.ops.unknown_arguments import as_tensors
from tensorlint.inference.values import (
    CONTAINERS,
    OPEN,
    UNKNOWN,
    Dictionary,
    LibraryObject,
    Sequence,
    Tensor,
    Value,
    is_none,
    unknown_members,
)

Forward = Callable[..., Value]
AttributeOf = Callable[[LibraryObject, str], Value | None]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Layer:
    """`parameters` are the constructor's, `inputs` those of a call, `forward(call, layer, **inputs)` its result."""

    parameters: tuple[Parameter, ...]
    inputs: tuple[Parameter, ...]
    forward: Forward
    attribute: AttributeOf | None = None
    tensor: bool = True


LAYERS: dict[str, Layer] = {}

_PREFIXES = ("torch.nn.", "torch.ao.nn.")
_NOT_LAYERS = ("torch.nn.functional.", "torch.nn.utils.", "torch.nn.init.")


def layer(
    names: str,
    parameters: str = "",
    inputs: str = "input",
    *,
    attribute: AttributeOf | None = None,
    tensor: bool = True,
) -> Callable[[Forward], Forward]:
    """Register the forward of the layers `torch.nn.<name>`; a dotted name is a path of its own."""

    def register(forward: Forward) -> Forward:
        entry = Layer(parse_parameters(parameters), parse_parameters(inputs), forward, attribute, tensor)
        for name in names.split():
            LAYERS[name if "." in name else f"torch.nn.{name}"] = entry
        return forward

    return register


@cache
def _find(path: str) -> Layer | None:
    _load()
    found = LAYERS.get(path)
    if found is None and path.startswith(_PREFIXES) and not path.startswith(_NOT_LAYERS):
        found = LAYERS.get(f"torch.nn.{path.rpartition('.')[2]}")
    return found


_loaded = False


def _load() -> None:
    global _loaded
    if not _loaded:
        _loaded = True
        import tensorlint.inference.ops.layers  # noqa: F401


def known(path: str) -> bool:
    """Whether `path` names a layer of the table."""
    return _find(path) is not None


_OF_ATTENTION = frozenset({"scaled_dot_product_attention", "multi_head_attention_forward"})


@cache
def may_call(path: str, patched: frozenset[str]) -> bool:
    """Whether the layer, or one that it holds, may call one of these functions of torch, which the program has replaced."""
    kind = path.rpartition(".")[2].lower()
    if path in CONTAINERS:
        return not patched <= _OF_ATTENTION
    if "attention" in kind or "transformer" in kind:
        return True
    if "interpolate" in patched and "upsampl" in kind:
        return True
    return any(name.replace("_", "").rstrip("123d") in kind for name in patched)


@cache
def settings(path: str) -> frozenset[str]:
    """What can be assigned to a layer and changes what calling it gives."""
    found = _find(path)
    if found is None or not path.startswith("torch.nn."):
        return HEADS if path.endswith(".classifier") else frozenset()
    names = {parameter.name for parameter in found.parameters} - SHOWN
    return frozenset(names | {"forward", "__class__"} | ({"weight"} if path.startswith(_WEIGHTED) else set()))


# What may be put in the place of a classifier's own: see `layers.classifiers`.
HEADS = frozenset({"fc", "classifier", "heads", "head", "forward", "_forward_impl", "__class__"})
_WEIGHTED = ("torch.nn.Linear", "torch.nn.Conv", "torch.nn.Embedding", "torch.nn.Bilinear")


def construct(call: Call, path: str, args: Sequence_[Value], kwargs: dict[str, Value]) -> LibraryObject:
    """The layer that `nn.Linear(8, 1)` makes; arguments that do not fit leave it without any."""
    found = _find(path)
    if found is None:
        return LibraryObject(path, dict(kwargs), tuple(args), {}, call.node)
    if path in CONTAINERS:
        args, kwargs = [_now(each) for each in args], {name: _now(each) for name, each in kwargs.items()}
    if OPEN in kwargs:
        words = {each.name: UNKNOWN for each in found.parameters[len(args) :]}
        kwargs = words | {name: value for name, value in kwargs.items() if name != OPEN}
    try:
        arguments = bind(found.parameters, args, kwargs)
    except Misfit:
        return LibraryObject(path, {}, (), {"members": unknown_members(path)} if path in CONTAINERS else {}, call.node)
    if "kernel_size" in arguments and is_none(arguments.get("stride", UNKNOWN)) and "LPPool" not in path:
        arguments["stride"] = arguments["kernel_size"]  # which it stays when the kernel is given another size
    return LibraryObject(path, arguments, tuple(args), {}, call.node)


def _now(value: Value) -> Value:
    """What a container takes from a list or dictionary: what is changed in that later is not changed in it."""
    if isinstance(value, Sequence) and value.items is not None:
        return Sequence(value.kind, list(value.items))
    if isinstance(value, Dictionary) and value.items is not None:
        return Dictionary(dict(value.items))
    return value


def argument(obj: LibraryObject, name: str) -> Value:
    """A constructor's argument, or what the program assigned to the attribute since."""
    if name in obj.fields:
        return obj.fields[name]
    return obj.arguments.get(name, UNKNOWN)


def _as_made(obj: LibraryObject) -> LibraryObject:
    """The layer without what was assigned to the numbers that it only shows."""
    if not obj.fields.keys() & SHOWN:
        return obj
    kept = {name: value for name, value in obj.fields.items() if name not in SHOWN}
    return LibraryObject(obj.path, obj.arguments, obj.positional, kept, obj.made)


def call_module(call: Call, obj: LibraryObject, args: Sequence_[Value], kwargs: dict[str, Value]) -> Value:
    """The result of calling a layer."""
    found = _find(obj.path)
    if found is None:
        return UNKNOWN
    obj = _as_made(obj)
    if obj.path.endswith("Loss"):
        args, kwargs = as_tensors(found.inputs, args, kwargs)
    try:
        return table.possible(found.forward(call, obj, **bind(found.inputs, args, kwargs)))
    except table.STOPS:
        pass
    except Exception:
        if table.strict:
            raise
    if not found.tensor:
        return UNKNOWN
    first = args[0] if len(args) == 1 and not kwargs else None
    if isinstance(first, Tensor) and first.shape is not None and ranks.SAME_LAYERS.match(obj.path.rpartition(".")[2]):
        return Tensor("torch", tuple(S.symbol() for _ in first.shape))
    return Tensor("torch")


def module_attribute(obj: LibraryObject, name: str) -> Value:
    """`layer.weight`, `layer.in_features`; UNKNOWN where there is no such attribute or it is not known."""
    if name in obj.fields:
        return obj.fields[name]
    found = _find(obj.path)
    if found is None:
        return UNKNOWN
    if found.attribute is not None:
        try:
            value = found.attribute(_as_made(obj), name)
            if value is not None:
                table.possible(value)
        except table.STOPS:
            return UNKNOWN
        except Exception:
            if table.strict:
                raise
            return UNKNOWN
        if value is not None:
            return value
    value = obj.arguments.get(name, UNKNOWN)
    return UNKNOWN if isinstance(value, (list, dict)) or name in ("weight", "bias") else value
