from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlint.inference.hazards import RevealShapeHazard
from tensorlint.rules.rule import Example, Rule

if TYPE_CHECKING:
    import libcst as cst


class LeftoverRevealShape(Rule[RevealShapeHazard]):
    """`reveal_shape(x)` is a question to the linter, as `reveal_type` is one to a type checker: the finding is the
    answer. At run time the name does not exist, so it must not stay in the source.
    """

    code = "TSR901"
    name = "leftover-reveal-shape"
    summary = "`reveal_shape(x)`: shows what is inferred, and must not stay"
    severity = "info"
    hazard = RevealShapeHazard
    reads_node = False

    flagged = (
        Example("import torch\n\nx = torch.randn(2, 3)\nreveal_shape(x)\n", raises="NameError"),
        Example("import torch\n\nx = torch.randn(2, 3)\ny = reveal_shape(x.T)\n", raises="NameError"),
    )
    silent = (
        Example("import torch\n\nx = torch.randn(2, 3)\nprint(x.shape)\n"),
        Example("def reveal_shape(x):\n    return x.shape\n\n\nimport numpy as np\n\ny = reveal_shape(np.ones(3))\n"),
    )

    def judge(self, hazard: RevealShapeHazard, node: cst.CSTNode) -> str | None:
        return f"{hazard.argument} is {hazard.revealed} — take reveal_shape out before the code runs"
