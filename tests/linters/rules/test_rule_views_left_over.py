"""Views whose sizes are attributes, quotients and what is left over (-1): what torch refuses is reported, and nothing else."""

from __future__ import annotations

import itertools
import random

import pytest

from tensorlint.checking import Selection, findings_of
from tensorlint.findings import Finding
from tensorlint.rules.registry import load
from tensorlint.source import PythonSource

torch = pytest.importorskip("torch")

HEAD = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.d, self.h, self.dh = d, h, d // h
        self.qkv = nn.Linear(d, d)

    def forward(self, x):
        b, t, d = x.shape
        x = self.qkv(x)
        {body}
"""
# How many are left over may be anything where d // h does not come out.
UNDECIDED = ("left over in front", "one axis for both")
SPLIT = {
    "left over": "x.view(b, t, self.h, -1)",
    "left over, the other": "x.view(b, t, -1, self.h)",
    "a quotient": "x.view(b, t, self.h, d // self.h)",
    "an attribute": "x.view(b, t, self.h, self.dh)",
    "left over in front": "x.view(-1, t, self.h, self.dh)",
    "left over, by reshape": "x.reshape(b, t, self.h, -1)",
    "left over, unflatten": "x.unflatten(-1, (self.h, self.dh))",
    "one axis for both": "x.view(b, -1, self.h, self.dh)",
}
TURN = {
    "transposed": ".transpose(1, 2)",
    "transposed the last": ".transpose(2, 3)",
    "transposed twice": ".transpose(1, 2).transpose(1, 2)",
    "permuted": ".permute(0, 2, 1, 3)",
    "permuted the last": ".permute(0, 1, 3, 2)",
    "permuted the batch": ".permute(1, 0, 2, 3)",
    "copied": ".transpose(1, 2).contiguous()",
    "as it was": "",
}
MERGE = {
    "names": ".view(b, t, d)",
    "an attribute": ".view(b, t, self.d)",
    "left over": ".view(b, t, -1)",
    "left over in the middle": ".view(b, -1, d)",
    "rows": ".view(-1, d)",
    "rows, by an attribute": ".view(b * t, self.d)",
    "all": ".view(-1)",
    "split": ".view(b, t, self.h, -1)",
    "heads": ".view(b * self.h, t, -1)",
}
# (b, t, d, h), some of them equal by chance.
SIZES = [
    (3, 5, 8, 2),
    (2, 3, 12, 3),
    (5, 2, 12, 4),
    (2, 7, 6, 3),
    (3, 3, 8, 2),
    (2, 5, 4, 2),
    (4, 7, 9, 3),
    (2, 2, 4, 2),
]


def program(split: str, turn: str, merge: str) -> str:
    return HEAD.format(body=f"return {SPLIT[split]}{TURN[turn]}{MERGE[merge]}")


def findings(code: str) -> list[Finding]:
    return findings_of(PythonSource("case.py", code), load(), Selection(frozenset({"TSR201"})), None)[0]


def refusals(code: str) -> list[bool]:
    """For some sizes, whether torch refuses the view."""
    names: dict[str, object] = {}
    exec(code, names)
    found = []
    for b, t, d, h in SIZES:
        net = names["Net"](d, h)  # type: ignore[operator]
        refused = False
        try:
            net(torch.randn(b, t, d))
        except RuntimeError as error:
            refused = "view size is not compatible" in str(error)
            if not refused:
                raise
        found.append(refused)
    return found


@pytest.mark.parametrize("merge", MERGE)
@pytest.mark.parametrize("turn", TURN)
@pytest.mark.parametrize("split", SPLIT)
def test_a_view_is_reported_where_torch_refuses_it(split: str, turn: str, merge: str) -> None:
    code = program(split, turn, merge)
    refused, reported = refusals(code), findings(code) != []
    assert all(refused) or not reported
    if split not in UNDECIDED and merge != "heads":
        assert reported or not all(refused)


def test_what_is_left_over_is_written_as_a_reader_would() -> None:
    (finding,) = findings(program("left over", "transposed", "names"))
    assert "(b, self.h, t, self.d//self.h)" in finding.message


# (parameters, the tensor, the view, what the message says of the default)
BY_DEFAULT = {
    "a parameter": (
        "b=2, groups=1",
        "torch.randn(b, groups, 6).transpose(1, 2)",
        ".view(b, -1)",
        "unless groups is 1, the default",
    ),
    "a keyword": (
        "b, *, groups=1",
        "torch.randn(b, groups, 6).transpose(1, 2)",
        ".view(-1)",
        "unless groups is 1, the default",
    ),
    "two, of which one is enough": (
        "n=1, m=1",
        "torch.randn(n, m).t()",
        ".view(-1)",
        "unless m or n is 1, the default",
    ),
    "another default": ("b=2, groups=3", "torch.randn(b, groups, 6).transpose(1, 2)", ".view(-1)", ""),
    "refused of 1 too": ("b=1", "torch.randn(b, 3, 8).transpose(1, 2)", ".view(b, 24)", ""),
    "no default": ("b, groups", "torch.randn(b, groups, 6).transpose(1, 2)", ".view(b, -1)", ""),
}


@pytest.mark.parametrize("name", BY_DEFAULT)
def test_that_torch_raises_is_true_of_the_defaults_too(name: str) -> None:
    given, made, view, words = BY_DEFAULT[name]
    code = f"import torch\n\n\ndef f({given}):\n    return {made}{view}\n"
    (finding,) = findings(code)
    assert f"and torch raises{' ' + words if words else ''} —" in finding.message
    names: dict[str, object] = {}
    exec(code, names)
    needed = [each.strip("* ") for each in given.split(",") if "=" not in each and each.strip() != "*"]
    ones = {each.partition("=")[0].strip(): 1 for each in given.split(",") if each.endswith("=1")}
    if words:
        names["f"](**dict.fromkeys(needed, 2) | {words.split()[1]: 1})  # type: ignore[operator]
    for values in (
        dict.fromkeys(needed, 2) | dict.fromkeys(ones, 3),
        *([dict.fromkeys(needed, 2)] if not words else []),
    ):
        with pytest.raises(RuntimeError, match="view size"):
            names["f"](**values)  # type: ignore[operator]


def test_a_field_that_is_one_by_default_is_said_to_be() -> None:
    code = program("a quotient", "transposed", "names")
    (finding,) = findings(code.replace("d, h):", "d, h=1):"))
    assert "and torch raises unless self.h is 1, the default —" in finding.message
    (finding,) = findings(code)
    assert "and torch raises —" in finding.message


@pytest.mark.parametrize(
    ("merge", "shown"),
    [
        ("all", "view(-1) would"),
        ("left over", "view(b, t, -1) would"),
        ("names", "view(b, t, self.d) would"),
        ("heads", "view(b * self.h, t, -1)"),
    ],
)
def test_what_is_left_over_stands_in_the_message(merge: str, shown: str) -> None:
    (finding,) = findings(program("left over", "transposed", merge))
    assert shown in finding.message


def quotients(draw: random.Random) -> str:
    factors = [draw.choice(["b", "t", "d", "h", "2"]) for _ in range(draw.randint(1, 4))]
    return "*".join(factors)


def test_a_quotient_without_common_factors_is_the_same_number() -> None:
    from tensorlint.inference import sizes as S

    draw = random.Random(5)
    symbols = {name: S.Symbol(name) for name in "btdh"}
    for _ in range(500):
        S.begin()
        over, under = quotients(draw), quotients(draw)
        if draw.random() < 0.3:
            over = f"{over} + {quotients(draw)}"
        named = {name: S.of_symbol(atom) for name, atom in symbols.items()}

        def size(text: str, named: dict[str, S.Poly] = named) -> S.Size:
            total: S.Size = 0
            for term in text.split(" + "):
                product: S.Size = 1
                for factor in term.split("*"):
                    product = S.multiply(product, int(factor) if factor.isdigit() else named[factor])
                total = S.add(total, product)
            return total

        quotient = S.floor_divide(size(over), size(under))
        assert quotient is not None
        for values in itertools.islice(itertools.product((1, 2, 3, 5), repeat=4), 0, 256, 7):
            numbers = dict(zip("btdh", values, strict=True))
            known = S.substitute(quotient, {symbols[name]: value for name, value in numbers.items()})
            assert known == eval(over, {}, numbers) // eval(under, {}, numbers), (over, under, numbers)
