"""Lists that a loop extends by the rows of each batch, and what they are joined to."""

from __future__ import annotations

import pytest
from rule_programs import findings

from tensorlint.findings import Finding

PROGRAM = """import torch
from torch import nn

model = nn.Linear(4, 1)
outs, targets = [], []
for _ in range(3):
    x, y = torch.randn(5, 4), torch.randn(5)
    outs.extend(model(x){squeeze}.detach())
    {others}
    targets.extend(y)
p, t = torch.stack(outs), torch.stack(targets)
error = (p{after} - t).abs().mean()
"""


def findings_with(squeeze: str = "", after: str = "", others: str = "pass") -> list[Finding]:
    code = PROGRAM.format(squeeze=squeeze, after=after, others=others)
    pytest.importorskip("torch", reason="the programs are run")
    exec(code, {"__name__": "case"})
    return findings(code)


def test_a_column_of_collected_rows_is_reported() -> None:
    (found,) = findings_with()
    assert found.code == "TSR112"
    assert "p (15, 1) and t (15,)" in found.message


@pytest.mark.parametrize(
    "given",
    [
        {"squeeze": ".squeeze(-1)"},
        {"after": ".squeeze(-1)"},
        {"squeeze": ".flatten()", "others": "outs.extend([])"},
    ],
)
def test_rows_without_the_axis_are_not(given: dict[str, str]) -> None:
    assert findings_with(**given) == []
