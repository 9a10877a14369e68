"""Element types: their names, torch's and numpy's promotion.

A dtype is its canonical name (`float32`, `int64`, `bool`), None where it is not known.
"""

from __future__ import annotations

from typing import Literal

from tensorlint.inference.values import (
    UNKNOWN,
    Class,
    Const,
    Framework,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Scalar,
    Tensor,
    Value,
)

BOOL, INTEGER, FLOAT, COMPLEX = 0, 1, 2, 3
# The Python number of each category.
SCALAR_KINDS: tuple[Literal["bool"], Literal["int"], Literal["float"], Literal["complex"]] = (
    "bool",
    "int",
    "float",
    "complex",
)

# An array's items are Python objects of any kind: one that is picked is no array.
OBJECT = "object"

CATEGORY = {
    "bool": BOOL,
    "uint8": INTEGER,
    "int8": INTEGER,
    "int16": INTEGER,
    "int32": INTEGER,
    "int64": INTEGER,
    "uint16": INTEGER,
    "uint32": INTEGER,
    "uint64": INTEGER,
    "float16": FLOAT,
    "bfloat16": FLOAT,
    "float32": FLOAT,
    "float64": FLOAT,
    "complex32": COMPLEX,
    "complex64": COMPLEX,
    "complex128": COMPLEX,
}

BITS = {
    "bool": 8,
    "uint8": 8,
    "int8": 8,
    "int16": 16,
    "int32": 32,
    "int64": 64,
    "uint16": 16,
    "uint32": 32,
    "uint64": 64,
    "float16": 16,
    "bfloat16": 16,
    "float32": 32,
    "float64": 64,
    "complex32": 32,
    "complex64": 64,
    "complex128": 128,
}

_TORCH_NAMES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "chalf": "complex32",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}

# `intc`, `longlong` and the like are left out: their width is the platform's.
_NUMPY_NAMES = {
    "float": "float64",
    "double": "float64",
    "float_": "float64",
    "single": "float32",
    "half": "float16",
    "int": "int64",
    "int_": "int64",
    "intp": "int64",
    "bool_": "bool",
    "ubyte": "uint8",
    "byte": "int8",
    "short": "int16",
    "complex": "complex128",
    "cdouble": "complex128",
    "csingle": "complex64",
    "f": "float32",
    "d": "float64",
    "f4": "float32",
    "f8": "float64",
    "f2": "float16",
    "i4": "int32",
    "i8": "int64",
    "i": "int32",
    "u1": "uint8",
    "i1": "int8",
    "i2": "int16",
    "u2": "uint16",
    "u4": "uint32",
    "u8": "uint64",
    "b": "int8",
    "B": "uint8",
    "?": "bool",
    "b1": "bool",
    "c8": "complex64",
    "c16": "complex128",
    "<f4": "float32",
    "<f8": "float64",
    "<i4": "int32",
    "<i8": "int64",
    "O": OBJECT,
    "object": OBJECT,
    "object_": OBJECT,
}

_BUILTIN: dict[str, dict[str, str | None]] = {
    "torch": {"float": None, "int": "int64", "bool": "bool", "complex": None},
    "numpy": {"float": "float64", "int": "int64", "bool": "bool", "complex": "complex128", "object": OBJECT},
}


def category(dtype: str) -> int:
    return CATEGORY.get(dtype, -1)


def is_floating(dtype: str | None) -> bool | None:
    return None if dtype is None else CATEGORY.get(dtype) == FLOAT


def named(value: Value, framework: Framework | None) -> str | None:
    """The dtype that an argument names (`torch.float`, `np.int64`, `"float32"`, `float`), None where it is not known."""
    if isinstance(value, Library):
        head, _, tail = value.path.rpartition(".")
        if head in ("builtins", ""):
            return _BUILTIN[framework or "numpy"].get(tail)
        if head in ("torch", "torch.cuda"):
            return tail if tail in CATEGORY else _TORCH_NAMES.get(tail)
        if head == "numpy":
            return tail if tail in CATEGORY else _NUMPY_NAMES.get(tail)
        return None
    if isinstance(value, Const) and isinstance(value.value, str):
        text = value.value
        if text in CATEGORY:
            return text
        if text.startswith("torch."):
            return _TORCH_NAMES.get(text.rpartition(".")[2])
        return _NUMPY_NAMES.get(text)
    if isinstance(value, LibraryObject) and value.path == "numpy.dtype":
        inner = value.positional[0] if value.positional else value.arguments.get("dtype")
        return named(inner, "numpy") if inner is not None else None
    if isinstance(value, Tensor) and value.shape is None and value.how == "dtype":
        return value.dtype
    if isinstance(value, Class) and framework == "numpy" and not value.bases and value.own("dtype") is None:
        return OBJECT  # as numpy takes any class that it does not know
    return None


