"""Layers of torch.nn that are given what is not a new float tensor: integers, other types, other layouts, nothing at all."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from test_inference_adversaries import wrong_claims
from torch import nn

LAYERS = """
Conv2d(3, 4, 2) | Conv2d(3, 6, 3, groups=3) | ConvTranspose2d(3, 4, 2, stride=2) | MaxPool2d(2) | AvgPool2d(2) | LPPool2d(2, 2) | LPPool1d(2, 2)
AdaptiveAvgPool2d(2) | AdaptiveMaxPool2d(1) | Unfold(2) | Upsample(scale_factor=2) | ZeroPad2d(1) | ReflectionPad2d(1) | ConstantPad2d(1, 1.0)
PixelUnshuffle(2) | PixelShuffle(1) | Flatten() | Flatten(2) | Unflatten(1, (1, -1)) | BatchNorm2d(3) | GroupNorm(1, 3) | InstanceNorm2d(3)
LayerNorm(6) | RMSNorm(6) | Linear(6, 7) | Softmax2d() | Dropout2d() | ChannelShuffle(1) | GLU(3) | Conv1d(3, 4, 2) | MaxPool1d(2) | AvgPool1d(2)
ReLU() | ReLU6() | GELU() | SiLU() | Mish() | ELU() | SELU() | CELU() | LeakyReLU() | Sigmoid() | Tanh() | Softplus() | Softsign() | Hardtanh()
Hardsigmoid() | Hardswish() | LogSigmoid() | Tanhshrink() | Softshrink() | Hardshrink() | Threshold(0.1, 0.2) | Softmax(-1) | LogSoftmax(-1)
PReLU() | Dropout() | AlphaDropout() | Embedding(9, 4) | Identity() | CosineSimilarity(1) | PairwiseDistance()
"""
GIVEN = """
x.to(torch.float64) | x.to(torch.float16) | x.to(torch.bfloat16) | x.long().abs() % 9 | x > 0 | x.to(torch.complex64) | x.to(torch.uint8) | x[:0] | x[..., :0] | x.transpose(0, 1)
x.transpose(-1, -2) | x.contiguous()[:1] | x[0] | x.to(memory_format=torch.channels_last) | x.permute(0, 2, 3, 1) | x.expand_as(x) | x.unsqueeze(0)
"""


def items(text: str) -> list[str]:
    return [item.strip() for line in text.strip().splitlines() for item in line.split("|")]


@pytest.mark.parametrize("layer", items(LAYERS))
@pytest.mark.parametrize("converted", ["", ".double()", ".half()"])
def test_what_layers_give(layer: str, converted: str, tmp_path: Path) -> None:
    # A file that names other float types says nothing of the types of modules' results: these have programs of their own.
    sources = dict.fromkeys((False, True), "import torch\nfrom torch import nn\n")
    ran = 0
    for shape in ("2, 3, 7, 6", "2, 3, 6"):
        for given in items(GIVEN):
            for call in ("y = net(x)", "y = net(x, x)"):
                program = f"net = nn.{layer}{converted}\nx = torch.randn({shape})\nx = {given}\n{call}\n"
                program += "z = y + 1\nw = y.reshape(-1)\n"
                torch.manual_seed(0)
                try:
                    exec(program, {"torch": torch, "nn": nn})
                except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
                    continue
                sources["float" in given] += "torch.manual_seed(0)\n" + program
                ran += 1
    assert ran or converted or layer.startswith("Embedding")
    for source in sources.values():
        assert not wrong_claims(tmp_path / "program.py", source)
