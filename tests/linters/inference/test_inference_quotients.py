"""Sizes that are quotients: `2 * (n // 2)` is n only where the program has relied on it, as by a view that needs it."""

import ast
import itertools
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("einops")

import torch
import torch.nn.functional as F
from einops import rearrange
from test_inference_adversaries import wrong_claims
from torch import nn

from tensorlint.inference.analysis import analyse

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\nfrom einops import rearrange\n"
MADE = [
    "x = torch.randn(n, 2, m)[::2]",
    "x = torch.randn(n, m, 4)[:, ::3]",
    "x = F.max_pool1d(torch.randn(2, n, m), 2)",
    "x = torch.randn(n // 2, 3, m // 2)",
    "x = torch.randn(n, 3, m).chunk(2)[0]",
    "x = torch.randn(n, m, 2).narrow(1, 0, m // 2)",
    "x = torch.randn(2, n, m).unfold(2, 2, 2)",
    "x = torch.randn(3, n, m)[..., : n // 2]",
    "x = F.avg_pool2d(torch.randn(2, 3, n, m), 2)",
    "x = torch.arange(n * m * 2)[::4].view(-1, 1, 1)",
    "x = torch.randn(2 * n, m)[: n // 3 + 1].unsqueeze(1)",
    "x = nn.Conv1d(2, 4, 3, stride=2)(torch.randn(3, 2, n + m))",
]
VIEWED = [
    "y = x",
    "y = x.reshape(x.shape[0], -1, 1)",
    "y = x.reshape(-1, x.shape[-1])",
    "y = x.unsqueeze(0)",
    "y = x.flatten(0, 1)",
    "y = x.transpose(0, 1)",
    "y = x.reshape(2, -1)",
    "y = x.reshape(-1, 2, 1)",
    "y = x.contiguous().view(-1)",
]
REPEATED = [
    "z = torch.cat([y, y])",
    "z = torch.cat([y, y, y], -1)",
    "z = torch.stack([y, y]).flatten(0, 1)",
    "z = y.repeat_interleave(2, 0)",
    "z = y.repeat(2, *[1] * (y.dim() - 1))",
    "z = y.tile(2)",
    "z = torch.cat([y, y[:1]])",
    "z = y.expand(2, *y.shape).reshape(-1, y.shape[-1])",
]
USED = [
    "w = z.flatten()",
    "w = z.reshape(-1)",
    "w = z.reshape(n, -1)",
    "w = z.reshape(-1, 2)",
    "w = z.reshape(2, -1).flatten()",
    "w = z.flatten(0, -1)[::2]",
    "w = rearrange(z, 'a ... -> (a ...)')",
    "w = z.view(-1, z.shape[-1])",
    "w = z.reshape(z.shape[0] // 2, 2, -1).flatten(0, 1)",
    "w = z.reshape(z.shape[0], -1).T.reshape(-1, 2)",
    "w = torch.zeros(z.shape[0] // 2 * 2, z.shape[-1] // 2)",
]
SIZES = [(5, 7), (6, 8), (9, 4), (7, 6)]


def runs(lines: tuple[str, ...], n: int, m: int) -> bool:
    names = {"torch": torch, "F": F, "nn": nn, "rearrange": rearrange, "n": n, "m": m}
    try:
        exec("\n".join(lines), names)
    except (RuntimeError, IndexError):
        return False
    return True


@pytest.mark.parametrize(("made", "repeated"), itertools.product(range(len(MADE)), range(len(REPEATED))))
def test_a_quotient_is_what_it_comes_to(made: int, repeated: int, tmp_path: Path) -> None:
    source, ran = HEAD, 0
    for at, (viewed, used) in enumerate(itertools.product(VIEWED, USED)):
        if (at + repeated) % 5:
            continue
        lines = (MADE[made], viewed, REPEATED[repeated], used, "q = torch.cat([w, w]).flatten()")
        given = [sizes for sizes in SIZES if runs(lines, *sizes)]
        body = "".join(f"    {line}\n" for line in lines)
        source += f"def f{at}(n, m):\n{body}" + "".join(f"f{at}{sizes}\n" for sizes in given)
        ran += len(given)
    assert ran
    assert not wrong_claims(tmp_path / "program.py", source)


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("y = torch.randn(n, h, c // h).view(n, c).view(n, h, -1).flatten(1)", ("n", "c")),
        ("y = torch.randn(n, c).view(n, h, c // h).transpose(0, 1).flatten(1)", ("h", "n*(c//h)")),
        ("y = torch.randn(n, c).view(n, h, c // h).flatten(1)", ("n", "c")),
        ("y = torch.randn(n, c).view(n, h, -1).repeat(2, 1, 1).flatten(1)", ("2*n", "c")),
        ("y = torch.randn(n, h, c // h).flatten(1)", ("n", "h*(c//h)")),
        ("y = torch.randn(n, c)[::2].repeat(2, 1).flatten()", ("2*c*((n + 1)//2)",)),
    ],
)
def test_what_a_view_relies_on_is_read_as_the_whole(line: str, shape: tuple[str, ...]) -> None:
    source = f"import torch\n\ndef go(n, c, h):\n    {line}\n"
    (row,) = analyse(ast.parse(source), source).bindings
    assert row.shape == shape