def of_scalar(value: Value) -> int | None:
    """The category of a Python number, None where it is none, or its type is not known."""
    if isinstance(value, Const):
        return {bool: BOOL, int: INTEGER, float: FLOAT, complex: COMPLEX}.get(type(value.value))
    if isinstance(value, Number):
        return INTEGER
    if isinstance(value, Scalar):
        return {"bool": BOOL, "int": INTEGER, "float": FLOAT, "complex": COMPLEX}.get(value.kind)
    return None


_COMPLEX_OF = {
    "float16": "complex32",
    "bfloat16": "complex64",
    "float32": "complex64",
    "float64": "complex128",
}
_FLOAT_OF = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


def complex_of(dtype: str | None) -> str | None:
    return None if dtype is None else _COMPLEX_OF.get(dtype, dtype if dtype in _FLOAT_OF else None)


def real_of(dtype: str | None) -> str | None:
    """`abs` of a complex number is real; anything else is itself."""
    return None if dtype is None else _FLOAT_OF.get(dtype, dtype)


def torch_promote(a: str, b: str) -> str | None:
    """`torch.promote_types`."""
    if a == b:
        return a
    left, right = CATEGORY.get(a, -1), CATEGORY.get(b, -1)
    if left < 0 or right < 0:
        return None
    if left > right:
        a, b, left, right = b, a, right, left
    if left == BOOL:
        return b
    if right == INTEGER:
        if a in ("uint16", "uint32", "uint64") or b in ("uint16", "uint32", "uint64"):
            return None
        if "uint8" in (a, b):
            other = b if a == "uint8" else a
            return "int16" if other == "int8" else other
        return a if BITS[a] > BITS[b] else b
    if left == INTEGER:
        return b
    if right == FLOAT:
        if BITS[a] == BITS[b]:
            return "float32"
        return a if BITS[a] > BITS[b] else b
    if left == FLOAT:
        wide = {"float16": 32, "bfloat16": 64, "float32": 64, "float64": 128}[a]
        if a == "bfloat16" and b == "complex32":
            return "complex64"
        return {32: "complex32", 64: "complex64", 128: "complex128"}[max(wide, BITS[b])]
    return a if BITS[a] > BITS[b] else b


def _combine(higher: str | None, lower: str | None) -> str | None:
    if higher is None:
        return lower
    if lower is None:
        return higher
    high, low = CATEGORY.get(higher, -1), CATEGORY.get(lower, -1)
    if high == COMPLEX:
        return higher
    if high == FLOAT:
        return _COMPLEX_OF[higher] if low == COMPLEX else higher
    if high == BOOL or low in (FLOAT, COMPLEX):
        return torch_promote(higher, lower)
    return higher


def torch_result(operands: list[Value], default: str | None) -> str | None:
    """`torch.result_type` of tensors and Python numbers; None where an operand's type is not known."""
    dimensioned: str | None = None
    zero: str | None = None
    wrapped: str | None = None
    open_number = False
    for operand in operands:
        if isinstance(operand, Tensor):
            if operand.dtype is None or operand.shape is None:
                # The rank decides how much a type weighs; where all types agree it does not matter.
                return _uniform(operands)
            if operand.shape:
                if dimensioned is None:
                    dimensioned = operand.dtype
                else:
                    dimensioned = torch_promote(dimensioned, operand.dtype)
                    if dimensioned is None:
                        return None
            elif zero is None:
                zero = operand.dtype
            else:
                zero = torch_promote(zero, operand.dtype)
                if zero is None:
                    return None
        else:
            kind = of_scalar(operand)
            if kind is None:
                if operand is UNKNOWN or (isinstance(operand, Opaque) and operand.kind is None):
                    return None  # a tensor, as likely as not
                # A number of a type nobody knows: a floating tensor keeps its own.
                open_number = True
                continue
            if kind >= FLOAT and default is None:
                # An unknown default matters unless a tensor's type wins.
                floats = [o.dtype for o in operands if isinstance(o, Tensor) and o.dtype is not None]
                if not any(CATEGORY.get(d, -1) >= kind for d in floats):
                    return None
                continue
            name = ("bool", "int64", default, _COMPLEX_OF.get(default or ""))[kind]
            if name is None:
                return None
            wrapped = name if wrapped is None else torch_promote(wrapped, name)
    result = _combine(dimensioned, _combine(zero, wrapped))
    if open_number and (result is None or CATEGORY.get(result, -1) < FLOAT or dimensioned is None):
        return None
    return result


