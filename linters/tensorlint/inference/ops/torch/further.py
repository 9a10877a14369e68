"""Less common functions of torch: sets, windows over time, old constructors, initialisation."""

from __future__ import annotations

import ast

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.broadcasting import broadcast, tell_any
from tensorlint.inference.ops.elementwise import elementwise, unary_of
from tensorlint.inference.ops.results import fresh, laid, tuple_of, unplaced, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.creation import created, from_literal
from tensorlint.inference.ops.torch.joining import pieces, unknown_pieces
from tensorlint.inference.ops.torch.linear_algebra import matrices
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import NONE, Const, Sequence, Tensor, Value, copy

_SPECIAL = """torch.special.airy_ai torch.special.bessel_j0 torch.special.bessel_j1 torch.special.bessel_y0
    torch.special.bessel_y1 torch.special.modified_bessel_i0 torch.special.modified_bessel_i1
    torch.special.modified_bessel_k0 torch.special.modified_bessel_k1 torch.special.scaled_modified_bessel_k0
    torch.special.scaled_modified_bessel_k1 torch.special.spherical_bessel_j0 torch.special.erfcx"""


@op(_SPECIAL, "input / out=None")
def special(call: Call, input: Value, out: Value) -> Value:
    return unary_of(call, input, kind="float", framework="torch")


@op("igamma igammac torch.special.gammainc torch.special.gammaincc", "input other / out=None")
def igamma(call: Call, input: Value, other: Value, out: Value) -> Value:
    result = elementwise(call, [input, other], framework="torch")
    if isinstance(result, Tensor) and not dtypes.is_floating(result.dtype):
        result.dtype = None
    return result


@op("polygamma torch.special.polygamma", "input n / out=None")
def polygamma(call: Call, input: Value, n: Value, out: Value) -> Value:
    """The function takes the order first, which may be a tensor too; the method is the other's."""
    function = call.name.startswith("torch.")
    given = n if isinstance(n, Tensor) and (function or not isinstance(input, Tensor)) else input
    return unary_of(call, tensor(given), kind="float", framework="torch")


@op("torch.isin", "elements test_elements / assume_unique=False invert=False")
def isin(call: Call, elements: Value, **rest: Value) -> Value:
    ranked = tensor(elements)
    return unplaced(call, "torch", ranked.shape or (), "bool", ranked.device)


@op("dist", "input other p=2")
def dist(call: Call, input: Value, **rest: Value) -> Value:
    ranked = tensor(input)
    other = rest["other"]
    name = ranked.dtype if isinstance(other, Tensor) and other.dtype == ranked.dtype else None
    if isinstance(other, Tensor) and ranked.shape and other.shape:
        tell_any(call, "torch.dist", [ranked, other], broadcast(ranked.shape, other.shape))
    return Tensor("torch", (), (), name if dtypes.is_floating(name) else None, ranked.device, call.node)


@op("renorm", "input p dim maxnorm / out=None")
def renorm(call: Call, input: Value, **rest: Value) -> Value:
    return copy(tensor(input), strides=None)


@op("torch.block_diag", "*tensors")
def block_diag(call: Call, tensors: list[Value]) -> Value:
    rows: Size = 0
    columns: Size = 0
    names = set()
    if not tensors:
        raise Undecided  # of one row and no column
    for item in tensors:
        shape = tensor(item).shape or ()
        if len(shape) > 2:
            raise Undecided
        rows = S.add(rows, shape[0] if len(shape) == 2 else 1)
        columns = S.add(columns, shape[-1] if shape else 1)
        names.add(tensor(item).dtype)
    return fresh(call, "torch", (rows, columns), names.pop() if len(names) == 1 else None)


@op("diagflat", "input offset=0")
def diagflat(call: Call, input: Value, offset: Value) -> Value:
    ranked = tensor(input)
    size = S.add(S.product(ranked.shape or ()), abs(arguments.whole(offset)))
    return fresh(call, "torch", (size, size), ranked.dtype, ranked.device)


@op("hsplit vsplit dsplit", "input split=None / sections=None indices=None indices_or_sections=None", tensor=False)
def hsplit(
    call: Call, input: Value, split: Value, sections: Value, indices: Value, indices_or_sections: Value
) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    given = next((one for one in (split, sections, indices, indices_or_sections) if not values.is_none(one)), NONE)
    least = {"hsplit": 1, "vsplit": 2, "dsplit": 3}[call.name.rpartition(".")[2]]
    if len(shape) < least:
        raise Undecided
    at = {1: 0 if len(shape) == 1 else 1, 2: 0, 3: 2}[least]
    number, total = values.integer(given), shape[at]
    if number is not None and number > 0:
        exact = S.divide_exactly(total, number)
        if exact is not None and number <= 256:
            return pieces(call, ranked, at, [exact] * number)
    if isinstance(given, Sequence) and given.items is not None and isinstance(total, int):
        cuts = [arguments.whole(item) for item in given.items]
        starts, ends = [0, *cuts], [*cuts, total]
        return pieces(
            call, ranked, at, [len(range(*slice(a, b).indices(total))) for a, b in zip(starts, ends, strict=True)]
        )
    return unknown_pieces(call, ranked, at)


