"""Writes into tensors that repeat their elements: each program is run, and once more with a copy of what it writes into.

Where torch refuses the write, or the copy ends otherwise, the write is a mistake; everywhere else nothing is reported.
"""

from __future__ import annotations

import random
import re
import warnings

import pytest

from tensorlint.checking import Selection, findings_of
from tensorlint.findings import Finding
from tensorlint.inference.expanded_writes import _ALLOWED
from tensorlint.rules.registry import load
from tensorlint.source import PythonSource

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")
pytest.importorskip("einops")

HEAD = """
import einops
import torch
import torch.nn.functional as F
from torch import nn


def f(p, q):
    row = torch.arange(1.0, 5.0)
    row0 = torch.arange(3.0)
    one = row.view(1, 4)
    col = torch.arange(3.0).view(3, 1)
    full = torch.arange(12.0).view(3, 4) * 1.37
    noise = torch.tensor([0.1, 0.9, 0.7, 0.2, 0.8, 0.3, 0.6, 0.4, 0.55, 0.45, 0.95, 0.05]).view(3, 4)
    y = {made}
    {write}
    return y


result = f(torch.arange(1.0, 5.0), torch.ones(3, 4))
"""
MADE = {
    "expand": "row.expand(3, 4)",
    "of one row": "one.expand(3, 4)",
    "of one row, -1": "one.expand(3, -1)",
    "of one column": "col.expand(3, 4)",
    "expand_as": "one.expand_as(full)",
    "broadcast_to": "torch.broadcast_to(row, (3, 4))",
    "broadcast_tensors": "torch.broadcast_tensors(row, full)[0]",
    "meshgrid": "torch.meshgrid(torch.arange(3.0), torch.arange(4.0), indexing='ij')[1]",
    "repeat of einops": "einops.repeat(row, 'n -> b n', b=3)",
    "a new axis": "row[None].expand(3, 4)",
    "unsqueeze": "row.unsqueeze(0).expand(3, -1)",
    "a number": "torch.tensor(1.0).expand(3, 4)",
    "a kept axis": "full.mean(0, keepdim=True).expand(3, 4)",
    "of any rank, a new axis": "p[None].expand(3, -1)",
    "of any rank, unsqueeze": "p.unsqueeze(0).expand(3, 4)",
    "of any rank, turned": "p.unsqueeze(1).expand(-1, 3).T",
    "of any rank, a column": "p[:, None].expand(-1, 3)",
    "of any rank, a kept axis": "q.mean(0, keepdim=True).expand(3, -1)",
    "of any rank, as it is": "q.expand(3, 4)",
    "the same shape": "full.expand(3, 4)",
    "repeated": "one.repeat(3, 1)",
    "as it is": "full",
}
AFTER = [
    "", "", "", "", ".clone()", ".contiguous()", ".T", ".unsqueeze(0)", ".double()", ".float()", ".to('cpu')", ".to(torch.float64)",
    ".view(3, 4)", ".reshape(3, 4)", ".detach()", "[:, 1:]", "[1:]", "[:1]", "[0]", "[:, 0]", " + 1", ".neg()", ".exp()", ".relu()",
    ".squeeze()", ".flatten()", ".repeat(1, 1)", ".half().float()", ".type(torch.float32)", ".type_as(row)", ".expand(3, 4)",
    ".expand(2, 3, 4)", ".permute(1, 0)", ".data", "[torch.arange(2)]", "[row0 > 0]", ".where(full > 0, full)", ".abs()", ".cpu()",
    ".nan_to_num()", ".unbind(1)[0]", ".chunk(2, 1)[0]", ".repeat_interleave(1, 0)", ".roll(1, 0)", ".tril()", ".softmax(-1)",
    ".clamp(0, 1)", ".mT", ".real", ".view_as(full)", ".clone().expand(3, 4)",
]  # fmt: skip
WRITES = [
    "y += 1", "y -= y", "y *= 2.0", "y.add_(1)", "y.mul_(2.0)", "y.zero_()", "y.fill_(3.0)", "y.copy_(torch.ones_like(y))",
    "y[0] = 5.5", "y[0] = y[0] + 1", "y[...] = 1.0", "y[:] = 2.0", "y[..., 0] = 7.5", "y[0] += 1", "y[..., 0] += 1",
    "y[0].add_(1)", "y[..., 0].add_(1)", "y.index_fill_(0, torch.tensor([0]), 3.25)", "y[torch.tensor([0, 1])] = 2.75", "y[0, 0] = 9.5", "y[:1] = 4.25", "y[:2] += 1", "y.normal_()", "y.clamp_(0, 1)",
    "y.masked_fill_(y > 1, 0.0)", "y[y > 1] = 0.0", "y.masked_fill_(noise > 0.5, -1.0)", "y[noise > 0.5] = -1.0",
    "for i in range(y.shape[0]):\n        y[i] = float(i + 10)", "torch.relu_(y)", "F.relu(y, inplace=True)", "nn.init.normal_(y)",
    "nn.init.ones_(y)", "torch.add(y, 1, out=y)", "y.t_()", "nn.ReLU(inplace=True)(y)", "y.data += 1", "y[[0, 1]] = 3.25",
    "y = y.clone(); y += 1", "y = y + 1; y += 1", "y.abs_().sqrt_()", "z = y * 2; z += 1", "y = torch.cat([y, y]); y[0] = 1.5",
]  # fmt: skip


