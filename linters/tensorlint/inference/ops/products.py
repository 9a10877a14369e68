"""Products of tensors: matmul, dot, einsum; shared by torch and numpy."""

from __future__ import annotations

from tensorlint.inference import known_axes, layout
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import dtypes
from tensorlint.inference.ops.broadcasting import broadcast, broadcast_size
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.results import common_device, common_framework, numeric, unranked
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Framework, Sequence, Tensor, Value


def agree(a: Size, b: Size) -> Size:
    """One size where the program needs both to be equal; raises where they surely differ."""
    if a == b:
        return a
    if isinstance(a, int):
        if isinstance(b, int):
            raise Undecided
        return a
    return b if isinstance(b, int) else a


def operands(call: Call, *given: Value) -> tuple[Framework | None, list[Tensor]]:
    framework = common_framework(given)
    tensors = []
    for value in given:
        if isinstance(value, Sequence) and framework == "numpy":
            value = array_of(call, value)
        if not isinstance(value, Tensor) or (value.framework != framework and value.framework is not None):
            raise Undecided
        tensors.append(value)
    return framework, tensors


def common_dtype(call: Call, framework: Framework | None, tensors: list[Tensor]) -> str | None:
    values: list[Value] = list(tensors)
    if framework == "numpy":
        return dtypes.numpy_result(values)
    # torch's products want one type; anything else stops the program.
    names = {tensor.dtype for tensor in tensors}
    return next(iter(names)) if len(names) == 1 else None


def vector_product(call: Call, left: Value, right: Value) -> None:
    """Tell of a vector that meets a matrix, a vector or what nobody knows: for the last, that it is one is enough."""
    if rank_of(left) == 1 or rank_of(right) == 1:
        call.report("vector_product", left=left, right=right)


def rank_of(value: Value) -> int | None:
    return value.rank if isinstance(value, Tensor) else None


def rank_one_product(call: Call, left: Tensor, right: Tensor, operation: str) -> None:
    if ("transposed" in left.marks and left.rank == 1) or ("transposed" in right.marks and right.rank == 1):
        if left.rank == 1 and right.rank == 1:
            call.report("rank_one_product", left=left, right=right, operation=operation)


def matmul_shape(a: Shape, b: Shape) -> Shape:
    if not a or not b:
        raise Undecided
    agree(a[-1], b[-2] if len(b) > 1 else b[0])
    batch = broadcast(a[:-2], b[:-2]) if len(a) > 2 or len(b) > 2 else ()
    rows = (a[-2],) if len(a) > 1 else ()
    columns = (b[-1],) if len(b) > 1 else ()
    return (*batch, *rows, *columns)


def matmul(call: Call, left: Value, right: Value, operation: str) -> Value:
    """`left @ right`."""
    vector_product(call, left, right)
    framework, (a, b) = operands(call, left, right)
    dtype = common_dtype(call, framework, [a, b])
    if a.shape is None or b.shape is None:
        return _half_known(framework, a, b, dtype)
    rank_one_product(call, a, b, operation)
    shape = matmul_shape(a.shape, b.shape)
    strides: Strides | None = layout.contiguous(shape)
    if framework == "torch" and len(shape) > 1:
        strides = _torch_layout(a, b, shape)
    elif framework == "numpy" and len(shape) > 1:
        strides = strides if a.contiguous and b.contiguous else None
    marks = numeric(framework, dtype, (a, b))
    return Tensor(framework, shape, strides, dtype, common_device([a, b]), call.node, marks=marks)


def _half_known(framework: Framework | None, a: Tensor, b: Tensor, dtype: str | None) -> Tensor:
    """The rows of the left and the columns of the right, as far as they are known to have them."""
    result = unranked(framework, dtype, common_device([a, b]))
    result.axes = known_axes.product(a, b) or None
    return result


def _torch_layout(a: Tensor, b: Tensor, shape: Shape) -> Strides | None:
    """Matrix products are contiguous; where torch folds a broadcast batch into the rows it may be a view of one."""
    return layout.contiguous(shape)


def dot(call: Call, left: Value, right: Value, operation: str = "np.dot") -> Value:
    """`np.dot`: the last axis of the left against the last but one of the right."""
    vector_product(call, left, right)
    framework, (a, b) = operands(call, left, right)
    dtype = common_dtype(call, framework, [a, b])
    if a.shape is None or b.shape is None:
        return unranked(framework, dtype)
    rank_one_product(call, a, b, operation)
    if not a.shape or not b.shape:
        shape = a.shape or b.shape
        return Tensor(framework, shape, layout.contiguous(shape) if len(shape) < 2 else None, dtype, None, call.node)
    agree(a.shape[-1], b.shape[-2] if len(b.shape) > 1 else b.shape[0])
    if len(b.shape) == 1:
        shape = a.shape[:-1]
    else:
        shape = (*a.shape[:-1], *b.shape[:-2], b.shape[-1])
    strides = layout.contiguous(shape) if len(shape) <= 1 or (a.contiguous and b.contiguous) else None
    marks = numeric(framework, dtype, (a, b))
    return Tensor(framework, shape, strides, dtype, common_device([a, b]), call.node, marks=marks)


