"""Layouts of einsum, stft and one-dimensional pools for whatever layout they are given, as torch gives them."""

from __future__ import annotations

import ast
import itertools
from typing import Any

import pytest
from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

TOP = "import torch\nimport torch.nn.functional as F\nfrom torch import nn, einsum\n\n"
GIVEN = {
    "in order": "torch.randn(2, 3, 4, 6)",
    "turned": "torch.randn(2, 4, 3, 6).transpose(1, 2)",
    "channels-last": "torch.randn(2, 4, 6, 3).permute(0, 3, 1, 2)",
    "a part": "torch.randn(2, 3, 5, 8)[:, :, 1:, ::2][..., :4].expand(2, 3, 4, 4).repeat(1, 1, 1, 2)[..., :6]",
    "expanded": "torch.randn(2, 3, 4, 1).expand(-1, -1, -1, 6)",
}
EQUATIONS = ["bhqd,bhkd->bhqk", "b h q d, b h k d -> b h q k", "bhqd,bhkd->bqhk", "bhqd,bhkd->hbkq", "bhqd,bhqe->bhde"]
SERIES = {
    "in order": "torch.randn(2, 3, 8)",
    "turned": "torch.randn(2, 8, 3).transpose(1, 2)",
    "batch behind": "torch.randn(3, 2, 8).transpose(0, 1)",
    "a part": "torch.randn(2, 3, 9)[:, :, 1:]",
}
POOLS = [
    "F.avg_pool1d(x, 2)", "F.avg_pool1d(x, 2, 1)", "F.adaptive_avg_pool1d(x, 4)", "nn.AvgPool1d(2)(x)",
    "nn.AdaptiveAvgPool1d(3)(x)",
]  # fmt: skip


def strides(code: str, name: str) -> Any:
    return next((row.strides for row in analyse(ast.parse(code), code).bindings if row.name == name), None)


def torchs(code: str, name: str) -> Any:
    scope: dict[str, Any] = {}
    exec(code, scope)
    return scope[name].stride()


@pytest.mark.parametrize(("first", "second"), itertools.product(GIVEN, GIVEN))
def test_einsum_gives_its_layout_whatever_the_operands(first: str, second: str) -> None:
    pytest.importorskip("torch")
    for equation in EQUATIONS:
        code = f"{TOP}a, b = {GIVEN[first]}, {GIVEN[second]}\nc = einsum('{equation}', a, b)\n"
        assert strides(code, "c") == torchs(code, "c"), equation


@pytest.mark.parametrize("given", SERIES)
@pytest.mark.parametrize("pool", POOLS)
def test_a_pool_of_a_series_is_one_of_an_image_of_a_row(given: str, pool: str) -> None:
    pytest.importorskip("torch")
    code = f"{TOP}x = {SERIES[given]}\ny = {pool}\n"
    assert strides(code, "y") == torchs(code, "y")


@pytest.mark.parametrize("size", ["400,", "2, 400"])
@pytest.mark.parametrize("more", ["", ", center=False", ", hop_length=7", ", normalized=True"])
def test_frames_of_a_spectrogram_lie_one_behind_the_other(size: str, more: str) -> None:
    pytest.importorskip("torch")
    code = (
        f"{TOP}x = torch.randn({size})\nw = torch.hann_window(64)\n"
        f"s = torch.stft(x, 64, window=w, return_complex=True{more})\nm = s.abs()\nt = m.transpose(-1, -2)\n"
    )
    assert strides(code, "s") == torchs(code, "s")
    assert strides(code, "m") == torchs(code, "m")
    assert strides(code, "t") == torchs(code, "t")


def test_what_decides_the_layout_is_not_known(tmp_path: Any) -> None:
    pytest.importorskip("torch")
    code = TOP + (
        "x = torch.randn(400, 2).t()\nw = torch.hann_window(16)\ns = torch.stft(x, 16, window=w, return_complex=True)\n"
        "one = torch.stft(torch.randn(2, 16), 16, 1000, window=w, return_complex=True)\n"
        "thin = F.avg_pool1d(torch.randn(2, 8, 1).transpose(1, 2), 2)\n"
        "single = F.adaptive_avg_pool1d(torch.randn(2, 8, 3).transpose(1, 2), 1)\n"
    )
    assert [strides(code, name) for name in ("one", "thin", "single")] == [None, None, None]
    assert not wrong_claims(tmp_path / "program.py", code)
