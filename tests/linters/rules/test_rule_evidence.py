"""The lines of evidence below a finding: where things were made, what became of them, and nothing that is said already."""

from __future__ import annotations

import pytest
from rule_programs import findings


def evidence(code: str) -> list[str]:
    (found,) = findings(code)
    return [f"{each.line}: {each.message}" for each in found.evidence]


COLUMN = "import torch\nfrom torch import nn\n\nx, y = torch.rand(8, 3), torch.rand(8)\nd = nn.Linear(3, 1)(x) - y\n"


def test_a_reduction_on_another_line_is_named() -> None:
    assert "6: reduced to one number here: (d ** 2).mean()" in evidence(COLUMN + "loss = (d ** 2).mean()\n")


def test_so_is_one_in_a_function_that_is_called() -> None:
    code = COLUMN + "\n\ndef total(values):\n    return values.abs().sum()\n\n\nloss = total(d)\n"
    assert "9: reduced to one number here: values.abs().sum()" in evidence(code)


def test_the_first_of_several_reductions_is_named() -> None:
    said = [line for line in evidence(COLUMN + "a = d.mean()\nb = d.sum()\n") if "reduced" in line]
    assert said == ["6: reduced to one number here: d.mean()"]


def test_a_reduction_on_the_line_itself_is_in_plain_sight() -> None:
    code = COLUMN.replace("d = nn.Linear(3, 1)(x) - y", "d = (nn.Linear(3, 1)(x) - y).mean()")
    assert not any("reduced" in line for line in evidence(code))


@pytest.mark.parametrize(
    "operation",
    [
        "(np.zeros((5, 1)) - np.ones(5)).sum()",
        "np.zeros((5, 1)) / np.ones(5)",
        "np.dot(np.ones(5), np.ones(5).T)",
        "np.linalg.inv(np.ones(5))",
        "np.interp(np.linspace(0, 1, num=12), np.clip(np.arange(40), 2, 30), np.arange(40) * 1.0).T",
        "np.transpose(np.concatenate([np.arange(40), np.arange(40), np.arange(40), np.arange(40)]))",
    ],
)
def test_an_operand_that_stands_there_was_not_made_by_itself(operation: str) -> None:
    for line in evidence(f"import numpy as np\n\nout = {operation}\n"):
        name, _, how = line.partition(": ")[2].partition(" was made ")
        assert name.partition("(")[0] != how.partition(" by ")[2].partition("(")[0], line


def test_a_module_that_stands_there_was_not_made_there_either() -> None:
    assert evidence("import torch\nfrom torch import nn\n\ny = nn.Linear(2, 2).forward(torch.rand(1, 2))\n") == []
    assert evidence("import torch\nfrom torch import nn\n\nm = nn.Linear(2, 2)\ny = m.forward(torch.rand(1, 2))\n") == [
        "4: m was made here"
    ]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "import numpy as np\n\nx = np.ones((5, 4))\nfor k in range(5):\n    y = np.dot(x[k], x[k].T)\n",
            "3: x was made (5, 4) by np.ones((5, 4))",
        ),
        (
            "import torch\n\nx = torch.rand(5, 4)\n\n\ndef first(x):\n    return x[0].t()\n\n\nfirst(x)\n",
            "3: x was made (5, 4) by torch.rand(5, 4)",
        ),
        (
            "import torch\n\nmodel = torch.nn.Linear(2, 1)\ndecay = model.weight.squeeze().t()\n",
            "3: model was made here",
        ),
        (
            "import numpy as np\n\n\nclass Net:\n    def __init__(self):\n        self.w = np.ones((3, 3))\n\n"
            "    def row(self):\n        return self.w[0].T\n\n\nNet().row()\n",
            "6: self.w was made (3, 3) by np.ones((3, 3))",
        ),
    ],
)
def test_what_is_made_in_the_operand_is_made_of_something(code: str, said: str) -> None:
    assert said in evidence(code)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("np.zeros((n, 1))", "np.zeros((33, 1))"),
        ("np.empty(shape=(n, 1), dtype=float)", "np.empty((33, 1))"),
        ("np.full((n, 1), 2.0)", "np.full((33, 1), ...)"),
        ("np.random.rand(n, 1)", "np.random.rand(33, 1)"),
        ("np.random.random((n, 1))", "np.random.random(size=(33, 1))"),
        ("np.random.normal(0, 1, (n, 1))", "np.random.normal(size=(33, 1))"),
        ("np.random.randint(0, 5, (n, 1))", "np.random.randint(..., size=(33, 1))"),
        ("np.random.choice(5, (n, 1))", "np.random.choice(..., size=(33, 1))"),
        ("np.array([[1.0]] * n)", "np.array(...) of shape (33, 1)"),
        ("torch.zeros((n, 1))", "torch.zeros(33, 1)"),
        ("torch.randn(n, 1)", "torch.randn(33, 1)"),
        ("torch.full((n, 1), 2.0)", "torch.full((33, 1), ...)"),
        ("torch.randint(0, 5, (n, 1))", "torch.randint(..., size=(33, 1))"),
        ("torch.normal(0.0, 1.0, (n, 1))", "torch.normal(..., size=(33, 1))"),
        ("torch.tensor([[1.0]] * n)", "torch.tensor([[1.0]] * n)"),
        ("torch.FloatTensor(n, 1)", "torch.FloatTensor(33, 1)"),
    ],
)
def test_how_an_array_was_made_is_told_as_it_would_be_written(made: str, told: str) -> None:
    library = made.partition(".")[0]
    code = f"import numpy as np\nimport torch\nn = 33\nx = {made}\nloss = ((x - {library}.zeros(n)) ** 2).mean()\n"
    assert f"4: x was made (33, 1) by {told}" in evidence(code)
    if "..." not in told:
        np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
        assert tuple(eval(told, {"np": np, "torch": torch, "n": 33}).shape) == (33, 1)


LONG = "[" + ", ".join(str(at % 7) for at in range(40)) + "]"


@pytest.mark.parametrize("given", ["[7, 23, 39]", "(7, 23, 39)", "xs", "[x for x in xs]", LONG])
def test_a_list_is_not_made_by_the_call_it_is_given_to(given: str) -> None:
    (found,) = findings(f"import numpy as np\n\nxs = [1, 2, 3]\nout = np.transpose({given})\n")
    assert found.evidence == ()
    # An index stands behind the array that a list makes, and never behind the list.
    assert f"np.array({given if given is not LONG else '…'})[:, None]" in found.message


POLICY = """import torch
from torch import nn

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.{part} = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)

    def act({own}, x):
        return {receiver}.forward(x)

def main():
    policy = Policy()
    policy.act(torch.zeros(3, 2))

main()
"""


@pytest.mark.parametrize(("own", "receiver", "said"), [
    ("self", "self", []), ("this", "this", []), ("self", "self.head", ["8: self.head was made here"]),
])  # fmt: skip
def test_self_is_every_object_of_the_class(own: str, receiver: str, said: list[str]) -> None:
    """Where one of them was made says nothing; of a part of it, there is one place."""
    assert evidence(POLICY.format(own=own, receiver=receiver, part="head")) == said


def test_the_object_itself_was_made_somewhere() -> None:
    code = POLICY.format(own="self", receiver="policy", part="head").replace("policy.act", "policy.forward")
    assert "17: policy was made here" in [
        f"{each.line}: {each.message}" for found in findings(code) for each in found.evidence
    ]
