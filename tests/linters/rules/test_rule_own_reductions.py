"""A tensor that meets a reduction of itself with an axis too many, found where the library makes it larger, and nowhere else."""

from __future__ import annotations

import re

import pytest
from rule_programs import findings, run

TOP = (
    "import numpy as np\nimport torch\n\nx, a, s = torch.rand(2, 5), np.random.rand(16, 5), torch.rand(4, 6, 8)\n"
    "q = torch.rand(4, 3, 6, 6)\n"
)
WRONG = {
    "a view by a name": "m = x.mean(1).view(2, 1, 1)\ny = x - m\n",
    "in the expression": "y = x - x.mean(1).view(-1, 1, 1)\n",
    "of numpy": "y = a / np.linalg.norm(a, axis=1).reshape(-1, 1, 1)\n",
    "an index": "y = a / a.sum(axis=1)[:, None, None]\n",
    "kept and asked for again": "y = a - np.mean(a, axis=1, keepdims=True)[..., None]\n",
    "kept and unsqueezed": "y = s - s.mean(dim=(1, 2), keepdim=True).unsqueeze(-1)\n",
    "the values of a pair": "m = s.view(4, -1).max(1)[0].view(4, 1, 1, 1)\ny = s / m\n",
    "a small number beside it": "d = a.std(1)[:, None, None]\ny = a / (d + 1e-8)\n",
    "no less than": "d = x.norm(dim=1).clamp(min=1e-8)\ny = x / d[:, None, None]\n",
    "two too many": "y = x - x.amax(1).view(2, 1, 1, 1)\n",
    "the other way round": "d = 1 / x.sum(1).view(2, 1, 1)\ny = d * x\n",
    "images without a channel": "def scale(img):\n    b, h, w = img.shape\n    low = img.reshape(b, -1).min(1).values.view(b, 1, 1, 1)\n"
    "    return img - low\n\n\nx = s\ny = scale(s)\n",
    "reduced to a number": "m = x.mean(1).view(2, 1, 1)\ny = x - m\nloss = ((x - m) ** 2).mean()\n",
}
RIGHT = {
    "as many axes": "y = x - x.mean(1).view(2, 1)\n",
    "images with a channel": "y = q - q.view(4, -1).mean(1).view(4, 1, 1, 1)\n",
    "both axes of three": "y = s - s.mean((1, 2))[:, None, None]\n",
    "the tensor has the axis too": "y = x[None] - x.mean(1)[:, None, None]\n",
    "of another one": "y = x * torch.rand(2, 9).sum(1).view(2, 1, 1)\n",
    "the first axis went": "y = x[:, None] - x.mean(0)\n",
    "no reduction": "y = x + x[:, 0].view(2, 1, 1)\n",
    "each with each": "y = torch.stack([x - m for m in x.mean(1).view(2, 1, 1)])\n",
}


MASKS = {
    "a padding mask of one head": "mask = (pad == 0).view(4, 1, 1, 5)\ns = q @ k.transpose(1, 2)\ny = s.masked_fill(mask, -1e9)\n",
    "added": "mask = torch.zeros(4, 1, 1, 5)\ny = torch.bmm(q, k.transpose(1, 2)) + mask\n",
    "where the batch has a name": "def f(s, pad):\n    b, t = pad.shape\n    return s.view(b, t, t) * pad.view(b, 1, 1, t)\n\n\ny = f(torch.rand(4, 5, 5), pad)\n",
}
NO_MASKS = {
    "several heads": "mask = (pad == 0).view(4, 1, 1, 5)\ns = (q @ k.transpose(1, 2)).view(4, 1, 5, 5)\ny = s.masked_fill(mask, -1e9)\n",
    "as many axes": "y = q @ k.transpose(1, 2) + torch.zeros(4, 1, 5)\n",
    "a bias of the heads": "def f(bias, pad):\n    h = bias.shape[0]\n    b, t = pad.shape\n    return bias.view(h, t, t) + pad.view(b, 1, 1, t)\n\n\n"
    "y = f(torch.rand(4, 5, 5), pad)\n",
    "each with each": "def f(x):\n    n, t, c = x.shape\n    return x.view(n, 1, t, c) - x\n\n\ny = f(q)\n",
    "sizes that happen to be equal": "y = torch.rand(4, 5, 5) + torch.rand(4, 1, 1, 5)\n",
}


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_has_an_axis_too_many(name: str) -> None:
    code = f"{TOP}q, k, pad = torch.rand(4, 5, 8), torch.rand(4, 5, 8), torch.ones(4, 5)\n{MASKS[name]}"
    assert ["each sample meets that of each other sample" in each.message for each in findings(code)] == [True]
    assert tuple(run(code)["y"].shape) == (4, 4, 5, 5)


