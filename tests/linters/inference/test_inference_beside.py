"""Tensors that `enumerate` and `zip` give beside something else have sizes of their own in each round."""

from __future__ import annotations

import ast
import contextlib
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")

SOURCE = """\
import collections, itertools, random
import torch
Z = torch.zeros
def gen(x):
    for t in x: yield t
def go(p):
    l = {made}
    k = None
    for {target} in {through}:
        c = b + 0
        if k is not None:
            e = k + 0
            d = torch.cat([k, b])
        k = b
    m = [b for {target} in {through}]
    r2 = m[0] + 0
    r3 = m[-1] + 0
    f = torch.cat([m[0], m[-1]])
    g = torch.cat([b for {target} in {through}])
    y = {i: b for i, b in enumerate([b for {target} in {through}])}
    r4 = y[0] + 0
    r5 = y[1] + 0
go(9)
"""
MADE = [
    "[t for t in [Z(2, 3), Z(4, 3), Z(5, 3)] if len(t) != p]",
    "[Z(i + 2, 3) for i in range(p)]",
    "[Z(2, 3), Z(4, 3), Z(5, 3)][:p]",
    "[Z(i, 3) for i in (1, 2, 3) for _ in range(p)]",
]
THROUGH = {
    "b": ["gen(l)", "random.sample(l, 2)", "filter(len, l)", "sorted(l, key=len)", "collections.deque(l)", "map(lambda t: t, l)",
          "[t for i, t in enumerate(l)]", "[t for t, _ in zip(l, l)]", "dict(enumerate(l)).values()"],
    "i, b": ["enumerate(l)", "enumerate(l, p)", "enumerate(gen(l))", "zip(range(99), l)", "zip(l, l)", "zip(itertools.count(), l)",
             "zip(l, l[1:])", "zip(*[l, l])", "filter(None, enumerate(l))", "list(enumerate(l))", "((i, t) for i, t in enumerate(l))",
             "{i: t for i, t in enumerate(l)}.items()", "[[1, t] for t in l]", "[(1, t) for t in l]"],
    "i, (j, b)": ["enumerate(enumerate(l))", "enumerate(zip(l, l))", "zip(l, enumerate(l))", "enumerate([(1, t) for t in l])",
                  "enumerate([[1, t] for t in l])"],
}  # fmt: skip


def program(made: str, target: str, through: str) -> str:
    return SOURCE.replace("{made}", made).replace("{target}", target).replace("{through}", through)


@pytest.mark.parametrize("through", [(target, each) for target, every in THROUGH.items() for each in every])
def test_each_round_has_sizes_of_its_own(through: tuple[str, str], tmp_path: Path) -> None:
    wrong, ran = {}, 0
    for made in MADE:
        with contextlib.suppress(IndexError, ValueError):
            if found := wrong_claims(tmp_path / "program.py", program(made, *through)):
                wrong[made] = found
            ran += 1
    assert wrong == {}
    assert ran >= 3


def shapes(body: str) -> dict[str, tuple[object, ...] | None]:
    source = f"import torch\ndef go(p, xs: list[torch.Tensor], loader):\n{body}"
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


@pytest.mark.parametrize("through", ["enumerate(rows)", "zip(range(9), rows)", "enumerate([t for t in rows])"])
def test_what_all_have_in_common_stays_known(through: str) -> None:
    rows = shapes(
        "    rows = [torch.zeros(i, 3) for i in range(1, p)]\n"
        f"    for i, b in {through}:\n        n = b.shape[0]\n        x = b @ torch.zeros(3, n)\n        y = x + b[:, :1]\n"
        f"    z = torch.cat([b for i, b in {through}])\n"
    )
    assert rows["x"] == ("n", "n") or rows["x"] == ("b.shape[0]", "b.shape[0]")
    assert rows["y"] == rows["x"]
    assert rows["z"] is not None
    assert rows["z"][1] == 3


def test_two_that_are_gone_through_together_have_the_size_that_they_share() -> None:
    rows = shapes(
        "    pairs = [(torch.zeros(i, 3), torch.zeros(i, 4)) for i in range(1, p)]\n"
        "    for i, (a, b) in enumerate(pairs):\n        x = torch.cat([a, b], 1)\n"
    )
    assert rows["x"] is not None
    assert rows["x"][1] == 7
