"""Elementwise operations of torch and numpy: shape by broadcasting, strides by TensorIterator, dtype by promotion."""

from __future__ import annotations

from collections.abc import Sequence as Sequence_

from tensorlint.inference import layout
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import dtypes
from tensorlint.inference.ops.broadcasting import broadcast, tell
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.results import (
    COORDINATE,
    DROPPED,
    MAGNITUDE,
    NO_MARKS,
    RAMP,
    REDUCTION,
    common_device,
    common_framework,
    lasting,
    numeric,
    surviving,
    unranked,
)
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.values import (
    PLAIN,
    UNKNOWN,
    Const,
    Framework,
    Number,
    Opaque,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    copy,
)

COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}

OPERATION_WORDS = {
    "+": "addition",
    "-": "subtraction",
    "*": "multiplication",
    "/": "division",
    "//": "floor division",
    "%": "remainder",
    "**": "power",
    "&": "and",
    "|": "or",
    "^": "exclusive or",
    "==": "comparison ==",
    "!=": "comparison !=",
    "<": "comparison <",
    "<=": "comparison <=",
    ">": "comparison >",
    ">=": "comparison >=",
}

# How the dtype of a result follows from its operands.
#   promote  the common type        float  the common type, integers become floats
#   bool     a truth value          same   that of the first operand
#   real     complex becomes real
Kind = str


def _dtype(kind: Kind, framework: Framework | None, operands: list[Value], default: str | None) -> str | None:
    if kind == "bool":
        return "bool"
    if kind == "same":
        first = operands[0]
        return first.dtype if isinstance(first, Tensor) else None
    if framework is None:
        return None
    if framework == "torch":
        common = dtypes.torch_result(operands, default)
        if kind == "float":
            return dtypes.torch_float(common, default)
    else:
        if kind == "float":
            return dtypes.numpy_float_result(operands)
        common = dtypes.numpy_result(operands)
        if kind == "divide":
            return _numpy_divide(common)
    if kind == "divide":
        return dtypes.torch_float(common, default)
    if kind == "real":
        return dtypes.real_of(common)
    return common


def _common(kind: Kind, operands: list[Value], result: str | None, default: str | None) -> str | None:
    """The type that torch computes in."""
    return dtypes.torch_result(operands, default) if kind == "bool" else result


def _numpy_divide(common: str | None) -> str | None:
    if common == dtypes.OBJECT:
        return common
    if common is None or common not in dtypes.CATEGORY:
        return None
    return common if dtypes.CATEGORY[common] >= dtypes.FLOAT else "float64"


def numpy_layout(operands: list[tuple[Shape, Strides | None]], shape: Shape) -> Strides | None:
    """The K order of a ufunc's result where it is plain: all operands row-major, or one gap-free operand."""
    if len(shape) <= 1:
        return (1,) * len(shape)
    first: Strides | None = None
    for operand_shape, strides in operands:
        if not operand_shape:
            continue
        if strides is None:
            return None
        if layout.is_contiguous(operand_shape, strides) is not True:
            break
        first = strides
    else:
        return layout.contiguous(shape) if first is not None or shape else ()
    full = [(s, t) for s, t in operands if s]
    if all(s == shape and t == full[0][1] for s, t in full) and 1 not in shape and full[0][1] is not None:
        return full[0][1] if layout.is_dense(shape, full[0][1]) else None
    return None


def result_layout(
    framework: Framework | None, operands: list[tuple[Shape, Strides | None]], shape: Shape
) -> Strides | None:
    if framework == "torch":
        return torch_layout(operands, shape)
    if framework == "numpy":
        return numpy_layout(operands, shape)
    if all(layout.is_contiguous(*operand) is True for operand in operands):
        return layout.contiguous(shape)
    return None


def torch_layout(operands: list[tuple[Shape, Strides | None]], shape: Shape) -> Strides | None:
    """`layout.elementwise` where symbolic sizes under two names are one size: they met, so they are equal."""
    plain = layout.contiguous(shape)
    if all((own == shape and strides == plain) or not own for own, strides in operands):
        return plain
    met: list[tuple[Shape, Strides | None]] = []
    certain = True
    renamed = False
    for operand_shape, strides in operands:
        if operand_shape and operand_shape != shape:
            start = len(shape) - len(operand_shape)
            known = []
            for at, size in enumerate(operand_shape):
                full = shape[start + at]
                if size != full and size != 1:
                    certain = certain and S.surely_not_one(size)
                    renamed = True
                    size = full
                known.append(size)
            operand_shape = tuple(known)
        met.append((operand_shape, strides))
    if renamed:
        full = 1 not in shape or all(own == shape for own, _ in met)
        if full and all(layout.is_contiguous(*operand) for operand in operands):
            return layout.contiguous(shape)
        if not certain or 1 in shape:
            return None
    return layout.elementwise(met, shape)


