"""Syntax that came after Python 3.11: linted, and fixed, where the Python that runs the linter reads it."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from tensorlint.linter import Linter

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are syntax since Python 3.12")

PROGRAM = textwrap.dedent(
    """\
    import torch
    from torch import Tensor, nn

    type Pair[T] = tuple[T, T]
    type Batch = Tensor

    class Box[T: Tensor](nn.Module):
        def __init__(self, n: int) -> None:
            super().__init__()
            self.lin = nn.Linear(n, 1)

        def forward(self, x: T) -> T:
            return self.lin(x)

    def twice[T](x: T) -> Pair[T]:
        return x, x

    def shown[*Ts, **P](x: Tensor) -> str:
        first, second = twice(torch.zeros(3, 4))
        turned = first.t()
        return f"{f"{turned.view(12)!r}"} {
            turned.shape[0]  # a comment in a string
        }"

    box = Box[Tensor](4)
    out = box(torch.zeros(5, 4))
    loss = ((out - torch.rand(5)) ** 2).mean()
    again: Batch = box.forward(torch.zeros(5, 4))
    """
)


def test_the_rules_see_through_it(tmp_path: Path) -> None:
    report = Linter().check_text(PROGRAM, tmp_path / "new.py")
    assert not report.errors
    assert [(finding.code, finding.span.line) for finding in report.findings] == [
        ("TSR201", 21),
        ("TSR112", 27),
        ("TSR301", 28),
    ]


def test_the_fix_inside_a_nested_string(tmp_path: Path) -> None:
    path = tmp_path / "new.py"
    path.write_text(PROGRAM)
    result = Linter().lint(str(path), fixing=True)
    assert result.fixed is not None
    fixed = result.fixed.decode()
    assert 'f"{f"{turned.reshape(12)!r}"} {' in fixed
    assert "again: Batch = box(torch.zeros(5, 4))" in fixed
    compile(fixed, "new.py", "exec")
