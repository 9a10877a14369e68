from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlint.inference.hazards import RankOneTransposeHazard
from tensorlint.rules.rule import Example, Rule

if TYPE_CHECKING:
    import libcst as cst


class RankOneTranspose(Rule[RankOneTransposeHazard]):
    """A rank-1 array has one axis, so transposing it changes nothing: `x.T` of an array of shape `(5,)` is that
    array again. Code that writes `.T` there means a column or a row, and gets neither. NumPy says nothing; torch
    warns and will stop accepting it. In a quadratic form, `w.T @ cov @ w`, `p @ cov @ p.T` or
    `d.T @ np.linalg.solve(cov, d)`, also by a name of the transpose, the number is the right one all the same, and nothing is
    said; nor where a number is evidently meant, `np.sqrt(d.T @ e)` (see rank-one-vector), or nothing else can come of it, as
    with a row of a matrix, `w.T @ X[i]`. A term of an optimisation problem, `cp.Minimize(cp.quad_form(x, P) + q.T @ x)` of cvxpy,
    is one, too.
    """

    code = "TSR101"
    name = "rank-one-transpose"
    summary = "`.T`, `.t()`, `transpose` of a rank-1 array: it does nothing"
    hazard = RankOneTransposeHazard
    reads_node = False

    flagged = (
        Example("import numpy as np\n\nx = np.linspace(0, 1, 5)\ncolumn = x.T\n", shows="column.shape == (5,)"),
        Example("import numpy as np\n\nw = np.zeros(3)\ncolumn = np.transpose(w)\n", shows="column.shape == (3,)"),
        Example("import numpy as np\n\nw = np.ones(4)\nrow = w.transpose()\n", shows="row.shape == (4,)"),
        Example("import torch\n\ne = torch.randn(6, 16)\nscore = e[0] @ e[1].T\n", shows="score.shape == ()"),
        Example("import torch\n\nv = torch.randn(4)\nc = v.t()\n", shows="c.shape == (4,)"),
        Example("import numpy as np\n\ndata = np.random.randn(5, 10)\nmean = data.mean(axis=1)\ncentred = data - mean[:, None]\n"
                "m = mean.T\n", shows="m.shape == (5,)"),
        Example("import numpy as np\n\nrng = np.random.default_rng(0)\nx = rng.normal(size=7)\ny = x.T + 1\n", shows="y.shape == (7,)"),
        Example("import numpy as np\n\nm = np.arange(12).reshape(3, 4)\nrow = m[0].T\n", shows="row.shape == (4,)"),
        Example("import numpy as np\n\n\ndef column(values):\n    return np.array([1.0, 2.0, 3.0]).T\n\n\nc = column(None)\n",
                shows="c.shape == (3,)"),
        Example("import numpy as np\n\nx = np.full(3, 2.0).T\n", shows="x.shape == (3,)"),
        Example("import numpy as np\n\nflat = np.eye(3).ravel().T\n", shows="flat.shape == (9,)"),
        Example("import torch\n\nb = torch.zeros(3)\nbias = b.T\n", shows="bias.shape == (3,)"),
    )  # fmt: skip
    silent = (
        Example("import numpy as np\n\nx = np.random.randn(3, 1)\ny = x.T @ x\n"),
        Example("import numpy as np\n\na = np.random.randn(5)\ns = a @ a\n"),
        Example("import numpy as np\n\nw, cov = np.full(4, 0.25), np.eye(4)\nvariance = w.T @ cov @ w\n",
                note="A quadratic form is a number, with the transpose and without."),
        Example("import numpy as np\n\nd, cov = np.random.randn(3), np.eye(3)\nsquared = d.T @ np.linalg.solve(cov, d)\n",
                note="So is one with an inverse, a Mahalanobis distance."),
        Example("import numpy as np\n\np, W = np.ones(5), np.eye(5)\nenergy = -0.5 * p @ W @ p.T\n"),
        Example("import numpy as np\n\n\ndef is_certificate(A, y):\n    b = np.array([1.0, 2.0, 3.0])\n    return 1 if b.T @ y < 0 else 0\n",
                note="Whatever `y` is, a condition asks for one number."),
        Example("import numpy as np\n\nx = np.linspace(0, 1, 5)[:, None].T\n"),
        Example("import torch\n\nw = torch.randn(2, 3).T\n"),
        Example("import torch\n\nw = torch.randn(2, 3).t()\n"),
        Example("class Frame:\n    T = None\n\n\nf = Frame().T\n"),
        Example("import numpy as np\n\n\ndef f(x):\n    return x.T\n"),
        Example("import numpy as np\n\nx = np.atleast_2d(np.ones(3)).T\n"),
        Example("import numpy as np\n\nx = np.ones(6).reshape(2, 3).T\n"),
        Example("import numpy as np\n\nx = np.outer(np.ones(3), np.ones(2)).T\n"),
        Example("import numpy as np\n\nx = np.vstack([np.ones(3), np.zeros(3)]).T\n"),
        Example("import numpy as np\n\nx = np.array([[1, 2, 3]]).T\n"),
        Example("import numpy as np\n\nX = np.random.rand(50, 100)\nfor rows in (X, X[0]):\n    columns = rows.T\n",
                note="One of the two is a matrix."),
        Example("import numpy as np\n\n\ndef last_axis_first(x):\n    return x.T\n\n\na = last_axis_first(np.ones((3, 4)))\n"
                "b = last_axis_first(np.ones(3))\n"),
    )  # fmt: skip

    def judge(self, hazard: RankOneTransposeHazard, node: cst.CSTNode) -> str | None:
        nothing = f"{hazard.receiver} has shape {hazard.shape}: {hazard.spelling} of a rank-1 array does nothing"
        return f"{nothing}{f', and {hazard.product}' if hazard.product else ''} — write {hazard.suggestion}"
