"""LSTM, GRU, RNN and their cells."""

from __future__ import annotations

import ast

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.layout import Shape, Strides, contiguous
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.layers.linear import size
from tensorlint.inference.ops.modules import argument, layer
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.results import fresh, tuple_of
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import LibraryObject, Opaque, Tensor, Value

PACKED = "torch.nn.utils.rnn.PackedSequence"
_LSTM = (
    "input_size hidden_size num_layers=1 bias=True batch_first=False dropout=0.0 bidirectional=False proj_size=0 "
    "device=None dtype=None"
)
_GRU = "input_size hidden_size num_layers=1 bias=True batch_first=False dropout=0.0 bidirectional=False device=None dtype=None"
_RNN = (
    "input_size hidden_size num_layers=1 nonlinearity='tanh' bias=True batch_first=False dropout=0.0 "
    "bidirectional=False device=None dtype=None"
)


@layer("LSTM", _LSTM, "input hx=None", tensor=False)
def lstm(call: Call, obj: LibraryObject, input: Value, hx: Value) -> Value:
    return recurrent(call, obj, input, cell=True)


@layer("GRU", _GRU, "input hx=None", tensor=False)
def gru(call: Call, obj: LibraryObject, input: Value, hx: Value) -> Value:
    return recurrent(call, obj, input, cell=False)


@layer("RNN", _RNN, "input hx=None", tensor=False)
def rnn(call: Call, obj: LibraryObject, input: Value, hx: Value) -> Value:
    return recurrent(call, obj, input, cell=False)


def recurrent(call: Call, obj: LibraryObject, input: Value, cell: bool) -> Value:
    """(output, h_n) or (output, (h_n, c_n))."""
    both = arguments.truth(argument(obj, "bidirectional"))
    batch_first = arguments.truth(argument(obj, "batch_first"))
    directions: Size = S.symbol() if both is None else 2 if both else 1
    hidden = size(obj, "hidden_size")
    projected: Size = hidden
    if cell:
        narrow = values.size_of(argument(obj, "proj_size"))
        projected = hidden if narrow == 0 else S.symbol() if narrow is None else narrow
    features = S.multiply(directions, projected)
    layers = S.multiply(directions, size(obj, "num_layers"))
    output: Tensor | Opaque | LibraryObject
    given = input if isinstance(input, Tensor) else None
    dtype = given.dtype if given is not None else None
    device = given.device if given is not None else None
    state: Shape | None = None
    if isinstance(input, LibraryObject) and input.path == PACKED:
        known = {name: held for name, held in input.arguments.items() if name in ("batch", "sorted")}
        output = LibraryObject(PACKED, {**known, "features": values.number(features)}, (), {}, call.node)
        batch = values.size_of(known["batch"]) if "batch" in known else None
        state = None if batch is None else (batch,)
    elif given is None or given.shape is None:
        output = Opaque(None) if given is None and packs(call) else Tensor("torch", None, None, dtype, device)
        output.axes = {-1: features}
    elif len(given.shape) == 2:
        agree(given.shape[1], size(obj, "input_size"))
        output = fresh(call, "torch", (given.shape[0], features), dtype, device)
        state = ()
    elif len(given.shape) == 3:
        agree(given.shape[2], size(obj, "input_size"))
        output = sequence_output(call, given, features, batch_first)
        state = () if batch_first is None else (given.shape[0 if batch_first else 1],)
        if batch_first is None:
            state = (S.symbol(),)
    else:
        raise Undecided

    def last(width: Size) -> Value:
        if state is None:
            result = Tensor("torch", None, None, dtype, device)
            result.axes = {0: layers, -1: width}
            return result
        return fresh(call, "torch", (layers, *state, width), dtype, device)

    final = tuple_of([last(projected), last(hidden)]) if cell else last(hidden)
    return tuple_of([output, final])


def packs(call: Call) -> bool:
    """Whether what nobody knows may be a packed sequence, of which a packed one is made: the file speaks of them."""
    return call.interpreter is not None and "pack" in call.interpreter.file.text


def sequence_output(call: Call, given: Tensor, features: Size, batch_first: bool | None) -> Tensor:
    """The output over time. On the CPU it is computed time first, so batch_first gives a transposed view."""
    shape = given.shape or ()
    target = (shape[0], shape[1], features)
    strides: Strides | None = None
    if batch_first is False:
        strides = contiguous(target)
    elif batch_first:
        strides = (features, S.multiply(shape[0], features), 1)
    trail: tuple[tuple[ast.AST, str], ...] = ()
    if batch_first and call.node is not None:
        trail = ((call.node, "returned as a transposed view because of batch_first=True"),)
    return Tensor("torch", target, strides, given.dtype, given.device, call.node, layout_trail=trail)


@layer("LSTMCell", "input_size hidden_size bias=True device=None dtype=None", "input hx=None", tensor=False)
def lstm_cell(call: Call, obj: LibraryObject, input: Value, hx: Value) -> Value:
    state = cell_state(call, obj, input)
    return tuple_of([state, cell_state(call, obj, input)])


@layer("GRUCell", "input_size hidden_size bias=True device=None dtype=None", "input hx=None")
def gru_cell(call: Call, obj: LibraryObject, input: Value, hx: Value) -> Value:
    return cell_state(call, obj, input)


@layer("RNNCell", "input_size hidden_size bias=True nonlinearity='tanh' device=None dtype=None", "input hx=None")
def rnn_cell(call: Call, obj: LibraryObject, input: Value, hx: Value) -> Value:
    return cell_state(call, obj, input)


def cell_state(call: Call, obj: LibraryObject, input: Value) -> Tensor:
    if not isinstance(input, Tensor) or input.shape is None:
        result = Tensor("torch")
        result.axes = {-1: size(obj, "hidden_size")}
        return result
    if len(input.shape) not in (1, 2):
        raise Undecided
    agree(input.shape[-1], size(obj, "input_size"))
    return fresh(call, "torch", (*input.shape[:-1], size(obj, "hidden_size")), input.dtype, input.device)
