"""A module with a layer, what counts the hooks that run, and the lines of which TSR301 speaks."""

from __future__ import annotations

import pytest
from forward_programs import forwards

HEAD = """
import functools

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

ran = []


def count(module, args, output):
    ran.append(type(module).__name__)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)


"""
X = "torch.ones(2, 4)"


def run(code: str) -> dict[str, object]:
    pytest.importorskip("torch", reason="runs torch")
    names: dict[str, object] = {}
    try:
        exec(compile(code, "<case>", "exec"), names)
    finally:
        if "handle" in names:
            names["handle"].remove()  # type: ignore[attr-defined]
    return names


def lines(code: str) -> list[str]:
    return [code.splitlines()[each.span.line - 1].strip() for each in forwards(code)]
