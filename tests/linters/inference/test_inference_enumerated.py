"""Indices and layouts in many combinations: every shape and stride that is claimed is what torch and numpy give."""

from __future__ import annotations

import ast
import itertools
import random
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