def findings(code: str) -> list[Finding]:
    return findings_of(PythonSource("case.py", code), load(), Selection(frozenset({"TSR202"})), None)[0]


def run(code: str) -> tuple[str, object]:
    names: dict[str, object] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(code, names)
        except Exception as error:
            return ("refused" if "more than one element of the written-to" in str(error) else "error"), None
    if any("on expanded tensors is deprecated" in str(each.message) for each in caught):
        return "refused", None
    return "ran", names["result"]


def is_wrong(made: str, write: str) -> bool | None:
    """Whether torch refuses the write or warns of it, or a tensor with memory of its own ends otherwise; None where neither runs."""
    torch.manual_seed(0)
    outcome, result = run(HEAD.format(made=made, write=write))
    torch.manual_seed(0)
    copied, expected = run(HEAD.format(made=f"({made}).clone()", write=write))
    if copied != "ran" or outcome == "error":
        return None
    return outcome == "refused" or not (result.shape == expected.shape and torch.equal(result, expected))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", MADE)
def test_what_is_reported_is_refused_or_ends_otherwise_than_with_a_copy(name: str) -> None:
    random.seed(name)
    cases = [(after, write) for after in dict.fromkeys(AFTER) for write in WRITES]
    reported = wrong = 0
    for after, write in random.sample(cases, 220):
        made = MADE[name] + after
        told = bool(findings(HEAD.format(made=made, write=write)))
        if told:
            assert is_wrong(made, write) is not False, (made, write)
        reported += told
        wrong += told or is_wrong(made, write) is True
    assert reported >= 0.85 * wrong, (reported, wrong)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", MADE)
def test_a_write_into_what_was_just_made(name: str, write: str) -> None:
    code = HEAD.format(made=MADE[name], write=write)
    wrong = is_wrong(MADE[name], write)
    told = bool(findings(code))
    if wrong is not None:
        assert told == wrong, code


