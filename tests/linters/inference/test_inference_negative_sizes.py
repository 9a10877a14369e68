"""Sizes that are negative: the library stops there, and so no tensor has one; a list that is repeated so often is empty."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")
pytest.importorskip("numpy")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """\
import numpy as np
import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import nn
x = torch.zeros(4, 6)
v = torch.zeros(3)
im = torch.zeros(1, 2, 5, 5)
n = -1
a = np.zeros((4, 6))
w = np.zeros(3)
"""
# What each of these makes is `r`.
EXPRESSIONS = """\
x.repeat(2, -1)
v.repeat(-1)
v.repeat(-1, 3)
v.tile(-1)
v.tile((-1, 2))
torch.tile(v, (-2,))
np.tile(w, -1)
np.tile(w, (-1, 2))
torch.zeros(-1)
torch.zeros(n, 2)
torch.ones((2, -3))
torch.full((-1,), 0.)
torch.empty(-2)
torch.rand(-1)
torch.randn(-1, 2)
torch.randint(3, (-1,))
torch.randperm(-1)
torch.eye(-1)
torch.eye(2, -1)
torch.arange(-3)
torch.arange(5, 2)
torch.linspace(0, 1, -1)
torch.logspace(0, 1, -1)
torch.tril_indices(-1, 3)
torch.triu_indices(3, -2)
x.new_zeros(-1)
x.new_zeros((2, -1))
x.new_full((2, -1), 1.)
x.expand(-2, 4, 6)
x.expand(-1, -1, 4, 6)
torch.broadcast_to(v, (-1, 3))
x.narrow(0, 0, -1)
x.unfold(0, 9, 1)
x.unfold(0, -1, 1)
F.pad(v, (-3, -1))
F.pad(x, (-5, -2))
F.pad(im, (-5, -2, 0, 0), mode='reflect')
F.conv2d(im, torch.zeros(3, 2, 9, 9))
F.conv_transpose2d(im, torch.zeros(2, 3, 1, 1), padding=4)
nn.Conv2d(2, 3, 9)(im)
nn.MaxPool2d(9)(im)
nn.AvgPool2d(9)(im)
nn.ConvTranspose2d(2, 3, 1, padding=4)(im)
nn.Unfold(9)(im)
nn.ZeroPad2d(-4)(im)
nn.ConstantPad1d(-4, 0)(v)
nn.ReflectionPad2d(-4)(im)
F.max_pool2d(im, 9)
F.avg_pool2d(im, 9)
F.unfold(im, 9)
F.interpolate(im, scale_factor=-1)
F.interpolate(im, size=-3)
nn.Upsample(size=-3)(im)
nn.Upsample(scale_factor=-2)(im)
F.adaptive_avg_pool2d(im, -1)
nn.AdaptiveAvgPool2d(-2)(im)
F.one_hot(torch.zeros(3).long(), -2)
v.repeat_interleave(-1)
x.repeat_interleave(-2, dim=1)
torch.repeat_interleave(v, -1)
np.repeat(w, -1)
np.repeat(a, -1, axis=1)
x.unflatten(1, (-2, -3))
x.unflatten(1, (-1, -3))
x.reshape(-2, 12)
x.view(-4, -6)
x.reshape(-4, -1)
a.reshape(-4, -6)
a.reshape(-2, 12)
np.zeros(-1)
np.ones((2, -1))
np.empty(-2)
np.full(-1, 2.)
np.arange(-4)
np.linspace(0, 1, -1)
np.eye(-1)
np.identity(-2)
np.tri(-2)
np.random.rand(-1)
np.random.randn(2, -1)
np.random.randint(0, 3, size=-1)
np.random.normal(size=-2)
np.random.default_rng().normal(size=(-1, 2))
np.random.permutation(-1)
np.pad(w, -1)
np.broadcast_to(w, (-1, 3))
np.resize(w, -3)
np.resize(a, (2, -3))
np.bincount(np.array([1, 2]), minlength=-1)
torch.bincount(torch.tensor([1, 2]), minlength=-1)
torch.hann_window(-1)
np.hanning(-3)
np.split(a, -2)
x.split(-2)
x.chunk(-1)
torch.diag_embed(v, offset=-7)
torch.diagonal(x, offset=-9)
x.diagonal(9)
np.diagonal(a, offset=9)
np.diag(w, -2)
torch.diag(v, -2)
np.diff(w, n=9)
torch.diff(v, n=9)
torch.combinations(v, 9)
np.fft.rfft(w, -3)
torch.fft.rfft(v, -3)
torch.fft.irfft(v, -3)
nn.Embedding(3, -4)(torch.zeros(2).long())
nn.Linear(6, -2)(x)
nn.LSTM(6, -2)(x)[0]
nn.Conv1d(6, -2, 1)(x)
nn.Parameter(torch.zeros(-2))
torch.as_strided(x, (-1,), (1,))
torch.empty_strided((-1,), (1,))
torch.nn.init.zeros_(torch.empty(-3))
torch.tensor([0] * -3)
np.array([1] * -2)
torch.stack([v] * -1)
torch.sparse_coo_tensor(size=(-1, 2))
torch.vander(v, -1)
np.vander(w, -2)
torch.histc(v, bins=-2)
torch.histogram(v, -2)[0]
np.histogram(w, -2)[0]
np.lib.stride_tricks.sliding_window_view(w, 9)
np.convolve(w, np.zeros(0))
torch.movedim(x, 0, -9)
F.fold(torch.zeros(1, 8, 4), -3, 2)
torch.stft(v, -4)
F.pixel_shuffle(im, -1)
F.glu(v)
np.interp(np.zeros(-1), w, w)
torch.kaiser_window(-2)
torch.bartlett_window(-2)
np.kaiser(-2, 1.)
torch.nn.utils.rnn.pad_sequence([v] * -1)
np.meshgrid(np.arange(-1), w)[0]
np.indices((-1, 2))
np.tril_indices(-2)[0]
x[5:-3]
a[3:1]
x[:, 9:-9]
torch.normal(0., 1., (-1,))
x.new_empty(-3)
x.new_ones(-3, 2)
torch.zeros_like(v[:-5])
np.random.choice(3, -1)
np.random.choice(3, size=(-1, 2))
torch.multinomial(v + 1, -1)
v.topk(-1)[0]
torch.topk(v, -1).values
np.partition(w, 9)
x.resize_(-1)
torch.Tensor(-1)
torch.Tensor(2, -3)
torch.FloatTensor(-1, 2)
torch.LongTensor(-3)
np.ndarray((-1, 2))
np.ndarray(-3)
np.lib.stride_tricks.as_strided(w, (-1,), (8,))
torch.svd_lowrank(x, -1)[0]
np.polyfit(w, w, -2)
np.delete(w, slice(-9))
np.insert(w, 1, [])
torch.cdist(x, x[:-9])
np.array_split(w, -1)
torch.tensor_split(v, -1)
F.max_unpool1d(im[0], im[0].long(), 2, padding=9)
nn.MultiheadAttention(6, -2)(x, x, x)[0]
nn.Bilinear(6, 6, -2)(x, x)
nn.LazyLinear(-2)(x)
nn.PixelShuffle(-1)(im)
nn.LPPool2d(2, 9)(im)
""".splitlines()
STATEMENTS = """\
l = nn.Linear(6, -2); r = l.weight
l = nn.Embedding(-2, 3); r = l.weight
l = nn.LayerNorm(-3); r = l.weight
l = nn.BatchNorm1d(-3); r = l.running_mean
l = nn.Conv1d(6, -3, 1); r = l.weight
l = nn.LSTM(6, -2); r = l.weight_ih_l0
r = x; r.resize_(-3)
r = a; r.resize(-3)
r = a; r.shape = (-2, -12)
r = a; r.shape = (-4, -6)
r = x; r.data = torch.zeros(-3)
r = repeat(v, 'a -> (n a)', n=-1)
r = repeat(v, 'a -> n a', n=-1)
r = rearrange(v, '(a b) -> a b', a=-1)
r = rearrange(v, '(a b) -> a b', a=-3, b=-1)
r = torch.zeros(*(-1, 2))
r = torch.zeros(len([0] * -2))
r = torch.zeros(len(range(-3)))
r = torch.zeros(len('ab') - 5)
r = x[:, :3 - 9]
r = x[-9:-7]
r = torch.stack([v for _ in range(-3)])
r = torch.nn.functional.pad(v, [-2, -2]).sum()
r = x.sum(-9)
r = torch.zeros(2, 3).expand(-1, 3)
r = torch.zeros(2, 3).expand(-1, -3)
r = torch.empty(2, 0 - 1).T
r = torch.nn.Parameter(torch.empty(2, -1))
r = torch.zeros((2, 3, -1)[1:])
r = torch.zeros(x.shape[0] - 7)
r = torch.zeros(x.shape[0] - x.shape[1])
r = np.zeros((x.shape[0] - x.shape[1],))
r = [torch.zeros(-1), torch.zeros(3)][1]
r = x.view(x.shape[0] - 5, -24)
r = torch.zeros(int(-2.5))
r = torch.zeros(-7 // 2)
r = torch.zeros(round(-2.4))
r = np.zeros(tuple([-1, 3]))
r = torch.zeros(torch.Size([-1, 3]))
r = torch.cat([x, torch.zeros(-2, 6)])
r = torch.zeros(-2, 6) + x
r = torch.zeros(-4, 6).view(6, 4)
r = torch.zeros(-4, -6) @ x.T
r = torch.einsum('ij,jk', torch.zeros(-1, 4), x)
r = torch.zeros(4 - 9).unsqueeze(0)
""".splitlines()


@pytest.mark.parametrize("made", [*(f"r = {each}" for each in EXPRESSIONS), *STATEMENTS])
def test_no_tensor_has_a_negative_size(made: str) -> None:
    pytest.importorskip("einops")
    source = f"{HEAD}{made}\nitems = r[2:5]\nfirst = r.shape[0]\nflat = r.reshape(-1)\nturned = r.T\n"
    failures: list[Exception] = []
    shapes = {row.name: row.shape for row in analyse(ast.parse(source), source, failures=failures).bindings}
    assert failures == []
    assert not any(isinstance(size, int) and size < 0 for shape in shapes.values() for size in shape or ())
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(f"{HEAD}{made}", names)
        except Exception:
            return  # the library stops there
    known = shapes.get("r")
    real = getattr(names["r"], "shape", None)
    if known is not None and real is not None:
        assert len(known) == len(real)
        assert all(size == there for size, there in zip(known, real, strict=True) if isinstance(size, int))


def test_a_list_that_is_repeated_less_than_once_is_empty(tmp_path: Path) -> None:
    counts = ["n - 5", "2 - n", "-n", "len(xs) - 1", "len(xs) - n", "-3", "n // 4 - 1", "2 * n - 9", "min(n, 2) - 3"]
    kinds = ["[0] * ({})", "({}) * [1.]", "(1.,) * ({})", "[[1, 2]] * ({})", "[0.] * ({}) + [1.]"]
    lines = [
        line
        for kind in kinds
        for count in counts
        for line in (f"a = torch.tensor({kind.format(count)})", f"b = np.array({kind.format(count)})", f"c = torch.zeros(len({kind.format(count)}))")
    ]  # fmt: skip
    source = (
        "import random\nimport numpy as np\nimport torch\n\n\ndef go(n, xs):\n"
        + "".join(f"    {line}\n" for line in lines)
        + "\n\nfor n in (1, 2, 3, 5, 8):\n    for xs in ([], [1], [1, 2, 3]):\n"
        "        go(random.choice([n]), random.choice([xs]))\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


def test_a_list_is_as_long_as_often_it_is_repeated() -> None:
    source = "import torch\n\n\ndef go(n, xs):\n    a = torch.zeros(len([0] * n))\n    b = torch.zeros(len([0] * (n + 2)))\n    c = torch.zeros(len([0] * 3))\n"
    shapes = {row.name: row.shape and tuple(map(str, row.shape)) for row in analyse(ast.parse(source), source).bindings}
    assert shapes == {"a": ("n",), "b": ("n + 2",), "c": ("3",)}
