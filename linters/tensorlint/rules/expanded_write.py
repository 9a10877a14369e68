from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlint.inference.hazards import ExpandedWriteHazard
from tensorlint.rules.rule import Example, Rule

if TYPE_CHECKING:
    import libcst as cst


class ExpandedWrite(Rule[ExpandedWriteHazard]):
    """`expand` copies nothing: along the axes that it makes longer, one element of memory is read at every index (the stride
    is 0). `broadcast_to`, `expand_as`, `broadcast_tensors`, `meshgrid` and einops' `repeat` give such tensors too. What is
    written into one is therefore written at every index:

    - an operation on the whole, `x += 1`, `x.mul_(2)`, `x[:, 0] = 1`, is refused by torch with a RuntimeError;
    - a write into one row, `x[0] = 1`, goes through, and all rows have changed;
    - a mask or an index array, `x[mask] = 0`, `x.masked_fill_(mask, 0)`, is put on all rows, also one that differs from row to
      row; torch warns that this is deprecated, and refuses it in the backward pass;
    - numpy's `broadcast_to` gives a read-only array, and a write raises a ValueError.

    `.clone()` behind the `expand`, or `repeat` in its place, gives every row memory of its own. What is written by a new
    tensor, `x = x + 1`, is written into nothing. `fill_` and `zero_`, which write the same everywhere, are left alone, and
    so is an axis of size 1, which repeats nothing; where the code says that a size with a name may be 1 (a test of it, a
    default, a call) nothing is said. A row that has a name of its own, `row = x[0]` and `row += 1`, is not followed.
    """

    code = "TSR202"
    name = "expanded-write"
    summary = "a write into a tensor that repeats its elements, as `expand` leaves it"
    severity = "error"
    hazard = ExpandedWriteHazard
    reads_node = False

    flagged = (
        Example(
            "import torch\n\nstate = torch.zeros(1, 4).expand(3, 4)\nstate += torch.randn(3, 4)\n",
            raises="RuntimeError: unsupported operation: more than one element",
        ),
        Example(
            "import torch\n\nrows = torch.zeros(4).expand(3, 4)\nrows[0] = 1.0\n",
            shows="bool((rows[2] == 1).all())",
            note="Nothing is raised: the other rows have changed, too.",
        ),
        Example(
            "import torch\n\n\ndef causal(padding):\n    B, T = padding.shape\n    mask = torch.ones(T, T).tril()[None].expand(B, T, T)\n"
            "    return mask.masked_fill_(padding[:, None, :], 0.0)\n\n\n"
            "mask = causal(torch.tensor([[False, False], [False, True]]))\n",
            shows="bool((mask[0] == mask[1]).all())",
            note="The padding of one sequence is put on all of them.",
        ),
        Example(
            "import torch\nfrom torch import nn\n\n\nclass Prompt(nn.Module):\n    def __init__(self, dim=8):\n"
            "        super().__init__()\n        self.register_buffer('start', torch.zeros(1, 1, dim))\n\n"
            "    def forward(self, x):\n        tokens = self.start.expand(x.size(0), -1, -1)\n"
            "        tokens[:, 0] += x.mean(1)\n        return tokens\n\n\nPrompt()(torch.randn(2, 5, 8))\n",
            raises="RuntimeError: unsupported operation: more than one element",
        ),
        Example(
            "import torch\n\nrow, column = torch.meshgrid(torch.arange(3), torch.arange(4), indexing='ij')\nrow -= 1\n",
            raises="RuntimeError: unsupported operation: more than one element",
        ),
        Example(
            "import numpy as np\n\ntable = np.broadcast_to(np.arange(4), (3, 4))\ntable[0, 1] = 7\n",
            raises="ValueError: assignment destination is read-only",
        ),
        Example(
            "import torch\n\n\ndef beams(h, k):\n    B, D = h.shape\n    h = h.unsqueeze(1).expand(B, k, D)\n"
            "    for i in range(k):\n        h[:, i] = h[:, i] + torch.randn(D)\n    return h\n\n\n"
            "h = beams(torch.randn(2, 4), 3)\n",
            shows="bool((h[:, 0] == h[:, 2]).all())",
            note="Each beam was to get noise of its own.",
        ),
        Example(
            "import torch\n\nx = torch.randn(3, 1, 4).expand(-1, 5, -1)\nx.mul_(torch.rand(5, 1))\n",
            raises="RuntimeError: unsupported operation: more than one element",
        ),
        Example(
            "import torch\nimport torch.nn.functional as F\n\nx = torch.randn(4).expand(3, 4)\ny = F.relu(x, inplace=True)\n",
            raises="RuntimeError: unsupported operation: more than one element",
        ),
        Example(
            "import torch\nfrom torch import nn\n\nweight = torch.empty(1, 4).expand(3, 4)\nnn.init.xavier_uniform_(weight)\n",
            raises="RuntimeError: unsupported operation: more than one element",
        ),
        Example(
            "import torch\n\nx = torch.zeros(4).expand(3, 4)\ny = torch.ones(3, 4)\ntorch.add(x, y, out=x)\n",
            raises="RuntimeError: unsupported operation: more than one element",
        ),
        Example(
            "import torch\n\n\ndef joint(p, eps=1e-9):\n    k = p.size(0)\n    rows = p.sum(1).view(k, 1).expand(k, k)\n"
            "    rows[rows < eps] = eps\n    return (p * (p / rows).log()).sum()\n\n\n"
            "joint(torch.rand(3, 3, requires_grad=True)).backward()\n",
            raises="RuntimeError: unsupported operation: more than one element",
            note="The error comes in `backward()`.",
        ),
        Example(
            "import torch\nfrom einops import repeat\n\nquery = repeat(torch.zeros(4), 'd -> n d', n=3)\nquery[1] = torch.ones(4)\n",
            shows="bool((query == 1).all())",
        ),
    )
    silent = (
        Example("import torch\n\nstate = torch.zeros(1, 4).expand(3, 4).clone()\nstate += torch.randn(3, 4)\n"),
        Example("import torch\n\nrows = torch.zeros(1, 4).repeat(3, 1)\nrows[0] = 1.0\n"),
        Example("import torch\n\nrows = torch.zeros(1, 4).expand(3, 4)\nrows = rows + 1\nrows[0] = 1.0\n"),
        Example("import torch\n\nrows = torch.zeros(1, 4).expand(3, 4)\nrows.fill_(2.0)\n", note="It is 2 everywhere."),
        Example("import torch\n\nrow = torch.zeros(1, 4).expand(1, -1)\nrow += 1\n", note="An axis of size 1 repeats nothing."),
        Example("import torch\n\nx = torch.randn(3, 4)\nx = x.expand(3, 4)\nx *= 2\n"),
        Example("import torch\n\nrows = torch.arange(4).expand(3, 4)\nrows = rows.masked_fill(rows > 2, 0)\nrows[0] = 1\n"),
        Example("import numpy as np\n\ntable = np.broadcast_to(np.arange(4), (3, 4)).copy()\ntable[0, 1] = 7\n"),
        Example("import torch\n\nx = torch.zeros(3, 4)\nx += torch.ones(4).expand(3, 4)\n", note="It is only read."),
        Example("import torch\n\nrow = torch.zeros(1, 4)\nrows = row.expand(3, 4)\nrow += 1\n",
                note="What is written is the row, which has its own memory; `rows` shows it."),
        Example("import torch\n\n\ndef f(w, samples=1):\n    w = torch.zeros(1, 4).expand(samples, -1)\n    w += 1\n    return w\n\n\nf(0)\n",
                note="Of size 1 by default."),
        Example("import torch\n\nx = torch.zeros(4).expand(3, 4)\nif not x.is_contiguous():\n    x = x.contiguous()\nx += 1\n"),
        Example("import torch\n\nparts = list(torch.zeros(4).expand(3, 4))\nparts[0] = torch.ones(4)\n"),
    )  # fmt: skip

    def judge(self, hazard: ExpandedWriteHazard, node: cst.CSTNode) -> str | None:
        copied = ".copy()" if hazard.write == "read-only" else ".clone()"
        name = hazard.receiver
        step = f"write {copied} behind {hazard.by}(...)" + (f" in line {hazard.line}" if hazard.line else "")
        if hazard.by in ("meshgrid", "broadcast_tensors"):
            step = f"copy it first: {name} = {name}{copied}"
        rows = f"all {hazard.size} indices" if hazard.size.isdigit() else f"each of the {hazard.size} indices"
        end = {
            "refused": f"torch refuses to write it in place ({hazard.operation})",
            "read-only": f"numpy lets nobody write into it ({hazard.operation})",
            "all": f"{hazard.region} is the same memory at {rows}, and what is written there changes them all",
            "deprecated": f"what {hazard.operation} chooses at one index is written at {rows}; torch warns that this is "
            "deprecated, and where gradients flow through it backward raises",
            "unsure": f"torch refuses {hazard.operation}, or what it writes at one index is written at {rows}",
            "merged": f"what the mask {hazard.region} chooses at one index is written at {rows}",
        }[hazard.write]
        return f"{name} {hazard.shape} repeats its elements along axis {hazard.axis}, as {hazard.by} leaves it: {end} — {step}"
