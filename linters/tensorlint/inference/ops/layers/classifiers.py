"""Classifiers of torchvision and timm: of a batch of images they make `(n, classes)`, by a head that programs replace.

The tests make each model of the table and compare its head.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from collections.abc import Sequence as Sequence_

from tensorlint.inference import sizes as S
from tensorlint.inference.layout import contiguous
from tensorlint.inference.ops.modules import argument, layer
from tensorlint.inference.ops.results import COLUMN
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import UNKNOWN, Const, LibraryObject, Tensor, Value, size_of

TORCHVISION = "torchvision.classifier"
TIMM = "timm.classifier"

# The layers of a head: a Linear by what it takes and gives, the last one by what it takes, others by their names.
_Head = tuple[tuple[int, ...] | str, ...]
# The head of each model, and the attribute that holds it.
HEADS: dict[str, tuple[str, _Head]] = {}


def _head(names: str, attribute: str, *layers: tuple[int, ...] | str) -> None:
    HEADS.update((name, (attribute, layers)) for name in names.split())


_head("resnet18 resnet34", "fc", (512,))
_head("resnet50 resnet101 resnet152 resnext50_32x4d resnext101_32x8d resnext101_64x4d", "fc", (2048,))
_head("wide_resnet50_2 wide_resnet101_2 shufflenet_v2_x2_0", "fc", (2048,))
_head("shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5", "fc", (1024,))
_head("densenet121", "classifier", (1024,))
_head("densenet161", "classifier", (2208,))
_head("densenet169", "classifier", (1664,))
_head("densenet201", "classifier", (1920,))
_head("vgg11 vgg13 vgg16 vgg19 vgg11_bn vgg13_bn vgg16_bn vgg19_bn", "classifier",
      (25088, 4096), "ReLU", "Dropout", (4096, 4096), "ReLU", "Dropout", (4096,))  # fmt: skip
_head("alexnet", "classifier", "Dropout", (9216, 4096), "ReLU", "Dropout", (4096, 4096), "ReLU", (4096,))
_head("mobilenet_v2 efficientnet_b0 efficientnet_b1", "classifier", "Dropout", (1280,))
_head("efficientnet_v2_s efficientnet_v2_m efficientnet_v2_l", "classifier", "Dropout", (1280,))
_head("efficientnet_b2", "classifier", "Dropout", (1408,))
_head("efficientnet_b3", "classifier", "Dropout", (1536,))
_head("efficientnet_b4", "classifier", "Dropout", (1792,))
_head("efficientnet_b5", "classifier", "Dropout", (2048,))
_head("efficientnet_b6", "classifier", "Dropout", (2304,))
_head("efficientnet_b7", "classifier", "Dropout", (2560,))
_head("mobilenet_v3_large", "classifier", (960, 1280), "Hardswish", "Dropout", (1280,))
_head("mobilenet_v3_small", "classifier", (576, 1024), "Hardswish", "Dropout", (1024,))

# Arguments that leave the head as it is, but for its number of classes.
_LEAVE_THE_HEAD = frozenset({"name", "pretrained", "weights", "progress", "num_classes"})
_TIMM_LEAVES = frozenset({"model_name", "pretrained", "num_classes", "in_chans", "drop_rate", "drop_path_rate"})


def make(path: str, args: Sequence_[Value], kwargs: Mapping[str, Value], node: ast.AST | None) -> LibraryObject | None:
    """What `torchvision.models.resnet18(...)` or `timm.create_model(...)` gives, where that is a classifier known here."""
    name = path.rpartition(".")[2]
    if path.startswith("timm."):
        classes = size_of(kwargs.get("num_classes", UNKNOWN))
        if name != "create_model" or not isinstance(classes, int) or classes < 1 or not kwargs.keys() <= _TIMM_LEAVES:
            return None
        return LibraryObject(TIMM, {"num_classes": Const(classes)}, (), {}, node)
    if name == "get_model" and type(chosen := args[0] if args else kwargs.get("name")) is Const:
        name = str(chosen.value)
    if name not in HEADS or not kwargs.keys() <= _LEAVE_THE_HEAD:
        return None
    attribute, layers = HEADS[name]
    classes_given = kwargs.get("num_classes", Const(1000))
    parts: list[Value] = []
    for each in layers:
        if isinstance(each, str):
            parts.append(LibraryObject(f"torch.nn.{each}", {}, (), {}, node))
            continue
        outputs = Const(each[1]) if len(each) > 1 else classes_given
        sizes: dict[str, Value] = {"in_features": Const(each[0]), "out_features": outputs, "bias": Const(True)}
        parts.append(LibraryObject("torch.nn.Linear", sizes, (), {}, node))
    head = parts[0] if len(parts) == 1 else LibraryObject("torch.nn.Sequential", {}, tuple(parts), {}, node)
    width = next(each[0] for each in layers if isinstance(each, tuple))
    return LibraryObject(TORCHVISION, {"head": Const(attribute), "width": Const(width)}, (), {attribute: head}, node)


def _images(x: Value) -> Size:
    """How many images there are; an image without a batch is refused."""
    if not isinstance(x, Tensor) or x.shape is None:
        return S.symbol()
    if len(x.shape) != 4:
        raise Undecided
    return x.shape[0]


@layer(TORCHVISION, "head width", "x", tensor=False)
def torchvision_classifier(call: Call, obj: LibraryObject, x: Value) -> Value:
    name, width = argument(obj, "head"), size_of(argument(obj, "width"))
    head = obj.fields.get(str(name.value)) if isinstance(name, Const) else None
    if head is None or width is None or "_forward_impl" in obj.fields:
        raise Undecided
    shape = (_images(x), width)
    return call.call_value(head, [Tensor("torch", shape, contiguous(shape), None, None, call.node)])


@layer(TIMM, "num_classes", "x", tensor=False)
def timm_classifier(call: Call, obj: LibraryObject, x: Value) -> Value:
    classes = size_of(argument(obj, "num_classes"))
    if obj.fields or classes is None:
        raise Undecided
    how = f"a model of timm with num_classes={S.show(classes)}"
    marks = COLUMN if classes == 1 else frozenset()
    return Tensor("torch", (_images(x), classes), None, None, None, call.node, how, marks)
