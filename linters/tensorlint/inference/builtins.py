"""Python's built-in functions and containers, and the standard library and framework classes programs are made of."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

from tensorlint.inference import sizes as S
from tensorlint.inference.values import (
    NONE,
    UNKNOWN,
    Const,
    Dictionary,
    Function,
    Instance,
    LibraryObject,
    Number,
    Opaque,
    Partial,
    Range,
    Scalar,
    Sequence,
    Tensor,
    Value,
    copy,
    integer,
    join,
    number,
    size_of,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

_CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.ParameterList"})
_DATA_LOADERS = frozenset({"torch.utils.data.DataLoader"})
_MAX_ITEMS = 256


def call(interp: State, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """A built-in function."""
    handler = _BUILTINS.get(name)
    if handler is not None:
        result: Value = handler(interp, args, kwargs, node)
        return result
    if name in (
        "isinstance",
        "print",
        "id",
        "hash",
        "repr",
        "str",
        "callable",
        "hasattr",
        "type",
        "format",
        "issubclass",
    ):
        return UNKNOWN
    interp.escape(args, kwargs)
    return UNKNOWN


def _len(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) != 1:
        return UNKNOWN
    value = args[0]
    if isinstance(value, Sequence):
        if value.shape_of is not None:
            return UNKNOWN
        length = interp.length_of(value)
        return UNKNOWN if length is None or value.kind == "set" else number(length)
    if isinstance(value, Dictionary):
        return UNKNOWN if value.items is None else Const(len(value.items))
    if isinstance(value, Const) and isinstance(value.value, (str, bytes)):
        return Const(len(value.value))
    if isinstance(value, Tensor):
        return interp.axis_size(value, 0)
    if isinstance(value, Opaque):
        if value.name is not None and not value.variant:
            key = ("len",)
            if value.fields is None:
                value.fields = {}
            found = value.fields.get(key)
            if found is None:
                found = interp.axis_size(value, 0)
                value.fields[key] = found
            return found
        return interp.axis_size(value, 0)
    if isinstance(value, Range):
        iterated = interp.iterate_range(value)
        length = interp.length_of(iterated)
        return UNKNOWN if length is None else number(length)
    if isinstance(value, LibraryObject):
        members = interp.members(value)
        if isinstance(members, Sequence) and members.items is not None:
            return Const(len(members.items))
        return UNKNOWN
    if isinstance(value, Instance):
        return interp.call_method(value, "__len__", [], {}, node)
    return UNKNOWN


def _range(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    values = [size_of(arg) for arg in args]
    if len(values) == 1:
        return Range(0, values[0], 1)
    if len(values) == 2:
        return Range(values[0], values[1], 1)
    if len(values) == 3:
        return Range(values[0], values[1], values[2])
    return UNKNOWN


def _int(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) != 1 or kwargs:
        return Scalar("int")
    value = args[0]
    if isinstance(value, Const) and isinstance(value.value, (int, float, str)):
        try:
            return Const(int(value.value))
        except (ValueError, OverflowError):
            return UNKNOWN
    if isinstance(value, Number):
        return value
    if isinstance(value, Opaque):
        # int(n) is n only if n is an integer already: a size of its own, but always the same one.
        if value.fields is None:
            value.fields = {}
        return value.fields.setdefault(("int",), Opaque(None, variant=value.variant))
    return Scalar("int")


def _float(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) == 1 and isinstance(args[0], Const) and isinstance(args[0].value, (int, float)):
        return Const(float(args[0].value))
    return Scalar("float")


def _to_sequence(kind: Any) -> Any:
    def convert(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        if not args:
            return Sequence(kind, [])
        value = args[0]
        if isinstance(value, Sequence) and value.shape_of is not None and kind == "tuple":
            return value
        if isinstance(value, (Opaque,)) or value is UNKNOWN:
            return Sequence(kind)
        known = interp.iterate(value)
        if kind == "set":
            return Sequence("set", None, known.element)
        return Sequence(kind, None if known.items is None else list(known.items), known.element, known.length)

    return convert


def _zip(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    known = [interp.iterate(arg) for arg in args]
    columns = [each.items for each in known]
    if columns and all(items is not None for items in columns):
        return Sequence("iterator", [Sequence("tuple", list(row)) for row in zip(*columns, strict=False)])
    return Sequence("iterator", None, Sequence("tuple", [interp.any_item(each) for each in known]))


def _enumerate(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if not args:
        return UNKNOWN
    known = interp.iterate(args[0])
    start = integer(args[1] if len(args) > 1 else kwargs.get("start", Const(0)))
    if known.items is not None and start is not None:
        items = [Sequence("tuple", [Const(start + at), item]) for at, item in enumerate(known.items)]
        return Sequence("iterator", list(items))
    return Sequence("iterator", None, Sequence("tuple", [Number(S.symbol()), interp.any_item(known)]), known.length)


def _reversed(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    known = interp.iterate(args[0]) if args else Sequence("iterator")
    if known.items is not None:
        return Sequence("iterator", list(reversed(known.items)))
    return Sequence("iterator", None, known.element, known.length)


def _sorted(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    known = interp.iterate(args[0]) if args else Sequence("iterator")
    return Sequence("list", None, interp.any_item(known) if known.items != [] else UNKNOWN, interp.length_of(known))


def _map(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) != 2:
        return Sequence("iterator")
    known = interp.iterate(args[1])
    if known.items is not None and len(known.items) <= 8:
        return Sequence("iterator", [interp.call(args[0], [item], {}, node) for item in known.items])
    start = S.symbol_serial()
    element = interp.call(args[0], [interp.any_item(known)], {}, node)
    return Sequence("iterator", None, interp.varying(element, start), interp.length_of(known))


def _sum(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if not args:
        return UNKNOWN
    if isinstance(args[0], Tensor):
        tensor = args[0]
        if tensor.shape is not None and len(tensor.shape) >= 1 and tensor.framework is not None:
            item = interp.item(tensor, Const(0), node or ast.Constant(0))
            return interp.binary("+", item, item, node or ast.Constant(0)) if isinstance(item, Tensor) else UNKNOWN
        return UNKNOWN
    known = interp.iterate(args[0])
    if known.items is not None and known.items:
        total: Value = args[1] if len(args) > 1 else Const(0)
        for item in known.items:
            total = interp.binary("+", total, item, node or ast.Constant(0))
        return total
    element = known.element
    if isinstance(element, Tensor) and element.shape is not None:
        # At least two of them, or 0 plus one: the shape is the items' only if it does not vary.
        if any(atom.variant for size in element.shape for atom in S.symbols(size)):
            return Tensor(element.framework, dtype=None)
        return Tensor(element.framework, element.shape, None, None)
    return UNKNOWN


def _extreme(pick: Any) -> Any:
    def extreme(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        values = list(args)
        if len(values) == 1 and isinstance(values[0], Sequence) and values[0].items:
            values = list(values[0].items)
        if (
            values
            and not kwargs
            and all(isinstance(value, Const) and isinstance(value.value, (int, float)) for value in values)
        ):
            return Const(pick(value.value for value in values))  # type: ignore[attr-defined]
        if len(values) > 1 and all(isinstance(value, (Const, Number)) for value in values):
            sizes = {size_of(value) for value in values}
            if len(sizes) == 1:
                return values[0]
            return Scalar("int") if all(size is not None for size in sizes) else UNKNOWN
        return UNKNOWN

    return extreme


def _getattr(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) == 2 and isinstance(args[1], Const) and isinstance(args[1].value, str):
        return interp.attribute_of(args[0], args[1].value, node)
    return UNKNOWN


def _setattr(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) == 3 and isinstance(args[0], Instance):
        if isinstance(args[1], Const) and isinstance(args[1].value, str):
            interp.store_attribute(args[0], args[1].value, args[2])
        else:
            args[0].fields.clear()
            interp.mutations.append((args[0], None))
    return NONE


def _dict(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if not args:
        return Dictionary(dict(kwargs))
    if isinstance(args[0], Dictionary) and args[0].items is not None:
        return Dictionary({**args[0].items, **kwargs})
    return Dictionary(None)


def _abs(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) != 1:
        return UNKNOWN
    if isinstance(args[0], Tensor):
        return interp.call_method(args[0], "abs", [], {}, node)
    if isinstance(args[0], Const) and isinstance(args[0].value, (int, float)):
        return Const(abs(args[0].value))
    return UNKNOWN


def _next(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if args and isinstance(args[0], (Sequence, LibraryObject, Tensor)):
        known = interp.iterate(args[0])
        if known.items is not None:
            # Which item comes next depends on what was taken before.
            return interp.any_item(known) if len(args) == 1 else UNKNOWN
        return interp.any_item(known) if len(args) == 1 else UNKNOWN
    return UNKNOWN


def _iter(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    return args[0] if len(args) == 1 else UNKNOWN


def _round(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    if len(args) == 1 and isinstance(args[0], Const) and isinstance(args[0].value, (int, float)):
        return Const(round(args[0].value))
    return UNKNOWN


def _reveal_shape(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    interp.reveal(args, node)
    return args[0] if args else UNKNOWN


def _super(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    return UNKNOWN


def _bool(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    truth = interp.truth(args[0]) if len(args) == 1 else None
    return Scalar("bool") if truth is None else Const(truth)


def _slice(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    from tensorlint.inference.values import Slice

    if len(args) == 1:
        return Slice(NONE, args[0], NONE)
    if len(args) == 2:
        return Slice(args[0], args[1], NONE)
    return Slice(*args[:3]) if len(args) == 3 else UNKNOWN


_BUILTINS: dict[str, Any] = {
    "len": _len,
    "range": _range,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "abs": _abs,
    "round": _round,
    "list": _to_sequence("list"),
    "tuple": _to_sequence("tuple"),
    "set": _to_sequence("set"),
    "frozenset": _to_sequence("set"),
    "dict": _dict,
    "zip": _zip,
    "enumerate": _enumerate,
    "reversed": _reversed,
    "sorted": _sorted,
    "map": _map,
    "sum": _sum,
    "min": _extreme(min),
    "max": _extreme(max),
    "getattr": _getattr,
    "setattr": _setattr,
    "next": _next,
    "iter": _iter,
    "slice": _slice,
    "super": _super,
    "reveal_shape": _reveal_shape,
}


# -- containers --------------------------------------------------------------------------------------------------


def mutate(interp: State, receiver: Sequence, name: str, args: list[Value], target: ast.expr) -> Value | None:
    """A list method that changes the list, called on a name or an attribute: the name gets a new value.

    None if the method is not one of these.
    """
    if receiver.kind != "list" or name not in (
        "append",
        "extend",
        "insert",
        "pop",
        "remove",
        "clear",
        "sort",
        "reverse",
    ):
        return None
    before = receiver.items
    taken: Value = NONE
    if name == "append" and len(args) == 1:
        if before is not None and len(before) < _MAX_ITEMS and not receiver.shared:
            changed = Sequence("list", [*before, args[0]])
        else:
            changed = Sequence("list", None, _joined(receiver, [args[0]]))
    elif name == "extend" and len(args) == 1 and before is not None and not receiver.shared:
        more = interp.iterate(args[0])
        if more.items is not None and len(before) + len(more.items) < _MAX_ITEMS:
            changed = Sequence("list", [*before, *more.items])
        else:
            changed = Sequence("list", None, _joined(receiver, [more.element]))
    elif name == "pop":
        taken = UNKNOWN
        if before is not None and not args and before and not receiver.shared:
            taken, changed = before[-1], Sequence("list", before[:-1])
        else:
            changed = Sequence("list")
    else:
        changed = Sequence("list")
    if receiver.shared or not isinstance(target, ast.Name) or interp.frame.env.get(target.id) is not receiver:
        # Other names may hold the same list.
        element = changed.element
        if changed.items is not None:
            element = _joined(changed, []) if changed.items else UNKNOWN
        interp.forget_contents(receiver)
        if name == "append":
            receiver.element = element
        interp.mutations.append((receiver, None))
        return taken
    interp.frame.env[target.id] = changed
    return taken


def _joined(receiver: Sequence, more: list[Value]) -> Value:
    values = [*(receiver.items if receiver.items is not None else [receiver.element]), *more]
    if not values:
        return UNKNOWN
    result = values[0]
    for value in values[1:]:
        result = join(result, value)
    return UNKNOWN if isinstance(result, Opaque) else result


def call_container_method(
    interp: State, receiver: Value, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    if isinstance(receiver, Dictionary):
        if name in ("get", "pop", "setdefault") and args and isinstance(args[0], Const) and receiver.items is not None:
            try:
                found = receiver.items.get(args[0].value)
            except TypeError:
                return UNKNOWN
            if name != "get":
                interp.forget_contents(receiver)
                interp.mutations.append((receiver, None))
            if found is not None:
                return found
            return args[1] if len(args) > 1 else NONE
        if name == "items":
            if receiver.items is not None:
                return Sequence(
                    "dict_items", [Sequence("tuple", [Const(key), value]) for key, value in receiver.items.items()]
                )
            return Sequence("dict_items", None, Sequence("tuple", [UNKNOWN, receiver.element]))
        if name == "values":
            return Sequence(
                "dict_items", None if receiver.items is None else list(receiver.items.values()), receiver.element
            )
        if name == "keys":
            return Sequence("dict_items", None if receiver.items is None else [Const(key) for key in receiver.items])
        if name == "copy":
            return Dictionary(None if receiver.items is None else dict(receiver.items), receiver.element)
        interp.forget_contents(receiver)
        interp.mutations.append((receiver, None))
        return UNKNOWN
    if isinstance(receiver, Sequence):
        if name == "copy" and receiver.kind == "list":
            return Sequence(
                "list", None if receiver.items is None else list(receiver.items), receiver.element, receiver.length
            )
        if name == "numel" and receiver.items is not None:
            sizes = [size_of(item) for item in receiver.items]
            if all(size is not None for size in sizes):
                return number(S.product([size for size in sizes if size is not None]))
            return UNKNOWN
        if name in ("index", "count"):
            return Scalar("int")
        if receiver.kind == "list":
            interp.forget_contents(receiver)
            interp.mutations.append((receiver, None))
        return UNKNOWN
    if isinstance(receiver, Const) and isinstance(receiver.value, str):
        if name == "split" and not kwargs and all(isinstance(arg, Const) for arg in args):
            try:
                return Sequence("list", [Const(part) for part in receiver.value.split(*(arg.value for arg in args))])  # type: ignore[attr-defined]
            except (TypeError, ValueError):
                return UNKNOWN
        if name in ("lower", "upper", "strip") and not args:
            return Const(getattr(receiver.value, name)())
    return UNKNOWN


# -- the standard library and the frameworks' own classes --------------------------------------------------------


def call_library(interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """A library's function or class that no table of operations has."""
    if path == "functools.partial" and args:
        return Partial(args[0], tuple(args[1:]), kwargs)
    if path.startswith("math."):
        return _math(path[5:], args)
    if path in ("copy.deepcopy", "copy.copy") and args:
        value = args[0]
        if isinstance(value, Tensor):
            return copy(value, source=None, reduced=None)
        return value if isinstance(value, LibraryObject) else UNKNOWN
    if path in ("torch.Size",) and args:
        value = args[0]
        return Sequence("tuple", value.items) if isinstance(value, Sequence) and value.items is not None else UNKNOWN
    if path in _DATA_LOADERS or path == "torch.utils.data.TensorDataset":
        bound = dict(kwargs)
        for key, value in zip(("dataset", "batch_size", "shuffle", "sampler", "batch_sampler"), args, strict=False):
            if path in _DATA_LOADERS:
                bound[key] = value
        return LibraryObject(path, bound, tuple(args), {}, node)
    if path in (
        "torch.nn.DataParallel",
        "torch.nn.parallel.DistributedDataParallel",
        "torch.compile",
        "torch.jit.script",
    ):
        if args and isinstance(args[0], (Instance, LibraryObject, Function)):
            if path == "torch.compile":
                return args[0]
            return UNKNOWN
        return UNKNOWN
    if path in ("torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.set_grad_enabled"):
        return LibraryObject(path, kwargs, tuple(args), {}, node)
    if path == "collections.OrderedDict":
        return (
            _dict(interp, args, kwargs, node) if not (args and isinstance(args[0], Sequence)) else _from_pairs(args[0])
        )
    if path in ("itertools.chain",):
        parts = [interp.iterate(arg) for arg in args]
        if all(part.items is not None for part in parts):
            return Sequence("iterator", [item for part in parts for item in part.items or ()])
        return Sequence("iterator")
    if path in ("pandas.DataFrame", "pandas.Series", "pandas.read_csv"):
        return LibraryObject(path, kwargs, tuple(args), {}, node)
    if path in ("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator"):
        return LibraryObject(path, kwargs, tuple(args), {}, node)
    if path.startswith(("torch.optim.",)):
        return LibraryObject(path, kwargs, tuple(args), {}, node)
    if path in ("typing.cast",) and len(args) == 2:
        return args[1]
    if path in ("tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.trange", "tqdm.notebook.tqdm") and args:
        return args[0]
    if _makes_model(path):
        return Opaque(None, kind=f"model of {path.partition('.')[0]}")
    if path.endswith(".reveal_shape"):
        return _reveal_shape(interp, args, kwargs, node)
    interp.escape(args, kwargs)
    return UNKNOWN


