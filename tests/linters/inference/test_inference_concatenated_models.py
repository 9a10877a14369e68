"""The benchmark that runs other people's modules: what it counts, and what it holds against the inference and what not."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

ROOT = Path(__file__).parents[3]
HEAD = """
import absent_library, torch
from absent_library.layers import Kernel, decorate
from unittest.mock import MagicMock
from _paritybench_helpers import _mock_config, _mock_layer, patch_functional
from torch import nn

yaml = MagicMock()
patch_functional()
"""


def run(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_models.py").write_text(HEAD + textwrap.dedent(source), encoding="utf-8")
    command = [sys.executable, "benchmarks/inference_concatenated_models.py", str(folder)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'linters'}{os.pathsep}{ROOT}"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)


def test_modules_run_and_what_is_not_there_is_held_against_nothing(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        class Plain(nn.Module):
            def __init__(self, config, layer):
                super().__init__()
                self.fc = nn.Linear(config.width, 3)
                self.layer = layer

            def forward(self, x):
                B, C = x.shape
                y = self.fc(x)
                z: torch.Tensor = absent_library.mix(y)
                w: torch.Tensor = yaml.load(z)
                return y

        class Heads(nn.Module):
            def forward(self, x, heads):
                B, T, C = x.shape
                q = torch.relu(x.contiguous()).view(B, heads, T, C // heads)
                q = q.transpose(1, 2).reshape(B, T, C)
                return q

        class Refused(nn.Module):
            def forward(self, x):
                y = torch.relu(x)
                B, C, H = y.shape
                return y

        class Derived(Kernel):
            def forward(self, x: torch.Tensor):
                y = x + 1
                return y

        TESTCASES = [
            (Plain, lambda: ([_mock_config(width=4), _mock_layer()], {}), lambda: ([torch.rand([2, 4])], {}), True),
            (Heads, lambda: ([], {}), lambda: ([torch.rand([2, 3, 4]), 4], {}), True),
            (Refused, lambda: ([], {}), lambda: ([torch.rand([2, 4])], {}), True),
            (Derived, lambda: ([], {}), lambda: ([torch.rand([2, 4])], {}), True),
        ]
        """,
    )
    assert done.returncode == 0, done.stderr
    row, note = done.stdout.splitlines()[2], done.stdout.splitlines()[4:]
    assert row.startswith("| 1 | 1 | 2 of 4 | 4 | 100% | 100% |")
    assert row.endswith("| 0 |")
    assert [line.partition(": test_models.py:")[0] for line in note] == ["- where a size is 0 or 1"] * 2
    assert " q: " in note[0]
    assert " return: " in note[1]


def test_what_is_wrong_is_printed_with_its_place(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        class Declared(nn.Module):
            def forward(self, x: "torch.Tensor"):
                y = x + 1
                return y

        TESTCASES = [(Declared, lambda: ([], {}), lambda: ([2], {}), True)]
        """,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[4:] == [
        "- wrong: test_models.py:13 y: said to be a tensor, is int",
        "- wrong: test_models.py:14 return: said to be a tensor, is int",
    ]