FACTORS = {
    "images' axes beside rows": "y = torch.rand(6)[:, None, None, None] * torch.rand(6, 2)\n",
    "of numpy": "y = np.random.rand(6, 2) + np.random.rand(6).reshape(-1, 1, 1, 1)\n",
    "by a name": "def f(x, t):\n    std = t.sqrt()[:, None, None, None]\n    return x + std * torch.randn_like(x)\n\n\ny = f(torch.rand(6, 2), torch.rand(6))\n",
}
GRIDS = {
    "a range": "y = torch.arange(6.0)[:, None, None, None] * torch.rand(6, 2)\n",
    "a grid of vectors": "y = torch.rand(6)[:, None, None] + torch.rand(6)\n",
    "as many axes": "y = torch.rand(6)[:, None, None, None] * torch.rand(6, 2, 3, 3)\n",
    "another length": "y = torch.rand(5)[:, None, None, None] * torch.rand(6, 2)\n",
    "steps of a path": "y = torch.rand(3).view(-1, 1, 1, 1) * torch.rand(3, 8, 8)\n",
}


# Factors that are made as long as the batch they meet.
AS_LONG = {
    "by size": "lam = torch.rand(s.size(0), 1, 1, 1)\ny = lam * s\n",
    "by len": "y = np.random.rand(len(m), 1, 1, 1) * m\n",
    "by shape, in steps": "keep = (torch.rand(s.shape[0]) > 0.5).float()\nmask = keep.view(-1, 1, 1, 1)\ny = s * mask\n",
    "in a function": "def mixup(x):\n    lam = torch.from_numpy(np.random.beta(1, 1, size=(x.size(0), 1, 1, 1))).float()\n"
    "    return lam * x\n\n\ny = mixup(s)\n",
}
NOT_AS_LONG = {
    "images with a channel": "y = torch.rand(q.size(0), 1, 1, 1) * q\n",
    "of another one": "y = torch.rand(q.size(0), 1, 1, 1) * s\n",
    "of another axis": "y = torch.rand(s.size(1), 1, 1, 1) * s\n",
    "each with each": "y = s.view(len(s), 1, 6, 8) - s\n",
    "bound anew": "n = len(s)\ns = torch.rand(4, 5, 5)\ny = torch.rand(4, 1, 1, 1) * s\n",
}


@pytest.mark.parametrize("name", AS_LONG)
def test_a_factor_as_long_as_the_batch(name: str) -> None:
    code = f"{TOP}m = np.random.rand(4, 6, 8)\n{AS_LONG[name]}"
    assert [".squeeze(1)" in each.message and "lines them up" in each.message for each in findings(code)] == [True]
    assert tuple(run(code)["y"].shape) == (4, 4, 6, 8)


@pytest.mark.parametrize("name", NOT_AS_LONG)
def test_a_factor_that_is_no_batch(name: str) -> None:
    assert findings(TOP + NOT_AS_LONG[name]) == []
    run(TOP + NOT_AS_LONG[name])


@pytest.mark.parametrize("name", FACTORS)
def test_a_factor_has_axes_too_many(name: str) -> None:
    found = findings(TOP + FACTORS[name])
    assert ["axes too many behind the first" in each.message and "[..., 0, 0]" in each.message for each in found] == [
        True
    ]
    assert tuple(run(TOP + FACTORS[name])["y"].shape) == (6, 1, 6, 2)


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_is_left_alone(name: str) -> None:
    assert findings(TOP + GRIDS[name]) == []
    run(TOP + GRIDS[name])


@pytest.mark.parametrize("name", NO_MASKS)
def test_a_mask_that_may_be_meant_is_left_alone(name: str) -> None:
    code = f"{TOP}q, k, pad = torch.rand(4, 5, 8), torch.rand(4, 5, 8), torch.ones(4, 5)\n{NO_MASKS[name]}"
    assert findings(code) == []
    run(code)


@pytest.mark.parametrize("name", WRONG)
def test_each_row_meets_the_reduction_of_each_other_row(name: str) -> None:
    code = TOP + WRONG[name]
    found = findings(code)
    assert found
    assert all("lines them up" in each.message and each.code in ("TSR111", "TSR112") for each in found)
    scope = run(code)
    whole = next(scope[each] for each in ("x", "a", "s") if re.search(rf"\b{each}\b", WRONG[name]))
    assert scope["y"].ndim > whole.ndim
    assert max(scope["y"].shape[: scope["y"].ndim - whole.ndim]) == whole.shape[0]


def test_the_advice_lines_them_up() -> None:
    (found,) = findings(f"{TOP}m = x.mean(1).view(2, 1, 1)\ny = x - m\n")
    assert "m.squeeze(-1) lines them up" in found.message
    scope = run(f"{TOP}m = x.mean(1).view(2, 1, 1)\ny = x - m.squeeze(-1)\n")
    assert bool((scope["y"] - (scope["x"] - scope["x"].mean(1, keepdim=True))).abs().max() < 1e-6)


@pytest.mark.parametrize("name", RIGHT)
def test_what_lines_up_or_is_of_another_is_left_alone(name: str) -> None:
    assert findings(TOP + RIGHT[name]) == []
    run(TOP + RIGHT[name])