def _makes_model(path: str) -> bool:
    """Functions of other libraries that return an nn.Module."""
    library, _, rest = path.partition(".")
    name = path.rpartition(".")[2]
    if library == "torchvision":
        return path.startswith("torchvision.models.") and name.islower() and not name.startswith(("get_", "list_", "_"))
    if library == "timm":
        return path in ("timm.create_model", "timm.models.create_model")
    if library == "transformers":
        owner = rest.rpartition(".")[0].rpartition(".")[2]
        return (
            name in ("from_pretrained", "from_config")
            and ("Model" in owner or "For" in owner)
            and "TF" not in owner[:2]
        )
    return False


def _from_pairs(value: Value) -> Value:
    if isinstance(value, Sequence) and value.items is not None:
        items: dict[Any, Value] = {}
        for pair in value.items:
            if not (isinstance(pair, Sequence) and pair.items is not None and len(pair.items) == 2):
                return Dictionary(None)
            if not isinstance(pair.items[0], Const):
                return Dictionary(None)
            items[pair.items[0].value] = pair.items[1]
        return Dictionary(items)
    return Dictionary(None)


def _math(name: str, args: list[Value]) -> Value:
    values = [arg.value for arg in args if isinstance(arg, Const) and isinstance(arg.value, (int, float))]
    if (
        len(values) == len(args)
        and values
        and name in ("sqrt", "ceil", "floor", "log", "log2", "exp", "pow", "prod", "gcd", "cos", "sin")
    ):
        try:
            return Const(getattr(math, name)(*values))
        except (ValueError, OverflowError, TypeError):
            return UNKNOWN
    if name == "prod" and len(args) == 1 and isinstance(args[0], Sequence) and args[0].items is not None:
        sizes = [size_of(item) for item in args[0].items]
        if all(size is not None for size in sizes):
            return number(S.product([size for size in sizes if size is not None]))
    if name in ("sqrt", "log", "exp", "cos", "sin", "log2", "tanh"):
        return Scalar("float")
    if name in ("ceil", "floor"):
        return Scalar("int")
    return UNKNOWN


