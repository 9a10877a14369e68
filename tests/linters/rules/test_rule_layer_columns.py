"""A layer's column that also met a column of the user's own stays a layer's, detached or not."""

from __future__ import annotations

import pytest
from rule_programs import codes

TOP = (
    "import torch\nfrom torch import nn\n\ncritic = nn.Linear(3, 1)\nvalues, returns, log_probs = [], [], []\nfor _ in range(5):\n"
    "    values.append(critic(torch.randn(4, 3)))\n    returns.append(torch.rand(4).unsqueeze(1))\n    log_probs.append(torch.randn(4))\n"
    "values, returns, log_probs = torch.cat(values), torch.cat(returns), torch.cat(log_probs)\n"
)
WRONG = ("log_probs * (returns - values)", "log_probs * (returns - values).detach()", "log_probs * advantage.detach()")
RIGHT = (
    "log_probs.unsqueeze(1) * advantage.detach()",
    "log_probs * (returns - values).squeeze(1)",
    "(returns * log_probs)",
)


@pytest.mark.parametrize("part", [*WRONG, *RIGHT])
def test_a_policy_loss(part: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle")
    code = f"{TOP}advantage = returns - values\nproduct = {part}\nloss = -product.mean()\n"
    assert codes(code) == (["TSR112"] if part in WRONG else [])
    scope: dict[str, object] = {}
    exec(code, scope)
    assert isinstance(product := scope["product"], torch.Tensor)
    assert part == "(returns * log_probs)" or (product.numel() == 400) == (part in WRONG)
