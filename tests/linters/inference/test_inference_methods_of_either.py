"""A method that is called of one of two objects, and changes what that holds: it is known of neither afterwards. All run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")

PROGRAM = """import random
import torch
from torch import nn
Z = torch.zeros
class Obj:
    def __init__(self, r): self.r = r
class Net(nn.Module):
    def __init__(self, r):
        super().__init__()
        self.r = r
class Box({base}):
    def __init__(self, p, q):
        super().__init__()
        self.p = p
        self.q = q
    def {method}:
        {change}
        return self
def go(k):
    a, b, c = {made}(Z(13, 2)), {made}(Z(14, 2)), {made}(Z(15, 2))
    h = Box(a, b)
    g = Box(b, a)
    {get}
    {put}
    {use}
    w0 = a.r + 0
    w1 = b.r + 0
    w2 = c.r + 0
for t in (0, 1): go(random.choice([t]))
"""
METHODS = {
    "change(self)": "x.change()",
    "change(self, o=None)": "Box.change(x, 1)",
    "__call__(self)": "x()",
    "forward(self)": "x.forward()",
    "__iadd__(self, o)": "x += a",
    "__add__(self, o)": "y = x + 1",
    "__neg__(self)": "-x",
    "__getitem__(self, i)": "x[0]",
    "__setitem__(self, i, v)": "x[0] = 1",
    "__enter__(self)": "with x: pass",
    "__lt__(self, o)": "x < a",
}
CHANGES = ["self.q.r = Z(30, 2)", "p = self.q; p.r = Z(30, 2)", "self.p.r.unsqueeze_(0)"]
GET = [
    "x = h if k else g", "x = [h, g][k]", "x = random.choice([h, g])", "x = h\n    if k: x = g", "for x in [h, g]: pass",
    "x = next(iter([h, g]))", "x = h",
]  # fmt: skip
PUT = ["pass", "x.q = c", "h.q = c", "x.q, x.p = x.p, x.q"]


def program(method: str, change: str, get: str, put: str, *, module: bool = False) -> str:
    exits = "\n    def __exit__(self, *a): pass" if method.startswith("__enter__") else ""
    parts = {
        "base": "nn.Module" if module else "object",
        "made": "Net" if module else "Obj",
        "method": method,
        "change": change,
        "get": get,
        "put": put,
        "use": METHODS[method],
    }
    return PROGRAM.format(**parts).replace("return self\n", f"return self{exits}\n", 1)


@pytest.mark.parametrize("module", [False, True], ids=["objects", "modules"])
@pytest.mark.parametrize("method", METHODS)
def test_what_a_method_changes_of_either(method: str, module: bool, tmp_path: Path) -> None:
    wrong = {}
    for change in CHANGES[module:]:
        for get in GET:
            for put in PUT:
                found = wrong_claims(tmp_path / "program.py", program(method, change, get, put, module=module))
                if found:
                    wrong[change, get, put] = found
    assert wrong == {}


@pytest.mark.parametrize("get", GET)
def test_a_method_that_changes_nothing_leaves_it_known(get: str) -> None:
    source = program("change(self)", "y = self.q.r + 1", get, "pass")
    shown = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (shown["w0"], shown["w1"], shown["w2"]) == ((13, 2), (14, 2), (15, 2))