def promoted_layout(
    tensors: list[Tensor], shape: Shape, common: str | None, numbers: Sequence_[tuple[Shape, Strides | None]] = ()
) -> Strides | None:
    """`torch_layout` of operands (and `numbers` beside them) that take part as the common type.

    On a CPU TensorIterator first copies what is of another type (`compute_types`, aten/src/ATen/TensorIterator.cpp),
    which closes gaps and makes an order of axes that an `expand` left open; on other devices it converts as it reads.
    Where a device is not stated, a layout is known that both give.
    """
    read = torch_layout([*((tensor.shape or (), tensor.strides) for tensor in tensors), *numbers], shape)
    if not shape:
        return read
    converted = False
    copied: list[tuple[Shape, Strides | None]] = []
    for tensor in tensors:
        strides = tensor.strides
        if strides and (common is None or tensor.dtype != common):
            kept = layout.preserve(tensor.shape or (), strides)
            if kept != strides:
                known = common is not None and tensor.dtype is not None
                if known or len(tensors) == 1:
                    strides = kept
                    converted = True
                elif any(one.dtype is None or one.dtype != tensor.dtype for one in tensors):
                    return None
        copied.append((tensor.shape or (), strides))
    if not converted:
        return read
    laid = torch_layout([*copied, *numbers], shape)
    if laid == read:
        return laid
    if common is None or any(tensor.dtype is None for tensor in tensors):
        return None
    return laid if any(tensor.device == "cpu" for tensor in tensors if tensor.shape) else None


def combine_marks(tensors: list[Tensor], shape: Shape) -> frozenset[str]:
    """What a result of several operands remembers of their past."""
    marks: frozenset[str] = NO_MARKS
    for tensor in tensors:
        if tensor.marks:
            marks = marks | lasting(tensor.marks)
    if "ramp" in marks:
        mixed = any("ramp" not in tensor.marks for tensor in tensors if tensor.shape != ())
        marks = marks - (RAMP if mixed else COORDINATE)
    if not marks:
        return marks
    dropped = "dropped" in marks and any("dropped" in tensor.marks and tensor.shape == shape for tensor in tensors)
    return surviving(marks, shape) | DROPPED if dropped else surviving(marks, shape)


def is_number(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, (bool, int, float, complex))
    return isinstance(value, (Number, Scalar))


def is_plain(value: Value) -> bool:
    """An object that is no tensor: what torch accepts of these beside a tensor is a number."""
    return isinstance(value, Opaque) and value.kind == PLAIN