# Of one row, or of none, nothing is changed for others: the code says that the size may be 1.
PERHAPS_ONE = [
    "def f(n):\n    x = torch.zeros(1, 4).expand(n, 4)\n    if n <= 1:\n        x += 1\n    return x\n\n\nf(1)\nf(3)",
    "def f(n):\n    x = torch.zeros(1, 4).expand(n, 4)\n    if n < 2:\n        x[0] += 1\n    return x\n\n\nf(1)\nf(3)",
    "def f(n):\n    x = torch.zeros(1, 4).expand(n, 4)\n    if n > 1:\n        return x\n    x += 1\n    return x\n\n\nf(1)\nf(3)",
    "def f(n):\n    x = torch.zeros(1, 4).expand(n, 4)\n    single = n == 1\n    if single:\n        x += 1\n    return x\n\n\nf(1)\nf(3)",
    "def f(n):\n    x = torch.zeros(1, 4).expand(n, 4)\n    return x.add_(1) if n == 1 else x + 1\n\n\nf(1)\nf(3)",
    "def f(n):\n    x = torch.zeros(1, 4).expand(n, 4)\n    match n:\n        case 1:\n            x += 1\n    return x\n\n\nf(1)",
    "def f(y):\n    B, T = y.shape\n    if B > 1:\n        raise ValueError(B)\n    m = torch.ones(1, T).expand(B, T)\n    m[0, 0] = 0\n    return m\n\n\nf(torch.zeros(1, 4))",
    "def f(y):\n    n = y.shape[0]\n    m = torch.ones(1, 4).expand(n, 4)\n    if y.shape[0] < 2:\n        m += 1\n    return m\n\n\nf(torch.zeros(1, 4))",
    "def f(x, batched):\n    B = x.shape[0] if batched else 1\n    m = torch.zeros(1, 4).expand(B, 4)\n    if not batched:\n        m += 1\n    return m\n\n\nf(torch.zeros(3), False)",
    "def f(n=None):\n    n = n or 1\n    x = torch.zeros(1, 4).expand(n, 4)\n    x += 1\n    return x\n\n\nf()",
    "def f(n):\n    x = torch.zeros(1, 4).expand(n, 4)\n    x += 1\n    return x\n\n\nf(1)",
    "class Options:\n    beams: int = 1\n\n\ndef f(options):\n    x = torch.zeros(1, 4).expand(options.beams, 4)\n    x += 1\n    return x\n\n\nf(Options())",
    "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--beams', type=int, default=1)\nargs = parser.parse_args([])\n"
    "x = torch.zeros(1, 4).expand(args.beams, 4)\nx += 1",
    "import os\n\nWORLD = int(os.environ.get('NO_SUCH_NAME', '1'))\nx = torch.zeros(1, 4).expand(WORLD, 4)\nx += 1",
    "x = torch.zeros(1, 4).expand(0, 4)\nx += 1",
    "x = torch.zeros(4).expand(3, 4)\nx[0:0] = 4\nx[5:] += 1\nx[0, 4:] = 1",
    # The others get the same.
    "mask = torch.ones(5).expand(3, 5)\nfor b in range(3):\n    mask[b, 3:] = 0",
    # torch has no product in place.
    "h = torch.zeros(4).expand(3, 4)\nh @= torch.eye(4)\nh += 1",
    # Another type is another memory.
    "from torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.register_buffer('h', torch.zeros(4).expand(3, 4))\n\n    def forward(self):\n        self.h[0] = 1\n        return self.h\n\n\nNet().double()()",
    "import numpy as np\n\nz = np.broadcast_to(np.zeros(4), (3, 4))\nz.flags.writeable = True\nz[:] = 5",
]


@pytest.mark.parametrize("code", PERHAPS_ONE)
def test_nothing_is_said_where_the_code_may_be_right(code: str) -> None:
    exec(f"import torch\n\n\n{code}\n", {"__name__": "case"})
    assert findings(f"import torch\n\n\n{code}\n") == []


def test_a_test_of_another_size_is_no_reason_to_be_silent() -> None:
    code = (
        "import torch\n\n\ndef f(x):\n    B, T, C = x.shape\n    if C > 2:\n        x = x[:, :, :2]\n    pos = torch.arange(T).expand(B, T)\n"
        "    pos += 1\n    return x, pos\n\n\n"
    )
    assert len(findings(code)) == 1
    with pytest.raises(RuntimeError, match="more than one element"):
        exec(f"{code}f(torch.zeros(2, 3, 4))\n", {})


