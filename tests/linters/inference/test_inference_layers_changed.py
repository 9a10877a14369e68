"""Layers that are one of several, and what is known of them and of each of these once one is changed, run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from layer_programs import make
from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """import copy, functools, random
import torch
from torch import nn
Z, P = torch.zeros, nn.Parameter


class Net(nn.Module):
    def __init__(self, fc):
        super().__init__()
        self.fc = fc


def go(k):
    x = Z(3, 4)
    a = {made}
    b = {other}
    {way}
    {change}
    r0, r1 = {a}(x), {b}(x)
    r2, r3 = {a}.weight, {b}.weight
    {read}


for t in (0, 1, 6):
    go(random.choice([t]))
"""
LAYER = "nn.Linear(4, {}, bias=False)"
CHANGES = [
    "{l}.weight = P(Z(30, 4))",
    "{l}.weight.data = Z(30, 4)",
    "{l}.register_parameter('weight', P(Z(30, 4)))",
    "{l}._parameters['weight'] = P(Z(30, 4))",
    "{l}._parameters.update(weight=P(Z(30, 4)))",
    "{l}.__dict__['forward'] = lambda x: Z(31, 2)",
    "{l}.register_forward_hook(lambda m, i, o: Z(31, 2))",
    "{l}.forward = lambda x: Z(31, 2)",
    "{l}.weight = P(Z(32, 4)); {l}._parameters['weight'] = P(Z(30, 4))",
]
# How another name comes to stand for one of the two, what is changed by which name, and what is read of that.
WAYS = {
    "one of a pair": ("{l}", "c = (a, b)[k & 1]", "c", ""),
    "one of a pair, changed by its own name": ("{l}", "c = (a, b)[k & 1]", "a", "r4, r5 = c.weight, c(x)"),
    "one of a pair of which one is one of a pair": ("{l}", "c = (a, (a, b)[k & 1])[k & 1]", "b", "r4, r5 = c.weight, c(x)"),
    "an item of a list": ("[{l}]", "for c in [a, b][:k]:\n        pass\n    c = [a, b][:k + 1][-1]", "c[0]", ""),
    "a stretch of a list": ("{l}", "c = [a, b][:k + 1][-1]", "c", ""),
    "a stretch of a list of modules": ("Net({l})", "c = [a, b][:k + 1][-1]", "c.fc", ""),
    "a partial function": ("functools.partial({l})", "c = (a, b)[k & 1]", "c.func", ""),
    "a partial function's own": ("functools.partial({l})", "c = a", "a.func", "r4 = c(x)"),
    "of what a function reads": ("{l}", "get = (lambda: a) if k else (lambda: b)\n    for _ in range(k): a, b = b, a\n    c = get()", "c", ""),
    "of a dictionary, by get": ("[{l}]", "c = {{'a': a}}.get('ab'[k & 1], b)", "c[0]", ""),
    "a shallow copy's": ("nn.ModuleList([{l}])", "h = copy.copy(Net(a)); c = h.fc", "c[0]", ""),
}  # fmt: skip
PATHS = {"{l}": "{n}", "[{l}]": "{n}[0]", "nn.ModuleList([{l}])": "{n}[0]", "Net({l})": "{n}.fc"}


def program(way: str, change: str) -> str:
    made, way, changed, read = WAYS[way]
    path = PATHS.get(made, "{n}.func")
    layers = [made.format(l=LAYER.format(size)) for size in (14, 15)]
    return HEAD.format(
        made=layers[0], other=layers[1], way=way.replace("{{", "{").replace("}}", "}"), change=change.format(l=changed),
        a=path.format(n="a"), b=path.format(n="b"), read=read or "pass",
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", WAYS)
def test_a_layer_that_is_one_of_two_is_changed(way: str, tmp_path: Path) -> None:
    wrong = {change: wrong_claims(tmp_path / "program.py", program(way, change)) for change in CHANGES}
    assert {change: found for change, found in wrong.items() if found} == {}


def test_a_layer_that_keeps_the_shape_gives_another_one(tmp_path: Path) -> None:
    source = (
        "import random\nimport torch\nfrom torch import nn\n\n\ndef go(k):\n    a, b, x = nn.ReLU(), nn.Identity(), torch.ones(3, 5)\n"
        "    c = (a, b)[k & 1]\n    d = (a, b)[k & 1]\n    r0 = c(x)\n    {}.forward = lambda x: torch.zeros(7, 2)\n    r1, r2 = c(x), d(x)\n\n\n"
        "for t in (0, 1):\n    go(random.choice([t]))\n"
    )
    for name in "abcd":
        changed = source.format(name)
        assert wrong_claims(tmp_path / "program.py", changed) == {}
        shown = {row.name: row.shape for row in analyse(ast.parse(changed), changed).bindings}
        assert shown["r0"] == (3, 5)


def test_what_stays_known_of_layers() -> None:
    source = (
        "import functools\nimport torch\nfrom torch import nn\n\n\ndef go(k, x: torch.Tensor):\n    a, b = nn.Linear(4, 8), nn.Linear(4, 8)\n"
        "    c = (a, b)[k & 1]\n    d = nn.Linear(4, 9)\n    d.weight = nn.Parameter(torch.zeros(9, 4))\n    r0, r1 = c(x), c.weight\n"
        "    for layer in [a, b][:k]:\n        layer.requires_grad_(False)\n    r2 = functools.partial(d)(torch.zeros(3, 4))\n"
        "    e = (nn.ReLU(), nn.Identity())[k & 1]\n    r3 = e(torch.zeros(3, 4))\n"
    )
    shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (shown["r1"], shown["r2"], shown["r3"]) == ((8, 4), (3, 9), (3, 4))


SEEDS = (*range(5000, 5010), 5096, 5216, 5232)


@pytest.mark.filterwarnings("ignore")
def test_random_programs_that_hand_layers_on(tmp_path: Path) -> None:
    ran, wrong = 0, {}
    for seed in SEEDS:
        try:
            found = wrong_claims(tmp_path / "program.py", make(seed))
        except Exception:
            continue
        ran += 1
        if found:
            wrong[seed] = found
    assert wrong == {}
    assert ran > len(SEEDS) // 2