def elementwise(
    call: Call,
    operands: Sequence_[Value],
    *,
    kind: Kind = "promote",
    operation: str | None = None,
    framework: Framework | None = None,
    dtype: str | None = None,
    wrapped: bool = True,
) -> Value:
    """One elementwise operation on tensors and Python numbers.

    `wrapped` says that a number takes part as a 0-dim tensor, as in `x + 1`, and not as a parameter, as in `x ** 2`.
    """
    framework = framework or common_framework(operands)
    values: list[Value] = []
    tensors: list[Tensor] = []
    unknown = False
    for operand in operands:
        if isinstance(operand, Tensor):
            tensors.append(operand)
            values.append(operand)
            if operand.shape is None:
                unknown = True
        elif is_number(operand) or (framework == "torch" and is_plain(operand)):
            values.append(operand)
        elif isinstance(operand, Sequence) and framework == "numpy":
            array = array_of(call, operand)
            tensors.append(array)
            values.append(array)
            if array.shape is None:
                unknown = True
        elif isinstance(operand, (Opaque, Unknown)):
            unknown = True
            values.append(operand)
        else:
            raise Undecided
    if not tensors:
        if unknown or framework != "numpy":
            raise Undecided
        shape: Shape = ()
        return Tensor(framework, (), (), dtype or _dtype(kind, framework, values, call.default_dtype), None, call.node)
    if framework is not None:
        for tensor in tensors:
            if tensor.framework is not None and tensor.framework != framework:
                raise Undecided
    if unknown:
        result = unranked(framework, "bool" if kind == "bool" else dtype)
        if dtype is None and not any(isinstance(value, (Opaque, Unknown)) for value in values):
            result.dtype = _dtype(kind, framework, values, call.default_dtype)
        return result
    result_dtype = dtype or _dtype(kind, framework, values, call.default_dtype)
    if len(tensors) == 1:
        only = tensors[0]
        shape = only.shape or ()
        strides = only.strides
        numbers: list[tuple[Shape, Strides | None]] = [((), ())] if wrapped and len(values) > 1 else []
        if framework == "torch":
            common = _common(kind, values, result_dtype, call.default_dtype)
            if kind == "divide" and values[0] is not only:
                # `2 / x` is x.reciprocal() * 2.
                strides = promoted_layout(tensors, shape, common)
                strides = torch_layout([(shape, strides), *numbers], shape)
            elif kind == "same" or dtype is not None:
                strides = torch_layout([(shape, strides), *numbers], shape)
            else:
                strides = promoted_layout(tensors, shape, common, numbers)
        else:
            strides = result_layout(framework, [(shape, strides), *numbers], shape)
        marks = lasting(only.marks) - COORDINATE if only.marks else only.marks
        if result_dtype is None:
            marks |= numeric(framework, None, tensors)
        source = reduced = None
        if only.reduced is not None and shape:
            # `x.norm(dim=1) + 1e-8` is for each row what the norm is.
            marks |= only.marks & REDUCTION
            source, reduced = only.source, only.reduced
        return Tensor(
            framework,
            shape,
            strides,
            result_dtype,
            only.device,
            only.made or call.node,
            only.how,
            marks,
            source,
            reduced,
            layout_trail=only.layout_trail,
        )
    shapes = [tensor.shape or () for tensor in tensors]
    shape = broadcast(*shapes)
    if operation is not None and len(tensors) > 1:
        tell(call, operation, tensors[0], tensors[1], shape)
    if framework == "torch" and kind != "same" and dtype is None:
        strides = promoted_layout(tensors, shape, _common(kind, values, result_dtype, call.default_dtype))
    else:
        strides = result_layout(framework, [(each.shape or (), each.strides) for each in tensors], shape)
    trail = next((tensor.layout_trail for tensor in tensors if tensor.layout_trail), ())
    marks = combine_marks(tensors, shape)
    if result_dtype is None:
        marks |= numeric(framework, None, tensors)
    source = reduced = None
    first = tensors[0]
    if first.reduced is not None and shape and all(_is_reduced_alike(first, tensor) for tensor in tensors):
        # `x.max(1) - x.min(1)`
        marks, source, reduced = marks | REDUCTION, first.source, first.reduced
    return Tensor(
        framework,
        shape,
        strides,
        result_dtype,
        common_device(tensors),
        call.node,
        None,
        marks,
        source,
        reduced,
        layout_trail=trail,
    )


def _is_reduced_alike(one: Tensor, other: Tensor) -> bool:
    return one.source is other.source and one.reduced == other.reduced and one.shape == other.shape


def unary_of(
    call: Call, input: Value, *, kind: Kind = "same", framework: Framework | None = None, dtype: str | None = None
) -> Value:
    """An elementwise function of one tensor; `reduction` and its source survive, as `-x.mean(1)` is one still."""
    if isinstance(input, Sequence) and framework == "numpy":
        input = array_of(call, input)
    if not isinstance(input, Tensor):
        return elementwise(call, [input], kind=kind, framework=framework, dtype=dtype)
    framework = framework or input.framework
    result_dtype = dtype or _dtype(kind, framework, [input], call.default_dtype)
    if input.shape is None:
        return unranked(framework, result_dtype, input.device)
    if framework == "torch" and kind == "float":
        strides = promoted_layout([input], input.shape, result_dtype)
    else:
        strides = result_layout(framework, [(input.shape, input.strides)], input.shape)
    return Tensor(
        framework,
        input.shape,
        strides,
        result_dtype,
        input.device,
        input.made or call.node,
        input.how,
        input.marks if not input.marks else frozenset(mark for mark in input.marks if not mark.startswith("linear:")),
        input.source,
        input.reduced,
        layout_trail=input.layout_trail,
    )


_KINDS = {"/": "divide"}


def magnitude_of(given: Value, result: Value) -> Value:
    """The squares, absolute values or exponentials of a matrix remember it: what they add up to is a norm of its rows or
    columns, or what makes a softmax of them."""
    if isinstance(given, Tensor) and isinstance(result, Tensor) and len(given.shape or ()) > 1:
        if result.shape == given.shape and given.reduced is None:
            return copy(result, marks=result.marks | MAGNITUDE, source=given)
    return result


def is_two(value: Value) -> bool:
    return isinstance(value, Const) and value.value == 2


