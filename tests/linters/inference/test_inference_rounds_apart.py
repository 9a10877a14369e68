"""What one round of a loop that is followed round by round shows and demands, and what the rest of a sequence holds; the fields of
data classes before what follows their initialisers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = "import random\nimport torch\nfrom dataclasses import dataclass, field\nZ = torch.zeros\n"


def program(body: str, parameters: str = "x, n, k") -> str:
    return f"{HEAD}def go({parameters}):\n" + "".join(f"    {line}\n" for line in body.splitlines())


def shown(body: str) -> dict[str, object]:
    source = program(body)
    return {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}


# A loop within one that is followed round by round: of the second item it is not known what it is, and it has one axis.
INNER = [
    "while w.shape[0] > 2:\n    w = w[1:]\n    {}",
    "for i in range(3):\n    {}",
    "for i in range(n):\n    if i:\n        {}",
    "if k:\n    {}",
]
ASSIGNED = [
    "y = w.transpose(0, -1)",
    "x = w.transpose(0, -1)",
    "y = w[..., None]",
    "y = w.reshape(-1, w.shape[-1])[0]",
    "y = -w",
    "y = w.sum(-1)",
]


@pytest.mark.parametrize("inner", INNER)
def test_what_is_no_known_tensor_in_one_round_is_not_shown(inner: str, tmp_path: Path) -> None:
    for assigned in ASSIGNED:
        for items in ("(Z(n, n), x)", "[x, Z(n, n)]"):
            loop = inner.format(assigned)
            source = program(f"for w in {items}:\n" + "".join(f"    {line}\n" for line in loop.splitlines()))
            source += "go(torch.ones(random.choice([4])), random.choice([5]), random.choice([1]))\n"
            assert wrong_claims(tmp_path / "program.py", source) == {}, source


# What a round demands of one item, in a branch that others do not come by.
DEMANDS = [
    "p, q = z.shape",
    "p = z.shape[1]",
    "p = z.transpose(0, 1)",
    "p = z.permute(1, 0)",
    "assert z.ndim == 2",
    "p = z.size(1)",
]


@pytest.mark.parametrize("demand", DEMANDS)
@pytest.mark.parametrize("test", ["x.shape[0] == n", "z is not w", "z.ndim > 1", "k and z.ndim > 1"])
def test_what_a_round_demands_is_not_true_of_the_others(test: str, demand: str, tmp_path: Path) -> None:
    for use in ("x = w * w.sum(-1, keepdim=True)", "y = w[None]; x = x[:1]", "y = torch.stack([w, w]); x = x[:1]"):
        for within in (
            f"    if {test}:\n        if k:\n            {demand}\n            {use}",
            f"    if {test}:\n        {demand}\n        {use}",
        ):
            source = program(f"w = x.flatten()\ny = x[:n]\nfor z in (y, w):\n{within}\nx = x.sum(-1, keepdim=True)")
            source += "go(torch.ones(random.choice([4]), random.choice([4])), random.choice([4]), random.choice([1]))\n"
            assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_what_every_round_demands_stays_known() -> None:
    rows = shown(
        "for z in (x, k):\n    p, q = z.shape\n    y = torch.relu(z)\n    if n:\n        p, q = z.shape\n        v = torch.relu(z)"
    )
    assert [len(rows[name] or ()) for name in "yv"] == [2, 2]  # type: ignore[arg-type]
    assert shown("for w in (Z(n, n), Z(n, 3)):\n    for i in range(k):\n        y = w.T")["y"] == ("?", "n")


# Sequences whose items have other sizes each, and how the rest of one is taken.
SEQUENCES = [
    "list(a)",
    "a",
    "sorted(a, key=len)",
    "(z[:1] for z in a)",
    "{i: Z(i + 1, 2) for i in range(k + 9)}.values()",
    "[Z(i, 2) for i in range(k + 9)]",
    "Z(k + 9, 4).split(2)",
    "a + a",
    "reversed(a)",
]


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_the_rest_of_a_sequence(sequence: str, tmp_path: Path) -> None:
    for target in ("t, *b", "*b, t", "t, *b, u", "[t, *b]"):
        body = f"a = [Z(11, 2), Z(12, 3), Z(13, 4)]\na.insert(k, Z(20, 1))\n{target} = {sequence}\np = b[0]\nq = b[-1]\nr = b[1] + 0"
        source = program(body) + "for k in (0, 2): go(0, 0, random.choice([k]))\n"
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


FIELDS = [
    "if self.a is None: self.a = Z(4, 3)", "if not isinstance(self.a, torch.Tensor): self.a = Z(4, 3)", "self.a = Z(4, 3) if self.a is None else self.a",
    "self.a = self.a or Z(4, 3) if self.a is None else self.a", "if self.b: self.a = Z(4, 3)", "self.c.append(self.a)\n        if self.a is None: self.a = Z(4, 3)",
    "try: self.a.shape\n        except AttributeError: self.a = Z(4, 3)", "a = Z(4, 3)\n        if self.a is None: self.a = a", "self.a, self.b = (self.a, 0) if self.a is not None else (Z(4, 3), 0)",
]  # fmt: skip


@pytest.mark.parametrize("after", FIELDS)
def test_a_field_that_is_set_behind_the_initialiser_perhaps(after: str, tmp_path: Path) -> None:
    for declared in ("a: object", "a: object = None", "a: 'torch.Tensor | None' = None", "a: torch.Tensor = None"):
        made = f"@dataclass\nclass Data:\n    {declared}\n    b: int = 0\n    c: list = field(default_factory=list)\n"
        made += (
            f"    def __post_init__(self):\n        {after}\n    def use(self):\n        u = self.a\n        return u\n"
        )
        body = "h = Data(x)\nif k: h = Data(None)\nv = h.a\nw = h.use()\nh = Data(x, 1)\nt = h.a"
        source = HEAD + made + program(body)[len(HEAD) :] + "for k in (0, 1): go(Z(2, 3), 0, random.choice([k]))\n"
        assert wrong_claims(tmp_path / "program.py", source) == {}, source


def test_a_field_that_is_always_set_stays_known() -> None:
    source = HEAD + (
        "@dataclass\nclass Data:\n    a: object = None\n    def __post_init__(self):\n        self.a = Z(4, 3)\n"
        "    def use(self):\n        u = self.a + 0\n        return u\n\ndef go(k):\n    h = Data(k)\n    v = h.a + 0\n"
    )
    assert {row.name: row.shape for row in analyse(ast.parse(source), source).bindings} == {"u": (4, 3), "v": (4, 3)}
