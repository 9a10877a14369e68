"""A row and a column whose matrix is read along its axes, as a table is, and losses that only look like it."""

from __future__ import annotations

import pytest
from rule_programs import findings, run

NUMPY = "import numpy as np\n\nn = 20\nx, y = np.random.randn(n), np.random.randn(n)\n"
TORCH = "import torch\nfrom torch import nn\n\nn = 20\nx, y = torch.randn(n), torch.randn(n)\n"


TABLES = {
    "a likelihood on a grid": NUMPY + "mu = np.linspace(-1, 1, n).reshape(n, 1)\nloglik = -0.5 * (x - mu) ** 2\n"
    "ll = loglik.sum(axis=1)\nbest = mu[np.argmax(ll), 0]\nposterior = np.exp(loglik - loglik.max(axis=0))\n",
    "on another grid, for its largest value": NUMPY + "sig = np.linspace(0.1, 1, n).reshape(-1, 1)\n"
    "ll = (-0.5 * x ** 2 / sig).sum(axis=1)\nlikeliest = ll.max()\n",
    "a sum of waves": TORCH + "t = torch.linspace(0, 1, n).reshape(-1, 1)\nsignal = torch.sin(t * x.abs()).sum(1)\n"
    "energy = (signal ** 2).mean()\n",
    "options of many strikes": NUMPY + "strikes = np.sort(x).reshape(-1, 1)\npayoff = np.maximum(y - strikes, 0)\n"
    "value = payoff.mean(axis=1)\nbest = value.max()\n",
    "that are only priced": NUMPY + "strikes = np.sort(x).reshape(-1, 1)\nvalue = np.maximum(y - strikes, 0).mean(axis=1)\n",
    "accuracy at many thresholds": NUMPY + "thr = np.linspace(0, 1, n).reshape(n, 1)\npred = x > thr\n"
    "best = thr[(pred == (y > 0)).mean(axis=1).argmax(), 0]\n",
    "the distance to the nearest centre": TORCH + "centers = torch.linspace(-1, 1, n).view(n, 1)\n"
    "inertia = (x - centers).abs().min(0).values.sum()\n",
    "centres with an index of None": TORCH + "centers = torch.rand(n)[:, None]\ndistance = (x - centers).abs()\n"
    "inertia = distance.min(0).values.sum()\n",
    "a pinball loss": TORCH + "taus = torch.linspace(0.05, 0.95, n).view(n, 1)\nu = x - y\n"
    "loss = torch.max(taus * u, (taus - 1) * u).mean()\n",
    "a codebook": TORCH + "class Codebook:\n    def __init__(self, k):\n        self.centres = torch.randn(k, 1)\n\n"
    "    def assign(self, v):\n        return (v - self.centres).abs().argmin(0)\n\n\ncodes = Codebook(n).assign(x)\n",
    "learnt centres": TORCH + "class Means(nn.Module):\n    def __init__(self, k):\n        super().__init__()\n"
    "        self.mu = nn.Parameter(torch.randn(k, 1))\n\n    def forward(self, v):\n"
    "        return ((v - self.mu) ** 2).min(0).values.mean()\n\n\nloss = Means(n)(x)\n",
    "attention of one feature": TORCH + "q, k = torch.rand(8, 1), torch.rand(8)\n"
    "mixed = torch.softmax(q * k, -1) @ torch.rand(8, 4)\n",
    "the likeliest of drawn values": NUMPY + "mus = np.random.randn(n, 1)\nll = -((x - mus) ** 2).sum(axis=1)\n"
    "best = mus[np.argmax(ll)]\n",
    "the nearest three": TORCH + "c = torch.randn(n, 1)\nnear = (x - c).abs().topk(3, dim=0, largest=False)\n",
    "all of them in order": TORCH + "c = torch.randn(n, 1)\norder = (x - c).abs().argsort(dim=1)\n",
    "and in numpy": NUMPY + "c = np.random.randn(n, 1)\na = np.argsort(np.abs(x - c), axis=1)[:, :3]\n"
    "b = np.argpartition(np.abs(y - c), 3)\n",
    "the spectrum by hand": NUMPY + "k = np.arange(n).reshape(-1, 1)\n"
    "spectrum = (np.exp(-2j * np.pi * k * np.arange(n) / n) * x).sum(axis=1)\npower = (np.abs(spectrum) ** 2).mean()\n",
    "a density on a grid and its entropy": NUMPY + "g = np.linspace(-1, 1, n).reshape(-1, 1)\n"
    "kde = np.exp(-0.5 * ((g - x) / 0.1) ** 2).mean(axis=1)\nentropy = -(kde * np.log(kde)).sum()\n",
    "both sides of a distance of sets": TORCH + "c = torch.randn(n, 1)\nd = (x - c).abs()\n"
    "chamfer = d.min(0)[0].mean() + d.min(1)[0].mean()\n",
    "nearest in numpy": NUMPY + "centres = np.random.rand(n, 1)\nlabels = np.argmin(np.abs(x - centres), axis=0)\n",
}  # fmt: skip

