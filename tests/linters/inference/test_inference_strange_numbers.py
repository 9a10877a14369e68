"""Numbers that no sensible program has, wherever a number stands: nothing fails, nothing runs away."""

from __future__ import annotations

import ast
import random
import re
import signal
import warnings
from collections.abc import Iterator
from types import FrameType

import pytest

pytest.importorskip("torch", reason="torch makes the programs whose numbers are exchanged")
pytest.importorskip("numpy")

from test_inference_negative_sizes import EXPRESSIONS, HEAD, STATEMENTS

from tensorlint.inference.analysis import analyse

MORE = """\
x.chunk(5)
x.split(1)
x.unbind(0)
x.flatten(1, -1)
x.unflatten(0, (2, 2))
x.tensor_split(3)
torch.meshgrid(v, v)
x[(None,) * 3]
x.reshape((1,) * 3 + (24,))
torch.zeros(3).unbind()
list(torch.zeros(3))
a, b, c = torch.zeros(3)
[*torch.zeros(3)]
torch.stack([v] * 3)
torch.cat([v] * 3)
x.movedim(0, 1)
x.permute(0, 1)
x.transpose(0, 1)
x.sum(0)
x.softmax(1)
x[3]
x[:, 3]
x[..., 3]
x[1:3:2]
np.array_split(a, 3)
np.split(a, 2)
np.block([[a] * 3])
np.expand_dims(a, 1)
np.moveaxis(a, 0, 1)
np.indices((3, 4))
np.ix_(range(3), range(4))
np.nonzero(np.zeros((1,) * 3))
[v for _ in range(3)]
[i for i in range(3)]
sum(range(3))
torch.tensor(list(range(3)))
torch.tensor([[0] * 3] * 4)
torch.tensor([[0] * 3 for _ in range(4)])
torch.zeros(2 ** 3)
torch.zeros(1 << 3)
torch.zeros(3 ** 3 ** 2)
torch.zeros(pow(2, 3))
torch.zeros(int('3'))
torch.zeros(len('a' * 3))
torch.zeros(3 // 1, 3 % 2)
'ab' * 3
(1, 2) * 3
[[1]] * 3
torch.zeros((2,) * 3)
nn.Sequential(*[nn.Linear(6, 6) for _ in range(3)])(x)
nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])[2](x)
nn.Flatten(1, -1)(x)
nn.Unflatten(1, (2, 3))(x)
F.one_hot(torch.zeros(3).long(), 3)
torch.combinations(v, 2)
torch.vander(v, 3)
rearrange(x, 'a (b c) -> a b c', b=3)
repeat(v, 'a -> a b', b=3)
torch.einsum('ab,ab->a', x, x)
np.linspace(0, 1, 3)
torch.arange(0, 3, 1)
torch.arange(0, 3, .5)
np.arange(0, 3, .5)
range(3)[1]
[1, 2, 3][1]
[1, 2, 3][1:2]
(1, 2, 3)[::2]
x.view(1, 3, 8)
x.squeeze(1)
x.unsqueeze(1)
x.diagonal(1)
x.repeat(1, 1, 3)
x.expand(2, 4, 6)
x.roll(3, 0)
np.pad(a, ((1, 2), (3, 4)))
F.pad(x, (1, 2, 3, 4))
x.unfold(1, 3, 1)
F.conv2d(im, torch.zeros(3, 2, 3, 3), stride=2, padding=1, dilation=2, groups=1)
nn.Conv2d(2, 3, 3, 2, 1, 2)(im)
nn.MaxPool2d(3, 2, 1, 2)(im)
nn.AdaptiveAvgPool2d((3, 2))(im)
F.interpolate(im, scale_factor=2)
F.interpolate(im, size=(3, 4))
nn.LSTM(6, 3, 2)(x)[1][0]
nn.GRU(6, 3, 2)(x)[1]
nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2), 3)(x)
nn.MultiheadAttention(6, 3)(x, x, x)[0]
x.topk(3)
x.narrow(0, 1, 2)
x.select(0, 1)
x.tile(3)
torch.block_diag(*[x] * 3)
torch.cartesian_prod(v, v)
np.zeros(3)[np.newaxis]
np.tensordot(a, a, 2)
torch.tensordot(x, x, 2)
torch.matrix_power(x[:, :4], 3)
x ** 3
torch.zeros(3) * 3
x.reshape(-1, 3, 2)
divmod(7, 3)
round(2.567, 2)
bin(3)
x.argsort()[:3]
torch.zeros(abs(-3))
torch.zeros(max(3, 2))
torch.zeros(hash(3) % 7)
torch.histc(v, 3)
np.bincount(np.array([1, 2]), minlength=3)
x.stride(1)
x.size(1)
x.shape[1]
x.shape[3:]
np.full(3, 1.)
torch.full((3,), 1)
torch.randint(3, 9, (2,))
np.random.choice(3, 2)
np.random.randint(0, 3, 2)
torch.randperm(3)
enumerate([1, 2], 3)
zip(range(3), range(4))
list(reversed(range(3)))
torch.tensor(sorted(range(3)))
torch.tensor([*range(3)])
torch.stack(list(torch.zeros(3, 2)))
torch.stack(torch.zeros(3, 2).unbind())
torch.stack(torch.zeros(3, 2).chunk(3))
dict.fromkeys(range(3), v)
{i: v for i in range(3)}
{i for i in range(3)}
x.to(3)
x.cuda(3)
torch.device('cuda', 3)
torch.manual_seed(3)
f'{3:>3}'
'%3d' % 3
""".splitlines()
WRITTEN = [
    "np.nonzero(np.zeros((1,) * 10**9))",
    "torch.zeros((2,) * 10**6)",
    "x.flatten(10**9)",
    "nn.Flatten(10**9, -1)(x)",
    "x.flatten(1, -10**9)",
    "np.tensordot(a, a, 10**9)",
    "torch.tensordot(x, x, 10**9)",
    "[] * 10**20",
    "[1, 2] * -10**20",
    "range(-10**30, 10**30)",
    "[i for i in range(10**30)]",
    "nn.LSTM(6, 3, -10**9)(x)[1][0]",
    "x.sum(10**20)",
    "x[(0,) * 10**9]",
]
STRANGE = [
    "10**20", "-10**20", "10**9", "-10**9", "10**6", "2**63", "2**31", "0", "-1", "2.5", "'a'", "None", "True", "1e308", "float('nan')",
    "float('inf')", "[]", "()", "{}", "1j", "10**400", "-(2**63)", "[10**9]", "(3, 10**20)", "x", "v", "n", "lambda: 3", "...",
]  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.'\"%])-?\d+(\.\d*)?(?![\w'\"d])")
_USES = ["{r}", "q = r[2:5]", "o = r.reshape(-1)", "for w in r: z = w"]
_SECONDS = 60  # nothing here takes one: what takes so long does not end


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise TimeoutError("the analysis does not end")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _programs(made: str) -> list[str]:
    uses = [line.format(r=made if "r = " in made else f"r = {made}") for line in _USES]
    of_anything = "\n".join(f"    {line}" for line in uses)
    known = "\n".join(uses)
    return [f"{HEAD}{known}\n", f"{HEAD}def go(x, v, q):\n    x = x.float()\n    v = v.float()\n{of_anything}\n"]


def _check(source: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except SyntaxError:
        return
    failures: list[Exception] = []
    analyse(tree, source, failures=failures)
    assert failures == [], source


@pytest.mark.parametrize("made", WRITTEN)
def test_what_ran_away_or_failed(made: str) -> None:
    for source in _programs(made):
        _check(source)


@pytest.mark.parametrize("seed", range(20))
def test_any_number_may_be_any_other(seed: int) -> None:
    pick = random.Random(seed)
    places = [(each, found.span()) for each in (*EXPRESSIONS, *STATEMENTS, *MORE) for found in _NUMBER.finditer(each)]
    for made, (start, end) in pick.sample(places, 60):
        for source in _programs(f"{made[:start]}({pick.choice(STRANGE)}){made[end:]}"):
            _check(source)
