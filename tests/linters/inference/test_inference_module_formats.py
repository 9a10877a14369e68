"""What is known of modules that were given a memory format, and of layers' subclasses that keep the layer's constructor."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is the oracle")

from tensorlint.inference.analysis import analyse  # noqa: E402
from tensorlint.inference.hazards import ViewHazard  # noqa: E402

TEXT = (Path(__file__).parent / "data" / "module_formats.py.txt").read_text(encoding="utf-8")
PROGRAMS = dict(part.split("\n", 1) for part in TEXT.split("# --- ")[1:])
# Of what nothing is said: transposed convolutions, volumes, single images, and products with a weight of unknown layout.
OPEN = {
    "formats_of_every_convolution": {"yf", "yj", "ia"},
    "layers_that_keep_their_constructor": {"b"},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["formats_of_every_convolution", "layers_that_keep_their_constructor"])
def test_strides_are_torchs(name: str) -> None:
    source = PROGRAMS[name]
    scope: dict[str, object] = {}
    exec(source, scope)
    rows = analyse(ast.parse(source), source, shapes=True).bindings
    known = {row.name: row for row in rows if not row.column}  # not those of functions

    for each, value in scope.items():
        if not isinstance(value, torch.Tensor) or each not in known:
            continue
        row = known[each]
        if each not in OPEN[name]:
            assert row.strides is not None, each
        if row.strides is not None:
            sizes = [step for step, size in zip(value.stride(), value.shape, strict=True) if size != 1]
            said = [step for step, size in zip(row.strides, value.shape, strict=True) if size != 1]
            assert [str(step) for step in said] == [str(step) for step in sizes], each


NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.fc = nn.Linear(8 * 6 * 6, 10)

    def forward(self, x):
        x = torch.relu(self.conv(x))
        return self.fc(x.view(x.size(0), -1))

net = Net(){to}
x = torch.randn(2, 3, 8, 8)
y = net(x)
"""


@pytest.mark.host
@pytest.mark.parametrize(
    ("to", "raises"),
    [
        ("", False),
        (".to(memory_format=torch.channels_last)", True),
        (".to('cpu', memory_format=torch.channels_last).eval()", True),
        (".to(memory_format=torch.channels_last).to(memory_format=torch.contiguous_format)", False),
        ("\nif torch.cuda.device_count() > 64:\n    net.to(memory_format=torch.channels_last)", False),
    ],
)
def test_a_model_in_channels_last_flattens_what_its_convolution_gives(to: str, raises: bool) -> None:
    source = NET.replace("{to}", to)
    hazards = analyse(ast.parse(source), source).hazards
    assert [type(hazard) for hazard in hazards] == [ViewHazard] * raises
    if raises:
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            exec(source, {})
    else:
        exec(source, {})
