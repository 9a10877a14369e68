"""Functions that return the module they are given, and the padding and packing of sequences."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.results import laid, seen, tuple_of
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.ops.torch.joining import members, uniform
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.values import Library, LibraryObject, Sequence, Tensor, Value

PACKED = "torch.nn.utils.rnn.PackedSequence"


@op(
    "torch.nn.utils.weight_norm torch.nn.utils.spectral_norm torch.nn.utils.remove_weight_norm "
    "torch.nn.utils.remove_spectral_norm torch.nn.utils.orthogonal torch.nn.utils.parametrizations.weight_norm "
    "torch.nn.utils.parametrizations.spectral_norm torch.nn.utils.parametrizations.orthogonal torch.compile "
    "torch.jit.script",
    "module *args **rest",
    tensor=False,
)
def wrapped(call: Call, module: Value, **rest: object) -> Value:
    if isinstance(module, (Library, Tensor)):
        raise Undecided
    return module


@op("torch.nn.Parameter torch.nn.parameter.Parameter", "data requires_grad=True")
def parameter(call: Call, data: Value, requires_grad: Value) -> Value:
    if not isinstance(data, Tensor):
        raise Undecided
    return data


@op("torch.nn.Buffer torch.nn.parameter.Buffer", "data=None / persistent=True")
def buffer(call: Call, data: Value, persistent: Value) -> Value:
    """The tensor itself, which the module keeps."""
    if not isinstance(data, Tensor):
        raise Undecided
    return data


@op("torch.utils.data.random_split", "dataset lengths generator=None", tensor=False)
def random_split(call: Call, dataset: Value, lengths: Value, generator: Value) -> Value:
    """Parts of a data set: their samples are the data set's."""
    if not isinstance(lengths, Sequence) or lengths.items is None:
        raise Undecided
    return Sequence(
        "list",
        [LibraryObject("torch.utils.data.Subset", {}, (), {"dataset": dataset}, call.node) for _ in lengths.items],
    )


def _several() -> S.Size:
    """How many sequences are packed, and how long the longest is: as a rule neither 0 nor 1, as of a batch."""
    return S.of_symbol(S.Symbol(None, plural=True))


@op("torch.nn.utils.rnn.pad_sequence", "sequences batch_first=False padding_value=0.0 padding_side='right'")
def pad_sequence(call: Call, sequences: Value, batch_first: Value, **rest: Value) -> Value:
    length: S.Size | None
    if isinstance(sequences, Sequence) and sequences.items is None:
        shape, one, length = uniform(sequences)
        trailing: Shape = shape[1:]
    else:
        items = members(sequences)
        one, length = items[0], len(items)
        if one.shape is None:
            raise Undecided
        trailing = one.shape[1:]
    if not one.shape:
        raise Undecided
    if any(atom.variant for size in trailing for atom in S.symbols(size)):
        raise Undecided
    count = S.symbol() if length is None else length
    longest = _several()
    first = arguments.flag(batch_first)
    target = (count, longest, *trailing) if first else (longest, count, *trailing)
    return laid(call, "torch", target, layout.contiguous(target), one.dtype, one.device)


@op(
    "torch.nn.utils.rnn.pack_padded_sequence",
    "input lengths=None batch_first=False enforce_sorted=True",
    tensor=False,
)
def pack_padded_sequence(call: Call, input: Value, batch_first: Value, enforce_sorted: Value, **rest: Value) -> Value:
    shape = input.shape if isinstance(input, Tensor) else None
    first = arguments.truth(batch_first)
    batch = shape[0 if first else 1] if shape is not None and len(shape) > 1 and first is not None else None
    return _packed(call, batch, enforce_sorted)


@op("torch.nn.utils.rnn.pack_sequence", "sequences enforce_sorted=True", tensor=False)
def pack_sequence(call: Call, sequences: Value, enforce_sorted: Value) -> Value:
    count = len(sequences.items) if isinstance(sequences, Sequence) and sequences.items is not None else None
    return _packed(call, count, enforce_sorted)


def _packed(call: Call, batch: S.Size | None, enforce_sorted: Value) -> Value:
    known = {"sorted": enforce_sorted} | ({} if batch is None else {"batch": values.number(batch)})
    return LibraryObject(PACKED, known, (), {}, call.node)


@op(
    "torch.nn.utils.rnn.pad_packed_sequence",
    "sequence batch_first=False padding_value=0.0 total_length=None",
    tensor=False,
)
def pad_packed_sequence(call: Call, sequence: Value, batch_first: Value, total_length: Value, **rest: Value) -> Value:
    known = sequence.arguments if isinstance(sequence, LibraryObject) else {}
    features = values.size_of(known["features"]) if "features" in known else None
    batch = values.size_of(known["batch"]) if "batch" in known else None
    if batch is None:
        batch = _several()
    lengths = Tensor("torch", (batch,), (1,), "int64", "cpu", call.node)
    if features is None:
        return tuple_of([Tensor("torch"), lengths])
    time = values.size_of(total_length)
    if time is None:
        time = _several()
    padded = laid(call, "torch", (time, batch, features), layout.contiguous((time, batch, features)), None)
    if arguments.flag(batch_first):
        # Turned where the sequences were sorted, and copied into that order where they were not.
        in_order = arguments.truth(known.get("sorted", values.UNKNOWN))
        turned = seen(call, padded, (batch, time, features), (features, S.multiply(batch, features), 1))
        if in_order is None:
            turned.strides = None
        elif in_order and call.node is not None:
            turned.layout_trail = ((call.node, "returned as a transposed view because of batch_first=True"),)
        else:
            turned.strides = layout.contiguous(turned.shape or ())
        padded = turned
    return tuple_of([padded, lengths])