MODEL = TORCH + "pred = nn.Linear(3, 1)(torch.rand(n, 3))\n"
LOSSES = {
    "a sum over the outputs": MODEL + "loss = ((pred - y) ** 2).sum(1).mean()\n",
    "a mean over the batch": MODEL + "loss = ((pred - y) ** 2).mean(0).sum()\n",
    "its worst output": MODEL + "worst = (pred - y).abs().max(0).values.sum()\n",
    "the sample that is met best": MODEL + "best = (pred - y).abs().argmin(0)\n",
    "weights of a column of scores": MODEL + "weights = torch.softmax(pred + y, 0)\n",
    "the order of its errors": NUMPY + "pred = np.random.rand(n, 1)\nhardest = np.argsort(np.abs(pred - y), axis=0)\n",
    "a column that was kept": TORCH + "pred = torch.rand(n, 3).mean(1, keepdim=True)\nloss = ((pred - y) ** 2).sum(1).mean()\n",
    "a column of the constructor": NUMPY + "pred = np.random.rand(n, 1)\nloss = ((pred - y) ** 2).sum(axis=1).mean()\n",
    "its largest error": NUMPY + "pred = np.random.rand(n, 1)\nworst = np.abs(pred - y).max(axis=0)\n",
    "a column of the user's, as one heap": NUMPY + "t = x.reshape(-1, 1)\nloss = ((t - y) ** 2).mean()\n",
    "that is also looked at along an axis": NUMPY + "d = (x.reshape(-1, 1) + 0.0) - y\nt = x.reshape(-1, 1)\ne = t - y\n"
    "loss = (e ** 2).mean()\neach = e.mean(axis=0)\n",
    "a range as weights of a column": NUMPY + "t = x.reshape(-1, 1)\ntotal = (np.arange(n) * t).sum()\n",
    "a squeezed row and a column": TORCH + "pred = nn.Linear(3, 1)(torch.rand(n, 3)).squeeze()\nt = y.view(-1, 1)\n"
    "loss = ((pred - t) ** 2).sum(1).mean()\n",
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.filterwarnings("ignore")
def test_a_table_is_left_alone(name: str) -> None:
    run(TABLES[name])
    assert [found.message for found in findings(TABLES[name])] == []


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.filterwarnings("ignore")
def test_a_loss_is_reported(name: str) -> None:
    run(LOSSES[name])
    (found,) = findings(LOSSES[name])
    assert found.code in ("TSR111", "TSR112")
    assert "became (n, n)" in found.message or "became (20, 20)" in found.message


@pytest.mark.parametrize(
    ("reduced", "words"),
    [
        ("d.abs().mean()", "all of it is reduced to one number"),
        ("d.mean()", "the mean of all of it costs more, for the same number"),
        ("(1 - d / 2).mean(0).mean()", "the mean of all of it costs more, for the same number"),
        ("d.reshape(-1).mean()", "all of it is reduced to one number"),
        ("torch.stack([d, d]).mean()", "all of it is reduced to one number"),
        ("d.sum(1).mean()", "it is reduced to one number in steps"),
        ("d.mean(0, keepdim=True).sum()", "it is reduced to one number in steps"),
        ("d[:, 0].mean()", "it is reduced to one number in steps"),
    ],
)
def test_the_message_says_how_much_of_it_is_reduced(reduced: str, words: str) -> None:
    (found,) = findings(MODEL + f"d = pred - y\nloss = {reduced}\n")
    assert f"in subtraction, and {words} — " in found.message
    place = f"reduced to one number here: {reduced}"
    assert [each.message for each in found.evidence if each.line == 8] == [place]


def test_a_reduction_of_another_axis_says_nothing() -> None:
    """The features are summed, and what is left is n × n still."""
    code = TORCH + "a, b = torch.rand(n, 1, 3), torch.rand(n, 3)\nloss = ((a - b) ** 2).sum(-1).mean()\n"
    (found,) = findings(code)
    assert found.code == "TSR112"


# Points: the coordinates are summed away first, and then the table is read along one of its axes.
POINTS_NUMPY = NUMPY + "p, c = np.random.rand(n, 3).reshape(n, 1, 3), np.random.rand(n, 3)\n"
POINTS_TORCH = TORCH + "p, c = torch.rand(n, 3).view(n, 1, 3), torch.rand(n, 3)\n"
POINTS = {
    "a density at each point": POINTS_NUMPY + "d = ((p - c) ** 2).sum(-1)\nprint(np.exp(-d).sum(1).mean())\n",
    "by the first axis": POINTS_NUMPY + "d = ((p - c) ** 2).sum(2)\nprint(np.exp(-d).mean(axis=0).max())\n",
    "the nearest centre": POINTS_NUMPY + "d = np.linalg.norm(p - c, axis=-1)\nprint(d.min(1).mean())\n",
    "in torch": POINTS_TORCH + "d = (p - c).norm(dim=-1)\nprint(d.min(1).values.mean())\n",
    "softly": POINTS_TORCH + "d = (p - c).pow(2).sum(-1)\nprint(torch.logsumexp(-d, dim=1).mean())\n",
    "its index": POINTS_TORCH + "d = (p - c).pow(2).sum(-1)\nprint(d.argmin(1).float().mean())\n",
    "with weights": POINTS_TORCH + "d = (p - c).pow(2).sum(-1)\nprint((torch.softmax(-d, dim=1) * d).sum())\n",
    "with the axis kept": POINTS_NUMPY + "d = np.linalg.norm(p - c, axis=-1, keepdims=True)\nprint(d.mean(axis=1).max())\n",
    "in a function": POINTS_NUMPY + "def nearest(a, b):\n    d = a - b\n    return np.sqrt((d * d).sum(axis=-1)).min(axis=1)\n\n\n"
    "print(nearest(p, c).mean())\n",
    "of points that are written out": "import numpy as np\n\np = np.array([[[[1.0, 2, 3]]], [[[4, 5, 6]]]])\nc = np.array([[1, 1, 3], [3, 2, 3]])\n"
    "d = np.linalg.norm(p - c, axis=-1, keepdims=True)\nmean = 1 / np.mean(1 / d, axis=-2, keepdims=True)\nassert (mean > 0).all()\n",
    "that an object holds": "import numpy as np\n\n\nclass Sampler:\n    def __init__(self, c):\n        self.c = c\n\n"
    "    def mean(self, p):\n        return np.linalg.norm(p - self.c, axis=-1).mean(axis=-1)\n\n\n"
    "mean = Sampler(np.array([[1, 1, 3], [3, 2, 3]])).mean(np.array([[[[1.0, 2, 3]]], [[[4, 5, 6]]]]))\nprint(mean.sum())\n",
}  # fmt: skip
POINT_MODEL = TORCH + "p, c = nn.LSTM(4, 3, batch_first=True)(torch.rand(n, 1, 4))[0], torch.rand(n, 3)\n"
POINT_LOSSES = {
    "all of it": POINT_MODEL + "loss = ((p - c) ** 2).mean()\n",
    "the coordinates first": POINT_MODEL + "loss = ((p - c) ** 2).sum(-1).mean()\n",
    "their lengths": POINT_MODEL + "loss = (p - c).norm(dim=-1).mean()\n",
    "what was made so": TORCH + "p, c = torch.rand(n, 1, 3), torch.rand(n, 3)\nloss = ((p - c) ** 2).sum(2).mean()\n",
    "and along an axis of it": TORCH + "p, c = torch.rand(n, 1, 3), torch.rand(n, 3)\nloss = ((p - c) ** 2).sum(2).mean(1).sum()\n",
    "numbers that are written out": "import numpy as np\n\np, c = np.array([[1.0], [2], [3]]), np.array([1.5, 2, 3])\nloss = ((p - c) ** 2).mean()\n",
}  # fmt: skip


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.filterwarnings("ignore")
def test_distances_of_points_are_left_alone(name: str) -> None:
    run(POINTS[name])
    assert [found.message for found in findings(POINTS[name])] == []


@pytest.mark.parametrize("name", POINT_LOSSES)
@pytest.mark.filterwarnings("ignore")
def test_a_loss_of_points_is_reported(name: str) -> None:
    run(POINT_LOSSES[name])
    assert [found.code for found in findings(POINT_LOSSES[name])] == ["TSR112"]
