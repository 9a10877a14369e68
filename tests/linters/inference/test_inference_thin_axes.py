"""Axes of one element and of none, in every order: strides along them are free, and torch takes some for channels-last."""

from __future__ import annotations

import ast
import itertools
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is the oracle")

from tensorlint.inference.analysis import analyse  # noqa: E402

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
# C, H and L are the sizes of the second, the second to last and the last axis.
OPERATIONS = """
nn.Conv1d(C, 6, 1)(x) | nn.Conv1d(C, 6, 3, padding=1)(x) | nn.Conv1d(C, 6, L)(x) | nn.ConvTranspose1d(C, 6, 1)(x) | nn.BatchNorm1d(C)(x)
nn.Conv2d(C, 6, 1)(x) | nn.Conv2d(C, 6, (H, L))(x) | nn.Conv2d(C, C, 1, groups=C)(x) | nn.ConvTranspose2d(C, 6, 2, stride=2)(x)
nn.BatchNorm2d(C).eval()(x) | nn.BatchNorm2d(C)(x) | nn.InstanceNorm2d(C)(x) | nn.GroupNorm(1, C)(x) | nn.LocalResponseNorm(2)(x)
F.layer_norm(x, (L,)) | F.rms_norm(x, (L,)) | nn.Linear(L, 4)(x) | nn.Linear(L, 1)(x) | nn.LSTM(L, 4, batch_first=True)(x)[0]
nn.MaxPool1d(1)(x) | nn.AvgPool1d(1)(x) | nn.AdaptiveAvgPool1d(1)(x) | nn.AdaptiveMaxPool1d(1)(x) | nn.MaxPool2d(1)(x) | nn.AvgPool2d(1)(x)
nn.AdaptiveAvgPool2d(1)(x) | nn.AdaptiveAvgPool2d(2)(x) | nn.AdaptiveMaxPool2d(1)(x) | F.interpolate(x, scale_factor=2) | F.unfold(x, 1)
F.interpolate(x, scale_factor=2, mode='bilinear') | F.interpolate(x, size=(1, 1)) | F.pixel_shuffle(x, 1) | nn.Upsample(scale_factor=2)(x)
F.pad(x, (1, 1)) | F.pad(x, (1, 1), mode="replicate") | F.pad(x, (1, 1, 1, 1)) | F.pad(x, (-1, 1)) | F.pad(x, (0, -1)) | nn.ZeroPad2d(1)(x) | nn.ReflectionPad2d(0)(x)
x + 1 | x + x.contiguous() | x.contiguous() + x | torch.where(x > 0, x, 0) | x.relu() | F.gelu(x) | nn.PReLU()(x) | x.masked_fill(x > 0, 0)
x.softmax(1) | x.softmax(-1) | x.sum(1) | x.sum(1, keepdim=True) | x.mean((1, 2)) | x.mean((2, 3), keepdim=True) | x.amax(-1) | x.max(1)[0]
x.cumsum(1) | x.sort(1)[0] | x.topk(1, -1)[0] | x.flip(1) | x.roll(1, 1) | x.roll(3, 0) | x.tril() | F.normalize(x, dim=1)
torch.cat([x, x], 1) | torch.cat([x, x.contiguous()], 1) | torch.stack([x, x]) | torch.stack([x, x], 1) | torch.stack([x, x], -1)
torch.stack([x, x.contiguous()]) | torch.stack([x.contiguous(), x], -1) | torch.stack([x]) | x.repeat(2, *[1] * x.dim()) | x.expand(2, *x.shape)
x.clone() | x.contiguous() | x.to(torch.float64) | torch.zeros_like(x) | x.contiguous(memory_format=torch.channels_last) | x.squeeze()
x.to(memory_format=torch.channels_last) | x.flatten(1) | x.flatten(2).transpose(1, 2) | x.reshape(-1) | x.reshape(x.shape[0], -1) | x.squeeze(1)
x @ x.transpose(-1, -2) | torch.bmm(x, x.transpose(1, 2)) | F.scaled_dot_product_attention(x, x, x) | torch.einsum('bij,bkj->bik', x, x)
x[:, :1] | x[:, 1:].clone() | x[:, 0] | x[..., None] | x[:, :, ::2] | x.chunk(1, 1)[0] | x.unsqueeze(0) | x.unfold(1, 1, 1) | x.view(-1)
nn.Dropout2d()(x) | nn.Flatten()(x) | nn.Softmax2d()(x) | nn.Identity()(x) | x.permute(*range(x.dim())[::-1]) | x[1:].double() | x[:0] + 1
"""


