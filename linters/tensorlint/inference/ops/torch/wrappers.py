"""Functions that return the module they are given, and the padding and packing of sequences."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.results import laid, tuple_of
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
    longest = S.symbol()
    first = arguments.flag(batch_first)
    target = (count, longest, *trailing) if first else (longest, count, *trailing)
    return laid(call, "torch", target, None, one.dtype, one.device)


@op(
    "torch.nn.utils.rnn.pack_padded_sequence torch.nn.utils.rnn.pack_sequence",
    "input lengths=None batch_first=False enforce_sorted=True",
    tensor=False,
)
def pack_padded_sequence(call: Call, input: Value, **rest: Value) -> Value:
    return LibraryObject(PACKED, {}, (), {}, call.node)


@op(
    "torch.nn.utils.rnn.pad_packed_sequence",
    "sequence batch_first=False padding_value=0.0 total_length=None",
    tensor=False,
)
def pad_packed_sequence(call: Call, sequence: Value, batch_first: Value, **rest: Value) -> Value:
    features: S.Size | None = None
    if isinstance(sequence, LibraryObject):
        features = values.size_of(sequence.arguments["features"]) if "features" in sequence.arguments else None
    lengths = Tensor("torch", (S.symbol(),), (1,), "int64", "cpu", call.node)
    if features is None:
        return tuple_of([Tensor("torch"), lengths])
    batch, time = lengths.shape[0] if lengths.shape else S.symbol(), S.symbol()
    first = arguments.flag(batch_first)
    if first:
        # Turned where the sequences were sorted, and copied into that order where they were not.
        strides = (S.symbol(), S.symbol(), 1)
        return tuple_of([laid(call, "torch", (batch, time, features), strides, None), lengths])
    return tuple_of(
        [laid(call, "torch", (time, batch, features), (S.multiply(batch, features), features, 1), None), lengths]
    )