def binary(call: Call, operator: str, left: Value, right: Value) -> Value:
    """`left operator right` where at least one side is a tensor; UNKNOWN where the program would stop."""
    try:
        if operator == "@":
            from tensorlint.inference.ops.products import matmul

            result = matmul(call, left, right, "@")
            return UNKNOWN if _is_object(result) else result
        result = _binary(call, operator, left, right)
    except Undecided:
        return UNKNOWN
    if _is_object(result):
        return UNKNOWN
    if (operator == "**" and is_two(right)) or (operator == "*" and left is right):
        return magnitude_of(left, result)
    return result


def _binary(call: Call, operator: str, left: Value, right: Value) -> Value:
    tensor = left if isinstance(left, Tensor) else right
    assert isinstance(tensor, Tensor)
    framework = common_framework((left, right))
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        if operator == "*" and ("transposed" in left.marks or "transposed" in right.marks):
            if left.shape is not None and right.shape is not None and len(left.shape) == len(right.shape) == 1:
                call.report("rank_one_product", left=left, right=right, operation="*")
        if operator in COMPARISONS:
            kind = "bool"
        else:
            kind = _KINDS.get(operator, "promote")
    else:
        other = right if tensor is left else left
        if isinstance(other, Sequence) and (framework != "numpy" or (operator == "*" and not tensor.shape)):
            raise Undecided  # `np.int64(2) * [1, 2]` is a list of four
        if (
            framework == "numpy"
            and other is left
            and tensor.shape == ()
            and isinstance(other, Const)
            and isinstance(other.value, complex)
        ):
            raise Undecided  # `2j * np.float64(1)` is Python's complex, `2.0 * np.float64(1)` is numpy's
        if isinstance(other, Const) and not is_number(other):
            if (
                isinstance(other.value, str)
                and operator in ("==", "!=")
                and framework == "numpy"
                and tensor.dtype is None
            ):
                return elementwise(call, (tensor,), kind="bool", operation=OPERATION_WORDS.get(operator, operator))
            raise Undecided
        kind = "bool" if operator in COMPARISONS else _KINDS.get(operator, "promote")
    if framework == "numpy" and kind == "promote" and operator in ("-", "//", "%", "**", "<<", ">>"):
        result = _numpy_arithmetic(call, operator, left, right)
    else:
        wrapped = not (operator == "**" and tensor is left and not isinstance(right, Tensor))
        word = OPERATION_WORDS.get(operator, operator)
        result = elementwise(call, (left, right), kind=kind, operation=word, wrapped=wrapped)
    if operator == "**" and tensor is not left and framework == "torch" and isinstance(result, Tensor) and result.shape:
        # A number to the power of a tensor is a fresh tensor.
        result.strides = layout.contiguous(result.shape)
    if isinstance(result, Tensor) and result.framework == "numpy":
        others = [side for side in (left, right) if not is_numpys_own(side)]
        if others:
            # A tensor of torch's makes a tensor of it, whichever side it is on.
            torchs = any(isinstance(side, Tensor) and side.framework == "torch" for side in others)
            result = copy(result, framework="torch" if torchs else None, dtype=None, strides=None, device=None)
    return result


def is_numpys_own(value: Value) -> bool:
    """An operand with which numpy's arrays make arrays."""
    if isinstance(value, Tensor):
        return value.framework == "numpy"
    return isinstance(value, (Const, Number, Scalar, Sequence)) or (isinstance(value, Opaque) and value.kind == PLAIN)


def _numpy_arithmetic(call: Call, operator: str, left: Value, right: Value) -> Value:
    """numpy has no bool loop for these: two bools become int8, or the operation is refused."""
    result = elementwise(call, (left, right), operation=OPERATION_WORDS.get(operator, operator))
    if isinstance(result, Tensor) and result.dtype == "bool":
        if operator == "-":
            raise Undecided
        result.dtype = "int8"
    elif operator == "**" and isinstance(left, Tensor) and left.dtype == "bool" and isinstance(result, Tensor):
        # `x ** 2` is a square of another type than `x ** 3`.
        result.dtype = None
    return result


def _is_object(result: Value) -> bool:
    """Whether it is one of an array's objects: of an array without axes numpy gives no array, but what is in it."""
    return isinstance(result, Tensor) and result.shape == () and result.dtype == dtypes.OBJECT


def unary(call: Call, operator: str, operand: Value) -> Value:
    """`-x`, `+x`, `~x`; `not x` is no tensor."""
    if operator == "not" or not isinstance(operand, Tensor):
        return UNKNOWN
    if operator == "+" and operand.framework == "torch":
        return operand
    try:
        result = unary_of(call, operand)
    except Undecided:
        return UNKNOWN
    return UNKNOWN if _is_object(result) else result
