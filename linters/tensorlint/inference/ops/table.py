"""The table of operations: what each function or method of a library does to a shape.

An entry is one line: the operation's names, its parameters and a small function from values to a value. Adding an
operator is adding an entry; the test-suite finds it in the table and compares it with the real library by itself.

    @op("transpose swapaxes swapdims", "input dim0 dim1")
    def transpose(call: Call, input: Tensor, dim0: Value, dim1: Value) -> Value: ...

Names are those of the library: a plain name is both `torch.<name>` and the method `Tensor.<name>`; a name that
starts with a dot is the method only, one with a dotted path only that function (`linalg.norm`, `torch.zeros`,
`F.relu` for `torch.nn.functional.relu`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from collections.abc import Sequence as Sequence_
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tensorlint.inference import ranks
from tensorlint.inference import sizes as S
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import UNKNOWN, Const, Framework, Opaque, Sequence, Tensor, Unknown, Value, copy

Transfer = Callable[..., Value]


@dataclass(slots=True, eq=False, repr=False)
class Call:
    """One call while it is being judged. `node` is the call's expression; hooks let the interpreter hear of hazards.

    `call_value` calls any value of the program (a module, a function) with values; `report` takes a hazard.
    """

    name: str
    node: ast.AST | None = None
    interpreter: Any = None
    default_dtype: str | None = "float32"
    # Where torch's constructors put a tensor; None where the program changes it.
    default_device: str | None = "cpu"

    def report(self, kind: str, **facts: Any) -> None:
        if self.interpreter is not None:
            self.interpreter.report(self, kind, facts)

    def unify(self, a: Size, b: Size) -> None:
        """Two sizes that must be one for the program to go on: the last axis of what `nn.Linear(d, n)` is given, and d."""
        if self.interpreter is not None:
            self.interpreter.unify(a, b)

    def call_value(self, function: Value, args: Sequence_[Value], kwargs: dict[str, Value] | None = None) -> Value:
        if self.interpreter is None:
            return UNKNOWN
        result: Value = self.interpreter.call(function, list(args), kwargs or {}, self.node)
        return result


@dataclass(slots=True, eq=False, repr=False)
class Parameter:
    """One parameter of an operation, as its signature has it. (Of it and of `Entry` thousands are made at the start: to
    freeze each takes thrice as long. Nobody changes them.)"""

    name: str
    default: Value | None
    star: bool = False
    rest: bool = False
    by_place: bool = True  # whether it takes one argument by its place


@dataclass(slots=True, eq=False, repr=False)
class Entry:
    """`parameters` bind the call's arguments; a call that does not fit them is unknown.

    `name` is the function's canonical dotted path, or the method's bare name.
    """

    name: str
    parameters: tuple[Parameter, ...]
    transfer: Transfer
    framework: Framework | None = None
    # Whether every result is one tensor: what is said where nothing else is known.
    tensor: bool = True
    # Parameters that are numbers; what a tensor in such a place does to the shape is nobody's business here.
    numbers: tuple[str, ...] = ()


@dataclass(slots=True, eq=False, repr=False)
class Table:
    """All operations of one library: functions by dotted path, methods and attributes by name."""

    framework: Framework | None
    prefix: str
    functions: dict[str, Entry] = field(default_factory=dict)
    methods: dict[str, Entry] = field(default_factory=dict)
    attributes: dict[str, Entry] = field(default_factory=dict)

    def op(self, names: str, parameters: str = "", *, tensor: bool = True) -> Callable[[Transfer], Transfer]:
        """Register a transfer function under space-separated names; see the module's docstring."""

        def register(transfer: Transfer) -> Transfer:
            self.add(names, parse_parameters(parameters), transfer, tensor=tensor)
            return transfer

        return register

    def add(self, names: str, parameters: tuple[Parameter, ...], transfer: Transfer, *, tensor: bool = True) -> None:
        of_torch = self.framework != "numpy"  # whose Dirichlet distribution has an array `alpha`
        numbers = tuple(each.name for each in parameters if of_torch and each.name in _NUMBERS)
        for name in names.split():
            if name.startswith("."):
                path = ""
            elif name.startswith("F."):
                path = f"torch.nn.functional.{name[2:]}"
            elif "." in name and name.startswith((f"{self.prefix}.", "torch.", "numpy.")):
                path = name
            else:
                path = f"{self.prefix}.{name}"
            if path:
                self.functions[path] = Entry(path, parameters, transfer, self.framework, tensor, numbers)
            if name.startswith(".") or "." not in name:
                bare = name.removeprefix(".")
                self.methods[bare] = Entry(bare, parameters, transfer, self.framework, tensor, numbers)

    def attribute(self, names: str) -> Callable[[Transfer], Transfer]:
        """Register `x.name`, read without a call: `T`, `real`, `grad`."""

        def register(transfer: Transfer) -> Transfer:
            for name in names.split():
                self.attributes[name] = Entry(name, parse_parameters("input"), transfer, self.framework)
            return transfer

        return register


