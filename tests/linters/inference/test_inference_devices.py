"""Layouts that a CPU and a GPU give differently: known where the device is, and nothing is said where it is not.

What the GPU gives was read from an H100 and an H200 under torch 2.11 (TESTS_DEVICE=cuda runs all oracles there, CONTRIBUTING.md).
"""

from __future__ import annotations

import ast

import pytest

torch = pytest.importorskip("torch", reason="torch is the oracle")

from tensorlint.inference.analysis import Binding, analyse  # noqa: E402
from tensorlint.inference.hazards import ViewHazard  # noqa: E402

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
# How the input is made on a device, and what is done with it.
DIFFERENT = [
    ("torch.randn(2, 4, 5, 6{}).to(memory_format=torch.channels_last)", "F.group_norm(x, 2)"),
    ("torch.randn(1, 1, 1, 4{}).movedim(-1, 1)", "F.group_norm(x, 1)"),
    ("torch.randn(6, 2{}).t()", "F.batch_norm(x, None, None, training=True)"),
    ("torch.randn(3, 1, 1, 2{}).movedim(-1, 1)", "F.batch_norm(x, None, None, training=True)"),
    ("torch.randn(2, 1, 1, 4{}).movedim(-1, 1)", "nn.Conv2d(4, 2, 1, padding_mode='reflect')(x)"),
    ("torch.randn(5, 5{})", "torch.linalg.eig(x)[1]"),
    ("torch.randn(2, 4, 5, 8{})", "F.scaled_dot_product_attention(x, x, x)"),
    ("torch.randn(2, 4, 5, 8{})", "F.scaled_dot_product_attention(x, x, x, dropout_p=0.3)"),
]
pytestmark = pytest.mark.host  # each program says where its tensors are


def row_of(made: str, done: str) -> Binding | None:
    source = f"{HEAD}x = {made}\ny = {done}\n"
    return next((row for row in analyse(ast.parse(source), source).bindings if row.name == "y"), None)


@pytest.mark.parametrize(("made", "done"), DIFFERENT)
def test_known_on_the_cpu_and_not_on_a_gpu(made: str, done: str) -> None:
    value = eval(done, {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "x": eval(made.format(""))})
    row = row_of(made.format(""), done)
    assert row is not None
    assert row.shape == tuple(value.shape)
    assert row.strides == value.stride()
    away = row_of(made.format(", device='cuda'"), done)
    assert away is None or away.strides is None
    source = f"{HEAD}def f(x):\n    x = {made.format(', device=x.device')}\n    y = {done}\n    return y\n"
    rows = {each.name: each for each in analyse(ast.parse(source), source).bindings}
    assert "y" not in rows or rows["y"].strides is None


# The shape differs: read from an H200 under torch 2.11.
SHAPES = [
    ("torch.randn(2, 3, 4{})", "torch.aminmax(x, keepdim=True)[1]"),
    ("torch.zeros(5, 1, 6, 0{})", "F.pixel_unshuffle(x, 2)"),
    ("torch.zeros(0, 1, 6, 4{})", "nn.PixelUnshuffle(2)(x)"),
]
ALIKE = [
    ("torch.randn(2, 3, 4{})", "torch.aminmax(x)[1]"),
    ("torch.randn(2, 3, 4{})", "torch.aminmax(x, keepdim=False)[0]"),
    ("torch.randn(2, 3, 4{})", "x.aminmax(dim=1, keepdim=True)[1]"),
    ("torch.zeros(5, 1, 6, 4{})", "F.pixel_unshuffle(x, 2)"),
]


@pytest.mark.parametrize(("made", "done", "alike"), [(*each, each in ALIKE) for each in (*SHAPES, *ALIKE)])
def test_shapes_that_differ_are_known_on_the_cpu_alone(made: str, done: str, alike: bool) -> None:
    scope = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "x": eval(made.format(", device='cpu'"))}
    real = tuple(eval(done, scope).shape)
    for where, known in (("", True), (", device='cuda'", alike), (", device=unknown", alike)):
        row = row_of(made.format(where), done)
        shape = None if row is None or row.shape is None or set(row.shape) == {"?"} else row.shape
        assert shape == (real if known else None), where


def test_the_view_after_attention() -> None:
    """`.view` of swapped heads fails after a CPU's plain kernel and is legal after one of the GPU's."""
    on = "q = torch.randn(2, 4, 5, 8{})\ny = F.scaled_dot_product_attention(q, q, q).transpose(1, 2).view(2, 5, 32)\n"
    for where, expected in (("", [ViewHazard]), (", device='cuda'", [])):
        source = HEAD + on.format(where)
        assert [type(hazard) for hazard in analyse(ast.parse(source), source).hazards] == expected
