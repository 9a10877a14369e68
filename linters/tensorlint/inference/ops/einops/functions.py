"""The functions of einops: rearrange, reduce, repeat, einsum, pack and unpack."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import products
from tensorlint.inference.ops.einops.patterns import text_of
from tensorlint.inference.ops.einops.transforms import subject, transform
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.results import SPELLED, common_device, tuple_of, unranked
from tensorlint.inference.ops.table import Call, Table, Undecided, tensor
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Sequence, Tensor, Value, copy

EINOPS = Table(None, "einops")
op = EINOPS.op


@op("einops.rearrange", "tensor pattern **axes")
def rearrange(call: Call, pattern: Value, axes: dict[str, Value], **rest: Value) -> Value:
    return transform(call, subject(call, rest["tensor"]), text_of(pattern), axes, "rearrange")


@op("einops.repeat", "tensor pattern **axes")
def repeat(call: Call, pattern: Value, axes: dict[str, Value], **rest: Value) -> Value:
    return transform(call, subject(call, rest["tensor"]), text_of(pattern), axes, "repeat")


@op("einops.reduce", "tensor pattern reduction **axes")
def reduce(call: Call, pattern: Value, reduction: Value, axes: dict[str, Value], **rest: Value) -> Value:
    given = subject(call, rest["tensor"])
    if not isinstance(reduction, Const):
        result = transform(call, given, text_of(pattern), axes, "reduce")
        return copy(result, strides=None, dtype=None)
    result = transform(call, given, text_of(pattern), axes, "reduce")
    if result.dtype is not None and reduction.value in ("sum", "mean", "prod") and not result.dtype.startswith("float"):
        result.dtype = None
    if reduction.value not in ("sum", "mean", "prod", "max", "min"):
        result.strides = None
    if result.shape is not None and len(result.shape) > 1 and given.framework == "numpy":
        result.strides = None
    return result


@op("einops.einsum", "*arguments")
def einsum(call: Call, arguments: list[Value]) -> Value:
    if len(arguments) < 2:
        raise Undecided
    pattern = text_of(arguments[-1])
    items = [tensor(item) for item in arguments[:-1]]
    letters: dict[str, str] = {}
    left, arrow, right = pattern.partition("->")
    if not arrow or "(" in pattern:
        raise Undecided

    def shorten(text: str) -> str:
        short = ""
        for word in text.replace("...", " ... ").split():
            if word == "...":
                short += word
            else:
                short += letters.setdefault(word, chr(ord("a") + len(letters)) if len(letters) < 26 else "")
        return short

    terms = [shorten(term) for term in left.split(",")]
    output = shorten(right)
    if len(letters) > 26:
        raise Undecided
    shape, parts, out = products.einsum_shape(f"{','.join(terms)}->{output}", [item.shape or () for item in items])
    framework = items[0].framework
    strides = products.einsum_layout(items, parts, out, shape) if framework == "torch" else None
    dtype = products.common_dtype(call, framework, items)
    return Tensor(framework, shape, strides if shape else (), dtype, common_device(items), call.node)


@op("einops.pack", "tensors pattern", tensor=False)
def pack(call: Call, tensors: Value, pattern: Value) -> Value:
    words = text_of(pattern).split()
    if "*" not in words or not isinstance(tensors, Sequence) or not tensors.items:
        raise Undecided
    before = words.index("*")
    after = len(words) - before - 1
    items = [tensor(item) for item in tensors.items]
    packed: list[Value] = []
    total: Size = 0
    head: Shape | None = None
    tail: Shape | None = None
    for item in items:
        shape = item.shape or ()
        if len(shape) < before + after:
            raise Undecided
        middle = shape[before : len(shape) - after]
        packed.append(tuple_of(values.number(size) for size in middle))
        total = S.add(total, S.product(middle))
        front, back = shape[:before], shape[len(shape) - after :]
        head = front if head is None else tuple(map(agree, head, front))
        tail = back if tail is None else tuple(map(agree, tail, back))
    target = (*(head or ()), total, *(tail or ()))
    one = items[0]
    strides = layout.contiguous(target) if len(items) > 1 and one.framework == "torch" and len(target) < 4 else None
    dtype = one.dtype if all(item.dtype == one.dtype for item in items) else None
    result = Tensor(one.framework, target, strides, dtype, common_device(items), call.node, None, SPELLED)
    return tuple_of([result, Sequence("list", packed)])


@op("einops.unpack", "tensor packed_shapes pattern", tensor=False)
def unpack(call: Call, packed_shapes: Value, pattern: Value, **rest: Value) -> Value:
    given = tensor(rest["tensor"])
    words = text_of(pattern).split()
    shape = given.shape or ()
    if "*" not in words or len(words) != len(shape):
        raise Undecided
    if not isinstance(packed_shapes, Sequence) or packed_shapes.items is None:
        raise Undecided
    at = words.index("*")
    results: list[Value] = []
    for item in packed_shapes.items:
        sizes = values.sizes_of(item)
        if sizes is None or any(size == -1 for size in sizes):
            results.append(unranked(given.framework, given.dtype, given.device))
            continue
        middle = tuple(S.symbol() if size is None else size for size in sizes)
        results.append(
            Tensor(
                given.framework, (*shape[:at], *middle, *shape[at + 1 :]), None, given.dtype, given.device, call.node
            )
        )
    return Sequence("list", results)


@op("einops.parse_shape", "x pattern", tensor=False)
def parse_shape(call: Call, x: Value, pattern: Value) -> Value:
    given = tensor(x)
    words = text_of(pattern).split()
    if len(words) != len(given.shape or ()):
        raise Undecided
    return values.Dictionary(
        {
            word: values.number(size)
            for word, size in zip(words, given.shape or (), strict=True)
            if word not in ("_", "...")
        }
    )
