from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlint.inference.hazards import BroadcastHazard, Hazard, WrongAxisHazard
from tensorlint.rules.row_column_broadcast import is_accident, misplaced, weights_without_axis
from tensorlint.rules.rule import Example, Rule

if TYPE_CHECKING:
    import libcst as cst


_ENDS = {
    "reduced": "all of it is reduced to one number",
    "partly": "it is reduced to one number in steps",
    "compared": "a loss compares all of it",
}


def _where_it_was_made(hazard: BroadcastHazard) -> str:
    """The change of the one operation whose matrix a loss compares with a column: with its row a column, it makes one too."""
    if len(hazard.follows) != 1:
        return ""
    (cause,) = hazard.follows
    column = next((each for each in (cause.left_shape, cause.right_shape) if each.endswith(", 1)")), None)
    if column is None or column not in (hazard.left_shape, hazard.right_shape) or not cause.column_suggestion:
        return ""
    return f"{cause.column_suggestion} in line {getattr(cause.node, 'lineno', 0)}"


class LossBroadcast(Rule[Hazard]):
    """A loss of `(n, 1)` and `(n,)` compares every prediction with every target: n × n differences, whose mean is a
    number that goes down while the model learns the average. torch warns in some losses, and not at all in
    `((a - b) ** 2).mean()`, `poisson_nll_loss` or an accuracy `(pred == y).sum()`; binary cross entropy raises.

    The rule reports losses whose two operands have different shapes, differences and comparisons of a row and a
    column that are reduced to a number, and a square matrix that meets a reduction of itself, of its squares or exponentials (`+ 1e-8` or not), over the wrong axis. So are items `(n, t)` that are weighed by as many weights `(n, 1, 1)` and added up,
    and losses `(n,)` of images that are weighed by what fits these, `(n, 1, 1, 1)`. A matrix
    that a row and a column became, and that a loss then compares with another shape, is reported once, where it was made. One that is read along its axes is a table of
    each with each, and left alone: a choice, `argmin(0)`, or a sum along an axis where the code wrote the column itself,
    `grid.reshape(-1, 1)`. So is a loss that asks both operands for an axis, `loss(q.unsqueeze(2), y.unsqueeze(1))`, and a matrix that meets another one: `a.sum(1, keepdim=True) + b.sum(1)` of squared distances;
    and of two sums, of which one kept its axis, the mean of their sum or difference, which is the same number as it would be
    without.
    """

    code = "TSR112"
    name = "loss-broadcast"
    summary = "a loss, or a difference that is reduced, of `(n, 1)` and `(n,)`"
    severity = "error"
    hazard = (BroadcastHazard, WrongAxisHazard)
    reads_node = False

    flagged = (
        Example("import torch\nfrom torch import nn\n\nloss = nn.MSELoss()(torch.randn(100, 1), torch.randn(100))\n"),
        Example("import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\nmodel = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))\n"
                "x, u = torch.rand(32, 3), torch.rand(32)\nloss = F.mse_loss(model(x), u, reduction='none')\n", shows="loss.shape == (32, 32)"),
        Example("import torch\n\ny = torch.rand(20)\ny_hat = torch.nn.Linear(4, 1)(torch.rand(20, 4))\ncost = torch.mean((y_hat - y) ** 2)\n",
                shows="(y_hat - y).shape == (20, 20)"),
        Example("import numpy as np\n\nvalues = np.random.rand(50).reshape(50, 1)\nmodel = np.random.rand(50)\n"
                "sse = np.sum((values - model) ** 2)\n", shows="(values - model).shape == (50, 50)"),
        Example("import torch\n\nout = torch.randn(64, 3)\ntargets = torch.randint(0, 3, (64, 1))\naccuracy = (out.argmax(-1) == targets).float().mean()\n",
                shows="(out.argmax(-1) == targets).shape == (64, 64)"),
        Example("import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader, TensorDataset\n\n"
                "loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64)), batch_size=16)\n"
                "model, criterion = nn.Linear(3, 1), nn.MSELoss(reduction='none')\nfor xb, yb in loader:\n    loss = criterion(model(xb), yb)\n",
                shows="loss.shape == (16, 16)"),
        Example("import torch\nimport torch.nn.functional as F\n\nreal = torch.rand(4, 8, 5)\nmel = torch.rand(4, 8, 5).unsqueeze(1)\n"
                "loss = F.l1_loss(real, mel, reduction='none')\n", shows="loss.shape == (4, 4, 8, 5)"),
        Example("import torch\nfrom torch import nn\n\nlogits = nn.Linear(8, 1)(torch.randn(32, 8)).squeeze()\nlabels = torch.rand(32, 1)\n"
                "loss = nn.MSELoss(reduction='none')(logits, labels)\n", shows="loss.shape == (32, 32)"),
        Example("import torch\nfrom torch import nn\n\nmodel, criterion = nn.Linear(8, 1), nn.BCEWithLogitsLoss()\n"
                "labels = torch.randint(0, 2, (32,)).float()\nloss = criterion(model(torch.rand(32, 8)), labels)\n", raises="ValueError: Target size",
                note="Binary cross entropy broadcasts nothing: here torch raises."),
        Example("import torch\nimport torch.nn.functional as F\n\nloss = F.smooth_l1_loss(torch.rand(32, 1, 3), torch.rand(32, 1, 1), reduction='none')\n",
                shows="loss.shape == (32, 1, 3)"),
        Example("import torch\nimport torch.nn.functional as F\n\nloss = F.poisson_nll_loss(torch.rand(8, 1), torch.rand(8), reduction='none')\n",
                shows="loss.shape == (8, 8)", note="torch says nothing here."),
        Example("import numpy as np\n\nimage = np.arange(16.0).reshape(4, 4)\ncentred = image - np.mean(image, axis=1)\n",
                shows="centred.shape == (4, 4)", note="A square hides it: the rows' means were taken from the columns."),
        Example("import numpy as np\n\nrows = np.random.rand(7, 7)\nunit = rows / np.sqrt((rows**2).sum(axis=1))\n",
                shows="np.abs((unit**2).sum(axis=1) - 1).max() > 1e-9", note="So does a norm of the rows."),
        Example("import numpy as np\n\nscores = np.random.rand(7, 7)\nweights = np.exp(scores) / np.exp(scores).sum(axis=1)\n",
                shows="np.abs(weights.sum(axis=1) - 1).max() > 1e-9", note="A softmax without `keepdims`."),
        Example("import torch\nimport torch.nn.functional as F\n\nq, later, reward = torch.rand(16, 1), torch.rand(16, 1), torch.rand(16)\n"
                "target = reward + 0.9 * later\nloss = F.mse_loss(q, target)\n", shows="target.shape == (16, 16)",
                note="Reported once, where the matrix is made."),
        Example("import numpy as np\n\ny = np.random.rand(100, 2)\neffect = np.random.rand(100, 1)\nscore = np.mean((y[:, 1] - effect) ** 2)\n",
                shows="(y[:, 1] - effect).shape == (100, 100)"),
        Example("import torch\n\nx, y, mu = torch.rand(16, 9), torch.rand(16, 9), torch.rand(16, 2)\nerror = ((x - y) ** 2).sum(dim=1)\n"
                "penalty = 0.5 * (mu**2).sum(dim=1, keepdim=True)\nloss = (error + penalty).sum()\n",
                shows="(error + penalty).shape == (16, 16)", note="One reduction keeps its axis, the other does not."),
        Example("import torch\nfrom torch import nn\n\n\ndef accuracy(model, x, labels):\n    labels = labels.unsqueeze(1)\n"
                "    hits = torch.round(model(x)).squeeze(1) == labels\n    return hits, hits.float().mean()\n\n\n"
                "hits, share = accuracy(nn.Linear(8, 1), torch.rand(32, 8), torch.rand(32).round())\n",
                shows="hits.shape == (32, 32)", note="The function made a column of its argument, but not of the outputs."),
    )  # fmt: skip
    silent = (
        Example("import torch\nimport torch.nn.functional as F\n\nloss = F.mse_loss(torch.rand(4, 1), torch.rand(4, 1))\n"),
        Example("import torch\nimport torch.nn.functional as F\n\nloss = F.cross_entropy(torch.randn(8, 5), torch.randint(0, 5, (8,)))\n"),
        Example("import torch\nfrom torch import nn\n\nmodel = nn.Linear(3, 1)\nloss = nn.MSELoss()(model(torch.rand(5, 3)).squeeze(-1), torch.rand(5))\n"),
        Example("import torch\nfrom torch import nn\n\nloss = nn.MSELoss()(torch.rand(5, 1), torch.rand(5).unsqueeze(1))\n"),
        Example("import numpy as np\n\nx = np.random.rand(4, 4)\nc = x - x.mean(axis=0)\n"),
        Example("import numpy as np\n\nx = np.random.rand(4, 4)\nc = x - x.mean(axis=1, keepdims=True)\n"),
        Example("import numpy as np\n\nlinks = np.random.rand(6, 6)\ndegree = links.sum(axis=1)\n"
                "scaled = links / np.sqrt(degree) / np.sqrt(degree)[:, None]\n", note="Rows and columns are both scaled."),
        Example("import torch\n\nx, y = torch.rand(5, 3), torch.rand(7, 3)\nd = ((x.unsqueeze(1) - y.unsqueeze(0)) ** 2).sum(-1).mean()\n"),
        Example("import torch\n\npred = torch.randint(0, 3, (64,))\ny = torch.randint(0, 3, (64,))\naccuracy = (pred == y).float().mean()\n"),
        Example("import torch\nimport torch.nn.functional as F\n\nloss = F.mse_loss(torch.rand(4, 3), torch.zeros(4, 3))\n"),
        Example("import torch\nfrom torch import nn\n\nscores = nn.Linear(8, 1)(torch.rand(6, 8))\nreal = torch.ones_like(scores)\n"
                "loss = nn.BCEWithLogitsLoss()(scores, real)\n"),
        Example("import torch\nimport torch.nn.functional as F\n\nlogits, labels = torch.randn(8, 1), torch.rand(8)\ntry:\n"
                "    loss = F.binary_cross_entropy_with_logits(logits, labels)\nexcept ValueError:\n"
                "    loss = F.binary_cross_entropy_with_logits(logits.squeeze(1), labels)\n", note="The error is expected."),
        Example("import torch\nimport torch.nn.functional as F\n\nlogits = torch.randn(5, 10)\nlog_p = F.log_softmax(logits, -1)\n"
                "loss = F.kl_div(log_p, torch.softmax(torch.randn(5, 10), -1), reduction='batchmean')\n"),
        Example("import torch\n\nx = torch.rand(32, 10)\nz = ((x - x.mean(0)) ** 2).mean()\n"),
        Example("import numpy as np\n\n\ndef rbf(x, y):\n    x = x.reshape(-1, 1)\n    return np.exp(-((x - y) ** 2))\n\n\n"
                "similarity = rbf(np.linspace(0, 1, 20), np.linspace(1, 2, 20)).mean()\n",
                note="The function makes the column itself: a kernel matrix, whatever the lengths."),
        Example("import numpy as np\n\nx = np.random.randn(20)\nmu = np.linspace(-1, 1, 20).reshape(20, 1)\n"
                "loglik = (-0.5 * (x - mu) ** 2).sum(axis=1)\nbest = mu[np.argmax(loglik), 0]\n",
                note="A column written as one, and the matrix summed along an axis: a likelihood on a grid."),
        Example("import torch\n\ncentres, v = torch.randn(64, 1), torch.randn(64)\ncodes = (v - centres).abs().argmin(0)\n",
                note="Which of them is nearest is asked of a table."),
        Example("import torch\n\nx, mu = torch.rand(16, 9), torch.rand(16, 2)\nerror, penalty = x.sum(1), mu.sum(1, keepdim=True)\n"
                "loss = (error + penalty).mean()\n", shows="torch.isclose(loss, (error + penalty.squeeze(1)).mean())",
                note="The mean of all sums is the sum of the means."),
        Example("import torch\n\nx, y = torch.rand(16, 9), torch.rand(16, 9)\nxx = (x**2).sum(1, keepdim=True)\nyy = (y**2).sum(1)\n"
                "distance = (xx + yy - 2 * x @ y.t()).mean()\n", note="What the reductions make meets another matrix."),
        Example("import torch\nimport torch.nn.functional as F\n\nq, y = torch.rand(32, 64), torch.rand(32, 64)\n"
                "loss = F.smooth_l1_loss(q.unsqueeze(2), y.unsqueeze(1), reduction='none').sum(1).mean()\n",
                note="Every quantile with every target: both axes are asked for."),
    )  # fmt: skip

    def judge(self, hazard: Hazard, node: cst.CSTNode) -> str | None:
        if isinstance(hazard, WrongAxisHazard):
            return (
                f"{hazard.left} {hazard.left_shape} and {hazard.right} {hazard.right_shape}: the {hazard.operation} lines the "
                f"reduction up with the wrong axis, and a square hides it — use {hazard.suggestion}"
            )
        if not isinstance(hazard, BroadcastHazard):
            return None
        change = hazard.suggestion or _where_it_was_made(hazard)
        advice = f"{change} gives both one shape" if change else "give both one shape"
        if hazard.loss:
            if hazard.both_said and not hazard.refused and hazard.both_grow and hazard.same_rank:
                return None  # each with each, as quantiles are compared: `loss(q.unsqueeze(2), y.unsqueeze(1))`
            if any(is_accident(cause) for cause in hazard.follows):
                return None  # reported where the operand became a matrix
            if hazard.refused:
                return (
                    f"{hazard.operation} of {hazard.left} {hazard.left_shape} and {hazard.right} {hazard.right_shape}: "
                    f"torch wants one shape of both and raises — {advice}"
                )
            became = f", and broadcasts to {hazard.result_shape}" if hazard.result_shape != "?" else ""
            return (
                f"{hazard.operation} of {hazard.left} {hazard.left_shape} and {hazard.right} {hazard.right_shape} compares "
                f"shapes that differ{became} — {advice}"
            )
        if hazard.context not in _ENDS or not is_accident(hazard):
            return None
        if hazard.misplaced or hazard.meets_each:
            return misplaced(hazard)
        end = _ENDS[hazard.context]
        if hazard.one_each:
            change = weights_without_axis(hazard)
            advice = f"{change} lines them up"
        if hazard.averaged and hazard.same_length:
            end = "the mean of all of it costs more, for the same number"
        return (
            f"{hazard.left} {hazard.left_shape} and {hazard.right} {hazard.right_shape} became {hazard.result_shape} in "
            f"{hazard.operation}, and {end} — {advice}"
        )
