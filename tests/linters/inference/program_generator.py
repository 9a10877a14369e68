"""Random programs over tensors, made one statement at a time while they run, so that every statement is legal.

A program is a list of source lines. It is run for real as it grows; what the interpreter says of each assignment is
then compared with what torch made.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass
class Program:
    """`sizes` are the named sizes (name -> number) that are the parameters of the program as a function."""

    seed: int
    symbolic: bool
    lines: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    made: dict[int, tuple[str, Any]] = field(default_factory=dict)
    """Line (from 0, in `lines`) -> name and the value it was given."""

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        if self.symbolic:
            numbers = self.random.sample([2, 3, 4, 5, 6, 7], 3)
            self.sizes = dict(zip("BTC", numbers, strict=True))
        self.scope = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, **self.sizes}

    # -- writing -----------------------------------------------------------------------------------------------------

    def size(self) -> str:
        if self.symbolic and self.random.random() < 0.8:
            return self.random.choice(list(self.sizes))
        return str(self.random.choice([1, 2, 3, 4, 6]))

    def write(self, expression: str, name: str | None = None) -> bool:
        """Add `name = expression` if it runs and gives a tensor of a reasonable size."""
        name = name or f"v{len(self.lines)}"
        scope = dict(self.scope)
        try:
            value = eval(expression, scope)
        except (RuntimeError, IndexError, ValueError, TypeError, AssertionError):
            return False
        if not isinstance(value, torch.Tensor) or value.numel() > 200_000 or value.numel() == 0:
            return False
        self.made[len(self.lines)] = (name, value)
        self.lines.append(f"{name} = {expression}")
        self.scope[name] = value
        if name not in self.names:
            self.names.append(name)
        return True

    def pick(self, rank: int | None = None) -> str:
        fitting = [name for name in self.names if rank is None or self.scope[name].dim() == rank]
        return self.random.choice(fitting or self.names)

    def grow(self) -> None:
        """One more statement."""
        for _ in range(40):
            if self.write(self.expression()):
                return
        self.write(f"torch.zeros({self.size()}, {self.size()})")

    def expression(self) -> str:
        r = self.random
        if not self.names or r.random() < 0.12:
            return self.creation()
        x = self.pick()
        tensor = self.scope[x]
        rank = tensor.dim()
        axis = r.randrange(-rank, rank) if rank else 0
        other = r.randrange(-rank, rank) if rank else 0
        y = self.pick()
        choices = [
            f"{x} {r.choice('+-*/')} {y}",
            f"{x} {r.choice('+-*')} {r.choice(['2', '0.5', '1'])}",
            f"torch.{r.choice(['exp', 'tanh', 'relu', 'sigmoid', 'abs', 'neg'])}({x})",
            f"{x}.{r.choice(['clone', 'detach', 'contiguous', 'float', 'double', 'relu', 'sigmoid'])}()",
            f"{x}.transpose({axis}, {other})",
            f"{x}.{r.choice(['sum', 'mean', 'amax', 'argmax', 'cumsum', 'softmax'])}({axis})",
            f"{x}.{r.choice(['sum', 'mean'])}({axis}, keepdim=True)",
            f"{x}.sum()",
            f"{x}.unsqueeze({r.randrange(-rank - 1, rank + 1)})",
            f"{x}.squeeze({axis})",
            f"{x}.squeeze()",
            f"{x}.flatten()",
            f"{x}.reshape(-1)",
            f"{x}.permute({', '.join(map(str, r.sample(range(rank), rank)))})" if rank else f"{x}.clone()",
            f"{x}[{self.index(rank)}]",
            f"{x} @ {y}",
            f"{x}.t()" if rank == 2 else f"{x}.flip({axis})",
            f"torch.cat([{x}, {y}], {axis})",
            f"torch.stack([{x}, {x}], {axis})",
            f"torch.where({x} > 0, {x}, {y})",
            f"{x}.{self.view(x)}",
            f"{x}.expand({self.expansion(tensor)})",
            f"{x}.repeat({', '.join(str(r.choice([1, 1, 2])) for _ in range(rank))})" if rank else f"{x} + 1",
            f"F.{r.choice(['gelu', 'silu', 'normalize', 'dropout'])}({x})",
            f"{x}.chunk(2, {axis})[0]",
            f"{x}.split(1, {axis})[-1]",
            f"{x}.unbind({axis})[0]",
            f"{x}.masked_fill({x} > 0, 0.0)",
            f"{x}.view(-1)",
            f"torch.einsum('ij,jk->ik', {x}, {y})" if rank == 2 else f"{x}.roll(1, {axis})",
            f"{x}.narrow({axis}, 0, 1)" if rank else f"{x}.clone()",
            f"torch.zeros_like({x})",
            f"{x}.topk(1, {axis})[1]",
            f"{x}.max({axis})[0]" if rank else f"{x}.clone()",
            f"{x}.to(torch.{r.choice(['float64', 'int64', 'float32', 'bool'])})",
            f"nn.Linear({tensor.shape[-1]}, {r.choice([1, 5])})({x})" if rank else f"{x}.clone()",
            f"F.layer_norm({x}, {x}.shape[-1:])" if rank else f"{x}.exp()",
            f"torch.outer({x}, {y})" if rank == 1 else f"{x}.triu()",
            f"{x}.index_select({axis}, torch.tensor([0, 0]))" if rank else f"{x}.clone()",
            f"{x}.norm(dim={axis})",
            f"{x}.movedim({axis}, {other})",
            f"{x}.ne({y})",
            f"-{x}",
            f"{x} == {y}",
        ]
        return r.choice(choices)

    def creation(self) -> str:
        r = self.random
        shape = ", ".join(self.size() for _ in range(r.choice([1, 2, 2, 3, 3, 4])))
        return r.choice(
            [
                f"torch.randn({shape})",
                f"torch.zeros({shape})",
                f"torch.ones(({shape},))",
                f"torch.rand({shape})",
                f"torch.arange({self.size()})",
                f"torch.full(({shape},), 2.0)",
                f"torch.randint(0, 5, ({shape},))",
                f"torch.eye({self.size()})",
                f"torch.linspace(0, 1, {self.size()})",
                "torch.tensor([[1.0, 2.0], [3.0, 4.0]])",
            ]
        )

    def index(self, rank: int) -> str:
        r = self.random
        parts = [
            r.choice([":", "0", "-1", "1:", ":1", ":-1", "::2", "None", "...", "[0, 0]"])
            for _ in range(r.randint(1, max(1, rank)))
        ]
        if parts.count("...") > 1:
            parts = [":" if part == "..." else part for part in parts]
        return ", ".join(parts)

    def view(self, name: str) -> str:
        r = self.random
        shape = list(self.scope[name].shape)
        texts = [str(size) for size in shape]
        if self.symbolic:
            texts = [f"{name}.shape[{axis}]" if r.random() < 0.5 else text for axis, text in enumerate(texts)]
        kind = r.choice(["view", "reshape"])
        if len(shape) >= 2:
            at = r.randrange(len(shape) - 1)
            merged = f"{texts[at]} * {texts[at + 1]}" if r.random() < 0.5 else "-1"
            texts = [*texts[:at], merged, *texts[at + 2 :]]
        elif shape and shape[0] % 2 == 0:
            texts = ["2", f"{texts[0]} // 2"]
        return f"{kind}({', '.join(texts)})"

    def expansion(self, tensor: torch.Tensor) -> str:
        parts = [str(self.random.choice([2, 3])) if size == 1 else "-1" for size in tensor.shape]
        if self.random.random() < 0.3:
            parts.insert(0, "2")
        return ", ".join(parts) or "2"

    def evaluate(self, claim: int | str, at: int) -> int | None:
        """A size claimed of line `at` as a number; None where nothing is claimed."""
        if isinstance(claim, int):
            return claim
        made = {name: value for line, (name, value) in self.made.items() if line < at}
        return None if claim == "?" else eval(claim, {}, {**self.sizes, **made})

    # -- reading -----------------------------------------------------------------------------------------------------

    def source(self) -> tuple[str, int]:
        """The program's text, and the number of the line (from 1) that `lines[0]` is on."""
        head = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
        if not self.symbolic:
            return head + "\n".join(self.lines) + "\n", 4
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"{head}def program({', '.join(self.sizes)}):\n{body}\n", 5


def make(seed: int, length: int, symbolic: bool) -> Program:
    torch.manual_seed(seed)
    program = Program(seed, symbolic)
    for _ in range(length):
        program.grow()
    return program