OWN = {part.strip() for line in OPERATIONS.strip().splitlines() for part in line.split(" | ")}


def catalogue() -> Iterator[str]:
    yield from sorted(OWN)
    text = (Path(__file__).parent / "data" / "layouts.txt").read_text(encoding="utf-8")
    for line in dict.fromkeys(text.splitlines()):
        if (
            not line.startswith(("=", "#"))
            and re.search(r"\bx\b", line)
            and not re.search(r"einops|np\.|\b[a-wyz]\b", line)
        ):
            yield line


def inputs(sizes: tuple[int, int], ranks: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for rank in ranks:
        orders: Any = itertools.permutations(range(rank))
        if rank == 4:
            orders = [(0, 1, 2, 3), (0, 3, 1, 2), (3, 2, 1, 0)]
        for order in orders:
            for given in itertools.product(sizes, repeat=rank):
                yield f"torch.randn{given}.permute{order}", tuple(given[axis] for axis in order)


def wrong_claims(sizes: tuple[int, int], *ranks: int) -> tuple[list[str], int, int, set[str]]:
    """What is said and not so; how many results there were, of how many the strides were known, and what torch always refused."""
    wrong, made, known = [], 0, 0
    operations = list(catalogue())
    refused = set(OWN)  # the other file's lines are for tensors of certain sizes
    scope = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn}
    for text, shape in inputs(sizes, ranks):
        names = {"C": shape[1], "H": shape[-2], "L": shape[-1]}
        results: dict[str, tuple[str, Any]] = {}
        source = HEAD
        for number, operation in enumerate(operations):
            # Of four axes a half of the combinations: each operation sees each axis and each two of them in every size.
            if len(shape) == 4 and (number + sum(size == sizes[0] for size in shape)) % 2:
                continue
            call = re.sub(r"\b[CHL]\b", lambda name, names=names: str(names[name[0]]), operation)
            try:
                if torch.get_default_device().type != "cpu":  # an index that is out of range breaks the process there
                    with torch.device("cpu"):
                        eval(call, {**scope, "x": eval(text, scope)})
                value = eval(call, {**scope, "x": eval(text, scope)})
            except Exception:  # torch refuses it
                continue
            refused.discard(operation)
            if isinstance(value, torch.Tensor):
                results[f"y{number}"] = (call, value)
                source += f"x = {text}\ny{number} = {call}\n"
        for row in analyse(ast.parse(source), source).bindings:
            if row.name in results:
                call, value = results[row.name]
                made, known = made + 1, known + (row.strides is not None)
                if not (
                    (row.shape is None or _holds(row.shape, value.shape))
                    and row.strides in (None, value.stride())
                    and row.contiguous in (None, value.is_contiguous())
                    and row.dtype in (None, str(value.dtype)[6:])
                ):
                    wrong.append(f"x = {text}; {call}: {row}, is {tuple(value.shape)} {value.stride()}")
    return wrong, made, known, refused


def _holds(claimed: tuple[int | str, ...], real: tuple[int, ...]) -> bool:
    return len(claimed) == len(real) and all(a in ("?", b) for a, b in zip(claimed, real, strict=True))


def test_axes_of_one_element() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong, made, known, refused = wrong_claims((1, 3), 2, 3, 4)
    assert wrong == []
    assert refused == set()
    assert known > 0.8 * made > 1_000


def test_axes_without_elements() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong, made, _, _ = wrong_claims((0, 3), 2, 3)
    # A convolution without channels gives another shape than its documentation says.
    assert [line for line in wrong if not re.search(r"Conv\w+\((0|\d+, 0), |, 0\)\(x\)|\(0, 0\)\)\(x\)", line)] == []
    assert made > 1_000