def _uniform(operands: list[Value]) -> str | None:
    found: str | None = None
    kind = BOOL
    for operand in operands:
        if isinstance(operand, Tensor):
            if operand.dtype is None or (found is not None and operand.dtype != found):
                return None
            found = operand.dtype
        else:
            scalar = of_scalar(operand)
            if scalar is None:
                return None
            kind = max(kind, scalar)
    return found if found is not None and CATEGORY.get(found, -1) >= kind else None


_NUMPY_SIGNED = {8: "int8", 16: "int16", 32: "int32", 64: "int64"}
_HOLDS_INTEGER = {8: 16, 16: 32, 32: 64, 64: 64}


def numpy_promote(a: str, b: str) -> str | None:
    """`numpy.promote_types`."""
    if a == b:
        return a
    if OBJECT in (a, b):
        return OBJECT
    left, right = CATEGORY.get(a, -1), CATEGORY.get(b, -1)
    if left < 0 or right < 0 or "bfloat16" in (a, b) or "complex32" in (a, b):
        return None
    if left > right:
        a, b, left, right = b, a, right, left
    if left == BOOL:
        return b
    if right == INTEGER:
        if a.startswith("u") == b.startswith("u"):
            return a if BITS[a] > BITS[b] else b
        unsigned, signed = (a, b) if a.startswith("u") else (b, a)
        if BITS[unsigned] < BITS[signed]:
            return signed
        return "float64" if BITS[unsigned] == 64 else _NUMPY_SIGNED[BITS[unsigned] * 2]
    bits_a = _HOLDS_INTEGER[BITS[a]] if left == INTEGER else BITS[a] // (2 if left == COMPLEX else 1)
    bits_b = BITS[b] // (2 if right == COMPLEX else 1)
    bits = max(bits_a, bits_b)
    if right == COMPLEX:
        return "complex64" if bits <= 32 else "complex128"
    return f"float{bits}"


def numpy_result(operands: list[Value]) -> str | None:
    """`numpy.result_type` (NEP 50): a Python number gives way, a 0-d array does not."""
    result: str | None = None
    kind = -1
    for operand in operands:
        if isinstance(operand, Tensor):
            if operand.dtype is None:
                return None
            result = operand.dtype if result is None else numpy_promote(result, operand.dtype)
            if result is None:
                return None
        else:
            scalar = of_scalar(operand)
            if scalar is None:
                return None
            kind = max(kind, scalar)
    if result is None:
        return ("bool", "int64", "float64", "complex128")[kind] if kind >= 0 else None
    if result == OBJECT:
        return result
    have = CATEGORY.get(result, -1)
    if have < 0:
        return None
    if kind <= have:
        return result
    if kind == INTEGER:
        return "int64"
    if kind == FLOAT:
        return "float64"
    return "complex64" if result in ("float16", "float32") else "complex128"


_NUMPY_FLOAT = {"bool": "float16", "int8": "float16", "uint8": "float16", "int16": "float32", "uint16": "float32"}


def numpy_float(dtype: str | None) -> str | None:
    """What `np.sin`, `np.sqrt` and their like return: small integers give small floats."""
    if dtype == OBJECT:
        return dtype
    if dtype is None or dtype not in CATEGORY:
        return None
    return dtype if CATEGORY[dtype] >= FLOAT else _NUMPY_FLOAT.get(dtype, "float64")


def numpy_float_result(operands: list[Value]) -> str | None:
    """What `np.hypot`, `np.arctan2` and their like return: each operand becomes a float by itself, before they meet."""
    arrays = [operand.dtype for operand in operands if isinstance(operand, Tensor)]
    if len(arrays) != len(operands):
        return numpy_float(numpy_result(operands))
    result: str | None = None
    for dtype in arrays:
        each = numpy_float(dtype)
        if each is None:
            return None
        result = each if result is None else numpy_promote(result, each)
        if result is None:
            return None
    return result


def torch_float(dtype: str | None, default: str | None) -> str | None:
    """What torch's floating functions return: integers become the default type."""
    if dtype is None or dtype not in CATEGORY:
        return None
    return dtype if CATEGORY[dtype] >= FLOAT else default
