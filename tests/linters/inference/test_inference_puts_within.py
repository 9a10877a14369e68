"""What expressions change that are no statements of their own: `flag and self.layers.append(layer)`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = "import operator\nimport torch\nfrom torch import nn\nL = nn.Linear\n"
# Where the change stands.
PLACES = [
    "{} if k else 0", "k and {}", "[{} for _ in (1,)]", "(lambda: {})()", "print({})", "return {}", "x = [{}, 1]", "x = {}",
    "for _ in [{}]: pass", "if {} is None: pass", "while {} is None: break", "assert {} is not k", "with torch.no_grad(): {}",
    "x = (y := {})", "yield {}", "match {}:\n            case _: pass", "print(\n            1,\n            {},\n        )",
    "f = lambda: {}; f()", "raise ValueError({})", "async def f(): return {}\n        import asyncio; asyncio.run(f())",
]  # fmt: skip
# What is put into the layers `n`.
PUTS = [
    "n.append(L(3, 4))", "n.insert(1, L(3, 4))", "n.extend([L(3, 4)])", "n.__setitem__(0, L(3, 4))", "setattr(n, '0', L(3, 4))",
    "n.add_module('1', L(3, 4))", "n.register_module('1', L(3, 4))", "nn.Sequential.append(n, L(3, 4))", "getattr(n, 'append')(L(3, 4))",
    "list(map(n.append, [L(3, 4)]))", "operator.methodcaller('append', L(3, 4))(n)", "n.append(L(3, 4)).eval()", "n._modules.update(a=L(3, 4))",
    "n[0].__setattr__('weight', nn.Parameter(torch.zeros(4, 3)))",
]  # fmt: skip
# What is changed of the module `m`, or of a plain object.
CHANGES = [
    "setattr(m, 'fc', L(3, 4))", "m.__setattr__('fc', L(3, 4))", "m.add_module('fc', L(3, 4))", "m.register_module('fc', L(3, 4))",
    "m._modules.update(fc=L(3, 4))", "m._modules.__setitem__('fc', L(3, 4))", "nn.Module.__setattr__(m, 'fc', L(3, 4))",
    "nn.Module.add_module(m, 'fc', L(3, 4))", "m.set_submodule('fc', L(3, 4))", "setattr(m.fc, 'weight', nn.Parameter(torch.zeros(4, 3)))",
    "m.fc.register_parameter('weight', nn.Parameter(torch.zeros(4, 3)))", "m.fc._parameters.update(weight=nn.Parameter(torch.zeros(4, 3)))",
]  # fmt: skip
PLAIN = [
    "setattr(m, 't', torch.zeros(7))", "m.__setattr__('t', torch.zeros(7))", "object.__setattr__(m, 't', torch.zeros(7))",
    "m.__dict__.update(t=torch.zeros(7))", "vars(m).update(t=torch.zeros(7))", "setattr(m, 'k', 7)", "m.__dict__.update(k=7)",
    "m.rows.append(1)", "m.rows.__setitem__(0, 1) if m.rows else m.rows.append(1)", "getattr(m.rows, 'append')(1)",
]  # fmt: skip
NET = (
    "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(3, 3)\n        self.fc.bias = None\n"
    "        self.n = nn.Sequential(nn.Linear(3, 3))\n{fields}    def get(self):\n        y = self.fc(torch.zeros(1, 3))\n"
    "        p = self.n(torch.zeros(1, 3))\n{reads}        return y\n"
)
BARE = "class M:\n    def __init__(self):\n{fields}    def get(self):\n{reads}        return z\n"
FIELDS = "        self.t = torch.zeros(3)\n        self.k = 3\n        self.rows = []\n"
READS = "        z = self.t + 0\n        q = torch.zeros(self.k, 2)\n        r = torch.zeros(len(self.rows), 1)\n"
CALLED = (
    "m = M()\nm.get()\ntry:\n    list({call} or ())\nexcept Exception: pass\ntry: m.get()\nexcept Exception: pass\n"
)


def of_self(change: str) -> str:
    return re.sub(r"(?<!nn\.)\bm\b(?!\()", "self", change)


def judge(source: str, path: Path) -> None:
    assert wrong_claims(path, HEAD + source) == {}, source


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", PLACES)
def test_layers_that_an_expression_puts_into_others_are_reckoned_with(place: str, tmp_path: Path) -> None:
    for put in PUTS:
        body = place.format(put)
        judge(
            "def make():\n    n = nn.Sequential(nn.Linear(3, 3))\n    def get():\n        y = n(torch.zeros(1, 3))\n        return y\n"
            f"    def put(k=1):\n        {body}\n    return get, put\nget, put = make()\nget()\ntry: list(put() or ())\nexcept Exception: pass\n"
            "try: get()\nexcept Exception: pass\n",
            tmp_path / "program.py",
        )
        body = place.format(
            put.replace("n", "self.n", 1) if put[0] == "n" else re.sub(r"([(\[ ])n\b(?!\.S)", r"\1self.n", put)
        )
        net = NET.format(fields="", reads="") + f"    def put(self, k=1):\n        {body}\n"
        judge(net + CALLED.format(call="m.put()"), tmp_path / "program.py")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", PLACES)
def test_attributes_that_an_expression_sets_are_reckoned_with(place: str, tmp_path: Path) -> None:
    for change in (*CHANGES, *PLAIN):
        classes = [NET, BARE] if change in PLAIN else [NET]
        for cls in classes:
            body = place.format(change)
            source = cls.format(fields=FIELDS, reads=READS)
            judge(f"{source}def put(m, k=1):\n        {body}\n" + CALLED.format(call="put(m)"), tmp_path / "program.py")
            body = place.format(of_self(change))
            judge(
                f"{source}    def put(self, k=1):\n        {body}\n" + CALLED.format(call="m.put()"),
                tmp_path / "program.py",
            )


@pytest.mark.parametrize(
    "other",
    [
        "def put(kwargs): return dict(k=kwargs.pop('n', None), j=kwargs.get('n'))",
        "def put(rows, found): return [rows.append(each) for each in found]",
        "def put(found):\n    rows = []\n    add = rows.append\n    for each in found: add(each)\n    return rows",
        "def put(found):\n    rows = []\n    return list(map(rows.append, found))",
        "def put(stack): return print(stack.pop())",
        "def put(counts, k): return counts.update({k: 1}) or counts",
        "def put(args): return setattr(args, 'lr', 0.1) or args",
        "NOTE = 'call .append( or setattr(n, ...) and n.append'",
    ],
)
def test_layers_stay_known_beside_expressions_that_change_others(other: str) -> None:
    source = f"{HEAD}{NET.format(fields='', reads='')}{other}\n"
    known = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert known["p"] == (1, 3)