_NUMBERS = frozenset({"alpha", "beta", "eps", "tau", "margin", "norm_type"})

_LITERALS = {"None": None, "True": True, "False": False}


def _literal(text: str) -> Value:
    if text in _LITERALS:
        return Const(_LITERALS[text])
    if text[0] == "'":
        return Const(text[1:-1])
    return Const(int(text) if text.lstrip("-").isdigit() else float(text))


@cache
def parse_parameters(text: str) -> tuple[Parameter, ...]:
    """`"input dim=None *rest / out=None"`: `=` gives a default, `*` takes the rest, after `/` keyword only.

    `**name` takes the keywords that no other parameter takes, as a dict.
    """
    result: list[Parameter] = []
    by_place = True
    for word in text.split():
        if word == "/":
            by_place = False
        elif word.startswith("**"):
            result.append(Parameter(word[2:], None, rest=True, by_place=False))
        elif word.startswith("*"):
            result.append(Parameter(word[1:], None, star=True, by_place=False))
            by_place = False
        elif "=" in word:
            name, default = word.split("=", 1)
            result.append(Parameter(name, _literal(default), by_place=by_place))
        else:
            result.append(Parameter(word, None, by_place=by_place))
    return tuple(result)


class Misfit(Exception):
    """The arguments do not fit the parameters: the call is unknown."""


def bind(parameters: tuple[Parameter, ...], args: Sequence_[Value], kwargs: dict[str, Value]) -> dict[str, Any]:
    """Arguments by parameter name; a star parameter gets a list. Names that mean the same are `_ALIASES`."""
    bound: dict[str, Any] = {}
    at = 0
    count = len(args)
    for parameter in parameters:
        name, default = parameter.name, parameter.default
        if at < count and parameter.by_place:
            bound[name] = args[at]
            at += 1
            continue
        if default is not None and not kwargs:
            bound[name] = default
        elif parameter.rest:
            names = {other.name for other in parameters}
            bound[name] = {given: value for given, value in kwargs.items() if given not in names}
            if at < count:
                raise Misfit("too many")
            return bound
        elif parameter.star:
            bound[name] = list(args[at:])
            at = count
            if name in kwargs:
                bound[name].append(kwargs[name])
            else:
                for alias in _ALIASES.get(name, ()):
                    if alias in kwargs:
                        bound[name].append(kwargs[alias])
        elif name in kwargs:
            bound[name] = kwargs[name]
        elif default is not None:
            bound[name] = default
        else:
            spelling = next((other for other in _ALIASES.get(name, ()) if other in kwargs), None)
            if spelling is None:
                raise Misfit(name)
            bound[name] = kwargs[spelling]
        if kwargs and name in _ALIASES and default is not None and name not in kwargs:
            for alias in _ALIASES[name]:
                if alias in kwargs:
                    bound[name] = kwargs[alias]
    if at < count:
        raise Misfit("too many")
    if not kwargs:
        return bound
    names = {parameter.name for parameter in parameters}
    for given in kwargs:
        if given not in names and not any(given in _ALIASES.get(name, ()) for name in names):
            raise Misfit(given)
    return bound


