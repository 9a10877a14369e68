"""What a refused view's message says of the axes: their strides, or that one of them repeats its elements."""

from __future__ import annotations

import ast

import pytest

from tensorlint.inference.analysis import analyse
from tensorlint.inference.hazards import ViewHazard

torch = pytest.importorskip("torch", reason="torch is the oracle")

REPEATED = {
    "x = torch.rand(2, 1, 3).expand(2, 4, 3); y = x.view(8, 3)": 1,
    "x = torch.rand(2, 3, 1).expand(2, 3, 4); y = x.view(6, 4); z = x.view(2, 12)": 2,
    "x = torch.rand(5, 4).unsqueeze(0).expand(3, -1, -1); y = x.view(-1, 4)": 0,
    "x = torch.rand(2, 5, 2, 1, 4).expand(2, 5, 2, 3, 4); y = x.view(2, 5, 6, 4)": 3,
    "x = torch.broadcast_to(torch.rand(4), (3, 4)); y = x.view(12)": 0,
}
MOVED = {
    "x = torch.rand(2, 3, 4).transpose(1, 2); y = x.view(2, 12)": "axis 1 has stride 1, merging needs 12",
    "x = torch.rand(4, 6)[:, :5]; y = x.view(20)": "axis 0 has stride 6, merging needs 5",
}


def reason(code: str) -> str:
    found = [hazard for hazard in analyse(ast.parse(code), code).hazards if isinstance(hazard, ViewHazard)]
    assert len(found) == 1
    return found[0].reason


@pytest.mark.parametrize("line", REPEATED)
def test_an_axis_that_repeats_its_elements_is_named(line: str) -> None:
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        exec("import torch; " + line, scope := {})
    assert scope["x"].stride(REPEATED[line]) == 0
    axis = REPEATED[line]
    assert reason(f"import torch; {line}") == f"axis {axis} has stride 0: it repeats the same elements, as expand does"


@pytest.mark.parametrize("line", MOVED)
def test_axes_that_were_moved_have_their_strides_named(line: str) -> None:
    assert reason(f"import torch; {line}") == MOVED[line]
