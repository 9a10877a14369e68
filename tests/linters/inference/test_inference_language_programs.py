"""Closures, generators, data classes, inheritance, star arguments, `match` and `:=`, in random programs around tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")
pytest.importorskip("einops")

from language_programs import make
from test_inference_adversaries import wrong_claims


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 90, 30))
def test_nothing_wrong_is_said_of_random_programs(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 30):
        source = make(seed)
        assert wrong_claims(tmp_path / "program.py", source) == {}, source
