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


OTHERS = {
    "one of two was changed before": "a, b = nn.Linear(4, 14), nn.Linear(4, 15)\n    if k: a.forward = lambda x: Z(31, 2)\n    c = (a, b)[k & 1]\n    r0 = c(x)",
    "one of two has another weight": "a, b = nn.Linear(4, 14), nn.Linear(4, 15)\n    a.weight = P(Z(30, 3))\n    c = (a, b)[k & 1]\n    r0 = c.weight",
    "one of two containers was changed": "a, b = nn.Sequential(nn.Linear(4, 14)), nn.Sequential(nn.Linear(4, 15))\n    if k: a.forward = lambda x: Z(31, 2)\n    c = (a, b)[k & 1]\n    r0 = c(x)",
    "a function registers a parameter": "a = nn.Linear(4, 14)\n    def inner(): a.register_parameter('weight', P(Z(30, 4)))\n    for i in range(k): inner()\n    r0 = a.weight",
    "a function sets it in the dictionary": "a = nn.Linear(4, 14)\n    def inner(): a._parameters['weight'] = P(Z(30, 4))\n    if k: inner()\n    r0 = a.weight",
    "a function updates the dictionary": "a = nn.Linear(4, 14)\n    def inner(): a._parameters.update(weight=P(Z(30, 4)))\n    if k: inner()\n    r0 = a.weight",
    "a function sets it as Python does": "a = nn.Linear(4, 14)\n    def inner(): object.__setattr__(a, 'forward', lambda x: Z(31, 2))\n    if k: inner()\n    r0 = a(x)",
    "a function registers a hook of a partial function's": "a = functools.partial(nn.Linear(4, 14))\n    def inner(): a.func.register_forward_hook(lambda m, i, o: Z(31, 2))\n    if k: inner()\n    r0 = a(x)",
    "a function sets what a layer shows": "a = nn.Linear(4, 14)\n    def inner(): a.out_features = 31\n    if k: inner()\n    r0 = Z(a.out_features)",
    "a function sets what a module's layer shows": "a = Net(nn.Linear(4, 14))\n    def inner(b): b.fc.out_features = 31\n    (inner if k else print)(a)\n    r0 = Z(a.fc.out_features)",
    "a function registers a hook of a list's layer": "a = Net([nn.Linear(4, 14)])\n    h = {0: a}\n    def inner(): h[0].fc[0].register_forward_hook(lambda m, i, o: Z(31, 2))\n    if k: inner()\n    r0 = a.fc[0](x)",
    "a module's parts": "a = Net(nn.Linear(4, 14))\n    a.fc.weight = P(Z(30, 4))\n    z = a.fc\n    for m in a.modules(): renew(m)\n    r0, r1 = z.weight, a.fc.weight",
    "a container's parts": "a = nn.Sequential(nn.Linear(4, 14))\n    z = a[0]\n    z.weight = P(Z(30, 4))\n    for m in a.modules(): renew(m)\n    r0, r1 = z.weight, a[0].weight",
    "the parts of one of two": "a = Net(nn.Linear(4, 14))\n    z = a.fc\n    z.weight = P(Z(30, 4))\n    c = (Net(nn.Linear(4, 15)), a)[k & 1]\n    for m in c.modules(): renew(m)\n    r0, r1 = z.weight, a.fc.weight",
    "what is applied to a module": "a = Net(nn.Linear(4, 14))\n    z = a.fc\n    z.weight = P(Z(30, 4))\n    a.apply(renew)\n    r0, r1 = z.weight, a.fc.weight",
    "an attribute set by a name that is computed": "a, b = Net(nn.Linear(4, 14)), Net(nn.Linear(4, 15))\n    c = a if k else b\n    for name in ['f']: setattr(c, name + 'c', nn.Linear(4, 16))\n    r0 = a.fc(x)",
    "an attribute of one that nobody knows, in a loop": "a, b = Net(nn.Linear(4, 14)), nn.Linear(4, 15)\n    c = (a, Net(b), 3)[k & 1]\n    q = c.fc\n    for i in range(k): setattr(q, 'weight', P(Z(30, 4)))\n    r0 = q.weight",
    "a dictionary of a module": "a = Net(nn.Sequential(nn.Linear(4, 14)))\n    c = a._modules['fc']\n    c[0] = nn.Linear(4, 16)\n    r0 = a.fc[0](x)",
    "what one of two gives": "a, b = Giving(Net(nn.Linear(4, 14))), Giving(Net(nn.Linear(4, 15)))\n    c = (a, b)[k & 1].give()\n    c.fc = nn.Linear(4, 16)\n    r0, r1 = a.part.fc(x), b.part.fc(x)",
    "a stretch of a container": "a, b = Net(nn.Linear(4, 14)), Net(nn.Linear(4, 15))\n    c = nn.Sequential(a, b)[:k + 1][-1]\n    c.add_module('fc', nn.Linear(4, 16))\n    r0, r1 = a.fc(x), b.fc(x)",
    "the last of some": "a, b = {'k': nn.Linear(4, 14)}, {'k': nn.Linear(4, 15)}\n    *_, c = [a, b][:k + 1]\n    c['k'] = nn.Linear(4, 16)\n    r0, r1 = a['k'](x), b['k'](x)",
    "a hook of a layer that has two names": "a = Tied(nn.Linear(4, 14))\n    def inner(b): b.set_submodule('fc', nn.Linear(4, 15))\n    for i in range(k): a.fc.register_forward_hook(lambda m, i, o: Z(31, 2))\n    r0 = a.other(x)",
    "what a lambda sets": "a = nn.Linear(4, 14)\n    a.apply(lambda m: setattr(m, 'forward', lambda x: x[:1]))\n    r0 = a(x)",
    "what a lambda sets by a name": "a = nn.Linear(4, 14)\n    f = lambda m: setattr(m, 'forward', lambda x: x[:1])\n    a.apply(f)\n    r0 = a(x)",
    "what a lambda sets as Python does": "a = nn.Linear(4, 14)\n    a.apply(lambda m: m.__setattr__('forward', lambda x: x[:1]))\n    r0 = a(x)",
    "what a lambda registers": "a = nn.Linear(4, 14, bias=False)\n    a.apply(lambda m: m.register_parameter('weight', P(Z(30, 4))))\n    r0 = a(x)",
    "the second that a lambda sets": "a = nn.Linear(4, 14)\n    a.apply(lambda m: setattr(m, 'bias', None) or setattr(m, 'weight', P(Z(30, 4))))\n    r0 = a(x)",
}  # fmt: skip
CLASSES = """class Giving(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def give(self):
        return self.part


class Tied(Net):
    def __init__(self, fc):
        super().__init__(fc)
        self.other = self.fc


"""
RENEW = """def renew(m):
    if isinstance(m, nn.Linear):
        m.weight = P(Z(29, 4))


"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OTHERS)
def test_layers_that_are_changed_out_of_sight(name: str, tmp_path: Path) -> None:
    before, behind = HEAD.split("def go(k):\n")[0], "\n\nfor t in (0, 1, 6):\n    go(random.choice([t]))\n"
    body = OTHERS[name]
    # A file that says so of any layer tells of all of them; the names that models give their heads do as well.
    classes = CLASSES + (RENEW if "renew" in body else "")
    source = f"{before}{classes}def go(k):\n    x = Z(3, 4)\n    {body}\n{behind}".replace("fc", "proj")
    assert wrong_claims(tmp_path / "program.py", source) == {}
    failures: list[Exception] = []
    analyse(ast.parse(source), source, failures=failures)
    assert failures == []


def test_what_is_changed_of_one_layer_leaves_others_known() -> None:
    source = HEAD.split("def go(k):\n")[0] + CLASSES + (
        "def go(k, x: torch.Tensor):\n    a, b = Net(nn.Linear(4, 14)), Net(nn.Linear(4, 15))\n    c = a if k else Net(nn.Linear(4, 16))\n"
        "    c.fc = nn.Linear(4, 17)\n    r0 = b.fc(Z(3, 4))\n    d, e = nn.Linear(4, 18), nn.Linear(4, 18)\n"
        "    d.note = e.note = Z(3)\n    f = (d, e)[k & 1]\n    r1 = f(Z(3, 4))\n    *_, g = [Z(5, 6) for _ in range(k)]\n    r2 = g\n"
        "    h = nn.Sequential(nn.Linear(4, 19), nn.ReLU())\n    n = len(list(h.modules()))\n    r3 = h(Z(3, 4))\n"
    )  # fmt: skip
    shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (shown["r0"], shown["r1"], shown["r2"], shown["r3"]) == ((3, 15), (3, 18), (5, 6), (3, 19))


def test_what_stays_known_of_layers() -> None:
    source = (
        "import functools\nimport torch\nfrom torch import nn\n\n\ndef go(k, x: torch.Tensor):\n    a, b = nn.Linear(4, 8), nn.Linear(4, 8)\n"
        "    c = (a, b)[k & 1]\n    d = nn.Linear(4, 9)\n    d.weight = nn.Parameter(torch.zeros(9, 4))\n    r0, r1 = c(x), c.weight\n"
        "    for layer in [a, b][:k]:\n        layer.requires_grad_(False)\n    r2 = functools.partial(d)(torch.zeros(3, 4))\n"
        "    e = (nn.ReLU(), nn.Identity())[k & 1]\n    r3 = e(torch.zeros(3, 4))\n"
    )
    shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (shown["r1"], shown["r2"], shown["r3"]) == ((8, 4), (3, 9), (3, 4))


SEEDS = (
    *range(5000, 5010), 5096, 5216, 5232, 71037, 72891, 73258, 73330, 73851, 73945, 74342, 74515, 74714,
)  # fmt: skip


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
