"""Random programs that hand modules and layers on, replace them and change them."""

from __future__ import annotations

import random

HEAD = """\
import copy, functools, random
import torch
from torch import nn
Z, P = torch.zeros, nn.Parameter
"""
# Of each kind of layers: how one is made, the shape of its weight, what it is called with, and what that gives.
LAYERS = [
    ("nn.Linear(4, {i}, bias=False)", "{i}, 4", "Z(3, 4)", ""),
    ("nn.Linear(4, out_features={i}, bias=False)", "{i}, 4", "Z(3, 4)", ""),
    ("nn.Conv1d(4, {i}, 1, bias=False)", "{i}, 4, 1", "Z(2, 4, 5)", ""),
    ("nn.Conv2d(4, {i}, 1, bias=False)", "{i}, 4, 1, 1", "Z(2, 4, 5, 6)", ""),
    ("nn.ConvTranspose1d(4, {i}, 1, bias=False)", "4, {i}, 1", "Z(2, 4, 5)", ""),
    ("nn.Embedding(7, {i})", "7, {i}", "Z(3).long()", ""),
    ("nn.LSTM(4, {i}, bias=False)", None, "Z(3, 4)", "[0]"),
    ("nn.GRU(4, {i}, bias=False)", None, "Z(3, 4)", "[0]"),
]
# What holds a layer: how it is made of one, how that is read, and whether it can be called.
HOLDERS = [
    ("{l}", "{n}", True),
    ("{l}", "{n}", True),
    ("Net({l})", "{n}.fc", True),
    ("Net({l})", "{n}.fc", True),
    ("Make({i})", "{n}.fc", True),
    ("Net(nn.Sequential({l}))", "{n}.fc[0]", True),
    ("Net(Net({l}))", "{n}.fc.fc", True),
    ("nn.Sequential({l})", "{n}[0]", True),
    ("nn.Sequential(nn.Identity(), {l})", "{n}[1]", True),
    ("nn.Sequential(Net({l}))", "{n}[0].fc", True),
    ("nn.ModuleList([{l}])", "{n}[0]", False),
    ("nn.ModuleDict({{'k': {l}}})", "{n}['k']", False),
    ("[{l}]", "{n}[0]", False),
    ("{{'k': {l}}}", "{n}['k']", False),
    ("Plain({l})", "{n}.fc", False),
    ("Seq({l})", "{n}.fc", True),
    ("functools.partial({l})", "{n}.func", True),
    ("nn.Sequential(nn.Sequential({l}), nn.ReLU())", "{n}[0][0]", True),
    ("Net([{l}])", "{n}.fc[0]", False),
    ("Plain([{l}])", "{n}.fc[0]", False),
    ("Plain(Net({l}))", "{n}.fc.fc", False),
    ("Two({l}, {i})", "{n}.fc", True),
    ("nn.Sequential(*[{l}])", "{n}[0]", True),
    ("[Net({l})]", "{n}[0].fc", False),
    ("({l}, 3)", "{n}[0]", False),
    ("nn.ModuleList([Net({l})])", "{n}[0].fc", False),
    ("Many({i})", "{n}.fc[0]", True),
    ("Tied({l})", "{n}.fc", True),
    ("Tied({l})", "{n}.other", True),
]
FORWARDS = [
    "return self.fc(x)",
    "y{j} = self.fc(x)\n        return y{j}",
    "fc = self.fc\n        return fc(x)",
    "for m in self.children():\n            x = m(x)\n        return x",
    "for m in self._modules.values():\n            x = m(x)\n        return x",
    "return getattr(self, 'fc')(x)",
]


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.layer, self.weight, self.given, self.taken = self.random.choice(LAYERS)
        self.holder, self.path, self.called = self.random.choice(HOLDERS)
        self.mixed = self.random.random() < 0.25  # names that hold several kinds: all that can be called
        self.count = 10  # no two tensors have one shape

    def number(self) -> int:
        self.count += 1
        return self.count

    def a_layer(self) -> str:
        made = self.layer.format(i=self.number())
        if self.random.random() < 0.01:
            return f"(nn.Identity(), {made})[k & 1]"
        return made

    def new(self) -> str:
        if self.mixed:
            self.holder, self.path, self.called = self.random.choice(
                [each for each in HOLDERS if each[2] and "partial" not in each[0]]
            )
        return self.holder.format(l=self.a_layer(), i=self.number())

    def tensor(self) -> str:
        return f"Z({(self.weight or '{i}, 3').format(i=self.number())})"

    def of_layer(self, layer: str) -> str:
        """Changes of a layer."""
        v = self.tensor()
        lines = (
            [
                f"{layer}.weight = P({v})",
                f"{layer}.weight = P({v})",
                f"{layer}.weight.data = {v}",
                f"setattr({layer}, 'weight', P({v}))",
                f"{layer}.register_parameter('weight', P({v}))",
                f"{layer}._parameters['weight'] = P({v})",
                f"del {layer}.weight\n    {layer}.weight = P({v})",
                f"{layer}.__dict__.update(scale=3)",
                f"{layer}.weight = P({layer}.weight.data[1:])",
            ]
            if self.weight
            else [f"{layer}.weight_ih_l0.data = {v}" if 0 else "pass"]
        )
        lines += [
            f"{layer}.register_forward_hook(lambda m, i, o: Z({self.number()}, 2))",
            f"{layer}.forward = lambda x: Z({self.number()}, 2)",
            f"{layer}.forward = functools.partial(torch.mul, Z({self.number()}, 1))",
            f"{layer}.out_features = {self.number()}",
            f"{layer}.note = Z({self.number()})",
            f"{layer}.requires_grad_(False)",
            f"{layer}.double().float()",
            f"{layer}.train()",
        ]
        return self.random.choice(lines)

    def change(self, n: str) -> str:
        """Changes of what a name holds."""
        pick = self.random.choice
        if self.mixed:
            return pick([
                f"for p in {n}.parameters():\n        p.data = {self.tensor()}", f"next({n}.parameters()).data = {self.tensor()}",
                f"{n}.register_forward_hook(lambda m, i, o: Z({self.number()}, 2))", f"{n}.forward = lambda x: Z({self.number()}, 2)",
                f"{n}.apply(renew)", f"for m in {n}.modules():\n        renew(m)", f"for q, m in list({n}.named_modules()):\n        for r, s in list(m.named_children()):\n            setattr(m, r, {self.a_layer()})",
                f"for q in list({n}._modules):\n        {n}._modules[q] = {self.a_layer()}",
            ])  # fmt: skip
        held = self.path.format(n=n)
        lines = [lambda: self.of_layer(held)]
        base, dot, attr = held.rpartition(".")
        if held.endswith("]") and self.holder[0] != "(":
            owner = held[: held.rindex("[")]
            v = self.a_layer
            if "Module" in self.holder or "Seq" in self.holder:
                lines += [
                    lambda: f"{owner}._modules[{'repr(0)' if '0' in self.path else repr('k')}] = {v()}",
                    lambda: (
                        f"del {owner}[{held[held.rindex('[') + 1 :]}\n    {owner}.add_module('{'0' if '[0]' in self.path[-4:] else 'k'}', {v()})"
                    ),
                    lambda: f"for q, m in {owner}.named_children():\n        setattr({owner}, q, {v()})",
                ]
            if self.holder.startswith("[") or "([" in self.holder or self.holder.startswith("Many"):
                lines += [
                    lambda: f"{owner}.append({v()})",
                    lambda: f"{owner}.insert(0, {v()})",
                    lambda: f"{owner}.extend([{v()}])",
                ]
            lines += [lambda: f"{held} = {self.a_layer()}"] * 2
            lines += [lambda: f"for i in range(k):\n        {held} = {self.a_layer()}"]
            if "['" in held or not self.called:
                pass
        elif dot and n != "" and self.path != "{n}" and attr != "func":
            v = self.a_layer
            lines += [lambda: f"{held} = {v()}"] * 3
            lines += [lambda: f"setattr({base}, '{attr}', {v()})", lambda: f"{base}.__setattr__('{attr}', {v()})"]
            lines += [lambda: f"del {held}\n    {held} = {v()}"]
            if "Plain" not in self.holder and "[" not in self.holder[:2]:
                lines += [
                    lambda: f"{base}.add_module('{attr}', {v()})", lambda: f"{base}._modules['{attr}'] = {v()}",
                    lambda: f"{base}.set_submodule('{attr}', {v()})", lambda: f"{base}.register_module('{attr}', {v()})",
                    lambda: f"for q, m in list({base}.named_children()):\n        setattr({base}, q, {v()})",
                    lambda: f"{base}.swap({v()})" if "Net" in self.holder else "pass",
                    lambda: f"{base}.grow(k)" if "Net" in self.holder else "pass",
                    lambda: f"{base}.register_buffer('note', Z({self.number()}))",
                ]  # fmt: skip
        if self.holder.startswith(("nn.", "Net(", "Make", "Seq", "{held}", "Two", "Many", "Tied")):
            lines += [
                lambda: f"{n}.apply(renew)",
                lambda: f"for m in {n}.modules():\n        renew(m)",
                lambda: f"for p in {n}.parameters():\n        p.data = {self.tensor()}",
                lambda: f"for m in {n}.children():\n        renew(m)",
                lambda: f"next({n}.parameters()).data = {self.tensor()}",
                lambda: f"{n}.to(torch.float32)",
            ]
        return pick(lines)()

    def function(self, name: str) -> str:
        pick = self.random.choice
        lines = [self.change(pick("pq")).replace("\n", "\n"), "q, p = p, q", f"if k: return {pick('pq')}", "pass"]
        body = "".join(f"    {pick(lines)}\n" for _ in range(pick([1, 2])))
        return f"def {name}(p, q, k=0):\n{body}    return {pick('pq')}\n"

    def renew(self) -> str:
        cls = self.layer.partition("(")[0]
        change = (
            self.random.choice([f"m.weight = P({self.tensor()})", "pass", f"m.weight.data = {self.tensor()}"])
            if self.weight
            else "pass"
        )
        return f"def renew(m):\n    if isinstance(m, {cls}):\n        {change}\n"

    def read(self, n: str) -> str:
        pick = self.random.choice
        if self.mixed:
            return pick(
                [f"{n}(x){self.taken}", f"{n}(x){self.taken}", f"next({n}.parameters())", f"list({n}.parameters())[0]"]
            )
        held = self.path.format(n=n)
        reads = [f"{held}(x){self.taken}", f"{held}.weight" if self.weight else f"{held}.weight_ih_l0"]
        reads = reads * 2
        if self.called:
            reads += [f"{n}(x){self.taken}"] * 2
        if "Linear" in self.layer:
            reads += [f"Z({held}.out_features)", f"torch.nn.functional.linear(x, {held}.weight)"]
        if self.weight:
            reads += [
                f"{held}.weight.data",
                f"list({held}.parameters())[0]",
                f"{held}.state_dict()['weight']",
                f"Z({held}.weight.shape[{0 if self.weight[0] == '{' else 1}])",
                f"{held}.weight.grad if {held}.weight.grad is not None else {held}.weight",
            ]
        return pick(reads)

    def indent(self, text: str) -> str:
        return text.replace("\n", "\n    ")

    def statement(self, names: list[str]) -> str:
        pick = self.random.choice
        n, m, o = pick(names), pick(names), pick(names)
        change = self.change(m)
        called = pick(
            [f"f({m}, {o})", f"g({m}, {o}, k & 1)", f"(f if k else g)({m}, {o})", f"functools.partial(f, {m})({o})"]
        )
        h = (
            []
            if self.mixed
            else [f"{self.path.format(n=n)} = {self.path.format(n=m)}"]
            if self.path not in ("{n}", "{n}.func")
            else []
        )
        return pick([
            *h, *h,
            f"{n} = ({m}, {o})[k & 1]", f"{n} = {m} if k else {o}", f"if k: {n} = {m}", f"{n} = {m}", change, change, change,
            f"if k:\n        {self.indent(change)}", f"for i in range(k):\n        {n}, {m} = {m}, {n}\n        {self.indent(self.change(o))}",
            f"for i in range(k):\n        y{self.number()} = {self.read(n)}\n        {self.indent(change)}",
            f"for i in range(k):\n        {n} = {m}\n        {self.indent(change)}",
            f"for i in ({n}, {m}):\n        {self.indent(self.change('i'))}", f"for i in [{n}, {m}][:k]:\n        {self.indent(self.change('i'))}",
            f"{n} = copy.deepcopy({m})", f"{n} = {called}", called, f"{n} = {called}",
            f"h = [{n}, {m}]", f"h = {{0: {n}, 1: {m}}}", f"h[0] = {n}", f"h[k & 1] = {n}", f"{n} = h[0]", f"{n} = h[k & 1]",
            f"get = (lambda: {n}) if k else (lambda: {m})\n    {o} = get()",
            f"while k > 5:\n        {self.indent(change)}\n        k -= 1", f"y{self.number()} = {self.read(n)}", f"y{self.number()} = {self.read(n)}",
            f"try:\n        {self.indent(change)}\n        int('x' * k or 1)\n        {self.indent(self.change(n))}\n    except ValueError:\n        {n} = {m}",
            f"with torch.no_grad():\n        {self.indent(change)}", f"{n} = {self.new()}" if not self.mixed else "pass",
            f"nets = [{self.new()} for _ in range(k + 1)]\n    {n} = nets[-1]" if not self.mixed else "pass",
            f"def inner(v={n}):\n        {self.indent(self.change('v'))}\n    if k: inner()\n    inner({m})",
            f"def inner():\n        {self.indent(self.change(m))}\n    {n} = {m}\n    for i in range(k): inner()",
            f"z = {self.path.format(n=m)}\n    {self.of_layer('z')}" if not self.mixed and 'func' not in self.path else "pass",
            f"try:\n        {n}.load_state_dict({m}.state_dict(), strict=False, assign=True)\n    except RuntimeError: pass" if self.holder.startswith(("nn.", "Net", "Make", "{l}")) else "pass",
        ])  # fmt: skip

    def classes(self) -> str:
        pick = self.random.choice
        j = self.number()
        grow = pick([self.a_layer().replace("[k & 1]", "[1]")])
        extra = pick(["pass", "self.register_buffer('mask', Z(2))", f"self.p = P(Z({self.number()}))"])
        return (
            f"class Net(nn.Module):\n    def __init__(self, fc):\n        super().__init__()\n        self.fc = fc\n        {extra}\n"
            f"    def swap(self, v):\n        self.fc = v\n    def grow(self, k):\n        if k: self.fc = {grow}\n"
            f"    def forward(self, x):\n        {pick(FORWARDS).format(j=j)}\n"
            f"class Make(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        self.fc = {self.layer.format(i='n')}\n"
            f"    def forward(self, x):\n        {pick(FORWARDS).format(j=j + 100)}\n"
            f"class Two(Make):\n    def __init__(self, fc, n):\n        super().__init__(n)\n        self.fc = fc\n"
            f"class Many(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        self.fc = nn.ModuleList([{self.layer.format(i='n')} for _ in range(2)])\n"
            f"    def forward(self, x):\n        return {pick(['self.fc[0](x)', 'self.fc[1](x)', '[fc(x) for fc in self.fc][-1]'])}\n"
            f"class Tied(nn.Module):\n    def __init__(self, fc):\n        super().__init__()\n        self.fc = fc\n        self.other = self.fc\n    def forward(self, x):\n        return self.{pick(['fc', 'other'])}(x)\n"
            f"class Plain:\n    def __init__(self, fc):\n        self.fc = fc\n"
            f"class Seq(nn.Sequential):\n    def __init__(self, fc):\n        super().__init__()\n        self.fc = fc\n"
        )


def make(seed: int) -> str:
    writer = _Writer(seed)
    names = ["a", "b", "c"]
    classes = writer.classes()
    lines = [f"{name} = {writer.new()}" for name in names]
    lines += [
        "h = [a, b]",
        f"x = {writer.given}",
        *(writer.statement(names) for _ in range(writer.random.choice([2, 3, 4, 6]))),
    ]
    lines += [f"w{at} = {writer.read(name)}" for at, name in enumerate([*names, *names])]
    body = "".join(f"    {line}\n" for line in lines)
    functions = writer.renew() + writer.function("f") + writer.function("g")
    calls = "for t in (0, 1, 6):\n    go(random.choice([t]))\n"
    return f"{HEAD}{classes}{functions}def go(k):\n{body}{calls}"