FURTHER = [
    "x = torch.ones(5).expand(3, 5)\nlengths = [2, 3, 5]\nfor b in range(3):\n    x[b, lengths[b]:] = 0.0",
    "x = torch.zeros(4).expand(3, 4)\nx[1][2] = 5",
    "x = torch.zeros(4).expand(3, 4)\nx[2:] += 1",
    "x = torch.zeros(4).expand(3, 4)\nx[-1:] += 2",
    "x = torch.zeros(4).expand(3, 4)\nx[1:] += 1",
    "x = torch.randn(1, 4).broadcast_to(3, 4)\nx[1] = 2",
    "held = {'x': torch.zeros(4).expand(3, 4)}\nheld['x'] += 1\nx = held['x']",
    "import numpy as np\nz = np.broadcast_to(np.arange(4), (3, 4))\nz.fill(0)\nx = torch.from_numpy(z)",
    "import numpy as np\nz = np.broadcast_to(np.arange(4), (3, 4))\nnp.copyto(z, 0)\nx = torch.from_numpy(z)",
]


@pytest.mark.parametrize("code", FURTHER)
def test_other_ways_to_write(code: str) -> None:
    names: dict[str, object] = {}
    try:
        exec(f"import torch\n{code}", names)
    except (RuntimeError, ValueError) as error:
        if "more than one element of the written-to" not in str(error) and "read-only" not in str(error):
            raise
    else:
        copied: dict[str, object] = {}
        code_of_copy = re.sub(r"(expand|broadcast_to)\((\d, \d)\)", r"\1(\2).clone()", code)
        exec(f"import torch\n{code_of_copy}", copied)
        assert not torch.equal(names["x"], copied["x"])  # type: ignore[arg-type]
    assert findings(f"import torch\n{code}\n")


ARRAYS = {
    "np.broadcast_to(row, (3, 4))": True,
    "np.broadcast_to(row, (3, 4)).T": True,
    "np.broadcast_to(row, (3, 4))[1:]": True,
    "np.broadcast_to(row, (3, 4)).copy()": False,
    "np.broadcast_to(row, (3, 4)) + 1": False,
    "np.array(np.broadcast_to(row, (3, 4)))": False,
    "np.tile(row, (3, 1))": False,
    "np.repeat(row[None], 3, axis=0)": False,
    "np.ones((3, 4))": False,
}


@pytest.mark.parametrize("write", ["y += 1", "y[0] = 1", "y[:, 0] = 1", "y[0, 0] = 1", "y[y > 1] = 0", "y[[0, 1]] = 2"])
@pytest.mark.parametrize("made", ARRAYS)
def test_an_array_of_broadcast_to_is_read_only(made: str, write: str) -> None:
    code = f"import numpy as np\n\nrow = np.arange(4.0)\ny = {made}\n{write}\n"
    refused = False
    try:
        exec(code, {})
    except ValueError as error:
        refused = "read-only" in str(error)
    assert refused == ARRAYS[made] == bool(findings(code))


def _methods() -> list[str]:
    return sorted(name for name in dir(torch.Tensor) if name.endswith("_") and not name.startswith("_"))


ARGUMENTS = [
    "", "2.0", "full", "full, full", "0, torch.tensor([0]), full[:1]", "0, torch.tensor([0]), 1.0", "0, index, full",
    "0.0, 1.0", "0", "full > 1, full.flatten()", "(torch.tensor([0]), torch.tensor([1])), torch.tensor([2.0])",
    "torch.tensor([0]), torch.tensor([1.0])", "0, 1", "2, 0, 1.0", "0.5", "full > 1, 1.0", "0, index, full, 'sum'",
    "0, torch.tensor([0]), full[:1], 'mean'",
]  # fmt: skip


