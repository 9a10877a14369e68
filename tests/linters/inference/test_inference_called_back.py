"""What a module changes of itself in a method that torch calls, for `model.eval()`, `model.to(...)` and others, run."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

HEAD = """import torch
from torch import nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = torch.zeros(2, 3)
        self.w = nn.Parameter(torch.zeros(2, 3))
        self.l = nn.Linear(3, 4)
        self.s = nn.Sequential(nn.Linear(3, 4))
        self.n = 3

    def forward(self, x):
        r_l, r_s, r_lw = self.l(x), self.s(x), self.l.weight
        return r_l

"""
CHANGES = {
    "an attribute": "self.t = torch.zeros(5, 5, 5)",
    "a parameter": "self.w = nn.Parameter(torch.zeros(5, 5, 5))",
    "a layer": "self.l = nn.Linear(3, 9)",
    "a layer's weight": "self.l.weight = nn.Parameter(torch.zeros(9, 3)); self.l.bias = None",
    "a container's item": "self.s[0] = nn.Linear(3, 8)",
    "a number": "self.n = 7",
}
# A method of the module's own, and what of the whole model runs it. {i} stands for the module, {m} for the model.
METHODS = {
    "train, by eval": ("train(self, mode=True)", "super().train(mode)", "{m}.eval()"),
    "train": ("train(self, mode=True)", "self", "{m}.train()"),
    "_apply": ("_apply(self, fn, *a)", "super()._apply(fn, *a)", "{m}.to('cpu')"),
    "_apply, by share_memory": ("_apply(self, fn, *a)", "self", "{m}.share_memory()"),
    "_load_from_state_dict": ("_load_from_state_dict(self, *a)", "None", "{m}.load_state_dict({{}}, strict=False)"),
    "_save_to_state_dict": ("_save_to_state_dict(self, *a)", "None", "{m}.state_dict()"),
    "get_extra_state": ("get_extra_state(self)", "1", "{m}.state_dict()"),
    "extra_repr": ("extra_repr(self)", "''", "f'{{{m}}}'"),
    "named_parameters": (
        "named_parameters(self, *a, **k)",
        "super().named_parameters(*a, **k)",
        "list({i}.parameters())",
    ),
    "parameters": ("parameters(self, *a, **k)", "super().parameters(*a, **k)", "{i}.zero_grad()"),
    "named_modules": ("named_modules(self, *a, **k)", "super().named_modules(*a, **k)", "list({m}.modules())"),
    "named_children": ("named_children(self)", "super().named_children()", "list({i}.children())"),
    "_call_impl": ("_call_impl(self, *a)", "super()._call_impl(*a)", "{i}(torch.zeros(2, 3))"),
    "reset_parameters": ("reset_parameters(self)", "None", "{i}.reset_parameters()"),
    "build": ("build(self)", "None", "{i}.build()"),
}
PLACES = {
    "itself": ("m = M()", "m", "m"),
    "in a container": ("m = nn.Sequential(M())", "m", "m[0]"),
    "a part": (
        "class P(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.m = M()\n\n"
        "    def forward(self, x):\n        o, k, kk = self.m(x), self.m.t, self.m.l(x)\n        return o\n\nm = P()",
        "m",
        "m.m",
    ),
}
LOOKS = (
    "r0 = {i}.t; r1 = {i}.w; r2 = {i}.l(torch.zeros(2, 3)); r3 = {i}.s(torch.zeros(2, 3)); r4 = torch.zeros({i}.n)\n"
    "r5 = {i}.l.weight; r6 = {i}.s[0].weight; out = {m}(torch.zeros(2, 3))"
)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("method", METHODS)
def test_what_a_method_changes_that_torch_calls(method: str, change: str, tmp_path: Path) -> None:
    signature, result, use = METHODS[method]
    number = list(METHODS).index(method) + list(CHANGES).index(change)
    make, model, module = PLACES[list(PLACES)[number % len(PLACES)]]
    body = f"    def {signature}:\n        {CHANGES[change]}\n        return {result}\n\n\n"
    lines = "\n".join(text.format(m=model, i=module) for text in (use, LOOKS))
    if number % 2:  # in a function
        *above, last = make.split("\n")
        lines = "\n".join(["def main():", *(f"    {line}" for line in [last, *lines.split("\n")]), "main()"])
        make = "\n".join(above)
    program = f"{HEAD}{body}{make}\n{lines}\n"
    assert wrong_claims(tmp_path / "program.py", program) == {}, program