def einsum_shape(equation: str, shapes: list[Shape]) -> tuple[Shape, list[str], str]:
    """The shape of an einsum, its operands' subscripts without ellipsis and the output's.

    An ellipsis stands for capital pseudo-letters that no equation can contain.
    """
    text = equation.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        raise Undecided
    known: dict[str, Size] = {}
    batch: Shape = ()
    for term, shape in zip(terms, shapes, strict=True):
        if "..." in term:
            head, _, tail = term.partition("...")
            extra = len(shape) - len(head) - len(tail)
            if extra < 0:
                raise Undecided
            batch = (
                broadcast(batch, shape[len(head) : len(head) + extra])
                if batch
                else (shape[len(head) : len(head) + extra])
            )
            letters, sizes = head + tail, shape[: len(head)] + shape[len(head) + extra :]
        else:
            letters, sizes = term, shape
        if len(letters) != len(sizes):
            raise Undecided
        for letter, size in zip(letters, sizes, strict=True):
            if not letter.isalpha():
                raise Undecided
            known[letter] = broadcast_size(known[letter], size) if letter in known else size
    if not arrow:
        counts: dict[str, int] = {}
        for letter in inputs:
            if letter.isalpha():
                counts[letter] = counts.get(letter, 0) + 1
        output = ("..." if "..." in inputs else "") + "".join(sorted(x for x, n in counts.items() if n == 1))
    result: list[Size] = []
    at = 0
    while at < len(output):
        if output.startswith("...", at):
            result.extend(batch)
            at += 3
        else:
            if output[at] not in known:
                raise Undecided
            result.append(known[output[at]])
            at += 1
    return tuple(result), terms, output


def einsum_reduction(tensors: list[Tensor], terms: list[str], output: str) -> tuple[int, ...] | None:
    """The axes over which an einsum sums one tensor, or its squares: `ij,ij->i` of it and itself; None where it does more."""
    term, whole = terms[0], tensors[0]
    if any(each != term for each in terms) or any(each is not whole for each in tensors) or "." in term + output:
        return None
    axes = tuple(axis for axis, letter in enumerate(term) if letter not in output)
    kept = "".join(letter for letter in term if letter in output)
    return axes if axes and output == kept and len(set(term)) == len(term) else None


def einsum_layout(tensors: list[Tensor], terms: list[str], output: str, shape: Shape) -> Strides | None:
    """The strides of `torch.einsum`: a view for one permuted operand; for two, what sumproduct_pair's bmm gives."""
    if any("." in term for term in terms):
        return None
    if len(tensors) == 1:
        if tensors[0].strides is None or len(set(terms[0])) != len(terms[0]) or sorted(terms[0]) != sorted(output):
            return (1,) if len(shape) == 1 and set(terms[0]) != set(output) else () if not shape else None
        return tuple(tensors[0].strides[terms[0].index(letter)] for letter in output)
    # The operands' own layouts do not matter: each is permuted and reshaped for the bmm, and copied where it has to be.
    if len(tensors) != 2 or any(len(set(term)) != len(term) for term in terms):
        return () if not shape else None
    left, right = terms
    if 1 in shape or any(1 in (tensor.shape or ()) for tensor in tensors):
        return None
    sizes = dict(zip(output, shape, strict=True))
    batch = [x for x in output if x in left and x in right]
    rows = [x for x in output if x in left and x not in right]
    columns = [x for x in output if x in right and x not in left]
    if len(batch) + len(rows) + len(columns) != len(output):
        return None
    summed = [x for x in left if x in right and x not in output]
    if not summed:
        return None
    inner = [letter for letter in output if letter not in batch]
    if any(letter not in right and letter not in output for letter in left) or any(
        letter not in left and letter not in output for letter in right
    ):
        return None
    if rows and columns and inner == [*columns, *rows]:
        # einsum swaps the operands where that spares it a transpose.
        rows, columns = columns, rows
    # sumproduct_pair: bmm of (batch, rows, summed) and (batch, summed, columns), viewed and permuted back.
    order = [*batch, *rows, *columns]
    dense = layout.contiguous(tuple(sizes[x] for x in order))
    by_letter = dict(zip(order, dense, strict=True))
    return tuple(by_letter[letter] for letter in output)
