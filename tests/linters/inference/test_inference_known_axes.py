"""What is said of single axes of a tensor whose rank nobody knows, compared with torch on random programs."""

from __future__ import annotations

import ast
import warnings

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

import torch
from program_generator import Program

from tensorlint.inference.analysis import analyse

warnings.filterwarnings("ignore", module="torch")

PARAMETERS = ("p", "q", "r", "s")


class OpenProgram(Program):
    """A function of tensors that says nothing of their ranks."""

    def __post_init__(self) -> None:
        super().__post_init__()
        r = self.random
        trailing = [r.choice([2, 3, 4]) for _ in range(3)]
        for name in PARAMETERS:
            shape = [1 if r.random() < 0.15 else size for size in trailing[r.randrange(3) :]]
            lead = [r.choice([1, 2, 5]) for _ in range(r.randrange(3))]
            self.scope[name] = torch.randn(*lead, *shape)
            self.names.append(name)

    def evaluate(self, claim: int | str, at: int) -> int | None:
        if isinstance(claim, int) or claim == "?":
            return None if isinstance(claim, str) else claim
        earlier = {name: value for line, (name, value) in self.made.items() if line < at}
        size: int = eval(claim, {}, {name: self.scope[name] for name in PARAMETERS} | earlier)
        return size

    def pick(self, rank: int | None = None) -> str:
        # The latest more often: chains are what loses or keeps an axis.
        return (
            self.random.choice(self.names[-4:]) if rank is None and self.random.random() < 0.7 else super().pick(rank)
        )

    def creation(self) -> str:
        # Without it a parameter would seldom be used.
        return f"{self.random.choice(PARAMETERS)}.abs()" if self.random.random() < 0.6 else super().creation()

    def expression(self) -> str:
        r = self.random
        x, y = self.pick(), self.pick()
        shape = tuple(self.scope[x].shape)
        rank = len(shape)
        if not rank or r.random() < 0.45:
            return super().expression()
        last, axis = shape[-1], r.randrange(-rank, rank)
        ends = [":", "1:", "0", "None", "-1", ":2"]
        choices = [
            f"nn.Linear({last}, {r.choice([1, 3, 4])})({x})",
            f"nn.Linear({last}, {r.choice([3, 4])})({x}) {r.choice('+-*/')} {y}",
            f"nn.LayerNorm({last})({x})",
            f"nn.GroupNorm(1, {shape[1] if rank > 1 else 1})({x})",
            f"nn.{r.choice(['ReLU', 'GELU', 'Tanh', 'Dropout', 'Identity', 'SiLU'])}()({x})",
            f"nn.Softmax({axis})({x})",
            f"nn.Embedding(9, {r.choice([2, 5])})({x}.long().clamp(0, 8))",
            f"F.embedding({x}.long().clamp(0, 8), torch.zeros(9, 3))",
            f"F.linear({x}, torch.zeros(4, {last}))",
            f"nn.Conv1d({shape[-2] if rank > 1 else 1}, {r.choice([2, 4])}, {r.choice([1, 2])}, padding={r.choice([0, 1])})({x})",
            f"nn.Conv2d({shape[-3] if rank > 2 else 1}, 4, {r.choice([1, '(1, 2)'])}, stride={r.choice([1, 2])})({x})",
            f"nn.ConvTranspose2d({shape[-3] if rank > 2 else 1}, 2, 2, stride=2)({x})",
            f"F.{r.choice(['max', 'avg'])}_pool2d({x}, 2, 1, 1)",
            f"nn.{r.choice(['Max', 'Avg'])}Pool1d(2, padding=1)({x})",
            f"F.adaptive_avg_pool2d({x}, {r.choice([1, 2, '(1, 1)', '(2, None)'])})",
            f"nn.AdaptiveMaxPool1d({r.choice([1, 2])})({x})",
            f"{x}[..., {', '.join(r.choice(ends) for _ in range(r.randint(1, min(2, rank))))}]",
            f"{x}[{r.choice(['None', ':, None', '0', ':, 0', ':, :1', '1:'])}]",
            f"{x}[{r.choice(['None', ':', '0'])}, ..., {r.choice(ends)}]",
            f"{x}.unsqueeze({r.randrange(-rank - 1, rank + 1)})",
            f"{x}.transpose({axis}, {r.randrange(-rank, rank)})",
            f"{x}.mT",
            f"{x}.{r.choice(['mean', 'sum', 'amax', 'std', 'argmax'])}(dim={axis}, keepdim={r.choice(['True', 'False'])})",
            f"{x}.sum(({axis}, {r.randrange(-rank, rank)}), keepdim={r.choice(['True', 'False'])})",
            f"{x}.max({axis}, keepdim=True)[0]",
            f"{x}.select({axis}, 0)",
            f"torch.cat([{x}, {x}], dim={axis})",
            f"torch.cat([{x}, {y}], dim={axis})",
            f"torch.cat([torch.tensor([]), {x}], dim={axis})",
            f"torch.stack([{x}, {x}, {x}], dim={r.randrange(-rank - 1, rank + 1)})",
            f"{x} @ nn.Linear({r.choice([3, 4])}, {last}).weight",
            f"{x} @ {y}.mT",
            f"torch.matmul({x}, torch.ones({last}))",
            f"{x}.view(*{x}.shape[:-1], {last})",
            f"{x}.reshape(*{x}.shape[:-1], 1, -1)",
            f"{x}.reshape({x}.shape[:-1] + (1, {last}))",
            f"({x}.reshape((*{x}.shape[:-1], {last}, 1)))",
            f"{x}.chunk(2, dim={axis})[0]",
            f"{x}.split(1, dim={axis})[0]",
            f"{x}.topk(1, dim={axis})[0]",
            f"{x}.sort({axis})[0]",
            f"{x}.unbind({axis})[0]",
            f"torch.where({x} > 0, {x}, {y})",
            f"torch.maximum({x}, {y})",
            f"{x}.clamp(min=0).masked_fill({y} > 0, 1.0)",
            f"torch.addcmul({x}, {x}, {x}, value=0.5)",
            f"-{x}",
            f"{x} * {x}.mean(-1, keepdim=True)",
            f"F.normalize({x}, dim={axis})",
            f"nn.Linear(3, {last})(torch.zeros(3)) + {x}",
            f"torch.zeros(4, 1) * {x}",
        ]  # fmt: skip
        return r.choice(choices)

    def source(self) -> tuple[str, int]:
        head = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"{head}def program({', '.join(f'{name}: torch.Tensor' for name in PARAMETERS)}):\n{body}\n", 5


