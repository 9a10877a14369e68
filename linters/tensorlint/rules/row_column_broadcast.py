from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlint.inference.hazards import BroadcastHazard
from tensorlint.rules.rule import Example, Rule

if TYPE_CHECKING:
    import libcst as cst


_ARITHMETIC = frozenset({"addition", "subtraction", "multiplication", "division"})


def is_table(hazard: BroadcastHazard) -> bool:
    """Whether what becomes of the matrix says that it is a table of each with each.

    One that is chosen from along an axis is: the nearest of the centres, the likeliest of the values. One that is summed
    along an axis is where the user wrote the column, or the brackets of both; a column that a layer, a file or keepdim gave may be summed as
    `(n, 1)` is, `.sum(1).mean()`. Multiples of a range that the user made a column are one for each of its points.
    """
    if hazard.layer_column:
        return False
    if hazard.reading == "chosen":
        return True
    if hazard.from_layer or not (hazard.own_axis or hazard.written):
        return False
    product = hazard.operation == "multiplication" or hazard.operation.endswith(("mul", "multiply"))
    return (hazard.reading == "along" and hazard.context != "reduced") or (product and hazard.own_range)


def is_uneven(hazard: BroadcastHazard) -> bool:
    """Whether two reductions over the last axis, of which one kept it, were meant to be added, multiplied, ... item by item.

    A matrix of pairs is made so too, `(x**2).sum(1, keepdim=True) + (y**2).sum(1)`, but to meet another one.
    """
    if not hazard.same_length or hazard.same_rank or hazard.mixed:
        return False
    return hazard.context == "reduced" and hazard.reading == "heap" and hazard.operation in _ARITHMETIC


def is_weighed_by_all(hazard: BroadcastHazard) -> bool:
    """Whether items `(n, t)` were weighed by as many weights `(n, 1, 1)`, each by all of them, and then added up: the sum is
    that of the weights times that of the items, for which nobody makes the whole table."""
    if hazard.spelled != "no" or hazard.mixed or hazard.context != "reduced" or hazard.reading != "heap":
        return False
    return hazard.operation in ("multiplication", "division")


def is_weighed_by_images(hazard: BroadcastHazard) -> bool:
    """Whether numbers `(n,)` were multiplied by as many, `(n, 1, 1, 1)`, which fit images, and added up: nobody makes the
    table of each with each that way, wherever the axes come from."""
    if not hazard.ones_behind or hazard.deliberate or hazard.mixed or hazard.ranges:
        return False
    product = hazard.operation in ("multiplication", "division") or hazard.operation.endswith(("mul", "multiply"))
    return product and hazard.context == "reduced" and hazard.reading == "heap"


def is_factored(hazard: BroadcastHazard) -> bool:
    """Whether all of a table of products was added up, which is the product of two sums: nobody makes the table for it, also
    where reshape made the column in another line. Its mean is taken, the sum in the expression that makes it, or the sum of
    it and another such table, as of the two terms of a cross entropy. Of a table of sums the mean is as pointless. A column
    that was asked for in so many words, `[:, None]`, is one for a table, unless a layer made it, it weighs losses, or two
    tables are added."""
    if hazard.context != "reduced" or hazard.reading != "heap" or hazard.mixed or hazard.ranges or hazard.deliberate:
        return False
    if hazard.written_column or hazard.written or not hazard.same_length or hazard.one_each:
        return False
    if hazard.spelled == "said" and not (
        hazard.layer_column or hazard.weighs_losses or (hazard.own_axis and hazard.doubled)
    ):
        return False
    product = hazard.operation in ("multiplication", "division") or hazard.operation.endswith(("mul", "multiply"))
    if hazard.same_rank:
        return hazard.rank == 2 and product and (hazard.by_mean or hazard.doubled) and not hazard.both_said
    if product:
        return hazard.by_mean or hazard.doubled or hazard.at_once
    return hazard.by_mean and hazard.operation == "addition"


