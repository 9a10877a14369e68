from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlint.inference.hazards import RankOneCreationHazard
from tensorlint.rules.rule import Example, Rule

if TYPE_CHECKING:
    import libcst as cst


class RankOneCreation(Rule[RankOneCreationHazard]):
    """The house rule of code that has been bitten: no rank-1 arrays. A vector is a column `(n, 1)` or a row `(1, n)`,
    and says which. Labels, biases and index arrays are rank 1 in most code, so the rule is for those who ask for it
    (`--strict`).
    """

    code = "TSR103"
    name = "rank-one-creation"
    summary = "a call that creates a rank-1 array"
    default = "strict"
    severity = "info"
    fix_applicability = "unsafe"
    hazard = RankOneCreationHazard
    reads_node = False

    flagged = (
        Example(
            "import numpy as np\n\na = np.random.randn(5)\n", fixed="import numpy as np\n\na = np.random.randn(5, 1)\n"
        ),
        Example("import numpy as np\n\na = np.zeros(5)\n", fixed="import numpy as np\n\na = np.zeros((5, 1))\n"),
        Example("import numpy as np\n\na = np.ones(5)\n", fixed="import numpy as np\n\na = np.ones((5, 1))\n"),
        Example(
            "import numpy as np\n\na = np.array([1, 2])\n", fixed="import numpy as np\n\na = np.array([[1], [2]])\n"
        ),
        Example("import torch\n\na = torch.randn(5)\n", fixed="import torch\n\na = torch.randn(5, 1)\n"),
        Example("import torch\n\na = torch.zeros(5)\n", fixed="import torch\n\na = torch.zeros((5, 1))\n"),
        Example(
            "import torch\n\na = torch.tensor([1.0, 2.0])\n", fixed="import torch\n\na = torch.tensor([[1.0], [2.0]])\n"
        ),
        Example("import torch\n\na = torch.rand(5, requires_grad=True)\n"),
        Example("import torch\n\na = torch.empty(7)\n"),
        Example("import numpy as np\n\na = np.random.rand(3)\n"),
        Example("import numpy as np\n\nn = 4\na = np.zeros(n)\n"),
        Example("import numpy as np\n\na = np.full(5, 1.0)\n"),
    )
    silent = (
        Example("import numpy as np\n\na = np.random.randn(5, 1)\n"),
        Example("import numpy as np\n\na = np.zeros((5, 1))\n"),
        Example("import numpy as np\n\na = np.array([[1], [2]])\n"),
        Example("import torch\n\na = torch.randn(1, 5)\n"),
        Example("import torch\n\na = torch.zeros(2, 3)\n"),
        Example("import torch\n\na = torch.tensor(1.0)\n"),
        Example("import numpy as np\n\na = np.eye(3)\n"),
        Example("import numpy as np\n\na = np.array([])\n"),
        Example("import numpy as np\n\nlist_of = [0] * 5\n"),
        Example("import torch\n\nx = torch.randn(3, 4)\ny = x.sum(0)\n"),
        Example("import numpy as np\n\na = np.arange(5)\n"),
        Example("import numpy as np\n\na = np.linspace(0, 1, 5)\n"),
        Example("zeros = len\na = zeros('abc')\n"),
    )

    def judge(self, hazard: RankOneCreationHazard, node: cst.CSTNode) -> str | None:
        written = f" — write {hazard.replacement}" if hazard.replacement else " — give it a second axis"
        return f"{hazard.call} is a rank-1 array {hazard.shape}, neither a row nor a column{written}"

    def fix(self, hazard: RankOneCreationHazard, node: cst.CSTNode) -> cst.CSTNode | None:
        import libcst as cst

        return cst.parse_expression(hazard.replacement) if hazard.replacement else None
