"""Functions that nothing can be found in are passed over, and what they hand on is followed all the same."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tensorlint.inference.analysis import analyse
from tensorlint.inference.quiet_functions import is_quiet

QUIET = [
    "def f(self, name): self.name = name",
    "def f(path): return os.path.join(path, 'x') + '.txt'",
    "def f(self, trainer): return self.logger.log(trainer, 'x', sync=True)",
    "@property\ndef f(self): return self._name",
    "def f(*args, **kwargs): return other(*args, **dict(kwargs))",
    "def f(self, mode):\n    if mode == 'train' and self.x is not None:\n        n = len(mode)\n        n += 1",
    "def f(values):\n    for value in values:\n        print(value)",
]
FOLLOWED = [
    "def f(a, b): return a - b",
    "def f(a, b): return a == b",
    "def f(a): return torch.sum(a)",
    "def f(a): return a.T",
    "def f(a): return a.view(-1)",
    "def f(self, x): return self.layer.forward(x)",
    "def f(self, x): return getattr(self.layer, 'forward')(x)",
    "def f(a, b):\n    a -= b",
    "def f():\n    data = make()\n    train(data)",
    "def f(): train(make())",
    "def f(self): train(self.weight)",
    "def f(self): train(100, 1)",
    "def f(**kwargs): return make(dict(width=1, **kwargs))",
    "def f(self): train(self)",
    "def f(a): return reveal_shape(a)",
    "def f(a):\n    a.width = 3",
    "def f(a):\n    ROWS[0] = a",
    "def f(a): return lambda b: a - b",
    "def __init__(self, n): self.n = n",
]


@pytest.mark.parametrize("source", QUIET)
def test_quiet(source: str) -> None:
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert is_quiet(function)


@pytest.mark.parametrize("source", FOLLOWED)
def test_followed(source: str) -> None:
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert not is_quiet(function)


def test_what_a_quiet_function_calls_is_followed() -> None:
    source = textwrap.dedent(
        """
        import torch

        def loss(pred, target):
            return ((pred - target) ** 2).mean()

        def make(n):
            return torch.zeros(n, 1), torch.zeros(n)

        def main():
            pred, target = make(9)
            return run(pred, target)

        def run(pred, target):
            return loss(pred, target)
        """
    )
    run = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == "run")
    assert is_quiet(run)
    assert analyse(ast.parse(source), source, shapes=False).hazards
