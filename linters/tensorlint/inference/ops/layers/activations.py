"""Activations, dropout and softmax."""

from __future__ import annotations

from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.elementwise import unary_of
from tensorlint.inference.ops.modules import argument, layer
from tensorlint.inference.ops.table import Call
from tensorlint.inference.ops.torch import activations, reductions
from tensorlint.inference.values import FALSE, NONE, Const, LibraryObject, Value

_SAME = """ReLU ReLU6 GELU SiLU Mish ELU SELU CELU LeakyReLU RReLU Hardswish Hardsigmoid Hardtanh Softplus Hardshrink
    Softshrink Threshold LogSigmoid"""
_FLOAT = "Sigmoid Tanh Softsign Tanhshrink"


@layer(_SAME, "*args **rest")
def activation(call: Call, obj: LibraryObject, input: Value) -> Value:
    result = unary_of(call, input, kind="same", framework="torch")
    given = obj.arguments.get("rest")
    inplace: Value = FALSE
    if isinstance(given, dict):
        inplace = given.get("inplace", FALSE)
    # A positional argument may be the slope or `inplace`.
    certain = None if obj.arguments.get("args") else arguments.truth(inplace)
    if certain:
        call.report("in_place", tensor=input)
    return activations.settled(obj.path.rpartition(".")[2], result, input, certain)


@layer(_FLOAT, "*args **rest")
def floating(call: Call, obj: LibraryObject, input: Value) -> Value:
    return unary_of(call, input, kind="float", framework="torch")


@layer("PReLU", "num_parameters=1 init=0.25 device=None dtype=None")
def prelu(call: Call, obj: LibraryObject, input: Value) -> Value:
    return activations.prelu(call, input, NONE)


@layer("GLU", "dim=-1")
def glu(call: Call, obj: LibraryObject, input: Value) -> Value:
    return activations.glu(call, input, argument(obj, "dim"))


@layer("Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout", "p=0.5 inplace=False")
def dropout(call: Call, obj: LibraryObject, input: Value) -> Value:
    return activations.dropped(call, input)


@layer("Softmax LogSoftmax Softmin", "dim=None")
def softmax(call: Call, obj: LibraryObject, input: Value) -> Value:
    return reductions.softmax(call, input, dtype=NONE, _stacklevel=Const(3))


@layer("Softmax2d", "")
def softmax2d(call: Call, obj: LibraryObject, input: Value) -> Value:
    return reductions.softmax(call, input, dtype=NONE, _stacklevel=Const(3))
