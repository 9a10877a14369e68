from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlint.inference.hazards import RankOneVectorHazard
from tensorlint.rules.rule import Example, Rule

if TYPE_CHECKING:
    import libcst as cst


class RankOneVector(Rule[RankOneVectorHazard]):
    """`np.dot(a, a.T)` reads like an outer product. For a rank-1 array it is the inner product, a single number, and
    what follows broadcasts that number silently. The same code is right for a column of shape `(n, 1)`.

    Nothing is said where a number is evidently meant: under a root, given to `float` or `math`, compared, in a divisor of
    numbers or vectors, stored as one element (also by a caller, `K[i, j] = kernel(x, y)`), in what is called a norm, a distance or a loss,
    where a row of means is multiplied by its transpose and given back, or where a product with a matrix says that the
    vector is a column, as it comes from one, `(X @ w - y).T @ (X @ w - y)`, or goes into one, `A.T @ b` beside `b.T @ b`. A product to which a matrix is added
    is reported all the same, and so is one of two vectors without a transpose where that is the identity matrix:
    `np.eye(2) - K @ H` takes one number from each of its elements.

    The rule also reports a vector that is used bare where only a column will do: joined to a matrix
    (`np.hstack((X, y))`), given to `np.linalg.inv`, to a layer of one input feature, or to an estimator of
    scikit-learn, often after the same array was reshaped to `(n, 1)` for `fit`. These raise at run time; code that
    expects the error (`pytest.raises`, a short `try`) is left alone.
    """

    code = "TSR102"
    name = "rank-one-vector"
    summary = "a rank-1 array where a row or column vector is meant"
    hazard = RankOneVectorHazard
    reads_node = False

    flagged = (
        Example("import numpy as np\n\na = np.random.randn(5)\nouter = np.dot(a, a.T)\n", shows="outer.shape == ()"),
        Example("import numpy as np\n\na = np.random.randn(5)\nouter = a @ a.T\n", shows="outer.shape == ()"),
        Example("import numpy as np\n\nb = np.ones(3)\ngram = b * b.T\n", shows="gram.shape == (3,)"),
        Example("import numpy as np\n\ndata = np.random.randn(5, 100)\nmean = data.mean(axis=1)\n"
                "cov = np.dot(data, data.T) / 100 - np.dot(mean, mean.T)\n", shows="np.dot(mean, mean.T).shape == ()"),
        Example("import numpy as np\n\np = np.array([10.0, 5.0])\nq = np.array([3.0, 10.0])\n"
                "update = np.dot(p, p.T) / np.dot(p, q)\n", shows="update.shape == ()"),
        Example("import numpy as np\n\na = np.ones(4)\nm = np.matmul(a, a.T)\n", shows="m.shape == ()"),
        Example("import numpy as np\n\na = np.ones(4)\nm = a.T @ a\n", shows="m.shape == ()"),
        Example("import torch\n\na = torch.randn(5)\nouter = a @ a.T\n", shows="outer.shape == ()"),
        Example("import torch\n\na = torch.randn(5)\nouter = torch.matmul(a, a.t())\n", shows="outer.shape == ()"),
        Example("import numpy as np\n\ng = np.zeros(3) + 1\nfisher = g.dot(g.T)\n", shows="fisher.shape == ()"),
        Example("import numpy as np\n\na = np.linspace(0, 1, 6)\nouter = np.inner(a, a.T)\n", shows="outer.shape == ()"),
        Example("import numpy as np\n\nw = np.random.rand(3)\nprojection = np.eye(3) - w @ w.T\n", shows="(w @ w.T).shape == ()"),
        Example("import numpy as np\n\nP, H = np.eye(2), np.array([1.0, 0.0])\nK = P @ H / (H @ P @ H + 0.1)\nP = (np.eye(2) - K @ H) @ P\n",
                shows="(K @ H).shape == ()", note="The gain of a Kalman filter."),
        Example("import numpy as np\n\nX, y = np.random.rand(20, 3), np.random.rand(20)\ntable = np.hstack((X, y))\n",
                raises="ValueError: all the input arrays must have same number of dimensions"),
        Example("import numpy as np\n\na, b = np.ones(4), np.zeros(4)\npairs = np.concatenate((a, b), axis=1)\n",
                raises="AxisError: axis 1 is out of bounds"),
        Example("import torch\n\nstates, time = torch.randn(8, 3), torch.zeros(8)\nboth = torch.cat([states, time], dim=1)\n",
                raises="RuntimeError: Tensors must have same number of dimensions"),
        Example("import torch\nfrom torch import nn\n\nx = torch.linspace(0, 1, 50)\nmodel = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))\n"
                "fitted = model(x.unsqueeze(1))\ncurve = model(x)\n", raises="RuntimeError: mat1 and mat2 shapes cannot be multiplied",
                note="A column in one place, bare in another."),
    )  # fmt: skip
    silent = (
        Example("import numpy as np\n\na, b = np.ones(3), np.zeros(4)\nc = np.hstack((a, b))\nd = np.concatenate([a, b])\n"),
        Example("import numpy as np\n\nX, y = np.random.rand(20, 3), np.random.rand(20)\ntable = np.column_stack((X, y))\nwith_ones = np.c_[np.ones(20), X]\n"),
        Example("import torch\nfrom torch import nn\n\nscore = nn.Linear(5, 1)(torch.randn(5))\n", note="One sample of five features."),
        Example("import numpy as np\n\nX, y = np.ones((2, 2)), np.ones(2)\ntry:\n    z = np.hstack((X, y))\nexcept ValueError:\n    z = X\n"),
        Example(
            "import numpy as np\n\na = np.random.randn(5, 1)\nouter = np.dot(a, a.T)\n", shows="outer.shape == (5, 5)"
        ),
        Example("import numpy as np\n\na = np.random.randn(5)\ninner = np.dot(a, a)\n"),
        Example("import numpy as np\n\nx = np.random.randn(5)\nlength = np.sqrt(np.dot(x.T, x))\nunit = x / length\n",
                shows="np.isclose(length, np.linalg.norm(x))", note="A number is meant, and is right."),
        Example("import numpy as np\n\nX, y, w = np.random.rand(20, 3), np.random.rand(20), np.zeros(3)\nerror = X @ w - y\n"
                "print(error.T @ error / (2 * len(y)))\n", note="A column transposed, times a column."),
        Example("import numpy as np\n\na = np.random.randn(5)\nouter = np.outer(a, a)\n"),
        Example("import numpy as np\n\na = np.random.randn(5)\nouter = a[:, None] @ a[None, :]\n"),
        Example("import numpy as np\n\nx = np.random.randn(4, 3)\ngram = x @ x.T\n"),
        Example("import numpy as np\n\nx = np.random.randn(4, 3)\ny = x @ np.ones(3)\n"),
        Example("import torch\n\nx = torch.randn(4, 3)\ngram = x @ x.T\n"),
        Example("import torch\n\na = torch.randn(5)\ns = torch.dot(a, a)\n"),
        Example("import numpy as np\n\na = np.array([[1.0, 2.0]])\nb = a @ a.T\n"),
        Example("import numpy as np\n\nn = np.linalg.norm(np.ones(3))\n"),
        Example("import numpy as np\n\nlabels = np.zeros(10)\nbias = np.ones(10)\ntotal = labels + bias\n"),
        Example("import torch\n\n\ndef gram(p, gathered):\n    if p.shape == torch.Size([0]):\n        with gathered(p):\n"
                "            return p @ p.T\n    return p @ p.T\n",
                note="An empty placeholder: DeepSpeed's ZeRO-3 fills it inside the block."),
        Example("import numpy as np\n\n\ndef gram(v):\n    return np.dot(v, v.T)\n"),
    )  # fmt: skip

    def judge(self, hazard: RankOneVectorHazard, node: cst.CSTNode) -> str | None:
        return f"{hazard.problem}; {hazard.operand} has shape {hazard.shape} — {hazard.suggestion}"
