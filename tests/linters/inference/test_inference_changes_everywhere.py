"""What an object holds, changed in every way, in every place and by every name: running says what is there."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from change_programs import HOLDERS, OF_MODULES, OF_OBJECTS, PLACES, SUBJECTS, program
from test_inference_adversaries import wrong_claims

_PART = 50
pytestmark = pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
_KINDS = {"object": OF_OBJECTS, "module": OF_MODULES, "class": OF_OBJECTS}


def _ends_in_an_error(source: str) -> bool:
    """Some ways are none in some places: `box.p` is a property there, for one."""
    try:
        exec(compile(source, "program", "exec"), {"__name__": "program"})
    except Exception:
        return True
    return False


@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("kind", _KINDS)
def test_no_program_is_told_what_was_there_before(kind: str, part: int, tmp_path: Path) -> None:
    chosen, judged = random.Random(f"{kind} {part}"), 0
    while judged < _PART:
        way, place = chosen.choice(_KINDS[kind]), chosen.choice(list(PLACES))
        holder = chosen.choice(list(HOLDERS))
        source = program(way, PLACES[place], holder, SUBJECTS[kind])
        if source is not None and not _ends_in_an_error(source):
            judged += 1
            assert wrong_claims(tmp_path / "program.py", source) == {}, f"{way} | {place} | {holder}\n{source}"


@pytest.mark.parametrize("kind", _KINDS)
def test_each_way_in_the_plainest_places(kind: str, tmp_path: Path) -> None:
    for way in _KINDS[kind]:
        for place in ("a statement", "a function within", "a function of the file", "a method"):
            source = program(way, PLACES[place], "a function", SUBJECTS[kind])
            assert source is not None
            if kind == "class" and _ends_in_an_error(source):
                continue  # `del box.t`, which the class has
            assert wrong_claims(tmp_path / "program.py", source) == {}, source


@pytest.mark.parametrize("kind", _KINDS)
def test_the_plainest_way_in_each_place(kind: str, tmp_path: Path) -> None:
    way = "BOX.seq.append(torch.nn.Linear(4, 6))" if kind == "module" else "BOX.rows.append(torch.ones(5, 3))"
    judged = 0
    for name, place in PLACES.items():
        for holder in HOLDERS:
            source = program(way, place, holder, SUBJECTS[kind])
            if source is not None and not _ends_in_an_error(source):
                judged += 1
                assert wrong_claims(tmp_path / "program.py", source) == {}, f"{name} | {holder}\n{source}"
    assert judged > 4 * len(PLACES)
