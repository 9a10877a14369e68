"""einops: rearrange, reduce, repeat, einsum, pack and unpack, done as einops does them: reshape, transpose, reduce, reshape."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import products, reshaping
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.results import REDUCTION, SPELLED, common_device, tuple_of, unranked
from tensorlint.inference.ops.table import Call, Table, Undecided, tensor
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Sequence, Tensor, Value, copy

EINOPS = Table(None, "einops")
op = EINOPS.op

Axis = str | int
Group = tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """Both sides as groups of axes; an integer is an anonymous axis, "..." the ellipsis."""

    left: tuple[Group, ...]
    right: tuple[Group, ...]


@lru_cache(maxsize=512)
def parse(text: str) -> Pattern | None:
    left, arrow, right = text.partition("->")
    if not arrow:
        return None
    first, second = _side(left), _side(right)
    return None if first is None or second is None else Pattern(first, second)


def _side(text: str) -> tuple[Group, ...] | None:
    groups: list[Group] = []
    inside: list[Axis] | None = None
    for word in text.replace("(", " ( ").replace(")", " ) ").replace("…", "...").replace("...", " ... ").split():
        if word == "(":
            if inside is not None:
                return None
            inside = []
        elif word == ")":
            if inside is None:
                return None
            groups.append(tuple(inside))
            inside = None
        else:
            axis: Axis = word
            if word.isdigit():
                axis = int(word)
            elif word != "..." and not word.isidentifier():
                return None
            if inside is not None:
                if axis != 1:
                    inside.append(axis)
            else:
                groups.append(() if axis == 1 else (axis,))
    return None if inside is not None else tuple(groups)


def text_of(value: Value) -> str:
    if isinstance(value, Const) and isinstance(value.value, str):
        return value.value
    raise Undecided


class _Axes:
    """Sizes by axis name while a pattern is matched against a shape."""

    def __init__(self, lengths: dict[str, Value]) -> None:
        self.sizes: dict[Axis, Size] = {}
        for name, value in lengths.items():
            size = values.size_of(value)
            self.sizes[name] = S.symbol() if size is None else size
        self.given = set(self.sizes)

    def match(self, groups: tuple[Group, ...], shape: Shape) -> tuple[list[Group], list[Axis]]:
        """The groups with the ellipsis spelled out as axes of its own, and those axes."""
        spread: list[Axis] = []
        names: list[Group] = []
        plain = sum("..." not in group for group in groups)
        for group in groups:
            if "..." in group:
                extra = len(shape) - plain if group == ("...",) else 0
                if group != ("...",) or extra < 0:
                    raise Undecided
                spread = [f"...{number}" for number in range(extra)]
                names.extend((axis,) for axis in spread)
            else:
                names.append(group)
        if len(names) != len(shape):
            raise Undecided
        for group, size in zip(names, shape, strict=True):
            self._fit(group, size)
        return names, spread

    def _fit(self, group: Group, size: Size) -> None:
        if not group:
            if isinstance(size, int) and size != 1:
                raise Undecided
            return
        unknown = [axis for axis in group if isinstance(axis, str) and axis not in self.sizes]
        known: Size = 1
        for axis in group:
            if isinstance(axis, int):
                known = S.multiply(known, axis)
            elif axis in self.sizes:
                known = S.multiply(known, self.sizes[axis])
        if not unknown:
            if isinstance(size, int) and isinstance(known, int):
                if size != known:
                    raise Undecided
            elif len(group) == 1 and isinstance(group[0], str):
                self.sizes[group[0]] = agree(size, known)
            return
        if len(unknown) > 1:
            raise Undecided
        (name,) = unknown
        if known == 1:
            self.sizes[name] = size
            return
        (self.sizes[name],) = reshaping.resolve((size,), (-1, known))[:1]

    def size(self, axis: Axis) -> Size:
        if isinstance(axis, int):
            return axis
        if axis not in self.sizes:
            raise Undecided
        return self.sizes[axis]

    def product(self, group: Group) -> Size:
        return reshaping.merged(S.product([self.size(axis) for axis in group]))


def subject(call: Call, given: Value) -> Tensor:
    """The tensor of the call; a list of tensors is stacked along a new first axis."""
    if isinstance(given, Tensor):
        return given
    if isinstance(given, Sequence) and given.items:
        items = [tensor(item) for item in given.items]
        shape = items[0].shape or ()
        for item in items[1:]:
            if len(item.shape or ()) != len(shape):
                raise Undecided
            shape = tuple(map(agree, shape, item.shape or ()))
        target = (len(items), *shape)
        strides = layout.contiguous(target) if items[0].framework == "torch" else None
        return Tensor(items[0].framework, target, strides, items[0].dtype, common_device(items), call.node)
    if isinstance(given, Sequence) and given.items is None and isinstance(given.element, Tensor):
        element = tensor(given.element)
        if any(atom.variant for size in element.shape or () for atom in S.symbols(size)):
            raise Undecided
        length = given.length if given.length is not None else S.symbol()
        return copy(element, shape=(length, *(element.shape or ())), strides=None)
    raise Undecided


def _reshape(given: Tensor, target: Shape) -> Tensor:
    if given.framework == "numpy":
        strides = layout.contiguous(target) if given.contiguous is True else None
    elif given.framework == "torch":
        strides = reshaping.reshape(given, target)
    else:
        strides = None
    return copy(given, shape=target, strides=strides)


def _permute(given: Tensor, order: list[int]) -> Tensor:
    shape, strides = given.shape or (), given.strides
    return copy(
        given,
        shape=tuple(shape[axis] for axis in order),
        strides=None if strides is None else tuple(strides[axis] for axis in order),
    )


def transform(call: Call, given: Tensor, pattern: str, lengths: dict[str, Value], kind: str) -> Tensor:
    """`kind` is rearrange, repeat or reduce."""
    parsed = parse(pattern)
    if parsed is None:
        raise Undecided
    axes = _Axes(lengths)
    if given.shape is None:
        return _unranked(call, given, parsed, axes)
    left, spread = axes.match(parsed.left, given.shape)
    right: list[Group] = []
    for group in parsed.right:
        if group == ("...",):
            right.extend((axis,) for axis in spread)
        elif "..." in group:
            right.append(tuple(one for axis in group for one in (spread if axis == "..." else [axis])))
        else:
            right.append(group)
    numbered = 0
    flat_left = []
    for group in left:
        for axis in group:
            flat_left.append(axis if isinstance(axis, str) else f"#{numbered}")
            if not isinstance(axis, str):
                axes.sizes[f"#{numbered}"] = axis
                numbered += 1
    flat_right: list[Axis] = []
    for group in right:
        for axis in group:
            if isinstance(axis, int):
                flat_right.append(f"+{len(flat_right)}")
                axes.sizes[flat_right[-1]] = axis
            else:
                flat_right.append(axis)
    if len(set(flat_left)) != len(flat_left) or len(set(flat_right)) != len(flat_right):
        raise Undecided
    gone = [axis for axis in flat_left if axis not in flat_right]
    new = [axis for axis in flat_right if axis not in flat_left]
    if (gone and kind != "reduce") or (new and kind != "repeat"):
        raise Undecided
    target = tuple(axes.product(group) for group in right)
    work = given
    # einops reshapes where a group has another number of axes than one.
    if any(len(group) != 1 for group in left):
        work = _reshape(given, tuple(axes.size(axis) for axis in flat_left))
    order = [axis for axis in flat_right if axis in flat_left] + gone
    work = _permute(work, [flat_left.index(axis) for axis in order])
    if gone:
        kept = (work.shape or ())[: len(order) - len(gone)]
        work = copy(
            work,
            shape=kept,
            strides=layout.contiguous(kept) if given.framework == "torch" or given.contiguous else None,
        )
    for axis in new:
        at = flat_right.index(axis)
        shape, strides = work.shape or (), work.strides
        size = axes.size(axis)
        widened = (*shape[:at], size, *shape[at:])
        stretched: Strides | None = None
        if given.framework == "torch" and strides is not None and size != 1:
            stretched = (*strides[:at], 0, *strides[at:])
        elif strides is not None and size == 1:
            following = S.multiply(shape[at], strides[at]) if at < len(shape) else 1
            stretched = (*strides[:at], following, *strides[at:]) if given.framework == "torch" else None
        work = copy(work, shape=widened, strides=stretched)
    if new and given.framework == "numpy":
        work = copy(work, strides=None)
    if any(len(group) != 1 for group in right):
        work = _reshape(work, target)
    marks = SPELLED
    trail = given.layout_trail
    if work.strides != given.strides and call.node is not None and work.contiguous is not True:
        trail = (*trail[-3:], (call.node, kind + "d" if kind != "rearrange" else "rearranged"))
    result = Tensor(
        given.framework,
        target,
        work.strides,
        given.dtype,
        given.device,
        call.node,
        f"{kind}({pattern!r})",
        marks,
        layout_trail=trail,
    )
    if kind == "reduce" and gone and target == ():
        result.marks = REDUCTION
    return result


def _unranked(call: Call, given: Tensor, parsed: Pattern, axes: _Axes) -> Tensor:
    """The pattern gives the rank, and the sizes it was told."""
    if any("..." in group for group in parsed.left) or any("..." in group for group in parsed.right):
        return unranked(given.framework, given.dtype, given.device)
    known = given.axes or {}
    axes.match(parsed.left, tuple(known[place] if place in known else S.symbol() for place in range(len(parsed.left))))
    target = tuple(axes.product(group) for group in parsed.right)
    return Tensor(given.framework, target, None, given.dtype, given.device, call.node, None, SPELLED)


def _named(name: str) -> str:
    return name.rpartition(".")[2]


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
