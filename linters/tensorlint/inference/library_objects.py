"""The standard library's and the frameworks' own classes and functions that no table of operations has."""

from __future__ import annotations

import ast
import math
import re
from typing import TYPE_CHECKING

from tensorlint.inference import (
    aliases,
    builtins,
    called_functions,
    command_line,
    containers,
    estimators,
    layer_changes,
    numbers,
    operator_functions,
    probability,
    refinement,
    scipy_functions,
    scipy_objects,
    solved_functions,
    table_groups,
    table_making,
    table_values,
    tables,
    text_files,
)
from tensorlint.inference import sizes as S
from tensorlint.inference.changes import CHANGES
from tensorlint.inference.class_order import method_order
from tensorlint.inference.contents import one_within
from tensorlint.inference.data_loading import DATA_LOADERS, LOADER_PARAMETERS, SUBSET
from tensorlint.inference.handling import PROGRESS_BARS
from tensorlint.inference.module_sources import makes_module
from tensorlint.inference.ops import modules
from tensorlint.inference.ops.products import vector_product
from tensorlint.inference.values import (
    CONTAINERS,
    NONE,
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    Opaque,
    Partial,
    RecordField,
    Sequence,
    Tensor,
    Value,
    copy,
    number,
    size_of,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State


# What torch.utils.checkpoint.checkpoint takes itself; the rest goes to the function that it calls.
# Functions that end the program where what they are given first is not so.
_ASSERTS = frozenset({"torch._assert", "torch._check"})
_CHECKPOINT = frozenset(
    {"use_reentrant", "context_fn", "determinism_check", "debug", "early_stop", "preserve_rng_state"}
)


# Libraries whose functions keep and give none of the program's objects.
_HOLD_NOTHING = frozenset(
    ["IPython", "json", "logging", "math", "matplotlib", "numpy", "os", "pickle", "plotly", "re", "scipy", "seaborn",
     "statsmodels", "sys", "time", "torch", "warnings"]
)  # fmt: skip
# What leaves an estimator that it is given as it is: it fits copies, or asks what the estimator has learned.
_FITS_COPIES = (
    "sklearn.model_selection.",
    "sklearn.inspection.",
    "sklearn.base.",
    "sklearn.utils.",
    "joblib.dump",
    "pickle.dump",
)
# scikit-learn's classes, and its functions that make an estimator of others.
_MAKES_ESTIMATOR = re.compile(r"\.(?:[A-Z]\w*|make_(?:pipeline|union|column_transformer))$")
# Matrices with a row and a column for each node of a graph.
_SQUARES = frozenset({"networkx.to_numpy_array", "networkx.floyd_warshall_numpy"})
_SOLVERS = frozenset(
    f"scipy.linalg.{name}" for name in ("solve", "cho_solve", "lu_solve", "solve_triangular", "solve_toeplitz")
)


# Methods that decide what a copy is: of either kind, a shallow one, a deep one.
_STATES = frozenset({"__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"})
_COPIERS = _STATES | {"__copy__"}
_DEEP_COPIERS = _STATES | {"__deepcopy__"}


def copied(value: Value, made: dict[int, Value]) -> Value:
    """`copy.deepcopy`: what is changed in one later is not changed in its copy. `made` are the copies so far."""
    if id(value) in made:
        return made[id(value)]
    if isinstance(value, LibraryObject):
        if table_values.is_table(value):
            made[id(value)] = table = table_values.same_axes(value, None)
            return table
        result = made[id(value)] = LibraryObject(value.path, {}, (), {}, value.made)
        result.arguments = {name: copied(each, made) for name, each in value.arguments.items()}
        result.positional = tuple(copied(each, made) for each in value.positional)
        result.fields = {name: copied(each, made) for name, each in value.fields.items()}
        return result
    if isinstance(value, Sequence):
        items = None if value.items is None else [containers.share(copied(item, made)) for item in value.items]
        element = containers.share(copied(value.element, made))
        made[id(value)] = again = Sequence(value.kind, items, element, value.length)
        return again
    if isinstance(value, Dictionary):
        entries = None
        if value.items is not None:
            entries = {key: containers.share(copied(item, made)) for key, item in value.items.items()}
        made[id(value)] = dictionary = Dictionary(entries, containers.share(copied(value.element, made)))
        return dictionary
    if isinstance(value, Instance):
        if value.generic:
            return Opaque(None)
        if _decides(value, _DEEP_COPIERS):
            one = one_within([value])
            return Opaque(None) if one is UNKNOWN else one
        other = made[id(value)] = Instance(value.cls, {}, value.made)
        other.fields = {name: copied(each, made) for name, each in value.fields.items()}
        return other
    if not isinstance(value, Tensor):
        return value
    made[id(value)] = tensor = copy(value, source=None, reduced=None)
    aliases.tie(tensor, *(made[key] for key in aliases.TIES.groups.get(id(value), ()) if key in made))
    return tensor


def _decides(value: Instance, methods: frozenset[str]) -> bool:
    """Whether its class has one of the methods itself."""
    return any(isinstance(base, Class) and methods & base.names() for base in method_order(value.cls))


def shallow(interp: State, value: Value) -> Value:
    """`copy.copy`: another object, which has what it holds in common with the first."""
    if isinstance(value, Sequence):
        for item in value.items or ():
            containers.share(item)
        items = None if value.items is None else list(value.items)
        return Sequence(value.kind, items, value.element, value.length)
    if isinstance(value, Dictionary):
        for item in (value.items or {}).values():
            containers.share(item)
        return Dictionary(None if value.items is None else dict(value.items), value.element)
    if not isinstance(value, Instance):
        return one_within([value])
    for each in value.fields.values():
        containers.share(each)
    if value.generic or _decides(value, _COPIERS) or value.cls.is_module or not value.cls.complete:
        # What the two have in common may be changed through either; a module's parts are in one dictionary of both.
        for each in value.fields.values():
            interp.escape([each], {})
            aliases.lose(each)
        one = one_within([value, *value.held.values(), *value.given, *value.parts])
        if not value.generic:
            interp.forget_fields(value)
        return one
    return Instance(value.cls, dict(value.fields), value.made, given=value.given)


def _named_tuple(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """`namedtuple("Step", ["state", "reward"])`, `namedtuple("Step", "state reward")`: a class."""
    if len(args) != 2 or kwargs or node is None:
        return one_within([*args, *kwargs.values()])
    given = args[1]
    if isinstance(given, Const) and isinstance(given.value, str):
        names: list[object] = list(given.value.replace(",", " ").split())
    else:
        items = given.items if isinstance(given, Sequence) else None
        names = [item.value if isinstance(item, Const) else None for item in items or ()]
    if not names or not all(isinstance(name, str) and name.isidentifier() for name in names):
        return UNKNOWN
    known = interp.memory.get(("namedtuple", node))
    if known is None:
        title = args[0].value if isinstance(args[0], Const) else ""
        body = ast.copy_location(ast.Pass(), node)
        code = ast.copy_location(ast.ClassDef(str(title), [], [], [body], []), node)
        record = tuple(RecordField(str(name), None) for name in names)
        known = Class(code, interp.frame, (Library("typing.NamedTuple"),), record=record, generated=True)
        interp.memory["namedtuple", node] = known
    made: Value = known
    return made


def call_library(interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """A library's function or class that no table of operations has."""
    if path in ("types.new_class", "dataclasses.make_dataclass"):
        interp.made_by_call(args[1] if len(args) > 1 and path[0] == "t" else kwargs.get("bases", NONE), UNKNOWN)
    if path in _ASSERTS and isinstance(node, ast.Call) and node is interp.unused and node.args:
        refinement.assume(interp, node.args[0], True)
        return NONE
    if path.startswith("operator."):
        result = operator_functions.call(interp, path, args, kwargs, node)
        if result is not None:
            return result
    if path == command_line.PARSER:
        return command_line.make(kwargs)
    if path == "collections.namedtuple":
        return _named_tuple(interp, args, kwargs, node)
    if path == "functools.partial" and args:
        for given in (*args, *kwargs.values()):
            containers.contained(given)
        return Partial(args[0], tuple(args[1:]), kwargs)
    if path in called_functions.HANDLERS:
        return called_functions.call(interp, path, args, kwargs, node)
    if path.startswith("math."):
        if interp.vector_numbers:
            interp.note_number_use(path, tuple(args))
        return _math(path[5:], args)
    if path.startswith(("random.", "time.", "torch.", "os.", "numpy.")):
        about = numbers.of_type(path)
        if about is not None:
            return LibraryObject(path, kwargs, tuple(args), about, node)
        drawn = numbers.drawn(interp, path, args, kwargs)
        if drawn is not None:
            return drawn
    if path in ("random.shuffle", "numpy.random.shuffle") and len(args) == 1 and isinstance(args[0], Sequence):
        if isinstance(node, ast.Call) and node.args and args[0].kind == "list":
            # In another order, as a sorted one is.
            containers.mutate(interp, args[0], "sort", [], {}, node.args[0])
            return NONE
    if path in ("copy.deepcopy", "copy.copy") and args:
        value = args[0]
        if isinstance(value, Tensor):
            return copy(value, source=None, reduced=None)
        if isinstance(value, (Instance, Sequence, Dictionary)) and path == "copy.deepcopy":
            if len(args) > 1 or kwargs:  # of what its memo holds
                return one_within([*args, *kwargs.values()])
            return copied(value, {})
        if isinstance(value, LibraryObject):
            if table_values.is_table(value):
                return table_values.same_axes(value, node)
            if path == "copy.deepcopy":
                return copied(value, {})
            if estimators.is_known(value.path):
                return LibraryObject(value.path, value.arguments, value.positional, dict(value.fields), node)
            if not modules.known(value.path):
                return value
            # A shallow copy has the layers and parameters of the first in common, and other settings of its own.
            if value.path not in CONTAINERS:
                layer_changes.change_unseen(interp, value)
            return value
        return shallow(interp, value)
    if path in ("torch.Size",) and args:
        value = args[0]
        return Sequence("tuple", value.items) if isinstance(value, Sequence) and value.items is not None else UNKNOWN
    if path in DATA_LOADERS or path == "torch.utils.data.TensorDataset":
        bound = dict(kwargs)
        for key, value in zip(LOADER_PARAMETERS, args, strict=False):
            if path in DATA_LOADERS:
                bound[key] = value
        return LibraryObject(path, bound, tuple(args), {}, node)
    if path == SUBSET and (args or "dataset" in kwargs):
        return LibraryObject(path, {}, (), {"dataset": args[0] if args else kwargs["dataset"]}, node)
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
    if path == "torch.utils.checkpoint.checkpoint" and args:
        return interp.call(args[0], args[1:], {key: kwargs[key] for key in kwargs if key not in _CHECKPOINT}, node)
    if path in ("torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.set_grad_enabled"):
        return LibraryObject(path, kwargs, tuple(args), {}, node)
    if path == "torch.nn.utils.parametrize.register_parametrization" and args:
        # What it computes takes the place of the parameter, and may have any shape.
        if isinstance(args[0], LibraryObject):
            layer_changes.change_unseen(interp, args[0])
        elif isinstance(args[0], Instance):
            interp.forget_fields(args[0])
        return args[0]
    if path in ("random.sample", "random.choices") and args:
        count = args[1] if len(args) > 1 else kwargs.get("k")
        population = interp.iterate(args[0])
        element = containers.joined_items(population, [])
        return Sequence("list", None, element, None if count is None else size_of(count))
    if path == "collections.deque":
        given = interp.iterate(args[0]) if args else Sequence("deque", [])
        if given.items == []:
            return Sequence("deque", [])
        return Sequence("deque", None, containers.joined_items(given, []))
    if path == "collections.defaultdict":
        given_by = [
            each for arg in args if isinstance(arg, Function) for each in interp.lists_given(arg, [], {}, modules=True)
        ]
        interp.escape(args, kwargs)
        return one_within([*args, *kwargs.values(), *given_by])
    if path == "collections.OrderedDict":
        return builtins.make_dict(interp, args, kwargs, node)
    if path in ("itertools.chain",):
        parts = [interp.iterate(arg) for arg in args]
        if all(part.items is not None for part in parts):
            return Sequence("iterator", [item for part in parts for item in part.items or ()])
        return Sequence("iterator", None, one_within(args))
    if path in ("csv.reader", "csv.DictReader"):
        return Sequence("iterator")
    if path in text_files.TEXT_FILES:
        return text_files.read(interp, kwargs, node)
    if table_making.is_known(path):
        owner, _, method = path.rpartition(".")
        if owner in (table_values.FRAME, table_values.SERIES) and args and table_values.is_table(args[0]):
            return tables.call(interp, args[0], method, args[1:], kwargs, node)  # type: ignore[arg-type]
        return table_making.make(interp, path, args, kwargs, node)
    if path in (
        "numpy.dtype",
        "numpy.poly1d",
        "numpy.random.default_rng",
        "numpy.random.RandomState",
        "numpy.random.Generator",
    ):
        return LibraryObject(path, kwargs, tuple(args), {}, node)
    if path.startswith("torch.optim.") and not path.endswith(".AveragedModel"):
        return LibraryObject(path, kwargs, tuple(args), {}, node)
    if path in ("typing.cast",) and len(args) == 2:
        return containers.share(args[1])
    if path in PROGRESS_BARS and args:
        return args[0]
    if makes_module(path):
        if path.startswith(("torchvision.models.", "timm.")):
            from tensorlint.inference.ops.layers import classifiers

            classifier = classifiers.make(path, args, kwargs, node)
            if classifier is not None:
                return classifier
        return Opaque(None, kind=f"model of {path.partition('.')[0]}")
    if probability.is_distribution(path):
        return probability.make(interp, path, args, kwargs, node)
    if estimators.is_known(path):
        made = estimators.make(interp, path, args, kwargs, node)
        if made is not None:
            return made
    if path in _SQUARES and args and "backend" not in kwargs:
        interp.escape(args, kwargs)
        nodes = S.counter()
        return Tensor("numpy", (nodes, nodes), None, None, None, node)
    if path.startswith("scipy."):
        if path in solved_functions.SOLVERS:
            solved_functions.follow(interp, path, args, kwargs, node)
        made = scipy_functions.call(interp, path, args, kwargs, node)
        if made is not None:
            interp.escape(args, kwargs, reads_tables=True)
            return made
    if path.endswith(".reveal_shape"):
        return builtins.reveal_shape(interp, args, kwargs, node)
    if path == "dataclasses.replace" and args and isinstance(args[0], Instance):
        return replaced(interp, args[0], kwargs, node)
    handed = [each for each in (*args, *kwargs.values()) if type(each) is Function]
    # `defaultdict(lambda: rows)["a"]` is what the function gives.
    lists = [found for each in handed for found in interp.lists_given(each, [], {}, modules=True)]
    if path.startswith(_FITS_COPIES):
        args = [each for each in args if not _is_estimator(each)]
        kwargs = {name: each for name, each in kwargs.items() if not _is_estimator(each)}
    interp.escape(args, kwargs, reads_tables=path.partition(".")[0] in table_values.READ_TABLES)
    if path in _SOLVERS and len(args) > 1 and isinstance(args[1], Tensor):
        # What is solved for is on the right, as in a product with the inverse.
        vector_product(interp.call_context(path, node), args[0], args[1])
        return Tensor("numpy", made=node)
    root = path.partition(".")[0]
    holds = root not in _HOLD_NOTHING and (root != "sklearn" or _MAKES_ESTIMATOR.search(path) is not None)
    return one_within([*lists, *args, *kwargs.values()] if holds else lists)


def _is_estimator(value: Value) -> bool:
    return isinstance(value, LibraryObject) and estimators.is_known(value.path) and value.path != estimators.BUNCH


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
    return numbers.of_math(name)


def replaced(interp: State, value: Instance, changes: dict[str, Value], node: ast.AST | None) -> Value:
    """`dataclasses.replace`: another object, which has what it holds in common with the first but for the changes."""
    if value.generic:
        return one_within(changes.values())
    fields = {name: containers.share(each) for name, each in {**value.fields, **changes}.items()}
    if value.cls.generated and interp.find_in_class(value.cls, "__post_init__") is None:
        return Instance(value.cls, fields, node, born=interp.steps)
    return one_within(fields.values())


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
    if receiver.path == "numpy.poly1d" and len(args) == 1 and isinstance(given := args[0], Tensor) and given.shape:
        return Tensor("numpy", given.shape, None, None, None, node, None, given.marks & {"column"})
    if receiver.path.startswith("scipy."):
        return scipy_objects.call(interp, receiver, args, kwargs, node)
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
    if receiver.path == command_line.PARSER:
        return command_line.call(receiver, name, args, kwargs)
    if probability.is_distribution(receiver.path):
        return probability.call(interp, receiver, name, args, kwargs, node)
    if estimators.is_known(receiver.path):
        return estimators.call(interp, receiver, name, args, kwargs, node)
    if table_values.is_table(receiver):
        return tables.call(interp, receiver, name, args, kwargs, node)
    if table_groups.is_grouped(receiver):
        return table_groups.call(interp, receiver, name, args, kwargs, node)
    interp.escape(args, kwargs)
    if receiver.path.startswith("scipy."):
        if name in CHANGES or name.startswith("_"):  # `result.update(x=...)`, `f.__init__(x, y)`
            layer_changes.change_unseen(interp, receiver)
        return scipy_objects.method(interp, receiver, name, args, kwargs, node)
    return UNKNOWN
