"""Indices and layouts in many combinations: every shape and stride that is claimed is what torch and numpy give."""

from __future__ import annotations

import ast
import itertools
import random
import re
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from tensorlint.inference.analysis import analyse

HEAD = "import numpy as np\nimport torch\ni, j = torch.tensor([0, 1]), torch.tensor([[1], [0]])\na, b = np.array([0, 1]), np.array([[1], [0]])\n"


def compare(lines: list[str]) -> tuple[list[str], int, int, int]:
    """Run `name = ...` lines, those that run, and compare: what is wrong, how many, with shape, with strides."""
    scope: dict[str, Any] = {}
    exec(HEAD, scope)
    kept: list[str] = []
    for line in lines:
        try:
            exec(line, scope)
        except (IndexError, ValueError, RuntimeError, TypeError):
            continue
        kept.append(line)
    source = HEAD + "\n".join(kept) + "\n"
    wrong: list[str] = []
    ranked = laid = 0
    for row in analyse(ast.parse(source), source).bindings:
        value = scope[row.name]
        if row.line < 5 or not hasattr(value, "shape"):
            continue
        strides = (
            value.stride() if row.framework == "torch" else tuple(step // value.itemsize for step in value.strides)
        )
        place = (
            f"{kept[row.line - HEAD.count(chr(10)) - 1]}: {row.shape} {row.strides}, is {tuple(value.shape)} {strides}"
        )
        if row.shape is not None:
            ranked += 1
            if len(row.shape) != len(value.shape) or any(
                claim not in ("?", size) for claim, size in zip(row.shape, value.shape, strict=True)
            ):
                wrong.append(place)
        if row.strides is not None:
            laid += 1
            # The stride of an axis of size 1 means nothing in numpy, which leaves it as it comes.
            if any(
                claim not in ("?", stride) and (row.framework == "torch" or size > 1)
                for claim, stride, size in zip(row.strides, strides, value.shape, strict=True)
            ):
                wrong.append(place)
    return wrong, len(kept), ranked, laid


@pytest.mark.parametrize("framework", ["torch", "numpy"])
@pytest.mark.parametrize("made", ["{new}(2, 3, 4, 5)", "{new}(5, 4, 3, 2).{turn}"])
def test_every_combination_of_indices(framework: str, made: str) -> None:
    arrays = ["i", "j"] if framework == "torch" else ["a", "b"]
    turn = "permute(3, 2, 1, 0)" if framework == "torch" else "transpose(3, 2, 1, 0)"
    new = "torch.randn" if framework == "torch" else "np.random.rand"
    choices = [":", "0", "-1", "1:", "::2", "None", "...", *arrays]
    chance = random.Random(3)
    combinations = [
        *((one,) for one in choices),
        *itertools.product(choices, repeat=2),
        *itertools.product(choices, repeat=3),
        *chance.sample(list(itertools.product(choices, repeat=4)), 800),
    ]
    lines = [f"x = {made.format(new=new, turn=turn)}"]
    lines += [f"y{at} = x[{', '.join(parts)}]" for at, parts in enumerate(combinations) if parts.count("...") < 2]
    wrong, count, ranked, laid = compare(lines)
    assert wrong == []
    assert count > 700
    assert ranked / count > 0.98
    assert laid / count > (
        0.6 if framework == "torch" else 0.4
    )  # numpy lays out what an array indexes by its own rules


def test_elementwise_results_of_operands_laid_out_in_any_order() -> None:
    chance = random.Random(4)
    lines: list[str] = []
    for at in range(600):
        rank = chance.choice([2, 3, 4])
        shape = [chance.choice([1, 1, 2, 3]) for _ in range(rank)]
        for name in "pq":
            order = chance.sample(range(rank), rank)
            # Made in another order of its axes, and turned back.
            sizes = ", ".join(str(shape[axis]) for axis in order)
            back = ", ".join(str(order.index(axis)) for axis in range(rank))
            made = f"torch.randn({sizes}).permute({back})"
            if chance.random() < 0.2:
                axis = chance.randrange(rank)
                made = f"{made}.narrow({axis}, 0, 1)"
            elif chance.random() < 0.15 and 1 in shape:
                grown = ", ".join("2" if size == 1 else "-1" for size in shape)
                made = f"{made}.expand({grown})"
            lines.append(f"{name}{at} = {made}")
        lines.append(f"r{at} = p{at} {chance.choice('+*')} q{at}")
        lines.append(f"s{at} = torch.{chance.choice(['exp', 'relu', 'zeros_like', 'clone'])}(p{at})")
        lines.append(f"t{at} = torch.where(p{at} > 0, p{at}, q{at})")
    wrong, count, ranked, laid = compare(lines)
    assert wrong == []
    assert ranked == count
    assert laid / count > 0.9


KINDS = ["float32", "float64", "float16", "complex64", "int64", "int32", "bool"]
# `p`, `q` and `w` are of any of these types and lie with gaps, in any order of their axes, or are expanded.
MIXED = (
    """
p {op} q; p {op} q; p {op} q; p {op} {number}; {number} {op} p; -p; torch.{unary}(p); torch.{unary}(p); F.{activation}(p)
torch.where(p > 0, q, w); torch.where(p > 0, q, 0.5); torch.where(p > 0, 0, q); p.clamp(min=0.5); p.clamp(q); p.pow(2.0); p.pow(q)
p.add(q, alpha=2); p.addcmul(q, w); p.to(torch.float64); p.float(); p.to(q); p.masked_fill(q > 0, 1); p.lerp(q, w); p.maximum(q)
F.mse_loss(p, q, reduction='none'); F.binary_cross_entropy_with_logits(p, q, reduction='none'); torch.full_like(p, 2)
""".strip()
    .replace("\n", "; ")
    .split("; ")
)
FILLED = {
    "{op}": ["+", "-", "*", "/", "//", "**", "<", "=="],
    "{number}": ["2", "0.5", "True"],
    "{unary}": [
        "exp", "tanh", "sqrt", "i0", "sin", "relu", "sigmoid", "abs",
        "floor", "isnan", "isfinite", "logical_not", "square", "sign", "reciprocal", "log1p",
        "rsqrt",
    ],
    "{activation}": [
        "relu", "relu6", "hardtanh", "logsigmoid", "gelu", "silu", "softplus", "elu",
        "leaky_relu", "mish", "tanh", "softsign",
    ],
}  # fmt: skip


def laid_out(chance: random.Random, shape: list[int]) -> str:
    """A tensor of the shape (some of whose axes may be of size 1) that is made otherwise: permuted, sliced, expanded."""
    order = chance.sample(range(len(shape)), len(shape))
    sizes = [shape[axis] for axis in order]
    way, axis = chance.choice(["plain", "plain", "sliced", "stepped", "expanded"]), chance.randrange(len(shape))
    seen = ""
    if way == "sliced":
        sizes[axis] += 1
        seen = f".narrow({axis}, 0, {sizes[axis] - 1})"
    elif way == "stepped":
        sizes[axis] *= 2
        seen = f"[{':, ' * axis}::2]"
    elif way == "expanded":
        seen = f".expand({', '.join(map(str, sizes))})"
        sizes[axis] = 1
    back = ", ".join(str(order.index(each)) for each in range(len(shape)))
    return f"torch.ones({sizes}, dtype=torch.{chance.choice(KINDS)}){seen}.permute({back})"


@pytest.mark.filterwarnings("ignore")
def test_results_of_operands_of_several_types_laid_out_in_any_way() -> None:
    """An operand of another type is copied before it is computed with, which closes its gaps."""
    chance = random.Random(5)
    lines = ["F = torch.nn.functional"]
    for at in range(400):
        shape = [chance.choice([1, 1, 2, 3]) for _ in range(chance.choice([1, 2, 2, 3, 3, 4]))]
        names = {name: f"{name}{at}" for name in "pqw"}
        for name in names.values():
            own = [1 if chance.random() < 0.1 else size for size in shape]
            lines.append(f"{name} = {laid_out(chance, own)}")
        for result in range(6):
            text = chance.choice(MIXED)
            for key, choices in FILLED.items():
                text = text.replace(key, chance.choice(choices))
            for name, full in names.items():
                text = re.sub(rf"\b{name}\b", full, text)
            lines.append(f"r{result}_{at} = {text}")
    wrong, count, ranked, laid = compare(lines)
    assert wrong == []
    assert ranked / count > 0.98
    assert laid / count > 0.85


LEARNT = {
    "assert np.shape(x) == (n, 4)": ("n", 4),
    "assert x.shape == (n, 4)": ("n", 4),
    "assert tuple(x.shape) == (n, 4)": ("n", 4),
    "k, m = x.shape; assert x.shape[0] == 6": (6, "m"),
    "k, m = x.shape; assert x.size(1) == 6": ("k", 6),
    "k, m = x.shape; assert 6 == x.size(1)": ("k", 6),
    "k, m = x.shape; assert not x.shape[0] != 6": (6, "m"),
    "assert x.ndim == 2 and isinstance(x, torch.Tensor)": ("x.shape[0]", "x.shape[1]"),
    "assert x.dim() == 2": ("x.shape[0]", "x.shape[1]"),
    "assert len(x.shape) == 2": ("x.shape[0]", "x.shape[1]"),
    "assert len(x.size()) == 2": ("x.shape[0]", "x.shape[1]"),
}


@pytest.mark.parametrize("test", LEARNT)
def test_what_an_assertion_tells(test: str) -> None:
    lines = "".join(f"    {part}\n" for part in test.split("; "))
    source = (
        f"import numpy as np\nimport torch\n\n\ndef f(x: torch.Tensor, n: int):\n{lines}    y = x + 0\n    return y\n"
    )
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    assert rows["y"].shape == LEARNT[test]


@pytest.mark.parametrize(
    "alias", ["Image = Float[torch.Tensor, '3 height 4']", "Image: TypeAlias = Float[torch.Tensor, '3 height 4']"]
)
def test_an_alias_of_an_annotation_is_read(alias: str) -> None:
    source = (
        "import torch\nfrom jaxtyping import Float\nfrom typing import TypeAlias\n\n"
        f"{alias}\n\n\ndef f(x: Image):\n    y = x.permute(1, 2, 0)\n    return y\n"
    )
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    assert rows["y"].shape == ("height", 4, 3)
    rebound = source + "\n\nImage = Float[torch.Tensor, '5 5 5']\n"
    rows = {row.name: row for row in analyse(ast.parse(rebound), rebound).bindings}
    assert rows["y"].shape == ("x.shape[1]", "x.shape[2]", "x.shape[0]")