def is_accident(hazard: BroadcastHazard) -> bool:
    """Whether a row that met a column looks like an accident.

    The deliberate outer operation says so: an axis of size 1 that is asked for in the expression, or in the line
    that made the operand. What speaks against it: both vectors have one length, the ranks differ (`(n, 1)` against
    `(n,)`), a layer with one output made the column, and the result is reduced to a number. See also `is_table`.
    """
    if hazard.misplaced or hazard.meets_each or is_weighed_by_images(hazard):
        return True
    if not hazard.both_grow or hazard.both_spelled or hazard.deliberate:
        return False
    if hazard.operation == "indexing" and (hazard.spelled != "no" or hazard.written):
        return False  # rows and columns to choose, each with each
    if not hazard.one_kept and is_factored(hazard):
        return True
    if hazard.one_kept and is_uneven(hazard):
        # The number is right, and only more is computed than needs to be.
        return not (hazard.averaged and hazard.both_summed)
    if hazard.same_length and not hazard.same_rank and not is_table(hazard):
        if hazard.ratio or (hazard.updates and hazard.operation in _ARITHMETIC):
            return True
    compared = hazard.operation.startswith("comparison") or hazard.operation.endswith((".eq", ".ne", "equal", "close"))
    equal = compared and not hazard.operation.endswith(("<", "<=", ">", ">="))
    if hazard.spelled_here and hazard.spelled != "no":
        # A function that makes a column of its argument compares each with each; one that predicts it, or calls a network
        # for it, has residuals, and one that picks the likeliest class of each row counts how often it is right.
        residual = (hazard.predicted and not hazard.mixed) or (
            hazard.selected
            and compared
            and (hazard.one_kept or (hazard.spelled == "shaped" and equal and not hazard.ranges))
        )
        if not (residual and hazard.context == "reduced" and hazard.reading == "heap"):
            return False
    difference = hazard.operation == "subtraction" or hazard.operation.endswith(("sub", "subtract"))
    if is_table(hazard):
        return False
    if hazard.from_layer and not hazard.same_rank:
        return hazard.spelled != "said" or hazard.same_length
    product = hazard.operation == "multiplication" or hazard.operation.endswith(("mul", "multiply"))
    if hazard.one_each:
        return is_weighed_by_all(hazard)
    if not hazard.same_length or hazard.same_rank:
        return False
    reduced = hazard.context in ("reduced", "partly")
    if hazard.ranges == 2:
        # A grid of two coordinates, unless it is how far a line is from another one.
        return reduced and difference and not hazard.plain_ranges
    if hazard.ranges and not reduced and (product or compared or (difference and hazard.plain_ranges)):
        # Something for each point of a range: multiples, thresholds, distances.
        return False
    if hazard.spelled == "no":
        return True
    if hazard.spelled == "shaped":
        # Who writes all the axes of a stack of columns, `reshape(2, 5, 1)`, says where each belongs.
        return reduced or not (compared or hazard.rank > 2)
    if hazard.predicted and (equal or product or hazard.operation in _ARITHMETIC):
        return reduced
    return reduced and (difference or hazard.images or (compared and hazard.selected))


def weights_without_axis(hazard: BroadcastHazard) -> str:
    """What to write for weights `(n, 1, 1)` of items `(n, t)`."""
    weights = hazard.left if hazard.left_shape.count(",") > hazard.right_shape.count(",") else hazard.right
    if "…" in weights or "..." in weights:
        return f".squeeze(-1) behind {weights}"
    return f"{weights}.squeeze(-1)" if weights.replace(".", "").isidentifier() else f"({weights}).squeeze(-1)"


