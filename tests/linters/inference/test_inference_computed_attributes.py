"""`getattr(h, f"rows{k}")`: any attribute whose name has that form may be changed by way of the result, and no other one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from called_programs import HEAD
from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

# What is held, how a tensor of it is read, and what changes it.
HELD = {
    "a list": ("[Z(2, 3)]", "[0]", "got[0] = Z(1, 99)"),
    "a list, appended to": ("[Z(2, 3)]", "[-1]", "got.append(Z(1, 99))"),
    "a list in a list": ("[[Z(2, 3)]]", "[0][0]", "got[0][0] = Z(1, 99)"),
    "a dictionary": ("{0: Z(2, 3)}", "[0]", "got[0] = Z(1, 99)"),
    "an object": ("Obj(Z(2, 3))", ".r", "got.r = Z(1, 99)"),
    "a tensor": ("Z(2, 3)", "", "got.unsqueeze_(0)"),
    "a layer": ("nn.Linear(3, 5)", "(Z(2, 3))", "got.weight = nn.Parameter(Z(9, 3))\n    got.bias = None"),
    "a container": ("nn.Sequential(nn.Linear(3, 5))", "(Z(2, 3))", "got[0] = nn.Linear(3, 9)"),
}
# How the result of `getattr` comes about. `{o}` is the object, `{m}` another thing of the kind.
GOT = {
    "an f-string": 'got = getattr({o}, f"rows{{k}}")',
    "a sum": 'got = getattr({o}, "rows" + str(k))',
    "a percent sign": 'got = getattr({o}, "rows%d" % k)',
    "format": 'got = getattr({o}, "rows{{}}".format(k))',
    "a name": 'n = f"rows{{k}}"\n    got = getattr({o}, n)',
    "a loop over names": 'for n in ("rows0", "rows1")[k : k + 1]: got = getattr({o}, n)',
    "one of two": 'got = getattr({o}, "rows0" if k == 0 else "rows1")',
    "any name": "got = getattr({o}, random.choice(['rows' + str(k)]))",
    "a default": 'got = getattr({o}, f"missing{{k}}", {o}.rows0)',
    "a property": 'got = getattr({o}, f"shown{{k}}")',
    "a class's attribute": 'got = getattr({o}, f"kept{{k}}")',
    "what setattr has put there": 'setattr({o}, f"put{{k}}", {o}.rows0)\n    got = getattr({o}, f"put{{k}}")',
    "what setattr has put in its place": (
        'w0 = {o}.rows0\n    setattr({o}, f"rows{{k}}", {m})\n    got = getattr({o}, f"rows{{k}}")'
    ),
}
# Of these alone nothing else is forgotten, whoever has them in hand.
TOLD = ("a list", "a list, appended to", "a list in a list", "a dictionary", "a layer")
PLAIN = ("an f-string", "a sum", "a percent sign", "format", "a name", "one of two")


def _program(held: str, got: str, base: str, *, change: bool = True) -> str:
    made, item, changing = HELD[held]
    init = "super().__init__()" if base else "pass"
    way = GOT[got].format(o="h", m=made)
    old = f"    w0 = w0{item}\n" if "w0 =" in way else ""
    return HEAD + (
        f"class Held{base}:\n    kept0 = kept1 = {made if not base else 'None'}\n"
        f"    def __init__(self):\n        {init}\n        self.rows0 = {made}\n        self.rows1 = {made}\n        self.other = {made}\n"
        f"        self.at = self.kept0 if self.kept0 is not None else self.rows0\n"
        f"    @property\n    def shown0(self): return self.rows0\n    @property\n    def shown1(self): return self.rows1\n"
        f"def go(k):\n    h = Held()\n    a = h.rows0{item}\n    b = h.other{item}\n    {way}\n"
        f"    {changing if change else 'pass'}\n"
        f"    c = h.rows0{item}\n    d = h.rows1{item}\n    e = h.other{item}\n    f = h.at{item}\n{old}"
        f"for t in (0, 1): go(random.choice([t]))\n"
    )


@pytest.mark.parametrize("base", ["", "(nn.Module)"])
@pytest.mark.parametrize("got", GOT)
def test_what_is_changed_by_a_computed_name_is_not_claimed(got: str, base: str, tmp_path: Path) -> None:
    for held in HELD:
        if base and got == "a class's attribute":
            continue
        source = _program(held, got, base)
        assert wrong_claims(tmp_path / "program.py", source) == {}, held


@pytest.mark.parametrize("got", PLAIN)
@pytest.mark.parametrize("held", TOLD)
def test_attributes_of_other_names_stay_known(held: str, got: str) -> None:
    source = _program(held, got, "")
    known = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert known["e"] == known["b"] is not None


def test_a_class_with_getattr_of_its_own_may_give_anything(tmp_path: Path) -> None:
    source = HEAD + (
        "class Held:\n    def __init__(self):\n        self.rows = [Z(2, 3)]\n"
        "    def __getattr__(self, name):\n        return self.rows\n"
        'def go(k):\n    h = Held()\n    got = getattr(h, f"any{k}")\n    got[0] = Z(1, 99)\n    c = h.rows[0]\n'
        "for t in (0, 1): go(random.choice([t]))\n"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}
