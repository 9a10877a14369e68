from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlint.inference.hazards import ViewHazard
from tensorlint.rules.rule import Example, Rule

if TYPE_CHECKING:
    import libcst as cst


class NonContiguousView(Rule[ViewHazard]):
    """`view` never copies: it can split an axis and merge axes that are adjacent in memory, and nothing else.
    After a transpose, a slice, an `expand`, or a layer that returns another layout, the axes may not be adjacent, and
    `view` raises. The same code works until somebody transposes upstream, or on a GPU where the copy that `.cuda()`
    makes hides it.

    The rule applies torch's own stride rule (`at::detail::computeStride`) to the strides it has inferred, so a
    transpose alone is no reason to speak: most transposes followed by a view are legal. It reports a view only where
    torch refuses it for every value of the sizes that are not known.

    The fix writes `reshape`, which gives the same values: it is a view where it can be and copies where it must. There is
    none where the view is only written into, `x.view(-1)[0] = 1`: what is written into a copy is lost.
    """

    code = "TSR201"
    name = "non-contiguous-view"
    summary = "`.view` that torch will refuse for this layout"
    severity = "error"
    hazard = ViewHazard
    reads_node = False

    flagged = (
        Example(
            "import torch\n\nx = torch.randn(2, 3, 4).transpose(1, 2)\ny = x.view(2, 12)\n",
            fixed="import torch\n\nx = torch.randn(2, 3, 4).transpose(1, 2)\ny = x.reshape(2, 12)\n",
            raises="RuntimeError: view size is not compatible",
        ),
        Example(
            "import torch\n\nlabels = torch.randint(0, 9, (4, 12))\nflat = labels[:, 1:].view(-1)\n",
            fixed="import torch\n\nlabels = torch.randint(0, 9, (4, 12))\nflat = labels[:, 1:].reshape(-1)\n",
            raises="RuntimeError: view size is not compatible",
            note="A slice leaves a gap between the rows.",
        ),
        Example(
            "import torch\n\n\ndef topk_accuracy(scores, target, k=5):\n    best = scores.topk(k, dim=1)[1].t()\n"
            "    correct = best.eq(target.view(1, -1).expand_as(best))\n    return correct[:k].view(-1).float().sum()\n\n\n"
            "topk_accuracy(torch.randn(16, 10), torch.randint(10, (16,)))\n",
            raises="RuntimeError: view size is not compatible",
            note="Comparing keeps the layout of the transposed operand.",
        ),
        Example(
            "import torch\nfrom torch import nn\n\ngru = nn.GRU(16, 32, batch_first=True)\nout, _ = gru(torch.randn(3, 7, 16))\n"
            "flat = out.view(-1, 32)\n",
            raises="RuntimeError: view size is not compatible",
            note="A batch_first recurrent layer returns a transposed buffer.",
        ),
        Example(
            "import torch\n\nB, H, T, D = 2, 4, 5, 8\nattention = torch.randn(B, H, T, T).softmax(-1)\n"
            "values = torch.randn(B, H, T, D)\nout = (attention @ values).transpose(1, 2)\nout = out.view(B, T, H * D)\n",
            raises="RuntimeError: view size is not compatible",
        ),
        Example(
            "import torch\n\nx = torch.randn(3, 4).t().clone()\ny = x.view(-1)\n",
            raises="RuntimeError: view size is not compatible",
            note="clone keeps the order of the axes in memory.",
        ),
        Example(
            "import torch\n\nx = torch.randn(2, 3, 8, 8).contiguous(memory_format=torch.channels_last)\n"
            "flat = x.view(x.size(0), -1)\n",
            raises="RuntimeError: view size is not compatible",
        ),
        Example(
            "import torch\n\nrow = torch.randn(1, 4).expand(3, 4)\nflat = row.view(12)\n",
            raises="RuntimeError: view size is not compatible",
            note="An expanded axis has stride 0.",
        ),
        Example(
            "import torch\n\nimage = torch.randn(2, 3, 8, 6)\npixels = image.permute(0, 2, 3, 1)\nflat = pixels.view(-1, 3)\n",
            raises="RuntimeError: view size is not compatible",
        ),
        Example(
            "import torch\n\nx = torch.randn(4, 6)\ny = torch.exp(x.T)\nz = y.view(-1)\n",
            raises="RuntimeError: view size is not compatible",
            note="An elementwise operation keeps the layout of its operand.",
        ),
        Example(
            "import torch\n\nfused = torch.randn(3, 2, 24)\nq, k, v = fused.split(8, dim=2)\nflat = q.view(3, 16)\n",
            raises="RuntimeError: view size is not compatible",
        ),
        Example(
            "import torch\n\n\ndef flatten(x):\n    return x.view(x.size(0), -1)\n\n\n"
            "flatten(torch.randn(4, 8, 3).permute(0, 2, 1))\n",
            raises="RuntimeError: view size is not compatible",
            note="Across the functions of a file.",
        ),
        Example(
            "import torch\n\nx = torch.zeros(3, 4).t()\nx.view(-1)[0] = 1\n",
            raises="RuntimeError: view size is not compatible",
            note="No fix: `reshape` would make a copy, and the write be lost.",
        ),
    )
    silent = (
        Example(
            "import torch\n\nx = torch.randn(2, 3, 4).transpose(1, 2)\ny = x.view(2, 4, 3, 1)\n",
            note="Splitting is always legal.",
        ),
        Example("import torch\n\nx = torch.randn(2, 8, 6, 5).permute(0, 2, 3, 1)\ny = x.view(2, 30, 8)\n",
                note="Height and width are still adjacent."),
        Example("import torch\n\nx = torch.randn(8)[::2]\ny = x.view(2, 2)\n"),
        Example("import torch\n\nx = torch.randn(4, 6)[:, 0]\ny = x.view(-1, 1)\n"),
        Example("import torch\n\nx = torch.randn(4, 6)[1:3]\ny = x.view(-1)\n"),
        Example("import torch\n\nx = torch.randn(3, 4).t().contiguous()\ny = x.view(-1)\n"),
        Example("import torch\n\nx = torch.randn(3, 4).t().softmax(-1)\ny = x.view(-1)\n"),
        Example("import torch\n\nx = torch.randn(5, 1).t()\ny = x.view(-1)\n", note="An axis of size 1 is free."),
        Example("import torch\nfrom torch import nn\n\nx = nn.Linear(4, 6)(torch.randn(2, 3, 4).transpose(0, 1))\n"
                "y = x.view(-1, 6)\n"),
        Example("import torch\n\nx = torch.randn(3, 4)\nif x.is_contiguous():\n    y = x.view(-1)\n"),
        Example("import numpy as np\n\nbits = np.zeros((3, 4)).T.view(np.int64)\n", note="numpy's view is of the dtype."),
        Example("import torch\n\nk = torch.randn(6, 2, 4, 8).permute(1, 2, 0, 3)\nk = k.view(8, -1, 8)\n"),
        Example("import torch\n\n\ndef flatten(x):\n    return x.transpose(1, 2).view(x.size(0), -1)\n",
                note="What is given may already be transposed: not known is not wrong."),
    )  # fmt: skip

    def judge(self, hazard: ViewHazard, node: cst.CSTNode) -> str | None:
        step = "write .reshape, which copies where it must"
        if hazard.written:
            step = f"write into {hazard.receiver} by its own axes: .reshape would make a copy, and what is written into it be lost"
        raises = f"and torch raises unless {hazard.unless}, the default" if hazard.unless else "and torch raises"
        return (
            f"{hazard.receiver} {hazard.shape}: view{hazard.target} would merge {hazard.merged}, which are not adjacent in "
            f"memory ({hazard.reason}), {raises} — {step}"
        )

    def fix(self, hazard: ViewHazard, node: cst.CSTNode) -> cst.CSTNode | None:
        import libcst as cst

        if hazard.written or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return None
        if node.func.attr.value != "view" or any(argument.keyword is not None for argument in node.args):
            return None
        return node.with_changes(func=node.func.with_changes(attr=cst.Name("reshape")))