@pytest.mark.parametrize("name", _methods())
def test_each_method_that_writes_in_place_is_as_torch_has_it(name: str) -> None:
    """A method that torch does not let write into an expanded tensor is none of those that are left alone, and the other way round."""
    full, index = torch.arange(12.0).view(3, 4), torch.zeros(3, 4, dtype=torch.long)
    refused = ran = False
    for dtype in (torch.float32, torch.int64, torch.bool):
        if refused or ran:
            break
        for arguments in ARGUMENTS:
            x = torch.ones(4).to(dtype).expand(3, 4)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    eval(f"x.{name}({arguments})", {"x": x, "full": full.to(dtype), "index": index, "torch": torch})
                    ran = True
                except UserWarning as warning:
                    refused = refused or "on expanded tensors is deprecated" in str(warning)
                except Exception as error:
                    refused = refused or "more than one element of the written-to" in str(error)
    code = f"import torch\n\nx = torch.ones(4).expand(3, 4)\nx.{name}()\n"
    if refused:
        assert name not in _ALLOWED
        assert not ran
    elif ran:
        assert findings(code) == []
    # What needs other arguments than these: nothing is known here, and `x.addmm_(a, b)` of an expanded x is refused.


@pytest.mark.parametrize(
    "body",
    [
        "h = self.start.expand(x.size(0), -1)\n        h = h + x\n        return h",
        "h = self.start.expand(x.size(0), -1).contiguous()\n        h += x\n        return h",
        "h = self.start.repeat(x.size(0), 1)\n        h[0] = 0\n        return h",
        "h = self.start.expand(x.size(0), -1)\n        out = torch.zeros_like(x)\n        out[0] = h[0]\n        return out",
        "h = self.start.expand(x.size(0), -1)\n        rows = [h[0]]\n        rows[0] = rows[0] + 1\n        return rows[0]",
        "h = torch.empty(x.size(0), 4)\n        h[:] = self.start.expand(x.size(0), -1)\n        h[0] += 1\n        return h",
        "h = self.start.expand(1, -1)\n        h = h.clone()\n        h += 1\n        return h",
        "try:\n            h = self.start.expand(x.size(0), -1)\n            h += x\n        except RuntimeError:\n            h = x\n        return h",
        "h = self.start.expand(x.size(0), -1)\n        if not h.is_contiguous():\n            h = h.contiguous()\n        h += x\n        return h",
        "h = self.start.expand_as(x)\n        x += h\n        return x",
        "h = self.start.expand(x.size(0), -1)\n        h = torch.where(x > 0, h, x)\n        h[0] = 1\n        return h",
        "state = {}\n        state[0] = self.start.expand(x.size(0), -1)\n        state[0] = state[0] * 2\n        return state[0]",
    ],
)  # fmt: skip
def test_what_looks_alike_is_left_alone(body: str) -> None:
    code = (
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.register_buffer('start', torch.zeros(1, 4))\n\n    def forward(self, x):\n        {body}\n\n\n"
        "Net()(torch.randn(3, 4))\n"
    )
    exec(code, {"__name__": "case"})
    assert findings(code) == []


def test_an_axis_of_one_by_default_repeats_nothing() -> None:
    code = "import torch\n\n\ndef rows(w, samples=1):\n    w = torch.zeros(1, 4).expand(samples, -1)\n    w += 1\n    return w\n"
    assert findings(code) == []
    assert findings(code.replace("=1):", "):")) != []


def test_a_function_of_another_place_tells_who_called_it() -> None:
    code = (
        "import torch\n\n\ndef shift(x):\n    x += 1\n    return x\n\n\n"
        "shift(torch.zeros(3, 4))\nshift(torch.zeros(1, 4).expand(3, 4))\n"
    )
    (finding,) = findings(code)
    assert finding.span.line == 5
    assert any("line 10" in each.message or each.line == 10 for each in finding.evidence)