def call_object(
    interp: State, receiver: LibraryObject, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    """Calling an instance of a library's class; a decorator (`@torch.no_grad()`) leaves a function as it is."""
    if (
        receiver.path in ("torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.set_grad_enabled")
        and args
    ):
        return args[0]
    interp.escape(args, kwargs)
    return UNKNOWN


def call_object_method(
    interp: State,
    receiver: LibraryObject,
    name: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST | None,
) -> Value:
    from tensorlint.inference import ops

    if receiver.path.startswith("numpy.random."):
        kind = "Generator" if receiver.path.endswith("default_rng") else receiver.path.rpartition(".")[2]
        entry = ops.function(f"numpy.random.{kind}.{name}")
        if entry is not None:
            return interp.apply(entry, list(args), kwargs, node)
        return UNKNOWN
    if receiver.path.startswith("pandas.") and name in ("to_numpy",):
        return _frame_to_numpy(interp, receiver)
    interp.escape(args, kwargs)
    return UNKNOWN


def _frame_to_numpy(interp: State, receiver: LibraryObject) -> Value:
    """A DataFrame keeps its columns together: its array is column-major (numpy strides, `DataFrame.to_numpy`)."""
    source = receiver.positional[0] if receiver.positional else receiver.arguments.get("data")
    if receiver.path == "pandas.DataFrame" and isinstance(source, Dictionary) and source.items:
        columns = [
            interp.length_of(value)
            if isinstance(value, Sequence)
            else (value.shape[0] if isinstance(value, Tensor) and value.shape and len(value.shape) == 1 else None)
            for value in source.items.values()
        ]
        if columns[0] is not None and all(column == columns[0] for column in columns):
            rows = columns[0]
            return Tensor("numpy", (rows, len(columns)), (1, rows), None, how="DataFrame.to_numpy()")
        return UNKNOWN
    return UNKNOWN


def members_of(interp: State, value: LibraryObject) -> Sequence | Dictionary | None:
    """The modules in a container, in order; None if the object is no container."""
    if value.path not in _CONTAINERS:
        return None
    known = value.fields.get("members")
    if isinstance(known, (Sequence, Dictionary)):
        return known
    given: list[Value] = list(value.positional)
    if not given:
        stored = next(
            (value.arguments[key] for key in ("modules", "args", "values", "parameters") if key in value.arguments),
            None,
        )
        if value.path == "torch.nn.Sequential" and isinstance(stored, Sequence):
            return stored
        if stored is not None:
            given = [stored]
    if value.path == "torch.nn.Sequential":
        if len(given) == 1 and isinstance(given[0], Dictionary):
            items = given[0].items
            return Sequence("list") if items is None else Sequence("list", list(items.values()))
        return Sequence("list", given) if given or value.made is None else Sequence("list")
    if value.path == "torch.nn.ModuleDict":
        return given[0] if given and isinstance(given[0], Dictionary) else Dictionary(None)
    if given and isinstance(given[0], Sequence):
        return given[0]
    if not given and not value.arguments:
        return Sequence("list", [])
    return Sequence("list") if not given else interp.iterate(given[0])


def change_members(interp: State, receiver: LibraryObject, name: str, args: list[Value]) -> Value | None:
    """`layers.append(module)`, `add_module`: the container's members; None if the method is not one of these."""
    if receiver.path not in _CONTAINERS or name not in ("append", "extend", "insert", "add_module", "pop", "update"):
        return None
    members = members_of(interp, receiver)
    changed: Value = Sequence("list")
    in_branch = bool(interp.conditional or interp.frame.loops)
    if isinstance(members, Sequence) and members.items is not None and not in_branch:
        if name == "append" and len(args) == 1:
            changed = Sequence("list", [*members.items, args[0]])
        elif name == "add_module" and len(args) == 2:
            changed = Sequence("list", [*members.items, args[1]])
    elif (
        isinstance(members, Sequence)
        and name in ("append", "add_module")
        and args
        and receiver.path == "torch.nn.ModuleList"
    ):
        # Built up in a loop: one member stands for all if they are alike.
        changed = Sequence("list", None, _joined(members, [args[-1]]) if members.items != [] else args[-1])
    if receiver.path == "torch.nn.ModuleDict":
        changed = Dictionary(None)
    receiver.fields["members"] = changed
    interp.mutations.append((receiver, "members"))
    return receiver if name != "pop" else UNKNOWN


def iterate_object(interp: State, value: LibraryObject) -> Sequence:
    """What iterating over a library's object gives: batches of a DataLoader, samples of a data set."""
    if value.path in _DATA_LOADERS and "collate_fn" not in value.arguments:
        dataset = value.arguments.get("dataset")
        batch = _batch(interp, dataset, value)
        if batch is not None:
            return Sequence("iterator", None, batch)
    if value.path == "torch.utils.data.TensorDataset":
        items = [interp.item(tensor, Opaque(None), value.made or ast.Constant(0)) for tensor in value.positional]
        return Sequence("iterator", None, Sequence("tuple", items))
    return Sequence("iterator")


def _batch(interp: State, dataset: Value | None, loader: LibraryObject) -> Value | None:
    """One batch: each field of a sample stacked along a new first axis, whose size varies with the last batch."""
    if "batch_sampler" in loader.arguments or dataset is None:
        return None
    if is_unbatched(loader):
        return None
    if isinstance(dataset, LibraryObject) and dataset.path == "torch.utils.data.TensorDataset":
        size: S.Size = S.of_symbol(S.Symbol(None, variant=True, plural=True))
        given = size_of(loader.arguments.get("batch_size", Const(1)))
        first = dataset.positional[0] if dataset.positional else None
        total = first.shape[0] if isinstance(first, Tensor) and first.shape else None
        if isinstance(given, int) and isinstance(total, int) and given > 0 and total % given == 0:
            size = given
        fields: list[Value] = []
        for tensor in dataset.positional:
            if not (isinstance(tensor, Tensor) and tensor.shape):
                return None
            shape = (size, *tensor.shape[1:])
            from tensorlint.inference.layout import contiguous

            fields.append(
                Tensor(
                    "torch",
                    shape,
                    contiguous(shape),
                    tensor.dtype,
                    tensor.device,
                    loader.made,
                    "a batch of the DataLoader",
                    tensor.marks & {"literal", "spelled", "reshaped", "column"},
                )
            )
        return Sequence("list", fields)
    if isinstance(dataset, Instance):
        sample = interp.call_method(dataset, "__getitem__", [Number(S.symbol())], {}, loader.made)
        return _collate(interp, sample, loader)
    if isinstance(dataset, Sequence):
        return _collate(interp, interp.any_item(dataset), loader)
    return None


def _collate(interp: State, sample: Value, loader: LibraryObject) -> Value | None:
    """torch's default collation: tensors are stacked, numbers become a tensor, tuples and dicts go field by field."""
    size: S.Size = S.of_symbol(S.Symbol(None, variant=True, plural=True))
    return _collated(sample, size, loader)


def _collated(sample: Value, size: S.Size, loader: LibraryObject) -> Value | None:
    from tensorlint.inference.layout import contiguous

    if isinstance(sample, Tensor):
        if sample.shape is None:
            return Tensor("torch")
        shape = (size, *sample.shape)
        return Tensor(
            "torch",
            shape,
            contiguous(shape),
            sample.dtype,
            None,
            loader.made,
            "a batch of the DataLoader",
            sample.marks & {"literal", "spelled", "reshaped", "column"},
        )
    if isinstance(sample, (Scalar, Number)) or (isinstance(sample, Const) and isinstance(sample.value, (int, float))):
        kind = (
            sample.kind
            if isinstance(sample, Scalar)
            else "int"
            if isinstance(sample, Number)
            else type(sample.value).__name__
        )
        dtype = {"int": "int64", "float": "float64", "bool": "bool"}.get(kind)
        return Tensor("torch", (size,), (1,), dtype, None, loader.made, "a batch of the DataLoader")
    if isinstance(sample, Sequence) and sample.items is not None and sample.kind in ("tuple", "list"):
        return Sequence("list", [_collated(item, size, loader) or UNKNOWN for item in sample.items])
    if isinstance(sample, Dictionary) and sample.items is not None:
        return Dictionary({key: _collated(item, size, loader) or UNKNOWN for key, item in sample.items.items()})
    return None


def is_unbatched(loader: LibraryObject) -> bool:
    size = loader.arguments.get("batch_size")
    return isinstance(size, Const) and size.value is None
