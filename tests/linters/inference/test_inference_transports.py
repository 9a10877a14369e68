"""What a tensor goes through on its way from a layer to a loss: functions, objects, lists, branches, loops, two or three of
them one after the other. torch says what shape arrives; a column is reported in the end, a vector never.

Each way stands in `data/transports.txt` below `### name`: what the module defines, and the lines that `v` goes through.
`@` behind a name makes it the place's own.
"""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is the oracle")

from tensorlint.checking import Selection, findings_of  # noqa: E402
from tensorlint.rules.registry import load  # noqa: E402
from tensorlint.source import PythonSource  # noqa: E402

pytestmark = pytest.mark.host
TEXT = (Path(__file__).parent / "data" / "transports.txt").read_text(encoding="utf-8")
WAYS: dict[str, tuple[str, str]] = {}
for part in re.split(r"^### ", TEXT, flags=re.MULTILINE)[1:]:
    name, _, code = part.partition("\n")
    defined, _, lines = code.partition("---\n")
    WAYS[name] = defined, lines.rstrip() + "\n"
# On these ways it gets lost what arrives: gaps of the inference, named here so that they are closed on purpose.
LOST = frozenset(
    [
        "SimpleNamespace",
        "context manager",
        "coroutine",
        "defaultdict",
        "global",
        "iterator of its own",
        "nonlocal",
        "operator of its own",
        "sum from 0",
        "union of dictionaries",
    ]
)
SELECTION = Selection(frozenset(rule.code for rule in load() if rule.default == "on"))


def program(ways: tuple[str, ...], vector: bool) -> str:
    placed = [tuple(re.sub(r"(?<=\w)@", str(place), code) for code in WAYS[name]) for place, name in enumerate(ways)]
    made = f"v = torch.nn.Linear(3, 1)(torch.rand(8, 3)){'.squeeze(-1)' if vector else ''}\n"
    ends = "y = torch.rand(8)\nloss = torch.nn.functional.mse_loss(v, y)\n"
    return "import torch\n" + "".join(code for code, _ in placed) + made + "".join(code for _, code in placed) + ends


def reported(ways: tuple[str, ...], vector: bool) -> bool | None:
    """Whether anything is said about the program; None where torch gives another shape in the end."""
    code = program(ways, vector)
    scope: dict[str, Any] = {"__name__": "transports"}
    try:
        exec(compile(code, "transports", "exec", dont_inherit=True), scope)
    except Exception:
        return None
    if tuple(scope["v"].shape) != ((8,) if vector else (8, 1)):
        return None
    return bool(findings_of(PythonSource("transports.py", code), load(), SELECTION, None)[0])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", WAYS)
def test_a_column_is_known_at_the_other_end(way: str) -> None:
    said = reported((way,), vector=True)
    if said is None and torch.cuda.is_available():
        pytest.skip("puts its tensors on the GPU that is there")
    assert said is False
    assert reported((way,), vector=False) is (way not in LOST)


@pytest.mark.filterwarnings("ignore")
def test_no_ways_together_make_a_vector_a_column() -> None:
    choose = random.Random(int(os.environ.get("TESTS_SEED", "11")))
    compared = 0
    for _ in range(150):
        ways = tuple(choose.choice(list(WAYS)) for _ in range(choose.choice([2, 2, 3])))
        said = reported(ways, vector=True)
        assert not said, ways
        compared += said is False
    assert compared > 100
