"""Random programs over numpy's arrays and torch's tensors together: orders of memory, steps and indices of every kind, mixed
element types, numbers of Python, of numpy and of torch. A program is made one statement at a time while it runs."""

from __future__ import annotations

import random
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import einops
import numpy as np
import torch

HEAD = """import numpy as np
import torch
import torch.nn.functional as F
from einops import rearrange, reduce, repeat
from torch import nn
import einops
"""
ARRAYS = [
    "float64",
    "float32",
    "int64",
    "int32",
    "uint8",
    "bool",
    "complex64",
    "float16",
    "int8",
    "complex128",
    "uint16",
]
TENSORS = ["float32", "float64", "int64", "int32", "uint8", "bool", "float16", "bfloat16", "complex64", "int8", "int16"]
NUMBERS = """2 | 0.5 | True | 1j | np.float32(2) | np.int64(3) | np.float64(1.5) | np.int8(1) | np.bool_(True) | np.float16(1) | -1
torch.tensor(2) | torch.tensor(1.5) | torch.tensor(2, dtype=torch.float64) | torch.tensor(True) | torch.tensor(1, dtype=torch.int8)
np.array(2) | np.array(1.5, dtype='float32') | np.complex64(1) | np.uint8(3) | 300 | 1e10 | (2 > 1) | int(3.5) | np.pi | np.sqrt(2)
len('ab') | np.float32(1) * 2 | max(1, 2.0)"""
MADE = {
    "numpy": """np.zeros({shape}) | np.ones({shape}, order='F') | np.arange({size} * {size}) | np.zeros({shape}, dtype='{dtype}')
np.ones({shape}, '{dtype}', order='F') | np.full({shape}, 2) | np.full({shape}, 2.5, order='F') | np.asfortranarray(np.ones({shape}))
np.array(np.ones({shape}), order='F') | np.array(np.ones({shape}), order='F', ndmin=4) | np.eye({size}, order='F')
np.linspace(0, 1, {size}) | np.ones({shape}, order='F').astype('{dtype}') | np.array([[1, 2], [3, 4]], order='F')""",
    "torch": """torch.zeros({shape}) | torch.ones({shape}, dtype=torch.{dtype}) | torch.full({shape}, 2) | torch.full({shape}, 1.5)
torch.arange({size} * {size}) | torch.arange(0, {size}, 0.5) | torch.eye({size}, {size}) | torch.randint(0, 2, {shape})
torch.linspace(0, 1, {size}) | torch.tensor([[1, 2], [3, 4]]) | torch.tensor([1.0, 2]) | torch.ones({size}, {size}).t()
torch.ones({size}, {size}, {size}, {size}).to(memory_format=torch.channels_last) | torch.rand({shape}).to(torch.{dtype})
torch.from_numpy(np.ones({shape}, order='F')) | torch.as_tensor(np.ones({shape}))""",
}
_INDICES = ["[0, 1]", "[1, 0, 0]", "[0]", "[[0, 1], [1, 0]]", "np.array([0, 1])", "torch.tensor([0, 1])", "[-1]"]
_CHOICE = re.compile(r"<([^<>|]*(?:\|[^<>|]*)+)>")


def split(text: str) -> list[str]:
    return [part for line in text.splitlines() for part in line.split(" | ")]


def operations() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    text = (Path(__file__).parent / "data" / "array_operations.txt").read_text(encoding="utf-8")
    for part in text.partition("\n= ")[2].split("\n= "):
        name, _, lines = part.partition("\n")
        found[name] = split(lines.strip())
    return found


OPERATIONS = operations()
Value = Any  # an array or a tensor