@op("torch.trapezoid torch.trapz", "y x=None / dx=None dim=-1")
def trapezoid(call: Call, y: Value, x: Value, dx: Value, dim: Value) -> Value:
    ranked = tensor(y)
    shape = ranked.shape or ()
    if not values.is_none(x):
        other = tensor(x).shape or ()
        if len(other) > 1 and other != shape:
            raise Undecided
    at = arguments.axis(dim, len(shape))
    name = ranked.dtype if values.is_none(x) else dtypes.torch_result([ranked, x], call.default_dtype)
    name = name if dtypes.is_floating(name) else None
    return unplaced(call, "torch", (*shape[:at], *shape[at + 1 :]), name, ranked.device)


@op("cov corrcoef", "input / correction=1 fweights=None aweights=None")
def cov(call: Call, input: Value, **rest: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    plain = all(values.is_none(rest[weights]) for weights in ("fweights", "aweights") if weights in rest)
    name = ranked.dtype if plain and dtypes.is_floating(ranked.dtype) else None
    if len(shape) != 2 or not S.surely_not_one(shape[0]):
        raise Undecided
    return unplaced(call, "torch", (shape[0], shape[0]), name, ranked.device)


@op("torch.stft .stft", "input n_fft hop_length=None win_length=None window=None center=True pad_mode='reflect' "
    "normalized=False onesided=None return_complex=None align_to_window=None")  # fmt: skip
def stft(call: Call, input: Value, n_fft: Value, hop_length: Value, center: Value, onesided: Value,
         return_complex: Value, **rest: Value) -> Value:  # fmt: skip
    ranked = tensor(input)
    shape = ranked.shape or ()
    width = arguments.count(n_fft)
    if len(shape) not in (1, 2) or not arguments.truth(return_complex) or not values.is_none(onesided):
        raise Undecided
    if not dtypes.is_floating(ranked.dtype):
        raise Undecided
    half, quarter = S.floor_divide(width, 2), S.floor_divide(width, 4)
    hop = quarter if values.is_none(hop_length) else arguments.count(hop_length)
    if half is None or hop is None or not values.is_none(rest["align_to_window"]):
        raise Undecided
    span = S.add(shape[-1], S.multiply(2, half)) if arguments.flag(center) else shape[-1]
    frames = S.floor_divide(S.subtract(span, width), hop)
    if frames is None:
        raise Undecided
    bins, frames = S.add(half, 1), S.add(frames, 1)
    target = (*shape[:-1], bins, frames)
    # The transforms of the frames lie one behind the other, and are turned.
    in_order = ranked.in_order and S.surely_not_one(frames)
    strides = (*((S.multiply(bins, frames),) if len(shape) == 2 else ()), 1, bins) if in_order else None
    return laid(call, "torch", target, strides, dtypes.complex_of(ranked.dtype), ranked.device)


@op("cholesky_solve linalg.solve_triangular", "input other *args / upper=False left=True unitriangular=False out=None")
def solve_triangular(call: Call, input: Value, other: Value, **rest: object) -> Value:
    a, b = tensor(input), tensor(other)
    if len(a.shape or ()) != 2 or len(b.shape or ()) != 2:
        raise Undecided
    right = a if call.name.endswith("cholesky_solve") else b
    return unplaced(call, "torch", right.shape or (), right.dtype, right.device)


@op("linalg.lstsq", "input B rcond=None / driver=None", tensor=False)
def lstsq(call: Call, input: Value, B: Value, **rest: Value) -> Value:
    ranked, batch, _, columns = matrices(call, input)
    right = tensor(B).shape or ()
    if batch or len(right) != 2:
        raise Undecided
    solution = unplaced(call, "torch", (columns, right[1]), ranked.dtype, ranked.device)
    return tuple_of([solution, unranked("torch"), unranked("torch"), unranked("torch")])


@op("torch.vander linalg.vander", "x N=None increasing=False")
def vander(call: Call, x: Value, N: Value, increasing: Value) -> Value:
    ranked = tensor(x)
    shape = ranked.shape or ()
    if not shape:
        raise Undecided
    columns = shape[-1] if values.is_none(N) else arguments.count(N)
    return unplaced(call, "torch", (*shape, columns), None, ranked.device)


@op("torch.scalar_tensor", "s / dtype=None device=None layout=None pin_memory=False")
def scalar_tensor(call: Call, dtype: Value, **rest: Value) -> Value:
    name = call.default_dtype if values.is_none(dtype) else dtypes.named(dtype, "torch")
    return Tensor("torch", (), (), name, None, call.node)


@op("torch.empty_strided", "size stride / dtype=None device=None layout=None requires_grad=False pin_memory=False")
def empty_strided(call: Call, size: Value, stride: Value, dtype: Value, **rest: Value) -> Value:
    name = call.default_dtype if values.is_none(dtype) else dtypes.named(dtype, "torch")
    strides = arguments.shape([stride])
    return laid(call, "torch", arguments.shape([size]), None if -1 in strides else strides, name)


# Constructors of old code: `torch.FloatTensor(2, 3)` and `torch.LongTensor([1, 2])`.

_OLD = "Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor ShortTensor ByteTensor CharTensor BoolTensor"


def _is_data(call: Call, given: Sequence) -> bool:
    """Whether the items become elements: of a `torch.Size`, which a tuple may be, an empty tensor of that shape is made."""
    written = call.node.args if isinstance(call.node, ast.Call) else []
    if given.kind != "tuple":
        return given.kind == "list"
    # A size has whole numbers; of one with so many axes each is known.
    items = given.items if given.items is not None else [given.element]
    return (
        (written != [] and isinstance(written[0], ast.Tuple))
        or any(_is_no_size(item) for item in items)
        or (given.items is None and given.length is not None and given.kin is None and not given.tail)
    )


def _is_no_size(value: Value) -> bool:
    """Whether it cannot be the length of an axis."""
    if isinstance(value, Const):
        return isinstance(value.value, (float, bool))
    return (isinstance(value, values.Scalar) and value.kind in ("float", "bool", "complex")) or isinstance(
        value, Sequence
    )


@op(
    " ".join(f"torch.{name} torch.cuda.{name}" for name in _OLD.split()),
    "*args / device=None",
)
def old_constructor(call: Call, args: list[Value], device: Value) -> Value:
    name = call.name.rpartition(".")[2]
    dtype = call.default_dtype if name == "Tensor" else dtypes.named(values.Library(f"torch.{name}"), "torch")
    where = "cuda" if "cuda" in call.name else call.default_device
    if not args:
        return created(call, (0,), dtype, where)
    if len(args) == 1 and not isinstance(args[0], (Const, values.Number)):
        if isinstance(args[0], Sequence) and args[0].shape_of is None and _is_data(call, args[0]):
            made = from_literal(call, args[0], NONE, NONE)
            return copy(made, dtype=dtype, device=where) if isinstance(made, Tensor) else made
        if isinstance(args[0], Tensor) and args[0].framework == "torch":
            # The same memory, and of the same type: `torch.Tensor` takes every type as it is, the others only their own.
            return copy(args[0])
        if isinstance(args[0], Tensor) and args[0].shape and args[0].framework == "numpy":  # without axes it is a size
            return laid(call, "torch", args[0].shape, None, dtype, where, how=args[0].how, marks=args[0].marks)
        return unranked("torch", dtype, where)
    if not all(isinstance(arg, (Const, values.Number, values.Scalar, values.Opaque)) for arg in args):
        return unranked("torch", dtype, where)
    return created(call, tuple(arguments.count(arg) for arg in args), dtype, where)


# Initialisation returns the tensor it was given.

_INITIALISERS = """uniform_ normal_ constant_ ones_ zeros_ eye_ dirac_ xavier_uniform_ xavier_normal_ kaiming_uniform_
    kaiming_normal_ trunc_normal_ orthogonal_ sparse_"""


@op(" ".join(f"torch.nn.init.{name}" for name in _INITIALISERS.split()), "tensor *args **rest")
def initialised(call: Call, **bound: object) -> Value:
    given = bound["tensor"]
    if isinstance(given, Tensor):
        return given
    raise Undecided


@op("torch.nn.utils.clip_grad_norm_ torch.nn.utils.get_total_norm", "parameters *args **rest")
def total_norm(call: Call, **bound: object) -> Value:
    return Tensor("torch", (), (), None, None, call.node)


@op("torch.autograd.Variable", "data requires_grad=False volatile=False")
def variable(call: Call, data: Value, **rest: object) -> Value:
    return tensor(data)


@op("torch.autograd.grad", "outputs inputs *args / allow_unused=None **rest", tensor=False)
def grad(call: Call, inputs: Value, allow_unused: Value, **bound: object) -> Value:
    if not values.is_none(allow_unused) and arguments.truth(allow_unused) is not False:
        raise Undecided
    items = inputs.items if isinstance(inputs, Sequence) else [inputs]
    if items is None:
        raise Undecided
    found: list[Value] = []
    for item in items:
        given = tensor(item)
        # The gradient of a sum is one number, expanded.
        found.append(
            Tensor("torch", given.shape, () if given.shape == () else None, given.dtype, given.device, call.node)
        )
    return tuple_of(found)


@op(".backward .register_hook", "input *args **rest", tensor=False)
def nothing(call: Call, **bound: object) -> Value:
    return NONE if call.name == "backward" else values.UNKNOWN
