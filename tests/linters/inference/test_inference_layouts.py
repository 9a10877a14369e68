"""Each operation of a catalogue is run by torch: shape, strides and whether `.view(-1)` is legal are as inferred."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is the oracle")
pytest.importorskip("einops")

from tensorlint.inference.analysis import analyse  # noqa: E402
from tensorlint.inference.hazards import ViewHazard  # noqa: E402

HEAD = "import copy\nimport einops\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def catalogue() -> Iterator[tuple[str, str]]:
    made = ""
    text = (Path(__file__).parent / "data" / "layouts.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("= "):
            made = line[2:]
        elif line and not line.startswith("#"):
            yield made, line


OPERATIONS = list(catalogue())
LEAST = 298  # of 309 whose strides are known


def known_layout(made: str, operation: str) -> bool:
    """Compare what is claimed with what torch does; whether the strides were known."""
    source = f"{HEAD}{made}\ny = {operation}\n"
    scope: dict[str, torch.Tensor] = {}
    exec(source, scope)
    value = scope["y"]
    rows = [row for row in analyse(ast.parse(source), source).bindings if row.name == "y"]
    for row in rows:
        assert row.shape in (None, tuple(value.shape)) or "?" in row.shape
        assert row.strides is None or row.strides == value.stride()
        assert row.contiguous in (None, value.is_contiguous())
        assert row.dtype is None or f"torch.{row.dtype}" == str(value.dtype)
    viewed = f"{source}z = y.view(-1)\n"
    refused = any(isinstance(hazard, ViewHazard) for hazard in analyse(ast.parse(viewed), viewed).hazards)
    try:
        value.view(-1)
        legal = True
    except RuntimeError:
        legal = False
    known = bool(rows) and rows[0].strides is not None
    assert refused is not legal if known else not (refused and legal)
    return known


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("made", "operation"), OPERATIONS)
def test_the_layout_is_what_torch_gives(made: str, operation: str) -> None:
    known_layout(made, operation)


@pytest.mark.filterwarnings("ignore")
def test_most_layouts_are_known() -> None:
    known = [operation for made, operation in OPERATIONS if known_layout(made, operation)]
    assert len(known) >= LEAST, sorted({operation for _, operation in OPERATIONS} - set(known))