_ALIASES = {
    "dim": ("axis",),
    "axis": ("dim",),
    "keepdim": ("keepdims",),
    "keepdims": ("keepdim",),
    "input": ("a", "x", "x1", "self", "m", "arr", "array"),
    "other": ("b", "x2", "y", "mat2", "vec", "tensor", "vec2", "input2"),
    "mat1": ("batch1", "mat", "vec1"),
    "mat2": ("batch2", "vec", "vec2"),
    "real": ("abs",),
    "imag": ("angle",),
    "dim0": ("axis0",),
    "dim1": ("axis1",),
    "split_size_or_sections": ("split_size", "split_sizes"),
    "a": ("x", "A"),
    "m": ("x",),
    "x1": ("x", "a"),
    "x2": ("y", "b"),
    "tensors": ("arrays", "seq", "tup", "arys"),
    "size": ("shape",),
    "shape": ("size", "newshape"),
    "dims": ("axes", "dim", "axis"),
    "source": ("src",),
}


# What torch's functions take for a parameter of theirs as numpy spells it.
_SPELLED_AS_NUMPY = {"axis": "dim", "keepdims": "keepdim"}


def spelled_as_torch(entry: Entry, kwargs: dict[str, Value]) -> dict[str, Value]:
    """The keywords by the names that the function's parameters have: `torch.stack(parts, axis=1)`."""
    names = {parameter.name for parameter in entry.parameters}
    return {
        other if (other := _SPELLED_AS_NUMPY.get(name)) in names and name not in names else name: value
        for name, value in kwargs.items()
    }


def apply(entry: Entry, call: Call, args: Sequence_[Value], kwargs: dict[str, Value]) -> Value:
    """The result of one operation; where the arguments do not fit or the transfer function gives up, an unknown one."""
    call.name = entry.name
    fits = False
    try:
        bound = bind(entry.parameters, args, kwargs)
        fits = True
        for name in entry.numbers:
            if isinstance(bound[name], Tensor) and bound[name].shape != ():
                raise Undecided
        if entry.framework == "numpy" and _asks_argument(entry, call, (*args, *kwargs.values())):
            return UNKNOWN
        out = bound.get("out")
        if out is None or (isinstance(out, Const) and out.value is None):
            result = possible(entry.transfer(call, **bound))
            if isinstance(result, Tensor) and result.shape == () and _any_objects(args):
                return UNKNOWN  # one of the objects, or their sum
            if entry.framework == "numpy" and entry.name in _GIVEN_BACK and _may_be_other(call, args):
                return _of_whoever(result)
            return result
    except STOPS:
        pass
    except Exception:
        # A program that makes no sense is no reason to stop.
        if strict:
            raise
    if not entry.tensor or _any_objects(args):
        return UNKNOWN
    if entry.framework == "numpy" and _asks_argument(entry, call, (*args, *kwargs.values())):
        return UNKNOWN
    if entry.framework == "numpy" and entry.name in _GIVEN_BACK and _may_be_other(call, args):
        return Tensor(None)
    return Tensor(entry.framework, _shape_kept(entry, args) if fits else None)


def possible(result: Value) -> Value:
    """A result as it is; Undecided where a size is negative, which no tensor has: the library stops there."""
    if type(result) is Tensor:
        for size in result.shape or (result.axes.values() if result.axes else ()):
            if size.__class__ is int and size < 0:
                raise Undecided
    elif type(result) is Sequence:
        for item in result.items or ():
            if type(item) is Tensor or (type(item) is Sequence and item.kind == "tuple"):
                possible(item)
    return result


def _shape_kept(entry: Entry, args: Sequence_[Value]) -> tuple[Size, ...] | None:
    """New sizes, as many as the first argument has: of a function that keeps the rank, whatever else it is given."""
    first = args[0] if args else None
    if type(first) is not Tensor or first.shape is None or not ranks.keeps(entry.framework, _last(entry.name)):
        return None
    return tuple(S.symbol() for _ in first.shape)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


