"""numpy's ufuncs and other elementwise functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import combinations

from tensorlint.inference import layout, values
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.broadcasting import broadcast, tell, tell_any
from tensorlint.inference.ops.elementwise import (
    Kind,
    elementwise,
    is_number,
    is_two,
    magnitude_of,
    numpy_layout,
    unary_of,
)
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.numpy.creation import chosen
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.results import tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.values import UNKNOWN, Const, Number, Opaque, Scalar, Sequence, Tensor, Unknown, Value, copy

_UNARY: dict[Kind, str] = {
    "same": """numpy.negative numpy.positive numpy.square numpy.sign numpy.conj numpy.conjugate .conj .conjugate
        numpy.invert numpy.bitwise_not numpy.bitwise_invert numpy.ceil numpy.floor numpy.trunc""",
    "float": """numpy.exp numpy.exp2 numpy.expm1 numpy.log numpy.log2 numpy.log10 numpy.log1p numpy.sqrt numpy.cbrt
        numpy.sin numpy.cos numpy.tan numpy.arcsin numpy.arccos numpy.arctan numpy.sinh numpy.cosh numpy.tanh
        numpy.arcsinh numpy.arccosh numpy.arctanh numpy.deg2rad numpy.rad2deg numpy.radians numpy.degrees numpy.rint
        numpy.acos numpy.asin numpy.atan numpy.acosh numpy.asinh numpy.atanh numpy.sinc numpy.spacing""",
    "bool": "numpy.isnan numpy.isinf numpy.isfinite numpy.logical_not numpy.signbit numpy.isposinf numpy.isneginf",
    "real": "numpy.abs numpy.absolute numpy.fabs",
}

_BINARY: dict[Kind, str] = {
    "promote": """numpy.add numpy.multiply numpy.maximum numpy.minimum numpy.fmax numpy.fmin
        numpy.bitwise_and numpy.bitwise_or numpy.bitwise_xor numpy.gcd numpy.lcm""",
    "bool": """numpy.equal numpy.not_equal numpy.less numpy.less_equal numpy.greater numpy.greater_equal
        numpy.logical_and numpy.logical_or numpy.logical_xor numpy.isclose""",
    "divide": "numpy.divide numpy.true_divide",
    "float": "numpy.arctan2 numpy.atan2 numpy.hypot numpy.logaddexp numpy.logaddexp2 numpy.copysign numpy.heaviside numpy.nextafter",
}

# These have no loop for bool.
_ARITHMETIC = "numpy.subtract numpy.power numpy.pow numpy.mod numpy.remainder numpy.floor_divide numpy.fmod"

_WORDS = {
    "add": "addition",
    "subtract": "subtraction",
    "multiply": "multiplication",
    "divide": "division",
    "true_divide": "division",
}


_MAGNITUDES = frozenset({"abs", "absolute", "fabs", "square", "exp"})


def words(call: Call) -> str:
    name = call.name.rpartition(".")[2]
    return _WORDS.get(name, f"np.{name}")


def known_number(value: Value) -> bool:
    return isinstance(value, (Const, Number, Scalar))


def _unary(kind: Kind) -> Callable[..., Value]:
    def transfer(call: Call, x: Value, dtype: Value, **rest: Value) -> Value:
        if not values.is_none(rest["out"]) or (
            rest["where"] is not values.TRUE and not isinstance(rest["where"], Const)
        ):
            raise Undecided
        result: Value
        if known_number(x):
            x = array_of(call, x)
        if isinstance(x, (Opaque, Unknown)):
            # A number or an array.
            raise Undecided
        result = unary_of(call, x, kind=kind, framework="numpy")
        name = call.name.rpartition(".")[2]
        if isinstance(result, Tensor):
            if name == "fabs":
                result.dtype = dtypes.numpy_float(result.dtype)
            if result.dtype == "bool" and name in ("negative", "positive", "sign", "conj", "conjugate"):
                result.dtype = None
            if result.dtype == "bool" and name == "square":
                result.dtype = "int8"
            if call.name in ("conj", "conjugate") and isinstance(x, Tensor) and x.strides != result.strides:
                # The method gives the array itself where it is real.
                real = x.dtype is not None and 0 <= dtypes.category(x.dtype) < dtypes.COMPLEX
                result.strides = x.strides if real else None
            if name == "sinc" and isinstance(x, Tensor):
                result.dtype = x.dtype if dtypes.is_floating(x.dtype) else None
            result.dtype = chosen(dtype, result.dtype)
        return magnitude_of(x, result) if name in _MAGNITUDES else result

    return transfer


for _kind, _names in _UNARY.items():
    op(
        _names,
        "x / out=None where=True dtype=None casting=None order=None subok=None copy=None nan=None posinf=None neginf=None",
    )(_unary(_kind))


def _binary(kind: Kind) -> Callable[..., Value]:
    def transfer(call: Call, x1: Value, x2: Value, dtype: Value, out: Value, **rest: Value) -> Value:
        if not values.is_none(out):
            raise Undecided
        result = elementwise(call, _arrays(call, x1, x2), kind=kind, framework="numpy", operation=words(call))
        if isinstance(result, Tensor):
            result.dtype = chosen(dtype, result.dtype)
        return _masked(result, rest["where"])

    return transfer


def _masked(result: Value, where: Value) -> Value:
    """`where=` takes part in broadcasting; known is what it does not change."""
    if isinstance(where, Const) or not isinstance(result, Tensor):
        return result
    if not isinstance(where, Tensor) or where.shape is None or result.shape is None:
        raise Undecided
    if broadcast(result.shape, where.shape) != result.shape:
        raise Undecided
    if len(result.shape) > 1 and not where.contiguous:
        result.strides = None
    return result


def _arrays(call: Call, *operands: Value) -> list[Value]:
    """Lists as arrays; numbers only if no array is there to take them."""
    if not any(isinstance(operand, (Tensor, Sequence)) for operand in operands):
        if any(isinstance(operand, (Opaque, Unknown)) for operand in operands):
            raise Undecided
    return list(operands)


_BINARY_PARAMETERS = "x1 x2 / out=None where=True dtype=None casting=None rtol=None atol=None equal_nan=None"
for _kind, _names in _BINARY.items():
    op(_names, _BINARY_PARAMETERS)(_binary(_kind))


@op(_ARITHMETIC, _BINARY_PARAMETERS)
def arithmetic(call: Call, x1: Value, x2: Value, dtype: Value, out: Value, **rest: Value) -> Value:
    if not values.is_none(out):
        raise Undecided
    result = elementwise(call, _arrays(call, x1, x2), framework="numpy", operation=words(call))
    if isinstance(result, Tensor):
        if result.dtype == "bool":
            result.dtype = None if call.name.endswith("subtract") else "int8"
        result.dtype = chosen(dtype, result.dtype)
    if is_two(x2) and call.name.endswith(("power", "pow")):
        result = magnitude_of(x1, result)
    return _masked(result, rest["where"])


@op("numpy.where", "condition x=None y=None", tensor=False)
def where(call: Call, condition: Value, x: Value, y: Value) -> Value:
    if values.is_none(x) and values.is_none(y):
        from tensorlint.inference.ops.numpy.selection import nonzero

        return nonzero(call, condition)
    operands: list[Value] = [
        array_of(call, value) if isinstance(value, Sequence) else value for value in (condition, x, y)
    ]
    if isinstance(condition, (Opaque, Unknown)):
        raise Undecided
    name = dtypes.numpy_result(operands[1:])
    result = elementwise(call, operands, framework="numpy", dtype=name)
    if isinstance(result, Tensor):
        result.dtype = name
        if result.shape is not None and len(result.shape) > 1 and not result.contiguous:
            result.strides = None
        for first, second in ((0, 2), (0, 1), (1, 2)):
            left, right = operands[first], operands[second]
            if isinstance(left, Tensor) and isinstance(right, Tensor):
                tell(call, "np.where", left, right, result.shape or (), (first, second))
    return result


@op("numpy.select", "condlist choicelist default=0", tensor=False)
def select(call: Call, condlist: Value, choicelist: Value, default: Value) -> Value:
    """Conditions and choices broadcast together."""
    operands: list[Value] = []
    nodes: list[ast.expr | None] = []
    listed_nodes = [*call.node.args[:2], None, None] if isinstance(call.node, ast.Call) else [None, None]
    for given, node in zip((condlist, choicelist), listed_nodes, strict=False):
        if not isinstance(given, Sequence) or not given.items:
            raise Undecided
        listed = node.elts if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) == len(given.items) else None
        nodes += [*listed] if listed is not None else [None] * len(given.items)
        operands += given.items
    if not all(isinstance(each, Tensor) or is_number(each) for each in (*operands, default)):
        raise Undecided
    result = elementwise(call, [*operands, default], framework="numpy", dtype="float64")
    if not isinstance(result, Tensor) or result.shape is None:
        raise Undecided
    result.dtype, result.strides = None, layout.contiguous(result.shape)
    for first, second in combinations(range(len(operands)), 2):
        left, right = operands[first], operands[second]
        if isinstance(left, Tensor) and isinstance(right, Tensor) and left.shape != right.shape:
            tell(call, "np.select", left, right, result.shape, nodes=(nodes[first], nodes[second]))
    return result


@op("numpy.clip .clip", "a a_min=None a_max=None out=None / min=None max=None dtype=None")
def clip(call: Call, a: Value, a_min: Value, a_max: Value, out: Value, min: Value, max: Value, dtype: Value) -> Value:
    if not values.is_none(out):
        raise Undecided
    bounds = [bound for bound in (a_min, a_max, min, max) if not values.is_none(bound)]
    if any(isinstance(bound, Tensor) and bound.framework == "torch" for bound in bounds):
        return UNKNOWN  # a tensor
    result = elementwise(call, [array_of(call, a), *bounds], framework="numpy")
    if isinstance(result, Tensor):
        tell_any(call, "np.clip", [a, *bounds], result.shape or ())
        result.dtype = chosen(dtype, result.dtype)
    return result


@op("numpy.round numpy.around .round", "a decimals=0 out=None")
def round(call: Call, a: Value, decimals: Value, out: Value) -> Value:
    result = unary_of(call, array_of(call, a), framework="numpy")
    if isinstance(result, Tensor) and result.shape is not None and result.strides != layout.contiguous(result.shape):
        result.strides = None  # integers, and digits behind the point, go through another array
    if isinstance(result, Tensor) and result.dtype == "bool":
        result.dtype = "float16"
    return result


@op("numpy.divmod", "x y", tensor=False)
def divmod(call: Call, x: Value, y: Value) -> Value:
    result = elementwise(call, _arrays(call, x, y), framework="numpy", operation="np.divmod")
    if isinstance(result, Tensor) and result.dtype == "bool":
        result.dtype = "int8"
    return tuple_of([result, result])


@op("numpy.modf", "x", tensor=False)
def modf(call: Call, x: Value) -> Value:
    result = unary_of(call, array_of(call, x), kind="float", framework="numpy")
    return tuple_of([result, result])


@op("numpy.angle", "z deg=False")
def angle(call: Call, z: Value, deg: Value) -> Value:
    result = unary_of(call, array_of(call, z), kind="same", framework="numpy")
    if isinstance(result, Tensor):
        result.dtype = None
    return result


@op("numpy.interp", "x xp fp left=None right=None period=None")
def interp(call: Call, x: Value, **rest: Value) -> Value:
    given = array_of(call, x)
    if given.shape is None:
        raise Undecided
    return Tensor(
        "numpy",
        given.shape,
        numpy_layout([(given.shape, given.strides)], given.shape) if given.contiguous else None,
        None,
        None,
        call.node,
    )


@op("numpy.reciprocal numpy.fix", "x / out=None where=True dtype=None")
def reciprocal(call: Call, x: Value, **rest: Value) -> Value:
    if not all(values.is_none(rest[name]) for name in ("out", "dtype")) or not arguments.truth(rest["where"]):
        raise Undecided
    result = unary_of(call, array_of(call, x), framework="numpy")
    if isinstance(result, Tensor) and not dtypes.is_floating(result.dtype):
        result.dtype = None
    return result


@op("numpy.iscomplex numpy.isreal", "x")
def isreal(call: Call, x: Value) -> Value:
    given = array_of(call, x)
    if given.shape is None:
        raise Undecided
    return unplaced(call, "numpy", given.shape, "bool")


@op("numpy.bitwise_count", "x / out=None where=True")
def bitwise_count(call: Call, x: Value, out: Value, where: Value) -> Value:
    if not values.is_none(out) or not arguments.truth(where):
        raise Undecided
    result = unary_of(call, array_of(call, x), framework="numpy")
    if isinstance(result, Tensor):
        result.dtype = None
    return result


@op("numpy.left_shift numpy.right_shift numpy.bitwise_left_shift numpy.bitwise_right_shift numpy.float_power "
    "numpy.ldexp", _BINARY_PARAMETERS)  # fmt: skip
def untyped(call: Call, x1: Value, x2: Value, out: Value, where: Value, **rest: Value) -> Value:
    """Elementwise in a type of its own."""
    if not values.is_none(out):
        raise Undecided
    result = elementwise(call, _arrays(call, x1, x2), framework="numpy", operation=words(call))
    if isinstance(result, Tensor):
        result.dtype = None
    return _masked(result, where)


@op("numpy.frexp", "x", tensor=False)
def frexp(call: Call, x: Value) -> Value:
    result = unary_of(call, array_of(call, x), kind="float", framework="numpy")
    if not isinstance(result, Tensor):
        raise Undecided
    return tuple_of([result, copy(result, dtype="int32")])