def made(seed: int, length: int) -> OpenProgram:
    torch.manual_seed(seed)
    program = OpenProgram(seed, False)
    for _ in range(length):
        program.grow()
    return program


def wrong_claims(program: OpenProgram) -> tuple[list[str], int, int]:
    """The wrong claims in words, how many tensors of unknown rank there are, and of how many a size is known."""
    source, first = program.source()
    failures: list[Exception] = []
    rows = {row.line - first: row for row in analyse(ast.parse(source), source, failures=failures).bindings}
    wrong = [f"seed {program.seed}: {failure!r}" for failure in failures]
    unranked = known = 0
    for at, (name, value) in program.made.items():
        row = rows.get(at)
        if row is None:
            continue
        assert row.name == name
        place = f"seed {program.seed}, line {at}: {program.lines[at]}"
        shape = tuple(value.shape)
        if row.shape is not None:
            sizes = [program.evaluate(size, at) for size in row.shape]
            if len(sizes) != len(shape) or any(
                claim is not None and claim != size for claim, size in zip(sizes, shape, strict=True)
            ):
                wrong.append(f"{place}: shape {row.shape}, is {shape}")
            continue
        unranked += 1
        known += row.axes is not None
        for axis, size in (row.axes or {}).items():
            if not -len(shape) <= axis < len(shape):
                wrong.append(f"{place}: axis {axis}, is {shape}")
            elif program.evaluate(size, at) not in (None, shape[axis]):
                wrong.append(f"{place}: {row.axes}, is {shape}")
    return wrong, unranked, known


def test_no_claim_about_an_axis_of_a_random_program_is_wrong() -> None:
    wrong: list[str] = []
    unranked = known = 0
    for seed in range(400):
        found, open_, told = wrong_claims(made(seed, 12))
        wrong += found
        unranked, known = unranked + open_, known + told
    assert not wrong, "\n".join(wrong[:20])
    assert unranked > 1000
    assert known / unranked > 0.3


def test_axes_spelled_as_numpy_s_are_the_same_axes() -> None:
    wrong: list[str] = []
    spelled = 0
    for seed in range(400):
        program = made(seed, 12)
        for at, (_, value) in program.made.items():
            line = program.lines[at]
            other = line.replace("keepdim=", "keepdims=").replace("dim=", "axis=").replace("keepaxis=", "keepdim=")
            if other == line:
                continue
            try:
                torch.manual_seed(0)
                made_so = eval(other.partition(" = ")[2], {**program.scope})
            except TypeError:  # functions of torch that are written in Python take no other name
                continue
            if tuple(made_so.shape) == tuple(value.shape):
                program.lines[at] = other
                spelled += 1
        wrong += wrong_claims(program)[0]
    assert not wrong, "\n".join(wrong[:20])
    assert spelled > 100
