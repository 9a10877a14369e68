"""Python's numbers: what the standard library draws, measures and computes is no array, whatever it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tensorlint.inference import sizes as S
from tensorlint.inference.ops.arguments import may_be_negative, may_be_zero
from tensorlint.inference.values import (
    PLAIN,
    UNKNOWN,
    Const,
    Dictionary,
    Instance,
    LibraryObject,
    Number,
    Opaque,
    Scalar,
    Sequence,
    Tensor,
    Value,
    an_integer,
    size_of,
)
from tensorlint.inference.words import has_part

if TYPE_CHECKING:
    from tensorlint.inference.state import State

Kind = Literal["int", "float", "bool", "complex", "real"]

_REAL = frozenset(["int", "float", "bool", "real"])

_FLOATS = frozenset([
    "random.random", "time.time", "time.perf_counter", "time.monotonic", "time.process_time", "time.thread_time",
])  # fmt: skip
_INTEGERS = frozenset([
    "random.randint", "random.randrange", "random.getrandbits", "time.time_ns", "time.perf_counter_ns",
    "time.monotonic_ns", "time.process_time_ns", "torch.cuda.device_count", "torch.cuda.current_device", "torch.initial_seed",
    "torch.seed", "torch.get_num_threads", "torch.get_num_interop_threads", "torch.distributed.get_rank",
    "torch.distributed.get_world_size", "torch.cuda.memory_allocated", "torch.cuda.max_memory_allocated", "os.getpid",
    "os.path.getsize",
])  # fmt: skip
# Written with plain arithmetic on what they are given: of arrays they give arrays.
_ARITHMETIC = frozenset([
    "random.uniform", "random.gauss", "random.normalvariate", "random.triangular", "random.expovariate",
    "random.lognormvariate", "random.betavariate", "random.gammavariate", "random.paretovariate",
    "random.weibullvariate", "random.vonmisesvariate",
])  # fmt: skip
_MATH: dict[str, Kind] = {
    **dict.fromkeys(
        ["sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "fabs", "fmod", "remainder", "hypot", "dist",
         "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "degrees", "radians",
         "erf", "erfc", "gamma", "lgamma", "copysign", "ldexp", "fsum"],
        "float",
    ),
    **dict.fromkeys(["ceil", "floor", "gcd", "lcm", "comb", "perm", "factorial", "isqrt"], "int"),
    **dict.fromkeys(["isclose", "isnan", "isinf", "isfinite"], "bool"),
}  # fmt: skip


def of_math(name: str) -> Value:
    """What a function of `math` gives, whose argument is made a number before."""
    kind = _MATH.get(name)
    return UNKNOWN if kind is None else of_kind(kind)


_KINDS: dict[type, Kind] = {int: "int", float: "float", bool: "bool", complex: "complex"}


_OF_DTYPES: dict[Kind, tuple[str, ...]] = {
    "bool": ("bool",), "int": ("int", "uint"), "float": ("float", "bfloat"), "complex": ("complex",),
}  # fmt: skip


def kind_of(value: Value) -> Kind | None:
    """The type of a Python number by name; None for everything else, True and False being numbers."""
    kind = type(value)
    if kind is Opaque:
        return "int" if value.integer else None  # type: ignore[attr-defined]
    if kind is Const:
        return _KINDS.get(type(value.value))  # type: ignore[attr-defined]
    if kind is Scalar:
        return value.kind  # type: ignore[attr-defined]
    return "int" if kind is Number else None


def kind_of_operand(value: Value) -> Kind | None:
    """The same of an operand: one that may be None is none where the operator is reached."""
    if type(value) is Opaque:
        return "int" if value.integer or value.told == "int" else "real" if value.told == "real" else None
    return kind_of(value)


def of_item(value: Tensor, text: str) -> Value:
    """What `item` gives: a number, but of an array of nobody knows which type anything that an array holds, and a complex one
    perhaps in a file that speaks of these."""
    dtype = value.dtype or ""
    for kind, beginnings in _OF_DTYPES.items():
        if dtype.startswith(beginnings):
            return Scalar(kind)
    real = value.framework == "torch" and not (has_part(text, "complex") or has_part(text, "fft"))
    return Scalar("real") if real else UNKNOWN


def one_of(values: list[Value]) -> Value:
    """One of these values, whichever, if all of them are numbers."""
    kinds = {kind_of(value) for value in values}
    if not kinds or None in kinds:
        return UNKNOWN
    kind = next(iter(kinds))
    return of_kinds(kinds) if len(kinds) > 1 or kind is None else of_kind(kind)


def of_kinds(kinds: set[Kind | None]) -> Value:
    """A number that is of one of several types: `total = 0`, and from the first round on a float."""
    return Scalar("real") if kinds <= _REAL else Opaque(None, kind=PLAIN)


def of_kind(kind: Kind) -> Value:
    return an_integer() if kind == "int" else Scalar(kind)


# What a type of numbers says of itself, as torch gives it.
_OF_TYPES: dict[str, dict[str, Kind]] = {
    "torch.finfo": {
        **dict.fromkeys(["eps", "max", "min", "tiny", "smallest_normal", "resolution"], "float"),
        "bits": "int",
    },
    "torch.iinfo": dict.fromkeys(["max", "min", "bits"], "int"),
    "numpy.iinfo": dict.fromkeys(["max", "min", "bits"], "int"),
}


def of_type(path: str) -> dict[str, Value] | None:
    """The attributes of `torch.finfo(dtype)`; None for other functions."""
    if path == "numpy.finfo":
        return {
            name: Tensor("numpy", (), ()) for name in ("eps", "max", "min", "tiny", "smallest_normal", "resolution")
        }
    kinds = _OF_TYPES.get(path)
    return None if kinds is None else {name: of_kind(kind) for name, kind in kinds.items()}


def drawn(interp: State, path: str, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    """A number that `random` draws or `time` measures; None for other functions."""
    if path in _FLOATS:
        return Scalar("float")
    if path in _INTEGERS:
        made = an_integer()
        first = args[0] if args and (len(args) > 1 or path == "random.randint") else Const(0)
        if path in ("random.randrange", "random.randint") and not kwargs and may_be_zero(first):
            made._symbol = S.counter(numbers=True, signed=may_be_negative(first))
        return made
    if path in _ARITHMETIC:
        numeric = all(kind_of(value) in ("int", "float", "bool") for value in (*args, *kwargs.values()))
        return Scalar("float") if numeric else UNKNOWN
    if path == "random.sample" and len(args) == 2 and not kwargs:
        return Sequence("list", None, interp.each_of(interp.iterate(args[0])), size_of(args[1]))
    if path == "random.choice" and len(args) == 1 and not kwargs:
        items = interp.iterate(args[0])
        found = one_of(items.items if items.items is not None else [items.element])
        objects = (Instance, Dictionary, LibraryObject, Opaque)
        parts = tuple(
            each
            for each in items.items or [items.element]
            if isinstance(each, objects) or (isinstance(each, Sequence) and each.kind in ("list", "deque"))
        )
        if found is UNKNOWN and parts:
            found = Opaque(None, parts=parts)
            if any(map(may_be_zero, items.items or [items.element])):
                found._symbol = S.counter()
        return found
    return None
