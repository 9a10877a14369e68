"""Tensors that the names of a module lead to, which code that is not followed gives another shape: each program run for real.

What the names lead to is gone through once and kept until something changes; each program changes it in another way between
two calls of which nobody knows what they run.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference import module_tensors
from tensorlint.inference.analysis import analyse

# By where the tensor is kept: what the module has, how it gets there, and how `turn` finds it.
PLACES = {
    "an item of a list": ("held = []", "held.append(x)", "held[0]"),
    "an item that a list has already": ("held = [None]", "held[0] = x", "held[0]"),
    "a list that is made longer": ("held = []", "held.extend([x])", "held[0]"),
    "a list in a list": ("held = [[]]", "held[0].append(x)", "held[0][0]"),
    "a list in a tuple": ("held = ([], 1)", "held[0].append(x)", "held[0][0]"),
    "an item of a dictionary": ("held = {}", "held['x'] = x", "held['x']"),
    "an item that a dictionary has already": ("held = {'x': 1}", "held.update(x=x)", "held['x']"),
    "a set": ("held = set()", "held.add(x)", "next(iter(held))"),
    "an attribute of a class": ("class Held:\n    x = None", "Held.x = x", "Held.x"),
    "a list of a class": ("class Held:\n    rows = []", "Held.rows.append(x)", "Held.rows[0]"),
    "an attribute that a class has not yet": ("class Held:\n    pass", "Held.x = x", "Held.x"),
    "an attribute of an object": ("class Held:\n    pass\n\n\nheld = Held()", "held.x = x", "held.x"),
    "a list of an object": (
        "class Held:\n    def __init__(self):\n        self.rows = []\n\n\nheld = Held()", "held.rows.append(x)", "held.rows[0]",
    ),
    "an object in a list": ("class Held:\n    pass\n\n\nheld = [Held()]", "held[0].x = x", "held[0].x"),
    "an object that nobody knows": ("held = eval('type(\"H\", (), {})()')\nheld.name = 1", "held.x = x", "held.x"),
    "an attribute that such an object has already": (
        "held = eval('type(\"H\", (), {})()')\nheld.x = 1\nprint(held.x)", "held.x = x", "held.x",
    ),
    "a name of the module": ("held = None", "global held\n    held = x", "held"),
    "a name that the module has not yet": ("", "global held\n    held = x", "held"),
    "a name in the dictionary of names": ("held = None", "globals()['held'] = x", "held"),
    "an attribute of a function": ("def held():\n    pass", "held.x = x", "held.x"),
    "a default of a function": ("def held(rows=[]):\n    return rows", "held().append(x)", "held()[0]"),
    "a list, by one of two methods": (
        "held, other = [], []", "for _ in range(2):\n        (held.append if len(calls) else other.append)([x])", "held[0][0]",
    ),
    "a list that a function of the file gives": (
        "held = [[]]\n\n\ndef give():\n    return held[0] if len(calls) else []", "give().append([x])", "held[0][0][0]",
    ),
    "a list by another name": ("held = []\nsame = held", "same.append(x)", "held[0]"),
    "a module": ("held = torch.nn.Linear(3, 4)", "held.x = x", "held.x"),
    "a partial": (
        "import functools\n\n\ndef give(rows):\n    return rows\n\n\nheld = functools.partial(give, [])",
        "held().append(x)", "held()[0]",
    ),
}  # fmt: skip

_PROGRAM = """import torch

calls, others = [], []
keep = eval("calls.append")
call = eval("lambda: [each() for each in calls]")
{has}


def turn():
    try:
        x = {finds}
    except (NameError, LookupError, AttributeError, StopIteration):
        return
    if isinstance(x, torch.Tensor):
        x.t_()


def work():
    {declares}{keep}
    call()
    x = torch.zeros(3, 4)
    call()
    y = x + 0
    {puts}
    z = x + 0
    call()
    a = x + 0
    call()
    b = x + 0


work()
"""


# More functions than are looked at again at each call of which nobody knows what it runs.
_OTHERS = "calls.append(lambda: others.append(1))\n    " * 25
KEPT = {
    "in a list": "calls.append(turn)",
    "given to what nobody knows": "keep(turn)",
    "in a list, after many others": _OTHERS + "calls.append(turn)",
}


def _program(place: str, kept: str = "in a list") -> str:
    has, puts, finds = PLACES[place]
    declares, _, puts = puts.rpartition("\n    ") if puts.startswith("global") else ("", "", puts)
    return _PROGRAM.format(keep=KEPT[kept], has=has, finds=finds, declares=declares and declares + "\n    ", puts=puts)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("place", PLACES)
def test_nothing_wrong_is_said_of_a_tensor_that_gets_another_shape_unseen(
    place: str, kept: str, tmp_path: Path
) -> None:
    source = _program(place, kept)
    assert wrong_claims(tmp_path / "program.py", source) == {}
    lines = source.splitlines()
    known = {
        lines[row.line - 1].split()[0]: row.shape
        for row in analyse(ast.parse(source), source).bindings
        if row.shape is not None
    }
    assert known.keys() & {"y", "z"}, "what is so until then is known"
    assert known.keys().isdisjoint("ab")


def test_what_the_names_lead_to_is_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    begin = module_tensors.Around.__init__

    def count(around: module_tensors.Around, *given: object) -> None:
        made.append(1)
        begin(around, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(module_tensors.Around, "__init__", count)
    source = _program("an item of a list").replace("    b = x + 0\n", "    call()\n" * 20)
    analyse(ast.parse(source), source)
    assert 1 <= len(made) <= 4


@pytest.mark.filterwarnings("ignore")
def test_two_functions_of_too_many_have_their_own_defaults(tmp_path: Path) -> None:
    source = f"""import torch

calls, others, first, second = [], [], [], []
call = eval("lambda: [each() for each in calls]")
{_OTHERS.replace("    ", "")}
calls.append(lambda x=first: x[0].t_())
calls.append(lambda x=second: x[0].t_())
a, b = torch.zeros(3, 4), torch.zeros(3, 4)
first += [a]
second += [b]
call()
x = a + 0
y = b + 0
"""
    assert wrong_claims(tmp_path / "program.py", source) == {}


def test_a_list_that_a_function_of_too_many_makes_longer(tmp_path: Path) -> None:
    source = f"""import torch

calls, others, rows = [], [], []
call = eval("lambda: [each() for each in calls]")


def more():
    rows.append(1)


{_OTHERS.replace("    ", "")}
calls.append(more)
x = torch.zeros(len(rows))
call()
y = torch.zeros(len(rows))
"""
    assert wrong_claims(tmp_path / "program.py", source) == {}