MESSAGES = {
    "state = torch.zeros(1, 4).expand(3, 4)\nstate += 1\n": (
        "state (3, 4) repeats its elements along axis 0, as expand leaves it: torch refuses to write it in place (state += 1) — "
        "write .clone() behind expand(...) in line 4"
    ),
    "state = torch.zeros(4).expand(3, 4)\nstate[0] = 1\n": (
        "state (3, 4) repeats its elements along axis 0, as expand leaves it: state[0] is the same memory at all 3 indices, and "
        "what is written there changes them all — write .clone() behind expand(...) in line 4"
    ),
    "state = torch.zeros(4).expand(3, 4)\nkeep = torch.rand(3, 1) > 0.5\nstate.masked_fill_(keep, 1.0)\n": (
        "state (3, 4) repeats its elements along axis 0, as expand leaves it: what the mask keep chooses at one index is written "
        "at all 3 indices — write .clone() behind expand(...) in line 4"
    ),
    "state = torch.zeros(4).expand(3, 4)\nstate[state > 1] = 0.0\n": (
        "state (3, 4) repeats its elements along axis 0, as expand leaves it: what state[state > 1] = ... chooses at one index "
        "is written at all 3 indices; torch warns that this is deprecated, and where gradients flow through it backward raises — "
        "write .clone() behind expand(...) in line 4"
    ),
    "def f(i):\n    state = torch.zeros(4).expand(3, 4)\n    state[i] = 0.0\n": (
        "state (3, 4) repeats its elements along axis 0, as expand leaves it: torch refuses state[i] = ..., or what it writes at "
        "one index is written at all 3 indices — write .clone() behind expand(...) in line 5"
    ),
    "torch.zeros(4).expand(3, 4)[:, 0] = 1\n": (
        "torch.zeros(4).expand(3, 4) (3, 4) repeats its elements along axis 0, as expand leaves it: torch refuses to write it in "
        "place (torch.zeros(4).expand(3, 4)[:, 0] = ...) — write .clone() behind expand(...)"
    ),
    # A mask that is the same for each row is no reason to speak of one row's choice in all of them.
    "state = torch.zeros(4).expand(3, 4)\nkeep = torch.ones(4, dtype=torch.bool).expand(3, 4)\nstate.masked_fill_(keep, 1.0)\n": (
        "state (3, 4) repeats its elements along axis 0, as expand leaves it: what state.masked_fill_(keep, 1.0) chooses at one "
        "index is written at all 3 indices; torch warns that this is deprecated, and where gradients flow through it backward "
        "raises — write .clone() behind expand(...) in line 4"
    ),
    # The axis is the one by which torch refuses it.
    "y = torch.zeros(1, 1, 4).expand(2, 3, 4)\ny[0] = 1\n": (
        "y (2, 3, 4) repeats its elements along axis 1, as expand leaves it: torch refuses to write it in place (y[0] = ...) — "
        "write .clone() behind expand(...) in line 4"
    ),
    "row, col = torch.meshgrid(torch.arange(3), torch.arange(4), indexing='ij')\ncol -= 1\n": (
        "col (3, 4) repeats its elements along axis 0, as meshgrid leaves it: torch refuses to write it in place (col -= 1) — "
        "copy it first: col = col.clone()"
    ),
    "import numpy as np\nrows = np.broadcast_to(np.arange(4), (3, 4))\nrows[0] = 1\n": (
        "rows (3, 4) repeats its elements along axis 0, as broadcast_to leaves it: numpy lets nobody write into it (rows[0] = ...) "
        "— write .copy() behind broadcast_to(...) in line 5"
    ),
}


@pytest.mark.parametrize("code", MESSAGES)
def test_the_message_says_what_comes_of_it_and_what_to_write(code: str) -> None:
    (finding,) = findings(f"import torch\n\n\n{code}")
    assert finding.message == MESSAGES[code]