# What numpy's functions give is a tensor, a series or a frame where their argument is one: ufuncs, and those that call
# the argument's own method.
_GIVEN_BACK = frozenset(
    f"numpy.{name}"
    for names in (
        "negative positive square sign conj conjugate invert bitwise_not ceil floor trunc exp exp2 expm1 log log2 log10",
        "log1p sqrt cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg radians",
        "degrees rint acos asin atan acosh asinh atanh sinc isnan isinf isfinite logical_not signbit abs absolute fabs",
        "add multiply maximum minimum fmax fmin bitwise_and bitwise_or bitwise_xor gcd lcm equal not_equal less",
        "less_equal greater greater_equal logical_and logical_or logical_xor isclose divide true_divide arctan2 atan2",
        "hypot logaddexp logaddexp2 copysign subtract power pow mod remainder floor_divide fmod divmod modf matmul",
        "heaviside nextafter left_shift right_shift bitwise_left_shift bitwise_right_shift bitwise_invert bitwise_count",
        "reciprocal fix spacing isposinf isneginf float_power ldexp frexp vdot vecdot linalg.vecdot matvec vecmat linalg.pinv linalg.inv linalg.solve",
        "squeeze take diagflat cumsum cumprod ptp max amax min amin any all argmax argmin argsort flip fliplr flipud",
        "repeat delete clip nan_to_num real imag sum prod mean std var round around transpose swapaxes reshape ravel",
        "diagonal trace compress searchsorted sort nonzero dot percentile quantile median argwhere argpartition partition",
        "permute_dims rollaxis linspace logspace geomspace linalg.matmul linalg.cholesky linalg.eig linalg.eigh linalg.qr linalg.svd",
    )
    for name in names.split()
)


def _of_whoever(result: Value) -> Value:
    """The result with its shape, of numpy or of what the argument was."""
    if isinstance(result, Tensor):
        return copy(result, framework=None, strides=None, dtype=None, kin=result.kin)
    if isinstance(result, Sequence) and result.items is not None:
        return Sequence(result.kind, [_of_whoever(item) for item in result.items])
    return UNKNOWN


def _may_be_other(call: Call, args: Sequence_[Value]) -> bool:
    """Whether an argument is nobody knows what, with axes, or in a file that has other things than arrays."""
    if call.interpreter is None:
        return False
    if call.interpreter.not_only_arrays:
        return any(
            arg.framework is None if isinstance(arg, Tensor) else isinstance(arg, (Opaque, Unknown)) for arg in args
        )
    return any(isinstance(arg, Tensor) and arg.framework is None and arg.shape is not None for arg in args)


# Those that do not ask their argument's `__array_function__`: what makes an array is asked for one.
_MAKES_ARRAYS = frozenset(
    f"numpy.{name}"
    for names in (
        "array asarray asanyarray ascontiguousarray asfortranarray zeros ones empty full eye identity arange linspace",
        "logspace geomspace frombuffer fromfile fromfunction fromiter fromstring loadtxt genfromtxt load indices tri",
        "vander ndarray isscalar iterable",
    )
    for name in names.split()
)


def _asks_argument(entry: Entry, call: Call, args: Sequence_[Value]) -> bool:
    """Whether the function leaves it to an argument of which nobody knows what it is, in a file that speaks of such
    objects (NEP 18: dask, cupy, xarray, pint)."""
    if call.interpreter is None or not call.interpreter.asks_arguments:
        return False
    if not entry.name.startswith("numpy.") or entry.name.startswith("numpy.random."):
        return False
    if entry.name in _MAKES_ARRAYS:
        return False
    held = [item for arg in args if isinstance(arg, Sequence) for item in (arg.items or (arg.element,))]
    return any(
        arg.framework is None if isinstance(arg, Tensor) else isinstance(arg, (Opaque, Unknown))
        for arg in (*args, *held)
    )


def _any_objects(args: Sequence_[Value]) -> bool:
    for value in args:
        first = value.items[0] if isinstance(value, Sequence) and value.items else value
        if isinstance(first, Tensor) and first.dtype == "object":
            return True
    return False


# Whether a transfer function's own error is raised; the test-suite sets it.
strict = False


class Undecided(Exception):
    """A transfer function gives up: the result is unknown."""


# What says that nothing is known of a result. An axis that is not there, or a pair of another length, would stop the
# program too.
STOPS = (Misfit, Undecided, LookupError, ValueError)


def tensor(value: Value) -> Tensor:
    """The value as a tensor of known rank, or the transfer gives up."""
    if isinstance(value, Tensor) and value.shape is not None:
        return value
    raise Undecided