@dataclass
class ArrayProgram:
    """`sizes` are the named sizes; the program is a function of them, or a module without."""

    seed: int
    named: bool
    lines: list[str] = field(default_factory=list)
    made: list[Value] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.sizes = dict(zip("BTC", self.random.sample([2, 3, 4, 5, 6], 3), strict=True)) if self.named else {}
        self.scope: dict[str, Any] = {"einops": einops, **self.sizes}
        exec(HEAD, self.scope)
        self.typed = self.random.random() < 0.5
        self.library = self.random.choice(["numpy", "torch", None])

    def size(self) -> str:
        if self.sizes and self.random.random() < 0.8:
            return self.random.choice(list(self.sizes))
        return str(self.random.choice([2, 3, 4, 5, 6]) if self.random.random() < 0.9 else self.random.choice([0, 1]))

    def shape(self) -> str:
        return "(" + "".join(f"{self.size()}, " for _ in range(self.random.choice([1, 2, 2, 3, 3, 4]))) + ")"

    def index(self, value: Value) -> str:
        r, items = self.random, []
        for size in value.shape:
            kind = r.random()
            if kind < 0.15:
                items.append(r.choice(["None", "np.newaxis"]))
            if kind < 0.3:
                items.append(":")
            elif kind < 0.45:
                items.append(str(r.randrange(-size, size) if size else 0))
            elif kind < 0.75:
                steps = ["", "", ":2", ":3", ":-1", ":-2"] if isinstance(value, np.ndarray) else ["", "", ":2", ":3"]
                items.append(f"{r.choice(['', '0', '1', '-2'])}:{r.choice(['', '-1', '3', '2'])}{r.choice(steps)}")
            elif kind < 0.8:
                items.append("...")
                break
            elif kind < 0.92:
                items.append(r.choice(_INDICES))
            else:
                break
        return f"[{', '.join(items) or '...'}]"

    def expression(self) -> str:
        r = self.random
        if not self.made or r.random() < 0.12:
            library = self.library or r.choice(["numpy", "torch"])
            names = ARRAYS if library == "numpy" else TENSORS
            dtype = r.choice(names) if self.typed else names[0]
            return r.choice(split(MADE[library])).format(shape=self.shape(), size=self.size(), dtype=dtype)
        latest = range(max(0, len(self.made) - 5), len(self.made))
        at = r.choice(latest) if r.random() < 0.7 else r.randrange(len(self.made))
        value = self.made[at]
        kind = "torch" if isinstance(value, torch.Tensor) else "numpy"
        alike = [
            place
            for place, other in enumerate(self.made)
            if isinstance(other, torch.Tensor) == (kind == "torch") and other.shape == value.shape
        ]
        rank = value.ndim
        letters = list("abcdefghijklmrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[:rank])
        mixed = r.sample(letters, rank)
        some = mixed[: r.randint(0, rank)]
        axes = r.sample(range(rank), rank)
        operators = ["+", "-", "*", "/", "<"]
        if self.typed:
            operators += ["//", "%", "**", ">=", "==", "&", "|", "^", "<<", ">>"]
        names = ARRAYS if kind == "numpy" else TENSORS
        template = r.choice(OPERATIONS["any"] if r.random() < 0.12 else OPERATIONS[kind])
        if r.random() < 0.15:
            template = "{x}{index}"
        return _CHOICE.sub(lambda found: r.choice(found[1].split("|")), template).format(
            x=f"v{at}", y=f"v{r.randrange(len(self.made))}", z=f"v{r.choice(alike)}", size=self.size(), shape=self.shape(),
            a=r.randrange(-rank, rank) if rank else 0, b=r.randrange(-rank, rank) if rank else 0,
            new=r.randrange(-rank - 1, rank + 1), axes=", ".join(map(str, axes)), yes=r.choice(["True", "False"]),
            order=r.choice("CFAK"), dtype=r.choice(names) if self.typed else names[0], op=r.choice(operators),
            format=r.choice(["torch.channels_last", "torch.contiguous_format", "torch.preserve_format"]),
            number=r.choice(split(NUMBERS)), lib="np" if kind == "numpy" else "torch", index=self.index(value),
            joined="".join(letters), some="".join(some), letters=" ".join(letters), mixed=" ".join(mixed),
            part=" ".join(some), rest=" ".join(letters[1:]), front=" ".join(letters[:-1]), last="".join(letters[-1:]),
        )  # fmt: skip

    def grow(self) -> None:
        """One more statement, if one of thirty runs and gives an array or a tensor of a reasonable size."""
        for _ in range(30):
            text = self.expression()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self.rehearse(text)
                    value = eval(text, self.scope)
            except Exception:
                continue
            plain = isinstance(value, torch.Tensor) and value.layout == torch.strided
            if not plain and not (isinstance(value, np.ndarray) and value.dtype != object):
                continue
            if (value.numel() if plain else value.size) > 20_000:
                continue
            self.scope[f"v{len(self.made)}"] = value
            self.lines.append(f"v{len(self.made)} = {text}")
            self.made.append(value)
            return

    def rehearse(self, text: str) -> None:
        """On a GPU an index out of range ends the process: what raises an error there raises it on the host first."""
        if torch.get_default_device().type == "cpu":
            return
        host = {name: value.cpu() if isinstance(value, torch.Tensor) else value for name, value in self.scope.items()}
        with torch.device("cpu"):
            eval(text, host)

    def source(self) -> tuple[str, int]:
        """The text, and the line of its first statement."""
        if not self.named:
            return HEAD + "\n".join(self.lines) + "\n", HEAD.count("\n") + 1
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"{HEAD}def program(B, T, C):\n{body}", HEAD.count("\n") + 2