def misplaced(hazard: BroadcastHazard) -> str:
    """The message for a reduction with more axes than what it was made of, or for such a mask."""
    longer, shorter = (hazard.left, hazard.right), (hazard.right, hazard.left)
    part, whole = longer if hazard.left_shape.count(",") > hazard.right_shape.count(",") else shorter
    suffix = hazard.misplaced or hazard.meets_each
    change = part + suffix if part.isidentifier() else f"{suffix} behind {part}"
    if hazard.meets_each:
        return (
            f"{hazard.left} {hazard.left_shape} and {hazard.right} {hazard.right_shape} became {hazard.result_shape} in "
            f"{hazard.operation}: {part} has {'an axis' if suffix[0] == '.' else 'axes'} too many behind the first, so that each sample meets that of each other "
            f"sample — {change} lines them up"
        )
    return (
        f"{hazard.left} {hazard.left_shape} and {hazard.right} {hazard.right_shape} became {hazard.result_shape} in "
        f"{hazard.operation}: {part}, a reduction of {whole}, has an axis of size 1 too many, so that each row meets the "
        f"reduction of each other row — {change} lines them up"
    )


class RowColumnBroadcast(Rule[BroadcastHazard]):
    """A row that meets a column becomes a matrix: `(n, 1) * (n,)` has shape `(n, n)`. That is what broadcasting is
    for when it is meant, and then the code says so: `x[:, None] * y[None, :]`, `unsqueeze`, `keepdim`. Where nothing
    says so, it is nearly always a forgotten `squeeze`, and the program goes on with n × n numbers. A tensor that meets a
    reduction of itself with an axis too many, `x - x.mean(1).view(-1, 1, 1)`, or scores `(B, T, T)` that meet a mask `(B, 1, 1, T)`,
    set each row against each other one whatever the code says.

    The run-time twin of this rule is `no_broadcast()` of the pytest plugin, which sees the sizes the linter cannot.
    """

    code = "TSR111"
    name = "row-column-broadcast"
    summary = "a row met a column and became a matrix, and nothing says that this was meant"
    hazard = BroadcastHazard
    reads_node = False

    flagged = (
        Example("import numpy as np\n\nmask = np.random.rand(10, 1) > 0.5\nd = np.random.rand(10)\nnearest = mask * d\n",
                shows="nearest.shape == (10, 10)"),
        Example("import torch\n\nn = 12\nlog_prob = torch.randn(n)\nadvantage = torch.randn(n, 1)\nproduct = log_prob * advantage\n",
                shows="product.shape == (12, 12)"),
        Example("import numpy as np\n\ntrue = np.random.randint(0, 2, (40, 1))\npred = np.random.randint(0, 2, 40)\nhits = true * pred\n",
                shows="hits.shape == (40, 40)"),
        Example("import torch\nfrom torch import nn\n\nvalue = nn.Linear(8, 1)(torch.rand(32, 8))\nreward = torch.rand(32)\n"
                "target = reward + value\n", shows="target.shape == (32, 32)"),
        Example("import torch\n\na = torch.rand(7, 1)\nb = torch.rand(7)\nc = torch.mul(a, b)\n", shows="c.shape == (7, 7)"),
        Example("import torch\n\nweights = torch.rand(6, 1)\nx = torch.rand(6)\ny = x / weights\n", shows="y.shape == (6, 6)"),
        Example("import numpy as np\n\na = np.ones((5, 1))\nb = np.ones(5)\nm = np.maximum(a, b)\n", shows="m.shape == (5, 5)"),
        Example("import torch\n\nimage = torch.rand(8, 8, 1)\nmask = torch.rand(8, 8)\nmasked = image * mask\n",
                shows="masked.shape == (8, 8, 8)"),
        Example("import torch\n\nB = 4\nmel = torch.rand(B, 1, 80, 20)\nreal = torch.rand(B, 80, 20)\nboth = mel + real\n",
                shows="both.shape == (4, 4, 80, 20)"),
        Example("import numpy as np\n\n\ndef scale(x, w):\n    return x * w\n\n\nout = scale(np.ones((9, 1)), np.ones(9))\n",
                shows="out.shape == (9, 9)", note="Across the functions of a file."),
        Example("import torch\n\nlogits = torch.rand(5, 1)\nlabels = torch.rand(5)\nchosen = torch.where(labels > 0.5, logits, 0.0)\n",
                shows="chosen.shape == (5, 5)"),
        Example("import numpy as np\n\ncoefficient = np.exp(np.random.randn(16, 1))\nlog_p = np.random.randn(16)\n"
                "weighted = log_p * coefficient\n", shows="weighted.shape == (16, 16)"),
        Example("import torch\n\nx = torch.rand(8, 28, 28)\nlow = x.view(8, -1).amin(1).view(8, 1, 1, 1)\nimages = x - low\n",
                shows="images.shape == (8, 8, 28, 28)", note="A reduction of the tensor itself, with an axis too many."),
    )  # fmt: skip
    silent = (
        Example("import numpy as np\n\nx = np.random.rand(5)\nd = x[:, None] * x[None, :]\n"),
        Example("import torch\n\nposition = torch.arange(16).unsqueeze(1)\nrate = torch.exp(torch.arange(0, 8, 2) * -0.5)\n"
                "angles = position * rate\n", note="A positional encoding."),
        Example("import numpy as np\n\nr = np.arange(5)[:, None]\nc = np.arange(7)[None, :]\ngrid = r * 10 + c\n"),
        Example("import torch\n\nscores = torch.rand(4, 8, 16, 16)\nmask = torch.zeros(4, 1, 1, 16)\ns = scores + mask\n"),
        Example("import numpy as np\n\nx = np.random.rand(100, 5)\nz = (x - x.mean(axis=0)) / x.std(axis=0)\n"),
        Example("import numpy as np\n\nt = np.linspace(0, 1, 50)\nf = np.arange(1, 9).reshape(-1, 1)\nw = np.sin(f * t)\n"),
        Example("import torch\n\nx = torch.rand(6, 3)\nn = x / x.norm(dim=1, keepdim=True)\n"),
        Example("import torch\n\nx = torch.rand(8, 3, 28, 28)\nimages = x - x.view(8, -1).amin(1).view(8, 1, 1, 1)\n"),
        Example("import torch\n\nlabels = torch.randint(0, 4, (9,))\none_hot = labels.unsqueeze(1) == torch.arange(4)\n"),
        Example("import torch\n\ni = torch.arange(6)\ncausal = i[:, None] >= i\n"),
        Example("import numpy as np\n\na = np.random.rand(5, 1)\nb = np.random.rand(5, 1)\nc = a * b\n"),
        Example("import numpy as np\n\nx, y = np.random.rand(5, 3), np.random.rand(7, 3)\n"
                "d = ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)\n"),
        Example("import numpy as np\n\nw = np.random.rand(3, 1)\nb = np.random.rand(4)\ny = w + b\n",
                note="Two lengths: as likely a table as a mistake."),
        Example("import torch\n\nx = torch.rand(4, 3, 8, 8)\nscale = torch.rand(3, 1, 1)\ny = x * scale\n"),
        Example("import torch\n\nrows = torch.arange(1, 7).view(3, 2)\noffsets = torch.rand(2, 3, 1)\nmoved = rows + offsets\n",
                note="Without its last axis, `(2, 3)` would not fit `(3, 2)` at all."),
        Example("import numpy as np\n\ndfn = np.array([[3], [11]])\ndfd = np.array([11, 12])\nmean = 2 * dfn / (dfd - 2)\n",
                note="Both shapes are written out."),
        Example("import numpy as np\n\na = np.arange(4).reshape(4, 1)\nb = np.arange(4).reshape(1, 4)\nc = a + b\n"),
    )  # fmt: skip

    def judge(self, hazard: BroadcastHazard, node: cst.CSTNode) -> str | None:
        if hazard.loss or hazard.context in ("reduced", "partly", "compared") or not is_accident(hazard):
            return None
        if hazard.written:  # both shapes stand in the code, and nothing speaks for one number
            return None
        if hazard.misplaced or hazard.meets_each:
            return misplaced(hazard)
        advice = f"{hazard.suggestion} gives both one shape; " if hazard.suggestion else ""
        return (
            f"{hazard.left} {hazard.left_shape} and {hazard.right} {hazard.right_shape} became {hazard.result_shape} in "
            f"{hazard.operation} — {advice}if the matrix is meant, say so with [:, None]"
        )
