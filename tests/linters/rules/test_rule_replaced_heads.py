"""The heads of torchvision's and timm's classifiers, and what is said of a loss when a program puts another in their place."""

from __future__ import annotations

from typing import Any

import pytest
from rule_programs import findings

from tensorlint.inference.ops.layers.classifiers import HEADS

TOP = """
import torch
import torch.nn as nn
from torchvision import models
x, y = torch.rand(2, 3, 64, 64), torch.rand(2)
"""
LOSS = "\nloss = nn.MSELoss(reduction='none')(net(x), y)\n"

FLAGGED = {
    "a layer": "net = models.resnet18()\nnet.fc = nn.Linear(512, 1)",
    "as wide as the one before": "net = models.resnet18()\nnet.fc = nn.Linear(net.fc.in_features, 1)",
    "the last of several": "net = models.mobilenet_v2()\nnet.classifier[1] = nn.Linear(1280, 1)",
    "several layers": "net = models.densenet121()\nnet.classifier = nn.Sequential(nn.Linear(1024, 4), nn.ReLU(), nn.Linear(4, 1))",
    "so many classes": "net = models.resnet18(num_classes=1)",
    "by the model's name": "net = models.get_model('resnet18', num_classes=1)",
    "put on a device": "net = models.resnet18()\nfor p in net.parameters():\n    p.requires_grad = False\n"
    "net.fc = nn.Linear(512, 1)\nnet = net.to('cpu')\nnet.train()",
    "of a function": "def build(n=1):\n    m = models.resnet18(weights=None)\n    m.fc = nn.Linear(512, n)\n    return m\nnet = build()",
    "held by a module": "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.body = models.resnet18()\n"
    "        self.body.fc = nn.Linear(512, 1)\n    def forward(self, x):\n        return self.body(x)\nnet = Net()",
    "in front of one's own": "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.body = models.resnet18()\n"
    "        self.body.fc = nn.Identity()\n        self.head = nn.Linear(512, 1)\n    def forward(self, x):\n        return self.head(self.body(x))\nnet = Net()",
    "a copy": "import copy\nfirst = models.resnet18(num_classes=1)\nnet = copy.deepcopy(first)\nfirst.fc = nn.Linear(512, 5)",
    "timm's": "import timm\nnet = timm.create_model('resnet18', num_classes=1)",
}  # fmt: skip
OTHER = "nn.Sequential(nn.Linear(512, 1), nn.Flatten(0))"
SILENT = {
    "flattened": f"net = models.resnet18()\nnet.fc = {OTHER}",
    "squeezed by a hook": "net = models.resnet18(num_classes=1)\nnet.register_forward_hook(lambda m, i, o: o.squeeze(-1))",
    "another forward": "net = models.resnet18(num_classes=1)\nold = net.forward\nnet.forward = lambda x: old(x).squeeze(1)",
    "replaced by a function": f"def swap(m, head):\n    m.fc = head\nnet = models.resnet18(num_classes=1)\nswap(net, {OTHER})",
    "replaced by another name": f"net = models.resnet18(num_classes=1)\nsame = net.eval()\nsame.fc = {OTHER}",
    "replaced by its name's text": f"net = models.resnet18(num_classes=1)\nfor name in ['fc']:\n    setattr(net, name, {OTHER})",
    "replaced in the dictionary": f"net = models.resnet18(num_classes=1)\nnet._modules['fc'] = {OTHER}",
    "replaced as a module": f"net = models.resnet18(num_classes=1)\nnet.add_module('fc', {OTHER})",
    "where it has one": f"net = models.resnet18(num_classes=1)\nif hasattr(net, 'fc'):\n    net.fc = {OTHER}",
    "where it is of the class": f"net = models.resnet18(num_classes=1)\nif isinstance(net, models.ResNet):\n    net.fc = {OTHER}",
    "in a loop": f"for make in (models.resnet34, models.resnet18):\n    net = make(num_classes=1)\n    net.fc = {OTHER}",
    "of each in a list": f"nets = [models.resnet18(num_classes=1) for _ in range(2)]\nfor each in nets:\n    each.fc = {OTHER}\nnet = nets[0]",
    "longer than it was": "net = models.vgg11()\nnet.classifier[6] = nn.Linear(4096, 1)\nnet.classifier.append(nn.Flatten(0))",
    "outside of the module that holds it": "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.body = models.resnet18(num_classes=1)\n    def forward(self, x):\n        return nn.functional.mse_loss(self.body(x), y)\n"
    f"net = Net()\nnet.body.fc = {OTHER}\nnet(x)\nnet = net.body",
    "by a method": "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.body = models.resnet18(num_classes=1)\n"
    "    def put(self, head):\n        self.body.fc = head\n    def forward(self, x):\n        return nn.functional.mse_loss(self.body(x), y)\n"
    f"net = Net()\nnet.put({OTHER})\nnet(x)\nnet = net.body",
    "timm's, reset": "import timm\nnet = timm.create_model('resnet18', num_classes=1)\nnet.reset_classifier(2)\ny = torch.rand(2, 2)",
}  # fmt: skip


def codes(source: str) -> list[str]:
    return [finding.code for finding in findings(source)]


def run(source: str) -> Any:
    pytest.importorskip("torchvision", reason="the models are torchvision's")
    if "timm" in source:
        pytest.importorskip("timm", reason="the model is timm's")
    scope: dict[str, Any] = {}
    exec(source, scope)
    return scope["loss"]


def y_shape(name: str) -> tuple[int, ...]:
    return (2, 2) if "reset" in name else (2,)


@pytest.mark.parametrize("name", FLAGGED)
def test_a_head_of_one_output_makes_a_column(name: str) -> None:
    assert codes(TOP + FLAGGED[name] + LOSS) == ["TSR112"]


@pytest.mark.parametrize("name", SILENT)
def test_another_head_is_left_alone(name: str) -> None:
    assert codes(TOP + SILENT[name] + LOSS) == []


@pytest.mark.parametrize("name", FLAGGED)
@pytest.mark.filterwarnings("ignore")
def test_the_loss_compares_each_with_each(name: str) -> None:
    assert run(TOP + FLAGGED[name] + LOSS).shape == (2, 2)


@pytest.mark.parametrize("name", SILENT)
@pytest.mark.filterwarnings("ignore")
def test_the_loss_is_one_of_items(name: str) -> None:
    assert run(TOP + SILENT[name] + LOSS).shape == y_shape(name)


def test_the_message_names_the_layer_that_made_the_column() -> None:
    (finding,) = findings(TOP + FLAGGED["a layer"] + LOSS)
    assert "net(x) (2, 1) and y (2,)" in finding.message
    assert "nn.Linear(512, 1)" in " ".join(each.message for each in finding.evidence)


@pytest.mark.parametrize("name", HEADS)
def test_the_head_is_that_of_the_model(name: str) -> None:
    torch = pytest.importorskip("torch")
    models = pytest.importorskip("torchvision.models", reason="the models are the oracle")
    attribute, layers = HEADS[name]
    with torch.device("meta"):
        model = getattr(models, name)().eval()
        head = getattr(model, attribute)
        parts = list(head) if isinstance(head, torch.nn.Sequential) else [head]
        assert isinstance(head, torch.nn.Sequential) == (len(layers) > 1)
        assert model(torch.zeros(3, 3, 64, 64)).shape == (3, 1000)
    for part, layer in zip(parts, layers, strict=True):
        if isinstance(layer, str):
            assert type(part).__name__ == layer
        else:
            assert (part.in_features, part.out_features) == (layer if len(layer) > 1 else (*layer, 1000))
